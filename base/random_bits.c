/* Counter-based random numbers: splitmix64's output function of key + counter x the golden ratio. Nothing is carried
 * from draw to draw, so any thread may draw any number of a stream. */
#include <headrace/base.h>

static uint64_t mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t hr_random(uint64_t key, uint64_t n) { return mix64(mix64(key) + (n + 1) * UINT64_C(0x9e3779b97f4a7c15)); }

/* The high half of a product instead of a remainder: no division, and a bias below bound / 2^64. */
int64_t hr_random_below(uint64_t key, uint64_t n, int64_t bound)
{
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)hr_random(key, n) * (uint64_t)bound >> 64);
}
