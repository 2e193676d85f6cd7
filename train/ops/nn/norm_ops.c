/* LRN with its derivative: values divided by what the channels beside them make up. L2Loss. */
#include <headrace/kernels.h>
#include <headrace/nn.h>
#include <math.h>

/* ---- LRN ---- */

typedef struct lrn_work {
    const void *x, *y, *g; /* y, g: of the derivative */
    void *out;
    int64_t depth, radius;
    double bias, alpha, beta;
} lrn_work;

#define LRN(T, V, U, D, S, A, B)                                                                                       \
    static double norm_of_##S(const lrn_work *w, const T *x, int64_t d, int64_t *from, int64_t *to)                    \
    {                                                                                                                  \
        double sum = 0;                                                                                                \
        *from = d > w->radius ? d - w->radius : 0;                                                                     \
        *to = w->depth - d > w->radius ? d + w->radius + 1 : w->depth;                                                 \
        for (int64_t i = *from; i < *to; i++) sum += (double)HR_GET(S, x[i]) * HR_GET(S, x[i]);                        \
        return w->bias + w->alpha * sum;                                                                               \
    }                                                                                                                  \
    static void lrn_##S(int64_t first, int64_t last, void *user)                                                       \
    {                                                                                                                  \
        const lrn_work *w = user;                                                                                      \
        int64_t from, to;                                                                                              \
        for (int64_t at = first * w->depth; at < last * w->depth; at++) {                                              \
            const T *x = (const T *)w->x + at / w->depth * w->depth;                                                   \
            const double norm = norm_of_##S(w, x, at % w->depth, &from, &to);                                          \
            ((T *)w->out)[at] = HR_PUT(S, T, HR_GET(S, x[at % w->depth]) * pow(norm, -w->beta));                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void lrn_grad_##S(int64_t first, int64_t last, void *user)                                                  \
    {                                                                                                                  \
        const lrn_work *w = user;                                                                                      \
        int64_t from, to;                                                                                              \
        for (int64_t at = first * w->depth; at < last * w->depth; at++) {                                              \
            const int64_t row = at / w->depth * w->depth, own = at % w->depth;                                         \
            const T *x = (const T *)w->x + row, *y = (const T *)w->y + row, *g = (const T *)w->g + row;                \
            double sum = pow(norm_of_##S(w, x, own, &from, &to), -w->beta) * HR_GET(S, g[own]);                        \
            for (int64_t d = from, a, b; d < to; d++)                                                                  \
                sum -= 2 * w->alpha * w->beta * HR_GET(S, x[own]) * HR_GET(S, y[d]) * HR_GET(S, g[d]) /                \
                       norm_of_##S(w, x, d, &a, &b);                                                                   \
            ((T *)w->out)[at] = HR_PUT(S, T, sum);                                                                     \
        }                                                                                                              \
    }
HR_EACH_TYPE(LRN, ~, ~, float32, halves)

static hr_status lrn_compute(hr_kernel *k, hr_error *err)
{
    const bool grad = k->inputs == 3;
    const hr_tensor *x = k->input[grad];
    hr_tensor *out;
    if (x->shape.rank != 4 ||
        (grad && (!hr_shape_equal(x->shape, k->input[0]->shape) || !hr_shape_equal(x->shape, k->input[2]->shape))))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of rank 4 and of one shape");
    HR_TRY(hr_kernel_output(k, 0, x->shape, &out, err));
    lrn_work w = {.x = x->data,
                  .y = grad ? k->input[2]->data : NULL,
                  .g = grad ? k->input[0]->data : NULL,
                  .out = out->data,
                  .depth = x->shape.dims[3],
                  .radius = hr_attr_int(k->node, "depth_radius"),
                  .bias = hr_attr_float(k->node, "bias"),
                  .alpha = hr_attr_float(k->node, "alpha"),
                  .beta = hr_attr_float(k->node, "beta")};
    const double reach = (double)(w.radius < w.depth ? 2 * w.radius + 1 : w.depth);
    if (out->count)
        hr_kernel_parallel(k, out->count / w.depth, (double)w.depth * (grad ? reach * reach : reach + 20),
                           (void (*)(int64_t, int64_t, void *))hr_kernel_chosen(k)->run, &w);
    return HR_OK;
}

static void lrn_gradient(hr_backward *b)
{
    static const char *const names[] = {"depth_radius", "bias", "alpha", "beta"};
    hr_attr attrs[4];
    for (int i = 0; i < 4; i++) attrs[i] = *hr_node_attr(b->node, names[i]);
    hr_backward_give(b, 0,
                     hr_new_node(b->graph, "LRNGrad", HR_INPUTS(b->grad[0], b->input[0], b->output[0]), .attrs = attrs,
                                 .attr_count = 4));
}

/* ---- L2Loss ---- */

#define L2(T, V, U, D, S, A, B)                                                                                        \
    static void l2_##S(const hr_tensor *x, void *out)                                                                  \
    {                                                                                                                  \
        double sum = 0;                                                                                                \
        for (int64_t i = 0; i < x->count; i++)                                                                         \
            sum += (double)HR_GET(S, ((const T *)x->data)[i]) * HR_GET(S, ((const T *)x->data)[i]);                    \
        *(T *)out = HR_PUT(S, T, sum / 2);                                                                             \
    }
HR_EACH_TYPE(L2, ~, ~, floats, halves)

static hr_status l2_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    ((void (*)(const hr_tensor *, void *))hr_kernel_chosen(k)->run)(k->input[0], out->data);
    return HR_OK;
}

HR_UNARY_GRADIENT(l2, hr_mul(x, g))

#define NN_OP(NAME, SHAPES, COMPUTE, GRADIENT, ...)                                                                    \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .kernels = HR_KERNELS(__VA_ARGS__), .shapes = SHAPES,                \
        .compute = COMPUTE, .gradient = GRADIENT,                                                                      \
    }

const hr_graph_op hr_graph_ops_norm_ops[] = {
    NN_OP("LRN", "[a,b,c,d] -> [a,b,c,d]", lrn_compute, lrn_gradient, lrn, float32, halves),
    NN_OP("LRNGrad", "merge", lrn_compute, NULL, lrn_grad, float32, halves),
    NN_OP("L2Loss", "? -> []", l2_compute, l2_gradient, l2, floats, halves),
    HR_GRAPH_OPS_END,
};

/* ---- constructors ---- */

hr_node hr_l2_loss_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node("L2Loss", x, opts); }

