/* Seeds of random ops that have none of their own, in an eager graph with a seed: TensorFlow's eager context draws them
 * by Python's random.Random(seed).randint(0, 2**31 - 1), that is by the Mersenne Twister MT19937 (Matsumoto and
 * Nishimura, 1998), initialized by the words of the seed. */
#include "train/eager/eager_internal.h"

enum { WORDS = HR__SEED_WORDS, MIDDLE = 397 };

static void seeds_fill(uint32_t *mt, uint32_t seed)
{
    mt[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) mt[i] = UINT32_C(1812433253) * (mt[i - 1] ^ mt[i - 1] >> 30) + i;
}

/* init_by_array of one or two words, as Python takes a number apart. */
void hr__op_seeds_begin(hr__op_seeds *s, int64_t seed)
{
    const uint64_t size = seed < 0 ? 0 - (uint64_t)seed : (uint64_t)seed;
    const uint32_t key[2] = {(uint32_t)size, (uint32_t)(size >> 32)}, count = key[1] ? 2 : 1;
    uint32_t *mt = s->mt, i = 1, j = 0;
    seeds_fill(mt, 19650218);
    for (int k = WORDS; k > 0; k--) {
        mt[i] = (mt[i] ^ (mt[i - 1] ^ mt[i - 1] >> 30) * UINT32_C(1664525)) + key[j] + j;
        if (++i == WORDS) mt[0] = mt[WORDS - 1], i = 1;
        if (++j == count) j = 0;
    }
    for (int k = WORDS - 1; k > 0; k--) {
        mt[i] = (mt[i] ^ (mt[i - 1] ^ mt[i - 1] >> 30) * UINT32_C(1566083941)) - i;
        if (++i == WORDS) mt[0] = mt[WORDS - 1], i = 1;
    }
    mt[0] = UINT32_C(1) << 31;
    s->at = WORDS;
}

static void seeds_twist(uint32_t *mt)
{
    for (int i = 0; i < WORDS; i++) {
        const uint32_t y = (mt[i] & UINT32_C(0x80000000)) | (mt[(i + 1) % WORDS] & UINT32_C(0x7fffffff));
        mt[i] = mt[(i + MIDDLE) % WORDS] ^ y >> 1 ^ (y & 1 ? UINT32_C(0x9908b0df) : 0);
    }
}

static uint32_t seeds_word(hr__op_seeds *s)
{
    if (s->at == WORDS) {
        seeds_twist(s->mt);
        s->at = 0;
    }
    uint32_t y = s->mt[s->at++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

/* Of 32 bits those are taken that are below 2**31. */
int64_t hr__op_seeds_next(hr__op_seeds *s)
{
    uint32_t word;
    do word = seeds_word(s);
    while (word >> 31);
    return word;
}
