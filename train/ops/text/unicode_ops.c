/* UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeTranscode: texts as numbers of characters and back, in
 * UTF-8, UTF-16 and UTF-32. A byte order mark counts for its own string, and is no character of it; TensorFlow keeps
 * what the first string of a batch said. */
#include "train/ops/text/utf8.h"
#include <ctype.h>
#include <headrace/kernels.h>
#include <headrace/text_ops.h>
#include <string.h>

enum { REPLACEMENT = 0xfffd, LAST = 0x10ffff /* of all characters */ };

typedef enum encoding { UTF_8, UTF_16, UTF_16_BE, UTF_16_LE, UTF_32, UTF_32_BE, UTF_32_LE } encoding;

/* ---- attributes ---- */

/* Without regard to case, '-' and '_', as "UTF-16-BE" and "utf_16be". */
static bool is_called(hr_view given, const char *name)
{
    int64_t i = 0;
    for (; *name; name++, i++) {
        while (i < given.size && (given.data[i] == '-' || given.data[i] == '_')) i++;
        if (i == given.size || tolower((unsigned char)given.data[i]) != *name) return false;
    }
    return i == given.size;
}

static hr_status encoding_of(const hr_kernel *k, const char *attr, encoding *out, hr_error *err)
{
    static const char *const names[] = {"utf8", "utf16", "utf16be", "utf16le", "utf32", "utf32be", "utf32le"};
    const hr_view given = hr_attr_string(k->node, attr);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *out = (encoding)i;
        if (is_called(given, names[i])) return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                   "%s: expected UTF-8, UTF-16 or UTF-32, with -BE or -LE or without, got '%.*s'", attr,
                   (int)(given.size < 60 ? given.size : 60), given.data ? given.data : "");
}

/* What is done with bytes that are no character, and with control characters. */
typedef struct policy {
    bool strict, ignore, control;
    uint32_t replacement;
} policy;

static hr_status policy_of(const hr_kernel *k, bool decodes, policy *out, hr_error *err)
{
    const hr_view errors = hr_attr_string(k->node, "errors");
    const int64_t replacement = hr_attr_int(k->node, "replacement_char");
    if (replacement < 0 || replacement > LAST)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                       "replacement_char out of unicode codepoint range: expected 0 to 1114111, got %lld",
                       (long long)replacement);
    *out = (policy){.strict = errors.size == 6 && memcmp(errors.data, "strict", 6) == 0,
                    .ignore = errors.size == 6 && memcmp(errors.data, "ignore", 6) == 0,
                    .control = decodes && hr_attr_bool(k->node, "replace_control_characters"),
                    .replacement = (uint32_t)replacement};
    return HR_OK;
}

/* ---- from bytes ---- */

static uint32_t unit16(const uint8_t *at, bool big)
{
    return big ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

static bool is_high(uint32_t c) { return c >= 0xd800 && c < 0xdc00; }
static bool is_low(uint32_t c) { return c >= 0xdc00 && c < 0xe000; }
static uint32_t joined(uint32_t high, uint32_t low) { return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00); }

/* As utf8_next: how many bytes the next character takes, or the longest part of one, and then *c is above LAST. */
static int64_t next_utf16(const uint8_t *at, const uint8_t *end, bool big, uint32_t *c)
{
    *c = UINT32_MAX;
    if (end - at < 2) return end - at;
    const uint32_t unit = unit16(at, big);
    if (is_high(unit)) {
        if (end - at < 4) return end - at;
        const uint32_t low = unit16(at + 2, big);
        if (!is_low(low)) return 2;
        *c = joined(unit, low);
        return 4;
    }
    if (!is_low(unit)) *c = unit;
    return 2;
}

static int64_t next_utf32(const uint8_t *at, const uint8_t *end, bool big, uint32_t *c)
{
    *c = UINT32_MAX;
    if (end - at < 4) return end - at;
    const uint32_t first = unit16(at, big), second = unit16(at + 2, big);
    const uint32_t value = big ? first << 16 | second : second << 16 | first;
    if (!is_high(value) && !is_low(value)) *c = value;
    return 4;
}

static int64_t next_character(const uint8_t *at, const uint8_t *end, encoding from, uint32_t *c)
{
    if (from == UTF_8) return utf8_next(at, end - at, c);
    if (from == UTF_16_BE || from == UTF_16_LE) return next_utf16(at, end, from == UTF_16_BE, c);
    return next_utf32(at, end, from == UTF_32_BE, c);
}

static bool begins_with(hr_view text, const char *mark, int64_t size)
{
    return text.size >= size && memcmp(text.data, mark, (size_t)size) == 0;
}

/* By the byte order mark, of so many bytes; without one the great byte comes first. */
static encoding order_of(hr_view text, encoding from, int64_t *mark)
{
    *mark = 0;
    if (from == UTF_16) {
        *mark = begins_with(text, "\xfe\xff", 2) || begins_with(text, "\xff\xfe", 2) ? 2 : 0;
        return begins_with(text, "\xff\xfe", 2) ? UTF_16_LE : UTF_16_BE;
    }
    if (from == UTF_32) {
        const bool little = begins_with(text, "\xff\xfe\0\0", 4);
        *mark = little || begins_with(text, "\0\0\xfe\xff", 4) ? 4 : 0;
        return little ? UTF_32_LE : UTF_32_BE;
    }
    return from;
}

