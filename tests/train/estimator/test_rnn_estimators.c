/* RNN estimators: three steps of tf.estimator.experimental.RNNClassifier and RNNEstimator in TensorFlow 2.15.1, from
 * the same weights, which a formula makes; then its evaluation and predictions. Of weights and predictions, sums with
 * numbers made by a formula are compared. */
#include "tests/testing.h"
#include <headrace/checkpoint.h>
#include <headrace/estimator.h>
#include <headrace/heads.h>
#include <headrace/io.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 4, STEPS = 3, TRAINED_STEPS = 3, MAX_TRAINED = 16, MAX_LAYERS = 2 };

/* What stands beside the steps, and what the labels are: of rows, or of steps. */
typedef enum context { NOTHING, NUMBERS_BESIDE, EMBEDDED } context;
typedef enum labels { CLASSES, NUMBERS, STEP_CLASSES, STEP_BITS } labels;

typedef struct rnn_case {
    hr_rnn_fn *cell;
    int64_t units[MAX_LAYERS];
    int layers;
    context context;
    labels labels;
    double losses[TRAINED_STEPS], evaluated, predicted;
    struct {
        const char *name;
        double sum;
    } trained[MAX_TRAINED];
} rnn_case;

static const rnn_case cases[] = {
    {.cell = hr_simple_rnn_with,
     .units = {3},
     .layers = 1,
     .context = NUMBERS_BESIDE,
     .labels = CLASSES,
     .losses = {1.09019649, 1.07892609, 1.06912124},
     .evaluated = 1.06039953,
     .predicted = 2.3652961,
     .trained =
         {
             {"rnn_model/logits/bias", 1.06352767},
             {"rnn_model/logits/kernel", -0.759717971},
             {"rnn_model/rnn/simple_rnn_cell/bias", 0.868463837},
             {"rnn_model/rnn/simple_rnn_cell/kernel", -2.38579796},
             {"rnn_model/rnn/simple_rnn_cell/recurrent_kernel", -0.821284205},
             {"sequence_features/w_embedding/embedding_weights", -0.743548887},
         }},
    {.cell = hr_lstm_with,
     .units = {3},
     .layers = 1,
     .context = NOTHING,
     .labels = CLASSES,
     .losses = {1.05865741, 1.056602, 1.05468094},
     .evaluated = 1.05287671,
     .predicted = 4.19465154,
     .trained =
         {
             {"rnn_model/logits/bias", 1.06744214},
             {"rnn_model/logits/kernel", -0.795737132},
             {"rnn_model/rnn/lstm_cell/bias", -2.52734042},
             {"rnn_model/rnn/lstm_cell/kernel", 1.49568383},
             {"rnn_model/rnn/lstm_cell/recurrent_kernel", 1.42442293},
             {"sequence_features/w_embedding/embedding_weights", -0.615652427},
         }},
    {.cell = hr_lstm_with,
     .units = {3, 2},
     .layers = 2,
     .context = NUMBERS_BESIDE,
     .labels = CLASSES,
     .losses = {1.04999816, 1.04923463, 1.04854655},
     .evaluated = 1.04792428,
     .predicted = 4.76741499,
     .trained =
         {
             {"rnn_model/logits/bias", 1.06351965},
             {"rnn_model/logits/kernel", 1.90189861},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell/bias", -2.50010251},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell/kernel", 1.09366606},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell/recurrent_kernel", 1.40039783},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell_1/bias", -0.645186172},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell_1/kernel", -1.2088082},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell_1/recurrent_kernel", 1.71396143},
             {"sequence_features/w_embedding/embedding_weights", -0.601831401},
         }},
    {.cell = hr_gru_with,
     .units = {3},
     .layers = 1,
     .context = EMBEDDED,
     .labels = NUMBERS,
     .losses = {1312448.88, 1312324, 1312215.25},
     .evaluated = 1312104.12,
     .predicted = -2.36147004,
     .trained =
         {
             {"dense_features/k_embedding/embedding_weights", 2.30702542},
             {"rnn_model/logits/bias", -0.314068615},
             {"rnn_model/logits/kernel", 1.62600105},
             {"rnn_model/rnn/gru_cell/bias", 1.19837654},
             {"rnn_model/rnn/gru_cell/kernel", 1.09934855},
             {"rnn_model/rnn/gru_cell/recurrent_kernel", 0.476421654},
             {"sequence_features/w_embedding/embedding_weights", -1.47270305},
             {"training/Adagrad/dense_features/k_embedding/embedding_weights/accumulator", 168.191594},
             {"training/Adagrad/rnn_model/logits/bias/accumulator", 75.0999985},
             {"training/Adagrad/rnn_model/logits/kernel/accumulator", 202.68968},
             {"training/Adagrad/rnn_model/rnn/gru_cell/bias/accumulator", 232.097896},
             {"training/Adagrad/rnn_model/rnn/gru_cell/kernel/accumulator", 310.657245},
             {"training/Adagrad/rnn_model/rnn/gru_cell/recurrent_kernel/accumulator", 249.089971},
             {"training/Adagrad/sequence_features/w_embedding/embedding_weights/accumulator", 286.211908},
         }},
    {.cell = hr_gru_with,
     .units = {3},
     .layers = 1,
     .context = NOTHING,
     .labels = STEP_CLASSES,
     .losses = {1.10381186, 1.09444988, 1.08595407},
     .evaluated = 1.07813871,
     .predicted = 16.9393808,
     .trained =
         {
             {"rnn_model/logits/bias", 1.07451291},
             {"rnn_model/logits/kernel", -0.896854457},
             {"rnn_model/rnn/gru_cell/bias", -0.29225676},
             {"rnn_model/rnn/gru_cell/kernel", -0.0601459385},
             {"rnn_model/rnn/gru_cell/recurrent_kernel", 0.13685318},
             {"sequence_features/w_embedding/embedding_weights", -0.554705586},
         }},
    {.cell = hr_lstm_with,
     .units = {2, 3},
     .layers = 2,
     .context = NUMBERS_BESIDE,
     .labels = STEP_BITS,
     .losses = {0.717556179, 0.712169647, 0.707662284},
     .evaluated = 0.703766763,
     .predicted = -3.31518609,
     .trained =
         {
             {"rnn_model/logits/bias", -0.131128952},
             {"rnn_model/logits/kernel", 1.0983882},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell/bias", -0.598446746},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell/kernel", -1.9956658},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell/recurrent_kernel", 1.70009875},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell_1/bias", -2.48351994},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell_1/kernel", -1.18697959},
             {"rnn_model/rnn/stacked_rnn_cells/lstm_cell_1/recurrent_kernel", 1.40648296},
             {"sequence_features/w_embedding/embedding_weights", -0.596560187},
         }},
};

