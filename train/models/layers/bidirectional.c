/* Bidirectional: a recurrent layer forward and backward over the same steps. */
#include <headrace/model_layers.h>

#include <stdio.h>

typedef struct bidirectional_config {
    hr_layer *forward, *backward; /* backward NULL: the same arguments, turned round */
    hr_merge_mode merge;
    bool no_merge;
} bidirectional_config;

static hr_layer *bidirectional_inner(const void *config, int i)
{
    const bidirectional_config *b = config;
    return i == 0 ? b->forward : i == 1 && b->forward ? b->backward : NULL;
}

static hr_node bidirectional_merged(const bidirectional_config *b, hr_node forward, hr_node backward)
{
    const hr_node both[] = {forward, backward};
    switch (b->merge) {
    case HR_MERGE_SUM:
        return hr_add(forward, backward);
    case HR_MERGE_MUL:
        return hr_mul(forward, backward);
    case HR_MERGE_AVE:
        return hr_div(hr_add(forward, backward), hr_scalar_like(forward, 2));
    default:
        return hr_concat(both, 2, -1);
    }
}

/* One direction: its layer reads the steps, and its half of the initial states. */
static hr_node bidirectional_run(hr_layer_call *c, const bidirectional_config *b, bool backward, hr_layer_call *made)
{
    const hr_layer *layer = backward && b->backward ? b->backward : b->forward;
    const int half = (c->inputs - 1) / 2;
    hr_node inputs[HR_MAX_LAYER_INPUTS] = {c->input[0]}, masks[HR_MAX_LAYER_INPUTS] = {c->mask[0]};
    char name[300];
    (void)snprintf(name, sizeof name, "%s_%.250s", backward ? "backward" : "forward", hr_layer_name(layer));
    hr_layer_attribute(c, name, backward ? "backward_layer" : "forward_layer");
    for (int i = 0; i < half; i++) inputs[1 + i] = c->input[1 + i + (backward ? half : 0)];
    /* A layer of its own for that way says itself that it goes backwards. */
    return hr_layer_inner(c, layer, inputs, 1 + half, .name = name, .masks = masks, .made = made,
                          .direction = backward && !b->backward ? HR_LAYER_BACKWARD : HR_LAYER_FORWARD);
}

static hr_node bidirectional_call(hr_layer_call *c, void *config)
{
    const bidirectional_config *b = config;
    hr_layer_call made[2];
    hr_node y[2];
    if (c->inputs % 2 == 0)
        return hr_layer_fail(c, "models.inputs", "expected 1 input, or initial states for both directions, got %d",
                             c->inputs);
    for (int i = 0; i < 2; i++) {
        y[i] = bidirectional_run(c, b, i == 1, &made[i]);
        if (!hr_node_exists(y[i])) return y[i];
    }
    if (hr_node_shape(y[1]).rank == 3) y[1] = hr_reverse(y[1], hr_ints(c->graph, HR_I64(1), 1));
    c->output_mask[0] = made[0].output_mask[0];
    if (b->no_merge) {
        c->output_mask[c->outputs] = made[1].output_mask[0];
        c->output[c->outputs++] = y[1];
    }
    for (int i = 0; i < 2; i++)
        for (int k = 1; k < made[i].outputs; k++) c->output[c->outputs++] = made[i].output[k];
    return b->no_merge ? hr_identity(y[0]) : bidirectional_merged(b, y[0], y[1]);
}

static hr_status bidirectional_check(const void *config, hr_error *err)
{
    const bidirectional_config *b = config;
    for (int i = 0; i < 2; i++) {
        const hr_layer *layer = i == 0 ? b->forward : b->backward;
        if (!layer && i == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer", "expected a recurrent layer, got NULL");
        if (layer && !(hr_layer_kind_of(layer)->traits & HR_LAYER_RECURRENT))
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer",
                           "expected a recurrent layer, such as LSTM, got a %.60s", hr_layer_kind_of(layer)->name);
    }
    if ((unsigned)b->merge <= HR_MERGE_AVE) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a merge of hr_merge_mode, got %d",
                   (int)b->merge);
}

static const hr_layer_kind bidirectional_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Bidirectional",
    .config_size = sizeof(bidirectional_config),
    .call = bidirectional_call,
    .max_inputs = HR_MAX_LAYER_INPUTS - 1,
    .min_rank = 3,
    .max_rank = 3,
    .check = bidirectional_check,
    .inner = bidirectional_inner,
};

hr_layer *hr_bidirectional_layer_with(hr_layer *layer, const hr_bidirectional_layer_opts *opts)
{
    const hr_bidirectional_layer_opts o = HR_OPTIONS(hr_bidirectional_layer_opts, opts);
    return hr_layer_new(&bidirectional_kind, &(bidirectional_config){layer, o.backward_layer, o.merge, o.no_merge},
                        HR_LAYER_COMMON(&o));
}
