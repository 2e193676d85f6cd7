/* shuffled_records: all records of TFRecord files in one random order, without a buffer: a permutation of their numbers
 * that is computed, not kept. So any record may come next to any other, and where it stands is one number. Of several
 * ranks each takes its draws out of rounds of as many.
 *
 * plan only counts draws. work finds the records of its unit by the files' indexes, which know where each begins, and
 * reads them in the order of their places; each goes to the row that drew it. */
#include "data/permutation.h"
#include "data/sources/shares.h"
#include "data/sources/source_files.h"
#include "io/file_system.h"
#include "io/framing.h"
#include "io/input.h"
#include "io/record/reread.h"
#include "io/record/record_index.h"
#include <headrace/data.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

typedef struct shuffled_spec {
    const char *pattern;
    uint64_t seed;
    bool same_each_epoch, keep_index;
    int64_t num_shards, index;
    hr_uneven uneven;
    int64_t begin; /* draws before the first one that is given */
} shuffled_spec;

/* One file, open as long as the iterator's run. */
typedef struct indexed_file {
    const char *path;
    int64_t first; /* number of its first record, over all files */
    hr_record_index *index;
    hr_input *in;   /* of a plain one, which all threads may read at once */
    int32_t number; /* its, for the rows' origin */
} indexed_file;

/* The indexes of the files as the first epoch found them, for all openings of the dataset. */
typedef struct known_indexes {
    uv_mutex_t lock;
    hr_record_index **index; /* NULL: none yet */
    int64_t files;
} known_indexes;

typedef struct shuffled_state {
    int64_t list, records,
        drawn; /* saved: which list of files; how many records they have; draws so far, of all ranks */
    uint64_t key;
    int64_t average; /* bytes a record */
    bool frames;     /* some file has to be decoded */
    source_files files;
    indexed_file *file;
    bool own; /* the indexes are this opening's: a file has changed since the first one */
} shuffled_state;

/* Immutable while work looks at it, and there as long as a unit is: the engine closes a stage when none is running. */
typedef struct shuffled_unit {
    const shuffled_state *of;
    int64_t first, step; /* number of the first draw; from one to the next */
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
    const shuffled_spec *sp = spec;
    if (!sp->pattern)
        return hr_fail(err, HR_INVALID_ARGUMENT, "source.pattern",
                       "shuffled_records: expected the name of a file or a pattern, got none that can be one");
    HR_TRY(hr__shares_check("shuffled_records", sp->num_shards, sp->index, sp->uneven, err));
    if (sp->begin < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shuffled_records.first",
                       "shuffled_records: expected .first of 0 or more, got %" PRId64, sp->begin);
    return hr_schema_set(out, &hr_string_schema, err);
}

/* ---- opening: the files and their indexes ---- */

static bool known_make(void *data) { return uv_mutex_init(&((known_indexes *)data)->lock) == 0; }

static void known_unmake(void *data)
{
    known_indexes *known = data;
    for (int64_t i = 0; i < known->files; i++) hr_record_index_free(known->index[i]);
    hr_free((void *)known->index);
    uv_mutex_destroy(&known->lock);
}

/* Gives *out, an index for each file. */
static hr_status make_indexes(const shuffled_spec *sp, const hr_file_list *files, hr_plan *p, hr_record_index ***out,
                              hr_error *err)
{
    const uint64_t from = uv_hrtime();
    bool made = false;
    const hr_record_index_opts opts = {.struct_size = sizeof opts, .keep = sp->keep_index, .every_record = true};
    hr_record_index **index = hr_calloc((size_t)files->count + 1, sizeof(hr_record_index *));
    if (!index) return hr_no_memory(err, "shuffled_records: the indexes");
    const hr_status st = hr_record_index_open_all(files, &opts, index, err);
    if (st != HR_OK) return hr_free((void *)index), st;
    for (int64_t i = 0; i < files->count && !made; i++) made = hr_record_index_was_made(index[i]);
    if (made) hr_plan_count(p, "index.made_us", (int64_t)(uv_hrtime() - from) / 1000);
    *out = index;
    return HR_OK;
}

