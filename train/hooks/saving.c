/* Checkpoints of a monitored session: its variables under their names, and what else was asked for as string scalars.
 * TensorFlow reads the variables and skips the rest. */
#include "base/descriptor.h"
#include "train/graphdef/restore.h"
#include "train/hooks/hooks_internal.h"
#include <headrace/checkpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef hr_status visit_variable(hr_monitored_session *m, const hr__saved *v, void *bundle, hr_error *err);

static hr_status each_saved_variable(hr_monitored_session *m, visit_variable *visit, void *bundle, hr_error *err)
{
    hr__saved_list list;
    HR_TRY(hr__saved_list_of(m->graph, m->var_list, &list, err));
    hr_status st = HR_OK;
    for (int i = 0; i < list.count && st == HR_OK; i++) st = visit(m, &list.saved[i], bundle, err);
    hr_free(list.saved);
    return st;
}

static hr_status write_variable(hr_monitored_session *m, const hr__saved *v, void *bundle, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr_session_get(m->session, v->of->handle, &value, err));
    const hr_status st = hr__saved_write(bundle, v, &value, err);
    hr_tensor_clear(&value);
    return st;
}

/* Gives *data, *size; 0: nothing to save. */
static hr_status ask_extra(const hr_checkpointed *extra, void **data, size_t *size, hr_error *err)
{
    hr_error why = {0};
    *data = NULL;
    *size = 0;
    hr_status st = extra->save(extra->user, data, size, &why);
    st = hr__descriptor_answer(extra->name, "hooks.failed", st, &why);
    if (st == HR_OK && *size > 0 && !*data)
        st = hr_fail(&why, HR_INTERNAL, "hooks.failed", "%s: expected %zu bytes to save, got NULL", extra->name, *size);
    if (st != HR_OK && err) *err = why;
    return st;
}

static hr_status write_bytes(hr_bundle_writer *w, const char *name, const void *data, size_t size, hr_error *err)
{
    hr_view view = {data, (int64_t)size};
    hr_tensor scalar = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    return size ? hr_bundle_add(w, name, &scalar, err) : HR_OK;
}

