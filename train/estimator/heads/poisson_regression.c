/* PoissonRegressionHead: labels are counts, the logits are the logarithms of what is predicted. */
#include <headrace/heads.h>
#include <stdio.h>

static int64_t poisson_dimension(const hr_head *head) { return hr_head_options(head)->label_dimension; }

static void poisson_predictions(hr_head_call *c)
{
    c->shared[0] = hr_exp(c->logits);
    hr_spec_prediction(c->model->spec, "predictions", c->shared[0]);
    hr_spec_prediction(c->model->spec, "logits", c->logits);
}

static hr_node poisson_losses(hr_head_call *c) { return hr_log_poisson_loss(c->labels, c->logits, true); }

static void poisson_metrics(hr_head_call *c) { hr_head_regression_metrics(c, c->shared[0]); }

static bool poisson_takes(const hr_head *head, double label, char *expected, size_t size)
{
    (void)head;
    if (label >= 0) return true;
    snprintf(expected, size, "a count, 0 or more");
    return false;
}

static void poisson_exports(hr_head_call *c) { hr_head_export_values(c, c->shared[0]); }

static const hr_head_kind poisson_kind = {
    .head = HR_HEAD_HEAD,
    .name = "poisson_regression",
    .options = HR_HEAD_LABEL_DIMENSION,
    .logits_dimension = poisson_dimension,
    .predictions = poisson_predictions,
    .losses = poisson_losses,
    .metrics = poisson_metrics,
    .takes_label = poisson_takes,
    .exports = poisson_exports,
};

hr_head *hr_poisson_regression_head_with(const hr_head_opts *opts) { return hr_head_new(&poisson_kind, NULL, opts); }
