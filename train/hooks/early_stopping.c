/* Early stopping: looks at what evaluations have written, and stops the training where a metric has crossed a threshold
 * or has not become better for too long. tf.estimator.experimental.stop_if_higher_hook and its kin. */
#include <headrace/hooks.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct early_stopping {
    hr_timer timer;
    char *eval_dir, *metric;
    bool larger;       /* what is looked for: values above the threshold, or an increase */
    bool by_threshold; /* else by steps without becoming better */
    double threshold;
    int64_t max_steps, min_steps;
} early_stopping;

/* ---- what evaluations have written ---- */

typedef struct evaluation {
    int64_t step;
    bool has;     /* false: there are numbers of this step, but none of the metric */
    double value; /* the one written last */
} evaluation;

typedef struct evaluations {
    evaluation *of;
    int count;
} evaluations;

/* The one of a step, new if there is none. NULL: no memory. */
static evaluation *evaluation_of_step(evaluations *all, int64_t step)
{
    for (int i = all->count; i-- > 0;)
        if (all->of[i].step == step) return &all->of[i];
    evaluation *grown = hr_realloc(all->of, ((size_t)all->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    all->of = grown;
    grown[all->count] = (evaluation){.step = step};
    return &grown[all->count++];
}

static hr_status add_events(hr_event_reader *reader, const char *metric, evaluations *all, hr_error *err)
{
    const hr_event *e;
    hr_status st;
    while ((st = hr_event_read(reader, &e, err)) == HR_OK) {
        if (e->kind != HR_EVENT_SCALAR) continue;
        evaluation *to = evaluation_of_step(all, e->step);
        if (!to) return hr_no_memory(err, "evaluations");
        if (strcmp(e->tag, metric) == 0) to->has = true, to->value = e->scalar;
    }
    return st == HR_END ? HR_OK : st;
}

static int by_step(const void *a, const void *b)
{
    const int64_t s = ((const evaluation *)a)->step, t = ((const evaluation *)b)->step;
    return s < t ? -1 : s > t;
}

/* By step. A folder that is not there holds none. What is damaged or not finished is passed over: another process may be
 * writing it. */
static hr_status read_evaluations(const char *folder, const char *metric, evaluations *all, hr_error *err)
{
    const hr_policy policy = {.on_error = HR_RESYNC};
    hr_event_reader *reader;
    const hr_status found = hr_event_reader_open(folder, &policy, &reader, err);
    if (found != HR_OK) return found == HR_NOT_FOUND ? HR_OK : found;
    const hr_status st = add_events(reader, metric, all, err);
    hr_event_reader_free(reader);
    if (all->count > 1) qsort(all->of, (size_t)all->count, sizeof *all->of, by_step);
    return st;
}

/* ---- what follows from it ---- */

/* NaN is worse than any number: a first evaluation of NaN is not the best for ever. */
static bool is_better(const early_stopping *s, double value, double than)
{
    if (isnan(than)) return !isnan(value);
    return s->larger ? value > than : value < than;
}

static bool has_crossed(const early_stopping *s, const evaluation *v)
{
    if (s->larger ? !(v->value > s->threshold) : !(v->value < s->threshold)) return false;
    hr_log_message(HR_INFO, "At step %lld, metric \"%s\" has value %g which is %s than the configured threshold (%g)",
                   (long long)v->step, s->metric, v->value, s->larger ? "higher" : "lower", s->threshold);
    return true;
}

static bool has_waited(const early_stopping *s, const evaluation *v, evaluation *best, bool first)
{
    if (first || is_better(s, v->value, best->value)) *best = *v;
    if (v->step - best->step < s->max_steps) return false;
    hr_log_message(HR_INFO, "No %s in metric \"%s\" for %lld steps, the configured maximum is %lld",
                   s->larger ? "increase" : "decrease", s->metric, (long long)(v->step - best->step),
                   (long long)s->max_steps);
    return true;
}

/* Looks at all evaluations again, from min_steps on, by step: what was written last counts. */
static hr_status should_stop(const early_stopping *s, const evaluations *all, bool *stop, hr_error *err)
{
    evaluation best = {0};
    bool first = true;
    for (int i = 0; i < all->count && !*stop; i++) {
        const evaluation *v = &all->of[i];
        if (v->step < s->min_steps) continue;
        if (!v->has)
            return hr_fail(
                err, HR_NOT_FOUND, "hooks.metric",
                "early_stopping: expected the metric \"%s\" among those of step %lld in %s, found only others",
                s->metric, (long long)v->step, s->eval_dir);
        *stop = s->by_threshold ? has_crossed(s, v) : has_waited(s, v, &best, first);
        first = false;
    }
    return HR_OK;
}

static hr_status early_begin(void *state, hr_graph *g, hr_error *err)
{
    const early_stopping *s = state;
    hr_global_step(g);
    if (!s->eval_dir || !s->metric) return hr_no_memory(err, "early stopping");
    if (!s->by_threshold && s->max_steps <= 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.steps",
                       "early_stopping: expected a number of steps above 0, got %lld", (long long)s->max_steps);
    return hr_timer_check(&s->timer, "early_stopping", err);
}

static hr_status early_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    early_stopping *s = state;
    const double now = hr_monitored_now(m);
    evaluations all = {0};
    double seconds;
    int64_t step, steps;
    bool stop = false;
    (void)results;
    HR_TRY(hr_monitored_step(m, &step, err));
    if (!hr_timer_due(&s->timer, step, now)) return HR_OK;
    hr_timer_update(&s->timer, step, now, &seconds, &steps);
    hr_status st = read_evaluations(s->eval_dir, s->metric, &all, err);
    if (st == HR_OK) st = should_stop(s, &all, &stop, err);
    hr_free(all.of);
    if (st != HR_OK || !stop) return st;
    hr_log_message(HR_INFO, "Requesting early stopping at global step %lld", (long long)step);
    hr_request_stop(m);
    return HR_OK;
}

static void early_release(void *state)
{
    hr_free(((early_stopping *)state)->eval_dir);
    hr_free(((early_stopping *)state)->metric);
}

static const hr_hook_kind early_stopping_kind = {
    .head = HR_HOOK_HEAD,
    .name = "early_stopping",
    .state_size = sizeof(early_stopping),
    .begin = early_begin,
    .after_run = early_after_run,
    .release = early_release,
};

static hr_hook *early_new(const char *eval_dir, const char *metric, early_stopping s,
                          const hr_early_stopping_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_early_stopping_hook_opts, opts);
    if (!eval_dir || !metric) return hr_hook_refused();
    s.eval_dir = hr_strdup(eval_dir);
    s.metric = hr_strdup(metric);
    s.min_steps = opts->min_steps;
    s.timer.every_steps = opts->run_every_steps;
    s.timer.every_secs = opts->run_every_secs != 0 || opts->run_every_steps != 0 ? opts->run_every_secs : 60;
    return hr_hook_new(&early_stopping_kind, &s);
}

hr_hook *hr_stop_if_higher_hook_with(const char *eval_dir, const char *metric, double threshold,
                                     const hr_early_stopping_hook_opts *opts)
{
    return early_new(eval_dir, metric, (early_stopping){.larger = true, .by_threshold = true, .threshold = threshold},
                     opts);
}

hr_hook *hr_stop_if_lower_hook_with(const char *eval_dir, const char *metric, double threshold,
                                    const hr_early_stopping_hook_opts *opts)
{
    return early_new(eval_dir, metric, (early_stopping){.by_threshold = true, .threshold = threshold}, opts);
}

hr_hook *hr_stop_if_no_increase_hook_with(const char *eval_dir, const char *metric, int64_t max_steps_without_increase,
                                          const hr_early_stopping_hook_opts *opts)
{
    return early_new(eval_dir, metric, (early_stopping){.larger = true, .max_steps = max_steps_without_increase}, opts);
}

hr_hook *hr_stop_if_no_decrease_hook_with(const char *eval_dir, const char *metric, int64_t max_steps_without_decrease,
                                          const hr_early_stopping_hook_opts *opts)
{
    return early_new(eval_dir, metric, (early_stopping){.max_steps = max_steps_without_decrease}, opts);
}
