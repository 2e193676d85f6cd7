/* Exports of estimators: what is served is what predicts; signatures by ways of asking; exporters; what cannot be
 * exported is refused and leaves nothing. */
#include "tests/testing.h"
#include "tests/train/estimator/trainings.h"
#include <headrace/heads.h>
#include <headrace/io.h>
#include <headrace/text_ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 16 };

/* ---- a classifier of each kind, trained a little ---- */

static hr_estimator *trained(which kind, const char *model_dir)
{
    test_input input = {.folder = "data", .epochs = 1, .batch = BATCH};
    hr_estimator *e = new_test_classifier(&(classifier_spec){.kind = kind, .model_dir = model_dir});
    assert_ok(hr_estimator_train(e, test_input_fn, &input, .steps = 5), hr_estimator_error(e));
    return e;
}

typedef struct predicted {
    float *probability; /* of each row, of the second class */
    int rows;
} predicted;

static hr_status keep_probabilities(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                                    int count, void *user, hr_error *err)
{
    predicted *p = user;
    (void)element, (void)err;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], "logistic") == 0)
            for (int64_t r = 0; r < predictions[i].count; r++)
                p->probability[p->rows++] = ((const float *)predictions[i].data)[r];
    return HR_OK;
}

/* The records of the folder, as requests have them, in the order in which they are predicted: one of each file in turn. */
static int read_requests(hr_view *request)
{
    int count = 0;
    for (int f = 0; f < FILES; f++) {
        char path[100];
        hr_error err;
        hr_record_reader *r;
        hr_view record;
        int row = 0;
        snprintf(path, sizeof path, "data/data-%d.tfrecord", f);
        assert_ok(hr_record_reader_open(path, NULL, &r, &err), &err);
        while (hr_record_read(r, &record, &err) == HR_OK) {
            char *copy = malloc((size_t)record.size);
            memcpy(copy, record.data, (size_t)record.size);
            request[f + FILES * row++] = (hr_view){copy, record.size};
            count++;
        }
        hr_record_reader_free(r);
    }
    return count;
}

static void check_served(const char *path, const hr_view *request, const predicted *expected)
{
    hr_error err;
    hr_saved_model *m;
    assert_ok(hr_saved_model_load(path, &m, &err), &err);
    const hr_tensor examples = hr_tensor_of(HR_STRING, HR_SHAPE(expected->rows), request);
    hr_named_tensor scores = {.name = "scores"}, values = {.name = "outputs"};
    assert_ok(hr_saved_model_run(m, NULL, &(hr_named_tensor){"inputs", examples}, 1, &scores, 1, &err), &err);
    assert_ok(hr_saved_model_run(m, "regression", &(hr_named_tensor){"inputs", examples}, 1, &values, 1, &err), &err);
    for (int r = 0; r < expected->rows; r++) {
        assert_near(((const float *)scores.value.data)[2 * r + 1], expected->probability[r], 1e-5);
        assert_near(((const float *)values.value.data)[r], expected->probability[r], 1e-5);
    }
    hr_tensor_clear(&scores.value);
    hr_tensor_clear(&values.value);
    hr_saved_model_unref(m);
}

static void what_is_served_is_what_predicts(void **state)
{
    (void)state;
    static float probability[ROWS];
    static hr_view request[ROWS];
    write_rows("data", ROWS);
    assert_int_equal(read_requests(request), ROWS);
    test_input input = {.folder = "data", .epochs = 1, .batch = BATCH};
    for (which kind = LINEAR; kind <= COMBINED; kind++) {
        char dir[20], *path;
        predicted expected = {probability, 0};
        snprintf(dir, sizeof dir, "model_%d", (int)kind);
        hr_estimator *e = trained(kind, dir);
        assert_ok(hr_estimator_predict(e, test_eval_fn, &input, keep_probabilities, &expected), hr_estimator_error(e));
        assert_int_equal(expected.rows, ROWS);
        assert_ok(hr_estimator_export(e, "exports", &path), hr_estimator_error(e));
        check_served(path, request, &expected);
        hr_free(path);
        hr_estimator_free(e);
    }
    assert_int_equal(files_in("exports", true), 3);
    for (int i = 0; i < ROWS; i++) free((void *)(uintptr_t)request[i].data);
}

