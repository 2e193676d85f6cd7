/* Exporting: the model's graph for predictions over features that requests make, the values of a checkpoint, and a
 * signature for each export of the heads and each way of asking. */
#include "base/text.h"
#include "train/estimator/estimator_internal.h"
#include <headrace/checkpoint.h>
#include <headrace/graph_op.h>
#include <headrace/meta_graph.h>
#include <headrace/ops.h>

#include <stdio.h>
#include <string.h>

/* ---- what requests are made of ---- */

struct hr_serving_input {
    struct {
        char *alternative, *key; /* alternative NULL: of the first way */
        hr_saved_tensor tensor;
    } received[MAX_NAMED];
    int count;
    bool wrong; /* too many, or one without a key, or without memory */
};

void hr_serving_receive(hr_serving_input *in, const char *alternative, hr_saved_tensor tensor)
{
    if (!in) return;
    in->wrong |= in->count == MAX_NAMED || !tensor.key || (alternative && !*alternative);
    if (in->wrong) return;
    const int i = in->count++;
    in->received[i].tensor = tensor;
    in->received[i].tensor.key = in->received[i].key = hr_strdup(tensor.key);
    in->received[i].alternative = alternative ? hr_strdup(alternative) : NULL;
    in->wrong |= !in->received[i].key || (alternative && !in->received[i].alternative);
}

static void serving_input_clear(hr_serving_input *in)
{
    for (int i = 0; i < in->count; i++) {
        hr_free(in->received[i].key);
        hr_free(in->received[i].alternative);
    }
}

/* Only an export makes such a call. */
static hr_status serving_call_is_there(const hr_serving_call *call, hr_error *err)
{
    if (call && call->graph && call->input) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.serving", "serving: expected the call of an export, got NULL");
}

hr_features *hr_parsing_serving_input(const hr_serving_call *call, void *user, hr_error *err)
{
    if (serving_call_is_there(call, err) != HR_OK) return NULL;
    const hr_node examples = hr_placeholder(call->graph, HR_STRING, HR_SHAPE(-1), .name = "input_example_tensor");
    hr_serving_receive(call->input, NULL, HR_SAVED("examples", examples));
    return hr_features_from_examples_with(examples, call->columns, user);
}

/* A placeholder for each feature of the spec. */
static void raw_placeholders(const hr_serving_call *call, const hr_parse_spec *spec, hr_given_feature *given)
{
    for (int i = 0; i < spec->features; i++) {
        const hr_feature *f = &spec->feature[i];
        const int64_t width = f->kind == HR_FIXED_LEN ? hr_shape_count(f->shape) : -1;
        given[i].name = f->key;
        given[i].values = hr_placeholder(call->graph, f->dtype, HR_SHAPE(-1, width));
        hr_serving_receive(call->input, NULL, HR_SAVED(f->key, given[i].values));
    }
}

hr_features *hr_raw_serving_input(const hr_serving_call *call, void *user, hr_error *err)
{
    hr_parse_spec *spec = NULL;
    (void)user;
    if (serving_call_is_there(call, err) != HR_OK) return NULL;
    if (hr_make_parse_example_spec(call->columns, &spec, err) != HR_OK) return NULL;
    hr_given_feature *given = hr_calloc((size_t)spec->features + 1, sizeof *given);
    hr_features *f = NULL;
    if (given) {
        raw_placeholders(call, spec, given);
        f = hr_features_from_values(call->graph, given, spec->features, call->columns);
    } else {
        hr_no_memory(err, "features");
    }
    hr_free(given);
    hr_parse_spec_free(spec);
    return f;
}

/* ---- the model ---- */

typedef struct serving {
    hr_estimator *estimator;
    const hr_export_opts *opts;
    hr_serving_input input;
} serving;

static hr_features *make_features(hr_graph *g, void *user, hr_error *err)
{
    serving *s = user;
    const bool own = s->opts->columns.count > 0;
    const hr_serving_call call = {g, own ? s->opts->columns : s->estimator->columns, &s->input};
    if (!s->opts->serving_fn && call.columns.count == 0 && !s->estimator->sees_no_features) {
        hr_fail(err, HR_INVALID_ARGUMENT, "estimator.serving",
                "export: expected columns whose features requests have, or a serving_fn, got neither");
        return NULL;
    }
    hr_features *f =
        (s->opts->serving_fn ? s->opts->serving_fn : hr_parsing_serving_input)(&call, s->opts->serving_user, err);
    if (f && !err->code && (s->input.wrong || s->input.count == 0))
        hr_fail(err, HR_INVALID_ARGUMENT, "estimator.serving",
                "export: expected a serving_fn that says 1 to 64 tensors of requests with keys, by hr_serving_receive");
    return f;
}

