/* See json_columns.h. A value is written straight into its column: nothing is built in between. */
#include "io/json/json_columns.h"
#include "base/number.h"
#include "io/csv/csv.h"
#include "io/json/example_from_json.h"
#include "io/json/json_writer.h"
#include "io/number_text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What an empty string points to: 64 readable bytes, as every string of a column has after it. */
static const char nothing[64];

/* ---- the format ---- */

static hr_status check_shape(const char *name, hr_shape shape, int64_t *count, hr_error *err)
{
    *count = shape.rank == 1 && shape.dims[0] == -1 ? -1 : hr_shape_count(shape);
    if (shape.rank >= 0 && shape.rank <= HR_MAX_RANK && (*count >= 0 || shape.rank == 1)) return HR_OK;
    char text[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "json.columns",
                   "jsonl: column '%.60s': expected known dimensions, or HR_SHAPE(-1) for a list, got %s", name,
                   hr_shape_text(shape, text, sizeof text));
}

static hr_status copy_strings(hr__json_column *c, const hr_view *from, int64_t count, hr_error *err)
{
    size_t size = 0;
    for (int64_t i = 0; i < count; i++) size += (size_t)from[i].size + 64; /* 64 readable bytes follow each */
    c->text = hr_calloc(size + 1, 1);
    if (!c->text) return hr_no_memory(err, "jsonl: a default");
    hr_view *to = (hr_view *)(void *)c->fill;
    char *at = c->text;
    for (int64_t i = 0; i < c->count; i++) {
        const hr_view *one = &from[count == 1 ? 0 : i];
        if (i > 0 && count == 1) {
            to[i] = to[0];
            continue;
        }
        if (one->size > 0) memcpy(at, one->data, (size_t)one->size);
        to[i] = (hr_view){at, one->size};
        at += one->size + 64;
    }
    return HR_OK;
}

static hr_status copy_default(hr__json_column *c, const hr_tensor *t, hr_error *err)
{
    if (c->count < 0)
        return !t ? HR_OK
                  : hr_fail(err, HR_INVALID_ARGUMENT, "json.default",
                            "jsonl: column '%.60s': expected no default of a list, which is empty if it is missing",
                            c->name);
    c->fill = hr_calloc((size_t)c->count + 1, c->width);
    if (!c->fill) return hr_no_memory(err, "jsonl: a default");
    for (int64_t i = 0; c->dtype == HR_STRING && i < c->count; i++)
        ((hr_view *)(void *)c->fill)[i] = (hr_view){nothing, 0};
    if (!t) return HR_OK;
    if (t->dtype != c->dtype || t->layout != HR_DENSE || (t->count != 1 && t->count != c->count))
        return hr_fail(err, HR_INVALID_ARGUMENT, "json.default",
                       "jsonl: column '%.60s': expected a default of one value, or of all %lld of a row, of %s, got "
                       "%lld of %s",
                       c->name, (long long)c->count, hr_dtype_name(c->dtype), (long long)t->count,
                       hr_dtype_name(t->dtype));
    c->has_default = true;
    if (c->dtype == HR_STRING) return copy_strings(c, t->data, t->count, err);
    for (int64_t i = 0; i < c->count; i++)
        memcpy(c->fill + (size_t)i * c->width, (const char *)t->data + (t->count == 1 ? 0 : (size_t)i * c->width),
               c->width);
    return HR_OK;
}

hr_status hr__json_format_add(hr__json_format *f, const char *name, hr_dtype dtype, hr_csv_time time, hr_shape shape,
                              const hr_tensor *default_value, hr_error *err)
{
    hr__json_column *c = &f->column[f->columns];
    if (!name) return hr_fail(err, HR_INVALID_ARGUMENT, "json.columns", "jsonl: expected columns with names, got NULL");
    if (!hr__csv_has_type(dtype) || (time != HR_CSV_NUMBER && (dtype != HR_INT64 || time > HR_CSV_NANOSECONDS)))
        return hr_fail(err, HR_INVALID_ARGUMENT, "json.dtype",
                       "jsonl: column '%.60s': expected int32, int64, uint64, float32, float64, bool or string, and a "
                       ".time of hr_csv_time only of an int64, got %s and %d",
                       name, hr_dtype_name(dtype), (int)time);
    *c = (hr__json_column){.dtype = dtype, .width = hr_dtype_size(dtype), .time = time, .shape = shape};
    HR_TRY(check_shape(name, shape, &c->count, err));
    c->name = hr_strdup(name);
    if (!c->name) return hr_no_memory(err, "jsonl: a column");
    f->columns++;
    return copy_default(c, default_value, err);
}

