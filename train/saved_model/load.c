/* Loading: the graph, then the values of its variables, then its initializer, in TensorFlow's order. */
#include "base/text.h"
#include "io/within.h"
#include "train/saved_model/saved_model_internal.h"

#include <string.h>
#include <sys/stat.h>

/* ---- feeding paths ---- */

/* The paths of all files, as scalars of strings, with space for one feed more. */
typedef struct path_feeds {
    hr_feed *feed;
    hr_view *view;
    char **path;
    int count;
} path_feeds;

static void paths_clear(path_feeds *p)
{
    for (int i = 0; p->path && i < p->count; i++) hr_free(p->path[i]);
    hr_free(p->path);
    hr_free(p->view);
    hr_free(p->feed);
}

/* Takes `path`. */
static hr_status paths_add(path_feeds *p, hr_node tensor, char *path, hr_error *err)
{
    if (!path) return hr_no_memory(err, "a path");
    const int i = p->count++;
    p->path[i] = path;
    p->view[i] = (hr_view){path, (int64_t)strlen(path)};
    p->feed[i] = (hr_feed){tensor, hr_tensor_of(HR_STRING, HR_SCALAR, &p->view[i])};
    return HR_OK;
}

static hr_status paths_of(const hr_saved_model *m, const hr__assets *assets, path_feeds *p, hr_error *err)
{
    const size_t most = (size_t)assets->count + 1;
    p->feed = hr_calloc(most, sizeof *p->feed);
    p->view = hr_calloc(most, sizeof *p->view);
    p->path = hr_calloc(most, sizeof *p->path);
    char *folder = hr__path_in(m->folder, "assets");
    hr_status st = p->feed && p->view && p->path && folder ? HR_OK : hr_no_memory(err, "the paths of files");
    for (int i = 0; st == HR_OK && i < assets->count; i++)
        st = paths_add(p, assets->list[i].tensor, hr__path_in(folder, assets->list[i].filename), err);
    hr_free(folder);
    return st;
}

/* ---- restoring and initializing ---- */

/* A node that is named in what belongs to the graph. */
static hr_status model_node(const hr_saved_model *m, const char *name, const char *what, hr_node *out, hr_error *err)
{
    *out = hr_graph_node(m->graph, name);
    if (hr_node_exists(*out)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.node", "expected %s, got '%.100s', which the graph lacks",
                   what, name);
}

static hr_status run_node(const hr_saved_model *m, hr_node node, const path_feeds *p, hr_error *err)
{
    node = hr_target(node);
    return hr_session_run_with(m->session, p->feed, p->count, &node, 1, NULL, HR_RUN_OPTS(.once = true), err);
}

static hr_status restore_variables(const hr_saved_model *m, path_feeds *p, hr_error *err)
{
    hr_meta_saver saver;
    hr_node filename, restore;
    if (!hr_meta_graph_saver(m->meta, &saver) || !*saver.restore) return HR_OK;
    HR_TRY(model_node(m, saver.filename, "a tensor that gets the path of variables", &filename, err));
    HR_TRY(model_node(m, saver.restore, "a node that restores variables", &restore, err));
    if (hr_node_dtype(filename) != HR_STRING || filename.output < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.node",
                       "expected a tensor of strings that gets the path of variables, got '%.100s'", saver.filename);
    HR_TRY(paths_add(p, filename, hr__path_in(m->folder, "variables/variables"), err));
    const hr_status st = run_node(m, restore, p, err);
    hr_free(p->path[--p->count]);
    if (st != HR_OK) hr_error_prefix(err, "restoring its variables: ");
    return st;
}

static hr_status initialize(const hr_saved_model *m, const path_feeds *p, hr_error *err)
{
    hr_node node;
    const char *name = hr__initializer_of(m->meta);
    if (!*name) return HR_OK;
    HR_TRY(model_node(m, name, "a node that initializes the model", &node, err));
    const hr_status st = run_node(m, node, p, err);
    if (st != HR_OK) hr_error_prefix(err, "running its initializer: ");
    return st;
}

