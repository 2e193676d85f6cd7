/* SimpleRNN, LSTM and GRU: what their cells do in a step, with Keras's arithmetic and order of gates. */
#include "train/layers/rnn.h"

/* ---- SimpleRNN: h = activation(x kernel + bias + h recurrent) ---- */

static void simple_step(const hr__rnn *r, hr_graph *g, hr_node x, const hr_node *before, hr_node *after)
{
    (void)g;
    after[0] = r->activation(hr_add(x, hr__rnn_product(r, before[0], 0, 1)));
}

static const hr__rnn_cell simple_cell = {
    .layer = "simple_rnn", .cell = "simple_rnn_cell", .gates = 1, .states = 1, .step = simple_step};

hr_node hr_simple_rnn_with(hr_node x, int64_t units, const hr_rnn_opts *opts)
{
    return hr__rnn_layer(&simple_cell, x, units, opts);
}

/* ---- LSTM: gates i, f, c, o; c = f c + i activation(c gate), h = o activation(c) ---- */

/* 1 for the forget gate, the second of four; also of a piece. */
static hr_node forget_bias(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    const hr_variable_piece *piece = self->piece;
    const int64_t units = (piece ? piece->full_shape : shape).dims[0] / 4, first = piece ? piece->offset[0] : 0;
    const hr_node at =
        hr_range_values(hr_scalar(g, HR_INT64, (double)first), hr_scalar(g, HR_INT64, (double)(first + shape.dims[0])),
                        hr_scalar(g, HR_INT64, 1));
    const hr_node gate = hr_floor_div(at, hr_scalar(g, HR_INT64, (double)units));
    return hr_cast_to(hr_equal(gate, hr_scalar(g, HR_INT64, 1)), dtype);
}

static hr_initializer lstm_first_bias(const hr_rnn_opts *opts)
{
    const hr_initializer ones = {.make = forget_bias};
    return opts->no_forget_bias ? hr_zeros() : ones;
}

/* Gates i, f, c, o in the order of BlockLSTM: i, c, f, o. */
static hr_node old_order(hr_node x)
{
    hr_node gate[4];
    hr__rnn_split(x, 4, gate);
    return hr_concat((const hr_node[]){gate[0], gate[2], gate[1], gate[3]}, 4, -1);
}

/* BlockLSTMV2, where the activations are its own. */
static bool lstm_whole(const hr__rnn *r, hr_node x, hr_node used, const hr_node *initial, hr_node *states)
{
    enum { CELLS = 1, OUTPUTS = 6 };
    if (r->activation != hr_tanh_fn || r->gate != hr_sigmoid_fn || r->state_kept[0].graph) return false;
    const hr_node zero = hr_scalar(r->g, HR_FLOAT, 0);
    const hr_node none = hr_fill(hr_ints(r->g, &r->units, 1), zero), w[] = {r->kernel, r->recurrent};
    hr_node bias = r->bias.graph ? r->bias : hr_fill(hr_ints(r->g, (const int64_t[]){4 * r->units}, 1), zero);
    hr_node weights = hr_concat(w, 2, 0);
    if (r->opts->for_tensorflow) {
        weights = old_order(weights);
        bias = old_order(bias);
    }
    const hr_node in[] = {used, x, initial[1], initial[0], weights, none, none, none, bias};
    enum { INPUTS = sizeof in / sizeof *in };
    const hr_node all = r->opts->for_tensorflow
                            ? hr_new_node(r->g, "BlockLSTM", .inputs = in, .input_count = INPUTS,
                                          HR_ATTRS(HR_FLOAT_ATTR("cell_clip", -1), HR_FLOAT_ATTR("forget_bias", 0)))
                            : hr_new_node(r->g, "BlockLSTMV2", .inputs = in, .input_count = INPUTS);
    states[0] = hr_node_output(all, OUTPUTS);
    states[1] = hr_node_output(all, CELLS);
    return true;
}

static void lstm_step(const hr__rnn *r, hr_graph *g, hr_node x, const hr_node *before, hr_node *after)
{
    (void)g;
    hr_node gate[4];
    hr__rnn_split(hr_add(x, hr__rnn_product(r, before[0], 0, 4)), 4, gate);
    const hr_node kept = hr_mul(r->gate(gate[1]), before[1]);
    after[1] = hr_add(kept, hr_mul(r->gate(gate[0]), r->activation(gate[2])));
    after[0] = hr_mul(r->gate(gate[3]), r->activation(after[1]));
}

static const hr__rnn_cell lstm_cell = {.layer = "lstm",
                                       .cell = "lstm_cell",
                                       .gates = 4,
                                       .states = 2,
                                       .first_bias = lstm_first_bias,
                                       .whole = lstm_whole,
                                       .step = lstm_step};

hr_node hr_lstm_with(hr_node x, int64_t units, const hr_rnn_opts *opts)
{
    return hr__rnn_layer(&lstm_cell, x, units, opts);
}

/* ---- GRU: gates z, r and the new values; h = z h + (1 - z) new ---- */

static void gru_step(const hr__rnn *r, hr_graph *g, hr_node x, const hr_node *before, hr_node *after)
{
    (void)g;
    hr_node in[3], of_state[3], h = before[0];
    hr__rnn_split(x, 3, in);
    if (r->opts->reset_before) {
        hr__rnn_split(hr__rnn_product(r, h, 0, 2), 2, of_state);
    } else {
        hr_node product = hr__rnn_product(r, h, 0, 3);
        if (r->bias.graph) product = hr_bias_add(product, hr_strided_slice(r->bias, {.at = HR_I64(1)}));
        hr__rnn_split(product, 3, of_state);
    }
    const hr_node z = r->gate(hr_add(in[0], of_state[0])), reset = r->gate(hr_add(in[1], of_state[1]));
    of_state[2] = r->opts->reset_before ? hr__rnn_product(r, hr_mul(reset, h), 2, 3) : hr_mul(reset, of_state[2]);
    const hr_node fresh = r->activation(hr_add(in[2], of_state[2]));
    after[0] = hr_add(hr_mul(z, h), hr_mul(hr_sub(hr_scalar_like(z, 1), z), fresh));
}

static const hr__rnn_cell gru_cell = {
    .layer = "gru", .cell = "gru_cell", .gates = 3, .states = 1, .bias_by_state = true, .step = gru_step};

hr_node hr_gru_with(hr_node x, int64_t units, const hr_rnn_opts *opts)
{
    return hr__rnn_layer(&gru_cell, x, units, opts);
}

const hr__rnn_cell *hr__rnn_cell_of(hr_rnn_fn *layer)
{
    return layer == hr_simple_rnn_with ? &simple_cell
           : layer == hr_lstm_with     ? &lstm_cell
           : layer == hr_gru_with      ? &gru_cell
                                       : NULL;
}
