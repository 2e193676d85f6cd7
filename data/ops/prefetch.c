/* prefetch: how far the stage below runs ahead of its reader. Rows pass as they are. */
#include <headrace/data.h>
#include <inttypes.h>

typedef struct prefetch_spec {
    int64_t units;
} prefetch_spec;

static hr_status prefetch_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    const int64_t units = ((const prefetch_spec *)spec)->units;
    if (units >= 0 || units == HR_AUTOTUNE) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "prefetch.size",
                   "prefetch: expected 0 or more, or HR_AUTOTUNE, got %" PRId64, units);
}

/* 0 is the engine's choice, as in TensorFlow. */
static void prefetch_settings(const void *spec, hr_settings *below)
{
    const int64_t units = ((const prefetch_spec *)spec)->units;
    if (units > 0) below->window = units;
}

static void prefetch_describe(const void *spec, hr_description *to)
{
    const prefetch_spec *sp = spec;
    if (sp->units > 0) hr_describe_number(to, NULL, sp->units);
}

const hr_op hr_op_prefetch = {
    .head = HR_OP_HEAD,
    .name = "prefetch",
    .spec_size = sizeof(prefetch_spec),
    .traits = HR_PASSES_ROWS,
    .check = prefetch_check,
    .settings = prefetch_settings,
    .describe = prefetch_describe,
};

hr_dataset *hr_prefetch(hr_dataset *in, int64_t units)
{
    prefetch_spec spec = {units};
    return hr_dataset_new(&hr_op_prefetch, &spec, &in, 1);
}
