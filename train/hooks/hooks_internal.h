/* The inside of hooks and monitored sessions. */
#ifndef HR_HOOKS_INTERNAL_H
#define HR_HOOKS_INTERNAL_H

#include <headrace/hooks.h>
#include <stdatomic.h>

struct hr_hook {
    const hr_hook_kind *kind;
    hr_hook_kind own_kind; /* `kind` is this one, where the descriptor that was given is shorter than ours */
    void *state;
};

struct hr_monitored_session {
    hr_graph *graph;
    hr_session *session;
    hr_hook **hook;
    int *first; /* of each hook: where its fetches begin among those of a run */
    int hooks;
    hr_var_list var_list; /* what is saved and restored; owns the array */
    hr_checkpointed *extra;
    int extras;
    double (*now)(void *user);
    void *user;
    char *checkpoint_dir, *checkpoint_path; /* where it begins, also after a failure */
    int *workers;
    char *passes;
    hr_products products;
    hr_status (*init_fn)(hr_session *s, void *user, hr_error *err);
    void *init_user;
    hr_profile *profile;             /* NULL: none */
    hr_node init, local_init, ready; /* ready: may be none */
    char *restored;                  /* the checkpoint; NULL: variables began again */
    bool recovers;
    bool in_step_fn;  /* which is repeated as a whole */
    bool ended;       /* no more runs */
    bool stopping;    /* hr_should_stop has said so */
    atomic_bool stop; /* asked for, by any thread */
    hr_run_request *request;
    hr_run_stats *stats; /* of the last run, if a hook asked */
    hr_error error;
};

/* What all of one run's parties want: grows, and is used again. */
struct hr_run_request {
    hr_feed *feed;
    int feeds, feed_capacity;
    int *fed; /* by a node's id: 1 + its newest feed, of this run or of an earlier one */
    int32_t fed_capacity;
    hr_node *fetch;
    hr_tensor *result;
    int fetches, fetch_capacity;
    bool stats; /* what the nodes do is recorded */
};

/* Fills the session's variables and extras from a checkpoint. */
hr_status hr__monitored_restore(hr_monitored_session *m, const char *prefix, hr_error *err);

#endif
