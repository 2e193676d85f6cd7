/* Layers of several inputs: values, shapes that broadcast, masks. */
#include "tests/testing.h"

#include <headrace/models.h>
#include <math.h>

static const char *const names[] = {"0/input_1", "0/input_2", "0/input_3"};

/* A layer of two or three inputs, what it makes of tensors, and the shape that it is known to have. */
static void check_merge(hr_layer *layer, const hr_tensor *x, int count, hr_shape shape, const float *wanted)
{
    hr_model *m = hr_model_new();
    hr_symbol in[3];
    hr_tensor got;
    char found[64], expected[64];
    for (int i = 0; i < count; i++) {
        hr_shape row = {.rank = x[i].shape.rank - 1};
        for (int k = 0; k < row.rank; k++) row.dims[k] = x[i].shape.dims[k + 1];
        in[i] = hr_model_input(m, row);
    }
    const hr_symbol y = hr_connect_all(layer, in, count);
    hr_model_outputs(m, y);
    if (hr_model_error(m)) fail_msg("%s", hr_model_error(m)->text);
    hr_shape known = hr_symbol_shape(y);
    known.dims[0] = shape.dims[0];
    assert_string_equal(hr_shape_text(known, found, sizeof found), hr_shape_text(shape, expected, sizeof expected));
    if (hr_predict_on_batch(m, x, names, count, &got) != HR_OK) fail_msg("%s", hr_model_error(m)->text);
    for (int64_t i = 0; i < got.count; i++)
        if (!(fabsf(((const float *)got.data)[i] - wanted[i]) <= 1e-5f))
            fail_msg("value %d: %g, expected %g", (int)i, (double)((const float *)got.data)[i], (double)wanted[i]);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

static void inputs_are_merged_value_by_value(void **state)
{
    (void)state;
    static const float a[] = {1, 2, 3, 4}, b[] = {2, 2, 2, 8}, c[] = {0, 7, 0, 0};
    const hr_tensor x[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), a), hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), b),
                           hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), c)};
    check_merge(hr_add_layer(), x, 3, HR_SHAPE(2, 2), (float[]){3, 11, 5, 12});
    check_merge(hr_subtract_layer(), x, 2, HR_SHAPE(2, 2), (float[]){-1, 0, 1, -4});
    check_merge(hr_multiply_layer(), x, 3, HR_SHAPE(2, 2), (float[]){0, 28, 0, 0});
    check_merge(hr_average_layer(), x, 3, HR_SHAPE(2, 2), (float[]){1, 11.f / 3, 5.f / 3, 4});
    check_merge(hr_maximum_layer(), x, 3, HR_SHAPE(2, 2), (float[]){2, 7, 3, 8});
    check_merge(hr_minimum_layer(), x, 3, HR_SHAPE(2, 2), (float[]){0, 2, 0, 0});
}

static void dimensions_of_1_broadcast_and_missing_ones_come_after_the_batch(void **state)
{
    (void)state;
    static const float a[] = {1, 2, 3, 4, 5, 6, 7, 8}, b[] = {10, 20, 30, 40}, c[] = {100, 200};
    const hr_tensor x[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 2), a), hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), b),
                           hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1, 1), c)};
    check_merge(hr_add_layer(), x, 3, HR_SHAPE(2, 2, 2), (float[]){111, 122, 113, 124, 235, 246, 237, 248});
}

static void inputs_lie_side_by_side_along_an_axis(void **state)
{
    (void)state;
    static const float a[] = {1, 2, 3, 4}, b[] = {5, 6};
    const hr_tensor x[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 2), a), hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 1), b)};
    const hr_tensor y[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 2), a), hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1, 2), b)};
    check_merge(hr_concatenate_layer(), x, 2, HR_SHAPE(1, 2, 3), (float[]){1, 2, 5, 3, 4, 6});
    check_merge(hr_concatenate_layer(.axis = 1), y, 2, HR_SHAPE(1, 3, 2), (float[]){1, 2, 3, 4, 5, 6});
    check_merge(hr_concatenate_layer(), x, 1, HR_SHAPE(1, 2, 2), a);
}

static void rows_are_multiplied_along_their_axes(void **state)
{
    (void)state;
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 1, 1};
    const hr_tensor flat[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), a), hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), b)};
    check_merge(hr_dot_layer(1, 1), flat, 2, HR_SHAPE(2, 1), (float[]){7, 15});
    check_merge(hr_dot_layer(-1, -1, .normalize = true), flat, 2, HR_SHAPE(2, 1),
                (float[]){7 / sqrtf(14 * 5), 15 / sqrtf(77 * 3)});
    const hr_tensor deep[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 3), a),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 3, 2), b)};
    check_merge(hr_dot_layer(2, 1), deep, 2, HR_SHAPE(1, 2, 2), (float[]){8, 5, 20, 11});
    check_merge(hr_dot_layer(1, 2), deep, 2, HR_SHAPE(1, 3, 3), (float[]){1, 6, 5, 2, 9, 7, 3, 12, 9});
    const hr_tensor mixed[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1, 3), b), hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 3), a)};
    check_merge(hr_dot_layer(2, 1), mixed, 2, HR_SHAPE(1, 1), (float[]){7});
}

