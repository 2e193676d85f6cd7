/* A training as a checkpoint: all that it needs to go on. */
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>

enum { TRAINING_FORMAT = 1, TRAINING_NAME = 512 };

/* ---- saving ---- */

static hr_status add_values(hr_bundle_writer *to, const char *name, hr_dtype dtype, int64_t count, const void *values,
                            hr_error *err)
{
    static const int64_t nothing[1];
    const hr_tensor t = hr_tensor_of(dtype, HR_SHAPE(count), count ? values : nothing);
    return hr_bundle_add(to, name, &t, err);
}

static hr_status add_texts(hr_bundle_writer *to, const char *name, const char *const *texts, int count, hr_error *err)
{
    hr_view *views = hr_calloc((size_t)count + 1, sizeof *views);
    if (!views) return hr_no_memory(err, "a checkpoint");
    for (int i = 0; i < count; i++) views[i] = (hr_view){texts[i], (int64_t)strlen(texts[i])};
    const hr_status st = add_values(to, name, HR_STRING, count, views, err);
    hr_free(views);
    return st;
}

static hr_status add_logs(hr_bundle_writer *to, const char *name, const hr_logs *logs, hr_error *err)
{
    const int count = hr_logs_count(logs);
    char path[TRAINING_NAME];
    const char **keys = hr_calloc((size_t)count + 1, sizeof *keys);
    double *values = hr_calloc((size_t)count + 1, sizeof *values);
    hr_status st = keys && values ? HR_OK : hr_no_memory(err, "a checkpoint");
    for (int i = 0; i < count && st == HR_OK; i++) {
        keys[i] = hr_logs_key(logs, i);
        values[i] = hr_logs_value(logs, i);
    }
    (void)snprintf(path, sizeof path, "training/%s/keys", name);
    if (st == HR_OK) st = add_texts(to, path, keys, count, err);
    (void)snprintf(path, sizeof path, "training/%s/values", name);
    if (st == HR_OK) st = add_values(to, path, HR_DOUBLE, count, values, err);
    hr_free(keys);
    hr_free(values);
    return st;
}

static hr_status add_history(hr_bundle_writer *to, const hr_history *h, hr_error *err)
{
    char path[TRAINING_NAME];
    HR_TRY(add_values(to, "training/history/epochs", HR_INT64, h->epochs, h->epoch, err));
    HR_TRY(add_texts(to, "training/history/keys", h->key, h->keys, err));
    for (int i = 0; i < h->keys; i++) {
        (void)snprintf(path, sizeof path, "training/history/values/%d", i);
        HR_TRY(add_values(to, path, HR_DOUBLE, h->counts[i], h->values[i], err));
    }
    return HR_OK;
}

static hr_status add_input(hr_bundle_writer *to, hr_iterator *it, hr_error *err)
{
    void *state;
    size_t size;
    HR_TRY(hr_iterator_save(it, &state, &size, err));
    const hr_status st = add_values(to, "training/input", HR_UINT8, (int64_t)size, state, err);
    hr_free(state);
    return st;
}

