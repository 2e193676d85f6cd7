/* What ops give that no golden case calls by its constructor: hand-made values, and what random ones keep to. */
#include "tests/testing.h"

#include <headrace/graph.h>
#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static hr_graph *g;
static hr_session *s;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    return g ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    s = NULL;
    return 0;
}

/* Runs the node in the graph's one session; gives the value (hr_tensor_clear). */
static hr_tensor value_of(hr_node node)
{
    hr_error err;
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    if (!s) s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    return out;
}

static hr_node table(void)
{
    static const float values[] = {3, 1, 1, -1, 5, -1};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values);
    return hr_const(g, &t);
}

static void expect_int64(hr_node node, int64_t count, const int64_t *expected)
{
    hr_tensor out = value_of(node);
    assert_int_equal(out.dtype, HR_INT64);
    assert_int_equal(out.count, count);
    assert_memory_equal(out.data, expected, (size_t)count * sizeof *expected);
    hr_tensor_clear(&out);
}

static void argmin_is_the_first_of_the_least(void **state)
{
    (void)state;
    const hr_node rows = hr_argmin(table(), 1), columns = hr_argmin(table(), 0);
    expect_int64(rows, 2, (const int64_t[]){1, 0});
    expect_int64(columns, 3, (const int64_t[]){1, 0, 1});
}

/* 0.1 is no float16; of a complex number the real part stays. */
static void halves_and_complex_numbers_are_cast(void **state)
{
    (void)state;
    static const float values[] = {0.1f, -70000, 3};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(3), values);
    const hr_node x = hr_const(g, &t);
    hr_tensor half = value_of(hr_cast_to(hr_cast_to(x, HR_HALF), HR_DOUBLE));
    hr_tensor brain = value_of(hr_cast_to(hr_cast_to(x, HR_BFLOAT16), HR_INT32));
    hr_tensor real = value_of(hr_cast_to(hr_cast_to(hr_cast_to(x, HR_COMPLEX64), HR_COMPLEX128), HR_FLOAT));
    assert_exactly(((const double *)half.data)[0], 0.0999755859375);
    assert_true(isinf(((const double *)half.data)[1]));
    assert_int_equal(((const int32_t *)brain.data)[1], -70144);
    assert_memory_equal(real.data, values, sizeof values);
    hr_tensor_clear(&half);
    hr_tensor_clear(&brain);
    hr_tensor_clear(&real);
}

/* A gradient times 0 or 1: its sign stays, and what is not finite becomes NaN. */
static void the_gradient_of_relu_is_a_product(void **state)
{
    (void)state;
    static const float gradients[] = {-1, -INFINITY, 2, 3}, outputs[] = {0, 0, 0, 1};
    const hr_tensor a = hr_tensor_of(HR_FLOAT, HR_SHAPE(4), gradients),
                    b = hr_tensor_of(HR_FLOAT, HR_SHAPE(4), outputs);
    hr_tensor out = value_of(hr_new_node(g, "ReluGrad", HR_INPUTS(hr_const(g, &a), hr_const(g, &b))));
    const float *got = out.data;
    assert_true(got[0] == 0 && signbit(got[0]));
    assert_true(isnan(got[1]));
    assert_true(got[2] == 0 && !signbit(got[2]) && got[3] == 3);
    hr_tensor_clear(&out);
}

static void many_strings_are_unpacked(void **state)
{
    (void)state;
    enum { MANY = 17 };
    hr_view words[MANY];
    for (int i = 0; i < MANY; i++) words[i] = hr_text_view("word");
    words[MANY - 1] = hr_text_view("last");
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(MANY), words);
    const hr_node all = hr_new_node(g, "Unpack", HR_INPUTS(hr_const(g, &t)), HR_ATTRS(HR_INT_ATTR("num", MANY)));
    hr_tensor out = value_of(hr_node_output(all, MANY - 1));
    assert_memory_equal(((const hr_view *)out.data)->data, "last", 4);
    hr_tensor_clear(&out);
}

static void one_hot_leaves_out_what_is_out_of_range(void **state)
{
    (void)state;
    static const int64_t ids[] = {2, -1, 0, 3};
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(4), ids);
    hr_tensor out = value_of(hr_one_hot(hr_const(g, &t), 3));
    static const float expected[4][3] = {{0, 0, 1}, {0, 0, 0}, {1, 0, 0}, {0, 0, 0}};
    assert_shape(out.shape, HR_SHAPE(4, 3));
    assert_memory_equal(out.data, expected, sizeof expected);
    hr_tensor_clear(&out);
}

