/* The words of a feature and how often each occurs: a map for each slot, all of them put together at the end. */
#include "base/hash_map.h"
#include "base/number.h"
#include "io/example/wanted_features.h"
#include "io/survey/survey.h"
#include <stdlib.h>
#include <string.h>

typedef struct slot {
    hr__map words;
    hr_view feature;
    hr__wanted wanted; /* the feature alone */
} slot;

struct hr_vocabulary {
    hr__map words;
    hr_vocabulary_word *word; /* sorted */
    int64_t size, distinct;
};

static hr_status count_word(hr__map *words, hr_view word, int64_t count, hr_error *err)
{
    const uint64_t hash = hr__map_hash(word.data, (size_t)word.size);
    int64_t *known = hr__map_find_hashed(words, hash, word.data, (size_t)word.size);
    if (!known) return hr__map_add_hashed(words, hash, word.data, (size_t)word.size, count, err);
    *known += count;
    return HR_OK;
}

static hr_status count_block(slot *w, const hr__values *t, hr_error *err)
{
    char text[HR__NUMBER_TEXT];
    for (int64_t i = 0; i < t->count; i++) {
        hr_view word = {text, 0};
        if (t->dtype == HR_STRING)
            word = ((const hr_view *)t->data)[i];
        else
            word.size = hr__format_int64(((const int64_t *)t->data)[i], text);
        HR_TRY(count_word(&w->words, word.size ? word : (hr_view){"", 0}, 1, err));
    }
    return HR_OK;
}

static hr_status count_values(slot *w, const hr__values *values, hr_error *err)
{
    hr__blocks blocks;
    if (values->dtype == HR_FLOAT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "vocabulary.type",
                       "feature '%.*s': expected strings or int64, found float32", (int)w->feature.size,
                       w->feature.data);
    hr__blocks_begin(&blocks, values);
    for (const hr__values *b; (b = hr__blocks_next(&blocks));) HR_TRY(count_block(w, b, err));
    return HR_OK;
}

static bool vocabulary_count_is_key(const slot *w, hr_view key)
{
    return key.size == w->feature.size && memcmp(key.data, w->feature.data, (size_t)key.size) == 0;
}

static hr_status vocabulary_count_note(void *user, const hr__survey_place *at, const hr__walk_contents *c,
                                       hr_error *err)
{
    slot *w = user;
    (void)at;
    HR_TRY(hr__wanted_note(&w->wanted, c, err));
    for (int64_t i = 0; i < c->features; i++)
        if (vocabulary_count_is_key(w, c->feature[i].key)) HR_TRY(count_values(w, &c->feature[i].values, err));
    for (int64_t i = 0; i < c->lists; i++)
        for (int64_t s = 0; vocabulary_count_is_key(w, c->list[i].key) && s < c->list[i].steps; s++)
            HR_TRY(count_values(w, &c->list[i].step[s], err));
    return HR_OK;
}

/* ---- all slots together ---- */

static int by_count(const void *a, const void *b)
{
    const hr_vocabulary_word *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    const int order =
        memcmp(x->word.data, y->word.data, (size_t)(x->word.size < y->word.size ? x->word.size : y->word.size));
    return order ? order : (x->word.size > y->word.size) - (x->word.size < y->word.size);
}

static hr_status vocabulary_count_merge(hr__map *to, const hr__map *from, hr_error *err)
{
    for (uint32_t i = 0; i < from->count; i++)
        HR_TRY(count_word(to, hr__map_key(from, i), from->entries[i].value, err));
    return HR_OK;
}

static hr_status vocabulary_count_finish(hr_vocabulary *v, int64_t top_k, int64_t min_count, hr_error *err)
{
    v->distinct = v->words.count;
    v->word = hr_malloc(((size_t)v->words.count + 1) * sizeof *v->word);
    if (!v->word) return hr_no_memory(err, "a vocabulary");
    for (uint32_t i = 0; i < v->words.count; i++)
        if (v->words.entries[i].value >= min_count)
            v->word[v->size++] = (hr_vocabulary_word){hr__map_key(&v->words, i), v->words.entries[i].value};
    qsort(v->word, (size_t)v->size, sizeof *v->word, by_count);
    if (top_k > 0 && v->size > top_k) v->size = top_k;
    return HR_OK;
}

