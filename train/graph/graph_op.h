/* The op kit, first half: what a node of a graph is made of. An op is one descriptor: its signature as in TensorFlow's
 * OpDef, a shape function, a kernel and a gradient, side by side in one file. The second half, kernels.h, has what many
 * kernels need: loops by type, axes, broadcasting. The library's own ops and ops from outside are made of the same
 * installed headers; a test compiles them so. The one exception is MatMul, which calls OpenBLAS. */
#ifndef HR_GRAPH_OP_H
#define HR_GRAPH_OP_H

#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this kit. */
enum { HR_GRAPH_OP_ABI = 1 };

/* ---- attributes: typed as in a GraphDef ---- */

/* The type of an attribute's value. */
typedef enum hr_attr_kind {
    HR_ATTR_NONE, /* of a file: a name without a value */
    HR_ATTR_INT,
    HR_ATTR_FLOAT,
    HR_ATTR_BOOL,
    HR_ATTR_STRING,
    HR_ATTR_TYPE,
    HR_ATTR_SHAPE,
    HR_ATTR_TENSOR,
    HR_ATTR_INTS, /* lists */
    HR_ATTR_FLOATS,
    HR_ATTR_TYPES,
    HR_ATTR_STRINGS,
    HR_ATTR_SHAPES,
    HR_ATTR_FUNC,  /* a function of the graph's library */
    HR_ATTR_BOOLS, /* lists again */
    HR_ATTR_TENSORS,
    HR_ATTR_FUNCS,
} hr_attr_kind;

/* A function by name, with attributes of its own. */
typedef struct hr_func {
    const char *name;
    const struct hr_attr *attrs;
    int attr_count;
} hr_func;

/* An attribute: its name, its type, its value. The HR_ATTR_ macros below make them. */
typedef struct hr_attr {
    const char *name;
    hr_attr_kind kind;
    int count; /* of a list */
    union {
        int64_t i;
        float f;
        bool b;
        hr_view s;
        hr_dtype type;
        hr_shape shape;
        const hr_tensor *tensor;
        const int64_t *ints;
        const float *floats;
        const hr_dtype *types;
        const hr_view *strings;
        const hr_shape *shapes;
        const hr_func *func;
        const bool *bools;
        const hr_tensor *tensors;
        const hr_func *funcs;
    };
} hr_attr;

/* For HR_ATTRS: hr_new_node(g, "MatMul", HR_INPUTS(a, b), HR_ATTRS(HR_BOOL_ATTR("transpose_a", true))). */
#define HR_INT_ATTR(n, v) ((hr_attr){.name = (n), .kind = HR_ATTR_INT, .i = (v)})
#define HR_FLOAT_ATTR(n, v) ((hr_attr){.name = (n), .kind = HR_ATTR_FLOAT, .f = (v)})
#define HR_BOOL_ATTR(n, v) ((hr_attr){.name = (n), .kind = HR_ATTR_BOOL, .b = (v)})
#define HR_STRING_ATTR(n, v) ((hr_attr){.name = (n), .kind = HR_ATTR_STRING, .s = hr_text_view(v)})
#define HR_TYPE_ATTR(n, v) ((hr_attr){.name = (n), .kind = HR_ATTR_TYPE, .type = (v)})
#define HR_SHAPE_ATTR(n, v) ((hr_attr){.name = (n), .kind = HR_ATTR_SHAPE, .shape = (v)})
#define HR_TENSOR_ATTR(n, v) ((hr_attr){.name = (n), .kind = HR_ATTR_TENSOR, .tensor = (v)})
#define HR_INTS_ATTR(n, v, c) ((hr_attr){.name = (n), .kind = HR_ATTR_INTS, .count = (c), .ints = (v)})
#define HR_TYPES_ATTR(n, v, c) ((hr_attr){.name = (n), .kind = HR_ATTR_TYPES, .count = (c), .types = (v)})
#define HR_FUNC_ATTR(n, v) ((hr_attr){.name = (n), .kind = HR_ATTR_FUNC, .func = (v)})
HR_API hr_view hr_text_view(const char *text); /* a C string; NULL: empty */

/* Attributes of a node that exists: all of the signature, and after them those that came with it besides ("_class",
 * "_output_shapes"). A wrong name gives 0, "", an empty shape. */
