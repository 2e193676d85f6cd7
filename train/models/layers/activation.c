/* Activation: a function of each value, by name or one's own. */
#include <headrace/model_layers.h>

typedef struct activation_config {
    const char *name;
    hr_activation_fn *fn;
} activation_config;

static hr_node activation_call(hr_layer_call *c, void *config)
{
    const activation_config *a = config;
    const hr_node y = (a->fn ? a->fn : hr_activation_named(a->name))(c->input[0]);
    const bool same = y.id == c->input[0].id && y.output == c->input[0].output;
    return same ? hr_identity(y) : y; /* losses look for a sigmoid or softmax at the end */
}

static hr_status activation_check(const void *config, hr_error *err)
{
    const activation_config *a = config;
    if (a->name || a->fn) return hr_activation_check(a->name, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected the name of an activation, or .fn, got NULL");
}

static const hr_layer_kind activation_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Activation",
    .config_size = sizeof(activation_config),
    .call = activation_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .check = activation_check,
};

hr_layer *hr_activation_layer_with(const char *activation, const hr_activation_layer_opts *opts)
{
    const hr_activation_layer_opts o = HR_OPTIONS(hr_activation_layer_opts, opts);
    return hr_layer_new(&activation_kind, &(activation_config){hr_activation_kept(activation), o.fn},
                        HR_LAYER_COMMON(&o));
}
