#include "data/rows/cached_rows.h"
#include "data/dataset.h"
#include "io/input.h"
#include "io/sys.h"
#include <inttypes.h>
#include <string.h>

bool hr__cached_open(hr__cached_rows *cached) { return uv_mutex_init(&cached->lock) == 0; }

static void cached_rows_clear(hr__cached_rows *cached)
{
    hr__rows_writer_discard(cached->writer);
    hr_input_free(cached->in);
    hr__rows_head_clear(&cached->head);
    hr__row_layouts_clear(&cached->forms);
    hr_free(cached->used);
    cached->writer = NULL;
    cached->in = NULL;
    cached->used = NULL;
    cached->used_capacity = 0;
    cached->capacity = cached->waiting = 0;
    cached->size = 0;
    cached->ended = false;
}

void hr__cached_close(hr__cached_rows *cached)
{
    cached_rows_clear(cached);
    hr_free(cached->path);
    uv_mutex_destroy(&cached->lock);
}

static hr_status cached_rows_refuse(const hr__cached_rows *cached, const char *kind, const char *why, const char *what,
                                    hr_error *err)
{
    hr_fail(err, HR_FAILED_PRECONDITION, kind, "cache: %s was written %s%.200s; remove it, or give another name",
            cached->path, why, what);
    hr_error_file(err, cached->path);
    return HR_FAILED_PRECONDITION;
}

static hr_status cached_rows_set(hr__cached_rows *cached, hr_plan *p, const char *path, bool anew, size_t limit,
                                 hr_error *err)
{
    const uint64_t pipeline = hr_plan_identity(p);
    if (cached->is_set && cached->pipeline != pipeline)
        return cached_rows_refuse(cached, "cache.other_pipeline", "by another pipeline", "", err);
    if (cached->is_set) return HR_OK;
    if (path && !(cached->path = hr_strdup(path))) return hr_no_memory(err, "the name of a file");
    cached->limit = limit;
    cached->anew = anew;
    cached->pipeline = pipeline;
    cached->is_set = true;
    return HR_OK;
}

hr_status hr__cached_set(hr__cached_rows *cached, hr_plan *p, const char *path, bool anew, size_t limit, hr_error *err)
{
    uv_mutex_lock(&cached->lock);
    const hr_status st = cached_rows_set(cached, p, path, anew, limit, err);
    uv_mutex_unlock(&cached->lock);
    return st;
}

/* ---- an existing file ---- */

/* A source file that is gone is not an error: a file of rows makes it unnecessary. */
static hr_status check_sources(const hr__cached_rows *cached, hr_plan *p, hr_error *err)
{
    for (int64_t i = 0; i < cached->head.sources; i++) {
        const hr__source *then = &cached->head.source[i];
        const int32_t number = hr_file_number(p, then->name);
        if (number < 0) return hr_no_memory(err, "a cache");
        const hr_known_file now = hr_file_at(p, number);
        if (now.size >= 0 && (now.size != then->size || now.mtime != then->mtime))
            return cached_rows_refuse(cached, "cache.source_changed", "before this file changed: ", then->name, err);
    }
    return HR_OK;
}

/* HR_NOT_FOUND: there is no file yet. */
static hr_status use_file(hr__cached_rows *cached, hr_plan *p, hr_error *err)
{
    HR_TRY(hr__rows_file_open(cached->path, &cached->in, &cached->head, err));
    if (cached->head.pipeline != cached->pipeline || !hr_schema_equal(&cached->head.schema, hr_plan_schema(p)))
        return cached_rows_refuse(cached, "cache.other_pipeline", "by another pipeline", "", err);
    HR_TRY(check_sources(cached, p, err));
    cached->ended = true;
    return HR_OK;
}

static hr_status load_file(hr__cached_rows *cached, hr_plan *p, hr_error *err)
{
    if (cached->ended) return HR_OK;
    HR_TRY(hr__rows_file_open(cached->path, &cached->in, &cached->head, err));
    cached->ended = true;
    if (hr_schema_equal(&cached->head.schema, hr_plan_schema(p))) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "load.changed",
                   "load: %s has other components than when the dataset was made; make the dataset again",
                   cached->path);
}

hr_status hr__cached_load(hr__cached_rows *cached, hr_plan *p, hr_error *err)
{
    uv_mutex_lock(&cached->lock);
    const hr_status st = load_file(cached, p, err);
    if (st != HR_OK) cached_rows_clear(cached);
    uv_mutex_unlock(&cached->lock);
    return st;
}

