/* The golden topic dataset_order: pipelines from JSON, and list_files. */
#ifndef GOLDEN_DATASET_ORDER_H
#define GOLDEN_DATASET_ORDER_H

#include "tests/golden/golden.h"
#include <headrace/data.h>

/* What the functions of a pipeline need while it runs. */
typedef struct golden_notes golden_notes;
golden_notes *golden_notes_new(void);
void golden_notes_free(golden_notes *notes);

/* The pipeline of a case. NULL: it needs what is not built, and *missing names it (borrows from the JSON). */
hr_dataset *golden_pipeline(const cJSON *pipeline, golden_notes *notes, const char **missing);

/* Compares what `ds` (taken) gives with a case's expectation: scalars, elements, events, an error. */
golden_result golden_compare_run(golden_case *c, hr_dataset *ds, const cJSON *expectation, int64_t limit);
/* What is to be true of every order that a shuffle may give. Takes `ds`. */
golden_result golden_compare_properties(golden_case *c, hr_dataset *ds, const cJSON *properties);

golden_result golden_list_files(golden_case *c);

#endif
