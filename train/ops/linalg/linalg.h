/* Headrace, linear algebra: constructors of products, decompositions and solutions. As in ops.h: those with options take
 * .name, and an error stays with the graph (hr_graph_error). Matrices are the last two dimensions of a tensor, [..., m, n];
 * those before them number matrices. Each op computes what TensorFlow documents for the op of its name, with its
 * gradient. */
#ifndef HR_LINALG_H
#define HR_LINALG_H

#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- products ---- */

/* How many inputs hr_einsum takes. */
enum { HR_MAX_EINSUM_INPUTS = 16 };
/* Einsum: a sum of products of `count` inputs, written with a letter for each dimension: "bij,bjk->bik". "..." stands
 * for any dimensions, which broadcast; a letter that is there twice takes a diagonal. Without "->", the output has the
 * letters that are written once, in order. Of three inputs or more, products are made from the left to the right. An
 * equation that does not fit: HR_INVALID_ARGUMENT, "graph.equation". */
HR_API hr_node hr_einsum_with(const char *equation, const hr_node *inputs, int count);
#define hr_einsum(equation, ...)                                                                                       \
    HR_MADE_(hr_einsum_with((equation), (const hr_node[]){__VA_ARGS__},                                                \
                            (int)(sizeof((hr_node[]){__VA_ARGS__}) / sizeof(hr_node))))

/* A sum of products along `count` axes of each, which may count from the end; then what is left of a, and of b: a node of
 * Einsum. Both ranks must be known. */
HR_API hr_node hr_tensordot(hr_node a, hr_node b, const int64_t *axes_a, const int64_t *axes_b, int count);
#define hr_tensordot(...) HR_MADE_(hr_tensordot(__VA_ARGS__))

HR_UNARY_OP_(hr_matrix_transpose) /* [..., m, n] as [..., n, m] */
#define hr_matrix_transpose(...) HR_UNARY_CALL_(hr_matrix_transpose, __VA_ARGS__)

/* ---- triangular factors, and what follows from them; float, double, complex64, complex128 ----
 *
 * Computed by LAPACK, which OpenBLAS brings (HR_UNAVAILABLE, "linalg.lapack": it lacks it). Matrices are square. One that
 * cannot be inverted, solved or taken apart fails the run, "linalg.matrix". */

HR_UNARY_OP_(hr_cholesky)           /* L with L L' = x, of which the lower half counts; NaN where there is none */
HR_UNARY_OP_(hr_matrix_determinant) /* [...] */
/* Output 0: its sign, output 1: the logarithm of its size, [...] each. */
HR_UNARY_OP_(hr_log_matrix_determinant)
/* Output 0: L below the diagonal, U on and above it; output 1: int32 [..., n], the row of x that each row of L U is. It
 * has no gradient. */
HR_UNARY_OP_(hr_lu)
#define hr_cholesky(...) HR_UNARY_CALL_(hr_cholesky, __VA_ARGS__)
#define hr_matrix_determinant(...) HR_UNARY_CALL_(hr_matrix_determinant, __VA_ARGS__)
#define hr_log_matrix_determinant(...) HR_UNARY_CALL_(hr_log_matrix_determinant, __VA_ARGS__)
#define hr_lu(...) HR_UNARY_CALL_(hr_lu, __VA_ARGS__)

typedef struct hr_matrix_opts {
    size_t struct_size;
    const char *name;
    bool adjoint; /* the matrix turned, and conjugated */
    bool upper;   /* of a triangular one: its upper part counts, not the lower one */
} hr_matrix_opts;
/* The inverse of each matrix. */
HR_API hr_node hr_matrix_inverse_with(hr_node x, const hr_matrix_opts *opts);
/* The x of a x = b: a [..., n, n], b [..., n, k]. */
HR_API hr_node hr_matrix_solve_with(hr_node a, hr_node b, const hr_matrix_opts *opts);
/* The same of a triangular `a`; what numbers matrices broadcasts. A zero on the diagonal divides. */
HR_API hr_node hr_matrix_triangular_solve_with(hr_node a, hr_node b, const hr_matrix_opts *opts);
#define HR_MATRIX_ .struct_size = sizeof(hr_matrix_opts)
#define hr_matrix_inverse(...) HR_MADE_(HR_CALL1_(hr_matrix_inverse_with, hr_matrix_opts, __VA_ARGS__, HR_MATRIX_))
#define hr_matrix_solve(...) HR_MADE_(HR_CALL2_(hr_matrix_solve_with, hr_matrix_opts, __VA_ARGS__, HR_MATRIX_))
#define hr_matrix_triangular_solve(...)                                                                                \
    HR_MADE_(HR_CALL2_(hr_matrix_triangular_solve_with, hr_matrix_opts, __VA_ARGS__, HR_MATRIX_))

typedef struct hr_solve_ls_opts {
    size_t struct_size;
    const char *name;
    double l2_regularizer; /* 0 or more */
    bool by_qr;            /* slower, for what is ill-conditioned: without l2_regularizer and gradient */
} hr_solve_ls_opts;
/* MatrixSolveLs: the x of the least |a x - b|^2 + l2_regularizer |x|^2; a [..., m, n], b [..., m, k]. */
HR_API hr_node hr_matrix_solve_ls_with(hr_node a, hr_node b, const hr_solve_ls_opts *opts);
#define hr_matrix_solve_ls(...)                                                                                        \
    HR_MADE_(HR_CALL2_(hr_matrix_solve_ls_with, hr_solve_ls_opts, __VA_ARGS__, .struct_size = sizeof(hr_solve_ls_opts)))

/* ---- eigenvalues and singular values ---- */

/* SelfAdjointEigV2, of symmetric matrices, of which the lower half counts. Output 0: the eigenvalues, rising [..., n];
 * output 1: their vectors, in columns, up to the sign of each. */
HR_UNARY_OP_(hr_self_adjoint_eig)
#define hr_self_adjoint_eig(...) HR_UNARY_CALL_(hr_self_adjoint_eig, __VA_ARGS__)

typedef struct hr_svd_opts {
    size_t struct_size;
    const char *name;
    bool values_only;   /* without u and v */
    bool full_matrices; /* u [..., m, m] and v [..., n, n] */
} hr_svd_opts;
/* Svd: x = u diag(s) v'. Outputs: s [..., k], falling; u [..., m, k] and v [..., n, k], up to signs; k is the lesser of m
 * and n. */
HR_API hr_node hr_svd_with(hr_node x, const hr_svd_opts *opts);
#define hr_svd(...) HR_MADE_(HR_CALL1_(hr_svd_with, hr_svd_opts, __VA_ARGS__, .struct_size = sizeof(hr_svd_opts)))

/* ---- diagonals ---- */

HR_UNARY_OP_(hr_matrix_diag)      /* [..., n] on the diagonal of [..., n, n] */
HR_UNARY_OP_(hr_matrix_diag_part) /* of [..., m, n] the diagonal, [..., k] */
HR_UNARY_OP_(hr_matrix_trace)     /* the sum of the diagonal, [...] */
HR_BINARY_OP_(hr_cross)           /* Cross: the product of vectors in space, [..., 3] */
#define hr_matrix_diag(...) HR_UNARY_CALL_(hr_matrix_diag, __VA_ARGS__)
#define hr_matrix_diag_part(...) HR_UNARY_CALL_(hr_matrix_diag_part, __VA_ARGS__)
#define hr_matrix_trace(...) HR_UNARY_CALL_(hr_matrix_trace, __VA_ARGS__)
#define hr_cross(...) HR_BINARY_CALL_(hr_cross, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
