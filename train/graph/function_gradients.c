/* Derivatives of calls, branches and loops. The derivative of a function is a function, too: it takes what flows back
 * into the results, and the values of the function's body that it needs; it gives what flows out of the inputs. So that
 * these values are there, the node that calls is extended (rewrite.c): a newer node computes the same and gives them
 * besides. A loop gives them as lists, one entry a turn; its derivative is a loop that takes them from the end.
 *
 *     y = While(x)                            x, lists = While(x, empty lists)    the extended node
 *     dx = derivative of y by x               dx = While(dy, lists) with the derivative of the body
 *
 * Since a derivative is made of the same nodes, it can be derived again. */
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
        while (hr__node_of(handle)->op->traits & HR_SWITCHES || strcmp(hr_node_op(handle), "Identity") == 0)
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

/* The derivative by the wanted inputs; gives zeros for those that nothing flows to. */
static bool differentiate(const hr_backward *b, const hr_function *f, const bool *flows, const bool *wanted,
                          derivative *out)
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
    if (!body || !make_ends(body, f, flows, wanted, &e)) {
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
    for (int i = 0; i < e.xs; i++)
        e.x[i] = e.dx[i].values.graph ? hr_gradient_dense(e.dx[i]) : hr_gradient_zeros(e.x[i]);
    const hr_function *made = hr_function_end(body, e.x, e.xs);
    hr_error err = {0};
    hr_node *outer = NULL;
    hr_function *joined = made ? made->body->function : NULL;
    *out = (derivative){.function = made, .taken = e.ys};
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
    hr_node out[HR__MAX_CALL]; /* by wanted input */
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
static bool call_branch(caller *c, int i)
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
    return call_derivative(b, d, in, c->out);
}

/* The branches are made in their order. */
typedef struct branch_calls {
    caller *c;
    int next, results;
} branch_calls;

static void next_branch(hr_graph *body, hr_node *results, void *user)
{
    branch_calls *calls = user;
    (void)body;
    if (call_branch(calls->c, calls->next++)) memcpy(results, calls->c->out, sizeof *results * (size_t)calls->results);
}

static void call_derivatives(caller *c, int results)
{
    hr_branch_fn *branch[MAX_BRANCHES];
    branch_calls calls = {c, 0, results};
    for (int i = 0; i < c->branches; i++) branch[i] = next_branch;
    if (c->first == 0)
        call_branch(c, 0);
    else if (c->attr)
        hr_switch_case(c->b->input[0], branch, c->branches, &calls, c->out, results);
    else
        hr_cond(c->b->input[0], next_branch, next_branch, &calls, c->out, results);
}

static void set_gradient_shape(hr_node gradient, hr_node of)
{
    hr_dtype dtype;
    hr_shape shape, both;
    like(of, &dtype, &shape);
    hr__node *n = hr__node_of(gradient);
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
        if (!differentiate(b, c->f[i], c->flows, c->wanted, &c->d[i])) return;
    if (!extend_call(c)) {
        if (!failed(b)) hr__graph_no_memory(hr__root(b->graph), "a gradient");
        return;
    }
    call_derivatives(c, wanted);
    for (int i = 0, n = 0; i < b->inputs - c->first; i++) {
        if (!c->wanted[i]) continue;
        set_gradient_shape(c->out[n], b->input[c->first + i]);
        b->out[c->first + i] = hr_dense_gradient(c->out[n++]);
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
    hr_node last;             /* the extended node */
    const hr_function *extended;
    int list
        [HR__MAX_CALL]; /* by what the derivative needs: which variable of the extended node; -1: it stays the same */
    int lists;
} looper;

/* The body gives the variable as it is. */
static bool stays(const hr_function *body, int i) { return is_same(body->output[i], body->input[i]); }

/* Gradients of all variables that a turn takes some to, from those of the results. */
static bool find_flows(looper *l)
{
    bool more = true;
    for (int i = 0; i < l->b->outputs; i++) l->flows[i] = l->b->grad[i].graph != NULL;
    while (more) {
        bool connected[HR__MAX_CALL] = {0};
        more = false;
        if (!find_connected(l->body, l->flows, connected)) return false;
        for (int i = 0; i < l->b->outputs; i++) {
            more |= connected[i] && !l->flows[i];
            l->flows[i] |= connected[i];
        }
    }
    for (int i = 0; i < l->b->outputs; i++) l->count += l->flows[i];
    return true;
}

/* The variable that holds the list of a value of the body; -1: none. */
static int list_of(const hr_function *body, hr_node value)
{
    for (int i = 0; i < body->outputs; i++) {
        const hr_node push = body->output[i];
        if (strcmp(hr_node_op(push), "TensorListPushBack") == 0 && is_same(hr_node_input(push, 1), value) &&
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

/* Backwards: turns left, the gradients, the lists. */
static void turns_left(hr_graph *body, const hr_node *vars, hr_node *result, void *user)
{
    (void)user;
    *result = hr_new_node(body, "Greater", HR_INPUTS(vars[0], hr_const_number(body, HR_INT32, 0, NULL)));
}

static void turn_back(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    looper *l = user;
    const int first_list = 1 + l->count;
    hr_node *in = hr__arena_get(&body->arena, sizeof *in * (size_t)(l->d.function->inputs + 1));
    if (!in) {
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
    call_derivative(l->b, &l->d, in, results + 1);
}

/* A variable of the loop when it has ended; a handle stays what it was. */
static hr_node last_value(const hr_backward *b, int i)
{
    return hr_node_dtype(b->output[i]) == HR_RESOURCE ? b->input[i] : b->output[i];
}

static void run_back(looper *l)
{
    hr_backward *b = l->b;
    hr_graph *g = hr__innermost(b->graph);
    const int count = 1 + l->count + l->lists;
    hr_node *vars = hr__arena_get(&g->arena, sizeof *vars * (size_t)count);
    hr_node *out = hr__arena_get(&g->arena, sizeof *out * (size_t)count);
    hr_shape *shapes = hr__arena_get(&g->arena, sizeof *shapes * (size_t)count);
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
    for (int i = 0; i < count; i++) shapes[i] = i > 0 && i <= l->count ? HR_UNKNOWN_SHAPE : HR_SCALAR;
    hr_while_loop(turns_left, turn_back, l, vars, count, out, .shapes = shapes, .name = "while_grad");
    n = 1;
    for (int i = 0; i < b->outputs; i++) {
        if (!l->flows[i]) continue;
        set_gradient_shape(out[n], b->input[i]);
        b->out[i] = hr_dense_gradient(out[n++]);
    }
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
    bool done = l->body && find_flows(l) && differentiate(b, l->body, l->flows, l->flows, &l->d);
    done = done && extend_loop(l) && find_lists(l);
    if (done) run_back(l);
    if (!done && !failed(b)) hr__graph_no_memory(hr__root(b->graph), "a gradient");
    hr_free(l);
}
