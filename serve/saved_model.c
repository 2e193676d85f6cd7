/* SavedModels as servables: the platform "tensorflow". */
#include "base/hash_map.h"
#include "serve/internal.h"
#include "train/saved_model/saved_model_internal.h"
#include <headrace/control_flow.h>
#include <headrace/kernels.h>

#include <string.h>

/* A signature with the outputs that are wanted, prepared once for all runs. */
typedef struct prepared {
    struct prepared *next;
    int signature, count;
    bool any_shape;
    hr_predictor *predictor;
    int outputs[];
} prepared;

typedef struct saved_servable {
    hr_saved_model *model;
    hr_saved_model *any_shape; /* the same, whose placeholders take any shape; made when a request needs it */
    uv_mutex_t any_shape_lock;
    const hr_meta_signature **signatures; /* those that can be run */
    int count;
    uv_rwlock_t lock;
    prepared *all;
    char *tags;
    hr__map *features; /* of each signature: the types that its parser asks for */
} saved_servable;

static void saved_unload(void *model)
{
    saved_servable *s = model;
    while (s->all) {
        prepared *p = s->all;
        s->all = p->next;
        hr_predictor_free(p->predictor);
        hr_free(p);
    }
    for (int i = 0; s->features && i < s->count; i++) hr__map_free(&s->features[i]);
    hr_free(s->features);
    hr_saved_model_unref(s->any_shape); /* it shares the variables of */
    hr_saved_model_unref(s->model);
    hr_free(s->signatures);
    hr_free(s->tags);
    uv_rwlock_destroy(&s->lock);
    uv_mutex_destroy(&s->any_shape_lock);
    hr_free(s);
}

/* ---- what Examples are to have ---- */

/* Adds the type of each name of a constant, whose outputs of the parser begin at `output`. */
static hr_status add_features(hr__map *to, hr_node names, hr_node parser, int output, int *count, hr_error *err)
{
    const hr_tensor *value = hr_node_constant(names);
    hr_status st = HR_OK;
    *count = value && value->dtype == HR_STRING ? (int)value->count : 0;
    for (int i = 0; i < *count && st == HR_OK; i++) {
        const hr_view key = ((const hr_view *)value->data)[i];
        st = hr__map_set(to, key.data, (size_t)key.size, hr_node_dtype(hr_node_output(parser, output + i)), err);
    }
    return st;
}

/* ParseExampleV2(serialized, names, sparse_keys, dense_keys, ragged_keys, defaults...) gives the indices, values and
 * shapes of sparse features, then the dense ones. */
static hr_status add_parser(hr__map *to, hr_node parser, hr_error *err)
{
    int sparse = 0, dense;
    hr__map passed = {0};
    hr_status st = add_features(&passed, hr_node_input(parser, 2), parser, 0, &sparse, err);
    hr__map_free(&passed);
    if (st == HR_OK) st = add_features(to, hr_node_input(parser, 2), parser, sparse, &sparse, err);
    if (st == HR_OK) st = add_features(to, hr_node_input(parser, 3), parser, 3 * sparse, &dense, err);
    return st;
}

/* ParseExample(serialized, names, sparse_keys..., dense_keys..., defaults...): each key is an input of its own. It
 * gives three outputs a sparse key and one a dense key, and takes one input a sparse key, two a dense one. */
static hr_status add_old_parser(hr__map *to, hr_node parser, hr_error *err)
{
    const int inputs = hr_node_inputs(parser) - 2, outputs = hr_node_outputs(parser);
    const int sparse = (2 * outputs - inputs) / 5, dense = outputs - 3 * sparse;
    int one;
    for (int i = 0; i < sparse + dense; i++) {
        const int output = i < sparse ? sparse + i : 3 * sparse + i - sparse;
        HR_TRY(add_features(to, hr_node_input(parser, 2 + i), parser, output, &one, err));
    }
    return HR_OK;
}

/* A search for the parsers that read what is fed. Calls are followed, as far as TensorFlow 2 nests them. */
typedef struct parser_search {
    hr__map *to;
    hr_graph *graph; /* whose library has the functions */
    int calls_left;  /* a stranger's functions may call each other in circles */
} parser_search;

