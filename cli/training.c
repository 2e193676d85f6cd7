/* See training.h. */
#include "cli/training.h"
#include <inttypes.h>

int open_training(const command_call *call, hr__training **out)
{
    hr_error err = {0};
    int64_t seed = flag_int(call, "seed", 0);
    hr__training_opts o = {.data = flag_text(call, "data"),
                           .model_dir = flag_text(call, "model-dir"),
                           .estimator = flag_text(call, "estimator"),
                           .seed = flag_given(call, "seed") ? &seed : NULL,
                           .epochs = flag_int(call, "epochs", 0),
                           .batch_size = flag_int(call, "batch-size", 0)};
    if (flag_given(call, "epochs") && o.epochs < 1)
        return usage_error(call, "--epochs: expected a number from 1 on, found %" PRId64, o.epochs);
    if (flag_given(call, "batch-size") && (o.batch_size < 1 || o.batch_size > 1 << 24))
        return usage_error(call, "--batch-size: expected a number from 1 to %d, found %" PRId64, 1 << 24, o.batch_size);
    return hr__training_open(call_argument(call, 0), &o, out, &err) == HR_OK ? 0 : failed(call, &err);
}
