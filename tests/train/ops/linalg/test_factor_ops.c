/* Triangular factors and what follows from them beside TensorFlow 2.15.1: values, and gradients of the sum of their
 * squares. */
#include "tests/train/ops/node_values.h"

#include <headrace/linalg.h>

static void matrices_give_what_tensorflow_gives(void **state)
{
    (void)state;
    const hr_node pd = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3, 3), 4, 1, 2, 1, 5, 3, 2, 3, 6, 2, -1, 0, -1, 2, -1, 0, -1, 2);
    const hr_node m = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 10, 0, 2, -1, 3, 0, 1, 1, 1, 4);
    const hr_node b = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3, 2), 1, 2, 0, -1, 3, 1, 2, 0, 1, 1, -1, 2);
    const hr_node y_cholesky = hr_cholesky(pd);
    EXPECT(y_cholesky, 1e-10, 2, 0, 0, 0.5, 2.17944947177034, 0, 1, 1.14707866935281, 1.91942973987479, 1.4142135623731,
           0, 0, -0.707106781186547, 1.22474487139159, 0, 0, -0.816496580927726, 1.15470053837925);
    EXPECT(derivative(hr_square(y_cholesky), pd), 1e-8, 1, 5.55111512312578e-17, -5.55111512312578e-17,
           5.55111512312578e-17, 1, 0, -5.55111512312578e-17, 0, 1, 1, 8.32667268468867e-17, 0, 8.32667268468867e-17, 1,
           5.55111512312578e-17, 0, 5.55111512312578e-17, 1);
    const hr_node y_inverse = hr_matrix_inverse(m);
    EXPECT(y_inverse, 1e-10, -0.666666666666666, -1.33333333333333, 1, -0.666666666666669, 3.66666666666667, -2, 1, -2,
           1, 0.04, 0.36, -0.08, 0.44, -0.04, 0.12, -0.12, -0.08, 0.24);
    EXPECT(derivative(hr_square(y_inverse), m), 1e-8, -10.2962962962964, 35.2592592592594, -21.3333333333334,
           67.851851851852, -188.370370370371, 105.333333333334, -38.2222222222223, 104.444444444445, -58.0000000000001,
           -0.018048, -0.188928, 0.041344, -0.108032, 0.018048, 0.048896, 0.048896, -0.041344, -0.041088);
    const hr_node y_adjoint = hr_matrix_inverse(m, .adjoint = true);
    EXPECT(y_adjoint, 1e-10, -0.666666666666666, -0.666666666666668, 1, -1.33333333333334, 3.66666666666667, -2, 1, -2,
           1, 0.04, 0.44, -0.12, 0.36, -0.04, -0.08, -0.08, 0.12, 0.24);
    EXPECT(derivative(hr_square(y_adjoint), m), 1e-8, -10.2962962962963, 35.2592592592594, -21.3333333333334,
           67.8518518518521, -188.370370370371, 105.333333333334, -38.2222222222223, 104.444444444445,
           -58.0000000000002, -0.018048, -0.188928, 0.041344, -0.108032, 0.018048, 0.048896, 0.048896, -0.041344,
           -0.041088);
    const hr_node y_solution = hr_matrix_solve(m, b);
    EXPECT(y_solution, 1e-10, 2.33333333333334, 1, -6.66666666666667, -7.00000000000001, 4, 5, 0.52, 0.2, 0.72, 0.2,
           -0.56, 0.4);
    EXPECT(derivative(hr_square(y_solution), m), 1e-8, -50.1481481481483, 217.851851851853, -145.111111111112,
           239.925925925927, -992.074074074077, 654.444444444446, -131.777777777778, 542.222222222224,
           -357.333333333334, -0.440192, -0.602112, 0.414976, -0.224128, -0.305408, 0.201984, 0.051584, 0.087424,
           -0.183552);
    EXPECT(derivative(hr_square(y_solution), b), 1e-8, 13.7777777777778, 18, -71.1111111111112, -74.0000000000002,
           39.3333333333334, 40.0000000000001, 0.8096, 0.096, 0.4064, 0.0639999999999999, -0.1792, 0.208);
    const hr_node y_turned = hr_matrix_solve(m, b, .adjoint = true);
    EXPECT(y_turned, 1e-10, 2.33333333333334, 0.333333333333333, -7.33333333333334, -8.33333333333334, 4, 5, 0.64, 0.2,
           0.76, -0.2, -0.28, 0.6);
    EXPECT(derivative(hr_square(y_turned), m), 1e-8, -67.6296296296298, 197.25925925926, -112.666666666667,
           444.074074074075, -1214.14814814815, 674.666666666668, -256.666666666667, 699.333333333335,
           -388.000000000001, -0.366848, -0.345728, 0.207744, -0.533632, -0.263552, 0.365696, 0.314496, -0.079744,
           -0.277888);
    EXPECT(derivative(hr_square(y_turned), b), 1e-8, 24.4444444444445, 31.7777777777778, -72.888888888889,
           -81.5555555555557, 42.0000000000001, 44.0000000000001, 0.6432, -0.224, 0.4352, 0.336, -0.4096, 0.272);
    const hr_node y_lower = hr_matrix_triangular_solve(pd, b);
    EXPECT(y_lower, 1e-10, 0.25, 0.5, -0.05, -0.3, 0.441666666666667, 0.15, 1, 0, 1, 0.5, 0, 1.25);
    EXPECT(derivative(hr_square(y_lower), pd), 1e-8, -0.150868055555556, 0, 0, 0.102083333333333, -0.0504166666666667,
           0, -0.0618055555555556, 0.0223611111111111, -0.0725231481481481, -1.5, 0, 0, -1, -1.5625, 0, -0, -0.625,
           -1.5625);
    EXPECT(derivative(hr_square(y_lower), b), 1e-8, 0.0784722222222222, 0.2625, -0.108333333333333, -0.15,
           0.147222222222222, 0.05, 1.5, 0.5625, 1, 1.125, 0, 1.25);
    const hr_node y_upper = hr_matrix_triangular_solve(pd, b, .upper = true, .adjoint = true);
    EXPECT(y_upper, 1e-10, 0.25, 0.5, -0.05, -0.3, 0.441666666666667, 0.15, 1, 0, 1, 0.5, 0, 1.25);
    EXPECT(derivative(hr_square(y_upper), pd), 1e-8, -0.150868055555556, 0.102083333333333, -0.0618055555555556, 0,
           -0.0504166666666667, 0.0223611111111111, 0, 0, -0.0725231481481481, -1.5, -1, -0, 0, -1.5625, -0.625, 0, 0,
           -1.5625);
    EXPECT(derivative(hr_square(y_upper), b), 1e-8, 0.0784722222222222, 0.2625, -0.108333333333333, -0.15,
           0.147222222222222, 0.05, 1.5, 0.5625, 1, 1.125, 0, 1.25);
    const hr_node y_determinant = hr_matrix_determinant(m);
    EXPECT(y_determinant, 1e-10, -3, -25);
    EXPECT(derivative(hr_square(y_determinant), m), 1e-8, -12, -12, 18, -24, 66, -36, 18, -36, 18, 50, 550, -150, 450,
           -50, -99.9999999999999, -99.9999999999999, 150, 300);
    const hr_node y_log = hr_node_output(hr_log_matrix_determinant(m), 1);
    EXPECT(y_log, 1e-10, 1.09861228866811, 3.2188758248682);
    EXPECT(derivative(hr_square(y_log), m), 1e-8, -1.46481638489081, -1.46481638489081, 2.19722457733622,
           -2.92963276978163, 8.05649011689948, -4.39444915467244, 2.19722457733622, -4.39444915467244,
           2.19722457733622, 0.257510065989456, 2.83261072588402, -0.772530197968368, 2.3175905939051,
           -0.257510065989456, -0.515020131978912, -0.515020131978912, 0.772530197968368, 1.54506039593674);
    EXPECT(hr_log_matrix_determinant(m), 0, -1, -1);
    EXPECT(hr_lu(m), 1e-10, 7, 8, 10, 0.142857142857143, 0.857142857142857, 1.57142857142857, 0.571428571428571, 0.5,
           -0.5, 3, 0, 1, 0, 2, -1, 0.333333333333333, 0.5, 4.16666666666667);
    EXPECT(hr_node_output(hr_lu(m), 1), 0, 2, 0, 1, 1, 0, 2);
}

