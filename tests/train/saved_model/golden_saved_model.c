/* SavedModels that TensorFlow wrote: loaded, looked at, run; and those of estimators, exported here. */
#include "tests/golden/golden.h"
#include "tests/train/saved_model/golden_exports.h"
#include "train/graph/graph_internal.h"
#include <headrace/checkpoint.h>
#include <headrace/saved_model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 /* tensors of a signature, ops */ };

static const cJSON *of(const golden_case *c, const char *key) { return golden_get(c->json, key); }
static const cJSON *expected(const golden_case *c, const char *key) { return golden_get(of(c, "expect"), key); }

/* ---- loading ---- */

static void list_tags(const golden_case *c, char *text, size_t size)
{
    const cJSON *tag;
    *text = 0;
    cJSON_ArrayForEach(tag, of(c, "tags"))
    {
        const size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%s", at ? "," : "", tag->valuestring);
    }
}

static hr_status load(const golden_case *c, hr_saved_model **m, hr_error *err)
{
    char tags[200], folder[1200];
    list_tags(c, tags, sizeof tags);
    snprintf(folder, sizeof folder, "%s/%s", c->folder, golden_text(c->json, "dir", ""));
    return hr_saved_model_load(folder, m, err, .tags = tags);
}

static bool error_fits(golden_case *c, const cJSON *error, const hr_error *err)
{
    const char *class = golden_text(error, "class", ""), *got = hr_status_name(err->code);
    const cJSON *also;
    if (strcmp(class, got) == 0) return true;
    cJSON_ArrayForEach(also, golden_get(error, "class_also"))
    {
        if (strcmp(also->valuestring, got) == 0) return true;
    }
    golden_differs(c, "expected %s, got %s: %s", class, got, err->text);
    return false;
}

/* ---- what is in it ---- */

static bool shape_is(const cJSON *json, hr_shape got)
{
    if (!cJSON_IsArray(json)) return got.rank < 0;
    if (cJSON_GetArraySize(json) != got.rank) return false;
    for (int i = 0; i < got.rank; i++)
        if (golden_number_int64(cJSON_GetArrayItem(json, i)) != got.dims[i]) return false;
    return true;
}

static const char *dtype_name(hr_dtype dtype) { return dtype ? hr_dtype_name(dtype) : "unset"; }

static bool text_is(const cJSON *object, const char *key, const char *got)
{
    return strcmp(golden_text(object, key, ""), got ? got : "") == 0;
}

static bool tensor_is(const cJSON *json, const hr_meta_tensor *got)
{
    const cJSON *sparse = golden_get(json, "coo_sparse");
    const bool named = sparse ? got->indices && text_is(sparse, "values", got->name) &&
                                    text_is(sparse, "indices", got->indices) &&
                                    text_is(sparse, "dense_shape", got->dense_shape)
                              : text_is(json, "name", got->name);
    return named && text_is(json, "dtype", dtype_name(got->dtype)) && shape_is(golden_get(json, "shape"), got->shape);
}

static bool tensors_fit(golden_case *c, const cJSON *json, const hr_meta_tensor *got, int count, const char *of_what)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_fields(json))
    {
        int i = 0;
        while (i < count && strcmp(got[i].key, item->string) != 0) i++;
        if (i < count && tensor_is(item, &got[i])) continue;
        golden_differs(c, "%s: '%s' is %s", of_what, item->string, i < count ? "another tensor" : "not there");
        return false;
    }
    if (cJSON_GetArraySize(json) == count) return true;
    golden_differs(c, "%s: %d tensors", of_what, count);
    return false;
}

static bool signatures_fit(golden_case *c, const hr_saved_model *m)
{
    const cJSON *json, *all = golden_fields(expected(c, "signatures"));
    int count = 0;
    cJSON_ArrayForEach(json, all)
    {
        const hr_meta_signature *s = hr_saved_model_signature(m, json->string);
        if (!s || !text_is(json, "method_name", s->method)) {
            golden_differs(c, "signature '%s' is %s", json->string, s ? "of another method" : "not there");
            return false;
        }
        if (!tensors_fit(c, golden_get(json, "inputs"), s->inputs, s->input_count, json->string)) return false;
        if (!tensors_fit(c, golden_get(json, "outputs"), s->outputs, s->output_count, json->string)) return false;
    }
    while (hr_meta_graph_signature(hr_saved_model_meta(m), count)) count++;
    if (count == cJSON_GetArraySize(all)) return true;
    golden_differs(c, "%d signatures", count);
    return false;
}

