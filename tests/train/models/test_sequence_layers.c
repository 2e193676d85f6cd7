/* Recurrent layers and wrappers: states, directions, masks, names, dropout; what they refuse. */
#include "tests/testing.h"

#include <headrace/models.h>
#include <math.h>

static const float steps12[] = {0.3f, -1, 0.8f, 0.1f, -0.4f, 1.2f, 0.9f, -0.7f, 0.2f, 0.5f, -1.1f, 0.6f};
static const float steps24[] = {0.3f, -1,    0.8f, 0.1f, -0.4f, 1.2f, 0.9f, -0.7f, 0.2f,  0.5f, -1.1f, 0.6f,
                                1.3f, -0.2f, 0.4f, 0.7f, -0.9f, 0.8f, 0.1f, 0.5f,  -0.6f, 1.4f, -0.3f, 0.2f};

static hr_tensor steps_of(hr_shape shape, const float *values) { return hr_tensor_of(HR_FLOAT, shape, values); }

static void predict(hr_model *m, const hr_tensor *x, hr_tensor *out)
{
    if (hr_model_error(m)) fail_msg("%s", hr_model_error(m)->text);
    if (hr_predict_on_batch(m, x, NULL, 1, out) != HR_OK) fail_msg("%s", hr_model_error(m)->text);
}

static void clear(hr_tensor *tensors, int count)
{
    for (int i = 0; i < count; i++) hr_tensor_clear(&tensors[i]);
}

static void same_values(const hr_tensor *a, const hr_tensor *b)
{
    assert_shape(a->shape, b->shape);
    for (int64_t i = 0; i < a->count; i++) assert_near(((const float *)a->data)[i], ((const float *)b->data)[i], 1e-5);
}

/* The weights of one model for another one. */
static void copy_weights(hr_model *from, hr_model *to)
{
    hr_tensor weights[16];
    const int count = hr_model_weights(from);
    for (int i = 0; i < count; i++) assert_int_equal(hr_get_weight(from, i, &weights[i], NULL), HR_OK);
    hr_error err;
    assert_ok(hr_set_weights(to, weights, count, &err), &err);
    clear(weights, count);
}

typedef hr_layer *make_layer(int64_t units, const hr_recurrent_layer_opts *opts);
static make_layer *const recurrent[] = {hr_simple_rnn_layer_with, hr_lstm_layer_with, hr_gru_layer_with};
enum { RECURRENT = sizeof recurrent / sizeof *recurrent };
#define OPTIONS(...) (&(hr_recurrent_layer_opts){.struct_size = sizeof(hr_recurrent_layer_opts), __VA_ARGS__})

/* Several cells as one layer, of which the options of layers say what RNN has. */
static hr_layer *several_cells(int64_t units, const hr_recurrent_layer_opts *o)
{
    static const hr_recurrent_layer_opts none;
    if (!o) o = &none;
    return hr_rnn_layer(hr_stacked_rnn_cells(HR_LAYERS(hr_gru_cell(4), hr_simple_rnn_cell(units))),
                        .return_sequences = o->return_sequences, .return_state = o->return_state,
                        .go_backwards = o->go_backwards, .stateful = o->stateful, .zero_masked = o->zero_masked);
}
static make_layer *const stepping[] = {hr_simple_rnn_layer_with, hr_lstm_layer_with, hr_gru_layer_with, several_cells};
enum { STEPPING = sizeof stepping / sizeof *stepping };

/* ---- states ---- */

static void states_go_on_from_batch_to_batch_until_they_are_reset(void **state)
{
    (void)state;
    const hr_tensor whole = steps_of(HR_SHAPE(2, 6, 2), steps24);
    const float *at[2] = {steps24, steps24 + 12};
    float half[2][12];
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < 12; i++) half[i / 6][row * 6 + i % 6] = at[row][i];
    const hr_tensor first = steps_of(HR_SHAPE(2, 3, 2), half[0]), second = steps_of(HR_SHAPE(2, 3, 2), half[1]);
    for (int k = 0; k < STEPPING; k++) {
        hr_model *m = hr_sequential(HR_LAYERS(stepping[k](3, OPTIONS(.stateful = true))), .batch_size = 2,
                                    .input_shape = HR_SHAPE(3, 2));
        hr_model *plain = hr_sequential(HR_LAYERS(stepping[k](3, NULL)), .input_shape = HR_SHAPE(6, 2));
        hr_tensor expected, begun, got;
        copy_weights(m, plain);
        predict(plain, &whole, &expected);
        predict(m, &first, &begun);
        predict(m, &second, &got);
        same_values(&got, &expected);
        clear(&got, 1);
        assert_int_equal(hr_reset_states(m), HR_OK);
        predict(m, &first, &got);
        same_values(&got, &begun);
        clear((hr_tensor[]){expected, begun, got}, 3);
        hr_model_free(m);
        hr_model_free(plain);
    }
}

static hr_node half_of(hr_node x, void *user)
{
    const int64_t begin = *(const int64_t *)user, end = begin + 3;
    return hr_strided_slice(x, {0}, {.begin = &begin, .end = &end});
}

