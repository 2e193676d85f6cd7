/* An estimator of a model function of one's own: the hooks that it asks for are called while it trains, and only
 * then. */
#include "tests/testing.h"
#include "tests/train/estimator/trainings.h"

#include <headrace/checkpoint.h>
#include <headrace/layers.h>
#include <headrace/optimizers.h>
#include <math.h>
#include <unistd.h>

typedef struct counter {
    int runs, releases;
} counter;

static hr_status count_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    (void)m, (void)results, (void)err;
    (*(counter **)state)->runs++;
    return HR_OK;
}

static void count_release(void *state) { (*(counter **)state)->releases++; }

static const hr_hook_kind counting = {
    .head = HR_HOOK_HEAD,
    .name = "counting",
    .state_size = sizeof(counter *),
    .after_run = count_run,
    .release = count_release,
};

/* One bias for all: the labels' mean is what it learns. */
static hr_status model(const hr_model_call *call, void *user, hr_error *err)
{
    (void)err;
    counter *c = user;
    hr_graph *g = call->graph;
    const hr_node bias = hr_get_variable(g, "bias", HR_FLOAT, HR_SHAPE(1), .initializer = hr_zeros());
    if (call->mode == HR_MODE_PREDICT) return HR_OK;
    const hr_node label = hr_cast_to(hr_label(call->features), HR_FLOAT);
    const hr_node loss = hr_reduce_mean(hr_squared_difference(label, bias));
    hr_spec_loss(call->spec, loss);
    if (call->mode != HR_MODE_TRAIN) return HR_OK;
    hr_spec_train_op(call->spec, hr_minimize(hr_sgd(0.1f), loss, .global_step = hr_global_step(g)));
    hr_spec_hook(call->spec, hr_hook_new(&counting, &c));
    return HR_OK;
}

static void a_models_own_hook_is_called_while_it_trains(void **state)
{
    (void)state;
    counter c = {0};
    test_input in = {.folder = "data", .epochs = 1, .batch = 48};
    write_rows("data", ROWS);
    remove_folder("own");
    hr_estimator *e = hr_estimator_new(model, &c, .model_dir = "own");
    hr_status st = hr_estimator_train(e, test_input_fn, &in, .steps = 3);
    if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
    assert_int_equal(c.runs, 3);
    st = hr_estimator_evaluate(e, test_eval_fn, &in, .steps = 1);
    if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
    assert_int_equal(c.runs, 3);
    hr_estimator_free(e);
    assert_int_equal(c.releases, 1);
}

/* Whatever happens, a hook that was given is released once. */
static void callers_hooks_are_called_while_it_evaluates(void **state)
{
    (void)state;
    counter c = {0}, *mine = &c, of_model = {0};
    test_input in = {.folder = "data", .epochs = 1, .batch = 48};
    write_rows("data", ROWS);
    remove_folder("untrained");
    hr_estimator *e = hr_estimator_new(model, &of_model, .model_dir = "untrained");
    hr_hook *hook = hr_hook_new(&counting, &mine);
    assert_int_equal(hr_estimator_evaluate(e, test_eval_fn, &in, .hooks = &hook, .hook_count = 1), HR_NOT_FOUND);
    assert_int_equal(c.runs, 0);
    assert_int_equal(c.releases, 1);
    hook = hr_hook_new(&counting, &mine);
    hr_status st = hr_estimator_evaluate(e, test_eval_fn, &in, .steps = 2, .hooks = &hook, .hook_count = 1,
                                         .initial_values = true);
    if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
    assert_int_equal(c.runs, 2);
    assert_int_equal(c.releases, 2);
    assert_float_equal(hr_estimator_result(e, "global_step"), 0, 0);
    assert_int_equal(hr_estimator_evaluate(e, test_eval_fn, &in, .hook_count = 1), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_estimator_error(e)->kind, "estimator.argument");
    hook = hr_hook_new(&counting, &mine);
    assert_int_equal(hr_estimator_predict(e, test_eval_fn, &in, NULL, NULL, .hooks = &hook, .hook_count = 1),
                     HR_INVALID_ARGUMENT);
    assert_int_equal(c.releases, 3);
    hr_estimator_free(e);
}

static hr_status refuse_export(const char *dir, const char *checkpoint, void *user, hr_error *err)
{
    (void)dir, (void)checkpoint, (void)user;
    return hr_fail(err, HR_INTERNAL, "test.export", "no export");
}

/* A failed export leaves no folder, and its evaluation is not the best so far. */
static void exports_that_fail_say_so(void **state)
{
    (void)state;
    counter c = {0};
    hr_error err = {0};
    hr_estimator *e = hr_estimator_new(model, &c, .model_dir = "exports");
    hr_exporter *best = hr_best_exporter("best", refuse_export, NULL, .metric = "auc");
    hr_exporter *latest = hr_latest_exporter("latest", refuse_export, NULL);
    hr_exporter *odd[] = {hr_latest_exporter("a/b", refuse_export, NULL),
                          hr_latest_exporter("..", refuse_export, NULL)};
    assert_int_equal(hr_exporter_export(best, e, "", false, &err), HR_NOT_FOUND);
    assert_string_equal(err.kind, "estimator.export");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hr_exporter_export(odd[i], e, "", false, &err), HR_INVALID_ARGUMENT);
        hr_exporter_free(odd[i]);
    }
    assert_int_equal(hr_exporter_export(NULL, e, "", false, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_exporter_export(latest, e, "", false, &err), HR_INTERNAL);
    assert_string_equal(err.kind, "test.export");
    assert_null(hr_exporter_exported(latest));
    assert_int_equal(rmdir("exports/export/latest"), 0);
    hr_exporter_free(best);
    hr_exporter_free(latest);
    hr_estimator_free(e);
}

