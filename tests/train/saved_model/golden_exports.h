/* Estimators as golden cases describe them, exported with TensorFlow's weights. */
#ifndef GOLDEN_EXPORTS_H
#define GOLDEN_EXPORTS_H

#include "tests/golden/golden.h"
#include <headrace/estimator.h>

/* Exports the estimator of a case's `model` with the values of a checkpoint. Gives *path. */
hr_status golden_export(golden_case *c, const cJSON *model, const char *variables, bool raw, bool text, char **path,
                        hr_error *err);

#endif