/* ---- what comes next; who fills ---- */

static hr_status open_writer(hr__cached_rows *cached, hr_error *err)
{
    HR_TRY(hr_make_folders_above(cached->path, err));
    return hr__rows_writer_open(cached->path, &cached->writer, err);
}

/* A file is filled from the start again; in memory, filling continues after the pieces that are there. */
static hr_status begin_filling(hr__cached_rows *cached, hr_error *err)
{
    if (cached->path) {
        cached_rows_clear(cached);
        HR_TRY(open_writer(cached, err));
    }
    cached->head.pipeline = cached->pipeline;
    cached->filling = true;
    return HR_OK;
}

static hr__cached_next next_at(const hr__cached_rows *cached, hr__cached_place *at, hr__piece *piece)
{
    const hr__rows_head *head = &cached->head;
    const bool file = cached->path != NULL;
    if (!file || cached->in) {
        for (; at->piece < head->pieces && (cached->in || head->piece[at->piece].there); at->piece++) {
            *piece = head->piece[at->piece];
            if (at->given < at->before + piece->elements) return HR__CACHED_TAKE;
            at->before += piece->elements;
        }
        if (at->piece == head->pieces && cached->ended) return HR__CACHED_END;
    }
    if (cached->filling || cached->waiting > 0) return HR__CACHED_WAIT;
    return at->given == at->before ? HR__CACHED_FILL : HR__CACHED_PASS;
}

static hr_status find_next(hr__cached_rows *cached, hr_plan *p, hr__cached_place *at, hr__cached_next *next,
                           hr__piece *piece, hr_error *err)
{
    if (cached->path && !cached->in && !cached->filling && !cached->anew && !cached->error.code) {
        cached_rows_clear(cached);
        const hr_status st = use_file(cached, p, err);
        if (st != HR_OK) cached_rows_clear(cached);
        if (st != HR_OK && st != HR_NOT_FOUND) return st;
    }
    *next = next_at(cached, at, piece);
    if (*next != HR__CACHED_TAKE && cached->error.code) {
        *err = cached->error;
        return cached->error.code;
    }
    if (*next == HR__CACHED_FILL && hr_plan_await_turn(p)) *next = HR__CACHED_LATER;
    return *next == HR__CACHED_FILL ? begin_filling(cached, err) : HR_OK;
}

hr_status hr__cached_find(hr__cached_rows *cached, hr_plan *p, hr__cached_place *at, hr__cached_next *next,
                          hr__piece *piece, hr_error *err)
{
    uv_mutex_lock(&cached->lock);
    const hr_status st = find_next(cached, p, at, next, piece, err);
    uv_mutex_unlock(&cached->lock);
    return st;
}

/* Pieces without rows are at the end. */
static void drop_unfinished(hr__cached_rows *cached)
{
    hr__rows_head *head = &cached->head;
    int64_t there = 0;
    while (there < head->pieces && head->piece[there].there) there++;
    while (head->pieces > there) {
        hr__piece *piece = &head->piece[--head->pieces];
        if (piece->there) cached->size -= piece->size;
        hr__piece_clear(piece);
    }
    cached->waiting = 0;
}

void hr__cached_leave(hr__cached_rows *cached)
{
    uv_mutex_lock(&cached->lock);
    cached->filling = false;
    if (cached->path && !cached->in) cached_rows_clear(cached);
    if (!cached->path && !cached->ended) drop_unfinished(cached);
    uv_mutex_unlock(&cached->lock);
}

/* ---- filling ---- */

static bool cached_rows_grow(hr__cached_rows *cached)
{
    if (cached->head.pieces < cached->capacity) return true;
    const int64_t capacity = cached->capacity ? 2 * cached->capacity : 64;
    hr__piece *grown = hr_realloc(cached->head.piece, (size_t)capacity * sizeof *grown);
    if (!grown) return false;
    cached->head.piece = grown;
    cached->capacity = capacity;
    return true;
}

int64_t hr__cached_begin(hr__cached_rows *cached)
{
    int64_t number = -1;
    uv_mutex_lock(&cached->lock);
    if (cached_rows_grow(cached)) {
        number = cached->head.pieces++;
        cached->head.piece[number] = (hr__piece){0};
        cached->waiting++;
    }
    uv_mutex_unlock(&cached->lock);
    return number;
}

