/* Layers of neural networks in use: a net learns; weights are shared and have types. */
#include "tests/testing.h"
#include "train/layers/layers.h"
#include "train/optimizers/optimizers.h"

#include <headrace/eager.h>
#include <string.h>

/* ---- learning ---- */

enum { DIGITS = 4, SIDE = 8, BATCH = 16 };

/* Strokes of 0, 1, 4 and 7 in eight rows of bits, shifted and blurred by noise. */
static void draw(hr_tensor *images, hr_tensor *labels, uint32_t *random)
{
    static const uint8_t strokes[DIGITS][SIDE] = {{0, 0x3c, 0x24, 0x24, 0x24, 0x24, 0x3c, 0},
                                                  {0, 0x08, 0x18, 0x08, 0x08, 0x08, 0x08, 0},
                                                  {0, 0x24, 0x24, 0x3c, 0x04, 0x04, 0x04, 0},
                                                  {0, 0x3c, 0x04, 0x08, 0x08, 0x10, 0x10, 0}};
    for (int i = 0; i < BATCH; i++) {
        const int digit = i % DIGITS;
        *random = *random * 1664525 + 1013904223;
        const int shift = (int)(*random >> 30) % 3;
        ((int64_t *)labels->data)[i] = digit;
        for (int at = 0; at < SIDE * SIDE; at++) {
            *random = *random * 1664525 + 1013904223;
            const bool set = (strokes[digit][at / SIDE] << 1 >> shift) >> (SIDE - 1 - at % SIDE) & 1;
            ((float *)images->data)[i * SIDE * SIDE + at] = (float)set + (float)(*random >> 24) / 512;
        }
    }
}

typedef struct lenet {
    hr_feed feeds[3]; /* images, labels, whether it trains */
    hr_node loss, train, right;
} lenet;

static lenet lenet_new(hr_graph *g)
{
    lenet n = {.feeds = {{.node = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, SIDE, SIDE, 1), .name = "images")},
                         {.node = hr_placeholder(g, HR_INT64, HR_SHAPE(-1), .name = "labels")},
                         {.node = hr_placeholder(g, HR_BOOL, HR_SCALAR, .name = "training")}}};
    int count;
    hr_node net = hr_conv2d(n.feeds[0].node, 6, 3, 3, .padding = HR_SAME, .activation = hr_relu_fn,
                            .kernel_regularizer = hr_l2(1e-4f));
    net = hr_max_pool(net, 2, 2);
    net = hr_batch_normalization(net, .is_training = n.feeds[2].node, .momentum = HR_F32(.8f));
    net = hr_conv2d(net, 12, 3, 3, .activation = hr_relu_fn, .no_bias = true);
    net = hr_avg_pool(net, 2, 2);
    net = hr_dense(hr_flatten(net), 16, .activation = hr_relu_fn);
    const hr_node logits = hr_dense(net, DIGITS);
    hr_sparse_softmax_cross_entropy_loss(n.feeds[1].node, logits);
    n.loss = hr_get_total_loss(g);
    const hr_node *updates = hr_get_collection(g, "update_ops", &count);
    assert_int_equal(count, 2);
    hr_control_dependencies(g, updates, count);
    n.train = hr_minimize(hr_adam(0.01f), n.loss);
    hr_control_end(g);
    n.right = hr_reduce_mean(hr_cast_to(hr_in_top_k(logits, n.feeds[1].node, 1), HR_FLOAT));
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    return n;
}

static float lenet_run(hr_session *s, lenet *n, hr_node node)
{
    hr_tensor out = {0};
    hr_error err;
    assert_ok(hr_session_run(s, n->feeds, 3, &node, 1, &out, &err), &err);
    const float value = node.output < 0 ? 0 : *(const float *)out.data;
    hr_tensor_clear(&out);
    return value;
}

