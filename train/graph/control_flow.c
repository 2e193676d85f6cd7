/* Branches and loops: what they run are functions; If and While are nodes that call them. */
#include "train/graph/graph_internal.h"

#include <string.h>

/* ---- calls ---- */

static bool any_effect(hr_function *const *f, int count, const hr_node *inputs, int input_count)
{
    for (int i = 0; i < count; i++)
        if (f[i]->controls > 0) return true;
    for (int i = 0; i < input_count; i++)
        if (hr_node_dtype(inputs[i]) == HR_RESOURCE) return true;
    return false;
}

/* Inputs, then what the functions captured. */
static hr_node *all_inputs(hr_graph *g, const hr_node *first, int first_count, const hr_node *rest, int rest_count)
{
    hr_node *all = hr__arena_get(&g->arena, sizeof *all * (size_t)(first_count + rest_count + 1));
    if (!all) {
        hr__graph_no_memory(g, "a call");
        return NULL;
    }
    for (int i = 0; i < first_count; i++) all[i] = hr_node_value(first[i]);
    for (int i = 0; i < rest_count; i++) all[first_count + i] = rest[i];
    return all;
}

/* What both say together, where both say something. */
static hr_shape common_shape(hr_shape a, hr_shape b)
{
    if (a.rank != b.rank) return HR_UNKNOWN_SHAPE;
    for (int i = 0; i < a.rank; i++)
        if (a.dims[i] != b.dims[i]) a.dims[i] = -1;
    return a;
}

void hr_call_function(const hr_function *f, const hr_node *inputs, int count, hr_node *out)
{
    hr_graph *g = f ? hr__innermost(f->body->outer) : NULL;
    hr_node *captured = NULL;
    hr_dtype types[HR__MAX_CALL];
    hr_shape shapes[HR__MAX_CALL];
    for (int i = 0; out && f && i < f->outputs; i++) out[i] = hr_failed_node(g);
    if (!f) return;
    if (!out && f->outputs > 0) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument",
                     "hr_call_function: expected an array for %d results of '%s', got NULL", f->outputs, f->name);
        return;
    }
    if (count != f->asked || (!inputs && count > 0) || f->outputs > HR__MAX_CALL) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.inputs", "function '%s': expected %d inputs, got %d", f->name,
                     f->asked, count);
        return;
    }
    if (g->at_once) {
        g->at_once->call(g, f, inputs, count, out);
        return;
    }
    int captures = f->inputs - f->asked;
    hr_function *own = f->body->function;
    hr_error err = {0};
    if (captures == 0 && hr__join_captures(&own, 1, &captured, &captures, &err) != HR_OK) {
        hr__graph_no_memory(g, "a call");
        return;
    }
    for (int i = 0; i < f->outputs; i++)
        types[i] = hr_node_dtype(f->output[i]), shapes[i] = hr_node_shape(f->output[i]);
    hr_node *rest = hr__arena_get(&g->arena, sizeof *rest * (size_t)(captures + 1));
    if (!rest) hr__graph_no_memory(g, "a call");
    for (int i = 0; rest && i < captures; i++) rest[i] = hr__capture_outer(f->input[f->asked + i]);
    hr_node *all = rest ? all_inputs(g, inputs, count, rest, captures) : NULL;
    if (!all) return;
    const hr_func func = {f->name, NULL, 0};
    const char *op = any_effect(&own, 1, all, count + captures) ? "StatefulPartitionedCall" : "PartitionedCall";
    const hr_node call = hr_new_node(
        g, op, .inputs = all, .input_count = count + captures,
        HR_ATTRS(HR_FUNC_ATTR("f", &func), HR_TYPES_ATTR("Tout", types, f->outputs),
                 {.name = "_output_shapes", .kind = HR_ATTR_SHAPES, .count = f->outputs, .shapes = shapes}));
    for (int i = 0; i < f->outputs && hr_node_exists(call); i++) out[i] = hr_node_output(call, i);
}

/* ---- branches ---- */

