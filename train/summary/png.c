/* A PNG is a signature and chunks: its size, the rows by zlib, the end. Rows are not filtered. */
#include "train/summary/png.h"
#include <string.h>
#include <zlib.h>

enum { CHUNK_FRAME = 12, HEADER = 13, LONGEST = 1 << 30 };
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

/* Each row has a byte in front that says its filter. */
static unsigned char *png_rows(int64_t height, size_t row, const uint8_t *pixels)
{
    unsigned char *rows = hr_malloc((size_t)height * (row + 1));
    for (int64_t y = 0; rows && y < height; y++) {
        rows[(size_t)y * (row + 1)] = 0;
        memcpy(rows + (size_t)y * (row + 1) + 1, pixels + (size_t)y * row, row);
    }
    return rows;
}

hr_status hr__png_of(int64_t height, int64_t width, int channels, const uint8_t *pixels, char **bytes, size_t *size,
                     hr_error *err)
{
    *bytes = NULL;
    if (height < 1 || width < 1 || height > LONGEST || width > LONGEST || height * width > LONGEST / 4 ||
        (channels != 1 && channels != 3 && channels != 4))
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.image",
                       "a picture: expected rows of pixels of 1, 3 or 4 channels, got %lld by %lld by %d",
                       (long long)height, (long long)width, channels);
    const size_t row = (size_t)width * (size_t)channels;
    uLongf packed = compressBound((uLong)height * (row + 1));
    unsigned char *rows = png_rows(height, row, pixels);
    unsigned char *out = hr_malloc(sizeof signature + HEADER + packed + 3 * CHUNK_FRAME);
    hr_status st = rows && out ? HR_OK : hr_no_memory(err, "a picture");
    if (st == HR_OK) {
        unsigned char *at = out + sizeof signature;
        memcpy(out, signature, sizeof signature);
        put32(at + 8, (uint32_t)width);
        put32(at + 12, (uint32_t)height);
        at[16] = 8; /* bits */
        at[17] = channels == 1 ? 0 : channels == 3 ? 2 : 6;
        at[18] = at[19] = at[20] = 0;
        at = end_chunk(at, "IHDR", HEADER);
        if (compress(at + 8, &packed, rows, (uLong)height * (row + 1)) != Z_OK) st = hr_no_memory(err, "a picture");
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