static void note_message(hr_level level, const char *text, void *user)
{
    if (level == HR_INFO) snprintf(user, 64, "%s", text);
}

/* What it is given, as often as it is to; its input goes through. */
static void a_print_tells_the_log(void **state)
{
    (void)state;
    char said[64] = "";
    const hr_node x = table();
    const hr_node y = hr_new_node(
        g, "Print", HR_INPUTS(x, x),
        HR_ATTRS(HR_STRING_ATTR("message", "x is"), HR_INT_ATTR("first_n", 1), HR_INT_ATTR("summarize", 2)));
    hr_set_log(note_message, said);
    for (int run = 0; run < 2; run++) {
        hr_tensor out = value_of(y);
        assert_int_equal(out.count, 6);
        hr_tensor_clear(&out);
        assert_string_equal(said, run == 0 ? "x is [3 1...]" : "");
        said[0] = 0;
    }
    hr_set_log(NULL, NULL);
}

static void values_change_their_places(void **state)
{
    (void)state;
    const hr_node x = table(); /* 3 1 1, -1 5 -1 */
    hr_tensor rolled =
        value_of(hr_new_node(g, "Roll", HR_INPUTS(x, hr_ints(g, HR_I64(-1, 4), 2), hr_ints(g, HR_I64(0, 1), 2))));
    assert_memory_equal(rolled.data, ((const float[]){-1, -1, 5, 1, 3, 1}), 6 * sizeof(float));
    hr_tensor_clear(&rolled);
    hr_tensor back = value_of(hr_new_node(g, "ReverseSequence", HR_INPUTS(x, hr_ints(g, HR_I64(2, 3), 2)),
                                          HR_ATTRS(HR_INT_ATTR("seq_dim", 1), HR_INT_ATTR("batch_dim", 0))));
    assert_memory_equal(back.data, ((const float[]){1, 3, 1, -1, 5, -1}), 6 * sizeof(float));
    hr_tensor_clear(&back);
}

/* A NaN is like no other value, and -0 like 0. */
static void equal_values_are_found_once(void **state)
{
    (void)state;
    static const double values[] = {0, NAN, -0.0, 2, NAN, 2};
    const hr_tensor t = hr_tensor_of(HR_DOUBLE, HR_SHAPE(6), values);
    const hr_node y = hr_new_node(g, "UniqueWithCounts", HR_INPUTS(hr_const(g, &t)));
    hr_tensor index = value_of(hr_node_output(y, 1)), counts = value_of(hr_node_output(y, 2));
    assert_memory_equal(index.data, ((const int32_t[]){0, 1, 0, 2, 3, 2}), 6 * sizeof(int32_t));
    assert_memory_equal(counts.data, ((const int32_t[]){2, 1, 2, 1}), 4 * sizeof(int32_t));
    hr_tensor_clear(&index);
    hr_tensor_clear(&counts);
}

/* table()[1, ::-1] and its kin; the gradient is 1 where a value was taken. */
static void a_slice_is_taken_by_subscripts(void **state)
{
    (void)state;
    const hr_node x = table();
    hr_tensor row = value_of(hr_strided_slice(x, {.at = HR_I64(-1)}, {.step = -1}));
    assert_shape(row.shape, HR_SHAPE(3));
    assert_memory_equal(row.data, ((const float[]){-1, 5, -1}), 3 * sizeof(float));
    hr_tensor_clear(&row);
    const hr_node part = hr_strided_slice(x, {.ellipsis = true}, {.new_axis = true}, {.begin = HR_I64(1)});
    assert_shape(hr_node_shape(part), HR_SHAPE(2, 1, 2));
    hr_gradient dx;
    hr_gradients(&part, 1, &x, 1, &dx);
    hr_tensor slope = value_of(dx.values);
    assert_memory_equal(slope.data, ((const float[]){0, 1, 1, 0, 1, 1}), 6 * sizeof(float));
    hr_tensor_clear(&slope);
}

static void a_subscript_beyond_the_dimension_is_refused(void **state)
{
    (void)state;
    hr_strided_slice(table(), {.at = HR_I64(2)});
    assert_string_equal(hr_graph_error(g)->kind, "graph.slice");
    assert_text_contains(hr_graph_error(g)->text, "slice index 2 of dimension 0 out of bounds");
}

