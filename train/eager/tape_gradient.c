/* Derivatives along a tape: from its newest entry to its oldest, through the ops' own gradients, whose nodes are
 * computed as they are made. Where the graph's hr_gradients goes by numbers of nodes, a tape goes by the order in which
 * it recorded. */
#include "train/eager/eager_internal.h"

#include <string.h>

/* What has arrived at one output. */
typedef struct hr__arrivals {
    hr_gradient *all;
    int count, capacity;
} hr__arrivals;

typedef struct reverse {
    hr_tape *t;
    hr__eager *e;
    hr_graph *g;
    hr__arena arena;
    int entries; /* those that were there when it began: a persistent tape may record what it does here */
    const hr_node *xs;
    int x_count;
    hr_error *err;
} reverse;

static hr__eager_node *entry_node(const reverse *r, int i)
{
    return (hr__eager_node *)r->g->nodes[r->t->entries[i].id];
}

/* ---- arriving ---- */

static hr_status arrive(reverse *r, hr_node at, hr_gradient gradient)
{
    hr__eager_node *n = hr__eager_node_of(at);
    if (!gradient.values.graph || !n->between) return HR_OK;
    if (!n->arrived) n->arrived = hr__arena_get(&r->arena, sizeof *n->arrived * (size_t)(n->node.outputs + 1));
    if (!n->arrived) return hr_no_memory(r->err, "a gradient");
    hr__arrivals *a = &n->arrived[at.output];
    if (a->count == a->capacity) {
        const int wanted = a->capacity ? 2 * a->capacity : 2;
        hr_gradient *wider = hr__arena_get(&r->arena, sizeof *wider * (size_t)wanted);
        if (!wider) return hr_no_memory(r->err, "a gradient");
        if (a->count) memcpy(wider, a->all, sizeof *wider * (size_t)a->count);
        a->all = wider;
        a->capacity = wanted;
    }
    a->all[a->count++] = gradient;
    return HR_OK;
}

/* The sum of what has arrived, which stands for all of it from then on. */
static hr_gradient arrived_at(const reverse *r, hr_node at)
{
    hr__eager_node *n = hr__eager_node_of(at);
    hr__arrivals *a = n->arrived ? &n->arrived[at.output] : NULL;
    if (!a || a->count == 0) return (hr_gradient){0};
    a->all[0] = hr__gradient_sum(r->g, a->all, a->count);
    a->count = 1;
    return a->all[0];
}

/* ---- one entry ---- */

static hr_status flow_back(reverse *r, const hr__tape_entry *entry, const hr__eager_node *n,
                           const hr_gradient *incoming)
{
    hr_gradient *out = hr__arena_get(&r->arena, sizeof *out * (size_t)(n->node.inputs + 1));
    const hr_node node = {r->g, n->id, 0};
    if (!out) return hr_no_memory(r->err, "a gradient");
    if (!entry->backward.fn && n->node.op->traits & HR_CALLS)
        return hr_fail(r->err, HR_UNIMPLEMENTED, "graph.gradient",
                       "hr_tape_gradient: expected functions to be called by hr_call_function or hr_traced_call, got "
                       "node '%s'",
                       n->node.name);
    if (entry->backward.fn)
        entry->backward.fn(entry->backward.user, node, incoming, out);
    else
        hr__node_gradient(node, incoming, out, &r->arena);
    if (r->g->error.code != HR_OK) return hr__eager_take_error(r->g, r->err);
    for (int i = 0; i < n->node.inputs; i++)
        if (hr__carries_gradient(hr_node_dtype(n->node.input[i]))) HR_TRY(arrive(r, n->node.input[i], out[i]));
    return HR_OK;
}

static hr_status tape_visit(reverse *r, int i)
{
    const hr__tape_entry entry = r->t->entries[i];
    const hr__eager_node *n = entry_node(r, i);
    bool any = false, goes_on = false;
    if (!n->between || !n->arrived) return HR_OK;
    for (int j = 0; j < n->node.inputs; j++) goes_on |= hr__eager_node_of(n->node.input[j])->between != 0;
    hr_gradient *incoming = hr__arena_get(&r->arena, sizeof *incoming * (size_t)(n->node.outputs + 1));
    if (!incoming) return hr_no_memory(r->err, "a gradient");
    for (int j = 0; j < n->node.outputs; j++) {
        incoming[j] = arrived_at(r, (hr_node){r->g, n->id, j});
        any |= incoming[j].values.graph != NULL;
    }
    return any && goes_on ? flow_back(r, &entry, n, incoming) : HR_OK;
}

