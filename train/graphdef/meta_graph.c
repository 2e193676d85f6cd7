/* What belongs to a graph besides its nodes: tags, the saver, signatures, assets, collections. It is kept as messages,
 * those that were read and those that were added, side by side with what callers see of them. */
#include "train/graphdef/meta_internal.h"

#include <stdio.h>
#include <string.h>

hr_meta_graph *hr_meta_graph_new(void) { return hr_calloc(1, sizeof(hr_meta_graph)); }

void hr_meta_graph_free(hr_meta_graph *m)
{
    if (!m) return;
    for (int i = 0; i < m->messages.count; i++) hr__message_free(m->messages.item[i]);
    if (m->source) hr__message_free(&m->source->base);
    hr__map_free(&m->variable_names);
    hr__arena_free(&m->arena);
    hr_free(m);
}

static hr_status meta_no_memory(hr_error *err) { return hr_no_memory(err, "what belongs to a graph"); }

hr_status hr__meta_append(hr_meta_graph *m, meta_list *list, void *item, hr_error *err)
{
    if (list->count == list->capacity) {
        const int capacity = list->capacity ? list->capacity * 2 : 8;
        void **grown = hr__arena_get(&m->arena, sizeof *grown * (size_t)capacity);
        if (!grown) return meta_no_memory(err);
        if (list->count) memcpy(grown, list->item, sizeof *grown * (size_t)list->count);
        list->item = grown;
        list->capacity = capacity;
    }
    list->item[list->count++] = item;
    return HR_OK;
}

static void *at(const hr_meta_graph *m, const meta_list *list, int i)
{
    return m && i >= 0 && i < list->count ? list->item[i] : NULL;
}

/* ---- tensors of signatures ---- */

static hr_status tensor_of_info(const proto_tensor_info *from, const char *key, hr_meta_tensor *out, hr_error *err)
{
    *out = (hr_meta_tensor){.key = key, .shape = HR_UNKNOWN_SHAPE};
    if (!from) return HR_OK;
    out->dtype = (hr_dtype)(from->dtype > 100 ? from->dtype - 100 : from->dtype); /* DT_FLOAT_REF: float */
    if (from->encoding_case == HEADRACE__PROTO__TENSOR_INFO__ENCODING_NAME) out->name = from->name;
    if (from->encoding_case == HEADRACE__PROTO__TENSOR_INFO__ENCODING_COO_SPARSE) {
        out->name = from->coo_sparse->values_tensor_name;
        out->indices = from->coo_sparse->indices_tensor_name;
        out->dense_shape = from->coo_sparse->dense_shape_tensor_name;
    }
    return hr__shape_of_message(from->tensor_shape, &out->shape, err);
}

static char *meta_text(hr_meta_graph *m, const char *text)
{
    return text ? hr__arena_text(&m->arena, text, strlen(text)) : NULL;
}

static bool put_sparse(hr_meta_graph *m, const hr_meta_tensor *t, proto_tensor_info *info)
{
    Headrace__Proto__TensorInfo__CooSparse *sparse = hr__arena_get(&m->arena, sizeof *sparse);
    if (!sparse) return false;
    headrace__proto__tensor_info__coo_sparse__init(sparse);
    sparse->values_tensor_name = meta_text(m, t->name ? t->name : "");
    sparse->indices_tensor_name = meta_text(m, t->indices);
    sparse->dense_shape_tensor_name = meta_text(m, t->dense_shape ? t->dense_shape : "");
    info->encoding_case = HEADRACE__PROTO__TENSOR_INFO__ENCODING_COO_SPARSE;
    info->coo_sparse = sparse;
    return sparse->values_tensor_name && sparse->indices_tensor_name && sparse->dense_shape_tensor_name;
}

static proto_tensor_info *info_of_tensor(hr_meta_graph *m, const hr_meta_tensor *t)
{
    proto_tensor_info *info = hr__arena_get(&m->arena, sizeof *info);
    if (!info) return NULL;
    headrace__proto__tensor_info__init(info);
    info->dtype = (Headrace__Proto__DataType)t->dtype;
    info->tensor_shape = hr__shape_message(&m->arena, t->shape);
    if (!info->tensor_shape) return NULL;
    if (t->indices) return put_sparse(m, t, info) ? info : NULL;
    info->encoding_case = HEADRACE__PROTO__TENSOR_INFO__ENCODING_NAME;
    info->name = meta_text(m, t->name ? t->name : "");
    return info->name ? info : NULL;
}

