/* Headrace, formats: the rows of one format into another, and the rows of a file of any format one by one. The formats
 * are CSV, JSON lines and TFRecords of tf.Example; hr_file_format of examples.h names them.
 *
 *     hr_error err = {0};
 *     hr_file_list in = {0};
 *     hr_schema_file *schema = NULL;
 *     hr_status st = hr_match_files("logs/part-*.csv.gz", &in, &err);
 *     if (st == HR_OK) st = hr_infer_schema(&in, &schema, &err);
 *     if (st == HR_OK) st = hr_convert(&in, "logs.tfrecord", NULL, &err, .schema = schema);
 *     hr_schema_file_free(schema);
 *     hr_file_list_clear(&in); */
#ifndef HR_CONVERT_H
#define HR_CONVERT_H

#include <headrace/examples.h>
#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- converting files ---- */

typedef struct hr_convert_opts {
    size_t struct_size;
    /* "csv", "jsonl", "tfrecord"; default: by the first input's name, else csv; by the name of the output, if it is one
     * file, else tfrecord. */
    const char *from, *to;
    hr_compression input_compression; /* default: by first bytes */
    /* The fields: which there are, and of which types. A CSV needs them, in and out (hr_infer_schema_with finds them);
     * NULL: all that is in the records. Borrowed for the call. */
    const hr_schema_file *schema;
    int shards;                 /* of each split; default 1 */
    int64_t max_shard_bytes;    /* instead, as hr_shard_writer_opts */
    bool index;                 /* FILE.hridx beside each file of TFRecords */
    bool resume;                /* continues where a run before was ended; as hr_shard_writer_opts, and so is */
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
    hr_progress_fn *progress;
    void *user;              /* of .progress */
    size_t max_record_bytes; /* a longer record or row is an error; default: what .csv says of rows, else 256 MiB */
    int64_t max_rows;        /* of each CSV, and none after them is looked at; default: all */
} hr_convert_opts;

/* Values of a field that float32 does not hold to the digits written. */
typedef struct hr_convert_rounded {
    int64_t count, record; /* record: that of the first one, from 0 in its file */
    char first[32];        /* as much of its text as fits */
} hr_convert_rounded;

/* What a conversion came to: numbers of rows, unless they say otherwise. */
typedef struct hr_convert_result {
    int64_t rows, written, dropped, blank; /* blank: lines that were no rows */
    int64_t rejected;                      /* rows and damaged records that .policy skipped */
    int64_t written_test;                  /* of `written`, if rows are split */
    int64_t *missing;                      /* for each field of .schema: written rows without it. NULL: no schema */
    hr_convert_rounded *rounded; /* the same, of the rows of a CSV that were read. JSON is told of by its reader */
    int64_t bytes_in, bytes_out; /* of the files, inflated; as tf.Examples with their frames, before compression */
    int64_t files;
    int64_t resumed; /* of `written`, by a run before */
    double seconds;
} hr_convert_result;

/* Converts the rows of all files, one after the other, all of one format; "-" is standard input. `out` is a folder for
 * shards, made if there is none; or one file, if it ends in a format's extension, or is "-" or a device. A new name
 * with an extension of no format is refused, but for one that ends in a slash.
 *
 * All is converted, or nothing is left. A field without a value is left out of a tf.Example. Rows are dealt over the
 * shards of their split in the order of the files, whatever the number of threads. *result (NULL: not wanted) is filled
 * also after a failure: hr_convert_result_clear. HR_CANCELLED: .progress said so. HR_ALREADY_EXISTS: other shards lie
 * in the folder. Kinds: convert.*, and those of reading, writing and parsing. */
HR_API hr_status hr_convert_with(const hr_file_list *inputs, const char *out, const hr_convert_opts *opts,
                                 hr_convert_result *result, hr_error *err);
/* hr_convert(&inputs, out, &result, &err, .schema = schema, .shards = 8) */
#define hr_convert(inputs, out, result, ...)                                                                           \
    HR_CONVERT_(inputs, out, result, __VA_ARGS__, .struct_size = sizeof(hr_convert_opts))
#define HR_CONVERT_(inputs, out, result, err, ...)                                                                     \
    hr_convert_with((inputs), (out), &(hr_convert_opts){__VA_ARGS__}, (result), (err))
HR_API void hr_convert_result_clear(hr_convert_result *result); /* frees what it holds. NULL: nothing */

/* What .from and .to come to. Lends "csv", "jsonl" or "tfrecord". */
HR_API hr_status hr_convert_formats(const hr_file_list *inputs, const char *out, const hr_convert_opts *opts,
                                    const char **from, const char **to, hr_error *err);
/* "row:5" as .split_column ("row": gives it, hr_free) and .split_folds. */
HR_API hr_status hr_convert_parse_split(const char *text, char **column, int64_t *folds, hr_error *err);

/* ---- the rows of one file ---- */

typedef struct hr_row_reader_opts {
    size_t struct_size;
    hr_file_format format;      /* default: by the file's name, else TFRecords */
    hr_compression compression; /* default: by first bytes */
    /* Fields and their types. A CSV needs them (counting does not); NULL: all that is in the records. Borrowed until
     * the reader is freed. */
    const hr_schema_file *schema;
    const hr_csv_opts *csv;  /* how a CSV is to be read, but for its columns; borrowed as long */
    size_t max_record_bytes; /* as hr_convert_opts */
    int64_t max_rows;        /* the same */
} hr_row_reader_opts;

/* Gives the rows one after the other as serialized tf.Examples: as hr_convert would write them. For tools that look at
 * single rows; pipelines read many at a time. */
typedef struct hr_row_reader hr_row_reader;
/* Opens `path`; "-" is standard input. Gives *out; NULL after a failure. */
HR_API hr_status hr_row_reader_open_with(const char *path, const hr_row_reader_opts *opts, hr_row_reader **out,
                                         hr_error *err);
/* hr_row_reader_open("people.csv", &reader, &err, .schema = schema) */
#define hr_row_reader_open(path, out, ...)                                                                             \
    HR_ROW_READER_OPEN_(path, out, __VA_ARGS__, .struct_size = sizeof(hr_row_reader_opts))
#define HR_ROW_READER_OPEN_(path, out, err, ...)                                                                       \
    hr_row_reader_open_with((path), &(hr_row_reader_opts){__VA_ARGS__}, (out), (err))
/* The next row, borrowed until the next call on `reader`. HR_END: there is none. A failure is final. */
HR_API hr_status hr_row_reader_next(hr_row_reader *reader, hr_view *example, hr_error *err);
HR_API void hr_row_reader_free(hr_row_reader *reader); /* NULL: nothing */

/* How many rows a file has, without looking at what is in them, but for JSON, which must be such. */
HR_API hr_status hr_count_rows_with(const char *path, const hr_row_reader_opts *opts, int64_t *count, hr_error *err);
#define hr_count_rows(path, count, ...)                                                                                \
    HR_COUNT_ROWS_(path, count, __VA_ARGS__, .struct_size = sizeof(hr_row_reader_opts))
#define HR_COUNT_ROWS_(path, count, err, ...)                                                                          \
    hr_count_rows_with((path), &(hr_row_reader_opts){__VA_ARGS__}, (count), (err))

#ifdef __cplusplus
}
#endif
#endif
