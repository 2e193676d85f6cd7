/* A range of the records of several files, taken as one list: where it begins, by the files' indexes. Not a public
 * header. */
#ifndef HR_RECORD_RANGE_H
#define HR_RECORD_RANGE_H

#include <headrace/io.h>

typedef struct hr__range_begin {
    int64_t file, record; /* the first record is this one of that file; file = files->count: nothing is in the range */
    hr_record_index *index; /* of the file; NULL: of none. hr_record_index_free, also after a failure */
} hr__range_begin;

/* `count` INT64_MAX: all from `first` on. Files after the range are not looked at. HR_OUT_OF_RANGE: there are not so
 * many. */
hr_status hr__record_range_find(const hr_file_list *files, const hr_record_index_opts *opts, int64_t first,
                                int64_t count, hr__range_begin *out, hr_error *err);
/* Brings the file, just opened, to its first record of the range. */
hr_status hr__record_range_go(const hr__range_begin *begin, hr_input *in, hr_error *err);

#endif
