/* Rows that are taken by id only to be combined become one lookup: what tf.nn.embedding_lookup_sparse makes, with or
 * without weights, and a Gather whose rows are summed or averaged along the last dimension of its indices. The rows are
 * never written, nor are ids made unique. */
#include <headrace/pass.h>
#include <string.h>

typedef struct combining {
    hr_rewrite *r;
    hr_node gather; /* of the table: its place in the order is the lookup's if it reads a variable */
    hr_node table, ids, segments, weights, count; /* those after ids: no node if there are none */
    bool *done;                                   /* by node: a gather that a lookup stands for */
} combining;

static const hr_node nothing = {0};

/* Looked through: computed as the graph says, waits for nothing. */
static bool combine_is_plain(const combining *c, hr_node node)
{
    return hr_node_controls(node) == 0 && !hr_rewrite_is_fed(c->r, node) &&
           (hr_node_is_pure(node) || hr_node_is(node, "ResourceGather"));
}

static hr_node combine_input(const combining *c, hr_node node, int i) { return hr_rewrite_input(c->r, node, i); }

/* The node of that op, if one other node alone takes it. */
static bool combine_inner(const combining *c, hr_node node, const char *op)
{
    return hr_node_is(node, op) && combine_is_plain(c, node) && hr_rewrite_uses(c->r, node) == 1;
}

static hr_node through_identity(const combining *c, hr_node node)
{
    while (combine_inner(c, node, "Identity")) node = combine_input(c, node, 0);
    return node;
}

/* Segment ids as int64 or int32 are the same. */
static hr_node through_cast(const combining *c, hr_node node)
{
    if (!hr_node_is(node, "Cast") || !combine_is_plain(c, node)) return node;
    const hr_node from = combine_input(c, node, 0);
    return hr_node_dtype(from) == HR_INT64 && hr_node_dtype(node) == HR_INT32 ? from : node;
}

/* A whole number that is known. */
static bool combine_is_number(const combining *c, hr_node node, int64_t wanted)
{
    const hr_attr *value = hr_node_attr(node, "value");
    if (!hr_node_is(node, "Const") || !combine_is_plain(c, node) || !value || value->tensor->count != 1) return false;
    if (value->tensor->dtype == HR_INT32) return *(const int32_t *)value->tensor->data == wanted;
    return value->tensor->dtype == HR_INT64 && *(const int64_t *)value->tensor->data == wanted;
}

/* Whether it takes whole rows. */
static bool takes_rows(const combining *c, hr_node node)
{
    if (combine_inner(c, node, "GatherV2"))
        return hr_attr_int(node, "batch_dims") == 0 && combine_is_number(c, combine_input(c, node, 2), 0);
    return combine_inner(c, node, "Gather") ||
           (combine_inner(c, node, "ResourceGather") && hr_attr_int(node, "batch_dims") == 0);
}

/* Rows `at` of rows of a table by unique ids: those of the ids themselves. */
static bool through_unique(combining *c, hr_node rows, hr_node at)
{
    const hr_node gather = through_identity(c, rows);
    if (!takes_rows(c, gather)) return false;
    const hr_node unique = combine_input(c, gather, 1);
    if (!hr_node_is(unique, "Unique") || !combine_is_plain(c, unique) || unique.output != 0 || at.id != unique.id ||
        at.output != 1)
        return false;
    c->gather = gather;
    c->table = combine_input(c, gather, 0);
    c->ids = combine_input(c, unique, 0);
    return true;
}

/* What is gathered in one or two steps. */
static bool find_gather(combining *c, hr_node rows)
{
    const hr_node gather = through_identity(c, rows);
    if (!takes_rows(c, gather)) return false;
    if (c->segments.graph && hr_node_shape(combine_input(c, gather, 1)).rank != 1) return false;
    if (through_unique(c, combine_input(c, gather, 0), combine_input(c, gather, 1))) return true;
    c->gather = gather;
    c->table = combine_input(c, gather, 0);
    c->ids = combine_input(c, gather, 1);
    return true;
}

