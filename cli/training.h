/* What train, evaluate, predict and bench share: the training file, and the flags that say more than it does. */
#ifndef CLI_TRAINING_H
#define CLI_TRAINING_H

#include "cli/command.h"
#include "train/estimator/training.h"

#define TRAINING_FLAGS                                                                                                 \
    {FLAG_TEXT, "data", 'd', "DIR", "folder that relative names in the file count from"},                              \
        {FLAG_TEXT, "model-dir", 'm', "DIR", "folder of checkpoints and event files; default: the file's, or model"},  \
        {FLAG_TEXT, "estimator", 0, "NAME", "another kind of model than the file's, from the same columns"},           \
        {FLAG_NUMBER, "seed", 0, "N", "instead of the file's"},                                                        \
        {FLAG_COUNT, "epochs", 0, "N", "instead of the file's"},                                                       \
    {                                                                                                                  \
        FLAG_COUNT, "batch-size", 0, "N", "instead of the file's"                                                      \
    }

/* Opens the file that the first argument names. 0, or the exit code. */
int open_training(const command_call *call, hr__training **out);
/* Says that the file names no rows to `verb`; gives the exit code. */
int lacks_eval_files(const command_call *call, const char *verb);

#endif