/* ---- which entries ---- */

/* An x that is not watched is reached by itself alone, as in TensorFlow. */
enum { ASKED = 1, REACHED };

static void mark_reached(reverse *r)
{
    const uint32_t bit = UINT32_C(1) << r->t->number;
    for (int i = 0; i < r->x_count; i++) {
        hr__eager_node *x = hr__eager_node_of(r->xs[i]);
        x->reached = x->watched & bit ? REACHED : ASKED;
    }
    for (int i = 0; i < r->entries; i++) {
        hr__eager_node *n = entry_node(r, i);
        for (int j = 0; j < n->node.inputs && n->reached != REACHED; j++)
            if (hr__eager_node_of(n->node.input[j])->reached == REACHED &&
                hr__carries_gradient(hr_node_dtype(n->node.input[j])))
                n->reached = REACHED;
    }
}

static void mark_between(reverse *r, const hr_node *ys, int y_count)
{
    for (int i = 0; i < y_count; i++) hr__eager_node_of(ys[i])->between = hr__eager_node_of(ys[i])->reached != 0;
    for (int i = r->entries - 1; i >= 0; i--) {
        const hr__eager_node *n = entry_node(r, i);
        for (int j = 0; n->between && j < n->node.inputs; j++) {
            hr__eager_node *in = hr__eager_node_of(n->node.input[j]);
            in->between |= in->reached == REACHED;
        }
    }
}

static void unmark(hr__eager_node *n)
{
    n->reached = n->between = 0;
    n->arrived = NULL;
}

static void unmark_all(reverse *r, const hr_node *ys, int y_count)
{
    for (int i = 0; i < r->entries; i++) {
        hr__eager_node *n = entry_node(r, i);
        for (int j = 0; j < n->node.inputs; j++) unmark(hr__eager_node_of(n->node.input[j]));
        unmark(n);
    }
    for (int i = 0; i < r->x_count; i++) unmark(hr__eager_node_of(r->xs[i]));
    for (int i = 0; i < y_count; i++) unmark(hr__eager_node_of(ys[i]));
}

/* ---- where it begins and what it gives ---- */

static hr_status seed(reverse *r, hr_node y, hr_node given)
{
    hr_shape both;
    hr__shape_name expected, got;
    if (!hr__carries_gradient(hr_node_dtype(y)) || !hr__eager_node_of(y)->between) return HR_OK;
    if (!given.graph) return arrive(r, y, hr_dense_gradient(hr_new_node(r->g, "OnesLike", HR_INPUTS(y))));
    given = hr_node_value(given);
    if (given.graph == r->g && hr_node_dtype(given) == hr_node_dtype(y) &&
        hr_shape_merge(hr_node_shape(y), hr_node_shape(given), &both))
        return arrive(r, y, hr_dense_gradient(given));
    return hr_fail(r->err, HR_INVALID_ARGUMENT, "tape.gradient",
                   "hr_tape_gradient: expected grad_ys like its y, %s %s, got %s %s", hr_dtype_name(hr_node_dtype(y)),
                   hr__shape_in(&expected, hr_node_shape(y)), hr_dtype_name(hr_node_dtype(given)),
                   hr__shape_in(&got, hr_node_shape(given)));
}

static hr_status collect(reverse *r, hr_gradient *out, bool zeros)
{
    for (int i = 0; i < r->x_count; i++) {
        out[i] = arrived_at(r, r->xs[i]);
        if (zeros && !out[i].values.graph) out[i] = hr_dense_gradient(hr_gradient_zeros(r->xs[i]));
        if (r->g->error.code != HR_OK) return hr__eager_take_error(r->g, r->err);
    }
    return HR_OK;
}