/* Of a vector of weights, as a column: the vector. */
static hr_node vector_of_column(const combining *c, hr_node column)
{
    const hr_shape shape = hr_node_shape(column);
    if (!combine_is_plain(c, column) || (!hr_node_is(column, "Reshape") && !hr_node_is(column, "ExpandDims")))
        return nothing;
    const hr_node vector = combine_input(c, column, 0);
    return shape.rank == 2 && shape.dims[1] == 1 && hr_node_shape(vector).rank == 1 ? vector : nothing;
}

/* SegmentSum of rows, or of rows with weights. */
static bool find_segment_sum(combining *c, hr_node sum, hr_node *column)
{
    if (!hr_node_is(sum, "SegmentSum") || !combine_is_plain(c, sum)) return false;
    const hr_node x = combine_input(c, sum, 0);
    c->segments = through_cast(c, combine_input(c, sum, 1));
    *column = nothing;
    if (!combine_inner(c, x, "Mul")) return find_gather(c, x);
    for (int i = 0; i < 2; i++) {
        *column = combine_input(c, x, i);
        c->weights = vector_of_column(c, *column);
        if (c->weights.graph && find_gather(c, combine_input(c, x, 1 - i)) && hr_node_shape(c->gather).rank == 2)
            return true;
    }
    return false;
}

static bool same_value(hr_node a, hr_node b) { return a.id == b.id && a.output == b.output; }

/* SegmentSum of the column, or of its squares, over the same segments. */
static bool sums_weights(const combining *c, hr_node sum, hr_node column, bool squares)
{
    if (!combine_inner(c, sum, "SegmentSum") || !same_value(through_cast(c, combine_input(c, sum, 1)), c->segments))
        return false;
    const hr_node of = combine_input(c, sum, 0);
    if (!squares) return same_value(of, column);
    if (!combine_is_plain(c, of)) return false;
    if (hr_node_is(of, "Square")) return same_value(combine_input(c, of, 0), column);
    if (hr_node_is(of, "Mul"))
        return same_value(combine_input(c, of, 0), column) && same_value(combine_input(c, of, 1), column);
    if (!hr_node_is(of, "Pow") || !same_value(combine_input(c, of, 0), column)) return false;
    const hr_node power = combine_input(c, of, 1);
    const hr_attr *value = hr_node_is(power, "Const") ? hr_node_attr(power, "value") : NULL;
    return value && combine_is_plain(c, power) && value->tensor->shape.rank == 0 && value->tensor->dtype == HR_FLOAT &&
           *(const float *)value->tensor->data == 2;
}

/* DivNoNan of the sum by the weights' sum, or by the root of the sum of their squares. */
static const char *find_weighted_mean(combining *c, hr_node div)
{
    hr_node column, by = combine_input(c, div, 1);
    const hr_node sum = combine_input(c, div, 0);
    if (hr_rewrite_uses(c->r, sum) != 1 || !find_segment_sum(c, sum, &column) || !column.graph) return NULL;
    if (sums_weights(c, by, column, false)) return "mean";
    if (!combine_inner(c, by, "Sqrt")) return NULL;
    return sums_weights(c, combine_input(c, by, 0), column, true) ? "sqrtn" : NULL;
}

/* Sum or Mean along the last dimension of the ids. */
static bool find_reduction(combining *c, hr_node reduce)
{
    if (hr_attr_bool(reduce, "keep_dims") || !find_gather(c, combine_input(c, reduce, 0))) return false;
    const int rank = hr_node_shape(c->ids).rank, all = hr_node_shape(c->gather).rank;
    const hr_node axis = combine_input(c, reduce, 1);
    return rank > 0 && all > 0 && (combine_is_number(c, axis, rank - 1) || combine_is_number(c, axis, rank - 1 - all));
}

