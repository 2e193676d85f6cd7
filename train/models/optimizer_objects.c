/* The optimizer of a model among its objects, as Keras has it there; and its state out of a file, which waits until the
 * training has its graph. */
#include "train/models/objects.h"

#include <headrace/optimizer.h>
#include <stdio.h>
#include <string.h>

/* ---- objects ---- */

static hr_status optimizer_put(hr__objects *o, int at, const hr__function *f, hr_node variable, hr_error *err)
{
    const hr_variable_info *info = hr_variable_of(variable);
    if (!info || at < 0) return hr_no_memory(err, "the objects of an optimizer");
    hr__object *made = &o->at.at[at];
    made->title = hr_strdup(hr__function_title(f, info));
    made->session = f->session;
    made->variable = variable;
    made->dtype = info->dtype;
    made->shape = info->shape;
    return made->title ? HR_OK : hr_no_memory(err, "the objects of an optimizer");
}

/* Keras's optimizers since 2.11 have their variables in a list, of which the first is the number of steps. */
static hr_status optimizer_add_keras(hr_model *m, const hr__function *f, hr__objects *o, int at, hr_error *err)
{
    const hr_optimizer_variables *v = &f->optimizer;
    const int list = hr__object_child(o, at, "_variables");
    const int steps = hr__object_child(o, at, "_iterations");
    const char *rate = m->compiled.schedule ? "_current_learning_rate" : "_learning_rate";
    HR_TRY(optimizer_put(o, steps, f, v->iterations, err));
    if (v->learning_rate.graph) HR_TRY(optimizer_put(o, hr__object_child(o, at, rate), f, v->learning_rate, err));
    if (v->u_product.graph) HR_TRY(optimizer_put(o, hr__object_child(o, at, "_u_product"), f, v->u_product, err));
    if (list < 0 || !hr__object_call_also(o, list, steps, "0")) return hr_no_memory(err, "the objects of an optimizer");
    for (int i = 0; i < v->count; i++) {
        char number[32];
        (void)snprintf(number, sizeof number, "%d", i + 1);
        HR_TRY(optimizer_put(o, hr__object_new(o, list, number), f, v->slot[i].variable, err));
    }
    return HR_OK;
}

/* The object of a weight, which is a variable of this name in every graph of the model. */
static int optimizer_weight(const hr__objects *o, hr_node weight)
{
    const char *name = hr_variable_of(weight)->name;
    for (int i = 1; i < o->at.count; i++)
        if (o->at.at[i].title && strcmp(hr_variable_of(o->at.at[i].variable)->name, name) == 0) return i;
    return -1;
}

static bool optimizer_is_slot(const hr_optimizer_variables *v, const char *name)
{
    for (int i = 0; i < v->count; i++)
        if (strcmp(hr_variable_of(v->slot[i].variable)->name, name) == 0) return true;
    return false;
}

/* Legacy ones have their numbers by name, and know their slots by the weights. */
static hr_status optimizer_add_legacy(hr_model *m, const hr__function *f, hr__objects *o, int at, hr_error *err)
{
    const hr_optimizer_variables *v = &f->optimizer;
    for (int i = 0; i < hr_graph_variables(f->graph); i++) {
        const hr_variable_info *info = hr_graph_variable(f->graph, i);
        const char *last = strrchr(info->name, '/');
        if ((info->sets & HR_LOCAL_VARIABLES) || hr_variable_named(m->body->graph, info->name)) continue;
        if (info->handle.id == v->iterations.id)
            last = "/iter";
        else if (optimizer_is_slot(v, info->name))
            continue;
        HR_TRY(optimizer_put(o, hr__object_child(o, at, last ? last + 1 : info->name), f, info->handle, err));
    }
    for (int i = 0; i < v->count; i++) {
        const int weight = optimizer_weight(o, v->slot[i].weight);
        const int made = weight > 0 ? hr__object_new(o, at, v->slot[i].name) : -1;
        HR_TRY(optimizer_put(o, made, f, v->slot[i].variable, err));
        o->at.at[made].slot_of = weight;
    }
    return HR_OK;
}

