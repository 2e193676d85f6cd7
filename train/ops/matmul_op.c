/* MatMul, BatchMatMul, BatchMatMulV2: products of matrices, in blocks of rows by OpenBLAS; other types by plain loops.
 * The blocks follow from the shape alone, so that the result does not depend on threads. _FusedMatMul adds a bias to each
 * block, and applies an element-wise op, while the block is in the cache. */
#include "train/ops/blas.h"
#include <headrace/kernels.h>
#include <string.h>
#include <uv.h>

typedef struct matmul_state {
    bool ta, tb;
    const hr__blas *blas; /* NULL: of whole numbers, which do without */
    bool fused;
    hr_epilogue epilogue;
} matmul_state;

/* Rows and columns of an input, as multiplied: the last two dimensions. Before them, matrices are numbered. */
static int64_t matmul_rows_of(hr_shape s, bool transposed) { return s.dims[s.rank - (transposed ? 1 : 2)]; }
static int64_t matmul_columns_of(hr_shape s, bool transposed) { return s.dims[s.rank - (transposed ? 2 : 1)]; }

static bool matmul_is(hr_node node, const char *op) { return strcmp(hr_node_op(node), op) == 0; }
static bool matmul_is_one(hr_node node) { return matmul_is(node, "MatMul") || matmul_is(node, "_FusedMatMul"); }
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
    if (!(matmul_is(node, "BatchMatMulV2") ? hr_shape_broadcast : hr_shape_merge)(a, b, out)) return false;
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
    bool ta, tb;
    const hr__blas *blas;
} product;

/* Builds of OpenBLAS for one thread have no locks: two products at once may be given the same memory to pack into, and
 * come out wrong. Where the loader has found such a build, there is one product at a time in the process. */
static uv_once_t blas_once = UV_ONCE_INIT;
static uv_mutex_t blas_lock;

static void make_lock(void) { (void)!uv_mutex_init(&blas_lock); /* fails of no mutex that has no attributes */ }

/* Gives what end_product takes. */
static bool begin_product(const hr__blas *blas)
{
    if (blas->get_parallel() != OPENBLAS_SEQUENTIAL) return false;
    uv_once(&blas_once, make_lock);
    uv_mutex_lock(&blas_lock);
    return true;
}

static void end_product(bool alone)
{
    if (alone) uv_mutex_unlock(&blas_lock);
}

static void rows_f32(int64_t first, int64_t last, void *user)
{
    const product *p = user;
    const bool alone = begin_product(p->blas);
    p->blas->sgemm(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans, p->tb ? CblasTrans : CblasNoTrans,
                   (blasint)(last - first), (blasint)p->n, (blasint)p->k, 1, (const float *)p->a + first * p->a_row,
                   (blasint)p->lda, p->b, (blasint)p->ldb, 0, (float *)p->out + first * p->n, (blasint)p->n);
    end_product(alone);
}

static void rows_f64(int64_t first, int64_t last, void *user)
{
    const product *p = user;
    const bool alone = begin_product(p->blas);
    p->blas->dgemm(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans, p->tb ? CblasTrans : CblasNoTrans,
                   (blasint)(last - first), (blasint)p->n, (blasint)p->k, 1, (const double *)p->a + first * p->a_row,
                   (blasint)p->lda, p->b, (blasint)p->ldb, 0, (double *)p->out + first * p->n, (blasint)p->n);
    end_product(alone);
}

