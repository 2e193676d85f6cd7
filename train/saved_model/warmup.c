/* Requests that a server sends to a model before the first real one: records of PredictionLog. */
#include "proto/serving.pb-c.h"
#include "train/graphdef/graphdef_internal.h"
#include "train/saved_model/writer.h"
#include <headrace/io.h>

#include <string.h>

typedef Headrace__Proto__PredictionLog proto_log;

static hr_status warmup_no_memory(hr_error *err) { return hr_no_memory(err, "a request"); }

static hr_status write_log(hr_saved_model_writer *w, const proto_log *log, hr_error *err)
{
    if (!w->warmup) {
        char *path = hr__writer_path(w, "assets.extra/tf_serving_warmup_requests");
        hr_status st = path ? hr_make_folders_above(path, err) : warmup_no_memory(err);
        if (st == HR_OK) st = hr_record_writer_open(path, NULL, &w->warmup, err);
        hr_free(path);
        if (st != HR_OK) return st;
    }
    const size_t size = protobuf_c_message_get_packed_size(&log->base);
    uint8_t *bytes = hr_malloc(size + 1);
    if (!bytes) return warmup_no_memory(err);
    protobuf_c_message_pack(&log->base, bytes);
    const hr_status st = hr_record_write(w->warmup, bytes, size, err);
    hr_free(bytes);
    return st;
}

static hr_status log_predict(hr_saved_model_writer *w, Headrace__Proto__ModelSpec *spec, const hr_named_tensor *inputs,
                             int count, hr_error *err)
{
    hr__arena arena = {0};
    Headrace__Proto__PredictRequest request = HEADRACE__PROTO__PREDICT_REQUEST__INIT;
    Headrace__Proto__PredictionLog__Predict predict = HEADRACE__PROTO__PREDICTION_LOG__PREDICT__INIT;
    proto_log log = HEADRACE__PROTO__PREDICTION_LOG__INIT;
    request.model_spec = spec;
    request.inputs = hr__arena_get(&arena, sizeof *request.inputs * ((size_t)count + 1));
    hr_status st = request.inputs ? HR_OK : warmup_no_memory(err);
    for (int i = 0; st == HR_OK && i < count; i++) {
        Headrace__Proto__TensorEntry *entry = hr__arena_get(&arena, sizeof *entry);
        if (!entry) st = warmup_no_memory(err);
        if (!entry) break;
        headrace__proto__tensor_entry__init(entry);
        entry->key = (char *)(uintptr_t)inputs[i].name;
        entry->value = hr__tensor_message(&arena, &inputs[i].value);
        request.inputs[request.n_inputs++] = entry;
        if (!entry->value) st = warmup_no_memory(err);
    }
    predict.request = &request;
    log.log_type_case = HEADRACE__PROTO__PREDICTION_LOG__LOG_TYPE_PREDICT_LOG;
    log.predict_log = &predict;
    if (st == HR_OK) st = write_log(w, &log, err);
    hr__arena_free(&arena);
    return st;
}

/* The examples of a request of classification or regression. */
static hr_status log_examples(hr_saved_model_writer *w, Headrace__Proto__ModelSpec *spec, bool classify,
                              const hr_tensor *examples, hr_error *err)
{
    Headrace__Proto__ServingInput__ExampleList list = HEADRACE__PROTO__SERVING_INPUT__EXAMPLE_LIST__INIT;
    Headrace__Proto__ServingInput input = HEADRACE__PROTO__SERVING_INPUT__INIT;
    Headrace__Proto__ExamplesRequest request = HEADRACE__PROTO__EXAMPLES_REQUEST__INIT;
    Headrace__Proto__PredictionLog__Examples logged = HEADRACE__PROTO__PREDICTION_LOG__EXAMPLES__INIT;
    proto_log log = HEADRACE__PROTO__PREDICTION_LOG__INIT;
    const hr_view *view = examples->data;
    list.examples = hr_calloc((size_t)examples->count + 1, sizeof *list.examples);
    if (!list.examples) return warmup_no_memory(err);
    for (; list.n_examples < (size_t)examples->count; list.n_examples++, view++)
        list.examples[list.n_examples] = (ProtobufCBinaryData){(size_t)view->size, (uint8_t *)(uintptr_t)view->data};
    input.kind_case = HEADRACE__PROTO__SERVING_INPUT__KIND_EXAMPLE_LIST;
    input.example_list = &list;
    request.model_spec = spec;
    request.input = &input;
    logged.request = &request;
    log.log_type_case = classify ? HEADRACE__PROTO__PREDICTION_LOG__LOG_TYPE_CLASSIFY_LOG
                                 : HEADRACE__PROTO__PREDICTION_LOG__LOG_TYPE_REGRESS_LOG;
    if (classify)
        log.classify_log = &logged;
    else
        log.regress_log = &logged;
    const hr_status st = write_log(w, &log, err);
    hr_free(list.examples);
    return st;
}

static hr_status check_inputs(const hr_saved_model_writer *w, const char *method, const hr_named_tensor *inputs,
                              int count, hr_error *err)
{
    bool fits = w && inputs && count > 0;
    const bool examples = method && strcmp(method, HR_PREDICT_METHOD) != 0;
    for (int i = 0; fits && i < count; i++)
        fits = inputs[i].name && inputs[i].value.layout == HR_DENSE &&
               (!examples || (count == 1 && inputs[i].value.dtype == HR_STRING));
    fits = fits && (!examples || strcmp(method, HR_CLASSIFY_METHOD) == 0 || strcmp(method, HR_REGRESS_METHOD) == 0);
    if (fits) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                   "hr_saved_model_writer_add_warmup: expected a writer, a method that is served, and dense tensors "
                   "with names, or, to classify or regress, one of serialized Examples");
}

hr_status hr_saved_model_writer_add_warmup(hr_saved_model_writer *w, const char *method, const char *signature,
                                           const hr_named_tensor *inputs, int count, hr_error *err)
{
    hr_error failed = {0};
    Headrace__Proto__ModelSpec spec = HEADRACE__PROTO__MODEL_SPEC__INIT;
    HR_TRY(check_inputs(w, method, inputs, count, err));
    spec.signature_name = (char *)(uintptr_t)(signature ? signature : "serving_default");
    const bool classify = method && strcmp(method, HR_CLASSIFY_METHOD) == 0;
    const bool regress = method && strcmp(method, HR_REGRESS_METHOD) == 0;
    const hr_status st = classify || regress ? log_examples(w, &spec, classify, &inputs[0].value, &failed)
                                             : log_predict(w, &spec, inputs, count, &failed);
    if (st != HR_OK && err) *err = failed;
    return hr__writer_tell(w, st, &failed);
}
