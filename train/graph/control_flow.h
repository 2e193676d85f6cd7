/* Headrace, control flow: functions of a graph, calls of them, branches and loops; tensor arrays, and loops over rows.
 *
 * A function that you write makes the nodes of a branch or of a loop's body; hr_cond, hr_while_loop and their kin call
 * it once, while the graph is built. While a function is made, every node that is made in its graph or in one around it
 * becomes the function's; nodes of graphs around it may be used, and become inputs of the function (captures).
 * Variables are made in the outermost graph. What has an effect runs at each call, in the order in which it was made,
 * whether or not its output is used. */
#ifndef HR_CONTROL_FLOW_H
#define HR_CONTROL_FLOW_H

#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function of a graph's library. It lives as long as the graph. */
typedef struct hr_function hr_function;

/* Begins a function and gives its graph: nodes are the function's until hr_function_end. The name is made unique.
 * NULL: no memory, which sticks to `g`. */
HR_API hr_graph *hr_function_begin(hr_graph *g, const char *name);
HR_API hr_node hr_function_input(hr_graph *body, hr_dtype dtype, hr_shape shape, const char *name);
/* Ends it: `results` are what a call gives. NULL: it failed, and the error is that of the graph around it. */
HR_API const hr_function *hr_function_end(hr_graph *body, const hr_node *results, int count);

HR_API const hr_function *hr_function_named(hr_graph *g, const char *name); /* NULL: there is none */
HR_API const char *hr_function_name(const hr_function *f);                  /* borrows */
HR_API hr_graph *hr_function_graph(const hr_function *f);                   /* its body */
/* How many inputs (captures last) and outputs it has, and each of them, in its body. */
HR_API int hr_function_inputs(const hr_function *f);
HR_API int hr_function_outputs(const hr_function *f);
HR_API hr_node hr_function_input_at(const hr_function *f, int i);
HR_API hr_node hr_function_output_at(const hr_function *f, int i);

/* Calls it: one input each that was asked for, captures not counted, and one node of `out` each result. */
HR_API void hr_call_function(const hr_function *f, const hr_node *inputs, int count, hr_node *out);
#define hr_call_function(...) HR_MADE_VOID_(hr_call_function(__VA_ARGS__))

/* Makes a branch: puts `count` results into `results`. */
typedef void hr_branch_fn(hr_graph *g, hr_node *results, void *user);
/* The results of `then` if the predicate is true (a bool; a number that is not 0; a string that is not empty; a tensor
 * with values), else those of `otherwise`: of the same types, which both give `count` of. Only one of them runs. */
HR_API void hr_cond(hr_node predicate, hr_branch_fn *then, hr_branch_fn *otherwise, void *user, hr_node *out,
                    int count);
#define hr_cond(...) HR_MADE_VOID_(hr_cond(__VA_ARGS__))

/* Makes the condition of a loop (one result, a bool) or its body (one result for each variable of the loop). */
typedef void hr_loop_fn(hr_graph *g, const hr_node *vars, hr_node *results, void *user);
typedef struct hr_while_opts {
    size_t struct_size;
    const char *name;           /* default "while" */
    const hr_shape *shapes;     /* what each variable's shape may be; default: that of its first value */
    int64_t maximum_iterations; /* default: no bound */
    int parallel_iterations;    /* kept in the graph for TensorFlow, default 10; it changes nothing here */
} hr_while_opts;
/* Runs `body` on the variables as long as `condition` is true of them; `out`: what they are then. A variable keeps its
 * type, and the shape that it may have: HR_INVALID_ARGUMENT, "graph.loop", sticks to the graph otherwise. */
HR_API void hr_while_loop_with(hr_loop_fn *condition, hr_loop_fn *body, void *user, const hr_node *vars, int count,
                               hr_node *out, const hr_while_opts *opts);
#define hr_while_loop(condition, body, user, vars, count, ...)                                                         \
    HR_WHILE_LOOP_(condition, body, user, vars, count, __VA_ARGS__, .struct_size = sizeof(hr_while_opts))
#define HR_WHILE_LOOP_(condition, body, user, vars, count, out, ...)                                                   \
    HR_MADE_VOID_(                                                                                                     \
        hr_while_loop_with((condition), (body), (user), (vars), (count), (out), &(hr_while_opts){__VA_ARGS__}))

/* ---- one of several branches ---- */

typedef struct hr_switch_case_opts {
    size_t struct_size;
    const char *name;           /* default "switch_case" */
    hr_branch_fn *default_case; /* makes what is run for an index that no branch has; default: the last branch */
} hr_switch_case_opts;
/* The results of branch number `index`, an int32 scalar, as tf.switch_case; only that one runs. All branches give
 * `count` results of the same types. */
