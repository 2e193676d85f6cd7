/* What optimizers do as those of Keras since 2.11: they make their variables before the first update, all of one slot
 * after the other, and keep moving averages of the weights. */
#include "train/optimizers/optimizers_internal.h"

#include <headrace/eager.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char AVERAGE[] = "average";

/* "Adam/average/w", which begins as the weight does; an eager one has a value from the first step on. */
static void make_average(hr_minimizer *t, const hr_minimize_target *target)
{
    const hr_variable_info *info = hr_variable_of(target->variable);
    char full[3 * HR_MAX_SCOPE];
    snprintf(full, sizeof full, "%s/%s/%.500s", t->scope, AVERAGE, info->name);
    const bool eager = hr_graph_is_eager(t->g);
    const hr_variable_info *known = eager ? hr__variable_in_scope(t->g, full) : NULL;
    hr_node average = known ? known->handle : (hr_node){0};
    if (!known)
        average = hr_get_variable(t->g, full, info->dtype, info->shape,
                                  .initializer = eager ? hr_zeros() : hr_initial_node(info->initial_value),
                                  .not_trainable = true, .whole = true);
    hr__minimizer_note(t, average, target->variable, AVERAGE);
}

void hr__keras_make_slots(hr_minimizer *t, hr_minimize_target *targets, int count)
{
    enum { ROUNDS = 3 };
    const hr_slot *slot;
    const int slots = hr__minimizer_slot_list(t, &slot);
    for (int i = 0; i < count && t->optimizer->common.use_ema != 0; i++) make_average(t, &targets[i]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++)
            for (int s = 0; s < slots; s++)
                if (slot[s].round == round) hr__minimizer_make_slot(t, &targets[i], &slot[s], s);
}

/* ---- moving averages ---- */

static hr_node average_of(const hr_minimizer *t, hr_node weight)
{
    for (int i = 0; i < t->made.count; i++) {
        const hr_optimizer_variable *v = &t->made.slot[i];
        if (v->name == AVERAGE && v->weight.id == weight.id) return v->variable;
    }
    return (hr_node){0};
}

hr_node hr__keras_value_before(hr_minimizer *t, const hr_minimize_target *target)
{
    return t->optimizer->common.use_ema != 0 ? hr_identity(target->variable) : (hr_node){0};
}

/* Of the first step, the average is that of what the variable was before: it may have been set since it was made. */
hr_node hr__keras_average(hr_minimizer *t, const hr_minimize_target *target, hr_node before, hr_node update)
{
    const hr_optimizer_common *by = &t->optimizer->common;
    const hr_node average = average_of(t, target->variable), steps = t->iterations;
    if (!average.graph || hr_graph_error(t->g)) return update;
    const hr_node done = hr_target(update);
    hr_control_dependencies(t->g, &done, 1);
    const hr_node after = hr_identity(target->variable);
    const hr_node first = hr_equal(steps, hr_scalar(t->g, HR_INT64, 0));
    const hr_node kept = hr_mul(hr_where(first, before, average), hr_scalar(t->g, target->dtype, by->ema_momentum));
    const hr_node moved = hr_add(kept, hr_mul(after, hr_scalar(t->g, target->dtype, 1 - by->ema_momentum)));
    hr_node last = hr_assign(average, moved);
    if (by->ema_overwrite_frequency > 0) {
        const hr_node step = hr_add(steps, hr_scalar(t->g, HR_INT64, 1));
        const hr_node rest = hr_floor_mod(step, hr_scalar(t->g, HR_INT64, by->ema_overwrite_frequency));
        const hr_node due = hr_equal(rest, hr_scalar(t->g, HR_INT64, 0));
        const hr_node both[] = {hr_target(last), hr_target(hr_assign(target->variable, hr_where(due, moved, after)))};
        last = hr_group(t->g, both, 2, NULL);
    }
    hr_control_end(t->g);
    return last;
}

hr_node hr_overwrite_with_averages(hr_graph *g, const hr_optimizer_variables *variables)
{
    int count = 0;
    if (!variables || variables->count < 0 || (variables->count > 0 && !variables->slot))
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument",
                            "hr_overwrite_with_averages: expected what an optimizer has made, got none");
    hr_node *done = hr_malloc(((size_t)variables->count + 1) * sizeof *done);
    if (!done) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for averages");
    for (int i = 0; i < variables->count; i++) {
        const hr_optimizer_variable *v = &variables->slot[i];
        if (v->name && strcmp(v->name, AVERAGE) == 0)
            done[count++] = hr_target(hr_assign(v->weight, hr_identity(v->variable)));
    }
    const hr_node all = hr_group(g, done, count, NULL);
    hr_free(done);
    return all;
}

void hr_optimizer_variables_clear(hr_optimizer_variables *variables)
{
    if (!variables) return;
    hr_free(variables->slot);
    *variables = (hr_optimizer_variables){0};
}
