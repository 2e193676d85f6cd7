/* File patterns as TensorFlow expands them: level by level from the first one with a special character, folders only in
 * between; hidden names match as others do; a pattern that begins with a special character gives "./name". */
#include "io/match.h"
#include "base/text.h"
#include "io/file_system.h"
#include "io/temporary.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char special[] = "*?[\\";

/* ---- one name against one pattern ---- */

/* Matches `c` against the set at `set` (after its '['); gives what follows its ']', NULL if there is no ']'. */
static const char *match_set(const char *set, char c, bool *inside)
{
    bool negated = *set == '!' || *set == '^', found = false;
    const char *p = set + negated;
    do {
        if (*p == '\\' && p[1]) p++;
        if (!*p) return NULL;
        unsigned char low = (unsigned char)*p++, high = low;
        if (*p == '-' && p[1] && p[1] != ']') {
            p += p[1] == '\\' && p[2] ? 2 : 1;
            high = (unsigned char)*p++;
        }
        found |= low <= (unsigned char)c && (unsigned char)c <= high;
    } while (*p != ']');
    *inside = found != negated;
    return p + 1;
}

/* One step of the pattern against one byte: false if they do not fit. A '[' without an end is an ordinary byte. */
static bool match_one(const char **pattern, char c)
{
    const char *p = *pattern;
    bool inside;
    if (*p == '?') {
        *pattern = p + 1;
        return c != '/';
    }
    const char *rest = *p == '[' ? match_set(p + 1, c, &inside) : NULL;
    if (rest) {
        *pattern = rest;
        return inside && c != '/';
    }
    if (*p == '\\' && p[1]) p++;
    *pattern = p + 1;
    return *p == c;
}

