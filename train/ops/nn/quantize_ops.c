/* QuantizeV2 and Dequantize: floats as bytes or other whole numbers in a range, and back, in TensorFlow's three modes.
 * QuantizeAndDequantizeV2 and V3: floats rounded as by both. The arithmetic is TensorFlow's, in the same order. */
#include <float.h>
#include <headrace/kernels.h>
#include <tgmath.h>

/* A slice along the axis: `outer` runs of `inner` values, `step` from one run to the next. */
typedef struct quantize_slice {
    const void *from;
    void *to;
    int64_t outer, inner, step;
    float min, max;
    bool min_first, combined, narrow, to_even;
} quantize_slice;

static float round_half(float x, bool to_even) { return to_even ? rintf(x) : roundf(x); }

/* Of quint8 and MIN_FIRST TensorFlow has a kernel of its own, which counts steps from the least value. */
#define EACH_OF_SLICE                                                                                                  \
    for (int64_t o = 0; o < s->outer; o++)                                                                             \
        for (int64_t i = o * s->step; i < o * s->step + s->inner; i++)

/* What a step is worth, where whole numbers from `low` to `high` are to reach as far as the range. */
static float scale_of(float low, float high, float min, float max)
{
    const float by_min = low * min > 0 ? low / min : FLT_MAX, by_max = high * max > 0 ? high / max : FLT_MAX;
    return by_min < by_max ? by_min : by_max;
}

