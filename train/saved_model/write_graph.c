/* Adding a graph: a copy of it gets the nodes that a loader needs, is asked to save its variables, and becomes a
 * message. */
#include "proto/meta_graph.pb-c.h"
#include "train/graph/graph_internal.h"
#include "train/graphdef/meta_internal.h"
#include "train/saved_model/writer.h"
#include <headrace/kernels.h>
#include <headrace/ops.h>

#include <stdio.h>
#include <string.h>

/* ---- the copy ---- */

static hr_status graph_failed(const hr_graph *g, hr_error *err)
{
    if (g->error.code != HR_OK && err) *err = g->error;
    return g->error.code;
}

/* Of a graph that was made of a model's: tags and signatures are the model's, and what initializes it, if it is still
 * there. */
static hr_status take_from_model(hr__written_graph *to, const hr_saved_model *model, hr_error *err)
{
    const char *tag;
    const hr_meta_signature *s;
    int given;
    const hr_node main_op = hr_graph_node(to->g, hr__initializer_of(model->meta));
    for (int i = 0; (tag = hr_meta_graph_tag(model->meta, i)); i++) HR_TRY(hr_meta_graph_add_tag(to->meta, tag, err));
    for (int i = 0; (s = hr_meta_graph_signature(model->meta, i)); i++)
        if (strncmp(s->key, "__saved_model", 13) != 0) HR_TRY(hr_meta_graph_add_signature(to->meta, s, err));
    hr_get_collection(to->g, "saved_model_main_op", &given);
    if (!given && hr_node_exists(main_op)) hr_add_to_collection(to->g, "saved_model_main_op", hr_target(main_op));
    return HR_OK;
}

static hr_status copy_graph(hr__written_graph *to, hr_graph *from, hr_error *err)
{
    char *bytes;
    size_t size;
    const hr_saved_model *model = to->opts->model;
    const hr_meta_graph *meta = model && model->graph == from ? model->meta : NULL;
    HR_TRY(hr_meta_graph_export(from, meta, &bytes, &size, err));
    to->g = hr_graph_new();
    hr_status st = to->g ? HR_OK : hr_no_memory(err, "a graph");
    for (int i = 0; st == HR_OK && i < from->foreign_count; i++) hr_graph_use(to->g, from->foreign[i]);
    if (st == HR_OK) st = hr_meta_graph_import(to->g, ((hr_view){bytes, (int64_t)size}), &to->meta, err);
    hr_free(bytes);
    return st == HR_OK && model && !meta ? take_from_model(to, model, err) : st;
}

static void clear_devices(hr_graph *g)
{
    for (int32_t i = 0; i < g->node_count; i++) g->nodes[i]->device = "";
    for (int f = 0; f < g->function_count; f++) clear_devices(g->functions[f]->body);
}

/* ---- tags and signatures ---- */

static hr_status write_tags(hr__written_graph *to, hr_error *err)
{
    const char *tags = to->opts->tags;
    if (!tags && to->meta->tags.count > 0) return HR_OK;
    to->meta->tags.count = 0;
    for (const char *at = tags ? tags : "serve"; *at; at += *at == ',') {
        char tag[200];
        const size_t size = strcspn(at, ",");
        if (size == 0 || size >= sizeof tag)
            return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.tags",
                           "expected tags of 1 to 199 bytes between commas, got '%.100s'", tags);
        memcpy(tag, at, size);
        tag[size] = 0;
        HR_TRY(hr_meta_graph_add_tag(to->meta, tag, err));
        at += size;
    }
    return HR_OK;
}

/* Those of the model keep their names; what they name must be in the graph that is written. */
static hr_status check_signature(const hr__written_graph *to, const hr_meta_signature *s, hr_error *err)
{
    for (int i = 0; i < s->input_count + s->output_count; i++) {
        const hr_meta_tensor *t = i < s->input_count ? &s->inputs[i] : &s->outputs[i - s->input_count];
        if (t->name && !hr_node_exists(hr_graph_node(to->g, t->name)))
            return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.signature",
                           "signature '%.60s': expected a graph with its tensor '%.100s', got none", s->key, t->name);
    }
    return HR_OK;
}

static hr_status write_signatures(hr__written_graph *to, hr_error *err)
{
    const hr_saved_graph_opts *o = to->opts;
    const hr_meta_signature *s;
    if (o->signature_count < 0 || (o->signature_count > 0 && !o->signatures))
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument", "expected %d signatures, got NULL",
                       o->signature_count);
    for (int i = 0; !o->signature_count && (s = hr_meta_graph_signature(to->meta, i)); i++)
        HR_TRY(check_signature(to, s, err));
    if (o->signature_count) to->meta->signatures.count = to->meta->said.count = 0;
    for (int i = 0; i < o->signature_count; i++) HR_TRY(hr__write_signature(to, &o->signatures[i], err));
    return HR_OK;
}

