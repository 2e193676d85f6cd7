/* gzip (RFC 1952): members of a header with optional fields, a deflate stream, its CRC-32 and size. */
#include "io/codecs/members.h"
#include <string.h>

enum { HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0 };

static bool gzip_accepts(const unsigned char *head, size_t size)
{
    return memcmp(head, "\x1f\x8b\x08", size < 3 ? size : 3) == 0;
}

static int gzip_bid(const unsigned char *head, size_t size)
{
    return size >= 4 && gzip_accepts(head, size) && !(head[3] & RESERVED) ? 2 : 0;
}

/* The place after a text that ends in a zero; 0: it does not end here. */
static size_t gzip_after_text(const unsigned char *bytes, size_t size, size_t at)
{
    const unsigned char *end = at < size ? memchr(bytes + at, 0, size - at) : NULL;
    return end ? (size_t)(end - bytes) + 1 : 0;
}

static int64_t gzip_header(const unsigned char *bytes, size_t size, const char **why)
{
    *why = "expected a gzip header, got other bytes";
    if (!gzip_accepts(bytes, size) || (size > 3 && (bytes[3] & RESERVED))) return -1;
    if (size < 10) return 0;
    unsigned flags = bytes[3];
    size_t at = 10;
    if (flags & EXTRA) {
        if (size < 12) return 0;
        at = 12 + (size_t)(bytes[10] | bytes[11] << 8);
    }
    if (flags & NAME && !(at = gzip_after_text(bytes, size, at))) return 0;
    if (flags & COMMENT && !(at = gzip_after_text(bytes, size, at))) return 0;
    if (!(flags & HEADER_CRC)) return at <= size ? (int64_t)at : 0;
    if (size < at + 2) return 0;
    *why = "expected the checksum of the gzip header, got another";
    uint32_t sum = hr__deflate_by_zlib.crc32(0, bytes, at) & 0xffff;
    return sum == (uint32_t)(bytes[at] | bytes[at + 1] << 8) ? (int64_t)at + 2 : -1;
}

static void gzip_mend(unsigned char *head, size_t size)
{
    memcpy(head, "\x1f\x8b\x08", size < 3 ? size : 3);
    if (size > 3) head[3] &= (unsigned char)~RESERVED;
}

static uint32_t gzip_add(const hr__deflate_engine *engine, uint32_t sum, const unsigned char *data, size_t size)
{
    return engine->crc32(sum, data, size);
}

static void gzip_trailer(uint32_t sum, uint64_t count, unsigned char *out)
{
    for (int i = 0; i < 4; i++) {
        out[i] = (unsigned char)(sum >> 8 * i);
        out[4 + i] = (unsigned char)(count >> 8 * i);
    }
}

/* No time and no name, so that the same data gives the same file. */
const hr__member_form hr__gzip_form = {
    .name = "gzip",
    .accepts = gzip_accepts,
    .header = gzip_header,
    .mend = gzip_mend,
    .trailer_size = 8,
    .sum = 0,
    .add = gzip_add,
    .trailer = gzip_trailer,
    .new_header = "\x1f\x8b\x08\0\0\0\0\0\0\xff",
    .new_header_size = 10,
};

const hr_codec hr_codec_gzip = {
    .head = HR_CODEC_HEAD,
    .name = "gzip",
    .tf_name = "GZIP",
    .extension = ".gz",
    .id = HR_GZIP,
    .bid = gzip_bid,
    .accepts = gzip_accepts,
    .coding = &hr__members_coding,
    .form = &hr__gzip_form,
};
