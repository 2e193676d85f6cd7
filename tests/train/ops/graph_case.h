/* From a golden case to a graph: tensors, attributes, nodes; and what comes out against what is expected. Shared by the
 * topics of nodes: ops, gradients, initializers. */
#ifndef GRAPH_CASE_H
#define GRAPH_CASE_H

#include "tests/golden/golden.h"
#include "train/graph/graph_op.h"
#include "train/ops/ops.h"

enum { CASE_MAX = 64 };

typedef struct case_tensors {
    hr_tensor value[CASE_MAX];
    int count;
} case_tensors;

/* False: an entry is no dense tensor. */
bool case_tensors_read(const cJSON *list, case_tensors *out);
void case_tensors_clear(case_tensors *tensors);

/* How inputs stand in the graph. */
typedef enum case_inputs { CASE_UNKNOWN_SHAPES, CASE_KNOWN_SHAPES, CASE_CONSTANTS } case_inputs;
hr_node case_input(hr_graph *g, const hr_tensor *value, case_inputs how);

/* The node of op `name` with the case's `attrs`, which may be NULL. */
hr_node case_node(hr_graph *g, const hr_graph_op *op, const cJSON *attrs, const hr_node *inputs, int count);

/* Whether the error's class is that of the expectation, or one of `also`; otherwise says why not. */
bool case_error_fits(golden_case *c, const cJSON *expectation, const hr_error *err);
/* "[2,-1]", null: unknown rank. */
bool case_shape_fits(golden_case *c, const char *what, const cJSON *expected, hr_shape got);

#endif