/* ---- signatures ---- */

/* All signatures on their way to a writer; names of those of an alternative way are made here. */
typedef struct signatures {
    hr_saved_signature *list;
    hr_saved_tensor *input; /* of all of them, one after the other */
    char **name;
    int count, inputs, names;
} signatures;

static void signatures_clear(signatures *s)
{
    for (int i = 0; i < s->names; i++) hr_free(s->name[i]);
    hr_free(s->name);
    hr_free(s->input);
    hr_free(s->list);
}

static bool same_way(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* The tensors of one way of asking, to `to`. */
static int inputs_of(const hr_serving_input *in, const char *way, hr_saved_tensor *to)
{
    int count = 0;
    for (int i = 0; i < in->count; i++)
        if (same_way(in->received[i].alternative, way)) to[count++] = in->received[i].tensor;
    return count;
}

/* Requests of classification and regression are Examples: one tensor of strings, under its own key. */
static bool takes_examples(const hr_saved_tensor *inputs, int count)
{
    return count == 1 && hr_node_dtype(inputs[0].node) == HR_STRING && !inputs[0].indices.graph;
}

static hr_status add_signature(signatures *all, const char *way, const hr_serving_input *in,
                               const hr_saved_signature *of, hr_error *err)
{
    hr_saved_signature *s = &all->list[all->count];
    hr_saved_tensor *inputs = all->input + all->inputs;
    const int count = inputs_of(in, way, inputs);
    *s = *of;
    if (strcmp(s->method, HR_PREDICT_METHOD) != 0) {
        if (!takes_examples(inputs, count)) {
            hr_log_message(HR_INFO, "signature '%s' is left out: it takes serialized Examples alone", s->key);
            return HR_OK;
        }
        inputs[0].key = "inputs";
    }
    if (way) {
        const size_t size = strlen(way) + strlen(s->key) + 2;
        char *name = all->name[all->names] = hr_malloc(size);
        if (!name) return hr_no_memory(err, "a signature");
        all->names++;
        snprintf(name, size, "%s:%s", way, s->key);
        s->key = name;
    }
    s->inputs = inputs;
    s->input_count = count;
    all->inputs += count;
    all->count++;
    return HR_OK;
}

/* All exports by one way of asking. Without any, all predictions; one alone is the default, too. */
static hr_status add_way(signatures *all, const hr_estimator_spec *spec, const hr_saved_tensor *predictions,
                         const hr_serving_input *in, const char *way, hr_error *err)
{
    hr_saved_signature s = {"serving_default", HR_PREDICT_METHOD, NULL, predictions, 0, spec->predictions};
    if (spec->exports == 0) return add_signature(all, way, in, &s, err);
    for (int i = 0; i < spec->exports; i++) {
        s = (hr_saved_signature){
            spec->export[i].key,  spec->export[i].method, NULL, spec->exported + spec->export[i].first, 0,
            spec->export[i].count};
        HR_TRY(add_signature(all, way, in, &s, err));
    }
    if (spec->exports > 1 || strcmp(s.key, "serving_default") == 0) return HR_OK;
    s.key = "serving_default";
    return add_signature(all, way, in, &s, err);
}

static bool has_default(const hr_estimator_spec *spec)
{
    bool found = spec->exports <= 1;
    for (int i = 0; i < spec->exports; i++) found |= strcmp(spec->export[i].key, "serving_default") == 0;
    return found;
}

static hr_status make_signatures(signatures *all, const hr_estimator_spec *spec, const hr_serving_input *in,
                                 hr_saved_tensor *predictions, hr_error *err)
{
    const size_t most = ((size_t)spec->exports + 2) * ((size_t)in->count + 1);
    *all = (signatures){.list = hr_calloc(most, sizeof *all->list),
                        .input = hr_calloc(most * ((size_t)in->count + 1), sizeof *all->input),
                        .name = hr_calloc(most, sizeof *all->name)};
    if (!all->list || !all->input || !all->name) return hr_no_memory(err, "signatures");
    if (!has_default(spec))
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.serving",
                       "export: expected 'serving_default' among %d exports of the model function, found none",
                       spec->exports);
    for (int i = 0; i < spec->predictions; i++)
        predictions[i] = HR_SAVED(spec->prediction[i].name, spec->prediction[i].node);
    HR_TRY(add_way(all, spec, predictions, in, NULL, err));
    for (int i = 0; i < in->count; i++) {
        const char *way = in->received[i].alternative;
        bool first = way != NULL;
        for (int k = 0; k < i; k++) first = first && !same_way(in->received[k].alternative, way);
        if (first) HR_TRY(add_way(all, spec, predictions, in, way, err));
    }
    return HR_OK;
}

