/* The networks of canned estimators: linear, DNN, both, or a bias alone. Variables have the names that TensorFlow's
 * canned estimators give them; the tags of summaries differ with .v1. */
#include "base/text.h"
#include "train/estimator/networks.h"
#include "train/layers/layers_internal.h"
#include <headrace/graph_op.h>
#include <headrace/heads.h>
#include <stdio.h>
#include <string.h>

/* ---- summaries ---- */

static hr_node zero_fraction(hr_node x) { return hr_reduce_mean(hr_cast_to(hr_equal(x, hr_zeros_like(x)), HR_FLOAT)); }

/* TensorFlow 1 writes the first scope twice. */
static void summarise_layer(const hr_model_call *call, network *net, int i, const char *root, const char *scope,
                            hr_node layer)
{
    if (call->mode != HR_MODE_TRAIN) return;
    const char *twice = net->v1 ? root : "";
    snprintf(net->layer[i].fraction, sizeof net->layer[i].fraction, "%s%s/fraction_of_zero_values", twice, scope);
    snprintf(net->layer[i].activation, sizeof net->layer[i].activation, "%s%s/activation", twice, scope);
    hr_spec_summary(call->spec, net->layer[i].fraction, zero_fraction(layer), false);
    hr_spec_summary(call->spec, net->layer[i].activation, layer, true);
}

/* Of all weights of the linear model together. A bias of several logits is a histogram. */
static void summarise_weights(const hr_model_call *call, bool v1)
{
    static const char scope[] = "linear/linear_model/", bias[] = "linear/linear_model/bias_weights";
    hr_graph *g = call->graph;
    hr_node zeros = hr_scalar(g, HR_FLOAT, 0);
    int64_t count = 0;
    if (call->mode != HR_MODE_TRAIN) return;
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const hr_variable_info *v = hr_graph_variable(g, i);
        if (strncmp(v->name, scope, sizeof scope - 1) != 0 || strcmp(v->name, bias) == 0) continue;
        zeros = hr_add(zeros, hr_reduce_sum(hr_cast_to(hr_equal(v->read, hr_zeros_like(v->read)), HR_FLOAT)));
        count += hr_shape_count(v->shape);
    }
    const hr_variable_info *b = hr_variable_named(g, bias);
    const bool several = b && hr_shape_count(b->shape) > 1;
    if (b)
        hr_spec_summary(call->spec, v1 ? "linear/bias" : "bias", several ? b->read : hr_reduce_sum(b->read), several);
    if (count)
        hr_spec_summary(call->spec, v1 ? "linear/fraction_of_zero_weights" : "fraction_of_zero_weights",
                        hr_div(zeros, hr_scalar(g, HR_FLOAT, (double)count)), false);
}

/* ---- logits ---- */

static hr_node batch_normalized(hr_graph *g, hr_node x, const char *layer, int i, bool training)
{
    const float momentum = 0.999f;
    char name[32];
    snprintf(name, sizeof name, "batchnorm_%d", i);
    hr_variable_scope(g, layer);
    x = hr_batch_normalization(x, .name = name, .training = training, .momentum = &momentum);
    hr_scope_end(g);
    return x;
}

static hr_node dnn_logits(const hr_model_call *call, network *c, int64_t dimension)
{
    hr_graph *g = call->graph;
    const bool training = call->mode == HR_MODE_TRAIN;
    hr_variable_scope(g, "dnn");
    hr_variable_scope(g, "input_from_feature_columns");
    hr_node net = hr_input_layer(call->features, c->dnn_columns, .freeze_shared = c->forgets_shared);
    hr_scope_end(g);
    for (int i = 0; i < c->hidden; i++) {
        char name[32], scope[40];
        snprintf(name, sizeof name, "hiddenlayer_%d", i);
        snprintf(scope, sizeof scope, "dnn/%s", name);
        net = hr_dense(net, c->units[i], .name = name, .activation = c->activation);
        if (c->dropout > 0 && training) net = hr_dropout(net, c->dropout);
        if (c->batch_norm) net = batch_normalized(g, net, name, i, training);
        if (i < MAX_LAYERS) summarise_layer(call, c, i, "dnn/", scope, net);
    }
    hr_node logits = hr_dense(net, dimension, .name = "logits");
    summarise_layer(call, c, MAX_LAYERS, "dnn/", "dnn/logits", logits);
    hr_scope_end(g);
    return logits;
}

static hr_node linear_logits(const hr_model_call *call, network *c, int64_t dimension)
{
    hr_variable_scope(call->graph, "linear");
    hr_node logits =
        hr_linear_model(call->features, c->linear_columns, .units = dimension, .sparse_combiner = &c->combiner);
    hr_scope_end(call->graph);
    if (c->combined) summarise_layer(call, c, MAX_LAYERS + 1, "linear/", "linear", logits);
    summarise_weights(call, c->v1);
    return logits;
}

