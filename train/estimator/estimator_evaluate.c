/* Evaluating: the metrics of a model over an input, as results and as events; and predicting, which is the same loop
 * without metrics. */
#include "base/text.h"
#include "train/estimator/estimator_internal.h"
#include <headrace/checkpoint.h>
#include <headrace/summary.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A loop over the batches of an input with a restored model. */
typedef struct pass {
    model model;
    hr_monitored_session *session;
    char *checkpoint;
    hr_batch_fn *each;
    void *each_user;
    hr_node fetch[3 * MAX_NAMED + 2];
    const char *name[MAX_NAMED];
    int updates, fetches; /* the first `updates` fetches update metrics, predictions follow */
    int64_t batches;
    double loss_sum;
    bool left;                   /* `each` has ended the loop */
    const hr_predict_opts *keys; /* which predictions are wanted; NULL: all */
} pass;

static bool is_wanted(const pass *p, const char *name)
{
    if (!p->keys || p->keys->predict_key_count <= 0) return true;
    bool wanted = false;
    for (int i = 0; i < p->keys->predict_key_count; i++)
        wanted |= p->keys->predict_keys[i] && strcmp(p->keys->predict_keys[i], name) == 0;
    return wanted;
}

static void choose_fetches(pass *p)
{
    const hr_estimator_spec *s = &p->model.spec;
    if (p->model.mode == HR_MODE_EVAL) {
        p->fetch[p->updates++] = s->loss;
        for (int i = 0; i < s->metrics; i++) p->fetch[p->updates++] = s->metric[i].metric.update;
    }
    p->fetches = p->updates;
    for (int i = 0; i < s->predictions && p->each; i++) {
        if (!is_wanted(p, s->prediction[i].name)) continue;
        p->name[p->fetches - p->updates] = s->prediction[i].name;
        p->fetch[p->fetches++] = s->prediction[i].node;
    }
}

static hr_status check_keys(const pass *p, hr_error *err)
{
    if (!p->keys || p->fetches > 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.predict_keys",
                   "predict: expected one of the model's predictions among predict_keys, found none, first '%s'",
                   p->keys->predict_key_count > 0 && p->keys->predict_keys[0] ? p->keys->predict_keys[0] : "");
}

static hr_status run_batch(pass *p, hr_error *err)
{
    hr_tensor out[3 * MAX_NAMED + 2];
    HR_TRY(hr_monitored_run(p->session, NULL, 0, p->fetch, p->fetches, out, err));
    if (p->updates && out[0].dtype == HR_FLOAT && out[0].count == 1) p->loss_sum += (double)*(const float *)out[0].data;
    hr_status st = HR_OK;
    if (p->each) st = p->each(p->model.element, p->name, out + p->updates, p->fetches - p->updates, p->each_user, err);
    p->left = st == HR_END;
    for (int i = 0; i < p->fetches; i++) hr_tensor_clear(&out[i]);
    p->batches++;
    return st;
}

static hr_status run_batches(pass *p, hr_error *err)
{
    hr_status st = HR_OK;
    while (st == HR_OK && !hr_should_stop(p->session)) st = run_batch(p, err);
    return st == HR_END ? HR_OK : st;
}

/* The checkpoint asked for, or the newest whole one. */
static hr_status find_checkpoint(const hr_estimator *e, const hr_evaluate_opts *o, char **found, hr_error *err)
{
    if (o->checkpoint_path) {
        *found = hr_strdup(o->checkpoint_path);
        return *found ? HR_OK : hr_no_memory(err, "a path");
    }
    HR_TRY(hr_whole_checkpoint(e->model_dir, found, err));
    if (*found) return HR_OK;
    if (o->initial_values || e->warm_start_from) {
        hr_log_message(HR_WARNING, "%s: no checkpoint; the model has its %s values", e->model_dir,
                       e->warm_start_from ? "warm-started" : "initial");
        return HR_OK;
    }
    return hr_fail(err, HR_NOT_FOUND, "estimator.checkpoint",
                   "%s: expected a trained model, found no checkpoint; train it first", e->model_dir);
}

