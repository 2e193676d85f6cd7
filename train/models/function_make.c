/* Makes the functions of a model: for training, evaluation and predictions a graph of their own, in which the layers are
 * called again; they share the weights. */
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>

static hr_status function_feed(hr__function *f, hr_node node, int component, hr_error *err)
{
    hr_node *place = HR__LIST_ADD(&f->feeds);
    int *from = HR__LIST_ADD(&f->fed);
    if (!place || !from) return hr_no_memory(err, "a model");
    *place = node;
    *from = component;
    return HR_OK;
}

/* ---- inputs ---- */

/* Fed values as an input of that type and shape: [n] as [n, 1] and the other way round. */
static hr_node adapted(hr_node fed, hr_dtype dtype, hr_shape shape)
{
    const hr_shape have = hr_node_shape(fed);
    hr_node x = hr_node_dtype(fed) == dtype ? fed : hr_cast_to(fed, dtype);
    if (have.rank == 1 && shape.rank == 2) x = hr_expand_dims(x, hr_scalar(fed.graph, HR_INT32, 1));
    if (have.rank == shape.rank + 1 && have.dims[have.rank - 1] == 1) x = hr_squeeze(x, HR_I64(-1), 1);
    return x;
}

static bool fits(hr_shape have, hr_shape want)
{
    if (have.rank == 1 && want.rank == 2) return want.dims[1] == 1 || want.dims[1] < 0;
    if (have.rank == want.rank + 1 && have.dims[have.rank - 1] == 1) have.rank--;
    if (have.rank != want.rank) return false;
    for (int i = 1; i < have.rank; i++)
        if (have.dims[i] >= 0 && want.dims[i] >= 0 && have.dims[i] != want.dims[i]) return false;
    return true;
}

static hr_status add_input(hr_model *m, hr__function *f, int component, hr__at *at, hr_error *err)
{
    const hr__component *c = &f->signature.part.at[component];
    const hr_node input = hr_model_input_node(m, c->of);
    const hr_shape want = hr_node_shape(input);
    char expected[128], found[128];
    if (!fits(c->shape, want))
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.features",
                       "model '%.60s': input '%.60s': expected shape %s, got %s", m->name,
                       hr_model_input_name(m, c->of), hr_shape_text(want, expected, sizeof expected),
                       hr_shape_text(c->shape, found, sizeof found));
    hr_shape shape = c->shape;
    shape.dims[0] = want.dims[0];
    const hr_node fed = hr_placeholder(f->graph, c->dtype, shape, .name = hr_model_input_name(m, c->of));
    at[m->inputs.at[c->of]].node = adapted(fed, hr_node_dtype(input), want);
    return function_feed(f, fed, component, err);
}

static hr_status add_inputs(hr_model *m, hr__function *f, hr__at *at, hr_error *err)
{
    for (int i = 0; i < f->signature.part.count; i++)
        if (f->signature.part.at[i].role == HR__INPUT) HR_TRY(add_input(m, f, i, at, err));
    return HR_OK;
}

/* ---- labels and weights ---- */

static hr_status add_targets(const hr_model *m, hr__function *f, hr__targets *t, hr_error *err)
{
    for (int i = 0; i < f->signature.part.count; i++) {
        const hr__component *c = &f->signature.part.at[i];
        if (c->role != HR__LABEL && c->role != HR__WEIGHT) continue;
        const hr_node fed =
            hr_placeholder(f->graph, c->dtype, c->shape, .name = c->role == HR__LABEL ? "label" : "weight");
        if (c->role == HR__LABEL) t->label[c->of] = fed;
        for (int k = 0; k < m->outputs.count && c->role == HR__WEIGHT; k++)
            if (k == c->of || c->of == m->outputs.count) t->weight[k] = fed;
        HR_TRY(function_feed(f, fed, i, err));
    }
    if (!f->weighted_classes) return HR_OK;
    t->class_weights = hr_placeholder(f->graph, HR_FLOAT, HR_SHAPE(-1), .name = "class_weights");
    return function_feed(f, t->class_weights, -1, err);
}

/* ---- the graph ---- */

static hr_status graph_error(const hr__function *f, hr_error *err)
{
    const hr_error *of = hr_graph_error(f->graph);
    if (!of) return HR_OK;
    *err = *of;
    return of->code;
}

static hr_status add_updates(hr__function *f, hr_error *err)
{
    int count;
    const hr_node *updates = hr_get_collection(f->graph, "update_ops", &count);
    for (int i = 0; i < count; i++) HR_TRY(hr__function_fetch(f, hr_target(updates[i]), NULL, err));
    return HR_OK;
}

