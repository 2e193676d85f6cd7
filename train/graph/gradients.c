/* Derivatives in reverse mode, as tf.gradients: from the ys back through all that depends on an x, node by node from
 * the newest to the oldest, so that a node's incoming gradients are complete when its turn comes. Row slices stay
 * slices: several are put one after the other; only beside a dense gradient, or flowing into another op, do they
 * become dense. */
#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

typedef struct arrival {
    struct arrival *next;
    hr_gradient gradient;
} arrival;

/* In the order in which they came. */
typedef struct arrivals {
    arrival *first, *last;
} arrivals;

typedef struct flow {
    hr_graph *g;
    int32_t count; /* nodes that were there before */
    uint8_t *reached, *between, *stops;
    arrivals **arrived; /* by node and output */
    hr__arena arena;
    bool within; /* a function is made in the graph: gradients are of its body */
    bool in_pairs, gates;
} flow;

static bool is_complex(hr_dtype dtype) { return dtype == HR_COMPLEX64 || dtype == HR_COMPLEX128; }

bool hr__carries_gradient(hr_dtype dtype)
{
    return dtype == HR_FLOAT || dtype == HR_DOUBLE || dtype == HR_HALF || dtype == HR_BFLOAT16 ||
           dtype == HR_RESOURCE || dtype == HR_VARIANT || is_complex(dtype);
}

/* ---- slices ---- */

static hr_node first_dimension(hr_node dense_shape)
{
    hr_graph *g = dense_shape.graph;
    const hr_tensor *value = hr_node_constant(dense_shape);
    hr_shape shape;
    if (value && hr_shape_from_tensor(value, &shape) && shape.rank > 0) {
        const hr_tensor first = hr_tensor_of(HR_INT64, HR_SCALAR, &shape.dims[0]);
        return hr_new_node(g, "Const", .name = "num_segments",
                           HR_ATTRS(HR_TENSOR_ATTR("value", &first), HR_TYPE_ATTR("dtype", HR_INT64)));
    }
    hr_node begin = hr_const_ints(g, HR_I64(0), 1, "begin"), size = hr_const_ints(g, HR_I64(1), 1, "size");
    hr_node first = hr_new_node(g, "Slice", HR_INPUTS(dense_shape, begin, size));
    return hr_new_node(g, "Reshape", HR_INPUTS(first, hr_const_ints(g, NULL, 0, "scalar")));
}

hr_node hr_gradient_dense(hr_gradient gradient)
{
    if (!gradient.indices.graph) return gradient.values;
    return hr_new_node(gradient.values.graph, "UnsortedSegmentSum",
                       HR_INPUTS(gradient.values, gradient.indices, first_dimension(gradient.dense_shape)));
}

hr_node hr__gradient_shape(hr_node like)
{
    const char *op = hr_node_dtype(like) == HR_RESOURCE ? "VariableShape" : "Shape";
    return hr_new_node(like.graph, op, HR_INPUTS(like), HR_ATTRS(HR_TYPE_ATTR("out_type", HR_INT64)));
}

static hr_node cast_indices(hr_node indices, hr_dtype dtype)
{
    if (hr_node_dtype(indices) == dtype) return indices;
    return hr_new_node(indices.graph, "Cast", HR_INPUTS(indices), HR_ATTRS(HR_TYPE_ATTR("DstT", dtype)));
}

/* All is made of the shape of `like`: in a branch it has values only where `like` has one. */
static hr_gradient no_rows(hr_node like, hr_dtype indices)
{
    hr_graph *g = like.graph;
    hr_handle_info info = {.dtype = hr_node_dtype(like)};
    if (info.dtype == HR_RESOURCE) hr__handle_known(like, &info);
    const hr_node shape = hr__gradient_shape(like), zero = hr_const_ints(g, HR_I64(0), 1, NULL);
    const hr_node one = hr_const_ints(g, HR_I64(1), 1, NULL), rest = hr_const_ints(g, HR_I64(-1), 1, NULL);
    const hr_node row = hr_new_node(g, "Slice", HR_INPUTS(shape, one, rest));
    const hr_node none = hr_new_node(g, "Slice", HR_INPUTS(shape, zero, zero));
    const hr_node dims = hr_new_node(
        g, "ConcatV2", HR_INPUTS(cast_indices(zero, HR_INT64), row, hr_const_number(g, HR_INT32, 0, "axis")));
    const hr_node values = hr_new_node(g, "Fill", HR_INPUTS(dims, hr_const_number(g, info.dtype, 0, NULL)));
    return (hr_gradient){values, cast_indices(none, indices), shape};
}

