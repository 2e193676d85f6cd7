/* See records_ahead.h. */
#include "data/sources/records_ahead.h"
#include "io/compression.h"
#include "io/file_system.h"
#include "io/framing.h"
#include "io/input.h"
#include <headrace/data.h>
#include <string.h>

/* ---- a part, as a source of its own ---- */

typedef struct part_spec {
    record_source_spec how; /* `in_vain` is the operator's */
    const char *path;
    int32_t number;
    int64_t record, offset, end; /* the first record, where it or the search for it begins; 0: to the end of the file */
    bool whole, searched;
} part_spec;

typedef struct part_unit {
    int64_t first, zeros;
    record_file file;
} part_unit;

static hr_status part_spec_copy(void *spec, hr_error *err)
{
    part_spec *sp = spec;
    sp->path = hr_strdup(sp->path);
    return sp->path ? HR_OK : hr_no_memory(err, "a file's name");
}

static void part_spec_free(void *spec) { hr_free((char *)(uintptr_t)((part_spec *)spec)->path); }

static hr_status part_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)in;
    return hr_schema_set(out, &hr_string_schema, err);
}

static hr_status part_open_file(const part_spec *sp, record_source *at, hr_plan *p, hr_error *err)
{
    at->record = sp->record;
    at->offset = sp->offset;
    at->end = sp->end;
    HR_TRY(hr__record_source_open(at, &sp->how, sp->path, sp->number, hr_plan_wake(p), err));
    return sp->searched ? hr__record_source_search(at, &sp->how, err) : HR_OK;
}

static hr_status part_read(const part_spec *sp, record_source *at, hr_plan *p, hr_error *err)
{
    if (!at->in) HR_TRY(part_open_file(sp, at, p, err));
    if (at->end > 0 && at->offset >= at->end) return HR_END;
    const int64_t capacity = hr__record_source_capacity(at, &sp->how, p), first = at->record;
    hr_columns *rows = hr_unit_rows(p, capacity);
    if (!rows) return hr_no_memory(err, "tfrecord: a unit of records");
    hr_status st = sp->whole ? hr__record_source_read(at, &sp->how, p, capacity, rows, err)
                             : hr__record_source_read_sound(at, &sp->how, p, capacity, rows, err);
    const int64_t zeros = st == HR_OK && sp->whole ? hr__record_source_zeros(at) : 0;
    *(part_unit *)hr_unit(p) = (part_unit){first, zeros, hr__record_source_file(at, sp->path)};
    return st == HR_OK && rows->rows == 0 ? HR_END : st;
}

/* What is wrong with a part that is not whole is told by who reads it in turn. */
static hr_status part_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const part_spec *sp = spec;
    const hr_status st = part_read(sp, state, p, err);
    return st < 0 && !sp->whole && st != HR_RESOURCE_EXHAUSTED ? HR_END : st;
}

static hr_status part_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)err;
    const part_spec *sp = spec;
    const part_unit *unit = unit_;
    if (sp->whole)
        hr__record_source_check(&sp->how, &unit->file, unit->first, w, rows);
    else
        rows->rows = rows->elements = hr__record_source_sound(&sp->how, rows);
    if (unit->zeros > 0) hr_work_count(w, "tfrecord: zero bytes after a compressed stream", unit->zeros);
    return HR_OK;
}

static void part_close(void *state) { hr__record_source_close(state); }

static const hr_op part_op = {
    .head = HR_OP_HEAD,
    .name = "tfrecord_part",
    .spec_size = sizeof(part_spec),
    .state_size = sizeof(record_source),
    .unit_size = sizeof(part_unit),
    .spec_copy = part_spec_copy,
    .spec_free = part_spec_free,
    .check = part_check,
    .plan = part_plan,
    .work = part_work,
    .close = part_close,
};

/* ---- cutting files into parts ---- */

enum { PART_UNITS = 16, PART_WINDOW = 3 * PART_UNITS /* units are small at first */, MAX_WINDOW = 256 };

static int64_t part_size(const hr_plan *p) { return PART_UNITS * (int64_t)hr_unit_size(p); }

