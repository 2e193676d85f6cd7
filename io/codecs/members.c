/* Deflate streams in a row, each between header and trailer. All of a file is read: a stream without bytes
 * ends nothing, a trailer must be there and right, only zeros may follow the last one. What was inflated before a
 * damage is handed out before the error. */
#include "io/codecs/members.h"
#include <string.h>

enum { MAX_TRAILER = 8, ENCODER_CAPACITY = 64 * 1024 };

#ifdef HR_HAVE_ISAL
const hr__deflate_engine *const hr__deflate_fastest = &hr__deflate_by_isal;
#else
const hr__deflate_engine *const hr__deflate_fastest = &hr__deflate_by_zlib;
#endif

typedef struct decoder {
    const hr__member_form *form;
    const hr__deflate_engine *engine;
    void *inflate;
    enum { HEADER, BODY, TRAILER, PADDING } stage;
    int64_t members; /* that are whole */
    uint32_t sum;    /* of the current member */
    uint64_t count;  /* its bytes so far */
    uint64_t total;  /* of all members */
    int64_t began;   /* offset in the file of the current member */
    int64_t padding; /* and of the zeros */
    int64_t zeros;
    bool stuck;         /* in deflated data, for lack of input */
    uint64_t again;     /* bytes of the current member that were given before, and are made once more; */
    uint32_t again_sum; /* their sum */
    bool known;         /* it was reported before */
    int64_t forgiven;   /* where a header was refused that is read all the same, -1: nowhere */
    hr_codec_begin_fn *begins;
    void *user;
} decoder;

/* ---- what can be wrong ---- */

static hr_status members_damaged(const decoder *d, int64_t at, const char *kind, hr_error *err, const char *what)
{
    return hr_codec_damaged((hr_codec_place){d->form->name, "stream", d->members, at, d->total}, kind, err, what);
}

static hr_status members_cut(const decoder *d, const hr_codec_source *raw, hr_error *err)
{
    int64_t at = hr_codec_end(raw);
    return members_damaged(d, at, "stream.truncated", err,
                           "expected more bytes, got the end of the file; the file is cut");
}

/* ---- decoding, stage by stage ---- */

/* Peeks at `want` bytes; *size < want: the file ends before. */
static hr_status members_look(hr_codec_source *raw, size_t want, const unsigned char **bytes, size_t *size,
                              hr_error *err)
{
    const char *data;
    HR_TRY(hr_codec_peek(raw, want, &data, size, err));
    *bytes = (const unsigned char *)data;
    return HR_OK;
}

/* Size of a damaged header, made right, if deflated data follow it; 0: they do not. */
static int64_t mended_header(const decoder *d, hr_codec_source *raw, hr_error *err)
{
    enum { HEAD = 1024 };
    const unsigned char *bytes;
    unsigned char head[HEAD];
    const char *why;
    size_t size;
    if (members_look(raw, HEAD, &bytes, &size, err) != HR_OK) return 0;
    if (size > HEAD) size = HEAD;
    memcpy(head, bytes, size);
    d->form->mend(head, size);
    const int64_t used = d->form->header(head, size, &why);
    return used > 0 && hr__deflate_plausible(head, size, (size_t)used) > 0 ? used : 0;
}

static void begin_body(decoder *d, hr_codec_source *raw, size_t header)
{
    if (d->begins && !d->known) d->begins(d->user, hr_codec_offset(raw), (int64_t)d->total);
    d->known = false;
    hr_codec_consume(raw, header);
    d->engine->inflate_reset(d->inflate);
    d->stage = BODY;
    d->sum = d->form->sum;
    d->count = 0;
}

static hr_status members_read_header(decoder *d, hr_codec_source *raw, hr_error *err)
{
    const unsigned char *bytes;
    size_t size, want = 3; /* tells a further stream from other bytes, wherever the window ends */
    HR_TRY(members_look(raw, want, &bytes, &size, err));
    if (size == 0) return HR_END;
    d->began = hr_codec_offset(raw);
    if (d->forgiven == hr_codec_offset(raw)) {
        const int64_t used = mended_header(d, raw, err);
        if (used == 0)
            return members_damaged(d, hr_codec_offset(raw), "stream.corrupt", err,
                                   "expected a header, got other bytes");
        begin_body(d, raw, (size_t)used);
        return HR_OK;
    }
    if (d->members > 0 && !d->form->accepts(bytes, size)) {
        d->padding = hr_codec_offset(raw);
        d->stage = PADDING;
        return HR_OK;
    }
    for (;;) {
        const char *why = "";
        int64_t used = d->form->header(bytes, size, &why);
        if (used < 0) return members_damaged(d, hr_codec_offset(raw), "stream.corrupt", err, why);
        if (used > 0) {
            begin_body(d, raw, (size_t)used);
            return HR_OK;
        }
        want = size + 1;
        if (want > 1 << 20)
            return members_damaged(d, hr_codec_offset(raw), "stream.corrupt", err, "its header never ends");
        HR_TRY(members_look(raw, want, &bytes, &size, err));
        if (size < want) return members_cut(d, raw, err);
    }
}

