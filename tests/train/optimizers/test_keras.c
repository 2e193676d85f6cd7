/* Optimizers with .keras: what they make in which order, and that they step as formulas in float64 do, with dense
 * gradients and with rows. */
#include "tests/testing.h"
#include "train/layers/layers.h"
#include "train/optimizers/optimizers.h"

#include <headrace/eager.h>
#include <math.h>
#include <string.h>

static void run(hr_session *s, hr_node node)
{
    hr_error err;
    const hr_node target = hr_target(node);
    assert_ok(hr_session_run(s, NULL, 0, &target, 1, NULL, &err), &err);
}

static double value_of(hr_session *s, hr_node variable, int64_t i)
{
    hr_error err;
    hr_tensor t;
    assert_ok(hr_session_get(s, variable, &t, &err), &err);
    const double value = t.dtype == HR_DOUBLE  ? ((const double *)t.data)[i]
                         : t.dtype == HR_FLOAT ? (double)((const float *)t.data)[i]
                                               : (double)((const int64_t *)t.data)[i];
    hr_tensor_clear(&t);
    return value;
}

static hr_session *begin(hr_graph *g)
{
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    run(s, hr_global_variables_initializer(g));
    return s;
}

/* ---- what is made ---- */

/* Two weights and one that the loss does not depend on; `names` ends with NULL. */
static void check_names(hr_optimizer *optimizer, const char *const *names)
{
    hr_graph *g = hr_graph_new();
    const hr_node w[] = {hr_get_variable(g, "a/kernel", HR_FLOAT, HR_SHAPE(2, 3), .initializer = hr_ones()),
                         hr_get_variable(g, "a/bias", HR_FLOAT, HR_SHAPE(3), .initializer = hr_ones()),
                         hr_get_variable(g, "rest", HR_FLOAT, HR_SCALAR, .initializer = hr_ones())};
    hr_optimizer_variables made;
    hr_minimize(optimizer, hr_reduce_sum(hr_square(hr_add(w[0], w[1]))), .variables = &made);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_int_equal(hr_variable_of(made.iterations)->dtype, HR_INT64);
    assert_non_null(strstr(hr_variable_of(made.learning_rate)->name, "learning_rate"));
    for (int i = 0; names[i]; i++) {
        assert_less(i, made.count);
        assert_string_equal(hr_variable_of(made.slot[i].variable)->name, names[i]);
        assert_text_contains(names[i], made.slot[i].name);
        assert_text_contains(names[i], hr_variable_of(made.slot[i].weight)->name);
    }
    int count = 0;
    while (names[count]) count++;
    assert_int_equal(made.count, count);
    hr_optimizer_variables_clear(&made);
    assert_int_equal(made.count, 0);
    hr_graph_free(g);
}

static void variables_are_made_in_the_order_of_keras(void **state)
{
    (void)state;
    check_names(hr_sgd(0.1f, .keras = true),
                (const char *const[]){"SGD/m/a/kernel", "SGD/m/a/bias", "SGD/m/rest", NULL});
    check_names(hr_adamw(0.1f, 0.1f, .keras = true, .amsgrad = true),
                (const char *const[]){"AdamW/m/a/kernel", "AdamW/v/a/kernel", "AdamW/m/a/bias", "AdamW/v/a/bias",
                                      "AdamW/m/rest", "AdamW/v/rest", "AdamW/vhat/a/kernel", "AdamW/vhat/a/bias",
                                      "AdamW/vhat/rest", NULL});
    check_names(hr_sgd(0.1f, .keras = true, .use_ema = true, .name = "x"),
                (const char *const[]){"x/average/a/kernel", "x/average/a/bias", "x/average/rest", "x/m/a/kernel",
                                      "x/m/a/bias", "x/m/rest", NULL});
    check_names(hr_adam(0.1f),
                (const char *const[]){"Adam/a/kernel/m", "Adam/a/kernel/v", "Adam/a/bias/m", "Adam/a/bias/v", NULL});
}

/* ---- steps ----
 *
 * Where Keras casts a number to the weight's type, it does so by way of float32. */

static const double BETA1 = (double)0.9f, BETA2 = (double)0.999f;

enum { ROWS = 7, WIDTH = 3, N = ROWS * WIDTH, IDS = 5, STEPS = 4, MOST = 3 };