static hr_function *make_branch(hr_graph *g, const char *name, hr_branch_fn *fn, void *user, int count)
{
    hr_graph *body = hr_function_begin(g, name);
    if (!body) return NULL;
    hr_node *results = hr__arena_get(&body->arena, sizeof *results * (size_t)(count + 1));
    if (results)
        fn(body, results, user);
    else
        hr__graph_no_memory(body, "a branch");
    const hr_function *f = hr_function_end(body, results, results ? count : 0);
    return f ? f->body->function : NULL;
}

/* Branches of which one runs, and what a node that calls them takes and gives. */
typedef struct choice {
    const char *call; /* for messages */
    hr_graph *g;
    hr_function **branch;
    int branches;
    hr_node *inputs;
    int input_count;
    hr_dtype types[HR__MAX_CALL];
    hr_shape shapes[HR__MAX_CALL];
} choice;

static bool same_results(choice *c, int count)
{
    for (int i = 0; i < count; i++) {
        c->types[i] = hr_node_dtype(c->branch[0]->output[i]);
        c->shapes[i] = hr_node_shape(c->branch[0]->output[i]);
        for (int j = 1; j < c->branches; j++) {
            const hr_node other = c->branch[j]->output[i];
            c->shapes[i] = common_shape(c->shapes[i], hr_node_shape(other));
            if (hr_node_dtype(other) == c->types[i]) continue;
            hr_node_fail(c->g, HR_INVALID_ARGUMENT, "graph.function",
                         "%s: expected result %d of %s branches to be of one type, got %s and %s", c->call, i,
                         c->branches == 2 ? "both" : "all", hr_dtype_name(c->types[i]),
                         hr_dtype_name(hr_node_dtype(other)));
            return false;
        }
    }
    return true;
}

/* Checks the results, and finds what the branches capture. */
static bool choice_end(choice *c, hr_node selector, int count)
{
    hr_node *captured;
    int captures;
    hr_error err = {0};
    for (int i = 0; i < c->branches; i++)
        if (!c->branch[i]) return false;
    if (!same_results(c, count)) return false;
    if (hr__join_captures(c->branch, c->branches, &captured, &captures, &err) != HR_OK) {
        hr__graph_no_memory(c->g, "a branch");
        return false;
    }
    c->inputs = all_inputs(c->g, &selector, 1, captured, captures);
    c->input_count = captures + 1;
    return c->inputs;
}

static bool choice_has_effect(const choice *c)
{
    return any_effect(c->branch, c->branches, c->inputs + 1, c->input_count - 1);
}

/* In an eager graph the branch is called there and then. */
static const hr_tensor *selected_at_once(hr_graph *g, hr_node selector)
{
    return g->at_once->value(hr_node_value(selector));
}

void hr_cond(hr_node predicate, hr_branch_fn *then, hr_branch_fn *otherwise, void *user, hr_node *out, int count)
{
    hr_function *branch[2] = {NULL, NULL};
    choice c = {.call = "hr_cond", .g = hr__innermost(predicate.graph), .branch = branch, .branches = 2};
    for (int i = 0; out && i < count; i++) out[i] = hr_failed_node(c.g);
    if (!c.g || count < 0 || count > HR__MAX_CALL || !then || !otherwise || (!out && count > 0)) {
        hr_node_fail(c.g, HR_INVALID_ARGUMENT, "graph.function",
                     "hr_cond: expected two branches, and an array for at most %d results, got %s and %d results",
                     HR__MAX_CALL, !then || !otherwise || !out ? "NULL" : "these", count);
        return;
    }
    if (c.g->at_once) {
        const hr_tensor *value = selected_at_once(c.g, predicate);
        if (value) (hr_tensor_is_true(value) ? then : otherwise)(c.g, out, user);
        return;
    }
    branch[0] = make_branch(c.g, "cond_true", then, user, count);
    if (branch[0]) branch[1] = make_branch(c.g, "cond_false", otherwise, user, count);
    if (!choice_end(&c, predicate, count)) return;
    const hr_func a = {branch[0]->name, NULL, 0}, b = {branch[1]->name, NULL, 0};
    const hr_node node =
        hr_new_node(c.g, choice_has_effect(&c) ? "If" : "StatelessIf", .name = "cond", .inputs = c.inputs,
                    .input_count = c.input_count,
                    HR_ATTRS(HR_FUNC_ATTR("then_branch", &a), HR_FUNC_ATTR("else_branch", &b),
                             HR_TYPES_ATTR("Tout", c.types, count),
                             {.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = count, .shapes = c.shapes}));
    for (int i = 0; i < count && hr_node_exists(node); i++) out[i] = hr_node_output(node, i);
}