static void look_at_reader(parser_search *s, hr_node reader, int input);

static void find_parsers(parser_search *s, hr_graph *g, hr_node fed)
{
    for (int32_t id = 0; hr_node_exists(fed) && id < hr_graph_size(g); id++) {
        const hr_node node = {g, id, 0};
        for (int i = 0; i < hr_node_inputs(node); i++) {
            const hr_node from = hr_node_input(node, i);
            if (hr_node_exists(from) && strcmp(hr_node_name(from), hr_node_name(fed)) == 0) look_at_reader(s, node, i);
        }
    }
}

/* A parser whose names are no constants says nothing. */
static void look_at_reader(parser_search *s, hr_node reader, int input)
{
    const char *op = hr_node_op(reader);
    if (input == 0 && strcmp(op, "ParseExampleV2") == 0) add_parser(s->to, reader, NULL);
    if (input == 0 && strcmp(op, "ParseExample") == 0) add_old_parser(s->to, reader, NULL);
    if (strcmp(op, "PartitionedCall") != 0 && strcmp(op, "StatefulPartitionedCall") != 0) return;
    const hr_function *f = hr_function_named(s->graph, hr_attr_func(reader, "f"));
    if (f && input < hr_function_inputs(f) && s->calls_left-- > 0)
        find_parsers(s, hr_function_graph(f), hr_function_input_at(f, input));
}

/* What the parsers of a signature's Examples ask for. */
static void find_features(saved_servable *s, int signature)
{
    const hr_meta_signature *said = s->signatures[signature];
    hr_graph *g = hr_saved_model_graph(s->model);
    parser_search search = {&s->features[signature], g, 64};
    if (said->input_count != 1 || said->inputs[0].dtype != HR_STRING || !said->inputs[0].name) return;
    find_parsers(&search, g, hr_graph_node(g, said->inputs[0].name));
}

static hr_status find_all_features(saved_servable *s, hr_error *err)
{
    s->features = hr_calloc((size_t)s->count + 1, sizeof *s->features);
    if (!s->features) return hr_no_memory(err, "a model");
    for (int i = 0; i < s->count; i++) find_features(s, i);
    return HR_OK;
}

static hr_dtype saved_feature(const void *model, int signature, const char *name)
{
    const saved_servable *s = model;
    const int64_t *found = hr__map_find(&s->features[signature], name, strlen(name));
    return found ? (hr_dtype)*found : HR_INVALID_DTYPE;
}

/* As many runs as there are processors go on at a time, so nodes of one run need no other threads; pieces of a large
 * kernel may have them. Embeddings of sparse words are looked up and combined by one node, which changes sums by 1e-6
 * of their size at most. */
static const int no_workers = 0, all_workers = -1;
static const hr_session_opts run_by_the_caller = {.struct_size = sizeof run_by_the_caller,
                                                  .workers = &no_workers,
                                                  .kernel_workers = &all_workers,
                                                  .passes = "exact,gather_combine"};

/* Those that begin with "__saved_model" are for the loader. */
static hr_status list_runnable(saved_servable *s, hr_error *err)
{
    const hr_meta_graph *meta = hr_saved_model_meta(s->model);
    const hr_meta_signature *signature;
    int all = 0;
    while (hr_meta_graph_signature(meta, all)) all++;
    s->signatures = hr_calloc((size_t)all + 1, sizeof *s->signatures);
    if (!s->signatures) return hr_no_memory(err, "signatures");
    for (int i = 0; (signature = hr_meta_graph_signature(meta, i)); i++)
        if (strncmp(signature->key, "__saved_model", 13) != 0) s->signatures[s->count++] = signature;
    return HR_OK;
}

/* A signature that cannot run is told of now, not only when it is asked for: others of the model may. */
static hr_status warn_of_missing(const saved_servable *s, hr_error *err)
{
    hr__text ops = {0};
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < s->count; i++) {
        hr__text_clear(&ops);
        st = hr__missing_ops(s->model, s->signatures[i], &ops, err);
        if (st == HR_OK && ops.size > 0)
            hr_log_message(HR_WARNING,
                           "%s: requests for signature '%s' will fail: it needs ops that have no kernel: %s",
                           hr_saved_model_folder(s->model), s->signatures[i]->key, ops.data);
    }
    hr__text_free(&ops);
    return st;
}

