/* A training by its file, from its first step to its last: the estimator's loop, with a hook that tells of each
 * step. */
#include "train/training/training_internal.h"
#include <headrace/convert.h>
#include <headrace/hooks.h>
#include <math.h>
#include <time.h>

typedef struct training_run {
    const hr_training *training;
    hr_training_train_opts opts;
    hr_training_progress now;
    bool expected; /* the last step was looked for: rows are counted after the first step, which does not wait for it */
    double started;
} training_run;

/* ---- how many steps there will be ---- */

enum { SAMPLE = 64 << 20 }; /* bytes that are read to count rows: beyond them, the files' sizes tell */

static int64_t training_run_size(const char *path)
{
    const int64_t size = hr_path_size(path);
    return size > 0 ? size : 0;
}

/* Small data is counted; of large data, as many whole files as the sample holds. 0: it cannot be known, or would take
 * too long. */
static int64_t training_run_count_rows(const hr_training *t, const hr_file_list *files)
{
    int64_t rows = 0, counted = 0;
    const int64_t total = hr_paths_size(files);
    if (total < 0) return 0; /* what is read once is left for the training */
    for (int64_t i = 0; i < files->count && counted + training_run_size(files->path[i]) <= SAMPLE; i++) {
        int64_t here = 0;
        if (hr_count_rows(files->path[i], &here, NULL, .format = t->rows.format, .csv = &t->csv) == HR_OK) rows += here;
        counted += training_run_size(files->path[i]);
    }
    return counted ? (int64_t)((double)rows * ((double)total / (double)counted) + 0.5) : 0;
}

/* Before a folder is made for the model. */
static hr_status training_run_need_files(const hr_training *t, hr_error *err)
{
    hr_file_list files = {0};
    HR_TRY(hr_match_files(t->files, &files, err));
    hr_file_list_clear(&files);
    return HR_OK;
}

/* 0: unknown. */
static int64_t training_run_last_step(const hr_training *t)
{
    hr_file_list files = {0};
    int64_t rows = 0;
    const bool counts = t->epochs >= 0 && hr_match_files(t->files, &files, NULL) == HR_OK;
    if (counts && __builtin_mul_overflow(training_run_count_rows(t, &files), t->epochs, &rows)) rows = 0;
    hr_file_list_clear(&files);
    const int64_t steps = rows / t->batch_size + (rows % t->batch_size != 0 && !t->drop_remainder);
    return t->max_steps && (!steps || t->max_steps < steps) ? t->max_steps : steps;
}

/* ---- the hook ---- */

static double training_run_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void training_run_tell(training_run *run, hr_monitored_session *m)
{
    hr_training_progress *now = &run->now;
    const int64_t made = now->step - now->first_step, left = now->last_step - now->step;
    const double seconds = training_run_clock() - run->started;
    now->examples_per_second = made > 0 ? (double)(made * run->training->batch_size) / (seconds + 1e-9) : (double)NAN;
    now->seconds_left = made > 0 && left >= 0 ? seconds / (double)made * (double)left : (double)NAN;
    if (!run->opts.progress(&run->now, run->opts.user)) hr_request_stop(m);
}

static hr_status training_run_begin(void *state, hr_monitored_session *m, hr_error *err)
{
    training_run *run = *(training_run **)state;
    HR_TRY(hr_monitored_step(m, &run->now.first_step, err));
    run->now.step = run->now.first_step;
    run->started = training_run_clock();
    training_run_tell(run, m);
    return HR_OK;
}

static hr_status training_run_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)state;
    int count;
    const hr_node *loss = hr_get_collection(hr_monitored_graph(m), "losses", &count);
    return count ? hr_request_fetch(request, loss[0], err) : HR_OK;
}

static hr_status training_run_after(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    training_run *run = *(training_run **)state;
    (void)err;
    run->now.step++;
    if (!run->expected) run->now.last_step = training_run_last_step(run->training);
    run->expected = true;
    if (results[0].dtype == HR_FLOAT && results[0].count == 1) run->now.loss = *(const float *)results[0].data;
    training_run_tell(run, m);
    return HR_OK;
}

static const hr_hook_kind training_run_hook = {
    .head = HR_HOOK_HEAD,
    .name = "progress",
    .state_size = sizeof(training_run *),
    .after_create_session = training_run_begin,
    .before_run = training_run_before,
    .after_run = training_run_after,
};

hr_status hr_training_train_with(hr_training *t, const hr_training_train_opts *opts, hr_train_result *result,
                                 hr_error *err)
{
    training_run run = {.training = t, .opts = HR_OPTIONS(hr_training_train_opts, opts), .now.loss = NAN};
    training_run *state = &run;
    hr_train_result unwanted;
    if (!t) return hr_fail(err, HR_INVALID_ARGUMENT, "training.argument", "train: expected a training, got NULL");
    HR_TRY(training_run_need_files(t, err));
    run.now.last_step = t->max_steps;
    hr_estimator *e = hr_training_estimator(t);
    if (!e) return hr_no_memory(err, "an estimator");
    hr_hook *hook = run.opts.progress ? hr_hook_new(&training_run_hook, &state) : NULL;
    if (!result) result = &unwanted;
    hr_status st = hr_estimator_train(e, hr_training_input, t, .max_steps = hr_training_max_steps(t), .hooks = &hook,
                                      .hook_count = hook ? 1 : 0, .result = result, .profile = run.opts.profile);
    if (st != HR_OK && err) *err = *hr_estimator_error(e);
    if (st == HR_OK && result->finished && result->last_step == 0)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "training.rows", "train: expected at least one row in %s, found none",
                     t->files);
    hr_estimator_free(e);
    return st;
}
