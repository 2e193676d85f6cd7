/* Examples of a case, parsed through a pipeline with the columns' own spec. */
#ifndef PARSE_CASE_H
#define PARSE_CASE_H

#include "tests/feature_columns/case_columns.h"

/* The features of the records in `serialized`, in place of those that cases give as tensors. */
hr_status parse_case(case_columns *cc, const cJSON *serialized, const hr_parse_spec *spec, hr_error *err);

#endif