static int compare_view(hr_view a, const char *b)
{
    const size_t size = strlen(b);
    if ((size_t)a.size != size) return (size_t)a.size < size ? -1 : 1;
    return memcmp(a.data, b, size);
}

hr_status hr__json_format_finish(hr__json_format *f, hr_error *err)
{
    f->by_name = hr_malloc(((size_t)f->columns + 1) * sizeof *f->by_name);
    if (!f->by_name) return hr_no_memory(err, "jsonl: columns");
    for (int i = 0; i < f->columns; i++) { /* by insertion: there are few, and they are sorted once */
        const char *name = f->column[i].name;
        int at = i, order = -1;
        while (at > 0 &&
               (order = compare_view((hr_view){name, (int64_t)strlen(name)}, f->column[f->by_name[at - 1]].name)) < 0) {
            f->by_name[at] = f->by_name[at - 1];
            at--;
        }
        if (at > 0 && order == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "json.columns",
                           "jsonl: expected each column once, got '%.60s' twice", name);
        f->by_name[at] = i;
    }
    return HR_OK;
}

void hr__json_format_clear(hr__json_format *f)
{
    for (int i = 0; f->column && i < f->columns; i++) {
        hr_free(f->column[i].name);
        hr_free(f->column[i].fill);
        hr_free(f->column[i].text);
    }
    hr_free(f->column);
    hr_free(f->by_name);
    *f = (hr__json_format){0};
}

