/* Memory of tensors that comes back. Small buffers and very large ones wait in lists, by size class, four classes an
 * octave; those between them, which are many and of as many sizes as batches have, are cut from a heap. A buffer returns
 * from whichever thread drops it last, even after the session is gone; the pool lives until the last one is back. What a
 * run with a limit has taken is counted in its budget, which lives until the last of these buffers is back, too. */
#include "base/buffer.h"
#include "train/graph/graph_internal.h"

#include <string.h>
#include <time.h>

enum {
    SMALLEST = 6, /* log2 of bytes */
    CLASSES = (48 - SMALLEST) * 4,
    LISTED = 512,         /* bytes: up to here buffers wait in lists */
    LISTED_FROM = 1 << 20 /* and above this */
};

struct hr__buffers {
    uv_mutex_t lock;
    hr_buffer *free[CLASSES];
    int count[CLASSES], spare[CLASSES]; /* in a list now; the least since the last rest: nobody needed these */
    size_t listed;                      /* bytes in all lists */
    hr__heap *heap;
    int64_t out; /* handed out and not back */
    bool closed;
    int runs; /* since the last rest */
    uint64_t rested;
};

/* The class of the least size that holds `size` bytes, and that size. */
static int buffers_class_of(size_t size, size_t *rounded)
{
    if (size < (size_t)1 << SMALLEST) size = (size_t)1 << SMALLEST;
    const int log = 63 - __builtin_clzll((unsigned long long)size);
    const size_t quarter = (size_t)1 << (log - 2);
    const size_t quarters = (size - ((size_t)1 << log) + quarter - 1) / quarter;
    *rounded = ((size_t)1 << log) + quarters * quarter;
    return (log - SMALLEST) * 4 + (int)quarters;
}

/* While a buffer is free, its first bytes hold the next free one. */
static hr_buffer *next_of(hr_buffer *buffer)
{
    hr_buffer *next;
    memcpy(&next, hr_buffer_data(buffer), sizeof next);
    return next;
}

static void put_in_front(hr_buffer **list, hr_buffer *buffer)
{
    memcpy(hr_buffer_data(buffer), list, sizeof *list);
    *list = buffer;
}

static void free_list(hr_buffer *list)
{
    while (list) {
        hr_buffer *buffer = list;
        list = next_of(buffer);
        hr__buffer_free(buffer);
    }
}

static void destroy(hr__buffers *pool)
{
    for (int i = 0; i < CLASSES; i++) free_list(pool->free[i]);
    hr__heap_free(pool->heap);
    uv_mutex_destroy(&pool->lock);
    hr_free(pool);
}

/* ---- budgets ---- */

struct hr__budget {
    atomic_int references;
    atomic_size_t used, refused; /* bytes; those that there was no place for */
    size_t limit;
};

hr__budget *hr__budget_new(size_t limit)
{
    hr__budget *budget = hr_calloc(1, sizeof *budget);
    if (!budget) return NULL;
    atomic_init(&budget->references, 1);
    budget->limit = limit;
    return budget;
}

void hr__budget_drop(hr__budget *budget)
{
    if (budget && atomic_fetch_sub_explicit(&budget->references, 1, memory_order_acq_rel) == 1) hr_free(budget);
}

/* Takes a reference, too. */
static bool budget_take(hr__budget *budget, size_t bytes)
{
    if (atomic_fetch_add(&budget->used, bytes) + bytes <= budget->limit) {
        atomic_fetch_add_explicit(&budget->references, 1, memory_order_relaxed);
        return true;
    }
    atomic_fetch_sub(&budget->used, bytes);
    atomic_store(&budget->refused, bytes);
    return false;
}

static void budget_give_back(hr__budget *budget, size_t bytes)
{
    atomic_fetch_sub(&budget->used, bytes);
    hr__budget_drop(budget);
}

hr_status hr__budget_explain(hr__budget *budget, hr_status status, hr_error *err)
{
    const size_t refused = atomic_load(&budget->refused);
    if (status != HR_RESOURCE_EXHAUSTED || !refused || !err->kind || strcmp(err->kind, "memory") != 0) return status;
    return hr_fail(err, HR_RESOURCE_EXHAUSTED, "session.memory",
                   "expected the tensors of the run to take at most %zu bytes, but %zu are in use and %zu more are "
                   "needed; give it a higher .memory_limit",
                   budget->limit, atomic_load(&budget->used), refused);
}

/* ---- lists and the heap, under the lock ---- */

static bool is_listed(size_t size) { return size <= LISTED || size > LISTED_FROM; }

static hr_buffer *take_listed(hr__buffers *pool, int class)
{
    hr_buffer *buffer = pool->free[class];
    if (!buffer) return NULL;
    pool->free[class] = next_of(buffer);
    pool->listed -= hr_buffer_size(buffer);
    if (--pool->count[class] < pool->spare[class]) pool->spare[class] = pool->count[class];
    return buffer;
}

static void put_back(hr__buffers *pool, hr_buffer *buffer, int class)
{
    if (!is_listed(hr_buffer_size(buffer))) {
        hr__heap_put(pool->heap, buffer);
        return;
    }
    put_in_front(&pool->free[class], buffer);
    pool->listed += hr_buffer_size(buffer);
    pool->count[class]++;
}

