/* RNN estimators: recurrent layers over the steps of sequence columns, then logits of the last step or of each.
 * Variables have the names of tf.estimator.experimental.RNNEstimator. */
#include "train/estimator/networks.h"
#include <headrace/graph_op.h>
#include <headrace/heads.h>
#include <string.h>

typedef struct rnn_model {
    hr_column_list sequence, context, all; /* own references; `all` is both, and borrows */
    int64_t *units;
    int layers;
    hr_rnn_fn *cell;
    bool return_sequences;
    hr_head *head;
    hr_optimizer *optimizer;
    hr_optimizer_fn *optimizer_fn;
    void *optimizer_user;
} rnn_model;

/* The options that RNN estimators have in common: their structs begin with these. */
typedef struct rnn_opts {
    size_t struct_size;
    HR_RNN_ESTIMATOR_OPTIONS
} rnn_opts;

/* ---- the network ---- */

/* The steps of all columns [n, steps, width], and how many each row has. */
static hr_node input_steps(const rnn_model *m, const hr_model_call *call, hr_node *lengths)
{
    const hr_node sequence = hr_sequence_features(call->features, m->sequence, lengths);
    if (call->mode == HR_MODE_TRAIN)
        hr_spec_summary(call->spec, "rnn_model/sequence_input_layer/sequence_length", hr_cast_to(*lengths, HR_FLOAT),
                        true);
    if (!m->context.count) return sequence;
    return hr_concatenate_context_input(hr_input_layer(call->features, m->context, .name = "dense_features"), sequence);
}

/* A batch of empty rows gets a step, which is masked: without any, nothing is the last one. */
static hr_node with_a_step(hr_node steps)
{
    hr_graph *g = steps.graph;
    const hr_shape shape = hr_node_shape(steps);
    if (shape.rank != 3) return steps; /* it has failed */
    const hr_node sizes = hr_shape_of(steps), one = hr_scalar(g, HR_INT32, 1);
    const hr_node rows = hr_strided_slice(sizes, {.at = HR_I64(0)}), count = hr_strided_slice(sizes, {.at = HR_I64(1)});
    const hr_node missing[] = {rows, hr_sub(one, hr_minimum(count, one)),
                               hr_scalar(g, HR_INT32, (double)shape.dims[2])};
    const hr_node added = hr_fill(hr_stack(missing, 3, 0), hr_scalar(g, hr_node_dtype(steps), 0));
    return hr_concat((const hr_node[]){steps, added}, 2, 1);
}

/* [n, units], or with return_sequences [n, steps, units]. */
static hr_node recurrent_layers(const rnn_model *m, hr_node x, hr_node lengths)
{
    hr_graph *g = x.graph;
    hr_variable_scope(g, "rnn");
    if (m->layers > 1) hr_variable_scope(g, "stacked_rnn_cells");
    for (int i = 0; i < m->layers; i++) {
        const hr_rnn_opts opts = {.struct_size = sizeof opts,
                                  .lengths = lengths,
                                  .return_sequences = m->return_sequences || i + 1 < m->layers,
                                  .cell_only = true};
        x = m->cell(x, m->units[i], &opts);
    }
    if (m->layers > 1) hr_scope_end(g);
    hr_scope_end(g);
    return x;
}

/* Which steps there are, bool [n, steps], of what is [n, steps, ...]. */
static hr_node mask_of_steps(hr_node steps, hr_node lengths)
{
    hr_graph *g = steps.graph;
    const hr_node count = hr_cast_to(hr_strided_slice(hr_shape_of(steps), {.at = HR_I64(1)}), HR_INT64);
    const hr_node places = hr_range_values(hr_scalar(g, HR_INT64, 0), count, hr_scalar(g, HR_INT64, 1));
    return hr_less(places, hr_reshape(lengths, hr_shape_const(g, HR_SHAPE(-1, 1))));
}

/* [n, dimension], or with return_sequences [n * steps, dimension], and the mask of the steps. */
static hr_node rnn_logits(const rnn_model *m, const hr_model_call *call, hr_node *mask)
{
    hr_graph *g = call->graph;
    hr_node lengths;
    const hr_node steps = with_a_step(input_steps(m, call, &lengths));
    hr_variable_scope(g, "rnn_model");
    hr_node net = recurrent_layers(m, steps, lengths);
    if (m->return_sequences) {
        *mask = mask_of_steps(steps, lengths);
        net = hr_reshape(net, hr_shape_const(g, HR_SHAPE(-1, m->units[m->layers - 1])));
    }
    const hr_node logits = hr_dense(net, hr_head_logits_dimension(m->head), .name = "logits");
    hr_scope_end(g);
    return logits;
}

