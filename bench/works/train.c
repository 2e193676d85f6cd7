/* 150 steps of 512 rows from files on a fresh model; the clock runs from the end of step 51 to the end of step 150. */
#include "bench/click_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 150, ROWS = 150000 /* at most, of large batches */ };

typedef struct job {
    click_model model;
    double started, first, from, to;
    double cpu_from, cpu_to; /* processor time of all threads */
    int64_t step, steps;
} job;

/* ---- the clock: a hook ---- */

static double processor_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The first third warms up. */
static int64_t first_timed(const job *j) { return j->steps / 3 + 1; }

static hr_status note_step(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    job *j = *(job **)state;
    (void)m, (void)results, (void)err;
    double now = bench_seconds();
    j->step++;
    if (j->step == 1) j->first = now;
    if (j->step == first_timed(j)) j->from = now;
    if (j->step == first_timed(j)) j->cpu_from = processor_seconds();
    j->to = now;
    if (j->step == j->steps) j->cpu_to = processor_seconds();
    return HR_OK;
}

static const hr_hook_kind clock_kind = {
    .head = HR_HOOK_HEAD, .name = "clock", .state_size = sizeof(job *), .after_run = note_step};

/* ---- the works ---- */

/* HEADRACE_BENCH_BATCH, HEADRACE_BENCH_UNITS as "256-128-64" and HEADRACE_BENCH_DIMENSION: another size of the model. */
static void take_sizes(job *j)
{
    const char *rows = getenv("HEADRACE_BENCH_BATCH"), *units = getenv("HEADRACE_BENCH_UNITS");
    const char *dimension = getenv("HEADRACE_BENCH_DIMENSION");
    j->model.rows = rows ? (int)strtol(rows, NULL, 10) : 0;
    j->model.dimension = dimension ? (int)strtol(dimension, NULL, 10) : 0;
    for (int i = 0; units && i < CLICK_LAYERS; i++) {
        char *end;
        j->model.units[i] = strtoll(units, &end, 10);
        units = *end == '-' ? end + 1 : NULL;
    }
    const int batch = j->model.rows > 0 ? j->model.rows : CLICK_ROWS;
    j->steps = ROWS / batch < STEPS ? ROWS / batch : STEPS;
}

static hr_status train(pass *p, bool wide, bool deep, hr_products products)
{
    char dir[BENCH_PATH];
    int workers = p->threads - 1;
    job j = {.model = {.folder = p->folder, .wide = wide, .deep = deep}}, *state = &j;
    const hr_run_config config = {.save_summary_steps = -1,
                                  .save_checkpoints_steps = -1,
                                  .log_step_count_steps = -1,
                                  .workers = &workers,
                                  .products = products};
    take_sizes(&j);
    bench_temporary(dir, "train-XXXXXX");
    if (!mkdtemp(dir)) return hr_fail(&p->error, HR_UNAVAILABLE, "bench.train", "no temporary folder");
    hr_hook *hook = hr_hook_new(&clock_kind, &state);
    j.started = bench_seconds();
    hr_estimator *e = click_estimator(&j.model, dir, &config);
    hr_status st = hr_estimator_train(e, click_input, &j.model, .steps = j.steps, .hooks = &hook, .hook_count = 1);
    if (st != HR_OK) p->error = *hr_estimator_error(e);
    hr_estimator_free(e);
    click_clear(&j.model);
    rmdir(dir);
    p->rows = (j.steps - first_timed(&j)) * (j.model.rows > 0 ? j.model.rows : CLICK_ROWS);
    p->seconds = j.to - j.from;
    add_extra(p, "start_to_first_step_s", j.first - j.started);
    add_extra(p, "processor_us_per_row", (j.cpu_to - j.cpu_from) * 1e6 / (double)p->rows);
    return st;
}

static hr_status run_linear(pass *p, void *memory)
{
    (void)memory;
    return train(p, true, false, HR_PRODUCTS_FLOAT);
}

static hr_status run_dnn(pass *p, void *memory)
{
    (void)memory;
    return train(p, false, true, HR_PRODUCTS_FLOAT);
}

static hr_status run_wide_deep(pass *p, void *memory)
{
    (void)memory;
    return train(p, true, true, HR_PRODUCTS_FLOAT);
}

static hr_status run_dnn_bfloat16(pass *p, void *memory)
{
    (void)memory;
    return train(p, false, true, HR_PRODUCTS_BFLOAT16);
}

static hr_status run_wide_deep_bfloat16(pass *p, void *memory)
{
    (void)memory;
    return train(p, true, true, HR_PRODUCTS_BFLOAT16);
}

const work work_train[] = {
    {.name = "train_linear", .run = run_linear, .threads = 2},
    {.name = "train_dnn", .run = run_dnn, .threads = 2},
    {.name = "train_wide_deep", .run = run_wide_deep, .threads = 2},
    {.name = "train_dnn_bfloat16", .run = run_dnn_bfloat16, .threads = 2},
    {.name = "train_wide_deep_bfloat16", .run = run_wide_deep_bfloat16, .threads = 2},
    {0},
};