static hr_status write_extras(hr_monitored_session *m, hr_bundle_writer *w, hr_error *err)
{
    for (int i = 0; i < m->extras; i++) {
        void *data;
        size_t size;
        HR_TRY(ask_extra(&m->extra[i], &data, &size, err));
        const hr_status st = write_bytes(w, m->extra[i].name, data, size, err);
        hr_free(data);
        HR_TRY(st);
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

/* ---- a copy, which another thread writes ---- */

typedef struct copied {
    hr__saved of;
    hr_tensor value; /* first the variable's own, then in `bytes`; strings stay the variable's */
} copied;

typedef struct copied_extra {
    const char *name;
    void *data;
    size_t size;
} copied_extra;

struct hr_checkpoint_copy {
    char *bytes; /* of all variables, kept for the next time */
    size_t capacity;
    copied *variable;
    int variables, variable_capacity;
    copied_extra *extra;
    int extras, extra_capacity;
};

static void copy_clear(hr_checkpoint_copy *s)
{
    for (int i = 0; i < s->variables; i++) hr_tensor_clear(&s->variable[i].value);
    for (int i = 0; i < s->extras; i++) hr_free(s->extra[i].data);
    s->variables = s->extras = 0;
}

void hr_checkpoint_copy_free(hr_checkpoint_copy *s)
{
    if (!s) return;
    copy_clear(s);
    hr_free(s->variable);
    hr_free(s->extra);
    hr_free(s->bytes);
    hr_free(s);
}

static hr_status copy_reserve(hr_checkpoint_copy *s, int variables, int extras, hr_error *err)
{
    if (variables > s->variable_capacity) {
        copied *grown = hr_realloc(s->variable, (size_t)variables * sizeof *grown);
        if (!grown) return hr_no_memory(err, "a copy of the variables");
        s->variable = grown;
        s->variable_capacity = variables;
    }
    if (extras > s->extra_capacity) {
        copied_extra *grown = hr_realloc(s->extra, (size_t)extras * sizeof *grown);
        if (!grown) return hr_no_memory(err, "a copy of the variables");
        s->extra = grown;
        s->extra_capacity = extras;
    }
    return HR_OK;
}

static hr_status hold_variable(hr_monitored_session *m, const hr__saved *v, void *copy, hr_error *err)
{
    hr_checkpoint_copy *s = copy;
    copied *c = &s->variable[s->variables];
    HR_TRY(hr_session_get(m->session, v->of->handle, &c->value, err));
    c->of = *v;
    s->variables++;
    return HR_OK;
}

enum { APART = 64 };

static size_t copied_size(const hr_tensor *t)
{
    const size_t size = t->dtype == HR_STRING ? 0 : (size_t)t->count * hr_dtype_size(t->dtype);
    return (size + APART - 1) / APART * APART;
}

/* One copy of the variables' bytes, in memory that has been written before, but for the first time. */
static hr_status copy_variables(hr_checkpoint_copy *s, hr_error *err)
{
    size_t size = 0;
    for (int i = 0; i < s->variables; i++) size += copied_size(&s->variable[i].value);
    if (size > s->capacity) {
        hr_free(s->bytes);
        s->capacity = 0;
        s->bytes = hr_malloc(size);
        if (!s->bytes) return hr_no_memory(err, "a copy of the variables");
        s->capacity = size;
    }
    char *at = s->bytes;
    for (int i = 0; i < s->variables; i++) {
        hr_tensor *t = &s->variable[i].value;
        const size_t place = copied_size(t);
        if (place == 0) continue;
        memcpy(at, t->data, (size_t)t->count * hr_dtype_size(t->dtype));
        const hr_tensor copy = hr_tensor_of(t->dtype, t->shape, at);
        hr_tensor_clear(t);
        *t = copy;
        at += place;
    }
    return HR_OK;
}

static hr_status copy_extras(hr_monitored_session *m, hr_checkpoint_copy *s, hr_error *err)
{
    for (int i = 0; i < m->extras; i++) {
        copied_extra *e = &s->extra[s->extras];
        HR_TRY(ask_extra(&m->extra[i], &e->data, &e->size, err));
        e->name = m->extra[i].name;
        s->extras++;
    }
    return HR_OK;
}

static hr_status copy_all(hr_monitored_session *m, hr_checkpoint_copy *s, hr_error *err)
{
    copy_clear(s);
    HR_TRY(copy_reserve(s, hr_graph_variables(m->graph), m->extras, err));
    HR_TRY(each_saved_variable(m, hold_variable, s, err));
    HR_TRY(copy_variables(s, err));
    return copy_extras(m, s, err);
}

hr_status hr_monitored_copy(hr_monitored_session *m, hr_checkpoint_copy **copy, hr_error *err)
{
    if (!m) return hr_no_memory(err, "a session");
    if (!copy)
        return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.argument", "session: expected a place for a copy, got NULL");
    if (!*copy) *copy = hr_calloc(1, sizeof **copy);
    if (!*copy) return hr_no_memory(err, "a copy of the variables");
    const hr_status st = copy_all(m, *copy, err);
    if (st != HR_OK) copy_clear(*copy);
    return st;
}

static hr_status write_copy(const hr_checkpoint_copy *s, hr_bundle_writer *w, hr_error *err)
{
    for (int i = 0; i < s->variables; i++) HR_TRY(hr__saved_write(w, &s->variable[i].of, &s->variable[i].value, err));
    for (int i = 0; i < s->extras; i++)
        HR_TRY(write_bytes(w, s->extra[i].name, s->extra[i].data, s->extra[i].size, err));
    return HR_OK;
}

hr_status hr_checkpoint_copy_write(const hr_checkpoint_copy *s, const char *prefix, hr_error *err)
{
    hr_bundle_writer *w;
    if (!s) return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.argument", "checkpoint copy: expected one, got NULL");
    HR_TRY(hr_bundle_writer_open(prefix, &w, err));
    const hr_status st = write_copy(s, w, err);
    if (st == HR_OK) return hr_bundle_writer_commit(w, err);
    hr_bundle_writer_discard(w);
    return st;
}

/* ---- restoring ---- */

static hr_status read_variable(hr_monitored_session *m, const hr__saved *v, void *bundle, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr__saved_read(bundle, v, &value, err));
    const hr_status st = hr_session_set(m->session, v->of->handle, &value, err);
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
