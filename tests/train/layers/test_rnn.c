/* Recurrent layers: outputs, last states and gradients of Keras's in TensorFlow 2.15.1, with masks, lengths, first states
 * and in both directions. Inputs and weights are numbers made by a formula; of what comes out, sums with such numbers are
 * compared. */
#include "tests/testing.h"
#include "train/layers/layers.h"

#include <headrace/control_flow.h>
#include <math.h>
#include <string.h>

enum { ROWS = 3, STEPS = 4, WIDTH = 2, UNITS = 3, MAX_VALUES_HERE = 128, MAX_WEIGHTS = 6 };

typedef enum kind { SIMPLE, LSTM, GRU } kind;
static hr_rnn_fn *const layers[] = {hr_simple_rnn_with, hr_lstm_with, hr_gru_with};

typedef struct rnn_case {
    kind kind;
    bool sequences, back, zero, lengths, mask, initial, no_bias, reset_before, both;
    hr_merge_mode merge;
    hr_activation_fn *activation, *gate;
    float y[ROWS * STEPS];            /* outputs, summed over units with made numbers */
    float states[4];                  /* each last state, summed so */
    float gradients[1 + MAX_WEIGHTS]; /* by the input and each weight, summed so */
} rnn_case;

static const rnn_case cases[] = {
    {.kind = SIMPLE,
     .y = {-0.827113986f, -1.05743694f, -0.786234617f},
     .states = {-0.352403909f},
     .gradients = {0.37659061f, -0.0181045886f, 0.0931563973f, 0.156883314f}},
    {.kind = SIMPLE,
     .sequences = true,
     .lengths = true,
     .initial = true,
     .y = {-1.09927523f, -1.1665082f, -1.0893327f, -0.878554165f, 0, 0, 0, 0, -0.446306109f, -1.1061182f, -1.1061182f,
           -1.1061182f},
     .states = {0.964858949f},
     .gradients = {0.340039551f, 0.313490689f, 0.0208563805f, 0.583848f}},
    {.kind = SIMPLE,
     .sequences = true,
     .mask = true,
     .initial = true,
     .y = {0, -1.09920669f, -1.09920669f, -0.953851044f, 0, 0, 0, 0, -0.446306109f, -1.1061182f, -0.732380986f,
           -0.732380986f},
     .states = {0.670654535f},
     .gradients = {0.319164664f, -0.0941054597f, 0.311421931f, 0.449710131f}},
    {.kind = SIMPLE,
     .sequences = true,
     .back = true,
     .mask = true,
     .initial = true,
     .y = {-0.768784583f, -0.768784583f, -1.16924047f, -1.16924047f, 0, 0, 0, 0, 0, -0.104724869f, -1.12116623f,
           -0.977140546f},
     .states = {1.03086865f},
     .gradients = {-0.518292964f, -0.255975038f, -0.1234456f, 0.259606779f}},
    {.kind = SIMPLE,
     .back = true,
     .lengths = true,
     .initial = true,
     .y = {-1.15087914f, 0, -0.842155695f},
     .states = {1.10434055f},
     .gradients = {-0.0779136121f, 0.200993687f, -0.24753359f, 0.304149896f}},
    {.kind = SIMPLE,
     .sequences = true,
     .zero = true,
     .mask = true,
     .y = {0, -0.992410839f, 0, -0.77233994f, 0, 0, 0, 0, -0.572628915f, -1.10546887f, -0.724893749f, 0},
     .states = {0.333939999f},
     .gradients = {0.457508743f, -0.299549401f, -0.0660755783f, 0.792540729f}},
    {.kind = SIMPLE,
     .sequences = true,
     .back = true,
     .no_bias = true,
     .y = {0.388559133f, -0.177536711f, -0.575474024f, -0.54358381f, -0.249100953f, -0.40115428f, -0.194115236f,
           0.286601245f, 0.581282854f, 0.544806004f, -0.619623661f, -0.267444223f},
     .states = {0.534729362f},
     .gradients = {-1.25110245f, 0.696786642f, -0.0836060867f}},
    {.kind = LSTM,
     .y = {-0.178194955f, -0.303413361f, -0.192538068f},
     .states = {0.0772513226f, 0.265759408f},
     .gradients = {0.133342922f, -0.187066734f, 0.0855419934f, -0.459120691f}},
    {.kind = LSTM,
     .sequences = true,
     .lengths = true,
     .initial = true,
     .y = {-0.172626361f, -0.162021533f, -0.170901194f, -0.174748376f, 0, 0, 0, 0, -0.244868532f, -0.29693228f,
           -0.29693228f, -0.29693228f},
     .states = {0.578186989f, 0.778884053f},
     .gradients = {0.150008917f, -0.0677935332f, 0.0415111333f, -0.249303579f}},
    {.kind = LSTM,
     .sequences = true,
     .mask = true,
     .initial = true,
     .y = {0, -0.142283753f, -0.142283753f, -0.163188815f, 0, 0, 0, 0, -0.244868532f, -0.29693228f, -0.118418522f,
           -0.118418522f},
     .states = {0.36264044f, 0.395091891f},
     .gradients = {0.214781046f, 0.0423965566f, 0.0403498597f, -0.337484926f}},
    {.kind = LSTM,
     .sequences = true,
     .back = true,
     .mask = true,
     .initial = true,
     .y = {-0.218980655f, -0.218980655f, -0.194787458f, -0.194787458f, 0, 0, 0, 0, 0, -0.121351726f, -0.243969142f,
           -0.254166365f},
     .states = {0.569874048f, 0.703481257f},
     .gradients = {0.0244495962f, 0.0889392197f, 0.188959137f, -0.659896135f}},
    {.kind = LSTM,
     .back = true,
     .lengths = true,
     .initial = true,
     .y = {-0.211128473f, 0, -0.28651464f},
     .states = {0.667220056f, 0.978981674f},
     .gradients = {-0.0356212817f, -0.285630703f, -0.014175104f, -0.362479419f}},
    {.kind = LSTM,
     .sequences = true,
     .zero = true,
     .mask = true,
     .y = {0, -0.101483837f, 0, -0.14432171f, 0, 0, 0, 0, -0.155423611f, -0.227715328f, -0.104439676f, 0},
     .states = {0.0931399688f, 0.229987353f},
     .gradients = {0.184849337f, 0.0759930164f, 0.00335136033f, -0.151873484f}},
    {.kind = LSTM,
     .sequences = true,
     .back = true,
     .no_bias = true,
     .y = {-0.00511862896f, 0.0240409262f, 0.0478535295f, 0.0410007387f, -0.0125753991f, -0.00971731171f,
           -0.0124026351f, 0.01896457f, -0.0191215016f, 0.0151875224f, 0.0304829441f, -0.0185974464f},
     .states = {0.0913960636f, 0.21414955f},
     .gradients = {-0.276750356f, -0.0543702692f, 0.0882882103f}},
    {.kind = GRU,
     .y = {-0.973411739f, -0.870601237f, -1.19551778f},
     .states = {0.952600956f},
     .gradients = {-0.510363698f, -0.201170981f, -0.202886283f, 0.694118679f}},
    {.kind = GRU,
     .sequences = true,
     .lengths = true,
     .initial = true,
     .y = {-0.034404628f, -0.296445221f, -0.544650435f, -0.873877645f, 0, 0, 0, 0, -0.712829411f, -0.748768926f,
           -0.748768926f, -0.748768926f},
     .states = {1.22990668f},
     .gradients = {-0.0545559973f, -0.205920205f, 0.339039803f, 0.847089827f}},
    {.kind = GRU,
     .sequences = true,
     .mask = true,
     .initial = true,
     .y = {0, -0.0340674594f, -0.0340674594f, -0.58399117f, 0, 0, 0, 0, -0.712829411f, -0.748768926f, -0.949030876f,
           -0.949030876f},
     .states = {1.01636207f},
     .gradients = {0.0397310555f, -0.079813011f, 0.211921096f, 0.764108539f}},
    {.kind = GRU,
     .sequences = true,
     .back = true,
     .mask = true,
     .initial = true,
     .y = {-0.341766924f, -0.341766924f, -0.48175779f, -0.48175779f, 0, 0, 0, 0, 0, -0.662208676f, -0.700603306f,
           -1.034814f},
     .states = {1.09406447f},
     .gradients = {0.412582964f, 0.0775088891f, 0.166288212f, 0.610942483f}},
    {.kind = GRU,
     .back = true,
     .lengths = true,
     .initial = true,
     .y = {-0.666251004f, 0, -0.883172035f},
     .states = {1.16464055f},
     .gradients = {0.152023315f, -0.224416137f, -0.0979302973f, -0.0297866464f}},
    {.kind = GRU,
     .sequences = true,
     .zero = true,
     .mask = true,
     .y = {0, -0.327739149f, 0, -0.816336513f, 0, 0, 0, 0, -0.613770962f, -0.721700072f, -0.931701064f, 0},
     .states = {0.943829417f},
     .gradients = {0.437279731f, -0.41345489f, -0.157143205f, 1.20535219f}},
    {.kind = GRU,
     .sequences = true,
     .back = true,
     .no_bias = true,
     .y = {-0.159888223f, -0.0273894724f, 0.186467707f, 0.347162753f, 0.0702930465f, 0.208143294f, 0.285203278f,
           0.30148232f, -0.273865968f, -0.32402572f, -0.066527538f, -0.203634873f},
     .states = {0.0359642953f},
     .gradients = {1.31071532f, -0.012466073f, 0.105554268f}},
    {.kind = LSTM,
     .sequences = true,
     .mask = true,
     .initial = true,
     .activation = hr_softsign_fn,
     .y = {0, -0.103984043f, -0.103984043f, -0.0994290039f, 0, 0, 0, 0, -0.158824071f, -0.191323876f, -0.0738548487f,
           -0.0738548487f},
     .states = {0.316023886f, 0.330365032f},
     .gradients = {0.159052536f, 0.0350534618f, 0.0541876331f, -0.252785683f}},
    {.kind = LSTM,
     .initial = true,
     .gate = hr_relu_fn,
     .y = {0, 0, 0},
     .states = {0, 0.0257470496f},
     .gradients = {0.102633849f, 0.113763168f, -0.0899575949f, 0.111647718f}},
    {.kind = SIMPLE, .activation = hr_relu_fn, .y = {0, 0, 0}, .states = {0}, .gradients = {0, 0, 0, 0}},
    {.kind = GRU,
     .sequences = true,
     .mask = true,
     .initial = true,
     .reset_before = true,
     .y = {0, -0.0744852573f, -0.0744852573f, -0.666344762f, 0, 0, 0, 0, -0.793244541f, -0.790894032f, -0.955667078f,
           -0.955667078f},
     .states = {1.03131461f},
     .gradients = {0.00999817252f, -0.0397884734f, 0.0466578603f, 0.435881615f}},
    {.kind = GRU,
     .no_bias = true,
     .reset_before = true,
     .activation = hr_softsign_fn,
     .y = {0.102295555f, 0.23360613f, -0.261212766f},
     .states = {0.255240738f},
     .gradients = {-0.337474555f, -0.304250747f, 0.0808217451f}},
    {.kind = LSTM,
     .sequences = true,
     .initial = true,
     .both = true,
     .merge = HR_MERGE_CONCAT,
     .y = {-0.362783998f, -0.361427784f, -0.264185071f, 0.0831689835f, -0.0992084742f, -0.207189605f, -0.326234072f,
           -0.484476358f, -0.325443208f, -0.509970725f, -0.243351191f, -0.261892885f},
     .states = {0.0989880785f, 0.308943391f, -0.549554884f, -1.16202331f},
     .gradients = {-0.0492088497f, -0.107972905f, 0.148137063f, 0.219449669f, -0.0240430087f, -0.323958963f,
                   0.0807342902f}},
    {.kind = LSTM,
     .initial = true,
     .both = true,
     .merge = HR_MERGE_SUM,
     .y = {0.0164117627f, -0.0950878188f, -0.0640392005f},
     .states = {0.0989880785f, 0.308943391f, -0.549554884f, -1.16202331f},
     .gradients = {0.06404192f, -0.165099114f, 0.0491120629f, -0.430654466f, 0.255405813f, -0.0563340299f,
                   0.0957556069f}},
    {.kind = LSTM,
     .sequences = true,
     .mask = true,
     .initial = true,
     .both = true,
     .merge = HR_MERGE_MUL,
     .y = {0, -0.0102650393f, 0, 0.0400828682f, 0, 0, 0, 0, -0.0323243365f, -0.0260797385f, -0.00696639251f, 0},
     .states = {0.36264044f, 0.395091891f, -0.805464327f, -0.45938158f},
     .gradients = {0.369104147f, 0.04616604f, 0.0772427022f, -0.377139926f, 0.224024132f, 0.157965139f, 0.0261072014f}},
    {.kind = LSTM,
     .initial = true,
     .both = true,
     .merge = HR_MERGE_AVE,
     .y = {0.00820588134f, -0.0475439094f, -0.0320196003f},
     .states = {0.0989880785f, 0.308943391f, -0.549554884f, -1.16202331f},
     .gradients = {0.071612902f, -0.149314329f, 0.044678703f, -0.482223839f, 0.360435247f, -0.0412546098f,
                   0.147063971f}},
    {.kind = GRU,
     .lengths = true,
     .initial = true,
     .both = true,
     .merge = HR_MERGE_CONCAT,
     .y = {-1.01006079f, 0, -0.544540644f},
     .states = {1.22990668f, 0.234242141f},
     .gradients = {-0.218232229f, -0.0318759233f, 0.114948034f, 0.45554617f, -0.172195822f, -0.183418602f,
                   0.189162895f}},
    {.kind = SIMPLE,
     .sequences = true,
     .lengths = true,
     .both = true,
     .merge = HR_MERGE_SUM,
     .y = {0.358241916f, 0.193292007f, 0.0287635922f, -0.0491500348f, 0, 0, 0, 0, 0.475999773f, -0.20352231f, 0, 0},
     .states = {0.706254542f, -1.62540257f},
     .gradients = {0.018207103f, 0.19870773f, 0.096567288f, 0.614048243f, -0.0604257286f, 0.275719821f, 0.413823903f}},
};

