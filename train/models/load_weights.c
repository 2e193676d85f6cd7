/* Weights read from TensorFlow's checkpoints, by the graph of objects that a file has, or else by Keras's keys. */
#include "train/checkpoint/folder.h"
#include "train/models/objects.h"

#include <headrace/optimizer.h>
#include <stdio.h>
#include <string.h>

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
    hr__kept_list kept; /* the state of the optimizer */
    int64_t kept_bytes;
} loading;

static hr_status load_graph(loading *l, hr_error *err)
{
    hr_tensor graph;
    bool has;
    HR_TRY(hr_bundle_has(l->bundle, HR__OBJECT_GRAPH, &has, err));
    if (!has) return HR_OK;
    HR_TRY(hr_bundle_read(l->bundle, HR__OBJECT_GRAPH, &graph, err));
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
    hr__kept_clear(&l->kept);
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

/* ---- the state of the optimizer ---- */

/* The tensor `key` of the file is kept as `path`. A damaged file might name one tensor many times. */
static hr_status keep(loading *l, const char *path, const char *key, const char *title, hr_error *err)
{
    const hr_bundle_entry *entry = key ? load_entry(l, key) : NULL;
    int64_t all = 0;
    if (!entry) return HR_OK;
    for (int i = 0; i < l->entries; i++) all += l->entry[i].size;
    l->kept_bytes += entry->size;
    if (l->kept_bytes > all)
        return hr_fail(err, HR_DATA_LOSS, "models.objects", "objects: '%.100s' is there more than once", key);
    hr__kept *kept = HR__LIST_ADD(&l->kept);
    if (!kept) return hr_no_memory(err, "the state of an optimizer");
    kept->path = hr_strdup(path);
    kept->title = hr_strdup(title);
    if (!kept->path || !kept->title) return hr_no_memory(err, "the state of an optimizer");
    return hr_bundle_read(l->bundle, key, &kept->value, err);
}

static hr_status keep_object(loading *l, const char *list, const char *name, int object, hr_error *err)
{
    hr__text path = {0};
    hr__text_printf(&path, "optimizer/%s%s", list, name);
    hr_status st = hr__text_status(&path, "the state of an optimizer", err);
    if (st == HR_OK)
        st = keep(l, path.data, hr__object_file_key(l->file, object), hr__object_file_title(l->file, object), err);
    hr__text_free(&path);
    return st;
}

/* Variables of weights, which legacy optimizers have; those of weights that the model lacks are passed over. */
static hr_status keep_slots(loading *l, int optimizer, hr_error *err)
{
    const char *name;
    int weight, slot;
    for (int i = 0; (slot = hr__object_file_slot_at(l->file, optimizer, i, &weight, &name)) >= 0; i++)
        for (int k = 1; k < l->objects.at.count; k++) {
            hr__text path = {0};
            if (!l->objects.at.at[k].title || l->found[k] != weight) continue;
            hr__object_path(&l->objects, k, &path);
            hr__text_printf(&path, "/.OPTIMIZER_SLOT/optimizer/%s", name);
            hr_status st = hr__text_status(&path, "the state of an optimizer", err);
            if (st == HR_OK)
                st = keep(l, path.data, hr__object_file_key(l->file, slot), hr__object_file_title(l->file, slot), err);
            hr__text_free(&path);
            HR_TRY(st);
        }
    return HR_OK;
}

static hr_status keep_objects(loading *l, hr_error *err)
{
    const int optimizer = hr__object_file_child(l->file, 0, "optimizer");
    const int list = hr__object_file_child(l->file, optimizer, "_variables");
    const char *name;
    int child;
    for (int i = 0; (child = hr__object_file_child_at(l->file, optimizer, i, &name)) >= 0; i++)
        HR_TRY(keep_object(l, "", name, child, err));
    for (int i = 0; (child = hr__object_file_child_at(l->file, list, i, &name)) >= 0; i++)
        if (strcmp(name, "0") != 0) HR_TRY(keep_object(l, "_variables/", name, child, err));
    return keep_slots(l, optimizer, err);
}

/* Of a file without a graph of objects, by the keys. */
static hr_status keep_keys(loading *l, hr_error *err)
{
    for (int i = 0; i < l->entries; i++) {
        const char *key = l->entry[i].name, *end = strstr(key, "/.ATTRIBUTES/");
        if (!end || (strncmp(key, "optimizer/", 10) != 0 && !strstr(key, "/.OPTIMIZER_SLOT/optimizer/"))) continue;
        char *path = hr_strdup(key);
        if (!path) return hr_no_memory(err, "the state of an optimizer");
        path[end - key] = '\0';
        const hr_status st = keep(l, path, key, "", err);
        hr_free(path);
        HR_TRY(st);
    }
    return HR_OK;
}

static const hr__kept *load_kept(const loading *l, const char *path)
{
    for (int i = 0; i < l->kept.count; i++)
        if (strcmp(l->kept.at[i].path, path) == 0) return &l->kept.at[i];
    return NULL;
}

/* Whether a variable is one of an optimizer of this kind: "Adam/m/dense/kernel", "training/Adam/dense/kernel/m". */
static bool load_title_is(const char *title, const char *kind)
{
    const size_t n = strlen(kind);
    for (const char *at = title; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, kind, n) == 0 && at[n] == '/') return true;
    }
    return false;
}

