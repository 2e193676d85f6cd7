/* One event file for all hooks of a training, made when there is something to write. */
#include <headrace/hooks.h>
#include <stdatomic.h>

struct hr_summary_writer {
    atomic_int references;
    char *dir;
    hr_event_writer *events;
};

hr_summary_writer *hr_summary_writer_new(const char *dir)
{
    hr_summary_writer *w = hr_calloc(1, sizeof *w);
    if (w) w->dir = hr_strdup(dir);
    if (!w || !w->dir) {
        hr_free(w);
        return NULL;
    }
    atomic_init(&w->references, 1);
    return w;
}

hr_summary_writer *hr_summary_writer_ref(hr_summary_writer *w)
{
    if (w) atomic_fetch_add(&w->references, 1);
    return w;
}

void hr_summary_writer_unref(hr_summary_writer *w)
{
    if (!w || atomic_fetch_sub(&w->references, 1) > 1) return;
    hr_event_writer_free(w->events);
    hr_free(w->dir);
    hr_free(w);
}

hr_status hr_summary_writer_open(hr_summary_writer *w, hr_event_writer **events, hr_error *err)
{
    if (events) *events = NULL;
    if (!w || !events)
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.argument",
                       "event file: expected a writer, and a place for the file, got NULL");
    if (!w->events) HR_TRY(hr_event_writer_open(w->dir, &w->events, err));
    *events = w->events;
    return HR_OK;
}
