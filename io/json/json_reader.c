/* A state machine over bytes that come in pieces. A token within one piece is lent in place; one that spans
 * pieces, or has escapes, is assembled in the reader's scratch. */
#include "io/json/json_reader.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What may come next. */
enum expects { VALUE, KEY_OR_END, KEY, COLON, VALUE_OR_END, COMMA_OR_END };

void hr__json_begin_text(hr__json_reader *r, const char *name, hr_view text)
{
    *r = (hr__json_reader){.name = name, .p = text.data, .scratch = r->scratch};
    r->end = text.size > 0 ? text.data + text.size : text.data;
    r->before = text.size;
}

void hr__json_begin_input(hr__json_reader *r, hr_input *in, int64_t max)
{
    *r = (hr__json_reader){.name = hr_input_path(in), .in = in, .scratch = r->scratch, .before = hr_input_offset(in)};
    r->bol = r->before;
    r->max = max;
}

void hr__json_reader_clear(hr__json_reader *r)
{
    hr__text_free(&r->scratch);
    *r = (hr__json_reader){0};
}

static int64_t offset_of(const hr__json_reader *r) { return r->before - (r->end - r->p); }

/* ---- errors ---- */

static hr_status json_reader_place(const hr__json_reader *r, hr_error *err, hr_status status)
{
    if (!err) return status;
    const hr__json_token *t = &r->token;
    hr_error_prefix(err, "%s:%lld:%lld: ", r->name, (long long)t->line, (long long)t->column);
    hr_error_file(err, r->name);
    err->line = t->line;
    err->offset = t->offset;
    err->length = t->text.size;
    return status;
}

hr_status hr__json_fail(const hr__json_reader *r, hr_error *err, const char *kind, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return json_reader_place(r, err, hr_fail(err, HR_INVALID_ARGUMENT, kind, "%s", text));
}

const char *hr__json_found(const hr__json_reader *r, char text[80])
{
    static const char *const word[] = {
        [HR__JSON_NONE] = "the end of the text",
        [HR__JSON_NULL] = "null",
        [HR__JSON_FALSE] = "false",
        [HR__JSON_TRUE] = "true",
        [HR__JSON_NUMBER] = "",
        [HR__JSON_STRING] = "\"",
        [HR__JSON_KEY] = "\"",
        [HR__JSON_BEGIN_OBJECT] = "an object",
        [HR__JSON_END_OBJECT] = "}",
        [HR__JSON_BEGIN_ARRAY] = "an array",
        [HR__JSON_END_ARRAY] = "]",
    };
    const hr__json_token *t = &r->token;
    const char *w = word[t->kind];
    if (w[0] && w[0] != '"') return w;
    snprintf(text, 80, "%s%.*s%s%s", w, (int)(t->text.size < 60 ? t->text.size : 60), t->text.data, w,
             t->text.size > 60 ? "..." : "");
    return text;
}

/* The token now begins at the next byte. */
static void json_reader_mark(hr__json_reader *r)
{
    int64_t offset = offset_of(r);
    r->token = (hr__json_token){.line = r->line + 1, .column = offset - r->bol + 1, .offset = offset, .text = {"", 0}};
}

static hr_status unexpected(hr__json_reader *r, const char *expected, hr_error *err)
{
    json_reader_mark(r);
    if (r->p == r->end) return hr__json_fail(r, err, "json.syntax", "expected %s, found the end of the text", expected);
    unsigned char c = (unsigned char)*r->p;
    if (c > ' ' && c < 0x7f) return hr__json_fail(r, err, "json.syntax", "expected %s, found '%c'", expected, c);
    return hr__json_fail(r, err, "json.syntax", "expected %s, found the byte 0x%02x", expected, c);
}

/* ---- bytes ---- */

/* The value at hand has come to the next byte. */
static hr_status check_length(const hr__json_reader *r, hr_error *err)
{
    if (r->max == 0 || r->from < 0 || offset_of(r) - r->from <= r->max) return HR_OK;
    return hr__json_fail(r, err, "json.limit",
                         "expected a value of at most %lld bytes, found a longer one; give a larger .max_row_bytes if "
                         "that is right",
                         (long long)r->max);
}

