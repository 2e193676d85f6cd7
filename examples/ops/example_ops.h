/* Two ops of one's own, and the library of them: see zero_out.c, shuffle_rows.c, library.c. */
#ifndef EXAMPLE_OPS_H
#define EXAMPLE_OPS_H

#include <headrace/op_library.h>

extern const hr_graph_op zero_out_ops[], shuffle_rows_ops[];

/* The table: for programs that are linked with the ops. Who loads them needs none of this header. */
extern const hr_op_library example_ops;

#endif
