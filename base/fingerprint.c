/* FarmHash's Fingerprint64 (farmhashna::Hash64), which decides the bucket of every hashed feature: fixed for ever. The
 * short lengths are in the header. */
#include "base/fingerprint.h"

#define K0 HR__FP_K0
#define K1 HR__FP_K1
#define K2 HR__FP_K2

static inline uint64_t rotate(uint64_t v, int by) { return hr__rotate_right(v, by); }

static uint64_t hash_17_to_32(const char *s, size_t n)
{
    uint64_t mul = K2 + n * 2, a = hr__get64(s) * K1, b = hr__get64(s + 8);
    uint64_t c = hr__get64(s + n - 8) * mul, d = hr__get64(s + n - 16) * K2;
    return hr__fp_pair(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + K2, 18) + c, mul);
}

static uint64_t hash_33_to_64(const char *s, size_t n)
{
    uint64_t mul = K2 + n * 2, a = hr__get64(s) * K2, b = hr__get64(s + 8);
    uint64_t c = hr__get64(s + n - 8) * mul, d = hr__get64(s + n - 16) * K2;
    uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
    uint64_t z = hr__fp_pair(y, a + rotate(b + K2, 18) + c, mul);
    uint64_t e = hr__get64(s + 16) * mul, f = hr__get64(s + 24);
    uint64_t g = (y + hr__get64(s + n - 32)) * mul, h = (z + hr__get64(s + n - 24)) * mul;
    return hr__fp_pair(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, mul);
}

typedef struct pair {
    uint64_t first, second;
} pair;

/* Mixes 32 bytes into two sums. */
static inline pair weak_hash(const char *s, uint64_t a, uint64_t b)
{
    uint64_t w1 = hr__get64(s + 8), w2 = hr__get64(s + 16), w3 = hr__get64(s + 24);
    a += hr__get64(s);
    b = rotate(b + a + w3, 21);
    uint64_t c = a;
    a += w1 + w2;
    b += rotate(a, 44);
    return (pair){a + w3, b + c};
}

/* What goes from block to block beyond 64 bytes. */
typedef struct state {
    uint64_t x, y, z;
    pair v, w;
} state;

/* One block of 64 bytes. The last one of a text has another multiplier, and weighs w and v by 9. */
static inline void mix_block(state *st, const char *s, uint64_t mul, uint64_t weight)
{
    uint64_t x = rotate(st->x + st->y + st->v.first + hr__get64(s + 8), 37) * mul;
    uint64_t y = rotate(st->y + st->v.second + hr__get64(s + 48), 42) * mul;
    x ^= st->w.second * weight;
    y += st->v.first * weight + hr__get64(s + 40);
    uint64_t z = rotate(st->z + st->w.first, 33) * mul;
    st->v = weak_hash(s, st->v.second * mul, x + st->w.first);
    st->w = weak_hash(s + 32, z + st->w.second, y + hr__get64(s + 16));
    st->x = z;
    st->y = y;
    st->z = x;
}

static uint64_t hash_over_64(const char *s, size_t n)
{
    const uint64_t seed = 81;
    state st = {.x = seed * K2 + hr__get64(s), .y = seed * K1 + 113};
    st.z = hr__shift_mix(st.y * K2 + 113) * K2;
    const size_t blocks = (n - 1) / 64, rest = (n - 1) % 64;
    for (size_t i = 0; i < blocks; i++) mix_block(&st, s + 64 * i, K1, 1);
    uint64_t mul = K1 + ((st.z & 0xff) << 1);
    st.w.first += rest;
    st.v.first += st.w.first;
    st.w.first += st.v.first;
    mix_block(&st, s + n - 64, mul, 9);
    return hr__fp_pair(hr__fp_pair(st.v.first, st.w.first, mul) + hr__shift_mix(st.y) * K0 + st.z,
                       hr__fp_pair(st.v.second, st.w.second, mul) + st.x, mul);
}

uint64_t hr__fingerprint64_long(const char *s, size_t n)
{
    if (n <= 32) return hash_17_to_32(s, n);
    return n <= 64 ? hash_33_to_64(s, n) : hash_over_64(s, n);
}

uint64_t hr_fingerprint64(const void *data, size_t size) { return hr__fingerprint64_inline(data, size); }

uint64_t hr_fingerprint_cat64(uint64_t a, uint64_t b) { return hr__fingerprint_cat64_inline(a, b); }
