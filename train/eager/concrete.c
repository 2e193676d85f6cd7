/* Functions that eager nodes call. Where a tape watches what goes into a call, a wider function is called instead,
 * which also gives what the gradient needs; the gradient is a call, too, of a function made from the body. So a
 * derivative runs nothing twice, and can be derived again. */
#include "train/eager/eager_internal.h"

#include <stdio.h>
#include <string.h>

/* What a tape needs of a call: a function that gives more, and one that takes that. */
typedef struct derivative {
    bool made;
    hr__concrete *forward;  /* gives more than f */
    hr__concrete *backward; /* NULL: nothing flows */
    int seeds;              /* outputs of `forward`, the first, that may have a gradient: what `backward` takes first */
    int *taken;             /* outputs of `forward` that it takes then */
    int taken_count;
    int *first_result; /* of `backward`, by input of f: where its gradient begins; -1: none flows to it */
    bool *sliced;      /* these are three results: values, indices, dense shape */
} derivative;

struct hr__concrete {
    hr__concrete *next;
    hr__eager *e;
    const hr_function *f;
    hr_node *captured; /* of the eager graph: inputs after those that are asked for */
    int captures;
    hr__eager_op *call; /* held; NULL: not called yet */
    /* For one derivative alone, gradients by f's outputs; for a derivative that is derived again, by all that is
     * given. */
    derivative first, higher;
};

/* ---- making one ---- */

static hr_status hold_captures(hr__concrete *c, hr_error *err)
{
    const hr_function *f = c->f;
    c->captures = f->inputs - f->asked;
    c->captured = hr_calloc((size_t)c->captures + 1, sizeof *c->captured);
    if (!c->captured) return hr_no_memory(err, "a function");
    for (int i = 0; i < c->captures; i++) {
        c->captured[i] = hr__capture_outer(f->input[f->asked + i]);
        hr__eager_node *n = c->captured[i].graph == c->e->graph ? hr__eager_node_of(c->captured[i]) : NULL;
        if (n) n->holds++;
    }
    return HR_OK;
}

hr_status hr__concrete_new(hr__eager *e, const hr_function *f, hr__concrete **out, hr_error *err)
{
    hr__concrete *c = *out = hr_calloc(1, sizeof *c);
    if (!c) return hr_no_memory(err, "a function");
    *c = (hr__concrete){.next = e->concretes, .e = e, .f = f};
    e->concretes = c;
    return HR_OK;
}

hr_status hr__concrete_captures(hr__concrete *c, hr_error *err)
{
    hr_node *outer;
    int count;
    hr_function *own = c->f->body->function;
    if (c->f->asked == c->f->inputs) HR_TRY(hr__join_captures(&own, 1, &outer, &count, err));
    return hold_captures(c, err);
}

hr_status hr__concrete_of(hr__eager *e, const hr_function *f, hr__concrete **out, hr_error *err)
{
    for (*out = e->concretes; *out; *out = (*out)->next)
        if ((*out)->f == f) return HR_OK;
    HR_TRY(hr__concrete_new(e, f, out, err));
    return hr__concrete_captures(*out, err);
}

const hr_function *hr__concrete_function(const hr__concrete *c) { return c->f; }

static void derivative_free(derivative *d)
{
    hr_free(d->taken);
    hr_free(d->first_result);
    hr_free(d->sliced);
    *d = (derivative){0};
}

void hr__concretes_free(hr__eager *e)
{
    while (e->concretes) {
        hr__concrete *c = e->concretes;
        e->concretes = c->next;
        derivative_free(&c->first);
        derivative_free(&c->higher);
        if (c->call) hr__eager_ops_drop(c->call->ops);
        hr_free(c->captured);
        hr_free(c);
    }
}

/* ---- its derivatives ---- */

typedef struct derivation {
    hr__concrete *c;
    derivative *to;
    hr_function *f;
    hr__arena *arena;
    hr_node *outputs; /* of f, then what else is given */
    int output_count;
    hr_node *ys, *seeds, *xs, *results; /* outputs and inputs that carry gradients */
    int *input_of;                      /* by x */
    hr_gradient *by_x;
    int y_count, x_count, result_count;
} derivation;

