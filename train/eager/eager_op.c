/* Ops seen so far, by name, attributes and types of inputs; shapes do not count. What a graph does for each new node,
 * matching it with the op's signature and preparing its state, is done once for each of these: a node on placeholders,
 * in a graph that nobody runs, stands for all eager nodes of its kind. */
#include "train/eager/eager_internal.h"

#include <string.h>

enum { MOST_OPS = 1 << 14 /* of a set: random ops without a seed of their own are new ones each time */ };

/* ---- sets ---- */

hr_status hr__eager_ops_new(hr__eager *e, hr__eager_ops **out, hr_error *err)
{
    hr__eager_ops *ops = hr_calloc(1, sizeof *ops);
    hr_graph *g = ops ? hr_graph_new() : NULL;
    if (!g) {
        hr_free(ops);
        return hr_no_memory(err, "eager ops");
    }
    g->outer = e->graph; /* its functions, its ops from outside */
    ops->holds = 1;
    ops->graph = g;
    ops->in = (hr__instance){.graph = g, .session = e->session};
    *out = ops;
    return HR_OK;
}

void hr__eager_ops_drop(hr__eager_ops *ops)
{
    if (!ops || --ops->holds > 0) return;
    hr__instance_free(&ops->in);
    hr__map_free(&ops->keys);
    hr_free(ops->list);
    hr_graph_free(ops->graph);
    hr_free(ops);
}

/* ---- keys ---- */

static hr_status put(hr__eager *e, const void *bytes, size_t size, hr_error *err)
{
    if (size > e->key_capacity - e->key_size) {
        const size_t wanted = 2 * (e->key_size + size) + 256;
        char *grown = hr_realloc(e->key, wanted);
        if (!grown) return hr_no_memory(err, "an eager op");
        e->key = grown;
        e->key_capacity = wanted;
    }
    if (size) memcpy(e->key + e->key_size, bytes, size);
    e->key_size += size;
    return HR_OK;
}

static hr_status put_view(hr__eager *e, hr_view text, hr_error *err)
{
    HR_TRY(put(e, &text.size, sizeof text.size, err));
    return put(e, text.data, (size_t)text.size, err);
}

static hr_status put_shape(hr__eager *e, hr_shape shape, hr_error *err)
{
    HR_TRY(put(e, &shape.rank, sizeof shape.rank, err));
    return put(e, shape.dims, sizeof *shape.dims * (size_t)(shape.rank > 0 ? shape.rank : 0), err);
}

static hr_status put_tensor(hr__eager *e, const hr_tensor *t, hr_error *err)
{
    HR_TRY(put(e, &t->dtype, sizeof t->dtype, err));
    HR_TRY(put_shape(e, t->shape, err));
    const int64_t count = hr_shape_count(t->shape);
    if (t->dtype != HR_STRING) return put(e, t->data, (size_t)count * hr_dtype_size(t->dtype), err);
    for (int64_t i = 0; i < count; i++) HR_TRY(put_view(e, ((const hr_view *)t->data)[i], err));
    return HR_OK;
}

static hr_status put_attr(hr__eager *e, const hr_attr *a, hr_error *err);

static hr_status put_func(hr__eager *e, const hr_func *f, hr_error *err)
{
    HR_TRY(put_view(e, hr_text_view(f->name), err));
    HR_TRY(put(e, &f->attr_count, sizeof f->attr_count, err));
    for (int i = 0; i < f->attr_count; i++) HR_TRY(put_attr(e, &f->attrs[i], err));
    return HR_OK;
}

