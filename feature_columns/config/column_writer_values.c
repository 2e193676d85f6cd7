/* Writes the pairs, lists and values of a mapping. Numbers have as few digits as read back to the same value. */
#include "feature_columns/config/column_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what goes wrong ---- */

void hr__write_fail(hr_config_writer *w, hr_status status)
{
    if (w->status == HR_OK) w->status = status;
}

void hr_config_write_impossible(hr_config_writer *w, const char *what)
{
    if (w->status == HR_OK)
        hr__write_fail(w, hr_fail(w->err, HR_INVALID_ARGUMENT, "column.write",
                                  "column '%.60s': expected a column that a config file can describe, got %s",
                                  w->own_name, what));
}

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

/* Refuses bytes that are not UTF-8: reading the text would not give them back. */
static void put_scalar(hr_config_writer *w, hr_view text)
{
    if (write_values_is_plain(text)) {
        hr__text_bytes(&w->text, text.data, (size_t)text.size);
        return;
    }
    const size_t before = w->text.size;
    hr__text_json(&w->text, text.data, (size_t)text.size);
    static const char replaced[] = "\xef\xbf\xbd";
    for (size_t i = before; !w->text.failed && i + 3 <= w->text.size; i++)
        if (memcmp(w->text.data + i, replaced, 3) == 0) hr_config_write_impossible(w, "bytes that are not UTF-8");
}

void hr__write_scalar(hr_config_writer *w, const char *text)
{
    if (text)
        put_scalar(w, (hr_view){text, (int64_t)strlen(text)});
    else
        hr_config_write_impossible(w, "NULL");
}

/* As few digits as give the number back, as a float or as a double. */
static void write_values_put_number(hr_config_writer *w, double value, bool single)
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

static void write_values_put_float(hr_config_writer *w, float value)
{
    write_values_put_number(w, (double)value, true);
}

/* ---- pairs and items ---- */

static void next(hr_config_writer *w)
{
    if (!w->first) hr__text_add(&w->text, ", ");
    w->first = false;
}

void hr__write_key(hr_config_writer *w, const char *key)
{
    next(w);
    hr__text_printf(&w->text, "%s: ", key);
}

void hr_config_write_text(hr_config_writer *w, const char *key, const char *text)
{
    hr__write_key(w, key);
    hr__write_scalar(w, text);
}

void hr_config_write_int(hr_config_writer *w, const char *key, int64_t value)
{
    hr__write_key(w, key);
    hr__text_printf(&w->text, "%lld", (long long)value);
}

void hr_config_write_uint(hr_config_writer *w, const char *key, uint64_t value)
{
    hr__write_key(w, key);
    hr__text_printf(&w->text, "%llu", (unsigned long long)value);
}

void hr_config_write_float(hr_config_writer *w, const char *key, float value)
{
    hr__write_key(w, key);
    write_values_put_float(w, value);
}

void hr_config_write_double(hr_config_writer *w, const char *key, double value)
{
    hr__write_key(w, key);
    write_values_put_number(w, value, false);
}

void hr_config_write_bool(hr_config_writer *w, const char *key, bool value)
{
    hr__write_key(w, key);
    hr__text_add(&w->text, value ? "true" : "false");
}

void hr_config_begin_list(hr_config_writer *w, const char *key)
{
    hr__write_key(w, key);
    hr__text_byte(&w->text, '[');
    w->first = true;
}

void hr_config_end_list(hr_config_writer *w)
{
    hr__text_byte(&w->text, ']');
    w->first = false;
}

void hr_config_item_text(hr_config_writer *w, hr_view text)
{
    next(w);
    put_scalar(w, text);
}

void hr_config_item_int(hr_config_writer *w, int64_t value)
{
    next(w);
    hr__text_printf(&w->text, "%lld", (long long)value);
}

void hr_config_write_floats(hr_config_writer *w, const char *key, const float *values, int64_t count)
{
    hr_config_begin_list(w, key);
    for (int64_t i = 0; i < count; i++) {
        next(w);
        write_values_put_float(w, values[i]);
    }
    hr_config_end_list(w);
}

void hr_config_write_ints(hr_config_writer *w, const char *key, const int64_t *values, int64_t count)
{
    hr_config_begin_list(w, key);
    for (int64_t i = 0; i < count; i++) hr_config_item_int(w, values[i]);
    hr_config_end_list(w);
}

void hr_config_write_shape(hr_config_writer *w, const char *key, hr_shape shape)
{
    if (shape.rank < 0 || shape.rank > HR_MAX_RANK)
        hr_config_write_impossible(w, "a shape without dimensions");
    else
        hr_config_write_ints(w, key, shape.dims, shape.rank);
}

void hr_config_write_own_field(hr_config_writer *w, const char *key)
{
    if (strcmp(key, w->own_name) != 0) hr_config_write_text(w, "field", key);
}

void hr_config_write_dtype(hr_config_writer *w, hr_dtype dtype)
{
    if (dtype != HR_INT64 && dtype != HR_FLOAT && dtype != HR_STRING)
        hr_config_write_text(w, "dtype", hr_dtype_name(dtype));
}
