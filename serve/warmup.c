/* Warm-up: the requests that a version's folder keeps are run before it takes any. */
#include "serve/rpc.h"
#include "serve/version.h"

#include "proto/message.h"
#include "proto/serve.pb-c.h"

#include <headrace/io.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_RECORDS = 1000 };

typedef Headrace__Serve__PredictionLog proto_log;

/* The request of a log, and the method that it is for; NULL: it is of a kind that is passed over. */
static const char *logged_request(const proto_log *log, hr_view *request)
{
    const Headrace__Serve__LoggedCall *call = NULL;
    const char *path = NULL;
    switch (log->log_type_case) {
    case HEADRACE__SERVE__PREDICTION_LOG__LOG_TYPE_PREDICT_LOG:
        call = log->predict_log;
        path = "/tensorflow.serving.PredictionService/Predict";
        break;
    case HEADRACE__SERVE__PREDICTION_LOG__LOG_TYPE_CLASSIFY_LOG:
        call = log->classify_log;
        path = "/tensorflow.serving.PredictionService/Classify";
        break;
    case HEADRACE__SERVE__PREDICTION_LOG__LOG_TYPE_REGRESS_LOG:
        call = log->regress_log;
        path = "/tensorflow.serving.PredictionService/Regress";
        break;
    case HEADRACE__SERVE__PREDICTION_LOG__LOG_TYPE_MULTI_INFERENCE_LOG:
        call = log->multi_inference_log;
        path = "/tensorflow.serving.PredictionService/MultiInference";
        break;
    default:
        return NULL;
    }
    *request = (hr_view){(const char *)call->request.data, (int64_t)call->request.len};
    return path;
}

static hr_status replay(hr__version *version, hr_view record, hr_error *err)
{
    ProtobufCMessage *message = NULL;
    hr_view request;
    HR_TRY(hr__message_read(&headrace__serve__prediction_log__descriptor, record, &message, err));
    const char *path = logged_request((const proto_log *)(const void *)message, &request);
    hr_status st = HR_OK;
    if (path) {
        const uint64_t begin = hr__serve_now();
        hr__rpc rpc = {.warmed = version, .method = hr__method_named(path, strlen(path)), .timeout = 60};
        st = hr__rpc_run(&rpc, request);
        if (st != HR_OK)
            hr_fail(err, st, "serve.warmup", "%s", rpc.fault.text.data ? rpc.fault.text.data : hr_status_name(st));
        hr__rpc_clear(&rpc);
        hr__histogram_add(&version->model->warmup, (hr__serve_now() - begin) / 1000);
    }
    hr__message_free(message);
    return st;
}

hr_status hr__warmup_replay(hr__version *version, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    struct stat about;
    hr__text path = {0};
    hr__text_printf(&path, "%s/assets.extra/tf_serving_warmup_requests", version->path);
    if (path.failed) return hr_no_memory(err, "a path");
    hr_status st = HR_OK;
    int count = 0;
    if (stat(path.data, &about) == 0) {
        st = hr_record_reader_open(path.data, NULL, &reader, err);
        if (st == HR_OK) {
            while (count < MOST_RECORDS && (st = hr_record_read(reader, &record, err)) == HR_OK) {
                st = replay(version, record, err);
                if (st != HR_OK) break;
                count++;
            }
            hr_record_reader_free(reader);
        }
        if (st == HR_END) st = HR_OK;
        if (st != HR_OK) hr_error_prefix(err, "%s: record %d: ", path.data, count);
    }
    hr__text_free(&path);
    return st;
}
