/* Whether paths lie in a folder, as the system finds them: after links, "." and "..". */
#include "io/within.h"
#include "io/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

hr_status hr__path_real(const char *folder, char **real, hr_error *err)
{
    char *found = realpath(folder, NULL);
    *real = found ? hr_strdup(found) : NULL;
    if (!found) return hr__sys_fail(err, errno, "file.open", folder, "opened");
    free(found);
    return *real ? HR_OK : hr_no_memory(err, "a path");
}

static bool lies_in(const char *real, const char *path)
{
    const size_t size = strlen(real);
    if (size == 1) return true; /* "/" */
    return size > 1 && strncmp(real, path, size) == 0 && (path[size] == '/' || path[size] == 0);
}

/* What a path leads to; of what is not there yet, the folder that it would be in. NULL: there is none, either. */
static char *found_at(const char *path)
{
    char *found = realpath(path, NULL);
    if (found || errno != ENOENT) return found;
    struct stat link;
    char *folder = lstat(path, &link) == 0 ? NULL : hr__folder_of(path); /* a link that leads nowhere */
    if (folder) found = realpath(*folder ? folder : ".", NULL);
    hr_free(folder);
    return found;
}

hr_status hr__path_within(const char *real, const char *path, hr_error *err)
{
    struct stat about;
    char *found = found_at(path);
    const bool within =
        found && lies_in(real, found) && stat(found, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode));
    free(found);
    if (within) return HR_OK;
    hr_status st =
        hr_fail(err, HR_PERMISSION_DENIED, "file.outside", "%s: expected a file in %s, got one elsewhere", path, real);
    hr_error_file(err, path);
    return st;
}
