/* quantize_weights: large constants of floats become bytes, and a Dequantize that gives the floats again, nearly: within
 * half of 1/255 of their range. */
#include "train/transforms/transform.h"

#include <math.h>
#include <string.h>

enum { STEPS = 255 };

/* The least and greatest value, apart from each other. */
static bool range_of(const hr_tensor *t, float *min, float *max)
{
    const float *v = t->data;
    *min = *max = v[0];
    for (int64_t i = 0; i < t->count; i++) {
        if (!isfinite(v[i])) return false;
        if (v[i] < *min) *min = v[i];
        if (v[i] > *max) *max = v[i];
    }
    if (*min < *max) return true;
    if (fabsf(*min) < 0.000001f)
        *max = *min + 1;
    else if (*min > 0)
        *max = 2 * *min;
    else
        *max = *min / 2;
    return *min < *max && isfinite(*max);
}

/* Where MIN_FIRST begins to count: the least value, as a whole number of steps. */
static void quantize(const hr_tensor *from, float min, float max, uint8_t *to)
{
    const double step = ((double)max - min) / STEPS, first = round(min / step);
    for (int64_t i = 0; i < from->count; i++) {
        const double q = round(((const float *)from->data)[i] / step) - first;
        to[i] = (uint8_t)(q < 0 ? 0 : q > STEPS ? STEPS : q);
    }
}

static int add_part(hr__draft *d, int node, const char *suffix, hr_tensor value, hr_error *err)
{
    const draft_node *n = d->node[node];
    char *name = hr__arena_get(&d->arena, strlen(n->name) + strlen(suffix) + 1);
    if (name) {
        memcpy(name, n->name, strlen(n->name));
        memcpy(name + strlen(n->name), suffix, strlen(suffix));
    }
    const int part = name ? hr__draft_add(d, name, "Const", n->device, 0) : -1;
    if (part < 0) hr_tensor_clear(&value);
    if (part < 0) hr__draft_no_memory(err);
    return part >= 0 && hr__draft_make_const(d, part, value, err) == HR_OK ? part : -1;
}

static int add_number(hr__draft *d, int node, const char *suffix, float number, hr_error *err)
{
    hr_tensor value;
    if (hr_tensor_new(&value, HR_FLOAT, HR_SCALAR, err) != HR_OK) return -1;
    *(float *)value.data = number;
    return add_part(d, node, suffix, value, err);
}

static hr_status quantize_node(hr__draft *d, int node, const hr_tensor *weights, hr_error *err)
{
    float min, max;
    hr_tensor bytes;
    if (!range_of(weights, &min, &max)) return HR_OK;
    HR_TRY(hr_tensor_new(&bytes, HR_QUINT8, weights->shape, err));
    quantize(weights, min, max, bytes.data);
    const int values = add_part(d, node, "_quantized_const", bytes, err);
    const int least = values < 0 ? -1 : add_number(d, node, "_quantized_min", min, err);
    const int most = least < 0 ? -1 : add_number(d, node, "_quantized_max", max, err);
    draft_edge *input = hr__arena_get(&d->arena, sizeof *input * 3);
    if (most < 0 || !input) return hr__draft_no_memory(err);
    draft_node *n = d->node[node];
    input[0] = (draft_edge){values, 0};
    input[1] = (draft_edge){least, 0};
    input[2] = (draft_edge){most, 0};
    n->op = "Dequantize";
    n->attrs = 0;
    n->input = input;
    n->inputs = 3;
    HR_TRY(hr__draft_set(d, node, &HR_TYPE_ATTR("T", HR_QUINT8), err));
    return hr__draft_set(d, node, &HR_STRING_ATTR("mode", "MIN_FIRST"), err);
}

static hr_status quantize_weights_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    int64_t minimum_size = 1024;
    HR_TRY(hr__transform_int(a, "minimum_size", &minimum_size, err));
    for (int i = 0, count = d->count; i < count; i++) {
        hr_tensor weights;
        bool is;
        if (!hr__draft_is(d, i, "Const")) continue;
        HR_TRY(hr__draft_value(d, i, &is, &weights, err));
        if (is && weights.dtype == HR_FLOAT && weights.count > 0 && weights.count >= minimum_size)
            HR_TRY(quantize_node(d, i, &weights, err));
    }
    return HR_OK;
}

const hr__transform hr__transform_quantize_weights = {
    .info = {"quantize_weights", "minimum_size", "large constants of floats become bytes, to be dequantized"},
    .run = quantize_weights_run,
};
