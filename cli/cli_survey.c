/* Going over whole files: which, how they are read, and the bar. */
#include "cli/cli_survey.h"
#include <string.h>

static bool show_bar(const hr_progress *now, void *user)
{
    progress_count(user, now->total > 0 ? (double)now->bytes / (double)now->total : -1, now->records, "records");
    return !interrupted();
}

static bool read_format(const command_call *call, hr_file_format *out)
{
    const char *name = flag_text(call, "format");
    *out = name ? hr_file_format_named(name) : HR_FORMAT_BY_NAME;
    if (!name || *out) return true;
    char names[128];
    usage_error(call, "--format: expected %s, found \"%s\"", hr_file_format_names(names, sizeof names), name);
    return false;
}

int read_survey_flags(const command_call *call, survey_run *run)
{
    hr_survey_opts *o = &run->opts;
    *run = (survey_run){.opts = {.struct_size = sizeof *o, .csv = &run->csv.opts}};
    const int code = read_csv_flags(call, &run->csv);
    if (code != 0) return code;
    o->max_record_bytes = flag_max_record(call);
    return read_format(call, &o->format) && flag_compression(call, &o->compression) ? 0 : WRONG_USE;
}

static bool has_csv_flags(const hr_csv_opts *o)
{
    return o->delimiter || o->no_header || o->rename_count || o->drop_count || o->na_value || o->quoted_never_missing ||
           o->separator || o->quote || o->no_quotes || o->escape || o->comment || o->skip_lines || o->fill_short_rows ||
           o->cut_long_rows || o->check_utf8;
}

void take_csv_by_flags(survey_run *run, const hr_file_list *files)
{
    if (run->opts.format != HR_FORMAT_BY_NAME || !has_csv_flags(&run->csv.opts)) return;
    for (int64_t i = 0; i < files->count; i++)
        if (hr_file_format_of(files->path[i])) return;
    run->opts.format = HR_FORMAT_CSV;
}

static void begin_bar(survey_run *run)
{
    catch_interrupt();
    progress_start(&run->bar, "reading");
    run->opts.progress = show_bar;
    run->opts.user = &run->bar;
}

hr_status begin_survey(const command_call *call, int first, survey_run *run, hr_error *err)
{
    HR_TRY(match_arguments_from(call, first, call_arguments(call), &run->files, err));
    take_csv_by_flags(run, &run->files);
    begin_bar(run);
    return HR_OK;
}

void end_survey(survey_run *run)
{
    if (run->opts.progress) progress_end(&run->bar);
    run->opts.progress = NULL;
    hr_file_list_clear(&run->files);
}

static bool is_schema(const char *path)
{
    const size_t size = strlen(path);
    return (size > 5 && strcmp(path + size - 5, ".yaml") == 0) || (size > 4 && strcmp(path + size - 4, ".yml") == 0);
}

hr_status schema_of(const char *path, survey_run *run, hr_schema_file **out, hr_error *err)
{
    *out = NULL;
    if (is_schema(path)) {
        interrupt_at_once("schema diff");
        const hr_status read = hr_schema_file_open(path, out, err);
        interrupt_at_once(NULL);
        return read;
    }
    const hr_file_format asked = run->opts.format;
    hr_status st = match_argument(path, &run->files, err);
    take_csv_by_flags(run, &run->files);
    begin_bar(run);
    if (st == HR_OK) st = hr_infer_schema_with(&run->files, &run->opts, out, err);
    end_survey(run);
    run->opts.format = asked;
    return st;
}
