/* Each worker visits all clients in turn, and sleeps after two passes in a row without work. Before the second pass it
 * is counted in `sleeping`: work that arrives from then on is found by that pass, or a wake-up reports it. After a piece
 * of a loop it watches for a moment before that: in a graph the next loop is near, and to wake a sleeper takes as long as
 * a small loop. */
#include "base/pool.h"
#include "base/cpu.h"
#include "base/number.h"
#include "base/quota.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
    TURN = 16,       /* pieces for one client before the next one's turn */
    WATCH_NS = 50000 /* about what a wake-up costs on a virtual machine */
};

/* The one pool of the process. All but the atomics is guarded by the lock. */
static struct pool {
    uv_mutex_t lock;
    uv_cond_t work;   /* sleeping workers wait here */
    uv_cond_t resume; /* workers beyond the number asked for wait here */
    uv_cond_t left;   /* a thread waits here until no worker is in its client */
    hr__client *first;
    hr__waiter *_Atomic waiters; /* changed under the lock */
    uv_thread_t thread[HR__POOL_MAX_WORKERS];
    int started, wanted;
    int cores;    /* that may be used at once */
    double quota; /* of the control group, where it is less than the machine has; 0: it is not */
    int parked;
    bool stopping;
    /* Wake-ups that no sleeper has taken yet. `sleeping` excludes the workers that they are for: two wake-ups reach two
     * sleepers. */
    int tokens;
    _Atomic int sleeping;
    _Atomic unsigned calls; /* counts wake-ups, whether anybody sleeps or not */
} pool;
static uv_once_t once = UV_ONCE_INIT;

static _Thread_local bool in_loop;      /* this thread runs a piece of hr__parallel_for */
static _Thread_local int worker_number; /* of this thread; 0: none */
static _Thread_local bool ran_loop;     /* this worker ran a piece of one since it looked for work last */

static int default_workers(void)
{
    const char *text = getenv("HEADRACE_THREADS");
    int32_t workers;
    const bool given = text && hr__parse_int32(text, strlen(text), HR__NUMBER_DEFAULT, &workers) == HR__PARSED;
    return given ? workers : pool.cores - 1;
}

static int within_bounds(int workers)
{
    return workers < 0 ? 0 : workers > HR__POOL_MAX_WORKERS ? HR__POOL_MAX_WORKERS : workers;
}

static void make_locks(void)
{
    uv_mutex_init(&pool.lock);
    uv_cond_init(&pool.work);
    uv_cond_init(&pool.resume);
    uv_cond_init(&pool.left);
}

/* ---- fork: a child has no threads, so its pool starts again; the clients that it inherits are its parent's ---- */

static void before_fork(void) { uv_mutex_lock(&pool.lock); }
static void after_fork(void) { uv_mutex_unlock(&pool.lock); }

static void after_fork_in_child(void)
{
    make_locks();
    pool.first = NULL;
    pool.waiters = NULL;
    pool.started = pool.tokens = pool.parked = 0;
    pool.sleeping = 0;
}

static void find_cores(void)
{
    const double quota = hr__cpu_quota();
    pool.cores = (int)uv_available_parallelism();
    if (quota <= 0 || quota >= pool.cores) return;
    pool.quota = quota;
    pool.cores = (int)quota + (quota > (int)quota);
}

