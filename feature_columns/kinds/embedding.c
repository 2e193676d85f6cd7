/* embedding_column: rows of a table of weights, looked up by ids and combined. The pipeline only passes the ids on: the
 * trainer has the table and the lookup (hr_combine_rows). */
#include "feature_columns/kinds/embedding.h"

#include <math.h>
#include <string.h>

hr_status hr__embedding_copy(void *spec, hr_error *err)
{
    hr__embedding_spec *s = spec;
    bool both = s->checkpoint && s->tensor, none = !s->checkpoint && !s->tensor;
    const char *shared_name = s->shared_name;
    s->shared_name = hr_strdup(shared_name);
    s->checkpoint = both ? hr_strdup(s->checkpoint) : NULL;
    s->tensor = both ? hr_strdup(s->tensor) : NULL;
    if (!both && !none)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.checkpoint",
                       "%s: expected both ckpt_to_load_from and tensor_name_in_ckpt, or none, got one",
                       shared_name ? "shared_embeddings" : "embedding_column");
    const bool copied = (none || (s->checkpoint && s->tensor)) && (s->shared_name || !shared_name);
    return copied ? HR_OK : hr_no_memory(err, "embedding_column");
}

void hr__embedding_free(void *spec)
{
    hr__embedding_spec *s = spec;
    hr_free((void *)(uintptr_t)s->checkpoint);
    hr_free((void *)(uintptr_t)s->tensor);
    hr_free((void *)(uintptr_t)s->shared_name);
}

static const char *who(const hr__embedding_spec *s)
{
    return s->shared_name ? "shared_embeddings" : "embedding_column";
}

static hr_status embedding_check_arguments(const hr__embedding_spec *s, const char *name, hr_error *err)
{
    if (s->dimension < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dimension", "%s of '%s': expected dimension > 0, got %lld",
                       who(s), name, (long long)s->dimension);
    if (s->combiner != HR_MEAN && s->combiner != HR_SUM && s->combiner != HR_SQRTN)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.combiner",
                       "%s of '%s': expected combiner HR_MEAN, HR_SUM or HR_SQRTN, got %d", who(s), name,
                       (int)s->combiner);
    if ((unsigned)s->initializer > HR_TABLE_CONSTANT ||
        (s->initializer == HR_TABLE_RANDOM_UNIFORM && !(s->minval < s->maxval)))
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "column.embedding",
            "%s of '%s': expected an initializer, of the uniform one minval < maxval, got number %d, %g and %g", who(s),
            name, (int)s->initializer, (double)s->minval, (double)s->maxval);
    if (!(s->max_norm >= 0) || (s->has_stddev && !(s->stddev >= 0)))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.embedding",
                       "%s of '%s': expected max_norm and stddev >= 0, got %g and %g", who(s), name,
                       (double)s->max_norm, (double)s->stddev);
    return HR_OK;
}

hr_status hr__embedding_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                 hr_error *err)
{
    const hr__embedding_spec *s = spec;
    HR_TRY(hr_column_check_categorical(who(s), source[0], err));
    const hr_column_info *ids = hr_feature_column_info(source[0]);
    HR_TRY(embedding_check_arguments(s, ids->name, err));
    HR_TRY(hr_column_name(out, err, s->shared_name ? "%s_shared_embedding" : "%s_embedding", ids->name));
    hr_column_info *info = hr_column_describe(out);
    info->categorical_column = source[0];
    info->dense = HR_COLUMN_LOOKUP;
    info->num_buckets = ids->num_buckets;
    info->width = s->dimension;
    info->table = (hr_table_info){
        .dimension = s->dimension,
        .combiner = s->combiner,
        .initializer = s->initializer,
        .minval = s->minval,
        .maxval = s->maxval,
        .v1 = s->v1,
        .mean = s->mean,
        .stddev = s->has_stddev ? s->stddev : (float)(1 / sqrt((double)s->dimension)),
        .max_norm = s->max_norm,
        .trainable = s->trainable,
        .shared_name = s->shared_name,
        .ckpt_to_load_from = s->checkpoint,
        .tensor_name_in_ckpt = s->tensor,
    };
    hr_column_mix(out, (int64_t[]){s->dimension, s->combiner, s->trainable, s->initializer, s->v1},
                  5 * sizeof(int64_t));
    hr_column_mix(out, (float[]){s->mean, info->table.stddev, s->max_norm, s->minval, s->maxval}, 5 * sizeof(float));
    hr_column_mix(out, s->checkpoint, s->checkpoint ? strlen(s->checkpoint) : 0);
    hr_column_mix(out, s->tensor, s->tensor ? strlen(s->tensor) : 0);
    hr_column_mix(out, s->shared_name, s->shared_name ? strlen(s->shared_name) : 0);
    return HR_OK;
}

