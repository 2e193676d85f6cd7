/* The column kit, part two: the arithmetic of the library's own kinds. Every function gives the same bits on
 * every processor, may run on any thread, and works on a whole batch. */
#ifndef HR_COLUMN_KERNELS_H
#define HR_COLUMN_KERNELS_H

#include <headrace/column.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- numbers of any type ---- */

HR_API bool hr_dtype_is_integer(hr_dtype dtype); /* signed or unsigned, 8 to 64 bits */
HR_API bool hr_dtype_is_number(hr_dtype dtype);  /* the same, HR_FLOAT or HR_DOUBLE */
/* Value `i` of a batch of integers or booleans. Of an unsigned number beyond int64 the bits count. */
HR_API int64_t hr_column_integer_at(const hr_column_values *values, int64_t i);
/* `count` numbers or booleans of type `dtype` as float32. Other types: `to` stays what it is. */
HR_API void hr_numbers_to_float(const void *from, hr_dtype dtype, float *to, int64_t count);
/* Stores an integer as a number of type `dtype` (float and double round). False: it does not fit; zero is stored. */
HR_API bool hr_integer_to_number(int64_t value, hr_dtype dtype, void *to);

/* ---- hashes ---- */

/* Remainders by a divisor that stays the same: one multiplication in place of a division, the same result. */
typedef struct hr_divisor {
    uint64_t by, reciprocal;
} hr_divisor;

static inline hr_divisor hr_divisor_of(uint64_t by) /* by > 0 */
{
    hr_divisor d;
    d.by = by;
    d.reciprocal = UINT64_MAX / by;
    return d;
}

/* value % d.by */
static inline uint64_t hr_remainder(hr_divisor d, uint64_t value)
{
    /* The reciprocal is too small by less than 2^-64, so the quotient is too small by at most 1. */
    __extension__ typedef unsigned __int128 wide;
    const uint64_t quotient = (uint64_t)((wide)value * d.reciprocal >> 64);
    const uint64_t rest = value - quotient * d.by;
    return rest >= d.by ? rest - d.by : rest;
}

/* out[i] = hr_fingerprint64 of words[i], bit for bit. */
HR_API void hr_fingerprint64_many(const hr_view *words, int64_t count, uint64_t *out);
/* Fingerprint64 of `count` values of a batch, from value `first` on: of a string its bytes, of an integer its decimal
 * text. `values` holds strings or integers. */
HR_API void hr_column_fingerprints(const hr_column_values *values, int64_t first, int64_t count, uint64_t *out);

/* ---- buckets ---- */

/* out[i] = how many boundaries are <= x[i]. NaN lies above all of them; denormals count as 0, as in TensorFlow's
 * kernels. `boundaries` rise and hold no denormals: hr_bucketize_boundaries. */
HR_API void hr_bucketize(const float *x, int64_t count, const float *boundaries, int boundary_count, int64_t *out);
HR_API void hr_bucketize_boundaries(float *boundaries, int count); /* replaces denormals by 0 */

/* ---- crosses ---- */

enum { HR_MAX_CROSS = 32 /* inputs of a cross */ };
/* An input of a cross: a hash for each value. */
typedef struct hr_cross_input {
    const uint64_t *hashes;
    const int32_t *splits; /* rows + 1; NULL: `width` a row */
    int64_t width;
} hr_cross_input;
/* Every combination of one value of each input (at most HR_MAX_CROSS), row by row: the last input varies fastest. Its
 * id is the chain of FingerprintCat64 that begins with `hash_key`, modulo `buckets`. A row that makes more combinations
 * than a batch can hold fails (column.cross_count) and has none. Fills *out. */
HR_API hr_status hr_column_cross(hr_column_work *w, const hr_cross_input *input, int inputs, uint64_t hash_key,
                                 hr_divisor buckets, int64_t rows, hr_column_values *out, hr_error *err);

/* ---- vocabularies ---- */

/* Different words, or integers, and their ids: the id of a word is its place. Counted and immutable. */
typedef struct hr_words hr_words;

/* Gives *out (hr_words_unref). Copies the words. `key`: the feature, for errors. HR_INVALID_ARGUMENT: a word that
 * comes twice, or NULL among the strings: column.vocabulary. */
HR_API hr_status hr_words_of_list(const char *key, hr_vocabulary_list list, hr_words **out, hr_error *err);
/* The first `size` lines of a file (-1: all), or its records if it is a TFRecord file packed by GZIP; as words, or as
 * integers. Vocabularies of one file share their words, which are read once. Gives *out (hr_words_unref). Kinds:
 * column.vocabulary_file, column.vocabulary, column.vocabulary_size. */
HR_API hr_status hr_words_of_file(const char *key, const char *file, bool tfrecord_gzip, bool integers, int64_t size,
                                  hr_words **out, hr_error *err);
HR_API void hr_words_unref(hr_words *words); /* NULL: nothing */
HR_API int64_t hr_words_size(const hr_words *words);
HR_API uint64_t hr_words_digest(const hr_words *words); /* of the words in their order */
/* Word number `i`, or the 8 bytes of integer number `i`. Borrows. */
HR_API hr_view hr_words_at(const hr_words *words, int64_t i);
/* The ids of all values of a batch: strings, or integers of any type for a vocabulary of integers. A word that is not
 * there gets `default_value`; or, if oov_buckets > 0, the size plus its fingerprint (as of hr_column_fingerprints)
 * modulo oov_buckets. */
HR_API void hr_words_look_up(const hr_words *words, const hr_column_values *values, int64_t default_value,
                             int64_t oov_buckets, int64_t *ids);

#ifdef __cplusplus
}
#endif
#endif
