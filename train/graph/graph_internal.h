/* What the files of the graph room share: a graph's nodes, a session's plans. */
#ifndef HR_GRAPH_INTERNAL_H
#define HR_GRAPH_INTERNAL_H

#include "base/descriptor.h"
#include "base/hash_map.h"
#include "base/pool.h"
#include "train/graph/control_flow.h"
#include "train/graph/graph_op.h"
#include "train/graph/signature.h"
#include <headrace/profile.h>

#include <stdatomic.h>
#include <uv.h>

/* ---- arena.c: memory that lives as long as the graph, or the plan ---- */

typedef struct hr__arena {
    struct hr__arena_chunk *chunks;
    size_t left;
} hr__arena;

void *hr__arena_get(hr__arena *arena, size_t size); /* zeroed, 16-byte aligned, also of size 0; NULL: no memory */
char *hr__arena_text(hr__arena *arena, const char *text, size_t size);
void *hr__arena_copy(hr__arena *arena, const void *p, size_t size);
void hr__arena_free(hr__arena *arena);

/* ---- known_ops.c: ops and their signatures ---- */

/* A line of opdefs.def. */
typedef struct hr__opdef {
    const char *name, *inputs, *outputs, *attrs, *flags;
} hr__opdef;
bool hr__opdef_named(const char *name, hr__opdef *out); /* false: there is none */
/* The graph version from which on TensorFlow has the op no more; 0: it has it still. */
int hr__op_removed_in(const char *name);
extern const hr__descriptor_kind hr__graph_ops;

/* ---- registered_ops.c: ops and passes of libraries, for all graphs ---- */

/* A library, with descriptors of this header's size. */
typedef struct hr__registered {
    _Atomic(struct hr__registered *) next;
    const void *table;
    int ops, passes;
    hr_graph_op *op;
    struct hr_graph_pass *pass;
} hr__registered;

const hr_graph_op *hr__registered_op(const char *name);    /* NULL: there is none */
const struct hr_graph_pass *hr__registered_pass_at(int i); /* in their order; NULL after the last one */
bool hr__is_registered(const void *table);
void hr__registered_add(hr__registered *added); /* takes it for good; the caller lets nobody else add meanwhile */

/* ---- shape_pattern.c: "[m,k], [k,n] -> [m,n]" ---- */

typedef enum hr__shape_kind {
    HR__ANY,
    HR__DIMS,
    HR__BROADCAST, /* of all inputs, or of those that `dim` lists */
    HR__MERGE,
    HR__REDUCE,
    HR__SHAPE_VALUE
} hr__shape_kind;

typedef struct hr__shape_pattern {
    hr__shape_kind kind;
    int rank, dim[HR_MAX_RANK]; /* dimensions, or numbers of inputs */
    int rest;                   /* before which dimension "..." stands; -1: nowhere */
} hr__shape_pattern;

typedef struct hr__shapes {
    hr__shape_pattern input[HR_MAX_OP_ARGS], output[HR_MAX_OP_ARGS];
    int inputs, outputs;
} hr__shapes;

/* *out NULL: the op says none. */
hr_status hr__shapes_parse(hr__arena *arena, const hr_graph_op *op, const hr__shapes **out, hr_error *err);
/* infer_pattern.c */
hr_status hr__shapes_infer(const hr__shapes *shapes, hr_infer *s, hr_error *err);

/* ---- signature.c: what an op's strings say ---- */

typedef struct hr_signature {
    const hr_graph_op *op;
    const char *inputs_text; /* for messages; NULL: none */
    int inputs, outputs, attrs;
    hr_arg_def *input, *output;
    hr_attr_def *attr;
    int kernel_attr;          /* whose type chooses among the op's kernels; -1: none */
    const hr__shapes *shapes; /* NULL: none are said */
} hr__signature;

/* The signature is that of the descriptor, or, where it says none, that of `def`, which may be NULL. */
hr_status hr__signature_parse(hr__arena *arena, const hr_graph_op *op, const hr__opdef *def, hr__signature *out,
                              hr_error *err);
int hr__signature_attr(const hr__signature *sig, const char *name, size_t size); /* -1: none */
/* What of two signatures is not the same: "inputs", "outputs", "attributes"; NULL: nothing. The order of attributes does
 * not count. */
const char *hr__signature_difference(const hr__signature *a, const hr__signature *b);

/* ---- the graph ---- */

/* A gradient in place of an op's own. */
typedef struct hr__override {
    const struct hr__override *outer;
    const char *op;
    void (*gradient)(hr_backward *b);
} hr__override;

