/* SimpleRNN, LSTM and GRU: layers over steps, with states; and their cells, which rnn.c runs. */
#include "train/models/layers/recurrent.h"
#include <headrace/graph_op.h>

#include <stdio.h>

/* ---- states ---- */

void hr__states_add(hr__recurrent_states *s, const hr__recurrent_config *r, int cell)
{
    static const char *const names[HR__MOST_OF_CELL] = {"h", "c"};
    for (int i = 0; i < r->states && s->count < HR__MOST_STATES; i++) {
        char number[16] = "";
        if (cell > 0) (void)snprintf(number, sizeof number, "_%d", cell);
        (void)snprintf(s->name[s->count], sizeof s->name[0], "%s%s", names[i], number);
        s->units[s->count++] = r->units;
    }
}

bool hr__states_begin(hr_layer_call *c, const hr__recurrent_states *s, bool stateful, hr_node *kept, hr_node *first)
{
    const hr_shape in = hr_node_shape(c->input[0]);
    char text[128];
    if (c->inputs > 1 && c->inputs != 1 + s->count) {
        hr_layer_fail(c, "models.inputs", "expected 1 input, or %d with its initial state, got %d", 1 + s->count,
                      c->inputs);
        return false;
    }
    for (int i = 0; i < s->count && stateful && in.dims[0] >= 0; i++) {
        kept[i] = hr_layer_state(c, s->name[i], HR_FLOAT, HR_SHAPE(in.dims[0], s->units[i]));
        first[i] = hr_identity(kept[i]);
    }
    if (stateful && in.dims[0] < 0) {
        hr_layer_fail(c, "models.shape",
                      "stateful: expected an input of a known number of rows, got %s; give the model's input a "
                      ".batch_size",
                      hr_shape_text(in, text, sizeof text));
        return false;
    }
    for (int i = 1; i < c->inputs; i++) {
        const hr_shape shape = hr_node_shape(c->input[i]);
        first[i - 1] = c->input[i];
        if (shape.rank == 2 && (shape.dims[1] == s->units[i - 1] || shape.dims[1] < 0)) continue;
        hr_layer_fail(c, "models.shape", "initial state %d: expected [n, %lld], got %s", i, (long long)s->units[i - 1],
                      hr_shape_text(shape, text, sizeof text));
        return false;
    }
    return stateful || c->inputs > 1;
}

void hr__states_end(hr_layer_call *c, int count, bool stateful, bool give, const hr_node *kept, const hr_node *last)
{
    for (int i = 0; i < count; i++) {
        if (stateful) hr_layer_update(c, hr_assign(kept[i], last[i]));
        if (give) c->output[c->outputs++] = last[i];
    }
}

/* ---- SimpleRNN, LSTM, GRU ---- */

static void recurrent_constrain(hr_layer_call *c, const hr_recurrent_layer_opts *o)
{
    hr_layer_constrain(c, "kernel", o->kernel_constraint);
    hr_layer_constrain(c, "recurrent_kernel", o->recurrent_constraint);
    hr_layer_constrain(c, "bias", o->bias_constraint);
}

static hr_node recurrent_steps(hr_layer_call *c, const hr__recurrent_config *r, const hr_node *first, hr_node *last)
{
    const hr_recurrent_layer_opts *o = &r->o;
    const hr_rnn_opts n = {
        .struct_size = sizeof n,
        .name = hr_layer_scope(c),
        .cell_only = !r->cell,
        .mask = c->mask[0],
        .return_sequences = o->return_sequences || !r->cell,
        .go_backwards = o->go_backwards != (c->direction == HR_LAYER_BACKWARD),
        .zero_masked = o->zero_masked || (c->direction && o->return_sequences),
        .initial_state = first,
        .state = last,
        .activation = hr_activation_named(o->activation),
        .recurrent_activation = hr_activation_named(o->recurrent_activation),
        .kernel_initializer = o->kernel_initializer,
        .recurrent_initializer = o->recurrent_initializer,
        .bias_initializer = o->bias_initializer,
        .kernel_regularizer = o->kernel_regularizer,
        .recurrent_regularizer = o->recurrent_regularizer,
        .bias_regularizer = o->bias_regularizer,
        .no_bias = o->no_bias,
        .no_forget_bias = o->no_forget_bias,
        .reset_before = o->reset_before,
        .dropout = c->training ? o->dropout : 0,
        .recurrent_dropout = c->training ? o->recurrent_dropout : 0,
        .seed = o->seed,
        .for_tensorflow = c->exported,
    };
    return r->fn(c->input[0], r->units, &n);
}

static hr_node recurrent_call(hr_layer_call *c, void *config)
{
    const hr__recurrent_config *r = config;
    hr_node kept[HR__MOST_OF_CELL], first[HR__MOST_OF_CELL], last[HR__MOST_OF_CELL];
    hr__recurrent_states s = {0};
    hr__states_add(&s, r, 0);
    const bool given = hr__states_begin(c, &s, r->o.stateful, kept, first);
    if (hr_graph_error(c->graph)) return hr_failed_node(c->graph);
    recurrent_constrain(c, &r->o);
    hr_layer_attribute(c, r->cell, "cell");
    const hr_node y = recurrent_steps(c, r, given ? first : NULL, last);
    if (hr_node_exists(y)) hr__states_end(c, r->states, r->o.stateful, r->o.return_state, kept, last);
    if (r->o.return_sequences) c->output_mask[0] = c->mask[0];
    return y;
}

