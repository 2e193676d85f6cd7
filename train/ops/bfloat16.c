/* See bfloat16.h. */
#include "train/ops/bfloat16.h"
#include "base/cpu.h"
#include "train/ops/tiles.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- plain C ---- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t without_denormal(uint32_t bits) { return bits & 0x7f800000U ? bits : bits & 0x80000000U; }

/* In the upper half; the lower one is left over. */
static uint32_t rounded(float x)
{
    const uint32_t bits = without_denormal(bits_of(x));
    if ((bits & 0x7fffffffU) > 0x7f800000U) return bits | 0x00400000U; /* not a number stays none */
    return bits + 0x7fffU + (bits >> 16 & 1);
}

static uint32_t pair_of(float first, float second) { return rounded(first) >> 16 | (rounded(second) & 0xffff0000U); }

/* What is below FLT_MIN once it is rounded to 24 bits, as if exponents had no end, is zero. Only a sum that rounds up to
 * FLT_MIN needs a second look; there it is exact as a double. */
static float plain_add(float sum, uint32_t a, uint32_t b)
{
    const float x = float_of(without_denormal(a)), y = float_of(without_denormal(b));
    const float z = float_of(without_denormal(bits_of(sum))), result = fmaf(x, y, z);
    const float size = fabsf(result);
    if (size < FLT_MIN || (size == FLT_MIN && fabs((double)x * y + z) < FLT_MIN - 0x1p-151))
        return copysignf(0, result);
    return result;
}

static void plain_some(const uint32_t *const *a, int64_t step, const uint32_t *const *b, int64_t count, int64_t pairs,
                       float *const *out, bool add, int64_t width)
{
    for (int r = 0; r < HR__PAIRS_ROWS; r++)
        for (int64_t c = 0; c < width; c++) {
            float sum = add ? out[r][c] : 0;
            for (int64_t i = 0; i < count; i++)
                for (int64_t p = 0; p < pairs; p++) {
                    const uint32_t x = a[i * HR__PAIRS_ROWS + r][p * step], y = b[i][p * width + c];
                    sum = plain_add(sum, x & 0xffff0000U, y & 0xffff0000U);
                    sum = plain_add(sum, x << 16, y << 16);
                }
            out[r][c] = sum;
        }
}

static void plain_along(const float *from, int64_t count, uint32_t *to)
{
    for (int64_t i = 0; i + 1 < count; i += 2) *to++ = pair_of(from[i], from[i + 1]);
    if (count % 2) *to = pair_of(from[count - 1], 0);
}

static void plain_across(const float *a, const float *b, int64_t columns, uint32_t *to)
{
    for (int64_t i = 0; i < columns; i++) to[i] = pair_of(a[i], b ? b[i] : 0);
}

#define PLAIN_TILE(WIDTH)                                                                                              \
    static void plain_##WIDTH(const uint32_t *const *a, int64_t step, const uint32_t *const *b, int64_t count,         \
                              int64_t pairs, float *const *out, bool add)                                              \
    {                                                                                                                  \
        plain_some(a, step, b, count, pairs, out, add, WIDTH);                                                         \
    }
PLAIN_TILE(4)
PLAIN_TILE(8)
PLAIN_TILE(16)
PLAIN_TILE(32)
PLAIN_TILE(64)

/* ---- AVX512_BF16 ---- */

enum { WIDTHS = 3, MORE_WIDTHS = 5, LANES = 16 };

typedef struct pairs_kind {
    hr__pairs_tile tile[MORE_WIDTHS]; /* the widest first; products take one of WIDTHS */
    void (*along)(const float *from, int64_t count, uint32_t *to);
    void (*across)(const float *a, const float *b, int64_t columns, uint32_t *to); /* `b` NULL: zeros */
    /* Word p * to_row + n: pair p of row n, LANES of each. NULL: one by one. */
    void (*turned)(const float *from, int64_t from_row, uint32_t *to, int64_t to_row);
} pairs_kind;

static const pairs_kind plain = {
    {{64, plain_64}, {32, plain_32}, {16, plain_16}, {8, plain_8}, {4, plain_4}}, plain_along, plain_across, NULL};

#ifdef __x86_64__
#include <immintrin.h>
#define FAST __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")))