/* ---- data ---- */

/* Rows of 3, 1, 2 and no steps: words, numbers, weights and labels of steps. */
static const int64_t words[ROWS][STEPS] = {{1, 2, 0}, {3}, {2, 2}},
                     step_classes[ROWS][STEPS] = {{1, 0, 2}, {1}, {2, 0}};
static const float numbers[ROWS][STEPS] = {{.5f, -1, 2}, {.25f}, {1, -.5f}},
                   weights[ROWS][STEPS] = {{1, .5f, 2}, {1}, {0, 1.5f}};
static const int64_t bits[ROWS][STEPS] = {{1, 0, 1}, {1}, {0, 0}};
static const int lengths[ROWS] = {3, 1, 2, 0};
static const float beside[ROWS] = {.1f, .2f, -.3f, .4f}, row_numbers[ROWS] = {1000, -2000, 500, 0};
static const int64_t kinds[ROWS] = {1, 0, 1, 2}, row_classes[ROWS] = {1, 0, 2, 1};

static void fill_row(hr_example *example, int r, labels labels, int label_steps)
{
    hr_example_add_int64(example, "w", words[r], lengths[r]);
    hr_example_add_float(example, "x", numbers[r], lengths[r]);
    hr_example_add_float(example, "v", weights[r], lengths[r]);
    hr_example_add_float(example, "c", &beside[r], 1);
    hr_example_add_int64(example, "k", &kinds[r], 1);
    if (labels == CLASSES) hr_example_add_int64(example, "y", &row_classes[r], 1);
    if (labels == NUMBERS) hr_example_add_float(example, "y", &row_numbers[r], 1);
    if (labels >= STEP_CLASSES)
        hr_example_add_int64(example, "y", labels == STEP_BITS ? bits[r] : step_classes[r], label_steps);
}

