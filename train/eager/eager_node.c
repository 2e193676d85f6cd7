/* Nodes with values: their memory, their numbers, how long they live. A node is held by the innermost hr_eager_begin
 * that it was made after, by each tape that has recorded it, and by functions that captured it; nobody holds it any
 * more: its values are dropped, and its number and its memory are used again. */
#include "train/eager/eager_internal.h"

#include <string.h>

enum { ALIGN = 16, LEAST = 256 /* bytes */ };

/* ---- memory: free lists by size ---- */

static size_t aligned(size_t size) { return (size + ALIGN - 1) / ALIGN * ALIGN; }

/* HR__EAGER_SIZES: none of the lists. */
static int size_class(size_t size)
{
    int class = 0;
    while (class < HR__EAGER_SIZES && (size_t)LEAST << class < size) class ++;
    return class;
}

static hr__eager_node *node_memory(hr__eager *e, int inputs, int outputs, int attrs)
{
    const size_t head = aligned(sizeof(hr__eager_node)), input = aligned(sizeof(hr_node) * (size_t)inputs),
                 out = aligned(sizeof(hr_tensor) * (size_t)outputs),
                 shape = aligned(sizeof(hr_shape) * (size_t)outputs),
                 size = head + input + out + shape + sizeof(hr_attr) * (size_t)attrs;
    const int class = size_class(size);
    hr__eager_node *n = class < HR__EAGER_SIZES ? e->free_nodes[class] : NULL;
    if (n)
        e->free_nodes[class] = n->next_free;
    else
        n = hr_malloc(class < HR__EAGER_SIZES ? (size_t)LEAST << class : size);
    if (!n) return NULL;
    char *at = (char *)n + head;
    memset(n, 0, sizeof *n);
    memset(at + input, 0, out);
    n->size_class = class;
    n->node.input = (hr_node *)(void *)at;
    n->out = (hr_tensor *)(void *)(at + input);
    n->node.shape = (hr_shape *)(void *)(at + input + out);
    n->node.attr = (hr_attr *)(void *)(at + input + out + shape);
    return n;
}

static void give_memory_back(hr__eager *e, hr__eager_node *n)
{
    if (n->size_class == HR__EAGER_SIZES) {
        hr_free(n);
        return;
    }
    n->next_free = e->free_nodes[n->size_class];
    e->free_nodes[n->size_class] = n;
}

/* ---- numbers ---- */

/* There is always space to give every number back. */
static hr_status take_number(hr__eager *e, hr__eager_node *n, hr_error *err)
{
    hr_graph *g = e->graph;
    if (e->free_id_count > 0) {
        n->id = e->free_ids[--e->free_id_count];
    } else {
        if (g->node_count == INT32_MAX / 2)
            return hr_fail(err, HR_RESOURCE_EXHAUSTED, "eager.nodes",
                           "expected fewer than %d nodes at once; end what hr_eager_begin began, so that they go",
                           INT32_MAX / 2);
        HR_TRY(hr__grow(&g->nodes, g->node_count, &g->node_capacity, sizeof *g->nodes, err));
        HR_TRY(hr__grow(&e->free_ids, g->node_count, &e->free_id_capacity, sizeof *e->free_ids, err));
        n->id = g->node_count++;
    }
    g->nodes[n->id] = &n->node;
    return HR_OK;
}

static hr_status enter(hr__eager *e, hr__eager_node *n, hr_error *err)
{
    hr_status st = HR_OK;
    if (e->begun_count > 0) st = hr__grow(&e->made, e->made_count, &e->made_capacity, sizeof *e->made, err);
    if (st == HR_OK) st = take_number(e, n, err);
    if (st != HR_OK) {
        give_memory_back(e, n);
        return st;
    }
    n->holds = 1;
    if (e->begun_count > 0) e->made[e->made_count++] = n->id;
    return HR_OK;
}

/* ---- a node ---- */

hr_status hr__eager_node_new(hr__eager *e, const hr__node *like, hr__eager_ops *ops, int inputs, hr__eager_node **out,
                             hr_error *err)
{
    hr__eager_node *n = *out = node_memory(e, inputs, like->outputs, 0);
    if (!n) return hr_no_memory(err, "a node");
    const hr__node own = n->node;
    n->node = *like;
    n->node.name = like->op->name;
    n->node.input = own.input;
    n->node.inputs = inputs;
    n->node.shape = own.shape;
    n->node.control = NULL;
    n->node.controls = 0;
    n->node.handle = NULL; /* of the stand-in's variable */
    for (int i = 0; i < like->outputs; i++) n->node.shape[i] = HR_UNKNOWN_SHAPE;
    HR_TRY(enter(e, n, err));
    n->ops = ops;
    ops->holds++;
    return HR_OK;
}

