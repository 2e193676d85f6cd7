/* The benchmark's data, the pipeline over it, and the clock, which several works share. */
#include "bench/bench.h"
#include "io/schema/schema.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void bench_temporary(char path[BENCH_PATH], const char *name)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, BENCH_PATH, "%s/headrace-%ld-%s", folder && folder[0] ? folder : "/tmp", (long)getpid(), name);
}

double bench_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

long bench_kilobytes(const char *field)
{
    char line[256], format[32];
    long kb = 0;
    snprintf(format, sizeof format, "%s: %%ld kB", field);
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, format, &kb) == 1) break;
    if (status) fclose(status);
    return kb;
}

long bench_begin_peak(void)
{
    malloc_trim(0);
    FILE *refs = fopen("/proc/self/clear_refs", "w");
    if (refs) {
        fputs("5", refs);
        fclose(refs);
    }
    return bench_kilobytes("VmRSS");
}

hr_status bench_schema(const char *text, hr__schema_file *out, hr_error *err)
{
    hr__config *config;
    HR_TRY(hr__config_parse("schema", text, strlen(text), &config, err));
    const hr_status st = hr__schema_read(hr__config_root(config), out, err);
    hr__config_free(config);
    return st;
}

hr_status bench_files(const char *folder, const char *names, hr_file_list *out, hr_error *err)
{
    char pattern[1024];
    snprintf(pattern, sizeof pattern, "%s/%s", folder, names);
    return hr_match_files(pattern, out, err);
}

const hr_parse_spec *bench_spec(void)
{
    static char names[40][4];
    static hr_feature feature[40];
    static hr_parse_spec spec = {feature, 40};
    static const int64_t zero = 0;
    static const hr_view nothing = {"", 0};
    static hr_tensor int_default, string_default;
    if (feature[0].key) return &spec;
    int_default = hr_tensor_of(HR_INT64, HR_SCALAR, &zero);
    string_default = hr_tensor_of(HR_STRING, HR_SCALAR, &nothing);
    feature[0] = (hr_feature){.key = "label", .kind = HR_FIXED_LEN, .dtype = HR_INT64};
    for (int i = 1; i < 40; i++) {
        bool number = i <= 13;
        snprintf(names[i], sizeof names[i], "%c%d", number ? 'I' : 'C', (number ? i : i - 13) % 100);
        feature[i] = (hr_feature){.key = names[i],
                                  .kind = HR_FIXED_LEN,
                                  .dtype = number ? HR_INT64 : HR_STRING,
                                  .default_value = number ? &int_default : &string_default};
    }
    return &spec;
}

hr_dataset *bench_text_rows(const char *pattern)
{
    static hr_csv_column column[40];
    const hr_parse_spec *spec = bench_spec();
    static const int64_t zero = 0;
    static hr_tensor none;
    none = hr_tensor_of(HR_INT64, HR_SCALAR, &zero);
    for (int i = 0; i < 40; i++) {
        const hr_feature *f = &spec->feature[i];
        column[i] = (hr_csv_column){
            .name = f->key, .dtype = f->dtype, .default_value = f->default_value ? f->default_value : &none};
    }
    return hr_csv(pattern, .columns = column, .column_count = 40);
}

hr_dataset *bench_shuffled(const char *folder)
{
    char pattern[1024];
    snprintf(pattern, sizeof pattern, "%s/criteo-*.tfrecord", folder);
    hr_dataset *ds = hr_list_files(pattern, .shuffle = true, .seed = 7);
    ds = hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = 4);
    return hr_shuffle(ds, 10000, .seed = 7);
}

hr_dataset *bench_pipeline(const char *folder)
{
    hr_dataset *ds = hr_batch(bench_shuffled(folder), 512);
    ds = hr_parse_example(ds, bench_spec(), .label = "label");
    return hr_prefetch(ds, HR_AUTOTUNE);
}

hr_iterator *bench_iterate(hr_dataset *ds, const pass *p)
{
    int workers = p->threads - 1;
    return hr_iterate(ds, .workers = &workers, .seed = 7);
}

hr_status bench_drain(hr_iterator *it, pass *p)
{
    const hr_element *e;
    hr_status st;
    volatile int64_t sum = 0;
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_tensor *label = hr_get(e, "label");
        for (int64_t i = 0; i < label->count; i++) sum += ((const int64_t *)label->data)[i];
        p->rows += label->count;
    }
    if (st != HR_END) p->error = *hr_iterator_error(it);
    return st == HR_END ? HR_OK : st;
}