static bool variables_fit(golden_case *c)
{
    char prefix[1200];
    hr_error err;
    hr_bundle *bundle;
    const hr_bundle_entry *entry;
    int count = 0;
    const cJSON *json, *all = expected(c, "variables");
    if (!all) return true;
    snprintf(prefix, sizeof prefix, "%s/%s/variables/variables", c->folder, golden_text(c->json, "dir", ""));
    bool fits = hr_bundle_open(prefix, &bundle, &err) == HR_OK && hr_bundle_list(bundle, &entry, &count, &err) == HR_OK;
    fits = fits && count == cJSON_GetArraySize(all);
    for (int i = 0; fits && i < count; i++) {
        json = cJSON_GetArrayItem(all, i);
        fits = strcmp(cJSON_GetArrayItem(json, 0)->valuestring, entry[i].name) == 0 &&
               strcmp(cJSON_GetArrayItem(json, 1)->valuestring, hr_dtype_name(entry[i].dtype)) == 0 &&
               shape_is(cJSON_GetArrayItem(json, 2), entry[i].shape);
    }
    hr_bundle_free(bundle);
    golden_whole(all);
    if (!fits) golden_differs(c, "other variables");
    return fits;
}

/* ---- the graph ---- */

static bool has_op(hr_graph *g, const char *op)
{
    for (int32_t i = 0; i < g->node_count; i++)
        if (strcmp(hr_node_op((hr_node){g, i, 0}), op) == 0) return true;
    return false;
}

static bool graph_fits(golden_case *c, hr_graph *g)
{
    static const char *const lists[] = {"ops", "ops_needed"};
    int nodes = 0, functions = 0;
    for (int32_t i = 0; i < g->node_count; i++) nodes += !hr_node_hidden((hr_node){g, i, 0});
    for (int i = 0; i < g->function_count; i++) functions += !g->functions[i]->hidden;
    if (nodes != golden_int(of(c, "expect"), "nodes", nodes) ||
        functions != golden_int(of(c, "expect"), "functions", functions)) {
        golden_differs(c, "%d nodes and %d functions", nodes, functions);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        const cJSON *op;
        cJSON_ArrayForEach(op, golden_whole(expected(c, lists[i])))
        {
            bool found = has_op(g, op->valuestring);
            for (int f = 0; f < g->function_count && !found; f++)
                found = has_op(g->functions[f]->body, op->valuestring);
            if (!found) golden_differs(c, "no node %s", op->valuestring);
            if (!found) return false;
        }
    }
    return true;
}

static int collected(const hr_meta_graph *meta, const char *key, const char *node)
{
    const hr_meta_collection *in;
    for (int i = 0; (in = hr_meta_graph_collection(meta, i)); i++)
        if (strcmp(in->key, key) == 0)
            return !node || (in->kind == HR_META_NODES && strcmp(in->nodes[0], node) == 0) ? in->count : -1;
    return 0;
}

/* What is run after restoring: a node by a signature or by a collection. */
static bool initializer_fits(golden_case *c, const hr_saved_model *m)
{
    const cJSON *init = golden_whole(expected(c, "init_op"));
    const char *node = init ? cJSON_GetArrayItem(golden_get(init, "node"), 0)->valuestring : "";
    const char *key = golden_text(init, "collection", NULL), *signature = golden_text(init, "signature", NULL);
    const hr_meta_signature *s = signature ? hr_saved_model_signature(m, signature) : NULL;
    if (!init || (key && collected(hr_saved_model_meta(m), key, node) > 0) ||
        (s && strcmp(s->outputs[0].name, node) == 0))
        return true;
    golden_differs(c, "another initializer");
    return false;
}

static bool belongings_fit(golden_case *c, const hr_saved_model *m)
{
    const hr_meta_graph *meta = hr_saved_model_meta(m);
    const cJSON *item, *assets = golden_whole(expected(c, "assets"));
    hr_meta_saver saver;
    hr_meta_asset asset;
    int i = 0;
    cJSON_ArrayForEach(item, golden_whole(expected(c, "collections")))
    {
        if (collected(meta, item->string, NULL) == (int)golden_number_int64(item)) continue;
        golden_differs(c, "collection '%s' has %d items", item->string, collected(meta, item->string, NULL));
        return false;
    }
    cJSON_ArrayForEach(item, assets)
    {
        if (hr_meta_graph_asset(meta, i++, &asset) && text_is(item, "tensor", asset.tensor) &&
            text_is(item, "filename", asset.filename))
            continue;
        golden_differs(c, "another asset");
        return false;
    }
    if (hr_meta_graph_saver(meta, &saver) == golden_bool(of(c, "expect"), "saver", false)) return true;
    golden_differs(c, "a saver that should not be there, or none");
    return false;
}

