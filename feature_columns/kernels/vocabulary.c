/* Columns of words. The map's hash is Fingerprint64, which the buckets for unknown words need as well: each word is
 * hashed once. Integers are looked up by their 8 bytes; in those buckets they count as decimal text. */
#include "feature_columns/kernels/vocabulary.h"

#include "feature_columns/config/config_write.h"
#include "feature_columns/kernels/fingerprint_batch.h"

#include <string.h>

enum { BLOCK = 32 };

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
        .buckets = hr__divisor_of(opts->num_oov_buckets > 0 ? (uint64_t)opts->num_oov_buckets : 1),
    };
}

static hr_status vocabulary_check_options(const hr__vocabulary_spec *s, hr_error *err)
{
    HR_TRY(hr__check_key("vocabulary column", s->key, err));
    if (s->dtype != HR_STRING && !hr__is_integer(s->dtype))
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
    hr__words_unref(s->words);
}

hr_status hr__vocabulary_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                  hr_error *err)
{
    (void)source;
    const hr__vocabulary_spec *s = spec;
    if (!s->words || s->words->size < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary", "vocabulary of '%s': expected words, got none",
                       s->key);
    HR_TRY(hr_column_name(out, err, "%s", s->key));
    HR_TRY(hr__read_var_len(out, s->key, s->dtype, err));
    hr_column_mix(out, &s->words->digest, sizeof s->words->digest);
    hr_column_mix(out, (int64_t[]){s->words->size, s->default_value, s->oov}, 3 * sizeof(int64_t));
    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->num_buckets = s->words->size + s->oov;
    return HR_OK;
}

hr_status hr__vocabulary_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    const hr__vocabulary_spec *s = spec;
    bool fits = s->dtype == HR_STRING ? in->dtype == HR_STRING : hr__is_integer(in->dtype);
    if (fits) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype", "vocabulary of '%s': expected %s, got %s", s->key,
                   s->dtype == HR_STRING ? "strings" : "integers", hr_dtype_name(in->dtype));
}

/* Words on their way. Each step is done for a whole block, so that misses of the cache overlap; and for other blocks
 * before the next step, so that what one step asks memory for is there when the next one looks. */
typedef struct block {
    const hr_view *word; /* of integers: `own`, their 8 bytes each */
    int64_t n, *ids;
    hr_view own[BLOCK];
    int64_t integer[BLOCK];
    uint64_t hash[BLOCK];
    const hr__map_entry *likely[BLOCK];
} block;

static void view_integers(block *b, const hr_column_values *in, int64_t at)
{
    for (int64_t i = 0; i < b->n; i++) {
        b->integer[i] = hr__integer_at(in, at + i);
        b->own[i] = (hr_view){(const char *)&b->integer[i], sizeof b->integer[i]};
    }
    b->word = b->own;
}

static void begin_block(const hr__map *map, block *b, const hr_column_values *in, int64_t at, int64_t *ids)
{
    b->n = in->count - at < BLOCK ? in->count - at : BLOCK;
    b->ids = ids + at;
    if (in->dtype == HR_STRING)
        b->word = (const hr_view *)in->values + at;
    else
        view_integers(b, in, at);
    hr__fingerprint_many(b->word, b->n, b->hash);
    for (int64_t i = 0; i < b->n; i++) hr__map_prefetch(map, b->hash[i]);
}

static void find_likely(const hr__map *map, block *b)
{
    for (int64_t i = 0; i < b->n; i++) b->likely[i] = hr__map_candidate(map, b->hash[i]);
}

static int64_t unknown_id(const hr__vocabulary_spec *s, const block *b, int64_t i)
{
    char text[24];
    if (s->oov == 0) return s->default_value;
    uint64_t hash = b->hash[i];
    if (b->word == b->own) hash = hr_fingerprint64(text, (size_t)hr__decimal(b->integer[i], text));
    return s->words->size + (int64_t)hr__remainder(s->buckets, hash);
}

static void read_ids(const hr__vocabulary_spec *s, const block *b)
{
    for (int64_t i = 0; i < b->n; i++) {
        const hr__map_entry *likely = b->likely[i];
        const char *word = b->word[i].data;
        const size_t size = (size_t)b->word[i].size;
        if (likely && hr__map_entry_is(likely, word, size)) {
            b->ids[i] = likely->value;
            continue;
        }
        const int64_t *id = likely ? hr__map_find_hashed(&s->words->ids, b->hash[i], word, size) : NULL;
        b->ids[i] = id ? *id : unknown_id(s, b, i);
    }
}

/* Block number k is hashed while number k - 1 is looked for and number k - 2 is read. */
static void look_up(const hr__vocabulary_spec *s, const hr_column_values *in, int64_t *ids)
{
    enum { STEPS = 3 };
    block ring[STEPS];
    const hr__map *map = &s->words->ids;
    const int64_t blocks = (in->count + BLOCK - 1) / BLOCK;
    for (int64_t k = 0; blocks > 0 && k < blocks + STEPS - 1; k++) {
        if (k < blocks) begin_block(map, &ring[k % STEPS], in, k * BLOCK, ids);
        if (k >= 1 && k <= blocks) find_likely(map, &ring[(k - 1) % STEPS]);
        if (k >= 2) read_ids(s, &ring[(k - 2) % STEPS]);
    }
}

hr_status hr__vocabulary_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                   hr_column_values *out, hr_error *err)
{
    const hr__vocabulary_spec *s = spec;
    hr_column_values present;
    HR_TRY(hr_column_present(w, in, &present, err));
    int64_t *ids = hr_column_ids(w, present.count);
    if (!ids) return hr_no_memory(err, "a vocabulary's ids");
    look_up(s, &present, ids);
    *out = present;
    out->dtype = HR_INT64;
    out->values = ids;
    return HR_OK;
}

/* ---- the options that both have in a config file ---- */

hr_status hr__vocabulary_read_options(const hr__node *map, hr_dtype dtype, int64_t *missing,
                                      hr_vocabulary_column_opts *o, hr_error *err)
{
    o->struct_size = sizeof *o;
    o->dtype = dtype;
    HR_TRY(hr__config_dtype(map, &o->dtype, err));
    HR_TRY(hr__config_int64(map, "default", -1, INT64_MAX, missing, err));
    HR_TRY(hr__config_int64(map, "num_oov_buckets", 0, INT64_MAX, &o->num_oov_buckets, err));
    if (hr__node_get(map, "default")) o->default_value = missing;
    return HR_OK;
}

void hr__vocabulary_write_options(hr__column_writer *w, const hr__vocabulary_spec *s)
{
    hr__write_own_field(w, s->key);
    if (s->has_default) hr__write_int(w, "default", s->default_value);
    if (s->oov > 0) hr__write_int(w, "num_oov_buckets", s->oov);
    hr__write_dtype(w, s->dtype);
}
