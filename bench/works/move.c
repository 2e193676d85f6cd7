/* What one operator costs a row: 10,000,000 int64 through it, less the same range alone. Those that move whole units cost
 * less than these differ by, so the rows go through many of them. */
#include "bench/bench.h"

enum { ROWS = 10000000, PARTS = 4, TURNS = 3, UNIT = 512, MANY = 32 };

static hr_status sum_all(hr_dataset *ds, pass *p)
{
    hr_iterator *it = bench_iterate(ds, p);
    const hr_element *e;
    hr_status st;
    int64_t sum = 0;
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_tensor *t = hr_get_at(e, 0);
        for (int64_t i = 0; i < t->count; i++) sum += ((const int64_t *)t->data)[i];
    }
    const int64_t all = (int64_t)ROWS * (ROWS - 1) / 2;
    if (st != HR_END)
        p->error = *hr_iterator_error(it);
    else if (sum != all)
        st = hr_fail(&p->error, HR_INTERNAL, "bench.sum", "the sum is %lld, not %lld", (long long)sum, (long long)all);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static hr_status add_best(hr_dataset *ds, pass *p, double *best)
{
    const double start = bench_seconds();
    HR_TRY(sum_all(ds, p));
    const double took = bench_seconds() - start;
    if (took < *best) *best = took;
    return HR_OK;
}

/* The consumer takes batches in both cases, so that what is left are the operators: the best of some turns less the best
 * of the range alone. */
static hr_status timed(hr_dataset *ds, int operators, pass *p)
{
    double with = 1e9, alone = 1e9;
    hr_dataset *over = hr_batch(ds, 512), *range = hr_batch(hr_range(ROWS), 512);
    hr_status st = HR_OK;
    for (int i = 0; i < TURNS && st == HR_OK; i++) {
        st = add_best(hr_dataset_ref(over), p, &with);
        if (st == HR_OK) st = add_best(hr_dataset_ref(range), p, &alone);
    }
    hr_dataset_unref(over);
    hr_dataset_unref(range);
    p->rows = ROWS;
    p->seconds = with > alone ? (with - alone) / operators : 1e-12;
    return st;
}

static hr_status run_shuffle(pass *p, void *memory)
{
    (void)memory;
    return timed(hr_shuffle(hr_range(ROWS), 10000, .seed = 7), 1, p);
}

static hr_status run_take(pass *p, void *memory)
{
    (void)memory;
    hr_dataset *ds = hr_range(ROWS);
    for (int i = 0; i < MANY; i++) ds = hr_take(ds, ROWS);
    return timed(ds, MANY, p);
}

static hr_status run_skip(pass *p, void *memory)
{
    (void)memory;
    hr_dataset *ds = hr_range(ROWS, .start = -MANY);
    for (int i = 0; i < MANY; i++) ds = hr_skip(ds, 1);
    return timed(ds, MANY, p);
}

static hr_status run_shard(pass *p, void *memory)
{
    (void)memory;
    hr_dataset *ds = hr_range(ROWS);
    for (int i = 0; i < MANY; i++) ds = hr_shard(ds, 1, 0);
    return timed(ds, MANY, p);
}

static hr_dataset *part(const hr_element *element, void *user)
{
    (void)user;
    int64_t i = *(const int64_t *)hr_get_at(element, 0)->data, size = ROWS / PARTS;
    return hr_range((i + 1) * size, .start = i * size);
}

static hr_status run_interleave(pass *p, void *memory)
{
    (void)memory;
    return timed(hr_interleave(hr_range(PARTS), part, NULL, .cycle_length = PARTS), 1, p);
}

/* Batch itself: a second level of batches against one. 500 divides the rows: batches of batches are of one size. */
static hr_status run_batch(pass *p, void *memory)
{
    (void)memory;
    return timed(hr_batch(hr_range(ROWS), 500), 1, p);
}

const work work_move[] = {
    {.name = "move_shuffle", .run = run_shuffle, .unit = UNIT},
    {.name = "move_take", .run = run_take, .unit = UNIT},
    {.name = "move_skip", .run = run_skip, .unit = UNIT},
    {.name = "move_shard", .run = run_shard, .unit = UNIT},
    {.name = "move_interleave", .run = run_interleave, .unit = UNIT},
    {.name = "move_batch", .run = run_batch, .unit = UNIT},
    {0},
};
