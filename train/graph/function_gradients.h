/* What derivatives of functions, calls and loops share: see function_gradients.c. */
#ifndef HR_FUNCTION_GRADIENTS_H
#define HR_FUNCTION_GRADIENTS_H

#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

/* Nodes go into `g` itself, whatever is made there now, and wait for nothing. */
typedef struct hr__inside {
    hr_graph *g, *building;
    int controls;
} hr__inside;

/* A function that gives the gradients of another one. */
typedef struct hr__derivative {
    const hr_function *function;
    int taken;           /* gradients that it takes first */
    const hr_node *need; /* of the derived function's body: what it takes after these */
    int needs;
    const uint8_t *parts; /* by wanted input, how many results are its gradient: none, one that is dense, or two, the
                           * values and the indices of slices */
} hr__derivative;

/* Whether the graph has an error. */
bool hr__gradient_failed(const hr_backward *b);
/* Fails the graph, "graph.gradient": `what` says what cannot be derived. */
void hr__gradient_refuse(const hr_backward *b, const char *what);
/* The same output of the same node. */
bool hr__is_same_value(hr_node a, hr_node b);
/* Until hr__leave_graph, nodes of `g` are made so. */
hr__inside hr__enter_graph(hr_graph *g);
void hr__leave_graph(hr__inside was);
/* Stands for what is not computed in a branch: nobody takes it. */
hr_node hr__empty_value(hr_graph *body, hr_dtype dtype);
/* The function that an attribute names, number `branch` of a list. NULL: there is none, and the graph fails. */
const hr_function *hr__function_of(const hr_backward *b, hr_node node, const char *attr, int branch);
/* What a gradient is like: as the value is; of a variable, as the variable's value is. */
void hr__value_like(hr_node node, hr_dtype *dtype, hr_shape *shape);
/* Of the inputs, those that a result in `flows` depends on. */
bool hr__find_connected(const hr_function *f, const bool *flows, bool *connected);
/* Which input of the function the node is; -1: none. */
int hr__input_of(const hr_function *f, hr_node node);
/* A function from a file does not say which variables it takes; a call of it does. */
void hr__know_inputs(const hr_backward *b, const hr_function *f, int first);
/* The derivative by the wanted inputs. */
bool hr__differentiate(const hr_backward *b, const hr_function *f, const bool *flows, const bool *wanted,
                       const bool *whole, hr__derivative *out);
/* A call of it where gradients are made now. */
bool hr__call_derivative(const hr_backward *b, const hr__derivative *d, const hr_node *inputs, hr_node *out);
/* The newest node that extends this one. */
hr_node hr__newest(hr_node node);
/* One more result of the function. */
bool hr__add_output(hr_function *f, hr_node node);
/* Which result of the function the value is; -1: none. */
int hr__output_of(const hr_function *f, hr_node node);
/* A node like the newest one that extends `node`, with these inputs and attributes; types follow from them. */
hr_node hr__extend_node(hr_node node, const hr_node *inputs, int count, const hr_attr *changed, int changes);
/* An attribute that is that function; `func` is its memory. */
void hr__set_function(hr_attr *attr, hr_func *func, const char *name, const hr_function *f);
/* A gradient has the shape of what it is of. `rows`: the values of slices, which have as many rows as there are. */
void hr__set_gradient_shape(hr_node gradient, hr_node of, bool rows);

#endif