/* What a formula has for one value: the weight and its slots in their order. */
typedef struct state_of {
    double w, s[MOST];
} state_of;
typedef void formula(state_of *x, double g, double rate, int t);

static void sgd_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->w -= rate * g;
    x->s[0] = -rate * g;
}

static void momentum_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->s[0] = 0.5 * x->s[0] - rate * g;
    x->w += x->s[0];
}

static void nesterov_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->s[0] = 0.5 * x->s[0] - rate * g;
    x->w += 0.5 * x->s[0] - rate * g;
}

static void adam_moments(state_of *x, double g)
{
    x->s[0] = 0.9 * x->s[0] + 0.1 * g;
    x->s[1] = 0.999 * x->s[1] + 0.001 * g * g;
}

static void adam_formula(state_of *x, double g, double rate, int t)
{
    adam_moments(x, g);
    x->w -= rate * sqrt(1 - pow(BETA2, t)) / (1 - pow(BETA1, t)) * x->s[0] / (sqrt(x->s[1]) + 1e-7);
}

static void amsgrad_formula(state_of *x, double g, double rate, int t)
{
    adam_moments(x, g);
    x->s[2] = fmax(x->s[2], x->s[1]);
    x->w -= rate * sqrt(1 - pow(BETA2, t)) / (1 - pow(BETA1, t)) * x->s[0] / (sqrt(x->s[2]) + 1e-7);
}

static void adagrad_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->s[0] += g * g;
    x->w -= rate * g / sqrt(x->s[0] + 1e-7);
}

static void adadelta_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->s[0] = 0.95 * x->s[0] + 0.05 * g * g;
    const double change = g * sqrt((x->s[1] + 1e-7) / (x->s[0] + 1e-7));
    x->s[1] = 0.95 * x->s[1] + 0.05 * change * change;
    x->w -= rate * change;
}

static void adamax_formula(state_of *x, double g, double rate, int t)
{
    x->s[0] = 0.9 * x->s[0] + 0.1 * g;
    x->s[1] = fmax(0.999 * x->s[1], fabs(g));
    x->w -= rate / (1 - pow(BETA1, t)) * x->s[0] / (x->s[1] + 1e-7);
}

static double nadam_u(int t) { return BETA1 * (1 - 0.5 * pow((double)0.96f, t)); }

/* One step with a product of all u that is given. */
static void nadam_step(state_of *x, double g, double rate, int t, double product)
{
    x->s[0] += (g - x->s[0]) * (1 - BETA1);
    x->s[1] += (g * g - x->s[1]) * (1 - BETA2);
    const double mean =
        nadam_u(t + 1) * x->s[0] / (1 - product * nadam_u(t + 1)) + (1 - nadam_u(t)) * g / (1 - product);
    x->w -= rate * mean / (sqrt(x->s[1] / (1 - pow(BETA2, t))) + 1e-7);
}

static void nadam_formula(state_of *x, double g, double rate, int t)
{
    double product = 1;
    for (int i = 1; i <= t; i++) product *= nadam_u(i);
    nadam_step(x, g, rate, t, product);
}

static void rmsprop_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->s[0] = 0.9 * x->s[0] + 0.1 * g * g;
    x->w -= rate * g / sqrt(x->s[0] + 1e-7);
}

/* Slots: velocity, momentum, average gradient. */
static void rmsprop_momentum_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->s[0] = 0.9 * x->s[0] + 0.1 * g * g;
    x->s[1] = 0.5 * x->s[1] + rate * g / sqrt(x->s[0] + 1e-7);
    x->w -= x->s[1];
}

static void rmsprop_centered_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->s[0] = 0.9 * x->s[0] + 0.1 * g * g;
    x->s[1] = 0.9 * x->s[1] + 0.1 * g;
    x->w -= rate * g / sqrt(x->s[0] - x->s[1] * x->s[1] + 1e-7);
}

static void rmsprop_both_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    x->s[0] = 0.9 * x->s[0] + 0.1 * g * g;
    x->s[2] = 0.9 * x->s[2] + 0.1 * g;
    x->s[1] = 0.5 * x->s[1] + rate * g / sqrt(x->s[0] - x->s[2] * x->s[2] + 1e-7);
    x->w -= x->s[1];
}

