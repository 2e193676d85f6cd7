/* Headrace, eager calls: nodes that are computed as they are made, tapes, traced functions.
 *
 *     hr_graph *g = hr_eager_new();
 *     hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(3, 1), .initializer = hr_zeros());
 *     hr_eager_begin(g);
 *     hr_tape *tape = hr_tape_begin(g);
 *     hr_node loss = hr_reduce_mean(hr_square(hr_matmul(hr_const(g, &batch), w)));
 *     hr_gradient by_w;
 *     if (hr_tape_gradient(tape, &loss, 1, &w, 1, &by_w, &err) == HR_OK)
 *         hr_assign_sub(w, hr_mul(by_w.values, hr_scalar(g, HR_FLOAT, 0.1)));
 *     hr_tape_free(tape);
 *     hr_eager_end(g, NULL, 0);
 *
 * An eager graph is an hr_graph: whatever makes nodes (ops.h, layers.h, a model function) works on it unchanged, and
 * each node has its value when the call returns. A variable has its first value when it is made. hr_cond and
 * hr_while_loop call their functions there and then. Errors stick to the graph as in any other; hr_eager_op gives one
 * at once. What is for graphs that are run is refused, "eager.graph": sessions, hr_gradients, imports.
 *
 * A node lives until hr_eager_end of the innermost hr_eager_begin that it was made after, or as long as the graph;
 * what a tape has recorded lives at least as long as the tape. Nodes that are gone do not exist (hr_node_exists) until
 * others take their numbers.
 *
 * One thread at a time uses an eager graph, its tapes and its traced functions. Graphs of several threads may share
 * variables by .share; each op on a variable is atomic. */
#ifndef HR_EAGER_H
#define HR_EAGER_H

#include <headrace/control_flow.h>
#include <headrace/graph.h>
#include <headrace/graph_op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_eager_opts {
    size_t struct_size;
    hr_session *share;  /* has variables and other resources in common with that session, by their names: one that has a
                         * value keeps it. Default: has its own */
    const int *workers; /* of the pool's workers at most so many; default: all. 0: the caller does everything */
    const char *passes; /* of traced functions; default: as hr_session_opts */
} hr_eager_opts;
/* Gives an eager graph (hr_graph_free); NULL: no memory. */
HR_API hr_graph *hr_eager_new_with(const hr_eager_opts *opts);
#define hr_eager_new(...) hr_eager_new_with(&(hr_eager_opts){.struct_size = sizeof(hr_eager_opts), __VA_ARGS__})
/* Whether it is one, or a function of one. */
HR_API bool hr_graph_is_eager(const hr_graph *g);
/* A session that a graph of nodes to run may share variables with. Borrows; it runs nothing itself. */
HR_API hr_session *hr_eager_session(hr_graph *g);

/* ---- values ---- */

/* Nodes made from now on live until the matching hr_eager_end. In a function that is being made: nothing. */
HR_API void hr_eager_begin(hr_graph *g);
/* Ends it; `keep` live on in what is around. */
HR_API void hr_eager_end(hr_graph *g, const hr_node *keep, int count);

/* A constant that takes the tensor's memory, without a copy if it owns its bytes; *value is then empty. */
HR_API hr_node hr_eager_take(hr_graph *g, hr_tensor *value);
/* A node's value: borrowed as long as the node lives, to be read only. NULL: it has none, or is a variable. */
HR_API const hr_tensor *hr_eager_tensor(hr_node node);
/* Gives a reference to a node's value, or to what a variable has now; it outlives the node. */
HR_API hr_status hr_eager_get(hr_node node, hr_tensor *out, hr_error *err);

/* Computes one op by name; *out is its first output, or the node as an operation if it has none. A failure is returned
 * with the types and shapes of the inputs, and does not stick to the graph. */
HR_API hr_status hr_eager_op_with(hr_graph *g, const char *op, const hr_node_opts *opts, hr_node *out, hr_error *err);
#define hr_eager_op(g, op, out, ...) HR_EAGER_OP_(g, op, out, __VA_ARGS__, .struct_size = sizeof(hr_node_opts))
#define HR_EAGER_OP_(g, op, out, err, ...) hr_eager_op_with((g), (op), &(hr_node_opts){__VA_ARGS__}, (out), (err))
/* Forgets the graph's error, so that the next one can be seen. */
HR_API void hr_eager_forget_error(hr_graph *g);

/* ---- tapes: tf.GradientTape ---- */

typedef struct hr_tape hr_tape;

typedef struct hr_tape_opts {
    size_t struct_size;
    bool persistent; /* hr_tape_gradient may be called several times */
    bool manual;     /* variables are not watched by themselves; default: trainable ones are, when they are read */
} hr_tape_opts;
/* Records, from now on, the ops on what it watches. Tapes may record at the same time, at most 32: one that began
 * earlier also sees the gradients of one that began later, for second derivatives. In a function that is being made the
 * tape stands for hr_gradients, so that the same code can be traced. Gives it; NULL: no memory, or too many tapes,
 * which sticks to the graph ("tape.count"). */
