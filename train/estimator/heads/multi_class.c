/* MultiClassHead: labels are classes, one logit a class. */
#include <headrace/heads.h>
#include <headrace/graph_op.h>
#include <stdio.h>

enum { CLASS_IDS };

static int64_t classes_of(const hr_head *head) { return *(const int64_t *)hr_head_state(head); }

static hr_status multi_check(const hr_head *head, hr_error *err)
{
    const int64_t classes = classes_of(head), words = hr_head_options(head)->label_vocabulary.count;
    if (classes < 3 || classes > INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "head.argument",
                       "head 'multi_class': expected 3 or more classes, got %lld; of two there is the binary head",
                       (long long)classes);
    if (words == 0 || words == classes) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "head.argument",
                   "head 'multi_class': expected a label_vocabulary of %lld strings, got %lld", (long long)classes,
                   (long long)words);
}

static void multi_predictions(hr_head_call *c)
{
    hr_spec_prediction(c->model->spec, "logits", c->logits);
    c->shared[CLASS_IDS] =
        hr_head_class_predictions(c, hr_softmax(c->logits, .name = "probabilities"), classes_of(c->head));
}

static hr_node multi_labels(hr_head_call *c, hr_node label)
{
    const int64_t shape[] = {-1, 1};
    const hr_dtype dtype = hr_node_dtype(label);
    if (dtype == HR_FLOAT || dtype == HR_DOUBLE)
        return hr_node_fail(c->model->graph, HR_INVALID_ARGUMENT, "estimator.label",
                            "head 'multi_class': expected whole numbers as labels, but label '%.60s' is %s",
                            hr_node_name(label), hr_dtype_name(dtype));
    return hr_reshape(hr_cast_to(label, HR_INT64), hr_ints(c->model->graph, shape, 2));
}

static hr_node multi_losses(hr_head_call *c)
{
    const int64_t flat[] = {-1}, column[] = {-1, 1};
    hr_graph *g = c->model->graph;
    const hr_node labels = hr_reshape(c->labels, hr_ints(g, flat, 1));
    const hr_node losses = hr_sparse_softmax_cross_entropy_with_logits(labels, c->logits);
    return hr_reshape(losses, hr_ints(g, column, 2));
}

static bool multi_takes(const hr_head *head, double label, char *expected, size_t size)
{
    if (label >= 0 && label < (double)classes_of(head)) return true;
    snprintf(expected, size, "a class from 0 to %lld", (long long)classes_of(head) - 1);
    return false;
}

static void multi_metrics(hr_head_call *c)
{
    const hr_node w = c->weights;
    hr_head_metric(c, "average_loss", hr_metric_mean(c->losses, .weights = w, .name = "average_loss"));
    hr_head_metric(c, "accuracy",
                   hr_metric_accuracy(c->labels, c->shared[CLASS_IDS], .weights = w, .name = "accuracy"));
}

static void multi_exports(hr_head_call *c)
{
    hr_head_export_classes(c, hr_spec_predicted(c->model->spec, "probabilities"),
                           hr_spec_predicted(c->model->spec, "all_classes"));
}

static const hr_head_kind multi_kind = {
    .head = HR_HEAD_HEAD,
    .name = "multi_class",
    .state_size = sizeof(int64_t),
    .options = HR_HEAD_VOCABULARY,
    .logits_dimension = classes_of,
    .predictions = multi_predictions,
    .labels = multi_labels,
    .losses = multi_losses,
    .metrics = multi_metrics,
    .takes_label = multi_takes,
    .check = multi_check,
    .exports = multi_exports,
};

hr_head *hr_multi_class_head_with(int64_t n_classes, const hr_head_opts *opts)
{
    return hr_head_new(&multi_kind, &n_classes, opts);
}