/* l1 0.125, l2 0.25, shrinkage 0.5, beta 0.0625; a gradient of 0 as well moves what is not 0. */
static void ftrl_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    const double more = x->s[0] + g * g, l2 = 0.25 + 0.0625 / (2 * rate);
    x->s[1] += g + 2 * 0.5 * x->w - (sqrt(more) - sqrt(x->s[0])) / rate * x->w;
    x->w = (fmax(fmin(x->s[1], 0.125), -0.125) - x->s[1]) / (sqrt(more) / rate + 2 * l2);
    x->s[0] = more;
}

static void lion_formula(state_of *x, double g, double rate, int t)
{
    (void)t;
    const double beta2 = (double)0.99f, mean = BETA1 * x->s[0] + (1 - BETA1) * g;
    x->w -= mean > 0 ? rate : mean < 0 ? -rate : 0;
    x->s[0] = beta2 * x->s[0] + (1 - beta2) * g;
}

#define RATE 0.125f
static const struct {
    const char *name;
    formula *step;
    int slots;
    double first[MOST];
} rules[] = {
    {"sgd", sgd_formula, 1, {0}},
    {"momentum", momentum_formula, 1, {0}},
    {"nesterov", nesterov_formula, 1, {0}},
    {"adam", adam_formula, 2, {0}},
    {"amsgrad", amsgrad_formula, 3, {0}},
    {"adagrad", adagrad_formula, 1, {0.1}},
    {"adadelta", adadelta_formula, 2, {0}},
    {"adamax", adamax_formula, 2, {0}},
    {"nadam", nadam_formula, 2, {0}},
    {"rmsprop", rmsprop_formula, 1, {0}},
    {"rmsprop, momentum", rmsprop_momentum_formula, 2, {0}},
    {"rmsprop, centered", rmsprop_centered_formula, 2, {0}},
    {"rmsprop, both", rmsprop_both_formula, 3, {0}},
    {"ftrl", ftrl_formula, 2, {0.1}},
    {"lion", lion_formula, 1, {0}},
};
enum { RULES = sizeof rules / sizeof *rules };

static hr_optimizer *optimizer_of(const char *name)
{
    if (strcmp(name, "sgd") == 0) return hr_sgd(RATE, .keras = true);
    if (strcmp(name, "momentum") == 0) return hr_sgd(RATE, .momentum = 0.5f, .keras = true);
    if (strcmp(name, "nesterov") == 0) return hr_sgd(RATE, .momentum = 0.5f, .nesterov = true, .keras = true);
    if (strcmp(name, "amsgrad") == 0) return hr_adam(RATE, .amsgrad = true, .keras = true);
    if (strcmp(name, "rmsprop, momentum") == 0) return hr_rmsprop(RATE, .momentum = 0.5f, .keras = true);
    if (strcmp(name, "rmsprop, centered") == 0) return hr_rmsprop(RATE, .centered = true, .keras = true);
    if (strcmp(name, "rmsprop, both") == 0) return hr_rmsprop(RATE, .centered = true, .momentum = 0.5f, .keras = true);
    if (strcmp(name, "ftrl") == 0)
        return hr_ftrl(RATE, .l1_regularization_strength = 0.125f, .l2_regularization_strength = 0.25f,
                       .l2_shrinkage_regularization_strength = 0.5f, .beta = 0.0625f, .keras = true);
    const hr_parameter rate = {"learning_rate", RATE};
    return hr_optimizer_named(name, &rate, 1, HR_KERAS_OPTIMIZERS);
}

/* The gradient of a step: rows `ids`, some of them twice, `slices` of them, and the same, dense. */
typedef struct gradient {
    int64_t ids[IDS];
    double slices[IDS * WIDTH], dense[N];
    float slices32[IDS * WIDTH], dense32[N];
} gradient;

static gradient gradient_of(int step)
{
    gradient g = {0};
    for (int i = 0; i < IDS; i++) {
        g.ids[i] = (int64_t)(hr_random(3, (uint64_t)(step * IDS + i)) % (ROWS - 1)); /* the last row never */
        for (int j = 0; j < WIDTH; j++) {
            const double value = (double)((int)(hr_random(4, (uint64_t)((step * IDS + i) * WIDTH + j)) % 41) - 20) / 16;
            g.slices[i * WIDTH + j] = value;
            g.dense[g.ids[i] * WIDTH + j] += value;
        }
    }
    for (int i = 0; i < IDS * WIDTH; i++) g.slices32[i] = (float)g.slices[i];
    for (int i = 0; i < N; i++) g.dense32[i] = (float)g.dense[i];
    return g;
}

