/* Headrace, hooks: what happens around the steps of a training, and the monitored session that calls them.
 *
 *     hr_hook *hooks[] = {hr_stop_at_step_hook(.last_step = 1000), hr_nan_tensor_hook(loss)};
 *     hr_monitored_session *m = hr_monitored_session_new(g, hooks, 2, .checkpoint_dir = "model");
 *     while (!hr_should_stop(m) && hr_monitored_run(m, feeds, n, &train, 1, NULL, &err) == HR_OK) {}
 *     hr_status st = hr_monitored_session_close(m, false, &err);
 *
 * The order of calls is that of tf.compat.v1.train.MonitoredSession. A hook is one file that ends with its descriptor
 * and its constructor. The library's own hooks need no other kit than this header, and neither do a user's: see "the
 * kit" and "For hooks" below. */
#ifndef HR_HOOKS_H
#define HR_HOOKS_H

#include <headrace/meta_graph.h>
#include <headrace/summary.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_hook hr_hook;
typedef struct hr_monitored_session hr_monitored_session;
typedef struct hr_run_request hr_run_request; /* what a hook fetches and feeds in the next run */

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
    /* Any function may be NULL. All are called in the thread that uses the session. A failure ends the training with
     * this error; HR_END from before_run or after_run ends it without an error. */
    hr_status (*begin)(void *state, hr_graph *g, hr_error *err); /* the graph may still grow */
    hr_status (*after_create_session)(void *state, hr_monitored_session *m, hr_error *err);
    /* Adds to `request` by hr_request_fetch and hr_request_feed. */
    hr_status (*before_run)(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err);
    /* `results`: the values that this hook requested, in the order of its requests; borrowed for the call. Not called
     * if the run failed or met the end of data. */
    hr_status (*after_run)(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err);
    hr_status (*end)(void *state, hr_monitored_session *m, hr_error *err); /* not after a failure */
    void (*release)(void *state); /* frees what the state owns, not the state itself */
    /* Before the session is made anew after a failure: waits for what the hook does in threads of its own, such as the
     * writing of a checkpoint, from which the session may begin. */
    void (*settle)(void *state);
} hr_hook_kind;

#define HR_HOOK_HEAD                                                                                                   \
    {                                                                                                                  \
        HR_HOOK_ABI, sizeof(hr_hook_kind)                                                                              \
    }

/* Gives a hook with a copy of `state`; the kind's release later frees what the state owns. Borrows `kind` for ever.
 * Never NULL: if memory is exhausted, the hook fails at begin. A hook also fails at begin, "hooks.abi", if its
 * descriptor has another version, or is longer than this library's and sets a field that is unknown here; then release
 * is not called. */
HR_API hr_hook *hr_hook_new(const hr_hook_kind *kind, const void *state);
HR_API void hr_hook_free(hr_hook *hook); /* NULL: nothing. A session frees the hooks that it took */
/* For constructors: a hook that fails at begin, "hooks.argument", because a required argument is NULL. */
HR_API hr_hook *hr_hook_refused(void);
/* A hook that fails at begin for lack of memory. */
HR_API hr_hook *hr_hook_lost(void);
HR_API const char *hr_hook_name(const hr_hook *hook);

/* For before_run: fetches or feeds one more node in the run that follows. A node that is fed twice in one run is
 * refused, "hooks.feed". */
HR_API hr_status hr_request_fetch(hr_run_request *request, hr_node node, hr_error *err);
HR_API hr_status hr_request_feed(hr_run_request *request, hr_node node, hr_tensor value,
                                 hr_error *err); /* borrows the value */
/* For before_run: records what the nodes of the run do, for hr_monitored_stats. */
HR_API hr_status hr_request_stats(hr_run_request *request, hr_error *err);

/* ---- the session ---- */

/* Something that is saved and restored with the variables, for example the iterator's state. */
typedef struct hr_checkpointed {
    const char *name; /* of the string tensor in checkpoints: "headrace/iterator" */
    /* Gives *data (hr_free). *size 0: nothing to save. */
    hr_status (*save)(void *user, void **data, size_t *size, hr_error *err);
    /* data.size is -1 if the checkpoint has no such tensor, or if no checkpoint is restored. */
    hr_status (*restore)(void *user, hr_view data, hr_error *err);
    void *user;
} hr_checkpointed;

