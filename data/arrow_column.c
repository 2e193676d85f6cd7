/* See arrow_column.h. */
#include "data/arrow_column.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool bit(const uint8_t *bits, int64_t i) { return bits[i / 8] >> i % 8 & 1; }

/* ---- making out a column ---- */

static const struct {
    char format;
    hr_dtype dtype;
    int buffers;
    bool wide;
} types[] = {
    {'b', HR_BOOL, 2, false},   {'c', HR_INT8, 2, false},  {'C', HR_UINT8, 2, false},  {'s', HR_INT16, 2, false},
    {'S', HR_UINT16, 2, false}, {'i', HR_INT32, 2, false}, {'I', HR_UINT32, 2, false}, {'l', HR_INT64, 2, false},
    {'L', HR_UINT64, 2, false}, {'f', HR_FLOAT, 2, false}, {'g', HR_DOUBLE, 2, false}, {'u', HR_STRING, 3, false},
    {'z', HR_STRING, 3, false}, {'U', HR_STRING, 3, true}, {'Z', HR_STRING, 3, true},
};

static hr_status refuse_format(const struct ArrowSchema *column, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.format",
                   "from_arrow: column '%.60s': expected numbers, booleans, strings, or lists of them, got the format "
                   "'%.20s'%s; cast it first",
                   column->name ? column->name : "", column->format, column->dictionary ? " with a dictionary" : "");
}

static hr_status refuse_array(const struct ArrowSchema *column, const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                   "from_arrow: column '%.60s': expected an array that fits its format '%.20s', got one %s",
                   column->name ? column->name : "", column->format, what);
}

static hr_status open_values(const struct ArrowSchema *column, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, hr__arrow_column *out, hr_error *err)
{
    size_t t = 0;
    while (t < sizeof types / sizeof *types && schema->format[0] != types[t].format) t++;
    if (t == sizeof types / sizeof *types || schema->format[1] || schema->dictionary) return refuse_format(column, err);
    if (array->n_buffers != types[t].buffers) return refuse_array(column, "with another number of buffers", err);
    if (array->length > 0 && !array->buffers[1]) return refuse_array(column, "without values", err);
    out->dtype = types[t].dtype;
    out->wide_strings = types[t].wide;
    out->values = array;
    return HR_OK;
}

/* +l, +L and +w:N: a list's own buffers are validity and offsets. */
static hr_status open_list(const struct ArrowSchema *schema, const struct ArrowArray *array, hr__arrow_column *out,
                           hr_error *err)
{
    const char *format = schema->format;
    const bool fixed = strncmp(format, "+w:", 3) == 0;
    if (!fixed && strcmp(format, "+l") != 0 && strcmp(format, "+L") != 0) return refuse_format(schema, err);
    if (schema->n_children != 1 || array->n_children != 1 || array->n_buffers != (fixed ? 1 : 2))
        return refuse_array(schema, "with another number of children or buffers", err);
    out->width = fixed ? strtoll(format + 3, NULL, 10) : -1;
    out->wide = format[1] == 'L';
    if (fixed && out->width < 1) return refuse_format(schema, err);
    if (fixed && array->children[0]->length / out->width < array->offset + array->length)
        return refuse_array(schema, "with too few values", err);
    if (!fixed && array->length > 0 && !array->buffers[1]) return refuse_array(schema, "without offsets", err);
    return open_values(schema, schema->children[0], array->children[0], out, err);
}

static bool has_nulls(const struct ArrowArray *array) { return array->buffers[0] && array->null_count != 0; }

hr_status hr__arrow_column_open(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t child,
                                hr__arrow_column *out, hr_error *err)
{
    const struct ArrowSchema *of = schema->children[child];
    const struct ArrowArray *rows = array->children[child];
    *out = (hr__arrow_column){.name = of->name ? of->name : "", .width = 1, .rows = rows};
    out->table_valid = array->n_buffers > 0 && has_nulls(array) ? array->buffers[0] : NULL;
    out->table_offset = array->offset;
    HR_TRY(of->format[0] == '+' ? open_list(of, rows, out, err) : open_values(of, of, rows, out, err));
    if (rows->length < array->offset + array->length) return refuse_array(of, "with too few rows", err);
    out->plain = out->width > 0 && out->dtype != HR_STRING && out->dtype != HR_BOOL && !out->table_valid &&
                 !has_nulls(rows) && !has_nulls(out->values);
    return HR_OK;
}

/* ---- rows and values ---- */

static int64_t offset_at(const struct ArrowArray *array, bool wide, int64_t i)
{
    return wide ? ((const int64_t *)array->buffers[1])[i] : ((const int32_t *)array->buffers[1])[i];
}

