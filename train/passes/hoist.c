/* What a loop computes from variables that its turns do not change is computed once, before it, and handed in: the
 * StatelessWhile gets variables more, and copies of its functions that take them. Only what cannot fail is moved, since
 * a loop may have no turn: element-wise ops of floats and products, of known shapes. */
#include <headrace/pass.h>
#include <string.h>

enum {
    MAX_MOVED = 32, /* of a loop */
    MAX_TAKEN = 4,  /* inputs of what is moved */
    MAX_VARS = 128  /* of a new loop, and inputs of its nodes */
};

/* The condition or the body. */
typedef struct hoist_side {
    const hr_function *f;
    hr_graph *graph;
    hr_node *outer; /* by node: what stands for it before the loop; no graph: it changes */
    hr_node *copy;  /* by node: what it is in the new function */
} hoist_side;

typedef struct hoisting {
    hr_rewrite *r;
    hr_graph *g;
    hr_node loop;
    int vars, moved;
    hoist_side side[2];
    int from[MAX_MOVED]; /* the side */
    int32_t id[MAX_MOVED];
} hoisting;

/* ---- what may be moved ---- */

/* Every value has a result; shapes that are known have been checked. */
static bool hoist_never_fails(hr_node node)
{
    static const char *const ops[] = {"Add",     "AddV2",  "Sub",  "Mul",     "RealDiv", "Neg",   "Square",   "Sqrt",
                                      "Rsqrt",   "Exp",    "Log",  "Sigmoid", "Tanh",    "Relu",  "Abs",      "Maximum",
                                      "Minimum", "MatMul", "Cast", "Pow",     "Softmax", "Log1p", "Softplus", "Elu"};
    const hr_dtype dtype = hr_node_dtype(node);
    bool known = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) known |= hr_node_is(node, ops[i]);
    return known && (dtype == HR_FLOAT || dtype == HR_DOUBLE);
}

static bool hoist_is_constant(hr_node node) { return hr_node_is(node, "Const") && hr_node_dtype(node) != HR_STRING; }

static bool hoist_may_move(const hoist_side *s, hr_node node)
{
    if (!hoist_never_fails(node) || !hr_node_is_pure(node) || hr_node_controls(node) > 0 ||
        hr_node_inputs(node) > MAX_TAKEN)
        return false;
    bool changes = false, constant = true;
    for (int i = 0; i < hr_node_inputs(node); i++) {
        const hr_node input = hr_node_input(node, i);
        changes |= (!s->outer[input.id].graph && !hoist_is_constant(input)) || input.output != 0 ||
                   hr_shape_count(hr_node_shape(input)) < 0;
        constant &= hoist_is_constant(input);
    }
    return !changes && !constant; /* what depends on constants alone is folded */
}

/* A variable is the same after each turn. */
static bool hoist_stays(const hr_function *body, int i)
{
    hr_node output = hr_function_output_at(body, i);
    const hr_node input = hr_function_input_at(body, i);
    while (hr_node_is(output, "Identity") && hr_node_controls(output) == 0) output = hr_node_input(output, 0);
    return output.id == input.id && hr_node_dtype(input) != HR_RESOURCE && hr_node_dtype(input) != HR_VARIANT;
}

/* Whether a function can be copied node by node: nothing in it has an effect, waits, or is of a kind that only the
 * graph knows. */
static bool hoist_may_copy(const hr_function *f)
{
    hr_graph *graph = hr_function_graph(f);
    for (int i = 0; i < hr_function_inputs(f); i++)
        if (hr_node_dtype(hr_function_input_at(f, i)) == HR_RESOURCE) return false;
    for (int32_t id = 0; id < hr_graph_size(graph); id++) {
        const hr_node node = {graph, id, 0};
        const unsigned traits = hr_node_descriptor(node)->traits;
        if ((traits & (HR_STATEFUL | HR_SWITCHES | HR_MERGES) && !hr_node_is(node, "Placeholder")) ||
            hr_node_controls(node) > 0)
            return false;
        for (int i = 0; i < hr_node_inputs(node); i++)
            if (hr_node_input(node, i).id >= id || i == MAX_VARS) return false;
    }
    return true;
}

/* ---- moving ---- */

