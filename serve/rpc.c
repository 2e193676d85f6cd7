/* The methods of PredictionService and ModelService, with the checks of TensorFlow Serving in their order. */
#include "serve/rpc.h"

#include "proto/message.h"
#include "proto/serve.pb-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef Headrace__Serve__ModelSpec proto_spec;
typedef Headrace__Serve__PredictRequest proto_predict;
typedef Headrace__Serve__Input proto_input;

/* ---- requests ---- */

static hr_status read_request(hr__rpc *rpc, const ProtobufCMessageDescriptor *type, hr_view bytes, void *out)
{
    ProtobufCMessage *message = NULL;
    hr_error err = {0};
    if (hr__message_read(type, bytes, &message, &err) != HR_OK)
        return hr__fault_error(&rpc->fault, err.code == HR_RESOURCE_EXHAUSTED ? err.code : HR_INTERNAL, &err);
    memcpy(out, &message, sizeof message);
    return HR_OK;
}

/* The same, freed with the rpc. */
static hr_status read_kept_request(hr__rpc *rpc, const ProtobufCMessageDescriptor *type, hr_view bytes, void *out)
{
    HR_TRY(read_request(rpc, type, bytes, &rpc->request));
    memcpy(out, &rpc->request, sizeof rpc->request);
    return HR_OK;
}

static hr_view view_of(const char *text) { return (hr_view){text, (int64_t)strlen(text)}; }

static hr_status read_spec(hr__rpc *rpc, const proto_spec *p, hr__model_spec *spec)
{
    *spec = (hr__model_spec){.name = {"", 0}, .signature = {"", 0}};
    if (!p) return hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT, "Missing ModelSpec");
    spec->name = view_of(p->name);
    spec->signature = view_of(p->signature_name);
    spec->has_version = p->version_choice_case == HEADRACE__SERVE__MODEL_SPEC__VERSION_CHOICE_VERSION;
    if (spec->has_version) spec->version = p->version->value;
    spec->has_label = p->version_choice_case == HEADRACE__SERVE__MODEL_SPEC__VERSION_CHOICE_VERSION_LABEL;
    if (spec->has_label) spec->label = view_of(p->version_label);
    return HR_OK;
}

static hr_status no_memory(hr__rpc *rpc)
{
    return hr__fault_set(&rpc->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
}

static hr_status make_calls(hr__rpc *rpc, int count)
{
    rpc->calls = hr_calloc((size_t)count + 1, sizeof *rpc->calls);
    if (!rpc->calls) return no_memory(rpc);
    rpc->call_count = count;
    for (int i = 0; i < count; i++) {
        rpc->calls[i].entry = 1;
        rpc->calls[i].begun = rpc->begun;
        rpc->calls[i].of_several = count > 1;
    }
    return HR_OK;
}

/* What failed of a call is what failed of the request. */
static hr_status call_failed(hr__rpc *rpc, hr__call *call)
{
    hr__text_free(&rpc->fault.text);
    rpc->fault = call->fault;
    call->fault.text = (hr__text){0};
    return rpc->fault.status;
}

static hr_status hold_version(hr__rpc *rpc, hr__call *call, const hr__model_spec *spec)
{
    if (rpc->warmed) {
        call->version = rpc->warmed;
        call->warms = true;
        return HR_OK;
    }
    if (hr__models_hold(rpc->server->models, spec, &call->version, &call->fault) == HR_OK) return HR_OK;
    return call_failed(rpc, call);
}

/* ---- predict ---- */

/* "{a,b}" of names in their order. */
typedef struct name_list {
    const char **names;
    int count;
} name_list;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_names(hr__text *to, const name_list *list)
{
    hr__text_byte(to, '{');
    for (int i = 0; i < list->count; i++) hr__text_printf(to, "%s%s", i ? "," : "", list->names[i]);
    hr__text_byte(to, '}');
}

static bool among(const name_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0) return true;
    return false;
}

/* Those of `all` that are not in `others`. */
static name_list without(const name_list *all, const name_list *others, const char **space)
{
    name_list left = {space, 0};
    for (int i = 0; i < all->count; i++)
        if (!among(others, all->names[i])) left.names[left.count++] = all->names[i];
    return left;
}