/* One layer over all steps, and over the second half with the states after the first one. */
static void states_are_outputs_and_inputs(void **state)
{
    (void)state;
    static int64_t from[] = {0, 3};
    const hr_tensor x = steps_of(HR_SHAPE(2, 6, 2), steps24);
    for (int k = 0; k < STEPPING; k++) {
        hr_model *m = hr_model_new();
        hr_layer *layer = stepping[k](3, OPTIONS(.return_state = true, .return_sequences = true));
        const hr_symbol in = hr_model_input(m, HR_SHAPE(6, 2)), whole = hr_connect(layer, in);
        const hr_symbol a = hr_connect(layer, hr_connect(hr_lambda_layer(half_of, &from[0]), in));
        const hr_symbol rest = hr_connect(hr_lambda_layer(half_of, &from[1]), in), h = hr_symbol_output(a, 1);
        const hr_symbol b = k % 2 ? hr_connect(layer, rest, h, hr_symbol_output(a, 2)) : hr_connect(layer, rest, h);
        const hr_symbol end = hr_connect(hr_lambda_layer(half_of, &from[1]), whole);
        hr_model_outputs(m, end, b, hr_symbol_output(whole, 1), hr_symbol_output(b, 1));
        hr_tensor out[4];
        predict(m, &x, out);
        same_values(&out[0], &out[1]);
        same_values(&out[2], &out[3]);
        clear(out, 4);
        hr_model_free(m);
    }
}

/* Keras's zero_output_for_mask counts for the last output, too. */
static void the_output_of_a_masked_last_step_is_0_where_it_is_asked_for(void **state)
{
    (void)state;
    static const float x[] = {0.3f, -1, 0, 0, 0, 0, 0.2f, 0.5f};
    const hr_tensor in = steps_of(HR_SHAPE(2, 2, 2), x);
    for (int k = 0; k < STEPPING; k++) {
        hr_layer *layer = stepping[k](2, OPTIONS(.zero_masked = true));
        hr_model *m = hr_sequential(HR_LAYERS(hr_masking_layer(), layer), .input_shape = HR_SHAPE(2, 2));
        hr_tensor out;
        predict(m, &in, &out);
        const float *y = out.data;
        for (int i = 0; i < 2; i++) {
            assert_exactly(y[i], 0);
            assert_true(y[2 + i] != 0);
        }
        clear(&out, 1);
        hr_model_free(m);
    }
}

/* ---- several cells ---- */

/* Cells on each other are layers on each other; with a mask, too. Backwards, the first of these layers turns the steps. */
static void cells_on_each_other_are_layers_on_each_other(void **state)
{
    (void)state;
    static const float x[] = {0.3f, -1, 0, 0, -0.4f, 1.2f, 0, 0, 0.2f, 0.5f, 0, 0};
    const hr_tensor in = steps_of(HR_SHAPE(2, 3, 2), x);
    for (int i = 0; i < 8; i++) {
        const bool all = i & 1, masked = i & 2, backwards = (i & 4) && !masked, zero = (i & 4) && masked;
        hr_layer *before[2], *a, *b, *c;
        for (int k = 0; k < 2; k++) before[k] = masked ? hr_masking_layer() : hr_activation_layer("linear");
        hr_model *stack = hr_sequential(
            HR_LAYERS(before[0], hr_rnn_layer(hr_stacked_rnn_cells(
                                                  HR_LAYERS(hr_lstm_cell(3), hr_gru_cell(2), hr_simple_rnn_cell(2))),
                                              .return_sequences = all, .go_backwards = backwards, .zero_masked = zero)),
            .input_shape = HR_SHAPE(3, 2));
        a = hr_lstm_layer(3, .return_sequences = true, .go_backwards = backwards);
        b = hr_gru_layer(2, .return_sequences = true);
        c = hr_simple_rnn_layer(2, .return_sequences = all, .zero_masked = zero);
        hr_model *row = hr_sequential(HR_LAYERS(before[1], a, b, c), .input_shape = HR_SHAPE(3, 2));
        hr_tensor got, expected;
        copy_weights(row, stack);
        predict(stack, &in, &got);
        predict(row, &in, &expected);
        same_values(&got, &expected);
        clear((hr_tensor[]){got, expected}, 2);
        hr_model_free(stack);
        hr_model_free(row);
    }
}

static void one_cell_is_its_layer_in_both_directions(void **state)
{
    (void)state;
    const hr_tensor x = steps_of(HR_SHAPE(2, 3, 2), steps12);
    hr_model *cell =
        hr_sequential(HR_LAYERS(hr_bidirectional_layer(hr_rnn_layer(hr_lstm_cell(3)))), .input_shape = HR_SHAPE(3, 2));
    hr_model *layer = hr_sequential(HR_LAYERS(hr_bidirectional_layer(hr_lstm_layer(3))), .input_shape = HR_SHAPE(3, 2));
    hr_tensor got, expected;
    copy_weights(layer, cell);
    predict(cell, &x, &got);
    predict(layer, &x, &expected);
    same_values(&got, &expected);
    clear((hr_tensor[]){got, expected}, 2);
    hr_model_free(cell);
    hr_model_free(layer);
}

/* ---- both directions ---- */

