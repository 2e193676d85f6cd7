/* shuffled_records: all records of TFRecord files in one random order, without a buffer: a permutation of their numbers
 * that is computed, not kept. So any record may come next to any other, and where it stands is one number.
 *
 * plan only counts draws. work finds the records of its unit by the files' indexes and reads them in the order of their
 * places, so that neighbours are read together; each goes to the row that drew it. */
#include "base/constructor.h"
#include "data/permutation.h"
#include "data/source_files.h"
#include "io/framing.h"
#include "io/input.h"
#include "io/read_again.h"
#include "io/record_index.h"
#include <headrace/data.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct shuffled_spec {
    const char *pattern;
    uint64_t seed;
    bool same_each_epoch, keep_index;
} shuffled_spec;

/* One file, open as long as the iterator's run. */
typedef struct indexed_file {
    const char *path;
    int64_t first; /* number of its first record, over all files */
    hr_record_index *index;
    hr_input *in;
    int32_t number; /* its, for the rows' origin */
} indexed_file;

typedef struct shuffled_state {
    int64_t list, records, drawn; /* saved: which list of files; how many records they have; how many have been given */
    uint64_t key;
    int64_t average; /* bytes a record */
    source_files files;
    indexed_file *file;
} shuffled_state;

/* Immutable while work looks at it, and there as long as a unit is: the engine closes a stage when none is running. */
typedef struct shuffled_unit {
    const shuffled_state *of;
    int64_t first; /* number of the first draw */
} shuffled_unit;

/* ---- the arguments ---- */

static hr_status shuffled_spec_copy(void *spec, hr_error *err)
{
    shuffled_spec *sp = spec;
    if (!sp->pattern) return HR_OK;
    sp->pattern = hr_strdup(sp->pattern);
    return sp->pattern ? HR_OK : hr_no_memory(err, "shuffled_records: the file pattern");
}

static void shuffled_spec_free(void *spec) { hr_free((char *)(uintptr_t)((shuffled_spec *)spec)->pattern); }

static hr_status shuffled_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    if (!((const shuffled_spec *)spec)->pattern)
        return hr_fail(err, HR_INVALID_ARGUMENT, "source.pattern",
                       "shuffled_records: expected the name of a file or a pattern, got none that can be one");
    return hr_schema_set(out, &hr_string_schema, err);
}

/* ---- opening: the files and their indexes ---- */

static hr_status open_indexes(const shuffled_spec *sp, shuffled_state *st, hr_error *err)
{
    const hr_record_index_opts opts = {.struct_size = sizeof opts, .keep = sp->keep_index};
    const int64_t files = st->files.list.count;
    hr_record_index **index = hr_calloc((size_t)files + 1, sizeof(hr_record_index *));
    st->file = hr_calloc((size_t)files + 1, sizeof *st->file);
    hr_status status = index && st->file ? hr_record_index_open_all(&st->files.list, &opts, index, err)
                                         : hr_no_memory(err, "shuffled_records: the indexes");
    for (int64_t i = 0; status == HR_OK && i < files; i++) st->file[i].index = index[i];
    hr_free(index);
    return status;
}

/* Going to a record of a compressed file takes decoding what stands in front of it: not for each. */
static hr_status open_file(hr_plan *p, const char *path, indexed_file *file, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE, .wake = hr_plan_wake(p)};
    file->path = path;
    file->number = hr_file_number(p, path);
    if (file->number < 0) return hr_no_memory(err, "shuffled_records: a file's name");
    if (file->index->compression != HR_NONE) {
        hr_fail(
            err, HR_INVALID_ARGUMENT, "shuffled_records.compressed",
            "%s: expected a file that is not compressed, got %s; read it by hr_tfrecord and hr_shuffle, or write it "
            "anew without",
            path, hr_compression_name(file->index->compression));
        hr_error_file(err, path);
        return HR_INVALID_ARGUMENT;
    }
    return hr_input_open_with(path, &opts, &file->in, err);
}

static hr_status shuffled_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const shuffled_spec *sp = spec;
    shuffled_state *st = state;
    int64_t bytes = 0;
    HR_TRY(source_files_find(&st->files, "shuffled_records", sp->pattern, false, err));
    HR_TRY(open_indexes(sp, st, err));
    for (int64_t i = 0; i < st->files.list.count; i++) {
        HR_TRY(open_file(p, st->files.list.path[i], &st->file[i], err));
        st->file[i].first = st->records;
        st->records += hr_record_index_count(st->file[i].index);
        bytes += hr_record_index_bytes(st->file[i].index);
    }
    st->list = st->files.identity;
    st->key = hr_plan_key(p, sp->seed, sp->same_each_epoch);
    st->average = st->records ? bytes / st->records + 1 : 1;
    return HR_OK;
}

