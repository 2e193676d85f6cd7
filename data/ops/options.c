/* options: what holds for all that stands below. Rows pass as they are. */
#include <headrace/data.h>

typedef struct options_spec {
    bool tf_compat, unordered;
    uint64_t seed;
} options_spec;

static void options_settings(const void *spec, hr_settings *below)
{
    const options_spec *sp = spec;
    below->tf_compat |= sp->tf_compat;
    below->unordered |= sp->unordered;
    if (sp->seed) below->seed = sp->seed;
}

static void options_identity(const void *spec, uint64_t *sum)
{
    const options_spec *sp = spec;
    hr_identify_i64(sum, sp->tf_compat);
    hr_identify_i64(sum, (int64_t)sp->seed);
}

static void options_describe(const void *spec, hr_description *to)
{
    const options_spec *sp = spec;
    hr_describe_flag(to, "tf_compat", sp->tf_compat);
    hr_describe_flag(to, "unordered", sp->unordered);
    hr_describe_seed(to, sp->seed, false);
}

const hr_op hr_op_options = {
    .head = HR_OP_HEAD,
    .name = "options",
    .spec_size = sizeof(options_spec),
    .traits = HR_PASSES_ROWS,
    .identity = options_identity,
    .settings = options_settings,
    .describe = options_describe,
};

hr_dataset *hr_options_with(hr_dataset *in, const hr_options_opts *opts)
{
    const hr_options_opts o = HR_OPTIONS(hr_options_opts, opts);
    const options_spec spec = {.tf_compat = o.tf_compat, .unordered = o.unordered, .seed = o.seed};
    return hr_dataset_new(&hr_op_options, &spec, &in, 1);
}