/* ---- signatures ---- */

static hr_status tensors_of_entries(hr_meta_graph *m, Headrace__Proto__TensorInfoEntry *const *from, size_t count,
                                    const hr_meta_tensor **out, hr_error *err)
{
    hr_meta_tensor *tensors = hr__arena_get(&m->arena, sizeof *tensors * (count + 1));
    if (!tensors) return meta_no_memory(err);
    for (size_t i = 0; i < count; i++) HR_TRY(tensor_of_info(from[i]->value, from[i]->key, &tensors[i], err));
    *out = tensors;
    return HR_OK;
}

static hr_status take_signature(hr_meta_graph *m, proto_signature_entry *from, hr_error *err)
{
    static const Headrace__Proto__SignatureDef none = HEADRACE__PROTO__SIGNATURE_DEF__INIT;
    const Headrace__Proto__SignatureDef *def = from->value ? from->value : &none;
    hr_meta_signature *s = hr__arena_get(&m->arena, sizeof *s);
    if (!s) return meta_no_memory(err);
    *s = (hr_meta_signature){.key = from->key,
                             .method = def->method_name,
                             .input_count = (int)def->n_inputs,
                             .output_count = (int)def->n_outputs};
    HR_TRY(tensors_of_entries(m, def->inputs, def->n_inputs, &s->inputs, err));
    HR_TRY(tensors_of_entries(m, def->outputs, def->n_outputs, &s->outputs, err));
    HR_TRY(hr__meta_append(m, &m->said, s, err));
    return hr__meta_append(m, &m->signatures, from, err);
}

static Headrace__Proto__TensorInfoEntry **entries_of_tensors(hr_meta_graph *m, const hr_meta_tensor *t, int count)
{
    Headrace__Proto__TensorInfoEntry **out = hr__arena_get(&m->arena, sizeof *out * (size_t)(count + 1));
    for (int i = 0; out && i < count; i++) {
        out[i] = hr__arena_get(&m->arena, sizeof **out);
        if (!out[i]) return NULL;
        headrace__proto__tensor_info_entry__init(out[i]);
        out[i]->key = meta_text(m, t[i].key ? t[i].key : "");
        out[i]->value = info_of_tensor(m, &t[i]);
        if (!out[i]->key || !out[i]->value) return NULL;
    }
    return out;
}

const hr_meta_signature *hr_meta_graph_signature(const hr_meta_graph *m, int i)
{
    return m ? at(m, &m->said, i) : NULL;
}

hr_status hr_meta_graph_add_signature(hr_meta_graph *m, const hr_meta_signature *s, hr_error *err)
{
    if (!m || !s || !s->key || s->input_count < 0 || s->output_count < 0 || (s->input_count > 0 && !s->inputs) ||
        (s->output_count > 0 && !s->outputs))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_meta_graph_add_signature: expected a signature with a key, inputs and outputs");
    for (int i = 0; i < m->said.count; i++)
        if (strcmp(((const hr_meta_signature *)m->said.item[i])->key, s->key) == 0)
            return hr_fail(err, HR_ALREADY_EXISTS, "metagraph.key",
                           "expected a signature's key once, got '%.60s' again", s->key);
    proto_signature_entry *entry = hr__arena_get(&m->arena, sizeof *entry);
    Headrace__Proto__SignatureDef *def = hr__arena_get(&m->arena, sizeof *def);
    if (!entry || !def) return meta_no_memory(err);
    headrace__proto__signature_entry__init(entry);
    headrace__proto__signature_def__init(def);
    entry->key = meta_text(m, s->key);
    entry->value = def;
    def->method_name = meta_text(m, s->method ? s->method : "");
    def->inputs = entries_of_tensors(m, s->inputs, s->input_count);
    def->outputs = entries_of_tensors(m, s->outputs, s->output_count);
    def->n_inputs = (size_t)s->input_count;
    def->n_outputs = (size_t)s->output_count;
    if (!entry->key || !def->method_name || !def->inputs || !def->outputs) return meta_no_memory(err);
    return take_signature(m, entry, err);
}

/* ---- collections ---- */

static const hr_view *views_of(hr_meta_graph *m, const ProtobufCBinaryData *from, size_t count)
{
    hr_view *out = hr__arena_get(&m->arena, sizeof *out * (count + 1));
    for (size_t i = 0; out && i < count; i++) out[i] = (hr_view){(const char *)from[i].data, (int64_t)from[i].len};
    return out;
}