static hr_status optimizer_add_kept(const hr_model *m, hr__objects *o, hr_error *err)
{
    for (int i = 0; i < m->compiled.kept.count; i++) {
        const hr__kept *kept = &m->compiled.kept.at[i];
        const int made = hr__object_of_key(o, kept->path);
        char *title = made >= 0 ? hr_strdup(kept->title) : NULL;
        if (!title) return hr_no_memory(err, "the objects of an optimizer");
        o->at.at[made].title = title;
        o->at.at[made].value = &kept->value;
    }
    return HR_OK;
}

hr_status hr__objects_add_optimizer(hr_model *m, const hr__function *f, hr__objects *o, hr_error *err)
{
    if (!m->is_compiled) return HR_OK;
    if (!f) return optimizer_add_kept(m, o, err);
    if (!f->optimizer.iterations.graph) return HR_OK;
    const int at = hr__object_child(o, 0, "optimizer");
    if (at < 0) return hr_no_memory(err, "the objects of an optimizer");
    return hr_optimizer_is_keras(m->compiled.optimizer) ? optimizer_add_keras(m, f, o, at, err)
                                                        : optimizer_add_legacy(m, f, o, at, err);
}

/* ---- what is kept of a file ---- */

const hr_tensor *hr__kept_named(const hr__compiled *c, const char *path)
{
    for (int i = 0; i < c->kept.count; i++)
        if (strcmp(c->kept.at[i].path, path) == 0) return &c->kept.at[i].value;
    return NULL;
}

static int kept_slots(const hr__compiled *c)
{
    int slots = 0;
    for (int i = 0; i < c->kept.count; i++)
        slots += strstr(c->kept.at[i].path, "/_variables/") != NULL || strstr(c->kept.at[i].path, "/.OPTIMIZER_SLOT/");
    return slots;
}

/* Pairs what the optimizer has with what was kept: values[i] of object i, from `first` on. Says what does not fit; a file
 * of before the first step has no slots. */
static hr_status kept_pair(const hr_model *m, const hr__objects *o, int first, const hr_tensor **values, char why[300],
                           hr_error *err)
{
    const int slots = kept_slots(&m->compiled);
    int wanted = 0;
    for (int i = first; i < o->at.count; i++) {
        const hr__object *object = &o->at.at[i];
        hr__text path = {0};
        if (!object->title) continue;
        const bool slot = object->slot_of || strcmp(o->at.at[object->parent].name, "_variables") == 0;
        wanted += slot && !object->slot_of;
        hr__object_path(o, i, &path);
        HR_TRY(hr__text_status(&path, "the state of an optimizer", err));
        values[i] = hr__kept_named(&m->compiled, path.data);
        hr__text_free(&path);
        if (!values[i] && slot && slots > 0) (void)snprintf(why, 300, "it lacks '%.200s'", object->title);
        if (values[i] && (values[i]->dtype != object->dtype || !hr_shape_equal(values[i]->shape, object->shape)))
            (void)snprintf(why, 300, "'%.200s' has another shape or type", object->title);
    }
    if (!*why && slots > 0 && wanted > 0 && slots != wanted)
        (void)snprintf(why, 300, "it has %d variables, not %d", slots, wanted);
    return HR_OK;
}

static hr_status kept_set(hr_model *m, const hr__objects *o, int first, hr_error *err)
{
    char why[300] = "";
    const hr_tensor **values = hr_calloc((size_t)o->at.count + 1, sizeof *values);
    hr_status st = values ? kept_pair(m, o, first, values, why, err) : hr_no_memory(err, "the state of an optimizer");
    if (st == HR_OK && *why)
        hr_log_message(HR_WARNING, "model '%s': the state of the optimizer in the file is left out: %s", m->name, why);
    for (int i = first; i < o->at.count && st == HR_OK && !*why; i++)
        if (values[i]) st = hr_session_set(o->at.at[i].session, o->at.at[i].variable, values[i], err);
    hr_free(values);
    return st;
}

hr_status hr__optimizer_restore(hr_model *m, const hr__function *f, hr_error *err)
{
    hr__objects o;
    if (m->compiled.kept.count == 0) return HR_OK;
    hr_status st = hr__objects_of(m, &o, err);
    const int first = o.at.count;
    if (st == HR_OK) st = hr__objects_add_optimizer(m, f, &o, err);
    if (st == HR_OK) st = kept_set(m, &o, first, err);
    hr__objects_clear(&o);
    if (st == HR_OK) hr__kept_clear(&m->compiled.kept);
    return st;
}
