#include "data/rows/packed.h"
#include "data/rows/narrow.h"
#include <inttypes.h>
#include <string.h>

/* Everything begins on a multiple of so many bytes. */
enum {
    GRAIN = 8,
    SLACK = 64 /* after strings */,
    HAS_ORIGINS = 1,
    HAS_PRESENT = 1,
    HAS_INNER = 2,
    WIDTH_AT = 8 /* of a column's flags: bytes of a value, 0: as its type has */,
    PACKED_VERSION = 1
};

typedef struct head {
    uint32_t version, flags;
    uint32_t elements, rows, levels, fields;
} head;

typedef struct column_head {
    uint32_t depth, flags;
    int64_t count, dense_width;
} column_head;

static size_t grains(size_t size) { return (size + GRAIN - 1) & ~(size_t)(GRAIN - 1); }

/* A part of a level of splits, and what it is of the next one. */
typedef struct range {
    int64_t first, end;
} range;

static range packed_below(const int32_t *splits, range r) { return (range){splits[r.first], splits[r.end]}; }

static void packed_copy_splits(int32_t *to, const int32_t *from, range r)
{
    for (int64_t i = r.first; i <= r.end; i++) *to++ = from[i] - from[r.first];
}

/* ---- packing: once to measure, once to write ---- */

typedef struct packer {
    char *to; /* NULL: only the size is wanted */
    size_t size;
} packer;

/* Space for `size` bytes, padded with zeros; NULL while measuring. */
static void *packed_space(packer *p, size_t size)
{
    char *at = p->to ? p->to + p->size : NULL;
    p->size += grains(size);
    if (at) memset(at + size, 0, grains(size) - size);
    return at;
}

static void packed_put(packer *p, const void *from, size_t size)
{
    void *to = packed_space(p, size);
    if (to && size) memcpy(to, from, size);
}

static range put_splits(packer *p, const int32_t *splits, range r)
{
    int32_t *to = packed_space(p, (size_t)(r.end - r.first + 1) * sizeof *to);
    if (to) packed_copy_splits(to, splits, r);
    return packed_below(splits, r);
}

static void packed_put_strings(packer *p, const hr_view *view, int64_t count)
{
    uint32_t *ends = packed_space(p, ((size_t)count + 1) * sizeof *ends), size = 0;
    for (int64_t i = 0; i < count; i++) {
        if (ends) ends[i] = size;
        size += (uint32_t)view[i].size;
    }
    if (ends) ends[count] = size;
    char *bytes = packed_space(p, size);
    for (int64_t i = 0; bytes && i < count; i++) {
        if (view[i].size) memcpy(bytes, view[i].data, (size_t)view[i].size);
        bytes += view[i].size;
    }
}

static int depth_of(const hr_column *c)
{
    int depth = 0;
    while (depth < HR_MAX_RAGGED && c->splits[depth]) depth++;
    return depth;
}

static range packed_values_of(const hr_column *c, int depth, const hr_field *field, int64_t rows)
{
    range r = {0, rows};
    for (int d = 0; d < depth; d++) r = packed_below(c->splits[d], r);
    if (depth == 0) r.end *= (int64_t)(hr_field_width(field) / hr_dtype_size(field->dtype));
    return r;
}

static void put_column(packer *p, const hr_column *c, const hr_field *field, int64_t rows)
{
    const int depth = depth_of(c);
    const size_t width = hr_dtype_size(field->dtype);
    const range values = packed_values_of(c, depth, field, rows);
    const int64_t count = values.end - values.first;
    const char *from = (const char *)c->values + (count ? (size_t)values.first * width : 0);
    const int narrow = count ? hr__narrow_width(field->dtype, from, count) : (int)width;
    const column_head h = {(uint32_t)depth,
                           (c->present ? HAS_PRESENT : 0u) | (c->inner ? HAS_INNER : 0u) |
                               ((size_t)narrow < width ? (uint32_t)narrow << WIDTH_AT : 0u),
                           count, c->dense_width};
    range r = {0, rows};
    packed_put(p, &h, sizeof h);
    for (int d = 0; d < depth; d++) r = put_splits(p, c->splits[d], r);
    if (c->present) packed_put(p, c->present, (size_t)(rows + 63) / 64 * sizeof *c->present);
    if (c->inner) packed_put(p, c->inner + values.first, (size_t)count * sizeof *c->inner);
    if (field->dtype == HR_STRING) {
        packed_put_strings(p, (const hr_view *)(const void *)from, count);
    } else {
        void *to = packed_space(p, (size_t)count * (size_t)narrow);
        if (to) hr__narrow(from, (int)width, narrow, count, to);
    }
}

