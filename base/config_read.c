/* Typed values of a config's nodes. Every error names the place, what was expected, and what was found. */
#include "base/config_tree.h"
#include "base/hash_map.h"
#include "base/number.h"
#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CLIPPED = 60, MAX_NAMES = 12 };

/* ---- errors ---- */

static void config_read_add_path(const hr__node *node, size_t start, hr__text *to)
{
    const hr__node *up = node->parent;
    if (!up) return;
    config_read_add_path(up, start, to);
    if (up->item[node->place] != node) return; /* a key: it has the path of its mapping */
    if (up->kind == HR__SEQUENCE)
        hr__text_printf(to, "[%u]", node->place);
    else
        hr__text_printf(to, "%s%s", to->size > start ? "." : "", up->key[node->place]->text);
}

void hr__node_path(const hr__node *node, hr__text *to) { config_read_add_path(node, to->size, to); }

hr_status hr__node_fail(const hr__node *node, hr_error *err, hr_status code, const char *kind, const char *format, ...)
{
    if (!err) return code;
    char message[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    hr__text path = {0};
    hr__node_path(node, &path);
    const char *name = hr__config_name(node->config);
    if (path.failed)
        code = hr_no_memory(err, "telling a mistake");
    else if (node->config->is_option)
        hr_fail(err, code, kind, "%s: %s", name, message);
    else
        hr_fail(err, code, kind, "%s:%d:%d: %.128s%s%s", name, node->line, node->column, path.size ? path.data : "",
                path.size ? ": " : "", message);
    if (!node->config->is_option) {
        hr_error_file(err, name);
        err->line = node->line;
    }
    hr__text_free(&path);
    return code;
}

/* "abc" clipped, with ? for control characters: it ends up in a terminal. */
static const char *quoted(const hr__node *node, char text[CLIPPED + 8])
{
    size_t size = node->size < CLIPPED ? node->size : CLIPPED, used = 0;
    while (size < node->size && size > 0 && ((unsigned char)node->text[size] & 0xc0) == 0x80) size--;
    text[used++] = '"';
    for (size_t i = 0; i < size; i++) text[used++] = (unsigned char)node->text[i] < ' ' ? '?' : node->text[i];
    snprintf(text + used, 5, "%s\"", size < node->size ? "..." : "");
    return text;
}

hr_status hr__node_expected(const hr__node *node, const char *expected, hr_error *err)
{
    char text[CLIPPED + 8];
    const char *what = "", *found = "nothing";
    if (node->kind == HR__SEQUENCE) {
        found = "a list";
    } else if (node->kind == HR__MAPPING) {
        found = "a mapping";
    } else if (!hr__node_is_null(node)) {
        what = node->quoted ? "the string " : "";
        found = quoted(node, text);
    }
    return hr__node_fail(node, err, HR_INVALID_ARGUMENT, "config.type", "expected %s, found %s%s", expected, what,
                         found);
}

/* "; did you mean 'x'?", or what there is to choose from. */
static void add_choice(hr__text *text, const char *name, const char *const *names, int64_t count)
{
    const char *near = hr_suggest(name, names, count);
    if (near) {
        hr__text_printf(text, "; did you mean '%s'?", near);
        return;
    }
    for (int64_t i = 0; i < count && i < MAX_NAMES; i++)
        hr__text_printf(text, "%s%s", i ? ", " : "; expected one of ", names[i]);
    if (count > MAX_NAMES) hr__text_add(text, ", ...");
}

static hr_status config_read_unknown(const hr__node *node, const char *kind, const char *what, const char *const *names,
                                     int64_t count, hr_error *err)
{
    hr__text choice = {0};
    add_choice(&choice, node->text, names, count);
    hr_status st = hr__text_status(&choice, "telling a mistake", err);
    if (st == HR_OK)
        st = hr__node_fail(node, err, HR_INVALID_ARGUMENT, kind, "unknown %s '%.60s'%s", what, node->text,
                           choice.size ? choice.data : "");
    hr__text_free(&choice);
    return st;
}

hr_status hr__node_unknown(const hr__node *node, const char *what, const char *const *names, int64_t count,
                           hr_error *err)
{
    return config_read_unknown(node, "config.unknown_name", what, names, count, err);
}

/* ---- mappings ---- */

const hr__node *hr__node_get(const hr__node *map, const char *key)
{
    if (!map || !key || map->kind != HR__MAPPING) return NULL;
    const size_t size = strlen(key);
    if (map->names) {
        const int64_t *place = hr__map_find(map->names, key, size);
        return place ? map->item[*place] : NULL;
    }
    for (int64_t i = 0; i < map->count; i++)
        if (map->key[i]->size == size && memcmp(map->key[i]->text, key, size) == 0) return map->item[i];
    return NULL;
}

hr_status hr__node_is(const hr__node *node, unsigned kinds, hr_error *err)
{
    static const char *const names[] = {"nothing",
                                        "a value",
                                        "a list",
                                        "a value or a list",
                                        "a mapping",
                                        "a value or a mapping",
                                        "a list or a mapping",
                                        "a value, a list or a mapping"};
    return node->kind & kinds ? HR_OK : hr__node_expected(node, names[kinds & 7], err);
}

hr_status hr__node_need(const hr__node *map, const char *key, const hr__node **out, hr_error *err)
{
    HR_TRY(hr__node_is(map, HR__MAPPING, err));
    *out = hr__node_get(map, key);
    if (*out) return HR_OK;
    return hr__node_fail(map, err, HR_INVALID_ARGUMENT, "config.missing_key", "expected the key '%s', found none", key);
}

hr_status hr__config_check_keys(const hr__node *map, const char *const *allowed, hr_error *err)
{
    HR_TRY(hr__node_is(map, HR__MAPPING, err));
    int64_t count = 0;
    while (allowed[count]) count++;
    for (int64_t i = 0; i < map->count; i++) {
        int64_t k = 0;
        while (k < count && !hr__node_is_text(map->key[i], allowed[k])) k++;
        if (k == count) return config_read_unknown(map->key[i], "config.unknown_key", "key", allowed, count, err);
    }
    return HR_OK;
}

/* ---- values ---- */

bool hr__node_is_null(const hr__node *node)
{
    if (node->kind != HR__SCALAR || node->quoted) return false;
    return node->size == 0 || strcmp(node->text, "~") == 0 || strcasecmp(node->text, "null") == 0;
}

bool hr__node_is_text(const hr__node *node, const char *text)
{
    return node->kind == HR__SCALAR && node->size == strlen(text) && memcmp(node->text, text, node->size) == 0;
}

static bool config_read_is_plain(const hr__node *node) { return node->kind == HR__SCALAR && !node->quoted; }

/* 300000 or 3e5. */
static bool config_read_whole_number(const hr__node *node, int64_t *out)
{
    double value;
    if (!config_read_is_plain(node)) return false;
    if (hr__parse_int64(node->text, node->size, HR__NUMBER_DEFAULT, out) == HR__PARSED) return true;
    if (hr__parse_double(node->text, node->size, HR__NUMBER_DEFAULT, &value) != HR__PARSED) return false;
    if (!(fabs(value) <= 0x1p53) || value != floor(value)) return false;
    *out = (int64_t)value;
    return true;
}

hr_status hr__node_int64(const hr__node *node, int64_t min, int64_t max, int64_t *out, hr_error *err)
{
    int64_t value;
    char expected[96] = "a whole number";
    if (min != INT64_MIN && max != INT64_MAX)
        snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64, min, max);
    else if (min != INT64_MIN)
        snprintf(expected, sizeof expected, "a whole number of at least %" PRId64, min);
    else if (max != INT64_MAX)
        snprintf(expected, sizeof expected, "a whole number of at most %" PRId64, max);
    if (!config_read_whole_number(node, &value)) return hr__node_expected(node, expected, err);
    if (value < min || value > max)
        return hr__node_fail(node, err, HR_INVALID_ARGUMENT, "config.value", "expected %s, found %" PRId64, expected,
                             value);
    *out = value;
    return HR_OK;
}