HR_API const hr_attr *hr_node_attr(hr_node node, const char *name); /* NULL: there is none. Borrows */
HR_API bool hr_node_is(hr_node node, const char *op);               /* whether it is of that op: "MatMul" */
HR_API const hr_tensor *hr_node_constant(hr_node node); /* the value of a Const. NULL: it is none. Borrows */
HR_API int hr_node_attrs(hr_node node);
HR_API const hr_attr *hr_node_attr_at(hr_node node, int i);
HR_API int64_t hr_attr_int(hr_node node, const char *name);
HR_API float hr_attr_float(hr_node node, const char *name);
HR_API bool hr_attr_bool(hr_node node, const char *name);
HR_API hr_dtype hr_attr_type(hr_node node, const char *name);
HR_API hr_view hr_attr_string(hr_node node, const char *name);
HR_API bool hr_attr_is(hr_node node, const char *name, const char *text); /* whether a string is that text */
/* A string, or the node's name where it is empty: as what `shared_name` and its kin call resources. Borrows. */
HR_API const char *hr_attr_or_name(hr_node node, const char *name);
HR_API hr_shape hr_attr_shape(hr_node node, const char *name);
HR_API const int64_t *hr_attr_ints(hr_node node, const char *name, int *count); /* NULL and 0: there is none. Borrows */
HR_API const char *hr_attr_func(hr_node node, const char *name);                /* the function's name; "": none */

/* ---- making nodes: for constructors and gradients ---- */

typedef struct hr_node_opts {
    size_t struct_size;
    const char *name; /* default: the op's, made unique */
    const hr_node *inputs;
    int input_count;
    const hr_attr *attrs; /* those that inputs and defaults do not give; any that begin with '_' are kept */
    int attr_count;
    const hr_node *controls; /* besides those of hr_control_dependencies */
    int control_count;
} hr_node_opts;

/* A new node of the op of that name; `g` may be NULL if there are inputs. Its first output. An input that is a variable
 * is read where the op wants a value; several nodes of a list stand one after the other. Types are inferred. */
HR_API hr_node hr_new_node_with(hr_graph *g, const char *op, const hr_node_opts *opts);
#define hr_new_node(...)                                                                                               \
    HR_MADE_(HR_CALL2_(hr_new_node_with, hr_node_opts, __VA_ARGS__, .struct_size = sizeof(hr_node_opts)))
#define HR_INPUTS(...)                                                                                                 \
    .inputs = (const hr_node[]){__VA_ARGS__}, .input_count = (int)(sizeof((hr_node[]){__VA_ARGS__}) / sizeof(hr_node))
#define HR_ATTRS(...)                                                                                                  \
    .attrs = (const hr_attr[]){__VA_ARGS__}, .attr_count = (int)(sizeof((hr_attr[]){__VA_ARGS__}) / sizeof(hr_attr))

/* Constants of numbers. Numbers of a dimension's kind: an int32 vector, or int64 where one of them needs it. */
HR_API hr_node hr_const_ints(hr_graph *g, const int64_t *values, int count, const char *name);
/* A scalar of any type of numbers or bool; it fails if that type does not reach as far. `name` NULL: the op's. */
HR_API hr_node hr_const_number(hr_graph *g, hr_dtype dtype, double value, const char *name);

/* What reads a variable; any other node as it is. For what asks for the type or the shape of an input. */
HR_API hr_node hr_node_value(hr_node node);

/* What sticks to the graph as its error; gives the failed node to return. */
HR_API hr_node hr_node_fail(hr_graph *g, hr_status code, const char *kind, const char *format, ...) HR_PRINTF(4, 5);
HR_API hr_node hr_failed_node(hr_graph *g);
/* The two seeds of a random op: `seed` 0 is the graph's, then a number for each op; neither: drawn at random at run
 * time. */
HR_API void hr_random_seeds(hr_graph *g, int64_t seed, int64_t *seed1, int64_t *seed2);

/* ---- the descriptor ---- */

typedef struct hr_infer hr_infer;       /* types and shapes, while a node is made */
typedef struct hr_kernel hr_kernel;     /* one run of one node */
typedef struct hr_backward hr_backward; /* the gradient of one node, while nodes are made */