static hr_status put_attr(hr__eager *e, const hr_attr *a, hr_error *err)
{
    const size_t count = (size_t)(a->count > 0 ? a->count : 0);
    HR_TRY(put(e, a->name, strlen(a->name) + 1, err));
    HR_TRY(put(e, &a->kind, sizeof a->kind, err));
    if (a->kind >= HR_ATTR_INTS) HR_TRY(put(e, &a->count, sizeof a->count, err));
    switch (a->kind) {
    case HR_ATTR_INT:
        return put(e, &a->i, sizeof a->i, err);
    case HR_ATTR_FLOAT:
        return put(e, &a->f, sizeof a->f, err);
    case HR_ATTR_BOOL:
        return put(e, &a->b, sizeof a->b, err);
    case HR_ATTR_STRING:
        return put_view(e, a->s, err);
    case HR_ATTR_TYPE:
        return put(e, &a->type, sizeof a->type, err);
    case HR_ATTR_SHAPE:
        return put_shape(e, a->shape, err);
    case HR_ATTR_TENSOR:
        return put_tensor(e, a->tensor, err);
    case HR_ATTR_INTS:
        return put(e, a->ints, sizeof *a->ints * count, err);
    case HR_ATTR_FLOATS:
        return put(e, a->floats, sizeof *a->floats * count, err);
    case HR_ATTR_TYPES:
        return put(e, a->types, sizeof *a->types * count, err);
    case HR_ATTR_BOOLS:
        return put(e, a->bools, sizeof *a->bools * count, err);
    case HR_ATTR_FUNC:
        return put_func(e, a->func, err);
    default:
        break;
    }
    for (size_t i = 0; i < count; i++)
        HR_TRY(a->kind == HR_ATTR_STRINGS  ? put_view(e, a->strings[i], err)
               : a->kind == HR_ATTR_SHAPES ? put_shape(e, a->shapes[i], err)
               : a->kind == HR_ATTR_FUNCS  ? put_func(e, &a->funcs[i], err)
                                           : put_tensor(e, &a->tensors[i], err));
    return HR_OK;
}

enum { DEEPEST = 8 /* functions within functions' attributes */ };

/* Whether all of it can be read. What cannot has no key, and is refused when a node is made of it. */
static bool has_key(const hr_attr *a, int depth)
{
    int64_t count;
    if (!a->name || depth > DEEPEST || !hr__attr_sound(a)) return false;
    if (a->kind == HR_ATTR_TENSOR) return hr__check_tensor(a->tensor, "graph.attr", &count, NULL) == HR_OK;
    for (int i = 0; a->kind == HR_ATTR_TENSORS && i < a->count; i++)
        if (hr__check_tensor(&a->tensors[i], "graph.attr", &count, NULL) != HR_OK) return false;
    const int functions = a->kind == HR_ATTR_FUNC ? 1 : a->kind == HR_ATTR_FUNCS ? a->count : 0;
    for (int i = 0; i < functions; i++)
        for (int j = 0; j < a->funcs[i].attr_count; j++)
            if (!has_key(&a->funcs[i].attrs[j], depth + 1)) return false;
    return true;
}

/* The type of a value; of a variable, that and the type of its value. */
static int type_in_key(const hr__eager *e, hr_node input)
{
    const hr__eager_node *n = hr__eager_node_of(input);
    const hr_dtype type = n->node.type[input.output];
    return n->variable ? (int)type << 8 | (int)e->graph->variables[n->variable - 1]->dtype : (int)type;
}

static hr_status make_key(hr__eager *e, const char *name, const hr_node_opts *opts, hr_error *err)
{
    e->key_size = 0;
    HR_TRY(put(e, name, strlen(name) + 1, err));
    HR_TRY(put(e, &opts->input_count, sizeof opts->input_count, err));
    for (int i = 0; i < opts->input_count; i++) {
        const int type = type_in_key(e, opts->inputs[i]);
        HR_TRY(put(e, &type, sizeof type, err));
    }
    for (int i = 0; i < opts->attr_count; i++) HR_TRY(put_attr(e, &opts->attrs[i], err));
    return HR_OK;
}

/* ---- a new one ---- */

/* A value's stand-in is one for each type; that of a variable, of which more is known, one for each use. */
static hr_node stand_in(hr__eager_ops *ops, hr_node input)
{
    const hr__eager_node *n = hr__eager_node_of(input);
    const hr_dtype type = n->node.type[input.output];
    const bool shared = !n->variable && type > 0 && type < 32;
    if (shared && ops->source[type].graph) return ops->source[type];
    const hr_node node = hr__function_argument(ops->graph, type, HR_UNKNOWN_SHAPE, "input", NULL, 0);
    if (shared && hr_node_exists(node)) ops->source[type] = node;
    if (n->variable) hr__know_handle(node, input);
    return node;
}

