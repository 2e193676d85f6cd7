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
#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

static bool failed(const hr_backward *b) { return hr__root(b->graph)->error.code != HR_OK; }

static void refuse(const hr_backward *b, const char *what)
{
    hr_node_fail(hr__root(b->graph), HR_UNIMPLEMENTED, "graph.gradient", "gradient of node '%s' (%s): %s",
                 hr_node_name(b->node), hr_node_op(b->node), what);
}

static bool is_same(hr_node a, hr_node b) { return a.graph == b.graph && a.id == b.id && a.output == b.output; }

/* ---- nodes where they belong ---- */

/* Nodes go into `g` itself, whatever is made there now, and wait for nothing. */
typedef struct inside {
    hr_graph *g, *building;
    int controls;
} inside;

static inside enter_graph(hr_graph *g)
{
    const inside was = {g, g->building, g->control_count};
    g->building = NULL;
    g->control_count = 0;
    return was;
}

static void leave_graph(inside was)
{
    was.g->building = was.building;
    was.g->control_count = was.controls;
}

/* Stands for what is not computed in a branch: nobody takes it. */
static hr_node empty_value(hr_graph *body, hr_dtype dtype)
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
    const inside around = enter_graph(outer.graph);
    const hr_node either[] = {outer, empty_value(outer.graph, hr_node_dtype(outer))};
    const hr_node kept = hr_new_node(outer.graph, "Merge", .name = "kept", .inputs = either, .input_count = 2);
    leave_graph(around);
    if (!hr_node_exists(kept)) return kept;
    const hr_node value = hr__capture_node(body, kept), which = hr__capture_node(body, hr_node_output(kept, 1));
    const inside was = enter_graph(body);
    const hr_node there = hr_new_node(body, "Equal", HR_INPUTS(which, hr_const_number(body, HR_INT32, 0, NULL)));
    const hr_node sides = hr_new_node(body, "Switch", HR_INPUTS(value, there));
    leave_graph(was);
    if (!hr_node_exists(sides)) return sides;
    hr__node_of(sides)->shape[1] = hr_node_shape(outer);
    return hr_node_output(sides, 1);
}

static hr_node capture_switched(hr_graph *body, hr_node outer)
{
    if (!may_lack_value(outer)) return (hr_node){0};
    for (int i = 0; i < body->switched_count; i++)
        if (is_same(body->switched[i].outer, outer)) return body->switched[i].inner;
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

typedef struct derivative {
    const hr_function *function;
    int taken;           /* gradients that it takes first */
    const hr_node *need; /* of the derived function's body: what it takes after these */
    int needs;
    const uint8_t *parts; /* by wanted input, how many results are its gradient: none, one that is dense, or two, the
                           * values and the indices of slices */
} derivative;

static const hr_function *function_of(const hr_backward *b, hr_node node, const char *attr, int branch)
{
    const hr_attr *a = hr_node_attr(node, attr);
    const hr_func *func = a && a->kind == HR_ATTR_FUNCS && branch < a->count ? &a->funcs[branch]
                          : a && a->kind == HR_ATTR_FUNC                     ? a->func
                                                                             : NULL;
    const hr_function *f = func ? hr_function_named(b->graph, func->name) : NULL;
    if (!f) refuse(b, "expected a function of the graph's library");
    return f;
}

/* What a gradient is like: as the value is; of a variable, as the variable's value is. */
static void like(hr_node node, hr_dtype *dtype, hr_shape *shape)
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

/* Of the inputs, those that a result in `flows` depends on. */
static bool find_connected(const hr_function *f, const bool *flows, bool *connected)
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

static int input_of(const hr_function *f, hr_node node)
{
    for (int i = 0; i < f->inputs; i++)
        if (f->input[i].id == node.id && f->input[i].graph == node.graph) return i;
    return -1;
}

/* A function from a file does not say which variables it takes; a call of it does. */
static void know_inputs(const hr_backward *b, const hr_function *f, int first)
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

/* The derivative by the wanted inputs. */
static bool differentiate(const hr_backward *b, const hr_function *f, const bool *flows, const bool *wanted,
                          const bool *whole, derivative *out)
{
    char name[200];
    ends e = {0};
    hr_function *own = f->body->function;
    if (own->in_derivation) {
        refuse(b, "expected a function that does not call itself");
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
        like(e.y[i], &dtype, &shape);
        e.dy[i] = hr_function_input(body, dtype, shape, "dy");
    }
    own->in_derivation = true;
    hr__gradients_of(f->body, e.y, e.ys, e.dy, e.x, e.xs, e.dx);
    own->in_derivation = false;
    const hr_function *made = hr_function_end(body, results, list_results(&e, wanted, whole, results, parts));
    hr_error err = {0};
    hr_node *outer = NULL;
    hr_function *joined = made ? made->body->function : NULL;
    *out = (derivative){.function = made, .taken = e.ys, .parts = parts};
    if (made && hr__join_captures(&joined, 1, &outer, &out->needs, &err) != HR_OK)
        hr__graph_no_memory(hr__root(b->graph), "a gradient");
    out->need = outer;
    if (f->body->error.code != HR_OK) /* of a body that is finished, nobody else asks */
        hr_node_fail(hr__root(b->graph), f->body->error.code, f->body->error.kind, "function '%s': %s", f->name,
                     f->body->error.text);
    return made && !failed(b);
}

/* A call of it where gradients are made now. */
static bool call_derivative(const hr_backward *b, const derivative *d, const hr_node *inputs, hr_node *out)
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

/* The newest node that extends this one. */
static hr_node newest(hr_node node)
{
    while (hr__node_of(node)->extended > 0) node.id = hr__node_of(node)->extended - 1;
    return node;
}

static bool add_output(hr_function *f, hr_node node)
{
    hr_node *all = hr__arena_get(&f->body->arena, sizeof *all * (size_t)(f->outputs + 1));
    if (!all || !hr_node_exists(node)) return false;
    memcpy(all, f->output, sizeof *all * (size_t)f->outputs);
    all[f->outputs++] = node;
    f->output = all;
    return true;
}

static int output_of(const hr_function *f, hr_node node)
{
    for (int i = 0; i < f->outputs; i++)
        if (is_same(f->output[i], node)) return i;
    return -1;
}

static bool is_changed(const char *name, const hr_attr *changed, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(changed[i].name, name) == 0) return true;
    return false;
}