static void hoist_move(hoisting *h, int side, hr_node node)
{
    hoist_side *s = &h->side[side];
    hr_node inputs[MAX_TAKEN];
    for (int i = 0; i < hr_node_inputs(node); i++) {
        const hr_node input = hr_node_input(node, i);
        hr_node *outer = &s->outer[input.id];
        if (!outer->graph) *outer = hr_node_copy(h->g, input, NULL, NULL, 0);
        inputs[i] = *outer;
    }
    s->outer[node.id] = hr_node_copy(h->g, node, inputs, NULL, 0);
    h->from[h->moved] = side;
    h->id[h->moved++] = node.id;
}

static void hoist_look(hoisting *h, int side)
{
    hoist_side *s = &h->side[side];
    for (int i = 0; i < h->vars; i++)
        if (hoist_stays(h->side[1].f, i))
            s->outer[hr_function_input_at(s->f, i).id] = hr_rewrite_input(h->r, h->loop, i);
    for (int32_t id = 0; id < hr_graph_size(s->graph) && h->moved < MAX_MOVED; id++) {
        const hr_node node = {s->graph, id, 0};
        if (hoist_may_move(s, node)) hoist_move(h, side, node);
    }
}

static bool hoist_is_moved(const hoisting *h, int side, int32_t id)
{
    for (int i = 0; i < h->moved; i++)
        if (h->from[i] == side && h->id[i] == id) return true;
    return false;
}

/* What stays in its function, or is its result, takes it. */
static bool hoist_is_taken(const hoisting *h, int side, int32_t id)
{
    const hoist_side *s = &h->side[side];
    for (int i = 0; i < hr_function_outputs(s->f); i++)
        if (hr_function_output_at(s->f, i).id == id) return true;
    for (int32_t by = id + 1; by < hr_graph_size(s->graph); by++)
        for (int i = 0; i < hr_node_inputs((hr_node){s->graph, by, 0}); i++)
            if (hr_node_input((hr_node){s->graph, by, 0}, i).id == id && !hoist_is_moved(h, side, by)) return true;
    return false;
}

/* What only others take that are moved, too, is not handed in. */
static void hoist_keep_taken(hoisting *h)
{
    bool taken[MAX_MOVED];
    int kept = 0;
    for (int i = 0; i < h->moved; i++) taken[i] = hoist_is_taken(h, h->from[i], h->id[i]);
    for (int i = 0; i < h->moved; i++) {
        if (!taken[i]) continue;
        h->from[kept] = h->from[i];
        h->id[kept++] = h->id[i];
    }
    h->moved = kept;
}

/* ---- the functions anew ---- */

/* With an input more for each node that was moved, which stands for it if it was this function's. */
static const hr_function *hoist_function(hoisting *h, int side)
{
    hoist_side *s = &h->side[side];
    hr_node results[MAX_VARS];
    int count = hr_function_outputs(s->f);
    hr_graph *body = hr_function_begin(h->g, hr_function_name(s->f));
    for (int i = 0; body && i < h->vars + h->moved; i++) {
        const hr_node old = i < h->vars ? hr_function_input_at(s->f, i) : (hr_node){0};
        const hr_node from = i < h->vars ? old : h->side[h->from[i - h->vars]].outer[h->id[i - h->vars]];
        const hr_node made = hr_function_input(body, hr_node_dtype(from), hr_node_shape(from), "moved");
        if (i < h->vars) s->copy[old.id] = made;
        if (i >= h->vars && h->from[i - h->vars] == side) s->copy[h->id[i - h->vars]] = made;
        if (i >= h->vars && side == 1) results[count++] = made;
    }
    for (int32_t id = 0; body && id < hr_graph_size(s->graph); id++) {
        const hr_node node = {s->graph, id, 0};
        hr_node inputs[MAX_VARS];
        if (s->copy[id].graph) continue;
        for (int i = 0; i < hr_node_inputs(node); i++)
            inputs[i] = hr_node_output(s->copy[hr_node_input(node, i).id], hr_node_input(node, i).output);
        s->copy[id] = hr_node_copy(body, node, inputs, NULL, 0);
    }
    for (int i = 0; i < hr_function_outputs(s->f); i++) {
        const hr_node old = hr_function_output_at(s->f, i);
        results[i] = hr_node_output(s->copy[old.id], old.output);
    }
    return body ? hr_function_end(body, results, count) : NULL;
}

