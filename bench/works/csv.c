/* Text to columns: 14 integers and 26 strings of each row, batches of 512. */
#include "bench/bench.h"
#include <stdio.h>

static hr_status run_csv(pass *p, void *memory)
{
    (void)memory;
    char pattern[1024];
    snprintf(pattern, sizeof pattern, "%s/" CRITEO_CSV, p->folder);
    hr_iterator *it = bench_iterate(hr_batch(bench_text_rows(pattern), 512), p);
    hr_status st = bench_drain(it, p);
    hr_iterator_free(it);
    return st;
}

const work work_csv[] = {
    {.name = "csv", .run = run_csv, .threads = 2, .also_threads = 1},
    {0},
};