/* At least one byte between p and end; HR_END: there is none. */
static hr_status json_reader_fill(hr__json_reader *r, hr_error *err)
{
    if (r->p < r->end) return HR_OK;
    if (!r->in) return HR_END;
    HR_TRY(check_length(r, err));
    hr_input_consume(r->in, r->lent);
    r->lent = 0;
    hr_status st = hr_input_peek(r->in, 1, &r->p, &r->lent, err);
    r->end = r->p + r->lent;
    r->before += (int64_t)r->lent;
    if (st != HR_OK) return st;
    return r->lent > 0 ? HR_OK : HR_END;
}

static hr_status skip_mark(hr__json_reader *r, hr_error *err)
{
    r->begun = true;
    hr_status st = HR_OK;
    const char *bom = "\xef\xbb\xbf";
    int found = 0;
    for (; found < 3 && (st = json_reader_fill(r, err)) == HR_OK && *r->p == bom[found]; found++) r->p++;
    if (st < 0) return st;
    if (found == 0 || found == 3) return HR_OK;
    return unexpected(r, "a whole byte order mark, ef bb bf", err);
}

/* HR_END: nothing but white space follows. */
static hr_status skip_space(hr__json_reader *r, hr_error *err)
{
    for (;;) {
        HR_TRY(json_reader_fill(r, err));
        while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n')) {
            if (*r->p++ != '\n') continue;
            r->line++;
            r->bol = offset_of(r);
        }
        if (r->p < r->end) return HR_OK;
    }
}

/* ---- strings ---- */

/* Bytes up to a quote, a backslash or a control character. */
static const char *plain_end(const char *p, const char *end)
{
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20) p++;
    return p;
}

static hr_status next_byte(hr__json_reader *r, char *out, hr_error *err)
{
    hr_status st = json_reader_fill(r, err);
    if (st == HR_END) return unexpected(r, "a closing quote", err);
    HR_TRY(st);
    *out = *r->p++;
    return HR_OK;
}

static hr_status read_unit(hr__json_reader *r, uint32_t *unit, hr_error *err)
{
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        char c = 0;
        HR_TRY(next_byte(r, &c, err));
        const char *digits = "0123456789abcdef", *at = strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c);
        if (!c || !at) {
            r->p--;
            return unexpected(r, "four hexadecimal digits after \\u", err);
        }
        *unit = *unit << 4 | (uint32_t)(at - digits);
    }
    return HR_OK;
}

static void put_point(hr__text *to, uint32_t c)
{
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6) b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(lead[n] | c);
    hr__text_bytes(to, b, n);
}

/* Reads what follows \u: a character of the basic plane, or the first half of a pair. */
static hr_status read_point(hr__json_reader *r, hr_error *err)
{
    uint32_t high, low = 0;
    HR_TRY(read_unit(r, &high, err));
    bool pair = high >= 0xd800 && high < 0xdc00, alone = high >= 0xdc00 && high < 0xe000;
    if (pair) {
        char c[2] = {0, 0};
        HR_TRY(next_byte(r, &c[0], err));
        if (c[0] == '\\') HR_TRY(next_byte(r, &c[1], err));
        if (c[0] == '\\' && c[1] == 'u') HR_TRY(read_unit(r, &low, err));
        alone = low < 0xdc00 || low >= 0xe000;
    }
    if (alone) return hr__json_fail(r, err, "json.utf8", "expected pairs of surrogates, found \\u%04x alone", high);
    put_point(&r->scratch, pair ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : high);
    return HR_OK;
}

