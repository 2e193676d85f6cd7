/* SimpleRNN, LSTM and GRU: layers over steps, with states; their cells; and RNN, which runs one cell or several, each over
 * what the one before has made of all steps: no cell reads another one's states. */
#include <headrace/graph_op.h>
#include <headrace/model_layers.h>

#include <stdio.h>
#include <string.h>

/* So many states of both directions fit into the outputs of a Bidirectional. */
enum { MOST_STATES = (HR_MAX_LAYER_OUTPUTS - 2) / 2, MOST_OF_CELL = 2 };

/* A layer, or a cell. */
typedef struct recurrent_config {
    hr_rnn_fn *fn;
    const char *cell; /* the scope of its weights; NULL: it is a cell */
    int states;
    int64_t units;
    hr_recurrent_layer_opts o;
} recurrent_config;

/* ---- states ---- */

/* The states of a layer, as its further outputs. */
typedef struct recurrent_states {
    int count;
    int64_t units[MOST_STATES];
    char name[MOST_STATES][24]; /* of the variables that keep them */
} recurrent_states;

static void states_add(recurrent_states *s, const recurrent_config *r, int cell)
{
    static const char *const names[MOST_OF_CELL] = {"h", "c"};
    for (int i = 0; i < r->states && s->count < MOST_STATES; i++) {
        char number[16] = "";
        if (cell > 0) (void)snprintf(number, sizeof number, "_%d", cell);
        (void)snprintf(s->name[s->count], sizeof s->name[0], "%s%s", names[i], number);
        s->units[s->count++] = r->units;
    }
}

/* The states that it begins with: those given as inputs, or those after the batch before. False: the graph failed, or
 * they are zeros. */
static bool states_begin(hr_layer_call *c, const recurrent_states *s, bool stateful, hr_node *kept, hr_node *first)
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

/* Keeps the states after the last step, and gives them as outputs, as it was asked to. */
static void states_end(hr_layer_call *c, int count, bool stateful, bool give, const hr_node *kept, const hr_node *last)
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

static hr_node recurrent_steps(hr_layer_call *c, const recurrent_config *r, const hr_node *first, hr_node *last)
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
    const recurrent_config *r = config;
    hr_node kept[MOST_OF_CELL], first[MOST_OF_CELL], last[MOST_OF_CELL];
    recurrent_states s = {0};
    states_add(&s, r, 0);
    const bool given = states_begin(c, &s, r->o.stateful, kept, first);
    if (hr_graph_error(c->graph)) return hr_failed_node(c->graph);
    recurrent_constrain(c, &r->o);
    hr_layer_attribute(c, r->cell, "cell");
    const hr_node y = recurrent_steps(c, r, given ? first : NULL, last);
    if (hr_node_exists(y)) states_end(c, r->states, r->o.stateful, r->o.return_state, kept, last);
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

/* ---- cells: all steps, from the states that are further inputs, to the states after the last one ---- */

static hr_node cell_call(hr_layer_call *c, void *config)
{
    const recurrent_config *r = config;
    hr_node last[MOST_OF_CELL];
    if (c->direction == HR_LAYER_ALONE)
        return hr_layer_fail(c, "models.layer", "a cell is no layer of its own: put it into hr_rnn_layer");
    recurrent_constrain(c, &r->o);
    const hr_node y = recurrent_steps(c, r, c->inputs > 1 ? c->input + 1 : NULL, last);
    if (hr_node_exists(y)) states_end(c, r->states, false, true, NULL, last);
    return y;
}

