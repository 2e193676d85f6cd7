/* OpenBLAS, loaded beside the first session whose graph has products, or when one is planned: it starts its threads, and
 * takes its memory, as it is loaded, which a program that multiplies nothing does without. Not a public header. */
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
    char text[100]; /* name, version, and the processor that its kernels are made for */
} hr__blas;

/* LAPACK's routines for one type, as Fortran has them: matrices lie in columns, and a length follows for each word. */
typedef struct hr__lapack {
    bool is_complex;
    void (*potrf)(const char *part, const blasint *n, void *a, const blasint *lda, blasint *info, size_t);
    void (*getrf)(const blasint *m, const blasint *n, void *a, const blasint *lda, blasint *pivots, blasint *info);
    void (*getrs)(const char *turned, const blasint *n, const blasint *columns, const void *a, const blasint *lda,
                  const blasint *pivots, void *b, const blasint *ldb, blasint *info, size_t);
    void (*getri)(const blasint *n, void *a, const blasint *lda, const blasint *pivots, void *work,
                  const blasint *work_size, blasint *info);
    void (*gels)(const char *turned, const blasint *m, const blasint *n, const blasint *columns, void *a,
                 const blasint *lda, void *b, const blasint *ldb, void *work, const blasint *work_size, blasint *info,
                 size_t);
    void (*trsm)(const char *side, const char *part, const char *turned, const char *diagonal, const blasint *m,
                 const blasint *n, const void *alpha, const void *a, const blasint *lda, void *b, const blasint *ldb,
                 size_t, size_t, size_t, size_t);
    /* The eigenvalues of a symmetric matrix, and a decomposition into singular values; complex ones take one more piece
     * of memory. */
    void (*syev)(const char *job, const char *part, const blasint *n, void *a, const blasint *lda, void *values,
                 void *work, const blasint *work_size, blasint *info, size_t, size_t);
    void (*heev)(const char *job, const char *part, const blasint *n, void *a, const blasint *lda, void *values,
                 void *work, const blasint *work_size, void *real_work, blasint *info, size_t, size_t);
    void (*gesdd)(const char *job, const blasint *m, const blasint *n, void *a, const blasint *lda, void *s, void *u,
                  const blasint *ldu, void *v, const blasint *ldv, void *work, const blasint *work_size,
                  blasint *int_work, blasint *info, size_t);
    void (*complex_gesdd)(const char *job, const blasint *m, const blasint *n, void *a, const blasint *lda, void *s,
                          void *u, const blasint *ldu, void *v, const blasint *ldv, void *work,
                          const blasint *work_size, void *real_work, blasint *int_work, blasint *info, size_t);
} hr__lapack;

/* Loads it, once in the process; on a processor that it does not know, with the newest kernels that run here, unless
 * OPENBLAS_CORETYPE says which. HR_UNAVAILABLE, "matmul.blas": it is not installed. */
hr_status hr__blas_load(const hr__blas **out, hr_error *err);
void hr__blas_load_early(void);    /* the same; what fails is told by the next load */
const char *hr__blas_loaded(void); /* its text; NULL: it has not been loaded */
/* The routines for float (half: the same), double, complex64 or complex128. HR_UNAVAILABLE, "linalg.lapack": this
 * OpenBLAS was built without them; "matmul.blas": it is not installed. */
hr_status hr__lapack_load(hr_dtype dtype, const hr__lapack **out, hr_error *err);

/* Around each call of it. Our pool shares work out: OpenBLAS is to work on each call on the thread that makes it. Gives
 * what hr__blas_end takes. */
bool hr__blas_begin(const hr__blas *blas);
void hr__blas_end(bool alone);

#endif
