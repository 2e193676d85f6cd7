/* The engine's own windows against the best that can be set by hand, on three pipelines: TFRecords through a shuffle to
 * parsed batches, wide CSV, a slow function of the user. From a cold start it has two seconds to find its way; then
 * both are run by turns, in short slices of time, since what else the machine does changes from second to second. */
#include "bench/bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WINDOWS = 5, ROUNDS = 11 };
static const int windows[WINDOWS] = {1, 2, 4, 8, 32};
static const double cold_seconds = 2, warm_seconds = 0.3, trial_seconds = 0.5;
static const double slice_seconds = 0.3, settle_seconds = 0.03; /* to settle: what lay ready since its last slice */
static const double rest_seconds = 0.3; /* after a slice: the workers fill its window, which is not the other's cost */

typedef hr_dataset *make_fn(const char *folder);

/* Rows in so many seconds; -1: it failed. */
static int64_t rows_for(hr_iterator *it, double seconds)
{
    const hr_element *e;
    const double end = bench_seconds() + seconds;
    int64_t rows = 0;
    while (bench_seconds() < end) {
        if (hr_next(it, &e) != HR_OK) return -1;
        rows += hr_get_at(e, 0)->shape.dims[0];
    }
    return rows;
}

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = (long)(rest_seconds * 1e9)}, NULL); }

/* Rows a second, after `before` seconds that do not count; -1: it failed. */
static double speed(hr_iterator *it, double before, double seconds)
{
    if (rows_for(it, before) < 0) return -1;
    const double start = bench_seconds();
    const int64_t rows = rows_for(it, seconds);
    return rows < 0 ? -1 : (double)rows / (bench_seconds() - start);
}

static hr_iterator *open_with(make_fn *make, int window, const pass *p)
{
    const int workers = p->threads - 1;
    return hr_iterate(make(p->folder), .workers = &workers, .window = window, .seed = 7);
}

static int best_window(make_fn *make, const pass *p)
{
    double best = -1;
    int window = 1;
    for (int i = 0; i < WINDOWS; i++) {
        hr_iterator *it = open_with(make, windows[i], p);
        const double rows = speed(it, warm_seconds, trial_seconds);
        if (rows > best) best = rows, window = windows[i];
        hr_iterator_free(it);
    }
    return window;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of how fast the first is, as a share of the second; which goes first changes from round to round. */
static double share_of(hr_iterator *tuned, hr_iterator *best, pass *p)
{
    double share[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double rate[2];
        for (int k = 0; k < 2; k++) {
            const int which = (i + k) % 2;
            rest();
            rate[which] = speed(which == 0 ? tuned : best, settle_seconds, slice_seconds);
        }
        share[i] = rate[1] > 0 ? rate[0] / rate[1] : 0;
        p->seconds += slice_seconds;
        p->rows += (int64_t)(rate[0] * slice_seconds);
    }
    qsort(share, ROUNDS, sizeof *share, compare_doubles);
    return share[ROUNDS / 2];
}

static hr_status compare(pass *p, make_fn *make)
{
    const int window = best_window(make, p);
    hr_iterator *best = open_with(make, window, p), *tuned = open_with(make, 0, p);
    rows_for(best, warm_seconds);
    rows_for(tuned, cold_seconds);
    const double share = share_of(tuned, best, p);
    const hr_error *err = hr_iterator_error(tuned) ? hr_iterator_error(tuned) : hr_iterator_error(best);
    if (err) p->error = *err;
    hr_iterator_free(tuned);
    hr_iterator_free(best);
    add_extra(p, "best_window", window);
    add_extra(p, "share_of_best", share);
    return p->error.code;
}

static hr_dataset *records(const char *folder) { return hr_repeat(bench_pipeline(folder)); }

static hr_dataset *text(const char *folder)
{
    char pattern[1024];
    snprintf(pattern, sizeof pattern, "%s/criteo-*.csv", folder);
    return hr_repeat(hr_batch(hr_csv(pattern), 512));
}

static hr_status work_hard(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    uint64_t sum = *(const uint64_t *)hr_get_at(in, 0)->data;
    for (int i = 0; i < 2000; i++) sum = hr_call_random(call, sum);
    *(uint64_t *)hr_set(out, "value") = sum;
    return HR_OK;
}

static hr_dataset *slow_map(const char *folder)
{
    (void)folder;
    return hr_batch(hr_map(hr_range(INT64_MAX), work_hard, NULL), 64);
}

static hr_status run_records(pass *p, void *memory) { return (void)memory, compare(p, records); }
static hr_status run_text(pass *p, void *memory) { return (void)memory, compare(p, text); }
static hr_status run_slow_map(pass *p, void *memory) { return (void)memory, compare(p, slow_map); }

const work work_autotune[] = {
    {.name = "autotune_pipeline", .run = run_records, .threads = 2, .once = true},
    {.name = "autotune_csv", .run = run_text, .threads = 2, .once = true},
    {.name = "autotune_map", .run = run_slow_map, .threads = 2, .once = true},
    {0},
};
