/* Checkpoints of a monitored session: all global variables under their names, and what else was asked for as string
 * scalars. TensorFlow reads the variables and skips the rest. */
#include "base/descriptor.h"
#include "train/graphdef/restore.h"
#include "train/hooks/hooks_internal.h"
#include <headrace/checkpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int saving_by_name(const void *a, const void *b)
{
    return strcmp((*(const hr_variable_info *const *)a)->name, (*(const hr_variable_info *const *)b)->name);
}

/* The variables that are saved, by name, as TensorFlow's saver orders them. Gives *list. */
static hr_status saved_variables(hr_monitored_session *m, const hr_variable_info ***list, int *count, hr_error *err)
{
    int all = hr_graph_variables(m->graph);
    *count = 0;
    *list = hr_calloc((size_t)all + 1, sizeof **list);
    if (!*list) return hr_no_memory(err, "the list of variables");
    for (int i = 0; i < all; i++) {
        const hr_variable_info *v = hr_graph_variable(m->graph, i);
        if (v->sets & HR_GLOBAL_VARIABLES) (*list)[(*count)++] = v;
    }
    qsort(*list, (size_t)*count, sizeof **list, saving_by_name);
    return HR_OK;
}

typedef hr_status visit_variable(hr_monitored_session *m, const hr_variable_info *v, void *bundle, hr_error *err);

static hr_status each_saved_variable(hr_monitored_session *m, visit_variable *visit, void *bundle, hr_error *err)
{
    const hr_variable_info **list;
    int count;
    HR_TRY(saved_variables(m, &list, &count, err));
    hr_status st = HR_OK;
    for (int i = 0; i < count && st == HR_OK; i++) st = visit(m, list[i], bundle, err);
    hr_free(list);
    return st;
}

static hr_status write_variable(hr_monitored_session *m, const hr_variable_info *v, void *bundle, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr_session_get(m->session, v->handle, &value, err));
    const hr_variable_piece *p = v->piece;
    const hr_status st =
        p ? hr_bundle_add_slice(bundle, p->full_name, p->full_shape, p->offset, v->shape.dims, &value, err)
          : hr_bundle_add(bundle, v->name, &value, err);
    hr_tensor_clear(&value);
    return st;
}

static hr_status write_extras(hr_monitored_session *m, hr_bundle_writer *w, hr_error *err)
{
    for (int i = 0; i < m->extras; i++) {
        void *data = NULL;
        size_t size = 0;
        hr_error why = {0};
        hr_status saved = m->extra[i].save(m->extra[i].user, &data, &size, &why);
        saved = hr__descriptor_answer(m->extra[i].name, "hooks.failed", saved, &why);
        if (saved == HR_OK && size > 0 && !data)
            saved = hr_fail(&why, HR_INTERNAL, "hooks.failed", "%s: expected %zu bytes to save, got NULL",
                            m->extra[i].name, size);
        if (saved != HR_OK && err) *err = why;
        HR_TRY(saved);
        hr_view view = {data, (int64_t)size};
        hr_tensor scalar = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
        hr_status st = size ? hr_bundle_add(w, m->extra[i].name, &scalar, err) : HR_OK;
        hr_free(data);
        if (st != HR_OK) return st;
    }
    return HR_OK;
}

hr_status hr_monitored_save(hr_monitored_session *m, const char *prefix, hr_error *err)
{
    hr_bundle_writer *w;
    if (!m) return hr_no_memory(err, "a session");
    HR_TRY(hr_bundle_writer_open(prefix, &w, err));
    hr_status st = each_saved_variable(m, write_variable, w, err);
    if (st == HR_OK) st = write_extras(m, w, err);
    if (st == HR_OK) return hr_bundle_writer_commit(w, err);
    hr_bundle_writer_discard(w);
    return st;
}

static hr_status read_variable(hr_monitored_session *m, const hr_variable_info *v, void *bundle, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr__checkpoint_read(bundle, v, &value, err));
    const hr_status st = hr_session_set(m->session, v->handle, &value, err);
    hr_tensor_clear(&value);
    return st;
}

static hr_status read_variables(hr_monitored_session *m, hr_bundle *b, const char *prefix, hr_error *err)
{
    const hr_status st = each_saved_variable(m, read_variable, b, err);
    if (st != HR_OK) hr_error_prefix(err, "restoring %s: ", prefix);
    return st;
}

static hr_status read_extra(const hr_checkpointed *extra, hr_bundle *b, hr_error *err)
{
    hr_tensor value = {0};
    hr_view data = {NULL, -1};
    bool has;
    HR_TRY(hr_bundle_has(b, extra->name, &has, err));
    if (has) {
        HR_TRY(hr_bundle_read(b, extra->name, &value, err));
        if (value.dtype == HR_STRING && value.count == 1) data = *(const hr_view *)value.data;
    }
    hr_status st = extra->restore(extra->user, data, err);
    hr_tensor_clear(&value);
    return st;
}

hr_status hr__monitored_restore(hr_monitored_session *m, const char *prefix, hr_error *err)
{
    hr_bundle *b;
    HR_TRY(hr_bundle_open(prefix, &b, err));
    hr_status st = HR_OK;
    for (int i = 0; i < m->extras && st == HR_OK; i++) st = read_extra(&m->extra[i], b, err);
    if (st == HR_OK) st = read_variables(m, b, prefix, err);
    hr_bundle_free(b);
    return st;
}