/* ---- what is run at the start ---- */

static hr_status node_of_copy(const hr__written_graph *to, hr_node node, const char *what, hr_node *out, hr_error *err)
{
    *out = hr_graph_node(to->g, hr_node_name(node));
    if (hr_node_exists(*out)) {
        *out = hr_target(*out);
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.node", "expected %s of the session's graph, got '%.100s'",
                   what, hr_node_name(node));
}

/* Tables and local variables, if there are any. */
static hr_status default_main_op(hr__written_graph *to, hr_error *err)
{
    int tables, count = 0;
    const hr_node *table = hr_get_collection(to->g, "table_initializer", &tables);
    const int variables = hr_graph_variables(to->g);
    hr_node *all = hr_calloc((size_t)tables + (size_t)variables + 1, sizeof *all);
    if (!all) return hr_no_memory(err, "an initializer");
    for (int i = 0; i < tables; i++) all[count++] = hr_target(table[i]);
    for (int i = 0; i < variables; i++) {
        const hr_variable_info *v = hr_graph_variable(to->g, i);
        const bool local = (v->sets & HR_LOCAL_VARIABLES) && !(v->sets & HR_GLOBAL_VARIABLES);
        if (local && hr_node_exists(v->initializer)) all[count++] = hr_target(v->initializer);
    }
    if (count > 0)
        hr_add_to_collection(to->g, "saved_model_main_op", hr_target(hr_group(to->g, all, count, "group_deps")));
    hr_free(all);
    return HR_OK;
}

static hr_status write_ops(hr__written_graph *to, hr_error *err)
{
    hr_node node;
    const hr_saved_graph_opts *o = to->opts;
    if (o->train_op.graph) {
        HR_TRY(node_of_copy(to, o->train_op, "a train_op", &node, err));
        hr_add_to_collection(to->g, "saved_model_train_op", node);
    }
    int given = 0;
    hr_get_collection(to->g, "saved_model_main_op", &given);
    if (!o->main_op.graph) return given || *hr__initializer_of(to->meta) ? HR_OK : default_main_op(to, err);
    HR_TRY(node_of_copy(to, o->main_op, "a main_op", &node, err));
    hr__meta_drop_collection(to->meta, "saved_model_main_op");
    for (int i = 0; i < to->g->collection_count; i++)
        if (strcmp(to->g->collections[i].name, "saved_model_main_op") == 0) to->g->collections[i].count = 0;
    hr_add_to_collection(to->g, "saved_model_main_op", node);
    return HR_OK;
}

/* ---- files ---- */

/* The names of the model's files, of which the graph still has the tensors. */
static hr_status model_assets(const hr__written_graph *to, hr__assets *have, hr_error *err)
{
    const hr_saved_model *model = to->opts->model;
    if (!model) return hr__assets_of(to->g, to->meta, have, err);
    HR_TRY(hr__assets_of(model->graph, model->meta, have, err));
    int kept = 0;
    for (int i = 0; i < have->count; i++) {
        hr__asset *asset = &have->list[i];
        const int output = asset->tensor.output;
        asset->tensor = hr_graph_node(to->g, hr_node_name(asset->tensor));
        asset->tensor.output = output;
        if (hr_node_exists(asset->tensor))
            have->list[kept++] = *asset;
        else
            hr_free(asset->filename);
    }
    have->count = kept;
    return HR_OK;
}

/* Under the names that they have there. */
static hr_status copy_model_assets(hr_saved_model_writer *w, const hr__written_graph *to, hr__assets *have,
                                   hr_error *err)
{
    const hr_saved_model *model = to->opts->model;
    HR_TRY(model_assets(to, have, err));
    char *folder = model ? hr__path_in(model->folder, "assets") : NULL;
    hr_status st = !model || folder ? HR_OK : hr_no_memory(err, "a path");
    for (int i = 0; st == HR_OK && model && i < have->count; i++) {
        char *from = hr__path_in(folder, have->list[i].filename), *name = hr__path_in("assets", have->list[i].filename);
        st = from && name ? hr__writer_copy(w, from, name, err) : hr_no_memory(err, "a path");
        hr_free(from);
        hr_free(name);
    }
    hr_free(folder);
    return st;
}

static bool has_asset(const hr__assets *assets, hr_node tensor)
{
    for (int i = 0; i < assets->count; i++)
        if (assets->list[i].tensor.id == tensor.id) return true;
    return false;
}

