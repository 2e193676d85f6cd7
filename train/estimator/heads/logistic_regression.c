/* LogisticRegressionHead: labels are probabilities, the logits are their log odds. */
#include <headrace/heads.h>
#include <stdio.h>

static int64_t logistic_dimension(const hr_head *head)
{
    (void)head;
    return 1;
}

static void logistic_predictions(hr_head_call *c)
{
    c->shared[0] = hr_sigmoid(c->logits);
    hr_spec_prediction(c->model->spec, "predictions", c->shared[0]);
    hr_spec_prediction(c->model->spec, "logits", c->logits);
}

static hr_node logistic_losses(hr_head_call *c) { return hr_sigmoid_cross_entropy(c->logits, c->labels); }

static void logistic_metrics(hr_head_call *c) { hr_head_regression_metrics(c, c->shared[0]); }

static bool logistic_takes(const hr_head *head, double label, char *expected, size_t size)
{
    (void)head;
    if (label >= 0 && label <= 1) return true;
    snprintf(expected, size, "a probability, from 0 to 1");
    return false;
}

static void logistic_exports(hr_head_call *c) { hr_head_export_values(c, c->shared[0]); }

static const hr_head_kind logistic_kind = {
    .head = HR_HEAD_HEAD,
    .name = "logistic_regression",
    .logits_dimension = logistic_dimension,
    .predictions = logistic_predictions,
    .losses = logistic_losses,
    .metrics = logistic_metrics,
    .takes_label = logistic_takes,
    .exports = logistic_exports,
};

hr_head *hr_logistic_regression_head_with(const hr_head_opts *opts) { return hr_head_new(&logistic_kind, NULL, opts); }