HR_API hr_tape *hr_tape_begin_with(hr_graph *g, const hr_tape_opts *opts);
#define hr_tape_begin(...) HR_CALL1_(hr_tape_begin_with, hr_tape_opts, __VA_ARGS__, .struct_size = sizeof(hr_tape_opts))
HR_API void hr_tape_free(hr_tape *tape); /* drops what it has recorded; before its graph is freed. NULL: nothing */
/* Watches a node, or a variable. Nothing flows to what is no float. */
HR_API void hr_tape_watch(hr_tape *tape, hr_node node);
HR_API void hr_tape_stop(hr_tape *tape);   /* records nothing, until */
HR_API void hr_tape_resume(hr_tape *tape); /* this */
HR_API void hr_tape_reset(hr_tape *tape);  /* forgets what it has recorded and watched, and may be used again */
/* The variables that it has watched, in the order in which they were first used: fills at most `max` of `out`, gives
 * how many there are. */
HR_API int hr_tape_watched(const hr_tape *tape, hr_node *out, int max);

typedef struct hr_tape_gradient_opts {
    size_t struct_size;
    const hr_node *grad_ys; /* one each y, of its type and shape, none: ones; default: ones */
    bool zeros;             /* an x that no y depends on gets zeros; default: no node */
} hr_tape_gradient_opts;
/* The derivative of the sum of all ys by each x: one entry of `out` for each. Row slices stay slices. A tape that is
 * not persistent gives it once, and records nothing after it. HR_FAILED_PRECONDITION, "tape.used": the second time;
 * HR_INVALID_ARGUMENT, "tape.gradient": nodes of another graph, or none; "graph.gradient": an op has no gradient. */
HR_API hr_status hr_tape_gradient_with(hr_tape *tape, const hr_node *ys, int y_count, const hr_node *xs, int x_count,
                                       hr_gradient *out, const hr_tape_gradient_opts *opts, hr_error *err);
#define hr_tape_gradient(tape, ys, y_count, xs, x_count, out, ...)                                                     \
    HR_TAPE_GRADIENT_(tape, ys, y_count, xs, x_count, out, __VA_ARGS__, .struct_size = sizeof(hr_tape_gradient_opts))
#define HR_TAPE_GRADIENT_(tape, ys, y_count, xs, x_count, out, err, ...)                                               \
    hr_tape_gradient_with((tape), (ys), (y_count), (xs), (x_count), (out), &(hr_tape_gradient_opts){__VA_ARGS__}, (err))
/* The derivative of each value of y by each of x, of y's shape followed by x's: one pass over the tape, which must be
 * persistent, for each value of y. */
HR_API hr_status hr_tape_jacobian(hr_tape *tape, hr_node y, hr_node x, hr_node *out, hr_error *err);

/* ---- traced functions: tf.function ----
 *
 * hr_function is a function of a graph's library: one body, of certain types and shapes. hr_traced stands above it: a
 * function in C, from which it makes an hr_function for each signature that it is called with. */

typedef struct hr_traced hr_traced;
/* Makes the nodes of the results from those of the inputs. It is called for each new signature, not for each call. */
typedef void hr_traced_fn(hr_graph *g, const hr_node *inputs, hr_node *results, void *user);

/* What an input may be: -1 in a shape is any size. */
typedef struct hr_input_spec {
    hr_dtype dtype;
    hr_shape shape;
} hr_input_spec;

typedef struct hr_traced_opts {
    size_t struct_size;
    const char *name;                     /* of its functions; default "traced" */
    const hr_input_spec *input_signature; /* one each input: it is traced once, and takes nothing else; default: any */
    bool
        reduce_retracing; /* inputs of a second shape are traced with -1 where shapes differ; default: each shape anew */
} hr_traced_opts;
/* Gives a traced function of `inputs` nodes and `results` nodes on an eager graph. Borrows the graph, which must live
 * longer, `fn` and `user`. NULL: no memory, or no eager graph, which sticks to it. */
HR_API hr_traced *hr_trace_with(hr_graph *g, hr_traced_fn *fn, int inputs, int results, void *user,
                                const hr_traced_opts *opts);
#define hr_trace(g, fn, inputs, results, ...)                                                                          \
    HR_TRACE_(g, fn, inputs, results, __VA_ARGS__, .struct_size = sizeof(hr_traced_opts))
#define HR_TRACE_(g, fn, inputs, results, user, ...)                                                                   \
    hr_trace_with((g), (fn), (inputs), (results), (user), &(hr_traced_opts){__VA_ARGS__})
/* What it has traced stays with the graph. While it is called: when the call ends. NULL: nothing. */
HR_API void hr_traced_free(hr_traced *traced);

/* Calls it. What it uses of the eager graph is captured: variables themselves, nodes with the values that they have
 * when it is traced. What has an effect runs at each call, in the order in which it was made. A variable that it makes
 * is made once. In a function that is being made, the call becomes a node. HR_INVALID_ARGUMENT, "traced.signature":
 * inputs that the input_signature does not take; other errors name the function. They do not stick to the graph. */
HR_API hr_status hr_traced_call(hr_traced *traced, const hr_node *inputs, hr_node *results, hr_error *err);
HR_API int hr_traced_count(const hr_traced *traced); /* how many times it was traced */
/* Of one trace: the function of the graph's library, which hr_graph_export writes. Captures are its last inputs. */
HR_API const hr_function *hr_traced_function(const hr_traced *traced, int i);

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_eager_take(...) HR_MADE_(hr_eager_take(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
