/* One version of a model: loaded, its signatures put in order, warmed up before it takes requests. */
#include "serve/version.h"

#include <stdlib.h>
#include <string.h>

/* ---- signatures ---- */

static int *names_order(const hr_meta_tensor *tensors, int count)
{
    int *order = hr_malloc((size_t)(count + 1) * sizeof *order);
    for (int i = 0; order && i < count; i++) {
        int at = i;
        for (; at > 0 && strcmp(tensors[order[at - 1]].key, tensors[i].key) > 0; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

static bool all_by_rows(const hr_meta_tensor *tensors, int count)
{
    for (int i = 0; i < count; i++)
        if (tensors[i].shape.rank < 1 || tensors[i].shape.dims[0] != -1 || tensors[i].indices) return false;
    return count > 0;
}

static int compare_signatures(const void *a, const void *b)
{
    return strcmp(((const hr__signature *)a)->said->key, ((const hr__signature *)b)->said->key);
}

static hr_status list_signatures(hr__version *v, hr_error *err)
{
    int count = 0;
    while (v->kind->signature(v->loaded, count)) count++;
    v->signatures = hr_calloc((size_t)count + 1, sizeof *v->signatures);
    if (!v->signatures) return hr_no_memory(err, "signatures");
    v->signature_count = count;
    for (int i = 0; i < count; i++) {
        hr__signature *s = &v->signatures[i];
        s->said = v->kind->signature(v->loaded, i);
        s->number = i;
        s->inputs = names_order(s->said->inputs, s->said->input_count);
        s->outputs = names_order(s->said->outputs, s->said->output_count);
        if (!s->inputs || !s->outputs) return hr_no_memory(err, "signatures");
        s->by_rows =
            all_by_rows(s->said->inputs, s->said->input_count) && all_by_rows(s->said->outputs, s->said->output_count);
    }
    qsort(v->signatures, (size_t)count, sizeof *v->signatures, compare_signatures);
    return HR_OK;
}

/* ---- a first run ---- */

/* A row of zeros, in place of a client's. What it gives does not matter, nor that it may fail: plans are made. */
static void synthetic_run(hr__version *v, hr__signature *s)
{
    hr__call call = {.version = v, .signature = s};
    const hr_meta_signature *said = s->said;
    call.inputs = hr_calloc((size_t)said->input_count + 1, sizeof *call.inputs);
    bool made = call.inputs != NULL && hr__call_all_outputs(&call) == HR_OK;
    for (int i = 0; i < said->input_count && made; i++) {
        hr_shape shape = said->inputs[i].shape;
        if (shape.rank < 0) shape = HR_SHAPE(1);
        for (int d = 0; d < shape.rank; d++)
            if (shape.dims[d] < 0) shape.dims[d] = 1;
        made = hr_shape_count(shape) >= 0 && hr_shape_count(shape) < 1 << 20 &&
               hr_tensor_new(&call.inputs[i], said->inputs[i].dtype, shape, NULL) == HR_OK;
        if (made) memset(call.inputs[i].data, 0, (size_t)call.inputs[i].count * hr_dtype_size(call.inputs[i].dtype));
    }
    if (made) {
        hr__call_prepare(&call, 30);
        for (int i = 0; i < 2; i++) { /* the second one tells the cost */
            s->cost = 0;
            if (call.task.status == HR_OK)
                for (int o = 0; o < call.output_count; o++) hr_tensor_clear(&call.results[o]);
            hr__task_run_alone(&call.task);
            if (call.task.status != HR_OK) s->cost = 0;
        }
    }
    for (int i = 0; call.inputs && i < said->input_count; i++) hr_tensor_clear(&call.inputs[i]);
    hr_free(call.inputs);
    call.version = NULL; /* it is not held */
    hr__call_clear(&call);
}

static void version_unload(hr__version *v)
{
    for (int i = 0; i < v->signature_count; i++) {
        hr_free(v->signatures[i].inputs);
        hr_free(v->signatures[i].outputs);
    }
    hr_free(v->signatures);
    v->signatures = NULL;
    v->signature_count = 0;
    if (v->loaded) v->kind->unload(v->loaded);
    v->loaded = NULL;
}

static hr_status version_load(hr__version *v, const hr_server_opts *opts, hr_error *err)
{
    const hr_servable_load load = {
        .struct_size = sizeof load,
        .path = v->path,
        .tags = opts->saved_model_tags ? opts->saved_model_tags : "serve",
    };
    const uint64_t begin = hr__serve_now();
    hr_status st = v->path ? v->kind->load(&load, &v->loaded, err) : hr_no_memory(err, "a path");
    if (st == HR_OK) st = list_signatures(v, err);
    if (st == HR_OK && !opts->no_warmup) st = hr__warmup_replay(v, err);
    for (int i = 0; i < v->signature_count && st == HR_OK; i++) synthetic_run(v, &v->signatures[i]);
    v->load_seconds = (double)(hr__serve_now() - begin) * 1e-9;
    if (st != HR_OK) version_unload(v);
    return st;
}

const hr__version_calls hr__version_calls_of_models = {version_load, version_unload};
