/* Features that a graph makes itself: ParseExampleV2 of serialized Examples, and on its outputs the columns. */
#include "train/layers/layers_internal.h"

#include <headrace/text_ops.h>
#include <string.h>

static hr_status parse_features(hr_node serialized, const hr_parse_spec *spec, hr_column_nodes *raw, hr_error *err)
{
    if (spec->features == 0) return HR_OK;
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

/* What the features of a spec are made of: serialized Examples, or those that are given. */
typedef struct feature_source {
    hr_node serialized;
    const hr_given_feature *given;
    int count;
} feature_source;

/* ---- features that are given ---- */

static const hr_given_feature *given_named(const feature_source *from, const char *key)
{
    for (int i = 0; i < from->count; i++)
        if (from->given[i].name && strcmp(from->given[i].name, key) == 0) return &from->given[i];
    return NULL;
}

/* A matrix of lists that end with what is missing, as a sparse one. */
static void sparse_of_dense(hr_node values, hr_column_nodes *out)
{
    hr_graph *g = values.graph;
    const hr_tensor empty = hr_tensor_of(HR_STRING, HR_SCALAR, &(hr_view){"", 0});
    const int64_t column[] = {-1, 1};
    if (hr_node_shape(values).rank == 1) values = hr_reshape(values, hr_ints(g, column, 2));
    const bool text = hr_node_dtype(values) == HR_STRING;
    const hr_node missing = text ? hr_const(g, &empty) : hr_scalar(g, hr_node_dtype(values), -1);
    const hr_node indices = hr_where_true(hr_not_equal(values, missing));
    out->values = hr__to_column(hr_gather_nd(values, indices));
    out->indices = hr__to_column(indices);
    out->dense_shape = hr__to_column(hr_cast_to(hr_shape_of(values), HR_INT64));
}

static hr_status take_given(const hr_feature *f, const hr_given_feature *from, hr_column_nodes *out, hr_error *err)
{
    const bool fixed = f->kind == HR_FIXED_LEN, sparse = from && from->indices.graph;
    if (!from || (fixed && sparse) || !hr_node_exists(from->values) || hr_node_dtype(from->values) != f->dtype)
        return hr_fail(err, from ? HR_INVALID_ARGUMENT : HR_NOT_FOUND, "layers.feature",
                       "features: expected '%.60s', %s of %s, got %s", f->key, fixed ? "dense" : "lists",
                       hr_dtype_name(f->dtype), from ? "another one" : "none");
    *out = (hr_column_nodes){.dtype = f->dtype, .width = fixed ? hr_shape_count(f->shape) : 0};
    if (fixed) {
        const int64_t shape[] = {-1, out->width};
        out->values = hr__to_column(hr_reshape(from->values, hr_ints(from->values.graph, shape, 2)));
    } else if (!sparse) {
        sparse_of_dense(from->values, out);
    } else {
        out->values = hr__to_column(from->values);
        out->indices = hr__to_column(from->indices);
        out->dense_shape = hr__to_column(from->dense_shape);
    }
    return HR_OK;
}

/* The number of rows, by the first feature. */
static hr_node given_rows(const hr_given_feature *first)
{
    hr_graph *g = first->values.graph;
    const hr_node shape = first->indices.graph ? first->dense_shape : hr_shape_of(first->values);
    return hr_cast_to(
        hr_reshape(hr_slice(shape, hr_ints(g, HR_I64(0), 1), hr_ints(g, HR_I64(1), 1)), hr_ints(g, NULL, 0)), HR_INT64);
}

/* ---- features of either source ---- */

static hr_status raw_of_source(const feature_source *from, const hr_parse_spec *spec, hr_column_nodes *raw,
                               hr_error *err)
{
    if (from->serialized.graph) return parse_features(from->serialized, spec, raw, err);
    for (int i = 0; i < spec->features; i++)
        HR_TRY(take_given(&spec->feature[i], given_named(from, spec->feature[i].key), &raw[i], err));
    return HR_OK;
}

static hr_status features_of_spec(hr_features *f, const feature_source *from, hr_column_list columns,
                                  const hr_parse_spec *spec, const hr_parse_example_spec_opts *o, hr_error *err)
{
    hr_graph *g = hr_features_graph(f);
    hr_column_nodes *raw = hr_calloc((size_t)spec->features + 1, sizeof *raw);
    hr__column_maker *m = NULL;
    hr_status st = raw ? raw_of_source(from, spec, raw, err) : hr_no_memory(err, "a parsing spec");
    if (st == HR_OK) {
        const hr_node rows =
            from->serialized.graph ? hr_cast_to(hr_size_of(from->serialized), HR_INT64) : given_rows(from->given);
        hr__features_set_rows(f, rows);
        m = hr__column_maker_new(g, spec, raw);
        st = add_columns(f, m, columns, rows, err);
        if (st == HR_OK) st = add_others(f, spec, raw, o);
    }
    hr__column_maker_free(m);
    hr_free(raw);
    return st;
}

/* Takes the failure that `st` and *err are, if they are one. */
static hr_features *features_made(hr_features *f, const feature_source *from, hr_column_list columns,
                                  const hr_parse_example_spec_opts *o, hr_status st, hr_error *err)
{
    hr_graph *g = hr_features_graph(f);
    hr_parse_spec *spec = NULL;
    if (st == HR_OK) st = hr_make_parse_example_spec_with(columns, &spec, err, o);
    hr_name_scope(g, "features");
    if (st == HR_OK) st = features_of_spec(f, from, columns, spec, o, err);
    hr_scope_end(g);
    if (st != HR_OK && err->kind) hr_node_fail(g, err->code, err->kind, "%s", err->text);
    if (st != HR_OK && !hr_graph_error(g)) hr_node_fail(g, st, "memory", "no memory for features");
    hr_parse_spec_free(spec);
    return f;
}

hr_features *hr_features_from_examples_with(hr_node serialized, hr_column_list columns,
                                            const hr_parse_example_spec_opts *opts)
{
    const hr_parse_example_spec_opts o = HR_OPTIONS(hr_parse_example_spec_opts, opts);
    hr_features *f = serialized.graph ? hr_features_new(serialized.graph) : NULL;
    hr_error err = {0};
    if (!f || !hr_node_exists(serialized)) return f;
    const hr_shape shape = hr_node_shape(serialized);
    hr_status st = HR_OK;
    if (hr_node_dtype(serialized) != HR_STRING || (shape.rank >= 0 && shape.rank != 1))
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "layers.shape",
                     "features from examples: expected serialized Examples, a vector of strings, got %s of rank %d",
                     hr_dtype_name(hr_node_dtype(serialized)), shape.rank);
    return features_made(f, &(feature_source){.serialized = serialized}, columns, &o, st, &err);
}

hr_features *hr_features_from_values_with(hr_graph *g, const hr_given_feature *given, int count, hr_column_list columns,
                                          const hr_parse_example_spec_opts *opts)
{
    const hr_parse_example_spec_opts o = HR_OPTIONS(hr_parse_example_spec_opts, opts);
    hr_features *f = g ? hr_features_new(g) : NULL;
    hr_error err = {0};
    if (!f) return NULL;
    hr_status st = HR_OK;
    if (!given || count < 1)
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "layers.feature", "features: expected one or more, got none");
    return features_made(f, &(feature_source){.given = given, .count = count}, columns, &o, st, &err);
}