hr_gradient hr_gradient_slices(hr_gradient gradient, hr_node like, hr_dtype indices)
{
    if (!gradient.values.graph) return no_rows(like, indices);
    if (gradient.indices.graph) {
        gradient.indices = cast_indices(gradient.indices, indices);
        return gradient;
    }
    hr_graph *g = gradient.values.graph;
    const hr_node shape = hr__gradient_shape(gradient.values);
    const hr_node zero = cast_indices(hr_const_number(g, HR_INT32, 0, NULL), HR_INT64);
    const hr_node one = cast_indices(hr_const_number(g, HR_INT32, 1, NULL), HR_INT64);
    const hr_node rows = hr_new_node(g, "Range", HR_INPUTS(zero, first_dimension(shape), one));
    return (hr_gradient){gradient.values, cast_indices(rows, indices), shape};
}

/* ---- for gradients of ops ---- */

hr_node hr_gradient_zeros(hr_node like)
{
    hr_handle_info info;
    if (hr_node_dtype(like) != HR_RESOURCE || !hr__handle_known(like, &info))
        return hr_new_node(like.graph, "ZerosLike", HR_INPUTS(like));
    const hr_node shape = hr_new_node(like.graph, "VariableShape", HR_INPUTS(like));
    return hr_new_node(like.graph, "Fill", HR_INPUTS(shape, hr_const_number(like.graph, info.dtype, 0, NULL)));
}

hr_node hr_backward_grad(const hr_backward *b, int i)
{
    return b->grad[i].graph ? b->grad[i] : hr_gradient_zeros(b->output[i]);
}

void hr_backward_give(hr_backward *b, int i, hr_node gradient) { b->out[i] = hr_dense_gradient(gradient); }

/* The axes over which `whole` was broadcast from `part`: both known. */
static int broadcast_axes(hr_shape part, hr_shape whole, int64_t *axes)
{
    int count = 0;
    for (int i = 0; i < whole.rank; i++) {
        const int at = i - (whole.rank - part.rank);
        if (at < 0 || (part.dims[at] == 1 && whole.dims[i] != 1)) axes[count++] = i;
    }
    return count;
}

hr_node hr_gradient_unbroadcast(hr_node gradient, hr_node like, hr_node other)
{
    hr_graph *g = gradient.graph;
    const hr_shape a = hr_node_shape(like), b = hr_node_shape(other);
    hr_shape both;
    int64_t axes[HR_MAX_RANK];
    if (hr_shape_count(a) >= 0 && hr_shape_count(b) >= 0 && hr_shape_broadcast(a, b, &both)) {
        if (hr_shape_equal(a, both)) return gradient;
        const int count = broadcast_axes(a, both, axes);
        hr_node sum = hr_new_node(g, "Sum", HR_INPUTS(gradient, hr_const_ints(g, axes, count, "reduction_indices")));
        return hr_new_node(g, "Reshape", HR_INPUTS(sum, hr_const_ints(g, a.dims, a.rank, "shape")));
    }
    hr_node shape = hr_new_node(g, "Shape", HR_INPUTS(like));
    hr_node args = hr_new_node(g, "BroadcastGradientArgs", HR_INPUTS(shape, hr_new_node(g, "Shape", HR_INPUTS(other))));
    hr_node sum = hr_new_node(g, "Sum", HR_INPUTS(gradient, args));
    return hr_new_node(g, "Reshape", HR_INPUTS(sum, shape));
}

void hr_backward_give_unbroadcast(hr_backward *b, int i, hr_node gradient)
{
    const hr_node other = b->inputs == 2 ? b->input[1 - i] : b->output[0];
    hr_backward_give(b, i, hr_gradient_unbroadcast(gradient, b->input[i], other));
}