#define QUANTIZE(T, V, U, D, S, LOW, HIGH)                                                                             \
    static void dequantize_##S(quantize_slice *s)                                                                      \
    {                                                                                                                  \
        const T *from = s->from;                                                                                       \
        float *to = s->to;                                                                                             \
        const float low = (float)LOW_##S, high = (float)HIGH_##S;                                                      \
        if (s->combined) {                                                                                             \
            const float scale = (s->max - s->min) / (high - low), half = low < 0 ? (high - low + 1) / 2.0f : 0;        \
            EACH_OF_SLICE to[i] = ((float)from[i] + half) * scale + s->min;                                            \
        } else if (s->min_first) {                                                                                     \
            const float scale = (float)((s->max - s->min) / ((double)HIGH_##S - (double)LOW_##S));                     \
            const float least = s->max == s->min ? s->min : roundf(s->min / scale) * scale;                            \
            EACH_OF_SLICE to[i] = (least - low * scale) + (float)from[i] * scale;                                      \
        } else {                                                                                                       \
            const float by_max = s->max / high, by_min = s->min / (low + (float)s->narrow);                            \
            const float scale = low == 0 || by_max > by_min ? by_max : by_min;                                         \
            EACH_OF_SLICE to[i] = (float)from[i] * scale;                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    static void quantize_##S(quantize_slice *s)                                                                        \
    {                                                                                                                  \
        const float *from = s->from;                                                                                   \
        T *to = s->to;                                                                                                 \
        const float low = (float)LOW_##S + (float)(!s->combined && !s->min_first && s->narrow),                        \
                    high = (float)HIGH_##S;                                                                            \
        const double steps = (double)HIGH_##S - (double)LOW_##S;                                                       \
        const float half = low < 0 ? (float)((steps + 1) / 2) : 0;                                                     \
        const bool scaled = !s->combined && !s->min_first, bytes = sizeof(T) == 1 && LOW_##S == 0;                     \
        const float scale = scaled             ? scale_of(low, high, s->min, s->max)                                   \
                            : s->max == s->min ? 0                                                                     \
                                               : (float)(steps / (double)(s->max - s->min));                           \
        const float least = s->min_first ? roundf(s->min * scale) : s->min;                                            \
        if (scaled) s->min = low / scale, s->max = high / scale;                                                       \
        EACH_OF_SLICE                                                                                                  \
        {                                                                                                              \
            const float x = from[i] < s->max ? from[i] : s->max, inside = x > s->min ? x : s->min;                     \
            const float y = s->min_first && bytes ? roundf((inside - s->min) * scale)                                  \
                            : s->min_first        ? roundf(from[i] * scale) - (least - low)                            \
                            : s->combined         ? roundf((inside - s->min) * scale - half)                           \
                                                  : round_half(inside * scale, s->to_even);                                    \
            to[i] = !(y > low) ? (T)LOW_##S + (T)(low > (float)LOW_##S) : y >= high ? (T)HIGH_##S : (T)y;              \
        }                                                                                                              \
    }
#define LOW_q8 INT8_MIN
#define HIGH_q8 INT8_MAX
#define LOW_qu8 0
#define HIGH_qu8 UINT8_MAX
#define LOW_q16 INT16_MIN
#define HIGH_q16 INT16_MAX
#define LOW_qu16 0
#define HIGH_qu16 UINT16_MAX
#define LOW_q32 INT32_MIN
#define HIGH_q32 INT32_MAX
HR_EACH_TYPE(QUANTIZE, ~, ~, quantised)

typedef void quantize_fn(quantize_slice *s);

static hr_status quantize_axis(hr_node node, hr_shape in, int *axis, hr_error *err)
{
    const int64_t asked = hr_attr_int(node, "axis");
    *axis = (int)asked;
    if (asked < -1 || asked >= (in.rank < 0 ? HR_MAX_RANK : in.rank))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected an axis from -1 to %d, got %lld", in.rank - 1,
                       (long long)asked);
    return HR_OK;
}

/* Ranges are scalars, or vectors of a range for each place of the axis. */
static hr_status quantize_shape(hr_infer *s, hr_error *err)
{
    int axis;
    HR_TRY(quantize_axis(s->node, s->input[0], &axis, err));
    s->output[0] = s->input[0];
    hr_shape range = axis < 0 ? HR_UNKNOWN_SHAPE : HR_SHAPE(s->input[0].rank < 0 ? -1 : s->input[0].dims[axis]);
    for (int i = 1; i < 3; i++)
        if (axis < 0 ? s->input[i].rank > 1 || (s->input[i].rank == 1 && s->input[i].dims[0] > 1)
                     : !hr_shape_merge(range, s->input[i], &range))
            return hr_infer_refuse(s, err, "a range, or one for each place of the axis");
    for (int i = 1; i < s->outputs; i++) s->output[i] = axis < 0 ? HR_SCALAR : range;
    return HR_OK;
}

static hr_status quantize_range(const hr_kernel *k, float *min, float *max, hr_error *err)
{
    if (*min > *max || !isfinite(*min) || !isfinite(*max))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.value",
                       "expected a finite min_range <= max_range, got %g and %g", (double)*min, (double)*max);
    if (k->outputs == 1) return HR_OK;
    const float least = *min < 0 ? *min : 0, greatest = fmaxf(1, fmaxf(fabsf(*min), fabsf(*max)));
    *max = fmaxf(0, fmaxf(*max, least + greatest * hr_attr_float(k->node, "ensure_minimum_range")));
    *min = least;
    return HR_OK;
}

static hr_status quantize_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    int axis;
    hr_tensor *out[3];
    HR_TRY(quantize_axis(k->node, in->shape, &axis, err));
    const int64_t slices = axis < 0 ? 1 : in->shape.dims[axis];
    if (k->outputs > 1 && hr_attr_is(k->node, "round_mode", "HALF_TO_EVEN") && !hr_attr_is(k->node, "mode", "SCALED"))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED'");
    if (k->input[1]->count != slices || k->input[2]->count != slices)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %lld ranges", (long long)slices);
    for (int i = 0; i < k->outputs; i++)
        HR_TRY(hr_kernel_output(k, i, i == 0 ? in->shape : axis < 0 ? HR_SCALAR : HR_SHAPE(slices), &out[i], err));
    const size_t width = hr_dtype_size(in->dtype), result = hr_dtype_size(out[0]->dtype);
    for (int64_t c = 0; c < slices; c++) {
        quantize_slice s = {.outer = axis < 0 ? 1 : hr_values_before_axis(in->shape, axis),
                            .min = ((const float *)k->input[1]->data)[c],
                            .max = ((const float *)k->input[2]->data)[c],
                            .combined = hr_attr_is(k->node, "mode", "MIN_COMBINED"),
                            .min_first = hr_attr_is(k->node, "mode", "MIN_FIRST"),
                            .narrow = hr_attr_bool(k->node, "narrow_range"),
                            .to_even = k->outputs > 1 && hr_attr_is(k->node, "round_mode", "HALF_TO_EVEN")};
        HR_TRY(quantize_range(k, &s.min, &s.max, err));
        s.step = s.outer && in->count ? in->count / s.outer : 0;
        s.inner = s.step / slices;
        s.from = (const char *)in->data + (size_t)(c * s.inner) * width;
        s.to = (char *)out[0]->data + (size_t)(c * s.inner) * result;
        ((quantize_fn *)hr_kernel_chosen(k)->run)(&s);
        if (k->outputs == 1) continue;
        ((float *)out[1]->data)[c] = s.min;
        ((float *)out[2]->data)[c] = s.max;
    }
    return HR_OK;
}

/* ---- rounded as by both ---- */

#define ROUND_TRIP(T, V, U, D, S, ROUND, FLOOR)                                                                        \
    static void round_trip_##S(const hr_tensor *in, hr_tensor *out, double low, double high, double least,             \
                               double greatest, bool given, bool up)                                                   \
    {                                                                                                                  \
        const T *x = in->data;                                                                                         \
        T *y = out->data, min = (T)least, max = (T)greatest;                                                           \
        for (int64_t i = 0; !given && i < in->count; i++) {                                                            \
            if (i == 0 || x[i] < min) min = x[i];                                                                      \
            if (i == 0 || x[i] > max) max = x[i];                                                                      \
        }                                                                                                              \
        const T by_min = (T)low * min > 0 ? (T)low / min : (T)MOST_##S,                                                \
                by_max = (T)high * max > 0 ? (T)high / max : (T)MOST_##S;                                              \
        const bool by_least = by_min < by_max;                                                                         \
        const T scale = by_least ? by_min : by_max, back = by_least ? min / (T)low : max / (T)high;                    \
        if (by_least)                                                                                                  \
            max = (T)high * back;                                                                                      \
        else                                                                                                           \
            min = (T)low * back;                                                                                       \
        for (int64_t i = 0; i < in->count; i++) {                                                                      \
            T v = x[i] < max ? x[i] : max;                                                                             \
            v = (v > min ? v : min) * scale;                                                                           \
            y[i] = (up ? FLOOR(v + (T)0.5) : ROUND(v)) * back;                                                         \
        }                                                                                                              \
    }