static double start_of(int i) { return (double)(i % 5) / 2 - 1; }

typedef struct trained {
    hr_graph *g;
    hr_session *s;
    hr_node w, values, ids, train;
    hr_optimizer_variables made;
} trained;

static trained training(hr_optimizer *optimizer, hr_dtype dtype, bool sparse)
{
    hr_graph *g = hr_graph_new();
    double first[N];
    float first32[N];
    for (int i = 0; i < N; i++) first32[i] = (float)(first[i] = start_of(i));
    const hr_shape shape = HR_SHAPE(ROWS, WIDTH);
    const hr_tensor start = hr_tensor_of(dtype, shape, dtype == HR_DOUBLE ? (void *)first : (void *)first32);
    trained t = {.g = g, .w = hr_get_variable(g, "w", dtype, shape, .initializer = hr_initial_value(&start))};
    t.values = hr_placeholder(g, dtype, sparse ? HR_SHAPE(-1, WIDTH) : shape);
    t.ids = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
    const hr_variable_gradient by = {t.w, {.values = t.values}},
                               rows = {t.w, {t.values, t.ids, hr_variable_shape(t.w, HR_INT64)}};
    t.train = hr_apply_gradients(optimizer, g, sparse ? &rows : &by, 1,
                                 &(hr_minimize_opts){.struct_size = sizeof(hr_minimize_opts), .variables = &t.made});
    t.s = begin(g);
    return t;
}

static void train(const trained *t, hr_dtype dtype, bool sparse, int step)
{
    hr_error err;
    const gradient by = gradient_of(step);
    const void *values = dtype == HR_DOUBLE ? (sparse ? (const void *)by.slices : (const void *)by.dense)
                                            : (sparse ? (const void *)by.slices32 : (const void *)by.dense32);
    const hr_feed feeds[] = {
        {t->values, hr_tensor_of(dtype, sparse ? HR_SHAPE(IDS, WIDTH) : HR_SHAPE(ROWS, WIDTH), values)},
        {t->ids, hr_tensor_of(HR_INT64, HR_SHAPE(IDS), by.ids)}};
    const hr_node target = hr_target(t->train);
    assert_ok(hr_session_run(t->s, feeds, sparse ? 2 : 1, &target, 1, NULL, &err), &err);
}

static void stop(trained *t)
{
    hr_optimizer_variables_clear(&t->made);
    hr_session_free(t->s);
    hr_graph_free(t->g);
}

static void compare(const trained *t, int rule, const state_of *x, double most, const char *how)
{
    for (int i = 0; i < N; i++)
        for (int s = 0; s <= rules[rule].slots; s++) {
            const double expected = s ? x[i].s[s - 1] : x[i].w;
            const double got = value_of(t->s, s ? t->made.slot[s - 1].variable : t->w, i);
            if (!(fabs(got - expected) <= most * (1 + fabs(expected))))
                fail_msg("%s, %s: value %d of %s: %.17g, by the formula %.17g", rules[rule].name, how, i,
                         s ? t->made.slot[s - 1].name : "the weight", got, expected);
        }
}

static void steps_follow_the_formulas(void **state)
{
    (void)state;
    for (int rule = 0; rule < RULES; rule++)
        for (int variant = 0; variant < 4; variant++) {
            const hr_dtype dtype = variant / 2 ? HR_FLOAT : HR_DOUBLE;
            const bool sparse = variant % 2;
            trained t = training(optimizer_of(rules[rule].name), dtype, sparse);
            state_of x[N];
            assert_int_equal(t.made.count, rules[rule].slots);
            for (int i = 0; i < N; i++) {
                x[i] = (state_of){.w = start_of(i)};
                memcpy(x[i].s, rules[rule].first, sizeof x[i].s);
            }
            for (int step = 0; step < STEPS; step++) {
                const gradient by = gradient_of(step);
                train(&t, dtype, sparse, step);
                for (int i = 0; i < N; i++) rules[rule].step(&x[i], by.dense[i], (double)RATE, step + 1);
                compare(&t, rule, x, dtype == HR_DOUBLE ? 1e-12 : 2e-5, sparse ? "rows" : "dense");
            }
            assert_exactly(value_of(t.s, t.made.iterations, 0), STEPS);
            stop(&t);
        }
}

