/* parse_sequence_example: serialized tf.SequenceExamples become the components of two parsing specs, the context's
 * and the feature lists'. It is work only and goes row by row, so a batch below or above costs the same. Strings
 * are views into the records, which live as long as the rows.
 *
 * The lists are a plan of their own, whose rows are the steps of all lists: a list's column is that plan's, with
 * the steps of each record as one more level of splits in front. */
#include "data/parse/parse_spec.h"
#include "io/example/sequence_reader.h"
#include <stdio.h>
#include <string.h>

typedef struct sequence_spec {
    hr__parse_options options;
    const hr_parse_spec *context_features, *list_features; /* the caller's; NULL once the plans are made */
    hr__parse_plan *context, *lists;
} sequence_spec;

/* ---- making it ---- */

static int features_of(const hr_parse_spec *spec) { return spec ? spec->features : 0; }

static void set_label(hr__parse_plan *plan, const char *label, bool *found)
{
    for (int i = 0; label && i < plan->outputs; i++) {
        plan->field[i].label = strcmp(plan->output[i].name, label) == 0;
        *found |= plan->field[i].label;
    }
}

static hr_status sequence_spec_copy(void *spec, hr_error *err)
{
    sequence_spec *s = spec;
    const char *label = s->options.label;
    bool found = label == NULL;
    s->options.label = NULL;
    s->context = s->lists = NULL;
    HR_TRY(hr__parse_options_copy(&s->options, err));
    if (features_of(s->context_features) + features_of(s->list_features) < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "parse_example.spec",
                       "parse_sequence_example: expected at least one context feature or feature list, got none");
    HR_TRY(hr__parse_plan_new(s->context_features, HR__PARSE_CONTEXT, NULL, &s->context, err));
    HR_TRY(hr__parse_plan_new(s->list_features, HR__PARSE_LISTS, NULL, &s->lists, err));
    s->context_features = s->list_features = NULL;
    set_label(s->context, label, &found);
    set_label(s->lists, label, &found);
    if (found) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "parse_example.spec",
                   "parse_sequence_example: no feature is called '%.60s', the label", label);
}

static void sequence_spec_free(void *spec)
{
    sequence_spec *s = spec;
    hr__parse_options_free(&s->options);
    hr__parse_plan_free(s->context);
    hr__parse_plan_free(s->lists);
}

/* A sequence's lengths are a component of their own, after all others. */
static hr_status add_lengths(const hr__parse_plan *lists, hr_schema_builder *out, hr_error *err)
{
    for (int i = 0; i < lists->outputs; i++) {
        if (lists->output[i].kind != HR_FIXED_LEN_SEQUENCE) continue;
        const size_t size = strlen(lists->output[i].name) + sizeof "/lengths";
        char *name = hr_malloc(size);
        if (!name) return hr_no_memory(err, "parse_sequence_example");
        snprintf(name, size, "%s/lengths", lists->output[i].name);
        hr_status status = hr_schema_add(out, (hr_field){.name = name, .dtype = HR_INT64}, err);
        hr_free(name);
        HR_TRY(status);
    }
    return HR_OK;
}

static hr_status sequence_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const sequence_spec *s = spec;
    HR_TRY(hr__parse_options_check(&s->options, in[0], err));
    hr_schema_clear(out);
    for (int i = 0; i < s->context->outputs; i++) HR_TRY(hr_schema_add(out, s->context->field[i], err));
    for (int i = 0; i < s->lists->outputs; i++) HR_TRY(hr_schema_add(out, s->lists->field[i], err));
    return add_lengths(s->lists, out, err);
}

/* ---- a unit ---- */

typedef struct unit {
    hr__parse_unit context, lists;
    hr__sequence_rows rows;
} unit;

static hr_status grow_steps(hr__sequence_rows *rows, int slot, int64_t capacity, hr_error *err)
{
    unit *u = rows->user;
    hr__example_column *c = &rows->lists.column[slot];
    int32_t *splits = hr_row_bytes(u->lists.work, u->lists.rows, ((size_t)capacity + 1) * sizeof *splits);
    if (!splits) return hr_no_memory(err, "the rows of a feature list");
    splits[0] = 0;
    if (c->splits) memcpy(splits, c->splits, ((size_t)rows->steps[slot].count + 1) * sizeof *splits);
    c->splits = splits;
    rows->steps[slot].capacity = capacity;
    return HR_OK;
}

static hr_status open_list(unit *u, int slot, hr_error *err)
{
    hr__sequence_steps *steps = &u->rows.steps[slot];
    const int64_t rows = u->lists.rows->rows;
    *steps = (hr__sequence_steps){0};
    u->rows.lists.column[slot] = (hr__example_column){0};
    steps->splits = hr_row_bytes(u->lists.work, u->lists.rows, ((size_t)rows + 1) * sizeof *steps->splits);
    if (!steps->splits) return hr_no_memory(err, "a feature list");
    memset(steps->splits, 0, ((size_t)rows + 1) * sizeof *steps->splits);
    return grow_steps(&u->rows, slot, 4 * rows, err);
}

