/* What an op gives in a graph it gives in an eager one, where nothing is inferred before the kernel runs. */
#include "train/conformance/trial.h"

#include <string.h>

/* An eager graph has no variables of TensorFlow 1, no node that is fed, and no output without a value. */
static bool has_eager_twin(const trial *t)
{
    for (int i = 0; i < t->inputs; i++)
        if (hr_node_exists(t->input[i]) && hr_node_is(t->input[i], "VariableV2")) return false;
    for (int i = 0; i < t->feeds; i++)
        if (t->feed[i].node.graph == t->node.graph && t->feed[i].node.id == t->node.id) return false;
    return hr__trial_has_seeds(t) != UNSEEDED && !t->refuse_feeds &&
           !(t->op->traits & (HR_CALLS | HR_SWITCHES | HR_MERGES));
}

static bool graph_digest(const trial_plan *plan, uint64_t *digest, hr_status *st, hr_error *err)
{
    trial t;
    hr_tensor out[MAX_FETCHES] = {{0}};
    bool works = hr__trial_begin(&t, plan) && t.node.graph && !hr_graph_error(t.g) && has_eager_twin(&t) &&
                 hr__trial_run(&t, out);
    if (works) {
        hr__trial_digest(&t, out, digest);
        hr__trial_clear(&t, out);
    }
    *st = hr__trial_answer(&t, err);
    return works && *st == HR_OK;
}

static void compare_eager(trial *t, const uint64_t *want)
{
    hr_tensor out[MAX_FETCHES] = {{0}};
    uint64_t got[MAX_FETCHES];
    hr_error err = {0};
    for (int i = 0; i < t->fetches; i++) {
        if (t->fetch[i].output < 0) continue;
        if (hr_eager_get(t->fetch[i], &out[i], &err) == HR_OK)
            hr__trial_check_result(t, t->fetch[i], &out[i]);
        else
            hr__trial_wrong(t, "conformance.eager", "expected in an eager graph the same result %d, got: %s", i,
                            err.text);
    }
    hr__trial_digest(t, out, got);
    for (int i = 0; i < t->fetches; i++)
        if (got[i] != want[i])
            hr__trial_wrong(t, "conformance.eager", "expected in an eager graph the same result %d, got another", i);
    hr__trial_clear(t, out);
}

hr_status hr__trial_eagerly(const trial_plan *plan, bool *compared, hr_error *err)
{
    trial t;
    uint64_t want[MAX_FETCHES] = {0};
    hr_status st;
    trial_plan eager = *plan;
    *compared = graph_digest(plan, want, &st, err);
    if (!*compared) return st;
    eager.eager = true;
    const bool begun = hr__trial_begin(&t, &eager);
    *compared = begun && t.node.graph; /* what fills a table in vain makes no input here */
    if (*compared && hr_graph_error(t.g))
        hr__trial_wrong(&t, "conformance.eager", "expected in an eager graph the same results, got: %s",
                        hr_graph_error(t.g)->text);
    else if (*compared)
        compare_eager(&t, want);
    return hr__trial_answer(&t, err);
}