/* A node like the newest one that extends `node`, with these inputs and attributes; types follow from them. */
static hr_node extend_node(hr_node node, const hr_node *inputs, int count, const hr_attr *changed, int changes)
{
    const hr_node last = newest(node);
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
    const inside was = enter_graph(g);
    const hr_node made =
        hr_new_node(g, n->op->name, .name = "extended", .inputs = inputs, .input_count = count, .attrs = attrs,
                    .attr_count = kept + changes, .controls = n->control, .control_count = n->controls);
    leave_graph(was);
    if (!hr_node_exists(made)) return made;
    hr__node_of(made)->device = n->device;
    hr__node_of(made)->extends = last.id + 1;
    n->extended = made.id + 1;
    g->has_extended = true;
    return made;
}

/* ---- calls and branches ---- */

enum { MAX_BRANCHES = 64 };

/* One call: of one function, or of one of several. */
typedef struct caller {
    hr_backward *b;
    const char *attr;    /* "f", "branches"; NULL: "then_branch" and "else_branch" */
    int branches, first; /* the first input that the functions take */
    const hr_function *f[MAX_BRANCHES];
    derivative d[MAX_BRANCHES];
    bool flows[HR__MAX_CALL], wanted[HR__MAX_CALL];
    uint8_t parts[HR__MAX_CALL];    /* by input: what all branches give, as in a derivative */
    hr_dtype indices[HR__MAX_CALL]; /* by input */
    hr_node out[HR__MAX_CALL];      /* its results, one after the other */
} caller;

static const char *branch_attr(const caller *c, int i)
{
    return c->attr ? c->attr : i == 0 ? "then_branch" : "else_branch";
}

static bool find_functions(caller *c, hr_node node)
{
    for (int i = 0; i < c->branches; i++)
        if (!(c->f[i] = function_of(c->b, node, branch_attr(c, i), i))) return false;
    return true;
}

/* All branches give the value; where it is another branch's, an empty one. */
static bool give_value(const caller *c, hr_function *const *f, int branch, hr_node value)
{
    for (int i = 0; i < c->branches; i++) {
        const inside was = enter_graph(f[i]->body);
        const bool given = add_output(f[i], i == branch ? value : empty_value(f[i]->body, hr_node_dtype(value)));
        leave_graph(was);
        if (!given) return false;
    }
    return true;
}

static void set_function(hr_attr *attr, hr_func *func, const char *name, const hr_function *f)
{
    *func = (hr_func){f->name, NULL, 0};
    *attr = (hr_attr){.name = name, .kind = HR_ATTR_FUNC, .func = func};
}

