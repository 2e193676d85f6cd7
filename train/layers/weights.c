/* What layers share: scopes, and weights with what they cost. */
#include "train/layers/layers_internal.h"

#include <headrace/eager.h>
#include <stdio.h>

void hr__layer_begin(hr_graph *g, const char *name, const char *base)
{
    if (name)
        hr_variable_scope(g, name);
    else
        hr_variable_scope(g, base, .unique = true);
}

hr_dtype hr__layer_type(hr_node x)
{
    const hr_dtype type = hr_node_dtype(x);
    return type == HR_DOUBLE || type == HR_HALF || type == HR_BFLOAT16 ? type : HR_FLOAT;
}

/* A variable that was there before has its cost already. */
hr_node hr__layer_weight(hr_graph *g, const hr__weight *w)
{
    char scope[128];
    const int before = hr_graph_variables(g);
    const hr_node weight = hr_get_variable(g, w->name, w->dtype, w->shape, .initializer = w->initializer,
                                           .not_trainable = w->not_trainable);
    if ((w->regularizer.l1 == 0 && w->regularizer.l2 == 0) || hr_graph_variables(g) == before) return weight;
    snprintf(scope, sizeof scope, "%s/Regularizer", w->name);
    hr_name_scope(g, scope);
    const hr_node cost = hr_regularization_loss(weight, w->regularizer);
    hr_scope_end(g);
    if (!hr_graph_is_eager(g)) hr_add_to_collection(g, "regularization_losses", cost);
    return weight;
}

hr_initializer hr__initializer_or(hr_initializer given, hr_initializer otherwise)
{
    return given.make ? given : otherwise;
}
