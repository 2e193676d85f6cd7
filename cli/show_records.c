/* Records as lines of JSON, on standard output. */
#include "cli/show_records.h"
#include "cli/cli_rows.h"
#include "cli/json_line.h"
#include <headrace/examples.h>
#include <inttypes.h>
#include <string.h>

typedef struct show {
    hr_json_writer *writer;
    bool raw;
    int64_t left;
} show;

static hr_status print_raw(int64_t number, int64_t offset, hr_view record, hr_error *err)
{
    json_line line;
    json_begin(&line);
    line.spaced = true;
    json_count(&line, "record", number);
    if (offset >= 0) json_count(&line, "offset", offset);
    json_count(&line, "size", record.size);
    json_base64(&line, "$b64", record);
    return json_print(&line, err);
}

static hr_status show_record(show *s, const row_source *from, const char *path, int64_t number, hr_view record,
                             hr_error *err)
{
    hr_view line;
    if (s->raw) return print_raw(number, from->records ? hr_record_offset(from->records) : -1, record, err);
    const hr_status st = hr_example_to_json(s->writer, record, &line, err);
    if (st != HR_OK) hr_error_prefix(err, "%s: record %" PRId64 ": ", path, number);
    return st == HR_OK ? print_line(line, err) : st;
}

static hr_status show_file(show *s, row_files *files, const char *path, hr_error *err)
{
    row_source from;
    hr_view record;
    hr_status st = open_rows(files, path, s->left, &from, err);
    for (int64_t n = 0; st == HR_OK && s->left > 0; n++) {
        st = check_interrupt(err);
        if (st == HR_OK) st = next_row(&from, &record, err);
        if (st != HR_OK) break; /* the end, too, which is no record */
        s->left--;
        st = show_record(s, &from, path, n, record, err);
    }
    close_rows(&from);
    return st == HR_END ? HR_OK : st;
}

static hr_status show_all(const command_call *call, show *s, row_files *files, hr_error *err)
{
    HR_TRY(new_json_writer(call, flag_given(call, "protobuf"), &s->writer, err));
    HR_TRY(begin_rows(call, 0, files, err));
    const hr_file_list *list = &files->survey.files;
    progress_end(&files->survey.bar); /* it would stand between the lines */
    for (int64_t f = 0; f < list->count && s->left > 0; f++) HR_TRY(show_file(s, files, list->path[f], err));
    return hr_json_writer_check(s->writer, schema_of_rows(files), err);
}

int show_records(command_call *call, int64_t lines)
{
    hr_error err = {0};
    row_files files;
    show s = {.raw = flag_given(call, "raw"), .left = flag_number(call, "lines", lines)};
    const int code = read_row_flags(call, &files);
    if (code != 0) return code;
    if (s.left < INT64_MAX) files.survey.opts.max_records = s.left > 0 ? s.left : 1;
    const hr_status st = show_all(call, &s, &files, &err);
    clear_row_files(&files);
    hr_json_writer_free(s.writer);
    return st == HR_OK ? WORKED : failed(call, &err);
}
