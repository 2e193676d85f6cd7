/* Normalizations of batches, rows, groups and lengths, against means and variances that are taken here. */
#include "tests/testing.h"

#include <headrace/models.h>
#include <math.h>

static float noise(int64_t i) { return sinf((float)i * 12.9898f + 1) * 2 + 1; }

static hr_tensor input_of(hr_shape shape, float *values)
{
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
    for (int64_t i = 0; i < count; i++) values[i] = noise(i);
    return hr_tensor_of(HR_FLOAT, shape, values);
}

static hr_model *model_of(hr_layer *layer, hr_shape in)
{
    hr_shape row = {.rank = in.rank - 1};
    for (int i = 0; i < row.rank; i++) row.dims[i] = in.dims[i + 1];
    hr_model *m = hr_sequential(HR_LAYERS(layer), .input_shape = row);
    if (hr_model_error(m)) fail_msg("%s", hr_model_error(m)->text);
    return m;
}

static void assert_values(const float *found, const float *wanted, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(found[i] - wanted[i]) <= 2e-5f))
            fail_msg("value %d: %g, expected %g", (int)i, (double)found[i], (double)wanted[i]);
}

static void assert_weight(hr_model *m, int i, const char *name, const float *wanted)
{
    hr_tensor w;
    assert_string_equal(hr_model_weight(m, i).name, name);
    assert_int_equal(hr_get_weight(m, i, &w, NULL), HR_OK);
    assert_values(w.data, wanted, w.count);
    hr_tensor_clear(&w);
}

/* ---- batches ---- */

/* One step on a batch of shape [..., 2], at a rate so small that nothing learns; then what the moving averages are. */
static void check_moving(hr_shape shape, bool frozen, double divisor_less)
{
    static float x[256], y[256];
    const hr_tensor in = input_of(shape, x);
    const hr_tensor both[] = {in, hr_tensor_of(HR_FLOAT, shape, y)};
    hr_model *m =
        model_of(hr_batch_normalization_layer(.name = "n", .momentum = HR_F32(0.75f), .not_trainable = frozen), shape);
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(1e-12f), .loss = "mse"), HR_OK);
    assert_non_null(hr_train_on_batch(m, both, NULL, 2));
    float mean[2] = {0, 0}, variance[2] = {1, 1};
    const double n = (double)in.count / 2;
    for (int k = 0; k < 2 && !frozen; k++) {
        double sum = 0, squares = 0;
        for (int64_t i = k; i < in.count; i += 2) sum += (double)x[i] / n;
        for (int64_t i = k; i < in.count; i += 2) squares += ((double)x[i] - sum) * ((double)x[i] - sum);
        mean[k] = (float)(sum / 4);
        variance[k] = (float)(0.75 + squares / (n - divisor_less) / 4);
    }
    const char *const names[] = {"n/gamma", "n/beta", "n/moving_mean", "n/moving_variance"};
    assert_weight(m, 0, names[0], (float[]){1, 1});
    assert_weight(m, 1, names[1], (float[]){0, 0});
    assert_weight(m, 2, names[2], mean);
    assert_weight(m, 3, names[3], variance);
    hr_tensor got;
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    for (int64_t i = 0; i < in.count; i++) y[i] = (x[i] - mean[i % 2]) / sqrtf(variance[i % 2] + 0.001f);
    assert_values(got.data, y, in.count);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

static void a_batch_moves_the_averages_unless_frozen(void **state)
{
    (void)state;
    check_moving(HR_SHAPE(6, 2), false, 0);
    check_moving(HR_SHAPE(4, 3, 2), false, 0);
    check_moving(HR_SHAPE(2, 3, 2, 2), false, 1); /* fused: the variance of a sample */
    check_moving(HR_SHAPE(2, 2, 3, 2, 2), false, 1);
    check_moving(HR_SHAPE(6, 2), true, 0);
    check_moving(HR_SHAPE(2, 3, 2, 2), true, 0);
}

