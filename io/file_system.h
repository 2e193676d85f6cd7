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

/* ---- any path, of the machine or of a registered file system ---- */

/* False: there is no such file. */
bool hr__path_about(const char *path, hr_file_about *about);
/* Bytes of a file as it lies on the disk; -1: not known, as of a pipe. */
int64_t hr__path_size(const char *path);
/* Of all files together; -1: the size of one is not known. */
int64_t hr__paths_size(const hr_file_list *files);
/* "-", and what is there but is no regular file: a pipe, a device, a folder. */
bool hr__path_is_special(const char *path);
/* What was read of it is gone: "-", a pipe, a socket, a terminal or its like. */
bool hr__path_reads_once(const char *path);
/* For who goes over the files twice: HR_FAILED_PRECONDITION, "file.once", if one of them reads once. `instead`: what
 * saves one of the passes, "give .schema". */
hr_status hr__need_files_again(const hr_file_list *files, const char *instead, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
