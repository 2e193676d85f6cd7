/* NULL in the place of any argument is an error or nothing, never a crash; NULL options are the defaults. */
#include "tests/testing.h"
#include <headrace/checkpoint.h>
#include <headrace/estimator.h>
#include <headrace/pipeline_file.h>
#include <headrace/summary.h>
#include <headrace/training_file.h>
#include <math.h>
#include <string.h>

static hr_status empty_model(const hr_model_call *call, void *user, hr_error *err)
{
    (void)call, (void)user, (void)err;
    return HR_OK;
}

static hr_dataset *no_input(void *user) { return (void)user, NULL; }

static hr_status ignore_batch(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                              int count, void *user, hr_error *err)
{
    (void)element, (void)names, (void)predictions, (void)count, (void)user, (void)err;
    return HR_OK;
}

static void assert_refused(hr_estimator *e, hr_status st, const char *kind)
{
    assert_status(st, HR_INVALID_ARGUMENT);
    assert_string_equal(hr_estimator_error(e)->kind, kind);
}

static void estimators_say_what_they_lack(void **state)
{
    (void)state;
    hr_train_spec train = {.max_steps = 1};
    hr_eval_spec eval = {0};
    hr_estimator *e = hr_estimator_new(empty_model, NULL, .model_dir = "m");
    assert_refused(e, hr_estimator_train(e, NULL, NULL), "estimator.input_fn");
    assert_refused(e, hr_estimator_train_with(e, NULL, NULL, NULL), "estimator.input_fn");
    assert_refused(e, hr_estimator_train_with(e, no_input, NULL, NULL), "estimator.input_fn");
    assert_refused(e, hr_estimator_train(e, no_input, NULL, .hook_count = 2), "estimator.argument");
    assert_refused(e, hr_estimator_evaluate(e, NULL, NULL), "estimator.input_fn");
    assert_status(hr_estimator_evaluate_with(e, no_input, NULL, NULL), HR_NOT_FOUND);
    assert_refused(e, hr_estimator_predict(e, NULL, NULL, ignore_batch, NULL), "estimator.input_fn");
    assert_refused(e, hr_estimator_predict(e, no_input, NULL, NULL, NULL), "estimator.argument");
    assert_status(hr_estimator_predict_with(e, no_input, NULL, ignore_batch, NULL, NULL), HR_NOT_FOUND);
    assert_refused(e, hr_train_and_evaluate(e, NULL, NULL), "estimator.input_fn");
    assert_refused(e, hr_train_and_evaluate(e, &train, &eval), "estimator.input_fn");
    eval.input_fn = no_input;
    assert_refused(e, hr_train_and_evaluate(e, &train, &eval), "estimator.input_fn");
    assert_nan(hr_estimator_result(e, NULL));
    hr_estimator_free(e);
}

/* A leak would fail the test. */
static void training_takes_its_hooks_even_if_its_arguments_are_refused(void **state)
{
    (void)state;
    hr_hook *hook;
    const hr_eval_spec no_eval_input = {0}, eval = {.input_fn = no_input};
    const hr_train_spec train = {.input_fn = no_input, .max_steps = 1, .hooks = &hook, .hook_count = 1},
                        no_train_input = {.max_steps = 1, .hooks = &hook, .hook_count = 1};
    const hr_eval_spec *evals[] = {NULL, &no_eval_input, &eval};
    hr_estimator *e = hr_estimator_new(empty_model, NULL, .model_dir = "m");
    for (int i = 0; i < 3; i++) {
        hook = hr_stop_at_step_hook(.last_step = 1);
        assert_refused(e, hr_train_and_evaluate(e, i < 2 ? &train : &no_train_input, evals[i]), "estimator.input_fn");
    }
    hook = hr_stop_at_step_hook(.last_step = 1);
    assert_status(hr_train_and_evaluate(NULL, &train, &eval), HR_RESOURCE_EXHAUSTED);
    hr_estimator_free(e);
}

