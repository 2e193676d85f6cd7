/* Traced functions: a function in C, and what it was traced to for each signature that it was called with. */
#include "train/eager/eager_internal.h"

#include <stdio.h>
#include <string.h>

typedef struct trace {
    hr_input_spec *inputs;
    hr__concrete *concrete;
} trace;

struct hr_traced {
    hr__eager *e;
    hr_traced_fn *fn;
    void *user;
    int inputs, results;
    char *name;
    hr_input_spec *signature; /* NULL: any */
    bool reduce_retracing, tracing;
    bool freed; /* while it is called: freed when that ends */
    int calls;  /* under way */
    trace *traces;
    int count, capacity;
};

/* ---- its life ---- */

hr_traced *hr_trace_with(hr_graph *g, hr_traced_fn *fn, int inputs, int results, void *user,
                         const hr_traced_opts *given)
{
    const hr_traced_opts opts = HR_OPTIONS(hr_traced_opts, given);
    hr__eager *e = hr__eager_of(g);
    if (!e || !fn || inputs < 0 || results < 0) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "eager.graph", "hr_trace: expected an eager graph and a function, got %s",
                     e ? "none, or a negative number of inputs or results" : "a graph that is not eager");
        return NULL;
    }
    hr_traced *t = hr_calloc(1, sizeof *t);
    if (!t) return NULL;
    *t = (hr_traced){.e = e, .fn = fn, .user = user, .inputs = inputs, .results = results};
    t->reduce_retracing = opts.reduce_retracing;
    t->name = hr_strdup(opts.name ? opts.name : "traced");
    if (opts.input_signature) t->signature = hr_memdup(opts.input_signature, sizeof *t->signature * (size_t)inputs);
    if (t->name && (t->signature || !opts.input_signature)) return t;
    hr_traced_free(t);
    return NULL;
}

void hr_traced_free(hr_traced *t)
{
    if (!t) return;
    if (t->calls > 0) {
        t->freed = true;
        return;
    }
    for (int i = 0; i < t->count; i++) hr_free(t->traces[i].inputs);
    hr_free(t->traces);
    hr_free(t->signature);
    hr_free(t->name);
    hr_free(t);
}

int hr_traced_count(const hr_traced *t) { return t ? t->count : 0; }

const hr_function *hr_traced_function(const hr_traced *t, int i)
{
    return t && i >= 0 && i < t->count ? hr__concrete_function(t->traces[i].concrete) : NULL;
}

/* ---- signatures ---- */

/* Whether every tensor of `shape` is one of `may`. */
static bool shape_within(hr_shape shape, hr_shape may)
{
    if (may.rank < 0) return true;
    if (may.rank != shape.rank) return false;
    for (int i = 0; i < may.rank; i++)
        if (may.dims[i] >= 0 && may.dims[i] != shape.dims[i]) return false;
    return true;
}

static bool takes(const hr_input_spec *specs, const hr_input_spec *inputs, int count, bool exactly)
{
    for (int i = 0; i < count; i++) {
        if (inputs[i].dtype != specs[i].dtype) return false;
        if (exactly ? !hr_shape_equal(inputs[i].shape, specs[i].shape) : !shape_within(inputs[i].shape, specs[i].shape))
            return false;
    }
    return true;
}

/* The one of exactly these shapes comes before those that take more. */
static const trace *find_trace(const hr_traced *t, const hr_input_spec *inputs)
{
    for (int i = t->count - 1; i >= 0; i--)
        if (takes(t->traces[i].inputs, inputs, t->inputs, true)) return &t->traces[i];
    for (int i = t->count - 1; i >= 0; i--)
        if (takes(t->traces[i].inputs, inputs, t->inputs, false)) return &t->traces[i];
    return NULL;
}

static hr_shape common_shape(hr_shape a, hr_shape b)
{
    if (a.rank != b.rank) return HR_UNKNOWN_SHAPE;
    for (int i = 0; i < a.rank; i++)
        if (a.dims[i] != b.dims[i]) a.dims[i] = -1;
    return a;
}