typedef struct input {
    labels labels;
    int first;         /* the rows from here on are one batch */
    bool short_labels; /* of the first row a label is missing */
} input;

static hr_dataset *batches(void *user)
{
    const input *in = user;
    hr_error err = {0};
    hr_view bytes;
    hr_record_writer *w;
    hr_example *example = hr_example_new();
    assert_ok(hr_record_writer_open("rows.tfrecord", NULL, &w, &err), &err);
    for (int r = in->first; r < ROWS; r++) {
        hr_example_clear(example);
        fill_row(example, r, in->labels, lengths[r] - (in->short_labels && r == 0));
        assert_ok(hr_example_bytes(example, &bytes, &err), &err);
        assert_ok(hr_record_write(w, bytes.data, (size_t)bytes.size, &err), &err);
    }
    hr_example_free(example);
    assert_ok(hr_record_writer_commit(w, &err), &err);
    const hr_feature_kind kind = in->labels >= STEP_CLASSES ? HR_VAR_LEN : HR_FIXED_LEN;
    const hr_dtype type = in->labels == NUMBERS ? HR_FLOAT : HR_INT64;
    const hr_shape one = HR_SHAPE(1), none = HR_SCALAR;
    const hr_feature features[] = {
        {.key = "w", .kind = HR_VAR_LEN, .dtype = HR_INT64},
        {.key = "x", .kind = HR_VAR_LEN, .dtype = HR_FLOAT},
        {.key = "v", .kind = HR_VAR_LEN, .dtype = HR_FLOAT},
        {.key = "c", .dtype = HR_FLOAT, .shape = one},
        {.key = "k", .dtype = HR_INT64, .shape = one},
        {.key = "y", .kind = kind, .dtype = type, .shape = kind == HR_FIXED_LEN ? one : none}};
    const hr_parse_spec spec = {features, 6};
    hr_dataset *ds = hr_repeat(hr_tfrecord("rows.tfrecord"), .count = HR_I64(TRAINED_STEPS));
    return hr_parse_example(hr_batch(ds, ROWS - in->first), &spec, .label = "y");
}

/* ---- the estimator ---- */

static hr_feature_column *words_embedded(void)
{
    return hr_embedding_column(hr_sequence_categorical_column_with_identity("w", 4), 2);
}

static hr_estimator *estimator_of(const rnn_case *c)
{
    hr_feature_column *sequence[] = {words_embedded(), hr_sequence_numeric_column("x")};
    hr_feature_column *other = c->context == EMBEDDED
                                   ? hr_embedding_column(hr_categorical_column_with_identity("k", 3), 2)
                                   : hr_numeric_column("c");
    const hr_column_list columns = {sequence, 2}, row = {&other, c->context != NOTHING};
    const hr_units units = {c->units, c->layers};
    hr_estimator *e;
    if (c->labels == NUMBERS)
        e = hr_rnn_estimator(.model_dir = "model", .sequence_feature_columns = columns, .context_feature_columns = row,
                             .units = units, .cell_type = c->cell, .head = hr_regression_head());
    else
        e = hr_rnn_classifier(.model_dir = "model", .sequence_feature_columns = columns, .context_feature_columns = row,
                              .units = units, .cell_type = c->cell == hr_simple_rnn_with ? NULL : c->cell,
                              .return_sequences = c->labels >= STEP_CLASSES,
                              .n_classes = c->labels == STEP_BITS ? 2 : 3,
                              .weight_column = c->labels == STEP_BITS ? "v" : NULL);
    for (int i = 0; i < 2; i++) hr_feature_column_unref(sequence[i]);
    hr_feature_column_unref(other);
    remove_folder("model");
    return e;
}

/* ---- a hook that sets the first weights and notes the losses ---- */

static hr_status set_weights(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)state;
    for (int v = 0; v < hr_graph_variables(hr_monitored_graph(m)); v++) {
        const hr_variable_info *info = hr_graph_variable(hr_monitored_graph(m), v);
        float value[256];
        if (!(info->sets & HR_TRAINABLE_VARIABLES)) continue;
        for (int i = 0; i < hr_shape_count(info->shape); i++) value[i] = (float)((i * 7 + 3) % 11 - 5) / 10;
        const hr_tensor weight = hr_tensor_of(HR_FLOAT, info->shape, value);
        HR_TRY(hr_session_set(hr_monitored_raw(m), info->handle, &weight, err));
    }
    return HR_OK;
}

