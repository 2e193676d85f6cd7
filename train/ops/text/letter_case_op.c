/* StringLower and StringUpper: letters of ASCII, or of Unicode in UTF-8. */
#include "train/ops/text/letter_case.h"
#include "train/ops/text/utf8.h"

#include <headrace/kernels.h>

/* ---- characters ---- */

/* The character at `at`, and its bytes. Bytes that are none, as many as could begin one, are U+FFFD. */
static int64_t letter_at(hr_view in, int64_t at, uint32_t *letter)
{
    const int64_t size = utf8_next((const unsigned char *)in.data + at, in.size - at, letter);
    if (*letter == UINT32_MAX) *letter = 0xfffd;
    return size;
}

static void put_letter(hr_strings *out, uint32_t c)
{
    char text[UTF8_MOST];
    hr_strings_add(out, (hr_view){text, utf8_put(c, text)});
}

static uint32_t changed_by(const letter_run *runs, int count, uint32_t c)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (runs[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    const letter_run *r = &runs[low];
    const bool is_in = low < count && r->first <= c && (c - r->first) % (uint32_t)r->step == 0;
    return is_in ? (uint32_t)((int32_t)c + r->by) : c;
}

static bool is_among(const letter_range *ranges, int count, uint32_t c)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (ranges[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= c;
}
#define COUNT(LIST) ((int)(sizeof(LIST) / sizeof *(LIST)))
static bool is_cased(uint32_t c) { return is_among(cased_ranges, COUNT(cased_ranges), c); }
static bool is_ignored(uint32_t c) { return is_among(ignored_ranges, COUNT(ignored_ranges), c); }

/* ---- strings ---- */

enum { SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2, DOTTED_I = 0x130 };

static bool letter_follows(hr_view in, int64_t at)
{
    uint32_t c;
    for (; at < in.size; at += letter_at(in, at, &c)) {
        letter_at(in, at, &c);
        if (!is_ignored(c)) return is_cased(c);
    }
    return false;
}

static void lower_unicode(hr_strings *out, hr_view in)
{
    bool after_letter = false;
    uint32_t c;
    for (int64_t at = 0; at < in.size;) {
        at += letter_at(in, at, &c);
        if (c == DOTTED_I)
            hr_strings_add(out, hr_text_view("i\xcc\x87"));
        else if (c == SIGMA && after_letter && !letter_follows(in, at))
            put_letter(out, FINAL_SIGMA);
        else
            put_letter(out, c >= 'A' && c <= 'Z' ? c + 32 : changed_by(lower_runs, COUNT(lower_runs), c));
        if (!is_ignored(c)) after_letter = is_cased(c);
    }
}

static void upper_unicode(hr_strings *out, hr_view in)
{
    uint32_t c;
    for (int64_t at = 0; at < in.size;) {
        at += letter_at(in, at, &c);
        const letter_text *several = NULL;
        for (int i = 0; c >= upper_texts[0].letter && i < COUNT(upper_texts) && !several; i++)
            if (upper_texts[i].letter == c) several = &upper_texts[i];
        if (several)
            hr_strings_add(out, hr_text_view(several->text));
        else
            put_letter(out, c >= 'a' && c <= 'z' ? c - 32 : changed_by(upper_runs, COUNT(upper_runs), c));
    }
}

static void change_ascii(hr_strings *out, hr_view in, bool upper)
{
    for (int64_t i = 0; i < in.size; i++) {
        const char c = in.data[i], first = upper ? 'a' : 'A', last = upper ? 'z' : 'Z';
        const char changed = c >= first && c <= last ? (char)(c ^ 32) : c;
        hr_strings_add(out, (hr_view){&changed, 1});
    }
}

static hr_status change_case(hr_kernel *k, bool upper, hr_error *err)
{
    const hr_view encoding = hr_attr_string(k->node, "encoding"), *in = k->input[0]->data;
    hr_strings out = {0};
    if (encoding.size > 0 && !(encoding.size == 5 && memcmp(encoding.data, "utf-8", 5) == 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "only utf-8 or '' (bytes) encoding is supported, got '%.*s'", (int)encoding.size, encoding.data);
    for (int64_t i = 0; i < k->input[0]->count; i++) {
        if (encoding.size == 0)
            change_ascii(&out, in[i], upper);
        else if (upper)
            upper_unicode(&out, in[i]);
        else
            lower_unicode(&out, in[i]);
        hr_strings_end(&out);
    }
    return hr_strings_give(&out, k, 0, k->input[0]->shape, err);
}

static hr_status lower_compute(hr_kernel *k, hr_error *err) { return change_case(k, false, err); }
static hr_status upper_compute(hr_kernel *k, hr_error *err) { return change_case(k, true, err); }

#define CASE_OP(NAME, COMPUTE)                                                                                         \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shapes = "=0", .compute = (COMPUTE),      \
    }

const hr_graph_op hr_graph_ops_letter_case_op[] = {
    CASE_OP("StringLower", lower_compute),
    CASE_OP("StringUpper", upper_compute),
    HR_GRAPH_OPS_END,
};