static hr_status go_back(reverse *r, const hr_node *ys, int y_count, hr_gradient *out,
                         const hr_tape_gradient_opts *opts)
{
    mark_reached(r);
    mark_between(r, ys, y_count);
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < y_count; i++)
        st = seed(r, ys[i], opts->grad_ys ? opts->grad_ys[i] : (hr_node){0});
    if (st == HR_OK && r->g->error.code != HR_OK) st = hr__eager_take_error(r->g, r->err);
    for (int i = r->entries - 1; st == HR_OK && i >= 0; i--) st = tape_visit(r, i);
    if (st == HR_OK) st = collect(r, out, opts->zeros);
    unmark_all(r, ys, y_count);
    return st;
}

/* ---- for users ---- */

static hr_status tape_check(const hr_tape *t, const hr_node *nodes, int count, hr_error *err)
{
    for (int i = 0; i < count; i++)
        if (nodes[i].graph != t->graph || hr_node_dtype(nodes[i]) == HR_INVALID_DTYPE)
            return hr_fail(err, HR_INVALID_ARGUMENT, "tape.gradient",
                           "hr_tape_gradient: expected nodes of the tape's graph with values, got %s as number %d",
                           !nodes[i].graph              ? "none"
                           : nodes[i].graph != t->graph ? "one of another graph"
                           : nodes[i].id < 0            ? "one that failed"
                                                        : "one that is gone, or has none",
                           i);
    return HR_OK;
}

/* In a function that is being made. */
static hr_status gradient_of_nodes(const hr_tape *t, const hr_node *ys, int y_count, const hr_node *xs, int x_count,
                                   hr_gradient *out, const hr_tape_gradient_opts *opts, hr_error *err)
{
    hr_graph *g = t->graph;
    hr_gradients(ys, y_count, xs, x_count, out, .grad_ys = opts->grad_ys, .zero_unconnected = opts->zeros);
    if (g->error.code != HR_OK && err) *err = g->error;
    return g->error.code;
}

/* What is kept: every node of `out`. */
static void end_nodes(hr__eager *e, const hr_gradient *out, int count)
{
    hr_node few[24], *keep = count <= 8 ? few : hr_malloc(sizeof *keep * 3 * (size_t)count);
    if (!keep) { /* all are kept */
        e->begun_count--;
        return;
    }
    for (int i = 0; i < count; i++) {
        keep[3 * i] = out[i].values;
        keep[3 * i + 1] = out[i].indices;
        keep[3 * i + 2] = out[i].dense_shape;
    }
    hr__eager_nodes_end(e, keep, 3 * count);
    if (keep != few) hr_free(keep);
}

static hr_status gradient_of_tape(hr_tape *t, const hr_node *ys, int y_count, const hr_node *xs, int x_count,
                                  hr_gradient *out, const hr_tape_gradient_opts *opts, hr_error *err)
{
    hr__eager *e = t->e;
    reverse r = {.t = t, .e = e, .g = t->graph, .entries = t->count, .xs = xs, .x_count = x_count, .err = err};
    if (r.g->error.code != HR_OK) {
        if (err) *err = r.g->error;
        return r.g->error.code;
    }
    if (t->used)
        return hr_fail(err, HR_FAILED_PRECONDITION, "tape.used",
                       "hr_tape_gradient: expected a tape that is asked once, or one with .persistent");
    HR_TRY(tape_check(t, ys, y_count, err));
    HR_TRY(tape_check(t, xs, x_count, err));
    if (!t->persistent) {
        hr_tape_stop(t);
        t->used = true;
    }
    HR_TRY(hr__eager_nodes_begin(e, err));
    const hr_status st = go_back(&r, ys, y_count, out, opts);
    for (int i = 0; st != HR_OK && i < x_count; i++) out[i] = (hr_gradient){0};
    end_nodes(e, out, x_count);
    hr__arena_free(&r.arena);
    return st;
}