/* There is one piece of scratch: the context's slots lie in it, those of the lists beside the rows. */
static hr_status open_unit(unit *u, hr_error *err)
{
    const size_t slots = (size_t)u->lists.plan->slots;
    HR_TRY(hr__parse_open(&u->context, err));
    u->rows.lists.column = hr_row_bytes(u->lists.work, u->lists.rows, (slots + 1) * sizeof *u->rows.lists.column);
    u->rows.steps = hr_row_bytes(u->lists.work, u->lists.rows, (slots + 1) * sizeof *u->rows.steps);
    if (!u->rows.lists.column || !u->rows.steps) return hr_no_memory(err, "parse_sequence_example");
    u->rows.context = u->context.slots;
    u->rows.lists.grow = hr__parse_grow;
    u->rows.lists.user = &u->lists;
    u->rows.grow = grow_steps;
    u->rows.user = u;
    u->lists.slots = u->rows.lists;
    for (int slot = 0; slot < u->lists.plan->slots; slot++) HR_TRY(open_list(u, slot, err));
    return HR_OK;
}

static int64_t steps_of(const unit *u, int slot, int64_t row)
{
    return u->rows.steps[slot].splits[row + 1] - u->rows.steps[slot].splits[row];
}

/* The partitions of a list have a step for each of its steps. */
static hr_status check_partitions(const unit *u, const hr__parse_output *o, int64_t row, hr_error *err)
{
    for (int i = 0; i < o->partitions; i++) {
        const int slot = o->partition[i].slot;
        if (slot < 0 || steps_of(u, slot, row) == steps_of(u, o->slot, row)) continue;
        hr_fail(err, HR_INVALID_ARGUMENT, "example.partition",
                "feature list '%.60s': expected partitions of %lld rows, as the list has, found %lld", o->name,
                (long long)steps_of(u, o->slot, row), (long long)steps_of(u, slot, row));
        snprintf(err->feature, sizeof err->feature, "%s", o->name);
        return HR_INVALID_ARGUMENT;
    }
    return HR_OK;
}

static hr_status parse_row(unit *u, const hr__sequence_reader *reader, int64_t row, hr_view record, hr_error *err)
{
    HR_TRY(hr__sequence_parse(reader, &u->rows, row, record, err));
    for (int i = 0; i < u->lists.plan->outputs; i++) {
        const hr_status status = check_partitions(u, &u->lists.plan->output[i], row, err);
        if (status == HR_OK) continue;
        hr__sequence_empty(reader, &u->rows, row);
        return status;
    }
    return HR_OK;
}

static hr_status parse_rows(unit *u, const hr__sequence_reader *reader, hr_error *err)
{
    enum { AHEAD = 4 };
    const hr_view *record = u->lists.call->record;
    hr_columns *rows = u->lists.rows;
    hr_error failed;
    for (int64_t row = 0; row < rows->rows; row++) {
        if (row + AHEAD < rows->rows) hr__parse_prefetch(record[row + AHEAD]);
        hr_status status = parse_row(u, reader, row, record[row], &failed);
        if (status == HR_OK) continue;
        if (status == HR_RESOURCE_EXHAUSTED) {
            if (err) *err = failed;
            return status;
        }
        hr__parse_row_failed(&u->lists, row, &failed);
    }
    return HR_OK;
}

static hr_status read_unit(unit *u, const sequence_spec *s, hr_error *err)
{
    const hr__sequence_reader reader = {
        .context = s->context->parser,
        .lists = s->lists->parser,
        .context_order = hr__parse_plan_order(s->context),
        .lists_order = hr__parse_plan_order(s->lists),
    };
    const bool have = reader.context_order && reader.lists_order;
    const hr_status status = have ? parse_rows(u, &reader, err) : hr_no_memory(err, "parse_sequence_example");
    if (reader.context_order) hr__parse_plan_spare(s->context, reader.context_order);
    if (reader.lists_order) hr__parse_plan_spare(s->lists, reader.lists_order);
    return status;
}

/* ---- its columns ---- */

/* Dense, padded when an element is made: the steps are all of one size, so one level of splits says it all. */
static void close_sequence(unit *u, int output, hr_column *lengths)
{
    const hr__parse_output *o = &u->lists.plan->output[output];
    const hr__sequence_steps *steps = &u->rows.steps[o->slot];
    const int32_t *values = u->rows.lists.column[o->slot].splits;
    int32_t *splits = u->lists.rows->column[u->lists.first + output].splits[0];
    for (int64_t row = 0; row <= u->lists.rows->rows; row++) splits[row] = values[steps->splits[row]];
    for (int64_t row = 0; row < u->lists.rows->rows; row++)
        ((int64_t *)lengths->values)[row] = steps->splits[row + 1] - steps->splits[row];
}

