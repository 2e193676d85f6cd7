/* Optimizers: names of what they make, which variables they move, sparse rows, and what they refuse. */
#include "tests/testing.h"
#include "train/layers/layers.h"
#include "train/optimizers/optimizers.h"

#include <math.h>
#include <string.h>

static hr_graph *graph_with_weights(hr_node *loss)
{
    hr_graph *g = hr_graph_new();
    hr_node a = hr_get_variable(g, "dnn/kernel", HR_FLOAT, HR_SHAPE(3), .initializer = hr_ones());
    hr_node b = hr_get_variable(g, "linear/weights", HR_FLOAT, HR_SHAPE(3), .initializer = hr_ones());
    hr_node c = hr_get_variable(g, "linearity", HR_FLOAT, HR_SHAPE(3), .initializer = hr_ones());
    *loss = hr_reduce_sum(hr_square(hr_add(hr_add(a, b), c)));
    return g;
}

static void run(hr_graph *g, hr_session *s, hr_node node)
{
    hr_error err;
    hr_node target = hr_target(node);
    (void)g;
    assert_ok(hr_session_run(s, NULL, 0, &target, 1, NULL, &err), &err);
}

static float value_at(hr_session *s, hr_graph *g, const char *name, int i)
{
    hr_error err;
    hr_tensor t;
    const hr_variable_info *info = hr_variable_named(g, name);
    if (!info) fail_msg("no variable %s", name);
    assert_ok(hr_session_get(s, info->handle, &t, &err), &err);
    const float value = ((const float *)t.data)[i];
    hr_tensor_clear(&t);
    return value;
}

static void two_optimizers_share_a_loss_and_each_moves_its_scope(void **state)
{
    (void)state;
    hr_node loss;
    hr_graph *g = graph_with_weights(&loss);
    hr_node step = hr_global_step(g);
    hr_node deep =
        hr_minimize(hr_adagrad(0.05f), loss, .var_scope = "dnn", .global_step = step, .name_prefix = "training");
    hr_node wide = hr_minimize(hr_ftrl(0.2f), loss, .var_scope = "linear", .name_prefix = "training");
    static const char *const names[] = {"training/Adagrad/dnn/kernel/accumulator",
                                        "training/Adagrad/learning_rate",
                                        "training/Adagrad/decay",
                                        "training/Ftrl/linear/weights/accumulator",
                                        "training/Ftrl/linear/weights/linear",
                                        "training/Ftrl/beta",
                                        "training/Ftrl/decay",
                                        "training/Ftrl/l1_regularization_strength",
                                        "training/Ftrl/l2_regularization_strength",
                                        "training/Ftrl/learning_rate",
                                        "training/Ftrl/learning_rate_power",
                                        "training/Ftrl/iter"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!hr_variable_named(g, names[i])) fail_msg("no variable %s", names[i]);
    assert_null(hr_variable_named(g, "training/Adagrad/iter"));
    assert_null(hr_variable_named(g, "training/Ftrl/linearity/linear"));
    hr_session *s = hr_session_new(g);
    run(g, s, hr_global_variables_initializer(g));
    run(g, s, deep);
    assert_less(value_at(s, g, "dnn/kernel", 0), 1);
    assert_exactly(value_at(s, g, "linear/weights", 0), 1);
    run(g, s, wide);
    assert_differs(value_at(s, g, "linear/weights", 0), 1);
    assert_exactly(value_at(s, g, "linearity", 0), 1);
    hr_session_free(s);
    hr_graph_free(g);
}

static void two_optimizers_of_one_class_have_names_of_their_own(void **state)
{
    (void)state;
    hr_node loss;
    hr_graph *g = graph_with_weights(&loss);
    hr_minimize(hr_adam(0.05f), loss, .var_scope = "dnn", .name_prefix = "training");
    hr_minimize(hr_adam(0.05f), loss, .var_scope = "linear", .name_prefix = "training");
    assert_non_null(hr_variable_named(g, "training/Adam/dnn/kernel/m"));
    assert_non_null(hr_variable_named(g, "training/Adam_1/linear/weights/v"));
    assert_non_null(hr_variable_named(g, "training/Adam_1/beta_1"));
    assert_null(hr_graph_error(g));
    hr_graph_free(g);
}

