/* Headrace, the graph: nodes that say what is to be computed, sessions that compute it.
 *
 *     hr_graph *g = hr_graph_new();
 *     hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3), .name = "x");
 *     hr_node w = hr_get_variable(g, "weights", HR_FLOAT, HR_SHAPE(3, 1), .initializer = hr_zeros());
 *     hr_node y = hr_matmul(x, w);
 *
 *     hr_session *s = hr_session_new(g);
 *     hr_node init = hr_global_variables_initializer(g);
 *     hr_session_run(s, NULL, 0, &init, 1, NULL, &err);
 *     hr_session_run(s, &(hr_feed){x, batch}, 1, &y, 1, &result, &err);
 *
 * Nodes carry TensorFlow's op names, attributes, and naming rules. Errors stick: a call that fails gives a failed node,
 * which passes through later calls; the first error comes out of hr_graph_error and hr_session_run. A graph is built by
 * one thread at a time and, while a session runs, not changed. Several threads may run one session at the same time.
 * Results do not depend on the number of threads; between runs at the same time, each op on a variable is atomic. */
#ifndef HR_GRAPH_H
#define HR_GRAPH_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_graph hr_graph;
typedef struct hr_session hr_session;
typedef struct hr_profile hr_profile; /* <headrace/profile.h> */

/* One output of one node: small, and copied freely. A zeroed one is no node. It lives as long as its graph. */
typedef struct hr_node {
    hr_graph *graph;
    int32_t id;     /* of the node, from 0 in order of creation; -1: it failed */
    int32_t output; /* which of its outputs; -1: the node as an operation, to be run for its effect */
} hr_node;

HR_API hr_graph *hr_graph_new(void);                       /* gives; NULL: no memory */
HR_API void hr_graph_free(hr_graph *g);                    /* after all of its sessions. NULL: nothing */
HR_API const hr_error *hr_graph_error(const hr_graph *g);  /* the first failure; NULL: none. Borrows from `g` */
HR_API void hr_set_random_seed(hr_graph *g, int64_t seed); /* the graph's seed, of random ops made afterwards */

/* ---- places: where in a program nodes are made, for messages ----
 *
 * The macros that make nodes tell the line that they are in, so that an error says "node 'dnn/MatMul' (MatMul), made at
 * model.c:42". A node of a function that has no macro gets the place of the innermost scope that was begun by one. A
 * file of a library of layers defines HR_NO_PLACES before it includes this header: its nodes are then made where its
 * callers say. This costs a few nanoseconds for each node that is made, and nothing in a run. */

/* Until the matching hr_place_end, nodes that this thread makes are made there: for bindings, whose callers have lines
 * of their own. Borrows `file` until then; NULL: not known. hr_place_end gives what it is given. */
HR_API void hr_place_begin(const char *file, int line);
HR_API hr_node hr_place_end(hr_node made);
#if defined HR_NO_PLACES || defined __cplusplus
#define HR_MADE_(call) (call)
#define HR_MADE_VOID_(call) (call)
#else
#define HR_MADE_(call) (hr_place_begin(__FILE__, __LINE__), hr_place_end(call))
#define HR_MADE_VOID_(call) (hr_place_begin(__FILE__, __LINE__), call, (void)hr_place_end((hr_node){NULL, 0, 0}))
#endif

/* ---- names ---- */

/* Names of nodes made until the matching hr_scope_end begin with "name/", made unique as TensorFlow does ("name_1/");
 * a name that ends in '/' re-enters that scope. Variables' names follow variable scopes only. */
HR_API void hr_name_scope(hr_graph *g, const char *name);
#define hr_name_scope(...) HR_MADE_VOID_(hr_name_scope(__VA_ARGS__))

/* What a variable scope does with a variable of that name: expects none, expects one, takes either. */
typedef enum hr_reuse { HR_REUSE_NEVER, HR_REUSE, HR_AUTO_REUSE } hr_reuse;
/* How variables are cut into pieces of their own along one axis: of hr_fixed_size_partitioner and its kin, or with a
 * `pieces` of your own, which says how many, from 1 to what the axis has. NULL: variables stay whole. */
