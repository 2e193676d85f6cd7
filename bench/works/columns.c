/* Records in memory to ids, parsing on the clock: 13 bucketized, 26 hashed and 2 crossed columns; and without the
 * crosses on to the matrix that a network begins with. */
#include "bench/columns.h"

enum { DIMENSION = 16 };

static void release(void *user)
{
    bench_columns_close(user);
    hr_free(user);
}

static void *opened(bench_columns *c, const char *folder, int first_dense, hr_error *err)
{
    if (bench_columns_open(c, folder, CRITEO, first_dense, err) == HR_OK) return c;
    release(c);
    return NULL;
}

static void *prepare_ids(const char *folder, hr_error *err)
{
    bench_columns *c = hr_calloc(1, sizeof *c);
    if (!c) return NULL;
    bench_add_criteo(c, 0);
    hr_feature_column *first = hr_feature_column_ref(c->column[0]);
    bench_add_column(c, hr_crossed_column(HR_CROSS({.key = "C1"}, {.key = "C2"}), BUCKETS));
    bench_add_column(c, hr_crossed_column(HR_CROSS({.column = first}, {.key = "C3"}), BUCKETS));
    return opened(c, folder, c->count, err);
}

static void *prepare_embed(const char *folder, hr_error *err)
{
    bench_columns *c = hr_calloc(1, sizeof *c);
    if (!c) return NULL;
    bench_add_criteo(c, DIMENSION);
    return opened(c, folder, 0, err);
}

static hr_status run(pass *p, void *memory) { return bench_columns_pass(p, memory); }

const work work_columns[] = {
    {.name = "columns", .run = run, .prepare = prepare_ids, .release = release},
    {.name = "columns_embed", .run = run, .prepare = prepare_embed, .release = release, .also_threads = 2},
    {0},
};
