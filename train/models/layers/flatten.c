/* Flatten: each row as a vector. */
#include <headrace/model_layers.h>

typedef struct flatten_config {
    bool channels_first;
} flatten_config;

static hr_node flatten_call(hr_layer_call *c, void *config)
{
    const hr_node x = c->input[0];
    const int rank = hr_node_shape(x).rank;
    hr_shape order = {rank, {0}};
    if (rank == 1) return hr_expand_dims(x, hr_scalar(c->graph, HR_INT32, 1));
    if (rank < 3 || !((const flatten_config *)config)->channels_first) return hr_flatten(x);
    for (int i = 1; i < rank; i++) order.dims[i] = i + 1 < rank ? i + 1 : 1;
    return hr_flatten(hr_transpose(x, hr_shape_const(c->graph, order)));
}

static const hr_layer_kind flatten_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Flatten",
    .config_size = sizeof(flatten_config),
    .call = flatten_call,
    .min_rank = 1,
};

hr_layer *hr_flatten_layer_with(const hr_flatten_layer_opts *opts)
{
    const hr_flatten_layer_opts o = HR_OPTIONS(hr_flatten_layer_opts, opts);
    return hr_layer_new(&flatten_kind, &(flatten_config){o.channels_first}, HR_LAYER_COMMON(&o));
}
