/* Weights in files: saved and loaded, refused before anything is changed. */
#include "tests/testing.h"

#include <headrace/checkpoint.h>
#include <headrace/models.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void save_for_ever(hr_model *a, hr_model *b)
{
    hr_error err = {0};
    for (;;)
        if (hr_save_weights(a, "w", &err) != HR_OK || hr_save_weights(b, "w", &err) != HR_OK) _exit(1);
}

static void a_kill_leaves_the_old_file_or_the_new_one(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_model *a = small(1, "a"), *b = small(2, "a"), *c = small(3, "a");
    assert_int_equal(hr_save_weights(a, "w", &err), HR_OK);
    for (int i = 0; i < 40; i++) {
        int status;
        const pid_t child = fork();
        if (child == 0) save_for_ever(a, b);
        assert_true(child > 0);
        (void)usleep((useconds_t)(3000 + 700 * i));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        if (hr_load_weights(c, "w", &err) != HR_OK) fail_msg("%s", err.text);
        const float value = first_value(c, 0);
        assert_true(value == first_value(a, 0) || value == first_value(b, 0));
    }
    /* Each save leaves one data file. */
    assert_int_equal(hr_save_weights(a, "w", &err), HR_OK);
    assert_true((access("w.data-00000-of-00001", F_OK) == 0) != (access("w.data-00001-of-00002", F_OK) == 0));
    hr_model_free(a);
    hr_model_free(b);
    hr_model_free(c);
}

/* ---- the state of the optimizer ---- */

static hr_dataset *rows(void)
{
    static const float x[] = {-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5}, y[] = {-3, -1, 1, 3, 5, 7};
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 2), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), y)};
    return hr_from_tensor_slices(both, NULL, 2);
}

static double trained(hr_model *m, int epochs)
{
    const hr_history *h = hr_fit(m, rows(), .epochs = epochs, .batch_size = 2, .no_shuffle = true);
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    return hr_history_last(h, "loss");
}

static hr_optimizer *optimizer_of(int which)
{
    if (which == 0) return hr_adam(0.01f, .keras = true);
    if (which == 1) return hr_adam(0.01f);
    if (which == 2) return hr_nadam(0.01f, .keras = true);
    if (which == 3) return hr_nadam(0.01f);
    if (which == 4) return hr_rmsprop(0.01f, .keras = true, .momentum = 0.9f, .centered = true);
    if (which == 5) return hr_rmsprop(0.01f, .momentum = 0.9f, .centered = true);
    if (which == 6) return hr_sgd(0.01f, .keras = true, .use_ema = true);
    if (which == 7) return hr_ftrl(0.01f);
    if (which == 8) return hr_adafactor(0.01f);
    return hr_sgd(0.01f, .momentum = 0.9f);
}

static hr_model *compiled(int64_t seed, int which)
{
    hr_model *m =
        hr_sequential(HR_LAYERS(hr_dense_layer(3), hr_dense_layer(1)), .input_shape = HR_SHAPE(2), .seed = seed);
    assert_int_equal(hr_compile(m, .optimizer = optimizer_of(which), .loss = "mse"), HR_OK);
    return m;
}

static int warnings;
static void count_warnings(hr_level level, const char *text, void *user)
{
    (void)text, (void)user;
    warnings += level == HR_WARNING;
}

static void a_training_goes_on_from_a_file_as_if_it_had_not_stopped(void **state)
{
    (void)state;
    for (int which = 0; which < 10; which++) {
        hr_error err = {0};
        int64_t steps;
        double rate;
        hr_model *a = compiled(1, which), *fresh = compiled(2, which), *busy = compiled(3, which);
        (void)trained(a, 2);
        (void)trained(busy, 1);
        assert_int_equal(hr_model_set_learning_rate(a, 0.005), HR_OK);
        assert_int_equal(hr_save_weights(a, "w", &err), HR_OK);
        if (hr_load_weights(fresh, "w", &err) != HR_OK) fail_msg("%s", err.text);
        if (hr_load_weights(busy, "w", &err) != HR_OK) fail_msg("%s", err.text);
        assert_int_equal(hr_model_iterations(fresh, &steps), HR_OK);
        assert_int_equal(steps, 6);
        assert_int_equal(hr_model_learning_rate(fresh, &rate), HR_OK);
        assert_true(rate == (double)0.005f);
        /* What waits for the first step is saved again. */
        assert_int_equal(hr_save_weights(fresh, "again", &err), HR_OK);
        hr_model *third = compiled(4, which);
        if (hr_load_weights(third, "again", &err) != HR_OK) fail_msg("%s", err.text);
        const double loss = trained(a, 2);
        assert_true(trained(fresh, 2) == loss);
        assert_true(trained(busy, 2) == loss);
        assert_true(trained(third, 2) == loss);
        assert_same_weights(a, fresh);
        assert_same_weights(a, busy);
        hr_model_free(a);
        hr_model_free(fresh);
        hr_model_free(busy);
        hr_model_free(third);
    }
}

