/* Keys of parts sort before all names, since they begin with a zero byte; numbers in them are written so that their
 * bytes compare as they do. */
#include "train/checkpoint/slices.h"
#include <stdlib.h>
#include <string.h>

static char *slices_put_text(char *at, const char *text)
{
    for (; *text; text++) {
        *at++ = *text;
        if ((unsigned char)*text == 0xff) *at++ = 0;
    }
    *at++ = 0;
    *at++ = 1;
    return at;
}

/* A count of bytes, then the number's bytes, the greatest first. */
static char *slices_put_number(char *at, uint64_t v)
{
    int bytes = 0;
    for (uint64_t rest = v; rest; rest >>= 8) bytes++;
    *at++ = (char)bytes;
    for (int i = bytes - 1; i >= 0; i--) *at++ = (char)(v >> 8 * i);
    return at;
}

/* Seven bits a byte; as many leading ones as there are bytes, inverted for what is negative. */
static char *put_signed(char *at, int64_t v)
{
    static const unsigned char header[11][2] = {{0, 0},    {0x80, 0}, {0xc0, 0}, {0xe0, 0},    {0xf0, 0},   {0xf8, 0},
                                                {0xfc, 0}, {0xfe, 0}, {0xff, 0}, {0xff, 0x80}, {0xff, 0xc0}};
    uint64_t magnitude = v < 0 ? ~(uint64_t)v : (uint64_t)v;
    int bits = 0, size;
    for (; magnitude; magnitude >>= 1) bits++;
    size = 1 + bits / 7;
    unsigned char wide[10];
    memset(wide, v < 0 ? 0xff : 0, 2);
    for (int i = 0; i < 8; i++) wide[2 + i] = (unsigned char)((uint64_t)v >> (56 - 8 * i));
    unsigned char *begin = wide + 10 - size;
    begin[0] ^= header[size][0];
    if (size > 1) begin[1] ^= header[size][1];
    memcpy(at, begin, (size_t)size);
    return at + size;
}

size_t hr__slice_key(char *key, const char *name, int rank, const int64_t *start, const int64_t *length)
{
    char *at = slices_put_text(slices_put_number(key, 0), name);
    at = slices_put_number(at, (uint64_t)rank);
    for (int i = 0; i < rank; i++) at = put_signed(put_signed(at, start[i]), length[i]);
    return (size_t)(at - key);
}

hr_status hr__slice_resolve(hr_shape full, const int64_t *start, int64_t *length, hr_error *err)
{
    for (int i = 0; i < full.rank; i++) {
        if (length[i] < 0 && start[i] == 0) length[i] = full.dims[i];
        if (start[i] >= 0 && length[i] >= 0 && length[i] <= full.dims[i] && start[i] <= full.dims[i] - length[i])
            continue;
        return hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.slice",
                       "slice: %lld values from %lld on do not fit into dimension %d of size %lld",
                       (long long)length[i], (long long)start[i], i, (long long)full.dims[i]);
    }
    return HR_OK;
}

void hr__slice_copy(char *whole, hr_shape full, const int64_t *start, const int64_t *length, char *part, size_t width,
                    bool into_whole)
{
    int64_t at[HR_MAX_RANK] = {0}, runs = 1;
    const int last = full.rank - 1;
    for (int i = 0; i < last; i++) runs *= length[i];
    const size_t run = (last < 0 ? 1 : (size_t)length[last]) * width;
    for (int64_t r = 0; r < runs && run; r++, part += run) {
        int64_t offset = 0;
        for (int i = 0; i <= last; i++) offset = offset * full.dims[i] + start[i] + at[i];
        char *place = whole + (size_t)offset * width;
        memcpy(into_whole ? place : part, into_whole ? part : place, run);
        for (int i = last - 1; i >= 0 && ++at[i] == length[i]; i--) at[i] = 0;
    }
}

static hr_status slices_bad_text(const char *text, hr_error *err)
{
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "checkpoint.slice",
        "slice: expected a full shape and start,length of each dimension, such as \"10 4 0,5:-\", got \"%.60s\"", text);
}

hr_status hr__slice_parse(const char *text, hr_shape *full, int64_t *start, int64_t *length, hr_error *err)
{
    const char *spec = strrchr(text, ' '), *at = text;
    *full = HR_SCALAR;
    if (!spec) return slices_bad_text(text, err);
    for (char *end; at < spec; at = end + (*end == ' ')) {
        int64_t dim = strtoll(at, &end, 10);
        if (end == at || full->rank == HR_MAX_RANK) return slices_bad_text(text, err);
        full->dims[full->rank++] = dim;
    }
    at = spec + 1;
    for (int d = 0; d < full->rank; d++) {
        char *end = (char *)at + 1;
        start[d] = 0;
        length[d] = -1;
        if (*at != '-') {
            start[d] = strtoll(at, &end, 10);
            if (end == at || *end != ',') return slices_bad_text(text, err);
            at = end + 1;
            length[d] = strtoll(at, &end, 10);
            if (end == at || length[d] < 0) return slices_bad_text(text, err);
        }
        if (*end != (d + 1 < full->rank ? ':' : '\0')) return slices_bad_text(text, err);
        at = end + 1;
    }
    return hr__slice_resolve(*full, start, length, err);
}
