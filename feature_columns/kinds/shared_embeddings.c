/* shared_embeddings: several columns that look up rows of one table. */
#include "feature_columns/kinds/embedding.h"

#include <stdlib.h>
#include <string.h>

static const hr_column_config shared_embeddings_config; /* below */

const hr_column_kind hr_column_kind_shared_embeddings = {
    .head = HR_COLUMN_HEAD,
    .name = "shared_embeddings",
    .spec_size = sizeof(hr__embedding_spec),
    .spec_copy = hr__embedding_copy,
    .spec_free = hr__embedding_free,
    .describe = hr__embedding_describe,
    .config = &shared_embeddings_config,
};

hr_feature_column *hr__shared_embedding_new(const hr__embedding_spec *spec, hr_feature_column *source)
{
    return hr_feature_column_new(&hr_column_kind_shared_embeddings, spec, &source, 1);
}

/* What a column is that gives ids, its weights aside. */
static const char *kind_of_ids(const hr_feature_column *column)
{
    const hr_feature_column *own = column;
    if (hr_feature_column_is(column, "weighted_categorical_column")) own = hr_feature_column_source(column, 0);
    return hr_feature_column_info(own)->kind;
}

/* The ids of one column must mean what those of another do. */
static hr_status check_alike(hr_feature_column *const *categorical, int count, hr_error *err)
{
    for (int i = 0; i < count; i++) {
        const hr_error *failed = hr_feature_column_error(categorical[i]);
        if (failed) {
            *err = *failed;
            return failed->code;
        }
        HR_TRY(hr_column_check_categorical("shared_embeddings", categorical[i], err));
        const hr_column_info *first = hr_feature_column_info(categorical[0]);
        const hr_column_info *own = hr_feature_column_info(categorical[i]);
        if (own->num_buckets != first->num_buckets)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.shared",
                           "shared_embeddings: expected columns with equally many ids, got '%.60s' with %lld and "
                           "'%.60s' with %lld",
                           first->name, (long long)first->num_buckets, own->name, (long long)own->num_buckets);
        if (strcmp(kind_of_ids(categorical[0]), kind_of_ids(categorical[i])) != 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.shared",
                           "shared_embeddings: expected columns of one kind, got '%.60s', a %s, and '%.60s', a %s",
                           first->name, kind_of_ids(categorical[0]), own->name, kind_of_ids(categorical[i]));
    }
    return HR_OK;
}

static int shared_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What the table of these columns is called unless somebody says otherwise. Gives it (hr_free); NULL: no memory. */
static char *shared_table_name(const hr_feature_column *const *categorical, int count)
{
    static const char tail[] = "shared_embedding";
    const char **names = hr_malloc(((size_t)count + 1) * sizeof *names);
    size_t size = sizeof tail;
    for (int i = 0; names && i < count; i++) {
        names[i] = hr_feature_column_info(categorical[i])->name;
        size += strlen(names[i]) + 1;
    }
    char *name = names ? hr_malloc(size) : NULL;
    char *at = name;
    if (name) qsort(names, (size_t)count, sizeof *names, shared_by_name);
    for (int i = 0; name && i < count; i++) {
        const size_t length = strlen(names[i]);
        memcpy(at, names[i], length);
        at[length] = '_';
        at += length + 1;
    }
    if (name) memcpy(at, tail, sizeof tail);
    hr_free(names);
    return name;
}

