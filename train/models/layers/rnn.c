/* RNN runs one cell or several over the steps, each over what the one before has made of all of them: no cell reads another
 * one's states. StackedRNNCells are several. */
#include "train/models/layers/recurrent.h"
#include <headrace/graph_op.h>

#include <stdio.h>
#include <string.h>

/* ---- StackedRNNCells ---- */

typedef struct stack_config {
    hr_layer_list given; /* valid while the layer is made */
    hr_layer *cell[HR__MOST_STATES];
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
        const hr__recurrent_config *r = hr_layer_config(stack->cell[i]);
        hr_node in[1 + HR__MOST_OF_CELL] = {y};
        const hr_node masks[1 + HR__MOST_OF_CELL] = {c->mask[0]};
        hr_layer_call made;
        char place[32];
        (void)snprintf(place, sizeof place, "cells/%d", i);
        hr_layer_attribute(c, hr_layer_name(stack->cell[i]), place);
        for (int k = 0; k < r->states && c->inputs > 1; k++) in[1 + k] = c->input[state++];
        y = hr_layer_inner(c, stack->cell[i], in, c->inputs > 1 ? 1 + r->states : 1, .direction = c->direction,
                           .name = hr_layer_name(stack->cell[i]), .masks = masks, .made = &made);
        if (hr_node_exists(y)) hr__states_end(c, r->states, false, true, NULL, made.output + 1);
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
        if (!hr__is_cell(cell))
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer",
                           "cell %d: expected one of hr_lstm_cell and its kin, got %s%.60s", i, kind ? "a " : "NULL",
                           kind ? kind->name : "");
        for (int k = 0; k < i; k++)
            if (*hr_layer_name(cell) && strcmp(hr_layer_name(cell), hr_layer_name(stack->given.layer[k])) == 0)
                return hr_fail(err, HR_INVALID_ARGUMENT, "models.name",
                               "cells %d and %d: expected names of their own, got \"%.60s\" twice", k, i,
                               hr_layer_name(cell));
        states += ((const hr__recurrent_config *)hr_layer_config(cell))->states;
    }
    if (states <= HR__MOST_STATES) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected cells with at most %d states, got %d",
                   HR__MOST_STATES, states);
}

static const hr_layer_kind stack_kind = {
    .head = HR_LAYER_HEAD,
    .name = "StackedRNNCells",
    .config_size = sizeof(stack_config),
    .call = stack_call,
    .max_inputs = 1 + HR__MOST_STATES,
    .min_rank = 3,
    .max_rank = 3,
    .check = stack_check,
    .inner = stack_inner,
};

hr_layer *hr_stacked_rnn_cells_with(hr_layer_list cells, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    stack_config stack = {.given = cells.layer ? cells : (hr_layer_list){0}};
    for (int i = 0; i < stack.given.count && stack.count < HR__MOST_STATES; i++)
        stack.cell[stack.count++] = cells.layer[i];
    return hr_layer_new(&stack_kind, &stack, HR_LAYER_COMMON(&o));
}

/* ---- RNN ---- */

typedef struct rnn_config {
    hr_layer *cell; /* or several */
    hr_rnn_layer_opts o;
} rnn_config;

static hr_layer *rnn_inner(const void *config, int i) { return i == 0 ? ((const rnn_config *)config)->cell : NULL; }

/* Its states; gives the number of the output of the last cell among them, which is its first state. */
static int rnn_states(const hr_layer *cell, hr__recurrent_states *s)
{
    const stack_config *stack = hr_layer_kind_of(cell) == &stack_kind ? hr_layer_config(cell) : NULL;
    int first = 0;
    for (int i = 0; stack && i < stack->count; i++) {
        first = s->count;
        hr__states_add(s, hr_layer_config(stack->cell[i]), i);
    }
    if (!stack) hr__states_add(s, hr_layer_config(cell), 0);
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
    hr_node kept[HR__MOST_STATES], in[1 + HR__MOST_STATES] = {c->input[0]}, masks[1 + HR__MOST_STATES] = {c->mask[0]};
    hr__recurrent_states s = {0};
    hr_layer_call made;
    const int output = rnn_states(r->cell, &s);
    const bool given = hr__states_begin(c, &s, r->o.stateful, kept, in + 1);
    if (hr_graph_error(c->graph)) return hr_failed_node(c->graph);
    if (r->o.go_backwards != (c->direction == HR_LAYER_BACKWARD)) {
        in[0] = steps_reversed(in[0]);
        masks[0] = steps_reversed(masks[0]);
    }
    hr_layer_attribute(c, hr_layer_name(r->cell), "cell");
    const hr_node all = hr_layer_inner(c, r->cell, in, given ? 1 + s.count : 1, .name = hr_layer_name(r->cell),
                                       .masks = masks, .direction = HR_LAYER_FORWARD, .made = &made);
    if (!hr_node_exists(all)) return all;
    hr__states_end(c, s.count, r->o.stateful, r->o.return_state, kept, made.output + 1);
    if (r->o.return_sequences) c->output_mask[0] = c->mask[0];
    return rnn_result(c, r, all, masks[0], made.output[1 + output]);
}

static hr_status rnn_check(const void *config, hr_error *err)
{
    const hr_layer *cell = ((const rnn_config *)config)->cell;
    const hr_layer_kind *kind = cell ? hr_layer_kind_of(cell) : NULL;
    if (hr__is_cell(cell) || kind == &stack_kind) return HR_OK;
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
    .max_inputs = 1 + HR__MOST_STATES,
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
