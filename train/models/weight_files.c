/* Weights in files: TensorFlow's checkpoints, with Keras's keys and its graph of objects. */
#include "io/sys.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/state_file.h"
#include "train/models/objects.h"

#include <headrace/io.h>
#include <stdio.h>
#include <string.h>

static const char graph_key[] = "_CHECKPOINTABLE_OBJECT_GRAPH";

/* ---- saving ---- */

static hr_status save_variables(hr_bundle_writer *w, const hr__objects *o, hr_error *err)
{
    for (int i = 0; i < o->at.count; i++) {
        const hr__object *object = &o->at.at[i];
        hr_tensor value;
        hr__text key = {0};
        if (!object->title) continue;
        hr__object_key(o, i, &key);
        hr_status st = hr__text_status(&key, "a key of a weight", err);
        if (st == HR_OK) st = hr_session_get(object->session, object->variable, &value, err);
        if (st == HR_OK) {
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
    const hr_status st = hr_bundle_add(w, graph_key, &tensor, err);
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
    HR_TRY(hr_bundle_writer_open(path, &w, err));
    hr_status st = save_variables(w, o, err);
    if (st == HR_OK) st = save_graph(w, o, err);
    if (st != HR_OK) {
        hr_bundle_writer_discard(w);
        return st;
    }
    HR_TRY(hr_bundle_writer_commit(w, err));
    return save_state(path, err);
}

static hr_status files_path(const char *path, hr_error *err)
{
    const size_t n = path ? strlen(path) : 0;
    if (n > 0 && path[n - 1] != '/') return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "weights: expected the path of a file, got %s%s",
                   path ? "a folder: " : "NULL", path ? path : "");
}

hr_status hr_save_weights(hr_model *m, const char *path, hr_error *err)
{
    hr__objects o = {0};
    HR_TRY(files_path(path, err));
    HR_TRY(hr__weights_ready(m, err));
    hr_status st = hr__objects_of(m, &o, err);
    if (st == HR_OK) st = save_objects(&o, path, err);
    hr__objects_clear(&o);
    return st;
}

/* ---- loading ---- */

/* What a file has for the objects of a model. */
typedef struct loading {
    hr_model *m;
    const char *path;
    hr_bundle *bundle;
    hr__object_file *file; /* NULL: the file has no graph, so that keys are those of the model's objects */
    const hr_bundle_entry *entry;
    int entries;
    hr__objects objects;
    int *found;       /* for each object that of the file; -1: none */
    hr_tensor *value; /* for each variable what it becomes */
    hr__text missing, wrong;
    int missings, wrongs;
} loading;

static hr_status load_graph(loading *l, hr_error *err)
{
    hr_tensor graph;
    bool has;
    HR_TRY(hr_bundle_has(l->bundle, graph_key, &has, err));
    if (!has) return HR_OK;
    HR_TRY(hr_bundle_read(l->bundle, graph_key, &graph, err));
    hr_status st = HR_OK;
    if (graph.dtype != HR_STRING || graph.count != 1)
        st = hr_fail(err, HR_DATA_LOSS, "models.objects", "expected one string as the graph of objects, got %lld of %s",
                     (long long)graph.count, hr_dtype_name(graph.dtype));
    if (st == HR_OK) st = hr__object_file_read(*(const hr_view *)graph.data, &l->file, err);
    hr_tensor_clear(&graph);
    return st;
}

static hr_status load_open(loading *l, hr_error *err)
{
    HR_TRY(hr__checkpoint_open(l->path, &l->bundle, err));
    HR_TRY(hr_bundle_list(l->bundle, &l->entry, &l->entries, err));
    HR_TRY(load_graph(l, err));
    HR_TRY(hr__objects_of(l->m, &l->objects, err));
    l->found = hr_calloc((size_t)l->objects.at.count, sizeof *l->found);
    l->value = hr_calloc((size_t)l->objects.at.count, sizeof *l->value);
    return l->found && l->value ? HR_OK : hr_no_memory(err, "weights");
}

static void load_close(loading *l)
{
    for (int i = 0; i < l->objects.at.count && l->value; i++) hr_tensor_clear(&l->value[i]);
    hr_free(l->value);
    hr_free(l->found);
    hr__objects_clear(&l->objects);
    hr__object_file_free(l->file);
    hr_bundle_free(l->bundle);
    hr__text_free(&l->missing);
    hr__text_free(&l->wrong);
}

static const hr_bundle_entry *load_entry(const loading *l, const char *name)
{
    int first = 0, last = l->entries;
    while (first < last) {
        const int middle = first + (last - first) / 2, order = strcmp(l->entry[middle].name, name);
        if (order == 0) return &l->entry[middle];
        if (order < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return NULL;
}

/* The entry of an object, by the file's graph, or else by its key. */
static hr_status load_find(const loading *l, int i, const hr_bundle_entry **out, hr_error *err)
{
    hr__text key = {0};
    *out = NULL;
    if (l->file) {
        const char *name = hr__object_file_key(l->file, l->found[i]);
        if (name) *out = load_entry(l, name);
        return HR_OK;
    }
    hr__object_key(&l->objects, i, &key);
    const hr_status st = hr__text_status(&key, "a key of a weight", err);
    if (st == HR_OK) *out = load_entry(l, key.data);
    hr__text_free(&key);
    return st;
}

/* The first few that are not as they have to be are named. */
static void load_note(hr__text *to, int *count, const char *text)
{
    if ((*count)++ < 5) hr__text_printf(to, "%s%s", *count > 1 ? ", " : "", text);
}

static hr_status load_value(loading *l, int i, hr_error *err)
{
    const hr__object *object = &l->objects.at.at[i];
    const hr_bundle_entry *entry;
    char text[400], wanted[128], got[128];
    HR_TRY(load_find(l, i, &entry, err));
    if (!entry) {
        (void)snprintf(text, sizeof text, "'%.100s'", object->title);
        load_note(&l->missing, &l->missings, text);
        return HR_OK;
    }
    if (entry->dtype == object->dtype && hr_shape_equal(entry->shape, object->shape))
        return hr_bundle_read(l->bundle, entry->name, &l->value[i], err);
    (void)snprintf(text, sizeof text, "'%.100s' is %s %s, in the file %s %s", object->title,
                   hr_dtype_name(object->dtype), hr_shape_text(object->shape, wanted, sizeof wanted),
                   hr_dtype_name(entry->dtype), hr_shape_text(entry->shape, got, sizeof got));
    load_note(&l->wrong, &l->wrongs, text);
    return HR_OK;
}

static hr_status load_check(loading *l, bool partial, hr_error *err)
{
    HR_TRY(hr__text_status(&l->wrong, "weights", err));
    HR_TRY(hr__text_status(&l->missing, "weights", err));
    if (l->wrongs > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.file_shapes",
                       "weights of another model: %d of their shapes differ: %.400s%s", l->wrongs, l->wrong.data,
                       l->wrongs > 5 ? ", ..." : "");
    if (l->missings == 0 || partial) return HR_OK;
    return hr_fail(err, HR_NOT_FOUND, "models.file_weights",
                   "it lacks %d weights of the model '%.60s': %.300s%s; to load the others, give .expect_partial",
                   l->missings, l->m->name, l->missing.data, l->missings > 5 ? ", ..." : "");
}

/* Reads all that the model wants before anything is changed. */
static hr_status load_read(loading *l, bool partial, hr_error *err)
{
    for (int i = 1; i < l->objects.at.count; i++) {
        const hr__object *object = &l->objects.at.at[i];
        if (l->file) l->found[i] = hr__object_file_child(l->file, l->found[object->parent], object->name);
        if (object->title) HR_TRY(load_value(l, i, err));
    }
    return load_check(l, partial, err);
}

static hr_status load_set(loading *l, hr_error *err)
{
    for (int i = 0; i < l->objects.at.count; i++) {
        const hr__object *object = &l->objects.at.at[i];
        if (l->value[i].data) HR_TRY(hr_session_set(object->session, object->variable, &l->value[i], err));
    }
    return HR_OK;
}

hr_status hr_load_weights_with(hr_model *m, const char *path, hr_error *err, const hr_load_weights_opts *opts)
{
    const hr_load_weights_opts o = HR_OPTIONS(hr_load_weights_opts, opts);
    loading l = {.m = m, .path = path};
    if (!path) return files_path(path, err);
    HR_TRY(hr__weights_ready(m, err));
    hr_status st = load_open(&l, err);
    if (st == HR_OK) st = load_read(&l, o.expect_partial, err);
    if (st == HR_OK) st = load_set(&l, err);
    load_close(&l);
    if (st != HR_OK) hr_error_prefix(err, "%.200s: ", path);
    return st;
}