void hr_switch_case_with(hr_node index, hr_branch_fn *const *branches, int branch_count, void *user, hr_node *out,
                         int count, const hr_switch_case_opts *given)
{
    const hr_switch_case_opts opts = HR_OPTIONS(hr_switch_case_opts, given);
    hr_function *branch[HR__MAX_BRANCHES + 1] = {NULL};
    hr_func funcs[HR__MAX_BRANCHES + 1];
    choice c = {.call = "hr_switch_case", .g = hr__innermost(index.graph), .branch = branch};
    for (int i = 0; out && i < count; i++) out[i] = hr_failed_node(c.g);
    if (!c.g || !out || count < 0 || count > HR__MAX_CALL || !branches || branch_count < 1 ||
        branch_count > HR__MAX_BRANCHES) {
        hr_node_fail(c.g, HR_INVALID_ARGUMENT, "graph.function",
                     "hr_switch_case: expected 1 to %d branches and at most %d results, got %d and %d",
                     HR__MAX_BRANCHES, HR__MAX_CALL, branch_count, count);
        return;
    }
    for (int i = 0; i < branch_count; i++)
        if (!branches[i]) {
            hr_node_fail(c.g, HR_INVALID_ARGUMENT, "graph.function", "hr_switch_case: expected branch %d, got NULL", i);
            return;
        }
    c.branches = branch_count + (opts.default_case != NULL);
    if (c.g->at_once) {
        const hr_tensor *value = selected_at_once(c.g, index);
        if (!value || value->dtype != HR_INT32 || value->count != 1) {
            hr_node_fail(c.g, HR_INVALID_ARGUMENT, "graph.shape", "hr_switch_case: expected a scalar int32 as index");
            return;
        }
        const int32_t at = *(const int32_t *)value->data;
        const int taken = at < 0 || at >= c.branches ? c.branches - 1 : at;
        (taken < branch_count ? branches[taken] : opts.default_case)(c.g, out, user);
        return;
    }
    for (int i = 0; i < c.branches && (i == 0 || branch[i - 1]); i++)
        branch[i] =
            make_branch(c.g, "switch_case_branch", i < branch_count ? branches[i] : opts.default_case, user, count);
    if (!choice_end(&c, index, count)) return;
    for (int i = 0; i < c.branches; i++) funcs[i] = (hr_func){branch[i]->name, NULL, 0};
    const hr_node node =
        hr_new_node(c.g, choice_has_effect(&c) ? "Case" : "StatelessCase",
                    .name = opts.name ? opts.name : "switch_case", .inputs = c.inputs, .input_count = c.input_count,
                    HR_ATTRS({.name = "branches", .kind = HR_ATTR_FUNCS, .count = c.branches, .funcs = funcs},
                             HR_TYPES_ATTR("Tout", c.types, count),
                             {.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = count, .shapes = c.shapes}));
    for (int i = 0; i < count && hr_node_exists(node); i++) out[i] = hr_node_output(node, i);
}

/* ---- branches by predicates: conditions within each other ---- */

typedef struct predicates {
    const hr_node *predicate;
    hr_branch_fn *const *branch;
    int at, count; /* the pair that is next, and all of them */
    int results;
    void *user;
    const hr_case_opts *opts;
} predicates;

static hr_node count_true(hr_graph *g, const hr_node *given, int count)
{
    hr_node packed = hr_new_node(g, "Pack", .inputs = given, .input_count = count);
    packed = hr_new_node(g, "Cast", HR_INPUTS(packed), HR_ATTRS(HR_TYPE_ATTR("DstT", HR_INT32)));
    return hr_new_node(g, "Sum", HR_INPUTS(packed, hr_const_ints(g, HR_I64(0), 1, NULL)));
}

