/* ProfilerHook: every so often, what the nodes of one run did, as a file for Chrome's viewer and as an event. */
#include <headrace/checkpoint.h>
#include <headrace/graphdef.h>
#include <headrace/hooks.h>
#include <headrace/io.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct profiler {
    hr_timer timer;
    char *dir;
    hr_summary_writer *writer; /* its own reference, or NULL */
    int64_t step;              /* before this run */
    int64_t next_step;         /* what the run before it left to expect; -1: there was none */
    bool asked;                /* this run is recorded */
} profiler;

static hr_status profiler_begin(void *state, hr_graph *g, hr_error *err)
{
    const profiler *s = state;
    hr_global_step(g);
    if (!s->dir) return hr_no_memory(err, "a profiler");
    return hr_timer_check(&s->timer, "profiler", err);
}

static hr_status profiler_after_create_session(void *state, hr_monitored_session *m, hr_error *err)
{
    const profiler *s = state;
    return s->writer ? hr_summary_writer_begin(s->writer, hr_monitored_graph(m), err) : HR_OK;
}

static hr_status profiler_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    profiler *s = state;
    HR_TRY(hr_monitored_step(m, &s->step, err));
    s->asked = s->next_step >= 0 && hr_timer_due(&s->timer, s->next_step, hr_monitored_now(m));
    return s->asked ? hr_request_stats(request, err) : HR_OK;
}

static hr_status write_timeline(const profiler *s, const hr_run_stats *stats, int64_t step, hr_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "timeline-%" PRId64 ".json", step);
    char *path = hr_checkpoint_prefix(s->dir, name, -1);
    if (!path) return hr_no_memory(err, "a path");
    hr_log_message(HR_INFO, "Saving timeline for %" PRId64 " into '%s'.", step, path);
    hr_status st = hr_make_folders_above(path, err);
    if (st == HR_OK) st = hr_run_stats_trace(stats, path, err);
    hr_free(path);
    return st;
}

static hr_status note_run(const profiler *s, const hr_run_stats *stats, int64_t step, hr_error *err)
{
    hr_event_writer *events;
    char tag[64], *bytes;
    size_t size;
    if (!s->writer) return HR_OK;
    HR_TRY(hr_summary_writer_open(s->writer, &events, err));
    HR_TRY(hr_run_stats_export(stats, &bytes, &size, err));
    snprintf(tag, sizeof tag, "step_%" PRId64, step);
    const hr_status st = hr_event_run_metadata(events, tag, (hr_view){bytes, (int64_t)size}, 0, err);
    hr_free(bytes);
    return st;
}

/* The first run only starts the clock. */
static hr_status profiler_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    profiler *s = state;
    int64_t step = s->step + 1;
    (void)results;
    if (s->next_step < 0) hr_timer_update(&s->timer, s->step, hr_monitored_now(m), NULL, NULL);
    if (s->asked) {
        HR_TRY(hr_monitored_step(m, &step, err));
        hr_timer_update(&s->timer, step, hr_monitored_now(m), NULL, NULL);
        HR_TRY(write_timeline(s, hr_monitored_stats(m), step, err));
        HR_TRY(note_run(s, hr_monitored_stats(m), step, err));
    }
    s->next_step = step + 1;
    return HR_OK;
}

static void profiler_release(void *state)
{
    profiler *s = state;
    hr_summary_writer_unref(s->writer);
    hr_free(s->dir);
}

static const hr_hook_kind profiler_kind = {
    .head = HR_HOOK_HEAD,
    .name = "profiler",
    .state_size = sizeof(profiler),
    .begin = profiler_begin,
    .after_create_session = profiler_after_create_session,
    .before_run = profiler_before_run,
    .after_run = profiler_after_run,
    .release = profiler_release,
};

hr_hook *hr_profiler_hook_with(const char *dir, const hr_profiler_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_profiler_hook_opts, opts);
    if (!dir) return hr_hook_refused();
    profiler s = {.dir = hr_strdup(dir), .writer = hr_summary_writer_ref(opts->writer), .next_step = -1};
    s.timer.every_secs = opts->save_secs;
    s.timer.every_steps = opts->save_steps;
    return hr_hook_new(&profiler_kind, &s);
}
