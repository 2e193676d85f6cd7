/* An eager graph: a graph whose nodes are computed as they are made, in a session of its own. */
#include "train/eager/eager_internal.h"

#include <string.h>

/* ---- what the graph calls ---- */

/* What an input's failure was has stuck to the graph already. */
static hr_node eager_make(hr_graph *g, const char *op, const hr_node_opts *opts)
{
    hr_node out;
    hr_error err;
    for (int i = 0; i < opts->input_count; i++)
        if (opts->inputs[i].graph == g && opts->inputs[i].id < 0) return hr_failed_node(g);
    if (hr__eager_call(g->eager, op, opts, &out, &err) == HR_OK) return out;
    if (g->error.code == HR_OK) g->error = err;
    return hr_failed_node(g);
}

static void eager_call(hr_graph *g, const hr_function *f, const hr_node *inputs, int count, hr_node *out)
{
    hr_error err;
    hr__concrete *c;
    hr_status st = hr__concrete_of(g->eager, f, &c, &err);
    if (st == HR_OK) st = hr__concrete_call(c, inputs, count, out, &err);
    if (st != HR_OK) hr_node_fail(g, st, err.kind, "function '%s': %s", hr_function_name(f), err.text);
}

static void eager_keep(hr_node handle, int variable)
{
    hr__eager_node *n = hr__eager_node_of(handle);
    n->holds++;
    n->variable = variable + 1;
}

static const hr_tensor *eager_value(hr_node output)
{
    const hr__eager_node *n = output.graph && output.graph->at_once ? hr__eager_node_of(output) : NULL;
    return n && output.output >= 0 && output.output < n->node.outputs ? &n->out[output.output] : NULL;
}

/* As in TensorFlow, random ops with seeds of their own begin anew. Out of memory: they go on. */
static void eager_reseed(hr_graph *g)
{
    hr__eager *e = g->eager;
    hr__eager_ops *fresh = NULL;
    hr__op_seeds_begin(&e->seeds, g->seed);
    if (hr__eager_ops_new(e, &fresh, NULL) != HR_OK) return;
    hr__eager_ops_drop(e->ops);
    e->ops = fresh;
}

static int64_t eager_op_seed(hr_graph *g) { return hr__op_seeds_next(&((hr__eager *)g->eager)->seeds); }

static void eager_free(hr_graph *g)
{
    hr__eager *e = g->eager;
    if (!e) return;
    for (int i = 0; i < HR__MAX_TAPES; i++) hr_tape_free(e->tapes[i]);
    hr__concretes_free(e);
    hr__eager_nodes_free(e);
    hr__eager_ops_drop(e->ops);
    hr_session_free(e->session);
    hr_free(e->key);
    hr_free(e->slot);
    hr_free(e->input);
    hr_free(e);
    g->eager = NULL;
    g->node_count = 0;
}

static const hr__at_once at_once = {eager_make,   eager_call,    eager_keep, eager_value,
                                    eager_reseed, eager_op_seed, eager_free};

/* ---- its life ---- */

static hr_status eager_fill(hr__eager *e, const hr_eager_opts *opts)
{
    e->session = hr_session_new(e->graph, .share = opts->share, .workers = opts->workers, .passes = opts->passes);
    if (!e->session || hr__eager_ops_new(e, &e->ops, NULL) != HR_OK) return HR_RESOURCE_EXHAUSTED;
    e->run = (hr__run){.session = e->session};
    e->frame.run = &e->run;
    e->frame.uses = e->uses;
    atomic_init(&e->uses[0], 2);
    return HR_OK;
}

hr_graph *hr_eager_new_with(const hr_eager_opts *given)
{
    const hr_eager_opts opts = HR_OPTIONS(hr_eager_opts, given);
    hr_graph *g = hr_graph_new();
    hr__eager *e = g ? hr_calloc(1, sizeof *e) : NULL;
    if (g) {
        g->at_once = &at_once;
        g->eager = e;
    }
    if (e) e->graph = g;
    if (e && eager_fill(e, &opts) == HR_OK) return g;
    hr_graph_free(g);
    return NULL;
}

