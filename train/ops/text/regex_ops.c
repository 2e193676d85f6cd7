/* Regular expressions as RE2 has them, matched by PCRE2: what PCRE2 alone knows (references back, looking around) is
 * refused, what it reads in another way is written in its words, and a match that takes too long fails. */
#include "base/text.h"
#include "train/ops/text/pattern.h"
#include <headrace/kernels.h>
#include <headrace/text_ops.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { MOST_REPEATS = 1000, MATCH_LIMIT = 10 * 1000 * 1000, GROUPS = 10 };

/* ---- from RE2's syntax to PCRE2's ---- */

typedef struct translation {
    hr_view in;
    int64_t at;
    hr_strings out;
    const char *why; /* it is refused; NULL: it is not */
} translation;

static int next_byte(const translation *t, int64_t ahead)
{
    return t->at + ahead < t->in.size ? (unsigned char)t->in.data[t->at + ahead] : -1;
}

static void put_text(translation *t, const char *text) { hr_strings_add(&t->out, hr_text_view(text)); }

/* `count` bytes as they stand. */
static void put_same(translation *t, int64_t count)
{
    hr_strings_add(&t->out, (hr_view){t->in.data + t->at, count});
    t->at += count;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_octal(int c) { return c >= '0' && c <= '7'; }
static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_hex(int c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

static void put_octal(translation *t)
{
    static const char digits[] = "0123456789abcdef";
    int value = 0;
    for (int i = 0; i < 3 && is_octal(next_byte(t, 0)); i++) value = value * 8 + next_byte(t, 0) - '0', t->at++;
    const char hex[] = {'\\', 'x', '{', digits[value >> 8], digits[value >> 4 & 15], digits[value & 15], '}', 0};
    put_text(t, hex);
}

/* What stands between \Q and \E. */
static void put_quoted(translation *t)
{
    for (t->at += 2; t->at < t->in.size; t->at++) {
        if (next_byte(t, 0) == '\\' && next_byte(t, 1) == 'E') {
            t->at += 2;
            return;
        }
        const char c = t->in.data[t->at];
        if (!is_letter(c) && !is_digit(c) && c > 0) put_text(t, "\\");
        hr_strings_add(&t->out, (hr_view){&c, 1});
    }
}

/* White space is without the vertical tab. */
static void put_space(translation *t, bool all_others, bool in_class)
{
    if (!in_class) put_text(t, all_others ? "[^" : "[");
    put_text(t, in_class && all_others ? "\\x00-\\x08\\x0b\\x0e-\\x1f\\x21-\\x{10ffff}" : "\\t\\n\\f\\r ");
    if (!in_class) put_text(t, "]");
    t->at += 2;
}

static void translate_escape(translation *t, bool in_class)
{
    const int c = next_byte(t, 1);
    if (c == 's' || c == 'S') {
        put_space(t, c == 'S', in_class);
    } else if (c == 'v') {
        put_text(t, "\\x0b");
        t->at += 2;
    } else if (c == '0' || (is_octal(c) && is_octal(next_byte(t, 2)))) {
        t->at++;
        put_octal(t);
    } else if (c == 'x' && next_byte(t, 2) != '{' && !(is_hex(next_byte(t, 2)) && is_hex(next_byte(t, 3)))) {
        t->why = "invalid escape sequence";
    } else if (c < 0) {
        t->why = "trailing \\";
    } else if (is_digit(c) || (is_letter(c) && !strchr(in_class ? "afnrtxdDwWpP" : "afnrtxdDwWpPAzbB", c))) {
        t->why = "invalid escape sequence";
    } else {
        put_same(t, 2);
    }
}

/* After "(?": flags, "P<name>", or nothing. */
static void translate_group(translation *t)
{
    if (next_byte(t, 1) == '*') t->why = "missing argument to repetition operator: *";
    if (t->why || next_byte(t, 1) != '?') {
        put_same(t, 1);
        return;
    }
    int64_t end = 2;
    if (next_byte(t, 2) == 'P' && next_byte(t, 3) == '<') {
        put_same(t, 4);
        return;
    }
    while (next_byte(t, end) > 0 && strchr("imsU-", next_byte(t, end))) end++;
    if (next_byte(t, end) == ':' || (next_byte(t, end) == ')' && end > 2))
        put_same(t, end + 1);
    else
        t->why = "invalid perl operator: (?";
}

static void translate_class(translation *t)
{
    put_same(t, next_byte(t, 1) == '^' ? 2 : 1);
    for (bool first = true; t->at < t->in.size && !t->why; first = false) {
        const int c = next_byte(t, 0);
        if (c == ']' && !first) {
            put_same(t, 1);
            return;
        }
        if (c == '\\') {
            translate_escape(t, true);
        } else if (c == '[' && next_byte(t, 1) == ':') {
            const char *end = memchr(t->in.data + t->at + 2, ']', (size_t)(t->in.size - t->at - 2));
            put_same(t, end ? end + 1 - (t->in.data + t->at) : 2);
        } else if (c == '[') {
            put_text(t, "\\[");
            t->at++;
        } else if (c == ']') {
            put_text(t, "\\]");
            t->at++;
        } else {
            put_same(t, 1);
        }
    }
    if (!t->why) t->why = "missing ]";
}

/* How long the quantifier is that stands here, "{2,3}" or "*"; 0: none does. */
static int64_t quantifier(translation *t)
{
    int64_t end = 1, least = 0, most = 0;
    const int c = next_byte(t, 0);
    if (c == '*' || c == '+' || c == '?') return 1;
    if (c != '{' || !is_digit(next_byte(t, 1))) return 0;
    while (is_digit(next_byte(t, end)) && least <= MOST_REPEATS) least = 10 * least + next_byte(t, end++) - '0';
    if (next_byte(t, end) == ',') {
        end++;
        while (is_digit(next_byte(t, end)) && most <= MOST_REPEATS) most = 10 * most + next_byte(t, end++) - '0';
    }
    if (least > MOST_REPEATS || most > MOST_REPEATS) t->why = "invalid repetition size";
    return next_byte(t, end) == '}' ? end + 1 : 0;
}

static void translate(translation *t)
{
    bool repeated = false;
    while (t->at < t->in.size && !t->why) {
        const int c = next_byte(t, 0);
        const int64_t repeats = quantifier(t);
        if (t->why) return;
        if (repeats && repeated) {
            t->why = "bad repetition operator";
            return;
        }
        repeated = repeats > 0;
        if (repeats)
            put_same(t, repeats + (next_byte(t, repeats) == '?'));
        else if (c == '\\' && next_byte(t, 1) == 'Q')
            put_quoted(t);
        else if (c == '\\')
            translate_escape(t, false);
        else if (c == '(')
            translate_group(t);
        else if (c == '[')
            translate_class(t);
        else
            put_same(t, 1);
    }
}

/* ---- a pattern ---- */

typedef struct pattern {
    pcre2_general_context *memory;
    pcre2_compile_context *how;
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *found;
    bool sound; /* it is asked about UTF-8 only */
} pattern;

static void *pattern_get(size_t size, void *user)
{
    (void)user;
    return hr_malloc(size);
}

static void pattern_put(void *p, void *user)
{
    (void)user;
    hr_free(p);
}

static void pattern_free(pattern *p)
{
    pcre2_match_data_free(p->found);
    pcre2_match_context_free(p->limits);
    pcre2_code_free(p->code);
    pcre2_compile_context_free(p->how);
    pcre2_general_context_free(p->memory);
}

static hr_status pattern_refuse(hr_view text, const char *why, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.pattern", "Invalid pattern: %.*s, error: %s",
                   (int)(text.size < 60 ? text.size : 60), text.size ? text.data : "", why);
}

static hr_status pattern_compile(pattern *p, const translation *t, hr_error *err)
{
    const uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | (p->sound ? 0 : PCRE2_MATCH_INVALID_UTF);
    PCRE2_UCHAR why[128] = "";
    PCRE2_SIZE at;
    int code = 0;
    p->memory = pcre2_general_context_create(pattern_get, pattern_put, NULL);
    p->how = p->memory ? pcre2_compile_context_create(p->memory) : NULL;
    p->limits = p->memory ? pcre2_match_context_create(p->memory) : NULL;
    if (!p->how || !p->limits || t->out.failed) return hr_no_memory(err, "a pattern");
    pcre2_set_newline(p->how, PCRE2_NEWLINE_LF);
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    const char *text = t->out.bytes ? t->out.bytes : "";
    p->code = pcre2_compile((PCRE2_SPTR)text, t->out.size, options, &code, &at, p->how);
    if (!p->code && code == PCRE2_ERROR_HEAP_FAILED) return hr_no_memory(err, "a pattern");
    if (!p->code) {
        pcre2_get_error_message(code, why, sizeof why);
        return pattern_refuse(t->in, (const char *)why, err);
    }
    p->found = pcre2_match_data_create_from_pattern(p->code, p->memory);
    return p->found ? HR_OK : hr_no_memory(err, "a pattern");
}

static bool all_sound(const hr_tensor *texts)
{
    const hr_view *text = texts->data;
    for (int64_t i = 0; i < texts->count; i++)
        if (!hr__is_utf8(text[i].data, (size_t)text[i].size)) return false;
    return true;
}

/* For these texts. If all of them are UTF-8, PCRE2 does not look at the whole rest of one for each of its matches. */
static hr_status pattern_new(pattern *p, hr_view text, const hr_tensor *texts, hr_error *err)
{
    translation t = {.in = text};
    *p = (pattern){NULL, NULL, NULL, NULL, NULL, all_sound(texts)};
    translate(&t);
    const hr_status st = t.why ? pattern_refuse(text, t.why, err) : pattern_compile(p, &t, err);
    hr_strings_free(&t.out);
    if (st != HR_OK) pattern_free(p);
    return st;
}

/* *found: whether it matches from byte `from` on; then p->found says where. */
static hr_status pattern_match(pattern *p, hr_view text, int64_t from, uint32_t options, bool *found, hr_error *err)
{
    const char *data = text.size ? text.data : "";
    if (p->sound) options |= PCRE2_NO_UTF_CHECK;
    const int matches =
        pcre2_match(p->code, (PCRE2_SPTR)data, (PCRE2_SIZE)text.size, (PCRE2_SIZE)from, options, p->found, p->limits);
    *found = matches >= 0;
    if (matches >= 0 || matches == PCRE2_ERROR_NOMATCH) return HR_OK;
    if (matches == PCRE2_ERROR_NOMEMORY) return hr_no_memory(err, "a match");
    return hr_fail(err, HR_RESOURCE_EXHAUSTED, "graph.pattern_limit",
                   "a pattern takes more than %d steps on a string of %lld bytes; write it with fewer ways to match",
                   MATCH_LIMIT, (long long)text.size);
}

hr_status hr__pattern_begins(hr_view text, const hr_tensor *texts, bool *matches, hr_error *err)
{
    const hr_view *each = texts->data;
    pattern p;
    HR_TRY(pattern_new(&p, text, texts, err));
    hr_status st = HR_OK;
    for (int64_t i = 0; i < texts->count && st == HR_OK; i++)
        st = pattern_match(&p, each[i], 0, PCRE2_ANCHORED, &matches[i], err);
    pattern_free(&p);
    return st;
}

/* ---- RegexReplace ---- */

/* The highest group that a rewrite names. */
static int rewrite_groups(hr_view rewrite)
{
    int most = 0;
    for (int64_t i = 0; i + 1 < rewrite.size; i++) {
        if (rewrite.data[i] != '\\') continue;
        const int c = rewrite.data[++i];
        if (is_digit(c) && c - '0' > most) most = c - '0';
    }
    return most;
}

/* What a rewrite makes of a match. False: an escape that is none; what was before it is there. */
static bool put_rewrite(hr_strings *out, const pattern *p, hr_view text, hr_view rewrite)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(p->found);
    for (int64_t i = 0; i < rewrite.size; i++) {
        const int c = i + 1 < rewrite.size ? rewrite.data[i + 1] : -1;
        if (rewrite.data[i] != '\\') {
            hr_strings_add(out, (hr_view){rewrite.data + i, 1});
            continue;
        }
        i++;
        if (is_digit(c) && at[2 * (c - '0')] != PCRE2_UNSET)
            hr_strings_add(
                out, (hr_view){text.data + at[2 * (c - '0')], (int64_t)(at[2 * (c - '0') + 1] - at[2 * (c - '0')])});
        else if (c == '\\')
            hr_strings_add(out, (hr_view){"\\", 1});
        else if (!is_digit(c))
            return false;
    }
    return true;
}

