/* REST as TensorFlow Serving's: which request is what, and its answer. */
#include "serve/http.h"
#include "serve/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- targets ---- */

/* The parts of a target that has the form of a request for models. */
typedef struct rest_target {
    hr_view model, version, label, verb, metadata; /* size -1: not there */
} rest_target;

static bool take_word(hr_view *rest, const char *word)
{
    const size_t size = strlen(word);
    if ((size_t)rest->size < size || strncasecmp(rest->data, word, size) != 0) return false;
    rest->data += size;
    rest->size -= (int64_t)size;
    return true;
}

/* As many bytes as a name has: none of / and : */
static hr_view take_name(hr_view *rest)
{
    int64_t size = 0;
    while (size < rest->size && rest->data[size] != '/' && rest->data[size] != ':') size++;
    const hr_view name = {rest->data, size};
    rest->data += size;
    rest->size -= size;
    return name;
}

static bool is_digits(hr_view text)
{
    for (int64_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9') return false;
    return text.size > 0;
}

/* /versions/N or /labels/L, if it is there. */
static void take_version(hr_view *rest, rest_target *t)
{
    hr_view after = *rest;
    if (take_word(&after, "/versions/")) {
        const hr_view number = take_name(&after);
        if (!is_digits(number)) return;
        t->version = number;
        *rest = after;
    } else if (take_word(&after, "/labels/")) {
        const hr_view label = take_name(&after);
        if (label.size == 0) return;
        t->label = label;
        *rest = after;
    }
}

static const rest_target no_target = {{"", -1}, {"", -1}, {"", -1}, {"", -1}, {"", -1}};

static bool parse_post(hr_view target, rest_target *t)
{
    *t = no_target;
    if (!take_word(&target, "/v1/models/")) return false;
    t->model = take_name(&target);
    if (t->model.size == 0) return false;
    take_version(&target, t);
    if (target.size < 1 || target.data[0] != ':') return false;
    t->verb = (hr_view){target.data + 1, target.size - 1};
    return true;
}

static bool parse_get_from(hr_view rest, bool with_model, rest_target *t)
{
    *t = no_target;
    if (with_model) {
        if (!take_word(&rest, "/")) return false;
        t->model = take_name(&rest);
        if (t->model.size == 0) return false;
    }
    take_version(&rest, t);
    hr_view after = rest;
    if (take_word(&after, "/metadata")) {
        t->metadata = (hr_view){rest.data + 1, 8};
        rest = after;
    }
    return rest.size == 0;
}

static bool parse_get(hr_view target, rest_target *t)
{
    if (!take_word(&target, "/v1/models")) return false;
    return parse_get_from(target, true, t) || parse_get_from(target, false, t);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* %41 is A; what is no such escape stays. */
static hr_view decode_name(hr__request *r, hr_view name)
{
    if (name.size < 0) return (hr_view){"", 0};
    if (!memchr(name.data, '%', (size_t)name.size)) return name;
    char *out = hr__memory_take(&r->call.memory, (size_t)name.size), *to = out;
    if (!out) return name;
    for (int64_t i = 0; i < name.size; i++) {
        const int high = i + 2 < name.size && name.data[i] == '%' ? hex_value(name.data[i + 1]) : -1;
        const int low = high >= 0 ? hex_value(name.data[i + 2]) : -1;
        *to++ = low >= 0 ? (char)(high * 16 + low) : name.data[i];
        if (low >= 0) i += 2;
    }
    return (hr_view){out, to - out};
}

/* False: the version is beyond int64. */
static bool target_spec(hr__request *r, const rest_target *t, hr__model_spec *spec)
{
    *spec = (hr__model_spec){.name = decode_name(r, t->model), .signature = {"", 0}};
    if (t->version.size > 0) {
        char *end, text[400];
        if (t->version.size >= (int64_t)sizeof text) return false;
        memcpy(text, t->version.data, (size_t)t->version.size);
        text[t->version.size] = 0;
        errno = 0;
        spec->version = strtoll(text, &end, 10);
        spec->has_version = true;
        if (errno) return false;
    }
    spec->has_label = t->label.size > 0;
    if (spec->has_label) spec->label = decode_name(r, t->label);
    return true;
}

/* ---- answers ---- */

static int http_status(hr_status status)
{
    switch (status) {
    case HR_OK:
        return 200;
    case HR_INVALID_ARGUMENT:
    case HR_FAILED_PRECONDITION:
    case HR_OUT_OF_RANGE:
        return 400;
    case HR_PERMISSION_DENIED:
        return 403;
    case HR_NOT_FOUND:
        return 404;
    case HR_ALREADY_EXISTS:
    case HR_ABORTED:
        return 409;
    case HR_RESOURCE_EXHAUSTED:
        return 429;
    case HR_CANCELLED:
        return 499;
    case HR_UNIMPLEMENTED:
        return 501;
    case HR_UNAVAILABLE:
        return 503;
    case HR_DEADLINE_EXCEEDED:
        return 504;
    default:
        return 500;
    }
}

static hr__text *answer_text(hr__request *r)
{
    hr__text_clear(&r->loop->answer);
    return &r->loop->answer;
}

/* Answers with the text that was made, or with what failed. */
static void answer(hr__request *r)
{
    hr__fault *fault = &r->call.fault;
    hr__text *text = &r->loop->answer;
    if (fault->status == HR_OK && text->failed) hr__fault_set(fault, HR_RESOURCE_EXHAUSTED, "no memory for the answer");
    hr__call_count(&r->call);
    if (fault->status != HR_OK) {
        text = answer_text(r);
        hr__doc_error(fault->text.data ? fault->text.data : "", fault->text.size, text);
    }
    hr__request_answer(r, http_status(fault->status), hr__answer_type, text);
}

static void malformed(hr__request *r)
{
    hr__fault_set(&r->call.fault, HR_INVALID_ARGUMENT, "Malformed request: %s %s",
                  http_method_str((enum http_method)r->method), r->target.data);
    answer(r);
}

/* Outside of what is served: the page of libevent, which closes. */
static void not_found_page(hr__request *r)
{
    r->keep_alive = false;
    hr__request_answer_text(r, 404, "text/html",
                            "<HTML><HEAD>\n<TITLE>404 Not Found</TITLE>\n</HEAD><BODY>\n<H1>Not "
                            "Found</H1>\n</BODY></HTML>\n");
}

/* ---- status and metadata ---- */

static const char *state_name(hr__version_state state)
{
    switch (state) {
    case HR__START:
        return "START";
    case HR__LOADING:
        return "LOADING";
    case HR__AVAILABLE:
        return "AVAILABLE";
    case HR__UNLOADING:
        return "UNLOADING";
    default:
        return "END";
    }
}

static void rest_status(hr__request *r, const hr__model_spec *spec)
{
    hr__version_status *all;
    int count;
    hr__text *to = answer_text(r);
    if (hr__models_status(r->loop->server->models, spec, &all, &count, &r->call.fault) == HR_OK) {
        hr__text_add(to, "{\n \"model_version_status\": [");
        for (int i = 0; i < count; i++) {
            hr__text_printf(to,
                            "%s\n  {\n   \"version\": \"%lld\",\n   \"state\": \"%s\",\n   \"status\": {\n    "
                            "\"error_code\": \"%s\",\n    \"error_message\": ",
                            i ? "," : "", (long long)all[i].version, state_name(all[i].state),
                            hr__status_code(all[i].code));
            hr__text_json(to, all[i].error, strlen(all[i].error));
            hr__text_add(to, "\n   }\n  }");
        }
        hr__text_add(to, "\n ]\n}\n");
        hr_free(all);
    }
    answer(r);
}

static void rest_metadata(hr__request *r, const hr__model_spec *spec)
{
    hr__text *to = answer_text(r);
    if (hr__models_hold(r->loop->server->models, spec, &r->call.version, &r->call.fault) == HR_OK) {
        hr__text_add(to, "{\n\"model_spec\":{\n \"name\": ");
        hr__doc_quote(spec->name, to);
        hr__text_printf(
            to,
            ",\n \"signature_name\": \"\",\n \"version\": \"%lld\"\n}\n,\n\"metadata\": {\"signature_def\": "
            "{\n \"signature_def\": ",
            (long long)r->call.version->number);
        hr__signatures_json(r->call.version, 1, to);
        hr__text_add(to, "\n}\n}\n}\n");
        hr__version_release(r->call.version);
        r->call.version = NULL; /* no inference: it is not counted */
    }
    answer(r);
}

static void list_model(const hr__model *model, void *user)
{
    hr__text *to = user;
    if (to->data && to->data[to->size - 1] == '}') hr__text_byte(to, ',');
    hr__text_add(to, "\n  {\"name\": ");
    hr__doc_quote((hr_view){model->name, (int64_t)strlen(model->name)}, to);
    hr__text_add(to, ", \"versions\": [");
    const char *between = "";
    for (const hr__version *v = model->versions; v; v = v->next) {
        hr__text_printf(to, "%s{\"version\": \"%lld\", \"state\": \"%s\"}", between, (long long)v->number,
                        state_name(v->state));
        between = ", ";
    }
    hr__text_add(to, "], \"labels\": {");
    for (int i = 0; i < model->label_count; i++) {
        if (i) hr__text_add(to, ", ");
        hr__doc_quote((hr_view){model->labels[i].name, (int64_t)strlen(model->labels[i].name)}, to);
        hr__text_printf(to, ": \"%lld\"", (long long)model->labels[i].version);
    }
    hr__text_printf(to, "}, \"p50_us\": %.0f, \"p99_us\": %.0f}",
                    hr__histogram_share(&model->latency[0][HR__API_PREDICT], 0.5),
                    hr__histogram_share(&model->latency[0][HR__API_PREDICT], 0.99));
}

static void rest_list(hr__request *r)
{
    hr__text *to = answer_text(r);
    hr__text_add(to, "{\n \"models\": [");
    hr__models_each(r->loop->server->models, list_model, to);
    hr__text_add(to, "\n ]\n}\n");
    answer(r);
}

static void rest_get(hr__request *r, hr_view target)
{
    rest_target t;
    hr__model_spec spec;
    if (!parse_get(target, &t)) {
        malformed(r);
        return;
    }
    if (!target_spec(r, &t, &spec)) {
        hr__request_answer_text(r, 400, hr__answer_type, "");
    } else if (t.model.size < 0) {
        if (!r->loop->server->opts.tf_compat) {
            rest_list(r);
            return;
        }
        hr__fault_set(&r->call.fault, HR_INVALID_ARGUMENT, "Missing model name in request.");
        answer(r);
    } else if (t.metadata.size > 0 && memcmp(t.metadata.data, "metadata", 8) == 0) {
        rest_metadata(r, &spec);
    } else {
        rest_status(r, &spec);
    }
}

/* ---- inference ---- */

/* A task of this loop's ran here, or elsewhere. */
static void task_done(hr__task *task)
{
    hr__request *r = task->owner;
    hr__loop *loop = r->loop;
    if (pthread_equal(loop->thread, pthread_self())) {
        hr__rest_finished(r);
        return;
    }
    uv_mutex_lock(&loop->lock);
    const bool first = loop->finished == NULL;
    hr__request **last = &loop->finished;
    while (*last) last = &(*last)->next;
    *last = r;
    if (first && !loop->ended) uv_async_send(&loop->wake);
    uv_mutex_unlock(&loop->lock);
}

static void begin_task(hr__request *r)
{
    hr_server *server = r->loop->server;
    hr__call_prepare(&r->call, r->loop->all->limits.timeout);
    r->call.task.done = task_done;
    r->call.task.owner = r;
    r->call.task.cancelled = &r->gone;
    if (hr__pool_submit(server->pool, &r->call.task, &r->call.fault) != HR_OK) {
        answer(r);
        return;
    }
    r->loop->submitted = true;
}

static hr_status begin_predict(hr__request *r, const hr__model_spec *spec)
{
    hr__call *call = &r->call;
    const bool compat = r->loop->server->opts.tf_compat;
    HR_TRY(hr__models_hold(r->loop->server->models, spec, &call->version, &call->fault));
    call->signature = hr__version_signature(call->version, r->json.signature);
    if (!call->signature) {
        const hr_view name = r->json.signature.size ? r->json.signature : (hr_view){"serving_default", 15};
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT,
                             "Serving signature name: \"%.*s\" not found in signature def",
                             (int)(name.size > 400 ? 400 : name.size), name.data);
    }
    HR_TRY(hr__doc_predict_inputs(&r->json, compat, call, &r->rows));
    return hr__call_all_outputs(call);
}

static hr_status begin_examples(hr__request *r, const hr__model_spec *spec)
{
    hr__call *call = &r->call;
    hr__fault missing = {0};
    const bool compat = r->loop->server->opts.tf_compat;
    const hr_status found = hr__models_hold(r->loop->server->models, spec, &call->version, &missing);
    if (found == HR_OK) call->signature = hr__version_signature(call->version, r->json.signature);
    const hr_status st = hr__doc_examples(&r->json, compat, call);
    if (st == HR_OK && found != HR_OK) {
        hr__text_free(&call->fault.text);
        call->fault = missing;
        return found;
    }
    hr__text_free(&missing.text);
    HR_TRY(st);
    return (call->api == HR__API_CLASSIFY ? hr__classify_begin : hr__regress_begin)(call, r->json.signature);
}

static void rest_post(hr__request *r, hr_view target)
{
    static const struct {
        const char *verb;
        hr__api api;
    } verbs[] = {{"predict", HR__API_PREDICT}, {"classify", HR__API_CLASSIFY}, {"regress", HR__API_REGRESS}};
    rest_target t;
    hr__model_spec spec;
    int which = -1;
    hr__call *call = &r->call;
    const bool formed = parse_post(target, &t);
    for (int i = 0; formed && i < 3; i++)
        if ((size_t)t.verb.size == strlen(verbs[i].verb) &&
            memcmp(t.verb.data, verbs[i].verb, (size_t)t.verb.size) == 0)
            which = i;
    if (which < 0) {
        malformed(r);
        return;
    }
    if (!target_spec(r, &t, &spec)) {
        hr__request_answer_text(r, 400, hr__answer_type, "");
        return;
    }
    call->api = verbs[which].api;
    const hr_view body = {r->body.data ? r->body.data : "", (int64_t)r->body.size};
    hr_status st = hr__doc_request_read(body, r->loop->server->opts.tf_compat, &call->memory, &r->json, &call->fault);
    if (st == HR_OK) st = call->api == HR__API_PREDICT ? begin_predict(r, &spec) : begin_examples(r, &spec);
    hr__memory_free(&r->json.items);
    if (st == HR_OK)
        begin_task(r);
    else
        answer(r);
}

void hr__rest_finished(hr__request *r)
{
    hr__call *call = &r->call;
    const bool compat = r->loop->server->opts.tf_compat;
    hr__text *to = answer_text(r);
    hr__classes classes;
    const float *values;
    if (call->task.status != HR_OK) {
        hr__fault_error(&call->fault, call->task.status, &call->task.error);
    } else if (call->api == HR__API_PREDICT) {
        hr__doc_predictions(call, r->rows, compat, to);
    } else if (call->api == HR__API_CLASSIFY) {
        if (hr__classify_end(call, &classes) == HR_OK) hr__doc_classes(&classes, compat, to);
    } else if (hr__regress_end(call, &values) == HR_OK) {
        hr__doc_regressions(values, call->example_count, to);
    }
    if (call->fault.status == HR_OK) hr__request_log_add(call);
    answer(r);
}

/* ---- which request is what ---- */

static bool target_is(const hr__request *r, const char *path) { return strcmp(r->target.data, path) == 0; }

static void rest_health(hr__request *r)
{
    hr_server *server = r->loop->server;
    const bool live = target_is(r, "/healthz");
    const bool ready = live || (!server->draining && hr__models_ready(server->models));
    hr__request_answer_text(r, ready ? 200 : 503, "text/plain", ready ? "ok\n" : "not ready\n");
}

/* What is no part of TensorFlow Serving's interface. False: it is none of that. */
static bool rest_other(hr__request *r)
{
    hr_server *server = r->loop->server;
    if (server->metrics_path && target_is(r, server->metrics_path)) {
        hr__text *to = answer_text(r);
        hr__metrics_text(server, to);
        hr__request_answer(r, 200, "text/plain", to);
        return true;
    }
    if (server->opts.tf_compat || !target_is(r, "/") || !r->takes_html) return false;
    hr__request_answer_text(r, 200, "text/html; charset=utf-8", hr__serve_page);
    return true;
}

/* False: it was answered. */
static bool unpack_body(hr__request *r)
{
    if (!r->gzip_body || r->body.size == 0) return true;
    if (hr__body_inflate(&r->body, r->loop->all->limits.max_body) != HR_RESOURCE_EXHAUSTED) return true;
    hr__text *to = answer_text(r);
    hr__doc_error("The body is larger than the server takes", 40, to);
    r->keep_alive = false;
    hr__request_answer(r, 413, hr__answer_type, to);
    return false;
}

static void rest_options(hr__request *r)
{
    hr__request_answer_text(r, r->has_origin && r->good_origin ? 200 : 400, NULL, "");
}

static bool known_method(const hr__request *r)
{
    switch (r->method) {
    case HTTP_GET:
    case HTTP_POST:
    case HTTP_HEAD:
    case HTTP_PUT:
    case HTTP_DELETE:
    case HTTP_OPTIONS:
    case HTTP_TRACE:
    case HTTP_CONNECT:
    case HTTP_PATCH:
        return true;
    default:
        return false;
    }
}

static void not_implemented(hr__request *r)
{
    r->keep_alive = false;
    hr__request_answer_text(r, 501, "text/html",
                            "<HTML><HEAD>\n<TITLE>501 Not Implemented</TITLE>\n</HEAD><BODY>\n<H1>Not "
                            "Implemented</H1>\n</BODY></HTML>\n");
}

void hr__rest_request(hr__request *r)
{
    const hr_server *server = r->loop->server;
    const hr_view target = {r->target.data ? r->target.data : "", (int64_t)r->target.size};
    const bool gets = r->method == HTTP_GET || (r->method == HTTP_HEAD && !server->opts.tf_compat);
    hr_view rest = target;
    if (!known_method(r)) {
        not_implemented(r);
    } else if (gets && !server->opts.tf_compat && (target_is(r, "/healthz") || target_is(r, "/readyz"))) {
        rest_health(r);
    } else if (server->opts.api_key && !r->has_key && r->method != HTTP_OPTIONS) {
        hr__text *to = answer_text(r);
        hr__doc_error("Give the key: Authorization: Bearer KEY", 39, to);
        hr__request_answer(r, 401, hr__answer_type, to);
    } else if (gets && rest_other(r)) {
        return;
    } else if (!take_word(&rest, "/v1/")) {
        not_found_page(r);
    } else if (r->method == HTTP_OPTIONS) {
        rest_options(r);
    } else if (gets) {
        rest_get(r, target);
    } else if (r->method != HTTP_POST) {
        malformed(r);
    } else if (unpack_body(r)) {
        rest_post(r, target);
    }
}
