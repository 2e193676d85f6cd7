/* crossed_column: every combination of one value of each key, hashed. Three things decide the ids: ragged inputs come
 * before dense ones, each in the order of the keys; the last input varies fastest; the hash is a chain of
 * FingerprintCat64 that begins with hash_key. A cross among the keys is replaced by its own keys. */
#include <headrace/column_config.h>
#include <headrace/column_graph.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = HR_MAX_CROSS };
#define DEFAULT_HASH_KEY UINT64_C(0xDECAFCAFFE)

/* One leaf key: a raw feature, or source number `source`. */
typedef struct cross_leaf {
    const char *key; /* NULL: a column */
    int source;
} cross_leaf;

typedef struct crossed_spec {
    int leaves, raws, asked; /* `asked`: keys as given, before crosses were opened */
    cross_leaf leaf[MAX_KEYS];
    int64_t size;
    uint64_t hash_key;
    hr_divisor buckets;
    bool tf_compat, too_many, empty_key;
} crossed_spec;

static hr_status crossed_copy(void *spec, hr_error *err)
{
    crossed_spec *s = spec;
    bool copied = true;
    for (int i = 0; i < s->leaves; i++) {
        if (!s->leaf[i].key) continue;
        s->leaf[i].key = hr_strdup(s->leaf[i].key); /* NULL is what a failure leaves, and free takes it */
        copied = copied && s->leaf[i].key;
    }
    return copied ? HR_OK : hr_no_memory(err, "crossed_column");
}

static void crossed_free(void *spec)
{
    crossed_spec *s = spec;
    for (int i = 0; i < s->leaves; i++) hr_free((void *)(uintptr_t)s->leaf[i].key);
}

static const char *leaf_name(const cross_leaf *leaf, const hr_feature_column *const *source)
{
    return leaf->key ? leaf->key : hr_feature_column_info(source[leaf->source])->name;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* The leaves' names in the order of their bytes, joined by _X_. */
static hr_status set_name(const crossed_spec *s, const hr_feature_column *const *source, hr_column_builder *out,
                          hr_error *err)
{
    const char *name[MAX_KEYS];
    size_t size = 1;
    for (int i = 0; i < s->leaves; i++) {
        name[i] = leaf_name(&s->leaf[i], source);
        size += strlen(name[i]) + 3;
    }
    qsort(name, (size_t)s->leaves, sizeof *name, by_text);
    char *text = hr_calloc(size, 1);
    if (!text) return hr_no_memory(err, "crossed_column");
    char *to = text;
    for (int i = 0; i < s->leaves; i++) {
        if (i > 0) to = stpcpy(to, "_X_");
        to = stpcpy(to, name[i]);
    }
    hr_status st = hr_column_name(out, err, "%s", text);
    hr_free(text);
    return st;
}

static hr_status check_source(const hr_feature_column *source, hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(source);
    if (hr_feature_column_is(source, "categorical_column_with_hash_bucket"))
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "column.cross_key",
            "crossed_column: expected keys that are not hashed yet, got the %s '%s'; hashing twice makes more "
            "collisions: give the key as a string",
            info->kind, info->name);
    if (!info->categorical)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.cross_key",
                       "crossed_column: expected strings and categorical columns as keys, got the %s '%s'", info->kind,
                       info->name);
    if (info->weights)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.cross_key",
                       "crossed_column: expected keys without weights, got the %s '%s'", info->kind, info->name);
    return hr_column_check_no_sequence("crossed_column", source, err);
}

static hr_status crossed_check_arguments(const crossed_spec *s, hr_error *err)
{
    if (s->empty_key)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.cross_key",
                       "crossed_column: expected a key or a column for each key, got neither");
    if (s->too_many)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.cross_key",
                       "crossed_column: expected at most %d keys, got more", MAX_KEYS);
    if (s->asked < 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.cross_key",
                       "crossed_column: expected two keys or more, got %d", s->asked);
    if (s->size < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.hash_bucket_size",
                       "crossed_column: expected hash_bucket_size > 0, got %lld", (long long)s->size);
    return HR_OK;
}

