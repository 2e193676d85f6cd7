/* A client of Predict by gRPC's C core, for bench/serve: so many calls at a time, one after the other is answered.
 *
 *   headrace_bench_grpc PORT MODEL SIGNATURE INPUT ROWS AT_A_TIME SECONDS RECORDS.tfrecord
 *
 * A request has ROWS serialized Examples of the file as the tensor INPUT. Prints a line of JSON. */
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { MOST_AT_A_TIME = 64, MOST_TIMES = 1 << 22 };

/* ---- the request: PredictRequest in protobuf's wire format ---- */

typedef struct message {
    char *bytes;
    size_t size, room;
} message;

static void put_bytes(message *m, const void *bytes, size_t size)
{
    if (m->size + size > m->room) {
        m->room = 2 * (m->size + size);
        m->bytes = realloc(m->bytes, m->room);
        if (!m->bytes) abort();
    }
    if (size) memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put_varint(message *m, uint64_t value)
{
    for (;; value >>= 7) {
        const unsigned char byte = (unsigned char)(value < 0x80 ? value : (value & 0x7f) | 0x80);
        put_bytes(m, &byte, 1);
        if (value < 0x80) return;
    }
}

static void put_field(message *m, int field, const void *bytes, size_t size)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, size);
    put_bytes(m, bytes, size);
}

static void put_message(message *m, int field, message *inner)
{
    put_field(m, field, inner->bytes, inner->size);
    free(inner->bytes);
}

/* Of the first records of the file. */
static message predict_request(const char *const *argument, int64_t rows)
{
    message spec = {0}, dim = {0}, shape = {0}, tensor = {0}, entry = {0}, request = {0};
    hr_error err;
    hr_view record;
    hr_record_reader *reader;
    hr_status st = hr_record_reader_open(argument[8], NULL, &reader, &err);
    put_field(&spec, 1, argument[2], strlen(argument[2]));       /* ModelSpec.name */
    put_field(&spec, 3, argument[3], strlen(argument[3]));       /* .signature_name */
    put_varint(&dim, 1 << 3), put_varint(&dim, (uint64_t)rows);  /* Dim.size */
    put_message(&shape, 2, &dim);                                /* TensorShapeProto.dim */
    put_varint(&tensor, 1 << 3), put_varint(&tensor, HR_STRING); /* TensorProto.dtype */
    put_message(&tensor, 2, &shape);                             /* .tensor_shape */
    for (int64_t i = 0; i < rows && st == HR_OK; i++) {
        st = hr_record_read(reader, &record, &err);
        if (st == HR_OK) put_field(&tensor, 8, record.data, (size_t)record.size); /* .string_val */
    }
    if (st != HR_OK) {
        fprintf(stderr, "%s: %s\n", argument[8], st == HR_END ? "too few records" : err.text);
        exit(1);
    }
    hr_record_reader_free(reader);
    put_field(&entry, 1, argument[4], strlen(argument[4])); /* a map's key, and its value */
    put_message(&entry, 2, &tensor);
    put_message(&request, 1, &spec);  /* PredictRequest.model_spec */
    put_message(&request, 2, &entry); /* .inputs */
    return request;
}

/* ---- calls ---- */

typedef struct call {
    grpc_call *of;
    grpc_metadata_array first, last;
    grpc_byte_buffer *request, *answer;
    grpc_status_code status;
    grpc_slice details;
    uint64_t begin;
} call;

typedef struct load {
    grpc_completion_queue *queue;
    grpc_channel *channel;
    grpc_byte_buffer *request;
    grpc_slice method;
    uint32_t *microseconds; /* of each call */
    int64_t done, failed;
} load;

