/* Derivatives of calls, branches and loops. The derivative of a function is a function, too: it takes what flows back
 * into the results, and the values of the function's body that it needs; it gives what flows out of the inputs. So that
 * these values are there, the node that calls is extended (rewrite.c): a newer node computes the same and gives them
 * besides. A loop gives them as lists, one entry a turn; its derivative is a loop that takes them from the end.
 *
 *     y = While(x)                            x, lists = While(x, empty lists)    the extended node
 *     dx = derivative of y by x               dx = While(dy, lists) with the derivative of the body
 *
 * Slices stay slices: of branches, if one of them gives such; of what stays the same in a loop of TensorFlow 1, those of
 * all turns. Since a derivative is made of the same nodes, it can be derived again. */
#include "train/graph/function_gradients.h"

bool hr__gradient_failed(const hr_backward *b) { return hr__root(b->graph)->error.code != HR_OK; }

void hr__gradient_refuse(const hr_backward *b, const char *what)
{
    hr_node_fail(hr__root(b->graph), HR_UNIMPLEMENTED, "graph.gradient", "gradient of node '%s' (%s): %s",
                 hr_node_name(b->node), hr_node_op(b->node), what);
}

bool hr__is_same_value(hr_node a, hr_node b) { return a.graph == b.graph && a.id == b.id && a.output == b.output; }

/* ---- nodes where they belong ---- */

hr__inside hr__enter_graph(hr_graph *g)
{
    const hr__inside was = {g, g->building, g->control_count};
    g->building = NULL;
    g->control_count = 0;
    return was;
}

void hr__leave_graph(hr__inside was)
{
    was.g->building = was.building;
    was.g->control_count = was.controls;
}

hr_node hr__empty_value(hr_graph *body, hr_dtype dtype)
{
    if (dtype == HR_VARIANT)
        return hr_new_node(
            body, "EmptyTensorList",
            HR_INPUTS(hr_const_number(body, HR_INT32, -1, NULL), hr_const_number(body, HR_INT32, -1, NULL)),
            HR_ATTRS(HR_TYPE_ATTR("element_dtype", HR_FLOAT)));
    hr_tensor none = {.dtype = dtype, .shape = {.rank = 1}};
    return hr_new_node(body, "Const", HR_ATTRS(HR_TENSOR_ATTR("value", &none), HR_TYPE_ATTR("dtype", dtype)));
}

/* ---- values that a branch of TensorFlow 1 may leave out ---- */

static bool lacks_value(const hr_graph *g, const hr__node *n)
{
    bool any = n->op->traits & HR_SWITCHES, all = n->inputs > 0;
    if (n->instead.graph) return g->after_switch[n->instead.id];
    for (int i = 0; i < n->inputs; i++) {
        any |= g->after_switch[n->input[i].id];
        all &= g->after_switch[n->input[i].id];
    }
    for (int i = 0; i < n->controls; i++) any |= g->after_switch[n->control[i].id];
    return n->op->traits & HR_MERGES ? all : any;
}

/* Whether a Switch is above it: a Merge of several sides may be within a branch, too. */
static bool may_lack_value(hr_node node)
{
    hr_graph *g = node.graph;
    while (g->after_switch_count <= node.id) {
        const int32_t id = g->after_switch_count;
        if (hr__grow(&g->after_switch, id, &g->after_switch_capacity, 1, NULL) != HR_OK) {
            hr__graph_no_memory(hr__root(g), "a gradient");
            return false;
        }
        g->after_switch[id] = !g->nodes[id]->in_loop && lacks_value(g, g->nodes[id]);
        g->after_switch_count++;
    }
    return g->after_switch[node.id];
}

/* Merge(value, an empty one) always has a value, which can be kept, and says which of the two it is. In the derivative
 * a Switch makes of them again what has a value or none: there, what follows runs only where it ran before. */
