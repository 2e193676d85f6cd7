/* Variables by TensorFlow 2's objects. A function says which objects its last inputs are, and the checkpoint under which
 * key it has an object's value. Keras 3 saves a variable as two: functions read one, the graph's own nodes restore and
 * save the other one. These become one variable here, before it is restored. */
#include "base/text.h"
#include "proto/message.h"
#include "proto/trackable.pb-c.h"
#include "train/graph/graph_internal.h"
#include "train/graphdef/meta_internal.h"
#include "train/saved_model/saved_model_internal.h"
#include <headrace/ops.h>

#include <string.h>

typedef Headrace__Proto__SavedObjectGraph saved_graph;
typedef Headrace__Proto__SavedObject saved_object;
typedef Headrace__Proto__TrackableObjectGraph file_graph;
typedef Headrace__Proto__TrackableObjectGraph__TrackableObject file_object;

/* A variable that functions take, and the object that it is. */
typedef struct taken {
    hr_node handle;
    int32_t object;
} taken;

typedef struct objects {
    const hr_saved_model *model;
    const saved_graph *saved;
    hr__map functions;   /* by name, to the number in `saved` */
    hr__map by_key;      /* keys of checkpoints, to the node of the variable that the graph gives their values */
    hr__map seen;        /* names of variables that the graph gives values, or that are listed */
    taken *taken;        /* those that it gives none */
    int count, capacity; /* of them */
} objects;

/* ---- what the graph restores ---- */

/* The name under which RestoreV2 reads what a node gives: restore:i, perhaps through Identity. */
static bool restored_key(hr_node value, hr_view *key)
{
    while (strcmp(hr_node_op(value), "Identity") == 0 && hr_node_inputs(value) == 1) value = hr_node_input(value, 0);
    if (strcmp(hr_node_op(value), "RestoreV2") != 0) return false;
    const hr_attr *names = hr_node_attr(hr_node_input(value, 1), "value");
    if (!names || names->kind != HR_ATTR_TENSOR || names->tensor->dtype != HR_STRING) return false;
    if (value.output < 0 || value.output >= names->tensor->count) return false;
    *key = ((const hr_view *)names->tensor->data)[value.output];
    return true;
}

static hr_status objects_see(objects *o, hr_node handle, hr_view key, hr_error *err)
{
    hr_handle_info info;
    if (!hr_handle_of(handle, &info)) return HR_OK;
    HR_TRY(hr__map_set(&o->seen, info.name, strlen(info.name), 1, err));
    return hr__map_set(&o->by_key, key.data, (size_t)key.size, info.origin.id, err);
}

/* What `call` hands to `f` as the input that a node of the function is; others as they are. */
static hr_node outside(hr_node node, const hr_function *f, hr_node call)
{
    for (int i = 0; f && i < hr_function_inputs(f); i++)
        if (hr_function_input_at(f, i).id == node.id) return hr_node_input(call, i);
    return node;
}

/* What nodes of `body` assign, which is the graph itself, or a function that `call` calls. */
static hr_status find_restored(objects *o, hr_graph *body, const hr_function *f, hr_node call, hr_error *err)
{
    hr_view key;
    for (int32_t id = 0; id < hr_graph_size(body); id++) {
        const hr_node node = {body, id, 0};
        if (strcmp(hr_node_op(node), "AssignVariableOp") != 0 || !restored_key(hr_node_input(node, 1), &key)) continue;
        const hr_node handle = outside(hr_node_input(node, 0), f, call);
        if (handle.graph == o->model->graph) HR_TRY(objects_see(o, handle, key, err));
    }
    return HR_OK;
}

/* ---- what functions take ---- */

static const hr_function *called_by(hr_node node)
{
    const hr_attr *f = strstr(hr_node_op(node), "PartitionedCall") ? hr_node_attr(node, "f") : NULL;
    return f && f->kind == HR_ATTR_FUNC ? hr_function_named(node.graph, f->func->name) : NULL;
}

