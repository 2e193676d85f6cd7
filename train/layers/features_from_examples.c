/* Features that a graph makes itself: ParseExampleV2 of serialized Examples, and on its outputs the columns. */
#include "train/layers/layers_internal.h"

#include <headrace/text_ops.h>
#include <string.h>

static hr_status parse_features(hr_node serialized, const hr_parse_spec *spec, hr_column_nodes *raw, hr_error *err)
{
    hr_parsed_feature *parsed = hr_calloc((size_t)spec->features + 1, sizeof *parsed);
    if (!parsed) return hr_no_memory(err, "a parsing spec");
    hr_parse_example_nodes(serialized, spec, parsed);
    for (int i = 0; i < spec->features; i++) {
        const hr_feature *f = &spec->feature[i];
        raw[i] = (hr_column_nodes){.dtype = f->dtype,
                                   .width = f->kind == HR_FIXED_LEN ? hr_shape_count(f->shape) : 0,
                                   .values = hr__to_column(parsed[i].values),
                                   .indices = hr__to_column(parsed[i].indices),
                                   .dense_shape = hr__to_column(parsed[i].dense_shape)};
    }
    hr_free(parsed);
    return HR_OK;
}

/* ---- components ---- */

/* Where each row begins, int32 [rows + 1], from the rows of values. */
static hr_node splits_of_rows(hr_node of_values, hr_node rows)
{
    hr_graph *g = rows.graph;
    const hr_node ones = hr_ones_like(hr_cast_to(of_values, HR_INT32));
    const hr_node counts = hr_unsorted_segment_sum(ones, of_values, rows);
    const hr_node ends = hr_cumsum(counts, 0);
    return hr_concat((const hr_node[]){hr_ints(g, HR_I64(0), 1), ends}, 2, 0);
}

/* Each id of a sequence is a step. */
static hr_node splits_of_steps(hr_node ids)
{
    hr_graph *g = ids.graph;
    const hr_node end = hr_add(hr_size_of(ids), hr_scalar(g, HR_INT32, 1));
    return hr_range_values(hr_scalar(g, HR_INT32, 0), end, hr_scalar(g, HR_INT32, 1));
}

static hr_status add_component(hr_features *f, const hr_column_info *info, const hr_column_nodes *nodes, hr_node rows)
{
    const hr_node values = hr__from_column(nodes->values), indices = hr__from_column(nodes->indices);
    if (!indices.graph) return hr_features_add(f, info->component, values, (hr_node){0}, false);
    const hr_node splits = splits_of_rows(hr__rows_of(indices), rows);
    const bool steps = info->sequence && info->dense != HR_COLUMN_VALUES;
    const hr_node step_splits = steps ? splits_of_steps(values) : (hr_node){0};
    const hr_status st =
        hr__features_add_sparse(f, info->component, values, splits, step_splits, indices, nodes->all_count);
    if (st != HR_OK || !info->weights) return st;
    return hr__features_add_sparse(f, info->weights, hr__from_column(nodes->weights), splits, (hr_node){0}, indices,
                                   false);
}

static hr_status add_columns(hr_features *f, hr__column_maker *m, hr_column_list columns, hr_node rows, hr_error *err)
{
    if (!m) return hr_no_memory(err, "columns in a graph");
    for (int i = 0; i < columns.count; i++) {
        const hr_column_info *info = hr_feature_column_info(columns.column[i]);
        hr_column_nodes nodes;
        if (hr_features_has(f, info->component)) continue;
        HR_TRY(hr__column_nodes(m, columns.column[i], &nodes, err));
        HR_TRY(add_component(f, info, &nodes, rows));
    }
    return HR_OK;
}

/* What the spec has beside what columns read: the label, and weights of rows. */
static hr_status add_others(hr_features *f, const hr_parse_spec *spec, const hr_column_nodes *raw,
                            const hr_parse_example_spec_opts *o)
{
    for (int i = 0; i < spec->features; i++) {
        const char *key = spec->feature[i].key;
        const bool label = o->label && strcmp(key, o->label) == 0;
        if (!label && (!o->weight_column || strcmp(key, o->weight_column) != 0)) continue;
        const hr_status st = hr_features_add(f, key, hr__from_column(raw[i].values), (hr_node){0}, label);
        if (st != HR_OK) return st;
    }
    return HR_OK;
}

static hr_status features_of_spec(hr_features *f, hr_node serialized, hr_column_list columns, const hr_parse_spec *spec,
                                  const hr_parse_example_spec_opts *o, hr_error *err)
{
    hr_column_nodes *raw = hr_calloc((size_t)spec->features + 1, sizeof *raw);
    hr__column_maker *m = NULL;
    hr_status st = raw ? parse_features(serialized, spec, raw, err) : hr_no_memory(err, "a parsing spec");
    if (st == HR_OK) {
        const hr_node rows = hr_cast_to(hr_size_of(serialized), HR_INT64);
        hr__features_set_rows(f, rows);
        m = hr__column_maker_new(serialized.graph, spec, raw);
        st = add_columns(f, m, columns, rows, err);
        if (st == HR_OK) st = add_others(f, spec, raw, o);
    }
    hr__column_maker_free(m);
    hr_free(raw);
    return st;
}

hr_features *hr_features_from_examples_with(hr_node serialized, hr_column_list columns,
                                            const hr_parse_example_spec_opts *opts)
{
    const hr_parse_example_spec_opts o = HR_OPTIONS(hr_parse_example_spec_opts, opts);
    hr_graph *g = serialized.graph;
    hr_features *f = g ? hr_features_new(g) : NULL;
    hr_parse_spec *spec = NULL;
    hr_error err = {0};
    if (!f || !hr_node_exists(serialized)) return f;
    const hr_shape shape = hr_node_shape(serialized);
    hr_status st = HR_OK;
    if (hr_node_dtype(serialized) != HR_STRING || (shape.rank >= 0 && shape.rank != 1))
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "layers.shape",
                     "features from examples: expected serialized Examples, a vector of strings, got %s of rank %d",
                     hr_dtype_name(hr_node_dtype(serialized)), shape.rank);
    if (st == HR_OK) st = hr_make_parse_example_spec_with(columns, &spec, &err, &o);
    hr_name_scope(g, "features");
    if (st == HR_OK) st = features_of_spec(f, serialized, columns, spec, &o, &err);
    hr_scope_end(g);
    if (st != HR_OK && err.kind) hr_node_fail(g, err.code, err.kind, "%s", err.text);
    if (st != HR_OK && !hr_graph_error(g)) hr_node_fail(g, st, "memory", "no memory for features");
    hr_parse_spec_free(spec);
    return f;
}
