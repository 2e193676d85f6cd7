/* Reads folders of checkpoints: which checkpoints they name, which files belong to one. */
#include "train/checkpoint/folder.h"
#include "base/text.h"
#include "io/sys.h"
#include "train/checkpoint/state_file.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

hr_status hr__checkpoint_lacks(const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.argument", "checkpoint: expected %s, got NULL", what);
}

void hr__checkpoint_list_clear(hr__checkpoint_list *list)
{
    for (int i = 0; i < list->count; i++) hr_free(list->prefix[i]);
    hr_free(list->prefix);
    hr_free(list->unlisted);
    *list = (hr__checkpoint_list){0};
}

/* Takes `prefix`; one that is among the first `known` already is not listed again. */
static hr_status list_add(hr__checkpoint_list *list, int known, char *prefix, hr_error *err)
{
    bool twice = false;
    for (int i = 0; i < known && prefix; i++) twice |= strcmp(list->prefix[i], prefix) == 0;
    char **grown =
        prefix && !twice ? hr_realloc(list->prefix, ((size_t)list->count + 1) * sizeof *grown) : list->prefix;
    if (prefix && !twice && grown) {
        list->prefix = grown;
        list->prefix[list->count++] = prefix;
        return HR_OK;
    }
    hr_free(prefix);
    return twice ? HR_OK : hr_no_memory(err, "a list of checkpoints");
}

/* ---- one folder, two paths ---- */

bool hr__checkpoint_lies_in(const char *folder, const char *prefix)
{
    size_t size = strlen(folder);
    while (size > 0 && folder[size - 1] == '/') size--;
    if (strncmp(prefix, folder, size) != 0) return false;
    if (folder[0] && prefix[size++] != '/') return false;
    return prefix[size] && !strchr(prefix + size, '/');
}