/* Goes back to the last star only: what an earlier one could do besides, the last one does as well. */
bool hr__glob_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*pattern && match_one(&pattern, *name)) {
            name++;
        } else if (star && *from != '/') {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

/* ---- lists ---- */

static void match_put(hr_file_list *list, const char *path, hr_status *status, hr_error *err)
{
    if (*status != HR_OK) return;
    bool full = (list->count & (list->count - 1)) == 0; /* 0, 1, 2, 4, ...: space for as many again */
    char **grown =
        full ? hr_realloc(list->path, (size_t)(list->count ? 2 * list->count : 1) * sizeof *grown) : list->path;
    if (grown) list->path = grown;
    char *copy = grown ? hr_strdup(path) : NULL;
    if (copy)
        list->path[list->count++] = copy;
    else
        *status = hr_no_memory(err, "a list of files");
}

void hr_file_list_clear(hr_file_list *list)
{
    if (!list) return;
    for (int64_t i = 0; i < list->count; i++) hr_free(list->path[i]);
    hr_free(list->path);
    *list = (hr_file_list){0};
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void sort(hr_file_list *list, int64_t from)
{
    if (list->count - from > 1) qsort(list->path + from, (size_t)(list->count - from), sizeof *list->path, by_bytes);
}

size_t hr__file_list_folder(const hr_file_list *list)
{
    const char *first = list->count > 0 ? list->path[0] : "";
    const char *slash = strrchr(first, '/');
    size_t size = slash ? (size_t)(slash - first) + 1 : 0;
    for (int64_t i = 1; i < list->count; i++) {
        while (strncmp(first, list->path[i], size) != 0) do
                size--;
            while (size > 0 && first[size - 1] != '/');
    }
    return size;
}

uint64_t hr_file_list_identity(const hr_file_list *list)
{
    const size_t folder = hr__file_list_folder(list);
    uint64_t sum = (uint64_t)list->count;
    for (int64_t i = 0; i < list->count; i++) {
        const char *name = list->path[i] + folder;
        sum = hr_fingerprint_cat64(sum, hr_fingerprint64(name, strlen(name)));
    }
    return sum;
}

/* ---- what is no data ---- */

/* The index of a file, as `headrace index` writes it beside it. */
static bool is_index(const char *path)
{
    static const char *const endings[] = {".hridx", ".idx"};
    char of[4096];
    hr_file_about about;
    for (int i = 0; i < 2; i++) {
        const size_t size = strlen(path), end = strlen(endings[i]);
        if (size <= end || size - end >= sizeof of || strcmp(path + size - end, endings[i]) != 0) continue;
        snprintf(of, sizeof of, "%.*s", (int)(size - end), path);
        return hr__path_about(of, &about);
    }
    return false;
}

/* The last dot of a name and what follows; "" if a special character is in it. */
static const char *ending_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !dot[strcspn(dot, "/*?[\\")] ? dot : "";
}

/* Unfinished files and indexes lie beside data: a pattern means them if it ends as they do, "*.hridx". */
static bool is_beside_data(const char *path, const char *pattern)
{
    if (!hr__is_unfinished(path) && !is_index(path)) return false;
    return strcmp(ending_of(path), ending_of(pattern)) != 0;
}

/* ---- walking ---- */

static bool is_folder(const char *path)
{
    hr_file_about about;
    return hr__path_about(path, &about) && about.is_folder;
}

/* What a folder's children are looked for with. */
typedef struct looking {
    const char *folder, *slash, *pattern;
    bool last; /* otherwise only folders count */
    hr_file_list *out;
    hr_status status;
    hr_error *err;
} looking;

static void look_at(const char *name, void *user)
{
    looking *l = user;
    char path[4096 + 256];
    if (l->status != HR_OK || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    const int size = snprintf(path, sizeof path, "%s%s%s", l->folder, l->slash, name);
    if (size < 0 || (size_t)size >= sizeof path || !hr__glob_matches(l->pattern, path)) return;
    if (l->last && is_beside_data(path, l->pattern)) return;
    if (l->last || is_folder(path)) match_put(l->out, path, &l->status, l->err);
}

static hr_status list_foreign(const hr_file_system *system, looking *l, hr_error *err)
{
    hr_error why = {0};
    hr_status st = system->list(l->folder, system->user, look_at, l, &why);
    if (st == HR_NOT_FOUND) return HR_OK;
    if (st < 0 && !why.text[0])
        hr_fail(&why, st, "file.list", "%s: cannot be listed: %s", l->folder, hr_status_name(st));
    if (st < 0 && err) *err = why;
    return st < 0 ? st : l->status;
}

/* The children of a folder whose whole path matches `pattern`; only folders if there are further levels. */
static hr_status children(const char *folder, const char *pattern, bool last, hr_file_list *out, hr_error *err)
{
    const size_t length = strlen(folder);
    const bool ends = length > 0 && folder[length - 1] == '/' && (length < 2 || folder[length - 2] != ':');
    looking l = {folder, ends ? "" : "/", pattern, last, out, HR_OK, err};
    const hr_file_system *system = hr__file_system_of(folder);
    if (system) return list_foreign(system, &l, err);
    DIR *dir = opendir(folder);
    if (!dir && (errno == ENOENT || errno == ENOTDIR)) return HR_OK;
    if (!dir && errno == EACCES) {
        hr_log_message(HR_WARNING, "%s: no permission to read this folder; it is skipped", folder);
        return HR_OK;
    }
    if (!dir) return hr_fail(err, HR_UNKNOWN, "file.list", "%s: cannot be listed (error %d)", folder, errno);
    for (const struct dirent *entry; l.status == HR_OK && (entry = readdir(dir));) look_at(entry->d_name, &l);
    closedir(dir);
    return l.status;
}

/* The end of the name that begins at `from`, perhaps after slashes: "a//b/c" has three. */
static size_t match_after_level(const char *path, size_t from)
{
    while (path[from] == '/') from++;
    while (path[from] && path[from] != '/') from++;
    return from;
}

/* Expands `pattern`, whose part before `fixed` holds no special character. Changes `pattern` and puts it back. */
static hr_status match_expand(char *pattern, size_t fixed, hr_file_list *out, hr_error *err)
{
    hr_status status = HR_OK;
    hr_file_list level = {0};
    size_t at = fixed;
    char saved = pattern[at];
    pattern[at] = '\0';
    match_put(&level, at > 0 ? pattern : "/", &status, err);
    pattern[at] = saved;
    while (status == HR_OK && level.count > 0 && pattern[at]) {
        hr_file_list next = {0};
        at = match_after_level(pattern, at);
        bool last = !pattern[at];
        saved = pattern[at];
        pattern[at] = '\0';
        for (int64_t i = 0; status == HR_OK && i < level.count; i++)
            status = children(level.path[i], pattern, last, &next, err);
        pattern[at] = saved;
        hr_file_list_clear(&level);
        level = next;
    }
    for (int64_t i = 0; i < level.count; i++) match_put(out, level.path[i], &status, err);
    hr_file_list_clear(&level);
    return status;
}

/* TensorFlow takes no notice of slashes at the end, even of a file's name. */
static bool match_is_there(const char *name)
{
    char path[4096];
    hr_file_about about;
    size_t size = strlen(name);
    if (hr__path_about(name, &about)) return true;
    while (size > 1 && name[size - 1] == '/') size--;
    if (!name[size] || size >= sizeof path) return false;
    memcpy(path, name, size);
    path[size] = '\0';
    return hr__path_about(path, &about);
}

/* Adds what one pattern matches. `literal`: one without special characters needs no file. */
static hr_status match(const char *pattern, bool literal, hr_file_list *out, hr_error *err)
{
    hr_status status = HR_OK;
    size_t size = strlen(pattern), plain = strcspn(pattern, special);
    if (size == 0) return HR_OK;
    if (plain == size) {
        if (literal || match_is_there(pattern)) match_put(out, pattern, &status, err);
        return status;
    }
    char *path = hr_malloc(size + 3);
    if (!path) return hr_no_memory(err, "a file pattern");
    bool bare = !memchr(pattern, '/', plain);
    snprintf(path, size + 3, "%s%s", bare ? "./" : "", pattern);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/';) path[--end] = '\0';
    size_t fixed = plain + (bare ? 2 : 0);
    while (fixed > 0 && path[fixed - 1] != '/') fixed--;
    status = match_expand(path, fixed > 0 ? fixed - 1 : 0, out, err);
    hr_free(path);
    return status;
}

hr_status hr__match_one(const char *pattern, hr_file_list *out, hr_error *err)
{
    return match(pattern, false, out, err);
}

hr_status hr_file_list_add(hr_file_list *list, const char *path, hr_error *err)
{
    if (!list || !path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "file.argument", "a list of files: expected a name to add, got NULL");
    size_t capacity = 1; /* as match_put counts it, whoever made the list */
    while (capacity <= (size_t)list->count) capacity *= 2;
    char **path_of = hr_realloc(list->path, capacity * sizeof *path_of);
    if (!path_of) return hr_no_memory(err, "a list of files");
    list->path = path_of;
    hr_status status = HR_OK;
    match_put(list, path, &status, err);
    return status;
}

void hr__file_list_sort(hr_file_list *list) { sort(list, 0); }

/* Adds the files of all patterns, which '\n' separates. */
static hr_status match_all(const char *patterns, bool source, hr_file_list *out, hr_error *err)
{
    hr_status status = HR_OK;
    if (!patterns) return hr_fail(err, HR_INVALID_ARGUMENT, "file.argument", "expected a file pattern, got NULL");
    char *copy = hr_strdup(patterns), *rest = copy;
    if (!copy) return hr_no_memory(err, "a file pattern");
    for (char *one; status == HR_OK && (one = strsep(&rest, "\n"));) {
        int64_t before = out->count;
        status = match(one, source, out, err);
        if (source) sort(out, before);
    }
    hr_free(copy);
    if (!source) sort(out, 0);
    if (status == HR_OK && out->count == 0)
        status = hr_fail(err, HR_NOT_FOUND, "file.no_match",
                         "expected files that match \"%.200s\", got none; look for a "
                         "wrong folder or a missing star",
                         patterns);
    if (status != HR_OK) hr_file_list_clear(out);
    return status;
}

char *hr__pattern_in(const char *folder, const char *patterns)
{
    hr__text all = {0};
    if (!patterns || !folder || !folder[0]) return hr_strdup(patterns);
    for (const char *at = patterns, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, "\n");
        for (const char *c = folder; *c && *at != '/'; c++) {
            if (strchr(special, *c) || *c == '{') hr__text_byte(&all, '\\');
            hr__text_byte(&all, *c);
        }
        if (*at != '/' && folder[strlen(folder) - 1] != '/') hr__text_byte(&all, '/');
        hr__text_bytes(&all, at, (size_t)(end - at) + (*end == '\n'));
    }
    return hr__text_take(&all);
}

hr_status hr_match_files(const char *pattern, hr_file_list *out, hr_error *err)
{
    *out = (hr_file_list){0};
    return match_all(pattern, false, out, err);
}

hr_status hr__source_files(const char *pattern, hr_file_list *out, hr_error *err)
{
    *out = (hr_file_list){0};
    return match_all(pattern, true, out, err);
}

hr_status hr__one_file(const char *path, hr_file_list *out, hr_error *err)
{
    hr_status status = HR_OK;
    *out = (hr_file_list){0};
    match_put(out, path, &status, err);
    if (status != HR_OK) hr_file_list_clear(out);
    return status;
}
