/* See graph_values.h. */
#include "cli/graph_values.h"
#include "cli/command.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HEADER = 65536 };

/* ---- numbers by type ---- */

typedef enum number_class { NO_NUMBER, FLOATING, SIGNED, UNSIGNED, BOOLEAN } number_class;

static number_class class_of(hr_dtype dtype)
{
    switch (dtype) {
    case HR_FLOAT:
    case HR_DOUBLE:
        return FLOATING;
    case HR_INT8:
    case HR_INT16:
    case HR_INT32:
    case HR_INT64:
        return SIGNED;
    case HR_UINT8:
    case HR_UINT16:
    case HR_UINT32:
    case HR_UINT64:
        return UNSIGNED;
    case HR_BOOL:
        return BOOLEAN;
    default:
        return NO_NUMBER;
    }
}

static void put_float(hr_dtype dtype, double value, void *to)
{
    const float single = (float)value;
    memcpy(to, dtype == HR_FLOAT ? (const void *)&single : (const void *)&value, hr_dtype_size(dtype));
}

/* False: the type does not reach as far. */
static bool put_integer(hr_dtype dtype, const char *digits, void *to)
{
    char *end;
    const int bits = (int)hr_dtype_size(dtype) * 8;
    if (class_of(dtype) == SIGNED) {
        const long long value = strtoll(digits, &end, 10);
        if (*end || (bits < 64 && (value < -(1LL << (bits - 1)) || value >= 1LL << (bits - 1)))) return false;
        memcpy(to, &value, (size_t)bits / 8);
        return true;
    }
    const unsigned long long value = strtoull(digits, &end, 10);
    if (*end || *digits == '-' || (bits < 64 && value >> bits)) return false;
    memcpy(to, &value, (size_t)bits / 8);
    return true;
}

/* ---- JSON ---- */

typedef struct value_reader {
    const char *begin, *at;
    hr_dtype dtype;
    hr_shape shape; /* as far as it is known */
    bool known[HR_MAX_RANK];
    int rank; /* -1: no value was read yet */
    char *values;
    size_t count, capacity;
    hr_view *strings; /* offsets while they are read: `texts` may move */
    text_buffer texts;
    hr_error *err;
} value_reader;

static hr_status value_wrong(const value_reader *r, const char *expected)
{
    return hr_fail(r->err, HR_INVALID_ARGUMENT, "graph.value", "column %d: expected %s, got '%.20s'",
                   (int)(r->at - r->begin) + 1, expected, r->at);
}

static void value_blanks(value_reader *r) { r->at += strspn(r->at, " \t\r\n"); }

static hr_status value_place(value_reader *r, size_t size, void **to)
{
    if ((r->count + 1) * size > r->capacity) {
        const size_t capacity = (r->count + 1) * size * 2;
        char *grown = hr_realloc(r->values, capacity);
        if (!grown) return hr_no_memory(r->err, "a value");
        r->values = grown;
        r->capacity = capacity;
    }
    *to = r->values + r->count * size;
    return HR_OK;
}

/* The bytes of U+0000 to U+FFFF. */
static void value_letter(value_reader *r, unsigned code)
{
    if (code < 0x80) {
        text_byte(&r->texts, (char)code);
        return;
    }
    if (code >= 0x800) text_byte(&r->texts, (char)(0xe0 | code >> 12));
    text_byte(&r->texts, (char)(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6));
    text_byte(&r->texts, (char)(0x80 | (code & 0x3f)));
}

static hr_status value_escape(value_reader *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char letter = *r->at;
    const char *found = letter ? strchr(from, letter) : NULL;
    if (found) text_byte(&r->texts, to[found - from]);
    if (found) r->at++;
    if (found) return HR_OK;
    char digits[5] = "", *end = digits;
    if (letter == 'u') strncpy(digits, r->at + 1, 4);
    const unsigned code = (unsigned)strtoul(digits, &end, 16);
    if (letter != 'u' || end != digits + 4) return value_wrong(r, "an escape such as \\n or \\u00e9");
    value_letter(r, code);
    r->at += 5;
    return HR_OK;
}

