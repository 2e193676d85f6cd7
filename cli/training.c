/* See training.h. */
#include "cli/training.h"
#include <inttypes.h>
#include <string.h>

int open_training(const command_call *call, hr__training **out)
{
    hr_error err = {0};
    int64_t seed = flag_number(call, "seed", 0);
    hr__training_opts o = {.data = flag_text(call, "data"),
                           .model_dir = flag_text(call, "model-dir"),
                           .estimator = flag_text(call, "estimator"),
                           .seed = flag_given(call, "seed") ? &seed : NULL,
                           .epochs = flag_number(call, "epochs", 0),
                           .batch_size = flag_number(call, "batch-size", 0)};
    if (o.batch_size > 1 << 24)
        return usage_error(call, "--batch-size: expected at most %d, found %" PRId64, 1 << 24, o.batch_size);
    if (hr__training_open(call_argument(call, 0), &o, out, &err) == HR_OK) return 0;
    if (strcmp(err.kind ? err.kind : "", "training.estimator") == 0)
        return usage_error(call, "--estimator: %s", err.text);
    return failed(call, &err);
}

int lacks_eval_files(const command_call *call, const char *verb)
{
    hr_error err = {0};
    hr_fail(&err, HR_INVALID_ARGUMENT, "cli.eval_files", "%s: train: expected a key 'eval_files': the records to %s",
            call_argument(call, 0), verb);
    return failed(call, &err);
}