static bool folder_is_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a[0] ? a : ".", &one) == 0 && stat(b[0] ? b : ".", &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

char *hr__checkpoint_seen_from(const char *folder, const char *prefix)
{
    char *above = hr__folder_of(prefix);
    if (!above) return NULL;
    const bool here = !hr__checkpoint_lies_in(folder, prefix) && folder_is_same(above, folder);
    char *seen = here ? hr__path_in(folder, prefix + strlen(above)) : hr_strdup(prefix);
    hr_free(above);
    return seen;
}

char *hr__checkpoint_prefix_of(const char *folder, const char *name)
{
    char *path = hr__path_in(folder, name), *seen = path ? hr__checkpoint_seen_from(folder, path) : NULL;
    hr_free(path);
    return seen;
}

/* ---- files ---- */

static bool five_digits(const char *text) { return strspn(text, "0123456789") >= 5; }

static bool is_file_of(const char *base, const char *name)
{
    const size_t size = strlen(base);
    if (strncmp(name, base, size) != 0) return false;
    name += size;
    if (strcmp(name, ".index") == 0 || strcmp(name, ".meta") == 0) return true;
    return strlen(name) == sizeof ".data-00000-of-00000" - 1 && strncmp(name, ".data-", 6) == 0 &&
           five_digits(name + 6) && strncmp(name + 11, "-of-", 4) == 0 && five_digits(name + 15);
}

hr_status hr__checkpoint_each_file(const char *prefix, hr_status (*visit)(const char *path, void *user, hr_error *err),
                                   void *user, hr_error *err)
{
    char *folder = hr__folder_of(prefix);
    if (!folder) return hr_no_memory(err, "a path");
    const char *base = prefix + strlen(folder);
    DIR *dir = opendir(folder[0] ? folder : ".");
    hr_status st = HR_OK;
    for (const struct dirent *entry; st == HR_OK && dir && (entry = readdir(dir));) {
        if (!is_file_of(base, entry->d_name)) continue;
        char *path = hr__path_in(folder, entry->d_name);
        st = path ? visit(path, user, err) : hr_no_memory(err, "a path");
        hr_free(path);
    }
    if (dir) closedir(dir);
    hr_free(folder);
    return st;
}

/* ---- all checkpoints of a folder ---- */

static hr_status list_state(const char *folder, hr__checkpoint_list *out, hr_error *err)
{
    hr__state state;
    bool there;
    char *path = hr__path_in(folder, "checkpoint");
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = hr__state_read(path, &state, &there, err);
    hr_free(path);
    if (st != HR_OK) return st;
    if (state.unlisted && !(out->unlisted = hr__checkpoint_prefix_of(folder, state.unlisted)))
        st = hr_no_memory(err, "a path");
    if (state.latest && st == HR_OK)
        st = list_add(out, out->count, hr__checkpoint_prefix_of(folder, state.latest), err);
    for (int i = state.count; i-- > 0 && st == HR_OK;)
        st = list_add(out, out->count, hr__checkpoint_prefix_of(folder, state.all[i]), err);
    hr__state_clear(&state);
    return st;
}

/* Of "model.ckpt-100" the "model.ckpt": so many bytes; 0: the text does not end in a step. */
static size_t name_size(const char *text, size_t size)
{
    size_t at = size;
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9') at--;
    return at > 1 && at < size && size - at <= 18 && text[at - 1] == '-' ? at - 1 : 0;
}

/* Models may share a folder, each with its own state file: an unlisted checkpoint belongs to this model only if its
 * name differs from a listed one in the step alone. Where none is listed, trainings name theirs model.ckpt. */
static bool is_called_as_listed(const hr__checkpoint_list *list, const char *name, size_t size)
{
    static const char usual[] = "model.ckpt";
    for (int i = 0; i < list->listed; i++) {
        const char *slash = strrchr(list->prefix[i], '/'), *listed = slash ? slash + 1 : list->prefix[i];
        if (name_size(listed, strlen(listed)) == size && memcmp(listed, name, size) == 0) return true;
    }
    return list->listed == 0 && size == sizeof usual - 1 && memcmp(name, usual, size) == 0;
}

static int by_step_descending(const void *a, const void *b)
{
    const char *one = *(char *const *)a, *other = *(char *const *)b;
    const int64_t s = strtoll(strrchr(one, '-') + 1, NULL, 10), t = strtoll(strrchr(other, '-') + 1, NULL, 10);
    return s != t ? (s < t ? 1 : -1) : strcmp(one, other);
}

static hr_status list_indexes(const char *folder, hr__checkpoint_list *out, hr_error *err)
{
    const size_t ending = sizeof ".index" - 1;
    hr_status st = HR_OK;
    DIR *dir = opendir(folder[0] ? folder : ".");
    for (const struct dirent *entry; st == HR_OK && dir && (entry = readdir(dir));) {
        const size_t length = strlen(entry->d_name);
        if (length <= ending || strcmp(entry->d_name + length - ending, ".index") != 0) continue;
        const size_t size = name_size(entry->d_name, length - ending);
        if (size == 0 || !is_called_as_listed(out, entry->d_name, size)) continue;
        char *prefix = hr__path_in(folder, entry->d_name);
        if (prefix) prefix[strlen(prefix) - ending] = '\0';
        st = list_add(out, out->listed, prefix, err);
    }
    if (dir) closedir(dir);
    if (out->count > out->listed)
        qsort(out->prefix + out->listed, (size_t)(out->count - out->listed), sizeof *out->prefix, by_step_descending);
    return st;
}

hr_status hr__checkpoint_list_folder(const char *folder, hr__checkpoint_list *out, hr_error *err)
{
    *out = (hr__checkpoint_list){0};
    hr_status st = list_state(folder, out, err);
    out->listed = out->count;
    if (st == HR_OK) st = list_indexes(folder, out, err);
    if (st != HR_OK) hr__checkpoint_list_clear(out);
    return st;
}
