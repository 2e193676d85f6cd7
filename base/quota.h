/* How much of the machine's processors this process may use. Not a public header; "hr__" names are for the floors
 * above. */
#ifndef HR_QUOTA_H
#define HR_QUOTA_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Linux counts what a control group uses, and stops its threads for the rest of each period once the quota is spent: more
 * busy threads than that only wait. Gives the quota in processors, such as 1.5; 0: there is none. `groups` is
 * /proc/self/cgroup, `mounted` is /sys/fs/cgroup, where versions 1 and 2 have their files. */
double hr__cpu_quota_of(const char *groups, const char *mounted);
/* That of this process. */
double hr__cpu_quota(void);

#ifdef __cplusplus
}
#endif
#endif
