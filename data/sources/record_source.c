/* See record_source.h. Each length is checked, since nothing after a wrong one can be trusted. A record cut by the end
 * of a piece is read again with the next piece. */
#include "data/sources/record_source.h"
#include "io/framing.h"
#include "io/input.h"
#include "io/record/reread.h"
#include "io/record/resync.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

/* ---- the current file ---- */

hr_status hr__record_source_open(record_source *s, const record_source_spec *how, const char *path, int32_t number,
                                 const int *wake, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts,
                                .compression = how->compression,
                                .wake = wake,
                                .may_be_damaged = hr__policy_on_error(how->policy) >= HR_RESYNC};
    s->path = path;
    s->number = number;
    HR_TRY(hr_input_open_with(path, &opts, &s->in, err));
    return s->offset == 0 ? HR_OK : hr__record_seek(s->in, how->policy, s->offset, err);
}

void hr__record_source_close(record_source *s)
{
    hr_input_free(s->in);
    s->in = NULL;
}

record_file hr__record_source_file(const record_source *s, const char *path)
{
    return (record_file){path, hr__input_is_file(s->in), hr__input_has_places(s->in)};
}

int64_t hr__record_source_zeros(const record_source *s)
{
    const char *data;
    size_t size;
    if (hr_input_compressed_offset(s->in) < 0 || hr_input_peek(s->in, 1, &data, &size, NULL) != HR_OK || size > 0)
        return 0;
    int64_t zeros = hr_input_trailing_zeros(s->in);
    if (zeros > 0)
        hr_log_message(HR_WARNING, "%s: %" PRId64 " zero bytes after the compressed stream were skipped",
                       hr_input_path(s->in), zeros);
    return zeros;
}

/* ---- a piece: read, frame ---- */

typedef struct piece {
    char *bytes;
    size_t size;
    hr_status damage; /* what follows the bytes; `err` says it */
} piece;

/* The next `size` bytes of a plain file, from where its next record begins, straight into the unit. */
static hr_status read_plain(record_source *s, hr_plan *p, size_t size, piece *out, hr_error *err)
{
    out->bytes = hr_unit_bytes(p, size);
    if (!out->bytes) return hr_no_memory(err, "tfrecord: a piece of a file");
    out->damage = hr__input_read_at(s->in, s->offset, out->bytes, size, &out->size, err);
    return HR_OK;
}

/* The same of a compressed file or a pipe. */
static hr_status read_stream(record_source *s, hr_plan *p, size_t size, piece *out, hr_error *err)
{
    const char *data;
    out->damage = hr_input_peek(s->in, size, &data, &out->size, err);
    if (out->size > size) out->size = size;
    out->bytes = hr_unit_bytes(p, out->size + 1);
    if (!out->bytes) return hr_no_memory(err, "tfrecord: a piece of a file");
    if (out->size > 0) memcpy(out->bytes, data, out->size);
    return HR_OK;
}

static hr__record_place here(const record_source *s) { return (hr__record_place){s->path, s->record, s->offset}; }

/* The next header's address depends on this one, so prefetch it, assuming similar lengths. */
static inline void ask_for_header(const char *at, size_t size, const char *end)
{
    enum { LINE = 64, NEAR = 32 };
    if ((size_t)(end - at) < size + LINE) return;
    __builtin_prefetch(at + size - NEAR);
    __builtin_prefetch(at + size - NEAR + LINE);
}

/* Adds the records of a piece to `rows` until it or they are full. What is left begins at s->offset; *needs is the size
 * of the record there, as far as it is known. */
