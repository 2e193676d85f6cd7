/* What merge, split and shuffle of whole sets of records share: the loop over the files, and where records go. Not a
 * public header. */
#ifndef HR_RECORDS_H
#define HR_RECORDS_H

#include <headrace/record_sets.h>

/* Refuses NULL: kind "records.argument". */
hr_status hr__records_check(const char *what, const hr_file_list *files, const char *out, hr_error *err);

typedef hr_status hr__record_fn(hr_view record, void *user, hr_error *err);
/* Calls `fn` for each record of the files in their order and counts into `report`, which is emptied. `what` begins the
 * message if opts->progress ends it. */
hr_status hr__records_each(const char *what, const hr_file_list *files, const hr_records_opts *opts, hr__record_fn *fn,
                           void *user, hr_records_report *report, hr_error *err);

/* One file, or shards. Begin with {0}. */
typedef struct hr__records_out {
    hr_record_writer *file;
    hr_shard_writer *shards;
    char *made_folder; /* removed by hr__records_discard while nothing is in it */
} hr__records_out;
/* The folder that the file `out` shall lie in, if there is none. */
hr_status hr__records_make_folder(hr__records_out *to, const char *out, hr_error *err);
hr_status hr__records_open(hr__records_out *to, const char *out, const hr_records_opts *opts, hr_error *err);
hr_status hr__records_write(hr__records_out *to, hr_view record, hr_error *err);
hr_status hr__records_commit(hr__records_out *to, hr_error *err);
/* The same of several, all files or all shards: none gets its name before all of them are on the disk. */
hr_status hr__records_commit_all(hr__records_out *to, int count, hr_error *err);
void hr__records_discard(hr__records_out *to); /* what is not committed; also after that, and twice */

#endif
