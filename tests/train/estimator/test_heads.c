/* Heads: which labels, weights and options they take, what they say of others, and a head of a model function of one's
 * own. */
#include "tests/testing.h"
#include <headrace/heads.h>
#include <headrace/io.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 6 };

/* Rows {x, w, y}; y is the label. Of strings if words are given. */
typedef struct rows {
    float x[ROWS], w[ROWS], y[ROWS];
    int64_t classes[ROWS];
    const char *words[ROWS];
    enum { NUMBERS, PAIRS, CLASSES, WORDS } labels; /* a pair is y and 0 */
} rows;

static rows six_rows(void)
{
    return (rows){.x = {-3, -2, -1, 1, 2, 3},
                  .w = {1, 2, 1, 2, 1, 0},
                  .y = {0, 0, 1, 0, 1, 1},
                  .classes = {0, 1, 2, 0, 1, 2},
                  .words = {"no", "no", "yes", "no", "yes", "yes"}};
}

static hr_dataset *rows_fn(void *user)
{
    const rows *r = user;
    hr_error err = {0};
    hr_example *example = hr_example_new();
    hr_record_writer *w;
    assert_ok(hr_record_writer_open("rows.tfrecord", NULL, &w, &err), &err);
    for (int i = 0; i < ROWS; i++) {
        hr_view bytes, word = {r->words[i], (int64_t)strlen(r->words[i])};
        hr_example_clear(example);
        hr_example_add_float(example, "x", &r->x[i], 1);
        hr_example_add_float(example, "w", &r->w[i], 1);
        if (r->labels <= PAIRS)
            hr_example_add_float(example, "y", (const float[]){r->y[i], 0}, 1 + (r->labels == PAIRS));
        if (r->labels == CLASSES) hr_example_add_int64(example, "y", &r->classes[i], 1);
        if (r->labels == WORDS) hr_example_add_bytes(example, "y", &word, 1);
        assert_ok(hr_example_bytes(example, &bytes, &err), &err);
        assert_ok(hr_record_write(w, bytes.data, (size_t)bytes.size, &err), &err);
    }
    hr_example_free(example);
    assert_ok(hr_record_writer_commit(w, &err), &err);
    const hr_shape one = {.rank = 1, .dims = {1}}, two = {.rank = 1, .dims = {2}};
    const hr_dtype label = r->labels <= PAIRS ? HR_FLOAT : r->labels == CLASSES ? HR_INT64 : HR_STRING;
    const hr_feature features[] = {{.key = "x", .dtype = HR_FLOAT, .shape = one},
                                   {.key = "w", .dtype = HR_FLOAT, .shape = one},
                                   {.key = "y", .dtype = label, .shape = r->labels == PAIRS ? two : one}};
    const hr_parse_spec spec = {features, 3};
    return hr_parse_example(hr_batch(hr_tfrecord("rows.tfrecord"), 3), &spec, .label = "y");
}

/* A linear model of x. Takes the head. */
static hr_estimator *linear_of(hr_head *head)
{
    hr_feature_column *x = hr_numeric_column("x");
    hr_estimator *e = hr_linear_estimator(.model_dir = "model", .linear_feature_columns = {&x, 1}, .head = head,
                                          .linear_optimizer = hr_sgd(0.1f));
    hr_feature_column_unref(x);
    remove_folder("model");
    return e;
}

/* Training with this head fails with this kind of error, and a text that contains `part`. Takes the head. */
static void assert_refused(hr_head *head, rows r, const char *kind, const char *part, int64_t record)
{
    hr_estimator *e = linear_of(head);
    assert_status(hr_estimator_train(e, rows_fn, &r), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_estimator_error(e)->kind, kind);
    assert_text_contains(hr_estimator_error(e)->text, part);
    if (record >= 0) assert_int_equal(hr_estimator_error(e)->record, record);
    hr_estimator_free(e);
}

