/* Arrow's C data interface, as its specification fixes it: how libraries of one process hand arrays to each other.
 * A program that has the structs from another library need not include this. hr_from_arrow and hr_from_arrow_stream
 * (parsing.h) read them. */
#ifndef HR_ARROW_H
#define HR_ARROW_H

#include <stdint.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#ifdef __cplusplus
extern "C" {
#endif

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/* What type an array has. `release` NULL: it is released, or was moved to somebody else. */
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

/* Its values: buffers whose first element counts is number `offset`; the first buffer has a bit for each that is not
 * null, or is NULL. */
struct ArrowArray {
    int64_t length;
    int64_t null_count; /* -1: not known */
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#ifdef __cplusplus
}
#endif
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of one schema, one after the other. Functions give 0 or an errno; an array whose `release` is NULL is the
 * end. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#ifdef __cplusplus
}
#endif
#endif
#endif
