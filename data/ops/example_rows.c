/* example_rows: rows of any format as serialized tf.Examples, to the byte those that convert writes.
 *
 * The format's own source is below: csv with the schema's fields as columns, text_lines of JSON, or tfrecord. plan and
 * where it stands are theirs. work here makes the records, by what convert makes them with: the templates of CSV rows,
 * the JSON reader, the choice of a schema's features. */
#include "data/damaged_rows.h"
#include "data/sources/byte_source.h"
#include "data/sources/csv_source.h"
#include "io/convert/csv_shards.h"
#include "io/convert/example_rows_out.h"
#include "io/json/example_from_json.h"
#include <stdatomic.h>
#include <stdio.h>

enum { SPARE_READERS = 16 };

/* What a thread reads records with. */
typedef struct record_maker {
    hr__row_keeper keeper;
    hr_json_reader *json; /* NULL: they are tf.Examples already */
} record_maker;

typedef struct example_rows_spec {
    hr_file_format format;
    hr_example_rows_opts opts; /* the caller's, until the spec is copied */
    hr__schema_file *schema;   /* NULL: all features. These are the spec's own: */
    char **require;
    int required;
    bool *requires; /* a field of the schema, for CSV */
    hr__row_writer *writer;
    hr__policy *policy;
    _Atomic(record_maker *) *spare;
} example_rows_spec;

/* ---- the arguments ---- */

/* Records with all their features; where they may be left out for what is wrong with them, the schema says what is. */
static bool as_they_came(const example_rows_spec *sp)
{
    return sp->opts.whole_records && sp->format == HR_FORMAT_TFRECORD && sp->opts.policy.on_error == HR_FAIL;
}

static hr_status copy_schema(example_rows_spec *sp, hr_error *err)
{
    if (!sp->opts.schema || as_they_came(sp)) return HR_OK;
    sp->schema = hr_calloc(1, sizeof *sp->schema);
    if (!sp->schema) return hr_no_memory(err, "example_rows: a schema");
    return hr__schema_copy(sp->opts.schema, sp->schema, err);
}

static hr_status copy_required(example_rows_spec *sp, hr_error *err)
{
    const int count = sp->opts.require_count;
    sp->require = hr_calloc((size_t)count + 1, sizeof *sp->require);
    sp->requires = hr_calloc((size_t)(sp->opts.schema ? sp->opts.schema->fields : 0) + 1, sizeof *sp->requires);
    if (!sp->require || !sp->requires) return hr_no_memory(err, "example_rows: required fields");
    for (; sp->required < count; sp->required++) {
        const char *name = sp->opts.require[sp->required];
        const hr_schema_file *schema = sp->opts.schema;
        const int field = schema ? hr__schema_find(schema, name) : -1;
        if (schema && field < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "example_rows.require",
                           "example_rows: .require: expected a field of the schema, got '%.60s'", name);
        if (field >= 0) sp->requires[field] = true;
        sp->require[sp->required] = hr_strdup(name);
        if (!sp->require[sp->required]) return hr_no_memory(err, "example_rows: required fields");
    }
    return HR_OK;
}

static hr_status make_writer(example_rows_spec *sp, hr_error *err)
{
    const int count = sp->schema->fields;
    hr_field *field = hr_calloc((size_t)count + 1, sizeof *field);
    if (!field) return hr_no_memory(err, "example_rows: rows");
    for (int i = 0; i < count; i++)
        field[i] = (hr_field){.name = sp->schema->field[i].name, .dtype = hr__schema_read_as(&sp->schema->field[i])};
    const hr_status st = hr__row_writer_new(field, count, &sp->writer, err);
    hr_free(field);
    return st;
}

static hr_status example_rows_copy(void *spec, hr_error *err)
{
    example_rows_spec *sp = spec;
    const hr_policy asked = sp->opts.policy;
    sp->spare = hr_calloc(SPARE_READERS, sizeof *sp->spare);
    if (!sp->spare) return hr_no_memory(err, "example_rows: readers");
    HR_TRY(copy_schema(sp, err));
    HR_TRY(copy_required(sp, err));
    if (sp->format == HR_FORMAT_CSV) return make_writer(sp, err); /* the source has the policy */
    return hr__policy_new(&asked, "example_rows", &sp->policy, err);
}

static void maker_free(record_maker *m)
{
    if (!m) return;
    hr__row_keeper_clear(&m->keeper);
    if (m->json) m->json->rounded.count = 0; /* it would be told once for each thread */
    hr_json_reader_free(m->json);
    hr_free(m);
}

