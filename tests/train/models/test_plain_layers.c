/* Layers of shapes, activations, ids and noise: what they compute, what they refuse. */
#include "tests/testing.h"

#include <headrace/models.h>
#include <math.h>

/* What a model of this layer alone makes of rows. Takes the layer; gives *out. */
static void through(hr_layer *layer, hr_shape row, const hr_tensor *x, hr_tensor *out)
{
    hr_model *m = hr_sequential(HR_LAYERS(layer), .input_shape = row);
    if (hr_model_error(m)) fail_msg("%s", hr_model_error(m)->text);
    if (hr_predict_on_batch(m, x, NULL, 1, out) != HR_OK) fail_msg("%s", hr_model_error(m)->text);
    hr_model_free(m);
}

static void each_becomes(hr_layer *layer, const float *x, const float *expected, int count)
{
    const hr_tensor rows = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, count), x);
    hr_tensor y;
    through(layer, HR_SHAPE(count), &rows, &y);
    assert_shape(y.shape, HR_SHAPE(1, count));
    for (int i = 0; i < count; i++) assert_near(((const float *)y.data)[i], expected[i], 1e-6);
    hr_tensor_clear(&y);
}

static void activations_have_their_arguments(void **state)
{
    (void)state;
    static const float x[] = {-2, -0.5f, 0.1f, 0.5f, 3};
    each_becomes(hr_relu_layer(), x, HR_F32(0, 0, 0.1f, 0.5f, 3), 5);
    each_becomes(hr_relu_layer(.max_value = HR_F32(2), .negative_slope = 0.1f, .threshold = 0.2f), x,
                 HR_F32(-0.22f, -0.07f, -0.01f, 0.5f, 2), 5);
    each_becomes(hr_relu_layer(.max_value = HR_F32(0)), x, HR_F32(0, 0, 0, 0, 0), 5);
    each_becomes(hr_relu_layer(.max_value = HR_F32(6), .negative_slope = 1), x, x, 5);
    each_becomes(hr_leaky_relu_layer(), x, HR_F32(-0.6f, -0.15f, 0.1f, 0.5f, 3), 5);
    each_becomes(hr_leaky_relu_layer(.alpha = HR_F32(0)), x, HR_F32(0, 0, 0.1f, 0.5f, 3), 5);
    each_becomes(hr_elu_layer(.alpha = HR_F32(2)), x, HR_F32(2 * expm1f(-2), 2 * expm1f(-0.5f), 0.1f, 0.5f, 3), 5);
    each_becomes(hr_thresholded_relu_layer(), x, HR_F32(0, 0, 0, 0, 3), 5);
    each_becomes(hr_thresholded_relu_layer(.theta = HR_F32(0.1f)), x, HR_F32(0, 0, 0, 0.5f, 3), 5);
    each_becomes(hr_prelu_layer(.alpha_initializer = hr_constant_value(0.25)), x, HR_F32(-0.5f, -0.125f, 0.1f, 0.5f, 3),
                 5);
    each_becomes(hr_activation_layer("hard_sigmoid"), x, HR_F32(0.1f, 0.4f, 0.52f, 0.6f, 1), 5);
    each_becomes(hr_activation_layer(NULL, .fn = hr_relu_fn), x, HR_F32(0, 0, 0.1f, 0.5f, 3), 5);
    each_becomes(hr_activation_layer("linear"), x, x, 5);
    each_becomes(hr_activation_layer("exponential"), x, HR_F32(expf(-2), expf(-0.5f), expf(0.1f), expf(0.5f), expf(3)),
                 5);
    each_becomes(hr_activation_layer("mish"), HR_F32(1, -1), HR_F32(0.86509839f, -0.30340147f), 2);
    each_becomes(hr_activation_layer("log_softmax"), HR_F32(0, 0), HR_F32(-logf(2), -logf(2)), 2);
}

/* Rows of two pairs: along axis 1 the numbers of a pair's place are shared out. */
static void softmax_is_along_any_axis(void **state)
{
    (void)state;
    static const float x[] = {0, 1, 0, 3};
    const hr_tensor row = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 2), x);
    const float third = 1 / (1 + expf(2)), expected[] = {0.5f, third, 0.5f, 1 - third};
    hr_tensor y;
    through(hr_softmax_layer(.axis = (const int[]){1}), HR_SHAPE(2, 2), &row, &y);
    for (int i = 0; i < 4; i++) assert_near(((const float *)y.data)[i], expected[i], 1e-6);
    hr_tensor_clear(&y);
}