/* Takes the caller's hooks. */
static hr_status pass_session(pass *p, const hr_evaluate_opts *o, hr_error *err)
{
    const hr_run_config *c = &p->model.e->config;
    hr_estimator_spec *s = &p->model.spec;
    hook_list l;
    const bool opened = hr__loop_hooks_open(&l, 2 + o->hook_count + s->hooks);
    for (int i = 0; i < o->hook_count; i++) hr__loop_hooks_add(&l, o->hooks[i]);
    if (o->steps > 0) hr__loop_hooks_add(&l, hr__stop_evaluation_hook(o->steps));
    hr__loop_hooks_add_spec(&l, s->hook, &s->hooks);
    hr__loop_hooks_add(&l, hr__input_hook(&p->model));
    if (opened)
        p->session = hr_monitored_session_new(p->model.graph, l.hook, l.count, .checkpoint_path = p->checkpoint,
                                              .init_fn = hr__model_warm_start, .init_user = &p->model,
                                              .workers = c->workers, .passes = hr__passes_of(c),
                                              .products = c->products, .now = c->now, .user = c->now_user);
    hr_free(l.hook);
    if (!p->session) return hr_no_memory(err, "a session");
    const hr_error *failed = hr_monitored_session_error(p->session);
    if (failed) *err = *failed;
    return failed ? failed->code : hr__model_open_input(&p->model, (hr_view){NULL, 0}, err);
}

/* Takes the hooks of `o`. */
static hr_status open_pass(hr_estimator *e, hr_mode mode, hr_input_fn *fn, void *user, const hr_evaluate_opts *o,
                           pass *p, hr_error *err)
{
    hr_status st = hr__loop_hooks_check(mode == HR_MODE_EVAL ? "evaluate" : "predict", o->hooks, o->hook_count, err);
    if (st == HR_OK) st = find_checkpoint(e, o, &p->checkpoint, err);
    if (st == HR_OK) st = hr__model_open(e, mode, fn, user, &p->model, err);
    if (st != HR_OK) {
        hr__loop_hooks_refuse(o->hooks, o->hook_count);
        return st;
    }
    choose_fetches(p);
    st = check_keys(p, err);
    if (st == HR_OK) return pass_session(p, o, err);
    hr__loop_hooks_refuse(o->hooks, o->hook_count);
    return st;
}

/* Ends the hooks if the loop has ended by itself: `st` is what it gave. */
static hr_status close_pass(pass *p, hr_status st, hr_error *err)
{
    hr_error closing = {0};
    hr_status closed = HR_OK;
    if (p->session) closed = hr_monitored_session_close(p->session, st != HR_OK || p->left, &closing);
    hr__model_close(&p->model);
    hr_free(p->checkpoint);
    if (st != HR_OK || closed == HR_OK) return st;
    *err = closing;
    return closed;
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

static int evaluate_by_name(const void *a, const void *b)
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
    if (e->result_count) qsort(e->results, (size_t)e->result_count, sizeof *e->results, evaluate_by_name);
    return st;
}

/* All results in one event, and which checkpoint they are of. */
static hr_status write_results(hr_estimator *e, hr_event_writer *w, const char *checkpoint, hr_error *err)
{
    hr_summary_value value[MAX_NAMED + 2];
    float number[MAX_NAMED + 2];
    int count = 0;
    int64_t step = (int64_t)hr_estimator_result(e, "global_step");
    for (int i = 0; i < e->result_count; i++) {
        if (strcmp(e->results[i].name, "global_step") == 0) continue;
        number[count] = (float)e->results[i].value;
        value[count] = (hr_summary_value){.tag = e->results[i].name, .values = &number[count], .count = 1};
        count++;
    }
    HR_TRY(hr_event_summary(w, value, count, step, err));
    return checkpoint ? hr_event_text(w, "checkpoint_path", checkpoint, step, err) : HR_OK;
}

