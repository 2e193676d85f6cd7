/* Predictors: a signature whose tensors are nodes of the graph, and a run that is prepared. A sparse tensor is three
 * nodes: values, indices, dense shape. */
#include "train/saved_model/saved_model_internal.h"

#include <string.h>

struct hr_predictor {
    hr_saved_model *model;
    const hr_meta_signature *signature;
    const hr_meta_tensor **output;
    int outputs, feeds, fetches;
    hr_callable *run;
};

static int parts_of(const hr_meta_tensor *t) { return t->indices ? 3 : 1; }

/* ---- names to nodes ---- */

static hr_status predictor_node(const hr_predictor *p, const hr_meta_tensor *t, const char *name, hr_node *out,
                                hr_error *err)
{
    *out = name ? hr_graph_node(p->model->graph, name) : (hr_node){0};
    if (hr_node_exists(*out) && out->output >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.node",
                   "signature '%.60s': expected a tensor of the graph for '%.60s', got '%.100s'", p->signature->key,
                   t->key, name ? name : "another kind than dense and sparse ones");
}

static hr_status nodes_of(const hr_predictor *p, const hr_meta_tensor *t, hr_node *out, hr_error *err)
{
    HR_TRY(predictor_node(p, t, t->name, &out[0], err));
    if (!t->indices) return HR_OK;
    HR_TRY(predictor_node(p, t, t->indices, &out[1], err));
    return predictor_node(p, t, t->dense_shape, &out[2], err);
}

static hr_status make_run(hr_predictor *p, hr_error *err)
{
    const hr_meta_signature *s = p->signature;
    for (int i = 0; i < s->input_count; i++) p->feeds += parts_of(&s->inputs[i]);
    for (int i = 0; i < p->outputs; i++) p->fetches += parts_of(p->output[i]);
    hr_node *node = hr_calloc((size_t)p->feeds + (size_t)p->fetches + 1, sizeof *node), *next = node;
    hr_status st = node ? HR_OK : hr_no_memory(err, "a predictor");
    for (int i = 0; st == HR_OK && i < s->input_count; next += parts_of(&s->inputs[i++]))
        st = nodes_of(p, &s->inputs[i], next, err);
    for (int i = 0; st == HR_OK && i < p->outputs; next += parts_of(p->output[i++]))
        st = nodes_of(p, p->output[i], next, err);
    if (st == HR_OK)
        st = hr_session_make_callable(p->model->session, node, p->feeds, node + p->feeds, p->fetches, &p->run, err);
    hr_free(node);
    return st;
}

/* ---- making ---- */

static hr_status find_signature(hr_predictor *p, const char *key, hr_error *err)
{
    p->signature = hr_saved_model_signature(p->model, key);
    if (p->signature) return HR_OK;
    const hr_meta_signature *other = hr_meta_graph_signature(p->model->meta, 0);
    return hr_fail(err, HR_NOT_FOUND, "savedmodel.signature",
                   "%.200s: expected a signature '%.60s', found none of that name; %s%.60s%s", p->model->folder,
                   key ? key : "serving_default", other ? "the first one is '" : "there is none",
                   other ? other->key : "", other ? "'" : "");
}

static const hr_meta_tensor *tensor_named(const hr_meta_tensor *list, int count, const char *key)
{
    for (int i = 0; i < count; i++)
        if (key && strcmp(list[i].key, key) == 0) return &list[i];
    return NULL;
}