static bool cached_rows_note_file(hr__cached_rows *cached, int32_t file)
{
    if (file >= cached->used_capacity) {
        const int32_t capacity = 2 * file + 16;
        bool *grown = hr_realloc(cached->used, (size_t)capacity * sizeof *grown);
        if (!grown) return false;
        memset(grown + cached->used_capacity, 0, (size_t)(capacity - cached->used_capacity) * sizeof *grown);
        cached->used = grown;
        cached->used_capacity = capacity;
    }
    return cached->used[file] = true;
}

static bool note_files(hr__cached_rows *cached, const hr_columns *rows)
{
    int32_t last = -1;
    bool done = true;
    for (int64_t r = 0; rows->origin && r < rows->rows && done; r++) {
        const int32_t file = rows->origin[r].file;
        if (file >= 0 && file != last) done = cached_rows_note_file(cached, file);
        last = file;
    }
    return done;
}

static hr_status cached_rows_add_to_memory(hr__cached_rows *cached, int64_t number, hr__piece *piece, hr_error *err)
{
    if (cached->limit != 0 && cached->size + piece->size > cached->limit)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "cache.limit",
                       "cache: the elements need more than the %zu bytes of .max_bytes; raise it, or give .file",
                       cached->limit);
    cached->head.piece[number] = *piece;
    cached->head.piece[number].there = true;
    cached->size += piece->size;
    *piece = (hr__piece){0};
    return HR_OK;
}

static hr_status cached_rows_add_to_file(hr__cached_rows *cached, int64_t number, hr__piece *piece, const char *stored,
                                         const hr_columns *rows, hr_error *err)
{
    if (!note_files(cached, rows)) return hr_no_memory(err, "a cache");
    HR_TRY(hr__rows_writer_add(cached->writer, stored, piece, err));
    cached->head.piece[number] = *piece;
    cached->head.piece[number].packed = (hr__packed){0};
    cached->head.piece[number].there = true;
    piece->first_row = NULL;
    return HR_OK;
}

/* Source files without cached rows are left out. */
static void drop_unused_sources(hr__cached_rows *cached)
{
    int64_t left = 0;
    for (int64_t i = 0; i < cached->head.sources; i++) {
        hr__source *s = &cached->head.source[i];
        if (i < cached->used_capacity && cached->used[i])
            cached->head.source[left++] = *s;
        else
            hr_free(s->name);
    }
    cached->head.sources = left;
}

static hr_status cached_rows_fail(hr__cached_rows *cached, hr_status st, const hr_error *err)
{
    if (st != HR_OK && !cached->error.code) cached->error = *err;
    return st;
}

/* Once all pieces have their rows, the file gets its name. */
static hr_status cached_rows_finish(hr__cached_rows *cached, const hr_schema *schema, hr_error *err)
{
    if (!cached->writer || !cached->ended || cached->waiting > 0 || cached->error.code) return HR_OK;
    hr__rows_head head;
    drop_unused_sources(cached);
    head = cached->head;
    head.schema = *schema;
    hr__rows_writer *writer = cached->writer;
    cached->writer = NULL;
    return cached_rows_fail(cached, hr__rows_writer_commit(writer, &head, &cached->in, err), err);
}

hr_status hr__cached_put(hr__cached_rows *cached, int64_t number, const hr_columns *rows, hr_error *err)
{
    hr__piece piece = {0};
    char *stored;
    hr_status st = hr__cached_make_piece(cached, rows, &piece, &stored, err);
    uv_mutex_lock(&cached->lock);
    if (st == HR_OK && cached->path)
        st = cached_rows_add_to_file(cached, number, &piece, stored, rows, err);
    else if (st == HR_OK)
        st = cached_rows_add_to_memory(cached, number, &piece, err);
    cached_rows_fail(cached, st, err);
    cached->waiting--;
    if (st == HR_OK) st = cached_rows_finish(cached, rows->schema, err);
    uv_mutex_unlock(&cached->lock);
    if (stored != piece.packed.bytes) hr_free(stored);
    hr__piece_clear(&piece);
    return st;
}

