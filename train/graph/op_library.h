/* Libraries of ops: ops and passes from outside that every graph of the process knows, as those of TensorFlow's
 * tf.load_op_library. The same table is linked into a program, or lies in a shared object that is loaded at run time:
 *
 *     static const hr_op_library example = {
 *         .head = HR_OP_LIBRARY_HEAD,
 *         .name = "example",
 *         .ops = (const hr_graph_op *const[]){zero_out_ops, NULL},
 *     };
 *     HR_EXPORT_OP_LIBRARY(example);
 *
 * An op that only one graph is to know needs no library: hr_graph_use. examples/ops has a whole one. */
#ifndef HR_OP_LIBRARY_H
#define HR_OP_LIBRARY_H

#include <headrace/graph_op.h>
#include <headrace/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of ops and passes. All that it points to must live as long as the process. */
typedef struct hr_op_library {
    hr_graph_op_head head;              /* HR_OP_LIBRARY_HEAD */
    const char *name;                   /* for messages */
    const hr_graph_op *const *ops;      /* files of ops, each up to HR_GRAPH_OPS_END, and then NULL. NULL: no ops */
    const hr_graph_pass *const *passes; /* and then NULL; they run after the library's own. NULL: no passes */
} hr_op_library;

/* The head of a table. */
#define HR_OP_LIBRARY_HEAD                                                                                             \
    {                                                                                                                  \
        HR_GRAPH_OP_ABI, sizeof(hr_op_library)                                                                         \
    }

/* Makes a table what hr_load_op_library finds in a shared object. The symbol is weak, so that a program may be linked
 * with several libraries. */
#define HR_EXPORT_OP_LIBRARY(table)                                                                                    \
    extern HR_API __attribute__((weak)) const hr_op_library *const hr_exported_op_library;                             \
    const hr_op_library *const hr_exported_op_library = &(table)

/* Makes the ops and passes of a table known to all graphs, also to those that are read from a GraphDef. A table that is
 * registered already does nothing. All of it is taken, or nothing:
 *
 *   graph.abi             HR_FAILED_PRECONDITION: the table, an op or a pass is made for another version of the kit
 *   op_library.name       HR_ALREADY_EXISTS: Headrace or another library has an op or a pass of that name
 *   op_library.signature  HR_INVALID_ARGUMENT: TensorFlow has an op of that name with another signature. An op that
 *                         TensorFlow has and Headrace lacks (hr_graph_op_named) may be supplied; NULL is its signature
 *   graph.signature       HR_INVALID_ARGUMENT: a descriptor is malformed
 *
 * Threads: any may call it at any time. A graph finds an op when it makes the first node of that name, so register
 * before the graphs that need it are made. What is registered stays to the end of the process. */
HR_API hr_status hr_register_op_library(const hr_op_library *library, hr_error *err);

/* Loads a shared object (dlopen) and registers the table that it exports. A path without '/' is a file of the current
 * folder. A file that is loaded already does nothing. Besides the errors above:
 *
 *   op_library.file       HR_NOT_FOUND: there is no such file; HR_INVALID_ARGUMENT: it cannot be loaded, or exports no
 *                         table
 *
 * A shared object is trusted code. It stays loaded to the end of the process, since graphs, sessions and values may
 * refer to its code; one that is refused is unloaded. It finds Headrace's functions in the program: link that with the
 * shared libraries, or export its symbols (-rdynamic). */
HR_API hr_status hr_load_op_library(const char *path, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
