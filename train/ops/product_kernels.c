/* What computes products: tiles of registers for floats, pairs of bfloat16, OpenBLAS for doubles and what tiles do not
 * fit, plain loops for other types. */
#include "train/ops/bfloat16.h"
#include "train/ops/products.h"
#include "train/ops/tiles.h"
#include <string.h>
#include <tgmath.h>

/* ---- OpenBLAS: every block packs b again, so these are large, and few ---- */

#define BLAS(NAME, T, GEMM)                                                                                            \
    static void NAME(const hr__product *p, int64_t first, int64_t last)                                                \
    {                                                                                                                  \
        const bool alone = hr__blas_begin(p->blas);                                                                    \
        p->blas->GEMM(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans, p->tb ? CblasTrans : CblasNoTrans,             \
                      (blasint)(last - first), (blasint)p->n, (blasint)p->k, 1, (const T *)p->a + first * p->a_row,    \
                      (blasint)p->lda, p->b, (blasint)p->ldb, 0, (T *)p->out + first * p->n, (blasint)p->n);           \
        hr__blas_end(alone);                                                                                           \
    }
BLAS(blas_f32, float, sgemm)
BLAS(blas_f64, double, dgemm)

static bool is_float(const hr__product *p) { return p->dtype == HR_FLOAT; }
static bool is_double(const hr__product *p) { return p->dtype == HR_DOUBLE; }

static const hr__product_kernel blas_of_floats = {
    .name = "OpenBLAS", .wants_blas = true, .takes = is_float, .tile = 1, .run = blas_f32};
static const hr__product_kernel blas_of_doubles = {
    .name = "OpenBLAS", .wants_blas = true, .takes = is_double, .tile = 1, .run = blas_f64};

/* Width 1, of logits and linear models: sgemm would spend its time packing. */
static bool is_vector(const hr__product *p) { return p->dtype == HR_FLOAT && p->n == 1; }

static void row_dots(const hr__product *p, int64_t first, int64_t last)
{
    const float *a = p->a, *b = p->b;
    const bool alone = hr__blas_begin(p->blas);
    for (int64_t i = first; i < last; i++)
        ((float *)p->out)[i] =
            p->blas->sdot((blasint)p->k, a + i * p->a_row, (blasint)p->a_column, b, (blasint)p->b_row);
    hr__blas_end(alone);
}

static const hr__product_kernel dots = {
    .name = "dots", .wants_blas = true, .takes = is_vector, .tile = 1, .run = row_dots};

/* Short vectors, of the last layers of networks, are not worth a call, nor a library. */
static bool is_short_vector(const hr__product *p)
{
    enum { SHORT = 1024 };
    return is_vector(p) && p->k <= SHORT && p->a_column == 1 && p->b_row == 1;
}

static float short_dot(const float *a, const float *b, int64_t count)
{
    enum { LANES = 16 };
    float sum[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int j = 0; j < LANES; j++) sum[j] += a[i + j] * b[i + j];
    for (; i < count; i++) sum[i % LANES] += a[i] * b[i];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++) sum[j] += sum[j + half];
    return sum[0];
}

static void short_dots(const hr__product *p, int64_t first, int64_t last)
{
    const float *a = p->a;
    for (int64_t i = first; i < last; i++) ((float *)p->out)[i] = short_dot(a + i * p->a_row, p->b, p->k);
}

static const hr__product_kernel short_vectors = {
    .name = "short dots", .takes = is_short_vector, .tile = 1, .run = short_dots};

/* A matrix that is turned times a vector, as the gradient of the last layer's weights: its rows are added up where they
 * lie. Each part is summed up by itself, so that sums of many rows stay as exact. */
static bool is_turned_vector(const hr__product *p) { return is_vector(p) && p->a_row == 1; }