static hr_tensor made(hr_shape shape, int64_t seed, float *room)
{
    const int64_t count = hr_shape_count(shape);
    for (int64_t k = 0; k < count; k++) room[k] = (float)((k * 37 + seed * 11 + k * k * seed) % 41 - 20) / 25.0f;
    return hr_tensor_of(HR_FLOAT, shape, room);
}

static hr_node made_const(hr_graph *g, hr_shape shape, int64_t seed)
{
    float room[MAX_VALUES_HERE];
    const hr_tensor value = made(shape, seed, room);
    return hr_const(g, &value);
}

/* The sum of a node's values, or of each row of them, with made numbers. */
static hr_node weighed(hr_node x, int64_t seed)
{
    const hr_shape shape = hr_node_shape(x);
    return hr_reduce_sum(hr_mul(x, made_const(x.graph, shape, seed)));
}

static hr_node weighed_units(hr_node y)
{
    const hr_shape shape = hr_node_shape(y);
    return hr_reduce_sum(hr_mul(y, made_const(y.graph, HR_SHAPE(shape.dims[shape.rank - 1]), 7)), .axes = HR_I64(-1),
                         .axis_count = 1);
}

static void set_weights(hr_graph *g, hr_session *s)
{
    hr_error err;
    float room[MAX_VALUES_HERE];
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const hr_variable_info *info = hr_graph_variable(g, i);
        const hr_tensor value = made(info->shape, 2 + i, room);
        assert_ok(hr_session_set(s, info->handle, &value, &err), &err);
    }
}

