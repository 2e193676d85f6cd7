#include "data/rows/cached_rows.h"
#include "data/dataset.h"
#include "io/input.h"
#include "io/sys.h"
#include <inttypes.h>
#include <string.h>

static const uint64_t LOOK_AGAIN_NS = 10000000; /* at the cancel flag, while pieces are on their way */

bool hr__kept_open(hr__kept *kept)
{
    if (uv_mutex_init(&kept->lock) != 0) return false;
    if (uv_cond_init(&kept->arrived) == 0) return true;
    uv_mutex_destroy(&kept->lock);
    return false;
}

static void throw_away(hr__kept *kept)
{
    hr__rows_writer_discard(kept->writer);
    hr_input_free(kept->in);
    hr__rows_head_clear(&kept->head);
    hr__record_forms_clear(&kept->forms);
    hr_free(kept->used);
    kept->writer = NULL;
    kept->in = NULL;
    kept->used = NULL;
    kept->used_room = 0;
    kept->room = kept->waiting = 0;
    kept->size = 0;
    kept->ended = kept->failed = false;
}

void hr__kept_close(hr__kept *kept)
{
    throw_away(kept);
    hr_free(kept->path);
    uv_cond_destroy(&kept->arrived);
    uv_mutex_destroy(&kept->lock);
}

hr_status hr__kept_set(hr__kept *kept, const char *path, bool anew, size_t limit, hr_error *err)
{
    uv_mutex_lock(&kept->lock);
    kept->limit = limit;
    kept->anew = anew;
    if (path && !kept->path) kept->path = hr_strdup(path);
    const bool done = !path || kept->path;
    uv_mutex_unlock(&kept->lock);
    return done ? HR_OK : hr_no_memory(err, "the name of a file");
}

/* ---- a file that is there already ---- */

static hr_status refuse(const hr__kept *kept, const char *kind, const char *why, const char *what, hr_error *err)
{
    hr_fail(err, HR_FAILED_PRECONDITION, kind, "cache: %s was kept %s%.200s; remove it, or give another name",
            kept->path, why, what);
    hr_error_file(err, kept->path);
    return HR_FAILED_PRECONDITION;
}

/* A source that is gone cannot have changed: that it is no longer needed is what a file of rows is for. */
static hr_status check_sources(const hr__kept *kept, hr_plan *p, hr_error *err)
{
    for (int64_t i = 0; i < kept->head.sources; i++) {
        const hr__source *then = &kept->head.source[i];
        const int32_t number = hr_file_number(p, then->name);
        if (number < 0) return hr_no_memory(err, "a cache");
        const hr_known_file now = hr_file_at(p, number);
        if (now.size >= 0 && (now.size != then->size || now.mtime != then->mtime))
            return refuse(kept, "cache.source_changed", "before this file changed: ", then->name, err);
    }
    return HR_OK;
}

static hr_status open_input(hr__kept *kept, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    return hr_input_open_with(kept->path, &opts, &kept->in, err);
}

/* HR_NOT_FOUND: there is none yet. */
static hr_status use_file(hr__kept *kept, hr_plan *p, hr_error *err)
{
    HR_TRY(hr__rows_head_read(kept->path, &kept->head, err));
    if (kept->head.pipeline != hr_plan_identity(p) || !hr__schema_equal(&kept->head.schema, hr_plan_schema(p)))
        return refuse(kept, "cache.other_pipeline", "by another pipeline", "", err);
    HR_TRY(check_sources(kept, p, err));
    HR_TRY(open_input(kept, err));
    kept->ended = true;
    return HR_OK;
}

static hr_status load_file(hr__kept *kept, hr_plan *p, hr_error *err)
{
    if (kept->ended) return HR_OK;
    HR_TRY(hr__rows_head_read(kept->path, &kept->head, err));
    HR_TRY(open_input(kept, err));
    kept->ended = true;
    if (hr__schema_equal(&kept->head.schema, hr_plan_schema(p))) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "load.changed",
                   "load: %s has other components than when the dataset was made; make it anew", kept->path);
}

hr_status hr__kept_load(hr__kept *kept, hr_plan *p, hr_error *err)
{
    uv_mutex_lock(&kept->lock);
    const hr_status st = load_file(kept, p, err);
    if (st != HR_OK) throw_away(kept);
    uv_mutex_unlock(&kept->lock);
    return st;
}

/* ---- entering, leaving ---- */

static bool is_whole(const hr__kept *kept) { return kept->ended && kept->waiting == 0 && !kept->failed; }

/* With the lock held, which is given up while it waits: whoever planned the last pieces works on them at this
 * moment. */
static void await_pieces(hr__kept *kept, const hr_plan *p)
{
    while (kept->ended && kept->waiting > 0 && !hr_plan_cancelled(p))
        uv_cond_timedwait(&kept->arrived, &kept->lock, LOOK_AGAIN_NS);
}

static hr_status open_writer(hr__kept *kept, hr_error *err)
{
    char *folder = hr__folder_of(kept->path);
    hr_status st = folder ? HR_OK : hr_no_memory(err, "a cache");
    if (folder && folder[0]) st = hr__make_folders(folder, err);
    hr_free(folder);
    return st == HR_OK ? hr__rows_writer_open(kept->path, &kept->writer, err) : st;
}

static hr_status begin_filling(hr__kept *kept, hr_plan *p, hr_error *err)
{
    throw_away(kept);
    kept->head.pipeline = hr_plan_identity(p);
    if (kept->path) HR_TRY(open_writer(kept, err));
    kept->filling = true;
    return HR_OK;
}