/* Where a node was made, or the scope that it is in. */
typedef struct hr__made {
    const char *file; /* NULL: not known */
    int line;
    bool by_scope;
} hr__made;

typedef struct hr__node {
    const hr__signature *sig;
    const hr_graph_op *op;
    const hr_type_kernel *kernel; /* of the op's, by type; NULL: none, or none of this type */
    const char *name;
    int inputs, controls, outputs;
    const hr_node *input, *control;
    const hr_dtype *type; /* of each output */
    hr_shape *shape;
    hr_attr *attr; /* those of the signature, then others that came with it */
    int attrs;
    const char *device;     /* "": any */
    int32_t place;          /* among the nodes of a file: where they are written */
    hr_handle_info *handle; /* of each output, if any is a handle or a reference variable; else NULL */
    uint32_t mark;          /* the newest node that took it as a control input has this number */
    /* 1 + the node that computes the same outputs first, and more after them; 1 + the node that it does that for; 0:
     * none. Where a plan needs both, one stands for both (rewrite.c). */
    int32_t extended, extends;
    const hr__override *override; /* NULL: the op's own gradient */
    /* Of TensorFlow 1's loops (graphdef/loop_frames.c). */
    hr_node instead;        /* an Exit: the output of the While that runs in place of its loop; none: none */
    bool in_loop;           /* has a value each turn: neither fed nor fetched */
    bool hidden;            /* such a While: not of the file */
    const char *not_raised; /* why no While runs in place of the loop that it is in; NULL: one does, or it is in none */
    hr_status not_raised_code;
    hr__made made;
} hr__node;

typedef struct hr__scope {
    char *name, *variable; /* what to go back to, each with so much space: the next scope of this depth uses it again */
    size_t name_space, variable_space;
    hr_reuse reuse;
    hr_partitioner partitioner;
    hr__made made; /* of the scope itself */
} hr__scope;

typedef struct hr__collection {
    const char *name;
    hr_node *nodes;
    int count, capacity;
} hr__collection;

typedef struct hr__control {
    const hr_node *nodes;
    int count;
} hr__control;

/* A node of a graph around, and what stands for it in a function. */
typedef struct hr__capture {
    hr_node outer, inner;
} hr__capture;

struct hr_function {
    const char *name;
    hr_graph *body;
    hr_node *input, *output;
    int inputs, input_capacity, outputs;
    int asked;        /* inputs that a caller gives; captures follow */
    hr_node *control; /* what has an effect: runs at each call */
    int controls, control_capacity;
    hr_attr *attrs; /* that came with it in a file */
    int attr_count;
    bool hidden;        /* of a While that is */
    bool shares_body;   /* it extends another function: the body is that one's */
    bool in_derivation; /* its derivative is being made */
    int counter;        /* of a loop's body: 1 + the variable that counts turns; 0: none */
};

/* How an eager graph (train/eager) makes its nodes: each is computed when it is made, and may be forgotten. Nodes that
 * are made in functions of it are ordinary ones. */
typedef struct hr__at_once {
    hr_node (*make)(hr_graph *g, const char *op, const hr_node_opts *opts);
    void (*call)(hr_graph *g, const hr_function *f, const hr_node *inputs, int count, hr_node *out);
    void (*keep)(hr_node handle, int variable); /* of a variable, by index: it lives as long as the graph */
    const hr_tensor *(*value)(hr_node output);  /* NULL: it has none. Borrows */
    void (*reseed)(hr_graph *g);                /* the graph has another seed */
    int64_t (*op_seed)(hr_graph *g);            /* of a random op that has none of its own */
    void (*free)(hr_graph *g);
} hr__at_once;

struct hr_graph {
    int64_t serial;             /* its own in the process: another graph may come to lie where it lay */
    const hr__at_once *at_once; /* of an eager graph; NULL: nodes are only made */
    void *eager;                /* its own */
    hr_graph *outer;            /* of a function's body: the graph around it */
    hr_graph *building;         /* the function that is made in it now */
    hr_function *function;      /* of a body */
    bool own_library;           /* a plan's copy: functions that passes make are its own */
    hr_callee *callees;         /* of such, in the plan's session */
    bool copies_constants;      /* of the graph around, in place of capturing them */
    const hr__override *override;
    const char *deriving; /* of the outermost graph: the scope of hr_gradients while it runs; NULL: it does not */
    bool has_extended;    /* nodes that extend others, or functions that share it */
    hr__capture *captures;
    int capture_count, capture_capacity;
    /* How the derivative of a function with Switch and Merge captures what may have no value; none: it has one. */
    hr_node (*capture_switched)(hr_graph *body, hr_node outer);
    hr__capture *switched; /* such captures, which then have no value here either */
    int switched_count, switched_capacity;
    uint8_t *after_switch; /* by node: it may have no value. As far as that was asked */
    int32_t after_switch_count, after_switch_capacity;
    hr_function **functions; /* of the outermost graph, and of copies: the library */
    int function_count, function_capacity;
    hr__map function_names; /* to the index */
    hr__arena arena;
    hr_error error; /* code HR_OK: none */
    hr__node **nodes;
    int32_t node_count, node_capacity;
    const hr__signature **signatures;
    int signature_count, signature_capacity;
    hr__map signature_names;     /* to the index */
    const hr_graph_op **foreign; /* of hr_graph_use */
    int foreign_count, foreign_capacity;
    hr__map by_name;      /* to the id */
    hr__map names_in_use; /* in lower case, scopes too: to TensorFlow's counter */
    hr__map scopes_begun; /* variable scopes without their last '/': how often, since the one around each began */

