/* Frames behind each other, read to the end of the file: a cut, a wrong checksum, or anything that is no frame is an
 * error, behind all bytes that came before it. */
#include "io/codecs/frames.h"
#include <string.h>

enum { FRAME = 256 * 1024 /* bytes in one that we write: small enough to begin at, large enough to pack well */ };

typedef struct decoder {
    const hr__frame_form *form;
    void *library;
    bool inside; /* a frame */
    int64_t frames;
    int64_t began;              /* offset in the file of the frame at hand */
    uint64_t made;              /* of all frames */
    int64_t declared, in_frame; /* bytes of the frame at hand: as its head says, -1: it does not; as they came */
    hr__begin_fn *begins;
    void *user;
} decoder;

static hr_status lacking(const hr__frame_form *form, hr_error *err)
{
    return hr_fail(err, HR_UNIMPLEMENTED, "compression.lacking",
                   "expected a build with lib%s to read or write %s files, got one without; build it anew where "
                   "lib%s-dev is installed",
                   form->name, form->name, form->name);
}

/* ---- decoding ---- */

static hr_status damaged(const decoder *d, int64_t at, const char *kind, hr_error *err, const char *what)
{
    return hr__codec_damaged((hr__codec_place){d->form->name, "frame", d->frames, at, d->made}, kind, err, what);
}

static hr_status cut(const decoder *d, const hr__window *raw, hr_error *err)
{
    return damaged(d, raw->offset + (int64_t)(raw->end - raw->begin), "stream.truncated", err,
                   "expected more bytes, got the end of the file; the file is cut");
}

static hr_status begin_frame(decoder *d, hr__window *raw, hr_error *err)
{
    const char *data;
    size_t size;
    HR_TRY(hr__window_peek(raw, HR__FRAME_HEAD, &data, &size, err));
    if (size == 0) return HR_END;
    if (!d->form->accepts((const unsigned char *)data, size)) {
        if (d->frames == 0) return damaged(d, raw->offset, "stream.corrupt", err, "expected a frame, got other bytes");
        return damaged(
            d, raw->offset, "stream.trailing_data", err,
            "expected a further frame or the end of the file, got other bytes; cut them off if they are none");
    }
    if (size < 4) return cut(d, raw, err);
    d->began = raw->offset;
    if (d->begins) d->begins(d->user, raw->offset, (int64_t)d->made);
    d->form->decoder_reset(d->library);
    d->declared = d->form->declares ? d->form->declares((const unsigned char *)data, size) : -1;
    d->in_frame = 0;
    d->inside = true;
    return HR_OK;
}

static hr_status read_frame(decoder *d, hr__window *raw, char *to, size_t room, size_t *got, hr_error *err)
{
    const char *data, *why = "";
    size_t size;
    HR_TRY(hr__window_peek(raw, 1, &data, &size, err));
    hr__flow flow = {(const unsigned char *)data, size, (unsigned char *)to, room};
    const hr__framed result = d->form->decode(d->library, &flow, &why);
    const size_t made = room - flow.room, used = size - flow.in_size;
    hr__window_consume(raw, used);
    d->made += made;
    *got += made;
    if (result == HR__FRAME_CORRUPT) return damaged(d, raw->offset, "stream.corrupt", err, why);
    if (result == HR__FRAME_CHECKSUM) return damaged(d, raw->offset, "stream.checksum", err, why);
    d->in_frame += (int64_t)made;
    if (result == HR__FRAME_DONE && d->declared >= 0 && d->in_frame != d->declared)
        return damaged(d, raw->offset, "stream.corrupt", err, "the frame holds other than as many bytes as it says");
    if (result == HR__FRAME_DONE) {
        d->inside = false;
        d->frames++;
    }
    return result == HR__FRAME_MORE && made == 0 && used == 0 ? cut(d, raw, err) : HR_OK;
}

static hr_status decode(void *decoder_, hr__window *raw, char *to, size_t room, size_t *got, hr_error *err)
{
    decoder *d = decoder_;
    hr_status status = HR_OK;
    while (status == HR_OK && *got < room)
        status = d->inside ? read_frame(d, raw, to + *got, room - *got, got, err) : begin_frame(d, raw, err);
    return status;
}

static int64_t began(const void *d) { return ((const decoder *)d)->began; }

static void watch(void *decoder_, hr__begin_fn *begins, void *user)
{
    decoder *d = decoder_;
    d->begins = begins;
    d->user = user;
}

static void go_on(void *decoder_, int64_t made) { ((decoder *)decoder_)->made = (uint64_t)made; }

static hr_status decoder_new(const void *form_, void **out, hr_error *err)
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

static void decoder_free(void *decoder_)
{
    decoder *d = decoder_;
    if (!d) return;
    d->form->decoder_free(d->library);
    hr_free(d);
}

/* ---- encoding ---- */

typedef struct encoder {
    const hr__frame_form *form;
    void *library;
    bool begun; /* an empty file has one empty frame */
    size_t held, room;
    char *packed;
    char bytes[FRAME];
} encoder;

static hr_status encoder_new(const void *form_, int level, void **out, hr_error *err)
{
    const hr__frame_form *form = form_;
    if (!form->encoder_new) return lacking(form, err);
    encoder *e = hr_malloc(sizeof *e);
    if (!e) return hr_no_memory(err, "compressing");
    e->form = form;
    e->begun = false;
    e->held = 0;
    e->room = form->bound(FRAME);
    e->packed = hr_malloc(e->room);
    e->library = e->packed ? form->encoder_new(level) : NULL;
    if (!e->library) {
        hr_free(e->packed);
        hr_free(e);
        return hr_no_memory(err, "compressing");
    }
    *out = e;
    return HR_OK;
}

static hr_status put_frame(encoder *e, hr__sink_fn *sink, void *to, hr_error *err)
{
    const size_t size = e->form->encode(e->library, e->bytes, e->held, e->packed, e->room);
    if (size == 0) return hr_no_memory(err, "compressing");
    e->begun = true;
    e->held = 0;
    return sink(to, e->packed, size, err);
}

static hr_status encode(void *encoder_, const void *data, size_t size, bool last, hr__sink_fn *sink, void *to,
                        hr_error *err)
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

static void encoder_free(void *encoder_)
{
    encoder *e = encoder_;
    if (!e) return;
    e->form->encoder_free(e->library);
    hr_free(e->packed);
    hr_free(e);
}

const hr__coding hr__frames_coding = {
    .decoder_new = decoder_new,
    .decode = decode,
    .began = began,
    .watch = watch,
    .go_on = go_on,
    .decoder_free = decoder_free,
    .encoder_new = encoder_new,
    .encode = encode,
    .encoder_free = encoder_free,
};
