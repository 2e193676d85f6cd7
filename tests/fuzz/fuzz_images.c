/* A byte of choices, then any bytes as a PNG or JPEG file, read in one of the ways that ops ask for. What can be read is
 * written and read again. */
#include "train/ops/images/image_files.h"
#include <headrace/base.h>

enum { MOST = 1 << 20 };

static struct {
    int64_t height, width, channels;
    uint8_t *pixels;
} image;

static uint8_t *begin(void *user, int64_t height, int64_t width, int64_t channels)
{
    const int bits = *(const int *)user;
    image.height = height;
    image.width = width;
    image.channels = channels;
    if (height * width > MOST) return NULL;
    image.pixels = hr_calloc((size_t)(height * width * channels), (size_t)bits / 8);
    return image.pixels;
}

static void use(int bits, int64_t choices)
{
    hr_strings file = {0};
    const hr__pixels pixels = {image.pixels, image.height, image.width, (int)image.channels, bits};
    const hr__jpeg_writing how = {.quality = (int)(choices & 63), .x_density = 1, .y_density = 1};
    if (pixels.height * pixels.width > 1 << 12) return;
    (void)hr__png_encode(&pixels, 1, &file, NULL);
    if (bits == 8 && pixels.channels % 2 == 1) (void)hr__jpeg_encode(&pixels, &how, &file, NULL);
    hr_strings_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int channels[] = {0, 1, 3, 4};
    if (size < 1) return 0;
    const uint8_t choices = data[0];
    const hr_view bytes = {(const char *)data + 1, (int64_t)size - 1};
    int64_t shape[3];
    int bits = choices & 4 ? 16 : 8;
    const hr__image_sink sink = {begin, &bits};
    image.pixels = NULL;
    if (hr__png_decode(bytes, channels[choices & 3], bits, &sink, NULL) == HR_OK) use(bits, choices);
    hr_free(image.pixels);
    const hr__jpeg_reading how = {.channels = (choices & 3) % 3 == 0 ? 0 : channels[choices & 3],
                                  .ratio = 1 << (choices >> 3 & 3),
                                  .plain_upscaling = choices & 4,
                                  .fast_dct = choices & 32,
                                  .may_be_cut = choices & 64,
                                  .fraction = choices & 128 ? 1 : 0.5f};
    image.pixels = NULL;
    bits = 8;
    if (hr__jpeg_shape(bytes, shape, NULL) == HR_OK && shape[0] * shape[1] <= MOST &&
        hr__jpeg_decode(bytes, &how, &sink, NULL) == HR_OK)
        use(8, choices);
    hr_free(image.pixels);
    return 0;
}
