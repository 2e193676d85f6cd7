/* ActivityRegularization: its input as it is, at a cost. */
#include <headrace/model_layers.h>

static hr_node pass_on(hr_layer_call *c, void *config)
{
    (void)config;
    return hr_identity(c->input[0]);
}

static const hr_layer_kind activity_regularization_kind = {
    .head = HR_LAYER_HEAD,
    .name = "ActivityRegularization",
    .call = pass_on,
    .traits = HR_LAYER_KEEPS_MASK,
};

hr_layer *hr_activity_regularization_layer_with(float l1, float l2, const hr_layer_opts *opts)
{
    hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    o.activity_regularizer.l1 += l1;
    o.activity_regularizer.l2 += l2;
    return hr_layer_new(&activity_regularization_kind, NULL, HR_LAYER_COMMON(&o));
}
