/* PReLU: x, and alpha x below 0, where alpha is learned. */
#include <headrace/model_layers.h>

typedef struct prelu_config {
    unsigned shared; /* bit i: axis i */
    bool refused;
    hr_prelu_layer_opts o;
} prelu_config;

static hr_node prelu_call(hr_layer_call *c, void *config)
{
    const prelu_config *p = config;
    const hr_node x = c->input[0];
    const hr_shape in = hr_node_shape(x);
    hr_shape shape = {in.rank - 1, {0}};
    char text[128];
    bool known = in.rank > 1 && p->shared >> in.rank == 0;
    for (int i = 1; i < in.rank; i++) {
        shape.dims[i - 1] = p->shared & (1U << i) ? 1 : in.dims[i];
        known &= shape.dims[i - 1] >= 0;
    }
    if (!known)
        return hr_layer_fail(c, "models.shape",
                             "expected an input that has the shared_axes, and whose other dimensions are known, got %s",
                             hr_shape_text(in, text, sizeof text));
    const hr_node alpha = hr_layer_weight(
        c, "alpha", shape, .initializer = p->o.alpha_initializer.make ? p->o.alpha_initializer : hr_zeros(),
        .regularizer = p->o.alpha_regularizer, .constraint = p->o.alpha_constraint);
    return hr_sub(hr_relu(x), hr_mul(alpha, hr_relu(hr_neg(x))));
}

static hr_status prelu_check(const void *config, hr_error *err)
{
    if (!((const prelu_config *)config)->refused) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "shared_axes: expected axes from 1 to %d",
                   HR_MAX_RANK - 1);
}

static const hr_layer_kind prelu_kind = {
    .head = HR_LAYER_HEAD,
    .name = "PReLU",
    .config_size = sizeof(prelu_config),
    .call = prelu_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .min_rank = 2,
    .check = prelu_check,
};

hr_layer *hr_prelu_layer_with(const hr_prelu_layer_opts *opts)
{
    prelu_config p = {.o = HR_OPTIONS(hr_prelu_layer_opts, opts)};
    for (int i = 0; i < p.o.shared_axes.rank; i++) {
        const int64_t axis = p.o.shared_axes.dims[i];
        p.refused |= axis < 1 || axis >= HR_MAX_RANK;
        if (!p.refused) p.shared |= 1U << axis;
    }
    return hr_layer_new(&prelu_kind, &p, HR_LAYER_COMMON(&p.o));
}
