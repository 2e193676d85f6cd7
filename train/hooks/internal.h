/* The inside of hooks and monitored sessions. */
#ifndef HR_HOOKS_INTERNAL_H
#define HR_HOOKS_INTERNAL_H

#include <headrace/hooks.h>
#include <headrace/summary.h>
#include <stdatomic.h>

struct hr_hook {
    const hr_hook_kind *kind;
    void *state;
};

struct hr_monitored_session {
    hr_graph *graph;
    hr_session *session;
    hr_hook **hook;
    int hooks;
    hr_checkpointed *extra;
    int extras;
    double (*now)(void *user);
    void *user;
    bool restored, ended; /* ended: no more runs */
    atomic_bool stop;
    hr_run_request *request;
    hr_error error;
};

/* What all of one run's parties want: grows, and is used again. */
struct hr_run_request {
    hr_feed *feed;
    int feeds, feed_room;
    hr_node *fetch;
    hr_tensor *result;
    int fetches, fetch_room;
};

/* The event writer, opened at its first use. */
hr_status hr__summary_writer_open(hr_summary_writer *w, hr_event_writer **events, hr_error *err);

/* Saving and restoring (saving.c). */
hr_status hr__monitored_restore(hr_monitored_session *m, const char *prefix, hr_error *err);

#endif