static hr_status enter(hr__kept *kept, hr_plan *p, bool can_fill, hr__kept_use *use, hr_error *err)
{
    *use = HR__KEPT_NEITHER;
    await_pieces(kept, p);
    if (!is_whole(kept) && !kept->filling && kept->path && !kept->anew) {
        throw_away(kept);
        const hr_status st = use_file(kept, p, err);
        if (st != HR_OK) throw_away(kept);
        if (st != HR_OK && st != HR_NOT_FOUND) return st;
    }
    if (is_whole(kept))
        *use = HR__KEPT_TAKE;
    else if (can_fill && !kept->filling)
        *use = HR__KEPT_FILL;
    return *use == HR__KEPT_FILL ? begin_filling(kept, p, err) : HR_OK;
}

hr_status hr__kept_enter(hr__kept *kept, hr_plan *p, bool can_fill, hr__kept_use *use, hr_error *err)
{
    uv_mutex_lock(&kept->lock);
    const hr_status st = enter(kept, p, can_fill, use, err);
    uv_mutex_unlock(&kept->lock);
    return st;
}

void hr__kept_leave(hr__kept *kept)
{
    uv_mutex_lock(&kept->lock);
    kept->filling = false;
    if (!is_whole(kept)) throw_away(kept);
    uv_mutex_unlock(&kept->lock);
}

/* ---- filling ---- */

static bool make_room(hr__kept *kept)
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
    if (make_room(kept)) {
        number = kept->head.pieces++;
        kept->head.piece[number] = (hr__piece){0};
        kept->waiting++;
    }
    uv_mutex_unlock(&kept->lock);
    return number;
}

static bool note_file(hr__kept *kept, int32_t file)
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
        if (file >= 0 && file != last) done = note_file(kept, file);
        last = file;
    }
    return done;
}

static hr_status keep_in_memory(hr__kept *kept, int64_t number, hr__piece *piece, hr_error *err)
{
    if (kept->limit != 0 && kept->size + piece->size > kept->limit)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "cache.limit",
                       "cache: the elements need more than the %zu bytes that .max_bytes allows; allow more, or keep "
                       "them in a file (.file)",
                       kept->limit);
    kept->head.piece[number] = *piece;
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

/* All is there: the file gets its name. */
static hr_status finish(hr__kept *kept, const hr_schema *schema, hr_error *err)
{
    if (!kept->writer || !is_whole(kept)) return HR_OK;
    hr__rows_head head;
    drop_unused_sources(kept);
    head = kept->head;
    head.schema = *schema;
    hr_status st = hr__rows_writer_commit(kept->writer, &head, err);
    kept->writer = NULL;
    if (st == HR_OK) st = open_input(kept, err);
    kept->failed = st != HR_OK;
    return st;
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
    kept->failed |= st != HR_OK;
    kept->waiting--;
    if (st == HR_OK) st = finish(kept, rows->schema, err);
    uv_cond_broadcast(&kept->arrived);
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
    kept->failed |= st != HR_OK;
    if (st == HR_OK) st = finish(kept, hr_plan_schema(p), err);
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
    return hr__unit_records(p, piece->form, piece->record + (size_t)first * piece->form->size, count);
}

hr_status hr__kept_plan(hr__kept *kept, hr__kept_place *at, hr_plan *p, hr__kept_part *part, hr_error *err)
{
    const hr__rows_head *head = &kept->head;
    while (at->piece < head->pieces && at->given >= at->before + head->piece[at->piece].elements)
        at->before += head->piece[at->piece++].elements;
    if (at->piece == head->pieces) return HR_END;

    const hr__piece *piece = &head->piece[at->piece];
    const int64_t first = at->given - at->before, left = piece->elements - first;
    const bool apart =
        piece->record || piece->packed.size > 0; /* a piece in a file is read as a whole, so it is a unit */
    const int64_t count = apart && hr_room(p) < left ? hr_room(p) : left;
    if (!announce(piece, first, count, p)) return hr_no_memory(err, "cached rows");
    *part = (hr__kept_part){kept, at->piece, first};
    at->given += count;
    return HR_OK;
}

static hr_status read_piece(const hr__kept *kept, const hr__piece *piece, hr_work *w, hr_columns *rows, hr__packed *out,
                            hr_error *err)
{
    const size_t columns = (size_t)rows->schema->fields * sizeof(hr__packed_column);
    hr__packed_column *column = hr_scratch(w, columns + piece->stored);
    char *bytes = hr_row_bytes(w, rows, piece->size);
    if (!column || !bytes) return hr_no_memory(err, "cached rows");
    HR_TRY(hr__rows_piece_read(kept->in, piece, (char *)column + columns, bytes, err));
    HR_TRY(hr__packed_open(bytes, piece->size, rows->schema, column, out, err));
    if (out->elements == piece->elements && out->rows == piece->rows) return HR_OK;
    return hr_fail(err, HR_DATA_LOSS, "rows.damaged", "%s: expected a piece of %" PRId64 " rows, got %" PRId64,
                   kept->path, piece->rows, out->rows);
}

hr_status hr__kept_work(const hr__kept_part *part, hr_work *w, hr_columns *rows, hr_error *err)
{
    const hr__piece *piece = &part->kept->head.piece[part->piece];
    hr__packed packed = piece->packed;
    if (piece->record) return HR_OK; /* the rows themselves */
    if (!packed.bytes) HR_TRY(read_piece(part->kept, piece, w, rows, &packed, err));
    rows->levels = packed.levels;
    return hr__packed_fill(&packed, part->first, w, rows, err);
}
