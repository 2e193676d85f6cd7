/* CSV, in: blocks of whole rows, parsed into columns and written as tf.Examples by templates; the types are the
 * schema's. And out: a row of the schema's fields, in its order. */
#include "io/convert/csv_shards.h"
#include "io/csv/csv_writer.h"
#include "io/example/example_wire.h"
#include <headrace/examples.h>
#include <string.h>

enum { PIECE_ROWS = HR__CONVERT_PIECE / 4 };

/* ---- in ---- */

hr_status hr__csv_of_schema(const char *path, const hr_schema_file *schema, const hr_csv_opts *how,
                            hr__csv_format **format, hr__row_writer **writer, hr_error *err)
{
    const size_t count = (size_t)schema->fields;
    hr_csv_column *column = hr_calloc(count + 1, sizeof *column);
    hr_field *field = hr_calloc(count + 1, sizeof *field);
    hr_status st = column && field ? HR_OK : hr_no_memory(err, "rows of a CSV");
    for (size_t i = 0; st == HR_OK && i < count; i++) {
        column[i] = (hr_csv_column){.name = schema->field[i].name, .dtype = hr__schema_read_as(&schema->field[i])};
        field[i] = (hr_field){.name = column[i].name, .dtype = column[i].dtype};
    }
    hr_csv_opts csv = hr__csv_opts_of(path, how);
    csv.columns = column;
    csv.column_count = (int)count;
    csv.keep_missing = true;
    if (st == HR_OK) st = hr__csv_format_new(&csv, format, err);
    if (st == HR_OK) (*format)->optional = schema->label + 1; /* rows that a label is to be predicted for */
    if (st == HR_OK && writer) st = hr__row_writer_new(field, (int)count, writer, err);
    hr_free(column);
    hr_free(field);
    return st;
}

static hr_status make_columns(hr__csv_source *s, const hr_convert_opts *o, hr_error *err)
{
    hr_csv_opts csv = HR_OPTIONS(hr_csv_opts, o->csv);
    csv.struct_size = sizeof csv;
    csv.compression = o->input_compression;
    if (o->max_record_bytes) csv.max_row_bytes = o->max_record_bytes;
    return hr__csv_of_schema(s->path, o->schema, &csv, &s->format, &s->writer, err);
}

static hr_status find_split(hr__csv_source *s, const hr_convert_opts *o, hr_error *err)
{
    s->split = o->split_column ? hr__schema_find(o->schema, o->split_column) : -1;
    if (s->split < 0 || o->schema->field[s->split].dtype == HR_INT64) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "convert.split",
                   "convert: split: expected an int64 field, got '%.60s' of %s", o->split_column,
                   hr_dtype_name(o->schema->field[s->split].dtype));
}

static hr_status find_required(hr__csv_source *s, const hr_convert_opts *o, hr_error *err)
{
    s->require = hr_calloc((size_t)o->schema->fields, sizeof *s->require);
    if (!s->require) return hr_no_memory(err, "convert");
    for (int i = 0; i < o->require_count; i++) s->require[hr__schema_find(o->schema, o->require[i])] = true;
    return HR_OK;
}

static void csv_close_source(void *source)
{
    hr__csv_source *s = source;
    hr__csv_close(s->file);
    hr__row_writer_free(s->writer);
    hr__csv_format_free(s->format);
    hr_free(s->require);
    hr_free(s);
}

static hr_status csv_prepare(hr__csv_source *s, const hr_convert_opts *o, hr_error *err)
{
    HR_TRY(find_split(s, o, err));
    HR_TRY(find_required(s, o, err));
    HR_TRY(make_columns(s, o, err));
    HR_TRY(hr__csv_open(s->format, s->path, &s->file, err));
    s->layout = hr__csv_file_layout(s->file);
    if (s->layout->absent > 0)
        hr_log_message(HR_INFO, "%s: there is no column '%.60s', the schema's label; its rows are without one", s->path,
                       s->format->column[s->layout->absent - 1].name);
    if (!hr__csv_lacks_header(s->file)) return HR_OK;
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.header", "%s: expected a header, found an empty file", s->path);
    hr_error_file(err, s->path);
    return HR_INVALID_ARGUMENT;
}

static hr_status csv_open_source(const hr__convert_plan *plan, const char *path, void **source, hr_error *err)
{
    if (!plan->opts->schema)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.schema",
                       "convert: expected a schema, which gives the types of a CSV's columns, got none");
    hr__csv_source *s = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "convert");
    s->path = path;
    s->policy = plan->policy;
    s->left = plan->opts->max_rows ? plan->opts->max_rows : INT64_MAX;
    hr_status st = csv_prepare(s, plan->opts, err);
    if (st == HR_OK)
        *source = s;
    else
        csv_close_source(s);
    return st;
}

static hr_status csv_read_piece(void *source, hr__convert_piece *piece, hr_error *err)
{
    hr__csv_source *s = source;
    hr__csv_block block;
    if (s->left == 0) return HR_END;
    HR_TRY(hr__csv_read(s->file, HR__CONVERT_PIECE, s->left < PIECE_ROWS ? s->left : PIECE_ROWS, &block, err));
    s->left -= block.rows;
    return hr__csv_piece_take(s, piece, &block, err);
}

