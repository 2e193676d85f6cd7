/* See arrow_column.h. */
#include "data/arrow/arrow_column.h"
#include "base/cast.h"
#include <stdlib.h>
#include <string.h>

static bool arrow_column_bit(const uint8_t *bits, int64_t i) { return bits[i / 8] >> i % 8 & 1; }

static bool is_null(const struct ArrowArray *array, int64_t i)
{
    return array->n_buffers > 0 && array->buffers[0] && !arrow_column_bit(array->buffers[0], i);
}

/* ---- an array that fits its type ---- */

static hr_status refuse_array(const hr__arrow_type *type, const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                   "from_arrow: column '%.60s': expected an array that fits its format '%.20s', got one %s", type->name,
                   type->format, what);
}

static hr_status check_array(const hr__arrow_type *type, const struct ArrowArray *array, int64_t buffers, hr_error *err)
{
    if (!array) return refuse_array(type, "that is NULL", err); /* children need no release of their own */
    if (array->length < 0 || array->offset < 0 || array->length > INT64_MAX / 32 - array->offset)
        return refuse_array(type, "of a length or offset that is none", err);
    if (array->n_buffers != buffers && !(buffers < 0 && array->n_buffers >= -buffers))
        return refuse_array(type, "with another number of buffers", err);
    if (array->n_buffers > 0 && !array->buffers) return refuse_array(type, "without buffers", err);
    return HR_OK;
}

static hr_status check_values(const hr__arrow_type *type, const hr__arrow_values *values,
                              const struct ArrowArray *array, hr_error *err)
{
    static const int buffers[] = {
        [HR__ARROW_FIXED] = 2, [HR__ARROW_BITS] = 2,   [HR__ARROW_STRINGS] = 3, [HR__ARROW_LARGE_STRINGS] = 3,
        [HR__ARROW_BYTES] = 2, [HR__ARROW_VIEWS] = -3, [HR__ARROW_NOTHING] = 0};
    HR_TRY(check_array(type, array, buffers[values->form], err));
    if (values->form == HR__ARROW_NOTHING || array->length == 0) return HR_OK;
    return array->buffers[1] ? HR_OK : refuse_array(type, "without values", err);
}

/* A list's own buffers are validity, and offsets, and sizes. */
static hr_status open_list(hr__arrow_column *c, hr_error *err)
{
    static const int buffers[] = {[HR__ARROW_FIXED_LIST] = 1,
                                  [HR__ARROW_LIST] = 2,
                                  [HR__ARROW_LARGE_LIST] = 2,
                                  [HR__ARROW_LIST_VIEW] = 3,
                                  [HR__ARROW_LARGE_LIST_VIEW] = 3};
    const hr__arrow_type *type = c->type;
    HR_TRY(check_array(type, c->rows, buffers[type->list], err));
    if (c->rows->n_children != 1 || !c->rows->children)
        return refuse_array(type, "with another number of children", err);
    for (int i = 1; i < buffers[type->list] && c->rows->length > 0; i++)
        if (!c->rows->buffers[i]) return refuse_array(type, "without offsets", err);
    c->entries = c->rows->children[0];
    return HR_OK;
}

static hr_status open_codes(hr__arrow_column *c, hr_error *err)
{
    HR_TRY(check_values(c->type, &c->type->codes, c->entries, err));
    c->values = c->entries->dictionary;
    if (!c->values) return refuse_array(c->type, "without a dictionary", err);
    return check_values(c->type, &c->type->values, c->values, err);
}

/* Down through the structs; *rows is how many rows the leaf must have, those before them included. */
static hr_status descend(const hr__arrow_type *type, const struct ArrowArray *table, hr__arrow_column *out,
                         int64_t *rows, hr_error *err)
{
    const struct ArrowArray *at = table;
    int64_t offset = 0;
    for (int level = 0; level < type->depth; level++) {
        HR_TRY(check_array(type, at, 1, err));
        if (at->length < offset + (level ? table->length : 0)) return refuse_array(type, "with too few rows", err);
        if (type->path[level] >= at->n_children || !at->children)
            return refuse_array(type, "with too few children", err);
        offset += at->offset;
        out->parent[level].valid = at->null_count != 0 ? at->buffers[0] : NULL;
        out->parent[level].offset = offset;
        at = at->children[type->path[level]];
    }
    out->rows = at;
    *rows = offset + table->length;
    return HR_OK;
}

