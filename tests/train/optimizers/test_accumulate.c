/* Gradients summed over several steps: what is applied is what one step with their mean, or sum, would apply. */
#include "tests/testing.h"
#include "train/layers/layers.h"
#include "train/optimizers/optimizers.h"

#include <headrace/eager.h>
#include <math.h>
#include <string.h>

enum { STEPS = 3, ROUNDS = 2, WIDTH = 2, ROWS = 5, IDS = 2 };

/* Gradients of each step: of a dense variable, and of two rows of a table. */
static const float dense_grad[ROUNDS][STEPS][WIDTH] = {{{1, -2}, {0.5f, 3}, {-4, 0.25f}}, {{2, 2}, {-1, 0}, {0.5f, 1}}};
static const int64_t row_of[ROUNDS][STEPS][IDS] = {{{1, 3}, {3, 3}, {0, 1}}, {{4, 4}, {1, 4}, {4, 1}}};

static float row_grad(int round, int step, int id, int i) { return (float)(round + 2 * step - 3 * id + i) / 4; }

typedef struct model {
    hr_graph *g;
    hr_session *s;
    hr_node dense, table, grad, ids, rows, train;
} model;

static hr_optimizer *optimizer(int kind, bool v1)
{
    return kind == 0   ? hr_sgd(0.1f, .momentum = 0.9f, .v1 = v1)
           : kind == 1 ? hr_adagrad(0.1f, .v1 = v1)
           : kind == 2 ? hr_adam(0.1f, .v1 = v1)
                       : hr_sgd(0.1f, .global_clipnorm = 0.5f, .v1 = v1);
}

static void start(model *m)
{
    hr_error err;
    if (hr_graph_error(m->g)) fail_msg("%s", hr_graph_error(m->g)->text);
    m->s = hr_session_new(m->g);
    const hr_node init = hr_target(hr_global_variables_initializer(m->g));
    assert_ok(hr_session_run(m->s, NULL, 0, &init, 1, NULL, &err), &err);
}

static model model_new(void)
{
    hr_graph *g = hr_graph_new();
    return (model){.g = g,
                   .dense = hr_get_variable(g, "dense", HR_FLOAT, HR_SHAPE(WIDTH), .initializer = hr_ones()),
                   .table = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(ROWS, WIDTH), .initializer = hr_ones()),
                   .grad = hr_placeholder(g, HR_FLOAT, HR_SHAPE(WIDTH)),
                   .ids = hr_placeholder(g, HR_INT64, HR_SHAPE(-1)),
                   .rows = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, WIDTH))};
}

/* Its gradients are what is fed. */
static model summing(int kind, bool v1, bool sum)
{
    model m = model_new();
    const hr_node loss =
        hr_add(hr_reduce_sum(hr_mul(m.dense, m.grad)), hr_reduce_sum(hr_mul(hr_gather(m.table, m.ids, 0), m.rows)));
    m.train = hr_minimize(optimizer(kind, v1), loss, .accumulate = STEPS, .accumulate_sum = sum);
    start(&m);
    return m;
}

static model applying(int kind, bool v1)
{
    model m = model_new();
    const hr_variable_gradient gradients[] = {
        {m.dense, {.values = m.grad}},
        {m.table, {.values = m.rows, .indices = m.ids, .dense_shape = hr_variable_shape(m.table, HR_INT64)}}};
    m.train = hr_apply_gradients(optimizer(kind, v1), m.g, gradients, 2, NULL);
    start(&m);
    return m;
}

static void step(const model *m, const float *grad, const int64_t *ids, const float *rows, int64_t count)
{
    hr_error err;
    const hr_node train = hr_target(m->train);
    const hr_feed feeds[] = {{m->grad, hr_tensor_of(HR_FLOAT, HR_SHAPE(WIDTH), grad)},
                             {m->ids, hr_tensor_of(HR_INT64, HR_SHAPE(count), ids)},
                             {m->rows, hr_tensor_of(HR_FLOAT, HR_SHAPE(count, WIDTH), rows)}};
    assert_ok(hr_session_run(m->s, feeds, 3, &train, 1, NULL, &err), &err);
}

static void step_of(const model *m, int round, int number)
{
    float rows[IDS * WIDTH];
    for (int i = 0; i < IDS * WIDTH; i++) rows[i] = row_grad(round, number, i / WIDTH, i % WIDTH);
    step(m, dense_grad[round][number], row_of[round][number], rows, IDS);
}

/* All of a round at once: rows in order, each once. */
static void whole_round(const model *m, int round, float share)
{
    float grad[WIDTH] = {0}, sum[ROWS][WIDTH] = {{0}}, rows[ROWS * WIDTH];
    int64_t ids[ROWS], count = 0;
    bool touched[ROWS] = {false};
    for (int n = 0; n < STEPS; n++) {
        for (int i = 0; i < WIDTH; i++) grad[i] += dense_grad[round][n][i];
        for (int i = 0; i < IDS * WIDTH; i++)
            sum[row_of[round][n][i / WIDTH]][i % WIDTH] += row_grad(round, n, i / WIDTH, i % WIDTH);
        for (int i = 0; i < IDS; i++) touched[row_of[round][n][i]] = true;
    }
    for (int i = 0; i < WIDTH; i++) grad[i] *= share;
    for (int r = 0; r < ROWS; r++) {
        if (!touched[r]) continue;
        for (int i = 0; i < WIDTH; i++) rows[count * WIDTH + i] = sum[r][i] * share;
        ids[count++] = r;
    }
    step(m, grad, ids, rows, count);
}

