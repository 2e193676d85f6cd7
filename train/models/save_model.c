/* A model as a SavedModel: its forward pass as functions, its weights, and all that Keras has there, in TensorFlow 2's
 * form. */
#include "train/models/saved_form.h"
#include "train/saved_model/writer.h"

#include <headrace/io.h>
#include <string.h>

typedef struct model_writer {
    hr__saved_graph graph;
    hr__objects objects;
    hr__map variable; /* the object of each variable of the graph, by its name */
    char **key;       /* of each object that is a variable */
    hr_view object_graph, checkpoint, metadata;
} model_writer;

static void writer_clear(model_writer *w)
{
    for (int i = 0; w->key && i < w->objects.at.count; i++) hr_free(w->key[i]);
    hr_free(w->key);
    hr__saved_graph_clear(&w->graph);
    hr__objects_clear(&w->objects);
    hr__map_free(&w->variable);
    hr_free((void *)w->object_graph.data);
    hr_free((void *)w->checkpoint.data);
    hr_free((void *)w->metadata.data);
}

/* ---- variables ---- */

/* Those that the functions do not use, of the optimizer and the metrics, are in the graph as well: it saves them. One
 * that is in no session yet gets the value that was kept of a file, under a name that no variable has. */
static hr_status add_variable(model_writer *w, int i, hr_error *err)
{
    const hr__object *at = &w->objects.at.at[i];
    hr_graph *g = w->graph.g;
    const char *name = at->value ? w->key[i] : hr_variable_of(at->variable)->name;
    const hr_variable_info *v = hr_variable_named(g, name);
    HR_TRY(hr__map_set(&w->variable, name, strlen(name), i, err));
    if (v) return HR_OK;
    const hr_node made =
        hr_get_variable(g, name, at->value ? at->value->dtype : at->dtype, at->value ? at->value->shape : at->shape,
                        .initializer = hr_zeros(), .not_trainable = true, .whole = true);
    const hr_error *failed = hr_graph_error(g);
    if (failed && err) *err = *failed;
    if (failed) return failed->code;
    return at->value ? hr_session_set(w->graph.session, made, at->value, err) : HR_OK;
}

static hr_status add_variables(model_writer *w, hr_error *err)
{
    const hr__objects *o = &w->objects;
    w->key = hr_calloc((size_t)o->at.count + 1, sizeof *w->key);
    if (!w->key) return hr_no_memory(err, "the keys of variables");
    for (int i = 0; i < o->at.count; i++) {
        hr__text key = {0};
        if (!o->at.at[i].title) continue;
        hr__object_key(o, i, &key);
        if (!(w->key[i] = hr__text_take(&key))) return hr_no_memory(err, "the keys of variables");
        HR_TRY(add_variable(w, i, err));
    }
    return HR_OK;
}

static const char *key_of(const char *variable, const void *user)
{
    const model_writer *w = user;
    const int i = hr__map_index(&w->variable, variable);
    return i >= 0 ? w->key[i] : variable;
}

/* ---- the folder ---- */

static hr_status write_metadata(const hr_saved_model_writer *to, hr_view bytes, hr_error *err)
{
    hr_output *out;
    char *path = hr__writer_path(to, "keras_metadata.pb");
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    hr_status st = path ? hr_output_open_with(path, &opts, &out, err) : hr_no_memory(err, "a path");
    hr_free(path);
    if (st != HR_OK) return st;
    hr_output_write(out, bytes.data, (size_t)bytes.size, NULL); /* a failure sticks */
    return hr_output_commit(out, err);
}

static hr_status write_graph(model_writer *w, hr_saved_model_writer *to, hr_error *err)
{
    const hr__saved_graph *s = &w->graph;
    const hr__written_form form = {w->object_graph, w->checkpoint, key_of, w};
    hr_saved_tensor *tensor = hr_calloc((size_t)s->m->inputs.count + (size_t)s->m->outputs.count + 1, sizeof *tensor);
    hr_saved_signature signature = {.input_count = s->m->inputs.count, .output_count = s->m->outputs.count};
    if (!tensor) return hr_no_memory(err, "a signature");
    signature.inputs = tensor;
    signature.outputs = tensor + signature.input_count;
    for (int i = 0; i < signature.input_count; i++)
        tensor[i] = HR_SAVED(hr_model_input_name(s->m, s->input[i]), s->placeholder[i]);
    for (int i = 0; i < signature.output_count; i++)
        tensor[signature.input_count + i] = HR_SAVED(hr_model_output_name(s->m, s->output[i]), s->served[i]);
    const hr_saved_graph_opts opts = {.struct_size = sizeof opts, .signatures = &signature, .signature_count = 1};
    const hr_status st = hr__saved_model_writer_add(to, s->session, &opts, &form, err);
    hr_free(tensor);
    return st;
}

static hr_status writer_make(model_writer *w, hr_model *m, hr_error *err)
{
    HR_TRY(hr__saved_graph_make(m, &w->graph, err));
    HR_TRY(hr__saved_objects_of(&w->graph, &w->objects, err));
    HR_TRY(add_variables(w, err));
    HR_TRY(hr__saved_objects_write(&w->objects, &w->graph, &w->variable, &w->object_graph, err));
    HR_TRY(hr__objects_write(&w->objects, &w->checkpoint, err));
    return hr__keras_metadata(&w->objects, m, &w->metadata, err);
}

hr_status hr_save_model(hr_model *m, const char *folder, hr_error *err)
{
    hr_saved_model_writer *to;
    model_writer w = {0};
    if (!folder) return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "save_model: expected a folder, got NULL");
    HR_TRY(hr__weights_ready(m, err));
    HR_TRY(hr_saved_model_writer_open(folder, &to, err));
    hr_status st = writer_make(&w, m, err);
    if (st == HR_OK) st = write_graph(&w, to, err);
    if (st == HR_OK) st = write_metadata(to, w.metadata, err);
    writer_clear(&w);
    if (st == HR_OK) return hr_saved_model_writer_commit(to, err);
    hr_saved_model_writer_discard(to);
    return st;
}