/* Row 1 comes twice: Adagrad must see the sum of its gradients, once. */
static void rows_given_twice_are_summed_first(void **state)
{
    (void)state;
    hr_error err;
    for (int width = 1; width <= 20; width += 19) {
        hr_graph *g = hr_graph_new();
        hr_node table = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(4, width), .initializer = hr_zeros());
        hr_node values = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, width)),
                rows = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
        const hr_variable_gradient gradient = {table, {values, rows, hr_scalar(g, HR_INT64, 4)}};
        hr_node train = hr_apply_gradients(hr_adagrad(1, .initial_accumulator_value = HR_F32(0), .epsilon = HR_F32(0)),
                                           g, &gradient, 1, NULL);
        hr_session *s = hr_session_new(g);
        run(g, s, hr_global_variables_initializer(g));
        float grad[3 * 20];
        for (int i = 0; i < 3 * width; i++) grad[i] = 1 + (float)(i / width); /* 1, 2, 3 */
        static const int64_t row[] = {1, 3, 1};
        const hr_feed feeds[] = {{values, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, width), grad)},
                                 {rows, hr_tensor_of(HR_INT64, HR_SHAPE(3), row)}};
        hr_node target = hr_target(train);
        assert_ok(hr_session_run(s, feeds, 2, &target, 1, NULL, &err), &err);
        assert_exactly(value_at(s, g, "Adagrad/table/accumulator", width), 16);
        assert_exactly(value_at(s, g, "Adagrad/table/accumulator", 3 * width), 4);
        assert_exactly(value_at(s, g, "Adagrad/table/accumulator", 0), 0);
        assert_exactly(value_at(s, g, "table", width), -1);
        assert_exactly(value_at(s, g, "table", 0), 0);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

/* Many rows, some often: the same as summing by hand and updating densely. */
static void sparse_and_dense_updates_agree(void **state)
{
    (void)state;
    enum { ROWS = 300, IDS = 2000 };
    static const char *const kinds[] = {"sgd", "adagrad", "ftrl", "adam", "rmsprop"};
    static float values[IDS * 16], dense[ROWS * 16];
    static int64_t ids[IDS];
    hr_error err;
    for (int width = 1; width <= 16; width += 15)
        for (int k = 0; k < 5; k++) {
            hr_graph *g = hr_graph_new();
            const hr_parameter rate = {"learning_rate", 0.1};
            hr_node a = hr_get_variable(g, "a", HR_FLOAT, HR_SHAPE(ROWS, width), .initializer = hr_ones());
            hr_node b = hr_get_variable(g, "b", HR_FLOAT, HR_SHAPE(ROWS, width), .initializer = hr_ones());
            hr_node slices = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, width)),
                    rows = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
            hr_node whole = hr_placeholder(g, HR_FLOAT, HR_SHAPE(ROWS, width));
            const hr_variable_gradient both[] = {{a, {slices, rows, hr_scalar(g, HR_INT64, ROWS)}},
                                                 {b, {.values = whole}}};
            hr_node train =
                hr_apply_gradients(hr_optimizer_named(kinds[k], &rate, 1, HR_LEGACY_OPTIMIZERS), g, both, 2, NULL);
            hr_session *s = hr_session_new(g);
            run(g, s, hr_global_variables_initializer(g));
            memset(dense, 0, sizeof dense);
            for (int i = 0; i < IDS; i++) {
                ids[i] = (int64_t)(hr_random(1, (uint64_t)i) % ROWS) * (i % 2);
                for (int j = 0; j < width; j++) {
                    values[i * width + j] = (float)(i % 7) / 8 - 0.3f;
                    dense[ids[i] * width + j] += values[i * width + j];
                }
            }
            const hr_feed feeds[] = {{slices, hr_tensor_of(HR_FLOAT, HR_SHAPE(IDS, width), values)},
                                     {rows, hr_tensor_of(HR_INT64, HR_SHAPE(IDS), ids)},
                                     {whole, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, width), dense)}};
            hr_node target = hr_target(train);
            for (int step = 0; step < 3; step++) assert_ok(hr_session_run(s, feeds, 3, &target, 1, NULL, &err), &err);
            for (int i = 0; i < ROWS * width; i++) {
                const float x = value_at(s, g, "a", i), y = value_at(s, g, "b", i);
                /* Rows without a gradient stay: Ftrl moves them when it is dense. */
                if (dense[i] != 0 && fabsf(x - y) > 1e-4f * (1 + fabsf(y)))
                    fail_msg("%s, width %d: %g and %g at %d", kinds[k], width, (double)x, (double)y, i);
            }
            hr_session_free(s);
            hr_graph_free(g);
        }
}

