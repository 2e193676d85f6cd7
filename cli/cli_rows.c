/* See cli_rows.h. */
#include "cli/cli_rows.h"
#include <string.h>

int read_row_flags(const command_call *call, row_files *r)
{
    *r = (row_files){.schema = NULL};
    const int code = read_survey_flags(call, &r->survey);
    r->how = (hr_row_reader_opts){.struct_size = sizeof r->how,
                                  .compression = r->survey.opts.compression,
                                  .csv = &r->survey.csv.opts,
                                  .max_record_bytes = r->survey.opts.max_record_bytes};
    return code;
}

static hr_file_format format_of(const row_files *r, const char *path)
{
    return format_of_file(path, r->survey.opts.format);
}

/* A CSV says no types: they are what the rows asked for are found to be, of all files together. */
static hr_status find_types(row_files *r, hr_error *err)
{
    const hr_file_list *all = &r->survey.files;
    hr_file_list csv = {hr_malloc(((size_t)all->count + 1) * sizeof *csv.path), 0};
    hr_status st = csv.path ? HR_OK : hr_no_memory(err, "names of files");
    for (int64_t i = 0; st == HR_OK && i < all->count; i++)
        if (format_of(r, all->path[i]) == HR_FORMAT_CSV) csv.path[csv.count++] = all->path[i];
    if (st == HR_OK) st = hr_need_files_again(&csv, "give .schema", err);
    if (st == HR_OK && csv.count > 0) progress_first_pass(&r->survey.bar, "finding types, a first pass");
    if (st == HR_OK && csv.count > 0) st = hr_infer_schema_with(&csv, &r->survey.opts, &r->found, err);
    hr_free(csv.path);
    return st;
}

hr_status begin_rows(const command_call *call, int first, row_files *r, hr_error *err)
{
    const char *schema = flag_text(call, "schema");
    if (schema) HR_TRY(hr_schema_file_open(schema, &r->schema, err));
    HR_TRY(begin_survey(call, first, &r->survey, err));
    return schema ? HR_OK : find_types(r, err);
}

void clear_row_files(row_files *r)
{
    end_survey(&r->survey);
    hr_schema_file_free(r->schema);
    hr_schema_file_free(r->found);
}

hr_status open_rows(row_files *r, const char *path, int64_t max, row_source *out, hr_error *err)
{
    const hr_file_format format = format_of(r, path);
    const hr_record_opts records = {.struct_size = sizeof records,
                                    .compression = r->survey.opts.compression,
                                    .max_record_bytes = r->survey.opts.max_record_bytes};
    *out = (row_source){.records = NULL};
    if (format == HR_FORMAT_TFRECORD) return hr_record_reader_open_with(path, &records, &out->records, err);
    r->how.format = format;
    r->how.max_rows = max;
    r->how.schema = format == HR_FORMAT_CSV && r->found ? r->found : r->schema;
    return hr_row_reader_open_with(path, &r->how, &out->rows, err);
}

const hr_schema_file *schema_of_rows(const row_files *r) { return r->schema ? r->schema : r->found; }

hr_status next_row(row_source *s, hr_view *record, hr_error *err)
{
    return s->rows ? hr_row_reader_next(s->rows, record, err) : hr_record_read(s->records, record, err);
}

void close_rows(row_source *s)
{
    hr_row_reader_free(s->rows);
    hr_record_reader_free(s->records);
    *s = (row_source){.records = NULL};
}

hr_status new_json_writer(const command_call *call, bool protobuf, hr_json_writer **out, hr_error *err)
{
    hr_json_writer_opts opts = {.struct_size = sizeof opts, .protobuf = protobuf};
    opts.features = flag_words(call, "features", &opts.feature_count);
    return hr_json_writer_new_with(&opts, out, err);
}
