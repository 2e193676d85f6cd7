/* parse_example: serialized tf.Examples become the components of a parsing spec. It is work only and goes row by row, so a
 * batch below or above costs the same. Strings are views into the records, which live as long as the rows.
 *
 * In tf_compat the parts of sparse and ragged features are held against each other over a batch, as TensorFlow does. */
#include "data/parse_spec.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct parse_spec {
    const hr_parse_spec *features; /* the caller's; NULL once the plan is made */
    const char *label, *source;
    bool tf_compat;
    bool single; /* no batch below: the elements are records */
    hr__parse_plan *plan;
} parse_spec;

static hr_status parse_spec_copy(void *spec, hr_error *err)
{
    parse_spec *s = spec;
    const char *source = s->source, *label = s->label;
    s->source = hr_strdup(source);
    s->plan = NULL;
    if (source && !s->source) return hr_no_memory(err, "parse_example");
    HR_TRY(hr__parse_plan_new(s->features, label, &s->plan, err));
    s->features = NULL;
    s->label = NULL;
    return HR_OK;
}

static void parse_spec_free(void *spec)
{
    parse_spec *s = spec;
    hr_free((char *)s->source);
    hr__parse_plan_free(s->plan);
}

/* The component that holds the records; -1: there is none, or nobody said which. */
static int find_source(const hr_schema *in, const char *name)
{
    int found = -1;
    for (int i = 0; i < in->fields; i++) {
        const hr_field *f = &in->field[i];
        if (f->dtype != HR_STRING || f->layout != HR_DENSE || f->shape.rank != 0) continue;
        if (name ? strcmp(name, f->name) != 0 : false) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

static hr_status parse_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const parse_spec *s = spec;
    if (find_source(in[0], s->source) < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "parse_example.source",
                       s->source ? "parse_example: expected a string component '%.60s' to parse, found none; name one "
                                   "with .source"
                                 : "parse_example: expected one string component to parse, found none or several%.0s; "
                                   "name one with .source",
                       s->source ? s->source : "");
    hr_schema_clear(out);
    for (int i = 0; i < s->plan->outputs; i++) HR_TRY(hr_schema_add(out, s->plan->field[i], err));
    return HR_OK;
}

/* ---- a unit ---- */

int64_t hr__parse_group(const hr__parse_unit *u, int64_t row, int64_t *element)
{
    if (!u->whole_batches) return row + 1;
    int64_t end = row;
    while (end <= row && *element < u->rows->elements) end = hr_first_row(u->rows, ++*element);
    return end > row && end < u->rows->rows ? end : u->rows->rows;
}

void hr__parse_fail(hr__parse_unit *u, int output, int64_t row, const char *kind, const char *format, ...)
{
    const char *name = u->plan->output[output].name;
    char what[256];
    hr_error err;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    hr_fail(&err, HR_INVALID_ARGUMENT, kind, "feature '%.60s': %s", name, what);
    snprintf(err.feature, sizeof err.feature, "%s", name);
    hr_fail_at(u->work, u->rows, row, &err);
}

/* A list grows where its values will lie in the end, or beside the rows if they are only a part of something. (There is one
 * piece of scratch: it holds the slots.) */
static hr_status grow_list(hr__example_rows *slots, int slot, int64_t room, hr_error *err)
{
    hr__parse_unit *u = slots->user;
    hr__example_column *c = &slots->column[slot];
    const int home = u->plan->home[slot];
    if (home >= 0) {
        u->rows->column[home].count = c->count;
        HR_TRY(hr_grow_column(u->work, u->rows, home, room, err));
        c->values = u->rows->column[home].values;
    } else {
        void *more = hr_row_bytes(u->work, u->rows, (size_t)room * sizeof(hr_view));
        if (!more) return hr_no_memory(err, "a list of values");
        if (c->count) memcpy(more, c->values, (size_t)c->count * sizeof(hr_view));
        c->values = more;
    }
    c->room = room;
    return HR_OK;
}

/* The column of a slot: its component's own, or beside the rows. The splits of a partitioned feature are made anew later. */
static hr_status open_slot(hr__parse_unit *u, int slot, hr_error *err)
{
    const int home = u->plan->home[slot];
    hr__example_column *c = &u->slots.column[slot];
    const size_t splits = ((size_t)u->rows->rows + 1) * sizeof *c->splits;
    *c = (hr__example_column){0};
    if (home >= 0 && u->plan->output[home].kind == HR_FIXED_LEN) {
        c->values = u->rows->column[home].values;
        return HR_OK;
    }
    if (home >= 0 && u->plan->output[home].partitions == 0)
        c->splits = u->rows->column[home].splits[0];
    else
        c->splits = hr_row_bytes(u->work, u->rows, splits);
    if (!c->splits) return hr_no_memory(err, "a list of values");
    memset(c->splits, 0, splits);
    return HR_OK;
}

static hr_status open_unit(hr__parse_unit *u, hr_error *err)
{
    u->slots.column = hr_scratch(u->work, (size_t)u->plan->slots * sizeof *u->slots.column);
    if (!u->slots.column) return hr_no_memory(err, "parse_example");
    for (int slot = 0; slot < u->plan->slots; slot++) HR_TRY(open_slot(u, slot, err));
    u->slots.grow = grow_list;
    u->slots.user = u;
    return HR_OK;
}

/* What a shuffle held has left the cache. All of it is asked for: the parser jumps about, which the hardware cannot foresee. */
static inline void prefetch(hr_view record)
{
    for (int64_t at = 0; at < record.size; at += 64) __builtin_prefetch(record.data + at);
}

static hr_status parse_rows(hr__parse_unit *u, const hr_view *record, hr__example_order *order, hr_error *err)
{
    enum { AHEAD = 4 };
    hr_error failed;
    for (int64_t row = 0; row < u->rows->rows; row++) {
        if (row + AHEAD < u->rows->rows) prefetch(record[row + AHEAD]);
        hr_status status = hr__example_parse(u->plan->parser, order, &u->slots, row, record[row], &failed);
        if (status == HR_OK) continue;
        if (status == HR_RESOURCE_EXHAUSTED) {
            if (err) *err = failed;
            return status;
        }
        hr_fail_at(u->work, u->rows, row, &failed);
    }
    return HR_OK;
}

/* Another component has the slot's values, this one gets a copy. */
static hr_status copy_slot(hr__parse_unit *u, int output, hr_error *err)
{
    const hr__example_column *from = &u->slots.column[u->plan->output[output].slot];
    hr_column *to = &u->rows->column[output];
    const int32_t count = from->splits[u->rows->rows];
    HR_TRY(hr_grow_column(u->work, u->rows, output, count, err));
    if (count) memcpy(to->values, from->values, (size_t)count * hr_dtype_size(u->plan->field[output].dtype));
    if (u->plan->output[output].partitions == 0)
        memcpy(to->splits[0], from->splits, ((size_t)u->rows->rows + 1) * sizeof *from->splits);
    return HR_OK;
}

static hr_status close_output(hr__parse_unit *u, int output, hr_error *err)
{
    const hr__parse_output *o = &u->plan->output[output];
    if (o->kind == HR_FIXED_LEN) return HR_OK;
    if (o->kind == HR_SPARSE_FEATURE) return hr__parse_sparse(u, output, err);
    if (!o->own_slot) HR_TRY(copy_slot(u, output, err));
    u->rows->column[output].count = u->slots.column[o->slot].splits[u->rows->rows];
    return o->kind == HR_RAGGED_FEATURE ? hr__parse_ragged(u, output, err) : HR_OK;
}

static hr_status parse_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const parse_spec *s = spec;
    const bool tf_compat = s->tf_compat || hr_work_tf_compat(w);
    const int source = find_source(rows->schema, s->source);
    hr_columns before;
    if (tf_compat && s->plan->widens)
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "parse_example.spec",
            "parse_example: expected no feature with .widen, since tf_compat is set; ask for the types that the "
            "records have");
    HR_TRY(hr_new_columns(w, rows, &before, err));
    hr__parse_unit u = {.plan = s->plan, .work = w, .rows = rows, .whole_batches = tf_compat && !s->single};
    u.slots.tf_compat = tf_compat;
    u.slots.single = s->single;
    HR_TRY(open_unit(&u, err));
    hr__example_order *order = hr__parse_plan_order(s->plan);
    if (!order) return hr_no_memory(err, "parse_example");
    hr_status status = parse_rows(&u, before.column[source].values, order, err);
    hr__parse_plan_spare(s->plan, order);
    for (int i = 0; i < s->plan->outputs && status == HR_OK; i++) status = close_output(&u, i, err);
    return status;
}

static void parse_example_identity(const void *spec, uint64_t *sum)
{
    const parse_spec *sp = spec;
    hr_identify_text(sum, sp->source);
    hr_identify_i64(sum, sp->tf_compat);
}

const hr_op hr_op_parse_example = {
    .head = HR_OP_HEAD,
    .name = "parse_example",
    .spec_size = sizeof(parse_spec),
    .traits = HR_ROW_BY_ROW,
    .spec_copy = parse_spec_copy,
    .spec_free = parse_spec_free,
    .check = parse_check,
    .work = parse_work,
    .identity = parse_example_identity,
};

hr_dataset *hr_parse_example_with(hr_dataset *in, const hr_parse_spec *spec, const hr_parse_example_opts *opts)
{
    const hr_schema *schema = hr_dataset_schema(in);
    const parse_spec own = {
        .features = spec,
        .label = opts ? opts->label : NULL,
        .source = opts ? opts->source : NULL,
        .tf_compat = opts && opts->tf_compat,
        .single = !schema || schema->levels == 0,
    };
    return hr_dataset_new(&hr_op_parse_example, &own, &in, 1);
}
