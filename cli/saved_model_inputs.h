/* What a signature of a SavedModel is called with, from the command line. */
#ifndef SAVED_MODEL_INPUTS_H
#define SAVED_MODEL_INPUTS_H

#include "cli/command.h"
#include <headrace/saved_model.h>

/* A tensor for each input of the signature, in its order. */
typedef struct model_inputs {
    hr_tensor *value;
    bool *given;
    int count;
} model_inputs;

/* Those of --inputs and --input-examples. clear_model_inputs also after a failure. */
hr_status read_model_inputs(const command_call *call, const hr_meta_signature *signature, model_inputs *out,
                            hr_error *err);
void clear_model_inputs(model_inputs *inputs);

#endif
