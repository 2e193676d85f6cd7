/* The text form of an index that other tools read and write: "OFFSET SIZE" a line, a record each. */
#include "base/number.h"
#include "base/text.h"
#include "io/framing.h"
#include "io/input.h"
#include "io/record/record_index.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- writing ---- */

static void index_text_write_line(void *out, int64_t offset, int64_t size)
{
    char line[64];
    const int length = snprintf(line, sizeof line, "%" PRId64 " %" PRId64 "\n", offset, size);
    hr_output_write(out, line, (size_t)length, NULL); /* a failure sticks until commit */
}

static hr_status need_plain(const char *path, hr_compression compression, hr_error *err)
{
    if (compression == HR_NONE) return HR_OK;
    hr_fail(err, HR_FAILED_PRECONDITION, "index.text",
            "%s: expected a file that is not compressed, since a text index gives places in it, got a %s one", path,
            hr_compression_name(compression));
    hr_error_file(err, path);
    return HR_FAILED_PRECONDITION;
}

hr_status hr_record_index_write_text(const hr_record_index *index, const char *to, hr_error *err)
{
    hr_input *in = NULL;
    hr_output *out = NULL;
    int64_t records;
    const hr_input_opts plain = {.struct_size = sizeof plain, .compression = HR_NONE};
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    HR_TRY(need_plain(index->path, index->compression, err));
    hr_status st = hr_input_open_with(index->path, &plain, &in, err);
    if (st == HR_OK) st = hr_output_open_with(to, &opts, &out, err);
    if (st == HR_OK) st = hr__record_scan(in, HR__RECORD_MAX, index_text_write_line, out, &records, err);
    hr_input_free(in);
    if (st == HR_OK) return hr_output_commit(out, err);
    hr_output_discard(out);
    return st;
}

/* ---- reading ---- */

static hr_status wrong_line(const char *from, int64_t line, const char *text, size_t size, hr_error *err)
{
    hr_fail(err, HR_INVALID_ARGUMENT, "index.text",
            "%s:%" PRId64 ": expected the offset and the size of the next record, got \"%.*s\"", from, line,
            (int)(size < 60 ? size : 60), text);
    hr_error_file(err, from);
    if (err) err->line = line;
    return HR_INVALID_ARGUMENT;
}

static bool index_text_read_numbers(const char *text, size_t size, int64_t *offset, int64_t *length)
{
    const char *space = memchr(text, ' ', size);
    if (!space) return false;
    const size_t first = (size_t)(space - text);
    return hr__parse_int64(text, first, HR__NUMBER_DEFAULT, offset) == HR__PARSED &&
           hr__parse_int64(space + 1, size - first - 1, HR__NUMBER_DEFAULT, length) == HR__PARSED;
}

/* Records lie side by side: a line that says otherwise is of another file. */
static hr_status index_text_read_lines(hr_record_index *index, hr_input *lines, const char *from, hr_error *err)
{
    for (int64_t line = 1;; line++) {
        const char *text, *end = NULL;
        size_t size = 0, before = 0;
        int64_t offset, length;
        for (size_t want = 1; !end; want = size + 1) {
            HR_TRY(hr_input_peek(lines, want, &text, &size, err));
            if (size == 0) return HR_OK;
            end = memchr(text, '\n', size);
            if (!end && (size == before || size > 4096)) break;
            before = size;
        }
        const size_t used = end ? (size_t)(end - text) : size;
        if (!index_text_read_numbers(text, used, &offset, &length) || offset != index->bytes ||
            length < HR__RECORD_FRAME)
            return wrong_line(from, line, text, used, err);
        hr__record_index_add_record(index, offset, length);
        hr_input_consume(lines, used + (end ? 1 : 0));
    }
}

/* The sampled records begin where the lines say, and the last one ends with the file. */
static hr_status check_samples(const hr_record_index *index, const hr_input *in, const char *from, hr_error *err)
{
    bool good = index->bytes == index->size;
    for (int64_t i = 0; good && i < index->samples; i++) {
        char header[HR__RECORD_HEADER];
        size_t got;
        uint64_t length;
        HR_TRY(hr__input_read_at(in, index->sample[i], header, sizeof header, &got, err));
        good = got == sizeof header && hr__record_length(header, &length);
    }
    if (good) return HR_OK;
    hr_fail(err, HR_FAILED_PRECONDITION, "index.stale", "%s: expected the index of '%.200s', got that of another file",
            from, index->path);
    hr_error_file(err, from);
    return HR_FAILED_PRECONDITION;
}

static hr_status read_text(hr_record_index *index, hr_input *in, hr_input *lines, const char *from, hr_error *err)
{
    HR_TRY(hr__input_about(in, &index->size, &index->changed, err));
    index->compression = hr__input_compression(in);
    HR_TRY(need_plain(index->path, index->compression, err));
    HR_TRY(index_text_read_lines(index, lines, from, err));
    if (index->failed) return hr_no_memory(err, "an index");
    HR_TRY(check_samples(index, in, from, err));
    return hr__record_index_probe(index, in, err);
}

hr_status hr_record_index_read_text(const char *path, const char *from, hr_record_index **out, hr_error *err)
{
    hr_input *in = NULL, *lines = NULL;
    const hr_input_opts plain = {.struct_size = sizeof plain, .compression = HR_NONE};
    hr_record_index *index = hr__record_index_new(path);
    hr_status st = index ? hr_input_open_with(path, NULL, &in, err) : hr_no_memory(err, "an index");
    if (st == HR_OK) st = hr_input_open_with(from, &plain, &lines, err);
    if (st == HR_OK) st = read_text(index, in, lines, from, err);
    hr_input_free(in);
    hr_input_free(lines);
    if (st == HR_OK)
        *out = index;
    else
        hr_record_index_free(index);
    return st;
}
