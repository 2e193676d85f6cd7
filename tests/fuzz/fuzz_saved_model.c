/* A folder of any files as a SavedModel: it is loaded and its signatures run, rewritten and converted, or refused. The
 * input: a byte, odd if the graph is text; two bytes of a size and the index of variables; two of a size and their data;
 * the rest is the file with the graph. */
#include "tests/fuzz/graphs.h"
#include "tests/fuzz/temporary.h"

#include <headrace/io.h>
#include <headrace/saved_model.h>
#include <sys/stat.h>

enum { MOST_VALUES = 4096, MOST_INPUTS = 8 };

static char folder[TEMPORARY];

static void write_file(const char *name, const uint8_t *data, size_t size)
{
    char path[TEMPORARY + 64];
    hr_output *out;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE, .no_sync = true};
    if (hr_output_open_with(path, &opts, &out, NULL) != HR_OK) abort();
    hr_output_write(out, data, size, NULL);
    if (hr_output_commit(out, NULL) != HR_OK) abort();
}

static void make_folders(void)
{
    char below[TEMPORARY + 64];
    if (*folder) return;
    temporary_path(folder, "model");
    mkdir(folder, 0700);
    snprintf(below, sizeof below, "%s/variables", folder);
    mkdir(below, 0700);
    snprintf(below, sizeof below, "%s/assets", folder);
    mkdir(below, 0700);
    write_file("assets/words.txt", (const uint8_t *)"a\nb\tc\n", 6);
}

/* Two bytes of a size, and so many bytes. */
static hr_view next_part(const uint8_t **at, const uint8_t *end)
{
    if (end - *at < 2) return (hr_view){"", 0};
    size_t size = (size_t)((*at)[0] | (*at)[1] << 8);
    *at += 2;
    if (size > (size_t)(end - *at)) size = (size_t)(end - *at);
    *at += size;
    return (hr_view){(const char *)*at - size, (int64_t)size};
}

/* Zeros of the signature's shape, with 2 for each dimension that is not known. */
static bool zeros_for(const hr_meta_tensor *t, hr_tensor *out)
{
    hr_shape shape = {.rank = t->shape.rank < 0 ? 1 : t->shape.rank};
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = t->shape.rank < 0 || t->shape.dims[i] < 0 ? 2 : t->shape.dims[i];
        if (shape.dims[i] > MOST_VALUES) return false;
        count *= shape.dims[i];
        if (count > MOST_VALUES) return false;
    }
    if (hr_tensor_new(out, t->dtype, shape, NULL) != HR_OK) return false;
    memset(out->data, 0, (size_t)count * hr_dtype_size(t->dtype));
    return true;
}

static void run_signature(hr_saved_model *m, const hr_meta_signature *s)
{
    hr_predictor *p;
    hr_tensor in[MOST_INPUTS] = {{0}};
    bool fits = s->input_count <= MOST_INPUTS;
    if (hr_predictor_new(m, s->key, NULL, 0, &p, NULL) != HR_OK) return;
    hr_tensor *out = calloc((size_t)hr_predictor_outputs(p) + 1, sizeof *out);
    for (int i = 0; fits && i < s->input_count; i++) fits = zeros_for(&s->inputs[i], &in[i]);
    if (fits && out && hr_predictor_run(p, in, out, NULL) == HR_OK)
        for (int i = 0; i < hr_predictor_outputs(p); i++) hr_tensor_clear(&out[i]);
    for (int i = 0; i < MOST_INPUTS; i++) hr_tensor_clear(&in[i]);
    free(out);
    hr_predictor_free(p);
}

static void use_model(hr_saved_model *m)
{
    const hr_meta_signature *s;
    hr_graph *graph;
    for (int i = 0; i < MOST_INPUTS && (s = hr_meta_graph_signature(hr_saved_model_meta(m), i)); i++)
        run_signature(m, s);
    const hr_saved_model_rewrite_opts opts = {
        .struct_size = sizeof opts, .freeze = true, .transforms = "inline_functions"};
    if (hr_saved_model_rewritten_graph(m, &opts, &graph, NULL) != HR_OK) return;
    graphs_write_and_read(graph, false);
    hr_graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_saved_model *m;
    hr_meta_graph **metas;
    int count;
    graphs_bound_memory();
    if (size == 0) return 0;
    make_folders();
    const bool text = data[0] & 1;
    const uint8_t *at = data + 1, *end = data + size;
    const hr_view index = next_part(&at, end), values = next_part(&at, end);
    char other[TEMPORARY + 64], out[TEMPORARY + 64];
    snprintf(other, sizeof other, "%s/%s", folder, text ? "saved_model.pb" : "saved_model.pbtxt");
    snprintf(out, sizeof out, "%s/out.%s", folder, text ? "pb" : "pbtxt");
    unlink(other);
    write_file("variables/variables.index", (const uint8_t *)index.data, (size_t)index.size);
    write_file("variables/variables.data-00000-of-00001", (const uint8_t *)values.data, (size_t)values.size);
    write_file(text ? "saved_model.pbtxt" : "saved_model.pb", at, (size_t)(end - at));
    const hr_session_opts session = {
        .struct_size = sizeof session, .workers = &(int){0}, .timeout = 2, .memory_limit = LARGEST};
    if (hr_saved_model_load(folder, &m, NULL, .session = &session) == HR_OK) use_model(m);
    hr_saved_model_unref(m);
    if (hr_saved_model_metas(folder, &metas, &count, NULL) == HR_OK) hr_saved_model_metas_free(metas, count);
    (void)hr_saved_model_convert(folder, out, NULL);
    return 0;
}