/* The functions give what the derivatives need, and the node is extended by that. */
static bool extend_call(caller *c)
{
    const hr_node last = newest(c->b->node);
    hr_graph *g = last.graph;
    hr_function *f[MAX_BRANCHES];
    hr_func func[MAX_BRANCHES];
    hr_attr attrs[4];
    int changes = 0;
    bool more = false;
    if (!find_functions(c, last)) return false;
    for (int i = 0; i < c->branches; i++)
        for (int j = 0; j < c->d[i].needs; j++)
            more |= input_of(c->f[i], c->d[i].need[j]) < 0 && output_of(c->f[i], c->d[i].need[j]) < 0;
    if (!more) return true;
    for (int i = 0; i < c->branches; i++)
        if (!(f[i] = hr__function_extend(c->f[i]))) return false;
    for (int i = 0; i < c->branches; i++)
        for (int j = 0; j < c->d[i].needs; j++)
            if (input_of(f[i], c->d[i].need[j]) < 0 && output_of(f[i], c->d[i].need[j]) < 0 &&
                !give_value(c, f, i, c->d[i].need[j]))
                return false;
    hr_dtype *types = hr__arena_get(&g->arena, sizeof *types * (size_t)(f[0]->outputs + 1));
    hr_shape *shapes = hr__arena_get(&g->arena, sizeof *shapes * (size_t)(f[0]->outputs + 1));
    if (!types || !shapes) return false;
    for (int i = 0; i < f[0]->outputs; i++) {
        types[i] = hr_node_dtype(f[0]->output[i]);
        shapes[i] = i < hr_node_outputs(last) ? hr_node_shape(hr_node_output(last, i))
                    : c->branches == 1        ? hr_node_shape(f[0]->output[i])
                                              : HR_UNKNOWN_SHAPE;
    }
    for (int i = 0; i < c->branches; i++) func[i] = (hr_func){f[i]->name, NULL, 0};
    for (int i = 0; i < (c->attr ? 1 : 2); i++)
        attrs[changes++] = (hr_attr){.name = branch_attr(c, i), .kind = HR_ATTR_FUNC, .func = &func[i]};
    if (c->attr && c->first == 1)
        attrs[0] = (hr_attr){.name = c->attr, .kind = HR_ATTR_FUNCS, .count = c->branches, .funcs = func};
    attrs[changes++] = HR_TYPES_ATTR("Tout", types, f[0]->outputs);
    attrs[changes++] = (hr_attr){.name = c->first == 0 ? "_output_shapes" : "output_shapes",
                                 .kind = HR_ATTR_SHAPES,
                                 .count = f[0]->outputs,
                                 .shapes = shapes};
    const hr__node *n = hr__node_of(last);
    return hr_node_exists(extend_node(c->b->node, n->input, n->inputs, attrs, changes));
}

/* The derivative of branch i, called with what flows back and what it needs. */
static bool call_branch(caller *c, int i, hr_node *out)
{
    const hr_backward *b = c->b;
    const derivative *d = &c->d[i];
    const hr_node last = newest(b->node);
    hr_graph *g = hr__innermost(b->graph);
    const hr_function *f = function_of(b, last, branch_attr(c, i), i);
    hr_node *in = hr__arena_get(&g->arena, sizeof *in * (size_t)(d->taken + d->needs + 1));
    int n = 0;
    if (!f || !in) return false;
    for (int j = 0; j < b->outputs; j++)
        if (c->flows[j]) in[n++] = b->grad[j];
    for (int j = 0; j < d->needs; j++) {
        const int input = input_of(f, d->need[j]);
        in[n++] = input >= 0 ? b->input[c->first + input] : hr_node_output(last, output_of(f, d->need[j]));
    }
    return call_derivative(b, d, in, out);
}

/* What all branches give of each input: slices if one of them does. */
static int agree_on_parts(caller *c)
{
    int results = 0, wanted = 0;
    for (int i = 0; i < c->b->inputs - c->first; i++) {
        for (int j = 0; c->wanted[i] && j < c->branches; j++) {
            const derivative *d = &c->d[j];
            int at = 0;
            if (d->parts[wanted] > c->parts[i]) c->parts[i] = d->parts[wanted];
            if (d->parts[wanted] < 2) continue;
            for (int k = 0; k < wanted; k++) at += d->parts[k];
            const hr_dtype dtype = hr_node_dtype(d->function->output[at + 1]);
            c->indices[i] = c->indices[i] && c->indices[i] != dtype ? HR_INT64 : dtype;
        }
        wanted += c->wanted[i];
        results += c->parts[i];
    }
    return results;
}

