/* Any bytes as a file of every codec: whatever they are, decoding ends, and says the same in pieces of any size. */
#include "io/compression.h"
#include "tests/fuzz/pieces.h"
#include <stdlib.h>

enum { MAX = 1 << 20 };

static size_t decode_all(const hr_codec *codec, const uint8_t *data, size_t size, size_t piece, size_t step, char *out,
                         hr_status *status)
{
    void *decoder;
    size_t got = 0;
    hr_error err;
    pieces from = {data, size, 0, piece};
    hr__window raw = {.fill = give_piece, .source = &from, .piece = piece};
    *status = codec->coding->decoder_new(codec->form, &decoder, &err);
    if (*status != HR_OK) return 0;
    while (*status == HR_OK && got < MAX) {
        size_t some = 0;
        *status = codec->coding->decode(decoder, &raw, out + got, MAX - got < step ? MAX - got : step, &some, &err);
        got += some;
    }
    codec->coding->decoder_free(decoder);
    hr__window_clear(&raw);
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char out[2][MAX];
    for (int i = 0; i < hr__codec_count(); i++) {
        const hr_codec *codec = hr__codec_at(i);
        if (!codec->coding) continue;
        hr_status status[2];
        const size_t a = decode_all(codec, data, size, 1 + size % 97, 1 + size % 1009, out[0], &status[0]);
        const size_t b = decode_all(codec, data, size, 1 << 16, MAX, out[1], &status[1]);
        if (memcmp(out[0], out[1], a < b ? a : b) != 0) abort();
        if ((status[0] == HR_END) != (status[1] == HR_END)) abort();
        if (status[0] == HR_END && a != b) abort();
    }
    return 0;
}
