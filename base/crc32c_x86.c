/* CRC32C by instructions. A checksum is the rest of the message, as a polynomial over GF(2), modulo the Castagnoli
 * polynomial P; so a piece may be moved over n bits by a product with x^n mod P, and pieces may be added up. Bits are
 * reflected: a product of two 64-bit words by pclmulqdq comes out multiplied by x once too often, which the constants
 * allow for. `~` at both ends is the convention of the checksum. */
#if defined(__x86_64__)
#include "base/crc32c.h"
#include <immintrin.h>
#include <string.h>

#define SSE42 __attribute__((target("sse4.2,pclmul")))
#define AVX512 __attribute__((target("sse4.2,pclmul,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,vpclmulqdq")))

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Without the `~`. One crc32q waits for the one before it: 8 bytes in 3 cycles. */
SSE42 static inline uint32_t serial(uint32_t crc, const unsigned char *p, size_t size)
{
    uint64_t sum = crc;
    for (; size >= 8; p += 8, size -= 8) sum = _mm_crc32_u64(sum, load64(p));
    if (size & 4) {
        uint32_t word;
        memcpy(&word, p, sizeof word);
        sum = _mm_crc32_u32((uint32_t)sum, word);
        p += 4;
    }
    if (size & 2) {
        uint16_t half;
        memcpy(&half, p, sizeof half);
        sum = _mm_crc32_u16((uint32_t)sum, half);
        p += 2;
    }
    if (size & 1) sum = _mm_crc32_u8((uint32_t)sum, *p);
    return (uint32_t)sum;
}

/* Moves a checksum over as many bytes as the factor says: x^(8 bytes - 33) mod P. */
SSE42 static inline uint64_t crc32c_x86_moved(uint64_t crc, uint32_t factor)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi32_si128((int32_t)factor), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Three neighbouring blocks at once hide the latency of crc32q. */
SSE42 static inline uint32_t three_streams(uint32_t crc, const unsigned char *p, size_t block, uint32_t over_one,
                                           uint32_t over_two)
{
    uint64_t a = crc, b = 0, c = 0;
    for (size_t i = 0; i < block; i += 8) {
        a = _mm_crc32_u64(a, load64(p + i));
        b = _mm_crc32_u64(b, load64(p + block + i));
        c = _mm_crc32_u64(c, load64(p + 2 * block + i));
    }
    return (uint32_t)(c ^ _mm_crc32_u64(0, crc32c_x86_moved(a, over_two) ^ crc32c_x86_moved(b, over_one)));
}

SSE42 uint32_t hr__crc32c_sse42(uint32_t crc, const void *data, size_t size)
{
    const unsigned char *p = data;
    crc = ~crc;
    for (; size >= 3 * 1024; p += 3 * 1024, size -= 3 * 1024)
        crc = three_streams(crc, p, 1024, 0x170076fau, 0xa51b6135u);
    for (; size >= 3 * 128; p += 3 * 128, size -= 3 * 128) crc = three_streams(crc, p, 128, 0x0d3b6092u, 0xb9e02b86u);
    return ~serial(crc, p, size);
}

/* x^(bits + 63) and x^(bits - 1) mod P, for the earlier and the later half of 128 bits that move over `bits`. They
 * stand in the upper half of their words. */
#define OVER(earlier, later) (int64_t)(UINT64_C(earlier) << 32), (int64_t)(UINT64_C(later) << 32)
#define OVER_128 OVER(0x3743f7bd, 0x3171d430)
#define OVER_256 OVER(0x33ccbbbc, 0xa2158b34)
#define OVER_384 OVER(0xa46ef4aa, 0x6051243f)
#define OVER_512 OVER(0x1c19243b, 0x75bba45b)
#define OVER_1024 OVER(0x6577b245, 0x7417153f)
#define OVER_2048 OVER(0xe9a5d8be, 0x1426a815)

AVX512 static inline __m512i factors(int64_t earlier, int64_t later)
{
    return _mm512_broadcast_i64x2(_mm_set_epi64x(later, earlier));
}

