/* What the files of the eager room share: nodes with values, ops of a signature, tapes. */
#ifndef HR_EAGER_INTERNAL_H
#define HR_EAGER_INTERNAL_H

#include "train/graph/graph_internal.h"

#include <headrace/eager.h>

typedef struct hr__eager hr__eager;
typedef struct hr__eager_node hr__eager_node;

/* ---- eager_op.c: what is known of an op with certain attributes and types of inputs ---- */

/* Ops seen so far. Nodes hold those that they were made by; the graph begins a new set when its seed changes. */
typedef struct hr__eager_ops {
    int holds;
    hr_graph *graph; /* one node for each, on placeholders */
    hr__instance in; /* and the states of these */
    hr__map keys;    /* to the index in `list` */
    struct hr__eager_op **list;
    int count, capacity;
    hr_node source[32]; /* a placeholder of each type */
} hr__eager_ops;

typedef struct hr__eager_op {
    hr__eager_ops *ops;
    const hr__node *node;
    hr__node_state *state;
    bool *reads; /* of each input: it is a variable whose value is taken; NULL: none is */
    int resources;
} hr__eager_op;

hr_status hr__eager_ops_new(hr__eager *e, hr__eager_ops **out, hr_error *err);
void hr__eager_ops_drop(hr__eager_ops *ops); /* NULL: nothing */
/* The op for these inputs and attributes. Borrows from the set that is current. */
hr_status hr__eager_find_op(hr__eager *e, const char *name, const hr_node_opts *opts, hr__eager_op **out,
                            hr_error *err);

/* ---- eager_node.c: nodes and how long they live ---- */

struct hr__eager_node {
    hr__node node; /* first: what the graph knows */
    int32_t id;
    int holds;                /* by the hr_eager_begin that it was made after, tapes, functions that captured it */
    int variable;             /* 1 + the variable whose handle it is; 0: none */
    int recorded;             /* on so many tapes: only then its inputs can be asked for */
    uint32_t watched;         /* a bit a tape */
    bool kept;                /* while what hr_eager_begin began is ended */
    uint8_t reached, between; /* while a gradient is computed */
    struct hr__arrivals *arrived;
    hr__eager_ops *ops;
    hr_tensor *out; /* its values */
    hr_dtype dtype; /* of a constant */
    int size_class; /* of its memory */
    hr__eager_node *next_free;
};

enum { HR__EAGER_SIZES = 10 /* 256 bytes, 512, ... */ };

static inline hr__eager_node *hr__eager_node_of(hr_node node) { return (hr__eager_node *)hr__node_of(node); }

/* A node without values, in the graph, held by the innermost hr_eager_begin. */
hr_status hr__eager_node_new(hr__eager *e, const hr__node *like, hr__eager_ops *ops, int inputs, hr__eager_node **out,
                             hr_error *err);
/* A constant that takes the tensor; on a failure it is cleared. */
hr_status hr__eager_constant(hr__eager *e, hr_tensor *value, hr_node *out, hr_error *err);
void hr__eager_forget_last(hr__eager *e, hr__eager_node *n); /* the newest one, which failed */
void hr__eager_unhold(hr__eager *e, hr__eager_node *n);
hr_status hr__eager_nodes_begin(hr__eager *e, hr_error *err);
void hr__eager_nodes_end(hr__eager *e, const hr_node *keep, int count);
void hr__eager_nodes_free(hr__eager *e);

/* ---- eager_call.c: one op ---- */

/* How a gradient flows through a node that does not do as its op says: a call of a traced function. */
typedef void hr__eager_backward_fn(void *user, hr_node node, const hr_gradient *incoming, hr_gradient *out);
typedef struct hr__eager_backward {
    hr__eager_backward_fn *fn;
    void *user;
} hr__eager_backward;

/* Computes it. `backward`: NULL: the op's own gradient. */
hr_status hr__eager_run(hr__eager *e, hr__eager_op *op, const hr_node *inputs, int count,
                        const hr__eager_backward *backward, hr_node *out, hr_error *err);
