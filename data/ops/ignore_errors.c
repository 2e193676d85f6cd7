/* ignore_errors: what fails below it is left out and counted; elements that are good pass. The engine does it: this
 * says where, and tells of what was left out. */
#include <headrace/data.h>
#include <uv.h>

typedef struct ignore_spec {
    hr_damage_fn *on_error; /* NULL: not wanted */
    void *user;
    bool log_warning;
    uv_mutex_t *telling; /* one call of on_error at a time */
} ignore_spec;

static hr_status ignore_spec_copy(void *spec, hr_error *err)
{
    ignore_spec *sp = spec;
    uv_mutex_t *telling = hr_malloc(sizeof *telling);
    if (telling && uv_mutex_init(telling) == 0) {
        sp->telling = telling;
        return HR_OK;
    }
    hr_free(telling);
    return hr_no_memory(err, "ignore_errors");
}

static void ignore_spec_free(void *spec)
{
    uv_mutex_t *telling = ((ignore_spec *)spec)->telling;
    if (telling) uv_mutex_destroy(telling);
    hr_free(telling);
}

static void ignore_ignored(const void *spec, const hr_error *error)
{
    const ignore_spec *sp = spec;
    if (sp->log_warning) hr_log_message(HR_WARNING, "ignored: %s", error->text);
    if (!sp->on_error) return;
    uv_mutex_lock(sp->telling);
    sp->on_error(error, (hr_view){"", 0}, sp->user);
    uv_mutex_unlock(sp->telling);
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