typedef struct hr_partitioner hr_partitioner;
struct hr_partitioner {
    int64_t (*pieces)(const hr_partitioner *self, hr_dtype dtype, hr_shape shape);
    int axis;
    int64_t count, bytes;
};
typedef struct hr_variable_scope_opts {
    size_t struct_size;
    hr_reuse reuse;             /* default: a variable that exists is an error */
    hr_partitioner partitioner; /* of variables in it that have none of their own; default: that of the scope around */
    bool unique; /* "name_1", ... if there was such a scope since the one around began, as by TensorFlow's default_name:
                  * a scope that begins again, to share variables, has the same names in it. Default: just that name */
} hr_variable_scope_opts;
/* Variables of hr_get_variable are called "name/..."; other nodes as by hr_name_scope. "" is the scope that one is in:
 * only the options change. */
HR_API void hr_variable_scope_with(hr_graph *g, const char *name, const hr_variable_scope_opts *opts);
#define hr_variable_scope(...)                                                                                         \
    HR_MADE_VOID_(HR_CALL2_(hr_variable_scope_with, hr_variable_scope_opts, __VA_ARGS__,                               \
                            .struct_size = sizeof(hr_variable_scope_opts)))
HR_API void hr_scope_end(hr_graph *g);                        /* of either kind */
HR_API const char *hr_name_scope_name(hr_graph *g);           /* "" or "dnn/"; borrows until scopes change */
HR_API const char *hr_variable_scope_name(const hr_graph *g); /* the same, of the variable scope */

/* Nodes made until the matching hr_control_end run after all of these. */
HR_API void hr_control_dependencies(hr_graph *g, const hr_node *nodes, int count);
HR_API void hr_control_end(hr_graph *g);

/* ---- looking at nodes: texts and shapes are borrowed from the graph ---- */

HR_API hr_node hr_graph_node(hr_graph *g,
                             const char *name);  /* "dnn/MatMul", "dnn/MatMul:0"; no node if there is none */
HR_API int32_t hr_graph_size(const hr_graph *g); /* nodes: their ids are 0 ... size - 1 */
HR_API bool hr_node_exists(hr_node node);        /* neither none nor failed */
HR_API const char *hr_node_name(hr_node node);   /* "dnn/MatMul"; "" of a failed one */
HR_API const char *hr_node_op(hr_node node);     /* "MatMul" */
/* The type and shape of its first output; how many inputs, outputs and control inputs it has, and each of them. */
HR_API hr_dtype hr_node_dtype(hr_node node);
HR_API hr_shape hr_node_shape(hr_node node); /* as far as it is known without running */
HR_API int hr_node_inputs(hr_node node);     /* without control inputs */
HR_API int hr_node_outputs(hr_node node);
HR_API int hr_node_controls(hr_node node);
HR_API hr_node hr_node_input(hr_node node, int i);
HR_API hr_node hr_node_control(hr_node node, int i);
HR_API hr_node hr_node_output(hr_node node, int i); /* another output of the same node */
HR_API const char *hr_node_file(hr_node node);      /* where it was made; "" and 0: not known */
HR_API int hr_node_line(hr_node node);
/* Whether it stands for a loop of TensorFlow 1 that was imported, and runs in its place: no file has it. */
HR_API bool hr_node_hidden(hr_node node);
static inline hr_node hr_target(hr_node node) /* the node as an operation: run, but nothing fetched */
{
    node.output = -1;
    return node;
}

/* ---- collections, by TensorFlow's names: "losses", "update_ops", "summaries", ... ---- */

/* Adds a node to a collection; all nodes of one, in the order in which they were added. */
HR_API void hr_add_to_collection(hr_graph *g, const char *collection, hr_node node);
HR_API const hr_node *hr_get_collection(const hr_graph *g, const char *collection, int *count); /* borrows */

/* ---- variables ---- */

