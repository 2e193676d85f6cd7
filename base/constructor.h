/* The static objects that constructors give: when memory has run out, and for a NULL. Not a public header. */
#ifndef HR_CONSTRUCTOR_H
#define HR_CONSTRUCTOR_H

#include <headrace/base.h>

/* The hr_error of such an object: a constant of literals. */
#define HR__ERROR_OF(status, word, sentence)                                                                           \
    {                                                                                                                  \
        .code = status, .kind = word, .record = -1, .line = -1, .offset = -1, .length = -1, .compressed_offset = -1,   \
        .column = -1, .text = sentence                                                                                 \
    }
#define HR__NO_MEMORY_FOR(what) HR__ERROR_OF(HR_RESOURCE_EXHAUSTED, "memory", "no memory for " what)

#endif