static hr_status recurrent_check(const void *config, hr_error *err)
{
    const hr__recurrent_config *r = config;
    HR_TRY(hr_activation_check(r->o.activation, err));
    HR_TRY(hr_activation_check(r->o.recurrent_activation, err));
    if (r->units < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected units of 1 or more, got %lld",
                       (long long)r->units);
    const bool inputs_fit = r->o.dropout >= 0 && r->o.dropout < 1;
    if (inputs_fit && r->o.recurrent_dropout >= 0 && r->o.recurrent_dropout < 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a %s from 0 to less than 1, got %g",
                   inputs_fit ? "recurrent_dropout" : "dropout",
                   (double)(inputs_fit ? r->o.recurrent_dropout : r->o.dropout));
}

#define RECURRENT_KIND(NAME, STATES)                                                                                   \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(hr__recurrent_config), .call = recurrent_call,      \
        .traits = HR_LAYER_RECURRENT, .max_inputs = 1 + (STATES), .min_rank = 3, .max_rank = 3,                        \
        .check = recurrent_check                                                                                       \
    }
static const hr_layer_kind simple_rnn_kind = RECURRENT_KIND("SimpleRNN", 1), lstm_kind = RECURRENT_KIND("LSTM", 2),
                           gru_kind = RECURRENT_KIND("GRU", 1);

static hr_layer *recurrent_new(const hr_layer_kind *kind, hr_rnn_fn *fn, const char *cell, int64_t units,
                               const hr_recurrent_layer_opts *opts)
{
    hr__recurrent_config r = {fn, cell, kind->max_inputs - 1, units, HR_OPTIONS(hr_recurrent_layer_opts, opts)};
    r.o.activation = hr_activation_kept(r.o.activation);
    r.o.recurrent_activation = hr_activation_kept(r.o.recurrent_activation);
    return hr_layer_new(kind, &r, HR_LAYER_COMMON(&r.o));
}

hr_layer *hr_simple_rnn_layer_with(int64_t units, const hr_recurrent_layer_opts *opts)
{
    return recurrent_new(&simple_rnn_kind, hr_simple_rnn_with, "simple_rnn_cell", units, opts);
}
hr_layer *hr_lstm_layer_with(int64_t units, const hr_recurrent_layer_opts *opts)
{
    return recurrent_new(&lstm_kind, hr_lstm_with, "lstm_cell", units, opts);
}
hr_layer *hr_gru_layer_with(int64_t units, const hr_recurrent_layer_opts *opts)
{
    return recurrent_new(&gru_kind, hr_gru_with, "gru_cell", units, opts);
}

/* ---- cells: all steps, from the states that are further inputs, to the states after the last one ---- */

static hr_node cell_call(hr_layer_call *c, void *config)
{
    const hr__recurrent_config *r = config;
    hr_node last[HR__MOST_OF_CELL];
    if (c->direction == HR_LAYER_ALONE)
        return hr_layer_fail(c, "models.layer", "a cell is no layer of its own: put it into hr_rnn_layer");
    recurrent_constrain(c, &r->o);
    const hr_node y = recurrent_steps(c, r, c->inputs > 1 ? c->input + 1 : NULL, last);
    if (hr_node_exists(y)) hr__states_end(c, r->states, false, true, NULL, last);
    return y;
}

static hr_status cell_check(const void *config, hr_error *err)
{
    const hr_recurrent_layer_opts *o = &((const hr__recurrent_config *)config)->o;
    const char *wrong = o->return_sequences ? "return_sequences"
                        : o->return_state   ? "return_state"
                        : o->go_backwards   ? "go_backwards"
                        : o->stateful       ? "stateful"
                        : o->zero_masked    ? "zero_masked"
                                            : NULL;
    if (!wrong) return recurrent_check(config, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "%s: give this to hr_rnn_layer, not to its cells",
                   wrong);
}

#define CELL_KIND(NAME, STATES)                                                                                        \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(hr__recurrent_config), .call = cell_call,           \
        .max_inputs = 1 + (STATES), .min_rank = 3, .max_rank = 3, .check = cell_check                                  \
    }
static const hr_layer_kind simple_rnn_cell_kind = CELL_KIND("SimpleRNNCell", 1),
                           lstm_cell_kind = CELL_KIND("LSTMCell", 2), gru_cell_kind = CELL_KIND("GRUCell", 1);

hr_layer *hr_simple_rnn_cell_with(int64_t units, const hr_recurrent_layer_opts *opts)
{
    return recurrent_new(&simple_rnn_cell_kind, hr_simple_rnn_with, NULL, units, opts);
}
hr_layer *hr_lstm_cell_with(int64_t units, const hr_recurrent_layer_opts *opts)
{
    return recurrent_new(&lstm_cell_kind, hr_lstm_with, NULL, units, opts);
}
hr_layer *hr_gru_cell_with(int64_t units, const hr_recurrent_layer_opts *opts)
{
    return recurrent_new(&gru_cell_kind, hr_gru_with, NULL, units, opts);
}

bool hr__is_cell(const hr_layer *layer)
{
    const hr_layer_kind *kind = layer ? hr_layer_kind_of(layer) : NULL;
    return kind == &simple_rnn_cell_kind || kind == &lstm_cell_kind || kind == &gru_cell_kind;
}
