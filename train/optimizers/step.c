/* One step of an optimizer: an update a variable, then what ends the step. */
#include "train/optimizers/optimizers_internal.h"

#include <stdio.h>

/* Counts the step, lets the kind finish, and gives the one op that stands for all of it. */
static hr_node minimize_finish(hr_minimizer *t, const hr_minimize_opts *opts, hr_node *updates, int count)
{
    const hr_optimizer *o = t->optimizer;
    enum { MOST = 2 }; /* nodes of finish */
    hr_node last[MOST + 2];
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
    if (t->rate_kept.graph) last[lasts++] = t->rate_kept;
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

/* The variable loses a part of itself before its update. */
static hr_node decay_weights(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_node decay = hr_cast_to(hr_scalar(t->g, HR_FLOAT, t->optimizer->common.weight_decay), v->dtype);
    const hr_node part = hr_mul(hr_minimizer_number(t, v, HR_LEARNING_RATE), decay);
    return hr_target(hr_assign_sub(v->variable, hr_mul(v->variable, part)));
}

static hr_node step_update(hr_minimizer *t, const hr_minimize_target *target)
{
    const hr_optimizer *o = t->optimizer;
    const char *name = hr_variable_of(target->variable)->name;
    char scope[2 * HR_MAX_SCOPE];
    snprintf(scope, sizeof scope, "%s/update_%.500s/", t->scope, name);
    hr_name_scope(t->g, scope);
    const hr_node before = hr__keras_value_before(t, target);
    const bool decays = o->common.weight_decay != 0 && !hr__optimizer_excludes(o, name);
    const hr_node decay = decays ? decay_weights(t, target) : (hr_node){0};
    hr_control_dependencies(t->g, &decay, decays);
    hr_node update = o->kind->update(t, target);
    hr_control_end(t->g);
    update = hr__keras_average(t, target, before, update);
    hr_scope_end(t->g);
    return update;
}

/* Slots are made beside the update of their variable, or, as Keras does, all of them at first, of variables without a
 * gradient, too. Gives the number of updates. */
static int make_updates(hr_minimizer *t, const hr_variable_gradient *gradients, int count, hr_minimize_target *target,
                        hr_node *update)
{
    const bool keras = t->optimizer->common.keras;
    const hr_slot *slot;
    const int slots = hr__minimizer_slot_list(t, &slot);
    if (slots < 0) return 0;
    for (int i = 0; i < count; i++) {
        const bool used = keras || gradients[i].gradient.values.graph;
        if (used && !hr__minimizer_target(t, &gradients[i], &target[i])) return 0;
    }
    if (keras) hr__keras_make_slots(t, target, count);
    if (hr_graph_error(t->g)) return 0;
    t->number = 0;
    for (int i = 0; i < count; i++) {
        if (!gradients[i].gradient.values.graph) continue;
        for (int s = 0; s < slots && !keras; s++) hr__minimizer_make_slot(t, &target[i], &slot[s], s);
        update[t->number] = hr_target(step_update(t, &target[i]));
        t->number++;
    }
    return t->number;
}

static void give_variables(hr_minimizer *t, const hr_minimize_opts *opts)
{
    if (opts->variables)
        *opts->variables = t->made;
    else
        hr_optimizer_variables_clear(&t->made);
}

hr_node hr__apply_gradients(const hr_optimizer *o, hr_graph *g, hr_variable_gradient *gradients, int count,
                            const hr_minimize_opts *opts)
{
    hr_minimizer t = {.g = g, .optimizer = o};
    char prefix[HR_MAX_SCOPE] = "", slot_scope[HR_MAX_SCOPE] = "";
    for (int i = 0; i < count; i++) t.updates += gradients[i].gradient.values.graph != NULL;
    if (t.updates == 0) return hr_graph_error(g) ? hr_failed_node(g) : no_gradients(g, o);
    hr_node *update = hr_malloc(((size_t)t.updates + 4) * sizeof *update), done;
    hr_minimize_target *target = hr_calloc((size_t)count, sizeof *target);
    t.made.slot = hr_calloc((size_t)count * (1 + HR_MAX_SLOTS), sizeof *t.made.slot);
    if (opts->name_prefix && *opts->name_prefix) snprintf(prefix, sizeof prefix, "%.400s/", opts->name_prefix);
    if (opts->slot_scope && *opts->slot_scope) snprintf(slot_scope, sizeof slot_scope, "%.200s/", opts->slot_scope);
    t.prefix = prefix;
    t.slot_scope = slot_scope;
    if (update && target && t.made.slot) {
        hr__minimizer_begin(&t, opts);
        hr__minimizer_clip(&t, gradients, count);
        const int updates = make_updates(&t, gradients, count, target, update);
        done = minimize_finish(&t, opts, update, updates);
    } else {
        done = hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for an optimizer");
    }
    hr_free(update);
    hr_free(target);
    give_variables(&t, opts);
    return done;
}
