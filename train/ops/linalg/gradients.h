/* What gradients of this folder are written with. Not a public header. */
#ifndef HR_LINALG_GRADIENTS_H
#define HR_LINALG_GRADIENTS_H

#include <headrace/kernels.h>
#include <headrace/linalg.h>

/* x y, matrix by matrix, each turned and conjugated before if asked for. */
static inline hr_node product(hr_node x, hr_node y, bool adjoint_x, bool adjoint_y)
{
    return hr_matmul(x, y, .adjoint_a = adjoint_x, .adjoint_b = adjoint_y);
}

/* `lower` diagonals below the main one and `upper` above it, -1: all; elsewhere 0. */
static inline hr_node band(hr_node x, int64_t lower, int64_t upper)
{
    const hr_node below = hr_scalar(x.graph, HR_INT64, (double)lower),
                  above = hr_scalar(x.graph, HR_INT64, (double)upper);
    return hr_new_node(x.graph, "MatrixBandPart", HR_INPUTS(x, below, above));
}

/* Columns first ... end - 1 of each matrix. */
static inline hr_node columns(hr_node x, int64_t first, int64_t end)
{
    return hr_strided_slice(x, {.ellipsis = true}, {.begin = &first, .end = &end});
}

/* The last two dimensions, -1 what is not known. */
static inline void matrix_size(hr_node x, int64_t *rows, int64_t *of_columns)
{
    const hr_shape shape = hr_node_shape(x);
    *rows = shape.rank < 2 ? -1 : shape.dims[shape.rank - 2];
    *of_columns = shape.rank < 2 ? -1 : shape.dims[shape.rank - 1];
}

#endif
