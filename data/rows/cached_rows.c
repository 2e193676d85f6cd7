#include "data/rows/cached_rows.h"
#include "data/dataset.h"
#include "io/input.h"
#include "io/sys.h"
#include <inttypes.h>
#include <string.h>

bool hr__kept_open(hr__kept *kept) { return uv_mutex_init(&kept->lock) == 0; }

static void kept_clear(hr__kept *kept)
{
    hr__rows_writer_discard(kept->writer);
    hr_input_free(kept->in);
    hr__rows_head_clear(&kept->head);
    hr__row_layouts_clear(&kept->forms);
    hr_free(kept->used);
    kept->writer = NULL;
    kept->in = NULL;
    kept->used = NULL;
    kept->used_room = 0;
    kept->room = kept->waiting = 0;
    kept->size = 0;
    kept->ended = false;
}

void hr__kept_close(hr__kept *kept)
{
    kept_clear(kept);
    hr_free(kept->path);
    uv_mutex_destroy(&kept->lock);
}

static hr_status kept_refuse(const hr__kept *kept, const char *kind, const char *why, const char *what, hr_error *err)
{
    hr_fail(err, HR_FAILED_PRECONDITION, kind, "cache: %s was kept %s%.200s; remove it, or give another name",
            kept->path, why, what);
    hr_error_file(err, kept->path);
    return HR_FAILED_PRECONDITION;
}

static hr_status kept_set(hr__kept *kept, hr_plan *p, const char *path, bool anew, size_t limit, hr_error *err)
{
    const uint64_t pipeline = hr_plan_identity(p);
    if (kept->is_set && kept->pipeline != pipeline)
        return kept_refuse(kept, "cache.other_pipeline", "by another pipeline", "", err);
    if (kept->is_set) return HR_OK;
    if (path && !(kept->path = hr_strdup(path))) return hr_no_memory(err, "the name of a file");
    kept->limit = limit;
    kept->anew = anew;
    kept->pipeline = pipeline;
    kept->is_set = true;
    return HR_OK;
}

hr_status hr__kept_set(hr__kept *kept, hr_plan *p, const char *path, bool anew, size_t limit, hr_error *err)
{
    uv_mutex_lock(&kept->lock);
    const hr_status st = kept_set(kept, p, path, anew, limit, err);
    uv_mutex_unlock(&kept->lock);
    return st;
}

/* ---- a file that is there already ---- */

/* A source that is gone cannot have changed: that it is no longer needed is what a file of rows is for. */
static hr_status check_sources(const hr__kept *kept, hr_plan *p, hr_error *err)
{
    for (int64_t i = 0; i < kept->head.sources; i++) {
        const hr__source *then = &kept->head.source[i];
        const int32_t number = hr_file_number(p, then->name);
        if (number < 0) return hr_no_memory(err, "a cache");
        const hr_known_file now = hr_file_at(p, number);
        if (now.size >= 0 && (now.size != then->size || now.mtime != then->mtime))
            return kept_refuse(kept, "cache.source_changed", "before this file changed: ", then->name, err);
    }
    return HR_OK;
}

/* HR_NOT_FOUND: there is none yet. */
static hr_status use_file(hr__kept *kept, hr_plan *p, hr_error *err)
{
    HR_TRY(hr__rows_file_open(kept->path, &kept->in, &kept->head, err));
    if (kept->head.pipeline != kept->pipeline || !hr_schema_equal(&kept->head.schema, hr_plan_schema(p)))
        return kept_refuse(kept, "cache.other_pipeline", "by another pipeline", "", err);
    HR_TRY(check_sources(kept, p, err));
    kept->ended = true;
    return HR_OK;
}

static hr_status load_file(hr__kept *kept, hr_plan *p, hr_error *err)
{
    if (kept->ended) return HR_OK;
    HR_TRY(hr__rows_file_open(kept->path, &kept->in, &kept->head, err));
    kept->ended = true;
    if (hr_schema_equal(&kept->head.schema, hr_plan_schema(p))) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "load.changed",
                   "load: %s has other components than when the dataset was made; make it anew", kept->path);
}

hr_status hr__kept_load(hr__kept *kept, hr_plan *p, hr_error *err)
{
    uv_mutex_lock(&kept->lock);
    const hr_status st = load_file(kept, p, err);
    if (st != HR_OK) kept_clear(kept);
    uv_mutex_unlock(&kept->lock);
    return st;
}