/* What the executor must know of an op before it runs. */
typedef enum hr_graph_op_traits {
    HR_STATEFUL = 1,       /* not a function of its inputs: neither folded nor shared */
    HR_FIXED = 2,          /* one value for the whole session, computed once: Const, VarHandleOp */
    HR_ELEMENT_WISE = 4,   /* output[i] is a function of the inputs' [i], which broadcast as in NumPy */
    HR_CHEAP = 8,          /* never worth a thread of its own: Identity, Reshape, Shape */
    HR_PASSES_SLICES = 16, /* its gradient takes row slices as they come: Identity, ReadVariableOp */
    HR_NO_GRADIENT = 32,   /* nothing flows back, by definition: Shape, ArgMax, Assign */
    HR_COMMUTATIVE = 64,   /* two inputs may be exchanged: the bits are the same */
    HR_READS_ONLY = 128,   /* takes a variable or another resource, and does not change it */
    HR_CALLS = 256,        /* calls functions: what it takes is locked by the nodes that these run, one by one */
    HR_SWITCHES = 512,     /* may leave outputs without a value (hr_kernel_leave_out): Switch */
    HR_MERGES = 1024,      /* runs if one input has a value: Merge */
    /* Of complex numbers, TensorFlow's gradient of y = f(x) is g times the conjugate of f'(x). A gradient function that is
     * written for real numbers gives that if it gets the conjugate of g, and what it gives is conjugated; so it is called
     * that way, unless the descriptor says otherwise: */
    HR_COMPLEX_GRADIENT = 2048, /* it takes and gives TensorFlow's: f has no complex derivative, as that of Real */
    HR_REAL_GRADIENT = 4096,    /* it is right for real numbers only; others are refused */
} hr_graph_op_traits;

/* The most inputs of a node that may be handles of resources. */
enum { HR_MAX_HANDLES = 1024 };

/* Begins every descriptor, so that older and newer ops load. Filled in by HR_GRAPH_OP_HEAD. */
typedef struct hr_graph_op_head {
    uint32_t abi_version, struct_size;
} hr_graph_op_head;
#define HR_GRAPH_OP_HEAD                                                                                               \
    {                                                                                                                  \
        HR_GRAPH_OP_ABI, sizeof(hr_graph_op)                                                                           \
    }

/* A line of a table of kernels by type, which HR_KERNELS of kernels.h makes. The op's compute function knows what `run`
 * and `more` are; a line without a type ends the table. */
typedef struct hr_type_kernel {
    hr_dtype dtype;
    void (*run)(void);
    const void *more;
} hr_type_kernel;

