/* Models from end to end: made, compiled, trained, evaluated, asked. */
#include "tests/testing.h"

#include <headrace/models.h>
#include <math.h>

static hr_dataset *line(void)
{
    static const float x[] = {-1, 0, 1, 2, 3, 4}, y[] = {-3, -1, 1, 3, 5, 7};
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), y)};
    return hr_from_tensor_slices(both, NULL, 2);
}

static void a_line_is_learned_in_500_epochs(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(1), .seed = 1);
    assert_int_equal(
        hr_compile(m, .optimizer = hr_sgd(0.01f), .loss = "mean_squared_error", .metrics = HR_STRINGS("mae")), HR_OK);
    const hr_history *h = hr_fit(m, line(), .epochs = 500);
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    assert_int_equal(h->epochs, 500);
    assert_true(hr_history_last(h, "loss") < 1e-2);
    assert_true(hr_history_last(h, "mae") < 0.2);
    const float ten = 10;
    const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), &ten);
    hr_tensor y;
    assert_int_equal(hr_predict_on_batch(m, &x, NULL, 1, &y), HR_OK);
    assert_true(fabsf(*(const float *)y.data - 19) < 0.2f);
    hr_tensor_clear(&y);
    const hr_logs *logs = hr_model_evaluate(m, line());
    assert_non_null(logs);
    assert_true(hr_logs_get(logs, "loss") < 1e-2);
    hr_model_free(m);
}

static void two_inputs_and_outputs_with_a_shared_layer(void **state)
{
    (void)state;
    hr_model *m = hr_model_new(.name = "m", .seed = 3);
    hr_symbol p = hr_model_input(m, HR_SHAPE(1), .name = "p"), q = hr_model_input(m, HR_SHAPE(1), .name = "q");
    hr_layer *shared = hr_dense_layer(4, .activation = "tanh", .name = "h");
    hr_symbol a = hr_connect(shared, p), b = hr_connect(shared, q);
    hr_model_outputs(m, hr_connect(hr_dense_layer(1, .name = "o"), a), hr_connect(hr_dense_layer(1, .name = "c"), b));
    assert_int_equal(hr_compile(m, .optimizer = hr_adam(0.01f), .loss = "mse"), HR_OK);
    static const float x[] = {-1, 0, 1, 2, 3, 4}, y[] = {-3, -1, 1, 3, 5, 7};
    const hr_tensor some = hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), x), other = hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), y);
    const hr_tensor all[] = {some, other, other, some};
    const char *const names[] = {"0/p", "0/q", "1/o", "1/c"};
    const hr_history *h = hr_fit(m, hr_from_tensor_slices(all, names, 4), .epochs = 3, .validation_split = 0.5f);
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    const char *const keys[] = {"loss", "o_loss", "c_loss", "val_loss", "val_o_loss", "val_c_loss"};
    assert_int_equal(h->keys, 6);
    for (int i = 0; i < 6; i++) assert_string_equal(h->key[i], keys[i]);
    assert_int_equal(hr_model_weights(m), 6);
    assert_string_equal(hr_model_weight(m, 0).name, "h/kernel");
    hr_model_free(m);
}

static void a_model_becomes_a_layer_with_its_weights(void **state)
{
    (void)state;
    hr_model *inner = hr_sequential(HR_LAYERS(hr_dense_layer(3, .name = "a"), hr_dense_layer(2, .name = "b")),
                                    .name = "inner", .input_shape = HR_SHAPE(2));
    hr_tensor before, after;
    assert_int_equal(hr_get_weight(inner, 0, &before, NULL), HR_OK);
    hr_model *m = hr_sequential(HR_LAYERS(hr_model_layer(inner, NULL), hr_dense_layer(1)), .input_shape = HR_SHAPE(2));
    assert_null(hr_model_error(m));
    assert_int_equal(hr_model_weights(m), 6);
    assert_string_equal(hr_model_weight(m, 0).name, "a/kernel");
    assert_int_equal(hr_get_weight(m, 0, &after, NULL), HR_OK);
    assert_memory_equal(before.data, after.data, 6 * sizeof(float));
    hr_tensor_clear(&before);
    hr_tensor_clear(&after);
    hr_model_free(m);
}

