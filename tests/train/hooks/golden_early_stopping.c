/* Early stopping: which evaluations end a training. */
#include "tests/train/hooks/golden_hooks.h"
#include <stdlib.h>
#include <string.h>

#define EVAL_DIR "early_eval"

static int64_t number_of(const cJSON *arguments, const char *key)
{
    const cJSON *n = golden_get(arguments, key);
    return n ? golden_number_int64(n) : 0;
}

static hr_hook *early_hook(const cJSON *json)
{
    const char *function = golden_text(json, "function", ""), *metric = golden_text(json, "metric", "loss");
    const cJSON *arguments = golden_get(json, "arguments"), *threshold = golden_get(arguments, "threshold");
    const hr_early_stopping_hook_opts opts = {
        .struct_size = sizeof opts, .min_steps = number_of(arguments, "min_steps"), .run_every_steps = 1};
    if (strcmp(function, "stop_if_higher_hook") == 0)
        return hr_stop_if_higher_hook_with(EVAL_DIR, metric, golden_number_double(threshold), &opts);
    if (strcmp(function, "stop_if_lower_hook") == 0)
        return hr_stop_if_lower_hook_with(EVAL_DIR, metric, golden_number_double(threshold), &opts);
    if (strcmp(function, "stop_if_no_increase_hook") == 0)
        return hr_stop_if_no_increase_hook_with(EVAL_DIR, metric, number_of(arguments, "max_steps_without_increase"),
                                                &opts);
    return hr_stop_if_no_decrease_hook_with(EVAL_DIR, metric, number_of(arguments, "max_steps_without_decrease"),
                                            &opts);
}

/* One step of a training that has the hook. */
static hr_status stops_now(const cJSON *json, bool *stops, hr_error *err)
{
    stepping steps;
    stepping_new(&steps, json);
    hr_hook *hook = early_hook(json);
    hr_monitored_session *m = hr_monitored_session_new(steps.graph, &hook, 1);
    const hr_node step = hr_target(steps.step_op);
    hr_monitored_run(m, NULL, 0, &step, 1, NULL, err);
    *stops = hr_stop_requested(m);
    const hr_status st = hr_monitored_session_close(m, false, err);
    hr_graph_free(steps.graph);
    return st;
}

golden_result run_early_stopping_case(golden_case *c)
{
    const cJSON *results = golden_get(c->json, "results"),
                *expect = golden_get(golden_get(c->json, "expect"), "stop_before_any_and_after_each");
    const char *metric = golden_text(c->json, "metric", "loss");
    hr_event_writer *w = NULL;
    hr_error err = {0};
    golden_result result = GOLDEN_AGREES;
    if (system("rm -rf " EVAL_DIR) != 0) return golden_differs(c, "rm");
    for (int i = 0; i <= cJSON_GetArraySize(results) && result == GOLDEN_AGREES; i++) {
        const cJSON *pair = i > 0 ? cJSON_GetArrayItem(results, i - 1) : NULL;
        hr_status st = i == 1 ? hr_event_writer_open(EVAL_DIR, &w, &err) : HR_OK;
        if (pair && st == HR_OK)
            st = hr_event_scalar(w, metric, (float)golden_number_double(cJSON_GetArrayItem(pair, 1)),
                                 golden_number_int64(cJSON_GetArrayItem(pair, 0)), &err);
        bool stops = false, wanted = cJSON_IsTrue(cJSON_GetArrayItem(expect, i));
        if (st == HR_OK) st = stops_now(c->json, &stops, &err);
        if (st != HR_OK) result = golden_differs(c, "%s", err.text);
        if (st == HR_OK && stops != wanted)
            result = golden_differs(c, "after %d evaluations it %s", i, stops ? "stops" : "goes on");
    }
    hr_event_writer_free(w);
    return result;
}