static void channels_lie_along_any_axis(void **state)
{
    (void)state;
    static float x[24], y[24];
    const hr_tensor in = input_of(HR_SHAPE(2, 3, 4), x);
    hr_model *m = model_of(hr_batch_normalization_layer(.axis = 1, .no_center = true, .epsilon = HR_F32(0),
                                                        .moving_mean_initializer = hr_constant_value(2),
                                                        .moving_variance_initializer = hr_constant_value(4),
                                                        .gamma_initializer = hr_constant_value(3)),
                           in.shape);
    assert_int_equal(hr_model_weights(m), 3);
    assert_int_equal(hr_model_weight(m, 0).shape.dims[0], 3);
    hr_tensor got;
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    for (int i = 0; i < 24; i++) y[i] = (x[i] - 2) / 2 * 3;
    assert_values(got.data, y, 24);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

/* ---- rows ---- */

/* Means over the values of one row for which `set` is the same; set[i] of place i of a row of `size`. */
static void normalize(const float *x, int rows, int size, const int *set, float epsilon, float *y)
{
    for (int at = 0; at < rows * size; at++) {
        const float *row = x + at / size * size;
        double sum = 0, squares = 0, n = 0;
        for (int i = 0; i < size; i++)
            if (set[i] == set[at % size]) sum += (double)row[i], n++;
        for (int i = 0; i < size; i++)
            if (set[i] == set[at % size]) squares += pow((double)row[i] - sum / n, 2);
        y[at] = (float)(((double)x[at] - sum / n) / sqrt(squares / n + (double)epsilon));
    }
}

static void check_rows(hr_layer *layer, const int *set, float epsilon, hr_shape weights)
{
    static float x[24], y[24];
    const hr_tensor in = input_of(HR_SHAPE(2, 3, 4), x);
    hr_model *m = model_of(layer, in.shape);
    char found[64], expected[64];
    assert_int_equal(hr_model_weights(m), 2);
    for (int i = 0; i < 2; i++)
        assert_string_equal(hr_shape_text(hr_model_weight(m, i).shape, found, sizeof found),
                            hr_shape_text(weights, expected, sizeof expected));
    hr_tensor got;
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    normalize(x, 2, 12, set, epsilon, y);
    assert_values(got.data, y, 24);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

static void rows_are_normalized_along_axes_and_in_groups(void **state)
{
    (void)state;
    int by_step[12], by_channel[12], all[12], by_half[12];
    for (int i = 0; i < 12; i++) {
        by_step[i] = i / 4;
        by_channel[i] = i % 4;
        all[i] = 0;
        by_half[i] = i % 4 / 2;
    }
    check_rows(hr_layer_normalization_layer(), by_step, 0.001f, HR_SHAPE(4));
    check_rows(hr_layer_normalization_layer(.axes = HR_I64(1), .axis_count = 1), by_channel, 0.001f, HR_SHAPE(3));
    check_rows(hr_layer_normalization_layer(.axes = HR_I64(-1, 1), .axis_count = 2, .epsilon = HR_F32(0.5f)), all, 0.5f,
               HR_SHAPE(3, 4));
    check_rows(hr_group_normalization_layer(.groups = 2), by_half, 0.001f, HR_SHAPE(4));
    check_rows(hr_group_normalization_layer(.groups = 1, .axis = 1), all, 0.001f, HR_SHAPE(3));
    check_rows(hr_group_normalization_layer(.groups = -1), by_channel, 0.001f, HR_SHAPE(4));
}

static void weights_of_groups_belong_to_their_channels(void **state)
{
    (void)state;
    static const float gamma[] = {1, 2, 3, 4}, beta[] = {5, 6, 7, 8};
    float x[24], y[24];
    const hr_tensor in = input_of(HR_SHAPE(2, 3, 4), x);
    const hr_tensor weights[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(4), gamma), hr_tensor_of(HR_FLOAT, HR_SHAPE(4), beta)};
    hr_model *m = model_of(hr_group_normalization_layer(.groups = 2), in.shape);
    assert_int_equal(hr_set_weights(m, weights, 2, NULL), HR_OK);
    int set[12];
    for (int i = 0; i < 12; i++) set[i] = i % 4 / 2;
    normalize(x, 2, 12, set, 0.001f, y);
    for (int i = 0; i < 24; i++) y[i] = y[i] * gamma[i % 4] + beta[i % 4];
    hr_tensor got;
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    assert_values(got.data, y, 24);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

static void rows_get_the_length_1(void **state)
{
    (void)state;
    static const float x[] = {3, 4, 0, 0, 1, 1, 1, 1};
    static const float by_pair[] = {0.6f, 0.8f, 0, 0, 0.70710678f, 0.70710678f, 0.70710678f, 0.70710678f};
    static const float by_row[] = {0.6f, 0.8f, 0, 0, 0.5f, 0.5f, 0.5f, 0.5f};
    const hr_tensor in = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 2), x);
    for (int i = 0; i < 2; i++) {
        hr_tensor got;
        hr_model *m = model_of(i ? hr_unit_normalization_layer(.axes = HR_I64(1, 2), .axis_count = 2)
                                 : hr_unit_normalization_layer(),
                               in.shape);
        assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
        assert_values(got.data, i ? by_row : by_pair, 8);
        hr_tensor_clear(&got);
        hr_model_free(m);
    }
}

