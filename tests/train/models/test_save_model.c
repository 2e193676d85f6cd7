/* Models as SavedModels: run by their signatures, and read back with weights, optimizer and states. */
#include "tests/testing.h"

#include <headrace/checkpoint.h>
#include <headrace/models.h>
#include <headrace/saved_model.h>
#include <string.h>
#include <sys/stat.h>

static hr_model *small(int64_t seed, const char *first)
{
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(3, .name = first), hr_dropout_layer(0.1f), hr_dense_layer(1)),
                                .input_shape = HR_SHAPE(2), .seed = seed);
    assert_null(hr_model_error(m));
    return m;
}

static hr_saved_model *load(const char *folder)
{
    hr_error err = {0};
    hr_saved_model *saved;
    assert_ok(hr_saved_model_load(folder, &saved, &err), &err);
    return saved;
}

static bool is_there(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static void a_saved_model_predicts_the_same(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor y;
    static const float row[] = {0.5f, -2};
    const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), row);
    hr_model *m = small(1, "a"), *unbuilt = hr_sequential(HR_LAYERS(hr_dense_layer(1)));
    assert_status(hr_predict_on_batch(m, &x, NULL, 1, &y), HR_OK);
    assert_ok(hr_save_model(m, "saved", &err), &err);
    hr_saved_model *saved = load("saved");
    assert_true(hr_meta_graph_has_objects(hr_saved_model_meta(saved)));
    assert_true(is_there("saved/keras_metadata.pb"));
    hr_named_tensor in = {"input_1", x}, out = {.name = "dense"};
    assert_ok(hr_saved_model_run(saved, NULL, &in, 1, &out, 1, &err), &err);
    assert_true(*(const float *)out.value.data == *(const float *)y.data);
    assert_status(hr_save_model(m, "saved", &err), HR_ALREADY_EXISTS);
    assert_status(hr_save_model(m, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_save_model(unbuilt, "other", &err), HR_FAILED_PRECONDITION);
    assert_false(is_there("other"));
    hr_tensor_clear(&out.value);
    hr_tensor_clear(&y);
    hr_saved_model_unref(saved);
    hr_model_free(m);
    hr_model_free(unbuilt);
}

/* ---- trainings that go on ---- */

static const float points[] = {1, 2, -1, 0.5f, 0, 1, 2, -2}, labels[] = {1, 0, -1, 2};

static void compile(hr_model *m, bool legacy)
{
    assert_status(
        hr_compile(m, .optimizer = hr_adam(0.05f, .keras = !legacy), .loss = "mse", .metrics = HR_STRINGS("mae")),
        HR_OK);
}

static void train(hr_model *m)
{
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 2), points),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 1), labels)};
    if (!hr_fit(m, hr_from_tensor_slices(both, NULL, 2), .epochs = 2, .batch_size = 2, .no_shuffle = true))
        fail_msg("%s", hr_model_error(m)->text);
}

static void assert_same_weights(hr_model *a, hr_model *b)
{
    assert_int_equal(hr_model_weights(a), hr_model_weights(b));
    for (int i = 0; i < hr_model_weights(a); i++) {
        hr_tensor x, y;
        assert_status(hr_get_weight(a, i, &x, NULL), HR_OK);
        assert_status(hr_get_weight(b, i, &y, NULL), HR_OK);
        assert_int_equal(x.count, y.count);
        assert_memory_equal(x.data, y.data, (size_t)x.count * sizeof(float));
        hr_tensor_clear(&x);
        hr_tensor_clear(&y);
    }
}

/* A model within the model, whose weights are deep in it. */
static hr_model *deep(void)
{
    hr_model *inner = hr_sequential(HR_LAYERS(hr_dense_layer(3, .activation = "tanh"), hr_batch_normalization_layer()),
                                    .input_shape = HR_SHAPE(2), .name = "inner");
    hr_model *m = hr_model_new(.seed = 3);
    const hr_symbol x = hr_model_input(m, HR_SHAPE(2), .name = "x");
    hr_model_outputs(m, hr_connect(hr_dense_layer(1, .kernel_regularizer = {.l2 = 0.01f}),
                                   hr_connect(hr_model_layer(inner, NULL), x)));
    assert_null(hr_model_error(m));
    return m;
}

static void go_on(bool legacy, const char *first, const char *second)
{
    hr_error err = {0};
    hr_model *a = deep(), *b = deep(), *c = deep();
    compile(a, legacy);
    compile(b, legacy);
    compile(c, legacy);
    train(a);
    assert_ok(hr_save_model(a, first, &err), &err);
    assert_ok(hr_load_weights(b, first, &err), &err);
    /* The state waits for the graph of b's training, and is written from there. */
    assert_ok(hr_save_model(b, second, &err), &err);
    assert_ok(hr_load_weights(c, second, &err), &err);
    train(a);
    train(b);
    train(c);
    assert_same_weights(a, b);
    assert_same_weights(a, c);
    hr_model_free(a);
    hr_model_free(b);
    hr_model_free(c);
}

static void a_training_goes_on_from_a_saved_model(void **state)
{
    (void)state;
    go_on(false, "keras", "keras_again");
    go_on(true, "legacy", "legacy_again");
}

/* ---- signatures ---- */