static hr_status fill_constant(hr__eager *e, hr__eager_node *n, const hr__signature *sig, hr_tensor *value,
                               hr_error *err)
{
    hr_attr *attr = n->node.attr;
    n->node.sig = sig;
    n->node.op = sig->op;
    n->node.name = sig->op->name;
    n->node.device = "";
    n->node.outputs = 1;
    n->node.type = &n->dtype;
    n->node.attrs = sig->attrs;
    for (int i = 0; i < sig->attrs; i++) {
        const bool is_value = sig->attr[i].kind == HR_ATTR_TENSOR;
        attr[i] =
            is_value ? HR_TENSOR_ATTR(sig->attr[i].name, &n->out[0]) : HR_TYPE_ATTR(sig->attr[i].name, value->dtype);
    }
    HR_TRY(enter(e, n, err));
    n->dtype = value->dtype;
    n->out[0] = *value;
    n->node.shape[0] = value->shape;
    *value = (hr_tensor){0};
    return HR_OK;
}

/* Attributes of a constant: its value and that value's type, as TensorFlow's Const has them. */
hr_status hr__eager_constant(hr__eager *e, hr_tensor *value, hr_node *out, hr_error *err)
{
    const hr__signature *sig = hr__graph_signature(e->graph, "Const", err);
    hr__eager_node *n = sig ? node_memory(e, 0, 1, sig->attrs) : NULL;
    const hr_status st = !sig ? HR_RESOURCE_EXHAUSTED
                         : !n ? hr_no_memory(err, "a constant")
                              : fill_constant(e, n, sig, value, err);
    if (st == HR_OK) *out = (hr_node){e->graph, n->id, 0};
    hr_tensor_clear(value);
    return st;
}

static void node_free(hr__eager *e, hr__eager_node *n)
{
    for (int i = 0; i < n->node.outputs; i++)
        if (n->out[i].buffer) hr_buffer_unref(n->out[i].buffer);
    e->graph->nodes[n->id] = NULL;
    e->free_ids[e->free_id_count++] = n->id;
    if (n->ops) hr__eager_ops_drop(n->ops);
    give_memory_back(e, n);
}

void hr__eager_unhold(hr__eager *e, hr__eager_node *n)
{
    if (--n->holds == 0) node_free(e, n);
}

void hr__eager_forget_last(hr__eager *e, hr__eager_node *n)
{
    if (e->begun_count > 0) e->made_count--;
    hr__eager_unhold(e, n);
}

/* ---- how long they live ---- */

hr_status hr__eager_nodes_begin(hr__eager *e, hr_error *err)
{
    HR_TRY(hr__grow(&e->begun, e->begun_count, &e->begun_capacity, sizeof *e->begun, err));
    e->begun[e->begun_count++] = e->made_count;
    return HR_OK;
}

/* What is kept takes the places of the first nodes that go, which are at least as many: a node is kept once. */
void hr__eager_nodes_end(hr__eager *e, const hr_node *keep, int count)
{
    if (e->begun_count == 0) return;
    const int first = e->begun[--e->begun_count];
    for (int i = 0; i < count; i++) {
        hr__eager_node *n = keep[i].graph == e->graph ? hr__eager_node_of(keep[i]) : NULL;
        if (n) n->kept = true;
    }
    int left = first;
    for (int i = first; i < e->made_count; i++) {
        hr__eager_node *n = (hr__eager_node *)e->graph->nodes[e->made[i]];
        if (!n->kept)
            hr__eager_unhold(e, n);
        else if (e->begun_count > 0)
            e->made[left++] = n->id;
    }
    e->made_count = left;
    for (int i = 0; i < count; i++) {
        hr__eager_node *n = keep[i].graph == e->graph ? hr__eager_node_of(keep[i]) : NULL;
        if (n) n->kept = false;
    }
}

void hr__eager_nodes_free(hr__eager *e)
{
    hr_graph *g = e->graph;
    for (int32_t id = 0; id < g->node_count; id++)
        if (g->nodes[id]) node_free(e, (hr__eager_node *)g->nodes[id]);
    for (int i = 0; i < HR__EAGER_SIZES; i++)
        while (e->free_nodes[i]) {
            hr__eager_node *n = e->free_nodes[i];
            e->free_nodes[i] = n->next_free;
            hr_free(n);
        }
    hr_free(e->free_ids);
    hr_free(e->made);
    hr_free(e->begun);
}