static void estimators_of_nothing_say_so(void **state)
{
    (void)state;
    hr_estimator *made[] = {
        hr_estimator_new_with(NULL, NULL, NULL),
        hr_estimator_new_with(empty_model, NULL, NULL),
        hr_linear_classifier_with(NULL),
        hr_dnn_classifier_with(NULL),
        hr_dnn_linear_combined_classifier_with(NULL),
        hr_dnn_classifier(.model_dir = "m", .dnn_hidden_units = {NULL, 3}),
        hr_linear_classifier(.model_dir = "m", .linear_feature_columns = {NULL, 3}),
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        assert_non_null(made[i]);
        assert_status(hr_estimator_train(made[i], no_input, NULL), HR_INVALID_ARGUMENT);
        assert_non_null(hr_estimator_error(made[i]));
        hr_estimator_free(made[i]);
    }
    assert_status(hr_estimator_train(NULL, NULL, NULL), HR_RESOURCE_EXHAUSTED);
    assert_status(hr_estimator_evaluate(NULL, NULL, NULL), HR_RESOURCE_EXHAUSTED);
    assert_status(hr_estimator_predict(NULL, NULL, NULL, NULL, NULL), HR_RESOURCE_EXHAUSTED);
    assert_status(hr_train_and_evaluate(NULL, NULL, NULL), HR_RESOURCE_EXHAUSTED);
    assert_string_equal(hr_estimator_error(NULL)->kind, "memory");
    assert_int_equal(hr_estimator_results(NULL), 0);
    assert_null(hr_estimator_result_name(NULL, 0));
    assert_nan(hr_estimator_result(NULL, "loss"));
    hr_estimator_free(NULL);
}

/* ---- hooks ---- */

static void assert_hook_fails(hr_hook *hook, const char *kind)
{
    hr_graph *g = hr_graph_new();
    hr_error err = {0};
    hr_global_step(g);
    hr_monitored_session *m = hr_monitored_session_new_with(g, &hook, 1, NULL);
    hr_status st = hr_monitored_run(m, NULL, 0, NULL, 0, NULL, &err);
    assert_not_ok(st);
    if (kind) assert_string_equal(err.kind, kind);
    assert_int_equal(hr_monitored_session_close(m, false, &err), st);
    hr_graph_free(g);
}