/* ---- a head over each step ---- */

static hr_node flat(hr_node x) { return hr_reshape(x, hr_shape_const(x.graph, HR_SHAPE(-1))); }

/* `values` of a list, where the splits say that each row has as many as it has steps. */
static hr_node values_of_steps(hr_node values, hr_node splits, hr_node mask)
{
    const hr_view text =
        hr_text_view("a list of labels or weights: expected a value for each step, got another number");
    const hr_tensor message = hr_tensor_of(HR_STRING, HR_SCALAR, &text);
    const hr_node says = hr_const(mask.graph, &message);
    const hr_node ends = hr_strided_slice(splits, {.begin = HR_I64(1)});
    const hr_node counts = hr_sub(ends, hr_strided_slice(splits, {.end = HR_I64(-1)}));
    const hr_node steps = hr_reduce_sum(hr_cast_to(mask, HR_INT32), .axes = HR_I64(1), .axis_count = 1);
    const hr_node check = hr_assert(hr_reduce_all(hr_equal(counts, steps)), &says, 1);
    return hr_new_node(mask.graph, "Identity", HR_INPUTS(values), .controls = &check, .control_count = 1);
}

/* A component with one value for each step that there is. */
static hr_status add_steps(hr_features *to, const hr_features *from, const char *name, bool label, hr_node mask)
{
    const hr_node values = hr_feature_values(from, name), splits = hr_feature_row_splits(from, name), none = {0};
    const hr_node steps =
        hr_node_exists(splits) ? values_of_steps(values, splits, mask) : hr_boolean_mask(flat(values), flat(mask), 0);
    return hr_features_add(to, name, steps, none, label);
}

/* The first label and the weights, by step. Gives; NULL: no memory. */
static hr_features *features_of_steps(const rnn_model *m, const hr_features *from, hr_node mask)
{
    const char *weights = hr_head_options(m->head)->weight_column;
    const hr_node label = hr_label(from);
    hr_features *to = hr_features_new(mask.graph);
    hr_status st = to ? HR_OK : HR_RESOURCE_EXHAUSTED;
    for (int i = 0; st == HR_OK && i < hr_features_count(from); i++) {
        const char *name = hr_features_name(from, i);
        const hr_node values = hr_feature_values(from, name);
        const bool is_label = hr_node_exists(label) && values.id == label.id && values.output == label.output;
        if (is_label || (weights && strcmp(name, weights) == 0)) st = add_steps(to, from, name, is_label, mask);
    }
    if (st == HR_OK) return to;
    hr_features_free(to);
    return NULL;
}

/* Predictions of all steps [n * steps, ...] become [n, steps, ...]. */
static void shape_predictions(hr_estimator_spec *spec, hr_node mask)
{
    const hr_node by_row = hr_shape_of(mask);
    for (int i = 0; i < spec->predictions; i++) {
        const hr_node all = spec->prediction[i].node;
        const hr_node shape[] = {by_row, hr_strided_slice(hr_shape_of(all), {.begin = HR_I64(1)})};
        spec->prediction[i].node = hr_reshape(all, hr_concat(shape, 2, 0));
    }
    hr_spec_prediction(spec, "sequence_mask", mask);
}

/* Predicts for all steps, as TensorFlow; loss and metrics are over those that there are. */
static hr_status build_sequences(const rnn_model *m, const hr_model_call *call, hr_node logits, hr_node mask,
                                 hr_node *loss, hr_error *err)
{
    hr_model_call predict = *call, steps = *call;
    predict.mode = HR_MODE_PREDICT;
    hr_head_build(m->head, &predict, logits);
    shape_predictions(call->spec, mask);
    if (call->mode == HR_MODE_PREDICT) return HR_OK;

    hr_features *features = features_of_steps(m, call->features, mask);
    if (!features) return hr_no_memory(err, "the labels of steps");
    const int predictions = call->spec->predictions; /* those of the steps alone are not kept */
    steps.features = features;
    *loss = hr_head_build(m->head, &steps, hr_boolean_mask(logits, flat(mask), 0));
    call->spec->predictions = predictions;
    hr_features_free(features);
    return HR_OK;
}

/* ---- the model function ---- */

