/* categorical_column_with_hash_bucket: Fingerprint64 of the bytes, or of an integer's decimal text, modulo the number
 * of buckets. Strings are hashed where they lie. */
#include <headrace/column_config.h>
#include <headrace/column_graph.h>

enum { BLOCK = 64 };

typedef struct hash_spec {
    const char *key;
    int64_t size;
    hr_dtype dtype;
    hr_divisor divisor;
} hash_spec;

static hr_status hash_copy(void *spec, hr_error *err)
{
    hash_spec *s = spec;
    s->key = hr_strdup(s->key);
    return s->key ? HR_OK : hr_no_memory(err, "categorical_column_with_hash_bucket");
}

static void hash_free(void *spec) { hr_free((void *)(uintptr_t)((hash_spec *)spec)->key); }

static hr_status hash_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                               hr_error *err)
{
    (void)source;
    const hash_spec *s = spec;
    HR_TRY(hr_column_check_key("categorical_column_with_hash_bucket", s->key, err));
    if (s->size < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.hash_bucket_size",
                       "categorical_column_with_hash_bucket '%s': expected hash_bucket_size > 0, got %lld", s->key,
                       (long long)s->size);
    if (s->dtype != HR_STRING && !hr_dtype_is_integer(s->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                       "categorical_column_with_hash_bucket '%s': expected dtype string or an integer, got %s", s->key,
                       hr_dtype_name(s->dtype));
    HR_TRY(hr_column_name(out, err, "%s", s->key));
    HR_TRY(hr_column_read_var_len(out, s->key, s->dtype, err));
    hr_column_mix(out, &s->size, sizeof s->size);
    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->num_buckets = s->size;
    return HR_OK;
}

static hr_status hash_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    const hash_spec *s = spec;
    bool fits = s->dtype == HR_STRING ? in->dtype == HR_STRING : hr_dtype_is_integer(in->dtype);
    if (fits) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                   "categorical_column_with_hash_bucket '%s': expected %s, got %s; say so with .dtype", s->key,
                   s->dtype == HR_STRING ? "strings" : "integers", hr_dtype_name(in->dtype));
}

static hr_status hash_transform(const void *spec, hr_column_work *w, const hr_column_values *in, hr_column_values *out,
                                hr_error *err)
{
    const hash_spec *s = spec;
    hr_column_values present;
    HR_TRY(hr_column_present(w, in, &present, err));
    int64_t *ids = hr_column_ids(w, present.count);
    if (!ids) return hr_no_memory(err, "categorical_column_with_hash_bucket");
    uint64_t hash[BLOCK];
    for (int64_t at = 0; at < present.count; at += BLOCK) {
        const int64_t block = present.count - at < BLOCK ? present.count - at : BLOCK;
        hr_column_fingerprints(&present, at, block, hash);
        for (int64_t i = 0; i < block; i++) ids[at + i] = (int64_t)hr_remainder(s->divisor, hash[i]);
    }
    *out = present;
    out->dtype = HR_INT64;
    out->values = ids;
    return HR_OK;
}

static hr_status hash_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                               hr_column_nodes *out, hr_error *err)
{
    (void)err;
    const hash_spec *s = spec;
    hr_column_node words = in->values;
    if (s->dtype != HR_STRING) words = HR_COLUMN_APPLY(g, "AsString", words);
    *out = *in;
    out->dtype = HR_INT64;
    out->all_count = true;
    out->values = hr_column_op(g, "StringToHashBucketFast", HR_COLUMN_INPUTS(words),
                               HR_COLUMN_ATTRS(HR_COLUMN_INT_ATTR("num_buckets", s->size)));
    return HR_OK;
}

static const hr_column_config hash_bucket_config; /* below */

const hr_column_kind hr_column_kind_hash_bucket = {
    .head = HR_COLUMN_HEAD,
    .name = "categorical_column_with_hash_bucket",
    .spec_size = sizeof(hash_spec),
    .spec_copy = hash_copy,
    .spec_free = hash_free,
    .describe = hash_describe,
    .accept = hash_accept,
    .transform = hash_transform,
    .config = &hash_bucket_config,
    .to_graph = hash_to_graph,
};

hr_feature_column *hr_categorical_column_with_hash_bucket_with(const char *key, int64_t hash_bucket_size,
                                                               const hr_hash_column_opts *opts)
{
    hr_hash_column_opts o = HR_OPTIONS(hr_hash_column_opts, opts);
    return hr_feature_column_new(&hr_column_kind_hash_bucket,
                                 &(hash_spec){
                                     .key = key ? key : "",
                                     .size = hash_bucket_size,
                                     .dtype = o.dtype == HR_INVALID_DTYPE ? HR_STRING : o.dtype,
                                     .divisor = hr_divisor_of(hash_bucket_size < 1 ? 1 : (uint64_t)hash_bucket_size),
                                 },
                                 NULL, 0);
}

/* ---- {hash_bucket: 256} ---- */

static hr_status read_hash_bucket(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    const char *field;
    hr_dtype dtype;
    int64_t size;
    HR_TRY(hr_config_own_field(r, &field, &dtype, err));
    HR_TRY(hr_config_dtype(r, &dtype, err));
    HR_TRY(hr_config_value_int(hr_config_get(r, "hash_bucket"), 1, INT64_MAX, &size, err));
    *out = hr_categorical_column_with_hash_bucket(field, size, .dtype = dtype);
    return HR_OK;
}

static void write_hash_bucket(hr_config_writer *w, const hr_feature_column *column)
{
    const hash_spec *s = hr_feature_column_spec(column);
    hr_config_write_int(w, "hash_bucket", s->size);
    hr_config_write_own_field(w, s->key);
    hr_config_write_dtype(w, s->dtype);
}

static const hr_column_config hash_bucket_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "hash_bucket",
    .keys = (const char *const[]){"hash_bucket", "field", "dtype", NULL},
    .read = read_hash_bucket,
    .write = write_hash_bucket,
};
