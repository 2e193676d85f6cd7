/* Derivatives of doubles that are smooth, beside those that central differences have. */
#include "train/conformance/trial.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* One output as a function of the doubles that are fed, each times a weight. */
typedef struct function {
    hr_node y, x[MAX_INPUTS];
    hr_tensor weights, slope[MAX_INPUTS], along[MAX_INPUTS]; /* the derivative by each input, and where it goes */
    int of[MAX_INPUTS], xs;                                  /* which feed is each input's */
} function;

static bool function_at(trial *t, const function *f, double step, double *out)
{
    hr_tensor y, moved[MAX_INPUTS];
    hr_feed feeds[MAX_INPUTS + 1];
    hr_error err = {0};
    memcpy(feeds, t->feed, sizeof feeds);
    for (int i = 0; i < f->xs; i++) {
        moved[i] = t->feed[f->of[i]].value;
        double *to = moved[i].data = hr__trial_memory(t, (size_t)moved[i].count * sizeof *to);
        if (!to) return false;
        const double *from = t->feed[f->of[i]].value.data, *along = f->along[i].data;
        for (int64_t k = 0; k < moved[i].count; k++) to[k] = from[k] + (along ? step * along[k] : 0);
        feeds[f->of[i]].value = moved[i];
    }
    if (hr_session_run(t->s, feeds, t->feeds, &f->y, 1, &y, &err) != HR_OK) return false;
    const bool same = hr_shape_equal(y.shape, f->weights.shape);
    *out = 0;
    for (int64_t k = 0; same && k < y.count; k++)
        *out += ((const double *)y.data)[k] * ((const double *)f->weights.data)[k];
    hr_tensor_clear(&y);
    return same && isfinite(*out);
}

static hr_tensor doubles(trial *t, hr_shape shape, double low, double high)
{
    hr_tensor out = hr_tensor_of(HR_DOUBLE, shape, NULL);
    double *to = out.data = hr__trial_memory(t, (size_t)out.count * sizeof *to);
    if (!to) return hr_tensor_of(HR_DOUBLE, HR_SHAPE(0), NULL);
    for (int64_t i = 0; i < out.count; i++) to[i] = low + (high - low) * (double)below(t, 1 << 20) / (1 << 20);
    return out;
}

/* One of its outputs, if it is of doubles, and the inputs that it may depend on. */
static bool choose_function(trial *t, function *f)
{
    hr_tensor y;
    hr_error err = {0};
    if (hr_node_outputs(t->node) == 0) return false;
    f->y = hr__trial_derivable(t, hr_node_output(t->node, (int)below(t, hr_node_outputs(t->node))));
    if (hr_graph_error(t->g) || hr_node_dtype(f->y) != HR_DOUBLE) return false;
    if (hr_session_run(t->s, t->feed, t->feeds, &f->y, 1, &y, &err) != HR_OK) return false;
    f->weights = doubles(t, y.shape, 0.5, 1.5);
    hr_tensor_clear(&y);
    for (int i = 0; i < t->feeds; i++) {
        if (t->feed[i].value.dtype != HR_DOUBLE || t->feed[i].value.count == 0) continue;
        f->of[f->xs] = i;
        f->x[f->xs++] = t->feed[i].node;
    }
    return f->weights.count > 0 && f->xs > 0;
}

/* The derivatives by its inputs, and a way to go for those that have one. */
static bool derive_function(trial *t, function *f)
{
    hr_gradient by[MAX_INPUTS];
    hr_error err = {0};
    bool any = false;
    const hr_node weights = hr_const(t->g, &f->weights);
    hr_gradients(&f->y, 1, f->x, f->xs, by, .grad_ys = &weights);
    for (int i = 0; i < f->xs && !hr_graph_error(t->g); i++) {
        const hr_node dense = by[i].values.graph ? hr_gradient_dense(by[i]) : (hr_node){0};
        hr_tensor out;
        if (hr_graph_error(t->g) || !dense.graph) continue;
        if (hr_session_run(t->s, t->feed, t->feeds, &dense, 1, &out, &err) != HR_OK) return false;
        f->slope[i] = doubles(t, out.shape, 0, 0);
        if (f->slope[i].count == out.count) memcpy(f->slope[i].data, out.data, (size_t)out.count * sizeof(double));
        hr_tensor_clear(&out);
        f->along[i] = doubles(t, f->slope[i].shape, -1, 1);
        any = true;
    }
    return any && !hr_graph_error(t->g);
}

/* Central differences, where the function is smooth enough there: two of them are the same, and so are those of either
 * side. */
static verdict compare_differences(trial *t, const function *f)
{
    static const double step = 1e-4;
    double at[5], expected = 0, scale = 1;
    for (int i = 0; i < 5; i++)
        if (!function_at(t, f, (i - 2) * step, &at[i])) return NOT_SEEN;
    for (int i = 0; i < f->xs; i++)
        for (int64_t k = 0; f->along[i].data && k < f->along[i].count; k++) {
            const double part = ((const double *)f->slope[i].data)[k] * ((const double *)f->along[i].data)[k];
            expected += part;
            scale += fabs(part);
        }
    const double near = (at[3] - at[1]) / (2 * step), far = (at[4] - at[0]) / (4 * step);
    const double after = (at[3] - at[2]) / step, before = (at[2] - at[1]) / step;
    scale += fabs(near);
    if (fabs(at[2]) * DBL_EPSILON > 1e-6 * step * scale) return NOT_SEEN; /* too large for its own changes */
    if (fabs(near - far) > 1e-4 * scale || fabs(after - before) > 1e-2 * scale) return NOT_SEEN;
    if (fabs(near - expected) <= 1e-5 * scale + 2 * fabs(near - far)) return FITS;
    hr__trial_wrong(t, "conformance.derivative",
                    "the derivative of '%s:%d' along a line is %.9g, that which differences have is %.9g",
                    hr_node_name(f->y), f->y.output, expected, near);
    return DIFFERS;
}

verdict hr__trial_differences(const trial_plan *plan, hr_error *err)
{
    trial t;
    function f = {.xs = 0};
    verdict seen = NOT_SEEN;
    if (hr__trial_begin(&t, plan) && t.node.graph && !hr_graph_error(t.g) && choose_function(&t, &f) &&
        derive_function(&t, &f))
        seen = compare_differences(&t, &f);
    return hr__trial_answer(&t, err) == HR_OK ? seen : DIFFERS;
}
