/* Functions of a graph: bodies are graphs of their own. While one is made, nodes go into it, and nodes of the graphs
 * around it that are used there become its inputs. */
#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- making one ---- */

static const char *function_name(hr_graph *root, const char *name)
{
    char unique[200];
    int i = 1;
    snprintf(unique, sizeof unique, "%.150s", name);
    while (hr__map_index(&root->function_names, unique) >= 0) snprintf(unique, sizeof unique, "%.150s_%d", name, i++);
    return hr__arena_text(&root->arena, unique, strlen(unique));
}

static hr_status function_new(hr_graph *g, const char *name, hr_graph **out, hr_error *err)
{
    hr_graph *outer = hr__innermost(g), *root = hr__library(g), *body = hr_graph_new();
    hr_function *f = hr__arena_get(&root->arena, sizeof *f);
    hr_status st = body && f && name ? HR_OK : hr_no_memory(err, "a function");
    if (st == HR_OK)
        st = hr__grow(&root->functions, root->function_count, &root->function_capacity, sizeof *root->functions, err);
    if (st == HR_OK) st = hr__map_set(&root->function_names, name, strlen(name), root->function_count, err);
    if (st != HR_OK) {
        hr_graph_free(body);
        return st;
    }
    *f = (hr_function){.name = name, .body = body};
    root->functions[root->function_count++] = f;
    body->outer = outer;
    body->function = f;
    body->seed = root->seed;
    hr__share_variable_scope(body, outer);
    outer->building = body;
    *out = body;
    return HR_OK;
}

hr_function *hr__function_extend(const hr_function *f)
{
    hr_graph *root = hr__root(f->body);
    const char *name = function_name(root, f->name);
    hr_function *own = hr__arena_get(&root->arena, sizeof *own);
    if (!name || !own ||
        hr__grow(&root->functions, root->function_count, &root->function_capacity, sizeof *root->functions, NULL))
        return NULL;
    *own = *f;
    own->name = name;
    own->shares_body = true;
    own->input = hr_malloc(sizeof *f->input * ((size_t)f->inputs + 1));
    own->control = hr_malloc(sizeof *f->control * ((size_t)f->controls + 1));
    if (own->input && f->inputs) memcpy(own->input, f->input, sizeof *f->input * (size_t)f->inputs);
    if (own->control && f->controls) memcpy(own->control, f->control, sizeof *f->control * (size_t)f->controls);
    own->input_capacity = f->inputs;
    own->control_capacity = f->controls;
    root->functions[root->function_count] = own;
    if (own->input && own->control &&
        hr__map_set(&root->function_names, name, strlen(name), root->function_count, NULL) == HR_OK) {
        root->function_count++;
        f->body->has_extended = true;
        return own;
    }
    hr_free(own->input);
    hr_free(own->control);
    return NULL;
}

hr_graph *hr_function_begin(hr_graph *g, const char *name)
{
    hr_graph *body = NULL;
    if (!g) return NULL;
    if (function_new(g, function_name(hr__library(g), name ? name : "function"), &body, NULL) != HR_OK)
        hr__graph_no_memory(g, "a function");
    return body;
}

hr_status hr__function_import(hr_graph *g, const char *name, hr_graph **body, hr_error *err)
{
    hr_graph *root = hr__root(g);
    if (hr__map_index(&root->function_names, name) >= 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.function",
                       "expected a function's name once, got '%.100s' again", name);
    return function_new(g, hr__arena_text(&root->arena, name, strlen(name)), body, err);
}

hr_node hr__function_input(hr_graph *body, hr_dtype dtype, hr_shape shape, const char *name, const hr_attr *attrs,
                           int count)
{
    hr_function *f = body ? body->function : NULL;
    if (!f) return hr_node_fail(body, HR_INVALID_ARGUMENT, "graph.function", "expected the graph of a function");
    const hr_node node = hr__function_argument(body, dtype, shape, name, attrs, count);
    if (hr__grow(&f->input, f->inputs, &f->input_capacity, sizeof *f->input, NULL) != HR_OK)
        return hr__graph_no_memory(body, "a function");
    f->input[f->inputs++] = node;
    f->asked = f->inputs;
    return node;
}

hr_node hr_function_input(hr_graph *body, hr_dtype dtype, hr_shape shape, const char *name)
{
    return hr__function_input(body, dtype, shape, name ? name : "input", NULL, 0);
}

hr_status hr__function_control(hr_function *f, hr_node node, hr_error *err)
{
    for (int i = 0; i < f->controls; i++)
        if (f->control[i].id == node.id) return HR_OK;
    HR_TRY(hr__grow(&f->control, f->controls, &f->control_capacity, sizeof *f->control, err));
    f->control[f->controls++] = hr_target(node);
    return HR_OK;
}

/* What has an effect and is not only read. */
static bool has_effect(const hr__node *n)
{
    return n->op->traits & HR_STATEFUL && !(n->op->traits & (HR_FIXED | HR_READS_ONLY)) &&
           strcmp(n->op->name, "Placeholder") != 0;
}

