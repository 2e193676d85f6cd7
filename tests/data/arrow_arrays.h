/* Arrow arrays as a test writes them down. */
#ifndef TESTS_ARROW_ARRAYS_H
#define TESTS_ARROW_ARRAYS_H

#include "tests/data/conformance.h"
#include <headrace/arrow.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct arrow_column {
    const char *format, *name;
    int64_t length, offset;
    int buffers;
    const void *buffer[5];
    const struct arrow_column *child; /* of a list, or the first of a struct */
    const struct arrow_column *dictionary;
    int children; /* of a struct; 0: one if there is a child */
} arrow_column;

static atomic_int arrow_live; /* structs that are not released yet */

static inline void arrow_release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    if (schema->dictionary) schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
    free(schema->children);
    schema->release = NULL;
    arrow_live--;
}

static inline void arrow_release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    if (array->dictionary) array->dictionary->release(array->dictionary);
    free(array->dictionary);
    free(array->children);
    free(array->buffers);
    array->release = NULL;
    arrow_live--;
}

static inline int arrow_children(const arrow_column *c) { return c->children ? c->children : c->child != NULL; }

static inline void arrow_make(const arrow_column *c, const arrow_column *children, int count,
                              struct ArrowSchema *schema, struct ArrowArray *array)
{
    *schema = (struct ArrowSchema){.format = c->format, .name = c->name, .flags = ARROW_FLAG_NULLABLE};
    *array = (struct ArrowArray){.length = c->length, .null_count = -1, .offset = c->offset, .n_buffers = c->buffers};
    schema->release = arrow_release_schema;
    array->release = arrow_release_array;
    array->buffers = calloc(5, sizeof *array->buffers);
    memcpy(array->buffers, c->buffer, sizeof c->buffer);
    if (c->dictionary) {
        schema->dictionary = calloc(1, sizeof *schema->dictionary);
        array->dictionary = calloc(1, sizeof *array->dictionary);
        arrow_make(c->dictionary, c->dictionary->child, arrow_children(c->dictionary), schema->dictionary,
                   array->dictionary);
    }
    schema->n_children = array->n_children = count;
    schema->children = calloc((size_t)count + 1, sizeof *schema->children);
    array->children = calloc((size_t)count + 1, sizeof *array->children);
    for (int i = 0; i < count; i++) {
        schema->children[i] = calloc(1, sizeof **schema->children);
        array->children[i] = calloc(1, sizeof **array->children);
        arrow_make(&children[i], children[i].child, arrow_children(&children[i]), schema->children[i],
                   array->children[i]);
    }
    arrow_live += 2;
}

#endif