static void put_rows(packer *p, const hr_columns *rows, bool origins)
{
    origins = origins && rows->origin;
    const head h = {PACKED_VERSION,       origins ? HAS_ORIGINS : 0, (uint32_t)rows->elements,
                    (uint32_t)rows->rows, (uint32_t)rows->levels,    (uint32_t)rows->schema->fields};
    range r = {0, rows->elements};
    packed_put(p, &h, sizeof h);
    for (int l = 0; l < rows->levels; l++) r = put_splits(p, rows->splits[l], r);
    if (origins) packed_put(p, rows->origin, (size_t)rows->rows * sizeof *rows->origin);
    for (int i = 0; i < rows->schema->fields; i++) put_column(p, &rows->column[i], &rows->schema->field[i], rows->rows);
}

/* Strings are found by 32 bits. */
static bool strings_fit(const hr_columns *rows)
{
    uint64_t size = 0;
    for (int i = 0; i < rows->schema->fields; i++) {
        const hr_column *c = &rows->column[i];
        const hr_field *field = &rows->schema->field[i];
        if (field->dtype != HR_STRING) continue;
        const range r = packed_values_of(c, depth_of(c), field, rows->rows);
        for (int64_t k = r.first; k < r.end; k++) size += (uint64_t)((const hr_view *)c->values)[k].size;
    }
    return size <= UINT32_MAX;
}

hr_status hr__pack(const hr_columns *rows, bool origins, hr__packed *out, hr_error *err)
{
    packer p = {0};
    if (!strings_fit(rows))
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "packed.size",
                       "cache: %" PRId64 " elements together have more than 4 GiB of strings; cache smaller ones",
                       rows->elements);
    put_rows(&p, rows, origins);
    const size_t columns = grains((size_t)rows->schema->fields * sizeof(hr__packed_column));
    char *own = hr_malloc(columns + p.size + SLACK);
    if (!own) return hr_no_memory(err, "rows to keep");
    p = (packer){.to = own + columns};
    put_rows(&p, rows, origins);
    memset(p.to + p.size, 0, SLACK);
    hr_status st = hr__packed_open(p.to, p.size, rows->schema, (hr__packed_column *)(void *)own, out, err);
    out->own = own;
    if (st != HR_OK) hr__packed_clear(out);
    return st;
}

/* ---- opening: nothing is believed ---- */

typedef struct opener {
    const char *at, *end;
    bool damaged;
} opener;

static const void *packed_take(opener *o, uint64_t count, size_t width)
{
    const void *at = o->at;
    const size_t left = (size_t)(o->end - o->at);
    o->damaged |= count > left / width || grains((size_t)count * width) > left;
    if (!o->damaged) o->at += grains((size_t)count * width);
    return o->damaged ? NULL : at;
}

/* `count` runs; *count becomes what they hold together. */
static const int32_t *take_splits(opener *o, int64_t *count)
{
    const int32_t *splits = packed_take(o, (uint64_t)*count + 1, sizeof *splits);
    o->damaged |= !splits || splits[0] != 0;
    for (int64_t i = 0; !o->damaged && i < *count; i++) o->damaged |= splits[i] > splits[i + 1];
    if (!o->damaged) *count = splits[*count];
    return splits;
}

static void take_strings(opener *o, hr__packed_column *c)
{
    c->ends = packed_take(o, (uint64_t)c->count + 1, sizeof *c->ends);
    o->damaged |= !c->ends || c->ends[0] != 0;
    for (int64_t i = 0; !o->damaged && i < c->count; i++) o->damaged |= c->ends[i] > c->ends[i + 1];
    c->values = o->damaged ? NULL : packed_take(o, c->ends[c->count], 1);
}

