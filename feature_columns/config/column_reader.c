/* What a kind's `read` calls: values of its mapping, fields of the schema, other columns. */
#include "feature_columns/config/columns_section.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *hr_config_name(const hr_config_reader *r) { return r->name; }

/* ---- by key ---- */

hr_status hr_config_int(const hr_config_reader *r, const char *key, int64_t min, int64_t max, int64_t *out,
                        hr_error *err)
{
    return hr__config_int64(r->map, key, min, max, out, err);
}

hr_status hr_config_uint(const hr_config_reader *r, const char *key, uint64_t *out, hr_error *err)
{
    return hr__config_uint64(r->map, key, out, err);
}

hr_status hr_config_double(const hr_config_reader *r, const char *key, double *out, hr_error *err)
{
    return hr__config_double(r->map, key, out, err);
}

hr_status hr_config_bool(const hr_config_reader *r, const char *key, bool *out, hr_error *err)
{
    return hr__config_bool(r->map, key, out, err);
}

hr_status hr_config_text(const hr_config_reader *r, const char *key, const char **out, hr_error *err)
{
    return hr__config_text(r->map, key, out, err);
}

hr_status hr_config_choice(const hr_config_reader *r, const char *key, const char *what, const char *const *names,
                           int64_t count, int64_t *out, hr_error *err)
{
    const hr__node *node = hr__node_get(r->map, key);
    return node ? hr__node_choice(node, what, names, count, out, err) : HR_OK;
}

hr_status hr_config_dtype(const hr_config_reader *r, hr_dtype *out, hr_error *err)
{
    const hr__node *node = hr__node_get(r->map, "dtype");
    const char *text;
    if (!node) return HR_OK;
    HR_TRY(hr__node_text(node, &text, err));
    const hr_dtype named = hr_dtype_named(text);
    if (named == HR_INVALID_DTYPE) return hr__node_expected(node, "a type, such as int64, float32 or string", err);
    *out = named;
    return HR_OK;
}

hr_status hr_config_shape(const hr_config_reader *r, const char *key, hr_shape *out, hr_error *err)
{
    const hr__node *node = hr__node_get(r->map, key);
    if (!node) return HR_OK;
    HR_TRY(hr__node_is(node, HR__SCALAR | HR__SEQUENCE, err));
    out->rank = node->kind == HR__SCALAR ? 1 : (int)node->count;
    if (node->kind == HR__SCALAR) return hr__node_int64(node, 1, INT32_MAX, &out->dims[0], err);
    if (node->count < 1 || node->count > HR_MAX_RANK) return hr__node_expected(node, "one to eight dimensions", err);
    for (int i = 0; i < out->rank; i++) HR_TRY(hr__node_int64(node->item[i], 1, INT32_MAX, &out->dims[i], err));
    return HR_OK;
}

/* ---- values ---- */

const hr_config_value *hr_config_get(const hr_config_reader *r, const char *key) { return hr__node_get(r->map, key); }

hr_status hr_config_need(const hr_config_reader *r, const char *key, const hr_config_value **out, hr_error *err)
{
    return hr__node_need(r->map, key, out, err);
}

const hr_config_value *hr_config_mapping(const hr_config_reader *r) { return r->map; }

bool hr_config_is_list(const hr_config_value *value) { return value->kind == HR__SEQUENCE; }

hr_status hr_config_items(const hr_config_value *list, int64_t *count, hr_error *err)
{
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    *count = list->count;
    return HR_OK;
}

const hr_config_value *hr_config_item(const hr_config_value *list, int64_t i) { return list->item[i]; }

hr_status hr_config_value_int(const hr_config_value *value, int64_t min, int64_t max, int64_t *out, hr_error *err)
{
    return hr__node_int64(value, min, max, out, err);
}

hr_status hr_config_value_double(const hr_config_value *value, double *out, hr_error *err)
{
    return hr__node_double(value, out, err);
}

hr_status hr_config_value_text(const hr_config_value *value, const char **out, hr_error *err)
{
    return hr__node_text(value, out, err);
}

hr_status hr_config_value_bytes(const hr_config_value *value, hr_view *out, hr_error *err)
{
    HR_TRY(hr__node_is(value, HR__SCALAR, err));
    *out = (hr_view){value->text, (int64_t)value->size};
    return HR_OK;
}

const char *hr_config_after(const hr_config_value *value, const char *word)
{
    const size_t size = strlen(word);
    if (value->kind != HR__SCALAR || strncmp(value->text, word, size) != 0 || value->text[size] != ' ') return NULL;
    const char *text = value->text + size;
    while (*text == ' ') text++;
    return *text ? text : NULL;
}

hr_status hr_config_fail(const hr_config_value *value, hr_error *err, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hr__node_fail(value, err, HR_INVALID_ARGUMENT, "config.value", "%s", text);
}

hr_status hr_config_expected(const hr_config_value *value, const char *expected, hr_error *err)
{
    return hr__node_expected(value, expected, err);
}

/* ---- fields and columns ---- */

hr_status hr_config_field(const hr_config_reader *r, const hr_config_value *name, hr_dtype *dtype, hr_error *err)
{
    const char *text;
    HR_TRY(hr__node_text(name, &text, err));
    return hr__config_field_type(r->columns, name, text, dtype, err);
}

hr_status hr_config_own_field(const hr_config_reader *r, const char **field, hr_dtype *dtype, hr_error *err)
{
    const hr__node *given = hr__node_get(r->map, "field");
    *field = r->name;
    if (given) HR_TRY(hr__node_text(given, field, err));
    if (!*field)
        return hr__node_fail(r->map, err, HR_INVALID_ARGUMENT, "config.missing_key", "expected the key 'field'");
    HR_TRY(hr__config_field_type(r->columns, given ? given : r->map, *field, dtype, err));
    if (!hr__config_default_of(r->columns, *field)) return HR_OK;
    return hr__node_fail(r->map, err, HR_INVALID_ARGUMENT, "config.value",
                         "expected no default for the field '%s', which a categorical column reads: there a missing "
                         "value counts for nothing; take it out of schema.default",
                         *field);
}

const hr_config_value *hr_config_field_default(const hr_config_reader *r, const char *field)
{
    return hr__config_default_of(r->columns, field);
}

hr_status hr_config_column(hr_config_reader *r, const hr_config_value *name, hr_feature_column **out, hr_error *err)
{
    const char *text;
    HR_TRY(hr__node_text(name, &text, err));
    const char *after = hr_config_after(name, "column");
    return hr__config_named(r->columns, name, after ? after : text, out, err);
}

hr_status hr_config_column_named(hr_config_reader *r, const hr_config_value *at, const char *name,
                                 hr_feature_column **out, hr_error *err)
{
    return hr__config_named(r->columns, at, name, out, err);
}
