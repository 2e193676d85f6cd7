/* Products of many matrices at once: what MatMul, its kin and Einsum have in common. Not a public header. */
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
    const hr__blas *blas;        /* of float and double */
    const hr_epilogue *epilogue; /* of one product of floats; NULL: that is the result */
    const hr_tensor *bias;
} hr__products;

/* In blocks, on several threads where it pays. */
void hr__products_run(hr_kernel *k, const hr__products *all);

#endif
