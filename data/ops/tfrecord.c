/* tfrecord: the records of TFRecord files, one file after another.
 *
 * plan reads a piece of a file and frames it: whole records only, each length checked, since nothing behind a wrong one
 * can be trusted. A record cut by the piece's end is read again with the next piece. work checks the data; but under a
 * policy plan does, so that what is passed over, and how much of it may be, is settled in order. A compressed file is
 * inflated by plan, in order. No unit spans two files. */
#include "base/constructor.h"
#include "data/byte_source.h"
#include "io/framing.h"
#include "io/input.h"
#include "io/read_again.h"
#include "io/record_range.h"
#include "io/resync.h"
#include <headrace/data.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct tfrecord_spec {
    const char *pattern;
    bool literal; /* one file's name, whatever characters are in it */
    hr_compression compression;
    uint64_t max_record_bytes;
    hr_checks checks;
    int64_t first, count; /* the range that is read; count INT64_MAX: to the end */
    hr_policy asked;      /* the caller's, until the spec is copied */
    hr__policy *policy;   /* NULL: damage is an error */
    /* Records of compressed files that were read again in vain, which takes reading such a file from its front: it is not
     * done once more. The spec's own. */
    _Atomic int64_t *in_vain;
} tfrecord_spec;

typedef struct tfrecord_state {
    int64_t list, file, record, offset; /* saved: which list of files; where the next record is; */
    int64_t seen, errors;               /* records so far, and how many of them were passed over */
    int64_t begun;                      /* the range's first record was found */
    source_files files;
    hr_input *in;    /* the file at hand; NULL: to be opened */
    int32_t number;  /* its, for the rows' origin */
    int64_t average; /* bytes a record, lately */
    int64_t suspect; /* where a record seemed to be damaged, plus 1; 0: nowhere */
    bool again;      /* it was read from the file opened anew */
} tfrecord_state;

typedef struct tfrecord_unit {
    int64_t first; /* number of the first record */
    const char *file;
    int64_t zeros;       /* behind a compressed stream */
    bool is_file, plain; /* it can be read again; at any place */
} tfrecord_unit;

/* ---- the arguments ---- */

static hr_status tfrecord_spec_copy(void *spec, hr_error *err)
{
    tfrecord_spec *sp = spec;
    const char *pattern = sp->pattern;
    sp->pattern = hr_strdup(pattern);
    sp->policy = NULL;
    sp->in_vain = hr_calloc(1, sizeof *sp->in_vain);
    if ((pattern && !sp->pattern) || !sp->in_vain) return hr_no_memory(err, "tfrecord: the file pattern");
    return hr__policy_new(&sp->asked, "tfrecord", &sp->policy, err);
}

static void tfrecord_spec_free(void *spec)
{
    tfrecord_spec *sp = spec;
    hr_free((char *)(uintptr_t)sp->pattern);
    hr__policy_free(sp->policy);
    hr_free((void *)sp->in_vain);
}

static hr_status tfrecord_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const tfrecord_spec *sp = spec;
    if (!sp->pattern)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tfrecord.pattern",
                       "tfrecord: expected the name of a file or a pattern, got none that can be one");
    if (sp->compression != HR_COMPRESSION_AUTO && strcmp(hr_compression_name(sp->compression), "AUTO") == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "compression.unknown",
                       "tfrecord: expected a compression of hr_compression, got %d", (int)sp->compression);
    if (sp->checks < HR_CHECKS_ALL || sp->checks > HR_CHECKS_NONE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tfrecord.checks", "tfrecord: expected .checks of hr_checks, got %d",
                       (int)sp->checks);
    if (sp->first < 0 || sp->count < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tfrecord.range",
                       "tfrecord: expected .first and .count of 0 or more, got %" PRId64 " and %" PRId64, sp->first,
                       sp->count);
    return hr_schema_set(out, &hr_string_schema, err);
}

/* ---- plan: which file ---- */

static hr_status tfrecord_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const tfrecord_spec *sp = spec;
    tfrecord_state *st = state;
    hr_status status = source_files_open(&st->files, "tfrecord", sp->pattern, sp->literal, p, err);
    st->list = st->files.identity;
    return status;
}

/* Records of the range that are still to be read. */
static int64_t left_of(const tfrecord_spec *sp, const tfrecord_state *st) { return sp->count - st->seen; }

static hr_status tfrecord_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const tfrecord_spec *sp = spec;
    const tfrecord_state *st = state;
    const int64_t counts[] = {st->record, st->offset, st->seen, st->errors};
    HR_TRY(source_counts_check("tfrecord", counts, 4, err));
    const int64_t left = sp->count < INT64_MAX ? left_of(sp, st) : 0;
    HR_TRY(source_counts_check("tfrecord", &left, 1, err));
    return source_files_check(&st->files, "tfrecord", sp->pattern, st->list, st->file, err);
}