static void example_rows_free(void *spec)
{
    example_rows_spec *sp = spec;
    for (int i = 0; sp->spare && i < SPARE_READERS; i++) maker_free(atomic_load(&sp->spare[i]));
    hr_free((void *)sp->spare);
    hr_schema_file_free(sp->schema);
    for (int i = 0; i < sp->required; i++) hr_free(sp->require[i]);
    hr_free(sp->require);
    hr_free(sp->requires);
    hr__row_writer_free(sp->writer);
    hr__policy_free(sp->policy);
}

static hr_status example_rows_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec;
    (void)in;
    return hr_schema_set(out, &hr_string_schema, err);
}

/* ---- rows of columns ---- */

static bool is_there(const hr_column *column, int64_t row)
{
    if (column->splits[0]) return column->splits[0][row + 1] > column->splits[0][row];
    return !column->present || column->present[row / 64] >> row % 64 & 1;
}

static bool lacks_required(const example_rows_spec *sp, const hr_columns *before, int64_t row)
{
    for (int c = 0; sp->required > 0 && c < sp->schema->fields; c++)
        if (sp->requires[c] && !is_there(&before->column[c], row)) return true;
    return false;
}

/* What the values of a column take that have no place in the writer's own capacity. */
static size_t column_bytes(const hr_field *field, const hr_column *column, int64_t rows)
{
    enum { LONGEST_NUMBER = 10, LONGEST_HEAD = 6, LIST_HEADS = 16 };
    const hr_view *text = column->values;
    const int64_t count = column->splits[0] ? column->splits[0][rows] : rows;
    size_t size = column->splits[0] ? (size_t)rows * LIST_HEADS : 0;
    if (field->dtype != HR_STRING) return column->splits[0] ? size + (size_t)count * LONGEST_NUMBER : 0;
    for (int64_t i = 0; i < count; i++)
        if (column->splits[0] || is_there(column, i)) size += (size_t)text[i].size + LONGEST_HEAD;
    return size;
}

static hr_status encode_columns(const example_rows_spec *sp, hr__damaged_rows *d, const hr_columns *before,
                                hr_error *err)
{
    hr_columns *rows = d->rows;
    size_t size = hr__row_writer_capacity(sp->writer) * (size_t)rows->rows;
    for (int c = 0; c < sp->schema->fields; c++)
        size += column_bytes(&before->schema->field[c], &before->column[c], rows->rows);
    char *to = hr_row_text(d->work, rows, size + 64);
    if (!to) return hr_no_memory(err, "example_rows: records");
    hr_view *value = rows->column[0].values;
    for (int64_t r = 0; r < rows->rows; r++) {
        value[r] = (hr_view){to, 0};
        if (lacks_required(sp, before, r)) {
            HR_TRY(hr__damaged_rows_mark(d, r, err));
            continue;
        }
        to = hr__write_row(sp->writer, before->column, r, to);
        value[r].size = to - value[r].data;
    }
    return HR_OK;
}

/* ---- rows of texts ---- */

static record_maker *maker_new(const example_rows_spec *sp, hr_error *err)
{
    const hr_json_reader_opts json = {
        .struct_size = sizeof json, .schema = sp->schema, .max_row_bytes = sp->opts.max_record_bytes};
    record_maker *m = hr_calloc(1, sizeof *m);
    hr_status st = m ? hr__row_keeper_make(&m->keeper, err) : hr_no_memory(err, "example_rows");
    if (st == HR_OK && sp->format == HR_FORMAT_JSON)
        st = hr_json_reader_text_with("", (hr_view){NULL, 0}, &json, &m->json, err);
    if (st == HR_OK) return m;
    maker_free(m);
    return NULL;
}

static record_maker *take_maker(const example_rows_spec *sp, hr_error *err)
{
    for (int i = 0; i < SPARE_READERS; i++) {
        record_maker *m = atomic_exchange(&sp->spare[i], NULL);
        if (m) return m;
    }
    return maker_new(sp, err);
}

static void spare_maker(const example_rows_spec *sp, record_maker *m)
{
    for (int i = 0; i < SPARE_READERS; i++) {
        record_maker *none = NULL;
        if (atomic_compare_exchange_strong(&sp->spare[i], &none, m)) return;
    }
    maker_free(m);
}