/* The graph, as TensorFlow's evaluations have it, then the results. */
static hr_status write_evaluation(hr_summary_writer *w, const pass *p, hr_error *err)
{
    hr_event_writer *events;
    HR_TRY(hr_summary_writer_open(w, &events, err));
    HR_TRY(hr_summary_writer_graph(w, p->model.graph, err));
    return write_results(p->model.e, events, p->checkpoint, err);
}

static hr_status write_events(const pass *p, const char *name, hr_error *err)
{
    hr__text below = {0};
    hr__text_printf(&below, "eval%s%s", name ? "_" : "", name ? name : "");
    HR_TRY(hr__text_status(&below, "a path", err));
    char *folder = hr__path_in(p->model.e->model_dir, below.data);
    hr__text_free(&below);
    if (!folder) return hr_no_memory(err, "a path");
    hr_summary_writer *w = hr_summary_writer_new(folder);
    const hr_status st = w ? write_evaluation(w, p, err) : hr_no_memory(err, "an event file");
    hr_summary_writer_unref(w);
    hr_free(folder);
    return st;
}

static hr_status evaluate(hr_estimator *e, hr_input_fn *fn, void *user, const hr_evaluate_opts *o, hr_error *err)
{
    pass p = {.each = o->each, .each_user = o->each_user};
    hr_status st = open_pass(e, HR_MODE_EVAL, fn, user, o, &p, err);
    if (st == HR_OK) st = run_batches(&p, err);
    if (st == HR_OK) st = collect_results(e, &p, err);
    if (st == HR_OK) st = write_events(&p, o->name, err);
    return close_pass(&p, st, err);
}

hr_status hr_estimator_evaluate_with(hr_estimator *e, hr_input_fn *fn, void *user, const hr_evaluate_opts *o)
{
    o = &HR_OPTIONS(hr_evaluate_opts, o);
    const hr_status st = hr__estimator_begin(e, fn);
    if (st != HR_OK) hr__loop_hooks_refuse(o->hooks, o->hook_count);
    return st == HR_OK ? evaluate(e, fn, user, o, &e->error) : st;
}

hr_status hr_estimator_predict_with(hr_estimator *e, hr_input_fn *fn, void *user, hr_batch_fn *each, void *each_user,
                                    const hr_predict_opts *o)
{
    o = &HR_OPTIONS(hr_predict_opts, o);
    const hr_evaluate_opts as = {.checkpoint_path = o->checkpoint_path, .hooks = o->hooks, .hook_count = o->hook_count};
    hr_status st = hr__estimator_begin(e, fn);
    if (st == HR_OK && !each)
        st = hr_fail(&e->error, HR_INVALID_ARGUMENT, "estimator.argument",
                     "predict: expected a function that takes the predictions, got NULL");
    if (st == HR_OK && o->predict_key_count > 0 && !o->predict_keys)
        st = hr_fail(&e->error, HR_INVALID_ARGUMENT, "estimator.argument",
                     "predict: expected %d predict_keys, got NULL", o->predict_key_count);
    if (st != HR_OK) {
        hr__loop_hooks_refuse(o->hooks, o->hook_count);
        return st;
    }
    pass p = {.each = each, .each_user = each_user, .keys = o};
    st = open_pass(e, HR_MODE_PREDICT, fn, user, &as, &p, &e->error);
    if (st == HR_OK) st = run_batches(&p, &e->error);
    return close_pass(&p, st, &e->error);
}

/* ---- in turn with training ---- */

/* Listens to the saver: evaluates what was just saved. */
typedef struct evaluator {
    hr_estimator *e;
    const hr_eval_spec *spec;
    const hr_train_spec *train; /* whose listeners are called first */
    double throttle;
    int64_t max_steps; /* 0: none */
    bool saved_once;
    hr_timer timer;
} evaluator;