static hr_status find_outputs(hr_predictor *p, const char *const *outputs, int count, hr_error *err)
{
    const hr_meta_signature *s = p->signature;
    p->outputs = outputs ? count : s->output_count;
    p->output = hr_calloc((size_t)p->outputs + 1, sizeof *p->output);
    if (!p->output) return hr_no_memory(err, "a predictor");
    for (int i = 0; i < p->outputs; i++) {
        p->output[i] = outputs ? tensor_named(s->outputs, s->output_count, outputs[i]) : &s->outputs[i];
        if (!p->output[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.output",
                           "signature '%.60s': expected one of its %d outputs, first '%.60s', got '%.60s'", s->key,
                           s->output_count, s->output_count ? s->outputs[0].key : "", outputs[i] ? outputs[i] : "");
    }
    return HR_OK;
}

hr_status hr_predictor_new(hr_saved_model *m, const char *signature, const char *const *outputs, int output_count,
                           hr_predictor **out, hr_error *err)
{
    if (!m || !out || (outputs && output_count < 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_predictor_new: expected a model and a place for the predictor, got NULL");
    *out = NULL;
    hr_predictor *p = hr_calloc(1, sizeof *p);
    if (!p) return hr_no_memory(err, "a predictor");
    p->model = hr_saved_model_ref(m);
    hr_status st = find_signature(p, signature, err);
    if (st == HR_OK) st = find_outputs(p, outputs, output_count, err);
    if (st == HR_OK) st = make_run(p, err);
    if (st == HR_OK)
        *out = p;
    else
        hr_predictor_free(p);
    return st;
}

void hr_predictor_free(hr_predictor *p)
{
    if (!p) return;
    hr_callable_free(p->run);
    hr_free(p->output);
    hr_saved_model_unref(p->model);
    hr_free(p);
}

const hr_meta_signature *hr_predictor_signature(const hr_predictor *p) { return p ? p->signature : NULL; }
int hr_predictor_outputs(const hr_predictor *p) { return p ? p->outputs : 0; }
const hr_meta_tensor *hr_predictor_output(const hr_predictor *p, int i)
{
    return p && i >= 0 && i < p->outputs ? p->output[i] : NULL;
}

/* ---- sparse tensors ---- */

/* Of a sparse input its three parts; `shape` and what the tensor has are borrowed. */
static hr_status put_parts(const hr_predictor *p, const hr_meta_tensor *t, const hr_tensor *value, hr_tensor *out,
                           hr_error *err)
{
    const bool sparse = value->layout == HR_SPARSE;
    out[0] = *value;
    if (sparse != (t->indices != NULL) || (value->layout != HR_DENSE && !sparse))
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.input",
                       "signature '%.60s': expected a %s tensor for '%.60s', got a %s one", p->signature->key,
                       t->indices ? "sparse" : "dense", t->key, sparse ? "sparse" : "dense or ragged");
    if (!sparse) return HR_OK;
    out[0] = hr_tensor_of(value->dtype, HR_SHAPE(value->count), value->data);
    out[1] = hr_tensor_of(HR_INT64, HR_SHAPE(value->count, value->shape.rank), value->indices);
    out[2] = hr_tensor_of(HR_INT64, HR_SHAPE(value->shape.rank), value->shape.dims);
    return HR_OK;
}

static hr_status parts_fit(const hr_predictor *p, const hr_meta_tensor *t, const hr_tensor *parts, hr_error *err)
{
    const int64_t count = parts[0].count, rank = parts[2].count;
    if (parts[1].dtype == HR_INT64 && parts[2].dtype == HR_INT64 && parts[2].shape.rank == 1 && rank <= HR_MAX_RANK &&
        parts[1].shape.rank == 2 && parts[1].shape.dims[0] == count && parts[1].shape.dims[1] == rank)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.output",
                   "signature '%.60s': expected values, indices and a shape of one sparse tensor as '%.60s', got parts "
                   "that do not fit",
                   p->signature->key, t->key);
}

/* Gives one tensor whose buffer holds values and indices. */
static hr_status join_parts(const hr_tensor *parts, hr_tensor *out, hr_error *err)
{
    const size_t size = hr_dtype_size(parts[0].dtype) * (size_t)parts[0].count;
    const size_t indices = sizeof(int64_t) * (size_t)parts[1].count;
    size_t texts = 0;
    const hr_view *from = parts[0].dtype == HR_STRING ? parts[0].data : NULL;
    for (int64_t i = 0; from && i < parts[0].count; i++) texts += (size_t)from[i].size;
    hr_buffer *buffer = hr_buffer_new(indices + size + texts);
    if (!buffer) return hr_no_memory(err, "a sparse tensor");
    char *at = hr_buffer_data(buffer);
    *out = (hr_tensor){.dtype = parts[0].dtype, .layout = HR_SPARSE, .count = parts[0].count, .buffer = buffer};
    out->shape.rank = (int)parts[2].count;
    memcpy(out->shape.dims, parts[2].data, sizeof(int64_t) * (size_t)parts[2].count);
    out->indices = (const int64_t *)(const void *)at;
    out->data = at + indices;
    if (indices) memcpy(at, parts[1].data, indices);
    if (size) memcpy(out->data, parts[0].data, size);
    hr_view *view = from ? out->data : NULL;
    for (char *text = at + indices + size; view && view < (hr_view *)out->data + out->count; view++) {
        if (view->size) memcpy(text, view->data, (size_t)view->size);
        view->data = text;
        text += view->size;
    }
    return HR_OK;
}

/* ---- running ---- */

/* Takes the parts. */
static hr_status take_outputs(const hr_predictor *p, hr_tensor *parts, hr_tensor *outputs, hr_error *err)
{
    hr_status st = HR_OK;
    for (int i = 0; i < p->outputs; parts += parts_of(p->output[i++])) {
        outputs[i] = (hr_tensor){0};
        if (!p->output[i]->indices) {
            outputs[i] = parts[0];
            continue;
        }
        if (st == HR_OK) st = parts_fit(p, p->output[i], parts, err);
        if (st == HR_OK) st = join_parts(parts, &outputs[i], err);
        for (int k = 0; k < 3; k++) hr_tensor_clear(&parts[k]);
    }
    for (int i = 0; st != HR_OK && i < p->outputs; i++) hr_tensor_clear(&outputs[i]);
    return st;
}

static hr_status run_sparse(const hr_predictor *p, const hr_tensor *inputs, hr_tensor *outputs, const hr_run_opts *opts,
                            hr_error *err)
{
    hr_tensor *parts = hr_calloc((size_t)p->feeds + (size_t)p->fetches + 1, sizeof *parts), *next = parts;
    if (!parts) return hr_no_memory(err, "a run");
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < p->signature->input_count; next += parts_of(&p->signature->inputs[i++]))
        st = put_parts(p, &p->signature->inputs[i], &inputs[i], next, err);
    if (st == HR_OK) st = hr_callable_run_with(p->run, parts, parts + p->feeds, opts, err);
    if (st == HR_OK) st = take_outputs(p, parts + p->feeds, outputs, err);
    hr_free(parts);
    return st;
}