static hr_status check_op(const hr__node *n, hr_error *err)
{
    bool refs = false;
    for (int i = 0; i < n->sig->inputs; i++) refs |= n->sig->input[i].ref;
    for (int i = 0; i < n->sig->outputs; i++) refs |= n->sig->output[i].ref;
    if (refs || n->op->traits & (HR_SWITCHES | HR_MERGES))
        return hr_fail(err, HR_UNIMPLEMENTED, "eager.op", "%s: expected an op on values or resources, got one %s",
                       n->op->name, refs ? "on a variable of TensorFlow 1" : "that may leave outputs without a value");
    return hr__check_kernel(n, err);
}

static hr_status fill_op(hr__eager_ops *ops, hr_node node, const hr_node *stand_ins, hr__eager_op *op, hr_error *err)
{
    const hr__node *n = hr__node_of(node);
    HR_TRY(check_op(n, err));
    op->ops = ops;
    op->node = n;
    op->reads = NULL;
    for (int i = 0; i < n->inputs; i++) {
        op->resources += hr_node_dtype(n->input[i]) == HR_RESOURCE;
        if (n->input[i].id == stand_ins[i].id) continue;
        if (!op->reads) op->reads = hr__arena_get(&ops->graph->arena, sizeof *op->reads * (size_t)n->inputs);
        if (!op->reads) return hr_no_memory(err, "an eager op");
        op->reads[i] = true;
    }
    if (n->op->traits & HR_CALLS) op->resources = 0;
    if (op->resources > HR_MAX_HANDLES)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.inputs", "%s: expected at most %d handles, got %d", n->op->name,
                       HR_MAX_HANDLES, op->resources);
    return hr__node_state_get(&ops->in, node.id, &op->state, err);
}

static hr_status make_op(hr__eager_ops *ops, const char *name, const hr_node_opts *opts, hr__eager_op **out,
                         hr_error *err)
{
    hr_graph *g = ops->graph;
    hr__eager_op *op = *out = hr__arena_get(&g->arena, sizeof *op);
    hr_node *inputs = hr_malloc(sizeof *inputs * (size_t)(opts->input_count + 1));
    hr_status st = op && inputs ? HR_OK : hr_no_memory(err, "an eager op");
    if (st == HR_OK) {
        for (int i = 0; i < opts->input_count; i++) inputs[i] = stand_in(ops, opts->inputs[i]);
        const hr_node node = hr_new_node(g, name, .inputs = inputs, .input_count = opts->input_count,
                                         .attrs = opts->attrs, .attr_count = opts->attr_count);
        st = hr__eager_take_error(g, err);
        if (st == HR_OK) st = fill_op(ops, node, inputs, op, err);
    }
    hr_free(inputs);
    return st;
}

hr_status hr__eager_find_op(hr__eager *e, const char *name, const hr_node_opts *opts, hr__eager_op **out, hr_error *err)
{
    for (int i = 0; i < opts->attr_count; i++)
        if (!has_key(&opts->attrs[i], 0)) return make_op(e->ops, name, opts, out, err);
    HR_TRY(make_key(e, name, opts, err));
    const int64_t *known = hr__map_find(&e->ops->keys, e->key, e->key_size);
    if (known) {
        *out = e->ops->list[*known];
        return HR_OK;
    }
    if (e->ops->count == MOST_OPS) {
        hr__eager_ops *fresh = NULL;
        HR_TRY(hr__eager_ops_new(e, &fresh, err));
        hr__eager_ops_drop(e->ops);
        e->ops = fresh;
    }
    hr__eager_ops *ops = e->ops;
    HR_TRY(make_op(ops, name, opts, out, err));
    HR_TRY(hr__grow(&ops->list, ops->count, &ops->capacity, sizeof(hr__eager_op *), err));
    HR_TRY(hr__map_add(&ops->keys, e->key, e->key_size, ops->count, err));
    ops->list[ops->count++] = *out;
    return HR_OK;
}