static hr_status value_string(value_reader *r)
{
    void *to = NULL;
    if (*r->at != '"') return value_wrong(r, "a string in double quotes");
    const size_t begin = r->texts.size;
    for (r->at++; *r->at && *r->at != '"';) {
        if (*r->at != '\\') {
            text_byte(&r->texts, *r->at++);
            continue;
        }
        r->at++;
        HR_TRY(value_escape(r));
    }
    if (*r->at != '"') return value_wrong(r, "the end of a string");
    r->at++;
    if (r->texts.failed) return hr_no_memory(r->err, "a value");
    HR_TRY(value_place(r, sizeof(hr_view), &to));
    const hr_view view = {(const char *)(uintptr_t)begin, (int64_t)(r->texts.size - begin)};
    memcpy(to, &view, sizeof view);
    r->count++;
    return HR_OK;
}

static bool value_word(value_reader *r, const char *word)
{
    const size_t size = strlen(word);
    if (strncmp(r->at, word, size) != 0) return false;
    r->at += size;
    return true;
}

static hr_status value_number(value_reader *r)
{
    void *to = NULL;
    char digits[64], *end;
    HR_TRY(value_place(r, hr_dtype_size(r->dtype), &to));
    if (class_of(r->dtype) == BOOLEAN) {
        const bool yes = value_word(r, "true"), no = !yes && value_word(r, "false");
        if (!yes && !no) return value_wrong(r, "true or false");
        *(bool *)to = yes;
        r->count++;
        return HR_OK;
    }
    const size_t size = strspn(r->at, "0123456789+-.eEinfINFatyTY");
    if (size == 0 || size >= sizeof digits) return value_wrong(r, hr_dtype_name(r->dtype));
    memcpy(digits, r->at, size);
    digits[size] = 0;
    if (class_of(r->dtype) == FLOATING) {
        put_float(r->dtype, strtod(digits, &end), to);
        if (*end) return value_wrong(r, "a number");
    } else if (!put_integer(r->dtype, digits, to)) {
        return value_wrong(r, hr_dtype_name(r->dtype));
    }
    r->at += size;
    r->count++;
    return HR_OK;
}

static hr_status value_leaf(value_reader *r, int depth)
{
    if (r->rank >= 0 && r->rank != depth) return value_wrong(r, "lists of one depth");
    r->rank = depth;
    return r->dtype == HR_STRING ? value_string(r) : value_number(r);
}

static hr_status value_any(value_reader *r, int depth);

static hr_status value_list(value_reader *r, int depth)
{
    int64_t length = 0;
    if (depth == HR_MAX_RANK) return value_wrong(r, "a list of fewer dimensions");
    r->at++;
    for (value_blanks(r); *r->at != ']'; value_blanks(r)) {
        if (length > 0 && *r->at++ != ',') {
            r->at--;
            return value_wrong(r, "',' or ']'");
        }
        HR_TRY(value_any(r, depth + 1));
        length++;
    }
    r->at++;
    if (r->known[depth] && r->shape.dims[depth] != length) return value_wrong(r, "lists of one length before this");
    r->known[depth] = true;
    r->shape.dims[depth] = length;
    if (r->shape.rank < depth + 1) r->shape.rank = depth + 1;
    return HR_OK;
}

static hr_status value_any(value_reader *r, int depth)
{
    value_blanks(r);
    return *r->at == '[' ? value_list(r, depth) : value_leaf(r, depth);
}

