/* Headrace, hooks: what happens around the steps of a training, and the monitored session that calls them.
 *
 *     hr_hook *hooks[] = {hr_stop_at_step_hook(.last_step = 1000), hr_nan_tensor_hook(loss)};
 *     hr_monitored_session *m = hr_monitored_session_new(g, hooks, 2, .checkpoint_dir = "model");
 *     while (!hr_should_stop(m) && hr_monitored_run(m, feeds, n, &train, 1, NULL, &err) == HR_OK) {}
 *     hr_status st = hr_monitored_session_close(m, false, &err);
 *
 * The order of calls is that of tf.compat.v1.train.MonitoredSession. A hook is one file that ends in its descriptor and
 * its constructor. The library's own hooks include this header alone, and so can a user's: see "the kit" and "for
 * hooks" below. */
#ifndef HR_HOOKS_H
#define HR_HOOKS_H

#include <headrace/graph.h>
#include <headrace/summary.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_hook hr_hook;
typedef struct hr_monitored_session hr_monitored_session;
typedef struct hr_run_request hr_run_request; /* what a hook wants to have fetched and fed in the next run */

/* ---- the kit ---- */

/* The version of this kit. */
enum { HR_HOOK_ABI = 1 };

/* A kind of hook: its state, and the functions that the session calls. */
typedef struct hr_hook_kind {
    struct {
        uint32_t abi_version, struct_size;
    } head; /* HR_HOOK_HEAD */
    const char *name;
    size_t state_size;
    /* Any function may be NULL. All are called by the session's thread. A failure ends the training with it; HR_END
     * from before_run or after_run ends it well. */
    hr_status (*begin)(void *state, hr_graph *g, hr_error *err); /* the graph may still grow */
    hr_status (*after_create_session)(void *state, hr_monitored_session *m, hr_error *err);
    /* `request`: hr_request_fetch, hr_request_feed. */
    hr_status (*before_run)(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err);
    /* `results`: what this hook asked for, in its order. Not called after a run that failed or met the end of data. */
    hr_status (*after_run)(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err);
    hr_status (*end)(void *state, hr_monitored_session *m, hr_error *err); /* not after a failure */
    void (*release)(void *state);
} hr_hook_kind;

#define HR_HOOK_HEAD                                                                                                   \
    {                                                                                                                  \
        HR_HOOK_ABI, sizeof(hr_hook_kind)                                                                              \
    }

/* Gives a hook with a copy of `state`, which the kind's release frees. Borrows `kind` for ever. Never NULL: if
 * memory is exhausted, the hook fails at begin. So does one with a descriptor of another version, or with a longer
 * one that sets a field that this library does not know, "hooks.abi"; its release is not called. */
HR_API hr_hook *hr_hook_new(const hr_hook_kind *kind, const void *state);
HR_API void hr_hook_free(hr_hook *hook); /* NULL: nothing. A session frees its own */
/* For constructors: a hook that fails at begin, "hooks.argument", because a required argument is NULL. */
HR_API hr_hook *hr_hook_refused(void);
/* A hook that fails at begin for lack of memory. */
HR_API hr_hook *hr_hook_lost(void);
HR_API const char *hr_hook_name(const hr_hook *hook);

/* For before_run: one more node to fetch, or to feed, in the run that follows. */
HR_API hr_status hr_request_fetch(hr_run_request *request, hr_node node, hr_error *err);
HR_API hr_status hr_request_feed(hr_run_request *request, hr_node node, hr_tensor value,
                                 hr_error *err); /* borrows the value */

/* ---- the session ---- */

/* Saves and restores more than variables, for example the iterator's state. */
typedef struct hr_checkpointed {
    const char *name; /* of the string tensor in checkpoints: "headrace/iterator" */
    /* Gives *data (hr_free). *size 0: nothing to save. */
    hr_status (*save)(void *user, void **data, size_t *size, hr_error *err);
    hr_status (*restore)(void *user, hr_view data, hr_error *err); /* data.size -1: the checkpoint has none */
    void *user;
} hr_checkpointed;

typedef struct hr_monitored_session_opts {
    size_t struct_size;
    /* Restores its newest complete checkpoint (hr_whole_checkpoint); default: variables get their initial values. */
    const char *checkpoint_dir;
    const char *checkpoint_path;  /* restores this one */
    const hr_checkpointed *extra; /* also saved and restored */
    int extras;
    const int *workers;        /* of the session */
    double (*now)(void *user); /* seconds since 1970, for hooks that work by time; default: the clock */
    void *user;
    hr_status (*init_fn)(hr_session *s, void *user, hr_error *err); /* after variables were made, not after a restore */
    void *init_user;
} hr_monitored_session_opts;