/* ---- what comes next; who fills ---- */

static hr_status open_writer(hr__kept *kept, hr_error *err)
{
    char *folder = hr__folder_of(kept->path);
    hr_status st = folder ? HR_OK : hr_no_memory(err, "a cache");
    if (folder && folder[0]) st = hr__make_folders(folder, err);
    hr_free(folder);
    return st == HR_OK ? hr__rows_writer_open(kept->path, &kept->writer, err) : st;
}

/* What the file has is of use only from its first piece on; what memory has is gone on with. */
static hr_status begin_filling(hr__kept *kept, hr_error *err)
{
    if (kept->path) {
        kept_clear(kept);
        HR_TRY(open_writer(kept, err));
    }
    kept->head.pipeline = kept->pipeline;
    kept->filling = true;
    return HR_OK;
}

static hr__kept_next next_at(const hr__kept *kept, hr__kept_place *at, hr__piece *piece)
{
    const hr__rows_head *head = &kept->head;
    const bool file = kept->path != NULL;
    if (!file || kept->in) {
        for (; at->piece < head->pieces && (kept->in || head->piece[at->piece].there); at->piece++) {
            *piece = head->piece[at->piece];
            if (at->given < at->before + piece->elements) return HR__KEPT_TAKE;
            at->before += piece->elements;
        }
        if (at->piece == head->pieces && kept->ended) return HR__KEPT_END;
    }
    if (kept->filling || kept->waiting > 0) return HR__KEPT_WAIT;
    return at->given == at->before ? HR__KEPT_FILL : HR__KEPT_PASS;
}

static hr_status find_next(hr__kept *kept, hr_plan *p, hr__kept_place *at, hr__kept_next *next, hr__piece *piece,
                           hr_error *err)
{
    if (kept->path && !kept->in && !kept->filling && !kept->anew && !kept->error.code) {
        kept_clear(kept);
        const hr_status st = use_file(kept, p, err);
        if (st != HR_OK) kept_clear(kept);
        if (st != HR_OK && st != HR_NOT_FOUND) return st;
    }
    *next = next_at(kept, at, piece);
    if (*next != HR__KEPT_TAKE && kept->error.code) {
        *err = kept->error;
        return kept->error.code;
    }
    if (*next == HR__KEPT_FILL && hr_plan_await_turn(p)) *next = HR__KEPT_LATER;
    return *next == HR__KEPT_FILL ? begin_filling(kept, err) : HR_OK;
}

hr_status hr__kept_find(hr__kept *kept, hr_plan *p, hr__kept_place *at, hr__kept_next *next, hr__piece *piece,
                        hr_error *err)
{
    uv_mutex_lock(&kept->lock);
    const hr_status st = find_next(kept, p, at, next, piece, err);
    uv_mutex_unlock(&kept->lock);
    return st;
}

/* Pieces whose rows never came are the last ones. */
static void drop_unfinished(hr__kept *kept)
{
    hr__rows_head *head = &kept->head;
    int64_t there = 0;
    while (there < head->pieces && head->piece[there].there) there++;
    while (head->pieces > there) {
        hr__piece *piece = &head->piece[--head->pieces];
        if (piece->there) kept->size -= piece->size;
        hr__piece_clear(piece);
    }
    kept->waiting = 0;
}

void hr__kept_leave(hr__kept *kept)
{
    uv_mutex_lock(&kept->lock);
    kept->filling = false;
    if (kept->path && !kept->in) kept_clear(kept);
    if (!kept->path && !kept->ended) drop_unfinished(kept);
    uv_mutex_unlock(&kept->lock);
}

/* ---- filling ---- */

static bool cached_rows_make_room(hr__kept *kept)
{
    if (kept->head.pieces < kept->room) return true;
    const int64_t room = kept->room ? 2 * kept->room : 64;
    hr__piece *grown = hr_realloc(kept->head.piece, (size_t)room * sizeof *grown);
    if (!grown) return false;
    kept->head.piece = grown;
    kept->room = room;
    return true;
}