/* Which numbers of a shape a variance is scaled by: its inputs, its outputs, or their mean. */
typedef enum hr_fan_mode { HR_FAN_IN, HR_FAN_OUT, HR_FAN_AVG } hr_fan_mode;
typedef enum hr_distribution { HR_TRUNCATED, HR_UNTRUNCATED, HR_UNIFORM } hr_distribution; /* normal, normal, uniform */

/* Where a piece of a variable lies in the whole (see hr_partitioner). */
typedef struct hr_variable_piece {
    const char *full_name; /* of the whole: its key in checkpoints */
    hr_shape full_shape;
    int64_t offset[HR_MAX_RANK];
    int axis, number, count; /* piece `number` of `count` along `axis` */
    hr_node whole;           /* the value of all of them, put together */
} hr_variable_piece;

/* How a variable begins: .initializer = hr_zeros(), hr_truncated_normal(0, 0.1, 0), ... or one with a `make` of your
 * own. */
typedef struct hr_initializer hr_initializer;
struct hr_initializer {
    hr_node (*make)(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self); /* NULL: the default */
    double a, b;            /* mean and deviation; least and upper bound; the constant; the scale or gain */
    int64_t seed;           /* 0: the graph's */
    const hr_tensor *value; /* of hr_initial_value and hr_constant_values: borrowed until the variable is made */
    hr_fan_mode mode;       /* of hr_variance_scaling */
    hr_distribution distribution;
    const hr_variable_piece *piece; /* what `shape` is a piece of; NULL: nothing larger. hr_get_variable says it */
    hr_node node;                   /* of hr_initial_node */
};

/* TensorFlow's, with its nodes and numbers: the same seeds give the same values. Seed 0: none of its own, but the
 * graph's; INT32_MAX is what TensorFlow calls seed 0. A type or shape that does not fit fails the node with
 * "variable.initializer". */
HR_API hr_initializer hr_zeros(void); /* false; empty strings */
HR_API hr_initializer hr_ones(void);
HR_API hr_initializer hr_constant_value(double value);
/* Values in row order; the last one repeats if there are too few. Borrowed until the variable is made. */
HR_API hr_initializer hr_constant_values(const hr_tensor *values);
HR_API hr_initializer hr_initial_value(const hr_tensor *value); /* of the variable's shape; borrowed in the same way */
HR_API hr_initializer hr_initial_node(hr_node value); /* what that node computes, of the variable's type and shape */
/* [low, high), of floats or integers. */
HR_API hr_initializer hr_random_uniform(double low, double high, int64_t seed);
HR_API hr_initializer hr_random_normal(double mean, double stddev, int64_t seed);
HR_API hr_initializer hr_truncated_normal(double mean, double stddev, int64_t seed); /* redrawn beyond two stddev */
/* Of variance scale / n, where n is the number of inputs, of outputs, or their mean; of a piece, that of the whole. */
HR_API hr_initializer hr_variance_scaling(double scale, hr_fan_mode mode, hr_distribution distribution, int64_t seed);
HR_API hr_initializer hr_glorot_uniform(int64_t seed); /* scale 1, HR_FAN_AVG; also called Xavier */
HR_API hr_initializer hr_glorot_normal(int64_t seed);
HR_API hr_initializer hr_lecun_uniform(int64_t seed); /* scale 1, HR_FAN_IN */
HR_API hr_initializer hr_lecun_normal(int64_t seed);
HR_API hr_initializer hr_he_uniform(int64_t seed); /* scale 2, HR_FAN_IN */
HR_API hr_initializer hr_he_normal(int64_t seed);
/* Within factor * sqrt(3 / n), n: the product of all dimensions but the last. */
HR_API hr_initializer hr_uniform_unit_scaling(double factor, int64_t seed);
/* gain * a random orthogonal matrix [product of all dimensions but the last, last]: orthonormal rows or columns,
 * whichever are fewer. Rank 2 or more. */
