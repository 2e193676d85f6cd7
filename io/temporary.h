/* Unfinished files: their hidden names, which are never read as data, and the removal of those whose writer was
 * killed. Not a public header. */
#ifndef HR_TEMPORARY_H
#define HR_TEMPORARY_H

#include <headrace/base.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Endings of hidden names, ".NAME" before them. A temporary file belongs to a process, and is of no use to another; a
 * part of a set and the notes about it wait for a run that goes on. */
#define HR__TEMPORARY ".headrace.tmp"
#define HR__PART ".headrace.part"
#define HR__NOTES ".headrace.shards"

/* Makes a file beside `target`, under a name of its own, ".TARGET.4711-0.headrace.tmp", and locks it: as long as *fd,
 * or a copy of it, is open, nobody takes it for the rest of a killed process. Gives *path and *fd; *path is NULL after
 * a failure. `flags`: O_WRONLY or O_RDWR. The first call of a process for a folder removes there what killed ones
 * have left. */
hr_status hr__temporary_open(const char *target, int flags, mode_t mode, char **path, int *fd, hr_error *err);
/* The file `path`, whose name ends in HR__TEMPORARY, is held: by one open *fd at a time, of all processes. After
 * HR_ALREADY_EXISTS somebody else holds it, and *err is not filled. hr__temporary_let_go removes it; fd -1 is none. */
hr_status hr__temporary_hold(const char *path, int *fd, hr_error *err);
void hr__temporary_let_go(const char *path, int fd);
/* The last name of a path is one of those above. */
bool hr__is_unfinished(const char *path);

#ifdef __cplusplus
}
#endif
#endif
