/* categorical_column_with_identity: integers that are ids already. An id out of range is an error that names its
 * record, unless the column has a default value. */
#include <headrace/column_config.h>
#include <headrace/column_graph.h>

#include <stdio.h>
#include <string.h>

typedef struct identity_spec {
    const char *key;
    int64_t num_buckets, default_value; /* -1: none */
    bool has_default, tf_compat;
} identity_spec;

static hr_status identity_copy(void *spec, hr_error *err)
{
    identity_spec *s = spec;
    s->key = hr_strdup(s->key);
    return s->key ? HR_OK : hr_no_memory(err, "categorical_column_with_identity");
}

static void identity_free(void *spec) { hr_free((void *)(uintptr_t)((identity_spec *)spec)->key); }

static hr_status identity_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                   hr_error *err)
{
    (void)source;
    const identity_spec *s = spec;
    HR_TRY(hr_column_check_key("categorical_column_with_identity", s->key, err));
    if (s->num_buckets < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.num_buckets",
                       "categorical_column_with_identity '%s': expected num_buckets > 0, got %lld", s->key,
                       (long long)s->num_buckets);
    if (s->has_default && (s->default_value < 0 || s->default_value >= s->num_buckets))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.default_value",
                       "categorical_column_with_identity '%s': expected a default_value in [0, %lld), got %lld", s->key,
                       (long long)s->num_buckets, (long long)s->default_value);
    HR_TRY(hr_column_name(out, err, "%s", s->key));
    HR_TRY(hr_column_read_var_len(out, s->key, HR_INT64, err));
    hr_column_mix(out, (int64_t[]){s->num_buckets, s->has_default ? s->default_value : -1, s->tf_compat},
                  3 * sizeof(int64_t));
    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->num_buckets = s->num_buckets;
    return HR_OK;
}

static hr_status identity_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    const identity_spec *s = spec;
    if (hr_dtype_is_integer(in->dtype)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                   "categorical_column_with_identity '%s': expected integers, got %s", s->key,
                   hr_dtype_name(in->dtype));
}

static void identity_refuse(const identity_spec *s, hr_column_work *w, const hr_column_values *in, int64_t i,
                            int64_t id)
{
    hr_error err;
    hr_fail(&err, HR_INVALID_ARGUMENT, "column.id_range",
            "feature '%s': expected an id in [0, %lld), got %lld; give the column more num_buckets, or a default_value",
            s->key, (long long)s->num_buckets, (long long)id);
    hr_column_fail_row(w, hr_column_row_of(in, i), &err);
}

static void copy_ids(const hr_column_values *in, int64_t *ids)
{
    if (in->dtype == HR_INT64) {
        if (in->count > 0) memcpy(ids, in->values, (size_t)in->count * sizeof *ids);
        return;
    }
    for (int64_t i = 0; i < in->count; i++) ids[i] = hr_column_integer_at(in, i);
}

static hr_status identity_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                    hr_column_values *out, hr_error *err)
{
    const identity_spec *s = spec;
    hr_column_values present;
    HR_TRY(hr_column_present(w, in, &present, err));
    int64_t *ids = hr_column_ids(w, present.count);
    if (!ids) return hr_no_memory(err, "categorical_column_with_identity");
    copy_ids(&present, ids);

    const uint64_t buckets = (uint64_t)s->num_buckets;
    uint64_t wrong = 0; /* almost always none, so that this loop has no branch */
    for (int64_t i = 0; i < present.count; i++) wrong += (uint64_t)ids[i] >= buckets;
    bool pass = !s->has_default && (s->tf_compat || hr_column_tf_compat(w));
    for (int64_t i = 0; wrong > 0 && !pass && i < present.count; i++) {
        if ((uint64_t)ids[i] < buckets) continue;
        wrong--;
        if (!s->has_default) identity_refuse(s, w, &present, i, ids[i]);
        ids[i] = s->has_default ? s->default_value : -1;
    }
    *out = present;
    out->dtype = HR_INT64;
    out->values = ids;
    return HR_OK;
}