bool hr__arrow_row(const hr__arrow_column *c, int64_t row, int64_t *first, int64_t *count)
{
    const int64_t at = c->rows->offset + c->table_offset + row;
    *first = *count = -1;
    if (c->table_valid && !bit(c->table_valid, c->table_offset + row)) return true;
    if (c->rows->buffers[0] && !bit(c->rows->buffers[0], at)) return true;
    if (c->rows == c->values) {
        *first = at;
        *count = 1;
        return true;
    }
    *first = c->width >= 0 ? at * c->width : offset_at(c->rows, c->wide, at);
    const int64_t end = c->width >= 0 ? *first + c->width : offset_at(c->rows, c->wide, at + 1);
    *count = end - *first;
    const bool sound = *first >= 0 && end >= *first && end <= c->values->length;
    *first += c->values->offset;
    return sound;
}

bool hr__arrow_is_null(const hr__arrow_column *c, int64_t value)
{
    return c->values->buffers[0] && !bit(c->values->buffers[0], value);
}

const void *hr__arrow_plain(const hr__arrow_column *c, int64_t row)
{
    int64_t at = c->rows->offset + c->table_offset + row;
    if (c->rows != c->values) at = c->values->offset + at * c->width;
    return (const char *)c->values->buffers[1] + (size_t)at * hr_dtype_size(c->dtype);
}

static bool is_real(hr_dtype dtype) { return dtype == HR_FLOAT || dtype == HR_DOUBLE; }

bool hr__arrow_converts(hr_dtype from, hr_dtype to)
{
    if (from == to) return true;
    if (from == HR_STRING || to == HR_STRING) return false;
    return is_real(to) || (!is_real(from) && (to == HR_INT32 || to == HR_INT64));
}

/* False: above what int64 holds. */
static bool whole_at(const hr__arrow_column *c, int64_t i, int64_t *value)
{
    const void *values = c->values->buffers[1];
    switch (c->dtype) {
    case HR_BOOL:
        *value = bit(values, i);
        break;
    case HR_INT8:
        *value = ((const int8_t *)values)[i];
        break;
    case HR_UINT8:
        *value = ((const uint8_t *)values)[i];
        break;
    case HR_INT16:
        *value = ((const int16_t *)values)[i];
        break;
    case HR_UINT16:
        *value = ((const uint16_t *)values)[i];
        break;
    case HR_INT32:
        *value = ((const int32_t *)values)[i];
        break;
    case HR_UINT32:
        *value = ((const uint32_t *)values)[i];
        break;
    default:
        *value = ((const int64_t *)values)[i];
    }
    return c->dtype != HR_UINT64 || *value >= 0;
}

static double real_at(const hr__arrow_column *c, int64_t i)
{
    const void *values = c->values->buffers[1];
    int64_t whole;
    if (c->dtype == HR_FLOAT) return (double)((const float *)values)[i];
    if (c->dtype == HR_DOUBLE) return ((const double *)values)[i];
    return whole_at(c, i, &whole) ? (double)whole : (double)((const uint64_t *)values)[i];
}

bool hr__arrow_number(const hr__arrow_column *c, int64_t value, hr_dtype dtype, void *to)
{
    const size_t size = hr_dtype_size(dtype);
    int64_t whole;
    if (dtype == c->dtype && dtype != HR_BOOL) {
        memcpy(to, (const char *)c->values->buffers[1] + (size_t)value * size, size);
    } else if (dtype == HR_FLOAT) {
        *(float *)to = !is_real(c->dtype) && whole_at(c, value, &whole) ? (float)whole : (float)real_at(c, value);
    } else if (dtype == HR_DOUBLE) {
        *(double *)to = real_at(c, value);
    } else {
        memset(to, 0, size);
        if (!whole_at(c, value, &whole)) return false;
        if (dtype == HR_INT32 && (whole < INT32_MIN || whole > INT32_MAX)) return false;
        if (dtype == HR_INT32)
            *(int32_t *)to = (int32_t)whole;
        else if (dtype == HR_INT64)
            *(int64_t *)to = whole;
        else
            *(uint8_t *)to = (uint8_t)whole; /* a boolean */
    }
    return true;
}

bool hr__arrow_string(const hr__arrow_column *c, int64_t value, hr_view *out)
{
    const int64_t first = offset_at(c->values, c->wide_strings, value),
                  end = offset_at(c->values, c->wide_strings, value + 1);
    *out = (hr_view){"", 0};
    if (first < 0 || end < first) return false;
    if (end > first) *out = (hr_view){(const char *)c->values->buffers[2] + first, end - first};
    return end == first || c->values->buffers[2] != NULL;
}
