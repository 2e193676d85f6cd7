/* File systems that users register by scheme. The list only grows, at its head, so reading it takes no lock. */
#include "io/file_system.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

typedef struct entry {
    struct entry *next;
    hr_file_system system;
    char scheme[32];
} entry;

static _Atomic(entry *) entries;

static const entry *file_system_find(const char *scheme, size_t size)
{
    const entry *e = atomic_load_explicit(&entries, memory_order_acquire);
    while (e && (strlen(e->scheme) != size || memcmp(e->scheme, scheme, size) != 0)) e = e->next;
    return e;
}

const hr_file_system *hr__file_system_of(const char *path)
{
    const size_t size = strcspn(path, ":/");
    if (size == 0 || path[size] != ':' || path[size + 1] != '/') return NULL;
    const entry *e = file_system_find(path, size);
    return e ? &e->system : NULL;
}

static hr_status file_system_check(const hr_file_system *system, hr_error *err)
{
    const char *scheme = system->scheme ? system->scheme : "";
    const size_t size = strlen(scheme);
    if (size == 0 || size >= sizeof((entry *)NULL)->scheme || strpbrk(scheme, ":/*?[]\\"))
        return hr_fail(err, HR_INVALID_ARGUMENT, "file_system.scheme",
                       "expected a scheme of 1 to 31 plain letters, such as \"mem\" for mem://, got \"%.60s\"", scheme);
    if (!system->open || !system->read || !system->close || !system->about || !system->list)
        return hr_fail(err, HR_INVALID_ARGUMENT, "file_system.function",
                       "file system %s: expected .open, .read, .close, .about and .list, got NULL for one", scheme);
    const int writes = !!system->create + !!system->write + !!system->commit + !!system->discard;
    if (writes != 0 && writes != 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "file_system.function",
                       "file system %s: expected .create, .write, .commit and .discard, or none of them, got %d",
                       scheme, writes);
    if (file_system_find(scheme, size))
        return hr_fail(err, HR_ALREADY_EXISTS, "file_system.scheme", "file system %s: it is registered already",
                       scheme);
    return HR_OK;
}

hr_status hr_register_file_system(const hr_file_system *given, hr_error *err)
{
    const hr_file_system system = HR_OPTIONS(hr_file_system, given);
    HR_TRY(file_system_check(&system, err));
    entry *e = hr_calloc(1, sizeof *e);
    if (!e) return hr_no_memory(err, "a file system");
    e->system = system;
    strcpy(e->scheme, system.scheme);
    e->system.scheme = e->scheme;
    e->next = atomic_load(&entries);
    while (!atomic_compare_exchange_weak(&entries, &e->next, e)) {}
    return HR_OK;
}

/* ---- files ---- */

/* An error of the user's functions has at least a text, a kind and the file. */
static hr_status told(hr_status st, const hr_error *why, const char *kind, const char *path, const char *verb,
                      hr_error *err)
{
    if (st >= 0) return st;
    if (why->text[0] && err)
        *err = *why;
    else
        hr_fail(err, st, kind, "%s: cannot be %s: %s", path, verb, hr_status_name(st));
    hr_error_file(err, path);
    return st;
}

hr_status hr__foreign_open(const hr_file_system *system, const char *path, hr__foreign_file *out, hr_error *err)
{
    hr_error why = {0};
    void *file = NULL;
    const hr_status st = system->open(path, system->user, &file, &why);
    if (st == HR_OK) *out = (hr__foreign_file){system, file};
    return told(st, &why, "file.open", path, "opened", err);
}

hr_status hr__foreign_read(const hr__foreign_file *file, const char *path, int64_t offset, void *to, size_t size,
                           size_t *got, hr_error *err)
{
    for (*got = 0; *got < size;) {
        hr_error why = {0};
        size_t some = 0;
        const hr_status st =
            file->system->read(file->file, offset + (int64_t)*got, (char *)to + *got, size - *got, &some, &why);
        HR_TRY(told(st, &why, "file.read", path, "read", err));
        if (some == 0) break;
        *got += some;
    }
    return HR_OK;
}