hr_status hr_predictor_run_with(const hr_predictor *p, const hr_tensor *inputs, hr_tensor *outputs,
                                const hr_run_opts *opts, hr_error *err)
{
    if (!p || (!inputs && p->feeds > 0) || (!outputs && p->outputs > 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_predictor_run: expected a predictor, inputs and places for outputs, got NULL");
    if (p->feeds == p->signature->input_count && p->fetches == p->outputs)
        return hr_callable_run_with(p->run, inputs, outputs, opts, err);
    return run_sparse(p, inputs, outputs, opts, err);
}

hr_status hr_predictor_run(const hr_predictor *p, const hr_tensor *inputs, hr_tensor *outputs, hr_error *err)
{
    return hr_predictor_run_with(p, inputs, outputs, NULL, err);
}

/* ---- once, by names ---- */

/* The given tensors in the order of the signature. */
static hr_status order_inputs(const hr_predictor *p, const hr_named_tensor *inputs, int count, hr_tensor *out,
                              hr_error *err)
{
    const hr_meta_signature *s = p->signature;
    for (int i = 0; i < s->input_count; i++) {
        const hr_named_tensor *found = NULL;
        for (int k = 0; k < count && !found; k++)
            if (inputs[k].name && strcmp(inputs[k].name, s->inputs[i].key) == 0) found = &inputs[k];
        if (!found)
            return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.input",
                           "signature '%.60s': expected a tensor for its input '%.60s', got none", s->key,
                           s->inputs[i].key);
        out[i] = found->value;
    }
    if (count == s->input_count) return HR_OK;
    const char *other = "one of its inputs twice";
    for (int k = 0; k < count; k++)
        if (!tensor_named(s->inputs, s->input_count, inputs[k].name)) other = inputs[k].name ? inputs[k].name : "";
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.input",
                   "signature '%.60s': expected just its %d inputs, got %d, among them '%.60s'", s->key, s->input_count,
                   count, other);
}

static hr_status run_named(const hr_predictor *p, const hr_named_tensor *inputs, int input_count,
                           hr_named_tensor *outputs, hr_error *err)
{
    const int count = p->signature->input_count;
    hr_tensor *all = hr_calloc((size_t)count + (size_t)p->outputs + 1, sizeof *all);
    if (!all) return hr_no_memory(err, "a run");
    hr_status st = order_inputs(p, inputs, input_count, all, err);
    if (st == HR_OK) st = hr_predictor_run(p, all, all + count, err);
    for (int i = 0; st == HR_OK && i < p->outputs; i++) outputs[i].value = all[count + i];
    hr_free(all);
    return st;
}

hr_status hr_saved_model_run(hr_saved_model *m, const char *signature, const hr_named_tensor *inputs, int input_count,
                             hr_named_tensor *outputs, int output_count, hr_error *err)
{
    hr_predictor *p;
    if (input_count < 0 || output_count < 0 || (input_count > 0 && !inputs) || (output_count > 0 && !outputs))
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_saved_model_run: expected %d inputs and %d outputs, got NULL", input_count, output_count);
    const char **names = hr_calloc((size_t)output_count + 1, sizeof *names);
    if (!names) return hr_no_memory(err, "a run");
    for (int i = 0; i < output_count; i++) {
        names[i] = outputs[i].name;
        outputs[i].value = (hr_tensor){0};
    }
    hr_status st = hr_predictor_new(m, signature, names, output_count, &p, err);
    hr_free(names);
    if (st != HR_OK) return st;
    st = run_named(p, inputs, input_count, outputs, err);
    hr_predictor_free(p);
    return st;
}
