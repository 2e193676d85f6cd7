/* In place of gRPC, where its library was not found. */
#include "serve/grpc.h"

bool hr_server_has_grpc(void) { return false; }

void hr__grpc_prepare(const hr_server *server) { (void)server; }

hr_status hr__grpc_start(hr_server *server, hr__grpc **out, hr_error *err)
{
    *out = NULL;
    if (server->opts.port && *server->opts.port >= 0)
        return hr_fail(err, HR_UNIMPLEMENTED, "serve.built",
                       "a server: this build has no gRPC; install libgrpc-dev and build again, or leave out the port");
    return HR_OK;
}

void hr__grpc_drain(hr__grpc *grpc) { (void)grpc; }
void hr__grpc_stop(hr__grpc *grpc) { (void)grpc; }
void hr__grpc_free(hr__grpc *grpc) { (void)grpc; }

int hr__grpc_port(const hr__grpc *grpc)
{
    (void)grpc;
    return -1;
}