/* Predictions are the ids; the last two steps of the first row are masked, and one of the second. */
static void weights_of_rows_multiply_the_mask(void **state)
{
    (void)state;
    static const int64_t ids[] = {1, 2, 0, 0, 1, 1, 1, 0};
    static const float labels[8], weights[] = {2, 1}, table[] = {0, 1, 2}, one = 1, zero = 0;
    const hr_tensor data[] = {hr_tensor_of(HR_INT64, HR_SHAPE(2, 4), ids),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 4, 1), labels),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(2), weights)};
    const hr_tensor first[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 1), table),
                               hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), &one),
                               hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &zero)};
    hr_model *m = hr_sequential(HR_LAYERS(hr_embedding_layer(3, 1, .mask_zero = true), hr_dense_layer(1)),
                                .input_shape = HR_SHAPE(4), .input_dtype = HR_INT64);
    assert_int_equal(hr_set_weights(m, first, 3, NULL), HR_OK);
    assert_int_equal(hr_compile(m, .loss = "mse"), HR_OK);
    const hr_logs *logs = hr_model_evaluate(m, hr_from_tensor_slices(data, NULL, 3));
    if (!logs) fail_msg("%s", hr_model_error(m)->text);
    assert_true(fabs(hr_logs_get(logs, "loss") - (2 * (1 + 4) + 3) / 5.0) < 1e-6); /* five steps count */
    hr_model_free(m);
}

static void mistakes_come_out_with_the_layer_and_leave_the_model_usable(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1, .activation = "rely")), .input_shape = HR_SHAPE(1));
    assert_non_null(hr_model_error(m));
    assert_non_null(strstr(hr_model_error(m)->text, "rely"));
    hr_model_free(m);
    m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(2));
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(0.01f), .loss = "mse"), HR_OK);
    assert_null(hr_fit(m, line()));
    assert_string_equal(hr_model_error(m)->kind, "models.features");
    assert_int_not_equal(hr_compile(m, .loss = "mean_square"), HR_OK);
    static const float x[4] = {1, 2, 3, 4}, y[2] = {1, 2};
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), y)};
    assert_non_null(hr_fit(m, hr_from_tensor_slices(both, NULL, 2)));
    assert_null(hr_model_error(m));
    hr_model_free(m);
}

/* ---- losses and metrics of outputs ---- */

/* A model whose logits are its input, [n, 2], through an activation; on one row {1, -1} of the first class. */
static double loss_of(const char *activation, const char *loss, bool classes, const char *metric, bool apart)
{
    static const float x[] = {1, -1}, kernel[] = {1, 0, 0, 1}, bias[2], one_hot[] = {1, 0}, class = 0;
    const hr_tensor weights[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), kernel),
                                 hr_tensor_of(HR_FLOAT, HR_SHAPE(2), bias)};
    const hr_tensor data[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), x),
                              classes ? hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &class)
                                      : hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), one_hot)};
    hr_model *m =
        apart ? hr_sequential(HR_LAYERS(hr_dense_layer(2), hr_activation_layer(activation)), .input_shape = HR_SHAPE(2))
              : hr_sequential(HR_LAYERS(hr_dense_layer(2, .activation = activation)), .input_shape = HR_SHAPE(2));
    assert_int_equal(hr_set_weights(m, weights, 2, NULL), HR_OK);
    assert_int_equal(hr_compile(m, .loss = loss, .metrics = HR_STRINGS(metric)), HR_OK);
    const hr_logs *logs = hr_model_evaluate(m, hr_from_tensor_slices(data, NULL, 2));
    if (!logs) fail_msg("%s", hr_model_error(m)->text);
    assert_true(fabs(hr_logs_value(logs, 0) - hr_logs_value(logs, 1)) < 1e-6); /* the metric is the loss */
    const double value = hr_logs_get(logs, "loss");
    hr_model_free(m);
    return value;
}

static void cross_entropies_use_the_logits_of_the_other_activation(void **state)
{
    (void)state;
    const double softmax = log1p(exp(-2)), sigmoid = log1p(exp(-1));
    for (int apart = 0; apart < 2; apart++) {
        const double several = loss_of("sigmoid", "categorical_crossentropy", false, "categorical_crossentropy", apart);
        const double sparse = loss_of("sigmoid", "sparse_categorical_crossentropy", true, "crossentropy", apart);
        const double binary = loss_of("softmax", "binary_crossentropy", false, "BinaryCrossentropy", apart);
        assert_true(fabs(several - softmax) < 1e-6);
        assert_true(fabs(sparse - softmax) < 1e-6);
        assert_true(fabs(binary - sigmoid) < 1e-6);
    }
}