typedef struct hr_monitored_session_opts {
    size_t struct_size;
    /* Restores the newest complete checkpoint of this folder (hr_whole_checkpoint). Without one, variables get their
     * initial values. */
    const char *checkpoint_dir;
    /* Restores this checkpoint instead; "": none. A session that is made anew after a failure begins with the newest one
     * of checkpoint_dir, if that is given, too. */
    const char *checkpoint_path;
    const hr_checkpointed *extra; /* saved and restored with the variables; copied, but not their names */
    int extras;
    const int *workers;        /* threads of the session; default: all of the pool */
    double (*now)(void *user); /* seconds since 1970, for hooks that work by time; default: the clock */
    void *user;
    hr_status (*init_fn)(hr_session *s, void *user, hr_error *err); /* after initialization, not after a restore */
    void *init_user;
    /* After Aborted or Unavailable, of a hook or a run, makes a new session from the newest checkpoint, or anew, calls
     * after_create_session of all hooks, and repeats what was called, as tf.compat.v1.train.MonitoredSession. Steps
     * since that checkpoint are lost. Default: that is a failure as any other, as in SingularMonitoredSession. */
    bool recovers;
    /* tf.compat.v1.train.Scaffold's. Each is made before the session; default: all global variables are initialized,
     * then all local ones. */
    const hr_node *init_op;       /* without a checkpoint */
    const hr_node *local_init_op; /* always, after the variables have values */
    const hr_node *ready_op; /* then gives what is missing, as strings: any is a failure, "hooks.ready". Default: no
                              * question */
    /* What is restored, and what checkpoints of this session have, under which names: the var_list of a scaffold's
     * saver. Other variables begin with their initial values each time: a restore comes after init_op then. Default: all
     * global variables. Copied, but not the names. */
    hr_var_list var_list;
    const char *passes;   /* of the session (hr_session_opts); default: its own. Copied */
    hr_profile *profile;  /* to which hr_monitored_run adds (<headrace/profile.h>). Default: none. Borrowed */
    hr_products products; /* of the session (hr_session_opts) */
} hr_monitored_session_opts;

/* Calls begin of all hooks, initializes or restores the variables, then calls after_create_session of all hooks. Takes
 * the hooks, borrows the graph. NULL only without memory; any other error is returned by hr_monitored_session_error,
 * run and close. */
HR_API hr_monitored_session *hr_monitored_session_new_with(hr_graph *g, hr_hook *const *hooks, int count,
                                                           const hr_monitored_session_opts *opts);
#define hr_monitored_session_new(...)                                                                                  \
    HR_CALL3_(hr_monitored_session_new_with, hr_monitored_session_opts, __VA_ARGS__,                                   \
              .struct_size = sizeof(hr_monitored_session_opts))

/* Calls before_run of all hooks, runs once, calls after_run of all hooks. Gives the values of `fetches` in out. HR_END:
 * the session has stopped, because hr_should_stop returned true or a hook met the end of data; this is no failure, so
 * close calls end of all hooks. */
HR_API hr_status hr_monitored_run(hr_monitored_session *m, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                  int fetch_count, hr_tensor *out, hr_error *err);
/* One step of a training that makes several runs: `fn` uses hr_monitored_raw for those without hooks, hr_monitored_run
 * for those with hooks. HR_END from it stops the session, which is no failure. With .recovers a call that is preempted
 * is repeated from its beginning. tf.compat.v1.train.MonitoredSession.run_step_fn. */
typedef hr_status hr_step_fn(hr_monitored_session *m, void *user, hr_error *err);
HR_API hr_status hr_run_step_fn(hr_monitored_session *m, hr_step_fn *fn, void *user, hr_error *err);
HR_API bool hr_should_stop(hr_monitored_session *m);
HR_API bool hr_stop_requested(const hr_monitored_session *m);
HR_API void hr_request_stop(hr_monitored_session *m); /* from any thread; has effect at the next hr_should_stop */
HR_API const hr_error *hr_monitored_session_error(const hr_monitored_session *m); /* NULL: none. Borrows */
/* Calls end of all hooks, unless the session or a hook has failed, and frees the session and its hooks. Takes `m`.
 * `failed`: the caller's own loop has failed, so end is not called. */
HR_API hr_status hr_monitored_session_close(hr_monitored_session *m, bool failed, hr_error *err);

