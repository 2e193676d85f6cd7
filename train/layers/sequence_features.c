/* SequenceFeatures: the dense forms of columns of sequences, in the order of their names, side by side at every step;
 * and a context beside them. */
#include "train/layers/layers_internal.h"

static hr_node padded_column(const hr_features *features, const hr_column_info *info, hr_node lengths,
                             const hr_input_layer_opts *opts)
{
    hr_graph *g = hr_features_graph(features);
    const hr_node values = hr__dense_column(features, info, opts->not_trainable);
    if (!hr_node_exists(values)) return values;
    const hr_node padding = hr_scalar(g, hr_node_dtype(values), (double)info->padding);
    const hr_node indices = hr__feature_indices(features, info->component);
    if (indices.graph) return hr__padded_by_ops(values, indices, lengths, info->width, padding);
    return hr_new_node(g, "Headrace>PadSequence",
                       HR_INPUTS(values, padding, hr_feature_row_splits(features, info->component)),
                       .controls = &lengths, .control_count = 1);
}

/* Whether columns agree about lengths is asked first: what is of other lengths cannot stand side by side. */
static hr_node sequence_side_by_side(const hr_features *features, const hr_feature_column **column, int count,
                                     hr_node *part, hr_node *lengths, const hr_input_layer_opts *opts)
{
    hr_graph *g = hr_features_graph(features);
    for (int i = 0; i < count; i++) {
        const char *component = hr_feature_column_info(column[i])->component;
        part[i] = hr_feature_row_splits(features, component);
        if (!part[i].graph)
            return hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.feature", "%s: expected a sequence with row splits",
                                component);
    }
    *lengths = hr__features_rows(features).graph
                   ? hr__lengths_by_ops(part, count)
                   : hr_new_node(g, "Headrace>SequenceLength", .inputs = part, .input_count = count);
    for (int i = 0; i < count; i++)
        part[i] = padded_column(features, hr_feature_column_info(column[i]), *lengths, opts);
    return count == 1 ? part[0] : hr_concat(part, count, 2);
}

static hr_node sequence_in_scope(const hr_features *features, hr_column_list columns, const hr_feature_column **sorted,
                                 hr_node *part, hr_node *lengths, const hr_input_layer_opts *opts)
{
    hr_error err;
    hr_graph *g = hr_features_graph(features);
    if (hr_sort_columns(columns, opts->tf_compat ? HR_TF_SEQUENCE_FEATURES : HR_SEQUENCE_FEATURES, sorted, &err) !=
        HR_OK)
        return hr_node_fail(g, err.code, err.kind, "sequence_features: %s", err.text);
    hr__layer_begin(g, opts->name, "sequence_features");
    hr_node out = sequence_side_by_side(features, sorted, columns.count, part, lengths, opts);
    hr_scope_end(g);
    return out;
}

hr_node hr_sequence_features_with(const hr_features *features, hr_column_list columns, hr_node *sequence_length,
                                  const hr_input_layer_opts *opts)
{
    opts = &HR_OPTIONS(hr_input_layer_opts, opts);
    if (sequence_length) *sequence_length = (hr_node){0};
    if (!hr_features_graph(features)) return (hr_node){0};
    const hr_feature_column **sorted = hr_malloc((size_t)(columns.count + 1) * sizeof *sorted);
    hr_node *part = hr_calloc((size_t)columns.count + 1, sizeof *part), lengths = {0}, out;
    if (sorted && part)
        out = sequence_in_scope(features, columns, sorted, part, &lengths, opts);
    else
        out = hr_node_fail(hr_features_graph(features), HR_RESOURCE_EXHAUSTED, "memory",
                           "no memory for a sequence layer");
    hr_free(sorted);
    hr_free(part);
    if (sequence_length) *sequence_length = lengths;
    return out;
}

hr_node hr_concatenate_context_input(hr_node context, hr_node sequence)
{
    hr_graph *g = sequence.graph;
    const hr_shape shape = hr_node_shape(context);
    const hr_node one = hr_ints(g, HR_I64(1), 1), sizes = hr_shape_of(sequence);
    const hr_node rows = hr_slice(sizes, hr_ints(g, HR_I64(0), 1), one), steps = hr_slice(sizes, one, one);
    const hr_node multiples[] = {one, steps, one};
    hr_node tiled = hr_tile(hr_expand_dims(context, hr_scalar(g, HR_INT32, 1)), hr_concat(multiples, 3, 0));
    if (shape.rank == 2 && shape.dims[1] > 0) { /* the layers above want to know the width */
        const hr_node known[] = {rows, steps, hr_ints(g, &shape.dims[1], 1)};
        tiled = hr_reshape(tiled, hr_concat(known, 3, 0));
    }
    return hr_concat((const hr_node[]){sequence, tiled}, 2, 2);
}