/* sum, moved by the factors, plus `next`. */
AVX512 static inline __m512i fold(__m512i sum, __m512i by, __m512i next)
{
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(sum, by, 0x00), _mm512_clmulepi64_epi128(sum, by, 0x11),
                                     next, 0x96);
}

/* The rest of 512 bits modulo P: the first three lanes move to the last one, and crc32q does the last 128 bits. */
AVX512 static inline uint32_t crc32c_x86_reduce(__m512i sum)
{
    static const int64_t each[8] = {OVER_384, OVER_256, OVER_128, 0, 0};
    const __m512i lanes = _mm512_loadu_si512(each);
    __m512i last = _mm512_maskz_mov_epi64(0xc0, sum);
    __m512i all = fold(sum, lanes, last);
    __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    __m128i rest = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    uint64_t crc = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(rest));
    return (uint32_t)_mm_crc32_u64(crc, (uint64_t)_mm_extract_epi64(rest, 1));
}

/* Of 64 bytes, those from `skip` on; none when skip >= 64, all when skip <= 0. */
static inline uint64_t bytes_from(int64_t skip)
{
    return skip <= 0 ? ~UINT64_C(0) : skip < 64 ? ~UINT64_C(0) << skip : 0;
}

/* 64 bytes at `base` + `at`, of which the first `skip` are taken as zero and not read. */
AVX512 static inline __m512i load_from(uintptr_t base, int64_t at, int64_t skip)
{
    return _mm512_maskz_loadu_epi8(bytes_from(skip - at), (const void *)(base + (uintptr_t)at));
}

/* Groups of 256 bytes, folded onto each other. The first group may be short: it is filled up with zeros in front, which
 * change nothing, so that no byte is left over at the end. */
AVX512 uint32_t hr__crc32c_vpclmul(uint32_t crc, const void *data, size_t size)
{
    const unsigned char *p = data;
    crc = ~crc;
    if (size < 160) return ~serial(crc, p, size);
    /* The checksum so far is added to the first four bytes, which must lie in one vector. */
    size_t odd = size % 64 < 4 ? size % 64 : 0;
    crc = serial(crc, p, odd);
    p += odd;
    size -= odd;

    const size_t head = (size - 1) % 256 + 1;
    const int64_t skip = 256 - (int64_t)head, start = skip % 64;
    const uintptr_t base = (uintptr_t)p - (uintptr_t)skip; /* where the first group would begin */
    __m512i a = load_from(base, 0, skip), b = load_from(base, 64, skip);
    __m512i c = load_from(base, 128, skip), d = load_from(base, 192, skip);
    __m512i so_far =
        _mm512_maskz_expand_epi8(UINT64_C(15) << start, _mm512_castsi128_si512(_mm_cvtsi32_si128((int)crc)));
    a = _mm512_mask_xor_epi64(a, skip / 64 == 0 ? 0xff : 0, a, so_far);
    b = _mm512_mask_xor_epi64(b, skip / 64 == 1 ? 0xff : 0, b, so_far);
    c = _mm512_mask_xor_epi64(c, skip / 64 == 2 ? 0xff : 0, c, so_far);
    d = _mm512_mask_xor_epi64(d, skip / 64 == 3 ? 0xff : 0, d, so_far);

    const __m512i over = factors(OVER_2048);
    const unsigned char *end = p + size;
    for (p += head; p < end; p += 256) {
        a = fold(a, over, _mm512_loadu_si512(p));
        b = fold(b, over, _mm512_loadu_si512(p + 64));
        c = fold(c, over, _mm512_loadu_si512(p + 128));
        d = fold(d, over, _mm512_loadu_si512(p + 192));
    }
    d = fold(c, factors(OVER_512), d);
    b = fold(a, factors(OVER_512), b);
    return ~crc32c_x86_reduce(fold(b, factors(OVER_1024), d));
}
#else
/* An empty translation unit is no C. */
typedef int hr__crc32c_x86_not_here;
#endif