/* For hooks and loops. The session and the graph are borrowed. */
HR_API hr_session *hr_monitored_raw(hr_monitored_session *m);
HR_API hr_graph *hr_monitored_graph(hr_monitored_session *m);
HR_API hr_status hr_monitored_step(hr_monitored_session *m, int64_t *step, hr_error *err); /* global_step now */
HR_API double hr_monitored_now(const hr_monitored_session *m);
HR_API bool hr_monitored_restored(const hr_monitored_session *m); /* true: from a checkpoint */
/* The prefix of that checkpoint; NULL: variables got their initial values. Borrows. */
HR_API const char *hr_monitored_checkpoint(const hr_monitored_session *m);
/* For after_run: what the run's nodes did, if a hook asked by hr_request_stats; NULL: none did. Borrows until the next
 * run. */
HR_API const hr_run_stats *hr_monitored_stats(const hr_monitored_session *m);
/* Writes a checkpoint of the variables of .var_list and the extras as `prefix`, whole or not at all. */
HR_API hr_status hr_monitored_save(hr_monitored_session *m, const char *prefix, hr_error *err);
/* The same in two steps: a copy of all that a checkpoint holds, in memory, and its writing, which another thread may do
 * while the session goes on. *copy NULL: gives one (hr_checkpoint_copy_free); else it is filled again, and its memory is
 * used again. Only one thread at a time may use a copy. It borrows the session's graph, and the names of
 * .var_list and of the extras. */
typedef struct hr_checkpoint_copy hr_checkpoint_copy;
HR_API hr_status hr_monitored_copy(hr_monitored_session *m, hr_checkpoint_copy **copy, hr_error *err);
HR_API hr_status hr_checkpoint_copy_write(const hr_checkpoint_copy *s, const char *prefix, hr_error *err);
HR_API void hr_checkpoint_copy_free(hr_checkpoint_copy *s); /* NULL: nothing */

/* A timer for actions that are due every n steps or every n seconds: tf.compat.v1.train.SecondOrStepTimer. */
typedef struct hr_timer {
    double every_secs; /* set one of the two */
    int64_t every_steps;
    bool triggered; /* at least once, last at last_step and last_time */
    int64_t last_step;
    double last_time;
} hr_timer;
/* For begin: HR_OK if exactly one interval is above 0 and the other is 0; else "hooks.interval", with the name
 * `hook`. */
HR_API hr_status hr_timer_check(const hr_timer *t, const char *hook, hr_error *err);
/* True if the action is due at this step and time: at first, and never twice at one step. */
HR_API bool hr_timer_due(const hr_timer *t, int64_t step, double now);
/* Records a trigger. True: gives seconds and steps since the last one. False: this was the first, nothing is given. */
HR_API bool hr_timer_update(hr_timer *t, int64_t step, double now, double *seconds, int64_t *steps);

/* ---- the hooks ---- */

typedef struct hr_stop_at_step_hook_opts {
    size_t struct_size;
    /* Exactly one is required, above 0. */
    int64_t num_steps; /* steps from the start of the session */
    int64_t last_step; /* a value of global_step */
} hr_stop_at_step_hook_opts;
/* Requests a stop when global_step has reached last_step or has grown by num_steps. */
HR_API hr_hook *hr_stop_at_step_hook_with(const hr_stop_at_step_hook_opts *opts);
#define hr_stop_at_step_hook(...)                                                                                      \
    hr_stop_at_step_hook_with(                                                                                         \
        &(hr_stop_at_step_hook_opts){.struct_size = sizeof(hr_stop_at_step_hook_opts), __VA_ARGS__})

/* Fails ("hooks.nan") or stops when a value of `loss` is NaN. */
typedef struct hr_nan_tensor_hook_opts {
    size_t struct_size;
    bool stop_only; /* stops without an error; default: fails */
} hr_nan_tensor_hook_opts;
HR_API hr_hook *hr_nan_tensor_hook_with(hr_node loss, const hr_nan_tensor_hook_opts *opts);
#define hr_nan_tensor_hook(...)                                                                                        \
    HR_CALL1_(hr_nan_tensor_hook_with, hr_nan_tensor_hook_opts, __VA_ARGS__,                                           \
              .struct_size = sizeof(hr_nan_tensor_hook_opts))

/* Logs "tag = value, ..." of some tensors, in the given order: at runs 0, n, 2n, ... of the session, or every n
 * seconds. Copies tensors and tags. */
