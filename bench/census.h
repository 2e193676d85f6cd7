/* Census-like rows, after the Adult set of the UCI repository: 14 features and a label, most of them words of small
 * vocabularies. What makes the data and what reads it share this. */
#ifndef BENCH_CENSUS_H
#define BENCH_CENSUS_H

#include <headrace/base.h>

enum { CENSUS_ROWS = 50000, CENSUS_WORDS = 8, CENSUS_MAX_WORDS = 42 };

typedef struct census_words {
    const char *key;
    int count;
    const char *word[CENSUS_MAX_WORDS]; /* the most frequent first */
} census_words;

extern const census_words census_words_of[CENSUS_WORDS];
/* The words of a feature. */
const census_words *census_find(const char *key);

#endif
