/* A PNG is a signature and chunks: its size, the rows by zlib, the end. Each row begins with its filter: bytes are
 * stored as what they differ by from a guess, which packs better. */
#include "train/summary/png.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A chunk is shorter than 2 GiB, also if its bytes do not pack. */
enum { CHUNK_FRAME = 12, HEADER = 13, MOST_BYTES = 0x70000000, PAETH = 4 };
static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

static void put32(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Completes a chunk whose `size` bytes are in place, after 8 for length and type. What follows it. */
static unsigned char *end_chunk(unsigned char *chunk, const char *type, size_t size)
{
    put32(chunk, (uint32_t)size);
    memcpy(chunk + 4, type, 4);
    put32(chunk + 8 + size, (uint32_t)crc32(0, chunk + 4, (uInt)size + 4));
    return chunk + size + CHUNK_FRAME;
}

/* What the filter guesses a byte to be: the one to the left, above, or above to the left, that is nearest to the first
 * two less the third. */
static inline int guess(int left, int above, int corner)
{
    const int to_left = abs(above - corner), to_above = abs(left - corner), to_corner = abs(left + above - 2 * corner);
    if (to_left <= to_above && to_left <= to_corner) return left;
    return to_above <= to_corner ? above : corner;
}

/* A row as in the file: of 16 bits the higher byte comes first. */
static void order_row(const uint8_t *from, size_t size, int bits, uint8_t *to)
{
    memcpy(to, from, size);
    for (size_t i = 0; bits == 16 && i < size; i += 2) {
        uint16_t value;
        memcpy(&value, from + i, sizeof value);
        to[i] = (uint8_t)(value >> 8);
        to[i + 1] = (uint8_t)value;
    }
}

/* Gives all rows, filtered, or NULL. From the last byte to the first, so that what each one is guessed from is still as
 * it was. */
static uint8_t *filter_rows(const hr__pixels *image, size_t row)
{
    const size_t pixel = (size_t)(image->channels * image->bits / 8), stride = row + 1, height = (size_t)image->height;
    uint8_t *rows = hr_malloc(height * stride);
    for (size_t y = 0; rows && y < height; y++) {
        rows[y * stride] = PAETH;
        order_row(image->pixels + y * row, row, image->bits, rows + y * stride + 1);
    }
    for (size_t y = height; rows && y-- > 0;) {
        for (size_t i = row; i-- > 0;) {
            uint8_t *at = rows + y * stride + 1 + i;
            const bool left = i >= pixel, above = y > 0;
            *at = (uint8_t)(*at - guess(left ? *(at - pixel) : 0, above ? *(at - stride) : 0,
                                        left && above ? *(at - stride - pixel) : 0));
        }
    }
    return rows;
}

static unsigned char *put_header(unsigned char *out, const hr__pixels *image)
{
    static const unsigned char colors[] = {0, 0, 4, 2, 6};
    unsigned char *header = out + sizeof signature + 8;
    memcpy(out, signature, sizeof signature);
    put32(header, (uint32_t)image->width);
    put32(header + 4, (uint32_t)image->height);
    header[8] = (unsigned char)image->bits;
    header[9] = colors[image->channels];
    header[10] = header[11] = header[12] = 0;
    return end_chunk(out + sizeof signature, "IHDR", HEADER);
}

hr_status hr__png_write(const hr__pixels *image, int compression, char **bytes, size_t *size, hr_error *err)
{
    const int64_t height = image->height, width = image->width, pixel = image->channels * image->bits / 8;
    *bytes = NULL;
    if (height < 1 || width < 1 || pixel < 1 || image->channels > 4 || width > MOST_BYTES ||
        height > MOST_BYTES / (width * pixel + 1))
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.image",
                       "a picture: expected rows of pixels of 1 to 4 channels, got %lld by %lld by %d",
                       (long long)height, (long long)width, image->channels);
    const size_t row = (size_t)(width * pixel);
    const uLong unpacked = (uLong)height * (row + 1);
    uLongf packed = compressBound(unpacked);
    uint8_t *rows = filter_rows(image, row);
    unsigned char *out = hr_malloc(sizeof signature + HEADER + packed + 3 * CHUNK_FRAME);
    hr_status st = rows && out ? HR_OK : hr_no_memory(err, "a picture");
    if (st == HR_OK) {
        unsigned char *at = put_header(out, image);
        if (compress2(at + 8, &packed, rows, unpacked, compression) != Z_OK) st = hr_no_memory(err, "a picture");
        at = end_chunk(at, "IDAT", packed);
        at = end_chunk(at, "IEND", 0);
        *size = (size_t)(at - out);
    }
    hr_free(rows);
    if (st == HR_OK)
        *bytes = (char *)out;
    else
        hr_free(out);
    return st;
}
