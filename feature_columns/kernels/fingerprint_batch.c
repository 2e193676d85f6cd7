/* Fingerprint64 of eight strings at a time if all eight have 8 to 16 bytes, as ids in logs and hexadecimal words have.
 * Strings of other lengths take the scalar routine. */
#include "base/cpu.h"
#include "base/fingerprint.h"
#include "base/number.h"
#include <headrace/column_kernels.h>

static void hash_portable(const hr_view *words, int64_t n, uint64_t *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = hr__fingerprint64_inline(words[i].data, (size_t)words[i].size);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512dq")))

static inline long long load8(const char *p) { return (long long)hr__get64(p); }
static inline long long last8(const hr_view *w) { return load8(w->data + w->size - 8); }

AVX512 static inline __m512i shift_mix(__m512i v) { return _mm512_xor_si512(v, _mm512_srli_epi64(v, 47)); }

/* hr__fp_pair, lane by lane. */
AVX512 static inline __m512i pair(__m512i u, __m512i v, __m512i mul)
{
    __m512i a = shift_mix(_mm512_mullo_epi64(_mm512_xor_si512(u, v), mul));
    __m512i b = shift_mix(_mm512_mullo_epi64(_mm512_xor_si512(v, a), mul));
    return _mm512_mullo_epi64(b, mul);
}

/* The words at `offset` bytes into eight strings, or that far before their ends. Plain loads: a gather takes twice
 * as long. */
AVX512 static inline __m512i first_words(const hr_view *w)
{
    return _mm512_set_epi64(load8(w[7].data), load8(w[6].data), load8(w[5].data), load8(w[4].data), load8(w[3].data),
                            load8(w[2].data), load8(w[1].data), load8(w[0].data));
}

AVX512 static inline __m512i last_words(const hr_view *w)
{
    return _mm512_set_epi64(last8(w + 7), last8(w + 6), last8(w + 5), last8(w + 4), last8(w + 3), last8(w + 2),
                            last8(w + 1), last8(w));
}

/* The branch of 8 to 16 bytes: the first 8 and the last 8. */
AVX512 static inline __m512i hash_8_to_16(const hr_view *words, __m512i size)
{
    const __m512i k2 = _mm512_set1_epi64((long long)HR__FP_K2);
    __m512i mul = _mm512_add_epi64(k2, _mm512_add_epi64(size, size));
    __m512i a = _mm512_add_epi64(first_words(words), k2), b = last_words(words);
    __m512i u = _mm512_add_epi64(_mm512_mullo_epi64(_mm512_ror_epi64(b, 37), mul), a);
    __m512i v = _mm512_mullo_epi64(_mm512_add_epi64(_mm512_ror_epi64(a, 25), b), mul);
    return pair(u, v, mul);
}

AVX512 static int64_t hash_avx512(const hr_view *words, int64_t n, uint64_t *out)
{
    const __m512i odds = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m512i low = _mm512_loadu_si512(words + i), high = _mm512_loadu_si512(words + i + 4);
        __m512i size = _mm512_permutex2var_epi64(low, odds, high);
        __mmask8 fits = _mm512_cmple_epu64_mask(_mm512_sub_epi64(size, _mm512_set1_epi64(8)), _mm512_set1_epi64(8));
        if (fits == 0xff)
            _mm512_storeu_si512(out + i, hash_8_to_16(words + i, size));
        else
            hash_portable(words + i, 8, out + i);
    }
    return i;
}
#endif

void hr_fingerprint64_many(const hr_view *words, int64_t n, uint64_t *out)
{
    int64_t done = 0;
#if defined(__x86_64__)
    _Static_assert(sizeof(hr_view) == 16, "a view is two lanes");
    if (hr__cpu_has(HR__AVX512)) done = hash_avx512(words, n, out);
#endif
    if (done < n) hash_portable(words + done, n - done, out + done);
}

/* Of an unsigned number beyond int64 the text is that of the number, not of its bits. */
static int decimal_text(const hr_column_values *values, int64_t i, char text[HR__NUMBER_TEXT])
{
    const int64_t value = hr_column_integer_at(values, i);
    if (values->dtype != HR_UINT64 || value >= 0) return hr__format_int64(value, text);
    const int length = hr__format_int64((int64_t)((uint64_t)value / 10), text);
    text[length] = (char)('0' + (uint64_t)value % 10);
    return length + 1;
}

void hr_column_fingerprints(const hr_column_values *values, int64_t first, int64_t count, uint64_t *out)
{
    if (values->dtype == HR_STRING) {
        hr_fingerprint64_many((const hr_view *)values->values + first, count, out);
        return;
    }
    char text[HR__NUMBER_TEXT];
    for (int64_t i = 0; i < count; i++) {
        const int length = decimal_text(values, first + i, text);
        out[i] = hr__fingerprint64_inline(text, (size_t)length);
    }
}
