/* Random access by record number. One read in a plain file; in a framed one, the frame is decoded up to the record. */
#include "io/compression.h"
#include "io/framing.h"
#include "io/input.h"
#include "io/record/record_index.h"
#include <string.h>

enum { LARGEST_FRAME = 8 << 20 }; /* what may have to be decoded for a record */

int64_t hr__record_index_frame(const hr_record_index *index, int64_t record, int64_t *offset)
{
    *offset = index->sample[record];
    return (record + 1 < index->records ? index->sample[record + 1] : index->bytes) - *offset;
}

bool hr__record_index_picks(const hr_record_index *index)
{
    if (index->compression == HR_NONE) return true;
    const hr_codec *codec = hr__codec_of(index->compression);
    if (!codec || !codec->frames) return false;
    for (int64_t i = 0; i < index->places; i++) {
        const int64_t end = i + 1 < index->places ? index->place[i + 1].made : index->bytes;
        if (end - index->place[i].made > LARGEST_FRAME) return false;
    }
    return true;
}

static hr_status read_frame(hr_input *in, const hr_record_index *index, hr__record_place at, char *frame, size_t size,
                            size_t *got, hr_error *err)
{
    int64_t near;
    const char *data;
    if (hr__input_has_places(in)) return hr__input_read_at(in, at.offset, frame, size, got, err);
    HR_TRY(hr__record_index_seek(index, in, at.record, 1, &near, err));
    HR_TRY(hr_input_peek(in, size, &data, got, err));
    if (*got > size) *got = size;
    memcpy(frame, data, *got);
    return HR_OK;
}

/* The file is another than that of the index if a record has another length. */
static hr_status check_frame(const hr_record_index *index, hr__record_place at, const char *frame, size_t size,
                             hr_error *err)
{
    uint64_t length;
    const size_t data = size - HR__RECORD_FRAME;
    if (!hr__record_length(frame, &length)) return hr__record_fail_length_crc(at, frame, err);
    if (length != data) {
        hr_fail(err, HR_FAILED_PRECONDITION, "index.stale",
                "%s: record %lld: expected %zu bytes, as its index says, got %llu: it has changed since; make the "
                "index again",
                index->path, (long long)at.record, data, (unsigned long long)length);
        hr_error_file(err, index->path);
        return HR_FAILED_PRECONDITION;
    }
    if (hr__record_sound(frame + HR__RECORD_HEADER, data)) return HR_OK;
    return hr__record_fail_data_crc(at, frame + HR__RECORD_HEADER, data, err);
}

hr_status hr__record_pick(hr_input *in, const hr_record_index *index, int64_t record, char *frame, hr_error *err)
{
    hr__record_place at = {index->path, record, 0};
    size_t got = 0;
    const int64_t size = hr__record_index_frame(index, record, &at.offset);
    const hr_status st = read_frame(in, index, at, frame, (size_t)size, &got, err);
    if (st != HR_OK) return hr__record_fail_below(at, st, err);
    if ((int64_t)got < size) return hr__record_fail_truncated(at, got < HR__RECORD_HEADER ? NULL : frame, got, err);
    return check_frame(index, at, frame, (size_t)size, err);
}
