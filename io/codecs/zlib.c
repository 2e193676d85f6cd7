/* zlib (RFC 1950): two bytes, a deflate stream, its Adler-32. Several of them in one file are read as one. */
#include "io/codecs/members.h"
#include <string.h>

static bool zlib_accepts(const unsigned char *head, size_t size)
{
    if (size > 0 && ((head[0] & 15) != 8 || head[0] >> 4 > 7)) return false;
    return size < 2 || (head[0] << 8 | head[1]) % 31 == 0;
}

/* Two bytes say little ("X" and a tab pass, "80" does): what follows must inflate, too. Few bytes of text may do even
 * that, but no stream is text. */
static int zlib_bid(const unsigned char *head, size_t size)
{
    return zlib_accepts(head, size) && !hr_codec_is_text(head, size) ? hr__deflate_plausible(head, size, 2) : 0;
}

static int64_t zlib_header(const unsigned char *bytes, size_t size, const char **why)
{
    *why = "expected a zlib header, got other bytes";
    if (!zlib_accepts(bytes, size)) return -1;
    if (size < 2) return 0;
    *why = "expected a zlib stream without a preset dictionary, got one that needs it";
    return bytes[1] & 0x20 ? -1 : 2;
}

static void zlib_mend(unsigned char *head, size_t size) { memcpy(head, "\x78\x9c", size < 2 ? size : 2); }

static uint32_t zlib_add(const hr__deflate_engine *engine, uint32_t sum, const unsigned char *data, size_t size)
{
    return engine->adler32(sum, data, size);
}

static void zlib_trailer(uint32_t sum, uint64_t count, unsigned char *out)
{
    (void)count;
    for (int i = 0; i < 4; i++) out[i] = (unsigned char)(sum >> (24 - 8 * i));
}

const hr__member_form hr__zlib_form = {
    .name = "zlib",
    .accepts = zlib_accepts,
    .header = zlib_header,
    .mend = zlib_mend,
    .trailer_size = 4,
    .sum = 1,
    .add = zlib_add,
    .trailer = zlib_trailer,
    .new_header = "\x78\x9c",
    .new_header_size = 2,
};

const hr_codec hr_codec_zlib = {
    .head = HR_CODEC_HEAD,
    .name = "zlib",
    .tf_name = "ZLIB",
    .extension = ".zlib",
    .id = HR_ZLIB,
    .is_one_stream = true,
    .bid = zlib_bid,
    .accepts = zlib_accepts,
    .coding = &hr__members_coding,
    .form = &hr__zlib_form,
};