static hr_status build_predict(hr_model *m, hr__function *f, hr__at *at, hr_error *err)
{
    for (int i = 0; i < m->outputs.count; i++)
        HR_TRY(hr__function_fetch(f, at[m->outputs.at[i]].node, m->output_names.at[i], err));
    f->results = f->fetches.count;
    return add_updates(f, err);
}

static hr_status build_measured(hr_model *m, hr__function *f, hr__at *at, hr_error *err)
{
    hr__targets t = {.label = hr_calloc((size_t)m->outputs.count, sizeof(hr_node)),
                     .weight = hr_calloc((size_t)m->outputs.count, sizeof(hr_node))};
    hr_status st = t.label && t.weight ? add_targets(m, f, &t, err) : hr_no_memory(err, "a model");
    if (st == HR_OK) st = hr__add_losses(m, f, at, &t, err);
    f->results = f->fetches.count;
    if (st == HR_OK) st = add_updates(f, err);
    if (st == HR_OK && f->phase == HR__TRAIN) st = hr__add_training(m, f, t.loss, err);
    hr_free(t.label);
    hr_free(t.weight);
    return st;
}

static hr_status function_build(hr_model *m, hr__function *f, hr__at *at, hr_error *err)
{
    HR_TRY(add_inputs(m, f, at, err));
    HR_TRY(graph_error(f, err));
    HR_TRY(hr__body_replay(m->body, f->graph, m->outputs.at, m->outputs.count, f->phase == HR__TRAIN, at, err));
    HR_TRY(graph_error(f, err));
    HR_TRY(f->phase == HR__PREDICT ? build_predict(m, f, at, err) : build_measured(m, f, at, err));
    return graph_error(f, err);
}

/* Variables that are no weights and have to begin: those of the optimizer. Metrics begin with each reset. */
static hr_status function_begin(hr_model *m, hr__function *f, hr_error *err)
{
    for (int i = 0; i < hr_graph_variables(f->graph); i++) {
        const hr_variable_info *v = hr_graph_variable(f->graph, i);
        const hr_node init = hr_target(v->initializer);
        if (hr_variable_named(m->body->graph, v->name)) continue;
        if (!(v->sets & HR_LOCAL_VARIABLES) && m->compiled.begun) continue;
        HR_TRY(hr_session_run(f->session, NULL, 0, &init, 1, NULL, err));
    }
    if (f->phase != HR__TRAIN) return HR_OK;
    m->compiled.begun = true;
    HR_TRY(hr__optimizer_restore(m, f, err));
    return hr__optimizer_set_rate(m, f, err);
}

static hr_status function_open(hr_model *m, hr__function *f, hr_error *err)
{
    f->reset = hr_target(hr_local_variables_initializer(f->graph));
    HR_TRY(graph_error(f, err));
    f->session = hr_session_new(f->graph, .share = m->body->session);
    if (!f->session) return hr_no_memory(err, "a session");
    HR_TRY(function_begin(m, f, err));
    HR_TRY(hr_session_make_callable(f->session, NULL, 0, &f->reset, 1, &f->resetting, err));
    return hr_session_make_callable(f->session, f->feeds.at, f->feeds.count, f->fetches.at, f->fetches.count, &f->run,
                                    err);
}

static hr_status function_make(hr_model *m, hr__function *f, hr_error *err)
{
    hr__at *at = hr_calloc((size_t)m->body->values.count + 1, sizeof *at);
    f->graph = hr_graph_new();
    if (m->body->seed && f->graph) hr_set_random_seed(f->graph, m->body->seed);
    hr_status st = at && f->graph ? hr__body_session(m->body, err) : hr_no_memory(err, "a model");
    if (st == HR_OK) st = function_build(m, f, at, err);
    if (st == HR_OK) st = function_open(m, f, err);
    hr_free(at);
    return st;
}

hr_status hr__function_for(hr_model *m, hr__phase phase, hr__data_signature *s, bool class_weights, hr__function **out,
                           hr_error *err)
{
    hr__function **kept = phase == HR__TRAIN ? &m->train : phase == HR__TEST ? &m->test : &m->predict;
    if (*kept && hr__signature_equal(&(*kept)->signature, s) && (*kept)->weighted_classes == class_weights) {
        *out = *kept;
        return HR_OK;
    }
    hr__function *f = hr_calloc(1, sizeof *f);
    if (!f) return hr_no_memory(err, "a model");
    f->phase = phase;
    f->weighted_classes = class_weights;
    f->signature = *s;
    memset(s, 0, sizeof *s);
    const hr_status st = function_make(m, f, err);
    if (st != HR_OK) {
        hr__function_free(f);
        return st;
    }
    hr__function_free(*kept);
    *out = *kept = f;
    return HR_OK;
}