/* The number of rows of a batch, int32 [1]. */
static hr_node count_rows(const hr_model_call *call)
{
    hr_graph *g = call->graph;
    const int64_t zero = 0, one = 1;
    const char *name = hr_features_name(call->features, 0);
    const hr_node known = hr__features_rows(call->features); /* of features that the graph makes */
    if (hr_node_exists(known)) return hr_reshape(hr_cast_to(known, HR_INT32), hr_ints(g, &one, 1));
    if (!name)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "estimator.argument",
                            "baseline: expected an input with a component, which tells the number of rows, got none");
    const hr_node splits = hr_feature_row_splits(call->features, name);
    const hr_node values = hr_node_exists(splits) ? splits : hr_feature_values(call->features, name);
    const hr_node single = hr_ints(g, &one, 1), count = hr_slice(hr_shape_of(values), hr_ints(g, &zero, 1), single);
    return hr_node_exists(splits) ? hr_sub(count, single) : count;
}

static hr_node baseline_logits(const hr_model_call *call, int64_t dimension)
{
    hr_graph *g = call->graph;
    const hr_node rows[] = {count_rows(call), hr_ints(g, &dimension, 1)};
    hr_variable_scope(g, "baseline");
    const hr_node bias = hr_get_variable(g, "bias", HR_FLOAT, HR_SHAPE(dimension), .initializer = hr_constant_value(0));
    hr_scope_end(g);
    const hr_node shape = hr_concat(rows, 2, 0);
    return hr_add(hr_fill(shape, hr_scalar(g, HR_FLOAT, 0)), bias);
}

hr_node hr__network_logits(network *net, const hr_model_call *call, int64_t dimension)
{
    if (net->baseline) return baseline_logits(call, dimension);
    hr_node logits = {0};
    if (net->dnn) logits = dnn_logits(call, net, dimension);
    if (!net->linear) return logits;
    const hr_node linear = linear_logits(call, net, dimension);
    return net->dnn ? hr_add(logits, linear) : linear;
}

/* ---- what canned estimators share ---- */

bool hr__columns_copy(hr_column_list from, hr_column_list *to)
{
    hr_feature_column **copy = hr_calloc((size_t)from.count + 1, sizeof *copy);
    if (!copy) return false;
    for (int i = 0; i < from.count; i++) copy[i] = hr_feature_column_ref(from.column[i]);
    *to = (hr_column_list){copy, from.count};
    return true;
}

void hr__columns_free(hr_column_list *list)
{
    for (int i = 0; i < list->count; i++) hr_feature_column_unref(list->column[i]);
    hr_free((void *)list->column);
}

bool hr__columns_join(hr_column_list a, hr_column_list b, hr_column_list *to)
{
    hr_feature_column **all = hr_calloc((size_t)(a.count + b.count) + 1, sizeof *all);
    if (!all) return false;
    for (int i = 0; i < a.count; i++) all[i] = a.column[i];
    for (int i = 0; i < b.count; i++) all[a.count + i] = b.column[i];
    *to = (hr_column_list){all, a.count + b.count};
    return true;
}

static const hr_field *component_of(const hr_dataset *ds, const char *name)
{
    const hr_schema *schema = hr_dataset_schema(ds);
    for (int i = 0; schema && i < schema->fields; i++)
        if (strcmp(schema->field[i].name, name) == 0) return &schema->field[i];
    return NULL;
}

/* Whether a line of `text` is that name. */
static bool has_line(const char *text, const char *name)
{
    const size_t size = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, name, size) == 0 && (line[size] == '\n' || !line[size])) return true;
    return false;
}

/* Adds a line to `keep` if the records have the component; labels are kept anyway. */
static void keep_component(const hr_dataset *ds, const char *name, hr__text *keep)
{
    const hr_field *field = name ? component_of(ds, name) : NULL;
    if (!field || field->label || has_line(keep->size ? keep->data : NULL, name)) return;
    hr__text_printf(keep, "%s%s", keep->size ? "\n" : "", name);
}

/* Labels and weights of a head and its parts. Records that are only scored may lack both. */
static void keep_of_head(const hr_dataset *ds, const hr_head *head, hr__text *keep)
{
    int parts;
    hr_head *const *part = hr__head_parts(head, &parts);
    keep_component(ds, hr_head_options(head)->weight_column, keep);
    keep_component(ds, hr__head_label_key(head), keep);
    for (int i = 0; i < parts; i++) keep_of_head(ds, part[i], keep);
}

hr_dataset *hr__columns_input(hr_dataset *ds, hr_column_list columns, const hr_head *head)
{
    hr__text keep = {0};
    if (head) keep_of_head(ds, head, &keep);
    hr_dataset *out = hr_transform_features(ds, columns, .keep = keep.size ? keep.data : NULL);
    hr__text_free(&keep);
    return out;
}

void hr__estimator_refuse(hr_estimator *e, const char *lacks, const hr_head *head)
{
    if (!head) lacks = "a head, got NULL";
    if (lacks)
        hr_fail(&e->wrong, HR_INVALID_ARGUMENT, "estimator.argument", "estimator: expected %s", lacks);
    else if (hr_head_error(head))
        e->wrong = *hr_head_error(head);
}
