/* The column kit, part four: columns in a graph. A kind's `to_graph` says in TensorFlow's own ops what its `transform`
 * does to a batch, so that a graph makes ids and numbers of serialized Examples by itself, in TensorFlow, too.
 *
 * A kind from outside needs this header only if it has a `to_graph`; examples/hour_of_day.c has one. */
#ifndef HR_COLUMN_GRAPH_H
#define HR_COLUMN_GRAPH_H

#include <headrace/column_kernels.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One output of one node, as the trainer's hr_node. Zeroed: none. One that could not be made passes through later calls,
 * and its graph keeps the first error. */
typedef struct hr_column_node {
    void *graph;
    int32_t id, output;
} hr_column_node;

/* A batch of one raw feature, or of the results of one column, as nodes. What is sparse is in the order of rows and
 * places. Of a sequence each id is a step, or each row of dense values [steps, width]; the indices are the steps'. */
typedef struct hr_column_nodes {
    hr_dtype dtype;             /* of the values; of results: HR_INT64 (ids), or a number */
    int64_t width;              /* dense: values of a row */
    hr_column_node values;      /* dense: [rows, shape of a row]; sparse: [n] */
    hr_column_node indices;     /* sparse: int64 [n, 2], row and place of each value; none: dense */
    hr_column_node dense_shape; /* sparse: int64 [2] */
    hr_column_node weights;     /* of ids: float [n]; none */
    bool all_count;             /* of ids: none is below 0. Default: those are left out where ids are looked up */
} hr_column_nodes;

/* What an attribute holds; the last two are lists. */
typedef enum hr_column_attr_kind {
    HR_COLUMN_INT,
    HR_COLUMN_BOOL,
    HR_COLUMN_TYPE,
    HR_COLUMN_TYPES,
    HR_COLUMN_FLOATS
} hr_column_attr_kind;

/* An attribute of an op; those that follow from inputs, or have defaults, need not be given. */
typedef struct hr_column_attr {
    const char *name;
    hr_column_attr_kind kind;
    int count; /* of a list */
    int64_t i; /* an integer, or 0 and 1 */
    hr_dtype type;
    const void *list; /* hr_dtype or float */
} hr_column_attr;

/* What hr_column_look_up needs to know of a vocabulary. */
typedef struct hr_column_vocabulary {
    const hr_words *words;
    bool integers;    /* the words are int64; default: strings */
    const char *file; /* a text file with these words, one a line; NULL: the graph holds them as constants */
    int64_t default_value, oov_buckets; /* as in hr_words_look_up */
} hr_column_vocabulary;

/* Who makes the nodes: the trainer fills it in. Kinds use the calls below. */
typedef struct hr_column_graph {
    size_t struct_size;
    void *user;
    hr_column_node (*op)(void *user, const char *op, const hr_column_node *input, int inputs,
                         const hr_column_attr *attr, int attrs);
    hr_column_node (*constant)(void *user, const hr_tensor *value);
    hr_column_node (*checked)(void *user, hr_column_node value, hr_column_node condition, const char *message);
    hr_column_node (*look_up)(void *user, hr_column_node keys, const hr_column_vocabulary *vocabulary);
} hr_column_graph;

/* ---- for to_graph ---- */

/* The first output of a new node of TensorFlow's op of that name:
 * hr_column_op(g, "Bucketize", HR_COLUMN_INPUTS(x), HR_COLUMN_ATTRS(HR_COLUMN_FLOATS_ATTR("boundaries", b, 3))). Several
 * inputs of a list stand one after the other. */
static inline hr_column_node hr_column_op(const hr_column_graph *g, const char *op, const hr_column_node *input,
                                          int inputs, const hr_column_attr *attr, int attrs)
{
    return g->op(g->user, op, input, inputs, attr, attrs);
}
#define HR_COLUMN_INPUTS(...)                                                                                          \
    (const hr_column_node[]){__VA_ARGS__}, (int)(sizeof((hr_column_node[]){__VA_ARGS__}) / sizeof(hr_column_node))
#define HR_COLUMN_ATTRS(...)                                                                                           \
    (const hr_column_attr[]){__VA_ARGS__}, (int)(sizeof((hr_column_attr[]){__VA_ARGS__}) / sizeof(hr_column_attr))
/* The same of an op without further attributes: HR_COLUMN_APPLY(g, "Less", x, y). */
#define HR_COLUMN_APPLY(g, op, ...) hr_column_op(g, op, HR_COLUMN_INPUTS(__VA_ARGS__), NULL, 0)
#define HR_COLUMN_INT_ATTR(n, v) ((hr_column_attr){.name = (n), .kind = HR_COLUMN_INT, .i = (v)})
#define HR_COLUMN_BOOL_ATTR(n, v) ((hr_column_attr){.name = (n), .kind = HR_COLUMN_BOOL, .i = (v)})
#define HR_COLUMN_TYPE_ATTR(n, v) ((hr_column_attr){.name = (n), .kind = HR_COLUMN_TYPE, .type = (v)})
#define HR_COLUMN_TYPES_ATTR(n, v, c)                                                                                  \
    ((hr_column_attr){.name = (n), .kind = HR_COLUMN_TYPES, .count = (c), .list = (v)})
#define HR_COLUMN_FLOATS_ATTR(n, v, c)                                                                                 \
    ((hr_column_attr){.name = (n), .kind = HR_COLUMN_FLOATS, .count = (c), .list = (v)})

/* Output `i` of a node. */
static inline hr_column_node hr_column_output(hr_column_node node, int i)
{
    if (node.graph) node.output = i;
    return node;
}

/* Constants: a copy of the tensor, and scalars of it. */
static inline hr_column_node hr_column_constant(const hr_column_graph *g, const hr_tensor *value)
{
    return g->constant(g->user, value);
}
HR_API hr_column_node hr_column_int64_constant(const hr_column_graph *g, int64_t value);
HR_API hr_column_node hr_column_float_constant(const hr_column_graph *g, float value);

/* Cast, if the types differ. */
HR_API hr_column_node hr_column_cast(const hr_column_graph *g, hr_column_node x, hr_dtype from, hr_dtype to);
/* `value`, of which a run fails with this message unless all of `condition`, bools of any shape, hold: HR_INVALID_ARGUMENT,
 * "graph.assert". */
static inline hr_column_node hr_column_checked(const hr_column_graph *g, hr_column_node value, hr_column_node condition,
                                               const char *message)
{
    return g->checked(g->user, value, condition, message);
}
/* The ids of strings or int64, as by hr_words_look_up: a hash table, which hr_tables_initializer fills. */
static inline hr_column_node hr_column_look_up(const hr_column_graph *g, hr_column_node keys,
                                               const hr_column_vocabulary *vocabulary)
{
    return g->look_up(g->user, keys, vocabulary);
}

/* ---- for who fills in an hr_column_graph ---- */

/* Lets the column's kind make its nodes. `in` has first the raw features, then the results of the sources, as for
 * `transform`. HR_UNIMPLEMENTED, "column.to_graph": the kind does not say how, or its arguments cannot be said in ops. */
HR_API hr_status hr_column_to_graph(const hr_feature_column *column, const hr_column_graph *g,
                                    const hr_column_nodes *in, hr_column_nodes *out, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
