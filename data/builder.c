/* Elements that users' functions make. Where the first dimension of a component varies, the values of its rows follow
 * one another, so rows are made in order and each may be made again until the next one begins. */
#include <headrace/op_functions.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char nothing[64]; /* what an empty string points to: 64 bytes after it may be read */

/* ---- schemas ---- */

static bool varies_in_front(const hr_field *f)
{
    if (f->shape.rank < 1 || f->shape.dims[0] >= 0) return false;
    for (int i = 1; i < f->shape.rank; i++)
        if (f->shape.dims[i] < 0) return false;
    return true;
}

hr_status hr_builder_check(const char *name, const char *kind, const hr_schema *made, hr_error *err)
{
    for (int i = 0; i < made->fields; i++)
        if (!hr_field_fixed(&made->field[i]) && !varies_in_front(&made->field[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, kind,
                           "%s: component '%.60s': expected a shape that is known but for its first dimension; name "
                           "what the function makes in .output",
                           name, made->field[i].name);
    return HR_OK;
}

hr_status hr_builder_schema(const hr_schema *made, hr_schema_builder *out, hr_error *err)
{
    hr_schema_clear(out);
    for (int i = 0; i < made->fields; i++) HR_TRY(hr_schema_add(out, made->field[i], err));
    return HR_OK;
}

/* ---- nothing yet ---- */

static void zero_values(void *values, hr_dtype dtype, size_t count)
{
    hr_view *view = values;
    if (count) memset(values, 0, count * hr_dtype_size(dtype));
    for (size_t v = 0; dtype == HR_STRING && v < count; v++) view[v].data = nothing;
}

void hr_builder_zero(hr_columns *rows, int64_t first, int64_t end)
{
    for (int i = 0; i < rows->schema->fields; i++) {
        const hr_field *f = &rows->schema->field[i];
        if (!hr_field_fixed(f)) continue;
        const size_t width = hr_field_width(f);
        zero_values((char *)rows->column[i].values + (size_t)first * width, f->dtype,
                    (size_t)(end - first) * width / hr_dtype_size(f->dtype));
    }
}

void hr_builder_begin(hr_builder *out)
{
    for (int i = 0; i < out->rows->schema->fields; i++) {
        hr_column *column = &out->rows->column[i];
        if (!column->splits[0]) continue;
        column->count = column->splits[0][out->first];
        for (int64_t r = out->first; r < out->end; r++) column->splits[0][r + 1] = column->splits[0][r];
    }
}

hr_status hr_builder_status(const hr_builder *out, hr_call *call, const char *name, hr_status returned)
{
    if (out->no_memory) return hr_no_memory(&call->err, "what a function makes");
    if (returned >= 0 || call->err.code < 0) return returned;
    return hr_fail(&call->err, returned, call->kind, "%s: the function failed (%s) without saying why", name,
                   hr_status_name(returned));
}

/* ---- what the function may call ---- */

static int field_named(hr_builder *out, const char *name)
{
    const hr_schema *schema = out->rows->schema;
    for (int n = 0, i = out->hint; n < schema->fields; n++, i++) {
        if (i >= schema->fields) i = 0;
        if (strcmp(schema->field[i].name, name) != 0) continue;
        out->hint = i + 1;
        return i;
    }
    return -1;
}

static size_t value_size(const hr_builder *out, int field)
{
    return hr_dtype_size(out->rows->schema->field[field].dtype);
}

static int64_t first_value(const hr_builder *out, int field)
{
    const hr_field *f = &out->rows->schema->field[field];
    if (!hr_field_fixed(f)) return out->rows->column[field].splits[0][out->first];
    return out->first * (int64_t)(hr_field_width(f) / hr_dtype_size(f->dtype));
}

void *hr_set(hr_builder *out, const char *name)
{
    const int i = field_named(out, name);
    if (i < 0 || !hr_field_fixed(&out->rows->schema->field[i])) return NULL;
    return (char *)out->rows->column[i].values + (size_t)first_value(out, i) * value_size(out, i);
}

void *hr_set_count(hr_builder *out, const char *name, int64_t count)
{
    const int i = field_named(out, name);
    const hr_field *f = i < 0 ? NULL : &out->rows->schema->field[i];
    if (!f || hr_field_fixed(f) || out->end - out->first != 1 || count < 0) return NULL;
    for (int d = 1; d < f->shape.rank; d++) count *= f->shape.dims[d];
    hr_column *column = &out->rows->column[i];
    const int64_t first = first_value(out, i);
    column->count = first;
    if (first + count > INT32_MAX || hr_grow_column(out->work, out->rows, i, first + count + 1, NULL) != HR_OK) {
        out->no_memory = true;
        return NULL;
    }
    char *values = (char *)column->values + (size_t)first * value_size(out, i);
    zero_values(values, f->dtype, (size_t)count);
    column->count = column->splits[0][out->first + 1] = (int32_t)(first + count);
    return values;
}

/* How many values the element has in that component. */
static int64_t builder_values_of(const hr_builder *out, int field)
{
    const hr_field *f = &out->rows->schema->field[field];
    if (!hr_field_fixed(f)) return out->rows->column[field].count - first_value(out, field);
    return (out->end - out->first) * (int64_t)(hr_field_width(f) / hr_dtype_size(f->dtype));
}

hr_status hr_set_string_at(hr_builder *out, const char *name, int64_t at, const void *data, int64_t size)
{
    const int i = field_named(out, name);
    if (i < 0 || size < 0 || out->rows->schema->field[i].dtype != HR_STRING) return HR_INVALID_ARGUMENT;
    if (at < 0 || at >= builder_values_of(out, i)) return HR_INVALID_ARGUMENT;
    hr_view *view = (hr_view *)out->rows->column[i].values + first_value(out, i) + at;
    *view = (hr_view){nothing, 0};
    if (size == 0) return HR_OK;
    char *bytes = out->work ? hr_row_text(out->work, out->rows, (size_t)size) : hr_unit_bytes(out->plan, (size_t)size);
    out->no_memory |= bytes == NULL;
    if (!bytes) return HR_RESOURCE_EXHAUSTED;
    memcpy(bytes, data, (size_t)size);
    *view = (hr_view){bytes, size};
    return HR_OK;
}

hr_status hr_set_string(hr_builder *out, const char *name, const void *data, int64_t size)
{
    return hr_set_string_at(out, name, 0, data, size);
}

uint64_t hr_call_random(hr_call *call, uint64_t n)
{
    if (call->work) return hr_call_random_of(call, call->row < 0 ? 0 : call->row, n);
    return hr_random(call->key, n);
}

uint64_t hr_call_random_of(hr_call *call, int64_t row, uint64_t n)
{
    return hr_random(hr_row_key(call->work, call->rows, row, call->seed), n);
}

/* A failure noted before, of a later row, is dropped: the first failed row counts. */
hr_status hr_call_fail_row(hr_call *call, int64_t row, hr_status code, const char *format, ...)
{
    hr_error err;
    char text[sizeof err.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hr_fail(&err, code < 0 ? code : HR_UNKNOWN, call->kind, "%s", text);
    hr_fail_at(call->work, call->rows, row, &err);
    return HR_OK;
}

hr_status hr_call_fail(hr_call *call, hr_status code, const char *format, ...)
{
    char text[sizeof call->err.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hr_fail(&call->err, code < 0 ? code : HR_UNKNOWN, call->kind, "%s", text);
}