hr_status hr__node_uint64(const hr__node *node, uint64_t *out, hr_error *err)
{
    if (config_read_is_plain(node) && hr__parse_uint64(node->text, node->size, HR__NUMBER_DEFAULT, out) == HR__PARSED)
        return HR_OK;
    return hr__node_expected(node, "a whole number of at least 0", err);
}

hr_status hr__node_double(const hr__node *node, double *out, hr_error *err)
{
    /* YAML writes .inf, -.inf and .nan. */
    const char *text = node->text, *sign = "+-";
    size_t size = node->size;
    bool negative = size > 1 && text[0] == '-', is_signed = size > 1 && strchr(sign, text[0]) != NULL;
    if (config_read_is_plain(node) && size - is_signed == 4 && text[is_signed] == '.') {
        const char *word = text + is_signed + 1;
        if (strcasecmp(word, "inf") == 0 || strcasecmp(word, "nan") == 0) {
            *out = strcasecmp(word, "nan") == 0 ? (double)NAN : negative ? -HUGE_VAL : HUGE_VAL;
            return HR_OK;
        }
    }
    if (config_read_is_plain(node) && hr__parse_double(text, size, HR__NUMBER_DEFAULT, out) == HR__PARSED) return HR_OK;
    return hr__node_expected(node, "a number", err);
}