/* By name; what `opts` say of names and control inputs does not count. */
hr_status hr__eager_call(hr__eager *e, const char *op, const hr_node_opts *opts, hr_node *out, hr_error *err);

/* ---- tape.c ---- */

enum { HR__MAX_TAPES = 32 };

typedef struct hr__tape_entry {
    int32_t id;
    hr__eager_backward backward;
} hr__tape_entry;

struct hr_tape {
    hr__eager *e;    /* NULL: of a function that is being made */
    hr_graph *graph; /* where its nodes are */
    int number;      /* its bit */
    bool persistent, manual, used;
    hr__tape_entry *entries;
    int count, capacity;
    int32_t *watched; /* what it was told to watch, and variables; held */
    int watched_count, watched_capacity;
};

/* Which tapes record an op on these inputs. Variables are watched here. */
hr_status hr__tapes_watching(hr__eager *e, const hr_node *inputs, int count, uint32_t *tapes, hr_error *err);
hr_status hr__tapes_record(hr__eager *e, uint32_t tapes, hr__eager_node *n, const hr__eager_backward *backward,
                           hr_error *err);

/* ---- concrete.c: functions that eager nodes call ---- */

typedef struct hr__concrete hr__concrete;
/* Takes no reference: the function lives as long as the graph, and so does this. */
hr_status hr__concrete_new(hr__eager *e, const hr_function *f, hr__concrete **out, hr_error *err);
/* Holds what the function has captured of the eager graph, which become inputs after the others. */
hr_status hr__concrete_captures(hr__concrete *c, hr_error *err);
/* The one of this function, made at first use. */
hr_status hr__concrete_of(hr__eager *e, const hr_function *f, hr__concrete **out, hr_error *err);
const hr_function *hr__concrete_function(const hr__concrete *c);
hr_status hr__concrete_call(hr__concrete *c, const hr_node *inputs, int count, hr_node *results, hr_error *err);
void hr__concretes_free(hr__eager *e);

/* ---- op_seeds.c ---- */

enum { HR__SEED_WORDS = 624 };

typedef struct hr__op_seeds {
    uint32_t mt[HR__SEED_WORDS];
    int at;
} hr__op_seeds;

void hr__op_seeds_begin(hr__op_seeds *s, int64_t seed);
int64_t hr__op_seeds_next(hr__op_seeds *s);

/* ---- the context ---- */

struct hr__eager {
    hr_graph *graph;
    hr_session *session;
    hr__eager_ops *ops;
    char *key; /* that is looked for */
    size_t key_size, key_capacity;

    int32_t *free_ids;
    int free_id_count, free_id_capacity;
    int32_t *made; /* held by each hr_eager_begin that is open */
    int made_count, made_capacity;
    int *begun; /* where each begins in `made` */
    int begun_count, begun_capacity;
    hr__eager_node *free_nodes[HR__EAGER_SIZES]; /* by size */

    hr__run run;
    hr__frame frame;
    atomic_int uses[1];      /* of all inputs: nothing is written over */
    int32_t *slot;           /* zeros, as many as inputs */
    const hr_tensor **input; /* of the op that runs */
    int input_capacity;

    hr__op_seeds seeds; /* once the graph has a seed */
    hr_tape *tapes[HR__MAX_TAPES];
    uint32_t recording, automatic; /* bits of tapes */
    hr__concrete *concretes;
};

static inline hr__eager *hr__eager_of(const hr_graph *g)
{
    while (g && g->outer) g = g->outer;
    return g && g->at_once ? g->eager : NULL;
}

/* Takes the error that has stuck to a graph, which had none before. */
static inline hr_status hr__eager_take_error(hr_graph *g, hr_error *err)
{
    const hr_status st = g->error.code;
    if (st != HR_OK && err) *err = g->error;
    g->error.code = HR_OK;
    return st;
}

#endif