/* Outputs of both directions apart, and their last states. */
static void directions_come_apart_with_their_states(void **state)
{
    (void)state;
    const hr_tensor x = steps_of(HR_SHAPE(2, 3, 2), steps12);
    hr_model *m = hr_model_new();
    hr_layer *layer = hr_lstm_layer(2, .return_sequences = true, .return_state = true);
    const hr_symbol y = hr_connect(hr_bidirectional_layer(layer, .no_merge = true), hr_model_input(m, HR_SHAPE(3, 2)));
    hr_model_outputs(m, y, hr_symbol_output(y, 1), hr_symbol_output(y, 2), hr_symbol_output(y, 4));
    hr_tensor out[4];
    predict(m, &x, out);
    assert_shape(out[0].shape, HR_SHAPE(2, 3, 2));
    const float *forward = out[0].data, *backward = out[1].data, *h = out[2].data, *back_h = out[3].data;
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < 2; i++) {
            assert_exactly(forward[row * 6 + 4 + i], h[row * 2 + i]);
            assert_exactly(backward[row * 6 + i], back_h[row * 2 + i]);
        }
    clear(out, 4);
    hr_model_free(m);
}

static float merged(hr_merge_mode mode, float a, float b)
{
    return mode == HR_MERGE_SUM ? a + b : mode == HR_MERGE_MUL ? a * b : (a + b) / 2;
}

/* The third step of the second row is masked: all outputs are 0 there. */
static void directions_are_merged_step_by_step(void **state)
{
    (void)state;
    float masked[12];
    memcpy(masked, steps12, sizeof masked);
    masked[10] = masked[11] = 0;
    const hr_tensor x = steps_of(HR_SHAPE(2, 3, 2), masked);
    hr_model *apart = hr_model_new();
    const hr_symbol in = hr_connect(hr_masking_layer(), hr_model_input(apart, HR_SHAPE(3, 2)));
    hr_layer *layer = hr_gru_layer(2, .return_sequences = true);
    const hr_symbol y = hr_connect(hr_bidirectional_layer(layer, .no_merge = true), in);
    hr_model_outputs(apart, y, hr_symbol_output(y, 1));
    hr_tensor both[2], got;
    predict(apart, &x, both);
    const float *a = both[0].data, *b = both[1].data;
    for (int i = 10; i < 12; i++) assert_exactly(fabsf(a[i]) + fabsf(b[i]), 0);
    for (hr_merge_mode mode = HR_MERGE_CONCAT; mode <= HR_MERGE_AVE; mode++) {
        layer = hr_gru_layer(2, .return_sequences = true);
        hr_model *m = hr_sequential(HR_LAYERS(hr_masking_layer(), hr_bidirectional_layer(layer, .merge = mode)),
                                    .input_shape = HR_SHAPE(3, 2));
        copy_weights(apart, m);
        predict(m, &x, &got);
        const float *values = got.data;
        assert_shape(got.shape, HR_SHAPE(2, 3, mode == HR_MERGE_CONCAT ? 4 : 2));
        for (int i = 0; i < 12; i++) {
            const float *of = &values[i / 2 * 4 + i % 2];
            if (mode != HR_MERGE_CONCAT) assert_near(values[i], merged(mode, a[i], b[i]), 1e-6);
            if (mode == HR_MERGE_CONCAT) assert_true(of[0] == a[i] && of[2] == b[i]);
        }
        clear(&got, 1);
        hr_model_free(m);
    }
    clear(both, 2);
    hr_model_free(apart);
}

/* A layer of its own for the way back gives what the other one gives for steps in the other order. */
static void the_way_back_may_have_a_layer_of_its_own(void **state)
{
    (void)state;
    const float turned[] = {-0.4f, 1.2f, 0.8f, 0.1f, 0.3f, -1, -1.1f, 0.6f, 0.2f, 0.5f, 0.9f, -0.7f};
    const hr_tensor x = steps_of(HR_SHAPE(2, 3, 2), steps12), y = steps_of(HR_SHAPE(2, 3, 2), turned);
    hr_model *m = hr_model_new();
    const hr_symbol both =
        hr_connect(hr_bidirectional_layer(
                       hr_simple_rnn_layer(3, .kernel_initializer = hr_ones(), .recurrent_initializer = hr_eye(1)),
                       .no_merge = true,
                       .backward_layer = hr_simple_rnn_layer(3, .kernel_initializer = hr_ones(), .name = "back",
                                                             .recurrent_initializer = hr_eye(1), .go_backwards = true)),
                   hr_model_input(m, HR_SHAPE(3, 2)));
    hr_model_outputs(m, both, hr_symbol_output(both, 1));
    hr_tensor out[2], other[2];
    predict(m, &x, out);
    predict(m, &y, other);
    same_values(&out[1], &other[0]);
    assert_string_equal(hr_model_weight(m, 3).name, "bidirectional/backward_back/simple_rnn_cell/kernel");
    clear(out, 2);
    clear(other, 2);
    hr_model_free(m);
}

/* ---- names ---- */