hr_status hr_tape_gradient_with(hr_tape *t, const hr_node *ys, int y_count, const hr_node *xs, int x_count,
                                hr_gradient *out, const hr_tape_gradient_opts *given, hr_error *err)
{
    const hr_tape_gradient_opts opts = HR_OPTIONS(hr_tape_gradient_opts, given);
    for (int i = 0; out && i < x_count; i++) out[i] = (hr_gradient){0};
    if (!t || y_count < 0 || x_count < 0 || (!ys && y_count > 0) || ((!xs || !out) && x_count > 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "tape.gradient", "hr_tape_gradient: expected %s, got NULL",
                       t ? "nodes, and an array for the gradients" : "a tape");
    hr_node *values = hr_malloc(sizeof *values * (size_t)(y_count + 1));
    if (!values) return hr_no_memory(err, "a gradient");
    for (int i = 0; i < y_count; i++) values[i] = hr_node_exists(ys[i]) ? hr_node_value(ys[i]) : ys[i];
    const hr_status st = t->e ? gradient_of_tape(t, values, y_count, xs, x_count, out, &opts, err)
                              : gradient_of_nodes(t, values, y_count, xs, x_count, out, &opts, err);
    hr_free(values);
    return st;
}

/* ---- jacobians ---- */

/* One row of it: the derivative of value `i` of y. */
static hr_status jacobian_row(hr_tape *t, hr_node y, hr_node x, int64_t i, hr_node *row, hr_error *err)
{
    const hr_shape shape = hr_node_shape(y);
    hr_tensor one;
    hr_gradient by_x;
    HR_TRY(hr_tensor_new(&one, hr_node_dtype(y), shape, err));
    const size_t size = hr_dtype_size(one.dtype);
    memset(one.data, 0, (size_t)one.count * size);
    const hr_node unit = hr_const_number(t->graph, one.dtype, 1, NULL);
    const hr_tensor *value = hr_eager_tensor(unit);
    if (value) memcpy((char *)one.data + (size_t)i * size, value->data, size);
    const hr_node seed = hr_eager_take(t->graph, &one);
    HR_TRY(hr_tape_gradient(t, &y, 1, &x, 1, &by_x, err, .grad_ys = &seed, .zeros = true));
    *row = hr_gradient_dense(by_x);
    return hr__eager_take_error(t->graph, err);
}

static hr_status jacobian_of(hr_tape *t, hr_node y, hr_node x, hr_node *rows, hr_node *out, hr_error *err)
{
    const hr_shape a = hr_node_shape(y);
    int64_t dims[2 * HR_MAX_RANK];
    const int64_t count = hr_shape_count(a);
    for (int64_t i = 0; i < count; i++) HR_TRY(jacobian_row(t, y, x, i, &rows[i], err));
    const hr_shape b = hr_node_shape(rows[0]);
    memcpy(dims, a.dims, sizeof *dims * (size_t)a.rank);
    memcpy(dims + a.rank, b.dims, sizeof *dims * (size_t)b.rank);
    const hr_node stacked = hr_new_node(t->graph, "Pack", .inputs = rows, .input_count = (int)count);
    *out = hr_new_node(t->graph, "Reshape", HR_INPUTS(stacked, hr_const_ints(t->graph, dims, a.rank + b.rank, NULL)));
    return hr__eager_take_error(t->graph, err);
}

hr_status hr_tape_jacobian(hr_tape *t, hr_node y, hr_node x, hr_node *out, hr_error *err)
{
    if (!t || !t->e || !t->persistent)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tape.gradient",
                       "hr_tape_jacobian: expected a tape with .persistent%s",
                       t && !t->e ? ", outside of functions" : "");
    if (!out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "eager.argument",
                       "hr_tape_jacobian: expected a place for the node, got NULL");
    *out = hr_failed_node(t->graph);
    if (t->graph->error.code != HR_OK) {
        if (err) *err = t->graph->error;
        return t->graph->error.code;
    }
    y = hr_node_value(y);
    HR_TRY(tape_check(t, &y, 1, err));
    HR_TRY(tape_check(t, &x, 1, err));
    const int64_t count = hr_shape_count(hr_node_shape(y));
    if (count < 1 || count > INT16_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tape.gradient",
                       "hr_tape_jacobian: expected a y of 1 to %d values, got %lld", INT16_MAX, (long long)count);
    hr_node *rows = hr_malloc(sizeof *rows * (size_t)count);
    if (!rows) return hr_no_memory(err, "a jacobian");
    HR_TRY(hr__eager_nodes_begin(t->e, err));
    const hr_status st = jacobian_of(t, y, x, rows, out, err);
    hr__eager_nodes_end(t->e, out, st == HR_OK);
    hr_free(rows);
    return st;
}