    char *scope, *variable_scope; /* prefixes, "" or ending in '/' */
    size_t scope_size, variable_scope_size, scope_capacity, variable_scope_capacity;
    hr_reuse reuse;
    hr_partitioner partitioner;
    hr__scope *scopes;
    int scope_count, scope_deepest, scope_stack_capacity;
    hr__control *controls;
    int control_count, control_capacity;

    hr__collection *collections;
    int collection_count, collection_capacity;
    hr_variable_info **variables;
    int variable_count, variable_capacity;
    hr__map variable_names; /* to the index */
    uint32_t marks;         /* of nodes with control inputs: numbers given so far */

    const char *made_file; /* the file of the newest node whose place is known */

    int64_t seed, seeded_ops; /* seed 0: none */
    /* Of files that were read into it: the oldest writer's version, the newest that a reader needs; 0: none was. */
    int producer, min_consumer;

    int known_depth, known_left; /* of the calls of hr_known_numbers that are under way */
};

/* ---- made_at.c: the places in the user's program ---- */

/* Of what is made now. */
hr_status hr__made_here(hr_graph *g, hr__made *out, hr_error *err);
/* Puts the node in front of the text. */
void hr__blame(hr_error *err, const hr__node *node);
void hr__blame_made(hr_error *err, const char *name, const char *op, hr__made made); /* of one that failed */

/* ---- function.c ---- */

enum { HR__MAX_CALL = 256 /* results of a call */ };
enum { HR__MAX_BRANCHES = 100 };
/* As hr_function_begin, with this very name; and an input with attributes of its own. */
hr_status hr__function_import(hr_graph *g, const char *name, hr_graph **body, hr_error *err);
hr_node hr__function_input(hr_graph *body, hr_dtype dtype, hr_shape shape, const char *name, const hr_attr *attrs,
                           int count);
/* A node that is to run at each call. */
hr_status hr__function_control(hr_function *f, hr_node node, hr_error *err);
/* A function like `f`, on the same body, to be given more inputs and outputs. NULL: no memory. */
hr_function *hr__function_extend(const hr_function *f);
/* ---- gradient_override.c ---- */

/* NULL: the op has its own gradient. */
const hr__override *hr__override_of(const hr_graph *g, const char *op);

/* ---- gradients.c ---- */

/* The derivatives of nodes of a body by others of it; new nodes go to the function that is being made in it. */
void hr__gradients_of(hr_graph *body, const hr_node *ys, int y_count, const hr_node *grad_ys, const hr_node *xs,
                      int x_count, hr_gradient *out);
bool hr__carries_gradient(hr_dtype dtype);
/* Of what the gradient is of: a value or a variable. */
hr_node hr__gradient_shape(hr_node like);
/* The sum; of row slices alone: one after the other. */
hr_gradient hr__gradient_sum(hr_graph *g, const hr_gradient *all, int count);
/* What flows back into each input of a node, none at first, from what flows into each output. A failure sticks to the
 * graph. */
void hr__node_gradient(hr_node node, const hr_gradient *incoming, hr_gradient *out, hr__arena *arena);
/* Which xs a y depends on through what can be derived. false: no memory. */
bool hr__gradients_connect(hr_graph *g, const hr_node *ys, int y_count, const hr_node *xs, int x_count,
                           bool *connected);

/* The outermost graph; the one whose library has a new function; and where nodes go now. */
static inline hr_graph *hr__root(hr_graph *g)
{
    while (g && g->outer) g = g->outer;
    return g;
}
static inline hr_graph *hr__library(hr_graph *g)
{
    while (g && g->outer && !g->own_library) g = g->outer;
    return g;
}
static inline hr_graph *hr__innermost(hr_graph *g)
{
    while (g && g->building) g = g->building;
    return g;
}
/* ---- captures: node.c ---- */