static hr_status wrong_inputs(hr__call *call, const name_list *sent, const name_list *said, const char **space)
{
    hr__text *to = &call->fault.text;
    const name_list extra = without(sent, said, space), missing = without(said, sent, space + extra.count);
    hr__text_clear(to);
    if (sent->count != said->count) {
        hr__text_printf(to, "input size does not match signature: %d!=%d len(", sent->count, said->count);
        add_names(to, sent);
        hr__text_add(to, ") != len(");
        add_names(to, said);
        hr__text_add(to, "). Sent extra: ");
        add_names(to, &extra);
        hr__text_add(to, ". Missing but required: ");
        add_names(to, &missing);
        hr__text_byte(to, '.');
    } else {
        hr__text_printf(to,
                        "Signature input alias: %s not found in request and no default value provided. Inputs expected "
                        "to be in the request ",
                        missing.count ? missing.names[0] : "");
        add_names(to, sent);
        hr__text_add(to, ", or default input alias set: ");
    }
    return call->fault.status = HR_INVALID_ARGUMENT;
}

static bool has_default(const hr__call *call, const char *key)
{
    const hr_servable_kind *kind = call->version->kind;
    const hr_meta_signature *said = call->signature->said;
    for (int i = 0; kind->has_default && i < said->input_count; i++)
        if (strcmp(said->inputs[i].key, key) == 0)
            return kind->has_default(call->version->loaded, call->signature->number, i);
    return false;
}

/* The names that were sent are those of the signature, but for those that have defaults. */
static hr_status check_names(hr__call *call, const proto_predict *p)
{
    const hr_meta_signature *said = call->signature->said;
    const size_t all = p->n_inputs + (size_t)said->input_count;
    const char **space = hr__memory_take(&call->memory, (3 * all + 3) * sizeof *space);
    if (!space) return hr__fault_set(&call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
    name_list sent = {space, 0}, wanted = {space + p->n_inputs, 0};
    if (p->n_inputs > 10000) return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "too many inputs");
    for (size_t i = 0; i < p->n_inputs; i++)
        if (!among(&sent, p->inputs[i]->key)) sent.names[sent.count++] = p->inputs[i]->key;
    qsort(sent.names, (size_t)sent.count, sizeof *sent.names, compare_names);
    for (int i = 0; i < said->input_count; i++) {
        const char *key = said->inputs[call->signature->inputs[i]].key;
        if (among(&sent, key) || !has_default(call, key)) wanted.names[wanted.count++] = key;
    }
    bool same = sent.count == wanted.count;
    for (int i = 0; same && i < sent.count; i++) same = strcmp(sent.names[i], wanted.names[i]) == 0;
    return same ? HR_OK : wrong_inputs(call, &sent, &wanted, space + all);
}

static hr_status read_inputs(hr__call *call, const proto_predict *p)
{
    const hr_meta_signature *said = call->signature->said;
    HR_TRY(check_names(call, p));
    call->inputs = hr__memory_take(&call->memory, (size_t)(said->input_count + 1) * sizeof *call->inputs);
    if (!call->inputs) return hr__fault_set(&call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
    memset(call->inputs, 0, (size_t)(said->input_count + 1) * sizeof *call->inputs);
    call->owns_inputs = true;
    for (size_t i = 0; i < p->n_inputs; i++) {
        hr_tensor read;
        const hr_view bytes = {(const char *)p->inputs[i]->value.data, (int64_t)p->inputs[i]->value.len};
        int number = 0;
        while (strcmp(said->inputs[number].key, p->inputs[i]->key) != 0) number++;
        if (!hr__borrow_strings(bytes, &call->memory, &read) && hr_tensor_import(bytes, &read, NULL) != HR_OK)
            return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "tensor parsing error: %s",
                                 said->inputs[number].key);
        hr_tensor_clear(&call->inputs[number]); /* of two of one name the last counts */
        call->inputs[number] = read;
    }
    return HR_OK;
}

static hr_status unknown_output(hr__call *call, const char *name)
{
    const hr_meta_signature *said = call->signature->said;
    hr__text_clear(&call->fault.text);
    hr__text_printf(&call->fault.text,
                    "output tensor alias not found in signature: %s Outputs expected to be in the set {", name);
    for (int i = 0; i < said->output_count; i++)
        hr__text_printf(&call->fault.text, "%s%s", i ? "," : "", said->outputs[call->signature->outputs[i]].key);
    hr__text_add(&call->fault.text, "}.");
    return call->fault.status = HR_INVALID_ARGUMENT;
}

