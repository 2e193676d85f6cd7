/* linear_model: for every column a sum of weights by ids, or its dense form times weights; the sums and a bias
 * together. Columns are added in the order of their names, so that float sums are TensorFlow's. */
#include "train/layers/layers_internal.h"

static hr_node sum_of_weights(const hr_features *features, const hr_column_info *info, const hr_linear_model_opts *opts,
                              int64_t units)
{
    hr_graph *g = hr_features_graph(features);
    if (!g) return (hr_node){0};
    hr__ids ids;
    if (hr__ids_of(features, info, false, &ids) != HR_OK) return hr_failed_node(g);
    hr_node table = hr_get_variable(g, "weights", HR_FLOAT, HR_SHAPE(info->num_buckets, units),
                                    .initializer = hr_zeros(), .not_trainable = opts->not_trainable);
    return hr__ids_look_up(&ids, table, opts->sparse_combiner ? *opts->sparse_combiner : HR_SUM, 0);
}

static hr_node column_sum(const hr_features *features, const hr_column_info *info, const hr_linear_model_opts *opts,
                          int64_t units)
{
    hr_graph *g = hr_features_graph(features);
    hr_node sum;
    if (!info->categorical) {
        hr_node dense = hr__dense_column(features, info, opts->not_trainable);
        hr_variable_scope(g, info->table.v1 ? info->table.scope : info->scope, .reuse = HR_REUSE_NEVER);
        sum = hr_matmul(dense, hr_get_variable(g, "weights", HR_FLOAT, HR_SHAPE(info->width, units),
                                               .initializer = hr_zeros(), .not_trainable = opts->not_trainable));
    } else {
        hr_variable_scope(g, info->scope);
        sum = sum_of_weights(features, info, opts, units);
    }
    hr_scope_end(g);
    return sum;
}

static hr_node sum_columns(const hr_features *features, const hr_feature_column **column, int count,
                           const hr_linear_model_opts *opts, int64_t units)
{
    hr_graph *g = hr_features_graph(features);
    hr_node *sum = hr_malloc((size_t)count * sizeof *sum);
    if (!sum) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a linear model");
    for (int i = 0; i < count; i++) sum[i] = column_sum(features, hr_feature_column_info(column[i]), opts, units);
    hr_node all = count == 1 ? sum[0] : hr_add_n(sum, count);
    hr_free(sum);
    hr_node bias = hr_get_variable(g, "bias_weights", HR_FLOAT, HR_SHAPE(units), .initializer = hr_zeros(),
                                   .not_trainable = opts->not_trainable);
    return hr_bias_add(all, bias);
}

hr_node hr_linear_model_with(const hr_features *features, hr_column_list columns, const hr_linear_model_opts *opts)
{
    opts = &HR_OPTIONS(hr_linear_model_opts, opts);
    hr_error err;
    hr_graph *g = hr_features_graph(features);
    const int64_t units = opts->units ? opts->units : 1;
    const hr_feature_column **sorted = hr_malloc((size_t)(columns.count + 1) * sizeof *sorted);
    if (!sorted) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a linear model");
    hr_node out;
    if (hr_sort_columns(columns, HR_LINEAR_MODEL, sorted, &err) != HR_OK) {
        out = hr_node_fail(g, err.code, err.kind, "linear_model: %s", err.text);
    } else {
        hr__layer_begin(g, opts->name, "linear_model");
        out = sum_columns(features, sorted, columns.count, opts, units);
        hr_scope_end(g);
    }
    hr_free(sorted);
    return out;
}