static hr_status add_path(hr_saved_model_writer *w, hr__assets *have, hr_node tensor, hr_error *err)
{
    const char *filename;
    const hr_tensor *value = hr_node_constant(tensor);
    if (!value || value->dtype != HR_STRING || value->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.asset",
                       "node '%.100s' of the collection 'asset_filepaths': expected a constant with one path",
                       hr_node_name(tensor));
    const hr_view *view = value->data;
    char *path = hr_malloc((size_t)view->size + 1);
    if (!path) return hr_no_memory(err, "a path");
    if (view->size) memcpy(path, view->data, (size_t)view->size);
    path[view->size] = 0;
    hr_status st = hr__writer_asset(w, path, &filename, err);
    hr_free(path);
    if (st == HR_OK) st = hr__grow(&have->list, have->count, &have->capacity, sizeof *have->list, err);
    if (st != HR_OK) return st;
    have->list[have->count].tensor = tensor;
    have->list[have->count].filename = hr_strdup(filename);
    return have->list[have->count++].filename ? HR_OK : hr_no_memory(err, "the name of a file");
}

/* The collection of TensorFlow 1: an AssetFileDef each, in an Any. */
static hr_status write_asset_list(hr__written_graph *to, const hr__assets *assets, hr_error *err)
{
    hr__arena arena = {0};
    const size_t count = (size_t)assets->count;
    hr_view *bytes = hr__arena_get(&arena, sizeof *bytes * (count + 1));
    const char **types = hr__arena_get(&arena, sizeof *types * (count + 1));
    hr_status st = bytes && types ? HR_OK : hr_no_memory(err, "the names of files");
    for (size_t i = 0; st == HR_OK && i < count; i++) {
        Headrace__Proto__AssetFileDef def = HEADRACE__PROTO__ASSET_FILE_DEF__INIT;
        Headrace__Proto__TensorInfo info = HEADRACE__PROTO__TENSOR_INFO__INIT;
        char name[512];
        snprintf(name, sizeof name, "%s:%d", hr_node_name(assets->list[i].tensor), assets->list[i].tensor.output);
        info.encoding_case = HEADRACE__PROTO__TENSOR_INFO__ENCODING_NAME;
        info.name = name;
        def.tensor_info = &info;
        def.filename = assets->list[i].filename;
        const size_t size = protobuf_c_message_get_packed_size(&def.base);
        uint8_t *to_bytes = hr__arena_get(&arena, size + 1);
        if (!to_bytes) st = hr_no_memory(err, "the names of files");
        if (to_bytes) protobuf_c_message_pack(&def.base, to_bytes);
        bytes[i] = (hr_view){(const char *)to_bytes, (int64_t)size};
        types[i] = "type.googleapis.com/tensorflow.AssetFileDef";
    }
    const hr_meta_collection list = {
        .key = "saved_model_assets", .kind = HR_META_ANY, .count = (int)count, .nodes = types, .bytes = bytes};
    if (st == HR_OK) {
        hr__meta_drop_collection(to->meta, list.key);
        st = hr_meta_graph_add_collection(to->meta, &list, err);
    }
    hr__arena_free(&arena);
    return st;
}

/* How many the meta graph names already. */
static hr_status count_said(const hr__written_graph *to, int *count, hr_error *err)
{
    hr__assets said;
    HR_TRY(hr__assets_of(to->g, to->meta, &said, err));
    *count = said.count;
    hr__assets_clear(&said);
    return HR_OK;
}

static hr_status name_assets(hr__written_graph *to, const hr__assets *assets, hr_error *err)
{
    int said;
    hr_meta_asset field;
    HR_TRY(count_said(to, &said, err));
    if (assets->count <= said) return HR_OK;
    if (!hr_meta_graph_asset(to->meta, 0, &field)) return write_asset_list(to, assets, err);
    for (int i = said; i < assets->count; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s:%d", hr_node_name(assets->list[i].tensor), assets->list[i].tensor.output);
        HR_TRY(hr_meta_graph_add_asset(to->meta, &(hr_meta_asset){name, assets->list[i].filename}, err));
    }
    return HR_OK;
}

/* Those of the model first, then others that the collection of paths has. */
static hr_status write_assets(hr_saved_model_writer *w, hr__written_graph *to, hr_error *err)
{
    hr__assets assets = {0};
    int paths;
    const hr_node *path = hr_get_collection(to->g, "asset_filepaths", &paths);
    hr_status st = copy_model_assets(w, to, &assets, err);
    for (int i = 0; st == HR_OK && i < paths; i++)
        if (!has_asset(&assets, path[i])) st = add_path(w, &assets, path[i], err);
    if (st == HR_OK) st = name_assets(to, &assets, err);
    hr__assets_clear(&assets);
    return st;
}

/* ---- variables ---- */

