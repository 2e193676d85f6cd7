/* Integers bit by bit, functions of statistics, complex numbers, places in rows: values as TensorFlow 2.15.1 computes them. */
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <math.h>

static hr_graph *g;
static hr_session *s;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    s = hr_session_new(g, .workers = &(int){0});
    return g && s ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

static hr_node of(hr_dtype dtype, const double *values, int64_t count)
{
    const hr_tensor t = hr_tensor_of(HR_DOUBLE, HR_SHAPE(count), values);
    return hr_cast_to(hr_const(g, &t), dtype);
}
#define COUNT(...) (sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
#define OF(dtype, ...) of(dtype, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define X(...) OF(HR_DOUBLE, __VA_ARGS__)

/* The node has these values but for rounding; NaN is NaN, and the sign of 0 counts. */
static void gives(hr_node node, const double *expected, size_t count)
{
    hr_error err;
    hr_tensor out;
    const hr_node cast = hr_cast_to(node, HR_DOUBLE);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_ok(hr_session_run(s, NULL, 0, &cast, 1, &out, &err), &err);
    assert_int_equal(out.count, count);
    const double *got = out.data;
    for (size_t i = 0; i < count; i++) {
        const bool same = isnan(expected[i]) ? isnan(got[i])
                          : isinf(expected[i]) || expected[i] == 0
                              ? got[i] == expected[i] && !signbit(got[i]) == !signbit(expected[i])
                              : fabs(got[i] - expected[i]) <= 1e-11 * fabs(expected[i]);
        if (!same) fail_msg("%s: expected %.17g as value %zu, found %.17g", hr_node_name(node), expected[i], i, got[i]);
    }
    hr_tensor_clear(&out);
}
#define GIVES(node, ...) gives(node, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

static void refuses(hr_node node, hr_status code, const char *kind)
{
    hr_error err;
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_int_equal(hr_session_run(s, NULL, 0, &node, 1, &out, &err), code);
    assert_string_equal(err.kind, kind);
}

static void bits_are_combined_and_shifted(void **state)
{
    (void)state;
    const hr_node bytes = OF(HR_INT8, 1, -1, 3, 1, 64, -128), by = OF(HR_INT8, 3, 1, -2, 9, 1, 1);
    GIVES(hr_left_shift(bytes, by), 8, -2, 3, -128, -128, 0);
    GIVES(hr_right_shift(OF(HR_INT8, 8, -1, 3, -100, 64, -128), OF(HR_INT8, 3, 1, -2, 9, 1, 7)), 1, -1, 3, -1, 32, -1);
    GIVES(hr_left_shift(OF(HR_INT32, 1, -5), OF(HR_INT32, -1, 40)), 1, -2147483648.);
    GIVES(hr_right_shift(OF(HR_UINT8, 255), OF(HR_UINT8, 200)), 1);
    GIVES(hr_population_count(OF(HR_INT8, -1, 0, 7)), 8, 0, 3);
    GIVES(hr_population_count(OF(HR_INT16, -1, 5)), 16, 2);
    GIVES(hr_population_count(OF(HR_INT64, -1, 5)), 64, 2);
    assert_int_equal(hr_node_dtype(hr_population_count(bytes)), HR_UINT8);
    const hr_node x = OF(HR_INT32, 12, -1, 0), six = OF(HR_INT32, 6);
    GIVES(hr_bitwise_and(x, six), 4, 6, 0);
    GIVES(hr_bitwise_or(x, six), 14, -1, 6);
    GIVES(hr_bitwise_xor(x, six), 10, -7, 6);
    GIVES(hr_invert(x), -13, 0, -1);
    GIVES(hr_invert(OF(HR_UINT8, 0, 255)), 255, 0);
}