/* Of a matrix, rows and columns of squares; `w` and `g` of N values. */
static void adafactor_step(double *w, double *r, double *c, double *v, const double *g, double rate, int t)
{
    const double kept = 1 - pow(t, -0.8), pace = fmin(rate, 1 / sqrt(t));
    double rows[ROWS] = {0}, columns[WIDTH] = {0}, all = 0, size = 0, change[N], length = 0;
    for (int i = 0; i < N; i++) {
        rows[i / WIDTH] += (g[i] * g[i] + 1e-30) / WIDTH;
        columns[i % WIDTH] += (g[i] * g[i] + 1e-30) / ROWS;
        size += w[i] * w[i] / N;
    }
    for (int i = 0; i < ROWS; i++) all += (r[i] = kept * r[i] + (1 - kept) * rows[i]) / ROWS;
    for (int i = 0; i < WIDTH; i++) c[i] = kept * c[i] + (1 - kept) * columns[i];
    for (int i = 0; i < N; i++) {
        v[i] = r[i / WIDTH] / all * c[i % WIDTH];
        change[i] = g[i] / sqrt(v[i]);
        length += change[i] * change[i] / N;
    }
    for (int i = 0; i < N; i++) w[i] -= fmax(0.001, sqrt(size)) * pace * change[i] / fmax(1, sqrt(length));
}

static void adafactor_keeps_rows_and_columns(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        trained t = training(hr_adafactor(0.75f), HR_DOUBLE, sparse);
        double w[N], r[ROWS] = {0}, c[WIDTH] = {0}, v[N];
        for (int i = 0; i < N; i++) w[i] = start_of(i);
        for (int step = 0; step < STEPS; step++) { /* from the second on, the step's number limits the rate */
            const gradient by = gradient_of(step);
            train(&t, HR_DOUBLE, sparse, step);
            adafactor_step(w, r, c, v, by.dense, 0.75, step + 1);
            for (int i = 0; i < N; i++) assert_near(value_of(t.s, t.w, i), w[i], 1e-11);
            for (int i = 0; i < ROWS; i++) assert_near(value_of(t.s, t.made.slot[0].variable, i), r[i], 1e-12);
            for (int i = 0; i < WIDTH; i++) assert_near(value_of(t.s, t.made.slot[1].variable, i), c[i], 1e-12);
            for (int i = 0; i < N; i++) assert_near(value_of(t.s, t.made.slot[2].variable, i), v[i], 1e-12);
        }
        stop(&t);
    }
}

static void adafactor_keeps_all_squares_of_a_vector(void **state)
{
    (void)state;
    static const double g[2] = {3, 4};
    hr_graph *graph = hr_graph_new();
    const hr_node w = hr_get_variable(graph, "w", HR_DOUBLE, HR_SHAPE(2), .initializer = hr_zeros());
    const hr_tensor by = hr_tensor_of(HR_DOUBLE, HR_SHAPE(2), g);
    const hr_variable_gradient gradient = {w, {.values = hr_const(graph, &by)}};
    const hr_node train = hr_apply_gradients(hr_adafactor(0.5f), graph, &gradient, 1, NULL);
    hr_session *s = begin(graph);
    run(s, train); /* squares of the first step are those of the gradient; a weight of 0 counts as 0.001 */
    for (int i = 0; i < 2; i++) assert_near(value_of(s, w, i), -(double)0.001f * 0.5, 1e-12);
    hr_session_free(s);
    hr_graph_free(graph);
}

