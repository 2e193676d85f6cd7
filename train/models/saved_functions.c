/* The forward pass of a model as functions of a graph: for predictions and for training, and the functions that a
 * signature and Keras call, which call these. */
#include "train/graph/graph_internal.h"
#include "train/models/saved_form.h"

#include <headrace/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr_status graph_status(const hr_graph *g, hr_error *err)
{
    const hr_error *of = hr_graph_error(g);
    if (!of) return HR_OK;
    if (err) *err = *of;
    return of->code;
}

/* ---- what regularizers cost ---- */

/* Which nodes of a function depend on an input: true of those. Inputs of a node come before it. */
static bool *depending(const hr_graph *body)
{
    bool *depends = hr_calloc((size_t)body->node_count + 1, sizeof *depends);
    for (int i = 0; depends && i < body->function->asked; i++) depends[body->function->input[i].id] = true;
    for (int32_t id = 0; depends && id < body->node_count; id++)
        for (int i = 0; i < body->nodes[id]->inputs; i++) depends[id] |= depends[body->nodes[id]->input[i].id];
    return depends;
}

/* The costs in a body. Those of weights, which depend on no input, are made with the weights, in the first one. */
static hr_status costs_of(hr__saved_graph *s, const hr_graph *body, hr_node *of_outputs, int *count, hr_error *err)
{
    const hr_graph *graphs[] = {s->g, body}; /* layers name either */
    bool *depends = depending(body);
    hr_status st = depends ? HR_OK : hr_no_memory(err, "a function");
    *count = 0;
    for (int k = 0; k < 2 && st == HR_OK; k++) {
        int all;
        const hr_node *costs = hr_get_collection(graphs[k], "regularization_losses", &all);
        for (int i = 0; i < all; i++) {
            if (costs[i].graph != body) continue;
            if (depends[costs[i].id])
                of_outputs[(*count)++] = costs[i];
            else if (!s->forward[0])
                s->weight_cost[s->weight_costs++] = costs[i];
        }
    }
    hr_free(depends);
    return st;
}

static int most_costs(const hr__saved_graph *s, const hr_graph *body)
{
    int outer, inner;
    hr_get_collection(s->g, "regularization_losses", &outer);
    hr_get_collection(body, "regularization_losses", &inner);
    return outer + inner + 1;
}

/* The cost of a forward pass as one number: that of outputs. */
static hr_status forward_cost(hr__saved_graph *s, hr_graph *body, bool training, hr_node *cost, hr_error *err)
{
    int count;
    const size_t most = (size_t)most_costs(s, body);
    hr_node *all = hr_calloc(most, sizeof *all);
    if (!training) s->weight_cost = hr_calloc(most, sizeof *s->weight_cost);
    hr_status st = all && s->weight_cost ? HR_OK : hr_no_memory(err, "a function");
    if (st == HR_OK) st = costs_of(s, body, all, &count, err);
    s->costs[training] = st == HR_OK && count > 0;
    if (s->costs[training]) *cost = hr_add_n(all, count);
    hr_free(all);
    return st;
}

/* Copies of nodes into the function that is being made; those that stand for nodes around theirs are these. */
static void copy_needed(const hr_graph *from, hr_graph *into, const bool *needed, hr_node *copy)
{
    for (int32_t id = 0; id < from->node_count; id++) {
        const hr__node *n = from->nodes[id];
        hr_node in[8];
        if (!needed[id]) continue;
        copy[id] = hr__capture_outer((hr_node){(hr_graph *)(uintptr_t)from, id, 0});
        if (copy[id].graph != from) continue;
        hr_node *input = n->inputs > 8 ? hr_calloc((size_t)n->inputs, sizeof *input) : in;
        for (int i = 0; input && i < n->inputs; i++) {
            input[i] = copy[n->input[i].id];
            if (input[i].graph == into) input[i].output = n->input[i].output;
        }
        copy[id] = hr_new_node(into, n->op->name, .inputs = input, .input_count = input ? n->inputs : 0,
                               .attrs = n->attr, .attr_count = n->sig->attrs);
        if (input != in) hr_free(input);
    }
}