/* How a node combines rows; NULL: it does not. */
static const char *find_combination(combining *c, hr_node node)
{
    static const struct {
        const char *op, *combiner;
    } sparse[] = {{"SparseSegmentSum", "sum"},
                  {"SparseSegmentMean", "mean"},
                  {"SparseSegmentSqrtN", "sqrtn"},
                  {"SparseSegmentSumWithNumSegments", "sum"},
                  {"SparseSegmentMeanWithNumSegments", "mean"},
                  {"SparseSegmentSqrtNWithNumSegments", "sqrtn"}};
    hr_node column;
    for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++) {
        if (!hr_node_is(node, sparse[i].op)) continue;
        c->segments = through_cast(c, combine_input(c, node, 2));
        if (hr_node_inputs(node) == 4) c->count = combine_input(c, node, 3);
        return through_unique(c, combine_input(c, node, 0), combine_input(c, node, 1)) ? sparse[i].combiner : NULL;
    }
    if (hr_node_is(node, "DivNoNan")) return find_weighted_mean(c, node);
    if (hr_node_is(node, "SegmentSum")) return find_segment_sum(c, node, &column) ? "sum" : NULL;
    if (hr_node_is(node, "SegmentMean")) {
        c->segments = through_cast(c, combine_input(c, node, 1));
        return find_gather(c, combine_input(c, node, 0)) ? "mean" : NULL;
    }
    if (hr_node_is(node, "Sum") || hr_node_is(node, "Mean"))
        return find_reduction(c, node) ? hr_node_is(node, "Sum") ? "sum" : "mean" : NULL;
    return NULL;
}

/* A variable is read where the gather stood, for which all else must be there by then. */
static bool may_stand_at(const combining *c, hr_node node)
{
    return (!node.graph || node.id < c->gather.id) && c->gather.output == 0;
}

static hr_status combine_node(combining *c, hr_node node, const char *combiner, hr_error *err)
{
    const bool resource = hr_node_is(c->gather, "ResourceGather");
    if (c->done[c->gather.id]) return HR_OK; /* as what is within a mean */
    hr_node inputs[5] = {c->table, c->ids};
    int count = 2;
    if (c->segments.graph) inputs[count++] = c->segments;
    if (c->weights.graph) inputs[count++] = c->weights;
    if (c->count.graph) inputs[count++] = c->count;
    if (resource && !(may_stand_at(c, c->ids) && may_stand_at(c, c->segments) && may_stand_at(c, c->weights) &&
                      may_stand_at(c, c->count)))
        return HR_OK;
    const hr_node made =
        hr_new_node(hr_rewrite_graph(c->r), resource ? "Headrace>ResourceGatherCombine" : "Headrace>GatherCombine",
                    .name = hr_node_name(node), .inputs = inputs, .input_count = count,
                    HR_ATTRS(HR_STRING_ATTR("combiner", combiner), HR_INT_ATTR("S", c->segments.graph != NULL),
                             HR_INT_ATTR("W", c->weights.graph != NULL), HR_INT_ATTR("N", c->count.graph != NULL)));
    if (!hr_node_exists(made)) return HR_OK; /* the error is the graph's */
    c->done[c->gather.id] = true;
    if (resource) HR_TRY(hr_rewrite_replace(c->r, hr_target(c->gather), made, err));
    HR_TRY(hr_rewrite_replace(c->r, node, made, err));
    return hr_rewrite_replace(c->r, hr_target(node), made, err);
}

static hr_status combine_all(hr_rewrite *r, bool *done, int32_t size, hr_error *err)
{
    hr_graph *g = hr_rewrite_graph(r);
    for (int32_t id = size - 1; id >= 0; id--) { /* a mean before the sum within it */
        const hr_node node = {g, id, 0};
        combining c = {.r = r, .done = done};
        if (hr_node_inputs(node) < 2 || hr_node_controls(node) > 0 || hr_node_outputs(node) != 1 ||
            hr_node_dtype(node) != HR_FLOAT || !hr_node_is_pure(node))
            continue;
        const char *combiner = find_combination(&c, node);
        if (combiner) HR_TRY(combine_node(&c, node, combiner, err));
    }
    return HR_OK;
}

static hr_status gather_combine_run(hr_rewrite *r, hr_error *err)
{
    const int32_t size = hr_graph_size(hr_rewrite_graph(r));
    bool *done = hr_calloc((size_t)size + 1, sizeof *done);
    const hr_status st = done ? combine_all(r, done, size, err) : hr_no_memory(err, "a pass");
    hr_free(done);
    return st;
}

const hr_graph_pass hr_graph_pass_gather_combine = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "gather_combine",
    .text = "looks rows up and combines them in one node; the last bits may differ",
    .traits = HR_PASS_FOR_RUNS,
    .run = gather_combine_run,
};
