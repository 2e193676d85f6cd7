/* Small models learn: a linear regression exactly as fast as it must, a net of two layers what no line can do. */
#include "tests/testing.h"
#include "train/layers/layers.h"
#include "train/optimizers/optimizers.h"

#include <math.h>

/* House prices (Andrew Ng's course): square feet, bedrooms, price. */
enum { HOUSES = 47 };
static const float houses[HOUSES][3] = {
    {909, 3, 100309},  {1329, 4, 122682}, {1656, 4, 166357}, {1277, 4, 235000}, {1448, 4, 236000}, {3516, 5, 320000},
    {1638, 3, 370000}, {1050, 3, 123225}, {1211, 3, 135000}, {1183, 4, 146000}, {1137, 3, 194000}, {1768, 4, 265000},
    {2159, 4, 345000}, {3397, 4, 465000}, {1598, 2, 484000}, {966, 3, 114000},  {1324, 2, 234500}, {1176, 4, 247234},
    {2711, 4, 266000}, {3281, 5, 395100}, {1788, 2, 427500}, {2274, 3, 470000}, {3157, 5, 520000}, {904, 2, 65000},
    {1410, 3, 115620}, {1164, 3, 122500}, {1272, 3, 124413}, {1260, 3, 137760}, {1549, 4, 165000}, {1029, 3, 168750},
    {1200, 3, 176095}, {1410, 3, 180000}, {1386, 3, 191250}, {1351, 3, 215000}, {1419, 4, 220000}, {2254, 5, 222750},
    {1074, 3, 233000}, {1676, 3, 247000}, {1367, 3, 249000}, {1910, 3, 271000}, {2214, 4, 278000}, {1348, 3, 545000},
    {1040, 3, 97750},  {970, 2, 132000},  {1206, 3, 142000}, {1019, 3, 148750}, {1638, 3, 191675}};

typedef struct houses_data {
    float x[HOUSES][3], y[HOUSES][1]; /* 1, square, bedrooms; price; all but the 1 normalised */
} houses_data;

static void normalise(houses_data *data)
{
    for (int j = 0; j < 3; j++) {
        double mean = 0, square = 0;
        for (int i = 0; i < HOUSES; i++) mean += (double)houses[i][j] / HOUSES;
        for (int i = 0; i < HOUSES; i++) square += pow((double)houses[i][j] - mean, 2);
        const double deviation = sqrt(square / (HOUSES - 1));
        for (int i = 0; i < HOUSES; i++) {
            const float z = (float)(((double)houses[i][j] - mean) / deviation);
            if (j < 2)
                data->x[i][j + 1] = z;
            else
                data->y[i][0] = z;
            data->x[i][0] = 1;
        }
    }
}

typedef struct session_graph {
    hr_graph *g;
    hr_session *s;
} session_graph;

static void start(session_graph *t)
{
    hr_error err;
    t->s = hr_session_new(t->g);
    hr_node init = hr_target(hr_global_variables_initializer(t->g));
    assert_ok(hr_session_run(t->s, NULL, 0, &init, 1, NULL, &err), &err);
}

static void stop(session_graph *t)
{
    hr_session_free(t->s);
    hr_graph_free(t->g);
}

static float value_of(session_graph *t, const hr_feed *feeds, int count, hr_node node, int i)
{
    hr_error err;
    hr_tensor out;
    assert_ok(hr_session_run(t->s, feeds, count, &node, 1, &out, &err), &err);
    const float value = ((const float *)out.data)[i];
    hr_tensor_clear(&out);
    return value;
}

static void step(session_graph *t, const hr_feed *feeds, int count, hr_node train)
{
    hr_error err;
    hr_node target = hr_target(train);
    assert_ok(hr_session_run(t->s, feeds, count, &target, 1, NULL, &err), &err);
}

static void near(float got, double expected, double within)
{
    if (fabs((double)got - expected) > within) fail_msg("expected %.9g, got %.9g", expected, (double)got);
}

