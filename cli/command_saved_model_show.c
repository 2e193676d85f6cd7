/* headrace saved-model show: the graphs of a SavedModel, their signatures, their variables and files. */
#include "cli/command.h"
#include "cli/json_line.h"
#include <dirent.h>
#include <headrace/checkpoint.h>
#include <headrace/saved_model.h>
#include <string.h>
#include <sys/stat.h>

typedef struct shown_model {
    hr_meta_graph **graph;
    int graphs;
    hr_bundle *variables; /* NULL: there are none */
    const hr_bundle_entry *entry;
    int entries;
} shown_model;

static hr_status open_variables(const char *folder, shown_model *m, hr_error *err)
{
    char prefix[4096], index[4200];
    struct stat about;
    snprintf(prefix, sizeof prefix, "%s/variables/variables", folder);
    snprintf(index, sizeof index, "%s.index", prefix);
    if (stat(index, &about) != 0) return HR_OK;
    HR_TRY(hr_bundle_open(prefix, &m->variables, err));
    return hr_bundle_list(m->variables, &m->entry, &m->entries, err);
}

static void close_model(shown_model *m)
{
    hr_bundle_free(m->variables);
    hr_saved_model_metas_free(m->graph, m->graphs);
}

/* "serve,gpu" */
static void list_tags(const hr_meta_graph *m, text_buffer *out)
{
    for (int i = 0; hr_meta_graph_tag(m, i); i++) {
        if (i > 0) text_byte(out, ',');
        text_add(out, hr_meta_graph_tag(m, i));
    }
    text_add(out, "");
}

/* Of --tag-set, in any order; without it, all are wanted. */
static bool is_tagged(const command_call *call, const hr_meta_graph *m)
{
    int wanted = 0, has = 0;
    const char *const *tag = flag_words(call, "tag-set", &wanted);
    if (!tag) return true;
    for (; hr_meta_graph_tag(m, has); has++) {
        bool found = false;
        for (int i = 0; i < wanted; i++) found |= strcmp(tag[i], hr_meta_graph_tag(m, has)) == 0;
        if (!found) return false;
    }
    return has == wanted;
}

static bool is_signature_wanted(const command_call *call, const hr_meta_signature *s)
{
    const char *wanted = flag_text(call, "signature-def");
    return wanted ? strcmp(s->key, wanted) == 0 : strncmp(s->key, "__saved_model", 13) != 0;
}

/* ---- for people ---- */

static void print_tensors(const char *what, const hr_meta_tensor *t, int count)
{
    for (int i = 0; i < count; i++) {
        char shape[256];
        printf("  %s %s: %s%s", what, t[i].key, hr_dtype_name(t[i].dtype),
               hr_shape_text(t[i].shape, shape, sizeof shape));
        if (t[i].indices)
            printf(" sparse (%s, %s, %s)\n", t[i].name, t[i].indices, t[i].dense_shape ? t[i].dense_shape : "");
        else
            printf(" (%s)\n", t[i].name ? t[i].name : "of another kind");
    }
}

static void print_graph(const command_call *call, const hr_meta_graph *m)
{
    text_buffer tags = {0};
    const hr_meta_signature *s;
    hr_meta_asset asset;
    list_tags(m, &tags);
    printf("graph %s: %s nodes", tags.data && *tags.data ? tags.data : "without tags",
           with_commas(hr_meta_graph_nodes(m)));
    if (*hr_meta_graph_version(m)) printf(", by TensorFlow %s", hr_meta_graph_version(m));
    printf("%s\n", hr_meta_graph_has_objects(m) ? ", with objects of TensorFlow 2" : "");
    text_free(&tags);
    for (int i = 0; (s = hr_meta_graph_signature(m, i)); i++) {
        if (!is_signature_wanted(call, s)) continue;
        printf("signature %s: %s\n", s->key, *s->method ? s->method : "no method");
        print_tensors("input", s->inputs, s->input_count);
        print_tensors("output", s->outputs, s->output_count);
    }
    for (int i = 0; hr_meta_graph_asset(m, i, &asset); i++) printf("file %s: %s\n", asset.filename, asset.tensor);
}

static void print_variables(const shown_model *m)
{
    for (int i = 0; i < m->entries; i++) {
        char shape[256];
        printf("variable %s: %s%s\n", m->entry[i].name, hr_dtype_name(m->entry[i].dtype),
               hr_shape_text(m->entry[i].shape, shape, sizeof shape));
    }
}

/* ---- for programs ---- */