/* The results of one branch, as all branches give them. */
static void put_results(const caller *c, const derivative *d, const hr_node *own, hr_node *results)
{
    for (int i = 0, w = 0; i < c->b->inputs - c->first; i++) {
        if (!c->wanted[i]) continue;
        const int parts = d->parts[w++];
        const hr_node x = c->b->input[c->first + i];
        hr_gradient dx = {0};
        if (parts > 0) dx.values = *own++;
        if (parts > 1) dx.indices = *own++;
        if (c->parts[i] == 2) {
            dx = hr_gradient_slices(dx, x, c->indices[i]);
            *results++ = dx.values;
            *results++ = dx.indices;
        } else if (c->parts[i] == 1) {
            *results++ = parts ? dx.values : hr_gradient_zeros(x);
        }
    }
}

/* The branches are made in their order. */
typedef struct branch_calls {
    caller *c;
    int next;
} branch_calls;

static void next_branch(hr_graph *body, hr_node *results, void *user)
{
    branch_calls *calls = user;
    const derivative *d = &calls->c->d[calls->next];
    hr_node *own = hr__arena_get(&body->arena, sizeof *own * ((size_t)d->function->outputs + 1));
    if (!own)
        hr__graph_no_memory(body, "a gradient");
    else if (call_branch(calls->c, calls->next++, own))
        put_results(calls->c, d, own, results);
}

static void call_derivatives(caller *c)
{
    hr_branch_fn *branch[MAX_BRANCHES];
    branch_calls calls = {c, 0};
    const int results = agree_on_parts(c);
    for (int i = 0; i < c->branches; i++) branch[i] = next_branch;
    if (c->first == 0)
        call_branch(c, 0, c->out);
    else if (c->attr)
        hr_switch_case(c->b->input[0], branch, c->branches, &calls, c->out, results);
    else
        hr_cond(c->b->input[0], next_branch, next_branch, &calls, c->out, results);
}

/* `rows`: the values of slices, which have as many rows as there are. */
static void set_gradient_shape(hr_node gradient, hr_node of, bool rows)
{
    hr_dtype dtype;
    hr_shape shape, both;
    like(of, &dtype, &shape);
    hr__node *n = hr__node_of(gradient);
    if (rows && shape.rank > 0) shape.dims[0] = -1;
    if (n && hr_shape_merge(n->shape[gradient.output], shape, &both)) n->shape[gradient.output] = both;
}

/* Which inputs something flows to, at all. */
static int find_wanted(caller *c)
{
    int count = 0;
    for (int i = 0; i < c->b->outputs; i++) c->flows[i] = c->b->grad[i].graph != NULL;
    for (int i = 0; i < c->branches; i++)
        if (!find_connected(c->f[i], c->flows, c->wanted)) return -1;
    for (int i = 0; i < c->b->inputs - c->first; i++) count += c->wanted[i];
    return count;
}

static void derive_call(caller *c)
{
    hr_backward *b = c->b;
    if (b->inputs > HR__MAX_CALL || b->outputs > HR__MAX_CALL || c->branches > MAX_BRANCHES) {
        refuse(b, "expected fewer inputs, results and branches");
        return;
    }
    if (!find_functions(c, b->node)) return;
    const int wanted = find_wanted(c);
    if (wanted <= 0) return;
    for (int i = 0; i < c->branches; i++) know_inputs(b, c->f[i], c->first);
    for (int i = 0; i < c->branches; i++)
        if (!differentiate(b, c->f[i], c->flows, c->wanted, NULL, &c->d[i])) return;
    if (!extend_call(c)) {
        if (!failed(b)) hr__graph_no_memory(hr__root(b->graph), "a gradient");
        return;
    }
    call_derivatives(c);
    for (int i = 0, n = 0; i < b->inputs - c->first; n += c->parts[i++]) {
        const hr_node x = b->input[c->first + i];
        if (c->parts[i] == 0) continue;
        set_gradient_shape(c->out[n], x, c->parts[i] == 2);
        b->out[c->first + i] = hr_dense_gradient(c->out[n]);
        if (c->parts[i] == 2) b->out[c->first + i] = (hr_gradient){c->out[n], c->out[n + 1], hr__gradient_shape(x)};
    }
}