static void a_row_out_of_range_changes_nothing(void **state)
{
    (void)state;
    hr_error err;
    static const int64_t bad[][2] = {{0, 3}, {0, -1}};
    for (int i = 0; i < 2; i++) {
        hr_graph *g = hr_graph_new();
        hr_node table = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(3, 1), .initializer = hr_ones());
        const float grad[2] = {1, 1};
        const hr_tensor v = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), grad),
                        r = hr_tensor_of(HR_INT64, HR_SHAPE(2), bad[i]);
        const hr_variable_gradient gradient = {table, {hr_const(g, &v), hr_const(g, &r), hr_scalar(g, HR_INT64, 3)}};
        hr_node train = hr_target(hr_apply_gradients(hr_ftrl(0.1f), g, &gradient, 1, NULL));
        hr_session *s = hr_session_new(g);
        run(g, s, hr_global_variables_initializer(g));
        assert_status(hr_session_run(s, NULL, 0, &train, 1, NULL, &err), HR_INVALID_ARGUMENT);
        assert_exactly(value_at(s, g, "table", 0), 1);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

static void decay_lowers_the_learning_rate(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node train = hr_minimize(hr_sgd(1, .decay = 1), hr_identity(w));
    hr_session *s = hr_session_new(g);
    run(g, s, hr_global_variables_initializer(g));
    for (int i = 0; i < 3; i++) run(g, s, train);
    assert_near(value_at(s, g, "w", 0), -(1 + 0.5 + 1. / 3), 1e-6);
    hr_session_free(s);
    hr_graph_free(g);
}

static void a_schedule_takes_the_place_of_the_rate(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node rate = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    hr_node train = hr_target(hr_minimize(hr_sgd(0, .learning_rate_node = rate), hr_identity(w)));
    hr_session *s = hr_session_new(g);
    run(g, s, hr_global_variables_initializer(g));
    hr_error err;
    const float value = 0.25f;
    const hr_feed feed = {rate, hr_tensor_of(HR_FLOAT, HR_SCALAR, &value)};
    assert_ok(hr_session_run(s, &feed, 1, &train, 1, NULL, &err), &err);
    assert_exactly(value_at(s, g, "w", 0), -0.25f);
    hr_session_free(s);
    hr_graph_free(g);
}

/* w is (3, 4), its gradient, too. */
static float after_one_step(hr_optimizer *optimizer, int i)
{
    static const float start[] = {3, 4};
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), start);
    hr_graph *g = hr_graph_new();
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2), .initializer = hr_initial_value(&value));
    const hr_node train = hr_minimize(optimizer, hr_mul(hr_scalar(g, HR_FLOAT, 0.5), hr_reduce_sum(hr_square(w))));
    hr_session *s = hr_session_new(g);
    run(g, s, hr_global_variables_initializer(g));
    run(g, s, train);
    const float moved = value_at(s, g, "w", i);
    hr_session_free(s);
    hr_graph_free(g);
    return moved;
}

static void gradients_are_clipped_as_asked(void **state)
{
    (void)state;
    assert_near(after_one_step(hr_sgd(1, .clipnorm = 1), 0), 3 - 0.6, 1e-6);
    assert_near(after_one_step(hr_sgd(1, .global_clipnorm = 2.5f), 1), 4 - 2, 1e-6);
    assert_near(after_one_step(hr_sgd(1, .global_clipnorm = 50), 1), 0, 1e-6);
    assert_near(after_one_step(hr_sgd(1, .clipvalue = 0.5f), 1), 3.5, 1e-6);
    hr_optimizer *both = hr_sgd(1, .clipnorm = 1, .global_clipnorm = 1);
    assert_string_equal(hr_optimizer_error(both)->kind, "optimizer.parameter");
    hr_optimizer_free(both);
}