/* Three weights of one value each: number i leaves the product as it is in step 3 + i - 1. */
static void nadam_of_a_graph_has_a_product_of_its_own(void **state)
{
    (void)state;
    enum { WEIGHTS = 3, MANY = 7 };
    static const char *const names[WEIGHTS] = {"a", "b", "c"};
    hr_graph *g = hr_graph_new();
    hr_variable_gradient by[WEIGHTS];
    state_of x[WEIGHTS] = {{0}};
    for (int i = 0; i < WEIGHTS; i++) {
        by[i].variable = hr_get_variable(g, names[i], HR_DOUBLE, HR_SCALAR, .initializer = hr_zeros());
        by[i].gradient = (hr_gradient){.values = hr_scalar(g, HR_DOUBLE, i - 0.75)};
    }
    hr_optimizer_variables made;
    const hr_node train =
        hr_apply_gradients(hr_nadam(0.5f, .keras = true, .tf_compat = true), g, by, WEIGHTS,
                           &(hr_minimize_opts){.struct_size = sizeof(hr_minimize_opts), .variables = &made});
    hr_session *s = begin(g);
    double product = 1;
    for (int step = 0; step < MANY; step++) {
        run(s, train);
        for (int i = 0; i < WEIGHTS; i++) {
            if (step != WEIGHTS + i - 1) product *= nadam_u(step + 1);
            nadam_step(&x[i], i - 0.75, 0.5, step + 1, product);
            assert_near(value_of(s, by[i].variable, 0), x[i].w, 1e-12);
        }
        assert_near(value_of(s, made.u_product, 0), product, 1e-12);
    }
    hr_optimizer_variables_clear(&made);
    hr_session_free(s);
    hr_graph_free(g);
}

static void the_rate_can_be_set_between_steps(void **state)
{
    (void)state;
    hr_error err;
    trained t = training(hr_sgd(1, .keras = true), HR_FLOAT, false);
    const gradient by = gradient_of(0);
    train(&t, HR_FLOAT, false, 0);
    const float half = 0.5f;
    const hr_tensor rate = hr_tensor_of(HR_FLOAT, HR_SCALAR, &half);
    assert_ok(hr_session_set(t.s, t.made.learning_rate, &rate, &err), &err);
    train(&t, HR_FLOAT, false, 0);
    for (int i = 0; i < N; i++) assert_near(value_of(t.s, t.w, i), start_of(i) - 1.5 * by.dense[i], 1e-6);
    stop(&t);
}

static void a_schedule_is_kept_as_the_rate_of_the_last_step(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    const hr_node step =
        hr_get_variable(g, "SGD/iteration", HR_INT64, HR_SCALAR, .initializer = hr_zeros(), .not_trainable = true);
    const hr_node rate = hr_exponential_decay(1, step, 1, 0.5f);
    hr_optimizer_variables made;
    const hr_node train = hr_minimize(hr_sgd(1, .learning_rate_node = rate, .keras = true), hr_identity(w),
                                      .global_step = step, .variables = &made);
    hr_session *s = begin(g);
    assert_exactly(value_of(s, made.learning_rate, 0), 1);
    for (int i = 0; i < 3; i++) run(s, train);
    assert_exactly(value_of(s, made.learning_rate, 0), 0.25);
    assert_exactly(value_of(s, w, 0), -1.75);
    assert_int_equal(made.iterations.id, step.id);
    assert_string_equal(hr_variable_of(made.learning_rate)->name, "SGD/current_learning_rate");
    hr_optimizer_variables_clear(&made);
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- options of all ---- */

/* The weight is set to 8 after its initializer, and loses 1 in each step. */
static void averages(int64_t frequency, int steps, double *weight, double *average, double *final)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_optimizer_variables made;
    const hr_node train = hr_minimize(
        hr_sgd(1, .keras = true, .use_ema = true, .ema_momentum = HR_F32(0.5f), .ema_overwrite_frequency = frequency),
        hr_identity(w), .variables = &made);
    const hr_node overwrite = hr_overwrite_with_averages(g, &made);
    hr_session *s = begin(g);
    const float first = 8;
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SCALAR, &first);
    assert_ok(hr_session_set(s, w, &value, &err), &err);
    for (int i = 0; i < steps; i++) run(s, train);
    *weight = value_of(s, w, 0);
    *average = value_of(s, made.slot[0].variable, 0);
    run(s, overwrite);
    *final = value_of(s, w, 0);
    hr_optimizer_variables_clear(&made);
    hr_session_free(s);
    hr_graph_free(g);
}

static void averages_follow_the_weights_and_replace_them(void **state)
{
    (void)state;
    double weight, average, final;
    averages(0, 2, &weight, &average, &final);
    assert_exactly(weight, 6);
    assert_exactly(average, (7.5 + 6) / 2);
    assert_exactly(final, average);
    averages(2, 3, &weight, &average, &final); /* the second step ends with 6.75 in both */
    assert_exactly(weight, 5.75);
    assert_exactly(average, (6.75 + 5.75) / 2);
}

