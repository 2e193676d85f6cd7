/* CSV into shards of TFRecords of tf.Example: what `headrace convert` does, but for flags and the terminal. Not a public
 * header. */
#ifndef HR_CONVERT_H
#define HR_CONVERT_H

#include "io/io.h"
#include "io/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr__convert_progress {
    int64_t bytes, total; /* of the input file, as it lies on the disk; total -1: not known */
    int64_t rows;
} hr__convert_progress;

typedef struct hr__convert_opts {
    const char *input; /* .gz as well; "-" is standard input */
    const hr__schema_file *schema;
    const char *out;            /* folder; made if there is none */
    int shards;                 /* of each split; default 1 */
    int64_t max_shard_bytes;    /* instead, as hr_shard_writer_opts */
    bool resume;                /* goes on behind the shards that a run before has filled */
    const char *prefix;         /* of the files, where rows are not split; default "data-" */
    hr_compression compression; /* of the shards; default: none */
    /* Rows whose splitmix64(this column) mod split_folds is 0 go to test-*, the others to train-*. NULL: no split. */
    const char *split_column;
    int64_t split_folds;
    const char *const *require; /* rows without a value in one of these are dropped */
    int require_count;
    const char *delimiter, *na_value; /* as hr_csv_opts */
    bool no_sync;
    bool (*progress)(const hr__convert_progress *p, void *user); /* false: stop; from the calling thread */
    void *user;
} hr__convert_opts;

typedef struct hr__convert_result {
    int64_t rows, written, dropped, blank; /* blank: lines that were no rows */
    int64_t written_test;                  /* of `written`, if rows are split */
    int64_t *missing;                      /* a field of the schema: written rows without it */
    int64_t bytes_in, bytes_out;           /* text; records with their frames, before compression */
    int64_t files;
    int64_t resumed; /* of `written`, by a run before */
    double seconds;
} hr__convert_result;

/* Converts all or leaves nothing behind. Types are the schema's; missing fields are left out of the Example. Rows are
 * dealt over the shards of their split in the order of the file, whatever the number of threads. hr__convert_clear also
 * after a failure. HR_CANCELLED: progress said so. HR_ALREADY_EXISTS: other shards lie in the folder. */
HR_API hr_status hr__convert(const hr__convert_opts *opts, hr__convert_result *result, hr_error *err);
HR_API void hr__convert_clear(hr__convert_result *result);

/* "row:5" as split_column ("row", hr_free it) and split_folds. */
HR_API hr_status hr__convert_parse_split(const char *text, char **column, int64_t *folds, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
