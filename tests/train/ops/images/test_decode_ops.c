/* Images in files beside TensorFlow 2.15.1, with the same files. */
#include "tests/train/ops/node_values.h"

#include <headrace/images.h>

/* 3 x 2 of two colors, of which the first is half transparent. */
static const uint8_t palette_png[] = {
    137, 80,  78,  71, 13,  10,  26,  10, 0,   0,   0,   13, 73,  72, 68, 82, 0,  0,  0,  3,   0,   0,   0,   2,   1,
    3,   0,   0,   0,  167, 186, 244, 89, 0,   0,   0,   6,  80,  76, 84, 69, 10, 20, 30, 200, 100, 50,  119, 160, 179,
    156, 0,   0,   0,  1,   116, 82,  78, 83,  128, 173, 94, 91,  70, 0,  0,  0,  12, 73, 68,  65,  84,  120, 156, 99,
    88,  192, 224, 0,  0,   2,   36,  0,  225, 115, 235, 59, 242, 0,  0,  0,  0,  73, 69, 78,  68,  174, 66,  96,  130};
/* 4 x 4, gray, in seven passes. */
static const uint8_t interlaced_png[] = {
    137, 80, 78,  71,  13,  10,  26,  10,  0,   0,  0, 13,  73, 72, 68, 82, 0,   0,   0,   4,   0,  0,  0,
    4,   8,  0,   0,   0,   1,   251, 157, 241, 52, 0, 0,   0,  32, 73, 68, 65,  84,  120, 156, 99, 96, 96,
    80,  96, 104, 88,  192, 32,  96,  192, 48,  97, 3, 131, 67, 64, 66, 1,  195, 129, 11,  15,  62, 0,  0,
    58,  55, 7,   129, 100, 146, 57,  87,  0,   0,  0, 0,   73, 69, 78, 68, 174, 66,  96,  130};
/* 2 x 1 of 16 bits a value. */
static const uint8_t wide_png[] = {137, 80,  78, 71,  13, 10,  26, 10,  0,  0,   0,   13, 73, 72,  68,  82,
                                   0,   0,   0,  2,   0,  0,   0,  1,   16, 2,   0,   0,  0,  43,  208, 52,
                                   158, 0,   0,  0,   21, 73,  68, 65,  84, 120, 156, 99, 96, 96,  100, 100,
                                   248, 255, 95, 200, 36, 172, 98, 214, 30, 0,   21,  51, 4,  107, 243, 14,
                                   91,  146, 0,  0,   0,  0,   73, 69,  78, 68,  174, 66, 96, 130};
/* 5 x 3, written by TensorFlow. */
static const uint8_t rgb_jpeg[] = {
    255, 216, 255, 224, 0,   16,  74,  70,  73,  70,  0,   1,   1,   1,   1,   44,  1,   44,  0,   0,   255, 219, 0,
    67,  0,   3,   2,   2,   3,   2,   2,   3,   3,   3,   3,   4,   3,   3,   4,   5,   8,   5,   5,   4,   4,   5,
    10,  7,   7,   6,   8,   12,  10,  12,  12,  11,  10,  11,  11,  13,  14,  18,  16,  13,  14,  17,  14,  11,  11,
    16,  22,  16,  17,  19,  20,  21,  21,  21,  12,  15,  23,  24,  22,  20,  24,  18,  20,  21,  20,  255, 219, 0,
    67,  1,   3,   4,   4,   5,   4,   5,   9,   5,   5,   9,   20,  13,  11,  13,  20,  20,  20,  20,  20,  20,  20,
    20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,
    20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  20,  255, 192, 0,
    17,  8,   0,   3,   0,   5,   3,   1,   34,  0,   2,   17,  1,   3,   17,  1,   255, 196, 0,   21,  0,   1,   1,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   7,   255, 196, 0,   33,  16,  0,   2,
    0,   6,   1,   5,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   1,   3,   0,   2,   4,   5,   6,   7,   19,
    17,  18,  33,  65,  97,  255, 196, 0,   21,  1,   1,   1,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   0,   0,   7,   8,   255, 196, 0,   33,  17,  1,   0,   1,   3,   4,   2,   3,   0,   0,   0,   0,   0,   0,
    0,   0,   0,   1,   2,   3,   4,   5,   0,   6,   17,  33,  18,  49,  65,  81,  97,  255, 218, 0,   12,  3,   1,
    0,   2,   17,  3,   17,  0,   63,  0,   156, 233, 172, 50,  197, 190, 53,  157, 38,  79,  157, 90,  105, 47,  151,
    135, 87,  56,  22,  113, 10,  117, 72,  56,  145, 225, 105, 79,  98,  214, 62,  73,  40,  29,  0,   30,  132, 33,
    8,   154, 183, 78,  107, 39,  107, 154, 186, 161, 66,  234, 164, 33,  25,  112, 4,   228, 0,   122, 0,   120, 3,
    232, 211, 214, 217, 197, 99,  238, 49,  116, 234, 86,  183, 132, 165, 229, 62,  216, 197, 122, 169, 32,  237, 62,
    0,   15,  205, 127, 255, 217};

