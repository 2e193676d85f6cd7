/* What mappings are made of: pairs, lists, and values in as few bytes as give them back. */
#include "feature_columns/config/config_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- scalars ---- */

static bool write_values_is_plain(hr_view text)
{
    static const char *const words[] = {"true", "false", "yes", "no",  "on",  "off",
                                        "null", "y",     "n",   "nan", "inf", NULL};
    const char first = text.size > 0 ? text.data[0] : '\0';
    if (text.size > 60 || !((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_'))
        return false;
    if (text.data[text.size - 1] == ' ') return false;
    for (int64_t i = 0; i < text.size; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./ ", text.data[i])) return false;
    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == (size_t)text.size && strncasecmp(words[i], text.data, (size_t)text.size) == 0)
            return false;
    return true;
}

/* Valid UTF-8 comes back as it is; other bytes would be replaced. */
static void put_scalar(hr__column_writer *w, hr_view text)
{
    if (write_values_is_plain(text)) {
        hr__text_bytes(&w->text, text.data, (size_t)text.size);
        return;
    }
    const size_t before = w->text.size;
    hr__text_json(&w->text, text.data, (size_t)text.size);
    static const char replaced[] = "\xef\xbf\xbd";
    for (size_t i = before; !w->text.failed && i + 3 <= w->text.size; i++)
        if (memcmp(w->text.data + i, replaced, 3) == 0) hr__write_impossible(w, "bytes that are not UTF-8");
}

void hr__write_scalar(hr__column_writer *w, const char *text) { put_scalar(w, (hr_view){text, (int64_t)strlen(text)}); }

/* As few digits as give the number back, as a float or as a double. */
static void write_values_put_number(hr__column_writer *w, double value, bool single)
{
    char text[40];
    if (!isfinite(value)) {
        hr__text_add(&w->text, isnan(value) ? ".nan" : value > 0 ? ".inf" : "-.inf");
        return;
    }
    for (int digits = 6; digits <= (single ? 9 : 17); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        const double back = strtod(text, NULL);
        if ((single ? (double)(float)back : back) == value) break;
    }
    hr__text_add(&w->text, text);
}

static void write_values_put_float(hr__column_writer *w, float value)
{
    write_values_put_number(w, (double)value, true);
}

/* ---- pairs and items ---- */

static void next(hr__column_writer *w)
{
    if (!w->first) hr__text_add(&w->text, ", ");
    w->first = false;
}

void hr__write_key(hr__column_writer *w, const char *key)
{
    next(w);
    hr__text_printf(&w->text, "%s: ", key);
}

void hr__write_text(hr__column_writer *w, const char *key, const char *text)
{
    hr__write_key(w, key);
    hr__write_scalar(w, text);
}

void hr__write_int(hr__column_writer *w, const char *key, int64_t value)
{
    hr__write_key(w, key);
    hr__text_printf(&w->text, "%lld", (long long)value);
}

void hr__write_uint(hr__column_writer *w, const char *key, uint64_t value)
{
    hr__write_key(w, key);
    hr__text_printf(&w->text, "%llu", (unsigned long long)value);
}

void hr__write_float(hr__column_writer *w, const char *key, float value)
{
    hr__write_key(w, key);
    write_values_put_float(w, value);
}

void hr__write_double(hr__column_writer *w, const char *key, double value)
{
    hr__write_key(w, key);
    write_values_put_number(w, value, false);
}

void hr__write_true(hr__column_writer *w, const char *key)
{
    hr__write_key(w, key);
    hr__text_add(&w->text, "true");
}

void hr__write_false(hr__column_writer *w, const char *key)
{
    hr__write_key(w, key);
    hr__text_add(&w->text, "false");
}

void hr__write_begin_list(hr__column_writer *w, const char *key)
{
    hr__write_key(w, key);
    hr__text_byte(&w->text, '[');
    w->first = true;
}

void hr__write_end_list(hr__column_writer *w)
{
    hr__text_byte(&w->text, ']');
    w->first = false;
}

void hr__write_item_text(hr__column_writer *w, hr_view text)
{
    next(w);
    put_scalar(w, text);
}

void hr__write_item_int(hr__column_writer *w, int64_t value)
{
    next(w);
    hr__text_printf(&w->text, "%lld", (long long)value);
}

void hr__write_floats(hr__column_writer *w, const char *key, const float *values, int64_t count)
{
    hr__write_begin_list(w, key);
    for (int64_t i = 0; i < count; i++) {
        next(w);
        write_values_put_float(w, values[i]);
    }
    hr__write_end_list(w);
}

void hr__write_ints(hr__column_writer *w, const char *key, const int64_t *values, int64_t count)
{
    hr__write_begin_list(w, key);
    for (int64_t i = 0; i < count; i++) hr__write_item_int(w, values[i]);
    hr__write_end_list(w);
}

void hr__write_shape(hr__column_writer *w, const char *key, hr_shape shape)
{
    hr__write_ints(w, key, shape.dims, shape.rank);
}

void hr__write_own_field(hr__column_writer *w, const char *key)
{
    if (strcmp(key, w->own_name) != 0) hr__write_text(w, "field", key);
}

void hr__write_dtype(hr__column_writer *w, hr_dtype dtype)
{
    if (dtype != HR_INT64 && dtype != HR_FLOAT && dtype != HR_STRING) hr__write_text(w, "dtype", hr_dtype_name(dtype));
}