static void labels_that_a_head_does_not_take_are_refused_with_their_record(void **state)
{
    (void)state;
    rows r = six_rows();
    r.y[4] = -1;
    assert_refused(hr_poisson_regression_head(), r, "estimator.label_range", "expected a count", 4);
    assert_refused(hr_logistic_regression_head(), r, "estimator.label_range", "expected a probability", 4);
    r.y[4] = NAN;
    assert_refused(hr_regression_head(), r, "estimator.label_range", "expected a number, found nan", 4);
    assert_refused(hr_multi_class_head(3), r, "estimator.label", "expected whole numbers", -1);
    r.y[4] = 0.5f;
    r.labels = PAIRS;
    assert_refused(hr_multi_label_head(2), r, "estimator.label_range", "expected 0 or 1 for each class, found 0.5", 4);
    r.labels = CLASSES;
    r.classes[5] = 3;
    assert_refused(hr_multi_class_head(3), r, "estimator.label_range", "expected a class from 0 to 2, found 3", 5);
    r.classes[5] = -1;
    assert_refused(hr_multi_class_head(3), r, "estimator.label_range", "found -1", 5);
    r.labels = WORDS;
    r.words[1] = "maybe";
    assert_refused(hr_binary_class_head(.label_vocabulary = HR_VOCABULARY("no", "yes")), r, "estimator.label_range",
                   "expected one of the 2 strings of the label vocabulary, found 'maybe'", 1);
    assert_refused(hr_binary_class_head(), r, "estimator.label", "expected numbers as labels", -1);
    r.labels = NUMBERS;
    assert_refused(hr_binary_class_head(.label_vocabulary = HR_VOCABULARY("no", "yes")), r, "estimator.label",
                   "expected strings of the label vocabulary", -1);
}

static void weights_that_are_no_weights_are_refused_with_their_record(void **state)
{
    (void)state;
    static const float wrong[] = {-0.5f, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        rows r = six_rows();
        r.w[3] = wrong[i];
        assert_refused(hr_regression_head(.weight_column = "w"), r, "estimator.weight", "weight 'w'", 3);
    }
    assert_refused(hr_regression_head(.weight_column = "v"), six_rows(), "estimator.weight", "expected a component",
                   -1);
}

static void options_that_a_head_does_not_have_are_refused(void **state)
{
    (void)state;
    static const float one[] = {1}, half[] = {0.5f};
    const hr_reduction none = HR_REDUCTION_NONE, mean = HR_REDUCTION_MEAN;
    const hr_vocabulary_list words = HR_VOCABULARY("a", "b", "c"), twice = HR_VOCABULARY("a", "a");
    hr_head *wrong[] = {
        hr_regression_head(.label_vocabulary = words),
        hr_regression_head(.thresholds = half, .threshold_count = 1),
        hr_regression_head(.label_dimension = -1),
        hr_regression_head(.loss_reduction = &none),
        hr_regression_head(.loss_reduction = &mean),
        hr_binary_class_head(.label_dimension = 2),
        hr_binary_class_head(.label_vocabulary = words),
        hr_binary_class_head(.label_vocabulary = twice),
        hr_binary_class_head(.thresholds = one, .threshold_count = 1),
        hr_binary_class_head(.thresholds = NULL, .threshold_count = 1),
        hr_multi_class_head(2),
        hr_multi_class_head(3, .metric_classes = (const int64_t[]){0}, .metric_class_count = 1),
        hr_multi_label_head(1),
        hr_multi_label_head(3, .v1 = true),
        hr_multi_label_head(3, .metric_classes = (const int64_t[]){3}, .metric_class_count = 1),
        hr_multi_class_head(4, .label_vocabulary = words),
        hr_multi_class_head(3, .label_vocabulary = {.count = 3, .ints = (const int64_t[]){1, 2, 3}}),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_non_null(hr_head_error(wrong[i]));
        assert_int_equal(hr_head_logits_dimension(wrong[i]), 0);
        assert_refused(wrong[i], six_rows(), "head.argument", "expected", -1);
    }
    assert_refused(NULL, six_rows(), "estimator.argument", "expected a head, got NULL", -1);
    hr_head *fine = hr_regression_head(.loss_reduction = &mean, .v1 = true, .label_dimension = 4);
    assert_null(hr_head_error(fine));
    assert_int_equal(hr_head_logits_dimension(fine), 4);
    hr_head_free(fine);
}

