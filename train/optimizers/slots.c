/* The nodes that one minimize needs besides the updates: hyper-parameters and slots, which are variables under the
 * names that TensorFlow gives them, and the learning rate after decay. */
#include "train/optimizers/optimizers_internal.h"

#include <headrace/eager.h>

#include <stdio.h>
#include <string.h>

const hr_variable_info *hr__variable_in_scope(hr_graph *g, const char *name)
{
    char full[4 * HR_MAX_SCOPE];
    snprintf(full, sizeof full, "%.1000s%s", hr_variable_scope_name(g), name);
    return hr_variable_named(g, full);
}

/* An eager graph calls an optimizer for each step: what its name made is found again. */
hr_node hr_minimizer_variable(hr_minimizer *t, const char *scope, const char *name, hr_dtype dtype, hr_shape shape,
                              double initial)
{
    char full[2 * HR_MAX_SCOPE];
    const int n = snprintf(full, sizeof full, "%s/%s", scope, name);
    if (n < 0 || (size_t)n >= sizeof full)
        return hr_node_fail(t->g, HR_INVALID_ARGUMENT, "graph.name", "%s: expected a shorter name than \"%.60s\"",
                            t->scope, name);
    const hr_variable_info *known = hr_graph_is_eager(t->g) ? hr__variable_in_scope(t->g, full) : NULL;
    if (known && known->dtype == dtype && hr_shape_equal(known->shape, shape)) return known->handle;
    return hr_get_variable(t->g, full, dtype, shape, .initializer = hr_constant_value(initial), .not_trainable = true,
                           .whole = true);
}

/* ---- scopes: a second optimizer of a name gets "_1" ---- */

static bool is_below(const char *name, const char *scope)
{
    const size_t size = strlen(scope);
    return strncmp(name, scope, size) == 0 && (name[size] == '/' || name[size] == 0);
}

/* A counter of iterations that was made beforehand, "Adam/iter", does not count. */
static bool is_taken(const hr_minimizer *t, const char *scope)
{
    for (int i = 0; i < hr_graph_variables(t->g); i++) {
        const hr_variable_info *info = hr_graph_variable(t->g, i);
        if (is_below(info->name, scope) && info->handle.id != t->iterations.id) return true;
    }
    return false;
}

static void find_scope(hr_minimizer *t)
{
    const char *name = hr__optimizer_title(t->optimizer);
    snprintf(t->scope, sizeof t->scope, "%s%s", t->prefix, name);
    for (int i = 1; !t->optimizer->common.v1 && !hr_graph_is_eager(t->g) && is_taken(t, t->scope); i++)
        snprintf(t->scope, sizeof t->scope, "%s%s_%d", t->prefix, name, i);
}

/* ---- numbers ---- */

static void make_hyper(hr_minimizer *t)
{
    const hr_optimizer *o = t->optimizer;
    for (int i = 0; o->kind->parameters[i]; i++) {
        const char *name = o->kind->parameter[i].hyper;
        if (o->common.v1 || o->common.keras || !name) continue;
        if (i == HR_LEARNING_RATE && o->common.learning_rate_node.graph) continue;
        const hr_node variable = hr_minimizer_variable(t, t->scope, name, HR_FLOAT, HR_SCALAR, o->value[i]);
        const hr_variable_info *info = hr_variable_of(variable);
        t->hyper[i] = info && hr_node_exists(info->read) ? info->read : hr_identity(variable);
        if (i == HR_LEARNING_RATE) t->made.learning_rate = variable;
    }
}

/* The kind's list has so many. */
static int parameters_of(const hr_minimizer *t)
{
    int n = 0;
    while (t->optimizer->kind->parameters[n]) n++;
    return n;
}

static hr_node no_such_number(hr_minimizer *t, const char *what, int i, int most)
{
    return hr_node_fail(t->g, HR_INVALID_ARGUMENT, "optimizer.kind", "%s: expected a %s from 0 to %d, got %d",
                        hr__optimizer_title(t->optimizer), what, most, i);
}

hr_node hr_minimizer_float(hr_minimizer *t, int i)
{
    if (i < 0 || i >= parameters_of(t)) return no_such_number(t, "parameter", i, parameters_of(t) - 1);
    return t->hyper[i].graph ? t->hyper[i] : hr_scalar(t->g, HR_FLOAT, t->optimizer->value[i]);
}

