/* What train, evaluate, predict and bench share: the training file, and the flags that say more than it does. */
#ifndef CLI_TRAINING_H
#define CLI_TRAINING_H

#include "cli/command.h"
#include <headrace/training_file.h>

#define TRAINING_FLAGS                                                                                                 \
    {FLAG_TEXT, "data", 'd', "DIR", "folder from which relative names in the file start"},                             \
        {FLAG_TEXT, "model-dir", 'm', "DIR", "folder of checkpoints and event files; default: the file's, or model"},  \
        {FLAG_TEXT, "estimator", 0, "ESTIMATOR", "another kind of model, of the same columns"},                        \
        {FLAG_NUMBER, "seed", 0, "N", "overrides the file's"}, {FLAG_COUNT, "epochs", 0, "N", "overrides the file's"}, \
        {FLAG_COUNT, "batch-size", 0, "N", "overrides the file's"}, SET_FLAG("train.learning_rate=0.01")

/* Opens the file that the first argument names. 0, or the exit code. */
int open_training(const command_call *call, hr_training **out);
/* What bench and explain look at: the input of a training, or the file's own `pipeline:`. */
#define PIPELINE_FLAG                                                                                                  \
    {                                                                                                                  \
        FLAG_SWITCH, "pipeline", 0, NULL, "use the file's section pipeline: instead of its training"                   \
    }
typedef struct input {
    hr_dataset *dataset; /* whoever iterates takes it */
    uint64_t seed;
    hr_training *training; /* NULL: a pipeline */
} input;
/* Opens the pipeline if --pipeline asks for it, or if the file describes nothing else. 0, or the exit code. */
int open_input(const command_call *call, input *out);
void close_input(input *in); /* when the dataset is gone */

#endif
