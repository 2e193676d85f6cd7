/* A unit of rows as a piece that a cache keeps: in row layout, or packed by column. */
#include "data/rows/cached_rows.h"

static hr_status cached_piece_pack(const hr__cached_rows *cached, const hr_columns *rows, hr__piece *piece,
                                   hr_error *err)
{
    HR_TRY(hr__pack(rows, cached->path == NULL, &piece->packed, err));
    piece->elements = piece->packed.elements;
    piece->rows = piece->packed.rows;
    piece->size = piece->packed.size;
    if (rows->levels > 0 && !(piece->first_row = hr__packed_first_rows(&piece->packed)))
        return hr_no_memory(err, "cached rows");
    return HR_OK;
}

/* In memory, rows without strings are cached in row layout, and readers borrow them from there. *form NULL: these rows
 * have no row layout. */
static hr_status find_form(hr__cached_rows *cached, const hr_columns *rows, const hr__row_layout **form, hr_error *err)
{
    bool strings = false;
    *form = NULL;
    for (int i = 0; i < rows->schema->fields; i++) strings |= rows->schema->field[i].dtype == HR_STRING;
    if (cached->path || strings) return HR_OK;
    hr__row_layout *need = hr_malloc(hr__row_layout_bytes(rows->schema->fields));
    if (!need) return hr_no_memory(err, "cached rows");
    const bool fit = hr__row_layout_measure(rows, need);
    if (fit) {
        uv_mutex_lock(&cached->lock);
        *form = hr__row_layouts_join(&cached->forms, need);
        uv_mutex_unlock(&cached->lock);
    }
    hr_free(need);
    return *form || !fit ? HR_OK : hr_no_memory(err, "cached rows");
}

static hr_status write_laid_rows(const hr_columns *rows, hr__piece *piece, hr_error *err)
{
    piece->elements = piece->rows = rows->rows;
    piece->size = (size_t)rows->rows * piece->form->size;
    piece->laid = hr_malloc(piece->size + 1);
    if (!piece->laid) return hr_no_memory(err, "cached rows");
    hr__columns_to_row_layout(rows, piece->form, piece->laid);
    return HR_OK;
}

hr_status hr__cached_make_piece(hr__cached_rows *cached, const hr_columns *rows, hr__piece *piece, char **stored,
                                hr_error *err)
{
    *stored = NULL;
    HR_TRY(find_form(cached, rows, &piece->form, err));
    if (piece->form) return write_laid_rows(rows, piece, err);
    HR_TRY(cached_piece_pack(cached, rows, piece, err));
    return cached->path ? hr__rows_compress(piece->packed.bytes, piece->size, stored, &piece->stored, err) : HR_OK;
}