typedef struct hr_logged {
    const char *tag;
    hr_node node;
} hr_logged;
typedef struct hr_logged_value {
    const char *tag, *text; /* text: the value as this hook writes it: "0.5", "[1 2 3]" */
    const hr_tensor *value;
} hr_logged_value;
typedef struct hr_logging_tensor_hook_opts {
    size_t struct_size;
    int64_t every_n_iter; /* one of the two is required, unless .at_end is set */
    double every_n_secs;
    bool at_end; /* logs at the end, too, by one more run without feeds */
    /* Gives the text to log instead (hr_strdup); NULL: no memory. Borrows the values for the call. */
    char *(*formatter)(const hr_logged_value *values, int count, void *user);
    void *user; /* borrowed as long as the hook lives */
} hr_logging_tensor_hook_opts;
HR_API hr_hook *hr_logging_tensor_hook_with(const hr_logged *tensors, int count,
                                            const hr_logging_tensor_hook_opts *opts);
#define hr_logging_tensor_hook(...)                                                                                    \
    HR_CALL2_(hr_logging_tensor_hook_with, hr_logging_tensor_hook_opts, __VA_ARGS__,                                   \
              .struct_size = sizeof(hr_logging_tensor_hook_opts))

/* Before each run `feed` calls hr_request_feed; HR_END from it ends the training. The values are borrowed until the run
 * has ended, `user` as long as the hook lives. */
typedef hr_status hr_feed_fn(hr_run_request *request, void *user, hr_error *err);
HR_API hr_hook *hr_feed_fn_hook(hr_feed_fn *feed, void *user);

/* At the end computes `ops` once more, and gives their values in `out`, which has a place for each (hr_tensor_clear); it
 * is set to zeros now, and borrowed as long as the hook lives. NULL: nobody wants them. Copies ops and feeds. */
typedef struct hr_final_ops_hook_opts {
    size_t struct_size;
    const hr_feed *feeds; /* of that run; their values are borrowed as long as the hook lives */
    int feed_count;
} hr_final_ops_hook_opts;
HR_API hr_hook *hr_final_ops_hook_with(const hr_node *ops, int count, hr_tensor *out,
                                       const hr_final_ops_hook_opts *opts);
#define hr_final_ops_hook(...)                                                                                         \
    HR_CALL3_(hr_final_ops_hook_with, hr_final_ops_hook_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_final_ops_hook_opts))

/* The event file of a folder, counted, so that the hooks of one training share it. */
typedef struct hr_summary_writer hr_summary_writer;
HR_API hr_summary_writer *hr_summary_writer_new(const char *dir);      /* gives; NULL: no memory. Creates no file yet */
HR_API hr_summary_writer *hr_summary_writer_ref(hr_summary_writer *w); /* gives one more reference */
HR_API void hr_summary_writer_unref(hr_summary_writer *w);             /* drops a reference. NULL: nothing */
/* For hooks: opens the event file at the first call. Lends *events as long as `w` lives. */
HR_API hr_status hr_summary_writer_open(hr_summary_writer *w, hr_event_writer **events, hr_error *err);
/* For after_create_session, so that a training that is refused leaves no file: opens the event file. The first call
 * also writes the graph as it is then, as TensorFlow's FileWriter. */
HR_API hr_status hr_summary_writer_begin(hr_summary_writer *w, const hr_graph *g, hr_error *err);
/* Writes the graph as it is now: an event with its GraphDef and one with its MetaGraphDef. */
HR_API hr_status hr_summary_writer_graph(hr_summary_writer *w, const hr_graph *g, hr_error *err);
/* Gives the graph as the text of a GraphDef, as hr_graph_export does (hr_free). What bytes were made of before is not made
 * again: another thread may call this after hr_summary_writer_meta_graph, as long as nobody else uses `w`. */
HR_API hr_status hr_summary_writer_graph_text(hr_summary_writer *w, const hr_graph *g, char **text, size_t *size,
                                              hr_error *err);
/* Gives the graph as the bytes of a MetaGraphDef, which are kept for events and files as long as the graph gets no
 * nodes. Borrows: until the next call with `w`. */
HR_API hr_status hr_summary_writer_meta_graph(hr_summary_writer *w, const hr_graph *g, hr_view *bytes, hr_error *err);

/* Functions called before and after each save: tf.compat.v1.train.CheckpointSaverListener. Any may be NULL. `user` is
 * borrowed as long as the hook lives. */
