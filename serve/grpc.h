/* gRPC, as far as the other files know it. Where the library was built without it, grpc_absent.c stands in. Not a
 * public header. */
#ifndef HR_SERVE_GRPC_H
#define HR_SERVE_GRPC_H

#include "serve/internal.h"

/* Loads gRPC's library, if the server will speak it: while the models are loaded, in a thread of its own. */
void hr__grpc_prepare(const hr_server *server);
hr_status hr__grpc_start(hr_server *server, hr__grpc **out, hr_error *err);
void hr__grpc_drain(hr__grpc *grpc); /* takes no new calls */
void hr__grpc_stop(hr__grpc *grpc);  /* ends its threads; what is under way is cancelled. NULL: nothing */
void hr__grpc_free(hr__grpc *grpc);  /* after the pool */
int hr__grpc_port(const hr__grpc *grpc);

#endif