hr_node hr_backward_keep_dims(const hr_backward *b, hr_node y)
{
    hr_graph *g = b->graph;
    const hr_node x = b->input[0], axes = b->input[1];
    const hr_tensor *value = hr_node_constant(axes);
    const hr_shape in = hr_node_shape(x);
    bool reduced[HR_MAX_RANK];
    hr_shape kept;
    if (hr_attr_bool(b->node, "keep_dims")) return y;
    if (!value || in.rank < 0 || hr_shape_reduce(in, value, true, &kept, reduced, NULL) != HR_OK) {
        hr_node shape = hr_new_node(g, "Shape", HR_INPUTS(x));
        return hr_new_node(g, "Reshape", HR_INPUTS(y, hr_new_node(g, "Headrace>ReducedShape", HR_INPUTS(shape, axes))));
    }
    if (hr_shape_count(kept) >= 0)
        return hr_new_node(g, "Reshape", HR_INPUTS(y, hr_const_ints(g, kept.dims, kept.rank, "shape")));
    for (int i = 0; i < in.rank; i++)
        if (reduced[i]) y = hr_new_node(g, "ExpandDims", HR_INPUTS(y, hr_const_number(g, HR_INT32, i, "axis")));
    return y;
}

/* ---- sums ---- */

/* One after the other, so that no more than two are there at a time. */
static hr_node sum_in_pairs(const hr_gradient *all, int count)
{
    hr_node sum = hr_gradient_dense(all[0]);
    for (int i = 1; i < count; i++) sum = hr_new_node(sum.graph, "AddN", HR_INPUTS(sum, hr_gradient_dense(all[i])));
    return sum;
}

static hr_node sum_dense(hr_graph *g, const hr_gradient *all, int count)
{
    hr_node *dense = hr_malloc(sizeof *dense * (size_t)count);
    if (!dense) return hr__graph_no_memory(g, "a gradient");
    for (int i = 0; i < count; i++) dense[i] = hr_gradient_dense(all[i]);
    const hr_node sum = hr_new_node(g, "AddN", .inputs = dense, .input_count = count);
    hr_free(dense);
    return sum;
}

static hr_node gradients_join(hr_graph *g, const hr_gradient *all, int count, bool indices)
{
    hr_node *parts = hr_malloc(sizeof *parts * (size_t)(count + 1));
    if (!parts) return hr__graph_no_memory(g, "a gradient");
    for (int i = 0; i < count; i++) parts[i] = indices ? all[i].indices : all[i].values;
    parts[count] = hr_const_number(g, HR_INT32, 0, "axis");
    const hr_node joined = hr_new_node(g, "ConcatV2", .inputs = parts, .input_count = count + 1);
    hr_free(parts);
    return joined;
}

static hr_gradient sum_gradients(hr_graph *g, const hr_gradient *all, int count, bool in_pairs)
{
    int slices = 0;
    for (int i = 0; i < count; i++) slices += all[i].indices.graph != NULL;
    if (count == 0) return (hr_gradient){0};
    if (count == 1) return all[0];
    if (slices < count) return hr_dense_gradient(in_pairs ? sum_in_pairs(all, count) : sum_dense(g, all, count));
    return (hr_gradient){gradients_join(g, all, count, false), gradients_join(g, all, count, true), all[0].dense_shape};
}

hr_gradient hr__gradient_sum(hr_graph *g, const hr_gradient *all, int count)
{
    return sum_gradients(g, all, count, false);
}

static hr_gradient sum(flow *f, const arrival *list)
{
    int count = 0;
    for (const arrival *a = list; a; a = a->next) count++;
    if (count <= 1) return list ? list->gradient : (hr_gradient){0};
    hr_gradient *all = hr__arena_get(&f->arena, sizeof *all * (size_t)count);
    if (!all) return hr_dense_gradient(hr__graph_no_memory(f->g, "a gradient"));
    count = 0;
    for (const arrival *a = list; a; a = a->next) all[count++] = a->gradient;
    return sum_gradients(f->g, all, count, f->in_pairs);
}

/* ---- flowing ---- */

static void arrive(flow *f, hr_node at, hr_gradient gradient)
{
    if (!gradient.values.graph || at.id < 0 || at.id >= f->count || !f->arrived[at.id]) return;
    arrival *a = hr__arena_get(&f->arena, sizeof *a);
    if (!a) {
        hr__graph_no_memory(f->g, "a gradient");
        return;
    }
    a->gradient = gradient;
    arrivals *all = &f->arrived[at.id][at.output];
    if (all->last)
        all->last->next = a;
    else
        all->first = a;
    all->last = a;
}

typedef void gradient_fn(hr_backward *b);

static gradient_fn *gradient_of(const hr__node *n) { return n->override ? n->override->gradient : n->op->gradient; }

static bool has_no_gradient(const hr__node *n)
{
    return n->override ? !n->override->gradient : (n->op->traits & HR_NO_GRADIENT) != 0;
}

