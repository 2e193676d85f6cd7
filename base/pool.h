/* The one pool of worker threads. Engines (pipelines) and sessions (graphs) are its clients: each says what it has to
 * do, one piece at a time, and any thread may do it. Not a public header; "hr__" names are for the floors above. */
#ifndef HR_POOL_H
#define HR_POOL_H

#include "base/cpu.h"
#include <headrace/base.h>
#include <stdatomic.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR__POOL_MAX_WORKERS = 256 };

/* A client owns one of these, zeroed, for as long as it has joined. */
typedef struct hr__client hr__client;
struct hr__client {
    /* Does one piece of work on a worker (thread numbers are 1, 2, ...; a caller that helps is 0). False: there was
     * nothing to do. Any thread, many at a time; never called after hr__pool_leave has returned. */
    bool (*run_one)(hr__client *client, int thread);
    /* A worker's turn is over, and it goes to another client, which may keep it for long. True: there is work left; a
     * caller that sleeps until there is some was woken for it. NULL: no caller sleeps while there is work. */
    bool (*turn_over)(hr__client *client);
    int max_workers; /* how many workers at once; -1: all of the pool */
    /* The pool's own. */
    hr__client *next;
    _Atomic int inside;
    _Atomic bool called; /* there was a wake since a worker came out last, perhaps while no further one might enter */
    bool leaving;
};

HR_API hr_status hr__pool_join(hr__client *client, hr_error *err); /* starts the workers at the first call */
HR_API void hr__pool_leave(hr__client *client); /* waits for the workers that are inside run_one, nothing else */
/* There is work for one more thread. Wakes one sleeper if there is one: cheap when all are busy. Call it without
 * holding a lock. */
HR_API void hr__pool_wake(hr__client *client);

/* A worker sleeps, or is about to: it is worth looking for more work to wake it for. */
bool hr__pool_sleeps(void);

/* Runs fn(i, user) for all 0 <= i < count, on this thread and on idle workers; returns when all are done. Nested calls
 * run inline. Each thread begins with a range of its own, the same in each loop of as many pieces, so that it has its
 * data in its cache. Pieces should be 10 us or more. */
void hr__parallel_for(int64_t count, void (*fn)(int64_t i, void *user), void *user);
/* The same, with so many workers at most, -1: all; and with the help of threads that wait for the group, NULL: none. */
HR_API void hr__parallel_for_group(const void *group, int workers, int64_t count, void (*fn)(int64_t i, void *user),
                                   void *user);

/* ---- a thread that waits for what others do, and helps with their loops meanwhile ---- */

typedef struct hr__waiter hr__waiter;
struct hr__waiter {
    const void *group; /* of whose loops it takes pieces */
    /* The pool's own. */
    uv_cond_t cond;
    hr__waiter *next;
    _Atomic bool waits, called;
};

HR_API hr_status hr__waiter_begin(hr__waiter *w, const void *group, hr_error *err);
HR_API void hr__waiter_end(hr__waiter *w);
/* Returns after a call, at once if there was one since it returned last; sometimes without one. */
HR_API void hr__waiter_wait(hr__waiter *w);
/* Any thread, for as long as the waiter has not ended. */
HR_API void hr__waiter_call(hr__waiter *w);

/* Processors that the process may use: of the machine, or of its control group's quota, which may be a fraction. */
double hr__pool_processors(void);

/* For locks that are held for some microseconds at most: to sleep until one is free, and be woken, takes longer. */
static inline void hr__lock_awake(uv_mutex_t *lock)
{
    enum { LOOKS = 200 }; /* 2 to 10 us; then its holder may itself wait for a processor */
    for (int i = 0; i < LOOKS; i++) {
        if (uv_mutex_trylock(lock) == 0) return;
        hr__cpu_pause();
    }
    uv_mutex_lock(lock);
}

/* The number of the worker that asks; 0: it is no worker. */
HR_API int hr__pool_thread(void);

#ifdef __cplusplus
}
#endif
#endif