static void layers_within_others_have_names_as_in_keras(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(hr_bidirectional_layer(hr_lstm_layer(2, .return_sequences = true)),
                                          hr_bidirectional_layer(hr_lstm_layer(2, .return_sequences = true)),
                                          hr_lstm_layer(2, .return_sequences = true),
                                          hr_lstm_layer(2, .name = "lstm", .return_sequences = true),
                                          hr_rnn_layer(hr_lstm_cell(2), .return_sequences = true),
                                          hr_rnn_layer(hr_stacked_rnn_cells(HR_LAYERS(hr_lstm_cell(2), hr_gru_cell(2))),
                                                       .return_sequences = true, .name = "r"),
                                          hr_time_distributed_layer(hr_dense_layer(1), .name = "t")),
                                .input_shape = HR_SHAPE(3, 2));
    if (hr_model_error(m)) fail_msg("%s", hr_model_error(m)->text);
    assert_string_equal(hr_model_weight(m, 0).name, "bidirectional/forward_lstm/lstm_cell/kernel");
    assert_string_equal(hr_model_weight(m, 3).name, "bidirectional/backward_lstm/lstm_cell/kernel");
    assert_string_equal(hr_model_weight(m, 6).name, "bidirectional_1/forward_lstm_1/lstm_cell/kernel");
    assert_string_equal(hr_model_weight(m, 12).name, "lstm_2/lstm_cell/kernel");
    assert_string_equal(hr_model_weight(m, 15).name, "lstm/lstm_cell/kernel");
    assert_string_equal(hr_model_weight(m, 18).name, "rnn/lstm_cell/kernel");
    assert_string_equal(hr_model_weight(m, 21).name, "r/stacked_rnn_cells/lstm_cell_1/kernel");
    assert_string_equal(hr_model_weight(m, 26).name, "r/stacked_rnn_cells/gru_cell/bias");
    assert_string_equal(hr_model_weight(m, 27).name, "t/kernel");
    hr_model_free(m);
}

/* ---- each step by itself ---- */

static void a_layer_for_each_step_is_the_layer(void **state)
{
    (void)state;
    const hr_tensor x = steps_of(HR_SHAPE(2, 2, 3, 2), steps24), rows = steps_of(HR_SHAPE(4, 3, 2), steps24);
    const hr_shape shapes[] = {HR_SHAPE(2, 3, 2), HR_SHAPE(-1, 3, 2), HR_SHAPE(-1, -1, 2)};
    for (int i = 0; i < 3; i++) {
        hr_model *m = hr_sequential(HR_LAYERS(hr_time_distributed_layer(hr_gru_layer(3, .return_sequences = true))),
                                    .input_shape = shapes[i]);
        hr_model *alone =
            hr_sequential(HR_LAYERS(hr_gru_layer(3, .return_sequences = true)), .input_shape = HR_SHAPE(3, 2));
        hr_tensor got, expected;
        copy_weights(m, alone);
        predict(m, &x, &got);
        predict(alone, &rows, &expected);
        assert_shape(got.shape, HR_SHAPE(2, 2, 3, 3));
        assert_memory_equal(got.data, expected.data, 36 * sizeof(float));
        clear((hr_tensor[]){got, expected}, 2);
        hr_model_free(m);
        hr_model_free(alone);
    }
}

/* Sentences of words: id 0 is no word, and a sentence without words is no step. */
static void masks_go_through_each_step(void **state)
{
    (void)state;
    static const int32_t ids[] = {1, 2, 0, 3, 0, 0, 0, 0, 0}, shorter[] = {1, 2, 0, 3, 0, 0};
    const hr_tensor x = hr_tensor_of(HR_INT32, HR_SHAPE(1, 3, 3), ids),
                    y = hr_tensor_of(HR_INT32, HR_SHAPE(1, 2, 3), shorter);
    hr_layer *embedding = hr_time_distributed_layer(hr_embedding_layer(4, 2, .mask_zero = true));
    hr_model *m =
        hr_sequential(HR_LAYERS(embedding, hr_time_distributed_layer(hr_lstm_layer(2)), hr_simple_rnn_layer(2)),
                      .input_shape = HR_SHAPE(-1, 3), .input_dtype = HR_INT32);
    hr_tensor got, expected;
    predict(m, &x, &got);
    predict(m, &y, &expected);
    same_values(&got, &expected);
    clear((hr_tensor[]){got, expected}, 2);
    hr_model_free(m);
}

/* ---- weights of layers within others ---- */

static const hr_logs *train(hr_model *m, const float *labels, int64_t width)
{
    const hr_tensor both[] = {steps_of(HR_SHAPE(2, 3, 2), steps12), steps_of(HR_SHAPE(2, width), labels)};
    const hr_logs *logs = hr_train_on_batch(m, both, NULL, 2);
    if (!logs) fail_msg("%s", hr_model_error(m)->text);
    return logs;
}

