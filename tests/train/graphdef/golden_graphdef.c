/* Graphs that TensorFlow wrote: read from bytes and from text, what is in them, what comes out when they run. */
#include "tests/golden/golden.h"
#include "train/graph/graph_internal.h"
#include <headrace/meta_graph.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 /* feeds, fetches and targets of a run */ };

static const cJSON *of(const golden_case *c, const char *key) { return golden_get(c->json, key); }

/* ---- reading ---- */

static void count_warning(const char *text, void *count)
{
    (void)text;
    ++*(int *)count;
}

static bool is_meta(const golden_case *c) { return strcmp(golden_text(c->json, "kind", ""), "meta_graph_def") == 0; }

/* `meta`: of a MetaGraphDef; NULL: it is not wanted. */
static hr_status import_file(const golden_case *c, const char *key, hr_graph *g, hr_meta_graph **meta, int *warnings,
                             hr_error *err)
{
    hr_view bytes = golden_file(c, golden_text(c->json, key, ""));
    if (bytes.size < 0) return hr_fail(err, HR_NOT_FOUND, "golden.file", "no file");
    const bool text = strcmp(key, "text_file") == 0;
    const hr_status st =
        is_meta(c) ? hr_meta_graph_import(g, bytes, meta, err, .text = text, .warn = count_warning, .user = warnings)
                   : hr_graph_import(g, bytes, err, .text = text, .warn = count_warning, .user = warnings);
    free((void *)(uintptr_t)bytes.data);
    return st;
}

static bool error_fits(golden_case *c, const cJSON *error, const hr_error *err)
{
    const char *class = golden_text(error, "class", ""), *got = hr_status_name(err->code);
    const cJSON *also, *others = golden_get(error, "class_also");
    if (strcmp(class, got) == 0) return true;
    cJSON_ArrayForEach(also, others)
    {
        if (strcmp(also->valuestring, got) == 0) return true;
    }
    golden_differs(c, "expected %s, got %s: %s", class, got, err->text);
    return false;
}

/* A graph with what belongs to it, as a file has it. */
typedef struct one_file {
    hr_graph *g;
    hr_meta_graph *meta;
    char *bytes;
    size_t size;
} one_file;

static void clear_file(one_file *f)
{
    hr_free(f->bytes);
    hr_meta_graph_free(f->meta);
    hr_graph_free(f->g);
}

static bool write_file(const golden_case *c, const one_file *f, bool text, char **bytes, size_t *size, hr_error *err)
{
    return HR_OK == (is_meta(c) ? hr_meta_graph_export(f->g, f->meta, bytes, size, err, .text = text)
                                : hr_graph_export(f->g, bytes, size, err, .text = text));
}

static bool same_file(const golden_case *c, one_file *f, const one_file *as, hr_error *err)
{
    return write_file(c, f, false, &f->bytes, &f->size, err) && f->size == as->size &&
           memcmp(f->bytes, as->bytes, f->size) == 0;
}

static bool read_written(const golden_case *c, const one_file *from, one_file *to, hr_error *err)
{
    char *text = NULL;
    size_t size;
    if (!write_file(c, from, true, &text, &size, err)) return false;
    const hr_view view = {text, (int64_t)size};
    const hr_status st = is_meta(c) ? hr_meta_graph_import(to->g, view, &to->meta, err, .text = true)
                                    : hr_graph_import(to->g, view, err, .text = true);
    hr_free(text);
    return st == HR_OK;
}