/* An op: its name, signature, shapes, kernel and gradient. */
typedef struct hr_graph_op {
    hr_graph_op_head head; /* HR_GRAPH_OP_HEAD */
    const char *name;      /* as registered with TensorFlow: "MatMul"; our own: "Headrace>EmbeddingLookupSparse" */
    /* The signature, as TensorFlow's documentation writes it; NULL for an op that TensorFlow 2.15 has: its signature is
     * known (opdefs.def).
     *   inputs and outputs  "a:T, b:T", "values:N*T, axis:Tidx", "data:list:Tdata", "labels:int64", "ref:ref T"
     *   attrs  "T: type in {float32,float64}; transpose_a: bool = false; N: int >= 1; ksize: list(int) >= 4;
     *           Tidx: type in {int32,int64} = int32; padding: string in {SAME,VALID} = \"SAME\"; body: func"
     * A minimum holds for an int, and for the length of a list. */
    const char *inputs, *outputs, *attrs;
    unsigned traits;
    size_t state_size; /* bytes a node keeps in each session, zeroed */

    /* Any function but compute may be NULL. */

    /* Refuses shapes that cannot work and says what comes out; outputs not set are of unknown shape. What no tensor can
     * have (dimensions below -1, more than HR_MAX_VALUES) is refused after it. */
    hr_status (*shape)(hr_infer *s, hr_error *err);
    /* Once a node and session, before its first compute: reads attributes into `state`. */
    hr_status (*prepare)(hr_node node, hr_session *session, void *state, hr_error *err);
    void (*release)(void *state);
    /* Loads a library that prepare loads too, as it takes long: once in the process at most, by a thread of its own,
     * when a session of a graph with such a node is made. prepare, which may run meanwhile, tells what fails. */
    void (*load)(void);
    /* Computes the outputs. Different nodes run at the same time, and so do several runs of one node, which then only
     * read `state`. Those of a HR_STATEFUL node with a state come one after the other. */
    hr_status (*compute)(hr_kernel *k, hr_error *err);
    /* Makes the nodes of the gradient. */
    void (*gradient)(hr_backward *b);

    /* The types that compute takes, by type attribute: "T:{float32,float64}; Tidx:indices". The sets `floats`,
     * `numbers`, `indices`, `any` stand for {float32,float64}, all numbers but complex and quantised ones, {int32,int64},
     * and all types of values: neither resource nor variant. Of an attribute that is not named: all that the signature
     * allows. A node of other types can be made and written, not run. */
    const char *types;

    /* A kernel for each type, of which compute finds its node's by hr_kernel_chosen: chosen when the node is made. The
     * types are those of the attribute "T", or, without it, of "dtype", or of what types the first input or the
     * first output; `.types` need not say them again. Of an op without such an attribute: one line. */
    const hr_type_kernel *kernels;
    double nanoseconds; /* what one value of the output takes, about: for the ready-made compute functions */
    /* Shapes by pattern: what inputs must be like, and what comes out. It is asked before `shape`, which finds what it
     * says in `output` and may say more.
     *   "=0"                      as input 0; the last pattern holds for all outputs that follow
     *   "[m,k], [k,n] -> [m,n]"   letters are dimensions that are equal; "?" any; a number that very one
     *   "[n,...], [n] -> [...]"   "..." dimensions that are the same in each place
     *   "[]"                      a scalar; "?" unknown, or an input of any shape
     *   "bcast", "bcast(0,1)"     all inputs, or these, broadcast together
     *   "merge", "merge(0,1)"     what all inputs, or these, say together: they are of one shape
     *   "reduce(0,1)"             input 0 over the axes in input 1, by the attribute keep_dims if there is one
     *   "shape(0)"                the shape that input 0 holds the numbers of */
    const char *shapes;
    /* What is known of an output of whole numbers, a scalar or a vector, before a run: see hr_known_numbers. */
    bool (*known)(hr_node node, hr_shape *numbers);
    /* The state begins with so many bytes that a run changes and that say where the node stands, such as a place among
     * random numbers: what hr_session_kept lends. */
    size_t kept;
} hr_graph_op;

/* A file of ops ends in `const hr_graph_op hr_graph_ops_FILE[] = {{...}, HR_GRAPH_OPS_END};`. */
#define HR_GRAPH_OPS_END                                                                                               \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

/* Makes an op from outside known to a graph. Borrows `op` until the graph is freed. A descriptor that is shorter or
 * longer than this header's fits if its version does, and what is beyond is zero; else "graph.abi". */
HR_API void hr_graph_use(hr_graph *g, const hr_graph_op *op);
/* The library's own op of that name; NULL: there is none. */
HR_API const hr_graph_op *hr_graph_op_named(const char *name);
HR_API const hr_graph_op *hr_graph_op_at(int i); /* i = 0, 1, ...; NULL after the last one */
/* A node's op; without compute where TensorFlow has the op and the library no kernel. NULL: no node. Borrows. */
HR_API const hr_graph_op *hr_node_descriptor(hr_node node);

/* ---- for shape ---- */

/* What is known, without running, of the variable that a handle or a reference variable refers to: it goes along
 * edges, from VarHandleOp through Identity and its kin into functions. A shape function that makes a handle says type and
 * shape. */
typedef struct hr_handle_info {
    hr_dtype dtype; /* HR_INVALID_DTYPE: nothing is known */
    hr_shape shape;
    hr_node origin;   /* the node that makes the handle */
    const char *name; /* of the resource: the origin's shared_name, or the name of the origin itself; "": not known */
} hr_handle_info;
/* False: nothing is known of it. */
HR_API bool hr_handle_of(hr_node handle, hr_handle_info *out);

/* What a shape function sees and fills in. */
struct hr_infer {
    hr_node node; /* for hr_attr_int and its kin */
    int inputs, outputs;
    const hr_shape *input;
    hr_shape *output;       /* unknown at first */
    hr_handle_info *handle; /* of outputs that are handles or reference variables: of unknown type at first; NULL if no
                             * output is one */
};
/* What output `output` hands on of what input `input` is a handle of, if both are handles. */
HR_API void hr_infer_pass_handle(hr_infer *s, int input, int output);
/* The value of an input that does not depend on a run: of a constant, or of shapes that are known. NULL: it does.
 * Borrows from the graph. */
