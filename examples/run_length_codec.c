/* A codec of one's own, made of the public kit alone: runs of equal bytes. A file is "RLE1", pairs of a count from 1 to
 * 255 and a byte, a count of 0, and the CRC-32C of the decoded bytes. It shows what a codec owes its user: every cut,
 * any wrong checksum and any byte after the end is an error, and all bytes before it are handed out first.
 *
 *     cc -c run_length_codec.c $(pkg-config --cflags headrace)
 */
#include "run_length_codec.h"

#include <string.h>

static const char magic[] = {'R', 'L', 'E', '1'};
enum { MAGIC = sizeof magic, FOOTER = 5 /* a count of 0, the checksum */, MAX_IN_RUN = 255 };

/* ---- decoding ---- */

typedef struct decoder {
    bool begun, ended;
    int run; /* bytes of the current run that are still to come */
    char byte;
    uint32_t sum;
    uint64_t made;
} decoder;

static hr_status run_length_damaged(const decoder *d, hr_codec_source *from, const char *kind, const char *what,
                                    hr_error *err)
{
    const hr_codec_place at = {"run-length", "stream", 0, hr_codec_offset(from), d->made};
    return hr_codec_damaged(at, kind, err, what);
}

/* Peeks at `want` bytes and refuses a file that ends before. */
static hr_status run_length_need(const decoder *d, hr_codec_source *from, size_t want, const unsigned char **bytes,
                                 hr_error *err)
{
    const char *data;
    size_t size;
    HR_TRY(hr_codec_peek(from, want, &data, &size, err));
    *bytes = (const unsigned char *)data;
    if (size >= want) return HR_OK;
    return run_length_damaged(d, from, "stream.truncated", "expected more bytes, got the end of the file", err);
}

static hr_status run_length_end(decoder *d, hr_codec_source *from, hr_error *err)
{
    const unsigned char *b;
    const char *data;
    size_t size;
    HR_TRY(run_length_need(d, from, FOOTER, &b, err));
    const uint32_t sum = (uint32_t)b[1] | (uint32_t)b[2] << 8 | (uint32_t)b[3] << 16 | (uint32_t)b[4] << 24;
    if (sum != d->sum)
        return run_length_damaged(d, from, "stream.checksum", "expected the checksum of the bytes, got another", err);
    hr_codec_consume(from, FOOTER);
    HR_TRY(hr_codec_peek(from, 1, &data, &size, err));
    if (size > 0)
        return run_length_damaged(d, from, "stream.trailing_data", "expected the end of the file, got bytes", err);
    d->ended = true;
    return HR_OK;
}

static hr_status run_length_decode(void *decoder_, hr_codec_source *from, char *to, size_t capacity, size_t *got,
                                   hr_error *err)
{
    decoder *d = decoder_;
    const unsigned char *b;
    if (!d->begun) {
        HR_TRY(run_length_need(d, from, MAGIC, &b, err));
        if (memcmp(b, magic, MAGIC) != 0)
            return run_length_damaged(d, from, "stream.corrupt", "expected \"RLE1\", got other bytes", err);
        hr_codec_consume(from, MAGIC);
        d->begun = true;
    }
    while (*got < capacity && !d->ended) {
        if (d->run == 0) {
            HR_TRY(run_length_need(d, from, 2, &b, err));
            if (b[0] == 0) {
                HR_TRY(run_length_end(d, from, err));
                continue;
            }
            d->run = b[0];
            d->byte = (char)b[1];
            hr_codec_consume(from, 2);
        }
        const size_t some = capacity - *got < (size_t)d->run ? capacity - *got : (size_t)d->run;
        memset(to + *got, d->byte, some);
        d->sum = hr_crc32c(d->sum, to + *got, some);
        d->made += some;
        d->run -= (int)some;
        *got += some;
    }
    return d->ended ? HR_END : HR_OK;
}

static hr_status run_length_decoder_new(const void *form, void **out, hr_error *err)
{
    (void)form;
    *out = hr_calloc(1, sizeof(decoder));
    return *out ? HR_OK : hr_no_memory(err, "a run-length decoder");
}

/* ---- encoding ---- */

typedef struct encoder {
    bool begun;
    int run; /* bytes that are held back, since more of them may come */
    char byte;
    uint32_t sum;
} encoder;

static hr_status run_length_put(encoder *e, hr_codec_sink_fn *sink, void *to, hr_error *err)
{
    const char pair[] = {(char)e->run, e->byte};
    const bool any = e->run > 0;
    e->run = 0;
    return any ? sink(to, pair, sizeof pair, err) : HR_OK;
}

static hr_status run_length_encode(void *encoder_, const void *data, size_t size, bool last, hr_codec_sink_fn *sink,
                                   void *to, hr_error *err)
{
    encoder *e = encoder_;
    const char *byte = data;
    if (!e->begun) HR_TRY(sink(to, magic, MAGIC, err));
    e->begun = true;
    if (size > 0) e->sum = hr_crc32c(e->sum, data, size);
    for (size_t i = 0; i < size; i++) {
        if (e->run == MAX_IN_RUN || (e->run > 0 && e->byte != byte[i])) HR_TRY(run_length_put(e, sink, to, err));
        e->byte = byte[i];
        e->run++;
    }
    if (!last) return HR_OK;
    HR_TRY(run_length_put(e, sink, to, err));
    const char footer[FOOTER] = {0, (char)e->sum, (char)(e->sum >> 8), (char)(e->sum >> 16), (char)(e->sum >> 24)};
    return sink(to, footer, FOOTER, err);
}

static hr_status run_length_encoder_new(const void *form, int level, void **out, hr_error *err)
{
    (void)form, (void)level;
    *out = hr_calloc(1, sizeof(encoder));
    return *out ? HR_OK : hr_no_memory(err, "a run-length encoder");
}

/* ---- the codec ---- */

static bool run_length_accepts(const unsigned char *head, size_t size)
{
    return memcmp(head, magic, size < MAGIC ? size : MAGIC) == 0;
}

static int run_length_bid(const unsigned char *head, size_t size)
{
    return size >= MAGIC && run_length_accepts(head, size) ? 2 : 0;
}

static const hr_coding run_length_coding = {
    .head = HR_CODING_HEAD,
    .name = "run-length",
    .decoder_new = run_length_decoder_new,
    .decode = run_length_decode,
    .decoder_free = hr_free,
    .encoder_new = run_length_encoder_new,
    .encode = run_length_encode,
    .encoder_free = hr_free,
};

static const hr_codec run_length = {
    .head = HR_CODEC_HEAD,
    .name = "run-length",
    .tf_name = "RLE",
    .extension = ".rle",
    .id = (hr_compression)RUN_LENGTH,
    .is_one_stream = true,
    .bid = run_length_bid,
    .accepts = run_length_accepts,
    .coding = &run_length_coding,
};

hr_status run_length_register(hr_error *err) { return hr_codec_register(&run_length, err); }