static hr_status rnn_fn(const hr_model_call *call, void *user, hr_error *err)
{
    const rnn_model *m = user;
    hr_node mask = {0}, loss = {0};
    const hr_node logits = rnn_logits(m, call, &mask);
    if (m->return_sequences)
        HR_TRY(build_sequences(m, call, logits, mask, &loss, err));
    else
        loss = hr_head_build(m->head, call, logits);
    if (call->mode != HR_MODE_TRAIN) return HR_OK;
    hr_optimizer *optimizer =
        m->optimizer_fn ? m->optimizer_fn(call->graph, m->optimizer_user) : hr_optimizer_ref(m->optimizer);
    hr_spec_train_op(call->spec, hr_minimize(optimizer, loss, .global_step = hr_global_step(call->graph),
                                             .name_prefix = "training"));
    return HR_OK;
}

static hr_dataset *rnn_input(hr_dataset *ds, void *user)
{
    const rnn_model *m = user;
    return hr__columns_input(ds, m->all, m->head);
}

/* ---- making ---- */

static void free_rnn(void *user)
{
    rnn_model *m = user;
    hr__columns_free(&m->sequence);
    hr__columns_free(&m->context);
    hr_free((void *)m->all.column);
    hr_free(m->units);
    hr_head_free(m->head);
    hr_optimizer_free(m->optimizer);
    hr_free(m);
}

/* What the options lack; an estimator that has them says so at its first use. */
static const char *rnn_lacks(const rnn_opts *o)
{
    if ((o->sequence_feature_columns.count && !o->sequence_feature_columns.column) ||
        (o->context_feature_columns.count && !o->context_feature_columns.column) || (o->units.count && !o->units.units))
        return "arrays of columns and units, got NULL with a count above 0";
    if (o->sequence_feature_columns.count < 1) return "sequence_feature_columns, got none";
    return o->units.count < 1 ? "units of at least one layer, got none" : NULL;
}

static bool fill_rnn(rnn_model *m, const rnn_opts *o)
{
    m->units = hr_memdup(o->units.units, sizeof *m->units * (size_t)o->units.count);
    m->layers = o->units.count;
    m->cell = o->cell_type ? o->cell_type : hr_simple_rnn_with;
    m->return_sequences = o->return_sequences;
    if (!m->optimizer && !m->optimizer_fn) m->optimizer = hr_adagrad(0.05f, .clipnorm = 5);
    return m->units && hr__columns_copy(o->sequence_feature_columns, &m->sequence) &&
           hr__columns_copy(o->context_feature_columns, &m->context) &&
           hr__columns_join(m->sequence, m->context, &m->all);
}

/* `given` begins with the common options. Takes the head. */
static hr_estimator *new_rnn(const void *given, hr_head *head)
{
    rnn_opts o;
    memcpy(&o, given, sizeof o);
    const char *lacks = rnn_lacks(&o);
    if (lacks) {
        o.sequence_feature_columns = o.context_feature_columns = (hr_column_list){0};
        o.units = (hr_units){0};
    }
    rnn_model *m = hr_calloc(1, sizeof *m);
    if (!m) {
        hr_optimizer_free(o.optimizer);
        hr_head_free(head);
        return NULL;
    }
    m->head = head;
    m->optimizer = o.optimizer;
    m->optimizer_fn = o.optimizer_fn;
    m->optimizer_user = o.optimizer_user;
    if (!fill_rnn(m, &o)) {
        free_rnn(m);
        return NULL;
    }
    hr_estimator *e = hr_estimator_new(rnn_fn, m, .model_dir = o.model_dir, .config = o.config, .user_free = free_rnn,
                                       .prepare = rnn_input);
    if (e) e->columns = m->all;
    if (e) hr__estimator_refuse(e, lacks, head);
    return e;
}

hr_estimator *hr_rnn_classifier_with(const hr_rnn_classifier_opts *given)
{
    const hr_rnn_classifier_opts o = HR_OPTIONS(hr_rnn_classifier_opts, given);
    const hr_head_opts head = {.struct_size = sizeof head,
                               .weight_column = o.weight_column,
                               .label_vocabulary = o.label_vocabulary,
                               .loss_reduction = o.loss_reduction};
    const bool binary = o.n_classes == 0 || o.n_classes == 2;
    return new_rnn(&o, binary ? hr_binary_class_head_with(&head) : hr_multi_class_head_with(o.n_classes, &head));
}

hr_estimator *hr_rnn_estimator_with(const hr_rnn_estimator_opts *given)
{
    const hr_rnn_estimator_opts o = HR_OPTIONS(hr_rnn_estimator_opts, given);
    return new_rnn(&o, o.head);
}

/* ---- as a file names them ---- */

const hr__canned hr__canned_rnn_classifier = {
    .name = "rnn_classifier", .head = "class", .make_rnn = hr_rnn_estimator_with};
const hr__canned hr__canned_rnn_estimator = {.name = "rnn_estimator", .make_rnn = hr_rnn_estimator_with};
