/* The files that a SavedModel names: in the field for it, or, by TensorFlow 1, in a collection. */
#include "proto/meta_graph.pb-c.h"
#include "proto/message.h"
#include "train/graph/graph_internal.h"
#include "train/saved_model/saved_model_internal.h"

#include <string.h>

bool hr__stays_within(const char *name)
{
    for (const char *at = name;;) {
        const size_t size = strcspn(at, "/");
        if (size == 0 || (size == 1 && *at == '.') || (size == 2 && memcmp(at, "..", 2) == 0)) return false;
        if (!at[size]) return true;
        at += size + 1;
    }
}

static hr_status add_asset(hr_graph *g, hr__assets *out, const char *tensor, const char *filename, hr_error *err)
{
    const hr_node node = hr_graph_node(g, tensor);
    if (!hr_node_exists(node) || hr_node_dtype(node) != HR_STRING || node.output < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.asset",
                       "file '%.100s': expected a tensor of strings that gets its path, got '%.100s'", filename,
                       tensor);
    if (!hr__stays_within(filename))
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.asset",
                       "expected the name of a file in the folder 'assets', got '%.100s'", filename);
    for (int i = 0; i < out->count; i++)
        if (out->list[i].tensor.id == node.id && out->list[i].tensor.output == node.output) return HR_OK;
    HR_TRY(hr__grow(&out->list, out->count, &out->capacity, sizeof *out->list, err));
    out->list[out->count].tensor = node;
    out->list[out->count].filename = hr_strdup(filename);
    return out->list[out->count++].filename ? HR_OK : hr_no_memory(err, "the name of a file");
}

/* An AssetFileDef, as a collection holds it. */
static hr_status add_bytes(hr_graph *g, hr__assets *out, hr_view bytes, hr_error *err)
{
    ProtobufCMessage *message;
    HR_TRY(hr__message_read(&headrace__proto__asset_file_def__descriptor, bytes, &message, err));
    const Headrace__Proto__AssetFileDef *def = (const void *)message;
    const Headrace__Proto__TensorInfo *info = def->tensor_info;
    const bool named = info && info->encoding_case == HEADRACE__PROTO__TENSOR_INFO__ENCODING_NAME;
    const hr_status st = add_asset(g, out, named ? info->name : "", def->filename, err);
    hr__message_free(message);
    return st;
}

hr_status hr__assets_of(hr_graph *g, const hr_meta_graph *meta, hr__assets *out, hr_error *err)
{
    hr_meta_asset asset;
    *out = (hr__assets){0};
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && hr_meta_graph_asset(meta, i, &asset); i++)
        st = add_asset(g, out, asset.tensor, asset.filename, err);
    const hr_meta_collection *c = out->count ? NULL : hr__meta_collection_named(meta, "saved_model_assets");
    for (int i = 0; st == HR_OK && c && c->kind == HR_META_ANY && i < c->count; i++)
        st = add_bytes(g, out, c->bytes[i], err);
    if (st != HR_OK) hr__assets_clear(out);
    return st;
}

void hr__assets_clear(hr__assets *assets)
{
    for (int i = 0; i < assets->count; i++) hr_free(assets->list[i].filename);
    hr_free(assets->list);
    *assets = (hr__assets){0};
}
