/* More than TensorFlow's patterns, if the caller asks for it: braces and ranges, folders of any depth, exclusion,
 * manifests. Each line becomes patterns that match.c expands; what it cannot say is walked here. A name that is
 * spelled out, also by braces or in a manifest, must be there: nothing is missed silently. */
#include "base/text.h"
#include "io/match.h"
#include "io/file_system.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_NAMES = 1 << 20, DEEPEST = 64 };

typedef hr_status pattern_fn(const char *pattern, void *user, hr_error *err);

/* ---- braces ---- */

/* Where the brace at `open` closes, NULL: nowhere. */
static const char *closing(const char *open)
{
    int depth = 0;
    for (const char *p = open; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '{')
            depth++;
        else if (*p == '}' && --depth == 0)
            return p;
    }
    return NULL;
}

static const char *first_brace(const char *p)
{
    for (; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '{' && closing(p))
            return p;
    }
    return NULL;
}

/* The end of the alternative that begins at `p`: a comma at its own level, or `end`. */
static const char *alternative_end(const char *p, const char *end)
{
    for (int depth = 0; p < end; p++) {
        if (*p == '\\' && p + 1 < end)
            p++;
        else if (*p == '{')
            depth++;
        else if (*p == '}')
            depth--;
        else if (*p == ',' && depth == 0)
            break;
    }
    return p;
}

static hr_status expand_braces(const char *pattern, pattern_fn *fn, void *user, hr_error *err);

/* `pattern` with the text in place of its first brace, whose end is `close`. */
static hr_status replace(const char *pattern, const char *open, const char *close, const char *text, size_t size,
                         pattern_fn *fn, void *user, hr_error *err)
{
    hr__text whole = {0};
    hr__text_bytes(&whole, pattern, (size_t)(open - pattern));
    hr__text_bytes(&whole, text, size);
    hr__text_add(&whole, close + 1);
    hr_status st = hr__text_status(&whole, "a file pattern", err);
    if (st == HR_OK) st = expand_braces(whole.data, fn, user, err);
    hr__text_free(&whole);
    return st;
}

/* {000..127}: as many digits as the longer of both has, if one begins with a zero. */
static bool is_range(const char *open, const char *close, long *first, long *last, int *digits)
{
    int from, to, end = 0;
    char inside[48];
    const size_t size = (size_t)(close - open - 1);
    if (size >= sizeof inside) return false;
    memcpy(inside, open + 1, size);
    inside[size] = '\0';
    if (inside[strspn(inside, "0123456789.")]) return false;
    if (sscanf(inside, "%9ld%n..%n%9ld%n", first, &from, &to, last, &end) != 2 || (size_t)end != size) return false;
    const bool padded = (from > 1 && inside[0] == '0') || (end - to > 1 && inside[to] == '0');
    *digits = !padded ? 0 : from > end - to ? from : end - to;
    return true;
}

static hr_status expand_range(const char *pattern, const char *open, const char *close, pattern_fn *fn, void *user,
                              hr_error *err)
{
    long first, last;
    int digits;
    is_range(open, close, &first, &last, &digits);
    if (first > last || last - first >= MAX_NAMES)
        return hr_fail(err, HR_INVALID_ARGUMENT, "file.pattern",
                       "expected a rising range of at most %d numbers in \"%.100s\", got {%ld..%ld}", MAX_NAMES,
                       pattern, first, last);
    for (long n = first; n <= last; n++) {
        char text[32];
        const int size = snprintf(text, sizeof text, "%0*ld", digits, n);
        HR_TRY(replace(pattern, open, close, text, (size_t)size, fn, user, err));
    }
    return HR_OK;
}

/* Calls `fn` for every pattern without braces that is meant; a brace without an end is an ordinary byte. */
static hr_status expand_braces(const char *pattern, pattern_fn *fn, void *user, hr_error *err)
{
    long first, last;
    int digits;
    const char *open = first_brace(pattern);
    if (!open) return fn(pattern, user, err);
    const char *close = closing(open);
    if (is_range(open, close, &first, &last, &digits)) return expand_range(pattern, open, close, fn, user, err);
    for (const char *from = open + 1;; from++) {
        const char *end = alternative_end(from, close);
        HR_TRY(replace(pattern, open, close, from, (size_t)(end - from), fn, user, err));
        if (end == close) return HR_OK;
        from = end;
    }
}

/* ---- folders of any depth ---- */

