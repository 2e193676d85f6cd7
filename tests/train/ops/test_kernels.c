/* What kernels are made of: walks against loops that index each value, and numbers of 16 bits. */
#include "tests/testing.h"

#include <headrace/kernels.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hr_graph *g;
static hr_session *s;

static int begin(void **state)
{
    (void)state;
    g = hr_graph_new();
    s = hr_session_new(g, .workers = &(int){2});
    return g && s ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

static hr_tensor value_of(hr_node node)
{
    hr_error err;
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    return out;
}

/* 0, 1, 2, ... */
static hr_node counting(hr_shape shape)
{
    hr_tensor t;
    hr_error err;
    assert_ok(hr_tensor_new(&t, HR_INT32, shape, &err), &err);
    for (int64_t i = 0; i < t.count; i++) ((int32_t *)t.data)[i] = (int32_t)i;
    const hr_node node = hr_const(g, &t);
    hr_tensor_clear(&t);
    return node;
}

static int64_t place(hr_shape shape, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < shape.rank; d++) at = at * shape.dims[d] + index[d];
    return at;
}

static void index_of(hr_shape shape, int64_t i, int64_t *index)
{
    for (int d = shape.rank - 1; d >= 0; d--) {
        index[d] = i % shape.dims[d];
        i /= shape.dims[d];
    }
}

static void a_transpose_of_any_axes_and_lengths_puts_each_value_in_its_place(void **state)
{
    (void)state;
    const hr_shape shapes[] = {HR_SHAPE(100, 70),    HR_SHAPE(33, 64),  HR_SHAPE(3, 65, 40),
                               HR_SHAPE(2, 3, 4, 5), HR_SHAPE(1, 7, 1), HR_SHAPE(4, 1, 129, 2)};
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
        const hr_shape in = shapes[c];
        for (uint64_t trial = 0; trial < 6; trial++) {
            int64_t perm[HR_MAX_RANK], from[HR_MAX_RANK], to[HR_MAX_RANK];
            for (int d = 0; d < in.rank; d++) perm[d] = d;
            for (int d = in.rank - 1; d > 0; d--) {
                const int64_t j = hr_random_below(c * 8 + trial, (uint64_t)d, d + 1), kept = perm[d];
                perm[d] = perm[j];
                perm[j] = kept;
            }
            hr_tensor out = value_of(hr_transpose(counting(in), hr_ints(g, perm, in.rank)));
            for (int64_t i = 0; i < out.count; i++) {
                index_of(out.shape, i, to);
                for (int d = 0; d < in.rank; d++) from[perm[d]] = to[d];
                assert_int_equal(((int32_t *)out.data)[i], place(in, from));
            }
            hr_tensor_clear(&out);
        }
    }
}

static void a_tile_repeats_each_dimension(void **state)
{
    (void)state;
    const hr_shape in = HR_SHAPE(2, 1, 3);
    int64_t to[HR_MAX_RANK];
    hr_tensor out = value_of(hr_tile(counting(in), hr_ints(g, HR_I64(3, 2, 4), 3)));
    assert_shape(out.shape, HR_SHAPE(6, 2, 12));
    for (int64_t i = 0; i < out.count; i++) {
        index_of(out.shape, i, to);
        for (int d = 0; d < 3; d++) to[d] %= in.dims[d];
        assert_int_equal(((int32_t *)out.data)[i], place(in, to));
    }
    hr_tensor_clear(&out);
}