static void rows_have_other_shapes(void **state)
{
    (void)state;
    static const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const float turned[] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
    static const float twice[] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11};
    const hr_tensor rows = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 3), x),
                    flat = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 6), x);
    const hr_tensor single = hr_tensor_of(HR_FLOAT, HR_SHAPE(12), x);
    const struct {
        hr_layer *layer;
        hr_shape row;
        const hr_tensor *in;
        hr_shape out;
        const float *expected;
    } all[] = {
        {hr_flatten_layer(), HR_SHAPE(2, 3), &rows, HR_SHAPE(2, 6), x},
        {hr_flatten_layer(.channels_first = true), HR_SHAPE(2, 3), &rows, HR_SHAPE(2, 6), turned},
        {hr_flatten_layer(), HR_SHAPE(-1, 3), &rows, HR_SHAPE(2, 6), x},
        {hr_reshape_layer(HR_SHAPE(-1, 2)), HR_SHAPE(2, 3), &rows, HR_SHAPE(2, 3, 2), x},
        {hr_reshape_layer(HR_SHAPE(3, -1)), HR_SHAPE(-1, 3), &rows, HR_SHAPE(2, 3, 2), x},
        {hr_permute_layer(HR_SHAPE(2, 1)), HR_SHAPE(2, 3), &rows, HR_SHAPE(2, 3, 2), turned},
        {hr_repeat_vector_layer(2), HR_SHAPE(6), &flat, HR_SHAPE(2, 2, 6), twice},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hr_tensor y;
        through(all[i].layer, all[i].row, all[i].in, &y);
        assert_shape(y.shape, all[i].out);
        assert_memory_equal(y.data, all[i].expected, (size_t)y.count * sizeof(float));
        hr_tensor_clear(&y);
    }
    hr_model *m = hr_model_new();
    hr_model_outputs(m, hr_connect(hr_flatten_layer(), hr_model_input(m, HR_SCALAR)));
    hr_tensor y;
    assert_int_equal(hr_predict_on_batch(m, &single, NULL, 1, &y), HR_OK);
    assert_shape(y.shape, HR_SHAPE(12, 1));
    hr_tensor_clear(&y);
    hr_model_free(m);
}

static void mistakes_are_refused_when_the_model_is_made(void **state)
{
    (void)state;
    const struct {
        hr_layer *layer;
        hr_shape row;
        const char *kind, *part;
    } all[] = {
        {hr_reshape_layer(HR_SHAPE(4, 2), .name = "r"), HR_SHAPE(6), "models.shape",
         "layer 'r' (Reshape): target_shape [4,2]"},
        {hr_reshape_layer(HR_SHAPE(4, -1)), HR_SHAPE(6), "models.shape", "[?,6]"},
        {hr_reshape_layer(HR_SHAPE(-1, -1)), HR_SHAPE(6), "models.argument", "target_shape"},
        {hr_permute_layer(HR_SHAPE(1, 1)), HR_SHAPE(2, 2), "models.argument", "dims"},
        {hr_permute_layer(HR_SHAPE(2, 1)), HR_SHAPE(2), "models.rank", "rank 3"},
        {hr_repeat_vector_layer(0), HR_SHAPE(2), "models.argument", "n of 1"},
        {hr_repeat_vector_layer(2), HR_SHAPE(2, 2), "models.rank", "[?,2,2]"},
        {hr_embedding_layer(0, 2), HR_SHAPE(2), "models.argument", "input_dim"},
        {hr_activation_layer("rely"), HR_SHAPE(2), "models.activation", "relu"},
        {hr_activation_layer(NULL), HR_SHAPE(2), "models.argument", ".fn"},
        {hr_relu_layer(.negative_slope = -1), HR_SHAPE(2), "models.argument", "negative_slope"},
        {hr_relu_layer(.threshold = -1), HR_SHAPE(2), "models.argument", "threshold"},
        {hr_relu_layer(.max_value = HR_F32(-1)), HR_SHAPE(2), "models.argument", "max_value"},
        {hr_thresholded_relu_layer(.theta = HR_F32(-1)), HR_SHAPE(2), "models.argument", "theta"},
        {hr_prelu_layer(.shared_axes = HR_SHAPE(0)), HR_SHAPE(2), "models.argument", "shared_axes"},
        {hr_prelu_layer(.shared_axes = HR_SHAPE(2)), HR_SHAPE(2), "models.shape", "shared_axes"},
        {hr_prelu_layer(), HR_SHAPE(-1, 2), "models.shape", "[?,?,2]"},
        {hr_softmax_layer(.axis = (const int[]){2}), HR_SHAPE(2), "models.rank", "axis 2"},
        {hr_dropout_layer(0.5f, .noise_shape = HR_SHAPE(-1, 1, 2)), HR_SHAPE(2), "models.rank", "noise_shape"},
        {hr_spatial_dropout1d_layer(1), HR_SHAPE(2, 2), "models.argument", "rate"},
        {hr_spatial_dropout2d_layer(0.5f), HR_SHAPE(2, 2), "models.rank", "rank 4"},
        {hr_gaussian_noise_layer(-1), HR_SHAPE(2), "models.argument", "stddev"},
        {hr_gaussian_dropout_layer(1), HR_SHAPE(2), "models.argument", "rate"},
        {hr_alpha_dropout_layer(NAN), HR_SHAPE(2), "models.argument", "rate"},
        {hr_lambda_layer(NULL, NULL), HR_SHAPE(2), "models.argument", "function"},
        {hr_dense_layer(1, .kernel_initializer = hr_initializer_named("he_normel")), HR_SHAPE(2),
         "variable.initializer", "\"he_normal\""},
        {hr_dense_layer(1, .kernel_initializer = hr_initializer_named("?")), HR_SHAPE(2), "variable.initializer",
         "glorot_uniform, "},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hr_model *m = hr_sequential(HR_LAYERS(all[i].layer), .input_shape = all[i].row);
        if (!hr_model_error(m)) fail_msg("mistake %d is taken", (int)i);
        assert_string_equal(hr_model_error(m)->kind, all[i].kind);
        assert_text_contains(hr_model_error(m)->text, all[i].part);
        hr_model_free(m);
    }
}

