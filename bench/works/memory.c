/* Whether long files take more memory than short ones: convert, reading in batches, and an index, over 10^4 to 10^7
 * records, each the most memory that it had beside what the process had before. */
#include "bench/bench.h"
#include "io/schema/schema.h"
#include <headrace/convert.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { LENGTHS = 4, PATH_SIZE = 1024 };
static const struct {
    int64_t records;
    const char *convert, *read, *index; /* names of figures */
} lengths[LENGTHS] = {
    {10000, "convert_mb_1e4", "read_mb_1e4", "index_mb_1e4"},
    {100000, "convert_mb_1e5", "read_mb_1e5", "index_mb_1e5"},
    {1000000, "convert_mb_1e6", "read_mb_1e6", "index_mb_1e6"},
    {10000000, "convert_mb_1e7", "read_mb_1e7", "index_mb_1e7"},
};

/* ---- the most memory ---- */

static void end_peak(pass *p, const char *figure, long before)
{
    add_extra(p, figure, (double)(bench_kilobytes("VmHWM") - before) / 1024);
}

/* ---- what is done ---- */

static bool write_csv(const char *path, int64_t records)
{
    FILE *file = fopen(path, "w");
    if (!file) return false;
    fputs("id,score,word\n", file);
    for (int64_t i = 0; i < records; i++)
        fprintf(file, "%" PRId64 ",%" PRId64 ".5,w%" PRId64 "\n", i, i % 1000, i % 777);
    return fclose(file) == 0;
}

static hr_status convert(const char *csv, const char *records, hr_error *err)
{
    hr__schema_file schema = {0};
    hr_convert_result result = {0};
    char *input = (char *)(uintptr_t)csv;
    hr_status st = bench_schema("int64: [id]\nfloat: [score]\nstring: [word]\n", &schema, err);
    const hr_file_list inputs = {&input, 1};
    if (st == HR_OK) st = hr_convert(&inputs, records, &result, err, .schema = &schema, .no_sync = true);
    hr_convert_result_clear(&result);
    hr__schema_clear(&schema);
    return st;
}

static hr_status read_all(const char *records, pass *p)
{
    hr_iterator *it = bench_iterate(hr_batch(hr_tfrecord(records), 512), p);
    const hr_element *e;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) p->rows += hr_get_at(e, 0)->count;
    if (st != HR_END) p->error = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static hr_status make_index(const char *records, hr_error *err)
{
    const hr_record_index_opts opts = {.struct_size = sizeof opts, .anew = true};
    hr_record_index *index;
    HR_TRY(hr_record_index_open_with(records, &opts, &index, err));
    hr_record_index_free(index);
    return HR_OK;
}

/* ---- the work ---- */

/* Of one length: the three figures. */
static hr_status measure(int length, const char *csv, const char *records, pass *p)
{
    long before = bench_begin_peak();
    HR_TRY(convert(csv, records, &p->error));
    end_peak(p, lengths[length].convert, before);
    before = bench_begin_peak();
    HR_TRY(read_all(records, p));
    end_peak(p, lengths[length].read, before);
    before = bench_begin_peak();
    HR_TRY(make_index(records, &p->error));
    end_peak(p, lengths[length].index, before);
    return HR_OK;
}

static hr_status run_memory(pass *p, void *memory)
{
    (void)memory;
    char csv[PATH_SIZE], records[PATH_SIZE];
    snprintf(csv, sizeof csv, "%s/memory-%d.csv", p->folder, (int)getpid());
    snprintf(records, sizeof records, "%s/memory-%d.tfrecord", p->folder, (int)getpid());
    hr_status st = HR_OK;
    for (int i = 0; i < LENGTHS && st == HR_OK; i++) {
        if (!write_csv(csv, lengths[i].records))
            st = hr_fail(&p->error, HR_UNAVAILABLE, "bench.memory", "%s: cannot be written", csv);
        if (st == HR_OK) st = measure(i, csv, records, p);
        unlink(csv);
        unlink(records);
    }
    return st;
}

const work work_memory[] = {
    {.name = "memory", .run = run_memory, .threads = 2, .once = true},
    {0},
};
