/* Layers over much data, which goes in pieces and lanes, give what doubles give by plain sums and products. */
#include "tests/train/ops/node_values.h"

#include <headrace/nn.h>
#include <stdlib.h>

/* From -2 to 2, in an order that repeats nowhere. */
static hr_node numbers(hr_shape shape, uint64_t key)
{
    const int64_t count = hr_shape_count(shape);
    float *values = malloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) values[i] = (float)hr_random_below(key, (uint64_t)i, 4001) / 1000 - 2;
    const hr_tensor t = hr_tensor_of(HR_FLOAT, shape, values);
    const hr_node x = hr_const(g, &t);
    free(values);
    return x;
}

static hr_node doubles(hr_node x) { return hr_cast_to(x, HR_DOUBLE); }

static void assert_within(hr_node ours, hr_node theirs, double tolerance, const char *what)
{
    hr_error err;
    hr_tensor out;
    assert_ok(run_node(hr_reduce_max(hr_abs(hr_sub(doubles(ours), theirs))), &out, &err), &err);
    const double off = *(double *)out.data;
    hr_tensor_clear(&out);
    if (!(off <= tolerance)) fail_msg("%s: off by %g", what, off);
}

typedef struct norm {
    hr_shape shape;
    const char *format;
    int64_t axes[3], channels;
} norm;

static hr_node spread(hr_node of_channels, const norm *n)
{
    return n->format[1] == 'C' ? hr_reshape(of_channels, hr_ints(g, HR_I64(1, n->channels, 1, 1), 4)) : of_channels;
}

static hr_node normalized(hr_node x, hr_node scale, hr_node offset, const norm *n)
{
    const hr_node mean = hr_reduce_mean(x, .axes = n->axes, .axis_count = 3, .keep_dims = true), from = hr_sub(x, mean);
    const hr_node variance = hr_reduce_mean(hr_square(from), .axes = n->axes, .axis_count = 3, .keep_dims = true);
    const hr_node factor = hr_rsqrt(hr_add(variance, hr_scalar(g, HR_DOUBLE, (double)0.001F)));
    return hr_add(hr_mul(hr_mul(from, factor), spread(scale, n)), spread(offset, n));
}

static void batch_norm_is_that_of_plain_sums(const norm *n)
{
    const hr_node in[] = {numbers(n->shape, 1), numbers(HR_SHAPE(n->channels), 2), numbers(HR_SHAPE(n->channels), 3)};
    const hr_node none = hr_fill(hr_ints(g, HR_I64(0), 1), hr_scalar(g, HR_FLOAT, 0)), weights = numbers(n->shape, 4);
    const hr_node wide[] = {doubles(in[0]), doubles(in[1]), doubles(in[2])};
    const hr_node ours =
        hr_new_node(g, "FusedBatchNormV3", HR_INPUTS(in[0], in[1], in[2], none, none),
                    HR_ATTRS(HR_STRING_ATTR("data_format", n->format), HR_FLOAT_ATTR("epsilon", 0.001F)));
    const hr_node theirs = normalized(wide[0], wide[1], wide[2], n);
    const hr_node losses[] = {hr_reduce_sum(hr_mul(ours, weights)), hr_reduce_sum(hr_mul(theirs, doubles(weights)))};
    hr_gradient by[3], of[3];
    hr_gradients(&losses[0], 1, in, 3, by);
    hr_gradients(&losses[1], 1, wide, 3, of);
    assert_within(ours, theirs, 1e-5, "batch norm");
    assert_within(by[0].values, of[0].values, 1e-4, "by x");
    assert_within(by[1].values, of[1].values, 0.05, "by the scale"); /* sums of 10^4 numbers and more */
    assert_within(by[2].values, of[2].values, 0.05, "by the offset");
}

static void batch_norms_go_in_pieces(void **state)
{
    (void)state;
    const norm all[] = {{HR_SHAPE(20, 100, 100, 6), "NHWC", {0, 1, 2}, 6},
                        {HR_SHAPE(9, 40, 41, 70), "NHWC", {0, 1, 2}, 70},
                        {HR_SHAPE(5, 3, 101, 77), "NCHW", {0, 2, 3}, 3}};
    for (int i = 0; i < 3; i++) batch_norm_is_that_of_plain_sums(&all[i]);
}

static void biases_of_many_channels_have_gradients(void **state)
{
    (void)state;
    const hr_node slope = numbers(HR_SHAPE(33, 150), 1), first = numbers(HR_SHAPE(3, 150, 7), 2);
    assert_within(hr_new_node(g, "BiasAddGrad", HR_INPUTS(slope)),
                  hr_reduce_sum(doubles(slope), .axes = HR_I64(0), .axis_count = 1), 1e-4, "channels last");
    assert_within(hr_new_node(g, "BiasAddGrad", HR_INPUTS(first), HR_ATTRS(HR_STRING_ATTR("data_format", "NCHW"))),
                  hr_reduce_sum(doubles(first), .axes = HR_I64(0, 2), .axis_count = 2), 1e-4, "channels first");
}

static void softmax_of_any_width_is_that_of_doubles(void **state)
{
    (void)state;
    for (int64_t width = 1; width < 80; width += 1 + width / 7) {
        const hr_node x = hr_mul(numbers(HR_SHAPE(40, width), 1), hr_scalar(g, HR_FLOAT, 9));
        const hr_node labels = numbers(HR_SHAPE(40, width), 2);
        assert_within(hr_softmax(x), hr_softmax(doubles(x)), 1e-6, "softmax");
        assert_within(hr_log_softmax(x), hr_log_softmax(doubles(x)), 1e-4, "log softmax");
        const hr_node ours = hr_softmax_cross_entropy(x, labels);
        const hr_node exact = hr_neg(
            hr_reduce_sum(hr_mul(doubles(labels), hr_log_softmax(doubles(x))), .axes = HR_I64(1), .axis_count = 1));
        assert_within(ours, exact, 0.01, "cross entropy");
        assert_within(hr_node_output(ours, 1), hr_sub(hr_softmax(doubles(x)), doubles(labels)), 1e-5, "its gradient");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(batch_norms_go_in_pieces),
        GRAPH_TEST(biases_of_many_channels_have_gradients),
        GRAPH_TEST(softmax_of_any_width_is_that_of_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
