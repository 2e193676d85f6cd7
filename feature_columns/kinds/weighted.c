/* weighted_categorical_column: ids of one column, a weight for each from another feature. An id and a weight belong
 * together if they have the same place in the row. TensorFlow goes by their order alone and does not notice a
 * difference. */
#include <headrace/column_config.h>
#include <headrace/column_graph.h>

#include <stdio.h>
#include <string.h>

typedef struct weighted_spec {
    const char *key;
    hr_dtype dtype;
    bool tf_compat;
} weighted_spec;

static hr_status weighted_copy(void *spec, hr_error *err)
{
    weighted_spec *s = spec;
    s->key = hr_strdup(s->key);
    return s->key ? HR_OK : hr_no_memory(err, "weighted_categorical_column");
}

static void weighted_free(void *spec) { hr_free((void *)(uintptr_t)((weighted_spec *)spec)->key); }

static hr_status weighted_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                   hr_error *err)
{
    const weighted_spec *s = spec;
    HR_TRY(hr_column_check_key("weighted_categorical_column", s->key, err));
    HR_TRY(hr_column_check_categorical("weighted_categorical_column", source[0], err));
    HR_TRY(hr_column_check_no_sequence("weighted_categorical_column", source[0], err));
    if (!hr_dtype_is_number(s->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                       "weighted_categorical_column '%s': expected a dtype that converts to float, got %s", s->key,
                       hr_dtype_name(s->dtype));
    const hr_feature *read;
    for (int i = 0; (read = hr_feature_column_read(source[0], i)); i++)
        if (strcmp(read->key, s->key) == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.spec_conflict",
                           "weighted_categorical_column: expected a weight feature of its own, got '%s', which the ids "
                           "are made of",
                           s->key);
    const hr_column_info *ids = hr_feature_column_info(source[0]);
    HR_TRY(hr_column_name(out, err, "%s_weighted_by_%s", ids->name, s->key));
    HR_TRY(hr_column_read_var_len(out, s->key, s->dtype, err));
    hr_column_mix(out, &s->tf_compat, sizeof s->tf_compat);
    hr_column_has_weights(out);
    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->num_buckets = ids->num_buckets;
    return HR_OK;
}

static hr_status weighted_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    const weighted_spec *s = spec;
    if (in->dtype == s->dtype) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                   "weighted_categorical_column: weights '%s': expected %s, got %s", s->key, hr_dtype_name(s->dtype),
                   hr_dtype_name(in->dtype));
}

static bool row_pairs(const hr_column_values *ids, const hr_column_values *weights, int64_t row)
{
    int64_t count = ids->splits[row + 1] - ids->splits[row];
    if (weights->splits[row + 1] - weights->splits[row] != count) return false;
    for (int64_t i = 0; i < count && (ids->inner || weights->inner); i++)
        if (hr_column_place(ids, row, ids->splits[row] + i) != hr_column_place(weights, row, weights->splits[row] + i))
            return false;
    return true;
}

static void weighted_refuse(const weighted_spec *s, hr_column_work *w, const hr_column_values *ids,
                            const hr_column_values *weights, int64_t row)
{
    hr_error err;
    hr_fail(&err, HR_INVALID_ARGUMENT, "column.weights",
            "feature '%s': expected a weight for each id, got %d ids and %d weights (zeros of a dense feature do not "
            "count), or at other places in the row",
            s->key, ids->splits[row + 1] - ids->splits[row], weights->splits[row + 1] - weights->splits[row]);
    hr_column_fail_row(w, row, &err);
}

static float weight_at(const hr_column_values *v, int64_t i)
{
    if (v->dtype == HR_FLOAT) return ((const float *)v->values)[i];
    if (v->dtype == HR_DOUBLE) return (float)((const double *)v->values)[i];
    return (float)hr_column_integer_at(v, i);
}

/* In TensorFlow's way: by order in the batch, so the sums must match. */
static hr_status pair_by_order(const hr_column_values *ids, const hr_column_values *weights, float *to, hr_error *err)
{
    if (ids->count != weights->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.weights",
                       "weighted_categorical_column: expected as many weights as ids, got %lld and %lld",
                       (long long)weights->count, (long long)ids->count);
    for (int64_t i = 0; i < ids->count; i++) to[i] = weight_at(weights, i);
    return HR_OK;
}

static void pair_by_place(const weighted_spec *s, hr_column_work *w, const hr_column_values *ids,
                          const hr_column_values *weights, float *to)
{
    for (int64_t r = 0; r < ids->rows; r++) {
        bool pairs = row_pairs(ids, weights, r);
        if (!pairs) weighted_refuse(s, w, ids, weights, r);
        for (int64_t i = ids->splits[r], at = weights->splits[r]; i < ids->splits[r + 1]; i++, at++)
            to[i] = pairs ? weight_at(weights, at) : 0;
    }
}

