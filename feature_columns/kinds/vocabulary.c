/* What the two vocabulary columns have in common. */
#include "feature_columns/kinds/vocabulary.h"

/* ---- the column ---- */

hr__vocabulary_spec hr__vocabulary_new(const char *key, const hr_vocabulary_column_opts *opts)
{
    return (hr__vocabulary_spec){
        .key = key ? key : "",
        .vocabulary_size = opts->vocabulary_size,
        .records = opts->tfrecord_gzip,
        .given_size = opts->vocabulary_size ? *opts->vocabulary_size : 0,
        .dtype = opts->dtype == HR_INVALID_DTYPE ? HR_STRING : opts->dtype,
        .default_value = opts->default_value ? *opts->default_value : -1,
        .oov = opts->num_oov_buckets,
        .has_default = opts->default_value != NULL,
    };
}

static hr_status vocabulary_check_options(const hr__vocabulary_spec *s, hr_error *err)
{
    HR_TRY(hr_column_check_key("vocabulary column", s->key, err));
    if (s->dtype != HR_STRING && !hr_dtype_is_integer(s->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                       "vocabulary of '%s': expected dtype string or an integer, got %s", s->key,
                       hr_dtype_name(s->dtype));
    if (s->oov < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.num_oov_buckets",
                       "vocabulary of '%s': expected num_oov_buckets >= 0, got %lld", s->key, (long long)s->oov);
    if (s->oov > 0 && s->has_default)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.num_oov_buckets",
                       "vocabulary of '%s': expected num_oov_buckets or default_value, got both (%lld and %lld)",
                       s->key, (long long)s->oov, (long long)s->default_value);
    return HR_OK;
}

hr_status hr__vocabulary_copy(hr__vocabulary_spec *s, hr_status (*read)(hr__vocabulary_spec *s, hr_error *err),
                              hr_error *err)
{
    const char *file = s->file;
    s->file = NULL;
    s->key = hr_strdup(s->key);
    if (!s->key) return hr_no_memory(err, "a vocabulary");
    if (file && !(s->file = hr_strdup(file))) return hr_no_memory(err, "a vocabulary");
    HR_TRY(vocabulary_check_options(s, err));
    hr_status st = read(s, err);
    s->given = (hr_vocabulary_list){0};
    s->vocabulary_size = NULL;
    return st;
}

void hr__vocabulary_free(void *spec)
{
    hr__vocabulary_spec *s = spec;
    hr_free((void *)(uintptr_t)s->key);
    hr_free((void *)(uintptr_t)s->file);
    hr_words_unref(s->words);
}

hr_status hr__vocabulary_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                  hr_error *err)
{
    (void)source;
    const hr__vocabulary_spec *s = spec;
    if (!s->words || hr_words_size(s->words) < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary", "vocabulary of '%s': expected words, got none",
                       s->key);
    HR_TRY(hr_column_name(out, err, "%s", s->key));
    HR_TRY(hr_column_read_var_len(out, s->key, s->dtype, err));
    const uint64_t digest = hr_words_digest(s->words);
    hr_column_mix(out, &digest, sizeof digest);
    hr_column_mix(out, (int64_t[]){hr_words_size(s->words), s->default_value, s->oov}, 3 * sizeof(int64_t));
    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->num_buckets = hr_words_size(s->words) + s->oov;
    return HR_OK;
}

hr_status hr__vocabulary_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    const hr__vocabulary_spec *s = spec;
    bool fits = s->dtype == HR_STRING ? in->dtype == HR_STRING : hr_dtype_is_integer(in->dtype);
    if (fits) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype", "vocabulary of '%s': expected %s, got %s", s->key,
                   s->dtype == HR_STRING ? "strings" : "integers", hr_dtype_name(in->dtype));
}

hr_status hr__vocabulary_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                   hr_column_values *out, hr_error *err)
{
    const hr__vocabulary_spec *s = spec;
    hr_column_values present;
    HR_TRY(hr_column_present(w, in, &present, err));
    int64_t *ids = hr_column_ids(w, present.count);
    if (!ids) return hr_no_memory(err, "a vocabulary's ids");
    hr_words_look_up(s->words, &present, s->default_value, s->oov, ids);
    *out = present;
    out->dtype = HR_INT64;
    out->values = ids;
    return HR_OK;
}

hr_status hr__vocabulary_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                  hr_column_nodes *out, hr_error *err)
{
    (void)err;
    const hr__vocabulary_spec *s = spec;
    const bool integers = s->dtype != HR_STRING;
    const hr_column_node keys = integers ? hr_column_cast(g, in->values, in->dtype, HR_INT64) : in->values;
    *out = *in;
    out->dtype = HR_INT64;
    out->all_count = s->oov > 0 || s->default_value >= 0;
    out->values = hr_column_look_up(g, keys,
                                    &(hr_column_vocabulary){
                                        .words = s->words,
                                        .integers = integers,
                                        .file = s->records ? NULL : s->file, /* tables read text */
                                        .default_value = s->default_value,
                                        .oov_buckets = s->oov,
                                    });
    return HR_OK;
}

/* ---- the options that both have in a config file ---- */

hr_status hr__vocabulary_read_options(const hr_config_reader *r, hr_dtype dtype, int64_t *missing,
                                      hr_vocabulary_column_opts *o, hr_error *err)
{
    o->struct_size = sizeof *o;
    o->dtype = dtype;
    HR_TRY(hr_config_dtype(r, &o->dtype, err));
    HR_TRY(hr_config_int(r, "default", -1, INT64_MAX, missing, err));
    HR_TRY(hr_config_int(r, "num_oov_buckets", 0, INT64_MAX, &o->num_oov_buckets, err));
    if (hr_config_get(r, "default")) o->default_value = missing;
    return HR_OK;
}

void hr__vocabulary_write_options(hr_config_writer *w, const hr__vocabulary_spec *s)
{
    hr_config_write_own_field(w, s->key);
    if (s->has_default) hr_config_write_int(w, "default", s->default_value);
    if (s->oov > 0) hr_config_write_int(w, "num_oov_buckets", s->oov);
    hr_config_write_dtype(w, s->dtype);
}
