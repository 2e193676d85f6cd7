/* Variables of a graph from a checkpoint. */
#include "train/graphdef/restore.h"
#include "train/graph/graph_internal.h"
#include <headrace/meta_graph.h>

#include <stdio.h>
#include <string.h>

/* ---- one of them ---- */

const char *hr__checkpoint_key(const hr_variable_info *v) { return v->piece ? v->piece->full_name : v->name; }

/* TensorFlow's text for a piece: "10 4 0,5:0,4". */
static void piece_text(const hr_variable_info *v, char *text, size_t size)
{
    const hr_variable_piece *p = v->piece;
    size_t at = 0;
    for (int i = 0; i < p->full_shape.rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%lld ", (long long)p->full_shape.dims[i]);
    for (int i = 0; i < p->full_shape.rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld,%lld", i ? ":" : "", (long long)p->offset[i],
                               (long long)v->shape.dims[i]);
}

hr_status hr__checkpoint_read(hr_bundle *b, const hr_variable_info *v, hr_tensor *value, hr_error *err)
{
    char text[64 * HR_MAX_RANK];
    if (!v->piece) return hr_bundle_read(b, v->name, value, err);
    piece_text(v, text, sizeof text);
    return hr_bundle_read_slice(b, v->piece->full_name, text, value, err);
}

/* ---- all of them ---- */

static hr_status restore_one(hr_session *s, hr_bundle *b, hr_node handle, int *restored, hr_error *err)
{
    hr_handle_info info;
    hr_tensor value;
    bool has;
    if (!hr_handle_of(handle, &info) || info.origin.id != handle.id) return HR_OK;
    const hr_variable_info *known = hr_variable_of(handle);
    const hr_variable_info plain = {.name = info.name}, *v = known ? known : &plain;
    HR_TRY(hr_bundle_has(b, hr__checkpoint_key(v), &has, err));
    if (!has) return HR_OK;
    HR_TRY(hr__checkpoint_read(b, v, &value, err));
    const hr_status st = hr_session_set(s, handle, &value, err);
    hr_tensor_clear(&value);
    *restored += st == HR_OK;
    return st;
}

hr_status hr_session_restore(hr_session *s, const char *prefix, int *restored, hr_error *err)
{
    hr_bundle *b;
    int count = 0;
    if (!s) return hr_no_memory(err, "a session");
    if (!prefix)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_session_restore: expected a checkpoint, got NULL");
    HR_TRY(hr_bundle_open(prefix, &b, err));
    hr_status st = HR_OK;
    for (int32_t i = 0; st == HR_OK && i < s->graph->node_count; i++)
        if (s->graph->nodes[i]->handle) st = restore_one(s, b, (hr_node){s->graph, i, 0}, &count, err);
    hr_bundle_free(b);
    if (st != HR_OK) hr_error_prefix(err, "restoring %s: ", prefix);
    if (restored) *restored = count;
    return st;
}