/* The last column becomes `value`, which broadcasts. */
static void a_slice_of_a_variable_is_set(void **state)
{
    (void)state;
    hr_error err;
    const float value = 7;
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SCALAR, &value);
    const hr_node v = hr_get_variable(g, "v", HR_FLOAT, HR_SHAPE(2, 3), .initializer = hr_ones());
    const hr_node begin = hr_ints(g, HR_I64(0, -1), 2), end = hr_ints(g, HR_I64(0, 0), 2);
    const hr_node set = hr_target(hr_new_node(g, "ResourceStridedSliceAssign",
                                              HR_INPUTS(v, begin, end, hr_ints(g, HR_I64(1, 1), 2), hr_const(g, &t)),
                                              HR_ATTRS(HR_INT_ATTR("begin_mask", 1), HR_INT_ATTR("end_mask", 3))));
    s = hr_session_new(g);
    const hr_node begun = hr_global_variables_initializer(g);
    assert_ok(hr_session_run(s, NULL, 0, &begun, 1, &(hr_tensor){0}, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, &set, 1, &(hr_tensor){0}, &err), &err);
    hr_tensor out = value_of(hr_identity(v));
    assert_memory_equal(out.data, ((const float[]){1, 1, 7, 1, 1, 7}), 6 * sizeof(float));
    hr_tensor_clear(&out);
}

/* At 0 and at NaN a root and a reciprocal have no slope, but what does not depend on them has none of it either. */
static void no_gradient_stays_none_where_there_is_no_slope(void **state)
{
    (void)state;
    static const char *const ops[] = {"SqrtGrad", "RsqrtGrad", "ReciprocalGrad"};
    const float y[] = {0, INFINITY, NAN}, none[3] = {0};
    const hr_tensor of = hr_tensor_of(HR_FLOAT, HR_SHAPE(3), y), by = hr_tensor_of(HR_FLOAT, HR_SHAPE(3), none);
    for (int i = 0; i < 3; i++) {
        hr_tensor out = value_of(hr_new_node(g, ops[i], HR_INPUTS(hr_const(g, &of), hr_const(g, &by))));
        assert_memory_equal(out.data, none, sizeof none);
        hr_tensor_clear(&out);
    }
}

