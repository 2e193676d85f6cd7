/* Summaries of many values in little memory, which merge: how many distinct ones there are (HyperLogLog), which depends
 * on no order; quantiles, and the most frequent values (Misra and Gries), which do. Not a public header. */
#ifndef HR_SKETCH_H
#define HR_SKETCH_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- distinct values, by their 64-bit hashes: within 2 % mostly ---- */

enum { HR__DISTINCT_BITS = 12, HR__DISTINCT_CELLS = 1 << HR__DISTINCT_BITS };
typedef struct hr__distinct {
    uint8_t cell[HR__DISTINCT_CELLS];
} hr__distinct;
static inline void hr__distinct_add(hr__distinct *d, uint64_t hash)
{
    const uint64_t rest = hash << HR__DISTINCT_BITS | UINT64_C(1) << (HR__DISTINCT_BITS - 1);
    const uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    uint8_t *cell = &d->cell[hash >> (64 - HR__DISTINCT_BITS)];
    if (rank > *cell) *cell = rank;
}
void hr__distinct_merge(hr__distinct *to, const hr__distinct *from);
double hr__distinct_count(const hr__distinct *d);

/* ---- quantiles: values whose rank is within 1 % of the one asked for, in at most 20 KB; exactly up to 512 values ---- */

typedef struct hr__quantile_level hr__quantile_level;
/* Begin with {0}. What comes of it is a function of the values, their order and how they were merged. */
typedef struct hr__quantiles {
    hr__quantile_level *level;
    int levels;
    int held, max;
    int64_t count; /* values that were added */
    uint64_t draws;
} hr__quantiles;
hr_status hr__quantiles_add(hr__quantiles *q, double value, hr_error *err); /* no NaN */
hr_status hr__quantiles_merge(hr__quantiles *to, const hr__quantiles *from, hr_error *err);
/* For each share the value below or at which that share of all lie. NaN of none. */
hr_status hr__quantiles_read(const hr__quantiles *q, const double *share, int shares, double *out, hr_error *err);
/* The same of values that each stand for so many equal ones; sorts them. */
typedef struct hr__weighed {
    double value;
    int64_t weight;
} hr__weighed;
void hr__weighed_quantiles(hr__weighed *all, int count, const double *share, int shares, double *out);
bool hr__quantiles_exact(const hr__quantiles *q); /* all values are still there */
void hr__quantiles_free(hr__quantiles *q);

/* ---- frequent values ---- */

enum { HR__FREQUENT_SLOTS = 512, HR__FREQUENT_MAX = 384, HR__FREQUENT_RETAINED = 192, HR__FREQUENT_TEXT = 64 };
typedef struct hr__frequent_value {
    uint64_t hash;
    int64_t count; /* 0: the slot is free. The true count is at most `error` more */
    uint64_t bits; /* of a number */
    char *text;    /* the first bytes of a string; NULL: a number */
    int size;      /* of the text; of a number what its caller says of it, such as its type */
} hr__frequent_value;
typedef struct hr__frequent {
    hr__frequent_value *slot; /* `slots` of them: they double up to HR__FREQUENT_SLOTS */
    int slots, values;
    int64_t error; /* 0: all values are here, with their true counts */
} hr__frequent;
/* `text.data` NULL: a number; `text.size` is kept with the first of equal ones. */
hr_status hr__frequent_add(hr__frequent *f, uint64_t hash, uint64_t bits, hr_view text, int64_t count, hr_error *err);
hr_status hr__frequent_merge(hr__frequent *to, const hr__frequent *from, hr_error *err);
void hr__frequent_free(hr__frequent *f);
/* Adds the values that are there to those that are counted. */
void hr__distinct_add_frequent(hr__distinct *d, const hr__frequent *f);

#ifdef __cplusplus
}
#endif
#endif