static hr_tensor value_of(const model *m, hr_node variable)
{
    hr_error err;
    hr_tensor value;
    assert_ok(hr_session_get(m->s, variable, &value, &err), &err);
    return value;
}

static void expect_equal(const model *a, hr_node x, const model *b, hr_node y)
{
    hr_tensor one = value_of(a, x), other = value_of(b, y);
    assert_int_equal(one.count, other.count);
    for (int64_t i = 0; i < one.count; i++)
        assert_near(((const float *)one.data)[i], ((const float *)other.data)[i], 1e-6);
    hr_tensor_clear(&one);
    hr_tensor_clear(&other);
}

static void model_free(model *m)
{
    hr_session_free(m->s);
    hr_graph_free(m->g);
}

static void several_steps_apply_what_one_with_their_mean_would(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        const int kind = i % 4;
        const bool v1 = i / 4 % 2, sum = i / 8;
        model many = summing(kind, v1, sum), one = applying(kind, v1);
        for (int round = 0; round < ROUNDS; round++) {
            for (int n = 0; n < STEPS; n++) {
                expect_equal(&many, many.dense, &one, one.dense);
                expect_equal(&many, many.table, &one, one.table);
                step_of(&many, round, n);
            }
            whole_round(&one, round, sum ? 1 : 1.0f / STEPS);
        }
        expect_equal(&many, many.dense, &one, one.dense);
        expect_equal(&many, many.table, &one, one.table);
        model_free(&many);
        model_free(&one);
    }
}

static void steps_in_between_do_not_count_and_sums_are_saved(void **state)
{
    (void)state;
    model m = summing(2, false, false);
    static const char *const names[] = {"dense/gradient_sum", "table/gradient_sum", "table/gradient_rows",
                                        "gradient_sum/steps"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const hr_variable_info *info = hr_variable_named(m.g, names[i]);
        if (!info) fail_msg("no variable %s", names[i]);
        assert_int_equal(info->sets, HR_GLOBAL_VARIABLES);
    }
    for (int n = 0; n < STEPS + 1; n++) step_of(&m, 0, n % STEPS);
    hr_tensor iterations = value_of(&m, hr_variable_named(m.g, "Adam/iter")->handle),
              steps = value_of(&m, hr_variable_named(m.g, "gradient_sum/steps")->handle);
    assert_int_equal(*(const int64_t *)iterations.data, 1);
    assert_int_equal(*(const int64_t *)steps.data, 1);
    hr_tensor_clear(&iterations);
    hr_tensor_clear(&steps);
    model_free(&m);
}

/* Two optimizers in one step, by lists of variables and by scope; one of them sums. */
static void two_optimizers_share_a_step(void **state)
{
    (void)state;
    hr_error err;
    hr_graph *g = hr_graph_new();
    const hr_node a = hr_get_variable(g, "deep/a", HR_FLOAT, HR_SCALAR, .initializer = hr_ones()),
                  b = hr_get_variable(g, "deep/b", HR_FLOAT, HR_SCALAR, .initializer = hr_ones()),
                  c = hr_get_variable(g, "wide/c", HR_FLOAT, HR_SCALAR, .initializer = hr_ones()),
                  d = hr_get_variable(g, "wide/d", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    const hr_node loss = hr_add(hr_add(hr_square(a), hr_square(b)), hr_add(hr_square(c), hr_square(d)));
    const hr_node steps = hr_global_step(g), list[] = {c};
    const hr_node both[] = {hr_minimize(hr_sgd(0.1f), loss, .var_scope = "deep", .accumulate = 2),
                            hr_minimize(hr_sgd(0.25f), loss, .var_list = list, .var_count = 1, .global_step = steps)};
    const hr_node train = hr_target(hr_group(g, both, 2, "train")), fetches[] = {a, b, c, d, steps};
    static const float expected[][5] = {{1, 1, 0.5f, 1, 1}, {0.8f, 0.8f, 0.25f, 1, 2}, {0.8f, 0.8f, 0.125f, 1, 3}};
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int n = 0; n < 3; n++) {
        assert_ok(hr_session_run(s, NULL, 0, &train, 1, NULL, &err), &err);
        for (int i = 0; i < 5; i++) {
            hr_tensor value;
            assert_ok(hr_session_get(s, fetches[i], &value, &err), &err);
            const double got = i < 4 ? (double)*(const float *)value.data : (double)*(const int64_t *)value.data;
            assert_near(got, expected[n][i], 1e-6);
            hr_tensor_clear(&value);
        }
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void an_eager_graph_refuses_it(void **state)
{
    (void)state;
    hr_graph *g = hr_eager_new();
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    const hr_variable_gradient gradient = {w, {.values = hr_scalar(g, HR_FLOAT, 1)}};
    hr_apply_gradients(hr_sgd(0.1f), g, &gradient, 1,
                       &(hr_minimize_opts){.struct_size = sizeof(hr_minimize_opts), .accumulate = 2});
    assert_string_equal(hr_graph_error(g)->kind, "optimizer.accumulate");
    hr_graph_free(g);
}

static void steps_below_zero_are_refused(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    hr_minimize(hr_sgd(0.1f), hr_square(w), .accumulate = -1);
    assert_non_null(hr_graph_error(g));
    assert_string_equal(hr_graph_error(g)->kind, "optimizer.accumulate");
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_steps_apply_what_one_with_their_mean_would),
        cmocka_unit_test(steps_in_between_do_not_count_and_sums_are_saved),
        cmocka_unit_test(two_optimizers_share_a_step),
        cmocka_unit_test(an_eager_graph_refuses_it),
        cmocka_unit_test(steps_below_zero_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
