/* 150 steps of 512 rows from files on a fresh model; the clock runs from the end of step 51 to the end of step 150. */
#include "bench/bench.h"
#include <headrace/estimator.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 150, FROM = 51, ROWS = 512, WIDE = 41, DEEP = 39, BUCKETS = 10000 };

static const float boundary[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

/* ---- columns ---- */

static void log1p_of(const void *in, hr_dtype dtype, float *out, int64_t count, void *user)
{
    const int64_t *x = in;
    (void)dtype, (void)user;
    for (int64_t i = 0; i < count; i++) out[i] = log1pf(x[i] > 0 ? (float)x[i] : 0);
}

static hr_feature_column *number(int i, hr_normalizer_fn *fn)
{
    char key[8];
    snprintf(key, sizeof key, "I%d", i % 100);
    return hr_numeric_column(key, .dtype = HR_INT64, .default_value = HR_F32(0), .normalizer_fn = fn);
}

static hr_feature_column *category(int c)
{
    char key[8];
    snprintf(key, sizeof key, "C%d", c % 100);
    return hr_categorical_column_with_hash_bucket(key, BUCKETS);
}

static void make_wide(hr_feature_column **out)
{
    for (int i = 1; i <= 13; i++) *out++ = hr_bucketized_column(number(i, NULL), boundary, 11);
    for (int c = 1; c <= 26; c++) *out++ = category(c);
    *out++ = hr_crossed_column(HR_CROSS({.key = "C1"}, {.key = "C2"}), BUCKETS);
    *out++ = hr_crossed_column(HR_CROSS({.key = "C3"}, {.key = "C4"}), BUCKETS);
}

static void make_deep(hr_feature_column **out)
{
    for (int i = 1; i <= 13; i++) *out++ = number(i, log1p_of);
    for (int c = 1; c <= 26; c++) *out++ = hr_embedding_column(category(c), 16);
}

/* ---- the input, as the pipeline's but without a remainder ---- */

typedef struct job {
    const char *folder;
    hr_feature_column *column[WIDE + DEEP];
    int columns;
    double started, first, from, to;
    int64_t step;
} job;

static hr_dataset *input(void *user)
{
    const job *j = user;
    char pattern[1024];
    hr_error err;
    hr_parse_spec *spec;
    snprintf(pattern, sizeof pattern, "%s/criteo-*.tfrecord", j->folder);
    hr_dataset *ds = hr_list_files(pattern, .shuffle = true, .seed = 7);
    ds = hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = 4);
    ds = hr_batch(hr_shuffle(ds, 10000, .seed = 7), ROWS, .drop_remainder = true);
    if (hr_make_parse_example_spec(((hr_column_list){j->column, j->columns}), &spec, &err, .label = "label") != HR_OK)
        return ds;
    ds = hr_prefetch(hr_parse_example(ds, spec, .label = "label"), HR_AUTOTUNE);
    hr_parse_spec_free(spec);
    return ds;
}

/* ---- the clock: a hook ---- */

static hr_status note_step(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    job *j = *(job **)state;
    (void)m, (void)results, (void)err;
    double now = bench_seconds();
    j->step++;
    if (j->step == 1) j->first = now;
    if (j->step == FROM) j->from = now;
    j->to = now;
    return HR_OK;
}

static const hr_hook_kind clock_kind = {
    .head = HR_HOOK_HEAD, .name = "clock", .state_size = sizeof(job *), .after_run = note_step};

/* ---- the works ---- */

static hr_estimator *make(job *j, const char *dir, bool wide, bool deep, int workers)
{
    hr_run_config config = {.tf_random_seed = 1,
                            .save_summary_steps = -1,
                            .save_checkpoints_steps = -1,
                            .log_step_count_steps = -1,
                            .workers = &workers};
    if (wide) make_wide(j->column);
    if (deep) make_deep(j->column + (wide ? WIDE : 0));
    j->columns = (wide ? WIDE : 0) + (deep ? DEEP : 0);
    hr_column_list linear = {j->column, WIDE}, dnn = {j->column + (wide ? WIDE : 0), DEEP};
    if (!deep)
        return hr_linear_classifier(.model_dir = dir, .linear_feature_columns = linear, .config = config,
                                    .linear_optimizer = hr_ftrl(1 / sqrtf(WIDE)));
    if (!wide)
        return hr_dnn_classifier(.model_dir = dir, .dnn_feature_columns = dnn,
                                 .dnn_hidden_units = HR_UNITS(256, 128, 64), .config = config);
    return hr_dnn_linear_combined_classifier(.model_dir = dir, .linear_feature_columns = linear,
                                             .dnn_feature_columns = dnn, .dnn_hidden_units = HR_UNITS(256, 128, 64),
                                             .config = config);
}

static hr_status train(pass *p, bool wide, bool deep)
{
    char dir[BENCH_PATH];
    job j = {.folder = p->folder}, *state = &j;
    bench_temporary(dir, "train-XXXXXX");
    if (!mkdtemp(dir)) return hr_fail(&p->error, HR_UNAVAILABLE, "bench.train", "no temporary folder");
    hr_hook *hook = hr_hook_new(&clock_kind, &state);
    j.started = bench_seconds();
    hr_estimator *e = make(&j, dir, wide, deep, p->threads - 1);
    hr_status st = hr_estimator_train(e, input, &j, .steps = STEPS, .hooks = &hook, .hook_count = 1);
    if (st != HR_OK) p->error = *hr_estimator_error(e);
    hr_estimator_free(e);
    for (int i = 0; i < j.columns; i++) hr_feature_column_unref(j.column[i]);
    rmdir(dir);
    p->rows = (STEPS - FROM) * ROWS;
    p->seconds = j.to - j.from;
    add_extra(p, "start_to_first_step_s", j.first - j.started);
    return st;
}

static hr_status run_linear(pass *p, void *memory)
{
    (void)memory;
    return train(p, true, false);
}

static hr_status run_dnn(pass *p, void *memory)
{
    (void)memory;
    return train(p, false, true);
}

static hr_status run_wide_deep(pass *p, void *memory)
{
    (void)memory;
    return train(p, true, true);
}

const work work_train[] = {
    {.name = "train_linear", .run = run_linear, .threads = 2},
    {.name = "train_dnn", .run = run_dnn, .threads = 2},
    {.name = "train_wide_deep", .run = run_wide_deep, .threads = 2},
    {0},
};
