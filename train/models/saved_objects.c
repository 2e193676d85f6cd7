/* What a SavedModel has among the objects of a model besides its layers and its optimizer, under Keras's names: lists
 * of weights, states of layers, metrics, functions. Weights deep within their layers have the keys of these lists. */
#include "train/models/saved_form.h"

#include <headrace/optimizer.h>
#include <stdio.h>
#include <string.h>

static hr_status no_objects(hr_error *err) { return hr_no_memory(err, "the objects of a model"); }

/* An object of a kind; a list, where it is not said. Gives its number, or -1. */
static int saved_child(hr__objects *o, int parent, const char *name, const char *identifier)
{
    const int made = hr__object_child(o, parent, name);
    if (made >= 0) o->at.at[made].identifier = identifier ? identifier : "trackable_list_wrapper";
    return made;
}

/* `to` is number `number` of a list. */
static bool saved_list(hr__objects *o, int list, int number, int to)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%d", number);
    return hr__object_call_also(o, list, to, name);
}

/* ---- weights ---- */

typedef struct weight_lists {
    hr_model *m;
    hr__objects *o;
    int all, trained; /* the lists */
    int all_count, trained_count;
} weight_lists;

static int object_of_variable(const hr__objects *o, hr_node variable)
{
    for (int i = 1; i < o->at.count; i++)
        if (o->at.at[i].title && o->at.at[i].variable.graph == variable.graph && o->at.at[i].variable.id == variable.id)
            return i;
    return -1;
}

/* Keys are the shortest way from the model: one that is in a cell or in a model within is found by the list first. */
static bool weight_move(weight_lists *l, int weight)
{
    hr__object *object = &l->o->at.at[weight];
    char number[32];
    if (l->o->at.at[object->parent].parent == 0) return saved_list(l->o, l->all, l->all_count, weight);
    if (!hr__object_call_also(l->o, object->parent, weight, object->name)) return false;
    (void)snprintf(number, sizeof number, "%d", l->all_count);
    hr_free(object->name);
    object->name = hr_strdup(number);
    object->parent = l->all;
    return object->name != NULL;
}

static hr_status weight_list(void *user, hr_layer *layer, hr__layer_variable *weight, bool frozen)
{
    weight_lists *l = user;
    const hr_variable_info *v = hr_variable_named(l->m->body->graph, weight->name);
    const int at = v ? object_of_variable(l->o, v->handle) : -1;
    (void)layer;
    if (at < 0 || !weight_move(l, at)) return HR_RESOURCE_EXHAUSTED;
    l->all_count++;
    if (!weight->trainable) return HR_OK;
    l->o->at.at[at].trainable = true;
    return frozen || saved_list(l->o, l->trained, l->trained_count++, at) ? HR_OK : HR_RESOURCE_EXHAUSTED;
}

/* ---- states ---- */

static hr_status saved_variable(hr__objects *o, int at, const char *title, hr_session *session,
                                const hr_variable_info *v, hr_error *err)
{
    if (at < 0 || !v) return no_objects(err);
    hr__object *made = &o->at.at[at];
    made->title = hr_strdup(title);
    made->session = session;
    made->variable = v->handle;
    made->dtype = v->dtype;
    made->shape = v->shape;
    return made->title ? HR_OK : no_objects(err);
}

static hr_status add_states(hr_model *m, hr__objects *o, int of, hr_error *err)
{
    const hr_layer *layer = o->at.at[of].layer;
    int list = 0, count = 0;
    for (int k = 0; k < layer->variables.count; k++) {
        const hr__layer_variable *v = &layer->variables.at[k];
        char number[32];
        if (!v->state) continue;
        if (!list) list = saved_child(o, saved_child(o, of, "keras_api", "_generic_user_object"), "states", NULL);
        (void)snprintf(number, sizeof number, "%d", count++);
        HR_TRY(saved_variable(o, list > 0 ? hr__object_child(o, list, number) : -1, v->title, m->body->session,
                              hr_variable_named(m->body->graph, v->name), err));
    }
    return HR_OK;
}

/* ---- metrics ---- */

