/* See graph_files.h. */
#include "cli/graph_files.h"
#include <string.h>
#include <sys/stat.h>

void clear_graph_file(graph_file *file)
{
    hr_meta_graph_free(file->meta);
    hr_graph_free(file->graph);
    *file = (graph_file){NULL, NULL};
}

static bool graph_name_ends(const char *path, const char *end)
{
    const size_t size = strlen(path), length = strlen(end);
    return size > length && strcmp(path + size - length, end) == 0;
}

bool is_meta_name(const char *path) { return graph_name_ends(path, ".meta") || graph_name_ends(path, ".meta.pbtxt"); }

static hr_status read_as(const char *path, bool meta, graph_file *out, hr_error *err)
{
    *out = (graph_file){hr_graph_new(), NULL};
    if (!out->graph) return hr_no_memory(err, "a graph");
    return meta ? hr_meta_graph_read(out->graph, path, &out->meta, err) : hr_graph_read(out->graph, path, err);
}

/* A folder, or the file in it. */
static bool is_saved_model(const char *path)
{
    struct stat about;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, "saved_model.pb") == 0 || strcmp(name, "saved_model.pbtxt") == 0 ||
           (stat(path, &about) == 0 && S_ISDIR(about.st_mode));
}

/* Where both fail, the message is that of what the name says. */
static hr_status read_of_either_kind(const char *path, graph_file *out, hr_error *err)
{
    hr_error other = {0};
    const bool meta = is_meta_name(path);
    const hr_status st = read_as(path, meta, out, err);
    const bool unread = st == HR_NOT_FOUND && strcmp(err->kind, "graph.op") != 0;
    if (st == HR_OK || unread || st == HR_PERMISSION_DENIED) return st;
    clear_graph_file(out);
    if (read_as(path, !meta, out, &other) == HR_OK) return HR_OK;
    clear_graph_file(out);
    return st;
}

hr_status read_graph_file(const command_call *call, graph_file *out, hr_error *err)
{
    const char *path = call_argument(call, 0), *tags = flag_text(call, "tag-set");
    if (is_saved_model(path)) {
        *out = (graph_file){hr_graph_new(), NULL};
        return out->graph ? hr_saved_model_read(out->graph, path, tags, &out->meta, err) : hr_no_memory(err, "a graph");
    }
    if (tags)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.tags",
                       "--tag-set: expected the folder of a SavedModel, got '%.200s'", path);
    return read_of_either_kind(path, out, err);
}

static hr_status print_bytes(const char *bytes, size_t size, hr_error *err)
{
    return fwrite(bytes, 1, size, stdout) == size ? HR_OK : output_error(err);
}

hr_status write_graph_file(const char *path, hr_graph *g, const hr_meta_graph *meta, bool as_meta, bool strip_defaults,
                           hr_error *err)
{
    char *bytes;
    size_t size;
    hr_output *out;
    const bool text = graph_name_ends(path, ".pbtxt");
    HR_TRY(as_meta
               ? hr_meta_graph_export(g, meta, &bytes, &size, err, .text = text, .strip_default_attrs = strip_defaults)
               : hr_graph_export(g, &bytes, &size, err, .text = text, .strip_default_attrs = strip_defaults));
    hr_status st;
    if (is_standard_output(path)) {
        st = print_bytes(bytes, size, err);
    } else if ((st = hr_output_open_with(path, &(hr_output_opts){.compression = HR_NONE}, &out, err)) == HR_OK) {
        hr_output_write(out, bytes, size, NULL); /* a failure sticks */
        st = hr_output_commit(out, err);
    }
    hr_free(bytes);
    return st;
}

/* ---- names ---- */

/* Names that have the asked one in them, or are in it: at most three. */
static void suggest_nodes(hr_graph *g, const char *name, char *out, size_t size)
{
    int found = 0;
    const size_t length = strcspn(name, ":");
    *out = 0;
    for (int32_t i = 0; i < hr_graph_size(g) && found < 3 && length > 0; i++) {
        const char *other = hr_node_name((hr_node){g, i, 0});
        const char *slash = strrchr(other, '/');
        const char *last = slash ? slash + 1 : other;
        if (strncasecmp(last, name, length) != 0 && strncasecmp(other, name, length) != 0) continue;
        const size_t at = strlen(out);
        snprintf(out + at, size - at, "%s'%.60s'", found++ ? ", " : "; similar: ", other);
    }
}

hr_status node_by_name(hr_graph *g, const char *name, hr_node *out, hr_error *err)
{
    char similar[256];
    *out = hr_graph_node(g, name);
    if (hr_node_exists(*out)) return HR_OK;
    suggest_nodes(g, name, similar, sizeof similar);
    return hr_fail(err, HR_NOT_FOUND, "graph.node", "expected a node of the graph, got '%.100s'%s", name, similar);
}

hr_status nodes_of_flag(const command_call *call, const char *flag, hr_graph *g, hr_node **out, int *count,
                        hr_error *err)
{
    const char *const *words = flag_words(call, flag, count);
    *out = NULL;
    if (!words) *count = 0;
    if (!words) return HR_OK;
    *out = hr_calloc((size_t)*count + 1, sizeof **out);
    if (!*out) return hr_no_memory(err, "names of nodes");
    for (int i = 0; i < *count; i++) HR_TRY(node_by_name(g, words[i], &(*out)[i], err));
    return HR_OK;
}

hr_status run_initializers(const command_call *call, hr_session *s, hr_graph *g, hr_error *err)
{
    for (int i = 0; i < flag_count(call, "init"); i++) {
        hr_node init;
        HR_TRY(node_by_name(g, flag_nth(call, "init", i), &init, err));
        init = hr_target(init);
        HR_TRY(hr_session_run(s, NULL, 0, &init, 1, NULL, err));
    }
    return HR_OK;
}