/* Bytes of the character at `at`; of what is none, 1. */
static int64_t character_size(hr_view text, int64_t at)
{
    const unsigned char c = (unsigned char)text.data[at];
    const int64_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    for (int64_t i = 1; i < size; i++)
        if (at + i >= text.size || ((unsigned char)text.data[at + i] & 0xc0) != 0x80) return 1;
    return size;
}

/* The next match, as RE2 finds it, which takes each byte that is no character by itself: an empty match may stand before
 * it. PCRE2 passes over such bytes together, so it is asked about a text that ends there. */
static hr_status next_match(pattern *p, hr_view text, int64_t at, bool *found, hr_error *err)
{
    bool again, asked = false;
    HR_TRY(pattern_match(p, text, at, 0, found, err));
    const int64_t end = *found ? (int64_t)pcre2_get_ovector_pointer(p->found)[0] : text.size;
    for (int64_t i = at; i < end; i += character_size(text, i)) {
        if (!(text.data[i] & 0x80) || character_size(text, i) > 1) continue;
        HR_TRY(pattern_match(p, (hr_view){text.data, i}, i, PCRE2_NOTEOL | PCRE2_ANCHORED, &again, err));
        if (again) {
            *found = true;
            return HR_OK;
        }
        asked = true;
    }
    return asked ? pattern_match(p, text, at, 0, found, err) : HR_OK;
}