/* Whether the bytes have the text. */
static bool bytes_have(const void *bytes, size_t size, const char *text)
{
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

/* A model within a model; one step. */
static hr_model *nested(hr_optimizer *optimizer)
{
    static const float x[6], y[2];
    const hr_tensor data[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), y)};
    hr_model *inner = hr_sequential(HR_LAYERS(hr_dense_layer(2, .name = "deep")), .input_shape = HR_SHAPE(3));
    hr_model *mid = hr_sequential(HR_LAYERS(hr_model_layer(inner, "inner"), hr_dense_layer(2, .name = "mean")),
                                  .input_shape = HR_SHAPE(3));
    hr_model *m = hr_sequential(HR_LAYERS(hr_model_layer(mid, "mid"), hr_dense_layer(1, .name = "out")),
                                .input_shape = HR_SHAPE(3), .seed = 1);
    hr_compile(m, .optimizer = optimizer, .loss = "mse");
    if (!hr_train_on_batch(m, data, NULL, 2)) fail_msg("%s", hr_model_error(m)->text);
    return m;
}

/* As tf.keras 2.15.1 calls them, in its variables and in its checkpoints. */
static void variables_of_optimizers_are_called_without_the_models_around(void **state)
{
    (void)state;
    static const char *const generations[2][4] = {
        {"Adam/m/deep/kernel", "Adam/v/deep/bias", "Adam/m/mean/kernel", "Adam/v/out/bias"},
        {"Adam/deep/kernel/m", "Adam/deep/bias/v", "Adam/mean/kernel/m", "Adam/out/bias/v"}};
    for (int legacy = 0; legacy < 2; legacy++) {
        hr_error err = {0};
        hr_model *m = nested(hr_adam(0.01f, .keras = !legacy)), *b = nested(hr_adam(0.01f, .keras = !legacy));
        hr_tensor objects, value;
        hr_bundle *file;
        assert_int_equal(hr_save_weights(m, "w", &err), HR_OK);
        assert_ok(hr_bundle_open("w", &file, &err), &err);
        assert_ok(hr_bundle_read(file, "_CHECKPOINTABLE_OBJECT_GRAPH", &objects, &err), &err);
        const hr_view bytes = ((const hr_view *)objects.data)[0];
        for (int i = 0; i < 4; i++) {
            const char *wanted = generations[legacy][i], *name = "";
            bool found = false;
            for (int k = 0; k < hr_model_optimizer_variables(m); k++) {
                assert_int_equal(hr_model_optimizer_variable(m, k, &name, &value), HR_OK);
                hr_tensor_clear(&value);
                found |= strcmp(name, wanted) == 0;
                assert_null(strstr(name, "mid"));
            }
            if (!found || !bytes_have(bytes.data, (size_t)bytes.size, wanted)) fail_msg("%s", wanted);
        }
        assert_false(bytes_have(bytes.data, (size_t)bytes.size, "mid/"));
        hr_tensor_clear(&objects);
        hr_bundle_free(file);
        assert_int_equal(hr_load_weights(b, "w", &err), HR_OK);
        assert_same_weights(m, b);
        hr_model_free(m);
        hr_model_free(b);
    }
}

static void the_state_of_another_optimizer_is_left_out_with_a_warning(void **state)
{
    (void)state;
    hr_error err = {0};
    int64_t steps;
    hr_set_log(count_warnings, NULL);
    hr_model *a = compiled(1, 0), *legacy = compiled(2, 1), *nadam = compiled(2, 2), *none = small(3, "a");
    (void)trained(a, 1);
    assert_int_equal(hr_save_weights(a, "w", &err), HR_OK);
    warnings = 0;
    assert_int_equal(hr_load_weights(none, "w", &err), HR_OK); /* it has no optimizer to be warned of */
    assert_int_equal(warnings, 0);
    assert_int_equal(hr_load_weights(legacy, "w", &err), HR_OK);
    assert_int_equal(warnings, 1);
    assert_int_equal(hr_load_weights(nadam, "w", &err), HR_OK);
    assert_int_equal(warnings, 2);
    assert_int_equal(hr_model_iterations(nadam, &steps), HR_OK);
    assert_int_equal(steps, 0);
    assert_same_weights(a, nadam);
    /* The same kind, but of other weights: known at the first step. */
    hr_model *part = compiled(5, 0);
    hr_layer_freeze(hr_model_layer_at(part, 0), true);
    assert_int_equal(hr_compile(part, .optimizer = optimizer_of(0), .loss = "mse"), HR_OK);
    assert_int_equal(hr_load_weights(part, "w", &err), HR_OK);
    (void)trained(part, 1);
    assert_int_equal(warnings, 3);
    hr_set_log(NULL, NULL);
    hr_model_free(a);
    hr_model_free(legacy);
    hr_model_free(nadam);
    hr_model_free(none);
    hr_model_free(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_come_back_whatever_layers_are_called),
        cmocka_unit_test(what_does_not_fit_is_named_and_changes_nothing),
        cmocka_unit_test(a_kill_leaves_the_old_file_or_the_new_one),
        cmocka_unit_test(a_training_goes_on_from_a_file_as_if_it_had_not_stopped),
        cmocka_unit_test(variables_of_optimizers_are_called_without_the_models_around),
        cmocka_unit_test(the_state_of_another_optimizer_is_left_out_with_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
