/* Pictures as PNG. */
#ifndef HR_PNG_H
#define HR_PNG_H

#include <headrace/base.h>

/* Gives *bytes: a PNG of rows of pixels, of `channels` bytes each: 1, 3 or 4. "summary.image": no such size. */
hr_status hr__png_of(int64_t height, int64_t width, int channels, const uint8_t *pixels, char **bytes, size_t *size,
                     hr_error *err);

#endif