/* Whether the state is that of an optimizer of the model's kind and generation. */
static bool load_kind_fits(const loading *l)
{
    const hr_optimizer *o = l->m->compiled.optimizer;
    const hr__kept *steps = load_kept(l, hr_optimizer_is_keras(o) ? "optimizer/_iterations" : "optimizer/iter");
    bool fits = steps && steps->value.dtype == HR_INT64 && steps->value.count == 1;
    for (int i = 0; i < l->kept.count && fits; i++) {
        const hr__kept *kept = &l->kept.at[i];
        const bool slot = strstr(kept->path, "/_variables/") || strstr(kept->path, "/.OPTIMIZER_SLOT/");
        fits = !slot || !*kept->title || load_title_is(kept->title, hr_optimizer_kind_of(o));
    }
    if (!fits)
        hr_log_message(HR_WARNING, "model '%s': %s has the state of another optimizer than %s, which is left out",
                       l->m->name, l->path, hr_optimizer_kind_of(o));
    return fits;
}

static hr_status load_optimizer_read(loading *l, hr_error *err)
{
    if (!l->m->is_compiled) return HR_OK;
    HR_TRY(l->file ? keep_objects(l, err) : keep_keys(l, err));
    if (l->kept.count > 0 && !load_kind_fits(l)) hr__kept_clear(&l->kept);
    return HR_OK;
}

/* The model takes what was kept, for its optimizer as it is, or as it will be. */
static hr_status load_optimizer_set(loading *l, hr_error *err)
{
    hr__compiled *c = &l->m->compiled;
    if (l->kept.count == 0) return HR_OK;
    const hr__kept *rate = load_kept(l, "optimizer/_learning_rate");
    if (!rate) rate = load_kept(l, "optimizer/learning_rate");
    hr__kept_clear(&c->kept);
    c->kept = l->kept;
    memset(&l->kept, 0, sizeof l->kept);
    if (l->m->train) return hr__optimizer_restore(l->m, l->m->train, err);
    if (!rate || c->schedule || rate->value.dtype != HR_FLOAT || rate->value.count != 1) return HR_OK;
    c->new_rate = (double)*(const float *)rate->value.data;
    c->new_rate_given = true;
    return HR_OK;
}

hr_status hr_load_weights_with(hr_model *m, const char *path, hr_error *err, const hr_load_weights_opts *opts)
{
    const hr_load_weights_opts o = HR_OPTIONS(hr_load_weights_opts, opts);
    loading l = {.m = m, .path = path};
    if (!path) return hr__weights_path(path, err);
    HR_TRY(hr__weights_ready(m, err));
    hr_status st = load_open(&l, err);
    if (st == HR_OK) st = load_read(&l, o.expect_partial, err);
    if (st == HR_OK) st = load_optimizer_read(&l, err);
    if (st == HR_OK) st = load_set(&l, err);
    if (st == HR_OK) st = load_optimizer_set(&l, err);
    load_close(&l);
    if (st != HR_OK && err && strncmp(err->text, path, strlen(path)) != 0) hr_error_prefix(err, "%.200s: ", path);
    return st;
}