static void layers_within_others_are_frozen_and_kept_to_limits(void **state)
{
    (void)state;
    const float labels[] = {1, -1, 1, -1, 1, -1, 1, -1};
    hr_model *m =
        hr_sequential(HR_LAYERS(hr_bidirectional_layer(
                          hr_gru_layer(2, .not_trainable = true),
                          .backward_layer = hr_gru_layer(2, .go_backwards = true, .kernel_constraint = hr_non_neg()))),
                      .input_shape = HR_SHAPE(3, 2), .seed = 1);
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(0.5f), .loss = "mse"), HR_OK);
    hr_tensor frozen, after, limited;
    assert_int_equal(hr_get_weight(m, 0, &frozen, NULL), HR_OK);
    train(m, labels, 4);
    assert_int_equal(hr_get_weight(m, 0, &after, NULL), HR_OK);
    assert_int_equal(hr_get_weight(m, 3, &limited, NULL), HR_OK);
    assert_false(hr_model_weight(m, 0).trainable);
    assert_true(hr_model_weight(m, 3).trainable);
    assert_memory_equal(frozen.data, after.data, 12 * sizeof(float));
    int negative = 0;
    for (int i = 0; i < 12; i++) {
        assert_at_least(((const float *)limited.data)[i], 0);
        negative += ((const float *)frozen.data)[i] < 0;
    }
    assert_more(negative, 0);
    clear((hr_tensor[]){frozen, after, limited}, 3);
    hr_model_free(m);
}

static void recurrent_weights_cost(void **state)
{
    (void)state;
    const float labels[] = {0, 0};
    for (int bidirectional = 0; bidirectional < 2; bidirectional++) {
        hr_layer *layer = hr_simple_rnn_layer(
            1, .kernel_initializer = hr_zeros(), .recurrent_initializer = hr_constant_value(3),
            .bias_initializer = hr_zeros(), .recurrent_regularizer = hr_l2(0.5f), .bias_regularizer = hr_l1(1));
        if (bidirectional) layer = hr_bidirectional_layer(layer, .merge = HR_MERGE_SUM);
        hr_model *m = hr_sequential(HR_LAYERS(layer), .input_shape = HR_SHAPE(3, 2));
        assert_int_equal(hr_compile(m, .optimizer = hr_sgd(0), .loss = "mse"), HR_OK);
        assert_near(hr_logs_get(train(m, labels, 1), "loss"), bidirectional ? 9 : 4.5, 1e-6);
        hr_model_free(m);
    }
}

/* ---- dropout ---- */

/* The share of outputs that are `user`; a thousand more for each that is neither that nor 0. */
static hr_node other_values(hr_node labels, hr_node p, void *user)
{
    (void)labels;
    const hr_node whole = hr_scalar_like(p, *(const double *)user);
    const hr_node fits = hr_logical_or(hr_equal(p, hr_scalar_like(p, 0)), hr_equal(p, whole));
    const hr_node wrong = hr_cast_to(hr_logical_not(fits), HR_FLOAT);
    const hr_node kept = hr_cast_to(hr_equal(p, whole), HR_FLOAT);
    const hr_node nothing = hr_mul(p, hr_scalar_like(p, 0)); /* but it depends on the weights */
    return hr_squeeze(hr_add(hr_add(hr_mul(wrong, hr_scalar_like(p, 1000)), kept), nothing), HR_I64(-1), 1);
}

/* h = x + m h, and no input after the first step: after three steps 4 x where the state is kept, and 0 elsewhere. */
static void dropout_is_of_the_same_places_in_all_steps(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    static float x[ROWS * 3];
    for (int i = 0; i < ROWS; i++) x[i * 3] = 1;
    const struct {
        float dropout, recurrent;
        double whole, share;
    } all[] = {{0.5f, 0, 2, 0.5}, {0, 0.5f, 4, 0.5}, {0.5f, 0.5f, 8, 0.25}};
    for (int i = 0; i < 3; i++) {
        double whole = all[i].whole;
        hr_layer *layer = hr_simple_rnn_layer(1, .activation = "linear", .kernel_initializer = hr_ones(),
                                              .recurrent_initializer = hr_ones(), .dropout = all[i].dropout,
                                              .recurrent_dropout = all[i].recurrent);
        hr_model *m = hr_sequential(HR_LAYERS(layer), .input_shape = HR_SHAPE(3, 1), .seed = 4);
        const hr_tensor in = steps_of(HR_SHAPE(ROWS, 3, 1), x), both[] = {in, steps_of(HR_SHAPE(ROWS, 1), x)};
        assert_int_equal(
            hr_compile(m, .optimizer = hr_sgd(0), .losses = HR_LOSSES({.fn = other_values, .user = &whole})), HR_OK);
        const hr_logs *logs = hr_train_on_batch(m, both, NULL, 2);
        if (!logs) fail_msg("%s", hr_model_error(m)->text);
        assert_near(hr_logs_get(logs, "loss"), all[i].share, 0.09);
        hr_tensor y;
        predict(m, &in, &y);
        for (int k = 0; k < ROWS; k++) assert_exactly(((const float *)y.data)[k], 1);
        clear(&y, 1);
        hr_model_free(m);
    }
}

/* Gates that drop places of their own: an LSTM and GRUs of both forms learn. */
static void layers_with_dropout_of_states_learn(void **state)
{
    (void)state;
    const float labels[] = {1, -1};
    for (int k = 0; k < 4; k++) {
        hr_layer *layer = recurrent[k < 3 ? k : 2](
            4, OPTIONS(.dropout = 0.1f, .recurrent_dropout = 0.2f, .seed = 3, .reset_before = k == 3));
        hr_model *m = hr_sequential(HR_LAYERS(layer, hr_dense_layer(1)), .input_shape = HR_SHAPE(3, 2), .seed = 2);
        assert_int_equal(hr_compile(m, .optimizer = hr_adam(0.05f), .loss = "mse"), HR_OK);
        for (int i = 0; i < 60; i++) train(m, labels, 1);
        const hr_tensor both[] = {steps_of(HR_SHAPE(2, 3, 2), steps12), steps_of(HR_SHAPE(2, 1), labels)};
        assert_less(hr_logs_get(hr_test_on_batch(m, both, NULL, 2), "loss"), 0.2);
        hr_model_free(m);
    }
}