hr_node hr__function_argument(hr_graph *body, hr_dtype dtype, hr_shape shape, const char *name, const hr_attr *attrs,
                              int count);
hr_node hr__capture_node(hr_graph *body, hr_node outer); /* what stands for a node of the graph right around it */
/* What stands for a node of a graph around `g` in `g`: an input of the function. Others as they are. */
hr_node hr__captured(hr_graph *g, hr_node node);
hr_node hr__capture_outer(hr_node inner);  /* one step out; others as they are */
hr_node hr__capture_origin(hr_node inner); /* all the way */
/* Functions that are called with the same inputs take what any of them captures, in the same order, as inputs after
 * the others. Gives the nodes around them. */
hr_status hr__join_captures(hr_function *const *f, int count, hr_node **outer, int *captures, hr_error *err);

/* ---- tensor_array.c ---- */

hr_node hr__tensor_array_rows(const hr_tensor_array *a, int64_t count); /* stacked; how many there are, -1: unknown */

hr__node *hr__node_of(hr_node node); /* NULL: none or failed */
/* Grows an array to hold `count` + 1 entries. */
hr_status hr__grow(void *array, int count, int *capacity, size_t width, hr_error *err);
hr_node hr__graph_no_memory(hr_graph *g, const char *what);
/* The bytes of a number of that type. False: it is no type of numbers or bool, or does not reach as far. */
bool hr__number_as(hr_dtype dtype, double value, char bytes[8]);
/* A function's variables are named as those of the graph around it. */
void hr__share_variable_scope(hr_graph *body, const hr_graph *outer);
/* A name scope of its own under the root, whatever scopes are open. */
void hr__name_scope_at_root(hr_graph *g, const char *name);
void hr__variable_scope_at_root(hr_graph *g); /* variables get their names alone; hr_scope_end ends it */
/* The name made unique, with the scope in front. One that ends in '/' is a scope's own, whole: it is taken as it is,
 * unless a node has it. In the arena; NULL: no memory. */
const char *hr__unique_name(hr_graph *g, const char *name);
/* Takes a whole name that nobody has yet, for a node from a file. HR_INVALID_ARGUMENT, "graph.name". */
hr_status hr__claim_name(hr_graph *g, const char *name, const char **out, hr_error *err);
/* HR_INVALID_ARGUMENT, "graph.argument": no name, or NULL where a count says that there is something. */
hr_status hr__check_node_opts(const char *op, const hr_node_opts *opts, hr_error *err);
/* A node from a file: its whole name and all its inputs, controls and attributes are given; scopes and control
 * dependencies of the graph do not count, nothing is read in a variable's place, and every attribute is kept. An error
 * does not stick to the graph. */
hr_status hr__node_import(hr_graph *g, const char *op, const char *device, const hr_node_opts *opts, hr_node *out,
                          hr_error *err);
/* Sets an input of a node from a file that was not there when the node was made. */
hr_status hr__node_rewire(hr_node node, int input, hr_node by, hr_error *err);
/* The output is a variable itself, not a value (TensorFlow's ref types); the op takes the variable by its input i. */
bool hr__output_is_ref(hr_node node);
bool hr__input_is_ref(const hr__node *n, int i);
/* Output `index` of the op's output argument `name`, as functions in files say it. None: there is no such. */
hr_node hr__output_named(hr_node node, const char *name, size_t size, int64_t index);
/* The other way: *index of the argument that is given. */
const char *hr__output_argument(hr_node node, int *index);
const hr__signature *hr__graph_signature(hr_graph *g, const char *op, hr_error *err);
/* As many values as its count says, a function with a name, a shape that a tensor can have. Tensors are not looked
 * at. */
bool hr__attr_sound(const hr_attr *attr);
/* Checks an attribute's value and copies it into the arena. */
hr_status hr__attr_copy(hr__arena *arena, hr_attr *attr, hr_error *err);
/* Makes a variable of a file known; of one that is known, only its sets. Copies but for the piece, which is
 * in the graph's arena. */
hr_status hr__variable_register(hr_graph *g, const hr_variable_info *variable, hr_error *err);
/* HR_UNIMPLEMENTED or HR_INVALID_ARGUMENT, "graph.kernel": the op has no kernel, or none for the node's types. */
hr_status hr__check_kernel(const hr__node *n, hr_error *err);

/* ---- handles.c ---- */

