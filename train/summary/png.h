/* Pictures as PNG. */
#ifndef HR_PNG_H
#define HR_PNG_H

#include <headrace/base.h>

/* A picture, row by row. */
typedef struct hr__pixels {
    const uint8_t *pixels;
    int64_t height, width;
    int channels, bits; /* 1 to 4 values a pixel, of 8 bits, or of 16 in this machine's order */
} hr__pixels;

/* Gives *bytes: a PNG file. compression: zlib's, 0 to 9, or -1 for its default. "summary.image": no such picture. */
hr_status hr__png_write(const hr__pixels *image, int compression, char **bytes, size_t *size, hr_error *err);

#endif