static hr_node keep_and_switch(hr_graph *body, hr_node outer)
{
    const hr__inside around = hr__enter_graph(outer.graph);
    const hr_node either[] = {outer, hr__empty_value(outer.graph, hr_node_dtype(outer))};
    const hr_node kept = hr_new_node(outer.graph, "Merge", .name = "kept", .inputs = either, .input_count = 2);
    hr__leave_graph(around);
    if (!hr_node_exists(kept)) return kept;
    const hr_node value = hr__capture_node(body, kept), which = hr__capture_node(body, hr_node_output(kept, 1));
    const hr__inside was = hr__enter_graph(body);
    const hr_node there = hr_new_node(body, "Equal", HR_INPUTS(which, hr_const_number(body, HR_INT32, 0, NULL)));
    const hr_node sides = hr_new_node(body, "Switch", HR_INPUTS(value, there));
    hr__leave_graph(was);
    if (!hr_node_exists(sides)) return sides;
    hr__node_of(sides)->shape[1] = hr_node_shape(outer);
    return hr_node_output(sides, 1);
}

static hr_node capture_switched(hr_graph *body, hr_node outer)
{
    if (!may_lack_value(outer)) return (hr_node){0};
    for (int i = 0; i < body->switched_count; i++)
        if (hr__is_same_value(body->switched[i].outer, outer)) return body->switched[i].inner;
    if (hr_node_dtype(outer) == HR_RESOURCE) { /* a handle is the same in all branches */
        hr_node handle = outer;
        while (hr__node_of(handle)->op->traits & HR_SWITCHES || hr_node_is(handle, "Identity"))
            handle = hr_node_input(handle, 0);
        if (!may_lack_value(handle)) return hr__capture_node(body, handle);
    }
    if (hr__grow(&body->switched, body->switched_count, &body->switched_capacity, sizeof *body->switched, NULL))
        return hr__graph_no_memory(body, "a capture");
    const hr_node inner = keep_and_switch(body, outer);
    if (hr_node_exists(inner)) body->switched[body->switched_count++] = (hr__capture){outer, inner};
    return inner;
}

/* ---- the derivative of a function ---- */

const hr_function *hr__function_of(const hr_backward *b, hr_node node, const char *attr, int branch)
{
    const hr_attr *a = hr_node_attr(node, attr);
    const hr_func *func = a && a->kind == HR_ATTR_FUNCS && branch < a->count ? &a->funcs[branch]
                          : a && a->kind == HR_ATTR_FUNC                     ? a->func
                                                                             : NULL;
    const hr_function *f = func ? hr_function_named(b->graph, func->name) : NULL;
    if (!f) hr__gradient_refuse(b, "expected a function of the graph's library");
    return f;
}

void hr__value_like(hr_node node, hr_dtype *dtype, hr_shape *shape)
{
    hr_handle_info info;
    const bool known = hr_node_dtype(node) == HR_RESOURCE && hr__handle_known(node, &info);
    *dtype = known ? info.dtype : hr_node_dtype(node);
    *shape = known ? info.shape : hr_node_shape(node);
}

/* Arrays of one function, dropped with the graph. */
typedef struct ends {
    hr_node *y, *dy, *x;
    hr_gradient *dx;
    int ys, xs;
} ends;

static bool make_ends(hr_graph *body, const hr_function *f, const bool *flows, const bool *wanted, ends *e)
{
    e->y = hr__arena_get(&body->arena, sizeof *e->y * (size_t)(f->outputs + 1));
    e->dy = hr__arena_get(&body->arena, sizeof *e->dy * (size_t)(f->outputs + 1));
    e->x = hr__arena_get(&body->arena, sizeof *e->x * (size_t)(f->inputs + 1));
    e->dx = hr__arena_get(&body->arena, sizeof *e->dx * (size_t)(f->inputs + 1));
    if (!e->y || !e->dy || !e->x || !e->dx) return false;
    for (int i = 0; i < f->outputs; i++)
        if (flows[i]) e->y[e->ys++] = f->output[i];
    for (int i = 0; i < f->inputs; i++)
        if (wanted[i]) e->x[e->xs++] = f->input[i];
    return true;
}

bool hr__find_connected(const hr_function *f, const bool *flows, bool *connected)
{
    ends e = {0};
    bool all[HR__MAX_CALL];
    bool found[HR__MAX_CALL];
    if (f->inputs > HR__MAX_CALL || f->outputs > HR__MAX_CALL) return false;
    for (int i = 0; i < f->inputs; i++) all[i] = true;
    if (!make_ends(f->body, f, flows, all, &e)) return false;
    if (!hr__gradients_connect(f->body, e.y, e.ys, e.x, e.xs, found)) return false;
    for (int i = 0; i < f->inputs; i++) connected[i] |= found[i];
    return true;
}