HR_API hr_initializer hr_orthogonal(double gain, int64_t seed);
HR_API hr_initializer hr_eye(double gain); /* gain on the diagonal of a matrix, also called identity */
/* The one of that name of Keras, of a function or a class, with Keras's numbers: "glorot_uniform", "HeNormal", "zeros".
 * NULL: the default. Any other name fails the variable that begins so, "variable.initializer". */
HR_API hr_initializer hr_initializer_named(const char *name);
/* Inputs and outputs of a layer with weights of this shape: dimensions before the last two count into both. NaN: a rank
 * that no shape has. */
HR_API void hr_fans(hr_shape shape, double *fan_in, double *fan_out);

/* In which of TensorFlow's collections a variable is. */
typedef enum hr_variable_set {
    HR_GLOBAL_VARIABLES = 1,    /* "variables": saved, restored */
    HR_TRAINABLE_VARIABLES = 2, /* "trainable_variables" */
    HR_LOCAL_VARIABLES = 4,     /* "local_variables": begun again at each start, not saved */
    HR_METRIC_VARIABLES = 8,    /* "metric_variables" */
} hr_variable_set;

/* What a graph knows of a variable; its value lives in sessions. An eager graph has the handle alone. */
typedef struct hr_variable_info {
    const char *name; /* its key in checkpoints */
    hr_dtype dtype;
    hr_shape shape;
    unsigned sets;                  /* of hr_variable_set */
    hr_node handle;                 /* VarHandleOp: what hr_get_variable gives */
    hr_node read;                   /* ReadVariableOp of the value */
    hr_node initial_value;          /* what it begins with */
    hr_node initializer;            /* AssignVariableOp of that */
    hr_node is_initialized;         /* VarIsInitializedOp: a bool */
    const hr_variable_piece *piece; /* where it lies in a larger one; NULL: it is whole */
} hr_variable_info;

typedef struct hr_variable_opts {
    size_t struct_size;
    hr_initializer initializer; /* default: Glorot's uniform for floats, zeros for others */
    bool not_trainable;         /* default: optimizers train it */
    unsigned sets;              /* default: global, and trainable unless .not_trainable */
    hr_partitioner partitioner; /* default: the scope's */
    bool whole;                 /* in one piece, whatever the scope says */
} hr_variable_opts;
/* Gives the variable of that name in the current variable scope, made or, if the scope says so, found. The node is the
 * variable itself (a resource); an op that wants a value reads it. `name` is borrowed.
 * With a partitioner, and of rank 1 or more, it is made in pieces "NAME/part_0", "NAME/part_1", ..., which are variables
 * of their own; the node is then their value put together. Checkpoints hold the pieces as parts of NAME. */
HR_API hr_node hr_get_variable_with(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape,
                                    const hr_variable_opts *opts);
#define hr_get_variable(...)                                                                                           \
    HR_MADE_(HR_CALL4_(hr_get_variable_with, hr_variable_opts, __VA_ARGS__, .struct_size = sizeof(hr_variable_opts)))

/* `pieces` along the axis, or as many as it has. */
HR_API hr_partitioner hr_fixed_size_partitioner(int64_t pieces, int axis);
/* As few pieces as stay within max_bytes each, and at most max_pieces (0: any number). A string counts 16 bytes. */
HR_API hr_partitioner hr_variable_axis_size_partitioner(int64_t max_bytes, int axis, int64_t max_pieces);
/* As many pieces as have min_bytes each (0: 256 KiB), at least 1, at most max_pieces. */
HR_API hr_partitioner hr_min_max_variable_partitioner(int64_t max_pieces, int axis, int64_t min_bytes);
/* The handles of a variable's pieces, at most `max` of them in `out`; gives how many it has. 0: it is none of pieces. */
HR_API int hr_variable_pieces(const hr_graph *g, const char *full_name, hr_node *out, int max);