static void expect(hr_session *s, const rnn_case *c, const char *what, hr_node node, const float *expected,
                   int64_t count)
{
    hr_error err;
    hr_tensor got;
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &got, &err), &err);
    assert_int_equal(got.count, count);
    for (int64_t i = 0; i < count; i++) {
        const float x = ((const float *)got.data)[i];
        if (!(fabsf(x - expected[i]) <= 2e-5f + 2e-5f * fabsf(expected[i])))
            fail_msg("case %d, %s %d: expected %.9g, got %.9g", (int)(c - cases), what, (int)i, (double)expected[i],
                     (double)x);
    }
    hr_tensor_clear(&got);
}

static void check_case(const rnn_case *c)
{
    static const int64_t lengths[ROWS] = {4, 0, 2};
    static const bool mask[ROWS * STEPS] = {0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0};
    const hr_tensor length_values = hr_tensor_of(HR_INT64, HR_SHAPE(ROWS), lengths),
                    mask_values = hr_tensor_of(HR_BOOL, HR_SHAPE(ROWS, STEPS), mask);
    hr_graph *g = hr_graph_new();
    const int states = (c->kind == LSTM ? 2 : 1) * (c->both ? 2 : 1);
    hr_node initial[4], last[4], xs[1 + MAX_WEIGHTS];
    for (int i = 0; i < states; i++) initial[i] = made_const(g, HR_SHAPE(ROWS, UNITS), 20 + i);
    const hr_node x = made_const(g, HR_SHAPE(ROWS, STEPS, WIDTH), 1);
    const hr_rnn_opts opts = {.struct_size = sizeof opts,
                              .lengths = c->lengths ? hr_const(g, &length_values) : (hr_node){0},
                              .mask = c->mask ? hr_const(g, &mask_values) : (hr_node){0},
                              .return_sequences = c->sequences,
                              .go_backwards = c->back,
                              .zero_masked = c->zero,
                              .initial_state = c->initial ? initial : NULL,
                              .state = last,
                              .activation = c->activation,
                              .recurrent_activation = c->gate,
                              .no_bias = c->no_bias,
                              .reset_before = c->reset_before,
                              .merge = c->merge};
    const hr_node y =
        c->both ? hr_bidirectional_with(layers[c->kind], x, UNITS, &opts) : layers[c->kind](x, UNITS, &opts);
    if (hr_graph_error(g)) fail_msg("case %d: %s", (int)(c - cases), hr_graph_error(g)->text);
    hr_node loss = weighed(y, 9);
    for (int i = 0; i < states; i++) loss = hr_add(loss, weighed(last[i], 30 + i));
    const int weights = hr_graph_variables(g);
    hr_gradient by[1 + MAX_WEIGHTS];
    xs[0] = x;
    for (int i = 0; i < weights; i++) xs[1 + i] = hr_graph_variable(g, i)->handle;
    hr_gradients(&loss, 1, xs, 1 + weights, by);
    hr_session *s = hr_session_new(g);
    set_weights(g, s);
    expect(s, c, "output", weighed_units(y), c->y, c->sequences ? ROWS * STEPS : ROWS);
    for (int i = 0; i < states; i++) expect(s, c, "state", weighed(last[i], 8), &c->states[i], 1);
    for (int i = 0; i <= weights; i++) {
        const hr_node dense = hr_gradient_dense(by[i]);
        const hr_shape shape = i ? hr_graph_variable(g, i - 1)->shape : HR_SHAPE(ROWS, STEPS, WIDTH);
        expect(s, c, "gradient", hr_reduce_sum(hr_mul(dense, made_const(g, shape, 6))), &c->gradients[i], 1);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void layers_give_what_keras_gives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}

static void weights_have_the_names_and_first_values_of_keras(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        hr_shape shape;
    } expected[] = {
        {"lstm/lstm_cell/kernel", {2, {WIDTH, 12}}},
        {"lstm/lstm_cell/recurrent_kernel", {2, {UNITS, 12}}},
        {"lstm/lstm_cell/bias", {1, {12}}},
        {"gru/gru_cell/kernel", {2, {WIDTH, 9}}},
        {"gru/gru_cell/recurrent_kernel", {2, {UNITS, 9}}},
        {"gru/gru_cell/bias", {2, {2, 9}}},
        {"simple_rnn/simple_rnn_cell/kernel", {2, {WIDTH, 3}}},
        {"simple_rnn/simple_rnn_cell/recurrent_kernel", {2, {UNITS, 3}}},
        {"simple_rnn/simple_rnn_cell/bias", {1, {3}}},
        {"bidirectional/forward_gru/gru_cell/kernel", {2, {WIDTH, 9}}},
        {"bidirectional/forward_gru/gru_cell/recurrent_kernel", {2, {UNITS, 9}}},
        {"bidirectional/forward_gru/gru_cell/bias", {1, {9}}},
        {"bidirectional/backward_gru/gru_cell/kernel", {2, {WIDTH, 9}}},
    };
    hr_error err;
    hr_tensor bias;
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1, WIDTH));
    hr_lstm(x, UNITS);
    hr_gru(x, UNITS);
    hr_simple_rnn(x, UNITS);
    hr_bidirectional(hr_gru_with, x, UNITS, .reset_before = true);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_string_equal(hr_graph_variable(g, (int)i)->name, expected[i].name);
        assert_shape(hr_graph_variable(g, (int)i)->shape, expected[i].shape);
    }
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_get(s, hr_variable_named(g, "lstm/lstm_cell/bias")->handle, &bias, &err), &err);
    for (int i = 0; i < 12; i++) assert_exactly(((const float *)bias.data)[i], i >= 3 && i < 6 ? 1 : 0);
    hr_tensor_clear(&bias);
    hr_session_free(s);
    hr_graph_free(g);
}

