/* TrackableObjectGraph: the objects of a model as bytes, and those of a file. */
#include "proto/message.h"
#include "proto/trackable.pb-c.h"
#include "train/models/objects.h"

#include <string.h>

typedef Headrace__Proto__TrackableObjectGraph proto_graph;
typedef Headrace__Proto__TrackableObjectGraph__TrackableObject proto_object;
typedef Headrace__Proto__TrackableObjectGraph__TrackableObject__ObjectReference proto_reference;
typedef Headrace__Proto__TrackableObjectGraph__TrackableObject__SerializedTensor proto_value;
typedef Headrace__Proto__TrackableObjectGraph__TrackableObject__SlotVariableReference proto_slot;
typedef Headrace__Proto__TrackableObjectGraph__TrackableObject__BoolValue proto_bool;

/* ---- writing ---- */

/* Messages of all objects, by number; references in the order of the objects that refer. */
typedef struct object_messages {
    proto_object *object, **objects;
    proto_reference *reference, **references;
    proto_slot *slot, **slots;
    proto_value *value, **values;
    proto_bool *has;
    char **keys;
    int references_made;
} object_messages;

static void messages_free(object_messages *p, int count)
{
    for (int i = 0; p->keys && i < count; i++) hr_free(p->keys[i]);
    hr_free(p->object);
    hr_free(p->objects);
    hr_free(p->reference);
    hr_free(p->references);
    hr_free(p->slot);
    hr_free(p->slots);
    hr_free(p->value);
    hr_free(p->values);
    hr_free(p->has);
    hr_free(p->keys);
}

static bool messages_new(object_messages *p, size_t objects, size_t references)
{
    p->object = hr_calloc(objects, sizeof *p->object);
    p->objects = hr_calloc(objects, sizeof(void *));
    p->reference = hr_calloc(references + 1, sizeof *p->reference);
    p->references = hr_calloc(references + 1, sizeof(void *));
    p->slot = hr_calloc(objects, sizeof *p->slot);
    p->slots = hr_calloc(objects, sizeof(void *));
    p->value = hr_calloc(objects, sizeof *p->value);
    p->values = hr_calloc(objects, sizeof(void *));
    p->has = hr_calloc(objects, sizeof *p->has);
    p->keys = hr_calloc(objects, sizeof(char *));
    return p->object && p->objects && p->reference && p->references && p->slot && p->slots && p->value && p->values &&
           p->has && p->keys;
}

static hr_status messages_add_value(object_messages *p, const hr__objects *o, int i, hr_error *err)
{
    hr__text key = {0};
    if (!o->at.at[i].title) return HR_OK;
    hr__object_key(o, i, &key);
    p->keys[i] = hr__text_take(&key);
    if (!p->keys[i]) return hr_no_memory(err, "the objects of a model");
    headrace__proto__trackable_object_graph__trackable_object__serialized_tensor__init(&p->value[i]);
    p->value[i].name = "VARIABLE_VALUE";
    p->value[i].full_name = o->at.at[i].title;
    p->value[i].checkpoint_key = p->keys[i];
    p->values[i] = &p->value[i];
    p->object[i].attributes = &p->values[i];
    p->object[i].n_attributes = 1;
    for (int up = i; up >= 0; up = o->at.at[up].parent) p->has[up].value = 1;
    return HR_OK;
}

/* The place of the next reference of object `i`, whose references are counted before. */
static void messages_refer(object_messages *p, int i, const char *name, int to)
{
    proto_object *from = &p->object[i];
    proto_reference *made = &p->reference[p->references_made++];
    headrace__proto__trackable_object_graph__trackable_object__object_reference__init(made);
    made->node_id = to;
    made->local_name = (char *)name;
    from->children[from->n_children++] = made;
}

static void messages_add_references(object_messages *p, const hr__objects *o)
{
    size_t at = 0;
    for (int i = 1; i < o->at.count; i++) p->object[o->at.at[i].parent].n_children += !o->at.at[i].slot_of;
    for (int i = 0; i < o->names.count; i++) p->object[o->names.at[i].from].n_children++;
    for (int i = 0; i < o->at.count; i++) {
        p->object[i].children = p->references + at;
        at += p->object[i].n_children;
        p->object[i].n_children = 0;
    }
    for (int i = 1; i < o->at.count; i++)
        if (!o->at.at[i].slot_of) messages_refer(p, o->at.at[i].parent, o->at.at[i].name, i);
    for (int i = 0; i < o->names.count; i++)
        messages_refer(p, o->names.at[i].from, o->names.at[i].name, o->names.at[i].to);
}

/* A model has one optimizer, so all slots are its. */
static void messages_add_slots(object_messages *p, const hr__objects *o)
{
    size_t made = 0;
    for (int i = 1; i < o->at.count; i++) {
        proto_slot *slot = &p->slot[made];
        const hr__object *of = &o->at.at[i];
        if (!of->slot_of) continue;
        headrace__proto__trackable_object_graph__trackable_object__slot_variable_reference__init(slot);
        slot->original_variable_node_id = of->slot_of;
        slot->slot_name = of->name;
        slot->slot_variable_node_id = i;
        p->slots[made++] = slot;
        p->object[of->parent].slot_variables = p->slots;
        p->object[of->parent].n_slot_variables = made;
    }
}