HR_API int hr_graph_variables(const hr_graph *g);                           /* how many, of all sets */
HR_API const hr_variable_info *hr_graph_variable(const hr_graph *g, int i); /* in order of creation; borrows */
HR_API const hr_variable_info *hr_variable_named(const hr_graph *g, const char *name); /* NULL: there is none */
HR_API const hr_variable_info *hr_variable_of(hr_node handle); /* NULL: no variable's handle or read */
HR_API hr_node hr_global_step(hr_graph *g);                    /* the int64 "global_step"; made if absent */
HR_API hr_node hr_variables_initializer(hr_graph *g, unsigned sets, const char *name); /* a NoOp that runs after them */
HR_API hr_node hr_global_variables_initializer(hr_graph *g);                           /* node "init" */
HR_API hr_node hr_local_variables_initializer(hr_graph *g);                            /* of local ones */

/* The names of the variables in `sets` (0: global and local ones) that have no value when it is run: a vector of strings,
 * global ones first. */
HR_API hr_node hr_report_uninitialized_variables(hr_graph *g, unsigned sets);

/* ---- gradients ---- */

/* Dense, or rows of a table that were looked up: values[i] belongs to row indices[i], rows may repeat. */
typedef struct hr_gradient {
    hr_node values;      /* none: the x does not depend on any y through what can be trained */
    hr_node indices;     /* none: `values` is dense */
    hr_node dense_shape; /* of the whole table; only with indices */
} hr_gradient;

typedef struct hr_gradients_opts {
    size_t struct_size;
    const char *name;       /* scope of the new nodes; default "gradients" */
    const hr_node *grad_ys; /* one each y, of its type and shape, none: ones; default: ones */
    const hr_node *stop_gradients;
    int stop_count;
    bool zero_unconnected; /* zeros for an x that no y depends on; default: no node */
    bool sum_in_pairs;     /* where several gradients meet, one is added to the sum of those before it, in less memory;
                            * default: one AddN of all */
    bool gate_gradients;   /* what flows out of one node is used only when all of it is there, as by GATE_OP of
                            * TensorFlow 1's optimizers; default: as soon as it is, GATE_NONE */
} hr_gradients_opts;
/* The derivative of the sum of all ys by each x, as tf.gradients: one entry of `out` for each x. An x is any node's
 * output, or a variable; where the ys are of a function that is being made, also one of the graphs around it. Loops,
 * branches and calls are derived as well, and derivatives again. */
HR_API void hr_gradients_with(const hr_node *ys, int y_count, const hr_node *xs, int x_count, hr_gradient *out,
                              const hr_gradients_opts *opts);
#define hr_gradients(ys, y_count, xs, x_count, ...)                                                                    \
    HR_GRADIENTS_(ys, y_count, xs, x_count, __VA_ARGS__, .struct_size = sizeof(hr_gradients_opts))
#define HR_GRADIENTS_(ys, y_count, xs, x_count, out, ...)                                                              \
    HR_MADE_VOID_(hr_gradients_with((ys), (y_count), (xs), (x_count), (out), &(hr_gradients_opts){__VA_ARGS__}))
/* The same as a dense node: rows that repeat are summed. */
HR_API hr_node hr_gradient_dense(hr_gradient gradient);

/* ---- sessions ---- */

/* How products of floats are computed: MatMul and its kin, Einsum, their gradients, and layers over looked-up rows. */
typedef enum hr_products {
    HR_PRODUCTS_FLOAT,    /* as floats */
    HR_PRODUCTS_BFLOAT16, /* of inputs that are rounded to bfloat16, summed up as floats: twice as fast on processors
                           * with AVX512_BF16, slow on others, with the same result for any number of threads and on any
                           * processor, to the bit */
} hr_products;

