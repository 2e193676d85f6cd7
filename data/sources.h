/* Headrace, pipelines: where elements come from. Part of data.h. */
#ifndef HR_SOURCES_H
#define HR_SOURCES_H

#include <headrace/examples.h>
#include <headrace/functions.h>
#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources ---- */

/* 0, 1, ... or start, start + step, ... below stop: int64 "value". */
typedef struct hr_range_opts {
    size_t struct_size;
    int64_t start;
    int64_t step;   /* default 1; may be negative */
    hr_dtype dtype; /* of "value": int32, int64 (default), uint64, float32 or float64, as a cast makes them of int64 */
} hr_range_opts;
HR_API hr_dataset *hr_range_with(int64_t stop, const hr_range_opts *opts);
#define hr_range(...) HR_CALL1_(hr_range_with, hr_range_opts, __VA_ARGS__, .struct_size = sizeof(hr_range_opts))
/* start, start + step, ... without an end. */
HR_API hr_dataset *hr_counter_with(const hr_range_opts *opts);
#define hr_counter(...) HR_CALL0_(hr_counter_with, hr_range_opts, .struct_size = sizeof(hr_range_opts), __VA_ARGS__)

/* Rows of tensors in memory: element i is row i of each. Copies. `names` may be NULL: "0", "1", ... */
HR_API hr_dataset *hr_from_tensor_slices(const hr_tensor *tensors, const char *const *names, int count);

/* One element: the tensors, whole. Copies. `names` may be NULL: "0", "1", ... */
HR_API hr_dataset *hr_from_tensors(const hr_tensor *tensors, const char *const *names, int count);

/* A list of `count` elements of `components` tensors each, element after element: {a0, b0, a1, b1, ...}. The tensors of
 * a component have one type, and one shape but for the first dimension, which may be another in each. Copies. `names`
 * may be NULL: "0", "1", ... */
HR_API hr_dataset *hr_from_list(const hr_tensor *elements, const char *const *names, int components, int64_t count);

/* Rows of a sparse tensor (HR_SPARSE, of at least two dimensions, with indices in order): element i is the sparse
 * "value" of the values with first index i. Copies. */
HR_API hr_dataset *hr_from_sparse_tensor_slices(const hr_tensor *tensor);

/* Numbers from 0 to 2^32 - 1 at random, without an end: int64 "value". */
typedef struct hr_random_dataset_opts {
    size_t struct_size;
    uint64_t seed;        /* default: the pipeline's */
    bool same_each_epoch; /* default: new numbers every epoch */
} hr_random_dataset_opts;
HR_API hr_dataset *hr_random_dataset_with(const hr_random_dataset_opts *opts);
#define hr_random_dataset(...)                                                                                         \
    HR_CALL0_(hr_random_dataset_with, hr_random_dataset_opts, .struct_size = sizeof(hr_random_dataset_opts),           \
              __VA_ARGS__)

/* The files that a pattern matches (several patterns: separated by '\n'), sorted, as strings "value". No match is
 * an error: HR_INVALID_ARGUMENT, as in TensorFlow. */
typedef struct hr_list_files_opts {
    size_t struct_size;
    bool shuffle; /* default: sorted. (TensorFlow shuffles unless told not to) */
    uint64_t seed;
    bool same_each_epoch;
    bool extended; /* as hr_match_files_extended: ranges, braces, **, exclusion, manifests */
} hr_list_files_opts;
HR_API hr_dataset *hr_list_files_with(const char *pattern, const hr_list_files_opts *opts);
#define hr_list_files(...)                                                                                             \
    HR_CALL1_(hr_list_files_with, hr_list_files_opts, __VA_ARGS__, .struct_size = sizeof(hr_list_files_opts))

/* The records of TFRecord files, one file after another: string "value". `pattern` as in hr_match_files, but several
 * patterns keep their order, and a name without special characters is missed (HR_NOT_FOUND) at its turn. */
typedef struct hr_tfrecord_opts {
    size_t struct_size;
    hr_compression compression; /* default: by magic bytes and file name */
    size_t max_record_bytes;    /* a longer record is refused before memory is allocated for it; default 256 MiB */
    hr_checks checks;
    hr_policy policy; /* for damaged records; hr_iterator_report counts what is skipped */
    /* A range of the records of all files together, damaged ones included; default: all. It is found by the files'
     * indexes. A file without a valid FILE.hridx is indexed in each epoch again. HR_OUT_OF_RANGE: there are not so
     * many records. */
    int64_t first;
    const int64_t *count; /* HR_I64(1000); default: to the end */
} hr_tfrecord_opts;
HR_API hr_dataset *hr_tfrecord_with(const char *pattern, const hr_tfrecord_opts *opts);
#define hr_tfrecord(...)                                                                                               \
    HR_CALL1_(hr_tfrecord_with, hr_tfrecord_opts, __VA_ARGS__, .struct_size = sizeof(hr_tfrecord_opts))