static hr_status cell_check(const void *config, hr_error *err)
{
    const hr_recurrent_layer_opts *o = &((const recurrent_config *)config)->o;
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
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(recurrent_config), .call = cell_call,               \
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

static bool is_cell(const hr_layer *layer)
{
    const hr_layer_kind *kind = layer ? hr_layer_kind_of(layer) : NULL;
    return kind == &simple_rnn_cell_kind || kind == &lstm_cell_kind || kind == &gru_cell_kind;
}

/* ---- StackedRNNCells ---- */

typedef struct stack_config {
    hr_layer_list given; /* valid while the layer is made */
    hr_layer *cell[MOST_STATES];
    int count;
} stack_config;

static hr_layer *stack_inner(const void *config, int i)
{
    const stack_config *stack = config;
    for (int k = 0; k < stack->given.count; k++)
        if (stack->given.layer[k] && i-- == 0) return stack->given.layer[k];
    return NULL;
}

static hr_node stack_call(hr_layer_call *c, void *config)
{
    const stack_config *stack = config;
    hr_node y = c->input[0];
    int state = 1;
    for (int i = 0; i < stack->count && hr_node_exists(y); i++) {
        const recurrent_config *r = hr_layer_config(stack->cell[i]);
        hr_node in[1 + MOST_OF_CELL] = {y};
        const hr_node masks[1 + MOST_OF_CELL] = {c->mask[0]};
        hr_layer_call made;
        char place[32];
        (void)snprintf(place, sizeof place, "cells/%d", i);
        hr_layer_attribute(c, hr_layer_name(stack->cell[i]), place);
        for (int k = 0; k < r->states && c->inputs > 1; k++) in[1 + k] = c->input[state++];
        y = hr_layer_inner(c, stack->cell[i], in, c->inputs > 1 ? 1 + r->states : 1, .direction = c->direction,
                           .name = hr_layer_name(stack->cell[i]), .masks = masks, .made = &made);
        if (hr_node_exists(y)) states_end(c, r->states, false, true, NULL, made.output + 1);
    }
    return y;
}

static hr_status stack_check(const void *config, hr_error *err)
{
    const stack_config *stack = config;
    int states = 0;
    if (stack->given.count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected one cell or more, got none");
    for (int i = 0; i < stack->given.count; i++) {
        const hr_layer *cell = stack->given.layer[i];
        const hr_layer_kind *kind = cell ? hr_layer_kind_of(cell) : NULL;
        if (!is_cell(cell))
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer",
                           "cell %d: expected one of hr_lstm_cell and its kin, got %s%.60s", i, kind ? "a " : "NULL",
                           kind ? kind->name : "");
        for (int k = 0; k < i; k++)
            if (*hr_layer_name(cell) && strcmp(hr_layer_name(cell), hr_layer_name(stack->given.layer[k])) == 0)
                return hr_fail(err, HR_INVALID_ARGUMENT, "models.name",
                               "cells %d and %d: expected names of their own, got \"%.60s\" twice", k, i,
                               hr_layer_name(cell));
        states += ((const recurrent_config *)hr_layer_config(cell))->states;
    }
    if (states <= MOST_STATES) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected cells with at most %d states, got %d",
                   MOST_STATES, states);
}

static const hr_layer_kind stack_kind = {
    .head = HR_LAYER_HEAD,
    .name = "StackedRNNCells",
    .config_size = sizeof(stack_config),
    .call = stack_call,
    .max_inputs = 1 + MOST_STATES,
    .min_rank = 3,
    .max_rank = 3,
    .check = stack_check,
    .inner = stack_inner,
};

hr_layer *hr_stacked_rnn_cells_with(hr_layer_list cells, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    stack_config stack = {.given = cells.layer ? cells : (hr_layer_list){0}};
    for (int i = 0; i < stack.given.count && stack.count < MOST_STATES; i++) stack.cell[stack.count++] = cells.layer[i];
    return hr_layer_new(&stack_kind, &stack, HR_LAYER_COMMON(&o));
}

/* ---- RNN ---- */

typedef struct rnn_config {
    hr_layer *cell; /* or several */
    hr_rnn_layer_opts o;
} rnn_config;

static hr_layer *rnn_inner(const void *config, int i) { return i == 0 ? ((const rnn_config *)config)->cell : NULL; }

