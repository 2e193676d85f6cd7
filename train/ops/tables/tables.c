/* Constructors of tables: the nodes that TensorFlow's lookup module makes. */
#include <headrace/kernels.h>
#include <headrace/tables.h>

#include <stdio.h>
#include <string.h>

static const char initializers[] = "table_initializer";

static hr_node table_node(hr_graph *g, const char *op, hr_dtype key, hr_dtype value, const char *name,
                          const char *shared_name)
{
    return hr_new_node(g, op, .name = name,
                       HR_ATTRS(HR_TYPE_ATTR("key_dtype", key), HR_TYPE_ATTR("value_dtype", value),
                                HR_STRING_ATTR("shared_name", shared_name)));
}

static hr_table begun(hr_table table)
{
    hr_add_to_collection(table.handle.graph, initializers, hr_target(table.initializer));
    return table;
}

hr_table hr_place_end_table(hr_table made)
{
    hr_place_end(made.handle);
    return made;
}

hr_table hr_static_table(hr_node keys, hr_node values, hr_node default_value, const char *name)
{
    hr_table t = {.default_value = default_value};
    t.handle = table_node(keys.graph, "HashTableV2", hr_node_dtype(keys), hr_node_dtype(values),
                          name ? name : "hash_table", NULL);
    t.initializer =
        hr_new_node(keys.graph, "LookupTableImportV2", .name = "key_value_init", HR_INPUTS(t.handle, keys, values));
    return begun(t);
}

hr_table hr_mutable_table(hr_graph *g, hr_dtype key, hr_dtype value, hr_node default_value, const char *name)
{
    hr_table t = {.default_value = default_value};
    t.handle = table_node(g, "MutableHashTableV2", key, value, name ? name : "MutableHashTable", NULL);
    return t;
}

static hr_table table_fail(hr_graph *g, const char *kind, const char *expected, const char *got)
{
    hr_table t = {.handle = hr_failed_node(g)};
    hr_node_fail(g, HR_INVALID_ARGUMENT, kind, "table: expected %s, got %s", expected, got);
    return t;
}

/* Tables of one file and the same columns are one, as in TensorFlow: their name says what they hold. */
hr_table hr_table_from_file_with(hr_graph *g, const char *path, hr_dtype key, int64_t key_column, hr_dtype value,
                                 int64_t value_column, hr_node default_value, const hr_table_file_opts *opts)
{
    const hr_table_file_opts o = HR_OPTIONS(hr_table_file_opts, opts);
    hr_table t = {.default_value = default_value};
    char shared[1200];
    if (!path || !*path) return table_fail(g, "table.file", "a file name", path ? "an empty one" : "NULL");
    if (o.vocab_size < 0) return table_fail(g, "table.argument", ".vocab_size >= 0, which is all lines", "less");
    const hr_view view = hr_text_view(path);
    const hr_tensor name = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    const int64_t lines = o.vocab_size > 0 ? o.vocab_size : -1;
    const int size =
        snprintf(shared, sizeof shared, "hash_table_%s_%lld_%lld_%lld_%lld_%s", path, (long long)lines,
                 (long long)key_column, (long long)value_column, (long long)o.offset, o.delimiter ? o.delimiter : "\t");
    const hr_node file = hr_const(g, &name, .name = "asset_path");
    t.handle = table_node(g, "HashTableV2", key, value, o.name ? o.name : "hash_table",
                          size > 0 && (size_t)size < sizeof shared ? shared : NULL);
    t.initializer = hr_new_node(g, "InitializeTableFromTextFileV2", .name = "table_init", HR_INPUTS(t.handle, file),
                                HR_ATTRS(HR_INT_ATTR("key_index", key_column), HR_INT_ATTR("value_index", value_column),
                                         HR_INT_ATTR("vocab_size", lines), HR_INT_ATTR("offset", o.offset),
                                         HR_STRING_ATTR("delimiter", o.delimiter ? o.delimiter : "\t")));
    hr_add_to_collection(g, "asset_filepaths", file);
    return begun(t);
}

