/* The ops of AUC: how many predictions lie on which side of each threshold, and the area under the curve that those
 * counts draw. TensorFlow composes both of dozens of small ops; the arithmetic is the same. */
#include <headrace/kernels.h>
#include <headrace/layers.h>
#include <math.h>
#include <string.h>

/* ---- counts ---- */

/* How many thresholds, which rise, lie below p: p counts as positive at exactly those. None for a NaN. */
static int64_t curve_below(const float *thresholds, int64_t count, float p)
{
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (thresholds[middle] < p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static hr_status curve_check_range(const hr_tensor *predictions, hr_error *err)
{
    const float *p = predictions->data;
    for (int64_t i = 0; i < predictions->count; i++)
        if (!(p[i] >= 0 && p[i] <= 1))
            return hr_fail(err, HR_INVALID_ARGUMENT, "layers.predictions",
                           "expected predictions from 0 to 1, got %g at %lld", (double)p[i], (long long)i);
    return HR_OK;
}

static hr_status counts_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *p = k->input[0], *labels = k->input[1], *thresholds = k->input[2];
    const float *weight = k->inputs > 3 ? k->input[3]->data : NULL;
    const int64_t n = thresholds->count;
    float *out[4];
    if (p->count != labels->count || (weight && k->input[3]->count != p->count))
        return hr_fail(err, HR_INVALID_ARGUMENT, "layers.shape", "auc: expected a label and a weight a prediction");
    if (thresholds->shape.rank != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "layers.shape", "auc: expected a vector of thresholds, got rank %d",
                       thresholds->shape.rank);
    if (!hr_attr_bool(k->node, "unchecked")) HR_TRY(curve_check_range(p, err));
    double *sum = hr_kernel_temp(k, 2 * (size_t)(n + 1) * sizeof *sum);
    if (!sum) return hr_no_memory(err, "counts");
    for (int i = 0; i < 4; i++) {
        hr_tensor *t;
        HR_TRY(hr_kernel_output(k, i, HR_SHAPE(n), &t, err));
        out[i] = t->data;
    }
    /* sum[2 * i + label]: of predictions above exactly i thresholds. */
    memset(sum, 0, 2 * (size_t)(n + 1) * sizeof *sum);
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t at = curve_below(thresholds->data, n, ((const float *)p->data)[i]);
        sum[2 * at + ((const bool *)labels->data)[i]] += weight ? (double)weight[i] : 1;
    }
    double low[2] = {0, 0}, all[2] = {0, 0};
    for (int64_t i = 0; i <= n; i++) all[0] += sum[2 * i], all[1] += sum[2 * i + 1];
    for (int64_t i = 0; i < n; i++) {
        low[0] += sum[2 * i], low[1] += sum[2 * i + 1];
        out[0][i] = (float)(all[1] - low[1]);
        out[1][i] = (float)low[1];
        out[2][i] = (float)low[0];
        out[3][i] = (float)(all[0] - low[0]);
    }
    return HR_OK;
}

static hr_status counts_shape(hr_infer *s, hr_error *err)
{
    const hr_shape vector = HR_SHAPE(-1);
    for (int i = 0; i < 4; i++)
        if (!hr_shape_merge(s->input[2], vector, &s->output[i]))
            return hr_infer_refuse(s, err, "a vector of thresholds as input 2");
    return HR_OK;
}

static hr_status check_compute(hr_kernel *k, hr_error *err)
{
    HR_TRY(curve_check_range(k->input[0], err));
    return hr_kernel_pass(k, 0, 0, k->input[0]->shape, err);
}

/* ---- area ---- */

typedef struct curve {
    const float *tp, *fn, *tn, *fp;
    int64_t count;
    bool pr, keras;
} curve;

static float curve_ratio(float a, float b, float epsilon, bool keras)
{
    if (!keras) return (a + epsilon) / (b + 1e-6f);
    return b != 0 ? a / b : 0;
}

