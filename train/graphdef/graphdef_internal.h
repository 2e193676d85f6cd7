/* What the files of this room share: tensors and attributes as messages. */
#ifndef HR_GRAPHDEF_INTERNAL_H
#define HR_GRAPHDEF_INTERNAL_H

#include "proto/graph.pb-c.h"
#include "proto/message.h"
#include "train/graph/graph_internal.h"
#include <headrace/graphdef.h>

typedef Headrace__Proto__NodeDef proto_node;
typedef Headrace__Proto__GraphDef proto_graph;
typedef Headrace__Proto__Tensor proto_tensor;
typedef Headrace__Proto__TensorShape proto_shape;
typedef Headrace__Proto__AttrValue proto_attr;
typedef Headrace__Proto__AttrEntry proto_entry;
typedef Headrace__Proto__NameAttrList proto_func;

/* Where what is read is put until the nodes are made, and how much of it tensors may still take: a few bytes may say a
 * shape of any size. */
typedef struct hr__import_memory {
    hr__arena arena;
    size_t left;
} hr__import_memory;

/* ---- tensor_message.c ---- */

hr_status hr__shape_of_message(const proto_shape *message, hr_shape *out, hr_error *err); /* NULL: unknown rank */
/* The tensor in `memory`; its strings stay in the message. */
hr_status hr__tensor_of_message(hr__import_memory *memory, const proto_tensor *message, hr_tensor *out, hr_error *err);
/* Messages in the arena that borrow from the value. NULL: no memory. */
proto_shape *hr__shape_message(hr__arena *arena, hr_shape shape);
proto_tensor *hr__tensor_message(hr__arena *arena, const hr_tensor *tensor);

/* ---- attr_message.c ---- */

/* `kind`: what the op expects, for lists without values; 0: not known. Borrows from the message and `memory`. */
hr_status hr__attr_of_message(hr__import_memory *memory, const proto_entry *message, hr_attr_kind kind, hr_attr *out,
                              hr_error *err);
proto_entry *hr__attr_message(hr__arena *arena, const hr_attr *attr); /* NULL: no memory */

/* ---- graph_order.c ---- */

/* An input as a file writes it: "node", "node:1", "^node". */
typedef struct hr__edge {
    int32_t node;   /* number in the file */
    int32_t output; /* -1: a control input */
} hr__edge;

/* The order in which nodes can be made: inputs first, else as in the file. first[i] to first[i + 1]: the edges of node
 * i. HR_INVALID_ARGUMENT, "graphdef.cycle", or, where NextIteration closes it, HR_UNIMPLEMENTED, "graphdef.loop". */
hr_status hr__graph_order(const proto_graph *graph, const hr__edge *edges, const int32_t *first, int32_t *order,
                          hr_error *err);

#endif