/* So many bytes were made, for the first time or again. False: those before were others. */
static bool members_give(decoder *d, size_t made, size_t *got)
{
    if (d->again > 0) {
        d->again -= made;
        return d->again > 0 || d->sum == d->again_sum;
    }
    d->total += made;
    *got += made;
    return true;
}

static hr_status read_body(decoder *d, hr_codec_source *raw, char *to, size_t capacity, size_t *got, hr_error *err)
{
    if (d->again > 0 && d->again < capacity) capacity = (size_t)d->again;
    const unsigned char *bytes;
    size_t size, held = d->engine->held(d->inflate);
    HR_TRY(members_look(raw, held + 1, &bytes, &size, err));
    hr__flow flow = {bytes, size, (unsigned char *)to, capacity};
    hr__inflated result = d->engine->inflate(d->inflate, &flow);
    size_t made = capacity - flow.out_size;
    hr_codec_consume(raw, size - flow.in_size);
    d->sum = d->form->add(d->engine, d->sum, (unsigned char *)to, made);
    d->count += made;
    const bool same = members_give(d, made, got);
    if (result == HR__INFLATE_NO_MEMORY) return hr_no_memory(err, "inflating");
    if (result == HR__INFLATE_BAD || !same || (result == HR__INFLATE_DONE && d->again > 0))
        return members_damaged(d, hr_codec_offset(raw), "stream.corrupt", err,
                               "expected deflated data, got bytes that are none");
    if (result == HR__INFLATE_DONE) d->stage = TRAILER;
    d->stuck = result == HR__INFLATE_MORE && made == 0 && size <= held;
    return d->stuck ? members_cut(d, raw, err) : HR_OK;
}

static hr_status read_trailer(decoder *d, hr_codec_source *raw, hr_error *err)
{
    const unsigned char *bytes;
    size_t size, want = d->form->trailer_size;
    HR_TRY(members_look(raw, want, &bytes, &size, err));
    if (size < want) return members_cut(d, raw, err);
    unsigned char expected[MAX_TRAILER];
    d->form->trailer(d->sum, d->count, expected);
    if (memcmp(bytes, expected, want) != 0)
        return members_damaged(
            d, hr_codec_offset(raw), "stream.checksum", err,
            "expected the checksum and size of the decompressed bytes, got others; the file is corrupt");
    hr_codec_consume(raw, want);
    d->members++;
    d->stage = HEADER;
    return HR_OK;
}

static hr_status read_padding(decoder *d, hr_codec_source *raw, hr_error *err)
{
    const unsigned char *bytes;
    size_t size, zeros = 0;
    HR_TRY(members_look(raw, 1, &bytes, &size, err));
    if (size == 0) return HR_END;
    while (zeros < size && bytes[zeros] == 0) zeros++;
    d->zeros += (int64_t)zeros;
    hr_codec_consume(raw, zeros);
    if (zeros == size) return HR_OK;
    return members_damaged(
        d, d->padding, "stream.trailing_data", err,
        "expected a further stream or the end of the file, got other bytes; cut them off if they are none");
}

hr_status hr__members_decode(void *decoder_, hr_codec_source *raw, char *to, size_t capacity, size_t *got,
                             hr_error *err)
{
    decoder *d = decoder_;
    hr_status status = HR_OK;
    while (status == HR_OK && *got < capacity) {
        switch (d->stage) {
        case HEADER:
            status = members_read_header(d, raw, err);
            break;
        case BODY:
            status = read_body(d, raw, to + *got, capacity - *got, got, err);
            break;
        case TRAILER:
            status = read_trailer(d, raw, err);
            break;
        case PADDING:
            status = read_padding(d, raw, err);
            break;
        }
    }
    return status;
}

static int64_t zeros(const void *d) { return ((const decoder *)d)->zeros; }

static int64_t members_began(const void *d) { return ((const decoder *)d)->began; }

/* Of a stream that is cut, zlib makes all that can be made. */
static bool slow_down(void *decoder_)
{
    decoder *d = decoder_;
    const hr__deflate_engine *slow = &hr__deflate_by_zlib;
    void *inflate = d->stuck && d->engine != slow ? slow->inflate_new() : NULL;
    if (!inflate) return false;
    d->engine->inflate_free(d->inflate);
    d->engine = slow;
    d->inflate = inflate;
    d->stage = HEADER;
    d->again = d->count;
    d->again_sum = d->sum;
    d->known = true;
    return true;
}

static bool forgive(void *decoder_)
{
    decoder *d = decoder_;
    if ((d->stage != HEADER && d->stage != PADDING) || d->forgiven == d->began) return false;
    d->forgiven = d->began;
    d->stage = HEADER;
    return true;
}

