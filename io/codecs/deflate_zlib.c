/* Raw deflate by zlib. */
#include "io/codecs/deflate.h"
#include <limits.h>
#include <string.h>
#include <zlib.h>

static void *deflate_zlib_allocate(void *user, unsigned count, unsigned size)
{
    (void)user;
    return hr_calloc(count, size);
}

static void deflate_zlib_release(void *user, void *p)
{
    (void)user;
    hr_free(p);
}

static unsigned deflate_zlib_clipped(size_t size) { return size < UINT_MAX ? (unsigned)size : UINT_MAX; }

static void deflate_zlib_begin(z_stream *z, const hr__flow *flow)
{
    z->next_in = (unsigned char *)(uintptr_t)flow->in; /* zlib's own promise: it only reads */
    z->avail_in = deflate_zlib_clipped(flow->in_size);
    z->next_out = flow->out;
    z->avail_out = deflate_zlib_clipped(flow->out_size);
}

static void deflate_zlib_end(const z_stream *z, hr__flow *flow)
{
    flow->in_size -= (size_t)(z->next_in - flow->in);
    flow->in = z->next_in;
    flow->out_size -= (size_t)(z->next_out - flow->out);
    flow->out = z->next_out;
}

static void *inflate_new(void)
{
    z_stream *z = hr_calloc(1, sizeof *z);
    if (!z) return NULL;
    z->zalloc = deflate_zlib_allocate;
    z->zfree = deflate_zlib_release;
    if (inflateInit2(z, -MAX_WBITS) == Z_OK) return z;
    hr_free(z);
    return NULL;
}

static void deflate_zlib_reset(void *state) { inflateReset(state); }

static hr__inflated deflate_zlib_inflate_some(void *state, hr__flow *flow)
{
    z_stream *z = state;
    deflate_zlib_begin(z, flow);
    int status = inflate(z, Z_NO_FLUSH);
    deflate_zlib_end(z, flow);
    if (status == Z_STREAM_END) return HR__INFLATE_DONE;
    if (status == Z_MEM_ERROR) return HR__INFLATE_NO_MEMORY;
    return status == Z_OK || status == Z_BUF_ERROR ? HR__INFLATE_MORE : HR__INFLATE_BAD;
}

static size_t inflate_held(const void *state)
{
    (void)state;
    return 0;
}

static void inflate_free(void *state)
{
    if (!state) return;
    inflateEnd(state);
    hr_free(state);
}

static void *deflate_new(int level)
{
    z_stream *z = hr_calloc(1, sizeof *z);
    if (!z) return NULL;
    z->zalloc = deflate_zlib_allocate;
    z->zfree = deflate_zlib_release;
    if (deflateInit2(z, level ? level : Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return z;
    hr_free(z);
    return NULL;
}

static bool deflate_some(void *state, hr__flow *flow, bool last)
{
    z_stream *z = state;
    deflate_zlib_begin(z, flow);
    int status = deflate(z, last && z->avail_in == flow->in_size ? Z_FINISH : Z_NO_FLUSH);
    deflate_zlib_end(z, flow);
    return status == Z_STREAM_END;
}

static void deflate_free(void *state)
{
    if (!state) return;
    deflateEnd(state);
    hr_free(state);
}

static uint32_t crc32_of(uint32_t sum, const unsigned char *data, size_t size)
{
    return size ? (uint32_t)crc32_z(sum, data, size) : sum;
}

static uint32_t adler32_of(uint32_t sum, const unsigned char *data, size_t size)
{
    return size ? (uint32_t)adler32_z(sum, data, size) : sum;
}

const hr__deflate_engine hr__deflate_by_zlib = {
    .name = "zlib",
    .inflate_new = inflate_new,
    .inflate_reset = deflate_zlib_reset,
    .inflate = deflate_zlib_inflate_some,
    .held = inflate_held,
    .inflate_free = inflate_free,
    .deflate_new = deflate_new,
    .deflate = deflate_some,
    .deflate_free = deflate_free,
    .crc32 = crc32_of,
    .adler32 = adler32_of,
};