static hr_status fetch_loss(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    int count;
    (void)state;
    return hr_request_fetch(request, hr_get_collection(hr_monitored_graph(m), "losses", &count)[0], err);
}

static hr_status check_loss(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    const double **expected = state;
    (void)m, (void)err;
    assert_near(*(const float *)results[0].data, **expected, 2e-6 * fabs(**expected));
    ++*expected;
    return HR_OK;
}

static const hr_hook_kind watching_kind = {
    .head = HR_HOOK_HEAD,
    .name = "watching",
    .state_size = sizeof(double *),
    .after_create_session = set_weights,
    .before_run = fetch_loss,
    .after_run = check_loss,
};

/* ---- comparing ---- */

static double sum_of(const hr_tensor *t)
{
    double sum = 0;
    for (int64_t i = 0; i < t->count; i++) sum += (double)((const float *)t->data)[i] * (double)(i % 7 + 1);
    return sum;
}

static void assert_trained(const rnn_case *c)
{
    hr_error err = {0};
    hr_bundle *bundle;
    assert_ok(hr_bundle_open("model/model.ckpt-3", &bundle, &err), &err);
    for (int i = 0; i < MAX_TRAINED && c->trained[i].name; i++) {
        hr_tensor value;
        assert_ok(hr_bundle_read(bundle, c->trained[i].name, &value, &err), &err);
        assert_near(sum_of(&value), c->trained[i].sum, 1e-5 * (1 + fabs(c->trained[i].sum)));
        hr_tensor_clear(&value);
    }
    hr_bundle_free(bundle);
}

static hr_status check_predictions(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                                   int count, void *user, hr_error *err)
{
    const rnn_case *c = user;
    bool masked = false;
    (void)element, (void)err;
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], c->labels == NUMBERS ? "predictions" : "logits") == 0)
            assert_near(sum_of(&predictions[i]), c->predicted, 2e-5 * (1 + fabs(c->predicted)));
        if (c->labels >= STEP_CLASSES) assert_int_equal(predictions[i].shape.dims[1], STEPS);
        if (strcmp(names[i], "sequence_mask") != 0) continue;
        masked = true;
        for (int at = 0; at < ROWS * STEPS; at++)
            assert_int_equal(((const bool *)predictions[i].data)[at], at % STEPS < lengths[at / STEPS]);
    }
    assert_int_equal(masked, c->labels >= STEP_CLASSES);
    return HR_END;
}

static void assert_agrees(const rnn_case *c)
{
    input in = {.labels = c->labels};
    const double *losses = c->losses;
    hr_hook *hook = hr_hook_new(&watching_kind, &losses);
    hr_estimator *e = estimator_of(c);
    hr_status st = hr_estimator_train(e, batches, &in, .hooks = &hook, .hook_count = 1);
    assert_ok(st, hr_estimator_error(e));
    assert_trained(c);
    st = hr_estimator_evaluate(e, batches, &in, .steps = 1);
    assert_ok(st, hr_estimator_error(e));
    assert_near(hr_estimator_result(e, "average_loss"), c->evaluated, 2e-6 * fabs(c->evaluated));
    st = hr_estimator_predict(e, batches, &in, check_predictions, (void *)(uintptr_t)c);
    assert_ok(st, hr_estimator_error(e));
    hr_estimator_free(e);
}

static void trainings_agree_with_those_of_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_agrees(&cases[i]);
}

/* ---- what is not as it should be ---- */

static void a_batch_of_rows_without_steps_trains(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        input in = {.labels = cases[i].labels, .first = ROWS - 1};
        hr_estimator *e = estimator_of(&cases[i]);
        assert_ok(hr_estimator_train(e, batches, &in, .steps = 1), hr_estimator_error(e));
        hr_estimator_free(e);
    }
}

static void a_list_of_labels_has_one_for_each_step(void **state)
{
    (void)state;
    input in = {.labels = STEP_CLASSES, .short_labels = true};
    hr_estimator *e = estimator_of(&cases[4]);
    assert_status(hr_estimator_train(e, batches, &in), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_estimator_error(e)->kind, "graph.assert");
    assert_text_contains(hr_estimator_error(e)->text, "expected a value for each step");
    hr_estimator_free(e);
}

