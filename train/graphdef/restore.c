/* Variables of a graph from a checkpoint. */
#include "train/graphdef/restore.h"
#include "train/graph/graph_internal.h"
#include <headrace/meta_graph.h>

#include <stdio.h>
#include <string.h>

/* ---- one of them ---- */

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

hr_status hr__saved_read(hr_bundle *b, const hr__saved *v, hr_tensor *value, hr_error *err)
{
    char text[64 * HR_MAX_RANK];
    if (!v->of->piece) return hr_bundle_read(b, v->key, value, err);
    piece_text(v->of, text, sizeof text);
    return hr_bundle_read_slice(b, v->key, text, value, err);
}

static hr_status restore_value(hr_session *s, hr_bundle *b, const hr__saved *v, hr_node handle, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr__saved_read(b, v, &value, err));
    const hr_status st = hr_session_set(s, handle, &value, err);
    hr_tensor_clear(&value);
    return st;
}

/* ---- all that there are ---- */

static hr_status restore_found(hr_session *s, hr_bundle *b, hr_node handle, int *restored, hr_error *err)
{
    hr_handle_info info;
    bool has;
    if (!hr_handle_of(handle, &info) || info.origin.id != handle.id) return HR_OK;
    const hr_variable_info *known = hr_variable_of(handle), plain = {.name = info.name};
    const hr__saved v = {.key = known ? hr__checkpoint_key(known) : info.name, .of = known ? known : &plain};
    HR_TRY(hr_bundle_has(b, v.key, &has, err));
    if (!has) return HR_OK;
    HR_TRY(restore_value(s, b, &v, handle, err));
    ++*restored;
    return HR_OK;
}

static hr_status restore_all(hr_session *s, hr_bundle *b, int *restored, hr_error *err)
{
    for (int32_t i = 0; i < s->graph->node_count; i++)
        if (s->graph->nodes[i]->handle) HR_TRY(restore_found(s, b, (hr_node){s->graph, i, 0}, restored, err));
    return HR_OK;
}

/* ---- those of a list ---- */

static hr_status restore_listed(hr_session *s, hr_bundle *b, hr_var_list list, int *restored, hr_error *err)
{
    hr__saved_list all;
    HR_TRY(hr__saved_list_of(s->graph, list, &all, err));
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < all.count; i++) {
        st = restore_value(s, b, &all.saved[i], all.saved[i].of->handle, err);
        *restored += st == HR_OK;
    }
    hr_free(all.saved);
    return st;
}

hr_status hr_session_restore_with(hr_session *s, const char *prefix, const hr_session_restore_opts *opts, int *restored,
                                  hr_error *err)
{
    const hr_session_restore_opts o = HR_OPTIONS(hr_session_restore_opts, opts);
    hr_bundle *b;
    int count = 0;
    if (!s) return hr_no_memory(err, "a session");
    if (!prefix)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_session_restore: expected a checkpoint, got NULL");
    HR_TRY(hr_bundle_open(prefix, &b, err));
    const hr_status st =
        o.var_list.count ? restore_listed(s, b, o.var_list, &count, err) : restore_all(s, b, &count, err);
    hr_bundle_free(b);
    if (st != HR_OK) hr_error_prefix(err, "restoring %s: ", prefix);
    if (restored) *restored = count;
    return st;
}