static bool read_any(hr_meta_graph *m, const Headrace__Proto__CollectionDef__AnyList *from, hr_meta_collection *out)
{
    const char **types = hr__arena_get(&m->arena, sizeof *types * (from->n_value + 1));
    hr_view *bytes = hr__arena_get(&m->arena, sizeof *bytes * (from->n_value + 1));
    for (size_t i = 0; types && bytes && i < from->n_value; i++) {
        types[i] = from->value[i]->type_url;
        bytes[i] = (hr_view){(const char *)from->value[i]->value.data, (int64_t)from->value[i]->value.len};
    }
    out->kind = HR_META_ANY;
    out->count = (int)from->n_value;
    out->nodes = types;
    out->bytes = bytes;
    return types && bytes;
}

static hr_status take_collection(hr_meta_graph *m, proto_collection *from, hr_error *err)
{
    hr_meta_collection *c = hr__arena_get(&m->arena, sizeof *c);
    if (!c) return meta_no_memory(err);
    c->key = from->key;
    bool read = true;
    switch (from->value ? from->value->kind_case : HEADRACE__PROTO__COLLECTION_DEF__KIND__NOT_SET) {
    case HEADRACE__PROTO__COLLECTION_DEF__KIND_NODE_LIST:
        c->kind = HR_META_NODES;
        c->count = (int)from->value->node_list->n_value;
        c->nodes = (const char *const *)from->value->node_list->value;
        break;
    case HEADRACE__PROTO__COLLECTION_DEF__KIND_BYTES_LIST:
        c->kind = HR_META_BYTES;
        c->count = (int)from->value->bytes_list->n_value;
        c->bytes = views_of(m, from->value->bytes_list->value, from->value->bytes_list->n_value);
        read = c->bytes != NULL;
        break;
    case HEADRACE__PROTO__COLLECTION_DEF__KIND_INT64_LIST:
        c->kind = HR_META_INTS;
        c->count = (int)from->value->int64_list->n_value;
        c->ints = from->value->int64_list->value;
        break;
    case HEADRACE__PROTO__COLLECTION_DEF__KIND_FLOAT_LIST:
        c->kind = HR_META_FLOATS;
        c->count = (int)from->value->float_list->n_value;
        c->floats = from->value->float_list->value;
        break;
    case HEADRACE__PROTO__COLLECTION_DEF__KIND_ANY_LIST:
        read = read_any(m, from->value->any_list, c);
        break;
    default:
        break;
    }
    if (!read) return meta_no_memory(err);
    HR_TRY(hr__meta_append(m, &m->held, c, err));
    return hr__meta_append(m, &m->collections, from, err);
}

const hr_meta_collection *hr_meta_graph_collection(const hr_meta_graph *m, int i)
{
    return m ? at(m, &m->held, i) : NULL;
}

/* ---- collections that are added ---- */

static bool copy_bytes(hr_meta_graph *m, hr_view from, ProtobufCBinaryData *out)
{
    out->len = (size_t)from.size;
    out->data = hr__arena_copy(&m->arena, from.data, out->len);
    return out->data != NULL;
}

#define NEW_LIST(FIELD, field, type)                                                                                   \
    Headrace__Proto__CollectionDef__##type *list = hr__arena_get(&m->arena, sizeof *list);                             \
    if (!list) return false;                                                                                           \
    headrace__proto__collection_def__##field##__init(list);                                                            \
    def->kind_case = HEADRACE__PROTO__COLLECTION_DEF__KIND_##FIELD;                                                    \
    def->field = list;                                                                                                 \
    list->n_value = (size_t)c->count;                                                                                  \
    list->value = hr__arena_get(&m->arena, sizeof *list->value * (list->n_value + 1));                                 \
    if (!list->value) return false;

static bool put_nodes(hr_meta_graph *m, const hr_meta_collection *c, Headrace__Proto__CollectionDef *def)
{
    NEW_LIST(NODE_LIST, node_list, NodeList)
    for (size_t i = 0; i < list->n_value; i++)
        if (!(list->value[i] = meta_text(m, c->nodes[i]))) return false;
    return true;
}