static hr_status derivation_begin(derivation *d, hr_error *err)
{
    const size_t xs = (size_t)d->f->inputs + 1;
    d->xs = hr__arena_get(d->arena, sizeof *d->xs * xs);
    d->input_of = hr__arena_get(d->arena, sizeof *d->input_of * xs);
    d->by_x = hr__arena_get(d->arena, sizeof *d->by_x * xs);
    d->results = hr__arena_get(d->arena, sizeof *d->results * 3 * xs);
    d->outputs = hr__arena_copy(d->arena, d->f->output, sizeof *d->outputs * (size_t)d->f->outputs);
    d->output_count = d->f->outputs;
    d->to->first_result = hr_malloc(sizeof(int) * xs);
    d->to->sliced = hr_calloc(xs, sizeof(bool));
    if (!d->xs || !d->input_of || !d->by_x || !d->results || !d->outputs || !d->to->first_result || !d->to->sliced)
        return hr_no_memory(err, "a gradient");
    for (int i = 0; i < d->f->inputs; i++) {
        if (!hr__carries_gradient(hr_node_dtype(d->f->input[i]))) continue;
        d->input_of[d->x_count] = i;
        d->xs[d->x_count++] = d->f->input[i];
    }
    return HR_OK;
}

/* Which outputs have gradients, and may be derived by. A handle's does not come by a node. */
static bool may_have_gradient(hr_node output)
{
    const hr_dtype type = hr_node_dtype(output);
    return type != HR_RESOURCE && hr__carries_gradient(type);
}

static hr_status choose_ys(derivation *d, hr_error *err)
{
    d->ys = hr__arena_get(d->arena, sizeof *d->ys * (size_t)(d->output_count + 1));
    d->seeds = hr__arena_get(d->arena, sizeof *d->seeds * (size_t)(d->output_count + 1));
    d->y_count = d->result_count = 0;
    if (!d->ys || !d->seeds) return hr_no_memory(err, "a gradient");
    for (int i = 0; i < d->output_count; i++)
        if (may_have_gradient(d->outputs[i])) d->ys[d->y_count++] = d->outputs[i];
    for (int i = 0; i < d->f->inputs; i++) d->to->first_result[i] = -1;
    return HR_OK;
}

static void take_results(derivation *d)
{
    for (int i = 0; i < d->x_count; i++) {
        const hr_gradient g = d->by_x[i];
        if (!g.values.graph) continue;
        d->to->first_result[d->input_of[i]] = d->result_count;
        d->to->sliced[d->input_of[i]] = g.indices.graph != NULL;
        d->results[d->result_count++] = g.values;
        if (!g.indices.graph) continue;
        d->results[d->result_count++] = g.indices;
        d->results[d->result_count++] = g.dense_shape;
    }
}

/* Nodes of the gradient go into a function within the body, which captures what it needs of it. */
static hr_status make_backward(derivation *d, hr_function **out, hr_node **needed, int *count, hr_error *err)
{
    hr_graph *body = d->f->body;
    char name[256];
    *out = NULL;
    HR_TRY(choose_ys(d, err));
    if (d->y_count == 0 || d->x_count == 0) return HR_OK;
    snprintf(name, sizeof name, "__backward_%.200s", d->f->name);
    hr_graph *inner = hr_function_begin(body, name);
    if (!inner) return hr__eager_take_error(body, err);
    inner->copies_constants = true;
    for (int i = 0; i < d->y_count; i++)
        d->seeds[i] = hr_function_input(inner, hr_node_dtype(d->ys[i]), hr_node_shape(d->ys[i]), "grad_y");
    memset(d->by_x, 0, sizeof *d->by_x * (size_t)d->x_count);
    hr__gradients_of(body, d->ys, d->y_count, d->seeds, d->xs, d->x_count, d->by_x);
    take_results(d);
    const hr_function *made = hr_function_end(inner, d->results, d->result_count);
    HR_TRY(hr__eager_take_error(body, err));
    if (!made || d->result_count == 0) return HR_OK;
    *out = made->body->function;
    return hr__join_captures(out, 1, needed, count, err);
}

static int output_at(const derivation *d, hr_node node)
{
    for (int i = 0; i < d->output_count; i++)
        if (d->outputs[i].id == node.id && d->outputs[i].output == node.output) return i;
    return -1;
}

