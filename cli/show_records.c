/* Records as lines of JSON, on standard output. */
#include "cli/show_records.h"
#include "base/text.h"
#include "io/json_writer.h"
#include <headrace/examples.h>
#include <inttypes.h>
#include <string.h>

typedef struct show {
    hr_json_writer *writer;
    bool raw;
    int64_t left;
    hr__text line;
} show;

static hr_status make_raw(show *s, int64_t number, int64_t offset, hr_view record, hr_view *line, hr_error *err)
{
    hr__json_writer w = {.to = &s->line};
    hr__text_clear(&s->line);
    hr__json_begin(&w, '{');
    hr__json_key(&w, "record");
    hr__json_int64(&w, number);
    hr__json_key(&w, "offset");
    hr__json_int64(&w, offset);
    hr__json_key(&w, "size");
    hr__json_int64(&w, record.size);
    hr__json_key(&w, "$b64");
    hr__json_base64(&w, record);
    hr__json_end(&w, '}');
    *line = (hr_view){s->line.data, (int64_t)s->line.size};
    return hr__text_status(&s->line, "a line", err);
}

static hr_status print_line(hr_view line, hr_error *err)
{
    const bool good = fwrite(line.data, 1, (size_t)line.size, stdout) == (size_t)line.size && putchar('\n') != EOF;
    return good ? HR_OK : output_error(err);
}

static hr_status show_file(show *s, const char *path, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record, line;
    hr_status st = HR_OK;
    HR_TRY(hr_record_reader_open(path, NULL, &reader, err));
    for (int64_t n = 0; s->left > 0 && (st = hr_record_read(reader, &record, err)) == HR_OK; n++, s->left--) {
        const int64_t offset = hr_record_offset(reader);
        st = s->raw ? make_raw(s, n, offset, record, &line, err) : hr_example_to_json(s->writer, record, &line, err);
        if (st != HR_OK) hr_error_prefix(err, "%s:%" PRId64 ": ", path, offset);
        if (st == HR_OK) st = print_line(line, err);
        if (st != HR_OK) break;
    }
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

static hr_status make_writer(const command_call *call, show *s, hr_error *err)
{
    const char *name[256];
    char *names = hr_strdup(flag_given(call, "features") ? flag_text(call, "features") : "");
    if (!names) return hr_no_memory(err, "names of features");
    hr_json_writer_opts opts = {.struct_size = sizeof opts, .protobuf = flag_given(call, "protobuf"), .features = name};
    for (char *at = names, *word; (word = strsep(&at, ",")) && opts.feature_count < 256;)
        if (*word) name[opts.feature_count++] = word;
    hr_status st = hr_json_writer_new_with(&opts, &s->writer, err);
    hr_free(names);
    return st;
}

int show_records(command_call *call, int64_t lines)
{
    hr_error err = {0};
    hr_file_list files = {0};
    show s = {.raw = flag_given(call, "raw"), .left = flag_number(call, "lines", lines)};
    hr_status st = make_writer(call, &s, &err);
    if (st == HR_OK) st = match_arguments(call, call_arguments(call), &files, &err);
    for (int64_t f = 0; f < files.count && st == HR_OK && s.left > 0; f++) st = show_file(&s, files.path[f], &err);
    hr_file_list_clear(&files);
    hr_json_writer_free(s.writer);
    hr__text_free(&s.line);
    return st == HR_OK ? WORKED : failed(call, &err);
}
