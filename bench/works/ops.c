/* Single ops on fed values: products, convolutions, what streams through memory, cross-entropies. A row is a run. */
#include "bench/fed.h"
#include "train/ops/blas.h"
#include <headrace/graph_op.h>
#include <headrace/nn.h>
#include <headrace/ops.h>
#include <stdlib.h>

/* ---- products, and OpenBLAS whole, by turns in one pass ---- */

typedef struct product {
    int m, k, n, runs;
} product;

static void build_product(fed *f, product size)
{
    const hr_node a = fed_floats(f, HR_SHAPE(size.m, size.k)), b = fed_floats(f, HR_SHAPE(size.k, size.n));
    f->out = hr_matmul(a, b);
    f->flops = 2.0 * size.m * size.k * size.n;
    f->runs = size.runs;
}

static hr_status whole_product(const fed *f, product size, pass *p)
{
    const hr__blas *blas;
    HR_TRY(hr__blas_load(&blas, &p->error));
    const float *a = f->feed[0].value.data, *b = f->feed[1].value.data;
    float *c = malloc(sizeof *c * (size_t)size.m * (size_t)size.n);
    if (!c) return hr_no_memory(&p->error, "a product");
    double start = 0;
    blas->set_num_threads(p->threads);
    for (int i = -3; i < size.runs; i++) {
        if (i == 0) start = bench_seconds();
        blas->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size.m, size.n, size.k, 1, a, size.k, b, size.n, 0, c,
                    size.n);
    }
    add_extra(p, "share_of_openblas", (bench_seconds() - start) / p->seconds);
    blas->set_num_threads(1);
    free(c);
    return HR_OK;
}