hr_status hr__objects_write(const hr__objects *o, hr_view *bytes, hr_error *err)
{
    object_messages p = {0};
    proto_graph graph = HEADRACE__PROTO__TRACKABLE_OBJECT_GRAPH__INIT;
    const size_t count = (size_t)o->at.count;
    hr_status st =
        messages_new(&p, count, count + (size_t)o->names.count) ? HR_OK : hr_no_memory(err, "the objects of a model");
    for (int i = 0; i < o->at.count && st == HR_OK; i++) {
        headrace__proto__trackable_object_graph__trackable_object__init(&p.object[i]);
        headrace__proto__trackable_object_graph__trackable_object__bool_value__init(&p.has[i]);
        p.object[i].has_checkpoint_values = &p.has[i];
        p.objects[i] = &p.object[i];
    }
    for (int i = 0; i < o->at.count && st == HR_OK; i++) st = messages_add_value(&p, o, i, err);
    if (st == HR_OK) {
        messages_add_references(&p, o);
        messages_add_slots(&p, o);
        graph.nodes = p.objects;
        graph.n_nodes = count;
        const size_t size = headrace__proto__trackable_object_graph__get_packed_size(&graph);
        uint8_t *packed = hr_malloc(size + 1);
        if (packed)
            (void)headrace__proto__trackable_object_graph__pack(&graph, packed);
        else
            st = hr_no_memory(err, "the objects of a model");
        *bytes = (hr_view){(char *)packed, packed ? (int64_t)size : 0};
    }
    messages_free(&p, o->at.count);
    return st;
}

/* ---- reading ---- */

struct hr__object_file {
    proto_graph *graph;
};

static hr_status file_check_number(const proto_graph *g, size_t of, int32_t number, hr_error *err)
{
    if (number >= 0 && (size_t)number < g->n_nodes) return HR_OK;
    return hr_fail(err, HR_DATA_LOSS, "models.objects",
                   "objects: object %zu has to do with object %d, but there are %zu; the file is damaged", of, number,
                   g->n_nodes);
}

static hr_status file_check(const proto_graph *g, hr_error *err)
{
    if (g->n_nodes == 0 || g->n_nodes > INT32_MAX)
        return hr_fail(err, HR_DATA_LOSS, "models.objects", "objects: expected a model among them, got %zu objects",
                       g->n_nodes);
    for (size_t i = 0; i < g->n_nodes; i++) {
        for (size_t k = 0; k < g->nodes[i]->n_children; k++)
            HR_TRY(file_check_number(g, i, g->nodes[i]->children[k]->node_id, err));
        for (size_t k = 0; k < g->nodes[i]->n_slot_variables; k++) {
            HR_TRY(file_check_number(g, i, g->nodes[i]->slot_variables[k]->original_variable_node_id, err));
            HR_TRY(file_check_number(g, i, g->nodes[i]->slot_variables[k]->slot_variable_node_id, err));
        }
    }
    return HR_OK;
}

hr_status hr__object_file_read(hr_view bytes, hr__object_file **out, hr_error *err)
{
    ProtobufCMessage *message;
    *out = NULL;
    HR_TRY(hr__message_read(&headrace__proto__trackable_object_graph__descriptor, bytes, &message, err));
    hr__object_file *f = hr_calloc(1, sizeof *f);
    hr_status st = f ? file_check((proto_graph *)(void *)message, err) : hr_no_memory(err, "the objects of a file");
    if (st != HR_OK) {
        hr_free(f);
        hr__message_free(message);
        return st;
    }
    f->graph = (proto_graph *)(void *)message;
    *out = f;
    return HR_OK;
}

void hr__object_file_free(hr__object_file *f)
{
    if (!f) return;
    hr__message_free(&f->graph->base);
    hr_free(f);
}

int hr__object_file_child(const hr__object_file *f, int parent, const char *name)
{
    if (parent < 0) return -1;
    const proto_object *of = f->graph->nodes[parent];
    for (size_t i = 0; i < of->n_children; i++)
        if (strcmp(of->children[i]->local_name, name) == 0) return of->children[i]->node_id;
    return -1;
}

static const proto_value *file_value(const hr__object_file *f, int object)
{
    if (object < 0) return NULL;
    const proto_object *of = f->graph->nodes[object];
    for (size_t i = 0; i < of->n_attributes; i++)
        if (strcmp(of->attributes[i]->name, "VARIABLE_VALUE") == 0) return of->attributes[i];
    return NULL;
}

const char *hr__object_file_key(const hr__object_file *f, int object)
{
    const proto_value *value = file_value(f, object);
    return value ? value->checkpoint_key : NULL;
}

const char *hr__object_file_title(const hr__object_file *f, int object)
{
    const proto_value *value = file_value(f, object);
    return value ? value->full_name : "";
}

int hr__object_file_child_at(const hr__object_file *f, int parent, int i, const char **name)
{
    const proto_object *of = parent >= 0 ? f->graph->nodes[parent] : NULL;
    if (!of || (size_t)i >= of->n_children) return -1;
    *name = of->children[i]->local_name;
    return of->children[i]->node_id;
}

int hr__object_file_slot_at(const hr__object_file *f, int optimizer, int i, int *weight, const char **name)
{
    const proto_object *of = optimizer >= 0 ? f->graph->nodes[optimizer] : NULL;
    if (!of || (size_t)i >= of->n_slot_variables) return -1;
    *weight = of->slot_variables[i]->original_variable_node_id;
    *name = of->slot_variables[i]->slot_name;
    return of->slot_variables[i]->slot_variable_node_id;
}
