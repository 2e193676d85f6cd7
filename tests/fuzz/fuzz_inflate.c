/* Any bytes as a gzip file and as a zlib one, by both engines: they give the same bytes as far as both go, and what one
 * takes for a whole file with right checksums the other takes, too. The faster one says the same in pieces of any size;
 * it decodes up to three literals at once, so where a stream is cut within them, the first two may be missing. */
#include "io/codecs/members.h"
#include "tests/fuzz/pieces.h"
#include <stdlib.h>

enum { MAX = 1 << 20, AT_ONCE = 3 };

static size_t inflate_all(const hr__member_form *form, const hr__deflate_engine *engine, const uint8_t *data,
                          size_t size, size_t piece, char *out, hr_status *status)
{
    void *decoder;
    size_t got = 0;
    hr_error err;
    pieces from = {data, size, 0, piece};
    hr__window raw = {.fill = give_piece, .source = &from, .piece = piece};
    *status = hr__members_decoder_new(form, engine, &decoder, &err);
    if (*status != HR_OK) return 0;
    while (*status == HR_OK && got < MAX) {
        size_t some = 0, room = MAX - got < 5000 ? MAX - got : 5000;
        *status = hr__members_decode(decoder, &raw, out + got, room, &some, &err);
        got += some;
    }
    hr__members_decoder_free(decoder);
    hr__window_clear(&raw);
    return got;
}

static bool alike(const char *a, size_t size_a, const char *b, size_t size_b, hr_status status)
{
    const size_t less = size_a < size_b ? size_a : size_b, more = size_a < size_b ? size_b : size_a;
    return memcmp(a, b, less) == 0 && (less == more || (status == HR_DATA_LOSS && more - less < AT_ONCE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char out[3][MAX];
    const size_t piece = 1 + size % 61;
    const hr__member_form *const forms[] = {&hr__gzip_form, &hr__zlib_form};
    for (int f = 0; f < 2; f++) {
        hr_status status[3];
        size_t a = inflate_all(forms[f], &hr__deflate_by_zlib, data, size, piece, out[0], &status[0]);
        size_t b = inflate_all(forms[f], hr__deflate_fastest, data, size, piece, out[1], &status[1]);
        size_t c = inflate_all(forms[f], hr__deflate_fastest, data, size, 1 << 16, out[2], &status[2]);
        if (memcmp(out[0], out[1], a < b ? a : b) != 0) abort();
        if (status[1] != status[2] || !alike(out[1], b, out[2], c, status[1])) abort();
        if (status[0] == HR_END && (status[1] != HR_END || a != b)) abort();
    }
    return 0;
}