/* ---- writing ---- */

static hr_status write_session(const serving *s, const model *m, hr_session *session, const char *dir, hr_error *err)
{
    hr_saved_model_writer *w;
    signatures all;
    hr_saved_tensor predictions[MAX_NAMED];
    HR_TRY(hr_saved_model_writer_open(dir, &w, err, .text = s->opts->text));
    hr_status st = make_signatures(&all, &m->spec, &s->input, predictions, err);
    if (st == HR_OK)
        st = hr_saved_model_writer_add(w, session, err, .signatures = all.list, .signature_count = all.count,
                                       .train_op = m->spec.train_op,
                                       .strip_default_attrs = !s->opts->keep_default_attrs);
    for (int i = 0; st == HR_OK && i < s->opts->extra_count; i++)
        st = hr_saved_model_writer_add_extra(w, s->opts->extra[i].name, s->opts->extra[i].path, err);
    signatures_clear(&all);
    if (st == HR_OK) return hr_saved_model_writer_commit(w, err);
    hr_saved_model_writer_discard(w);
    return st;
}

static hr_status write_model(const serving *s, const model *m, const char *dir, const char *checkpoint, hr_error *err)
{
    hr_session *session = hr_session_new(m->graph, .workers = m->e->config.workers);
    if (!session) return hr_no_memory(err, "a session");
    hr_status st = hr_session_restore(session, checkpoint, NULL, err);
    if (st == HR_OK) st = write_session(s, m, session, dir, err);
    hr_session_free(session);
    return st;
}

hr_status hr__estimator_write(hr_estimator *e, const char *dir, const char *checkpoint, const hr_export_opts *given,
                              hr_error *err)
{
    const hr_export_opts opts = HR_OPTIONS(hr_export_opts, given);
    serving s = {.estimator = e, .opts = &opts};
    model m;
    if (opts.extra_count < 0 || (opts.extra_count > 0 && !opts.extra))
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.argument", "export: expected %d extra files, got NULL",
                       opts.extra_count);
    hr_status st = hr__model_serve(e, make_features, &s, &m, err);
    if (st == HR_OK) {
        st = write_model(&s, &m, dir, checkpoint, err);
        hr__model_close(&m);
    }
    serving_input_clear(&s.input);
    return st;
}

/* ---- by itself ---- */

typedef struct export_write {
    hr_estimator *estimator;
    const char *checkpoint;
    const hr_export_opts *opts;
} export_write;

static hr_status write_into(const char *dir, void *user, hr_error *err)
{
    const export_write *w = user;
    return hr__estimator_write(w->estimator, dir, w->checkpoint, w->opts, err);
}

static hr_status find_export_checkpoint(const hr_estimator *e, const hr_export_opts *o, char **found, hr_error *err)
{
    *found = o->checkpoint_path ? hr_strdup(o->checkpoint_path) : NULL;
    if (o->checkpoint_path) return *found ? HR_OK : hr_no_memory(err, "a path");
    HR_TRY(hr_whole_checkpoint(e->model_dir, found, err));
    if (*found) return HR_OK;
    return hr_fail(err, HR_NOT_FOUND, "estimator.checkpoint",
                   "%s: expected a trained model, found no checkpoint; train it first", e->model_dir);
}

hr_status hr_estimator_export_with(hr_estimator *e, const char *base, char **path, const hr_export_opts *given)
{
    const hr_export_opts opts = HR_OPTIONS(hr_export_opts, given);
    char *checkpoint = NULL, *made = NULL;
    if (path) *path = NULL;
    if (!e) return HR_RESOURCE_EXHAUSTED;
    e->error = e->wrong;
    hr_status st = e->error.code;
    if (st == HR_OK && (!base || !*base))
        st = hr_fail(&e->error, HR_INVALID_ARGUMENT, "estimator.argument", "export: expected a folder, got none");
    if (st == HR_OK) st = find_export_checkpoint(e, &opts, &checkpoint, &e->error);
    export_write w = {e, checkpoint, &opts};
    if (st == HR_OK) st = hr__export_whole(e, base, write_into, &w, &made, &e->error);
    hr_free(checkpoint);
    if (path && st == HR_OK)
        *path = made;
    else
        hr_free(made);
    return st;
}
