/* See cli_training.h. */
#include "cli/cli_training.h"
#include <headrace/pipeline_file.h>
#include <inttypes.h>
#include <string.h>

int open_training(const command_call *call, hr_training **out)
{
    const char *set[MOST_SETS];
    int sets;
    hr_error err = {0};
    int64_t seed = flag_number(call, "seed", 0);
    const int wrong = read_sets(call, set, &sets);
    if (wrong != 0) return wrong;
    hr_training_opts o = {.struct_size = sizeof o,
                          .data = flag_text(call, "data"),
                          .model_dir = flag_text(call, "model-dir"),
                          .estimator = flag_text(call, "estimator"),
                          .seed = flag_given(call, "seed") ? &seed : NULL,
                          .epochs = flag_number(call, "epochs", 0),
                          .batch_size = flag_number(call, "batch-size", 0),
                          .max_steps = flag_number(call, "steps", 0),
                          .set = set,
                          .set_count = sets};
    if (o.batch_size > 1 << 24)
        return usage_error(call, "--batch-size: expected at most %d, found %" PRId64, 1 << 24, o.batch_size);
    if (hr_training_open_with(call_argument(call, 0), &o, out, &err) == HR_OK) return 0;
    if (strcmp(err.kind ? err.kind : "", "training.estimator") == 0)
        return usage_error(call, "--estimator: %s", err.text);
    return failed(call, &err);
}

static int open_pipeline(const command_call *call, input *out)
{
    static const char *const of_training[] = {"model-dir", "estimator", "epochs", "batch-size"};
    hr_error err = {0};
    for (size_t i = 0; i < sizeof of_training / sizeof *of_training; i++)
        if (flag_given(call, of_training[i]))
            return usage_error(call, "--%s: expected it of a training, found a pipeline; change the file",
                               of_training[i]);
    const char *set[MOST_SETS];
    int sets;
    const int wrong = read_sets(call, set, &sets);
    if (wrong != 0) return wrong;
    *out = (input){.seed = (uint64_t)flag_number(call, "seed", 0)};
    const hr_status st = hr_pipeline_from_file(call_argument(call, 0), &out->dataset, &err,
                                               .data = flag_text(call, "data"), .set = set, .set_count = sets);
    return st == HR_OK ? 0 : failed(call, &err);
}

int open_input(const command_call *call, input *out)
{
    hr_training *t;
    if (flag_given(call, "pipeline") || hr_is_pipeline_file(call_argument(call, 0))) return open_pipeline(call, out);
    const int code = open_training(call, &t);
    if (code != 0) return code;
    *out = (input){.dataset = hr_training_input(t), .seed = hr_training_seed(t), .training = t};
    return 0;
}

void close_input(input *in) { hr_training_free(in->training); }