typedef struct hr_session_opts {
    size_t struct_size;
    const int *workers; /* of the pool's workers at most so many; default: all. 0: the caller does everything */
    hr_session *share;  /* has variables and other resources in common with that session, by their names, whatever the
                         * graph; they live until the last of these sessions is freed. Default: has its own */
    const char *passes; /* which passes rewrite what a run needs (pass.h): "none", "all", "exact,arithmetic", "-fold".
                         * Default: "exact", those that give the same bits */
    const int *kernel_workers; /* for the pieces of one kernel, such as those of a product, of the pool's workers at
                                * most so many; default: all, or none if .workers is 0 */
    double timeout;            /* of a run, in seconds; default: none */
    int64_t memory_limit;      /* of a run, in bytes; default: none */
    /* Nodes read files of this folder alone, and write none: "file.outside" otherwise, as of a link that leads out of
     * it. For graphs that others have made. Default: any file is read and written. Copied */
    const char *folder;
    hr_products products; /* default: HR_PRODUCTS_FLOAT */
} hr_session_opts;
/* Gives a session; NULL: no memory. It borrows the graph, whose later nodes it knows as well. */
HR_API hr_session *hr_session_new_with(hr_graph *g, const hr_session_opts *opts);
#define hr_session_new(...)                                                                                            \
    HR_CALL1_(hr_session_new_with, hr_session_opts, __VA_ARGS__, .struct_size = sizeof(hr_session_opts))
HR_API void hr_session_free(hr_session *s); /* NULL: nothing */
/* Frees the memory that waits for the next run, which then takes its own anew: for a model that is asked seldom. Any
 * thread, also while runs are under way; what they use stays. NULL: nothing. */
HR_API void hr_session_rest(hr_session *s);

/* A tensor in the place of what a node would compute: dense, of a known shape, each node's once; bools are bytes of 0
 * or 1. Borrowed for the call, without a copy. */
typedef struct hr_feed {
    hr_node node;
    hr_tensor value;
} hr_feed;

/* Computes what the fetches need, no more, and gives one tensor each in `out` (hr_tensor_clear drops it); zeroed where
 * the fetch is an operation. `out` may be NULL if all are. On a failure nothing is given; effects on variables that
 * happened before it stay. Errors name the node. */
HR_API hr_status hr_session_run(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                int fetch_count, hr_tensor *out, hr_error *err);

/* What one node of a run did. */
typedef struct hr_node_stats {
    const char *name, *op;
    const char *calls;    /* the nodes that called the function that it is in, from the outermost: "while;cond"; "" */
    const char *function; /* that function; "" */
    int64_t begin, end;   /* of its kernel, in nanoseconds since the run began */
    int thread;           /* 0: that of the caller; of the pool's workers from 1 on */
    int64_t bytes;        /* of its outputs, of strings without their texts */
} hr_node_stats;

/* What a run did, in the user's memory: neither session nor graph needs to be there. */
typedef struct hr_run_stats {
    int64_t started;     /* microseconds since 1970 */
    int64_t nanoseconds; /* that the run took */
    int64_t count;
    const hr_node_stats *nodes; /* those that ran, by the time when they began */
    int64_t left_out;           /* further ones, beyond 2^20 */
} hr_run_stats;
HR_API void hr_run_stats_free(hr_run_stats *stats); /* NULL: nothing */
/* Writes a file in Chrome's trace format, for chrome://tracing or ui.perfetto.dev. */
HR_API hr_status hr_run_stats_trace(const hr_run_stats *stats, const char *path, hr_error *err);

typedef struct hr_run_opts {
    size_t struct_size;
    double timeout; /* in seconds; INFINITY: none; default: the session's. After it, no node begins, and the run fails
                     * with HR_DEADLINE_EXCEEDED, "session.timeout". A kernel that has begun ends first */
    int64_t memory_limit; /* bytes that the tensors of the run and the memory that its kernels work with may take at
                           * a time, texts of strings, too; default: the session's. The node that asks for
                           * more fails with HR_RESOURCE_EXHAUSTED, "session.memory", and no memory is taken */
    hr_run_stats **stats; /* gives what the nodes did, also of a run that fails; NULL if it does not begin. Default:
                           * nothing is recorded */
    bool alone;           /* in the calling thread alone, as where other runs keep the processors busy */
    hr_profile *profile;  /* adds what the run took. Default: none */
    bool once;            /* what was planned for the run is freed with it: for what runs once, such as restoring */
} hr_run_opts;
/* hr_session_run_with(s, feeds, 1, &y, 1, &out, HR_RUN_OPTS(.timeout = 2), &err) */
#define HR_RUN_OPTS(...) (&(hr_run_opts){__VA_ARGS__, .struct_size = sizeof(hr_run_opts)})
/* As hr_session_run, with options. What time-out, limits and workers do to a run is that it fails or takes longer: what
 * it computes never depends on them. */
