/* gzip of bodies, both ways. */
#include "serve/http.h"

#include <string.h>
#include <zlib.h>

hr_status hr__body_inflate(hr__text *body, size_t most)
{
    hr__text out = {0};
    z_stream z = {0};
    int code = inflateInit2(&z, 15 + 32);
    if (code != Z_OK) return HR_RESOURCE_EXHAUSTED;
    z.next_in = (Bytef *)body->data;
    z.avail_in = (uInt)body->size;
    while (code == Z_OK && out.size <= most) {
        char *space = hr__text_reserve(&out, 64 << 10);
        if (!space) break;
        z.next_out = (Bytef *)space;
        z.avail_out = 64 << 10;
        code = inflate(&z, Z_NO_FLUSH);
        out.size += (64 << 10) - z.avail_out;
        if (code == Z_OK && z.avail_in == 0 && z.avail_out > 0) code = Z_BUF_ERROR;
    }
    inflateEnd(&z);
    const bool large = out.size > most || out.failed;
    if (out.data) out.data[out.size] = 0;
    hr__text_free(body);
    if (code == Z_STREAM_END && !large) {
        *body = out;
        return HR_OK;
    }
    hr__text_free(&out);
    return large ? HR_RESOURCE_EXHAUSTED : HR_DATA_LOSS;
}

bool hr__body_deflate(const hr__text *body, hr__text *to)
{
    z_stream z = {0};
    if (body->size > 1 << 30 || deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return false;
    hr__text_clear(to);
    const size_t bound = deflateBound(&z, (uLong)body->size);
    char *space = hr__text_reserve(to, bound);
    int code = Z_MEM_ERROR;
    if (space) {
        z.next_in = (Bytef *)body->data;
        z.avail_in = (uInt)body->size;
        z.next_out = (Bytef *)space;
        z.avail_out = (uInt)bound;
        code = deflate(&z, Z_FINISH);
        to->size += bound - z.avail_out;
        to->data[to->size] = 0;
    }
    deflateEnd(&z);
    return code == Z_STREAM_END;
}
