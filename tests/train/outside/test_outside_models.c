/* Layers, losses, metrics and callbacks that programs add to models, as those of the library. */
#include "tests/testing.h"

#include <headrace/models.h>

hr_layer *outside_scale_layer(double first);
hr_node outside_loss(hr_node labels, hr_node predictions, void *user);
hr_metric outside_metric(hr_node labels, hr_node predictions, const hr_metric_opts *opts);
hr_callback *outside_half(double *first);

/* Twice the first number, and nothing of the second, whose factor would fall below 0. */
static hr_dataset *rows(void)
{
    static const float x[] = {1, 1, 2, 1, 3, 2, 4, 1}, y[] = {2, -1, 4, -1, 6, -2, 8, -1};
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 2), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 2), y)};
    return hr_from_tensor_slices(both, NULL, 2);
}

static void a_layer_is_trained_within_its_limit_by_a_loss_of_ones_own(void **state)
{
    (void)state;
    hr_tensor factor;
    hr_model *m = hr_sequential(HR_LAYERS(outside_scale_layer(1)), .input_shape = HR_SHAPE(2));
    hr_compile(m, .optimizer = hr_adam(0.05f, .keras = true), .losses = HR_LOSSES({.fn = outside_loss}),
               .metric_list = HR_METRICS({.fn = outside_metric, .key = "greatest"}));
    const hr_history *h = hr_fit(m, rows(), .epochs = 200);
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    assert_string_equal(h->key[1], "greatest");
    assert_string_equal(hr_model_weight(m, 0).name, "scale/factor");
    assert_int_equal(hr_get_weight(m, 0, &factor, NULL), HR_OK);
    assert_true(((const float *)factor.data)[0] > 1.8f && ((const float *)factor.data)[0] < 2.2f);
    assert_true(((const float *)factor.data)[1] == 0);
    hr_tensor_clear(&factor);
    hr_model_free(m);
}

static void a_callback_stops_a_training_and_adds_to_its_history(void **state)
{
    (void)state;
    double first = 0;
    hr_model *m = hr_sequential(HR_LAYERS(outside_scale_layer(1)), .input_shape = HR_SHAPE(2));
    hr_compile(m, .optimizer = hr_sgd(0.01f), .loss = "mse");
    const hr_history *h = hr_fit(m, rows(), .epochs = 500, .callbacks = HR_CALLBACKS(outside_half(&first)));
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    assert_true(h->interrupted && h->epochs > 1 && h->epochs < 500);
    assert_true(hr_history_last(h, "share") <= 0.5);
    assert_true(hr_history_last(h, "loss") == hr_history_last(h, "share") * first);
    hr_model_free(m);
}

static void a_layer_says_with_its_name_what_it_refuses(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(outside_scale_layer(-1)), .input_shape = HR_SHAPE(2));
    assert_string_equal(hr_model_error(m)->kind, "outside.first");
    assert_non_null(strstr(hr_model_error(m)->text, "Scale"));
    hr_model_free(m);
    m = hr_sequential(HR_LAYERS(outside_scale_layer(1)), .input_shape = HR_SHAPE(-1));
    assert_string_equal(hr_model_error(m)->kind, "outside.shape");
    hr_model_free(m);
}

static void kinds_of_older_and_newer_headers_fit(void **state)
{
    (void)state;
    static const hr_layer_kind newer = {.head = {HR_LAYER_ABI + 1, sizeof(hr_layer_kind)}, .name = "Newer"};
    static const hr_callback_kind older = {.head = {HR_CALLBACK_ABI, offsetof(hr_callback_kind, predict_begin)},
                                           .name = "older"};
    hr_model *m = hr_sequential(HR_LAYERS(hr_layer_new(&newer, NULL, NULL)), .input_shape = HR_SHAPE(2));
    assert_string_equal(hr_model_error(m)->kind, "models.layer_abi");
    hr_model_free(m);
    m = hr_sequential(HR_LAYERS(outside_scale_layer(1)), .input_shape = HR_SHAPE(2));
    hr_compile(m, .optimizer = hr_sgd(0.01f), .loss = "mse");
    assert_non_null(hr_fit(m, rows(), .callbacks = HR_CALLBACKS(hr_callback_new(&older, NULL, NULL))));
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_is_trained_within_its_limit_by_a_loss_of_ones_own),
        cmocka_unit_test(a_callback_stops_a_training_and_adds_to_its_history),
        cmocka_unit_test(a_layer_says_with_its_name_what_it_refuses),
        cmocka_unit_test(kinds_of_older_and_newer_headers_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
