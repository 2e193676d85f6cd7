/* One step of an optimizer: an update a variable, then what ends the step. */
#include "train/optimizers/optimizers_internal.h"

#include <stdio.h>

/* Counts the step, lets the kind finish, and gives the one op that stands for all of it. */
static hr_node minimize_finish(hr_minimizer *t, const hr_minimize_opts *opts, hr_node *updates, int count)
{
    const hr_optimizer *o = t->optimizer;
    enum { MOST = 2 }; /* nodes of finish */
    hr_node last[MOST + 1];
    int lasts = 0;
    char scope[HR_MAX_SCOPE + 1];
    snprintf(scope, sizeof scope, "%.510s/", t->scope);
    hr_name_scope(t->g, scope);
    hr_control_dependencies(t->g, updates, count);
    if (o->kind->finish) lasts = o->kind->finish(t, last);
    if (lasts < 0 || lasts > MOST) {
        hr_node_fail(t->g, HR_INVALID_ARGUMENT, "optimizer.kind", "%s: expected finish to give 0 to %d nodes, got %d",
                     hr__optimizer_title(o), MOST, lasts);
        lasts = 0;
    }
    if (t->iterations.graph) last[lasts++] = hr_target(hr_assign_add(t->iterations, hr_scalar(t->g, HR_INT64, 1)));
    hr_control_end(t->g);
    hr_scope_end(t->g);
    for (int i = 0; i < lasts; i++) updates[count++] = last[i];
    return hr_group(t->g, updates, count, opts->name ? opts->name : t->scope);
}

static hr_node no_gradients(hr_graph *g, const hr_optimizer *o)
{
    return hr_node_fail(g, HR_INVALID_ARGUMENT, "optimizer.no_gradients",
                        "%s: expected a loss that depends on at least one of the variables to train, but it depends on "
                        "none of them",
                        hr__optimizer_title(o));
}

hr_node hr__apply_gradients(const hr_optimizer *o, hr_graph *g, hr_variable_gradient *gradients, int count,
                            const hr_minimize_opts *opts)
{
    hr_minimizer t = {.g = g, .optimizer = o};
    char prefix[HR_MAX_SCOPE] = "", slot_scope[HR_MAX_SCOPE] = "";
    int updates = 0;
    for (int i = 0; i < count; i++) updates += gradients[i].gradient.values.graph != NULL;
    if (updates == 0) return hr_graph_error(g) ? hr_failed_node(g) : no_gradients(g, o);
    hr_node *update = hr_malloc(((size_t)updates + 3) * sizeof *update);
    if (!update) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for an optimizer");
    if (opts->name_prefix && *opts->name_prefix) snprintf(prefix, sizeof prefix, "%.400s/", opts->name_prefix);
    if (opts->slot_scope && *opts->slot_scope) snprintf(slot_scope, sizeof slot_scope, "%.200s/", opts->slot_scope);
    t.prefix = prefix;
    t.slot_scope = slot_scope;
    hr__minimizer_begin(&t, opts);
    hr__minimizer_clip(&t, gradients, count);
    updates = 0;
    for (int i = 0; i < count; i++)
        if (gradients[i].gradient.values.graph) update[updates++] = hr_target(hr__minimizer_update(&t, &gradients[i]));
    hr_node done = minimize_finish(&t, opts, update, updates);
    hr_free(update);
    return done;
}