static hr_status read_filter(hr__call *call, const proto_predict *p)
{
    const hr_meta_signature *said = call->signature->said;
    if (p->n_output_filter == 0) return hr__call_all_outputs(call);
    int *wanted = hr__memory_take(&call->memory, ((size_t)said->output_count + 1) * sizeof *wanted), count = 0;
    if (!wanted) return hr__fault_set(&call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
    for (size_t i = 0; i < p->n_output_filter; i++) {
        int number = 0;
        while (number < said->output_count && strcmp(said->outputs[number].key, p->output_filter[i]) != 0) number++;
        if (number == said->output_count) return unknown_output(call, p->output_filter[i]);
        for (int k = 0; k < count; k++)
            if (wanted[k] == number)
                return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "duplicate output tensor alias: %s",
                                     p->output_filter[i]);
        wanted[count++] = number;
    }
    return hr__call_outputs(call, wanted, count);
}

static hr_status predict_call(hr__call *call, const hr__model_spec *spec, const proto_predict *p)
{
    const hr_view name = spec->signature.size ? spec->signature : view_of("serving_default");
    call->signature = hr__version_signature(call->version, name);
    if (!call->signature)
        return hr__fault_set(&call->fault, HR_FAILED_PRECONDITION, "Serving signature key \"%.*s\" not found.",
                             (int)(name.size > 400 ? 400 : name.size), name.data);
    HR_TRY(read_inputs(call, p));
    return read_filter(call, p);
}

static hr_status begin_predict(hr__rpc *rpc, hr_view request)
{
    proto_predict *p = NULL;
    hr__model_spec spec;
    HR_TRY(read_kept_request(rpc, &headrace__serve__predict_request__descriptor, request, &p));
    HR_TRY(read_spec(rpc, p->model_spec, &spec));
    HR_TRY(make_calls(rpc, 1));
    HR_TRY(hold_version(rpc, rpc->calls, &spec));
    return predict_call(rpc->calls, &spec, p) == HR_OK ? HR_OK : call_failed(rpc, rpc->calls);
}

/* ---- classify, regress, several at once ---- */

static hr_view bytes_of(const ProtobufCBinaryData *b) { return (hr_view){(const char *)b->data, (int64_t)b->len}; }

/* Each after the context. Without one they stay where they are. */
static hr_status take_examples(hr__call *call, const ProtobufCBinaryData *all, size_t count, hr_view context)
{
    call->examples = hr__memory_take(&call->memory, (count + 1) * sizeof *call->examples);
    if (!call->examples) return hr__fault_set(&call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
    for (size_t i = 0; i < count; i++) {
        const hr_view own = call->examples[i] = bytes_of(&all[i]);
        if (context.size == 0) continue;
        char *both = hr__memory_take(&call->memory, (size_t)(own.size + context.size));
        if (!both) return hr__fault_set(&call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
        memcpy(both, context.data, (size_t)context.size);
        if (own.size) memcpy(both + context.size, own.data, (size_t)own.size);
        call->examples[i] = (hr_view){both, own.size + context.size};
    }
    call->example_count = (int64_t)count;
    return HR_OK;
}

static hr_status read_examples(hr__call *call, const proto_input *input)
{
    const ProtobufCBinaryData *all = NULL;
    size_t count = 0;
    hr_view context = {"", 0};
    if (input && input->kind_case == HEADRACE__SERVE__INPUT__KIND_EXAMPLE_LIST) {
        all = input->example_list->examples;
        count = input->example_list->n_examples;
    }
    if (input && input->kind_case == HEADRACE__SERVE__INPUT__KIND_EXAMPLE_LIST_WITH_CONTEXT) {
        all = input->example_list_with_context->examples;
        count = input->example_list_with_context->n_examples;
        context = bytes_of(&input->example_list_with_context->context);
    }
    return take_examples(call, all, count, context);
}

/* After the signature is known to be good. */
static hr_status examples_call(hr__call *call, hr__api api, hr_view signature, const proto_input *input)
{
    call->api = api;
    HR_TRY(read_examples(call, input));
    HR_TRY((api == HR__API_CLASSIFY ? hr__classify_begin : hr__regress_begin)(call, signature));
    if (call->example_count == 0) return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Input is empty.");
    return HR_OK;
}

static hr_status begin_examples(hr__rpc *rpc, hr_view request, hr__api api)
{
    Headrace__Serve__ClassificationRequest *p = NULL;
    hr__model_spec spec;
    HR_TRY(read_kept_request(rpc, &headrace__serve__classification_request__descriptor, request, &p));
    HR_TRY(read_spec(rpc, p->model_spec, &spec));
    HR_TRY(make_calls(rpc, 1));
    HR_TRY(hold_version(rpc, rpc->calls, &spec));
    if (examples_call(rpc->calls, api, spec.signature, p->input) == HR_OK) return HR_OK;
    return call_failed(rpc, rpc->calls);
}

static hr_status begin_classify(hr__rpc *rpc, hr_view request)
{
    return begin_examples(rpc, request, HR__API_CLASSIFY);
}
static hr_status begin_regress(hr__rpc *rpc, hr_view request) { return begin_examples(rpc, request, HR__API_REGRESS); }

typedef Headrace__Serve__MultiInferenceRequest proto_multi;

static const char *signature_key(const Headrace__Serve__InferenceTask *task)
{
    const char *name = task->model_spec ? task->model_spec->signature_name : "";
    return *name ? name : "serving_default";
}

/* The task number i: the same model as the first, another signature than those before. */
static hr_status check_task(hr__rpc *rpc, const proto_multi *p, size_t i, hr__api *api)
{
    const Headrace__Serve__InferenceTask *task = p->tasks[i];
    const char *name = task->model_spec ? task->model_spec->name : "";
    if (!*name) return hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT, "Found ModelSpec with an empty model name.");
    if (strcmp(name, p->tasks[0]->model_spec->name) != 0)
        return hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT,
                             "All ModelSpecs in a MultiInferenceRequest must access the same model name.");
    for (size_t k = 0; k < i; k++)
        if (strcmp(signature_key(p->tasks[k]), signature_key(task)) == 0)
            return hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT, "Duplicate evaluation of signature: %s",
                                 signature_key(task));
    const bool classify = strcmp(task->method_name, "tensorflow/serving/classify") == 0;
    if (!classify && strcmp(task->method_name, "tensorflow/serving/regress") != 0)
        return hr__fault_set(&rpc->fault, HR_UNIMPLEMENTED, "Unsupported signature method_name: %s", task->method_name);
    *api = classify ? HR__API_CLASSIFY : HR__API_REGRESS;
    return HR_OK;
}

