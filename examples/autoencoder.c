/* An autoencoder: digits of 64 pixels through 8 numbers and back. Its encoder is a model of its own, with the same
 * weights. Writes a picture: digits above, and what became of them below.
 *
 *     cc autoencoder.c $(pkg-config --cflags --libs headrace_train) -o autoencoder
 *     ./autoencoder data/digits-images-idx3-ubyte.gz digits.png
 */
#include <headrace/headrace.h>
#include <stdio.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, SHOWN = 16 };

/* An image is what goes in and what should come out: bytes from 0 to 16 as floats from 0 to 1. */
static hr_status both(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const unsigned char *pixels = hr_get(in, "value")->data;
    float *x = hr_set(out, "0"), *y = hr_set(out, "1");
    for (int i = 0; i < PIXELS; i++) x[i] = y[i] = (float)pixels[i] / 16;
    return HR_OK;
}

static hr_dataset *images(const char *file)
{
    static const hr_field fields[] = {{.name = "0", .dtype = HR_FLOAT, .shape = {1, {PIXELS}}},
                                      {.name = "1", .dtype = HR_FLOAT, .shape = {1, {PIXELS}}}};
    static const hr_schema schema = {.fields = 2, .field = fields};
    return hr_cache(hr_map(hr_idx(file), both, NULL, .output = &schema));
}

/* Two rows of digits as a PNG. */
static hr_status draw(const hr_tensor *before, const hr_tensor *after, const char *path, hr_error *err)
{
    static unsigned char picture[2 * SIDE][SHOWN * SIDE];
    const float *rows[] = {before->data, after->data};
    for (int i = 0; i < 2 * SIDE; i++)
        for (int k = 0; k < SHOWN * SIDE; k++)
            picture[i][k] = (unsigned char)(255 * rows[i / SIDE][k / SIDE * PIXELS + i % SIDE * SIDE + k % SIDE]);
    const hr_tensor pixels = hr_tensor_of(HR_UINT8, HR_SHAPE(2 * SIDE, SHOWN * SIDE, 1), picture);
    hr_tensor png = {0};
    hr_graph *g = hr_eager_new();
    hr_status st = hr_eager_get(hr_encode_png(hr_const(g, &pixels)), &png, err);
    if (st == HR_OK) {
        const hr_view *bytes = png.data;
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(bytes->data, 1, (size_t)bytes->size, f) != (size_t)bytes->size) st = HR_UNKNOWN;
        if (f && fclose(f) != 0) st = HR_UNKNOWN;
    }
    hr_tensor_clear(&png);
    hr_graph_free(g);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: autoencoder IMAGES PICTURE.png\n"), 2;
    hr_model *m = hr_model_new(.name = "autoencoder", .seed = 1);
    hr_symbol image = hr_model_input(m, HR_SHAPE(PIXELS));
    hr_symbol code =
        hr_connect(hr_dense_layer(8, .name = "code"), hr_connect(hr_dense_layer(64, .activation = "relu"), image));
    hr_symbol back = hr_connect(hr_dense_layer(64, .activation = "relu"), code);
    hr_model_outputs(m, hr_connect(hr_dense_layer(PIXELS, .activation = "sigmoid"), back));
    hr_model *encoder = hr_submodel(m, &image, 1, &code, 1);

    hr_error err = {0};
    hr_tensor pixels = {0}, numbers = {0};
    hr_dataset *data = images(argv[1]);
    const hr_element *first;
    hr_compile(m, .optimizer = hr_adam(0.003f), .loss = "binary_crossentropy", .metrics = HR_STRINGS("mse"));
    const hr_history *h = hr_fit(m, hr_dataset_ref(data), .epochs = 20, .batch_size = 64);
    hr_iterator *it = hr_iterate(hr_batch(data, SHOWN));
    const double error = h ? hr_history_last(h, "mse") : 0;
    hr_status st = h ? hr_next(it, &first) : HR_UNKNOWN;
    if (st == HR_OK) st = hr_predict_on_batch(m, hr_get(first, "0"), NULL, 1, &pixels);
    if (st == HR_OK) st = hr_predict_on_batch(encoder, hr_get(first, "0"), NULL, 1, &numbers);
    if (st == HR_OK) st = draw(hr_get(first, "0"), &pixels, argv[2], &err);
    if (st == HR_OK)
        printf("mean squared error %.4f of %lld numbers for a digit\n", error, (long long)numbers.shape.dims[1]);
    else
        fprintf(stderr, "%s\n", hr_model_error(m) ? hr_model_error(m)->text : err.text);
    hr_tensor_clear(&pixels);
    hr_tensor_clear(&numbers);
    hr_iterator_free(it);
    hr_model_free(encoder);
    hr_model_free(m);
    return st != HR_OK;
}
