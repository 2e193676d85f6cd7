/* What constructors share: the options of a caller who knows an older or a newer struct, and the one object that they
 * give when there is no memory for another. Not a public header. */
#ifndef HR_CONSTRUCTOR_H
#define HR_CONSTRUCTOR_H

#include <headrace/base.h>
#include <string.h>

/* The options that a caller gave, in a struct of our size: what an older caller does not know is zero, and so is
 * everything if `opts` is NULL. Lives until the end of the block. */
#define HR__OPTIONS(type, opts) (*(type *)hr__options_into(&(type){0}, sizeof(type), opts))

static inline void *hr__options_into(void *own, size_t size, const void *given)
{
    size_t theirs;
    if (!given) return own;
    memcpy(&theirs, given, sizeof theirs); /* struct_size is every options struct's first field */
    memcpy(own, given, theirs > 0 && theirs < size ? theirs : size);
    return own;
}

/* The hr_error of that one object: a constant, `what` is a literal. */
#define HR__NO_MEMORY_FOR(what)                                                                                        \
    {                                                                                                                  \
        .code = HR_RESOURCE_EXHAUSTED, .kind = "memory", .record = -1, .line = -1, .offset = -1, .length = -1,         \
        .compressed_offset = -1, .column = -1, .text = "no memory for " what                                           \
    }

#endif