/* ---- mistakes ---- */

static void mistakes_are_refused_when_the_model_is_made(void **state)
{
    (void)state;
    hr_model *inner = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(2));
    const struct {
        hr_layer *layer;
        hr_shape row;
        const char *kind, *part;
    } all[] = {
        {hr_lstm_layer(2, .name = "r"), HR_SHAPE(4), "models.rank", "layer 'r' (LSTM): expected an input of rank 3"},
        {hr_gru_layer(2, .stateful = true), HR_SHAPE(3, 2), "models.shape", ".batch_size"},
        {hr_lstm_layer(0), HR_SHAPE(3, 2), "models.argument", "units"},
        {hr_lstm_layer(2, .activation = "tan"), HR_SHAPE(3, 2), "models.activation", "\"tanh\""},
        {hr_lstm_layer(2, .recurrent_activation = "sigmoit"), HR_SHAPE(3, 2), "models.activation", "\"sigmoid\""},
        {hr_lstm_layer(2, .dropout = 1), HR_SHAPE(3, 2), "models.argument", "a dropout"},
        {hr_lstm_layer(2, .recurrent_dropout = -1), HR_SHAPE(3, 2), "models.argument", "recurrent_dropout"},
        {hr_lstm_layer(2), HR_SHAPE(3, -1), "layers.shape", "width"},
        {hr_bidirectional_layer(hr_dense_layer(2)), HR_SHAPE(3, 2), "models.layer", "Dense"},
        {hr_bidirectional_layer(NULL), HR_SHAPE(3, 2), "models.layer", "NULL"},
        {hr_bidirectional_layer(hr_lstm_layer(0)), HR_SHAPE(3, 2), "models.argument", "units"},
        {hr_bidirectional_layer(hr_lstm_layer(2), .merge = (hr_merge_mode)7), HR_SHAPE(3, 2), "models.argument", "7"},
        {hr_bidirectional_layer(hr_lstm_layer(2), .backward_layer = hr_dense_layer(1)), HR_SHAPE(3, 2), "models.layer",
         "Dense"},
        {hr_time_distributed_layer(NULL), HR_SHAPE(3, 2), "models.layer", "NULL"},
        {hr_time_distributed_layer(hr_dense_layer(2)), HR_SHAPE(3), "models.rank", "rank 3"},
        {hr_time_distributed_layer(hr_dense_layer(0)), HR_SHAPE(3, 2), "models.argument", "units"},
        {hr_time_distributed_layer(hr_lstm_layer(2, .return_state = true)), HR_SHAPE(2, 3, 2), "models.outputs",
         "one output, got one of 3"},
        {hr_rnn_layer(NULL), HR_SHAPE(3, 2), "models.layer",
         "hr_lstm_cell or its kin, or hr_stacked_rnn_cells, got NULL"},
        {hr_rnn_layer(hr_lstm_layer(2)), HR_SHAPE(3, 2), "models.layer", "got a LSTM"},
        {hr_rnn_layer(hr_lstm_cell(0)), HR_SHAPE(3, 2), "models.argument", "units"},
        {hr_rnn_layer(hr_lstm_cell(2, .return_sequences = true)), HR_SHAPE(3, 2), "models.argument",
         "return_sequences: give this to hr_rnn_layer"},
        {hr_rnn_layer(hr_gru_cell(2), .stateful = true), HR_SHAPE(3, 2), "models.shape", ".batch_size"},
        {hr_lstm_cell(2), HR_SHAPE(3, 2), "models.layer", "put it into hr_rnn_layer"},
        {hr_stacked_rnn_cells(HR_LAYERS(hr_lstm_cell(2))), HR_SHAPE(3, 2), "models.layer", "put it into hr_rnn_layer"},
        {hr_rnn_layer(hr_stacked_rnn_cells(((hr_layer_list){NULL, 2}))), HR_SHAPE(3, 2), "models.argument", "got none"},
        {hr_rnn_layer(hr_stacked_rnn_cells(HR_LAYERS(hr_lstm_cell(2), NULL, hr_gru_cell(1)))), HR_SHAPE(3, 2),
         "models.layer", "cell 1: expected one of hr_lstm_cell and its kin, got NULL"},
        {hr_rnn_layer(hr_stacked_rnn_cells(HR_LAYERS(hr_dense_layer(2)))), HR_SHAPE(3, 2), "models.layer", "a Dense"},
        {hr_rnn_layer(hr_stacked_rnn_cells(HR_LAYERS(hr_lstm_cell(2), hr_lstm_cell(2), hr_lstm_cell(2), hr_lstm_cell(2),
                                                     hr_lstm_cell(2), hr_lstm_cell(2), hr_lstm_cell(2), hr_lstm_cell(2),
                                                     hr_lstm_cell(2)))),
         HR_SHAPE(3, 2), "models.argument", "at most 15 states, got 18"},
        {hr_rnn_layer(hr_stacked_rnn_cells(
             HR_LAYERS(hr_gru_cell(2, .name = "c"), hr_lstm_cell(2), hr_gru_cell(2, .name = "c")))),
         HR_SHAPE(3, 2), "models.name", "cells 0 and 2: expected names of their own, got \"c\" twice"},
        {hr_bidirectional_layer(hr_model_layer(inner, NULL)), HR_SHAPE(3, 2), "models.layer", "a model"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hr_model *m = hr_sequential(HR_LAYERS(all[i].layer), .input_shape = all[i].row);
        if (!hr_model_error(m)) fail_msg("mistake %d is taken", (int)i);
        assert_string_equal(hr_model_error(m)->kind, all[i].kind);
        assert_text_contains(hr_model_error(m)->text, all[i].part);
        hr_model_free(m);
    }
}