/* A function of TensorFlow 1's branches: what is computed in one may have no value. */
static bool has_branches(const hr_graph *body)
{
    for (int32_t id = 0; id < body->node_count; id++)
        if (body->nodes[id]->op->traits & HR_SWITCHES) return true;
    return false;
}

int hr__input_of(const hr_function *f, hr_node node)
{
    for (int i = 0; i < f->inputs; i++)
        if (f->input[i].id == node.id && f->input[i].graph == node.graph) return i;
    return -1;
}

void hr__know_inputs(const hr_backward *b, const hr_function *f, int first)
{
    hr_handle_info info;
    for (int i = 0; i < f->inputs && first + i < b->inputs; i++) {
        if (hr_node_dtype(f->input[i]) == HR_RESOURCE && !hr__handle_known(f->input[i], &info))
            hr__know_handle(f->input[i], b->input[first + i]);
    }
}

/* What the derivative gives. By inputs that are `whole`, one dense gradient, zeros if nothing flows. */
static int list_results(const ends *e, const bool *wanted, const bool *whole, hr_node *results, uint8_t *parts)
{
    const bool fits = 2 * e->xs <= HR__MAX_CALL;
    int count = 0;
    for (int i = 0, at = 0; i < e->xs; i++, at++) {
        hr_gradient dx = e->dx[i];
        while (!wanted[at]) at++;
        const bool one = whole && whole[at];
        if (one && !dx.values.graph) dx = hr_dense_gradient(hr_gradient_zeros(e->x[i]));
        if (dx.indices.graph && (one || !fits)) dx = hr_dense_gradient(hr_gradient_dense(dx));
        parts[i] = dx.indices.graph ? 2 : dx.values.graph ? 1 : 0;
        if (parts[i] > 0) results[count++] = dx.values;
        if (parts[i] > 1) results[count++] = dx.indices;
    }
    return count;
}

bool hr__differentiate(const hr_backward *b, const hr_function *f, const bool *flows, const bool *wanted,
                       const bool *whole, hr__derivative *out)
{
    char name[200];
    ends e = {0};
    hr_function *own = f->body->function;
    if (own->in_derivation) {
        hr__gradient_refuse(b, "expected a function that does not call itself");
        return false;
    }
    snprintf(name, sizeof name, "%.180s_grad", f->name);
    hr_graph *body = hr_function_begin(f->body, name);
    uint8_t *parts = body ? hr__arena_get(&body->arena, (size_t)f->inputs + 1) : NULL;
    hr_node *results = body ? hr__arena_get(&body->arena, sizeof *results * 2 * ((size_t)f->inputs + 1)) : NULL;
    if (!parts || !results || !make_ends(body, f, flows, wanted, &e)) {
        hr__graph_no_memory(hr__root(b->graph), "a gradient");
        return false;
    }
    body->copies_constants = true;
    if (has_branches(f->body)) body->capture_switched = capture_switched;
    for (int i = 0; i < e.ys; i++) {
        hr_dtype dtype;
        hr_shape shape;
        hr__value_like(e.y[i], &dtype, &shape);
        e.dy[i] = hr_function_input(body, dtype, shape, "dy");
    }
    own->in_derivation = true;
    hr__gradients_of(f->body, e.y, e.ys, e.dy, e.x, e.xs, e.dx);
    own->in_derivation = false;
    const hr_function *made = hr_function_end(body, results, list_results(&e, wanted, whole, results, parts));
    hr_error err = {0};
    hr_node *outer = NULL;
    hr_function *joined = made ? made->body->function : NULL;
    *out = (hr__derivative){.function = made, .taken = e.ys, .parts = parts};
    if (made && hr__join_captures(&joined, 1, &outer, &out->needs, &err) != HR_OK)
        hr__graph_no_memory(hr__root(b->graph), "a gradient");
    out->need = outer;
    if (f->body->error.code != HR_OK) /* of a body that is finished, nobody else asks */
        hr_node_fail(hr__root(b->graph), f->body->error.code, f->body->error.kind, "function '%s': %s", f->name,
                     f->body->error.text);
    return made && !hr__gradient_failed(b);
}