/* What is known of `like` holds for `node`, too. */
void hr__know_handle(hr_node node, hr_node like);
/* What is known of the variable of a handle, or of a read of one, also of one that a function has captured. */
bool hr__handle_known(hr_node node, hr_handle_info *out);
/* Makes the variable of a VarHandleOp that of another one, before any session has run it. */
hr_status hr__handle_join(hr_node handle, hr_node like, hr_error *err);
/* The handle that a node reads; others as they are. */
hr_node hr__handle_read(hr_node node);
/* variables.c: a new variable of that whole name. `piece`: what it is a piece of, or NULL. */
hr_node hr__add_variable(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape, const hr_variable_piece *piece,
                         const hr_variable_opts *opts);
/* partitions.c: a new variable in pieces; gives its value. */
hr_node hr__add_pieces(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape, const hr_partitioner *partitioner,
                       const hr_variable_opts *opts);
/* The first piece of a variable; NULL: it is none of pieces. */
const hr_variable_info *hr__first_piece(const hr_graph *g, const char *full_name);
/* The text of a shape in the caller's array. */
typedef struct hr__shape_name {
    char text[128];
} hr__shape_name;
const char *hr__shape_in(hr__shape_name *name, hr_shape shape);
/* Whether a tensor can have this shape, as far as it is known. */
bool hr__shape_possible(hr_shape shape);
/* Tensors from outside: dense, of a type of values, of known shape, all values there. *count: as many as its shape has.
 * `kind` is the error's. */
hr_status hr__check_tensor(const hr_tensor *tensor, const char *kind, int64_t *count, hr_error *err);

/* ---- resource.c: what sessions keep between runs, by kind and name; several sessions may share it ---- */

typedef struct hr__variable {
    hr_tensor value; /* buffer NULL: not initialized */
} hr__variable;

/* A handle's tensor has one as its data. */
struct hr_resource {
    const hr_resource_kind *kind;
    char *name;
    void *thing;      /* kind->size bytes */
    uv_rwlock_t lock; /* held by the node that uses it: concurrent runs meet here */
    int next;         /* 1 + the next one of this name, of another kind; 0: none */
};

typedef struct hr__resources hr__resources;
hr__resources *hr__resources_new(void);                     /* gives; NULL: no memory */
hr__resources *hr__resources_share(hr__resources *manager); /* one more owner */
void hr__resources_leave(hr__resources *manager);           /* the last owner frees all. NULL: nothing */

/* ---- heap.c: memory in regions, from which blocks are cut and joined again ---- */

/* Belongs to one thread at a time. */
typedef struct hr__heap hr__heap;
enum { HR__HEAP_MOST = (1 << 20) + 256 /* bytes of a block */ };
hr__heap *hr__heap_new(void); /* NULL: no memory */
void hr__heap_free(hr__heap *heap);
/* Memory that begins 48 bytes before a multiple of 64. NULL: no memory, or more than HR__HEAP_MOST bytes. */
void *hr__heap_get(hr__heap *heap, size_t bytes);
void hr__heap_put(hr__heap *heap, void *memory);
size_t hr__heap_size(const hr__heap *heap); /* bytes of all regions */
/* Frees regions: what is left has place for half as much again as was out at once since the last rest. */
void hr__heap_rest(hr__heap *heap);

/* ---- buffers.c: memory of tensors, used again and again; it outlives the session if tensors do ---- */

typedef struct hr__buffers hr__buffers;
hr__buffers *hr__buffers_new(void);
void hr__buffers_close(hr__buffers *pool);
/* After a run: gives back, once in a while, what no run has needed lately. */
void hr__buffers_rest(hr__buffers *pool);
void hr__buffers_empty(hr__buffers *pool); /* gives back all that is not out */
/* What the buffers of a run may take together; it lives until the last of them is back. */
typedef struct hr__budget hr__budget;
hr__budget *hr__budget_new(size_t limit); /* NULL: no memory */
void hr__budget_drop(hr__budget *budget); /* NULL: nothing */
/* Says "session.memory" in the place of "memory" if the budget refused. */
hr_status hr__budget_explain(hr__budget *budget, hr_status status, hr_error *err);
/* `budget` NULL: no limit. NULL: no memory, or the budget does not allow it. */
hr_buffer *hr__buffers_get(hr__buffers *pool, hr__budget *budget, size_t size);
/* A buffer that holds more than bytes: it begins with a hr__holder, the rest is zeroed, and its last reference calls
 * `release` with its data. */
typedef struct hr__holder {
    void (*release)(void *data);
} hr__holder;
hr_buffer *hr__buffers_get_holder(hr__buffers *pool, hr__budget *budget, size_t size, void (*release)(void *data));

/* ---- node_state.c: a graph in a session ---- */