void hr__foreign_close(hr__foreign_file *file)
{
    if (file->system) file->system->close(file->file);
    file->system = NULL;
}

/* ---- files that are written ---- */

hr_status hr__foreign_create(const hr_file_system *system, const char *path, hr__foreign_file *out, hr_error *err)
{
    hr_error why = {0};
    void *file = NULL;
    if (!system->create) {
        hr_fail(err, HR_UNIMPLEMENTED, "file_system.write",
                "%s: expected a file that can be written, got one of the file system '%s', which has no .create", path,
                system->scheme);
        hr_error_file(err, path);
        return HR_UNIMPLEMENTED;
    }
    const hr_status st = system->create(path, system->user, &file, &why);
    if (st == HR_OK) *out = (hr__foreign_file){system, file};
    return told(st, &why, "file.open", path, "written", err);
}

hr_status hr__foreign_write(const hr__foreign_file *file, const char *path, const void *data, size_t size,
                            hr_error *err)
{
    hr_error why = {0};
    return told(file->system->write(file->file, data, size, &why), &why, "file.write", path, "written", err);
}

hr_status hr__foreign_commit(hr__foreign_file *file, const char *path, hr_error *err)
{
    hr_error why = {0};
    const hr_status st = file->system->commit(file->file, &why);
    file->system = NULL;
    return told(st, &why, "file.rename", path, "committed", err);
}

void hr__foreign_discard(hr__foreign_file *file)
{
    if (file->system) file->system->discard(file->file);
    file->system = NULL;
}

bool hr__path_about(const char *path, hr_file_about *about)
{
    struct stat s;
    const hr_file_system *system = hr__file_system_of(path);
    *about = (hr_file_about){0};
    if (system) return system->about(path, system->user, about, NULL) == HR_OK;
    if (stat(path, &s) != 0) return false;
    *about = (hr_file_about){.size = s.st_size,
                             .changed = (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec,
                             .is_folder = S_ISDIR(s.st_mode)};
    return true;
}

hr_status hr__file_list_check(const char *what, const char *kind, const hr_file_list *files, hr_error *err)
{
    if (files->count < 0 || (files->count > 0 && !files->path))
        return hr_fail(err, HR_INVALID_ARGUMENT, kind, "%s: expected a list of files, got %s of %lld", what,
                       files->path ? "one" : "NULL instead", (long long)files->count);
    for (int64_t i = 0; i < files->count; i++)
        if (!files->path[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, kind, "%s: expected the name of file %lld, got NULL", what,
                           (long long)i);
    return HR_OK;
}

bool hr_path_is_special(const char *path)
{
    struct stat s;
    if (!path) return false;
    if (strcmp(path, "-") == 0) return true;
    return !hr__file_system_of(path) && stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

bool hr_path_reads_once(const char *path)
{
    struct stat s;
    if (!path) return false;
    if (strcmp(path, "-") == 0) return true;
    if (hr__file_system_of(path) || stat(path, &s) != 0) return false;
    return S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode) || S_ISCHR(s.st_mode);
}

hr_status hr_need_files_again(const hr_file_list *files, const char *instead, hr_error *err)
{
    for (int64_t i = 0; files && i < files->count; i++) {
        const char *path = files->path[i];
        if (!hr_path_reads_once(path)) continue;
        hr_fail(err, HR_FAILED_PRECONDITION, "file.once",
                "%s: expected a file, which can be read twice, found %s, which is read once; %s or copy it to a file",
                path, strcmp(path, "-") == 0 ? "standard input" : "a pipe or a device", instead);
        hr_error_file(err, path);
        return HR_FAILED_PRECONDITION;
    }
    return HR_OK;
}

int64_t hr_path_size(const char *path)
{
    hr_file_about about;
    return path && !hr_path_is_special(path) && hr__path_about(path, &about) && !about.is_folder ? about.size : -1;
}

int64_t hr_paths_size(const hr_file_list *files)
{
    int64_t total = 0;
    for (int64_t i = 0; files && i < files->count; i++) {
        const int64_t size = hr_path_size(files->path[i]);
        if (size < 0) return -1;
        total += size;
    }
    return total;
}