static void shuffled_close(void *state)
{
    shuffled_state *st = state;
    for (int64_t i = 0; st->file && i < st->files.list.count; i++) {
        hr_record_index_free(st->file[i].index);
        hr_input_free(st->file[i].in);
    }
    hr_free(st->file);
    hr_file_list_clear(&st->files.list);
}

static hr_status shuffled_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const shuffled_state *st = state;
    const int64_t files = st->files.list.count;
    int64_t records = 0;
    if (files > 0) records = st->file[files - 1].first + hr_record_index_count(st->file[files - 1].index);
    HR_TRY(
        source_files_check(&st->files, "shuffled_records", ((const shuffled_spec *)spec)->pattern, st->list, 0, err));
    if (st->records == records && st->drawn >= 0 && st->drawn <= records) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "state.files",
                   "shuffled_records: expected the %" PRId64 " records of the saved state's files, got %" PRId64,
                   st->records, records);
}

/* ---- plan ---- */

static int64_t most_rows(const shuffled_state *st, const hr_plan *p)
{
    const int64_t by_size = (int64_t)hr_unit_size(p) / st->average + 1, left = st->records - st->drawn;
    const int64_t most = hr_room(p) < by_size ? hr_room(p) : by_size;
    return most < left ? most : left;
}

static hr_status shuffled_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    shuffled_state *st = state;
    const int64_t count = most_rows(st, p);
    if (count == 0) return HR_END;
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "shuffled_records: a unit of records");
    hr_view *view = rows->column[0].values;
    for (int64_t i = 0; i < count; i++) view[i] = (hr_view){"", 0};
    rows->rows = count;
    *(shuffled_unit *)hr_unit(p) = (shuffled_unit){st, st->drawn};
    st->drawn += count;
    return HR_OK;
}

/* ---- work: finding a record ---- */

enum { BLOCK = 16 * 1024 };

/* The piece of a file that was read last: headers are looked for in it. */
typedef struct block {
    const indexed_file *file;
    int64_t offset;
    size_t size;
    char bytes[BLOCK];
} block;

static bool holds(const block *b, const indexed_file *file, int64_t offset, size_t size)
{
    return b->file == file && offset >= b->offset && offset + (int64_t)size <= b->offset + (int64_t)b->size;
}

static hr_status tell_misread(const indexed_file *file, hr__record_place at, hr_work *w)
{
    hr_work_count(w, "shuffled_records: records that were right only when they were read again", 1);
    hr__tell_misread(file->path, at.offset);
    return HR_OK;
}

static hr_status find_length_in(block *b, const indexed_file *file, hr__record_place at, uint64_t *length,
                                hr_error *err)
{
    if (!holds(b, file, at.offset, HR__RECORD_HEADER)) {
        b->file = NULL;
        HR_TRY(hr__input_read_at(file->in, at.offset, b->bytes, BLOCK, &b->size, err));
        b->file = file;
        b->offset = at.offset;
    }
    const char *header = b->bytes + (at.offset - b->offset);
    if (!holds(b, file, at.offset, HR__RECORD_HEADER)) return hr__record_fail_truncated(at, NULL, b->size, err);
    if (!hr__record_length(header, length)) return hr__record_fail_length_crc(at, header, err);
    return *length > HR__RECORD_LIMIT ? hr__record_fail_limit(at, *length, HR__RECORD_LIMIT, err) : HR_OK;
}

/* A header that seems to be damaged is read once more. */
static hr_status find_length(block *b, const indexed_file *file, hr__record_place at, uint64_t *length, hr_work *w,
                             hr_error *err)
{
    hr_error wrong, again;
    hr_status st = find_length_in(b, file, at, length, &wrong);
    if (st != HR_OK && hr__may_be_misread(&wrong)) {
        b->file = NULL;
        if (find_length_in(b, file, at, length, &again) == HR_OK) return tell_misread(file, at, w);
    }
    if (st != HR_OK && err) *err = wrong;
    return st;
}

static hr_status read_data(const block *b, const indexed_file *file, hr__record_place at, size_t size, char *to,
                           hr_error *err)
{
    const int64_t from = at.offset + HR__RECORD_HEADER;
    size_t got = size;
    if (holds(b, file, from, size))
        memcpy(to, b->bytes + (from - b->offset), size);
    else
        HR_TRY(hr__input_read_at(file->in, from, to, size, &got, err));
    if (got < size) return hr__record_fail_truncated(at, NULL, got + HR__RECORD_HEADER, err);
    const size_t length = size - HR__RECORD_FOOTER;
    return hr__record_sound(to, length) ? HR_OK : hr__record_fail_data_crc(at, to, length, err);
}

