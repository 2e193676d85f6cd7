/* Products in registers: the sums of a tile, a few rows by some vectors of columns, stay in registers while factors
 * stream through. Rows and factors are found by pointers, so that what is multiplied need not lie together: windows of
 * images are not copied out first. The widest tiles that the processor has are chosen at run time. A product and its sum
 * are rounded once where it can fuse them, so that processors differ in the last bits, as with OpenBLAS. Not a public
 * header. */
#ifndef HR_TILES_H
#define HR_TILES_H

#include <headrace/base.h>

enum {
    HR__TILE_ROWS = 6,
    HR__TILE_WIDTHS = 3,
    HR__TILE_MAX_WIDTH = 64, /* columns */
};

/* out[r][c] = the sum over i < count and k < depth of a[i * HR__TILE_ROWS + r][k] * b[i][k * width + c]; `add`: added to
 * what is there. */
typedef void hr__tile_rows_fn(const float *const *a, const float *const *b, int64_t count, int64_t depth,
                              float *const *out, bool add);
/* out[r * width + c] += the sum over i < count of a[i][r] * b[i][c]. */
typedef void hr__tile_outer_fn(const float *const *a, const float *const *b, int64_t count, float *out);
/* out[r * out_row + c] = the sum over i < count of a[i * a_row + r * a_step] * b[i * b_row + c]. */
typedef void hr__tile_direct_fn(const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_row,
                                int64_t count, float *out, int64_t out_row);
/* out[i * out_row + c] = the sum over begin[i] <= j < begin[i + 1] of from[at[j] * from_row + c], in that order, for each
 * i < count; `add`: added to what is there. */
typedef void hr__tile_sums_fn(const float *from, int64_t from_row, const int32_t *at, const int32_t *begin,
                              int64_t count, float *out, int64_t out_row, bool add);

/* Tiles of one width. */
typedef struct hr__tile {
    int64_t width;
    hr__tile_rows_fn *rows;
    hr__tile_outer_fn *outer[3];               /* of HR__TILE_ROWS rows, of 2, of 1 */
    hr__tile_direct_fn *direct[HR__TILE_ROWS]; /* of 1 row, of 2, ... */
    hr__tile_sums_fn *sums;
} hr__tile;

/* HR__TILE_WIDTHS of them, the widest first; the last ones may be the same. */
const hr__tile *hr__tiles(void);
const char *hr__tiles_processor(void); /* whose they are: "AVX-512" */

/* The narrowest tile that has `columns`, else the widest. */
const hr__tile *hr__tile_for(int64_t columns);

/* ---- panels: a matrix of `rows` in parts as wide as tiles, each of them row by row, filled up with zeros ---- */

/* The columns that panels of `columns` take up: all but the last panel are whole. */
int64_t hr__panels_width(int64_t columns);
/* Packs the panel that begins with column `column`: value k, n of the matrix is at b + k * row + n * step, one of which
 * is 1. Gives the panel's width. */
int64_t hr__panel_pack(const float *b, int64_t row, int64_t step, int64_t rows, int64_t columns, int64_t column,
                       float *to);
#ifdef __x86_64__
/* to[c * to_row + r] = from[r * from_row + c], 16 rows and columns of each, any bits. For processors with AVX-512. */
void hr__turn_16(const float *from, int64_t from_row, float *to, int64_t to_row);
#endif
/* to[c * to_row + r] = from[r * from_row + c], of each row r and each c < columns: a matrix turned. */
void hr__turn(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to, int64_t to_row);
/* Rows of a matrix, `inner` values each, times packed panels: out [rows, columns]. `a_row`: from row to row. */
void hr__panels_product(const float *a, int64_t a_row, int64_t rows, int64_t inner, const float *panels,
                        int64_t columns, float *out);

#endif
