/* Colors of images: contrast, hue, saturation; red, green, blue as hue, saturation, value, and back. */
#include <headrace/images.h>
#include <headrace/kernels.h>
#include <math.h>

/* ---- one pixel ---- */

/* Hue from 0 to 1, the greatest and the least of the three. */
static void hue_of(const double *rgb, double *hue, double *most, double *least)
{
    const double r = rgb[0], g = rgb[1], b = rgb[2];
    *most = fmax(r, fmax(g, b));
    *least = fmin(r, fmin(g, b));
    const double range = *most - *least, norm = 1 / (6 * range);
    *hue = r == *most ? norm * (g - b) : g == *most ? norm * (b - r) + 2. / 6 : norm * (r - g) + 4. / 6;
    if (!(range > 0)) *hue = 0;
    if (*hue < 0) *hue += 1;
}

/* How much of each of the three a hue has, from 0 to 1. */
static void shares_of(double hue, double *rgb)
{
    const double at = hue * 6;
    const double share[] = {fabs(at - 3) - 1, 2 - fabs(at - 2), 2 - fabs(at - 4)};
    for (int i = 0; i < 3; i++) rgb[i] = fmin(fmax(share[i], 0), 1);
}

static void to_hsv(const double *rgb, double *out, double scale)
{
    double hue, most, least;
    (void)scale;
    hue_of(rgb, &hue, &most, &least);
    out[0] = hue;
    out[1] = most > 0 ? (most - least) / most : 0;
    out[2] = most;
}

static void to_rgb(const double *hsv, double *out, double scale)
{
    (void)scale;
    shares_of(hsv[0], out);
    for (int i = 0; i < 3; i++) out[i] = (1 - hsv[1] + hsv[1] * out[i]) * hsv[2];
}

static void turn_hue(const double *rgb, double *out, double delta)
{
    double hue, most, least;
    hue_of(rgb, &hue, &most, &least);
    hue += delta;
    hue -= floor(hue);
    shares_of(hue, out);
    for (int i = 0; i < 3; i++) out[i] = least + out[i] * (most - least);
}

static void scale_saturation(const double *rgb, double *out, double scale)
{
    double hsv[3];
    to_hsv(rgb, hsv, 0);
    hsv[1] = fmin(fmax(hsv[1] * scale, 0), 1);
    to_rgb(hsv, out, 0);
}

/* ---- all pixels ---- */

typedef struct coloring {
    const void *in;
    void *out;
    double scale;
    void (*one)(const double *in, double *out, double scale);
} coloring;

typedef void pixels_fn(int64_t first, int64_t last, void *user);
#define PIXELS(T, V, U, D, S, A, B)                                                                                    \
    static void pixels_##S(int64_t first, int64_t last, void *user)                                                    \
    {                                                                                                                  \
        const coloring *c = user;                                                                                      \
        for (int64_t p = first; p < last; p++) {                                                                       \
            double in[3], out[3];                                                                                      \
            for (int i = 0; i < 3; i++) in[i] = (double)HR_GET(S, ((const T *)c->in)[3 * p + i]);                      \
            c->one(in, out, c->scale);                                                                                 \
            for (int i = 0; i < 3; i++) ((T *)c->out)[3 * p + i] = HR_PUT(S, T, out[i]);                               \
        }                                                                                                              \
    }
HR_EACH_TYPE(PIXELS, ~, ~, floats, halves)

static hr_status scalar_input(const hr_kernel *k, double *out, hr_error *err)
{
    HR_TRY(hr_expect_rank("the amount", k->input[1]->shape, 0, err));
    *out = (double)*(const float *)k->input[1]->data;
    return HR_OK;
}

