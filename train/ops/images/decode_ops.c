/* Images in files, read and written: DecodePng and its kin take whatever format the bytes are of. */
#include "train/ops/images/image_files.h"
#include <headrace/images.h>

/* ---- reading ---- */

typedef struct decoding {
    hr_kernel *k;
    hr_dtype dtype; /* of the output */
    int bits;       /* of what is decoded */
    hr_tensor *out;
    uint8_t *pixels; /* the output's memory, or memory of its own */
    hr_error *err;
    hr_status status;
} decoding;

static uint8_t *begin_pixels(void *user, int64_t height, int64_t width, int64_t channels)
{
    decoding *d = user;
    d->status = hr_kernel_output(d->k, 0, HR_SHAPE(height, width, channels), &d->out, d->err);
    if (d->status != HR_OK) return NULL;
    const size_t bytes = (size_t)d->out->count * (size_t)d->bits / 8;
    const bool in_place = d->dtype == (d->bits == 8 ? HR_UINT8 : HR_UINT16);
    d->pixels = in_place ? d->out->data : hr_kernel_temp(d->k, bytes);
    return d->pixels;
}

/* Values of another type: a byte is 256 of the longer ones; floats go from 0 to 1. */
static void convert_pixels(const decoding *d)
{
    for (int64_t i = 0; i < d->out->count && d->pixels != d->out->data; i++) {
        const int value = d->bits == 8 ? d->pixels[i] : ((const uint16_t *)(const void *)d->pixels)[i];
        if (d->dtype == HR_UINT16)
            ((uint16_t *)d->out->data)[i] = (uint16_t)(value * 256);
        else
            ((float *)d->out->data)[i] = (float)value / (float)(d->bits == 8 ? 255 : 65535);
    }
}

/* Attributes of DecodeJpeg; other ops have the defaults. */
static hr_status read_jpeg_attrs(hr_node node, hr__jpeg_reading *how, hr_error *err)
{
    *how = (hr__jpeg_reading){.channels = (int)hr_attr_int(node, "channels"), .ratio = 1, .fast_dct = true};
    if (!hr_node_attr(node, "ratio")) return HR_OK;
    const int64_t ratio = hr_attr_int(node, "ratio");
    how->fast_dct = !hr_attr_is(node, "dct_method", "INTEGER_ACCURATE");
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "ratio must be 1, 2, 4, or 8, got %lld",
                       (long long)ratio);
    if (how->fast_dct && !hr_attr_is(node, "dct_method", "") && !hr_attr_is(node, "dct_method", "INTEGER_FAST"))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
    how->ratio = (int)ratio;
    how->plain_upscaling = !hr_attr_bool(node, "fancy_upscaling");
    how->may_be_cut = hr_attr_bool(node, "try_recover_truncated");
    how->fraction = hr_attr_float(node, "acceptable_fraction");
    return HR_OK;
}

static hr_status channels_of(hr_node node, int64_t *channels, hr_error *err)
{
    *channels = hr_attr_int(node, "channels");
    if (*channels == 0 || *channels == 1 || *channels == 3 || *channels == 4) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "`channels` must be 0, 1, 3 or 4 but got %lld",
                   (long long)*channels);
}

static hr_status decode_shape(hr_infer *s, hr_error *err)
{
    int64_t channels;
    hr__jpeg_reading unused;
    HR_TRY(channels_of(s->node, &channels, err));
    HR_TRY(read_jpeg_attrs(s->node, &unused, err));
    s->output[0] = HR_SHAPE(-1, -1, channels ? channels : -1);
    return HR_OK;
}

static hr_status one_file(const hr_tensor *contents, hr_view *out, hr_error *err)
{
    HR_TRY(hr_expect_rank("contents", contents->shape, 0, err));
    *out = *(const hr_view *)contents->data;
    return HR_OK;
}

