/* The words of a vocabulary and their ids. Columns of one file share its words: a file is read once as long as one of
 * them lives. Not a public header. */
#ifndef HR__WORDS_H
#define HR__WORDS_H

#include "base/hash_map.h"
#include <stdatomic.h>

typedef struct hr__words {
    hr__map ids; /* words, or the 8 bytes of integers, to ids */
    int64_t size;
    uint64_t digest; /* of the words in their order */
    /* for this room's words.c */
    atomic_int refs;
    struct hr__words_file *file; /* NULL: a list */
} hr__words;

/* What a vocabulary is, for errors: of feature `key`, in `file` (NULL: a list). */
typedef struct hr__words_of {
    const char *key, *file;
} hr__words_of;

hr__words *hr__words_new(void); /* empty. Gives; NULL: no memory */
/* Adds the next word; while nobody else has the words. Kind of a repeated one: column.vocabulary. */
hr_status hr__words_add(hr__words *words, hr__words_of of, const char *word, size_t size, hr_error *err);
hr_status hr__words_add_int(hr__words *words, hr__words_of of, int64_t word, hr_error *err);
/* The lines of of.file, or its records, `wanted` of them (-1: all), as words or as integers. Gives a reference. */
hr_status hr__words_of_file(hr__words_of of, bool records, bool integers, int64_t wanted, hr__words **out,
                            hr_error *err);
void hr__words_unref(hr__words *words); /* NULL: nothing */

#endif
