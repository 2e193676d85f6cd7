/* One event file for all hooks of a training, made when there is something to write. */
#include <headrace/hooks.h>
#include <headrace/meta_graph.h>
#include <stdatomic.h>

struct hr_summary_writer {
    atomic_int references;
    char *dir;
    hr_event_writer *events;
    bool begun; /* the graph was written */
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

typedef hr_status write_graph(hr_event_writer *events, hr_view bytes, hr_error *err);

/* Writes what was exported, if it was, and frees it. */
static hr_status write_exported(hr_event_writer *events, write_graph *write, hr_status exported, char *bytes,
                                size_t size, hr_error *err)
{
    if (exported != HR_OK) return exported;
    const hr_status st = write(events, (hr_view){bytes, (int64_t)size}, err);
    hr_free(bytes);
    return st;
}

static hr_status write_meta_graph(hr_event_writer *events, hr_view bytes, hr_error *err)
{
    return hr_event_meta_graph(events, bytes, 0, err);
}

hr_status hr_summary_writer_graph(hr_summary_writer *w, const hr_graph *g, hr_error *err)
{
    hr_event_writer *events;
    char *bytes = NULL;
    size_t size = 0;
    HR_TRY(hr_summary_writer_open(w, &events, err));
    hr_status st = hr_graph_export(g, &bytes, &size, err, .text = false);
    HR_TRY(write_exported(events, hr_event_graph, st, bytes, size, err));
    st = hr_meta_graph_export(g, NULL, &bytes, &size, err, .text = false);
    return write_exported(events, write_meta_graph, st, bytes, size, err);
}

hr_status hr_summary_writer_begin(hr_summary_writer *w, const hr_graph *g, hr_error *err)
{
    hr_event_writer *events;
    HR_TRY(hr_summary_writer_open(w, &events, err));
    if (w->begun) return HR_OK;
    HR_TRY(hr_summary_writer_graph(w, g, err));
    w->begun = true;
    return HR_OK;
}
