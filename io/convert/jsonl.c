/* JSON lines, in and out: an object a record, as hr_json_read and hr_example_to_json have it. */
#include "base/text.h"
#include "io/convert/examples.h"
#include <headrace/examples.h>

/* ---- in ---- */

typedef struct jsonl_source {
    const char *path;
    hr_json_reader *reader;
    int64_t number;
} jsonl_source;

static hr_status read_record(void *source, hr_view *example, hr_error *err)
{
    return hr_json_read(((jsonl_source *)source)->reader, example, err);
}

static hr_status read_piece(void *source, hr__convert_piece *piece, hr_error *err)
{
    jsonl_source *s = source;
    return hr__examples_read(read_record, s, s->path, piece, &s->number, err);
}

static void close_source(void *source)
{
    hr_json_reader_free(((jsonl_source *)source)->reader);
    hr_free(source);
}

static hr_status open_source(const hr__convert_plan *plan, const char *path, void **source, hr_error *err)
{
    const hr_json_reader_opts opts = {
        .struct_size = sizeof opts, .schema = plan->opts->schema, .compression = plan->opts->input_compression};
    jsonl_source *s = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "convert");
    s->path = path;
    hr_status st = hr_json_reader_open_with(path, &opts, &s->reader, err);
    if (st == HR_OK)
        *source = s;
    else
        hr_free(s);
    return st;
}

static int64_t bytes_of(const void *source) { return hr_json_reader_offset(((const jsonl_source *)source)->reader); }

/* ---- out ---- */

typedef struct jsonl_out {
    hr_json_writer *writer;
    hr__text line;
} jsonl_out;

static void free_writer(void *writer)
{
    jsonl_out *w = writer;
    hr_json_writer_free(w->writer);
    hr__text_free(&w->line);
    hr_free(w);
}

static hr_status new_writer(const hr__convert_plan *plan, void **writer, hr_view *head, hr_error *err)
{
    (void)plan;
    (void)head;
    jsonl_out *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "convert");
    hr_status st = hr_json_writer_new_with(NULL, &w->writer, err);
    if (st == HR_OK)
        *writer = w;
    else
        hr_free(w);
    return st;
}

static hr_status write_line(void *writer, hr_view example, hr_view *bytes, hr_error *err)
{
    jsonl_out *w = writer;
    hr_view json;
    HR_TRY(hr_example_to_json(w->writer, example, &json, err));
    hr__text_clear(&w->line);
    hr__text_bytes(&w->line, json.data, (size_t)json.size);
    hr__text_byte(&w->line, '\n');
    *bytes = (hr_view){w->line.data, (int64_t)w->line.size};
    return hr__text_status(&w->line, "a line of JSON", err);
}

const hr__format hr__format_jsonl = {
    .name = "jsonl",
    .id = HR_FORMAT_JSON,
    .extensions = ".jsonl .ndjson .json",
    .is_text = true,
    .open = open_source,
    .read = read_piece,
    .encode = hr__examples_encode,
    .place = bytes_of,
    .bytes = bytes_of,
    .close = close_source,
    .piece_free = hr__examples_free,
    .writer_new = new_writer,
    .write = write_line,
    .writer_free = free_writer,
};