static void eager_steps_are_those_of_a_graph(void **state)
{
    (void)state;
    hr_graph *g = hr_eager_new();
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    hr_optimizer *o = hr_adam(0.125f, .keras = true, .use_ema = true);
    hr_optimizer_variables made = {0};
    state_of x = {.w = 1};
    double average = 1;
    for (int step = 0; step < 3; step++) {
        const hr_variable_gradient by = {w, {.values = hr_scalar(g, HR_FLOAT, step - 0.5)}};
        hr_optimizer_variables_clear(&made);
        hr_apply_gradients(hr_optimizer_ref(o), g, &by, 1,
                           &(hr_minimize_opts){.struct_size = sizeof(hr_minimize_opts), .variables = &made});
        adam_formula(&x, step - 0.5, 0.125, step + 1);
        average = 0.99 * average + 0.01 * x.w;
    }
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_overwrite_with_averages(g, &made);
    assert_near(*(const float *)hr_eager_tensor(hr_identity(w))->data, average, 1e-5);
    hr_optimizer_variables_clear(&made);
    hr_optimizer_free(o);
    hr_graph_free(g);
}

/* Of two weights of 1 with gradients of 3 and 4, after a step at rate 1. */
static void step_of_two(hr_optimizer *optimizer, double *a, double *b)
{
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_get_variable(g, "a/kernel", HR_FLOAT, HR_SCALAR, .initializer = hr_ones()),
                  y = hr_get_variable(g, "a/bias", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    const hr_variable_gradient by[] = {{x, {.values = hr_scalar(g, HR_FLOAT, 3)}},
                                       {y, {.values = hr_scalar(g, HR_FLOAT, 4)}}};
    const hr_node train = hr_apply_gradients(optimizer, g, by, 2, NULL);
    hr_session *s = begin(g);
    run(s, train);
    *a = value_of(s, x, 0);
    *b = value_of(s, y, 0);
    hr_session_free(s);
    hr_graph_free(g);
}

static void a_norm_goes_before_clipped_values(void **state)
{
    (void)state;
    double a, b;
    step_of_two(hr_sgd(1, .keras = true, .clipnorm = 2, .clipvalue = 1), &a, &b);
    assert_near(a, 1 - 2, 1e-6);
    assert_near(b, 1 - 2, 1e-6);
    step_of_two(hr_sgd(1, .keras = true, .global_clipnorm = 2.5f, .clipvalue = 1), &a, &b);
    assert_near(a, 1 - 1.5, 1e-6);
    assert_near(b, 1 - 2, 1e-6);
    step_of_two(hr_sgd(1, .keras = true, .clipvalue = 1), &a, &b);
    assert_near(b, 0, 1e-6);
}

static void excluded_weights_do_not_decay(void **state)
{
    (void)state;
    static const char *const words[] = {"gamma", "", "bias", NULL};
    double a, b;
    step_of_two(hr_sgd(1, .keras = true, .weight_decay = 0.5f, .exclude_from_weight_decay = words), &a, &b);
    assert_near(a, 1 - 0.5 - 3, 1e-6);
    assert_near(b, 1 - 4, 1e-6);
    hr_optimizer *o = hr_sgd(1, .weight_decay = 0.5f, .exclude_from_weight_decay = words);
    assert_text_contains(hr_optimizer_text(o), "exclude_from_weight_decay=bias)");
    hr_optimizer_free(o);
}

static void gradients_of_several_steps_are_one_step(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_optimizer_variables made;
    const hr_node train =
        hr_minimize(hr_sgd(1, .momentum = 0.5f, .keras = true), hr_identity(w), .accumulate = 2, .variables = &made);
    hr_session *s = begin(g);
    for (int i = 0; i < 4; i++) run(s, train);
    assert_exactly(value_of(s, made.iterations, 0), 2);
    assert_exactly(value_of(s, made.slot[0].variable, 0), -1.5);
    assert_exactly(value_of(s, w, 0), -2.5);
    hr_optimizer_variables_clear(&made);
    hr_session_free(s);
    hr_graph_free(g);
}

static void what_keras_does_not_have_is_refused(void **state)
{
    (void)state;
    hr_optimizer *bad[] = {hr_sgd(1, .keras = true, .v1 = true),
                           hr_sgd(1, .keras = true, .decay = 0.1f),
                           hr_sgd(1, .use_ema = true),
                           hr_sgd(1, .keras = true, .use_ema = true, .ema_momentum = HR_F32(1.5f)),
                           hr_sgd(1, .keras = true, .use_ema = true, .ema_overwrite_frequency = -1),
                           hr_proximal_sgd(1, .keras = true),
                           hr_adagrad_da(1, .keras = true),
                           hr_adam(1, .keras = true, .lazy = true),
                           hr_nadam(1, .keras = true, .schedule_decay = HR_F32(0.5f)),
                           hr_nadam(1, .tf_compat = true),
                           hr_nadam(1, .keras = true, .decay = 0.5f),
                           hr_lion(1, .v1 = true),
                           hr_lion(1, .decay = 0.5f),
                           hr_lion(1, .beta1 = HR_F32(0)),
                           hr_adafactor(1, .clip_threshold = HR_F32(0))};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (!hr_optimizer_error(bad[i])) fail_msg("number %zu is taken", i);
        assert_string_equal(hr_optimizer_error(bad[i])->kind, "optimizer.parameter");
        hr_optimizer_free(bad[i]);
    }
    hr_optimizer *rmsprop = hr_optimizer_named("rmsprop", &(hr_parameter){"use_ema", 1}, 1, HR_KERAS_OPTIMIZERS);
    assert_text_contains(hr_optimizer_text(rmsprop), "ema_momentum=0.99, ema_overwrite_frequency=100, keras)");
    hr_optimizer_free(rmsprop);
    hr_optimizer *adamw = hr_optimizer_named("AdamW", NULL, 0, HR_KERAS_OPTIMIZERS);
    assert_text_contains(hr_optimizer_text(adamw), "AdamW(learning_rate=0.001, ");
    assert_text_contains(hr_optimizer_text(adamw), "weight_decay=0.004, keras)");
    hr_optimizer_free(adamw);
    hr_optimizer_variables made = {.count = 7};
    hr_graph *g = hr_graph_new();
    hr_minimize(hr_sgd(1), hr_scalar(g, HR_FLOAT, 1), .variables = &made);
    assert_int_equal(made.count, 0);
    hr_overwrite_with_averages(g, NULL);
    hr_graph_free(g);
    hr_optimizer_variables_clear(NULL);
}