static hr_status record_source_frame(record_source *s, const record_source_spec *how, const piece *piece,
                                     int64_t capacity, hr_columns *rows, size_t *needs, hr_error *err)
{
    hr_view *view = rows->column[0].values;
    const char *at = piece->bytes, *end = piece->bytes + piece->size;
    for (; rows->rows < capacity && (s->end == 0 || s->offset < s->end); rows->rows++) {
        uint64_t length;
        *needs = HR__RECORD_FRAME;
        if (end - at < HR__RECORD_HEADER) return HR_OK;
        if (!hr__record_length(at, &length) && how->checks != HR_CHECKS_NONE)
            return hr__record_fail_length_crc(here(s), at, err);
        if (length > how->max_record_bytes) return hr__record_fail_limit(here(s), length, how->max_record_bytes, err);
        *needs = (size_t)length + HR__RECORD_FRAME;
        if ((size_t)(end - at) < *needs) return HR_OK;
        if (how->policy && how->checks == HR_CHECKS_ALL && !hr__record_sound(at + HR__RECORD_HEADER, (size_t)length))
            return hr__record_fail_data_crc(here(s), at + HR__RECORD_HEADER, (size_t)length, err);
        view[rows->rows] = (hr_view){at + HR__RECORD_HEADER, (int64_t)length};
        rows->origin[rows->rows] = hr_origin_of(s->number, s->record, s->offset);
        at += *needs;
        ask_for_header(at, *needs, end);
        s->record++;
        s->seen++;
        s->offset += (int64_t)*needs;
    }
    return HR_OK;
}

/* A record that is longer than its piece, or the end of the file. HR_OK: read again, with *needs bytes. */
static hr_status beyond_piece(const record_source *s, const piece *piece, size_t size, size_t needs, hr_error *err)
{
    const char *header = piece->size >= HR__RECORD_HEADER ? piece->bytes : NULL;
    if (piece->damage < 0) return hr__record_fail_below(here(s), piece->damage, err);
    if (piece->size < size) return hr__record_fail_truncated(here(s), header, piece->size, err);
    if (!hr__input_has_places(s->in)) return HR_OK;
    uint64_t left = (uint64_t)(hr__input_file_size(s->in) - s->offset);
    return left < needs ? hr__record_fail_truncated(here(s), header, left, err) : HR_OK;
}

/* Adds records of the current file to `rows`; none: it is at its end. */
static hr_status read_sound_records(record_source *s, const record_source_spec *how, hr_plan *p, size_t size,
                                    int64_t capacity, hr_columns *rows, hr_error *err)
{
    const bool plain = hr__input_has_places(s->in);
    for (size_t needs = 0;; size = needs) {
        piece piece = {0};
        const int64_t before = s->offset;
        HR_TRY(plain ? read_plain(s, p, size, &piece, err) : read_stream(s, p, size, &piece, err));
        hr_status status = record_source_frame(s, how, &piece, capacity, rows, &needs, err);
        if (!plain) hr_input_consume(s->in, (size_t)(s->offset - before));
        if (status != HR_OK || rows->rows > 0) return status;
        if (piece.size == 0 && piece.damage == HR_OK) return HR_OK;
        HR_TRY(beyond_piece(s, &piece, size, needs, err));
    }
}

/* ---- a second look ---- */

static const char misread[] = "tfrecord: records that were right only when re-read";

/* Notes where a record seems to be damaged, unless it surely is. */
static bool suspect(record_source *s, const hr_error *damage)
{
    if (!hr__may_be_misread(damage)) return false;
    if (s->suspect != s->offset + 1) s->again = false;
    s->suspect = s->offset + 1;
    return true;
}

/* Opens the file again, to read once more what is suspect. HR_END: that was done, or cannot be. */
static hr_status record_source_reread_span(record_source *s, const record_source_spec *how, hr_error *err)
{
    hr_input *again;
    const bool plain = hr__input_has_places(s->in);
    if (s->again && !plain) atomic_fetch_add(how->in_vain, 1);
    if (s->again || (!plain && atomic_load(how->in_vain))) return HR_END;
    s->again = true;
    const hr_status status = hr__reread(s->in, how->policy, s->offset, &again, err);
    if (status != HR_OK) return hr__is_of_system(err) ? status : HR_END;
    hr_input_free(s->in);
    s->in = again;
    return HR_OK;
}