/* What Keras 2.15.1 has for the same: the loss of a batch with logits of up to 86, and the kernel after its step. */
static void focal_losses_see_probabilities_and_logits(void **state)
{
    (void)state;
    static const float x[] = {-0.5f, 1, 2, -1.5f, 40, -70}, y[] = {1, 0, 0, 1, 0, 1};
    static const float kernel[] = {0.7f, -0.3f, 0.2f, 1.1f}, bias[] = {0.1f, -0.2f};
    static const struct {
        const char *activation;
        bool from_logits;
        double loss, kernel[4];
    } cases[] = {
        {"sigmoid", false, 17.8733559, {0.00219780207, 0.410625577, 1.39335024, -0.107871175}},
        {"sigmoid", true, 5.30428362, {0.328290492, -0.121308774, 0.836189806, 0.794976950}},
        {"softmax", false, 18.043417, {-0.00466376543, 0.410549402, 1.40422714, -0.109980226}},
        {"softmax", true, 5.33082342, {0.327651352, -0.121279016, 0.837664843, 0.794650376}},
    };
    const hr_tensor weights[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), kernel),
                                 hr_tensor_of(HR_FLOAT, HR_SHAPE(2), bias)};
    const hr_tensor data[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), y)};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *activation = cases[i / 2].activation;
        hr_model *m =
            i % 2 ? hr_sequential(HR_LAYERS(hr_dense_layer(2), hr_activation_layer(activation)),
                                  .input_shape = HR_SHAPE(2))
                  : hr_sequential(HR_LAYERS(hr_dense_layer(2, .activation = activation)), .input_shape = HR_SHAPE(2));
        assert_int_equal(hr_set_weights(m, weights, 2, NULL), HR_OK);
        hr_compile(m, .optimizer = hr_sgd(0.1f, .keras = true), .loss = "BinaryFocalCrossentropy",
                   .from_logits = cases[i / 2].from_logits);
        const hr_logs *logs = hr_train_on_batch(m, data, NULL, 2);
        if (!logs) fail_msg("%s", hr_model_error(m)->text);
        const double loss = hr_logs_get(logs, "loss");
        if (fabs(loss / cases[i / 2].loss - 1) > 1e-6) fail_msg("case %zu: %.9g", i, loss);
        hr_tensor after;
        assert_int_equal(hr_get_weight(m, 0, &after, NULL), HR_OK);
        for (int k = 0; k < 4; k++)
            assert_true(fabs((double)((const float *)after.data)[k] - cases[i / 2].kernel[k]) < 1e-6);
        hr_tensor_clear(&after);
        hr_model_free(m);
    }
}

static void the_best_classes_of_each_step_are_counted(void **state)
{
    (void)state;
    static const float x[] = {3, 2, 1, 3, 2, 1}, y[] = {0, 1, 0, 0, 0, 1};
    static const int32_t classes[] = {1, 2};
    const hr_tensor data[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 3), x),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 3), y)};
    const hr_tensor sparse[] = {data[0], hr_tensor_of(HR_INT32, HR_SHAPE(1, 2), classes)};
    hr_model *m = hr_sequential(HR_LAYERS(hr_activation_layer("linear")), .input_shape = HR_SHAPE(2, 3));
    hr_compile(m, .loss = "mse",
               .metric_list = HR_METRICS({.metric = "TopKCategoricalAccuracy", .options = {.top_k = 2}}));
    assert_true(hr_logs_value(hr_model_evaluate(m, hr_from_tensor_slices(data, NULL, 2)), 1) == 0.5);
    hr_compile(m, .loss = "sparse_categorical_crossentropy", .from_logits = true,
               .metric_list = HR_METRICS({.metric = "SparseTopKCategoricalAccuracy", .options = {.top_k = 2}}));
    assert_true(hr_logs_value(hr_model_evaluate(m, hr_from_tensor_slices(sparse, NULL, 2)), 1) == 0.5);
    hr_model_free(m);
}

/* ---- mistakes in arguments ---- */

static hr_model *classes_model(void)
{
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(3, .activation = "softmax", .name = "kind")),
                                .input_shape = HR_SHAPE(1), .seed = 1);
    assert_int_equal(hr_compile(m, .loss = "sparse_categorical_crossentropy", .metrics = HR_STRINGS("accuracy")),
                     HR_OK);
    return m;
}