/* Large enough to be cut into pieces, by rows and by blocks of long rows. */
static void broadcasts_and_sums_of_many_values_are_those_of_a_loop(void **state)
{
    (void)state;
    const hr_shape shapes[][2] = {{HR_SHAPE(700, 300), HR_SHAPE(300)},
                                  {HR_SHAPE(3, 90000), HR_SHAPE(3, 1)},
                                  {HR_SHAPE(3, 1, 50000), HR_SHAPE(2, 50000)},
                                  {HR_SHAPE(90, 1, 41), HR_SHAPE(60, 1)}};
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
        const hr_shape a = shapes[c][0], b = shapes[c][1];
        int64_t index[HR_MAX_RANK], of_a[HR_MAX_RANK], of_b[HR_MAX_RANK];
        const hr_node sum = hr_add(counting(a), counting(b));
        hr_tensor out = value_of(sum), first = value_of(hr_reduce_sum(sum, .axes = HR_I64(0), .axis_count = 1));
        int64_t *by_hand = calloc((size_t)first.count, sizeof *by_hand);
        assert_non_null(by_hand);
        for (int64_t i = 0; i < out.count; i++) {
            index_of(out.shape, i, index);
            for (int d = 0; d < a.rank; d++) of_a[d] = a.dims[d] == 1 ? 0 : index[out.shape.rank - a.rank + d];
            for (int d = 0; d < b.rank; d++) of_b[d] = b.dims[d] == 1 ? 0 : index[out.shape.rank - b.rank + d];
            const int64_t expected = place(a, of_a) + place(b, of_b);
            if (((int32_t *)out.data)[i] != expected) fail_msg("value %lld differs", (long long)i);
            by_hand[i % first.count] += expected;
        }
        for (int64_t i = 0; i < first.count; i++)
            if (((int32_t *)first.data)[i] != (int32_t)by_hand[i]) fail_msg("sum %lld differs", (long long)i);
        free(by_hand);
        hr_tensor_clear(&out);
        hr_tensor_clear(&first);
    }
}

static void every_float16_and_bfloat16_survives_as_float(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const hr_half h = {(uint16_t)bits};
        const hr_bfloat16 b = {(uint16_t)bits};
        const bool nan_h = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff),
                   nan_b = (bits & 0x7f80) == 0x7f80 && (bits & 0x7f);
        assert_int_equal(isnan(hr_half_get(h)) != 0, nan_h);
        assert_int_equal(isnan(hr_bfloat16_get(b)) != 0, nan_b);
        if (!nan_h) assert_int_equal(hr_half_put(hr_half_get(h)).bits, bits);
        if (!nan_b) assert_int_equal(hr_bfloat16_put(hr_bfloat16_get(b)).bits, bits);
        if (nan_h || (bits & 0x7c00) == 0x7c00) continue;
        const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 0x3ff);
        const double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        assert_true(hr_half_get(h) == (float)(bits & 0x8000 ? -value : value));
    }
    const struct {
        float from;
        uint16_t half, bfloat16;
    } rounded[] = {{1.00048828125f, 0x3c00, 0x3f80}, /* halfway, to even */
                   {1.00146484375f, 0x3c02, 0x3f80}, {65519.99f, 0x7bff, 0x4780},   {65520, 0x7c00, 0x4780},
                   {2.98e-8f, 0x0000, 0x3300},       {2.981e-8f, 0x0001, 0x3300},   {-6.09e-5f, 0x83fe, 0xb87f},
                   {1e30f, 0x7c00, 0x714a},          {1.01171875f, 0x3c0c, 0x3f82}, {-INFINITY, 0xfc00, 0xff80},
                   {3.4e38f, 0x7c00, 0x7f80},        {1.00390625f, 0x3c04, 0x3f80}};
    for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++) {
        assert_int_equal(hr_half_put(rounded[i].from).bits, rounded[i].half);
        assert_int_equal(hr_bfloat16_put(rounded[i].from).bits, rounded[i].bfloat16);
    }
}

/* Each value is computed in float and rounded once. */
static void ops_compute_with_float16(void **state)
{
    (void)state;
    const uint16_t x[] = {0x3c00, 0x4000, 0xc200, 0x7bff}, y[] = {0x3c01, 0x1000, 0x4200, 0x7bff};
    const hr_tensor a = hr_tensor_of(HR_HALF, HR_SHAPE(4), x), b = hr_tensor_of(HR_HALF, HR_SHAPE(4), y);
    hr_tensor out = value_of(hr_add(hr_const(g, &a), hr_const(g, &b)));
    for (int i = 0; i < 4; i++)
        assert_int_equal(((hr_half *)out.data)[i].bits,
                         hr_half_put(hr_half_get((hr_half){x[i]}) + hr_half_get((hr_half){y[i]})).bits);
    hr_tensor_clear(&out);
    out = value_of(hr_reduce_sum(hr_const(g, &a)));
    assert_int_equal(((hr_half *)out.data)[0].bits, 0x7bff); /* 1 + 2 - 3 + 65504 */
    hr_tensor_clear(&out);
    const hr_node in = hr_const(g, &a), loss = hr_reduce_sum(hr_square(in));
    hr_gradient by;
    hr_gradients(&loss, 1, &in, 1, &by);
    out = value_of(by.values);
    assert_int_equal(((hr_half *)out.data)[2].bits, 0xc600); /* -6 */
    hr_tensor_clear(&out);
}

