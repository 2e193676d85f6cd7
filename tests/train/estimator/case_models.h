/* The model functions that golden cases describe in words. */
#ifndef CASE_MODELS_H
#define CASE_MODELS_H

#include "tests/golden/golden.h"
#include <headrace/estimator.h>

/* The estimator of a case's model in the folder "model"; NULL: it is not known here. Borrows the case. */
hr_estimator *case_model(const cJSON *json, const hr_run_config *config);

#endif