bool hr_graph_is_eager(const hr_graph *g) { return hr__eager_of(g) != NULL; }

hr_session *hr_eager_session(hr_graph *g)
{
    hr__eager *e = hr__eager_of(g);
    return e ? e->session : NULL;
}

/* ---- values ---- */

/* Whether nodes are computed now: not while a function is made. */
static hr__eager *computing(hr_graph *g)
{
    g = hr__innermost(g);
    return g && g->at_once ? g->eager : NULL;
}

void hr_eager_begin(hr_graph *g)
{
    hr__eager *e = computing(g);
    if (e && hr__eager_nodes_begin(e, NULL) != HR_OK) hr__graph_no_memory(g, "nodes");
}

void hr_eager_end(hr_graph *g, const hr_node *keep, int count)
{
    hr__eager *e = computing(g);
    if (e) hr__eager_nodes_end(e, keep, keep ? count : 0);
}

hr_node hr_eager_take(hr_graph *g, hr_tensor *value)
{
    hr__eager *e = computing(g);
    hr_node out;
    hr_error err = {0};
    int64_t count;
    const bool own = e && value && value->buffer;
    if (!own) {
        out = value ? hr_new_node(g, "Const",
                                  HR_ATTRS(HR_TENSOR_ATTR("value", value), HR_TYPE_ATTR("dtype", value->dtype)))
                    : hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.attr", "hr_eager_take: expected a tensor, got NULL");
        if (value) hr_tensor_clear(value);
        return out;
    }
    hr_status st = hr__check_tensor(value, "graph.attr", &count, &err);
    if (st == HR_OK && value->count != count)
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "graph.attr",
                     "expected .count of %lld values, as the shape says, got %lld", (long long)count,
                     (long long)value->count);
    if (st == HR_OK)
        st = hr__eager_constant(e, value, &out, &err);
    else
        hr_tensor_clear(value);
    return st == HR_OK ? out : hr_node_fail(g, st, err.kind, "hr_eager_take: %s", err.text);
}

const hr_tensor *hr_eager_tensor(hr_node node)
{
    const hr_tensor *value = eager_value(node);
    return value && value->dtype != HR_RESOURCE ? value : NULL;
}

hr_status hr_eager_get(hr_node node, hr_tensor *out, hr_error *err)
{
    if (!out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "eager.argument",
                       "hr_eager_get: expected a place for the value, got NULL");
    *out = (hr_tensor){0};
    const hr_tensor *value = eager_value(node);
    if (!value) {
        const hr_error *stuck = node.graph ? hr_graph_error(node.graph) : NULL;
        if (!stuck)
            return hr_fail(err, HR_INVALID_ARGUMENT, "eager.value",
                           "hr_eager_get: expected a node of an eager graph that has a value, got '%s'",
                           hr_node_exists(node) ? hr_node_name(node) : "none");
        if (err) *err = *stuck;
        return stuck->code;
    }
    HR_TRY(hr__slot_value(value, out, err));
    if (value->dtype == HR_RESOURCE) return HR_OK;
    out->buffer = value->buffer;
    hr_buffer_ref(out->buffer);
    return HR_OK;
}

/* ---- errors ---- */

hr_status hr_eager_op_with(hr_graph *g, const char *op, const hr_node_opts *given, hr_node *out, hr_error *err)
{
    const hr_node_opts opts = HR_OPTIONS(hr_node_opts, given);
    hr__eager *e = computing(g);
    if (!out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "eager.argument",
                       "hr_eager_op: expected a place for the node, got NULL");
    *out = hr_failed_node(g);
    if (e && op) {
        HR_TRY(hr__check_node_opts(op, &opts, err));
        return hr__eager_call(e, op, &opts, out, err);
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "eager.graph",
                   "hr_eager_op: expected the name of an op and an eager graph%s",
                   hr__eager_of(g) ? ", while no function is made" : "");
}

void hr_eager_forget_error(hr_graph *g)
{
    if (hr__eager_of(g)) g->error.code = HR_OK;
}