/* What a node keeps between runs. */
typedef struct hr__node_state {
    void *state;
    bool prepared;
    uv_mutex_t *alone; /* of a stateful node with a state: its runs do not overlap. NULL: they may */
    hr_tensor *fixed;  /* of a HR_FIXED node: its outputs, once computed */
} hr__node_state;

/* A graph in a session: one of each node's state. Changed under the session's `planning` alone. */
typedef struct hr__instance {
    hr_graph *graph;
    hr_session *session;
    hr__node_state **states; /* by node id; NULL: not asked for yet */
    int32_t state_count;
} hr__instance;

/* The node's state, made and prepared at first use. Borrows. */
hr_status hr__node_state_get(hr__instance *in, int32_t id, hr__node_state **out, hr_error *err);
/* The outputs of a HR_FIXED node, computed at first use. Borrows. */
hr_status hr__fixed_outputs(hr__instance *in, int32_t id, const hr_tensor **out, hr_error *err);
void hr__instance_free(hr__instance *in);

/* ---- rewrite.c: the copy that a plan is made of ---- */

struct hr_rewrite;
/* What the fetches need, short of the feeds. `names`: nodes can be found by them, and no two have the same. */
hr_status hr__rewrite_begin(hr_graph *g, const hr_node *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                            bool names, struct hr_rewrite **out, hr_error *err);
hr_status hr__rewrite_run(struct hr_rewrite *r, const char *passes, hr_products products, hr_error *err);
/* The user's node that node `id` of the copy is; -1: it is fed, or a pass made it. */
int32_t hr__rewrite_origin(const struct hr_rewrite *r, int32_t id);

/* ---- session_plan.c: steps and slots, fixed once made; a run of it has a frame ---- */

typedef struct hr__step {
    const hr__node *node;
    hr_node handle; /* in the user's graph; of what a pass made, in the plan's */
    void *state;
    uv_mutex_t *alone;      /* of the node's state */
    int32_t *slot;          /* of each input */
    int32_t first_input;    /* of the frame's inputs */
    int32_t first_output;   /* outputs are slots side by side */
    int32_t *next;          /* steps that wait for this one */
    int32_t nexts, pending; /* for how many it waits */
    int resources;          /* how many inputs are handles */
    hr_resource **lock;     /* what these are handles of, by address; NULL: the run alone knows */
    int locks;
    bool gives_ref;       /* output 0 is the variable that input 0 is */
    int32_t first_value;  /* of the frame's values */
    int32_t *value_input; /* inputs that are variables, taken by value */
    int value_inputs;
    int32_t *control; /* steps that it comes after, where a plan switches */
    int controls;
} hr__step;

typedef struct hr__fixed_slot {
    int32_t slot;
    hr_tensor value;
} hr__fixed_slot;

/* What is fed in a node's place. */
typedef struct hr__fed {
    hr_dtype dtype;
    hr_shape shape; /* as far as it is known */
} hr__fed;

typedef struct hr__plan {
    struct hr__plan *newer, *older; /* by last use */
    int users;                      /* runs under way, and 1 for the cache */
    int number;                     /* of the session's `plans` */
    int64_t serial;                 /* its own in the process */
    hr__arena arena;
    hr_view key;              /* ids and outputs of what is fed and fetched */
    struct hr_rewrite *graph; /* its nodes */
    hr__instance own;         /* states of those that passes made */
    int feeds, fetches;
    int32_t *feed_slot, *fetch_slot; /* fetch -1: an operation */
    int32_t *fetch_step;             /* that computes it; -1: none, it is fixed or fed */
    const hr_node *feed_node;        /* the user's */
    hr__fed *fed;                    /* by feed */
    int step_count, input_count, slot_count, value_count;
    hr__step *steps;
    int32_t *slot_uses; /* how many inputs and fetches want it; of fed and fixed ones never less than 1 */
    hr__fixed_slot *fixed;
    int fixed_count;
    bool switches;               /* has steps that may leave outputs without a value */
    const hr_function *function; /* whose plan it is: its frames own what is fed; NULL: the session's own */
    struct hr__frame *frames;    /* free ones */
    /* Measured, by any run. */
    _Atomic uint32_t *nanoseconds; /* of each step */
    _Atomic uint64_t total;        /* of all steps */
    _Atomic int64_t runs;
} hr__plan;

/* `function`: whose plan it is, NULL if of none. Its inputs and results may be resources. */
hr_status hr__plan_new(hr__instance *in, const hr_function *function, const hr_node *feeds, int feed_count,
                       const hr_node *fetches, int fetch_count, hr__plan **out, hr_error *err);
void hr__plan_free(hr__plan *plan); /* its frames, too, and the callees of functions that passes made */
void hr__callees_free(hr_callee **list);