static bool put_bytes(hr_meta_graph *m, const hr_meta_collection *c, Headrace__Proto__CollectionDef *def)
{
    NEW_LIST(BYTES_LIST, bytes_list, BytesList)
    for (size_t i = 0; i < list->n_value; i++)
        if (!copy_bytes(m, c->bytes[i], &list->value[i])) return false;
    return true;
}

static bool put_ints(hr_meta_graph *m, const hr_meta_collection *c, Headrace__Proto__CollectionDef *def)
{
    NEW_LIST(INT64_LIST, int64_list, Int64List)
    memcpy(list->value, c->ints, sizeof *list->value * list->n_value);
    return true;
}

static bool put_floats(hr_meta_graph *m, const hr_meta_collection *c, Headrace__Proto__CollectionDef *def)
{
    NEW_LIST(FLOAT_LIST, float_list, FloatList)
    memcpy(list->value, c->floats, sizeof *list->value * list->n_value);
    return true;
}

static bool put_any(hr_meta_graph *m, const hr_meta_collection *c, Headrace__Proto__CollectionDef *def)
{
    NEW_LIST(ANY_LIST, any_list, AnyList)
    for (size_t i = 0; i < list->n_value; i++) {
        Headrace__Proto__AnyMessage *any = list->value[i] = hr__arena_get(&m->arena, sizeof *any);
        if (!any) return false;
        headrace__proto__any_message__init(any);
        if (!(any->type_url = meta_text(m, c->nodes[i])) || !copy_bytes(m, c->bytes[i], &any->value)) return false;
    }
    return true;
}

hr_status hr_meta_graph_add_collection(hr_meta_graph *m, const hr_meta_collection *c, hr_error *err)
{
    static bool (*const put[])(hr_meta_graph *, const hr_meta_collection *, Headrace__Proto__CollectionDef *) = {
        NULL, put_nodes, put_bytes, put_ints, put_floats, put_any};
    const bool full = c && c->count > 0;
    const bool lacks = full && (((c->kind == HR_META_NODES || c->kind == HR_META_ANY) && !c->nodes) ||
                                ((c->kind == HR_META_BYTES || c->kind == HR_META_ANY) && !c->bytes) ||
                                (c->kind == HR_META_INTS && !c->ints) || (c->kind == HR_META_FLOATS && !c->floats));
    if (!m || !c || !c->key || c->count < 0 || lacks || c->kind <= HR_META_NONE || c->kind > HR_META_ANY)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_meta_graph_add_collection: expected a collection with a key, a kind and its values");
    for (int i = 0; i < m->held.count; i++)
        if (strcmp(((const hr_meta_collection *)m->held.item[i])->key, c->key) == 0)
            return hr_fail(err, HR_ALREADY_EXISTS, "metagraph.key",
                           "expected a collection's key once, got '%.60s' again", c->key);
    proto_collection *entry = hr__arena_get(&m->arena, sizeof *entry);
    Headrace__Proto__CollectionDef *def = hr__arena_get(&m->arena, sizeof *def);
    if (!entry || !def) return meta_no_memory(err);
    headrace__proto__collection_entry__init(entry);
    headrace__proto__collection_def__init(def);
    entry->value = def;
    if (!(entry->key = meta_text(m, c->key)) || !put[c->kind](m, c, def)) return meta_no_memory(err);
    return take_collection(m, entry, err);
}

void hr__meta_drop_collection(hr_meta_graph *m, const char *key)
{
    int kept = 0;
    for (int i = 0; i < m->held.count; i++) {
        if (strcmp(((const hr_meta_collection *)m->held.item[i])->key, key) == 0) continue;
        m->held.item[kept] = m->held.item[i];
        m->collections.item[kept++] = m->collections.item[i];
    }
    m->held.count = m->collections.count = kept;
}

/* ---- tags, the saver, assets ---- */

const char *hr_meta_graph_version(const hr_meta_graph *m)
{
    return m && m->source && m->source->meta_info_def ? m->source->meta_info_def->tensorflow_version : "";
}

int64_t hr_meta_graph_nodes(const hr_meta_graph *m) { return m ? m->nodes : 0; }
bool hr_meta_graph_has_objects(const hr_meta_graph *m) { return m && m->source && m->source->object_graph_def; }

hr_status hr__meta_set_objects(hr_meta_graph *m, hr_view bytes, hr_error *err)
{
    ProtobufCMessage *message;
    HR_TRY(hr__message_read(&headrace__proto__saved_object_graph__descriptor, bytes, &message, err));
    if (m->source->object_graph_def) hr__message_free(&m->source->object_graph_def->base);
    m->source->object_graph_def = (Headrace__Proto__SavedObjectGraph *)(void *)message;
    return HR_OK;
}