static void wrong_states_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        hr_model *m = hr_model_new();
        const hr_symbol x = hr_model_input(m, HR_SHAPE(3, 2)), h = hr_model_input(m, HR_SHAPE(i == 1 ? 5 : 2));
        const hr_symbol y = i == 0   ? hr_connect(hr_lstm_layer(2), x, h)
                            : i == 1 ? hr_connect(hr_gru_layer(2), x, h)
                                     : hr_connect(hr_bidirectional_layer(hr_gru_layer(2)), x, h);
        (void)y;
        assert_string_equal(hr_model_error(m)->kind, i == 1 ? "models.shape" : "models.inputs");
        assert_text_contains(hr_model_error(m)->text, i == 1 ? "initial state 1: expected [n, 2], got [?,5]" : "got 2");
        hr_model_free(m);
    }
}

static void a_layer_is_within_one_other_at_most(void **state)
{
    (void)state;
    hr_layer *shared = hr_dense_layer(2);
    hr_model *m = hr_sequential(HR_LAYERS(hr_time_distributed_layer(shared), hr_time_distributed_layer(shared)),
                                .input_shape = HR_SHAPE(3, 2));
    assert_string_equal(hr_model_error(m)->kind, "models.shared");
    hr_model_free(m);
    shared = hr_lstm_layer(2);
    m = hr_sequential(HR_LAYERS(hr_bidirectional_layer(shared, .backward_layer = shared)),
                      .input_shape = HR_SHAPE(3, 2));
    assert_string_equal(hr_model_error(m)->kind, "models.shared");
    hr_model_free(m);
    m = hr_model_new();
    shared = hr_dense_layer(2);
    const hr_symbol y = hr_connect(shared, hr_model_input(m, HR_SHAPE(3, 2)));
    (void)hr_connect(hr_time_distributed_layer(shared), y);
    assert_string_equal(hr_model_error(m)->kind, "models.shared");
    hr_model_free(m);
}

static void no_memory_is_no_leak(void **state)
{
    (void)state;
    for (int64_t n = 0;; n += UNDER_TSAN ? 17 : 1) {
        const int64_t alive = allocations_alive();
        fail_allocation(n);
        hr_model *m =
            hr_sequential(HR_LAYERS(hr_bidirectional_layer(hr_lstm_layer(2, .return_sequences = true)),
                                    hr_rnn_layer(hr_stacked_rnn_cells(HR_LAYERS(hr_lstm_cell(2), hr_gru_cell(2))),
                                                 .return_sequences = true),
                                    hr_time_distributed_layer(hr_dense_layer(1))),
                          .input_shape = HR_SHAPE(3, 2));
        const int64_t needed = allocations_since();
        const bool failed = !m || hr_model_error(m);
        fail_allocation(-1);
        hr_model_free(m);
        assert_exactly(allocations_alive(), alive);
        if (needed <= n) {
            assert_false(failed);
            break;
        }
    }
}

/* ---- a model for each step ---- */

static hr_model *step_model(void)
{
    return hr_sequential(HR_LAYERS(hr_dense_layer(2, .activation = "tanh"), hr_batch_normalization_layer(),
                                   hr_dense_layer(1), hr_batch_normalization_layer()),
                         .input_shape = HR_SHAPE(2), .name = "step");
}

static hr_model *steps_model(bool frozen)
{
    hr_layer *step = hr_model_layer(step_model(), NULL);
    hr_layer_freeze(step, frozen);
    hr_model *m = hr_sequential(
        HR_LAYERS(hr_time_distributed_layer(step, .name = "t"), hr_flatten_layer(), hr_dense_layer(1, .name = "o")),
        .input_shape = HR_SHAPE(3, 2), .seed = 4);
    assert_null(hr_model_error(m));
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(0.1f), .loss = "mse"), HR_OK);
    return m;
}

static void train_steps(hr_model *m)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, -1, 0, 2, -2, 1, 1}, y[] = {1, -1};
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3, 2), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), y)};
    assert_non_null(hr_fit(m, hr_from_tensor_slices(both, NULL, 2), .epochs = 2, .no_shuffle = true));
}

