/* Philox 4x32-10 as TensorFlow has it: what the ops of random values share. */
#ifndef HR_PHILOX_H
#define HR_PHILOX_H

#include <headrace/kernels.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

typedef struct philox {
    uint32_t key[2], counter[4];
} philox;

static inline void philox_round(uint32_t c[4], const uint32_t k[2])
{
    const uint64_t p0 = UINT64_C(0xD2511F53) * c[0], p1 = UINT64_C(0xCD9E8D57) * c[2];
    const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k[0], (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k[1],
                              (uint32_t)p0};
    memcpy(c, next, sizeof next);
}

/* The four numbers of a block, `skip` blocks on. */
static inline void philox_block(const philox *p, uint64_t skip, uint32_t out[4])
{
    uint32_t key[2] = {p->key[0], p->key[1]};
    const uint64_t low = (uint64_t)p->counter[1] << 32 | p->counter[0];
    uint64_t high = (uint64_t)p->counter[3] << 32 | p->counter[2];
    const uint64_t moved = low + skip;
    if (moved < low) high++;
    out[0] = (uint32_t)moved;
    out[1] = (uint32_t)(moved >> 32);
    out[2] = (uint32_t)high;
    out[3] = (uint32_t)(high >> 32);
    for (int i = 0; i < 10; i++) {
        if (i > 0) {
            key[0] += 0x9E3779B9u;
            key[1] += 0xBB67AE85u;
        }
        philox_round(out, key);
    }
}

static inline void philox_skip(philox *p, uint64_t blocks)
{
    uint64_t low = (uint64_t)p->counter[1] << 32 | p->counter[0];
    low += blocks;
    const bool carry = low < blocks;
    p->counter[0] = (uint32_t)low;
    p->counter[1] = (uint32_t)(low >> 32);
    if (carry && ++p->counter[2] == 0) p->counter[3]++;
}

/* The lowest bits as mantissa of a number from 1 on, less 1. */
static inline float uniform_of_f32(uint32_t x) { return (float)(x & 0x7fffff) / 0x800000; }
/* The same of 52 bits. */
static inline double uniform_of_f64(uint32_t x0, uint32_t x1)
{
    return (double)((uint64_t)(x0 & 0xfffff) << 32 | x1) / 0x10000000000000;
}

/* Two normal numbers of a block. */
static inline void normal_pair_f64(const uint32_t *x, double out[2])
{
    const double u = uniform_of_f64(x[0], x[1]), u1 = u < 1e-7 ? 1e-7 : u;
    const double v = 2 * 3.14159265358979323846 * uniform_of_f64(x[2], x[3]), r = sqrt(-2 * log(u1));
    out[0] = sin(v) * r;
    out[1] = cos(v) * r;
}

/* Begins by the node's seeds; at random if both are 0. */
static inline hr_status philox_begin(hr_node node, philox *own, hr_error *err)
{
    uint64_t seeds[2] = {(uint64_t)hr_attr_int(node, "seed"), (uint64_t)hr_attr_int(node, "seed2")};
    if (seeds[0] == 0 && seeds[1] == 0 && getentropy(seeds, sizeof seeds) != 0)
        return hr_fail(err, HR_UNAVAILABLE, "graph.random",
                       "expected random bytes from the system for a seed, got none");
    *own = (philox){{(uint32_t)seeds[0], (uint32_t)(seeds[0] >> 32)},
                    {0, 0, (uint32_t)seeds[1], (uint32_t)(seeds[1] >> 32)}};
    return HR_OK;
}

#endif