/* Keras has the rate alone in a variable, of a schedule that of the last step. */
static void make_keras_rate(hr_minimizer *t)
{
    const hr_node schedule = t->optimizer->common.learning_rate_node;
    const hr_node variable =
        hr_minimizer_variable(t, t->scope, schedule.graph ? "current_learning_rate" : "learning_rate", HR_FLOAT,
                              HR_SCALAR, t->optimizer->value[HR_LEARNING_RATE]);
    t->made.learning_rate = variable;
    t->learning_rate = schedule.graph ? hr_cast_to(schedule, HR_FLOAT) : hr_identity(variable);
    if (schedule.graph) t->rate_kept = hr_target(hr_assign(variable, t->learning_rate));
    t->hyper[HR_LEARNING_RATE] = t->learning_rate;
}

static void make_learning_rate(hr_minimizer *t)
{
    const hr_optimizer *o = t->optimizer;
    t->learning_rate = o->common.learning_rate_node.graph ? hr_cast_to(o->common.learning_rate_node, HR_FLOAT)
                                                          : hr_minimizer_float(t, HR_LEARNING_RATE);
    if (o->value[HR_DECAY] == 0 || !t->iterations.graph) return;
    hr_node steps = hr_mul(hr_cast_to(t->iterations, HR_FLOAT), hr_minimizer_float(t, HR_DECAY));
    t->learning_rate = hr_div(t->learning_rate, hr_add(hr_scalar(t->g, HR_FLOAT, 1), steps));
}

hr_node hr_minimizer_step(hr_minimizer *t)
{
    if (!t->iterations.graph)
        return hr_node_fail(t->g, HR_INVALID_ARGUMENT, "optimizer.parameter",
                            "%s: expected a .global_step, which counts the steps, got none",
                            hr__optimizer_title(t->optimizer));
    return hr_cast_to(hr_add(t->iterations, hr_scalar(t->g, HR_INT64, 1)), HR_FLOAT);
}

hr_node hr_minimizer_dense(const hr_minimize_target *v)
{
    if (!hr_target_is_sparse(v)) return v->gradient.values;
    const hr_shape shape = hr_variable_of(v->variable)->shape;
    const hr_node rows = hr_scalar(v->variable.graph, HR_INT64, shape.rank > 0 ? (double)shape.dims[0] : 0);
    return hr_new_node(v->variable.graph, "UnsortedSegmentSum",
                       HR_INPUTS(v->gradient.values, v->gradient.indices, rows));
}

hr_node hr_minimizer_cast(hr_node number, const hr_minimize_target *v) { return hr_cast_to(number, v->dtype); }

hr_node hr_minimizer_number(hr_minimizer *t, const hr_minimize_target *v, int i)
{
    if (i == HR_LEARNING_RATE) return hr_minimizer_cast(t->learning_rate, v);
    if (i < 0 || i >= parameters_of(t)) return no_such_number(t, "parameter", i, parameters_of(t) - 1);
    if (t->hyper[i].graph || t->optimizer->common.v1) return hr_minimizer_cast(hr_minimizer_float(t, i), v);
    return hr_scalar(t->g, v->dtype, t->optimizer->value[i]);
}

/* Makes ops of a kind from outside known. They lie in an array of descriptors as long as that kind's header has them. */
static void use_ops(hr_minimizer *t)
{
    const hr_graph_op *op = t->optimizer->kind->ops;
    const size_t size = op ? op->head.struct_size : 0;
    for (; op && op->name && !hr_graph_error(t->g); op = (const hr_graph_op *)((const char *)op + size))
        if (hr_graph_op_named(op->name) != op) hr_graph_use(t->g, op);
}

void hr__minimizer_begin(hr_minimizer *t, const hr_minimize_opts *opts)
{
    use_ops(t);
    t->iterations = opts->global_step;
    find_scope(t);
    make_hyper(t);
    const bool keras = t->optimizer->common.keras;
    if (!t->iterations.graph && !t->optimizer->common.v1)
        t->iterations = hr_minimizer_variable(t, t->scope, keras ? "iteration" : "iter", HR_INT64, HR_SCALAR, 0);
    t->made.iterations = t->iterations;
    char scope[HR_MAX_SCOPE + 1];
    snprintf(scope, sizeof scope, "%.510s/", t->scope);
    hr_name_scope(t->g, scope);
    if (keras)
        make_keras_rate(t);
    else
        make_learning_rate(t);
    if (t->optimizer->kind->begin) t->optimizer->kind->begin(t);
    hr_scope_end(t->g);
}