static void a_combined_model_without_columns_is_refused(void **state)
{
    (void)state;
    rows r = six_rows();
    hr_estimator *e = hr_dnn_linear_combined_regressor(.model_dir = "model");
    assert_status(hr_estimator_train(e, rows_fn, &r), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_estimator_error(e)->kind, "estimator.argument");
    assert_text_contains(hr_estimator_error(e)->text, "expected linear_feature_columns or dnn_feature_columns");
    hr_estimator_free(e);
}

/* The mean loss is that of the rows by their weights; `loss` is divided by the rows of a batch. */
static void a_baseline_weighs_rows(void **state)
{
    (void)state;
    rows r = six_rows();
    remove_folder("model");
    hr_estimator *e = hr_baseline_estimator(.model_dir = "model", .optimizer = hr_sgd(0.0f),
                                            .head = hr_regression_head(.weight_column = "w", .name = "h"));
    assert_status(hr_estimator_train(e, rows_fn, &r), HR_OK);
    assert_status(hr_estimator_evaluate(e, rows_fn, &r), HR_OK);
    assert_float_equal(hr_estimator_result(e, "average_loss/h"), 2.0 / 7, 1e-6);
    assert_float_equal(hr_estimator_result(e, "label/mean/h"), 2.0 / 7, 1e-6);
    assert_float_equal(hr_estimator_result(e, "loss"), 1.0 / 3, 1e-6);
    hr_estimator_free(e);
}

/* ---- tags of summaries ---- */

/* Whether the event file of the folder "model" has this text. */
static bool events_have(const char *text)
{
    static char bytes[1 << 20];
    bool found = false;
    DIR *folder = opendir("model");
    for (struct dirent *f; folder && (f = readdir(folder));) {
        char path[300];
        snprintf(path, sizeof path, "model/%s", f->d_name);
        FILE *file = strstr(f->d_name, "tfevents") ? fopen(path, "rb") : NULL;
        if (!file) continue;
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        found |= memmem(bytes, size, text, strlen(text)) != NULL;
        fclose(file);
    }
    if (folder) closedir(folder);
    return found;
}

/* TensorFlow 1 writes the scope twice, and the mean of a loss that is summed. */
static void tags_of_summaries_are_those_of_the_generation(void **state)
{
    (void)state;
    rows r = six_rows();
    for (int v1 = 0; v1 < 2; v1++) {
        hr_feature_column *x = hr_numeric_column("x");
        hr_estimator *e =
            hr_dnn_linear_combined_regressor(.model_dir = "model", .dnn_feature_columns = {&x, 1}, .v1 = v1,
                                             .linear_feature_columns = {&x, 1}, .dnn_hidden_units = HR_UNITS(2));
        hr_feature_column_unref(x);
        remove_folder("model");
        assert_status(hr_estimator_train(e, rows_fn, &r), HR_OK);
        assert_int_equal(events_have("dnn/dnn/hiddenlayer_0/fraction_of_zero_values"), v1);
        assert_int_equal(events_have("linear/linear/activation"), v1);
        assert_int_equal(events_have("linear/bias"), v1);
        assert_int_equal(events_have("average_loss"), v1);
        assert_true(events_have("dnn/hiddenlayer_0/activation"));
        assert_true(events_have("fraction_of_zero_weights"));
        hr_estimator_free(e);
    }
}

/* ---- a kind from outside, in a model function ---- */

static int64_t absolute_dimension(const hr_head *head)
{
    (void)head;
    return 1;
}

static void absolute_predictions(hr_head_call *c) { hr_spec_prediction(c->model->spec, "predictions", c->logits); }
static hr_node absolute_losses(hr_head_call *c) { return hr_abs(hr_sub(c->labels, c->logits)); }
static void absolute_metrics(hr_head_call *c) { hr_head_regression_metrics(c, c->logits); }

static const hr_head_kind absolute = {
    .head = HR_HEAD_HEAD,
    .name = "absolute",
    .logits_dimension = absolute_dimension,
    .predictions = absolute_predictions,
    .losses = absolute_losses,
    .metrics = absolute_metrics,
};

static hr_status absolute_fn(const hr_model_call *call, void *user, hr_error *err)
{
    (void)err;
    const hr_node logits = hr_dense(hr_feature_values(call->features, "x"), 1, .kernel_initializer = hr_zeros());
    const hr_node loss = hr_head_build(user, call, logits);
    if (call->mode == HR_MODE_TRAIN)
        hr_spec_train_op(call->spec, hr_minimize(hr_sgd(0), loss, .global_step = hr_global_step(call->graph)));
    return HR_OK;
}