static hr_status value_tensor(value_reader *r, hr_tensor *out)
{
    if (r->rank >= 0 && r->shape.rank != r->rank) return value_wrong(r, "lists of one depth");
    if (hr_shape_count(r->shape) != (int64_t)r->count) return value_wrong(r, "lists of one length");
    if (r->dtype == HR_STRING) {
        hr_view *views = (hr_view *)(void *)r->values;
        for (size_t i = 0; i < r->count; i++) views[i].data = r->texts.data + (uintptr_t)views[i].data;
        return hr_tensor_strings(out, r->shape, views, r->err);
    }
    HR_TRY(hr_tensor_new(out, r->dtype, r->shape, r->err));
    if (r->count) memcpy(out->data, r->values, r->count * hr_dtype_size(r->dtype));
    return HR_OK;
}

static hr_status read_json_value(const char *text, hr_dtype dtype, hr_tensor *out, hr_error *err)
{
    value_reader r = {.begin = text, .at = text, .dtype = dtype, .rank = -1, .err = err};
    if (class_of(dtype) == NO_NUMBER && dtype != HR_STRING)
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.value", "expected a node of numbers, bools or strings, got %s",
                       hr_dtype_name(dtype));
    hr_status st = value_any(&r, 0);
    value_blanks(&r);
    if (st == HR_OK && *r.at) st = value_wrong(&r, "the end of the value");
    if (st == HR_OK) st = value_tensor(&r, out);
    hr_free(r.values);
    text_free(&r.texts);
    return st;
}

/* ---- files of numpy ---- */

static hr_status npy_wrong(const char *path, const char *expected, const char *got, hr_error *err)
{
    return hr_fail(err, HR_DATA_LOSS, "graph.npy", "%s: expected %s, got '%.40s'", path, expected, got);
}

static const char *npy_kind(hr_dtype dtype)
{
    switch (class_of(dtype)) {
    case FLOATING:
        return "f";
    case SIGNED:
        return "i";
    case UNSIGNED:
        return "u";
    case BOOLEAN:
        return "b";
    default:
        return "";
    }
}

/* After `'key':` in the header; NULL: there is none. */
static const char *npy_field(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at, ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static hr_status npy_shape(const char *path, const char *at, hr_shape *out, hr_error *err)
{
    *out = HR_SCALAR;
    if (!at || *at++ != '(') return npy_wrong(path, "a shape in the header", at ? at : "none", err);
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, ", ")) {
        char *end;
        const long long size = strtoll(at, &end, 10);
        if (end == at || size < 0 || out->rank == HR_MAX_RANK) return npy_wrong(path, "a shape in the header", at, err);
        out->dims[out->rank++] = size;
        at = end;
    }
    return HR_OK;
}

static hr_status npy_header(const char *path, const char *header, hr_dtype dtype, hr_shape *shape, hr_error *err)
{
    char wanted[8];
    const char *descr = npy_field(header, "'descr'"), *order = npy_field(header, "'fortran_order'");
    snprintf(wanted, sizeof wanted, "%s%zu'", npy_kind(dtype), hr_dtype_size(dtype));
    if (!descr || *descr != '\'' || !strchr("<|=", descr[1]) || strncmp(descr + 2, wanted, strlen(wanted)) != 0) {
        char expected[80];
        snprintf(expected, sizeof expected, "values of %s, little-endian,", hr_dtype_name(dtype));
        return npy_wrong(path, expected, descr ? descr : "none", err);
    }
    if (!order || strncmp(order, "False", 5) != 0)
        return npy_wrong(path, "values in C order", order ? order : "none", err);
    return npy_shape(path, npy_field(header, "'shape'"), shape, err);
}

static hr_status read_exactly(hr_input *in, const char *path, char *to, size_t size, hr_error *err)
{
    const char *data;
    size_t got;
    while (size > 0) {
        HR_TRY(hr_input_peek(in, 1, &data, &got, err));
        if (got == 0) return npy_wrong(path, "more bytes", "the end", err);
        if (got > size) got = size;
        memcpy(to, data, got);
        hr_input_consume(in, got);
        to += got;
        size -= got;
    }
    return HR_OK;
}