static hr_status decode_compute(hr_kernel *k, hr_error *err)
{
    hr_view bytes;
    int64_t channels;
    hr__jpeg_reading how;
    decoding d = {.k = k, .dtype = hr_node_dtype(k->node), .err = err, .status = HR_OK};
    const hr__image_sink sink = {begin_pixels, &d};
    HR_TRY(one_file(k->input[0], &bytes, err));
    HR_TRY(channels_of(k->node, &channels, err));
    HR_TRY(read_jpeg_attrs(k->node, &how, err));
    const hr__image_kind kind = hr__image_kind_of(bytes);
    if (kind == HR__IMAGE_OTHER)
        return hr_fail(err, HR_INVALID_ARGUMENT, "image.format", "expected a PNG or JPEG file, got %lld other bytes",
                       (long long)bytes.size);
    if (kind == HR__IMAGE_JPEG && channels == 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "image.format", "JPEG does not support 4 channels");
    d.bits = kind == HR__IMAGE_JPEG || d.dtype == HR_UINT8 ? 8 : 16;
    const hr_status status = kind == HR__IMAGE_PNG ? hr__png_decode(bytes, (int)channels, d.bits, &sink, err)
                                                   : hr__jpeg_decode(bytes, &how, &sink, err);
    if (d.status != HR_OK) return d.status;
    HR_TRY(status);
    convert_pixels(&d);
    return HR_OK;
}

static hr_status jpeg_shape_compute(hr_kernel *k, hr_error *err)
{
    hr_view bytes;
    int64_t shape[3];
    hr_tensor *out;
    HR_TRY(one_file(k->input[0], &bytes, err));
    HR_TRY(hr__jpeg_shape(bytes, shape, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(3), &out, err));
    for (int i = 0; i < 3; i++) HR_TRY(hr_put_int(out, i, shape[i], err));
    return HR_OK;
}

/* ---- writing ---- */

static hr_status png_pixels(hr_kernel *k, hr__pixels *image, int64_t *images, hr_shape *before, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const int rank = in->shape.rank;
    const int64_t channels = rank > 0 ? in->shape.dims[rank - 1] : 0;
    if (rank < 3 || channels < 1 || channels > 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "image must be 3-dimensional or more and have 1, 2, 3, or 4 channels, got rank %d and %lld",
                       rank, (long long)channels);
    *before = in->shape;
    before->rank -= 3;
    *images = hr_values_before_axis(in->shape, rank - 3);
    *image = (hr__pixels){.height = in->shape.dims[rank - 3],
                          .width = in->shape.dims[rank - 2],
                          .channels = (int)channels,
                          .bits = in->dtype == HR_UINT8 ? 8 : 16};
    return HR_OK;
}

static hr_status png_encode_compute(hr_kernel *k, hr_error *err)
{
    hr__pixels image;
    int64_t images = 0;
    hr_shape before;
    hr_strings files = {0};
    HR_TRY(png_pixels(k, &image, &images, &before, err));
    const int64_t compression = hr_attr_int(k->node, "compression");
    const int64_t bytes = image.height * image.width * image.channels * image.bits / 8;
    for (int64_t i = 0; i < images; i++) {
        image.pixels = (const uint8_t *)k->input[0]->data + i * bytes;
        const hr_status status = hr__png_encode(&image, (int)compression, &files, err);
        hr_strings_end(&files);
        if (status == HR_OK && !hr_kernel_cancelled(k)) continue;
        hr_strings_free(&files);
        return status != HR_OK ? status : hr_fail(err, HR_CANCELLED, "session.cancelled", "the run was cancelled");
    }
    return hr_strings_give(&files, k, 0, before, err);
}

static hr_status png_encode_shape(hr_infer *s, hr_error *err)
{
    const int64_t compression = hr_attr_int(s->node, "compression");
    s->output[0] = s->input[0];
    if (compression < -1 || compression > 9)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "compression should be in [-1,9], got %lld",
                       (long long)compression);
    if (s->input[0].rank >= 0 && s->input[0].rank < 3) return hr_infer_refuse(s, err, "[..., height, width, channels]");
    if (s->input[0].rank >= 3) s->output[0].rank -= 3;
    return HR_OK;
}

static hr_status read_writing(hr_node node, hr__jpeg_writing *how, hr_error *err)
{
    const int64_t quality = hr_attr_int(node, "quality"), x = hr_attr_int(node, "x_density"),
                  y = hr_attr_int(node, "y_density");
    *how = (hr__jpeg_writing){.quality = (int)quality,
                              .progressive = hr_attr_bool(node, "progressive"),
                              .optimize = hr_attr_bool(node, "optimize_size"),
                              .whole_chroma = !hr_attr_bool(node, "chroma_downsampling"),
                              .per_cm = hr_attr_is(node, "density_unit", "cm"),
                              .x_density = (int)x,
                              .y_density = (int)y,
                              .xmp = hr_attr_string(node, "xmp_metadata")};
    if (quality >= 0 && quality <= 100 && x >= 0 && x <= UINT16_MAX && y >= 0 && y <= UINT16_MAX &&
        how->xmp.size <= 65000)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                   "quality must be in [0,100], densities in [0,65535], xmp_metadata of at most 65000 bytes, got %lld, "
                   "%lld, %lld, %lld",
                   (long long)quality, (long long)x, (long long)y, (long long)how->xmp.size);
}

