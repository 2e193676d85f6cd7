/* Values that follow from a shape: Fill, ZerosLike, OnesLike, Shape, Size, Rank, Range. */
#include "train/ops/kernels.h"

#include <math.h>
#include <string.h>

/* ---- Fill, ZerosLike, OnesLike ---- */

static hr_status fill_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *dims = hr_infer_value(s, 0);
    const hr_shape shape = s->input[0];
    if (s->input[1].rank > 0) return hr_infer_refuse(s, err, "a scalar to fill with");
    if (dims && !hr_shape_from_tensor(dims, &s->output[0])) return hr_infer_refuse(s, err, "a vector of dimensions");
    if (!dims && shape.rank == 1 && shape.dims[0] >= 0 && shape.dims[0] <= HR_MAX_RANK) {
        s->output[0].rank = (int)shape.dims[0];
        for (int i = 0; i < s->output[0].rank; i++) s->output[0].dims[i] = -1;
    }
    return HR_OK;
}

static void fill_with(hr_tensor *out, const void *value)
{
    const size_t size = hr_dtype_size(out->dtype);
    char *at = out->data;
    for (int64_t i = 0; i < out->count; i++, at += size) memcpy(at, value, size);
}

/* A string that is filled in lives as long as the output. */
static hr_status fill_strings(hr_kernel *k, hr_shape shape, hr_view value, hr_error *err)
{
    hr_tensor all = {0};
    const int64_t count = hr_shape_count(shape);
    hr_view *views = hr_malloc(sizeof *views * (size_t)(count + 1));
    if (!views) return hr_no_memory(err, "a tensor");
    for (int64_t i = 0; i < count; i++) views[i] = value;
    const hr_status st = hr_tensor_strings(&all, shape, views, err);
    hr_free(views);
    if (st == HR_OK) hr_kernel_give(k, 0, all);
    return st;
}

static hr_status fill_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    hr_tensor *out;
    const hr_tensor *value = k->input[1];
    if (!hr_shape_from_tensor(k->input[0], &shape) || hr_shape_count(shape) < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a vector of dimensions >= 0");
    if (value->count != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected one value to fill with");
    if (value->dtype == HR_STRING) return fill_strings(k, shape, *(const hr_view *)value->data, err);
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    fill_with(out, value->data);
    return HR_OK;
}

static void fill_gradient(hr_backward *b) { b->out[1] = hr_dense_gradient(hr_reduce_sum(b->grad[0])); }

static hr_status zeros_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output_over(k, 0, 0, k->input[0]->shape, &out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    return HR_OK;
}

static hr_status ones_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output_over(k, 0, 0, k->input[0]->shape, &out, err));
    switch (out->dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        fill_with(out, &(T){1});                                                                                       \
        break;
        HR__NUMBERS(CASE)
        CASE(bool, bool, HR_BOOL, b)
#undef CASE
    default:
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.kernel", "no kernel for this type");
    }
    return HR_OK;
}

/* ---- Shape, Size, Rank ---- */

static hr_status put_int(hr_tensor *out, int64_t i, int64_t value, hr_error *err)
{
    if (out->dtype == HR_INT64) {
        ((int64_t *)out->data)[i] = value;
        return HR_OK;
    }
    ((int32_t *)out->data)[i] = (int32_t)value;
    return value <= INT32_MAX ? HR_OK
                              : hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                                        "%lld does not fit into out_type int32", (long long)value);
}

static hr_status shapes_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    for (int i = 0; i < s->outputs; i++) s->output[i] = HR_SHAPE(s->input[i].rank);
    return HR_OK;
}

static hr_status shapes_compute(hr_kernel *k, hr_error *err)
{
    for (int i = 0; i < k->outputs; i++) {
        const hr_shape shape = k->input[i]->shape;
        hr_tensor *out;
        HR_TRY(hr_kernel_output(k, i, HR_SHAPE(shape.rank), &out, err));
        for (int d = 0; d < shape.rank; d++) HR_TRY(put_int(out, d, shape.dims[d], err));
    }
    return HR_OK;
}

static hr_status size_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    return put_int(out, 0, k->input[0]->count, err);
}

static hr_status rank_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    return put_int(out, 0, k->input[0]->shape.rank, err);
}

/* ---- Range ---- */

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

const hr_graph_op hr_graph_ops_fill[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Fill",
        .inputs = "dims:index_type, value:T",
        .outputs = "output:T",
        .attrs = "T:any; index_type:indices=int32",
        .shape = fill_shape,
        .compute = fill_compute,
        .gradient = fill_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ZerosLike",
        .inputs = "x:T",
        .outputs = "y:T",
        .attrs = "T:any",
        .traits = HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = zeros_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "OnesLike",
        .inputs = "x:T",
        .outputs = "y:T",
        .attrs = "T:{numbers,bool}",
        .traits = HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = ones_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Shape",
        .inputs = "input:T",
        .outputs = "output:out_type",
        .attrs = "T:any; out_type:indices=int32",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = shapes_shape,
        .compute = shapes_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ShapeN",
        .inputs = "input:N*T",
        .outputs = "output:N*out_type",
        .attrs = "N:int; T:any; out_type:indices=int32",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = shapes_shape,
        .compute = shapes_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Size",
        .inputs = "input:T",
        .outputs = "output:out_type",
        .attrs = "T:any; out_type:indices=int32",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = hr_infer_scalar,
        .compute = size_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Rank",
        .inputs = "input:T",
        .outputs = "output:int32",
        .attrs = "T:any",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = hr_infer_scalar,
        .compute = rank_compute,
    },
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

hr_node hr_zeros_like_with(hr_node x, const hr_name_opts *opts) { return hr__unary("ZerosLike", x, opts); }
hr_node hr_ones_like_with(hr_node x, const hr_name_opts *opts) { return hr__unary("OnesLike", x, opts); }
hr_node hr_shape_of_with(hr_node x, const hr_name_opts *opts) { return hr__unary("Shape", x, opts); }
hr_node hr_size_of_with(hr_node x, const hr_name_opts *opts) { return hr__unary("Size", x, opts); }
hr_node hr_rank_of_with(hr_node x, const hr_name_opts *opts) { return hr__unary("Rank", x, opts); }
hr_node hr_fill_with(hr_node x, hr_node y, const hr_name_opts *opts) { return hr__binary("Fill", x, y, opts); }
