/* SummarySaverHook: values of some nodes into the event file, at the first run and then whenever the timer says so. */
#include "train/hooks/internal.h"
#include <string.h>

typedef struct summary_saver {
    hr_timer timer;
    hr_summary_writer *writer; /* its own reference */
    hr_summarised *summary;    /* copies */
    int count;
    bool started, asked; /* asked: this run fetches them */
} summary_saver;

static hr_status summary_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    summary_saver *s = state;
    int64_t step;
    HR_TRY(hr_monitored_step(m, &step, err));
    s->asked = !s->timer.triggered || hr_timer_due(&s->timer, step + 1, hr_monitored_now(m));
    for (int i = 0; i < s->count && s->asked; i++) HR_TRY(hr_request_fetch(request, s->summary[i].node, err));
    return HR_OK;
}

static hr_status write_value(const summary_saver *s, hr_event_writer *events, int i, const hr_tensor *value,
                             int64_t step, hr_error *err)
{
    if (value->dtype != HR_FLOAT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.summary", "summary '%s': expected float32, got %s",
                       s->summary[i].tag, hr_dtype_name(value->dtype));
    if (s->summary[i].histogram)
        return hr_event_histogram(events, s->summary[i].tag, value->data, value->count, step, err);
    return hr_event_scalar(events, s->summary[i].tag, value->count ? *(const float *)value->data : 0, step, err);
}

static hr_status summary_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    summary_saver *s = state;
    int64_t step, steps;
    double seconds;
    if (!s->asked) return HR_OK;
    hr_event_writer *events;
    HR_TRY(hr_monitored_step(m, &step, err));
    HR_TRY(hr__summary_writer_open(s->writer, &events, err));
    if (!s->started) HR_TRY(hr_event_session(events, HR_SESSION_START, NULL, step, err));
    s->started = true;
    hr_timer_update(&s->timer, step, hr_monitored_now(m), &seconds, &steps);
    for (int i = 0; i < s->count; i++) HR_TRY(write_value(s, events, i, &results[i], step, err));
    return HR_OK;
}

static void summary_release(void *state)
{
    summary_saver *s = state;
    for (int i = 0; i < s->count && s->summary; i++) hr_free((char *)s->summary[i].tag);
    hr_free(s->summary);
    hr_summary_writer_unref(s->writer);
}

static hr_status summary_begin(void *state, hr_graph *g, hr_error *err)
{
    const summary_saver *s = state;
    hr_global_step(g);
    for (int i = 0; i < s->count; i++)
        if (!s->summary || !s->summary[i].tag) return hr_no_memory(err, "summaries");
    return s->writer ? HR_OK : hr_no_memory(err, "summaries");
}

static const hr_hook_kind summary_saver_kind = {
    .head = HR_HOOK_HEAD,
    .name = "summary_saver",
    .state_size = sizeof(summary_saver),
    .begin = summary_begin,
    .before_run = summary_before_run,
    .after_run = summary_after_run,
    .release = summary_release,
};

hr_hook *hr_summary_saver_hook_with(hr_summary_writer *w, const hr_summarised *summaries, int count,
                                    const hr_summary_saver_hook_opts *opts)
{
    summary_saver s = {.writer = hr_summary_writer_ref(w), .count = count};
    s.timer.every_secs = opts->save_secs;
    s.timer.every_steps = opts->save_secs > 0 ? 0 : opts->save_steps > 0 ? opts->save_steps : 100;
    s.summary = hr_memdup(summaries, (size_t)count * sizeof *summaries);
    for (int i = 0; i < count && s.summary; i++) s.summary[i].tag = hr_summary_tag(summaries[i].tag);
    return hr_hook_new(&summary_saver_kind, &s);
}