typedef struct hr_saver_listener {
    hr_status (*begin)(void *user, hr_graph *g, hr_error *err);
    hr_status (*before_save)(void *user, hr_monitored_session *m, int64_t step, hr_error *err);
    /* May request a stop of the session. */
    hr_status (*after_save)(void *user, hr_monitored_session *m, int64_t step, hr_error *err);
    hr_status (*end)(void *user, hr_monitored_session *m, int64_t step, hr_error *err);
    void *user;
} hr_saver_listener;

/* Saves "<dir>/<basename>-<step>" at the start of the session, at each interval, and at the end. The graph is written
 * to "<dir>/graph.pbtxt" and the event file at the start, and as a MetaGraphDef beside each checkpoint, ".meta". A thread
 * writes "graph.pbtxt" beside the first checkpoint; after_save of that finds both. */
typedef struct hr_checkpoint_saver_hook_opts {
    size_t struct_size;
    double save_secs; /* exactly one of the two is required */
    int64_t save_steps;
    const char *basename;       /* default "model.ckpt" */
    const int64_t *max_to_keep; /* default 5; 0: all */
    double keep_every_n_hours;  /* default 10000 */
    hr_summary_writer *writer;  /* shares; adds an event for each checkpoint; default: none */
    hr_saver_listener listener; /* default: none */
    bool no_graph_def;          /* no "graph.pbtxt", and no ".meta" beside the checkpoints */
    /* A step waits for a copy of the variables in memory, which is kept between saves; a thread of the hook's own writes
     * it. The next save waits for that; so does the end, and a session that is made anew. What fails comes out at the
     * next step, save or end. The listener hears of a save at the first step after the files are there, with the step
     * that was saved. Default: the step waits for the files. */
    bool async;
} hr_checkpoint_saver_hook_opts;
HR_API hr_hook *hr_checkpoint_saver_hook_with(const char *dir, const hr_checkpoint_saver_hook_opts *opts);
#define hr_checkpoint_saver_hook(...)                                                                                  \
    HR_CALL1_(hr_checkpoint_saver_hook_with, hr_checkpoint_saver_hook_opts, __VA_ARGS__,                               \
              .struct_size = sizeof(hr_checkpoint_saver_hook_opts))

/* Logs "global_step/sec" every n steps or every n seconds, and adds it to the event file of .writer. */
typedef struct hr_step_counter_hook_opts {
    size_t struct_size;
    int64_t every_n_steps; /* default 100, unless every_n_secs is given */
    double every_n_secs;
    hr_summary_writer *writer; /* shares; NULL: logs only */
} hr_step_counter_hook_opts;
HR_API hr_hook *hr_step_counter_hook_with(const hr_step_counter_hook_opts *opts);
#define hr_step_counter_hook(...)                                                                                      \
    hr_step_counter_hook_with(                                                                                         \
        &(hr_step_counter_hook_opts){.struct_size = sizeof(hr_step_counter_hook_opts), __VA_ARGS__})

/* Records what the nodes of a run did, every n steps or every n seconds from the first run on, and writes it as
 * "<dir>/timeline-<step>.json", for chrome://tracing or ui.perfetto.dev. */
typedef struct hr_profiler_hook_opts {
    size_t struct_size;
    int64_t save_steps; /* exactly one of the two is required */
    double save_secs;
    hr_summary_writer *writer; /* shares; adds an event for each file, "step_<step>"; default: none */
} hr_profiler_hook_opts;
HR_API hr_hook *hr_profiler_hook_with(const char *dir, const hr_profiler_hook_opts *opts);
#define hr_profiler_hook(...)                                                                                          \
    HR_CALL1_(hr_profiler_hook_with, hr_profiler_hook_opts, __VA_ARGS__, .struct_size = sizeof(hr_profiler_hook_opts))

/* A node of float32 whose value is saved as a scalar or as a histogram. */
typedef struct hr_summarised {
    const char *tag;
    hr_node node;
    bool histogram; /* default: a scalar */
} hr_summarised;
typedef struct hr_summary_saver_hook_opts {
    size_t struct_size;
    int64_t save_steps; /* exactly one of the two is required */
    double save_secs;
} hr_summary_saver_hook_opts;
/* Saves the values at the first run, then every n steps or every n seconds, each time as one event. Shares `w`, copies
 * summaries and tags; a tag is changed as by hr_summary_tag. */
HR_API hr_hook *hr_summary_saver_hook_with(hr_summary_writer *w, const hr_summarised *summaries, int count,
                                           const hr_summary_saver_hook_opts *opts);