static hr_status weighted_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                    hr_column_values *out, hr_error *err)
{
    const weighted_spec *s = spec;
    const hr_column_values *ids = &in[1];
    hr_column_values weights;
    HR_TRY(hr_column_present(w, &in[0], &weights, err));
    float *to = hr_column_floats(w, ids->count);
    if (!to) return hr_no_memory(err, "weighted_categorical_column");
    if (s->tf_compat || hr_column_tf_compat(w))
        HR_TRY(pair_by_order(ids, &weights, to, err));
    else
        pair_by_place(s, w, ids, &weights, to);
    *out = *ids;
    out->weights = to;
    return HR_OK;
}

/* Of two nodes: `value`, if both have the same shape and the same values. */
static hr_column_node if_equal(const hr_column_graph *g, hr_column_node a, hr_column_node b, hr_column_node value,
                               const char *message)
{
    return hr_column_checked(g, value, HR_COLUMN_APPLY(g, "Equal", a, b), message);
}

/* The numbers of ids and weights first: only then can places be compared. */
static hr_status weighted_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                   hr_column_nodes *out, hr_error *err)
{
    (void)err;
    const weighted_spec *s = spec;
    const hr_column_nodes *ids = &in[1];
    hr_column_node places = in->indices, weights = hr_column_cast(g, in->values, in->dtype, HR_FLOAT);
    if (!s->tf_compat) {
        char message[256];
        snprintf(message, sizeof message, "feature '%.150s': expected a weight for each id, got others", s->key);
        const hr_column_node many = HR_COLUMN_APPLY(g, "Shape", places);
        const hr_column_node wanted = HR_COLUMN_APPLY(g, "Shape", ids->indices);
        places = if_equal(g, many, wanted, places, message);
        weights = if_equal(g, places, ids->indices, weights, message);
    }
    *out = *ids;
    out->weights = weights;
    return HR_OK;
}

static const hr_column_config weighted_config; /* below */

const hr_column_kind hr_column_kind_weighted = {
    .head = HR_COLUMN_HEAD,
    .name = "weighted_categorical_column",
    .spec_size = sizeof(weighted_spec),
    .spec_copy = weighted_copy,
    .spec_free = weighted_free,
    .describe = weighted_describe,
    .accept = weighted_accept,
    .transform = weighted_transform,
    .config = &weighted_config,
    .to_graph = weighted_to_graph,
};

hr_feature_column *hr_weighted_categorical_column_with(hr_feature_column *categorical, const char *weight_feature_key,
                                                       const hr_weighted_column_opts *opts)
{
    hr_weighted_column_opts o = HR_OPTIONS(hr_weighted_column_opts, opts);
    return hr_feature_column_new(&hr_column_kind_weighted,
                                 &(weighted_spec){
                                     .key = weight_feature_key ? weight_feature_key : "",
                                     .dtype = o.dtype == HR_INVALID_DTYPE ? HR_FLOAT : o.dtype,
                                     .tf_compat = o.tf_compat,
                                 },
                                 &categorical, 1);
}

/* ---- {weighted: words, weights: scores} ---- */

static hr_status read_weighted(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    const hr_config_value *weights;
    const char *key;
    hr_dtype dtype;
    bool tf_compat = false;
    HR_TRY(hr_config_need(r, "weights", &weights, err));
    HR_TRY(hr_config_field(r, weights, &dtype, err));
    HR_TRY(hr_config_value_text(weights, &key, err));
    HR_TRY(hr_config_dtype(r, &dtype, err));
    HR_TRY(hr_config_bool(r, "tf_compat", &tf_compat, err));
    HR_TRY(hr_config_column(r, hr_config_get(r, "weighted"), out, err));
    *out = hr_weighted_categorical_column(*out, key, .dtype = dtype, .tf_compat = tf_compat);
    return HR_OK;
}

static void write_weighted(hr_config_writer *w, const hr_feature_column *column)
{
    const weighted_spec *s = hr_feature_column_spec(column);
    hr_config_write_column(w, "weighted", hr_feature_column_source(column, 0));
    hr_config_write_text(w, "weights", s->key);
    hr_config_write_dtype(w, s->dtype);
    if (s->tf_compat) hr_config_write_bool(w, "tf_compat", true);
}

static const hr_column_config weighted_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "weighted",
    .keys = (const char *const[]){"weighted", "weights", "dtype", "tf_compat", NULL},
    .read = read_weighted,
    .write = write_weighted,
};