/* A text that is read character by character. */
typedef struct reading {
    const uint8_t *begin, *first, *at, *end; /* `first`: after the byte order mark */
    encoding from;
    const policy *policy;
    bool malformed; /* met so far: bytes that are no character */
    bool replaced;  /* or a control character */
} reading;

static reading reading_of(hr_view text, encoding from, const policy *p)
{
    static const uint8_t none[1];
    int64_t mark;
    const uint8_t *begin = text.size ? (const uint8_t *)text.data : none;
    from = order_of(text, from, &mark);
    return (reading){begin, begin + mark, begin + mark, begin + text.size, from, p, false, false};
}

/* False: the text is at its end. *offset: where the character begins, the first one with the byte order mark. */
static bool reading_next(reading *r, uint32_t *c, int64_t *offset)
{
    while (r->at < r->end) {
        *offset = r->at == r->first ? 0 : r->at - r->begin;
        r->at += next_character(r->at, r->end, r->from, c);
        const bool wrong = *c > LAST;
        r->malformed |= wrong;
        if (!wrong && !(r->policy->control && *c <= 0x1f)) return true;
        r->replaced = true;
        *c = r->policy->replacement;
        if (!r->policy->ignore) return true;
    }
    return false;
}

static hr_status refuse_text(hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.string", "Invalid formatting on input string");
}

/* ---- to bytes ---- */

/* A text in the making. Halves of a pair that follow each other are one character, as in TensorFlow's strings of
 * UTF-16. */
typedef struct writing {
    hr_strings out;
    encoding to;
    uint32_t high; /* waits for its other half; 0: none */
} writing;

static void put_bytes(writing *w, uint32_t value, int bytes)
{
    char at[4];
    for (int i = 0; i < bytes; i++) at[i] = (char)(value >> 8 * (bytes - 1 - i));
    hr_strings_add(&w->out, (hr_view){at, bytes});
}

static void put_character(writing *w, uint32_t c)
{
    if (w->to == UTF_32_BE) {
        put_bytes(w, c, 4);
    } else if (w->to == UTF_16_BE) {
        if (c > 0xffff) put_bytes(w, 0xd800 + ((c - 0x10000) >> 10), 2);
        put_bytes(w, c > 0xffff ? 0xdc00 + (c & 0x3ff) : c, 2);
    } else {
        char text[UTF8_MOST];
        hr_strings_add(&w->out, (hr_view){text, utf8_put(is_high(c) || is_low(c) ? REPLACEMENT : c, text)});
    }
}

static void writing_add(writing *w, uint32_t c)
{
    const uint32_t high = w->high;
    w->high = 0;
    if (high && is_low(c)) {
        put_character(w, joined(high, c));
        return;
    }
    if (high) put_character(w, high);
    if (is_high(c))
        w->high = c;
    else
        put_character(w, c);
}

static void writing_end(writing *w)
{
    if (w->high) put_character(w, w->high);
    w->high = 0;
    hr_strings_end(&w->out);
}

/* ---- UnicodeDecode ---- */

/* Whether the characters of all texts are counted, or put into the outputs as well. */
static hr_status decode_texts(const hr_kernel *k, encoding from, const policy *p, hr_tensor *splits,
                              int32_t *characters, int64_t *starts, int64_t *count, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    *count = 0;
    if (splits) HR_TRY(hr_put_int(splits, 0, 0, err));
    for (int64_t i = 0; i < in->count; i++) {
        reading r = reading_of(((const hr_view *)in->data)[i], from, p);
        uint32_t c;
        int64_t offset;
        for (; reading_next(&r, &c, &offset); ++*count) {
            if (characters) characters[*count] = (int32_t)c;
            if (starts) starts[*count] = offset;
        }
        if (r.malformed && p->strict) return refuse_text(err);
        if (splits) HR_TRY(hr_put_int(splits, i + 1, *count, err));
    }
    return HR_OK;
}

static hr_status decode_compute(hr_kernel *k, hr_error *err)
{
    policy p;
    encoding from;
    int64_t count, rows;
    hr_tensor *splits, *characters, *starts = NULL;
    HR_TRY(encoding_of(k, "input_encoding", &from, err));
    HR_TRY(policy_of(k, true, &p, err));
    HR_TRY(decode_texts(k, from, &p, NULL, NULL, NULL, &count, err));
    HR_TRY(hr_dim_add(k->input[0]->count, 1, &rows, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows), &splits, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(count), &characters, err));
    if (k->outputs > 2) HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(count), &starts, err));
    return decode_texts(k, from, &p, splits, characters->data, starts ? starts->data : NULL, &count, err);
}