hr_node hr_fused_batch_norm_with(hr_node x, hr_node scale, hr_node offset, const hr_fused_batch_norm_opts *opts)
{
    const hr_fused_batch_norm_opts o = HR_OPTIONS(hr_fused_batch_norm_opts, opts);
    const hr_tensor none = hr_tensor_of(HR_FLOAT, HR_SHAPE(0), NULL);
    const float least = 1.001e-5f, epsilon = o.epsilon == 0 ? 0.001f : o.epsilon; /* TensorFlow's least one */
    if (!x.graph) return x;
    if (o.inference && (!o.mean.graph || !o.variance.graph))
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "graph.attr",
                            "FusedBatchNormV3: expected a .mean and a .variance with .inference");
    const hr_node mean = o.mean.graph ? o.mean : hr_const(x.graph, &none);
    const hr_node variance = o.variance.graph ? o.variance : hr_const(x.graph, &none);
    return hr_new_node(x.graph, "FusedBatchNormV3", .name = o.name, HR_INPUTS(x, scale, offset, mean, variance),
                       HR_ATTRS(HR_FLOAT_ATTR("epsilon", epsilon < least ? least : epsilon),
                                HR_BOOL_ATTR("is_training", !o.inference),
                                HR_STRING_ATTR("data_format", !o.channels_first            ? "NHWC"
                                                              : hr_node_shape(x).rank == 5 ? "NCDHW"
                                                                                           : "NCHW")));
}

hr_node hr_batch_normalize(hr_node x, hr_node mean, hr_node variance, hr_node offset, hr_node scale, double epsilon)
{
    if (!x.graph) return x;
    hr_name_scope(x.graph, "batchnorm");
    hr_node factor = hr_rsqrt(hr_add(variance, hr_scalar_like(variance, epsilon)));
    if (scale.graph) factor = hr_mul(factor, scale);
    hr_node shift = hr_mul(mean, factor);
    shift = offset.graph ? hr_sub(offset, shift) : hr_neg(shift);
    const hr_node y = hr_add(hr_mul(x, hr_cast_to(factor, hr_node_dtype(x))), hr_cast_to(shift, hr_node_dtype(x)));
    hr_scope_end(x.graph);
    return y;
}

hr_moments_of hr_moments_with(hr_node x, const hr_reduce_opts *opts)
{
    const hr_reduce_opts o = HR_OPTIONS(hr_reduce_opts, opts);
    const hr_dtype type = hr_node_dtype(x);
    if (!x.graph) return (hr_moments_of){x, x};
    hr_name_scope(x.graph, o.name ? o.name : "moments");
    const bool half = type == HR_HALF || type == HR_BFLOAT16;
    if (half) x = hr_cast_to(x, HR_FLOAT);
    hr_moments_of m;
    m.mean = hr_reduce_mean(x, .axes = o.axes, .axis_count = o.axis_count, .keep_dims = true, .name = "mean");
    m.variance = hr_reduce_mean(hr_squared_difference(x, hr_stop_gradient(m.mean)), .axes = o.axes,
                                .axis_count = o.axis_count, .keep_dims = true, .name = "variance");
    if (!o.keep_dims) {
        m.mean = hr_squeeze(m.mean, o.axes, o.axis_count);
        m.variance = hr_squeeze(m.variance, o.axes, o.axis_count);
    }
    if (half) m.mean = hr_cast_to(m.mean, type), m.variance = hr_cast_to(m.variance, type);
    hr_scope_end(x.graph);
    return m;
}

hr_node hr_l2_normalize(hr_node x, int axis, double epsilon)
{
    if (!x.graph) return x;
    hr_name_scope(x.graph, "l2_normalize");
    const hr_node sum = hr_reduce_sum(hr_square(x), .axes = HR_I64(axis), .axis_count = 1, .keep_dims = true);
    const hr_node y = hr_mul(x, hr_rsqrt(hr_maximum(sum, hr_scalar_like(sum, epsilon))));
    hr_scope_end(x.graph);
    return y;
}

hr_node hr_local_response_normalization_with(hr_node x, const hr_lrn_opts *opts)
{
    const hr_lrn_opts o = HR_OPTIONS(hr_lrn_opts, opts);
    return hr_new_node(x.graph, "LRN", .name = o.name, HR_INPUTS(x),
                       HR_ATTRS(HR_INT_ATTR("depth_radius", o.depth_radius ? *o.depth_radius : 5),
                                HR_FLOAT_ATTR("bias", o.bias ? *o.bias : 1),
                                HR_FLOAT_ATTR("alpha", o.alpha ? *o.alpha : 1),
                                HR_FLOAT_ATTR("beta", o.beta ? *o.beta : 0.5f)));
}
