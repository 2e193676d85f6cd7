/* Weights, and the optimizer's state, written to TensorFlow's checkpoints with Keras's keys and its graph of objects. */
#include "io/sys.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/state_file.h"
#include "train/models/objects.h"

#include <headrace/checkpoint.h>
#include <headrace/io.h>
#include <string.h>

static hr_status save_variables(hr_bundle_writer *w, const hr__objects *o, hr_error *err)
{
    for (int i = 0; i < o->at.count; i++) {
        const hr__object *object = &o->at.at[i];
        hr_tensor value;
        hr__text key = {0};
        if (!object->title) continue;
        hr__object_key(o, i, &key);
        hr_status st = hr__text_status(&key, "a key of a weight", err);
        if (st == HR_OK && object->value)
            st = hr_bundle_add(w, key.data, object->value, err);
        else if (st == HR_OK && (st = hr_session_get(object->session, object->variable, &value, err)) == HR_OK) {
            st = hr_bundle_add(w, key.data, &value, err);
            hr_tensor_clear(&value);
        }
        hr__text_free(&key);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status save_graph(hr_bundle_writer *w, const hr__objects *o, hr_error *err)
{
    hr_view bytes = {0};
    HR_TRY(hr__objects_write(o, &bytes, err));
    const hr_tensor tensor = hr_tensor_of(HR_STRING, HR_SCALAR, &bytes);
    const hr_status st = hr_bundle_add(w, HR__OBJECT_GRAPH, &tensor, err);
    hr_free((void *)bytes.data);
    return st;
}

/* The `checkpoint` file of the folder, as Keras writes it: it names this file alone. */
static hr_status save_state(const char *path, hr_error *err)
{
    const char *last = strrchr(path, '/');
    char *name = hr_strdup(last ? last + 1 : path), *folder = hr__folder_of(path);
    char *file = folder ? hr__path_in(folder, "checkpoint") : NULL;
    const hr__state state = {.latest = name, .all = &name, .count = 1};
    const hr_status st = name && file ? hr__state_write(file, &state, err) : hr_no_memory(err, "a path");
    hr_free(name);
    hr_free(folder);
    hr_free(file);
    return st;
}

static hr_status save_objects(const hr__objects *o, const char *path, hr_error *err)
{
    hr_bundle_writer *w;
    HR_TRY(hr_make_folders_above(path, err));
    HR_TRY(hr__bundle_writer_replace(path, &w, err));
    hr_status st = save_variables(w, o, err);
    if (st == HR_OK) st = save_graph(w, o, err);
    if (st != HR_OK) {
        hr_bundle_writer_discard(w);
        return st;
    }
    HR_TRY(hr_bundle_writer_commit(w, err));
    return save_state(path, err);
}

hr_status hr_save_weights(hr_model *m, const char *path, hr_error *err)
{
    hr__objects o = {0};
    HR_TRY(hr__weights_path(path, err));
    HR_TRY(hr__weights_ready(m, err));
    hr_status st = hr__objects_of(m, &o, err);
    if (st == HR_OK) st = hr__objects_add_optimizer(m, m->train, &o, err);
    if (st == HR_OK) st = save_objects(&o, path, err);
    hr__objects_clear(&o);
    return st;
}