/* Its states; gives the number of the output of the last cell among them, which is its first state. */
static int rnn_states(const hr_layer *cell, recurrent_states *s)
{
    const stack_config *stack = hr_layer_kind_of(cell) == &stack_kind ? hr_layer_config(cell) : NULL;
    int first = 0;
    for (int i = 0; stack && i < stack->count; i++) {
        first = s->count;
        states_add(s, hr_layer_config(stack->cell[i]), i);
    }
    if (!stack) states_add(s, hr_layer_config(cell), 0);
    return first;
}

static hr_node steps_reversed(hr_node x) { return x.graph ? hr_reverse(x, hr_ints(x.graph, HR_I64(1), 1)) : x; }

/* What comes out, of the outputs of all steps. Without a mask that of the last one is the state. */
static hr_node rnn_result(const hr_layer_call *c, const rnn_config *r, hr_node all, hr_node mask, hr_node state)
{
    const bool zero = r->o.zero_masked || (c->direction && r->o.return_sequences);
    if (!mask.graph) return r->o.return_sequences ? all : state;
    if (zero)
        all = hr_where(hr_expand_dims(hr_cast_to(mask, HR_BOOL), hr_scalar(c->graph, HR_INT32, -1)), all,
                       hr_scalar(c->graph, HR_FLOAT, 0));
    return r->o.return_sequences ? all : hr_strided_slice(all, {0}, {.at = HR_I64(-1)});
}

static hr_node rnn_call(hr_layer_call *c, void *config)
{
    const rnn_config *r = config;
    hr_node kept[MOST_STATES], in[1 + MOST_STATES] = {c->input[0]}, masks[1 + MOST_STATES] = {c->mask[0]};
    recurrent_states s = {0};
    hr_layer_call made;
    const int output = rnn_states(r->cell, &s);
    const bool given = states_begin(c, &s, r->o.stateful, kept, in + 1);
    if (hr_graph_error(c->graph)) return hr_failed_node(c->graph);
    if (r->o.go_backwards != (c->direction == HR_LAYER_BACKWARD)) {
        in[0] = steps_reversed(in[0]);
        masks[0] = steps_reversed(masks[0]);
    }
    hr_layer_attribute(c, hr_layer_name(r->cell), "cell");
    const hr_node all = hr_layer_inner(c, r->cell, in, given ? 1 + s.count : 1, .name = hr_layer_name(r->cell),
                                       .masks = masks, .direction = HR_LAYER_FORWARD, .made = &made);
    if (!hr_node_exists(all)) return all;
    states_end(c, s.count, r->o.stateful, r->o.return_state, kept, made.output + 1);
    if (r->o.return_sequences) c->output_mask[0] = c->mask[0];
    return rnn_result(c, r, all, masks[0], made.output[1 + output]);
}

static hr_status rnn_check(const void *config, hr_error *err)
{
    const hr_layer *cell = ((const rnn_config *)config)->cell;
    const hr_layer_kind *kind = cell ? hr_layer_kind_of(cell) : NULL;
    if (is_cell(cell) || kind == &stack_kind) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer",
                   "expected hr_lstm_cell or its kin, or hr_stacked_rnn_cells, got %s%.60s", kind ? "a " : "NULL",
                   kind ? kind->name : "");
}

static const hr_layer_kind rnn_kind = {
    .head = HR_LAYER_HEAD,
    .name = "RNN",
    .config_size = sizeof(rnn_config),
    .call = rnn_call,
    .traits = HR_LAYER_RECURRENT,
    .max_inputs = 1 + MOST_STATES,
    .min_rank = 3,
    .max_rank = 3,
    .check = rnn_check,
    .inner = rnn_inner,
};

hr_layer *hr_rnn_layer_with(hr_layer *cell, const hr_rnn_layer_opts *opts)
{
    const rnn_config r = {cell, HR_OPTIONS(hr_rnn_layer_opts, opts)};
    return hr_layer_new(&rnn_kind, &r, HR_LAYER_COMMON(&r.o));
}