/* ---- calls ---- */

typedef struct call {
    hr_named_tensor input[MOST], output[MOST];
    int inputs, outputs;
} call;

static void read_call(const cJSON *json, const cJSON *result, call *out)
{
    const cJSON *item;
    memset(out, 0, sizeof *out);
    cJSON_ArrayForEach(item, golden_fields(golden_get(json, "inputs")))
    {
        out->input[out->inputs].name = item->string;
        golden_tensor(item, &out->input[out->inputs++].value);
    }
    cJSON_ArrayForEach(item, golden_fields(golden_get(result, "outputs"))) out->output[out->outputs++].name =
        item->string;
}

static bool call_fits(golden_case *c, hr_saved_model *m, const cJSON *json, const cJSON *result)
{
    call run;
    hr_error err;
    const char *signature = golden_text(json, "signature", NULL);
    read_call(json, result, &run);
    bool fits = strcmp(golden_text(result, "signature", signature), signature) == 0;
    const hr_status st = hr_saved_model_run(m, signature, run.input, run.inputs, run.output, run.outputs, &err);
    if (st != HR_OK) golden_differs(c, "signature '%s': %s", signature, err.text);
    for (int i = 0; st == HR_OK && fits && i < run.outputs; i++)
        fits = golden_equal_json(c, run.output[i].name, golden_get(golden_get(result, "outputs"), run.output[i].name),
                                 &run.output[i].value);
    for (int i = 0; i < run.inputs; i++) golden_tensor_clear(&run.input[i].value);
    for (int i = 0; st == HR_OK && i < run.outputs; i++) hr_tensor_clear(&run.output[i].value);
    return st == HR_OK && fits;
}

static bool calls_fit(golden_case *c, hr_saved_model *m)
{
    const cJSON *json, *results = expected(c, "results");
    int i = 0;
    cJSON_ArrayForEach(json, of(c, "calls"))
    {
        if (!call_fits(c, m, json, cJSON_GetArrayItem(results, i++))) return false;
    }
    return true;
}

/* The first call that fails. */
static golden_result call_fails(golden_case *c, hr_saved_model *m, const cJSON *error)
{
    const cJSON *json;
    cJSON_ArrayForEach(json, of(c, "calls"))
    {
        call run;
        hr_error err = {0};
        const hr_meta_signature *s = hr_saved_model_signature(m, golden_text(json, "signature", NULL));
        read_call(json, NULL, &run);
        for (int i = 0; s && i < s->output_count && i < MOST; i++) run.output[run.outputs++].name = s->outputs[i].key;
        const hr_status st = hr_saved_model_run(m, golden_text(json, "signature", NULL), run.input, run.inputs,
                                                run.output, run.outputs, &err);
        for (int i = 0; i < run.inputs; i++) golden_tensor_clear(&run.input[i].value);
        for (int i = 0; st == HR_OK && i < run.outputs; i++) hr_tensor_clear(&run.output[i].value);
        if (st != HR_OK) return error_fits(c, error, &err) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
    }
    return golden_differs(c, "no call fails");
}

/* ---- a case ---- */

/* What is in the folder is what the case says. */
static bool files_fit(golden_case *c)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, golden_whole(of(c, "files")))
    {
        char name[600];
        snprintf(name, sizeof name, "%s/%s", golden_text(c->json, "dir", ""), file->string);
        hr_view bytes = golden_file(c, name);
        if (bytes.size >= 0) free((void *)(uintptr_t)bytes.data);
        if (bytes.size == golden_number_int64(file)) continue;
        golden_differs(c, "file '%s' has %lld bytes", name, (long long)bytes.size);
        return false;
    }
    return true;
}

/* ---- the same model, exported here ---- */

/* Names of tensors are free. */
static bool same_tensors(golden_case *c, const char *key, const hr_meta_tensor *a, int count_a, const hr_meta_tensor *b,
                         int count_b)
{
    char theirs[100], ours[100];
    for (int i = 0; i < count_a; i++) {
        int k = 0;
        while (k < count_b && strcmp(a[i].key, b[k].key) != 0) k++;
        if (k < count_b && a[i].dtype == b[k].dtype && hr_shape_equal(a[i].shape, b[k].shape)) continue;
        golden_differs(c, "exported: signature '%s': '%s' is %s %s, expected %s %s", key, a[i].key,
                       k < count_b ? dtype_name(b[k].dtype) : "not there",
                       k < count_b ? hr_shape_text(b[k].shape, ours, sizeof ours) : "", dtype_name(a[i].dtype),
                       hr_shape_text(a[i].shape, theirs, sizeof theirs));
        return false;
    }
    if (count_a != count_b) golden_differs(c, "exported: signature '%s' has %d tensors", key, count_b);
    return count_a == count_b;
}