static hr_status crossed_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                  hr_error *err)
{
    const crossed_spec *s = spec;
    HR_TRY(crossed_check_arguments(s, err));
    for (int i = 0; i < s->leaves; i++) {
        const cross_leaf *leaf = &s->leaf[i];
        HR_TRY(leaf->key ? hr_column_read_var_len(out, leaf->key, HR_STRING, err)
                         : check_source(source[leaf->source], err));
        hr_column_mix(out, &leaf->source, sizeof leaf->source); /* the order of the keys */
    }
    HR_TRY(set_name(s, source, out, err));
    hr_column_mix(out, &s->size, sizeof s->size);
    hr_column_mix(out, &s->hash_key, sizeof s->hash_key);
    hr_column_mix(out, &s->tf_compat, sizeof s->tf_compat);
    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->num_buckets = s->size;
    return HR_OK;
}

static bool crossed_is_float(hr_dtype dtype) { return dtype == HR_FLOAT || dtype == HR_DOUBLE; }

static hr_status crossed_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    const crossed_spec *s = spec;
    for (int i = 0, raw = 0; i < s->leaves; i++) {
        if (!s->leaf[i].key) continue;
        const hr_column_values *v = &in[raw++];
        if (v->dtype != HR_STRING && !hr_dtype_is_integer(v->dtype) && !crossed_is_float(v->dtype))
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                           "crossed_column: feature '%s': expected strings or integers, got %s", s->leaf[i].key,
                           hr_dtype_name(v->dtype));
        if (!v->splits && v->rank > 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.rank",
                           "crossed_column: feature '%s': expected one dimension a row, got %d", s->leaf[i].key,
                           v->rank);
    }
    return HR_OK;
}

/* As TensorFlow casts: towards zero, and what does not fit becomes the smallest integer. */
static uint64_t truncated(double value)
{
    if (value >= -0x1p63 && value < 0x1p63) return (uint64_t)(int64_t)value;
    return UINT64_C(1) << 63;
}

static hr_status refuse_floats(const cross_leaf *leaf, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.cross_float",
                   "crossed_column: feature '%s': expected strings or integers, got floats, of which only the integer "
                   "part would count; cross a bucketized_column of it",
                   leaf->key);
}

static hr_status hash_input(const crossed_spec *s, hr_column_work *w, const cross_leaf *leaf, const hr_column_values *v,
                            hr_cross_input *out, hr_error *err)
{
    *out = (hr_cross_input){.splits = v->splits, .width = v->width};
    if (v->dtype == HR_INT64 || v->dtype == HR_UINT64) {
        out->hashes = v->values; /* ids enter as they are */
        return HR_OK;
    }
    uint64_t *hashes = hr_column_scratch(w, (size_t)v->count * sizeof *hashes);
    if (!hashes) return hr_no_memory(err, "crossed_column");
    out->hashes = hashes;
    if (v->dtype == HR_STRING) {
        hr_fingerprint64_many(v->values, v->count, hashes);
    } else if (crossed_is_float(v->dtype)) {
        if (!s->tf_compat && !hr_column_tf_compat(w)) return refuse_floats(leaf, err);
        for (int64_t i = 0; i < v->count; i++)
            hashes[i] = truncated(v->dtype == HR_FLOAT ? (double)((const float *)v->values)[i]
                                                       : ((const double *)v->values)[i]);
    } else {
        for (int64_t i = 0; i < v->count; i++) hashes[i] = (uint64_t)hr_column_integer_at(v, i);
    }
    return HR_OK;
}

/* Ragged inputs first, then the dense ones. */
static hr_status order_inputs(const crossed_spec *s, hr_column_work *w, const hr_column_values *in,
                              hr_cross_input *input, hr_error *err)
{
    int inputs = 0;
    for (int dense = 0; dense < 2; dense++) {
        for (int i = 0, raw = 0; i < s->leaves; i++) {
            const cross_leaf *leaf = &s->leaf[i];
            const hr_column_values *v = leaf->key ? &in[raw++] : &in[s->raws + leaf->source];
            if ((v->splits == NULL) == (dense == 1)) HR_TRY(hash_input(s, w, leaf, v, &input[inputs++], err));
        }
    }
    return HR_OK;
}

static hr_status crossed_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                   hr_column_values *out, hr_error *err)
{
    const crossed_spec *s = spec;
    hr_cross_input input[MAX_KEYS];
    HR_TRY(order_inputs(s, w, in, input, err));
    return hr_column_cross(w, input, s->leaves, s->hash_key, s->buckets, in[0].rows, out, err);
}

