/* What the halves of models, and RNNs, have in common in a file: optimizers and their rate, widths, lists of columns. */
#include "train/training/training_internal.h"
#include <string.h>

/* ---- optimizers ---- */

/* The mapping of one optimizer: parameters by their names. The training's learning rate is that of an optimizer
 * without one. */
static hr_status model_read_parameters(hr_training *t, const hr__node *node, hr_optimizer **out, hr_error *err)
{
    const hr__node *options = node->item[0];
    hr_parameter parameter[17];
    int count = 0;
    bool rate = false;
    const char *const *known = hr_optimizer_parameters(node->key[0]->text);
    if (known && !hr__node_is_null(options)) HR_TRY(hr__config_check_keys(options, known, err));
    for (int64_t i = 0; i < options->count && count < 16; i++) {
        hr_parameter *p = &parameter[count++];
        p->name = options->key[i]->text;
        HR_TRY(hr__node_double(options->item[i], &p->value, err));
        if (strcmp(p->name, "learning_rate") != 0) continue;
        rate = true;
        if (!(p->value > 0)) return hr__node_expected(options->item[i], "a learning rate above 0", err);
    }
    if (!rate && t->rate_node) {
        parameter[count].name = "learning_rate";
        HR_TRY(hr__node_double(t->rate_node, &parameter[count++].value, err));
        t->rate_used = true;
    }
    *out = hr_optimizer_named(node->key[0]->text, parameter, count, t->v1 ? HR_V1_OPTIMIZERS : HR_LEGACY_OPTIMIZERS);
    return HR_OK;
}

static hr_status model_read_name(hr_training *t, const char *name, hr_optimizer **out, hr_error *err)
{
    hr_parameter rate = {.name = "learning_rate"};
    if (t->rate_node) HR_TRY(hr__node_double(t->rate_node, &rate.value, err));
    t->rate_used |= t->rate_node != NULL;
    *out = hr_optimizer_named(name, &rate, t->rate_node ? 1 : 0, t->v1 ? HR_V1_OPTIMIZERS : HR_LEGACY_OPTIMIZERS);
    return HR_OK;
}

hr_status hr__training_read_optimizer(hr_training *t, const hr__node *model, const char *key, const char *usual,
                                      hr_optimizer **out, hr_error *err)
{
    const hr__node *node = hr__node_get(model, key);
    if (node && hr__node_is_null(node)) node = NULL;
    if (!node && !t->rate_node) return HR_OK;
    if (!node)
        HR_TRY(model_read_name(t, usual, out, err));
    else if (node->kind == HR__SCALAR)
        HR_TRY(model_read_name(t, node->text, out, err));
    else if (node->kind != HR__MAPPING || node->count != 1)
        return hr__node_expected(node, "one optimizer, such as {adagrad: {learning_rate: 0.05}}", err);
    else
        HR_TRY(model_read_parameters(t, node, out, err));
    const hr_error *failed = hr_optimizer_error(*out);
    if (!failed) return HR_OK;
    return hr__node_fail(node ? node : t->rate_node, err, failed->code, failed->kind, "%s", failed->text);
}

/* The rate that no optimizer takes would be a change without an effect. */
hr_status hr__training_read_rate(hr_training *t, const hr__node *root, hr_error *err)
{
    double rate;
    t->rate_node = hr__node_get(hr__node_get(root, "train"), "learning_rate");
    if (t->rate_node && hr__node_is_null(t->rate_node)) t->rate_node = NULL;
    if (!t->rate_node) return HR_OK;
    HR_TRY(hr__node_double(t->rate_node, &rate, err));
    return rate > 0 ? HR_OK : hr__node_expected(t->rate_node, "a learning rate above 0", err);
}

hr_status hr__training_check_rate(const hr_training *t, hr_error *err)
{
    if (!t->rate_node || t->rate_used) return HR_OK;
    return hr__node_fail(
        t->rate_node, err, HR_INVALID_ARGUMENT, "training.learning_rate",
        "expected an optimizer without a learning_rate of its own; change those of the model's optimizers");
}

/* ---- widths ---- */

hr_status hr__training_read_units(hr_training *t, const hr__node *model, const char *key, hr_error *err)
{
    const hr__node *list;
    HR_TRY(hr__node_need(model, key, &list, err));
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    t->units = hr_calloc((size_t)list->count + 1, sizeof *t->units);
    if (!t->units) return hr_no_memory(err, "hidden units");
    for (int64_t i = 0; i < list->count; i++) HR_TRY(hr__node_int64(list->item[i], 1, 1000000, &t->units[i], err));
    t->unit_count = list->count;
    return HR_OK;
}

/* ---- columns ---- */

/* What the layers would refuse later is refused here, at its place. */
static hr_status model_check_columns(hr_column_list columns, hr_column_layer layer, const hr__node *at, hr_error *err)
{
    hr_error refused;
    const hr_feature_column **sorted = hr_calloc((size_t)columns.count + 1, sizeof *sorted);
    if (!sorted) return hr_no_memory(err, "a list of columns");
    hr_status st = hr_sort_columns(columns, layer, sorted, &refused);
    hr_free(sorted);
    if (st == HR_OK) return HR_OK;
    return hr__node_fail(at, err, st, refused.kind, "%s", refused.text);
}

hr_status hr__training_read_columns(hr_training *t, const hr__node *model, const char *key, hr_column_layer layer,
                                    hr_column_list *out, hr_error *err)
{
    const hr__node *list;
    HR_TRY(hr__node_need(model, key, &list, err));
    HR_TRY(hr__column_list_from_config(t->columns, list, out, err));
    for (int i = 0; i < out->count; i++) {
        hr_column_list one = {out->column + i, 1};
        HR_TRY(model_check_columns(one, layer, i < list->count ? list->item[i] : list, err));
    }
    return model_check_columns(*out, layer, list, err);
}
