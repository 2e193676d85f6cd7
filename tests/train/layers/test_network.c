/* Layers of neural networks: names of variables, values, gradients, costs and moving averages. Expected numbers are those
 * of tf.compat.v1.layers (where it has no such layer: tf.keras.layers) of TensorFlow 2.15.1, in graph mode: sums of all
 * values, each times a weight of its own. */
#include "tests/testing.h"
#include "train/layers/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VARIABLES = 4, SUMS = 6 };

/* What a layer makes of x; `shape` is known while the graph is built. */
typedef struct network_case {
    const char *name;
    hr_node (*make)(hr_node x);
    hr_shape x, known, y;
    const char *variables;       /* in order of creation, those that are not trained in parentheses */
    double sums[SUMS];           /* of the output, of the gradients by x and by what is trained */
    double costs[2], updates[2]; /* costs of weights; moving averages after an update */
} network_case;

/* Gives a tensor of small numbers, different by `from`. */
static hr_tensor numbers(hr_shape shape, int from)
{
    hr_tensor t;
    hr_error err;
    assert_ok(hr_tensor_new(&t, HR_FLOAT, shape, &err), &err);
    for (int64_t i = 0; i < t.count; i++) ((float *)t.data)[i] = (float)((i * 7 + from) % 11 - 5) / 4;
    return t;
}

static double sum_of(const hr_tensor *t)
{
    double sum = 0;
    for (int64_t i = 0; i < t->count; i++) sum += (double)((const float *)t->data)[i] * (double)(i * 5 % 13 - 6);
    return sum;
}

static void expect_near(const char *name, const char *what, int i, double expected, double got)
{
    if (!(fabs(got - expected) <= 2e-5 * (1 + fabs(expected))))
        fail_msg("%s, %s %d: expected %.9g, got %.9g", name, what, i, expected, got);
}

static double fetch_sum(hr_session *s, const hr_feed *feed, hr_node node)
{
    hr_tensor out;
    hr_error err;
    assert_ok(hr_session_run(s, feed, 1, &node, 1, &out, &err), &err);
    const double sum = sum_of(&out);
    hr_tensor_clear(&out);
    return sum;
}

static void set_variables(hr_graph *g, hr_session *s)
{
    hr_error err;
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const hr_variable_info *v = hr_graph_variable(g, i);
        hr_tensor value = numbers(v->shape, 3 * (i + 1));
        for (int64_t j = 0; strstr(v->name, "variance") && j < value.count; j++) {
            float *at = (float *)value.data + j;
            *at = *at * *at + 0.5f;
        }
        assert_ok(hr_session_set(s, v->handle, &value, &err), &err);
        hr_tensor_clear(&value);
    }
}

static void check_names(const network_case *c, hr_graph *g)
{
    char names[512] = "";
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const hr_variable_info *v = hr_graph_variable(g, i);
        const bool trained = v->sets & HR_TRAINABLE_VARIABLES;
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s%s%s", i ? " " : "", trained ? "" : "(",
                 v->name, trained ? "" : ")");
    }
    if (strcmp(names, c->variables)) fail_msg("%s: expected %s, got %s", c->name, c->variables, names);
}

/* y and its gradients by x and by all that is trained. */
static void check_sums(const network_case *c, hr_graph *g, hr_session *s, const hr_feed *feed, hr_node y)
{
    hr_node xs[1 + VARIABLES] = {feed->node};
    hr_gradient by[1 + VARIABLES];
    hr_tensor out;
    hr_error err;
    int count = 1;
    for (int i = 0; i < hr_graph_variables(g); i++)
        if (hr_graph_variable(g, i)->sets & HR_TRAINABLE_VARIABLES) xs[count++] = hr_graph_variable(g, i)->handle;
    assert_ok(hr_session_run(s, feed, 1, &y, 1, &out, &err), &err);
    if (!hr_shape_equal(out.shape, c->y)) fail_msg("%s: another shape", c->name);
    expect_near(c->name, "sum", 0, c->sums[0], sum_of(&out));
    for (int64_t i = 0; i < out.count; i++) ((float *)out.data)[i] = (float)(i * 5 % 13 - 6);
    const hr_node weights = hr_const(g, &out), loss = hr_reduce_sum(hr_mul(y, weights));
    hr_tensor_clear(&out);
    hr_gradients(&loss, 1, xs, count, by, .zero_unconnected = true);
    for (int i = 0; i < count; i++)
        expect_near(c->name, "sum", i + 1, c->sums[i + 1], fetch_sum(s, feed, hr_gradient_dense(by[i])));
}

