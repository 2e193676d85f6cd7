/* The column kit, part two: the arithmetic of the library's own kinds. Every function gives the same bits on every
 * processor and may be called on any thread. Most work on a whole batch. */
#ifndef HR_COLUMN_KERNELS_H
#define HR_COLUMN_KERNELS_H

#include <headrace/column.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- numbers of any type ---- */

HR_API bool hr_dtype_is_integer(hr_dtype dtype); /* signed or unsigned, 8 to 64 bits */
HR_API bool hr_dtype_is_number(hr_dtype dtype);  /* an integer, HR_FLOAT or HR_DOUBLE */
/* Value `i` of a batch of integers or booleans. A uint64 above the greatest int64 gives the int64 of the same bits. */
HR_API int64_t hr_column_integer_at(const hr_column_values *values, int64_t i);
/* Converts `count` numbers or booleans of type `dtype` to float32. With other types it does nothing. */
HR_API void hr_numbers_to_float(const void *from, hr_dtype dtype, float *to, int64_t count);
/* Stores an integer as a number of type `dtype`, rounded for float and double. False: it does not fit; stores zero. */
HR_API bool hr_integer_to_number(int64_t value, hr_dtype dtype, void *to);

/* ---- hashes ---- */

/* A divisor for many remainders: each takes a multiplication instead of a division, with the same result. */
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
/* Fingerprint64 of `count` values of a batch of strings or integers, from value `first` on. An integer counts as its
 * decimal text. */
HR_API void hr_column_fingerprints(const hr_column_values *values, int64_t first, int64_t count, uint64_t *out);

/* ---- buckets ---- */

/* out[i] = how many boundaries are <= x[i]. NaN is above all boundaries; denormals count as 0, as in TensorFlow's
 * kernels. `boundaries` must be sorted and without denormals: call hr_bucketize_boundaries first. */
HR_API void hr_bucketize(const float *x, int64_t count, const float *boundaries, int boundary_count, int64_t *out);
HR_API void hr_bucketize_boundaries(float *boundaries, int count); /* replaces denormals by 0 */

/* ---- crosses ---- */

enum { HR_MAX_CROSS = 32 /* inputs of a cross */ };
/* An input of a cross: the hashes of its values. */
typedef struct hr_cross_input {
    const uint64_t *hashes;
    const int32_t *splits; /* rows + 1; NULL: each row has `width` values */
    int64_t width;
} hr_cross_input;
/* The ids of a cross: for each row, one id for every combination of one value from each input. The last input varies
 * fastest; there are at most HR_MAX_CROSS inputs. An id is the chain of FingerprintCat64 that begins with `hash_key`,
 * modulo `buckets`. A row with which the batch would have more than INT32_MAX ids fails (kind column.cross_count) and
 * has none. Fills *out. */
HR_API hr_status hr_column_cross(hr_column_work *w, const hr_cross_input *input, int inputs, uint64_t hash_key,
                                 hr_divisor buckets, int64_t rows, hr_column_values *out, hr_error *err);

/* ---- vocabularies ---- */

/* Different words, or integers. The id of a word is its position. Reference-counted and immutable. */
typedef struct hr_words hr_words;

/* Gives *out (hr_words_unref). Copies the words. `key` is the feature, for messages. HR_INVALID_ARGUMENT (kind
 * column.vocabulary): a word occurs twice, or a string is NULL. */
HR_API hr_status hr_words_of_list(const char *key, hr_vocabulary_list list, hr_words **out, hr_error *err);
/* The first `size` lines of a file (-1: all), as words or as integers; with tfrecord_gzip, the records of a TFRecord
 * file compressed by GZIP. Calls with the same file and arguments share the words while these are in use. Gives *out
 * (hr_words_unref). Kinds: column.vocabulary_file (the file cannot be read), column.vocabulary (a word is empty, occurs
 * twice, or is no integer), column.vocabulary_size (the file has fewer words). */
HR_API hr_status hr_words_of_file(const char *key, const char *file, bool tfrecord_gzip, bool integers, int64_t size,
                                  hr_words **out, hr_error *err);
HR_API void hr_words_unref(hr_words *words); /* NULL: nothing */
HR_API int64_t hr_words_size(const hr_words *words);
HR_API uint64_t hr_words_digest(const hr_words *words); /* a hash of the words in their order */
/* Word `i`, or the 8 bytes of integer `i`. Borrows. */
HR_API hr_view hr_words_at(const hr_words *words, int64_t i);
/* Writes the ids of all values of a batch: strings, or for a vocabulary of integers, integers of any type. A word that
 * is not in the vocabulary gets `default_value`. If oov_buckets > 0, it gets hr_words_size plus its fingerprint (as by
 * hr_column_fingerprints) modulo oov_buckets instead. */
HR_API void hr_words_look_up(const hr_words *words, const hr_column_values *values, int64_t default_value,
                             int64_t oov_buckets, int64_t *ids);

#ifdef __cplusplus
}
#endif
#endif
