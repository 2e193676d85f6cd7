/* The folder of an export: named by the time, and renamed when it is complete. */
#include "base/clock.h"
#include "base/text.h"
#include "io/sys.h"
#include "train/estimator/estimator_internal.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The first of ten seconds from now on whose folder is free. Gives both paths. */
static hr_status export_paths(const char *folder, double now, char **temporary, char **path, hr_error *err)
{
    char name[32];
    for (int i = 0; i < 10; i++) {
        const long long seconds = (long long)now + i;
        snprintf(name, sizeof name, "%lld", seconds);
        *path = hr__path_in(folder, name);
        if (!*path) return hr_no_memory(err, "a path");
        if (access(*path, F_OK) == 0) {
            hr_free(*path);
            *path = NULL;
            continue;
        }
        snprintf(name, sizeof name, "temp-%lld", seconds);
        *temporary = hr__path_in(folder, name);
        return *temporary ? HR_OK : hr_no_memory(err, "a path");
    }
    return hr_fail(err, HR_ALREADY_EXISTS, "estimator.export",
                   "%s: expected a free name among %lld and the nine after it, found all taken", folder,
                   (long long)now);
}

static hr_status export_into(const char *temporary, const char *path, hr__write_export *write, void *user,
                             hr_error *err)
{
    hr__remove_tree(temporary);
    HR_TRY(hr__make_folders(temporary, err));
    hr_status st = write(temporary, user, err);
    if (st == HR_OK && hr__sys_get()->rename(temporary, path) != 0)
        st = hr__sys_fail(err, errno, "file.rename", temporary, "rename");
    if (st != HR_OK) hr__remove_tree(temporary);
    return st;
}

hr_status hr__export_whole(const hr_estimator *e, const char *base, hr__write_export *write, void *user, char **path,
                           hr_error *err)
{
    char *temporary = NULL;
    const double now = e->config.now ? e->config.now(e->config.now_user) : hr__time_of_day(NULL);
    *path = NULL;
    hr_status st = export_paths(base, now, &temporary, path, err);
    if (st == HR_OK) st = export_into(temporary, *path, write, user, err);
    hr_free(temporary);
    if (st == HR_OK) return HR_OK;
    hr_free(*path);
    *path = NULL;
    return st;
}