static hr_status read_escape(hr__json_reader *r, hr_error *err)
{
    static const char letter[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char c = 0;
    HR_TRY(next_byte(r, &c, err));
    if (c == 'u') return read_point(r, err);
    const char *at = c ? strchr(letter, c) : NULL;
    if (!at) {
        r->p--;
        return unexpected(r, "one of \"\\/bfnrtu after a backslash", err);
    }
    hr__text_byte(&r->scratch, meant[at - letter]);
    return HR_OK;
}

/* The rest of a string that is cut or has escapes. */
static hr_status gather_string(hr__json_reader *r, hr_view *out, hr_error *err)
{
    hr__text_clear(&r->scratch);
    for (;;) {
        const char *from = r->p;
        r->p = plain_end(r->p, r->end);
        hr__text_bytes(&r->scratch, from, (size_t)(r->p - from));
        char c = 0;
        HR_TRY(next_byte(r, &c, err));
        if (c == '"') break;
        if (c == '\\') {
            HR_TRY(read_escape(r, err));
        } else if ((unsigned char)c < 0x20) {
            r->p--;
            return unexpected(r, "control characters as \\u00..", err);
        } else {
            r->p--; /* the first byte of the next piece */
        }
    }
    *out = (hr_view){r->scratch.data, (int64_t)r->scratch.size};
    return hr__text_status(&r->scratch, "a string", err);
}

static hr_status read_string(hr__json_reader *r, hr__json_kind kind, hr_error *err)
{
    hr_view text;
    r->token.kind = kind;
    const char *from = ++r->p, *end = plain_end(r->p, r->end);
    if (end < r->end && *end == '"') {
        text = (hr_view){from, end - from};
        r->p = end + 1;
    } else {
        HR_TRY(gather_string(r, &text, err));
    }
    r->token.text = text;
    if (hr__is_utf8(text.data, (size_t)text.size)) return HR_OK;
    return hr__json_fail(r, err, "json.utf8",
                         "expected UTF-8, found other bytes in a string; write bytes as "
                         "{\"$b64\": ...}");
}

/* ---- words: numbers, true, false, null ---- */

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
           c == '.';
}

static hr_status take_word(hr__json_reader *r, hr_view *out, hr_error *err)
{
    hr_status st = HR_OK;
    const char *from = r->p;
    while (r->p < r->end && in_word(*r->p)) r->p++;
    *out = (hr_view){from, r->p - from};
    if (r->p < r->end) return HR_OK;
    hr__text_clear(&r->scratch);
    hr__text_bytes(&r->scratch, from, (size_t)(r->p - from));
    while (r->scratch.size <= HR__JSON_NUMBER_LIMIT && (st = json_reader_fill(r, err)) == HR_OK && in_word(*r->p))
        hr__text_byte(&r->scratch, *r->p++);
    if (st < 0) return st;
    *out = (hr_view){r->scratch.data, (int64_t)r->scratch.size};
    return hr__text_status(&r->scratch, "a number", err);
}

static bool digits(const char **p, const char *end)
{
    const char *from = *p;
    while (*p < end && **p >= '0' && **p <= '9') ++*p;
    return *p > from;
}

static bool is_word(hr_view v, const char *word)
{
    return v.size == (int64_t)strlen(word) && memcmp(v.data, word, (size_t)v.size) == 0;
}

static bool json_reader_is_number(hr_view v)
{
    if (is_word(v, "NaN") || is_word(v, "Infinity") || is_word(v, "-Infinity")) return true;
    const char *p = v.data, *end = p + v.size;
    if (p < end && *p == '-') p++;
    const char *whole = p;
    if (!digits(&p, end) || (*whole == '0' && p - whole > 1)) return false;
    if (p < end && *p == '.' && (p++, !digits(&p, end))) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        if (!digits(&p, end)) return false;
    }
    return p == end;
}

static hr_status read_word(hr__json_reader *r, hr_error *err)
{
    hr_view v;
    HR_TRY(take_word(r, &v, err));
    r->token.text = v;
    r->token.kind = is_word(v, "true")    ? HR__JSON_TRUE
                    : is_word(v, "false") ? HR__JSON_FALSE
                    : is_word(v, "null")  ? HR__JSON_NULL
                                          : HR__JSON_NUMBER;
    if (v.size > HR__JSON_NUMBER_LIMIT)
        return hr__json_fail(r, err, "json.limit", "expected numbers of up to %d digits, found a longer one",
                             HR__JSON_NUMBER_LIMIT);
    if (r->token.kind != HR__JSON_NUMBER || json_reader_is_number(v)) return HR_OK;
    return hr__json_fail(r, err, "json.syntax", "expected a number, true, false or null, found \"%.*s\"",
                         (int)(v.size < 60 ? v.size : 60), v.data);
}

