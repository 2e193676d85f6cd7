/* JSON lines, in and out: an object a record, as hr_json_read and hr_example_to_json have it. */
#include "base/text.h"
#include "io/convert/example_rows_out.h"
#include "io/framing.h"
#include "io/json/example_from_json.h"
#include <string.h>

/* ---- in ---- */

typedef struct jsonl_source {
    const char *path;
    hr_json_reader *reader;
    int64_t number;
    /* With a policy the file is read line by line, so that what is wrong ends with its line. */
    hr__policy *policy;
    hr_input *in;
    hr_view line; /* lent by `in`, with its end */
    size_t longest;
    int64_t lines, rejected;
} jsonl_source;

static hr_status line_too_long(const jsonl_source *s, hr_error *err)
{
    hr_fail(
        err, HR_INVALID_ARGUMENT, "json.limit",
        "%s:%lld: expected a line of at most %zu bytes, found a longer one; give a larger .max_record_bytes if that "
        "is right",
        s->path, (long long)s->lines + 1, s->longest);
    hr_error_file(err, s->path);
    if (err) err->line = s->lines + 1;
    return HR_INVALID_ARGUMENT;
}

/* Bytes up to the end of the current line. HR_END: there are none. */
static hr_status peek_line(jsonl_source *s, hr_error *err)
{
    const char *data, *end = NULL;
    size_t size = 0;
    for (size_t seen = 0, wanted = 1; !end; seen = size, wanted = size + 1) {
        HR_TRY(hr_input_peek(s->in, wanted, &data, &size, err));
        if (size > seen) end = memchr(data + seen, '\n', size - seen);
        if (size < wanted || (!end && size > s->longest)) break;
    }
    const size_t length = end ? (size_t)(end + 1 - data) : size;
    if (length > s->longest) return line_too_long(s, err); /* nothing is lent: the next call says so again */
    s->line = (hr_view){data, (int64_t)length};
    return size > 0 ? HR_OK : HR_END;
}

static hr_status next_line(jsonl_source *s, hr_error *err)
{
    hr_input_consume(s->in, (size_t)s->line.size);
    s->line.size = 0;
    hr__json_reader_line(s->reader, s->line, s->lines, hr_input_offset(s->in)); /* an end comes again and again */
    HR_TRY(peek_line(s, err));
    const bool ended = s->line.data[s->line.size - 1] == '\n';
    const hr_view text = {s->line.data, s->line.size - ended};
    hr__json_reader_line(s->reader, text, ++s->lines, hr_input_offset(s->in));
    return HR_OK;
}

/* Reports the current line, which is left out if the policy says so. */
static hr_status jsonl_reject(jsonl_source *s, hr_error *err)
{
    if (!hr__policy_covers(s->policy, err)) return err->code;
    hr_error why = *err;
    why.offset = hr_input_offset(s->in);
    why.length = s->line.size;
    s->rejected++;
    return hr__policy_take(s->policy, &why, s->line, err);
}

static hr_status read_from_lines(jsonl_source *s, hr_view *example, hr_error *err)
{
    for (;;) {
        const hr_status st = hr_json_read(s->reader, example, err);
        if (st == HR_OK) return HR_OK;
        if (st < 0) HR_TRY(jsonl_reject(s, err));
        HR_TRY(next_line(s, err));
    }
}

static hr_status jsonl_read_record(void *source, hr_view *example, hr_error *err)
{
    jsonl_source *s = source;
    return s->policy ? read_from_lines(s, example, err) : hr_json_read(s->reader, example, err);
}

static hr_status jsonl_read_piece(void *source, hr__convert_piece *piece, hr_error *err)
{
    jsonl_source *s = source;
    const hr_status st = hr__examples_read(jsonl_read_record, s, s->path, piece, &s->number, err);
    hr_example_clear(s->reader->example); /* what it lent was copied */
    return st;
}

static void jsonl_close_source(void *source)
{
    jsonl_source *s = source;
    hr_json_reader_free(s->reader);
    hr_input_free(s->in);
    hr_free(s);
}

static hr_status open_files(jsonl_source *s, const hr_convert_opts *o, hr_error *err)
{
    const hr_json_reader_opts json = {.struct_size = sizeof json,
                                      .schema = o->schema,
                                      .compression = o->input_compression,
                                      .max_row_bytes = o->max_record_bytes};
    if (!s->policy) return hr_json_reader_open_with(s->path, &json, &s->reader, err);
    s->longest = (size_t)hr__record_limit(o->max_record_bytes);
    const hr_input_opts in = {.struct_size = sizeof in, .compression = o->input_compression};
    HR_TRY(hr_input_open_with(s->path, &in, &s->in, err));
    return hr_json_reader_text_with(s->path, (hr_view){NULL, 0}, &json, &s->reader, err);
}

static hr_status jsonl_open_source(const hr__convert_plan *plan, const char *path, void **source, hr_error *err)
{
    jsonl_source *s = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "convert");
    s->path = path;
    s->policy = plan->policy;
    const hr_status st = open_files(s, plan->opts, err);
    if (st == HR_OK)
        *source = s;
    else
        jsonl_close_source(s);
    return st;
}

static int64_t rejected(const void *source) { return ((const jsonl_source *)source)->rejected; }

static int64_t jsonl_bytes_of(const void *source)
{
    return hr_json_reader_offset(((const jsonl_source *)source)->reader);
}

/* Every object is read: only so is it known where the next one begins. */
static hr_status count_objects(const char *path, const hr_convert_opts *how, int64_t *count, hr_error *err)
{
    hr_json_reader *reader;
    hr_view record;
    hr_status st;
    const hr_json_reader_opts opts = {
        .struct_size = sizeof opts, .compression = how->input_compression, .max_row_bytes = how->max_record_bytes};
    HR_TRY(hr_json_reader_open_with(path, &opts, &reader, err));
    while ((st = hr_json_read(reader, &record, err)) == HR_OK) ++*count;
    hr_json_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

/* ---- out ---- */

static void jsonl_free_writer(void *writer) { hr_json_writer_free(writer); }

static hr_status new_writer(const hr__convert_plan *plan, void **writer, hr_view *head, hr_error *err)
{
    (void)plan;
    (void)head;
    hr_json_writer *w;
    HR_TRY(hr_json_writer_new_with(NULL, &w, err));
    *writer = w;
    return HR_OK;
}

static hr_status jsonl_write_line(void *writer, hr_view example, hr__text *to, hr_error *err)
{
    HR_TRY(hr__example_to_json_text(writer, example, to, err));
    hr__text_byte(to, '\n');
    return hr__text_status(to, "a line of JSON", err);
}

const hr__format hr__format_jsonl = {
    .name = "jsonl",
    .id = HR_FORMAT_JSON,
    .extensions = ".jsonl .ndjson .json",
    .is_text = true,
    .open = jsonl_open_source,
    .read = jsonl_read_piece,
    .encode = hr__examples_encode,
    .place = jsonl_bytes_of,
    .bytes = jsonl_bytes_of,
    .damaged = rejected,
    .close = jsonl_close_source,
    .count = count_objects,
    .piece_free = hr__examples_free,
    .writer_new = new_writer,
    .write = jsonl_write_line,
    .writer_free = jsonl_free_writer,
};