/* Sizes are known in a run alone, and there may be no rows. */
static void rows_and_steps_may_be_unknown(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor got[2];
    float room[MAX_VALUES_HERE];
    const int64_t length[2] = {1, 3};
    for (int k = 0; k < 3; k++) {
        hr_graph *g = hr_graph_new();
        const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1, WIDTH)),
                      lengths = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
        const hr_node y = layers[k](
            x, UNITS, &(hr_rnn_opts){.struct_size = sizeof(hr_rnn_opts), .return_sequences = true, .lengths = lengths});
        const hr_node fetches[] = {y, hr_reduce_sum(y)};
        hr_session *s = hr_session_new(g);
        if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
        set_weights(g, s);
        hr_feed feeds[] = {{x, made(HR_SHAPE(2, 3, WIDTH), 1, room)},
                           {lengths, hr_tensor_of(HR_INT64, HR_SHAPE(2), length)}};
        assert_ok(hr_session_run(s, feeds, 2, fetches, 2, got, &err), &err);
        assert_shape(got[0].shape, HR_SHAPE(2, 3, UNITS));
        assert_exactly(((const float *)got[0].data)[0], ((const float *)got[0].data)[UNITS]); /* of step 0, kept */
        for (int i = 0; i < 2; i++) hr_tensor_clear(&got[i]);
        feeds[0].value.shape.dims[0] = feeds[0].value.count = 0;
        feeds[1].value.shape.dims[0] = feeds[1].value.count = 0;
        assert_ok(hr_session_run(s, feeds, 2, fetches, 2, got, &err), &err);
        assert_shape(got[0].shape, HR_SHAPE(0, 3, UNITS));
        for (int i = 0; i < 2; i++) hr_tensor_clear(&got[i]);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

