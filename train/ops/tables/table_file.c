/* Tables from text files, by TensorFlow's rules: a line is a key, or its columns are key and value. The bytes of the
 * file stay in memory, and the table's strings lie in them. */
#include "base/number.h"
#include "train/ops/tables/table_store.h"
#include <headrace/io.h>

#include <string.h>

/* ---- which types go ---- */

hr_status hr__table_check_lines(const hr__table_type *type, const hr__table_lines *lines, hr_error *err)
{
    const bool text = type->key == HR_STRING, number = type->key == HR_INT32 || type->key == HR_INT64;
    const char *wrong = NULL;
    if (lines->key == HR__LINE_NUMBER && type->key != HR_INT64)
        wrong = "Key index for line number requires table key dtype of int64";
    if (lines->key == HR__WHOLE_LINE && !text && !number)
        wrong = "Key index for whole line requires string or integer table key";
    if (lines->value == HR__LINE_NUMBER && type->value != HR_INT64)
        wrong = "Value index for line number requires table value dtype of int64";
    if (lines->value == HR__WHOLE_LINE && type->value != HR_STRING)
        wrong = "Value index for whole line requires table value dtype of string";
    if (type->value != HR_STRING && type->value != HR_INT32 && type->value != HR_INT64 && type->value != HR_FLOAT &&
        type->value != HR_DOUBLE)
        wrong = "expected values of string, int32, int64, float32 or float64";
    if (!wrong) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "table.type", "%s, got a table of %s to %s", wrong,
                   hr_dtype_name(type->key), hr_dtype_name(type->value));
}

/* ---- the file's bytes ---- */

static hr_status read_all(hr_input *in, char **data, size_t *size, hr_error *err)
{
    size_t capacity = 0;
    for (;;) {
        const char *next;
        size_t more;
        HR_TRY(hr_input_peek(in, 1, &next, &more, err));
        if (more == 0) return HR_OK;
        if (*size + more > capacity) {
            capacity = 2 * (*size + more);
            char *grown = hr_realloc(*data, capacity);
            if (!grown) return hr_no_memory(err, "a vocabulary");
            *data = grown;
        }
        memcpy(*data + *size, next, more);
        *size += more;
        hr_input_consume(in, more);
    }
}

/* Into memory of the table. */
static hr_status take_file(hr__table *t, const char *path, hr_view *out, hr_error *err)
{
    hr_input *in;
    char *data = NULL;
    size_t size = 0;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    HR_TRY(hr_input_open_with(path, &opts, &in, err));
    hr_status st = read_all(in, &data, &size, err);
    hr_input_free(in);
    char *own = st == HR_OK ? hr__table_text_space(t, size) : NULL;
    if (st == HR_OK && !own) st = hr_no_memory(err, "a vocabulary");
    if (st == HR_OK && size) memcpy(own, data, size);
    *out = (hr_view){own, (int64_t)size};
    hr_free(data);
    return st;
}

/* ---- lines ---- */

typedef struct line_reader {
    hr__table *t;
    const hr__table_lines *lines;
    const char *path;
    int64_t number; /* of the line, from 0 */
    hr_error *err;
} line_reader;