/* The object of a line; HR_END: there is none. It is borrowed until the reader's next call. */
static hr_status read_object(record_maker *m, hr__damaged_rows *d, int64_t row, hr_view line, hr_view *example,
                             hr_error *err)
{
    const hr_origin from = d->rows->origin[row];
    hr__json_reader_line(m->json, line, (int64_t)from.record + 1, from.offset);
    return hr_json_read(m->json, example, err);
}

/* The same once more, so that the error names the file: no other row needs its name. */
static hr_status name_failure(record_maker *m, hr__damaged_rows *d, int64_t row, hr_view line, hr_error *err)
{
    hr_error place = {.offset = -1, .record = -1};
    hr_view example;
    char *own = m->json->name;
    hr_row_place(d->work, d->rows, row, &place);
    m->json->name = place.file;
    const hr_status st = read_object(m, d, row, line, &example, err);
    m->json->name = own;
    if (err) err->record = d->rows->origin[row].record;
    return st;
}

/* Nothing but white space may follow an object. */
static hr_status line_ends(record_maker *m, hr__damaged_rows *d, int64_t row, hr_error *err)
{
    hr_error place = {.offset = -1, .record = -1};
    hr_view more;
    const hr_status st = hr_json_read(m->json, &more, err);
    if (st == HR_END) return HR_OK;
    hr_row_place(d->work, d->rows, row, &place);
    const long long line = (long long)d->rows->origin[row].record + 1;
    hr_fail(err, HR_INVALID_ARGUMENT, "example_rows.line",
            "%s:%lld: expected one JSON object a line, found more after it; write each object on a line of its own",
            place.file, line);
    hr_error_file(err, place.file);
    if (err) err->line = line;
    return HR_INVALID_ARGUMENT;
}

/* The bytes of a record live as long as the rows. */
static hr_status put_record(const example_rows_spec *sp, record_maker *m, hr__damaged_rows *d, hr_view example,
                            hr_view *value, hr_error *err)
{
    size_t size = (size_t)example.size;
    *value = example;
    if (!sp->schema && !m->json) return HR_OK; /* a record as it came */
    if (sp->schema) HR_TRY(hr__example_measure(m->keeper.kept, &size, err));
    char *to = hr_row_text(d->work, d->rows, size + 64);
    if (!to) return hr_no_memory(err, "example_rows: records");
    if (sp->schema)
        hr__example_put(m->keeper.kept, to);
    else if (size > 0)
        memcpy(to, example.data, size);
    *value = (hr_view){to, (int64_t)size};
    return HR_OK;
}

/* "FILE: record N: " before what is wrong with a tf.Example. */
static hr_status at_record(hr__damaged_rows *d, int64_t row, hr_status st, hr_error *err)
{
    hr_error place = {.offset = -1, .record = -1};
    hr_row_place(d->work, d->rows, row, &place);
    hr_error_prefix(err, "%s: record %lld: ", place.file, (long long)place.record);
    return st;
}

/* Makes the record of a text, as convert does of what it has read. HR_END: the row is left out. */
static hr_status make_record(const example_rows_spec *sp, record_maker *m, hr__damaged_rows *d, int64_t row,
                             hr_view text, hr_view *value, hr_error *err)
{
    hr_view example = text;
    bool dropped = false;
    if (m->json) {
        const hr_status st = read_object(m, d, row, text, &example, err);
        if (st < 0 && st != HR_RESOURCE_EXHAUSTED) return name_failure(m, d, row, text, err);
        HR_TRY(st);
    }
    if (sp->schema || sp->required) {
        hr_status st = hr__row_look(&m->keeper, example, (const char *const *)sp->require, sp->required, &dropped, err);
        if (st == HR_OK && !dropped && sp->schema) st = hr__row_keep(&m->keeper, sp->schema, NULL, err);
        if (st != HR_OK) return at_record(d, row, st, err);
    }
    if (!dropped) HR_TRY(put_record(sp, m, d, example, value, err));
    if (m->json) HR_TRY(line_ends(m, d, row, err));
    return dropped ? HR_END : HR_OK;
}

static hr_status make_records(const example_rows_spec *sp, record_maker *m, hr__damaged_rows *d,
                              const hr_columns *before, hr_error *err)
{
    const hr_view *text = before->column[0].values;
    hr_view *value = d->rows->column[0].values;
    for (int64_t r = 0; r < d->rows->rows; r++) {
        hr_error failed = {0};
        value[r] = (hr_view){text[r].data, 0};
        const hr_status st = make_record(sp, m, d, r, text[r], &value[r], &failed);
        if (st == HR_END) HR_TRY(hr__damaged_rows_mark(d, r, err));
        if (st == HR_RESOURCE_EXHAUSTED && err) *err = failed;
        if (st == HR_RESOURCE_EXHAUSTED) return st;
        if (st < 0) hr__damaged_row(d, r, &failed, text[r]);
    }
    return HR_OK;
}