static const hr_column_config embedding_config; /* below */

const hr_column_kind hr_column_kind_embedding = {
    .head = HR_COLUMN_HEAD,
    .name = "embedding_column",
    .spec_size = sizeof(hr__embedding_spec),
    .spec_copy = hr__embedding_copy,
    .spec_free = hr__embedding_free,
    .describe = hr__embedding_describe,
    .config = &embedding_config,
};

hr__embedding_spec hr__embedding_spec_of(int64_t dimension, const hr_embedding_column_opts *o, const char *shared_name)
{
    return (hr__embedding_spec){
        .dimension = dimension,
        .combiner = o->combiner,
        .mean = o->mean,
        .stddev = o->stddev ? *o->stddev : 0,
        .max_norm = o->max_norm,
        .minval = o->minval,
        .maxval = o->maxval,
        .initializer = o->initializer,
        .has_stddev = o->stddev != NULL,
        .trainable = !o->not_trainable,
        .checkpoint = o->ckpt_to_load_from,
        .tensor = o->tensor_name_in_ckpt,
        .shared_name = shared_name,
    };
}

hr_feature_column *hr_embedding_column_with(hr_feature_column *categorical, int64_t dimension,
                                            const hr_embedding_column_opts *opts)
{
    const hr_embedding_column_opts o = HR_OPTIONS(hr_embedding_column_opts, opts);
    const hr__embedding_spec spec = hr__embedding_spec_of(dimension, &o, NULL);
    return hr_feature_column_new(&hr_column_kind_embedding, &spec, &categorical, 1);
}

/* ---- {embedding: carrier, dimension: 8}; shared_embedding_name: the table that several of them look up ---- */

static const char *const combiners[] = {[HR_MEAN] = "mean", [HR_SUM] = "sum", [HR_SQRTN] = "sqrtn"};

static const char *const initializers[] = {[HR_TABLE_TRUNCATED_NORMAL] = "truncated_normal",
                                           [HR_TABLE_RANDOM_NORMAL] = "random_normal",
                                           [HR_TABLE_RANDOM_UNIFORM] = "random_uniform",
                                           [HR_TABLE_CONSTANT] = "constant"};

static hr_status read_initializer(const hr_config_reader *r, hr_embedding_column_opts *o, hr_error *err)
{
    int64_t initializer = HR_TABLE_TRUNCATED_NORMAL;
    double minval = 0, maxval = 0;
    HR_TRY(hr_config_choice(r, "initializer", "initializer", initializers, 4, &initializer, err));
    HR_TRY(hr_config_double(r, "minval", &minval, err));
    HR_TRY(hr_config_double(r, "maxval", &maxval, err));
    o->initializer = (hr_table_initializer)initializer;
    o->minval = (float)minval;
    o->maxval = (float)maxval;
    return HR_OK;
}

