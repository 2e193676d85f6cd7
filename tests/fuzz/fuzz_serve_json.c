/* Any bytes as the body of a REST request. The first one chooses the method and the mode. What is read goes through a
 * model, and the answer is JSON again, but for tf_compat's strings. */
#include "tests/fuzz/served.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const hr__text *answer, bool compat)
{
    hr__pool_memory memory = {0};
    hr__fault fault = {0};
    hr__doc root;
    const hr__doc_options options = {.lenient = compat};
    if (!compat && !answer->failed && answer->size &&
        hr__doc_parse((hr_view){answer->data, (int64_t)answer->size}, &options, &memory, &root, &fault) != HR_OK)
        abort();
    hr__memory_free(&memory);
    hr__text_free(&fault.text);
}

static void answer_of(hr__call *call, bool rows, bool compat)
{
    hr__text to = {0};
    hr__classes classes;
    const float *values;
    hr__task_run_alone(&call->task);
    if (call->task.status == HR_OK && call->api == HR__API_PREDICT) hr__doc_predictions(call, rows, compat, &to);
    if (call->task.status == HR_OK && call->api == HR__API_CLASSIFY && hr__classify_end(call, &classes) == HR_OK)
        hr__doc_classes(&classes, compat, &to);
    if (call->task.status == HR_OK && call->api == HR__API_REGRESS && hr__regress_end(call, &values) == HR_OK)
        hr__doc_regressions(values, call->example_count, &to);
    if (call->fault.status == HR_OK) check_answer(&to, compat);
    hr__text_free(&to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    const bool compat = data[0] & 1;
    hr__call call = {.version = served_version(), .warms = true, .api = (hr__api)((data[0] >> 1) % 3)};
    hr__doc_request request;
    bool rows = false;
    char *copy = malloc(size); /* no byte more */
    memcpy(copy, data + 1, size - 1);
    const hr_view body = {copy, (int64_t)size - 1};
    hr_status st = hr__doc_request_read(body, compat, &call.memory, &request, &call.fault);
    if (st == HR_OK) {
        call.signature = hr__version_signature(call.version, request.signature);
        if (call.api == HR__API_PREDICT) {
            st = call.signature ? hr__doc_predict_inputs(&request, compat, &call, &rows) : HR_NOT_FOUND;
            if (st == HR_OK) st = hr__call_all_outputs(&call);
        } else {
            st = hr__doc_examples(&request, compat, &call);
            if (st == HR_OK)
                st = (call.api == HR__API_CLASSIFY ? hr__classify_begin : hr__regress_begin)(&call, request.signature);
        }
    }
    if (st == HR_OK) {
        hr__call_prepare(&call, 0);
        answer_of(&call, rows, compat);
    } else if (call.fault.status != HR_OK) {
        hr__text to = {0};
        hr__doc_error(call.fault.text.data ? call.fault.text.data : "", call.fault.text.size, &to);
        check_answer(&to, false);
        hr__text_free(&to);
    }
    hr__memory_free(&request.items);
    hr__call_clear(&call);
    free(copy);
    return 0;
}