static hr_status jpeg_encode_shape(hr_infer *s, hr_error *err)
{
    hr__jpeg_writing unused;
    return read_writing(s->node, &unused, err);
}

static hr_status jpeg_encode_compute(hr_kernel *k, hr_error *err)
{
    const hr_shape in = k->input[0]->shape;
    const bool gray = hr_attr_is(k->node, "format", "grayscale"), rgb = hr_attr_is(k->node, "format", "rgb");
    hr__jpeg_writing how;
    hr_strings file = {0};
    char text[128];
    HR_TRY(read_writing(k->node, &how, err));
    const int64_t channels = in.rank == 3 ? in.dims[2] : 0;
    if ((channels != 1 && channels != 3) || (gray && channels != 1) || (rgb && channels != 3))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "image must be 3-dimensional and have %s channels, got %s",
                       gray  ? "1"
                       : rgb ? "3"
                             : "1 or 3",
                       hr_shape_text(in, text, sizeof text));
    const hr__pixels image = {k->input[0]->data, in.dims[0], in.dims[1], (int)channels, 8};
    const hr_status status = hr__jpeg_encode(&image, &how, &file, err);
    hr_strings_end(&file);
    if (status == HR_OK) return hr_strings_give(&file, k, 0, HR_SCALAR, err);
    hr_strings_free(&file);
    return status;
}

#define DECODE(NAME)                                                                                                   \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shapes = "[] -> [?,?,?]",                 \
        .shape = decode_shape, .compute = decode_compute,                                                              \
    }

const hr_graph_op hr_graph_ops_decode_ops[] = {
    DECODE("DecodePng"),
    DECODE("DecodeJpeg"),
    DECODE("DecodeImage"),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ExtractJpegShape",
        .traits = HR_NO_GRADIENT,
        .shapes = "[] -> [3]",
        .compute = jpeg_shape_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "EncodePng",
        .traits = HR_NO_GRADIENT,
        .shape = png_encode_shape,
        .compute = png_encode_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "EncodeJpeg",
        .traits = HR_NO_GRADIENT,
        .shapes = "[?,?,?] -> []",
        .shape = jpeg_encode_shape,
        .compute = jpeg_encode_compute,
    },
    HR_GRAPH_OPS_END,
};

static hr_node decode(const char *op, hr_node contents, const hr_decode_opts *opts)
{
    const hr_decode_opts o = HR_OPTIONS(hr_decode_opts, opts);
    hr_attr attrs[2] = {HR_INT_ATTR("channels", o.channels), HR_TYPE_ATTR("dtype", o.dtype)};
    return hr_new_node(contents.graph, op, .name = o.name, HR_INPUTS(contents), .attrs = attrs,
                       .attr_count = 1 + (o.dtype != HR_INVALID_DTYPE));
}

hr_node hr_decode_png_with(hr_node contents, const hr_decode_opts *opts) { return decode("DecodePng", contents, opts); }
hr_node hr_decode_image_with(hr_node contents, const hr_decode_opts *opts)
{
    return decode("DecodeImage", contents, opts);
}

hr_node hr_decode_jpeg_with(hr_node contents, const hr_decode_jpeg_opts *opts)
{
    const hr_decode_jpeg_opts o = HR_OPTIONS(hr_decode_jpeg_opts, opts);
    return hr_new_node(contents.graph, "DecodeJpeg", .name = o.name, HR_INPUTS(contents),
                       HR_ATTRS(HR_INT_ATTR("channels", o.channels), HR_INT_ATTR("ratio", o.ratio ? o.ratio : 1),
                                HR_STRING_ATTR("dct_method", o.accurate_dct ? "INTEGER_ACCURATE" : "")));
}

hr_node hr_encode_png_with(hr_node image, const hr_name_opts *opts) { return hr_unary_node("EncodePng", image, opts); }

hr_node hr_encode_jpeg_with(hr_node image, const hr_encode_jpeg_opts *opts)
{
    const hr_encode_jpeg_opts o = HR_OPTIONS(hr_encode_jpeg_opts, opts);
    return hr_new_node(image.graph, "EncodeJpeg", .name = o.name, HR_INPUTS(image),
                       HR_ATTRS(HR_INT_ATTR("quality", o.quality ? o.quality : 95)));
}