/* With what the newest trace of the same types takes: -1 where shapes differ. */
static void widen_spec(const hr_traced *t, hr_input_spec *inputs)
{
    for (int i = t->count - 1; i >= 0; i--) {
        bool same = true;
        for (int j = 0; j < t->inputs; j++) same &= t->traces[i].inputs[j].dtype == inputs[j].dtype;
        for (int j = 0; same && j < t->inputs; j++)
            inputs[j].shape = common_shape(inputs[j].shape, t->traces[i].inputs[j].shape);
        if (same) return;
    }
}

static hr_status check_signature(const hr_traced *t, const hr_input_spec *inputs, hr_error *err)
{
    hr__shape_name may, got;
    for (int i = 0; i < t->inputs; i++)
        if (!takes(&t->signature[i], &inputs[i], 1, false))
            return hr_fail(err, HR_INVALID_ARGUMENT, "traced.signature",
                           "function '%s': expected as input %d %s %s, by its input_signature, got %s %s", t->name, i,
                           hr_dtype_name(t->signature[i].dtype), hr__shape_in(&may, t->signature[i].shape),
                           hr_dtype_name(inputs[i].dtype), hr__shape_in(&got, inputs[i].shape));
    return HR_OK;
}

/* ---- tracing ---- */

static const hr_function *make_body(hr_traced *t, const hr_input_spec *inputs, hr_node *nodes)
{
    char name[32];
    hr_graph *body = hr_function_begin(t->e->graph, t->name);
    if (!body) return NULL;
    hr_node *results = nodes + t->inputs;
    for (int i = 0; i < t->inputs; i++) {
        snprintf(name, sizeof name, "args_%d", i);
        nodes[i] = hr_function_input(body, inputs[i].dtype, inputs[i].shape, name);
    }
    for (int i = 0; i < t->results; i++) results[i] = (hr_node){0};
    t->tracing = true;
    t->fn(body, nodes, results, t->user);
    t->tracing = false;
    return hr_function_end(body, results, t->results);
}

/* Outside of any function that is being made: what is traced belongs to the eager graph. */
static hr_status trace_body(hr_traced *t, const hr_input_spec *inputs, const hr_function **f, hr_error *err)
{
    hr_graph *g = t->e->graph, *building = g->building;
    hr_node *nodes = hr_malloc(sizeof *nodes * (size_t)(t->inputs + t->results + 1));
    if (!nodes) return hr_no_memory(err, "a trace");
    g->building = NULL;
    *f = make_body(t, inputs, nodes);
    g->building = building;
    hr_free(nodes);
    const hr_status st = hr__eager_take_error(g, err);
    return st == HR_OK && !*f ? hr_no_memory(err, "a trace") : st;
}

static hr_status add_trace(hr_traced *t, hr_input_spec *inputs, const trace **out, hr_error *err)
{
    const hr_function *f;
    trace made = {0};
    if (t->tracing)
        return hr_fail(err, HR_INVALID_ARGUMENT, "traced.recursion",
                       "function '%s': expected not to be called while it is traced; call it in a branch of its own",
                       t->name);
    if (t->signature)
        memcpy(inputs, t->signature, sizeof *inputs * (size_t)t->inputs);
    else if (t->reduce_retracing)
        widen_spec(t, inputs);
    HR_TRY(hr__grow(&t->traces, t->count, &t->capacity, sizeof *t->traces, err));
    HR_TRY(trace_body(t, inputs, &f, err));
    HR_TRY(hr__concrete_new(t->e, f, &made.concrete, err));
    HR_TRY(hr__concrete_captures(made.concrete, err));
    made.inputs = hr_memdup(inputs, sizeof *inputs * (size_t)t->inputs);
    if (!made.inputs) return hr_no_memory(err, "a trace");
    t->traces[t->count] = made;
    *out = &t->traces[t->count++];
    return HR_OK;
}