/* The same numbers in float, and where nothing is known of the matrices before the run. */
static void float_matrices_and_unknown_ones_work(void **state)
{
    (void)state;
    const hr_node m = CONSTANT(HR_FLOAT, HR_SHAPE(2, 2), 2, 1, 1, 3), b = CONSTANT(HR_FLOAT, HR_SHAPE(2, 1), 5, 10);
    const hr_node x = unknown(m), y = unknown(b);
    EXPECT(hr_matrix_solve(m, b), 1e-6, 1, 3);
    EXPECT(hr_matrix_solve(x, y), 1e-6, 1, 3);
    EXPECT(hr_matrix_inverse(CONSTANT(HR_HALF, HR_SHAPE(2, 2), 1, 2, 2, 5)), 0, 5, -2, -2, 1);
    EXPECT(hr_matrix_transpose(x), 0, 2, 1, 1, 3);
    EXPECT(derivative(hr_cholesky(x), x), 1e-6, 0.25583364, 0.19543951, 0.19543951, 0.31622777);
    EXPECT(derivative(hr_matrix_triangular_solve(x, y), y), 1e-6, 1. / 3, 1. / 3);
}

static hr_node complex_numbers(hr_shape shape, const double *parts)
{
    const hr_tensor t = hr_tensor_of(HR_COMPLEX128, shape, parts);
    return hr_const(g, &t);
}