void hr__records_ahead_open(records_ahead *a, const hr_plan *p)
{
    enum { FIRST = 2 };
    const int threads = hr_plan_spare_threads(p, (size_t)part_size(p));
    a->most = threads == 0 ? 0 : threads + 1 < RECORDS_MAX_PARTS ? threads + 1 : RECORDS_MAX_PARTS;
    a->limit = a->most < FIRST ? a->most : FIRST;
}

static records_part *part_at(records_ahead *a, int i) { return &a->part[(a->first + i) % RECORDS_MAX_PARTS]; }

/* The size of a regular file of the machine; -1: it is none, or cannot be told. */
static int64_t size_of(const char *path)
{
    return hr__file_system_of(path) || hr_path_is_special(path) ? -1 : hr_path_size(path);
}

static bool is_plain(const char *path, const record_source_spec *how)
{
    hr_input *in;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = how->compression};
    if (how->compression == HR_NONE) return true;
    if (how->compression != HR_COMPRESSION_AUTO || hr_input_open_with(path, &opts, &in, NULL) != HR_OK) return false;
    const bool plain = hr__input_has_places(in);
    hr_input_free(in);
    return plain;
}

static bool is_called_compressed(const char *path, const record_source_spec *how)
{
    const hr_codec *codec;
    return hr__codec_for_writing(how->compression, path, &codec, NULL) == HR_OK && codec->id != HR_NONE;
}

/* The size of a file that is worth a stage of its own, whose opening takes about as long as to read or inflate so much;
 * else -1. Few threads gain nothing from plain files ahead: one that reads them is fast enough, and finds in its cache
 * what it has just read. */
static int64_t size_if_worth_it(const records_ahead *a, const record_source_spec *how, const hr_plan *p,
                                const char *path)
{
    enum { FEW_THREADS = 3, INFLATING = 16 };
    const bool compressed = is_called_compressed(path, how);
    const int64_t size = compressed || a->most > FEW_THREADS ? size_of(path) : -1;
    const int64_t least = (int64_t)hr_unit_size(p) / (compressed ? INFLATING : 1);
    return size >= least ? size : -1;
}

/* A whole file inflates to several times its size, in units of about hr_unit_size. */
static int64_t window_of(const records_part *part, int64_t size, const hr_plan *p)
{
    enum { FEWEST = 8, INFLATED = 8 };
    if (!part->whole) return PART_WINDOW;
    const int64_t units = size * INFLATED / (int64_t)hr_unit_size(p);
    return units < FEWEST ? FEWEST : units < MAX_WINDOW ? units : MAX_WINDOW;
}

static void read_ahead(records_ahead *a, const record_source_spec *how, hr_plan *p, const char *path, int64_t size,
                       records_part *part)
{
    part_spec spec = {.how = *how,
                      .path = path,
                      .number = hr_file_number(p, path),
                      .record = a->record < 0 ? 0 : a->record,
                      .offset = a->offset,
                      .end = part->end == INT64_MAX ? 0 : part->end,
                      .whole = part->whole,
                      .searched = a->record < 0};
    if (spec.number < 0) return;
    spec.how.count = INT64_MAX;
    spec.how.policy = NULL;
    hr_dataset *ds = hr_prefetch(hr_dataset_new(&part_op, &spec, NULL, 0), window_of(part, size, p));
    part->input = hr_input_open(p, ds, a->openings++);
    a->open++;
}

/* How much of a large plain file each part has; 0: the file is one. Its size is told once. */
static int64_t cut_of(records_ahead *a, const record_source_spec *how, const hr_plan *p, const char *path, int64_t size)
{
    const int64_t each = part_size(p);
    if (a->size == 0 && size > each && how->checks != HR_CHECKS_NONE && is_plain(path, how)) a->size = size;
    return a->size > 0 ? each : 0;
}

/* Adds the part that begins at the place reached, and goes to its end. A policy is for who reads in turn: what is wrong
 * with a whole file would be an error of its stage. */