static hr_node assert_node(hr_graph *g, hr_node condition, const char *text)
{
    const hr_view view = hr_text_view(text);
    const hr_tensor value = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    const hr_node message =
        hr_new_node(g, "Const", HR_ATTRS(HR_TENSOR_ATTR("value", &value), HR_TYPE_ATTR("dtype", HR_STRING)));
    return hr_new_node(g, "Assert", HR_INPUTS(condition, message));
}

static void first_true(hr_graph *g, hr_node *results, void *user);

static void case_branch(hr_graph *g, hr_node *results, void *user)
{
    const predicates *p = user;
    p->branch[p->at](g, results, p->user);
}

/* The rest of the pairs; after the last one the default, or the last branch, if its predicate is true. */
static void next_case(hr_graph *g, hr_node *results, void *user)
{
    predicates rest = *(const predicates *)user;
    rest.at++;
    if (rest.at < rest.count - !rest.opts->default_case) {
        first_true(g, results, &rest);
    } else if (rest.opts->default_case) {
        rest.opts->default_case(g, results, rest.user);
    } else {
        const hr_node last = rest.predicate[rest.at];
        const hr_node held = assert_node(g, last, "hr_case: none of the conditions is true, and there is no default");
        hr_control_dependencies(g, &held, 1);
        rest.branch[rest.at](g, results, rest.user);
        hr_control_end(g);
    }
}

static void first_true(hr_graph *g, hr_node *results, void *user)
{
    predicates *p = user;
    (void)g;
    hr_cond(p->predicate[p->at], case_branch, next_case, p, results, p->results);
}

void hr_case_with(const hr_node *given, hr_branch_fn *const *branches, int branch_count, void *user, hr_node *out,
                  int count, const hr_case_opts *opts_given)
{
    const hr_case_opts opts = HR_OPTIONS(hr_case_opts, opts_given);
    hr_graph *g = given && branch_count > 0 ? hr__innermost(given[0].graph) : NULL;
    for (int i = 0; out && i < count; i++) out[i] = hr_failed_node(g);
    bool bools = g != NULL;
    for (int i = 0; bools && i < branch_count; i++) bools = hr_node_dtype(given[i]) == HR_BOOL;
    if (!bools || !out || !branches || branch_count > HR__MAX_BRANCHES || count < 0 || count > HR__MAX_CALL) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.function",
                     "hr_case: expected 1 to %d predicates of type bool and as many branches", HR__MAX_BRANCHES);
        return;
    }
    predicates p = {given, branches, -1, branch_count, count, user, &opts};
    hr_name_scope(g, opts.name ? opts.name : "case");
    if (opts.exclusive) {
        const hr_node one = hr_const_number(g, HR_INT32, 1, NULL);
        const hr_node at_most = hr_new_node(g, "LessEqual", HR_INPUTS(count_true(g, given, branch_count), one));
        const hr_node held =
            assert_node(g, at_most, "hr_case: more than one condition is true, which .exclusive excludes");
        hr_control_dependencies(g, &held, 1);
    }
    next_case(g, out, &p);
    if (opts.exclusive) hr_control_end(g);
    hr_scope_end(g);
}

/* ---- loops ---- */

typedef struct loop {
    hr_graph *g;
    int count; /* variables, with the counter of maximum_iterations in front */
    bool counts;
    const hr_while_opts *opts;
    hr_node *vars;
    hr_shape *shape;
    hr_loop_fn *condition, *body;
    void *user;
} loop;

static hr_node *loop_inputs(const loop *l, hr_graph *body)
{
    hr_node *inputs = hr__arena_get(&body->arena, sizeof *inputs * (size_t)(l->count + 1));
    if (!inputs) hr__graph_no_memory(body, "a loop");
    for (int i = 0; inputs && i < l->count; i++)
        inputs[i] = hr_function_input(body, hr_node_dtype(l->vars[i]), l->shape[i], "arg");
    for (int i = 0; inputs && i < l->count; i++) hr__know_handle(inputs[i], l->vars[i]);
    return inputs;
}

