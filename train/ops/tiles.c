/* See tiles.h. This file alone is compiled with products and sums fused. */
#include "train/ops/tiles.h"
#include "base/cpu.h"
#include <string.h>

/* ---- the loops, for vectors of a type and a number of them side by side ---- */

/* A number in all places of a vector: GCC and clang take it so, and nothing is subtracted. */
#define EVERYWHERE(V, x) ((x) - (V){0})

/* There is something to add up, so that the compiler keeps all sums in registers. */
#define TILE_ROWS(NAME, TARGET, V, VECTORS)                                                                            \
    TARGET static void NAME(const float *const *a, const float *const *b, int64_t count, int64_t depth,                \
                            float *const *out, bool add)                                                               \
    {                                                                                                                  \
        enum { LANES = sizeof(V) / sizeof(float), WIDTH = LANES * (VECTORS) };                                         \
        V sum[HR__TILE_ROWS][VECTORS];                                                                                 \
        if (count < 1 || depth < 1) {                                                                                  \
            for (int r = 0; !add && r < HR__TILE_ROWS; r++) memset(out[r], 0, WIDTH * sizeof(float));                  \
            return;                                                                                                    \
        }                                                                                                              \
        for (int r = 0; r < HR__TILE_ROWS; r++)                                                                        \
            for (int c = 0; c < (VECTORS); c++) sum[r][c] = add ? *(const V *)(out[r] + LANES * c) : (V){0};           \
        do {                                                                                                           \
            const float *factor = *b++;                                                                                \
            int64_t k = 0;                                                                                             \
            do {                                                                                                       \
                V f[VECTORS];                                                                                          \
                for (int c = 0; c < (VECTORS); c++) f[c] = *(const V *)(factor + LANES * c);                           \
                for (int r = 0; r < HR__TILE_ROWS; r++) {                                                              \
                    const V x = EVERYWHERE(V, a[r][k]);                                                                \
                    for (int c = 0; c < (VECTORS); c++) sum[r][c] += x * f[c];                                         \
                }                                                                                                      \
                factor += WIDTH;                                                                                       \
            } while (++k < depth);                                                                                     \
            a += HR__TILE_ROWS;                                                                                        \
        } while (--count > 0);                                                                                         \
        for (int r = 0; r < HR__TILE_ROWS; r++)                                                                        \
            for (int c = 0; c < (VECTORS); c++) *(V *)(out[r] + LANES * c) = sum[r][c];                                \
    }

#define TILE_OUTER(NAME, TARGET, V, VECTORS, ROWS)                                                                     \
    TARGET static void NAME(const float *const *a, const float *const *b, int64_t count, float *out)                   \
    {                                                                                                                  \
        enum { LANES = sizeof(V) / sizeof(float), WIDTH = LANES * (VECTORS) };                                         \
        V sum[ROWS][VECTORS];                                                                                          \
        for (int r = 0; r < (ROWS); r++)                                                                               \
            for (int c = 0; c < (VECTORS); c++) sum[r][c] = *(const V *)(out + WIDTH * r + LANES * c);                 \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            V f[VECTORS];                                                                                              \
            for (int c = 0; c < (VECTORS); c++) f[c] = *(const V *)(b[i] + LANES * c);                                 \
            for (int r = 0; r < (ROWS); r++) {                                                                         \
                const V x = EVERYWHERE(V, a[i][r]);                                                                    \
                for (int c = 0; c < (VECTORS); c++) sum[r][c] += x * f[c];                                             \
            }                                                                                                          \
        }                                                                                                              \
        for (int r = 0; r < (ROWS); r++)                                                                               \
            for (int c = 0; c < (VECTORS); c++) *(V *)(out + WIDTH * r + LANES * c) = sum[r][c];                       \
    }