/* ---- complex numbers (hr_graph_op_traits) ---- */

/* Whether the gradient function is handed conjugates. A call's is made of those of the nodes in the function. */
static bool is_conjugated(const hr__node *n)
{
    return !n->override && (n->op->traits & (HR_COMPLEX_GRADIENT | HR_CALLS)) == 0;
}

/* An eager node does not keep its inputs. */
static hr_gradient conjugate(hr_gradient gradient)
{
    const hr_node values = gradient.values;
    if (!values.graph || !is_complex(hr_node_dtype(values))) return gradient;
    const bool twice = !values.graph->at_once && strcmp(hr_node_op(values), "Conj") == 0;
    gradient.values = twice ? hr_node_input(values, 0) : hr_new_node(values.graph, "Conj", HR_INPUTS(values));
    return gradient;
}

static bool refuses_complex(const hr__node *n)
{
    bool any = false;
    for (int i = 0; i < n->inputs; i++) any |= is_complex(hr_node_dtype(n->input[i]));
    return any && !n->override && (n->op->traits & HR_REAL_GRADIENT) != 0;
}

typedef struct backward_arrays {
    hr_gradient *slices;
    hr_node *grad, *output;
} backward_arrays;

static bool make_arrays(hr__arena *arena, const hr__node *n, backward_arrays *b)
{
    b->slices = hr__arena_get(arena, sizeof *b->slices * (size_t)(n->outputs + 1));
    b->grad = hr__arena_get(arena, sizeof *b->grad * (size_t)(n->outputs + 1));
    b->output = hr__arena_get(arena, sizeof *b->output * (size_t)(n->outputs + 1));
    return b->slices && b->grad && b->output;
}

void hr__node_gradient(hr_node node, const hr_gradient *incoming, hr_gradient *out, hr__arena *arena)
{
    backward_arrays a;
    hr_graph *g = node.graph;
    const hr__node *n = hr__node_of(node);
    if (!gradient_of(n)) {
        hr_node_fail(g, HR_NOT_FOUND, "graph.gradient", "No gradient defined for operation '%s' (op type: %s)", n->name,
                     n->op->name);
        return;
    }
    if (!make_arrays(arena, n, &a)) {
        hr__graph_no_memory(g, "a gradient");
        return;
    }
    if (refuses_complex(n)) {
        hr_node_fail(g, HR_UNIMPLEMENTED, "graph.gradient",
                     "'%s': expected real numbers, got complex ones, of which %s has no gradient", n->name,
                     n->op->name);
        return;
    }
    const bool conjugated = is_conjugated(n);
    for (int i = 0; i < n->outputs; i++) {
        a.output[i] = (hr_node){g, node.id, i};
        a.slices[i] = conjugated ? conjugate(incoming[i]) : incoming[i];
        if (!(n->op->traits & HR_PASSES_SLICES))
            a.grad[i] = hr_gradient_dense(a.slices[i]);
        else if (!incoming[i].indices.graph)
            a.grad[i] = a.slices[i].values;
    }
    const char *source = hr__root(g)->deriving;
    hr_backward b = {g,        a.output[0], n->inputs, n->outputs, n->input,
                     a.output, a.grad,      a.slices,  out,        source ? source : "gradients"};
    gradient_of(n)(&b);
    for (int i = 0; conjugated && i < n->inputs; i++) out[i] = conjugate(out[i]);
}

static hr_node after_all(hr_node value)
{
    return value.graph ? hr_new_node(value.graph, "Identity", .name = "control_dependency", HR_INPUTS(value)) : value;
}

/* As tf.tuple: each of several gradients waits for all of them. */
static void gate(flow *f, hr_gradient *out, int count)
{
    int given = 0, n = 0;
    hr_node *all = hr__arena_get(&f->arena, sizeof *all * (size_t)(2 * count + 1));
    if (!all) {
        hr__graph_no_memory(f->g, "a gradient");
        return;
    }
    for (int i = 0; i < count; i++) {
        given += out[i].values.graph != NULL;
        if (out[i].values.graph) all[n++] = out[i].values;
        if (out[i].indices.graph) all[n++] = out[i].indices;
    }
    if (given < 2) return;
    hr_name_scope(f->g, "tuple");
    const hr_node done = hr_new_node(f->g, "NoOp", .name = "group_deps", .controls = all, .control_count = n);
    hr_control_dependencies(f->g, &done, 1);
    for (int i = 0; i < count; i++)
        out[i] = (hr_gradient){after_all(out[i].values), after_all(out[i].indices), out[i].dense_shape};
    hr_control_end(f->g);
    hr_scope_end(f->g);
}