static int64_t csv_bytes_of(const void *source)
{
    int64_t offset, line, record;
    hr__csv_tell(((const hr__csv_source *)source)->file, &offset, &line, &record);
    return offset;
}

static int64_t csv_place_of(const void *source)
{
    const int64_t compressed = hr__csv_compressed_offset(((const hr__csv_source *)source)->file);
    return compressed >= 0 ? compressed : csv_bytes_of(source);
}

/* ---- counting ---- */

static hr_status count_rows(const char *path, const hr_convert_opts *how, int64_t *count, hr_error *err)
{
    enum { PIECE = 256 * 1024 };
    hr__csv_format *format;
    hr__csv_file *file = NULL;
    hr__csv_block block;
    hr_csv_opts csv = hr__csv_opts_of(path, how->csv);
    csv.compression = how->input_compression;
    if (how->max_record_bytes) csv.max_row_bytes = how->max_record_bytes;
    int64_t left = how->max_rows ? how->max_rows : INT64_MAX;
    HR_TRY(hr__csv_format_new(&csv, &format, err));
    hr_status st = hr__csv_open(format, path, &file, err);
    while (st == HR_OK && left > 0) {
        st = hr__csv_read(file, PIECE, left < PIECE ? left : PIECE, &block, err);
        if (st != HR_OK) break;
        *count += block.rows;
        left -= block.rows;
    }
    hr__csv_close(file);
    hr__csv_format_free(format);
    return st == HR_END ? HR_OK : st;
}

/* ---- out ---- */

typedef struct csv_out {
    const hr__schema_file *schema;
    hr_csv_writer *writer;
    hr_example_walk *walk;
    const hr__values **values; /* of the current record, a field each */
    char *head;
} csv_out;

static void csv_free_writer(void *writer)
{
    csv_out *w = writer;
    hr_csv_writer_discard(w->writer);
    hr_example_walk_free(w->walk);
    hr_free(w->values);
    hr_free(w->head);
    hr_free(w);
}

static hr_status open_text(csv_out *w, const hr__convert_plan *plan, hr_view *head, hr_error *err)
{
    const hr_convert_opts *o = plan->opts;
    const size_t fields = (size_t)w->schema->fields;
    const hr_csv_opts csv = hr__csv_opts_of(plan->out, o->csv);
    const hr_csv_writer_opts opts = {
        .struct_size = sizeof opts, .delimiter = csv.delimiter, .separator = o->separator, .na_value = csv.na_value};
    const char **name = hr_calloc(fields, sizeof *name);
    w->values = hr_calloc(fields, sizeof *w->values);
    w->walk = hr_example_walk_new();
    hr_status st = name && w->values && w->walk ? HR_OK : hr_no_memory(err, "convert");
    for (size_t i = 0; st == HR_OK && i < fields; i++) name[i] = w->schema->field[i].name;
    if (st == HR_OK) st = hr__csv_text_new(plan->out, name, (int)fields, &opts, &w->writer, err);
    hr_free(name);
    HR_TRY(st);
    HR_TRY(hr__csv_text_header(w->writer, head, err));
    head->data = w->head = hr_memdup(head->data, (size_t)head->size);
    return w->head ? HR_OK : hr_no_memory(err, "convert");
}

static hr_status new_writer(const hr__convert_plan *plan, void **writer, hr_view *head, hr_error *err)
{
    if (!plan->opts->schema)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.schema",
                       "convert: expected a schema, whose fields are the columns of a CSV, got none");
    if (plan->opts->schema->fields == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.schema",
                       "convert: expected fields to be columns of a CSV, found none in the files; give a .schema");
    csv_out *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "convert");
    w->schema = plan->opts->schema;
    hr_status st = open_text(w, plan, head, err);
    if (st == HR_OK)
        *writer = w;
    else
        csv_free_writer(w);
    return st;
}

static hr_status write_row(void *writer, hr_view example, hr__text *to, hr_error *err)
{
    csv_out *w = writer;
    hr__walk_contents c;
    HR_TRY(hr__example_walk_record(w->walk, example, &c, err));
    hr__convert_fields(w->schema, &c, w->values);
    return hr__csv_text_row(w->writer, w->values, to, err);
}

const hr__format hr__format_csv = {
    .name = "csv",
    .id = HR_FORMAT_CSV,
    .extensions = ".csv .tsv",
    .is_text = true,
    .open = csv_open_source,
    .read = csv_read_piece,
    .encode = hr__csv_piece_encode,
    .place = csv_place_of,
    .bytes = csv_bytes_of,
    .close = csv_close_source,
    .count = count_rows,
    .piece_free = hr__csv_piece_free,
    .memory_free = hr__csv_table_free,
    .writer_new = new_writer,
    .write = write_row,
    .writer_free = csv_free_writer,
};
