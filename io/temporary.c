/* Temporary files say by a lock that somebody writes them: a process number in the name proves nothing, since
 * containers and machines that share a folder give the same ones. The lock (flock) belongs to the open file, so that it
 * ends with the process, however that ends, and not with the close of another descriptor, as one of fcntl does.
 *
 * A process removes a file only while it holds its lock, and after a look, under the lock, that the name still means
 * this very file. A writer looks in the same way once it has locked the file that it made; where another process was
 * faster, it makes a new one. */
#include "io/temporary.h"
#include "io/sys.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- names ---- */

static bool ends_with(const char *name, const char *ending)
{
    const size_t size = strlen(name), end = strlen(ending);
    return size > end && strcmp(name + size - end, ending) == 0;
}

bool hr__is_unfinished(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return name[0] == '.' &&
           (ends_with(name, HR__TEMPORARY) || ends_with(name, HR__PART) || ends_with(name, HR__NOTES));
}

/* ---- locks ---- */

static bool temporary_is_named(int fd, const char *path)
{
    struct stat open, named;
    return fstat(fd, &open) == 0 && lstat(path, &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

static bool temporary_lock(int fd)
{
    int code;
    do code = flock(fd, LOCK_EX | LOCK_NB);
    while (code != 0 && errno == EINTR);
    return code == 0;
}

/* On a file system without locks no temporary file is ever removed by others, so the file needs no lock. */
static bool temporary_lock_own(int fd, const char *path)
{
    if (!temporary_lock(fd) && errno == EWOULDBLOCK) return false; /* somebody is about to remove it */
    return temporary_is_named(fd, path);
}

static void remove_if_left(const char *path)
{
    struct stat about;
    if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode)) return;
    /* Network folders lock only what may be written, a local one also what may only be read. */
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (temporary_lock(fd) && temporary_is_named(fd, path)) unlink(path);
    close(fd);
}

/* ---- what killed processes have left ---- */

/* The folders in which this process has looked: the last ones, so that a set of thousands of files is not thousands of
 * looks. To look once more does no harm. */
static bool is_first_look(const char *folder)
{
    enum { FOLDERS = 64 };
    static _Atomic uint64_t seen[FOLDERS];
    static atomic_uint next;
    struct stat about;
    if (stat(folder, &about) != 0) return false;
    const uint64_t place[2] = {(uint64_t)about.st_dev, (uint64_t)about.st_ino};
    const uint64_t key = hr_fingerprint64((const char *)place, sizeof place);
    for (int i = 0; i < FOLDERS; i++)
        if (atomic_load(&seen[i]) == key) return false;
    atomic_store(&seen[atomic_fetch_add(&next, 1) % FOLDERS], key);
    return true;
}

static void remove_all_left(const char *folder)
{
    const char *where = folder[0] ? folder : "./";
    if (!is_first_look(where)) return;
    DIR *dir = opendir(where);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[4096 + 256];
        if (e->d_name[0] != '.' || !ends_with(e->d_name, HR__TEMPORARY)) continue;
        const int size = snprintf(path, sizeof path, "%s%s", where, e->d_name);
        if (size > 0 && (size_t)size < sizeof path) remove_if_left(path);
    }
    if (dir) closedir(dir);
}

/* ---- one that several processes mean ---- */

/* A process that looks whether the file was left holds it for a moment, too. */
hr_status hr__temporary_hold(const char *path, int *fd, hr_error *err)
{
    enum { TRIES = 30, AGAIN_MS = 10 };
    for (int i = 0; i < TRIES; i++) {
        *fd = hr__open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (*fd < 0) return hr__sys_fail(err, errno, "file.open", path, "written");
        if (temporary_lock_own(*fd, path)) return HR_OK;
        hr__sys_get()->close(*fd);
        *fd = -1;
        poll(NULL, 0, AGAIN_MS);
    }
    return HR_ALREADY_EXISTS;
}

void hr__temporary_let_go(const char *path, int fd)
{
    if (fd < 0) return;
    hr__sys_get()->unlink(path); /* while it is locked */
    hr__sys_get()->close(fd);
}

/* ---- making one ---- */

hr_status hr__temporary_open(const char *target, int flags, mode_t mode, char **path, int *fd, hr_error *err)
{
    enum { TRIES = 10000, MAX_NAME = 180 };
    static atomic_uint number;
    const size_t capacity = strlen(target) + 64;
    char *folder = hr__folder_of(target);
    *path = hr_malloc(capacity);
    *fd = -1;
    int why = folder && *path ? EEXIST : ENOMEM;
    if (folder) remove_all_left(folder);
    for (int i = 0; i < TRIES && why == EEXIST && *fd < 0; i++) {
        snprintf(*path, capacity, "%s.%.*s.%ld-%u" HR__TEMPORARY, folder, MAX_NAME, target + strlen(folder),
                 (long)getpid(), atomic_fetch_add(&number, 1));
        *fd = hr__open(*path, flags | O_CREAT | O_EXCL, mode);
        why = *fd < 0 ? errno : EEXIST;
        if (*fd < 0 || temporary_lock_own(*fd, *path)) continue;
        hr__sys_get()->close(*fd);
        *fd = -1;
    }
    hr_free(folder);
    if (*fd >= 0) return HR_OK;
    hr_free(*path);
    *path = NULL;
    return why == ENOMEM ? hr_no_memory(err, "a file's name") : hr__sys_fail(err, why, "file.open", target, "written");
}