static void a_small_net_learns_digits(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_error err;
    bool training = true;
    uint32_t random = 1;
    hr_set_random_seed(g, 3);
    lenet n = lenet_new(g);
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_tensor_new(&n.feeds[0].value, HR_FLOAT, HR_SHAPE(BATCH, SIDE, SIDE, 1), &err), &err);
    assert_ok(hr_tensor_new(&n.feeds[1].value, HR_INT64, HR_SHAPE(BATCH), &err), &err);
    n.feeds[2].value = hr_tensor_of(HR_BOOL, HR_SCALAR, &training);
    draw(&n.feeds[0].value, &n.feeds[1].value, &random);
    const float before = lenet_run(s, &n, n.loss);
    for (int step = 0; step < 80; step++) {
        draw(&n.feeds[0].value, &n.feeds[1].value, &random);
        lenet_run(s, &n, hr_target(n.train));
    }
    training = false;
    float right = 0;
    for (int i = 0; i < 4; i++) {
        draw(&n.feeds[0].value, &n.feeds[1].value, &random);
        right += lenet_run(s, &n, n.right) / 4;
    }
    assert_less(lenet_run(s, &n, n.loss), before / 4);
    assert_more(right, 0.9);
    hr_tensor_clear(&n.feeds[0].value);
    hr_tensor_clear(&n.feeds[1].value);
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- scopes, types, groups ---- */

static void a_weight_that_is_shared_costs_once(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4, 4, 2));
    int count;
    for (int i = 0; i < 2; i++) {
        hr_variable_scope(g, "net", .reuse = HR_AUTO_REUSE);
        hr_conv2d(x, 3, 2, 2, .kernel_regularizer = hr_l2(1), .name = "c");
        hr_batch_normalization(x, .gamma_regularizer = hr_l1(1), .name = "n");
        hr_scope_end(g);
    }
    assert_null(hr_graph_error(g));
    assert_int_equal(hr_graph_variables(g), 6);
    hr_get_collection(g, "regularization_losses", &count);
    assert_int_equal(count, 2);
    hr_graph_free(g);
}

static void scoped_dense(hr_node x, const char *scope, hr_reuse reuse)
{
    hr_variable_scope(x.graph, scope, .reuse = reuse);
    hr_dense(x, 2, .no_bias = true);
    hr_scope_end(x.graph);
}

static void share_by_scope(hr_node x)
{
    for (int i = 0; i < 2; i++) {
        hr_variable_scope(x.graph, "net", .reuse = HR_AUTO_REUSE);
        for (int j = 0; j < 2; j++) hr_dense(x, 2, .no_bias = true);
        for (int j = 0; j < 2; j++) scoped_dense(x, "in", HR_REUSE_NEVER);
        hr_scope_end(x.graph);
    }
}
static void twice_by_scope(hr_node x)
{
    for (int i = 0; i < 2; i++) scoped_dense(x, "net", HR_REUSE_NEVER);
}
static void named_and_not(hr_node x)
{
    hr_dense(x, 2, .no_bias = true, .name = "dense");
    hr_dense(x, 2, .no_bias = true);
    hr_variable_scope(x.graph, "dense_2");
    hr_scope_end(x.graph);
    for (int j = 0; j < 2; j++) hr_dense(x, 2, .no_bias = true);
}
static void beside_variables(hr_node x)
{
    hr_dense(x, 2, .no_bias = true);
    hr_get_variable(x.graph, "dense_1/y", HR_FLOAT, HR_SHAPE(1));
    hr_dense(x, 2, .no_bias = true);
}

