/* The columns of the works that make ids and dense rows, and the pass that all of these works are. */
#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include "bench/parse.h"
#include <headrace/feature_columns.h>

enum { BUCKETS = 10000, CRITEO_COLUMNS = 39, CALLS = 40, RECORDS = CALLS * BATCH, MAX_COLUMNS = 64 };

/* Columns, those of them that are also wanted side by side in their dense form, and the records they are made of. */
typedef struct bench_columns {
    hr_feature_column *column[MAX_COLUMNS];
    int count;
    const hr_feature_column *dense[MAX_COLUMNS]; /* in the order of their names */
    int dense_count;
    hr_tensor table[MAX_COLUMNS]; /* of dense embeddings: as variables lie in memory */
    const float *rows[MAX_COLUMNS];
    float *matrix; /* BATCH rows */
    hr_view *record;
    char *bytes;
} bench_columns;

/* Takes the columns. Those from `first_dense` on get a dense form. */
void bench_add_column(bench_columns *c, hr_feature_column *column);
hr_status bench_columns_open(bench_columns *c, const char *folder, const char *names, int first_dense, hr_error *err);
void bench_columns_close(bench_columns *c);
/* All records through parsing and the columns, in batches, the dense form of each batch made. The dataset is described
 * before the clock starts; its first batch is asked for after that. */
hr_status bench_columns_pass(pass *p, bench_columns *c);

static inline hr_column_list bench_column_list(const bench_columns *c) { return (hr_column_list){c->column, c->count}; }

/* The Criteo-like rows' 13 integers, bucketized, and 26 categories, hashed; these with `dimension` > 0 embedded. */
void bench_add_criteo(bench_columns *c, int dimension);

#endif
