/* Derivatives of calls and branches: see function_gradients.c. */
#include "train/graph/function_gradients.h"

enum { MAX_BRANCHES = 64 };

/* One call: of one function, or of one of several. */
typedef struct caller {
    hr_backward *b;
    const char *attr;    /* "f", "branches"; NULL: "then_branch" and "else_branch" */
    int branches, first; /* the first input that the functions take */
    const hr_function *f[MAX_BRANCHES];
    hr__derivative d[MAX_BRANCHES];
    bool flows[HR__MAX_CALL], wanted[HR__MAX_CALL];
    uint8_t parts[HR__MAX_CALL];    /* by input: what all branches give, as in a hr__derivative */
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
        if (!(c->f[i] = hr__function_of(c->b, node, branch_attr(c, i), i))) return false;
    return true;
}

/* All branches give the value; where it is another branch's, an empty one. */
static bool give_value(const caller *c, hr_function *const *f, int branch, hr_node value)
{
    for (int i = 0; i < c->branches; i++) {
        const hr__inside was = hr__enter_graph(f[i]->body);
        const bool given =
            hr__add_output(f[i], i == branch ? value : hr__empty_value(f[i]->body, hr_node_dtype(value)));
        hr__leave_graph(was);
        if (!given) return false;
    }
    return true;
}

/* The functions give what the derivatives need, and the node is extended by that. */
static bool extend_call(caller *c)
{
    const hr_node last = hr__newest(c->b->node);
    hr_graph *g = last.graph;
    hr_function *f[MAX_BRANCHES];
    hr_func func[MAX_BRANCHES];
    hr_attr attrs[4];
    int changes = 0;
    bool more = false;
    if (!find_functions(c, last)) return false;
    for (int i = 0; i < c->branches; i++)
        for (int j = 0; j < c->d[i].needs; j++)
            more |= hr__input_of(c->f[i], c->d[i].need[j]) < 0 && hr__output_of(c->f[i], c->d[i].need[j]) < 0;
    if (!more) return true;
    for (int i = 0; i < c->branches; i++)
        if (!(f[i] = hr__function_extend(c->f[i]))) return false;
    for (int i = 0; i < c->branches; i++)
        for (int j = 0; j < c->d[i].needs; j++)
            if (hr__input_of(f[i], c->d[i].need[j]) < 0 && hr__output_of(f[i], c->d[i].need[j]) < 0 &&
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
    return hr_node_exists(hr__extend_node(c->b->node, n->input, n->inputs, attrs, changes));
}

/* The derivative of branch i, called with what flows back and what it needs. */
static bool call_branch(caller *c, int i, hr_node *out)
{
    const hr_backward *b = c->b;
    const hr__derivative *d = &c->d[i];
    const hr_node last = hr__newest(b->node);
    hr_graph *g = hr__innermost(b->graph);
    const hr_function *f = hr__function_of(b, last, branch_attr(c, i), i);
    hr_node *in = hr__arena_get(&g->arena, sizeof *in * (size_t)(d->taken + d->needs + 1));
    int n = 0;
    if (!f || !in) return false;
    for (int j = 0; j < b->outputs; j++)
        if (c->flows[j]) in[n++] = b->grad[j];
    for (int j = 0; j < d->needs; j++) {
        const int input = hr__input_of(f, d->need[j]);
        in[n++] = input >= 0 ? b->input[c->first + input] : hr_node_output(last, hr__output_of(f, d->need[j]));
    }
    return hr__call_derivative(b, d, in, out);
}

/* What all branches give of each input: slices if one of them does. */
static int agree_on_parts(caller *c)
{
    int results = 0, wanted = 0;
    for (int i = 0; i < c->b->inputs - c->first; i++) {
        for (int j = 0; c->wanted[i] && j < c->branches; j++) {
            const hr__derivative *d = &c->d[j];
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
static void put_results(const caller *c, const hr__derivative *d, const hr_node *own, hr_node *results)
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
    const hr__derivative *d = &calls->c->d[calls->next];
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

/* Which inputs something flows to, at all. */
static int find_wanted(caller *c)
{
    int count = 0;
    for (int i = 0; i < c->b->outputs; i++) c->flows[i] = c->b->grad[i].graph != NULL;
    for (int i = 0; i < c->branches; i++)
        if (!hr__find_connected(c->f[i], c->flows, c->wanted)) return -1;
    for (int i = 0; i < c->b->inputs - c->first; i++) count += c->wanted[i];
    return count;
}

static void derive_call(caller *c)
{
    hr_backward *b = c->b;
    if (b->inputs > HR__MAX_CALL || b->outputs > HR__MAX_CALL || c->branches > MAX_BRANCHES) {
        hr__gradient_refuse(b, "expected fewer inputs, results and branches");
        return;
    }
    if (!find_functions(c, b->node)) return;
    const int wanted = find_wanted(c);
    if (wanted <= 0) return;
    for (int i = 0; i < c->branches; i++) hr__know_inputs(b, c->f[i], c->first);
    for (int i = 0; i < c->branches; i++)
        if (!hr__differentiate(b, c->f[i], c->flows, c->wanted, NULL, &c->d[i])) return;
    if (!extend_call(c)) {
        if (!hr__gradient_failed(b)) hr__graph_no_memory(hr__root(b->graph), "a gradient");
        return;
    }
    call_derivatives(c);
    for (int i = 0, n = 0; i < b->inputs - c->first; n += c->parts[i++]) {
        const hr_node x = b->input[c->first + i];
        if (c->parts[i] == 0) continue;
        hr__set_gradient_shape(c->out[n], x, c->parts[i] == 2);
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
