/* Whether a record costs the same in a short run and in a long one: the pipeline over 10^4, 10^5, 10^6 and 10^7
 * records, from opening to the last one, each the best of some runs. Time is the process's own: what else the machine
 * does would weigh more on the long ones. */
#include "bench/bench.h"
#include <time.h>

enum { LENGTHS = 4, BATCH = 512 };
static const struct {
    const char *name;
    int64_t records;
    int runs;
} lengths[LENGTHS] = {
    {"us_per_row_1e4", 10000, 20},
    {"us_per_row_1e5", 100000, 8},
    {"us_per_row_1e6", 1000000, 3},
    {"us_per_row_1e7", 10000000, 1},
};

static double own_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static hr_status run_once(int64_t records, pass *p)
{
    const double start = own_seconds();
    hr_dataset *ds = hr_take(hr_repeat(bench_pipeline(p->folder)), records / BATCH);
    hr_iterator *it = bench_iterate(ds, p);
    const hr_status st = bench_drain(it, p);
    hr_iterator_free(it);
    p->seconds = own_seconds() - start;
    return st;
}

static hr_status run_lengths(pass *p, void *memory)
{
    (void)memory;
    for (int i = 0; i < LENGTHS; i++) {
        double best = 0;
        for (int k = 0; k < lengths[i].runs; k++) {
            p->rows = 0;
            HR_TRY(run_once(lengths[i].records, p));
            const double us = p->seconds / (double)p->rows * 1e6;
            if (k == 0 || us < best) best = us;
        }
        add_extra(p, lengths[i].name, best);
    }
    return HR_OK;
}

const work work_lengths[] = {
    {.name = "lengths", .run = run_lengths, .once = true},
    {0},
};