#define ROWS(T, U, D, S)                                                                                               \
    static void rows_##S(int64_t first, int64_t last, void *user)                                                      \
    {                                                                                                                  \
        const product *p = user;                                                                                       \
        const T *a = p->a, *b = p->b;                                                                                  \
        T *out = p->out;                                                                                               \
        for (int64_t i = first; i < last; i++) {                                                                       \
            for (int64_t j = 0; j < p->n; j++) {                                                                       \
                U sum = 0;                                                                                             \
                for (int64_t x = 0; x < p->k; x++)                                                                     \
                    sum += (U)a[i * p->a_row + x * p->a_column] * (U)b[x * p->b_row + j * p->b_column];                \
                out[i * p->n + j] = (T)sum;                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
ROWS(int32_t, uint32_t, HR_INT32, i32)
ROWS(int64_t, uint64_t, HR_INT64, i64)

/* Width 1, of logits and linear models: sgemm would spend its time packing. */
static void row_dots(int64_t first, int64_t last, void *user)
{
    const product *p = user;
    const float *a = p->a, *b = p->b;
    for (int64_t i = first; i < last; i++)
        ((float *)p->out)[i] =
            p->blas->sdot((blasint)p->k, a + i * p->a_row, (blasint)p->a_column, b, (blasint)p->b_row);
}

/* Every block packs b again, so blocks are large, and few. */
enum { BLOCK_ROWS = 128 };

typedef struct blocks {
    product p;                  /* the first */
    hr_shape batch, in[2];      /* how the products are numbered; the shapes of both inputs */
    int64_t rows, count, width; /* width: bytes of a value */
    void (*multiply)(int64_t first, int64_t last, void *user);
    const hr_epilogue *epilogue; /* of one product of floats; NULL: that is the result */
    const hr_tensor *bias;
} blocks;

/* Our pool shares the blocks out: OpenBLAS is to work on each on the thread that calls it. It keeps this setting for
 * the process, or, in its OpenMP build, for each thread: so each thread says it, once. */
static void keep_blas_on_this_thread(const hr__blas *blas)
{
    static _Thread_local bool told;
    if (!told && blas) blas->set_num_threads(1);
    told |= blas != NULL;
}

static void finish_rows(const blocks *b, int64_t row, int64_t end)
{
    hr_epilogue_run(b->epilogue, b->bias, (float *)b->p.out + row * b->p.n, end - row);
}

/* Item i is block i % count of product i / count. */
static void some_blocks(int64_t first, int64_t last, void *user)
{
    const blocks *b = user;
    keep_blas_on_this_thread(b->p.blas);
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
        const int64_t row = b->rows * block / b->count, end = b->rows * (block + 1) / b->count;
        b->multiply(row, end, &p);
        if (b->epilogue) finish_rows(b, row, end);
    }
}

typedef void multiply_fn(int64_t first, int64_t last, void *user);

static multiply_fn *multiply_of(hr_dtype dtype, int64_t width)
{
    switch (dtype) {
    case HR_FLOAT:
        return width == 1 ? row_dots : rows_f32;
    case HR_DOUBLE:
        return rows_f64;
    case HR_INT32:
        return rows_i32;
    default:
        return rows_i64;
    }
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
    const int64_t m = matmul_rows_of(a->shape, st->ta), n = matmul_columns_of(b->shape, st->tb),
                  inner = matmul_columns_of(a->shape, st->ta);
    const int64_t lda = a->shape.dims[a->shape.rank - 1], ldb = b->shape.dims[b->shape.rank - 1];
    blocks work = {.rows = m, .count = (m + BLOCK_ROWS / 2) / BLOCK_ROWS, .multiply = multiply_of(a->dtype, n)};
    work.p = (product){.a = a->data,
                       .b = b->data,
                       .out = out->data,
                       .n = n,
                       .k = inner,
                       .lda = lda,
                       .ldb = ldb,
                       .ta = st->ta,
                       .tb = st->tb,
                       .blas = st->blas};
    if (st->fused) work.epilogue = &st->epilogue, work.bias = k->input[2];
    work.width = (int64_t)hr_dtype_size(a->dtype);
    work.in[0] = a->shape;
    work.in[1] = b->shape;
    work.batch = shape;
    work.batch.rank -= 2;
    work.p.a_row = st->ta ? 1 : lda;
    work.p.a_column = st->ta ? lda : 1;
    work.p.b_row = st->tb ? 1 : ldb;
    work.p.b_column = st->tb ? ldb : 1;
    if (out->count == 0) return HR_OK;
    if (inner == 0) {
        memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
        if (st->fused) finish_rows(&work, 0, m);
        return HR_OK;
    }
    if (work.count < 1) work.count = 1;
    /* 100 floating point operations a nanosecond: what is worth a thread. */
    const int64_t products = hr_values_before_axis(shape, shape.rank - 2);
    hr_kernel_parallel(k, products * work.count,
                       (double)(2 * n * inner) / 100 * (double)(m < BLOCK_ROWS ? m : BLOCK_ROWS), some_blocks, &work);
    return HR_OK;
}

/* By `input`, summed over the matrices that it was broadcast to. */
static void give_product(hr_backward *b, int input, hr_node x, hr_node y, bool tx, bool ty)
{
    const bool one = matmul_is(b->node, "MatMul");
    const hr_node by = hr_new_node(
        b->graph, hr_node_op(b->node), HR_INPUTS(x, y),
        HR_ATTRS(HR_BOOL_ATTR(one ? "transpose_a" : "adj_x", tx), HR_BOOL_ATTR(one ? "transpose_b" : "adj_y", ty)));
    const bool broadcasts = matmul_is(b->node, "BatchMatMulV2");
    hr_backward_give(b, input, broadcasts ? hr_gradient_unbroadcast(by, b->input[input], by) : by);
}

static void matmul_gradient(hr_backward *b)
{
    const bool tx = matmul_turns(b->node, 0), ty = matmul_turns(b->node, 1);
    const hr_node g = b->grad[0], x = b->input[0], y = b->input[1];
    give_product(b, 0, tx ? y : g, tx ? g : y, tx && ty, tx || !ty);
    give_product(b, 1, ty ? g : x, ty ? x : g, ty || !tx, tx && ty);
}

#define PRODUCT(NAME)                                                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .types = "T:{float,double,int32,int64}",                             \
        .state_size = sizeof(matmul_state), .shape = matmul_shape, .prepare = matmul_prepare,                          \
        .compute = matmul_compute, .gradient = matmul_gradient,                                                        \
    }

const hr_graph_op hr_graph_ops_matmul_op[] = {
    PRODUCT("MatMul"),
    PRODUCT("BatchMatMul"),
    PRODUCT("BatchMatMulV2"),
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

hr_node hr_matmul_with(hr_node a, hr_node b, const hr_matmul_opts *opts)
{
    const hr_matmul_opts o = HR_OPTIONS(hr_matmul_opts, opts);
    return hr_new_node(
        a.graph, "MatMul", .name = o.name, HR_INPUTS(a, b),
        HR_ATTRS(HR_BOOL_ATTR("transpose_a", o.transpose_a), HR_BOOL_ATTR("transpose_b", o.transpose_b)));
}