/* The variable loses rate * decay of itself, then moves by the gradient of what it was. */
static void weights_decay_before_the_update(void **state)
{
    (void)state;
    assert_near(after_one_step(hr_sgd(0.5f, .weight_decay = 0.1f), 0), 3 - 3 * 0.05 - 1.5, 1e-6);
    assert_near(after_one_step(hr_adamw(0.1f, 0.5f), 1), 4 - 4 * 0.05 - 0.1, 1e-5);
}

static void lazy_adam_leaves_other_rows_alone(void **state)
{
    (void)state;
    static const float grad[] = {1, 1};
    static const int64_t rows[][1] = {{1}, {2}};
    hr_error err;
    for (int lazy = 0; lazy < 2; lazy++) {
        hr_graph *g = hr_graph_new();
        const hr_node table = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(3, 2), .initializer = hr_ones());
        const hr_node row = hr_placeholder(g, HR_INT64, HR_SHAPE(1));
        const hr_tensor values = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), grad);
        const hr_variable_gradient gradient = {table, {hr_const(g, &values), row, hr_scalar(g, HR_INT64, 3)}};
        const hr_node train = hr_target(hr_apply_gradients(hr_adam(0.1f, .lazy = lazy), g, &gradient, 1, NULL));
        hr_session *s = hr_session_new(g);
        run(g, s, hr_global_variables_initializer(g));
        for (int i = 0; i < 2; i++) {
            const hr_feed feed = {row, hr_tensor_of(HR_INT64, HR_SHAPE(1), rows[i])};
            assert_ok(hr_session_run(s, &feed, 1, &train, 1, NULL, &err), &err);
            if (i == 0) assert_near(value_at(s, g, "table", 2), 0.9, 1e-5);
        }
        if (lazy)
            assert_near(value_at(s, g, "table", 2), 0.9, 1e-5);
        else
            assert_less(value_at(s, g, "table", 2), 0.87f);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

/* What tf.keras.optimizers.legacy.Nadam(0.1, ..) of TensorFlow 2.15.1 makes of [1, 2] in four steps. */
static void the_decay_of_nadam_counts_for_nothing(void **state)
{
    (void)state;
    static const struct {
        hr_parameter given[2];
        float expected[2];
    } cases[] = {
        {{{"learning_rate", 0.1}, {"decay", 0}}, {0.6030314f, 2.3969686f}},
        {{{"learning_rate", 0.1}, {"decay", 0.5}}, {0.6030314f, 2.3969686f}},
        {{{"learning_rate", 0.1}, {"schedule_decay", 0.5}}, {0.60861474f, 2.391385f}},
        {{{"learning_rate", 0.1}, {"schedule_decay", 0}}, {0.6029844f, 2.3970156f}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        hr_graph *g = hr_graph_new();
        const hr_tensor first = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), ((const float[]){1, 2}));
        const hr_tensor slope = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), ((const float[]){0.5f, -0.25f}));
        const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2), .initializer = hr_initial_value(&first));
        const hr_node step = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
        hr_variable_gradient by = {.variable = w};
        by.gradient.values = hr_mul(step, hr_const(g, &slope));
        const hr_node train =
            hr_target(hr_apply_gradients(hr_optimizer_named("nadam", cases[c].given, 2, HR_LEGACY_OPTIMIZERS), g, &by,
                                         1, &(hr_minimize_opts){.struct_size = sizeof(hr_minimize_opts)}));
        hr_session *s = hr_session_new(g);
        run(g, s, hr_global_variables_initializer(g));
        for (float i = 1; i <= 4; i++) {
            hr_error err;
            const hr_tensor number = hr_tensor_of(HR_FLOAT, HR_SCALAR, &i);
            assert_ok(hr_session_run(s, &(hr_feed){step, number}, 1, &train, 1, NULL, &err), &err);
        }
        for (int i = 0; i < 2; i++) assert_near(value_at(s, g, "w", i), cases[c].expected[i], 2e-7);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

/* ---- what is refused ---- */

