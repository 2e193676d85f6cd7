/* Sums of products of bfloat16 numbers in float: the upper halves of floats, rounded to the nearest, ties to even. What
 * is multiplied lies in pairs, two numbers that follow each other along the sum in one word, the first in its lower
 * half; an odd number of them has a zero behind it. A sum takes the second product of a pair, then the first, each rounded
 * once with its addition. Numbers below FLT_MIN, also sums, are zeros. That is what AVX512_BF16's VDPBF16PS does; where a
 * processor lacks it, plain C gives the same bits, slowly. Not a public header. */
#ifndef HR_BFLOAT16_H
#define HR_BFLOAT16_H

#include <headrace/base.h>

enum {
    HR__PAIRS_ROWS = 6,
    HR__PAIRS_MAX_WIDTH = 64, /* columns */
};

/* out[r][c] = the sum over i < count and p < pairs of both products of a[i * HR__PAIRS_ROWS + r][p * step] and
 * b[i][p * width + c]; `add`: added to what is there. */
typedef void hr__pairs_rows_fn(const uint32_t *const *a, int64_t step, const uint32_t *const *b, int64_t count,
                               int64_t pairs, float *const *out, bool add);

/* Tiles of one width. */
typedef struct hr__pairs_tile {
    int64_t width;
    hr__pairs_rows_fn *rows;
} hr__pairs_tile;

/* The narrowest tile that has `columns`, else the widest. */
const hr__pairs_tile *hr__pairs_tile_for(int64_t columns);
/* The tile of a width that tiles of floats have (tiles.h) on this processor. */
const hr__pairs_tile *hr__pairs_tile_of(int64_t width);
bool hr__pairs_are_fast(void); /* the processor has AVX512_BF16 */

static inline int64_t hr__pairs_of(int64_t count) { return (count + 1) / 2; }

/* Pairs of neighbours: `count` numbers, hr__pairs_of(count) words. */
void hr__pairs_along(const float *from, int64_t count, uint32_t *to);
/* Pairs of rows: words p of row 2 p and the one after it, of `columns` columns. `from_row`, `to_row`: from row to row. */
void hr__pairs_across(const float *from, int64_t from_row, int64_t rows, int64_t columns, uint32_t *to, int64_t to_row);

/* ---- panels, as of tiles.h: a matrix of `rows` in parts as wide as tiles, pair of rows by pair of rows ---- */

/* Words of all panels. */
int64_t hr__pairs_panels_size(int64_t rows, int64_t columns);
/* Packs the first `there` columns of a matrix as a panel: value k, n is at b + k * row + n * step, one of both is 1. */
void hr__pairs_panel_pack(const float *b, int64_t row, int64_t step, int64_t rows, int64_t there, int64_t width,
                          uint32_t *to);
/* Rows of pairs times packed panels: out [rows, columns]. Row m of `a` begins at a + m * a_row, its pairs lie `step`
 * apart. */
void hr__pairs_panels_product(const uint32_t *a, int64_t a_row, int64_t step, int64_t rows, int64_t pairs,
                              const uint32_t *panels, int64_t columns, float *out);

/* Six rows of products, or the `there` that are left of them: the others as of hr__pairs_rows_fn. */
void hr__pairs_six_rows(const hr__pairs_tile *tile, const uint32_t *const *a, int64_t step, const uint32_t *const *b,
                        int64_t count, int64_t pairs, float *out, int64_t out_row, int64_t there, bool add);

#endif