static void inputs_and_outputs_go_by_their_names(void **state)
{
    (void)state;
    hr_error err = {0};
    static const float one[] = {1, 2}, two[] = {10, 20};
    hr_model *m = hr_model_new();
    const hr_symbol b = hr_model_input(m, HR_SHAPE(2), .name = "b"), a = hr_model_input(m, HR_SHAPE(2), .name = "a");
    hr_model_outputs(m, hr_connect(hr_subtract_layer(.name = "y"), b, a), hr_connect(hr_add_layer(.name = "x"), b, a));
    assert_ok(hr_save_model(m, "names", &err), &err); /* which has no weights */
    hr_saved_model *saved = load("names");
    const hr_meta_signature *s = hr_saved_model_signature(saved, NULL);
    assert_string_equal(s->inputs[0].name, "serving_default_a:0");
    assert_string_equal(s->inputs[1].name, "serving_default_b:0");
    assert_string_equal(s->outputs[0].key, "x");
    hr_named_tensor in[] = {{"a", hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), one)},
                            {"b", hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), two)}},
                    out[] = {{.name = "x"}, {.name = "y"}};
    assert_ok(hr_saved_model_run(saved, NULL, in, 2, out, 2, &err), &err);
    assert_true(((const float *)out[0].value.data)[1] == 22);
    assert_true(((const float *)out[1].value.data)[1] == 18);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&out[i].value);
    hr_saved_model_unref(saved);
    hr_model_free(m);
}

/* ---- states ---- */

static hr_model *stateful(void)
{
    hr_model *m = hr_sequential(HR_LAYERS(hr_lstm_layer(2, .stateful = true, .name = "r"), hr_dense_layer(1)),
                                .input_shape = HR_SHAPE(3, 1), .batch_size = 1, .seed = 5);
    assert_null(hr_model_error(m));
    return m;
}

static float predict(hr_model *m, const hr_tensor *x)
{
    hr_tensor y;
    assert_status(hr_predict_on_batch(m, x, NULL, 1, &y), HR_OK);
    const float value = *(const float *)y.data;
    hr_tensor_clear(&y);
    return value;
}

static float run(hr_saved_model *saved, const hr_tensor *x)
{
    hr_error err = {0};
    hr_named_tensor in = {"input_1", *x}, out = {.name = "dense"};
    assert_ok(hr_saved_model_run(saved, NULL, &in, 1, &out, 1, &err), &err);
    const float value = *(const float *)out.value.data;
    hr_tensor_clear(&out.value);
    return value;
}

static void states_of_layers_are_saved_and_go_on(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_bundle *bundle;
    bool has;
    static const float steps[] = {1, -1, 2};
    const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 3, 1), steps);
    hr_model *m = stateful();
    const float first = predict(m, &x);
    assert_ok(hr_save_model(m, "states", &err), &err);
    hr_saved_model *saved = load("states");
    for (int i = 0; i < 2; i++) {
        const float ours = predict(m, &x);
        assert_true(ours != first);
        assert_true(run(saved, &x) == ours);
    }
    assert_ok(hr_bundle_open("states/variables/variables", &bundle, &err), &err);
    const char *key = "layer_with_weights-0/keras_api/states/0/.ATTRIBUTES/VARIABLE_VALUE";
    assert_ok(hr_bundle_has(bundle, key, &has, &err), &err);
    assert_true(has);
    hr_bundle_free(bundle);
    hr_saved_model_unref(saved);
    hr_model_free(m);
}

/* ---- written again, and frozen ---- */

static void what_was_loaded_is_written_again(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_saved_model_writer *w;
    static const float row[] = {0.5f, -2};
    const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), row);
    hr_model *m = small(1, "a"), *other = small(2, "b");
    const float want = predict(m, &x);
    assert_true(predict(other, &x) != want);
    assert_ok(hr_save_model(m, "once", &err), &err);
    hr_saved_model *saved = load("once");
    assert_ok(hr_saved_model_writer_open("twice", &w, &err), &err);
    assert_ok(hr_saved_model_writer_add(w, hr_saved_model_session(saved), &err, .model = saved), &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    assert_ok(hr_saved_model_rewrite(saved, "frozen", &err, .freeze = true), &err);
    hr_saved_model_unref(saved);
    static const char *const folders[] = {"twice", "frozen"};
    for (int i = 0; i < 2; i++) {
        saved = load(folders[i]);
        assert_true(run(saved, &x) == want);
        hr_saved_model_unref(saved);
    }
    assert_ok(hr_load_weights(other, "twice", &err), &err); /* it has the graph of objects */
    assert_true(predict(other, &x) == want);
    hr_model_free(m);
    hr_model_free(other);
}

/* ---- without memory ---- */

static void each_failing_allocation_leaves_nothing_behind(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_model *m = deep();
    compile(m, false);
    train(m);
    fail_allocation(-1);
    assert_ok(hr_save_model(m, "whole", &err), &err);
    const int64_t all = allocations_since(), step = all / 150 + 1;
    for (int64_t i = 0; i < all; i += i < 400 || i + step >= all - 10 ? 1 : step) {
        const int64_t alive = allocations_alive();
        fail_allocation(i);
        const hr_status st = hr_save_model(m, "failed", &err);
        fail_allocation(-1);
        if (st != HR_OK) {
            assert_int_equal(allocations_alive(), alive);
            assert_false(is_there("failed"));
            if (strcmp(err.kind, "memory") != 0) fail_msg("%d: %s", (int)i, err.text);
        }
        remove_folder("failed"); /* where what failed was of no matter */
        assert_int_equal(files_in(".", true), 1);
    }
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failing_allocation_leaves_nothing_behind),
        cmocka_unit_test(a_saved_model_predicts_the_same),
        cmocka_unit_test(a_training_goes_on_from_a_saved_model),
        cmocka_unit_test(inputs_and_outputs_go_by_their_names),
        cmocka_unit_test(states_of_layers_are_saved_and_go_on),
        cmocka_unit_test(what_was_loaded_is_written_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
