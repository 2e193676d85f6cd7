/* TLS of REST: OpenSSL between memory and memory, so that the loop alone reads and writes sockets. */
#include "serve/http.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

struct hr__tls_context {
    SSL_CTX *ssl;
};

struct hr__tls {
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
    hr__conn *conn;
    const hr__tls_calls *calls;
};

bool hr_server_has_tls(void) { return true; }

static hr_status tls_failed(hr_error *err, const char *file)
{
    char why[200] = "";
    ERR_error_string_n(ERR_get_error(), why, sizeof why);
    return hr_fail(err, HR_INVALID_ARGUMENT, "serve.tls", "%s: %s", file, why);
}

hr_status hr__tls_context_new(const hr_server_opts *opts, hr__tls_context **out, hr_error *err)
{
    hr__tls_context *c = hr_calloc(1, sizeof *c);
    if (c) c->ssl = SSL_CTX_new(TLS_server_method());
    *out = c;
    if (!c || !c->ssl) return hr_no_memory(err, "TLS");
    SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION);
    SSL_CTX_set_mode(c->ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
    if (SSL_CTX_use_certificate_chain_file(c->ssl, opts->tls_cert) != 1) return tls_failed(err, opts->tls_cert);
    if (SSL_CTX_use_PrivateKey_file(c->ssl, opts->tls_key, SSL_FILETYPE_PEM) != 1)
        return tls_failed(err, opts->tls_key);
    if (!opts->tls_ca) return HR_OK;
    if (SSL_CTX_load_verify_file(c->ssl, opts->tls_ca) != 1) return tls_failed(err, opts->tls_ca);
    SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return HR_OK;
}

void hr__tls_context_free(hr__tls_context *context)
{
    if (!context) return;
    SSL_CTX_free(context->ssl);
    hr_free(context);
}

hr__tls *hr__tls_new(hr__tls_context *context, hr__conn *conn, const hr__tls_calls *calls)
{
    hr__tls *tls = hr_calloc(1, sizeof *tls);
    if (!tls) return NULL;
    tls->conn = conn;
    tls->calls = calls;
    tls->ssl = SSL_new(context->ssl);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (!tls->ssl || !tls->in || !tls->out) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        SSL_free(tls->ssl);
        hr_free(tls);
        return NULL;
    }
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void hr__tls_free(hr__tls *tls)
{
    SSL_free(tls->ssl);
    hr_free(tls);
}

/* What OpenSSL has to say goes to the socket. */
static void tls_flush(hr__tls *tls)
{
    char *data;
    const long size = BIO_get_mem_data(tls->out, &data);
    if (size <= 0) return;
    const uv_buf_t buf = uv_buf_init(data, (unsigned)size);
    tls->calls->send(tls->conn, &buf, 1);
    (void)BIO_reset(tls->out);
}

bool hr__tls_received(hr__tls *tls, const char *data, size_t size)
{
    char plain[16 << 10];
    int got;
    if (BIO_write(tls->in, data, (int)size) != (int)size) return false;
    while (!tls->conn->closing && (got = SSL_read(tls->ssl, plain, sizeof plain)) > 0)
        tls->calls->bytes(tls->conn, plain, (size_t)got);
    if (tls->conn->closing) return true;
    const int why = SSL_get_error(tls->ssl, -1);
    tls_flush(tls);
    ERR_clear_error();
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

void hr__tls_send(hr__tls *tls, const uv_buf_t *bufs, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (bufs[i].len && SSL_write(tls->ssl, bufs[i].base, (int)bufs[i].len) <= 0) {
            ERR_clear_error();
            tls->calls->close(tls->conn);
            return;
        }
    tls_flush(tls);
}