#define FAST_TILE(NAME, VECTORS)                                                                                       \
    FAST static void NAME(const uint32_t *const *a, int64_t step, const uint32_t *const *b, int64_t count,             \
                          int64_t pairs, float *const *out, bool add)                                                  \
    {                                                                                                                  \
        __m512 sum[HR__PAIRS_ROWS][VECTORS];                                                                           \
        for (int r = 0; r < HR__PAIRS_ROWS; r++)                                                                       \
            for (int c = 0; c < (VECTORS); c++)                                                                        \
                sum[r][c] = add ? _mm512_loadu_ps(out[r] + LANES * c) : _mm512_setzero_ps();                           \
        for (int64_t i = 0; i < count; i++, a += HR__PAIRS_ROWS) {                                                     \
            const uint32_t *factor = b[i];                                                                             \
            for (int64_t p = 0; p < pairs; p++, factor += LANES * (VECTORS)) {                                         \
                __m512bh f[VECTORS];                                                                                   \
                for (int c = 0; c < (VECTORS); c++) f[c] = (__m512bh)_mm512_loadu_si512(factor + LANES * c);           \
                for (int r = 0; r < HR__PAIRS_ROWS; r++) {                                                             \
                    const __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[r][p * step]);                               \
                    for (int c = 0; c < (VECTORS); c++) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], x, f[c]);              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        for (int r = 0; r < HR__PAIRS_ROWS; r++)                                                                       \
            for (int c = 0; c < (VECTORS); c++) _mm512_storeu_ps(out[r] + LANES * c, sum[r][c]);                       \
    }
FAST_TILE(fast_64, 4)
FAST_TILE(fast_32, 2)
FAST_TILE(fast_16, 1)

