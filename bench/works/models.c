/* Models trained by hr_fit on rows in memory: digits with dense layers, with convolutions, row by row with an LSTM. */
#include "base/pool.h"
#include "bench/bench.h"
#include "train/ops/blas.h"
#include <headrace/models.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 784, DIGITS = 10, MLP_ROWS = 19200, CNN_ROWS = 1280, LSTM_ROWS = 1280 };

/* A compiled model, and its data: rows of x and classes y. */
typedef struct fitted {
    hr_model *model;
    hr_dataset *data;
    int64_t rows, batch_size;
} fitted;

static void fitted_free(void *memory)
{
    fitted *f = memory;
    if (!f) return;
    hr_model_free(f->model);
    hr_dataset_unref(f->data);
    free(f);
}

static hr_status random_rows(fitted *f, hr_shape shape, hr_error *err)
{
    hr_tensor data[2] = {{0}};
    hr_status st = hr_tensor_new(&data[0], HR_FLOAT, shape, err);
    if (st == HR_OK) st = hr_tensor_new(&data[1], HR_INT64, HR_SHAPE(shape.dims[0]), err);
    float *x = data[0].data;
    int64_t *y = data[1].data;
    for (int64_t i = 0; i < data[0].count && st == HR_OK; i++) x[i] = (float)hr_random_below(1, (uint64_t)i, 256) / 255;
    for (int64_t i = 0; i < shape.dims[0] && st == HR_OK; i++) y[i] = hr_random_below(2, (uint64_t)i, DIGITS);
    f->rows = shape.dims[0];
    if (st == HR_OK) f->data = hr_from_tensor_slices(data, NULL, 2);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&data[i]);
    return st;
}

static hr_status fit_epoch(fitted *f, pass *p)
{
    if (!hr_fit(f->model, hr_dataset_ref(f->data), .batch_size = f->batch_size)) {
        p->error = *hr_model_error(f->model);
        return p->error.code;
    }
    p->rows = f->rows;
    return HR_OK;
}

static hr_status run_fit(pass *p, void *memory) { return fit_epoch(memory, p); }

/* Takes the model. */
static void *prepare(hr_model *m, hr_shape rows, int64_t batch_size, hr_error *err)
{
    fitted *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->model = m;
    f->batch_size = batch_size;
    hr_status st = random_rows(f, rows, err);
    if (st == HR_OK)
        st = hr_compile(m, .optimizer = hr_adam(0.001F, .keras = true), .loss = "sparse_categorical_crossentropy",
                        .from_logits = true, .metrics = HR_STRINGS("accuracy"));
    if (st == HR_OK) return f;
    fitted_free(f);
    return NULL;
}

static void *prepare_mlp(const char *folder, hr_error *err)
{
    (void)folder;
    return prepare(hr_sequential(HR_LAYERS(hr_dense_layer(128, .activation = "relu"), hr_dense_layer(DIGITS)),
                                 .input_shape = HR_SHAPE(PIXELS)),
                   HR_SHAPE(MLP_ROWS, PIXELS), 32, err);
}

/* ---- the arithmetic of the digits alone: what no engine can do without ---- */

enum { UNITS = 128, BARE_BATCH = 32, HALVES = 2 };

typedef struct bare {
    const hr__blas *blas;
    const float *x; /* [MLP_ROWS, PIXELS] */
    float batch[BARE_BATCH * PIXELS], out[BARE_BATCH * UNITS];
    float w[PIXELS * UNITS], g[PIXELS * UNITS], m[PIXELS * UNITS], v[PIXELS * UNITS];
    int64_t step;
} bare;

#ifdef __x86_64__
#define BARE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BARE_CLONES
#endif

BARE_CLONES static void bare_adam(float *restrict w, const float *restrict g, float *restrict m, float *restrict v,
                                  int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        m[i] += (g[i] - m[i]) * 0.1F;
        v[i] += (g[i] * g[i] - v[i]) * 0.001F;
        w[i] -= 0.001F * m[i] / (sqrtf(v[i]) + 1e-7F);
    }
}