/* Keras's weights of a wrapper: those that are trained first. */
static void a_model_within_a_time_distributed_has_its_weights_and_learns(void **state)
{
    (void)state;
    static const char *const names[] = {"dense/kernel",
                                        "dense/bias",
                                        "batch_normalization/gamma",
                                        "batch_normalization/beta",
                                        "dense_1/kernel",
                                        "dense_1/bias",
                                        "batch_normalization_1/gamma",
                                        "batch_normalization_1/beta",
                                        "batch_normalization/moving_mean",
                                        "batch_normalization/moving_variance",
                                        "batch_normalization_1/moving_mean",
                                        "batch_normalization_1/moving_variance",
                                        "o/kernel",
                                        "o/bias"};
    enum { WEIGHTS = sizeof names / sizeof *names };
    hr_error err = {0};
    hr_tensor before, after;
    hr_model *m = steps_model(false), *other = steps_model(false), *frozen = steps_model(true);
    assert_int_equal(hr_model_weights(m), WEIGHTS);
    for (int i = 0; i < WEIGHTS; i++) assert_string_equal(hr_model_weight(m, i).name, names[i]);
    assert_false(hr_model_weight(frozen, 0).trainable);
    char *text = hr_model_summary(m, .expand_nested = true);
    assert_non_null(strstr(text, " t (TimeDistributed)         (None, 3, 1)              21"));
    assert_null(strstr(text, "batch_normalization"));
    hr_free(text);
    for (int k = 0; k < 2; k++) { /* all of it learns; frozen, it stays */
        hr_model *trained = k == 0 ? m : frozen;
        assert_int_equal(hr_get_weight(trained, 0, &before, &err), HR_OK);
        train_steps(trained);
        assert_int_equal(hr_get_weight(trained, 0, &after, &err), HR_OK);
        assert_int_equal(memcmp(before.data, after.data, 4 * sizeof(float)) != 0, k == 0);
        hr_tensor_clear(&before);
        hr_tensor_clear(&after);
    }
    if (hr_save_weights(m, "steps", &err) != HR_OK) fail_msg("%s", err.text);
    if (hr_load_weights(other, "steps", &err) != HR_OK) fail_msg("%s", err.text);
    train_steps(m);
    train_steps(other);
    for (int i = 0; i < WEIGHTS; i++) {
        assert_int_equal(hr_get_weight(m, i, &before, &err), HR_OK);
        assert_int_equal(hr_get_weight(other, i, &after, &err), HR_OK);
        assert_memory_equal(before.data, after.data, (size_t)before.count * sizeof(float));
        hr_tensor_clear(&before);
        hr_tensor_clear(&after);
    }
    hr_model_free(m);
    hr_model_free(other);
    hr_model_free(frozen);
}

/* Each step's values are those of the model alone. */
static void a_model_within_a_time_distributed_takes_each_step_by_itself(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6};
    const hr_tensor steps = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 3, 2), x),
                    rows = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), x);
    hr_tensor by_steps, by_rows;
    hr_model *alone = step_model();
    assert_int_equal(hr_predict_on_batch(alone, &rows, NULL, 1, &by_rows), HR_OK);
    /* The model that becomes a part keeps the weights that it has. */
    hr_model *m =
        hr_sequential(HR_LAYERS(hr_time_distributed_layer(hr_model_layer(alone, NULL))), .input_shape = HR_SHAPE(3, 2));
    assert_int_equal(hr_predict_on_batch(m, &steps, NULL, 1, &by_steps), HR_OK);
    assert_true(hr_shape_equal(by_steps.shape, HR_SHAPE(1, 3, 1)));
    for (int i = 0; i < 3; i++) assert_true(((const float *)by_steps.data)[i] == ((const float *)by_rows.data)[i]);
    hr_tensor_clear(&by_steps);
    hr_tensor_clear(&by_rows);
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_go_on_from_batch_to_batch_until_they_are_reset),
        cmocka_unit_test(states_are_outputs_and_inputs),
        cmocka_unit_test(the_output_of_a_masked_last_step_is_0_where_it_is_asked_for),
        cmocka_unit_test(cells_on_each_other_are_layers_on_each_other),
        cmocka_unit_test(one_cell_is_its_layer_in_both_directions),
        cmocka_unit_test(directions_come_apart_with_their_states),
        cmocka_unit_test(directions_are_merged_step_by_step),
        cmocka_unit_test(the_way_back_may_have_a_layer_of_its_own),
        cmocka_unit_test(layers_within_others_have_names_as_in_keras),
        cmocka_unit_test(a_layer_for_each_step_is_the_layer),
        cmocka_unit_test(masks_go_through_each_step),
        cmocka_unit_test(layers_within_others_are_frozen_and_kept_to_limits),
        cmocka_unit_test(recurrent_weights_cost),
        cmocka_unit_test(dropout_is_of_the_same_places_in_all_steps),
        cmocka_unit_test(layers_with_dropout_of_states_learn),
        cmocka_unit_test(mistakes_are_refused_when_the_model_is_made),
        cmocka_unit_test(wrong_states_are_refused),
        cmocka_unit_test(a_layer_is_within_one_other_at_most),
        cmocka_unit_test(no_memory_is_no_leak),
        cmocka_unit_test(a_model_within_a_time_distributed_has_its_weights_and_learns),
        cmocka_unit_test(a_model_within_a_time_distributed_takes_each_step_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
