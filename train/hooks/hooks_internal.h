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
    int *first; /* of each hook: where its fetches begin among those of a run */
    int hooks;
    hr_checkpointed *extra;
    int extras;
    double (*now)(void *user);
    void *user;
    char *restored;   /* the checkpoint; NULL: variables began anew */
    bool ended;       /* no more runs */
    bool stopping;    /* hr_should_stop has said so */
    atomic_bool stop; /* asked for, by any thread */
    hr_run_request *request;
    hr_error error;
};

/* What all of one run's parties want: grows, and is used again. */
struct hr_run_request {
    hr_feed *feed;
    int feeds, feed_room;
    int *fed; /* by a node's id: 1 + its newest feed, of this run or of an earlier one */
    int32_t fed_room;
    hr_node *fetch;
    hr_tensor *result;
    int fetches, fetch_room;
};

/* A hook that fails at begin, since it was made with NULL for what it needs. */
hr_hook *hr__hook_refused(void);
/* One that fails at begin for lack of memory. */
hr_hook *hr__hook_lost(void);

/* A timer as a hook was asked for one: exactly one interval above 0, or HR_INVALID_ARGUMENT in the hook's name. */
hr_status hr__timer_check(const hr_timer *t, const char *hook, hr_error *err);

/* The event writer, opened at its first use. */
hr_status hr__summary_writer_open(hr_summary_writer *w, hr_event_writer **events, hr_error *err);

/* Fills the session's variables and extras from a checkpoint. */
hr_status hr__monitored_restore(hr_monitored_session *m, const char *prefix, hr_error *err);

#endif
