/* Products of many matrices at once: what MatMul, its kin and Einsum have in common, and what computes them, as one list
 * (products.c). Not a public header. */
#ifndef HR_PRODUCTS_H
#define HR_PRODUCTS_H

#include "train/ops/blas.h"
#include <headrace/kernels.h>

/* out = a b. The last two dimensions are matrices, which fit; those before them number the products, and broadcast to
 * the output's. `a` and `b` have one type of numbers. */
typedef struct hr__products {
    const hr_tensor *a, *b;
    hr_tensor *out;
    bool ta, tb, conjugate;      /* turned before; conjugate: what is turned is conjugated, too */
    const hr_epilogue *epilogue; /* of one product of floats; NULL: that is the result */
    const hr_tensor *bias;
} hr__products;

/* In blocks, on several threads where it pays. */
hr_status hr__products_run(hr_kernel *k, const hr__products *all, hr_error *err);

/* ---- what computes them ---- */

/* One product: row i of a begins at a + i * a_row, its values lie a_column apart. No size is 0. */
typedef struct hr__product {
    const void *a, *b;
    void *out;
    int64_t m, n, k, a_row, a_column, b_row, b_column;
    int64_t lda, ldb;
    bool ta, tb, conj_a, conj_b;
    bool alone;    /* the only one */
    bool bfloat16; /* floats are rounded before */
    hr_dtype dtype;
    const hr__blas *blas; /* of a kernel that wants it */
    void *packed;         /* memory of hr__product_kernel.memory */
} hr__product;

/* What computes products of some kind. The first of the list that takes a product computes it: by types, shapes and
 * what the processor has, never by a timing. */
typedef struct hr__product_kernel {
    const char *name;
    bool wants_blas; /* OpenBLAS is loaded when it is chosen */
    bool (*takes)(const hr__product *p);
    int64_t block; /* about so many rows of the result are computed at once; 0: many, since each block packs b again */
    int64_t tile;  /* so many rows stay together */
    int64_t columns; /* of b that are packed at once */
    /* What is packed once for all blocks. NULL: nothing. */
    hr_status (*memory)(const hr__product *p, int64_t *bytes, hr_error *err); /* of one product */
    void (*pack)(const hr__product *p, int64_t column);                       /* from there on */
    void (*run)(const hr__product *p, int64_t first, int64_t last);           /* rows */
} hr__product_kernel;

extern const hr__product_kernel *const hr__product_kernels[]; /* and then NULL */
const hr__product_kernel *hr__product_kernel_for(const hr__product *p);

#endif