HR_API const hr_tensor *hr_infer_value(const hr_infer *s, int input);
/* The same of whole numbers, a scalar or a vector of at most HR_MAX_RANK, that are known in part: rank and dims are
 * their count and they themselves, -1 what is unknown. False: not even their count is known. */
HR_API bool hr_infer_numbers(const hr_infer *s, int input, hr_shape *numbers);
/* And for `known` of a descriptor: of any node's output. */
HR_API bool hr_known_numbers(hr_node node, hr_shape *numbers);
HR_API hr_status hr_infer_refuse(const hr_infer *s, hr_error *err, const char *expected);
/* Whenever shapes are refused, the op's name, the node's and the shapes of all inputs are added to the message. */

/* Complete shape functions. */
HR_API hr_status hr_infer_unchanged(hr_infer *s, hr_error *err); /* all outputs are shaped as input 0 */
HR_API hr_status hr_infer_scalar(hr_infer *s, hr_error *err);
HR_API hr_status hr_infer_broadcast(hr_infer *s, hr_error *err); /* of inputs 0 and 1 */
/* Parts of them. Merge and broadcast: false if the shapes exclude each other. */
HR_API bool hr_shape_merge(hr_shape a, hr_shape b, hr_shape *out);       /* what both say together */
HR_API bool hr_shape_broadcast(hr_shape a, hr_shape b, hr_shape *out);   /* as numpy */
HR_API bool hr_shape_from_tensor(const hr_tensor *value, hr_shape *out); /* a vector of int32 or int64 as a shape */
/* `in` over the axes in a tensor of int32 or int64: what is left, reduced dimensions as 1 if `keep_dims`. reduced[i]
 * (HR_MAX_RANK of them, NULL: not wanted): whether dimension i goes. HR_INVALID_ARGUMENT, "graph.axis". */
HR_API hr_status hr_shape_reduce(hr_shape in, const hr_tensor *axes, bool keep_dims, hr_shape *out, bool *reduced,
                                 hr_error *err);
/* A shape of that rank of which nothing else is known; of a rank below 0, HR_UNKNOWN_SHAPE. */
HR_API hr_shape hr_shape_of_rank(int rank);
/* Sums and products of sizes that are -1, unknown, or more: what is unknown stays so, and what is beyond HR_MAX_VALUES
 * is an error, "graph.shape". For compute as well. */
HR_API hr_status hr_dim_add(int64_t a, int64_t b, int64_t *out, hr_error *err);
HR_API hr_status hr_dim_mul(int64_t a, int64_t b, int64_t *out, hr_error *err);

/* ---- for compute ----
 *
 * What a descriptor's functions call, here and above, trusts its pointers: they are the library's, or the op's own. */

/* The line of `kernels` for the node's type. */
HR_API const hr_type_kernel *hr_kernel_chosen(const hr_kernel *k);
HR_API const hr_graph_op *hr_kernel_op(const hr_kernel *k); /* the descriptor */

/* What compute sees of the node that it runs. */
struct hr_kernel {
    hr_node node;
    int inputs, outputs;
    const hr_tensor *const *input; /* dense; of a variable: its handle */
    void *state;
    hr_session *session;
    /* The executor's own. */
    struct hr__frame *frame;
    const struct hr__step *step;
    hr_buffer *temps;  /* of hr_kernel_temp: the last one, which begins with the one before */
    int64_t elsewhere; /* nanoseconds in calls and pieces, which a profile counts by themselves */
};

/* A new output, contents undefined (strings: empty). */
HR_API hr_status hr_kernel_output(hr_kernel *k, int i, hr_shape shape, hr_tensor **out, hr_error *err);
/* The same, in the memory of input `over` if nobody else needs that and it has the same size. Input values may be read
 * until the same place of the output is written. */
HR_API hr_status hr_kernel_output_over(hr_kernel *k, int i, int over, hr_shape shape, hr_tensor **out, hr_error *err);
HR_API bool hr_kernel_may_write(const hr_kernel *k, int input); /* whether that would find the memory free */
/* Output i is input `input`, shared, as `shape`, which has as many values. */
HR_API hr_status hr_kernel_pass(hr_kernel *k, int i, int input, hr_shape shape, hr_error *err);
/* Gives input i with a reference: the run's own if no other node and no fetch needs it, so that what it is handed to may
 * write over it. Then k->input[i] is not to be used any more. */
