/* parse_example: serialized tf.Examples become the components of a parsing spec. It is work only and goes row by row, so a
 * batch below or above costs the same. Strings are views into the records, which live as long as the rows.
 *
 * In tf_compat the parts of sparse and ragged features are held against each other over a batch, as TensorFlow does. */
#include "data/parse_spec.h"

typedef struct parse_spec {
    const hr_parse_spec *features; /* the caller's; NULL once the plan is made */
    const char *label, *source;
    bool tf_compat, unordered;
    bool single;     /* no batch below: the elements are records */
    hr_policy asked; /* the caller's, until the spec is copied */
    hr__policy *policy;
    hr__parse_plan *plan;
} parse_spec;

static hr_status parse_spec_copy(void *spec, hr_error *err)
{
    parse_spec *s = spec;
    const char *source = s->source, *label = s->label;
    s->source = hr_strdup(source);
    s->plan = NULL;
    s->policy = NULL;
    if (source && !s->source) return hr_no_memory(err, "parse_example");
    HR_TRY(hr__parse_plan_new(s->features, HR__PARSE_EXAMPLE, label, &s->plan, err));
    s->features = NULL;
    s->label = NULL;
    return hr__policy_new(&s->asked, "parse_example", &s->policy, err);
}

static void parse_spec_free(void *spec)
{
    parse_spec *s = spec;
    hr_free((char *)s->source);
    hr__parse_plan_free(s->plan);
    hr__policy_free(s->policy);
}

static hr_status parse_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const parse_spec *s = spec;
    if (hr__parse_source(in[0], s->source) < 0) return hr__parse_no_source("parse_example", s->source, err);
    HR_TRY(hr__damaged_rows_check(s->policy, "parse_example", in[0]->levels, err));
    hr_schema_clear(out);
    for (int i = 0; i < s->plan->outputs; i++) HR_TRY(hr_schema_add(out, s->plan->field[i], err));
    return HR_OK;
}

static hr_status parse_rows(hr__parse_unit *u, hr__example_order *order, hr_error *err)
{
    enum { AHEAD = 4 };
    const hr_view *record = u->record;
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

static hr_status parse_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const parse_spec *s = spec;
    const bool tf_compat = s->tf_compat || hr_work_tf_compat(w);
    const int source = hr__parse_source(rows->schema, s->source);
    hr_columns before;
    if (tf_compat && s->plan->widens)
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "parse_example.spec",
            "parse_example: expected no feature with .widen, since tf_compat is set; ask for the types that the "
            "records have");
    HR_TRY(hr_new_columns(w, rows, &before, err));
    hr__damaged_rows damaged = {.policy = s->policy,
                                .who = "parse_example",
                                .passed = "parse_example: rows passed over",
                                .seen = "parse_example: rows",
                                .work = w,
                                .rows = rows};
    hr__parse_unit u = {.plan = s->plan, .work = w, .rows = rows, .whole_batches = tf_compat && !s->single};
    u.record = before.column[source].values;
    u.damaged = &damaged;
    u.slots.tf_compat = tf_compat;
    u.slots.single = s->single;
    if (s->policy) hr_work_count(w, damaged.seen, rows->rows);
    HR_TRY(hr__parse_open(&u, err));
    hr__example_order *order = hr__parse_plan_order(s->plan);
    if (!order) return hr_no_memory(err, "parse_example");
    hr_status status = parse_rows(&u, order, err);
    hr__parse_plan_spare(s->plan, order);
    if (status == HR_OK) status = hr__parse_close(&u, err);
    const hr_status dropped = hr__damaged_rows_drop(&damaged, status == HR_OK ? err : NULL);
    return status == HR_OK ? dropped : status;
}

static void parse_example_identity(const void *spec, uint64_t *sum)
{
    const parse_spec *sp = spec;
    hr_identify_text(sum, sp->source);
    hr_identify_i64(sum, sp->tf_compat);
    hr_identify_i64(sum, hr__policy_on_error(sp->policy));
}

static void parse_example_settings(const void *spec, hr_settings *below)
{
    below->stage_unordered |= ((const parse_spec *)spec)->unordered;
}

static void parse_example_describe(const void *spec, hr_description *to)
{
    const parse_spec *sp = spec;
    hr_describe_number(to, "features", sp->plan ? sp->plan->outputs : 0);
    hr_describe_flag(to, "tf_compat", sp->tf_compat);
    hr_describe_flag(to, "skip", sp->policy != NULL);
    hr_describe_flag(to, "unordered", sp->unordered);
}

#define PARSE_EXAMPLE(traits_)                                                                                         \
    {                                                                                                                  \
        .head = HR_OP_HEAD, .name = "parse_example", .spec_size = sizeof(parse_spec), .traits = (traits_),             \
        .spec_copy = parse_spec_copy, .spec_free = parse_spec_free, .check = parse_check, .work = parse_work,          \
        .identity = parse_example_identity, .settings = parse_example_settings, .describe = parse_example_describe,    \
    }

const hr_op hr_op_parse_example = PARSE_EXAMPLE(HR_ROW_BY_ROW);
/* Rows are left out, so they are before they are batched. */
static const hr_op parse_with_policy = PARSE_EXAMPLE(0);

hr_dataset *hr_parse_example_with(hr_dataset *in, const hr_parse_spec *spec, const hr_parse_example_opts *opts)
{
    const hr_schema *schema = hr_dataset_schema(in);
    const parse_spec own = {
        .features = spec,
        .label = opts ? opts->label : NULL,
        .source = opts ? opts->source : NULL,
        .tf_compat = opts && opts->tf_compat,
        .unordered = opts && opts->unordered,
        .single = !schema || schema->levels == 0,
        .asked = opts ? opts->policy : (hr_policy){0},
    };
    const bool drops = own.asked.on_error != HR_FAIL;
    return hr_dataset_new(drops ? &parse_with_policy : &hr_op_parse_example, &own, &in, 1);
}
