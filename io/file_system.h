/* Files of registered file systems beside those of the machine: what reading and matching ask. Not a public header. */
#ifndef HR_FILE_SYSTEM_H
#define HR_FILE_SYSTEM_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

const hr_file_system *hr__file_system_of(const char *path); /* NULL: the machine's own */

/* An open file of a registered file system. */
typedef struct hr__foreign_file {
    const hr_file_system *system; /* NULL: none is open */
    void *file;
} hr__foreign_file;
hr_status hr__foreign_open(const hr_file_system *system, const char *path, hr__foreign_file *out, hr_error *err);
/* Fills as much as there is: *got is less only at the end. */
hr_status hr__foreign_read(const hr__foreign_file *file, const char *path, int64_t offset, void *to, size_t size,
                           size_t *got, hr_error *err);
void hr__foreign_close(hr__foreign_file *file);
/* A file that is written: closed by one of the last two. */
hr_status hr__foreign_create(const hr_file_system *system, const char *path, hr__foreign_file *out, hr_error *err);
hr_status hr__foreign_write(const hr__foreign_file *file, const char *path, const void *data, size_t size,
                            hr_error *err);
hr_status hr__foreign_commit(hr__foreign_file *file, const char *path, hr_error *err);
void hr__foreign_discard(hr__foreign_file *file);

/* ---- any path, of the machine or of a registered file system ---- */

/* False: there is no such file. */
bool hr__path_about(const char *path, hr_file_about *about);
/* Refuses, with HR_INVALID_ARGUMENT and this kind, an invalid list: of fewer than no files, or of NULLs. `what`
 * begins the message. */
hr_status hr__file_list_check(const char *what, const char *kind, const hr_file_list *files, hr_error *err);
#ifdef __cplusplus
}
#endif
#endif