/* Bytes and text give the same graph, and so do the bytes that it is written as. */
static bool written_is_read(golden_case *c, hr_graph *g, hr_meta_graph *meta)
{
    hr_error err = {0};
    int warnings = 0;
    one_file first = {.g = g, .meta = meta}, text = {.g = hr_graph_new()}, again = {.g = hr_graph_new()};
    bool same = write_file(c, &first, false, &first.bytes, &first.size, &err);
    if (same && of(c, "text_file"))
        same = import_file(c, "text_file", text.g, &text.meta, &warnings, &err) == HR_OK &&
               same_file(c, &text, &first, &err);
    if (same) same = read_written(c, &first, &again, &err) && same_file(c, &again, &first, &err);
    if (!same) golden_differs(c, "bytes, text and what is written again are not the same graph: %s", err.text);
    hr_free(first.bytes);
    clear_file(&text);
    clear_file(&again);
    return same;
}

/* ---- what is in it ---- */

/* "a:0" is "a", and a control input that comes twice counts once. */
static bool inputs_fit(golden_case *c, hr_node node, const cJSON *inputs)
{
    const cJSON *item;
    int data = 0;
    cJSON_ArrayForEach(item, inputs)
    {
        const char *text = item->valuestring;
        if (*text == '^') {
            bool found = false;
            for (int i = 0; i < hr_node_controls(node); i++)
                found |= strcmp(hr_node_name(hr_node_control(node, i)), text + 1) == 0;
            if (!found) golden_differs(c, "node '%s': no control input %s", hr_node_name(node), text);
            if (!found) return false;
            continue;
        }
        const hr_node wanted = hr_graph_node(node.graph, text), got = hr_node_input(node, data++);
        if (wanted.id == got.id && (wanted.output < 0 ? 0 : wanted.output) == got.output) continue;
        golden_differs(c, "node '%s': input %d is %s:%d, expected %s", hr_node_name(node), data - 1, hr_node_name(got),
                       got.output, text);
        return false;
    }
    if (data == hr_node_inputs(node)) return true;
    golden_differs(c, "node '%s': %d inputs, expected %d", hr_node_name(node), hr_node_inputs(node), data);
    return false;
}

static bool hex_is(const cJSON *hex, hr_view got)
{
    hr_view text = golden_hex(hex);
    const bool same = text.size == got.size && memcmp(text.data, got.data, (size_t)got.size) == 0;
    if (text.size >= 0) free((void *)(uintptr_t)text.data);
    return same;
}

static bool shape_is(const cJSON *json, hr_shape got)
{
    if (!cJSON_IsArray(json)) return got.rank < 0;
    if (cJSON_GetArraySize(json) != got.rank) return false;
    for (int i = 0; i < got.rank; i++)
        if (golden_number_int64(cJSON_GetArrayItem(json, i)) != got.dims[i]) return false;
    return true;
}

static bool item_is(golden_case *c, const cJSON *json, const hr_attr *a, int i)
{
    switch (a->kind) {
    case HR_ATTR_INTS:
        return golden_number_int64(json) == a->ints[i];
    case HR_ATTR_FLOATS:
        return (float)golden_number_double(json) == a->floats[i];
    case HR_ATTR_TYPES:
        return hr_dtype_named(json->valuestring) == a->types[i];
    case HR_ATTR_STRINGS:
        return hex_is(json, a->strings[i]);
    case HR_ATTR_SHAPES:
        return shape_is(json, a->shapes[i]);
    default:
        golden_differs(c, "a list of kind %d", a->kind);
        return false;
    }
}

static bool list_is(golden_case *c, const cJSON *list, const hr_attr *a)
{
    if (cJSON_GetArraySize(list) != a->count) return false;
    for (int i = 0; i < a->count; i++)
        if (!item_is(c, cJSON_GetArrayItem(list, i), a, i)) return false;
    return true;
}