static void complex_matrices_are_conjugated_where_they_are_turned(void **state)
{
    (void)state;
    const hr_node h = complex_numbers(HR_SHAPE(2, 2), (const double[]){4, 0, 1, 2, 1, -2, 6, 0});
    const hr_node m = complex_numbers(HR_SHAPE(2, 2), (const double[]){4, 0, 1, 3, 3, -2, 6, 0});
    const hr_node b = complex_numbers(HR_SHAPE(2, 1), (const double[]){1, 1, 2, -1});
    EXPECT(hr_cholesky(h), 1e-12, 2, 0, 0, 0, 0.5, -1, 2.17944947177034, 0);
    EXPECT(hr_matrix_inverse(m), 1e-12, 0.328467153284672, 0.153284671532847, 0.0218978102189781, -0.18978102189781,
           -0.215328467153285, 0.0328467153284672, 0.218978102189781, 0.102189781021898);
    EXPECT(hr_matrix_inverse(m, .adjoint = true), 1e-12, 0.328467153284672, -0.153284671532847, -0.215328467153285,
           -0.0328467153284672, 0.0218978102189781, 0.18978102189781, 0.218978102189781, -0.102189781021898);
    EXPECT(hr_matrix_solve(m, b, .adjoint = true), 1e-12, 0.0182481751824817, 0.324817518248175, 0.167883211678832,
           -0.211678832116788);
    EXPECT(hr_matrix_triangular_solve(m, b, .adjoint = true), 1e-12, -0.0833333333333333, 0.208333333333333,
           0.333333333333333, -0.166666666666667);
    EXPECT(hr_matrix_determinant(m), 1e-12, 15, -7);
    EXPECT(hr_log_matrix_determinant(m), 1e-12, 0.906183139995265, -0.422885465331124);
    EXPECT(hr_node_output(hr_log_matrix_determinant(m), 1), 1e-12, 2.80656405319403, 0);
    EXPECT(hr_matmul(m, b, .adjoint_a = true), 1e-12, 12, 5, 16, -8);
    const hr_node many = hr_expand_dims(m, hr_scalar(g, HR_INT32, 0)),
                  ones = hr_expand_dims(b, hr_scalar(g, HR_INT32, 0));
    EXPECT(hr_sub(hr_matmul(many, ones, .transpose_a = true), hr_matmul(m, b, .transpose_a = true)), 0, 0, 0, 0, 0);
    expect_failure(hr_matmul(m, b, .transpose_a = true, .adjoint_a = true), "graph.argument");
}

