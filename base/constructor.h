/* The static object that constructors give when memory has run out. Not a public header. */
#ifndef HR_CONSTRUCTOR_H
#define HR_CONSTRUCTOR_H

#include <headrace/base.h>

/* The hr_error of that one object: a constant, `what` is a literal. */
#define HR__NO_MEMORY_FOR(what)                                                                                        \
    {                                                                                                                  \
        .code = HR_RESOURCE_EXHAUSTED, .kind = "memory", .record = -1, .line = -1, .offset = -1, .length = -1,         \
        .compressed_offset = -1, .column = -1, .text = "no memory for " what                                           \
    }

#endif
