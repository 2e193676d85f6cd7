/* Headrace, images in a graph: files read and written, sizes and colors changed. As in ops.h: those with options take
 * .name, and an error stays with the graph (hr_graph_error). An image is [height, width, channels], many are [n, height,
 * width, channels]. Each op computes what TensorFlow documents for the op of its name. */
#ifndef HR_IMAGES_H
#define HR_IMAGES_H

#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- files; PNG is read by libpng, JPEG read and written by libjpeg, where the library was built with them, else
 * HR_UNIMPLEMENTED, "image.library" ---- */

typedef struct hr_decode_opts {
    size_t struct_size;
    const char *name;
    int channels;   /* 1: gray, 3: red, green, blue, 4: with alpha; default: as the file has them */
    hr_dtype dtype; /* uint8, the default, or uint16; for hr_decode_image also float, from 0 to 1 */
} hr_decode_opts;
/* DecodePng and DecodeImage: the bytes of a PNG or JPEG file as an image [height, width, channels]. contents: a string
 * scalar. Other bytes fail the run with HR_INVALID_ARGUMENT, "image.format", a damaged file with "image.damaged", an
 * image of 512 MiB or more with "image.size". */
HR_API hr_node hr_decode_png_with(hr_node contents, const hr_decode_opts *opts);
HR_API hr_node hr_decode_image_with(hr_node contents, const hr_decode_opts *opts);
#define hr_decode_png(...)                                                                                             \
    HR_MADE_(HR_CALL1_(hr_decode_png_with, hr_decode_opts, __VA_ARGS__, .struct_size = sizeof(hr_decode_opts)))
#define hr_decode_image(...)                                                                                           \
    HR_MADE_(HR_CALL1_(hr_decode_image_with, hr_decode_opts, __VA_ARGS__, .struct_size = sizeof(hr_decode_opts)))

typedef struct hr_decode_jpeg_opts {
    size_t struct_size;
    const char *name;
    int channels;      /* as in hr_decode_opts, without 4 */
    int ratio;         /* 2, 4, 8: so many pixels in both directions as one; default 1 */
    bool accurate_dct; /* slower, and nearer to what was encoded */
} hr_decode_jpeg_opts;
/* DecodeJpeg, which takes PNG files, too: uint8. */
HR_API hr_node hr_decode_jpeg_with(hr_node contents, const hr_decode_jpeg_opts *opts);
#define hr_decode_jpeg(...)                                                                                            \
    HR_MADE_(                                                                                                          \
        HR_CALL1_(hr_decode_jpeg_with, hr_decode_jpeg_opts, __VA_ARGS__, .struct_size = sizeof(hr_decode_jpeg_opts)))

HR_UNARY_OP_(hr_encode_png) /* uint8 or uint16 [..., height, width, channels] as strings [...] */
#define hr_encode_png(...) HR_UNARY_CALL_(hr_encode_png, __VA_ARGS__)

typedef struct hr_encode_jpeg_opts {
    size_t struct_size;
    const char *name;
    int quality; /* 1 to 100; default 95 */
} hr_encode_jpeg_opts;
/* EncodeJpeg: uint8 [height, width, 1 or 3] as a string. */
HR_API hr_node hr_encode_jpeg_with(hr_node image, const hr_encode_jpeg_opts *opts);
#define hr_encode_jpeg(...)                                                                                            \
    HR_MADE_(                                                                                                          \
        HR_CALL1_(hr_encode_jpeg_with, hr_encode_jpeg_opts, __VA_ARGS__, .struct_size = sizeof(hr_encode_jpeg_opts)))

/* ---- sizes ---- */

/* How values between pixels are made. */
typedef enum hr_resize_method {
    HR_RESIZE_BILINEAR,
    HR_RESIZE_NEAREST, /* keeps the type of the images; the others give float */
    HR_RESIZE_BICUBIC,
    HR_RESIZE_AREA, /* means of what a pixel covers; it has no gradient */
} hr_resize_method;
typedef struct hr_resize_opts {
    size_t struct_size;
    const char *name;
    hr_resize_method method;
    bool align_corners; /* the centers of pixels at the corners stay where they are */
    bool corners;       /* places are those of corners of pixels, not of their centers, as in TensorFlow 1 */
} hr_resize_opts;
/* ResizeBilinear and its kin: images [n, h, w, c] of any numbers as [n, height, width, c], as by tf.image.resize. */
HR_API hr_node hr_resize_images_with(hr_node images, int64_t height, int64_t width, const hr_resize_opts *opts);
#define hr_resize_images(...)                                                                                          \
    HR_MADE_(HR_CALL3_(hr_resize_images_with, hr_resize_opts, __VA_ARGS__, .struct_size = sizeof(hr_resize_opts)))

typedef struct hr_crop_opts {
    size_t struct_size;
    const char *name;
    bool nearest;  /* of the nearest pixel; default: bilinear */
    float outside; /* the value of what lies outside of the image */
} hr_crop_opts;
/* CropAndResize: parts of images [n, h, w, c] in one size, float [m, height, width, c]. boxes: float [m, 4], each y1, x1,
 * y2, x2 in parts of height and width; box_indices: int32 [m], the image of each. An index that there is not fails the
 * run, "graph.index". */
HR_API hr_node hr_crop_and_resize_with(hr_node images, hr_node boxes, hr_node box_indices, int64_t height,
                                       int64_t width, const hr_crop_opts *opts);
#define hr_crop_and_resize(images, boxes, box_indices, height, ...)                                                    \
    HR_CROP_AND_RESIZE_(images, boxes, box_indices, height, __VA_ARGS__, .struct_size = sizeof(hr_crop_opts))
#define HR_CROP_AND_RESIZE_(images, boxes, box_indices, height, width, ...)                                            \
    HR_MADE_(hr_crop_and_resize_with((images), (boxes), (box_indices), (height), (width), &(hr_crop_opts){__VA_ARGS__}))

/* ---- colors: float or half [..., 3]; they have no gradients ---- */

/* AdjustHue, AdjustSaturation, AdjustContrastv2 of images [..., height, width, 3]: hue turned by `delta` of a circle,
 * saturation times `scale`, the distance to the mean of each channel times `factor`. */
HR_API hr_node hr_adjust_hue(hr_node images, double delta);
HR_API hr_node hr_adjust_saturation(hr_node images, double scale);
HR_API hr_node hr_adjust_contrast(hr_node images, double factor);
#define hr_adjust_hue(...) HR_MADE_(hr_adjust_hue(__VA_ARGS__))
#define hr_adjust_saturation(...) HR_MADE_(hr_adjust_saturation(__VA_ARGS__))
#define hr_adjust_contrast(...) HR_MADE_(hr_adjust_contrast(__VA_ARGS__))

HR_UNARY_OP_(hr_rgb_to_hsv) /* red, green, blue from 0 to 1 as hue, saturation, value from 0 to 1 */
HR_UNARY_OP_(hr_hsv_to_rgb)
#define hr_rgb_to_hsv(...) HR_UNARY_CALL_(hr_rgb_to_hsv, __VA_ARGS__)
#define hr_hsv_to_rgb(...) HR_UNARY_CALL_(hr_hsv_to_rgb, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
