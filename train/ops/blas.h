/* OpenBLAS, loaded when the first product is planned: it starts its threads, and takes its memory, as it is loaded,
 * which a program that multiplies nothing does without. Not a public header. */
#ifndef HR_BLAS_H
#define HR_BLAS_H

#include <cblas.h>
#include <headrace/base.h>

typedef struct hr__blas {
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&cblas_dgemm) dgemm;
    __typeof__(&cblas_sdot) sdot;
    __typeof__(&openblas_set_num_threads) set_num_threads;
    __typeof__(&openblas_get_parallel) get_parallel;
} hr__blas;

/* Loads it, once in the process; on a processor that it does not know, with the newest kernels that run here, unless
 * OPENBLAS_CORETYPE says which. HR_NOT_FOUND, "matmul.blas": it is not installed. */
hr_status hr__blas_load(const hr__blas **out, hr_error *err);

#endif
