/* The byte budget against what the process grows by: for rows of 10 bytes to 16 MB, operators that hold, move, make and
 * read rows, and one to eight threads. What the operators must hold is known: the rows of a shuffle's buffer, a batch.
 * The most that a run grew beyond that and its budget is to be 16 MiB, or two rows a thread. */
#include "bench/bench.h"
#include <headrace/io.h>
#include <headrace/parsing.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 4, MIB = 1 << 20, BUDGET = 48 * MIB, TOTAL = 192 * MIB, HELD = 16 * MIB };
static const int64_t sizes[] = {10, 1000, 100000, 16000000};
static const int threads[] = {1, 2, 8};
static const char *const size_names[] = {"over_mb_10", "over_mb_1e3", "over_mb_1e5", "over_mb_16e6"};
enum { SIZES = sizeof sizes / sizeof *sizes, THREADS = sizeof threads / sizeof *threads };

/* ---- the files ---- */

static void file_name(char *out, const char *folder, int64_t size, int file)
{
    snprintf(out, BENCH_PATH, "%s/budget-%d-%" PRId64 "-%d.tfrecord", folder, (int)getpid(), size, file);
}

static int64_t rows_of(int64_t size)
{
    const int64_t rows = TOTAL / (size + 30);
    return rows < 2000000 ? rows / FILES : 500000;
}

static hr_status write_file(const char *path, int64_t size, hr_error *err)
{
    hr_record_writer *writer;
    char *record = malloc((size_t)size);
    if (!record) return hr_no_memory(err, "a record");
    memset(record, 'x', (size_t)size);
    hr_status st = hr_record_writer_open(path, NULL, &writer, err);
    for (int64_t i = 0; st == HR_OK && i < rows_of(size); i++) st = hr_record_write(writer, record, (size_t)size, err);
    if (st == HR_OK) st = hr_record_writer_commit(writer, err);
    free(record);
    return st;
}

/* ---- the pipelines: each holds about HELD of rows, for which `rows` of this size are given ---- */

typedef struct rows {
    char names[BENCH_PATH];
    int64_t size, held; /* of a row; how many to hold */
} rows;

static hr_status turn(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const hr_view *value = hr_get_at(in, 0)->data;
    return hr_set_string(out, "value", value->data, (int64_t)value->size);
}

static int64_t batch_of(const rows *r) { return r->held < 4 ? 1 : r->held / 4 < 512 ? r->held / 4 : 512; }
static hr_dataset *source(const rows *r) { return hr_tfrecord(r->names); }
static hr_dataset *in_batches(const rows *r) { return hr_batch(source(r), batch_of(r)); }
static hr_dataset *side_by_side(const rows *r)
{
    return hr_batch(hr_interleave(hr_list_files(r->names), hr_tfrecord_fn, NULL, .cycle_length = 4), batch_of(r));
}
static hr_dataset *shuffled(const rows *r) { return hr_batch(hr_shuffle(source(r), r->held, .seed = 1), batch_of(r)); }
static hr_dataset *mapped(const rows *r) { return hr_batch(hr_map(source(r), turn, NULL), batch_of(r)); }
static hr_dataset *decoded(const rows *r)
{
    return hr_batch(hr_decode_raw_rows(source(r), "value", HR_UINT8, .shape = &HR_SHAPE(r->size)), batch_of(r));
}
static hr_dataset *mapped_shuffled(const rows *r)
{
    return hr_batch(hr_shuffle(hr_map(source(r), turn, NULL), r->held, .seed = 1), batch_of(r));
}
static hr_dataset *unbatched(const rows *r) { return hr_batch(hr_unbatch(in_batches(r)), batch_of(r)); }
static hr_dataset *zipped(const rows *r)
{
    hr_dataset *in[] = {source(r), source(r)};
    return hr_batch(hr_zip(in, 2), (batch_of(r) + 1) / 2);
}

static const struct {
    const char *name;
    hr_dataset *(*make)(const rows *r);
    int held; /* of HELD, in quarters: the buffer, and the batch that the consumer has */
} pipelines[] = {
    {"read", in_batches, 1},    {"interleave", side_by_side, 1},     {"shuffle", shuffled, 5},  {"map", mapped, 1},
    {"decode_raw", decoded, 1}, {"map_shuffle", mapped_shuffled, 5}, {"unbatch", unbatched, 2}, {"zip", zipped, 1}};
enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

/* ---- a run ---- */

/* How much it grew beyond its budget and what it had to hold, in MiB. */
static hr_status run_one(hr_dataset *ds, int with, double must_hold, double *over, pass *p)
{
    const int workers = with - 1;
    const hr_element *e;
    hr_status st;
    const long before = bench_begin_peak();
    hr_iterator *it = hr_iterate(ds, .workers = &workers, .seed = 1, .budget = BUDGET);
    while ((st = hr_next(it, &e)) == HR_OK) p->rows += hr_get_at(e, 0)->shape.dims[0];
    if (st != HR_END) p->error = *hr_iterator_error(it);
    hr_iterator_free(it);
    *over = (double)(bench_kilobytes("VmHWM") - before) / 1024 - must_hold - (double)BUDGET / MIB;
    return st == HR_END ? HR_OK : st;
}

/* All pipelines and numbers of threads with rows of one size. */
static hr_status run_size(int which, pass *p)
{
    rows r = {.size = sizes[which], .held = HELD / sizes[which]};
    double worst = -1e9;
    if (r.held < 1) r.held = 1;
    snprintf(r.names, sizeof r.names, "%s/budget-%d-%" PRId64 "-?.tfrecord", p->folder, (int)getpid(), r.size);
    for (int i = 0; i < PIPELINES; i++)
        for (int t = 0; t < THREADS; t++) {
            double over;
            const double held = (double)(r.held * r.size) / MIB * pipelines[i].held / 4;
            HR_TRY(run_one(pipelines[i].make(&r), threads[t], held, &over, p));
            if (getenv("HEADRACE_BENCH_TEXT"))
                fprintf(stderr, "%8" PRId64 " B, %d threads, %-12s %8.1f MiB over\n", r.size, threads[t],
                        pipelines[i].name, over);
            if (over > worst) worst = over;
        }
    add_extra(p, size_names[which], worst);
    return HR_OK;
}

static hr_status run_budget(pass *p, void *memory)
{
    (void)memory;
    char path[BENCH_PATH];
    hr_status st = HR_OK;
    const int before = hr_threads();
    hr_set_threads(threads[THREADS - 1] - 1);
    for (int which = 0; which < SIZES && st == HR_OK; which++) {
        for (int f = 0; f < FILES && st == HR_OK; f++) {
            file_name(path, p->folder, sizes[which], f);
            st = write_file(path, sizes[which], &p->error);
        }
        if (st == HR_OK) st = run_size(which, p);
        for (int f = 0; f < FILES; f++) {
            file_name(path, p->folder, sizes[which], f);
            unlink(path);
        }
    }
    hr_set_threads(before);
    return st;
}

const work work_budget[] = {{.name = "budget", .run = run_budget, .threads = 2, .per_run = true, .once = true}, {0}};