static hr_status add_variables(hr_bundle_writer *to, const hr__function *f, hr_error *err)
{
    char path[TRAINING_NAME];
    for (int i = 0; i < hr_graph_variables(f->graph); i++) {
        const hr_variable_info *v = hr_graph_variable(f->graph, i);
        hr_tensor value;
        HR_TRY(hr_session_get(f->session, v->handle, &value, err));
        (void)snprintf(path, sizeof path, "variables/%.480s", v->name);
        const hr_status st = hr_bundle_add(to, path, &value, err);
        hr_tensor_clear(&value);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status add_random(hr_bundle_writer *to, const hr__function *f, hr_error *err)
{
    char path[TRAINING_NAME];
    for (int32_t i = 0; i < hr_graph_size(f->graph); i++) {
        const hr_node node = {.graph = f->graph, .id = i, .output = -1};
        void *kept;
        size_t size;
        HR_TRY(hr_session_kept(f->session, node, &kept, &size, err));
        if (size == 0) continue;
        (void)snprintf(path, sizeof path, "random/%.480s", hr_node_name(node));
        HR_TRY(add_values(to, path, HR_UINT8, (int64_t)size, kept, err));
    }
    return HR_OK;
}

static hr_status training_add(const hr__fitting *t, hr_bundle_writer *to, hr_error *err)
{
    const int64_t place[] = {TRAINING_FORMAT, t->next_epoch, t->next_batch, t->m->stop == HR__STOPPED, t->closing};
    HR_TRY(add_values(to, "training/place", HR_INT64, 5, place, err));
    HR_TRY(add_input(to, t->d.it, err));
    HR_TRY(add_logs(to, "batch_logs", t->batch_logs, err));
    HR_TRY(add_logs(to, "epoch_logs", t->logs, err));
    HR_TRY(add_history(to, hr__history_show(t->m->history, false), err));
    HR_TRY(add_variables(to, t->f, err));
    HR_TRY(add_random(to, t->f, err));
    return hr__callbacks_save(t->o->callbacks, to, err);
}

static hr__fitting *training_of(const hr_callback_call *call, const char *prefix, const char *who, hr_error *err)
{
    hr__fitting *t = call && call->model ? call->model->fitting : NULL;
    if (t && prefix) return t;
    (void)hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                  "%s: expected a call of a training, and where the checkpoint is, got %s", who,
                  t ? "NULL" : "no training");
    return NULL;
}

hr_status hr_training_save(const hr_callback_call *call, const char *prefix, hr_error *err)
{
    const hr__fitting *t = training_of(call, prefix, "training_save", err);
    hr_bundle_writer *to;
    if (!t) return HR_INVALID_ARGUMENT;
    HR_TRY(hr_bundle_writer_open(prefix, &to, err));
    const hr_status st = training_add(t, to, err);
    if (st == HR_OK) return hr_bundle_writer_commit(to, err);
    hr_bundle_writer_discard(to);
    return st;
}

/* ---- restoring ---- */

/* Reads a tensor of one dimension, of `count` values unless that is -1. */
static hr_status read_values(hr_bundle *from, const char *name, hr_dtype dtype, int64_t count, hr_tensor *out,
                             hr_error *err)
{
    HR_TRY(hr_bundle_read(from, name, out, err));
    if (out->dtype == dtype && out->shape.rank == 1 && (count < 0 || out->count == count)) return HR_OK;
    hr_tensor_clear(out);
    return hr_fail(err, HR_FAILED_PRECONDITION, "models.training",
                   "checkpoint of a training: '%.200s' is not what a training of this library writes", name);
}

static char *text_at(const hr_tensor *texts, int64_t i)
{
    const hr_view *v = &((const hr_view *)texts->data)[i];
    char *text = hr_malloc((size_t)v->size + 1);
    if (!text) return NULL;
    if (v->size) memcpy(text, v->data, (size_t)v->size);
    text[v->size] = '\0';
    return text;
}

static hr_status read_logs(hr_bundle *from, const char *name, hr_logs *logs, hr_error *err)
{
    char path[TRAINING_NAME];
    hr_tensor keys, values = {0};
    (void)snprintf(path, sizeof path, "training/%s/keys", name);
    HR_TRY(read_values(from, path, HR_STRING, -1, &keys, err));
    (void)snprintf(path, sizeof path, "training/%s/values", name);
    hr_status st = read_values(from, path, HR_DOUBLE, keys.count, &values, err);
    hr__logs_clear(logs);
    for (int64_t i = 0; i < keys.count && st == HR_OK; i++) {
        char *key = text_at(&keys, i);
        st = key ? hr_logs_set(logs, key, ((const double *)values.data)[i], err) : hr_no_memory(err, "logs");
        hr_free(key);
    }
    hr_tensor_clear(&keys);
    hr_tensor_clear(&values);
    return st;
}

static hr_status read_history(hr_bundle *from, hr__history *h, hr_error *err)
{
    char path[TRAINING_NAME];
    hr_tensor epochs, keys = {0};
    HR_TRY(read_values(from, "training/history/epochs", HR_INT64, -1, &epochs, err));
    hr_status st = hr__history_epochs(h, epochs.data, (int)epochs.count, err);
    hr_tensor_clear(&epochs);
    if (st == HR_OK) st = read_values(from, "training/history/keys", HR_STRING, -1, &keys, err);
    for (int64_t i = 0; st == HR_OK && i < keys.count; i++) {
        hr_tensor values = {0};
        char *key = text_at(&keys, i);
        (void)snprintf(path, sizeof path, "training/history/values/%lld", (long long)i);
        st = key ? read_values(from, path, HR_DOUBLE, -1, &values, err) : hr_no_memory(err, "a history");
        if (st == HR_OK) st = hr__history_put(h, key, values.data, (int)values.count, err);
        hr_tensor_clear(&values);
        hr_free(key);
    }
    hr_tensor_clear(&keys);
    return st;
}

/* Reads all variables, and sets them, or only sees whether that would work. */
static hr_status read_variables(hr_bundle *from, const hr__function *f, bool set, hr_error *err)
{
    char path[TRAINING_NAME], has[128], wants[128];
    for (int i = 0; i < hr_graph_variables(f->graph); i++) {
        const hr_variable_info *v = hr_graph_variable(f->graph, i);
        hr_tensor value, now = {0};
        bool there;
        (void)snprintf(path, sizeof path, "variables/%.480s", v->name);
        HR_TRY(hr_bundle_has(from, path, &there, err));
        if (!there)
            return hr_fail(err, HR_FAILED_PRECONDITION, "models.training",
                           "checkpoint of a training: expected variable '%.100s' of the model, found none", v->name);
        HR_TRY(hr_bundle_read(from, path, &value, err));
        hr_status st = hr_session_get(f->session, v->handle, &now, err);
        if (st == HR_OK && (value.dtype != now.dtype || !hr_shape_equal(value.shape, now.shape)))
            st = hr_fail(err, HR_FAILED_PRECONDITION, "models.training",
                         "checkpoint of a training: variable '%.100s': expected %s %s, as the model has it, got %s %s",
                         v->name, hr_dtype_name(now.dtype), hr_shape_text(now.shape, wants, sizeof wants),
                         hr_dtype_name(value.dtype), hr_shape_text(value.shape, has, sizeof has));
        hr_tensor_clear(&now);
        if (st == HR_OK && set) st = hr_session_set(f->session, v->handle, &value, err);
        hr_tensor_clear(&value);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status read_random(hr_bundle *from, const hr__function *f, hr_error *err)
{
    char path[TRAINING_NAME];
    for (int32_t i = 0; i < hr_graph_size(f->graph); i++) {
        const hr_node node = {.graph = f->graph, .id = i, .output = -1};
        hr_tensor saved;
        void *kept;
        size_t size;
        HR_TRY(hr_session_kept(f->session, node, &kept, &size, err));
        if (size == 0) continue;
        (void)snprintf(path, sizeof path, "random/%.480s", hr_node_name(node));
        HR_TRY(read_values(from, path, HR_UINT8, (int64_t)size, &saved, err));
        memcpy(kept, saved.data, size);
        hr_tensor_clear(&saved);
    }
    return HR_OK;
}

static hr_status read_input(hr_bundle *from, hr__feed *d, hr_error *err)
{
    hr_tensor state;
    HR_TRY(read_values(from, "training/input", HR_UINT8, -1, &state, err));
    const hr_status st = hr__feed_resume(d, state.data, (size_t)state.count, err);
    hr_tensor_clear(&state);
    return st;
}

static hr_status training_read(hr__fitting *t, hr_bundle *from, hr_error *err)
{
    hr_tensor place;
    HR_TRY(read_values(from, "training/place", HR_INT64, 5, &place, err));
    const int64_t *p = place.data;
    const bool known = p[0] == TRAINING_FORMAT && p[1] >= 0 && p[2] >= 0, stopped = p[3] != 0, closing = p[4] != 0;
    const int64_t epoch = p[1], batch = p[2];
    hr_tensor_clear(&place);
    if (!known)
        return hr_fail(err, HR_FAILED_PRECONDITION, "models.training",
                       "checkpoint of a training: it was written by another version of the library");
    HR_TRY(read_variables(from, t->f, false, err));
    HR_TRY(read_variables(from, t->f, true, err));
    HR_TRY(read_random(from, t->f, err));
    HR_TRY(read_input(from, &t->d, err));
    HR_TRY(read_history(from, t->m->history, err));
    HR_TRY(read_logs(from, "batch_logs", t->batch_logs, err));
    HR_TRY(read_logs(from, "epoch_logs", t->logs, err));
    if (closing) HR_TRY(hr__history_add(t->m->history, epoch - 1, t->logs, err));
    t->next_epoch = epoch;
    t->next_batch = batch;
    t->read = true;
    if (stopped) hr_model_stop(t->m);
    return hr__callbacks_restore(t->o->callbacks, from, err);
}

hr_status hr_training_restore(const hr_callback_call *call, const char *prefix, hr_error *err)
{
    hr__fitting *t = training_of(call, prefix, "training_restore", err);
    hr_bundle *from;
    if (!t) return HR_INVALID_ARGUMENT;
    HR_TRY(hr_bundle_open(prefix, &from, err));
    const hr_status st = training_read(t, from, err);
    hr_bundle_free(from);
    if (st != HR_OK && err) hr_error_prefix(err, "%.150s: ", prefix);
    return st;
}
