/* What LookupMatMul and its gradient share: the columns of a layer over looked-up rows, and which ids a batch has. Not
 * a public header. */
#ifndef HR_LOOKUP_LAYER_H
#define HR_LOOKUP_LAYER_H

#include "train/ops/bfloat16.h"
#include "train/ops/nn/lookups.h"
#include "train/ops/tiles.h"

/* A lookup. */
typedef struct lookup_column {
    lookup l;
    int64_t at;             /* its first row of the weights */
    bool single;            /* no row has two ids */
    bool once;              /* it is multiplied once for each distinct id, not row by row */
    hr_distinct_rows found; /* the gradient has `rows` and `count` */
    const int32_t *place;   /* of the id of each row among the distinct ones, -1: none; of all ids if not `single` */
    float *factors;         /* what is multiplied: of each distinct id the row of the table, which the gradient takes of
                         * each group; not single: of each row */
    uint32_t *pairs;        /* the same rounded to bfloat16, where that is asked for */
    int64_t product_at;     /* once: its first product, of all columns' */
} lookup_column;

typedef struct lookup_layer {
    int columns, parts;
    int64_t rows, inner, units;
    lookup_column *column;
    const float *weights;
    const float *dense; /* all dense values side by side */
    int64_t dense_width;
    int64_t *dense_at; /* the row of the weights of each of them */
    const float *zeros;
    const uint32_t *zero_pairs;
    bool bfloat16;         /* what is multiplied is rounded before */
    uint32_t *dense_pairs; /* then: the dense values */
} lookup_layer;

/* The inputs of both ops, checked; the gradient's own comes after them. */
hr_status hr__layer_take_inputs(hr_kernel *k, lookup_layer *y, hr_error *err);
/* Which ids each column has, and what is multiplied; an id that a table lacks is refused, "graph.index". Outputs 1 to 3
 * tell the gradient, LAYER_FOUND: of all columns, one after the other, `place`, the distinct ids, and their number. */
hr_status hr__layer_find_ids(hr_kernel *k, lookup_layer *y, hr_error *err);
/* Takes them again: inputs from `first` on. What does not fit is refused, "graph.shape", "graph.index". */
hr_status hr__layer_take_ids(hr_kernel *k, lookup_layer *y, int first, hr_error *err);
/* What is multiplied as pairs of bfloat16: `pairs` of columns and the dense values. */
hr_status hr__layer_round(hr_kernel *k, lookup_layer *y, hr_error *err);
hr_status hr__layer_refuse(const char *expected, hr_error *err); /* "graph.shape" */

/* Six rows of products, or the `there` that are left of them: `a`, `b`, `count`, `depth` and `add` as of
 * hr__tile_rows_fn. */
void hr__tile_six_rows(const hr__tile *tile, const float *const *a, const float *const *b, int64_t count, int64_t depth,
                       float *out, int64_t out_row, int64_t there, bool add);

static inline int64_t lookup_column_width(const lookup_column *c) { return c->l.table.dimension; }

/* The row of a batch as it is multiplied. */
static inline const float *lookup_column_row(const lookup_layer *y, const lookup_column *c, int64_t r)
{
    const int64_t width = lookup_column_width(c);
    if (!c->single) return c->factors + r * width;
    return c->place[r] < 0 ? y->zeros : c->factors + c->place[r] * width;
}

/* The same as pairs. Zeros are pairs of zeros. */
static inline const uint32_t *lookup_column_pairs(const lookup_layer *y, const lookup_column *c, int64_t r)
{
    const int64_t pairs = hr__pairs_of(lookup_column_width(c));
    if (!c->single) return c->pairs + r * pairs;
    return c->place[r] < 0 ? y->zero_pairs : c->pairs + c->place[r] * pairs;
}

#define LAYER_INPUTS "tables:N*resource, ids:N*int64, row_splits:N*int32, dense:D*float, weights:float"
#define LAYER_FOUND "places:int32, distinct:int64, counts:int64"
#define LAYER_ATTRS "N:int>=1; D:int>=0; combiner:string in {mean,sum,sqrtn}=mean; order:list(int)=[]"

#endif
