/* Evaluating: the metrics of a model over an input, as results and as events; and predicting, which is the same loop without
 * metrics. */
#include "train/estimator/internal.h"
#include <headrace/summary.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A loop over the batches of an input with a restored model. */
typedef struct pass {
    model model;
    hr_monitored_session *session;
    hr_batch_fn *each;
    void *each_user;
    hr_node fetch[3 * MAX_NAMED + 2];
    const char *name[MAX_NAMED];
    int updates, fetches; /* the first `updates` fetches update metrics, predictions follow */
    int64_t batches;
    double loss_sum;
} pass;

static void choose_fetches(pass *p)
{
    const hr_estimator_spec *s = &p->model.spec;
    if (p->model.mode == HR_MODE_EVAL) {
        p->fetch[p->updates++] = s->loss;
        for (int i = 0; i < s->metrics; i++) p->fetch[p->updates++] = s->metric[i].metric.update;
    }
    p->fetches = p->updates;
    for (int i = 0; i < s->predictions && p->each; i++) {
        p->name[i] = s->prediction[i].name;
        p->fetch[p->fetches++] = s->prediction[i].node;
    }
}

static hr_status run_batch(pass *p, const hr_element *element, int feeds, hr_error *err)
{
    hr_tensor out[3 * MAX_NAMED + 2];
    HR_TRY(hr_monitored_run(p->session, p->model.feed, feeds, p->fetch, p->fetches, out, err));
    if (p->updates && out[0].dtype == HR_FLOAT && out[0].count == 1) p->loss_sum += (double)*(const float *)out[0].data;
    hr_status st = HR_OK;
    if (p->each) st = p->each(element, p->name, out + p->updates, p->fetches - p->updates, p->each_user, err);
    for (int i = 0; i < p->fetches; i++) hr_tensor_clear(&out[i]);
    p->batches++;
    return st;
}

static hr_status run_batches(pass *p, int64_t steps, hr_error *err)
{
    hr_status st = hr__model_open_input(&p->model, err);
    while (st == HR_OK && (steps <= 0 || p->batches < steps)) {
        const hr_element *element;
        int feeds;
        st = hr__model_next(&p->model, &element, &feeds, err);
        if (st == HR_OK) st = run_batch(p, element, feeds, err);
    }
    return st == HR_END ? HR_OK : st;
}

static hr_status open_pass(hr_estimator *e, hr_mode mode, hr_input_fn *fn, void *user, const char *checkpoint, pass *p,
                           hr_error *err)
{
    HR_TRY(hr__model_open(e, mode, fn, user, &p->model, err));
    choose_fetches(p);
    p->session =
        hr_monitored_session_new(p->model.graph, NULL, 0, .checkpoint_path = checkpoint,
                                 .checkpoint_dir = checkpoint ? NULL : e->model_dir, .workers = e->config.workers);
    if (!p->session) return hr_no_memory(err, "a session");
    const hr_error *failed = hr_monitored_session_error(p->session);
    if (failed) {
        *err = *failed;
        return failed->code;
    }
    if (hr_monitored_restored(p->session)) return HR_OK;
    return hr_fail(err, HR_NOT_FOUND, "estimator.checkpoint",
                   "%s: expected a trained model, found no checkpoint; train it first", e->model_dir);
}

static void close_pass(pass *p)
{
    if (p->session) hr_monitored_session_close(p->session, true, NULL);
    hr__model_close(&p->model);
}

/* ---- results ---- */

static hr_status add_result(hr_estimator *e, const char *name, double value, hr_error *err)
{
    result *grown = hr_realloc(e->results, ((size_t)e->result_count + 1) * sizeof *grown);
    if (!grown) return hr_no_memory(err, "results");
    e->results = grown;
    char *copy = hr_strdup(name);
    if (!copy) return hr_no_memory(err, "results");
    e->results[e->result_count++] = (result){copy, value};
    return HR_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const result *)a)->name, ((const result *)b)->name);
}

static double scalar(const hr_tensor *t)
{
    if (t->count != 1) return NAN;
    return t->dtype == HR_FLOAT    ? (double)*(const float *)t->data
           : t->dtype == HR_DOUBLE ? *(const double *)t->data
           : t->dtype == HR_INT64  ? (double)*(const int64_t *)t->data
                                   : NAN;
}