static void add_rows(const hr__product *p, int64_t first, int64_t last)
{
    enum { SOME = 128, PART = 64 };
    for (int64_t row = first; row < last; row += SOME) {
        const int64_t count = last - row < SOME ? last - row : SOME;
        const float *a = (const float *)p->a + row, *b = p->b;
        float *out = (float *)p->out + row, sum[SOME];
        memset(out, 0, (size_t)count * sizeof *out);
        for (int64_t part = 0; part < p->k; part += PART) {
            memset(sum, 0, sizeof sum);
            for (int64_t i = part; i < p->k && i < part + PART; i++) {
                const float factor = b[i * p->b_row];
                for (int64_t r = 0; r < count; r++) sum[r] += a[i * p->a_column + r] * factor;
            }
            for (int64_t r = 0; r < count; r++) out[r] += sum[r];
        }
    }
}

static const hr__product_kernel turned_vectors = {
    .name = "rows added up", .takes = is_turned_vector, .tile = 1, .run = add_rows};

/* ---- plain loops ---- */

/* What is turned of complex numbers is conjugated, too, where BatchMatMul's adj_x and adj_y say so. */
#define REAL(x, turned) (x)
#define CONJUGATE(x, turned) ((turned) ? conj(x) : (x))
#define LOOPS(T, V, U, D, S, OF, B)                                                                                    \
    static void rows_##S(const hr__product *p, int64_t first, int64_t last)                                            \
    {                                                                                                                  \
        const T *a = p->a, *b = p->b;                                                                                  \
        T *out = p->out;                                                                                               \
        for (int64_t i = first; i < last; i++) {                                                                       \
            for (int64_t j = 0; j < p->n; j++) {                                                                       \
                U sum = 0;                                                                                             \
                for (int64_t x = 0; x < p->k; x++)                                                                     \
                    sum += OF((U)HR_GET(S, a[i * p->a_row + x * p->a_column]), p->conj_a) *                            \
                           OF((U)HR_GET(S, b[x * p->b_row + j * p->b_column]), p->conj_b);                             \
                out[i * p->n + j] = HR_PUT(S, T, sum);                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }
HR_EACH_TYPE(LOOPS, REAL, ~, ints, halves)
HR_EACH_TYPE(LOOPS, CONJUGATE, ~, complexes)

typedef void product_rows_fn(const hr__product *p, int64_t first, int64_t last);

static bool is_any(const hr__product *p) { return p->dtype != HR_INVALID_DTYPE; }

static void rows_of_type(const hr__product *p, int64_t first, int64_t last)
{
    const hr_type_kernel *loop = hr_kernel_of_type(HR_KERNELS(rows, ints, halves, complexes), p->dtype);
    ((product_rows_fn *)loop->run)(p, first, last);
}

static const hr__product_kernel loops = {.name = "loops", .takes = is_any, .tile = 1, .run = rows_of_type};

/* ---- floats in tiles of registers (tiles.h) ---- */

enum {
    MIN_ROWS = 24,
    MIN_COLUMNS = 16,
    SMALL = 1 << 18, /* values of a matrix that stays in the cache */
    LARGE = 1 << 24, /* that is copied */
};

static bool fits_registers(const hr__product *p)
{
    return p->dtype == HR_FLOAT && p->alone && p->n >= MIN_COLUMNS && hr__tiles()->width >= MIN_COLUMNS;
}

static bool is_small(const hr__product *p) { return p->k <= SMALL / p->n; }

/* Both matrices are read where they lie; but of the last columns, fewer than the narrowest tile has, b is packed. In deep
 * products values lie too far apart, and rows a multiple of a page apart share few places of the first cache. If a is
 * turned, as of gradients of weights, shallow products wait for memory. */
enum { MIN_DEPTH = 128, MAX_DEPTH = 1024, PAGE = 1024 /* floats */, ALL = 1 << 30 };

static bool fits_direct(const hr__product *p)
{
    if (!fits_registers(p) || p->tb) return false;
    if (p->m < MIN_ROWS) return is_small(p); /* of predictions, for which OpenBLAS is not worth loading */
    const bool near = p->b_row % PAGE != 0 && (!p->ta || p->a_column % PAGE != 0);
    return is_small(p) && near && p->k < MAX_DEPTH && (!p->ta || p->k >= MIN_DEPTH);
}

static int64_t narrowest(void) { return hr__tiles()[HR__TILE_WIDTHS - 1].width; }

static hr_status direct_memory(const hr__product *p, int64_t *bytes, hr_error *err)
{
    (void)err; /* b is small */
    *bytes = p->n % narrowest() ? p->k * narrowest() * (int64_t)sizeof(float) : 0;
    return HR_OK;
}

static void direct_pack(const hr__product *p, int64_t column)
{
    const int64_t last = p->n - p->n % narrowest();
    (void)column; /* 0 */
    if (last < p->n) hr__panel_pack(p->b, p->b_row, p->b_column, p->k, p->n, last, p->packed);
}

/* The widest tile that columns fill, else the narrowest. */
static const hr__tile *direct_tile(int64_t columns)
{
    const hr__tile *all = hr__tiles();
    int i = 0;
    while (i < HR__TILE_WIDTHS - 1 && all[i].width > columns) i++;
    return &all[i];
}

static void direct_run(const hr__product *p, int64_t first, int64_t last)
{
    float beside[HR__TILE_ROWS * HR__TILE_MAX_WIDTH];
    const hr__tile *tile;
    for (int64_t column = 0; column < p->n; column += tile->width) {
        tile = direct_tile(p->n - column);
        const int64_t width = tile->width, there = p->n - column < width ? p->n - column : width;
        const float *b = there < width ? p->packed : (const float *)p->b + column;
        for (int64_t row = first; row < last; row += HR__TILE_ROWS) {
            const int64_t rows = last - row < HR__TILE_ROWS ? last - row : HR__TILE_ROWS;
            float *out = (float *)p->out + row * p->n + column;
            tile->direct[rows - 1]((const float *)p->a + row * p->a_row, p->a_column, p->a_row, b,
                                   there < width ? width : p->b_row, p->k, there < width ? beside : out,
                                   there < width ? width : p->n);
            for (int64_t r = 0; there < width && r < rows; r++)
                memcpy(out + r * p->n, beside + r * width, (size_t)there * sizeof *out);
        }
    }
}

static const hr__product_kernel direct = {.name = "tiles in place",
                                          .takes = fits_direct,
                                          .block = HR__TILE_ROWS,
                                          .tile = HR__TILE_ROWS,
                                          .columns = ALL,
                                          .memory = direct_memory,
                                          .pack = direct_pack,
                                          .run = direct_run};

/* b is packed once for all blocks. If a is turned, each block lays out its rows, so that their values are neighbours:
 * after the panels. */
static bool fits_panels(const hr__product *p) { return fits_registers(p) && p->m >= MIN_ROWS && p->k <= LARGE / p->n; }

/* Blocks of few rows are shared out more evenly, but each reads all of b. */
static bool fits_small_panels(const hr__product *p) { return fits_panels(p) && is_small(p) && !p->ta; }

static hr_status panels_memory(const hr__product *p, int64_t *bytes, hr_error *err)
{
    int64_t rows = 0;
    if (p->ta) HR_TRY(hr_dim_mul(p->m, p->k, &rows, err));
    HR_TRY(hr_dim_add(rows, p->k * hr__panels_width(p->n), &rows, err)); /* at most 16 columns more than b has */
    return hr_dim_mul(rows, sizeof(float), bytes, err);
}

static void panels_pack(const hr__product *p, int64_t column)
{
    float *packed = p->packed;
    const int64_t end = column + HR__TILE_MAX_WIDTH < p->n ? column + HR__TILE_MAX_WIDTH : p->n;
    while (column < end)
        column += hr__panel_pack(p->b, p->b_row, p->b_column, p->k, p->n, column, packed + column * p->k);
}

static void panels_run(const hr__product *p, int64_t first, int64_t last)
{
    const float *a = (const float *)p->a + first * p->a_row, *packed = p->packed;
    float *turned = (float *)p->packed + p->k * hr__panels_width(p->n) + first * p->k;
    if (p->ta) hr__turn(a, p->a_column, p->k, last - first, turned, p->k);
    hr__panels_product(p->ta ? turned : a, p->ta ? p->k : p->a_row, last - first, p->k, packed, p->n,
                       (float *)p->out + first * p->n);
}

static const hr__product_kernel small_panels = {.name = "tiles of a small matrix",
                                                .takes = fits_small_panels,
                                                .block = 12,
                                                .tile = HR__TILE_ROWS,
                                                .columns = HR__TILE_MAX_WIDTH,
                                                .memory = panels_memory,
                                                .pack = panels_pack,
                                                .run = panels_run};
static const hr__product_kernel panels = {.name = "tiles",
                                          .takes = fits_panels,
                                          .block = 48,
                                          .tile = HR__TILE_ROWS,
                                          .columns = HR__TILE_MAX_WIDTH,
                                          .memory = panels_memory,
                                          .pack = panels_pack,
                                          .run = panels_run};

/* ---- floats that are rounded to bfloat16 (bfloat16.h) ----
 *
 * Panels of b come first in the packed memory, then the rows of a, where each block finds its own: in pairs along the
 * row, or, if a is turned, pair by pair of all rows of the block. */

enum { LINE = 16 /* words */ };

static bool is_rounded(const hr__product *p) { return p->dtype == HR_FLOAT && p->bfloat16; }

static int64_t rounded_panels(const hr__product *p)
{
    const int64_t words = hr__pairs_panels_size(p->k, p->n);
    return words + (LINE - words % LINE) % LINE;
}

static hr_status rounded_memory(const hr__product *p, int64_t *bytes, hr_error *err)
{
    int64_t rows, panels;
    HR_TRY(hr_dim_mul(p->m, hr__pairs_of(p->k), &rows, err));
    HR_TRY(hr_dim_mul(p->n + HR__PAIRS_MAX_WIDTH, hr__pairs_of(p->k), &panels, err)); /* more than there are */
    HR_TRY(hr_dim_add(rows, panels + LINE, &rows, err));
    HR_TRY(hr_dim_mul(rows, sizeof(uint32_t), &rows, err));
    *bytes = (rounded_panels(p) + p->m * hr__pairs_of(p->k)) * (int64_t)sizeof(uint32_t);
    return HR_OK;
}

static void rounded_pack(const hr__product *p, int64_t column)
{
    const int64_t end = column + HR__PAIRS_MAX_WIDTH < p->n ? column + HR__PAIRS_MAX_WIDTH : p->n;
    for (int64_t width; column < end; column += width) {
        width = hr__pairs_tile_for(p->n - column)->width;
        hr__pairs_panel_pack((const float *)p->b + column * p->b_column, p->b_row, p->b_column, p->k,
                             p->n - column < width ? p->n - column : width, width,
                             (uint32_t *)p->packed + column * hr__pairs_of(p->k));
    }
}

static void rounded_run(const hr__product *p, int64_t first, int64_t last)
{
    const int64_t pairs = hr__pairs_of(p->k), rows = last - first;
    const float *from = (const float *)p->a + first * p->a_row;
    uint32_t *panels = p->packed, *a = panels + rounded_panels(p) + first * pairs;
    float *out = (float *)p->out + first * p->n;
    if (p->ta) {
        hr__pairs_across(from, p->a_column, p->k, rows, a, rows);
        hr__pairs_panels_product(a, 1, rows, rows, pairs, panels, p->n, out);
        return;
    }
    for (int64_t r = 0; r < rows; r++) hr__pairs_along(from + r * p->a_row, p->k, a + r * pairs);
    hr__pairs_panels_product(a, pairs, 1, rows, pairs, panels, p->n, out);
}

static const hr__product_kernel rounded = {.name = "bfloat16",
                                           .takes = is_rounded,
                                           .block = 24,
                                           .tile = HR__PAIRS_ROWS,
                                           .columns = HR__PAIRS_MAX_WIDTH,
                                           .memory = rounded_memory,
                                           .pack = rounded_pack,
                                           .run = rounded_run};

/* ---- the list ---- */

const hr__product_kernel *const hr__product_kernels[] = {
    &rounded, &short_vectors,  &turned_vectors,  &dots,  &direct, &small_panels,
    &panels,  &blas_of_floats, &blas_of_doubles, &loops, NULL};

const hr__product_kernel *hr__product_kernel_for(const hr__product *p)
{
    int i = 0;
    while (!hr__product_kernels[i]->takes(p)) i++; /* the last one takes all */
    return hr__product_kernels[i];
}