/* ---- plan_cache.c: the plans of a session, found by what is fed and fetched; those used longest ago are dropped ---- */

enum { HR__MAX_PLANS = 128 };

/* Gives a plan that stays until it is released. */
hr_status hr__plan_acquire(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                           bool once, hr__plan **out, hr_error *err);
void hr__plan_release(hr_session *s, hr__plan *plan);
void hr__plans_free(hr_session *s);

/* ---- run_stats.c: what a run's nodes took, where it is asked for ---- */

typedef struct hr__recorder hr__recorder;
struct hr__frame;
hr__recorder *hr__recorder_new(void); /* NULL: no memory */
/* A step of the frame ran from `begin` to `end`, by uv_hrtime. From any thread. */
void hr__recorder_add(hr__recorder *r, const struct hr__frame *frame, const hr__step *step, uint64_t begin,
                      uint64_t end);
/* The path of a call by `step` of `caller`, in the recorder's memory. */
const char *hr__recorder_path(hr__recorder *r, const struct hr__frame *caller, const hr__step *step);
/* Gives what was recorded, and ends the recorder. `stats` NULL: drops it. */
hr_status hr__recorder_end(hr__recorder *r, hr_run_stats **stats, hr_error *err);

/* ---- profile.c: what many runs took, where it is asked for ---- */

typedef struct hr__profiled hr__profiled;                            /* a plan in a profile */
hr__profiled *hr__profile_plan(hr_profile *p, const hr__plan *plan); /* NULL: no memory */
/* The kernel of step `index` began at `begin`, by uv_hrtime, and ended now, with so many nanoseconds elsewhere. A piece
 * of it, for which the thread `by` waits. From any thread. */
void hr__profile_step(hr__profiled *q, int32_t index, uint64_t begin, int64_t elsewhere);
void hr__profile_piece(hr__profiled *q, int32_t index, int by, uint64_t begin);
void hr__profile_run(hr_profile *p, const hr_session *s, uint64_t begin); /* a run that began then has ended */

/* ---- run.c: one run of a session ---- */

typedef struct hr__run {
    hr_session *session;
    struct hr__run *next; /* of those under way */
    atomic_bool stop;     /* failed, cancelled or late: what is left is passed over */
    atomic_bool late;
    bool cancelled;
    bool alone;        /* in the calling thread */
    uint64_t deadline; /* by uv_hrtime; 0: none */
    double timeout;
    hr__budget *budget;     /* NULL: no limit */
    hr__recorder *recorder; /* NULL: nothing is recorded */
    hr_profile *profile;    /* NULL: nothing is added */
    uint64_t began;         /* where there is one */
} hr__run;

hr_status hr__run_begin(hr__run *run, hr_session *s, const hr_run_opts *opts, hr_error *err);
/* After a run that began: `st`, or why it ended before. */
hr_status hr__run_end(hr__run *run, const hr_run_opts *opts, hr_status st, hr_error *err);
bool hr__run_is_late(hr__run *run);
/* Whether what is left is to be passed over. */
static inline bool hr__run_stops(hr__run *run)
{
    return atomic_load_explicit(&run->stop, memory_order_acquire) || (run->deadline && hr__run_is_late(run));
}

/* ---- frame.c: one run's memory for one plan ---- */

typedef struct hr__frame {
    struct hr__frame *next; /* of the free ones, or of those that have steps for other threads */
    hr__plan *plan;
    hr__run *run;
    hr__arena arena;
    hr_tensor *slots;
    const hr_tensor **input; /* of all steps, into the slots or the values */
    hr_tensor *values;       /* of variables, while a step runs that takes them so */
    atomic_int *uses;        /* left, by slot */
    /* Of a plan that switches: outputs without a value in this run, and steps that do not run for lack of one. */
    uint8_t *dead_slot, *dead_step;
    bool parallel, measure;
    bool alone;             /* never parallel: part of a kernel that is, or of a run that is alone */
    bool within;            /* part of a kernel that a profile measures whole */
    int depth;              /* calls that it is within */
    const char *path;       /* of these calls, where the run is recorded */
    hr_kernel *caller;      /* that it is a call of; NULL: none */
    hr__profiled *profiled; /* NULL: the run has no profile, or the frame is within such a kernel */
    hr_status status;
    int32_t failed_step; /* the one that is reported */
    hr_error error;
    /* Of a parallel one. */
    atomic_int *pending; /* by step */
    atomic_int left;     /* steps */
    bool done;           /* set by the thread that took the last step, under the session's lock */
    int32_t *ready;      /* a stack, under the session's lock */
    int ready_count;
    hr__waiter waiter; /* of its own thread: more is ready, or all is done */
    bool waiter_made;
} hr__frame;

