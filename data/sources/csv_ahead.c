/* See csv_ahead.h. */
#include "data/sources/csv_ahead.h"
#include "io/compression.h"
#include "io/file_system.h"
#include "io/input.h"
#include <headrace/data.h>

/* ---- pieces, as a source of their own ---- */

typedef struct pieces_spec {
    const hr_file_list *list; /* the operator's */
    int64_t file, offset;     /* of the first piece */
    hr__csv_dialect dialect;
    bool skip_blank;
    hr_compression compression;
} pieces_spec;

typedef struct pieces_state {
    bool begun;
    int64_t file, offset, size; /* of the next piece, and of its file */
} pieces_state;

static hr_status pieces_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)in;
    return hr_schema_set(out, &hr_string_schema, err);
}

static size_t piece_size(const hr_plan *p) { return hr_unit_size(p); }
/* Most rows that begin in a piece end as soon. */
static size_t tail_size(const hr_plan *p) { return piece_size(p) / 32; }

/* What a file has for pieces. Of few bytes, of a stream, of a compressed file there are none. */
static int64_t size_for_pieces(const pieces_spec *sp, const hr_plan *p, int64_t file)
{
    const char *path = sp->list->path[file];
    const hr_codec *codec;
    const bool compressed = hr__codec_for_writing(sp->compression, path, &codec, NULL) != HR_OK || codec->id != HR_NONE;
    const int64_t size = compressed || hr__file_system_of(path) || hr_path_is_special(path) ? -1 : hr_path_size(path);
    return size < (int64_t)piece_size(p) ? 0 : size;
}

static bool has_none(const pieces_state *st) { return st->offset >= st->size; }

/* The next file that has pieces; after some that have none, the last of these: who waits for the first row does not wait
 * until all are looked at. */
static hr_status find_file(const pieces_spec *sp, pieces_state *st, const hr_plan *p)
{
    enum { SOME = 64 };
    if (!st->begun) {
        st->begun = true;
        st->file = sp->file;
        st->offset = sp->offset - sp->offset % (int64_t)piece_size(p);
        st->size = size_for_pieces(sp, p, st->file);
    }
    for (int i = 0; i < SOME && has_none(st); i++) {
        if (++st->file >= sp->list->count) return HR_END;
        st->offset = 0;
        st->size = size_for_pieces(sp, p, st->file);
    }
    return HR_OK;
}

static hr_status pieces_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const pieces_spec *sp = spec;
    pieces_state *st = state;
    HR_TRY(find_file(sp, st, p));
    const size_t size = has_none(st) ? 0 : piece_size(p), bytes = size + tail_size(p);
    hr_columns *rows = hr_unit_rows(p, 1);
    char *text = rows ? hr_unit_bytes(p, bytes) : NULL;
    csv_piece *piece = text ? hr_unit_bytes(p, sizeof *piece) : NULL;
    if (!piece) return hr_no_memory(err, "csv: a piece of a file");
    *piece = (csv_piece){.path = sp->list->path[st->file],
                         .file = st->file,
                         .offset = st->offset,
                         .size = size,
                         .bytes = bytes,
                         .text = text};
    *(hr_view *)rows->column[0].values = (hr_view){(const char *)piece, sizeof *piece};
    rows->rows = 1;
    *(csv_piece **)hr_unit(p) = piece;
    st->offset += (int64_t)size;
    return HR_OK;
}

typedef struct ends_memory {
    hr_work *w;
    hr_columns *rows;
} ends_memory;

static void *memory_for_ends(size_t size, void *user)
{
    const ends_memory *m = user;
    return hr_row_bytes(m->w, m->rows, size);
}

/* What is wrong with the file is told by who reads it in turn; also whether it is compressed after all. */
static bool read_piece(const csv_piece *piece, size_t *got)
{
    hr_input *in;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    if (hr_input_open_with(piece->path, &opts, &in, NULL) != HR_OK) return false;
    const bool done =
        hr__input_has_places(in) && hr__input_read_at(in, piece->offset, piece->text, piece->bytes, got, NULL) == HR_OK;
    hr_input_free(in);
    return done;
}

static hr_status pieces_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)err;
    const pieces_spec *sp = spec;
    csv_piece *piece = *(csv_piece *const *)unit;
    ends_memory memory = {w, rows};
    hr__csv_ends ends = {.memory = memory_for_ends, .user = &memory};
    size_t got;
    if (piece->size == 0 || !read_piece(piece, &got)) return HR_OK;
    if (hr__csv_find_ends(&sp->dialect, piece->text, got, piece->size, sp->skip_blank, &ends)) piece->ends = ends;
    return HR_OK;
}