/* The names, and the error, of the same lines in tf.compat.v1. */
static void scopes_that_begin_again_have_the_same_names(void **state)
{
    (void)state;
    static const struct {
        void (*make)(hr_node x);
        const char *names, *error;
    } scopes[] = {
        {share_by_scope, "net/dense/kernel net/dense_1/kernel net/in/dense/kernel ", NULL},
        {twice_by_scope, "net/dense/kernel ", "variable 'net/dense/kernel' exists already"},
        {named_and_not, "dense/kernel dense_1/kernel dense_3/kernel dense_4/kernel ", NULL},
        {beside_variables, "dense/kernel dense_1/y dense_1/kernel ", NULL},
    };
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        hr_graph *g = hr_graph_new();
        char names[256] = "";
        scopes[i].make(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3)));
        for (int j = 0; j < hr_graph_variables(g); j++) {
            strcat(names, hr_graph_variable(g, j)->name);
            strcat(names, " ");
        }
        assert_string_equal(names, scopes[i].names);
        assert_int_equal(hr_graph_error(g) != NULL, scopes[i].error != NULL);
        if (scopes[i].error) assert_non_null(strstr(hr_graph_error(g)->text, scopes[i].error));
        hr_graph_free(g);
    }
}

/* Slim normalizes between the sum and the activation, in the layer's scope. */
static hr_node norm_relu(hr_node x)
{
    return hr_relu(hr_batch_normalization(x, .name = "BatchNorm", .no_scale = true));
}

static void variables_have_slims_names_if_asked(void **state)
{
    (void)state;
    static const char *const names[] = {"Conv/weights",
                                        "Conv/biases",
                                        "Conv_1/weights",
                                        "Conv_1/BatchNorm/beta",
                                        "Conv_1/BatchNorm/moving_mean",
                                        "Conv_1/BatchNorm/moving_variance",
                                        "Conv2d_transpose/weights",
                                        "Conv2d_transpose/biases",
                                        "SeparableConv2d/depthwise_weights",
                                        "SeparableConv2d/pointwise_weights",
                                        "SeparableConv2d/biases",
                                        "fully_connected/weights",
                                        "fully_connected/biases"};
    hr_graph *g = hr_graph_new();
    hr_node net = hr_conv2d(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4, 4, 2)), 2, 2, 2, .slim = true);
    net = hr_conv2d(net, 2, 2, 2, .no_bias = true, .activation = norm_relu, .slim = true);
    net = hr_conv2d_transpose(net, 2, 2, 2, .slim = true);
    net = hr_separable_conv2d(net, 2, 2, 2, .slim = true);
    hr_dense(hr_flatten(net), 2, .slim = true);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_int_equal(hr_graph_variables(g), sizeof names / sizeof *names);
    for (int i = 0; i < hr_graph_variables(g); i++) assert_string_equal(hr_graph_variable(g, i)->name, names[i]);
    hr_graph_free(g);
}

/* Weights are cut as the scope says, moving averages never. */
static void moving_averages_stay_whole(void **state)
{
    (void)state;
    static const float rows[] = {1, 2, 3, 4, 5, 9, 7, 8};
    hr_graph *g = hr_graph_new();
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 4), rows);
    int count;
    hr_error err;
    hr_tensor out;
    hr_variable_scope(g, "net", .partitioner = hr_fixed_size_partitioner(2, 0));
    hr_batch_normalization(hr_dense(hr_const(g, &t), 4), .training = true, .momentum = HR_F32(.5f));
    hr_scope_end(g);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_non_null(hr_variable_named(g, "net/dense/kernel/part_0"));
    assert_non_null(hr_variable_named(g, "net/batch_normalization/gamma/part_1"));
    const hr_variable_info *mean = hr_variable_named(g, "net/batch_normalization/moving_mean");
    assert_non_null(mean);
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    const hr_node update = hr_target(hr_get_collection(g, "update_ops", &count)[0]);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, &update, 1, NULL, &err), &err);
    assert_ok(hr_session_get(s, mean->handle, &out, &err), &err);
    assert_differs(*(const float *)out.data, 0);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