/* begin of all hooks; variables made or restored; after_create_session of all hooks. Takes the hooks, borrows the
 * graph. Never NULL but for lack of memory; what went wrong comes out of hr_monitored_session_error, run and close. */
HR_API hr_monitored_session *hr_monitored_session_new_with(hr_graph *g, hr_hook *const *hooks, int count,
                                                           const hr_monitored_session_opts *opts);
#define hr_monitored_session_new(...)                                                                                  \
    HR_CALL3_(hr_monitored_session_new_with, hr_monitored_session_opts, __VA_ARGS__,                                   \
              .struct_size = sizeof(hr_monitored_session_opts))

/* before_run of all hooks, one run, after_run of all hooks. HR_END: hr_should_stop has said true, or a hook met the end
 * of data; all hooks will end. */
HR_API hr_status hr_monitored_run(hr_monitored_session *m, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                  int fetch_count, hr_tensor *out, hr_error *err);
HR_API bool hr_should_stop(hr_monitored_session *m);
HR_API bool hr_stop_requested(const hr_monitored_session *m);
HR_API void hr_request_stop(hr_monitored_session *m); /* any thread; counts when hr_should_stop is asked next */
HR_API const hr_error *hr_monitored_session_error(const hr_monitored_session *m); /* NULL: none. Borrows */
/* end of all hooks, unless something failed; frees the session. Takes `m`. `failed`: the caller's own loop failed, so
 * no hook ends. */
HR_API hr_status hr_monitored_session_close(hr_monitored_session *m, bool failed, hr_error *err);

/* For hooks and loops. */
HR_API hr_session *hr_monitored_raw(hr_monitored_session *m);
HR_API hr_graph *hr_monitored_graph(hr_monitored_session *m);
HR_API hr_status hr_monitored_step(hr_monitored_session *m, int64_t *step, hr_error *err); /* global_step now */
HR_API double hr_monitored_now(const hr_monitored_session *m);
HR_API bool hr_monitored_restored(const hr_monitored_session *m); /* from a checkpoint */
/* The prefix of that checkpoint; NULL: variables began again. Borrows. */
HR_API const char *hr_monitored_checkpoint(const hr_monitored_session *m);
/* Writes a checkpoint of all global variables and the extras as `prefix`, whole or not at all. */
HR_API hr_status hr_monitored_save(hr_monitored_session *m, const char *prefix, hr_error *err);

/* Tells when something is due that comes every so many steps or seconds: tf.compat.v1.train.SecondOrStepTimer. */
typedef struct hr_timer {
    double every_secs; /* one of the two */
    int64_t every_steps;
    bool triggered;
    int64_t last_step;
    double last_time;
} hr_timer;
/* For begin: HR_OK if exactly one interval is above 0; else "hooks.interval", in the name of `hook`. */
HR_API hr_status hr_timer_check(const hr_timer *t, const char *hook, hr_error *err);
/* True if it is due at this step and time; never twice at one step. */
HR_API bool hr_timer_due(const hr_timer *t, int64_t step, double now);
/* Notes a trigger and gives the time and steps since the last one; false at the first one. */
HR_API bool hr_timer_update(hr_timer *t, int64_t step, double now, double *seconds, int64_t *steps);

/* ---- the hooks ---- */

typedef struct hr_stop_at_step_hook_opts {
    size_t struct_size;
    int64_t num_steps; /* steps from the start of the session; or */
    int64_t last_step;
} hr_stop_at_step_hook_opts;
/* Asks to stop once global_step has reached last_step, or has grown by num_steps. */
HR_API hr_hook *hr_stop_at_step_hook_with(const hr_stop_at_step_hook_opts *opts);
#define hr_stop_at_step_hook(...)                                                                                      \
    hr_stop_at_step_hook_with(                                                                                         \
        &(hr_stop_at_step_hook_opts){.struct_size = sizeof(hr_stop_at_step_hook_opts), __VA_ARGS__})

/* Fails, or stops, when `loss` is NaN. */
typedef struct hr_nan_tensor_hook_opts {
    size_t struct_size;
    bool stop_only; /* default: fail */
} hr_nan_tensor_hook_opts;
HR_API hr_hook *hr_nan_tensor_hook_with(hr_node loss, const hr_nan_tensor_hook_opts *opts);
#define hr_nan_tensor_hook(...)                                                                                        \
    HR_CALL1_(hr_nan_tensor_hook_with, hr_nan_tensor_hook_opts, __VA_ARGS__,                                           \
              .struct_size = sizeof(hr_nan_tensor_hook_opts))