static bool value_is(golden_case *c, const cJSON *value, const hr_attr *a)
{
    const char *kind = value->string;
    if (strcmp(kind, "i") == 0) return a->kind == HR_ATTR_INT && golden_number_int64(value) == a->i;
    if (strcmp(kind, "f") == 0) return a->kind == HR_ATTR_FLOAT && (float)golden_number_double(value) == a->f;
    if (strcmp(kind, "b") == 0) return a->kind == HR_ATTR_BOOL && (bool)cJSON_IsTrue(value) == a->b;
    if (strcmp(kind, "s") == 0) return a->kind == HR_ATTR_STRING && hex_is(value, a->s);
    if (strcmp(kind, "type") == 0) return a->kind == HR_ATTR_TYPE && hr_dtype_named(value->valuestring) == a->type;
    if (strcmp(kind, "shape") == 0) return a->kind == HR_ATTR_SHAPE && shape_is(value, a->shape);
    if (strcmp(kind, "func") == 0) return a->kind == HR_ATTR_FUNC && strcmp(value->valuestring, a->func->name) == 0;
    if (strcmp(kind, "tensor") == 0)
        return a->kind == HR_ATTR_TENSOR && golden_equal_json(c, "an attribute", value, a->tensor);
    return strcmp(kind, "list") == 0 && list_is(c, value, a);
}

static bool node_fits(golden_case *c, hr_graph *g, const cJSON *json)
{
    const cJSON *attr;
    const char *name = golden_text(json, "name", "");
    const hr_node node = hr_graph_node(g, name);
    if (!hr_node_exists(node) || strcmp(hr_node_op(node), golden_text(json, "op", "")) != 0) {
        golden_differs(c, "node '%s': %s, expected %s", name, hr_node_op(node), golden_text(json, "op", ""));
        return false;
    }
    if (!inputs_fit(c, node, golden_get(json, "inputs"))) return false;
    if (strcmp(hr__node_of(node)->device, golden_text(json, "device", "")) != 0) {
        golden_differs(c, "node '%s': device '%s'", name, hr__node_of(node)->device);
        return false;
    }
    cJSON_ArrayForEach(attr, golden_fields(golden_get(json, "attrs")))
    {
        const hr_attr *got = hr_node_attr(node, attr->string);
        if (got && attr->child && value_is(c, golden_fields(attr)->child, got)) continue;
        if (!*c->why)
            golden_differs(c, "node '%s': attribute '%s' is %s", name, attr->string, got ? "another" : "not there");
        return false;
    }
    return true;
}

static bool functions_fit(golden_case *c, hr_graph *g)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, golden_get(of(c, "expect"), "functions"))
    {
        if (hr_function_named(g, name->valuestring)) continue;
        golden_differs(c, "no function '%s'", name->valuestring);
        return false;
    }
    return true;
}

/* Without the nodes that stand for loops of TensorFlow 1. */
static int file_nodes(hr_graph *g)
{
    int count = 0;
    for (int32_t id = 0; id < hr_graph_size(g); id++) count += strncmp(hr_node_name((hr_node){g, id, 0}), "..", 2) != 0;
    return count;
}

static bool nodes_fit(golden_case *c, hr_graph *g)
{
    const cJSON *expect = of(c, "expect"), *json;
    int place = 0;
    const int nodes = file_nodes(g);
    if (golden_int(expect, "node_count", nodes) != nodes) {
        golden_differs(c, "%d nodes", nodes);
        return false;
    }
    cJSON_ArrayForEach(json, golden_get(expect, "nodes"))
    {
        if (!node_fits(c, g, json)) return false;
        if (hr__node_of(hr_graph_node(g, golden_text(json, "name", "")))->place == place++) continue;
        golden_differs(c, "node '%s' is in another place", golden_text(json, "name", ""));
        return false;
    }
    return true;
}

/* ---- what belongs to it ---- */

static bool has_text(const cJSON *json, const char *key, const char *got)
{
    return strcmp(golden_text(json, key, ""), got ? got : "") == 0;
}

static bool numbers_are(const cJSON *list, const int64_t *numbers)
{
    golden_whole(list);
    for (int i = 0; i < cJSON_GetArraySize(list); i++)
        if (golden_number_int64(cJSON_GetArrayItem(list, i)) != numbers[i]) return false;
    return true;
}