static hr_node bytes_of(const void *bytes, size_t size)
{
    const hr_view view = {bytes, (int64_t)size};
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    return hr_const(g, &t);
}
#define FILE_OF(array) bytes_of(array, sizeof array)

static hr_node jpeg(const char *dct, bool fancy)
{
    return hr_new_node(g, "DecodeJpeg", HR_INPUTS(FILE_OF(rgb_jpeg)),
                       HR_ATTRS(HR_STRING_ATTR("dct_method", dct), HR_BOOL_ATTR("fancy_upscaling", fancy)));
}

static void png_files_of_all_forms_are_read(void **state)
{
    (void)state;
    const hr_node palette = FILE_OF(palette_png), wide = FILE_OF(wide_png);
    expect_shape(hr_decode_png(palette), HR_SHAPE(2, 3, 4));
    EXPECT(hr_decode_png(palette), 0, 200, 100, 50, 255, 10, 20, 30, 128, 200, 100, 50, 255, 10, 20, 30, 128, 200, 100,
           50, 255, 10, 20, 30, 128);
    EXPECT(hr_decode_png(palette, .channels = 1), 0, 124, 18, 124, 18, 124, 18);
    EXPECT(hr_decode_png(palette, .channels = 3, .dtype = HR_UINT16), 0, 51400, 25700, 12850, 2570, 5140, 7710, 51400,
           25700, 12850, 2570, 5140, 7710, 51400, 25700, 12850, 2570, 5140, 7710);
    EXPECT(hr_decode_png(FILE_OF(interlaced_png)), 0, 0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224,
           240);
    EXPECT(hr_decode_png(wide), 0, 0, 1, 255, 18, 86, 154);
    EXPECT(hr_decode_png(wide, .dtype = HR_UINT16), 0, 1, 256, 65535, 4660, 22136, 39612);
    EXPECT(hr_decode_png(wide, .channels = 1, .dtype = HR_UINT16), 0, 7624, 18904);
    EXPECT(hr_decode_image(wide, .dtype = HR_FLOAT), 1e-7, 1.5259022e-05, 0.0039063096, 1.0, 0.071107045, 0.3377737,
           0.6044404);
}

/* libjpeg-turbo decodes exactly as TensorFlow's does; another libjpeg may be off by one or two. */
static void jpeg_files_are_read(void **state)
{
    (void)state;
    EXPECT(jpeg("", true), 2, 74, 102, 44, 119, 135, 108, 74, 71, 100, 111, 106, 160, 0, 1, 43, 245, 255, 224, 133, 142,
           121, 61, 61, 71, 70, 66, 81, 70, 62, 60, 14, 0, 9, 41, 33, 30, 70, 77, 44, 181, 177, 116, 188, 144, 55);
    EXPECT(jpeg("INTEGER_ACCURATE", true), 2, 74, 101, 46, 119, 135, 109, 75, 72, 103, 113, 108, 164, 0, 0, 46, 248,
           255, 227, 133, 142, 123, 62, 62, 74, 71, 67, 84, 71, 62, 63, 15, 0, 11, 43, 33, 32, 71, 78, 47, 183, 178,
           120, 190, 144, 58);
    EXPECT(jpeg("INTEGER_FAST", false), 2, 74, 102, 44, 114, 142, 84, 78, 64, 123, 117, 103, 162, 0, 4, 41, 238, 255,
           208, 124, 152, 94, 65, 51, 110, 72, 58, 117, 46, 66, 103, 21, 0, 25, 52, 22, 56, 63, 88, 5, 163, 188, 105,
           228, 137, 0);
    EXPECT(hr_decode_jpeg(FILE_OF(rgb_jpeg), .channels = 1), 2, 87, 127, 75, 114, 2, 251, 137, 62, 69, 64, 4, 35, 71,
           171, 147);
    EXPECT(hr_decode_jpeg(FILE_OF(rgb_jpeg), .ratio = 2), 2, 138, 166, 108, 84, 70, 129, 14, 34, 71, 38, 8, 42, 116,
           141, 58, 229, 138, 0);
    EXPECT(hr_decode_jpeg(FILE_OF(interlaced_png), .channels = 1), 0, 0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160,
           176, 192, 208, 224, 240);
    EXPECT(hr_new_node(g, "ExtractJpegShape", HR_INPUTS(FILE_OF(rgb_jpeg))), 0, 3, 5, 3);
}

