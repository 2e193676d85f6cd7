/* See prediction_writer.h. CSV takes columns; JSON and TFRecords take one Example a row. */
#include "train/training/prediction_writer.h"
#include "base/text.h"
#include <string.h>

struct hr__prediction_writer {
    const char *path; /* borrowed from the call that opens it and commits it */
    const char *separator;
    bool plain;
    hr_csv_writer *csv; /* made with the first rows, which tell how wide its columns are */
    hr_record_writer *records;
    hr_output *lines;
    hr_json_writer *json;
    hr_example *example;
};

void hr__prediction_writer_discard(hr__prediction_writer *w)
{
    if (!w) return;
    hr_csv_writer_discard(w->csv);
    hr_record_writer_discard(w->records);
    hr_output_discard(w->lines);
    hr_json_writer_free(w->json);
    hr_example_free(w->example);
    hr_free(w);
}

static hr_status writer_open_file(hr__prediction_writer *w, hr_file_format format, hr_error *err)
{
    if (format == HR_FORMAT_CSV) return HR_OK;
    w->example = hr_example_new();
    if (!w->example) return hr_no_memory(err, "a row");
    if (format == HR_FORMAT_TFRECORD) return hr_record_writer_open(w->path, NULL, &w->records, err);
    HR_TRY(hr_json_writer_new_with(NULL, &w->json, err));
    return hr_output_open_with(w->path, NULL, &w->lines, err);
}

hr_status hr__prediction_writer_open(const char *path, hr_file_format format, const char *separator, bool plain,
                                     hr__prediction_writer **out, hr_error *err)
{
    *out = NULL;
    if (format == HR_FORMAT_BY_NAME) format = hr_file_format_of(path);
    if (format == HR_FORMAT_BY_NAME) format = HR_FORMAT_CSV;
    hr__prediction_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "a writer of rows");
    w->path = path;
    w->separator = separator;
    w->plain = plain;
    const hr_status st = writer_open_file(w, format, err);
    if (st == HR_OK)
        *out = w;
    else
        hr__prediction_writer_discard(w);
    return st;
}

/* ---- CSV ---- */

static int64_t writer_width(const hr_tensor *values, int64_t rows)
{
    return values->layout == HR_DENSE && rows > 0 ? values->count / rows : 1;
}

/* The columns of the CSV: copies, where one of ours has several values a row. */
typedef struct csv_columns {
    hr_tensor *values;
    const char **name;
    char **own; /* names that were made; NULL where a name is borrowed */
    int count;
} csv_columns;

static void writer_free_columns(csv_columns *c)
{
    for (int i = 0; i < c->count; i++) {
        if (c->own[i]) hr_tensor_clear(&c->values[i]);
        hr_free(c->own[i]);
    }
    hr_free(c->values);
    hr_free(c->name);
    hr_free(c->own);
}

/* Value `part` of each row, as a column of its own. */
static hr_status writer_split(csv_columns *c, const hr__prediction_column *from, int64_t width, int64_t part,
                              int64_t rows, hr_error *err)
{
    hr__text name = {0};
    const size_t size = hr_dtype_size(from->values.dtype);
    hr__text_printf(&name, "%s_%lld", from->name, (long long)part);
    HR_TRY(hr__text_status(&name, "names of columns", err));
    c->own[c->count] = name.data;
    c->name[c->count] = name.data;
    hr_tensor *to = &c->values[c->count++];
    HR_TRY(hr_tensor_new(to, from->values.dtype, HR_SHAPE(rows), err));
    for (int64_t r = 0; r < rows; r++)
        memcpy((char *)to->data + (size_t)r * size, (const char *)from->values.data + (size_t)(r * width + part) * size,
               size);
    return HR_OK;
}