int64_t hr__kept_begin(hr__kept *kept)
{
    int64_t number = -1;
    uv_mutex_lock(&kept->lock);
    if (cached_rows_make_room(kept)) {
        number = kept->head.pieces++;
        kept->head.piece[number] = (hr__piece){0};
        kept->waiting++;
    }
    uv_mutex_unlock(&kept->lock);
    return number;
}

static bool cached_rows_note_file(hr__kept *kept, int32_t file)
{
    if (file >= kept->used_room) {
        const int32_t room = 2 * file + 16;
        bool *grown = hr_realloc(kept->used, (size_t)room * sizeof *grown);
        if (!grown) return false;
        memset(grown + kept->used_room, 0, (size_t)(room - kept->used_room) * sizeof *grown);
        kept->used = grown;
        kept->used_room = room;
    }
    return kept->used[file] = true;
}

static bool note_files(hr__kept *kept, const hr_columns *rows)
{
    int32_t last = -1;
    bool done = true;
    for (int64_t r = 0; rows->origin && r < rows->rows && done; r++) {
        const int32_t file = rows->origin[r].file;
        if (file >= 0 && file != last) done = cached_rows_note_file(kept, file);
        last = file;
    }
    return done;
}

static hr_status keep_in_memory(hr__kept *kept, int64_t number, hr__piece *piece, hr_error *err)
{
    if (kept->limit != 0 && kept->size + piece->size > kept->limit)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "cache.limit",
                       "cache: the elements need more than the %zu bytes that .max_bytes allows; allow more, or keep "
                       "them in a file, .file",
                       kept->limit);
    kept->head.piece[number] = *piece;
    kept->head.piece[number].there = true;
    kept->size += piece->size;
    *piece = (hr__piece){0};
    return HR_OK;
}

static hr_status keep_in_file(hr__kept *kept, int64_t number, hr__piece *piece, const char *stored,
                              const hr_columns *rows, hr_error *err)
{
    if (!note_files(kept, rows)) return hr_no_memory(err, "a cache");
    HR_TRY(hr__rows_writer_add(kept->writer, stored, piece, err));
    kept->head.piece[number] = *piece;
    kept->head.piece[number].packed = (hr__packed){0};
    kept->head.piece[number].there = true;
    piece->first_row = NULL;
    return HR_OK;
}

/* Only files whose rows are kept remain. */
static void drop_unused_sources(hr__kept *kept)
{
    int64_t left = 0;
    for (int64_t i = 0; i < kept->head.sources; i++) {
        hr__source *s = &kept->head.source[i];
        if (i < kept->used_room && kept->used[i])
            kept->head.source[left++] = *s;
        else
            hr_free(s->name);
    }
    kept->head.sources = left;
}

static hr_status kept_fail(hr__kept *kept, hr_status st, const hr_error *err)
{
    if (st != HR_OK && !kept->error.code) kept->error = *err;
    return st;
}

/* All is there: the file gets its name. */
static hr_status cached_rows_finish(hr__kept *kept, const hr_schema *schema, hr_error *err)
{
    if (!kept->writer || !kept->ended || kept->waiting > 0 || kept->error.code) return HR_OK;
    hr__rows_head head;
    drop_unused_sources(kept);
    head = kept->head;
    head.schema = *schema;
    hr__rows_writer *writer = kept->writer;
    kept->writer = NULL;
    return kept_fail(kept, hr__rows_writer_commit(writer, &head, &kept->in, err), err);
}

hr_status hr__kept_put(hr__kept *kept, int64_t number, const hr_columns *rows, hr_error *err)
{
    hr__piece piece = {0};
    char *stored;
    hr_status st = hr__kept_make_piece(kept, rows, &piece, &stored, err);
    uv_mutex_lock(&kept->lock);
    if (st == HR_OK && kept->path)
        st = keep_in_file(kept, number, &piece, stored, rows, err);
    else if (st == HR_OK)
        st = keep_in_memory(kept, number, &piece, err);
    kept_fail(kept, st, err);
    kept->waiting--;
    if (st == HR_OK) st = cached_rows_finish(kept, rows->schema, err);
    uv_mutex_unlock(&kept->lock);
    if (stored != piece.packed.bytes) hr_free(stored);
    hr__piece_clear(&piece);
    return st;
}

