/* One event file for all hooks of a training, made when there is something to write. */
#include "train/graphdef/graphdef_internal.h"
#include <headrace/hooks.h>
#include <headrace/meta_graph.h>
#include <stdatomic.h>

struct hr_summary_writer {
    atomic_int references;
    char *dir;
    hr_event_writer *events;
    bool begun; /* the graph was written */
    /* The graph as it was exported last: it is asked for again and again, and seldom changes. */
    int64_t graph_serial; /* 0: none was */
    int32_t graph_nodes;
    hr__arena arena; /* of `message` */
    proto_graph *message;
    char *graph_def, *meta_graph;
    size_t graph_def_size, meta_graph_size;
};

static void forget_graph(hr_summary_writer *w)
{
    hr_free(w->graph_def);
    hr_free(w->meta_graph);
    w->graph_def = w->meta_graph = NULL;
    hr__arena_free(&w->arena);
    w->message = NULL;
    w->graph_serial = 0;
}

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
    forget_graph(w);
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

/* Exports the graph, unless it has the nodes of the one that was exported last. */
static hr_status export_graph(hr_summary_writer *w, const hr_graph *g, hr_error *err)
{
    if (g && w->graph_serial == g->serial && w->graph_nodes == hr_graph_size(g)) return HR_OK;
    const hr_graph_export_opts opts = {.struct_size = sizeof opts};
    if (!g) return hr_fail(err, HR_INVALID_ARGUMENT, "summary.argument", "event file: expected a graph, got NULL");
    forget_graph(w);
    HR_TRY(hr__graph_message(&w->arena, &opts, g, &w->message, err));
    HR_TRY(hr__message_bytes(&w->message->base, &w->graph_def, &w->graph_def_size, err));
    const hr_view graph_def = {w->graph_def, (int64_t)w->graph_def_size};
    HR_TRY(hr_meta_graph_export(g, NULL, &w->meta_graph, &w->meta_graph_size, err, .graph_def = graph_def));
    w->graph_serial = g->serial;
    w->graph_nodes = hr_graph_size(g);
    return HR_OK;
}

hr_status hr_summary_writer_meta_graph(hr_summary_writer *w, const hr_graph *g, hr_view *bytes, hr_error *err)
{
    if (bytes) *bytes = (hr_view){NULL, 0};
    if (!w || !bytes)
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.argument",
                       "meta graph: expected a writer, and a place for the bytes, got NULL");
    HR_TRY(export_graph(w, g, err));
    *bytes = (hr_view){w->meta_graph, (int64_t)w->meta_graph_size};
    return HR_OK;
}

hr_status hr_summary_writer_graph_text(hr_summary_writer *w, const hr_graph *g, char **text, size_t *size,
                                       hr_error *err)
{
    if (!w || !text || !size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.argument",
                       "graph: expected a writer, and places for the text and its size, got NULL");
    HR_TRY(export_graph(w, g, err));
    return hr__message_text(&w->message->base, text, size, err);
}

hr_status hr_summary_writer_graph(hr_summary_writer *w, const hr_graph *g, hr_error *err)
{
    hr_event_writer *events;
    HR_TRY(hr_summary_writer_open(w, &events, err));
    HR_TRY(export_graph(w, g, err));
    HR_TRY(hr_event_graph(events, (hr_view){w->graph_def, (int64_t)w->graph_def_size}, err));
    return hr_event_meta_graph(events, (hr_view){w->meta_graph, (int64_t)w->meta_graph_size}, 0, err);
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