static bool piece_fits(const cJSON *json, const hr_variable_info *v)
{
    return v->piece && has_text(json, "full_name", v->piece->full_name) &&
           numbers_are(golden_get(json, "full_shape"), v->piece->full_shape.dims) &&
           numbers_are(golden_get(json, "var_offset"), v->piece->offset) &&
           numbers_are(golden_get(json, "var_shape"), v->shape.dims);
}

static bool variable_fits(golden_case *c, hr_graph *g, const cJSON *json, const char *set)
{
    char name[200];
    snprintf(name, sizeof name, "%s", golden_text(json, "variable_name", ""));
    if (strchr(name, ':')) *strchr(name, ':') = 0;
    const hr_variable_info *v = hr_variable_named(g, name);
    const cJSON *slice = golden_get(json, "save_slice_info");
    if (v && (golden_bool(json, "is_resource", false) != (hr_node_dtype(v->handle) == HR_RESOURCE) ||
              strncmp(golden_text(json, "initial_value_name", ""), hr_node_name(v->initial_value),
                      strlen(hr_node_name(v->initial_value))) != 0 ||
              golden_bool(json, "trainable", false) != ((v->sets & HR_TRAINABLE_VARIABLES) != 0))) {
        golden_differs(c, "variable '%s' is of another kind", name);
        return false;
    }
    if (v && slice && !piece_fits(slice, v)) {
        golden_differs(c, "variable '%s' is another piece", name);
        return false;
    }
    if (!v || !has_text(json, "initializer_name", hr_node_name(v->initializer)) ||
        (strcmp(set, "trainable_variables") == 0) > ((v->sets & HR_TRAINABLE_VARIABLES) != 0) ||
        (strcmp(set, "local_variables") == 0) > ((v->sets & HR_LOCAL_VARIABLES) != 0) ||
        strncmp(golden_text(json, "snapshot_name", ""), hr_node_name(v->read), strlen(hr_node_name(v->read))) != 0) {
        golden_differs(c, "variable '%s' of %s is not known so", name, set);
        return false;
    }
    return true;
}

static const hr_meta_collection *collection_named(const hr_meta_graph *meta, const char *key)
{
    for (int i = 0; hr_meta_graph_collection(meta, i); i++)
        if (strcmp(hr_meta_graph_collection(meta, i)->key, key) == 0) return hr_meta_graph_collection(meta, i);
    return NULL;
}

static bool collection_fits(golden_case *c, hr_graph *g, const hr_meta_graph *meta, const cJSON *json)
{
    const cJSON *item;
    int i = 0, nodes = 0;
    golden_get(golden_get(of(c, "expect"), "collections"), json->string); /* it is asked for */
    const hr_meta_collection *got = collection_named(meta, json->string);
    const hr_node *node = hr_get_collection(g, json->string, &nodes);
    if (!got || got->count != cJSON_GetArraySize(json)) {
        golden_differs(c, "collection '%s' has other items", json->string);
        return false;
    }
    cJSON_ArrayForEach(item, json)
    {
        if (cJSON_IsObject(item) && !variable_fits(c, g, item, json->string)) return false;
        if (!cJSON_IsString(item)) continue;
        const hr_node wanted = hr_graph_node(g, item->valuestring);
        if (nodes == got->count && node[i].id == wanted.id && strcmp(got->nodes[i], item->valuestring) == 0) {
            i++;
            continue;
        }
        golden_differs(c, "collection '%s' lacks %s", json->string, item->valuestring);
        return false;
    }
    return true;
}

static int different_ops(hr_graph *g)
{
    int count = 0;
    for (int32_t i = 0; i < hr_graph_size(g); i++) {
        bool seen = false;
        for (int32_t j = 0; j < i; j++)
            seen |= strcmp(hr_node_op((hr_node){g, i, 0}), hr_node_op((hr_node){g, j, 0})) == 0;
        count += !seen;
    }
    return count;
}

