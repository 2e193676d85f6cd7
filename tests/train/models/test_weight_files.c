/* Weights in files: saved and loaded, refused before anything is changed. */
#include "tests/testing.h"

#include <headrace/checkpoint.h>
#include <headrace/models.h>
#include <string.h>

static hr_model *small(int64_t seed, const char *first)
{
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(3, .name = first), hr_dropout_layer(0.1f), hr_dense_layer(1)),
                                .input_shape = HR_SHAPE(2), .seed = seed);
    assert_null(hr_model_error(m));
    return m;
}

static float first_value(hr_model *m, int weight)
{
    hr_tensor t;
    hr_error err = {0};
    assert_int_equal(hr_get_weight(m, weight, &t, &err), HR_OK);
    const float value = *(const float *)t.data;
    hr_tensor_clear(&t);
    return value;
}

static void assert_same_weights(hr_model *a, hr_model *b)
{
    hr_error err = {0};
    assert_int_equal(hr_model_weights(a), hr_model_weights(b));
    for (int i = 0; i < hr_model_weights(a); i++) {
        hr_tensor x, y;
        assert_int_equal(hr_get_weight(a, i, &x, &err), HR_OK);
        assert_int_equal(hr_get_weight(b, i, &y, &err), HR_OK);
        assert_int_equal(x.count, y.count);
        assert_memory_equal(x.data, y.data, (size_t)x.count * sizeof(float));
        hr_tensor_clear(&x);
        hr_tensor_clear(&y);
    }
}

static void weights_come_back_whatever_layers_are_called(void **state)
{
    (void)state;
    hr_error err = {0};
    char *latest;
    hr_model *a = small(1, "a"), *b = small(2, "other");
    assert_int_equal(hr_save_weights(a, "deep/folder/w", &err), HR_OK);
    assert_true(first_value(a, 0) != first_value(b, 0));
    if (hr_load_weights(b, "deep/folder/w", &err) != HR_OK) fail_msg("%s", err.text);
    assert_same_weights(a, b);
    assert_int_equal(hr_latest_checkpoint("deep/folder", &latest, &err), HR_OK);
    assert_string_equal(latest, "deep/folder/w");
    hr_free(latest);
    hr_model_free(a);
    hr_model_free(b);
}

static void what_does_not_fit_is_named_and_changes_nothing(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_model *a = small(1, "a"), *wide, *deep, *unbuilt;
    wide = hr_sequential(HR_LAYERS(hr_dense_layer(3), hr_dense_layer(2, .name = "wide")), .input_shape = HR_SHAPE(2));
    deep = hr_sequential(HR_LAYERS(hr_dense_layer(3), hr_dense_layer(1), hr_dense_layer(1, .name = "more")),
                         .input_shape = HR_SHAPE(2));
    unbuilt = hr_sequential(HR_LAYERS(hr_dense_layer(1)));
    assert_int_equal(hr_save_weights(a, "w", &err), HR_OK);
    const float before = first_value(wide, 0);
    assert_int_equal(hr_load_weights(wide, "w", &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "models.file_shapes");
    assert_non_null(strstr(err.text, "'wide/kernel' is float32 [3,2], in the file float32 [3,1]"));
    assert_true(first_value(wide, 0) == before);
    assert_int_equal(hr_load_weights(deep, "w", &err), HR_NOT_FOUND);
    assert_string_equal(err.kind, "models.file_weights");
    assert_non_null(strstr(err.text, "'more/kernel', 'more/bias'"));
    assert_true(first_value(deep, 0) != first_value(a, 0));
    assert_int_equal(hr_load_weights(deep, "w", &err, .expect_partial = true), HR_OK);
    assert_true(first_value(deep, 0) == first_value(a, 0));
    assert_int_equal(hr_load_weights(a, "nowhere", &err), HR_NOT_FOUND);
    assert_int_equal(hr_load_weights(unbuilt, "w", &err), HR_FAILED_PRECONDITION);
    assert_int_equal(hr_save_weights(unbuilt, "w", &err), HR_FAILED_PRECONDITION);
    assert_int_equal(hr_save_weights(a, "folder/", &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_save_weights(a, NULL, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_load_weights(a, NULL, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_save_weights(NULL, "w", &err), HR_INVALID_ARGUMENT);
    hr_model_free(a);
    hr_model_free(wide);
    hr_model_free(deep);
    hr_model_free(unbuilt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_come_back_whatever_layers_are_called),
        cmocka_unit_test(what_does_not_fit_is_named_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