static void flow_through(flow *f, int32_t id, const hr__node *n, const hr_gradient *incoming)
{
    hr_gradient *out = hr__arena_get(&f->arena, sizeof *out * (size_t)(n->inputs + 1));
    if (!out) {
        hr__graph_no_memory(f->g, "a gradient");
        return;
    }
    char scope[512];
    snprintf(scope, sizeof scope, "%.500s_grad", n->name);
    hr_name_scope(f->g, scope);
    hr__node_gradient((hr_node){f->g, id, 0}, incoming, out, &f->arena);
    if (f->gates) gate(f, out, n->inputs);
    hr_scope_end(f->g);
    for (int i = 0; i < n->inputs; i++)
        if (hr__carries_gradient(hr_node_dtype(n->input[i])) && f->reached[n->input[i].id])
            arrive(f, n->input[i], out[i]);
}

/* Whether anything below the node's inputs is asked for. */
static bool goes_on(const flow *f, const hr__node *n)
{
    for (int i = 0; i < n->inputs; i++)
        if (f->reached[n->input[i].id] && hr__carries_gradient(hr_node_dtype(n->input[i]))) return true;
    return false;
}

static void visit(flow *f, int32_t id)
{
    const hr__node *n = f->g->nodes[id];
    bool any = false;
    hr_gradient *incoming = hr__arena_get(&f->arena, sizeof *incoming * (size_t)(n->outputs + 1));
    if (!incoming) {
        hr__graph_no_memory(f->g, "a gradient");
        return;
    }
    for (int i = 0; i < n->outputs; i++) {
        arrival *list = f->arrived[id][i].first;
        incoming[i] = sum(f, list);
        any |= incoming[i].values.graph != NULL;
        if (!list || !list->next) continue;
        list->gradient = incoming[i]; /* an x that is asked for finds the sum */
        list->next = NULL;
        f->arrived[id][i].last = list;
    }
    if (n->instead.graph && any && !f->stops[id]) arrive(f, n->instead, incoming[0]);
    if (n->instead.graph) return;
    if (!any || f->stops[id] || !goes_on(f, n) || has_no_gradient(n)) return;
    flow_through(f, id, n, incoming);
}

/* ---- which nodes ---- */

static void gradients_mark(flow *f, const hr_node *ys, int y_count, const hr_node *xs, int x_count)
{
    for (int i = 0; i < x_count; i++) f->reached[xs[i].id] = 1;
    for (int32_t id = 0; id < f->count; id++) {
        const hr__node *n = f->g->nodes[id];
        if (n->instead.graph) f->reached[id] = f->reached[n->instead.id];
        for (int i = 0; i < n->inputs && !f->reached[id] && !n->in_loop; i++)
            f->reached[id] = f->reached[n->input[i].id] && hr__carries_gradient(hr_node_dtype(n->input[i]));
    }
    for (int i = 0; i < y_count; i++) f->between[ys[i].id] = f->reached[ys[i].id];
    for (int32_t id = f->count - 1; id >= 0; id--) {
        if (!f->between[id]) continue;
        const hr__node *n = f->g->nodes[id];
        if (n->instead.graph) f->between[n->instead.id] = 1;
        for (int i = 0; i < n->inputs && !n->instead.graph; i++)
            if (f->reached[n->input[i].id]) f->between[n->input[i].id] = 1;
    }
}

static hr_status gradients_begin(flow *f, hr_graph *g)
{
    f->g = g;
    f->count = g->node_count;
    f->reached = hr__arena_get(&f->arena, (size_t)f->count + 1);
    f->between = hr__arena_get(&f->arena, (size_t)f->count + 1);
    f->stops = hr__arena_get(&f->arena, (size_t)f->count + 1);
    f->arrived = hr__arena_get(&f->arena, sizeof *f->arrived * ((size_t)f->count + 1));
    return f->reached && f->between && f->stops && f->arrived ? HR_OK : HR_RESOURCE_EXHAUSTED;
}

static hr_status make_lists(flow *f)
{
    for (int32_t id = 0; id < f->count; id++) {
        if (!f->between[id]) continue;
        f->arrived[id] = hr__arena_get(&f->arena, sizeof **f->arrived * (size_t)(f->g->nodes[id]->outputs + 1));
        if (!f->arrived[id]) return HR_RESOURCE_EXHAUSTED;
    }
    return HR_OK;
}

