/* Walks a record without memory for many values: those beyond HR__VALUES_STORED bytes of a record stay on the wire, and
 * are read from there in blocks. Not a public header. */
#ifndef HR_EXAMPLE_WALK_H
#define HR_EXAMPLE_WALK_H

#include "io/example/example_decode.h"
#include "io/example/example_wire.h"

enum { HR__VALUES_STORED = 256 << 10, HR__VALUES_BLOCK = 512 };

/* The values of a feature, or of a step of a feature list. All are borrowed from the walk and the record. */
typedef struct hr__values {
    hr_dtype dtype; /* HR_INT64, HR_FLOAT, HR_STRING; HR_INVALID_DTYPE: no kind is set */
    int64_t count;
    const void *data;    /* all of them, as in a hr_tensor; NULL: they must be read in blocks */
    hr__scan from, rest; /* the Feature from the first one on; what of the entry follows it */
} hr__values;

/* As the public types of these names. */
typedef struct hr__walk_feature {
    hr_view key;
    hr__values values;
} hr__walk_feature;

typedef struct hr__walk_list {
    hr_view key;
    const hr__values *step;
    int64_t steps;
} hr__walk_list;

typedef struct hr__walk_contents {
    const hr__walk_feature *feature;
    int64_t features;
    const hr__walk_list *list;
    int64_t lists;
    bool has_features, has_lists;
} hr__walk_contents;

/* As hr_example_walk_record. The walk's memory does not grow with the number of values. */
hr_status hr__example_walk_record(hr_example_walk *walk, hr_view record, hr__walk_contents *out, hr_error *err);

/* ---- reading values ---- */

/* Reads any values block by block:
 *
 *     hr__blocks blocks;
 *     hr__blocks_begin(&blocks, values);
 *     for (const hr__values *b; (b = hr__blocks_next(&blocks));) ... b->data, b->count ...
 *
 * Those that are stored are one block. */
typedef struct hr__blocks {
    const hr__values *values; /* NULL: the stored ones were given */
    hr__values block;
    hr__scan rest, feature, list, packed;  /* what is still to be read, from the outermost message to the innermost */
    uint64_t buffer[2 * HR__VALUES_BLOCK]; /* a hr_view has two words */
} hr__blocks;

/* The next values into block->buffer; NULL: there are none. */
const hr__values *hr__blocks_read(hr__blocks *blocks);

static inline void hr__blocks_begin(hr__blocks *b, const hr__values *values)
{
    b->values = values;
    if (values->data) return;
    b->feature = values->from;
    b->rest = values->rest;
    b->list = b->packed = (hr__scan){NULL, NULL};
}

/* A block is borrowed until the next call; its `data` is not NULL. */
static inline const hr__values *hr__blocks_next(hr__blocks *b)
{
    const hr__values *values = b->values;
    if (!values) return NULL;
    if (!values->data) return hr__blocks_read(b);
    b->values = NULL;
    return values;
}

/* ---- writing them again ---- */

void hr__wire_map_add_values(hr__wire_map *map, hr_view key, const hr__values *values);
/* As hr_example_add. */
void hr__example_add_values(hr_example *example, hr_view key, const hr__values *values);

#endif
