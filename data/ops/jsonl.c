/* jsonl: the objects of JSON lines as rows of typed columns.
 *
 * text_lines is below: it finds the lines, and where it stands is its own. work here reads them, on any thread; a line
 * that is wrong is named with its file, and left out if the policy says so. */
#include "data/damaged_rows.h"
#include "io/json/json_columns.h"
#include <headrace/data.h>
#include <string.h>

typedef struct jsonl_spec {
    const hr_jsonl_opts *opts; /* the caller's, until the spec is copied */
    hr__json_format format;
    char *label;
    hr__policy *policy;
} jsonl_spec;

/* ---- the arguments ---- */

static hr_status jsonl_copy(void *spec, hr_error *err)
{
    jsonl_spec *sp = spec;
    const hr_jsonl_opts o = HR_OPTIONS(hr_jsonl_opts, sp->opts);
    sp->opts = NULL;
    if (!o.columns || o.column_count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "json.columns",
                       "jsonl: expected .columns, got none; `headrace schema infer` says what a file has");
    sp->format.keep_missing = o.keep_missing;
    sp->format.column = hr_calloc((size_t)o.column_count, sizeof *sp->format.column);
    if (!sp->format.column) return hr_no_memory(err, "jsonl: columns");
    for (int i = 0; i < o.column_count; i++) {
        const hr_jsonl_column *c = &o.columns[i];
        HR_TRY(hr__json_format_add(&sp->format, c->name, c->dtype, c->time, c->shape, c->default_value, err));
    }
    HR_TRY(hr__json_format_finish(&sp->format, err));
    if (o.label && !(sp->label = hr_strdup(o.label))) return hr_no_memory(err, "jsonl: the label");
    return hr__policy_new(&o.policy, "jsonl", &sp->policy, err);
}

static void jsonl_free(void *spec)
{
    jsonl_spec *sp = spec;
    hr__json_format_clear(&sp->format);
    hr_free(sp->label);
    hr__policy_free(sp->policy);
}

static hr_status jsonl_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const jsonl_spec *sp = spec;
    bool labelled = !sp->label;
    hr_schema_clear(out);
    for (int i = 0; i < sp->format.columns; i++) {
        const hr__json_column *c = &sp->format.column[i];
        hr_field field = {.name = c->name, .dtype = c->dtype, .shape = c->shape};
        if (c->count < 0) field.layout = HR_RAGGED;
        field.label = sp->label && strcmp(sp->label, c->name) == 0;
        labelled |= field.label;
        HR_TRY(hr_schema_add(out, field, err));
    }
    if (labelled) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "json.columns",
                   "jsonl: expected a .label that is one of the columns, got '%.60s'", sp->label);
}

/* ---- work ---- */

typedef struct jsonl_target {
    const jsonl_spec *sp;
    hr__damaged_rows damaged; /* with the work, and the rows */
    hr__json_sink sink;
    hr__json_reader reader;
} jsonl_target;

static void *jsonl_bytes(size_t size, void *user)
{
    const jsonl_target *t = user;
    return hr_row_bytes(t->damaged.work, t->damaged.rows, size);
}

static void *jsonl_text(size_t size, void *user)
{
    const jsonl_target *t = user;
    return hr_row_text(t->damaged.work, t->damaged.rows, size);
}

static bool jsonl_grow(int column, int64_t count, void *user)
{
    const jsonl_target *t = user;
    return hr_grow_column(t->damaged.work, t->damaged.rows, column, count, NULL) == HR_OK;
}