/* All matches, from left to right; an empty one does not follow another. */
static hr_status replace_all(hr_strings *out, pattern *p, hr_view text, hr_view rewrite, hr_error *err)
{
    int64_t at = 0, last_end = -1;
    bool found;
    while (at <= text.size) {
        HR_TRY(next_match(p, text, at, &found, err));
        if (!found) break;
        const PCRE2_SIZE *match = pcre2_get_ovector_pointer(p->found);
        const int64_t from = (int64_t)match[0], to = (int64_t)match[1];
        hr_strings_add(out, (hr_view){text.data + at, from - at});
        if (from == last_end && to == from) {
            const int64_t size = from < text.size ? character_size(text, from) : 0;
            hr_strings_add(out, (hr_view){text.data + from, size});
            at = from + (size ? size : 1);
            continue;
        }
        put_rewrite(out, p, text, rewrite);
        at = last_end = to;
    }
    if (at < text.size) hr_strings_add(out, (hr_view){text.data + at, text.size - at});
    return HR_OK;
}

static hr_status replace_first(hr_strings *out, pattern *p, hr_view text, hr_view rewrite, hr_error *err)
{
    hr_strings made = {0};
    bool found;
    HR_TRY(pattern_match(p, text, 0, 0, &found, err));
    const PCRE2_SIZE *match = pcre2_get_ovector_pointer(p->found);
    if (found && put_rewrite(&made, p, text, rewrite)) {
        hr_strings_add(out, (hr_view){text.data, (int64_t)match[0]});
        hr_strings_add(out, (hr_view){made.bytes, (int64_t)made.size});
        hr_strings_add(out, (hr_view){text.data + match[1], text.size - (int64_t)match[1]});
    } else {
        hr_strings_add(out, text);
    }
    out->failed |= made.failed;
    hr_strings_free(&made);
    return HR_OK;
}