/* What to do if the records cannot be divided equally among the shards. */
typedef enum hr_uneven {
    HR_UNEVEN_ERROR, /* HR_FAILED_PRECONDITION, "sharded_records.uneven" */
    HR_UNEVEN_DROP,  /* the last records, fewer than there are shards, are left out */
    HR_UNEVEN_PAD,   /* the missing records are the first ones again */
} hr_uneven;

/* All records of TFRecord files in one random order over all of them: string "value". Files are uncompressed, or of
 * LZ4 or ZSTD frames. There is no buffer: any record may come next, and a saved state is one number. Records are
 * found by the index of each file (8 bytes of memory for a record): FILE.hridx if it is valid and has every record,
 * otherwise a pass over the file when it is opened. Of a file of frames, a unit decodes the frames of its records.
 * All uncompressed files stay open. `pattern` as in hr_tfrecord. With several shards, each gives every num_shards-th
 * record of the order; .uneven decides about the rest at the end of each epoch. A saved state belongs to one shard;
 * to resume with another number of shards, set .first to the number of records that all of them have had together. */
typedef struct hr_shuffled_records_opts {
    size_t struct_size;
    uint64_t seed;             /* default: the pipeline's; with shards all need the same */
    bool same_each_epoch;      /* default: a new order every epoch */
    bool keep_index;           /* writes FILE.hridx for files that had no valid index */
    int64_t num_shards, index; /* default 1, 0 */
    hr_uneven uneven;
    int64_t first; /* begins after so many records of the order, counted over all shards */
} hr_shuffled_records_opts;
HR_API hr_dataset *hr_shuffled_records_with(const char *pattern, const hr_shuffled_records_opts *opts);
#define hr_shuffled_records(...)                                                                                       \
    HR_CALL1_(hr_shuffled_records_with, hr_shuffled_records_opts, __VA_ARGS__,                                         \
              .struct_size = sizeof(hr_shuffled_records_opts))

/* One rank's share of the records of TFRecord files: string "value". All shares are equally long, so every rank makes
 * the same number of batches, and together they read each record once, but for .uneven. A share is a run of records:
 * whole files, where these are equally long and go round. Which ones is said by hr_log_message (HR_INFO). The files are
 * counted at once, when the dataset is made, by their indexes: best kept, or each epoch passes over them again. */
typedef struct hr_sharded_records_opts {
    size_t struct_size;
    hr_uneven uneven;
    hr_compression compression; /* default: by magic bytes and file name */
    hr_policy policy;           /* as in hr_tfrecord; a skipped record is missing in this rank's share */
    bool keep_index;            /* writes FILE.hridx for files that had no valid index */
} hr_sharded_records_opts;
HR_API hr_dataset *hr_sharded_records_with(const char *pattern, int64_t num_shards, int64_t index,
                                           const hr_sharded_records_opts *opts);
#define hr_sharded_records(...)                                                                                        \
    HR_CALL3_(hr_sharded_records_with, hr_sharded_records_opts, __VA_ARGS__,                                           \
              .struct_size = sizeof(hr_sharded_records_opts))

/* The lines of text files, without their ends (LF or CRLF): string "value" (TensorFlow's TextLineDataset, which drops
 * every CR; so does .tf_compat). `pattern` as in hr_tfrecord; "-" is standard input. */
typedef struct hr_text_lines_opts {
    size_t struct_size;
    hr_compression compression; /* default: by magic bytes and file name */
    size_t max_row_bytes;       /* a longer line is an error; default 256 MiB */
} hr_text_lines_opts;
HR_API hr_dataset *hr_text_lines_with(const char *pattern, const hr_text_lines_opts *opts);
#define hr_text_lines(...)                                                                                             \
    HR_CALL1_(hr_text_lines_with, hr_text_lines_opts, __VA_ARGS__, .struct_size = sizeof(hr_text_lines_opts))

/* Files of records of `record_bytes` each: string "value" (TensorFlow's FixedLengthRecordDataset). Left-over bytes are
 * an error, HR_DATA_LOSS fixed.size: before the first record of a plain file, after the last whole one of another. */