/* The files are those that were indexed, by their names, sizes and times. */
static bool files_as_known(const known_indexes *known, const hr_file_list *files)
{
    bool same = known->files == files->count;
    for (int64_t i = 0; same && i < files->count; i++) {
        hr_file_about now;
        const hr_record_index *then = known->index[i];
        same = strcmp(files->path[i], then->path) == 0 && hr__path_about(then->path, &now) && now.size == then->size &&
               now.changed == then->changed;
    }
    return same;
}

/* An epoch looks the files' records up where the one before has, or passes over the files once more. */
static hr_status find_indexes(const shuffled_spec *sp, shuffled_state *st, known_indexes *known, hr_plan *p,
                              hr_error *err)
{
    hr_record_index **index = known->index;
    if (!index || !files_as_known(known, &st->files.list)) HR_TRY(make_indexes(sp, &st->files.list, p, &index, err));
    for (int64_t i = 0; i < st->files.list.count; i++) st->file[i].index = index[i];
    if (index == known->index) return HR_OK;
    st->own = known->index != NULL;
    if (st->own) hr_free((void *)index);
    if (!st->own) {
        known->index = index;
        known->files = st->files.list.count;
    }
    return HR_OK;
}

static hr_status open_indexes(const shuffled_spec *sp, shuffled_state *st, hr_plan *p, hr_error *err)
{
    known_indexes *known = hr_plan_shared(p, NULL, sizeof *known, known_make, known_unmake);
    st->file = hr_calloc((size_t)st->files.list.count + 1, sizeof *st->file);
    if (!known || !st->file) return hr_no_memory(err, "shuffled_records: the indexes");
    uv_mutex_lock(&known->lock);
    const hr_status status = find_indexes(sp, st, known, p, err);
    uv_mutex_unlock(&known->lock);
    return status;
}

/* Going to a record of a stream takes decoding all that stands before it: not for each. */
static hr_status refuse_stream(const char *path, hr_compression compression, hr_error *err)
{
    hr_fail(err, HR_INVALID_ARGUMENT, "shuffled_records.compressed",
            "%s: expected an uncompressed file, or one of LZ4 or ZSTD frames of at most 8 MiB each, got %s, which "
            "cannot be read from any record on; use tfrecord and shuffle, or write it again",
            path, hr_compression_name(compression));
    hr_error_file(err, path);
    return HR_INVALID_ARGUMENT;
}

static hr_status shuffled_records_open_file(hr_plan *p, const char *path, indexed_file *file, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE, .wake = hr_plan_wake(p)};
    file->path = path;
    file->number = hr_file_number(p, path);
    if (file->number < 0) return hr_no_memory(err, "shuffled_records: a file's name");
    if (!hr__record_index_picks(file->index)) return refuse_stream(path, file->index->compression, err);
    return file->index->compression == HR_NONE ? hr_input_open_with(path, &opts, &file->in, err) : HR_OK;
}

/* Draws of this rank that are left. */
static int64_t left_of(const shuffled_spec *sp, const shuffled_state *st)
{
    const int64_t left = st->records > st->drawn ? st->records - st->drawn : 0;
    return left / sp->num_shards + (left % sp->num_shards > 0 && sp->uneven == HR_UNEVEN_PAD);
}

static hr_status check_shares(const shuffled_spec *sp, const shuffled_state *st, hr_error *err)
{
    const int64_t left = left_of(sp, st);
    HR_TRY(hr__shares_even("shuffled_records", st->records - st->drawn, sp->num_shards, sp->uneven, err));
    if (sp->num_shards > 1)
        hr_log_message(left > 0 ? HR_INFO : HR_WARNING,
                       "shuffled_records: shard %" PRId64 " of %" PRId64 " reads %" PRId64 " of %" PRId64 " records",
                       sp->index, sp->num_shards, left, st->records - st->drawn);
    return HR_OK;
}

static hr_status shuffled_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const shuffled_spec *sp = spec;
    shuffled_state *st = state;
    int64_t bytes = 0;
    HR_TRY(source_files_find(&st->files, "shuffled_records", sp->pattern, false, err));
    HR_TRY(open_indexes(sp, st, p, err));
    for (int64_t i = 0; i < st->files.list.count; i++) {
        HR_TRY(shuffled_records_open_file(p, st->files.list.path[i], &st->file[i], err));
        st->file[i].first = st->records;
        st->records += hr_record_index_count(st->file[i].index);
        bytes += hr_record_index_bytes(st->file[i].index);
        st->frames |= !st->file[i].in;
    }
    st->list = st->files.identity;
    st->drawn = sp->begin;
    st->key = hr_plan_key(p, sp->seed, sp->same_each_epoch);
    st->average = st->records ? bytes / st->records + 1 : 1;
    return check_shares(sp, st, err);
}

