/* SavedModels: one of the MetaGraphDefs of a folder is chosen by its tags. */
#include "train/graphdef/meta_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef Headrace__Proto__SavedModel proto_saved_model;

/* ---- the file ---- */

/* Gives *out (hr_free it): the path itself, or the file of the folder that it is. */
static hr_status saved_model_file(const char *path, char **out, hr_error *err)
{
    struct stat about;
    const size_t size = strlen(path) + sizeof "/saved_model.pbtxt";
    char *file = hr_malloc(size);
    *out = file;
    if (!file) return hr_no_memory(err, "a path");
    snprintf(file, size, "%s", path);
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) return HR_OK;
    snprintf(file, size, "%s/saved_model.pbtxt", path);
    if (stat(file, &about) != 0) snprintf(file, size, "%s/saved_model.pb", path);
    return HR_OK;
}

/* ---- tags ---- */

static bool tag_listed(const char *list, const char *tag)
{
    const size_t size = strlen(tag);
    for (const char *at = list; *at; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        if (length == size && memcmp(at, tag, size) == 0) return true;
        at += length;
    }
    return false;
}

static size_t tags_listed(const char *list)
{
    size_t count = *list != 0;
    for (; *list; list++) count += *list == ',';
    return count;
}

static bool has_tags(const proto_meta *meta, const char *tags)
{
    const size_t count = meta->meta_info_def ? meta->meta_info_def->n_tags : 0;
    for (size_t i = 0; i < count; i++)
        if (!tag_listed(tags, meta->meta_info_def->tags[i])) return false;
    return count == tags_listed(tags);
}