static bool meta_fits(golden_case *c, hr_graph *g, const hr_meta_graph *meta)
{
    const cJSON *expect = of(c, "expect"), *saver = golden_get(expect, "saver_def"), *item;
    hr_meta_saver got = {0};
    if (!is_meta(c)) return true;
    cJSON_ArrayForEach(item, golden_get(expect, "collections"))
    {
        if (!collection_fits(c, g, meta, item)) return false;
    }
    if (saver &&
        (!hr_meta_graph_saver(meta, &got) || !has_text(saver, "filename_tensor_name", got.filename) ||
         !has_text(saver, "save_tensor_name", got.save) || !has_text(saver, "restore_op_name", got.restore) ||
         golden_int(saver, "max_to_keep", 0) != got.max_to_keep ||
         golden_bool(saver, "sharded", false) != got.sharded || golden_int(saver, "version", 0) != got.version)) {
        golden_differs(c, "another saver");
        return false;
    }
    if (golden_int(golden_get(expect, "meta_info"), "ops_in_list", 0) != different_ops(g)) {
        golden_differs(c, "%d ops", different_ops(g));
        return false;
    }
    if (has_text(golden_get(expect, "meta_info"), "tensorflow_version", hr_meta_graph_version(meta))) return true;
    golden_differs(c, "written by version '%s'", hr_meta_graph_version(meta));
    return false;
}