static void derive_caller(hr_backward *b, const char *attr, int branches, int first)
{
    caller *c = hr_calloc(1, sizeof *c);
    if (!c) {
        hr__graph_no_memory(hr__root(b->graph), "a gradient");
        return;
    }
    *c = (caller){.b = b, .attr = attr, .branches = branches, .first = first};
    derive_call(c);
    hr_free(c);
}

void hr_case_gradient(hr_backward *b)
{
    const hr_attr *branches = hr_node_attr(b->node, "branches");
    derive_caller(b, "branches", branches ? branches->count : 0, 1);
}

void hr_call_gradient(hr_backward *b) { derive_caller(b, "f", 1, 0); }
void hr_if_gradient(hr_backward *b) { derive_caller(b, NULL, 2, 1); }

/* ---- loops ---- */

typedef struct looper {
    hr_backward *b;
    const hr_function *body; /* as the node has it */
    derivative d;
    bool flows[HR__MAX_CALL]; /* by variable: a gradient goes along */
    int count;                /* of these */
    bool sums[HR__MAX_CALL];  /* by variable: what each turn gives is summed; of slices, kept */
    hr_node last;             /* the extended node */
    const hr_function *extended;
    int list
        [HR__MAX_CALL]; /* by what the derivative needs: which variable of the extended node; -1: it stays the same */
    int lists;
} looper;

/* The body gives the variable as it is. */
static bool stays(const hr_function *body, int i) { return is_same(body->output[i], body->input[i]); }

/* Gradients of all variables that a turn takes some to, from those of the results. As TensorFlow does, those of what
 * stays the same in its loops of version 1 are summed apart, and slices stay slices; in others they are dense. */
static bool find_flows(looper *l)
{
    hr_handle_info info;
    bool more = true;
    for (int i = 0; i < l->b->outputs; i++) l->flows[i] = l->b->grad[i].graph != NULL;
    while (more) {
        bool connected[HR__MAX_CALL] = {0};
        more = false;
        if (!find_connected(l->body, l->flows, connected)) return false;
        for (int i = 0; i < l->b->outputs; i++) {
            const hr_node x = l->b->input[i]; /* a tensor array is no variable: its flow has the gradient */
            connected[i] &= hr_node_dtype(x) != HR_RESOURCE || hr__handle_known(x, &info);
            more |= connected[i] && !l->flows[i];
            l->flows[i] |= connected[i];
        }
    }
    for (int i = 0; i < l->b->outputs; i++) {
        l->sums[i] = l->flows[i] && l->body->hidden && stays(l->body, i) && !l->b->grad[i].graph;
        l->flows[i] &= !l->sums[i];
        l->count += l->flows[i];
    }
    return true;
}

/* The variable that holds the list of a value of the body; -1: none. */
static int list_of(const hr_function *body, hr_node value)
{
    for (int i = 0; i < body->outputs; i++) {
        const hr_node push = body->output[i];
        if (hr_node_is(push, "TensorListPushBack") && is_same(hr_node_input(push, 1), value) &&
            is_same(hr_node_input(push, 0), body->input[i]))
            return i;
    }
    return -1;
}

static hr_node shape_node(hr_graph *g, hr_shape shape)
{
    if (hr_shape_count(shape) < 0) return hr_const_number(g, HR_INT32, -1, NULL);
    return hr_const_ints(g, shape.dims, shape.rank, NULL);
}

/* What the loop is extended by: variables of the condition and the body, and what they begin with. */
typedef struct extension {
    hr_function *condition, *body;
    hr_node input[HR__MAX_CALL];
    int inputs;
} extension;

static hr_node add_variable(extension *x, hr_node initial, const char *name)
{
    hr_node of_body = {0};
    for (int i = 0; i < 2; i++) {
        hr_function *f = i ? x->body : x->condition;
        const inside was = enter_graph(f->body);
        of_body = hr__function_argument(f->body, hr_node_dtype(initial), hr_node_shape(initial), name, NULL, 0);
        leave_graph(was);
        if (!hr_node_exists(of_body) || hr__grow(&f->input, f->inputs, &f->input_capacity, sizeof *f->input, NULL))
            return (hr_node){0};
        f->input[f->inputs++] = of_body;
    }
    x->input[x->inputs++] = initial;
    return of_body;
}

