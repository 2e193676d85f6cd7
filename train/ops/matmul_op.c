/* MatMul, BatchMatMul, BatchMatMulV2: products of matrices, in blocks of rows, floats in tiles of registers where one
 * matrix stays in the cache, else by OpenBLAS, as doubles; other types by plain loops.
 * The blocks follow from the shape alone, so that the result does not depend on threads. _FusedMatMul adds a bias to each
 * block, and applies an element-wise op, while the block is in the cache. */
#include "train/ops/products.h"
#include "train/ops/tiles.h"
#include <tgmath.h>
#include <string.h>

typedef struct matmul_state {
    bool ta, tb;
    const hr__blas *blas; /* NULL: of whole numbers, which do without */
    bool fused;
    hr_epilogue epilogue;
} matmul_state;

/* Rows and columns of an input, as multiplied: the last two dimensions. Before them, matrices are numbered. */
static int64_t matmul_rows_of(hr_shape s, bool transposed) { return s.dims[s.rank - (transposed ? 1 : 2)]; }
static int64_t matmul_columns_of(hr_shape s, bool transposed) { return s.dims[s.rank - (transposed ? 2 : 1)]; }

static bool matmul_is_one(hr_node node) { return hr_node_is(node, "MatMul") || hr_node_is(node, "_FusedMatMul"); }
static bool matmul_turns(hr_node node, int input)
{
    static const char *const names[2][2] = {{"adj_x", "adj_y"}, {"transpose_a", "transpose_b"}};
    return hr_attr_bool(node, names[matmul_is_one(node)][input]);
}

/* False: they cannot be multiplied. The numbers of matrices broadcast in BatchMatMulV2. */
static bool matmul_product(hr_node node, hr_shape a, hr_shape b, hr_shape *out)
{
    const bool ta = matmul_turns(node, 0), tb = matmul_turns(node, 1), one = matmul_is_one(node);
    if (one && (!hr_shape_merge(a, HR_SHAPE(-1, -1), &a) || !hr_shape_merge(b, HR_SHAPE(-1, -1), &b))) return false;
    if (a.rank == 0 || a.rank == 1 || b.rank == 0 || b.rank == 1) return false;
    *out = HR_UNKNOWN_SHAPE;
    if (a.rank < 0 || b.rank < 0) return true;
    const int64_t inner_a = matmul_columns_of(a, ta), inner_b = matmul_rows_of(b, tb);
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b) return false;
    const int64_t rows = matmul_rows_of(a, ta), columns = matmul_columns_of(b, tb);
    a.rank -= 2;
    b.rank -= 2;
    if (!(hr_node_is(node, "BatchMatMulV2") ? hr_shape_broadcast : hr_shape_merge)(a, b, out)) return false;
    out->dims[out->rank++] = rows;
    out->dims[out->rank++] = columns;
    return true;
}

static hr_status matmul_shape(hr_infer *s, hr_error *err)
{
    return matmul_product(s->node, s->input[0], s->input[1], &s->output[0])
               ? HR_OK
               : hr_infer_refuse(s, err, "matrices whose inner dimensions agree");
}

static hr_status matmul_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    matmul_state *st = state;
    const hr_dtype dtype = hr_node_dtype(node);
    *st = (matmul_state){.ta = matmul_turns(node, 0), .tb = matmul_turns(node, 1)};
    return dtype == HR_FLOAT || dtype == HR_DOUBLE ? hr__blas_load(&st->blas, err) : HR_OK;
}

static hr_status matmul_prepare_fused(hr_node node, hr_session *session, void *state, hr_error *err)
{
    matmul_state *st = state;
    HR_TRY(matmul_prepare(node, session, state, err));
    st->fused = true;
    return hr_epilogue_read(node, &st->epilogue, err);
}

/* One product: row i of a begins at a + i * a_row, its values lie a_column apart. */
typedef struct product {
    const void *a, *b;
    void *out;
    int64_t n, k, a_row, a_column, b_row, b_column;
    int64_t lda, ldb;
    bool ta, tb, conj_a, conj_b;
    const hr__blas *blas;
    float *panels; /* b, packed for tiles; NULL: b itself is multiplied */
} product;

static void rows_f32(int64_t first, int64_t last, void *user)
{
    const product *p = user;
    const bool alone = hr__blas_begin(p->blas);
    p->blas->sgemm(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans, p->tb ? CblasTrans : CblasNoTrans,
                   (blasint)(last - first), (blasint)p->n, (blasint)p->k, 1, (const float *)p->a + first * p->a_row,
                   (blasint)p->lda, p->b, (blasint)p->ldb, 0, (float *)p->out + first * p->n, (blasint)p->n);
    hr__blas_end(alone);
}

