/* A training by its file, from its first step to its last: the estimator's loop, with a hook that tells of each step. */
#include <headrace/hooks.h>
#include <headrace/training_file.h>
#include <math.h>

typedef struct training_run {
    hr_training_train_opts opts;
    hr_training_progress now;
} training_run;

static void training_run_tell(training_run *run, hr_monitored_session *m)
{
    if (!run->opts.progress(&run->now, run->opts.user)) hr_request_stop(m);
}

static hr_status training_run_begin(void *state, hr_monitored_session *m, hr_error *err)
{
    training_run *run = *(training_run **)state;
    HR_TRY(hr_monitored_step(m, &run->now.first_step, err));
    run->now.step = run->now.first_step;
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
    training_run run = {.opts = HR_OPTIONS(hr_training_train_opts, opts), .now.loss = NAN}, *state = &run;
    hr_train_result unwanted;
    if (!t) return hr_fail(err, HR_INVALID_ARGUMENT, "training.argument", "train: expected a training, got NULL");
    hr_estimator *e = hr_training_estimator(t);
    if (!e) return hr_no_memory(err, "an estimator");
    hr_hook *hook = run.opts.progress ? hr_hook_new(&training_run_hook, &state) : NULL;
    const hr_status st =
        hr_estimator_train(e, hr_training_input, t, .max_steps = hr_training_max_steps(t), .hooks = &hook,
                           .hook_count = hook ? 1 : 0, .result = result ? result : &unwanted);
    if (st != HR_OK && err) *err = *hr_estimator_error(e);
    hr_estimator_free(e);
    return st;
}
