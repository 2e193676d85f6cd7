/* Frames in a row, read to the end of the file: a cut, a wrong checksum, or anything that is no frame is an
 * error, reported after all bytes that came before it. Of a frame as small as ours nothing is handed out before its
 * checksum was found right: damaged ones may decode to what was never written. Of others, which may be as long as their
 * file, blocks come out as they are decoded. */
#include "io/codecs/frames.h"
#include <string.h>

enum {
    FRAME = 256 * 1024, /* bytes in one that we write: small enough to begin at, large enough to pack well */
    BLOCK = 4 << 20     /* no block is larger; what others put between frames may be */
};

typedef struct decoder {
    const hr__frame_form *form;
    void *library;
    bool inside; /* a frame */
    int64_t frames;
    int64_t began; /* offset in the file of the current frame */
    uint64_t made; /* of all frames */
    size_t ahead;  /* bytes that the library asked for */
    bool full;     /* it had no more space, so it may hold what it has not handed out */
    bool small;    /* the current frame is handed out whole */
    char *whole;   /* a small frame on its way out: bytes [begin, end) */
    size_t begin, end;
    int64_t declared, in_frame; /* bytes of the current frame: as its head says, -1: it does not; as they came */
    hr_codec_begin_fn *begins;
    void *user;
} decoder;

static hr_status lacking(const hr__frame_form *form, hr_error *err)
{
    return hr_fail(err, HR_UNIMPLEMENTED, "compression.lacking",
                   "expected a build with lib%s to read or write %s files, got one without; build it again "
                   "with lib%s-dev installed",
                   form->name, form->name, form->name);
}

/* ---- decoding ---- */

static hr_status frames_damaged(const decoder *d, int64_t at, const char *kind, hr_error *err, const char *what)
{
    const uint64_t given = d->made - (d->small ? (uint64_t)d->in_frame : 0);
    return hr_codec_damaged((hr_codec_place){d->form->name, "frame", d->frames, at, given}, kind, err, what);
}

static hr_status frames_cut(const decoder *d, const hr_codec_source *raw, hr_error *err)
{
    return frames_damaged(d, hr_codec_end(raw), "stream.truncated", err,
                          "expected more bytes, got the end of the file; the file is cut");
}

static hr_status begin_frame(decoder *d, hr_codec_source *raw, hr_error *err)
{
    const char *data;
    size_t size;
    HR_TRY(hr_codec_peek(raw, HR__FRAME_HEAD, &data, &size, err));
    if (size == 0) return HR_END;
    if (!d->form->accepts((const unsigned char *)data, size)) {
        if (d->frames == 0)
            return frames_damaged(d, hr_codec_offset(raw), "stream.corrupt", err, "expected a frame, got other bytes");
        return frames_damaged(
            d, hr_codec_offset(raw), "stream.trailing_data", err,
            "expected a further frame or the end of the file, got other bytes; cut them off if they are none");
    }
    if (size < 4) return frames_cut(d, raw, err);
    d->began = hr_codec_offset(raw);
    if (d->begins) d->begins(d->user, hr_codec_offset(raw), (int64_t)d->made);
    d->form->decoder_reset(d->library);
    d->declared = d->form->declares((const unsigned char *)data, size);
    d->small = d->declared >= 0 && d->declared <= FRAME;
    d->in_frame = 0;
    d->ahead = HR__FRAME_MIN;
    d->full = false;
    d->inside = true;
    return HR_OK;
}

/* Lends what the library is given at once: up to the end of a block, so that all of it is handed out before a fault
 * of what follows, and that where a fault is met depends on the file alone. */
static hr_status frames_look(const decoder *d, hr_codec_source *raw, const char **data, size_t *size, hr_error *err)
{
    const size_t block = d->ahead > d->form->block_head ? d->ahead - d->form->block_head : d->ahead;
    const size_t want = d->full ? 0 : block < BLOCK ? block : BLOCK;
    const hr_status status = hr_codec_peek(raw, want, data, size, err);
    if (*size > want) *size = want;
    return *size > 0 || d->full ? HR_OK : status;
}

static hr_status read_frame(decoder *d, hr_codec_source *raw, char *to, size_t capacity, size_t *got, hr_error *err)
{
    const char *data, *why = "";
    size_t size;
    HR_TRY(frames_look(d, raw, &data, &size, err));
    hr__flow flow = {(const unsigned char *)data, size, (unsigned char *)to, capacity};
    const hr__framed result = d->form->decode(d->library, &flow, &d->ahead, &why);
    const size_t made = capacity - flow.out_size, used = size - flow.in_size;
    hr_codec_consume(raw, used);
    d->made += made;
    d->in_frame += (int64_t)made;
    *got += made;
    if (result == HR__FRAME_CORRUPT) return frames_damaged(d, hr_codec_offset(raw), "stream.corrupt", err, why);
    if (result == HR__FRAME_CHECKSUM) return frames_damaged(d, hr_codec_offset(raw), "stream.checksum", err, why);
    const bool stuck = result == HR__FRAME_MORE && made == 0 && used == 0 && !d->full;
    d->full = made == capacity;
    if (d->declared >= 0 && (result == HR__FRAME_DONE ? d->in_frame != d->declared : d->in_frame > d->declared))
        return frames_damaged(d, hr_codec_offset(raw), "stream.corrupt", err,
                              "the frame does not have as many bytes as its header says");
    if (result == HR__FRAME_DONE) {
        d->inside = false;
        d->frames++;
    }
    return stuck ? frames_cut(d, raw, err) : HR_OK;
}