static void dropout_takes_the_same_inputs_away_at_all_steps(void **state)
{
    (void)state;
    enum { WIDE = 16 };
    hr_error err;
    hr_tensor got;
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_fill(hr_ints(g, (const int64_t[]){1, 3, WIDE}, 3), hr_scalar(g, HR_FLOAT, 1));
    const hr_node y = hr_simple_rnn(x, WIDE, .dropout = 0.5f, .seed = 3, .return_sequences = true,
                                    .kernel_initializer = hr_eye(1), .recurrent_initializer = hr_zeros());
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, &y, 1, &got, &err), &err);
    const float *h = got.data;
    int dropped = 0;
    for (int i = 0; i < WIDE; i++) {
        dropped += h[i] == 0;
        assert_near(h[i], h[i] == 0 ? 0 : tanh(2), 1e-6);
        assert_exactly(h[WIDE + i], h[i]);
        assert_exactly(h[2 * WIDE + i], h[i]);
    }
    assert_more(dropped, 1);
    assert_less(dropped, WIDE - 1);
    hr_tensor_clear(&got);
    hr_session_free(s);
    hr_graph_free(g);
}

static void expect_refused(hr_graph *g, const char *kind)
{
    assert_non_null(hr_graph_error(g));
    assert_string_equal(hr_graph_error(g)->kind, kind);
    hr_graph_free(g);
}

