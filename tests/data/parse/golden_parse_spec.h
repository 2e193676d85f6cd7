/* Parsing specs of golden cases (topics example_parse, sequence_example). */
#ifndef GOLDEN_PARSE_SPEC_H
#define GOLDEN_PARSE_SPEC_H

#include "tests/golden/golden.h"
#include <headrace/data.h>

enum { MAX_FEATURES = 64, MOST_PARTS = 8 };

/* A case's spec; what it points to lives as long. */
typedef struct golden_spec {
    hr_feature feature[MAX_FEATURES];
    hr_tensor default_value[MAX_FEATURES];
    hr_partition partition[MAX_FEATURES][MOST_PARTS];
    const char *index_key[MAX_FEATURES][MOST_PARTS];
    char name[MAX_FEATURES][128];
    int features;
} golden_spec;

/* All features of a spec: its components are called `prefix` and then as in the case. False: too many for this test. */
bool golden_spec_read(golden_spec *spec, const cJSON *json, const char *prefix);
void golden_spec_clear(golden_spec *spec);

#endif