static void a_baseline_asks_for_rows_alone(void **state)
{
    (void)state;
    char *path;
    hr_error err;
    hr_saved_model *m;
    write_rows("data", ROWS);
    test_input input = {.folder = "data", .epochs = 1, .batch = BATCH};
    hr_estimator *e = hr_baseline_estimator(.model_dir = "model", .head = hr_binary_class_head());
    assert_ok(hr_estimator_train(e, test_input_fn, &input, .steps = 3), hr_estimator_error(e));
    assert_ok(hr_estimator_export(e, "exports", &path), hr_estimator_error(e));
    hr_estimator_free(e);
    assert_ok(hr_saved_model_load(path, &m, &err), &err);
    hr_free(path);
    const hr_view examples[] = {{"", 0}, {"", 0}};
    const hr_named_tensor in = {"inputs", hr_tensor_of(HR_STRING, HR_SHAPE(2), examples)};
    hr_named_tensor out = {.name = "scores"};
    assert_ok(hr_saved_model_run(m, NULL, &in, 1, &out, 1, &err), &err);
    assert_shape(out.value.shape, HR_SHAPE(2, 2));
    hr_tensor_clear(&out.value);
    hr_saved_model_unref(m);
}

static void raw_requests_have_predictions_alone(void **state)
{
    (void)state;
    char *path;
    hr_error err;
    hr_saved_model *m;
    write_rows("data", ROWS);
    hr_estimator *e = trained(LINEAR, "model");
    assert_ok(hr_estimator_export(e, "exports", &path, .serving_fn = hr_raw_serving_input, .text = true),
              hr_estimator_error(e));
    hr_estimator_free(e);
    assert_ok(hr_saved_model_load(path, &m, &err), &err);
    hr_free(path);
    assert_null(hr_saved_model_signature(m, NULL));
    const hr_meta_signature *s = hr_saved_model_signature(m, "predict");
    assert_int_equal(s->input_count, 3);
    hr_named_tensor in[3], out = {.name = "logistic"};
    const float age[] = {20, 70};
    const hr_view word[] = {{"m", 1}, {"f", 1}};
    for (int i = 0; i < 3; i++) {
        in[i].name = s->inputs[i].key;
        in[i].value = strcmp(s->inputs[i].key, "age") == 0 ? hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), age)
                                                           : hr_tensor_of(HR_STRING, HR_SHAPE(2, 1), word);
    }
    assert_ok(hr_saved_model_run(m, "predict", in, 3, &out, 1, &err), &err);
    assert_shape(out.value.shape, HR_SHAPE(2, 1));
    hr_tensor_clear(&out.value);
    hr_saved_model_unref(m);
}

/* ---- a model function of one's own ---- */

static hr_status twice_plus_bias(const hr_model_call *call, void *user, hr_error *err)
{
    (void)err;
    const int *exports = user;
    hr_graph *g = call->graph;
    const hr_node bias = hr_get_variable(g, "bias", HR_FLOAT, HR_SHAPE(1), .initializer = hr_zeros());
    const hr_node x = hr_feature_values(call->features, "age"), y = hr_add(hr_add(x, x), bias);
    const hr_node sum = hr_reduce_sum(y, .axes = HR_I64(1), .axis_count = 1);
    hr_spec_prediction(call->spec, "y", y);
    hr_spec_prediction(call->spec, "sum", sum);
    const hr_saved_tensor only = HR_SAVED("output", sum), score = HR_SAVED("outputs", sum);
    if (*exports > 0) hr_spec_export(call->spec, "only_sum", NULL, &only, 1);
    if (*exports > 1) hr_spec_export(call->spec, "score", HR_REGRESS_METHOD, &score, 1);
    if (*exports > 2) hr_spec_export(call->spec, NULL, HR_PREDICT_METHOD, &only, 1);
    if (call->mode == HR_MODE_PREDICT) return HR_OK;
    const hr_node loss = hr_reduce_mean(hr_squared_difference(hr_cast_to(hr_label(call->features), HR_FLOAT), sum));
    hr_spec_loss(call->spec, loss);
    if (call->mode == HR_MODE_TRAIN)
        hr_spec_train_op(call->spec, hr_minimize(hr_sgd(0.001f), loss, .global_step = hr_global_step(g)));
    return HR_OK;
}

