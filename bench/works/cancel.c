/* Calling a pipeline off while all its threads are at work: from hr_cancel until nothing of it is left. */
#include "bench/bench.h"

enum { BATCHES = 40 /* the shuffle's buffer is full by then */ };

static hr_status run_cancel(pass *p, void *memory)
{
    (void)memory;
    const hr_element *e;
    hr_iterator *it = bench_iterate(hr_repeat(bench_pipeline(p->folder)), p);
    hr_status st = HR_OK;
    for (int i = 0; i < BATCHES && st == HR_OK; i++) {
        st = hr_next(it, &e);
        if (st == HR_OK) p->rows += hr_get(e, "label")->count;
    }
    if (st != HR_OK && hr_iterator_error(it)) p->error = *hr_iterator_error(it);
    const double start = bench_seconds();
    hr_cancel(it);
    hr_iterator_free(it);
    p->seconds = bench_seconds() - start;
    return st;
}

const work work_cancel[] = {
    {.name = "cancel", .run = run_cancel, .threads = 2, .per_run = true},
    {0},
};