static hr_status decode_shape(hr_infer *s, hr_error *err)
{
    const int64_t texts = s->input[0].rank < 0 ? -1 : hr_shape_count(s->input[0]);
    int64_t rows;
    HR_TRY(hr_dim_add(texts, 1, &rows, err));
    s->output[0] = HR_SHAPE(rows);
    for (int i = 1; i < s->outputs; i++) s->output[i] = HR_SHAPE(-1);
    return HR_OK;
}

/* ---- UnicodeEncode ---- */

static bool is_character(uint32_t c)
{
    return c <= LAST && !is_high(c) && !is_low(c) && (c & 0xfffe) != 0xfffe && !(c >= 0xfdd0 && c <= 0xfdef);
}

static hr_status check_splits(const hr_tensor *splits, int64_t count, hr_error *err)
{
    const char *wrong = NULL;
    if (splits->count == 0)
        wrong = "Input_splits should contain elements, but has none";
    else if (hr_int_at(splits, 0) != 0)
        wrong = "First value in input_splits must be zero.";
    else if (hr_int_at(splits, splits->count - 1) != count)
        wrong = "Last value in input_splits must be equal to length of input_tensor.";
    for (int64_t i = 1; !wrong && i < splits->count; i++)
        if (hr_int_at(splits, i - 1) > hr_int_at(splits, i))
            wrong = "Values in input_splits must be equal or in ascending order.";
    return wrong ? hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "%s", wrong) : HR_OK;
}

static hr_status encode_row(writing *w, const policy *p, const int32_t *value, int64_t count, hr_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t c = (uint32_t)value[i];
        const bool wrong = !is_character(c);
        if (wrong && p->strict)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.string",
                           "Code point is out of range for Unicode, or a noncharacter: %d", (int)value[i]);
        if (wrong && !p->ignore) c = p->replacement;
        if (c <= LAST) writing_add(w, c);
    }
    writing_end(w);
    return HR_OK;
}

static hr_status encode_compute(hr_kernel *k, hr_error *err)
{
    policy p;
    writing w = {0};
    const hr_tensor *values = k->input[0], *splits = k->input[1];
    HR_TRY(hr_expect_rank("input_values", values->shape, 1, err));
    HR_TRY(hr_expect_rank("input_splits", splits->shape, 1, err));
    HR_TRY(encoding_of(k, "output_encoding", &w.to, err));
    HR_TRY(policy_of(k, false, &p, err));
    HR_TRY(check_splits(splits, values->count, err));
    hr_status st = HR_OK;
    for (int64_t i = 1; st == HR_OK && i < splits->count; i++) {
        const int64_t from = hr_int_at(splits, i - 1), to = hr_int_at(splits, i);
        st = encode_row(&w, &p, (const int32_t *)values->data + from, to - from, err);
    }
    if (st == HR_OK) return hr_strings_give(&w.out, k, 0, HR_SHAPE(splits->count - 1), err);
    hr_strings_free(&w.out);
    return st;
}

static hr_status encode_shape(hr_infer *s, hr_error *err)
{
    HR_TRY(hr_expect_rank("input_values", s->input[0], 1, err));
    HR_TRY(hr_expect_rank("input_splits", s->input[1], 1, err));
    const int64_t splits = s->input[1].rank < 0 ? -1 : s->input[1].dims[0];
    if (splits == 0) return hr_infer_refuse(s, err, "splits, of which the first is 0");
    s->output[0] = HR_SHAPE(splits < 0 ? -1 : splits - 1);
    return HR_OK;
}

/* ---- UnicodeTranscode ---- */

static hr_status transcode_compute(hr_kernel *k, hr_error *err)
{
    policy p;
    encoding from;
    writing w = {0};
    const hr_tensor *in = k->input[0];
    HR_TRY(encoding_of(k, "input_encoding", &from, err));
    HR_TRY(encoding_of(k, "output_encoding", &w.to, err));
    HR_TRY(policy_of(k, true, &p, err));
    for (int64_t i = 0; i < in->count; i++) {
        reading r = reading_of(((const hr_view *)in->data)[i], from, &p);
        uint32_t c;
        int64_t offset;
        while (reading_next(&r, &c, &offset)) writing_add(&w, c);
        writing_end(&w);
        if (!p.strict || !r.replaced) continue;
        hr_strings_free(&w.out);
        return refuse_text(err);
    }
    return hr_strings_give(&w.out, k, 0, in->shape, err);
}

#define UNICODE_OP(NAME, SHAPE, COMPUTE)                                                                               \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shape = (SHAPE), .compute = (COMPUTE),    \
    }

const hr_graph_op hr_graph_ops_unicode_ops[] = {
    UNICODE_OP("UnicodeDecode", decode_shape, decode_compute),
    UNICODE_OP("UnicodeDecodeWithOffsets", decode_shape, decode_compute),
    UNICODE_OP("UnicodeEncode", encode_shape, encode_compute),
    UNICODE_OP("UnicodeTranscode", hr_infer_unchanged, transcode_compute),
    HR_GRAPH_OPS_END,
};
