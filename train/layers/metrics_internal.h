/* What the files of metrics share: a metric is sums over each batch, local variables that add them, and a value of
 * these. Not a public header. */
#ifndef HR_METRICS_INTERNAL_H
#define HR_METRICS_INTERNAL_H

#include "train/layers/layers_internal.h"

enum { HR__TOTALS = 4 }; /* accumulators of a metric, at most */

/* Opens the metric's variable scope; hr_scope_end closes it. */
void hr__metric_begin(hr_graph *g, const hr_metric_opts *opts, const char *usual);
hr_node hr__metric_total(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape);
hr_metric hr__metric_failed(hr_graph *g);

/* The value of the accumulators `totals`. */
typedef hr_node hr__metric_value(const hr_node *totals, const void *user);
typedef struct hr__metric_form {
    hr__metric_value *value, *update; /* `update` NULL: as the value */
    const void *user;
} hr__metric_form;
/* Value: of the accumulators as they are. Update: of them after add[i] was added to total[i]. */
hr_metric hr__metric_finish(hr_graph *g, const hr_node *total, const hr_node *add, int count, hr__metric_form form);

/* The weights as floats, in the shape of what they weigh; no node: none. */
hr_node hr__metric_weights(const hr_metric_opts *opts, hr_node like);

/* Whether both are sound and, after [n, 1] beside [n] has lost its last dimension, of one shape. */
bool hr__metric_pair(hr_node *labels, hr_node *predictions, const char *what);

/* The streaming mean, in the scope `usual` or opts->name. */
hr_metric hr__metric_mean(hr_node values, const hr_metric_opts *opts, const char *usual);

/* The sum over the last axis, or the mean. */
hr_node hr__last_sum(hr_node x);
hr_node hr__last_mean(hr_node x);

/* TopKV2: the classes of the k largest values of the last axis, int32. */
hr_node hr__top_classes(hr_node predictions, int64_t k);

#endif