/* One triangular matrix for two right sides, and the other way. */
static void triangular_matrices_broadcast(void **state)
{
    (void)state;
    const hr_node a = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 2), 2, 7, 2, 4),
                  b = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 2, 1), 1, 1, 2, 3);
    const hr_node x = hr_matrix_triangular_solve(a, b);
    expect_shape(x, HR_SHAPE(2, 2, 1));
    EXPECT(x, 0, .5, 0, 1, .25);
    expect_shape(derivative(x, a), HR_SHAPE(2, 2));
    EXPECT(derivative(x, a), 1e-12, -.375, 0, -.375, -.0625);
    EXPECT(hr_matrix_triangular_solve(
               hr_expand_dims(hr_expand_dims(a, hr_scalar(g, HR_INT32, 0)), hr_scalar(g, HR_INT32, 0)), b),
           0, .5, 0, 1, .25);
}

static void gradients_of_cholesky_run_as_an_op(void **state)
{
    (void)state;
    const hr_node a = CONSTANT(HR_DOUBLE, HR_SHAPE(3, 3), 4, 2, 1, 2, 5, 2, 1, 2, 6);
    const hr_node flow = CONSTANT(HR_DOUBLE, HR_SHAPE(3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 10);
    EXPECT(hr_new_node(g, "CholeskyGrad", HR_INPUTS(hr_cholesky(a), flow)), 1e-8, -0.05392467, 0.301452, 0.61279468,
           0.301452, 0.80871198, 1.17676805, 0.61279468, 1.17676805, 2.1952852);
}

static void least_squares_are_those_of_tensorflow(void **state)
{
    (void)state;
    const hr_node tall = CONSTANT(HR_DOUBLE, HR_SHAPE(3, 2), 1, 2, 3, 4, 5, 6.5), wide = hr_matrix_transpose(tall),
                  b = CONSTANT(HR_DOUBLE, HR_SHAPE(3, 2), 1, 0, 2, 1, 3, -1),
                  c = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 1), 1, 2);
    const hr_node x = hr_matrix_solve_ls(tall, b, .l2_regularizer = .5),
                  y = hr_matrix_solve_ls(wide, c, .l2_regularizer = .5);
    EXPECT(x, 1e-12, 0.133843212237094, -0.141491395793499, 0.37093690248566, 0.0650095602294455);
    EXPECT(derivative(hr_square(x), tall), 1e-12, -0.0330381598933792, -0.0393413285752602, -0.460736616606737,
           0.327333051405786, 0.270932070101075, -0.218124431239764);
    EXPECT(derivative(hr_square(x), b), 1e-12, 0.154162812718213, 0.179666507024849, 0.0375828522752615,
           -0.00476731900456628, 0.0272292883021545, -0.0532594350142033);
    EXPECT(y, 1e-12, 0.286806883365201, 0.110898661567878, 0.122370936902486);
    EXPECT(derivative(hr_square(y), wide), 1e-12, -0.102468922115473, 0.0245512818447102, 0.0685819737571108,
           0.0706639604846973, -0.0246511031261698, -0.0608054205919713);
    EXPECT(derivative(hr_square(y), c), 1e-12, -0.214734086696474, 0.216898391029836);
    EXPECT(hr_matrix_solve_ls(tall, b, .by_qr = true), 1e-12, -0.136363636363637, -0.5, 0.575757575757576,
           0.333333333333334);
    EXPECT(hr_matrix_solve_ls(wide, c, .by_qr = true), 1e-12, 0.984848484848485, 0.106060606060606,
           -0.0606060606060607);
    const hr_node h = complex_numbers(HR_SHAPE(3, 2), (const double[]){1, 1, 2, 0, 3, 0, 4, -1, 5, 0, 6, 0}),
                  d = complex_numbers(HR_SHAPE(3, 1), (const double[]){1, 1, 2, 1, 3, 1});
    EXPECT(hr_matrix_solve_ls(h, d, .l2_regularizer = .5), 1e-11, 0.468239564428, -0.152450090744, 0.098003629764,
           0.31941923775);
    EXPECT(hr_matrix_solve_ls(h, d, .by_qr = true), 1e-11, 0.582417582418, -0.274725274725, 0, 0.406593406593);
    expect_failure(hr_matrix_solve_ls(hr_ones_like(tall), b), "linalg.matrix");
}