bool hr__call_derivative(const hr_backward *b, const hr__derivative *d, const hr_node *inputs, hr_node *out)
{
    const hr_function *f = d->function;
    hr_graph *g = hr__innermost(b->graph);
    hr_dtype *types = hr__arena_get(&g->arena, sizeof *types * (size_t)(f->outputs + 1));
    hr_shape *shapes = hr__arena_get(&g->arena, sizeof *shapes * (size_t)(f->outputs + 1));
    if (!types || !shapes) return hr__graph_no_memory(g, "a gradient"), false;
    for (int i = 0; i < f->outputs; i++)
        types[i] = hr_node_dtype(f->output[i]), shapes[i] = hr_node_shape(f->output[i]);
    const hr_func func = {f->name, NULL, 0};
    const hr_node call = hr_new_node(
        g, f->controls > 0 ? "StatefulPartitionedCall" : "PartitionedCall", .inputs = inputs, .input_count = f->inputs,
        HR_ATTRS(HR_FUNC_ATTR("f", &func), HR_TYPES_ATTR("Tout", types, f->outputs),
                 {.name = "_output_shapes", .kind = HR_ATTR_SHAPES, .count = f->outputs, .shapes = shapes}));
    for (int i = 0; i < f->outputs; i++) out[i] = hr_node_exists(call) ? hr_node_output(call, i) : call;
    return hr_node_exists(call);
}

/* ---- extended functions and nodes ---- */

hr_node hr__newest(hr_node node)
{
    while (hr__node_of(node)->extended > 0) node.id = hr__node_of(node)->extended - 1;
    return node;
}

bool hr__add_output(hr_function *f, hr_node node)
{
    hr_node *all = hr__arena_get(&f->body->arena, sizeof *all * (size_t)(f->outputs + 1));
    if (!all || !hr_node_exists(node)) return false;
    memcpy(all, f->output, sizeof *all * (size_t)f->outputs);
    all[f->outputs++] = node;
    f->output = all;
    return true;
}

int hr__output_of(const hr_function *f, hr_node node)
{
    for (int i = 0; i < f->outputs; i++)
        if (hr__is_same_value(f->output[i], node)) return i;
    return -1;
}

static bool is_changed(const char *name, const hr_attr *changed, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(changed[i].name, name) == 0) return true;
    return false;
}

hr_node hr__extend_node(hr_node node, const hr_node *inputs, int count, const hr_attr *changed, int changes)
{
    const hr_node last = hr__newest(node);
    hr_graph *g = node.graph;
    hr__node *n = hr__node_of(last);
    hr_attr *attrs = hr__arena_get(&g->arena, sizeof *attrs * (size_t)(n->attrs + changes + 1));
    if (!attrs) return hr__graph_no_memory(g, "a gradient");
    int kept = 0;
    for (int i = 0; i < n->attrs; i++) {
        const bool list = n->attr[i].kind == HR_ATTR_TYPES || n->attr[i].kind == HR_ATTR_SHAPES;
        const bool known = i < n->sig->attrs || n->attr[i].name[0] == '_';
        if (known && !list && !is_changed(n->attr[i].name, changed, changes)) attrs[kept++] = n->attr[i];
    }
    memcpy(attrs + kept, changed, sizeof *attrs * (size_t)changes);
    const hr__inside was = hr__enter_graph(g);
    const hr_node made =
        hr_new_node(g, n->op->name, .name = "extended", .inputs = inputs, .input_count = count, .attrs = attrs,
                    .attr_count = kept + changes, .controls = n->control, .control_count = n->controls);
    hr__leave_graph(was);
    if (!hr_node_exists(made)) return made;
    hr__node_of(made)->device = n->device;
    hr__node_of(made)->extends = last.id + 1;
    n->extended = made.id + 1;
    g->has_extended = true;
    return made;
}

void hr__set_function(hr_attr *attr, hr_func *func, const char *name, const hr_function *f)
{
    *func = (hr_func){f->name, NULL, 0};
    *attr = (hr_attr){.name = name, .kind = HR_ATTR_FUNC, .func = func};
}

void hr__set_gradient_shape(hr_node gradient, hr_node of, bool rows)
{
    hr_dtype dtype;
    hr_shape shape, both;
    hr__value_like(of, &dtype, &shape);
    hr__node *n = hr__node_of(gradient);
    if (rows && shape.rank > 0) shape.dims[0] = -1;
    if (n && hr_shape_merge(n->shape[gradient.output], shape, &both)) n->shape[gradient.output] = both;
}
