/* Headrace, sets of records: merging, shuffling, splitting and repairing TFRecord files.
 *
 *     hr_file_list files = {0};
 *     hr_split_part part[] = {{.out = "train.tfrecord", .share = 0.9}, {.out = "test.tfrecord", .share = 0.1}};
 *     hr_status st = hr_match_files("clicks-*", &files, &err);
 *     if (st == HR_OK) st = hr_split_records(&files, part, 2, NULL, &err, .by = "user", .seed = 7);
 *     hr_file_list_clear(&files);
 *
 * To verify files, read them by hr_record_reader_open_with and .policy = {.on_error = HR_RESYNC, .on_damage = tell}. */
#ifndef HR_RECORD_SETS_H
#define HR_RECORD_SETS_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- merging, shuffling, splitting ---- */

/* The counts of a pass over records. */
typedef struct hr_records_report {
    int64_t records, bytes; /* records read; their bytes, decompressed, without frames */
    int64_t trailing_zeros; /* as hr_input_trailing_zeros */
    int64_t spilled;        /* bytes that a shuffle wrote to its temporary file */
} hr_records_report;

typedef struct hr_records_opts {
    size_t struct_size;
    hr_compression compression;         /* of the input; default: by each file's first bytes */
    const hr_output_opts *output;       /* if `out` is one file; NULL: the defaults */
    const hr_shard_writer_opts *shards; /* `out` is the prefix of shards, as for hr_shard_writer. NULL: one file */
    hr_progress_fn *progress;
    void *user;              /* of .progress */
    size_t max_record_bytes; /* of the input, as in hr_record_opts */
} hr_records_opts;

/* The output of merge, shuffle and split gets its names when it is complete. A failure before leaves no output, and an
 * old file of that name as it was. So the output may replace the input. `opts` and `report` may be NULL. Damage in the
 * input is an error, as in hr_record_read. HR_CANCELLED: .progress returned false. HR_INVALID_ARGUMENT, kind
 * "records.argument": `files` or `out` is NULL. */

/* Writes the records of all files, in order, to one file or to shards. The files may differ in their compression. */
HR_API hr_status hr_merge_records_with(const hr_file_list *files, const char *out, const hr_records_opts *opts,
                                       hr_records_report *report, hr_error *err);
/* hr_merge_records(files, out, &report, &err, .option = ...) */
#define hr_merge_records(files, out, report, ...)                                                                      \
    HR_MERGE_RECORDS_(files, out, report, __VA_ARGS__, .struct_size = sizeof(hr_records_opts))
#define HR_MERGE_RECORDS_(files, out, report, err, ...)                                                                \
    hr_merge_records_with((files), (out), &(hr_records_opts){__VA_ARGS__}, (report), (err))

typedef struct hr_shuffle_records_opts {
    size_t struct_size;
    uint64_t seed;                  /* 0 is a seed like any other */
    int64_t memory;                 /* bytes for records in memory; at least 1 MiB, default 512 MiB */
    const char *temp;               /* the folder of the temporary file; default: the folder of `out` */
    const hr_records_opts *records; /* NULL: the defaults */
} hr_shuffle_records_opts;

/* Writes all records in random order: every permutation is equally likely. The order depends on the number of records
 * and the seed, not on .memory. Records that do not fit into memory go through a temporary file without a name, which
 * then takes 24 bytes a record more than the data of all records. */
HR_API hr_status hr_shuffle_records_with(const hr_file_list *files, const char *out,
                                         const hr_shuffle_records_opts *opts, hr_records_report *report, hr_error *err);
/* hr_shuffle_records(files, out, &report, &err, .option = ...) */
#define hr_shuffle_records(files, out, report, ...)                                                                    \
    HR_SHUFFLE_RECORDS_(files, out, report, __VA_ARGS__, .struct_size = sizeof(hr_shuffle_records_opts))