/* All files that the iterator knows; drop_unused_sources leaves out the unused ones when the last piece is there. */
static hr_status note_sources(hr__cached_rows *cached, hr_plan *p, hr_error *err)
{
    const int32_t files = hr_files_known(p);
    cached->head.source = hr_calloc((size_t)files + 1, sizeof *cached->head.source);
    if (!cached->head.source) return hr_no_memory(err, "a cache");
    for (; cached->head.sources < files; cached->head.sources++) {
        const hr_known_file file = hr_file_at(p, (int32_t)cached->head.sources);
        char *name = hr_strdup(file.name);
        if (!name) return hr_no_memory(err, "a cache");
        cached->head.source[cached->head.sources] = (hr__source){name, file.size, file.mtime};
    }
    return HR_OK;
}

hr_status hr__cached_end(hr__cached_rows *cached, hr_plan *p, hr_error *err)
{
    uv_mutex_lock(&cached->lock);
    hr_status st = cached->path ? note_sources(cached, p, err) : HR_OK;
    cached->ended = true;
    cached_rows_fail(cached, st, err);
    if (st == HR_OK) st = cached_rows_finish(cached, hr_plan_schema(p), err);
    uv_mutex_unlock(&cached->lock);
    return st;
}

/* ---- reading ---- */

/* plan needs only the number of elements and of their rows; work fills in the values. */
static bool announce_packed(const hr__piece *piece, int64_t first, int64_t count, hr_plan *p)
{
    const int64_t capacity = piece->first_row ? piece->first_row[first + count] - piece->first_row[first] : count;
    hr_columns *rows = hr_unit_rows(p, capacity);
    if (!rows) return false;
    rows->elements = count;
    rows->rows = capacity;
    if (piece->packed.size == 0 || !piece->packed.origin) rows->origin = NULL;
    if (!piece->first_row) return true;
    rows->levels = 1;
    rows->splits[0] = piece->first_row + first;
    return true;
}

static bool announce(const hr__piece *piece, int64_t first, int64_t count, hr_plan *p)
{
    if (!piece->laid) return announce_packed(piece, first, count, p);
    return hr__unit_laid_rows(p, piece->form, piece->laid + (size_t)first * piece->form->size, count);
}

hr_status hr__cached_plan(hr__cached_rows *cached, hr__cached_place *at, const hr__piece *piece, hr_plan *p,
                          hr__cached_part *part, hr_error *err)
{
    const int64_t first = at->given - at->before, left = piece->elements - first;
    const bool apart =
        piece->laid || piece->packed.size > 0; /* a piece in a file is read as a whole, so it is a unit */
    const int64_t count = apart && hr_room(p) < left ? hr_room(p) : left;
    if (!announce(piece, first, count, p)) return hr_no_memory(err, "cached rows");
    *part = (hr__cached_part){cached, *piece, first};
    at->given += count;
    return HR_OK;
}

static hr_status cached_rows_read_piece(const hr__cached_rows *cached, const hr__piece *piece, hr_work *w,
                                        hr_columns *rows, hr__packed *out, hr_error *err)
{
    enum { ALIGN = 64 };
    const size_t columns = (size_t)rows->schema->fields * sizeof(hr__packed_column);
    hr__packed_column *column = hr_scratch(w, columns + piece->stored);
    char *bytes = hr_row_text(w, rows, piece->size + ALIGN); /* all but its strings is copied from there */
    if (bytes) bytes += -(uintptr_t)bytes % ALIGN;
    if (!column || !bytes) return hr_no_memory(err, "cached rows");
    HR_TRY(hr__rows_piece_read(cached->in, piece, (char *)column + columns, bytes, err));
    HR_TRY(hr__packed_open(bytes, piece->size, rows->schema, column, out, err));
    const bool fits = out->levels == rows->schema->levels && !out->origin; /* a file has no origins */
    if (fits && out->elements == piece->elements && out->rows == piece->rows) return HR_OK;
    return hr_fail(err, HR_DATA_LOSS, "rows.damaged", "%s: expected a piece of %" PRId64 " rows, got %" PRId64,
                   cached->path, piece->rows, out->rows);
}

hr_status hr__cached_work(const hr__cached_part *part, hr_work *w, hr_columns *rows, hr_error *err)
{
    const hr__piece *piece = &part->piece;
    hr__packed packed = piece->packed;
    if (piece->laid) return HR_OK; /* the unit borrows the rows */
    if (!packed.bytes) HR_TRY(cached_rows_read_piece(part->cached, piece, w, rows, &packed, err));
    rows->levels = packed.levels;
    return hr__packed_fill(&packed, part->first, w, rows, err);
}
