/* Variables of a graph into a checkpoint: all, or those of a list under the names that it gives. */
#include "train/graph/graph_internal.h"
#include "train/graphdef/restore.h"

#include <stdlib.h>
#include <string.h>

/* ---- which ones ---- */

const char *hr__checkpoint_key(const hr_variable_info *v) { return v->piece ? v->piece->full_name : v->name; }

static int saved_by_name(const void *a, const void *b)
{
    const hr__saved *x = a, *y = b;
    const int by_name = strcmp(x->key, y->key);
    return by_name ? by_name : (x->place > y->place) - (x->place < y->place);
}

static int saved_by_variable(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const hr__saved *)a)->of, y = (uintptr_t)((const hr__saved *)b)->of;
    return (x > y) - (x < y);
}

static bool saved_is_piece_of(const hr_variable_info *v, hr_node whole)
{
    return v->piece && v->piece->whole.id == whole.id && v->piece->whole.output == whole.output;
}

/* Adds the variable of a node, or the pieces of which it is the whole. NULL as `to`: counts them. */
static int saved_add(const hr_graph *g, const hr_saved_variable *item, hr__saved_list *to)
{
    int found = 0;
    if (item->variable.graph != g) return 0;
    const hr_variable_info *one = hr_variable_of(item->variable);
    const int most = one ? 1 : hr_graph_variables(g);
    for (int i = 0; i < most; i++) {
        const hr_variable_info *v = one ? one : hr_graph_variable(g, i);
        if (!one && !saved_is_piece_of(v, item->variable)) continue;
        found++;
        if (!to) continue;
        to->saved[to->count] = (hr__saved){item->name ? item->name : hr__checkpoint_key(v), v, to->count};
        to->count++;
    }
    return found;
}

static hr_status saved_list_given(const hr_graph *g, hr_var_list list, hr__saved_list *out, hr_error *err)
{
    size_t count = 0;
    for (int i = 0; i < list.count; i++) {
        const hr_node node = list.saved[i].variable;
        const int found = saved_add(g, &list.saved[i], NULL);
        if (found == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.var_list",
                           "var_list: expected variables of the session's graph, but item %d is '%.60s', which is none",
                           i, node.graph ? hr_node_name(node) : "");
        count += (size_t)found;
    }
    out->saved = hr_calloc(count, sizeof *out->saved);
    if (!out->saved) return hr_no_memory(err, "the list of variables");
    for (int i = 0; i < list.count; i++) saved_add(g, &list.saved[i], out);
    return HR_OK;
}

static hr_status saved_list_global(const hr_graph *g, hr__saved_list *out, hr_error *err)
{
    const int variables = hr_graph_variables(g);
    out->saved = hr_calloc((size_t)variables + 1, sizeof *out->saved);
    if (!out->saved) return hr_no_memory(err, "the list of variables");
    for (int i = 0; i < variables; i++) {
        const hr_variable_info *v = hr_graph_variable(g, i);
        if (!(v->sets & HR_GLOBAL_VARIABLES)) continue;
        out->saved[out->count] = (hr__saved){hr__checkpoint_key(v), v, out->count};
        out->count++;
    }
    return HR_OK;
}

static hr_status saved_check_once(const hr__saved_list *all, hr_error *err)
{
    qsort(all->saved, (size_t)all->count, sizeof *all->saved, saved_by_variable);
    for (int i = 1; i < all->count; i++)
        if (all->saved[i].of == all->saved[i - 1].of)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.var_list",
                           "var_list: expected each variable once, but '%.60s' is listed twice",
                           all->saved[i].of->name);
    return HR_OK;
}

/* In the order of names; two of one name are pieces of one variable. */
static hr_status saved_check_names(const hr__saved_list *all, hr_error *err)
{
    for (int i = 1; i < all->count; i++) {
        const hr__saved *a = &all->saved[i - 1], *b = &all->saved[i];
        if (strcmp(a->key, b->key) != 0) continue;
        if (a->of->piece && b->of->piece && strcmp(a->of->piece->full_name, b->of->piece->full_name) == 0) continue;
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.var_list",
                       "var_list: expected one variable of each name, but '%.60s' and '%.60s' are both called '%.60s'; "
                       "only pieces of one variable share a name",
                       a->of->name, b->of->name, b->key);
    }
    return HR_OK;
}

hr_status hr__saved_list_of(const hr_graph *g, hr_var_list list, hr__saved_list *out, hr_error *err)
{
    *out = (hr__saved_list){0};
    if (list.count < 0 || (list.count > 0 && !list.saved))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.var_list",
                       "var_list: expected an array of variables, got NULL or a count below 0");
    hr_status st = list.count ? saved_list_given(g, list, out, err) : saved_list_global(g, out, err);
    if (st == HR_OK && list.count) st = saved_check_once(out, err);
    if (st == HR_OK) qsort(out->saved, (size_t)out->count, sizeof *out->saved, saved_by_name);
    if (st == HR_OK && list.count) st = saved_check_names(out, err);
    if (st == HR_OK) return HR_OK;
    hr_free(out->saved);
    *out = (hr__saved_list){0};
    return st;
}

/* ---- writing them ---- */

hr_status hr__saved_write(hr_bundle_writer *w, const hr__saved *v, const hr_tensor *value, hr_error *err)
{
    const hr_variable_piece *p = v->of->piece;
    return p ? hr_bundle_add_slice(w, v->key, p->full_shape, p->offset, v->of->shape.dims, value, err)
             : hr_bundle_add(w, v->key, value, err);
}

static hr_status save_value(hr_session *s, hr_bundle_writer *w, const hr__saved *v, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr_session_get(s, v->of->handle, &value, err));
    const hr_status st = hr__saved_write(w, v, &value, err);
    hr_tensor_clear(&value);
    return st;
}

static hr_status save_values(hr_session *s, const char *prefix, const hr__saved_list *all, hr_error *err)
{
    hr_bundle_writer *w;
    HR_TRY(hr_bundle_writer_open(prefix, &w, err));
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < all->count; i++) st = save_value(s, w, &all->saved[i], err);
    if (st == HR_OK) return hr_bundle_writer_commit(w, err);
    hr_bundle_writer_discard(w);
    return st;
}

hr_status hr_session_save_with(hr_session *s, const char *prefix, const hr_session_save_opts *opts, hr_error *err)
{
    const hr_session_save_opts o = HR_OPTIONS(hr_session_save_opts, opts);
    hr__saved_list all;
    if (!s) return hr_no_memory(err, "a session");
    if (!prefix)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_session_save: expected a checkpoint's path, got NULL");
    HR_TRY(hr__saved_list_of(s->graph, o.var_list, &all, err));
    hr_status st = HR_OK;
    if (all.count == 0)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.var_list",
                     "hr_session_save: expected a variable to save, but the graph has none");
    if (st == HR_OK && o.saver) st = hr_saver_saving(o.saver, prefix, err);
    if (st == HR_OK) st = save_values(s, prefix, &all, err);
    if (st == HR_OK && o.saver) st = hr_saver_saved(o.saver, prefix, err);
    hr_free(all.saved);
    return st;
}
