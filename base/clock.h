/* The time of day, of those who may be given another one. Not a public header. */
#ifndef HR_CLOCK_H
#define HR_CLOCK_H

#include <time.h>

/* Seconds since 1970. */
static inline double hr__time_of_day(void *user)
{
    (void)user;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
