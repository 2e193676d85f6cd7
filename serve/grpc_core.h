/* The calls of gRPC's C core, from a library that is loaded when the first server speaks gRPC: with some forty others it
 * takes 7 ms, which no other command should wait for. Not a public header. */
#ifndef HR_SERVE_GRPC_CORE_H
#define HR_SERVE_GRPC_CORE_H

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <headrace/base.h>

#define HR__GRPC_CALLS(X)                                                                                              \
    X(gpr_free)                                                                                                        \
    X(gpr_inf_future)                                                                                                  \
    X(gpr_now)                                                                                                         \
    X(gpr_time_cmp)                                                                                                    \
    X(gpr_time_from_seconds)                                                                                           \
    X(gpr_time_sub)                                                                                                    \
    X(grpc_byte_buffer_destroy)                                                                                        \
    X(grpc_byte_buffer_reader_destroy)                                                                                 \
    X(grpc_byte_buffer_reader_init)                                                                                    \
    X(grpc_byte_buffer_reader_readall)                                                                                 \
    X(grpc_call_details_destroy)                                                                                       \
    X(grpc_call_details_init)                                                                                          \
    X(grpc_call_get_peer)                                                                                              \
    X(grpc_call_start_batch)                                                                                           \
    X(grpc_call_unref)                                                                                                 \
    X(grpc_completion_queue_create_for_next)                                                                           \
    X(grpc_completion_queue_destroy)                                                                                   \
    X(grpc_completion_queue_next)                                                                                      \
    X(grpc_completion_queue_shutdown)                                                                                  \
    X(grpc_empty_slice)                                                                                                \
    X(grpc_init)                                                                                                       \
    X(grpc_insecure_server_credentials_create)                                                                         \
    X(grpc_metadata_array_destroy)                                                                                     \
    X(grpc_metadata_array_init)                                                                                        \
    X(grpc_raw_byte_buffer_create)                                                                                     \
    X(grpc_server_add_http2_port)                                                                                      \
    X(grpc_server_cancel_all_calls)                                                                                    \
    X(grpc_server_create)                                                                                              \
    X(grpc_server_credentials_release)                                                                                 \
    X(grpc_server_destroy)                                                                                             \
    X(grpc_server_register_completion_queue)                                                                           \
    X(grpc_server_request_call)                                                                                        \
    X(grpc_server_shutdown_and_notify)                                                                                 \
    X(grpc_server_start)                                                                                               \
    X(grpc_shutdown)                                                                                                   \
    X(grpc_slice_from_copied_buffer)                                                                                   \
    X(grpc_slice_unref)                                                                                                \
    X(grpc_ssl_server_credentials_create)

typedef struct hr__grpc_core {
#define HR__GRPC_CALL(name) __typeof__(&name) name;
    HR__GRPC_CALLS(HR__GRPC_CALL)
#undef HR__GRPC_CALL
} hr__grpc_core;

extern hr__grpc_core hr__grpc_calls; /* once they are loaded */
/* From any thread; the library stays loaded. serve.grpc_library: there is none, or it lacks a call. */
hr_status hr__grpc_core_load(hr_error *err);

#endif
