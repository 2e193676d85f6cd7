/* Lookup tables: fixed ones that an initializer fills once, from tensors or a text file, and mutable ones. Lookups only
 * read, so they run at the same time. */
#include "train/ops/tables/table_store.h"
#include <string.h>

/* ---- the resource ---- */

static hr_status table_begin(void *resource, bool is_new, const void *spec, hr_error *err)
{
    hr__table *t = resource;
    const hr__table_type *type = spec;
    if (is_new) {
        hr__table_begin(t, type);
        return HR_OK;
    }
    if (t->type.key == type->key && t->type.value == type->value && t->type.fixed == type->fixed &&
        hr_shape_equal(t->type.row, type->row))
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "resource.kind",
                   "expected tables of one name to be of one type, got %s to %s and %s to %s",
                   hr_dtype_name(t->type.key), hr_dtype_name(t->type.value), hr_dtype_name(type->key),
                   hr_dtype_name(type->value));
}

static void table_release(void *resource) { hr__table_clear(resource); }

static const hr_resource_kind table_kind = {"table", sizeof(hr__table), table_release, table_begin};

static hr_status table_type_of(hr_node node, hr__table_type *type, hr_error *err)
{
    const hr_attr *row = hr_node_attr(node, "value_shape");
    const char *op = hr_node_op(node);
    *type = (hr__table_type){.key = hr_attr_type(node, "key_dtype"),
                             .value = hr_attr_type(node, "value_dtype"),
                             .row = row ? row->shape : HR_SCALAR,
                             .fixed = strncmp(op, "HashTable", 9) == 0 || strcmp(op, "AnonymousHashTable") == 0};
    if (hr_shape_count(type->row) >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "table.type", "expected a value_shape without unknown dimensions");
}

static hr_status table_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    hr__table_type type;
    HR_TRY(table_type_of(node, &type, err));
    return hr_session_resource_of(session, &table_kind, &type, hr_attr_or_name(node, "shared_name"), state, err);
}

/* A table of this run alone. */
static hr_status anonymous_compute(hr_kernel *k, hr_error *err)
{
    hr__table_type type;
    hr_tensor handle;
    void *table;
    HR_TRY(table_type_of(k->node, &type, err));
    HR_TRY(hr_kernel_new_resource(k, &table_kind, hr_node_name(k->node), &handle, &table, err));
    hr__table_begin(table, &type);
    hr_kernel_give(k, 0, handle);
    return HR_OK;
}

static hr_status table_of(hr_kernel *k, hr__table **t, hr_error *err)
{
    void *thing;
    HR_TRY(hr_kernel_resource(k, 0, &table_kind, &thing, err));
    *t = thing;
    return HR_OK;
}

/* The table, if it is of the node's types; HR_INVALID_DTYPE: any. */
static hr_status typed_table(hr_kernel *k, hr_dtype key, hr_dtype value, hr__table **t, hr_error *err)
{
    HR_TRY(table_of(k, t, err));
    const hr__table_type *type = &(*t)->type;
    if (type->key == key && (value == HR_INVALID_DTYPE || type->value == value)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "table.type",
                   "table '%s': expected keys and values of %s and %s, got %s%s%s", hr_kernel_variable_name(k, 0),
                   hr_dtype_name(type->key), hr_dtype_name(type->value), hr_dtype_name(key),
                   value == HR_INVALID_DTYPE ? "" : " and ", value == HR_INVALID_DTYPE ? "" : hr_dtype_name(value));
}

static hr_status need_mutable(hr_kernel *k, const hr__table *t, const char *what, hr_error *err)
{
    if (!t->type.fixed) return HR_OK;
    return hr_fail(err, HR_UNIMPLEMENTED, "table.fixed", "table '%s': expected a mutable table to %s",
                   hr_kernel_variable_name(k, 0), what);
}

static hr_status need_initialized(hr_kernel *k, const hr__table *t, hr_error *err)
{
    if (!t->type.fixed || t->initialized) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "table.uninitialized",
                   "Table not initialized: '%s'; run hr_tables_initializer", hr_kernel_variable_name(k, 0));
}

/* Keys of any shape, followed by the shape of the values of one. */
static bool rows_shape(hr_shape keys, hr_shape row, hr_shape *out)
{
    if (keys.rank + row.rank > HR_MAX_RANK) return false;
    *out = keys;
    for (int i = 0; i < row.rank; i++) out->dims[out->rank++] = row.dims[i];
    return true;
}

/* ---- looking up ---- */

typedef struct finder {
    const hr__table *t;
    const hr_tensor *keys;
    const char *fallback; /* of the first key */
    size_t fallback_step; /* bytes from one key's to the next; 0: one for all */
    char *out;
} finder;