/* The column of a key; -1: none. Members mostly come in the order of the columns: `guess` is looked at first. */
static int find_column(const hr__json_format *f, hr_view key, int guess)
{
    if (guess < f->columns && compare_view(key, f->column[guess].name) == 0) return guess;
    for (int low = 0, high = f->columns; low < high;) {
        const int middle = (low + high) / 2, order = compare_view(key, f->column[f->by_name[middle]].name);
        if (order == 0) return f->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* ---- one value ---- */

/* The value that is being read: of this column, in this row. */
typedef struct place {
    hr__json_reader *r;
    hr__json_sink *sink;
    const hr__json_column *c;
    int number;
    int64_t row, values; /* so many are there */
} place;

static hr_status fail_value(const place *at, const char *kind, const char *expected, hr_error *err)
{
    char found[80];
    const hr_status st = hr__json_fail(at->r, err, kind, "column '%.60s': expected %s, found %s", at->c->name, expected,
                                       hr__json_found(at->r, found));
    if (err) snprintf(err->feature, sizeof err->feature, "%s", at->c->name);
    return st;
}

static hr_status wrong_type(const place *at, hr_error *err)
{
    const hr_dtype d = at->c->dtype;
    return fail_value(at, "json.type",
                      at->c->time != HR_CSV_NUMBER      ? "a date or time in ISO 8601 as a string"
                      : d == HR_STRING                  ? "a string"
                      : d == HR_BOOL                    ? "true, false, 0 or 1"
                      : d == HR_FLOAT || d == HR_DOUBLE ? "a number"
                                                        : "a whole number",
                      err);
}

static hr_status out_of_range(const place *at, hr_error *err)
{
    char expected[64];
    snprintf(expected, sizeof expected, "a number that %s can hold", hr_dtype_name(at->c->dtype));
    return fail_value(at, "json.range", expected, err);
}

/* Where the next value goes. NULL: no memory. */
static char *next_slot(place *at)
{
    hr_column *to = &at->sink->column[at->number];
    const int64_t row = at->row, width = (int64_t)at->c->width;
    if (at->c->count >= 0) return (char *)to->values + (row * at->c->count + at->values++) * width;
    const int64_t index = to->splits[0][row] + at->values++;
    if (index >= INT32_MAX || !at->sink->grow(at->number, index + 1, at->sink->user)) return NULL;
    to->count = index + 1;
    return (char *)to->values + index * width;
}

static hr_status put_value(place *at, const void *value, hr_error *err)
{
    char *to = next_slot(at);
    if (!to) return hr_no_memory(err, "jsonl: a list");
    memcpy(to, value, at->c->width);
    return HR_OK;
}

/* A text that stays: `kept` says that it is in memory that lives as long as the rows. */
static hr_status put_text(place *at, hr_view text, bool kept, hr_error *err)
{
    if (!kept && text.size > 0) {
        char *copy = at->sink->text((size_t)text.size, at->sink->user);
        if (!copy) return hr_no_memory(err, "jsonl: a string");
        text.data = memcpy(copy, text.data, (size_t)text.size);
    }
    if (text.size == 0) text = (hr_view){nothing, 0};
    return put_value(at, &text, err);
}

static hr_status put_base64(place *at, hr_error *err)
{
    hr__text *bytes = &at->sink->scratch;
    hr__text_clear(bytes);
    if (!hr__base64_decode(at->r->token.text, bytes)) return fail_value(at, "json.type", "base64", err);
    HR_TRY(hr__text_status(bytes, "jsonl: a string", err));
    return put_text(at, (hr_view){bytes->data, (int64_t)bytes->size}, false, err);
}

static hr_status put_whole(place *at, hr_view text, hr_error *err)
{
    int64_t wide;
    uint64_t natural;
    const hr_dtype d = at->c->dtype;
    text.size = (int64_t)hr__whole_size(text.data, (size_t)text.size);
    hr__parsed parsed;
    if (d == HR_UINT64) {
        parsed = hr__parse_uint64(text.data, (size_t)text.size, HR__NUMBER_DEFAULT, &natural);
        if (parsed == HR__PARSED) return put_value(at, &natural, err);
        return parsed == HR__OVERFLOW || text.data[0] == '-' ? out_of_range(at, err) : wrong_type(at, err);
    }
    parsed = hr__parse_int64(text.data, (size_t)text.size, HR__NUMBER_DEFAULT, &wide);
    if (parsed == HR__NO_NUMBER) return wrong_type(at, err);
    if (parsed == HR__OVERFLOW) return out_of_range(at, err);
    if (d == HR_INT64) return put_value(at, &wide, err);
    if (d == HR_BOOL) return wide == 0 || wide == 1 ? put_value(at, &(bool){wide != 0}, err) : wrong_type(at, err);
    return wide == (int32_t)wide ? put_value(at, &(int32_t){(int32_t)wide}, err) : out_of_range(at, err);
}

static hr_status put_real(place *at, hr_view text, hr_error *err)
{
    float single;
    double real;
    const bool wide = at->c->dtype == HR_DOUBLE;
    const hr__parsed parsed = wide ? hr__parse_double(text.data, (size_t)text.size, HR__NUMBER_DEFAULT, &real)
                                   : hr__parse_float(text.data, (size_t)text.size, HR__NUMBER_DEFAULT, &single);
    if (parsed != HR__PARSED) return wrong_type(at, err);
    if ((wide ? isinf(real) : isinf(single)) && hr__is_numeral(text.data, (size_t)text.size))
        return out_of_range(at, err);
    return put_value(at, wide ? (const void *)&real : &single, err);
}

static hr_status put_time(place *at, hr_error *err)
{
    int64_t time;
    const hr_view text = at->r->token.text;
    if (at->r->token.kind != HR__JSON_STRING || !hr__csv_parse_time(at->c->time, text.data, (size_t)text.size, &time))
        return wrong_type(at, err);
    return put_value(at, &time, err);
}

/* The last token, which is no array and no object. */
static hr_status put_scalar(place *at, hr_error *err)
{
    const hr__json_token *t = &at->r->token;
    const hr_dtype d = at->c->dtype;
    const bool real = d == HR_FLOAT || d == HR_DOUBLE;
    if (at->c->time != HR_CSV_NUMBER) return put_time(at, err);
    if (d == HR_STRING)
        return t->kind == HR__JSON_STRING ? put_text(at, t->text, t->text.data != at->r->scratch.data, err)
                                          : wrong_type(at, err);
    if (t->kind == HR__JSON_NUMBER) return real ? put_real(at, t->text, err) : put_whole(at, t->text, err);
    /* As protobuf writes what is not finite. */
    if (t->kind == HR__JSON_STRING && real && t->text.size > 0 && t->text.data[t->text.size - 1] > '9')
        return put_real(at, t->text, err);
    if ((t->kind == HR__JSON_TRUE || t->kind == HR__JSON_FALSE) && !real)
        return put_whole(at, (hr_view){t->kind == HR__JSON_TRUE ? "1" : "0", 1}, err);
    return wrong_type(at, err);
}

/* ---- values of a row ---- */

static hr_status need(const place *at, hr__json_kind kind, const char *what, hr_error *err)
{
    HR_TRY(hr__json_next(at->r, err));
    return at->r->token.kind == kind ? HR_OK : fail_value(at, "json.type", what, err);
}

static hr_status json_columns_read_values(place *at, int dimension, hr_error *err);

/* {"$b64": "//4="} or {"$float": ...}, after its brace: as `headrace convert` writes what JSON has no word for. */
static hr_status read_worded(place *at, int dimension, hr_error *err)
{
    static const char expected[] = "a value, or an object of one of $int64, $float, $bytes, $b64";
    const hr_dtype d = at->c->dtype, stored = d == HR_STRING                    ? HR_STRING
                                              : d == HR_FLOAT || d == HR_DOUBLE ? HR_FLOAT
                                                                                : HR_INT64;
    HR_TRY(need(at, HR__JSON_KEY, expected, err));
    const hr_view word = at->r->token.text;
    const bool base64 = word.size == 4;
    if (hr__json_kind_of_word(word) != stored) return fail_value(at, "json.type", expected, err);
    HR_TRY(hr__json_next(at->r, err));
    if (base64 && at->r->token.kind == HR__JSON_STRING && dimension == at->c->shape.rank)
        HR_TRY(put_base64(at, err));
    else if (base64)
        return fail_value(at, "json.type", "base64 of one value", err);
    else if (at->r->token.kind == HR__JSON_BEGIN_OBJECT)
        return fail_value(at, "json.type", "a value", err);
    else
        HR_TRY(json_columns_read_values(at, dimension, err));
    return need(at, HR__JSON_END_OBJECT, "the end of the object", err);
}

/* What the last token begins: an array for each dimension that is left, or one value. */
static hr_status json_columns_read_values(place *at, int dimension, hr_error *err)
{
    char expected[64];
    if (at->r->token.kind == HR__JSON_BEGIN_OBJECT) return read_worded(at, dimension, err);
    if (dimension == at->c->shape.rank) return put_scalar(at, err);
    const int64_t size = at->c->shape.dims[dimension];
    if (size < 0)
        snprintf(expected, sizeof expected, "an array");
    else
        snprintf(expected, sizeof expected, "an array of %lld", (long long)size);
    if (at->r->token.kind != HR__JSON_BEGIN_ARRAY) return fail_value(at, "json.type", expected, err);
    for (int64_t i = 0;; i++) {
        HR_TRY(hr__json_next(at->r, err));
        const bool ends = at->r->token.kind == HR__JSON_END_ARRAY;
        if (size >= 0 && ends != (i == size)) return fail_value(at, "json.type", expected, err);
        if (ends) return HR_OK;
        HR_TRY(json_columns_read_values(at, dimension + 1, err));
    }
}

/* ---- rows ---- */

/* All rows have a value so far. */
static uint64_t *make_present(hr__json_sink *sink)
{
    const size_t size = ((size_t)sink->rows + 63) / 64 * sizeof(uint64_t);
    uint64_t *present = sink->bytes(size, sink->user);
    return present ? memset(present, 0xff, size) : NULL;
}

static void put_fill(const hr__json_column *c, hr_column *to, int64_t row)
{
    const size_t size = c->count < 0 ? 0 : (size_t)c->count * c->width;
    if (size > 0) memcpy((char *)to->values + (size_t)row * size, c->fill, size);
}

/* The object has no such key, or null there. */
static hr_status put_missing(place *at, bool keep, hr_error *err)
{
    hr_column *to = &at->sink->column[at->number];
    if (at->c->count < 0) return HR_OK; /* an empty list */
    put_fill(at->c, to, at->row);
    if (at->c->has_default) return HR_OK;
    if (!keep) {
        const hr_status st = hr__json_fail(at->r, err, "json.missing",
                                           "column '%.60s': expected a value, found none; give it a .default_value, or "
                                           "set .keep_missing",
                                           at->c->name);
        if (err) snprintf(err->feature, sizeof err->feature, "%s", at->c->name);
        return st;
    }
    if (!to->present && !(to->present = make_present(at->sink))) return hr_no_memory(err, "jsonl: missing values");
    to->present[at->row / 64] &= ~(UINT64_C(1) << at->row % 64);
    return HR_OK;
}

static void end_row(const hr__json_column *c, hr_column *to, int64_t row, int64_t values)
{
    if (c->count >= 0) return;
    to->splits[0][row + 1] = (int32_t)(to->splits[0][row] + values);
    to->count = to->splits[0][row + 1];
}

void hr__json_clear_row(const hr__json_format *f, int64_t row, hr__json_sink *sink)
{
    for (int i = 0; i < f->columns; i++) {
        const hr__json_column *c = &f->column[i];
        put_fill(c, &sink->column[i], row);
        end_row(c, &sink->column[i], row, 0);
    }
}

/* The value of the member whose key was the last token. */
static hr_status json_columns_read_member(const hr__json_format *f, place *at, hr_error *err)
{
    uint64_t *seen = &at->sink->seen[at->number / 64], bit = UINT64_C(1) << at->number % 64;
    at->c = &f->column[at->number];
    at->values = 0;
    if (*seen & bit) return fail_value(at, "json.key", "each key once", err);
    *seen |= bit;
    HR_TRY(hr__json_next(at->r, err));
    if (at->r->token.kind == HR__JSON_NULL)
        HR_TRY(put_missing(at, f->keep_missing, err));
    else
        HR_TRY(json_columns_read_values(at, 0, err));
    end_row(at->c, &at->sink->column[at->number], at->row, at->values);
    return HR_OK;
}

/* A key as `headrace convert` writes it: "$$x" is "$x". */
static hr_view key_of(hr_view text)
{
    const bool doubled = text.size >= 2 && memcmp(text.data, "$$", 2) == 0;
    return (hr_view){text.data + doubled, text.size - doubled};
}

static hr_status read_object(const hr__json_format *f, place *at, hr_error *err)
{
    HR_TRY(hr__json_next(at->r, err));
    if (at->r->token.kind != HR__JSON_BEGIN_OBJECT) {
        char found[80];
        return hr__json_fail(at->r, err, "json.type", "expected an object, found %s", hr__json_found(at->r, found));
    }
    for (int guess = 0;;) {
        HR_TRY(hr__json_next(at->r, err));
        if (at->r->token.kind == HR__JSON_END_OBJECT) return HR_OK;
        at->number = find_column(f, key_of(at->r->token.text), guess);
        if (at->number >= 0) {
            guess = at->number + 1;
            HR_TRY(json_columns_read_member(f, at, err));
        } else {
            HR_TRY(hr__json_next(at->r, err));
            HR_TRY(hr__json_skip(at->r, err));
        }
    }
}

hr_status hr__json_read_row(const hr__json_format *f, hr__json_reader *r, int64_t row, hr__json_sink *sink,
                            hr_error *err)
{
    place at = {.r = r, .sink = sink, .row = row};
    memset(sink->seen, 0, ((size_t)f->columns + 63) / 64 * sizeof *sink->seen);
    HR_TRY(read_object(f, &at, err));
    for (at.number = 0; at.number < f->columns; at.number++) {
        if (sink->seen[at.number / 64] >> at.number % 64 & 1) continue;
        at.c = &f->column[at.number];
        HR_TRY(put_missing(&at, f->keep_missing, err));
        end_row(at.c, &sink->column[at.number], row, 0);
    }
    HR_TRY(hr__json_next(r, err));
    if (r->token.kind == HR__JSON_NONE) return HR_OK;
    return hr__json_fail(r, err, "json.line",
                         "expected one JSON object a line, found more after it; write each object on a line of its "
                         "own");
}
