/* categorical_column_with_vocabulary_list: a word's id is its place in the list. */
#include <headrace/column_config.h>
#include <headrace/column_graph.h>
#include "feature_columns/kinds/vocabulary.h"

#include <string.h>

static hr_status read_list(hr__vocabulary_spec *s, hr_error *err)
{
    return hr_words_of_list(s->key, s->given, &s->words, err);
}

static hr_status vocabulary_list_copy(void *spec, hr_error *err) { return hr__vocabulary_copy(spec, read_list, err); }

static const hr_column_config vocabulary_list_config; /* below */

const hr_column_kind hr_column_kind_vocabulary_list = {
    .head = HR_COLUMN_HEAD,
    .name = "categorical_column_with_vocabulary_list",
    .spec_size = sizeof(hr__vocabulary_spec),
    .spec_copy = vocabulary_list_copy,
    .spec_free = hr__vocabulary_free,
    .describe = hr__vocabulary_describe,
    .accept = hr__vocabulary_accept,
    .transform = hr__vocabulary_transform,
    .config = &vocabulary_list_config,
    .to_graph = hr__vocabulary_to_graph,
};

/* Words of one sort in a column of another: nothing would ever be found. */
static bool sorts_differ(const hr_vocabulary_list *v, hr_dtype dtype)
{
    return v->count > 0 && dtype != HR_INVALID_DTYPE && (v->ints != NULL) == (dtype == HR_STRING);
}

hr_feature_column *hr_categorical_column_with_vocabulary_list_with(const char *key, hr_vocabulary_list vocabulary,
                                                                   const hr_vocabulary_column_opts *opts)
{
    hr_vocabulary_column_opts o = HR_OPTIONS(hr_vocabulary_column_opts, opts);
    if (sorts_differ(&vocabulary, o.dtype)) {
        hr_error err;
        hr_fail(&err, HR_INVALID_ARGUMENT, "column.dtype", "vocabulary of '%s': expected %s words, got %s ones",
                key ? key : "", hr_dtype_name(o.dtype), vocabulary.ints ? "integer" : "string");
        return hr_feature_column_failed(&err);
    }
    if (o.dtype == HR_INVALID_DTYPE && vocabulary.ints) o.dtype = HR_INT64;
    hr__vocabulary_spec spec = hr__vocabulary_new(key, &o);
    spec.given = vocabulary;
    return hr_feature_column_new(&hr_column_kind_vocabulary_list, &spec, NULL, 0);
}

/* ---- {vocabulary_list: [EWR, JFK, LGA]} ---- */

static hr_status read_vocabulary_list(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    const char *field;
    hr_dtype dtype;
    int64_t missing = -1, count;
    hr_vocabulary_column_opts o = {0};
    const hr_config_value *list = hr_config_get(r, "vocabulary_list");
    HR_TRY(hr_config_own_field(r, &field, &dtype, err));
    HR_TRY(hr__vocabulary_read_options(r, dtype, &missing, &o, err));
    HR_TRY(hr_config_items(list, &count, err));
    hr_view *views = hr_calloc((size_t)count + 1, sizeof *views);
    int64_t *ints = hr_calloc((size_t)count + 1, sizeof *ints);
    hr_status st = views && ints ? HR_OK : hr_no_memory(err, "a vocabulary");
    for (int64_t i = 0; i < count && st == HR_OK; i++) {
        const hr_config_value *word = hr_config_item(list, i);
        st = hr_config_value_bytes(word, &views[i], err);
        if (st == HR_OK && dtype != HR_STRING) st = hr_config_value_int(word, INT64_MIN, INT64_MAX, &ints[i], err);
    }
    hr_vocabulary_list words = {.count = count, .views = views};
    if (dtype != HR_STRING) words = (hr_vocabulary_list){.count = count, .ints = ints};
    if (st == HR_OK) *out = hr_categorical_column_with_vocabulary_list_with(field, words, &o);
    hr_free(views);
    hr_free(ints);
    return st;
}

static void write_vocabulary_list(hr_config_writer *w, const hr_feature_column *column)
{
    const hr__vocabulary_spec *s = hr_feature_column_spec(column);
    hr_config_begin_list(w, "vocabulary_list");
    for (int64_t i = 0; i < hr_words_size(s->words); i++) {
        const hr_view word = hr_words_at(s->words, i);
        int64_t integer;
        if (s->dtype == HR_STRING)
            hr_config_item_text(w, word);
        else
            hr_config_item_int(w, *(int64_t *)memcpy(&integer, word.data, sizeof integer));
    }
    hr_config_end_list(w);
    hr__vocabulary_write_options(w, s);
}

static const hr_column_config vocabulary_list_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "vocabulary_list",
    .keys = (const char *const[]){"vocabulary_list", "field", "default", "num_oov_buckets", "dtype", NULL},
    .read = read_vocabulary_list,
    .write = write_vocabulary_list,
};
