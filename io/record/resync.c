/* Skips damage in TFRecords. A record with damaged data, or one beyond the limit, ends where its length says, if an
 * intact header or the end of the file follows there. Otherwise the next record is searched byte by byte: one whose
 * checksums of length and data are right. The skipped bytes are reported in pieces whose ends depend on the data
 * alone. */
#include "io/record/resync.h"
#include "io/framing.h"
#include "io/input.h"
#include <string.h>

typedef struct passing {
    hr_input *in;
    hr__policy *policy;
    uint64_t limit;
    hr_error piece; /* the damage, at the current piece */
    hr_damage_count *count;
} passing;

/* Reports the next `size` bytes, and skips them. */
static hr_status resync_pass(passing *p, size_t size, hr_error *err)
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

/* A whole and intact record begins `at` bytes ahead, at `head`. */
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

/* How many bytes from `from` to `end` lie before a record: `end` if there is none. */
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

/* Goes to the next intact record, `from` bytes ahead or further. What is of a damaged stream is skipped: sound
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
        HR_TRY(resync_pass(p, at, err));
        if (at < end) return HR_OK;
        if (size >= AHEAD || end < size) continue;
        if (status == HR_OK) return HR_END;
        const int64_t stopped = hr_input_compressed_offset(p->in);
        const hr_status found = hr__input_resync(p->in, err);
        p->count->undecoded += hr_input_compressed_offset(p->in) - stopped;
        HR_TRY(found);
    }
}

/* Of a record whose length can be trusted: the bytes of its frame; 0 where it cannot. */
static uint64_t size_of_frame(const passing *p, const hr_error *damage)
{
    uint64_t length;
    const char *header;
    size_t size;
    int64_t stream_end;
    const bool data = strcmp(damage->kind, "tfrecord.data_crc") == 0,
               too_long = strcmp(damage->kind, "tfrecord.length_limit") == 0;
    if (!data && !too_long) return 0;
    if (p->policy && hr__input_is_misread(p->in, hr_input_offset(p->in), &stream_end)) return 0;
    if (data) return (uint64_t)damage->length;
    if (hr_input_peek(p->in, HR__RECORD_HEADER, &header, &size, NULL) != HR_OK || size < HR__RECORD_HEADER) return 0;
    return hr__record_length(header, &length) && length <= HR__RECORD_MAX ? length + HR__RECORD_FRAME : 0;
}

/* Says in *right whether a header with a right checksum, or the end of the file, follows the frame of `whole` bytes.
 * After a record beyond the limit this is looked at only where a file can be read at any place: in a stream it would
 * take the memory that the limit saves, so the length is believed. */
static hr_status look_after(const passing *p, uint64_t whole, bool *right, hr_error *err)
{
    uint64_t next;
    char header[HR__RECORD_HEADER];
    const char *data;
    size_t size;
    *right = true;
    const int64_t end = hr_input_offset(p->in) + (int64_t)whole;
    if (whole - HR__RECORD_FRAME <= p->limit) {
        const hr_status status = hr_input_peek(p->in, (size_t)whole + HR__RECORD_HEADER, &data, &size, NULL);
        *right = status == HR_OK &&
                 (size == whole || (size >= whole + HR__RECORD_HEADER && hr__record_length(data + whole, &next)));
    } else if (hr__input_has_places(p->in)) {
        HR_TRY(hr__input_read_at(p->in, end, header, sizeof header, &size, err));
        *right =
            size == 0 ? end == hr__input_file_size(p->in) : size == sizeof header && hr__record_length(header, &next);
    }
    return HR_OK;
}

/* Passes over the next `whole` bytes, or as many as there are: then HR_END. */
static hr_status pass_frame(passing *p, uint64_t whole, bool resyncs, hr_error *err)
{
    const char *data;
    size_t size;
    while (whole > 0) {
        const size_t max = whole < HR__DAMAGE_PIECE ? (size_t)whole : HR__DAMAGE_PIECE;
        const hr_status status = hr_input_peek(p->in, max, &data, &size, err);
        if (status != HR_OK) return resyncs ? resync(p, 0, err) : status;
        if (size == 0) return HR_END;
        if (size > max) size = max;
        HR_TRY(resync_pass(p, size, err));
        whole -= size;
    }
    return HR_OK;
}

static hr_status pass_rest(passing *p, hr_error *err)
{
    const char *data;
    size_t size;
    for (;;) {
        const hr_status status = hr_input_peek(p->in, HR__DAMAGE_PIECE, &data, &size, err);
        if (status != HR_OK) return status;
        if (size == 0) return HR_END;
        HR_TRY(resync_pass(p, size < HR__DAMAGE_PIECE ? size : HR__DAMAGE_PIECE, err));
    }
}

hr_status hr__record_pass_over(hr_input *in, hr__policy *policy, uint64_t limit, const hr_error *damage,
                               hr_damage_count *count, hr_error *err)
{
    passing p = {.in = in, .policy = policy, .limit = limit, .piece = *damage, .count = count};
    const uint64_t whole = size_of_frame(&p, damage);
    const bool cut = strcmp(damage->kind, "tfrecord.truncated") == 0,
               resyncs = hr__policy_on_error(policy) >= HR_RESYNC;
    if (!hr__policy_covers(policy, damage) || (!resyncs && !whole && !cut)) {
        if (err) *err = *damage;
        return damage->code;
    }
    bool right = whole > 0;
    if (right && resyncs) HR_TRY(look_after(&p, whole, &right, err));
    const int64_t before = count->bytes;
    count->errors++;
    const hr_status status = right     ? pass_frame(&p, whole, resyncs, err)
                             : resyncs ? resync(&p, 1, err)
                                       : pass_rest(&p, err);
    if (status < 0 || count->bytes > before) return status;
    /* A stream that is cut after a whole record loses none. */
    HR_TRY(hr__policy_take(policy, damage, (hr_view){"", 0}, err));
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
