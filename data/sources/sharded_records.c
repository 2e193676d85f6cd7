/* sharded_records: the records of TFRecord files shared out among ranks. Each reads a run of them, and all runs are
 * equally long, so that all ranks make the same number of batches. Where files of one length go round evenly, runs are
 * whole files. */
#include "data/dataset.h"
#include "data/sources/shares.h"
#include "io/match.h"
#include <headrace/data.h>
#include <inttypes.h>

/* All records as one list. */
typedef struct layout {
    hr_file_list files;
    int64_t *end; /* number of the first record after each file */
    int64_t records;
} layout;

/* A run of that list; after its end it continues at its beginning. */
typedef struct part {
    int64_t first, count;
} part;

enum { AT_A_TIME = 32 };

/* ---- the files ---- */

static hr_status sharded_count_records(layout *all, const hr_record_index_opts *opts, hr_error *err)
{
    for (int64_t file = 0; file < all->files.count; file += AT_A_TIME) {
        const int64_t left = all->files.count - file;
        const hr_file_list some = {all->files.path + file, left < AT_A_TIME ? left : AT_A_TIME};
        hr_record_index *index[AT_A_TIME];
        HR_TRY(hr_record_index_open_all(&some, opts, index, err));
        for (int64_t i = 0; i < some.count; i++) {
            all->records += hr_record_index_count(index[i]);
            all->end[file + i] = all->records;
            hr_record_index_free(index[i]);
        }
    }
    return HR_OK;
}

static hr_status look_at_files(layout *all, const char *pattern, const hr_sharded_records_opts *opts, hr_error *err)
{
    const hr_record_index_opts how = {
        .struct_size = sizeof how, .compression = opts->compression, .keep = opts->keep_index};
    hr_status st = hr__source_files(pattern, &all->files, err);
    all->end = hr_calloc((size_t)all->files.count + 1, sizeof *all->end);
    if (st == HR_OK) st = all->end ? sharded_count_records(all, &how, err) : hr_no_memory(err, "the files");
    if (st != HR_OK) hr_error_prefix(err, "sharded_records: ");
    return st;
}

/* ---- the shares ---- */

static hr_status sharded_check(const char *pattern, int64_t num_shards, int64_t index, hr_uneven uneven, hr_error *err)
{
    if (!pattern)
        return hr_fail(err, HR_INVALID_ARGUMENT, "source.pattern",
                       "sharded_records: expected the name of a file or a pattern, got none");
    return hr__shares_check("sharded_records", num_shards, index, uneven, err);
}

static hr_status sharded_share(int64_t records, int64_t num_shards, int64_t index, hr_uneven uneven, part *out,
                               hr_error *err)
{
    const int64_t over = records % num_shards;
    HR_TRY(hr__shares_even("sharded_records", records, num_shards, uneven, err));
    out->count = records / num_shards + (over && uneven == HR_UNEVEN_PAD);
    out->first = records ? index * out->count % records : 0;
    return HR_OK;
}

/* ---- what is read is said ---- */

static int64_t file_of(const layout *all, int64_t record)
{
    int64_t file = 0;
    while (all->end[file] <= record) file++;
    return file;
}

static int64_t within(const layout *all, int64_t record)
{
    const int64_t file = file_of(all, record);
    return file ? record - all->end[file - 1] : record;
}

static void say(const layout *all, part mine, int64_t num_shards, int64_t index)
{
    if (mine.count == 0) {
        hr_log_message(HR_WARNING,
                       "sharded_records: shard %" PRId64 " of %" PRId64 " reads none of %" PRId64 " records", index,
                       num_shards, all->records);
        return;
    }
    const int64_t last = (mine.first + mine.count - 1) % all->records;
    hr_log_message(HR_INFO,
                   "sharded_records: shard %" PRId64 " of %" PRId64 " reads %" PRId64 " of %" PRId64
                   " records: from %s, record %" PRId64 ", to %s, record %" PRId64 "%s",
                   index, num_shards, mine.count, all->records, all->files.path[file_of(all, mine.first)],
                   within(all, mine.first), all->files.path[file_of(all, last)], within(all, last),
                   last < mine.first ? ", and the first records again after the last one" : "");
}

/* ---- the dataset ---- */

static hr_dataset *range(const char *pattern, int64_t first, int64_t count, const hr_sharded_records_opts *opts)
{
    return hr_tfrecord(pattern, .compression = opts->compression, .policy = opts->policy, .first = first,
                       .count = HR_I64(count));
}

static hr_dataset *read_part(const char *pattern, const layout *all, part mine, const hr_sharded_records_opts *opts)
{
    const int64_t left = all->records - mine.first;
    if (mine.count <= left) return range(pattern, mine.first, mine.count, opts);
    return hr_concatenate(range(pattern, mine.first, left, opts), range(pattern, 0, mine.count - left, opts));
}

hr_dataset *hr_sharded_records_with(const char *pattern, int64_t num_shards, int64_t index,
                                    const hr_sharded_records_opts *opts)
{
    const hr_sharded_records_opts o = HR_OPTIONS(hr_sharded_records_opts, opts);
    hr_error err;
    layout all = {0};
    part mine = {0};
    hr_status st = sharded_check(pattern, num_shards, index, o.uneven, &err);
    if (st == HR_OK) st = look_at_files(&all, pattern, &o, &err);
    if (st == HR_OK) st = sharded_share(all.records, num_shards, index, o.uneven, &mine, &err);
    if (st == HR_OK) say(&all, mine, num_shards, index);
    hr_dataset *ds = st == HR_OK ? read_part(pattern, &all, mine, &o) : hr_dataset_failed(&err);
    hr_file_list_clear(&all.files);
    hr_free(all.end);
    return ds;
}
