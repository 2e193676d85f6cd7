/* What the tests of columns share: one batch through a list of columns, without a pipeline; and rows that come out of
 * one. */
#ifndef COLUMNS_TESTING_H
#define COLUMNS_TESTING_H

#include "feature_columns/columns_internal.h"
#include "tests/testing.h"

#include <headrace/io.h>

typedef struct feature {
    const char *name;
    hr_column_values values;
} feature;

#define COUNT_(type, ...) ((int64_t)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)))
/* Dense features of one value a row. */
#define DENSE_(type, dt, ...)                                                                                          \
    {                                                                                                                  \
        .dtype = (dt), .rows = COUNT_(type, __VA_ARGS__), .values = (const type[]){__VA_ARGS__},                       \
        .count = COUNT_(type, __VA_ARGS__), .width = 1, .rank = 1                                                      \
    }
#define FLOATS(...) DENSE_(float, HR_FLOAT, __VA_ARGS__)
#define INTS(...) DENSE_(int64_t, HR_INT64, __VA_ARGS__)
#define SPLITS(...) ((const int32_t[]){__VA_ARGS__})

typedef struct outcome {
    hr_status status;
    hr_error err;       /* of the batch, or of the first row that failed */
    int64_t failed_row; /* -1: none */
    int failed_rows;
    hr__transformer *transformer;
    hr_column_values result[8]; /* in the order of the components' names */
    void *memory[256];
    int pieces;
    bool tf_compat;
} outcome;

/* Runs the columns; takes them. Free with outcome_free. */
void run_columns(outcome *o, hr_column_list columns, const feature *features, int count);
void outcome_free(outcome *o);

hr_view view(const char *text);
void assert_ids(const hr_column_values *v, int64_t count, const int64_t *ids, const int32_t *splits);
#define assert_result(v, splits, ...)                                                                                  \
    assert_ids((v), COUNT_(int64_t, __VA_ARGS__), (const int64_t[]){__VA_ARGS__}, splits)
/* The column failed with this kind. Takes it. */
void assert_refused(hr_feature_column *column, const char *kind);
/* A column that is made, or a dataset, carries an error of this kind whose text has `part`; `i` is its number in a
 * table. */
void assert_error_is(const hr_error *err, size_t i, const char *kind, const char *part);

/* ---- in a pipeline ---- */

typedef void add_row(hr_example *ex, int row);
/* A dataset of `rows` serialized records, each what `add` put into the example, which it takes. */
hr_dataset *example_records(hr_example *ex, int rows, add_row *add);

typedef void check_row(const hr_element *batch, int64_t at, int row);
/* Runs a dataset of batches, which it takes: `check` sees each row where it stands in its batch. All must come, in
 * order. */
void check_rows(hr_dataset *ds, int workers, int64_t unit_rows, int rows, check_row *check);

#endif
