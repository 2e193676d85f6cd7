/* The pipeline's state after 20 batches: its size, the time to save it, and the time from a fresh iterator to its first
 * batch, which must be the 21st. */
#include "bench/bench.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BATCHES = 20 };

static hr_status next_label(hr_iterator *it, int64_t *sum, pass *p)
{
    const hr_element *e;
    hr_status st = hr_next(it, &e);
    if (st != HR_OK) {
        const hr_error *err = hr_iterator_error(it);
        return err ? (p->error = *err, st) : hr_fail(&p->error, HR_OUT_OF_RANGE, "bench.state", "too few batches");
    }
    const hr_tensor *label = hr_get(e, "label"), *first = hr_get(e, "I1");
    *sum = 0;
    for (int64_t i = 0; i < label->count; i++)
        *sum += (i + 1) * (((const int64_t *)label->data)[i] + ((const int64_t *)first->data)[i]);
    p->rows += label->count;
    return HR_OK;
}

static hr_status save(hr_iterator *it, const char *path, pass *p)
{
    void *state;
    size_t size;
    double start = bench_seconds();
    HR_TRY(hr_iterator_save(it, &state, &size, &p->error));
    hr_output *out;
    hr_status st = hr_output_open_with(path, &(hr_output_opts){.no_sync = true}, &out, &p->error);
    if (st == HR_OK) {
        st = hr_output_write(out, state, size, &p->error);
        if (st == HR_OK)
            st = hr_output_commit(out, &p->error);
        else
            hr_output_discard(out);
    }
    hr_free(state);
    p->seconds = bench_seconds() - start;
    add_extra(p, "bytes", (double)size);
    add_extra(p, "save_seconds", p->seconds);
    return st;
}

static hr_status restore(const char *path, int64_t expected, pass *p)
{
    hr_input *in;
    HR_TRY(hr_input_open_with(path, NULL, &in, &p->error));
    const char *state;
    size_t size;
    int64_t sum;
    hr_status st = hr_input_peek(in, 1 << 20, &state, &size, &p->error);
    hr_dataset *ds = bench_pipeline(p->folder);
    double start = bench_seconds();
    int workers = p->threads - 1;
    hr_iterator *it = hr_iterate(ds, .workers = &workers, .state = state, .state_size = st == HR_OK ? size : 0);
    if (st == HR_OK) st = next_label(it, &sum, p);
    add_extra(p, "restore_seconds", bench_seconds() - start);
    if (st == HR_OK && sum != expected)
        st = hr_fail(&p->error, HR_INTERNAL, "bench.state", "the restored iterator goes on elsewhere");
    hr_iterator_free(it);
    hr_input_free(in);
    return st;
}

static hr_status run_state(pass *p, void *memory)
{
    (void)memory;
    char path[BENCH_PATH];
    bench_temporary(path, "state");
    hr_iterator *it = bench_iterate(bench_pipeline(p->folder), p);
    int64_t sum = 0;
    hr_status st = HR_OK;
    for (int i = 0; i < BATCHES && st == HR_OK; i++) st = next_label(it, &sum, p);
    int64_t rows = p->rows;
    if (st == HR_OK) st = save(it, path, p);
    if (st == HR_OK) st = next_label(it, &sum, p);
    hr_iterator_free(it);
    if (st == HR_OK) st = restore(path, sum, p);
    unlink(path);
    p->rows = rows;
    return st;
}

const work work_state[] = {
    {.name = "state", .run = run_state, .threads = 2, .per_run = true},
    {0},
};