/* ---- masks ---- */

/* A layer that masks the steps whose first value is below 0. */
static hr_node masked_call(hr_layer_call *c, void *config)
{
    (void)config;
    const hr_node positive = hr_greater_equal(c->input[0], hr_scalar_like(c->input[0], 0));
    c->output_mask[0] = hr_reduce_all(positive, .axes = HR_I64(2), .axis_count = 1);
    return hr_abs(c->input[0]);
}
static const hr_layer_kind masked_kind = {.head = HR_LAYER_HEAD, .name = "Masked", .call = masked_call};
static hr_layer *masked(void) { return hr_layer_new(&masked_kind, NULL, NULL); }

/* The means of the steps that count of what a merge makes of a (masked), b (masked) and c. */
static void check_masks(hr_layer *merge, int count, const float *wanted, int64_t width)
{
    static const float a[] = {1, -2, 3, 4}, b[] = {10, 20, -30, 40}, c[] = {100, 200, 300, 400};
    const hr_tensor x[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4, 1), a), hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4, 1), b),
                           hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4, 1), c)};
    hr_model *m = hr_model_new();
    hr_symbol in[3];
    for (int i = 0; i < count; i++) in[i] = hr_model_input(m, HR_SHAPE(4, 1));
    for (int i = 0; i < count && i < 2; i++) in[i] = hr_connect(masked(), in[i]);
    const hr_symbol y = hr_connect(hr_global_average_pooling1d_layer(), hr_connect_all(merge, in, count));
    assert_int_equal(hr_model_outputs(m, y), HR_OK);
    hr_tensor got;
    assert_int_equal(hr_predict_on_batch(m, x, names, count, &got), HR_OK);
    assert_int_equal(got.count, width);
    for (int i = 0; i < width; i++) assert_true(fabsf(((const float *)got.data)[i] - wanted[i]) < 1e-4f);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

static void a_step_counts_if_it_does_in_each_mask(void **state)
{
    (void)state;
    check_masks(hr_add_layer(), 3, (float[]){(111 + 444) / 2.f}, 1);
    check_masks(hr_concatenate_layer(), 3, (float[]){2.5f, 25, 250}, 3);
    check_masks(hr_concatenate_layer(.axis = 1), 3, (float[]){(8 + 70 + 1000) / 10.f}, 1);
}

/* ---- mistakes ---- */

static void check_refused(hr_layer *layer, hr_shape a, hr_shape b, const char *kind, const char *words)
{
    hr_model *m = hr_model_new();
    const hr_symbol x = hr_model_input(m, a), y = hr_model_input(m, b);
    (void)hr_connect(layer, x, y);
    const hr_error *err = hr_model_error(m);
    assert_non_null(err);
    assert_string_equal(err->kind, kind);
    if (!strstr(err->text, words)) fail_msg("expected \"%s\" in: %s", words, err->text);
    hr_model_free(m);
}

static void mistakes_are_told_when_the_model_is_made(void **state)
{
    (void)state;
    check_refused(hr_add_layer(), HR_SHAPE(2), HR_SHAPE(3), "models.shape", "[?,2] and [?,3]");
    check_refused(hr_multiply_layer(), HR_SHAPE(3, 2), HR_SHAPE(3), "models.shape", "[?,3,2] and [?,3]");
    check_refused(hr_concatenate_layer(), HR_SHAPE(2, 3), HR_SHAPE(2), "models.shape", "[?,2,3] and [?,2]");
    check_refused(hr_concatenate_layer(), HR_SHAPE(2, 3), HR_SHAPE(4, 3), "models.shape", "axis -1 alone");
    check_refused(hr_concatenate_layer(.axis = 3), HR_SHAPE(2, 3), HR_SHAPE(2, 3), "models.shape", "got 3 for [?,2,3]");
    check_refused(hr_dot_layer(1, 1), HR_SHAPE(2), HR_SHAPE(3), "models.shape", "axes 1 and 1, got [?,2] and [?,3]");
    check_refused(hr_dot_layer(0, 1), HR_SHAPE(2), HR_SHAPE(2), "models.shape", "axis of input 0");
    hr_model *m = hr_model_new();
    const hr_symbol x = hr_model_input(m, HR_SHAPE(2));
    (void)hr_connect(hr_subtract_layer(.name = "s"), x, x, x);
    assert_string_equal(hr_model_error(m)->kind, "models.inputs");
    assert_non_null(strstr(hr_model_error(m)->text, "layer 's' (Subtract): expected 2 inputs, got 3"));
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_merged_value_by_value),
        cmocka_unit_test(dimensions_of_1_broadcast_and_missing_ones_come_after_the_batch),
        cmocka_unit_test(inputs_lie_side_by_side_along_an_axis),
        cmocka_unit_test(rows_are_multiplied_along_their_axes),
        cmocka_unit_test(a_step_counts_if_it_does_in_each_mask),
        cmocka_unit_test(mistakes_are_told_when_the_model_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
