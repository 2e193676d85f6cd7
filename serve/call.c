/* What REST and gRPC share: the shape of classify and regress, signatures as messages, the counting of calls. */
#include "serve/internal.h"

#include <stdio.h>
#include <string.h>

void hr__call_clear(hr__call *call)
{
    if (call->task.status == HR_OK && call->results)
        for (int i = 0; i < call->output_count; i++) hr_tensor_clear(&call->results[i]);
    if (call->owns_inputs)
        for (int i = 0; i < call->signature->said->input_count; i++) hr_tensor_clear(&call->inputs[i]);
    if (call->version && !call->warms) hr__version_release(call->version);
    hr__text_free(&call->fault.text);
    hr__memory_free(&call->memory);
}

void hr__call_count(hr__call *call)
{
    if (!call->version) return;
    hr__model *model = call->version->model;
    const int entry = call->entry, code = call->fault.status <= 0 ? -(int)call->fault.status : 0;
    atomic_fetch_add_explicit(&model->requests[entry][code], 1, memory_order_relaxed);
    if (call->task.ran) hr__histogram_add(&model->runtime, call->task.ran / 1000);
    if (call->fault.status != HR_OK) return;
    hr__histogram_add(&model->latency[entry][call->api], (hr__serve_now() - call->begun) / 1000);
    atomic_fetch_add_explicit(&model->example_requests, 1, memory_order_relaxed);
    const int64_t rows = call->example_count ? call->example_count : call->task.rows > 0 ? call->task.rows : 1;
    atomic_fetch_add_explicit(&model->examples, (uint64_t)rows, memory_order_relaxed);
}

static hr_status call_memory(hr__call *call)
{
    return hr__fault_set(&call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
}

hr_status hr__call_outputs(hr__call *call, const int *outputs, int count)
{
    call->outputs = hr__memory_take(&call->memory, (size_t)(count + 1) * sizeof *call->outputs);
    call->results = hr__memory_take(&call->memory, (size_t)(count + 1) * sizeof *call->results);
    if (!call->outputs || !call->results) return call_memory(call);
    memcpy(call->outputs, outputs, (size_t)count * sizeof *outputs);
    memset(call->results, 0, (size_t)(count + 1) * sizeof *call->results);
    call->output_count = count;
    return HR_OK;
}

hr_status hr__call_all_outputs(hr__call *call)
{
    return hr__call_outputs(call, call->signature->outputs, call->signature->said->output_count);
}

/* The rows that all inputs have in common; -1: there are none, and it runs alone. */
static int64_t common_rows(const hr__call *call)
{
    const hr_meta_signature *said = call->signature->said;
    if (!call->signature->by_rows || said->input_count == 0) return -1;
    int64_t rows = -1;
    for (int i = 0; i < said->input_count; i++) {
        const hr_tensor *t = &call->inputs[i];
        if (t->dtype != said->inputs[i].dtype || t->shape.rank < 1 || t->layout != HR_DENSE) return -1;
        if (rows >= 0 && t->shape.dims[0] != rows) return -1;
        rows = t->shape.dims[0];
    }
    return rows > 0 ? rows : -1;
}

void hr__call_prepare(hr__call *call, double timeout)
{
    hr__task *task = &call->task;
    task->version = call->version;
    task->signature = call->signature;
    task->inputs = call->inputs;
    task->outputs = call->outputs;
    task->output_count = call->output_count;
    task->results = call->results;
    task->rows = common_rows(call);
    task->deadline = timeout > 0 ? hr__serve_now() + (uint64_t)(timeout * 1e9) : 0;
    task->status = HR_UNKNOWN; /* nothing to clear yet */
}

/* ---- classify and regress ---- */

static int tensor_named(const hr_meta_tensor *tensors, int count, const char *key)
{
    for (int i = 0; i < count; i++)
        if (strcmp(tensors[i].key, key) == 0) return i;
    return -1;
}

/* Fails with the whole signature after the text. */
static hr_status signature_fault(hr__call *call, const char *text)
{
    hr__text_clear(&call->fault.text);
    hr__text_add(&call->fault.text, text);
    hr__signature_text(call->signature->said, &call->fault.text);
    return call->fault.status = HR_INVALID_ARGUMENT;
}

static hr_status feed_examples(hr__call *call)
{
    call->inputs = hr__memory_take(&call->memory, sizeof *call->inputs);
    if (!call->inputs) return call_memory(call);
    call->inputs[0] = hr_tensor_of(HR_STRING, HR_SHAPE(call->example_count), call->examples);
    return HR_OK;
}

static hr_status find_signature(hr__call *call, hr_view name)
{
    call->signature = hr__version_signature(call->version, name);
    if (call->signature) return HR_OK;
    if (name.size == 0) name = (hr_view){"serving_default", 15};
    return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "No signature was found with the name: %.*s",
                         (int)name.size, name.data);
}