static void wrong_arguments_stay_with_the_graph(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_lstm(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3)), 2);
    expect_refused(g, "layers.shape");
    g = hr_graph_new();
    hr_gru(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3, 2)), 0);
    expect_refused(g, "layers.shape");
    g = hr_graph_new();
    hr_simple_rnn(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3, 2)), 2, .dropout = 1);
    expect_refused(g, "layers.rate");
    g = hr_graph_new();
    hr_bidirectional(NULL, hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3, 2)), 2);
    expect_refused(g, "layers.shape");
    assert_false(hr_node_exists(hr_lstm((hr_node){0}, 2)));
}

/* A layer in both directions with a mask, and its gradients, in one run. */
static hr_status whole_life(kind kind, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    hr_session *s = NULL;
    hr_tensor out = {0};
    hr_status st = HR_RESOURCE_EXHAUSTED;
    if (!g) return st;
    const hr_node x = made_const(g, HR_SHAPE(2, 3, WIDTH), 1),
                  mask = hr_greater(made_const(g, HR_SHAPE(2, 3), 2), hr_scalar(g, HR_FLOAT, 0));
    const hr_node y = hr_bidirectional(layers[kind], x, 2, .mask = mask, .return_sequences = true),
                  loss = hr_reduce_sum(y);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    hr_gradient by;
    hr_gradients(&loss, 1, &x, 1, &by);
    const hr_node fetch = hr_gradient_dense(by);
    s = hr_session_new(g, .workers = &(int){0});
    if (s) st = hr_session_run(s, NULL, 0, &init, 1, NULL, err);
    if (st == HR_OK) st = hr_session_run(s, NULL, 0, &fetch, 1, &out, err);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

/* Every 41st: there are thousands of them. */
static void allocations_fail(void **state)
{
    (void)state;
    hr_error err = {0};
    for (kind kind = SIMPLE; kind <= LSTM; kind++) {
        assert_ok(whole_life(kind, &err), &err);
        fail_allocation(-1);
        assert_ok(whole_life(kind, &err), &err);
        const int64_t allocations = allocations_since();
        for (int64_t i = kind; i < allocations; i += 41) {
            const int64_t alive = allocations_alive();
            fail_allocation(i);
            const hr_status st = whole_life(kind, &err);
            allocations_since();
            if (st != HR_RESOURCE_EXHAUSTED) fail_msg("allocation %d: %s: %s", (int)i, hr_status_name(st), err.text);
            assert_int_equal(allocations_alive(), alive);
        }
    }
}

static void cells_alone_are_named_as_those_of_a_stack(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1, WIDTH));
    hr_variable_scope(g, "rnn");
    x = hr_lstm(x, UNITS, .cell_only = true, .return_sequences = true);
    x = hr_lstm(x, UNITS, .cell_only = true, .return_sequences = true);
    hr_gru(x, UNITS, .cell_only = true, .name = "last");
    hr_scope_end(g);
    assert_null(hr_graph_error(g));
    assert_non_null(hr_variable_named(g, "rnn/lstm_cell/kernel"));
    assert_non_null(hr_variable_named(g, "rnn/lstm_cell_1/recurrent_kernel"));
    assert_non_null(hr_variable_named(g, "rnn/last/bias"));
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_give_what_keras_gives),
        cmocka_unit_test(weights_have_the_names_and_first_values_of_keras),
        cmocka_unit_test(rows_and_steps_may_be_unknown),
        cmocka_unit_test(dropout_takes_the_same_inputs_away_at_all_steps),
        cmocka_unit_test(wrong_arguments_stay_with_the_graph),
        cmocka_unit_test(allocations_fail),
        cmocka_unit_test(cells_alone_are_named_as_those_of_a_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
