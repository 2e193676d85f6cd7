/* Gradients of complex numbers are TensorFlow 2.15.1's, and so are second ones; what has none says so. */
#include "tests/testing.h"
#include "train/eager/eager.h"
#include "train/graph/control_flow.h"
#include "train/ops/linalg/linalg.h"
#include "train/ops/ops.h"

#include <math.h>
#include <string.h>

enum { COUNT = 4, NUMBERS = 2 * COUNT };
static const double of_x[NUMBERS] = {0.5, 1.5, -1.25, 0.25, 0.75, -0.5, 2, -1};
static const double of_y[NUMBERS] = {1, 0.5, -0.5, 2, 1.5, -1, -0.25, -0.75};
static const double of_g[NUMBERS] = {1, 2, -0.5, 1, 0.25, -1.5, 2, 0.75};

static hr_node made(hr_graph *g, const double *numbers)
{
    const hr_tensor value = hr_tensor_of(HR_COMPLEX128, HR_SHAPE(2, 2), (void *)numbers);
    return hr_const(g, &value);
}

/* ---- functions of x and y ---- */

typedef hr_node function(hr_node x, hr_node y);

static hr_node from_real(hr_node x) { return hr_complex(x, hr_zeros_like(x)); }
static hr_node batches_of(hr_node x, hr_node y, bool adjoint)
{
    return hr_new_node(x.graph, "BatchMatMulV2", HR_INPUTS(x, y),
                       HR_ATTRS(HR_BOOL_ATTR("adj_x", true), HR_BOOL_ATTR("adj_y", adjoint)));
}

static hr_node add(hr_node x, hr_node y) { return hr_add(x, y); }
static hr_node sub(hr_node x, hr_node y) { return hr_sub(x, y); }
static hr_node mul(hr_node x, hr_node y) { return hr_mul(x, y); }
static hr_node divide(hr_node x, hr_node y) { return hr_div(x, y); }
static hr_node turned_over(hr_node x, hr_node y) { return hr_mul(hr_conj(x), y); }
static hr_node real(hr_node x, hr_node y) { return from_real(hr_real(hr_mul(x, y))); }
static hr_node imag(hr_node x, hr_node y) { return from_real(hr_imag(hr_mul(x, y))); }
static hr_node size(hr_node x, hr_node y) { return from_real(hr_abs(hr_mul(x, y))); }
static hr_node angle(hr_node x, hr_node y) { return hr_mul(from_real(hr_angle(x)), y); }
static hr_node joined(hr_node x, hr_node y) { return hr_complex(hr_imag(x), hr_real(y)); }
static hr_node cast(hr_node x, hr_node y) { return hr_mul(hr_cast_to(hr_cast_to(x, HR_DOUBLE), HR_COMPLEX128), y); }
static hr_node product(hr_node x, hr_node y) { return hr_matmul(x, y); }
static hr_node turned(hr_node x, hr_node y) { return hr_matmul(x, y, .transpose_a = true); }
static hr_node batches(hr_node x, hr_node y) { return batches_of(x, y, false); }
static hr_node batches_both(hr_node x, hr_node y) { return batches_of(x, y, true); }
static hr_node sum(hr_node x, hr_node y)
{
    return hr_mul(hr_reduce_sum(hr_mul(x, y), .axes = HR_I64(0), .axis_count = 1, .keep_dims = true), x);
}
static hr_node mean(hr_node x, hr_node y)
{
    return hr_mul(hr_reduce_mean(x, .axes = HR_I64(1), .axis_count = 1, .keep_dims = true), y);
}
static hr_node prod(hr_node x, hr_node y)
{
    return hr_mul(hr_reduce_prod(x, .axes = HR_I64(1), .axis_count = 1, .keep_dims = true), y);
}
static hr_node power(hr_node x, hr_node y) { return hr_pow(x, y); }
static hr_node squared_difference(hr_node x, hr_node y) { return hr_squared_difference(x, y); }
static hr_node moved(hr_node x, hr_node y)
{
    const hr_node shape = hr_shape_const(x.graph, HR_SHAPE(2, 2));
    return hr_transpose(hr_reshape(hr_mul(hr_identity(x), y), shape), hr_ints(x.graph, (const int64_t[]){1, 0}, 2));
}
static hr_node taken(hr_node x, hr_node y)
{
    return hr_mul(hr_gather(x, hr_ints(x.graph, (const int64_t[]){1, 1}, 2), 0), y);
}

/* A branch is a call, whose gradient is that of a function. */
static void branch(hr_graph *g, hr_node *results, void *user)
{
    const hr_node *both = user;
    (void)g;
    results[0] = hr_mul(both[0], both[1]);
}

