/* The objects of a model, by Keras's names. */
#include "train/models/objects.h"

#include <stdio.h>
#include <string.h>

void hr__objects_clear(hr__objects *o)
{
    for (int i = 0; i < o->at.count; i++) {
        hr_free(o->at.at[i].name);
        hr_free(o->at.at[i].title);
    }
    for (int i = 0; i < o->names.count; i++) hr_free(o->names.at[i].name);
    hr_free(o->at.at);
    hr_free(o->names.at);
    memset(o, 0, sizeof *o);
}

int hr__object_new(hr__objects *o, int parent, const char *name)
{
    hr__object *made = HR__LIST_ADD(&o->at);
    if (!made) return -1;
    *made = (hr__object){.parent = parent, .name = hr_strdup(name)};
    if (made->name) return o->at.count - 1;
    o->at.count--;
    return -1;
}

int hr__object_child(hr__objects *o, int parent, const char *name)
{
    if (parent < 0) return -1;
    /* Children come soon after their siblings, so the search begins at the end. */
    for (int i = o->at.count - 1; i > parent; i--)
        if (o->at.at[i].parent == parent && !o->at.at[i].slot_of && strcmp(o->at.at[i].name, name) == 0) return i;
    return hr__object_new(o, parent, name);
}

bool hr__object_call_also(hr__objects *o, int from, int to, const char *name)
{
    hr__object_name *also = HR__LIST_ADD(&o->names);
    if (!also) return false;
    *also = (hr__object_name){from, to, hr_strdup(name)};
    if (also->name) return true;
    o->names.count--;
    return false;
}

/* ---- layers ---- */

/* A variable at a path of names from `from` on. */
static hr_status objects_add_variable(hr__objects *o, hr_model *m, int from, const hr__layer_variable *v, hr_error *err)
{
    const hr_variable_info *info = hr_variable_named(m->body->graph, v->name);
    char part[512];
    for (const char *at = v->path; *at && from >= 0;) {
        const size_t n = strcspn(at, "/");
        (void)snprintf(part, sizeof part, "%.*s", (int)n, at);
        from = hr__object_child(o, from, part);
        at += n + (at[n] == '/');
    }
    if (!info || from < 0) return hr_no_memory(err, "the objects of a model");
    hr__object *made = &o->at.at[from];
    made->title = hr_strdup(v->title);
    made->session = m->body->session;
    made->variable = info->handle;
    made->dtype = info->dtype;
    made->shape = info->shape;
    return made->title ? HR_OK : hr_no_memory(err, "the objects of a model");
}

static bool layer_has_weights(const hr_layer *layer)
{
    for (int i = 0; i < layer->variables.count; i++)
        if (!layer->variables.at[i].state) return true;
    for (int i = 0; layer->model && i < layer->model->order.count; i++)
        if (layer_has_weights(layer->model->order.at[i])) return true;
    return false;
}

/* The layers of a model `of`, which is `m` or one within it. Those that have weights are counted apart. */
static hr_status objects_add_layers(hr__objects *o, hr_model *m, const hr_model *of, int from, hr_error *err)
{
    int weighted = 0;
    for (int i = 0; i < of->order.count; i++) {
        hr_layer *layer = of->order.at[i];
        const bool has = layer_has_weights(layer);
        char name[64], number[64];
        (void)snprintf(number, sizeof number, "layer-%d", i);
        (void)snprintf(name, sizeof name, has ? "layer_with_weights-%d" : "layer-%d", has ? weighted++ : i);
        const int made = hr__object_new(o, from, name);
        if (made >= 0) o->at.at[made].layer = layer;
        if (made < 0 || (has && !hr__object_call_also(o, from, made, number)))
            return hr_no_memory(err, "the objects of a model");
        for (int k = 0; k < layer->variables.count; k++)
            if (!layer->variables.at[k].state) HR_TRY(objects_add_variable(o, m, made, &layer->variables.at[k], err));
        const int within = layer->model && layer->inner.count > 0 ? hr__object_new(o, made, "layer") : made;
        if (within < 0) return hr_no_memory(err, "the objects of a model");
        if (layer->model) HR_TRY(objects_add_layers(o, m, layer->model, within, err));
    }
    return HR_OK;
}

hr_status hr__objects_of(hr_model *m, hr__objects *out, hr_error *err)
{
    memset(out, 0, sizeof *out);
    if (hr__object_new(out, -1, "") < 0) return hr_no_memory(err, "the objects of a model");
    return objects_add_layers(out, m, m, 0, err);
}

/* ---- keys ---- */

static const char slot_part[] = "/.OPTIMIZER_SLOT/optimizer/";

static void object_escaped(const char *name, hr__text *path)
{
    for (const char *p = name; *p; p++) hr__text_add(path, *p == '.' ? ".." : (const char[]){*p, '\0'});
}

void hr__object_path(const hr__objects *o, int object, hr__text *path)
{
    const hr__object *at = &o->at.at[object];
    if (at->slot_of) {
        hr__object_path(o, at->slot_of, path);
        hr__text_add(path, slot_part);
    } else if (at->parent > 0) {
        hr__object_path(o, at->parent, path);
        hr__text_byte(path, '/');
    }
    object_escaped(at->name, path);
}

void hr__object_key(const hr__objects *o, int object, hr__text *key)
{
    hr__object_path(o, object, key);
    hr__text_add(key, "/.ATTRIBUTES/VARIABLE_VALUE");
}

/* The object at the names of a path of `size` bytes. */
static int object_at(hr__objects *o, const char *path, size_t size)
{
    char name[256];
    int at = 0;
    for (size_t i = 0; i < size && at >= 0; i++) {
        size_t n = 0;
        for (; i < size && path[i] != '/'; i++) {
            if (path[i] == '.' && i + 1 < size && path[i + 1] == '.') i++;
            if (n < sizeof name - 1) name[n++] = path[i];
        }
        name[n] = '\0';
        at = hr__object_child(o, at, name);
    }
    return at;
}

int hr__object_of_key(hr__objects *o, const char *key)
{
    const char *slot = strstr(key, slot_part);
    if (!slot) return object_at(o, key, strlen(key));
    const int weight = object_at(o, key, (size_t)(slot - key)), optimizer = hr__object_child(o, 0, "optimizer");
    const int made = weight >= 0 && optimizer >= 0 ? hr__object_new(o, optimizer, slot + sizeof slot_part - 1) : -1;
    if (made >= 0) o->at.at[made].slot_of = weight;
    return made;
}

hr_status hr__weights_path(const char *path, hr_error *err)
{
    const size_t n = path ? strlen(path) : 0;
    if (n > 0 && path[n - 1] != '/') return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "weights: expected the path of a file, got %s%s",
                   path ? "a folder: " : "NULL", path ? path : "");
}
