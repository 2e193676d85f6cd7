/* Writes a graph with its variables and collections, and with what else belongs to it, as a MetaGraphDef. */
#include "train/graphdef/meta_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct meta_exporter {
    hr__arena arena;
    const hr_graph *g;
    const hr_meta_graph *m; /* NULL: none */
    const hr_graph_export_opts *opts;
    proto_meta message;
    hr_error *err;
} meta_exporter;

static hr_status export_no_memory(const meta_exporter *ex) { return hr_no_memory(ex->err, "a graph"); }

/* ---- collections ---- */

static hr_status new_collection(meta_exporter *ex, const char *key, Headrace__Proto__CollectionDef **def)
{
    proto_collection *entry = hr__arena_get(&ex->arena, sizeof *entry);
    *def = hr__arena_get(&ex->arena, sizeof **def);
    if (!entry || !*def) return export_no_memory(ex);
    headrace__proto__collection_entry__init(entry);
    headrace__proto__collection_def__init(*def);
    entry->key = (char *)(uintptr_t)key;
    entry->value = *def;
    ex->message.collection_def[ex->message.n_collection_def++] = entry;
    return HR_OK;
}

static Headrace__Proto__CollectionDef__BytesList *new_bytes(meta_exporter *ex, Headrace__Proto__CollectionDef *def,
                                                            int capacity)
{
    Headrace__Proto__CollectionDef__BytesList *list = hr__arena_get(&ex->arena, sizeof *list);
    if (!list) return NULL;
    headrace__proto__collection_def__bytes_list__init(list);
    list->value = hr__arena_get(&ex->arena, sizeof *list->value * ((size_t)capacity + 1));
    def->kind_case = HEADRACE__PROTO__COLLECTION_DEF__KIND_BYTES_LIST;
    def->bytes_list = list;
    return list->value ? list : NULL;
}

static hr_status put_variable(meta_exporter *ex, Headrace__Proto__CollectionDef__BytesList *list,
                              const hr_variable_info *v)
{
    return hr__variable_bytes(&ex->arena, ex->m, v, &list->value[list->n_value++], ex->err);
}

static hr_status put_set(meta_exporter *ex, int set)
{
    const hr_graph *g = ex->g;
    Headrace__Proto__CollectionDef *def;
    int count = 0;
    for (int i = 0; i < g->variable_count; i++) count += (int)(g->variables[i]->sets >> set & 1u);
    if (count == 0) return HR_OK;
    HR_TRY(new_collection(ex, hr__variable_collections[set], &def));
    Headrace__Proto__CollectionDef__BytesList *list = new_bytes(ex, def, count);
    if (!list) return export_no_memory(ex);
    for (int i = 0; i < g->variable_count; i++)
        if (g->variables[i]->sets >> set & 1u) HR_TRY(put_variable(ex, list, g->variables[i]));
    return HR_OK;
}

static hr_status put_variables(meta_exporter *ex, Headrace__Proto__CollectionDef *def, const hr__collection *c)
{
    Headrace__Proto__CollectionDef__BytesList *list = new_bytes(ex, def, c->count);
    if (!list) return export_no_memory(ex);
    for (int i = 0; i < c->count; i++) {
        const hr_variable_info *v = hr_variable_of(c->nodes[i]);
        if (v) HR_TRY(put_variable(ex, list, v));
    }
    return HR_OK;
}

static char *collected_name(meta_exporter *ex, hr_node node)
{
    const size_t size = strlen(hr_node_name(node)) + 16;
    char *text = hr__arena_get(&ex->arena, size);
    if (!text) return NULL;
    if (node.output < 0)
        snprintf(text, size, "%s", hr_node_name(node));
    else
        snprintf(text, size, "%s:%d", hr_node_name(node), node.output);
    return text;
}

static hr_status put_nodes(meta_exporter *ex, Headrace__Proto__CollectionDef *def, const hr__collection *c)
{
    Headrace__Proto__CollectionDef__NodeList *list = hr__arena_get(&ex->arena, sizeof *list);
    if (!list) return export_no_memory(ex);
    headrace__proto__collection_def__node_list__init(list);
    list->value = hr__arena_get(&ex->arena, sizeof *list->value * ((size_t)c->count + 1));
    if (!list->value) return export_no_memory(ex);
    for (int i = 0; i < c->count; i++) {
        if (c->nodes[i].graph != ex->g) continue; /* of a function: it has no name out here */
        if (!(list->value[list->n_value++] = collected_name(ex, c->nodes[i]))) return export_no_memory(ex);
    }
    def->kind_case = HEADRACE__PROTO__COLLECTION_DEF__KIND_NODE_LIST;
    def->node_list = list;
    return HR_OK;
}

static bool is_written(const meta_exporter *ex, const char *key)
{
    for (size_t i = 0; i < ex->message.n_collection_def; i++)
        if (strcmp(ex->message.collection_def[i]->key, key) == 0) return true;
    return false;
}

static int collection_order(const void *a, const void *b)
{
    return strcmp((*(const proto_collection *const *)a)->key, (*(const proto_collection *const *)b)->key);
}