/* What collections have: costs, and updates, which are run. */
static void check_collections(const network_case *c, hr_graph *g, hr_session *s, const hr_feed *feed)
{
    int costs, updates;
    hr_error err;
    hr_tensor out;
    const hr_node *cost = hr_get_collection(g, "regularization_losses", &costs);
    assert_int_equal(costs, (c->costs[0] != 0) + (c->costs[1] != 0));
    for (int i = 0; i < costs; i++) expect_near(c->name, "cost", i, c->costs[i] * -6, fetch_sum(s, feed, cost[i]));
    const hr_node *update = hr_get_collection(g, "update_ops", &updates);
    assert_int_equal(updates, c->updates[0] != 0 ? 2 : 0);
    if (updates == 0) return;
    const hr_node targets[] = {hr_target(update[0]), hr_target(update[1])};
    assert_ok(hr_session_run(s, feed, 1, targets, 2, NULL, &err), &err);
    for (int i = 0; i < 2; i++) {
        const int last = hr_graph_variables(g) - 2 + i;
        assert_ok(hr_session_get(s, hr_graph_variable(g, last)->handle, &out, &err), &err);
        expect_near(c->name, "moving average", i, c->updates[i], sum_of(&out));
        hr_tensor_clear(&out);
    }
}

/* Where only the batch of x is unknown, only the batch of y is. */
static void check_known(const network_case *c, hr_shape y)
{
    bool all = true;
    assert_int_equal(y.rank, c->y.rank);
    for (int i = 1; i < c->known.rank; i++) all = all && c->known.dims[i] >= 0;
    for (int i = 0; i < y.rank; i++)
        if (y.dims[i] != c->y.dims[i] && (y.dims[i] >= 0 || (all && i > 0)))
            fail_msg("%s: dimension %d is known as %d", c->name, i, (int)y.dims[i]);
}