static void check_refused(hr_layer *layer, hr_shape row, const char *kind, const char *words)
{
    hr_model *m = hr_sequential(HR_LAYERS(layer), .input_shape = row);
    const hr_error *err = hr_model_error(m);
    assert_non_null(err);
    assert_string_equal(err->kind, kind);
    if (!strstr(err->text, words)) fail_msg("expected \"%s\" in: %s", words, err->text);
    hr_model_free(m);
}

static void mistakes_are_told_when_the_model_is_made(void **state)
{
    (void)state;
    check_refused(hr_batch_normalization_layer(.axis = 2), HR_SHAPE(4), "models.shape", "got 2 for [?,4]");
    check_refused(hr_batch_normalization_layer(.momentum = HR_F32(2)), HR_SHAPE(4), "models.argument", "momentum");
    check_refused(hr_batch_normalization_layer(.epsilon = HR_F32(-1)), HR_SHAPE(4), "models.argument", "epsilon");
    check_refused(hr_layer_normalization_layer(.axes = HR_I64(1, -1), .axis_count = 2), HR_SHAPE(4), "models.shape",
                  "got -1 for [?,4]");
    check_refused(hr_layer_normalization_layer(.axes = HR_I64(1), .axis_count = 9), HR_SHAPE(4), "models.argument",
                  "axes, got 9");
    check_refused(hr_layer_normalization_layer(), HR_SHAPE(3, -1), "models.shape", "axis 2, got [?,3,?]");
    check_refused(hr_group_normalization_layer(), HR_SHAPE(3, 4), "models.shape", "groups, 32, got 4");
    check_refused(hr_group_normalization_layer(.groups = -2), HR_SHAPE(4), "models.argument", "got -2");
    check_refused(hr_group_normalization_layer(.groups = 2), HR_SHAPE(-1, -1, 4), "layers.shape", "at most one");
    check_refused(hr_unit_normalization_layer(.axes = HR_I64(0), .axis_count = 1), HR_SHAPE(4), "models.shape",
                  "not the batch");
}

/* Of four steps of two rows the mask keeps three, whose mean is 4 and whose variance 6. */
static void steps_that_a_mask_leaves_out_do_not_count_in_the_batch(void **state)
{
    (void)state;
    static const float x[] = {1, 4, 7, 0}, none[4], y[4];
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 1), x),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 1), y)};
    const hr_tensor masked[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 1), none), both[1]};
    hr_model *m = hr_sequential(HR_LAYERS(hr_masking_layer(), hr_batch_normalization_layer(.momentum = HR_F32(0.5f))),
                                .input_shape = HR_SHAPE(2, 1));
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(1e-12f), .loss = "mse"), HR_OK);
    const hr_logs *logs = hr_train_on_batch(m, both, NULL, 2);
    if (!logs) fail_msg("%s", hr_model_error(m)->text);
    assert_true(fabs(hr_logs_get(logs, "loss") - 6 / 6.001) < 1e-5);
    assert_weight(m, 2, "batch_normalization/moving_mean", (float[]){2});
    assert_weight(m, 3, "batch_normalization/moving_variance", (float[]){3.5f});
    assert_non_null(hr_train_on_batch(m, masked, NULL, 2)); /* Keras's averages are NaN from here on */
    assert_weight(m, 2, "batch_normalization/moving_mean", (float[]){1});
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_moves_the_averages_unless_frozen),
        cmocka_unit_test(steps_that_a_mask_leaves_out_do_not_count_in_the_batch),
        cmocka_unit_test(channels_lie_along_any_axis),
        cmocka_unit_test(rows_are_normalized_along_axes_and_in_groups),
        cmocka_unit_test(weights_of_groups_belong_to_their_channels),
        cmocka_unit_test(rows_get_the_length_1),
        cmocka_unit_test(mistakes_are_told_when_the_model_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
