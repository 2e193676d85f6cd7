/* Elements: what a user sees of rows. An element is a run of rows of one unit, at some level of its batches; its
 * tensors are views over the columns, made when they are asked for. */
#ifndef HR_ELEMENT_H
#define HR_ELEMENT_H

#include "base/hash_map.h"
#include <headrace/data.h>

/* What one component of an element looks like, and what it needed memory of its own for. */
typedef struct hr__component {
    hr_tensor tensor;
    uint64_t made; /* the view it belongs to */
    size_t row;    /* made of one row without a batch, of so many bytes: of the next such row only `data` differs */
    void *memory;  /* indices, or padded values */
    size_t capacity;
    int32_t *splits;
    size_t split_capacity;
} hr__component;

struct hr_element {
    const hr_schema *schema;
    const hr_columns *columns;
    int64_t first, end; /* rows */
    int level;          /* the columns' level of splits whose elements these are; columns->levels: rows */
    int64_t index;      /* at that level */
    bool run;           /* no element: rows side by side, as if they were a batch */
    uint64_t view;      /* counts hr__element_set: what was made for another one is stale */
    int hint;           /* the component after the one asked for last: users ask in order */
    hr__map names;      /* of many components, once they were not asked for in order */
    hr__component *component;
    int components;
};

hr_status hr__element_open(hr_element *e, const hr_schema *schema, hr_error *err);
void hr__element_close(hr_element *e);

/* Looks at element `index` of `columns` as an operator whose schema has `levels` levels counts them: rows, if 0. */
void hr__element_set(hr_element *e, const hr_columns *columns, int levels, int64_t index);

/* Looks at rows first..end side by side, whatever elements they belong to. */
void hr__element_set_rows(hr_element *e, const hr_columns *columns, int64_t first, int64_t end);

/* The batch's dimensions of this element, outermost first; gives how many. */
int hr__element_dims(const hr_element *e, int64_t *dims);

/* Makes component `i`, whose rows differ in length. False: no memory. */
bool hr__element_varying(const hr_element *e, int i);

#endif