static const hr_op pieces_op = {
    .head = HR_OP_HEAD,
    .name = "csv_pieces",
    .spec_size = sizeof(pieces_spec),
    .state_size = sizeof(pieces_state),
    .unit_size = sizeof(csv_piece *),
    .check = pieces_check,
    .plan = pieces_plan,
    .work = pieces_work,
};

/* ---- finding rows in them ---- */

/* Below so many threads reading in turn is as fast: who reads finds the bytes in his cache when he looks for fields. */
enum { FEW_THREADS = 3 };

/* Blank lines are taken to be none, as they are where there is more than one column. */
static bool skips_blank(const hr__csv_format *format) { return !format->keep_blank; }

void hr__csv_ahead_open(csv_ahead *a, const hr__csv_format *format, const hr_plan *p)
{
    enum { WINDOW_A_THREAD = 2 };
    const size_t bytes = piece_size(p) + tail_size(p);
    const int threads = hr_plan_spare_threads(p, WINDOW_A_THREAD * bytes);
    const bool plain = !format->tf_compat && !format->dialect.exact_only && format->max_row >= bytes;
    a->window = plain && threads >= FEW_THREADS ? WINDOW_A_THREAD * (threads + 1) : 0;
}

static void open_pieces(csv_ahead *a, const hr__csv_format *format, hr_plan *p, const hr_file_list *list, int64_t file,
                        int64_t offset)
{
    const pieces_spec spec = {.list = list,
                              .file = file,
                              .offset = offset,
                              .dialect = format->dialect,
                              .skip_blank = skips_blank(format),
                              .compression = format->compression};
    a->opened = true;
    a->input = hr_input_open(p, hr_prefetch(hr_dataset_new(&pieces_op, &spec, NULL, 0), a->window), 0);
}

static void drop_piece(csv_ahead *a)
{
    hr_span_drop(a->span);
    a->span = (hr_span){0};
    a->piece = NULL;
}

void hr__csv_ahead_close(csv_ahead *a) { drop_piece(a); }

static hr_status pull_piece(csv_ahead *a, hr_plan *p)
{
    if (a->over) return HR_END;
    const hr_status st = hr_pull(p, a->input, 1, &a->span);
    a->over = st == HR_END;
    if (st != HR_OK) return st;
    a->piece = (const csv_piece *)(const void *)((const hr_view *)a->span.in->column[0].values)[a->span.first].data;
    a->row = 0;
    return HR_OK;
}

/* Where row `row` of it begins. */
static int64_t place_in(const csv_piece *piece, int64_t row)
{
    return piece->offset + (piece->ends.at ? (int64_t)piece->ends.at[row].size : 0);
}

/* Nothing in it comes after this place. */
static bool is_behind(const csv_piece *piece, int64_t file, int64_t offset)
{
    if (piece->file != file) return piece->file < file;
    return place_in(piece, piece->ends.rows) <= offset;
}

/* The row that begins there, so many bytes after the first; -1: none does. */
static int64_t row_at(const hr__csv_ends *ends, int64_t from, int64_t place)
{
    int64_t low = from, high = ends->rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if ((int64_t)ends->at[middle].size < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ends->rows && (int64_t)ends->at[low].size == place ? low : -1;
}

hr_status hr__csv_ahead_find(csv_ahead *a, const hr__csv_format *format, const hr__csv_layout *layout, hr_plan *p,
                             const hr_file_list *list, int64_t file, int64_t offset)
{
    if (a->window == 0 || layout->skip_blank != skips_blank(format)) return HR_END;
    if (!a->opened) open_pieces(a, format, p, list, file, offset);
    while (!a->piece || is_behind(a->piece, file, offset)) {
        drop_piece(a);
        HR_TRY(pull_piece(a, p));
    }
    if (a->piece->file > file || place_in(a->piece, 0) > offset) return HR_END;
    a->row = row_at(&a->piece->ends, a->row, offset - a->piece->offset);
    if (a->row >= 0) return HR_OK;
    drop_piece(a);
    return HR_END;
}

int64_t hr__csv_ahead_take(csv_ahead *a, hr_plan *p, int64_t at_most, hr__csv_block *block)
{
    const csv_piece *piece = a->piece;
    const int64_t left = piece->ends.rows - a->row, rows = at_most < left ? at_most : left;
    const hr__csv_end *begin = &piece->ends.at[a->row], *end = begin + rows;
    *block = (hr__csv_block){.data = piece->text + begin->size,
                             .size = end->size - begin->size,
                             .rows = rows,
                             .blank = end->blank - begin->blank,
                             .offset = piece->offset + begin->size};
    hr_unit_holds(p, hr_span_share(a->span, 0, 1));
    a->row += rows;
    return end->lines - begin->lines;
}
