/* The engine's own windows against the best that can be set by hand, on three pipelines: TFRecords through a shuffle to
 * parsed batches, wide CSV, a slow function of the user. From a cold start it has two seconds to find its way; then rows are
 * counted for as long as with each window set by hand. */
#include "bench/bench.h"
#include <stdio.h>

enum { WINDOWS = 5 };
static const int windows[WINDOWS] = {1, 2, 4, 8, 32};
static const double cold_seconds = 2, measured_seconds = 0.7, warm_seconds = 0.3;

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

static int64_t measure(hr_dataset *ds, int window, double warm, pass *p)
{
    const int workers = p->threads - 1;
    hr_iterator *it = hr_iterate(ds, .workers = &workers, .window = window, .seed = 7);
    int64_t rows = rows_for(it, warm);
    if (rows >= 0) rows = rows_for(it, measured_seconds);
    if (rows < 0 && hr_iterator_error(it)) p->error = *hr_iterator_error(it);
    hr_iterator_free(it);
    return rows;
}

static hr_status compare(pass *p, make_fn *make)
{
    int64_t best = 0;
    int best_window = 0;
    for (int i = 0; i < WINDOWS; i++) {
        const int64_t rows = measure(make(p->folder), windows[i], warm_seconds, p);
        if (rows > best) best = rows, best_window = windows[i];
    }
    p->rows = measure(make(p->folder), 0, cold_seconds, p);
    p->seconds = measured_seconds;
    if (p->error.code) return p->error.code;
    add_extra(p, "best_window", best_window);
    add_extra(p, "share_of_best", best ? (double)p->rows / (double)best : 0);
    return HR_OK;
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
    {.name = "autotune_pipeline", .run = run_records, .threads = 2},
    {.name = "autotune_csv", .run = run_text, .threads = 2},
    {.name = "autotune_map", .run = run_slow_map, .threads = 2},
    {0},
};