/* A counter of turns. */
static bool add_counter(extension *x, hr_graph *g)
{
    const inside around = enter_graph(g);
    const hr_node zero = hr_const_number(g, HR_INT32, 0, "turns");
    leave_graph(around);
    const hr_node turns = add_variable(x, zero, "turns");
    if (!turns.graph) return false;
    const inside was = enter_graph(x->body->body);
    const hr_node next =
        hr_new_node(x->body->body, "AddV2", HR_INPUTS(turns, hr_const_number(x->body->body, HR_INT32, 1, NULL)));
    leave_graph(was);
    x->body->counter = x->body->outputs + 1;
    return add_output(x->body, next);
}

static bool add_list(extension *x, hr_graph *g, hr_node value)
{
    const inside around = enter_graph(g);
    const hr_node empty = hr_new_node(
        g, "EmptyTensorList", HR_INPUTS(shape_node(g, hr_node_shape(value)), hr_const_number(g, HR_INT32, -1, NULL)),
        HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(value))));
    leave_graph(around);
    const hr_node list = hr_node_exists(empty) ? add_variable(x, empty, "list") : empty;
    if (!hr_node_exists(list)) return false;
    const inside was = enter_graph(x->body->body);
    const hr_node pushed = hr_new_node(x->body->body, "TensorListPushBack", HR_INPUTS(list, value),
                                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(value))));
    leave_graph(was);
    return add_output(x->body, pushed);
}

static bool is_kept(const hr_function *body, hr_node value)
{
    const int input = input_of(body, value);
    return (input >= 0 && stays(body, input)) || list_of(body, value) >= 0;
}

/* The loop counts its turns and keeps what the derivative needs of each. */
static bool extend_loop(looper *l)
{
    hr_backward *b = l->b;
    hr_graph *g = b->node.graph;
    const hr_node last = newest(b->node);
    const hr_function *condition = function_of(b, last, "cond", 0), *body = function_of(b, last, "body", 0);
    const hr__node *n = hr__node_of(last);
    if (!condition || !body) return false;
    bool more = body->counter == 0;
    for (int i = 0; i < l->d.needs; i++) more |= !is_kept(body, l->d.need[i]);
    if (n->inputs + l->d.needs + 1 > HR__MAX_CALL) {
        refuse(b, "expected fewer variables and values that the body computes");
        return false;
    }
    if (!more) return true;
    extension *x = hr_calloc(1, sizeof *x);
    if (!x) return false;
    memcpy(x->input, n->input, sizeof *x->input * (size_t)n->inputs);
    x->inputs = n->inputs;
    x->condition = hr__function_extend(condition);
    x->body = hr__function_extend(body);
    bool done = x->condition && x->body && (body->counter > 0 || add_counter(x, g));
    for (int i = 0; done && i < l->d.needs; i++)
        if (!is_kept(x->body, l->d.need[i])) done = add_list(x, g, l->d.need[i]);
    hr_shape *shapes = hr__arena_get(&g->arena, sizeof *shapes * (size_t)(x->inputs + 1));
    if (done && shapes) {
        hr_func func[2];
        hr_attr attrs[3];
        for (int i = 0; i < x->inputs; i++)
            shapes[i] = hr_node_shape(i < n->outputs ? hr_node_output(last, i) : x->input[i]);
        set_function(&attrs[0], &func[0], "cond", x->condition);
        set_function(&attrs[1], &func[1], "body", x->body);
        attrs[2] = (hr_attr){.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = x->inputs, .shapes = shapes};
        done = hr_node_exists(extend_node(b->node, x->input, x->inputs, attrs, 3));
    }
    hr_free(x);
    return done && shapes;
}

/* Which lists the derivative takes its values from. */
static bool find_lists(looper *l)
{
    l->last = newest(l->b->node);
    l->extended = function_of(l->b, l->last, "body", 0);
    for (int i = 0; l->extended && i < l->d.needs; i++) {
        const int input = input_of(l->extended, l->d.need[i]);
        l->list[i] = input >= 0 && stays(l->extended, input) ? -1 : list_of(l->extended, l->d.need[i]);
        l->lists += l->list[i] >= 0;
    }
    return l->extended != NULL;
}

/* Backwards: turns left, the gradients, the lists, the sums. */
static void turns_left(hr_graph *body, const hr_node *vars, hr_node *result, void *user)
{
    (void)user;
    *result = hr_new_node(body, "Greater", HR_INPUTS(vars[0], hr_const_number(body, HR_INT32, 0, NULL)));
}

static hr_node empty_list(hr_graph *g, hr_dtype dtype)
{
    const hr_node any = hr_const_number(g, HR_INT32, -1, NULL);
    return hr_new_node(g, "EmptyTensorList", HR_INPUTS(any, any), HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype)));
}

