/* The order of the layers of a model, which is that of its weights: as Keras's, those that are farthest from the outputs
 * first, and within a depth as a walk from the outputs meets them. */
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>

typedef struct walk {
    hr__body *b;
    bool *needed, *seen;     /* of calls */
    int *finished, count;    /* calls, after what they read */
    int *met, meetings;      /* of layers: in which order the walk met them; -1: not */
    int *call_depth, *depth; /* of calls, of layers; -1: none */
} walk;

/* A step of the walk: a call, and how many of its inputs were followed. */
typedef struct walk_step {
    int call, next;
} walk_step;

/* Depth first, without recursion: models may be thousands of layers deep. */
static hr_status walk_from(walk *w, int call, hr_error *err)
{
    HR__LIST(walk_step) path = {0};
    walk_step *top = HR__LIST_ADD(&path);
    if (!top) return hr_no_memory(err, "a model");
    top->call = call;
    while (path.count > 0) {
        top = &path.at[path.count - 1];
        const hr__call *c = &w->b->calls.at[top->call];
        if (top->next == 0 && !w->seen[top->call]) {
            const int layer = c->layer->index;
            if (w->met[layer] < 0) w->met[layer] = w->meetings++;
            w->seen[top->call] = true;
        }
        if (top->next < c->inputs) {
            const int from = w->b->values.at[c->input[top->next++]].call;
            if (w->seen[from] || !w->needed[from]) continue;
            walk_step *next = HR__LIST_ADD(&path);
            if (!next) {
                hr_free(path.at);
                return hr_no_memory(err, "a model");
            }
            next->call = from;
            continue;
        }
        w->finished[w->count++] = top->call;
        path.count--;
    }
    hr_free(path.at);
    return HR_OK;
}

static void walk_depths(walk *w)
{
    for (int i = w->count - 1; i >= 0; i--) {
        const int call = w->finished[i];
        const hr__call *c = &w->b->calls.at[call];
        const int layer = c->layer->index;
        if (w->depth[layer] > w->call_depth[call]) w->call_depth[call] = w->depth[layer];
        w->depth[layer] = w->call_depth[call];
        for (int k = 0; k < c->inputs; k++) {
            const int from = w->b->values.at[c->input[k]].call;
            if (w->needed[from] && w->call_depth[from] < w->call_depth[call] + 1)
                w->call_depth[from] = w->call_depth[call] + 1;
        }
    }
}

static bool walk_before(const walk *w, int a, int b)
{
    return w->depth[a] != w->depth[b] ? w->depth[a] > w->depth[b] : w->met[a] < w->met[b];
}

static hr_status order_layers(hr_model *m, const walk *w, hr_error *err)
{
    const int count = w->b->layers.count;
    for (int i = 0; i < count; i++) {
        hr_layer *layer = w->b->layers.at[i];
        if (w->met[i] < 0 || (!m->functional && layer->input)) continue;
        hr_layer **place = HR__LIST_ADD(&m->order);
        if (!place) return hr_no_memory(err, "a model");
        int at = m->order.count - 1;
        for (; at > 0 && walk_before(w, i, m->order.at[at - 1]->index); at--) m->order.at[at] = m->order.at[at - 1];
        m->order.at[at] = layer;
    }
    return HR_OK;
}

/* Each is called as the layer that makes it; further ones of the same layer have a number. */
static hr_status name_outputs(hr_model *m, hr_error *err)
{
    for (int i = 0; i < m->outputs.count; i++) {
        const char *base = m->body->calls.at[m->body->values.at[m->outputs.at[i]].call].layer->name;
        char name[320];
        (void)snprintf(name, sizeof name, "%s", base);
        for (int n = 1, k = 0; k < i; k++)
            if (strcmp(m->output_names.at[k], name) == 0) {
                (void)snprintf(name, sizeof name, "%s_%d", base, n++);
                k = -1;
            }
        char **place = HR__LIST_ADD(&m->output_names);
        if (!place || !(*place = hr_strdup(name))) return hr_no_memory(err, "a model");
    }
    return HR_OK;
}

static hr_status walk_all(hr_model *m, walk *w, hr_error *err)
{
    hr__body *b = m->body;
    HR_TRY(hr__body_needed(b, m->inputs.at, m->inputs.count, m->outputs.at, m->outputs.count, w->needed, err));
    for (int i = 0; i < m->inputs.count; i++) w->needed[b->values.at[m->inputs.at[i]].call] = true;
    for (int i = 0; i < b->layers.count; i++) w->met[i] = w->depth[i] = -1;
    for (int i = 0; i < m->outputs.count; i++) {
        const int call = b->values.at[m->outputs.at[i]].call;
        if (!w->seen[call]) HR_TRY(walk_from(w, call, err));
    }
    walk_depths(w);
    for (int i = 0; i < m->inputs.count; i++) { /* those that no output needs */
        const int layer = b->calls.at[b->values.at[m->inputs.at[i]].call].layer->index;
        if (w->met[layer] < 0) {
            w->met[layer] = w->meetings++;
            w->depth[layer] = 0;
        }
    }
    return order_layers(m, w, err);
}

hr_status hr__model_order(hr_model *m, hr_error *err)
{
    hr__body *b = m->body;
    const size_t calls = (size_t)b->calls.count + 1, layers = (size_t)b->layers.count + 1;
    walk w = {.b = b,
              .needed = hr_calloc(calls, sizeof(bool)),
              .seen = hr_calloc(calls, sizeof(bool)),
              .finished = hr_calloc(calls, sizeof(int)),
              .met = hr_calloc(layers, sizeof(int)),
              .call_depth = hr_calloc(calls, sizeof(int)),
              .depth = hr_calloc(layers, sizeof(int))};
    const bool memory = w.needed && w.seen && w.finished && w.met && w.call_depth && w.depth;
    hr_status st = memory ? walk_all(m, &w, err) : hr_no_memory(err, "a model");
    if (st == HR_OK) st = name_outputs(m, err);
    hr_free(w.needed);
    hr_free(w.seen);
    hr_free(w.finished);
    hr_free(w.met);
    hr_free(w.call_depth);
    hr_free(w.depth);
    return st;
}

/* ---- weights in that order ---- */

enum { TRAINED = 1, OTHERS = 2 }; /* which weights, as their layers say */

/* A model is its layers one after the other; a wrapper with one is a layer: first all of its weights that are trained. */
static hr_status each_weight(hr_model *m, hr__weight_fn *fn, void *user, bool frozen, unsigned which)
{
    for (int i = 0; i < m->order.count; i++) {
        hr_layer *layer = m->order.at[i];
        hr_model *inner = layer->model;
        const bool wraps = layer->inner.count > 0;
        const bool still = frozen || layer->frozen || (inner && wraps && layer->inner.at[0]->frozen);
        if (inner && !wraps) HR_TRY(each_weight(inner, fn, user, still, which));
        for (unsigned kind = TRAINED; kind <= OTHERS; kind++) {
            if (!(which & kind)) continue;
            if (inner && wraps) HR_TRY(each_weight(inner, fn, user, still, kind));
            for (int k = 0; k < layer->variables.count; k++)
                if (!layer->variables.at[k].state && layer->variables.at[k].trainable == (kind == TRAINED))
                    HR_TRY(fn(user, layer, &layer->variables.at[k], still || layer->variables.at[k].maker->frozen));
        }
    }
    return HR_OK;
}

hr_status hr__each_weight(hr_model *m, hr__weight_fn *fn, void *user)
{
    return each_weight(m, fn, user, false, TRAINED | OTHERS);
}
