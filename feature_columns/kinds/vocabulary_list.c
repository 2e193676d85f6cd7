/* categorical_column_with_vocabulary_list: a word's id is its place in the list. */
#include "feature_columns/config/config_write.h"
#include "feature_columns/kernels/vocabulary.h"

#include <string.h>

static hr_status read_list(hr__vocabulary_spec *s, hr_error *err)
{
    const hr_vocabulary_list *v = &s->given;
    const hr__words_of of = {.key = s->key};
    s->words = hr__words_new();
    if (!s->words) return hr_no_memory(err, "a vocabulary");
    for (int64_t i = 0; i < v->count; i++) {
        if (v->ints)
            HR_TRY(hr__words_add_int(s->words, of, v->ints[i], err));
        else if (v->views)
            HR_TRY(hr__words_add(s->words, of, v->views[i].data, (size_t)v->views[i].size, err));
        else if (v->strings && v->strings[i])
            HR_TRY(hr__words_add(s->words, of, v->strings[i], strlen(v->strings[i]), err));
        else
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary",
                           "vocabulary of '%s': expected a word, got NULL as number %lld", s->key, (long long)i);
    }
    return HR_OK;
}

static hr_status vocabulary_list_copy(void *spec, hr_error *err) { return hr__vocabulary_copy(spec, read_list, err); }

const hr_column_kind hr_column_kind_vocabulary_list = {
    .head = HR_COLUMN_HEAD,
    .name = "categorical_column_with_vocabulary_list",
    .spec_size = sizeof(hr__vocabulary_spec),
    .spec_copy = vocabulary_list_copy,
    .spec_free = hr__vocabulary_free,
    .describe = hr__vocabulary_describe,
    .accept = hr__vocabulary_accept,
    .transform = hr__vocabulary_transform,
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
        return hr__failed_column(&err);
    }
    if (o.dtype == HR_INVALID_DTYPE && vocabulary.ints) o.dtype = HR_INT64;
    hr__vocabulary_spec spec = hr__vocabulary_new(key, &o);
    spec.given = vocabulary;
    return hr_feature_column_new(&hr_column_kind_vocabulary_list, &spec, NULL, 0);
}

/* ---- {vocabulary_list: [EWR, JFK, LGA]} ---- */

static hr_status read_words(const hr__node *list, hr_dtype dtype, hr_view *views, int64_t *ints, hr_error *err)
{
    for (int64_t i = 0; i < list->count; i++) {
        const hr__node *word = list->item[i];
        HR_TRY(hr__node_is(word, HR__SCALAR, err));
        views[i] = (hr_view){word->text, (int64_t)word->size};
        if (dtype != HR_STRING) HR_TRY(hr__node_int64(word, INT64_MIN, INT64_MAX, &ints[i], err));
    }
    return HR_OK;
}

static hr_status read_vocabulary_list(hr__config_columns *c, const hr__node *map, const char *name,
                                      hr_feature_column **out, hr_error *err)
{
    const char *field;
    hr_dtype dtype;
    int64_t missing = -1;
    hr_vocabulary_column_opts o = {0};
    const hr__node *list = hr__node_get(map, "vocabulary_list");
    HR_TRY(hr__config_own_field(c, map, name, &field, &dtype, err));
    HR_TRY(hr__vocabulary_read_options(map, dtype, &missing, &o, err));
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    hr_view *views = hr_calloc((size_t)list->count + 1, sizeof *views);
    int64_t *ints = hr_calloc((size_t)list->count + 1, sizeof *ints);
    hr_status st = views && ints ? read_words(list, dtype, views, ints, err) : hr_no_memory(err, "a vocabulary");
    hr_vocabulary_list words = {.count = list->count, .views = views};
    if (dtype != HR_STRING) words = (hr_vocabulary_list){.count = list->count, .ints = ints};
    if (st == HR_OK) *out = hr_categorical_column_with_vocabulary_list_with(field, words, &o);
    hr_free(views);
    hr_free(ints);
    return st;
}

static void write_vocabulary_list(hr__column_writer *w, const hr_feature_column *column)
{
    const hr__vocabulary_spec *s = hr_feature_column_spec(column);
    hr__write_begin_list(w, "vocabulary_list");
    for (int64_t i = 0; i < s->words->size; i++) {
        const hr_view word = hr__map_key(&s->words->ids, (uint32_t)i);
        int64_t integer;
        if (s->dtype == HR_STRING)
            hr__write_item_text(w, word);
        else
            hr__write_item_int(w, *(int64_t *)memcpy(&integer, word.data, sizeof integer));
    }
    hr__write_end_list(w);
    hr__vocabulary_write_options(w, s);
}

const hr__column_config hr__column_config_vocabulary_list = {
    .kinds = (const hr_column_kind *const[]){&hr_column_kind_vocabulary_list, NULL},
    .word = "vocabulary_list",
    .keys = (const char *const[]){"vocabulary_list", "field", "default", "num_oov_buckets", "dtype", NULL},
    .read = read_vocabulary_list,
    .write = write_vocabulary_list,
};