static hr_node ones_like(hr_node y)
{
    hr_node value = hr_const_number(y.graph, hr_node_dtype(y), 1, "grad_ys_0/Const");
    return hr_new_node(y.graph, "Fill", .name = "grad_ys_0",
                       HR_INPUTS(hr_new_node(y.graph, "Shape", HR_INPUTS(y)), value));
}

/* Where a derivative begins: ones, or what the caller says, which is of the type and shape of its y. */
static hr_node seed_of(flow *f, hr_node y, hr_node given)
{
    hr_shape both;
    hr__shape_name expected, got;
    if (!given.graph && is_complex(hr_node_dtype(y)))
        return hr_node_fail(f->g, HR_INVALID_ARGUMENT, "graph.gradient",
                            "hr_gradients: expected grad_ys for '%s', since it is %s", hr_node_name(y),
                            hr_dtype_name(hr_node_dtype(y)));
    if (!given.graph) return ones_like(y);
    if (f->within) return given;
    given = hr_node_value(given);
    if (given.graph == f->g && hr_node_dtype(given) == hr_node_dtype(y) &&
        hr_shape_merge(hr_node_shape(y), hr_node_shape(given), &both))
        return given;
    return hr_node_fail(f->g, HR_INVALID_ARGUMENT, "graph.gradient",
                        "hr_gradients: expected grad_ys like '%s', %s %s, got %s %s", hr_node_name(y),
                        hr_dtype_name(hr_node_dtype(y)), hr__shape_in(&expected, hr_node_shape(y)),
                        hr_dtype_name(hr_node_dtype(given)), hr__shape_in(&got, hr_node_shape(given)));
}

static void seed(flow *f, const hr_node *ys, int y_count, const hr_gradients_opts *opts)
{
    for (int i = 0; i < y_count; i++) {
        hr_node given = opts->grad_ys ? opts->grad_ys[i] : (hr_node){0};
        if (!f->between[ys[i].id]) continue;
        if (!hr__carries_gradient(hr_node_dtype(ys[i]))) continue;
        arrive(f, ys[i], hr_dense_gradient(seed_of(f, ys[i], given)));
    }
}

/* An x of a graph around is what stands for it in `g`; none if nothing there takes it. */
static hr_node find_within(hr_graph *g, hr_node x)
{
    if (!g || x.graph == g) return x;
    const hr_node outer = g->outer ? find_within(g->outer, x) : x;
    for (int i = 0; i < g->capture_count; i++) {
        const hr_node known = g->captures[i].outer;
        if (known.graph == outer.graph && known.id == outer.id && known.output == outer.output)
            return g->captures[i].inner;
    }
    return (hr_node){0};
}

static bool is_within(const hr_graph *g, const hr_graph *around)
{
    while (g && g != around) g = g->outer;
    return g != NULL;
}

static bool gradients_sound(hr_graph *g, const hr_node *nodes, int count, bool around)
{
    if (!nodes && count > 0) return false;
    for (int i = 0; i < count; i++) {
        const bool here = nodes[i].graph == g || (around && is_within(g, nodes[i].graph));
        if (!here || hr_node_dtype(nodes[i]) == HR_INVALID_DTYPE) return false;
    }
    return g != NULL;
}

static void gradients_run(flow *f, const hr_node *ys, int y_count, const hr_node *xs, int x_count, hr_gradient *out,
                          const hr_gradients_opts *opts)
{
    gradients_mark(f, ys, y_count, xs, x_count);
    for (int i = 0; i < opts->stop_count; i++)
        if (hr_node_exists(opts->stop_gradients[i])) f->stops[opts->stop_gradients[i].id] = 1;
    if (make_lists(f) != HR_OK) {
        hr__graph_no_memory(f->g, "gradients");
        return;
    }
    seed(f, ys, y_count, opts);
    for (int32_t id = f->count - 1; id >= 0; id--)
        if (f->between[id]) visit(f, id);
    for (int i = 0; i < x_count; i++) {
        const arrival *a = f->arrived[xs[i].id] ? f->arrived[xs[i].id][xs[i].output].first : NULL;
        if (a) out[i] = a->gradient;
    }
}

