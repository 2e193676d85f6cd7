/* Rows of one format into another: what `headrace convert` does, but for flags and the terminal. The formats are
 * those of io/convert/formats.def. Not a public header. */
#ifndef HR_CONVERT_H
#define HR_CONVERT_H

#include "base/number.h"
#include "io/examples.h"
#include "io/io.h"
#include "io/schema/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr__convert_progress {
    int64_t bytes, total; /* of the input files, as they lie on the disk; total -1: not known */
    int64_t rows;
} hr__convert_progress;

typedef struct hr__convert_opts {
    hr_file_list inputs; /* one after the other, all of one format; "-" is standard input. Borrowed */
    /* "csv", "jsonl", "tfrecord"; default: by the first input's name, else csv; by `out`, if it is one file, else
     * tfrecord. */
    const char *from, *to;
    hr_compression input_compression; /* default: by first bytes */
    /* The fields: which there are, and of which types. A CSV needs them, in and out; NULL: all that is in the
     * records. */
    const hr__schema_file *schema;
    /* Folder for shards, made if there is none; or one file, if hr__convert_is_file says so. A new name with an extension
     * of no format is refused, but for one that ends in a slash. */
    const char *out;
    int shards;                 /* of each split; default 1 */
    int64_t max_shard_bytes;    /* instead, as hr_shard_writer_opts */
    bool index;                 /* FILE.hridx beside each file of TFRecords */
    bool resume;                /* goes on where a run before was ended; as hr_shard_writer_opts, and so is */
    int64_t cut_bytes;          /* this */
    const char *prefix;         /* of the files, where rows are not split; default "data-" */
    hr_compression compression; /* of the shards; default: none; of one file: by its name */
    /* Rows whose splitmix64(this column) mod split_folds is 0 go to test-*, the others to train-*. NULL: no split. */
    const char *split_column;
    int64_t split_folds;
    const char *const *require; /* rows without a value in one of these are dropped */
    int require_count;
    /* How a CSV is to be read, but for its columns; .delimiter and .na_value are those of one that is written, too.
     * Default: hr_csv's. */
    const hr_csv_opts *csv;
    const char *separator; /* between the values of a cell of a CSV that is written; as hr_csv_writer_opts */
    /* What becomes of rows that cannot be read or are not as the schema says, and of damaged TFRecords. Under
     * one that is not HR_FAIL each line of JSON lines stands for itself: an object may not go on in the next. */
    hr_policy policy;
    bool no_sync;
    bool (*progress)(const hr__convert_progress *p, void *user); /* false: stop; from the calling thread */
    void *user;
    size_t max_record_bytes; /* a longer record or row is an error; default: what .csv says of rows, else 256 MiB */
    int64_t max_rows;        /* of each CSV, and none behind them is looked at; default: all */
} hr__convert_opts;

typedef struct hr__convert_result {
    int64_t rows, written, dropped, blank; /* blank: lines that were no rows */
    int64_t rejected;                      /* rows and damaged records that .policy passed over */
    int64_t written_test;                  /* of `written`, if rows are split */
    int64_t *missing;                      /* a field of the schema: written rows without it */
    /* Of CSV, a field of the schema: values of the rows read that float32 does not hold to the digits written, counted
     * within their file. JSON lines are told of by their reader. */
    hr__rounded *rounded;
    int64_t bytes_in, bytes_out; /* of the files, inflated; as tf.Examples with their frames, before compression */
    int64_t files;
    int64_t resumed; /* of `written`, by a run before */
    double seconds;
} hr__convert_result;

/* Converts all or leaves nothing behind. Missing fields are left out of a tf.Example. Rows are
 * dealt over the shards of their split in the order of the file, whatever the number of threads. hr__convert_clear also
 * after a failure. HR_CANCELLED: progress said so. HR_ALREADY_EXISTS: other shards lie in the folder. */
hr_status hr__convert(const hr__convert_opts *opts, hr__convert_result *result, hr_error *err);
void hr__convert_clear(hr__convert_result *result);

/* What .from and .to come to: "csv", "jsonl", "tfrecord". */
hr_status hr__convert_formats(const hr__convert_opts *opts, const char **from, const char **to, hr_error *err);
/* Which format a name means: one of .from, or an extension, in any case of letters. HR_FORMAT_BY_NAME: none. */
hr_file_format hr__convert_format_id(const char *name);
/* "-", a device, and a name that ends in a format's extension mean one file, not a folder. */
bool hr__convert_is_file(const char *out);

/* "row:5" as split_column ("row", hr_free it) and split_folds. */
hr_status hr__convert_parse_split(const char *text, char **column, int64_t *folds, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