HR_API void hr_switch_case_with(hr_node index, hr_branch_fn *const *branches, int branch_count, void *user,
                                hr_node *out, int count, const hr_switch_case_opts *opts);
#define hr_switch_case(index, branches, branch_count, user, out, ...)                                                  \
    HR_SWITCH_CASE_(index, branches, branch_count, user, out, __VA_ARGS__, .struct_size = sizeof(hr_switch_case_opts))
#define HR_SWITCH_CASE_(index, branches, branch_count, user, out, count, ...)                                          \
    HR_MADE_VOID_(hr_switch_case_with((index), (branches), (branch_count), (user), (out), (count),                     \
                                      &(hr_switch_case_opts){__VA_ARGS__}))

typedef struct hr_case_opts {
    size_t struct_size;
    const char *name;           /* default "case" */
    hr_branch_fn *default_case; /* makes what is run if no predicate is true; default: that is an error of the run */
    bool exclusive;             /* more than one predicate that is true is an error of the run */
} hr_case_opts;
/* The results of the first branch whose predicate, a bool scalar, is true, as tf.case. All branches give `count`
 * results of the same types. At most 100 predicates. Errors of the run: HR_INVALID_ARGUMENT, "graph.assert". */
HR_API void hr_case_with(const hr_node *predicates, hr_branch_fn *const *branches, int branch_count, void *user,
                         hr_node *out, int count, const hr_case_opts *opts);
#define hr_case(predicates, branches, branch_count, user, out, ...)                                                    \
    HR_CASE_(predicates, branches, branch_count, user, out, __VA_ARGS__, .struct_size = sizeof(hr_case_opts))
#define HR_CASE_(predicates, branches, branch_count, user, out, count, ...)                                            \
    HR_MADE_VOID_(                                                                                                     \
        hr_case_with((predicates), (branches), (branch_count), (user), (out), (count), &(hr_case_opts){__VA_ARGS__}))

/* ---- tensor arrays ---- */

/* Tensors by index, as tf.TensorArray: a list and what is known of its elements. A write gives a new array and leaves
 * the old one as it was, which copies no values; where the old one is not used any more, as in a loop, a write takes a
 * constant time. In a loop, `list` is one of the variables: it is a scalar of type HR_VARIANT. */
typedef struct hr_tensor_array {
    hr_node list;
    hr_dtype dtype;
    hr_shape element_shape; /* what the shape of each element may be */
    bool dynamic_size;      /* a write beyond the end makes it longer */
} hr_tensor_array;
typedef struct hr_tensor_array_opts {
    size_t struct_size;
    const hr_shape *element_shape; /* default: any */
    bool dynamic_size;             /* default: a write beyond the end is an error of the run */
} hr_tensor_array_opts;
/* hr_place_end of what makes an array. */
HR_API hr_tensor_array hr_place_end_array(hr_tensor_array made);
#if defined HR_NO_PLACES || defined __cplusplus
#define HR_MADE_ARRAY_(call) (call)
#else
#define HR_MADE_ARRAY_(call) (hr_place_begin(__FILE__, __LINE__), hr_place_end_array(call))
#endif
/* `size`, an int32 scalar, elements that are not written yet; they are read as zeros. */
HR_API hr_tensor_array hr_tensor_array_new_with(hr_node size, hr_dtype dtype, const hr_tensor_array_opts *opts);
#define hr_tensor_array_new(...)                                                                                       \
    HR_MADE_ARRAY_(HR_CALL2_(hr_tensor_array_new_with, hr_tensor_array_opts, __VA_ARGS__,                              \
                             .struct_size = sizeof(hr_tensor_array_opts)))
HR_API hr_tensor_array hr_tensor_array_unstack(hr_node rows); /* one element for each row */
/* The same array with another list, such as the one that a loop gave. */
HR_API hr_tensor_array hr_tensor_array_of(const hr_tensor_array *like, hr_node list);
/* One element, `index` being an int32 scalar. HR_INVALID_ARGUMENT, "list.index", is the run's error if there is none. */
HR_API hr_node hr_tensor_array_read(const hr_tensor_array *a, hr_node index);
HR_API hr_tensor_array hr_tensor_array_write(const hr_tensor_array *a, hr_node index, hr_node value);
HR_API hr_node hr_tensor_array_stack(const hr_tensor_array *a); /* all of them as rows of one tensor, of one shape */
HR_API hr_node hr_tensor_array_size(const hr_tensor_array *a);  /* an int32 scalar */