/* ---- slots ---- */

/* "Adam", "Adam_1": the names of TensorFlow 1's slots, or what comes next if a name is taken. */
static void slot_name_v1(hr_minimizer *t, const hr_variable_info *info, int number, char name[HR_MAX_SCOPE])
{
    const hr_optimizer *o = t->optimizer;
    const char *own = o->slot_name[number], *first = *own ? own : hr__optimizer_title(o);
    const bool eager = hr_graph_is_eager(t->g);
    char full[2 * HR_MAX_SCOPE];
    for (int i = eager && !*own ? number : 0; i < 1000; i++) {
        snprintf(name, HR_MAX_SCOPE, i ? "%s%s_%d" : "%s%s", t->slot_scope, first, i);
        snprintf(full, sizeof full, "%s/%s", info->name, name);
        if (eager || !hr__variable_in_scope(t->g, full)) return;
    }
}

void hr__minimizer_note(hr_minimizer *t, hr_node made, hr_node weight, const char *name)
{
    t->made.slot[t->made.count++] = (hr_optimizer_variable){made, weight, name};
}

/* "Adam/w/m", with .keras "Adam/m/w". */
static hr_node new_slot(hr_minimizer *t, const hr_variable_info *info, const hr_slot *slot, int number, hr_shape shape)
{
    char scope[2 * HR_MAX_SCOPE], name[HR_MAX_SCOPE];
    const double initial = slot->initial ? t->optimizer->value[slot->initial] : slot->constant;
    if (t->optimizer->common.v1) {
        slot_name_v1(t, info, number, name);
        return hr_minimizer_variable(t, info->name, name, info->dtype, shape, initial);
    }
    const bool keras = t->optimizer->common.keras;
    snprintf(scope, sizeof scope, "%s/%s", t->scope, keras ? slot->name : info->name);
    return hr_minimizer_variable(t, scope, keras ? info->name : slot->name, info->dtype, shape, initial);
}

void hr__minimizer_make_slot(hr_minimizer *t, hr_minimize_target *target, const hr_slot *slot, int number)
{
    const hr_variable_info *info = hr_variable_of(target->variable);
    hr_shape shape = info->shape;
    if (slot->shape && !slot->shape(info->shape, &shape)) return;
    target->slot[number] = new_slot(t, info, slot, number, shape);
    hr__minimizer_note(t, target->slot[number], target->variable, slot->name);
}

int hr__minimizer_slot_list(hr_minimizer *t, const hr_slot **slot)
{
    *slot = NULL;
    const int slots = t->optimizer->kind->slots ? t->optimizer->kind->slots(t->optimizer, slot) : 0;
    if (slots < 0 || slots > HR_MAX_SLOTS) {
        no_such_number(t, "number of slots", slots, HR_MAX_SLOTS);
        return -1;
    }
    for (int i = 0; i < slots; i++) {
        const hr_slot *s = *slot ? *slot + i : NULL;
        if (s && s->name && s->initial >= 0 && s->initial < parameters_of(t)) continue;
        no_such_number(t, "slot with a name, and an .initial", s ? s->initial : -1, parameters_of(t) - 1);
        return -1;
    }
    return slots;
}

bool hr__minimizer_target(hr_minimizer *t, const hr_variable_gradient *v, hr_minimize_target *out)
{
    const hr_variable_info *info = hr_variable_of(v->variable);
    if (!info)
        hr_node_fail(t->g, HR_INVALID_ARGUMENT, "optimizer.variable", "%s: expected a variable to train, got node '%s'",
                     t->scope, hr_node_name(v->variable));
    else if (info->dtype != HR_FLOAT && info->dtype != HR_DOUBLE)
        hr_node_fail(t->g, HR_INVALID_ARGUMENT, "optimizer.variable",
                     "%s: expected variable '%s' to be float32 or float64, got %s", t->scope, info->name,
                     hr_dtype_name(info->dtype));
    else
        *out = (hr_minimize_target){.variable = info->handle, .dtype = info->dtype, .gradient = v->gradient};
    return out->variable.graph != NULL;
}