/* "'serve', 'serve,gpu'" */
static void add_tags(char *text, size_t size, const proto_meta *meta)
{
    size_t at = strlen(text);
    at += (size_t)snprintf(text + at, size - at, "%s'", at ? ", " : "");
    for (size_t i = 0; meta->meta_info_def && i < meta->meta_info_def->n_tags && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%.40s", i ? "," : "", meta->meta_info_def->tags[i]);
    if (at < size) snprintf(text + at, size - at, "'");
}

static hr_status choose(const proto_saved_model *all, const char *tags, size_t *which, hr_error *err)
{
    char found[300] = "";
    for (*which = 0; tags && *which < all->n_meta_graphs; ++*which)
        if (has_tags(all->meta_graphs[*which], tags)) return HR_OK;
    *which = 0;
    if (!tags && all->n_meta_graphs == 1) return HR_OK;
    for (size_t i = 0; i < all->n_meta_graphs && strlen(found) < sizeof found - 1; i++)
        add_tags(found, sizeof found, all->meta_graphs[i]);
    return hr_fail(err, HR_NOT_FOUND, "savedmodel.tags", "expected a graph %s%.60s%s, got those of the tags %s",
                   tags ? "of the tags '" : "that tags choose", tags ? tags : "", tags ? "'" : "",
                   *found ? found : "of none");
}

/* ---- all of it ---- */

static hr_status import_chosen(hr_graph *g, proto_saved_model *all, size_t bytes, const char *tags,
                               hr_meta_graph **meta, hr_error *err)
{
    static const hr_graph_import_opts opts = {.struct_size = sizeof opts};
    size_t which;
    HR_TRY(choose(all, tags, &which, err));
    proto_meta *chosen = all->meta_graphs[which];
    all->meta_graphs[which] = all->meta_graphs[--all->n_meta_graphs];
    return hr__meta_import_message(g, chosen, bytes, &opts, meta, err);
}

/* Gives the message of a file. */
static hr_status read_message(const char *file, proto_saved_model **out, size_t *size, hr_error *err)
{
    char *bytes;
    ProtobufCMessage *message;
    const ProtobufCMessageDescriptor *type = &headrace__proto__saved_model__descriptor;
    HR_TRY(hr__file_read(file, &bytes, size, err));
    const hr_view view = {bytes ? bytes : "", (int64_t)*size};
    const hr_status st = hr__is_text_file(file) ? hr__message_read_text(type, view, &message, err)
                                                : hr__message_read(type, view, &message, err);
    hr_free(bytes);
    if (st == HR_OK) *out = (proto_saved_model *)(void *)message;
    return st;
}

static hr_status read_file(hr_graph *g, const char *file, const char *tags, hr_meta_graph **meta, hr_error *err)
{
    size_t size;
    proto_saved_model *message;
    HR_TRY(hr__import_check(g, (hr_view){"", 0}, err));
    HR_TRY(read_message(file, &message, &size, err));
    const hr_status st = import_chosen(g, message, size, tags, meta, err);
    hr__message_free(&message->base);
    return st;
}

hr_status hr_saved_model_read(hr_graph *g, const char *path, const char *tags, hr_meta_graph **meta, hr_error *err)
{
    char *file;
    if (meta) *meta = NULL;
    if (!path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument", "hr_saved_model_read: expected a path, got NULL");
    hr_status st = saved_model_file(path, &file, err);
    if (st == HR_OK) st = read_file(g, file, tags, meta, err);
    if (st != HR_OK && file) hr_error_prefix(err, "%s: ", file);
    hr_free(file);
    return st;
}

/* ---- all graphs, without nodes ---- */

static int64_t message_nodes(const proto_graph *graph)
{
    int64_t count = graph ? (int64_t)graph->n_node : 0;
    for (size_t i = 0; graph && graph->library && i < graph->library->n_function; i++)
        count += (int64_t)graph->library->function[i]->n_node_def;
    return count;
}

/* Takes the graph's message out of all. */
static hr_status take_meta(proto_saved_model *all, size_t i, hr_meta_graph **out, hr_error *err)
{
    hr_meta_graph *m = *out = hr_meta_graph_new();
    if (!m) return hr_no_memory(err, "a SavedModel");
    m->source = all->meta_graphs[i];
    all->meta_graphs[i] = NULL;
    m->nodes = message_nodes(m->source->graph_def);
    if (m->source->graph_def) hr__message_free(&m->source->graph_def->base);
    m->source->graph_def = NULL;
    return hr__meta_take(m, err);
}

static hr_status take_metas(proto_saved_model *all, hr_meta_graph ***metas, int *count, hr_error *err)
{
    const size_t n = all->n_meta_graphs;
    *metas = hr_calloc(n + 1, sizeof **metas);
    if (!*metas) return hr_no_memory(err, "a SavedModel");
    hr_status st = HR_OK;
    for (size_t i = 0; st == HR_OK && i < n && i < INT32_MAX; i++, ++*count) st = take_meta(all, i, &(*metas)[i], err);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (all->meta_graphs[i]) all->meta_graphs[kept++] = all->meta_graphs[i];
    all->n_meta_graphs = kept;
    return st;
}

hr_status hr_saved_model_metas(const char *path, hr_meta_graph ***metas, int *count, hr_error *err)
{
    char *file;
    size_t size;
    proto_saved_model *all;
    if (!path || !metas || !count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_saved_model_metas: expected a path and places for what is there, got NULL");
    *metas = NULL;
    *count = 0;
    hr_status st = saved_model_file(path, &file, err);
    if (st == HR_OK) st = read_message(file, &all, &size, err);
    if (st == HR_OK) {
        st = take_metas(all, metas, count, err);
        hr__message_free(&all->base);
    }
    if (st != HR_OK) {
        if (file) hr_error_prefix(err, "%s: ", file);
        hr_saved_model_metas_free(*metas, *count);
        *metas = NULL;
        *count = 0;
    }
    hr_free(file);
    return st;
}

void hr_saved_model_metas_free(hr_meta_graph **metas, int count)
{
    for (int i = 0; metas && i < count; i++) hr_meta_graph_free(metas[i]);
    hr_free(metas);
}

/* ---- bytes and text ---- */

hr_status hr_saved_model_convert(const char *from, const char *to, hr_error *err)
{
    char *file, *bytes = NULL;
    size_t size;
    proto_saved_model *all;
    if (!from || !to)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_saved_model_convert: expected two paths, got NULL");
    hr_status st = saved_model_file(from, &file, err);
    if (st == HR_OK) st = read_message(file, &all, &size, err);
    if (st == HR_OK) {
        st = hr__message_as(hr__is_text_file(to), &all->base, &bytes, &size, err);
        hr__message_free(&all->base);
    }
    if (st != HR_OK && file) hr_error_prefix(err, "%s: ", file);
    hr_free(file);
    if (st != HR_OK) return st;
    st = hr__file_write(to, bytes, size, err);
    hr_free(bytes);
    return st;
}