/* Runs the node with `value` for the placeholder `input`, whose shape is not known before. */
static void expect_refusal(hr_node node, hr_node input, hr_tensor value)
{
    hr_error err;
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    if (!s) s = hr_session_new(g);
    assert_status(hr_session_run(s, &(hr_feed){input, value}, 1, &node, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.shape");
}

static void scalars_and_vectors_have_their_rank(void **state)
{
    (void)state;
    static const int32_t numbers[] = {0, 1};
    static const float ones[] = {1};
    const hr_node x = table(), v = hr_placeholder(g, HR_INT32, HR_UNKNOWN_SHAPE), two = hr_ints(g, HR_I64(0, 1), 2),
                  f = hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE), one = hr_scalar(g, HR_FLOAT, 1),
                  block = hr_reshape(hr_ints(g, HR_I64(0, 1, 1, 0), 4), hr_ints(g, HR_I64(2, 2), 2));
    const hr_tensor vector = hr_tensor_of(HR_INT32, HR_SHAPE(1), numbers),
                    none = hr_tensor_of(HR_INT32, HR_SHAPE(0), numbers),
                    matrix = hr_tensor_of(HR_INT32, HR_SHAPE(1, 2), numbers);
    const hr_node of_scalar[] = {hr_new_node(g, "ArgMax", HR_INPUTS(x, v)),
                                 hr_new_node(g, "GatherV2", HR_INPUTS(x, two, v)),
                                 hr_new_node(g, "Split", HR_INPUTS(v, x), HR_ATTRS(HR_INT_ATTR("num_split", 2))),
                                 hr_new_node(g, "OneHot", HR_INPUTS(two, v, one, one))};
    const hr_node of_vector[] = {hr_new_node(g, "Slice", HR_INPUTS(x, v, two)), hr_new_node(g, "Tile", HR_INPUTS(x, v)),
                                 hr_new_node(g, "Transpose", HR_INPUTS(x, v))};
    const hr_node padded = hr_new_node(g, "PadV2", HR_INPUTS(x, block, f));
    for (int i = 0; i < 4; i++) {
        expect_refusal(of_scalar[i], v, vector);
        expect_refusal(of_scalar[i], v, none);
    }
    for (int i = 0; i < 3; i++) expect_refusal(of_vector[i], v, matrix);
    expect_refusal(padded, f, hr_tensor_of(HR_FLOAT, HR_SHAPE(1), ones));
    expect_refusal(padded, f, hr_tensor_of(HR_FLOAT, HR_SHAPE(0), ones));
}

/* Mean, deviation and the largest size of 20000 values. */
static void measure(hr_node values, double *mean, double *deviation, double *max)
{
    hr_tensor out = value_of(values);
    double sum = 0, squares = 0;
    *max = 0;
    for (int64_t i = 0; i < out.count; i++) {
        const double x = (double)((const float *)out.data)[i];
        sum += x;
        squares += x * x;
        *max = fmax(*max, fabs(x));
    }
    assert_int_equal(out.count, 20000);
    *mean = sum / (double)out.count;
    *deviation = sqrt(squares / (double)out.count - *mean * *mean);
    hr_tensor_clear(&out);
}

/* Numbers keep their value, in a wider type where they need one, or are refused. */
static void constants_are_not_narrowed(void **state)
{
    (void)state;
    const int64_t small[] = {-1, INT32_MAX}, large[] = {1, INT64_C(1) << 40};
    hr_tensor out = value_of(hr_ints(g, small, 2));
    assert_int_equal(out.dtype, HR_INT32);
    hr_tensor_clear(&out);
    expect_int64(hr_ints(g, large, 2), 2, large);
    expect_int64(hr_shape_const(g, HR_SHAPE(1, INT64_C(1) << 40)), 2, large);
    const hr_dtype types[] = {HR_INT32, HR_UINT8, HR_INT64, HR_UINT64};
    const double beyond[] = {3e9, 256, 9223372036854775808.0, -1};
    for (int i = 0; i < 4; i++) {
        hr_graph *other = hr_graph_new();
        assert_false(hr_node_exists(hr_scalar(other, types[i], beyond[i])));
        assert_false(hr_node_exists(hr_scalar(other, types[i], NAN)));
        assert_string_equal(hr_graph_error(other)->kind, "graph.attr");
        hr_graph_free(other);
    }
    const uint64_t max = UINT64_MAX;
    const hr_tensor huge = hr_tensor_of(HR_UINT64, HR_SCALAR, &max);
    out = value_of(hr_cast_to(hr_const(g, &huge), HR_DOUBLE));
    assert_exactly(*(const double *)out.data, 18446744073709551616.0);
    hr_tensor_clear(&out);
}

/* Each sum or product of sizes that goes beyond what a tensor can have is refused, not taken round. */
static void sizes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const int64_t far = INT64_C(1) << 62;
    for (int i = 0; i < 7; i++) {
        hr_graph *other = hr_graph_new();
        const hr_node x = hr_scalar(other, HR_FLOAT, 1), one = hr_reshape(x, hr_ints(other, HR_I64(1), 1));
        const hr_node axis = hr_scalar(other, HR_INT32, 0);
        const hr_node pads = hr_ints(other, (const int64_t[]){far, far}, 2);
        hr_node node = {0};
        if (i == 0) node = hr_new_node(other, "Pad", HR_INPUTS(one, hr_reshape(pads, hr_ints(other, HR_I64(1, 2), 2))));
        if (i == 1) node = hr_tile(hr_reshape(x, hr_ints(other, HR_I64(1, 1), 2)), pads);
        if (i == 2) node = hr_fill(pads, x);
        if (i == 3) node = hr_new_node(other, "Split", HR_INPUTS(axis, one), HR_ATTRS(HR_INT_ATTR("num_split", 0)));
        if (i == 4)
            node = hr_new_node(other, "Split", HR_INPUTS(axis, one), HR_ATTRS(HR_INT_ATTR("num_split", far >> 22)));
        if (i == 5) node = hr_new_node(other, "ConcatOffset", HR_INPUTS(axis));
        if (i == 6) node = hr_new_node(other, "Headrace>SequenceLength");
        hr_error err = {0};
        hr_tensor out;
        hr_session *run = hr_session_new(other, .workers = &(int){0});
        hr_session_run(run, NULL, 0, &node, 1, &out, &err);
        assert_status(err.code, HR_INVALID_ARGUMENT);
        hr_session_free(run);
        hr_graph_free(other);
    }
}

