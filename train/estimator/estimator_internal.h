/* The inside of estimators: what train, evaluate and predict share. */
#ifndef HR_ESTIMATOR_INTERNAL_H
#define HR_ESTIMATOR_INTERNAL_H

#include <headrace/estimator.h>
#include <headrace/profile.h>

enum { MAX_NAMED = 64, MAX_HOOKS = 32, MAX_EXPORTED = 256 };

typedef struct result {
    char *name;
    double value;
} result;

/* Looks at a batch before it is fed: a failure ends the loop; *row is the row that it is about. */
typedef hr_status check_fn(const hr_element *element, const void *user, int64_t *row, hr_error *err);

struct hr_estimator_spec {
    hr_node loss, train_op;
    check_fn *check; /* NULL: none */
    const void *check_user;
    struct {
        const char *name;
        hr_node node;
    } prediction[MAX_NAMED];
    struct {
        const char *name;
        hr_metric metric;
    } metric[MAX_NAMED];
    struct {
        const char *key, *method;
        int first, count; /* of `exported` */
    } export[MAX_NAMED];
    hr_saved_tensor exported[MAX_EXPORTED];
    int exports, exporteds;
    hr_summarised summary[MAX_NAMED];
    hr_hook *hook[MAX_HOOKS], *chief_hook[MAX_HOOKS];
    int predictions, metrics, summaries, hooks, chief_hooks;
    bool full;     /* more was given than there is space for */
    bool nameless; /* something was given without a name */
};

/* Further metrics of hr_add_metrics. */
typedef struct metrics_fn {
    hr_model_fn *fn;
    void *user;
} metrics_fn;

struct hr_estimator {
    hr_model_fn *fn;
    void *user;
    void (*user_free)(void *user);
    hr_dataset *(*prepare)(hr_dataset *ds, void *user);
    char *model_dir;
    hr_run_config config;
    int64_t keep_checkpoint_max; /* what config points to */
    int workers;
    result *results;
    int result_count;
    hr_column_list columns;                  /* of a canned one: all that it reads. Borrows from `user` */
    bool sees_no_features;                   /* its model function asks for the number of rows alone */
    bool v1_names;                           /* variables are called as TensorFlow 1's canned estimators call them */
    hr_warm_start_settings *warm_start_from; /* NULL: initial values */
    metrics_fn *more_metrics;
    int more_metrics_count;
    char **names; /* of variables, lent to the caller */
    int name_count;
    hr_error wrong; /* what it was made of: every call gives it. code 0: nothing */
    hr_error error;
};

/* The beginning of each call of an estimator, NULL for lack of memory: what keeps it from being done sticks to it. */
hr_status hr__estimator_begin(hr_estimator *e, hr_input_fn *fn);

/* Looks at config.tf_config; what is wrong with it sticks to the estimator. */
void hr__estimator_read_cluster(hr_estimator *e);

/* One graph with its input: made for each train, evaluate, predict. */
typedef struct model {
    hr_estimator *e;
    hr_mode mode;
    hr_dataset *ds;
    hr_graph *graph;
    hr_features *features;
    hr_estimator_spec spec;
    hr_iterator *it; /* NULL until it is opened */
    hr_feed *feed;
    const hr_element *element; /* the batch of this run */
    double input_seconds;      /* that its hook waited for batches */
    hr_profile *profile;       /* of the steps and the input; NULL: none */
    bool ended;                /* the input is at its end */
    bool new_input;            /* the position that a checkpoint has is not looked at, once */
    bool input_begun;          /* `it` is at the beginning, and the first session takes it */
} model;

hr_status hr__model_open(hr_estimator *e, hr_mode mode, hr_input_fn *fn, void *user, model *m, hr_error *err);
/* The graph of HR_MODE_PREDICT over features that a function makes in it. */
typedef hr_features *hr__make_features(hr_graph *g, void *user, hr_error *err);
hr_status hr__model_serve(hr_estimator *e, hr__make_features *make, void *user, model *m, hr_error *err);
/* Opens the iterator, where `state` says if it is not empty. What is wrong with that, hr_iterator_error knows. */
hr_status hr__model_open_input(model *m, hr_view state, hr_error *err);
/* The next batch as feeds; HR_END. */
hr_status hr__model_next(model *m, const hr_element **element, int *feeds, hr_error *err);
void hr__model_close(model *m);