/* ---- buffers ---- */

static uint64_t coarse_seconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC_COARSE, &t) == 0 ? (uint64_t)t.tv_sec : 0;
}

static void recycle(hr_buffer *buffer, void *owner, void *user)
{
    hr__buffers *pool = user;
    size_t rounded;
    const int class = buffers_class_of(hr_buffer_size(buffer), &rounded);
    if (owner) budget_give_back(owner, rounded);
    uv_mutex_lock(&pool->lock);
    put_back(pool, buffer, class);
    const bool last = --pool->out == 0 && pool->closed;
    uv_mutex_unlock(&pool->lock);
    if (last) destroy(pool);
}

hr__buffers *hr__buffers_new(void)
{
    hr__buffers *pool = hr_calloc(1, sizeof *pool);
    if (pool) pool->heap = hr__heap_new();
    if (pool) pool->rested = coarse_seconds();
    if (pool && pool->heap && uv_mutex_init(&pool->lock) == 0) return pool;
    if (pool) hr__heap_free(pool->heap);
    hr_free(pool);
    return NULL;
}

void hr__buffers_close(hr__buffers *pool)
{
    if (!pool) return;
    uv_mutex_lock(&pool->lock);
    pool->closed = true;
    const bool last = pool->out == 0;
    uv_mutex_unlock(&pool->lock);
    if (last) destroy(pool);
}

hr_buffer *hr__buffers_get(hr__buffers *pool, hr__budget *budget, size_t size)
{
    if (size > (size_t)1 << 46) return NULL;
    size_t rounded;
    const int class = buffers_class_of(size, &rounded);
    const bool listed = is_listed(size);
    if (budget && !budget_take(budget, rounded)) return NULL;
    hr_buffer *buffer = NULL;
    void *memory = NULL;
    uv_mutex_lock(&pool->lock);
    if (listed)
        buffer = take_listed(pool, class);
    else
        memory = hr__heap_get(pool->heap, size + HR__BUFFER_EXTRA);
    pool->out++;
    uv_mutex_unlock(&pool->lock);
    if (memory) buffer = hr__buffer_in(memory, size, recycle, pool);
    if (listed && !buffer) buffer = hr__buffer_new_recycled(rounded, recycle, pool);
    if (buffer) {
        hr__buffer_renew(buffer, budget);
        return buffer;
    }
    if (budget) budget_give_back(budget, rounded);
    uv_mutex_lock(&pool->lock);
    pool->out--;
    uv_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- rest ---- */

enum {
    REST_RUNS = 8,
    REST_SECONDS = 2,  /* by a clock of whole ones: at least 1 */
    LITTLE = 256 << 10 /* bytes that are kept in any case */
};

/* What no run since the last rest has taken out of its list. Under the lock. */
static hr_buffer *take_spare(hr__buffers *pool)
{
    hr_buffer *all = NULL;
    for (int i = 0; i < CLASSES; i++) {
        for (int spare = pool->spare[i]; spare > 0; spare--) put_in_front(&all, take_listed(pool, i));
        pool->spare[i] = pool->count[i];
    }
    return all;
}

void hr__buffers_rest(hr__buffers *pool)
{
    hr_buffer *spare = NULL;
    const uint64_t now = coarse_seconds();
    uv_mutex_lock(&pool->lock);
    if (++pool->runs >= REST_RUNS && now >= pool->rested + REST_SECONDS &&
        pool->listed + hr__heap_size(pool->heap) > LITTLE) {
        pool->runs = 0;
        pool->rested = now;
        spare = take_spare(pool);
        hr__heap_rest(pool->heap);
    }
    uv_mutex_unlock(&pool->lock);
    free_list(spare);
}

void hr__buffers_empty(hr__buffers *pool)
{
    hr_buffer *all = NULL;
    uv_mutex_lock(&pool->lock);
    for (int i = 0; i < CLASSES; i++)
        while (pool->free[i]) put_in_front(&all, take_listed(pool, i));
    for (int rests = 0; rests < 2; rests++) hr__heap_rest(pool->heap); /* the first forgets what runs have needed */
    uv_mutex_unlock(&pool->lock);
    free_list(all);
}

/* What it holds goes first; then its memory comes back as any other. */
static void recycle_holder(hr_buffer *buffer, void *owner, void *user)
{
    const hr__holder *holder = hr_buffer_data(buffer);
    holder->release(hr_buffer_data(buffer));
    hr__buffer_recycle_by(buffer, recycle, user);
    recycle(buffer, owner, user);
}

hr_buffer *hr__buffers_get_holder(hr__buffers *pool, hr__budget *budget, size_t size, void (*release)(void *data))
{
    hr_buffer *buffer = hr__buffers_get(pool, budget, size);
    if (!buffer) return NULL;
    memset(hr_buffer_data(buffer), 0, size);
    ((hr__holder *)hr_buffer_data(buffer))->release = release;
    hr__buffer_recycle_by(buffer, recycle_holder, pool);
    return buffer;
}