static void members_watch(void *decoder_, hr_codec_begin_fn *begins, void *user)
{
    decoder *d = decoder_;
    d->begins = begins;
    d->user = user;
}

static void members_go_on(void *decoder_, int64_t made) { ((decoder *)decoder_)->total = (uint64_t)made; }

hr_status hr__members_decoder_new(const hr__member_form *form, const hr__deflate_engine *engine, void **out,
                                  hr_error *err)
{
    decoder *d = hr_calloc(1, sizeof *d);
    if (!d) return hr_no_memory(err, "inflating");
    *d = (decoder){.form = form, .engine = engine, .forgiven = -1, .inflate = engine->inflate_new()};
    if (!d->inflate) {
        hr_free(d);
        return hr_no_memory(err, "inflating");
    }
    *out = d;
    return HR_OK;
}

static hr_status members_decoder_new(const void *form, void **out, hr_error *err)
{
    return hr__members_decoder_new(form, hr__deflate_fastest, out, err);
}

void hr__members_decoder_free(void *decoder_)
{
    decoder *d = decoder_;
    if (!d) return;
    d->engine->inflate_free(d->inflate);
    hr_free(d);
}

/* ---- encoding: one stream ---- */

typedef struct encoder {
    const hr__member_form *form;
    const hr__deflate_engine *engine;
    void *deflate;
    bool begun;
    uint32_t sum;
    uint64_t count;
    unsigned char bytes[ENCODER_CAPACITY];
} encoder;

static hr_status members_encoder_new(const void *form_, int level, void **out, hr_error *err)
{
    const hr__member_form *form = form_;
    encoder *e = hr_malloc(sizeof *e);
    if (!e) return hr_no_memory(err, "deflating");
    e->form = form;
    e->engine = level ? &hr__deflate_by_zlib : hr__deflate_fastest; /* levels are zlib's */
    e->deflate = e->engine->deflate_new(level);
    e->begun = false;
    e->sum = form->sum;
    e->count = 0;
    if (!e->deflate) {
        hr_free(e);
        return hr_no_memory(err, "deflating");
    }
    *out = e;
    return HR_OK;
}

static hr_status write_trailer(encoder *e, hr_codec_sink_fn *sink, void *to, hr_error *err)
{
    e->form->trailer(e->sum, e->count, e->bytes);
    return sink(to, e->bytes, e->form->trailer_size, err);
}

static hr_status members_encode(void *encoder_, const void *data, size_t size, bool last, hr_codec_sink_fn *sink,
                                void *to, hr_error *err)
{
    encoder *e = encoder_;
    if (!e->begun) HR_TRY(sink(to, e->form->new_header, e->form->new_header_size, err));
    e->begun = true;
    if (size > 0) e->sum = e->form->add(e->engine, e->sum, data, size);
    e->count += size;
    hr__flow flow = {data, size, NULL, 0};
    for (bool done = false; last ? !done : flow.in_size > 0;) {
        flow.out = e->bytes;
        flow.out_size = sizeof e->bytes;
        done = e->engine->deflate(e->deflate, &flow, last);
        HR_TRY(sink(to, e->bytes, sizeof e->bytes - flow.out_size, err));
    }
    return last ? write_trailer(e, sink, to, err) : HR_OK;
}

static void members_encoder_free(void *encoder_)
{
    encoder *e = encoder_;
    if (!e) return;
    e->engine->deflate_free(e->deflate);
    hr_free(e);
}

const hr_coding hr__members_coding = {
    .head = HR_CODING_HEAD,
    .name = "deflate streams",
    .decoder_new = members_decoder_new,
    .decode = hr__members_decode,
    .zeros = zeros,
    .began = members_began,
    .slow_down = slow_down,
    .forgive = forgive,
    .watch = members_watch,
    .go_on = members_go_on,
    .decoder_free = hr__members_decoder_free,
    .encoder_new = members_encoder_new,
    .encode = members_encode,
    .encoder_free = members_encoder_free,
};

/* ---- telling files apart ---- */

int hr__deflate_plausible(const unsigned char *head, size_t size, size_t skip)
{
    const hr__deflate_engine *engine = &hr__deflate_by_zlib;
    if (size <= skip) return 0;
    void *inflate = engine->inflate_new();
    if (!inflate) return -1;
    unsigned char out[4096];
    hr__flow flow = {head + skip, size - skip, NULL, 0};
    hr__inflated result = HR__INFLATE_MORE;
    while (result == HR__INFLATE_MORE && flow.out_size == 0) {
        flow.out = out;
        flow.out_size = sizeof out;
        result = engine->inflate(inflate, &flow);
    }
    engine->inflate_free(inflate);
    if (result == HR__INFLATE_NO_MEMORY) return -1;
    return result != HR__INFLATE_BAD;
}