static hr_status begin_task(hr__rpc *rpc, const proto_multi *p, size_t i)
{
    hr__call *call = &rpc->calls[i];
    hr__api api = HR__API_CLASSIFY;
    hr__model_spec spec;
    HR_TRY(check_task(rpc, p, i, &api));
    HR_TRY(read_spec(rpc, p->tasks[i]->model_spec, &spec));
    call->of_several = true;
    if (i == 0 || rpc->warmed) {
        HR_TRY(hold_version(rpc, call, &spec));
    } else { /* the version that the first one has */
        spec.has_label = false;
        spec.has_version = true;
        spec.version = rpc->calls[0].version->number;
        HR_TRY(hold_version(rpc, call, &spec));
    }
    if (!hr__version_signature(call->version, spec.signature))
        return hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT, "Requested signature not found in model graph: %s",
                             signature_key(p->tasks[i]));
    return examples_call(call, api, spec.signature, p->input) == HR_OK ? HR_OK : call_failed(rpc, call);
}

static hr_status begin_multi(hr__rpc *rpc, hr_view request)
{
    proto_multi *p = NULL;
    HR_TRY(read_kept_request(rpc, &headrace__serve__multi_inference_request__descriptor, request, &p));
    hr_status st = HR_OK;
    if (p->n_tasks == 0) st = hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT, "ModelSpec has no name specified.");
    if (st == HR_OK && p->n_tasks > 1000) st = hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT, "too many tasks");
    if (st == HR_OK) st = make_calls(rpc, (int)p->n_tasks);
    for (size_t i = 0; i < p->n_tasks && st == HR_OK; i++) st = begin_task(rpc, p, i);
    return st;
}

/* ---- metadata, status, reload, health ---- */

static void answer_metadata(hr__rpc *rpc, const hr__model_spec *spec, const hr__version *version)
{
    hr__text model = {0}, number = {0}, map = {0}, any = {0}, entry = {0};
    hr__say_bytes(&model, 1, spec->name.data, (size_t)spec->name.size);
    hr__say_number(&number, 1, (uint64_t)version->number);
    hr__say_message(&model, 2, &number);
    hr__say_message(&rpc->answer, 1, &model);
    hr__signatures_bytes(version, &map);
    hr__say_string(&any, 1, "type.googleapis.com/tensorflow.serving.SignatureDefMap");
    hr__say_message(&any, 2, &map);
    hr__say_string(&entry, 1, "signature_def");
    hr__say_message(&entry, 2, &any);
    hr__say_message(&rpc->answer, 2, &entry);
}