static void shuffled_close(void *state)
{
    shuffled_state *st = state;
    for (int64_t i = 0; st->file && i < st->files.list.count; i++) {
        if (st->own) hr_record_index_free(st->file[i].index);
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
    if (st->records == records) return check_shares(spec, st, err);
    return hr_fail(err, HR_FAILED_PRECONDITION, "state.files",
                   "shuffled_records: expected the %" PRId64 " records of the saved state's files, got %" PRId64,
                   st->records, records);
}

/* ---- plan ---- */

enum { FRAMES_IN_UNIT = 16 }; /* times the records, where several may come of one frame */

static int64_t max_rows(const shuffled_spec *sp, const shuffled_state *st, const hr_plan *p)
{
    const int64_t size = (int64_t)hr_unit_size(p) * (st->frames ? FRAMES_IN_UNIT : 1);
    const int64_t by_size = size / st->average + 1, left = left_of(sp, st);
    const int64_t max = hr_room(p) < by_size ? hr_room(p) : by_size;
    return max < left ? max : left;
}

static hr_status shuffled_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const shuffled_spec *sp = spec;
    shuffled_state *st = state;
    const int64_t count = max_rows(sp, st, p);
    if (count == 0) return HR_END;
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "shuffled_records: a unit of records");
    hr_view *view = rows->column[0].values;
    for (int64_t i = 0; i < count; i++) view[i] = (hr_view){"", 0};
    rows->rows = count;
    *(shuffled_unit *)hr_unit(p) = (shuffled_unit){st, st->drawn + sp->index, sp->num_shards};
    st->drawn += count * sp->num_shards;
    return HR_OK;
}

/* ---- work ---- */

typedef struct draw {
    int64_t record, row, offset, size; /* of all files; offset and size of its frame */
} draw;

static int by_record(const void *a, const void *b)
{
    const int64_t x = ((const draw *)a)->record, y = ((const draw *)b)->record;
    return (x > y) - (x < y);
}

/* In the order of their places, so that neighbours, and those of one frame, are read together. */
static void draw_all(const shuffled_unit *unit, draw *d, int64_t count)
{
    const shuffled_state *st = unit->of;
    const permutation order = permutation_of(st->key, st->records);
    for (int64_t i = 0; i < count; i++)
        d[i] = (draw){.record = permutation_at(&order, (unit->first + i * unit->step) % st->records), .row = i};
    qsort(d, (size_t)count, sizeof *d, by_record);
}

/* Looks all of them up at once: each is a miss of the cache, and they need not wait for each other. Gives the bytes of
 * the frames, but for those that are too large. */
static size_t find_all(const indexed_file *file, draw *d, int64_t count)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        while (d[i].record >= file->first + hr_record_index_count(file->index)) file++;
        d[i].size = hr__record_index_frame(file->index, d[i].record - file->first, &d[i].offset);
        if (d[i].size <= (int64_t)HR__RECORD_LIMIT) bytes += (size_t)d[i].size;
    }
    return bytes;
}

/* A unit at work: its draws, in order, and space for the frames of those to come. */
typedef struct reading {
    const draw *at, *end;
    char *bytes;
    hr_work *w;
    hr_columns *rows;
} reading;

/* What seems to be damaged is read once more, from the file opened again. */
static hr_status shuffled_records_pick(hr_input *in, const indexed_file *file, const draw *d, char *frame, hr_work *w,
                                       hr_error *err)
{
    hr_error wrong;
    hr_input *again = NULL;
    const int64_t record = d->record - file->first;
    hr_status st = hr__record_pick(in, file->index, record, frame, &wrong);
    if (st != HR_OK && hr__may_be_misread(&wrong) &&
        hr__input_reopen(in, hr__input_has_places(in) ? d->offset : 0, &again, NULL) == HR_OK) {
        st = hr__record_pick(again, file->index, record, frame, NULL);
        if (st == HR_OK) {
            hr_work_count(w, "shuffled_records: records that were right only when re-read", 1);
            hr__report_misread(file->path, d->offset);
        }
    }
    hr_input_free(again);
    if (st != HR_OK && err) *err = wrong;
    return st == HR_OK ? HR_OK : wrong.code;
}