static void find_rows(int64_t first, int64_t last, void *user)
{
    enum { AT_ONCE = 16 };
    const finder *f = user;
    const size_t row_size = hr__table_row_size(f->t);
    hr__table_key key[AT_ONCE];
    for (int64_t at = first; at < last; at += AT_ONCE) {
        const int64_t n = last - at < AT_ONCE ? last - at : AT_ONCE;
        for (int64_t i = 0; i < n; i++) {
            key[i] = hr__table_key_of(f->t->type.key, f->keys->data, at + i);
            hr__table_prefetch(f->t, key[i].hash);
        }
        for (int64_t i = 0; i < n; i++) {
            const int64_t row = hr__table_find(f->t, &key[i]);
            const char *from =
                row < 0 ? f->fallback + (size_t)(at + i) * f->fallback_step : f->t->values + (size_t)row * row_size;
            memcpy(f->out + (size_t)(at + i) * row_size, from, row_size);
        }
    }
}

static hr_status find_compute(hr_kernel *k, hr_error *err)
{
    hr__table *t;
    hr_shape shape;
    hr_tensor scratch, *out;
    char expected[128], got[128];
    const hr_tensor *keys = k->input[1], *fallback = k->input[2];
    HR_TRY(typed_table(k, keys->dtype, fallback->dtype, &t, err));
    HR_TRY(need_initialized(k, t, err));
    if (!rows_shape(keys->shape, t->type.row, &shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "table.shape", "expected keys of fewer dimensions, got %d",
                       keys->shape.rank);
    const bool one = hr_shape_equal(fallback->shape, t->type.row), each = hr_shape_equal(fallback->shape, shape);
    if (!one && !each)
        return hr_fail(err, HR_INVALID_ARGUMENT, "table.shape", "Expected shape %s for default value, got %s",
                       hr_shape_text(t->type.row, expected, sizeof expected),
                       hr_shape_text(fallback->shape, got, sizeof got));
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    finder f = {t, keys, fallback->data, one ? 0 : hr__table_row_size(t), out->data};
    if (out->count) hr_kernel_parallel(k, keys->count, 40, find_rows, &f);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status find_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    if (s->input[2].rank == 0) s->output[0] = s->input[1];
    return HR_OK;
}

static hr_status size_compute(hr_kernel *k, hr_error *err)
{
    hr__table *t;
    hr_tensor *out;
    HR_TRY(table_of(k, &t, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(int64_t *)out->data = t->count;
    return HR_OK;
}

static void export_values(const hr__table *t, hr_dtype key, const void *keys, const void *values, hr_tensor *to_keys,
                          hr_tensor *to_values)
{
    for (int64_t i = 0; key == HR_INT32 && i < t->count; i++)
        ((int32_t *)to_keys->data)[i] = (int32_t)((const int64_t *)keys)[i];
    if (key != HR_INT32 && t->count) memcpy(to_keys->data, keys, (size_t)t->count * hr_dtype_size(key));
    if (to_values->count) memcpy(to_values->data, values, (size_t)t->count * hr__table_row_size(t));
}

static hr_status export_compute(hr_kernel *k, hr_error *err)
{
    hr__table *t;
    hr_shape shape;
    hr_tensor scratch[2], *keys, *values;
    HR_TRY(typed_table(k, hr_attr_type(k->node, "Tkeys"), hr_attr_type(k->node, "Tvalues"), &t, err));
    HR_TRY(need_initialized(k, t, err));
    if (!rows_shape(HR_SHAPE(t->count), t->type.row, &shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "table.shape", "expected values of fewer dimensions");
    HR_TRY(hr_kernel_begin_output(k, 0, HR_SHAPE(t->count), &scratch[0], &keys, err));
    HR_TRY(hr_kernel_begin_output(k, 1, shape, &scratch[1], &values, err));
    export_values(t, t->type.key, t->keys, t->values, keys, values);
    HR_TRY(hr_kernel_end_output(k, 0, &scratch[0], keys, err));
    return hr_kernel_end_output(k, 1, &scratch[1], values, err);
}

static hr_status export_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_SHAPE(-1);
    return HR_OK;
}

/* ---- filling a fixed one ---- */

/* Strings into memory of the table. False: no memory. */
static bool keep_texts(hr__table *t, const hr_tensor *in, hr_view *out)
{
    size_t size = 0;
    for (int64_t i = 0; i < in->count; i++) size += (size_t)((const hr_view *)in->data)[i].size;
    char *space = hr__table_text_space(t, size);
    for (int64_t i = 0; space && i < in->count; i++) {
        const hr_view from = ((const hr_view *)in->data)[i];
        if (from.size) memcpy(space, from.data, (size_t)from.size);
        out[i] = (hr_view){space, from.size};
        space += from.size;
    }
    return space != NULL;
}

/* Keys and values of tensors. Strings of a fixed table are first copied into it. */
static hr_status put_all(hr__table *t, const hr_tensor *keys, const hr_tensor *values, bool replace, hr_error *err)
{
    const void *from[2] = {keys->data, values->data};
    const hr_tensor *in[2] = {keys, values};
    hr_view *views[2] = {NULL, NULL};
    hr_status st = hr__table_reserve(t, t->count + keys->count, err);
    for (int i = 0; i < 2 && st == HR_OK && t->type.fixed; i++) {
        if (in[i]->dtype != HR_STRING) continue;
        from[i] = views[i] = hr_malloc(((size_t)in[i]->count + 1) * sizeof *views[i]);
        if (!views[i] || !keep_texts(t, in[i], views[i])) st = hr_no_memory(err, "a table");
    }
    for (int64_t i = 0; i < keys->count && st == HR_OK; i++) {
        const hr__table_key key = hr__table_key_of(t->type.key, from[0], i);
        st = hr__table_put(t, &key, (const char *)from[1] + (size_t)i * hr__table_row_size(t), replace, err);
    }
    hr_free(views[0]);
    hr_free(views[1]);
    return st;
}

static hr_status initialize_from(hr__table *t, const hr_tensor *keys, const hr_tensor *values, hr_error *err)
{
    hr__table filled = {.type = {0}};
    hr__table_begin(&filled, &t->type);
    hr_status st = put_all(&filled, keys, values, false, err);
    if (st == HR_OK) st = hr__table_initialize(t, &filled, err);
    hr__table_clear(&filled);
    return st;
}

static hr_status same_size(const hr_tensor *keys, const hr_tensor *values, hr_error *err)
{
    if (keys->shape.rank == 1 && keys->count == values->count) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "table.shape",
                   "Keys and values must have the same size: expected a vector of keys and as many values, got %lld "
                   "keys of rank %d and %lld values",
                   (long long)keys->count, keys->shape.rank, (long long)values->count);
}

static hr_status initialize_compute(hr_kernel *k, hr_error *err)
{
    hr__table *t;
    HR_TRY(typed_table(k, k->input[1]->dtype, k->input[2]->dtype, &t, err));
    if (!t->type.fixed)
        return hr_fail(err, HR_INVALID_ARGUMENT, "table.fixed", "expected a HashTable, got the mutable table '%s'",
                       hr_kernel_variable_name(k, 0));
    HR_TRY(same_size(k->input[1], k->input[2], err));
    return initialize_from(t, k->input[1], k->input[2], err);
}

static hr_status text_file_lines(hr_node node, hr__table_lines *lines, hr_error *err)
{
    const hr_view delimiter = hr_attr_string(node, "delimiter");
    *lines = (hr__table_lines){hr_attr_int(node, "key_index"), hr_attr_int(node, "value_index"),
                               hr_attr_int(node, "vocab_size"), hr_attr_int(node, "offset"),
                               delimiter.size == 1 ? delimiter.data[0] : 0};
    if (delimiter.size == 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected a delimiter of one character, got %lld",
                   (long long)delimiter.size);
}

static hr_status text_file_compute(hr_kernel *k, hr_error *err)
{
    hr__table *t, filled = {.type = {0}};
    hr__table_lines lines;
    HR_TRY(table_of(k, &t, err));
    if (k->input[1]->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "table.shape", "expected one filename, got %lld",
                       (long long)k->input[1]->count);
    if (!t->type.fixed)
        return hr_fail(err, HR_INVALID_ARGUMENT, "table.fixed", "expected a HashTable, got the mutable table '%s'",
                       hr_kernel_variable_name(k, 0));
    HR_TRY(text_file_lines(k->node, &lines, err));
    HR_TRY(hr__table_check_lines(&t->type, &lines, err));
    char *path;
    HR_TRY(hr_kernel_text(k, *(const hr_view *)k->input[1]->data, &path, err));
    HR_TRY(hr_kernel_reads_file(k, path, err));
    hr__table_begin(&filled, &t->type);
    hr_status st = hr__table_read(&filled, path, &lines, err);
    if (st == HR_OK) st = hr__table_initialize(t, &filled, err);
    hr__table_clear(&filled);
    return st;
}

/* ---- changing a mutable one ---- */

static hr_status check_rows(const hr__table *t, const hr_tensor *keys, const hr_tensor *values, hr_error *err)
{
    hr_shape shape;
    char expected[128], got[128];
    if (rows_shape(keys->shape, t->type.row, &shape) && hr_shape_equal(shape, values->shape)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "table.shape", "Expected shape %s for value, got %s",
                   hr_shape_text(shape, expected, sizeof expected), hr_shape_text(values->shape, got, sizeof got));
}

static hr_status insert_compute(hr_kernel *k, hr_error *err)
{
    hr__table *t;
    HR_TRY(typed_table(k, k->input[1]->dtype, k->input[2]->dtype, &t, err));
    HR_TRY(need_mutable(k, t, "insert into", err));
    HR_TRY(check_rows(t, k->input[1], k->input[2], err));
    return put_all(t, k->input[1], k->input[2], true, err);
}

static hr_status remove_compute(hr_kernel *k, hr_error *err)
{
    hr__table *t;
    HR_TRY(typed_table(k, k->input[1]->dtype, HR_INVALID_DTYPE, &t, err));
    HR_TRY(need_mutable(k, t, "remove from", err));
    for (int64_t i = 0; i < k->input[1]->count; i++) {
        const hr__table_key key = hr__table_key_of(t->type.key, k->input[1]->data, i);
        hr__table_remove(t, &key);
    }
    return HR_OK;
}

/* A mutable table then holds these alone; a fixed one is initialized with them. */
static hr_status import_compute(hr_kernel *k, hr_error *err)
{
    hr__table *t;
    HR_TRY(typed_table(k, k->input[1]->dtype, k->input[2]->dtype, &t, err));
    if (t->type.fixed) {
        HR_TRY(same_size(k->input[1], k->input[2], err));
        return initialize_from(t, k->input[1], k->input[2], err);
    }
    HR_TRY(check_rows(t, k->input[1], k->input[2], err));
    hr__table_clear(t);
    return put_all(t, k->input[1], k->input[2], true, err);
}

/* ---- the ops ---- */

#define KEYS "{string,int32,int64}"
#define TABLE(NAME, TRAITS)                                                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "key_dtype:" KEYS "; value_dtype:any",                        \
        .traits = HR_STATEFUL | HR_NO_GRADIENT | (TRAITS), .state_size = sizeof(hr_resource *),                        \
        .shape = hr_infer_scalar, .prepare = table_prepare, .compute = hr_compute_handle,                              \
    }
#define ANONYMOUS(NAME)                                                                                                \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = "Anonymous" NAME, .types = "key_dtype:" KEYS "; value_dtype:any",            \
        .traits = HR_STATEFUL | HR_NO_GRADIENT, .shape = hr_infer_scalar, .compute = anonymous_compute,                \
    }