static void call_begin(load *l, call *c)
{
    *c = (call){.details = grpc_empty_slice(), .begin = uv_hrtime()};
    grpc_metadata_array_init(&c->first);
    grpc_metadata_array_init(&c->last);
    c->of = grpc_channel_create_call(l->channel, NULL, GRPC_PROPAGATE_DEFAULTS, l->queue, l->method, NULL,
                                     gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    c->request = grpc_byte_buffer_copy(l->request);
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA, .flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = c->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA, .data.recv_initial_metadata.recv_initial_metadata = &c->first},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &c->answer},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &c->last,
                                        .status = &c->status,
                                        .status_details = &c->details}},
    };
    grpc_call_start_batch(c->of, ops, sizeof ops / sizeof *ops, c, NULL);
}

static void call_end(load *l, call *c)
{
    if (l->done < MOST_TIMES) l->microseconds[l->done++] = (uint32_t)((uv_hrtime() - c->begin) / 1000);
    if (c->status != GRPC_STATUS_OK && l->failed++ == 0)
        fprintf(stderr, "status %d: %.*s\n", (int)c->status, (int)GRPC_SLICE_LENGTH(c->details),
                (const char *)GRPC_SLICE_START_PTR(c->details));
    grpc_byte_buffer_destroy(c->request);
    if (c->answer) grpc_byte_buffer_destroy(c->answer);
    grpc_slice_unref(c->details);
    grpc_metadata_array_destroy(&c->first);
    grpc_metadata_array_destroy(&c->last);
    grpc_call_unref(c->of);
}

/* Gives the seconds that it took. */
static double run_calls(load *l, int at_a_time, double seconds)
{
    call calls[MOST_AT_A_TIME];
    const uint64_t begin = uv_hrtime(), end = begin + (uint64_t)(seconds * 1e9);
    for (int i = 0; i < at_a_time; i++) call_begin(l, &calls[i]);
    for (int open = at_a_time; open > 0;) {
        call *c = grpc_completion_queue_next(l->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).tag;
        call_end(l, c);
        if (uv_hrtime() < end)
            call_begin(l, c);
        else
            open--;
    }
    return (double)(uv_hrtime() - begin) / 1e9;
}

static int compare_times(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void print_result(load *l, int64_t rows, double seconds)
{
    qsort(l->microseconds, (size_t)l->done, sizeof *l->microseconds, compare_times);
    printf("\"requests_per_s\":%.0f,\"rows_per_s\":%.0f,\"p50_us\":%u,\"p99_us\":%u,\"failed\":%lld}\n",
           (double)l->done / seconds, (double)(l->done * rows) / seconds, l->microseconds[l->done / 2],
           l->microseconds[l->done * 99 / 100], (long long)l->failed);
}

int main(int count, char **argument)
{
    if (count != 9) {
        fprintf(stderr, "expected PORT MODEL SIGNATURE INPUT ROWS AT_A_TIME SECONDS RECORDS\n");
        return 2;
    }
    char address[64];
    const int64_t rows = atoll(argument[5]);
    const int wanted = atoi(argument[6]), at_a_time = wanted < 1                ? 1
                                                      : wanted > MOST_AT_A_TIME ? MOST_AT_A_TIME
                                                                                : wanted;
    const message request = predict_request((const char *const *)argument, rows);
    load l = {.microseconds = malloc(MOST_TIMES * sizeof *l.microseconds)};
    if (!l.microseconds) return 1;
    grpc_init();
    grpc_slice bytes = grpc_slice_from_copied_buffer(request.bytes, request.size);
    l.queue = grpc_completion_queue_create_for_next(NULL);
    l.request = grpc_raw_byte_buffer_create(&bytes, 1);
    l.method = grpc_slice_from_static_string("/tensorflow.serving.PredictionService/Predict");
    snprintf(address, sizeof address, "127.0.0.1:%s", argument[1]);
    grpc_channel_credentials *none = grpc_insecure_credentials_create();
    l.channel = grpc_channel_create(address, none, NULL);
    run_calls(&l, at_a_time, 0.5); /* to warm up */
    l.done = l.failed = 0;
    print_result(&l, rows, run_calls(&l, at_a_time, atof(argument[7])));
    return l.failed > 0;
}
