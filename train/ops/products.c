/* See products.h: products in blocks of rows. The blocks follow from the shape alone, so that the result does not depend
 * on threads. A bias is added to each block, and an element-wise op applied, while the block is in the cache. */
#include "train/ops/products.h"
#include "train/ops/bfloat16.h"
#include "train/ops/tiles.h"
#include <headrace/ops.h>
#include <stdio.h>
#include <string.h>

enum { FEW_ROWS = 1024, BLOCK = 128 /* rows of OpenBLAS's blocks; twice so many of more rows than FEW_ROWS */ };

typedef struct blocks {
    hr__product p;         /* the first */
    hr_shape batch, in[2]; /* how the products are numbered; the shapes of both inputs */
    const hr__product_kernel *kernel;
    int64_t products;
    int64_t count;               /* of the blocks of a product */
    int64_t parts;               /* that are packed of a product */
    int64_t bytes;               /* of what is packed of one */
    const hr_epilogue *epilogue; /* of one product of floats; NULL: that is the result */
    const hr_tensor *bias;
} blocks;

static void finish_rows(const blocks *b, int64_t row, int64_t end)
{
    if (b->epilogue) hr_epilogue_run(b->epilogue, b->bias, (float *)b->p.out + row * b->p.n, end - row);
}

/* Number `of`. Dimensions of 1 stand still. */
static hr__product product_of(const blocks *b, int64_t of)
{
    const int64_t width = (int64_t)hr_dtype_size(b->p.dtype);
    int64_t from[2] = {0, 0}, size[2] = {1, 1};
    hr__product p = b->p;
    p.out = (char *)p.out + of * p.m * p.n * width;
    if (b->bytes > 0) p.packed = (char *)p.packed + of * b->bytes;
    for (int d = b->batch.rank - 1; d >= 0; of /= b->batch.dims[d], d--)
        for (int in = 0; in < 2; in++) {
            const int own = d - b->batch.rank + b->in[in].rank - 2;
            if (own < 0) continue;
            if (b->in[in].dims[own] > 1) from[in] += of % b->batch.dims[d] * size[in];
            size[in] *= b->in[in].dims[own];
        }
    p.a = (const char *)p.a + from[0] * p.m * p.k * width;
    p.b = (const char *)p.b + from[1] * p.k * p.n * width;
    return p;
}

/* Item i is part i % parts of product i / parts. */
static void pack_parts(int64_t first, int64_t last, void *user)
{
    const blocks *b = user;
    for (int64_t i = first; i < last; i++) {
        const hr__product p = product_of(b, i / b->parts);
        b->kernel->pack(&p, i % b->parts * b->kernel->columns);
    }
}

/* Item i is block i % count of product i / count. */
static void run_blocks(int64_t first, int64_t last, void *user)
{
    const blocks *b = user;
    const int64_t tile = b->kernel->tile, tiles = (b->p.m + tile - 1) / tile;
    for (int64_t i = first; i < last; i++) {
        const int64_t block = i % b->count, end = tiles * (block + 1) / b->count * tile;
        const int64_t row = tiles * block / b->count * tile, there = end < b->p.m ? end : b->p.m;
        const hr__product p = product_of(b, i / b->count);
        b->kernel->run(&p, row, there);
        finish_rows(b, row, there);
    }
}

static void take_inputs(const hr_kernel *k, const hr__products *all, blocks *b)
{
    const hr_shape a = all->a->shape, of_b = all->b->shape, out = all->out->shape;
    const int64_t lda = a.dims[a.rank - 1], ldb = of_b.dims[of_b.rank - 1];
    *b = (blocks){.batch = out, .in = {a, of_b}, .epilogue = all->epilogue, .bias = all->bias};
    b->batch.rank -= 2;
    b->products = hr_values_before_axis(out, out.rank - 2);
    b->p = (hr__product){.a = all->a->data,
                         .b = all->b->data,
                         .out = all->out->data,
                         .m = out.dims[out.rank - 2],
                         .n = out.dims[out.rank - 1],
                         .k = a.dims[a.rank - (all->ta ? 2 : 1)],
                         .lda = lda,
                         .ldb = ldb,
                         .a_row = all->ta ? 1 : lda,
                         .a_column = all->ta ? lda : 1,
                         .b_row = all->tb ? 1 : ldb,
                         .b_column = all->tb ? ldb : 1,
                         .ta = all->ta,
                         .tb = all->tb,
                         .conj_a = all->ta && all->conjugate,
                         .conj_b = all->tb && all->conjugate,
                         .alone = b->products == 1,
                         .bfloat16 = hr_kernel_products(k) == HR_PRODUCTS_BFLOAT16,
                         .dtype = all->a->dtype};
}

static hr_status pack(hr_kernel *k, blocks *b, hr_error *err)
{
    const hr__product_kernel *kernel = b->kernel;
    int64_t bytes;
    if (!kernel->pack) return HR_OK;
    HR_TRY(kernel->memory(&b->p, &b->bytes, err));
    if (b->bytes == 0) return HR_OK;
    HR_TRY(hr_dim_mul(b->bytes, b->products, &bytes, err));
    HR_TRY(hr_kernel_array(k, bytes, 1, "a packed matrix", &b->p.packed, err));
    b->parts = (b->p.n + kernel->columns - 1) / kernel->columns;
    hr_kernel_parallel(k, b->products * b->parts, (double)(b->p.k * kernel->columns) / 10, pack_parts, b);
    return HR_OK;
}

hr_status hr__products_run(hr_kernel *k, const hr__products *all, hr_error *err)
{
    blocks b;
    take_inputs(k, all, &b);
    if (all->out->count == 0) return HR_OK;
    if (b.p.k == 0) {
        memset(all->out->data, 0, (size_t)all->out->count * hr_dtype_size(all->out->dtype));
        finish_rows(&b, 0, b.p.m);
        return HR_OK;
    }
    b.kernel = hr__product_kernel_for(&b.p);
    if (b.kernel->wants_blas) HR_TRY(hr__blas_load(&b.p.blas, err));
    const int64_t block = b.kernel->block ? b.kernel->block : b.p.m >= FEW_ROWS ? 2 * BLOCK : BLOCK;
    b.count = (b.p.m + block / 2) / block;
    if (b.count < 1) b.count = 1;
    HR_TRY(pack(k, &b, err));
    /* 100 floating point operations a nanosecond: what is worth a thread. */
    hr_kernel_parallel(k, b.products * b.count,
                       (double)(2 * b.p.n * b.p.k) / 100 * (double)(b.p.m < block ? b.p.m : block), run_blocks, &b);
    return HR_OK;
}

void hr_products_text(hr_products products, char *text, size_t size)
{
    if (!text) return;
    const char *blas = hr__blas_loaded(), *rounded = products == HR_PRODUCTS_BFLOAT16 ? "bfloat16, " : "";
    (void)snprintf(text, size, "%s%s%stiles of %s", rounded, blas ? blas : "", blas ? ", " : "", hr__tiles_processor());
}

bool hr_products_are_fast(hr_products products) { return products == HR_PRODUCTS_FLOAT || hr__pairs_are_fast(); }