void hr_shared_embeddings_with(hr_feature_column *const *categorical, int count, int64_t dimension,
                               hr_feature_column **out, const hr_shared_embeddings_opts *opts)
{
    const hr_shared_embeddings_opts o = HR_OPTIONS(hr_shared_embeddings_opts, opts);
    hr_error err;
    char *name = NULL;
    hr_status status = check_alike(categorical, count, &err);
    if (status == HR_OK)
        name = o.shared_embedding_name ? hr_strdup(o.shared_embedding_name)
                                       : shared_table_name((const hr_feature_column *const *)categorical, count);
    if (status == HR_OK && !name) status = hr_no_memory(&err, "shared_embeddings");
    const hr_embedding_column_opts table = {
        .combiner = o.combiner,
        .stddev = o.stddev,
        .mean = o.mean,
        .max_norm = o.max_norm,
        .not_trainable = o.not_trainable,
        .ckpt_to_load_from = o.ckpt_to_load_from,
        .tensor_name_in_ckpt = o.tensor_name_in_ckpt,
        .initializer = o.initializer,
        .minval = o.minval,
        .maxval = o.maxval,
    };
    hr__embedding_spec spec = hr__embedding_spec_of(dimension, &table, name);
    spec.v1 = o.v1;
    for (int i = 0; i < count; i++) {
        if (status == HR_OK) {
            out[i] = hr__shared_embedding_new(&spec, categorical[i]);
        } else {
            hr_feature_column *own = categorical[i];
            out[i] = hr_feature_column_failed(&err);
            hr_feature_column_unref(own);
        }
    }
    hr_free(name);
}

/* ---- {shared_embeddings: [origin, dest], dimension: 8}: a column for each ---- */

static int64_t shared_columns_of(const hr_config_reader *r)
{
    const hr_config_value *list = hr_config_get(r, "shared_embeddings");
    int64_t count;
    return hr_config_items(list, &count, NULL) == HR_OK ? count : 0;
}

static hr_status read_sources(hr_config_reader *r, const hr_config_value *list, int64_t count, hr_feature_column **out,
                              hr_error *err)
{
    hr_status st = HR_OK;
    for (int64_t i = 0; i < count && st == HR_OK; i++) st = hr_config_column(r, hr_config_item(list, i), &out[i], err);
    for (int64_t i = 0; i < count && st != HR_OK; i++) {
        hr_feature_column_unref(out[i]);
        out[i] = NULL;
    }
    return st;
}

static hr_status read_shared(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    hr__embedding_words words;
    int64_t count;
    const hr_config_value *list = hr_config_get(r, "shared_embeddings");
    HR_TRY(hr_config_items(list, &count, err));
    if (count < 1 || count > INT32_MAX) return hr_config_expected(list, "one column or several", err);
    HR_TRY(hr__embedding_read(r, &words, err));
    HR_TRY(read_sources(r, list, count, out, err));
    const hr_embedding_column_opts *o = &words.o;
    hr_shared_embeddings_with(out, (int)count, words.dimension, out,
                              &(hr_shared_embeddings_opts){.struct_size = sizeof(hr_shared_embeddings_opts),
                                                           .combiner = o->combiner,
                                                           .stddev = o->stddev,
                                                           .mean = o->mean,
                                                           .max_norm = o->max_norm,
                                                           .not_trainable = o->not_trainable,
                                                           .ckpt_to_load_from = o->ckpt_to_load_from,
                                                           .tensor_name_in_ckpt = o->tensor_name_in_ckpt,
                                                           .shared_embedding_name = words.shared_name,
                                                           .initializer = o->initializer,
                                                           .minval = o->minval,
                                                           .maxval = o->maxval,
                                                           .v1 = words.v1});
    return HR_OK;
}

/* One of those whose table has a name of its own is an embedding with that name; so are, one by one, columns that do
 * not stand together in the file. */
static void write_shared(hr_config_writer *w, const hr_feature_column *column)
{
    const hr__embedding_spec *s = hr_feature_column_spec(column);
    int count;
    const hr_feature_column *const *sources = hr_config_write_sources(w, &count);
    char *name = sources ? shared_table_name(sources, count) : NULL;
    const bool own_name = !name || strcmp(name, s->shared_name) != 0;
    hr_free(name);
    if (count == 1 && own_name) {
        hr_config_write_column(w, "embedding", sources ? sources[0] : hr_feature_column_source(column, 0));
    } else {
        hr_config_begin_list(w, "shared_embeddings");
        for (int i = 0; i < count; i++) hr_config_item_column(w, sources[i]);
        hr_config_end_list(w);
    }
    hr__embedding_write(w, s, own_name);
}

static const hr_column_config shared_embeddings_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "shared_embeddings",
    .keys = (const char *const[]){"shared_embeddings", HR__EMBEDDING_KEYS, NULL},
    .read = read_shared,
    .write = write_shared,
    .columns = shared_columns_of,
};
