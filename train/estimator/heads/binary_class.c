/* BinaryClassHead: labels from 0 to 1, one logit. */
#include <headrace/heads.h>
#include <stdio.h>

enum { LOGISTIC, CLASS_IDS };

static int64_t binary_dimension(const hr_head *head)
{
    (void)head;
    return 1;
}

static hr_status binary_check(const hr_head *head, hr_error *err)
{
    const int64_t words = hr_head_options(head)->label_vocabulary.count;
    if (words == 0 || words == 2) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "head.argument",
                   "head 'binary_class': expected a label_vocabulary of 2 strings, got %lld", (long long)words);
}

static void binary_predictions(hr_head_call *c)
{
    hr_node both[] = {hr_zeros_like(c->logits), c->logits};
    c->shared[LOGISTIC] = hr_sigmoid(c->logits, .name = "logistic");
    hr_spec_prediction(c->model->spec, "logits", c->logits);
    hr_spec_prediction(c->model->spec, "logistic", c->shared[LOGISTIC]);
    c->shared[CLASS_IDS] = hr_head_class_predictions(c, hr_softmax(hr_concat(both, 2, 1), .name = "probabilities"), 2);
}

static hr_node binary_losses(hr_head_call *c) { return hr_sigmoid_cross_entropy(c->logits, c->labels); }

static bool binary_takes(const hr_head *head, double label, char *expected, size_t size)
{
    (void)head;
    if (label >= 0 && label <= 1) return true;
    snprintf(expected, size, "0 or 1, or a number between, for a binary classifier");
    return false;
}

static void label_metrics(const hr_head_call *c)
{
    const hr_metric mean = hr_metric_mean(c->labels, .weights = c->weights, .name = "label/mean");
    const hr_node one = hr_scalar_like(mean.value, 1);
    const hr_metric baseline = {hr_maximum(mean.value, hr_sub(one, mean.value)), mean.update};
    hr_head_metric(c, "label/mean", mean);
    hr_head_metric(c, "accuracy_baseline", baseline);
}

static void binary_metrics(hr_head_call *c)
{
    const hr_head_opts *o = hr_head_options(c->head);
    const hr_node labels = c->labels, w = c->weights, p = c->shared[LOGISTIC];
    const hr_node positive = hr_cast_to(c->shared[CLASS_IDS], HR_FLOAT);
    hr_head_metric(c, "average_loss", hr_metric_mean(c->losses, .weights = w, .name = "average_loss"));
    hr_head_metric(c, "accuracy", hr_metric_accuracy(labels, positive, .weights = w, .name = "accuracy"));
    label_metrics(c);
    hr_head_metric(c, "prediction/mean", hr_metric_mean(p, .weights = w, .name = "prediction/mean"));
    hr_head_metric(c, "precision",
                   hr_metric_precision(labels, positive, .weights = w, .keras = !o->v1, .name = "precision"));
    hr_head_metric(c, "recall", hr_metric_recall(labels, positive, .weights = w, .keras = !o->v1, .name = "recall"));
    hr_head_metric(c, "auc", hr_metric_auc(labels, p, .weights = w, .keras = !o->v1, .name = "auc"));
    hr_head_metric(c, "auc_precision_recall",
                   hr_metric_auc(labels, p, .weights = w, .keras = !o->v1, .curve = HR_PR,
                                 .summation = o->v1 ? HR_TRAPEZOIDAL : HR_CAREFUL_INTERPOLATION,
                                 .name = "auc_precision_recall"));
    hr_head_threshold_metrics(c, p);
}

static void binary_exports(hr_head_call *c)
{
    hr_head_export_classes(c, hr_spec_predicted(c->model->spec, "probabilities"),
                           hr_spec_predicted(c->model->spec, "all_classes"));
    hr_head_export_values(c, c->shared[LOGISTIC]);
}

static const hr_head_kind binary_kind = {
    .head = HR_HEAD_HEAD,
    .name = "binary_class",
    .options = HR_HEAD_VOCABULARY | HR_HEAD_THRESHOLDS,
    .logits_dimension = binary_dimension,
    .predictions = binary_predictions,
    .losses = binary_losses,
    .metrics = binary_metrics,
    .takes_label = binary_takes,
    .check = binary_check,
    .exports = binary_exports,
};

hr_head *hr_binary_class_head_with(const hr_head_opts *opts) { return hr_head_new(&binary_kind, NULL, opts); }