static bool width_is_sound(uint32_t flags, const hr_field *field)
{
    const uint32_t width = flags >> WIDTH_AT, known = flags & ((1u << WIDTH_AT) - 1);
    const bool whole = field->dtype == HR_INT64 || field->dtype == HR_INT32;
    const bool narrow = width == 1 || width == 2 || (width == 4 && field->dtype == HR_INT64);
    return known <= (HAS_PRESENT | HAS_INNER) && (width == 0 || (whole && narrow));
}

static bool head_is_sound(const column_head *h, const hr_field *field, int64_t rows)
{
    bool varies = field->layout != HR_DENSE || field->shape.rank < 0;
    for (int i = 0; i < field->shape.rank; i++) varies |= field->shape.dims[i] <= 0; /* as the engine has it */
    if (h->depth > HR_MAX_RAGGED || h->count < 0 || h->dense_width < 0 || !width_is_sound(h->flags, field))
        return false;
    if (varies && field->layout == HR_SPARSE && h->depth > 1) return h->depth == 2 && field->shape.rank > 1;
    if (varies && field->layout == HR_RAGGED) return h->depth > 0 && (int)h->depth <= field->shape.rank;
    if (varies) return h->depth == 1;
    return h->depth == 0 && h->count == rows * (int64_t)(hr_field_width(field) / hr_dtype_size(field->dtype));
}

static void take_column(opener *o, const hr_field *field, int64_t rows, hr__packed_column *c)
{
    const column_head *h = packed_take(o, 1, sizeof *h);
    o->damaged |= !h || !head_is_sound(h, field, rows);
    if (o->damaged) return;
    int64_t count = rows;
    *c = (hr__packed_column){.depth = (int)h->depth, .count = h->count, .dense_width = h->dense_width};
    c->width = h->flags >> WIDTH_AT ? (int)(h->flags >> WIDTH_AT) : (int)hr_dtype_size(field->dtype);
    for (int d = 0; d < c->depth && !o->damaged; d++) c->splits[d] = take_splits(o, &count);
    o->damaged |= c->depth > 0 && count != c->count;
    if (h->flags & HAS_PRESENT) c->present = packed_take(o, (uint64_t)(rows + 63) / 64, sizeof *c->present);
    if (h->flags & HAS_INNER) c->inner = packed_take(o, (uint64_t)c->count, sizeof *c->inner);
    if (field->dtype == HR_STRING)
        take_strings(o, c);
    else
        c->values = packed_take(o, (uint64_t)c->count, (size_t)c->width);
}

static void packed_take_rows(opener *o, const hr_schema *schema, hr__packed *out)
{
    const head *h = packed_take(o, 1, sizeof *h);
    o->damaged |= !h || h->version != PACKED_VERSION || h->levels > HR_MAX_LEVELS || h->elements > INT32_MAX ||
                  h->rows > INT32_MAX || h->fields != (uint32_t)schema->fields || h->flags > HAS_ORIGINS;
    if (o->damaged) return;
    int64_t count = out->elements = h->elements;
    out->rows = h->rows;
    out->levels = (int)h->levels;
    for (int l = 0; l < out->levels && !o->damaged; l++) out->splits[l] = take_splits(o, &count);
    o->damaged |= count != out->rows;
    if (h->flags & HAS_ORIGINS) out->origin = packed_take(o, (uint64_t)out->rows, sizeof *out->origin);
    for (int i = 0; i < schema->fields && !o->damaged; i++)
        take_column(o, &schema->field[i], out->rows, &out->column[i]);
    o->damaged |= o->at != o->end;
}

hr_status hr__packed_open(const char *bytes, size_t size, const hr_schema *schema, hr__packed_column *column,
                          hr__packed *out, hr_error *err)
{
    opener o = {bytes, bytes + size, false};
    *out = (hr__packed){.bytes = bytes, .size = size, .column = column};
    packed_take_rows(&o, schema, out);
    if (!o.damaged) return HR_OK;
    return hr_fail(err, HR_DATA_LOSS, "packed.damaged",
                   "expected %zu bytes of rows with the pipeline's components, got others", size);
}

void hr__packed_clear(hr__packed *packed)
{
    hr_free(packed->own);
    *packed = (hr__packed){0};
}

