/* The training loop: a batch, a run with its hooks, until someone asks to stop or the input ends. */
#include "train/estimator/internal.h"
#include <stdio.h>
#include <string.h>
#include <uv.h>

typedef struct training {
    model model;
    hr_train_result result;
} training;

/* ---- what is saved besides variables ---- */

/* As of the batch consumed last. Before there is an iterator: where it will begin. */
static hr_status save_iterator(void *user, void **data, size_t *size, hr_error *err)
{
    model *m = user;
    if (m->it) return hr_iterator_save(m->it, data, size, err);
    *size = m->state.size > 0 ? (size_t)m->state.size : 0;
    *data = *size ? hr_memdup(m->state.data, *size) : NULL;
    return *size && !*data ? hr_no_memory(err, "an iterator's state") : HR_OK;
}

static hr_status restore_iterator(void *user, hr_view data, hr_error *err)
{
    model *m = user;
    if (data.size <= 0) return HR_OK;
    m->state.data = hr_memdup(data.data, (size_t)data.size);
    m->state.size = data.size;
    return m->state.data ? HR_OK : hr_no_memory(err, "an iterator's state");
}

static hr_status save_identity(void *user, void **data, size_t *size, hr_error *err)
{
    const char *text = ((const model *)user)->e->config.identity;
    *size = text ? strlen(text) : 0;
    *data = *size ? hr_memdup(text, *size) : NULL;
    return *size && !*data ? hr_no_memory(err, "a config") : HR_OK;
}

static size_t line_size(const char *text, const char *end)
{
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    return (size_t)((newline ? newline : end) - text);
}

/* The first line that differs says what was changed. */
static hr_status restore_identity(void *user, hr_view was, hr_error *err)
{
    const hr_estimator *e = ((const model *)user)->e;
    if (!e->config.identity || was.size < 0) return HR_OK;
    const char *now = e->config.identity, *now_end = now + strlen(now), *old = was.data, *old_end = old + was.size;
    while (now < now_end || old < old_end) {
        size_t a = line_size(now, now_end), b = line_size(old, old_end);
        if (a != b || memcmp(now, old, a) != 0)
            return hr_fail(
                err, HR_FAILED_PRECONDITION, "estimator.config",
                "the model in %s was trained with another config: it had \"%.*s\", this one has \"%.*s\"; use another "
                "model directory, or the old config",
                e->model_dir, (int)(b < 100 ? b : 100), old, (int)(a < 100 ? a : 100), now);
        now += a + (now + a < now_end);
        old += b + (old + b < old_end);
    }
    return HR_OK;
}

/* ---- hooks ---- */

typedef struct hook_list {
    hr_hook *hook[2 * MAX_HOOKS];
    int count;
} hook_list;

static void add_hook(hook_list *l, hr_hook *hook)
{
    if (hook && l->count < (int)(sizeof l->hook / sizeof *l->hook))
        l->hook[l->count++] = hook;
    else
        hr_hook_free(hook);
}

/* The chief's hooks come first, as in MonitoredTrainingSession: they see each step before the others. */
static void add_hooks(training *t, hook_list *l, const hr_train_opts *o, hr_hook *more)
{
    hr_estimator *e = t->model.e;
    const hr_run_config *c = &e->config;
    hr_estimator_spec *s = &t->model.spec;
    hr_summary_writer *w = hr_summary_writer_new(e->model_dir);
    if (c->log_step_count_steps >= 0)
        add_hook(l, hr_step_counter_hook(.every_n_steps = c->log_step_count_steps, .writer = w));
    if (c->save_summary_steps >= 0 && w)
        add_hook(l, hr_summary_saver_hook(w, s->summary, s->summaries, .save_steps = c->save_summary_steps));
    if (c->save_checkpoints_steps >= 0)
        add_hook(l, hr_checkpoint_saver_hook(
                        e->model_dir, .save_steps = c->save_checkpoints_steps, .save_secs = c->save_checkpoints_secs,
                        .max_to_keep = c->keep_checkpoint_max, .keep_every_n_hours = c->keep_checkpoint_every_n_hours));
    hr_summary_writer_unref(w);
    for (int i = 0; i < o->hook_count; i++) add_hook(l, o->hooks[i]);
    if (o->steps > 0) add_hook(l, hr_stop_at_step_hook(.num_steps = o->steps));
    if (o->max_steps > 0) add_hook(l, hr_stop_at_step_hook(.last_step = o->max_steps));
    add_hook(l, hr_nan_tensor_hook(s->loss));
    if (c->log_step_count_steps >= 0) {
        hr_node step = hr_variable_named(t->model.graph, "global_step")->read;
        hr_logged logged[] = {{"loss", s->loss}, {"step", step}};
        add_hook(l, hr_logging_tensor_hook(logged, 2, .every_n_iter = c->log_step_count_steps));
    }
    for (int i = 0; i < s->hooks; i++) add_hook(l, s->hook[i]);
    s->hooks = 0;
    add_hook(l, more);
}