/* ---- structure ---- */

static hr_status json_reader_begin(hr__json_reader *r, bool object, hr_error *err)
{
    if (r->depth == HR__JSON_DEPTH)
        return hr__json_fail(r, err, "json.depth", "expected at most %d levels, found one more", HR__JSON_DEPTH);
    r->p++;
    r->objects = r->objects << 1 | (uint64_t)object;
    r->depth++;
    r->token.kind = object ? HR__JSON_BEGIN_OBJECT : HR__JSON_BEGIN_ARRAY;
    r->expects = object ? KEY_OR_END : VALUE_OR_END;
    return HR_OK;
}

static hr_status json_reader_end(hr__json_reader *r, hr_error *err)
{
    r->p++;
    HR_TRY(check_length(r, err));
    r->token.kind = r->objects & 1 ? HR__JSON_END_OBJECT : HR__JSON_END_ARRAY;
    r->objects >>= 1;
    r->depth--;
    r->expects = r->depth > 0 ? COMMA_OR_END : VALUE;
    return HR_OK;
}

static hr_status read_value(hr__json_reader *r, hr_error *err)
{
    const char c = *r->p;
    if (r->depth == 0) r->from = r->token.offset;
    if (c == '{' || c == '[') return json_reader_begin(r, c == '{', err);
    r->expects = r->depth > 0 ? COMMA_OR_END : VALUE;
    if (c == '"') return read_string(r, HR__JSON_STRING, err);
    return in_word(c) ? read_word(r, err) : unexpected(r, "a value", err);
}

/* What stands between tokens and is none: commas and colons. */
static hr_status read_separator(hr__json_reader *r, hr_error *err)
{
    const bool object = r->objects & 1;
    if (r->expects == COLON && *r->p != ':') return unexpected(r, "':' after a key", err);
    if (r->expects == COMMA_OR_END && *r->p != ',') return unexpected(r, object ? "',' or '}'" : "',' or ']'", err);
    r->expects = r->expects == COLON || !object ? VALUE : KEY;
    r->p++;
    hr_status st = skip_space(r, err);
    json_reader_mark(r);
    return st == HR_END ? unexpected(r, "more", err) : st;
}

hr_status hr__json_next(hr__json_reader *r, hr_error *err)
{
    if (r->depth == 0) r->from = -1;
    if (!r->begun) HR_TRY(skip_mark(r, err));
    hr_status st = skip_space(r, err);
    json_reader_mark(r);
    if (st == HR_END) return r->depth == 0 ? HR_OK : unexpected(r, r->objects & 1 ? "'}'" : "']'", err);
    HR_TRY(st);
    const bool closes = *r->p == (r->objects & 1 ? '}' : ']');
    if (closes && (r->expects == KEY_OR_END || r->expects == VALUE_OR_END || r->expects == COMMA_OR_END))
        return json_reader_end(r, err);
    if (r->expects == COLON || r->expects == COMMA_OR_END) HR_TRY(read_separator(r, err));
    if (r->expects == VALUE || r->expects == VALUE_OR_END) return read_value(r, err);
    if (*r->p != '"') return unexpected(r, "a key in quotes", err);
    r->expects = COLON;
    return read_string(r, HR__JSON_KEY, err);
}

hr_status hr__json_skip(hr__json_reader *r, hr_error *err)
{
    if (r->token.kind != HR__JSON_BEGIN_OBJECT && r->token.kind != HR__JSON_BEGIN_ARRAY) return HR_OK;
    for (const int depth = r->depth; r->depth >= depth;) HR_TRY(hr__json_next(r, err));
    return HR_OK;
}