/* Rows without values cost nothing, however many there are. */
static void long_shapes_without_values_take_no_time(void **state)
{
    (void)state;
    const float none[3] = {0};
    const int64_t many = INT64_C(1) << 40;
    const hr_tensor wide = hr_tensor_of(HR_FLOAT, HR_SHAPE(many, 3, 0), none);
    const hr_tensor empty = hr_tensor_of(HR_FLOAT, HR_SHAPE(0), none);
    hr_tensor out = value_of(hr_bias_add(hr_const(g, &wide), hr_const(g, &empty)));
    assert_int_equal(out.count, 0);
    assert_int_equal(out.shape.dims[0], many);
    hr_tensor_clear(&out);
    out = value_of(
        hr_new_node(g, "BiasAddGrad", HR_INPUTS(hr_const(g, &wide)), HR_ATTRS(HR_STRING_ATTR("data_format", "NCHW"))));
    assert_int_equal(out.count, 3);
    assert_memory_equal(out.data, none, sizeof none);
    hr_tensor_clear(&out);
}

static void normal_values_have_mean_0_and_deviation_1(void **state)
{
    (void)state;
    double mean, deviation, max;
    measure(hr_normal_values(hr_shape_const(g, HR_SHAPE(20000)), HR_FLOAT, 7), &mean, &deviation, &max);
    assert_near(mean, 0, 0.03);
    assert_near(deviation, 1, 0.03);
    assert_more(max, 2.5);
}

static void truncated_ones_lie_within_two_deviations(void **state)
{
    (void)state;
    double mean, deviation, max;
    measure(hr_truncated_normal_values(hr_shape_const(g, HR_SHAPE(20000)), HR_FLOAT, 7), &mean, &deviation, &max);
    assert_near(mean, 0, 0.03);
    assert_near(deviation, 0.88, 0.03);
    assert_at_most(max, 2);
}

/* ---- products in several threads at once ---- */

enum { SIDE = 128, INNER = 200, ROUNDS = 8000 };

static hr_node uneven(hr_graph *in, int64_t rows, int64_t columns)
{
    float value[SIDE * INNER];
    for (int i = 0; i < SIDE * INNER; i++) value[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f;
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, columns), value);
    return hr_const(in, &t);
}

/* Multiplies in a session of its own, again and again; counts what differs from the first product. */
static void multiply(void *differing)
{
    hr_graph *own = hr_graph_new();
    hr_session *session = hr_session_new(own);
    const hr_node product = hr_matmul(uneven(own, SIDE, INNER), uneven(own, INNER, SIDE));
    hr_tensor first = {0};
    for (int i = 0; i < ROUNDS; i++) {
        hr_tensor out = {0};
        if (hr_session_run(session, NULL, 0, &product, 1, &out, NULL) != HR_OK) ++*(int *)differing;
        if (i > 0 && first.data && out.data) *(int *)differing += memcmp(first.data, out.data, SIDE * SIDE * 4) != 0;
        if (i > 0) hr_tensor_clear(&out);
        if (i == 0) first = out;
    }
    hr_tensor_clear(&first);
    hr_session_free(session);
    hr_graph_free(own);
}

static void products_at_once_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { THREADS = 3 };
    uv_thread_t thread[THREADS];
    int differing[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) assert_int_equal(uv_thread_create(&thread[i], multiply, &differing[i]), 0);
    for (int i = 0; i < THREADS; i++) uv_thread_join(&thread[i]);
    for (int i = 0; i < THREADS; i++) assert_int_equal(differing[i], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)

/* ---- matrices; the numbers are TensorFlow's ---- */

static void expect_near(hr_node node, int64_t count, const float *expected)
{
    hr_tensor out = value_of(node);
    assert_int_equal(out.count, count);
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(((const float *)out.data)[i] - expected[i]) < 2e-6f))
            fail_msg("value %d: expected %g, got %g", (int)i, (double)expected[i],
                     (double)((const float *)out.data)[i]);
    hr_tensor_clear(&out);
}