/* Files by their numbers: which of them are used is known when the last piece is there. */
static hr_status note_sources(hr__kept *kept, hr_plan *p, hr_error *err)
{
    const int32_t files = hr_files_known(p);
    kept->head.source = hr_calloc((size_t)files + 1, sizeof *kept->head.source);
    if (!kept->head.source) return hr_no_memory(err, "a cache");
    for (; kept->head.sources < files; kept->head.sources++) {
        const hr_known_file file = hr_file_at(p, (int32_t)kept->head.sources);
        char *name = hr_strdup(file.name);
        if (!name) return hr_no_memory(err, "a cache");
        kept->head.source[kept->head.sources] = (hr__source){name, file.size, file.mtime};
    }
    return HR_OK;
}

hr_status hr__kept_end(hr__kept *kept, hr_plan *p, hr_error *err)
{
    uv_mutex_lock(&kept->lock);
    hr_status st = kept->path ? note_sources(kept, p, err) : HR_OK;
    kept->ended = true;
    kept_fail(kept, st, err);
    if (st == HR_OK) st = cached_rows_finish(kept, hr_plan_schema(p), err);
    uv_mutex_unlock(&kept->lock);
    return st;
}

/* ---- taking ---- */

/* No value is there before work: elements and their numbers of rows are enough for a plan. */
static bool announce_packed(const hr__piece *piece, int64_t first, int64_t count, hr_plan *p)
{
    const int64_t room = piece->first_row ? piece->first_row[first + count] - piece->first_row[first] : count;
    hr_columns *rows = hr_unit_rows(p, room);
    if (!rows) return false;
    rows->elements = count;
    rows->rows = room;
    if (piece->packed.size == 0 || !piece->packed.origin) rows->origin = NULL;
    if (!piece->first_row) return true;
    rows->levels = 1;
    rows->splits[0] = piece->first_row + first;
    return true;
}

static bool announce(const hr__piece *piece, int64_t first, int64_t count, hr_plan *p)
{
    if (!piece->record) return announce_packed(piece, first, count, p);
    return hr__unit_laid_rows(p, piece->form, piece->record + (size_t)first * piece->form->size, count);
}

hr_status hr__kept_plan(hr__kept *kept, hr__kept_place *at, const hr__piece *piece, hr_plan *p, hr__kept_part *part,
                        hr_error *err)
{
    const int64_t first = at->given - at->before, left = piece->elements - first;
    const bool apart =
        piece->record || piece->packed.size > 0; /* a piece in a file is read as a whole, so it is a unit */
    const int64_t count = apart && hr_room(p) < left ? hr_room(p) : left;
    if (!announce(piece, first, count, p)) return hr_no_memory(err, "cached rows");
    *part = (hr__kept_part){kept, *piece, first};
    at->given += count;
    return HR_OK;
}

static hr_status cached_rows_read_piece(const hr__kept *kept, const hr__piece *piece, hr_work *w, hr_columns *rows,
                                        hr__packed *out, hr_error *err)
{
    const size_t columns = (size_t)rows->schema->fields * sizeof(hr__packed_column);
    hr__packed_column *column = hr_scratch(w, columns + piece->stored);
    char *bytes = hr_row_bytes(w, rows, piece->size);
    if (!column || !bytes) return hr_no_memory(err, "cached rows");
    HR_TRY(hr__rows_piece_read(kept->in, piece, (char *)column + columns, bytes, err));
    HR_TRY(hr__packed_open(bytes, piece->size, rows->schema, column, out, err));
    const bool fits = out->levels == rows->schema->levels && !out->origin; /* a file keeps none */
    if (fits && out->elements == piece->elements && out->rows == piece->rows) return HR_OK;
    return hr_fail(err, HR_DATA_LOSS, "rows.damaged", "%s: expected a piece of %" PRId64 " rows, got %" PRId64,
                   kept->path, piece->rows, out->rows);
}

hr_status hr__kept_work(const hr__kept_part *part, hr_work *w, hr_columns *rows, hr_error *err)
{
    const hr__piece *piece = &part->piece;
    hr__packed packed = piece->packed;
    if (piece->record) return HR_OK; /* the rows themselves */
    if (!packed.bytes) HR_TRY(cached_rows_read_piece(part->kept, piece, w, rows, &packed, err));
    rows->levels = packed.levels;
    return hr__packed_fill(&packed, part->first, w, rows, err);
}