/* Logs "tag = value, ..." of named tensors, in their order: of runs 0, n, 2n, ... */
typedef struct hr_logged {
    const char *tag;
    hr_node node;
} hr_logged;
typedef struct hr_logging_tensor_hook_opts {
    size_t struct_size;
    int64_t every_n_iter; /* one of the two, or .at_end, is required */
    double every_n_secs;
    bool at_end; /* once more when the session ends */
} hr_logging_tensor_hook_opts;
HR_API hr_hook *hr_logging_tensor_hook_with(const hr_logged *tensors, int count,
                                            const hr_logging_tensor_hook_opts *opts);
#define hr_logging_tensor_hook(...)                                                                                    \
    HR_CALL2_(hr_logging_tensor_hook_with, hr_logging_tensor_hook_opts, __VA_ARGS__,                                   \
              .struct_size = sizeof(hr_logging_tensor_hook_opts))

/* The event file of a folder that the hooks of one training share, by reference. */
typedef struct hr_summary_writer hr_summary_writer;
HR_API hr_summary_writer *hr_summary_writer_new(const char *dir); /* gives; the file is made at the first event */
HR_API hr_summary_writer *hr_summary_writer_ref(hr_summary_writer *w);
HR_API void hr_summary_writer_unref(hr_summary_writer *w);
/* For hooks: the event writer, opened at its first use. Lends *events as long as `w` lives. */
HR_API hr_status hr_summary_writer_open(hr_summary_writer *w, hr_event_writer **events, hr_error *err);

/* Called around saves, as tf.compat.v1.train.CheckpointSaverListener. Any function may be NULL. `user` lives as long as
 * the hook. */
typedef struct hr_saver_listener {
    hr_status (*begin)(void *user, hr_graph *g, hr_error *err);
    hr_status (*before_save)(void *user, hr_monitored_session *m, int64_t step, hr_error *err);
    /* May ask the session to stop. */
    hr_status (*after_save)(void *user, hr_monitored_session *m, int64_t step, hr_error *err);
    hr_status (*end)(void *user, hr_monitored_session *m, int64_t step, hr_error *err);
    void *user;
} hr_saver_listener;

/* Saves "<dir>/model.ckpt-<step>" at the beginning, every so often, and at the end. */
typedef struct hr_checkpoint_saver_hook_opts {
    size_t struct_size;
    double save_secs; /* one of the two is required */
    int64_t save_steps;
    const char *basename;       /* default "model.ckpt" */
    const int64_t *max_to_keep; /* default 5; 0: all */
    double keep_every_n_hours;  /* default 10000 */
    hr_summary_writer *writer;  /* shared: notes each checkpoint there; default: not */
    hr_saver_listener listener; /* default: none */
} hr_checkpoint_saver_hook_opts;
HR_API hr_hook *hr_checkpoint_saver_hook_with(const char *dir, const hr_checkpoint_saver_hook_opts *opts);
#define hr_checkpoint_saver_hook(...)                                                                                  \
    HR_CALL1_(hr_checkpoint_saver_hook_with, hr_checkpoint_saver_hook_opts, __VA_ARGS__,                               \
              .struct_size = sizeof(hr_checkpoint_saver_hook_opts))

/* "global_step/sec" every so many steps. Shares `w`, which may be NULL: logged only. */
typedef struct hr_step_counter_hook_opts {
    size_t struct_size;
    int64_t every_n_steps; /* default 100, if no seconds are given */
    double every_n_secs;
    hr_summary_writer *writer;
} hr_step_counter_hook_opts;
HR_API hr_hook *hr_step_counter_hook_with(const hr_step_counter_hook_opts *opts);
#define hr_step_counter_hook(...)                                                                                      \
    hr_step_counter_hook_with(                                                                                         \
        &(hr_step_counter_hook_opts){.struct_size = sizeof(hr_step_counter_hook_opts), __VA_ARGS__})

/* Scalars and histograms of a training: every so many steps, counted from the first. */
typedef struct hr_summarised {
    const char *tag;
    hr_node node;
    bool histogram; /* default: a scalar */
} hr_summarised;
typedef struct hr_summary_saver_hook_opts {
    size_t struct_size;
    int64_t save_steps; /* one of the two is required */
    double save_secs;
} hr_summary_saver_hook_opts;
/* Shares `w`. */
HR_API hr_hook *hr_summary_saver_hook_with(hr_summary_writer *w, const hr_summarised *summaries, int count,
                                           const hr_summary_saver_hook_opts *opts);
#define hr_summary_saver_hook(...)                                                                                     \
    HR_CALL3_(hr_summary_saver_hook_with, hr_summary_saver_hook_opts, __VA_ARGS__,                                     \
              .struct_size = sizeof(hr_summary_saver_hook_opts))

#ifdef __cplusplus
}
#endif
#endif