/* Six rows with a class each, and `width` weights each. */
static hr_dataset *classes_data(const char *const *names, int count, int64_t width)
{
    static const float x[] = {-1, 0, 1, 2, 3, 4}, weights[12] = {1, 1, 1, 1, 1, 1};
    static const int32_t kinds[] = {0, 1, 2, 0, 1, 2};
    const hr_tensor all[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), x), hr_tensor_of(HR_INT32, HR_SHAPE(6), kinds),
                             hr_tensor_of(HR_FLOAT, HR_SHAPE(6, width), weights)};
    return hr_from_tensor_slices(all, names, count);
}

static void expect_error(hr_model *m, const char *kind, const char *text)
{
    assert_non_null(hr_model_error(m));
    assert_string_equal(hr_model_error(m)->kind, kind);
    if (!strstr(hr_model_error(m)->text, text)) fail_msg("%s", hr_model_error(m)->text);
}

static void weights_that_would_not_count_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"0", "1", "2/other"};
    hr_model *m = classes_model();
    assert_null(hr_fit(m, classes_data(NULL, 2, 1), .sample_weight = "nosuch"));
    expect_error(m, "models.sample_weight", "the data have no component 'nosuch'");
    assert_null(hr_model_evaluate(m, classes_data(NULL, 2, 1), .sample_weight = "nosuch"));
    expect_error(m, "models.sample_weight", "the data have no component 'nosuch'");
    assert_null(hr_fit(m, classes_data(names, 3, 1)));
    expect_error(m, "models.sample_weight", "the weights '2/other' are of no output");
    assert_null(hr_fit(m, classes_data(NULL, 3, 2)));
    expect_error(m, "models.sample_weight", "output 'kind' is [?,3], its sample weights are [?,2]");
    assert_null(hr_fit(m, classes_data(NULL, 2, 1), .class_weight = HR_CLASS_WEIGHTS({0, 1}, {1, 2})));
    expect_error(m, "graph.index", "class_weight");
    hr_model_free(m);
}

static void validation_data_need_no_weights(void **state)
{
    (void)state;
    static const char *const names[] = {"x", "kind", "importance"};
    hr_model *m = classes_model();
    const hr_history *h = hr_fit(m, classes_data(names, 3, 1), .sample_weight = "importance",
                                 .validation_data = classes_data(names, 2, 1));
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    assert_true(isfinite(hr_history_last(h, "val_loss")));
    hr_model_free(m);
}

static void columns_with_the_names_of_outputs_are_labels(void **state)
{
    (void)state;
    static const float x[] = {-1, 0, 1, 2, 3, 4}, y[] = {-3, -1, 1, 3, 5, 7};
    const hr_tensor some = hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), x), other = hr_tensor_of(HR_FLOAT, HR_SHAPE(6), y);
    const hr_tensor all[] = {other, some, some, other};
    const char *const names[] = {"price", "size", "rooms", "rent"};
    hr_model *m = hr_model_new(.seed = 1);
    hr_symbol in = hr_connect(hr_concatenate_layer(), hr_model_input(m, HR_SHAPE(1), .name = "size"),
                              hr_model_input(m, HR_SHAPE(1), .name = "rooms"));
    hr_model_outputs(m, hr_connect(hr_dense_layer(1, .name = "price"), in),
                     hr_connect(hr_dense_layer(1, .name = "rent"), in));
    assert_int_equal(hr_compile(m, .loss = "mse"), HR_OK);
    const hr_history *h = hr_fit(m, hr_from_tensor_slices(all, names, 4));
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    assert_true(isfinite(hr_history_last(h, "rent_loss")));
    hr_tensor out[2];
    assert_int_equal(hr_model_predict(m, hr_from_tensor_slices(all, names, 4), out), HR_OK);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&out[i]);
    hr_model_free(m);
}

static float weight_value(hr_model *m, int weight)
{
    hr_tensor t;
    assert_int_equal(hr_get_weight(m, weight, &t, NULL), HR_OK);
    const float value = *(const float *)t.data;
    hr_tensor_clear(&t);
    return value;
}

