/* text_lines: the lines of text files, one file after another, without their ends.
 *
 * A line ends with LF or CRLF, or where the file ends. plan finds the ends; there is nothing left to work on. */
#include "data/sources/byte_source.h"
#include "io/framing.h"
#include <inttypes.h>
#include <string.h>

static hr_status text_lines_spec_copy(void *spec, hr_error *err) { return hr__byte_source_copy(spec, err); }

static void text_lines_spec_free(void *spec) { hr__byte_source_free_spec(spec); }

static hr_status text_lines_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    HR_TRY(hr__byte_source_check(spec, "text_lines", err));
    return hr_schema_set(out, &hr_string_schema, err);
}

static hr_status text_lines_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    return hr__byte_source_open(state, spec, "text_lines", p, err);
}

static hr_status text_lines_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    return hr__byte_source_load(state, spec, "text_lines", err);
}

static hr_status line_too_long(const byte_source *s, size_t longest, hr_error *err)
{
    const char *path = hr__byte_source_path(s);
    hr_fail(err, HR_INVALID_ARGUMENT, "text.line_size",
            "%s:%" PRId64 ": expected a line of at most %zu bytes, found a longer one; is this a text? Give a larger "
            ".max_row_bytes if it is",
            path, s->record + 1, longest);
    hr_error_file(err, path);
    if (!err) return HR_INVALID_ARGUMENT;
    err->line = s->record + 1;
    err->record = s->record;
    err->offset = s->offset;
    return HR_INVALID_ARGUMENT;
}

/* TensorFlow drops every CR, and an end of the file that is none but CRs; here it is part of the line unless it stands
 * before the LF. */
static int64_t drop_crs(char *line, int64_t size)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < size; i++)
        if (line[i] != '\r') line[kept++] = line[i];
    return kept;
}

/* Adds the lines of the bytes to `rows`; gives how many bytes they take with their ends. */
static size_t cut_lines(const byte_source *s, char *bytes, size_t size, bool last, bool tf_compat, int64_t capacity,
                        hr_columns *rows)
{
    size_t at = 0;
    for (hr_view *view = rows->column[0].values; rows->rows < capacity && at < size; rows->rows++) {
        char *line = bytes + at, *end = memchr(line, '\n', size - at);
        if (!end && !last) break;
        int64_t length = end ? end - line : (int64_t)(size - at);
        rows->origin[rows->rows] = hr_origin_of(s->number, s->record + rows->rows, s->offset + (int64_t)at);
        at += (size_t)length + (end != NULL);
        if (tf_compat)
            length = drop_crs(line, length);
        else if (end && length > 0 && line[length - 1] == '\r')
            length--;
        if (tf_compat && !end && length == 0) break;
        view[rows->rows] = (hr_view){line, length};
    }
    return at;
}

/* The next bytes, at least one line of them, copied so that they live as long as the rows. */
static hr_status read_lines(byte_source *s, size_t longest, hr_plan *p, int64_t capacity, hr_columns *rows,
                            hr_error *err)
{
    size_t seen = 0;
    for (size_t want = hr_unit_size(p) < longest ? hr_unit_size(p) : longest;;
         want = want < longest / 2 ? 2 * want : longest) {
        const char *data;
        size_t size;
        hr_status damage = hr_input_peek(s->in, want + 1, &data, &size, err);
        const bool last = damage == HR_OK && size <= want;
        if (size > want) size = want;
        const bool any = size > seen && memchr(data + seen, '\n', size - seen);
        seen = size;
        if (!any && !last && damage == HR_OK) {
            if (want == longest) return line_too_long(s, longest, err);
            continue;
        }
        char *bytes = hr_unit_bytes(p, size + 1);
        if (!bytes) return hr_no_memory(err, "text_lines: a piece of a file");
        if (size > 0) memcpy(bytes, data, size);
        size_t used = cut_lines(s, bytes, size, last, hr_plan_tf_compat(p), capacity, rows);
        hr__byte_source_pass(s, rows->rows, used);
        return rows->rows > 0 ? HR_OK : damage;
    }
}

static hr_status text_lines_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    byte_source *s = state;
    HR_TRY(hr__byte_source_file(s, spec, "text_lines", p, err));
    if (s->record == 0) hr_file_has_lines(p, s->number);
    const int64_t max = (int64_t)hr_unit_size(p) / 8 + 64, capacity = hr_room(p) < max ? hr_room(p) : max;
    hr_columns *rows = hr_unit_rows(p, capacity);
    if (!rows) return hr_no_memory(err, "text_lines: a unit of lines");
    HR_TRY(read_lines(s, ((const byte_source_spec *)spec)->longest, p, capacity, rows, err));
    if (rows->rows == 0) hr__byte_source_next(s);
    return HR_OK;
}

static void text_lines_close(void *state) { hr__byte_source_close(state); }

static hr_op_files text_lines_files(const void *spec) { return hr__byte_source_files(spec); }

static void text_lines_describe(const void *spec, hr_description *to)
{
    const byte_source_spec *sp = spec;
    hr_describe_text(to, NULL, sp->pattern);
}

const hr_op hr_op_text_lines = {
    .head = HR_OP_HEAD,
    .name = "text_lines",
    .spec_size = sizeof(byte_source_spec),
    .state_size = sizeof(byte_source),
    .saved = BYTE_SOURCE_SAVED,
    SOURCE_RANGES,
    .spec_copy = text_lines_spec_copy,
    .spec_free = text_lines_spec_free,
    .check = text_lines_check,
    .open = text_lines_open,
    .plan = text_lines_plan,
    .load = text_lines_load,
    .close = text_lines_close,
    .files = text_lines_files,
    .describe = text_lines_describe,
};

static hr_dataset *text_lines_make(const char *pattern, bool literal, const hr_text_lines_opts *opts)
{
    byte_source_spec spec = {.pattern = pattern, .literal = literal};
    const hr_text_lines_opts o = HR_OPTIONS(hr_text_lines_opts, opts);
    spec.compression = o.compression;
    spec.longest = (size_t)hr__record_limit(o.max_row_bytes);
    return hr_dataset_new(&hr_op_text_lines, &spec, NULL, 0);
}

hr_dataset *hr_text_lines_with(const char *pattern, const hr_text_lines_opts *opts)
{
    return text_lines_make(pattern, false, opts);
}

hr_dataset *hr_text_lines_fn(const hr_element *element, void *user)
{
    char path[4096];
    return text_lines_make(hr__byte_source_name(element, path, sizeof path), true, user);
}
