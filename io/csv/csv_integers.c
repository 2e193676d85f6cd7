/* A column of plain integers, as most are: up to eight digits without a sign, or nothing. Any other field is only
 * marked. Eight fields at a time with AVX-512, where their digits are joined side by side; one at a time elsewhere. */
#include "base/cpu.h"
#include "io/csv/csv.h"
#include "io/csv/csv_number.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SIDE_BY_SIDE = 8 };

/* Field `r`: whether it is plain. */
static inline bool put_integer(const hr__csv_fields *f, int64_t r, const int64_t *empty, int64_t *out)
{
    uint64_t value = 0;
    const uint32_t begin = f->token[f->first[r]] + 1, size = f->token[f->first[r] + 1] - begin;
    if (size == 0 ? !empty : size > 8 || !hr__eight_digits(f->data + begin, size, &value)) return false;
    *out = size == 0 ? *empty : (int64_t)value;
    return true;
}

#if defined(__x86_64__)

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

/* The same of eight fields: bit i says whether the i-th is plain. Bytes are moved to the end of a word of '0's; an
 * empty field is not read, since where it lies there may be nothing. */
TARGET static inline unsigned put_eight(const hr__csv_fields *f, const uint32_t *first, const int64_t *empty,
                                        int64_t *out)
{
    const __m512i zeros = _mm512_set1_epi8('0');
    const __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)first);
    const __m256i token = _mm256_i32gather_epi32((const int *)(const void *)f->token, at, 4);
    const __m256i next = _mm256_i32gather_epi32((const int *)(const void *)(f->token + 1), at, 4);
    const __m256i begin = _mm256_add_epi32(token, _mm256_set1_epi32(1));
    const __m512i bits = _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm256_sub_epi32(next, begin)), 3);
    const __mmask8 some = _mm512_test_epi64_mask(bits, bits);
    const __m512i text =
        _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), some, _mm512_cvtepu32_epi64(begin), f->data, 1);
    const __m512i moved = _mm512_sllv_epi64(text, _mm512_sub_epi64(_mm512_set1_epi64(64), bits));
    const __m512i digit = _mm512_xor_si512(_mm512_or_si512(moved, _mm512_srlv_epi64(zeros, bits)), zeros);
    const __m512i above_nine = _mm512_or_si512(digit, _mm512_add_epi8(digit, _mm512_set1_epi8(0x76)));
    const __mmask8 digits = _mm512_testn_epi64_mask(above_nine, _mm512_set1_epi8((char)0x80)) &
                            _mm512_cmple_epu64_mask(bits, _mm512_set1_epi64(64));
    const __m512i pairs = _mm512_maddubs_epi16(digit, _mm512_set1_epi16(10 | 1 << 8));
    const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(100 | 1 << 16));
    const __m512i value =
        _mm512_add_epi64(_mm512_mul_epu32(fours, _mm512_set1_epi64(10000)), _mm512_srli_epi64(fours, 32));
    const __m512i fill = _mm512_set1_epi64(empty ? *empty : 0);
    _mm512_storeu_si512(out, _mm512_mask_mov_epi64(fill, some, value));
    return empty ? digits : digits & some;
}

TARGET static int64_t put_eights(const hr__csv_fields *f, const int64_t *empty, int64_t *out, uint64_t *plain)
{
    int64_t r = 0;
    for (; r + SIDE_BY_SIDE <= f->rows; r += SIDE_BY_SIDE)
        plain[r / 64] |= (uint64_t)put_eight(f, f->first + r, empty, out + r) << r % 64;
    return r;
}

#endif

void hr__csv_put_integers(const hr__csv_fields *f, const int64_t *empty, int64_t *out, uint64_t *plain)
{
    int64_t r = 0;
    memset(plain, 0, (size_t)((f->rows + 63) / 64) * sizeof *plain);
#if defined(__x86_64__)
    if (hr__cpu_has(HR__AVX512)) r = put_eights(f, empty, out, plain);
#endif
    for (; r < f->rows; r++) plain[r / 64] |= (uint64_t)put_integer(f, r, empty, out + r) << r % 64;
}
