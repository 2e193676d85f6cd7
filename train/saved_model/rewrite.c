/* Models written again for use: what their signatures and their initializer need, with variables as constants,
 * transformed. */
#include "train/graph/graph_internal.h"
#include "train/saved_model/saved_model_internal.h"
#include <headrace/graph_op.h>
#include <headrace/transforms.h>

#include <string.h>

/* A graph on its way, with what stays of it: nodes by their names. */
typedef struct rewriting {
    hr_saved_model *model;
    hr_graph *graph; /* the model's, or one of its own */
    hr_node *output, *input;
    int outputs, inputs;
} rewriting;

static void add_end(const rewriting *r, const char *name, bool target, hr_node *list, int *count)
{
    hr_node node = name ? hr_graph_node(r->graph, name) : (hr_node){0};
    if (!hr_node_exists(node)) return;
    if (target) node = hr_target(node);
    for (int i = 0; i < *count; i++)
        if (list[i].id == node.id && list[i].output == node.output) return;
    list[(*count)++] = node;
}

static void add_ends(const rewriting *r, const hr_meta_tensor *t, int tensors, hr_node *list, int *count)
{
    for (int i = 0; i < tensors; i++) {
        add_end(r, t[i].name, false, list, count);
        add_end(r, t[i].indices, false, list, count);
        add_end(r, t[i].dense_shape, false, list, count);
    }
}

/* Variables that stay need their nodes, and what gives them their first values. */
static void add_variables(rewriting *r)
{
    for (int i = 0; i < hr_graph_variables(r->graph); i++) {
        const hr_variable_info *v = hr_graph_variable(r->graph, i);
        if (!hr_node_exists(v->initializer)) continue;
        add_end(r, hr_node_name(v->initializer), true, r->output, &r->outputs);
        add_end(r, hr_node_name(v->read), true, r->output, &r->outputs);
    }
}

static hr_status find_ends(rewriting *r, bool variables, hr_error *err)
{
    const hr_meta_graph *meta = r->model->meta;
    const hr_meta_signature *s;
    size_t most = 2 * (size_t)hr_graph_variables(r->graph) + 2;
    for (int i = 0; (s = hr_meta_graph_signature(meta, i)); i++)
        most += 3 * ((size_t)s->input_count + (size_t)s->output_count);
    hr_free(r->output);
    hr_free(r->input);
    r->outputs = r->inputs = 0;
    r->output = hr_calloc(most, sizeof *r->output);
    r->input = hr_calloc(most, sizeof *r->input);
    if (!r->output || !r->input) return hr_no_memory(err, "a model");
    for (int i = 0; (s = hr_meta_graph_signature(meta, i)); i++) {
        if (strncmp(s->key, "__saved_model", 13) == 0) continue;
        add_ends(r, s->outputs, s->output_count, r->output, &r->outputs);
        add_ends(r, s->inputs, s->input_count, r->input, &r->inputs);
    }
    add_end(r, hr__initializer_of(meta), true, r->output, &r->outputs);
    if (variables) add_variables(r);
    return HR_OK;
}

/* Takes `next`. */
static hr_status go_on(rewriting *r, hr_graph *next, bool variables, hr_error *err)
{
    if (r->graph != r->model->graph) hr_graph_free(r->graph);
    r->graph = next;
    return find_ends(r, variables, err);
}

/* The values of such a table are in the checkpoint, which a frozen model has none of. */
static hr_status expect_no_restored_table(const rewriting *r, hr_error *err)
{
    hr_meta_saver saver;
    if (!hr_meta_graph_saver(r->model->meta, &saver) || !*saver.restore) return HR_OK;
    for (int32_t id = 0; id < hr_graph_size(r->graph); id++) {
        const hr_node node = {r->graph, id, 0};
        const char *op = hr_node_op(node);
        if (strncmp(op, "Mutable", 7) == 0 && strstr(op, "HashTable"))
            return hr_fail(err, HR_UNIMPLEMENTED, "savedmodel.table",
                           "%.200s: table '%.100s' is filled from the checkpoint, and cannot be frozen",
                           r->model->folder, hr_node_name(node));
    }
    return HR_OK;
}

