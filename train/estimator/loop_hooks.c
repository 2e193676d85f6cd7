/* Hooks that the loops of an estimator are made of: one reads the input, one ends an evaluation, one looks at the loss
 * before a checkpoint is written. */
#include "train/estimator/estimator_internal.h"
#include <math.h>
#include <uv.h>

/* ---- the list ---- */

bool hr__loop_hooks_open(hook_list *l, int capacity)
{
    *l = (hook_list){.hook = hr_calloc((size_t)capacity, sizeof *l->hook)};
    l->capacity = l->hook ? capacity : 0;
    return l->hook;
}

void hr__loop_hooks_add(hook_list *l, hr_hook *hook)
{
    if (hook && l->count < l->capacity)
        l->hook[l->count++] = hook;
    else
        hr_hook_free(hook);
}

void hr__loop_hooks_add_spec(hook_list *l, hr_hook **hook, int *count)
{
    for (int i = 0; i < *count; i++) hr__loop_hooks_add(l, hook[i]);
    *count = 0;
}

hr_status hr__loop_hooks_check(const char *who, hr_hook *const *hooks, int count, hr_error *err)
{
    if (count >= 0 && (count == 0 || hooks)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.argument", "%s: expected %d hooks, got NULL", who, count);
}

void hr__loop_hooks_refuse(hr_hook *const *hooks, int count)
{
    for (int i = 0; hooks && i < count; i++) hr_hook_free(hooks[i]);
}

/* ---- the input ---- */

typedef struct input_hook {
    model *model;
} input_hook;

/* It is the last of all hooks, so that those before it are asked also where the input is at its end, as TensorFlow's
 * are, and no batch is taken for a run that one of them prevents. */
static hr_status input_before_run(void *state, hr_monitored_session *session, hr_run_request *request, hr_error *err)
{
    model *m = ((const input_hook *)state)->model;
    int feeds = 0;
    (void)session;
    const uint64_t start = uv_hrtime();
    const hr_status st = hr__model_next(m, &m->element, &feeds, err);
    m->input_seconds += (double)(uv_hrtime() - start) * 1e-9;
    m->ended = st == HR_END;
    if (st != HR_OK) return st;
    for (int i = 0; i < feeds; i++) HR_TRY(hr_request_feed(request, m->feed[i].node, m->feed[i].value, err));
    return HR_OK;
}

static const hr_hook_kind input_kind = {
    .head = HR_HOOK_HEAD,
    .name = "input",
    .state_size = sizeof(input_hook),
    .before_run = input_before_run,
};

hr_hook *hr__input_hook(model *m) { return hr_hook_new(&input_kind, &(input_hook){m}); }

/* ---- the end of an evaluation ---- */

typedef struct stop_evaluation {
    int64_t steps, done;
} stop_evaluation;

static hr_status stop_evaluation_after_run(void *state, hr_monitored_session *m, const hr_tensor *results,
                                           hr_error *err)
{
    stop_evaluation *s = state;
    (void)results, (void)err;
    s->done++;
    const int64_t every = s->steps < 20 ? 1 : s->steps / 10;
    if (s->done % every == 0 || s->done == s->steps)
        hr_log_message(HR_INFO, "Evaluation [%lld/%lld]", (long long)s->done, (long long)s->steps);
    if (s->done >= s->steps) hr_request_stop(m);
    return HR_OK;
}

static const hr_hook_kind stop_evaluation_kind = {
    .head = HR_HOOK_HEAD,
    .name = "stop_evaluation",
    .state_size = sizeof(stop_evaluation),
    .after_run = stop_evaluation_after_run,
};

hr_hook *hr__stop_evaluation_hook(int64_t steps)
{
    return hr_hook_new(&stop_evaluation_kind, &(stop_evaluation){.steps = steps});
}

/* ---- no checkpoint of a loss that is NaN ---- */

static hr_status guard_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)m;
    return hr_request_fetch(request, (*(loss_guard **)state)->loss, err);
}

static hr_status guard_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    (void)m, (void)err;
    const hr_tensor *t = &results[0];
    loss_guard *g = *(loss_guard **)state;
    g->is_nan = t->count == 1 && ((t->dtype == HR_FLOAT && isnan(*(const float *)t->data)) ||
                                  (t->dtype == HR_DOUBLE && isnan(*(const double *)t->data)));
    return HR_OK;
}

/* What a failed session has seen is no loss of this one. */
static hr_status guard_after_create_session(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)m, (void)err;
    (*(loss_guard **)state)->is_nan = false;
    return HR_OK;
}

static const hr_hook_kind guard_kind = {
    .head = HR_HOOK_HEAD,
    .name = "loss_guard",
    .state_size = sizeof(loss_guard *),
    .after_create_session = guard_after_create_session,
    .before_run = guard_before_run,
    .after_run = guard_after_run,
};

hr_hook *hr__loss_guard_hook(loss_guard *g) { return hr_hook_new(&guard_kind, &g); }

static hr_status guard_begin(void *user, hr_graph *g, hr_error *err)
{
    const hr_saver_listener *l = ((const loss_guard *)user)->listener;
    return l && l->begin ? l->begin(l->user, g, err) : HR_OK;
}

static hr_status guard_before_save(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    const loss_guard *g = user;
    const hr_saver_listener *l = g->listener;
    if (g->is_nan)
        return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.nan",
                       "step %lld: the loss '%s' is not a number (NaN), so no checkpoint is written; a smaller "
                       "learning rate may help",
                       (long long)step, hr_node_name(g->loss));
    return l && l->before_save ? l->before_save(l->user, m, step, err) : HR_OK;
}

static hr_status guard_after_save(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    const hr_saver_listener *l = ((const loss_guard *)user)->listener;
    return l && l->after_save ? l->after_save(l->user, m, step, err) : HR_OK;
}

static hr_status guard_end(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    const hr_saver_listener *l = ((const loss_guard *)user)->listener;
    return l && l->end ? l->end(l->user, m, step, err) : HR_OK;
}

hr_saver_listener hr__loss_guard_listener(loss_guard *g)
{
    return (hr_saver_listener){guard_begin, guard_before_save, guard_after_save, guard_end, g};
}
