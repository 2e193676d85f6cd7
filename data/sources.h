/* Headrace, pipelines: where elements come from. Part of data.h. */
#ifndef HR_SOURCES_H
#define HR_SOURCES_H

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
    bool
        extended; /* hr_match_files_extended: ranges, braces, **, exclusion, manifests. Default: TensorFlow's patterns */
} hr_list_files_opts;
HR_API hr_dataset *hr_list_files_with(const char *pattern, const hr_list_files_opts *opts);
#define hr_list_files(...)                                                                                             \
    HR_CALL1_(hr_list_files_with, hr_list_files_opts, __VA_ARGS__, .struct_size = sizeof(hr_list_files_opts))

/* The records of TFRecord files, one file after another: string "value". `pattern` as in hr_match_files, but several
 * patterns keep their order, and a name without special characters is missed (HR_NOT_FOUND) at its turn. */
typedef struct hr_tfrecord_opts {
    size_t struct_size;
    hr_compression compression; /* default: by magic bytes and file name */
    size_t max_record_bytes;    /* a longer record is refused before memory is asked for; default 256 MiB */
    hr_checks checks;
    hr_policy policy; /* of damaged records; what is passed over is counted in hr_iterator_report */
    /* A range of the records of all files, as one list, damaged ones counted: default all. Found by the files' indexes,
     * which are made in each epoch anew where there is no valid FILE.hridx. HR_OUT_OF_RANGE: there are not so many. */
    int64_t first;
    const int64_t *count; /* HR_I64(1000); default: to the end */
} hr_tfrecord_opts;
HR_API hr_dataset *hr_tfrecord_with(const char *pattern, const hr_tfrecord_opts *opts);
#define hr_tfrecord(...)                                                                                               \
    HR_CALL1_(hr_tfrecord_with, hr_tfrecord_opts, __VA_ARGS__, .struct_size = sizeof(hr_tfrecord_opts))

/* What becomes of records that do not go round. */
typedef enum hr_uneven {
    HR_UNEVEN_ERROR, /* HR_FAILED_PRECONDITION, "sharded_records.uneven" */
    HR_UNEVEN_DROP,  /* the last ones, fewer than there are shards, are read by nobody */
    HR_UNEVEN_PAD,   /* as few as are missing are read twice, from the first one on */
} hr_uneven;

/* All records of TFRecord files, plain or of LZ4 or ZSTD frames, in one random order over all of them: string "value".
 * Keeps no buffer: any record may come next, and a saved state is one number. They are found by the index of each (8
 * bytes of memory a record): FILE.hridx where that is valid and has each, else by a pass over the file when it is
 * opened. Of a file of frames each unit decodes those that its records lie in. Every plain file stays open. `pattern`
 * as in hr_tfrecord. Of several shards each gives one record of a round of that order; what does not go round is
 * .uneven's at the end of each epoch. A state is one shard's; another number of shards goes on after what all of them
 * have had together, by .first. */
typedef struct hr_shuffled_records_opts {
    size_t struct_size;
    uint64_t seed;             /* default: the pipeline's; with shards all need the same */
    bool same_each_epoch;      /* default: a new order every epoch */
    bool keep_index;           /* writes FILE.hridx where an index had to be made */
    int64_t num_shards, index; /* default 1, 0 */
    hr_uneven uneven;
    int64_t first; /* begins after so many records of the order, those of all shards */
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
    hr_policy policy;           /* as of hr_tfrecord; a record that it leaves out is missing in this rank's share */
    bool keep_index;            /* writes FILE.hridx where an index had to be made */
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
    int64_t header_bytes, footer_bytes; /* of each file, passed over */
    hr_compression compression;         /* default: by magic bytes and file name; they count inflated bytes */
} hr_fixed_length_records_opts;
HR_API hr_dataset *hr_fixed_length_records_with(const char *pattern, int64_t record_bytes,
                                                const hr_fixed_length_records_opts *opts);
#define hr_fixed_length_records(...)                                                                                   \
    HR_CALL2_(hr_fixed_length_records_with, hr_fixed_length_records_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_fixed_length_records_opts))

/* The items of IDX files (MNIST's format): "value" of uint8, int8, int16, int32, float32 or float64, shaped as the
 * first file says, which is looked at when the dataset is made, so that it can be no pipe. Images and their labels:
 * hr_zip of two. */
typedef struct hr_idx_opts {
    size_t struct_size;
    hr_compression compression; /* default: by magic bytes and file name */
} hr_idx_opts;
HR_API hr_dataset *hr_idx_with(const char *pattern, const hr_idx_opts *opts);
#define hr_idx(...) HR_CALL1_(hr_idx_with, hr_idx_opts, __VA_ARGS__, .struct_size = sizeof(hr_idx_opts))

/* Rows of CSV files, one component a selected column: see hr_csv_opts in io.h. `pattern` as in hr_list_files. */
HR_API hr_dataset *hr_csv_with(const char *pattern, const hr_csv_opts *opts);
#define hr_csv(...) HR_CALL1_(hr_csv_with, hr_csv_opts, __VA_ARGS__, .struct_size = sizeof(hr_csv_opts))

/* ---- sources as the functions of interleave and flat_map ---- */

HR_API hr_dataset *hr_tfrecord_fn(const hr_element *element, void *user); /* user: const hr_tfrecord_opts *, or NULL */
HR_API hr_dataset *hr_csv_fn(const hr_element *element, void *user);      /* user: const hr_csv_opts * */
HR_API hr_dataset *hr_text_lines_fn(const hr_element *element,
                                    void *user); /* user: const hr_text_lines_opts *, or NULL */

/* ---- elements that a function makes from nothing ---- */

/* Makes element `number`: HR_OK; HR_END: there is none. `user`: what .open gave, or the caller's. */
typedef hr_status hr_generator_fn(int64_t number, hr_builder *out, hr_call *call, void *user);

/* Called for element 0, 1, ... by one thread at a time. After a restore of the pipeline it begins anew, and what was
 * given before the save is made again and dropped, so it should give the same again: .by_number and .load save that. */
typedef struct hr_from_generator_opts {
    size_t struct_size;
    const hr_schema *output;   /* required: what it makes. Copied */
    const int64_t *count;      /* HR_I64(1000): asks for so many, negative: for ever; default: until it says HR_END */
    bool by_number;            /* any element may be asked for, in any order: a function of its number */
    bool thread_safe;          /* the same, by several threads at once: needs .count */
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
