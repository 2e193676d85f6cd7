/* A recurrent layer in both directions. */
#include "train/layers/rnn.h"

#include <stdio.h>

static hr_node merged(hr_node forward, hr_node backward, hr_merge_mode mode)
{
    switch (mode) {
    case HR_MERGE_SUM:
        return hr_add(forward, backward);
    case HR_MERGE_MUL:
        return hr_mul(forward, backward);
    case HR_MERGE_AVE:
        return hr_div(hr_add(forward, backward), hr_scalar_like(forward, 2));
    default:
        return hr_concat((const hr_node[]){forward, backward}, 2, -1);
    }
}

hr_node hr_bidirectional_with(hr_rnn_fn *layer, hr_node x, int64_t units, const hr_rnn_opts *given)
{
    const hr_rnn_opts opts = HR_OPTIONS(hr_rnn_opts, given);
    const hr__rnn_cell *cell = hr__rnn_cell_of(layer);
    char both[2][32];
    hr_node y[2];
    if (!hr_node_exists(x) && cell)
        for (int i = 0; opts.state && i < 2 * cell->states; i++) opts.state[i] = hr_failed_node(x.graph);
    if (!hr_node_exists(x)) return x;
    if (!cell)
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "bidirectional: expected hr_simple_rnn_with, hr_lstm_with or hr_gru_with, got %s",
                            layer ? "another function" : "none");
    snprintf(both[0], sizeof both[0], "forward_%s", cell->layer);
    snprintf(both[1], sizeof both[1], "backward_%s", cell->layer);
    hr__layer_begin(x.graph, opts.name, "bidirectional");
    for (int i = 0; i < 2; i++) {
        hr_rnn_opts each = opts;
        each.struct_size = sizeof each;
        each.name = both[i];
        each.cell_only = false;
        each.go_backwards = opts.go_backwards != (i == 1);
        each.zero_masked = opts.return_sequences;
        if (opts.initial_state) each.initial_state = opts.initial_state + i * cell->states;
        if (opts.state) each.state = opts.state + i * cell->states;
        y[i] = hr__rnn_layer(cell, x, units, &each);
    }
    if (opts.return_sequences) y[1] = hr_reverse(y[1], hr_ints(x.graph, HR_I64(1), 1));
    const hr_node out = merged(y[0], y[1], opts.merge);
    hr_scope_end(x.graph);
    return out;
}
