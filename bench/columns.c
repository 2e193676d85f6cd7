/* See columns.h. */
#include "bench/columns.h"
#include <stdio.h>

/* ---- Criteo-like columns ---- */

static hr_feature_column *bucketized(int i)
{
    static const float boundary[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
    char key[8];
    snprintf(key, sizeof key, "I%d", i % 100);
    hr_feature_column *number =
        hr_numeric_column(key, .dtype = HR_INT64, .default_value = HR_F32(0), .shape = HR_SHAPE(1));
    return hr_bucketized_column(number, boundary, sizeof boundary / sizeof *boundary);
}

static hr_feature_column *hashed(int i, int dimension)
{
    char key[8];
    snprintf(key, sizeof key, "C%d", i % 100);
    hr_feature_column *ids = hr_categorical_column_with_hash_bucket(key, BUCKETS);
    return dimension > 0 ? hr_embedding_column(ids, dimension) : ids;
}

void bench_add_criteo(bench_columns *c, int dimension)
{
    for (int i = 1; i <= 13; i++) bench_add_column(c, bucketized(i));
    for (int i = 1; i <= 26; i++) bench_add_column(c, hashed(i, dimension));
}

/* ---- columns and their dense forms ---- */

void bench_add_column(bench_columns *c, hr_feature_column *column) { c->column[c->count++] = column; }

static hr_status open_table(bench_columns *c, int i, hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(c->dense[i]);
    if (info->dense != HR_COLUMN_LOOKUP) return HR_OK;
    const int64_t size = info->num_buckets * info->width;
    HR_TRY(hr_tensor_new(&c->table[i], HR_FLOAT, HR_SHAPE(info->num_buckets, info->width), err));
    float *rows = c->table[i].data;
    for (int64_t k = 0; k < size; k++) rows[k] = (float)(k % 1000);
    c->rows[i] = rows;
    return HR_OK;
}

static hr_status open_dense(bench_columns *c, int first, hr_error *err)
{
    c->dense_count = c->count - first;
    if (c->dense_count < 1) return HR_OK;
    HR_TRY(hr_sort_columns((hr_column_list){c->column + first, c->dense_count}, HR_INPUT_LAYER, c->dense, err));
    for (int i = 0; i < c->dense_count; i++) HR_TRY(open_table(c, i, err));
    c->matrix = hr_calloc((size_t)(BATCH * hr_dense_width(c->dense, c->dense_count)), sizeof *c->matrix);
    return c->matrix ? HR_OK : hr_no_memory(err, "a matrix");
}

hr_status bench_columns_open(bench_columns *c, const char *folder, const char *names, int first_dense, hr_error *err)
{
    HR_TRY(open_dense(c, first_dense, err));
    c->record = hr_calloc(RECORDS, sizeof *c->record);
    if (!c->record) return hr_no_memory(err, "records");
    return bench_records(folder, names, c->record, RECORDS, &c->bytes, err);
}

void bench_columns_close(bench_columns *c)
{
    for (int i = 0; i < c->count; i++) hr_feature_column_unref(c->column[i]);
    for (int i = 0; i < c->dense_count; i++) hr_tensor_clear(&c->table[i]);
    hr_free(c->matrix);
    hr_free(c->record);
    hr_free(c->bytes);
}

/* ---- a pass ---- */

/* Gives one number of what was made, so that it is. */
static hr_status use_batch(const bench_columns *c, const hr_element *e, int64_t *seen, hr_error *err)
{
    const int components = hr_element_schema(e)->fields;
    for (int i = 0; i < components; i++) *seen += *(const unsigned char *)hr_get_at(e, i)->data;
    if (c->dense_count == 0) return HR_OK;
    HR_TRY(hr_dense_features(c->dense, c->dense_count, e, c->rows, c->matrix, err));
    *seen += (int64_t)c->matrix[0];
    return HR_OK;
}

static hr_status describe(const bench_columns *c, hr_dataset **out, hr_error *err)
{
    hr_tensor records = hr_tensor_of(HR_STRING, HR_SHAPE(RECORDS), c->record);
    hr_parse_spec *spec;
    HR_TRY(hr_make_parse_example_spec(bench_column_list(c), &spec, err));
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(&records, NULL, 1), BATCH);
    *out = hr_transform_features(hr_parse_example(ds, spec), bench_column_list(c));
    hr_parse_spec_free(spec);
    return HR_OK;
}

hr_status bench_columns_pass(pass *p, bench_columns *c)
{
    hr_dataset *ds;
    HR_TRY(describe(c, &ds, &p->error));
    hr_iterator *it = bench_iterate(ds, p);
    const hr_element *e;
    hr_status st = HR_OK, used = HR_OK;
    volatile int64_t sum = 0;
    int64_t seen = 0;
    const double start = bench_seconds();
    while (used == HR_OK && (st = hr_next(it, &e)) == HR_OK) {
        used = use_batch(c, e, &seen, &p->error);
        p->rows += BATCH;
    }
    p->seconds = bench_seconds() - start;
    sum += seen;
    (void)sum;
    if (used == HR_OK && st != HR_END) p->error = *hr_iterator_error(it);
    hr_iterator_free(it);
    if (used != HR_OK) return used;
    return st == HR_END ? HR_OK : st;
}
