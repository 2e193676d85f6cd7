/* Digits by a model in a screen: which digit is an image of 8 x 8? Dense layers, or convolutions; a progress bar, and an
 * end when the other images are not recognised any better.
 *
 *     cc fit_digits.c $(pkg-config --cflags --libs headrace_train) -o fit_digits
 *     ./fit_digits mlp data/digits-images-idx3-ubyte.gz data/digits-labels-idx1-ubyte.gz
 *     ./fit_digits cnn data/digits-images-idx3-ubyte.gz data/digits-labels-idx1-ubyte.gz
 */
#include <headrace/headrace.h>
#include <stdio.h>
#include <string.h>

enum { TRAINED = 1500 /* of 1797 images; the others are for the test */ };

static void show(const char *text, void *to) { fputs(text, to); }

/* Images [8, 8] of bytes from 0 to 16 beside their digits, in one random order. */
static hr_dataset *images(char **files)
{
    hr_dataset *both = hr_zip((hr_dataset *[]){hr_idx(files[0]), hr_idx(files[1])}, 2);
    return hr_cache(hr_shuffle(both, 2000, .seed = 1, .same_each_epoch = true));
}

static hr_model *network(bool convolutions)
{
    if (!convolutions)
        return hr_sequential(HR_LAYERS(hr_flatten_layer(), hr_batch_normalization_layer(),
                                       hr_dense_layer(128, .activation = "relu"), hr_dropout_layer(0.2f),
                                       hr_dense_layer(10)),
                             .input_shape = HR_SHAPE(8, 8), .seed = 1);
    return hr_sequential(HR_LAYERS(hr_reshape_layer(HR_SHAPE(8, 8, 1)), hr_batch_normalization_layer(),
                                   hr_conv2d_layer(16, 3, 3, .padding = HR_SAME, .activation = "relu"),
                                   hr_max_pooling2d_layer(2, 2), hr_conv2d_layer(32, 3, 3, .activation = "relu"),
                                   hr_flatten_layer(), hr_dense_layer(10)),
                         .input_shape = HR_SHAPE(8, 8), .seed = 1);
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: fit_digits mlp|cnn IMAGES LABELS\n"), 2;
    hr_dataset *all = images(argv + 2), *test = hr_skip(hr_dataset_ref(all), TRAINED);
    hr_model *m = network(strcmp(argv[1], "cnn") == 0);
    hr_compile(m, .optimizer = hr_adam(0.003f), .loss = "sparse_categorical_crossentropy", .from_logits = true,
               .metrics = HR_STRINGS("accuracy"));
    const hr_history *h =
        hr_fit(m, hr_take(all, TRAINED), .epochs = 12, .validation_data = hr_dataset_ref(test),
               .callbacks = HR_CALLBACKS(hr_early_stopping("val_loss", .patience = 3, .restore_best_weights = true),
                                         hr_progress_bar(show, stderr)));
    const hr_logs *logs = hr_model_evaluate(m, test);
    if (h && logs)
        printf("%s: accuracy %.3f\n", argv[1], hr_logs_get(logs, "accuracy"));
    else
        fprintf(stderr, "%s\n", hr_model_error(m)->text);
    const int code = !h || !logs;
    hr_model_free(m);
    return code;
}
