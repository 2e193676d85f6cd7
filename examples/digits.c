/* Digits: which digit is an image of 8 x 8? IDX files, zipped to images with labels, and a model function with either
 * of two networks: dense layers, or convolutions.
 *
 *     cc digits.c $(pkg-config --cflags --libs headrace_train) -o digits
 *     ./digits mlp data/digits-images-idx3-ubyte.gz data/digits-labels-idx1-ubyte.gz
 *     ./digits cnn data/digits-images-idx3-ubyte.gz data/digits-labels-idx1-ubyte.gz
 */
#include <headrace/headrace.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, IMAGES = 1797, TRAINED = 1500 /* the others are for the test */ };

/* Bytes from 0 to 16 become floats from 0 to 1. */
static hr_status scale(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const unsigned char *pixels = hr_get(in, "0")->data, *label = hr_get(in, "1")->data;
    float *image = hr_set(out, "image");
    for (int i = 0; i < PIXELS; i++) image[i] = (float)pixels[i] / 16;
    *(int64_t *)hr_set(out, "label") = *label;
    return HR_OK;
}

/* In one random order, of which the first are for training. */
static hr_dataset *images(char **files)
{
    static const hr_field fields[] = {
        {.name = "image", .dtype = HR_FLOAT, .shape = {.rank = 3, .dims = {SIDE, SIDE, 1}}},
        {.name = "label", .dtype = HR_INT64, .label = true}};
    static const hr_schema schema = {.fields = 2, .field = fields};
    hr_dataset *both = hr_zip((hr_dataset *[]){hr_idx(files[0]), hr_idx(files[1])}, 2);
    return hr_map(hr_shuffle(both, IMAGES, .seed = 1, .same_each_epoch = true), scale, NULL, .output = &schema);
}

static hr_dataset *train_images(void *files)
{
    return hr_batch(hr_repeat(hr_shuffle(hr_take(images(files), TRAINED), TRAINED), .count = HR_I64(6)), 50);
}

static hr_dataset *test_images(void *files) { return hr_batch(hr_skip(images(files), TRAINED), 99); }

static hr_status network(const hr_model_call *call, void *kind, hr_error *err)
{
    (void)err;
    hr_node net = hr_feature_values(call->features, "image");
    if (strcmp(kind, "cnn") == 0) {
        net = hr_max_pool(hr_conv2d(net, 8, 3, 3, .padding = HR_SAME, .activation = hr_relu_fn), 2, 2);
        net = hr_conv2d(net, 16, 3, 3, .padding = HR_SAME, .activation = hr_relu_fn);
    } else {
        net = hr_dense(hr_flatten(net), 64, .activation = hr_relu_fn);
    }
    net = hr_dense(hr_flatten(net), 32, .activation = hr_relu_fn);
    const hr_node logits = hr_dense(net, 10, .name = "logits"), digit = hr_argmax(logits, 1);
    hr_spec_prediction(call->spec, "digit", digit);
    if (call->mode == HR_MODE_PREDICT) return HR_OK;
    const hr_node label = hr_label(call->features), loss = hr_sparse_softmax_cross_entropy_loss(label, logits);
    hr_spec_loss(call->spec, loss);
    hr_spec_metric(call->spec, "accuracy", hr_metric_accuracy(label, digit));
    if (call->mode == HR_MODE_TRAIN)
        hr_spec_train_op(call->spec, hr_minimize(hr_adam(0.01f), loss, .global_step = hr_global_step(call->graph)));
    return HR_OK;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: digits mlp|cnn IMAGES LABELS\n"), 2;
    hr_estimator *model = hr_estimator_new(network, argv[1], .model_dir = argv[1], .config = {.tf_random_seed = 1});
    hr_status st = hr_estimator_train(model, train_images, argv + 2);
    if (st == HR_OK) st = hr_estimator_evaluate(model, test_images, argv + 2);
    if (st == HR_OK)
        printf("%s: accuracy %.3f\n", argv[1], hr_estimator_result(model, "accuracy"));
    else
        fprintf(stderr, "%s\n", hr_estimator_error(model)->text);
    hr_estimator_free(model);
    return st != HR_OK;
}
