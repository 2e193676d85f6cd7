/* See usage.h. */
#include "data/exec/usage.h"
#include <sys/resource.h>

#ifdef RUSAGE_THREAD

static uint64_t ns_of(struct timeval t) { return ((uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec) * 1000; }

usage hr__thread_usage(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_THREAD, &used) != 0) return (usage){0};
    return (usage){ns_of(used.ru_utime) + ns_of(used.ru_stime), (uint64_t)used.ru_nvcsw};
}

#else

usage hr__thread_usage(void) { return (usage){0}; }

#endif

uint64_t hr__asleep_ns(const usage *from, const usage *to, uint64_t took)
{
    const uint64_t used = to->cpu_ns - from->cpu_ns;
    return to->sleeps > from->sleeps && used < took ? took - used : 0;
}