/* Decodes a small frame whole: straight to `to` if its bytes and one more fit, otherwise to d->whole. */
static hr_status frames_read_whole(decoder *d, hr_codec_source *raw, char *to, size_t capacity, size_t *got,
                                   hr_error *err)
{
    const bool fits = capacity > (size_t)d->declared;
    if (!fits && !d->whole && !(d->whole = hr_malloc(FRAME + 1))) return hr_no_memory(err, "decompressing");
    size_t made = 0;
    while (d->inside)
        HR_TRY(read_frame(d, raw, (fits ? to : d->whole) + made, (size_t)d->declared + 1 - made, &made, err));
    if (fits) *got += made;
    d->begin = 0;
    d->end = fits ? 0 : made;
    return HR_OK;
}

static void hand_out(decoder *d, char *to, size_t capacity, size_t *got)
{
    const size_t size = d->end - d->begin < capacity ? d->end - d->begin : capacity;
    memcpy(to, d->whole + d->begin, size);
    d->begin += size;
    *got += size;
}

static hr_status read_on(decoder *d, hr_codec_source *raw, char *to, size_t capacity, size_t *got, hr_error *err)
{
    if (!d->inside) return begin_frame(d, raw, err);
    return d->small ? frames_read_whole(d, raw, to, capacity, got, err) : read_frame(d, raw, to, capacity, got, err);
}

static hr_status frames_decode(void *decoder_, hr_codec_source *raw, char *to, size_t capacity, size_t *got,
                               hr_error *err)
{
    decoder *d = decoder_;
    hr_status status = HR_OK;
    while (status == HR_OK && *got < capacity) {
        if (d->begin < d->end)
            hand_out(d, to + *got, capacity - *got, got);
        else
            status = read_on(d, raw, to + *got, capacity - *got, got, err);
    }
    return status;
}

static int64_t frames_began(const void *d) { return ((const decoder *)d)->began; }

static void frames_watch(void *decoder_, hr_codec_begin_fn *begins, void *user)
{
    decoder *d = decoder_;
    d->begins = begins;
    d->user = user;
}

static void frames_go_on(void *decoder_, int64_t made) { ((decoder *)decoder_)->made = (uint64_t)made; }

static hr_status frames_decoder_new(const void *form_, void **out, hr_error *err)
{
    const hr__frame_form *form = form_;
    if (!form->decoder_new) return lacking(form, err);
    decoder *d = hr_calloc(1, sizeof *d);
    if (!d) return hr_no_memory(err, "decompressing");
    *d = (decoder){.form = form, .library = form->decoder_new()};
    if (!d->library) {
        hr_free(d);
        return hr_no_memory(err, "decompressing");
    }
    *out = d;
    return HR_OK;
}

static void frames_decoder_free(void *decoder_)
{
    decoder *d = decoder_;
    if (!d) return;
    d->form->decoder_free(d->library);
    hr_free(d->whole);
    hr_free(d);
}

/* ---- encoding ---- */

typedef struct encoder {
    const hr__frame_form *form;
    void *library;
    bool begun; /* an empty file has one empty frame */
    size_t held, capacity;
    char *packed;
    char bytes[FRAME];
} encoder;

static hr_status frames_encoder_new(const void *form_, int level, void **out, hr_error *err)
{
    const hr__frame_form *form = form_;
    if (!form->encoder_new) return lacking(form, err);
    encoder *e = hr_malloc(sizeof *e);
    if (!e) return hr_no_memory(err, "compressing");
    e->form = form;
    e->begun = false;
    e->held = 0;
    e->capacity = form->bound(FRAME);
    e->packed = hr_malloc(e->capacity);
    e->library = e->packed ? form->encoder_new(level) : NULL;
    if (!e->library) {
        hr_free(e->packed);
        hr_free(e);
        return hr_no_memory(err, "compressing");
    }
    *out = e;
    return HR_OK;
}

static hr_status put_frame(encoder *e, hr_codec_sink_fn *sink, void *to, hr_error *err)
{
    const size_t size = e->form->encode(e->library, e->bytes, e->held, e->packed, e->capacity);
    if (size == 0) return hr_no_memory(err, "compressing");
    e->begun = true;
    e->held = 0;
    return sink(to, e->packed, size, err);
}

static hr_status frames_encode(void *encoder_, const void *data, size_t size, bool last, hr_codec_sink_fn *sink,
                               void *to, hr_error *err)
{
    encoder *e = encoder_;
    for (const char *from = data; size > 0;) {
        const size_t some = size < FRAME - e->held ? size : FRAME - e->held;
        memcpy(e->bytes + e->held, from, some);
        e->held += some;
        from += some;
        size -= some;
        if (e->held == FRAME) HR_TRY(put_frame(e, sink, to, err));
    }
    return last && (e->held > 0 || !e->begun) ? put_frame(e, sink, to, err) : HR_OK;
}

static void frames_encoder_free(void *encoder_)
{
    encoder *e = encoder_;
    if (!e) return;
    e->form->encoder_free(e->library);
    hr_free(e->packed);
    hr_free(e);
}

const hr_coding hr__frames_coding = {
    .head = HR_CODING_HEAD,
    .name = "frames",
    .decoder_new = frames_decoder_new,
    .decode = frames_decode,
    .began = frames_began,
    .watch = frames_watch,
    .go_on = frames_go_on,
    .decoder_free = frames_decoder_free,
    .encoder_new = frames_encoder_new,
    .encode = frames_encode,
    .encoder_free = frames_encoder_free,
};
