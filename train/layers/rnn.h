/* What recurrent layers share: a cell says its weights and one step, rnn.c does the rest. Not a public header. */
#ifndef HR_RNN_H
#define HR_RNN_H

#include "train/layers/layers_internal.h"

enum { HR__RNN_STATES = 2, HR__RNN_GATES = 4 };

/* A recurrent layer in the making. */
typedef struct hr__rnn {
    hr_graph *g;
    const struct hr__rnn_cell *cell;
    const hr_rnn_opts *opts;
    int64_t width, units;
    hr_node kernel, recurrent, bias;     /* values; `bias` none: without */
    hr_activation_fn *activation, *gate; /* of the new values, and of the gates */
    /* What each gate drops of inputs [n, width] and states [n, units]; none: nothing. */
    hr_node input_kept[HR__RNN_GATES], state_kept[HR__RNN_GATES];
} hr__rnn;

typedef struct hr__rnn_cell {
    const char *layer, *cell; /* scopes: "lstm", "lstm_cell" */
    int gates, states;        /* kernels are [.., gates * units] */
    bool bias_by_state; /* with .reset_before unset, the bias is [2, gates * units]: of inputs, and of the state */
    hr_initializer (*first_bias)(const hr_rnn_opts *opts);
    /* All steps in one node: x [steps, n, width] to the states after each of them. False: by step. May be NULL. */
    bool (*whole)(const hr__rnn *r, hr_node x, hr_node used, const hr_node *initial, hr_node *states);
    /* One step: x kernel + bias [n, gates * units], and the states before it, to those after it. */
    void (*step)(const hr__rnn *r, hr_graph *g, hr_node x, const hr_node *before, hr_node *after);
} hr__rnn_cell;

hr_node hr__rnn_layer(const hr__rnn_cell *cell, hr_node x, int64_t units, const hr_rnn_opts *opts);
/* The cell of hr_lstm_with and its kin; NULL: it is none of them. */
const hr__rnn_cell *hr__rnn_cell_of(hr_rnn_fn *layer);
/* The product of a state with the recurrent kernel of gates first .. last - 1. */
hr_node hr__rnn_product(const hr__rnn *r, hr_node state, int first, int last);
/* Part i of `count` equal ones along the last axis. */
void hr__rnn_split(hr_node x, int count, hr_node *parts);
hr_node hr__rnn_part(hr_node x, int64_t begin, int64_t end); /* along the last axis, of a matrix or a vector */

#endif