/* Those that the model was trained with, or evaluated: the loss first. */
static hr_status add_metrics(const hr_model *m, hr__objects *o, int list, hr_error *err)
{
    const hr__function *f = m->train ? m->train : m->test;
    int first = 0;
    for (int i = 0; f && i < f->variables.count; i++) {
        char number[32];
        (void)snprintf(number, sizeof number, "%d", i);
        const int metric = saved_child(o, list, number, "_tf_keras_metric");
        for (; first < f->variables.at[i]; first++) {
            const hr_variable_info *v = hr_graph_variable(f->graph, first);
            const char *last = strrchr(v->name, '/');
            if (!(v->sets & HR_METRIC_VARIABLES)) continue;
            last = last ? last + 1 : v->name;
            HR_TRY(saved_variable(o, metric > 0 ? hr__object_child(o, metric, last) : -1, last, f->session, v, err));
        }
    }
    return HR_OK;
}

/* ---- all of it ---- */

/* The optimizer, and what is within layers. */
static void identify(const hr_model *m, hr__objects *o)
{
    const int count = o->at.count;
    o->at.at[0].identifier = "_tf_keras_model";
    for (int i = 1; i < count; i++) {
        hr__object *at = &o->at.at[i];
        if (at->title || at->identifier) continue;
        if (at->parent == 0 && strcmp(at->name, "optimizer") == 0)
            at->identifier = hr_optimizer_is_keras(m->compiled.optimizer) ? "experimentalOptimizer" : "optimizer";
        else if (strcmp(at->name, "_variables") == 0)
            at->identifier = "trackable_list_wrapper";
        else
            at->identifier = "_tf_keras_layer";
    }
}

/* Keras adds what functions of this list give to the loss. */
static hr_status add_cost(hr__objects *o, int api, int costs, hr_error *err)
{
    const int own = saved_child(o, api, "layer_regularization_losses", NULL);
    const int cost = own > 0 ? hr__object_child(o, own, "0") : -1;
    if (cost < 0 || !saved_list(o, costs, 0, cost)) return no_objects(err);
    o->at.at[cost].use = HR__SAVED_COST;
    return HR_OK;
}

static hr_status add_functions(hr__objects *o, int api, hr_error *err)
{
    static const char *const outer[] = {"__call__", "call_and_return_all_conditional_losses"};
    static const hr__saved_use uses[] = {HR__SAVED_CALL, HR__SAVED_CALL_AND_LOSSES};
    const int signatures = saved_child(o, 0, "signatures", "signature_map");
    const int signature = signatures > 0 ? hr__object_child(o, signatures, "serving_default") : -1;
    if (signature < 0) return no_objects(err);
    o->at.at[signature].use = HR__SAVED_SIGNATURE;
    for (int i = 0; i < 2; i++) {
        const int made = hr__object_child(o, 0, outer[i]);
        if (made < 0 || !hr__object_call_also(o, api, made, outer[i])) return no_objects(err);
        o->at.at[made].use = uses[i];
        if (i == 1 && !hr__object_call_also(o, api, made, "call_and_return_conditional_losses")) return no_objects(err);
    }
    return HR_OK;
}

static hr_status add_lists(hr_model *m, const hr__saved_graph *s, hr__objects *o, hr_error *err)
{
    static const char *const names[] = {"variables", "trainable_variables", "regularization_losses"};
    int list[3];
    for (int i = 0; i < 3; i++) list[i] = saved_child(o, 0, names[i], NULL);
    const int api = saved_child(o, 0, "keras_api", "_generic_user_object");
    if (list[0] < 0 || list[1] < 0 || list[2] < 0 || api < 0) return no_objects(err);
    for (int i = 0; i < 3; i++)
        if (!hr__object_call_also(o, api, list[i], names[i])) return no_objects(err);
    weight_lists l = {.m = m, .o = o, .all = list[0], .trained = list[1]};
    if (hr__each_weight(m, weight_list, &l) != HR_OK) return no_objects(err);
    const int metrics = saved_child(o, api, "metrics", NULL);
    if (metrics < 0) return no_objects(err);
    HR_TRY(add_metrics(m, o, metrics, err));
    if (s->weight_costs > 0) HR_TRY(add_cost(o, api, list[2], err));
    return add_functions(o, api, err);
}

hr_status hr__saved_objects_of(const hr__saved_graph *s, hr__objects *o, hr_error *err)
{
    hr_model *m = s->m;
    HR_TRY(hr__objects_of(m, o, err));
    const int layers = o->at.count;
    HR_TRY(hr__objects_add_optimizer(m, m->train, o, err));
    identify(m, o);
    for (int i = 0; i < layers; i++)
        if (o->at.at[i].layer) HR_TRY(add_states(m, o, i, err));
    return add_lists(m, s, o, err);
}