/* The graph's own saver writes them, by a session that has them in common with the caller's. */
static hr_status save_variables(hr_saved_model_writer *w, const hr__written_graph *to, hr_session *s, hr_error *err)
{
    hr_meta_saver saver;
    hr_tensor out = {0};
    if (w->has_variables || !hr_meta_graph_saver(to->meta, &saver)) return HR_OK;
    const hr_node filename = hr_graph_node(to->g, saver.filename), save = hr_graph_node(to->g, saver.save);
    if (!hr_node_exists(filename) || !hr_node_exists(save) || save.output < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.node",
                       "expected nodes of the graph that save its variables, got '%.60s' and '%.60s'", saver.filename,
                       saver.save);
    char *path = hr__writer_path(w, "variables/variables");
    hr_session *own = hr_session_new(to->g, .share = s);
    const hr_view view = hr_text_view(path);
    const hr_feed feed = {filename, hr_tensor_of(HR_STRING, HR_SCALAR, &view)};
    hr_status st = path && own ? HR_OK : hr_no_memory(err, "a session");
    if (st == HR_OK) st = hr_session_run(own, &feed, 1, &save, 1, &out, err);
    if (st == HR_OK) hr_tensor_clear(&out);
    hr_session_free(own);
    hr_free(path);
    w->has_variables = st == HR_OK;
    if (st != HR_OK) hr_error_prefix(err, "saving variables: ");
    return st;
}

/* ---- the message ---- */

/* A field of the file: its tag, its length, the bytes. */
static void append_bytes(hr__text *to, const char *bytes, size_t size)
{
    hr__text_byte(to, 2 << 3 | 2);
    size_t left = size;
    for (; left >= 0x80; left >>= 7) hr__text_byte(to, (char)(left | 0x80));
    hr__text_byte(to, (char)left);
    hr__text_bytes(to, bytes, size);
}

/* The same as text, two blanks further in. */
static void append_text(hr__text *to, const char *text)
{
    hr__text_add(to, "meta_graphs {\n");
    while (*text) {
        const size_t size = strcspn(text, "\n");
        hr__text_add(to, "  ");
        hr__text_bytes(to, text, size);
        hr__text_byte(to, '\n');
        text += size + (text[size] == '\n');
    }
    hr__text_add(to, "}\n");
}

static hr_status append_graph(hr_saved_model_writer *w, const hr__written_graph *to, hr_error *err)
{
    char *bytes;
    size_t size;
    HR_TRY(hr_meta_graph_export(to->g, to->meta, &bytes, &size, err, .text = w->text,
                                .strip_default_attrs = to->opts->strip_default_attrs));
    if (w->text)
        append_text(&w->graphs, bytes);
    else
        append_bytes(&w->graphs, bytes, size);
    hr_free(bytes);
    w->graph_count++;
    return hr__text_status(&w->graphs, "a SavedModel", err);
}

/* ---- all of it ---- */

static hr_status add_graph(hr_saved_model_writer *w, hr_session *s, hr__written_graph *to, hr_error *err)
{
    HR_TRY(copy_graph(to, s->graph, err));
    if (to->opts->clear_devices) clear_devices(to->g);
    HR_TRY(write_tags(to, err));
    HR_TRY(write_signatures(to, err));
    HR_TRY(write_ops(to, err));
    HR_TRY(hr__write_saver(to, err));
    HR_TRY(write_assets(w, to, err));
    HR_TRY(graph_failed(to->g, err));
    HR_TRY(save_variables(w, to, s, err));
    if (to->form) HR_TRY(hr__meta_set_objects(to->meta, to->form->objects, err));
    return append_graph(w, to, err);
}

hr_status hr__saved_model_writer_add(hr_saved_model_writer *w, hr_session *s, const hr_saved_graph_opts *given,
                                     const hr__written_form *form, hr_error *err)
{
    const hr_saved_graph_opts opts = HR_OPTIONS(hr_saved_graph_opts, given);
    hr__written_graph to = {.opts = &opts, .form = form};
    hr_error failed = {0};
    if (!w || !s)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_saved_model_writer_add: expected a writer and a session, got NULL");
    hr_status st = w->failed.code;
    if (st != HR_OK)
        failed = w->failed;
    else
        st = hr__writer_tell(w, add_graph(w, s, &to, &failed), &failed);
    hr_meta_graph_free(to.meta);
    hr_graph_free(to.g);
    if (st != HR_OK && err) *err = failed;
    return st;
}

hr_status hr_saved_model_writer_add_with(hr_saved_model_writer *w, hr_session *s, const hr_saved_graph_opts *opts,
                                         hr_error *err)
{
    return hr__saved_model_writer_add(w, s, opts, NULL, err);
}