/* Gives what is needed, too. */
static hr_status give_more(derivation *d, const hr_node *needed, int count, hr_error *err)
{
    hr_node *outputs = hr__arena_get(d->arena, sizeof *outputs * (size_t)(d->output_count + count + 1));
    if (!outputs) return hr_no_memory(err, "a gradient");
    memcpy(outputs, d->outputs, sizeof *outputs * (size_t)d->output_count);
    d->outputs = outputs;
    for (int i = 0; i < count; i++)
        if (output_at(d, needed[i]) < 0) d->outputs[d->output_count++] = needed[i];
    return HR_OK;
}

/* The function that gives all of it. */
static hr_function *widen(const derivation *d)
{
    hr_function *forward = hr__function_extend(d->f);
    hr_node *outputs = hr__arena_copy(&d->f->body->arena, d->outputs, sizeof *outputs * (size_t)d->output_count);
    if (!forward || !outputs) return NULL;
    forward->output = outputs;
    forward->outputs = d->output_count;
    return forward;
}

/* To be derived again, what is given besides needs gradients, for which more may be needed, until that is all. There
 * are no more than the body's nodes. */
static hr_status derive_body(derivation *d, bool higher, hr_error *err)
{
    hr__concrete *c = d->c;
    hr_node *needed;
    hr_function *forward, *backward;
    int count, before;
    do {
        before = d->output_count;
        HR_TRY(make_backward(d, &backward, &needed, &count, err));
        if (!backward) return HR_OK;
        d->to->seeds = before;
        HR_TRY(give_more(d, needed, count, err));
    } while (higher && d->output_count > before);
    d->to->taken = hr_malloc(sizeof *d->to->taken * (size_t)(count + 1));
    if (!d->to->taken) return hr_no_memory(err, "a gradient");
    d->to->taken_count = count;
    for (int i = 0; i < count; i++) d->to->taken[i] = output_at(d, needed[i]);
    if (!(forward = widen(d))) return hr_no_memory(err, "a gradient");
    HR_TRY(hr__concrete_new(c->e, forward, &d->to->forward, err));
    return hr__concrete_new(c->e, backward, &d->to->backward, err);
}

static hr_status derive(hr__concrete *c, derivative *to, bool higher, hr_error *err)
{
    hr__arena arena = {0};
    derivation d = {.c = c, .to = to, .f = (hr_function *)(uintptr_t)c->f, .arena = &arena};
    hr_status st = derivation_begin(&d, err);
    if (st == HR_OK) st = derive_body(&d, higher, err);
    hr__arena_free(&arena);
    to->made = st == HR_OK;
    if (st != HR_OK) derivative_free(to);
    return st;
}

/* ---- calling ---- */

static hr_status find_call(hr__concrete *c, const hr_node *inputs, int count, hr_error *err)
{
    const hr_function *f = c->f;
    const hr_func func = {f->name, NULL, 0};
    bool effects = f->controls > 0;
    hr_dtype *types = hr_malloc(sizeof *types * (size_t)(f->outputs + 1));
    if (!types) return hr_no_memory(err, "a call");
    for (int i = 0; i < f->outputs; i++) types[i] = hr_node_dtype(f->output[i]);
    for (int i = 0; i < count; i++) effects |= hr_node_dtype(inputs[i]) == HR_RESOURCE;
    const hr_attr attrs[] = {HR_FUNC_ATTR("f", &func), HR_TYPES_ATTR("Tout", types, f->outputs)};
    const hr_node_opts opts = {.inputs = inputs, .input_count = count, .attrs = attrs, .attr_count = 2};
    const char *name = effects ? "StatefulPartitionedCall" : "PartitionedCall";
    const hr_status st = hr__eager_find_op(c->e, name, &opts, &c->call, err);
    hr_free(types);
    if (st == HR_OK)
        c->call->ops->holds++;
    else
        c->call = NULL;
    return st;
}

static hr_status run_call(hr__concrete *c, const hr_node *inputs, int count, const hr__eager_backward *backward,
                          hr_node *call, hr_error *err)
{
    if (!c->call) HR_TRY(find_call(c, inputs, count, err));
    return hr__eager_run(c->e, c->call, inputs, count, backward, call, err);
}

static hr__eager_backward_fn flow_first, flow_higher;