static hr_status find_taken(objects *o, hr_node call, const hr_function *f, hr_error *err)
{
    const int found = hr__map_index(&o->functions, hr_function_name(f));
    const Headrace__Proto__SavedConcreteFunction *of = found >= 0 ? o->saved->concrete_functions[found]->value : NULL;
    const int inputs = hr_node_inputs(call);
    if (!of || of->n_bound_inputs > (size_t)inputs) return HR_OK;
    const int first = inputs - (int)of->n_bound_inputs;
    for (int i = first; i < inputs; i++) {
        hr_handle_info info;
        if (!hr_handle_of(hr_node_input(call, i), &info)) continue;
        const hr_status st = hr__map_add(&o->seen, info.name, strlen(info.name), 1, err);
        if (st == HR_ALREADY_EXISTS) continue;
        HR_TRY(st);
        HR_TRY(hr__grow(&o->taken, o->count, &o->capacity, sizeof *o->taken, err));
        o->taken[o->count++] = (taken){info.origin, of->bound_inputs[i - first]};
    }
    return HR_OK;
}

static hr_status objects_find(objects *o, hr_error *err)
{
    hr_graph *g = o->model->graph;
    const saved_graph *s = o->saved;
    for (size_t i = 0; i < s->n_concrete_functions; i++)
        HR_TRY(hr__map_set(&o->functions, s->concrete_functions[i]->key, strlen(s->concrete_functions[i]->key),
                           (int64_t)i, err));
    HR_TRY(find_restored(o, g, NULL, (hr_node){0}, err));
    for (int taking = 0; taking < 2; taking++) {
        for (int32_t id = 0; id < hr_graph_size(g); id++) {
            const hr_node node = {g, id, 0};
            const hr_function *f = called_by(node);
            if (!f) continue;
            HR_TRY(taking ? find_taken(o, node, f, err) : find_restored(o, hr_function_graph(f), f, node, err));
        }
    }
    return HR_OK;
}

/* ---- objects of the checkpoint ---- */

/* The checkpoint's value of a key, which the session of a graph of its own reads, and so no file outside the folder. */
static hr_status read_value(const hr_saved_model *m, const char *folder, const char *key, hr_dtype dtype,
                            hr_tensor *out, hr_error *err)
{
    char *prefix = hr__path_in(m->folder, "variables/variables");
    hr_graph *g = hr_graph_new();
    hr_session *s = g ? hr_session_new(g, .folder = folder, .workers = &(int){0}) : NULL;
    hr_status st = prefix && s ? HR_OK : hr_no_memory(err, "the values of variables");
    if (st == HR_OK) {
        const hr_view texts[] = {hr_text_view(prefix), hr_text_view(key), hr_text_view("")};
        hr_node in[3];
        for (int i = 0; i < 3; i++) {
            const hr_tensor text = hr_tensor_of(HR_STRING, i ? HR_SHAPE(1) : HR_SCALAR, &texts[i]);
            in[i] = hr_const(g, &text);
        }
        const hr_node read =
            hr_new_node(g, "RestoreV2", .inputs = in, .input_count = 3, HR_ATTRS(HR_TYPES_ATTR("dtypes", &dtype, 1)));
        st = hr_session_run(s, NULL, 0, &read, 1, out, err);
    }
    hr_session_free(s);
    hr_graph_free(g);
    hr_free(prefix);
    return st;
}

/* Gives the message (hr__message_free). */
static hr_status read_objects(const hr_saved_model *m, const char *folder, ProtobufCMessage **out, hr_error *err)
{
    hr_tensor bytes;
    HR_TRY(read_value(m, folder, "_CHECKPOINTABLE_OBJECT_GRAPH", HR_STRING, &bytes, err));
    const hr_view view = bytes.count == 1 ? *(const hr_view *)bytes.data : (hr_view){"", 0};
    const hr_status st = hr__message_read(&headrace__proto__trackable_object_graph__descriptor, view, out, err);
    hr_tensor_clear(&bytes);
    return st;
}

/* Where the objects of the model are among those of a file: `place` by object, -1: nowhere. */
typedef struct object_walk {
    const saved_graph *saved;
    const file_graph *file;
    int32_t *place, *queue;
    bool *met; /* of the file's */
    size_t queued;
} object_walk;

static void walk_meet(object_walk *w, int32_t object, int64_t place)
{
    if (object < 0 || (size_t)object >= w->saved->n_nodes || place < 0 || (size_t)place >= w->file->n_nodes) return;
    if (w->place[object] >= 0 || w->met[place]) return;
    w->place[object] = (int32_t)place;
    w->met[place] = true;
    w->queue[w->queued++] = object;
}

