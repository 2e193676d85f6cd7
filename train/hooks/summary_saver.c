/* SummarySaverHook: values of some nodes into the event file, at the first run and then whenever the timer says so. */
#include <headrace/hooks.h>
#include <string.h>

typedef struct summary_saver {
    hr_timer timer;
    hr_summary_writer *writer; /* its own reference */
    hr_summarised *summary;    /* copies */
    hr_summary_value *value;   /* of one event */
    int count;
    int64_t before;    /* global_step before this run */
    int64_t next_step; /* what the run before it left to expect; -1: there was none */
    bool asked;        /* this run fetches them */
} summary_saver;

static hr_status summary_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    summary_saver *s = state;
    HR_TRY(hr_monitored_step(m, &s->before, err));
    s->asked = s->next_step < 0 || hr_timer_due(&s->timer, s->next_step, hr_monitored_now(m));
    for (int i = 0; i < s->count && s->asked; i++) HR_TRY(hr_request_fetch(request, s->summary[i].node, err));
    return HR_OK;
}

static hr_status summary_write_values(const summary_saver *s, hr_event_writer *events, const hr_tensor *results,
                                      int64_t step, hr_error *err)
{
    for (int i = 0; i < s->count; i++) {
        if (results[i].dtype != HR_FLOAT)
            return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.summary", "summary '%s': expected float32, got %s",
                           s->summary[i].tag, hr_dtype_name(results[i].dtype));
        s->value[i] = (hr_summary_value){.tag = s->summary[i].tag,
                                         .values = results[i].data,
                                         .count = results[i].count,
                                         .histogram = s->summary[i].histogram};
    }
    return s->count ? hr_event_summary(events, s->value, s->count, step, err) : HR_OK;
}

static hr_status summary_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    summary_saver *s = state;
    int64_t step, steps;
    double seconds;
    hr_event_writer *events;
    const bool first = s->next_step < 0;
    s->next_step = s->before + 2;
    if (!s->asked) return HR_OK;
    HR_TRY(hr_monitored_step(m, &step, err));
    s->next_step = step + 1;
    HR_TRY(hr_summary_writer_open(s->writer, &events, err));
    if (first) HR_TRY(hr_event_session(events, HR_SESSION_START, NULL, step, err));
    hr_timer_update(&s->timer, step, hr_monitored_now(m), &seconds, &steps);
    return summary_write_values(s, events, results, step, err);
}

static void summary_release(void *state)
{
    summary_saver *s = state;
    for (int i = 0; i < s->count && s->summary; i++) hr_free((char *)s->summary[i].tag);
    hr_free(s->summary);
    hr_free(s->value);
    hr_summary_writer_unref(s->writer);
}

static hr_status summary_begin(void *state, hr_graph *g, hr_error *err)
{
    const summary_saver *s = state;
    hr_global_step(g);
    for (int i = 0; i < s->count; i++)
        if (!s->summary || !s->summary[i].tag) return hr_no_memory(err, "summaries");
    if (!s->writer || !s->value) return hr_no_memory(err, "summaries");
    return hr_timer_check(&s->timer, "summary_saver", err);
}

static hr_status summary_after_create_session(void *state, hr_monitored_session *m, hr_error *err)
{
    return hr_summary_writer_begin(((summary_saver *)state)->writer, hr_monitored_graph(m), err);
}

static const hr_hook_kind summary_saver_kind = {
    .head = HR_HOOK_HEAD,
    .name = "summary_saver",
    .state_size = sizeof(summary_saver),
    .begin = summary_begin,
    .after_create_session = summary_after_create_session,
    .before_run = summary_before_run,
    .after_run = summary_after_run,
    .release = summary_release,
};

hr_hook *hr_summary_saver_hook_with(hr_summary_writer *w, const hr_summarised *summaries, int count,
                                    const hr_summary_saver_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_summary_saver_hook_opts, opts);
    if (!w) return hr_hook_lost(); /* a writer is NULL for lack of memory alone */
    if (count < 0 || (count > 0 && !summaries)) return hr_hook_refused();
    summary_saver s = {.writer = hr_summary_writer_ref(w), .count = count, .next_step = -1};
    s.timer.every_secs = opts->save_secs;
    s.timer.every_steps = opts->save_steps;
    s.value = hr_calloc((size_t)count + 1, sizeof *s.value);
    s.summary = hr_memdup(summaries, (size_t)count * sizeof *summaries);
    for (int i = 0; i < count && s.summary; i++) s.summary[i].tag = hr_summary_tag(summaries[i].tag);
    return hr_hook_new(&summary_saver_kind, &s);
}