/* What an op writes is whole, too: slots, sums of gradients, totals of metrics. */
static void what_training_writes_stays_whole(void **state)
{
    (void)state;
    static const float rows[] = {1, 2, 3, 4, 5, 9, 7, 8};
    hr_graph *g = hr_graph_new();
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 4), rows);
    hr_error err;
    hr_variable_scope(g, "net", .partitioner = hr_fixed_size_partitioner(2, 0));
    const hr_node y = hr_dense(hr_const(g, &t), 4), loss = hr_reduce_mean(hr_square(y));
    const hr_node steps[] = {hr_minimize(hr_adam(.01f, .v1 = true), loss, .accumulate = 2),
                             hr_minimize(hr_adam(.02f, .v1 = true), loss, .accumulate = 2),
                             hr_target(hr_metric_auc(hr_greater(y, hr_scalar(g, HR_FLOAT, 0)), hr_sigmoid(y)).update)};
    hr_scope_end(g);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    const hr_node init[] = {hr_target(hr_global_variables_initializer(g)),
                            hr_target(hr_local_variables_initializer(g))};
    assert_ok(hr_session_run(s, NULL, 0, init, 2, NULL, &err), &err);
    for (int i = 0; i < 4; i++) assert_ok(hr_session_run(s, NULL, 0, steps, 3, NULL, &err), &err);
    hr_session_free(s);
    hr_graph_free(g);
}

static void weights_have_the_type_of_the_input(void **state)
{
    (void)state;
    static const hr_dtype types[][2] = {{HR_DOUBLE, HR_DOUBLE}, {HR_HALF, HR_FLOAT}, {HR_FLOAT, HR_FLOAT}};
    for (int i = 0; i < 3; i++) {
        hr_graph *g = hr_graph_new();
        const hr_node x = hr_placeholder(g, types[i][0], HR_SHAPE(-1, 4, 4, 2));
        const hr_node y[] = {hr_conv2d(x, 3, 2, 2), hr_batch_normalization(x, .training = true),
                             hr_layer_normalization(x), hr_separable_conv2d(x, 2, 2, 2),
                             hr_batch_normalization(hr_flatten(x), .training = true)};
        if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
        for (int j = 0; j < 5; j++) assert_int_equal(hr_node_dtype(y[j]), types[i][0]);
        assert_int_equal(hr_variable_named(g, "conv2d/kernel")->dtype, types[i][0]);
        assert_int_equal(hr_variable_named(g, "batch_normalization_1/gamma")->dtype, types[i][1]);
        hr_graph_free(g);
    }
}

/* As TensorFlow's: a model in double, with costs of its weights, has a total loss and gradients in double. */
static void cross_entropies_have_the_type_of_the_logits(void **state)
{
    (void)state;
    hr_error err;
    const double row[] = {1, 2.5, -.5}, softmax[] = {0.1752903921400367, 0.7855970345892759, 0.03911257327068745};
    const double sigmoid[] = {0.7310585786300049, 0.9241418199787566, 0.3775406687981454};
    const hr_tensor t = hr_tensor_of(HR_DOUBLE, HR_SHAPE(1, 3), row);
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_const(g, &t);
    hr_dense(x, 2, .kernel_regularizer = hr_l2(.1f));
    const hr_node zeros = hr_cast_to(hr_zeros_like(x), HR_FLOAT);
    const hr_node rare = hr_one_hot(hr_ints(g, (const int64_t[]){7}, 1), 3);
    const hr_node loss[] = {hr_sparse_softmax_cross_entropy_loss(hr_ints(g, (const int64_t[]){1}, 1), x),
                            hr_softmax_cross_entropy_loss(rare, x),
                            hr_sigmoid_cross_entropy_loss(zeros, x, .reduction = HR_REDUCTION_SUM)};
    assert_int_equal(hr_node_dtype(hr_get_total_loss(g)), HR_DOUBLE);
    hr_gradient by_x[3];
    for (int i = 0; i < 3; i++) hr_gradients(&loss[i], 1, &x, 1, &by_x[i]);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    const hr_node fetches[] = {by_x[0].values, by_x[2].values};
    hr_tensor out[2];
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, fetches, 2, out, &err), &err);
    for (int i = 0; i < 3; i++) {
        assert_near(((const double *)out[0].data)[i], softmax[i] - (i == 1), 1e-12);
        assert_near(((const double *)out[1].data)[i], sigmoid[i], 1e-12);
    }
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
    hr_session_free(s);
    hr_graph_free(g);
}

