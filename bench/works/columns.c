/* Records in memory to ids, parsing on the clock: 13 bucketized, 26 hashed and 2 crossed columns; and without the crosses
 * on to the matrix that a network begins with. */
#include "bench/columns.h"

enum { CALLS = 40, RECORDS = CALLS * BATCH };

/* The matrix: columns come in the order of their names, so C1 .. C26 as embeddings, then I1 .. I13 as one-hots. */
enum { EMBEDDED = 26, DIMENSION = 16, BINS = 12, ONE_HOT = SINGLE_COLUMNS - EMBEDDED };
enum { TABLE = BUCKETS * DIMENSION, WIDTH = EMBEDDED * DIMENSION + ONE_HOT * BINS };

typedef struct memory {
    hr_feature_column *column[COLUMNS];
    hr_column_list list;
    hr_view *record;
    char *bytes;
    hr_tensor tables; /* of columns_embed: as variables lie in memory */
    float *matrix;
} memory;

static void release(void *user)
{
    memory *m = user;
    bench_columns_drop(m->list);
    hr_free(m->record);
    hr_free(m->bytes);
    hr_tensor_clear(&m->tables);
    hr_free(m->matrix);
    hr_free(m);
}

static memory *prepare(const char *folder, bool crosses, hr_error *err)
{
    memory *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->list = bench_columns(m->column, crosses);
    m->record = hr_calloc(RECORDS, sizeof *m->record);
    if (m->record && bench_records(folder, m->record, RECORDS, &m->bytes, err) == HR_OK) return m;
    release(m);
    return NULL;
}

static void *prepare_ids(const char *folder, hr_error *err) { return prepare(folder, true, err); }

static void *prepare_embed(const char *folder, hr_error *err)
{
    memory *m = prepare(folder, false, err);
    if (!m) return NULL;
    m->matrix = hr_calloc((size_t)BATCH * WIDTH, sizeof *m->matrix);
    if (m->matrix && hr_tensor_new(&m->tables, HR_FLOAT, HR_SHAPE(EMBEDDED * TABLE), err) == HR_OK) {
        float *tables = m->tables.data;
        for (int i = 0; i < EMBEDDED * TABLE; i++) tables[i] = (float)(i % TABLE);
        return m;
    }
    release(m);
    return NULL;
}

/* What is done with a batch. Gives one number of it. */
typedef hr_status consume(const memory *m, const hr_element *e, int64_t *seen, hr_error *err);

static hr_status read_ids(const memory *m, const hr_element *e, int64_t *seen, hr_error *err)
{
    (void)m, (void)err;
    for (int c = 0; c < COLUMNS; c++) *seen += ((const int64_t *)hr_get_at(e, c)->data)[0];
    return HR_OK;
}

static hr_status embed(const memory *m, const hr_element *e, int64_t *seen, hr_error *err)
{
    float *out = m->matrix;
    for (int c = 0; c < EMBEDDED; c++, out += DIMENSION) {
        const hr_tensor *ids = hr_get_at(e, c);
        const float *table = (const float *)m->tables.data + (size_t)c * TABLE;
        const hr_lookup lookup = {table, BUCKETS, DIMENSION, .stride = WIDTH};
        HR_TRY(hr_combine_rows(&lookup, ids->data, NULL, ids->splits[0], BATCH, out, err));
    }
    for (int c = EMBEDDED; c < SINGLE_COLUMNS; c++, out += BINS) {
        const hr_tensor *ids = hr_get_at(e, c);
        hr_count_ids(ids->data, NULL, ids->splits[0], BATCH, BINS, out, WIDTH);
    }
    *seen += (int64_t)m->matrix[0];
    return HR_OK;
}

/* The dataset is made before the clock starts; its first batch is asked for after that. */
static hr_status run(pass *p, const memory *m, consume *use)
{
    hr_tensor records = hr_tensor_of(HR_STRING, HR_SHAPE(RECORDS), m->record);
    hr_parse_spec *spec;
    HR_TRY(hr_make_parse_example_spec(m->list, &spec, &p->error));
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(&records, NULL, 1), BATCH);
    ds = hr_transform_features(hr_parse_example(ds, spec), m->list);
    hr_parse_spec_free(spec);
    hr_iterator *it = bench_iterate(ds, p);
    const hr_element *e;
    hr_status st = HR_OK, used = HR_OK;
    int64_t seen = 0; /* of what was made, so that it is */
    double start = bench_seconds();
    while (used == HR_OK && (st = hr_next(it, &e)) == HR_OK) {
        used = use(m, e, &seen, &p->error);
        p->rows += BATCH;
    }
    p->seconds = bench_seconds() - start;
    if (used == HR_OK && st != HR_END) p->error = *hr_iterator_error(it);
    hr_iterator_free(it);
    if (used != HR_OK) return used;
    return st == HR_END ? HR_OK : st;
}

static hr_status run_columns(pass *p, void *m) { return run(p, m, read_ids); }
static hr_status run_embed(pass *p, void *m) { return run(p, m, embed); }

const work work_columns[] = {
    {.name = "columns", .run = run_columns, .prepare = prepare_ids, .release = release},
    {.name = "columns_embed", .run = run_embed, .prepare = prepare_embed, .release = release, .also_threads = 2},
    {0},
};