static hr_status collect_results(hr_estimator *e, pass *p, hr_error *err)
{
    const hr_estimator_spec *s = &p->model.spec;
    hr_node node[MAX_NAMED + 1];
    hr_tensor value[MAX_NAMED + 1];
    int64_t step;
    for (int i = 0; i < e->result_count; i++) hr_free(e->results[i].name);
    e->result_count = 0;
    for (int i = 0; i < s->metrics; i++) node[i] = s->metric[i].metric.value;
    HR_TRY(hr_monitored_step(p->session, &step, err));
    HR_TRY(hr_session_run(hr_monitored_raw(p->session), NULL, 0, node, s->metrics, value, err));
    hr_status st = HR_OK;
    for (int i = 0; i < s->metrics; i++) {
        if (st == HR_OK) st = add_result(e, s->metric[i].name, scalar(&value[i]), err);
        hr_tensor_clear(&value[i]);
    }
    if (st == HR_OK) st = add_result(e, "loss", p->batches ? p->loss_sum / (double)p->batches : NAN, err);
    if (st == HR_OK) st = add_result(e, "global_step", (double)step, err);
    qsort(e->results, (size_t)e->result_count, sizeof *e->results, by_name);
    return st;
}

static hr_status write_events(hr_estimator *e, const char *name, hr_error *err)
{
    hr_event_writer *w;
    int64_t step = (int64_t)hr_estimator_result(e, "global_step");
    size_t size = strlen(e->model_dir) + (name ? strlen(name) : 0) + 16;
    char *folder = hr_malloc(size);
    if (!folder) return hr_no_memory(err, "a path");
    snprintf(folder, size, "%s/eval%s%s", e->model_dir, name ? "_" : "", name ? name : "");
    hr_status st = hr_event_writer_open(folder, &w, err);
    for (int i = 0; i < e->result_count && st == HR_OK; i++)
        if (strcmp(e->results[i].name, "global_step") != 0)
            st = hr_event_scalar(w, e->results[i].name, (float)e->results[i].value, step, err);
    hr_event_writer_free(w);
    hr_free(folder);
    return st;
}

static hr_status evaluate(hr_estimator *e, hr_input_fn *fn, void *user, const hr_evaluate_opts *o, hr_error *err)
{
    pass p = {.each = o->each, .each_user = o->each_user};
    hr_status st = open_pass(e, HR_MODE_EVAL, fn, user, o->checkpoint_path, &p, err);
    if (st == HR_OK) st = run_batches(&p, o->steps, err);
    if (st == HR_OK) st = collect_results(e, &p, err);
    close_pass(&p);
    return st == HR_OK ? write_events(e, o->name, err) : st;
}

hr_status hr_estimator_evaluate_with(hr_estimator *e, hr_input_fn *fn, void *user, const hr_evaluate_opts *o)
{
    e->error = (hr_error){0};
    return evaluate(e, fn, user, o, &e->error);
}

hr_status hr_estimator_predict_with(hr_estimator *e, hr_input_fn *fn, void *user, hr_batch_fn *each, void *each_user,
                                    const hr_predict_opts *o)
{
    e->error = (hr_error){0};
    pass p = {.each = each, .each_user = each_user};
    hr_status st = open_pass(e, HR_MODE_PREDICT, fn, user, o->checkpoint_path, &p, &e->error);
    if (st == HR_OK) st = run_batches(&p, 0, &e->error);
    close_pass(&p);
    return st;
}

/* ---- in turn with training ---- */

typedef struct evaluator {
    hr_estimator *e;
    const hr_eval_spec *spec;
    hr_timer timer;
} evaluator;

static hr_status evaluate_now(evaluator *v, hr_error *err)
{
    hr_evaluate_opts o = {.steps = v->spec->steps ? *v->spec->steps : 100, .name = v->spec->name};
    return evaluate(v->e, v->spec->input_fn, v->spec->user, &o, err);
}

/* By the clock: a checkpoint of the same step is written by the saver's hook, which comes before this one. */
static hr_status evaluator_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    evaluator *v = state;
    double seconds, now = hr_monitored_now(m);
    int64_t step, steps;
    (void)results;
    HR_TRY(hr_monitored_step(m, &step, err));
    if (!v->timer.triggered) hr_timer_update(&v->timer, step, now, &seconds, &steps); /* armed at the first step */
    if (!hr_timer_due(&v->timer, step, now)) return HR_OK;
    hr_timer_update(&v->timer, step, now, &seconds, &steps);
    return evaluate_now(v, err);
}

static const hr_hook_kind evaluator_kind = {
    .head = HR_HOOK_HEAD,
    .name = "evaluator",
    .state_size = sizeof(evaluator),
    .after_run = evaluator_after_run,
};

hr_status hr_train_and_evaluate(hr_estimator *e, const hr_train_spec *train, const hr_eval_spec *eval)
{
    evaluator v = {.e = e, .spec = eval};
    v.timer.every_secs = eval->throttle_secs ? (double)*eval->throttle_secs : 600;
    hr_train_opts o = {.max_steps = train->max_steps, .hooks = train->hooks, .hook_count = train->hook_count};
    e->error = (hr_error){0};
    hr_hook *hook = v.timer.every_secs > 0 ? hr_hook_new(&evaluator_kind, &v) : NULL;
    hr_status st = hr__estimator_train(e, train->input_fn, train->user, &o, hook, &e->error);
    return st == HR_OK ? evaluate_now(&v, &e->error) : st;
}