/* Examples, or numbers by another way. */
static hr_features *two_ways(const hr_serving_call *call, void *user, hr_error *err)
{
    (void)user, (void)err;
    hr_features *f = hr_features_new(call->graph);
    const hr_node examples = hr_placeholder(call->graph, HR_STRING, HR_SHAPE(-1), .name = "examples");
    hr_parsed_feature age;
    hr_parse_example_nodes(examples, HR_PARSE_SPEC({.key = "age", .dtype = HR_FLOAT, .shape = HR_SHAPE(1)}), &age);
    hr_features_add(f, "age", age.values, (hr_node){0}, false);
    hr_serving_receive(call->input, NULL, HR_SAVED("examples", examples));
    hr_serving_receive(call->input, "numbers", HR_SAVED("age", age.values));
    return f;
}

static hr_status export_own(int exports, hr_serving_fn *fn, char **path, hr_error *err)
{
    test_input input = {.folder = "data", .epochs = 1, .batch = BATCH};
    hr_estimator *e = hr_estimator_new(twice_plus_bias, &exports, .model_dir = "own");
    assert_ok(hr_estimator_train(e, test_input_fn, &input, .steps = 1, .new_input = true), hr_estimator_error(e));
    const hr_status st = hr_estimator_export(e, "exports", path, .serving_fn = fn);
    if (st != HR_OK) *err = *hr_estimator_error(e);
    hr_estimator_free(e);
    return st;
}

static bool has_signature(const hr_saved_model *m, const char *key) { return hr_saved_model_signature(m, key) != NULL; }

static void signatures_follow_from_exports_and_ways_of_asking(void **state)
{
    (void)state;
    hr_error err;
    write_rows("data", ROWS);
    for (int exports = 0; exports <= 3; exports++) {
        char *path;
        hr_saved_model *m;
        if (exports == 2) { /* several, and none is the default */
            assert_status(export_own(exports, two_ways, &path, &err), HR_INVALID_ARGUMENT);
            assert_string_equal(err.kind, "estimator.serving");
            assert_null(path);
            continue;
        }
        assert_ok(export_own(exports, two_ways, &path, &err), &err);
        assert_ok(hr_saved_model_load(path, &m, &err), &err);
        hr_free(path);
        assert_true(has_signature(m, "serving_default") && has_signature(m, "numbers:serving_default"));
        assert_int_equal(has_signature(m, "only_sum"), exports > 0);
        assert_int_equal(has_signature(m, "numbers:only_sum"), exports > 0);
        assert_int_equal(has_signature(m, "score"), exports > 1);
        assert_false(has_signature(m, "numbers:score")); /* it takes no Examples */
        assert_int_equal(hr_saved_model_signature(m, NULL)->output_count, exports == 0 ? 2 : 1);
        const float age[] = {1, 2, 3};
        const hr_named_tensor in = {"age", hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 1), age)};
        hr_named_tensor out = {.name = exports == 0 ? "sum" : "output"};
        assert_ok(hr_saved_model_run(m, "numbers:serving_default", &in, 1, &out, 1, &err), &err);
        const float *sum = out.value.data;
        assert_near(sum[2] - sum[0], 4, 1e-4);
        hr_tensor_clear(&out.value);
        hr_saved_model_unref(m);
    }
    assert_int_equal(files_in("exports", true), 3);
}

/* ---- exporters ---- */