static hr_status metadata_of(hr__rpc *rpc, const Headrace__Serve__GetModelMetadataRequest *p)
{
    hr__model_spec spec;
    hr__version *version;
    HR_TRY(read_spec(rpc, p->model_spec, &spec));
    if (p->n_metadata_field == 0)
        return hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT,
                             "GetModelMetadataRequest must specify at least one metadata_field");
    for (size_t i = 0; i < p->n_metadata_field; i++)
        if (strcmp(p->metadata_field[i], "signature_def") != 0)
            return hr__fault_set(&rpc->fault, HR_INVALID_ARGUMENT, "Metadata field %s is not supported",
                                 p->metadata_field[i]);
    HR_TRY(hr__models_hold(rpc->server->models, &spec, &version, &rpc->fault));
    answer_metadata(rpc, &spec, version);
    hr__version_release(version);
    return HR_OK;
}

static hr_status begin_metadata(hr__rpc *rpc, hr_view request)
{
    Headrace__Serve__GetModelMetadataRequest *p = NULL;
    HR_TRY(read_request(rpc, &headrace__serve__get_model_metadata_request__descriptor, request, &p));
    const hr_status st = metadata_of(rpc, p);
    hr__message_free(&p->base);
    return st;
}

static hr_status status_of(hr__rpc *rpc, const Headrace__Serve__GetModelStatusRequest *p)
{
    hr__model_spec spec;
    hr__version_status *all;
    int count;
    HR_TRY(read_spec(rpc, p->model_spec, &spec));
    HR_TRY(hr__models_status(rpc->server->models, &spec, &all, &count, &rpc->fault));
    for (int i = 0; i < count; i++) {
        hr__text one = {0}, status = {0};
        hr__say_number(&status, 1, (uint64_t) - (int64_t)all[i].code);
        hr__say_string(&status, 2, all[i].error);
        hr__say_number(&one, 1, (uint64_t)all[i].version);
        hr__say_number(&one, 2, (uint64_t)all[i].state);
        hr__say_message(&one, 3, &status);
        hr__say_message(&rpc->answer, 1, &one);
    }
    hr_free(all);
    return HR_OK;
}

static hr_status begin_status(hr__rpc *rpc, hr_view request)
{
    Headrace__Serve__GetModelStatusRequest *p = NULL;
    HR_TRY(read_request(rpc, &headrace__serve__get_model_status_request__descriptor, request, &p));
    const hr_status st = status_of(rpc, p);
    hr__message_free(&p->base);
    return st;
}

static hr_status begin_reload(hr__rpc *rpc, hr_view request)
{
    Headrace__Serve__ReloadConfigRequest *p = NULL;
    hr__text status = {0};
    HR_TRY(read_request(rpc, &headrace__serve__reload_config_request__descriptor, request, &p));
    const hr_status st = hr__server_reload(rpc->server, bytes_of(&p->config), false, &rpc->fault);
    hr__message_free(&p->base);
    if (st == HR_OK) hr__say_message(&rpc->answer, 1, &status);
    return st;
}

/* grpc.health.v1.HealthCheckRequest {service = 1}: the server, a service, a model. */
static hr_status begin_health(hr__rpc *rpc, hr_view request)
{
    Headrace__Serve__HealthCheckRequest *p = NULL;
    hr__fault unused = {0};
    hr__version *version = NULL;
    HR_TRY(read_request(rpc, &headrace__serve__health_check_request__descriptor, request, &p));
    hr_server *server = rpc->server;
    const char *name = p->service;
    bool known = !*name || strcmp(name, "ModelService") == 0 || strcmp(name, "PredictionService") == 0 ||
                 strcmp(name, "tensorflow.serving.ModelService") == 0 ||
                 strcmp(name, "tensorflow.serving.PredictionService") == 0;
    bool serving = known && hr__models_ready(server->models) && !server->draining;
    if (!known) {
        const hr__model_spec spec = {.name = view_of(name)};
        known = serving = hr__models_hold(server->models, &spec, &version, &unused) == HR_OK;
        if (version) hr__version_release(version);
        hr__text_free(&unused.text);
    }
    hr__message_free(&p->base);
    if (!known) return hr__fault_set(&rpc->fault, HR_NOT_FOUND, "unknown service");
    hr__say_number(&rpc->answer, 1, serving ? 1 : 2);
    return HR_OK;
}