/* Whether what these tapes give may be derived again. */
static bool goes_higher(const hr__eager *e, uint32_t tapes)
{
    bool higher = (tapes & (tapes - 1)) != 0;
    for (int i = 0; tapes >> i; i++) higher |= (tapes >> i & 1) && e->tapes[i]->persistent;
    return higher;
}

/* The inputs are all that it takes. */
static hr_status call_all(hr__concrete *c, const hr_node *inputs, int count, hr_node *results, hr_error *err)
{
    hr_node call;
    uint32_t tapes = 0;
    hr__concrete *called = c;
    if (c->e->recording) HR_TRY(hr__tapes_watching(c->e, inputs, count, &tapes, err));
    const bool higher = goes_higher(c->e, tapes);
    derivative *d = higher ? &c->higher : &c->first;
    if (tapes) {
        if (!d->made) HR_TRY(derive(c, d, higher, err));
        if (d->forward) called = d->forward;
    }
    const hr__eager_backward backward = {higher ? flow_higher : flow_first, c};
    HR_TRY(run_call(called, inputs, count, &backward, &call, err));
    for (int i = 0; i < c->f->outputs; i++) results[i] = (hr_node){call.graph, call.id, i};
    return HR_OK;
}

hr_status hr__concrete_call(hr__concrete *c, const hr_node *inputs, int count, hr_node *results, hr_error *err)
{
    hr_node few[32], *all = count + c->captures <= 32 ? few : hr_malloc(sizeof *all * (size_t)(count + c->captures));
    if (!all) return hr_no_memory(err, "a call");
    if (count) memcpy(all, inputs, sizeof *all * (size_t)count);
    if (c->captures) memcpy(all + count, c->captured, sizeof *all * (size_t)c->captures);
    const hr_status st = call_all(c, all, count + c->captures, results, err);
    if (all != few) hr_free(all);
    return st;
}

/* ---- flowing back ---- */

/* What the backward function takes: gradients of what the call gave, then of that what it needs. */
static int backward_inputs(const derivative *d, hr_node node, const hr_gradient *incoming, hr_node *inputs)
{
    int count = 0;
    for (int i = 0; i < d->seeds; i++) {
        const hr_node output = {node.graph, node.id, i};
        if (!may_have_gradient(output)) continue;
        inputs[count++] = incoming[i].values.graph ? hr_gradient_dense(incoming[i]) : hr_gradient_zeros(output);
    }
    for (int i = 0; i < d->taken_count; i++) inputs[count++] = (hr_node){node.graph, node.id, d->taken[i]};
    return count;
}

static hr_gradient result_of(const derivative *d, int input, const hr_node *results)
{
    const int first = d->first_result[input];
    if (first < 0) return (hr_gradient){0};
    if (!d->sliced[input]) return hr_dense_gradient(results[first]);
    return (hr_gradient){results[first], results[first + 1], results[first + 2]};
}

/* Of a call of d->forward. */
static void flow_through_call(const hr__concrete *c, const derivative *d, hr_node node, const hr_gradient *incoming,
                              hr_gradient *out)
{
    hr_error err;
    hr_graph *g = node.graph;
    if (!d->backward) return;
    hr_node *inputs = hr_malloc(sizeof *inputs * (size_t)(d->seeds + d->taken_count + 1));
    hr_node *results = hr_malloc(sizeof *results * (size_t)(d->backward->f->outputs + 1));
    if (inputs && results) {
        const int count = backward_inputs(d, node, incoming, inputs);
        hr_status st = g->error.code;
        if (st == HR_OK && (st = call_all(d->backward, inputs, count, results, &err)) != HR_OK)
            hr_node_fail(g, st, err.kind, "%s", err.text);
        for (int i = 0; st == HR_OK && i < c->f->inputs; i++) out[i] = result_of(d, i, results);
    } else {
        hr__graph_no_memory(g, "a gradient");
    }
    hr_free(inputs);
    hr_free(results);
}

static void flow_first(void *user, hr_node node, const hr_gradient *incoming, hr_gradient *out)
{
    const hr__concrete *c = user;
    flow_through_call(c, &c->first, node, incoming, out);
}

static void flow_higher(void *user, hr_node node, const hr_gradient *incoming, hr_gradient *out)
{
    const hr__concrete *c = user;
    flow_through_call(c, &c->higher, node, incoming, out);
}