static void qr_has_the_signs_of_tensorflow(void **state)
{
    (void)state;
    static const float a[] = {3, 1, 2, 4, -5, 6, 7, 8, 9, 1, 0, 2};
    static const float wide[] = {3, 4, 7, 1, 1, -5, 8, 0, 2, 6, 9, 2};
    static const float q[] = {-0.34641016f, -0.06706705f, 0.89433354f,  -0.46188018f, -0.84791934f, -0.18677184f,
                              -0.8082903f,  0.52216506f,  -0.22852415f, -0.11547004f, -0.06227655f, -0.33624476f};
    static const float r[] = {-8.660254f, -4.5033317f, -10.969655f, 0, 8.3498507f, -0.6467180f, 0, 0, -2.0611711f};
    static const float full_q[] = {-0.34641016f, -0.06706705f, 0.89433354f,  0.27508092f, -0.46188018f, -0.84791934f,
                                   -0.18677184f, -0.18115088f, -0.8082903f,  0.52216506f, -0.22852415f, -0.14760447f,
                                   -0.11547004f, -0.06227655f, -0.33624476f, 0.93259197f};
    static const float wide_r[] = {-3.7416575f, -5.0779638f, -12.561279f, -1.8708286f, 0,          7.1564159f,
                                   -3.0442219f, 0.9082758f,  0,           0,           5.1910501f, 0.8216051f};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 3), a), w = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), wide);
    const hr_node thin = hr_new_node(g, "Qr", HR_INPUTS(hr_const(g, &t)));
    const hr_node full =
        hr_new_node(g, "Qr", HR_INPUTS(hr_const(g, &t)), HR_ATTRS(HR_BOOL_ATTR("full_matrices", true)));
    const hr_node flat = hr_new_node(g, "Qr", HR_INPUTS(hr_const(g, &w)));
    expect_near(thin, 12, q);
    expect_near(hr_node_output(thin, 1), 9, r);
    expect_near(full, 16, full_q);
    expect_near(hr_node_output(flat, 1), 12, wide_r);
}

static hr_node int64s(hr_shape shape, const int64_t *values)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, shape, values);
    return hr_const(g, &t);
}

static hr_node diagonals(hr_node of, hr_node k, double rows, double columns, const char *align)
{
    return hr_new_node(
        g, "MatrixDiagV3",
        HR_INPUTS(of, k, hr_scalar(g, HR_INT32, rows), hr_scalar(g, HR_INT32, columns), hr_scalar(g, HR_INT64, 9)),
        HR_ATTRS(HR_STRING_ATTR("align", align)));
}

static void bands_of_diagonals_stand_where_they_belong(void **state)
{
    (void)state;
    const hr_node three = int64s(HR_SHAPE(3, 3), HR_I64(0, 1, 2, 3, 4, 5, 6, 7, 0));
    const hr_node two = int64s(HR_SHAPE(2, 2), HR_I64(1, 2, 3, 4));
    const hr_node sevens = int64s(HR_SHAPE(3, 4), HR_I64(7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7));
    const hr_node left = int64s(HR_SHAPE(2, 3), HR_I64(1, 2, 3, 4, 5, 0));
    expect_int64(diagonals(three, hr_ints(g, HR_I64(-1, 1), 2), -1, -1, "RIGHT_LEFT"), 9,
                 HR_I64(3, 1, 9, 6, 4, 2, 9, 7, 5));
    expect_int64(diagonals(two, hr_ints(g, HR_I64(1), 1), 2, 4, "LEFT_RIGHT"), 16,
                 HR_I64(9, 1, 9, 9, 9, 9, 2, 9, 9, 3, 9, 9, 9, 9, 4, 9));
    expect_int64(hr_new_node(g, "MatrixSetDiagV3", HR_INPUTS(sevens, left, hr_ints(g, HR_I64(-1, 0), 2)),
                             HR_ATTRS(HR_STRING_ATTR("align", "LEFT_LEFT"))),
                 12, HR_I64(1, 7, 7, 7, 4, 2, 7, 7, 7, 5, 3, 7));
    expect_int64(hr_new_node(g, "DiagPart", HR_INPUTS(three)), 3, HR_I64(0, 4, 0));
}

