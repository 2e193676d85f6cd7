/* Where fields and rows end, 64 bytes at a time: portable, AVX2, AVX-512. All three run the loops of csv_kernel.inc;
 * a test holds them equal to each other and to the exact scanner. */
#include "base/cpu.h"
#include "io/csv/csv.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* What of a dialect the loops look at: by value, or every store to the tokens might change it. */
typedef struct csv_special {
    char delimiter, quote;
    bool quotes;
} csv_special;

typedef struct csv_masks {
    uint64_t delim, lf, cr, quote;
} csv_masks;

typedef struct csv_carry {
    uint64_t inside; /* all ones: the last byte was inside quotes */
    uint64_t closed; /* 1: the last byte was a closing quote */
    uint64_t marked; /* 1: the last byte was a delimiter, a line end or a quote; or there was none */
    uint64_t quotes; /* not 0: there was a quote */
} csv_carry;

typedef struct csv_marks {
    uint64_t sep, end;     /* what ends fields; what ends rows: LF, or CR without LF */
    uint64_t line, lf, cr; /* line ends, also in quotes; all LF; all CR */
} csv_marks;

/* ---- portable ---- */

/* Eight bytes at a time: the high bit of every byte that equals `c`. */
static inline uint64_t equal_bytes(uint64_t v, char c)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    v ^= UINT64_C(0x0101010101010101) * (unsigned char)c;
    return ~(((v & low) + low) | v | low);
}

/* The high bits of eight bytes, as the low eight bits of a number. */
static inline uint64_t gather_high_bits(uint64_t v) { return (v >> 7) * UINT64_C(0x0102040810204080) >> 56; }

static inline uint64_t load_bytes(const char *p)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return v;
}

static inline csv_masks classify_portable(const char *p, csv_special s)
{
    csv_masks m = {0};
    for (int i = 0; i < 8; i++) {
        uint64_t v = load_bytes(p + 8 * i);
        m.delim |= gather_high_bits(equal_bytes(v, s.delimiter)) << 8 * i;
        m.lf |= gather_high_bits(equal_bytes(v, '\n')) << 8 * i;
        m.cr |= gather_high_bits(equal_bytes(v, '\r')) << 8 * i;
        m.quote |= gather_high_bits(equal_bytes(v, s.quote)) << 8 * i;
    }
    return m;
}

static inline uint64_t prefix_xor_portable(uint64_t m)
{
    for (int shift = 1; shift < 64; shift *= 2) m ^= m << shift;
    return m;
}

static inline void put_bits_portable(uint32_t *to, uint64_t bits, uint32_t base)
{
    for (; bits; bits &= bits - 1) *to++ = base + (uint32_t)__builtin_ctzll(bits);
}

#define TARGET
#define NAME(f) f##_portable
#define CLASSIFY classify_portable
#define PREFIX_XOR prefix_xor_portable
#define PUT_BITS put_bits_portable
#include "io/csv/csv_kernel.inc"
#undef TARGET
#undef NAME
#undef CLASSIFY
#undef PREFIX_XOR
#undef PUT_BITS

#if defined(__x86_64__)

/* ---- AVX2 ---- */

#define TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,pclmul")))
#define NAME(f) f##_avx2
#define CLASSIFY classify_avx2
#define PREFIX_XOR prefix_xor_avx2
#define PUT_BITS put_bits_avx2

TARGET static inline uint64_t equal_mask_avx2(__m256i a, __m256i b, char c)
{
    const __m256i v = _mm256_set1_epi8(c);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, v)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, v)) << 32;
}

TARGET static inline csv_masks classify_avx2(const char *p, csv_special s)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    return (csv_masks){equal_mask_avx2(a, b, s.delimiter), equal_mask_avx2(a, b, '\n'), equal_mask_avx2(a, b, '\r'),
                       equal_mask_avx2(a, b, s.quote)};
}

TARGET static inline uint64_t prefix_xor_avx2(uint64_t m)
{
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)m), _mm_set1_epi8(-1), 0));
}

TARGET static inline void put_bits_avx2(uint32_t *to, uint64_t bits, uint32_t base)
{
    while (bits)
        for (int k = 0; k < 8; k++) { /* further ones than there are land in the space after */
            *to++ = base + (uint32_t)_tzcnt_u64(bits);
            bits = _blsr_u64(bits);
        }
}

#include "io/csv/csv_kernel.inc"
#undef TARGET
#undef NAME
#undef CLASSIFY
#undef PREFIX_XOR
#undef PUT_BITS

/* ---- AVX-512 ---- */

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,bmi,bmi2,lzcnt,popcnt,pclmul")))
#define NAME(f) f##_avx512
#define CLASSIFY classify_avx512
#define PREFIX_XOR prefix_xor_avx512
#define PUT_BITS put_bits_avx512

TARGET static inline csv_masks classify_avx512(const char *p, csv_special s)
{
    const __m512i v = _mm512_loadu_si512(p);
    return (csv_masks){
        _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(s.delimiter)), _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n')),
        _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\r')), _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(s.quote))};
}

TARGET static inline uint64_t prefix_xor_avx512(uint64_t m)
{
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)m), _mm_set1_epi8(-1), 0));
}

TARGET static inline void put_bits_avx512(uint32_t *to, uint64_t bits, uint32_t base)
{
    static const uint8_t places[64] __attribute__((aligned(64))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i at = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(places)), from = _mm512_set1_epi32((int)base);
    const int count = __builtin_popcountll(bits);
    _mm512_storeu_si512(to, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(at))));
    if (count <= 16) return;
    _mm512_storeu_si512(to + 16, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 1))));
    if (count <= 32) return;
    _mm512_storeu_si512(to + 32, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 2))));
    _mm512_storeu_si512(to + 48, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 3))));
}

#include "io/csv/csv_kernel.inc"
#endif

/* ---- the choice ---- */

void hr__csv_find_rows(const hr__csv_dialect *d, const char *data, size_t size, int64_t max_rows, bool skip_blank,
                       hr__csv_end *ends, hr__csv_count *out)
{
    *out = (hr__csv_count){0};
#if defined(__x86_64__)
    if (hr__cpu_has(HR__AVX512 | HR__AVX2 | HR__SSE42)) {
        count_rows_avx512(d, data, size, max_rows, skip_blank, ends, out);
        return;
    }
    if (hr__cpu_has(HR__AVX2 | HR__SSE42)) {
        count_rows_avx2(d, data, size, max_rows, skip_blank, ends, out);
        return;
    }
#endif
    count_rows_portable(d, data, size, max_rows, skip_blank, ends, out);
}

void hr__csv_count_rows(const hr__csv_dialect *d, const char *data, size_t size, int64_t max_rows, bool skip_blank,
                        hr__csv_count *out)
{
    hr__csv_find_rows(d, data, size, max_rows, skip_blank, NULL, out);
}

void hr__csv_tokenise(const hr__csv_dialect *d, const char *data, size_t size, size_t from, hr__csv_tokens *out)
{
    out->fault = false;
    out->done = from;
#if defined(__x86_64__)
    if (hr__cpu_has(HR__AVX512 | HR__AVX2 | HR__SSE42)) {
        tokenise_avx512(d, data, size, from, out);
        return;
    }
    if (hr__cpu_has(HR__AVX2 | HR__SSE42)) {
        tokenise_avx2(d, data, size, from, out);
        return;
    }
#endif
    tokenise_portable(d, data, size, from, out);
}