static hr_status begin_model(const hr_saved_model *m, bool any_file, hr_error *err)
{
    hr__assets assets;
    path_feeds paths = {0};
    const hr_status found = hr__objects_restore(m, any_file ? NULL : m->folder, err);
    if (found != HR_OK) hr_error_prefix(err, "restoring the variables of its objects: ");
    HR_TRY(found);
    HR_TRY(hr__assets_of(m->graph, m->meta, &assets, err));
    hr_status st = paths_of(m, &assets, &paths, err);
    if (st == HR_OK) st = restore_variables(m, &paths, err);
    if (st == HR_OK) st = initialize(m, &paths, err);
    paths_clear(&paths);
    hr__assets_clear(&assets);
    return st;
}

/* ---- the graph ---- */

/* The file with the graph may be no link out of the folder, and no pipe. */
static hr_status check_file(const char *real, const char *folder, const char *name, hr_error *err)
{
    struct stat about;
    char *path = hr__path_in(folder, name);
    if (!path) return hr_no_memory(err, "a path");
    const hr_status st = lstat(path, &about) == 0 ? hr__path_within(real, path, err) : HR_OK;
    hr_free(path);
    return st;
}

static hr_status check_files(const char *folder, hr_error *err)
{
    char *real;
    HR_TRY(hr__path_real(folder, &real, err));
    hr_status st = check_file(real, folder, "saved_model.pbtxt", err);
    if (st == HR_OK) st = check_file(real, folder, "saved_model.pb", err);
    hr_free(real);
    return st;
}

static hr_status read_graph(hr_saved_model *m, const hr_saved_model_opts *o, hr_error *err)
{
    hr_session_opts opts = o->session ? HR_OPTIONS(hr_session_opts, o->session) : (hr_session_opts){0};
    opts.struct_size = sizeof opts;
    opts.folder = o->any_file ? NULL : m->folder;
    if (!o->any_file) HR_TRY(check_files(m->folder, err));
    m->graph = hr_graph_new();
    if (!m->graph) return hr_no_memory(err, "a graph");
    if (o->use) o->use(m->graph, o->user);
    HR_TRY(hr_saved_model_read(m->graph, m->folder, o->tags, &m->meta, err));
    m->session = hr_session_new_with(m->graph, &opts);
    return m->session ? HR_OK : hr_no_memory(err, "a session");
}

hr_status hr_saved_model_load_with(const char *folder, const hr_saved_model_opts *given, hr_saved_model **out,
                                   hr_error *err)
{
    const hr_saved_model_opts opts = HR_OPTIONS(hr_saved_model_opts, given);
    hr_error failed = {0};
    if (!folder || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_saved_model_load: expected a folder and a place for the model, got NULL");
    *out = NULL;
    hr_saved_model *m = hr_calloc(1, sizeof *m);
    if (!m) return hr_no_memory(err, "a model");
    atomic_init(&m->references, 1);
    m->folder = hr_strdup(folder);
    hr_status st = m->folder ? read_graph(m, &opts, &failed) : hr_no_memory(&failed, "a model");
    if (st == HR_OK) {
        st = begin_model(m, opts.any_file, &failed);
        if (st != HR_OK) hr_error_prefix(&failed, "%s: ", folder);
    }
    if (st == HR_OK) {
        *out = m;
        return HR_OK;
    }
    hr_saved_model_unref(m);
    if (err) *err = failed;
    return st;
}

/* ---- what was loaded ---- */

hr_saved_model *hr_saved_model_ref(hr_saved_model *m)
{
    if (m) atomic_fetch_add_explicit(&m->references, 1, memory_order_relaxed);
    return m;
}

void hr_saved_model_unref(hr_saved_model *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->references, 1, memory_order_acq_rel) > 1) return;
    hr_session_free(m->session);
    hr_meta_graph_free(m->meta);
    hr_graph_free(m->graph);
    hr_free(m->folder);
    hr_free(m);
}

hr_graph *hr_saved_model_graph(const hr_saved_model *m) { return m ? m->graph : NULL; }
hr_session *hr_saved_model_session(const hr_saved_model *m) { return m ? m->session : NULL; }
const hr_meta_graph *hr_saved_model_meta(const hr_saved_model *m) { return m ? m->meta : NULL; }
const char *hr_saved_model_folder(const hr_saved_model *m) { return m ? m->folder : ""; }

const hr_meta_signature *hr_saved_model_signature(const hr_saved_model *m, const char *key)
{
    const hr_meta_signature *s;
    for (int i = 0; m && (s = hr_meta_graph_signature(m->meta, i)); i++)
        if (strcmp(s->key, key ? key : "serving_default") == 0) return s;
    return NULL;
}