static void a_new_head_on_a_frozen_trunk_leaves_it_as_it_is(void **state)
{
    (void)state;
    hr_model *base = hr_sequential(HR_LAYERS(hr_dense_layer(3, .activation = "tanh", .name = "cut"), hr_dense_layer(2)),
                                   .input_shape = HR_SHAPE(1), .seed = 1);
    hr_layer *cut = hr_get_layer(base, "cut");
    const hr_symbol input = hr_model_input_symbol(base, 0), value = hr_layer_output(base, cut);
    assert_shape(hr_symbol_shape(value), HR_SHAPE(-1, 3));
    assert_shape(hr_symbol_shape(hr_model_output_symbol(base, 0)), HR_SHAPE(-1, 2));
    const hr_symbol head = hr_connect(hr_dense_layer(1, .name = "head"), value);
    hr_model *m = hr_submodel(base, &input, 1, &head, 1);
    assert_null(hr_model_error(m));
    assert_int_equal(hr_model_layers(base), 2);
    assert_int_equal(hr_model_weights(m), 4);
    const float trunk = weight_value(m, 0), first = weight_value(m, 2), last = weight_value(base, 2);
    hr_layer_freeze(cut, true);
    hr_compile(m, .optimizer = hr_sgd(0.1f), .loss = "mse");
    assert_non_null(hr_fit(m, line()));
    assert_exactly(weight_value(m, 0), trunk);
    assert_true(weight_value(m, 2) != first);
    assert_exactly(weight_value(base, 2), last);
    hr_model_free(base);
    assert_exactly(weight_value(m, 0), trunk);
    hr_model_free(m);
}

static void values_that_a_model_does_not_have_are_refused(void **state)
{
    (void)state;
    hr_model *base = hr_sequential(HR_LAYERS(hr_dense_layer(3)));
    assert_true(hr_model_output_symbol(base, 0).value < 0);
    expect_error(base, "models.not_built", "it is not built yet");
    assert_int_equal(hr_model_build(base, HR_SHAPE(2)), HR_OK);
    const hr_symbol input = hr_model_input_symbol(base, 0), none = hr_model_input_symbol(base, 1);
    expect_error(base, "models.argument", "expected an input from 0 to 0, got 1");
    hr_model *part = hr_submodel(base, &input, 1, &none, 1);
    expect_error(part, "models.argument", "expected an input from 0 to 0, got 1");
    hr_model_free(part);
    const hr_symbol lost = hr_layer_output(base, hr_get_layer(base, "nosuch"));
    expect_error(base, "models.layer", "expected a layer of it, got NULL");
    (void)hr_connect(hr_dense_layer(1), lost);
    expect_error(base, "models.layer", "expected a layer of it, got NULL");
    hr_model_free(base);
    assert_null(hr_layer_output(NULL, NULL).model);

    hr_model *m = hr_model_new();
    hr_layer *shared = hr_dense_layer(2, .name = "s");
    const hr_symbol x = hr_model_input(m, HR_SHAPE(2));
    hr_model_outputs(m, hr_connect(shared, hr_connect(shared, x)));
    assert_true(hr_layer_output(m, shared).value < 0);
    expect_error(m, "models.layer", "layer 's' is called 2 times; take the value that hr_connect gave");
    hr_model_free(m);
}

static void an_output_has_one_loss(void **state)
{
    (void)state;
    static const float x[] = {-1, 0, 1}, y[] = {-3, -1, 1};
    const hr_tensor data[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 1), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 1), y),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 1), y)};
    static const char *const names[] = {"x", "price", "rent"};
    hr_model *m = hr_model_new();
    const hr_symbol in = hr_model_input(m, HR_SHAPE(1), .name = "x");
    hr_model_outputs(m, hr_connect(hr_dense_layer(1, .name = "price"), in),
                     hr_connect(hr_dense_layer(1, .name = "rent"), in));
    hr_compile(m, .losses = HR_LOSSES({.output = "rent", .loss = "mse"}, {.output = "rent", .loss = "mae"}));
    assert_null(hr_fit(m, hr_from_tensor_slices(data, names, 3)));
    expect_error(m, "models.output",
                 "compile: losses: expected one for each output, got two for \"rent\", losses 0 and 1");
    hr_compile(m, .losses = HR_LOSSES({.output = "rent", .loss = "mse"}, {.loss = NULL})); /* by its place: rent */
    assert_null(hr_fit(m, hr_from_tensor_slices(data, names, 3)));
    expect_error(m, "models.output", "two for \"rent\"");
    hr_compile(m, .losses = HR_LOSSES({.output = "rent", .loss = "mse"}, {.output = "price", .loss = "mae"}));
    assert_non_null(hr_fit(m, hr_from_tensor_slices(data, names, 3)));
    hr_model_free(m);
}

