/* Rows of ids combined by a table, or counted. Where the ids are fed, our own ops do it in one node. Where the graph
 * makes them itself, so that it can be exported, TensorFlow's ops do, to the results of safe_embedding_lookup_sparse. */
#include "train/layers/layers_internal.h"

hr_node hr__rows_of(hr_node indices) { return hr_strided_slice(indices, {0}, {.at = HR_I64(0)}); }

/* 0, 1, 2, ... as many as there are ids. */
static hr_node each_of(hr_node ids)
{
    hr_graph *g = ids.graph;
    return hr_range_values(hr_scalar(g, HR_INT64, 0), hr_cast_to(hr_size_of(ids), HR_INT64), hr_scalar(g, HR_INT64, 1));
}

/* Whose ids make one row of results: those of a row, or those of a step. */
hr_status hr__ids_of(const hr_features *features, const hr_column_info *info, bool by_step, hr__ids *out)
{
    hr_graph *g = hr_features_graph(features);
    const hr_node indices = hr__feature_indices(features, info->component);
    const hr_node rows = hr_feature_row_splits(features, info->component);
    const hr_node steps = hr_feature_step_splits(features, info->component);
    *out = (hr__ids){.ids = hr_feature_values(features, info->component),
                     .all_count = hr__feature_all_count(features, info->component)};
    if (!hr_node_exists(out->ids)) return HR_INVALID_ARGUMENT;
    if (info->weights) out->weights = hr_feature_values(features, info->weights);
    if (indices.graph && by_step && steps.graph) {
        out->count = hr_cast_to(hr_size_of(out->ids), HR_INT64);
        out->segments = each_of(out->ids);
    } else if (indices.graph) {
        out->count = hr__features_rows(features);
        out->segments = hr__rows_of(indices);
    } else if (info->sequence) {
        out->splits = by_step || !rows.graph || !steps.graph ? (by_step ? steps : rows) : hr_gather(steps, rows, 0);
    } else {
        out->splits = rows;
    }
    if (out->splits.graph || out->segments.graph) return HR_OK;
    hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.feature", "%s: expected ids with row splits", info->name);
    return HR_INVALID_ARGUMENT;
}

/* ---- by TensorFlow's ops ---- */

static hr_node zero_of(hr_node x) { return hr_scalar_like(x, 0); }

static hr_node sum_of_segments(hr_node values, const hr__ids *in)
{
    return hr_unsorted_segment_sum(values, in->segments, in->count);
}

/* Without ids below 0, and, if something is divided by them, weights that are not above 0. */
static hr__ids ids_that_count(const hr__ids *in, hr_combiner combiner)
{
    hr__ids out = *in;
    if (in->all_count && (!in->weights.graph || combiner == HR_SUM)) return out;
    hr_node counts = hr_greater_equal(in->ids, zero_of(in->ids));
    if (in->weights.graph && combiner != HR_SUM)
        counts = hr_logical_and(counts, hr_greater(in->weights, zero_of(in->weights)));
    const hr_node at = hr_squeeze(hr_where_true(counts), HR_I64(1), 1);
    out.ids = hr_gather(in->ids, at, 0);
    out.segments = hr_gather(in->segments, at, 0);
    if (in->weights.graph) out.weights = hr_gather(in->weights, at, 0);
    return out;
}

hr_node hr__clipped_rows(hr_node rows, int rank, float max_norm)
{
    int64_t axes[HR_MAX_RANK];
    if (!(max_norm > 0)) return rows;
    if (rank < 0)
        return hr_node_fail(rows.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "expected a table of known rank, whose rows have a norm");
    for (int i = 0; i < rank; i++) axes[i] = i - rank;
    const hr_node squares = hr_square(rows);
    const hr_node norm = rank == 0
                             ? hr_sqrt(squares)
                             : hr_sqrt(hr_reduce_sum(squares, .axes = axes, .axis_count = rank, .keep_dims = true));
    const hr_node limit = hr_scalar_like(rows, (double)max_norm);
    return hr_div(hr_mul(rows, limit), hr_maximum(norm, limit));
}

