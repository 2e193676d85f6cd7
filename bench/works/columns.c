/* Records in memory to ids: 13 bucketized, 26 hashed and 2 crossed columns, parsing on the clock. */
#include "bench/parse.h"
#include <headrace/feature_columns.h>
#include <stdio.h>

enum { CALLS = 40, RECORDS = CALLS * BATCH, COLUMNS = 41, BUCKETS = 10000 };

typedef struct memory {
    hr_feature_column *column[COLUMNS];
    hr_view *record;
    char *bytes;
} memory;

static const float boundary[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

static hr_feature_column *bucketized(int i)
{
    char key[8];
    snprintf(key, sizeof key, "I%d", i % 100);
    hr_feature_column *number =
        hr_numeric_column(key, .dtype = HR_INT64, .default_value = HR_F32(0), .shape = HR_SHAPE(1));
    return hr_bucketized_column(number, boundary, sizeof boundary / sizeof *boundary);
}

static void make_columns(memory *m)
{
    int n = 0;
    char key[8];
    for (int i = 1; i <= 13; i++) m->column[n++] = bucketized(i);
    for (int c = 1; c <= 26; c++) {
        snprintf(key, sizeof key, "C%d", c % 100);
        m->column[n++] = hr_categorical_column_with_hash_bucket(key, BUCKETS);
    }
    m->column[n++] = hr_crossed_column(HR_CROSS({.key = "C1"}, {.key = "C2"}), BUCKETS);
    m->column[n++] =
        hr_crossed_column(HR_CROSS({.column = hr_feature_column_ref(m->column[0])}, {.key = "C3"}), BUCKETS);
}

static void release(void *user)
{
    memory *m = user;
    for (int i = 0; i < COLUMNS; i++) hr_feature_column_unref(m->column[i]);
    hr_free(m->record);
    hr_free(m->bytes);
    hr_free(m);
}

static void *prepare(const char *folder, hr_error *err)
{
    memory *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    make_columns(m);
    m->record = hr_calloc(RECORDS, sizeof *m->record);
    if (m->record && bench_records(folder, m->record, RECORDS, &m->bytes, err) == HR_OK) return m;
    release(m);
    return NULL;
}

/* The dataset is made before the clock starts; its first batch is asked for after that. */
static hr_status run_columns(pass *p, void *user)
{
    memory *m = user;
    hr_tensor records = hr_tensor_of(HR_STRING, HR_SHAPE(RECORDS), m->record);
    hr_column_list list = {m->column, COLUMNS};
    hr_parse_spec *spec;
    HR_TRY(hr_make_parse_example_spec(list, &spec, &p->error));
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(&records, NULL, 1), BATCH);
    ds = hr_transform_features(hr_parse_example(ds, spec), list);
    hr_parse_spec_free(spec);
    hr_iterator *it = bench_iterate(ds, p);
    const hr_element *e;
    hr_status st;
    volatile int64_t sum = 0;
    double start = bench_seconds();
    while ((st = hr_next(it, &e)) == HR_OK) {
        for (int c = 0; c < COLUMNS; c++) sum += ((const int64_t *)hr_get_at(e, c)->data)[0];
        p->rows += BATCH;
    }
    p->seconds = bench_seconds() - start;
    if (st != HR_END) p->error = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

const work work_columns[] = {
    {.name = "columns", .run = run_columns, .prepare = prepare, .release = release},
    {0},
};
