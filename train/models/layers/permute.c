/* Permute: the dimensions of each row in another order. */
#include <headrace/model_layers.h>

static hr_node permute_call(hr_layer_call *c, void *config)
{
    const hr_shape *dims = config;
    const int rank = hr_node_shape(c->input[0]).rank;
    hr_shape order = {dims->rank + 1, {0}};
    if (rank != order.rank)
        return hr_layer_fail(c, "models.rank", "dims name %d dimensions: expected an input of rank %d, got %d",
                             dims->rank, order.rank, rank);
    for (int i = 0; i < dims->rank; i++) order.dims[i + 1] = dims->dims[i];
    return hr_transpose(c->input[0], hr_shape_const(c->graph, order));
}

static hr_status permute_check(const void *config, hr_error *err)
{
    const hr_shape *dims = config;
    unsigned seen = 0;
    char text[128];
    for (int i = 0; i < dims->rank; i++)
        if (dims->dims[i] >= 1 && dims->dims[i] <= dims->rank) seen |= 1U << dims->dims[i];
    if (dims->rank > 0 && dims->rank < HR_MAX_RANK && seen == (1U << (dims->rank + 1)) - 2) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "dims: expected 1, 2, ..., each once, got %s",
                   hr_shape_text(*dims, text, sizeof text));
}

static const hr_layer_kind permute_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Permute",
    .config_size = sizeof(hr_shape),
    .call = permute_call,
    .check = permute_check,
};

hr_layer *hr_permute_layer_with(hr_shape dims, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    return hr_layer_new(&permute_kind, &dims, HR_LAYER_COMMON(&o));
}