static const hr__method methods[] = {
    {"/tensorflow.serving.PredictionService/Predict", false, begin_predict},
    {"/tensorflow.serving.PredictionService/Classify", false, begin_classify},
    {"/tensorflow.serving.PredictionService/Regress", false, begin_regress},
    {"/tensorflow.serving.PredictionService/MultiInference", false, begin_multi},
    {"/tensorflow.serving.PredictionService/GetModelMetadata", false, begin_metadata},
    {"/tensorflow.serving.ModelService/GetModelStatus", false, begin_status},
    {"/tensorflow.serving.ModelService/HandleReloadConfigRequest", true, begin_reload},
    {"/grpc.health.v1.Health/Check", false, begin_health},
};

const hr__method *hr__method_named(const char *path, size_t size)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strlen(methods[i].path) == size && memcmp(methods[i].path, path, size) == 0) return &methods[i];
    return NULL;
}

/* ---- all of them ---- */

static void task_done(hr__task *task)
{
    hr__rpc *rpc = task->owner;
    if (atomic_fetch_sub(&rpc->left, 1) == 1) rpc->done(rpc);
}

bool hr__rpc_begin(hr__rpc *rpc, hr_view request)
{
    rpc->begun = hr__serve_now();
    if (rpc->method->begin(rpc, request) != HR_OK) {
        if (rpc->call_count) {
            rpc->calls[0].fault.status = rpc->fault.status;
            hr__call_count(&rpc->calls[0]);
        }
        return false;
    }
    if (rpc->call_count == 0) return false;
    rpc->left = rpc->call_count + 1;
    for (int i = 0; i < rpc->call_count; i++) {
        hr__call *call = &rpc->calls[i];
        hr__call_prepare(call, rpc->timeout);
        call->task.done = task_done;
        call->task.owner = rpc;
        call->task.cancelled = &rpc->cancelled;
        if (hr__pool_submit(rpc->server->pool, &call->task, &call->fault) != HR_OK) {
            call->task.status = call->fault.status;
            hr_fail(&call->task.error, call->fault.status, "serve.queue", "%s", call->fault.text.data);
            atomic_fetch_sub(&rpc->left, 1);
        }
    }
    if (atomic_fetch_sub(&rpc->left, 1) == 1) rpc->done(rpc);
    return true;
}

static hr_status end_calls(hr__rpc *rpc)
{
    for (int i = 0; i < rpc->call_count; i++) {
        hr__call *call = &rpc->calls[i];
        hr__text part = {0};
        if (call->task.status != HR_OK) return hr__fault_error(&rpc->fault, call->task.status, &call->task.error);
        if (hr__put_answer(call, call->of_several ? &part : &rpc->answer) != HR_OK) {
            hr__text_free(&part);
            return call_failed(rpc, call);
        }
        if (call->of_several) hr__say_message(&rpc->answer, 1, &part);
    }
    return rpc->answer.failed ? no_memory(rpc) : HR_OK;
}

void hr__rpc_end(hr__rpc *rpc)
{
    const hr_status st = end_calls(rpc);
    for (int i = 0; i < rpc->call_count && !rpc->warmed; i++) {
        rpc->calls[i].fault.status = st;
        hr__call_count(&rpc->calls[i]);
        if (st == HR_OK && !rpc->calls[i].of_several) hr__request_log_add(&rpc->calls[i]);
    }
}

hr_status hr__rpc_run(hr__rpc *rpc, hr_view request)
{
    HR_TRY(rpc->method->begin(rpc, request));
    for (int i = 0; i < rpc->call_count; i++) {
        hr__call_prepare(&rpc->calls[i], rpc->timeout);
        hr__task_run_alone(&rpc->calls[i].task);
    }
    hr__rpc_end(rpc);
    return rpc->fault.status;
}

void hr__rpc_clear(hr__rpc *rpc)
{
    for (int i = 0; i < rpc->call_count; i++) hr__call_clear(&rpc->calls[i]);
    hr_free(rpc->calls);
    hr__message_free(rpc->request);
    hr__text_free(&rpc->fault.text);
    hr__text_free(&rpc->answer);
}
