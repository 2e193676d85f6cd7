/* headrace grep: the records whose features are as asked, as JSON lines or into a file. */
#include "cli/cli_rows.h"
#include <inttypes.h>
#include <string.h>

enum { MAX_AND = 63, LOOK_EVERY = 1024 /* records between two looks at the clock */ };

typedef struct search {
    hr_example_filter *filter;
    hr_json_writer *json;
    hr_record_writer *out; /* NULL: JSON lines on standard output */
    bool invert, count_only;
    int64_t left, found, records;
} search;

static hr_status grep_keep(search *s, hr_view record, hr_error *err)
{
    hr_view line;
    s->found++;
    s->left--;
    if (s->count_only) return HR_OK;
    if (s->out) return hr_record_write(s->out, record.data, (size_t)record.size, err);
    HR_TRY(hr_example_to_json(s->json, record, &line, err));
    return print_line(line, err);
}

static hr_status grep_look(search *s, const char *path, hr_view record, int64_t number, hr_error *err)
{
    bool holds;
    hr_status st = hr_example_filter_holds(s->filter, record, &holds, err);
    if (st == HR_OK && holds != s->invert) st = grep_keep(s, record, err);
    if (st != HR_OK && !err->file[0]) hr_error_prefix(err, "%s: record %" PRId64 ": ", path, number);
    return st;
}

static hr_status search_file(search *s, row_files *files, const char *path, hr_error *err)
{
    row_source from;
    hr_view record;
    hr_status st = open_rows(files, path, INT64_MAX, &from, err);
    for (int64_t n = 0; st == HR_OK && s->left > 0; n++) {
        st = next_row(&from, &record, err);
        if (st == HR_OK) st = grep_look(s, path, record, n, err);
        if (st != HR_OK) continue;
        if (++s->records % LOOK_EVERY == 0) progress_count(&files->survey.bar, -1, s->records, "records");
        st = check_interrupt(err);
    }
    close_rows(&from);
    return st == HR_END ? HR_OK : st;
}

/* ---- the command ---- */

static hr_status make_filter(const command_call *call, search *s, hr_error *err)
{
    const char *conditions[1 + MAX_AND] = {call_argument(call, 0)};
    const int more = flag_count(call, "and");
    for (int i = 0; i < more; i++) conditions[1 + i] = flag_nth(call, "and", i);
    return hr_example_filter_new(conditions, 1 + more, &s->filter, err);
}

static hr_status open_output(const command_call *call, search *s, hr_error *err)
{
    const char *path = flag_text(call, "output");
    HR_TRY(new_json_writer(call, false, &s->json, err));
    const hr_output_opts out = {.struct_size = sizeof out};
    return path ? hr_record_writer_open(path, &out, &s->out, err) : HR_OK;
}

static hr_status run_search(const command_call *call, search *s, row_files *files, hr_error *err)
{
    HR_TRY(make_filter(call, s, err));
    HR_TRY(open_output(call, s, err));
    HR_TRY(begin_rows(call, 1, files, err));
    const hr_file_list *list = &files->survey.files;
    for (int64_t f = 0; f < list->count && s->left > 0; f++) HR_TRY(search_file(s, files, list->path[f], err));
    if (s->left > 0) HR_TRY(hr_example_filter_check(s->filter, schema_of_rows(files), err));
    HR_TRY(hr_json_writer_check(s->json, schema_of_rows(files), err));
    hr_record_writer *out = s->out;
    s->out = NULL;
    return out ? hr_record_writer_commit(out, err) : HR_OK;
}

static int grep_run(command_call *call)
{
    row_files files;
    hr_error err = {0};
    search s = {.invert = flag_given(call, "invert"), .count_only = flag_given(call, "count")};
    s.left = flag_number(call, "lines", INT64_MAX);
    if (flag_count(call, "and") > MAX_AND) return usage_error(call, "--and: at most %d of them", MAX_AND);
    const char *out = flag_text(call, "output");
    if (out && s.count_only) return usage_error(call, "--count and --output: expected one of them, found both");
    int code = out ? check_output_name(call, out) : 0;
    if (code == 0) code = read_row_flags(call, &files);
    if (code != 0) return code;
    hr_status st = run_search(call, &s, &files, &err);
    clear_row_files(&files);
    hr_record_writer_discard(s.out);
    hr_json_writer_free(s.json);
    hr_example_filter_free(s.filter);
    if (st != HR_OK) return failed(call, &err);
    if (s.count_only) printf("%" PRId64 "\n", s.found);
    if (out && !is_standard_output(out))
        printf("%s of %s records written\n", with_commas(s.found), with_commas(s.records));
    return WORKED;
}

static const flag flags[] = {
    {FLAG_REPEATED, "and", 'e', "CONDITION", "a further condition, which must hold too"},
    {FLAG_SWITCH, "invert", 'v', NULL, "select the records for which the conditions do not hold"},
    {FLAG_SWITCH, "count", 'c', NULL, "print only the number of records"},
    {FLAG_NUMBER, "lines", 'n', "N", "stop after N records; default: all"},
    {FLAG_LIST, "features", 'f', "NAMES", "show only these: age,words"},
    {FLAG_TEXT, "output", 'o', "FILE", "write the records there, as TFRecords, instead of showing them"},
    ROWS_FLAGS,
    {0},
};

const command command_grep = {
    .name = "grep",
    .arguments = "CONDITION FILE...",
    .summary = "finds records by their features",
    .text = "A CONDITION is FEATURE=VALUE, FEATURE!=VALUE, FEATURE<VALUE (and <=, >, >=), FEATURE=FROM..TO, "
            "FEATURE~REGEX (an extended regular expression that matches part of a string), FEATURE (the record has "
            "it) or !FEATURE (the record lacks it). A condition holds if one value of the feature meets it; numbers "
            "are compared as numbers, strings by their bytes. FEATURE!=VALUE also holds for a record without the "
            "feature. A backslash before one of =!<>~ makes it a part of the name. A condition on a feature that no "
            "record has is an error. Records are shown as by `headrace show`, or written with --output. Without "
            "--schema, all rows of a CSV are first read for their types, whatever --lines says." SURVEY_TEXT,
    .examples = "  headrace grep 'tailnum~^N14' 'data/train-*' -f tailnum,dest\n"
                "  headrace grep 'temp=80..90' 'data/*' -e late=1 --count\n"
                "  headrace grep '!label' clicks.tfrecord -o unlabelled.tfrecord\n"
                "  headrace grep 'age>=90' people.csv.gz --na-value NA\n",
    .flags = flags,
    .min_arguments = 2,
    .max_arguments = -1,
    .run = grep_run,
};