static hr_node cube(hr_node x) { return hr_reduce_sum(hr_mul(x, hr_square(x))); }

static void expect_qr_gradient(hr_node x, const double *expected)
{
    const hr_node q = hr_new_node(g, "Qr", HR_INPUTS(x)), loss = hr_add(cube(q), cube(hr_node_output(q, 1)));
    expect_values(derivative(loss, x), expected, 6, 1e-9, "a derivative of Qr");
}

static void the_gradient_of_qr_is_that_of_tensorflow(void **state)
{
    (void)state;
    expect_qr_gradient(CONSTANT(HR_DOUBLE, HR_SHAPE(3, 2), 1, 2, 3, 4, 5, 7),
                       (const double[]){-40.8318991308291, -33.2415506106577, -47.3716399810221, -103.519385024175,
                                        -87.6483116303129, -174.745902735743});
    expect_qr_gradient(CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3), 1, 2, 3, 4, 5, 7),
                       (const double[]){-65.2605460543265, -22.2562102974517, -45.4112290876852, -36.2544602130435,
                                        -82.476379313826, -163.454744473016});
    const hr_node x = unknown(CONSTANT(HR_DOUBLE, HR_SHAPE(1, 1), 2));
    (void)derivative(hr_new_node(g, "Qr", HR_INPUTS(x)), x);
    assert_string_equal(hr_graph_error(g)->kind, "graph.gradient");
}

static void empty_matrices_have_a_determinant_of_one(void **state)
{
    (void)state;
    const hr_tensor none = hr_tensor_of(HR_DOUBLE, HR_SHAPE(2, 0, 0), NULL);
    const hr_node m = hr_const(g, &none);
    EXPECT(hr_matrix_determinant(m), 0, 1, 1);
    EXPECT(hr_node_output(hr_log_matrix_determinant(m), 1), 0, 0, 0);
    expect_shape(hr_matrix_inverse(m), HR_SHAPE(2, 0, 0));
    expect_shape(hr_cholesky(m), HR_SHAPE(2, 0, 0));
    expect_shape(hr_lu(m), HR_SHAPE(2, 0, 0));
}

/* A matrix that is not positive gives NaN, as in TensorFlow; other ops refuse one that they cannot take apart. */
static void singular_matrices_are_told(void **state)
{
    (void)state;
    const hr_node singular = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 2), 1, 2, 2, 4),
                  b = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 1), 1, 2);
    EXPECT(hr_cholesky(CONSTANT(HR_DOUBLE, HR_SHAPE(2, 2), 1, 2, 2, 1)), 0, NAN, 0, NAN, NAN);
    EXPECT(hr_matrix_determinant(singular), 0, 0);
    EXPECT(hr_log_matrix_determinant(singular), 0, 0);
    expect_failure(hr_matrix_inverse(singular), "linalg.matrix");
    expect_failure(hr_matrix_solve(singular, b), "linalg.matrix");
    expect_failure(hr_lu(singular), "linalg.matrix");
    expect_failure(hr_matrix_inverse(unknown(b)), "graph.shape");
    expect_failure(hr_matrix_solve(singular, unknown(hr_matrix_transpose(b))), "graph.shape");
    expect_failure(hr_matrix_inverse(b), "graph.shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(matrices_give_what_tensorflow_gives),
        GRAPH_TEST(float_matrices_and_unknown_ones_work),
        GRAPH_TEST(complex_matrices_are_conjugated_where_they_are_turned),
        GRAPH_TEST(triangular_matrices_broadcast),
        GRAPH_TEST(gradients_of_cholesky_run_as_an_op),
        GRAPH_TEST(least_squares_are_those_of_tensorflow),
        GRAPH_TEST(the_gradient_of_qr_is_that_of_tensorflow),
        GRAPH_TEST(empty_matrices_have_a_determinant_of_one),
        GRAPH_TEST(singular_matrices_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
