/* Features of many values: ten ids a row on average, of a table that no cache holds, combined into one row each; and
 * the same of a hand-written loop. The ids of a linear model's column, too. */
#include "bench/bench.h"
#include <headrace/feature_columns.h>
#include <string.h>

enum { ROWS = 512, CALLS = 200, MAX = 19, BUCKETS = 1000000, DIMENSION = 16, LINEAR_BUCKETS = 10000000 };

typedef struct memory {
    hr_tensor table; /* as variables lie in memory */
    int64_t *ids;    /* of all calls */
    float *weights, *out;
    int32_t *splits; /* ROWS * CALLS + 1 */
    int64_t buckets, dimension;
} memory;

static void release(void *user)
{
    memory *m = user;
    hr_tensor_clear(&m->table);
    hr_free(m->ids);
    hr_free(m->weights);
    hr_free(m->splits);
    hr_free(m->out);
    hr_free(m);
}

static void fill(memory *m)
{
    float *table = m->table.data;
    for (int64_t i = 0; i < m->table.count; i++) table[i] = (float)(i % 1000);
    for (int r = 0; r < ROWS * CALLS; r++)
        m->splits[r + 1] = m->splits[r] + 1 + (int32_t)hr_random_below(3, (uint64_t)r, MAX);
    for (int64_t i = 0; i < m->splits[ROWS * CALLS]; i++) {
        m->ids[i] = hr_random_below(5, (uint64_t)i, m->buckets);
        m->weights[i] = 1 + (float)(i % 7);
    }
}

static void *prepare(int64_t buckets, int64_t dimension, hr_error *err)
{
    enum { VALUES = ROWS * CALLS * MAX };
    memory *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->buckets = buckets;
    m->dimension = dimension;
    m->ids = hr_calloc(VALUES, sizeof *m->ids);
    m->weights = hr_calloc(VALUES, sizeof *m->weights);
    m->splits = hr_calloc(ROWS * CALLS + 1, sizeof *m->splits);
    m->out = hr_calloc(ROWS, (size_t)dimension * sizeof *m->out);
    if (m->ids && m->weights && m->splits && m->out &&
        hr_tensor_new(&m->table, HR_FLOAT, HR_SHAPE(buckets, dimension), err) == HR_OK) {
        fill(m);
        return m;
    }
    release(m);
    return NULL;
}

static void *prepare_rows(const char *folder, hr_error *err)
{
    (void)folder;
    return prepare(BUCKETS, DIMENSION, err);
}

static void *prepare_linear(const char *folder, hr_error *err)
{
    (void)folder;
    return prepare(LINEAR_BUCKETS, 1, err);
}

static hr_status combine(pass *p, const memory *m, hr_combiner combiner, const float *weights)
{
    const hr_lookup lookup = {m->table.data, m->buckets, m->dimension, .combiner = combiner};
    for (int c = 0; c < CALLS; c++)
        HR_TRY(hr_combine_rows(&lookup, m->ids, weights, m->splits + c * ROWS, ROWS, m->out, &p->error));
    p->rows = ROWS * CALLS;
    p->bytes = (double)m->splits[ROWS * CALLS] * (double)m->dimension * sizeof(float);
    return HR_OK;
}

static hr_status run_mean(pass *p, void *memory) { return combine(p, memory, HR_MEAN, NULL); }

static hr_status run_weighted(pass *p, void *user)
{
    const memory *m = user;
    return combine(p, m, HR_MEAN, m->weights);
}

static hr_status run_sum(pass *p, void *memory) { return combine(p, memory, HR_SUM, NULL); }

/* Sums in the order of the ids, each row asked for some ids ahead. */
static void sum_rows(const memory *m, const int32_t *splits)
{
    enum { AHEAD = 32 };
    const float *table = m->table.data;
    const int32_t end = splits[ROWS];
    for (int r = 0; r < ROWS; r++) {
        float sum[DIMENSION] = {0};
        for (int32_t i = splits[r]; i < splits[r + 1]; i++) {
            const float *row = table + m->ids[i] * DIMENSION;
            if (i + AHEAD < end) __builtin_prefetch(table + m->ids[i + AHEAD] * DIMENSION);
            for (int d = 0; d < DIMENSION; d++) sum[d] += row[d];
        }
        memcpy(m->out + r * DIMENSION, sum, sizeof sum);
    }
}

static hr_status run_bare(pass *p, void *user)
{
    const memory *m = user;
    for (int c = 0; c < CALLS; c++) sum_rows(m, m->splits + c * ROWS);
    p->rows = ROWS * CALLS;
    p->bytes = (double)m->splits[ROWS * CALLS] * DIMENSION * sizeof(float);
    return HR_OK;
}

const work work_bags[] = {
    {.name = "bag_mean", .run = run_mean, .prepare = prepare_rows, .release = release},
    {.name = "bag_weighted", .run = run_weighted, .prepare = prepare_rows, .release = release},
    {.name = "bag_linear", .run = run_sum, .prepare = prepare_linear, .release = release},
    {.name = "bag_bare", .run = run_bare, .prepare = prepare_rows, .release = release},
    {0},
};