/* ---- the loop ---- */

static hr_status one_step(training *t, hr_monitored_session *m, hr_error *err)
{
    const hr_element *element;
    int feeds;
    uint64_t start = uv_hrtime();
    hr_status st = hr__model_next(&t->model, &element, &feeds, err);
    t->result.input_seconds += (double)(uv_hrtime() - start) * 1e-9;
    if (st != HR_OK) return st;
    const hr_node fetch[] = {hr_target(t->model.spec.train_op), t->model.spec.loss};
    hr_tensor out[2] = {{0}};
    HR_TRY(hr_monitored_run(m, t->model.feed, feeds, fetch, 2, out, err));
    if (out[1].dtype == HR_FLOAT && out[1].count == 1) t->result.loss = *(const float *)out[1].data;
    hr_tensor_clear(&out[1]);
    return HR_OK;
}

static hr_status loop(training *t, hr_monitored_session *m, int64_t max_steps, hr_error *err)
{
    int64_t step;
    HR_TRY(hr_monitored_step(m, &step, err));
    t->result.first_step = t->result.last_step = step;
    t->result.resumed = hr_monitored_restored(m);
    t->result.finished = max_steps > 0 && step >= max_steps;
    if (t->result.finished) return HR_OK;
    HR_TRY(hr__model_open_input(&t->model, err));
    uint64_t start = uv_hrtime();
    hr_status st = HR_OK;
    while (st == HR_OK && !hr_should_stop(m)) st = one_step(t, m, err);
    t->result.seconds = (double)(uv_hrtime() - start) * 1e-9;
    if (st == HR_END) t->result.finished = true;
    if (st == HR_OK || st == HR_END) st = hr_monitored_step(m, &t->result.last_step, err);
    t->result.finished |= max_steps > 0 && t->result.last_step >= max_steps;
    return st;
}

static hr_status run(training *t, const hr_train_opts *o, hr_hook *more, hr_error *err)
{
    hook_list hooks = {0};
    hr_checkpointed extra[] = {
        {"headrace/identity", save_identity, restore_identity, &t->model},
        {"headrace/iterator", save_iterator, restore_iterator, &t->model},
    };
    add_hooks(t, &hooks, o, more);
    hr_monitored_session *m =
        hr_monitored_session_new(t->model.graph, hooks.hook, hooks.count, .checkpoint_dir = t->model.e->model_dir,
                                 .extra = extra, .extras = 2, .workers = t->model.e->config.workers);
    if (!m) return hr_no_memory(err, "a session");
    hr_error closing = {0};
    hr_status st = HR_OK;
    if (!hr_monitored_session_error(m)) st = loop(t, m, o->max_steps, err);
    hr_status closed = hr_monitored_session_close(m, st != HR_OK, &closing);
    if (st != HR_OK || closed == HR_OK) return st;
    *err = closing;
    return closed;
}

hr_status hr__estimator_train(hr_estimator *e, hr_input_fn *fn, void *user, const hr_train_opts *o, hr_hook *more,
                              hr_error *err)
{
    training t = {0};
    hr_status st = HR_OK;
    if (!e->model_dir[0])
        st = hr_fail(err, HR_INVALID_ARGUMENT, "estimator.model_dir", "estimator: expected a model_dir, got none");
    else if (o->steps > 0 && o->max_steps > 0)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "estimator.steps", "train: expected steps or max_steps, got both");
    else
        st = hr__model_open(e, HR_MODE_TRAIN, fn, user, &t.model, err);
    if (st != HR_OK) {
        for (int i = 0; i < o->hook_count; i++) hr_hook_free(o->hooks[i]);
        hr_hook_free(more);
        return st;
    }
    hr_spec_summary(&t.model.spec, "loss", t.model.spec.loss, false);
    st = run(&t, o, more, err);
    hr__model_close(&t.model);
    if (o->result) *o->result = t.result;
    return st;
}

hr_status hr_estimator_train_with(hr_estimator *e, hr_input_fn *fn, void *user, const hr_train_opts *o)
{
    e->error = (hr_error){0};
    return hr__estimator_train(e, fn, user, o, NULL, &e->error);
}