/* The graph's own; then those of the file that the graph has not. */
static hr_status put_collections(meta_exporter *ex)
{
    const hr_graph *g = ex->g;
    const size_t most = 4 + (size_t)g->collection_count + (size_t)(ex->m ? ex->m->collections.count : 0);
    proto_meta *message = &ex->message;
    message->collection_def = hr__arena_get(&ex->arena, sizeof *message->collection_def * (most + 1));
    if (!message->collection_def) return export_no_memory(ex);
    for (int set = 0; set < 4; set++) HR_TRY(put_set(ex, set));
    for (int i = 0; i < g->collection_count; i++) {
        const hr__collection *c = &g->collections[i];
        Headrace__Proto__CollectionDef *def;
        if (is_written(ex, c->name)) continue;
        HR_TRY(new_collection(ex, c->name, &def));
        HR_TRY(hr__holds_variables(c->name) ? put_variables(ex, def, c) : put_nodes(ex, def, c));
    }
    for (int i = 0; ex->m && i < ex->m->collections.count; i++) {
        proto_collection *c = ex->m->collections.item[i];
        if (!is_written(ex, c->key)) message->collection_def[message->n_collection_def++] = c;
    }
    qsort(message->collection_def, message->n_collection_def, sizeof *message->collection_def, collection_order);
    return HR_OK;
}

/* ---- what is said of all of it ---- */

static hr_status put_info(meta_exporter *ex)
{
    proto_info *info = hr__arena_get(&ex->arena, sizeof *info);
    const proto_info *known = ex->m && ex->m->source ? ex->m->source->meta_info_def : NULL;
    if (!info) return export_no_memory(ex);
    headrace__proto__meta_info_def__init(info);
    info->tensorflow_version = (char *)(uintptr_t) "2.15.1";
    if (known) {
        *info = *known;
        info->n_tags = 0;
    }
    info->stripped_op_list = hr__op_list_message(&ex->arena, ex->g);
    if (!info->stripped_op_list) return export_no_memory(ex);
    info->stripped_default_attrs = ex->opts->strip_default_attrs;
    if (ex->m) {
        info->tags = (char **)(void *)ex->m->tags.item;
        info->n_tags = (size_t)ex->m->tags.count;
    }
    ex->message.meta_info_def = info;
    return HR_OK;
}

static void put_parts(meta_exporter *ex)
{
    const hr_meta_graph *m = ex->m;
    if (!m) return;
    ex->message.saver_def = m->saver;
    ex->message.signature_def = (proto_signature_entry **)(void *)m->signatures.item;
    ex->message.n_signature_def = (size_t)m->signatures.count;
    ex->message.asset_file_def = (proto_asset **)(void *)m->assets.item;
    ex->message.n_asset_file_def = (size_t)m->assets.count;
    if (m->source) {
        ex->message.object_graph_def = m->source->object_graph_def;
        ex->message.base.unknown_fields = m->source->base.unknown_fields;
        ex->message.base.n_unknown_fields = m->source->base.n_unknown_fields;
    }
}

/* A field of bytes in a message: its tag (the field's number, and 2 for bytes), their length, they themselves. */
static size_t put_field_head(uint8_t *to, unsigned field, size_t length)
{
    size_t n = 0;
    to[n++] = (uint8_t)(field << 3 | 2);
    for (; length >= 0x80; length >>= 7) to[n++] = (uint8_t)(length | 0x80);
    to[n++] = (uint8_t)length;
    return n;
}

/* The message with the graph's own bytes as field 2, after field 1, which says what all of it is. */
static hr_status export_around(meta_exporter *ex, char **bytes, size_t *size)
{
    enum { INFO = 1, GRAPH = 2, MOST_OF_HEAD = 12 };
    const hr_view graph = ex->opts->graph_def;
    uint8_t head[MOST_OF_HEAD];
    char *rest;
    size_t rest_size;
    HR_TRY(hr__message_bytes(&ex->message.base, &rest, &rest_size, ex->err));
    const size_t info = protobuf_c_message_get_packed_size(&ex->message.meta_info_def->base);
    const size_t before = put_field_head(head, INFO, info) + info;
    const size_t head_size = put_field_head(head, GRAPH, (size_t)graph.size);
    *size = rest_size + head_size + (size_t)graph.size;
    char *to = *bytes = hr_malloc(*size + 1);
    if (to) {
        memcpy(to, rest, before);
        memcpy(to += before, head, head_size);
        memcpy(to += head_size, graph.data, (size_t)graph.size);
        memcpy(to + graph.size, rest + before, rest_size - before + 1); /* with the 0 */
    }
    hr_free(rest);
    return to ? HR_OK : hr_no_memory(ex->err, "a graph");
}

static hr_status export_meta(meta_exporter *ex, char **bytes, size_t *size)
{
    const bool around = ex->opts->graph_def.data && !ex->opts->text;
    headrace__proto__meta_graph_def__init(&ex->message);
    put_parts(ex);
    if (!around) HR_TRY(hr__graph_message(&ex->arena, ex->opts, ex->g, &ex->message.graph_def, ex->err));
    HR_TRY(put_info(ex));
    HR_TRY(put_collections(ex));
    return around ? export_around(ex, bytes, size)
                  : hr__message_as(ex->opts->text, &ex->message.base, bytes, size, ex->err);
}

hr_status hr_meta_graph_export_with(const hr_graph *g, const hr_meta_graph *m, char **bytes, size_t *size,
                                    const hr_graph_export_opts *given, hr_error *err)
{
    const hr_graph_export_opts opts = HR_OPTIONS(hr_graph_export_opts, given);
    if (!g || !bytes || !size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_meta_graph_export: expected a graph, and places for its bytes and their size");
    if (g->error.code != HR_OK) {
        if (err) *err = g->error;
        return g->error.code;
    }
    meta_exporter ex = {.g = g, .m = m, .opts = &opts, .err = err};
    const hr_status st = export_meta(&ex, bytes, size);
    hr__arena_free(&ex.arena);
    return st;
}
