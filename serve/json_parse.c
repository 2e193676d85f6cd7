/* JSON to a tree, with the words and offsets of RapidJSON 1.1.0, which is what clients of TensorFlow Serving know.
 * Besides JSON it reads NaN, Inf and Infinity. A NUL ends the text. */
#include "base/number.h"
#include "serve/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct json_parser {
    const char *begin, *p, *end;
    const hr__doc_options *options;
    hr__pool_memory *memory, *items;
    hr__doc *stack; /* values of lists that are not whole yet */
    size_t used, space;
    int depth;
    hr__fault *fault;
} json_parser;

static hr_status json_wrong(json_parser *j, const char *words, const char *at)
{
    return hr__fault_set(j->fault, HR_INVALID_ARGUMENT, "JSON Parse error: %s at offset: %zu", words,
                         (size_t)(at - j->begin));
}

static hr_status json_memory(json_parser *j)
{
    return hr__fault_set(j->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
}

static inline unsigned char peek(const json_parser *j) { return j->p < j->end ? (unsigned char)*j->p : 0; }

static inline void skip_white(json_parser *j)
{
    while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\r' || *j->p == '\t')) j->p++;
}

/* ---- numbers ---- */

static bool is_digit(const char *p, const char *end) { return p < end && *p >= '0' && *p <= '9'; }

/* NaN, Inf, Infinity, after the sign. */
static const char *special_number(const char *p, const char *end, bool minus, hr__doc *out, const char **place)
{
    const char *words[] = {"NaN", "Infinity", "Inf"};
    for (int i = 0; i < 3; i++) {
        const size_t size = strlen(words[i]);
        if ((size_t)(end - p) < size || memcmp(p, words[i], size) != 0) continue;
        if (i == 2 && p + 3 < end && p[3] == 'i') break;
        out->number = HR__IS_DOUBLE;
        out->is.d = i == 0 ? (double)NAN : minus ? -(double)INFINITY : (double)INFINITY;
        return p + size;
    }
    /* As far as the word went. */
    const char *word = p < end && *p == 'N' ? words[0] : words[1];
    while (p < end && *p == *word && *word) p++, word++;
    *place = p;
    return NULL;
}

/* Up to 19 digits and a small power of ten are exact in one operation. */
static double decimal(const char *begin, const char *end, uint64_t mantissa, int digits, int exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits <= 19 && mantissa <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22) {
        const double d = exponent < 0 ? (double)mantissa / power[-exponent] : (double)mantissa * power[exponent];
        return *begin == '-' ? -d : d;
    }
    double d = 0;
    hr__parse_double(begin, (size_t)(end - begin), HR__NUMBER_DEFAULT, &d);
    return d;
}

static const char *number_wrong(const char *words, const char *at, const char **said, const char **place)
{
    *said = words;
    *place = at;
    return NULL;
}

const char *hr__doc_number_at(const char *p, const char *end, hr__doc *out, const char **words, const char **place)
{
    const char *begin = p;
    const bool minus = p < end && *p == '-';
    uint64_t mantissa = 0;
    int digits = 0, exponent = 0, shift = 0;
    out->type = HR__IS_NUMBER;
    p += minus;
    if (!is_digit(p, end)) {
        *words = "Invalid value.";
        *place = p;
        return p < end && (*p == 'N' || *p == 'I') ? special_number(p, end, minus, out, place) : NULL;
    }
    if (*p == '0')
        p++, digits = 1;
    else
        for (; is_digit(p, end); p++, digits++)
            if (digits < 19) mantissa = mantissa * 10 + (uint64_t)(*p - '0');
    const char *whole = p;
    bool real = false;
    if (p < end && *p == '.') {
        real = true;
        if (!is_digit(++p, end)) return number_wrong("Miss fraction part in number.", p, words, place);
        for (; is_digit(p, end); p++) {
            if (digits < 19) mantissa = mantissa * 10 + (uint64_t)(*p - '0'), shift--;
            if (mantissa) digits++; /* zeros in front do not count */
        }
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        real = true;
        p++;
        const bool down = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (!is_digit(p, end)) return number_wrong("Miss exponent in number.", p, words, place);
        for (; is_digit(p, end); p++)
            if (exponent < 100000) exponent = exponent * 10 + (*p - '0');
        if (down) exponent = -exponent;
    }
    out->number = HR__IS_DOUBLE;
    if (!real && digits <= 20) {
        if (minus && hr__parse_int64(begin, (size_t)(p - begin), HR__NUMBER_DEFAULT, &out->is.i) == HR__PARSED)
            out->number = HR__IS_INT;
        if (!minus) {
            uint64_t value = mantissa;
            bool fits = digits < 20;
            if (digits == 20) {
                const uint64_t last = (uint64_t)(whole[-1] - '0');
                fits = mantissa < UINT64_MAX / 10 || (mantissa == UINT64_MAX / 10 && last <= UINT64_MAX % 10);
                value = mantissa * 10 + last;
            }
            out->is.u = value;
            if (fits) out->number = value <= INT64_MAX ? HR__IS_INT : HR__IS_UINT;
        }
        if (out->number != HR__IS_DOUBLE) return p;
    }
    out->is.d = decimal(begin, p, mantissa, digits, exponent + shift);
    if (isinf(out->is.d)) return number_wrong("Number too big to be stored in double.", begin, words, place);
    return p;
}

