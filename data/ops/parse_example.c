/* parse_example: serialized tf.Examples become the components of a parsing spec. It is work only and goes row by row,
 * so a batch below or above costs the same. Strings are views into the records, which live as long as the rows.
 *
 * In tf_compat the parts of sparse and ragged features are held against each other over a batch, as TensorFlow does. */
#include "data/parse/parse_spec.h"

typedef struct parse_spec {
    hr__parse_options options;
    const hr_parse_spec *features; /* the caller's; NULL once the plan is made */
    hr__parse_plan *plan;
} parse_spec;

static hr_status parse_spec_copy(void *spec, hr_error *err)
{
    parse_spec *s = spec;
    const char *label = s->options.label;
    s->plan = NULL;
    s->options.label = NULL;
    HR_TRY(hr__parse_options_copy(&s->options, err));
    HR_TRY(hr__parse_plan_new(s->features, HR__PARSE_EXAMPLE, label, &s->plan, err));
    s->features = NULL;
    return HR_OK;
}

static void parse_spec_free(void *spec)
{
    parse_spec *s = spec;
    hr__parse_options_free(&s->options);
    hr__parse_plan_free(s->plan);
}

static hr_status parse_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const parse_spec *s = spec;
    HR_TRY(hr__parse_options_check(&s->options, in[0], err));
    hr_schema_clear(out);
    for (int i = 0; i < s->plan->outputs; i++) HR_TRY(hr_schema_add(out, s->plan->field[i], err));
    return HR_OK;
}

static hr_status parse_rows(hr__parse_unit *u, hr__example_order *order, hr_error *err)
{
    enum { AHEAD = 4 };
    const hr_view *record = u->call->record;
    hr_error failed;
    for (int64_t row = 0; row < u->rows->rows; row++) {
        if (row + AHEAD < u->rows->rows) hr__parse_prefetch(record[row + AHEAD]);
        hr_status status = hr__example_parse(u->plan->parser, order, &u->slots, row, record[row], &failed);
        if (status == HR_OK) continue;
        if (status == HR_RESOURCE_EXHAUSTED) {
            if (err) *err = failed;
            return status;
        }
        hr__parse_row_failed(u, row, &failed);
    }
    return HR_OK;
}

static hr_status parse_unit(const parse_spec *s, hr__parse_unit *u, hr_error *err)
{
    HR_TRY(hr__parse_open(u, err));
    hr__example_order *order = hr__parse_plan_order(s->plan);
    if (!order) return hr_no_memory(err, "parse_example");
    const hr_status status = parse_rows(u, order, err);
    hr__parse_plan_spare(s->plan, order);
    return status == HR_OK ? hr__parse_close(u, err) : status;
}

static hr_status parse_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const parse_spec *s = spec;
    hr__parse_call call;
    HR_TRY(hr__parse_begin(&s->options, s->plan->widens, w, rows, &call, err));
    hr__parse_unit u = {.plan = s->plan, .work = w, .rows = rows, .call = &call};
    u.slots.tf_compat = call.tf_compat;
    u.slots.single = s->options.single;
    return hr__parse_end(&call, parse_unit(s, &u, err), err);
}

static void parse_identity(const void *spec, uint64_t *sum)
{
    hr__parse_options_identity(&((const parse_spec *)spec)->options, sum);
}

static void parse_settings(const void *spec, hr_settings *below)
{
    hr__parse_options_settings(&((const parse_spec *)spec)->options, below);
}

static void parse_describe(const void *spec, hr_description *to)
{
    const parse_spec *s = spec;
    hr_describe_number(to, "features", s->plan ? s->plan->outputs : 0);
    hr__parse_options_describe(&s->options, to);
}

#define PARSE_EXAMPLE(traits_)                                                                                         \
    {                                                                                                                  \
        .head = HR_OP_HEAD, .name = "parse_example", .spec_size = sizeof(parse_spec), .traits = (traits_),             \
        .spec_copy = parse_spec_copy, .spec_free = parse_spec_free, .check = parse_check, .work = parse_work,          \
        .identity = parse_identity, .settings = parse_settings, .describe = parse_describe,                            \
    }

const hr_op hr_op_parse_example = PARSE_EXAMPLE(HR_ROW_BY_ROW);
/* Rows are left out, so they are before they are batched. */
static const hr_op parse_with_policy = PARSE_EXAMPLE(0);

hr_dataset *hr_parse_example_with(hr_dataset *in, const hr_parse_spec *spec, const hr_parse_example_opts *opts)
{
    const parse_spec own = {
        .options = hr__parse_options_of((hr__damaged_rows){HR__DAMAGED_WORDS("parse_example")}, in, opts),
        .features = spec,
    };
    const bool drops = hr__parse_options_drop(&own.options);
    return hr_dataset_new(drops ? &parse_with_policy : &hr_op_parse_example, &own, &in, 1);
}