/* Of part `part` of the gradient by wanted input `w`. */
static hr_dtype part_dtype(const looper *l, int w, int part)
{
    for (int i = 0; i < w; i++) part += l->d.parts[i];
    return hr_node_dtype(l->d.function->output[part]);
}

static hr_node pushed(hr_node list, hr_node value)
{
    return hr_new_node(value.graph, "TensorListPushBack", HR_INPUTS(list, value),
                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(value))));
}

/* What a turn gives goes along, or to a sum. */
static void put_turn(const looper *l, const hr_node *dx, const hr_node *sum, hr_node *flow, hr_node *next_sum)
{
    for (int i = 0, w = 0; i < l->b->outputs; i++) {
        if (l->flows[i]) *flow++ = *dx++;
        w += l->flows[i];
        if (!l->sums[i]) continue;
        const int parts = l->d.parts[w++];
        for (int part = 0; part < parts; part++, dx++, sum++)
            *next_sum++ = parts == 1 ? hr_new_node(dx->graph, "AddV2", HR_INPUTS(*sum, *dx)) : pushed(*sum, *dx);
    }
}

static void turn_back(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    looper *l = user;
    const int first_list = 1 + l->count, first_sum = first_list + l->lists;
    hr_node *in = hr__arena_get(&body->arena, sizeof *in * (size_t)(l->d.function->inputs + 1));
    hr_node *dx = hr__arena_get(&body->arena, sizeof *dx * (size_t)(l->d.function->outputs + 1));
    if (!in || !dx) {
        hr__graph_no_memory(body, "a gradient");
        return;
    }
    results[0] = hr_new_node(body, "Sub", HR_INPUTS(vars[0], hr_const_number(body, HR_INT32, 1, NULL)));
    memcpy(in, vars + 1, sizeof *in * (size_t)l->count);
    for (int i = 0, list = first_list; i < l->d.needs; i++) {
        const hr_node need = l->d.need[i];
        if (l->list[i] < 0) {
            in[l->count + i] = l->b->input[input_of(l->extended, need)];
            continue;
        }
        const hr_node pop =
            hr_new_node(body, "TensorListPopBack", HR_INPUTS(vars[list], shape_node(body, hr_node_shape(need))),
                        HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(need))));
        results[list++] = hr_node_output(pop, 0);
        in[l->count + i] = hr_node_output(pop, 1);
    }
    if (call_derivative(l->b, &l->d, in, dx)) put_turn(l, dx, vars + first_sum, results + 1, results + first_sum);
}

/* A variable of the loop when it has ended; a handle stays what it was. */
static hr_node last_value(const hr_backward *b, int i)
{
    return hr_node_dtype(b->output[i]) == HR_RESOURCE ? b->input[i] : b->output[i];
}

/* What the sums begin with: zeros, or empty lists of values and of indices. */
static int begin_sums(const looper *l, hr_node *vars, hr_shape *shapes)
{
    int count = 0;
    for (int i = 0, w = 0; i < l->b->outputs; i++) {
        const hr_node x = l->b->input[i];
        const int parts = l->sums[i] ? l->d.parts[w] : 0;
        w += l->flows[i] || l->sums[i];
        for (int part = 0; part < parts; part++, count++) {
            shapes[count] = parts == 1 ? HR_UNKNOWN_SHAPE : HR_SCALAR;
            vars[count] = parts == 1 ? hr_gradient_zeros(x) : empty_list(x.graph, part_dtype(l, w - 1, part));
        }
    }
    return count;
}

/* The parts of all turns, one after the other; of no turn, none. */
static hr_node joined(hr_node list, hr_node rows, hr_dtype dtype)
{
    hr_graph *g = list.graph;
    const hr_tensor none = {.dtype = HR_INT64, .shape = {.rank = 1}};
    const hr_node lengths =
        hr_new_node(g, "Const", HR_ATTRS(HR_TENSOR_ATTR("value", &none), HR_TYPE_ATTR("dtype", HR_INT64)));
    return hr_new_node(g, "TensorListConcatV2", HR_INPUTS(list, rows, lengths),
                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype)));
}

/* [-1, ...]: of rows of a table, however many. */
static hr_node shape_of_rows(hr_node dense_shape)
{
    hr_graph *g = dense_shape.graph;
    const hr_node one = hr_const_ints(g, HR_I64(1), 1, NULL), rest = hr_const_ints(g, HR_I64(-1), 1, NULL);
    const hr_node any = hr_new_node(g, "Cast", HR_INPUTS(rest), HR_ATTRS(HR_TYPE_ATTR("DstT", HR_INT64)));
    return hr_new_node(g, "ConcatV2",
                       HR_INPUTS(any, hr_new_node(g, "Slice", HR_INPUTS(dense_shape, one, rest)),
                                 hr_const_number(g, HR_INT32, 0, "axis")));
}