static hr_status evaluate_now(evaluator *v, hr_monitored_session *m, int64_t step, hr_error *err)
{
    char *checkpoint;
    double seconds;
    int64_t steps;
    hr_evaluate_opts o = {.steps = v->spec->steps ? *v->spec->steps : 100, .name = v->spec->name};
    hr_timer_update(&v->timer, step, hr_monitored_now(m), &seconds, &steps);
    HR_TRY(hr_whole_checkpoint(v->e->model_dir, &checkpoint, err));
    o.checkpoint_path = checkpoint;
    hr_hook *hooks[MAX_HOOKS];
    if (v->spec->hooks) o.hook_count = v->spec->hooks(hooks, MAX_HOOKS, v->spec->hooks_user);
    o.hooks = hooks;
    hr_status st = evaluate(v->e, v->spec->input_fn, v->spec->user, &o, err);
    for (int i = 0; i < v->spec->exporter_count && st == HR_OK; i++)
        st = hr_exporter_export(v->spec->exporters[i], v->e, checkpoint, v->max_steps > 0 && step >= v->max_steps, err);
    hr_free(checkpoint);
    return st;
}

static hr_status evaluator_begin(void *user, hr_graph *g, hr_error *err)
{
    const hr_train_spec *t = ((const evaluator *)user)->train;
    for (int i = 0; i < t->saving_listener_count; i++) {
        const hr_saver_listener *l = &t->saving_listeners[i];
        if (l->begin) HR_TRY(l->begin(l->user, g, err));
    }
    return HR_OK;
}

static hr_status evaluator_before_save(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    const hr_train_spec *t = ((const evaluator *)user)->train;
    for (int i = 0; i < t->saving_listener_count; i++) {
        const hr_saver_listener *l = &t->saving_listeners[i];
        if (l->before_save) HR_TRY(l->before_save(l->user, m, step, err));
    }
    return HR_OK;
}

/* The first save is that of the beginning. */
static hr_status evaluator_after_save(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    evaluator *v = user;
    for (int i = 0; i < v->train->saving_listener_count; i++) {
        const hr_saver_listener *l = &v->train->saving_listeners[i];
        if (l->after_save) HR_TRY(l->after_save(l->user, m, step, err));
    }
    if (!v->saved_once) {
        v->saved_once = true;
        return HR_OK;
    }
    bool due = !v->timer.triggered || hr_monitored_now(m) >= v->timer.last_time + v->throttle;
    return due && step != v->timer.last_step ? evaluate_now(v, m, step, err) : HR_OK;
}

static hr_status evaluator_end(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    evaluator *v = user;
    for (int i = 0; i < v->train->saving_listener_count; i++) {
        const hr_saver_listener *l = &v->train->saving_listeners[i];
        if (l->end) HR_TRY(l->end(l->user, m, step, err));
    }
    return v->timer.triggered && step == v->timer.last_step ? HR_OK : evaluate_now(v, m, step, err);
}

hr_status hr_train_and_evaluate(hr_estimator *e, const hr_train_spec *train, const hr_eval_spec *eval)
{
    hr_status st = hr__estimator_begin(e, train && eval ? eval->input_fn : NULL);
    if (st == HR_OK && (eval->exporter_count < 0 || (eval->exporter_count > 0 && !eval->exporters)))
        st = hr_fail(&e->error, HR_INVALID_ARGUMENT, "estimator.argument",
                     "train_and_evaluate: expected %d exporters, got NULL", eval->exporter_count);
    if (st == HR_OK && train->saving_listener_count > 0 && !train->saving_listeners)
        st = hr_fail(&e->error, HR_INVALID_ARGUMENT, "estimator.argument",
                     "train_and_evaluate: expected %d saving_listeners, got NULL", train->saving_listener_count);
    for (int i = 0; st != HR_OK && train && train->hooks && i < train->hook_count; i++) hr_hook_free(train->hooks[i]);
    HR_TRY(st);
    evaluator v = {.e = e,
                   .spec = eval,
                   .train = train,
                   .throttle = eval->throttle_secs ? (double)*eval->throttle_secs : 600,
                   .max_steps = train->max_steps};
    v.timer.last_step = -1;
    hr_saver_listener listener = {evaluator_begin, evaluator_before_save, evaluator_after_save, evaluator_end, &v};
    return hr_estimator_train(e, train->input_fn, train->user, .max_steps = train->max_steps, .hooks = train->hooks,
                              .hook_count = train->hook_count, .saving_listener = &listener);
}