static void tfrecord_close(void *state)
{
    tfrecord_state *st = state;
    hr_input_free(st->in);
    hr_file_list_clear(&st->files.list);
}

/* Opens the file at hand where the next record is. HR_END: there is none. */
static hr_status open_file(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, hr_error *err)
{
    if (st->file >= st->files.list.count) return HR_END;
    const char *path = st->files.list.path[st->file];
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = sp->compression, .wake = hr_plan_wake(p)};
    st->number = hr_file_number(p, path);
    if (st->number < 0) return hr_no_memory(err, "tfrecord: a file's name");
    HR_TRY(source_files_once("tfrecord", path, p, st->number, err));
    HR_TRY(hr_input_open_with(path, &opts, &st->in, err));
    return st->offset == 0 ? HR_OK : hr__record_seek(st->in, sp->policy, st->offset, err);
}

static hr_status go_to_range(tfrecord_state *st, const hr__range_begin *begin, hr_error *err)
{
    HR_TRY(hr__record_range_go(begin, st->in, err));
    st->record = begin->record;
    st->offset = hr_input_offset(st->in);
    return HR_OK;
}

static hr_status begin_range(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, hr_error *err)
{
    hr__range_begin begin;
    hr_status status = hr__record_range_find(&st->files.list, sp->compression, sp->first, sp->count, &begin, err);
    if (status == HR_OK) {
        st->begun = 1;
        st->file = begin.file;
        status = open_file(sp, st, p, err);
    }
    if (status == HR_OK) status = go_to_range(st, &begin, err);
    if (status < 0) hr_error_prefix(err, "tfrecord: ");
    hr_record_index_free(begin.index);
    return status;
}

/* The file in which the next record is is open. HR_END: there is none. */
static hr_status find_file(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, hr_error *err)
{
    const bool all = sp->first == 0 && sp->count == INT64_MAX;
    if (!all && !st->begun) HR_TRY(begin_range(sp, st, p, err));
    if (left_of(sp, st) == 0) return HR_END;
    return st->in ? HR_OK : open_file(sp, st, p, err);
}

static void next_file(tfrecord_state *st)
{
    hr_input_free(st->in);
    st->in = NULL;
    st->file++;
    st->record = st->offset = 0;
}

/* ---- plan: read, frame ---- */

typedef struct piece {
    char *bytes;
    size_t size;
    hr_status damage; /* what follows the bytes; `err` says it */
} piece;

/* The next `size` bytes of a plain file, from where its next record begins, straight into the unit. */
static hr_status read_plain(tfrecord_state *st, hr_plan *p, size_t size, piece *out, hr_error *err)
{
    out->bytes = hr_unit_bytes(p, size);
    if (!out->bytes) return hr_no_memory(err, "tfrecord: a piece of a file");
    out->damage = hr__input_read_at(st->in, st->offset, out->bytes, size, &out->size, err);
    return HR_OK;
}

/* The same of a compressed file or a pipe. */
static hr_status read_stream(tfrecord_state *st, hr_plan *p, size_t size, piece *out, hr_error *err)
{
    const char *data;
    out->damage = hr_input_peek(st->in, size, &data, &out->size, err);
    if (out->size > size) out->size = size;
    out->bytes = hr_unit_bytes(p, out->size + 1);
    if (!out->bytes) return hr_no_memory(err, "tfrecord: a piece of a file");
    if (out->size > 0) memcpy(out->bytes, data, out->size);
    return HR_OK;
}

static hr__record_place here(const tfrecord_state *st)
{
    return (hr__record_place){st->files.list.path[st->file], st->record, st->offset};
}

/* One header says where the next one is, so each would be waited for; neighbours are about as long. */
static inline void ask_for_header(const char *at, size_t size, const char *end)
{
    enum { LINE = 64, NEAR = 32 };
    if ((size_t)(end - at) < size + LINE) return;
    __builtin_prefetch(at + size - NEAR);
    __builtin_prefetch(at + size - NEAR + LINE);
}

/* Adds the records of a piece to `rows` until it or they are full. What is left begins at st->offset; *needs is the size
 * of the record there, as far as it is known. */
