/* MatMul: products of matrices, in blocks of rows by OpenBLAS; other types by plain loops. The blocks follow from the
 * shape alone, so that the result does not depend on threads. */
#include "train/ops/blas.h"
#include <headrace/kernels.h>
#include <string.h>
#include <uv.h>

typedef struct matmul_state {
    bool ta, tb;
    const hr__blas *blas; /* NULL: of whole numbers, which do without */
} matmul_state;

/* Rows and columns of an input, as multiplied. */
static int64_t matmul_rows_of(hr_shape s, bool transposed) { return s.dims[transposed ? 1 : 0]; }
static int64_t matmul_columns_of(hr_shape s, bool transposed) { return s.dims[transposed ? 0 : 1]; }

static hr_status matmul_shape(hr_infer *s, hr_error *err)
{
    const bool ta = hr_attr_bool(s->node, "transpose_a"), tb = hr_attr_bool(s->node, "transpose_b");
    const hr_shape any = HR_SHAPE(-1, -1);
    hr_shape a, b;
    if (!hr_shape_merge(s->input[0], any, &a) || !hr_shape_merge(s->input[1], any, &b))
        return hr_infer_refuse(s, err, "two matrices");
    const int64_t inner_a = matmul_columns_of(a, ta), inner_b = matmul_rows_of(b, tb);
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b) return hr_infer_refuse(s, err, "inner dimensions to agree");
    s->output[0] = HR_SHAPE(matmul_rows_of(a, ta), matmul_columns_of(b, tb));
    return HR_OK;
}

static hr_status matmul_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    matmul_state *st = state;
    const hr_dtype dtype = hr_node_dtype(node);
    *st = (matmul_state){hr_attr_bool(node, "transpose_a"), hr_attr_bool(node, "transpose_b"), NULL};
    return dtype == HR_FLOAT || dtype == HR_DOUBLE ? hr__blas_load(&st->blas, err) : HR_OK;
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
    product p;
    int64_t rows, count;
    void (*multiply)(int64_t first, int64_t last, void *user);
} blocks;

/* Our pool shares the blocks out: OpenBLAS is to work on each on the thread that calls it. It keeps this setting for
 * the process, or, in its OpenMP build, for each thread: so each thread says it, once. */
static void keep_blas_on_this_thread(const hr__blas *blas)
{
    static _Thread_local bool told;
    if (!told && blas) blas->set_num_threads(1);
    told |= blas != NULL;
}

static void some_blocks(int64_t first, int64_t last, void *user)
{
    blocks *b = user;
    keep_blas_on_this_thread(b->p.blas);
    for (int64_t i = first; i < last; i++) b->multiply(b->rows * i / b->count, b->rows * (i + 1) / b->count, &b->p);
}

static hr_status check_shapes(const hr_kernel *k, const matmul_state *st, hr_error *err)
{
    const hr_shape a = k->input[0]->shape, b = k->input[1]->shape;
    char x[64], y[64];
    if (a.rank == 2 && b.rank == 2 && matmul_columns_of(a, st->ta) == matmul_rows_of(b, st->tb) &&
        a.dims[0] < INT32_MAX && a.dims[1] < INT32_MAX && b.dims[0] < INT32_MAX && b.dims[1] < INT32_MAX)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inner dimensions to agree, got %s%s x %s%s",
                   hr_shape_text(a, x, sizeof x), st->ta ? " transposed" : "", hr_shape_text(b, y, sizeof y),
                   st->tb ? " transposed" : "");
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
    hr_tensor *out;
    HR_TRY(check_shapes(k, st, err));
    const int64_t m = matmul_rows_of(a->shape, st->ta), n = matmul_columns_of(b->shape, st->tb),
                  inner = matmul_columns_of(a->shape, st->ta);
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(m, n), &out, err));
    const int64_t lda = a->shape.dims[1], ldb = b->shape.dims[1];
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
    work.p.a_row = st->ta ? 1 : lda;
    work.p.a_column = st->ta ? lda : 1;
    work.p.b_row = st->tb ? 1 : ldb;
    work.p.b_column = st->tb ? ldb : 1;
    if (out->count == 0) return HR_OK;
    if (inner == 0) {
        memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
        return HR_OK;
    }
    if (work.count < 1) work.count = 1;
    /* 100 floating point operations a nanosecond: what is worth a thread. */
    hr_kernel_parallel(k, work.count, (double)(2 * n * inner) / 100 * BLOCK_ROWS, some_blocks, &work);
    return HR_OK;
}

static hr_node product_of(hr_node a, hr_node b, bool ta, bool tb)
{
    return hr_matmul(a, b, .transpose_a = ta, .transpose_b = tb);
}

static void matmul_gradient(hr_backward *b)
{
    const bool ta = hr_attr_bool(b->node, "transpose_a"), tb = hr_attr_bool(b->node, "transpose_b");
    const hr_node g = b->grad[0], x = b->input[0], y = b->input[1];
    b->out[0] = hr_dense_gradient(ta ? product_of(y, g, tb, true) : product_of(g, y, false, !tb));
    b->out[1] = hr_dense_gradient(tb ? product_of(g, x, true, ta) : product_of(x, g, !ta, false));
}

const hr_graph_op hr_graph_ops_matmul_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MatMul",
        .types = "T:{float,double,int32,int64}",
        .state_size = sizeof(matmul_state),
        .shape = matmul_shape,
        .prepare = matmul_prepare,
        .compute = matmul_compute,
        .gradient = matmul_gradient,
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