FAST static void fast_along(const float *from, int64_t count, uint32_t *to)
{
    for (; count >= 2 * LANES; count -= 2 * LANES, from += 2 * LANES, to += LANES)
        _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + LANES), _mm512_loadu_ps(from)));
    if (count <= 0) return;
    const uint32_t there = (uint32_t)((1ULL << count) - 1); /* below 2^32: fewer than 32 numbers */
    const __m512 low = _mm512_maskz_loadu_ps((__mmask16)there, from);
    const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(there >> LANES), from + LANES);
    _mm512_mask_storeu_epi32(to, (__mmask16)((1U << (count + 1) / 2) - 1), (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

FAST static void fast_across(const float *a, const float *b, int64_t columns, uint32_t *to)
{
    for (int64_t i = 0; i < columns; i += LANES) {
        const __mmask16 there = columns - i < LANES ? (__mmask16)((1U << (columns - i)) - 1) : 0xffff;
        const __m512 x = _mm512_maskz_loadu_ps(there, a + i);
        const __m512 y = b ? _mm512_maskz_loadu_ps(there, b + i) : _mm512_setzero_ps();
        const __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(x));
        const __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(y));
        _mm512_mask_storeu_epi32(to + i, there, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
}

FAST static void fast_turned(const float *from, int64_t from_row, uint32_t *to, int64_t to_row)
{
    uint32_t rows[LANES * LANES];
    for (int r = 0; r < LANES; r++) fast_along(from + r * from_row, 2 * LANES, rows + r * LANES);
    hr__turn_16((const float *)(const void *)rows, LANES, (float *)(void *)to, to_row);
}

static const pairs_kind fast = {{{64, fast_64}, {32, fast_32}, {16, fast_16}}, fast_along, fast_across, fast_turned};

bool hr__pairs_are_fast(void) { return hr__cpu_has(HR__AVX512 | HR__AVX512_BF16); }
static const pairs_kind *pairs(void) { return hr__pairs_are_fast() ? &fast : &plain; }
#else
bool hr__pairs_are_fast(void) { return false; }
static const pairs_kind *pairs(void) { return &plain; }
#endif

/* ---- of both ---- */

const hr__pairs_tile *hr__pairs_tile_for(int64_t columns)
{
    const hr__pairs_tile *all = pairs()->tile;
    int i = WIDTHS - 1;
    while (i > 0 && all[i].width < columns) i--;
    return &all[i];
}

const hr__pairs_tile *hr__pairs_tile_of(int64_t width)
{
    const hr__pairs_tile *tile = pairs()->tile;
    while (tile->width != width) tile++;
    return tile;
}

void hr__pairs_along(const float *from, int64_t count, uint32_t *to) { pairs()->along(from, count, to); }

void hr__pairs_across(const float *from, int64_t from_row, int64_t rows, int64_t columns, uint32_t *to, int64_t to_row)
{
    const pairs_kind *kind = pairs();
    for (int64_t k = 0; k < rows; k += 2, to += to_row)
        kind->across(from + k * from_row, k + 1 < rows ? from + (k + 1) * from_row : NULL, columns, to);
}

int64_t hr__pairs_panels_size(int64_t rows, int64_t columns)
{
    int64_t all = 0;
    for (int64_t width; columns > 0; columns -= width) {
        width = hr__pairs_tile_for(columns)->width;
        all += width;
    }
    return all * hr__pairs_of(rows);
}

void hr__pairs_panel_pack(const float *b, int64_t row, int64_t step, int64_t rows, int64_t there, int64_t width,
                          uint32_t *to)
{
    const pairs_kind *kind = pairs();
    uint32_t some[LANES];
    if (there < width) memset(to, 0, (size_t)(hr__pairs_of(rows) * width) * sizeof *to);
    if (step == 1) hr__pairs_across(b, row, rows, there, to, width);
    for (int64_t k = 0; step != 1 && k < rows; k += 2 * LANES, to += LANES * width) {
        const int64_t count = rows - k < 2 * LANES ? rows - k : 2 * LANES;
        int64_t n = 0;
        for (; kind->turned && count == 2 * LANES && there - n >= LANES; n += LANES)
            kind->turned(b + n * step + k, step, to + n, width);
        for (; n < there; n++) {
            kind->along(b + n * step + k, count, some);
            for (int64_t p = 0; p < hr__pairs_of(count); p++) to[p * width + n] = some[p];
        }
    }
}

void hr__pairs_six_rows(const hr__pairs_tile *tile, const uint32_t *const *a, int64_t step, const uint32_t *const *b,
                        int64_t count, int64_t pairs, float *out, int64_t out_row, int64_t there, bool add)
{
    float beside[HR__PAIRS_ROWS * HR__PAIRS_MAX_WIDTH], *to[HR__PAIRS_ROWS];
    const size_t bytes = (size_t)tile->width * sizeof *out;
    for (int r = 0; r < HR__PAIRS_ROWS; r++)
        to[r] = there < HR__PAIRS_ROWS ? beside + r * tile->width : out + r * out_row;
    for (int r = 0; there < HR__PAIRS_ROWS && add && r < HR__PAIRS_ROWS; r++)
        memcpy(to[r], out + (r < there ? r : 0) * out_row, bytes);
    tile->rows(a, step, b, count, pairs, to, add);
    for (int r = 0; there < HR__PAIRS_ROWS && r < there; r++) memcpy(out + r * out_row, to[r], bytes);
}

/* One tile, whose last columns are not all there. */
static void pairs_narrow_rows(const hr__pairs_tile *tile, const uint32_t *const *a, int64_t step, const uint32_t *panel,
                              int64_t pairs, float *out, int64_t row, int64_t rows, int64_t columns)
{
    float beside[HR__PAIRS_ROWS * HR__PAIRS_MAX_WIDTH];
    hr__pairs_six_rows(tile, a, step, &panel, 1, pairs, beside, tile->width, HR__PAIRS_ROWS, false);
    for (int64_t r = 0; r < rows; r++) memcpy(out + r * row, beside + r * tile->width, (size_t)columns * sizeof *out);
}

void hr__pairs_panels_product(const uint32_t *a, int64_t a_row, int64_t step, int64_t rows, int64_t pairs,
                              const uint32_t *panels, int64_t columns, float *out)
{
    for (int64_t n = 0; n < columns;) {
        const hr__pairs_tile *tile = hr__pairs_tile_for(columns - n);
        for (int64_t m = 0; m < rows; m += HR__PAIRS_ROWS) {
            const int64_t there = rows - m < HR__PAIRS_ROWS ? rows - m : HR__PAIRS_ROWS;
            const uint32_t *at[HR__PAIRS_ROWS];
            float *to = out + m * columns + n;
            for (int r = 0; r < HR__PAIRS_ROWS; r++) at[r] = a + (m + (r < there ? r : 0)) * a_row;
            if (columns - n < tile->width)
                pairs_narrow_rows(tile, at, step, panels, pairs, to, columns, there, columns - n);
            else
                hr__pairs_six_rows(tile, at, step, &panels, 1, pairs, to, columns, there, false);
        }
        panels += pairs * tile->width;
        n += tile->width;
    }
}
