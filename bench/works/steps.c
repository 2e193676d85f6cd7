/* Steps of training on fed values: optimizers that apply sparse gradients to tables, a LeNet, an LSTM. */
#include "bench/fed.h"
#include <headrace/layers.h>
#include <headrace/optimizers.h>
#include <stdio.h>

/* ---- 26 tables of 10,000 rows of 16, each with a gradient of 512 rows ---- */

enum { TABLES = 26, TABLE_ROWS = 10000, WIDTH = 16, TOUCHED = 512 };

static void tables(fed *f, hr_optimizer *optimizer)
{
    hr_variable_gradient gradients[TABLES];
    for (int t = 0; t < TABLES; t++) {
        char name[16];
        snprintf(name, sizeof name, "table_%d", t);
        const hr_node table = hr_get_variable(f->g, name, HR_FLOAT, HR_SHAPE(TABLE_ROWS, WIDTH));
        const hr_node ids = fed_input(f, HR_INT64, HR_SHAPE(TOUCHED), TABLE_ROWS);
        const hr_node values = fed_input(f, HR_FLOAT, HR_SHAPE(TOUCHED, WIDTH), 0);
        gradients[t] = (hr_variable_gradient){
            table,
            {.values = values, .indices = ids, .dense_shape = hr_shape_const(f->g, HR_SHAPE(TABLE_ROWS, WIDTH))}};
    }
    f->out = hr_apply_gradients(optimizer, f->g, gradients, TABLES, NULL);
    f->runs = 50;
    f->rows = TABLES * TOUCHED;
}

static void adagrad(fed *f) { tables(f, hr_adagrad(0.01F)); }
static void ftrl(fed *f) { tables(f, hr_ftrl(0.01F)); }
static void lazy_adam(fed *f) { tables(f, hr_adam(0.01F, .lazy = true)); }
static void adam(fed *f)
{
    tables(f, hr_adam(0.01F, .v1 = true));
    f->runs = 5;
    f->rows = (int64_t)TABLES * TABLE_ROWS;
}
FED_RUN(adagrad)
FED_RUN(ftrl)
FED_RUN(lazy_adam)
FED_RUN(adam)

/* ---- LeNet on 128 digits of 28 x 28 ---- */

static void lenet(fed *f)
{
    enum { DIGITS = 128, SIDE = 28, CLASSES = 10 };
    const hr_node images = fed_input(f, HR_FLOAT, HR_SHAPE(DIGITS, SIDE, SIDE, 1), 0);
    const hr_node labels = fed_input(f, HR_INT64, HR_SHAPE(DIGITS), CLASSES);
    hr_node net = hr_conv2d(images, 32, 5, 5, .padding = HR_SAME, .activation = hr_relu_fn);
    net = hr_max_pool(net, 2, 2, .strides = {2, 2});
    net = hr_conv2d(net, 64, 5, 5, .padding = HR_SAME, .activation = hr_relu_fn);
    net = hr_max_pool(net, 2, 2, .strides = {2, 2});
    net = hr_dense(hr_flatten(net), 512, .activation = hr_relu_fn);
    const hr_node loss = hr_sparse_softmax_cross_entropy(hr_dense(net, CLASSES), labels);
    f->out = hr_minimize(hr_sgd(0.01F), hr_reduce_mean(loss));
    f->runs = 3;
    f->rows = 1;
}
FED_RUN(lenet)

/* ---- an LSTM of 128 units over 64 rows of 50 steps ---- */

static void lstm(fed *f)
{
    enum { SEQUENCES = 64, STEPS = 50, UNITS = 128 };
    const hr_node x = fed_input(f, HR_FLOAT, HR_SHAPE(SEQUENCES, STEPS, UNITS), 0);
    const hr_node last = hr_lstm(x, UNITS);
    f->out = hr_minimize(hr_sgd(0.01F), hr_reduce_mean(hr_square(last)));
    f->runs = 5;
    f->rows = 1;
}
FED_RUN(lstm)

const work work_steps[] = {
    FED_WORK("step_adagrad", adagrad),
    FED_WORK("step_ftrl", ftrl),
    FED_WORK("step_lazy_adam", lazy_adam),
    FED_WORK("step_adam", adam),
    FED_WORK("step_lenet", lenet),
    FED_WORK("step_lstm", lstm),
    {0},
};