static golden_result restore(golden_case *c, hr_session *s)
{
    char path[1200];
    hr_error err;
    int count = 0;
    const char *prefix = golden_text(of(c, "restore"), "prefix", "");
    snprintf(path, sizeof path, "%s/%s", c->folder, prefix);
    if (!*prefix) return GOLDEN_AGREES;
    if (hr_session_restore(s, path, &count, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    return count > 0 ? GOLDEN_AGREES : golden_differs(c, "no variable is restored");
}

/* ---- runs ---- */

typedef struct one_run {
    hr_feed feed[MOST];
    hr_node fetch[MOST];
    hr_tensor out[MOST];
    const char *name[MOST];
    int feeds, fetches, values;
    bool unknown; /* a name that the graph lacks */
} one_run;

static void read_run(const golden_case *c, hr_graph *g, const cJSON *json, one_run *run)
{
    const cJSON *item;
    (void)c;
    memset(run, 0, sizeof *run);
    cJSON_ArrayForEach(item, golden_fields(golden_get(json, "feeds")))
    {
        hr_feed *feed = &run->feed[run->feeds++];
        feed->node = hr_graph_node(g, item->string);
        golden_tensor(item, &feed->value);
        run->unknown |= !hr_node_exists(feed->node);
    }
    cJSON_ArrayForEach(item, golden_get(json, "fetches"))
    {
        run->name[run->fetches] = item->valuestring;
        run->fetch[run->fetches] = hr_graph_node(g, item->valuestring);
        run->unknown |= !hr_node_exists(run->fetch[run->fetches++]);
    }
    run->values = run->fetches;
    cJSON_ArrayForEach(item, golden_get(json, "targets"))
    {
        run->fetch[run->fetches] = hr_target(hr_graph_node(g, item->valuestring));
        run->unknown |= !hr_node_exists(run->fetch[run->fetches++]);
    }
}

static void clear_run(one_run *run)
{
    for (int i = 0; i < run->feeds; i++) golden_tensor_clear(&run->feed[i].value);
    for (int i = 0; i < run->fetches; i++) hr_tensor_clear(&run->out[i]);
}

static golden_result run_fits(golden_case *c, hr_session *s, one_run *run, const cJSON *expected)
{
    hr_error err = {0};
    const cJSON *error = golden_get(expected, "error");
    const hr_status st = run->unknown
                             ? hr_fail(&err, HR_NOT_FOUND, "golden.name", "no such node")
                             : hr_session_run(s, run->feed, run->feeds, run->fetch, run->fetches, run->out, &err);
    if (st == HR_UNIMPLEMENTED && strcmp(err.kind, "graph.kernel") == 0) return golden_not_built(c, "%s", err.text);
    if (st != HR_OK && !error) return golden_differs(c, "%s", err.text);
    if (error && st == HR_OK) return golden_differs(c, "expected %s, got a result", golden_text(error, "class", ""));
    if (error) return error_fits(c, error, &err) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
    for (int i = 0; i < run->values; i++) {
        const cJSON *value = golden_get(expected, run->name[i]);
        if (value && !golden_equal_json(c, run->name[i], value, &run->out[i])) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

static golden_result prepare(golden_case *c, hr_graph *g, hr_session *s)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, of(c, "prepare"))
    {
        hr_error err;
        const hr_node target = hr_target(hr_graph_node(g, item->valuestring));
        const hr_status st = hr_session_run(s, NULL, 0, &target, 1, NULL, &err);
        if (st != HR_OK && strcmp(err.kind, "graph.kernel") == 0) return golden_not_built(c, "%s", err.text);
        if (st != HR_OK) return golden_differs(c, "%s: %s", item->valuestring, err.text);
    }
    return GOLDEN_AGREES;
}

static golden_result runs_fit(golden_case *c, hr_graph *g)
{
    const cJSON *results = golden_get(of(c, "expect"), "results"), *json;
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    golden_result result = restore(c, s);
    if (result == GOLDEN_AGREES) result = prepare(c, g, s);
    int i = 0;
    cJSON_ArrayForEach(json, of(c, "runs"))
    {
        one_run run;
        if (result != GOLDEN_AGREES) break;
        read_run(c, g, json, &run);
        result = run_fits(c, s, &run, cJSON_GetArrayItem(results, i++));
        clear_run(&run);
    }
    hr_session_free(s);
    return result;
}

/* ---- a case ---- */

static golden_result import_fails(golden_case *c)
{
    static const char *const keys[] = {"file", "text_file"};
    for (int i = 0; i < 2 && of(c, keys[i]); i++) {
        hr_error err = {0};
        int warnings = 0;
        hr_graph *g = hr_graph_new();
        const hr_status st = import_file(c, keys[i], g, NULL, &warnings, &err);
        hr_graph_free(g);
        if (st == HR_OK) return golden_differs(c, "%s is read", keys[i]);
        if (!error_fits(c, of(c, "error"), &err)) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

static golden_result run_case(golden_case *c)
{
    hr_error err = {0};
    int warnings = 0;
    if (strcmp(golden_text(of(c, "error"), "stage", "import"), "import") != 0)
        return golden_differs(c, "another stage");
    if (golden_bool(c->json, "exact", false) && of(c, "tolerance")) return golden_differs(c, "exact with a tolerance");
    of(c, "optional"); /* what has no kernel is not built, whether or not the case foresees it */
    golden_whole(golden_get(of(c, "expect"), "versions")); /* of the file; a graph has that of its writer */
    if (of(c, "error")) return import_fails(c);
    hr_graph *g = hr_graph_new();
    golden_result result = GOLDEN_AGREES;
    hr_meta_graph *meta = NULL;
    const hr_status st = import_file(c, "file", g, &meta, &warnings, &err);
    if (st != HR_OK)
        result = st == HR_UNIMPLEMENTED ? golden_not_built(c, "%s", err.text) : golden_differs(c, "%s", err.text);
    else if (golden_bool(of(c, "default"), "report", false) != (warnings > 0))
        result = golden_differs(c, "%d warnings", warnings);
    else if (!nodes_fit(c, g) || !functions_fit(c, g) || !meta_fits(c, g, meta) || !written_is_read(c, g, meta))
        result = GOLDEN_DIFFERS;
    else
        result = runs_fit(c, g);
    hr_meta_graph_free(meta);
    hr_graph_free(g);
    return result;
}

int main(void) { return golden_main("graphdef", GOLDEN_ROOT, run_case); }