static hr_status export_nothing(const char *dir, const char *checkpoint, void *user, hr_error *err)
{
    (void)dir, (void)checkpoint, (void)user, (void)err;
    return HR_OK;
}

static void what_is_as_good_is_not_the_best(void **state)
{
    (void)state;
    counter c = {0};
    hr_error err = {0};
    test_input in = {.folder = "data", .epochs = 1, .batch = 48};
    write_rows("data", ROWS);
    remove_folder("equals");
    hr_estimator *e = hr_estimator_new(model, &c, .model_dir = "equals");
    hr_exporter *best[] = {hr_best_exporter("low", export_nothing, NULL),
                           hr_best_exporter("high", export_nothing, NULL, .larger_is_better = true)};
    assert_int_equal(hr_estimator_evaluate(e, test_eval_fn, &in, .initial_values = true), HR_OK);
    for (int i = 0; i < 2; i++) {
        assert_ok(hr_exporter_export(best[i], e, "", false, &err), &err);
        assert_non_null(hr_exporter_exported(best[i]));
        assert_ok(hr_exporter_export(best[i], e, "", false, &err), &err);
        assert_null(hr_exporter_exported(best[i]));
        hr_exporter_free(best[i]);
    }
    hr_estimator_free(e);
}

/* Two tasks over one layer: each optimizer moves its own variables, the shared layer stays as it was, and the step is
 * counted once. */
static hr_status two_optimizers(const hr_model_call *call, void *user, hr_error *err)
{
    (void)user, (void)err;
    hr_graph *g = call->graph;
    const hr_node none = {0}, step = hr_global_step(g), age = hr_feature_values(call->features, "age");
    const hr_node shared = hr_dense(age, 2, .name = "shared", .not_trainable = true);
    const hr_node one = hr_dense(shared, 1, .name = "one"), two = hr_dense(shared, 1, .name = "two");
    const hr_node label = hr_cast_to(hr_label(call->features), HR_FLOAT);
    const hr_node loss =
        hr_add(hr_reduce_mean(hr_squared_difference(label, one)), hr_reduce_mean(hr_squared_difference(label, two)));
    const hr_node of_one[] = {hr_variable_named(g, "one/kernel")->handle, hr_variable_named(g, "one/bias")->handle};
    const hr_node of_two[] = {hr_variable_named(g, "two/kernel")->handle};
    hr_spec_loss(call->spec, loss);
    if (call->mode != HR_MODE_TRAIN) return HR_OK;
    const hr_node both[] = {hr_minimize(hr_sgd(0.0001f), loss, .var_list = of_one, .var_count = 2, .global_step = step),
                            hr_minimize(hr_adam(0.01f), loss, .var_list = of_two, .var_count = 1, .global_step = none)};
    hr_spec_train_op(call->spec, hr_group(g, both, 2, "train_op"));
    return HR_OK;
}

/* How far a variable moved between two checkpoints of "tasks". */
static double moved(const char *name)
{
    hr_error err = {0};
    hr_tensor value[2];
    const char *const prefix[] = {"tasks/model.ckpt-0", "tasks/model.ckpt-5"};
    for (int i = 0; i < 2; i++) {
        hr_bundle *b;
        assert_ok(hr_bundle_open(prefix[i], &b, &err), &err);
        assert_ok(hr_bundle_read(b, name, &value[i], &err), &err);
        hr_bundle_free(b);
    }
    double sum = 0;
    for (int64_t i = 0; i < value[0].count; i++)
        sum += fabs((double)((const float *)value[0].data)[i] - (double)((const float *)value[1].data)[i]);
    hr_tensor_clear(&value[0]);
    hr_tensor_clear(&value[1]);
    return sum;
}

static void several_optimizers_move_their_own_variables_and_count_one_step(void **state)
{
    (void)state;
    test_input in = {.folder = "data", .epochs = 5, .batch = 48};
    hr_train_result result;
    write_rows("data", ROWS);
    remove_folder("tasks");
    hr_estimator *e = hr_estimator_new(two_optimizers, NULL, .model_dir = "tasks", .config = {.tf_random_seed = 3});
    const hr_status st = hr_estimator_train(e, test_input_fn, &in, .steps = 5, .result = &result);
    if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
    assert_int_equal(result.last_step, 5);
    assert_true(moved("one/kernel") > 0 && moved("one/bias") > 0 && moved("two/kernel") > 0);
    assert_true(moved("two/bias") == 0 && moved("shared/kernel") == 0 && moved("shared/bias") == 0);
    hr_estimator_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_models_own_hook_is_called_while_it_trains),
        cmocka_unit_test(callers_hooks_are_called_while_it_evaluates),
        cmocka_unit_test(exports_that_fail_say_so),
        cmocka_unit_test(what_is_as_good_is_not_the_best),
        cmocka_unit_test(several_optimizers_move_their_own_variables_and_count_one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