static bool is_blank(hr_view line)
{
    for (int64_t i = 0; i < line.size; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r') return false;
    return true;
}

/* `name` stands in errors. */
static hr_status read_line(jsonl_target *t, const char *name, int64_t row, hr_view line, hr_error *err)
{
    const hr_origin from = t->damaged.rows->origin[row];
    hr__json_begin_text(&t->reader, name, line);
    t->reader.line = from.record;
    t->reader.bol = from.offset;
    t->reader.before += from.offset;
    return hr__json_read_row(&t->sp->format, &t->reader, row, &t->sink, err);
}

/* Reads the line once more, so that the error names the file: no other row needs its name. */
static void fail_line(jsonl_target *t, int64_t row, hr_view line)
{
    hr_error place = {.offset = -1, .record = -1}, failed = {0};
    hr_row_place(t->damaged.work, t->damaged.rows, row, &place);
    read_line(t, place.file, row, line, &failed);
    failed.record = t->damaged.rows->origin[row].record;
    hr__json_clear_row(&t->sp->format, row, &t->sink);
    hr__damaged_row(&t->damaged, row, &failed, line);
}

static hr_status read_lines(jsonl_target *t, const hr_view *line, hr_error *err)
{
    int64_t blank = 0;
    for (int64_t r = 0; r < t->damaged.rows->rows; r++) {
        if (is_blank(line[r])) {
            HR_TRY(hr__damaged_rows_mark(&t->damaged, r, err));
            hr__json_clear_row(&t->sp->format, r, &t->sink);
            blank++;
            continue;
        }
        const hr_status st = read_line(t, "", r, line[r], err);
        if (st == HR_RESOURCE_EXHAUSTED) return st;
        if (st != HR_OK) fail_line(t, r, line[r]);
    }
    if (blank > 0) hr_work_count(t->damaged.work, "jsonl: blank lines", blank);
    return HR_OK;
}

static hr_status jsonl_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const jsonl_spec *sp = spec;
    hr_columns before;
    jsonl_target t = {.sp = sp};
    HR_TRY(hr_new_columns(w, rows, &before, err));
    t.sink.seen = hr_scratch(w, ((size_t)sp->format.columns + 63) / 64 * sizeof *t.sink.seen);
    if (!t.sink.seen) return hr_no_memory(err, "jsonl");
    t.sink.column = rows->column;
    t.sink.rows = rows->rows;
    t.sink.bytes = jsonl_bytes;
    t.sink.text = jsonl_text;
    t.sink.grow = jsonl_grow;
    t.sink.user = &t;
    t.damaged = (hr__damaged_rows){HR__DAMAGED_WORDS("jsonl"), .policy = sp->policy, .work = w, .rows = rows};
    if (sp->policy) hr_work_count(w, t.damaged.seen, rows->rows);
    const hr_status st = read_lines(&t, before.column[0].values, err);
    hr__json_reader_clear(&t.reader);
    hr__text_free(&t.sink.scratch);
    if (st == HR_OK) return hr__damaged_rows_drop(&t.damaged, err);
    hr_free(t.damaged.keep); /* the rows end in the middle */
    return st;
}

static void jsonl_identity(const void *spec, uint64_t *sum)
{
    const jsonl_spec *sp = spec;
    hr_identify_i64(sum, sp->format.keep_missing);
    hr_identify_i64(sum, hr__policy_on_error(sp->policy));
    for (int i = 0; i < sp->format.columns; i++) {
        const hr__json_column *c = &sp->format.column[i];
        hr_identify_i64(sum, c->time);
        hr_identify_i64(sum, c->has_default);
        for (int64_t v = 0; c->has_default && v < c->count; v++) {
            const void *value = c->fill + (size_t)v * c->width;
            const hr_view *text = value;
            if (c->dtype == HR_STRING) hr_identify_i64(sum, text->size);
            hr_identify(sum, c->dtype == HR_STRING ? text->data : value,
                        c->dtype == HR_STRING ? (size_t)text->size : c->width);
        }
    }
}

static void jsonl_describe(const void *spec, hr_description *to)
{
    hr_describe_number(to, "columns", ((const jsonl_spec *)spec)->format.columns);
}

const hr_op hr_op_jsonl = {
    .head = HR_OP_HEAD,
    .name = "jsonl",
    .spec_size = sizeof(jsonl_spec),
    .spec_copy = jsonl_copy,
    .spec_free = jsonl_free,
    .check = jsonl_check,
    .work = jsonl_work,
    .identity = jsonl_identity,
    .describe = jsonl_describe,
};

static hr_text_lines_opts lines_of(const hr_jsonl_opts *opts)
{
    const hr_jsonl_opts o = HR_OPTIONS(hr_jsonl_opts, opts);
    return (hr_text_lines_opts){
        .struct_size = sizeof(hr_text_lines_opts), .compression = o.compression, .max_row_bytes = o.max_row_bytes};
}

static hr_dataset *jsonl_over(hr_dataset *lines, const hr_jsonl_opts *opts)
{
    return hr_dataset_new(&hr_op_jsonl, &(jsonl_spec){.opts = opts}, &lines, 1);
}

hr_dataset *hr_jsonl_with(const char *pattern, const hr_jsonl_opts *opts)
{
    const hr_text_lines_opts lines = lines_of(opts);
    return jsonl_over(hr_text_lines_with(pattern, &lines), opts);
}

hr_dataset *hr_jsonl_fn(const hr_element *element, void *user)
{
    hr_text_lines_opts lines = lines_of(user);
    return jsonl_over(hr_text_lines_fn(element, &lines), user);
}
