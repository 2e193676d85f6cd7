/* An allocator on top of another one: it counts, and lets one allocation fail. */
#include "conformance/conformance_internal.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static hr_allocator allocations_below;
static bool counts;
static _Atomic int64_t seen, alive, refused = -1;

static void *malloc_below(size_t size, void *user) { return (void)user, malloc(size); }
static void *realloc_below(void *p, size_t size, void *user) { return (void)user, realloc(p, size); }
static void free_below(void *p, void *user) { (void)user, free(p); }

static bool refuse(void) { return atomic_fetch_add(&seen, 1) == atomic_load(&refused); }

static void *counted_allocate(size_t size, void *user)
{
    (void)user;
    void *p = refuse() ? NULL : allocations_below.allocate(size, allocations_below.user);
    if (!p) return NULL;
    atomic_fetch_add(&alive, 1);
    memset(p, HR__FILL, size < HR__FILLED ? size : HR__FILLED);
    return p;
}

static void *counted_reallocate(void *p, size_t size, void *user)
{
    (void)user;
    if (refuse()) return NULL;
    return allocations_below.reallocate(p, size, allocations_below.user);
}

static void counted_release(void *p, void *user)
{
    (void)user;
    atomic_fetch_sub(&alive, 1);
    allocations_below.release(p, allocations_below.user);
}

void hr_conformance_count_allocations(const hr_allocator *below)
{
    const hr_allocator by_malloc = {malloc_below, realloc_below, free_below, NULL};
    allocations_below = below ? *below : by_malloc;
    counts = true;
    hr_set_allocator(&(hr_allocator){counted_allocate, counted_reallocate, counted_release, NULL});
}

bool hr__conformance_counts(void) { return counts; }

void hr__conformance_fail_allocation(int64_t n)
{
    atomic_store(&seen, 0);
    atomic_store(&refused, n);
}

int64_t hr__conformance_allocations(void)
{
    atomic_store(&refused, -1);
    return atomic_load(&seen);
}

int64_t hr__conformance_alive(void) { return atomic_load(&alive); }