/* Half of a batch's rows, from all over the data, times the weights. */
static void bare_forward(int64_t half, void *user)
{
    bare *b = user;
    enum { ROWS = BARE_BATCH / HALVES };
    float *rows = b->batch + half * ROWS * PIXELS;
    for (int r = 0; r < ROWS; r++) {
        const int64_t from = hr_random_below(7, (uint64_t)(b->step * BARE_BATCH + half * ROWS + r), MLP_ROWS);
        memcpy(rows + r * PIXELS, b->x + from * PIXELS, PIXELS * sizeof *rows);
    }
    b->blas->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, UNITS, PIXELS, 1, rows, PIXELS, b->w, UNITS, 0,
                   b->out + half * ROWS * UNITS, UNITS);
}

/* Half of the weights: their gradient, of the output as it is, and Adam. */
static void bare_update(int64_t half, void *user)
{
    bare *b = user;
    enum { ROWS = PIXELS / HALVES };
    const int64_t at = half * ROWS * UNITS;
    b->blas->sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, ROWS, UNITS, BARE_BATCH, 1e-6F, b->batch + half * ROWS,
                   PIXELS, b->out, UNITS, 0, b->g + at, UNITS);
    bare_adam(b->w + at, b->g + at, b->m + at, b->v + at, ROWS * UNITS);
}

static void *prepare_bare(const char *folder, hr_error *err)
{
    (void)folder;
    bare *b = calloc(1, sizeof *b);
    float *x = malloc((size_t)MLP_ROWS * PIXELS * sizeof *x);
    for (int64_t i = 0; x && i < MLP_ROWS * PIXELS; i++) x[i] = (float)hr_random_below(1, (uint64_t)i, 256) / 255;
    for (int64_t i = 0; b && i < PIXELS * UNITS; i++) b->w[i] = (float)hr_random_below(2, (uint64_t)i, 100) / 1e4F;
    if (b) b->x = x;
    if (b && x && hr__blas_load(&b->blas, err) == HR_OK) return b;
    free(x);
    free(b);
    return NULL;
}

static void free_bare(void *memory)
{
    bare *b = memory;
    free((void *)(uintptr_t)b->x);
    free(b);
}

static hr_status run_bare(pass *p, void *memory)
{
    bare *b = memory;
    b->blas->set_num_threads(1);
    for (b->step = 0; b->step < MLP_ROWS / BARE_BATCH; b->step++) {
        hr__parallel_for_group(NULL, p->threads - 1, HALVES, bare_forward, b);
        hr__parallel_for_group(NULL, p->threads - 1, HALVES, bare_update, b);
    }
    p->rows = MLP_ROWS;
    return HR_OK;
}

/* Convolutions of 3 x 3 with 32 and 64 filters, each with a pool, and a dense layer of 128. */
static void *prepare_cnn(const char *folder, hr_error *err)
{
    (void)folder;
    hr_model *m =
        hr_sequential(HR_LAYERS(hr_conv2d_layer(32, 3, 3, .activation = "relu"), hr_max_pooling2d_layer(2, 2),
                                hr_conv2d_layer(64, 3, 3, .activation = "relu"), hr_max_pooling2d_layer(2, 2),
                                hr_flatten_layer(), hr_dense_layer(128, .activation = "relu"), hr_dense_layer(DIGITS)),
                      .input_shape = HR_SHAPE(28, 28, 1));
    return prepare(m, HR_SHAPE(CNN_ROWS, 28, 28, 1), 128, err);
}

static void *prepare_lstm(const char *folder, hr_error *err)
{
    (void)folder;
    hr_model *m = hr_sequential(HR_LAYERS(hr_lstm_layer(128), hr_dense_layer(DIGITS)), .input_shape = HR_SHAPE(28, 28));
    return prepare(m, HR_SHAPE(LSTM_ROWS, 28, 28), 64, err);
}

const work work_models[] = {
    {.name = "fit_mlp", .run = run_fit, .prepare = prepare_mlp, .release = fitted_free, .threads = 2},
    {.name = "fit_mlp_bare", .run = run_bare, .prepare = prepare_bare, .release = free_bare, .threads = 2},
    {.name = "fit_cnn", .run = run_fit, .prepare = prepare_cnn, .release = fitted_free, .threads = 2},
    {.name = "fit_lstm", .run = run_fit, .prepare = prepare_lstm, .release = fitted_free, .threads = 2},
    {0},
};
