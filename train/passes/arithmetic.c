/* Simpler forms of the same: what cancels goes, powers and quotients become cheaper ops. The last bits may differ, so
 * this pass runs where it is asked for. Each rule looks at one node and the nodes that it takes. */
#include <headrace/pass.h>
#include <string.h>

typedef struct simplifier {
    hr_rewrite *r;
    hr_node node;
    hr_node input[2]; /* by now */
} simplifier;

/* Gives what takes the node's place; no node: the rule does not apply. */
typedef hr_node rule_fn(const simplifier *s);

static const hr_node none = {0};

/* ---- looking at nodes ---- */

/* Computed as the user's graph says, by nothing but its inputs. */
static bool arithmetic_is_plain(const simplifier *s, hr_node node)
{
    return hr_node_is_pure(node) && hr_node_controls(node) == 0 && !hr_rewrite_is_fed(s->r, node);
}

/* What a node of that op takes; no node: it is another one. */
static hr_node argument_of(const simplifier *s, hr_node node, const char *op)
{
    return arithmetic_is_plain(s, node) && hr_node_is(node, op) ? hr_rewrite_input(s->r, node, 0) : none;
}

/* The tensor of a constant; NULL: it is none. */
static const hr_tensor *arithmetic_constant(const simplifier *s, hr_node node)
{
    return arithmetic_is_plain(s, node) ? hr_node_constant(node) : NULL;
}

/* A scalar of that value. */
static bool is_number(const simplifier *s, hr_node node, double value)
{
    const hr_tensor *t = arithmetic_constant(s, node);
    if (!t || t->shape.rank != 0) return false;
    if (t->dtype == HR_FLOAT) return *(const float *)t->data == (float)value;
    if (t->dtype == HR_DOUBLE) return *(const double *)t->data == value;
    if (t->dtype == HR_INT32) return *(const int32_t *)t->data == value;
    if (t->dtype == HR_INT64) return (double)*(const int64_t *)t->data == value;
    return false;
}

static bool is_float(hr_node node) { return hr_node_dtype(node) == HR_FLOAT || hr_node_dtype(node) == HR_DOUBLE; }

/* ---- making nodes, called as the one that they stand for ---- */

static hr_node make_unary(const simplifier *s, const char *op, hr_node x)
{
    return hr_new_node(hr_rewrite_graph(s->r), op, .name = hr_node_name(s->node), HR_INPUTS(x));
}

static hr_node make_binary(const simplifier *s, const char *op, hr_node x, hr_node y)
{
    return hr_new_node(hr_rewrite_graph(s->r), op, .name = hr_node_name(s->node), HR_INPUTS(x, y));
}

/* ---- rules ---- */

/* f(f(x)) = x: Neg, LogicalNot. */
static hr_node cancel_twice(const simplifier *s) { return argument_of(s, s->input[0], hr_node_op(s->node)); }

/* f(f(x)) = f(x): Relu, Abs, Floor and their kin. */
static hr_node apply_once(const simplifier *s)
{
    return argument_of(s, s->input[0], hr_node_op(s->node)).graph ? s->input[0] : none;
}

static hr_node simplify_add(const simplifier *s)
{
    if (is_number(s, s->input[1], 0)) return s->input[0];
    if (is_number(s, s->input[0], 0)) return s->input[1];
    const hr_node x = argument_of(s, s->input[0], "Neg"), y = argument_of(s, s->input[1], "Neg");
    if (y.graph) return make_binary(s, "Sub", s->input[0], y);
    return x.graph ? make_binary(s, "Sub", s->input[1], x) : none;
}

static hr_node simplify_sub(const simplifier *s)
{
    if (is_number(s, s->input[1], 0)) return s->input[0];
    const hr_node y = argument_of(s, s->input[1], "Neg");
    return y.graph ? make_binary(s, "AddV2", s->input[0], y) : none;
}

static hr_node simplify_mul(const simplifier *s)
{
    if (is_number(s, s->input[1], 1)) return s->input[0];
    if (is_number(s, s->input[0], 1)) return s->input[1];
    const bool same = s->input[0].id == s->input[1].id && s->input[0].output == s->input[1].output;
    return same && is_float(s->node) ? make_unary(s, "Square", s->input[0]) : none;
}

static hr_node simplify_div(const simplifier *s)
{
    if (is_number(s, s->input[1], 1)) return s->input[0];
    const hr_node root = is_float(s->node) ? argument_of(s, s->input[1], "Sqrt") : none;
    return root.graph ? make_binary(s, "Mul", s->input[0], make_unary(s, "Rsqrt", root)) : none;
}

static hr_node simplify_pow(const simplifier *s)
{
    static const struct {
        double power;
        const char *op;
    } powers[] = {{2, "Square"}, {0.5, "Sqrt"}, {-0.5, "Rsqrt"}, {-1, "Reciprocal"}};
    const hr_node x = s->input[0];
    if (!is_float(s->node)) return none;
    if (is_number(s, s->input[1], 1)) return x;
    if (is_number(s, s->input[1], 3)) return make_binary(s, "Mul", x, make_unary(s, "Square", x));
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
        if (is_number(s, s->input[1], powers[i].power)) return make_unary(s, powers[i].op, x);
    return none;
}

static hr_node square_of_difference(const simplifier *s)
{
    if (!argument_of(s, s->input[0], "Sub").graph || hr_rewrite_uses(s->r, s->input[0]) != 1) return none;
    return make_binary(s, "SquaredDifference", hr_rewrite_input(s->r, s->input[0], 0),
                       hr_rewrite_input(s->r, s->input[0], 1));
}