static hr_status saved_load(const hr_servable_load *load, void **model, hr_error *err)
{
    saved_servable *s = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "a model");
    if (uv_rwlock_init(&s->lock) != 0 || uv_mutex_init(&s->any_shape_lock) != 0) {
        hr_free(s);
        return hr_no_memory(err, "a lock");
    }
    s->tags = hr_strdup(load->tags);
    hr_status st = hr_saved_model_load(load->path, &s->model, err, .tags = load->tags, .session = &run_by_the_caller);
    if (st == HR_OK) st = list_runnable(s, err);
    if (st == HR_OK) st = find_all_features(s, err);
    if (st == HR_OK) st = warn_of_missing(s, err);
    if (st == HR_OK)
        *model = s;
    else
        saved_unload(s);
    return st;
}

static const hr_meta_signature *saved_signature(const void *model, int i)
{
    const saved_servable *s = model;
    return i >= 0 && i < s->count ? s->signatures[i] : NULL;
}

/* ---- runs ---- */

static const prepared *find_prepared(const saved_servable *s, const hr_servable_run *run, bool any_shape)
{
    for (const prepared *p = s->all; p; p = p->next)
        if (p->signature == run->signature && p->any_shape == any_shape && p->count == run->output_count &&
            memcmp(p->outputs, run->outputs, (size_t)p->count * sizeof *p->outputs) == 0)
            return p;
    return NULL;
}

static hr_status make_predictor(hr_saved_model *model, const hr_meta_signature *signature, const hr_servable_run *run,
                                hr_predictor **out, hr_error *err)
{
    const char **names = hr_malloc(((size_t)run->output_count + 1) * sizeof *names);
    if (!names) return hr_no_memory(err, "a run");
    for (int i = 0; i < run->output_count; i++) names[i] = signature->outputs[run->outputs[i]].key;
    const hr_status st = hr_predictor_new(model, signature->key, names, run->output_count, out, err);
    hr_free(names);
    return st;
}

static hr_status prepare_run(saved_servable *s, hr_saved_model *model, const hr_servable_run *run, const prepared **out,
                             hr_error *err)
{
    const bool any_shape = model != s->model;
    const size_t bytes = (size_t)run->output_count * sizeof *run->outputs;
    prepared *p = hr_malloc(sizeof *p + bytes);
    if (!p) return hr_no_memory(err, "a run");
    const hr_status st = make_predictor(model, s->signatures[run->signature], run, &p->predictor, err);
    if (st != HR_OK) {
        hr_free(p);
        return st;
    }
    p->signature = run->signature;
    p->any_shape = any_shape;
    p->count = run->output_count;
    memcpy(p->outputs, run->outputs, bytes);
    uv_rwlock_wrlock(&s->lock);
    const prepared *there = find_prepared(s, run, any_shape); /* another thread was faster */
    if (!there) {
        p->next = s->all;
        s->all = p;
    }
    uv_rwlock_wrunlock(&s->lock);
    if (there) {
        hr_predictor_free(p->predictor);
        hr_free(p);
    }
    *out = there ? there : p;
    return HR_OK;
}

/* TensorFlow does not compare what is fed with the shape of a placeholder: the nodes after it decide. Here static
 * shapes are relied on, so such a request has a model without them, which shares the variables. */
static hr_status unknown_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_UNKNOWN_SHAPE;
    return HR_OK;
}

static hr_status must_be_fed(hr_kernel *k, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "session.feed", "You must feed a value for placeholder tensor '%s'",
                   hr_node_name(k->node));
}

static const hr_graph_op any_shape_placeholder = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Placeholder",
    .types = "dtype:any",
    .traits = HR_NO_GRADIENT | HR_STATEFUL,
    .shape = unknown_shape,
    .compute = must_be_fed,
};

