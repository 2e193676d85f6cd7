/* Scans the lengths of a file, from header to header. Of a plain file only the pieces are
 * read in which a header lies. */
#include "io/framing.h"
#include "io/input.h"
#include "io/record/reread.h"
#include "io/record/record_index.h"
#include <string.h>

enum { PIECE = 256 * 1024, SMALL = 4096 /* read at a time where records are large */, LARGE = 64 * 1024 };

typedef struct bounds {
    int64_t file_size; /* records end within so many bytes; -1: it is unknown */
    uint64_t limit;    /* of a record's data */
} bounds;

/* Checks a header; the frame that it begins has *whole bytes. */
static hr_status check_header(hr__record_place at, const char *header, size_t size, bounds max, int64_t *whole,
                              hr_error *err)
{
    uint64_t length;
    if (size < HR__RECORD_HEADER) return hr__record_fail_truncated(at, NULL, size, err);
    if (!hr__record_length(header, &length)) return hr__record_fail_length_crc(at, header, err);
    if (length > max.limit) return hr__record_fail_limit(at, length, max.limit, err);
    *whole = (int64_t)length + HR__RECORD_FRAME;
    if (max.file_size >= 0 && *whole > max.file_size - at.offset)
        return hr__record_fail_truncated(at, header, (uint64_t)(max.file_size - at.offset), err);
    return HR_OK;
}

/* ---- plain files ---- */

typedef struct piece {
    char bytes[PIECE];
    int64_t begin;
    size_t size;
} piece;

/* The header at `offset`, read together with what is likely to follow. */
static hr_status index_scan_look(const hr_input *in, piece *p, int64_t offset, bool large, size_t *size, hr_error *err)
{
    if (offset + HR__RECORD_HEADER > p->begin + (int64_t)p->size) {
        p->begin = offset;
        HR_TRY(hr__input_read_at(in, offset, p->bytes, large ? SMALL : PIECE, &p->size, err));
    }
    *size = (size_t)(p->begin + (int64_t)p->size - offset);
    return HR_OK;
}

/* A header that seems to be damaged is read once more. False: it is the same. */
static bool index_scan_reread(const hr_input *in, hr__record_place at, char *header, const hr_error *damage)
{
    hr_input *again;
    const char *data;
    size_t size;
    uint64_t length;
    if (!hr__may_be_misread(damage) || hr__reread(in, NULL, at.offset, &again, NULL) != HR_OK) return false;
    const bool sound = hr_input_peek(again, HR__RECORD_HEADER, &data, &size, NULL) == HR_OK &&
                       size >= HR__RECORD_HEADER && hr__record_length(data, &length);
    if (sound) memcpy(header, data, HR__RECORD_HEADER);
    if (sound) hr__report_misread(at.file, at.offset);
    hr_input_free(again);
    return sound;
}

static hr_status check_at_place(const hr_input *in, hr__record_place at, char *header, size_t size, bounds max,
                                int64_t *whole, hr_error *err)
{
    hr_error wrong;
    hr_status st = check_header(at, header, size, max, whole, &wrong);
    if (st != HR_OK && index_scan_reread(in, at, header, &wrong)) st = check_header(at, header, size, max, whole, err);
    if (st != HR_OK && err) *err = wrong;
    return st;
}

static hr_status scan_places(const hr_input *in, uint64_t limit, piece *p, hr__record_found_fn *found, void *user,
                             int64_t *records, hr_error *err)
{
    const bounds max = {hr__input_file_size(in), limit};
    hr__record_place at = {hr_input_path(in), 0, 0};
    for (; at.offset < max.file_size; at.record++) {
        size_t size;
        int64_t whole;
        const bool large = at.record > 0 && at.offset / at.record > LARGE;
        HR_TRY(index_scan_look(in, p, at.offset, large, &size, err));
        HR_TRY(check_at_place(in, at, p->bytes + (at.offset - p->begin), size, max, &whole, err));
        found(user, at.offset, whole);
        at.offset += whole;
        *records = at.record + 1;
    }
    return HR_OK;
}

/* ---- all others ---- */

static hr_status index_scan_pass(hr_input *in, hr__record_place at, int64_t whole, hr_error *err)
{
    const char *data;
    size_t size;
    for (int64_t left = whole; left > 0; left -= (int64_t)size) {
        hr_status st = hr_input_peek(in, 1, &data, &size, err);
        if (st != HR_OK) return hr__record_fail_below(at, st, err);
        if (size == 0) {
            char header[HR__RECORD_HEADER];
            hr__record_header(header, (uint64_t)(whole - HR__RECORD_FRAME));
            return hr__record_fail_truncated(at, header, (uint64_t)(whole - left), err);
        }
        if ((int64_t)size > left) size = (size_t)left;
        hr_input_consume(in, size);
    }
    return HR_OK;
}

/* Skips record `number`, whose frame has *whole bytes. HR_END: the file ends before it. */
static hr_status pass_record(hr_input *in, uint64_t limit, int64_t number, int64_t *whole, hr_error *err)
{
    const char *data;
    size_t size;
    const hr__record_place at = {hr_input_path(in), number, hr_input_offset(in)};
    hr_status st = hr_input_peek(in, HR__RECORD_HEADER, &data, &size, err);
    if (st != HR_OK) return hr__record_fail_below(at, st, err);
    if (size == 0) return HR_END;
    const bool has_places = hr__input_has_places(in);
    const bounds max = {has_places ? hr__input_file_size(in) : -1, limit};
    HR_TRY(check_header(at, data, size, max, whole, err));
    return has_places ? hr_input_seek(in, at.offset + *whole, err) : index_scan_pass(in, at, *whole, err);
}

hr_status hr__record_pass(hr_input *in, uint64_t limit, int64_t number, int64_t count, hr_error *err)
{
    int64_t whole;
    for (int64_t i = 0; i < count; i++) HR_TRY(pass_record(in, limit, number + i, &whole, err));
    return HR_OK;
}

static hr_status scan_stream(hr_input *in, uint64_t limit, hr__record_found_fn *found, void *user, int64_t *records,
                             hr_error *err)
{
    for (;; ++*records) {
        int64_t whole;
        const int64_t offset = hr_input_offset(in);
        const hr_status st = pass_record(in, limit, *records, &whole, err);
        if (st != HR_OK) return st == HR_END ? HR_OK : st;
        found(user, offset, whole);
    }
}

hr_status hr__record_scan(hr_input *in, uint64_t limit, hr__record_found_fn *found, void *user, int64_t *records,
                          hr_error *err)
{
    *records = 0;
    if (!hr__input_has_places(in)) return scan_stream(in, limit, found, user, records, err);
    piece *p = hr_malloc(sizeof *p);
    if (!p) return hr_no_memory(err, "an index");
    p->begin = 0;
    p->size = 0;
    hr_status st = scan_places(in, limit, p, found, user, records, err);
    hr_free(p);
    return st;
}
