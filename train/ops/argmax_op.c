/* ArgMax and ArgMin: the place of the first greatest or least value along an axis; NaN is skipped. */
#include <headrace/kernels.h>
#include <string.h>

static hr_status arg_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 1);
    const hr_shape in = s->input[0];
    int axis = -1;
    if (in.rank < 0) return HR_OK;
    if (value) HR_TRY(hr_axis_input(value, in.rank, &axis, err));
    s->output[0].rank = in.rank > 0 ? in.rank - 1 : 0;
    for (int i = 0; i < s->output[0].rank; i++) s->output[0].dims[i] = axis < 0 ? -1 : in.dims[i < axis ? i : i + 1];
    return HR_OK;
}

#define ARG(T, U, D, S)                                                                                                \
    static int64_t arg_##S(const void *values, int64_t step, int64_t n, bool min)                                      \
    {                                                                                                                  \
        const T *v = values;                                                                                           \
        int64_t best = 0;                                                                                              \
        for (int64_t i = 1; i < n; i++) {                                                                              \
            const T x = v[i * step], y = v[best * step];                                                               \
            if (min ? x < y || (y != y && x == x) : x > y || (y != y && x == x)) best = i;                             \
        }                                                                                                              \
        return best;                                                                                                   \
    }
HR_NUMBER_TYPES(ARG)
ARG(bool, bool, HR_BOOL, b)

typedef int64_t arg_fn(const void *values, int64_t step, int64_t n, bool min);

static arg_fn *arg_of(hr_dtype dtype)
{
    switch (dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        return arg_##S;
        HR_NUMBER_TYPES(CASE)
        CASE(bool, bool, HR_BOOL, b)
#undef CASE
    default:
        return NULL;
    }
}

static hr_status arg_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const bool min = hr_node_is(k->node, "ArgMin");
    int axis;
    hr_tensor *out;
    HR_TRY(hr_axis_input(k->input[1], in->shape.rank, &axis, err));
    const int64_t length = in->shape.dims[axis];
    hr_shape shape = in->shape;
    shape.rank--;
    int64_t inner = 1;
    for (int i = axis; i < shape.rank; i++) inner *= shape.dims[i] = in->shape.dims[i + 1];
    if (length == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Reduction axis %d is empty in shape of the input",
                       axis);
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    arg_fn *arg = arg_of(in->dtype);
    const size_t size = hr_dtype_size(in->dtype);
    for (int64_t i = 0; i < out->count; i++) {
        const int64_t start = i / inner * inner * length + i % inner;
        const int64_t at = arg((const char *)in->data + (size_t)start * size, inner, length, min);
        HR_TRY(hr_put_int(out, i, at, err));
    }
    return HR_OK;
}

#define ARG_OP(NAME)                                                                                                   \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:{numbers,bool}; Tidx:indices; output_type:indices",        \
        .traits = HR_NO_GRADIENT, .shape = arg_shape, .compute = arg_compute,                                          \
    }

const hr_graph_op hr_graph_ops_argmax_op[] = {ARG_OP("ArgMax"), ARG_OP("ArgMin"), HR_GRAPH_OPS_END};

hr_node hr_argmax(hr_node x, int axis)
{
    return hr_new_node(x.graph, "ArgMax", HR_INPUTS(x, hr_scalar(x.graph, HR_INT32, axis)));
}

hr_node hr_argmin(hr_node x, int axis)
{
    return hr_new_node(x.graph, "ArgMin", HR_INPUTS(x, hr_scalar(x.graph, HR_INT32, axis)));
}