typedef struct hr_fixed_length_records_opts {
    size_t struct_size;
    int64_t header_bytes, footer_bytes; /* bytes of each file to skip */
    hr_compression compression;         /* default: by magic bytes and file name. Sizes count decompressed bytes */
} hr_fixed_length_records_opts;
HR_API hr_dataset *hr_fixed_length_records_with(const char *pattern, int64_t record_bytes,
                                                const hr_fixed_length_records_opts *opts);
#define hr_fixed_length_records(...)                                                                                   \
    HR_CALL2_(hr_fixed_length_records_with, hr_fixed_length_records_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_fixed_length_records_opts))

/* The items of IDX files (MNIST's format): "value" of uint8, int8, int16, int32, float32 or float64. The first file
 * is read for the shape when the dataset is made, so it cannot be a pipe. For images with labels, use hr_zip of two. */
typedef struct hr_idx_opts {
    size_t struct_size;
    hr_compression compression; /* default: by magic bytes and file name */
} hr_idx_opts;
HR_API hr_dataset *hr_idx_with(const char *pattern, const hr_idx_opts *opts);
#define hr_idx(...) HR_CALL1_(hr_idx_with, hr_idx_opts, __VA_ARGS__, .struct_size = sizeof(hr_idx_opts))

/* Rows of CSV files, one component a selected column: see hr_csv_opts in io.h. `pattern` as in hr_list_files. */
HR_API hr_dataset *hr_csv_with(const char *pattern, const hr_csv_opts *opts);
#define hr_csv(...) HR_CALL1_(hr_csv_with, hr_csv_opts, __VA_ARGS__, .struct_size = sizeof(hr_csv_opts))

/* One component of the rows of JSON lines: the value of the key of this name. */
typedef struct hr_jsonl_column {
    const char *name;
    hr_dtype dtype; /* int32, int64, uint64, float32, float64, bool, string */
    /* For a key that is missing or null: one value, or all of a row. NULL: it is an error, unless .keep_missing. */
    const hr_tensor *default_value;
    hr_csv_time time; /* of an int64: the value is such a string */
    /* Default: a scalar. HR_SHAPE(2, 3): arrays of exactly this shape. HR_SHAPE(-1): an array of any length, a ragged
     * component; one that is missing is empty. */
    hr_shape shape;
} hr_jsonl_column;

/* Rows of files of JSON lines, an object on each line, one component a column, as hr_csv gives those of CSV. Keys that
 * are no column are ignored; of a column a key may come only once. Blank lines are skipped. Numbers are exact: 1.5, or
 * 3000000000 for an int32, is an error, 7.0 is a whole number. NaN and infinity may be written as Python or protobuf
 * write them. Bytes that are not UTF-8 are {"$b64": "//4="}, as `headrace convert` writes them. `pattern` as in
 * hr_tfrecord. Kinds: json.*, text.line_size; each names file, line, offset and column. */
typedef struct hr_jsonl_opts {
    size_t struct_size;
    const hr_jsonl_column *columns; /* required */
    int column_count;
    bool keep_missing; /* rows have `present` bits instead of errors */
    hr_compression compression;
    const char *label; /* the column that is the label of a training */
    /* For rows with errors, which are left out, as in hr_csv_opts. */
    hr_policy policy;
    size_t max_row_bytes; /* a longer line is an error; default 256 MiB */
} hr_jsonl_opts;
HR_API hr_dataset *hr_jsonl_with(const char *pattern, const hr_jsonl_opts *opts);
#define hr_jsonl(...) HR_CALL1_(hr_jsonl_with, hr_jsonl_opts, __VA_ARGS__, .struct_size = sizeof(hr_jsonl_opts))

/* One component of the rows of a query: its columns in their order. */
typedef struct hr_sql_column {
    const char *name;
    hr_dtype dtype;                 /* int8 to int64, uint8 to uint32, float32, float64, bool, string */
    const hr_tensor *default_value; /* one value, for NULL; default: NULL is an error */
} hr_sql_column;

/* The rows that a query of a database gives (TensorFlow's SqlDataset). `driver_name` is "sqlite", `data_source_name` the
 * file, which is only read. Values are taken exactly: a text in a column of numbers, or a number that the type cannot
 * hold, is an error (there: 0, or cut); a string takes any value as SQLite writes it. A restored pipeline runs the query
 * again and passes over the rows that were given, so the query should say ORDER BY. Kinds: sql.*; sql.build:
 * HR_UNIMPLEMENTED, the library was built without libsqlite3. */
typedef struct hr_sql_opts {
    size_t struct_size;
    const hr_sql_column *columns; /* required: one for each column of the query */
    int column_count;
} hr_sql_opts;
HR_API hr_dataset *hr_sql_with(const char *driver_name, const char *data_source_name, const char *query,
                               const hr_sql_opts *opts);