static void json_tensors(json_line *line, const char *key, const hr_meta_tensor *t, int count)
{
    json_open(line, key, '{');
    for (int i = 0; i < count; i++) {
        json_open(line, t[i].key, '{');
        json_text(line, "dtype", hr_dtype_name(t[i].dtype));
        if (t[i].shape.rank < 0) {
            json_null(line, "shape");
        } else {
            json_open(line, "shape", '[');
            for (int k = 0; k < t[i].shape.rank; k++) json_count(line, NULL, t[i].shape.dims[k]);
            json_close(line, ']');
        }
        json_text(line, "name", t[i].name ? t[i].name : "");
        json_bool(line, "sparse", t[i].indices != NULL);
        json_close(line, '}');
    }
    json_close(line, '}');
}

static void json_graph(const command_call *call, json_line *line, const hr_meta_graph *m)
{
    const hr_meta_signature *s;
    json_open(line, NULL, '{');
    json_open(line, "tags", '[');
    for (int i = 0; hr_meta_graph_tag(m, i); i++) json_text(line, NULL, hr_meta_graph_tag(m, i));
    json_close(line, ']');
    json_count(line, "nodes", hr_meta_graph_nodes(m));
    json_text(line, "tensorflow_version", hr_meta_graph_version(m));
    json_open(line, "signatures", '{');
    for (int i = 0; (s = hr_meta_graph_signature(m, i)); i++) {
        if (!is_signature_wanted(call, s)) continue;
        json_open(line, s->key, '{');
        json_text(line, "method_name", s->method);
        json_tensors(line, "inputs", s->inputs, s->input_count);
        json_tensors(line, "outputs", s->outputs, s->output_count);
        json_close(line, '}');
    }
    json_close(line, '}');
    json_close(line, '}');
}

static void show_as_json(const command_call *call, const shown_model *m)
{
    json_line line;
    json_begin(&line);
    json_open(&line, "graphs", '[');
    for (int i = 0; i < m->graphs; i++)
        if (is_tagged(call, m->graph[i])) json_graph(call, &line, m->graph[i]);
    json_close(&line, ']');
    json_open(&line, "variables", '[');
    for (int i = 0; i < m->entries; i++) json_text(&line, NULL, m->entry[i].name);
    json_close(&line, ']');
    json_end(&line);
}

static hr_status check_wanted(const command_call *call, const shown_model *m, hr_error *err)
{
    int graphs = 0, signatures = 0;
    for (int i = 0; i < m->graphs; i++) {
        if (!is_tagged(call, m->graph[i])) continue;
        graphs++;
        for (int k = 0; hr_meta_graph_signature(m->graph[i], k); k++)
            signatures += is_signature_wanted(call, hr_meta_graph_signature(m->graph[i], k));
    }
    if (graphs == 0)
        return hr_fail(err, HR_NOT_FOUND, "savedmodel.tags", "expected a graph%s%s%s, found none",
                       flag_given(call, "tag-set") ? " of the tags '" : "",
                       flag_given(call, "tag-set") ? flag_text(call, "tag-set") : "",
                       flag_given(call, "tag-set") ? "'" : "");
    if (signatures == 0 && flag_given(call, "signature-def"))
        return hr_fail(err, HR_NOT_FOUND, "savedmodel.signature", "expected a signature '%.60s', found none",
                       flag_text(call, "signature-def"));
    return HR_OK;
}

static int saved_model_show_run(command_call *call)
{
    shown_model m = {.graphs = 0};
    hr_error err = {0};
    const char *folder = call_argument(call, 0);
    hr_status st = hr_saved_model_metas(folder, &m.graph, &m.graphs, &err);
    if (st == HR_OK) st = check_wanted(call, &m, &err);
    if (st == HR_OK) st = open_variables(folder, &m, &err);
    if (st == HR_OK && flag_given(call, "json")) {
        show_as_json(call, &m);
    } else if (st == HR_OK) {
        for (int i = 0; i < m.graphs; i++)
            if (is_tagged(call, m.graph[i])) print_graph(call, m.graph[i]);
        if (!flag_given(call, "signature-def")) print_variables(&m);
    }
    close_model(&m);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_LIST, "tag-set", 0, "TAGS", "only the graph of these tags, such as serve,gpu"},
    {FLAG_TEXT, "signature-def", 0, "NAME", "only this signature"},
    {FLAG_SWITCH, "json", 0, NULL, "print one line of JSON"},
    {0},
};

const command command_saved_model_show = {
    .name = "saved-model show",
    .arguments = "DIR",
    .summary = "the graphs of a SavedModel: signatures, variables, files",
    .text = "Reads the file of a SavedModel and the index of its variables. Its graphs are not checked and nothing is "
            "run, so models whose ops are not known here are shown, too.",
    .examples = "  headrace saved-model show export/1700000000\n"
                "  headrace saved-model show export/1700000000 --signature-def serving_default --json\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = saved_model_show_run,
    .underscores = true,
};
