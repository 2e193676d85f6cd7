/* See record_range.h. Indexes are opened a few files at a time, by all threads, and only the one that is needed is
 * kept. */
#include "io/record/record_range.h"
#include "io/framing.h"
#include "io/record/record_index.h"
#include <inttypes.h>

enum { AT_A_TIME = 32 };

static hr_status record_range_beyond(int64_t first, int64_t count, int64_t records, hr_error *err)
{
    if (count == INT64_MAX)
        return hr_fail(err, HR_OUT_OF_RANGE, "index.range",
                       "expected a first record among the %" PRId64 " of the files, or just after them, got %" PRId64,
                       records, first);
    return hr_fail(err, HR_OUT_OF_RANGE, "index.range",
                   "expected a range of the %" PRId64 " records of the files, got %" PRId64 " from record %" PRId64
                   " on",
                   records, count, first);
}

/* Files before which there are `before` records: where the range begins, if it does in them. */
static int64_t record_range_count_records(hr_record_index **index, int64_t files, int64_t before, int64_t first,
                                          int64_t file, hr__range_begin *out)
{
    for (int64_t i = 0; i < files; i++) {
        const int64_t records = hr_record_index_count(index[i]);
        if (!out->index && first >= before && first < before + records) {
            *out = (hr__range_begin){file + i, first - before, index[i]};
            index[i] = NULL;
        }
        before += records;
    }
    return before;
}

hr_status hr__record_range_find(const hr_file_list *files, const hr_record_index_opts *opts, int64_t first,
                                int64_t count, hr__range_begin *out, hr_error *err)
{
    const int64_t needed = count == INT64_MAX ? first + 1 : count > INT64_MAX - first ? INT64_MAX : first + count;
    int64_t records = 0;
    *out = (hr__range_begin){files->count, 0, NULL};
    for (int64_t file = 0; file < files->count && records < needed; file += AT_A_TIME) {
        const int64_t left = files->count - file;
        const hr_file_list some = {files->path + file, left < AT_A_TIME ? left : AT_A_TIME};
        hr_record_index *index[AT_A_TIME];
        HR_TRY(hr_record_index_open_all(&some, opts, index, err));
        records = record_range_count_records(index, some.count, records, first, file, out);
        for (int64_t i = 0; i < some.count; i++) hr_record_index_free(index[i]);
    }
    if (records >= needed || (count == INT64_MAX && records == first)) return HR_OK;
    return record_range_beyond(first, count, records, err);
}

hr_status hr__record_range_go(const hr__range_begin *begin, hr_input *in, hr_error *err)
{
    int64_t near;
    HR_TRY(hr__record_index_seek(begin->index, in, begin->record, 0, &near, err));
    return hr__record_pass(in, HR__RECORD_MAX, near, begin->record - near, err);
}
