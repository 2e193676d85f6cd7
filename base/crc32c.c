/* CRC32C (Castagnoli): the choice of a kernel, and the portable one, slice-by-8: eight bytes a step, each looked up
 * in the table of its distance from the end. */
#include "base/crc32c.h"
#include "base/bytes.h"
#include "base/cpu.h"
#include <stdatomic.h>
#include <string.h>
#include <uv.h>

static uint32_t table[8][256]; /* [k][b]: the checksum of byte b and k zero bytes after it */
static uv_once_t table_once = UV_ONCE_INIT;

static void crc32c_make_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82F63B78u & -(crc & 1));
        table[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++) table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

static inline uint32_t step8(uint32_t crc, const unsigned char *p)
{
    crc ^= hr__get32(p);
    return table[7][crc & 255] ^ table[6][crc >> 8 & 255] ^ table[5][crc >> 16 & 255] ^ table[4][crc >> 24] ^
           table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
}

uint32_t hr__crc32c_portable(uint32_t crc, const void *data, size_t size)
{
    uv_once(&table_once, crc32c_make_table);
    const unsigned char *p = data;
    crc = ~crc;
    for (; size >= 8; p += 8, size -= 8) crc = step8(crc, p);
    for (; size > 0; p++, size--) crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}

const hr__crc32c_kernel hr__crc32c_kernels[] = {
    {"portable", 0, hr__crc32c_portable},
#if defined(__x86_64__)
    {"sse42", HR__SSE42, hr__crc32c_sse42},
    {"vpclmul", HR__SSE42 | HR__AVX512 | HR__VPCLMUL, hr__crc32c_vpclmul},
#endif
};
const int hr__crc32c_kernel_count = sizeof hr__crc32c_kernels / sizeof *hr__crc32c_kernels;

static uint32_t crc32c_choose(uint32_t crc, const void *data, size_t size);
static hr__crc32c_fn *_Atomic kernel = crc32c_choose;

static uint32_t crc32c_choose(uint32_t crc, const void *data, size_t size)
{
    int best = 0;
    for (int i = 1; i < hr__crc32c_kernel_count; i++)
        if (hr__cpu_has(hr__crc32c_kernels[i].features)) best = i;
    atomic_store_explicit(&kernel, hr__crc32c_kernels[best].fn, memory_order_relaxed);
    return hr__crc32c_kernels[best].fn(crc, data, size);
}

void hr__crc32c_rechoose(void) { atomic_store_explicit(&kernel, crc32c_choose, memory_order_relaxed); }

uint32_t hr_crc32c(uint32_t crc, const void *data, size_t size)
{
    return atomic_load_explicit(&kernel, memory_order_relaxed)(crc, data, size);
}

uint32_t hr_crc32c_mask(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

uint32_t hr_crc32c_unmask(uint32_t masked)
{
    uint32_t rotated = masked - 0xa282ead8u;
    return rotated >> 17 | rotated << 15;
}