/* The value that the variable in a slot has now; a reference. What is no variable is given as it is, borrowed. */
hr_status hr__slot_value(const hr_tensor *slot, hr_tensor *value, hr_error *err);
hr_status hr__frame_get(hr__run *run, hr__plan *plan, hr__frame **out, hr_error *err);
void hr__frame_put(hr__frame *frame); /* drops what its slots hold */
void hr__frame_free(hr__frame *frame);
void hr__frame_drop_slots(hr__frame *frame);

/* ---- call.c: functions in a session ---- */

struct hr_callee {
    hr_callee *next;
    const hr_function *function;
    hr__instance instance;
    hr__plan *_Atomic plan; /* made at the first call */
};

/* ---- the session and its executor ---- */

struct hr_session {
    hr__client client; /* first: the pool hands it back */
    hr_graph *graph;
    bool joined, inline_only;
    int kernel_workers; /* for the pieces of one kernel; -1: all of the pool */
    double timeout;     /* of a run that says none; 0: none */
    int64_t memory_limit;
    char *folder;         /* the one whose files nodes may read; NULL: they may read and write any */
    bool always_parallel; /* tests: even where it does not pay */
    char *passes;         /* of hr_session_opts; NULL: those that give the same bits */
    hr_products products;
    hr__buffers *buffers;
    hr__resources *resources;
    uv_mutex_t planning; /* over `instance`; taken before `lock` */
    hr__instance instance;
    uv_mutex_t lock;   /* over all that follows */
    hr__map plan_keys; /* a plan's key to its number; -1: it was dropped */
    hr__plan *plans[HR__MAX_PLANS];
    int plan_count;
    hr__plan *newest, *oldest;
    hr_callee *callees;
    hr__run *runs; /* under way */
    bool cancel_next;
    hr__frame *frames;      /* with steps for other threads */
    atomic_int ready_count; /* of all these frames */
    hr_error error;         /* of the last run */
    bool lock_made, planning_made;
    bool loading; /* by this thread: */
    uv_thread_t loader;
};

/* ---- callable.c ---- */

/* Gives the plan for nodes to be fed later. */
hr_status hr__plan_for_nodes(hr_session *s, const hr_node *feeds, int feed_count, const hr_node *fetches,
                             int fetch_count, hr__plan **plan, hr_error *err);

/* ---- session.c ---- */

/* Gives the plan, checked arguments and all; a variable stands for its value. */
hr_status hr__session_plan(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                           bool once, hr__plan **plan, hr_error *err);
/* One run. What is fed is in `feeds`, or in `values`, in the order of the plan. */
hr_status hr__run_plan(hr_session *s, hr__plan *plan, const hr_feed *feeds, const hr_tensor *values, hr_tensor *out,
                       const hr_run_opts *opts, hr_error *err);
/* Borrows the value: without a buffer, the slot is neither dropped nor written over. */
hr_status hr__feed_slot(hr__frame *frame, int i, const hr_tensor *value, hr_error *err);
hr_status hr__give_fetch(const hr__frame *frame, int i, hr_tensor *out, hr_error *err); /* `out` NULL: checks */
/* Gives a reference, or a copy of what is borrowed. */
hr_status hr__tensor_give(const hr_tensor *slot, hr_tensor *out, hr_error *err);
/* The answer to the caller, and the session's error. */
hr_status hr__session_tell(hr_session *s, hr_status st, hr_error *failed, hr_error *err);

/* ---- executor.c ---- */

/* Runs all steps; the slots then hold what is fetched. Of several failures that of the oldest node is reported. */
hr_status hr__execute(hr__frame *frame, hr_error *err);
/* A run in parts: begins, then runs the steps that are marked, in order. */
void hr__execute_begin(hr__frame *frame);
hr_status hr__execute_marked(hr__frame *frame, const uint8_t *marked, hr_error *err);
/* HR_INVALID_ARGUMENT, "session.fetch": fetch i is in a branch that was not taken. */
hr_status hr__fetch_has_value(const hr__frame *frame, int i, hr_error *err);
bool hr__execute_one(hr__client *client, int thread);
/* Runs a step with what it uses locked. The frame needs no plan if the op neither switches nor merges. */
hr_status hr__compute(hr__frame *frame, const hr__step *step, hr_error *err);
/* Runs one node outside of a plan: its outputs, zeroed before, are the caller's. */
hr_status hr__compute_alone(hr_session *s, hr_node node, void *state, hr_tensor *outputs, hr_error *err);
void hr__kernel_end(hr_kernel *k);

#endif