/* What SparseCross takes of a leaf: strings, or int64. */
static hr_status cross_values_to_graph(const crossed_spec *s, const hr_column_graph *g, const cross_leaf *leaf,
                                       const hr_column_nodes *in, hr_column_node *values, hr_dtype *type, hr_error *err)
{
    if (crossed_is_float(in->dtype) && !s->tf_compat) return refuse_floats(leaf, err);
    *type = in->dtype == HR_STRING ? HR_STRING : HR_INT64;
    *values = hr_column_cast(g, in->values, in->dtype, *type);
    return HR_OK;
}

static hr_status crossed_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                  hr_column_nodes *out, hr_error *err)
{
    const crossed_spec *s = spec;
    hr_column_node input[3 * MAX_KEYS];
    hr_dtype type[MAX_KEYS];
    for (int i = 0, raw = 0; i < s->leaves; i++) {
        const cross_leaf *leaf = &s->leaf[i];
        const hr_column_nodes *v = leaf->key ? &in[raw++] : &in[s->raws + leaf->source];
        input[i] = v->indices;
        HR_TRY(cross_values_to_graph(s, g, leaf, v, &input[s->leaves + i], &type[i], err));
        input[2 * s->leaves + i] = v->dense_shape;
    }
    const hr_column_node cross = hr_column_op(
        g, "SparseCross", input, 3 * s->leaves,
        HR_COLUMN_ATTRS(HR_COLUMN_INT_ATTR("N", s->leaves), HR_COLUMN_TYPES_ATTR("sparse_types", type, s->leaves),
                        HR_COLUMN_TYPES_ATTR("dense_types", NULL, 0), HR_COLUMN_BOOL_ATTR("hashed_output", true),
                        HR_COLUMN_INT_ATTR("num_buckets", s->size),
                        HR_COLUMN_INT_ATTR("hash_key", (int64_t)s->hash_key), HR_COLUMN_TYPE_ATTR("out_type", HR_INT64),
                        HR_COLUMN_TYPE_ATTR("internal_type", HR_INT64)));
    *out = (hr_column_nodes){.dtype = HR_INT64,
                             .all_count = true,
                             .values = hr_column_output(cross, 1),
                             .indices = cross,
                             .dense_shape = hr_column_output(cross, 2)};
    return HR_OK;
}

static const hr_column_config crossed_config; /* below */

const hr_column_kind hr_column_kind_crossed = {
    .head = HR_COLUMN_HEAD,
    .name = "crossed_column",
    .spec_size = sizeof(crossed_spec),
    .spec_copy = crossed_copy,
    .spec_free = crossed_free,
    .describe = crossed_describe,
    .accept = crossed_accept,
    .transform = crossed_transform,
    .config = &crossed_config,
    .to_graph = crossed_to_graph,
};

/* ---- the constructor ---- */

static cross_leaf *crossed_add_leaf(crossed_spec *s)
{
    if (s->leaves < MAX_KEYS) return &s->leaf[s->leaves++];
    s->too_many = true;
    return NULL;
}

/* The leaves of a cross among the keys, in its order; its own size and hash key do not matter. */
static void open_cross(crossed_spec *s, const hr_feature_column *cross, hr_feature_column **source, int *sources)
{
    const crossed_spec *inner = hr_feature_column_spec(cross);
    for (int i = 0; i < inner->leaves; i++) {
        cross_leaf *leaf = crossed_add_leaf(s);
        if (!leaf) return;
        *leaf = (cross_leaf){.key = inner->leaf[i].key, .source = -1};
        s->raws += leaf->key != NULL;
        if (leaf->key) continue;
        leaf->source = *sources;
        source[(*sources)++] = hr_feature_column_ref(hr_feature_column_source(cross, inner->leaf[i].source));
    }
}

static void crossed_add_key(crossed_spec *s, const hr_cross_key *key, hr_feature_column **source, int *sources)
{
    if (key->column && hr_feature_column_kind(key->column) == &hr_column_kind_crossed) {
        open_cross(s, key->column, source, sources);
        return;
    }
    if (!key->column && (!key->key || !key->key[0])) {
        s->empty_key = true;
        return;
    }
    cross_leaf *leaf = crossed_add_leaf(s);
    if (!leaf) return;
    *leaf = (cross_leaf){.key = key->column ? NULL : key->key, .source = -1};
    s->raws += leaf->key != NULL;
    if (leaf->key) return;
    leaf->source = *sources;
    source[(*sources)++] = hr_feature_column_ref(key->column);
}