/* Records, or the end of a compressed stream, came from where one was suspect: what was wrong lay in the reading. */
static void end_suspicion(record_source *s, hr_plan *p)
{
    hr_plan_count(p, misread, 1);
    hr__report_misread(s->path, s->suspect - 1);
    s->suspect = 0;
}

bool hr__record_source_reread(const record_source_spec *how, const record_file *file, hr_view record, int64_t offset,
                              hr_work *w)
{
    char *frame = (char *)(uintptr_t)record.data - HR__RECORD_HEADER;
    if (!file->is_file || (!file->plain && atomic_load(how->in_vain))) return false;
    if (!hr__frame_reread(file->path, how->compression, offset, frame, (size_t)record.size + HR__RECORD_FRAME)) {
        atomic_fetch_add(how->in_vain, 1);
        return false;
    }
    hr_work_count(w, misread, 1);
    hr__report_misread(file->path, offset);
    return true;
}

/* ---- damage, skipped ---- */

/* Skips damage, if the policy skips it. */
static hr_status record_source_pass_over(record_source *s, const record_source_spec *how, hr_plan *p,
                                         const hr_error *damage, hr_error *err)
{
    hr_damage_count count = {0};
    if (hr__input_has_places(s->in)) HR_TRY(hr_input_seek(s->in, s->offset, err));
    const hr_status status = hr__record_pass_over(s->in, how->policy, how->max_record_bytes, damage, &count, err);
    if (status < 0) return status;
    hr_plan_count(p, "tfrecord: damaged records skipped", count.errors);
    hr_plan_count(p, "tfrecord: bytes skipped", count.bytes);
    s->offset = hr_input_offset(s->in);
    s->record++;
    s->seen++;
    s->errors++;
    return hr__policy_budget(how->policy, "tfrecord", s->errors, s->seen, damage, err);
}

/* Reads on after damage that is right when re-read, or is skipped. What comes before it is a unit of its own. */
static hr_status read_past_damage(record_source *s, const record_source_spec *how, hr_plan *p, size_t size,
                                  int64_t capacity, hr_columns *rows, hr_error *err)
{
    for (;;) {
        hr_error damage;
        const int64_t left = hr__record_source_left(s, how);
        if (left == 0) return HR_OK;
        const hr_status status = read_sound_records(s, how, p, size, left < capacity ? left : capacity, rows, &damage);
        if (status >= 0 && s->suspect && rows->rows == 0 && hr_input_compressed_offset(s->in) < 0)
            return hr__record_fail_truncated(here(s), NULL, 0, err); /* there was something before */
        if (s->suspect && (status >= 0 || rows->rows > 0)) end_suspicion(s, p);
        if (status >= 0) return status;
        const bool doubtful = suspect(s, &damage);
        if (rows->rows > 0 && (doubtful || how->policy)) return HR_OK; /* it is met again by the next unit */
        const hr_status second = doubtful ? record_source_reread_span(s, how, err) : HR_END;
        if (second == HR_OK) continue;
        if (second < 0) return second;
        *err = damage;
        if (!how->policy) return status;
        s->suspect = 0;
        HR_TRY(record_source_pass_over(s, how, p, &damage, err));
    }
}

/* ---- a unit ---- */

int64_t hr__record_source_capacity(const record_source *s, const record_source_spec *how, const hr_plan *p)
{
    const int64_t left = hr__record_source_left(s, how);
    const int64_t capacity = s->average ? hr_room_for(p, (int64_t)hr_unit_size(p) / s->average + 1) : hr_room(p);
    return capacity < left ? capacity : left;
}

/* How many bytes to read for `capacity` records, if they are about as long as those before. */
static size_t piece_for(const record_source *s, const hr_plan *p, int64_t capacity)
{
    const size_t max = 2 * hr_unit_size(p);
    const int64_t average = s->average ? s->average : 1024, spare = 1 + capacity / 128;
    uint64_t wanted = (uint64_t)(capacity + spare) * (uint64_t)average;
    const int64_t left = s->end - s->offset + average; /* to about the end of the last record */
    if (s->end > 0 && wanted > (uint64_t)left) wanted = (uint64_t)left;
    return wanted < max ? (size_t)wanted : max;
}