static hr_status count_all(const hr_file_list *files, hr_view feature, const hr_survey_opts *opts, hr_vocabulary *v,
                           hr_error *err)
{
    slot slots[HR__SURVEY_SLOTS] = {0};
    hr__survey survey = {.files = files, .opts = opts, .note = vocabulary_count_note};
    hr_status st = HR_OK;
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        slots[i].feature = feature;
        survey.slot[i] = &slots[i];
        if (st == HR_OK) st = hr__wanted_make(&slots[i].wanted, 1, err);
        if (st == HR_OK) st = hr__wanted_add(&slots[i].wanted, feature, err);
    }
    if (st == HR_OK) st = hr__survey_run(&survey, err);
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        if (st == HR_OK) st = vocabulary_count_merge(&v->words, &slots[i].words, err);
        if (st == HR_OK && i > 0) st = hr__wanted_merge(&slots[0].wanted, &slots[i].wanted, err);
        hr__map_free(&slots[i].words);
    }
    if (st == HR_OK && slots[0].wanted.unseen > 0)
        st = hr__wanted_refuse(&slots[0].wanted, 0, opts->schema, "vocabulary.feature", err);
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) hr__wanted_clear(&slots[i].wanted);
    return st;
}

hr_status hr_count_vocabulary_with(const hr_file_list *files, const char *feature, const hr_count_vocabulary_opts *opts,
                                   hr_vocabulary **out, hr_error *err)
{
    const hr_count_vocabulary_opts o = HR_OPTIONS(hr_count_vocabulary_opts, opts);
    const hr_survey_opts survey = HR_OPTIONS(hr_survey_opts, o.survey);
    HR_TRY(hr__survey_need(out, "where to put the vocabulary", err));
    *out = NULL;
    HR_TRY(hr__survey_check(files, &survey, err));
    HR_TRY(hr__survey_need(feature, "the name of a feature", err));
    hr_vocabulary *v = *out = hr_calloc(1, sizeof *v);
    if (!v) return hr_no_memory(err, "a vocabulary");
    hr_status st = count_all(files, (hr_view){feature, (int64_t)strlen(feature)}, &survey, v, err);
    if (st == HR_OK) st = vocabulary_count_finish(v, o.top_k, o.min_count, err);
    if (st == HR_OK) return HR_OK;
    hr_vocabulary_free(v);
    *out = NULL;
    return st;
}

int64_t hr_vocabulary_size(const hr_vocabulary *vocabulary) { return vocabulary->size; }

hr_vocabulary_word hr_vocabulary_at(const hr_vocabulary *vocabulary, int64_t i) { return vocabulary->word[i]; }

int64_t hr_vocabulary_distinct(const hr_vocabulary *vocabulary) { return vocabulary->distinct; }

void hr_vocabulary_free(hr_vocabulary *vocabulary)
{
    if (!vocabulary) return;
    hr__map_free(&vocabulary->words);
    hr_free(vocabulary->word);
    hr_free(vocabulary);
}

/* ---- the file ---- */

hr_status hr_vocabulary_check(const hr_vocabulary *v, hr_error *err)
{
    HR_TRY(hr__survey_need(v, "a vocabulary", err));
    for (int64_t i = 0; i < v->size; i++) {
        const hr_view w = v->word[i].word;
        const bool good = w.size > 0 && !memchr(w.data, '\n', (size_t)w.size) && w.data[w.size - 1] != '\r';
        if (good) continue;
        hr__text shown = {0};
        hr__text_json(&shown, w.data, (size_t)(w.size < 60 ? w.size : 60));
        hr_fail(
            err, HR_INVALID_ARGUMENT, "vocabulary.word",
            "expected words that a line can hold, found %s (%lld times); leave it out of the data or hash the column",
            shown.failed ? "one" : shown.data, (long long)v->word[i].count);
        hr__text_free(&shown);
        return HR_INVALID_ARGUMENT;
    }
    return HR_OK;
}

hr_status hr_vocabulary_write(const hr_vocabulary *v, const char *path, hr_error *err)
{
    hr_output *out;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    HR_TRY(hr__survey_need(path, "the name of a file", err));
    HR_TRY(hr_vocabulary_check(v, err));
    HR_TRY(hr_output_open_with(path, &opts, &out, err));
    hr_status st = HR_OK;
    for (int64_t i = 0; i < v->size && st == HR_OK; i++) {
        st = hr_output_write(out, v->word[i].word.data, (size_t)v->word[i].word.size, err);
        if (st == HR_OK) st = hr_output_write(out, "\n", 1, err);
    }
    if (st == HR_OK) return hr_output_commit(out, err);
    hr_output_discard(out);
    return st;
}