static hr_status parse_number(json_parser *j, hr__doc *out)
{
    const char *words = NULL, *place = NULL;
    const char *end = hr__doc_number_at(j->p, j->end, out, &words, &place);
    if (!end) return json_wrong(j, words, place);
    j->p = end;
    return HR_OK;
}

/* ---- strings ---- */

static int hex4(const char *p, const char *end)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        if (p + i >= end) return -1;
        const char c = p[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* At the letter after a backslash. */
static hr_status parse_escape(json_parser *j, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *backslash = j->p - 1;
    const unsigned char letter = peek(j);
    const char *found = letter ? strchr(from, letter) : NULL;
    if (found) {
        *(*to)++ = into[found - from];
        j->p++;
        return HR_OK;
    }
    if (letter != 'u') return json_wrong(j, "Invalid escape character in string.", backslash);
    int code = hex4(j->p + 1, j->end);
    if (code < 0) return json_wrong(j, "Incorrect hex digit after \\u escape in string.", backslash);
    j->p += 5;
    if (code >= 0xd800 && code <= 0xdfff) {
        if (code > 0xdbff || j->end - j->p < 2 || j->p[0] != '\\' || j->p[1] != 'u')
            return json_wrong(j, "The surrogate pair in string is invalid.", backslash);
        const int low = hex4(j->p + 2, j->end);
        if (low < 0) return json_wrong(j, "Incorrect hex digit after \\u escape in string.", backslash);
        if (low < 0xdc00 || low > 0xdfff) return json_wrong(j, "The surrogate pair in string is invalid.", backslash);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        j->p += 6;
    }
    *to = put_utf8(*to, (unsigned)code);
    return HR_OK;
}

static hr_status parse_string(json_parser *j, hr__doc *out)
{
    const char *begin = ++j->p, *p = begin;
    while (p < j->end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20) p++;
    j->p = p;
    out->type = HR__IS_STRING;
    if (p < j->end && *p == '"') {
        out->is.text = begin;
        out->size = (size_t)(p - begin);
        j->p++;
        return HR_OK;
    }
    /* With escapes it only gets shorter. */
    const char *close = p;
    while (close < j->end && *close != '"') close += *close == '\\' && close + 1 < j->end ? 2 : 1;
    char *text = hr__memory_take(j->memory, (size_t)(close - begin) + 1), *to = text;
    if (!text) return json_memory(j);
    memcpy(to, begin, (size_t)(p - begin));
    to += p - begin;
    for (;;) {
        const unsigned char c = peek(j);
        if (c == 0) return json_wrong(j, "Missing a closing quotation mark in string.", j->p);
        if (c < 0x20) return json_wrong(j, "Invalid escape character in string.", j->p);
        j->p++;
        if (c == '"') break;
        if (c != '\\')
            *to++ = (char)c;
        else
            HR_TRY(parse_escape(j, &to));
    }
    out->is.text = text;
    out->size = (size_t)(to - text);
    return HR_OK;
}

/* ---- values ---- */

static hr_status parse_value(json_parser *j, hr__doc *out);

static hr_status push(json_parser *j, const hr__doc *value)
{
    if (j->used == j->space) {
        const size_t space = j->space ? j->space * 2 : 64;
        hr__doc *stack = space < SIZE_MAX / sizeof *stack ? hr_realloc(j->stack, space * sizeof *stack) : NULL;
        if (!stack) return json_memory(j);
        j->stack = stack;
        j->space = space;
    }
    j->stack[j->used++] = *value;
    return HR_OK;
}

/* The values above `from` become those of a list or an object. */
static hr_status pop_items(json_parser *j, size_t from, hr__doc *out)
{
    const size_t count = j->used - from;
    if (count > UINT32_MAX) return json_memory(j);
    out->is.items = hr__memory_take(j->items, count * sizeof(hr__doc));
    if (!out->is.items) return json_memory(j);
    if (count) memcpy(out->is.items, j->stack + from, count * sizeof(hr__doc));
    out->count = (uint32_t)count;
    j->used = from;
    return HR_OK;
}

static hr_status parse_array(json_parser *j, hr__doc *out)
{
    const size_t from = j->used;
    out->type = HR__IS_ARRAY;
    j->p++;
    skip_white(j);
    if (peek(j) == ']') {
        j->p++;
        return pop_items(j, from, out);
    }
    for (;;) {
        hr__doc item = {0};
        HR_TRY(parse_value(j, &item));
        HR_TRY(push(j, &item));
        skip_white(j);
        const unsigned char c = peek(j);
        if (c != ',' && c != ']') return json_wrong(j, "Missing a comma or ']' after an array element.", j->p);
        j->p++;
        if (c == ']') return pop_items(j, from, out);
        skip_white(j);
    }
}

static int compare_names(const void *a, const void *b)
{
    const hr__doc *x = *(const hr__doc *const *)a, *y = *(const hr__doc *const *)b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return memcmp(x->is.text, y->is.text, x->size);
}

/* Whether a name comes twice: the names sorted. */
static hr_status check_names(json_parser *j, const hr__doc *object)
{
    enum { FEW = 64 };
    const hr__doc *few[FEW], **names = few;
    const uint32_t count = object->count / 2;
    if (count > FEW) names = hr__memory_take(j->items, count * sizeof *names);
    if (!names) return json_memory(j);
    for (uint32_t i = 0; i < count; i++) names[i] = &object->is.items[2 * i];
    if (count > 1) qsort(names, count, sizeof *names, compare_names);
    for (uint32_t i = 1; i < count; i++)
        if (compare_names(&names[i - 1], &names[i]) == 0)
            return hr__fault_set(j->fault, HR_INVALID_ARGUMENT,
                                 "JSON Parse error: A name comes twice in the object that ends at offset: %zu",
                                 (size_t)(j->p - j->begin));
    return HR_OK;
}

static hr_status parse_object(json_parser *j, hr__doc *out)
{
    const size_t from = j->used;
    unsigned char c = 0;
    j->p++;
    skip_white(j);
    if (peek(j) == '}') j->p++, c = '}';
    while (c != '}') {
        hr__doc item = {0};
        if (peek(j) != '"') return json_wrong(j, "Missing a name for object member.", j->p);
        HR_TRY(parse_string(j, &item));
        HR_TRY(push(j, &item));
        skip_white(j);
        if (peek(j) != ':') return json_wrong(j, "Missing a colon after a name of object member.", j->p);
        j->p++;
        skip_white(j);
        item = (hr__doc){0};
        HR_TRY(parse_value(j, &item));
        HR_TRY(push(j, &item));
        skip_white(j);
        c = peek(j);
        if (c != ',' && c != '}') return json_wrong(j, "Missing a comma or '}' after an object member.", j->p);
        j->p++;
        if (c == ',') skip_white(j);
    }
    out->type = HR__IS_OBJECT;
    HR_TRY(pop_items(j, from, out));
    if (!j->options->lenient) HR_TRY(check_names(j, out));
    out->count /= 2;
    return HR_OK;
}

static hr_status parse_word(json_parser *j, const char *word, hr__doc_type type, hr__doc *out)
{
    for (; *word; word++, j->p++)
        if (peek(j) != (unsigned char)*word) return json_wrong(j, "Invalid value.", j->p);
    out->type = (uint8_t)type;
    return HR_OK;
}

static hr_status parse_value(json_parser *j, hr__doc *out)
{
    hr_status st;
    switch (peek(j)) {
    case 'n':
        return parse_word(j, "null", HR__IS_NULL, out);
    case 't':
        return parse_word(j, "true", HR__IS_TRUE, out);
    case 'f':
        return parse_word(j, "false", HR__IS_FALSE, out);
    case '"':
        return parse_string(j, out);
    case '{':
    case '[':
        if (++j->depth > HR__DOC_LEVELS) return json_wrong(j, "Nested deeper than 254 levels.", j->p);
        st = *j->p == '{' ? parse_object(j, out) : parse_array(j, out);
        j->depth--;
        return st;
    default:
        return parse_number(j, out);
    }
}

hr_status hr__doc_parse(hr_view text, const hr__doc_options *options, hr__pool_memory *memory, hr__doc *out,
                        hr__fault *fault)
{
    json_parser j = {.begin = text.data, .p = text.data, .options = options, .memory = memory, .fault = fault};
    j.items = options->items ? options->items : memory;
    *out = (hr__doc){0};
    if (text.size == 0) return hr__fault_set(fault, HR_INVALID_ARGUMENT, "JSON Parse error: The document is empty");
    const char *nul = memchr(text.data, 0, (size_t)text.size);
    j.end = nul ? nul : text.data + text.size;
    if (j.end - j.p >= 3 && memcmp(j.p, "\xef\xbb\xbf", 3) == 0) j.p += 3;
    skip_white(&j);
    hr_status st = HR_OK;
    if (j.p == j.end) st = json_wrong(&j, "The document is empty.", j.p);
    if (st == HR_OK) st = parse_value(&j, out);
    if (st == HR_OK && !options->lenient) {
        skip_white(&j);
        if (j.p < j.end) st = json_wrong(&j, "The document root must not be followed by other values.", j.p);
    }
    hr_free(j.stack);
    return st;
}

const hr__doc *hr__doc_member_view(const hr__doc *object, hr_view name)
{
    if (object->type != HR__IS_OBJECT) return NULL;
    for (uint32_t i = 0; i < object->count; i++) {
        const hr__doc *key = &object->is.items[2 * i];
        if (key->size == (size_t)name.size && memcmp(key->is.text, name.data, key->size) == 0) return key + 1;
    }
    return NULL;
}

const hr__doc *hr__doc_member(const hr__doc *object, const char *name)
{
    return hr__doc_member_view(object, (hr_view){name, (int64_t)strlen(name)});
}
