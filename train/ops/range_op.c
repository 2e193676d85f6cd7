/* Range: numbers from start to limit in steps of delta. */
#include <headrace/kernels.h>
#include <math.h>

static hr_status bad_range(double start, double limit, double delta, hr_error *err)
{
    if (delta == 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Requires delta != 0: %g", delta);
    if ((delta > 0 && start > limit) || (delta < 0 && start < limit))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Requires start %s limit when delta %s 0: %g/%g",
                       delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                   "expected a range of at most %lld numbers, got one from %g to %g by %g", (long long)HR_MAX_VALUES,
                   start, limit, delta);
}

/* How many numbers there are; -1: that is no range, or too many. */
static int64_t length_f64(double start, double limit, double delta)
{
    const double count = ceil((limit - start) / delta);
    return count >= 0 && count <= (double)(HR_MAX_VALUES / 2) ? (int64_t)count : -1;
}

static int64_t length_i64(int64_t start, int64_t limit, int64_t delta)
{
    const bool up = delta > 0;
    if (delta == 0 || (up ? start > limit : start < limit)) return -1;
    const uint64_t way = up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = up ? (uint64_t)delta : 0 - (uint64_t)delta, count = way / step + (way % step != 0);
    return count <= (uint64_t)HR_MAX_VALUES ? (int64_t)count : -1;
}

/* The same of three scalars of any type. */
static hr_status range_length(const hr_tensor *const *input, int64_t *length, hr_error *err)
{
    double real[3];
    switch (input[0]->dtype) {
#define CASE(T, OF)                                                                                                    \
    {                                                                                                                  \
        const T v[] = {*(const T *)input[0]->data, *(const T *)input[1]->data, *(const T *)input[2]->data};            \
        *length = OF(v[0], v[1], v[2]);                                                                                \
        for (int i = 0; i < 3; i++) real[i] = (double)v[i];                                                            \
        break;                                                                                                         \
    }
#define FLOAT_CASE(T, U, D, S)                                                                                         \
    case D:                                                                                                            \
        CASE(T, length_f64)
#define INT_CASE(T, U, D, S)                                                                                           \
    case D:                                                                                                            \
        CASE(T, length_i64)
        HR_FLOAT_TYPES(FLOAT_CASE)
        HR_SIGNED_TYPES(INT_CASE)
#undef CASE
    default:
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.kernel", "no kernel for this type");
    }
    return *length >= 0 ? HR_OK : bad_range(real[0], real[1], real[2], err);
}

#define RANGE(T, U, D, S)                                                                                              \
    static void range_##S(T value, T delta, hr_tensor *out)                                                            \
    {                                                                                                                  \
        for (int64_t i = 0; i < out->count; i++, value = (T)((U)value + (U)delta)) ((T *)out->data)[i] = value;        \
    }
HR_FLOAT_TYPES(RANGE)
HR_SIGNED_TYPES(RANGE)

static hr_status range_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value[3];
    s->output[0] = HR_SHAPE(-1);
    for (int i = 0; i < 3; i++)
        if (s->input[i].rank > 0) return hr_infer_refuse(s, err, "scalars start, limit and delta");
    for (int i = 0; i < 3; i++) {
        value[i] = hr_infer_value(s, i);
        if (!value[i]) return HR_OK;
    }
    return range_length(value, &s->output[0].dims[0], err);
}

static hr_status range_compute(hr_kernel *k, hr_error *err)
{
    int64_t length;
    hr_tensor *out;
    for (int i = 0; i < 3; i++)
        if (k->input[i]->count != 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected scalars start, limit and delta");
    HR_TRY(range_length(k->input, &length, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(length), &out, err));
    switch (out->dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        range_##S(*(const T *)k->input[0]->data, *(const T *)k->input[2]->data, out);                                  \
        break;
        HR_FLOAT_TYPES(CASE)
        HR_SIGNED_TYPES(CASE)
#undef CASE
    default:
        break;
    }
    return HR_OK;
}

const hr_graph_op hr_graph_ops_range_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Range",
        .types = "Tidx:{float,double,int32,int64,int8,int16}",
        .traits = HR_NO_GRADIENT,
        .shape = range_shape,
        .compute = range_compute,
    },
    HR_GRAPH_OPS_END,
};

HR_TERNARY_CONSTRUCTOR(hr_range_values, "Range")

/* Both ends are what they are given as; those between are start + i * distance. */
hr_node hr_linspace(hr_node start, hr_node stop, int64_t count)
{
    hr_graph *g = start.graph;
    if (!hr_node_exists(start) || !hr_node_exists(stop)) return hr_failed_node(g);
    if (count < 1)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument", "hr_linspace: expected 1 value or more, got %lld",
                            (long long)count);
    hr_name_scope(g, "linspace");
    const hr_node one = hr_ints(g, HR_I64(1), 1), first = hr_reshape(start, one), last = hr_reshape(stop, one);
    const hr_node unit = hr_scalar_like(start, 1), most = hr_scalar_like(start, fmax(1, (double)(count - 1)));
    const hr_node steps = hr_range_values(unit, most, unit), distance = hr_div(hr_sub(stop, start), most);
    const hr_node parts[] = {first, hr_add(start, hr_mul(distance, steps)), last};
    const hr_node all = count == 1 ? first : hr_concat(parts, 3, 0);
    hr_scope_end(g);
    return all;
}

void hr_meshgrid(const hr_node *xs, int count, bool matrix_order, hr_node *out)
{
    if (!xs || !out || count < 1 || !hr_node_exists(xs[0])) return;
    hr_graph *g = xs[0].graph;
    for (int i = 0; i < count; i++) out[i] = hr_failed_node(g);
    if (count > HR_MAX_RANK) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument", "hr_meshgrid: expected at most %d vectors, got %d",
                     HR_MAX_RANK, count);
        return;
    }
    hr_name_scope(g, "meshgrid");
    hr_node sizes[HR_MAX_RANK] = {{0}};
    for (int i = 0; i < count; i++) sizes[!matrix_order && count > 1 && i < 2 ? 1 - i : i] = hr_size_of(xs[i]);
    const hr_node shape = hr_stack(sizes, count, 0);
    for (int i = 0; i < count; i++) {
        int64_t flat[HR_MAX_RANK];
        for (int d = 0; d < count; d++) flat[d] = 1;
        flat[!matrix_order && count > 1 && i < 2 ? 1 - i : i] = -1;
        out[i] = hr_broadcast_to(hr_reshape(xs[i], hr_ints(g, flat, count)), shape);
    }
    hr_scope_end(g);
}