static bool same_signatures(golden_case *c, const hr_saved_model *theirs, const hr_saved_model *ours)
{
    int count = 0, own = 0;
    for (const hr_meta_signature *s; (s = hr_meta_graph_signature(hr_saved_model_meta(theirs), count)); count++) {
        const hr_meta_signature *o = hr_saved_model_signature(ours, s->key);
        if (!o || strcmp(o->method, s->method) != 0) {
            golden_differs(c, "exported: signature '%s' is %s", s->key, o ? "of another method" : "not there");
            return false;
        }
        if (!same_tensors(c, s->key, s->inputs, s->input_count, o->inputs, o->input_count) ||
            !same_tensors(c, s->key, s->outputs, s->output_count, o->outputs, o->output_count))
            return false;
    }
    while (hr_meta_graph_signature(hr_saved_model_meta(ours), own)) own++;
    if (own == count) return true;
    golden_differs(c, "exported: %d signatures, expected %d", own, count);
    return false;
}

static bool exported_is(golden_case *c, const hr_saved_model *theirs, const char *path)
{
    hr_error err;
    hr_saved_model *ours;
    if (hr_saved_model_load(path, &ours, &err) != HR_OK) {
        golden_differs(c, "exported: %s", err.text);
        return false;
    }
    const bool same = same_signatures(c, theirs, ours) && calls_fit(c, ours);
    hr_saved_model_unref(ours);
    return same;
}

static bool export_fits(golden_case *c, const hr_saved_model *theirs)
{
    char variables[1200], *path;
    hr_error err;
    const cJSON *model = golden_whole(of(c, "model"));
    golden_whole(of(c, "label")); /* what it was trained by */
    const bool raw = strcmp(golden_text(c->json, "receiver", ""), "raw") == 0;
    if (!model) return true;
    snprintf(variables, sizeof variables, "%s/%s/variables/variables", c->folder, golden_text(c->json, "dir", ""));
    if (golden_export(c, model, variables, raw, strstr(c->name, "text"), &path, &err) != HR_OK) {
        golden_differs(c, "exporting: %s", err.text);
        return false;
    }
    const bool same = exported_is(c, theirs, path);
    hr_free(path);
    return same;
}

static golden_result model_fits(golden_case *c, hr_saved_model *m)
{
    golden_whole(expected(c, "producer"));     /* versions of the file; a graph has that of its writer */
    golden_whole(expected(c, "nodes_needed")); /* says how many `ops_needed` is about */
    golden_whole(expected(c, "object_graph")); /* only TensorFlow 2's loader reads it */
    golden_whole(expected(c, "tf2_loader"));   /* that it agreed */
    const bool fits = files_fit(c) && signatures_fit(c, m) && variables_fit(c) &&
                      graph_fits(c, hr_saved_model_graph(m)) && belongings_fit(c, m) && initializer_fits(c, m) &&
                      calls_fit(c, m) && export_fits(c, m);
    return fits ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

static golden_result run_case(golden_case *c)
{
    hr_error err = {0};
    hr_saved_model *m;
    const cJSON *error = of(c, "error");
    golden_text(error, "python_class", "");
    golden_whole(golden_get(error, "class_also"));
    const bool load_fails = error && strcmp(golden_text(error, "stage", "load"), "load") == 0;
    const hr_status st = load(c, &m, &err);
    if (st == HR_UNIMPLEMENTED && strcmp(err.kind, "graph.kernel") == 0) return golden_not_built(c, "%s", err.text);
    if (st != HR_OK && !load_fails) return golden_differs(c, "loading: %s", err.text);
    if (st != HR_OK) return error_fits(c, error, &err) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
    golden_result result = GOLDEN_DIFFERS;
    if (load_fails)
        golden_differs(c, "expected %s, but it was loaded", golden_text(error, "class", ""));
    else
        result = error ? call_fails(c, m, error) : model_fits(c, m);
    hr_saved_model_unref(m);
    return result;
}

int main(void) { return golden_main("saved_model", GOLDEN_ROOT, run_case); }