/* The record at `at`, into memory of its row. */
static hr_status read_at(const indexed_file *file, hr__record_place at, uint64_t length, block *b, hr_work *w,
                         hr_columns *rows, hr_view *record, hr_error *err)
{
    const size_t size = (size_t)length + HR__RECORD_FRAME;
    char *frame = hr_row_bytes(w, rows, size);
    if (!frame) return hr_no_memory(err, "shuffled_records: a record");
    *record = (hr_view){frame + HR__RECORD_HEADER, (int64_t)length};
    hr_error wrong;
    const hr_status st = read_data(b, file, at, size - HR__RECORD_HEADER, frame + HR__RECORD_HEADER, &wrong);
    if (st != HR_OK && hr__may_be_misread(&wrong) &&
        hr__frame_read_again(file->path, HR_NONE, at.offset, frame, size)) {
        return tell_misread(file, at, w);
    }
    if (st != HR_OK && err) *err = wrong;
    return st;
}

/* Record `record` of all, into its row. */
static hr_status read_record(const indexed_file *file, int64_t record, int64_t row, block *b, hr_work *w,
                             hr_columns *rows, hr_error *err)
{
    uint64_t length = 0;
    const int64_t wanted = record - file->first;
    hr__record_place at = {file->path, 0, 0};
    at.offset = hr__record_index_near(file->index, wanted, &at.record);
    for (;; at.record++, at.offset += (int64_t)length + HR__RECORD_FRAME) {
        HR_TRY(find_length(b, file, at, &length, w, err));
        if (at.record == wanted) break;
    }
    rows->origin[row] = (hr_origin){file->number, at.offset};
    return read_at(file, at, length, b, w, rows, &((hr_view *)rows->column[0].values)[row], err);
}

/* ---- work: a unit ---- */

typedef struct draw {
    int64_t record, row;
} draw;

static int by_record(const void *a, const void *b)
{
    const int64_t x = ((const draw *)a)->record, y = ((const draw *)b)->record;
    return (x > y) - (x < y);
}

static void draw_all(const shuffled_unit *unit, draw *d, int64_t count)
{
    const permutation order = permutation_of(unit->of->key, unit->of->records);
    for (int64_t i = 0; i < count; i++) d[i] = (draw){permutation_at(&order, unit->first + i), i};
    qsort(d, (size_t)count, sizeof *d, by_record);
}

static hr_status shuffled_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec;
    const shuffled_unit *unit = unit_;
    const int64_t count = rows->rows;
    draw *d = hr_scratch(w, (size_t)count * sizeof *d + sizeof(block));
    if (!d) return hr_no_memory(err, "shuffled_records: a unit's draws");
    block *b = (block *)(void *)(d + count);
    b->file = NULL;
    draw_all(unit, d, count);
    const indexed_file *file = unit->of->file;
    for (int64_t i = 0; i < count; i++) {
        hr_error bad;
        while (d[i].record >= file->first + hr_record_index_count(file->index)) file++;
        if (d[i].row >= rows->rows) continue;
        if (read_record(file, d[i].record, d[i].row, b, w, rows, &bad) != HR_OK) hr_fail_at(w, rows, d[i].row, &bad);
    }
    return HR_OK;
}

static hr_op_files shuffled_files(const void *spec)
{
    const shuffled_spec *sp = spec;
    return source_files_of(sp->pattern, false);
}

static void shuffled_identity(const void *spec, uint64_t *sum)
{
    const shuffled_spec *sp = spec;
    hr_identify_i64(sum, (int64_t)sp->seed);
    hr_identify_i64(sum, sp->same_each_epoch);
}

static void shuffled_describe(const void *spec, hr_description *to)
{
    const shuffled_spec *sp = spec;
    hr_describe_text(to, NULL, sp->pattern);
    hr_describe_seed(to, sp->seed, sp->same_each_epoch);
}

const hr_op hr_op_shuffled_records = {
    .head = HR_OP_HEAD,
    .name = "shuffled_records",
    .spec_size = sizeof(shuffled_spec),
    .state_size = sizeof(shuffled_state),
    .unit_size = sizeof(shuffled_unit),
    .saved = 3, /* list, records, drawn */
    .spec_copy = shuffled_spec_copy,
    .spec_free = shuffled_spec_free,
    .check = shuffled_check,
    .open = shuffled_open,
    .plan = shuffled_plan,
    .work = shuffled_work,
    .load = shuffled_load,
    .close = shuffled_close,
    .identity = shuffled_identity,
    .files = shuffled_files,
    .describe = shuffled_describe,
};

hr_dataset *hr_shuffled_records_with(const char *pattern, const hr_shuffled_records_opts *opts)
{
    const hr_shuffled_records_opts o = HR__OPTIONS(hr_shuffled_records_opts, opts);
    const shuffled_spec spec = {pattern, o.seed, o.same_each_epoch, o.keep_index};
    return hr_dataset_new(&hr_op_shuffled_records, &spec, NULL, 0);
}