static int64_t count_lines(hr_view text, int64_t most)
{
    int64_t n = 0;
    const char *end = text.data + text.size;
    for (const char *at = text.data; at < end && (most < 0 || n < most); n++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    return n;
}

/* Column `index`; false: there are not so many. */
static bool column_at(hr_view line, char delimiter, int64_t index, hr_view *out, int64_t *columns)
{
    const char *at = line.data, *end = line.data + line.size;
    for (*columns = 1;; ++*columns) {
        const char *stop = memchr(at, delimiter, (size_t)(end - at));
        *out = (hr_view){at, (stop ? stop : end) - at};
        if (*columns > index) return true;
        if (!stop) return false;
        at = stop + 1;
    }
}

static hr_status field_of(const line_reader *r, hr_view line, int64_t index, hr_view *out)
{
    int64_t columns, most = r->lines->key > r->lines->value ? r->lines->key : r->lines->value;
    *out = line;
    if (index < 0 || column_at(line, r->lines->delimiter, index, out, &columns)) return HR_OK;
    return hr_fail(r->err, HR_INVALID_ARGUMENT, "table.file",
                   "Invalid number of columns in %.200s line %lld (%.*s) : expected at least %lld got %lld", r->path,
                   (long long)r->number, (int)(line.size < 60 ? line.size : 60), line.data, (long long)(most + 1),
                   (long long)columns);
}

static hr_status parse_field(const line_reader *r, hr_view field, hr_dtype dtype, void *out)
{
    hr__parsed parsed = HR__NO_NUMBER;
    const size_t size = (size_t)field.size;
    if (dtype == HR_INT32) parsed = hr__parse_int32(field.data, size, HR__NUMBER_TF_COMPAT, out);
    if (dtype == HR_INT64) parsed = hr__parse_int64(field.data, size, HR__NUMBER_TF_COMPAT, out);
    if (dtype == HR_FLOAT) parsed = hr__parse_float(field.data, size, HR__NUMBER_TF_COMPAT, out);
    if (dtype == HR_DOUBLE) parsed = hr__parse_double(field.data, size, HR__NUMBER_TF_COMPAT, out);
    if (parsed == HR__PARSED) return HR_OK;
    return hr_fail(r->err, HR_INVALID_ARGUMENT, "table.file", "%.200s: Field %.*s in line %lld is not a valid %s.",
                   r->path, (int)(size < 60 ? size : 60), field.data, (long long)r->number, hr_dtype_name(dtype));
}

static hr_status read_line(const line_reader *r, hr_view line)
{
    hr_view field;
    union {
        hr_view text;
        int64_t number;
        double real;
    } key = {.number = 0}, value = {.number = 0};
    const hr_dtype key_type = r->t->type.key, value_type = r->t->type.value;
    HR_TRY(field_of(r, line, r->lines->key, &field));
    if (r->lines->key == HR__LINE_NUMBER)
        key.number = r->number + r->lines->offset;
    else if (key_type == HR_STRING)
        key.text = field;
    else
        HR_TRY(parse_field(r, field, key_type, &key));
    HR_TRY(field_of(r, line, r->lines->value, &field));
    if (r->lines->value == HR__LINE_NUMBER)
        value.number = r->number + r->lines->offset;
    else if (value_type == HR_STRING)
        value.text = field;
    else
        HR_TRY(parse_field(r, field, value_type, &value));
    const hr__table_key entry = hr__table_key_of(key_type, &key, 0);
    return hr__table_put(r->t, &entry, &value, false, r->err);
}

static hr_status read_lines(line_reader *r, hr_view text, int64_t count)
{
    const char *at = text.data, *end = text.data + text.size;
    for (; r->number < count; r->number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        hr_view line = {at, (stop ? stop : end) - at};
        at = stop ? stop + 1 : end;
        if (stop && line.size > 0 && line.data[line.size - 1] == '\r') line.size--;
        if (line.size == 0)
            return hr_fail(r->err, HR_INVALID_ARGUMENT, "table.file",
                           "Invalid content in %.200s: empty line found at position %lld.", r->path,
                           (long long)(at - text.data));
        HR_TRY(read_line(r, line));
    }
    return HR_OK;
}

hr_status hr__table_read(hr__table *t, const char *path, const hr__table_lines *lines, hr_error *err)
{
    hr_view text;
    line_reader r = {.t = t, .lines = lines, .path = path, .err = err};
    HR_TRY(take_file(t, path, &text, err));
    const int64_t count = count_lines(text, lines->vocab_size);
    if (count < lines->vocab_size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "table.file",
                       "Invalid vocab_size in %.200s: expected %lld but got %lld", path, (long long)lines->vocab_size,
                       (long long)count);
    HR_TRY(hr__table_reserve(t, count, err));
    return read_lines(&r, text, count);
}
