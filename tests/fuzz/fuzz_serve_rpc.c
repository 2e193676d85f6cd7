/* Any bytes as the message of a gRPC request, or as a config: the first one chooses. */
#include "serve/rpc.h"
#include "tests/fuzz/served.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_config(hr_view bytes, bool text)
{
    hr__model_config *configs;
    hr__fault fault = {0};
    int count;
    if (hr__configs_read(bytes, text, &configs, &count, &fault) == HR_OK) hr__configs_free(configs, count);
    hr__text_free(&fault.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {
        "/tensorflow.serving.PredictionService/Predict", "/tensorflow.serving.PredictionService/Classify",
        "/tensorflow.serving.PredictionService/Regress", "/tensorflow.serving.PredictionService/MultiInference"};
    if (size < 1) return 0;
    char *copy = malloc(size); /* no byte more */
    memcpy(copy, data + 1, size - 1);
    const hr_view bytes = {copy, (int64_t)size - 1};
    const int which = data[0] % 6;
    if (which >= 4) {
        read_config(bytes, which == 5);
    } else {
        hr__rpc rpc = {.warmed = served_version(), .method = hr__method_named(paths[which], strlen(paths[which]))};
        hr__rpc_run(&rpc, bytes);
        hr__rpc_clear(&rpc);
    }
    free(copy);
    return 0;
}