static bool has_nulls(const struct ArrowArray *array)
{
    return array->n_buffers > 0 && array->buffers[0] && array->null_count != 0;
}

static bool arrow_column_is_plain(const hr__arrow_column *c)
{
    bool nulls = has_nulls(c->rows) || has_nulls(c->entries);
    for (int level = 0; level < c->type->depth; level++) nulls |= c->parent[level].valid != NULL;
    return c->type->width > 0 && c->type->values.form == HR__ARROW_FIXED && !c->type->coded && !nulls;
}

hr_status hr__arrow_column_open(const hr__arrow_type *type, const struct ArrowArray *table, hr__arrow_column *out,
                                hr_error *err)
{
    int64_t rows = 0;
    *out = (hr__arrow_column){.type = type};
    HR_TRY(descend(type, table, out, &rows, err));
    out->entries = out->rows;
    if (type->list != HR__ARROW_SCALAR) HR_TRY(open_list(out, err));
    out->values = out->entries;
    HR_TRY(type->coded ? open_codes(out, err) : check_values(type, &type->values, out->values, err));
    if (out->rows->length < rows) return refuse_array(type, "with too few rows", err);
    if (type->list == HR__ARROW_FIXED_LIST && out->entries->length / type->width < out->rows->offset + rows)
        return refuse_array(type, "with too few values", err);
    out->plain = arrow_column_is_plain(out);
    return HR_OK;
}

/* ---- rows ---- */

static int64_t offset_at(const void *offsets, bool wide, int64_t i)
{
    return wide ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
}

static bool row_is_null(const hr__arrow_column *c, int64_t row, int64_t at)
{
    for (int level = 0; level < c->type->depth; level++)
        if (c->parent[level].valid && !arrow_column_bit(c->parent[level].valid, c->parent[level].offset + row))
            return true;
    return c->type->values.form == HR__ARROW_NOTHING || is_null(c->rows, at);
}

static int64_t arrow_column_place_of(const hr__arrow_column *c, int64_t row)
{
    return c->rows->offset + c->parent[c->type->depth - 1].offset + row;
}

/* Where the entries of the list begin and end, without their array's own offset. */
static void list_at(const hr__arrow_column *c, int64_t at, int64_t *first, int64_t *end)
{
    const hr__arrow_list list = c->type->list;
    const bool wide = list == HR__ARROW_LARGE_LIST || list == HR__ARROW_LARGE_LIST_VIEW;
    if (list == HR__ARROW_FIXED_LIST) {
        *first = at * c->type->width;
        *end = *first + c->type->width;
        return;
    }
    *first = offset_at(c->rows->buffers[1], wide, at);
    *end = list == HR__ARROW_LIST || list == HR__ARROW_LARGE_LIST ? offset_at(c->rows->buffers[1], wide, at + 1)
           : *first < 0                                           ? *first
                                                                  : *first + offset_at(c->rows->buffers[2], wide, at);
}

bool hr__arrow_row(const hr__arrow_column *c, int64_t row, int64_t *first, int64_t *count)
{
    const int64_t at = arrow_column_place_of(c, row);
    int64_t end, value;
    *first = *count = -1;
    if (row_is_null(c, row, at)) return true;
    if (c->type->list == HR__ARROW_SCALAR) {
        *first = at;
        if (!c->type->coded || hr__arrow_find(c, at, &value) != HR__ARROW_NULL) *count = 1;
        return true;
    }
    list_at(c, at, first, &end);
    *count = end - *first;
    const bool sound = *first >= 0 && end >= *first && end <= c->entries->length;
    *first += c->entries->offset;
    return sound;
}

const void *hr__arrow_plain(const hr__arrow_column *c, int64_t row)
{
    int64_t at = arrow_column_place_of(c, row);
    if (c->rows != c->entries) at = c->entries->offset + at * c->type->width;
    return (const char *)c->values->buffers[1] + (size_t)at * hr_dtype_size(c->type->values.dtype);
}

