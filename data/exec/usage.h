/* How long a thread slept: the time that passed, less the time of a processor that it used. Time in which the processor
 * was another thread's is not sleep. */
#ifndef HR_USAGE_H
#define HR_USAGE_H

#include <stdint.h>

/* Of the calling thread, since it began. Where the system does not tell, a thread seems never to sleep. */
typedef struct usage {
    uint64_t cpu_ns;
    uint64_t sleeps; /* how often it gave its processor up because it had to wait */
} usage;

usage hr__thread_usage(void);
/* Between two usages of one thread that are `took` apart. */
uint64_t hr__asleep_ns(const usage *from, const usage *to, uint64_t took);

#endif
