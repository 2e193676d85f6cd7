/* One node of constants, with tensors as text: "float32[2,3] 1 2 3 4 5 6; string[2] 'a' '\xff'; int32[] 7". Numbers are
 * separated by blanks, strings have quotes and C's escapes \x, \n, \\ and \'; a tensor without values is "float32[0]". */
#ifndef NODE_TEXT_H
#define NODE_TEXT_H

#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>

enum { NODE_TEXT_MOST = 32 }; /* tensors */

/* Fails the test unless the node's outputs are `expected`: equal bits, but NaN is NaN, and floats may differ by
 * `tolerance` of their size. NULL: the node is refused, as InvalidArgument, while it is made or when it runs. */
void node_text_check(const char *op, const char *inputs, const char *expected, double tolerance, const hr_attr *attrs,
                     int attr_count, const char *file, int line);
#define EXPECT_NODE(op, inputs, expected) node_text_check(op, inputs, expected, 0, NULL, 0, __FILE__, __LINE__)
#define EXPECT_NODE_WITH(op, inputs, expected, ...)                                                                    \
    node_text_check(op, inputs, expected, 0, (const hr_attr[]){__VA_ARGS__},                                           \
                    (int)(sizeof((const hr_attr[]){__VA_ARGS__}) / sizeof(hr_attr)), __FILE__, __LINE__)

/* The tensors of a text: as many as are returned, each to be cleared by hr_tensor_clear. */
int node_text_read(const char *text, hr_tensor *out);

#endif