/* ---- rows of a unit ---- */

int32_t *hr__packed_first_rows(const hr__packed *packed)
{
    int32_t *first = hr_malloc(((size_t)packed->elements + 1) * sizeof *first);
    for (int64_t e = 0; first && e <= packed->elements; e++) {
        int64_t at = e;
        for (int l = 0; l < packed->levels; l++) at = packed->splits[l][at];
        first[e] = (int32_t)at;
    }
    return first;
}

static int32_t *own_splits(const int32_t *splits, range r, hr_work *w, hr_columns *rows)
{
    int32_t *own = hr_row_bytes(w, rows, (size_t)(r.end - r.first + 1) * sizeof *own);
    if (own) packed_copy_splits(own, splits, r);
    return own;
}

static void fill_values(const hr__packed_column *c, range r, const hr_field *field, hr_column *to)
{
    const int value = (int)hr_dtype_size(field->dtype);
    hr_view *view = to->values;
    for (int64_t i = r.first; i < r.end && field->dtype == HR_STRING; i++)
        *view++ = (hr_view){c->values + c->ends[i], (int64_t)c->ends[i + 1] - c->ends[i]};
    if (r.end > r.first && field->dtype != HR_STRING)
        hr__widen(c->values + (size_t)r.first * (size_t)c->width, c->width, value, r.end - r.first, to->values);
}

static hr_status fill_varying(const hr__packed_column *c, range r, int field, hr_work *w, hr_columns *rows,
                              hr_error *err)
{
    hr_column *to = &rows->column[field];
    packed_copy_splits(to->splits[0], c->splits[0], r);
    r = packed_below(c->splits[0], r);
    for (int d = 1; d < c->depth; d++) {
        if (!(to->splits[d] = own_splits(c->splits[d], r, w, rows))) return hr_no_memory(err, "cached rows");
        r = packed_below(c->splits[d], r);
    }
    HR_TRY(hr_grow_column(w, rows, field, r.end - r.first, err));
    to->count = r.end - r.first;
    to->dense_width = c->dense_width;
    if (c->inner && !(to->inner = hr_row_bytes(w, rows, (size_t)to->count * sizeof *to->inner)))
        return hr_no_memory(err, "cached rows");
    if (c->inner && to->count) memcpy(to->inner, c->inner + r.first, (size_t)to->count * sizeof *to->inner);
    fill_values(c, r, &rows->schema->field[field], to);
    return HR_OK;
}

static hr_status fill_column(const hr__packed_column *c, range r, int field, hr_work *w, hr_columns *rows,
                             hr_error *err)
{
    hr_column *to = &rows->column[field];
    const hr_field *f = &rows->schema->field[field];
    if (c->present) {
        const size_t size = (size_t)(r.end - r.first + 63) / 64 * sizeof *to->present;
        to->present = hr_row_bytes(w, rows, size);
        if (!to->present) return hr_no_memory(err, "cached rows");
        memset(to->present, 0, size);
        for (int64_t i = r.first, n = 0; i < r.end; i++, n++)
            to->present[n / 64] |= (c->present[i / 64] >> i % 64 & UINT64_C(1)) << n % 64;
    }
    if (c->depth > 0) return fill_varying(c, r, field, w, rows, err);
    const int64_t each = (int64_t)(hr_field_width(f) / hr_dtype_size(f->dtype));
    fill_values(c, (range){r.first * each, r.end * each}, f, to);
    return HR_OK;
}

hr_status hr__packed_fill(const hr__packed *packed, int64_t first, hr_work *w, hr_columns *rows, hr_error *err)
{
    range r = {first, first + rows->elements};
    for (int l = 0; l < packed->levels; l++) {
        if (!(rows->splits[l] = own_splits(packed->splits[l], r, w, rows))) return hr_no_memory(err, "cached rows");
        r = packed_below(packed->splits[l], r);
    }
    if (packed->origin && r.end > r.first)
        memcpy(rows->origin, packed->origin + r.first, (size_t)(r.end - r.first) * sizeof *rows->origin);
    for (int i = 0; i < rows->schema->fields; i++) HR_TRY(fill_column(&packed->column[i], r, i, w, rows, err));
    return HR_OK;
}
