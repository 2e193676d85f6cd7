/* PNG, read by libpng, which jumps out of its functions on errors: what must be known after a jump lies in a struct.
 * Writing needs no library but zlib (train/summary/png.h). */
#include "train/ops/images/image_files.h"

#ifdef HR_HAVE_PNG
#include <png.h>

typedef struct png_work {
    hr_view left;      /* of the file */
    char message[128]; /* of the error */
    bool no_memory;
} png_work;

static void fail_png(png_structp png, png_const_charp message)
{
    png_work *w = png_get_error_ptr(png);
    (void)snprintf(w->message, sizeof w->message, "%s", message);
    png_longjmp(png, 1);
}

static void warn_png(png_structp png, png_const_charp message) { (void)png, (void)message; }

static png_voidp take_memory(png_structp png, png_alloc_size_t size)
{
    (void)png;
    return hr_malloc(size);
}

static void give_memory(png_structp png, png_voidp memory)
{
    (void)png;
    hr_free(memory);
}

static void read_bytes(png_structp png, png_bytep to, size_t size)
{
    png_work *w = png_get_io_ptr(png);
    if (size > (size_t)w->left.size) png_error(png, "the file ends too soon");
    memcpy(to, w->left.data, size);
    w->left.data += size;
    w->left.size -= (int64_t)size;
}

static hr_status png_failed(const png_work *w, hr_view bytes, hr_error *err)
{
    if (w->no_memory) return hr_no_memory(err, "an image");
    return hr_fail(err, HR_INVALID_ARGUMENT, "image.damaged", "expected a PNG file, got %lld bytes that are none: %s",
                   (long long)bytes.size, w->message);
}

/* Asks libpng for that form of pixels. Gives the number of channels. */
static int choose_form(png_structp png, png_infop info, int channels, int bits)
{
    const int color = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
    const bool has_transparent = png_get_valid(png, info, PNG_INFO_tRNS), has_alpha = color & PNG_COLOR_MASK_ALPHA;
    if (channels == 0)
        channels = color == PNG_COLOR_TYPE_PALETTE ? (has_transparent ? 4 : 3) : png_get_channels(png, info);
    if (channels % 2)
        png_set_strip_alpha(png);
    else if (has_transparent && !has_alpha)
        png_set_tRNS_to_alpha(png);
    else if (!has_alpha)
        png_set_add_alpha(png, (1u << depth) - 1, PNG_FILLER_AFTER);
    if (depth > 8 && bits <= 8) png_set_strip_16(png);
    png_set_packing(png);
    if (bits > 8) png_set_swap(png);
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    const bool is_gray = !(color & PNG_COLOR_MASK_COLOR);
    if (is_gray && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    if (channels < 3 && !is_gray) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (channels >= 3 && is_gray) png_set_gray_to_rgb(png);
    return channels;
}

/* A byte v as v * 257, from the last one to the first. */
static void widen(uint8_t *row, int64_t values)
{
    for (int64_t i = values - 1; i >= 0; i--) row[2 * i] = row[2 * i + 1] = row[i];
}

static hr_status read_png(png_structp png, png_infop info, png_work *w, int channels, int bits,
                          const hr__image_sink *sink, hr_error *err)
{
    png_read_info(png, info);
    const int64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    const bool wide = png_get_bit_depth(png, info) <= 8 && bits == 16;
    const int passes = png_set_interlace_handling(png);
    channels = choose_form(png, info, channels, bits);
    HR_TRY(hr__image_check(height, width, channels, err));
    png_read_update_info(png, info);
    const int64_t row = width * channels * bits / 8;
    if (png_get_rowbytes(png, info) != (size_t)(wide ? row / 2 : row)) png_error(png, "a row of another length");
    /* Deflate makes at most 1032 bytes of one. */
    if (height * ((width + 7) / 8) / 1032 > w->left.size) png_error(png, "the file ends too soon");
    uint8_t *pixels = sink->begin(sink->user, height, width, channels);
    w->no_memory = !pixels;
    if (!pixels) png_error(png, "no memory");
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < height; y++) png_read_row(png, pixels + y * row, NULL);
    for (int64_t y = 0; wide && y < height; y++) widen(pixels + y * row, width * channels);
    png_read_end(png, NULL);
    return HR_OK;
}

hr_status hr__png_decode(hr_view bytes, int channels, int bits, const hr__image_sink *sink, hr_error *err)
{
    png_work w = {.left = bytes, .message = "no memory", .no_memory = true};
    png_structp png =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &w, fail_png, warn_png, NULL, take_memory, give_memory);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return hr_no_memory(err, "an image");
    }
    w.no_memory = false;
    hr_status status;
    if (setjmp(png_jmpbuf(png))) {
        status = png_failed(&w, bytes, err);
    } else {
        png_set_read_fn(png, &w, read_bytes);
        status = read_png(png, info, &w, channels, bits, sink, err);
    }
    png_destroy_read_struct(&png, &info, NULL);
    return status;
}
#else
hr_status hr__png_decode(hr_view bytes, int channels, int bits, const hr__image_sink *sink, hr_error *err)
{
    (void)bytes, (void)channels, (void)bits, (void)sink;
    return hr_fail(err, HR_UNIMPLEMENTED, "image.library",
                   "expected a library built with libpng (libpng-dev), got one without");
}
#endif

hr_status hr__png_encode(const hr__pixels *image, int compression, hr_strings *out, hr_error *err)
{
    char *bytes;
    size_t size;
    HR_TRY(hr__image_check(image->height, image->width, image->channels, err));
    HR_TRY(hr__png_write(image, compression, &bytes, &size, err));
    hr_strings_add(out, (hr_view){bytes, (int64_t)size});
    hr_free(bytes);
    return HR_OK;
}
