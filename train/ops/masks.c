/* What masks choose, made of several nodes. */
#include <headrace/arrays.h>
#include <headrace/kernels.h>

/* The masked dimensions become one, of which rows are taken. */
hr_node hr_boolean_mask(hr_node x, hr_node mask, int axis)
{
    hr_graph *g = x.graph;
    if (!hr_node_exists(x) || !hr_node_exists(mask)) return hr_failed_node(g);
    x = hr_node_value(x), mask = hr_node_value(mask);
    const hr_shape in = hr_node_shape(x), covered = hr_node_shape(mask);
    const int at = axis < 0 && in.rank >= 0 ? axis + in.rank : axis;
    bool fits = covered.rank > 0 && at >= 0 && (in.rank < 0 || at <= in.rank - covered.rank);
    for (int i = 0; fits && in.rank >= 0 && i < covered.rank; i++)
        fits = in.dims[at + i] < 0 || covered.dims[i] < 0 || in.dims[at + i] == covered.dims[i];
    char masks[128], values[128];
    if (!fits)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.shape",
                            "hr_boolean_mask: expected a mask of the shape of values %s from dimension %d on, got %s",
                            hr_shape_text(in, values, sizeof values), axis,
                            hr_shape_text(covered, masks, sizeof masks));
    hr_name_scope(g, "boolean_mask");
    const hr_node shape = hr_shape_of(x), minus = hr_ints(g, HR_I64(-1), 1);
    const hr_node parts[] = {hr_strided_slice(shape, {.end = HR_I64(at)}), minus,
                             hr_strided_slice(shape, {.begin = HR_I64(at + covered.rank)})};
    const hr_node rows = covered.rank == 1 ? x : hr_reshape(x, hr_concat(parts, 3, 0));
    const hr_node chosen = hr_squeeze(hr_where_true(hr_reshape(mask, minus)), HR_I64(1), 1);
    const hr_node made = hr_gather(rows, chosen, at);
    hr_scope_end(g);
    return made;
}

/* The number of a slice stands in each place that a mask of its repeats has. */
hr_node hr_repeat_values(hr_node x, hr_node repeats, int axis)
{
    hr_graph *g = x.graph;
    if (!hr_node_exists(x) || !hr_node_exists(repeats)) return hr_failed_node(g);
    hr_name_scope(g, "repeat");
    const hr_node length = hr_strided_slice(hr_shape_of(x), {.at = HR_I64(axis)}, {.new_axis = true});
    const hr_node mask = hr_sequence_mask(hr_broadcast_to(repeats, length));
    const hr_node made = hr_gather(x, hr_strided_slice(hr_where_true(mask), {0}, {.at = HR_I64(0)}), axis);
    hr_scope_end(g);
    return made;
}
