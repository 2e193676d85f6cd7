/* Headrace, pipelines: TensorFlow's functions that build a whole pipeline, from the files to the batches. Part of
 * data.h. */
#ifndef HR_MAKE_DATASETS_H
#define HR_MAKE_DATASETS_H

#include <headrace/io.h>
#include <headrace/parsing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options of the whole pipelines below. */
typedef struct hr_make_opts {
    size_t struct_size;
    const char *label;              /* the component that is the label */
    int64_t num_epochs;             /* default: no end, and so no short batch */
    bool no_shuffle;                /* default: files and rows are shuffled */
    int64_t shuffle_buffer_size;    /* default 10000 rows */
    uint64_t seed;                  /* of the shuffles of files and of rows; default: the pipeline's seed */
    int64_t num_parallel_reads;     /* how many files are interleaved, row by row; default 1 */
    bool drop_final_batch;          /* default: the last batch may be short */
    int64_t num_rows_for_inference; /* of hr_make_csv_dataset without columns; default 100; -1: all rows */
    bool sloppy;                    /* does not wait for a slow file: .unordered of hr_interleave */
    /* hr_make_csv_dataset without columns: only these columns of the header, in the header's order. Default: all. */
    const char *const *select_columns;
    int select_count;
} hr_make_opts;

/* TensorFlow's make_csv_dataset: list_files, interleave, shuffle, repeat, batch and prefetch over rows of CSV files.
 *
 * If `csv` has columns, the components are these, in their order; they are found in a file as hr_csv does. Otherwise
 * (`csv` may be NULL) the components are the columns of the first file's header. Each gets the narrowest type of int32,
 * int64, float32, float64 and string that holds its first rows. As in TensorFlow, "inf", "nan" and hexadecimal numbers
 * are strings, and "-inf" is a float. An empty field is 0 or "". The other files must have the same columns, in any
 * order (kind csv.other_columns). With tf_compat, in `csv` or set by a later operator, every file must have a header
 * with the columns in the same order; else the first hr_next fails.
 *
 * In place of TensorFlow's ignore_errors, set .policy of `csv`. */
HR_API hr_dataset *hr_make_csv_dataset_with(const char *pattern, int64_t batch_size, const hr_csv_opts *csv,
                                            const hr_make_opts *opts);
#define hr_make_csv_dataset(...)                                                                                       \
    HR_CALL3_(hr_make_csv_dataset_with, hr_make_opts, __VA_ARGS__, .struct_size = sizeof(hr_make_opts))

/* TensorFlow's make_batched_features_dataset: the same pipeline over TFRecord files of tf.Examples, whose batches are
 * parsed by `spec` (copied). */
HR_API hr_dataset *hr_make_batched_features_dataset_with(const char *pattern, int64_t batch_size,
                                                         const hr_parse_spec *spec, const hr_make_opts *opts);
#define hr_make_batched_features_dataset(...)                                                                          \
    HR_CALL3_(hr_make_batched_features_dataset_with, hr_make_opts, __VA_ARGS__, .struct_size = sizeof(hr_make_opts))

#ifdef __cplusplus
}
#endif
#endif