HR_API hr_tensor hr_kernel_take(hr_kernel *k, int i);
/* Output i is `value`; takes its buffer. A value without a buffer must live as long as the session. */
HR_API void hr_kernel_give(hr_kernel *k, int i, hr_tensor value);
/* Output i has no value in this run, and what takes it does not run, nor what follows that, up to an op of HR_MERGES.
 * For HR_SWITCHES. */
HR_API void hr_kernel_leave_out(hr_kernel *k, int i);
HR_API bool hr_kernel_has_input(const hr_kernel *k, int i); /* for HR_MERGES */
/* Memory until compute returns. NULL: no memory. */
HR_API void *hr_kernel_temp(hr_kernel *k, size_t bytes);
/* Memory of at least `bytes` for a tensor that is no output of its own, such as an element of a list. Gives a reference,
 * which may outlast compute. NULL: no memory. */
HR_API hr_buffer *hr_kernel_buffer(hr_kernel *k, size_t bytes);
HR_API bool hr_kernel_cancelled(const hr_kernel *k);
HR_API hr_products hr_kernel_products(const hr_kernel *k); /* how products are computed (hr_session_opts) */
/* Runs fn on pieces [first, last) of 0 ... count - 1, on several threads if `count` items of `nanoseconds` each are
 * worth it. Where pieces end depends on count and nanoseconds only, never on threads. */
HR_API void hr_kernel_parallel(hr_kernel *k, int64_t count, double nanoseconds,
                               void (*fn)(int64_t first, int64_t last, void *user), void *user);

/* As TensorFlow's ToBool: a scalar's value is not 0, or not empty; another tensor has values. */
HR_API bool hr_tensor_is_true(const hr_tensor *tensor);

/* ---- variables and other resources, for compute ----
 *
 * Within a run, nodes that use one resource run in the order in which they were made, unless all are HR_READS_ONLY: so
 * no op locks, and no result depends on threads. */

/* The value of the variable that input i is a handle of, shared: what later updates do not touch. Gives a reference. */
HR_API hr_status hr_kernel_read(hr_kernel *k, int i, hr_tensor *value, hr_error *err);
/* Borrows it to read in place until compute returns. */
HR_API hr_status hr_kernel_borrow(hr_kernel *k, int i, const hr_tensor **value, hr_error *err);
/* Borrows it to change in place until compute returns. Whoever holds an earlier value keeps that. */
HR_API hr_status hr_kernel_update(hr_kernel *k, int i, hr_tensor **value, hr_error *err);
/* Sets the variable that input i is a handle of to input `value`. */
HR_API hr_status hr_kernel_assign(hr_kernel *k, int i, int value, hr_error *err);
HR_API bool hr_kernel_initialized(hr_kernel *k, int i);
HR_API hr_status hr_kernel_clear_variable(hr_kernel *k, int i, hr_error *err); /* then it has no value */
/* A variable of this run alone, without a value, called `name` in messages: *handle is its only one, to be given by
 * hr_kernel_give. It is released as other resources of a run are. Borrows `name`. */
HR_API hr_status hr_kernel_new_variable(hr_kernel *k, const char *name, hr_tensor *handle, hr_error *err);
/* Variable's name, for messages. */
HR_API const char *hr_kernel_variable_name(hr_kernel *k, int i);

/* A thing that nodes share by name: made at first use, zeroed, freed with the last session that has it. */
typedef struct hr_resource_kind {
    const char *name;
    size_t size;
    void (*release)(void *resource);
    /* Begins a new one, which is zeroed, by the spec of hr_session_resource_of; of one that is there, refuses a spec that
     * does not fit. One call at a time. NULL: nothing. */
    hr_status (*begin)(void *resource, bool is_new, const void *spec, hr_error *err);
} hr_resource_kind;
typedef struct hr_resource hr_resource;
/* The session's resource of that kind and name. Borrows from the session. For `prepare`. */
HR_API hr_status hr_session_resource(hr_session *s, const hr_resource_kind *kind, const char *name,
                                     hr_resource **resource, hr_error *err);
/* The same, of a kind that begins by a spec. */
HR_API hr_status hr_session_resource_of(hr_session *s, const hr_resource_kind *kind, const void *spec, const char *name,
                                        hr_resource **resource, hr_error *err);
/* What a node of the session's graph keeps from run to run beside variables and resources: *size bytes (its op's .kept),
 * to be copied, or to be set as they were copied from the same node of another session. Between runs. Borrows from the
 * session. */
