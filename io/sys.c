/* System calls through a replaceable table, repeated after EINTR; errno as a status. */
#include "io/sys.h"
#include "base/text.h"
#include <headrace/io.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int sys_open_file(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

static const hr__sys by_system = {sys_open_file, close, read, pread, write, fsync, rename, unlink, ftruncate};
static const hr__sys *current = &by_system;

const hr__sys *hr__sys_get(void) { return current; }

void hr__sys_set(const hr__sys *sys) { current = sys ? sys : &by_system; }

static hr_status status_of(int number)
{
    switch (number) {
    case ENOENT:
        return HR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return HR_PERMISSION_DENIED;
    case EISDIR:
    case ENOTDIR:
    case EINVAL:
    case ELOOP:
    case ENAMETOOLONG:
        return HR_INVALID_ARGUMENT;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return HR_RESOURCE_EXHAUSTED;
    case EIO:
        return HR_DATA_LOSS;
    case EPIPE:
        return HR_UNAVAILABLE;
    default:
        return HR_UNKNOWN;
    }
}

hr_status hr__sys_fail(hr_error *err, int number, const char *kind, const char *path, const char *verb)
{
    char reason[128];
    const char *text = strerror_r(number, reason, sizeof reason); /* glibc's, which may give a text of its own */
    hr_status status = hr_fail(err, status_of(number), kind, "%s: cannot be %s: %s", path, verb, text);
    hr_error_file(err, path);
    return status;
}

int hr__open(const char *path, int flags, mode_t mode)
{
    int fd;
    do fd = current->open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

ssize_t hr__read(int fd, void *to, size_t size, int64_t offset)
{
    ssize_t got;
    do got = offset < 0 ? current->read(fd, to, size) : current->pread(fd, to, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got;
}

bool hr__write_all(int fd, const void *from, size_t size)
{
    for (const char *p = from; size > 0;) {
        ssize_t wrote = current->write(fd, p, size);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return false;
        p += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

static _Atomic int interrupt = -1;

void hr_interrupt_by(int fd) { atomic_store(&interrupt, fd); }

hr_status hr__wait(int fd, short events, int wake, int max, const char *path, hr_error *err)
{
    struct pollfd waits[3] = {{.fd = fd, .events = events},
                              {.fd = wake, .events = POLLIN},
                              {.fd = atomic_load(&interrupt), .events = POLLIN}};
    int ready;
    do ready = poll(waits, 3, max);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0 || (!waits[1].revents && (waits[0].revents || !waits[2].revents))) return HR_OK;
    hr_fail(err, HR_CANCELLED, "cancelled", "%s: cancelled while waiting for %s", path,
            events & POLLIN ? "its next bytes" : "who reads it");
    hr_error_file(err, path);
    return HR_CANCELLED;
}

char *hr__folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    char *folder = hr_malloc(size + 1);
    if (!folder) return NULL;
    if (size > 0) memcpy(folder, path, size);
    folder[size] = '\0';
    return folder;
}

/* Some file systems cannot sync a folder: EINVAL. It asks for no memory: what was renamed just before stays. */
hr_status hr__sync_folder(const char *path, hr_error *err)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    const size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    if (size >= sizeof folder) return hr__sys_fail(err, ENAMETOOLONG, "file.sync", path, "synced");
    if (size > 0) {
        memcpy(folder, path, size);
        folder[size] = '\0';
    }
    int fd = hr__open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) return HR_OK; /* a folder that may be written but not read */
    bool synced = current->fsync(fd) == 0 || errno == EINVAL;
    int number = errno;
    current->close(fd);
    return synced ? HR_OK : hr__sys_fail(err, number, "file.sync", path, "synced");
}

hr_status hr_make_folders_above(const char *path, hr_error *err)
{
    if (!path) return hr_fail(err, HR_INVALID_ARGUMENT, "file.name", "expected a path, got NULL");
    char *folder = hr__folder_of(path);
    if (!folder) return hr_no_memory(err, "a path");
    const hr_status st = folder[0] ? hr__make_folders(folder, err) : HR_OK;
    hr_free(folder);
    return st;
}

hr_status hr__make_folders(const char *path, hr_error *err)
{
    char *part = hr_strdup(path);
    if (!part) return hr_no_memory(err, "a path");
    for (char *slash = part + (part[0] == '/'); (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(part, 0777); /* what is wrong with one shows at the last */
        *slash = '/';
    }
    bool made = mkdir(part, 0777) == 0 || errno == EEXIST;
    int number = errno;
    hr_free(part);
    return made ? HR_OK : hr__sys_fail(err, number, "file.open", path, "made");
}

void hr__remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char *below = hr__path_in(path, entry->d_name);
        if (below && lstat(below, &about) == 0 && S_ISDIR(about.st_mode))
            hr__remove_tree(below);
        else if (below)
            current->unlink(below);
        hr_free(below);
    }
    if (dir) closedir(dir);
    rmdir(path);
}
