/* Reshape: the values of each row in another shape. */
#include <headrace/graph_op.h>
#include <headrace/model_layers.h>

/* How many values these dimensions have; -1: not known, or too many. `left_out` does not count. */
static int64_t count_of(const int64_t *dims, int rank, int left_out)
{
    int64_t count = 1;
    hr_error err;
    for (int i = 0; i < rank; i++)
        if (i != left_out && (dims[i] < 0 || hr_dim_mul(count, dims[i], &count, &err) != HR_OK)) return -1;
    return count;
}

static int open_dim(const hr_shape *target)
{
    for (int i = 0; i < target->rank; i++)
        if (target->dims[i] == -1) return i;
    return -1;
}

static hr_node reshape_call(hr_layer_call *c, void *config)
{
    const hr_shape *target = config, in = hr_node_shape(c->input[0]);
    const int open = open_dim(target);
    const int64_t have = count_of(in.dims + 1, in.rank - 1, -1), want = count_of(target->dims, target->rank, open);
    hr_shape to = {target->rank + 1, {in.dims[0]}};
    char found[128], wanted[128];
    for (int i = 0; i < target->rank; i++) to.dims[i + 1] = target->dims[i];
    if (have >= 0 && (open < 0 ? have != want : want <= 0 || have % want != 0))
        return hr_layer_fail(c, "models.shape", "target_shape %s: expected as many values as a row of the input %s",
                             hr_shape_text(*target, wanted, sizeof wanted), hr_shape_text(in, found, sizeof found));
    if (open >= 0 && have >= 0) to.dims[open + 1] = have / want;
    if (count_of(to.dims + 1, target->rank, -1) >= 0 || in.dims[0] >= 0)
        return hr_reshape(c->input[0], hr_shape_const(c->graph, to));
    const hr_node rows = hr_strided_slice(hr_shape_of(c->input[0]), {.end = HR_I64(1)});
    const hr_node parts[] = {rows, hr_ints(c->graph, target->dims, target->rank)};
    return hr_reshape(c->input[0], hr_concat(parts, 2, 0));
}

static hr_status reshape_check(const void *config, hr_error *err)
{
    const hr_shape *target = config;
    char text[128];
    if (target->rank >= 0 && target->rank < HR_MAX_RANK && count_of(target->dims, target->rank, open_dim(target)) >= 0)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                   "target_shape: expected at most %d dimensions, of which one may be -1, got %s", HR_MAX_RANK - 1,
                   hr_shape_text(*target, text, sizeof text));
}

static const hr_layer_kind reshape_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Reshape",
    .config_size = sizeof(hr_shape),
    .call = reshape_call,
    .min_rank = 1,
    .check = reshape_check,
};

hr_layer *hr_reshape_layer_with(hr_shape target_shape, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    return hr_layer_new(&reshape_kind, &target_shape, HR_LAYER_COMMON(&o));
}
