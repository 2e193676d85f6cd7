/* Files of one folder: what comes from outside may name any path, but not use it. Not a public header. */
#ifndef HR_WITHIN_H
#define HR_WITHIN_H

#include <headrace/base.h>

/* Gives the folder's own path, without links and "..": what hr__path_within compares with. hr_free it. NOT_FOUND and
 * others as by opening it. */
HR_API hr_status hr__path_real(const char *folder, char **real, hr_error *err);
/* Whether a path, after all links, is a file or folder below `real`, or could become one. HR_PERMISSION_DENIED,
 * "file.outside": it is not, or it is a pipe or a device. */
HR_API hr_status hr__path_within(const char *real, const char *path, hr_error *err);

#endif
