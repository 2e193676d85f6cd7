/* The records of request logs: a request and its answer. */
#include "base/bytes.h"
#include "serve/internal.h"

#include <unistd.h>

/* The fields of PredictionLog that have the method's request and answer. */
static int log_field(hr__api api)
{
    static const int fields[HR__APIS] = {[HR__API_PREDICT] = 6, [HR__API_CLASSIFY] = 2, [HR__API_REGRESS] = 3, 4};
    return fields[api];
}

static void put_metadata(const hr__call *call, double rate, hr__text *to)
{
    hr__text metadata = {0}, spec = {0}, version = {0}, sampling = {0};
    hr__say_string(&spec, 1, call->version->model->name);
    hr__say_number(&version, 1, (uint64_t)call->version->number);
    hr__say_message(&spec, 2, &version);
    hr__say_message(&metadata, 1, &spec);
    hr__say_varint(&sampling, 1 << 3 | 1);
    hr__text_bytes(&sampling, &rate, sizeof rate);
    hr__say_message(&metadata, 2, &sampling);
    hr__say_message(to, 1, &metadata);
}

static void make_record(hr__call *call, double rate, hr__text *frame)
{
    hr__text logged = {0}, request = {0}, answer = {0};
    char word[4];
    static const char head[12] = {0};
    hr__text_bytes(frame, head, sizeof head);
    put_metadata(call, rate, frame);
    hr__put_request(call, &request);
    hr__put_answer(call, &answer);
    hr__say_message(&logged, 1, &request);
    hr__say_message(&logged, 2, &answer);
    hr__say_message(frame, log_field(call->api), &logged);
    if (frame->failed) return;
    const size_t size = frame->size - sizeof head;
    hr__put64(frame->data, size);
    hr__put32(frame->data + 8, hr_crc32c_mask(hr_crc32c(0, frame->data, 8)));
    hr__put32(word, hr_crc32c_mask(hr_crc32c(0, frame->data + sizeof head, size)));
    hr__text_bytes(frame, word, sizeof word);
}

void hr__request_log_add(hr__call *call)
{
    hr__model *model = call->version->model;
    hr__request_log *log = atomic_load(&model->log);
    if (!log) return;
    const uint64_t n = atomic_fetch_add(&log->seen, 1);
    if ((double)(hr_random(0x5e71e5, n) >> 11) * 0x1p-53 >= log->rate) return;
    hr__text frame = {0};
    make_record(call, log->rate, &frame);
    /* One write of a file opened for appending: records of several threads do not mix. */
    const bool written = !frame.failed && write(log->fd, frame.data, frame.size) == (ssize_t)frame.size;
    hr__text_free(&frame);
    if (written)
        atomic_fetch_add(&model->logged, 1);
    else if (!atomic_exchange(&log->failed, true))
        hr_log_message(HR_WARNING, "model %s: its request log cannot be written", model->name);
}
