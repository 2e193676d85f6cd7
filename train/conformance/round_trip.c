/* A graph that is written as a GraphDef and read again computes the same. */
#include "train/conformance/trial.h"

#include <headrace/graphdef.h>
#include <stdio.h>

/* The same output, by its name, in the other graph. */
static bool find_node(hr_graph *g, hr_node from, hr_node *out)
{
    char name[512];
    if (from.output < 0)
        snprintf(name, sizeof name, "%s", hr_node_name(from));
    else
        snprintf(name, sizeof name, "%s:%d", hr_node_name(from), from.output);
    const hr_node found = hr_graph_node(g, name);
    *out = found;
    return hr_node_exists(found);
}

/* Runs what was read, with the variables and resources of the first session. */
static void compare_read(trial *t, hr_graph *g, const uint64_t *want)
{
    hr_error err = {0};
    hr_tensor out[MAX_FETCHES] = {{0}};
    hr_feed feed[MAX_INPUTS + 1];
    hr_node fetch[MAX_FETCHES];
    uint64_t got[MAX_FETCHES];
    bool found = true;
    for (int i = 0; i < t->feeds; i++) {
        feed[i] = t->feed[i];
        found = found && find_node(g, t->feed[i].node, &feed[i].node);
    }
    for (int i = 0; i < t->fetches; i++) found = found && find_node(g, t->fetch[i], &fetch[i]);
    hr_session *s = hr_session_new(g, .workers = &(int){0}, .share = t->s);
    if (!found || !s) {
        hr__trial_wrong(t, "conformance.export", "expected the same nodes after export and import, got fewer");
    } else if (hr_session_run(s, feed, t->feeds, fetch, t->fetches, out, &err) != HR_OK) {
        hr__trial_wrong(t, "conformance.export", "expected the same after export and import, got: %s", err.text);
    } else {
        hr__trial_digest(t, out, got);
        for (int i = 0; i < t->fetches; i++)
            if (got[i] != want[i])
                hr__trial_wrong(t, "conformance.export",
                                "expected the same result %d after export and import, got another", i);
        hr__trial_clear(t, out);
    }
    hr_session_free(s);
}

static void export_and_import(trial *t, const uint64_t *want)
{
    hr_error err = {0};
    char *bytes = NULL;
    size_t size;
    hr_graph *g = hr_graph_new();
    if (!g) return;
    hr_graph_use(g, t->op);
    hr_status st = hr_graph_export(t->g, &bytes, &size, &err);
    if (st == HR_OK) st = hr_graph_import(g, ((hr_view){bytes, (int64_t)size}), &err);
    if (st == HR_OK)
        compare_read(t, g, want);
    else
        hr__trial_wrong(t, "conformance.export", "expected a GraphDef, got: %s", err.text);
    hr_free(bytes);
    hr_graph_free(g);
}

hr_status hr__trial_round_trip(const trial_plan *plan, hr_error *err)
{
    trial t;
    hr_tensor out[MAX_FETCHES] = {{0}};
    uint64_t want[MAX_FETCHES];
    if (hr__trial_begin(&t, plan) && t.node.graph && !hr_graph_error(t.g) &&
        !(t.op->traits & (HR_STATEFUL | HR_CALLS)) && hr__trial_run(&t, out)) {
        hr__trial_digest(&t, out, want);
        hr__trial_clear(&t, out);
        export_and_import(&t, want);
    }
    return hr__trial_answer(&t, err);
}