hr_feature_column *hr_crossed_column_with(hr_cross_keys keys, int64_t hash_bucket_size,
                                          const hr_crossed_column_opts *opts)
{
    hr_crossed_column_opts o = HR_OPTIONS(hr_crossed_column_opts, opts);
    crossed_spec spec = {
        .asked = keys.count,
        .size = hash_bucket_size,
        .hash_key = o.hash_key ? o.hash_key : DEFAULT_HASH_KEY,
        .buckets = hr_divisor_of(hash_bucket_size < 1 ? 1 : (uint64_t)hash_bucket_size),
        .tf_compat = o.tf_compat,
    };
    hr_feature_column *source[MAX_KEYS] = {NULL};
    int sources = 0;
    for (int i = 0; i < keys.count; i++) crossed_add_key(&spec, &keys.key[i], source, &sources);
    hr_feature_column *column = hr_feature_column_new(&hr_column_kind_crossed, &spec, source, sources);
    for (int i = 0; i < keys.count; i++) hr_feature_column_unref(keys.key[i].column);
    return column;
}

/* ---- {crossed: [origin, column hour], hash_bucket_size: 256}: fields, and with `column` a column's ids ---- */

static hr_status crossed_read_key(hr_config_reader *r, const hr_config_value *node, bool tf_compat, hr_cross_key *key,
                                  hr_error *err)
{
    HR_TRY(hr_config_value_text(node, &key->key, err));
    const char *column = hr_config_after(node, "column");
    if (column) return hr_config_column_named(r, node, column, &key->column, err);
    hr_dtype dtype;
    HR_TRY(hr_config_field(r, node, &dtype, err));
    if (tf_compat || !crossed_is_float(dtype)) return HR_OK;
    return hr_config_fail(node, err,
                          "expected a field of strings or integers, found '%s' of %s; cross a bucketized column of it",
                          key->key, hr_dtype_name(dtype));
}

static hr_status read_crossed(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    const hr_config_value *list = hr_config_get(r, "crossed"), *node;
    int64_t size, count;
    hr_crossed_column_opts o = {.struct_size = sizeof o};
    HR_TRY(hr_config_items(list, &count, err));
    if (count < 2 || count > MAX_KEYS) return hr_config_expected(list, "2 to 32 keys to cross", err);
    HR_TRY(hr_config_need(r, "hash_bucket_size", &node, err));
    HR_TRY(hr_config_value_int(node, 1, INT64_MAX, &size, err));
    HR_TRY(hr_config_uint(r, "hash_key", &o.hash_key, err));
    HR_TRY(hr_config_bool(r, "tf_compat", &o.tf_compat, err));
    hr_cross_key key[MAX_KEYS] = {{0}};
    hr_status st = HR_OK;
    for (int64_t i = 0; i < count && st == HR_OK; i++)
        st = crossed_read_key(r, hr_config_item(list, i), o.tf_compat, &key[i], err);
    if (st == HR_OK) {
        *out = hr_crossed_column_with((hr_cross_keys){key, (int)count}, size, &o);
    } else {
        for (int i = 0; i < MAX_KEYS; i++) hr_feature_column_unref(key[i].column);
    }
    return st;
}

static void write_crossed(hr_config_writer *w, const hr_feature_column *column)
{
    const crossed_spec *s = hr_feature_column_spec(column);
    hr_config_begin_list(w, "crossed");
    for (int i = 0; i < s->leaves; i++) {
        const cross_leaf *leaf = &s->leaf[i];
        if (!leaf->key)
            hr_config_item_source(w, hr_feature_column_source(column, leaf->source));
        else if (strncmp(leaf->key, "column ", strlen("column ")) == 0)
            hr_config_write_impossible(w, "a feature whose name reads as a column's");
        else
            hr_config_item_text(w, (hr_view){leaf->key, (int64_t)strlen(leaf->key)});
    }
    hr_config_end_list(w);
    hr_config_write_int(w, "hash_bucket_size", s->size);
    if (s->hash_key != DEFAULT_HASH_KEY) hr_config_write_uint(w, "hash_key", s->hash_key);
    if (s->tf_compat) hr_config_write_bool(w, "tf_compat", true);
}

static const hr_column_config crossed_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "crossed",
    .keys = (const char *const[]){"crossed", "hash_bucket_size", "hash_key", "tf_compat", NULL},
    .read = read_crossed,
    .write = write_crossed,
};
