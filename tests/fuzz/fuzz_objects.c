/* Files of weights with any graph of objects: a model refuses one, and has what it had, or takes its values. The input:
 * the bytes of the graph; the tensors are those of a model that was trained by Adam. */
#include "tests/fuzz/temporary.h"

#include <headrace/checkpoint.h>
#include <headrace/models.h>
#include <string.h>

static const char *const keys[] = {"layer_with_weights-0/kernel", "layer_with_weights-0/bias", "optimizer/_iterations",
                                   "optimizer/_learning_rate",    "optimizer/_variables/1",    "optimizer/_variables/2",
                                   "optimizer/_variables/3",      "optimizer/_variables/4"};

static hr_tensor value_of(int i)
{
    static const float numbers[] = {0.5f, 0.25f};
    static const int64_t steps = 3;
    if (i == 2) return hr_tensor_of(HR_INT64, HR_SCALAR, &steps);
    if (i == 3) return hr_tensor_of(HR_FLOAT, HR_SCALAR, numbers);
    return hr_tensor_of(HR_FLOAT, i % 4 < 2 && i != 1 ? HR_SHAPE(2, 1) : HR_SHAPE(1), numbers);
}

static void write_file(const char *prefix, hr_view graph)
{
    hr_bundle_writer *w;
    hr_error err;
    const hr_tensor objects = hr_tensor_of(HR_STRING, HR_SCALAR, &graph);
    if (hr_bundle_writer_open(prefix, &w, &err) != HR_OK) abort();
    for (int i = 0; i < 8; i++) {
        char key[128];
        const hr_tensor value = value_of(i);
        (void)snprintf(key, sizeof key, "%s/.ATTRIBUTES/VARIABLE_VALUE", keys[i]);
        if (hr_bundle_add(w, key, &value, &err) != HR_OK) abort();
    }
    if (hr_bundle_add(w, "_CHECKPOINTABLE_OBJECT_GRAPH", &objects, &err) != HR_OK) abort();
    if (hr_bundle_writer_commit(w, &err) != HR_OK) abort();
}

static float first_weight(hr_model *m)
{
    hr_tensor t;
    hr_error err;
    if (hr_get_weight(m, 0, &t, &err) != HR_OK) abort();
    const float value = *(const float *)t.data;
    hr_tensor_clear(&t);
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char prefix[TEMPORARY], file[TEMPORARY + 32];
    hr_error err;
    int64_t steps;
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(2), .seed = 1);
    if (hr_compile(m, .optimizer = hr_adam(0.001f, .keras = true), .loss = "mse") != HR_OK) abort();
    const float before = first_weight(m);
    temporary_path(prefix, "objects");
    write_file(prefix, (hr_view){(const char *)data, (int64_t)size});
    const hr_status st = hr_load_weights(m, prefix, &err);
    if (st != HR_OK && first_weight(m) != before) abort();
    if (hr_model_iterations(m, &steps) != HR_OK || (st != HR_OK && steps != 0)) abort();
    hr_model_free(m);
    static const char *const ends[] = {"index", "data-00000-of-00001"};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(file, sizeof file, "%s.%s", prefix, ends[i]);
        unlink(file);
    }
    return 0;
}
