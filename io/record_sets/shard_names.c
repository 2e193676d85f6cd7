/* Names of shards, of unfinished shards and of their notes, and the folder of all of them. */
#include "io/record_sets/shards.h"
#include "io/sys.h"
#include "io/temporary.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *shard_names_join(const char *folder, const char *hidden, const char *base, const char *number,
                              const char *suffix, const char *end)
{
    const size_t size =
        strlen(folder) + strlen(hidden) + strlen(base) + strlen(number) + strlen(suffix) + strlen(end) + 1;
    char *path = hr_malloc(size);
    if (path) snprintf(path, size, "%s%s%s%s%s%s", folder, hidden, base, number, suffix, end);
    return path;
}

char *hr__shard_name(const hr_shard_writer *w, int64_t shard, int64_t count)
{
    char number[64];
    if (w->single) return shard_names_join(w->folder, "", w->base, "", "", "");
    snprintf(number, sizeof number, "%05lld-of-%05lld", (long long)shard, (long long)count);
    return shard_names_join(w->folder, "", w->base, number, w->suffix, "");
}

char *hr__shard_part_name(const hr_shard_writer *w, int64_t shard)
{
    char number[32];
    if (w->single) return shard_names_join(w->folder, ".", w->base, "", "", HR__PART);
    snprintf(number, sizeof number, "%05lld", (long long)shard);
    return shard_names_join(w->folder, ".", w->base, number, w->suffix, HR__PART);
}

char *hr__shard_notes_name(const hr_shard_writer *w)
{
    return shard_names_join(w->folder, ".", w->base, "", "", HR__NOTES);
}

/* ---- one writer at a time ---- */

/* Locks the shards against a second writer, which would fill the same parts and rename what this one has written. A
 * single file that is not to be resumed needs no lock: until it has its name, it belongs to its writer alone. */
hr_status hr__shards_hold(hr_shard_writer *w, hr_error *err)
{
    if (w->single && !w->parts) return HR_OK;
    w->held_path = shard_names_join(w->folder, ".", w->base, "", "", HR__TEMPORARY);
    if (!w->held_path) return hr_no_memory(err, "shards");
    const hr_status st = hr__temporary_hold(w->held_path, &w->held, err);
    if (st != HR_ALREADY_EXISTS) return st;
    hr_fail(err, HR_FAILED_PRECONDITION, "shards.busy",
            "%s%s: expected to be the only writer, found that another process writes it now", w->folder, w->base);
    hr_error_file(err, w->folder);
    return HR_FAILED_PRECONDITION;
}

void hr__shards_let_go(hr_shard_writer *w)
{
    hr__temporary_let_go(w->held_path, w->held);
    hr_free(w->held_path);
    w->held_path = NULL;
    w->held = -1;
}

/* ---- shards of others ---- */

/* The number of shards in a name like ours; -1: it is none. */
static int64_t count_in_name(const hr_shard_writer *w, const char *name)
{
    char *end;
    const size_t base = strlen(w->base);
    if (strncmp(name, w->base, base) != 0) return -1;
    const char *digits = name + base;
    const size_t number = strspn(digits, "0123456789");
    if (number < 5 || number > 9 || strncmp(digits + number, "-of-", 4) != 0) return -1;
    digits += number + 4;
    if (strspn(digits, "0123456789") > 9) return -1;
    const int64_t count = strtoll(digits, &end, 10);
    return end - digits >= 5 && strcmp(end, w->suffix) == 0 ? count : -1;
}

/* Refuses shards of another number in the folder: a reader of all files of this prefix would read them, too. */
hr_status hr__shards_refuse_others(const hr_shard_writer *w, hr_error *err)
{
    hr_status st = HR_OK;
    DIR *folder = w->single ? NULL : opendir(w->folder[0] ? w->folder : ".");
    for (struct dirent *e; folder && st == HR_OK && (e = readdir(folder));) {
        const int64_t count = count_in_name(w, e->d_name);
        if (count < 0 || count == (w->max_bytes ? -1 : w->count)) continue;
        const char *where = w->folder[0] ? w->folder : "./";
        st = hr_fail(err, HR_ALREADY_EXISTS, "shards.leftover",
                     "%.*s: expected no shards of another run, found '%.80s'; remove them or choose another folder",
                     (int)strlen(where) - 1, where, e->d_name);
        hr_error_file(err, w->folder);
    }
    if (folder) closedir(folder);
    return st;
}

int64_t hr__shards_finished(const hr_shard_writer *w)
{
    int64_t count = 0, found = 0;
    bool others = false;
    DIR *folder = opendir(w->folder[0] ? w->folder : ".");
    for (struct dirent *e; folder && (e = readdir(folder));) {
        const int64_t named = count_in_name(w, e->d_name);
        if (named < 0) continue;
        others |= found > 0 && named != count;
        count = named;
        found++;
    }
    if (folder) closedir(folder);
    return !others && found == count ? count : 0;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

hr_status hr__shards_make_folder(hr_shard_writer *w, hr_error *err)
{
    char *path = hr_strdup(w->folder);
    if (!path) return hr_no_memory(err, "shards");
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') path[--size] = '\0';
    hr_status st = HR_OK;
    hr_error why = {0};
    if (size > 0 && !is_folder(path)) {
        st = hr__make_folders(path, &why);
        if (st == HR_OK && !is_folder(path)) st = hr_fail(&why, HR_INVALID_ARGUMENT, "", "%s: Not a directory", path);
        w->made_folder = st == HR_OK;
    }
    if (st == HR_RESOURCE_EXHAUSTED || st == HR_PERMISSION_DENIED) {
        if (err) *err = why;
    } else if (st != HR_OK) {
        const char *reason = strrchr(why.text, ':');
        st = hr_fail(err, HR_INVALID_ARGUMENT, "shards.folder", "%s: expected a folder or space for one, got%s", path,
                     reason ? reason : "");
        hr_error_file(err, path);
    }
    hr_free(path);
    return st;
}
