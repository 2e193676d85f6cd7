/* Models trained by hr_fit on rows in memory: digits with dense layers, with convolutions, row by row with an LSTM. */
#include "bench/bench.h"
#include <headrace/models.h>
#include <stdlib.h>

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
    {.name = "fit_cnn", .run = run_fit, .prepare = prepare_cnn, .release = fitted_free, .threads = 2},
    {.name = "fit_lstm", .run = run_fit, .prepare = prepare_lstm, .release = fitted_free, .threads = 2},
    {0},
};