static hr_node branched(hr_node x, hr_node y)
{
    hr_node out, both[] = {x, y};
    const hr_node one = hr_scalar(x.graph, HR_FLOAT, 1);
    hr_cond(hr_less(hr_scalar(x.graph, HR_FLOAT, 0), one), branch, branch, both, &out, 1);
    return out;
}

#define OF_X(NAME, F)                                                                                                  \
    static hr_node NAME(hr_node x, hr_node y)                                                                          \
    {                                                                                                                  \
        (void)y;                                                                                                       \
        return F(x);                                                                                                   \
    }
OF_X(neg, hr_neg)
OF_X(exponential, hr_exp)
OF_X(logarithm, hr_log)
OF_X(square, hr_square)
OF_X(root, hr_sqrt)
OF_X(rsqrt, hr_rsqrt)
OF_X(reciprocal, hr_reciprocal)
OF_X(sigmoid, hr_sigmoid)
OF_X(tanh_of, hr_tanh)
OF_X(sine, hr_sin)

/* ---- the tests ---- */

typedef struct expected {
    const char *name;
    function *of;
    double by[2 * NUMBERS]; /* by x, by y: real and imaginary parts */
} expected;

static void assert_derived(const hr_tensor *got, const expected *e, int i)
{
    assert_int_equal(got->dtype, HR_COMPLEX128);
    assert_int_equal(got->count, COUNT);
    for (int j = 0; j < NUMBERS; j++) {
        const double wanted = e->by[i * NUMBERS + j], found = ((const double *)got->data)[j];
        if (!(fabs(wanted - found) <= 1e-9 * (1 + fabs(wanted))))
            fail_msg("%s by %c, number %d: expected %.12g, got %.12g", e->name, i ? 'y' : 'x', j, wanted, found);
    }
}

