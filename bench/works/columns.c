/* Records in memory to ids: 13 bucketized, 26 hashed and 2 crossed columns, parsing on the clock. */
#include "bench/columns.h"

enum { CALLS = 40, RECORDS = CALLS * BATCH };

typedef struct memory {
    hr_feature_column *column[COLUMNS];
    hr_column_list list;
    hr_view *record;
    char *bytes;
} memory;

static void release(void *user)
{
    memory *m = user;
    bench_columns_drop(m->list);
    hr_free(m->record);
    hr_free(m->bytes);
    hr_free(m);
}

static void *prepare(const char *folder, hr_error *err)
{
    memory *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->list = bench_columns(m->column, true);
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
    hr_parse_spec *spec;
    HR_TRY(hr_make_parse_example_spec(m->list, &spec, &p->error));
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(&records, NULL, 1), BATCH);
    ds = hr_transform_features(hr_parse_example(ds, spec), m->list);
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
