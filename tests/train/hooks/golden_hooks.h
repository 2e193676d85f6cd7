/* The kinds of cases of the topic hooks. */
#ifndef GOLDEN_HOOKS_H
#define GOLDEN_HOOKS_H

#include "base/text.h"
#include "tests/golden/golden.h"
#include <headrace/hooks.h>
#include <headrace/ops.h>

golden_result run_session_case(golden_case *c);
golden_result run_early_stopping_case(golden_case *c);
golden_result run_exporter_case(golden_case *c);
golden_result run_estimator_case(golden_case *c);
golden_result run_in_turn_case(golden_case *c);

/* Says which line is another one. */
golden_result compare_texts(golden_case *c, const hr__text *expected, const hr__text *got);

/* The graph of sessions and hooks: global_step, which `step_op` raises by steps_per_run. Begins at start_step. */
typedef struct stepping {
    hr_graph *graph;
    hr_node step_op;
    int64_t start;
} stepping;
void stepping_new(stepping *s, const cJSON *json);
hr_status stepping_begin(hr_session *session, void *user, hr_error *err); /* an init_fn */

#endif
