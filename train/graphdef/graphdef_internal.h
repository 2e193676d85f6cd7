/* What the files of this room share: tensors and attributes as messages. */
#ifndef HR_GRAPHDEF_INTERNAL_H
#define HR_GRAPHDEF_INTERNAL_H

#include "proto/graph.pb-c.h"
#include "proto/message.h"
#include "train/graph/graph_internal.h"
#include <headrace/graphdef.h>
#include <string.h>

typedef Headrace__Proto__NodeDef proto_node;
typedef Headrace__Proto__GraphDef proto_graph;
typedef Headrace__Proto__Tensor proto_tensor;
typedef Headrace__Proto__TensorShape proto_shape;
typedef Headrace__Proto__AttrValue proto_attr;
typedef Headrace__Proto__AttrEntry proto_entry;
typedef Headrace__Proto__NameAttrList proto_func;

/* A file on its way into a graph: where what is read is put until the nodes are made, and how much of it tensors may
 * still take: a few bytes may say a shape of any size. */
typedef struct hr__import_memory {
    hr__arena arena;
    size_t left;
    int producer; /* the version of who wrote the file; 0: not said */
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

/* An input as a file writes it: "node", "node:1", "^node"; in a function "input" or "node:output:0". */
typedef struct hr__edge {
    int32_t node;     /* number in the file; from the count of nodes on: an input of the function */
    int32_t output;   /* -1: a control input; of `port`, if there is one */
    const char *port; /* the op's output argument, not ended by a 0; NULL: `output` counts all outputs */
    size_t port_size;
} hr__edge;

/* What a node is in the loop that is being raised. */
typedef struct hr__loop_part {
    hr_node merge, turn; /* the Merge and the Switch that take its first output */
    int32_t ends;        /* 1 + the input of the functions that it stands for; 0: none */
    bool is_merge;       /* by its output 0, otherwise 1 */
    bool needed;
} hr__loop_part;

/* Loops of TensorFlow 1 in a file: frames of Enter and Exit. */
typedef struct hr__loops {
    int32_t *frame;          /* by node of the file; -1: none. NULL: there are no loops */
    int32_t *parent;         /* by frame: the one around it; -1: none */
    int32_t *first, *member; /* nodes of frame i: from member[first[i]] to member[first[i + 1]] */
    int32_t count;
    hr__map names; /* to the frame */
    /* For raising one after the other, by node of the graph. */
    size_t most;
    hr__loop_part *part;
    hr_node *copy; /* in the function that is being made */
    int32_t *list;
} hr__loops;

/* ---- import_nodes.c ---- */

/* The nodes of a graph or of a function on their way into it. */
typedef struct hr__nodes_import {
    hr_graph *g;
    const hr_graph_import_opts *opts;
    proto_node *const *from;
    int32_t count;
    const char *const *input_name; /* of a function */
    const hr_node *input;
    int32_t inputs;
    bool in_function;
    hr__import_memory *memory;
    hr_node *node; /* what became of each; in `memory` */
    hr_error *err;
    /* On the way. */
    int32_t place;  /* of the first one in the graph */
    hr__map names;  /* to the number */
    int32_t *first; /* edges of node i: from edge[first[i]] to edge[first[i + 1]] */
    hr__edge *edge;
    int32_t *order;
    hr_node *loop_output; /* by node of the graph: of a Switch, what its Exit takes instead */
    int32_t *taken_back;  /* by node of the file: 1 + the edge by which a Merge takes a NextIteration; 0: none */
} hr__nodes_import;

hr_status hr__import_nodes(hr__nodes_import *in);
void hr__import_end(hr__nodes_import *in);
/* What a name of a result stands for: "node:output:0", "input"; of a control result "node". */
hr_status hr__import_result(hr__nodes_import *in, const char *text, bool control, hr_node *out);

/* ---- import_graph.c, export_graph.c ---- */

/* Refuses a graph that failed, and bytes that are NULL. */
hr_status hr__import_check(hr_graph *g, hr_view bytes, hr_error *err);
/* Adds what a message says. `bytes`: of the file, which bounds the memory of tensors. */
hr_status hr__import_graph_message(hr_graph *g, const proto_graph *graph, size_t bytes,
                                   const hr_graph_import_opts *opts, hr_error *err);
/* The graph as a message, in the arena: it is whole as long as that and the graph, which may get more nodes. Fails if
 * the graph has failed. */
hr_status hr__graph_message(hr__arena *arena, const hr_graph_export_opts *opts, const hr_graph *g, proto_graph **out,
                            hr_error *err);
/* A message as a file has it, as text or as bytes. */
hr_status hr__message_as(bool text, const ProtobufCMessage *message, char **bytes, size_t *size, hr_error *err);

/* ---- graph_file.c ---- */

bool hr__is_text_file(const char *path);                                              /* its name ends in .pbtxt */
hr_status hr__file_read(const char *path, char **bytes, size_t *size, hr_error *err); /* gives *bytes */
hr_status hr__file_write(const char *path, const char *bytes, size_t size, hr_error *err);

/* ---- import_function.c, export_function.c ---- */

typedef Headrace__Proto__FunctionDef proto_function;
hr_status hr__import_function(hr_graph *g, const hr_graph_import_opts *opts, hr__import_memory *memory,
                              const proto_function *function, hr_error *err);
hr_status hr__function_message(hr__arena *arena, const hr_graph_export_opts *opts, const hr_function *function,
                               proto_function **out, hr_error *err);

/* ---- export_nodes.c ---- */

/* What is written of a graph or of a function. Where nodes extend others (graph_internal.h), it is a copy, in which one
 * stands for both; of a function, then, of what its results need. */
typedef struct hr__written {
    const hr_graph *g;
    const hr_function *function; /* NULL: of none */
    hr_node *input;              /* of the function, in `g` */
    struct hr_rewrite *copy;
} hr__written;

hr_status hr__written_begin(hr__written *w, const hr_graph *g, const hr_function *function, hr_error *err);
void hr__written_end(hr__written *w);
hr_node hr__written_output(const hr__written *w, int i);
hr_node hr__written_control(const hr__written *w, int i);
/* Messages of all nodes in the order of their places, without the inputs of a function. NULL: no memory. */
proto_node **hr__node_messages(hr__arena *arena, const hr_graph_export_opts *opts, const hr__written *w, size_t *count);
/* How the result of a node is called as an input: "node:1", in a function "node:output:0". */
char *hr__input_text(hr__arena *arena, const hr__written *w, hr_node node);

/* ---- export_graph.c ---- */

/* Gives the bytes of a message, with a 0 after them. */
hr_status hr__message_bytes(const ProtobufCMessage *message, char **bytes, size_t *size, hr_error *err);

/* ---- graph_order.c ---- */

/* The order in which nodes can be made, into in->order: inputs first, else as in the file; with `loops` also the loops,
 * numbered after the nodes. HR_INVALID_ARGUMENT, "graphdef.cycle". */
hr_status hr__graph_order(hr__nodes_import *in, const hr__loops *loops);
/* From the end of a loop of TensorFlow 1 back to its beginning: orders nothing. */
bool hr__is_back_edge(const hr__nodes_import *in, int32_t from, int32_t to);

/* ---- loop_frames.c ---- */

/* Which loop each node of the file is in. `frame` is NULL if there are none. Uses in->order. */
hr_status hr__loops_find(hr__nodes_import *in, hr__loops *loops);
/* The frame that what takes a node's outputs is in; -1: none. */
static inline int32_t hr__frame_after(const hr__nodes_import *in, const hr__loops *loops, int32_t number)
{
    const int32_t frame = loops->frame[number];
    return frame >= 0 && strcmp(in->from[number]->op, "Exit") == 0 ? loops->parent[frame] : frame;
}
void hr__loops_end(hr__loops *loops);
/* Makes a While of a loop whose nodes are there but for its Exits; it tells in->loop_output. A loop that has not the
 * form of TensorFlow's while_loop stays as it is, and its nodes know why. */
hr_status hr__loop_raise(hr__nodes_import *in, hr__loops *loops, int32_t frame);

#endif
