/* Ops that work on matrices one by one with LAPACK: what they share. Not a public header. */
#ifndef HR_MATRICES_H
#define HR_MATRICES_H

#include "train/ops/blas.h"
#include <headrace/kernels.h>

/* One run of such an op. Matrices of inputs and outputs follow each other. A kernel by type does one of them. */
typedef struct hr__matrices {
    const hr__lapack *lapack;
    const hr__blas *blas;
    hr_node node;
    int64_t rows, columns, right; /* of a matrix of input 0; columns of one of input 1 */
    const char *in[2];
    char *out[3];
    hr_shape batch, in_batch[2]; /* how matrices are numbered in the output, and in each input, which broadcast to it */
    bool flag, full;             /* attributes of the op */
    double l2;                   /* of MatrixSolveLs */
    size_t work;                 /* bytes that a kernel needs besides */
    const char *refusal;         /* what a matrix with which LAPACK fails is told; NULL: that is no error */
    uint8_t *failed;             /* by matrix: 1, or 2 for lack of memory */
} hr__matrices;

/* Does matrix number `i`, with memory of its own; false: LAPACK fails. */
typedef bool hr__matrix_fn(const hr__matrices *m, int64_t i, void *work);

/* What a node keeps. */
typedef struct hr__matrices_state {
    const hr__blas *blas;
    const hr__lapack *lapack;
} hr__matrices_state;
hr_status hr__matrices_prepare(hr_node node, hr_session *session, void *state, hr_error *err);

/* Refuses what are no matrices, or, of that flag, no square ones: "graph.shape". Begins `m` with input 0. */
hr_status hr__matrices_begin(hr_kernel *k, bool square, hr__matrices *m, hr_error *err);
/* Runs the kernel of the node's type on all matrices, each about `nanoseconds`. */
hr_status hr__matrices_run(hr_kernel *k, hr__matrices *m, double nanoseconds, hr_error *err);

/* The number in input `input` of the matrix that output matrix `i` is made of. */
int64_t hr__matrix_in(const hr__matrices *m, int input, int64_t i);

/* x as [columns, rows], conjugated if `conjugate`; in C, rows stand together, for LAPACK, columns. */
#define HR__CONJ_f32(x) (x)
#define HR__CONJ_f64(x) (x)
#define HR__CONJ_c64(x) conjf(x)
#define HR__CONJ_c128(x) conj(x)
#define HR__TURN(T, V, U, D, S, A, B)                                                                                  \
    static void turn_##S(const T *x, T *out, int64_t rows, int64_t columns, bool conjugate)                            \
    {                                                                                                                  \
        for (int64_t i = 0; i < rows; i++)                                                                             \
            for (int64_t j = 0; j < columns; j++)                                                                      \
                out[j * rows + i] = conjugate ? HR__CONJ_##S(x[i * columns + j]) : x[i * columns + j];                 \
    }

#endif
