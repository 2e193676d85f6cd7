/* A unit of rows as a piece that a cache keeps: in row layout, or packed by column. */
#include "data/rows/cached_rows.h"

static hr_status cached_piece_pack(const hr__kept *kept, const hr_columns *rows, hr__piece *piece, hr_error *err)
{
    HR_TRY(hr__pack(rows, kept->path == NULL, &piece->packed, err));
    piece->elements = piece->packed.elements;
    piece->rows = piece->packed.rows;
    piece->size = piece->packed.size;
    if (rows->levels > 0 && !(piece->first_row = hr__packed_first_rows(&piece->packed)))
        return hr_no_memory(err, "cached rows");
    return HR_OK;
}

static const hr__row_layout *join_forms(hr__kept *kept, const hr__row_layout *need)
{
    uv_mutex_lock(&kept->lock);
    const hr__row_layout *form = hr__row_layouts_join(&kept->forms, need);
    uv_mutex_unlock(&kept->lock);
    return form;
}

static bool has_strings(const hr_schema *schema)
{
    bool has = false;
    for (int i = 0; i < schema->fields; i++) has |= schema->field[i].dtype == HR_STRING;
    return has;
}

/* Rows without strings, in memory, are cached in row layout: whoever takes them reads them where they are. *form: NULL
 * if these cannot be. */
static hr_status find_form(hr__kept *kept, const hr_columns *rows, const hr__row_layout **form, hr_error *err)
{
    *form = NULL;
    if (kept->path || has_strings(rows->schema)) return HR_OK;
    hr__row_layout *need = hr_malloc(hr__row_layout_bytes(rows->schema->fields));
    if (!need) return hr_no_memory(err, "cached rows");
    const bool fit = hr__row_layout_measure(rows, need);
    if (fit) *form = join_forms(kept, need);
    hr_free(need);
    return *form || !fit ? HR_OK : hr_no_memory(err, "cached rows");
}

static hr_status write_records(const hr_columns *rows, hr__piece *piece, hr_error *err)
{
    piece->elements = piece->rows = rows->rows;
    piece->size = (size_t)rows->rows * piece->form->size;
    piece->record = hr_malloc(piece->size + 1);
    if (!piece->record) return hr_no_memory(err, "cached rows");
    hr__columns_to_row_layout(rows, piece->form, piece->record);
    return HR_OK;
}

hr_status hr__kept_make_piece(hr__kept *kept, const hr_columns *rows, hr__piece *piece, char **stored, hr_error *err)
{
    *stored = NULL;
    HR_TRY(find_form(kept, rows, &piece->form, err));
    if (piece->form) return write_records(rows, piece, err);
    HR_TRY(cached_piece_pack(kept, rows, piece, err));
    return kept->path ? hr__rows_compress(piece->packed.bytes, piece->size, stored, &piece->stored, err) : HR_OK;
}