/* ---- values ---- */

hr__arrow_found hr__arrow_find(const hr__arrow_column *c, int64_t entry, int64_t *value)
{
    *value = entry;
    if (is_null(c->entries, entry)) return HR__ARROW_NULL;
    if (!c->type->coded) return HR__ARROW_VALUE;
    const bool sound = hr__integer_of(c->entries->buffers[1], c->type->codes.dtype, entry, value);
    if (!sound || *value < 0 || *value >= c->values->length) return HR__ARROW_NO_CODE;
    *value += c->values->offset;
    return is_null(c->values, *value) ? HR__ARROW_NULL : HR__ARROW_VALUE;
}

static bool whole_at(const hr__arrow_column *c, int64_t i, int64_t *value)
{
    if (c->type->values.form != HR__ARROW_BITS)
        return hr__integer_of(c->values->buffers[1], c->type->values.dtype, i, value);
    *value = arrow_column_bit(c->values->buffers[1], i);
    return true;
}

static double real_at(const hr__arrow_column *c, int64_t i)
{
    const void *values = c->values->buffers[1];
    if (c->type->values.dtype == HR_FLOAT) return (double)((const float *)values)[i];
    if (c->type->values.dtype == HR_DOUBLE) return ((const double *)values)[i];
    return (double)((const uint64_t *)values)[i]; /* one beyond int64 */
}

bool hr__arrow_number(const hr__arrow_column *c, int64_t value, hr_dtype dtype, void *to)
{
    const size_t size = hr_dtype_size(dtype);
    int64_t whole;
    if (dtype == c->type->values.dtype && c->type->values.form == HR__ARROW_FIXED) {
        memcpy(to, (const char *)c->values->buffers[1] + (size_t)value * size, size);
        return true;
    }
    if (whole_at(c, value, &whole)) return hr__store_integer(whole, dtype, to);
    memset(to, 0, size);
    if (dtype == HR_FLOAT) *(float *)to = (float)real_at(c, value);
    if (dtype == HR_DOUBLE) *(double *)to = real_at(c, value);
    return dtype == HR_FLOAT || dtype == HR_DOUBLE;
}

static bool offset_string(const struct ArrowArray *array, bool wide, int64_t value, hr_view *out)
{
    const int64_t first = offset_at(array->buffers[1], wide, value),
                  end = offset_at(array->buffers[1], wide, value + 1);
    if (first < 0 || end < first) return false;
    if (end > first) *out = (hr_view){(const char *)array->buffers[2] + first, end - first};
    return end == first || array->buffers[2] != NULL;
}

static bool view_string(const struct ArrowArray *array, int64_t value, hr_view *out)
{
    enum { SHORT = 12, SIZE = 0, NUMBER = 2, PLACE = 3 }; /* of the four numbers of a view, one is a prefix */
    int32_t view[4];
    const char *at = (const char *)array->buffers[1] + 16 * value;
    memcpy(view, at, sizeof view);
    const int64_t buffers = array->n_buffers - 3, *sizes = array->buffers[array->n_buffers - 1];
    if (view[SIZE] < 0) return false;
    if (view[SIZE] <= SHORT) {
        *out = (hr_view){at + 4, view[SIZE]};
        return true;
    }
    if (view[NUMBER] < 0 || view[NUMBER] >= buffers || view[PLACE] < 0 || !sizes || !array->buffers[2 + view[NUMBER]] ||
        view[PLACE] > sizes[view[NUMBER]] - view[SIZE])
        return false;
    *out = (hr_view){(const char *)array->buffers[2 + view[NUMBER]] + view[PLACE], view[SIZE]};
    return true;
}

bool hr__arrow_string(const hr__arrow_column *c, int64_t value, hr_view *out)
{
    const hr__arrow_values *values = &c->type->values;
    *out = (hr_view){"", 0};
    if (values->form == HR__ARROW_VIEWS) return view_string(c->values, value, out);
    if (values->form != HR__ARROW_BYTES)
        return offset_string(c->values, values->form == HR__ARROW_LARGE_STRINGS, value, out);
    *out = (hr_view){(const char *)c->values->buffers[1] + value * values->size, values->size};
    return true;
}
