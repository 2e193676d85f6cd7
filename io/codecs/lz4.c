/* LZ4 frames, as `lz4` reads and writes them. The library's stable interface allocates by malloc alone. */
#include "io/codecs/frames.h"
#include <lz4frame.h>
#include <string.h>

static bool lz4_accepts(const unsigned char *head, size_t size)
{
    return memcmp(head, "\x04\x22\x4d\x18", size < 4 ? size : 4) == 0 || hr__frame_is_skippable(head, size);
}

static int lz4_bid(const unsigned char *head, size_t size)
{
    return size >= 4 && memcmp(head, "\x04\x22\x4d\x18", 4) == 0 ? 2 : 0;
}

/* ---- decoding ---- */

static int64_t lz4_declares(const unsigned char *head, size_t size)
{
    enum { FLAGS = 4, SAYS_SIZE = 8, CONTENT_SIZE = 6, CONTENT_SIZE_END = 14 };
    if (size < CONTENT_SIZE_END || lz4_bid(head, size) == 0 || !(head[FLAGS] & SAYS_SIZE)) return -1;
    uint64_t declared = 0;
    for (int i = 7; i >= 0; i--) declared = declared << 8 | head[CONTENT_SIZE + i];
    return declared <= INT64_MAX ? (int64_t)declared : -1;
}

static void *lz4_decoder_new(void)
{
    LZ4F_dctx *d = NULL;
    return LZ4F_isError(LZ4F_createDecompressionContext(&d, LZ4F_VERSION)) ? NULL : d;
}

static void decoder_reset(void *decoder) { LZ4F_resetDecompressionContext(decoder); }

static hr__framed lz4_decode(void *decoder, hr__flow *flow, size_t *ahead, const char **why)
{
    size_t made = flow->out_size, used = flow->in_size;
    const size_t left = LZ4F_decompress(decoder, flow->out, &made, flow->in, &used, NULL);
    if (LZ4F_isError(left)) {
        *why = LZ4F_getErrorName(left);
        return strstr(*why, "hecksum") ? HR__FRAME_CHECKSUM : HR__FRAME_CORRUPT;
    }
    flow->in += used;
    flow->in_size -= used;
    flow->out += made;
    flow->out_size -= made;
    *ahead = left;
    return left == 0 ? HR__FRAME_DONE : HR__FRAME_MORE;
}

static void lz4_decoder_free(void *decoder) { LZ4F_freeDecompressionContext(decoder); }

/* ---- encoding ---- */

static LZ4F_preferences_t preferences(int level)
{
    LZ4F_preferences_t p;
    memset(&p, 0, sizeof p);
    p.frameInfo.blockSizeID = LZ4F_max256KB;
    p.frameInfo.blockMode = LZ4F_blockIndependent;
    p.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    p.compressionLevel = level;
    return p;
}

static void *lz4_encoder_new(int level)
{
    LZ4F_preferences_t p = preferences(level);
    return hr_memdup(&p, sizeof p);
}

static size_t lz4_bound(size_t size)
{
    LZ4F_preferences_t p = preferences(0);
    return LZ4F_compressFrameBound(size, &p) + 8; /* the size of the content, which the bound may leave out */
}

static size_t lz4_encode(void *encoder, const void *data, size_t size, void *to, size_t capacity)
{
    LZ4F_preferences_t p = *(const LZ4F_preferences_t *)encoder;
    p.frameInfo.contentSize = size;
    const size_t made = LZ4F_compressFrame(to, capacity, data, size, &p);
    return LZ4F_isError(made) ? 0 : made;
}

static const hr__frame_form form = {
    .name = "lz4",
    .accepts = lz4_accepts,
    .declares = lz4_declares,
    .decoder_new = lz4_decoder_new,
    .decoder_reset = decoder_reset,
    .decode = lz4_decode,
    .block_head = 4,
    .decoder_free = lz4_decoder_free,
    .encoder_new = lz4_encoder_new,
    .bound = lz4_bound,
    .encode = lz4_encode,
    .encoder_free = hr_free,
};

const hr_codec hr_codec_lz4 = {
    .head = HR_CODEC_HEAD,
    .name = "lz4",
    .tf_name = "LZ4",
    .extension = ".lz4",
    .id = HR_LZ4,
    .frames = true,
    .bid = lz4_bid,
    .accepts = lz4_accepts,
    .coding = &hr__frames_coding,
    .form = &form,
};