static void functions_of_statistics_are_tensorflows(void **state)
{
    (void)state;
    const hr_node x = X(.5, 1.5, 3.25, 12, 0, -0., -1, -1.5, -2.25, 1e-3, 100, INFINITY, -INFINITY, NAN);
    GIVES(hr_lgamma(x), 0.5723649429247001, -0.12078223763524522, 0.9358019311087253, 17.502307845873887, INFINITY,
          INFINITY, INFINITY, 0.8600470153764809, 0.5555015450206474, 6.907178885383853, 359.13420536957545, INFINITY,
          INFINITY, NAN);
    GIVES(hr_digamma(x), -1.9635100260214227, 0.03648997397857645, 1.0169909110681792, 2.4426616799758123, NAN, NAN,
          NAN, 0.7031566406452434, 4.158583564657973, -1000.5755719318104, 4.600161852738088, INFINITY, NAN, NAN);
    GIVES(hr_erfc(x), 0.4795001221869535, 0.033894853524689274, 4.302779463675122e-06, 1.3562611692059042e-64, 1, 1,
          1.842700792949715, 1.9661051464753108, 1.9985372834133188, 0.9988716212090307, 0, 0, 2, NAN);
    GIVES(hr_erfinv(X(0, 1, -1, .5, -.25, .999, 1.5, -.99999, NAN)), 0, INFINITY, -INFINITY, 0.4769362762044699,
          -0.2253120550121781, 2.3267537655135464, NAN, -3.123413274341571, NAN);
    GIVES(hr_ndtri(X(0, 1, .5, .25, .975, 1e-10, -1, 2, NAN)), -INFINITY, INFINITY, 0, -0.6744897501960817,
          1.959963984540054, -6.361340902404056, NAN, NAN, NAN);
    GIVES(hr_zeta(X(2, 2, 3.5, 1, .5, 2, 3, 2, 2.5, NAN, 10, 2),
                  X(1, .5, 2.25, 1, 1, 0, -1, -1.5, -1.5, 1, 30, INFINITY)),
          1.6449340668482266, 4.93480220054468, 0.08901224249238883, INFINITY, NAN, INFINITY, NAN, 9.379246644989124,
          NAN, NAN, 6.538711129142547e-15, 0);
    GIVES(hr_zeta(X(2, 3, 4), X(-100.3, -20.7, -1000.5)), 15.069493149244012, 34.41988373479532, 32.469697011001806);
    GIVES(hr_polygamma(X(0, 1, 2, 3, 1.5, -1, 1, 0, 1, 5, 1), X(1.5, 1.5, .5, 2.25, 1, 1, 0, -.5, -.5, 10, NAN)),
          0.03648997397857645, 0.9348022005446793, -16.828796644234316, 0.3245440091883961, NAN, NAN, INFINITY,
          0.03648997397857645, 8.934802200544679, 0.00030594516211726814, NAN);
}

static void incomplete_functions_are_tensorflows(void **state)
{
    (void)state;
    const hr_node a = X(1, 2.5, .5, 3, 10, 10, 0, 1, 1, -1, 1, NAN, 100),
                  x = X(.5, 1, 4, 0, 12, 3, 1, -1, INFINITY, 1, NAN, 1, 110);
    GIVES(hr_igamma(a, x), 0.3934693402873665, 0.15085496391539036, 0.9953222650189527, 0, 0.757607838329488,
          0.0011024881301154796, NAN, NAN, 1, NAN, NAN, NAN, 0.8417213299399123);
    GIVES(hr_igammac(a, x), 0.6065306597126334, 0.8491450360846097, 0.004677734981047276, 1, 0.24239216167051197,
          0.9988975118698845, NAN, NAN, 0, NAN, NAN, NAN, 0.15827867006008764);
    GIVES(hr_new_node(g, "IgammaGradA",
                      HR_INPUTS(X(1, 2.5, .5, 3, 10, 10, 0, -1, 100), X(.5, 1, 4, 0, 12, 3, 1, 1, 110))),
          -0.4894575761023785, -0.18009960695404154, -0.016565975346630398, 0, -0.09717797203717947,
          -0.0014156364605752093, NAN, NAN, -0.023808656854890364);
    GIVES(hr_betainc(X(1, 2.5, .5, 3, 10, 1, 1, 0, 1, 1, 1, NAN, 50), X(1, 1.5, .5, 2, 20, 1, 1, 1, 0, 1, 1, 1, 60),
                     X(.5, .25, .75, .9, .3, 0, 1, .5, .5, -1, 2, .5, .45)),
          0.5, 0.05766888562243731, 0.6666666666666665, 0.9477, 0.36400408107194626, 0, 1, NAN, NAN, NAN, NAN, NAN,
          0.4642352914306535);
}