static hr_status encode_texts(const example_rows_spec *sp, hr__damaged_rows *d, const hr_columns *before, hr_error *err)
{
    record_maker *m = take_maker(sp, err);
    if (!m) return HR_RESOURCE_EXHAUSTED;
    if (sp->policy) hr_work_count(d->work, d->seen, d->rows->rows);
    const hr_status st = make_records(sp, m, d, before, err);
    if (st == HR_OK)
        spare_maker(sp, m);
    else
        maker_free(m); /* nobody knows where it stopped */
    return st;
}

static hr_status example_rows_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const example_rows_spec *sp = spec;
    hr_columns before;
    HR_TRY(hr_new_columns(w, rows, &before, err));
    hr__damaged_rows d = {HR__DAMAGED_WORDS("example_rows"), .policy = sp->policy, .work = w, .rows = rows};
    const hr_status st = sp->writer ? encode_columns(sp, &d, &before, err) : encode_texts(sp, &d, &before, err);
    const hr_status dropped = hr__damaged_rows_drop(&d, st == HR_OK ? err : NULL);
    return st == HR_OK ? dropped : st;
}

static void example_rows_identity(const void *spec, uint64_t *sum)
{
    const example_rows_spec *sp = spec;
    hr_identify_i64(sum, sp->format);
    hr_identify_i64(sum, hr__policy_on_error(sp->policy));
    hr_identify_i64(sum, sp->schema ? sp->schema->fields : -1);
    for (int i = 0; sp->schema && i < sp->schema->fields; i++) {
        hr_identify_text(sum, sp->schema->field[i].name);
        hr_identify_i64(sum, sp->schema->field[i].dtype);
    }
    for (int i = 0; i < sp->required; i++) hr_identify_text(sum, sp->require[i]);
}

static void example_rows_describe(const void *spec, hr_description *to)
{
    const example_rows_spec *sp = spec;
    hr_describe_text(to, NULL, hr_file_format_name(sp->format));
    hr_describe_option(to, "fields", sp->schema ? sp->schema->fields : 0);
    hr_describe_option(to, "require", sp->required);
}

#define EXAMPLE_ROWS(traits_)                                                                                          \
    {                                                                                                                  \
        .head = HR_OP_HEAD, .name = "example_rows", .spec_size = sizeof(example_rows_spec), .traits = (traits_),       \
        .spec_copy = example_rows_copy, .spec_free = example_rows_free, .check = example_rows_check,                   \
        .work = example_rows_work, .identity = example_rows_identity, .describe = example_rows_describe,               \
    }

const hr_op hr_op_example_rows = EXAMPLE_ROWS(HR_ROW_BY_ROW);
/* Blank lines, and rows that are not wanted or cannot be read, are left out: before they are batched. */
static const hr_op rows_left_out = EXAMPLE_ROWS(0);

/* ---- the source below ---- */

/* One file or a pattern of files: `element` is not NULL for a function's dataset. */
typedef struct source_name {
    const char *pattern;
    const hr_element *element;
} source_name;

static hr_dataset *open_csv(source_name at, const char *one_file, const hr_example_rows_opts *o)
{
    hr_csv_opts csv = HR_OPTIONS(hr_csv_opts, o->csv);
    csv.struct_size = sizeof csv;
    csv.label = NULL;
    csv.policy = o->policy;
    if (o->compression) csv.compression = o->compression;
    if (o->max_record_bytes) csv.max_row_bytes = o->max_record_bytes;
    return hr__csv_of_schema_rows(at.pattern, at.element != NULL, one_file, o->schema, &csv);
}

static hr_dataset *open_json(source_name at, const hr_example_rows_opts *o)
{
    hr_text_lines_opts lines = {
        .struct_size = sizeof lines, .compression = o->compression, .max_row_bytes = o->max_record_bytes};
    return at.element ? hr_text_lines_fn(at.element, &lines) : hr_text_lines_with(at.pattern, &lines);
}

