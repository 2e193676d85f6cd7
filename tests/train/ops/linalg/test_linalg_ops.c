/* Diagonals put into matrices and taken out of them, and what is made of them, beside TensorFlow 2.15.1. */
#include "tests/train/ops/node_values.h"

#include <headrace/linalg.h>

static hr_node counted(hr_shape shape)
{
    double values[64];
    for (int i = 0; i < hr_shape_count(shape); i++) values[i] = i;
    return constant_of(HR_DOUBLE, shape, values);
}

static hr_node band_of(int64_t low, int64_t high) { return hr_ints(g, (const int64_t[]){low, high}, 2); }

static hr_node part(hr_node x, int64_t low, int64_t high, const char *align)
{
    return hr_new_node(g, "MatrixDiagPartV3", HR_INPUTS(x, band_of(low, high), hr_scalar_like(x, -1)),
                       HR_ATTRS(HR_STRING_ATTR("align", align)));
}

static void bands_are_taken_out_in_every_alignment(void **state)
{
    (void)state;
    const hr_node x = counted(HR_SHAPE(3, 4)), right = part(x, -2, 1, "RIGHT_LEFT");
    EXPECT(part(x, -2, 1, "LEFT_RIGHT"), 0, 1, 6, 11, 0, 5, 10, -1, 4, 9, -1, -1, 8);
    EXPECT(right, 0, 1, 6, 11, 0, 5, 10, 4, 9, -1, 8, -1, -1);
    EXPECT(derivative(hr_square(right), x), 0, 0, 2, 0, 0, 8, 10, 12, 0, 16, 18, 20, 22);
    EXPECT(hr_new_node(g, "MatrixDiagPartV2", HR_INPUTS(x, hr_scalar(g, HR_INT32, 1), hr_scalar_like(x, -1))), 0, 1, 6,
           11);
    expect_failure(part(x, -3, 1, "LEFT_RIGHT"), "graph.range");
}

static void bands_are_put_into_matrices(void **state)
{
    (void)state;
    const hr_node d = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3), 1, 2, 3, 4, 5, 0), any = hr_scalar(g, HR_INT32, -1);
    const hr_node made = hr_new_node(g, "MatrixDiagV3", HR_INPUTS(d, band_of(-1, 0), any, any, hr_scalar_like(d, 9)));
    EXPECT(made, 0, 1, 9, 9, 4, 2, 9, 9, 5, 3);
    EXPECT(derivative(hr_square(made), d), 0, 2, 4, 6, 8, 10, 0);
    const hr_node x = counted(HR_SHAPE(3, 4)),
                  set = hr_new_node(g, "MatrixSetDiagV3", HR_INPUTS(x, hr_neg(d), band_of(-1, 0)));
    EXPECT(set, 0, -1, 1, 2, 3, -4, -2, 6, 7, 8, -5, -3, 11);
    EXPECT(derivative(hr_square(set), x), 0, 0, 2, 4, 6, 0, 0, 12, 14, 16, 0, 0, 22);
}

static void the_main_diagonal_needs_no_numbers(void **state)
{
    (void)state;
    const hr_node x = counted(HR_SHAPE(2, 2, 3)), d = hr_matrix_diag_part(x);
    EXPECT(d, 0, 0, 4, 6, 10);
    EXPECT(hr_matrix_trace(x), 0, 4, 16);
    EXPECT(derivative(hr_square(hr_matrix_trace(x)), x), 0, 8, 0, 0, 0, 8, 0, 32, 0, 0, 0, 32, 0);
    EXPECT(hr_matrix_diag(d), 0, 0, 0, 0, 4, 6, 0, 0, 10);
    EXPECT(hr_new_node(g, "MatrixSetDiag", HR_INPUTS(x, d)), 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    EXPECT(hr_new_node(g, "Diag", HR_INPUTS(CONSTANT(HR_FLOAT, HR_SHAPE(2), 3, 4))), 0, 3, 0, 0, 4);
}

static void tensors_are_multiplied_along_chosen_axes(void **state)
{
    (void)state;
    const hr_node a = counted(HR_SHAPE(1, 2, 3)), b = counted(HR_SHAPE(3, 1, 2));
    EXPECT(hr_tensordot(a, b, (const int64_t[]){-1, 1}, (const int64_t[]){0, 2}, 2), 0, 50);
    EXPECT(hr_tensordot(a, b, HR_I64(2), HR_I64(0), 1), 0, 10, 13, 28, 40);
    expect_shape(hr_tensordot(a, b, NULL, NULL, 0), HR_SHAPE(1, 2, 3, 3, 1, 2));
    expect_failure(hr_tensordot(a, b, HR_I64(3), HR_I64(0), 1), "graph.axis");
}

static void vectors_are_multiplied_in_space(void **state)
{
    (void)state;
    const hr_node a = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3), 1, 2, 3, 1, 0, 0),
                  b = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3), 4, 5, 6, 0, 1, 0);
    EXPECT(hr_cross(a, b), 0, -3, 6, -3, 0, 0, 1);
    expect_failure(hr_cross(unknown(counted(HR_SHAPE(2))), unknown(counted(HR_SHAPE(2)))), "graph.shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(bands_are_taken_out_in_every_alignment), GRAPH_TEST(bands_are_put_into_matrices),
        GRAPH_TEST(the_main_diagonal_needs_no_numbers),     GRAPH_TEST(tensors_are_multiplied_along_chosen_axes),
        GRAPH_TEST(vectors_are_multiplied_in_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