static void use_any_shape(hr_graph *g, void *user)
{
    (void)user;
    hr_graph_use(g, &any_shape_placeholder);
}

static hr_status any_shape_model(saved_servable *s, hr_saved_model **out, hr_error *err)
{
    hr_status st = HR_OK;
    uv_mutex_lock(&s->any_shape_lock);
    if (!s->any_shape) {
        const hr_session_opts session = {.struct_size = sizeof session, .share = hr_saved_model_session(s->model)};
        st = hr_saved_model_load(hr_saved_model_folder(s->model), &s->any_shape, err, .tags = s->tags,
                                 .session = &session, .use = use_any_shape);
        /* It was loaded before: its files have gone, or are others. */
        if (st != HR_OK && st != HR_RESOURCE_EXHAUSTED) st = err->code = HR_UNAVAILABLE;
    }
    *out = s->any_shape;
    uv_mutex_unlock(&s->any_shape_lock);
    return st;
}

static bool fits_shape(hr_shape said, hr_shape got)
{
    if (said.rank < 0) return true;
    bool fits = said.rank == got.rank;
    for (int d = 0; fits && d < said.rank; d++) fits = said.dims[d] < 0 || said.dims[d] == got.dims[d];
    return fits;
}

/* Types are those of the signature. *fits: shapes are, too. */
static hr_status check_inputs(const hr_meta_signature *signature, const hr_servable_run *run, bool *fits, hr_error *err)
{
    *fits = true;
    for (int i = 0; i < signature->input_count; i++) {
        const hr_meta_tensor *said = &signature->inputs[i];
        if (run->inputs[i].dtype != said->dtype)
            return hr_fail(err, HR_INVALID_ARGUMENT, "serve.input",
                           "input '%.60s': Expects arg[%d] to be %s but %s is provided", said->key, i,
                           hr__dtype_word(said->dtype), hr__dtype_word(run->inputs[i].dtype));
        *fits &= fits_shape(said->shape, run->inputs[i].shape);
    }
    return HR_OK;
}

/* What the client is told, whose fault it is not that a kernel, a function or the model's file is not there. */
static hr_status tell_of_server(hr_status st, hr_error *err)
{
    if (st == HR_OK || !err || !err->kind) return st;
    if (strcmp(err->kind, "graph.kernel") == 0) err->code = HR_UNIMPLEMENTED;
    if (strcmp(err->kind, "graph.function") == 0) err->code = HR_INTERNAL;
    return err->code;
}

static hr_status run_prepared(const prepared *p, const hr_servable_run *run, hr_tensor *out, hr_error *err)
{
    const hr_run_opts opts = {.struct_size = sizeof opts, .timeout = run->timeout, .alone = run->alone};
    return hr_predictor_run_with(p->predictor, run->inputs, out, &opts, err);
}

static hr_status saved_run(void *model, const hr_servable_run *run, hr_tensor *out, hr_error *err)
{
    saved_servable *s = model;
    hr_saved_model *used = s->model;
    bool fits;
    HR_TRY(check_inputs(s->signatures[run->signature], run, &fits, err));
    if (!fits) HR_TRY(any_shape_model(s, &used, err));
    uv_rwlock_rdlock(&s->lock);
    const prepared *p = find_prepared(s, run, !fits);
    uv_rwlock_rdunlock(&s->lock);
    const hr_status st = p ? HR_OK : prepare_run(s, used, run, &p, err);
    return tell_of_server(st == HR_OK ? run_prepared(p, run, out, err) : st, err);
}

static void saved_rest(void *model)
{
    saved_servable *s = model;
    hr_session_rest(hr_saved_model_session(s->model));
    uv_mutex_lock(&s->any_shape_lock);
    if (s->any_shape) hr_session_rest(hr_saved_model_session(s->any_shape));
    uv_mutex_unlock(&s->any_shape_lock);
}

const hr_servable_kind hr__servable_saved_model = {
    .head = HR_SERVABLE_HEAD,
    .name = "tensorflow",
    .load = saved_load,
    .unload = saved_unload,
    .signature = saved_signature,
    .run = saved_run,
    .feature = saved_feature,
    .rest = saved_rest,
};
