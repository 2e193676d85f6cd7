/* One unary call after the other, by gRPC's C core. */
#include "tests/serve/client.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static grpc_completion_queue *queue;
static grpc_channel *channel;
static int channel_port;

static void connect_to(int port)
{
    char address[64];
    if (!queue) {
        grpc_init();
        queue = grpc_completion_queue_create_for_next(NULL);
    }
    if (channel && channel_port == port) return;
    if (channel) grpc_channel_destroy(channel);
    grpc_channel_credentials *creds = grpc_insecure_credentials_create();
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    channel = grpc_channel_create(address, creds, NULL);
    grpc_channel_credentials_release(creds);
    channel_port = port;
}

static char *copy_buffer(grpc_byte_buffer *buffer, size_t *size)
{
    grpc_byte_buffer_reader reader;
    *size = 0;
    if (!buffer || !grpc_byte_buffer_reader_init(&reader, buffer)) return NULL;
    const grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    *size = GRPC_SLICE_LENGTH(all);
    char *copy = calloc(1, *size + 1);
    if (copy) memcpy(copy, GRPC_SLICE_START_PTR(all), *size);
    grpc_slice_unref(all);
    return copy;
}

int client_rpc(int port, const char *path, const char *request, size_t size, char **answer, size_t *answer_size,
               char **text)
{
    connect_to(port);
    grpc_metadata_array first, last;
    grpc_byte_buffer *got = NULL;
    grpc_status_code status = GRPC_STATUS_UNKNOWN;
    grpc_slice details = grpc_empty_slice();
    grpc_metadata_array_init(&first);
    grpc_metadata_array_init(&last);
    const grpc_slice method = grpc_slice_from_copied_string(path);
    grpc_slice bytes = grpc_slice_from_copied_buffer(request, size);
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&bytes, 1);
    const gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(60, GPR_TIMESPAN));
    grpc_call *call =
        grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue, method, NULL, deadline, NULL);
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA, .flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA, .data.recv_initial_metadata.recv_initial_metadata = &first},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &got},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &last, .status = &status, .status_details = &details}},
    };
    grpc_call_start_batch(call, ops, sizeof ops / sizeof *ops, call, NULL);
    grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    *answer = copy_buffer(got, answer_size);
    *text = calloc(1, GRPC_SLICE_LENGTH(details) + 1);
    if (*text) memcpy(*text, GRPC_SLICE_START_PTR(details), GRPC_SLICE_LENGTH(details));
    grpc_slice_unref(details);
    grpc_slice_unref(bytes);
    grpc_slice_unref(method);
    grpc_byte_buffer_destroy(message);
    if (got) grpc_byte_buffer_destroy(got);
    grpc_metadata_array_destroy(&first);
    grpc_metadata_array_destroy(&last);
    grpc_call_unref(call);
    return (int)status;
}

void client_rpc_end(void)
{
    if (!queue) return;
    if (channel) grpc_channel_destroy(channel);
    grpc_completion_queue_shutdown(queue);
    while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type != GRPC_QUEUE_SHUTDOWN)
        continue;
    grpc_completion_queue_destroy(queue);
    grpc_shutdown();
    queue = NULL;
    channel = NULL;
}
