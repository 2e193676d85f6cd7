/* Inside of a vocabulary: what the table and the lookup share. Not a public header. */
#ifndef HR__VOCABULARY_TABLE_H
#define HR__VOCABULARY_TABLE_H

#include "base/hash_map.h"
#include <headrace/column_kernels.h>
#include <stdatomic.h>

struct hr_words {
    hr__map ids; /* words, or the 8 bytes of integers, to ids */
    int64_t size;
    uint64_t digest; /* of the words in their order */
    /* for vocabulary_table.c */
    atomic_int refs;
    struct hr__words_file *file; /* NULL: a list */
};

#endif