/* The gradients of of(x, y); `twice`: of that by x. */
static void assert_gradients(const expected *e, bool twice)
{
    hr_error err;
    hr_tensor out[2];
    hr_gradient by[2];
    hr_graph *g = hr_graph_new();
    const hr_node xs[] = {made(g, of_x), made(g, of_y)}, flow = made(g, of_g);
    hr_node z = e->of(xs[0], xs[1]);
    if (twice) {
        hr_gradients(&z, 1, xs, 1, by, .grad_ys = &flow);
        z = hr_gradient_dense(by[0]);
    }
    hr_gradients(&z, 1, xs, 2, by, .grad_ys = &flow, .zero_unconnected = true);
    const hr_node fetches[] = {hr_gradient_dense(by[0]), hr_gradient_dense(by[1])};
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, fetches, 2, out, &err), &err);
    for (int i = 0; i < 2; i++) {
        assert_derived(&out[i], e, i);
        hr_tensor_clear(&out[i]);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static const expected first[] = {
    {"add", add, {1, 2, -0.5, 1, 0.25, -1.5, 2, 0.75, 1, 2, -0.5, 1, 0.25, -1.5, 2, 0.75}},
    {"sub", sub, {1, 2, -0.5, 1, 0.25, -1.5, 2, 0.75, -1, -2, 0.5, -1, -0.25, 1.5, -2, -0.75}},
    {"mul", mul, {2, 1.5, 2.25, 0.5, 1.875, -2, -1.0625, 1.3125, 3.5, -0.5, 0.875, -1.125, 0.9375, -1, 3.25, 3.5}},
    {"branched",
     branched,
     {2, 1.5, 2.25, 0.5, 1.875, -2, -1.0625, 1.3125, 3.5, -0.5, 0.875, -1.125, 0.9375, -1, 3.25, 3.5}},
    {"divide",
     divide,
     {0, 2, -0.411764705882, -0.352941176471, -0.346153846154, -0.769230769231, 0.1, -2.7, -2, -2, 0.306228373702,
      -0.136678200692, 0.173076923077, 0.384615384615, 7.52, 1.36}},
    {"neg", neg, {-1, -2, 0.5, -1, -0.25, 1.5, -2, -0.75, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"turned_over",
     turned_over,
     {2, -1.5, 2.25, -0.5, 1.875, 2, -1.0625, -1.3125, -2.5, 2.5, 0.375, -1.375, -0.5625, -1.25, 4.75, -0.5}},
    {"real", real, {1, -0.5, 0.25, 1, 0.375, 0.25, -0.5, 1.5, 0.5, -1.5, 0.625, 0.125, 0.1875, 0.125, 4, 2}},
    {"imag", imag, {0.5, 1, -1, 0.25, -0.25, 0.375, -1.5, -0.5, 1.5, 0.5, -0.125, 0.625, -0.125, 0.1875, -2, 4}},
    {"size",
     size,
     {0.353553390593, 1.06066017178, 1.01075942508, -0.202151885016, 0.375, -0.25, 1.41421356237, -0.707106781187,
      1.41421356237, 0.707106781187, 0.1545867356, -0.618346942401, 0.1875, -0.125, -1.41421356237, -4.24264068712}},
    {"angle",
     angle,
     {-1.2, 0.4, -0.346153846154, -1.73076923077, 1.15384615385, 1.73076923077, -0.2125, -0.425, 1.2490457724,
      2.4980915448, -1.47209854687, 2.94419709374, -0.147000650887, 0.882003905321, -0.927295218002, -0.347735706751}},
    {"joined", joined, {0, 1, 0, -0.5, 0, 0.25, 0, 2, 2, 0, 1, 0, -1.5, 0, 0.75, 0}},
    {"cast", cast, {2, 0, 2.25, 0, 1.875, 0, -1.0625, 0, 0.5, 1, 0.625, -1.25, 0.1875, -1.125, 4, 1.5}},
    {"product",
     product,
     {4.25, 2, -1.125, 3.375, 0, -6, 0.8125, -0.6875, 4.4375, -1.5, 2.375, 2.8125, 1.25, -5.5, 4.125, 2.375}},
    {"turned",
     turned,
     {4.25, 2, 0, -6, -1.125, 3.375, 0.8125, -0.6875, 2.8125, 1.3125, -1.0625, -0.1875, 1.75, -0.75, 2.375, 4}},
    {"batches",
     batches,
     {4.25, -2, 0, 6, -1.125, -3.375, 0.8125, 0.6875, -2.4375, 4.4375, -4.4375, -0.6875, 0.75, -2.25, 4.875, 0.5}},
    {"batches_both",
     batches_both,
     {0.25, -4.5, 4.75, 2.25, -3.625, -1.125, 2.9375, 0.4375, -2.4375, -4.4375, 0.75, 2.25, -4.4375, 0.6875, 4.875,
      -0.5}},
    {"sum",
     sum,
     {4.5625, -3.21875, -0.625, -12.5, 7.875, 1.5625, -7.96875, 9.40625, -0.03125, -7.40625, -4.5625, -4, 4.078125,
      1.09375, 5.875, 8.875}},
    {"mean",
     mean,
     {2.125, 1, 2.125, 1, 0.40625, -0.34375, 0.40625, -0.34375, 1.375, -1.625, 1.0625, 0.0625, 1.46875, -1.875, 2.1875,
      2.53125}},
    {"prod",
     prod,
     {-4.8125, -3.5625, 5.125, -5.375, 2.3125, -0.5625, 0.953125, -0.109375, -4.5, -0.25, -1.25, -1.875, 2.875, -1.0625,
      0.6875, 4.25}},
    {"exponential",
     exponential,
     {3.40580833268, -1.41133934379, -0.0679166071901, 0.313039267102, 1.98687638431, -2.53302747885, 3.32139086261,
      15.4295956611, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"logarithm",
     logarithm,
     {-1, 1, 0.230769230769, -0.846153846154, -0.692307692308, -1.53846153846, 0.95, -0.1, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"square", square, {7, -1, 1.75, -2.25, 1.875, -2, 6.5, 7, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"root",
     root,
     {-0.142424392297, 0.877658650912, -0.462513500676, -0.176710018435, -0.102907225677, -0.794217983169,
      0.708467715343, 0.0904240216069, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"rsqrt",
     rsqrt,
     {0.555080069007, -0.0900770948045, -0.382965772587, -0.0647748602304, 0.583740813344, 0.669796768662,
      -0.301471890459, 0.105523934426, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"reciprocal",
     reciprocal,
     {0.8, 0.4, 0.0473372781065, -0.686390532544, 1.58579881657, 0.994082840237, -0.36, 0.23, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"sigmoid",
     sigmoid,
     {0.0139913360779, 0.932862667072, -0.0623769784269, 0.185432412094, -0.00607276603262, -0.349971378531,
      0.225653629408, -0.103429101251, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"tanh_of",
     tanh_of,
     {-5.61823358368, -5.81505872782, -0.0118104443279, 0.318769701853, -0.506666442709, -0.921259686284,
      -0.00585599225427, -0.158749242322, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"sine",
     sine,
     {0.0227717575653, 5.14969826312, 0.077111395681, 0.445090216915, -0.326530295087, -1.32640673996, -0.482840683394,
      -2.6188259363, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"power",
     power,
     {1.22545889771, 0.539087171344, -0.00236855624732, -0.00375340608552, 1.17030570896, -0.848748832684,
      -0.282493405889, 0.332340559043, -0.0488910985911, -2.5184568335, 0.000310376879502, 0.00810147675651,
      0.188782878187, 0.388129819027, 0.229530713911, 1.12255211427}},
    {"squared_difference",
     squared_difference,
     {-5, 0, 4.25, 0.25, 1.125, 2.5, 9.375, 2.375, 5, 0, -4.25, -0.25, -1.125, -2.5, -9.375, -2.375}},
    {"moved",
     moved,
     {2, 1.5, -3.125, 0.25, -1.75, 1, -1.0625, 1.3125, 3.5, -0.5, -0.6875, 1.8125, -0.875, 0.5, 3.25, 3.5}},
    {"taken", taken, {0, 0, 0, 0, 3.875, -0.5, 1.1875, 1.8125, -0.25, 2, -2, 1.5, 0.9375, -1, 3.25, 3.5}},
};

static void gradients_are_those_of_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) assert_gradients(&first[i], false);
}

static void second_gradients_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const expected second[] = {
        {"mul", mul, {0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1.25, 0, 2.3125, 0, 4.5625, 0}},
        {"size",
         size,
         {0.212132034356, -0.0707106781187, -0.139951305011, -0.699756525054, -0.307692307692, -0.461538461538,
          0.494974746831, 0.989949493661, 1.97989898732, 0.989949493661, 0.083239011477, -0.332956045908,
          0.216346153846, -0.144230769231, -0.919238815543, -2.75771644663}},
        {"root",
         root,
         {0.187462939699, -0.600118616409, 0.0633540130315, 0.207676601351, -0.429379974829, 0.521530206091,
          -0.261900415049, 0.218575893348, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"rsqrt",
         rsqrt,
         {-1.19269127336, 0.0226378783875, 0.242052307619, 0.450013381719, 0.226227242127, -2.23693898578,
          0.18313496205, -0.419431321047, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"reciprocal",
         reciprocal,
         {-2.08, -1.44, -1.00136549841, 0.673645880746, -1.21256258534, -6.19754210287, 0.146, -0.803, 0, 0, 0, 0, 0, 0,
          0, 0}},
        {"sigmoid",
         sigmoid,
         {-1.57057963975, 1.17116353055, 0.12407191977, 0.00174704007948, -0.219469458456, -0.0789555890312,
          -0.388602657664, 0.24394409096, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"tanh_of",
         tanh_of,
         {70.5320261978, -31.8406145374, 0.58063845031, -0.210331338833, -2.42405151824, 0.727637500298, 0.244243040126,
          0.644320606746, 0, 0, 0, 0, 0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof second / sizeof *second; i++) assert_gradients(&second[i], true);
}

static void tapes_give_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        hr_error err;
        hr_gradient by[2];
        hr_graph *g = hr_eager_new();
        const hr_node xs[] = {made(g, of_x), made(g, of_y)}, flow = made(g, of_g);
        hr_tape *tape = hr_tape_begin(g);
        hr_tape_watch(tape, xs[0]);
        hr_tape_watch(tape, xs[1]);
        const hr_node z = first[i].of(xs[0], xs[1]);
        assert_ok(hr_tape_gradient(tape, &z, 1, xs, 2, by, &err, .grad_ys = &flow, .zeros = true), &err);
        for (int j = 0; j < 2; j++) assert_derived(hr_eager_tensor(hr_gradient_dense(by[j])), &first[i], j);
        hr_tape_free(tape);
        hr_graph_free(g);
    }
}

static void what_has_no_gradient_says_so(void **state)
{
    (void)state;
    hr_gradient by;
    hr_graph *g = hr_graph_new();
    const hr_node x = made(g, of_x), flow = made(g, of_g), inverse = hr_matrix_inverse(x);
    hr_gradients(&inverse, 1, &x, 1, &by, .grad_ys = &flow);
    assert_string_equal(hr_graph_error(g)->kind, "graph.gradient");
    hr_graph_free(g);
    g = hr_graph_new();
    const hr_node z = made(g, of_x), square = hr_square(z);
    hr_gradients(&square, 1, &z, 1, &by); /* ones are no direction */
    assert_string_equal(hr_graph_error(g)->kind, "graph.gradient");
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_tensorflow),
        cmocka_unit_test(second_gradients_are_those_of_tensorflow),
        cmocka_unit_test(tapes_give_the_same),
        cmocka_unit_test(what_has_no_gradient_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