static void bad_parameters_stick_and_come_out_of_the_graph(void **state)
{
    (void)state;
    hr_node loss;
    hr_graph *g = graph_with_weights(&loss);
    hr_optimizer *o = hr_ftrl(0.1f, .learning_rate_power = HR_F32(0.5f));
    assert_non_null(hr_optimizer_error(o));
    assert_string_equal(hr_optimizer_error(o)->kind, "optimizer.parameter");
    assert_false(hr_node_exists(hr_minimize(o, loss)));
    assert_string_equal(hr_graph_error(g)->kind, "optimizer.parameter");
    hr_graph_free(g);
    hr_optimizer *bad[] = {hr_adagrad(1, .initial_accumulator_value = HR_F32(-1)),
                           hr_ftrl(1, .initial_accumulator_value = HR_F32(-1)),
                           hr_ftrl(1, .l1_regularization_strength = -1),
                           hr_adagrad(NAN),
                           hr_adagrad(1, .initial_accumulator_value = HR_F32(0), .v1 = true),
                           hr_sgd(1, .weight_decay = NAN)};
    for (int i = 0; i < 6; i++) {
        assert_non_null(hr_optimizer_error(bad[i]));
        hr_optimizer_free(bad[i]);
    }
}

static void names_of_kinds_and_parameters_are_checked(void **state)
{
    (void)state;
    const hr_parameter rate = {"learning_rate", 0.2}, typo = {"learning_rat", 0.2};
    hr_optimizer *o = hr_optimizer_named("Ftrl", &rate, 1, HR_LEGACY_OPTIMIZERS);
    assert_null(hr_optimizer_error(o));
    assert_string_equal(hr_optimizer_kind_of(o), "Ftrl");
    assert_text_contains(hr_optimizer_text(o), "learning_rate=0.2, ");
    hr_optimizer_free(o);
    o = hr_optimizer_named("ftrl", &typo, 1, HR_LEGACY_OPTIMIZERS);
    assert_text_contains(hr_optimizer_error(o)->text, "learning_rate_power");
    hr_optimizer_free(o);
    o = hr_optimizer_named("fltr", &rate, 1, HR_LEGACY_OPTIMIZERS);
    assert_text_contains(hr_optimizer_error(o)->text,
                         "adadelta, adafactor, adagrad, adagrad_da, adam, adamax, adamw, ftrl, lion, nadam, ");
    hr_optimizer_free(o);
    for (int i = 0; hr_optimizer_kind_at(i); i++) {
        o = hr_optimizer_named(hr_optimizer_kind_at(i), NULL, 0, HR_LEGACY_OPTIMIZERS);
        assert_null(hr_optimizer_error(o));
        assert_string_equal(hr_optimizer_parameters(hr_optimizer_kind_at(i))[0], "learning_rate");
        hr_optimizer_free(o);
    }
}

static void a_loss_without_trainable_variables_is_refused(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_minimize(hr_sgd(1), hr_scalar(g, HR_FLOAT, 1));
    assert_string_equal(hr_graph_error(g)->kind, "optimizer.no_gradients");
    hr_graph_free(g);
}

static void nothing_leaks_when_memory_runs_out(void **state)
{
    (void)state;
    const int64_t before = allocations_alive();
    for (int64_t n = 0; n < 400; n += 3) {
        fail_allocation(n);
        hr_graph *g = hr_graph_new();
        if (g) {
            hr_node a = hr_get_variable(g, "a", HR_FLOAT, HR_SHAPE(3), .initializer = hr_ones());
            hr_minimize(hr_adam(0.1f), hr_reduce_sum(hr_square(a)));
        }
        allocations_since();
        hr_graph_free(g);
        assert_int_equal(allocations_alive(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_optimizers_share_a_loss_and_each_moves_its_scope),
        cmocka_unit_test(two_optimizers_of_one_class_have_names_of_their_own),
        cmocka_unit_test(rows_given_twice_are_summed_first),
        cmocka_unit_test(sparse_and_dense_updates_agree),
        cmocka_unit_test(a_row_out_of_range_changes_nothing),
        cmocka_unit_test(decay_lowers_the_learning_rate),
        cmocka_unit_test(gradients_are_clipped_as_asked),
        cmocka_unit_test(weights_decay_before_the_update),
        cmocka_unit_test(lazy_adam_leaves_other_rows_alone),
        cmocka_unit_test(a_schedule_takes_the_place_of_the_rate),
        cmocka_unit_test(the_decay_of_nadam_counts_for_nothing),
        cmocka_unit_test(bad_parameters_stick_and_come_out_of_the_graph),
        cmocka_unit_test(names_of_kinds_and_parameters_are_checked),
        cmocka_unit_test(a_loss_without_trainable_variables_is_refused),
        cmocka_unit_test(nothing_leaks_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