void hr__gradients_of(hr_graph *body, const hr_node *ys, int y_count, const hr_node *grad_ys, const hr_node *xs,
                      int x_count, hr_gradient *out)
{
    flow f = {.within = true};
    const hr_gradients_opts opts = {.grad_ys = grad_ys};
    if (gradients_begin(&f, body) == HR_OK)
        gradients_run(&f, ys, y_count, xs, x_count, out, &opts);
    else
        hr__graph_no_memory(body, "gradients");
    hr__arena_free(&f.arena);
}

bool hr__gradients_connect(hr_graph *g, const hr_node *ys, int y_count, const hr_node *xs, int x_count, bool *connected)
{
    flow f = {0};
    const bool begun = gradients_begin(&f, g) == HR_OK;
    if (begun) gradients_mark(&f, ys, y_count, xs, x_count);
    for (int i = 0; begun && i < x_count; i++) connected[i] = f.between[xs[i].id];
    hr__arena_free(&f.arena);
    return begun;
}

static void fill_in_zeros(const hr_node *xs, int count, hr_gradient *out)
{
    for (int i = 0; i < count; i++)
        if (!out[i].values.graph) out[i] = hr_dense_gradient(hr_gradient_zeros(xs[i]));
}

/* Of the scope that is open, without its last slash; in a function, with that one's name. */
static const char *source_of(hr__arena *arena, const hr_graph *g)
{
    char text[512];
    const char *function = g->function ? g->function->name : "";
    const int size = g->scope_size > 300 ? 300 : (int)g->scope_size;
    snprintf(text, sizeof text, "%.150s%s%.*s", function, *function ? "/" : "", size > 0 ? size - 1 : 0, g->scope);
    return hr__arena_text(arena, text, strlen(text));
}

static void gradients_here(hr_graph *g, const hr_node *ys, int y_count, const hr_node *xs, int x_count,
                           hr_gradient *out, const hr_gradients_opts *opts)
{
    flow f = {.in_pairs = opts->sum_in_pairs, .gates = opts->gate_gradients};
    hr_node *values = hr__arena_get(&f.arena, sizeof *values * (size_t)(y_count + 1));
    hr_node *inner = hr__arena_get(&f.arena, sizeof *inner * (size_t)(x_count + 1));
    hr_gradient *found = hr__arena_get(&f.arena, sizeof *found * (size_t)(x_count + 1));
    int count = 0;
    hr_graph *root = hr__root(g);
    const char *outer = root->deriving;
    hr_name_scope(g, opts->name ? opts->name : "gradients");
    root->deriving = source_of(&f.arena, g);
    for (int i = 0; values && i < y_count; i++) values[i] = hr_node_value(ys[i]);
    for (int i = 0; inner && i < x_count; i++) {
        const hr_node x = find_within(g, xs[i]);
        if (x.graph) inner[count++] = x;
    }
    if (values && inner && found && gradients_begin(&f, g) == HR_OK)
        gradients_run(&f, values, y_count, inner, count, found, opts);
    else
        hr__graph_no_memory(g, "gradients");
    for (int i = 0, n = 0; inner && found && i < x_count; i++)
        if (find_within(g, xs[i]).graph) out[i] = found[n++];
    if (opts->zero_unconnected) fill_in_zeros(xs, x_count, out);
    root->deriving = outer;
    hr_scope_end(g);
    hr__arena_free(&f.arena);
}

void hr_gradients_with(const hr_node *ys, int y_count, const hr_node *xs, int x_count, hr_gradient *out,
                       const hr_gradients_opts *opts)
{
    const hr_gradients_opts o = HR_OPTIONS(hr_gradients_opts, opts);
    hr_graph *g = ys && y_count > 0 ? ys[0].graph : xs && x_count > 0 ? xs[0].graph : NULL;
    for (int i = 0; out && i < x_count; i++) out[i] = (hr_gradient){0};
    const bool sound = gradients_sound(g, ys, y_count, false) && gradients_sound(g, xs, x_count, true);
    if (sound && !g->at_once && (out || x_count == 0)) {
        gradients_here(g, ys, y_count, xs, x_count, out, &o);
        return;
    }
    hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.gradient", "hr_gradients: expected %s",
                 !out    ? "an array for the gradients, got NULL"
                 : sound ? "a graph that is not eager; record a tape (hr_tape_begin)"
                         : "valid nodes of one graph");
    for (int i = 0; out && i < x_count; i++) out[i] = hr_dense_gradient(hr_failed_node(g));
}