/* An object's place is that of the same name in the place of the object that knows it. */
static hr_status walk_children(object_walk *w, int32_t object, hr_error *err)
{
    hr__map names = {0};
    hr_status st = HR_OK;
    const saved_object *of = w->saved->nodes[object];
    const file_object *at = w->file->nodes[w->place[object]];
    for (size_t i = 0; st == HR_OK && i < at->n_children; i++)
        st = hr__map_set(&names, at->children[i]->local_name, strlen(at->children[i]->local_name),
                         at->children[i]->node_id, err);
    for (size_t i = 0; st == HR_OK && i < of->n_children; i++)
        walk_meet(w, of->children[i]->node_id, hr__map_index(&names, of->children[i]->local_name));
    hr__map_free(&names);
    return st;
}

/* From the model on, which is the first object in both. Gives *place (hr_free it). */
static hr_status find_places(const saved_graph *saved, const file_graph *file, int32_t **place, hr_error *err)
{
    object_walk w = {.saved = saved, .file = file};
    w.place = hr_malloc(sizeof *w.place * (saved->n_nodes + 1));
    w.queue = hr_malloc(sizeof *w.queue * (saved->n_nodes + 1));
    w.met = hr_calloc(file->n_nodes + 1, sizeof *w.met);
    hr_status st = w.place && w.queue && w.met ? HR_OK : hr_no_memory(err, "the objects of a model");
    for (size_t i = 0; st == HR_OK && i < saved->n_nodes; i++) w.place[i] = -1;
    if (st == HR_OK) walk_meet(&w, 0, 0);
    for (size_t i = 0; st == HR_OK && i < w.queued; i++) st = walk_children(&w, w.queue[i], err);
    hr_free(w.queue);
    hr_free(w.met);
    *place = w.place;
    return st;
}

/* NULL: the checkpoint has no value of the object. */
static const char *key_of(const file_graph *file, const int32_t *place, size_t places, int32_t object)
{
    if (object < 0 || (size_t)object >= places || place[object] < 0) return NULL;
    const file_object *at = file->nodes[place[object]];
    for (size_t i = 0; i < at->n_attributes; i++)
        if (strcmp(at->attributes[i]->name, "VARIABLE_VALUE") == 0) return at->attributes[i]->checkpoint_key;
    return NULL;
}

/* ---- their variables ---- */

/* The variable becomes the one that the graph restores and saves; where there is none, it gets its value. */
static hr_status give_value(objects *o, const char *folder, hr_node handle, const char *key, hr_error *err)
{
    hr_tensor value;
    hr_handle_info mine, other;
    const int id = hr__map_index(&o->by_key, key);
    hr_handle_of(handle, &mine);
    if (id >= 0 && hr_handle_of((hr_node){o->model->graph, id, 0}, &other) && mine.dtype == other.dtype)
        return hr__handle_join(handle, other.origin, err);
    HR_TRY(read_value(o->model, folder, key, mine.dtype, &value, err));
    const hr_status st = hr_session_set(o->model->session, handle, &value, err);
    hr_tensor_clear(&value);
    return st;
}

static hr_status give_values(objects *o, const char *folder, hr_error *err)
{
    int32_t *place = NULL;
    ProtobufCMessage *message;
    HR_TRY(read_objects(o->model, folder, &message, err));
    const file_graph *file = (const void *)message;
    hr_status st = find_places(o->saved, file, &place, err);
    for (int i = 0; st == HR_OK && i < o->count; i++) {
        const char *key = key_of(file, place, o->saved->n_nodes, o->taken[i].object);
        if (key) st = give_value(o, folder, o->taken[i].handle, key, err);
    }
    hr_free(place);
    hr__message_free(message);
    return st;
}

hr_status hr__objects_restore(const hr_saved_model *m, const char *folder, hr_error *err)
{
    if (!hr_meta_graph_has_objects(m->meta)) return HR_OK;
    objects o = {.model = m, .saved = m->meta->source->object_graph_def};
    hr_status st = objects_find(&o, err);
    if (st == HR_OK && o.count > 0) st = give_values(&o, folder, err);
    hr__map_free(&o.functions);
    hr__map_free(&o.by_key);
    hr__map_free(&o.seen);
    hr_free(o.taken);
    return st;
}
