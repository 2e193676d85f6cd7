/* Predictions and metrics that several heads have in common. */
#include <headrace/heads.h>
#include <headrace/text_ops.h>
#include <stdio.h>

/* ---- predictions of classes ---- */

/* [n, classes] of the values of all classes, for a batch of n. */
static hr_node for_each_row(hr_node values, hr_node batch)
{
    hr_graph *g = values.graph;
    const int64_t zero = 0, one = 1;
    const hr_node single = hr_ints(g, &one, 1);
    hr_node times[] = {hr_slice(hr_shape_of(batch), hr_ints(g, &zero, 1), single), single};
    return hr_tile(hr_expand_dims(values, hr_scalar(g, HR_INT32, 0)), hr_concat(times, 2, 0));
}

/* "0", "1", ... as strings, or the words of the vocabulary. */
static hr_node class_names(const hr_head_call *c, hr_node ids)
{
    const hr_vocabulary_list *v = &hr_head_options(c->head)->label_vocabulary;
    const hr_tensor words = hr_tensor_of(HR_STRING, HR_SHAPE(v->count), v->views);
    return v->count ? hr_const(c->model->graph, &words) : hr_as_string(ids);
}

/* 0, 1, ...: int32 [classes]. */
static hr_node class_numbers(hr_graph *g, int64_t classes)
{
    return hr_range_values(hr_scalar(g, HR_INT32, 0), hr_scalar(g, HR_INT32, (double)classes),
                           hr_scalar(g, HR_INT32, 1));
}

hr_node hr_head_all_classes(const hr_head_call *c, int64_t classes)
{
    if (!c) return (hr_node){0};
    return for_each_row(class_names(c, class_numbers(c->model->graph, classes)), c->logits);
}

hr_node hr_head_class_predictions(const hr_head_call *c, hr_node probabilities, int64_t classes)
{
    if (!c) return (hr_node){0};
    hr_graph *g = c->model->graph;
    hr_estimator_spec *spec = c->model->spec;
    const hr_node axis = hr_scalar(g, HR_INT32, 1);
    const hr_node ids = class_numbers(g, classes);
    const hr_node names = class_names(c, ids);
    const hr_node class_ids = hr_expand_dims(hr_argmax(probabilities, 1), axis, .name = "class_ids");
    hr_spec_prediction(spec, "probabilities", probabilities);
    hr_spec_prediction(spec, "class_ids", class_ids);
    hr_spec_prediction(spec, "classes", hr_gather(names, class_ids, 0));
    hr_spec_prediction(spec, "all_class_ids", for_each_row(ids, c->logits));
    hr_spec_prediction(spec, "all_classes", hr_head_all_classes(c, classes));
    return class_ids;
}

/* ---- metrics of regressions ---- */

void hr_head_regression_metrics(const hr_head_call *c, hr_node predictions)
{
    if (!c) return;
    hr_head_metric(c, "average_loss", hr_metric_mean(c->losses, .weights = c->weights, .name = "average_loss"));
    hr_head_metric(c, "prediction/mean", hr_metric_mean(predictions, .weights = c->weights, .name = "prediction/mean"));
    hr_head_metric(c, "label/mean", hr_metric_mean(c->labels, .weights = c->weights, .name = "label/mean"));
}

/* ---- metrics at thresholds ---- */

/* TensorFlow 1 takes a probability that is equal to the threshold as positive here, but not elsewhere. */
static hr_metric accuracy_at(const hr_head_call *c, hr_node p, float threshold, bool v1, const char *name)
{
    const hr_node t = hr_scalar_like(p, (double)threshold);
    const hr_node positive = hr_cast_to(v1 ? hr_greater_equal(p, t) : hr_greater(p, t), HR_FLOAT);
    return hr_metric_accuracy(c->labels, positive, .weights = c->weights, .name = name);
}

static void threshold_metrics(const hr_head_call *c, hr_node p, float threshold, bool v1)
{
    const float *at = v1 ? NULL : &threshold, *list = v1 ? &threshold : NULL;
    char key[64];
    snprintf(key, sizeof key, "accuracy/positive_threshold_%g", (double)threshold);
    hr_head_metric(c, key, accuracy_at(c, p, threshold, v1, key));
    snprintf(key, sizeof key, "precision/positive_threshold_%g", (double)threshold);
    hr_head_metric(c, key,
                   hr_metric_precision(c->labels, p, .weights = c->weights, .keras = !v1, .threshold = at,
                                       .thresholds = list, .threshold_count = v1, .name = key));
    snprintf(key, sizeof key, "recall/positive_threshold_%g", (double)threshold);
    hr_head_metric(c, key,
                   hr_metric_recall(c->labels, p, .weights = c->weights, .keras = !v1, .threshold = at,
                                    .thresholds = list, .threshold_count = v1, .name = key));
}

void hr_head_threshold_metrics(const hr_head_call *c, hr_node probabilities)
{
    if (!c) return;
    const hr_head_opts *o = hr_head_options(c->head);
    for (int i = 0; i < o->threshold_count; i++) threshold_metrics(c, probabilities, o->thresholds[i], o->v1);
}
