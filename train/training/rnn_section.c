/* The keys of an RNN estimator in the section `model:`: its sequences, its layers, its optimizer. */
#include "train/training/training_internal.h"
#include <headrace/layers.h>

static hr_status rnn_read_cell(hr_training *t, const hr__node *model, hr_error *err)
{
    static const char *const names[] = {"simple_rnn", "lstm", "gru"};
    static hr_rnn_fn *const cells[] = {hr_simple_rnn_with, hr_lstm_with, hr_gru_with};
    const hr__node *node = hr__node_get(model, "cell_type");
    int64_t which = 0;
    if (node) HR_TRY(hr__node_choice(node, "cell", names, 3, &which, err));
    t->cell = cells[which];
    return HR_OK;
}

/* Without one in the file it is the estimator's own, clipped, with the training's learning rate. */
static hr_status rnn_read_optimizer(hr_training *t, const hr__node *model, hr_error *err)
{
    const hr__node *node = hr__node_get(model, "optimizer");
    double rate;
    if ((node && !hr__node_is_null(node)) || !t->rate_node)
        return hr__training_read_optimizer(t, model, "optimizer", "adagrad", &t->dnn_optimizer, err);
    HR_TRY(hr__node_double(t->rate_node, &rate, err));
    t->dnn_optimizer = hr_adagrad((float)rate, .clipnorm = 5);
    t->rate_used = true;
    return t->dnn_optimizer ? HR_OK : hr_no_memory(err, "an optimizer");
}

hr_status hr__training_read_rnn(hr_training *t, const hr__node *model, hr_error *err)
{
    if (t->v1) return hr__node_expected(hr__node_get(model, "v1"), "false: an RNN estimator has no form of v1", err);
    if (t->warms)
        return hr__node_expected(hr__node_get(model, "warm_start_from"),
                                 "no warm start: an RNN estimator begins with its initial values", err);
    HR_TRY(hr__training_read_columns(t, model, "sequence_feature_columns", HR_SEQUENCE_FEATURES, &t->sequence, err));
    if (hr__node_get(model, "context_feature_columns"))
        HR_TRY(hr__training_read_columns(t, model, "context_feature_columns", HR_INPUT_LAYER, &t->context, err));
    HR_TRY(hr__training_read_units(t, model, "units", err));
    if (t->unit_count == 0) return hr__node_expected(hr__node_get(model, "units"), "the width of a layer or more", err);
    HR_TRY(rnn_read_cell(t, model, err));
    return rnn_read_optimizer(t, model, err);
}