#define MOST_f32 FLT_MAX
#define MOST_f64 DBL_MAX
HR_EACH_TYPE(ROUND_TRIP, rint, floor, floats)

typedef void round_trip_fn(const hr_tensor *in, hr_tensor *out, double low, double high, double least, double greatest,
                           bool given, bool up);

static double number_of(const hr_tensor *t) { return t->dtype == HR_FLOAT ? *(float *)t->data : *(double *)t->data; }

static hr_status round_trip_compute(hr_kernel *k, hr_error *err)
{
    const bool is_signed = hr_attr_bool(k->node, "signed_input"), given = hr_attr_bool(k->node, "range_given");
    const hr_tensor *in = k->input[0], *min = k->input[1], *max = k->input[2];
    const hr_tensor *asked = k->inputs == 4 ? k->input[3] : NULL;
    const int64_t bits = !asked ? hr_attr_int(k->node, "num_bits") : asked->count == 1 ? hr_int_at(asked, 0) : -1;
    hr_tensor *out;
    if (bits < 1 + is_signed || bits > 62 + is_signed)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected num_bits from %d to %d, got %lld",
                       1 + is_signed, 62 + is_signed, (long long)bits);
    if (hr_attr_int(k->node, "axis") != -1)
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel", "expected an axis of -1");
    if (given && (min->count != 1 || max->count != 1 || number_of(min) > number_of(max)))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.value", "expected input_min <= input_max, one of each");
    HR_TRY(hr_kernel_output(k, 0, in->shape, &out, err));
    const double high = is_signed ? ldexp(1, (int)bits - 1) - 1 : ldexp(1, (int)bits) - 1;
    const double low = is_signed ? -high - !hr_attr_bool(k->node, "narrow_range") : 0;
    const hr_attr *mode = hr_node_attr(k->node, "round_mode");
    ((round_trip_fn *)hr_kernel_chosen(k)->run)(in, out, low, high, given ? number_of(min) : 0,
                                                given ? number_of(max) : 0, given,
                                                mode && hr_attr_is(k->node, "round_mode", "HALF_UP"));
    return HR_OK;
}

HR_UNARY_GRADIENT(round_trip, g)

#define QUANTIZE_OP(NAME, KERNEL, TYPES)                                                                               \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shape = quantize_shape,                   \
        .compute = quantize_compute, .kernels = HR_KERNELS(KERNEL, quantised), .types = TYPES                          \
    }
#define ROUND_TRIP_OP(NAME)                                                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = "=0", .compute = round_trip_compute,                       \
        .gradient = round_trip_gradient, .kernels = HR_KERNELS(round_trip, floats)                                     \
    }

const hr_graph_op hr_graph_ops_quantize_ops[] = {
    QUANTIZE_OP("QuantizeV2", quantize, NULL),
    QUANTIZE_OP("Dequantize", dequantize, "dtype:{float}"),
    ROUND_TRIP_OP("QuantizeAndDequantizeV2"),
    ROUND_TRIP_OP("QuantizeAndDequantizeV3"),
    HR_GRAPH_OPS_END,
};
