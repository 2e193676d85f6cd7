/* Text to columns: 14 integers and 26 strings of each row, batches of 512. */
#include "bench/bench.h"
#include <stdio.h>

static hr_dataset *text_rows(const char *folder)
{
    static hr_csv_column column[40];
    char pattern[1024];
    const hr_parse_spec *spec = bench_spec();
    static const int64_t zero = 0;
    static hr_tensor none;
    none = hr_tensor_of(HR_INT64, HR_SCALAR, &zero);
    for (int i = 0; i < 40; i++) {
        const hr_feature *f = &spec->feature[i];
        column[i] = (hr_csv_column){
            .name = f->key, .dtype = f->dtype, .default_value = f->default_value ? f->default_value : &none};
    }
    snprintf(pattern, sizeof pattern, "%s/criteo-*.csv", folder);
    return hr_csv(pattern, .columns = column, .column_count = 40);
}

static hr_status run_csv(pass *p, void *memory)
{
    (void)memory;
    hr_iterator *it = bench_iterate(hr_batch(text_rows(p->folder), 512), p);
    hr_status st = bench_drain(it, p);
    hr_iterator_free(it);
    return st;
}

const work work_csv[] = {
    {.name = "csv", .run = run_csv, .threads = 2, .also_threads = 1},
    {0},
};
