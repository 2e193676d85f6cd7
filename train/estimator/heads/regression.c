/* RegressionHead: labels are numbers, the logits are the predictions. */
#include <headrace/heads.h>

static int64_t regression_dimension(const hr_head *head) { return hr_head_options(head)->label_dimension; }

static void regression_predictions(hr_head_call *c) { hr_spec_prediction(c->model->spec, "predictions", c->logits); }

static hr_node regression_losses(hr_head_call *c) { return hr_squared_difference(c->labels, c->logits); }

static void regression_metrics(hr_head_call *c) { hr_head_regression_metrics(c, c->logits); }

static void regression_exports(hr_head_call *c) { hr_head_export_values(c, c->logits); }

static const hr_head_kind regression_kind = {
    .head = HR_HEAD_HEAD,
    .name = "regression",
    .options = HR_HEAD_LABEL_DIMENSION,
    .logits_dimension = regression_dimension,
    .predictions = regression_predictions,
    .losses = regression_losses,
    .metrics = regression_metrics,
    .exports = regression_exports,
};

hr_head *hr_regression_head_with(const hr_head_opts *opts) { return hr_head_new(&regression_kind, NULL, opts); }