/* The function of what all weights cost. */
static hr_status cost_make(hr__saved_graph *s, hr_error *err)
{
    const hr_graph *from = s->forward[0]->body;
    if (s->weight_costs == 0) return HR_OK;
    bool *needed = hr_calloc((size_t)from->node_count + 1, sizeof *needed);
    hr_node *copy = hr_calloc((size_t)from->node_count + 1, sizeof *copy), sum = {0};
    hr_graph *body = hr_function_begin(s->g, "__inference_loss_fn_2");
    const hr_status st = needed && copy && body ? HR_OK : hr_no_memory(err, "a function");
    if (st == HR_OK) {
        for (int i = 0; i < s->weight_costs; i++) needed[s->weight_cost[i].id] = true;
        for (int32_t id = from->node_count - 1; id >= 0; id--)
            for (int i = 0; needed[id] && i < from->nodes[id]->inputs; i++) needed[from->nodes[id]->input[i].id] = true;
        copy_needed(from, body, needed, copy);
        for (int i = 0; i < s->weight_costs; i++) {
            hr_node *cost = &s->weight_cost[i];
            *cost = (hr_node){body, copy[cost->id].id, cost->output};
        }
        sum = hr_add_n(s->weight_cost, s->weight_costs);
    }
    if (body)
        s->function[s->functions++] =
            (hr__saved_function){HR__SAVED_COST, false, false, hr_function_end(body, &sum, 1)};
    hr_free(needed);
    hr_free(copy);
    return st == HR_OK ? graph_status(s->g, err) : st;
}

/* ---- the forward pass ---- */

static hr_node function_input(hr_model *m, hr_graph *body, int i)
{
    const hr_node input = hr_model_input_node(m, i);
    return hr_function_input(body, hr_node_dtype(input), hr_node_shape(input), hr_model_input_name(m, i));
}

static hr_status forward_body(hr__saved_graph *s, hr_graph *body, bool training, hr__at *at, hr_node *result,
                              int *results, hr_error *err)
{
    hr_model *m = s->m;
    for (int i = 0; i < m->inputs.count; i++) at[m->inputs.at[i]].node = function_input(m, body, i);
    m->body->exporting = true;
    const hr_status st = hr__body_replay(m->body, s->g, m->outputs.at, m->outputs.count, training, at, err);
    m->body->exporting = false;
    HR_TRY(st);
    HR_TRY(graph_status(body, err)); /* that of the graph around it comes with the end of the function */
    for (int i = 0; i < m->outputs.count; i++) result[(*results)++] = at[m->outputs.at[i]].node;
    HR_TRY(forward_cost(s, body, training, &result[*results], err));
    *results += s->costs[training];
    return HR_OK;
}

static hr_status forward_make(hr__saved_graph *s, bool training, hr_error *err)
{
    int results = 0;
    hr__at *at = hr_calloc((size_t)s->m->body->values.count + 1, sizeof *at);
    hr_node *result = hr_calloc((size_t)s->m->outputs.count + 1, sizeof *result);
    hr_graph *body =
        hr_function_begin(s->g, training ? "__inference__trained_model_1" : "__inference__wrapped_model_0");
    hr_status st = at && result && body ? HR_OK : hr_no_memory(err, "a function");
    if (st == HR_OK) st = forward_body(s, body, training, at, result, &results, err);
    if (body) s->forward[training] = hr_function_end(body, result, results);
    hr_free(at);
    hr_free(result);
    return st == HR_OK ? graph_status(s->g, err) : st;
}

/* ---- functions that call it ---- */

/* One that takes the inputs, and gives the outputs, in the order of the model, a signature in that of their names. */
static hr_status caller_make(hr__saved_graph *s, hr__saved_use use, bool training, bool tuple, hr_error *err)
{
    static const char *const names[] = {"", "signature_wrapper", "model_layer_call_fn",
                                        "model_layer_call_and_return_conditional_losses"};
    const hr_model *m = s->m;
    const hr_function *forward = s->forward[training];
    const bool sorted = use == HR__SAVED_SIGNATURE;
    char name[100];
    (void)snprintf(name, sizeof name, "__inference_%s_%d", names[use], s->functions + 3);
    hr_graph *body = hr_function_begin(s->g, name);
    hr_node *in = hr_calloc((size_t)m->inputs.count + 1, sizeof *in);
    hr_node *out = hr_calloc(2 * (size_t)m->outputs.count + 2, sizeof *out), *given = out + m->outputs.count + 1;
    const hr_status st = body && in && out ? HR_OK : hr_no_memory(err, "a function");
    int count = 0;
    if (st == HR_OK) {
        for (int i = 0; i < m->inputs.count; i++) {
            const int which = sorted ? s->input[i] : i;
            in[which] = function_input(s->m, body, which);
        }
        hr_call_function(forward, in, m->inputs.count, out);
        for (; count < m->outputs.count; count++) given[count] = out[sorted ? s->output[count] : count];
        if (use == HR__SAVED_CALL_AND_LOSSES && s->costs[training]) given[count++] = out[m->outputs.count];
    }
    if (body)
        s->function[s->functions++] = (hr__saved_function){use, training, tuple, hr_function_end(body, given, count)};
    hr_free(in);
    hr_free(out);
    return st == HR_OK ? graph_status(s->g, err) : st;
}

