/* SimpleRNN, LSTM and GRU: layers over steps, with states. */
#include <headrace/graph_op.h>
#include <headrace/model_layers.h>

enum { MOST_STATES = 2 };
static const char *const state_names[MOST_STATES] = {"h", "c"};

typedef struct recurrent_config {
    hr_rnn_fn *fn;
    const char *cell; /* the scope of its weights */
    int states;
    int64_t units;
    hr_recurrent_layer_opts o;
} recurrent_config;

/* The states that it begins with: those given as inputs, or those after the batch before. False: the graph failed, or
 * they are zeros. */
static bool recurrent_begin(hr_layer_call *c, const recurrent_config *r, hr_node *kept, hr_node *first)
{
    const hr_shape in = hr_node_shape(c->input[0]);
    char text[128];
    for (int i = 0; i < r->states && r->o.stateful && in.dims[0] >= 0; i++) {
        kept[i] = hr_layer_state(c, state_names[i], HR_FLOAT, HR_SHAPE(in.dims[0], r->units));
        first[i] = hr_identity(kept[i]);
    }
    if (r->o.stateful && in.dims[0] < 0) {
        hr_layer_fail(c, "models.shape",
                      "stateful: expected an input of a known number of rows, got %s; give the model's input a "
                      ".batch_size",
                      hr_shape_text(in, text, sizeof text));
        return false;
    }
    for (int i = 1; i < c->inputs; i++) {
        const hr_shape shape = hr_node_shape(c->input[i]);
        first[i - 1] = c->input[i];
        if (shape.rank == 2 && (shape.dims[1] == r->units || shape.dims[1] < 0)) continue;
        hr_layer_fail(c, "models.shape", "initial state %d: expected [n, %lld], got %s", i, (long long)r->units,
                      hr_shape_text(shape, text, sizeof text));
        return false;
    }
    return r->o.stateful || c->inputs > 1;
}

static void recurrent_constrain(hr_layer_call *c, const hr_recurrent_layer_opts *o)
{
    hr_layer_constrain(c, "kernel", o->kernel_constraint);
    hr_layer_constrain(c, "recurrent_kernel", o->recurrent_constraint);
    hr_layer_constrain(c, "bias", o->bias_constraint);
}

static hr_node recurrent_steps(hr_layer_call *c, const recurrent_config *r, const hr_node *first, hr_node *last)
{
    const hr_recurrent_layer_opts *o = &r->o;
    const hr_rnn_opts n = {
        .struct_size = sizeof n,
        .name = hr_layer_scope(c),
        .mask = c->mask[0],
        .return_sequences = o->return_sequences,
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
    };
    return r->fn(c->input[0], r->units, &n);
}

static hr_node recurrent_call(hr_layer_call *c, void *config)
{
    const recurrent_config *r = config;
    hr_node kept[MOST_STATES], first[MOST_STATES], last[MOST_STATES];
    if (c->inputs > 1 && c->inputs != 1 + r->states)
        return hr_layer_fail(c, "models.inputs", "expected 1 input, or %d with its initial state, got %d",
                             1 + r->states, c->inputs);
    const bool given = recurrent_begin(c, r, kept, first);
    if (hr_graph_error(c->graph)) return hr_failed_node(c->graph);
    recurrent_constrain(c, &r->o);
    hr_layer_attribute(c, r->cell, "cell");
    const hr_node y = recurrent_steps(c, r, given ? first : NULL, last);
    for (int i = 0; i < r->states && hr_node_exists(y); i++) {
        if (r->o.stateful) hr_layer_update(c, hr_assign(kept[i], last[i]));
        if (r->o.return_state) c->output[c->outputs++] = last[i];
    }
    if (r->o.return_sequences) c->output_mask[0] = c->mask[0];
    return y;
}

static hr_status recurrent_check(const void *config, hr_error *err)
{
    const recurrent_config *r = config;
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
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(recurrent_config), .call = recurrent_call,          \
        .traits = HR_LAYER_RECURRENT, .max_inputs = 1 + (STATES), .min_rank = 3, .max_rank = 3,                        \
        .check = recurrent_check                                                                                       \
    }
static const hr_layer_kind simple_rnn_kind = RECURRENT_KIND("SimpleRNN", 1), lstm_kind = RECURRENT_KIND("LSTM", 2),
                           gru_kind = RECURRENT_KIND("GRU", 1);

static hr_layer *recurrent_new(const hr_layer_kind *kind, hr_rnn_fn *fn, const char *cell, int64_t units,
                               const hr_recurrent_layer_opts *opts)
{
    recurrent_config r = {fn, cell, kind->max_inputs - 1, units, HR_OPTIONS(hr_recurrent_layer_opts, opts)};
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
