/* In place of TLS, where OpenSSL was not found. */
#include "serve/http.h"

bool hr_server_has_tls(void) { return false; }

hr_status hr__tls_context_new(const hr_server_opts *opts, hr__tls_context **out, hr_error *err)
{
    (void)opts;
    (void)out;
    return hr_fail(err, HR_UNIMPLEMENTED, "serve.built",
                   "a server: this build has no TLS; install libssl-dev and build again");
}

void hr__tls_context_free(hr__tls_context *context) { (void)context; }

hr__tls *hr__tls_new(hr__tls_context *context, hr__conn *conn, const hr__tls_calls *calls)
{
    (void)calls;
    (void)context;
    (void)conn;
    return NULL;
}

void hr__tls_free(hr__tls *tls) { (void)tls; }

bool hr__tls_received(hr__tls *tls, const char *data, size_t size)
{
    (void)tls;
    (void)data;
    (void)size;
    return false;
}

void hr__tls_send(hr__tls *tls, const uv_buf_t *bufs, unsigned count)
{
    (void)tls;
    (void)bufs;
    (void)count;
}