HR_API hr_status hr_session_kept(hr_session *s, hr_node node, void **kept, size_t *size, hr_error *err);
/* The variable of that name: made without a value at first use. */
HR_API hr_status hr_session_variable(hr_session *s, const char *name, hr_resource **variable, hr_error *err);
/* The value of a handle: a scalar of type HR_RESOURCE. Borrows. */
HR_API hr_tensor hr_resource_handle(hr_resource *resource);
/* A resource of this run alone, zeroed, called `name` in messages: *handle is its only one, to be given by
 * hr_kernel_give. It is released when the run needs no handle of it any more, at the latest when the run ends, failed or
 * cancelled. Borrows `kind` and `name`. For `compute`. */
HR_API hr_status hr_kernel_new_resource(hr_kernel *k, const hr_resource_kind *kind, const char *name, hr_tensor *handle,
                                        void **thing, hr_error *err);
/* *thing: what input i is a handle of, `kind->size` bytes, to be used until compute returns; nobody else uses it
 * meanwhile, or, if the op is HR_READS_ONLY, others only read it. HR_INVALID_ARGUMENT, "resource.kind": input i is no
 * handle, or of another kind. */
HR_API hr_status hr_kernel_resource(hr_kernel *k, int i, const hr_resource_kind *kind, void **thing, hr_error *err);

/* ---- files, for compute ---- */

/* To be asked by each op before it opens a file: HR_PERMISSION_DENIED, "file.outside", if the session's nodes may not
 * read that path (hr_session_opts.folder), or not write it. */
HR_API hr_status hr_kernel_reads_file(hr_kernel *k, const char *path, hr_error *err);
HR_API hr_status hr_kernel_writes_file(hr_kernel *k, const char *path, hr_error *err);

/* ---- variants, for compute ----
 *
 * A variant is a scalar tensor of type HR_VARIANT that holds a value of some kind: a list of tensors, for example. It
 * is shared as other tensors are, and released with its last reference. Values that others may see never change: write
 * in place only where hr_kernel_may_write says that nobody else needs the input, then pass it on with hr_kernel_pass. */

/* A kind of values. Kinds are told apart by their names. */
typedef struct hr_variant_kind {
    const char *name;             /* a noun, for messages: "list" */
    size_t size;                  /* bytes of a value */
    void (*release)(void *value); /* drops what it holds, from any thread. NULL: it holds nothing */
    /* The sum of two values, and a value of zeros like one, for AddN and ZerosLike, which gradients use. Both give. A
     * kind for which they are NULL is refused there. */
    hr_status (*add)(hr_kernel *k, const void *a, const void *b, hr_tensor *sum, hr_error *err);
    hr_status (*zeros_like)(hr_kernel *k, const void *value, hr_tensor *zeros, hr_error *err);
} hr_variant_kind;

/* A new variant, to be given by hr_kernel_give or dropped by hr_tensor_clear; *value: `kind->size` bytes, zeroed, in
 * which `release` must find something sound at any time. Borrows `kind` as long as there are variants of it. */
HR_API hr_status hr_kernel_new_variant(hr_kernel *k, const hr_variant_kind *kind, hr_tensor *out, void **value,
                                       hr_error *err);
/* The value of input i, or of any tensor: borrows. HR_INVALID_ARGUMENT, "variant.kind": it is of another kind, or no
 * variant. */
HR_API hr_status hr_kernel_variant(hr_kernel *k, int i, const hr_variant_kind *kind, void **value, hr_error *err);
HR_API hr_status hr_variant_value(const hr_tensor *tensor, const hr_variant_kind *kind, void **value, hr_error *err);
HR_API const hr_variant_kind *hr_variant_kind_of(const hr_tensor *tensor); /* NULL: it is no variant. Borrows */
/* The sum of two variants, and zeros like one, as their kind makes them; give. "variant.kind": it does not. */
HR_API hr_status hr_kernel_add_variants(hr_kernel *k, const hr_tensor *a, const hr_tensor *b, hr_tensor *sum,
                                        hr_error *err);
HR_API hr_status hr_kernel_zeros_like_variant(hr_kernel *k, const hr_tensor *like, hr_tensor *zeros, hr_error *err);

/* ---- calls of functions ---- */

typedef struct hr_callee hr_callee;       /* a function in a session */
typedef struct hr_open_call hr_open_call; /* one call, or several one after the other */