static void quotients_are_rounded_to_zero(void **state)
{
    (void)state;
    const hr_node zero = OF(HR_INT32, 0), one = OF(HR_INT32, 1);
    GIVES(hr_truncate_div(X(7, -7, 1, -.5, 0), X(2, 2, 0, 1, -1)), 3, -3, INFINITY, -0., -0.);
    GIVES(hr_truncate_div(OF(HR_INT32, 7, -7, 7, -2147483648.), OF(HR_INT32, 2, 2, -2, -1)), 3, -3, -3, -2147483648.);
    GIVES(hr_new_node(g, "Mod", HR_INPUTS(X(7, -7, 5.5, 1), X(3, 3, -2, 0))), 1, -1, 1.5, NAN);
    GIVES(hr_next_after(X(1, 0, -1, NAN, 5), X(2, 1, -2, 1, 5)), 1.0000000000000002, 5e-324, -1.0000000000000002, NAN,
          5);
    GIVES(hr_xlog1py(X(0, 0, 2, 1.5, -1, NAN, 0), X(-1, NAN, .5, -1, 1e-10, 1, INFINITY)), 0, 0, 0.8109302162163288,
          -INFINITY, -9.999999999500001e-11, NAN, 0);
    GIVES(hr_new_node(g, "ApproximateEqual", HR_INPUTS(X(1, 2, NAN, INFINITY), X(1.000001, 2.5, NAN, INFINITY))), 1, 0,
          0, 0);
    refuses(hr_truncate_div(one, zero), HR_INTERNAL, "graph.division");
    refuses(hr_new_node(g, "Mod", HR_INPUTS(one, zero)), HR_INVALID_ARGUMENT, "graph.division");
    hr_new_node(g, "ApproximateEqual", HR_INPUTS(X(1, 2), X(1)));
    assert_non_null(hr_graph_error(g));
    assert_string_equal(hr_graph_error(g)->kind, "graph.shape");
}

static void complex_numbers_have_parts(void **state)
{
    (void)state;
    const hr_node c = hr_complex(X(3, -1, 0, -1, INFINITY, NAN), X(-4, 0, 0, -0., NAN, 1));
    GIVES(hr_angle(c), -0.9272952180016122, 3.141592653589793, 0, -3.141592653589793, NAN, NAN);
    GIVES(hr_abs(c), 5, 1, 0, 1, INFINITY, NAN);
    GIVES(hr_real(c), 3, -1, 0, -1, INFINITY, NAN);
    GIVES(hr_imag(hr_conj(c)), 4, -0., -0., 0, NAN, -1);
    GIVES(hr_imag(hr_complex(OF(HR_FLOAT, 1, 2), OF(HR_FLOAT, 3))), 3, 3);
    const hr_node two = X(1, 2);
    assert_int_equal(hr_node_dtype(hr_conj(two)), HR_DOUBLE);
    GIVES(hr_real(two), 1, 2);
    GIVES(hr_imag(two), 0, 0);
    const hr_node y = hr_xlog1py(hr_complex(X(1, 0), X(2, 0)), hr_complex(X(.5, NAN), X(-1, 0)));
    GIVES(hr_real(y), 1.765332705265958, 0);
    refuses(hr_new_node(g, "Real", HR_INPUTS(c), HR_ATTRS(HR_TYPE_ATTR("Tout", HR_FLOAT))), HR_UNIMPLEMENTED,
            "graph.kernel");
}

/* By the second input alone, as TensorFlow. */
static void the_gradient_of_polygamma_is_the_next_one(void **state)
{
    (void)state;
    hr_gradient by[2];
    const hr_node n = X(2), x = X(1.5), y = hr_polygamma(n, x), both[] = {n, x};
    hr_gradients(&y, 1, both, 2, by);
    assert_false(hr_node_exists(by[0].values));
    GIVES(by[1].values, 1.4090910340024367);
}

static hr_node matrix(hr_node x, int64_t rows) { return hr_reshape(x, hr_ints(g, HR_I64(rows, -1), 2)); }

