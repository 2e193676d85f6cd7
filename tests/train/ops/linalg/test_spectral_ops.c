/* Eigenvalues and singular values beside TensorFlow 2.15.1. Vectors have any sign, so they are seen by what they
 * compose, and gradients by even functions of them. */
#include "tests/train/ops/node_values.h"

#include <headrace/linalg.h>

static hr_node product(hr_node x, hr_node y, bool turn_y) { return hr_matmul(x, y, .adjoint_b = turn_y); }
static hr_node fourth(hr_node x) { return hr_reduce_sum(hr_square(hr_square(x))); }
static hr_node output(hr_node x, int i) { return hr_node_output(x, i); }

static void eigenvectors_compose_the_matrix(void **state)
{
    (void)state;
    const double numbers[] = {4, 1, 2, 1, 5, 3, 2, 3, 6, 2, -1, 0, -1, 2, -1, 0, -1, 3};
    const hr_node x = constant_of(HR_DOUBLE, HR_SHAPE(2, 3, 3), numbers), e = hr_self_adjoint_eig(x), v = output(e, 1);
    EXPECT(e, 1e-12, 2.19439716742241, 3.38677015660755, 9.41883267597004, 0.753020396282533, 2.44504186791263,
           3.80193773580484);
    expect_values(product(product(v, hr_matrix_diag(e), false), v, true), numbers, 18, 1e-12, "v diag(e) v'");
    EXPECT(derivative(hr_add(hr_reduce_sum(hr_square(e)), fourth(v)), x), 1e-10, 8.18666666666666, 0, 0,
           4.09777777777778, 9.82222222222222, 0, 7.60888888888889, 12.2933333333333, 11.9911111111111,
           4.08163265306123, 0, 0, -3.67346938775511, 3.75510204081633, 0, -0.0816326530612229, -4.16326530612246,
           6.16326530612246);
    const hr_node alone = hr_new_node(g, "SelfAdjointEigV2", HR_INPUTS(x), HR_ATTRS(HR_BOOL_ATTR("compute_v", false)));
    EXPECT(derivative(hr_mul(alone, hr_square(alone)), x), 1e-9, 63, 0, 0, 90, 105, 0, 138, 210, 147, 15, 0, 0, -24, 18,
           0, 6, -30, 30);
}

/* Of [2, 3] and of the same turned, which has the same derivative turned. */
static void expect_gradient(bool full, const double *expected)
{
    const hr_node x = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3), 1, 2, 0, 0, 1, 3);
    for (int turned = 0; turned < 2; turned++) {
        const hr_node in = turned ? hr_matrix_transpose(x) : x, s = hr_svd(in, .full_matrices = full);
        const hr_node loss = hr_add(hr_reduce_sum(hr_square(s)), hr_add(fourth(output(s, 1)), fourth(output(s, 2))));
        const hr_node by = derivative(loss, in);
        EXPECT(s, 1e-12, 3.27132421485802, 2.07326744084876);
        expect_values(turned ? hr_matrix_transpose(by) : by, expected, 6, 1e-10, "a derivative of Svd");
    }
}

static void singular_vectors_compose_the_matrix(void **state)
{
    (void)state;
    const double numbers[] = {1, 2, 0, 0, 1, 3, 2, -1, 1, 0, 4, -2};
    const hr_node x = constant_of(HR_DOUBLE, HR_SHAPE(2, 2, 3), numbers), s = hr_svd(x);
    const hr_node full = hr_svd(x, .full_matrices = true), v = output(full, 2);
    expect_values(product(product(output(s, 1), hr_matrix_diag(s), false), output(s, 2), true), numbers, 12, 1e-12,
                  "u diag(s) v'");
    EXPECT(product(v, v, true), 1e-12, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1);
    expect_gradient(false, (const double[]){1.48429390369314, 3.08981125108647, -0.995175166617148, -0.411488991174625,
                                            1.23349712730239, 7.03419548894385});
    expect_gradient(true, (const double[]){1.07301750030693, 3.29544945277957, -1.06372123384818, -0.302012538474699,
                                           1.17875890095243, 7.05244156439384});
    const hr_node one = CONSTANT(HR_DOUBLE, HR_SHAPE(2, 3), 1, 2, 0, 0, 1, 3),
                  values = hr_svd(one, .values_only = true);
    EXPECT(derivative(hr_mul(values, hr_square(values)), one), 1e-10, 6.61359973341153, 14.349829666942,
           3.36789060035675, 1.12263020011892, 11.6654356339467, 28.2605257011265);
}

static void complex_matrices_have_real_values(void **state)
{
    (void)state;
    const hr_tensor h = hr_tensor_of(HR_COMPLEX128, HR_SHAPE(2, 2), (const double[]){4, 0, 1, 2, 1, -2, 6, 0});
    const hr_tensor m = hr_tensor_of(HR_COMPLEX128, HR_SHAPE(2, 2), (const double[]){4, 1, 1, 3, 1, -1, 6, 1});
    const hr_node e = hr_self_adjoint_eig(hr_const(g, &h)), s = hr_svd(hr_const(g, &m));
    EXPECT(e, 1e-8, 2.55051026, 0, 7.44948974, 0);
    EXPECT(s, 1e-7, 7.66604184, 0, 2.6892011, 0);
    EXPECT(product(product(output(e, 1), hr_matrix_diag(e), false), output(e, 1), true), 1e-12, 4, 0, 1, 2, 1, -2, 6,
           0);
    EXPECT(product(product(output(s, 1), hr_matrix_diag(s), false), output(s, 2), true), 1e-12, 4, 1, 1, 3, 1, -1, 6,
           1);
}

static void what_is_not_finite_or_empty_is_told(void **state)
{
    (void)state;
    const hr_tensor none = hr_tensor_of(HR_DOUBLE, HR_SHAPE(0, 3), NULL);
    const hr_node empty = hr_svd(hr_const(g, &none), .full_matrices = true);
    expect_shape(empty, HR_SHAPE(0));
    EXPECT(output(empty, 2), 0, 1, 0, 0, 0, 1, 0, 0, 0, 1);
    EXPECT(hr_svd(CONSTANT(HR_FLOAT, HR_SHAPE(1, 2), NAN, 1)), 0, NAN);
    expect_shape(output(hr_svd(CONSTANT(HR_FLOAT, HR_SHAPE(1, 2), 1, 1), .values_only = true), 1), HR_SHAPE(0));
    expect_failure(hr_self_adjoint_eig(CONSTANT(HR_FLOAT, HR_SHAPE(1, 1), INFINITY)), "linalg.matrix");
}

static void gradients_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    const hr_node x = CONSTANT(HR_DOUBLE, HR_SHAPE(1, 3), 1, 2, 3);
    (void)derivative(hr_svd(x, .full_matrices = true), x);
    assert_string_equal(hr_graph_error(g)->kind, "graph.gradient");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(eigenvectors_compose_the_matrix),         GRAPH_TEST(singular_vectors_compose_the_matrix),
        GRAPH_TEST(complex_matrices_have_real_values),       GRAPH_TEST(what_is_not_finite_or_empty_is_told),
        GRAPH_TEST(gradients_that_do_not_exist_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
