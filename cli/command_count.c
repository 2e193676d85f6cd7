/* headrace count: how many records files hold: TFRecords by their index where it is valid, else by a pass over their
 * lengths; rows of other formats by a pass over their text. */
#include "cli/json_line.h"
#include "cli/cli_survey.h"
#include <headrace/convert.h>
#include <inttypes.h>
#include <string.h>

typedef struct counted {
    int64_t records;
    hr_record_index *index; /* of TFRecords in files; NULL: none was needed */
} counted;

typedef struct counting {
    survey_run survey;
    counted *file; /* one each */
} counting;

/* ---- what came out ---- */

static void print_counts(const counting *c)
{
    int64_t total = 0;
    const hr_file_list *files = &c->survey.files;
    for (int64_t i = 0; i < files->count; i++) {
        total += c->file[i].records;
        printf("%" PRId64 " %s\n", c->file[i].records, files->path[i]);
    }
    if (files->count > 1) printf("%" PRId64 " total\n", total);
}

static void count_print_as_json(const counting *c)
{
    int64_t total = 0;
    const hr_file_list *files = &c->survey.files;
    json_line top;
    json_begin(&top);
    json_open(&top, "files", '[');
    for (int64_t i = 0; i < files->count; i++) {
        const counted *f = &c->file[i];
        json_open(&top, NULL, '{');
        json_text(&top, "file", files->path[i]);
        json_count(&top, "records", f->records);
        if (f->index) json_count(&top, "bytes", hr_record_index_bytes(f->index));
        if (f->index) json_bool(&top, "by_index", !hr_record_index_was_made(f->index));
        json_close(&top, '}');
        total += f->records;
    }
    json_close(&top, ']');
    json_count(&top, "records", total);
    json_end(&top);
}

/* ---- counting ---- */

static bool has_index(const counting *c, int64_t i)
{
    const char *path = c->survey.files.path[i];
    return !hr_path_reads_once(path) && format_of_file(path, c->survey.opts.format) == HR_FORMAT_TFRECORD;
}

/* All TFRecords in files, several at a time. */
static hr_status open_indexes(counting *c, hr_error *err)
{
    const hr_file_list *files = &c->survey.files;
    const hr_record_index_opts opts = {.struct_size = sizeof opts,
                                       .compression = c->survey.opts.compression,
                                       .max_record_bytes = c->survey.opts.max_record_bytes};
    hr_file_list some = {hr_malloc(((size_t)files->count + 1) * sizeof *some.path), 0};
    hr_record_index **index = hr_calloc((size_t)files->count + 1, sizeof(hr_record_index *));
    hr_status st = some.path && index ? HR_OK : hr_no_memory(err, "count");
    for (int64_t i = 0; st == HR_OK && i < files->count; i++)
        if (has_index(c, i)) some.path[some.count++] = files->path[i];
    if (st == HR_OK && some.count > 0) st = hr_record_index_open_all(&some, &opts, index, err);
    for (int64_t i = 0, n = 0; st == HR_OK && i < files->count; i++) {
        if (!has_index(c, i)) continue;
        c->file[i].index = index[n++];
        c->file[i].records = hr_record_index_count(c->file[i].index);
    }
    hr_free(index);
    hr_free(some.path);
    return st;
}

static hr_status count_all(const command_call *call, counting *c, hr_error *err)
{
    const hr_survey_opts *o = &c->survey.opts;
    hr_row_reader_opts how = {.struct_size = sizeof how,
                              .compression = o->compression,
                              .csv = o->csv,
                              .max_record_bytes = o->max_record_bytes};
    HR_TRY(begin_survey(call, 0, &c->survey, err));
    const hr_file_list *files = &c->survey.files;
    c->file = hr_calloc((size_t)files->count + 1, sizeof *c->file);
    if (!c->file) return hr_no_memory(err, "count");
    HR_TRY(open_indexes(c, err));
    for (int64_t i = 0; i < files->count; i++) {
        if (c->file[i].index) continue;
        const char *path = files->path[i];
        how.format = format_of_file(path, o->format);
        HR_TRY(hr_count_rows_with(path, &how, &c->file[i].records, err));
    }
    return HR_OK;
}

static int count_run(command_call *call)
{
    hr_error err = {0};
    counting c = {.file = NULL};
    const int code = read_survey_flags(call, &c.survey);
    if (code != 0) return code;
    const hr_status st = count_all(call, &c, &err);
    progress_end(&c.survey.bar);
    if (st == HR_OK && flag_given(call, "json"))
        count_print_as_json(&c);
    else if (st == HR_OK)
        print_counts(&c);
    for (int64_t i = 0; c.file && i < c.survey.files.count; i++) hr_record_index_free(c.file[i].index);
    hr_free(c.file);
    end_survey(&c.survey);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_SWITCH, "json", 0, NULL,
     "print a line of JSON; for TFRecords with bytes, and whether the count is from an index"},
    SURVEY_FLAGS,
    {0},
};

const command command_count = {
    .name = "count",
    .arguments = "FILE...",
    .summary = "counts the records of files",
    .text = "Prints the number of records of each file, and their sum. For TFRecords the number comes from "
            "FILE.hridx, if `headrace index` has written one that is still valid, otherwise from a pass over the "
            "records' lengths, several files at a time. Rows of CSV and JSON are counted by a pass over the text. The "
            "content of records is not checked: `headrace verify` does that." SURVEY_TEXT,
    .examples = "  headrace count 'data/train-*'\n"
                "  headrace count data/*.tfrecord.gz --json\n"
                "  headrace count people.csv --comment '#'\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = count_run,
};
