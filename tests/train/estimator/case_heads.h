/* Heads of golden cases, by the params of an estimator or by their own JSON. */
#ifndef CASE_HEADS_H
#define CASE_HEADS_H

#include "tests/golden/golden.h"
#include <headrace/heads.h>

enum { MAX_WORDS = 16 };
/* The options of a head, and what they point to. */
typedef struct head_options {
    hr_head_opts o;
    hr_reduction reduction;
    const char *words[MAX_WORDS];
    float thresholds[MAX_WORDS];
    int64_t classes[MAX_WORDS];
} head_options;

/* Of an estimator's params, or of the head given. */
void case_head_options(const cJSON *params, bool v1, head_options *out);
/* The head that the estimator of a case is given, or that its params stand for. */
hr_head *case_head(const cJSON *json, const cJSON *params, bool v1, bool regressor);

#endif