/* The function `name` of the library that the node's graph has. For `prepare`; borrows from the session.
 * HR_NOT_FOUND, "graph.function". */
HR_API hr_status hr_session_function(hr_session *s, hr_node node, const char *name, hr_callee **out, hr_error *err);
/* Begins calls of a function within compute. HR_RESOURCE_EXHAUSTED, "graph.depth": too many calls within each other. */
HR_API hr_status hr_call_begin(hr_kernel *k, hr_callee *callee, hr_open_call **out, hr_error *err);
/* Calls it: takes the buffers of `args`, and gives `results`, with references; as many as the function has inputs and
 * outputs, or "graph.function", and so if an argument is of another type or shape. On a failure nothing is given. */
HR_API hr_status hr_call_run(hr_open_call *call, hr_tensor *args, int arg_count, hr_tensor *results, int result_count,
                             hr_error *err);
/* Its calls run in the calling thread alone: for pieces of hr_kernel_parallel. */
HR_API void hr_call_alone(hr_open_call *call);
HR_API void hr_call_end(hr_open_call *call); /* NULL: nothing */

/* ---- for gradient ---- */

/* What a gradient function sees of the node that it derives. */
struct hr_backward {
    hr_graph *graph;
    hr_node node; /* the forward node, for attributes */
    int inputs, outputs;
    const hr_node *input, *output; /* the forward ones */
    const hr_node *grad; /* by each output, dense; none where nothing flows (with HR_PASSES_SLICES: or slices do) */
    const hr_gradient *slices; /* the same as it came */
    hr_gradient *out;          /* by each input: to be filled in; at first none */
    const char *source;        /* the call of hr_gradients that asks for it, by its scope: "gradients", "gradients_1" */
};

/* What flows to input i is `gradient`, dense. */
HR_API void hr_backward_give(hr_backward *b, int i, hr_node gradient);
/* The same, summed over what was broadcast of input i: `gradient` is of the shape of output 0. For ops of any number of
 * inputs that broadcast; works where shapes are not known, too. */
HR_API void hr_backward_give_unbroadcast(hr_backward *b, int i, hr_node gradient);
/* `y`, of the shape of a reduction's output, with the dimensions that went (by the axes in input 1) back as 1, so that
 * it broadcasts to input 0. */
HR_API hr_node hr_backward_keep_dims(const hr_backward *b, hr_node y);
/* grad[i], or zeros if none flows. */
HR_API hr_node hr_backward_grad(const hr_backward *b, int i);
/* Zeros like a value; of a variable, like what it holds. */
HR_API hr_node hr_gradient_zeros(hr_node like);
/* The same gradient as slices, with indices of that type: of a dense one, all rows; of none, no rows. `like` is what it
 * is the gradient of: a value of rank 1 or more, or a variable. */
HR_API hr_gradient hr_gradient_slices(hr_gradient gradient, hr_node like, hr_dtype indices);
/* Sums `gradient`, which has the shape of `like` broadcast with `other`, over what was broadcast: what binary ops
 * need. */
HR_API hr_node hr_gradient_unbroadcast(hr_node gradient, hr_node like, hr_node other);

/* Complete gradients of ops that call functions: of a call, the function being attribute "f"; of If, Case and While, as
 * TensorFlow's ops of these names have them. What the derivative needs of the functions' bodies is kept by the forward
 * node, which is extended by it; the outputs that it had stay as they are. */
HR_API void hr_call_gradient(hr_backward *b);
HR_API void hr_if_gradient(hr_backward *b);
HR_API void hr_case_gradient(hr_backward *b);
HR_API void hr_while_gradient(hr_backward *b);

/* Nodes of that op that are made until the matching hr_gradient_override_end have this gradient in place of the op's
 * own, as by tf.Graph.gradient_override_map. NULL: nothing flows back. What is made within functions counts, too. */
HR_API void hr_gradient_override(hr_graph *g, const char *op, void (*gradient)(hr_backward *b));
HR_API void hr_gradient_override_end(hr_graph *g);

/* A gradient that is one dense node. */
static inline hr_gradient hr_dense_gradient(hr_node values)
{
    hr_gradient gradient = {values, {NULL, 0, 0}, {NULL, 0, 0}};
    return gradient;
}

#ifdef __cplusplus
}
#endif
#endif
