/* Lambda: what a function of one's own makes of its input. */
#include <headrace/model_layers.h>

typedef struct lambda_config {
    hr_lambda_fn *fn;
    void *user;
    void (*user_free)(void *user);
    bool keeps_mask;
} lambda_config;

static hr_node lambda_call(hr_layer_call *c, void *config)
{
    const lambda_config *l = config;
    if (l->keeps_mask) c->output_mask[0] = c->mask[0];
    return l->fn(c->input[0], l->user);
}

static hr_status lambda_check(const void *config, hr_error *err)
{
    if (((const lambda_config *)config)->fn) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a function, got NULL");
}

static void lambda_release(void *config)
{
    const lambda_config *l = config;
    if (l->user_free) l->user_free(l->user);
}

static const hr_layer_kind lambda_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Lambda",
    .config_size = sizeof(lambda_config),
    .call = lambda_call,
    .check = lambda_check,
    .release = lambda_release,
};

hr_layer *hr_lambda_layer_with(hr_lambda_fn *fn, void *user, const hr_lambda_layer_opts *opts)
{
    const hr_lambda_layer_opts o = HR_OPTIONS(hr_lambda_layer_opts, opts);
    return hr_layer_new(&lambda_kind, &(lambda_config){fn, user, o.user_free, o.keeps_mask}, HR_LAYER_COMMON(&o));
}