static void assert_lacks(hr_estimator *e, const char *part)
{
    input in = {.labels = CLASSES};
    assert_status(hr_estimator_train(e, batches, &in), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_estimator_error(e)->kind, "estimator.argument");
    assert_text_contains(hr_estimator_error(e)->text, part);
    hr_estimator_free(e);
}

static void what_the_options_lack_is_told(void **state)
{
    (void)state;
    hr_feature_column *column = words_embedded();
    const hr_column_list one = {&column, 1}, lost = {NULL, 1};
    assert_lacks(hr_rnn_classifier_with(NULL), "sequence_feature_columns, got none");
    assert_lacks(hr_rnn_classifier(.model_dir = "m", .sequence_feature_columns = one), "units of at least one layer");
    assert_lacks(hr_rnn_classifier(.model_dir = "m", .sequence_feature_columns = lost),
                 "got NULL with a count above 0");
    assert_lacks(hr_rnn_estimator_with(NULL), "a head, got NULL");
    hr_feature_column_unref(column);
}

static void columns_of_the_wrong_kind_are_refused(void **state)
{
    (void)state;
    hr_feature_column *row = hr_numeric_column("c"), *steps = words_embedded();
    for (int i = 0; i < 2; i++) {
        input in = {.labels = i ? STEP_CLASSES : CLASSES};
        hr_estimator *swapped = hr_rnn_classifier(.model_dir = "model", .sequence_feature_columns = {&row, 1},
                                                  .context_feature_columns = {&steps, 1}, .units = HR_UNITS(2),
                                                  .n_classes = 3, .return_sequences = i);
        assert_status(hr_estimator_train(swapped, batches, &in), HR_INVALID_ARGUMENT);
        assert_string_equal(hr_estimator_error(swapped)->kind, "column.sequence");
        hr_estimator_free(swapped);
    }
    hr_feature_column_unref(row);
    hr_feature_column_unref(steps);
}

/* A layer of one's own: the mean of the steps, beside an LSTM. */
static hr_node with_mean(hr_node x, int64_t units, const hr_rnn_opts *opts)
{
    assert_true(opts->cell_only && !opts->return_sequences);
    assert_string_equal(hr_variable_scope_name(x.graph), "rnn_model/rnn/");
    const hr_node both[] = {hr_lstm_with(x, units, opts), hr_reduce_mean(x, .axes = HR_I64(1), .axis_count = 1)};
    return hr_concat(both, 2, 1);
}

static void a_layer_of_ones_own_is_trained(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_bundle *bundle;
    hr_tensor kernel;
    input in = {.labels = CLASSES};
    rnn_case own = cases[0];
    own.cell = with_mean;
    hr_estimator *e = estimator_of(&own);
    assert_ok(hr_estimator_train(e, batches, &in), hr_estimator_error(e));
    assert_ok(hr_bundle_open("model/model.ckpt-3", &bundle, &err), &err);
    assert_ok(hr_bundle_read(bundle, "rnn_model/logits/kernel", &kernel, &err), &err);
    assert_shape(kernel.shape, HR_SHAPE(3 + 4, 3));
    hr_tensor_clear(&kernel);
    hr_bundle_free(bundle);
    hr_estimator_free(e);
}

/* Allocation `fail_at` fails while an estimator is made. */
static int64_t allocations_of(int64_t fail_at)
{
    fail_allocation(fail_at);
    hr_estimator *e = estimator_of(&cases[4]);
    const int64_t made = allocations_since();
    hr_estimator_free(e);
    return made;
}

static void an_estimator_that_cannot_be_allocated_leaks_nothing(void **state)
{
    (void)state;
    const int64_t before = allocations_alive(), count = allocations_of(-1);
    for (int64_t i = 0; i < count; i++) allocations_of(i);
    assert_int_equal(allocations_alive(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trainings_agree_with_those_of_tensorflow),
        cmocka_unit_test(a_batch_of_rows_without_steps_trains),
        cmocka_unit_test(a_list_of_labels_has_one_for_each_step),
        cmocka_unit_test(what_the_options_lack_is_told),
        cmocka_unit_test(columns_of_the_wrong_kind_are_refused),
        cmocka_unit_test(a_layer_of_ones_own_is_trained),
        cmocka_unit_test(an_estimator_that_cannot_be_allocated_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