HR_API hr_status hr_session_run_with(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                     int fetch_count, hr_tensor *out, const hr_run_opts *opts, hr_error *err);

/* ---- runs that are prepared ---- */

/* A run with certain feeds and fetches, whose plan is found once and kept until it is freed. */
typedef struct hr_callable hr_callable;
/* Gives *out, to be freed before the session. Fails as hr_session_run with these feeds and fetches. */
HR_API hr_status hr_session_make_callable(hr_session *s, const hr_node *feeds, int feed_count, const hr_node *fetches,
                                          int fetch_count, hr_callable **out, hr_error *err);
/* Runs it: `values` has a tensor for each feed, `out` gets one for each fetch, both as in hr_session_run. Several
 * threads may run one callable at the same time. */
HR_API hr_status hr_callable_run(const hr_callable *c, const hr_tensor *values, hr_tensor *out, hr_error *err);
HR_API hr_status hr_callable_run_with(const hr_callable *c, const hr_tensor *values, hr_tensor *out,
                                      const hr_run_opts *opts, hr_error *err);
HR_API void hr_callable_free(hr_callable *c); /* NULL: nothing */

/* A run in parts, each with some of the feeds and fetches. What was computed, and what was fed, stays until it is
 * freed, and each node runs once, as soon as what it depends on was fed. The nodes of a part run one after the other in
 * the caller, their kernels with the pool. Used by one thread at a time. */
typedef struct hr_partial hr_partial;
/* Gives *out, to be freed before the session. All that will be fed and fetched is named here. */
HR_API hr_status hr_partial_run_setup(hr_session *s, const hr_node *feeds, int feed_count, const hr_node *fetches,
                                      int fetch_count, hr_partial **out, hr_error *err);
/* Feeds these (copies), runs what can run now, and gives these fetches. HR_INVALID_ARGUMENT, "session.partial": a feed
 * or fetch that was not named, or a second time, or a fetch that depends on what is not fed yet; then nothing has
 * happened. After a part that failed while it ran, every later one fails. */
HR_API hr_status hr_partial_run(hr_partial *p, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                int fetch_count, hr_tensor *out, hr_error *err);
HR_API hr_status hr_partial_run_with(hr_partial *p, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                     int fetch_count, hr_tensor *out, const hr_run_opts *opts, hr_error *err);
HR_API void hr_partial_free(hr_partial *p); /* NULL: nothing */

HR_API const hr_error *hr_session_error(const hr_session *s); /* of the last run; NULL: it went well. Borrows */
HR_API void
hr_session_cancel(hr_session *s); /* from any thread: the runs under way, or else the next, give HR_CANCELLED */

/* A variable's value in this session, shared, not copied: gives a reference that later updates do not touch. */
HR_API hr_status hr_session_get(hr_session *s, hr_node variable, hr_tensor *out, hr_error *err);
/* Copies `value` into the variable, whose type and shape it must have. */
HR_API hr_status hr_session_set(hr_session *s, hr_node variable, const hr_tensor *value, hr_error *err);

/* The same calls, which tell the line that they are in. */
#define hr_global_step(...) HR_MADE_(hr_global_step(__VA_ARGS__))
#define hr_variables_initializer(...) HR_MADE_(hr_variables_initializer(__VA_ARGS__))
#define hr_global_variables_initializer(...) HR_MADE_(hr_global_variables_initializer(__VA_ARGS__))
#define hr_local_variables_initializer(...) HR_MADE_(hr_local_variables_initializer(__VA_ARGS__))
#define hr_report_uninitialized_variables(...) HR_MADE_(hr_report_uninitialized_variables(__VA_ARGS__))
#define hr_gradient_dense(...) HR_MADE_(hr_gradient_dense(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
