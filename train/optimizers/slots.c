/* The nodes that one minimize needs besides the updates: hyper-parameters and slots, which are variables under the
 * names that TensorFlow gives them, and the learning rate after decay. */
#include "train/optimizers/kind.h"

#include <stdio.h>
#include <string.h>

hr_node hr__training_variable(hr__training *t, const char *scope, const char *name, hr_dtype dtype, hr_shape shape,
                              double initial)
{
    char full[2 * HR__SCOPE];
    const int n = snprintf(full, sizeof full, "%s/%s", scope, name);
    if (n < 0 || (size_t)n >= sizeof full)
        return hr_node_fail(t->g, HR_INVALID_ARGUMENT, "graph.name", "%s: expected a shorter name than \"%.60s\"",
                            t->scope, name);
    return hr_get_variable(t->g, full, dtype, shape, .initializer = hr_constant_value(initial), .not_trainable = true);
}

/* ---- scopes: a second optimizer of a name gets "_1" ---- */

static bool is_below(const char *name, const char *scope)
{
    const size_t size = strlen(scope);
    return strncmp(name, scope, size) == 0 && (name[size] == '/' || name[size] == 0);
}

static bool is_taken(hr_graph *g, const char *scope)
{
    for (int i = 0; i < hr_graph_variables(g); i++)
        if (is_below(hr_graph_variable(g, i)->name, scope)) return true;
    return false;
}

static void find_scope(hr__training *t)
{
    const char *name = t->optimizer->kind->name(t->optimizer);
    snprintf(t->scope, sizeof t->scope, "%s%s", t->prefix, name);
    for (int i = 1; !t->optimizer->v1 && is_taken(t->g, t->scope); i++)
        snprintf(t->scope, sizeof t->scope, "%s%s_%d", t->prefix, name, i);
}

/* ---- numbers ---- */

static void make_hyper(hr__training *t)
{
    const hr_optimizer *o = t->optimizer;
    for (int i = 0; o->kind->parameters[i]; i++) {
        const char *name = o->kind->parameter[i].hyper;
        if (o->v1 || !name || (i == HR__LEARNING_RATE && o->learning_rate_node.graph)) continue;
        const hr_node variable = hr__training_variable(t, t->scope, name, HR_FLOAT, HR_SCALAR, o->value[i]);
        const hr_variable_info *info = hr_variable_of(variable);
        t->hyper[i] = info ? info->read : variable;
    }
}

static hr_node float_constant(hr__training *t, int i)
{
    return t->hyper[i].graph ? t->hyper[i] : hr_scalar(t->g, HR_FLOAT, t->optimizer->value[i]);
}

static void make_learning_rate(hr__training *t)
{
    const hr_optimizer *o = t->optimizer;
    t->learning_rate = o->learning_rate_node.graph ? hr_cast_to(o->learning_rate_node, HR_FLOAT)
                                                   : float_constant(t, HR__LEARNING_RATE);
    if (o->value[HR__DECAY] == 0 || !t->iterations.graph) return;
    hr_node steps = hr_mul(hr_cast_to(t->iterations, HR_FLOAT), float_constant(t, HR__DECAY));
    t->learning_rate = hr_div(t->learning_rate, hr_add(hr_scalar(t->g, HR_FLOAT, 1), steps));
}

hr_node hr__in_type(hr_node number, const hr__target *v) { return hr_cast_to(number, v->dtype); }

hr_node hr__number(hr__training *t, const hr__target *v, int i)
{
    if (i == HR__LEARNING_RATE) return hr__in_type(t->learning_rate, v);
    if (t->hyper[i].graph || t->optimizer->v1) return hr__in_type(float_constant(t, i), v);
    return hr_scalar(t->g, v->dtype, t->optimizer->value[i]);
}

void hr__training_begin(hr__training *t, const hr_minimize_opts *opts)
{
    find_scope(t);
    make_hyper(t);
    t->iterations = opts->global_step;
    if (!t->iterations.graph && !t->optimizer->v1)
        t->iterations = hr__training_variable(t, t->scope, "iter", HR_INT64, HR_SCALAR, 0);
    char scope[HR__SCOPE + 1];
    snprintf(scope, sizeof scope, "%.510s/", t->scope);
    hr_name_scope(t->g, scope);
    make_learning_rate(t);
    if (t->optimizer->kind->begin) t->optimizer->kind->begin(t);
    hr_scope_end(t->g);
}

/* ---- slots ---- */

static hr_node make_slot(hr__training *t, const hr_variable_info *info, const hr__slot *slot, int number)
{
    char scope[2 * HR__SCOPE], name[HR__SCOPE];
    const hr_optimizer *o = t->optimizer;
    const double initial = slot->initial ? o->value[slot->initial] : 0;
    if (!o->v1) {
        snprintf(scope, sizeof scope, "%s/%s", t->scope, info->name);
        return hr__training_variable(t, scope, slot->name, info->dtype, info->shape, initial);
    }
    snprintf(name, sizeof name, number ? "%s_%d" : "%s", o->kind->name(o), number);
    for (int i = number + 1; number == 0 && i < 100; i++) {
        snprintf(scope, sizeof scope, "%s/%s", info->name, name);
        if (!hr_variable_named(t->g, scope)) break;
        snprintf(name, sizeof name, "%s_%d", o->kind->name(o), i);
    }
    return hr__training_variable(t, info->name, name, info->dtype, info->shape, initial);
}

hr_node hr__training_update(hr__training *t, const hr_variable_gradient *v)
{
    const hr_variable_info *info = hr_variable_of(v->variable);
    const hr__slot *slot = NULL;
    if (!info)
        return hr_node_fail(t->g, HR_INVALID_ARGUMENT, "optimizer.variable",
                            "%s: expected a variable to train, got node '%s'", t->scope, hr_node_name(v->variable));
    if (info->dtype != HR_FLOAT && info->dtype != HR_DOUBLE)
        return hr_node_fail(t->g, HR_INVALID_ARGUMENT, "optimizer.variable",
                            "%s: expected variable '%s' to be float32 or float64, got %s", t->scope, info->name,
                            hr_dtype_name(info->dtype));
    hr__target target = {.variable = info->handle, .dtype = info->dtype, .gradient = v->gradient};
    const int slots = t->optimizer->kind->slots(t->optimizer, &slot);
    for (int i = 0; i < slots; i++) target.slot[i] = make_slot(t, info, &slot[i], i);
    char scope[2 * HR__SCOPE];
    snprintf(scope, sizeof scope, "%s/update_%.500s/", t->scope, info->name);
    hr_name_scope(t->g, scope);
    hr_node update = t->optimizer->kind->update(t, &target);
    hr_scope_end(t->g);
    return update;
}
