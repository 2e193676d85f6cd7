/* ignore_errors: what fails below it is left out and counted; elements that are good pass. The engine does it: this
 * says where, and tells of what was left out. */
#include "io/policy/policy.h"
#include <headrace/data.h>

typedef struct ignore_spec {
    hr_damage_fn *on_error; /* NULL: nobody asks */
    void *user;
    bool log_warning;
    hr__policy *telling; /* serialises the calls */
} ignore_spec;

static hr_status ignore_spec_copy(void *spec, hr_error *err)
{
    ignore_spec *sp = spec;
    const hr_policy policy = {.on_error = HR_SKIP, .on_damage = sp->on_error, .user = sp->user};
    return hr__policy_new(&policy, "ignore_errors", &sp->telling, err);
}

static void ignore_spec_free(void *spec) { hr__policy_free(((ignore_spec *)spec)->telling); }

static void ignore_ignored(const void *spec, const hr_error *error)
{
    const ignore_spec *sp = spec;
    if (sp->log_warning) hr_log_message(HR_WARNING, "ignored: %s", error->text);
    hr__policy_tell(sp->telling, error);
}

static void ignore_errors_describe(const void *spec, hr_description *to)
{
    const ignore_spec *sp = spec;
    hr_describe_flag(to, "log_warning", sp->log_warning);
}

const hr_op hr_op_ignore_errors = {
    .head = HR_OP_HEAD,
    .name = "ignore_errors",
    .spec_size = sizeof(ignore_spec),
    .traits = HR_IGNORES_ERRORS,
    .spec_copy = ignore_spec_copy,
    .spec_free = ignore_spec_free,
    .ignored = ignore_ignored,
    .describe = ignore_errors_describe,
};

hr_dataset *hr_ignore_errors_with(hr_dataset *in, const hr_ignore_errors_opts *opts)
{
    const hr_ignore_errors_opts o = HR_OPTIONS(hr_ignore_errors_opts, opts);
    const ignore_spec spec = {.on_error = o.on_error, .user = o.user, .log_warning = o.log_warning};
    return hr_dataset_new(&hr_op_ignore_errors, &spec, &in, 1);
}