static void start_pool(void)
{
    make_locks();
    find_cores();
    pool.wanted = within_bounds(default_workers());
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* ---- workers ---- */

static bool may_enter(const hr__client *c) { return c->max_workers < 0 || c->inside < c->max_workers; }

static bool is_alone(const hr__client *c) { return pool.first == c && !c->next; }

static void wake_one(void)
{
    if (pool.sleeping == 0) return;
    pool.sleeping--;
    pool.tokens++;
    uv_cond_signal(&pool.work);
}

/* One turn. Lock held before and after. True: it is worth coming again. */
static bool serve(hr__client *c, int thread)
{
    int pieces = 0;
    c->inside++;
    uv_mutex_unlock(&pool.lock);
    while (pieces < TURN && c->run_one(c, thread)) pieces++;
    uv_mutex_lock(&pool.lock);
    bool undone = false;
    if (pieces == TURN && c->turn_over && !is_alone(c) && !c->leaving) {
        uv_mutex_unlock(&pool.lock);
        undone = c->turn_over(c);
        uv_mutex_lock(&pool.lock);
    }
    c->inside--;
    if (undone) wake_one();
    return atomic_exchange(&c->called, false) || pieces > 0;
}

/* Offers this thread to every client once. One that left meanwhile takes its place in the list with it: then the round
 * counts as busy, and another one follows. */
static bool go_round(int thread)
{
    bool busy = false;
    for (hr__client *c = pool.first; c; c = c->next) {
        if (!may_enter(c)) continue;
        busy |= serve(c, thread);
        if (!c->leaving) continue;
        if (c->inside == 0) uv_cond_broadcast(&pool.left);
        return true;
    }
    return busy;
}

/* No more threads than cores: then nobody needs the core of one that watches. */
static bool has_own_core(void) { return pool.started < pool.cores; }

static bool was_called(const hr__waiter *w, unsigned seen) { return pool.calls != seen || (w && w->called); }

/* True: there was a call meanwhile, of the pool or of the waiter that watches; NULL: a worker does. Lock held before and
 * after. */
static bool watch_for_calls(const hr__waiter *w, unsigned seen)
{
    if (!ran_loop || !has_own_core()) return false;
    ran_loop = false;
    uv_mutex_unlock(&pool.lock);
    const uint64_t end = uv_hrtime() + WATCH_NS;
    while (!was_called(w, seen) && uv_hrtime() < end) hr__cpu_pause();
    uv_mutex_lock(&pool.lock);
    return was_called(w, seen);
}

static void go_round_or_sleep(int thread)
{
    pool.sleeping++;
    const bool busy = go_round(thread);
    while (!busy && pool.tokens == 0 && !pool.stopping) uv_cond_wait(&pool.work, &pool.lock);
    if (pool.tokens > 0)
        pool.tokens--;
    else
        pool.sleeping--;
}

/* Beyond the number that was asked for. While anybody is there it stays: what is running continues with the workers it
 * has, and a wake that such a one took would be lost. */
static bool is_idle_surplus(int thread) { return thread > pool.wanted && !pool.first; }

static void run_worker(void *arg)
{
    const int thread = worker_number = (int)(intptr_t)arg;
    uv_mutex_lock(&pool.lock);
    while (!pool.stopping) {
        if (is_idle_surplus(thread)) {
            pool.parked++;
            uv_cond_wait(&pool.resume, &pool.lock);
            pool.parked--;
            continue;
        }
        const unsigned seen = pool.calls;
        if (!go_round(thread) && !watch_for_calls(NULL, seen)) go_round_or_sleep(thread);
    }
    uv_mutex_unlock(&pool.lock);
}

static void start_workers(void)
{
    while (pool.started < pool.wanted) {
        const int number = pool.started + 1;
        if (uv_thread_create(&pool.thread[pool.started], run_worker, (void *)(intptr_t)number) != 0) return;
        pool.started++;
    }
}

/* Joins the workers when the process ends, since sanitizers report threads that are left. Does not wait for a worker
 * that is still in a user's function. */
__attribute__((destructor)) static void stop_workers(void)
{
    if (pool.started == 0) return;
    uv_mutex_lock(&pool.lock);
    const bool idle = pool.first == NULL;
    pool.stopping = true;
    uv_cond_broadcast(&pool.work);
    uv_cond_broadcast(&pool.resume);
    uv_mutex_unlock(&pool.lock);
    for (int i = 0; idle && i < pool.started; i++) uv_thread_join(&pool.thread[i]);
}

/* ---- clients ---- */

void hr_set_threads(int workers)
{
    uv_once(&once, start_pool);
    uv_mutex_lock(&pool.lock);
    pool.wanted = within_bounds(workers);
    if (pool.first) start_workers();
    uv_cond_broadcast(&pool.resume);
    uv_mutex_unlock(&pool.lock);
}

int hr_threads(void)
{
    uv_once(&once, start_pool);
    uv_mutex_lock(&pool.lock);
    const int workers = pool.wanted;
    uv_mutex_unlock(&pool.lock);
    return workers;
}

double hr__pool_processors(void)
{
    uv_once(&once, start_pool);
    return pool.quota > 0 ? pool.quota : pool.cores;
}

/* More threads than the quota has are stopped again and again, and what is measured then says little. */
static void tell_quota(void)
{
    hr_log_message(pool.wanted + 1 > pool.cores ? HR_WARNING : HR_INFO,
                   "threads: the control group gives %.3g of %u processors; there are %d workers besides the callers",
                   pool.quota, uv_available_parallelism(), pool.wanted);
}

hr_status hr__pool_join(hr__client *client, hr_error *err)
{
    uv_once(&once, start_pool);
    uv_mutex_lock(&pool.lock);
    client->inside = 0;
    client->called = client->leaving = false;
    hr__client **last = &pool.first;
    while (*last) last = &(*last)->next;
    client->next = NULL;
    *last = client;
    const bool first = pool.started == 0;
    start_workers();
    const bool none = pool.wanted > 0 && pool.started == 0, tells = first && pool.started > 0 && pool.quota > 0;
    uv_mutex_unlock(&pool.lock);
    if (tells) tell_quota();
    if (!none) return HR_OK;
    hr__pool_leave(client);
    return hr_fail(err, HR_RESOURCE_EXHAUSTED, "pool.threads",
                   "threads: expected to start workers, the system refused all; set HEADRACE_THREADS=0 to go without");
}

void hr__pool_leave(hr__client *client)
{
    uv_mutex_lock(&pool.lock);
    hr__client **at = &pool.first;
    while (*at && *at != client) at = &(*at)->next;
    if (*at) *at = client->next;
    client->leaving = true;
    if (client->inside > 0 && has_own_core()) { /* the last piece of a loop is about to end */
        const uint64_t end = uv_hrtime() + WATCH_NS;
        uv_mutex_unlock(&pool.lock);
        while (client->inside > 0 && uv_hrtime() < end) hr__cpu_pause();
        uv_mutex_lock(&pool.lock);
    }
    while (client->inside > 0) uv_cond_wait(&pool.left, &pool.lock);
    uv_mutex_unlock(&pool.lock);
}

int hr__pool_thread(void) { return worker_number; }

bool hr__pool_sleeps(void) { return pool.sleeping > 0; }

/* Where no further worker may enter, one that comes out sees that it was called, and looks again. */
void hr__pool_wake(hr__client *client)
{
    client->called = true;
    pool.calls++;
    if (pool.sleeping == 0 || !may_enter(client)) return;
    uv_mutex_lock(&pool.lock);
    wake_one();
    uv_mutex_unlock(&pool.lock);
}

/* ---- loops ---- */

/* A thread takes the pieces of its own range first, so that it finds in its cache what it has computed in the loop
 * before; then what is left of the others'. */
enum { MAX_RANGES = 8 };

typedef struct range {
    _Atomic int64_t next;
    int64_t end;
} range;

typedef struct loop {
    hr__client client; /* first */
    const void *group; /* whose waiting threads help; NULL: none do */
    _Atomic bool empty;
    range range[MAX_RANGES];
    int ranges;
    void (*fn)(int64_t i, void *user);
    void *user;
} loop;

static bool take_piece(loop *l, int thread, int64_t *i)
{
    for (int r = 0; r < l->ranges; r++) {
        range *of = &l->range[(thread + r) % l->ranges];
        if (of->next < of->end && (*i = of->next++) < of->end) return true;
    }
    l->empty = true;
    return false;
}

static bool pool_run_piece(hr__client *client, int thread)
{
    loop *l = (loop *)client;
    int64_t i;
    if (!take_piece(l, thread, &i)) return false;
    const bool outer = in_loop; /* of one that waits within a piece */
    in_loop = true;
    l->fn(i, l->user);
    in_loop = outer;
    ran_loop = true;
    return true;
}

static void cut_loop(loop *l, int64_t count, int64_t threads)
{
    l->ranges = (int)(threads < MAX_RANGES ? threads : MAX_RANGES);
    for (int r = 0; r < l->ranges; r++) {
        l->range[r].next = count / l->ranges * r + count % l->ranges * r / l->ranges;
        l->range[r].end = count / l->ranges * (r + 1) + count % l->ranges * (r + 1) / l->ranges;
    }
}

/* Those that wait for the group find the loop. */
static void call_waiters(const loop *l)
{
    if (!l->group || !pool.waiters) return;
    uv_mutex_lock(&pool.lock);
    for (hr__waiter *w = pool.waiters; w; w = w->next)
        if (w->group == l->group) uv_cond_signal(&w->cond);
    uv_mutex_unlock(&pool.lock);
}

void hr__parallel_for_group(const void *group, int workers, int64_t count, void (*fn)(int64_t i, void *user),
                            void *user)
{
    loop l = {.client = {.run_one = pool_run_piece, .max_workers = workers}, .group = group, .fn = fn, .user = user};
    int64_t helpers = count > 1 && !in_loop ? hr_threads() : 0;
    if (workers >= 0 && workers < helpers) helpers = workers;
    cut_loop(&l, count, helpers + 1);
    if (helpers == 0 || hr__pool_join(&l.client, NULL) != HR_OK) {
        for (int64_t i = 0; i < count; i++) fn(i, user);
        return;
    }
    for (int64_t i = 1; i < count && i <= helpers; i++) hr__pool_wake(&l.client);
    call_waiters(&l);
    while (pool_run_piece(&l.client, worker_number)) {}
    hr__pool_leave(&l.client);
}

void hr__parallel_for(int64_t count, void (*fn)(int64_t i, void *user), void *user)
{
    hr__parallel_for_group(NULL, -1, count, fn, user);
}

/* ---- waiters ---- */

hr_status hr__waiter_begin(hr__waiter *w, const void *group, hr_error *err)
{
    *w = (hr__waiter){.group = group};
    return uv_cond_init(&w->cond) == 0 ? HR_OK : hr_no_memory(err, "a thread that waits");
}

void hr__waiter_end(hr__waiter *w) { uv_cond_destroy(&w->cond); }

/* A loop of the group that has pieces left. Under the lock. */
static hr__client *loop_of(const void *group)
{
    for (hr__client *c = pool.first; c; c = c->next) {
        const loop *l = (const loop *)c;
        if (c->run_one == pool_run_piece && l->group == group && !l->empty && may_enter(c)) return c;
    }
    return NULL;
}

static void help(hr__client *c)
{
    (void)serve(c, worker_number);
    if (c->leaving && c->inside == 0) uv_cond_broadcast(&pool.left);
}

static void forget_waiter(hr__waiter *w)
{
    hr__waiter *before = pool.waiters;
    if (before == w) {
        pool.waiters = w->next;
        return;
    }
    while (before->next != w) before = before->next;
    before->next = w->next;
}

void hr__waiter_wait(hr__waiter *w)
{
    uv_mutex_lock(&pool.lock);
    w->next = pool.waiters;
    pool.waiters = w;
    w->waits = true;
    ran_loop = true; /* it watches first */
    while (!w->called) {
        const unsigned seen = pool.calls;
        hr__client *c = loop_of(w->group);
        if (c)
            help(c);
        else if (!watch_for_calls(w, seen))
            uv_cond_wait(&w->cond, &pool.lock);
    }
    w->waits = w->called = false;
    forget_waiter(w);
    uv_mutex_unlock(&pool.lock);
}

void hr__waiter_call(hr__waiter *w)
{
    w->called = true;
    if (!w->waits) return;
    uv_mutex_lock(&pool.lock);
    uv_cond_signal(&w->cond);
    uv_mutex_unlock(&pool.lock);
}