static void rows_f64(int64_t first, int64_t last, void *user)
{
    const product *p = user;
    const bool alone = hr__blas_begin(p->blas);
    p->blas->dgemm(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans, p->tb ? CblasTrans : CblasNoTrans,
                   (blasint)(last - first), (blasint)p->n, (blasint)p->k, 1, (const double *)p->a + first * p->a_row,
                   (blasint)p->lda, p->b, (blasint)p->ldb, 0, (double *)p->out + first * p->n, (blasint)p->n);
    hr__blas_end(alone);
}

/* What is turned of complex numbers is conjugated, too, where BatchMatMul's adj_x and adj_y say so. */
#define REAL(x, turned) (x)
#define CONJUGATE(x, turned) ((turned) ? conj(x) : (x))
#define ROWS(T, V, U, D, S, OF, B)                                                                                     \
    static void rows_##S(int64_t first, int64_t last, void *user)                                                      \
    {                                                                                                                  \
        const product *p = user;                                                                                       \
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
HR_EACH_TYPE(ROWS, REAL, ~, ints, halves)
HR_EACH_TYPE(ROWS, CONJUGATE, ~, complexes)

/* Width 1, of logits and linear models: sgemm would spend its time packing. */
static void row_dots(int64_t first, int64_t last, void *user)
{
    const product *p = user;
    const float *a = p->a, *b = p->b;
    const bool alone = hr__blas_begin(p->blas);
    for (int64_t i = first; i < last; i++)
        ((float *)p->out)[i] =
            p->blas->sdot((blasint)p->k, a + i * p->a_row, (blasint)p->a_column, b, (blasint)p->b_row);
    hr__blas_end(alone);
}

/* ---- floats in tiles of registers (tiles.h): b is packed once for all blocks, if it stays in the cache ---- */

enum { TILES_ROWS = 12 /* of a block */, MIN_ROWS = 24, MIN_COLUMNS = 16, MAX_VALUES = 1 << 18 /* of b */ };

static void rows_in_tiles(int64_t first, int64_t last, void *user)
{
    const product *p = user;
    hr__panels_product((const float *)p->a + first * p->a_row, p->a_row, last - first, p->k, p->panels, p->n,
                       (float *)p->out + first * p->n);
}

/* Item: a panel. All but the last have the same width. */
static void pack_panels(int64_t first, int64_t last, void *user)
{
    const product *p = user;
    const int64_t width = hr__tile_for(p->n)->width;
    for (int64_t i = first; i < last; i++)
        for (int64_t column = i * width; column < p->n && column < (i + 1) * width;)
            column += hr__panel_pack(p->b, p->b_row, p->b_column, p->k, p->n, column, p->panels + column * p->k);
}

static bool fits_tiles(const product *p, hr_dtype dtype, int64_t products, int64_t rows)
{
    return dtype == HR_FLOAT && !p->ta && products == 1 && rows >= MIN_ROWS && p->n >= MIN_COLUMNS &&
           p->k <= MAX_VALUES / p->n && hr__tiles()->width >= MIN_COLUMNS;
}

/* Every block of OpenBLAS packs b again, so these are large, and few. */
enum { BLOCK_ROWS = 128 };

typedef struct blocks {
    product p;             /* the first */
    hr_shape batch, in[2]; /* how the products are numbered; the shapes of both inputs */
    int64_t rows, count;
    int64_t tile;  /* rows that a block has together */
    int64_t width; /* bytes of a value */
    void (*multiply)(int64_t first, int64_t last, void *user);
    const hr_epilogue *epilogue; /* of one product of floats; NULL: that is the result */
    const hr_tensor *bias;
} blocks;

static void finish_rows(const blocks *b, int64_t row, int64_t end)
{
    hr_epilogue_run(b->epilogue, b->bias, (float *)b->p.out + row * b->p.n, end - row);
}

/* Item i is block i % count of product i / count. */
static void some_blocks(int64_t first, int64_t last, void *user)
{
    const blocks *b = user;
    for (int64_t i = first; i < last; i++) {
        const int64_t block = i % b->count;
        int64_t of = i / b->count, from[2] = {0, 0}, size[2] = {1, 1};
        product p = b->p;
        p.out = (char *)p.out + of * b->rows * p.n * b->width;
        for (int d = b->batch.rank - 1; d >= 0; of /= b->batch.dims[d], d--) /* dimensions of 1 stand still */
            for (int in = 0; in < 2; in++) {
                const int own = d - b->batch.rank + b->in[in].rank - 2;
                if (own < 0) continue;
                if (b->in[in].dims[own] > 1) from[in] += of % b->batch.dims[d] * size[in];
                size[in] *= b->in[in].dims[own];
            }
        p.a = (const char *)p.a + from[0] * b->rows * p.k * b->width;
        p.b = (const char *)p.b + from[1] * p.k * p.n * b->width;
        const int64_t tiles = (b->rows + b->tile - 1) / b->tile, last = tiles * (block + 1) / b->count * b->tile;
        const int64_t row = tiles * block / b->count * b->tile, end = last < b->rows ? last : b->rows;
        b->multiply(row, end, &p);
        if (b->epilogue) finish_rows(b, row, end);
    }
}

typedef void multiply_fn(int64_t first, int64_t last, void *user);

static multiply_fn *multiply_of(hr_dtype dtype, int64_t width)
{
    if (dtype == HR_FLOAT && width == 1) return row_dots;
    return (multiply_fn *)hr_kernel_of_type(HR_KERNELS(rows, floats, ints, halves, complexes), dtype)->run;
}

void hr__products_run(hr_kernel *k, const hr__products *all)
{
    const hr_tensor *a = all->a, *b = all->b;
    const hr_shape shape = all->out->shape;
    const int64_t m = matmul_rows_of(a->shape, all->ta), n = matmul_columns_of(b->shape, all->tb),
                  inner = matmul_columns_of(a->shape, all->ta);
    const int64_t lda = a->shape.dims[a->shape.rank - 1], ldb = b->shape.dims[b->shape.rank - 1];
    blocks work = {.rows = m, .tile = 1, .multiply = multiply_of(a->dtype, n)};
    work.p = (product){.a = a->data,
                       .b = b->data,
                       .out = all->out->data,
                       .n = n,
                       .k = inner,
                       .lda = lda,
                       .ldb = ldb,
                       .ta = all->ta,
                       .tb = all->tb,
                       .conj_a = all->ta && all->conjugate,
                       .conj_b = all->tb && all->conjugate,
                       .blas = all->blas};
    work.epilogue = all->epilogue, work.bias = all->bias;
    work.width = (int64_t)hr_dtype_size(a->dtype);
    work.in[0] = a->shape;
    work.in[1] = b->shape;
    work.batch = shape;
    work.batch.rank -= 2;
    work.p.a_row = all->ta ? 1 : lda;
    work.p.a_column = all->ta ? lda : 1;
    work.p.b_row = all->tb ? 1 : ldb;
    work.p.b_column = all->tb ? ldb : 1;
    if (all->out->count == 0) return;
    if (inner == 0) {
        memset(all->out->data, 0, (size_t)all->out->count * hr_dtype_size(all->out->dtype));
        if (all->epilogue) finish_rows(&work, 0, m);
        return;
    }
    const int64_t products = hr_values_before_axis(shape, shape.rank - 2);
    int64_t block = m >= 1024 ? 2 * BLOCK_ROWS : BLOCK_ROWS;
    if (fits_tiles(&work.p, a->dtype, products, m)) {
        const int64_t width = hr__tile_for(n)->width;
        work.p.panels = hr_kernel_temp(k, (size_t)(inner * hr__panels_width(n)) * sizeof(float));
        if (work.p.panels) {
            hr_kernel_parallel(k, (n + width - 1) / width, (double)(inner * width) / 10, pack_panels, &work.p);
            work.multiply = rows_in_tiles;
            work.tile = HR__TILE_ROWS;
            block = TILES_ROWS;
        }
    }
    work.count = (m + block / 2) / block;
    if (work.count < 1) work.count = 1;
    /* 100 floating point operations a nanosecond: what is worth a thread. */
    hr_kernel_parallel(k, products * work.count, (double)(2 * n * inner) / 100 * (double)(m < block ? m : block),
                       some_blocks, &work);
}

static hr_status matmul_compute(hr_kernel *k, hr_error *err)
{
    const matmul_state *st = k->state;
    const hr_tensor *a = k->input[0], *b = k->input[1];
    hr_shape shape;
    hr_tensor *out;
    char x[128], y[128];
    bool fits = matmul_product(k->node, a->shape, b->shape, &shape);
    for (int i = 1; fits && i <= 2; i++)
        fits = a->shape.dims[a->shape.rank - i] < INT32_MAX && b->shape.dims[b->shape.rank - i] < INT32_MAX;
    if (!fits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inner dimensions to agree, got %s%s x %s%s",
                       hr_shape_text(a->shape, x, sizeof x), st->ta ? " transposed" : "",
                       hr_shape_text(b->shape, y, sizeof y), st->tb ? " transposed" : "");
    if (st->fused) HR_TRY(hr_epilogue_check(k->input[2], shape.dims[shape.rank - 1], err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    hr__products_run(k, &(hr__products){.a = a,
                                        .b = b,
                                        .out = out,
                                        .ta = st->ta,
                                        .tb = st->tb,
                                        .conjugate = !matmul_is_one(k->node),
                                        .blas = st->blas,
                                        .epilogue = st->fused ? &st->epilogue : NULL,
                                        .bias = st->fused ? k->input[2] : NULL});
    return HR_OK;
}

/* By `input`, summed over the matrices that it was broadcast to. */
static void give_product(hr_backward *b, int input, hr_node x, hr_node y, bool tx, bool ty)
{
    const bool one = hr_node_is(b->node, "MatMul");
    const hr_node by = hr_new_node(
        b->graph, hr_node_op(b->node), HR_INPUTS(x, y),
        HR_ATTRS(HR_BOOL_ATTR(one ? "transpose_a" : "adj_x", tx), HR_BOOL_ATTR(one ? "transpose_b" : "adj_y", ty)));
    const bool broadcasts = hr_node_is(b->node, "BatchMatMulV2");
    hr_backward_give(b, input, broadcasts ? hr_gradient_unbroadcast(by, b->input[input], by) : by);
}

static void matmul_gradient(hr_backward *b)
{
    const bool tx = matmul_turns(b->node, 0), ty = matmul_turns(b->node, 1);
    const hr_node g = b->grad[0], x = b->input[0], y = b->input[1];
    give_product(b, 0, tx ? y : g, tx ? g : y, tx && ty, tx || !ty);
    give_product(b, 1, ty ? g : x, ty ? x : g, ty || !tx, tx && ty);
}

/* Those that conjugate what they turn give the gradient of complex numbers by that. */
#define PRODUCT(NAME, TRAITS)                                                                                          \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = (TRAITS), .state_size = sizeof(matmul_state),              \
        .shape = matmul_shape, .load = hr__blas_load_early, .prepare = matmul_prepare, .compute = matmul_compute,      \
        .gradient = matmul_gradient,                                                                                   \
    }

const hr_graph_op hr_graph_ops_matmul_op[] = {
    PRODUCT("MatMul", 0),
    PRODUCT("BatchMatMul", HR_COMPLEX_GRADIENT),
    PRODUCT("BatchMatMulV2", HR_COMPLEX_GRADIENT),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "_FusedMatMul",
        .types = "T:{float}",
        .shapes = "[?,?], [?,?], [?] -> [?,?]",
        .state_size = sizeof(matmul_state),
        .shape = matmul_shape,
        .prepare = matmul_prepare_fused,
        .compute = matmul_compute,
    },
    HR_GRAPH_OPS_END,
};

/* A variable counts as its value. */
static int rank_of_value(hr_node x)
{
    hr_handle_info variable;
    return hr_handle_of(x, &variable) ? variable.shape.rank : hr_node_shape(x).rank;
}

/* BatchMatMulV2 conjugates what it turns: what is only turned is conjugated before. */
static hr_node turned_alone(hr_node x, bool turned) { return turned ? hr_conj(x) : x; }

hr_node hr_matmul_with(hr_node a, hr_node b, const hr_matmul_opts *opts)
{
    const hr_matmul_opts o = HR_OPTIONS(hr_matmul_opts, opts);
    if ((o.transpose_a && o.adjoint_a) || (o.transpose_b && o.adjoint_b))
        return hr_node_fail(a.graph, HR_INVALID_ARGUMENT, "graph.argument",
                            "hr_matmul: expected an input that is transposed or adjoint, got one that is both");
    if (!o.adjoint_a && !o.adjoint_b && rank_of_value(a) == 2 && rank_of_value(b) == 2)
        return hr_new_node(
            a.graph, "MatMul", .name = o.name, HR_INPUTS(a, b),
            HR_ATTRS(HR_BOOL_ATTR("transpose_a", o.transpose_a), HR_BOOL_ATTR("transpose_b", o.transpose_b)));
    return hr_new_node(a.graph, "BatchMatMulV2", .name = o.name,
                       HR_INPUTS(turned_alone(a, o.transpose_a), turned_alone(b, o.transpose_b)),
                       HR_ATTRS(HR_BOOL_ATTR("adj_x", o.transpose_a || o.adjoint_a),
                                HR_BOOL_ATTR("adj_y", o.transpose_b || o.adjoint_b)));
}