static hr_status frame(const tfrecord_spec *sp, tfrecord_state *st, const piece *piece, int64_t room, hr_columns *rows,
                       size_t *needs, hr_error *err)
{
    hr_view *view = rows->column[0].values;
    const char *at = piece->bytes, *end = piece->bytes + piece->size;
    for (; rows->rows < room; rows->rows++) {
        uint64_t length;
        *needs = HR__RECORD_FRAME;
        if (end - at < HR__RECORD_HEADER) return HR_OK;
        if (!hr__record_length(at, &length) && sp->checks != HR_CHECKS_NONE)
            return hr__record_fail_length_crc(here(st), at, err);
        if (length > sp->max_record_bytes) return hr__record_fail_limit(here(st), length, sp->max_record_bytes, err);
        *needs = (size_t)length + HR__RECORD_FRAME;
        if ((size_t)(end - at) < *needs) return HR_OK;
        if (sp->policy && sp->checks == HR_CHECKS_ALL && !hr__record_sound(at + HR__RECORD_HEADER, (size_t)length))
            return hr__record_fail_data_crc(here(st), at + HR__RECORD_HEADER, (size_t)length, err);
        view[rows->rows] = (hr_view){at + HR__RECORD_HEADER, (int64_t)length};
        rows->origin[rows->rows] = hr_origin_of(st->number, st->record, st->offset);
        at += *needs;
        ask_for_header(at, *needs, end);
        st->record++;
        st->seen++;
        st->offset += (int64_t)*needs;
    }
    return HR_OK;
}

/* A record that is longer than its piece, or the end of the file. HR_OK: read again, with *needs bytes. */
static hr_status beyond_piece(const tfrecord_state *st, const piece *piece, size_t size, size_t needs, hr_error *err)
{
    const char *header = piece->size >= HR__RECORD_HEADER ? piece->bytes : NULL;
    if (piece->damage < 0) return hr__record_fail_below(here(st), piece->damage, err);
    if (piece->size < size) return hr__record_fail_truncated(here(st), header, piece->size, err);
    if (!hr__input_has_places(st->in)) return HR_OK;
    uint64_t left = (uint64_t)(hr__input_file_size(st->in) - st->offset);
    return left < needs ? hr__record_fail_truncated(here(st), header, left, err) : HR_OK;
}

/* Adds records of the file at hand to `rows`; none: it is at its end. */
static hr_status read_sound_records(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, size_t size, int64_t room,
                                    hr_columns *rows, hr_error *err)
{
    const bool plain = hr__input_has_places(st->in);
    for (size_t needs = 0;; size = needs) {
        piece piece = {0};
        const int64_t before = st->offset;
        HR_TRY(plain ? read_plain(st, p, size, &piece, err) : read_stream(st, p, size, &piece, err));
        hr_status status = frame(sp, st, &piece, room, rows, &needs, err);
        if (!plain) hr_input_consume(st->in, (size_t)(st->offset - before));
        if (status != HR_OK || rows->rows > 0) return status;
        if (piece.size == 0 && piece.damage == HR_OK) return HR_OK;
        HR_TRY(beyond_piece(st, &piece, size, needs, err));
    }
}

/* Goes behind damage, if the policy passes over it. */
static hr_status pass_over(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, const hr_error *damage,
                           hr_error *err)
{
    hr_damage_count count = {0};
    if (hr__input_has_places(st->in)) HR_TRY(hr_input_seek(st->in, st->offset, err));
    const hr_status status = hr__record_pass_over(st->in, sp->policy, sp->max_record_bytes, damage, &count, err);
    if (status < 0) return status;
    hr_plan_count(p, "tfrecord: damaged records passed over", count.errors);
    hr_plan_count(p, "tfrecord: bytes passed over", count.bytes);
    st->offset = hr_input_offset(st->in);
    st->record++;
    st->seen++;
    st->errors++;
    return hr__policy_budget(sp->policy, "tfrecord", st->errors, st->seen, damage, err);
}

/* ---- plan: a second look ---- */

static const char misread[] = "tfrecord: records that were right only when they were read again";

/* Notes where a record seems to be damaged, unless it surely is. */
static bool suspect(tfrecord_state *st, const hr_error *damage)
{
    if (!hr__may_be_misread(damage)) return false;
    if (st->suspect != st->offset + 1) st->again = false;
    st->suspect = st->offset + 1;
    return true;
}

/* Opens the file anew, to read once more what is suspect. HR_END: that was done, or cannot be. */
static hr_status look_again(const tfrecord_spec *sp, tfrecord_state *st, hr_error *err)
{
    hr_input *again;
    const bool plain = hr__input_has_places(st->in);
    if (st->again && !plain) atomic_fetch_add(sp->in_vain, 1);
    if (st->again || (!plain && atomic_load(sp->in_vain))) return HR_END;
    st->again = true;
    const hr_status status = hr__read_again(st->in, sp->policy, st->offset, &again, err);
    if (status != HR_OK) return hr__is_of_system(err) ? status : HR_END;
    hr_input_free(st->in);
    st->in = again;
    return HR_OK;
}