/* Steps before what a step is. */
static hr_status close_ragged(unit *u, int output, hr_error *err)
{
    const hr__parse_output *o = &u->lists.plan->output[output];
    hr_column *c = &u->lists.rows->column[u->lists.first + output];
    int32_t *outer = c->splits[0];
    memcpy(outer, u->rows.steps[o->slot].splits, ((size_t)u->lists.rows->rows + 1) * sizeof *outer);
    c->splits[0] = u->rows.lists.column[o->slot].splits;
    if (o->kind == HR_RAGGED_FEATURE) HR_TRY(hr__parse_ragged(&u->lists, output, err));
    memmove(c->splits + 1, c->splits, (HR_MAX_RAGGED - 1) * sizeof *c->splits);
    c->splits[0] = outer;
    return hr__parse_keep_splits(&u->lists, u->lists.first + output, err);
}

static hr_status close_lists(unit *u, hr_error *err)
{
    hr_column *lengths = u->lists.rows->column + u->lists.first + u->lists.plan->outputs;
    for (int i = 0; i < u->lists.plan->outputs; i++) {
        const hr__parse_output *o = &u->lists.plan->output[i];
        u->lists.steps = u->rows.steps[o->slot].splits;
        u->lists.count = u->rows.steps[o->slot].count;
        if (!o->own_slot) HR_TRY(hr__parse_copy_values(&u->lists, i, err));
        u->lists.rows->column[u->lists.first + i].count = u->rows.lists.column[o->slot].splits[u->lists.count];
        if (o->kind == HR_FIXED_LEN_SEQUENCE)
            close_sequence(u, i, lengths++);
        else
            HR_TRY(close_ragged(u, i, err));
    }
    return HR_OK;
}

static hr_status parse_unit(unit *u, const sequence_spec *s, hr_error *err)
{
    HR_TRY(open_unit(u, err));
    HR_TRY(read_unit(u, s, err));
    u->context.slots = u->rows.context;
    HR_TRY(hr__parse_close(&u->context, err));
    return close_lists(u, err);
}

static hr_status sequence_work(const void *spec, const void *planned, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)planned;
    const sequence_spec *s = spec;
    hr__parse_call call;
    HR_TRY(hr__parse_begin(&s->options, s->context->widens || s->lists->widens, w, rows, &call, err));
    unit u = {
        .context = {.plan = s->context, .work = w, .rows = rows, .call = &call},
        .lists = {.plan = s->lists, .work = w, .rows = rows, .call = &call, .first = s->context->outputs},
        .rows = {.tf_compat = call.tf_compat},
    };
    return hr__parse_end(&call, parse_unit(&u, s, err), err);
}

static void sequence_identity(const void *spec, uint64_t *sum)
{
    hr__parse_options_identity(&((const sequence_spec *)spec)->options, sum);
}

static void sequence_settings(const void *spec, hr_settings *below)
{
    hr__parse_options_settings(&((const sequence_spec *)spec)->options, below);
}

static void sequence_describe(const void *spec, hr_description *to)
{
    const sequence_spec *s = spec;
    hr_describe_number(to, "context", s->context ? s->context->outputs : 0);
    hr_describe_number(to, "lists", s->lists ? s->lists->outputs : 0);
    hr__parse_options_describe(&s->options, to);
}

#define PARSE_SEQUENCE(traits_)                                                                                        \
    {                                                                                                                  \
        .head = HR_OP_HEAD, .name = "parse_sequence_example", .spec_size = sizeof(sequence_spec), .traits = (traits_), \
        .spec_copy = sequence_spec_copy, .spec_free = sequence_spec_free, .check = sequence_check,                     \
        .work = sequence_work, .identity = sequence_identity, .settings = sequence_settings,                           \
        .describe = sequence_describe,                                                                                 \
    }

const hr_op hr_op_parse_sequence_example = PARSE_SEQUENCE(HR_ROW_BY_ROW);
/* Rows are left out, so they are before they are batched. */
static const hr_op sequence_with_policy = PARSE_SEQUENCE(0);

hr_dataset *hr_parse_sequence_example_with(hr_dataset *in, const hr_parse_spec *context, const hr_parse_spec *lists,
                                           const hr_parse_example_opts *opts)
{
    const sequence_spec own = {
        .options = hr__parse_options_of((hr__damaged_rows){HR__DAMAGED_WORDS("parse_sequence_example")}, in, opts),
        .context_features = context,
        .list_features = lists,
    };
    const bool drops = hr__parse_options_drop(&own.options);
    return hr_dataset_new(drops ? &sequence_with_policy : &hr_op_parse_sequence_example, &own, &in, 1);
}
