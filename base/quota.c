/* See quota.h. Source of the files' formats: Documentation/admin-guide/cgroup-v2.rst of Linux (cpu.max: "QUOTA PERIOD",
 * or "max PERIOD"), and Documentation/scheduler/sched-bwc.rst (version 1: cpu.cfs_quota_us, -1 without one, and
 * cpu.cfs_period_us). */
#include "base/quota.h"
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096, LINE_SIZE = 4096 + 64 };

static bool read_line(char *line, size_t size, const char *folder, const char *name)
{
    char path[PATH_SIZE + 64];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "r");
    const bool read = file && fgets(line, (int)size, file);
    if (file) (void)fclose(file);
    return read;
}

static double quota_of_two(const char *folder)
{
    char line[128];
    double quota, period;
    if (!read_line(line, sizeof line, folder, "cpu.max")) return 0;
    return sscanf(line, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0 ? quota / period : 0;
}

static double quota_of_one(const char *folder)
{
    char quota[64], period[64];
    double q, p;
    if (!read_line(quota, sizeof quota, folder, "cpu.cfs_quota_us") ||
        !read_line(period, sizeof period, folder, "cpu.cfs_period_us"))
        return 0;
    return sscanf(quota, "%lf", &q) == 1 && sscanf(period, "%lf", &p) == 1 && q > 0 && p > 0 ? q / p : 0;
}

/* The least of a group's and of those that it is in. */
static double least_quota(const char *mount, const char *group, double (*quota_of)(const char *folder))
{
    char folder[PATH_SIZE];
    double least = 0;
    const int root = snprintf(folder, sizeof folder, "%s", mount);
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder) return 0;
    for (;;) {
        const double quota = quota_of(folder);
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
        char *slash = strrchr(folder, '/');
        if (!slash || slash < folder + root) return least;
        *slash = '\0';
    }
}

/* Whether "cpu" is among the controllers of a line, "4:cpu,cpuacct:/group". */
static bool has_cpu(const char *controllers, size_t size)
{
    for (const char *at = controllers, *end = controllers + size; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (stop - at == 3 && memcmp(at, "cpu", 3) == 0) return true;
        at = stop + 1;
    }
    return false;
}

double hr__cpu_quota_of(const char *groups, const char *mounted)
{
    char line[LINE_SIZE], mount[PATH_SIZE];
    double least = 0;
    FILE *file = fopen(groups, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        const size_t size = (size_t)(group - ++controllers);
        const bool two = size == 0;
        if ((!two && !has_cpu(controllers, size)) ||
            snprintf(mount, sizeof mount, two ? "%s" : "%s/cpu", mounted) >= (int)sizeof mount)
            continue;
        const double quota = least_quota(mount, group + 1, two ? quota_of_two : quota_of_one);
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
    }
    if (file) (void)fclose(file);
    return least;
}

double hr__cpu_quota(void) { return hr__cpu_quota_of("/proc/self/cgroup", "/sys/fs/cgroup"); }
