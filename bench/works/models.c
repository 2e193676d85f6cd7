/* Models trained by hr_fit on rows in memory: digits with dense layers. */
#include "bench/bench.h"
#include <headrace/models.h>
#include <stdlib.h>

enum { PIXELS = 784, DIGITS = 10, MLP_ROWS = 19200 };

/* A compiled model, and its data: x and classes y. */
typedef struct fitted {
    hr_model *model;
    hr_tensor data[2];
    int64_t batch_size;
} fitted;

static void fitted_free(void *memory)
{
    fitted *f = memory;
    if (!f) return;
    hr_model_free(f->model);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&f->data[i]);
    free(f);
}

static hr_status random_rows(fitted *f, hr_shape shape, hr_error *err)
{
    hr_status st = hr_tensor_new(&f->data[0], HR_FLOAT, shape, err);
    if (st == HR_OK) st = hr_tensor_new(&f->data[1], HR_INT64, HR_SHAPE(shape.dims[0]), err);
    if (st != HR_OK) return st;
    float *x = f->data[0].data;
    int64_t *y = f->data[1].data;
    for (int64_t i = 0; i < f->data[0].count; i++) x[i] = (float)hr_random_below(1, (uint64_t)i, 256) / 255;
    for (int64_t i = 0; i < shape.dims[0]; i++) y[i] = hr_random_below(2, (uint64_t)i, DIGITS);
    return HR_OK;
}

static hr_status fit_epoch(fitted *f, pass *p)
{
    hr_dataset *ds = hr_from_tensor_slices(f->data, NULL, 2);
    if (!hr_fit(f->model, ds, .batch_size = f->batch_size)) {
        p->error = *hr_model_error(f->model);
        return p->error.code;
    }
    p->rows = f->data[0].shape.dims[0];
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

const work work_models[] = {
    {.name = "fit_mlp", .run = run_fit, .prepare = prepare_mlp, .release = fitted_free, .threads = 2},
    {0},
};