static hr_status rewrite_graph(rewriting *r, const hr_saved_model_rewrite_opts *o, hr_error *err)
{
    hr_graph *next;
    const bool variables = !o->freeze;
    HR_TRY(find_ends(r, variables, err));
    if (variables && hr_meta_graph_has_objects(r->model->meta))
        return hr_fail(
            err, HR_UNIMPLEMENTED, "savedmodel.objects",
            "%.200s: expected a model without objects of TensorFlow 2, whose variables need the whole graph; "
            "freeze it",
            r->model->folder);
    if (o->freeze) {
        const hr_freeze_opts freeze = {.struct_size = sizeof freeze, .keep_assigned = true};
        HR_TRY(hr_freeze_graph_with(r->model->session, r->output, r->outputs, &freeze, &next, err));
        HR_TRY(go_on(r, next, variables, err));
        HR_TRY(expect_no_restored_table(r, err));
    }
    if (o->transforms) {
        HR_TRY(hr_graph_transform(r->graph, o->transforms, r->output, r->outputs, &next, err, .inputs = r->input,
                                  .input_count = r->inputs));
        HR_TRY(go_on(r, next, variables, err));
    }
    if (o->passes) {
        HR_TRY(hr_graph_apply_passes(r->graph, o->passes, r->output, r->outputs, &next, err, .inputs = r->input,
                                     .input_count = r->inputs));
        HR_TRY(go_on(r, next, variables, err));
    }
    if (r->graph != r->model->graph) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                   "hr_saved_model_rewrite: expected .freeze, .transforms or .passes, got none of them");
}

static void rewriting_end(rewriting *r)
{
    if (r->graph != r->model->graph) hr_graph_free(r->graph);
    hr_free(r->output);
    hr_free(r->input);
}

hr_status hr_saved_model_rewritten_graph(hr_saved_model *m, const hr_saved_model_rewrite_opts *given, hr_graph **out,
                                         hr_error *err)
{
    const hr_saved_model_rewrite_opts opts = HR_OPTIONS(hr_saved_model_rewrite_opts, given);
    if (!m || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_saved_model_rewritten_graph: expected a model and a place for the graph, got NULL");
    rewriting r = {.model = m, .graph = m->graph};
    *out = NULL;
    const hr_status st = rewrite_graph(&r, &opts, err);
    if (st == HR_OK) {
        *out = r.graph;
        r.graph = m->graph;
    }
    rewriting_end(&r);
    return st;
}

static hr_status write_rewritten(const rewriting *r, const char *folder, bool text, hr_error *err)
{
    hr_saved_model_writer *w;
    hr_session *s = hr_session_new(r->graph, .share = r->model->session);
    if (!s) return hr_no_memory(err, "a session");
    hr_status st = hr_saved_model_writer_open(folder, &w, err, .text = text);
    if (st == HR_OK) {
        st = hr_saved_model_writer_add(w, s, err, .model = r->model);
        if (st == HR_OK)
            st = hr_saved_model_writer_commit(w, err);
        else
            hr_saved_model_writer_discard(w);
    }
    hr_session_free(s);
    return st;
}

hr_status hr_saved_model_rewrite_with(hr_saved_model *m, const char *folder, const hr_saved_model_rewrite_opts *given,
                                      hr_error *err)
{
    const hr_saved_model_rewrite_opts opts = HR_OPTIONS(hr_saved_model_rewrite_opts, given);
    if (!m || !folder)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_saved_model_rewrite: expected a model and a folder, got NULL");
    rewriting r = {.model = m, .graph = m->graph};
    hr_status st = rewrite_graph(&r, &opts, err);
    if (st == HR_OK) st = write_rewritten(&r, folder, opts.text, err);
    rewriting_end(&r);
    return st;
}
