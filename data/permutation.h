/* A random permutation of 0 .. count - 1 that is computed, not kept: a Feistel network over the next power of four,
 * walked until it falls below `count`, four steps at most on average. */
#ifndef HR_PERMUTATION_H
#define HR_PERMUTATION_H

#include <headrace/base.h>

enum { HR__PERMUTATION_ROUNDS = 6 };

typedef struct permutation {
    uint64_t count;
    int half; /* bits */
    uint64_t key[HR__PERMUTATION_ROUNDS];
} permutation;

static inline permutation permutation_of(uint64_t key, int64_t count)
{
    permutation p = {.count = (uint64_t)count, .half = 1};
    while (p.half < 31 && UINT64_C(1) << 2 * p.half < p.count) p.half++;
    for (int i = 0; i < HR__PERMUTATION_ROUNDS; i++) p.key[i] = hr_random(key, (uint64_t)i);
    return p;
}

/* Where place `i` of the new order comes from. */
static inline int64_t permutation_at(const permutation *p, int64_t i)
{
    const uint64_t mask = (UINT64_C(1) << p->half) - 1;
    uint64_t at = (uint64_t)i;
    do {
        uint64_t left = at >> p->half, right = at & mask;
        for (int r = 0; r < HR__PERMUTATION_ROUNDS; r++) {
            const uint64_t next = left ^ (hr_random(p->key[r], right) & mask);
            left = right;
            right = next;
        }
        at = left << p->half | right;
    } while (at >= p->count);
    return (int64_t)at;
}

#endif
