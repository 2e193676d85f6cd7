/* The models of interop_models.py: trained and saved here, or loaded from what Keras has saved.
 *
 *     interop_models save|load|serve MODEL OPTIMIZER PREFIX
 *
 * save and load print the predictions of the model as it is in the file, then the losses of two further epochs. What is
 * saved is also a SavedModel, PREFIX.saved. serve prints the predictions of the SavedModel PREFIX. */
#include <headrace/models.h>
#include <headrace/saved_model.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 12, MOST = 8 };

/* ---- the models, which interop_models.py makes with Keras as well ---- */

static hr_model *plain(void)
{
    return hr_sequential(HR_LAYERS(hr_dense_layer(5, .activation = "tanh"), hr_batch_normalization_layer(),
                                   hr_dropout_layer(0), hr_dense_layer(1)),
                         .input_shape = HR_SHAPE(3));
}

/* A layer that two branches share, and a model within the model. */
static hr_model *branches(void)
{
    hr_model *base = hr_sequential(
        HR_LAYERS(hr_dense_layer(3, .activation = "relu"), hr_batch_normalization_layer(), hr_dense_layer(2)),
        .input_shape = HR_SHAPE(3), .name = "base");
    hr_model *m = hr_model_new();
    hr_layer *inner = hr_model_layer(base, NULL), *shared = hr_dense_layer(4, .activation = "tanh");
    const hr_symbol p = hr_model_input(m, HR_SHAPE(3), .name = "p"), q = hr_model_input(m, HR_SHAPE(3), .name = "q");
    const hr_symbol a = hr_connect(shared, p), b = hr_connect(shared, q);
    const hr_symbol both = hr_connect(hr_concatenate_layer(), a, b, hr_connect(inner, p));
    hr_model_outputs(m, hr_connect(hr_dense_layer(1), both));
    return m;
}

static hr_model *words(void)
{
    return hr_sequential(HR_LAYERS(hr_embedding_layer(5, 3),
                                   hr_bidirectional_layer(hr_lstm_layer(2, .return_sequences = true)),
                                   hr_time_distributed_layer(hr_dense_layer(2)), hr_gru_layer(2), hr_dense_layer(1)),
                         .input_shape = HR_SHAPE(4), .input_dtype = HR_INT32);
}

/* Steps of several cells, with a mask, in both directions and backwards; and of one. */
static hr_model *cells(void)
{
    hr_layer *first = hr_stacked_rnn_cells(HR_LAYERS(hr_lstm_cell(3), hr_gru_cell(2)));
    hr_layer *both = hr_stacked_rnn_cells(HR_LAYERS(hr_simple_rnn_cell(2), hr_lstm_cell(2)));
    return hr_sequential(HR_LAYERS(hr_embedding_layer(5, 3, .mask_zero = true),
                                   hr_rnn_layer(first, .return_sequences = true),
                                   hr_bidirectional_layer(hr_rnn_layer(both, .return_sequences = true)),
                                   hr_rnn_layer(hr_lstm_cell(2), .return_sequences = true, .go_backwards = true),
                                   hr_rnn_layer(hr_stacked_rnn_cells(HR_LAYERS(hr_gru_cell(2, .reset_before = true))),
                                                .go_backwards = true),
                                   hr_dense_layer(1)),
                         .input_shape = HR_SHAPE(4), .input_dtype = HR_INT32);
}

static hr_model *image(void)
{
    return hr_sequential(HR_LAYERS(hr_conv2d_layer(3, 2, 2, .activation = "relu", .kernel_regularizer = {.l2 = 0.1f}),
                                   hr_max_pooling2d_layer(2, 2), hr_flatten_layer(), hr_dense_layer(1)),
                         .input_shape = HR_SHAPE(5, 4, 2), .name = "an \"image\"");
}

/* A model for each step. */
static hr_model *frames(void)
{
    hr_model *frame = hr_sequential(HR_LAYERS(hr_dense_layer(3, .activation = "tanh"), hr_batch_normalization_layer(),
                                              hr_dense_layer(2), hr_batch_normalization_layer()),
                                    .input_shape = HR_SHAPE(2));
    return hr_sequential(
        HR_LAYERS(hr_time_distributed_layer(hr_model_layer(frame, NULL)), hr_flatten_layer(), hr_dense_layer(1)),
        .input_shape = HR_SHAPE(3, 2));
}

/* A trunk of another model, cut at a layer and frozen, below a new head. */
static hr_model *transfer(void)
{
    hr_model *base = hr_sequential(HR_LAYERS(hr_dense_layer(4, .activation = "tanh"), hr_batch_normalization_layer(),
                                             hr_dense_layer(3, .activation = "relu", .name = "cut"),
                                             hr_dense_layer(2, .activation = "softmax")),
                                   .input_shape = HR_SHAPE(3));
    const hr_symbol cut = hr_layer_output(base, hr_get_layer(base, "cut")), input = hr_model_input_symbol(base, 0);
    const hr_symbol head = hr_connect(hr_dense_layer(2, .activation = "tanh"), cut);
    const hr_symbol output = hr_connect(hr_dense_layer(1), head);
    for (int i = 0; i < hr_model_layers(base); i++) hr_layer_freeze(hr_model_layer_at(base, i), true);
    hr_model *m = hr_submodel(base, &input, 1, &output, 1);
    hr_model_free(base);
    return m;
}