#define hr_summary_saver_hook(...)                                                                                     \
    HR_CALL3_(hr_summary_saver_hook_with, hr_summary_saver_hook_opts, __VA_ARGS__,                                     \
              .struct_size = sizeof(hr_summary_saver_hook_opts))

/* Early stopping: hooks that read the event files of `eval_dir` (hr_estimator_evaluate writes <model_dir>/eval), and
 * request a stop where the metric of an evaluation is above or below a threshold, or where its best value is
 * max_steps or more older than a later evaluation. Better is strictly better; NaN is worse than any number.
 * tf.estimator.experimental.stop_if_higher_hook and its kin. HR_NOT_FOUND, "hooks.metric": an evaluation has other
 * metrics only. */
typedef struct hr_early_stopping_hook_opts {
    size_t struct_size;
    int64_t min_steps; /* evaluations of earlier steps do not count */
    /* How often it looks: at most one of the two; default: every 60 seconds. */
    double run_every_secs;
    int64_t run_every_steps;
} hr_early_stopping_hook_opts;
HR_API hr_hook *hr_stop_if_higher_hook_with(const char *eval_dir, const char *metric, double threshold,
                                            const hr_early_stopping_hook_opts *opts);
HR_API hr_hook *hr_stop_if_lower_hook_with(const char *eval_dir, const char *metric, double threshold,
                                           const hr_early_stopping_hook_opts *opts);
HR_API hr_hook *hr_stop_if_no_increase_hook_with(const char *eval_dir, const char *metric,
                                                 int64_t max_steps_without_increase,
                                                 const hr_early_stopping_hook_opts *opts);
HR_API hr_hook *hr_stop_if_no_decrease_hook_with(const char *eval_dir, const char *metric,
                                                 int64_t max_steps_without_decrease,
                                                 const hr_early_stopping_hook_opts *opts);
#define HR_EARLY_STOPPING_(fn, ...)                                                                                    \
    HR_CALL3_(fn, hr_early_stopping_hook_opts, __VA_ARGS__, .struct_size = sizeof(hr_early_stopping_hook_opts))
#define hr_stop_if_higher_hook(...) HR_EARLY_STOPPING_(hr_stop_if_higher_hook_with, __VA_ARGS__)
#define hr_stop_if_lower_hook(...) HR_EARLY_STOPPING_(hr_stop_if_lower_hook_with, __VA_ARGS__)
#define hr_stop_if_no_increase_hook(...) HR_EARLY_STOPPING_(hr_stop_if_no_increase_hook_with, __VA_ARGS__)
#define hr_stop_if_no_decrease_hook(...) HR_EARLY_STOPPING_(hr_stop_if_no_decrease_hook_with, __VA_ARGS__)

/* ---- a training ---- */

typedef struct hr_monitored_training_session_opts {
    size_t struct_size;
    const char *checkpoint_dir; /* the session begins with its newest checkpoint, and saves there; default: no saving */
    const char *summary_dir;    /* of summaries and steps a second; default: checkpoint_dir */
    /* At most one of each pair; below 0: none. */
    double save_checkpoint_secs; /* default 600 */
    int64_t save_checkpoint_steps;
    int64_t save_summaries_steps; /* default 100 */
    double save_summaries_secs;
    int64_t log_step_count_steps; /* default 100; below 0: none */
    const hr_summarised *summaries;
    int summary_count;
    bool no_graph_def;                        /* as of hr_checkpoint_saver_hook */
    const hr_monitored_session_opts *session; /* what else the session is made with */
} hr_monitored_training_session_opts;
/* tf.compat.v1.train.MonitoredTrainingSession: hr_monitored_session_new that recovers, with hr_step_counter_hook,
 * hr_summary_saver_hook and hr_checkpoint_saver_hook before `hooks`, if there are folders for them. Takes the hooks. */
HR_API hr_monitored_session *hr_monitored_training_session_with(hr_graph *g, hr_hook *const *hooks, int count,
                                                                const hr_monitored_training_session_opts *opts);
#define hr_monitored_training_session(...)                                                                             \
    HR_CALL3_(hr_monitored_training_session_with, hr_monitored_training_session_opts, __VA_ARGS__,                     \
              .struct_size = sizeof(hr_monitored_training_session_opts))

#ifdef __cplusplus
}
#endif
#endif