static hr_status identity_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                   hr_column_nodes *out, hr_error *err)
{
    (void)err;
    const identity_spec *s = spec;
    *out = *in;
    out->dtype = HR_INT64;
    const hr_column_node ids = out->values = hr_column_cast(g, in->values, in->dtype, HR_INT64);
    if (s->tf_compat && !s->has_default) return HR_OK;
    out->all_count = true;
    const hr_column_node from = hr_column_int64_constant(g, 0), end = hr_column_int64_constant(g, s->num_buckets);
    const hr_column_node not_below = HR_COLUMN_APPLY(g, "GreaterEqual", ids, from);
    const hr_column_node below_end = HR_COLUMN_APPLY(g, "Less", ids, end);
    const hr_column_node fits = HR_COLUMN_APPLY(g, "LogicalAnd", not_below, below_end);
    if (s->has_default) {
        const hr_column_node other = hr_column_int64_constant(g, s->default_value);
        out->values = HR_COLUMN_APPLY(g, "SelectV2", fits, ids, other);
        return HR_OK;
    }
    char message[256];
    snprintf(message, sizeof message, "feature '%.120s': expected ids in [0, %lld), got others", s->key,
             (long long)s->num_buckets);
    out->values = hr_column_checked(g, ids, fits, message);
    return HR_OK;
}

static const hr_column_config identity_config; /* below */

const hr_column_kind hr_column_kind_identity = {
    .head = HR_COLUMN_HEAD,
    .name = "categorical_column_with_identity",
    .spec_size = sizeof(identity_spec),
    .spec_copy = identity_copy,
    .spec_free = identity_free,
    .describe = identity_describe,
    .accept = identity_accept,
    .transform = identity_transform,
    .config = &identity_config,
    .to_graph = identity_to_graph,
};

hr_feature_column *hr_categorical_column_with_identity_with(const char *key, int64_t num_buckets,
                                                            const hr_identity_column_opts *opts)
{
    hr_identity_column_opts o = HR_OPTIONS(hr_identity_column_opts, opts);
    return hr_feature_column_new(&hr_column_kind_identity,
                                 &(identity_spec){
                                     .key = key ? key : "",
                                     .num_buckets = num_buckets,
                                     .default_value = o.default_value ? *o.default_value : -1,
                                     .has_default = o.default_value != NULL,
                                     .tf_compat = o.tf_compat,
                                 },
                                 NULL, 0);
}

/* ---- {identity: 24} ---- */

static hr_status read_identity(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    const char *field;
    hr_dtype dtype;
    int64_t buckets, missing = -1;
    bool tf_compat = false;
    HR_TRY(hr_config_own_field(r, &field, &dtype, err));
    if (!hr_dtype_is_integer(dtype))
        return hr_config_fail(hr_config_mapping(r), err, "expected a field of integers, found '%s' of %s", field,
                              hr_dtype_name(dtype));
    HR_TRY(hr_config_value_int(hr_config_get(r, "identity"), 1, INT64_MAX, &buckets, err));
    HR_TRY(hr_config_int(r, "default", 0, buckets - 1, &missing, err));
    HR_TRY(hr_config_bool(r, "tf_compat", &tf_compat, err));
    *out = hr_categorical_column_with_identity(field, buckets, .default_value = missing >= 0 ? &missing : NULL,
                                               .tf_compat = tf_compat);
    return HR_OK;
}

static void write_identity(hr_config_writer *w, const hr_feature_column *column)
{
    const identity_spec *s = hr_feature_column_spec(column);
    hr_config_write_int(w, "identity", s->num_buckets);
    hr_config_write_own_field(w, s->key);
    if (s->has_default) hr_config_write_int(w, "default", s->default_value);
    if (s->tf_compat) hr_config_write_bool(w, "tf_compat", true);
}

static const hr_column_config identity_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "identity",
    .keys = (const char *const[]){"identity", "field", "default", "tf_compat", NULL},
    .read = read_identity,
    .write = write_identity,
};