static hr_status replace_each(hr_kernel *k, pattern *p, hr_view rewrite, hr_error *err)
{
    const bool all = hr_attr_bool(k->node, "replace_global");
    uint32_t groups = 0;
    hr_strings strings = {0};
    hr_status st = HR_OK;
    pcre2_pattern_info(p->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    const bool sound = rewrite_groups(rewrite) <= (int)groups;
    for (int64_t i = 0; st == HR_OK && i < k->input[0]->count; i++) {
        const hr_view text = ((const hr_view *)k->input[0]->data)[i];
        if (!sound)
            hr_strings_add(&strings, text);
        else
            st = all ? replace_all(&strings, p, text, rewrite, err) : replace_first(&strings, p, text, rewrite, err);
        hr_strings_end(&strings);
    }
    if (st == HR_OK) return hr_strings_give(&strings, k, 0, k->input[0]->shape, err);
    hr_strings_free(&strings);
    return st;
}

static hr_status replace_with(hr_kernel *k, hr_view text, hr_view rewrite, hr_error *err)
{
    pattern p;
    HR_TRY(pattern_new(&p, text, k->input[0], err));
    const hr_status st = replace_each(k, &p, rewrite, err);
    pattern_free(&p);
    return st;
}

static hr_status replace_compute(hr_kernel *k, hr_error *err)
{
    HR_TRY(hr_expect_rank("Pattern", k->input[1]->shape, 0, err));
    HR_TRY(hr_expect_rank("Rewrite", k->input[2]->shape, 0, err));
    return replace_with(k, *(const hr_view *)k->input[1]->data, *(const hr_view *)k->input[2]->data, err);
}

static hr_status static_replace_compute(hr_kernel *k, hr_error *err)
{
    return replace_with(k, hr_attr_string(k->node, "pattern"), hr_attr_string(k->node, "rewrite"), err);
}

/* ---- RegexFullMatch ---- */

/* What is no UTF-8 cuts a text into parts for PCRE2, and a match of the last one is not one of the whole. */
static hr_status full_match(pattern *p, hr_view text, bool *full, hr_error *err)
{
    HR_TRY(pattern_match(p, text, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED, full, err));
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(p->found);
    *full = *full && at[0] == 0 && (int64_t)at[1] == text.size;
    return HR_OK;
}

static hr_status full_match_with(hr_kernel *k, hr_view text, hr_error *err)
{
    pattern p;
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    HR_TRY(pattern_new(&p, text, k->input[0], err));
    hr_status st = HR_OK;
    for (int64_t i = 0; st == HR_OK && i < out->count; i++)
        st = full_match(&p, ((const hr_view *)k->input[0]->data)[i], (bool *)out->data + i, err);
    pattern_free(&p);
    return st;
}

static hr_status full_match_compute(hr_kernel *k, hr_error *err)
{
    HR_TRY(hr_expect_rank("Pattern", k->input[1]->shape, 0, err));
    return full_match_with(k, *(const hr_view *)k->input[1]->data, err);
}

static hr_status static_full_match_compute(hr_kernel *k, hr_error *err)
{
    return full_match_with(k, hr_attr_string(k->node, "pattern"), err);
}

#define REGEX_OP(NAME, SHAPES, COMPUTE)                                                                                \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shapes = (SHAPES), .compute = (COMPUTE)   \
    }

const hr_graph_op hr_graph_ops_regex_ops[] = {
    REGEX_OP("RegexFullMatch", "[...], [] -> [...]", full_match_compute),
    REGEX_OP("RegexReplace", "[...], [], [] -> [...]", replace_compute),
    REGEX_OP("StaticRegexFullMatch", "=0", static_full_match_compute),
    REGEX_OP("StaticRegexReplace", "=0", static_replace_compute),
    HR_GRAPH_OPS_END,
};

hr_node hr_regex_replace_with(hr_node texts, const char *pattern, const char *rewrite, const hr_regex_opts *opts)
{
    const hr_regex_opts o = HR_OPTIONS(hr_regex_opts, opts);
    return hr_new_node(NULL, "StaticRegexReplace", .name = o.name, HR_INPUTS(texts),
                       HR_ATTRS(HR_STRING_ATTR("pattern", pattern), HR_STRING_ATTR("rewrite", rewrite),
                                HR_BOOL_ATTR("replace_global", !o.first_only)));
}

hr_node hr_regex_full_match(hr_node texts, const char *pattern)
{
    return hr_new_node(NULL, "StaticRegexFullMatch", HR_INPUTS(texts), HR_ATTRS(HR_STRING_ATTR("pattern", pattern)));
}