const char *hr_meta_graph_tag(const hr_meta_graph *m, int i) { return m ? at(m, &m->tags, i) : NULL; }

hr_status hr_meta_graph_add_tag(hr_meta_graph *m, const char *tag, hr_error *err)
{
    if (!m || !tag)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_meta_graph_add_tag: expected a tag, got NULL");
    char *copy = meta_text(m, tag);
    return copy ? hr__meta_append(m, &m->tags, copy, err) : meta_no_memory(err);
}

bool hr_meta_graph_saver(const hr_meta_graph *m, hr_meta_saver *out)
{
    const proto_saver *s = m ? m->saver : NULL;
    if (!s) return false;
    *out = (hr_meta_saver){s->filename_tensor_name, s->save_tensor_name, s->restore_op_name,
                           s->max_to_keep,          s->sharded != 0,     s->keep_checkpoint_every_n_hours,
                           (int)s->version};
    return true;
}

hr_status hr_meta_graph_set_saver(hr_meta_graph *m, const hr_meta_saver *s, hr_error *err)
{
    if (!m || !s || !s->filename || !s->save || !s->restore)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_meta_graph_set_saver: expected the names of its nodes, got NULL");
    proto_saver *def = hr__arena_get(&m->arena, sizeof *def);
    if (!def) return meta_no_memory(err);
    headrace__proto__saver_def__init(def);
    def->filename_tensor_name = meta_text(m, s->filename);
    def->save_tensor_name = meta_text(m, s->save);
    def->restore_op_name = meta_text(m, s->restore);
    if (!def->filename_tensor_name || !def->save_tensor_name || !def->restore_op_name) return meta_no_memory(err);
    def->max_to_keep = s->max_to_keep;
    def->sharded = s->sharded;
    def->keep_checkpoint_every_n_hours = s->keep_every_n_hours;
    def->version = (Headrace__Proto__SaverDef__CheckpointFormatVersion)s->version;
    m->saver = def;
    return HR_OK;
}

bool hr_meta_graph_asset(const hr_meta_graph *m, int i, hr_meta_asset *out)
{
    const proto_asset *asset = m ? at(m, &m->assets, i) : NULL;
    if (!asset) return false;
    const bool named =
        asset->tensor_info && asset->tensor_info->encoding_case == HEADRACE__PROTO__TENSOR_INFO__ENCODING_NAME;
    *out = (hr_meta_asset){named ? asset->tensor_info->name : "", asset->filename};
    return true;
}

hr_status hr_meta_graph_add_asset(hr_meta_graph *m, const hr_meta_asset *asset, hr_error *err)
{
    if (!m || !asset || !asset->tensor || !asset->filename)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_meta_graph_add_asset: expected a tensor and a file, got NULL");
    proto_asset *def = hr__arena_get(&m->arena, sizeof *def);
    proto_tensor_info *info = hr__arena_get(&m->arena, sizeof *info);
    if (!def || !info) return meta_no_memory(err);
    headrace__proto__asset_file_def__init(def);
    headrace__proto__tensor_info__init(info);
    info->encoding_case = HEADRACE__PROTO__TENSOR_INFO__ENCODING_NAME;
    info->name = meta_text(m, asset->tensor);
    def->tensor_info = info;
    def->filename = meta_text(m, asset->filename);
    return info->name && def->filename ? hr__meta_append(m, &m->assets, def, err) : meta_no_memory(err);
}

/* ---- all that a message says ---- */

hr_status hr__meta_take(hr_meta_graph *m, hr_error *err)
{
    const proto_meta *source = m->source;
    m->saver = source->saver_def;
    const proto_info *info = source->meta_info_def;
    for (size_t i = 0; info && i < info->n_tags; i++) HR_TRY(hr__meta_append(m, &m->tags, info->tags[i], err));
    for (size_t i = 0; i < source->n_signature_def; i++) HR_TRY(take_signature(m, source->signature_def[i], err));
    for (size_t i = 0; i < source->n_asset_file_def; i++)
        HR_TRY(hr__meta_append(m, &m->assets, source->asset_file_def[i], err));
    for (size_t i = 0; i < source->n_collection_def; i++) HR_TRY(take_collection(m, source->collection_def[i], err));
    return HR_OK;
}