hr_table hr_index_table_from_file_with(hr_graph *g, const char *path, const hr_index_table_opts *opts)
{
    const hr_index_table_opts o = HR_OPTIONS(hr_index_table_opts, opts);
    const int64_t none = o.default_value ? *o.default_value : -1;
    const hr_tensor fallback = hr_tensor_of(HR_INT64, HR_SCALAR, &none);
    if (o.oov_buckets < 0) return table_fail(g, "table.argument", ".oov_buckets >= 0", "less");
    hr_name_scope(g, o.name ? o.name : "string_to_index");
    const hr_table_file_opts lines = {.struct_size = sizeof lines, .vocab_size = o.vocab_size};
    hr_table t = hr_table_from_file_with(g, path, HR_STRING, HR_WHOLE_LINE, HR_INT64, HR_LINE_NUMBER,
                                         hr_const(g, &fallback), &lines);
    hr_scope_end(g);
    t.oov_buckets = o.oov_buckets;
    return t;
}

hr_table hr_index_to_string_table_from_file(hr_graph *g, const char *path, const char *unknown)
{
    const hr_view view = hr_text_view(unknown ? unknown : "UNK");
    const hr_tensor fallback = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    hr_name_scope(g, "index_to_string");
    const hr_table t = hr_table_from_file_with(g, path, HR_INT64, HR_LINE_NUMBER, HR_STRING, HR_WHOLE_LINE,
                                               hr_const(g, &fallback), NULL);
    hr_scope_end(g);
    return t;
}

/* ---- using one ---- */

/* Numbers are hashed as decimal text. */
static hr_node bucket_of(hr_node keys, int64_t buckets)
{
    if (hr_node_dtype(keys) != HR_STRING) keys = hr_new_node(keys.graph, "AsString", HR_INPUTS(keys));
    return hr_new_node(keys.graph, "StringToHashBucketFast", .name = "hash_bucket", HR_INPUTS(keys),
                       HR_ATTRS(HR_INT_ATTR("num_buckets", buckets)));
}

hr_node hr_table_lookup(hr_table t, hr_node keys)
{
    hr_graph *g = keys.graph;
    if (t.oov_buckets <= 0) return hr_new_node(g, "LookupTableFindV2", HR_INPUTS(t.handle, keys, t.default_value));
    hr_name_scope(g, "hash_table_Lookup");
    const hr_node bucket = bucket_of(keys, t.oov_buckets);
    const hr_node found = hr_new_node(g, "LookupTableFindV2", HR_INPUTS(t.handle, keys, t.default_value));
    const hr_node beyond = hr_new_node(g, "AddV2", .name = "Add", HR_INPUTS(bucket, hr_table_size(t)));
    const hr_node known = hr_new_node(g, "NotEqual", HR_INPUTS(found, t.default_value));
    const hr_node ids = hr_new_node(g, "SelectV2", HR_INPUTS(known, found, beyond));
    hr_scope_end(g);
    return ids;
}

hr_node hr_table_size(hr_table t) { return hr_new_node(NULL, "LookupTableSizeV2", HR_INPUTS(t.handle)); }

hr_node hr_table_insert(hr_table t, hr_node keys, hr_node values)
{
    return hr_new_node(NULL, "LookupTableInsertV2", HR_INPUTS(t.handle, keys, values));
}

hr_node hr_table_remove(hr_table t, hr_node keys)
{
    return hr_new_node(NULL, "LookupTableRemoveV2", HR_INPUTS(t.handle, keys));
}

hr_node hr_table_export(hr_table t, hr_dtype key, hr_dtype value)
{
    return hr_new_node(NULL, "LookupTableExportV2", HR_INPUTS(t.handle),
                       HR_ATTRS(HR_TYPE_ATTR("Tkeys", key), HR_TYPE_ATTR("Tvalues", value)));
}

hr_node hr_tables_initializer(hr_graph *g)
{
    int count;
    const hr_node *all = hr_get_collection(g, initializers, &count);
    return hr_new_node(g, "NoOp", .name = "init_all_tables", .controls = all, .control_count = count);
}
