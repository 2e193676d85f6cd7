/* The columns of the works that make ids. */
#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include "bench/parse.h"
#include <headrace/feature_columns.h>

enum { SINGLE_COLUMNS = 39, CROSSED_COLUMNS = 2, COLUMNS = SINGLE_COLUMNS + CROSSED_COLUMNS, BUCKETS = 10000 };

/* 13 bucketized and 26 hashed ones; with .crosses also C1 x C2 and bucket(I1) x C3. Gives them. */
hr_column_list bench_columns(hr_feature_column **column, bool crosses);
void bench_columns_drop(hr_column_list list);

#endif