/* ---- calling ---- */

static hr_status describe_inputs(const hr_traced *t, const hr_node *inputs, hr_input_spec *specs, hr_error *err)
{
    for (int i = 0; i < t->inputs; i++) {
        specs[i] = (hr_input_spec){hr_node_dtype(inputs[i]), hr_node_shape(inputs[i])};
        if (specs[i].dtype == HR_INVALID_DTYPE)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.input",
                           "function '%s': expected as input %d a node with a value, got %s", t->name, i,
                           inputs[i].graph ? "one that failed, or is gone" : "none");
    }
    return HR_OK;
}

static hr_status traced_find(hr_traced *t, const hr_node *inputs, const trace **out, hr_error *err)
{
    hr_input_spec few[8], *specs = t->inputs <= 8 ? few : hr_malloc(sizeof *specs * (size_t)t->inputs);
    if (!specs) return hr_no_memory(err, "a call");
    hr_status st = describe_inputs(t, inputs, specs, err);
    if (st == HR_OK && t->signature) st = check_signature(t, specs, err);
    *out = st == HR_OK ? find_trace(t, specs) : NULL;
    if (st == HR_OK && !*out) st = add_trace(t, specs, out, err);
    if (specs != few) hr_free(specs);
    return st;
}

static hr_status call_now(hr_traced *t, const hr_node *inputs, hr_node *results, hr_error *err)
{
    const trace *found;
    hr_error failed;
    HR_TRY(traced_find(t, inputs, &found, err));
    const hr_status st = hr__concrete_call(found->concrete, inputs, t->inputs, results, &failed);
    if (st == HR_OK) return HR_OK;
    hr_error_prefix(&failed, "function '%s': ", t->name);
    if (err) *err = failed;
    return st;
}

/* In a function that is being made, a call is a node. */
static hr_status call_later(hr_traced *t, hr_graph *g, const hr_node *inputs, hr_node *results, hr_error *err)
{
    const trace *found;
    HR_TRY(traced_find(t, inputs, &found, err));
    hr_call_function(hr__concrete_function(found->concrete), inputs, t->inputs, results);
    if (g->error.code != HR_OK && err) *err = g->error;
    return g->error.code;
}

/* Values of the eager graph that are still there. */
static hr_status check_inputs(const hr_traced *t, const hr_node *inputs, hr_error *err)
{
    for (int i = 0; i < t->inputs; i++)
        if (inputs[i].graph != t->e->graph || !hr_node_exists(inputs[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.input",
                           "%s: expected as input %d a node of the eager graph, got %s", t->name, i,
                           !inputs[i].graph                 ? "none"
                           : inputs[i].graph == t->e->graph ? "one that failed"
                                                            : "one of another graph");
    return HR_OK;
}

static hr_status call_traced(hr_traced *t, const hr_node *inputs, hr_node *results, hr_error *err)
{
    hr_graph *g = t->e->graph, *innermost = hr__innermost(g);
    for (int i = 0; i < t->results; i++) results[i] = hr_failed_node(innermost);
    if (innermost != g) return call_later(t, innermost, inputs, results, err);
    if (g->error.code == HR_OK) {
        HR_TRY(check_inputs(t, inputs, err));
        return call_now(t, inputs, results, err);
    }
    if (err) *err = g->error;
    return g->error.code;
}

hr_status hr_traced_call(hr_traced *t, const hr_node *inputs, hr_node *results, hr_error *err)
{
    if (!t || (!inputs && t->inputs) || (!results && t->results))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.input", "hr_traced_call: expected %s, got NULL",
                       t ? "nodes, and an array for the results" : "a traced function");
    t->calls++;
    const hr_status st = call_traced(t, inputs, results, err);
    if (--t->calls == 0 && t->freed) hr_traced_free(t);
    return st;
}