static hr_tensor numbers(hr_shape shape, int from)
{
    hr_tensor t;
    hr_error err;
    assert_ok(hr_tensor_new(&t, HR_FLOAT, shape, &err), &err);
    for (int64_t i = 0; i < t.count; i++) ((float *)t.data)[i] = (float)((i * 7 + from) % 11 - 5) / 4;
    return t;
}

/* Two groups of two channels: the second two filters are those of a convolution of the second two channels. */
static void groups_are_convolutions_side_by_side(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const hr_tensor ones = numbers(HR_SHAPE(1, 3, 3, 4), 2);
    hr_tensor kernel = numbers(HR_SHAPE(2, 2, 2, 4), 1), out[2];
    hr_error err;
    const hr_node x = hr_const(g, &ones);
    const hr_node all = hr_conv2d(x, 4, 2, 2, .groups = 2, .kernel_initializer = hr_initial_value(&kernel));
    hr_subscript halves[] = {{0}, {0}, {0}, {.begin = HR_I64(2)}};
    const hr_node whole = hr_variable_named(g, "conv2d/kernel")->read;
    const hr_node second = hr_convolution(hr_strided_slice_with(x, halves, 4), hr_strided_slice_with(whole, halves, 4));
    const hr_node both[] = {hr_strided_slice_with(all, halves, 4), second};
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, both, 2, out, &err), &err);
    assert_int_equal(out[0].count, 8);
    assert_memory_equal(out[0].data, out[1].data, 8 * sizeof(float));
    for (int i = 0; i < 2; i++) hr_tensor_clear(&out[i]);
    hr_tensor_clear(&kernel);
    hr_tensor_clear((hr_tensor *)&ones);
    hr_session_free(s);
    hr_graph_free(g);
}

static void an_embedding_gives_rows_by_id(void **state)
{
    (void)state;
    static const int32_t ids[] = {2, 0, 2, 1};
    static const float table[] = {1, 2, 3, 4, 5, 6}, expected[] = {5, 6, 1, 2, 5, 6, 3, 4};
    hr_graph *g = hr_graph_new();
    hr_feed feed = {hr_placeholder(g, HR_INT32, HR_SHAPE(-1, 2)), hr_tensor_of(HR_INT32, HR_SHAPE(2, 2), ids)};
    const hr_tensor values = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), table);
    const hr_node rows = hr_embedding(feed.node, 3, 2, .initializer = hr_initial_value(&values));
    assert_non_null(hr_variable_named(g, "embedding/embeddings"));
    assert_int_equal(hr_node_shape(rows).rank, 3);
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    hr_error err;
    hr_tensor out;
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, &feed, 1, &rows, 1, &out, &err), &err);
    assert_memory_equal(out.data, expected, sizeof expected);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

