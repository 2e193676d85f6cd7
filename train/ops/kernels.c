/* See kernels.h. */
#include <headrace/kernels.h>
#include <string.h>

hr_status hr_put_int(hr_tensor *t, int64_t i, int64_t value, hr_error *err)
{
    if (t->dtype == HR_INT64) {
        ((int64_t *)t->data)[i] = value;
        return HR_OK;
    }
    if (value < INT32_MIN || value > INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "%lld does not fit into int32; ask for int64",
                       (long long)value);
    ((int32_t *)t->data)[i] = (int32_t)value;
    return HR_OK;
}

hr_status hr_shape_input(const hr_tensor *t, hr_shape *out, hr_error *err)
{
    char text[256] = "";
    const bool read = hr_shape_from_tensor(t, out);
    if (read && hr_shape_count(*out) >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected a vector of at most %d dimensions >= 0, and of not too many values, got %s", HR_MAX_RANK,
                   hr_shape_text(read ? *out : t->shape, text, sizeof text));
}

hr_status hr_axis(int64_t axis, int rank, int *out, hr_error *err)
{
    if (axis < -rank || axis >= rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected an axis in [%d, %d), got %lld", -rank, rank,
                       (long long)axis);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return HR_OK;
}

hr_status hr_expect_rank(const char *what, hr_shape shape, int rank, hr_error *err)
{
    char text[128];
    if (shape.rank < 0 || shape.rank == rank) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "%s must be a %s, got shape %s", what,
                   rank == 0 ? "scalar" : "vector", hr_shape_text(shape, text, sizeof text));
}

hr_status hr_axis_input(const hr_tensor *axis, int rank, int *out, hr_error *err)
{
    HR_TRY(hr_expect_rank("the axis", axis->shape, 0, err));
    return hr_axis(hr_int_at(axis, 0), rank, out, err);
}

hr_status hr_axis_of_one(const hr_tensor *axis, int rank, int *out, hr_error *err)
{
    if (axis->count != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected one axis");
    return hr_axis(hr_int_at(axis, 0), rank, out, err);
}

hr_status hr_check_splits(const hr_tensor *ids, const hr_tensor *splits, const hr_tensor *weights, hr_error *err)
{
    const int32_t *s = splits->data;
    bool fits = splits->shape.rank == 1 && splits->count > 0 && s[0] == 0 && s[splits->count - 1] == ids->count &&
                (!weights || weights->count == ids->count);
    for (int64_t i = 1; fits && i < splits->count; i++) fits = s[i - 1] <= s[i];
    if (fits) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits",
                   "expected row_splits that rise from 0 to the number of ids, %lld, and as many weights, if any",
                   (long long)ids->count);
}

static int64_t kernels_broadcast_dim(hr_shape s, int i) { return i <= s.rank ? s.dims[s.rank - i] : 1; }

static hr_status broadcast_refuse(hr_shape a, hr_shape b, hr_error *err)
{
    char x[128], y[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Incompatible shapes: %s vs. %s",
                   hr_shape_text(a, x, sizeof x), hr_shape_text(b, y, sizeof y));
}

/* Dimensions from the last to the first; one joins the run or the loop before it if both inputs go on evenly there. */
static void broadcast_join_dims(hr_shape a, hr_shape b, hr_broadcast *p)
{
    int64_t dims[HR_MAX_RANK], sa[HR_MAX_RANK], sb[HR_MAX_RANK], at_a = 1, at_b = 1;
    int n = 0;
    for (int i = 1; i <= p->shape.rank; i++) {
        const int64_t length = p->shape.dims[p->shape.rank - i];
        const int64_t x = kernels_broadcast_dim(a, i), y = kernels_broadcast_dim(b, i);
        const int64_t step_a = x == 1 ? 0 : at_a, step_b = y == 1 ? 0 : at_b;
        at_a *= x;
        at_b *= y;
        if (length == 1) continue;
        if (n > 0 && step_a == sa[n - 1] * dims[n - 1] && step_b == sb[n - 1] * dims[n - 1]) {
            dims[n - 1] *= length;
            continue;
        }
        dims[n] = length;
        sa[n] = step_a;
        sb[n] = step_b;
        n++;
    }
    p->inner = n > 0 ? dims[0] : 1;
    p->step_a = n > 0 && sa[0] != 0;
    p->step_b = n > 0 && sb[0] != 0;
    p->rank = n > 1 ? n - 1 : 0;
    p->outer = 1;
    for (int d = 0; d < p->rank; d++) {
        p->dims[d] = dims[n - 1 - d];
        p->a[d] = sa[n - 1 - d];
        p->b[d] = sb[n - 1 - d];
        p->outer *= p->dims[d];
    }
}

hr_status hr_broadcast_plan(hr_shape a, hr_shape b, hr_broadcast *out, hr_error *err)
{
    *out = (hr_broadcast){.outer = 1, .step_a = 1, .step_b = 1};
    if (!hr_shape_broadcast(a, b, &out->shape) || hr_shape_count(out->shape) < 0) return broadcast_refuse(a, b, err);
    broadcast_join_dims(a, b, out);
    return HR_OK;
}

hr_status hr_kernel_begin_output(hr_kernel *k, int i, hr_shape shape, hr_tensor *scratch, hr_tensor **out,
                                 hr_error *err)
{
    if (hr_node_dtype(hr_node_output(k->node, i)) != HR_STRING) return hr_kernel_output(k, i, shape, out, err);
    char text[256];
    const int64_t count = hr_shape_count(shape);
    if (count < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a result of known and possible shape, got %s",
                       hr_shape_text(shape, text, sizeof text));
    *scratch = hr_tensor_of(HR_STRING, shape, hr_kernel_temp(k, (size_t)count * sizeof(hr_view)));
    *out = scratch;
    return scratch->data ? HR_OK : hr_no_memory(err, "a tensor");
}

hr_status hr_kernel_end_output(hr_kernel *k, int i, const hr_tensor *scratch, const hr_tensor *out, hr_error *err)
{
    hr_tensor owned;
    if (out != scratch) return HR_OK;
    HR_TRY(hr_tensor_strings(&owned, out->shape, out->data, err));
    hr_kernel_give(k, i, owned);
    return HR_OK;
}

void hr_copy_block(const hr_tensor *from, const int64_t *from_at, hr_tensor *to, const int64_t *to_at, hr_shape block)
{
    const size_t size = hr_dtype_size(from->dtype);
    const int rank = block.rank;
    int64_t index[HR_MAX_RANK] = {0};
    if (hr_shape_count(block) == 0) return;
    const size_t run = rank ? (size_t)block.dims[rank - 1] * size : size;
    for (;;) {
        int64_t a = 0, b = 0;
        for (int d = 0; d < rank; d++) {
            a = a * from->shape.dims[d] + from_at[d] + index[d];
            b = b * to->shape.dims[d] + to_at[d] + index[d];
        }
        memcpy((char *)to->data + (size_t)b * size, (const char *)from->data + (size_t)a * size, run);
        int d = rank - 2;
        for (; d >= 0; d--) {
            if (++index[d] < block.dims[d]) break;
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

hr_node hr_unary_node(const char *op, hr_node x, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    return hr_new_node(x.graph, op, .name = o.name, HR_INPUTS(x));
}

hr_node hr_binary_node(const char *op, hr_node x, hr_node y, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    return hr_new_node(x.graph, op, .name = o.name, HR_INPUTS(x, y));
}
