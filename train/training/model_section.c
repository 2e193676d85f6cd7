/* The section `model:` of a training: which estimator, its columns, its optimizers, its head. */
#include "train/training/training_internal.h"
#include <stdio.h>
#include <string.h>

/* ---- the deep half ---- */

static hr_status model_read_dropout(hr_training *t, const hr__node *model, hr_error *err)
{
    HR_TRY(hr__config_double(model, "dnn_dropout", &t->dropout, err));
    if (t->dropout >= 0 && t->dropout < 1) return HR_OK;
    return hr__node_expected(hr__node_get(model, "dnn_dropout"), "a probability below 1", err);
}

static hr_status model_read_activation(hr_training *t, const hr__node *model, hr_error *err)
{
    const char *names[32];
    int64_t count = 0, which = 0;
    while (count < 32 && (names[count] = hr_activation_name_at((int)count))) count++;
    const hr__node *node = hr__node_get(model, "dnn_activation_fn");
    if (!node) return HR_OK;
    HR_TRY(hr__node_choice(node, "activation", names, count, &which, err));
    t->activation = hr_activation_named(names[which]);
    return HR_OK;
}

/* ---- the whole ---- */

/* The estimator by the file, or by `asked`, if that is not NULL: it is said over the file, which has one all the
 * same. */
static hr_status model_read_estimator(hr_training *t, const hr__node *model, const char *asked, hr_error *err)
{
    const char *names[32];
    char choice[512] = "";
    int64_t count = 0, which = 0;
    const hr__node *node;
    HR_TRY(hr__node_need(model, "estimator", &node, err));
    while (count < 32 && (names[count] = hr_estimator_name_at((int)count))) count++;
    HR_TRY(hr__node_choice(node, "estimator", names, count, &which, err));
    t->kind = hr__canned_named(asked ? asked : names[which]);
    if (t->kind) return HR_OK;
    for (int64_t i = 0, at = 0; i < count && at < (int64_t)sizeof choice; i++)
        at += snprintf(choice + at, sizeof choice - (size_t)at, "%s%s",
                       i == 0          ? ""
                       : i < count - 1 ? ", "
                                       : " or ",
                       names[i]);
    return hr_fail(err, HR_INVALID_ARGUMENT, "training.estimator", "expected %s, found \"%s\"", choice, asked);
}

static hr_status model_read_head(hr_training *t, const hr__node *model, hr_error *err)
{
    static const char *const keys[] = {"head", /* of an estimator of any head alone */
                                       "estimator",
                                       "label",
                                       "linear_feature_columns",
                                       "linear_optimizer",
                                       "dnn_optimizer",
                                       "dnn_feature_columns",
                                       "dnn_hidden_units",
                                       "dnn_dropout",
                                       "dnn_activation_fn",
                                       "batch_norm",
                                       "sparse_combiner",
                                       "sequence_feature_columns",
                                       "context_feature_columns",
                                       "units",
                                       "cell_type",
                                       "optimizer",
                                       "v1",
                                       "warm_start_from",
                                       NULL};
    HR_TRY(hr__config_bool(model, "v1", &t->v1, err));
    if (t->kind->head) return hr__training_read_head(t, model, t->kind->head, keys + 1, err);
    HR_TRY(hr__config_check_keys(model, keys, err));
    return hr__training_read_head_section(t, model, err);
}

static hr_status model_read_combiner(hr_training *t, const hr__node *model, hr_error *err)
{
    static const char *const names[] = {"mean", "sum", "sqrtn"};
    const hr__node *node = hr__node_get(model, "sparse_combiner");
    int64_t which = HR_SUM;
    if (node) HR_TRY(hr__node_choice(node, "combiner", names, 3, &which, err));
    t->combiner = (hr_combiner)which;
    return HR_OK;
}

hr_status hr__training_read_model(hr_training *t, const hr__node *root, const hr_training_opts *o, hr_error *err)
{
    const hr__node *model;
    HR_TRY(hr__node_need(root, "model", &model, err));
    HR_TRY(hr__node_is(model, HR__MAPPING, err));
    HR_TRY(hr__training_read_rate(t, root, err));
    HR_TRY(model_read_estimator(t, model, o->estimator, err));
    HR_TRY(model_read_head(t, model, err));
    HR_TRY(hr__training_read_warm_start(t, model, err));
    if (t->kind->make_rnn) HR_TRY(hr__training_read_rnn(t, model, err));
    if (t->kind->make_rnn) return hr__training_check_rate(t, err);
    HR_TRY(model_read_combiner(t, model, err));
    HR_TRY(hr__config_bool(model, "batch_norm", &t->batch_norm, err));
    if (t->kind->linear)
        HR_TRY(hr__training_read_columns(t, model, "linear_feature_columns", HR_LINEAR_MODEL, &t->linear, err));
    if (t->kind->linear || t->kind->baseline)
        HR_TRY(hr__training_read_optimizer(t, model, "linear_optimizer", "ftrl", &t->linear_optimizer, err));
    if (!t->kind->dnn) return hr__training_check_rate(t, err);
    HR_TRY(hr__training_read_columns(t, model, "dnn_feature_columns", HR_INPUT_LAYER, &t->dnn, err));
    HR_TRY(hr__training_read_optimizer(t, model, "dnn_optimizer", "adagrad", &t->dnn_optimizer, err));
    HR_TRY(hr__training_read_units(t, model, "dnn_hidden_units", err));
    HR_TRY(model_read_dropout(t, model, err));
    HR_TRY(model_read_activation(t, model, err));
    return hr__training_check_rate(t, err);
}