static float curve_x(const curve *c, int64_t i)
{
    if (c->pr) return curve_ratio(c->tp[i], c->tp[i] + c->fn[i], 1e-6f, c->keras);
    return curve_ratio(c->fp[i], c->fp[i] + c->tn[i], 0, c->keras);
}

static float curve_y(const curve *c, int64_t i)
{
    return curve_ratio(c->tp[i], c->pr ? c->tp[i] + c->fp[i] : c->tp[i] + c->fn[i], 1e-6f, c->keras);
}

static float sum_area(const curve *c, hr_auc_summation how)
{
    float area = 0;
    for (int64_t i = 0; i + 1 < c->count; i++) {
        const float a = curve_y(c, i), b = curve_y(c, i + 1);
        const float height = how == HR_MINORING ? fminf(a, b) : how == HR_MAJORING ? fmaxf(a, b) : (a + b) / 2;
        area += (curve_x(c, i) - curve_x(c, i + 1)) * height;
    }
    return area;
}

/* Davis and Goadrich: between two points true positives grow linearly with all positives, and precision does not. */
static float careful_area(const curve *c)
{
    float area = 0;
    for (int64_t i = 0; i + 1 < c->count; i++) {
        const float p = c->tp[i] + c->fp[i], next = c->tp[i + 1] + c->fp[i + 1];
        const float gained = c->tp[i] - c->tp[i + 1], step = fmaxf(p - next, 0);
        const float slope = step != 0 ? gained / step : 0, intercept = c->tp[i + 1] - slope * next;
        const float growth = p > 0 && next > 0 ? p / next : 1, truth = fmaxf(c->tp[i + 1] + c->fn[i + 1], 0);
        if (truth != 0) area += slope * (gained + intercept * logf(growth)) / truth;
    }
    return area;
}

static hr_status area_shape(hr_infer *s, hr_error *err)
{
    const int64_t how = hr_attr_int(s->node, "summation");
    if (how < HR_TRAPEZOIDAL || how > HR_MAJORING)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "auc: expected a summation in [%d, %d], got %lld",
                       HR_TRAPEZOIDAL, HR_MAJORING, (long long)how);
    return hr_infer_scalar(s, err);
}

static hr_status area_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    const hr_auc_summation how = (hr_auc_summation)hr_attr_int(k->node, "summation");
    const curve c = {k->input[0]->data,
                     k->input[1]->data,
                     k->input[2]->data,
                     k->input[3]->data,
                     k->input[0]->count,
                     hr_attr_bool(k->node, "pr"),
                     hr_attr_bool(k->node, "keras")};
    for (int i = 1; i < 4; i++)
        if (k->input[i]->count != c.count)
            return hr_fail(err, HR_INVALID_ARGUMENT, "layers.shape", "auc: expected counts of one length");
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(float *)out->data = c.pr && how == HR_CAREFUL_INTERPOLATION ? careful_area(&c) : sum_area(&c, how);
    return HR_OK;
}

const hr_graph_op hr_graph_ops_curve[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>CheckProbabilities",
        .inputs = "predictions:float",
        .outputs = "checked:float",
        .traits = HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = check_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>ThresholdCounts",
        .inputs = "predictions:float, labels:bool, thresholds:float, weights:W*float",
        .outputs = "true_positives:float, false_negatives:float, true_negatives:float, false_positives:float",
        .attrs = "W:int>=0; unchecked:bool=false",
        .traits = HR_NO_GRADIENT,
        .shape = counts_shape,
        .compute = counts_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>AreaUnderCurve",
        .inputs = "true_positives:float, false_negatives:float, true_negatives:float, false_positives:float",
        .outputs = "area:float",
        .attrs = "pr:bool=false; keras:bool=false; summation:int=0",
        .traits = HR_NO_GRADIENT,
        .shape = area_shape,
        .compute = area_compute,
    },
    HR_GRAPH_OPS_END,
};