static void exporters_export_saved_models(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model *m;
    write_rows("data", ROWS);
    test_input input = {.folder = "data", .epochs = 1, .batch = BATCH};
    hr_exporter *x[] = {hr_latest_exporter("latest", NULL, NULL), hr_best_exporter("best", NULL, NULL),
                        hr_final_exporter("final", NULL, NULL, .saved_model = &(hr_export_opts){.text = true})};
    hr_estimator *e = new_test_classifier(&(classifier_spec){.kind = LINEAR, .model_dir = "model", .save_steps = 5});
    const int64_t steps = 2, secs = 0;
    assert_ok(hr_train_and_evaluate(e, HR_TRAIN_SPEC(.input_fn = test_input_fn, .user = &input, .max_steps = 10),
                                    HR_EVAL_SPEC(.input_fn = test_eval_fn, .user = &input, .steps = &steps,
                                                 .throttle_secs = &secs, .exporters = x, .exporter_count = 3)),
              hr_estimator_error(e));
    for (int i = 0; i < 3; i++) {
        if (i != 1) assert_non_null(hr_exporter_exported(x[i]));
        if (hr_exporter_exported(x[i])) {
            assert_ok(hr_saved_model_load(hr_exporter_exported(x[i]), &m, &err), &err);
            hr_saved_model_unref(m);
        }
        hr_exporter_free(x[i]);
    }
    hr_estimator_free(e);
    assert_int_equal(files_in("model/export/latest", true), 2);
    assert_at_least(files_in("model/export/best", true), 1);
    assert_int_equal(files_in("model/export/final", true), 1);
}

/* ---- what cannot be exported ---- */

static hr_features *receives_nothing(const hr_serving_call *call, void *user, hr_error *err)
{
    (void)user, (void)err;
    return hr_features_new(call->graph);
}

static hr_features *gives_an_error(const hr_serving_call *call, void *user, hr_error *err)
{
    (void)call, (void)user;
    hr_fail(err, HR_UNAVAILABLE, "test.serving", "not now");
    return NULL;
}

static void what_cannot_be_exported_leaves_nothing(void **state)
{
    (void)state;
    hr_error err = {0};
    char *path;
    write_rows("data", ROWS);
    hr_estimator *e = new_test_classifier(&(classifier_spec){.kind = LINEAR, .model_dir = "untrained"});
    assert_status(hr_estimator_export(e, "exports", &path), HR_NOT_FOUND);
    assert_string_equal(hr_estimator_error(e)->kind, "estimator.checkpoint");
    assert_status(hr_estimator_export(e, NULL, NULL), HR_INVALID_ARGUMENT);
    hr_estimator_free(e);
    assert_status(hr_estimator_export(NULL, "exports", &path), HR_RESOURCE_EXHAUSTED);
    assert_status(export_own(0, NULL, &path, &err), HR_INVALID_ARGUMENT); /* it has no columns */
    assert_string_equal(err.kind, "estimator.serving");
    assert_status(export_own(0, receives_nothing, &path, &err), HR_INVALID_ARGUMENT);
    assert_status(export_own(0, gives_an_error, &path, &err), HR_UNAVAILABLE);
    assert_string_equal(err.kind, "test.serving");
    assert_at_most(files_in("exports", true), 0);
    e = trained(LINEAR, "model");
    const hr_extra_file none = {"notes.txt", "no such file"};
    assert_status(hr_estimator_export(e, "exports", &path, .extra = &none, .extra_count = 1), HR_NOT_FOUND);
    hr_estimator_free(e);
    assert_at_most(files_in("exports", true), 0);
}

/* A folder for each test. */
static int enter_folder(void **state)
{
    static int count;
    static char name[20];
    snprintf(name, sizeof name, "test_%d", count++);
    *state = name;
    return mkdir(name, 0777) == 0 && chdir(name) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    if (chdir("..") != 0) return -1;
    remove_folder(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_served_is_what_predicts, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_baseline_asks_for_rows_alone, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(raw_requests_have_predictions_alone, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(signatures_follow_from_exports_and_ways_of_asking, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(exporters_export_saved_models, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_exported_leaves_nothing, enter_folder, leave_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