static const struct {
    const char *name;
    hr_model *(*make)(void);
} models[] = {{"plain", plain}, {"branches", branches}, {"words", words},      {"cells", cells},
              {"image", image}, {"frames", frames},     {"transfer", transfer}};

static hr_optimizer *optimizer_named(const char *name)
{
    const bool legacy = strncmp(name, "legacy_", 7) == 0;
    return hr_optimizer_named(name + (legacy ? 7 : 0), &(hr_parameter){"learning_rate", 0.02}, 1,
                              legacy ? HR_LEGACY_OPTIMIZERS : HR_KERAS_OPTIMIZERS);
}

/* ---- their data ---- */

typedef struct data {
    hr_tensor tensor[MOST];
    char name[MOST][32];
    const char *names[MOST];
    int count;
} data;

static hr_status data_add(data *d, const char *name, hr_dtype dtype, hr_shape shape, int salt, hr_error *err)
{
    hr_tensor *t = &d->tensor[d->count];
    shape.dims[0] = ROWS;
    HR_TRY(hr_tensor_new(t, dtype, shape, err));
    const int64_t width = t->count / ROWS;
    (void)snprintf(d->name[d->count], sizeof d->name[0], "%s", name);
    d->names[d->count] = d->name[d->count];
    d->count++;
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t number = (i / width * 7 + i % width * 3 + salt) % 11;
        if (dtype == HR_INT32)
            ((int32_t *)(void *)t->data)[i] = (int32_t)(number % 5);
        else
            ((float *)(void *)t->data)[i] = (float)(number - 5) / 5;
    }
    return HR_OK;
}

static hr_status data_of(hr_model *m, data *d, hr_error *err)
{
    for (int i = 0; i < hr_model_inputs(m); i++) {
        const hr_node input = hr_model_input_node(m, i);
        char name[32];
        (void)snprintf(name, sizeof name, "0/%s", hr_model_input_name(m, i));
        HR_TRY(data_add(d, name, hr_node_dtype(input), hr_node_shape(input), i, err));
    }
    return data_add(d, "1", HR_FLOAT, HR_SHAPE(-1, 1), 9, err);
}

static hr_dataset *rows(const data *d) { return hr_from_tensor_slices(d->tensor, d->names, d->count); }

/* ---- runs ---- */

static hr_status failure(hr_model *m, hr_error *err)
{
    *err = *hr_model_error(m);
    return err->code;
}

static hr_status train(hr_model *m, const data *d, bool print, hr_error *err)
{
    const hr_history *h = hr_fit(m, rows(d), .epochs = 2, .batch_size = 4, .no_shuffle = true);
    if (!h) return failure(m, err);
    int count;
    const double *loss = hr_history_of(h, "loss", &count);
    for (int i = 0; i < count && print; i++) printf("%.9g\n", loss[i]);
    return HR_OK;
}

static void print(hr_tensor *y)
{
    for (int64_t i = 0; i < y->count; i++) printf("%.9g\n", (double)((const float *)y->data)[i]);
    hr_tensor_clear(y);
}

static hr_status predict(hr_model *m, const data *d, hr_error *err)
{
    hr_tensor y;
    if (hr_model_predict(m, rows(d), &y) != HR_OK) return failure(m, err);
    print(&y);
    return HR_OK;
}

static hr_status serve(const data *d, const char *folder, hr_error *err)
{
    hr_saved_model *saved;
    hr_predictor *p = NULL;
    hr_tensor y;
    HR_TRY(hr_saved_model_load(folder, &saved, err));
    hr_status st = hr_predictor_new(saved, NULL, NULL, 0, &p, err);
    if (st == HR_OK) st = hr_predictor_run(p, d->tensor, &y, err);
    if (st == HR_OK) print(&y);
    hr_predictor_free(p);
    hr_saved_model_unref(saved);
    return st;
}

static hr_status run(hr_model *m, const data *d, bool save, const char *prefix, hr_error *err)
{
    if (save) HR_TRY(hr_save_weights(m, prefix, err)); /* is replaced below */
    if (save) HR_TRY(train(m, d, false, err));
    HR_TRY(save ? hr_save_weights(m, prefix, err) : hr_load_weights(m, prefix, err));
    char folder[512];
    (void)snprintf(folder, sizeof folder, "%s.saved", prefix);
    if (save) HR_TRY(hr_save_model(m, folder, err));
    HR_TRY(predict(m, d, err));
    return train(m, d, true, err);
}

int main(int count, char **argument)
{
    hr_error err = {0};
    hr_model *m = NULL;
    data d = {0};
    for (size_t i = 0; count == 5 && i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].name, argument[2]) == 0) m = models[i].make();
    if (!m) return 2;
    hr_status st = hr_compile(m, .optimizer = optimizer_named(argument[3]), .loss = "mse");
    st = st == HR_OK ? data_of(m, &d, &err) : failure(m, &err);
    if (st == HR_OK && strcmp(argument[1], "serve") == 0)
        st = serve(&d, argument[4], &err);
    else if (st == HR_OK)
        st = run(m, &d, strcmp(argument[1], "save") == 0, argument[4], &err);
    for (int i = 0; i < d.count; i++) hr_tensor_clear(&d.tensor[i]);
    hr_model_free(m);
    if (st != HR_OK) fprintf(stderr, "%s\n", err.text);
    return st == HR_OK ? 0 : 1;
}