static void ids_out_of_range_name_the_layer_and_the_range(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(hr_embedding_layer(5, 2, .name = "words")), .input_shape = HR_SHAPE(3));
    const int32_t ids[] = {1, 4, 5};
    const hr_tensor x = hr_tensor_of(HR_INT32, HR_SHAPE(1, 3), ids);
    hr_tensor y;
    assert_int_equal(hr_predict_on_batch(m, &x, NULL, 1, &y), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_model_error(m)->kind, "graph.index");
    assert_text_contains(hr_model_error(m)->text, "words");
    assert_text_contains(hr_model_error(m)->text, "indices[2] = 5 is not in [0, 5)");
    hr_model_free(m);
}

/* Ids of more bits than a float has stay what they are. */
static void large_ids_stay_what_they_are(void **state)
{
    (void)state;
    enum { MANY = (1 << 24) + 4 };
    hr_model *m = hr_sequential(HR_LAYERS(hr_embedding_layer(MANY, 1)), .input_shape = HR_SHAPE(1));
    const int64_t ids[] = {1 << 24, (1 << 24) + 1};
    const hr_tensor x = hr_tensor_of(HR_INT64, HR_SHAPE(2, 1), ids);
    hr_tensor y;
    if (hr_predict_on_batch(m, &x, NULL, 1, &y) != HR_OK) fail_msg("%s", hr_model_error(m)->text);
    assert_shape(y.shape, HR_SHAPE(2, 1, 1));
    assert_differs(((const float *)y.data)[0], ((const float *)y.data)[1]);
    hr_tensor_clear(&y);
    hr_model_free(m);
}

/* ---- in training ---- */

static hr_node mean_loss(hr_node labels, hr_node p, void *user)
{
    (void)labels;
    const hr_node of = user ? hr_square(p) : p;
    return hr_reduce_mean(hr_flatten(of), .axes = HR_I64(1), .axis_count = 1);
}

/* The mean of what a layer makes of `x` in training, or of its squares. Takes the layer. */
static double mean_in_training(hr_layer *layer, bool squares, hr_shape row, const float *x, int64_t rows)
{
    hr_model *m = hr_sequential(HR_LAYERS(layer), .input_shape = row, .seed = 5);
    hr_shape shape = {row.rank + 1, {rows}};
    for (int i = 0; i < row.rank; i++) shape.dims[i + 1] = row.dims[i];
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, shape, x), hr_tensor_of(HR_FLOAT, shape, x)};
    int yes;
    assert_int_equal(hr_compile(m, .losses = HR_LOSSES({.fn = mean_loss, .user = squares ? &yes : NULL})), HR_OK);
    const hr_logs *logs = hr_train_on_batch(m, both, NULL, 2);
    if (!logs) fail_msg("%s", hr_model_error(m)->text);
    const double mean = hr_logs_get(logs, "loss");
    hr_model_free(m);
    return mean;
}

static void noise_has_its_mean_and_deviation_in_training(void **state)
{
    (void)state;
    enum { N = 20000 };
    static float x[N];
    for (int i = 0; i < N; i++) x[i] = i % 2 ? 1 : -1;
    const hr_shape row = HR_SHAPE(100);
    assert_near(mean_in_training(hr_gaussian_noise_layer(2), false, row, x, N / 100), 0, 0.06);
    assert_near(mean_in_training(hr_gaussian_noise_layer(2), true, row, x, N / 100), 5, 0.15);
    assert_near(mean_in_training(hr_gaussian_dropout_layer(0.5f), true, row, x, N / 100), 2, 0.08);
    assert_near(mean_in_training(hr_alpha_dropout_layer(0.3f), false, row, x, N / 100), 0, 0.04);
    assert_near(mean_in_training(hr_alpha_dropout_layer(0.3f), true, row, x, N / 100), 1, 0.04);
    assert_near(mean_in_training(hr_dropout_layer(0.25f), true, row, x, N / 100), 4 / 3.0, 0.03);
    assert_exactly(mean_in_training(hr_gaussian_noise_layer(0), true, row, x, N / 100), 1);
}

