/* See columns.h. */
#include "bench/columns.h"
#include <stdio.h>

static const float boundary[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

static hr_feature_column *bucketized(int i)
{
    char key[8];
    snprintf(key, sizeof key, "I%d", i % 100);
    hr_feature_column *number =
        hr_numeric_column(key, .dtype = HR_INT64, .default_value = HR_F32(0), .shape = HR_SHAPE(1));
    return hr_bucketized_column(number, boundary, sizeof boundary / sizeof *boundary);
}

hr_column_list bench_columns(hr_feature_column **column, bool crosses)
{
    int n = 0;
    char key[8];
    for (int i = 1; i <= 13; i++) column[n++] = bucketized(i);
    for (int c = 1; c <= 26; c++) {
        snprintf(key, sizeof key, "C%d", c % 100);
        column[n++] = hr_categorical_column_with_hash_bucket(key, BUCKETS);
    }
    if (!crosses) return (hr_column_list){column, n};
    column[n++] = hr_crossed_column(HR_CROSS({.key = "C1"}, {.key = "C2"}), BUCKETS);
    column[n++] = hr_crossed_column(HR_CROSS({.column = hr_feature_column_ref(column[0])}, {.key = "C3"}), BUCKETS);
    return (hr_column_list){column, n};
}

void bench_columns_drop(hr_column_list list)
{
    for (int i = 0; i < list.count; i++) hr_feature_column_unref(list.column[i]);
}
