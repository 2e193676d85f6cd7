/* What transforms are made of: a draft of a graph, nodes that refer to each other by numbers. */
#ifndef HR_TRANSFORM_H
#define HR_TRANSFORM_H

#include "train/graphdef/graphdef_internal.h"
#include <headrace/transforms.h>

/* ---- draft.c ---- */

typedef struct draft_edge {
    int node;
    int output; /* -1: a control input */
} draft_edge;

typedef struct draft_node {
    const char *name, *op, *device;
    proto_entry **attr;
    int attrs;
    draft_edge *input; /* control inputs last */
    int inputs;
    bool gone;
} draft_node;

/* A graph that is being rewritten. Nodes are added at the end and never move; those that go are marked. */
typedef struct hr__draft {
    hr__arena arena;
    hr_graph *source;
    const proto_graph *message; /* of the source: versions and functions are taken from it */
    draft_node **node;
    int count, capacity;
    hr__map names; /* to the number; of names that are gone, too */
    draft_edge *output, *fed;
    int outputs, feds;
    hr_tensor *kept; /* values that constants borrow */
    int kept_count, kept_capacity;
} hr__draft;

hr_status hr__draft_begin(hr__draft *d, hr_graph *g, const hr_node *outputs, int output_count, const hr_node *inputs,
                          int input_count, hr_error *err);
/* Gives the graph. */
hr_status hr__draft_build(hr__draft *d, hr_graph **out, hr_error *err);
void hr__draft_end(hr__draft *d);

hr_status hr__draft_no_memory(hr_error *err);
int hr__draft_named(const hr__draft *d, const char *name); /* -1: none */
/* A new node of that name, made unique. -1: no memory. */
int hr__draft_add(hr__draft *d, const char *name, const char *op, const char *device, int inputs);
/* Sets an attribute, or adds it. What it holds is copied, but for a tensor's values. */
hr_status hr__draft_set(hr__draft *d, int node, const hr_attr *attr, hr_error *err);
void hr__draft_unset(draft_node *n, const char *name);
/* The attribute's value; NULL: there is none. */
const proto_attr *hr__draft_attr(const hr__draft *d, int node, const char *name);
/* A type that the node or its op's default says; HR_INVALID_DTYPE: none. A bool: false where nothing says otherwise. */
hr_dtype hr__draft_type(const hr__draft *d, int node, const char *name);
bool hr__draft_bool(const hr__draft *d, int node, const char *name);
bool hr__draft_is(const hr__draft *d, int node, const char *op);
/* The value of a Const, in the draft's arena. *is: it is one of values of numbers. */
hr_status hr__draft_value(hr__draft *d, int node, bool *is, hr_tensor *value, hr_error *err);
/* Makes the node a Const of that value, which the draft keeps (takes it). Its inputs are gone. */
hr_status hr__draft_make_const(hr__draft *d, int node, hr_tensor value, hr_error *err);
/* How many inputs, control inputs and outputs of the graph take the node. */
int hr__draft_uses(const hr__draft *d, int node);
bool hr__draft_is_output(const hr__draft *d, int node);
bool hr__draft_is_fed(const hr__draft *d, int node);
int hr__draft_data_inputs(const draft_node *n);
/* Whoever takes any output of `old` takes the same of `by`. Outputs of the graph stay. */
void hr__draft_redirect(hr__draft *d, int old, int by);
void hr__draft_drop_unused(hr__draft *d, int node); /* it goes if nobody takes it */
/* Nodes that the outputs do not need go. HR_INVALID_ARGUMENT, "transform.output": no output is known. */
hr_status hr__draft_sweep(hr__draft *d, hr_error *err);
/* Nodes so that inputs come before what takes them, the first ones first, where there are no loops. Gives *order
 * (hr_free it) and how many. */
hr_status hr__draft_order(const hr__draft *d, int **order, int *count, hr_error *err);

/* ---- transforms.c ---- */

typedef struct transform_argument {
    const char *name, *value;
} transform_argument;

typedef struct transform_arguments {
    const transform_argument *item;
    int count;
} transform_arguments;

/* Value i of the arguments of that name; NULL: there are fewer. */
const char *hr__transform_text(const transform_arguments *a, const char *name, int i);
hr_status hr__transform_bool(const transform_arguments *a, const char *name, bool *out, hr_error *err);
hr_status hr__transform_int(const transform_arguments *a, const char *name, int64_t *out, hr_error *err);
hr_status hr__transform_wrong(hr_error *err, const char *name, const char *expected, const char *got);

/* A transform: its name, the arguments that it takes, and what it does to a draft. */
typedef struct hr__transform {
    hr_transform_info info;
    hr_status (*run)(hr__draft *d, const transform_arguments *a, hr_error *err);
} hr__transform;

#endif
