/* Headrace, sets of records: TFRecord files merged, shuffled, split, and repaired.
 *
 *     hr_file_list files = {0};
 *     hr_split_part part[] = {{.out = "train.tfrecord", .share = 0.9}, {.out = "test.tfrecord", .share = 0.1}};
 *     hr_status st = hr_match_files("clicks-*", &files, &err);
 *     if (st == HR_OK) st = hr_split_records(&files, part, 2, NULL, &err, .by = "user", .seed = 7);
 *     hr_file_list_clear(&files);
 *
 * To verify files, read them with .policy = {.on_error = HR_RESYNC, .on_damage = tell}: hr_record_reader_open_with. */
#ifndef HR_RECORD_SETS_H
#define HR_RECORD_SETS_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- whole sets: merged, shuffled, split ---- */

/* What a pass over records read and wrote. */
typedef struct hr_records_report {
    int64_t records, bytes; /* read; bytes without frames, inflated */
    int64_t trailing_zeros; /* as hr_input_trailing_zeros */
    int64_t spilled;        /* bytes that a shuffle put aside on the disk */
} hr_records_report;

typedef struct hr_records_opts {
    size_t struct_size;
    hr_compression compression;         /* of what is read; default: by each file's first bytes */
    const hr_output_opts *output;       /* of the one file that `out` names */
    const hr_shard_writer_opts *shards; /* instead: `out` is a prefix, as hr_shard_writer's. NULL: one file */
    hr_progress_fn *progress;
    void *user;              /* of .progress */
    size_t max_record_bytes; /* of what is read, as hr_record_opts */
} hr_records_opts;

/* What merge, shuffle and split write appears whole at the end, or not at all; the input may be replaced by it. `opts`
 * and `report` may be NULL. Damage in the input is an error as hr_record_read's. HR_CANCELLED: .progress said so. No
 * list of files, or no name of the output: "records.argument". */

/* The records of all files, in their order, into one file or shards. Compressions may differ from file to file. */
HR_API hr_status hr_merge_records_with(const hr_file_list *files, const char *out, const hr_records_opts *opts,
                                       hr_records_report *report, hr_error *err);
/* hr_merge_records(files, out, &report, &err, .option = ...) */
#define hr_merge_records(files, out, report, ...)                                                                      \
    HR_MERGE_RECORDS_(files, out, report, __VA_ARGS__, .struct_size = sizeof(hr_records_opts))
#define HR_MERGE_RECORDS_(files, out, report, err, ...)                                                                \
    hr_merge_records_with((files), (out), &(hr_records_opts){__VA_ARGS__}, (report), (err))

typedef struct hr_shuffle_records_opts {
    size_t struct_size;
    uint64_t seed;                  /* 0 is a seed like others */
    int64_t memory;                 /* bytes that records may take in memory; default 512 MiB, at least 1 MiB */
    const char *temp;               /* a folder with space for what memory has not; default: that of `out` */
    const hr_records_opts *records; /* NULL: the defaults */
} hr_shuffle_records_opts;

/* All records in an order drawn from all permutations alike: a function of (records, seed), not of .memory. What does
 * not fit into memory goes through a temporary file without a name, which takes as many bytes as the records and 24
 * each. */
HR_API hr_status hr_shuffle_records_with(const hr_file_list *files, const char *out,
                                         const hr_shuffle_records_opts *opts, hr_records_report *report, hr_error *err);
/* hr_shuffle_records(files, out, &report, &err, .option = ...) */
#define hr_shuffle_records(files, out, report, ...)                                                                    \
    HR_SHUFFLE_RECORDS_(files, out, report, __VA_ARGS__, .struct_size = sizeof(hr_shuffle_records_opts))
#define HR_SHUFFLE_RECORDS_(files, out, report, err, ...)                                                              \
    hr_shuffle_records_with((files), (out), &(hr_shuffle_records_opts){__VA_ARGS__}, (report), (err))

/* One part of a split: where its records go, and its share of them. */
typedef struct hr_split_part {
    const char *out; /* as hr_records_opts has it; a folder is made if there is none */
    double share;    /* above 0; all of them sum to 1 */
    int64_t records; /* set: how many it got */
} hr_split_part;

typedef struct hr_split_records_opts {
    size_t struct_size;
    uint64_t seed;
    const char *by; /* a feature of tf.Examples: records of the same value, say of one user, go to the same part */
    bool exact;     /* each part gets its share to the record; the files are read twice */
    const hr_records_opts *records; /* NULL: the defaults */
} hr_split_records_opts;

/* Deals records out to parts, each in the order of the input. By default a record's bytes (or .by's value) and the
 * seed decide alone: equal records stay together, new ones change nothing for the others, and sizes are near their
 * shares. */
HR_API hr_status hr_split_records_with(const hr_file_list *files, hr_split_part *parts, int count,
                                       const hr_split_records_opts *opts, hr_records_report *report, hr_error *err);
/* hr_split_records(files, parts, count, &report, &err, .option = ...) */
#define hr_split_records(files, parts, count, report, ...)                                                             \
    HR_SPLIT_RECORDS_(files, parts, count, report, __VA_ARGS__, .struct_size = sizeof(hr_split_records_opts))
#define HR_SPLIT_RECORDS_(files, parts, count, report, err, ...)                                                       \
    hr_split_records_with((files), (parts), (count), &(hr_split_records_opts){__VA_ARGS__}, (report), (err))

/* ---- saving what is good of a damaged file ---- */

typedef struct hr_repair_opts {
    size_t struct_size;
    /* Of the file that is read. Needed where its first bytes are damaged and its name does not say it. */
    hr_compression compression;
    hr_compression out_compression; /* default: by the new name; in place, as it was */
    size_t max_record_bytes;        /* a longer record is damage; default 256 MiB */
    const char *quarantine_file;    /* keeps what is lost, as hr_policy's; default: nowhere */
    hr_damage_fn *on_damage;        /* told of what is lost */
    hr_progress_fn *progress;       /* its records are the good ones so far */
    void *user;                     /* of both */
} hr_repair_opts;

/* What hr_repair_records saved, and what it could not. */
typedef struct hr_repair_report {
    int64_t records; /* good ones */
    hr_damage_count lost;
} hr_repair_report;

/* Writes all good records of `path` to `out`, as HR_RESYNC finds them; whole or not at all. `out` NULL is in place: an
 * undamaged file is left alone. HR_INVALID_ARGUMENT, kind "repair.out": `out` is the same file by name. `opts` and
 * `report` may be NULL; `path` may not, "records.argument". */
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