hr_status hr__classify_begin(hr__call *call, hr_view signature)
{
    HR_TRY(find_signature(call, signature));
    const hr_meta_signature *s = call->signature->said;
    if (s->input_count != 1) return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Expected one input Tensor.");
    if (s->output_count != 1 && s->output_count != 2)
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Expected one or two output Tensors, found %d",
                             s->output_count);
    if (strcmp(s->inputs[0].key, "inputs") != 0)
        return signature_fault(call, "No classification inputs found in SignatureDef: ");
    const int classes = tensor_named(s->outputs, s->output_count, "classes");
    const int scores = tensor_named(s->outputs, s->output_count, "scores");
    if (classes < 0 && scores < 0)
        return signature_fault(call, "Expected classification signature outputs to contain at least one of \"classes\" "
                                     "or \"scores\". Signature was: ");
    int wanted[2], count = 0;
    if (classes >= 0) wanted[count++] = classes;
    if (scores >= 0) wanted[count++] = scores;
    HR_TRY(feed_examples(call));
    return hr__call_outputs(call, wanted, count);
}

hr_status hr__regress_begin(hr__call *call, hr_view signature)
{
    HR_TRY(find_signature(call, signature));
    const hr_meta_signature *s = call->signature->said;
    if (s->input_count != 1) return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Expected one input Tensor.");
    if (s->output_count != 1) return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Expected one output Tensor.");
    if (strcmp(s->inputs[0].key, "inputs") != 0)
        return signature_fault(call, "No regression inputs found in SignatureDef: ");
    if (strcmp(s->outputs[0].key, "outputs") != 0)
        return signature_fault(call, "No regression outputs found in SignatureDef: ");
    HR_TRY(feed_examples(call));
    return hr__call_outputs(call, (int[]){0}, 1);
}

/* [2,3] */
static const char *shape_text(const hr_tensor *t, char text[128]) { return hr_shape_text(t->shape, text, 128); }

static hr_status check_width(hr__call *call, const hr_tensor *t, hr_dtype dtype, const char *what)
{
    char text[128];
    if (t->dtype != dtype)
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Expected %s Tensor of %s. Got: %s", what,
                             hr__dtype_proto_name(dtype), hr__dtype_proto_name(t->dtype));
    if (t->shape.rank != 2)
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT,
                             "Expected Tensor shape: [batch_size num_classes] but got %s", shape_text(t, text));
    if (t->shape.dims[0] != call->example_count)
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Expected %s output batch size of %lld. Got: %lld",
                             what, (long long)call->example_count, (long long)t->shape.dims[0]);
    return HR_OK;
}

hr_status hr__classify_end(hr__call *call, hr__classes *out)
{
    const hr_tensor *labels = NULL, *scores = NULL;
    for (int i = 0; i < call->output_count; i++) {
        const bool is_labels = strcmp(call->signature->said->outputs[call->outputs[i]].key, "classes") == 0;
        *(is_labels ? &labels : &scores) = &call->results[i];
    }
    if (labels) HR_TRY(check_width(call, labels, HR_STRING, "classes"));
    if (scores) HR_TRY(check_width(call, scores, HR_FLOAT, "scores"));
    if (labels && scores && labels->shape.dims[1] != scores->shape.dims[1])
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT,
                             "Tensors class and score should match in dim_size(1). Got %lld vs. %lld",
                             (long long)labels->shape.dims[1], (long long)scores->shape.dims[1]);
    *out = (hr__classes){
        .labels = labels ? labels->data : NULL,
        .scores = scores ? scores->data : NULL,
        .batch = call->example_count,
        .width = (labels ? labels : scores)->shape.dims[1],
    };
    return HR_OK;
}

hr_status hr__regress_end(hr__call *call, const float **values)
{
    char text[128];
    const hr_tensor *t = &call->results[0];
    const int rank = t->shape.rank;
    if (rank != 1 && (rank != 2 || t->shape.dims[1] != 1))
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT,
                             "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got %s",
                             shape_text(t, text));
    if (t->shape.dims[0] != call->example_count)
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT,
                             "Input batch size did not match output batch size: %lld vs. %lld",
                             (long long)call->example_count, (long long)t->shape.dims[0]);
    if (t->dtype != HR_FLOAT)
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Expected output Tensor of DT_FLOAT.  Got: %s",
                             hr__dtype_proto_name(t->dtype));
    *values = t->data;
    return HR_OK;
}