static hr_node cut(bool recovers)
{
    return hr_new_node(g, "DecodeJpeg", HR_INPUTS(bytes_of(rgb_jpeg, sizeof rgb_jpeg - 6)),
                       HR_ATTRS(HR_BOOL_ATTR("try_recover_truncated", recovers), HR_INT_ATTR("channels", 1)));
}

/* The last bytes are of colors. */
static void a_file_that_ends_too_soon_fails_or_is_taken(void **state)
{
    (void)state;
    EXPECT(cut(true), 2, 87, 127, 75, 114, 2, 251, 137, 62, 69, 64, 4, 35, 71, 171, 147);
    expect_failure(cut(false), "image.damaged");
    for (size_t size = 8; size < sizeof wide_png - 12; size++)
        expect_failure(hr_decode_png(bytes_of(wide_png, size)), "image.damaged");
}

static void files_are_written_and_read_again(void **state)
{
    (void)state;
    const double pixels[] = {1, 2, 3, 100, 0, 100, 0, 100, 100, 200, 200, 10};
    const hr_node image = constant_of(HR_UINT8, HR_SHAPE(2, 2, 3), pixels);
    expect_values(hr_decode_png(hr_encode_png(image)), pixels, 12, 0, "a PNG file");
    const hr_node wide = CONSTANT(HR_UINT16, HR_SHAPE(1, 2, 2), 1, 256, 65535, 4660);
    EXPECT(hr_decode_png(hr_encode_png(wide), .dtype = HR_UINT16), 0, 1, 256, 65535, 4660);
    const hr_node tall = CONSTANT(HR_UINT16, HR_SHAPE(3, 2, 1), 7, 300, 65535, 0, 4660, 4661);
    EXPECT(hr_decode_png(hr_encode_png(tall), .dtype = HR_UINT16), 0, 7, 300, 65535, 0, 4660, 4661);
    expect_shape(hr_encode_png(CONSTANT(HR_UINT8, HR_SHAPE(2, 1, 1, 1), 1, 2)), HR_SHAPE(2));
    const hr_node gray = CONSTANT(HR_UINT8, HR_SHAPE(2, 2, 1), 1, 50, 100, 200);
    EXPECT(hr_decode_jpeg(hr_encode_jpeg(gray, .quality = 100), .accurate_dct = true), 2, 1, 50, 100, 200);
    const hr_node all =
        hr_new_node(g, "EncodeJpeg", HR_INPUTS(image),
                    HR_ATTRS(HR_BOOL_ATTR("progressive", true), HR_BOOL_ATTR("optimize_size", true),
                             HR_INT_ATTR("quality", 100), HR_BOOL_ATTR("chroma_downsampling", false),
                             HR_STRING_ATTR("density_unit", "cm"), HR_STRING_ATTR("xmp_metadata", "<x/>")));
    expect_values(hr_decode_jpeg(all, .accurate_dct = true), pixels, 12, 4, "a progressive JPEG file");
}

static void what_is_no_image_is_refused(void **state)
{
    (void)state;
    const hr_node image = CONSTANT(HR_UINT8, HR_SHAPE(1, 1, 4), 1, 2, 3, 4), none = bytes_of("hello", 5);
    expect_failure(hr_decode_png(none), "image.format");
    expect_failure(hr_decode_image(bytes_of("", 0)), "image.format");
    expect_failure(hr_new_node(g, "ExtractJpegShape", HR_INPUTS(none)), "image.damaged");
    expect_failure(hr_encode_jpeg(unknown(image)), "graph.shape");
    expect_failure(
        hr_encode_png(hr_slice(image, hr_ints(g, (int64_t[]){1, 0, 0}, 3), hr_ints(g, (int64_t[]){0, 1, 4}, 3))),
        "image.size");
    expect_failure(hr_decode_jpeg(FILE_OF(rgb_jpeg), .ratio = 3), "graph.attr");
}

/* A header that promises 100 million pixels, with no data for them. */
static void a_file_that_promises_too_much_takes_no_memory(void **state)
{
    (void)state;
    static const uint8_t png[] = {137, 80,  78,  71, 13, 10, 26, 10, 0,  0,  0,  13, 73,  72, 68,
                                  82,  0,   0,   39, 16, 0,  0,  39, 16, 8,  2,  0,  0,   0,  53,
                                  44,  245, 112, 0,  0,  0,  0,  73, 68, 65, 84, 53, 175, 6,  30};
    limit_allocation(1 << 24);
    expect_failure(hr_decode_png(FILE_OF(png)), "image.damaged");
    limit_allocation(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(png_files_of_all_forms_are_read),
        GRAPH_TEST(jpeg_files_are_read),
        GRAPH_TEST(a_file_that_ends_too_soon_fails_or_is_taken),
        GRAPH_TEST(files_are_written_and_read_again),
        GRAPH_TEST(what_is_no_image_is_refused),
        GRAPH_TEST(a_file_that_promises_too_much_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