static hr_status writer_make_columns(csv_columns *c, const hr__prediction_column *columns, int count, int64_t rows,
                                     hr_error *err)
{
    int64_t total = 0;
    for (int i = 0; i < count; i++) total += writer_width(&columns[i].values, rows);
    c->values = hr_calloc((size_t)total + 1, sizeof *c->values);
    c->name = hr_calloc((size_t)total + 1, sizeof *c->name);
    c->own = hr_calloc((size_t)total + 1, sizeof *c->own);
    if (!c->values || !c->name || !c->own) return hr_no_memory(err, "columns");
    for (int i = 0; i < count; i++) {
        const int64_t width = writer_width(&columns[i].values, rows);
        for (int64_t k = 0; width > 1 && k < width; k++) HR_TRY(writer_split(c, &columns[i], width, k, rows, err));
        if (width > 1) continue;
        c->name[c->count] = columns[i].name;
        c->values[c->count] = columns[i].values;
        if (columns[i].values.layout == HR_DENSE) c->values[c->count].shape = HR_SHAPE(rows);
        c->count++;
    }
    return HR_OK;
}

static hr_status writer_add_csv(hr__prediction_writer *w, const hr__prediction_column *columns, int count, int64_t rows,
                                hr_error *err)
{
    const hr_csv_writer_opts opts = {.struct_size = sizeof opts,
                                     .no_header = w->plain,
                                     .separator = w->separator,
                                     .delimiter = hr_csv_delimiter_of(w->path)};
    csv_columns c = {0};
    hr_status st = writer_make_columns(&c, columns, count, rows, err);
    if (st == HR_OK && !w->csv) st = hr_csv_writer_open_with(w->path, c.name, c.count, &opts, &w->csv, err);
    if (st == HR_OK && rows > 0) st = hr_csv_write(w->csv, c.values, err);
    writer_free_columns(&c);
    return st;
}

/* ---- one Example a row ---- */

static hr_status writer_put_int32(hr_example *to, const char *name, const int32_t *values, int64_t count, hr_error *err)
{
    int64_t *wide = hr_malloc(((size_t)count + 1) * sizeof *wide);
    if (!wide) return hr_no_memory(err, "a row");
    for (int64_t i = 0; i < count; i++) wide[i] = values[i];
    hr_example_add_int64(to, name, wide, count);
    hr_free(wide);
    return HR_OK;
}

static hr_status writer_put(hr_example *to, const hr__prediction_column *c, int64_t row, int64_t rows, hr_error *err)
{
    const hr_tensor *t = &c->values;
    const bool ragged = t->layout == HR_RAGGED;
    const int64_t width = writer_width(t, rows), from = ragged ? t->splits[0][row] : row * width;
    const int64_t count = ragged ? t->splits[0][row + 1] - from : width;
    if (ragged && count == 0) return HR_OK; /* the row lacks it */
    if (t->dtype == HR_INT32) return writer_put_int32(to, c->name, (const int32_t *)t->data + from, count, err);
    const hr_tensor values =
        hr_tensor_of(t->dtype, HR_SHAPE(count), (const char *)t->data + (size_t)from * hr_dtype_size(t->dtype));
    hr_example_add(to, (hr_view){c->name, (int64_t)strlen(c->name)}, &values);
    return HR_OK;
}

static hr_status writer_add_example(hr__prediction_writer *w, hr_error *err)
{
    hr_view bytes, line;
    HR_TRY(hr_example_bytes(w->example, &bytes, err));
    if (w->records) return hr_record_write(w->records, bytes.data, (size_t)bytes.size, err);
    HR_TRY(hr_example_to_json(w->json, bytes, &line, err));
    HR_TRY(hr_output_write(w->lines, line.data, (size_t)line.size, err));
    return hr_output_write(w->lines, "\n", 1, err);
}

hr_status hr__prediction_writer_add(hr__prediction_writer *w, const hr__prediction_column *columns, int count,
                                    int64_t rows, hr_error *err)
{
    if (!w->example) return writer_add_csv(w, columns, count, rows, err);
    for (int64_t r = 0; r < rows; r++) {
        hr_example_clear(w->example);
        for (int i = 0; i < count; i++) HR_TRY(writer_put(w->example, &columns[i], r, rows, err));
        HR_TRY(writer_add_example(w, err));
    }
    return HR_OK;
}

hr_status hr__prediction_writer_commit(hr__prediction_writer *w, hr_error *err)
{
    hr_status st = HR_OK;
    if (w->csv) st = hr_csv_writer_commit(w->csv, err);
    if (w->records) st = hr_record_writer_commit(w->records, err);
    if (w->lines) st = hr_output_commit(w->lines, err);
    w->csv = NULL;
    w->records = NULL;
    w->lines = NULL;
    hr__prediction_writer_discard(w);
    return st;
}
