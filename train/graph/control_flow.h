/* Headrace, control flow: functions of a graph, calls of them, branches and loops.
 *
 * A function that you write makes the nodes of a branch or of a loop's body; hr_cond and hr_while_loop call it once,
 * while the graph is built. While a function is made, every node that is made in its graph or in one around it becomes the function's; nodes of
 * graphs around it may be used, and become inputs of the function (captures). Variables are made in the outermost
 * graph. What has an effect runs at each call, in the order in which it was made, whether or not its output is used. */
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

/* Makes a branch: puts `count` results into `results`. */
typedef void hr_branch_fn(hr_graph *g, hr_node *results, void *user);
/* The results of `then` if the predicate is true (a bool; a number that is not 0; a string that is not empty; a tensor
 * with values), else those of `otherwise`: of the same types, which both give `count` of. Only one of them runs. */
HR_API void hr_cond(hr_node predicate, hr_branch_fn *then, hr_branch_fn *otherwise, void *user, hr_node *out,
                    int count);

/* Makes the condition of a loop (one result, a bool) or its body (one result for each variable of the loop). */
typedef void hr_loop_fn(hr_graph *g, const hr_node *vars, hr_node *results, void *user);
typedef struct hr_while_opts {
    size_t struct_size;
    const char *name;           /* default "while" */
    const hr_shape *shapes;     /* what each variable's shape may be; default: that of its first value */
    int64_t maximum_iterations; /* default: no bound */
} hr_while_opts;
/* Runs `body` on the variables as long as `condition` is true of them; `out`: what they are then. A variable keeps its
 * type, and the shape that it may have: HR_INVALID_ARGUMENT, "graph.loop", sticks to the graph otherwise. */
HR_API void hr_while_loop_with(hr_loop_fn *condition, hr_loop_fn *body, void *user, const hr_node *vars, int count,
                               hr_node *out, const hr_while_opts *opts);
#define hr_while_loop(condition, body, user, vars, count, ...)                                                         \
    HR_WHILE_LOOP_(condition, body, user, vars, count, __VA_ARGS__, .struct_size = sizeof(hr_while_opts))
#define HR_WHILE_LOOP_(condition, body, user, vars, count, out, ...)                                                   \
    hr_while_loop_with((condition), (body), (user), (vars), (count), (out), &(hr_while_opts){__VA_ARGS__})

#ifdef __cplusplus
}
#endif
#endif