static hr_status embedding_read_numbers(const hr_config_reader *r, hr_embedding_column_opts *o, float *stddev,
                                        hr_error *err)
{
    int64_t combiner = HR_MEAN;
    double max_norm = 0, mean = 0, deviation = -1;
    bool trainable = true;
    HR_TRY(hr_config_choice(r, "combiner", "combiner", combiners, 3, &combiner, err));
    HR_TRY(hr_config_double(r, "max_norm", &max_norm, err));
    HR_TRY(hr_config_double(r, "mean", &mean, err));
    HR_TRY(hr_config_double(r, "stddev", &deviation, err));
    HR_TRY(hr_config_bool(r, "trainable", &trainable, err));
    *stddev = (float)deviation;
    o->combiner = (hr_combiner)combiner;
    o->max_norm = (float)max_norm;
    o->mean = (float)mean;
    o->stddev = hr_config_get(r, "stddev") ? stddev : NULL;
    o->not_trainable = !trainable;
    HR_TRY(hr_config_text(r, "ckpt_to_load_from", &o->ckpt_to_load_from, err));
    HR_TRY(hr_config_text(r, "tensor_name_in_ckpt", &o->tensor_name_in_ckpt, err));
    return HR_OK;
}

hr_status hr__embedding_read(const hr_config_reader *r, hr__embedding_words *out, hr_error *err)
{
    const hr_config_value *node;
    *out = (hr__embedding_words){.o.struct_size = sizeof out->o};
    HR_TRY(hr_config_need(r, "dimension", &node, err));
    HR_TRY(hr_config_value_int(node, 1, INT32_MAX, &out->dimension, err));
    HR_TRY(embedding_read_numbers(r, &out->o, &out->stddev, err));
    HR_TRY(read_initializer(r, &out->o, err));
    HR_TRY(hr_config_bool(r, "v1", &out->v1, err));
    return hr_config_text(r, "shared_embedding_name", &out->shared_name, err);
}

static hr_status read_embedding(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    hr__embedding_words words;
    HR_TRY(hr__embedding_read(r, &words, err));
    HR_TRY(hr_config_column(r, hr_config_get(r, "embedding"), out, err));
    hr__embedding_spec spec = hr__embedding_spec_of(words.dimension, &words.o, words.shared_name);
    spec.v1 = words.v1;
    *out = words.shared_name ? hr__shared_embedding_new(&spec, *out)
                             : hr_feature_column_new(&hr_column_kind_embedding, &spec, out, 1);
    return HR_OK;
}

void hr__embedding_write(hr_config_writer *w, const hr__embedding_spec *s, bool with_name)
{
    hr_config_write_int(w, "dimension", s->dimension);
    if (s->combiner != HR_MEAN) hr_config_write_text(w, "combiner", combiners[s->combiner]);
    if (s->max_norm > 0) hr_config_write_float(w, "max_norm", s->max_norm);
    if (s->mean != 0) hr_config_write_float(w, "mean", s->mean);
    if (s->has_stddev) hr_config_write_float(w, "stddev", s->stddev);
    if (!s->trainable) hr_config_write_bool(w, "trainable", false);
    if (s->checkpoint) hr_config_write_text(w, "ckpt_to_load_from", s->checkpoint);
    if (s->tensor) hr_config_write_text(w, "tensor_name_in_ckpt", s->tensor);
    if (with_name) hr_config_write_text(w, "shared_embedding_name", s->shared_name);
    if (s->v1) hr_config_write_bool(w, "v1", true);
    if (s->initializer == HR_TABLE_TRUNCATED_NORMAL) return;
    hr_config_write_text(w, "initializer", initializers[s->initializer]);
    if (s->initializer != HR_TABLE_RANDOM_UNIFORM) return;
    hr_config_write_float(w, "minval", s->minval);
    hr_config_write_float(w, "maxval", s->maxval);
}

static void write_embedding(hr_config_writer *w, const hr_feature_column *column)
{
    hr_config_write_column(w, "embedding", hr_feature_column_source(column, 0));
    hr__embedding_write(w, hr_feature_column_spec(column), false);
}

static const hr_column_config embedding_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "embedding",
    .keys = (const char *const[]){"embedding", HR__EMBEDDING_KEYS, NULL},
    .read = read_embedding,
    .write = write_embedding,
};