static void add_part(records_ahead *a, const record_source_spec *how, hr_plan *p, const char *path)
{
    records_part *part = part_at(a, a->parts++);
    *part = (records_part){.input = -1, .file = a->file, .end = INT64_MAX, .whole = true};
    const int64_t size = size_if_worth_it(a, how, p, path);
    const int64_t each = size >= 0 ? cut_of(a, how, p, path, size) : 0;
    part->whole = each == 0;
    if (!part->whole && a->size - a->offset > 2 * each) part->end = a->offset + each;
    if (size >= 0 && !(part->whole && how->policy)) read_ahead(a, how, p, path, size, part);
    const bool ends = part->end == INT64_MAX;
    a->offset = ends ? 0 : part->end;
    a->record = ends ? 0 : -1;
    a->size = ends ? 0 : a->size;
    a->file += ends;
}

static void close_part(records_ahead *a, hr_plan *p, records_part *part)
{
    if (part->input < 0) return;
    hr_input_close(p, part->input);
    part->input = -1;
    a->open--;
}

static void drop_first(records_ahead *a, hr_plan *p)
{
    close_part(a, p, part_at(a, 0));
    a->first = (a->first + 1) % RECORDS_MAX_PARTS;
    a->parts--;
}

void hr__records_ahead_close(records_ahead *a, hr_plan *p)
{
    while (a->parts > 0) drop_first(a, p);
}

/* The first part is the one in which the next record begins. Gives whether it was another one. */
static bool bring_to_place(records_ahead *a, const record_source_spec *how, hr_plan *p, const hr_file_list *list,
                           int64_t file, const record_source *at)
{
    const int parts = a->parts;
    while (a->parts > 0 && (part_at(a, 0)->file < file || part_at(a, 0)->end <= at->offset)) drop_first(a, p);
    const bool was_other = a->parts < parts;
    if (a->parts == 0) {
        a->file = file;
        a->offset = at->offset;
        a->record = at->record;
        a->size = 0;
    }
    while (a->open < a->limit && a->parts < RECORDS_MAX_PARTS && a->file < list->count)
        add_part(a, how, p, list->path[a->file]);
    return was_other;
}

/* ---- taking records ---- */

/* These rows begin where `at` stands. */
static bool is_next(const record_source *at, hr_span span) { return span.in->origin[span.first].offset == at->offset; }

static void pass(record_source *at, hr_span span)
{
    const int64_t last = span.first + span.count - 1;
    const int64_t end =
        span.in->origin[last].offset + HR__RECORD_FRAME + ((const hr_view *)span.in->column[0].values)[last].size;
    at->record += span.count;
    at->seen += span.count;
    at->offset = end;
}

/* A part has no more. That of a plain file ends with it, or damage has ended it. */
static records_answer end_part(records_ahead *a, hr_plan *p, records_part *part, const char *path,
                               const record_source *at)
{
    if (hr_plan_failed(p)) return RECORDS_FAIL;
    close_part(a, p, part);
    if (part->whole) return RECORDS_END;
    if (part->end < INT64_MAX) return RECORDS_PART; /* if it should have had more, they are read in turn now */
    return size_of(path) == at->offset ? RECORDS_END : RECORDS_IN_TURN;
}

records_answer hr__records_ahead_pull(records_ahead *a, const record_source_spec *how, hr_plan *p,
                                      const hr_file_list *list, int64_t file, record_source *at, int64_t at_most,
                                      hr_span *out)
{
    const bool was_other = bring_to_place(a, how, p, list, file, at);
    records_part *part = part_at(a, 0);
    if (hr_plan_failed(p)) return RECORDS_FAIL;
    if (was_other) return RECORDS_PART;
    if (part->input < 0) return RECORDS_IN_TURN;
    const hr_status st = hr_pull(p, part->input, at_most, out);
    if (st == HR_WAIT) {
        a->limit += a->limit < a->most;
        return RECORDS_ARE_LATE;
    }
    if (st == HR_END) return end_part(a, p, part, list->path[file], at);
    if (is_next(at, *out)) return pass(at, *out), RECORDS_COME;
    hr_span_drop(*out);
    close_part(a, p, part);
    return RECORDS_IN_TURN;
}
