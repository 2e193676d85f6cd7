/* MultiLabelHead: classes that do not exclude each other, one logit a class. */
#include <headrace/heads.h>
#include <stdio.h>

enum { PROBABILITIES };

static int64_t labels_of(const hr_head *head) { return *(const int64_t *)hr_head_state(head); }

static hr_status refuse(hr_error *err, const char *expected, int64_t got)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "head.argument", "head 'multi_label': expected %s, got %lld", expected,
                   (long long)got);
}

static hr_status multi_label_check(const hr_head *head, hr_error *err)
{
    const hr_head_opts *o = hr_head_options(head);
    const int64_t classes = labels_of(head);
    if (classes < 2 || classes > INT32_MAX) return refuse(err, "2 or more classes", classes);
    if (o->v1) return refuse(err, "no .v1, which has no such head", 1);
    for (int i = 0; i < o->metric_class_count; i++)
        if (o->metric_classes[i] < 0 || o->metric_classes[i] >= classes)
            return refuse(err, "metric_classes from 0 to the number of classes", o->metric_classes[i]);
    return HR_OK;
}

static void multi_label_predictions(hr_head_call *c)
{
    c->shared[PROBABILITIES] = hr_sigmoid(c->logits, .name = "probabilities");
    hr_spec_prediction(c->model->spec, "logits", c->logits);
    hr_spec_prediction(c->model->spec, "probabilities", c->shared[PROBABILITIES]);
    hr_spec_prediction(c->model->spec, "classes", hr_head_all_classes(c, labels_of(c->head)));
}

static hr_node multi_label_losses(hr_head_call *c)
{
    const int64_t axis = 1;
    return hr_reduce_mean(hr_sigmoid_cross_entropy(c->logits, c->labels), .axes = &axis, .axis_count = 1,
                          .keep_dims = true);
}

static bool multi_label_takes(const hr_head *head, double label, char *expected, size_t size)
{
    (void)head;
    if (label == 0 || label == 1) return true;
    snprintf(expected, size, "0 or 1 for each class");
    return false;
}

/* Of one class alone: [n, 1]. */
static void class_metrics(const hr_head_call *c, int64_t class)
{
    const hr_node at = hr_ints(c->model->graph, &class, 1);
    const hr_node p = hr_gather(c->shared[PROBABILITIES], at, 1), labels = hr_gather(c->labels, at, 1);
    char key[64];
    snprintf(key, sizeof key, "probability_mean/class%lld", (long long)class);
    hr_head_metric(c, key, hr_metric_mean(p, .weights = c->weights, .name = key));
    snprintf(key, sizeof key, "auc/class%lld", (long long)class);
    hr_head_metric(c, key, hr_metric_auc(labels, p, .weights = c->weights, .keras = true, .name = key));
    snprintf(key, sizeof key, "auc_precision_recall/class%lld", (long long)class);
    hr_head_metric(c, key,
                   hr_metric_auc(labels, p, .weights = c->weights, .keras = true, .curve = HR_PR,
                                 .summation = HR_CAREFUL_INTERPOLATION, .name = key));
}

static void multi_label_metrics(hr_head_call *c)
{
    const hr_head_opts *o = hr_head_options(c->head);
    const hr_node p = c->shared[PROBABILITIES], w = c->weights;
    hr_head_metric(c, "average_loss", hr_metric_mean(c->losses, .weights = w, .name = "average_loss"));
    hr_head_metric(c, "auc", hr_metric_auc(c->labels, p, .weights = w, .keras = true, .name = "auc"));
    hr_head_metric(c, "auc_precision_recall",
                   hr_metric_auc(c->labels, p, .weights = w, .keras = true, .curve = HR_PR,
                                 .summation = HR_CAREFUL_INTERPOLATION, .name = "auc_precision_recall"));
    hr_head_threshold_metrics(c, p);
    for (int i = 0; i < o->metric_class_count; i++) class_metrics(c, o->metric_classes[i]);
}

static void multi_label_exports(hr_head_call *c)
{
    hr_head_export_classes(c, c->shared[PROBABILITIES], hr_spec_predicted(c->model->spec, "classes"));
}

static const hr_head_kind multi_label_kind = {
    .head = HR_HEAD_HEAD,
    .name = "multi_label",
    .state_size = sizeof(int64_t),
    .options = HR_HEAD_THRESHOLDS | HR_HEAD_METRIC_CLASSES,
    .logits_dimension = labels_of,
    .predictions = multi_label_predictions,
    .losses = multi_label_losses,
    .metrics = multi_label_metrics,
    .takes_label = multi_label_takes,
    .check = multi_label_check,
    .exports = multi_label_exports,
};

hr_head *hr_multi_label_head_with(int64_t n_classes, const hr_head_opts *opts)
{
    return hr_head_new(&multi_label_kind, &n_classes, opts);
}