static void trainings_and_pipelines_of_nothing_say_so(void **state)
{
    (void)state;
    hr_error err;
    hr_training *t;
    hr_dataset *ds;
    assert_status(hr_training_open_with(NULL, NULL, &t, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "training.argument");
    assert_null(t);
    assert_status(hr_training_open_with("none.yaml", NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_training_open_with("none.yaml", NULL, &t, NULL), HR_NOT_FOUND);
    assert_status(hr_training_train_with(NULL, NULL, NULL, &err), HR_INVALID_ARGUMENT);
    hr_training_free(NULL);
    assert_null(hr_training_estimator(NULL));
    assert_null(hr_training_model_dir(NULL));
    assert_null(hr_training_files(NULL));
    assert_null(hr_training_eval_files(NULL));
    assert_null(hr_training_identity(NULL));
    assert_int_equal(hr_training_batch_size(NULL), 0);
    assert_int_equal(hr_training_epochs(NULL), 0);
    assert_int_equal(hr_training_max_steps(NULL), 0);
    assert_int_equal(hr_training_seed(NULL), 0);
    hr_dataset *const inputs[] = {hr_training_input(NULL), hr_training_eval_input(NULL),
                                  hr_training_predict_input(NULL)};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(hr_dataset_error(inputs[i])->kind, "list_files.pattern");
        hr_dataset_unref(inputs[i]);
    }
    assert_status(hr_pipeline_from_file_with(NULL, NULL, &ds, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "pipeline.argument");
    assert_null(ds);
    assert_status(hr_pipeline_from_file_with("none.yaml", NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_pipeline_from_file_with("none.yaml", NULL, &ds, NULL), HR_NOT_FOUND);
    assert_false(hr_is_pipeline_file(NULL));
    assert_false(hr_is_pipeline_file("none.yaml"));
}

static void an_optimizer_of_nothing_says_so(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_minimize(NULL, hr_scalar(g, HR_FLOAT, 1));
    assert_string_equal(hr_graph_error(g)->kind, "optimizer.kind");
    assert_text_contains(hr_graph_error(g)->text, "expected an optimizer, got NULL");
    hr_graph_free(g);
    hr_dataset *none[] = {hr_from_tensor_slices(NULL, NULL, 1), hr_from_tensors(NULL, NULL, 1)};
    for (int i = 0; i < 2; i++) {
        assert_string_equal(hr_dataset_error(none[i])->kind, "from_tensor_slices.count");
        hr_dataset_unref(none[i]);
    }
}

static void hooks_of_nothing_fail_at_begin(void **state)
{
    (void)state;
    hr_summary_writer *w = hr_summary_writer_new("events");
    assert_hook_fails(hr_hook_new(NULL, NULL), "hooks.argument");
    assert_hook_fails(hr_stop_at_step_hook_with(NULL), "hooks.stop_at_step");
    assert_hook_fails(hr_nan_tensor_hook_with((hr_node){0}, NULL), NULL);
    assert_hook_fails(hr_logging_tensor_hook_with(NULL, 2, NULL), "hooks.argument");
    assert_hook_fails(hr_logging_tensor_hook_with(NULL, 0, NULL), "hooks.interval");
    assert_hook_fails(hr_checkpoint_saver_hook_with(NULL, NULL), "hooks.argument");
    assert_hook_fails(hr_checkpoint_saver_hook_with("m", NULL), "hooks.interval");
    assert_hook_fails(hr_summary_saver_hook_with(NULL, NULL, 0, NULL), "memory");
    assert_hook_fails(hr_summary_saver_hook_with(w, NULL, 3, NULL), "hooks.argument");
    assert_hook_fails(hr_summary_saver_hook_with(w, NULL, 0, NULL), "hooks.interval");
    hr_summary_writer_unref(w);
    hr_hook_free(hr_step_counter_hook_with(NULL));
    hr_hook_free(NULL);
    assert_null(hr_summary_writer_new(NULL));
    assert_string_equal(hr_hook_name(NULL), "");
}

static void sessions_of_nothing_say_so(void **state)
{
    (void)state;
    hr_error err = {0};
    int64_t step;
    hr_graph *g = hr_graph_new();
    hr_monitored_session *made[] = {
        hr_monitored_session_new_with(NULL, NULL, 0, NULL),
        hr_monitored_session_new(g, NULL, 2),
        hr_monitored_session_new(g, NULL, 0, .extras = 2),
        hr_monitored_session_new(g, ((hr_hook *[]){NULL}), 1),
        hr_monitored_session_new(g, ((hr_hook *[]){hr_stop_at_step_hook(.last_step = 1), NULL}), 2),
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        assert_string_equal(hr_monitored_session_error(made[i])->kind, "hooks.argument");
        assert_status(hr_monitored_run(made[i], NULL, 0, NULL, 0, NULL, &err), HR_INVALID_ARGUMENT);
        assert_not_ok(hr_monitored_step(made[i], &step, &err));
        assert_true(hr_should_stop(made[i]));
        hr_monitored_session_close(made[i], false, NULL);
    }
    hr_monitored_session *m = hr_monitored_session_new_with(g, NULL, 0, NULL);
    assert_not_ok(hr_monitored_run(m, NULL, 2, NULL, 0, NULL, &err));
    hr_monitored_session_close(m, false, NULL);
    hr_graph_free(g);
    assert_status(hr_monitored_run(NULL, NULL, 0, NULL, 0, NULL, &err), HR_RESOURCE_EXHAUSTED);
    assert_status(hr_monitored_step(NULL, &step, &err), HR_RESOURCE_EXHAUSTED);
    assert_status(hr_monitored_save(NULL, "p", &err), HR_RESOURCE_EXHAUSTED);
    assert_status(hr_monitored_session_close(NULL, false, &err), HR_RESOURCE_EXHAUSTED);
    assert_string_equal(hr_monitored_session_error(NULL)->kind, "memory");
    assert_false(hr_monitored_restored(NULL));
    assert_true(hr_should_stop(NULL));
}

/* ---- checkpoints and events ---- */

static void checkpoints_of_nothing_are_refused(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_bundle *b;
    hr_bundle_writer *w;
    hr_saver *s;
    char *prefix;
    assert_status(hr_bundle_open(NULL, &b, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_bundle_writer_open(NULL, &w, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_latest_checkpoint(NULL, &prefix, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_latest_checkpoint_with("m", NULL, &prefix, &err), HR_OK);
    assert_null(prefix);
    assert_status(hr_whole_checkpoint(NULL, &prefix, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_saver_open(NULL, &s, &err), HR_INVALID_ARGUMENT);
    assert_ok(hr_saver_open_with("m", NULL, &s, &err), &err);
    assert_status(hr_saver_saved(s, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_saver_saving(s, NULL, &err), HR_INVALID_ARGUMENT);
    hr_saver_free(s);
    assert_ok(hr_bundle_writer_open("p", &w, &err), &err);
    assert_status(hr_bundle_add(w, NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_bundle_add(w, "a", NULL, &err), HR_INVALID_ARGUMENT);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
    assert_ok(hr_bundle_open("p", &b, &err), &err);
    hr_tensor t;
    assert_not_ok(hr_bundle_read(b, NULL, &t, &err));
    assert_not_ok(hr_bundle_read_slice(b, NULL, NULL, &t, &err));
    bool has;
    assert_status(hr_bundle_has(b, NULL, &has, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_bundle_list(NULL, NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_bundle_check(NULL, &err), HR_INVALID_ARGUMENT);
    hr_bundle_free(b);
    hr_bundle_writer_discard(NULL);
    hr_bundle_free(NULL);
    hr_saver_free(NULL);
    hr_event_writer *events;
    assert_not_ok(hr_event_writer_open(NULL, &events, &err));
    hr_event_writer_free(NULL);
}

/* ---- layers and optimizers ---- */

static void layers_of_no_nodes_give_no_nodes(void **state)
{
    (void)state;
    const hr_node none = {0};
    hr_variable_gradient *gradients = NULL;
    int count = 0;
    assert_false(hr_node_exists(hr_dense_with(none, 3, NULL)));
    assert_false(hr_node_exists(hr_dropout_with(none, 0.5f, NULL)));
    assert_false(hr_node_exists(hr_mean_squared_error_with(none, none, NULL)));
    assert_false(hr_node_exists(hr_softmax_cross_entropy_loss_with(none, none, NULL)));
    assert_false(hr_node_exists(hr_sparse_softmax_cross_entropy_loss_with(none, none, NULL)));
    assert_false(hr_node_exists(hr_compute_weighted_loss_with(none, NULL)));
    assert_false(hr_node_exists(hr_metric_mean_with(none, NULL).value));
    assert_false(hr_node_exists(hr_metric_accuracy_with(none, none, NULL).value));
    assert_false(hr_node_exists(hr_metric_auc_with(none, none, NULL).value));
    assert_false(hr_node_exists(hr_metric_precision_with(none, none, NULL).value));
    assert_false(hr_node_exists(hr_metric_recall_with(none, none, NULL).value));
    assert_false(hr_node_exists(hr_minimize_with(hr_sgd_with(0.1f, NULL), none, NULL)));
    assert_false(hr_node_exists(hr_minimize_with(NULL, none, NULL)));
    assert_less(hr_compute_gradients(none, NULL, &gradients, &count), 0);
    hr_optimizer_free(hr_adam_with(0.1f, NULL));
    hr_optimizer_free(hr_adagrad_with(0.1f, NULL));
    hr_optimizer_free(hr_ftrl_with(0.1f, NULL));
    hr_optimizer *unnamed = hr_optimizer_named(NULL, NULL, 0, HR_LEGACY_OPTIMIZERS);
    assert_non_null(hr_optimizer_error(unnamed));
    hr_optimizer_free(unnamed);
    hr_features_free(NULL);
}

/* ---- graphs, nodes, sessions ---- */

/* A call that gives a failed node, or none, says why in its graph. */
#define assert_no_node(CALL)                                                                                           \
    do {                                                                                                               \
        hr_graph *g = hr_graph_new();                                                                                  \
        const hr_node x = hr_scalar(g, HR_FLOAT, 1);                                                                   \
        assert_true(hr_node_exists(x));                                                                                \
        assert_false(hr_node_exists(CALL));                                                                            \
        hr_graph_free(g);                                                                                              \
    } while (0)

static void nodes_of_nothing_fail(void **state)
{
    (void)state;
    const hr_node none = {0};
    assert_no_node(hr_const_with(g, NULL, NULL));
    assert_no_node(hr_ints(g, NULL, 2));
    assert_no_node(hr_squeeze(x, NULL, 2));
    assert_no_node(hr_concat(NULL, 2, 0));
    assert_no_node(hr_add_n(NULL, 2));
    assert_no_node(hr_add_n(NULL, 1));
    assert_no_node(hr_group(g, NULL, 2, NULL));
    assert_no_node(hr_reduce_sum_with(none, NULL));
    assert_no_node(hr_matmul_with(none, none, NULL));
    assert_no_node(hr_embedding_lookup_sparse_with(none, none, none, NULL));
    assert_no_node(hr_get_variable_with(g, NULL, HR_FLOAT, HR_SCALAR, NULL));
    assert_no_node(hr_get_variable_with(NULL, "v", HR_FLOAT, HR_SCALAR, NULL));
    assert_no_node(hr_graph_node(g, NULL));
    assert_no_node(hr_placeholder_with(NULL, HR_FLOAT, HR_SCALAR, NULL));
    assert_no_node(hr_scalar(NULL, HR_FLOAT, 1));
    assert_no_node(hr_shape_const(NULL, HR_SHAPE(2)));
    assert_no_node(hr_global_step(NULL));
    assert_no_node(hr_global_variables_initializer(NULL));
    assert_no_node(hr_identity_with(none, NULL));
    assert_no_node(hr_one_hot(none, 3));
    assert_no_node(hr_gather(none, none, 0));
    assert_no_node(hr_argmax(none, 0));
    assert_no_node(hr_assign(none, none));
}

static void graphs_of_nothing_say_so(void **state)
{
    (void)state;
    int count = 1;
    hr_gradient gradient;
    assert_string_equal(hr_graph_error(NULL)->kind, "memory");
    hr_set_random_seed(NULL, 1);
    hr_name_scope(NULL, NULL);
    hr_variable_scope_with(NULL, NULL, NULL);
    hr_scope_end(NULL);
    hr_control_dependencies(NULL, NULL, 2);
    hr_control_end(NULL);
    hr_add_to_collection(NULL, NULL, (hr_node){0});
    assert_string_equal(hr_variable_scope_name(NULL), "");
    assert_null(hr_get_collection(NULL, NULL, &count));
    assert_int_equal(count, 0);
    assert_int_equal(hr_graph_size(NULL), 0);
    assert_int_equal(hr_graph_variables(NULL), 0);
    assert_null(hr_graph_variable(NULL, 0));
    assert_null(hr_variable_named(NULL, NULL));
    hr_gradients_with(NULL, 1, NULL, 0, NULL, NULL);
    hr_graph_free(NULL);
    for (int call = 0; call < 6; call++) {
        hr_graph *g = hr_graph_new();
        const hr_node x = hr_scalar(g, HR_FLOAT, 1);
        if (call == 0) hr_name_scope(g, NULL);
        if (call == 1) hr_variable_scope_with(g, NULL, NULL);
        if (call == 2) hr_control_dependencies(g, NULL, 2);
        if (call == 3) hr_add_to_collection(g, NULL, x);
        if (call == 4) hr_gradients_with(NULL, 1, &x, 1, &gradient, NULL);
        if (call == 5) hr_gradients_with(&x, 1, &x, 1, NULL, NULL);
        assert_status(hr_graph_error(g)->code, HR_INVALID_ARGUMENT);
        hr_graph_free(g);
    }
}

static void runs_of_nothing_say_so(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out;
    assert_null(hr_session_new_with(NULL, NULL));
    assert_status(hr_session_run(NULL, NULL, 0, NULL, 0, NULL, &err), HR_RESOURCE_EXHAUSTED);
    assert_status(hr_session_get(NULL, (hr_node){0}, &out, &err), HR_RESOURCE_EXHAUSTED);
    assert_status(hr_session_set(NULL, (hr_node){0}, NULL, &err), HR_RESOURCE_EXHAUSTED);
    assert_string_equal(hr_session_error(NULL)->kind, "memory");
    hr_session_cancel(NULL);
    hr_session_free(NULL);

    hr_graph *g = hr_graph_new();
    const hr_node v = hr_get_variable_with(g, "v", HR_FLOAT, HR_SCALAR, NULL), x = hr_scalar(g, HR_FLOAT, 1);
    hr_session *s = hr_session_new_with(g, NULL);
    assert_status(hr_session_run(s, NULL, 2, NULL, 0, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_session_run(s, NULL, 0, NULL, 2, NULL, &err), HR_INVALID_ARGUMENT);
    assert_ok(hr_session_run(s, NULL, 0, &x, 1, NULL, &err), &err);
    assert_status(hr_session_set(s, v, NULL, &err), HR_INVALID_ARGUMENT);
    hr_session_free(s);
    hr_graph_free(g);
}

static void options_that_are_null_are_the_defaults(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const float value[] = {1, 2, 3, 4};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), value);
    hr_node x = hr_const_with(g, &t, NULL), y = hr_dense_with(x, 2, NULL), dx;
    hr_gradient gradient;
    hr_variable_scope_with(g, "of_defaults", NULL);
    hr_placeholder_with(g, HR_FLOAT, HR_SCALAR, NULL);
    hr_node table = hr_get_variable_with(g, "table", HR_FLOAT, HR_SHAPE(2, 2), NULL);
    hr_node ids = hr_cast_to(hr_ints(g, HR_I64(0, 1), 2), HR_INT64), splits = hr_ints(g, HR_I64(0, 2), 2);
    hr_embedding_lookup_sparse_with(table, ids, splits, NULL);
    dx = hr_add_with(hr_reduce_sum_with(hr_matmul_with(x, x, NULL), NULL), hr_square_with(x, NULL), NULL);
    hr_gradients_with(&dx, 1, &x, 1, &gradient, NULL);
    assert_true(hr_node_exists(gradient.values));
    hr_scope_end(g);
    hr_node loss = hr_mean_squared_error_with(x, y, NULL),
            train = hr_minimize_with(hr_adam_with(0.1f, NULL), loss, NULL);
    hr_node fetch[] = {train};
    hr_error err = {0};
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new_with(g, NULL);
    hr_node init = hr_target(hr_global_variables_initializer(g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, fetch, 1, NULL, &err), &err);
    hr_session_free(s);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimators_say_what_they_lack),
        cmocka_unit_test(training_takes_its_hooks_even_if_its_arguments_are_refused),
        cmocka_unit_test(estimators_of_nothing_say_so),
        cmocka_unit_test(trainings_and_pipelines_of_nothing_say_so),
        cmocka_unit_test(an_optimizer_of_nothing_says_so),
        cmocka_unit_test(hooks_of_nothing_fail_at_begin),
        cmocka_unit_test(sessions_of_nothing_say_so),
        cmocka_unit_test(checkpoints_of_nothing_are_refused),
        cmocka_unit_test(layers_of_no_nodes_give_no_nodes),
        cmocka_unit_test(nodes_of_nothing_fail),
        cmocka_unit_test(graphs_of_nothing_say_so),
        cmocka_unit_test(runs_of_nothing_say_so),
        cmocka_unit_test(options_that_are_null_are_the_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
