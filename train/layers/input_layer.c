/* input_layer: the dense forms of columns, in the order of their names, side by side. */
#include "train/checkpoint/folder.h"
#include "train/graph/graph_internal.h"
#include "train/layers/layers_internal.h"

#include <headrace/checkpoint.h>
#include <stdio.h>

/* ---- one column ---- */

/* Tells which column it is whose table cannot be had. */
static hr_node refuse_table(hr_graph *g, const hr_column_info *info, const hr_error *err)
{
    return hr_node_fail(g, err->code, err->kind, "%s: %s", info->name, err->text);
}

static hr_status read_table(const hr_column_info *info, hr_tensor *value, hr_error *err)
{
    hr_bundle *bundle = NULL;
    HR_TRY(hr__checkpoint_open(info->table.ckpt_to_load_from, &bundle, err));
    hr_status st = hr_bundle_read(bundle, info->table.tensor_name_in_ckpt, value, err);
    hr_bundle_free(bundle);
    return st;
}

static hr_initializer initializer_of(const hr_table_info *t)
{
    if (t->initializer == HR_TABLE_CONSTANT) return hr_constant_value((double)t->mean);
    if (t->initializer == HR_TABLE_RANDOM_UNIFORM) return hr_random_uniform((double)t->minval, (double)t->maxval, 0);
    if (t->initializer == HR_TABLE_RANDOM_NORMAL) return hr_random_normal((double)t->mean, (double)t->stddev, 0);
    return hr_truncated_normal((double)t->mean, (double)t->stddev, 0);
}

static hr_node new_table(hr_graph *g, const hr_column_info *info, const char *name, bool not_trainable)
{
    const hr_table_info *t = &info->table;
    hr_tensor value = {0};
    hr_error err;
    hr_initializer initializer = initializer_of(t);
    if (t->ckpt_to_load_from) {
        if (read_table(info, &value, &err) != HR_OK) return refuse_table(g, info, &err);
        initializer = hr_initial_value(&value);
    }
    hr_node table = hr_get_variable(g, name, HR_FLOAT, HR_SHAPE(info->num_buckets, t->dimension),
                                    .initializer = initializer, .not_trainable = not_trainable || !t->trainable);
    hr_tensor_clear(&value);
    return table;
}

/* A shared table has its name for itself in the scope around the layer's columns, and is made once; of TensorFlow 1's
 * it is the name of a scope. */
static hr_node find_table(hr_graph *g, const hr_column_info *info, bool not_trainable)
{
    char full[2 * HR__NAME];
    if (!info->table.shared_name) {
        hr_variable_scope(g, info->table.scope);
        hr_node table = new_table(g, info, "embedding_weights", not_trainable);
        hr_scope_end(g);
        return table;
    }
    const char *name = info->table.v1 ? "embedding_weights" : info->table.scope;
    if (info->table.v1) hr_variable_scope(g, info->table.scope);
    snprintf(full, sizeof full, "%.500s%.500s", hr_variable_scope_name(g), name);
    const hr_variable_info *made = hr_variable_named(g, full);
    hr_node table = made ? made->handle : new_table(g, info, name, not_trainable);
    if (info->table.v1) hr_scope_end(g);
    return table;
}

static hr_node values_form(const hr_features *features, const hr_column_info *info)
{
    hr_node values = hr_feature_values(features, info->component);
    const hr_shape shape = hr_node_shape(values);
    if (shape.rank == 2 && shape.dims[1] == info->width) return values;
    return hr_reshape(values, hr_shape_const(hr_features_graph(features), HR_SHAPE(-1, info->width)));
}

hr_node hr__dense_column(const hr_features *features, const hr_column_info *info, bool not_trainable)
{
    hr_graph *g = hr_features_graph(features);
    if (!g) return (hr_node){0};
    if (info->dense == HR_COLUMN_VALUES) return values_form(features, info);
    hr__ids ids;
    if (hr__ids_of(features, info, info->sequence, &ids) != HR_OK) return hr_failed_node(g);
    if (info->dense == HR_COLUMN_COUNTS) return hr__ids_count(&ids, info->num_buckets);
    return hr__ids_look_up(&ids, find_table(g, info, not_trainable), info->table.combiner, info->table.max_norm);
}

/* ---- all of them ---- */

/* TensorFlow makes the table of such a column outside of any layer. */
static hr_node frozen_column(const hr_features *features, const hr_column_info *info)
{
    hr__variable_scope_at_root(hr_features_graph(features));
    const hr_node column = hr__dense_column(features, info, true);
    hr_scope_end(hr_features_graph(features));
    return column;
}

static hr_node input_layer_side_by_side(const hr_features *features, const hr_feature_column **column, int count,
                                        const hr_input_layer_opts *opts)
{
    hr_graph *g = hr_features_graph(features);
    hr_node *part = hr_malloc((size_t)count * sizeof *part);
    if (!part) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for an input layer");
    for (int i = 0; i < count; i++) {
        const hr_column_info *info = hr_feature_column_info(column[i]);
        part[i] = opts->freeze_shared && info->table.shared_name && !info->table.v1
                      ? frozen_column(features, info)
                      : hr__dense_column(features, info, opts->not_trainable);
    }
    hr_node all = count == 1 ? part[0] : hr_concat(part, count, 1);
    hr_free(part);
    return all;
}

hr_node hr_input_layer_with(const hr_features *features, hr_column_list columns, const hr_input_layer_opts *opts)
{
    opts = &HR_OPTIONS(hr_input_layer_opts, opts);
    hr_error err;
    hr_graph *g = hr_features_graph(features);
    const hr_feature_column **sorted = hr_malloc((size_t)(columns.count + 1) * sizeof *sorted);
    if (!sorted) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for an input layer");
    hr_node out;
    if (hr_sort_columns(columns, opts->tf_compat ? HR_TF_INPUT_LAYER : HR_INPUT_LAYER, sorted, &err) != HR_OK) {
        out = hr_node_fail(g, err.code, err.kind, "input_layer: %s", err.text);
    } else {
        hr__layer_begin(g, opts->name, "input_layer");
        out = input_layer_side_by_side(features, sorted, columns.count, opts);
        hr_scope_end(g);
    }
    hr_free(sorted);
    return out;
}