#define HR_SHUFFLE_RECORDS_(files, out, report, err, ...)                                                              \
    hr_shuffle_records_with((files), (out), &(hr_shuffle_records_opts){__VA_ARGS__}, (report), (err))

/* One part of a split: its output, and its share of the records. */
typedef struct hr_split_part {
    const char *out; /* a file, whose folder is made if there is none; with .shards, a prefix */
    double share;    /* above 0; the shares of all parts sum to 1 */
    int64_t records; /* set if the split succeeds: the number of its records */
} hr_split_part;

typedef struct hr_split_records_opts {
    size_t struct_size;
    uint64_t seed;
    const char *by; /* a feature of tf.Examples: records with the same value, as of one user, go to the same part */
    bool exact;     /* sizes are exactly the shares, rounded to records; the files are read twice. Excludes .by */
    const hr_records_opts *records; /* NULL: the defaults */
} hr_split_records_opts;

/* Distributes records to 1 to 1,000 parts; within a part they keep the order of the input. By default the part of a
 * record depends only on its bytes (or the value of .by) and the seed: equal records go to the same part, records that
 * are added later do not move others, and the sizes of parts are close to their shares. With .exact each record is
 * assigned at random. Kinds: split.shares, split.feature (a record without .by), split.exact, split.changed (.exact: a
 * file changed between the two passes). */
HR_API hr_status hr_split_records_with(const hr_file_list *files, hr_split_part *parts, int count,
                                       const hr_split_records_opts *opts, hr_records_report *report, hr_error *err);
/* hr_split_records(files, parts, count, &report, &err, .option = ...) */
#define hr_split_records(files, parts, count, report, ...)                                                             \
    HR_SPLIT_RECORDS_(files, parts, count, report, __VA_ARGS__, .struct_size = sizeof(hr_split_records_opts))
#define HR_SPLIT_RECORDS_(files, parts, count, report, err, ...)                                                       \
    hr_split_records_with((files), (parts), (count), &(hr_split_records_opts){__VA_ARGS__}, (report), (err))

/* ---- repairing a damaged file ---- */

typedef struct hr_repair_opts {
    size_t struct_size;
    /* Of `path`. Needed if the first bytes are damaged and the name does not show the compression. */
    hr_compression compression;
    hr_compression out_compression; /* default: by the name `out`; in place: as before */
    size_t max_record_bytes;        /* a longer record is damage; default 256 MiB */
    const char *quarantine_file;    /* gets the damaged bytes, as in hr_policy; default: they are not kept */
    hr_damage_fn *on_damage;        /* called for the damaged bytes */
    hr_progress_fn *progress;       /* its .records are the good records so far */
    void *user;                     /* of both functions */
} hr_repair_opts;

/* How much hr_repair_records kept, and how much was lost. */
typedef struct hr_repair_report {
    int64_t records; /* good records that were written */
    hr_damage_count lost;
} hr_repair_report;

/* Writes all good records of `path`, as HR_RESYNC finds them, to `out`, which appears when it is complete. If `out` is
 * NULL, the new file replaces `path`, unless no damage was found: then `path` stays as it is. HR_INVALID_ARGUMENT, kind
 * "repair.out": `out` is the same file as `path`. HR_CANCELLED: .progress returned false. `opts` and `report` may be
 * NULL. HR_INVALID_ARGUMENT, kind "records.argument": `path` is NULL. */
HR_API hr_status hr_repair_records_with(const char *path, const char *out, const hr_repair_opts *opts,
                                        hr_repair_report *report, hr_error *err);
/* hr_repair_records(path, out, &report, &err, .option = ...) */
#define hr_repair_records(path, out, report, ...)                                                                      \
    HR_REPAIR_RECORDS_(path, out, report, __VA_ARGS__, .struct_size = sizeof(hr_repair_opts))
#define HR_REPAIR_RECORDS_(path, out, report, err, ...)                                                                \
    hr_repair_records_with((path), (out), &(hr_repair_opts){__VA_ARGS__}, (report), (err))

#ifdef __cplusplus
}
#endif
#endif