#define TILE_DIRECT(NAME, TARGET, V, VECTORS, ROWS)                                                                    \
    TARGET static void NAME(const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_row,              \
                            int64_t count, float *out, int64_t out_row)                                                \
    {                                                                                                                  \
        enum { LANES = sizeof(V) / sizeof(float) };                                                                    \
        V sum[ROWS][VECTORS];                                                                                          \
        for (int r = 0; r < (ROWS); r++)                                                                               \
            for (int c = 0; c < (VECTORS); c++) sum[r][c] = (V){0};                                                    \
        for (int64_t i = 0; i < count; i++, a += a_row, b += b_row) {                                                  \
            V f[VECTORS];                                                                                              \
            for (int c = 0; c < (VECTORS); c++) f[c] = *(const V *)(b + LANES * c);                                    \
            for (int r = 0; r < (ROWS); r++) {                                                                         \
                const V x = EVERYWHERE(V, a[r * a_step]);                                                              \
                for (int c = 0; c < (VECTORS); c++) sum[r][c] += x * f[c];                                             \
            }                                                                                                          \
        }                                                                                                              \
        for (int r = 0; r < (ROWS); r++)                                                                               \
            for (int c = 0; c < (VECTORS); c++) *(V *)(out + out_row * r + LANES * c) = sum[r][c];                     \
    }

#define TILE_SUMS(NAME, TARGET, V, VECTORS)                                                                            \
    TARGET static void NAME(const float *from, int64_t from_row, const int32_t *at, const int32_t *begin,              \
                            int64_t count, float *out, int64_t out_row, bool add)                                      \
    {                                                                                                                  \
        enum { LANES = sizeof(V) / sizeof(float) };                                                                    \
        for (int64_t i = 0; i < count; i++, out += out_row) {                                                          \
            V sum[VECTORS];                                                                                            \
            for (int c = 0; c < (VECTORS); c++) sum[c] = add ? *(const V *)(out + LANES * c) : (V){0};                 \
            for (int32_t j = begin[i]; j < begin[i + 1]; j++) {                                                        \
                const float *row = from + at[j] * from_row;                                                            \
                for (int c = 0; c < (VECTORS); c++) sum[c] += *(const V *)(row + LANES * c);                           \
            }                                                                                                          \
            for (int c = 0; c < (VECTORS); c++) *(V *)(out + LANES * c) = sum[c];                                      \
        }                                                                                                              \
    }