/* By a reference, as in the oldest graphs, by a handle, and of one run. */
#define TABLES(NAME, TRAITS) TABLE(NAME, TRAITS), TABLE(NAME "V2", TRAITS), ANONYMOUS(NAME)
#define USE(NAME, TYPES, TRAITS, SHAPE, COMPUTE)                                                                       \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES, .traits = HR_STATEFUL | HR_NO_GRADIENT | (TRAITS),     \
        .shape = SHAPE, .compute = COMPUTE,                                                                            \
    }
#define USES(NAME, TYPES, TRAITS, SHAPE, COMPUTE)                                                                      \
    USE(NAME, TYPES, TRAITS, SHAPE, COMPUTE), USE(NAME "V2", TYPES, TRAITS, SHAPE, COMPUTE)

const hr_graph_op hr_graph_ops_table_ops[] = {
    TABLES("HashTable", HR_FIXED),
    TABLES("MutableHashTable", HR_FIXED),
    TABLES("MutableHashTableOfTensors", HR_FIXED),
    TABLES("MutableDenseHashTable", 0),
    USES("InitializeTable", "Tkey:" KEYS "; Tval:any", 0, NULL, initialize_compute),
    USES("InitializeTableFromTextFile", NULL, 0, NULL, text_file_compute),
    USES("LookupTableFind", "Tin:" KEYS "; Tout:any", HR_READS_ONLY, find_shape, find_compute),
    USES("LookupTableSize", NULL, HR_READS_ONLY | HR_CHEAP, hr_infer_scalar, size_compute),
    USES("LookupTableExport", "Tkeys:" KEYS "; Tvalues:any", HR_READS_ONLY, export_shape, export_compute),
    USES("LookupTableInsert", "Tin:" KEYS "; Tout:any", 0, NULL, insert_compute),
    USE("LookupTableRemoveV2", "Tin:" KEYS, 0, NULL, remove_compute),
    USES("LookupTableImport", "Tin:" KEYS "; Tout:any", 0, NULL, import_compute),
    HR_GRAPH_OPS_END,
};