static void values_are_searched_in_rows(void **state)
{
    (void)state;
    const hr_node rows = matrix(X(1, 2, 2, 5, 0, 1, 1, NAN), 2), values = matrix(X(2, 9, 0, 1, NAN, -1), 2);
    GIVES(hr_new_node(g, "LowerBound", HR_INPUTS(rows, values)), 1, 4, 0, 1, 0, 0);
    GIVES(hr_new_node(g, "UpperBound", HR_INPUTS(rows, values)), 3, 4, 0, 4, 4, 0);
    hr_new_node(g, "LowerBound", HR_INPUTS(rows, matrix(X(1), 1)));
    assert_string_equal(hr_graph_error(g)->kind, "graph.shape");
}

static void an_index_has_coordinates(void **state)
{
    (void)state;
    const hr_node dims = OF(HR_INT32, 7, 6);
    GIVES(hr_new_node(g, "UnravelIndex", HR_INPUTS(OF(HR_INT32, 22, 0, 41), dims)), 3, 0, 6, 4, 0, 5);
    GIVES(hr_new_node(g, "UnravelIndex", HR_INPUTS(hr_scalar(g, HR_INT32, 5), OF(HR_INT32, 2, 3))), 1, 2);
    GIVES(hr_new_node(g, "UnravelIndex", HR_INPUTS(OF(HR_INT32, -1), dims)), 0, -1);
    refuses(hr_new_node(g, "UnravelIndex", HR_INPUTS(OF(HR_INT32, 42), dims)), HR_INVALID_ARGUMENT, "graph.range");
    refuses(hr_new_node(g, "UnravelIndex", HR_INPUTS(OF(HR_INT32, 1), OF(HR_INT32, 0, 3))), HR_INVALID_ARGUMENT,
            "graph.range");
}

static hr_node steps(double count)
{
    return hr_new_node(
        g, "LinSpace",
        HR_INPUTS(hr_scalar(g, HR_DOUBLE, 1), hr_scalar(g, HR_DOUBLE, 2), hr_scalar(g, HR_INT64, count)));
}

static void steps_are_even_and_end_exactly(void **state)
{
    (void)state;
    GIVES(steps(4), 1, 4. / 3, 5. / 3, 2);
    GIVES(steps(1), 1);
    refuses(steps(0), HR_INVALID_ARGUMENT, "graph.range");
    refuses(steps(1e18), HR_INVALID_ARGUMENT, "graph.shape");
}

static void axes_are_reversed_by_flags(void **state)
{
    (void)state;
    const hr_node x = matrix(X(1, 2, 3, 4), 2);
    GIVES(hr_new_node(g, "Reverse", HR_INPUTS(x, hr_cast_to(X(0, 1), HR_BOOL))), 2, 1, 4, 3);
    const bool yes = true;
    const hr_tensor one = hr_tensor_of(HR_BOOL, HR_SHAPE(1), &yes);
    hr_new_node(g, "Reverse", HR_INPUTS(x, hr_const(g, &one)));
    assert_string_equal(hr_graph_error(g)->kind, "graph.shape");
}

static void a_shape_is_ensured(void **state)
{
    (void)state;
    const hr_node x = X(1, 2);
    GIVES(hr_new_node(g, "EnsureShape", HR_INPUTS(x), HR_ATTRS(HR_SHAPE_ATTR("shape", HR_SHAPE(-1)))), 1, 2);
    GIVES(hr_new_node(g, "Snapshot", HR_INPUTS(x)), 1, 2);
    hr_new_node(g, "EnsureShape", HR_INPUTS(x), HR_ATTRS(HR_SHAPE_ATTR("shape", HR_SHAPE(3))));
    assert_string_equal(hr_graph_error(g)->kind, "graph.shape");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_graph, free_graph)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bits_are_combined_and_shifted),        TEST(functions_of_statistics_are_tensorflows),
        TEST(incomplete_functions_are_tensorflows), TEST(quotients_are_rounded_to_zero),
        TEST(complex_numbers_have_parts),           TEST(the_gradient_of_polygamma_is_the_next_one),
        TEST(values_are_searched_in_rows),          TEST(an_index_has_coordinates),
        TEST(steps_are_even_and_end_exactly),       TEST(a_shape_is_ensured),
        TEST(axes_are_reversed_by_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