hr_status hr__node_bool(const hr__node *node, bool *out, hr_error *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (int i = 0; config_read_is_plain(node) && i < 6; i++) {
        if (strcasecmp(node->text, words[i]) != 0) continue;
        *out = i & 1;
        return HR_OK;
    }
    return hr__node_expected(node, "true or false", err);
}

hr_status hr__node_text(const hr__node *node, const char **out, hr_error *err)
{
    if (node->kind != HR__SCALAR || (!node->quoted && node->size == 0)) return hr__node_expected(node, "a text", err);
    if (strlen(node->text) != node->size)
        return hr__node_fail(node, err, HR_INVALID_ARGUMENT, "config.value",
                             "expected a text, found one with a NUL byte");
    *out = node->text;
    return HR_OK;
}

hr_status hr__node_choice(const hr__node *node, const char *what, const char *const *names, int64_t count, int64_t *out,
                          hr_error *err)
{
    char expected[96];
    snprintf(expected, sizeof expected, "the name of a known %s", what);
    if (node->kind != HR__SCALAR) return hr__node_expected(node, expected, err);
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(node->text, names[i]) != 0) continue;
        *out = i;
        return HR_OK;
    }
    return hr__node_unknown(node, what, names, count, err);
}

/* ---- values of keys ---- */

/* The value of a key, unless it is missing or null. */
static const hr__node *given(const hr__node *map, const char *key)
{
    const hr__node *node = hr__node_get(map, key);
    return node && !hr__node_is_null(node) ? node : NULL;
}

hr_status hr__config_int64(const hr__node *map, const char *key, int64_t min, int64_t max, int64_t *out, hr_error *err)
{
    const hr__node *node = given(map, key);
    return node ? hr__node_int64(node, min, max, out, err) : HR_OK;
}

hr_status hr__config_uint64(const hr__node *map, const char *key, uint64_t *out, hr_error *err)
{
    const hr__node *node = given(map, key);
    return node ? hr__node_uint64(node, out, err) : HR_OK;
}

hr_status hr__config_double(const hr__node *map, const char *key, double *out, hr_error *err)
{
    const hr__node *node = given(map, key);
    return node ? hr__node_double(node, out, err) : HR_OK;
}

hr_status hr__config_bool(const hr__node *map, const char *key, bool *out, hr_error *err)
{
    const hr__node *node = given(map, key);
    return node ? hr__node_bool(node, out, err) : HR_OK;
}

hr_status hr__config_text(const hr__node *map, const char *key, const char **out, hr_error *err)
{
    const hr__node *node = given(map, key);
    return node ? hr__node_text(node, out, err) : HR_OK;
}