/* A file says any shape: space for its values is taken piece by piece as they come. */
static hr_status read_npy_values(hr_input *in, const char *path, hr_dtype dtype, hr_shape shape, hr_tensor *out,
                                 hr_error *err)
{
    enum { PIECE = 1 << 24 };
    const int64_t count = hr_shape_count(shape);
    if (count < 0) return npy_wrong(path, "a smaller shape", "one beyond what a tensor can have", err);
    const size_t size = (size_t)count * hr_dtype_size(dtype);
    char *values = NULL;
    size_t have = 0;
    hr_status st = HR_OK;
    while (st == HR_OK && have < size) {
        const size_t piece = size - have < PIECE ? size - have : PIECE;
        char *grown = hr_realloc(values, have + piece);
        if (!grown) st = hr_no_memory(err, "a value");
        if (grown) values = grown;
        if (grown) st = read_exactly(in, path, values + have, piece, err);
        have += piece;
    }
    if (st == HR_OK) st = hr_tensor_new(out, dtype, shape, err);
    if (st == HR_OK && size) memcpy(out->data, values, size);
    for (size_t i = 0; st == HR_OK && dtype == HR_BOOL && i < size; i++) ((uint8_t *)out->data)[i] = values[i] != 0;
    hr_free(values);
    return st;
}

static hr_status read_npy_from(hr_input *in, const char *path, hr_dtype dtype, hr_tensor *out, hr_error *err)
{
    unsigned char head[12];
    hr_shape shape;
    HR_TRY(read_exactly(in, path, (char *)head, 10, err));
    if (memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 || head[6] > 3)
        return npy_wrong(path, "a file of numpy", "something else", err);
    size_t size = head[8] | (size_t)head[9] << 8;
    if (head[6] > 1) {
        HR_TRY(read_exactly(in, path, (char *)head + 10, 2, err));
        size |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    }
    if (size > MOST_HEADER) return npy_wrong(path, "a header of at most 64 KiB", "a longer one", err);
    char *header = hr_malloc(size + 1);
    if (!header) return hr_no_memory(err, "a value");
    hr_status st = read_exactly(in, path, header, size, err);
    header[st == HR_OK ? size : 0] = 0;
    if (st == HR_OK) st = npy_header(path, header, dtype, &shape, err);
    hr_free(header);
    return st == HR_OK ? read_npy_values(in, path, dtype, shape, out, err) : st;
}

static bool is_npy(const char *name)
{
    const size_t size = strlen(name);
    return size > 4 && strcmp(name + size - 4, ".npy") == 0;
}

hr_status read_graph_value(const char *text, hr_dtype dtype, hr_tensor *out, hr_error *err)
{
    hr_input *in;
    if (!is_npy(text)) return read_json_value(text, dtype, out, err);
    if (class_of(dtype) == NO_NUMBER)
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.value",
                       "expected a node of numbers or bools to feed a file, got %s", hr_dtype_name(dtype));
    HR_TRY(hr_input_open_with(text, NULL, &in, err));
    const hr_status st = read_npy_from(in, text, dtype, out, err);
    hr_input_free(in);
    return st;
}