/* Those that no node calls have what they capture as inputs, too. */
static hr_status caller_capture(const hr__saved_function *of, hr_error *err)
{
    hr_function *f = of->f->body->function;
    hr_node *captured;
    int count;
    return f->inputs > f->asked || f->body->capture_count == 0 ? HR_OK
                                                               : hr__join_captures(&f, 1, &captured, &count, err);
}

/* What Keras calls, from its fit and predict, gets several inputs as a tuple, and may not be there for a list, too. */
static hr_status callers_make(hr__saved_graph *s, hr_error *err)
{
    const bool several = s->m->inputs.count > 1;
    HR_TRY(caller_make(s, HR__SAVED_SIGNATURE, false, false, err));
    for (int training = 1; training >= 0; training--) {
        HR_TRY(caller_make(s, HR__SAVED_CALL, training == 1, false, err));
        if (several) HR_TRY(caller_make(s, HR__SAVED_CALL, training == 1, true, err));
        HR_TRY(caller_make(s, HR__SAVED_CALL_AND_LOSSES, training == 1, several, err));
    }
    return cost_make(s, err);
}

/* ---- what is served ---- */

static hr_status serve(hr__saved_graph *s, hr_error *err)
{
    hr_model *m = s->m;
    char name[320];
    for (int i = 0; i < m->inputs.count; i++) {
        const hr_node input = hr_model_input_node(m, s->input[i]);
        (void)snprintf(name, sizeof name, "serving_default_%.256s", hr_model_input_name(m, s->input[i]));
        s->placeholder[i] = hr_placeholder(s->g, hr_node_dtype(input), hr_node_shape(input), .name = name);
    }
    hr_call_function(s->function[0].f, s->placeholder, m->inputs.count, s->served);
    return graph_status(s->g, err);
}

typedef struct named {
    const char *name;
    int number;
} named;

static int named_order(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static int *sorted(const hr_model *m, int count, const char *(*name)(const hr_model *m, int i))
{
    named *all = hr_calloc((size_t)count + 1, sizeof *all);
    int *out = hr_calloc((size_t)count + 1, sizeof *out);
    for (int i = 0; all && i < count; i++) all[i] = (named){name(m, i), i};
    if (all && count) qsort(all, (size_t)count, sizeof *all, named_order);
    for (int i = 0; all && out && i < count; i++) out[i] = all[i].number;
    if (!all) {
        hr_free(out);
        out = NULL;
    }
    hr_free(all);
    return out;
}

static hr_status saved_graph_begin(hr__saved_graph *s, hr_error *err)
{
    const hr_model *m = s->m;
    s->g = hr_graph_new();
    s->input = sorted(m, m->inputs.count, hr_model_input_name);
    s->output = sorted(m, m->outputs.count, hr_model_output_name);
    s->placeholder = hr_calloc((size_t)m->inputs.count + 1, sizeof *s->placeholder);
    s->served = hr_calloc((size_t)m->outputs.count + 1, sizeof *s->served);
    if (!s->g || !s->input || !s->output || !s->placeholder || !s->served) return hr_no_memory(err, "a SavedModel");
    for (int i = 0; i < m->body->graph->foreign_count; i++) hr_graph_use(s->g, m->body->graph->foreign[i]);
    if (m->body->seed) hr_set_random_seed(s->g, m->body->seed);
    return HR_OK;
}

hr_status hr__saved_graph_make(hr_model *m, hr__saved_graph *s, hr_error *err)
{
    *s = (hr__saved_graph){.m = m};
    HR_TRY(saved_graph_begin(s, err));
    HR_TRY(forward_make(s, false, err));
    HR_TRY(forward_make(s, true, err));
    HR_TRY(callers_make(s, err));
    HR_TRY(serve(s, err));
    for (int i = 0; i < s->functions; i++) HR_TRY(caller_capture(&s->function[i], err));
    s->session = hr_session_new(s->g, .share = m->body->session);
    return s->session ? HR_OK : hr_no_memory(err, "a session");
}

void hr__saved_graph_clear(hr__saved_graph *s)
{
    hr_session_free(s->session);
    hr_graph_free(s->g);
    hr_free(s->input);
    hr_free(s->output);
    hr_free(s->placeholder);
    hr_free(s->served);
    hr_free(s->weight_cost);
}