static hr_status color_compute(hr_kernel *k, hr_error *err)
{
    static const struct {
        const char *op;
        void (*one)(const double *in, double *out, double scale);
    } ways[] = {
        {"RGBToHSV", to_hsv}, {"HSVToRGB", to_rgb}, {"AdjustHue", turn_hue}, {"AdjustSaturation", scale_saturation}};
    const hr_tensor *in = k->input[0];
    const int rank = in->shape.rank, least = k->inputs > 1 ? 3 : 1;
    coloring c = {.in = in->data};
    hr_tensor *out;
    if (rank < least || in->shape.dims[rank - 1] != 3)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "input must be at least %d-D and have 3 channels, got rank %d and %lld", least, rank,
                       (long long)(rank > 0 ? in->shape.dims[rank - 1] : 0));
    if (k->inputs > 1) HR_TRY(scalar_input(k, &c.scale, err));
    HR_TRY(hr_kernel_output(k, 0, in->shape, &out, err));
    c.out = out->data;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].op, hr_node_op(k->node)) == 0) c.one = ways[i].one;
    hr_kernel_parallel(k, in->count / 3, 20, (pixels_fn *)hr_kernel_chosen(k)->run, &c);
    return HR_OK;
}

/* ---- contrast: away from the mean of each channel of each image ---- */

typedef struct contrast {
    const void *in;
    void *out;
    int64_t pixels, channels; /* of an image */
    float factor;
} contrast;

#define CONTRAST(T, V, U, D, S, A, B)                                                                                  \
    static void contrast_##S(int64_t first, int64_t last, void *user)                                                  \
    {                                                                                                                  \
        const contrast *c = user;                                                                                      \
        for (int64_t i = first; i < last; i++) {                                                                       \
            const int64_t begin = i / c->channels * c->pixels * c->channels + i % c->channels;                         \
            const int64_t end = begin + c->pixels * c->channels;                                                       \
            double sum = 0;                                                                                            \
            for (int64_t at = begin; at < end; at += c->channels) sum += (double)HR_GET(S, ((const T *)c->in)[at]);    \
            const float mean = (float)(sum / (double)c->pixels);                                                       \
            for (int64_t at = begin; at < end; at += c->channels)                                                      \
                ((T *)c->out)[at] = HR_PUT(S, T, (HR_GET(S, ((const T *)c->in)[at]) - mean) * c->factor + mean);       \
        }                                                                                                              \
    }
HR_EACH_TYPE(CONTRAST, ~, ~, float32, halves)

static hr_status contrast_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const int rank = in->shape.rank;
    double factor;
    hr_tensor *out;
    if (rank < 3)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "input must be at least 3-D, got rank %d", rank);
    HR_TRY(scalar_input(k, &factor, err));
    HR_TRY(hr_kernel_output(k, 0, in->shape, &out, err));
    if (out->count == 0) return HR_OK;
    contrast c = {in->data, out->data, in->shape.dims[rank - 3] * in->shape.dims[rank - 2], in->shape.dims[rank - 1],
                  (float)factor};
    hr_kernel_parallel(k, hr_values_before_axis(in->shape, rank - 3) * c.channels, 2 * (double)c.pixels,
                       (pixels_fn *)hr_kernel_chosen(k)->run, &c);
    return HR_OK;
}

#define COLORS(NAME, SHAPES, ...)                                                                                      \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = SHAPES, .compute = color_compute,                          \
        .kernels = HR_KERNELS(pixels, __VA_ARGS__),                                                                    \
    }

const hr_graph_op hr_graph_ops_color_ops[] = {
    COLORS("RGBToHSV", "[...,3] -> [...,3]", floats, halves),
    COLORS("HSVToRGB", "[...,3] -> [...,3]", floats, halves),
    COLORS("AdjustHue", "[...,?,?,3], [] -> [...,?,?,3]", float32, halves),
    COLORS("AdjustSaturation", "[...,?,?,3], [] -> [...,?,?,3]", float32, halves),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AdjustContrastv2",
        .shapes = "=0",
        .compute = contrast_compute,
        .kernels = HR_KERNELS(contrast, float32, halves),
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_rgb_to_hsv_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node("RGBToHSV", x, opts); }
hr_node hr_hsv_to_rgb_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node("HSVToRGB", x, opts); }

static hr_node adjust(const char *op, hr_node images, double amount)
{
    return hr_binary_node(op, images, hr_scalar(images.graph, HR_FLOAT, amount), NULL);
}

hr_node hr_adjust_hue(hr_node images, double delta) { return adjust("AdjustHue", images, delta); }
hr_node hr_adjust_saturation(hr_node images, double scale) { return adjust("AdjustSaturation", images, scale); }
hr_node hr_adjust_contrast(hr_node images, double factor) { return adjust("AdjustContrastv2", images, factor); }
