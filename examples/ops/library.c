/* The library of both ops: a table, which a program links and registers, or loads from a shared object.
 *
 *     cc -shared -fPIC -o example_ops.so library.c zero_out.c shuffle_rows.c $(pkg-config --cflags headrace_train)
 */
#include "example_ops.h"

const hr_op_library example_ops = {
    .head = HR_OP_LIBRARY_HEAD,
    .name = "example_ops",
    .ops = (const hr_graph_op *const[]){zero_out_ops, shuffle_rows_ops, NULL},
};

HR_EXPORT_OP_LIBRARY(example_ops);