static void a_head_of_ones_own_serves_a_model_function(void **state)
{
    (void)state;
    rows r = six_rows();
    hr_head *head = hr_head_new(&absolute, NULL, NULL);
    hr_head_kind newer = absolute;
    newer.head.abi_version++;
    hr_head *misfit = hr_head_new(&newer, NULL, NULL);
    assert_string_equal(hr_head_error(misfit)->kind, "head.abi");
    hr_head_free(misfit);
    remove_folder("own");
    hr_estimator *e = hr_estimator_new(absolute_fn, head, .model_dir = "own");
    assert_status(hr_estimator_train(e, rows_fn, &r), HR_OK);
    assert_status(hr_estimator_evaluate(e, rows_fn, &r), HR_OK);
    assert_float_equal(hr_estimator_result(e, "average_loss"), 0.5, 1e-6);
    hr_estimator_free(e);
    hr_head_free(head);
}

/* ---- several heads ---- */

static hr_head *two_tasks(const char *second, const float *weights)
{
    return hr_multi_head(HR_HEADS(hr_binary_class_head(.name = "up", .label_key = "y"),
                                  hr_regression_head(.name = second, .label_key = "w")),
                         .head_weights = weights);
}

static void a_multi_head_learns_several_labels_at_once(void **state)
{
    (void)state;
    rows r = six_rows();
    hr_estimator *e = linear_of(two_tasks("weight", HR_F32(1, 0.5f)));
    hr_status st = hr_estimator_train(e, rows_fn, &r);
    if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
    st = hr_estimator_evaluate(e, rows_fn, &r);
    if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
    assert_float_equal(hr_estimator_result(e, "loss"),
                       hr_estimator_result(e, "loss/up") + 0.5 * hr_estimator_result(e, "loss/weight"), 1e-6);
    assert_true(hr_estimator_result(e, "auc/up") >= 0.5);
    assert_float_equal(hr_estimator_result(e, "label/mean/weight"), 7.0 / 6, 1e-6);
    hr_estimator_free(e);
}

static void each_task_of_a_multi_head_checks_its_labels(void **state)
{
    (void)state;
    rows r = six_rows();
    r.w[4] = NAN;
    assert_refused(two_tasks("weight", NULL), r, "estimator.label_range", "label 'w': expected a number", 4);
    r = six_rows();
    r.y[1] = 2;
    assert_refused(two_tasks("weight", NULL), r, "estimator.label_range", "label 'y': expected 0 or 1", 1);
    assert_refused(hr_multi_head(HR_HEADS(hr_regression_head(.name = "price"))), six_rows(), "estimator.label",
                   "dense component 'price'", -1);
}

static void a_multi_head_of_heads_that_do_not_fit_is_refused(void **state)
{
    (void)state;
    assert_refused(two_tasks("up", NULL), six_rows(), "head.argument", "different names, got 'up'", -1);
    assert_refused(two_tasks(NULL, NULL), six_rows(), "head.argument", "a name of each head", -1);
    assert_refused(two_tasks("weight", HR_F32(1, 0)), six_rows(), "head.argument", "head_weights above 0", -1);
    assert_refused(hr_multi_head(((hr_head_list){0})), six_rows(), "head.argument", "one head or more", -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_that_a_head_does_not_take_are_refused_with_their_record),
        cmocka_unit_test(weights_that_are_no_weights_are_refused_with_their_record),
        cmocka_unit_test(options_that_a_head_does_not_have_are_refused),
        cmocka_unit_test(a_combined_model_without_columns_is_refused),
        cmocka_unit_test(a_baseline_weighs_rows),
        cmocka_unit_test(tags_of_summaries_are_those_of_the_generation),
        cmocka_unit_test(a_head_of_ones_own_serves_a_model_function),
        cmocka_unit_test(a_multi_head_learns_several_labels_at_once),
        cmocka_unit_test(each_task_of_a_multi_head_checks_its_labels),
        cmocka_unit_test(a_multi_head_of_heads_that_do_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
