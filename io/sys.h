/* The system calls that files are read and written with, in one table that tests replace: short counts, EINTR, a full
 * disk, a broken one. Not a public header. */
#ifndef HR_SYS_H
#define HR_SYS_H

#include <headrace/base.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef struct hr__sys {
    int (*open)(const char *path, int flags, mode_t mode);
    int (*close)(int fd);
    ssize_t (*read)(int fd, void *to, size_t size);
    ssize_t (*pread)(int fd, void *to, size_t size, off_t offset);
    ssize_t (*write)(int fd, const void *from, size_t size);
    int (*fsync)(int fd);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    int (*ftruncate)(int fd, off_t size);
} hr__sys;

HR_API const hr__sys *hr__sys_get(void);
/* For tests: all files use this table from now on; NULL: the system's. Set while no file is open. */
void hr__sys_set(const hr__sys *sys);

/* Fails with the class that belongs to `number` (an errno): "path: cannot be VERB: reason". */
HR_API hr_status hr__sys_fail(hr_error *err, int number, const char *kind, const char *path, const char *verb);

/* As open, read and so on, but again after EINTR. */
HR_API int hr__open(const char *path, int flags, mode_t mode);
/* Up to `size` bytes; offset -1: where the file stands. -1: errno says why. */
ssize_t hr__read(int fd, void *to, size_t size, int64_t offset);
HR_API bool hr__write_all(int fd, const void *from, size_t size); /* false: errno says why */
/* Waits for `fd` until poll finds one of `events`, an end or an error: what that is, reading or writing says better.
 * `most`: milliseconds, -1 without end. HR_CANCELLED: something can be read from `wake` (-1: none) or, while `fd` is
 * not ready, from the descriptor of hr_interrupt_by. */
hr_status hr__wait(int fd, short events, int wake, int max, const char *path, hr_error *err);
/* The folder of a path, with its slash: "" for a bare name. Gives; NULL: no memory. */
HR_API char *hr__folder_of(const char *path);
/* The names in this file's folder, too, are on the disk. */
HR_API hr_status hr__sync_folder(const char *path, hr_error *err);
/* Makes the folder and those above it, as far as they are not there. */
HR_API hr_status hr__make_folders(const char *path, hr_error *err);
/* Removes a folder with all that is in it, links as such. What cannot be removed stays. */
HR_API void hr__remove_tree(const char *path);

#endif
