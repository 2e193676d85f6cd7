/* The training loop: a batch, a run with its hooks, until someone asks to stop or the input ends. */
#include "train/estimator/estimator_internal.h"
#include <headrace/checkpoint.h>
#include <headrace/ops.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define IDENTITY "headrace/identity"
#define ITERATOR "headrace/iterator"
#define PRODUCTS "headrace/products"

typedef struct training {
    model model;
    hr_train_result result;
    loss_guard guard;
    char products[160]; /* what computed those of the training that is resumed; "": not known */
} training;

/* ---- what is saved besides variables ---- */

/* As of the batch consumed last. */
static hr_status save_iterator(void *user, void **data, size_t *size, hr_error *err)
{
    return hr_iterator_save(((model *)user)->it, data, size, err);
}

/* The input is opened with the weights, so that changed files or another pipeline are refused before anything is
 * done. */
static hr_status restore_iterator(void *user, hr_view state, hr_error *err)
{
    model *m = user;
    if (m->new_input) state = (hr_view){NULL, -1};
    m->new_input = false; /* a session that is made anew goes on where this one was */
    if (!m->input_begun || state.size >= 0) HR_TRY(hr__model_open_input(m, state, err));
    m->input_begun = false;
    const hr_error *failed = hr_iterator_error(m->it);
    if (!failed) return HR_OK;
    *err = *failed;
    if (state.size >= 0 && failed->code != HR_RESOURCE_EXHAUSTED)
        hr_error_prefix(
            err, "the model in %s cannot go on with this input (.new_input begins with another): ", m->e->model_dir);
    return failed->code;
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

static hr_status save_products(void *user, void **data, size_t *size, hr_error *err)
{
    char text[sizeof((training *)user)->products];
    hr_products_text(((training *)user)->model.e->config.products, text, sizeof text);
    *size = strlen(text);
    *data = hr_memdup(text, *size);
    return *data ? HR_OK : hr_no_memory(err, "a checkpoint");
}

static hr_status restore_products(void *user, hr_view was, hr_error *err)
{
    training *t = user;
    (void)err;
    t->products[0] = '\0';
    if (was.size > 0) (void)snprintf(t->products, sizeof t->products, "%.*s", (int)was.size, was.data);
    return HR_OK;
}

/* After the first step: what it needs is loaded. For debugging, since TensorFlow's estimators say nothing of it. */
static void tell_products(const training *t)
{
    char text[sizeof t->products];
    hr_products_text(t->model.e->config.products, text, sizeof text);
    hr_log_message(HR_DEBUG, "Products of matrices by %s.", text);
    if (!hr_products_are_fast(t->model.e->config.products))
        hr_log_message(HR_WARNING,
                       "products of bfloat16 are slow on this processor, which has no AVX512_BF16; products of "
                       "floats would be faster");
    if (t->products[0] && strcmp(t->products, text) != 0)
        hr_log_message(
            HR_WARNING,
            "the training does not go on bit for bit: its checkpoint was saved with products by %s, now they "
            "are by %s",
            t->products, text);
}

/* ---- a training that has nothing left to do ---- */

/* What a checkpoint holds of this training. */
typedef struct found_checkpoint {
    char *prefix; /* NULL: there is none, or none of a step */
    int64_t step; /* -1: it has none */
} found_checkpoint;

static hr_status train_read_step(hr_bundle *b, int64_t *step, hr_error *err)
{
    hr_tensor value;
    bool has;
    HR_TRY(hr_bundle_has(b, "global_step", &has, err));
    if (!has) return HR_OK;
    HR_TRY(hr_bundle_read(b, "global_step", &value, err));
    if (value.dtype == HR_INT64 && value.count == 1) *step = *(const int64_t *)value.data;
    hr_tensor_clear(&value);
    return HR_OK;
}

static hr_status check_identity(hr_estimator *e, hr_bundle *b, hr_error *err)
{
    model m = {.e = e};
    hr_tensor value;
    bool has;
    HR_TRY(hr_bundle_has(b, IDENTITY, &has, err));
    if (!has) return HR_OK;
    HR_TRY(hr_bundle_read(b, IDENTITY, &value, err));
    hr_status st =
        value.dtype == HR_STRING && value.count == 1 ? restore_identity(&m, *(const hr_view *)value.data, err) : HR_OK;
    hr_tensor_clear(&value);
    return st;
}

/* What our own trainings save before their first step holds nothing that was learnt: one that failed there must not
 * stand in the way of the next, whose config may be another. */
static hr_status read_checkpoint(hr_estimator *e, hr_bundle *b, found_checkpoint *out, hr_error *err)
{
    bool ours;
    HR_TRY(train_read_step(b, &out->step, err));
    HR_TRY(hr_bundle_has(b, ITERATOR, &ours, err));
    if (!ours || out->step != 0) return check_identity(e, b, err);
    hr_free(out->prefix);
    *out = (found_checkpoint){.step = -1};
    return HR_OK;
}

/* Looks into the newest whole checkpoint before anything is built: one at max_steps is left as it is. Gives
 * out->prefix. */
static hr_status look_at_checkpoint(hr_estimator *e, found_checkpoint *out, hr_error *err)
{
    hr_bundle *b;
    *out = (found_checkpoint){.step = -1};
    HR_TRY(hr_whole_checkpoint(e->model_dir, &out->prefix, err));
    if (!out->prefix) return HR_OK;
    HR_TRY(hr_bundle_open(out->prefix, &b, err));
    const hr_status st = read_checkpoint(e, b, out, err);
    hr_bundle_free(b);
    return st;
}

/* ---- hooks ---- */

static int64_t or_default(int64_t value, int64_t by_default) { return value ? value : by_default; }

static void add_saver(training *t, hook_list *l, const hr_train_opts *o, hr_summary_writer *w)
{
    const hr_estimator *e = t->model.e;
    const hr_run_config *c = &e->config;
    double secs = c->save_checkpoints_steps > 0 ? 0 : c->save_checkpoints_secs > 0 ? c->save_checkpoints_secs : 600;
    if (c->save_checkpoints_steps < 0) return;
    t->guard = (loss_guard){.loss = t->model.spec.loss, .listener = o->saving_listener};
    hr__loop_hooks_add(l, hr__loss_guard_hook(&t->guard));
    hr__loop_hooks_add(l, hr_checkpoint_saver_hook(e->model_dir, .save_steps = c->save_checkpoints_steps,
                                                   .save_secs = secs, .max_to_keep = c->keep_checkpoint_max,
                                                   .keep_every_n_hours = c->keep_checkpoint_every_n_hours, .writer = w,
                                                   .no_graph_def = c->no_graph_def, .async = c->async_checkpoints,
                                                   .listener = hr__loss_guard_listener(&t->guard)));
}

/* The chief's hooks come first, as in MonitoredTrainingSession: they see each step before the others. But summaries come
 * after the look at the loss: a histogram cannot be made of NaN, and would say so instead. */
static void add_hooks(training *t, hook_list *l, const hr_train_opts *o, hr_summary_writer *w)
{
    const hr_run_config *c = &t->model.e->config;
    hr_estimator_spec *s = &t->model.spec;
    int64_t log_steps = or_default(c->log_step_count_steps, 100);
    add_saver(t, l, o, w);
    hr__loop_hooks_add_spec(l, s->chief_hook, &s->chief_hooks);
    if (log_steps > 0) hr__loop_hooks_add(l, hr_step_counter_hook(.every_n_steps = log_steps, .writer = w));
    for (int i = 0; i < o->hook_count; i++) hr__loop_hooks_add(l, o->hooks[i]);
    if (o->steps > 0) hr__loop_hooks_add(l, hr_stop_at_step_hook(.num_steps = o->steps));
    if (o->max_steps > 0) hr__loop_hooks_add(l, hr_stop_at_step_hook(.last_step = o->max_steps));
    hr__loop_hooks_add(l, hr_nan_tensor_hook(s->loss));
    if (c->save_summary_steps >= 0)
        hr__loop_hooks_add(l, hr_summary_saver_hook(w, s->summary, s->summaries,
                                                    .save_steps = or_default(c->save_summary_steps, 100)));
    if (log_steps > 0) {
        hr_logged logged[] = {{"loss", s->loss}, {"step", hr_variable_named(t->model.graph, "global_step")->read}};
        hr__loop_hooks_add(l, hr_logging_tensor_hook(logged, 2, .every_n_iter = log_steps));
    }
    hr__loop_hooks_add_spec(l, s->hook, &s->hooks);
    hr__loop_hooks_add(l, hr__input_hook(&t->model));
}

/* Takes the caller's hooks and the model function's, in any case. */
static hr_status make_hooks(training *t, hook_list *l, const hr_train_opts *o, hr_error *err)
{
    hr_summary_writer *w = hr_summary_writer_new(t->model.e->model_dir);
    const bool opened = hr__loop_hooks_open(l, 9 + o->hook_count + t->model.spec.hooks + t->model.spec.chief_hooks);
    add_hooks(t, l, o, w);
    hr_summary_writer_unref(w);
    if (w && opened) return HR_OK;
    hr__loop_hooks_refuse(l->hook, l->count);
    hr_free(l->hook);
    return hr_no_memory(err, "hooks");
}

/* ---- the loop ---- */

/* HR_END: the input is at its end, or a hook has ended the training. */
static hr_status one_step(training *t, hr_monitored_session *m, hr_error *err)
{
    const hr_node fetch[] = {hr_target(t->model.spec.train_op), t->model.spec.loss};
    hr_tensor out[2] = {{0}};
    HR_TRY(hr_monitored_run(m, NULL, 0, fetch, 2, out, err));
    if (out[1].dtype == HR_FLOAT && out[1].count == 1) t->result.loss = *(const float *)out[1].data;
    hr_tensor_clear(&out[1]);
    return HR_OK;
}

/* The shortest number that reads back as the same float, as TensorFlow logs it. */
static void log_last_loss(float loss)
{
    char number[40];
    int digits = 1;
    while (snprintf(number, sizeof number, "%.*g", digits, (double)loss), digits < 9 && strtof(number, NULL) != loss)
        digits++;
    if (isnan(loss))
        snprintf(number, sizeof number, "None");
    else if (!strpbrk(number, ".en"))
        snprintf(number + strlen(number), 3, ".0");
    hr_log_message(HR_INFO, "Loss for final step: %s.", number);
}

static hr_status loop(training *t, hr_monitored_session *m, int64_t max_steps, hr_error *err)
{
    hr_train_result *r = &t->result;
    HR_TRY(hr_monitored_step(m, &r->first_step, err));
    r->last_step = r->first_step;
    r->resumed = hr_monitored_restored(m);
    hr_profile_begin(t->model.profile);
    uint64_t start = uv_hrtime();
    hr_status st = HR_OK;
    for (bool told = false; st == HR_OK && !hr_should_stop(m);) {
        st = one_step(t, m, err);
        if (!told && st == HR_OK) tell_products(t);
        told = true;
    }
    r->seconds = (double)(uv_hrtime() - start) * 1e-9;
    r->input_seconds = t->model.input_seconds;
    r->finished = t->model.ended;
    if (st < 0) return st;
    HR_TRY(hr_monitored_step(m, &r->last_step, err));
    r->finished |= max_steps > 0 && r->last_step >= max_steps;
    log_last_loss(r->loss);
    if (r->finished && r->last_step == r->first_step)
        hr_log_message(HR_WARNING, r->resumed ? "the training made no step: its input has ended before; .new_input "
                                                "begins it anew"
                                              : "the training made no step: its input gave no batch");
    return HR_OK;
}

static hr_status train_run(training *t, const char *checkpoint, const hr_train_opts *o, hr_error *err)
{
    hook_list hooks = {0};
    hr_checkpointed extra[] = {
        {IDENTITY, save_identity, restore_identity, &t->model},
        {ITERATOR, save_iterator, restore_iterator, &t->model},
        {PRODUCTS, save_products, restore_products, t},
    };
    const hr_run_config *c = &t->model.e->config;
    HR_TRY(make_hooks(t, &hooks, o, err));
    hr_monitored_session *m = hr_monitored_session_new(
        t->model.graph, hooks.hook, hooks.count, .checkpoint_path = checkpoint ? checkpoint : "",
        .checkpoint_dir = c->save_checkpoints_steps < 0 ? NULL : t->model.e->model_dir, .recovers = true,
        .extra = extra, .extras = 3, .init_fn = hr__model_warm_start, .init_user = &t->model, .workers = c->workers,
        .passes = hr__passes_of(c), .products = c->products, .now = c->now, .user = c->now_user,
        .profile = t->model.profile);
    hr_free(hooks.hook);
    if (!m) return hr_no_memory(err, "a session");
    hr_error closing = {0};
    hr_status st = HR_OK;
    if (!hr_monitored_session_error(m)) st = loop(t, m, o->max_steps, err);
    hr_status closed = hr_monitored_session_close(m, st != HR_OK, &closing);
    if (st != HR_OK || closed == HR_OK) return st;
    *err = closing;
    return closed;
}

static hr_status check_opts(const hr_estimator *e, const hr_train_opts *o, hr_error *err)
{
    if (!e->model_dir[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.model_dir", "estimator: expected a model_dir, got none");
    HR_TRY(hr__loop_hooks_check("train", o->hooks, o->hook_count, err));
    if (o->steps < 0 || o->max_steps < 0 || (o->steps > 0 && o->max_steps > 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.steps",
                       "train: expected one of steps and max_steps above 0, or neither, got %lld and %lld",
                       (long long)o->steps, (long long)o->max_steps);
    if (o->saving_listener && e->config.save_checkpoints_steps < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.listener",
                       "train: a listener of saves needs checkpoints, but save_checkpoints_steps is %lld: none",
                       (long long)e->config.save_checkpoints_steps);
    return HR_OK;
}

/* Without a checkpoint the input begins at once: its threads fill its buffers while variables get their first values
 * and are saved. What fails is told where the session is made. */
static void train_begin_input(model *m, const char *checkpoint)
{
    m->input_begun = !checkpoint && hr__model_open_input(m, (hr_view){NULL, -1}, NULL) == HR_OK;
}

static hr_status train(hr_estimator *e, hr_input_fn *fn, void *user, const char *checkpoint, const hr_train_opts *o,
                       hr_train_result *result, bool *took_hooks, hr_error *err)
{
    training t = {.result.loss = NAN};
    HR_TRY(hr__model_open(e, HR_MODE_TRAIN, fn, user, &t.model, err));
    hr_spec_summary(&t.model.spec, "loss", t.model.spec.loss, false);
    *took_hooks = true;
    t.model.new_input = o->new_input;
    t.model.profile = o->profile;
    train_begin_input(&t.model, checkpoint);
    hr_status st = train_run(&t, checkpoint, o, err);
    hr__model_close(&t.model);
    *result = t.result;
    return st;
}

hr_status hr_estimator_train_with(hr_estimator *e, hr_input_fn *fn, void *user, const hr_train_opts *o)
{
    o = &HR_OPTIONS(hr_train_opts, o);
    bool took_hooks = false;
    hr_train_result result = {.loss = NAN};
    found_checkpoint found = {0};
    hr_status st = hr__estimator_begin(e, fn);
    if (st == HR_OK) st = check_opts(e, o, &e->error);
    if (st == HR_OK) st = look_at_checkpoint(e, &found, &e->error);
    if (st == HR_OK && o->max_steps > 0 && found.step >= o->max_steps)
        result = (hr_train_result){found.step, found.step, .finished = true, .resumed = true, .loss = NAN};
    else if (st == HR_OK)
        st = train(e, fn, user, found.prefix, o, &result, &took_hooks, &e->error);
    if (!took_hooks) hr__loop_hooks_refuse(o->hooks, o->hook_count);
    if (o->result) *o->result = result;
    hr_free(found.prefix);
    return st;
}