static hr_function *loop_end(hr_graph *body, const hr_node *results, int count)
{
    const hr_function *f = hr_function_end(body, results, count);
    return f ? f->body->function : NULL;
}

static hr_function *make_condition(const loop *l)
{
    hr_graph *body = hr_function_begin(l->g, "while_cond");
    hr_node result = {0}, *vars = body ? loop_inputs(l, body) : NULL;
    if (!body) return NULL;
    if (vars) l->condition(body, vars + l->counts, &result, l->user);
    if (vars && l->counts) {
        const hr_node most = hr_const_number(body, HR_INT32, (double)l->opts->maximum_iterations, NULL);
        const hr_node less = hr_new_node(body, "Less", HR_INPUTS(vars[0], most));
        result = hr_new_node(body, "LogicalAnd", HR_INPUTS(less, result));
    }
    hr_function *f = loop_end(body, &result, 1);
    if (!f || hr_node_dtype(f->output[0]) == HR_BOOL) return f;
    hr_node_fail(l->g, HR_INVALID_ARGUMENT, "graph.loop", "hr_while_loop: expected a bool of the condition, got %s",
                 hr_dtype_name(hr_node_dtype(f->output[0])));
    return NULL;
}

static hr_function *make_body(const loop *l)
{
    hr_graph *body = hr_function_begin(l->g, "while_body");
    hr_node *vars = body ? loop_inputs(l, body) : NULL;
    hr_node *results = body ? hr__arena_get(&body->arena, sizeof *results * (size_t)(l->count + 1)) : NULL;
    if (!body) return NULL;
    if (!results) hr__graph_no_memory(body, "a loop");
    if (vars && results) l->body(body, vars + l->counts, results + l->counts, l->user);
    if (vars && results && l->counts)
        results[0] = hr_new_node(body, "AddV2", HR_INPUTS(vars[0], hr_const_number(body, HR_INT32, 1, NULL)));
    return loop_end(body, results, vars && results ? l->count : 0);
}

/* A variable stays what it is. */
static bool keeps_variables(const loop *l, const hr_function *body)
{
    for (int i = 0; i < l->count; i++) {
        const hr_node result = body->output[i];
        const hr_shape got = hr_node_shape(result), may = l->shape[i];
        bool fits = hr_node_dtype(result) == hr_node_dtype(l->vars[i]) && (may.rank < 0 || may.rank == got.rank);
        for (int d = 0; fits && d < may.rank; d++) fits = may.dims[d] < 0 || may.dims[d] == got.dims[d];
        if (fits) continue;
        hr__shape_name a, b;
        hr_node_fail(l->g, HR_INVALID_ARGUMENT, "graph.loop",
                     "hr_while_loop: expected variable %d to stay %s %s, got %s %s; .shapes says what may vary",
                     i - l->counts, hr_dtype_name(hr_node_dtype(l->vars[i])), hr__shape_in(&a, may),
                     hr_dtype_name(hr_node_dtype(result)), hr__shape_in(&b, got));
        return false;
    }
    return true;
}

/* The body gives what it captured as it is. */
static bool give_captures(hr_function *body, int captures)
{
    hr_node *outputs = hr__arena_get(&body->body->arena, sizeof *outputs * (size_t)(body->outputs + captures + 1));
    if (!outputs) return false;
    memcpy(outputs, body->output, sizeof *outputs * (size_t)body->outputs);
    for (int i = 0; i < captures; i++) outputs[body->outputs++] = body->input[body->inputs - captures + i];
    body->output = outputs;
    return true;
}

