/* Headrace, formats: converting files from one format to another, and reading the rows of a file of any format one by
 * one. The formats are CSV, JSON lines and TFRecords of tf.Example: hr_file_format in examples.h.
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
    /* "csv", "jsonl" or "tfrecord". Default of .from: by the name of the first input, else csv. Default of .to: by the
     * name of the output if it is one file, else tfrecord. */
    const char *from, *to;
    hr_compression input_compression; /* default: by first bytes */
    /* The names and types of the fields. Required if either format is CSV (hr_infer_schema_with finds them). NULL: all
     * features of the records. Borrowed for the call. */
    const hr_schema_file *schema;
    int shards;                 /* number of shards of each split; default 1 */
    int64_t max_shard_bytes;    /* instead of .shards, as in hr_shard_writer_opts */
    bool index;                 /* writes FILE.hridx beside each TFRecord file */
    bool resume;                /* continues where an earlier run ended, as in hr_shard_writer_opts */
    int64_t cut_bytes;          /* as in hr_shard_writer_opts */
    const char *prefix;         /* of the shards' names if rows are not split; default "data-" */
    hr_compression compression; /* default for shards: none; for one file: by its name */
    /* An int64 field. Rows go to test-* if splitmix64(value) mod split_folds is 0, the others to train-*. NULL: rows
     * are not split. */
    const char *split_column;
    int64_t split_folds;        /* 2 or more */
    const char *const *require; /* fields: rows without a value in one of them are dropped */
    int require_count;
    /* How CSV is read; .columns is ignored, since .schema has the columns. .delimiter and .na_value also hold for CSV
     * that is written. Default: as hr_csv. */
    const hr_csv_opts *csv;
    const char *separator; /* of CSV that is written: between the values of a list; as in hr_csv_writer_opts */
    /* What to do about rows that cannot be read or do not match the schema, and about damaged TFRecords. With JSON
     * lines and a policy other than HR_FAIL, an object must not span several lines. */
    hr_policy policy;
    bool no_sync;
    hr_progress_fn *progress;
    void *user;              /* of .progress */
    size_t max_record_bytes; /* a longer record or row is an error; default: .csv's .max_row_bytes, else 256 MiB */
    int64_t max_rows;        /* reads so many rows of each CSV file, and ignores what follows; default: all */
} hr_convert_opts;

/* The values of a field whose written digits float32 cannot represent: they were rounded. */
typedef struct hr_convert_rounded {
    int64_t count, record; /* record: where the first such value is, from 0 in its file */
    char first[32];        /* the text of the first such value, cut if it is longer */
} hr_convert_rounded;

/* The counts of a conversion: of rows, unless another unit is given. */
typedef struct hr_convert_result {
    int64_t rows, written, dropped, blank; /* rows that were read; dropped by .require; blank lines, not in .rows */
    int64_t rejected;                      /* rows and damaged records that .policy skipped */
    int64_t written_test;                  /* how many of .written went to test-* */
    int64_t *missing;                      /* for each field of .schema: written rows without it. NULL: no schema */
    hr_convert_rounded *rounded; /* for each field of .schema, if the input is CSV. A JSON reader logs a warning */
    int64_t bytes_in, bytes_out; /* of the input, decompressed; of the rows as framed tf.Examples, not compressed */
    int64_t files;               /* that were written */
    int64_t resumed;             /* how many of .written an earlier run wrote */
    double seconds;
} hr_convert_result;

/* Converts the rows of all files, in order. All must have one format; "-" is standard input. `out` is a folder for
 * shards, which is made if there is none; or one file, if its name ends in a format's extension, or it is "-" or a
 * device. If `out` does not exist and ends in another extension, that is an error; append a slash to make such a
 * folder.
 *
 * Files get their names when all rows are converted. A failure before leaves no output, except what .resume continues
 * with; bytes for "-", pipes and devices are written at once. A tf.Example has no feature for a field without a value.
 * Row n of a split goes to shard n mod .shards (with .max_shard_bytes, shards are filled in order), for any number of
 * threads. *result (NULL: not wanted) is also filled after a failure; release it with hr_convert_result_clear.
 * HR_CANCELLED: .progress returned false. HR_ALREADY_EXISTS: the folder has other shards. Kinds: convert.*, and those
 * of reading, writing and parsing. */
HR_API hr_status hr_convert_with(const hr_file_list *inputs, const char *out, const hr_convert_opts *opts,
                                 hr_convert_result *result, hr_error *err);
/* hr_convert(&inputs, out, &result, &err, .schema = schema, .shards = 8) */
#define hr_convert(inputs, out, result, ...)                                                                           \
    HR_CONVERT_(inputs, out, result, __VA_ARGS__, .struct_size = sizeof(hr_convert_opts))
#define HR_CONVERT_(inputs, out, result, err, ...)                                                                     \
    hr_convert_with((inputs), (out), &(hr_convert_opts){__VA_ARGS__}, (result), (err))
HR_API void hr_convert_result_clear(hr_convert_result *result); /* frees what it holds. NULL: nothing */

/* The formats that hr_convert would use, by .from, .to and the names. Lends "csv", "jsonl" or "tfrecord"; `from` and
 * `to` may be NULL. */
HR_API hr_status hr_convert_formats(const hr_file_list *inputs, const char *out, const hr_convert_opts *opts,
                                    const char **from, const char **to, hr_error *err);
/* Parses "row:5": *column for .split_column is "row" (gives it; hr_free), *folds for .split_folds is 5. Kind
 * convert.split. */
HR_API hr_status hr_convert_parse_split(const char *text, char **column, int64_t *folds, hr_error *err);

/* ---- the rows of one file ---- */

typedef struct hr_row_reader_opts {
    size_t struct_size;
    hr_file_format format;      /* default: by the file's name, else TFRecord */
    hr_compression compression; /* default: by first bytes */
    /* The names and types of the fields. Required for CSV, but not for counting; NULL: all features of the records.
     * Borrowed until the reader is freed. */
    const hr_schema_file *schema;
    const hr_csv_opts *csv;  /* how CSV is read; .columns is ignored. Borrowed until the reader is freed */
    size_t max_record_bytes; /* as in hr_convert_opts */
    int64_t max_rows;        /* as in hr_convert_opts */
} hr_row_reader_opts;

/* Reads rows one by one, as serialized tf.Examples: the bytes that hr_convert would write. For tools that look at
 * single rows; pipelines, which read many at a time, are faster. */
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

/* Counts the rows of a file without parsing their values. Only JSON is parsed, to find where each object ends. */
HR_API hr_status hr_count_rows_with(const char *path, const hr_row_reader_opts *opts, int64_t *count, hr_error *err);
#define hr_count_rows(path, count, ...)                                                                                \
    HR_COUNT_ROWS_(path, count, __VA_ARGS__, .struct_size = sizeof(hr_row_reader_opts))
#define HR_COUNT_ROWS_(path, count, err, ...)                                                                          \
    hr_count_rows_with((path), &(hr_row_reader_opts){__VA_ARGS__}, (count), (err))

#ifdef __cplusplus
}
#endif
#endif