/* Where a whole level of a pattern is two stars; NULL: nowhere. */
static const char *deep_level(const char *pattern)
{
    for (const char *p = strstr(pattern, "**"); p; p = strstr(p + 1, "**"))
        if ((p == pattern || p[-1] == '/') && (p[2] == '/' || p[2] == '\0')) return p;
    return NULL;
}

/* The folder's name as a pattern that means it, with what follows. */
static void add_literally(hr__text *text, const char *name)
{
    for (; *name; name++) {
        if (strchr("*?[]\\", *name)) hr__text_byte(text, '\\');
        hr__text_byte(text, *name);
    }
}

static bool is_file(const char *path)
{
    hr_file_about about;
    return hr__path_about(path, &about) && !about.is_folder;
}

/* A link is not followed: it may lead back. */
static bool is_own_folder(const char *path)
{
    struct stat own;
    hr_file_about about;
    if (hr__file_system_of(path)) return hr__path_about(path, &about) && about.is_folder;
    return lstat(path, &own) == 0 && S_ISDIR(own.st_mode);
}

static hr_status match_in(const char *folder, const char *rest, hr_file_list *out, hr_error *err)
{
    hr__text pattern = {0};
    add_literally(&pattern, folder);
    hr__text_byte(&pattern, '/');
    hr__text_add(&pattern, rest);
    hr_status st = hr__text_status(&pattern, "a file pattern", err);
    if (st == HR_OK) st = hr__match_one(pattern.data, out, err);
    hr__text_free(&pattern);
    return st;
}

/* What `rest` matches in the folder and in all folders below it. */
static hr_status match_extended_walk(const char *folder, const char *rest, int depth, hr_file_list *out, hr_error *err)
{
    hr_file_list found = {0}, inside = {0};
    hr_status st = match_in(folder, rest, &found, err);
    for (int64_t i = 0; st == HR_OK && i < found.count; i++)
        if (is_file(found.path[i])) st = hr_file_list_add(out, found.path[i], err);
    if (st == HR_OK) st = match_in(folder, "*", &inside, err);
    for (int64_t i = 0; st == HR_OK && depth < DEEPEST && i < inside.count; i++)
        if (is_own_folder(inside.path[i])) st = match_extended_walk(inside.path[i], rest, depth + 1, out, err);
    hr_file_list_clear(&found);
    hr_file_list_clear(&inside);
    return st;
}

/* a/ ** /b: what b matches in a and below; nothing after the stars: all files. */
static hr_status match_deeply(const char *pattern, const char *stars, hr_file_list *out, hr_error *err)
{
    char *folder = hr_strdup(stars == pattern ? "." : pattern);
    hr_file_list tops = {0};
    if (!folder) return hr_no_memory(err, "a file pattern");
    if (stars > pattern + 1) folder[stars - pattern - 1] = '\0';
    const char *rest = stars[2] ? stars + 3 : "*";
    hr_status st = deep_level(rest) ? hr_fail(err, HR_INVALID_ARGUMENT, "file.pattern",
                                              "expected ** once in a pattern, got \"%.200s\"", pattern)
                                    : hr__match_one(folder, &tops, err);
    for (int64_t i = 0; st == HR_OK && i < tops.count; i++) st = match_extended_walk(tops.path[i], rest, 0, out, err);
    hr_file_list_clear(&tops);
    hr_free(folder);
    return st;
}

/* ---- what is added, what is taken away ---- */

static hr_status is_missing(const char *name, const char *where, hr_error *err)
{
    hr_fail(err, HR_NOT_FOUND, "file.no_match", "%.200s: expected this file, which %.200s names, found none", name,
            where);
    hr_error_file(err, name);
    return HR_NOT_FOUND;
}

static hr_status add_pattern(const char *pattern, void *user, hr_error *err)
{
    hr_file_list *out = user;
    const int64_t before = out->count;
    const char *stars = deep_level(pattern);
    HR_TRY(stars ? match_deeply(pattern, stars, out, err) : hr__match_one(pattern, out, err));
    const bool spelled_out = !pattern[strcspn(pattern, "*?[\\")];
    return spelled_out && out->count == before ? is_missing(pattern, "a pattern", err) : HR_OK;
}

/* A pattern without a slash is held against the last name of a path. `**` stands for any levels, as many stars do
 * here. */
