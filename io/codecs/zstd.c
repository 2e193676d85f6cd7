/* Zstandard frames, as `zstd` reads and writes them, where the library was found; without it such files are still told
 * apart from others. The library's stable interface allocates by malloc alone. */
#include "io/codecs/frames.h"
#include <string.h>

static const char magic[] = "\x28\xb5\x2f\xfd";

static bool zstd_accepts(const unsigned char *head, size_t size)
{
    return memcmp(head, magic, size < 4 ? size : 4) == 0 || hr__frame_is_skippable(head, size);
}

static int zstd_bid(const unsigned char *head, size_t size) { return size >= 4 && memcmp(head, magic, 4) == 0 ? 2 : 0; }

#ifdef HR_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

enum { FASTEST = 1 };

/* ---- decoding ---- */

/* The library's streams do not look at it where the last block is empty. */
static int64_t zstd_declares(const unsigned char *head, size_t size)
{
    const unsigned long long declared = ZSTD_getFrameContentSize(head, size);
    const bool said = declared != ZSTD_CONTENTSIZE_UNKNOWN && declared != ZSTD_CONTENTSIZE_ERROR;
    return said && declared <= INT64_MAX ? (int64_t)declared : -1;
}

static void *zstd_decoder_new(void) { return ZSTD_createDCtx(); }

static void decoder_reset(void *decoder) { ZSTD_DCtx_reset(decoder, ZSTD_reset_session_only); }

static hr__framed zstd_decode(void *decoder, hr__flow *flow, size_t *ahead, const char **why)
{
    ZSTD_inBuffer in = {flow->in, flow->in_size, 0};
    ZSTD_outBuffer out = {flow->out, flow->out_size, 0};
    const size_t left = ZSTD_decompressStream(decoder, &out, &in);
    flow->in += in.pos;
    flow->in_size -= in.pos;
    flow->out += out.pos;
    flow->out_size -= out.pos;
    *ahead = left;
    if (!ZSTD_isError(left)) return left == 0 ? HR__FRAME_DONE : HR__FRAME_MORE;
    *why = ZSTD_getErrorName(left);
    return ZSTD_getErrorCode(left) == ZSTD_error_checksum_wrong ? HR__FRAME_CHECKSUM : HR__FRAME_CORRUPT;
}

static void zstd_decoder_free(void *decoder) { ZSTD_freeDCtx(decoder); }

/* ---- encoding ---- */

static void *zstd_encoder_new(int level)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    if (!c) return NULL;
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level ? level : FASTEST);
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    return c;
}

static size_t zstd_bound(size_t size) { return ZSTD_compressBound(size) + 64; /* an empty frame has a header, too */ }

static size_t zstd_encode(void *encoder, const void *data, size_t size, void *to, size_t capacity)
{
    const size_t made = ZSTD_compress2(encoder, to, capacity, data, size);
    return ZSTD_isError(made) ? 0 : made;
}

static void zstd_encoder_free(void *encoder) { ZSTD_freeCCtx(encoder); }

static const hr__frame_form form = {
    .name = "zstd",
    .accepts = zstd_accepts,
    .declares = zstd_declares,
    .decoder_new = zstd_decoder_new,
    .decoder_reset = decoder_reset,
    .decode = zstd_decode,
    .block_head = 3,
    .decoder_free = zstd_decoder_free,
    .encoder_new = zstd_encoder_new,
    .bound = zstd_bound,
    .encode = zstd_encode,
    .encoder_free = zstd_encoder_free,
};
#else
static const hr__frame_form form = {.name = "zstd", .accepts = zstd_accepts};
#endif

const hr_codec hr_codec_zstd = {
    .head = HR_CODEC_HEAD,
    .name = "zstd",
    .tf_name = "ZSTD",
    .extension = ".zst",
    .id = HR_ZSTD,
    .frames = true,
    .bid = zstd_bid,
    .accepts = zstd_accepts,
    .coding = &hr__frames_coding,
    .form = &form,
};