/* Records came from where one was suspect: what was wrong lay in the reading. */
static void end_suspicion(tfrecord_state *st, hr_plan *p)
{
    hr_plan_count(p, misread, 1);
    hr__tell_misread(st->files.list.path[st->file], st->suspect - 1);
    st->suspect = 0;
}

/* The same behind damage that is passed over. What comes before it is a unit of its own. */
static hr_status read_records(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, size_t size, int64_t room,
                              hr_columns *rows, hr_error *err)
{
    for (;;) {
        hr_error damage;
        const int64_t left = left_of(sp, st);
        if (left == 0) return HR_OK;
        const hr_status status = read_sound_records(sp, st, p, size, left < room ? left : room, rows, &damage);
        if (rows->rows > 0 && st->suspect) end_suspicion(st, p);
        if (status >= 0) return status;
        const bool doubtful = suspect(st, &damage);
        if (rows->rows > 0 && (doubtful || sp->policy)) return HR_OK; /* it is met again by the next unit */
        const hr_status second = doubtful ? look_again(sp, st, err) : HR_END;
        if (second == HR_OK) continue;
        if (second < 0) return second;
        *err = damage;
        if (!sp->policy) return status;
        st->suspect = 0;
        HR_TRY(pass_over(sp, st, p, &damage, err));
    }
}

/* Zeros behind a compressed stream are no damage, but they are told. They are seen as soon as all bytes are used. */
static int64_t zeros_behind(tfrecord_state *st)
{
    const char *data;
    size_t size;
    if (hr_input_compressed_offset(st->in) < 0 || hr_input_peek(st->in, 1, &data, &size, NULL) != HR_OK || size > 0)
        return 0;
    int64_t zeros = hr_input_trailing_zeros(st->in);
    if (zeros > 0)
        hr_log_message(HR_WARNING, "%s: %" PRId64 " zero bytes behind the compressed stream: passed over",
                       hr_input_path(st->in), zeros);
    return zeros;
}

/* Rows to make room for: what the unit takes, but not many more than a piece of the file can hold. */
static int64_t rows_for(const tfrecord_spec *sp, const tfrecord_state *st, const hr_plan *p)
{
    const int64_t average = st->average ? st->average : 64;
    const int64_t most = 2 * ((int64_t)hr_unit_size(p) / average) + 64;
    const int64_t wanted = hr_room(p) < left_of(sp, st) ? hr_room(p) : left_of(sp, st);
    return wanted < most ? wanted : most;
}

/* How much to read for `room` records: not a whole piece if a few bytes will do. */
static size_t piece_for(const tfrecord_state *st, const hr_plan *p, int64_t room)
{
    const size_t whole = hr_unit_size(p);
    const int64_t average = st->average ? st->average : 1024;
    const size_t wanted = (size_t)(room < (int64_t)whole / average ? (room + 1) * average : (int64_t)whole);
    return wanted < whole ? wanted : whole;
}

static hr_status tfrecord_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const tfrecord_spec *sp = spec;
    tfrecord_state *st = state;
    hr_status status = find_file(sp, st, p, err);
    if (status == HR_END) HR_TRY(hr__policy_budget(sp->policy, "tfrecord", st->errors, st->seen, NULL, err));
    HR_TRY(status);

    const int64_t room = rows_for(sp, st, p);
    const size_t name_size = strlen(st->files.list.path[st->file]) + 1;
    hr_columns *rows = hr_unit_rows(p, room);
    char *name = rows ? hr_unit_bytes(p, name_size) : NULL;
    if (!name) return hr_no_memory(err, "tfrecord: a unit of records");
    memcpy(name, st->files.list.path[st->file], name_size);

    const int64_t first = st->record, from = st->offset;
    status = read_records(sp, st, p, piece_for(st, p, room), room, rows, err);
    if (rows->rows > 0) st->average = (st->offset - from) / rows->rows + 1;
    int64_t zeros = status == HR_OK ? zeros_behind(st) : 0;
    *(tfrecord_unit *)hr_unit(p) =
        (tfrecord_unit){first, name, zeros, hr__input_file_size(st->in) >= 0, hr__input_has_places(st->in)};
    if (status == HR_OK && rows->rows == 0) next_file(st);
    return status;
}

/* ---- work: check the data ---- */

