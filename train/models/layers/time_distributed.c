/* TimeDistributed: a layer for each step by itself. */
#include <headrace/model_layers.h>

typedef struct time_distributed_config {
    hr_layer *layer;
} time_distributed_config;

static hr_layer *time_distributed_inner(const void *config, int i)
{
    return i == 0 ? ((const time_distributed_config *)config)->layer : NULL;
}

/* Dimensions `from` .. rank - 1 of x as a vector. */
static hr_node dims_from(hr_node x, int64_t from) { return hr_strided_slice(hr_shape_of(x), {.begin = &from}); }

/* [n, steps, ...] as [n * steps, ...]. */
static hr_node steps_as_rows(hr_node x)
{
    const hr_shape in = hr_node_shape(x);
    hr_shape out = {in.rank - 1, {in.dims[0] < 0 || in.dims[1] < 0 ? -1 : in.dims[0] * in.dims[1]}};
    bool known = true;
    for (int i = 2; i < in.rank; i++) known &= (out.dims[i - 1] = in.dims[i]) >= 0;
    if (known) return hr_reshape(x, hr_shape_const(x.graph, out));
    const hr_node parts[] = {hr_ints(x.graph, HR_I64(-1), 1), dims_from(x, 2)};
    return hr_reshape(x, hr_concat(parts, 2, 0));
}

/* [n * steps, ...] as [n, steps, ...], with those of x. */
static hr_node rows_as_steps(hr_node y, hr_node x)
{
    const hr_shape rows = hr_node_shape(y), in = hr_node_shape(x);
    hr_shape out = {rows.rank + 1, {in.dims[0], in.dims[1]}};
    int open = (in.dims[0] < 0) + (in.dims[1] < 0);
    for (int i = 1; i < rows.rank; i++) open += (out.dims[i + 1] = rows.dims[i]) < 0;
    if (open <= 1) return hr_reshape(y, hr_shape_const(y.graph, out));
    const hr_node parts[] = {hr_strided_slice(hr_shape_of(x), {.end = HR_I64(2)}), dims_from(y, 1)};
    return hr_reshape(y, hr_concat(parts, 2, 0));
}

/* The layer's own masks by step; or the steps that the input has, where anything of a step counts. */
static hr_node mask_by_steps(hr_node made, hr_node mask, hr_node x)
{
    const int64_t within[HR_MAX_RANK] = {2, 3, 4, 5, 6, 7};
    const int rank = hr_node_shape(mask).rank;
    if (made.graph && hr_node_shape(made).rank > 1) return rows_as_steps(made, x);
    if (!mask.graph || rank < 3) return mask;
    return hr_reduce_any(mask, .axes = within, .axis_count = rank - 2);
}

static hr_node time_distributed_call(hr_layer_call *c, void *config)
{
    const time_distributed_config *t = config;
    const hr_node x = c->input[0], rows = steps_as_rows(x);
    hr_layer_call made;
    hr_node mask = {0};
    if (c->mask[0].graph && hr_node_shape(c->mask[0]).rank > 2) mask = steps_as_rows(c->mask[0]);
    hr_layer_attribute(c, "", "layer");
    const hr_node y = hr_layer_inner(c, t->layer, &rows, 1, .masks = &mask, .made = &made);
    if (!hr_node_exists(y)) return y;
    if (made.outputs > 1)
        return hr_layer_fail(c, "models.outputs", "expected a layer of one output, got one of %d", made.outputs);
    if (hr_node_shape(y).rank < 1 || hr_node_shape(y).rank >= HR_MAX_RANK)
        return hr_layer_fail(c, "models.rank", "expected a layer that gives a known rank below %d", HR_MAX_RANK);
    c->output_mask[0] = mask_by_steps(made.output_mask[0], c->mask[0], x);
    return rows_as_steps(y, x);
}

static hr_status time_distributed_check(const void *config, hr_error *err)
{
    if (((const time_distributed_config *)config)->layer) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer", "expected a layer, got NULL");
}

static const hr_layer_kind time_distributed_kind = {
    .head = HR_LAYER_HEAD,
    .name = "TimeDistributed",
    .config_size = sizeof(time_distributed_config),
    .call = time_distributed_call,
    .traits = HR_LAYER_HOLDS_MODEL,
    .min_rank = 3,
    .check = time_distributed_check,
    .inner = time_distributed_inner,
};

hr_layer *hr_time_distributed_layer_with(hr_layer *layer, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    return hr_layer_new(&time_distributed_kind, &(time_distributed_config){layer}, HR_LAYER_COMMON(&o));
}