static hr_node log_of_softmax(const simplifier *s)
{
    const hr_node logits = argument_of(s, s->input[0], "Softmax");
    return logits.graph && hr_node_shape(logits).rank > 0 ? make_unary(s, "LogSoftmax", logits) : none;
}

/* Axis i of the result is axis perm[i] of the input. false: it is no constant. */
static bool known_order(const simplifier *s, hr_node transpose, int64_t perm[HR_MAX_RANK], int *rank)
{
    hr_shape order;
    const hr_tensor *t = arithmetic_constant(s, hr_rewrite_input(s->r, transpose, 1));
    if (!t || t->count > HR_MAX_RANK || !hr_shape_from_tensor(t, &order)) return false;
    *rank = order.rank;
    memcpy(perm, order.dims, sizeof *perm * (size_t)order.rank);
    for (int i = 0; i < *rank; i++)
        if (perm[i] < 0 || perm[i] >= *rank) return false;
    return true;
}

/* One that moves nothing, or two that cancel. */
static hr_node cancel_transpose(const simplifier *s)
{
    int64_t perm[HR_MAX_RANK], before[HR_MAX_RANK];
    int rank, rank_before;
    if (!known_order(s, s->node, perm, &rank)) return none;
    const hr_node x = argument_of(s, s->input[0], "Transpose");
    const bool two = x.graph && known_order(s, s->input[0], before, &rank_before) && rank == rank_before;
    bool moves_none = hr_node_shape(s->input[0]).rank == rank, cancel = two && hr_node_shape(x).rank == rank;
    for (int i = 0; i < rank; i++) {
        moves_none &= perm[i] == i;
        cancel = cancel && before[perm[i]] == i;
    }
    return moves_none ? s->input[0] : cancel ? x : none;
}

/* To the shape that it has; of what was reshaped only to be reshaped again. */
static hr_node shorten_reshape(const simplifier *s)
{
    const hr_shape shape = hr_node_shape(s->node);
    if (hr_shape_count(shape) >= 0 && hr_shape_equal(shape, hr_node_shape(s->input[0]))) return s->input[0];
    const hr_node x = argument_of(s, s->input[0], "Reshape");
    return x.graph ? make_binary(s, "Reshape", x, s->input[1]) : none;
}

/* Every value of `from` is one of `to`. */
static bool casts_without_loss(hr_dtype from, hr_dtype to)
{
    return (from == HR_FLOAT && to == HR_DOUBLE) || (from == HR_INT32 && (to == HR_INT64 || to == HR_DOUBLE)) ||
           (from == HR_BOOL && (to == HR_FLOAT || to == HR_DOUBLE || to == HR_INT32 || to == HR_INT64));
}

static hr_node drop_cast(const simplifier *s)
{
    if (hr_node_dtype(s->input[0]) == hr_node_dtype(s->node)) return s->input[0];
    const hr_node x = argument_of(s, s->input[0], "Cast");
    if (!x.graph || hr_node_dtype(x) != hr_node_dtype(s->node)) return none;
    return casts_without_loss(hr_node_dtype(x), hr_node_dtype(s->input[0])) ? x : none;
}

static hr_node sum_of_one(const simplifier *s) { return hr_node_inputs(s->node) == 1 ? s->input[0] : none; }

static const struct {
    const char *op;
    rule_fn *rule;
} rules[] = {
    {"Neg", cancel_twice},
    {"LogicalNot", cancel_twice},
    {"Relu", apply_once},
    {"Relu6", apply_once},
    {"Abs", apply_once},
    {"Floor", apply_once},
    {"Ceil", apply_once},
    {"Sign", apply_once},
    {"Add", simplify_add},
    {"AddV2", simplify_add},
    {"Sub", simplify_sub},
    {"Mul", simplify_mul},
    {"RealDiv", simplify_div},
    {"Pow", simplify_pow},
    {"Log", log_of_softmax},
    {"Cast", drop_cast},
    {"Square", square_of_difference},
    {"Transpose", cancel_transpose},
    {"Reshape", shorten_reshape},
    {"AddN", sum_of_one},
};

/* ---- all nodes ---- */

static hr_status simplify_node(hr_rewrite *r, hr_node node, hr_error *err)
{
    simplifier s = {.r = r, .node = node};
    if (!arithmetic_is_plain(&s, node) || hr_node_inputs(node) == 0 || hr_node_outputs(node) != 1) return HR_OK;
    for (int i = 0; i < 2 && i < hr_node_inputs(node); i++) s.input[i] = hr_rewrite_input(r, node, i);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!hr_node_is(node, rules[i].op)) continue;
        const hr_node by = rules[i].rule(&s);
        if (!hr_node_exists(by) || hr_node_dtype(by) != hr_node_dtype(node)) return HR_OK; /* an error is the graph's */
        HR_TRY(hr_rewrite_replace(r, node, by, err));
        return hr_rewrite_replace(r, hr_target(node), by, err);
    }
    return HR_OK;
}

static hr_status arithmetic_run(hr_rewrite *r, hr_error *err)
{
    hr_graph *g = hr_rewrite_graph(r);
    const int32_t size = hr_graph_size(g);
    for (int32_t id = 0; id < size; id++) HR_TRY(simplify_node(r, (hr_node){g, id, 0}, err));
    return HR_OK;
}

const hr_graph_pass hr_graph_pass_arithmetic = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "arithmetic",
    .text = "computes the same by fewer or cheaper nodes; the last bits may differ",
    .run = arithmetic_run,
};
