/* Several files of records become one, or so many shards. */
#include "io/record_sets/record_set.h"

static hr_status merge_write_record(hr_view record, void *user, hr_error *err)
{
    return hr__records_write(user, record, err);
}

hr_status hr_merge_records_with(const hr_file_list *files, const char *out, const hr_records_opts *opts,
                                hr_records_report *report, hr_error *err)
{
    const hr_records_opts o = HR_OPTIONS(hr_records_opts, opts);
    hr__records_out to = {0};
    hr_records_report counts;
    HR_TRY(hr__records_check("merge", files, out, err));
    hr_status st = hr__records_open(&to, out, &o, err);
    if (st == HR_OK) st = hr__records_each("merge", files, &o, merge_write_record, &to, report ? report : &counts, err);
    if (st == HR_OK) return hr__records_commit(&to, err);
    hr__records_discard(&to);
    return st;
}
