/* Sparse updates of many variables with the same numbers become one node, as of the tables of a linear model, each of
 * which takes a microsecond or less. Their bits stay the same, since no two use the same variable. */
#include "train/passes/together.h"

enum { FEWEST = 2, MAX_SCALARS = 4 };

/* An op that updates a variable, the first of its inputs, and the slots after it by a sparse gradient; and the op that
 * updates many: handles, gradients, indices, scalars. */
typedef struct update_op {
    const char *one, *many;
    int slots, grad; /* grad: the input before the indices */
    int scalar[MAX_SCALARS], scalars;
    const char *flag; /* an attribute of both */
} update_op;

static const update_op update_ops[] = {
    {"ResourceSparseApplyFtrl", "Headrace>SparseApplyFtrlMany", 2, 3, {5, 6, 7, 8}, 4, "multiply_linear_by_lr"},
    {"ResourceSparseApplyAdagradV2", "Headrace>SparseApplyAdagradMany", 1, 4, {2, 3}, 2, "update_slots"},
};

typedef struct updating {
    hr_rewrite *r;
    hr_graph *g;
    const update_op *op;
    hr_node *member, *inputs; /* at most HR_MAX_HANDLES, and as many of each kind */
    int count;
    together_handles handles; /* of all members */
} updating;

static const update_op *update_op_of(hr_node node)
{
    for (size_t i = 0; i < sizeof update_ops / sizeof *update_ops; i++)
        if (together_is(node, update_ops[i].one)) return &update_ops[i];
    return NULL;
}

/* The node of its rate; -1: it is no update of a float variable that sums the gradients of one row first. */
static int32_t updates_rate(hr_node node)
{
    const update_op *op = update_op_of(node);
    const bool is_one = op && hr_attr_bool(node, "_sum_duplicates") &&
                        hr_node_dtype(hr_node_input(node, op->grad)) == HR_FLOAT &&
                        hr_node_dtype(hr_node_input(node, op->grad + 1)) == HR_INT64;
    return is_one ? hr_node_input(node, op->scalar[0]).id : -1;
}

/* Of the same op, with the same numbers. */
static bool updates_alike(const update_op *op, hr_node a, hr_node b)
{
    if (update_op_of(b) != op || hr_attr_bool(a, op->flag) != hr_attr_bool(b, op->flag)) return false;
    for (int i = 0; i < op->scalars; i++)
        if (!together_same(hr_node_input(a, op->scalar[i]), hr_node_input(b, op->scalar[i]))) return false;
    return true;
}

/* Notes the variable and the slots of a member. False: it has one that another one has, or there are too many. */
static bool updates_note(updating *u, hr_node node)
{
    const int before = u->handles.count;
    if (before + 1 + u->op->slots > HR_MAX_HANDLES) return false;
    for (int i = 0; i <= u->op->slots; i++) {
        hr_handle_info *handle = &u->handles.info[u->handles.count];
        bool known = hr_handle_of(hr_node_input(node, i), handle);
        for (int j = 0; j < u->handles.count; j++) known = known && !together_same_handle(&u->handles.info[j], handle);
        if (!known) u->handles.count = before;
        if (!known) return false;
        u->handles.count++;
    }
    u->member[u->count++] = node;
    return true;
}

static bool updates_is_member(const updating *u, int *next, hr_node node)
{
    if (*next >= u->count || u->member[*next].id != node.id) return false;
    (*next)++;
    return true;
}

/* Nobody else uses the variables from the first update to the last. */
static bool updates_are_alone(const updating *u)
{
    int next = 0;
    for (int32_t id = u->member[0].id; id <= u->member[u->count - 1].id; id++) {
        const hr_node node = {u->g, id, 0};
        if (!updates_is_member(u, &next, node) && together_uses(&u->handles, node, false)) return false;
    }
    return true;
}

/* Those of a chain that are like the first one and could run in its place. */
static bool updates_find(updating *u, const int32_t *next, hr_node first)
{
    u->op = update_op_of(first);
    u->count = u->handles.count = 0;
    for (int32_t id = first.id; id >= 0; id = next[id]) {
        const hr_node node = {u->g, id, 0};
        if (updates_alike(u->op, first, node) && together_could_run_at(node, first)) (void)updates_note(u, node);
    }
    return u->count >= FEWEST && updates_are_alone(u);
}

static hr_status updates_make(const updating *u, hr_error *err)
{
    const update_op *op = u->op;
    const hr_node first = u->member[0];
    const int kinds = op->slots + 3;
    for (int i = 0; i < u->count; i++)
        for (int j = 0; j < kinds; j++)
            u->inputs[j * u->count + i] =
                hr_node_input(u->member[i], j <= op->slots ? j : op->grad + j - op->slots - 1);
    for (int i = 0; i < op->scalars; i++) u->inputs[kinds * u->count + i] = hr_node_input(first, op->scalar[i]);
    const hr_attr attrs[] = {HR_INT_ATTR("N", u->count), HR_BOOL_ATTR(op->flag, hr_attr_bool(first, op->flag))};
    const hr_node made = hr_new_node(u->g, op->many, .name = hr_node_name(first), .inputs = u->inputs,
                                     .input_count = kinds * u->count + op->scalars, .attrs = attrs, .attr_count = 2);
    if (!hr_node_exists(made)) return HR_OK; /* the error is the graph's */
    for (int i = 0; i < u->count; i++) HR_TRY(hr_rewrite_replace(u->r, hr_target(u->member[i]), hr_target(made), err));
    return HR_OK;
}

static hr_status sparse_updates_run(hr_rewrite *r, hr_error *err)
{
    updating u = {.r = r, .g = hr_rewrite_graph(r)};
    together_chains chains = {0};
    const int32_t size = hr_graph_size(u.g);
    hr_status st = together_chain(u.g, size, updates_rate, &chains, err);
    u.member = hr_malloc(sizeof *u.member * HR_MAX_HANDLES);
    u.inputs = hr_malloc(sizeof *u.inputs * (HR_MAX_HANDLES * 2 + MAX_SCALARS));
    u.handles.info = hr_malloc(sizeof *u.handles.info * HR_MAX_HANDLES);
    if (st == HR_OK && (!u.member || !u.inputs || !u.handles.info)) st = hr_no_memory(err, "a pass");
    for (int32_t of = 0; st == HR_OK && of < size; of++) {
        const int32_t first = chains.first[of];
        if (first >= 0 && updates_find(&u, chains.next, (hr_node){u.g, first, 0})) st = updates_make(&u, err);
    }
    together_chains_free(&chains);
    hr_free(u.member);
    hr_free(u.inputs);
    hr_free(u.handles.info);
    return st;
}

const hr_graph_pass hr_graph_pass_sparse_updates = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "sparse_updates",
    .text = "updates many variables by sparse gradients in one node, as those of a linear model",
    .traits = HR_PASS_EXACT | HR_PASS_FOR_RUNS,
    .run = sparse_updates_run,
};