static hr_status shuffled_records_read_record(hr_input *in, const indexed_file *file, reading *r, hr_error *err)
{
    const draw *d = r->at;
    const int64_t record = d->record - file->first;
    r->rows->origin[d->row] = hr_origin_of(file->number, record, d->offset);
    if (d->size > (int64_t)HR__RECORD_LIMIT)
        return hr__record_fail_limit((hr__record_place){file->path, record, d->offset}, (uint64_t)d->size,
                                     HR__RECORD_LIMIT, err);
    char *frame = r->bytes;
    r->bytes += d->size;
    HR_TRY(shuffled_records_pick(in, file, d, frame, r->w, err));
    ((hr_view *)r->rows->column[0].values)[d->row] = (hr_view){frame + HR__RECORD_HEADER, d->size - HR__RECORD_FRAME};
    return HR_OK;
}

/* Those of one file. A decoder is one thread's, so each unit opens its own. */
static void read_from_file(const indexed_file *file, reading *r)
{
    hr_error bad;
    hr_input *own = NULL;
    const int64_t end = file->first + hr_record_index_count(file->index);
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = file->index->compression};
    const hr_status opened = file->in ? HR_OK : hr_input_open_with(file->path, &opts, &own, &bad);
    for (; r->at < r->end && r->at->record < end && !hr_work_cancelled(r->w); r->at++) {
        if (r->at->row >= r->rows->rows) continue; /* it was cut off */
        const hr_status st =
            opened == HR_OK ? shuffled_records_read_record(file->in ? file->in : own, file, r, &bad) : opened;
        if (st != HR_OK) hr_fail_at(r->w, r->rows, r->at->row, &bad);
    }
    hr_input_free(own);
}

static hr_status shuffled_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec;
    const shuffled_unit *unit = unit_;
    const int64_t count = rows->rows;
    draw *d = hr_scratch(w, (size_t)count * sizeof *d);
    if (!d) return hr_no_memory(err, "shuffled_records: a unit's draws");
    draw_all(unit, d, count);
    const indexed_file *file = unit->of->file;
    reading r = {.at = d, .end = d + count, .w = w, .rows = rows};
    r.bytes = hr_row_text(w, rows, find_all(file, d, count));
    if (!r.bytes) return hr_no_memory(err, "shuffled_records: a unit's records");
    for (; r.at < r.end && !hr_work_cancelled(w); file++)
        if (r.at->record < file->first + hr_record_index_count(file->index)) read_from_file(file, &r);
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
    hr_identify_i64(sum, sp->num_shards);
    hr_identify_i64(sum, sp->index);
    hr_identify_i64(sum, sp->uneven);
    hr_identify_i64(sum, sp->begin);
}

static void shuffled_describe(const void *spec, hr_description *to)
{
    const shuffled_spec *sp = spec;
    hr_describe_text(to, NULL, sp->pattern);
    hr_describe_seed(to, sp->seed, sp->same_each_epoch);
    if (sp->num_shards > 1) hr_describe_number(to, "num_shards", sp->num_shards);
    if (sp->num_shards > 1) hr_describe_number(to, "index", sp->index);
    hr_describe_option(to, "first", sp->begin);
}

const hr_op hr_op_shuffled_records = {
    .head = HR_OP_HEAD,
    .name = "shuffled_records",
    .spec_size = sizeof(shuffled_spec),
    .state_size = sizeof(shuffled_state),
    .unit_size = sizeof(shuffled_unit),
    .saved = 3, /* list, records, drawn */
    SOURCE_RANGES,
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
    const hr_shuffled_records_opts o = HR_OPTIONS(hr_shuffled_records_opts, opts);
    const shuffled_spec spec = {
        pattern, o.seed, o.same_each_epoch, o.keep_index, o.num_shards ? o.num_shards : 1, o.index, o.uneven, o.first};
    return hr_dataset_new(&hr_op_shuffled_records, &spec, NULL, 0);
}