/* ---- the loop ---- */

static hr_status hoist_replace(hoisting *h, const hr_function *condition, const hr_function *body, hr_error *err)
{
    hr_node inputs[MAX_VARS];
    hr_shape shapes[MAX_VARS];
    const int total = h->vars + h->moved;
    const hr_attr *said = hr_node_attr(h->loop, "output_shapes");
    const hr_func cond_func = {.name = hr_function_name(condition)}, body_func = {.name = hr_function_name(body)};
    for (int i = 0; i < total; i++) {
        inputs[i] =
            i < h->vars ? hr_rewrite_input(h->r, h->loop, i) : h->side[h->from[i - h->vars]].outer[h->id[i - h->vars]];
        shapes[i] = i >= h->vars             ? hr_node_shape(inputs[i])
                    : said->count == h->vars ? said->shapes[i]
                                             : hr_node_shape(hr_node_output(h->loop, i));
    }
    const hr_node made =
        hr_new_node(h->g, hr_node_op(h->loop), .name = hr_node_name(h->loop), .inputs = inputs, .input_count = total,
                    HR_ATTRS(HR_FUNC_ATTR("cond", &cond_func), HR_FUNC_ATTR("body", &body_func),
                             *hr_node_attr(h->loop, "parallel_iterations"),
                             {.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = total, .shapes = shapes}));
    if (!hr_node_exists(made)) return HR_OK; /* the error is the graph's */
    for (int i = 0; i < h->vars; i++)
        HR_TRY(hr_rewrite_replace(h->r, hr_node_output(h->loop, i), hr_node_output(made, i), err));
    return hr_rewrite_replace(h->r, hr_target(h->loop), made, err);
}

static hr_status hoist_out_of(hoisting *h, hr_error *err)
{
    hoist_look(h, 1);
    hoist_look(h, 0);
    hoist_keep_taken(h);
    if (h->moved == 0) return HR_OK;
    const hr_function *condition = hoist_function(h, 0), *body = condition ? hoist_function(h, 1) : NULL;
    return body ? hoist_replace(h, condition, body, err) : HR_OK;
}

static hr_status hoist_loop(hr_rewrite *r, hr_node loop, hr_error *err)
{
    static const char *const names[] = {"cond", "body"};
    hoisting h = {.r = r, .g = hr_rewrite_graph(r), .loop = loop, .vars = hr_node_inputs(loop)};
    hr_status st = HR_OK;
    if (h.vars + MAX_MOVED > MAX_VARS || hr_node_controls(loop) > 0) return HR_OK;
    for (int i = 0; i < 2; i++) {
        const hr_function *f = hr_function_named(h.g, hr_node_attr(loop, names[i])->func->name);
        if (!f || hr_function_inputs(f) != h.vars || !hoist_may_copy(f)) return HR_OK;
        h.side[i].f = f;
        h.side[i].graph = hr_function_graph(f);
    }
    if (hr_function_outputs(h.side[1].f) != h.vars) return HR_OK;
    for (int i = 0; i < 2; i++) {
        const size_t nodes = (size_t)hr_graph_size(h.side[i].graph) + 1;
        h.side[i].outer = hr_calloc(nodes, sizeof(hr_node));
        h.side[i].copy = hr_calloc(nodes, sizeof(hr_node));
        if (!h.side[i].outer || !h.side[i].copy) st = hr_no_memory(err, "a pass");
    }
    if (st == HR_OK) st = hoist_out_of(&h, err);
    for (int i = 0; i < 2; i++) {
        hr_free(h.side[i].outer);
        hr_free(h.side[i].copy);
    }
    return st;
}

static hr_status hoist_run(hr_rewrite *r, hr_error *err)
{
    hr_graph *g = hr_rewrite_graph(r);
    const int32_t size = hr_graph_size(g);
    for (int32_t id = 0; id < size; id++)
        if (hr_node_is((hr_node){g, id, 0}, "StatelessWhile")) HR_TRY(hoist_loop(r, (hr_node){g, id, 0}, err));
    return HR_OK;
}

const hr_graph_pass hr_graph_pass_hoist = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "hoist",
    .text = "computes what no turn of a loop changes once, before it",
    .traits = HR_PASS_FOR_RUNS,
    .run = hoist_run,
};