/* TensorFlow's answers to the same floats: rounded values, and where the gradient flows. */
static void fake_quantisation_rounds_as_tensorflow_does(void **state)
{
    (void)state;
    const struct {
        float min, max;
        int64_t bits;
        bool narrow;
        float x[6], y[6], flows[6];
    } cases[] = {
        {-6.0f,
         6.0f,
         8,
         false,
         {0x1.37dfd20000000p+2f, -0x1.d5d4340000000p+0f, -0x1.95a2ca0000000p+0f, -0x1.9c051c0000000p+1f,
          0x1.4c51080000000p+1f, -0x1.b9e53a0000000p+2f},
         {0x1.39393a0000000p+2f, -0x1.d5d5d60000000p+0f, -0x1.99999a0000000p+0f, -0x1.99999a0000000p+1f,
          0x1.4b4b4c0000000p+1f, -0x1.8181820000000p+2f},
         {1, 1, 1, 1, 1, 0}},
        {-1.3f,
         2.7f,
         4,
         true,
         {-0x1.ef3b9a0000000p-1f, -0x1.26f4280000000p+0f, 0x1.b35e120000000p+1f, -0x1.a65bb60000000p+1f,
          -0x1.08d9880000000p-1f, -0x1.5118fe0000000p+1f},
         {-0x1.b6db700000000p-1f, -0x1.24924a0000000p+0f, 0x1.4924940000000p+1f, -0x1.6db6dc0000000p+0f,
          -0x1.24924a0000000p-1f, -0x1.6db6dc0000000p+0f},
         {1, 1, 0, 0, 1, 0}},
        {0.5f,
         3.0f,
         8,
         false,
         {0x1.59edbe0000000p+1f, -0x1.068d2e0000000p+1f, -0x1.7984ce0000000p-2f, -0x1.6755e00000000p+1f,
          -0x1.9b79e20000000p-1f, 0x1.9750200000000p+0f},
         {0x1.4000000000000p+1f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x1.9696980000000p+0f},
         {0, 0, 0, 0, 0, 1}},
        {-3.0f,
         -0.2f,
         6,
         false,
         {-0x1.ad0c140000000p+1f, 0x1.6810000000000p-1f, 0x1.3eae980000000p+2f, 0x1.1cf1e80000000p+1f,
          -0x1.26a8ce0000000p-1f, -0x1.54d97a0000000p+1f},
         {-0x1.6666660000000p+1f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, -0x1.27d27e0000000p-1f, -0x1.5555560000000p+1f},
         {0, 0, 0, 0, 1, 1}},
        {-0.1f,
         5.0f,
         8,
         true,
         {0x1.7120d80000000p-2f, 0x1.da03120000000p+0f, 0x1.cd0fc60000000p-1f, -0x1.0e87240000000p+0f,
          -0x1.b6ba1c0000000p+1f, -0x1.0c4b920000000p+0f},
         {0x1.7217600000000p-2f, 0x1.d8e4fc0000000p+0f, 0x1.ce9d380000000p-1f, -0x1.9b366c0000000p-4f,
          -0x1.9b366c0000000p-4f, -0x1.9b366c0000000p-4f},
         {1, 1, 1, 0, 0, 0}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const hr_tensor in = hr_tensor_of(HR_FLOAT, HR_SHAPE(6), cases[c].x);
        const hr_node x = hr_const(g, &in);
        const hr_node y = hr_new_node(g, "FakeQuantWithMinMaxArgs", HR_INPUTS(x),
                                      HR_ATTRS(HR_FLOAT_ATTR("min", cases[c].min), HR_FLOAT_ATTR("max", cases[c].max),
                                               HR_INT_ATTR("num_bits", cases[c].bits),
                                               HR_BOOL_ATTR("narrow_range", cases[c].narrow)));
        hr_gradient by;
        hr_gradients(&y, 1, &x, 1, &by);
        hr_tensor out = value_of(y), slope = value_of(by.values);
        for (int i = 0; i < 6; i++) {
            assert_true(((float *)out.data)[i] == cases[c].y[i]);
            assert_true(((float *)slope.data)[i] == cases[c].flows[i]);
        }
        hr_tensor_clear(&out);
        hr_tensor_clear(&slope);
    }
}

/* As TensorFlow 2.15.1 has it: a vector of indices names rows, and updates in one place follow each other. */
static void slices_are_scattered_into_values(void **state)
{
    (void)state;
    static const float rows[] = {10, 20, 30, 1, 2, 3};
    static const int32_t at[] = {1, 1};
    const hr_tensor by = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), rows), places = hr_tensor_of(HR_INT32, HR_SHAPE(2), at);
    const hr_node indices = hr_const(g, &places), updates = hr_const(g, &by);
    const hr_node added = hr_new_node(g, "TensorScatterAdd", HR_INPUTS(table(), indices, updates));
    const hr_node set = hr_new_node(g, "TensorScatterUpdate", HR_INPUTS(table(), indices, updates));
    const hr_node least = hr_new_node(g, "TensorScatterMin", HR_INPUTS(table(), indices, updates));
    expect_near(added, 6, HR_F32(3, 1, 1, 10, 27, 32));
    expect_near(set, 6, HR_F32(3, 1, 1, 1, 2, 3));
    expect_near(least, 6, HR_F32(3, 1, 1, -1, 2, -1));
    const hr_node index = hr_placeholder(g, HR_INT32, HR_UNKNOWN_SHAPE);
    const hr_node beyond = hr_new_node(g, "TensorScatterAdd", HR_INPUTS(table(), index, updates));
    expect_refusal(beyond, index, hr_tensor_of(HR_INT32, HR_SHAPE(1, 1), at));
}