#define TILE(NAME, TARGET, V, VECTORS)                                                                                 \
    TILE_ROWS(NAME##_rows, TARGET, V, VECTORS)                                                                         \
    TILE_DIRECT(NAME##_direct_1, TARGET, V, VECTORS, 1)                                                                \
    TILE_DIRECT(NAME##_direct_2, TARGET, V, VECTORS, 2)                                                                \
    TILE_DIRECT(NAME##_direct_3, TARGET, V, VECTORS, 3)                                                                \
    TILE_DIRECT(NAME##_direct_4, TARGET, V, VECTORS, 4)                                                                \
    TILE_DIRECT(NAME##_direct_5, TARGET, V, VECTORS, 5)                                                                \
    TILE_DIRECT(NAME##_direct_6, TARGET, V, VECTORS, 6)                                                                \
    TILE_SUMS(NAME##_sums, TARGET, V, VECTORS)                                                                         \
    TILE_OUTER(NAME##_outer_6, TARGET, V, VECTORS, HR__TILE_ROWS)                                                      \
    TILE_OUTER(NAME##_outer_2, TARGET, V, VECTORS, 2)                                                                  \
    TILE_OUTER(NAME##_outer_1, TARGET, V, VECTORS, 1)
#define TILE_OF(NAME, V, VECTORS)                                                                                      \
    {                                                                                                                  \
        .width = sizeof(V) / sizeof(float) * (VECTORS), .rows = NAME##_rows,                                           \
        .outer = {NAME##_outer_6, NAME##_outer_2, NAME##_outer_1}, .sums = NAME##_sums,                                \
        .direct = {NAME##_direct_1, NAME##_direct_2, NAME##_direct_3,                                                  \
                   NAME##_direct_4, NAME##_direct_5, NAME##_direct_6},                                                 \
    }

/* ---- of processors ---- */

/* Vectors at any address. */
typedef float lanes_4 __attribute__((vector_size(16), aligned(4), may_alias));

TILE(portable_8, , lanes_4, 2)
TILE(portable_4, , lanes_4, 1)
static const hr__tile portable[HR__TILE_WIDTHS] = {TILE_OF(portable_8, lanes_4, 2), TILE_OF(portable_4, lanes_4, 1),
                                                   TILE_OF(portable_4, lanes_4, 1)};

#ifdef __x86_64__
typedef float lanes_8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float lanes_16 __attribute__((vector_size(64), aligned(4), may_alias));
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))

TILE(avx2_16, AVX2, lanes_8, 2)
TILE(avx2_8, AVX2, lanes_8, 1)
TILE(avx512_64, AVX512, lanes_16, 4)
TILE(avx512_32, AVX512, lanes_16, 2)
TILE(avx512_16, AVX512, lanes_16, 1)
static const hr__tile avx2[HR__TILE_WIDTHS] = {TILE_OF(avx2_16, lanes_8, 2), TILE_OF(avx2_8, lanes_8, 1),
                                               TILE_OF(avx2_8, lanes_8, 1)};
static const hr__tile avx512[HR__TILE_WIDTHS] = {TILE_OF(avx512_64, lanes_16, 4), TILE_OF(avx512_32, lanes_16, 2),
                                                 TILE_OF(avx512_16, lanes_16, 1)};

/* Lanes that are not in the other half of a pair, of D lanes each, stay: T(l) is a lane of either vector. */
#define TURN_LANES(T)                                                                                                  \
    T(0), T(1), T(2), T(3), T(4), T(5), T(6), T(7), T(8), T(9), T(10), T(11), T(12), T(13), T(14), T(15)
#define TURN_STEP(D, LOW, HIGH)                                                                                        \
    for (int r = 0; r < 16; r++) {                                                                                     \
        if (r & (D)) continue;                                                                                         \
        const lanes_16 x = v[r], y = v[r + (D)];                                                                       \
        v[r] = __builtin_shufflevector(x, y, TURN_LANES(LOW));                                                         \
        v[r + (D)] = __builtin_shufflevector(x, y, TURN_LANES(HIGH));                                                  \
    }
#define LOW_1(l) ((l)&1 ? 16 + (l)-1 : (l))
#define HIGH_1(l) ((l)&1 ? 16 + (l) : (l) + 1)
#define LOW_2(l) ((l)&2 ? 16 + (l)-2 : (l))
#define HIGH_2(l) ((l)&2 ? 16 + (l) : (l) + 2)
#define LOW_4(l) ((l)&4 ? 16 + (l)-4 : (l))
#define HIGH_4(l) ((l)&4 ? 16 + (l) : (l) + 4)
#define LOW_8(l) ((l)&8 ? 16 + (l)-8 : (l))
#define HIGH_8(l) ((l)&8 ? 16 + (l) : (l) + 8)

AVX512 void hr__turn_16(const float *from, int64_t from_row, float *to, int64_t to_row)
{
    lanes_16 v[16];
    for (int r = 0; r < 16; r++) v[r] = *(const lanes_16 *)(from + r * from_row);
    TURN_STEP(1, LOW_1, HIGH_1)
    TURN_STEP(2, LOW_2, HIGH_2)
    TURN_STEP(4, LOW_4, HIGH_4)
    TURN_STEP(8, LOW_8, HIGH_8)
    for (int r = 0; r < 16; r++) *(lanes_16 *)(to + r * to_row) = v[r];
}

const hr__tile *hr__tiles(void) { return hr__cpu_has(HR__AVX512) ? avx512 : hr__cpu_has(HR__AVX2) ? avx2 : portable; }
const char *hr__tiles_processor(void)
{
    return hr__cpu_has(HR__AVX512) ? "AVX-512" : hr__cpu_has(HR__AVX2) ? "AVX2" : "plain C";
}
#else
const hr__tile *hr__tiles(void) { return portable; }
const char *hr__tiles_processor(void) { return "plain C"; }
#endif

const hr__tile *hr__tile_for(int64_t columns)
{
    const hr__tile *all = hr__tiles();
    int i = HR__TILE_WIDTHS - 1;
    while (i > 0 && all[i].width < columns) i--;
    return &all[i];
}

/* ---- panels ---- */

int64_t hr__panels_width(int64_t columns)
{
    int64_t all = 0;
    for (int64_t width; columns > 0; columns -= width) {
        width = hr__tile_for(columns)->width;
        all += width;
    }
    return all;
}

enum { LANES = 16 };

#ifdef __x86_64__
/* Where a multiple of 16 is not left, the last ones are done again. */
static void turn_lanes(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to, int64_t to_row)
{
    for (int64_t r = 0; r < rows; r += LANES) {
        const int64_t row = r < rows - LANES ? r : rows - LANES;
        for (int64_t c = 0; c < columns; c += LANES) {
            const int64_t column = c < columns - LANES ? c : columns - LANES;
            hr__turn_16(from + row * from_row + column, from_row, to + column * to_row + row, to_row);
        }
    }
}
#endif

void hr__turn(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to, int64_t to_row)
{
#ifdef __x86_64__
    if (rows >= LANES && columns >= LANES && hr__cpu_has(HR__AVX512)) {
        turn_lanes(from, from_row, rows, columns, to, to_row);
        return;
    }
#endif
    for (int64_t r = 0; r < rows; r += LANES) /* rows at once, whose values will be neighbours */
        for (int64_t c = 0; c < columns; c++)
            for (int64_t i = r; i < r + LANES && i < rows; i++) to[c * to_row + i] = from[i * from_row + c];
}

int64_t hr__panel_pack(const float *b, int64_t row, int64_t step, int64_t rows, int64_t columns, int64_t column,
                       float *to)
{
    const int64_t width = hr__tile_for(columns - column)->width;
    const int64_t there = columns - column < width ? columns - column : width;
    const float *from = b + column * step;
    if (there < width) memset(to, 0, (size_t)(rows * width) * sizeof *to);
    if (step == 1) {
        for (int64_t k = 0; k < rows; k++) memcpy(to + k * width, from + k * row, (size_t)there * sizeof *to);
        return width;
    }
    hr__turn(from, step, there, rows, to, width);
    return width;
}

/* One tile, what is missing of it beside; `add`: added to what is there. */
static void panel_tile(const hr__tile *tile, const float *const *a, const float *panel, int64_t depth, float *out,
                       int64_t row, int rows, int64_t columns, bool add)
{
    float beside[HR__TILE_ROWS * HR__TILE_MAX_WIDTH], *to[HR__TILE_ROWS];
    const bool whole = rows == HR__TILE_ROWS && columns >= tile->width;
    const size_t bytes = (size_t)(columns < tile->width ? columns : tile->width) * sizeof *out;
    for (int r = 0; r < HR__TILE_ROWS; r++) to[r] = whole ? out + r * row : beside + r * tile->width;
    if (!whole && add) memset(beside, 0, sizeof beside);
    for (int r = 0; !whole && add && r < rows; r++) memcpy(to[r], out + r * row, bytes);
    tile->rows(a, &panel, 1, depth, to, add);
    for (int r = 0; !whole && r < rows; r++) memcpy(out + r * row, to[r], bytes);
}

void hr__panels_product(const float *a, int64_t a_row, int64_t rows, int64_t inner, const float *panels,
                        int64_t columns, float *out)
{
    enum { DEEP = 1024 }; /* so much of a panel stays in the second-level cache */
    for (int64_t n = 0, width; n < columns; n += width, panels += inner * width) {
        const hr__tile *tile = hr__tile_for(columns - n);
        width = tile->width;
        for (int64_t k = 0; k < inner; k += DEEP)
            for (int64_t m = 0; m < rows; m += HR__TILE_ROWS) {
                const int there = rows - m < HR__TILE_ROWS ? (int)(rows - m) : HR__TILE_ROWS;
                const float *at[HR__TILE_ROWS];
                for (int r = 0; r < HR__TILE_ROWS; r++) at[r] = a + (m + (r < there ? r : 0)) * a_row + k;
                panel_tile(tile, at, panels + k * width, inner - k < DEEP ? inner - k : DEEP, out + m * columns + n,
                           columns, there, columns - n, k > 0);
            }
    }
}
