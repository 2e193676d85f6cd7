/* keras_metadata.pb: of which class and name Keras's loader makes layers. They get their weights and the whole model
 * its functions from the SavedModel; arguments of layers are not said. */
#include "proto/keras_metadata.pb-c.h"
#include "train/graphdef/graphdef_internal.h"
#include "train/models/saved_form.h"

#include <string.h>

typedef Headrace__Proto__KerasMetadata proto_metadata;
typedef Headrace__Proto__KerasObject proto_keras;

static void add_text(hr__text *to, const char *key, const char *value)
{
    hr__text_printf(to, "\"%s\": ", key);
    hr__text_json(to, value, strlen(value));
    hr__text_add(to, ", ");
}

/* The name of a model is any text, of which Keras makes scopes: what these do not allow becomes "_". Names of layers
 * are scopes already. */
static void add_name(hr__text *to, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.";
    hr__text_add(to, "\"name\": \"");
    if (!*name || !strchr(letters, *name)) hr__text_add(to, "model_");
    for (; *name; name++) hr__text_byte(to, strchr(letters, *name) || *name == '-' ? *name : '_');
    hr__text_add(to, "\", ");
}

/* What is within a layer has no class of its own here. */
static char *metadata_of(const hr__objects *o, const hr_model *m, int i)
{
    hr__text text = {0};
    const hr__object *at = &o->at.at[i];
    hr__text_byte(&text, '{');
    if (i == 0)
        add_name(&text, m->name);
    else
        add_text(&text, "name", at->layer ? at->layer->name : at->name);
    add_text(&text, "class_name",
             i == 0      ? m->functional ? "Functional" : "Sequential"
             : at->layer ? at->layer->kind->name
                         : "Layer");
    hr__text_printf(&text,
                    "\"trainable\": %s, \"expects_training_arg\": %s, \"dtype\": \"float32\", "
                    "\"batch_input_shape\": null, \"autocast\": false, \"must_restore_from_config\": false}",
                    at->layer && at->layer->frozen ? "false" : "true", i == 0 ? "true" : "false");
    return hr__text_take(&text);
}

static char *path_of(const hr__objects *o, int i)
{
    hr__text text = {0};
    hr__text path = {0};
    hr__text_add(&text, "root");
    if (i > 0) hr__object_path(o, i, &path);
    if (i > 0) hr__text_byte(&text, '.');
    for (size_t k = 0; k < path.size; k++) hr__text_byte(&text, path.data[k] == '/' ? '.' : path.data[k]);
    text.failed |= path.failed;
    hr__text_free(&path);
    return hr__text_take(&text);
}

static bool is_keras(const hr__object *at)
{
    return at->identifier &&
           (strcmp(at->identifier, "_tf_keras_model") == 0 || strcmp(at->identifier, "_tf_keras_layer") == 0);
}

static bool put_node(hr__arena *arena, const hr__objects *o, const hr_model *m, int i, proto_metadata *to)
{
    proto_keras *node = hr__arena_get(arena, sizeof *node);
    Headrace__Proto__Version *version = hr__arena_get(arena, sizeof *version);
    if (!node || !version) return false;
    headrace__proto__keras_object__init(node);
    headrace__proto__version__init(version);
    version->producer = 2;
    version->min_consumer = 1;
    node->version = version;
    node->node_id = i;
    node->identifier = (char *)(uintptr_t)o->at.at[i].identifier;
    node->node_path = path_of(o, i);
    node->metadata = metadata_of(o, m, i);
    to->nodes[to->n_nodes++] = node;
    return node->node_path && node->metadata;
}

hr_status hr__keras_metadata(const hr__objects *o, const hr_model *m, hr_view *bytes, hr_error *err)
{
    hr__arena arena = {0};
    proto_metadata all;
    char *data = NULL;
    size_t size = 0;
    headrace__proto__keras_metadata__init(&all);
    all.nodes = hr__arena_get(&arena, sizeof *all.nodes * ((size_t)o->at.count + 1));
    bool whole = all.nodes != NULL;
    for (int i = 0; whole && i < o->at.count; i++)
        if (is_keras(&o->at.at[i])) whole = put_node(&arena, o, m, i, &all);
    const hr_status st = whole ? hr__message_bytes(&all.base, &data, &size, err) : hr_no_memory(err, "a SavedModel");
    for (size_t i = 0; i < all.n_nodes; i++) {
        hr_free(all.nodes[i]->node_path);
        hr_free(all.nodes[i]->metadata);
    }
    hr__arena_free(&arena);
    *bytes = (hr_view){data, (int64_t)size};
    return st;
}