/* Of each row and channel all steps are 0, or none: the sum of a channel's ten steps is 0 or 20. */
static hr_node whole_channels(hr_node labels, hr_node p, void *user)
{
    (void)labels, (void)user;
    const int64_t steps[] = {1, 2, 3};
    const hr_node sums = hr_reduce_sum(p, .axes = steps, .axis_count = hr_node_shape(p).rank - 2);
    const hr_node whole =
        hr_logical_or(hr_equal(sums, hr_scalar_like(sums, 0)), hr_equal(sums, hr_scalar_like(sums, 20)));
    return hr_reduce_mean(hr_cast_to(whole, HR_FLOAT), .axes = HR_I64(1), .axis_count = 1);
}

static void spatial_dropout_drops_whole_channels(void **state)
{
    (void)state;
    static float ones[400];
    for (int i = 0; i < 400; i++) ones[i] = 1;
    const struct {
        hr_layer *layer;
        hr_shape rows;
    } all[] = {
        {hr_spatial_dropout1d_layer(0.5f), HR_SHAPE(10, 10, 4)},
        {hr_spatial_dropout2d_layer(0.5f), HR_SHAPE(10, 5, 2, 4)},
        {hr_spatial_dropout3d_layer(0.5f), HR_SHAPE(10, 5, 1, 2, 4)},
        {hr_dropout_layer(0.5f, .noise_shape = HR_SHAPE(-1, 1, 4)), HR_SHAPE(10, 10, 4)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hr_shape row = {all[i].rows.rank - 1, {0}};
        for (int k = 0; k < row.rank; k++) row.dims[k] = all[i].rows.dims[k + 1];
        hr_model *m = hr_sequential(HR_LAYERS(all[i].layer), .input_shape = row, .seed = 3);
        const hr_tensor x = hr_tensor_of(HR_FLOAT, all[i].rows, ones), both[] = {x, x};
        assert_int_equal(hr_compile(m, .losses = HR_LOSSES({.fn = whole_channels})), HR_OK);
        const hr_logs *logs = hr_train_on_batch(m, both, NULL, 2);
        if (!logs) fail_msg("%s", hr_model_error(m)->text);
        assert_exactly(hr_logs_get(logs, "loss"), 1);
        hr_model_free(m);
    }
}

static void activity_costs_by_row(void **state)
{
    (void)state;
    static const float x[] = {1, -2, 3, -4};
    const hr_shape row = HR_SHAPE(2);
    const double without = mean_in_training(hr_activity_regularization_layer(0, 0), false, row, x, 2);
    const double with = mean_in_training(hr_activity_regularization_layer(0.5f, 0.25f), false, row, x, 2);
    assert_near(with - without, (0.5 * 10 + 0.25 * 30) / 2, 1e-5);
}

/* ---- one's own function ---- */

static hr_node times(hr_node x, void *user) { return hr_mul(x, hr_scalar_like(x, *(const double *)user)); }
static void ended(void *user) { *(double *)user = 0; }

static void a_lambda_is_a_function_of_ones_own(void **state)
{
    (void)state;
    double three = 3;
    each_becomes(hr_lambda_layer(times, &three, .user_free = ended), HR_F32(1, -2), HR_F32(3, -6), 2);
    assert_exactly(three, 0);
}

static void initializers_have_names(void **state)
{
    (void)state;
    assert_true(hr_initializer_named("zeros").make == hr_zeros().make);
    assert_true(hr_initializer_named("GlorotNormal").make == hr_glorot_normal(0).make);
    assert_exactly(hr_initializer_named("he_uniform").a, 2);
    assert_exactly(hr_initializer_named("RandomNormal").b, 0.05);
    assert_null(hr_initializer_named(NULL).make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_have_their_arguments),
        cmocka_unit_test(softmax_is_along_any_axis),
        cmocka_unit_test(rows_have_other_shapes),
        cmocka_unit_test(mistakes_are_refused_when_the_model_is_made),
        cmocka_unit_test(ids_out_of_range_name_the_layer_and_the_range),
        cmocka_unit_test(large_ids_stay_what_they_are),
        cmocka_unit_test(noise_has_its_mean_and_deviation_in_training),
        cmocka_unit_test(spatial_dropout_drops_whole_channels),
        cmocka_unit_test(activity_costs_by_row),
        cmocka_unit_test(a_lambda_is_a_function_of_ones_own),
        cmocka_unit_test(initializers_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
