/* The pipeline with parse and columns before a cache, in memory or in a file: its second epoch, which reads no record
 * and parses nothing. */
#include "bench/columns.h"
#include <stdio.h>

static hr_dataset *records(const char *folder)
{
    char pattern[1024];
    snprintf(pattern, sizeof pattern, "%s/criteo-*.tfrecord", folder);
    hr_dataset *ds = hr_list_files(pattern, .shuffle = true, .seed = 7);
    return hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = 4);
}

/* `file`: NULL is in memory. */
static hr_status cached(const char *folder, const char *file, hr_column_list list, hr_dataset **out, hr_error *err)
{
    hr_parse_spec *spec;
    HR_TRY(hr_make_parse_example_spec(list, &spec, err, .label = "label"));
    hr_dataset *ds = hr_parse_example(records(folder), spec, .label = "label");
    hr_parse_spec_free(spec);
    ds = hr_shuffle(hr_cache(hr_transform_features(ds, list), .file = file), 10000, .seed = 7);
    *out = hr_prefetch(hr_repeat(hr_batch(ds, BATCH), .count = HR_I64(2)), HR_AUTOTUNE);
    return HR_OK;
}

/* Rows up to the end of the first epoch are not on the clock. */
static hr_status second_epoch(hr_iterator *it, pass *p)
{
    const hr_element *e;
    hr_status st;
    volatile int64_t sum = 0;
    int64_t first = 0, rows;
    double start = 0;
    while ((st = hr_next(it, &e)) == HR_OK) {
        rows = hr_get(e, "label")->count;
        if (start != 0) p->rows += rows;
        for (int c = 0; start != 0 && c <= CRITEO_COLUMNS; c++) sum += ((const int64_t *)hr_get_at(e, c)->data)[0];
        if (start == 0) first += rows;
        if (start == 0 && rows < BATCH) start = bench_seconds(); /* the short batch ends the first epoch */
    }
    p->seconds = bench_seconds() - start;
    if (st != HR_END) p->error = *hr_iterator_error(it);
    if (st == HR_END && first != p->rows)
        st = hr_fail(&p->error, HR_DATA_LOSS, "bench.rows", "%lld rows in the first epoch, %lld in the second",
                     (long long)first, (long long)p->rows);
    return st == HR_END ? HR_OK : st;
}

static hr_status run_with(const char *file, pass *p)
{
    bench_columns columns = {0};
    hr_dataset *ds;
    bench_add_criteo(&columns, 0);
    hr_status st = cached(p->folder, file, bench_column_list(&columns), &ds, &p->error);
    bench_columns_close(&columns);
    HR_TRY(st);
    hr_iterator *it = bench_iterate(ds, p);
    st = second_epoch(it, p);
    hr_iterator_free(it);
    return st;
}

static hr_status run_cached(pass *p, void *memory)
{
    (void)memory;
    return run_with(NULL, p);
}

/* Each pass fills a file of its own. */
static hr_status run_cached_file(pass *p, void *memory)
{
    (void)memory;
    char file[1024];
    snprintf(file, sizeof file, "%s/cached.rows", p->folder);
    remove(file);
    const hr_status st = run_with(file, p);
    remove(file);
    return st;
}

const work work_cached[] = {
    {.name = "pipeline_cached", .run = run_cached, .threads = 2},
    {.name = "pipeline_cached_file", .run = run_cached_file, .threads = 2},
    {0},
};