#define hr_sql(...) HR_CALL3_(hr_sql_with, hr_sql_opts, __VA_ARGS__, .struct_size = sizeof(hr_sql_opts))

/* The rows of TFRecord, CSV or JSON-lines files as serialized tf.Examples: string "value". The bytes are those of the
 * records that hr_convert would write for these rows with the same options, in the same order. So a training on a CSV
 * is the training on its TFRecords. `pattern` as in hr_tfrecord, but all files must have one format. A JSON object must
 * not span several lines. Kinds: example_rows.*, and those of the format's own source (csv.*, json.*, record.*). */
typedef struct hr_example_rows_opts {
    size_t struct_size;
    hr_file_format format; /* default: by the name of the first file, or of the pattern; else TFRecord */
    /* The names and types of the fields; only these are read. Required for CSV. NULL: all features of the records.
     * Copied. A row of a CSV needs no column of the label. */
    const hr_schema_file *schema;
    const hr_csv_opts *csv;     /* how CSV is read; .columns, .keep_missing, .label and .policy are ignored */
    hr_compression compression; /* default: by magic bytes and file name */
    hr_policy policy;           /* for rows that cannot be read, as in hr_tfrecord and hr_csv_opts */
    const char *const *require; /* fields: rows without a value in one of them are left out, and counted */
    int require_count;
    /* Records of TFRecord files are given as they came, with all their features, for parse_example, which picks and
     * checks: to choose features takes longer than to parse them. Not where .policy may leave rows out. */
    bool whole_records;
    size_t max_record_bytes; /* a longer record or row is an error; default: .csv's .max_row_bytes, else 256 MiB */
} hr_example_rows_opts;
HR_API hr_dataset *hr_example_rows_with(const char *pattern, const hr_example_rows_opts *opts);
#define hr_example_rows(...)                                                                                           \
    HR_CALL1_(hr_example_rows_with, hr_example_rows_opts, __VA_ARGS__, .struct_size = sizeof(hr_example_rows_opts))

/* ---- sources as the functions of interleave and flat_map ---- */

HR_API hr_dataset *hr_tfrecord_fn(const hr_element *element, void *user); /* user: const hr_tfrecord_opts *, or NULL */
HR_API hr_dataset *hr_csv_fn(const hr_element *element, void *user);      /* user: const hr_csv_opts * */
HR_API hr_dataset *hr_jsonl_fn(const hr_element *element, void *user);    /* user: const hr_jsonl_opts * */
HR_API hr_dataset *hr_text_lines_fn(const hr_element *element,
                                    void *user); /* user: const hr_text_lines_opts *, or NULL */
HR_API hr_dataset *hr_example_rows_fn(const hr_element *element,
                                      void *user); /* user: const hr_example_rows_opts *, or NULL */

/* ---- elements that a function makes from nothing ---- */

/* Makes element `number`: HR_OK; HR_END: there is none. `user`: the result of .open, or the caller's. */
typedef hr_status hr_generator_fn(int64_t number, hr_builder *out, hr_call *call, void *user);

/* Called for element 0, 1, ... by one thread at a time. After a restore it starts again from element 0, and the
 * elements before the saved position are dropped, so it should make the same elements each time. .by_number, or
 * .save and .load, avoid this. */
typedef struct hr_from_generator_opts {
    size_t struct_size;
    const hr_schema *output; /* required: the components of its elements. Copied */
    const int64_t
        *count;       /* HR_I64(1000): the number of elements; negative: infinite; default: until it returns HR_END */
    bool by_number;   /* an element is a function of its number: it may be called for any number, in any order */
    bool thread_safe; /* as .by_number, and by several threads at once; needs .count */
    void *(*open)(void *user); /* a generator for each iterator and epoch; NULL from it is an error. Default: `user` */
    void (*close)(void *generator);
    void (*save)(const void *generator, hr_token_writer *to); /* with hr_write_i64; the two go together */
    hr_status (*load)(void *generator, hr_token_reader *from, hr_error *err);
    uint64_t seed;
    void (*user_free)(void *user);
} hr_from_generator_opts;
HR_API hr_dataset *hr_from_generator_with(hr_generator_fn *fn, void *user, const hr_from_generator_opts *opts);
#define hr_from_generator(...)                                                                                         \
    HR_CALL2_(hr_from_generator_with, hr_from_generator_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_from_generator_opts))

#ifdef __cplusplus
}
#endif
#endif