hr_status hr__record_source_read(record_source *s, const record_source_spec *how, hr_plan *p, int64_t capacity,
                                 hr_columns *rows, hr_error *err)
{
    const int64_t from = s->offset;
    const hr_status status = read_past_damage(s, how, p, piece_for(s, p, capacity), capacity, rows, err);
    if (rows->rows > 0) s->average = (s->offset - from) / rows->rows + 1;
    return status;
}

hr_status hr__record_source_read_sound(record_source *s, const record_source_spec *how, hr_plan *p, int64_t capacity,
                                       hr_columns *rows, hr_error *err)
{
    const int64_t from = s->offset;
    const hr_status status = read_sound_records(s, how, p, piece_for(s, p, capacity), capacity, rows, err);
    if (rows->rows > 0) s->average = (s->offset - from) / rows->rows + 1;
    return status;
}

/* ---- from somewhere in a file ---- */

/* Where the header of a record lies first, whose record ends within `left` bytes; -1: nowhere. */
static int64_t first_header(const record_source_spec *how, const char *bytes, size_t size, int64_t left)
{
    uint64_t length;
    for (size_t i = 0; i + HR__RECORD_HEADER <= size; i++) {
        const uint64_t most = (uint64_t)left - i;
        if (hr__get64(bytes + i) > most || hr__get64(bytes + i) > how->max_record_bytes) continue;
        if (hr__record_length(bytes + i, &length) && length + HR__RECORD_FRAME <= most) return (int64_t)i;
    }
    return -1;
}

hr_status hr__record_source_search(record_source *s, const record_source_spec *how, hr_error *err)
{
    enum { NEAR = 4 << 10, FAR = 256 << 10 };
    const int64_t left = hr__input_file_size(s->in) - s->offset;
    char *bytes = left > 0 ? hr_malloc(FAR) : NULL;
    if (left > 0 && !bytes) return hr_no_memory(err, "tfrecord: a piece of a file");
    int64_t found = -1;
    hr_status status = HR_OK;
    for (size_t size = NEAR, got = 0; left > 0 && status == HR_OK && found < 0 && size <= FAR; size *= FAR / NEAR) {
        status = hr__input_read_at(s->in, s->offset, bytes, size, &got, err);
        if (status == HR_OK) found = first_header(how, bytes, got, left);
    }
    hr_free(bytes);
    if (status != HR_OK || found < 0) return status != HR_OK ? status : HR_END;
    s->offset += found;
    return HR_OK;
}

/* ---- the data ---- */

int64_t hr__record_source_sound(const record_source_spec *how, const hr_columns *rows)
{
    const hr_view *view = rows->column[0].values;
    int64_t r = 0;
    while (r < rows->rows && (how->checks != HR_CHECKS_ALL || hr__record_sound(view[r].data, (size_t)view[r].size)))
        r++;
    return r;
}

void hr__record_source_check(const record_source_spec *how, const record_file *file, int64_t first, hr_work *w,
                             hr_columns *rows)
{
    const hr_view *view = rows->column[0].values;
    const bool checked = how->policy || how->checks != HR_CHECKS_ALL;
    for (int64_t r = 0; r < rows->rows && !checked; r++) {
        if (hr__record_sound(view[r].data, (size_t)view[r].size)) continue;
        if (hr__record_source_reread(how, file, view[r], rows->origin[r].offset, w)) continue;
        hr_error bad;
        hr__record_place at = {file->path, first + r, rows->origin[r].offset};
        hr__record_fail_data_crc(at, view[r].data, (size_t)view[r].size, &bad);
        hr_fail_at(w, rows, r, &bad);
    }
}
