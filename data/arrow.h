/* The structs of Arrow's C data interface, as its specification defines them. With them libraries in one process pass
 * arrays to each other. A program that has the structs from another library's header need not include this one.
 * hr_from_arrow and hr_from_arrow_stream (parsing.h) read them. */
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

/* The type of an array. `release` is NULL after the struct was released, or moved to another owner. */
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

/* The values of an array. They begin at element `offset` of each buffer. In most types the first buffer is a bitmap: 1
 * for a value, 0 for a null. The bitmap may be NULL: no value is null. */
struct ArrowArray {
    int64_t length;
    int64_t null_count; /* -1: unknown */
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

/* A sequence of arrays of one schema. get_schema and get_next give 0 or an errno. At the end get_next gives an array
 * whose `release` is NULL. */
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
