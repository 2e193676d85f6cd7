/* A function of a model: a graph of its own with its session, what is fed to it and what it gives; its runs. */
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>

void hr__function_free(hr__function *f)
{
    if (!f) return;
    hr_callable_free(f->run);
    hr_callable_free(f->resetting);
    hr_session_free(f->session);
    hr_graph_free(f->graph);
    hr__signature_clear(&f->signature);
    hr_optimizer_variables_clear(&f->optimizer);
    for (int i = 0; i < f->slot_titles.count; i++) hr_free(f->slot_titles.at[i]);
    hr_free(f->slot_titles.at);
    for (int i = 0; i < f->keys.count; i++) hr_free(f->keys.at[i]);
    hr_free(f->keys.at);
    hr_free(f->variables.at);
    hr_free(f->feeds.at);
    hr_free(f->fed.at);
    hr_free(f->fetches.at);
    hr_free(f);
}

const char *hr__function_title(const hr__function *f, const hr_variable_info *variable)
{
    for (int i = 0; i < f->slot_titles.count; i++)
        if (f->optimizer.slot[i].variable.id == variable->handle.id) return f->slot_titles.at[i];
    return variable->name;
}

hr_status hr__function_fetch(hr__function *f, hr_node node, const char *key, hr_error *err)
{
    hr_node *place = HR__LIST_ADD(&f->fetches);
    char **name = place && key ? HR__LIST_ADD(&f->keys) : NULL;
    int *variables = name ? HR__LIST_ADD(&f->variables) : NULL;
    if (!place || (key && !(variables && (*name = hr_strdup(key))))) return hr_no_memory(err, "a model");
    if (variables) *variables = hr_graph_variables(f->graph);
    *place = node;
    return HR_OK;
}

/* ---- runs ---- */

hr_status hr__function_reset(hr__function *f, hr_error *err) { return hr_callable_run(f->resetting, NULL, NULL, err); }

hr_status hr__function_run(hr__function *f, const hr_tensor *const *values, const hr_tensor *class_weights,
                           hr_tensor *out, hr_error *err)
{
    enum { FEW = 16 };
    hr_tensor few_fed[FEW], few_got[2 * FEW], *fed = few_fed, *got = few_got;
    if (f->feeds.count > FEW) fed = hr_calloc((size_t)f->feeds.count, sizeof *fed);
    if (f->fetches.count > 2 * FEW) got = hr_calloc((size_t)f->fetches.count, sizeof *got);
    hr_status st = fed && got ? HR_OK : hr_no_memory(err, "a batch");
    for (int i = 0; i < f->feeds.count && st == HR_OK; i++)
        fed[i] = f->fed.at[i] < 0 ? *class_weights : *values[f->fed.at[i]];
    if (st == HR_OK) st = hr_callable_run(f->run, fed, got, err);
    for (int i = 0; i < f->results && st == HR_OK; i++) out[i] = got[i];
    if (fed != few_fed) hr_free(fed);
    if (got != few_got) hr_free(got);
    return st;
}