#define PRODUCT(NAME, ...)                                                                                             \
    static void NAME(fed *f) { build_product(f, (product){__VA_ARGS__}); }                                             \
    static hr_status whole_##NAME(const fed *f, pass *p) { return whole_product(f, (product){__VA_ARGS__}, p); }       \
    static hr_status run_##NAME(pass *p, void *memory)                                                                 \
    {                                                                                                                  \
        (void)memory;                                                                                                  \
        return run_fed(p, NAME, whole_##NAME);                                                                         \
    }
PRODUCT(first_layer, 512, 429, 256, 200)
PRODUCT(second_layer, 512, 256, 128, 500)
PRODUCT(cube, 1024, 1024, 1024, 10)

/* ---- a convolution of 3 x 3, its input [64, 28, 28, 32], its output [64, 28, 28, 64], and its derivatives ---- */

enum { IMAGES = 64, SIDE = 28, IN = 32, OUT = 64, WINDOW = 3 };
#define IMAGE_SHAPE HR_SHAPE(IMAGES, SIDE, SIDE, IN)
#define FILTER_SHAPE HR_SHAPE(WINDOW, WINDOW, IN, OUT)
#define CONVOLVED_SHAPE HR_SHAPE(IMAGES, SIDE, SIDE, OUT)
#define CONVOLUTION_FLOPS (2.0 * IMAGES * SIDE * SIDE * OUT * WINDOW * WINDOW * IN)
#define CONVOLUTION_ATTRS HR_ATTRS(HR_INTS_ATTR("strides", HR_I64(1, 1, 1, 1), 4), HR_STRING_ATTR("padding", "SAME"))

static void convolution(fed *f, const char *op, hr_node a, hr_node b, hr_node c)
{
    const hr_node inputs[] = {a, b, c};
    f->out = hr_new_node(f->g, op, .inputs = inputs, .input_count = hr_node_exists(c) ? 3 : 2, CONVOLUTION_ATTRS);
    f->flops = CONVOLUTION_FLOPS;
    f->runs = 5;
}

static void conv2d(fed *f)
{
    const hr_node images = fed_floats(f, IMAGE_SHAPE);
    convolution(f, "Conv2D", images, fed_floats(f, FILTER_SHAPE), (hr_node){0});
}

static void conv2d_input(fed *f)
{
    const hr_node filter = fed_floats(f, FILTER_SHAPE), sizes = hr_shape_const(f->g, IMAGE_SHAPE);
    convolution(f, "Conv2DBackpropInput", sizes, filter, fed_floats(f, CONVOLVED_SHAPE));
}

static void conv2d_filter(fed *f)
{
    const hr_node images = fed_floats(f, IMAGE_SHAPE), sizes = hr_shape_const(f->g, FILTER_SHAPE);
    convolution(f, "Conv2DBackpropFilter", images, sizes, fed_floats(f, CONVOLVED_SHAPE));
}
FED_RUN(conv2d)
FED_RUN(conv2d_input)
FED_RUN(conv2d_filter)

/* ---- 64 MiB that stream through ---- */

enum { ROWS = 4096, COLUMNS = 4096, CHANNELS = 64 };
#define MATRIX_BYTES (4.0 * ROWS * COLUMNS)

static void streams(fed *f, hr_node out, double matrices)
{
    f->out = out;
    f->bytes = matrices * MATRIX_BYTES;
    f->runs = 5;
}

static void reduce_rows(fed *f)
{
    const hr_node x = fed_floats(f, HR_SHAPE(ROWS, COLUMNS));
    streams(f, hr_reduce_sum(x, .axes = HR_I64(1), .axis_count = 1), 1);
}

static void reduce_columns(fed *f)
{
    const hr_node x = fed_floats(f, HR_SHAPE(ROWS, COLUMNS));
    streams(f, hr_reduce_sum(x, .axes = HR_I64(0), .axis_count = 1), 1);
}

static void reduce_mean(fed *f) { streams(f, hr_reduce_mean(fed_floats(f, HR_SHAPE(ROWS, COLUMNS))), 1); }

static void broadcast_row(fed *f)
{
    const hr_node x = fed_floats(f, HR_SHAPE(ROWS, COLUMNS));
    streams(f, hr_add(x, fed_floats(f, HR_SHAPE(COLUMNS))), 2);
}

static void broadcast_column(fed *f)
{
    const hr_node x = fed_floats(f, HR_SHAPE(ROWS, COLUMNS));
    streams(f, hr_mul(x, fed_floats(f, HR_SHAPE(ROWS, 1))), 2);
}

static void transpose(fed *f)
{
    const hr_node x = fed_floats(f, HR_SHAPE(ROWS, COLUMNS));
    streams(f, hr_transpose(x, hr_ints(f->g, HR_I64(1, 0), 2)), 2);
}

/* Read for the mean and the variance, read and written once more. */
static void batch_norm(fed *f)
{
    enum { SIZE = 64 };
    const hr_node x = fed_floats(f, HR_SHAPE(ROWS / SIZE, SIZE, COLUMNS / CHANNELS, CHANNELS));
    const hr_node scale = fed_floats(f, HR_SHAPE(CHANNELS)), offset = fed_floats(f, HR_SHAPE(CHANNELS));
    const hr_node none = hr_fill(hr_ints(f->g, HR_I64(0), 1), hr_scalar(f->g, HR_FLOAT, 0));
    streams(f, hr_new_node(f->g, "FusedBatchNormV3", HR_INPUTS(x, scale, offset, none, none)), 3);
}
FED_RUN(reduce_rows)
FED_RUN(reduce_columns)
FED_RUN(reduce_mean)
FED_RUN(broadcast_row)
FED_RUN(broadcast_column)
FED_RUN(transpose)
FED_RUN(batch_norm)

/* ---- cross-entropies of [512, 1000], each with its gradient ---- */

enum { EXAMPLES = 512, CLASSES = 1000 };

static void with_gradient(fed *f, hr_node loss, hr_node logits)
{
    hr_gradient gradient;
    hr_gradients(&loss, 1, &logits, 1, &gradient);
    f->out = hr_gradient_dense(gradient);
    f->runs = 50;
}

static void softmax_loss(fed *f)
{
    const hr_node logits = fed_floats(f, HR_SHAPE(EXAMPLES, CLASSES));
    const hr_node labels = fed_input(f, HR_INT64, HR_SHAPE(EXAMPLES), CLASSES);
    with_gradient(f, hr_sparse_softmax_cross_entropy(logits, labels), logits);
}

static void softmax_dense_loss(fed *f)
{
    const hr_node logits = fed_floats(f, HR_SHAPE(EXAMPLES, CLASSES));
    with_gradient(f, hr_softmax_cross_entropy(logits, fed_floats(f, HR_SHAPE(EXAMPLES, CLASSES))), logits);
}

static void sigmoid_loss(fed *f)
{
    const hr_node logits = fed_floats(f, HR_SHAPE(EXAMPLES, CLASSES));
    const hr_node loss = hr_sigmoid_cross_entropy(logits, fed_floats(f, HR_SHAPE(EXAMPLES, CLASSES)));
    with_gradient(f, hr_reduce_mean(loss), logits);
}
FED_RUN(softmax_loss)
FED_RUN(softmax_dense_loss)
FED_RUN(sigmoid_loss)

const work work_ops[] = {
    FED_WORK("op_matmul_512_429_256", first_layer),
    FED_WORK("op_matmul_512_256_128", second_layer),
    FED_WORK("op_matmul_1024", cube),
    FED_WORK("op_conv2d", conv2d),
    FED_WORK("op_conv2d_input", conv2d_input),
    FED_WORK("op_conv2d_filter", conv2d_filter),
    FED_WORK("op_batch_norm", batch_norm),
    FED_WORK("op_reduce_rows", reduce_rows),
    FED_WORK("op_reduce_columns", reduce_columns),
    FED_WORK("op_reduce_mean", reduce_mean),
    FED_WORK("op_broadcast_row", broadcast_row),
    FED_WORK("op_broadcast_column", broadcast_column),
    FED_WORK("op_transpose", transpose),
    FED_WORK("op_softmax_loss", softmax_loss),
    FED_WORK("op_softmax_dense_loss", softmax_dense_loss),
    FED_WORK("op_sigmoid_loss", sigmoid_loss),
    {0},
};
