/* Headrace, pipelines: TensorFlow's functions that make whole ones, from the files to the batches. Part of data.h. */
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
    int64_t num_epochs;             /* default: for ever, and then the last short batch is dropped */
    bool no_shuffle;                /* default: files and rows are shuffled */
    int64_t shuffle_buffer_size;    /* default 10000 rows */
    uint64_t seed;                  /* of both; default: the pipeline's */
    int64_t num_parallel_reads;     /* files that take turns, row by row; default 1 */
    bool drop_final_batch;          /* default: the last batch may be short, if there is a last one */
    int64_t num_rows_for_inference; /* make_csv_dataset without columns; default 100, -1: all */
    bool sloppy;                    /* a file that has nothing yet is skipped: .unordered of hr_interleave */
    /* make_csv_dataset without columns: only these of the header. They come in its order. */
    const char *const *select_columns;
    int select_count;
} hr_make_opts;

/* TensorFlow's make_csv_dataset: list_files, interleave, shuffle, repeat, batch, prefetch over rows of CSV. Without
 * columns in `csv` (which may be NULL) all of the first file's header, each of the narrowest type of int32, int64,
 * float32, float64, string that holds its first rows ("inf", "nan" and hexadecimal numbers are strings, "-inf" is a
 * float, as there), an empty field being 0 or ""; the other files must have the same columns, in any order
 * ("csv.other_columns"); in tf_compat, above it or in `csv`, in the same order and in every file, else the first
 * hr_next fails. Columns come as they are given, and are found by name. What TensorFlow's ignore_errors drops, a
 * .policy of `csv` does. */
HR_API hr_dataset *hr_make_csv_dataset_with(const char *pattern, int64_t batch_size, const hr_csv_opts *csv,
                                            const hr_make_opts *opts);
#define hr_make_csv_dataset(...)                                                                                       \
    HR_CALL3_(hr_make_csv_dataset_with, hr_make_opts, __VA_ARGS__, .struct_size = sizeof(hr_make_opts))

/* TensorFlow's make_batched_features_dataset, the same of TFRecords: each batch is parsed by `spec`. */
HR_API hr_dataset *hr_make_batched_features_dataset_with(const char *pattern, int64_t batch_size,
                                                         const hr_parse_spec *spec, const hr_make_opts *opts);
#define hr_make_batched_features_dataset(...)                                                                          \
    HR_CALL3_(hr_make_batched_features_dataset_with, hr_make_opts, __VA_ARGS__, .struct_size = sizeof(hr_make_opts))

#ifdef __cplusplus
}
#endif
#endif