static void numbers_below_0_and_lists_of_null_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "1"};
    static const float x[2];
    const hr_tensor batch[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(2), x)};
    hr_model *m = classes_model();
    assert_null(hr_fit(m, line(), .validation_freq = -1));
    expect_error(m, "models.argument", "fit: validation_freq: expected 0 (the default) or more, got -1");
    assert_null(hr_fit(m, line(), .validation_split = 0.5, .validation_epoch_count = 4));
    expect_error(m, "models.argument", "validation_epochs: expected a list, got NULL with a count of 4");
    assert_null(hr_fit(m, line(), .callbacks = {NULL, 2}));
    expect_error(m, "models.argument", "callbacks");
    assert_null(hr_fit(m, line(), .class_weight = {NULL, 2}));
    expect_error(m, "models.argument", "class_weight");
    assert_null(hr_model_evaluate(m, line(), .steps = -1));
    expect_error(m, "models.argument", "evaluate: steps");
    assert_null(hr_train_on_batch(m, batch, names, 2));
    expect_error(m, "models.argument", "got NULL for tensor 0");
    assert_int_not_equal(hr_compile(m, .losses = {NULL, 1}), HR_OK);
    expect_error(m, "models.argument", "losses");
    assert_int_not_equal(hr_compile(m, .loss = "mse", .metrics = {NULL, 1}), HR_OK);
    expect_error(m, "models.argument", "metrics");
    hr_model_free(m);
    m = hr_sequential_with((hr_layer_list){NULL, 2}, NULL);
    expect_error(m, "models.argument", "layers");
    hr_model_free(m);
}

static void a_layer_without_a_name_is_found_by_its_place(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(2), hr_dense_layer(0)), .input_shape = HR_SHAPE(1));
    expect_error(m, "models.argument", "model 'sequential': place 1: layer (Dense): expected units");
    hr_model_free(m);
}

static void labels_that_are_spread_have_metrics(void **state)
{
    (void)state;
    static const float x[] = {1, 2}, y[] = {1, 2, 3, 4, 5, 6}, first[] = {1, 0};
    const hr_tensor data[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), y)};
    const hr_tensor weights[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), first),
                                 hr_tensor_of(HR_FLOAT, HR_SHAPE(1), first + 1)};
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(1));
    assert_int_equal(hr_set_weights(m, weights, 2, NULL), HR_OK);
    assert_int_equal(hr_compile(m, .loss = "mse", .metrics = HR_STRINGS("mae"), .tf_compat = true), HR_OK);
    const hr_logs *logs = hr_model_evaluate(m, hr_from_tensor_slices(data, NULL, 2));
    if (!logs) fail_msg("%s", hr_model_error(m)->text);
    assert_true(fabs(hr_logs_get(logs, "mae") - (0 + 1 + 2 + 2 + 3 + 4) / 6.0) < 1e-6);
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_learned_in_500_epochs),
        cmocka_unit_test(two_inputs_and_outputs_with_a_shared_layer),
        cmocka_unit_test(a_model_becomes_a_layer_with_its_weights),
        cmocka_unit_test(weights_of_rows_multiply_the_mask),
        cmocka_unit_test(mistakes_come_out_with_the_layer_and_leave_the_model_usable),
        cmocka_unit_test(cross_entropies_use_the_logits_of_the_other_activation),
        cmocka_unit_test(focal_losses_see_probabilities_and_logits),
        cmocka_unit_test(the_best_classes_of_each_step_are_counted),
        cmocka_unit_test(weights_that_would_not_count_are_refused),
        cmocka_unit_test(validation_data_need_no_weights),
        cmocka_unit_test(columns_with_the_names_of_outputs_are_labels),
        cmocka_unit_test(a_new_head_on_a_frozen_trunk_leaves_it_as_it_is),
        cmocka_unit_test(values_that_a_model_does_not_have_are_refused),
        cmocka_unit_test(an_output_has_one_loss),
        cmocka_unit_test(numbers_below_0_and_lists_of_null_are_refused_by_name),
        cmocka_unit_test(a_layer_without_a_name_is_found_by_its_place),
        cmocka_unit_test(labels_that_are_spread_have_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
