/* PNG and JPEG in memory, by libpng and libjpeg where they were found when this was built; PNG is written without. Not a
 * public header. */
#ifndef HR_IMAGE_FILES_H
#define HR_IMAGE_FILES_H

#include "train/summary/png.h"
#include <headrace/kernels.h>

/* No image may have more bytes, counted as three values a pixel, nor more rows or columns: as in TensorFlow. */
enum { HR__IMAGE_BYTES = 1 << 29, HR__IMAGE_LENGTH = 1 << 27 };

typedef enum hr__image_kind { HR__IMAGE_OTHER, HR__IMAGE_PNG, HR__IMAGE_JPEG } hr__image_kind;
hr__image_kind hr__image_kind_of(hr_view bytes);

/* Where an image goes: `begin` is told its size once, before any value, and gives memory of as many values, row by row,
 * of one byte each, or of two; NULL: there is none. */
typedef struct hr__image_sink {
    uint8_t *(*begin)(void *user, int64_t height, int64_t width, int64_t channels);
    void *user;
} hr__image_sink;

/* channels 0: as the file has them. bits: 8 or 16; 8 are written twice for 16. HR_INVALID_ARGUMENT, "image.damaged",
 * "image.size"; HR_UNIMPLEMENTED, "image.library". */
hr_status hr__png_decode(hr_view bytes, int channels, int bits, const hr__image_sink *sink, hr_error *err);

typedef struct hr__jpeg_reading {
    int channels, ratio; /* ratio: 1, 2, 4 or 8 pixels as one */
    bool plain_upscaling, fast_dct;
    bool may_be_cut; /* what is there of a file that ends too soon is taken, */
    float fraction;  /* if it is as much of its rows; the others are black */
} hr__jpeg_reading;
hr_status hr__jpeg_decode(hr_view bytes, const hr__jpeg_reading *how, const hr__image_sink *sink, hr_error *err);
/* Height, width and channels, without decoding. */
hr_status hr__jpeg_shape(hr_view bytes, int64_t shape[3], hr_error *err);

/* A picture as a file, which is added to `out`. compression: 0 to 9, or -1. */
hr_status hr__png_encode(const hr__pixels *image, int compression, hr_strings *out, hr_error *err);
typedef struct hr__jpeg_writing {
    int quality;
    bool progressive, optimize, whole_chroma, per_cm;
    int x_density, y_density;
    hr_view xmp;
} hr__jpeg_writing;
hr_status hr__jpeg_encode(const hr__pixels *image, const hr__jpeg_writing *how, hr_strings *out, hr_error *err);

/* Refuses sizes that no image may have, "image.size". */
hr_status hr__image_check(int64_t height, int64_t width, int64_t channels, hr_error *err);

#endif