hr_status write_npy(const char *path, const hr_tensor *value, hr_error *err)
{
    char header[512] = "", shape[300] = "";
    hr_output *out;
    int size = 0;
    if (class_of(value->dtype) == NO_NUMBER)
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.value", "%s: expected numbers or bools to write, got %s", path,
                       hr_dtype_name(value->dtype));
    for (int i = 0; i < value->shape.rank; i++)
        size += snprintf(shape + size, sizeof shape - (size_t)size, "%" PRId64 ",", value->shape.dims[i]);
    const char order = hr_dtype_size(value->dtype) == 1 ? '|' : '<';
    size = snprintf(header, sizeof header, "{'descr': '%c%s%zu', 'fortran_order': False, 'shape': (%s), }", order,
                    npy_kind(value->dtype), hr_dtype_size(value->dtype), shape);
    const int whole = (10 + size + 1 + 63) / 64 * 64 - 10; /* data begins at a multiple of 64 */
    memset(header + size, ' ', (size_t)(whole - size));
    header[whole - 1] = '\n';
    const char head[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(whole & 0xff), (char)(whole >> 8)};
    HR_TRY(hr_output_open_with(path, &(hr_output_opts){.compression = HR_NONE}, &out, err));
    hr_output_write(out, head, sizeof head, NULL); /* failures stick */
    hr_output_write(out, header, (size_t)whole, NULL);
    hr_output_write(out, value->data, (size_t)value->count * hr_dtype_size(value->dtype), NULL);
    return hr_output_commit(out, err);
}

/* ---- as text ---- */

static void text_one(text_buffer *out, const hr_tensor *t, int64_t i)
{
    char text[40] = "null";
    const char *at = (const char *)t->data + (size_t)i * hr_dtype_size(t->dtype);
    int64_t integer = 0;
    uint64_t whole = 0;
    if (t->dtype == HR_STRING) {
        text_quoted(out, ((const hr_view *)t->data)[i]);
        return;
    }
    if (t->dtype == HR_FLOAT && isfinite(*(const float *)(const void *)at))
        snprintf(text, sizeof text, "%.9g", (double)*(const float *)(const void *)at);
    if (t->dtype == HR_DOUBLE && isfinite(*(const double *)(const void *)at))
        snprintf(text, sizeof text, "%.17g", *(const double *)(const void *)at);
    if (class_of(t->dtype) == BOOLEAN) snprintf(text, sizeof text, "%s", *(const bool *)at ? "true" : "false");
    if (class_of(t->dtype) == UNSIGNED) memcpy(&whole, at, hr_dtype_size(t->dtype));
    if (class_of(t->dtype) == UNSIGNED) snprintf(text, sizeof text, "%" PRIu64, whole);
    if (class_of(t->dtype) == SIGNED) {
        const size_t size = hr_dtype_size(t->dtype);
        memcpy(&integer, at, size);
        const int shift = 64 - (int)size * 8;
        integer = (int64_t)((uint64_t)integer << shift) >> shift;
        snprintf(text, sizeof text, "%" PRId64, integer);
    }
    text_add(out, text);
}

static int64_t text_level(text_buffer *out, const hr_tensor *t, int level, int64_t next)
{
    if (level == t->shape.rank) {
        text_one(out, t, next);
        return next + 1;
    }
    text_byte(out, '[');
    for (int64_t i = 0; i < t->shape.dims[level]; i++) {
        if (i > 0) text_add(out, ", ");
        next = text_level(out, t, level + 1, next);
    }
    text_byte(out, ']');
    return next;
}

void text_graph_value(text_buffer *out, const hr_tensor *value) { text_level(out, value, 0, 0); }

void text_named_value(text_buffer *out, const char *name, const hr_tensor *value, bool json, bool first)
{
    char shape[256];
    if (json) {
        if (!first) text_add(out, ", ");
        text_quoted(out, (hr_view){name, (int64_t)strlen(name)});
        text_add(out, ": ");
        text_graph_value(out, value);
        return;
    }
    text_add(out, name);
    text_byte(out, ' ');
    text_add(out, hr_dtype_name(value->dtype));
    text_add(out, hr_shape_text(value->shape, shape, sizeof shape));
    text_byte(out, ' ');
    text_graph_value(out, value);
    text_byte(out, '\n');
}

hr_status print_values(text_buffer *text, hr_error *err)
{
    hr_status st = text->failed ? hr_no_memory(err, "the results") : HR_OK;
    if (st == HR_OK && text->size > 0 && fwrite(text->data, 1, text->size, stdout) != text->size)
        st = output_error(err);
    text_free(text);
    return st;
}
