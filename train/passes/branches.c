/* Branches whose predicate is a constant: SelectV2, If and Case become the one that is taken, and what TensorFlow 1's
 * Switch and Merge never take goes. */
#include <headrace/pass.h>
#include <string.h>

/* The number that decides: 0 or 1 of a bool, an int32's value. false: it is not known. */
static bool branches_constant(hr_node node, int64_t *number)
{
    const hr_attr *value = hr_node_attr(node, "value");
    if (!hr_node_is(node, "Const") || hr_node_controls(node) > 0 || !value) return false;
    const hr_tensor *t = value->tensor;
    if (t->shape.rank != 0 || (t->dtype != HR_BOOL && t->dtype != HR_INT32)) return false;
    *number = t->dtype == HR_BOOL ? *(const bool *)t->data : *(const int32_t *)t->data;
    return true;
}

/* What is taken has the shape of the result: nothing is broadcast. */
static hr_status take_side(hr_rewrite *r, hr_node node, bool first, hr_error *err)
{
    const hr_node side = hr_rewrite_input(r, node, first ? 1 : 2);
    if (hr_shape_count(hr_node_shape(side)) < 0 || !hr_shape_equal(hr_node_shape(side), hr_node_shape(node)))
        return HR_OK;
    HR_TRY(hr_rewrite_replace(r, hr_node_output(node, 0), side, err));
    return hr_rewrite_replace(r, hr_target(node), side, err);
}

/* A call of the branch, with all inputs but the predicate. */
static hr_status take_branch(hr_rewrite *r, hr_node node, const hr_func *branch, hr_error *err)
{
    const bool stateful = hr_node_descriptor(node)->traits & HR_STATEFUL;
    const int inputs = hr_node_inputs(node) - 1, controls = hr_node_controls(node), outputs = hr_node_outputs(node);
    hr_node *from = hr_malloc(sizeof *from * ((size_t)inputs + (size_t)controls + 1));
    hr_attr attrs[4] = {*hr_node_attr(node, "Tin"), *hr_node_attr(node, "Tout"), HR_FUNC_ATTR("f", branch)};
    if (!from) return hr_no_memory(err, "a pass");
    for (int i = 0; i < inputs; i++) from[i] = hr_rewrite_input(r, node, i + 1);
    for (int i = 0; i < controls; i++) from[inputs + i] = hr_node_control(node, i);
    attrs[3] = *hr_node_attr(node, "output_shapes");
    attrs[3].name = "_output_shapes";
    const hr_node made = hr_new_node(hr_rewrite_graph(r), stateful ? "StatefulPartitionedCall" : "PartitionedCall",
                                     .name = hr_node_name(node), .inputs = from, .input_count = inputs, .attrs = attrs,
                                     .attr_count = 4, .controls = from + inputs, .control_count = controls);
    hr_free(from);
    if (!hr_node_exists(made)) return HR_OK; /* the error is the graph's */
    for (int i = 0; i < outputs; i++)
        HR_TRY(hr_rewrite_replace(r, hr_node_output(node, i), hr_node_output(made, i), err));
    return hr_rewrite_replace(r, hr_target(node), made, err);
}

static hr_status take_known(hr_rewrite *r, hr_node node, hr_error *err)
{
    int64_t number;
    if (hr_node_inputs(node) == 0 || !branches_constant(hr_rewrite_input(r, node, 0), &number)) return HR_OK;
    if (hr_node_is(node, "SelectV2") && hr_node_controls(node) == 0) return take_side(r, node, number, err);
    if (hr_node_is(node, "If") || hr_node_is(node, "StatelessIf"))
        return take_branch(r, node, hr_node_attr(node, number ? "then_branch" : "else_branch")->func, err);
    if (!hr_node_is(node, "Case") && !hr_node_is(node, "StatelessCase")) return HR_OK;
    const hr_attr *branches = hr_node_attr(node, "branches");
    const int64_t last = branches->count - 1;
    return take_branch(r, node, &branches->funcs[number < 0 || number > last ? last : number], err);
}

/* ---- Switch and Merge ---- */

/* Of a node: it never runs; or, of a Switch, which of its outputs never has a value. */
enum { DEAD = 4, DEAD_OUTPUT = 1 };

typedef struct dead_branches {
    hr_rewrite *r;
    hr_graph *g;
    uint8_t *dead; /* by node: DEAD, or DEAD_OUTPUT << i */
} dead_branches;

static bool is_dead(const dead_branches *d, hr_node node)
{
    const uint8_t dead = d->dead[node.id];
    return dead & DEAD || (node.output >= 0 && node.output < 2 && dead & DEAD_OUTPUT << node.output);
}

/* How many inputs may have a value; *last: one of them. */
static int live_inputs(const dead_branches *d, hr_node node, int *last)
{
    int live = 0;
    for (int i = 0; i < hr_node_inputs(node); i++) {
        if (is_dead(d, hr_node_input(node, i))) continue;
        *last = i;
        live++;
    }
    return live;
}

static bool never_runs(const dead_branches *d, hr_node node)
{
    int last;
    const int live = live_inputs(d, node, &last);
    for (int i = 0; i < hr_node_controls(node); i++)
        if (is_dead(d, hr_node_control(node, i))) return true;
    return hr_node_descriptor(node)->traits & HR_MERGES ? live == 0 : live < hr_node_inputs(node);
}

static hr_status take_output(const dead_branches *d, hr_node node, hr_error *err)
{
    int64_t number;
    if (!branches_constant(hr_node_input(node, 1), &number)) return HR_OK;
    d->dead[node.id] |= (uint8_t)(DEAD_OUTPUT << !number);
    if (hr_node_controls(node) > 0) return HR_OK;
    return hr_rewrite_replace(d->r, hr_node_output(node, number != 0), hr_rewrite_input(d->r, node, 0), err);
}

/* Which input it was is asked rarely: then the node stays. */
static hr_status take_input(const dead_branches *d, hr_node node, hr_error *err)
{
    int i = 0;
    if (hr_node_controls(node) > 0 || live_inputs(d, node, &i) != 1) return HR_OK;
    const hr_node input = hr_rewrite_input(d->r, node, i);
    HR_TRY(hr_rewrite_replace(d->r, hr_node_output(node, 0), input, err));
    if (hr_node_descriptor(input)->traits & HR_SWITCHES) return HR_OK;
    return hr_rewrite_replace(d->r, hr_target(node), input, err);
}

static hr_status branches_run(hr_rewrite *r, hr_error *err)
{
    dead_branches d = {r, hr_rewrite_graph(r), NULL};
    const int32_t size = hr_graph_size(d.g);
    hr_status st = HR_OK;
    d.dead = hr_calloc((size_t)size + 1, 1);
    if (!d.dead) return hr_no_memory(err, "a pass");
    for (int32_t id = 0; st == HR_OK && id < size; id++) {
        const hr_node node = {d.g, id, 0};
        if (hr_rewrite_is_fed(r, node)) continue;
        if (never_runs(&d, node))
            d.dead[id] = DEAD;
        else if (hr_node_is(node, "Switch"))
            st = take_output(&d, node, err);
        else if (hr_node_is(node, "Merge"))
            st = take_input(&d, node, err);
        else
            st = take_known(r, node, err);
    }
    hr_free(d.dead);
    return st;
}

const hr_graph_pass hr_graph_pass_branches = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "branches",
    .text = "takes the branch that a constant decides for",
    .traits = HR_PASS_EXACT,
    .run = branches_run,
};