/* ---- export_folder.c ---- */

/* Writes an export into the folder `dir`, which is empty, and gets the name `base`/<seconds since 1970> afterwards.
 * Gives *path. */
typedef hr_status hr__write_export(const char *dir, void *user, hr_error *err);
hr_status hr__export_whole(const hr_estimator *e, const char *base, hr__write_export *write, void *user, char **path,
                           hr_error *err);

/* ---- estimator_export.c ---- */

/* Writes a SavedModel into the empty folder `dir`. */
hr_status hr__estimator_write(hr_estimator *e, const char *dir, const char *checkpoint, const hr_export_opts *opts,
                              hr_error *err);

/* ---- heads/head.c ---- */

hr_head *const *hr__head_parts(const hr_head *head, int *count); /* the heads it is made of; NULL: none */
const char *hr__head_label_key(const hr_head *head);             /* the component of labels; NULL: the first label */

/* ---- warm_start.c ---- */

/* Gives *out (hr__warm_start_free), a copy of all but what initializers point to, if the settings can be used. */
hr_status hr__warm_start_copy(const hr_warm_start_settings *given, hr_warm_start_settings **out, hr_error *err);
void hr__warm_start_free(hr_warm_start_settings *w); /* NULL: nothing */
/* An init_fn of a monitored session, where there is no checkpoint of its own: `user` is the model. */
hr_status hr__model_warm_start(hr_session *s, void *user, hr_error *err);

/* ---- loop_hooks.c ---- */

typedef struct hook_list {
    hr_hook **hook;
    int count, capacity;
} hook_list;
bool hr__loop_hooks_open(hook_list *l, int capacity); /* false: no memory, and the list frees what is added */
void hr__loop_hooks_add(hook_list *l, hr_hook *hook); /* takes */
void hr__loop_hooks_add_spec(hook_list *l, hr_hook **hook, int *count); /* takes all that a model function gave */
hr_status hr__loop_hooks_check(const char *who, hr_hook *const *hooks, int count, hr_error *err);
void hr__loop_hooks_refuse(hr_hook *const *hooks, int count); /* frees hooks of a call that failed before its session */

/* Of a session of such an estimator. */
static inline const char *hr__passes_of(const hr_run_config *c)
{
    return c->passes ? c->passes : "exact,lookup_matmul";
}

hr_hook *hr__input_hook(model *m);                /* reads and feeds a batch a run; the last of all hooks */
hr_hook *hr__stop_evaluation_hook(int64_t steps); /* logs how far it is, and stops after so many runs */

/* Keeps a step that made the loss NaN out of checkpoints: its hook is the first of all, its listener that of the
 * saver. The training then fails where TensorFlow's would have saved. */
typedef struct loss_guard {
    hr_node loss;
    bool is_nan;
    const hr_saver_listener *listener; /* the caller's, or NULL */
} loss_guard;
hr_hook *hr__loss_guard_hook(loss_guard *g);
hr_saver_listener hr__loss_guard_listener(loss_guard *g);

/* An estimator that a file can name: a line in estimators.def, and this. */
typedef struct hr__canned {
    const char *name;
    bool linear, dnn; /* the halves of the options that it takes */
    bool baseline;    /* neither: a bias alone */
    const char *head; /* "regression", or "class": by the number of classes; NULL: the file says which */
    hr_estimator *(*make)(const hr_head_estimator_opts *opts);
    hr_estimator *(*make_rnn)(const hr_rnn_estimator_opts *opts); /* instead: recurrent layers */
} hr__canned;

#define HR_ESTIMATOR(name) extern const hr__canned hr__canned_##name;
#include "train/estimator/estimators.def"
#undef HR_ESTIMATOR
const hr__canned *hr__canned_named(const char *name); /* NULL: there is none */

#endif
