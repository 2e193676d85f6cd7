/* Range: numbers from start to limit in steps of delta. */
#include "train/ops/kernels.h"

#include <math.h>

static hr_status bad_range(double start, double limit, double delta, hr_error *err)
{
    if (delta == 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Requires delta != 0: %g", delta);
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Requires start %s limit when delta %s 0: %g/%g",
                   delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
}

#define RANGE(T, U, D, S)                                                                                              \
    static hr_status range_##S(hr_kernel *k, hr_error *err)                                                            \
    {                                                                                                                  \
        const T start = *(const T *)k->input[0]->data, limit = *(const T *)k->input[1]->data;                          \
        const T delta = *(const T *)k->input[2]->data;                                                                 \
        hr_tensor *out;                                                                                                \
        if (delta == 0 || (delta > 0 ? start > limit : start < limit))                                                 \
            return bad_range((double)start, (double)limit, (double)delta, err);                                        \
        const double count = ceil(((double)limit - (double)start) / (double)delta);                                    \
        HR_TRY(hr_kernel_output(k, 0, HR_SHAPE((int64_t)count), &out, err));                                           \
        T value = start;                                                                                               \
        for (int64_t i = 0; i < out->count; i++, value = (T)((U)value + (U)delta)) ((T *)out->data)[i] = value;        \
        return HR_OK;                                                                                                  \
    }
HR__FLOATS(RANGE)
HR__SIGNED(RANGE)

static double number_at(const hr_tensor *t)
{
    switch (t->dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        return (double)*(const T *)t->data;
        HR__NUMBERS(CASE)
#undef CASE
    default:
        return 0;
    }
}

static hr_status range_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value[3];
    s->output[0] = HR_SHAPE(-1);
    for (int i = 0; i < 3; i++) {
        if (s->input[i].rank > 0) return hr_infer_refuse(s, err, "scalars start, limit and delta");
        value[i] = hr_infer_value(s, i);
        if (!value[i]) return HR_OK;
    }
    const double start = number_at(value[0]), limit = number_at(value[1]), delta = number_at(value[2]);
    if (delta == 0 || (delta > 0 ? start > limit : start < limit)) return bad_range(start, limit, delta, err);
    s->output[0] = HR_SHAPE((int64_t)ceil((limit - start) / delta));
    return HR_OK;
}

static hr_status range_compute(hr_kernel *k, hr_error *err)
{
    for (int i = 0; i < 3; i++)
        if (k->input[i]->count != 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected scalars start, limit and delta");
    switch (k->input[0]->dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        return range_##S(k, err);
        HR__FLOATS(CASE)
        HR__SIGNED(CASE)
#undef CASE
    default:
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.kernel", "no kernel for this type");
    }
}

const hr_graph_op hr_graph_ops_range[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Range",
        .inputs = "start:Tidx, limit:Tidx, delta:Tidx",
        .outputs = "output:Tidx",
        .attrs = "Tidx:{float,double,int32,int64,int8,int16}=int32",
        .traits = HR_NO_GRADIENT,
        .shape = range_shape,
        .compute = range_compute,
    },
    HR_GRAPH_OPS_END,
};