static hr_node weighted_rows(hr_node rows, const hr__ids *in, hr_combiner combiner)
{
    const hr_node weight = hr_expand_dims(in->weights, hr_scalar(rows.graph, HR_INT32, 1));
    const hr_node sum = sum_of_segments(hr_mul(rows, weight), in);
    if (combiner == HR_SUM) return sum;
    if (combiner == HR_MEAN) return hr_div_no_nan(sum, sum_of_segments(weight, in));
    return hr_div_no_nan(sum, hr_sqrt(sum_of_segments(hr_mul(weight, weight), in)));
}

/* Each row is taken once, so that the gradient has one slice for each id, as that of the op for fed ids. */
static hr_node looked_up(const hr__ids *in, hr_node table, hr_combiner combiner, float max_norm)
{
    static const char *const op[] = {[HR_MEAN] = "SparseSegmentMeanWithNumSegments",
                                     [HR_SUM] = "SparseSegmentSumWithNumSegments",
                                     [HR_SQRTN] = "SparseSegmentSqrtNWithNumSegments"};
    const hr__ids kept = ids_that_count(in, combiner);
    const hr_node once = hr_unique_values(kept.ids), place = hr_node_output(once, 1);
    const hr_node rows = hr__clipped_rows(hr_gather(table, once, 0), 1, max_norm);
    if (kept.weights.graph) return weighted_rows(hr_gather(rows, place, 0), &kept, combiner);
    return hr_new_node(table.graph, op[combiner], HR_INPUTS(rows, place, kept.segments, kept.count));
}

/* Ids out of range count for nothing: the op leaves out what has a negative number. */
static hr_node counted(const hr__ids *in, int64_t depth)
{
    hr_graph *g = in->ids.graph;
    const hr_node end = hr_scalar(g, HR_INT64, (double)depth);
    const hr_node fits = hr_logical_and(hr_greater_equal(in->ids, zero_of(in->ids)), hr_less(in->ids, end));
    const hr_node place = hr_where(fits, hr_add(hr_mul(in->segments, end), in->ids), hr_scalar(g, HR_INT64, -1));
    const hr_node each = in->weights.graph ? in->weights : hr_ones_like(hr_cast_to(in->ids, HR_FLOAT));
    const hr_node sums = hr_new_node(g, "UnsortedSegmentSum", HR_INPUTS(each, place, hr_mul(in->count, end)));
    return hr_reshape(sums, hr_shape_const(g, HR_SHAPE(-1, depth)));
}

static hr_node length_of_rows(hr_node splits)
{
    const hr_node ends = hr_strided_slice(splits, {.begin = HR_I64(1)});
    const hr_node begins = hr_strided_slice(splits, {.end = HR_I64(-1)});
    return hr_cast_to(hr_sub(ends, begins), HR_INT64);
}

hr_node hr__lengths_by_ops(const hr_node *splits, int count)
{
    hr_node lengths = length_of_rows(splits[0]);
    for (int i = 1; i < count; i++)
        lengths = hr__checked(lengths, hr_equal(lengths, length_of_rows(splits[i])),
                              "sequences: expected columns of equal lengths, got others");
    return lengths;
}

hr_node hr__padded_by_ops(hr_node steps, hr_node indices, hr_node lengths, int64_t width, hr_node padding)
{
    hr_graph *g = steps.graph;
    const hr_node longest = hr_maximum(hr_reduce_max(lengths), hr_scalar(g, HR_INT64, 0));
    const hr_node rows = hr_cast_to(hr_size_of(lengths), HR_INT64);
    const hr_node shape = hr_new_node(g, "Pack", HR_INPUTS(rows, longest, hr_scalar(g, HR_INT64, (double)width)));
    return hr_new_node(g, "TensorScatterUpdate", HR_INPUTS(hr_fill(shape, padding), indices, steps));
}

/* ---- by either ---- */

hr_node hr__ids_look_up(const hr__ids *in, hr_node table, hr_combiner combiner, float max_norm)
{
    if (in->segments.graph && (unsigned)combiner <= HR_SQRTN) return looked_up(in, table, combiner, max_norm);
    return hr_embedding_lookup_sparse(table, in->ids, in->splits, .combiner = combiner, .weights = in->weights,
                                      .max_norm = max_norm);
}

hr_node hr__ids_count(const hr__ids *in, int64_t depth)
{
    return in->segments.graph ? counted(in, depth) : hr_multi_hot(in->ids, in->splits, in->weights, depth);
}