static hr_status function_finish(hr_function *f, const hr_node *results, int count, hr_error *err)
{
    hr_graph *body = f->body;
    if (count < 0 || (!results && count > 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.argument", "expected an array of results, got %s",
                       count < 0 ? "a negative number of them" : "NULL");
    f->output = hr__arena_get(&body->arena, sizeof *f->output * (size_t)(count + 1));
    if (!f->output) return hr_no_memory(err, "a function");
    for (int i = 0; i < count && body->error.code == HR_OK; i++) {
        const hr_node value = hr__captured(body, hr_node_value(hr__captured(body, results[i])));
        if (body->error.code != HR_OK) break;
        if (value.graph != body || hr_node_dtype(value) == HR_INVALID_DTYPE)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.function",
                           "expected as result %d a node with a value, got %s", i,
                           hr_node_exists(results[i]) ? hr_node_name(results[i]) : "none");
        f->output[f->outputs++] = value;
    }
    for (int32_t id = 0; id < body->node_count; id++)
        if (has_effect(body->nodes[id])) HR_TRY(hr__function_control(f, (hr_node){body, id, -1}, err));
    if (body->error.code == HR_OK) return HR_OK;
    if (err) *err = body->error;
    return body->error.code;
}

static bool is_within(const hr_function *f, const hr_graph *body)
{
    const hr_graph *g = f->body;
    while (g && g != body) g = g->outer;
    return g;
}

/* A function that failed, and those that were made in it, have no names, and are not written. */
static void forget_function(const hr_function *f)
{
    hr_graph *root = hr__library(f->body->outer);
    for (int i = 0; i < root->function_count; i++) {
        hr_function *own = root->functions[i];
        if (own->hidden || !is_within(own, f->body)) continue;
        own->hidden = true;
        hr__map_set(&root->function_names, own->name, strlen(own->name), -1, NULL);
    }
}

const hr_function *hr_function_end(hr_graph *body, const hr_node *results, int count)
{
    hr_error err = {0};
    hr_function *f = body ? body->function : NULL;
    if (!f || !body->outer || body->outer->building != body) {
        hr_node_fail(body, HR_INVALID_ARGUMENT, "graph.function",
                     "expected the graph of the function that is made now");
        return NULL;
    }
    const hr_status st = function_finish(f, results, count, &err);
    body->outer->building = NULL;
    if (st == HR_OK) return f;
    hr_node_fail(body->outer, st, err.kind, "function '%s': %s", f->name, err.text);
    forget_function(f);
    return NULL;
}

/* ---- looking at one ---- */

const hr_function *hr_function_named(hr_graph *g, const char *name)
{
    for (const hr_graph *in = hr__library(g); in && name; in = hr__library(in->outer)) {
        const int i = hr__map_index(&in->function_names, name);
        if (i >= 0) return in->functions[i];
    }
    return NULL;
}

const char *hr_function_name(const hr_function *f) { return f ? f->name : ""; }
hr_graph *hr_function_graph(const hr_function *f) { return f ? f->body : NULL; }
int hr_function_inputs(const hr_function *f) { return f ? f->inputs : 0; }
int hr_function_outputs(const hr_function *f) { return f ? f->outputs : 0; }

hr_node hr_function_input_at(const hr_function *f, int i)
{
    return f && i >= 0 && i < f->inputs ? f->input[i] : (hr_node){0};
}

hr_node hr_function_output_at(const hr_function *f, int i)
{
    return f && i >= 0 && i < f->outputs ? f->output[i] : (hr_node){0};
}

/* ---- captures as inputs ---- */

/* Functions that are called with the same inputs take what any of them captures, in the same order. Gives the nodes
 * around them. */
hr_status hr__join_captures(hr_function *const *f, int count, hr_node **outer, int *captures, hr_error *err)
{
    hr_graph *around = f[0]->body->outer;
    int total = 0, n = 0;
    for (int i = 0; i < count; i++) total += f[i]->body->capture_count;
    hr_node *all = hr__arena_get(&around->arena, sizeof *all * (size_t)(total + 1));
    if (!all) return hr_no_memory(err, "a function");
    for (int i = 0; i < count; i++)
        for (int j = 0; j < f[i]->body->capture_count; j++) {
            const hr_node node = f[i]->body->captures[j].outer;
            int known = 0;
            while (known < n && (all[known].id != node.id || all[known].output != node.output)) known++;
            if (known == n) all[n++] = node;
        }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < n; j++) {
            const hr_node inner = hr__capture_node(f[i]->body, all[j]);
            HR_TRY(hr__grow(&f[i]->input, f[i]->inputs, &f[i]->input_capacity, sizeof inner, err));
            if (!hr_node_exists(inner)) return hr_no_memory(err, "a function");
            f[i]->input[f[i]->inputs++] = inner;
        }
    *outer = all;
    *captures = n;
    return HR_OK;
}
