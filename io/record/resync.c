/* Passing over damage in TFRecords. A record with damaged data ends where its length says, if a sound header or the
 * file's end follows there. Otherwise the next record is looked for byte by byte: it has a right checksum of its
 * length and of its data. What is passed over on the way is told in pieces whose ends depend on the data alone. */
#include "io/record/resync.h"
#include "io/framing.h"
#include "io/input.h"
#include <string.h>

typedef struct passing {
    hr_input *in;
    hr__policy *policy;
    uint64_t limit;
    hr_error piece; /* the damage, at the piece at hand */
    hr_damage_count *count;
} passing;

/* Tells of the next `size` bytes, and goes behind them. */
static hr_status pass(passing *p, size_t size, hr_error *err)
{
    const char *data;
    size_t there;
    if (size == 0) return HR_OK;
    hr_input_peek(p->in, size, &data, &there, NULL); /* they were lent before */
    p->piece.offset = hr_input_offset(p->in);
    HR_TRY(hr__policy_take(p->policy, &p->piece, (hr_view){data, (int64_t)size}, err));
    hr_input_consume(p->in, size);
    p->count->bytes += (int64_t)size;
    return HR_OK;
}

/* A whole and sound record begins `at` bytes ahead, at `head`. */
static bool is_record(passing *p, const char *head, size_t at)
{
    uint64_t length;
    const char *data;
    size_t size;
    if (!hr__record_length(head, &length)) return false;
    const size_t whole = at + HR__RECORD_FRAME + (size_t)length;
    hr_input_peek(p->in, whole, &data, &size, NULL);
    return size >= whole && hr__record_sound(data + at + HR__RECORD_HEADER, (size_t)length);
}

/* How many bytes from `from` to `end` lie in front of a record: `end` if there is none. */
static size_t search(passing *p, size_t from, size_t end)
{
    const char *data;
    size_t size;
    hr_input_peek(p->in, end, &data, &size, NULL);
    for (size_t at = from; at < end && size - at >= HR__RECORD_FRAME; at++) {
        if (hr__get64(data + at) > p->limit) continue; /* nearly all are */
        if (is_record(p, data + at, at)) return at;
        hr_input_peek(p->in, end, &data, &size, NULL); /* that look may have moved them */
    }
    return end;
}

/* Goes to the next sound record at or behind `from` bytes ahead. What is of a damaged stream is passed over: sound
 * records in it may be copies of others, and out of order. HR_END: there is none. */
static hr_status resync(passing *p, size_t from, hr_error *err)
{
    enum { AHEAD = HR__DAMAGE_PIECE + HR__RECORD_FRAME };
    const char *data;
    size_t size;
    for (;; from = 0) {
        const hr_status status = hr_input_peek(p->in, AHEAD, &data, &size, NULL);
        const int64_t offset = hr_input_offset(p->in);
        int64_t stream_end;
        const bool misread = hr__input_is_misread(p->in, offset, &stream_end);
        size_t end = size < AHEAD ? size : HR__DAMAGE_PIECE;
        if (stream_end - offset < (int64_t)end) end = (size_t)(stream_end - offset);
        const size_t at = misread ? end : search(p, from < end ? from : end, end);
        HR_TRY(pass(p, at, err));
        if (at < end) return HR_OK;
        if (size >= AHEAD || end < size) continue;
        if (status == HR_OK) return HR_END;
        HR_TRY(hr__input_resync(p->in, err));
    }
}

/* The record's length is right: a header with a right checksum follows, or nothing. */
static bool length_is_right(hr_input *in, size_t length)
{
    uint64_t next;
    const char *data;
    size_t size;
    if (hr_input_peek(in, length + HR__RECORD_HEADER, &data, &size, NULL) != HR_OK) return false;
    return size == length || (size >= length + HR__RECORD_HEADER && hr__record_length(data + length, &next));
}

static hr_status pass_rest(passing *p, hr_error *err)
{
    const char *data;
    size_t size;
    for (;;) {
        const hr_status status = hr_input_peek(p->in, HR__DAMAGE_PIECE, &data, &size, err);
        if (status != HR_OK) return status;
        if (size == 0) return HR_END;
        HR_TRY(pass(p, size < HR__DAMAGE_PIECE ? size : HR__DAMAGE_PIECE, err));
    }
}

static hr_status go_on(passing *p, bool resyncs, hr_error *err)
{
    return resyncs ? resync(p, 1, err) : pass_rest(p, err);
}

hr_status hr__record_pass_over(hr_input *in, hr__policy *policy, uint64_t limit, const hr_error *damage,
                               hr_damage_count *count, hr_error *err)
{
    passing p = {.in = in, .policy = policy, .limit = limit, .piece = *damage, .count = count};
    int64_t stream_end;
    const bool data_alone = strcmp(damage->kind, "tfrecord.data_crc") == 0 &&
                            !(policy && hr__input_is_misread(in, hr_input_offset(in), &stream_end));
    const bool cut = strcmp(damage->kind, "tfrecord.truncated") == 0,
               resyncs = hr__policy_on_error(policy) >= HR_RESYNC;
    if (!hr__policy_covers(policy, damage) || (!resyncs && !data_alone && !cut)) {
        if (err) *err = *damage;
        return damage->code;
    }
    const int64_t before = count->bytes;
    count->errors++;
    const hr_status status = data_alone && (!resyncs || length_is_right(in, (size_t)damage->length))
                                 ? pass(&p, (size_t)damage->length, err)
                                 : go_on(&p, resyncs, err);
    if (status < 0 || count->bytes > before) return status;
    HR_TRY(
        hr__policy_take(policy, damage, (hr_view){"", 0}, err)); /* a stream that is cut behind a record loses none */
    return status;
}

hr_status hr__record_seek(hr_input *in, const hr__policy *policy, int64_t offset, hr_error *err)
{
    hr_status status;
    while ((status = hr_input_seek(in, offset, err)) == HR_DATA_LOSS && hr__policy_on_error(policy) >= HR_RESYNC) {
        status = hr__input_resync(in, err);
        if (status == HR_END) return HR_OK; /* it stood at the end */
        if (status != HR_OK) break;
    }
    return status;
}