static void gradient_descent_learns_house_prices_step_by_step(void **state)
{
    (void)state;
    static const struct {
        float rate;
        int steps;
        double w1, w2, loss;
    } table[] = {
        {0.01f, 1, 0.0064689, 0.0021744, 0.4847359},     {0.01f, 10, 0.0613570, 0.0190795, 0.4482799},
        {0.01f, 100, 0.3971193, 0.0339980, 0.3113242},   {0.01f, 500, 0.7770663, -0.2400039, 0.2450277},
        {0.01f, 1000, 0.8658851, -0.3286611, 0.2411226}, {0.1f, 1, 0.0646890, 0.0217442, 0.4459525},
        {0.1f, 10, 0.4061176, 0.0381346, 0.3095383},     {0.1f, 100, 0.8669085, -0.3296845, 0.2411096},
        {0.1f, 500, 0.8846421, -0.3474181, 0.2410000},   {0.1f, 1000, 0.8846421, -0.3474181, 0.2410000},
    };
    houses_data data;
    normalise(&data);
    for (size_t r = 0; r < sizeof table / sizeof *table; r++) {
        session_graph t = {hr_graph_new(), NULL};
        hr_node x = hr_placeholder(t.g, HR_FLOAT, HR_SHAPE(-1, 3)), y = hr_placeholder(t.g, HR_FLOAT, HR_SHAPE(-1, 1));
        hr_node w = hr_get_variable(t.g, "weights", HR_FLOAT, HR_SHAPE(3, 1), .initializer = hr_zeros());
        hr_node loss = hr_mul(hr_mean_squared_error(y, hr_matmul(x, w)), hr_scalar(t.g, HR_FLOAT, 0.5));
        hr_node train = hr_minimize(hr_sgd(table[r].rate), loss);
        const hr_feed feeds[] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(HOUSES, 3), data.x)},
                                 {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(HOUSES, 1), data.y)}};
        start(&t);
        for (int i = 0; i < table[r].steps; i++) step(&t, feeds, 2, train);
        near(value_of(&t, feeds, 2, hr_identity(w), 0), 0, 1e-7);
        near(value_of(&t, feeds, 2, hr_identity(w), 1), table[r].w1, 2e-6);
        near(value_of(&t, feeds, 2, hr_identity(w), 2), table[r].w2, 2e-6);
        near(value_of(&t, feeds, 2, loss, 0), table[r].loss, 1e-6);
        stop(&t);
    }
}

/* Exclusive or: no single layer can. */
static void a_net_of_two_layers_learns_what_a_line_cannot(void **state)
{
    (void)state;
    static const float in[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, out[4][1] = {{0}, {1}, {1}, {0}};
    hr_optimizer *optimizers[] = {hr_adam(0.05f), hr_adagrad(0.5f), hr_sgd(0.2f, .momentum = 0.9f)};
    for (int o = 0; o < 3; o++) {
        session_graph t = {hr_graph_new(), NULL};
        hr_set_random_seed(t.g, 11);
        hr_node x = hr_placeholder(t.g, HR_FLOAT, HR_SHAPE(-1, 2)), y = hr_placeholder(t.g, HR_FLOAT, HR_SHAPE(-1, 1));
        hr_node hidden = hr_dense(x, 16, .activation = hr_tanh_fn, .name = "hidden");
        hr_node loss = hr_sigmoid_cross_entropy_loss(y, hr_dense(hidden, 1, .name = "logits"));
        hr_node train = hr_minimize(optimizers[o], loss);
        const hr_feed feeds[] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 2), in)},
                                 {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 1), out)}};
        start(&t);
        const float before = value_of(&t, feeds, 2, loss, 0);
        for (int i = 0; i < 800; i++) step(&t, feeds, 2, train);
        const float after = value_of(&t, feeds, 2, loss, 0);
        if (!(before > 0.5f && after < 0.05f)) fail_msg("optimizer %d: %g to %g", o, (double)before, (double)after);
        stop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_descent_learns_house_prices_step_by_step),
        cmocka_unit_test(a_net_of_two_layers_learns_what_a_line_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