/* Whole channels are dropped together. */
static void dropout_takes_a_shape_of_its_noise(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const hr_node ones = hr_fill(hr_shape_const(g, HR_SHAPE(50, 4)), hr_scalar(g, HR_FLOAT, 1));
    const hr_node y = hr_dropout(ones, 0.5f, .seed = 7, .noise_shape = hr_shape_const(g, HR_SHAPE(50, 1)));
    hr_session *s = hr_session_new(g);
    hr_tensor out;
    hr_error err;
    int kept = 0;
    assert_ok(hr_session_run(s, NULL, 0, &y, 1, &out, &err), &err);
    for (int i = 0; i < 200; i++) {
        const float value = ((const float *)out.data)[i];
        assert_true(value == 0 || value == 2);
        assert_true(value == ((const float *)out.data)[i / 4 * 4]);
        kept += value > 0;
    }
    assert_in_range(kept, 40, 160);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

static void dropout_may_be_chosen_by_a_run(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    bool training = false;
    hr_feed feed = {hr_placeholder(g, HR_BOOL, HR_SCALAR), hr_tensor_of(HR_BOOL, HR_SCALAR, &training)};
    const hr_node x = hr_fill(hr_shape_const(g, HR_SHAPE(100)), hr_scalar(g, HR_FLOAT, 1));
    const hr_node sum = hr_reduce_max(hr_dropout(x, 0.5f, .seed = 7, .is_training = feed.node));
    hr_session *s = hr_session_new(g);
    for (int i = 0; i < 2; i++, training = true) {
        hr_tensor out;
        hr_error err;
        assert_ok(hr_session_run(s, &feed, 1, &sum, 1, &out, &err), &err);
        assert_exactly(*(const float *)out.data, i + 1);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

/* Values of tf.nn.leaky_relu, swish, gelu and softmax at -2, -0.5, 0.25 and 3. */
static void activations_are_tensorflows(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        float expected[4];
    } all[] = {{"leaky_relu", {-0.40000001f, -0.1f, 0.25f, 3}},
               {"swish", {-0.23840584f, -0.18877034f, 0.14054413f, 2.8577223f}},
               {"gelu", {-0.045500278f, -0.15426877f, 0.14967659f, 2.9959502f}},
               {"softmax", {0.0061206026f, 0.027430641f, 0.058070663f, 0.90837806f}}};
    static const float x[] = {-2, -0.5f, 0.25f, 3};
    for (int i = 0; i < 4; i++) {
        hr_graph *g = hr_graph_new();
        const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4), x);
        const hr_node y = hr_activation_named(all[i].name)(hr_const(g, &t));
        hr_session *s = hr_session_new(g);
        hr_tensor out;
        hr_error err;
        assert_ok(hr_session_run(s, NULL, 0, &y, 1, &out, &err), &err);
        for (int j = 0; j < 4; j++) assert_near(((const float *)out.data)[j], all[i].expected[j], 1e-6);
        hr_tensor_clear(&out);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

/* An eager graph moves the averages at once. */
static void an_eager_layer_moves_its_averages(void **state)
{
    (void)state;
    static const float rows[] = {1, 2, 3, 4, 5, 9};
    hr_graph *g = hr_eager_new();
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), rows);
    const hr_node x = hr_const(g, &t);
    hr_batch_normalization(x, .training = true, .momentum = HR_F32(.5f), .beta_regularizer = hr_l2(1));
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_variable_scope(g, "batch_normalization", .reuse = HR_REUSE);
    const hr_node mean = hr_get_variable(g, "moving_mean", HR_FLOAT, HR_SHAPE(2));
    hr_scope_end(g);
    const float *got = hr_eager_tensor(hr_identity(mean))->data;
    assert_near(got[0], 1.5, 1e-6);
    assert_near(got[1], 2.5, 1e-6);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_net_learns_digits),
        cmocka_unit_test(a_weight_that_is_shared_costs_once),
        cmocka_unit_test(scopes_that_begin_again_have_the_same_names),
        cmocka_unit_test(variables_have_slims_names_if_asked),
        cmocka_unit_test(moving_averages_stay_whole),
        cmocka_unit_test(what_training_writes_stays_whole),
        cmocka_unit_test(weights_have_the_type_of_the_input),
        cmocka_unit_test(cross_entropies_have_the_type_of_the_logits),
        cmocka_unit_test(groups_are_convolutions_side_by_side),
        cmocka_unit_test(an_embedding_gives_rows_by_id),
        cmocka_unit_test(dropout_takes_a_shape_of_its_noise),
        cmocka_unit_test(dropout_may_be_chosen_by_a_run),
        cmocka_unit_test(activations_are_tensorflows),
        cmocka_unit_test(an_eager_layer_moves_its_averages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