static void nothing_leaks_when_memory_runs_out(void **state)
{
    (void)state;
    static const char *const words[] = {"bias", NULL};
    const int64_t before = allocations_alive();
    for (int64_t n = 0; n < 500; n += 3) {
        fail_allocation(n);
        hr_graph *g = hr_graph_new();
        hr_optimizer_variables made = {0};
        if (g) {
            hr_node a = hr_get_variable(g, "a", HR_FLOAT, HR_SHAPE(3), .initializer = hr_ones());
            hr_minimize(hr_adam(0.1f, .keras = true, .use_ema = true, .exclude_from_weight_decay = words),
                        hr_reduce_sum(hr_square(a)), .variables = &made);
        }
        allocations_since();
        hr_optimizer_variables_clear(&made);
        hr_graph_free(g);
        assert_int_equal(allocations_alive(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_made_in_the_order_of_keras),
        cmocka_unit_test(steps_follow_the_formulas),
        cmocka_unit_test(adafactor_keeps_rows_and_columns),
        cmocka_unit_test(adafactor_keeps_all_squares_of_a_vector),
        cmocka_unit_test(nadam_of_a_graph_has_a_product_of_its_own),
        cmocka_unit_test(the_rate_can_be_set_between_steps),
        cmocka_unit_test(a_schedule_is_kept_as_the_rate_of_the_last_step),
        cmocka_unit_test(averages_follow_the_weights_and_replace_them),
        cmocka_unit_test(eager_steps_are_those_of_a_graph),
        cmocka_unit_test(a_norm_goes_before_clipped_values),
        cmocka_unit_test(excluded_weights_do_not_decay),
        cmocka_unit_test(gradients_of_several_steps_are_one_step),
        cmocka_unit_test(what_keras_does_not_have_is_refused),
        cmocka_unit_test(nothing_leaks_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
