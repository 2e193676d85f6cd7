/* Random values that TensorFlow 2.15.1 gave for the same seeds, of ops that no golden case has. */
#include "tests/testing.h"

#include <headrace/graph.h>
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

static hr_graph *g;
static hr_session *s;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    s = NULL;
    return g ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

static hr_node constant(hr_dtype dtype, hr_shape shape, const void *values)
{
    const hr_tensor t = hr_tensor_of(dtype, shape, values);
    return hr_const(g, &t);
}

static hr_node ints(int64_t a, int64_t b) { return constant(HR_INT64, HR_SHAPE(2), (const int64_t[]){a, b}); }

static hr_node length(int32_t n) { return constant(HR_INT32, HR_SHAPE(1), &n); }

static void expect(hr_node node, size_t bytes, const void *expected)
{
    hr_tensor out;
    hr_error err;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    if (!s) s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    assert_int_equal((size_t)out.count * hr_dtype_size(out.dtype), bytes);
    assert_memory_equal(out.data, expected, bytes);
    hr_tensor_clear(&out);
}

static void expect_near(hr_node node, int count, const double *expected)
{
    hr_tensor out;
    hr_error err;
    if (!s) s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    assert_int_equal(out.count, count);
    for (int i = 0; i < count; i++) assert_true(fabs(((const double *)out.data)[i] - expected[i]) < 1e-12);
    hr_tensor_clear(&out);
}

static void a_seed_gives_a_key_and_a_counter(void **state)
{
    (void)state;
    const hr_node of = hr_new_node(g, "StatelessRandomGetKeyCounterAlg", HR_INPUTS(ints(1, 2)));
    expect(of, 8, &(uint64_t){10413732777507651514u});
    expect(hr_node_output(of, 1), 16, (const uint64_t[]){0, 17830669156045600267u});
    expect(hr_node_output(of, 2), 4, &(int32_t){1});
}

static hr_node keyed(const char *op, hr_dtype dtype, int32_t n, const uint64_t counter[2], int32_t algorithm)
{
    const hr_node key = constant(HR_UINT64, HR_SHAPE(1), &(uint64_t){0x0123456789abcdef});
    return hr_new_node(
        g, op,
        HR_INPUTS(length(n), key, constant(HR_UINT64, HR_SHAPE(2), counter), constant(HR_INT32, HR_SCALAR, &algorithm)),
        HR_ATTRS(HR_TYPE_ATTR("dtype", dtype)));
}

static void a_counter_goes_on_beyond_64_bits(void **state)
{
    (void)state;
    static const uint64_t counter[] = {UINT64_MAX, 7};
    static const float uniform[] = {0.8969308f, 0.9866624f, 0.9092225f, 0.988024f, 0.9066733f, 0.4748031f};
    static const double truncated[] = {1.8449110863673903, -0.2777319317233292, 1.0767901467860108};
    hr_half halves[6];
    static const float of_halves[] = {0.6572265625f, 0.73828125f,   0.3505859375f,
                                      0.892578125f,  0.4677734375f, 0.5869140625f};
    for (int i = 0; i < 6; i++) halves[i] = hr_half_put(of_halves[i]);
    expect(keyed("StatelessRandomUniformV2", HR_FLOAT, 6, counter, 3), sizeof uniform, uniform);
    expect(keyed("StatelessRandomUniformV2", HR_HALF, 6, counter, 1), sizeof halves, halves);
    expect_near(keyed("StatelessTruncatedNormalV2", HR_DOUBLE, 3, counter, 1), 3, truncated);
}

static void all_bits_of_a_block_are_drawn(void **state)
{
    (void)state;
    static const uint32_t narrow[] = {2434737163u, 3623740297u, 2904307362u, 1052501199u, 2791509447u};
    static const uint64_t wide[] = {15563846067247064075u, 4520458231610095266u, 15018079513829641671u};
    const hr_node seed = ints(3, 4);
    expect(hr_new_node(g, "StatelessRandomUniformFullInt", HR_INPUTS(length(5), seed),
                       HR_ATTRS(HR_TYPE_ATTR("dtype", HR_UINT32))),
           sizeof narrow, narrow);
    expect(hr_new_node(g, "StatelessRandomUniformFullInt", HR_INPUTS(length(3), seed)), sizeof wide, wide);
}

static void an_algorithm_that_is_not_there_is_refused(void **state)
{
    (void)state;
    hr_tensor out;
    hr_error err;
    const hr_node node = keyed("StatelessRandomUniformV2", HR_FLOAT, 6, (const uint64_t[]){0, 0}, 2);
    s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, &node, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.range");
}

/* Logits that are not finite have no weight; the stream goes on from run to run. */
static void classes_are_drawn_by_their_logits(void **state)
{
    (void)state;
    static const float logits[3][4] = {{.1f, 2, -1, NAN}, {3, -INFINITY, 2, 1}, {0, 0, INFINITY, 0}};
    static const int64_t first[] = {1, 1, 1, 1, 0, 0, 1, 0, 2, 0, 2, 0, 2, 2, 3, 0, 3, 1, 3, 0, 3},
                         second[] = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 2, 0, 1, 3, 3, 1, 1, 3};
    const hr_node of =
        hr_new_node(g, "Multinomial",
                    HR_INPUTS(constant(HR_FLOAT, HR_SHAPE(3, 4), logits), constant(HR_INT32, HR_SCALAR, &(int32_t){7})),
                    HR_ATTRS(HR_INT_ATTR("seed", 3), HR_INT_ATTR("seed2", 4)));
    assert_shape(hr_node_shape(of), HR_SHAPE(3, 7));
    expect(of, sizeof first, first);
    expect(of, sizeof second, second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_seed_gives_a_key_and_a_counter, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(a_counter_goes_on_beyond_64_bits, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(all_bits_of_a_block_are_drawn, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(an_algorithm_that_is_not_there_is_refused, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(classes_are_drawn_by_their_logits, make_graph, free_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