/* ---- loops over rows ----
 *
 * Each takes row after row of `elems`, tensors of as many rows each (of more than the first has, the rest is left out),
 * and calls `fn` once to make the nodes for one row. Loops may be within loops, and `fn` may use nodes of the graphs
 * around it. HR_INVALID_ARGUMENT, "graph.loop", sticks to the graph if an elem has no rows, or results do not have the
 * expected types. Names in parentheses are TensorFlow's. */

typedef struct hr_map_loop_opts {
    size_t struct_size;
    const char *name;        /* default "map" */
    const hr_dtype *dtypes;  /* of the results; default: those of the elems */
    int parallel_iterations; /* as in hr_while_opts */
} hr_map_loop_opts;
/* Results of `fn` for each row, as rows (tf.map_fn). `fn` gets one row of each elem and gives `count` results; out[i]
 * has result i of every row. Without rows, the results' shapes must be known. */
HR_API void hr_map_loop_with(hr_loop_fn *fn, void *user, const hr_node *elems, int elem_count, hr_node *out, int count,
                             const hr_map_loop_opts *opts);
#define hr_map_loop(fn, user, elems, elem_count, out, ...)                                                             \
    HR_MAP_LOOP_(fn, user, elems, elem_count, out, __VA_ARGS__, .struct_size = sizeof(hr_map_loop_opts))
#define HR_MAP_LOOP_(fn, user, elems, elem_count, out, count, ...)                                                     \
    HR_MADE_VOID_(                                                                                                     \
        hr_map_loop_with((fn), (user), (elems), (elem_count), (out), (count), &(hr_map_loop_opts){__VA_ARGS__}))

typedef struct hr_fold_opts {
    size_t struct_size;
    const char *name;        /* default "foldl", "foldr" or "scan" */
    const hr_shape *shapes;  /* what each value's shape may be; default: that of its first value */
    bool reverse;            /* of hr_scan_loop: from the last row to the first; row i of a result is still of row i */
    int parallel_iterations; /* as in hr_while_opts */
} hr_fold_opts;
/* `fn` gets `count` values and one row of each elem, and gives the next values. They begin as `initial`; NULL: as the
 * first row that is taken, which is then not taken again (`count` is elem_count, and there must be a row). out: what
 * they are after all rows, from the first to the last (tf.foldl), or from the last to the first (tf.foldr). */
HR_API void hr_foldl_with(hr_loop_fn *fn, void *user, const hr_node *elems, int elem_count, const hr_node *initial,
                          hr_node *out, int count, const hr_fold_opts *opts);
HR_API void hr_foldr_with(hr_loop_fn *fn, void *user, const hr_node *elems, int elem_count, const hr_node *initial,
                          hr_node *out, int count, const hr_fold_opts *opts);
/* The same from the first to the last, or `.reverse`; out: what the values are after each row, as rows (tf.scan). */
HR_API void hr_scan_loop_with(hr_loop_fn *fn, void *user, const hr_node *elems, int elem_count, const hr_node *initial,
                              hr_node *out, int count, const hr_fold_opts *opts);
#define hr_foldl(fn, user, elems, elem_count, initial, out, ...)                                                       \
    HR_FOLD_(hr_foldl_with, fn, user, elems, elem_count, initial, out, __VA_ARGS__, .struct_size = sizeof(hr_fold_opts))
#define hr_foldr(fn, user, elems, elem_count, initial, out, ...)                                                       \
    HR_FOLD_(hr_foldr_with, fn, user, elems, elem_count, initial, out, __VA_ARGS__, .struct_size = sizeof(hr_fold_opts))
#define hr_scan_loop(fn, user, elems, elem_count, initial, out, ...)                                                   \
    HR_FOLD_(hr_scan_loop_with, fn, user, elems, elem_count, initial, out, __VA_ARGS__,                                \
             .struct_size = sizeof(hr_fold_opts))
#define HR_FOLD_(call, fn, user, elems, elem_count, initial, out, count, ...)                                          \
    HR_MADE_VOID_(call((fn), (user), (elems), (elem_count), (initial), (out), (count), &(hr_fold_opts){__VA_ARGS__}))

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_function_input(...) HR_MADE_(hr_function_input(__VA_ARGS__))
#define hr_tensor_array_read(...) HR_MADE_(hr_tensor_array_read(__VA_ARGS__))
#define hr_tensor_array_stack(...) HR_MADE_(hr_tensor_array_stack(__VA_ARGS__))
#define hr_tensor_array_size(...) HR_MADE_(hr_tensor_array_size(__VA_ARGS__))
#define hr_tensor_array_unstack(...) HR_MADE_ARRAY_(hr_tensor_array_unstack(__VA_ARGS__))
#define hr_tensor_array_write(...) HR_MADE_ARRAY_(hr_tensor_array_write(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