static bool is_excluded(const char *pattern, const char *path)
{
    const char *name = strrchr(path, '/');
    if (strncmp(path, "./", 2) == 0) path += 2;
    if (strncmp(pattern, "./", 2) == 0) pattern += 2;
    const char *stars = deep_level(pattern);
    if (!strchr(pattern, '/')) return hr__glob_matches(pattern, name ? name + 1 : path);
    if (!stars) return hr__glob_matches(pattern, path);
    const char *rest = stars[2] ? stars + 3 : "*";
    if (strncmp(pattern, path, (size_t)(stars - pattern)) != 0) return false;
    for (const char *p = path + (stars - pattern); p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
        if (hr__glob_matches(rest, p)) return true;
    return !stars[2];
}

static hr_status exclude_pattern(const char *pattern, void *user, hr_error *err)
{
    (void)err;
    hr_file_list *list = user;
    int64_t kept = 0;
    for (int64_t i = 0; i < list->count; i++)
        if (is_excluded(pattern, list->path[i]))
            hr_free(list->path[i]);
        else
            list->path[kept++] = list->path[i];
    list->count = kept;
    return HR_OK;
}

/* ---- manifests ---- */

/* A name in a manifest: from the manifest's folder, unless it begins with a slash. */
static hr_status match_extended_add_name(const char *manifest, const char *name, size_t size, hr_file_list *out,
                                         hr_error *err)
{
    hr_file_about about;
    hr__text path = {0};
    const char *slash = strrchr(manifest, '/');
    if (*name != '/' && slash) hr__text_bytes(&path, manifest, (size_t)(slash - manifest) + 1);
    hr__text_bytes(&path, name, size);
    hr_status st = hr__text_status(&path, "a name in a manifest", err);
    if (st == HR_OK && !hr__path_about(path.data, &about)) st = is_missing(path.data, manifest, err);
    if (st == HR_OK) st = hr_file_list_add(out, path.data, err);
    hr__text_free(&path);
    return st;
}

/* A name a line; blank lines and those that begin with # are skipped. */
static hr_status add_manifest(const char *path, hr_file_list *out, hr_error *err)
{
    hr_input *in;
    const char *data;
    size_t size = 1;
    HR_TRY(hr_input_open_with(path, NULL, &in, err));
    hr_status st = HR_OK;
    for (size_t want = 65536; st == HR_OK && size > 0;) {
        st = hr_input_peek(in, want, &data, &size, err);
        if (st != HR_OK || size == 0) break;
        const char *end = memchr(data, '\n', size);
        if (!end && size >= want) {
            want *= 2;
            continue;
        }
        size_t length = end ? (size_t)(end - data) : size, used = length + (end != NULL);
        if (length > 0 && data[length - 1] == '\r') length--;
        if (length > 0 && *data != '#') st = match_extended_add_name(path, data, length, out, err);
        hr_input_consume(in, used);
    }
    hr_input_free(in);
    return st;
}

/* ---- all lines ---- */

static hr_status add_lines(char *lines, hr_file_list *out, hr_error *err)
{
    for (char *line; (line = strsep(&lines, "\n"));) {
        if (*line == '@')
            HR_TRY(add_manifest(line + 1, out, err));
        else if (*line && *line != '!')
            HR_TRY(expand_braces(line, add_pattern, out, err));
    }
    return HR_OK;
}

static hr_status exclude_lines(char *lines, hr_file_list *out, hr_error *err)
{
    for (char *line; (line = strsep(&lines, "\n"));)
        if (*line == '!') HR_TRY(expand_braces(line + 1, exclude_pattern, out, err));
    return HR_OK;
}

hr_status hr_match_files_extended(const char *pattern, hr_file_list *out, hr_error *err)
{
    *out = (hr_file_list){0};
    if (!pattern) return hr_fail(err, HR_INVALID_ARGUMENT, "file.argument", "expected a file pattern, got NULL");
    char *lines = hr_strdup(pattern), *again = hr_strdup(pattern);
    hr_status st = lines && again ? add_lines(lines, out, err) : hr_no_memory(err, "a file pattern");
    if (st == HR_OK) st = exclude_lines(again, out, err);
    hr_free(lines);
    hr_free(again);
    hr__file_list_sort(out);
    if (st == HR_OK && out->count == 0)
        st = hr_fail(err, HR_NOT_FOUND, "file.no_match", "expected files that match \"%.200s\", got none", pattern);
    if (st != HR_OK) hr_file_list_clear(out);
    return st;
}