/* Tiles, their rests, and lines that pass by the cache. */
static void every_value_of_a_transpose_has_its_place(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 16, 16}, {1, 15, 70}, {1, 131, 64}, {2, 200, 77}, {1, 1504, 1600}};
    static const hr_dtype types[] = {HR_UINT8, HR_INT16, HR_INT32, HR_INT64, HR_COMPLEX128};
    for (size_t i = 0; i < 5 * sizeof sizes / sizeof *sizes; i++) {
        const int64_t *size = sizes[i / 5], n = size[0], rows = size[1], columns = size[2], count = n * rows * columns;
        const size_t bytes = hr_dtype_size(types[i % 5]);
        hr_error err;
        hr_tensor out;
        char *values = malloc((size_t)count * bytes);
        for (int64_t at = 0; at < count * (int64_t)bytes; at++)
            values[at] = (char)hr_random_below(3, (uint64_t)at, 256);
        hr_graph *g = hr_graph_new();
        const hr_node x = hr_placeholder(g, types[i % 5], HR_SHAPE(n, rows, columns));
        const hr_node y = hr_transpose(x, hr_ints(g, HR_I64(0, 2, 1), 3));
        hr_session *s = hr_session_new(g);
        const hr_feed feed = {x, hr_tensor_of(types[i % 5], HR_SHAPE(n, rows, columns), values)};
        assert_ok(hr_session_run(s, &feed, 1, &y, 1, &out, &err), &err);
        for (int64_t at = 0; at < count; at++) {
            const int64_t image = at / (rows * columns), row = at / columns % rows, column = at % columns;
            const char *to = (const char *)out.data + (size_t)((image * columns + column) * rows + row) * bytes;
            if (memcmp(to, values + (size_t)at * bytes, bytes) != 0) fail_msg("case %zu, value %lld", i, (long long)at);
        }
        hr_tensor_clear(&out);
        hr_session_free(s);
        hr_graph_free(g);
        free(values);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_a_transpose_has_its_place),
        TEST(a_print_tells_the_log),
        TEST(halves_and_complex_numbers_are_cast),
        TEST(the_gradient_of_relu_is_a_product),
        TEST(many_strings_are_unpacked),
        TEST(values_change_their_places),
        TEST(equal_values_are_found_once),
        TEST(a_slice_is_taken_by_subscripts),
        TEST(a_subscript_beyond_the_dimension_is_refused),
        TEST(a_slice_of_a_variable_is_set),
        TEST(fake_quantisation_rounds_as_tensorflow_does),
        TEST(argmin_is_the_first_of_the_least),
        TEST(one_hot_leaves_out_what_is_out_of_range),
        TEST(no_gradient_stays_none_where_there_is_no_slope),
        TEST(scalars_and_vectors_have_their_rank),
        TEST(constants_are_not_narrowed),
        TEST(sizes_that_do_not_fit_are_refused),
        TEST(long_shapes_without_values_take_no_time),
        TEST(normal_values_have_mean_0_and_deviation_1),
        TEST(truncated_ones_lie_within_two_deviations),
        TEST(products_at_once_do_not_disturb_each_other),
        TEST(qr_has_the_signs_of_tensorflow),
        TEST(slices_are_scattered_into_values),
        TEST(bands_of_diagonals_stand_where_they_belong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