static void check_case(const network_case *c)
{
    hr_graph *g = hr_graph_new();
    hr_feed feed = {hr_placeholder(g, HR_FLOAT, c->known.rank ? c->known : c->x), numbers(c->x, 0)};
    const hr_node y = c->make(feed.node);
    if (hr_graph_error(g)) fail_msg("%s: %s", c->name, hr_graph_error(g)->text);
    check_known(c, hr_node_shape(y));
    check_names(c, g);
    hr_session *s = hr_session_new(g);
    set_variables(g, s);
    check_sums(c, g, s, &feed, y);
    check_collections(c, g, s, &feed);
    hr_tensor_clear(&feed.value);
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- the layers ---- */

static hr_regularizer half_l2(void) { return (hr_regularizer){.l2 = 0.1f, .half_l2 = true}; }

static hr_node dense(hr_node x)
{
    return hr_dense(hr_dense(x, 2), 4, .kernel_regularizer = half_l2(), .bias_regularizer = hr_l1(0.01f),
                    .activation = hr_tanh_fn);
}
static hr_node conv1d(hr_node x)
{
    return hr_conv1d(x, 4, 3, .strides = {2}, .padding = HR_SAME, .activation = hr_relu_fn);
}
static hr_node conv1d_dilated(hr_node x) { return hr_conv1d(x, 4, 2, .dilations = {2}, .no_bias = true); }
static hr_node conv2d(hr_node x)
{
    return hr_conv2d(x, 4, 3, 2, .strides = {2, 1}, .padding = HR_SAME, .activation = hr_relu_fn,
                     .kernel_regularizer = half_l2());
}
static hr_node conv2d_first(hr_node x) { return hr_conv2d(x, 4, 3, 2, .channels_first = true); }
static hr_node transpose_same(hr_node x)
{
    return hr_conv2d_transpose(x, 3, 3, 2, .strides = {2}, .padding = HR_SAME, .activation = hr_relu_fn);
}
static hr_node transpose_valid(hr_node x) { return hr_conv2d_transpose(x, 3, 3, 2, .strides = {2, 1}); }
static hr_node separable(hr_node x)
{
    return hr_separable_conv2d(x, 4, 3, 2, .strides = {2}, .padding = HR_SAME, .depth_multiplier = 2,
                               .activation = hr_relu_fn, .kernel_regularizer = half_l2(),
                               .pointwise_regularizer = hr_l1(0.01f));
}
static hr_node separable1d(hr_node x)
{
    return hr_separable_conv1d(x, 4, 3, .strides = {2}, .padding = HR_SAME, .depth_multiplier = 2);
}
static hr_node depthwise(hr_node x)
{
    return hr_depthwise_conv2d(x, 3, 2, .depth_multiplier = 2, .activation = hr_relu_fn);
}
static hr_node max_pool1d(hr_node x) { return hr_max_pool1d(x, 3, .strides = {2}, .padding = HR_SAME); }
static hr_node avg_pool1d(hr_node x) { return hr_avg_pool1d(x, 3, .strides = {2}); }
static hr_node global_average(hr_node x) { return hr_global_avg_pool(x); }
static hr_node global_greatest(hr_node x) { return hr_global_max_pool(x, .channels_first = true, .keep_dims = true); }
static hr_node flatten(hr_node x) { return hr_flatten(x); }
static hr_node norm(hr_node x) { return hr_batch_normalization(x); }
static hr_node norm_training(hr_node x)
{
    return hr_batch_normalization(x, .training = true, .momentum = HR_F32(.9f), .epsilon = HR_F32(.01f));
}
static hr_node norm_axis(hr_node x)
{
    return hr_batch_normalization(x, .training = true, .axis = &(int){1}, .no_scale = true);
}
static hr_node norm_fused(hr_node x) { return hr_batch_normalization(x, .training = true, .momentum = HR_F32(.9f)); }
static hr_node norm_first(hr_node x)
{
    return hr_batch_normalization(x, .training = true, .axis = &(int){1}, .no_center = true,
                                  .gamma_regularizer = half_l2());
}
static hr_node norm_unfused(hr_node x) { return hr_batch_normalization(x, .training = true, .not_fused = true); }
static hr_node norm_chosen(hr_node x, double above)
{
    return hr_batch_normalization(x, .is_training = hr_greater(hr_reduce_sum(x), hr_scalar_like(x, above)));
}
static hr_node norm_true(hr_node x) { return norm_chosen(x, -1e9); }
static hr_node norm_false(hr_node x) { return norm_chosen(x, 1e9); }
static hr_node rows(hr_node x) { return hr_layer_normalization(x); }
static hr_node rows_of_two(hr_node x)
{
    return hr_layer_normalization(x, .begin_norm_axis = &(int){1}, .epsilon = HR_F32(.01f), .no_center = true);
}
static hr_node rows_of_slim(hr_node x)
{
    return hr_layer_normalization(x, .begin_norm_axis = &(int){1}, .begin_params_axis = &(int){-1},
                                  .epsilon = HR_F32(1e-12f), .name = "LayerNorm");
}

#define S(...)                                                                                                         \
    {                                                                                                                  \
        .rank = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .dims = { __VA_ARGS__ }                                    \
    }
#define NORM "batch_normalization/"
#define MOVING "(" NORM "moving_mean) (" NORM "moving_variance)"
#define NORM_VARIABLES NORM "gamma " NORM "beta " MOVING
#define CASE(n, fn, given, partly, gives, names, ...)                                                                  \
    {                                                                                                                  \
        .name = n, .make = fn, .x = given, .known = partly, .y = gives, .variables = names, __VA_ARGS__                \
    }
static const network_case cases[] = {
    CASE("dense", dense, S(3, 5), S(-1, 5), S(3, 4), "dense/kernel dense/bias dense_1/kernel dense_1/bias",
         .sums = {9.85985878, -121.68036, 44.6598625, 73.2228012, 57.1155083, 69.4097622}, .costs = {.234375, .0325}),
    CASE("conv1d", conv1d, S(2, 6, 3), S(-1, 6, 3), S(2, 3, 4), "conv1d/kernel conv1d/bias",
         .sums = {-30.0625, 26.25, 85, 48}),
    CASE("conv1d_dilated", conv1d_dilated, S(2, 6, 3), S(-1, -1, 3), S(2, 4, 4), "conv1d/kernel",
         .sums = {-25.25, 20.75, -79.75}),
    CASE("conv2d", conv2d, S(2, 5, 6, 3), S(-1, -1, -1, 3), S(2, 3, 6, 4), "conv2d/kernel conv2d/bias",
         .sums = {30.5, -281.25, -227, 13}, .costs = {2.234375}),
    CASE("conv2d_first", conv2d_first, S(2, 3, 5, 6), S(-1, 3, 5, 6), S(2, 4, 3, 5), "conv2d/kernel conv2d/bias",
         .sums = {-49.875, 527.25, -6.75, 66}),
    CASE("transpose_same", transpose_same, S(2, 3, 3, 4), S(-1, 3, 3, 4), S(2, 6, 6, 3),
         "conv2d_transpose/kernel conv2d_transpose/bias", .sums = {-15.8125, 282.75, 577.25, -106}),
    CASE("transpose_valid", transpose_valid, S(2, 3, 3, 4), S(-1, -1, 3, 4), S(2, 7, 4, 3),
         "conv2d_transpose/kernel conv2d_transpose/bias", .sums = {20.75, 303, -116.75, 72}),
    CASE("separable", separable, S(2, 5, 6, 3), S(-1, 5, 6, 3), S(2, 3, 3, 4),
         "separable_conv2d/depthwise_kernel separable_conv2d/pointwise_kernel separable_conv2d/bias",
         .sums = {168, 406.4375, 92.875, -230.5625, -2}, .costs = {1.125, .16}),
    CASE("separable1d", separable1d, S(2, 6, 3), S(-1, 6, 3), S(2, 3, 4),
         "separable_conv1d/depthwise_kernel separable_conv1d/pointwise_kernel separable_conv1d/bias",
         .sums = {-29.5625, -224.875, -102.3125, 301.8125, 95}),
    CASE("depthwise", depthwise, S(2, 5, 6, 3), S(-1, 5, 6, 3), S(2, 3, 5, 6),
         "depthwise_conv2d/depthwise_kernel depthwise_conv2d/bias", .sums = {6.0625, 98, 74.75, 75}),
    CASE("max_pool1d", max_pool1d, S(2, 7, 3), S(-1, 7, 3), S(2, 4, 3), "", .sums = {-54.5, 35}),
    CASE("avg_pool1d", avg_pool1d, S(2, 7, 3), S(-1, 7, 3), S(2, 3, 3), "", .sums = {-24, 13}),
    CASE("global_average", global_average, S(2, 5, 6, 3), S(-1, 5, 6, 3), S(2, 3), "", .sums = {-.7, 2.66666666}),
    CASE("global_greatest", global_greatest, S(2, 3, 5, 6), S(-1, 3, -1, -1), S(2, 3, 1, 1), "",
         .sums = {0, 42.3333338}),
    CASE("flatten", flatten, S(2, 2, 3, 2), S(-1, 2, 3, 2), S(2, 12), "", .sums = {17, 351}),
    CASE("flatten of unknown lengths", flatten, S(2, 2, 3, 2), S(-1, -1, 3, 2), S(2, 12), "", .sums = {17, 351}),
    CASE("norm", norm, S(4, 5), S(-1, 5), S(4, 5), NORM_VARIABLES, .sums = {28.2689622, -51.8367624, 53.2006726, 30}),
    CASE("norm_training", norm_training, S(4, 5), S(-1, 5), S(4, 5), NORM_VARIABLES,
         .sums = {18.1211294, -118.461039, -107.133083, 30}, .updates = {-11.4562501, -14.1363283}),
    CASE("norm_axis", norm_axis, S(2, 3, 4), S(-1, 3, -1), S(2, 3, 4), NORM "beta " MOVING,
         .sums = {38.4919758, 373.416341, 39}, .updates = {3.19656256, -3.48561549}),
    CASE("norm of images", norm, S(2, 3, 2, 3), S(-1, 3, 2, 3), S(2, 3, 2, 3), NORM_VARIABLES,
         .sums = {11.3798065, 204.901687, -25.1714659, 19}),
    CASE("norm_fused", norm_fused, S(2, 3, 2, 3), S(-1, -1, -1, 3), S(2, 3, 2, 3), NORM_VARIABLES,
         .sums = {20.0471894, 192.351844, 4.86364532, 19}, .updates = {-8.95833296, -7.29062474}),
    CASE("norm_first", norm_first, S(2, 3, 2, 3), S(-1, 3, 2, 3), S(2, 3, 2, 3), NORM "gamma " MOVING,
         .sums = {19.3828473, 113.382314, -24.8303804}, .costs = {.09375}, .updates = {3.22583333, -3.48563462}),
    CASE("norm_unfused", norm_unfused, S(2, 3, 2, 3), S(-1, 3, 2, 3), S(2, 3, 2, 3), NORM_VARIABLES,
         .sums = {20.0471891, 192.351845, 4.86364746, 19}, .updates = {-9.8958334, -7.75815094}),
    CASE("norm_true of images", norm_true, S(2, 3, 2, 3), S(-1, 3, 2, 3), S(2, 3, 2, 3), NORM_VARIABLES,
         .sums = {20.0471894, 192.351844, 4.86364532, 19}, .updates = {-9.8958334, -7.76031232}),
    CASE("norm_true", norm_true, S(4, 5), S(-1, 5), S(4, 5), NORM_VARIABLES,
         .sums = {18.0350921, -118.629462, -108.555329, 30}, .updates = {-13.0706251, -15.1948828}),
    CASE("norm_false of images", norm_false, S(2, 3, 2, 3), S(-1, 3, 2, 3), S(2, 3, 2, 3), NORM_VARIABLES,
         .sums = {11.3798065, 204.901687, -25.1714659, 19}, .updates = {-10, -7.8125}),
    CASE("norm_false", norm_false, S(4, 5), S(-1, 5), S(4, 5), NORM_VARIABLES,
         .sums = {28.2689622, -51.8367624, 53.2006726, 30}, .updates = {-13.25, -15.3125}),
    CASE("rows", rows, S(2, 3, 5), S(-1, 3, 5), S(2, 3, 5), "layer_normalization/gamma layer_normalization/beta",
         .sums = {35.3336406, -28.1835271, -108.655214, -36}),
    CASE("rows_of_two", rows_of_two, S(2, 3, 5), S(-1, 3, 5), S(2, 3, 5), "layer_normalization/gamma",
         .sums = {7.82376423, -114.949685, -145.244246}),
};

static void layers_have_tensorflows_names_values_and_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}

/* Slim makes beta first; the expected sums are of the same values for the same names. */
static void rows_are_normalized_as_slim_does(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_feed feed = {hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3, 5)), numbers(HR_SHAPE(2, 3, 5), 0)};
    const hr_node y = rows_of_slim(feed.node);
    hr_session *s = hr_session_new(g);
    static const char *const names[] = {"LayerNorm/beta", "LayerNorm/gamma"};
    for (int i = 0; i < 2; i++) {
        hr_error err;
        hr_tensor value = numbers(HR_SHAPE(5), 3 * (i + 1));
        assert_non_null(hr_variable_named(g, names[i]));
        assert_ok(hr_session_set(s, hr_variable_named(g, names[i])->handle, &value, &err), &err);
        hr_tensor_clear(&value);
    }
    expect_near("slim", "sum", 0, -44.7530098, fetch_sum(s, &feed, y));
    hr_tensor_clear(&feed.value);
    hr_session_free(s);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_tensorflows_names_values_and_gradients),
        cmocka_unit_test(rows_are_normalized_as_slim_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