static void run_loop(loop *l, hr_node *out)
{
    hr_node *captured;
    int captures;
    hr_error err = {0};
    hr_function *f[2] = {make_condition(l), NULL};
    if (f[0]) f[1] = make_body(l);
    if (!f[0] || !f[1] || !keeps_variables(l, f[1])) return;
    if (hr__join_captures(f, 2, &captured, &captures, &err) != HR_OK || !give_captures(f[1], captures)) {
        hr__graph_no_memory(l->g, "a loop");
        return;
    }
    const int total = l->count + captures;
    hr_node *all = all_inputs(l->g, l->vars, l->count, captured, captures);
    hr_shape *shapes = hr__arena_get(&l->g->arena, sizeof *shapes * (size_t)(total + 1));
    if (!shapes) hr__graph_no_memory(l->g, "a loop");
    if (!all || !shapes) return;
    for (int i = 0; i < total; i++) shapes[i] = i < l->count ? l->shape[i] : hr_node_shape(all[i]);
    const hr_func condition = {f[0]->name, NULL, 0}, body = {f[1]->name, NULL, 0};
    const hr_node node =
        hr_new_node(l->g, any_effect(f, 2, all, total) ? "While" : "StatelessWhile",
                    .name = l->opts->name ? l->opts->name : "while", .inputs = all, .input_count = total,
                    HR_ATTRS(HR_FUNC_ATTR("cond", &condition), HR_FUNC_ATTR("body", &body),
                             HR_INT_ATTR("parallel_iterations",
                                         l->opts->parallel_iterations > 0 ? l->opts->parallel_iterations : 10),
                             {.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = total, .shapes = shapes}));
    for (int i = l->counts; i < l->count && hr_node_exists(node); i++) out[i - l->counts] = hr_node_output(node, i);
}

/* In an eager graph its functions are called turn by turn. */
static void loop_at_once(const loop *l, const hr_node *vars, hr_node *out)
{
    const int64_t most = l->opts->maximum_iterations;
    const int count = l->count - l->counts;
    for (int i = 0; i < count; i++) out[i] = hr_node_value(vars[i]);
    for (int64_t turn = 0; most <= 0 || turn < most; turn++) {
        hr_node goes_on = {0}, next[HR__MAX_CALL];
        l->condition(l->g, out, &goes_on, l->user);
        const hr_tensor *value = selected_at_once(l->g, goes_on);
        if (!value || !hr_tensor_is_true(value)) return;
        for (int i = 0; i < count; i++) next[i] = hr_failed_node(l->g);
        l->body(l->g, out, next, l->user);
        memcpy(out, next, sizeof *out * (size_t)count);
    }
}

void hr_while_loop_with(hr_loop_fn *condition, hr_loop_fn *body, void *user, const hr_node *vars, int count,
                        hr_node *out, const hr_while_opts *given)
{
    const hr_while_opts opts = HR_OPTIONS(hr_while_opts, given);
    hr_graph *g = count > 0 && vars ? hr__innermost(vars[0].graph) : NULL;
    const bool counts = opts.maximum_iterations > 0;
    for (int i = 0; out && i < count; i++) out[i] = hr_failed_node(g);
    if (!g || count > HR__MAX_CALL || !condition || !body || !out) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.loop",
                     "hr_while_loop: expected a condition, a body, and 1 to %d variables, got %d", HR__MAX_CALL, count);
        return;
    }
    loop l = {.g = g,
              .count = count + counts,
              .counts = counts,
              .opts = &opts,
              .condition = condition,
              .body = body,
              .user = user};
    if (g->at_once) {
        loop_at_once(&l, vars, out);
        return;
    }
    l.vars = hr__arena_get(&g->arena, sizeof *l.vars * (size_t)(l.count + 1));
    l.shape = hr__arena_get(&g->arena, sizeof *l.shape * (size_t)(l.count + 1));
    if (!l.vars || !l.shape) {
        hr__graph_no_memory(g, "a loop");
        return;
    }
    if (counts) l.vars[0] = hr_const_number(g, HR_INT32, 0, "loop_counter"), l.shape[0] = HR_SCALAR;
    for (int i = 0; i < count; i++) {
        l.vars[i + counts] = hr__captured(g, hr_node_value(hr__captured(g, vars[i])));
        l.shape[i + counts] = opts.shapes ? opts.shapes[i] : hr_node_shape(l.vars[i + counts]);
    }
    run_loop(&l, out);
}
