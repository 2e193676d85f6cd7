/* The folders of versions: their numbers, and a print of the names, sizes and times of their files, by which a copy
 * that is still under way is told from one that is whole. */
#include "serve/version.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool version_number(const char *name, int64_t *number)
{
    char *end;
    if (!*name || strlen(name) > 30 || strspn(name, "0123456789") != strlen(name)) return false;
    errno = 0;
    *number = strtoll(name, &end, 10);
    return errno == 0;
}

static void add_print(uint64_t *print, const char *name, const struct stat *about)
{
    const uint64_t parts[] = {(uint64_t)about->st_size, (uint64_t)about->st_mtim.tv_sec,
                              (uint64_t)about->st_mtim.tv_nsec, (uint64_t)about->st_ino};
    *print = hr_fingerprint_cat64(*print, hr_fingerprint64(name, strlen(name)));
    *print = hr_fingerprint_cat64(*print, hr_fingerprint64(parts, sizeof parts));
}

/* Sums of prints do not depend on the order that a folder lists its files in. */
static uint64_t folder_print(const char *folder, int depth)
{
    uint64_t all = 0;
    struct dirent *entry;
    DIR *dir = opendir(folder);
    if (!dir) return 0;
    while ((entry = readdir(dir))) {
        char path[4096];
        struct stat about;
        uint64_t print = 1;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) continue;
        if (stat(path, &about) != 0) continue;
        if (S_ISDIR(about.st_mode))
            print = depth < 4 ? hr_fingerprint_cat64(folder_print(path, depth + 1), 1) : 1;
        else
            add_print(&print, entry->d_name, &about);
        all += print;
    }
    closedir(dir);
    return all;
}

static bool is_there(const char *folder, const char *name)
{
    char path[4096];
    struct stat about;
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && stat(path, &about) == 0;
}

static int compare_found(const void *a, const void *b)
{
    const int64_t x = ((const hr__found *)a)->number, y = ((const hr__found *)b)->number;
    return x < y ? 1 : x > y ? -1 : 0;
}

static hr_status add_found(hr__found **found, int *count, const char *path, const char *name, int64_t number,
                           hr_error *err)
{
    for (int i = 0; i < *count; i++)
        if ((*found)[i].number == number) return HR_OK; /* 01 and 1 */
    hr__found *more = hr_realloc(*found, (size_t)(*count + 1) * sizeof *more);
    if (!more) return hr_no_memory(err, "a list of versions");
    *found = more;
    more[*count] = (hr__found){.number = number, .print = folder_print(path, 0)};
    memcpy(more[(*count)++].name, name, strlen(name) + 1); /* version_number limits it */
    return HR_OK;
}

hr_status hr__folder_scan(const char *base, bool saved_models, hr__found **found, int *count, hr_error *err)
{
    hr_status st = HR_OK;
    struct dirent *entry;
    *found = NULL;
    *count = 0;
    DIR *dir = opendir(base);
    if (!dir)
        return hr_fail(err, HR_NOT_FOUND, "serve.model", "Could not find base path %s: %s", base, strerror(errno));
    while (st == HR_OK && (entry = readdir(dir))) {
        char path[4096];
        struct stat about;
        int64_t number;
        if (!version_number(entry->d_name, &number)) continue;
        if (snprintf(path, sizeof path, "%s/%s", base, entry->d_name) >= (int)sizeof path) continue;
        if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) continue;
        if (saved_models && !is_there(path, "saved_model.pb") && !is_there(path, "saved_model.pbtxt")) continue;
        st = add_found(found, count, path, entry->d_name, number, err);
    }
    closedir(dir);
    if (st == HR_OK && *count) qsort(*found, (size_t)*count, sizeof **found, compare_found);
    if (st != HR_OK) {
        hr_free(*found);
        *found = NULL;
        *count = 0;
    }
    return st;
}