/* An op that asks for memory and compares what it gets. */
static hr_status ask_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    int64_t *many, *none = NULL;
    char *text;
    HR_TRY(hr_kernel_array(k, 1000, sizeof *many, "numbers", &many, err));
    for (int i = 0; i < 1000; i++) many[i] = i;
    HR_TRY(hr_kernel_array(k, 0, sizeof *none, "numbers", &none, err));
    HR_TRY(hr_kernel_text(k, (hr_view){"abc", 2}, &text, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(2), &out, err));
    ((int32_t *)out->data)[0] = none && many[999] == 999 && strcmp(text, "ab") == 0;
    HR_TRY(hr_kernel_text(k, (hr_view){NULL, 0}, &text, err));
    ((int32_t *)out->data)[1] = text[0] == '\0';
    const int64_t count = hr_int_at(k->input[0], 0);
    return hr_kernel_array(k, count, sizeof *none, "too many numbers", &none, err);
}

static void memory_of_a_call_is_counted_with_checks(void **state)
{
    (void)state;
    static const hr_graph_op op = {.head = HR_GRAPH_OP_HEAD,
                                   .name = "Test>Ask",
                                   .inputs = "count: int64",
                                   .outputs = "found: int32",
                                   .shapes = "[] -> [2]",
                                   .traits = HR_STATEFUL,
                                   .compute = ask_compute};
    hr_error err;
    hr_tensor out;
    hr_graph_use(g, &op);
    const int64_t counts[] = {3, INT64_MAX / 8, INT64_MAX};
    for (int i = 0; i < 3; i++) {
        const hr_tensor count = hr_tensor_of(HR_INT64, HR_SCALAR, &counts[i]);
        const hr_node node = hr_new_node(g, "Test>Ask", HR_INPUTS(hr_const(g, &count)));
        if (i == 0) {
            out = value_of(node);
            assert_int_equal(((const int32_t *)out.data)[0], 1);
            assert_int_equal(((const int32_t *)out.data)[1], 1);
            hr_tensor_clear(&out);
        } else {
            assert_status(hr_session_run(s, NULL, 0, &node, 1, &out, &err), HR_INVALID_ARGUMENT);
            assert_string_equal(err.kind, "graph.shape");
        }
    }
}

static void a_node_tells_its_op_its_constant_and_its_strings(void **state)
{
    (void)state;
    const hr_attr type = HR_TYPE_ATTR("dtype", HR_FLOAT), shape = HR_SHAPE_ATTR("shape", HR_SCALAR);
    const hr_node named = hr_new_node(g, "VarHandleOp", HR_ATTRS(type, shape, HR_STRING_ATTR("shared_name", "own")));
    const hr_node other = hr_new_node(g, "VarHandleOp", .name = "other", HR_ATTRS(type, shape));
    assert_true(hr_attr_is(named, "shared_name", "own"));
    assert_false(hr_attr_is(named, "shared_name", "owner"));
    assert_false(hr_attr_is(named, "shared_name", "ow"));
    assert_true(hr_attr_is(other, "shared_name", ""));
    assert_false(hr_attr_is(other, "no_such", "own"));
    assert_string_equal(hr_attr_or_name(named, "shared_name"), "own");
    assert_string_equal(hr_attr_or_name(other, "shared_name"), "other");
    assert_true(hr_node_is(other, "VarHandleOp"));
    assert_false(hr_node_is(other, "VarHandle"));
    assert_null(hr_node_constant(other));
    const hr_node two = hr_scalar(g, HR_INT32, 2);
    assert_int_equal(hr_int_at(hr_node_constant(two), 0), 2);
    assert_null(hr_node_constant(hr_identity(two)));
    assert_null(hr_node_constant((hr_node){0}));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_transpose_of_any_axes_and_lengths_puts_each_value_in_its_place),
        TEST(a_tile_repeats_each_dimension),
        TEST(broadcasts_and_sums_of_many_values_are_those_of_a_loop),
        TEST(every_float16_and_bfloat16_survives_as_float),
        TEST(ops_compute_with_float16),
        TEST(memory_of_a_call_is_counted_with_checks),
        TEST(a_node_tells_its_op_its_constant_and_its_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