static hr_dataset *open_tfrecord(source_name at, const hr_example_rows_opts *o)
{
    hr_tfrecord_opts records = {.struct_size = sizeof records,
                                .compression = o->compression,
                                .max_record_bytes = o->max_record_bytes,
                                .policy = o->policy};
    return at.element ? hr_tfrecord_fn(at.element, &records) : hr_tfrecord_with(at.pattern, &records);
}

/* Whether the op leaves rows out. */
static bool leaves_out(const example_rows_spec *sp)
{
    if (sp->format == HR_FORMAT_JSON || sp->opts.require_count > 0) return true;
    return sp->format == HR_FORMAT_TFRECORD && sp->opts.policy.on_error != HR_FAIL;
}

static hr_status example_rows_refuse(const example_rows_spec *sp, hr_error *err)
{
    if (sp->format == HR_FORMAT_CSV && !sp->opts.schema)
        return hr_fail(err, HR_INVALID_ARGUMENT, "example_rows.schema",
                       "example_rows: expected a .schema, which gives the types of a CSV's columns, got none");
    if (sp->opts.require_count < 0 || (sp->opts.require_count > 0 && !sp->opts.require))
        return hr_fail(err, HR_INVALID_ARGUMENT, "example_rows.require",
                       "example_rows: expected .require_count fields in .require, got %d", sp->opts.require_count);
    return HR_OK;
}

static hr_dataset *rows_of(source_name at, const char *one_file, const example_rows_spec *sp)
{
    hr_error err = {0};
    if (example_rows_refuse(sp, &err) != HR_OK) return hr_dataset_failed(&err);
    hr_dataset *in = sp->format == HR_FORMAT_CSV    ? open_csv(at, one_file, &sp->opts)
                     : sp->format == HR_FORMAT_JSON ? open_json(at, &sp->opts)
                                                    : open_tfrecord(at, &sp->opts);
    if (as_they_came(sp) && !leaves_out(sp)) return in;
    return hr_dataset_new(leaves_out(sp) ? &rows_left_out : &hr_op_example_rows, sp, &in, 1);
}

/* ---- formats ---- */

static hr_status another_format(const char *first, const char *other, hr_error *err)
{
    hr_fail(err, HR_INVALID_ARGUMENT, "example_rows.format",
            "example_rows: expected files of one format, got '%.100s' (%s) and '%.100s' (%s)", first,
            hr_file_format_name(hr__file_format(first, HR_FORMAT_BY_NAME)), other,
            hr_file_format_name(hr__file_format(other, HR_FORMAT_BY_NAME)));
    hr_error_file(err, other);
    return HR_INVALID_ARGUMENT;
}

/* By the names of the files. If they cannot be found now, the source says so when it opens. */
static hr_status format_of(const hr_file_list *files, const char *pattern, hr_file_format *format, hr_error *err)
{
    if (*format != HR_FORMAT_BY_NAME) return HR_OK;
    *format = hr__file_format(files->count > 0 ? files->path[0] : pattern, HR_FORMAT_BY_NAME);
    for (int64_t i = 1; i < files->count; i++)
        if (hr__file_format(files->path[i], HR_FORMAT_BY_NAME) != *format)
            return another_format(files->path[0], files->path[i], err);
    return HR_OK;
}

hr_dataset *hr_example_rows_with(const char *pattern, const hr_example_rows_opts *opts)
{
    example_rows_spec spec = {.opts = HR_OPTIONS(hr_example_rows_opts, opts)};
    hr_file_list files = {0};
    hr_error err = {0};
    spec.format = spec.opts.format;
    if (!pattern) {
        hr_fail(&err, HR_INVALID_ARGUMENT, "example_rows.pattern",
                "example_rows: expected the name of a file or a pattern");
        return hr_dataset_failed(&err);
    }
    (void)hr__source_files(pattern, &files, NULL); /* none: the source says so when it opens */
    hr_dataset *ds = format_of(&files, pattern, &spec.format, &err) == HR_OK
                         ? rows_of((source_name){.pattern = pattern}, files.count > 0 ? files.path[0] : pattern, &spec)
                         : hr_dataset_failed(&err);
    hr_file_list_clear(&files);
    return ds;
}

hr_dataset *hr_example_rows_fn(const hr_element *element, void *user)
{
    char name[4096];
    example_rows_spec spec = {.opts = HR_OPTIONS(hr_example_rows_opts, (const hr_example_rows_opts *)user)};
    const char *path = hr__byte_source_name(element, name, sizeof name);
    spec.format = hr__file_format(path ? path : "", spec.opts.format);
    return rows_of((source_name){path, element}, path ? path : "", &spec);
}