static void give_sums(const looper *l, const hr_node *out)
{
    for (int i = 0, w = 0; i < l->b->outputs; i++) {
        const hr_node x = l->b->input[i];
        const int parts = l->sums[i] ? l->d.parts[w] : 0;
        w += l->flows[i] || l->sums[i];
        if (parts == 1) l->b->out[i] = hr_dense_gradient(out[0]);
        if (parts == 2) {
            const hr_node shape = hr__gradient_shape(x), any = hr_const_ints(x.graph, HR_I64(-1), 1, NULL);
            l->b->out[i] = (hr_gradient){joined(out[0], shape_of_rows(shape), part_dtype(l, w - 1, 0)),
                                         joined(out[1], any, part_dtype(l, w - 1, 1)), shape};
        }
        if (parts > 0) set_gradient_shape(l->b->out[i].values, x, parts == 2);
        out += parts;
    }
}

static void run_back(looper *l)
{
    hr_backward *b = l->b;
    hr_graph *g = hr__innermost(b->graph);
    const int most = 1 + l->count + l->lists + l->d.function->outputs;
    hr_node *vars = hr__arena_get(&g->arena, sizeof *vars * (size_t)most);
    hr_node *out = hr__arena_get(&g->arena, sizeof *out * (size_t)most);
    hr_shape *shapes = hr__arena_get(&g->arena, sizeof *shapes * (size_t)most);
    if (!vars || !out || !shapes) {
        hr__graph_no_memory(g, "a gradient");
        return;
    }
    int n = 0;
    vars[n++] = hr_node_output(l->last, l->extended->counter - 1);
    for (int i = 0; i < b->outputs; i++)
        if (l->flows[i]) vars[n++] = b->grad[i].graph ? b->grad[i] : hr_gradient_zeros(last_value(b, i));
    for (int i = 0; i < l->d.needs; i++)
        if (l->list[i] >= 0) vars[n++] = hr_node_output(l->last, l->list[i]);
    for (int i = 0; i < n; i++) shapes[i] = i > 0 && i <= l->count ? HR_UNKNOWN_SHAPE : HR_SCALAR;
    const int first_sum = n;
    n += begin_sums(l, vars + n, shapes + n);
    hr_while_loop(turns_left, turn_back, l, vars, n, out, .shapes = shapes, .name = "while_grad");
    for (int i = 0, at = 1; i < b->outputs; i++) {
        if (!l->flows[i]) continue;
        set_gradient_shape(out[at], b->input[i], false);
        b->out[i] = hr_dense_gradient(out[at++]);
    }
    give_sums(l, out + first_sum);
}

/* A loop that TensorFlow 1 made as a derivative takes values from stacks: what they depend on is not seen. */
static bool takes_from_stacks(const hr_function *f)
{
    for (int32_t id = 0; f->hidden && id < f->body->node_count; id++)
        if (strcmp(f->body->nodes[id]->op->name, "StackPopV2") == 0) return true;
    return false;
}

void hr_while_gradient(hr_backward *b)
{
    looper *l = b->outputs > HR__MAX_CALL ? NULL : hr_calloc(1, sizeof *l);
    if (!l) {
        hr__graph_no_memory(hr__root(b->graph), "a gradient");
        return;
    }
    l->b = b;
    l->body = function_of(b, b->node, "body", 0);
    if (l->body) know_inputs(b, l->body, 0);
    bool wanted[HR__MAX_CALL];
    if (l->body && takes_from_stacks(l->body))
        hr_node_fail(hr__root(b->graph), HR_INVALID_ARGUMENT, "graph.gradient",
                     "Second-order gradient for while loops not supported.");
    bool done = l->body && !failed(b) && find_flows(l);
    for (int i = 0; done && i < b->outputs; i++) wanted[i] = l->flows[i] || l->sums[i];
    done = done && differentiate(b, l->body, l->flows, wanted, l->flows, &l->d);
    done = done && extend_loop(l) && find_lists(l);
    if (done) run_back(l);
    if (!done && !failed(b)) hr__graph_no_memory(hr__root(b->graph), "a gradient");
    hr_free(l);
}