/* The bytes are the unit's own, so the record is put right where it lies. */
static bool is_sound_again(const tfrecord_spec *sp, const tfrecord_unit *unit, hr_view record, int64_t offset,
                           hr_work *w)
{
    char *frame = (char *)(uintptr_t)record.data - HR__RECORD_HEADER;
    if (!unit->is_file || (!unit->plain && atomic_load(sp->in_vain))) return false;
    if (!hr__frame_read_again(unit->file, sp->compression, offset, frame, (size_t)record.size + HR__RECORD_FRAME)) {
        atomic_fetch_add(sp->in_vain, 1);
        return false;
    }
    hr_work_count(w, misread, 1);
    hr__tell_misread(unit->file, offset);
    return true;
}

static hr_status tfrecord_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)err;
    const tfrecord_spec *sp = spec;
    const tfrecord_unit *unit = unit_;
    const hr_view *view = rows->column[0].values;
    const bool checked = sp->policy || sp->checks != HR_CHECKS_ALL;
    for (int64_t r = 0; r < rows->rows && !checked; r++) {
        if (hr__record_sound(view[r].data, (size_t)view[r].size)) continue;
        if (is_sound_again(sp, unit, view[r], rows->origin[r].offset, w)) continue;
        hr_error bad;
        hr__record_place at = {unit->file, unit->first + r, rows->origin[r].offset};
        hr__record_fail_data_crc(at, view[r].data, (size_t)view[r].size, &bad);
        hr_fail_at(w, rows, r, &bad);
    }
    if (unit->zeros > 0) hr_work_count(w, "tfrecord: zero bytes behind a compressed stream", unit->zeros);
    return HR_OK;
}

static hr_op_files tfrecord_files(const void *spec)
{
    const tfrecord_spec *sp = spec;
    return source_files_of(sp->pattern, sp->literal);
}

static void tfrecord_identity(const void *spec, uint64_t *sum)
{
    const tfrecord_spec *sp = spec;
    hr_identify_i64(sum, sp->compression);
    hr_identify_i64(sum, sp->checks);
    hr_identify_i64(sum, hr__policy_on_error(sp->policy));
    hr_identify_i64(sum, sp->first);
    hr_identify_i64(sum, sp->count);
}

static int64_t tfrecord_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    const tfrecord_spec *sp = spec;
    return sp->count < INT64_MAX && !sp->policy ? sp->count : HR_UNKNOWN_CARDINALITY;
}

static void tfrecord_describe(const void *spec, hr_description *to)
{
    const tfrecord_spec *sp = spec;
    hr_describe_text(to, NULL, sp->pattern);
    if (sp->compression) hr_describe_text(to, "compression", hr_compression_name(sp->compression));
    hr_describe_option(to, "first", sp->first);
    if (sp->count < INT64_MAX) hr_describe_number(to, "count", sp->count);
}

const hr_op hr_op_tfrecord = {
    .head = HR_OP_HEAD,
    .name = "tfrecord",
    .spec_size = sizeof(tfrecord_spec),
    .state_size = sizeof(tfrecord_state),
    .unit_size = sizeof(tfrecord_unit),
    .saved = 7, /* list, file, record, offset, seen, errors, begun */
    .spec_copy = tfrecord_spec_copy,
    .spec_free = tfrecord_spec_free,
    .check = tfrecord_check,
    .open = tfrecord_open,
    .plan = tfrecord_plan,
    .work = tfrecord_work,
    .load = tfrecord_load,
    .close = tfrecord_close,
    .identity = tfrecord_identity,
    .files = tfrecord_files,
    .cardinality = tfrecord_cardinality,
    .describe = tfrecord_describe,
};

static hr_dataset *make(const char *pattern, bool literal, const hr_tfrecord_opts *opts)
{
    const hr_tfrecord_opts o = HR__OPTIONS(hr_tfrecord_opts, opts);
    const uint64_t limit = o.max_record_bytes ? o.max_record_bytes : HR__RECORD_LIMIT;
    const tfrecord_spec spec = {.pattern = pattern,
                                .literal = literal,
                                .compression = o.compression,
                                .max_record_bytes = limit < INT64_MAX / 2 ? limit : INT64_MAX / 2,
                                .checks = o.checks,
                                .first = o.first,
                                .count = o.count ? *o.count : INT64_MAX,
                                .asked = o.policy};
    return hr_dataset_new(&hr_op_tfrecord, &spec, NULL, 0);
}

hr_dataset *hr_tfrecord_with(const char *pattern, const hr_tfrecord_opts *opts) { return make(pattern, false, opts); }

hr_dataset *hr_tfrecord_fn(const hr_element *element, void *user)
{
    char path[4096];
    return make(hr__byte_source_name(element, path, sizeof path), true, user);
}
