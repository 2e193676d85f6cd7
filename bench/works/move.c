/* What one operator costs a row: 10,000,000 int64 through it, less the same range alone. */
#include "bench/bench.h"

enum { ROWS = 10000000, PARTS = 4 };

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

/* The consumer takes batches in both cases, so that what is left is the operator. */
static hr_status timed(hr_dataset *ds, pass *p)
{
    double start = bench_seconds();
    HR_TRY(sum_all(hr_batch(ds, 512), p));
    double with = bench_seconds() - start;
    start = bench_seconds();
    HR_TRY(sum_all(hr_batch(hr_range(ROWS), 512), p));
    double alone = bench_seconds() - start;
    p->rows = ROWS;
    p->seconds = with > alone ? with - alone : 1e-9;
    return HR_OK;
}

static hr_status run_shuffle(pass *p, void *memory)
{
    (void)memory;
    return timed(hr_shuffle(hr_range(ROWS), 10000, .seed = 7), p);
}

static hr_status run_take(pass *p, void *memory)
{
    (void)memory;
    return timed(hr_take(hr_range(ROWS), ROWS), p);
}

static hr_status run_skip(pass *p, void *memory)
{
    (void)memory;
    return timed(hr_skip(hr_range(ROWS, .start = -1), 1), p);
}

static hr_status run_shard(pass *p, void *memory)
{
    (void)memory;
    return timed(hr_shard(hr_range(ROWS), 1, 0), p);
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
    return timed(hr_interleave(hr_range(PARTS), part, NULL, .cycle_length = PARTS), p);
}

/* Batch itself: a second level of batches against one. 500 divides the rows: batches of batches are of one size. */
static hr_status run_batch(pass *p, void *memory)
{
    (void)memory;
    return timed(hr_batch(hr_range(ROWS), 500), p);
}

const work work_move[] = {
    {.name = "move_shuffle", .run = run_shuffle},
    {.name = "move_take", .run = run_take},
    {.name = "move_skip", .run = run_skip},
    {.name = "move_shard", .run = run_shard},
    {.name = "move_interleave", .run = run_interleave},
    {.name = "move_batch", .run = run_batch},
    {0},
};
