/* REST: loops, connections, requests. A connection belongs to one loop, and only that loop's thread touches it. Not a
 * public header. */
#ifndef HR_SERVE_HTTP_H
#define HR_SERVE_HTTP_H

#include "serve/json.h"
#include <http_parser.h>

typedef struct hr__loop hr__loop;
typedef struct hr__conn hr__conn;
typedef struct hr__request hr__request;
typedef struct hr__tls hr__tls;
typedef struct hr__tls_context hr__tls_context;

/* One HTTP request, from its first byte to its answer. */
struct hr__request {
    hr__call call;
    hr__conn *conn; /* NULL: the client has gone */
    hr__loop *loop;
    hr__request *next; /* of those that finished in other threads, or of spare ones */
    unsigned method;   /* of http_parser */
    hr__text target, body, key;
    bool head_done, keep_alive, http_1_0;
    bool gzip_body, takes_gzip, takes_html, has_origin, good_origin, wants_continue, has_key, too_large, plain;
    _Atomic bool gone; /* its client has */
    bool rows;         /* of a predict */
    size_t head_size;
    hr__doc_request json;
};

struct hr__conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    hr__loop *loop;
    hr__conn *prev, *next;
    http_parser parser;
    hr__request *request; /* that is read or worked on; NULL between two */
    bool working, feeding, writing, closing, close_after, stopped;
    int status;     /* of the last answer */
    uint64_t since; /* milliseconds of the loop: when it began to wait for what it waits for */
    hr__text held;  /* what came after the request that is worked on */
    hr__text out;   /* what the socket did not take yet */
    uv_write_t write;
    hr__tls *tls;
    char field[32]; /* of the header that is read */
    size_t field_size;
    bool in_value;
    char peer[48];
};

typedef struct hr__limits {
    size_t max_body, max_head;
    int max_connections;
    uint64_t head_ms, idle_ms;
    double timeout; /* seconds of a request */
} hr__limits;

struct hr__loop {
    struct hr__loops *all;
    hr_server *server;
    uv_loop_t uv;
    uv_thread_t thread;
    bool running;
    uv_async_t wake;
    uv_timer_t tick;
    uv_check_t after;
    uv_mutex_t lock;
    hr__request *finished; /* under the lock, as what follows */
    int *arrived, arrived_count, arrived_space;
    bool drain, stop, ended; /* ended: its thread has */
    hr__conn *conns;
    _Atomic int conn_count;
    bool submitted; /* there may be work for the pool after this turn */
    hr__request *spare;
    int spare_count, spare_least; /* now; the least since the last tick */
    hr__text answer, packed;
    char date[64];
    time_t date_at;
    char buffer[64 << 10];
};

struct hr__loops {
    hr_server *server;
    hr__request_fn *request, *finished;
    hr__limits limits;
    hr__loop *loops;
    int count;
    int listeners[2]; /* TCP, Unix; -1: none */
    uv_poll_t polls[2];
    int poll_count;
    int spare_fd; /* given up to refuse a connection when there are no more descriptors */
    int port;
    char *socket_path;
    hr__tls_context *tls;
};

/* ---- http.c ---- */

/* A new connection; takes the descriptor. */
void hr__conn_open(hr__loop *loop, int fd);
void hr__conn_close(hr__conn *conn);
/* Closes what is idle, and what is too slow; gives back memory that was not needed since the last time. */
void hr__conns_check(hr__loop *loop);
/* Answers with this body. `type` NULL: no Content-Type. Frees the request. */
void hr__request_answer(hr__request *request, int status, const char *type, const hr__text *body);
void hr__request_answer_text(hr__request *request, int status, const char *type, const char *body);
void hr__request_free(hr__request *request);
void hr__spare_requests_free(hr__loop *loop, int count); /* so many, or all */
/* Bytes that came: for TLS, after they were decrypted. */
void hr__conn_bytes(hr__conn *conn, const char *data, size_t size);
/* Bytes to the socket as they are. */
void hr__conn_send(hr__conn *conn, const uv_buf_t *bufs, unsigned count);

/* ---- rest.c: what the loops are given ---- */

void hr__rest_request(hr__request *request);  /* it was read as a whole */
void hr__rest_finished(hr__request *request); /* its task ran; in the loop's thread */
extern const char hr__answer_type[];          /* application/json */

/* ---- tls.c ---- */

hr_status hr__tls_context_new(const hr_server_opts *opts, hr__tls_context **out, hr_error *err);
void hr__tls_context_free(hr__tls_context *context);
/* What TLS does to a connection. */
typedef struct hr__tls_calls {
    void (*bytes)(hr__conn *conn, const char *data, size_t size);
    void (*send)(hr__conn *conn, const uv_buf_t *bufs, unsigned count);
    void (*close)(hr__conn *conn);
} hr__tls_calls;
/* `calls` is borrowed for ever. NULL: no memory. */
hr__tls *hr__tls_new(hr__tls_context *context, hr__conn *conn, const hr__tls_calls *calls);
void hr__tls_free(hr__tls *tls);
bool hr__tls_received(hr__tls *tls, const char *data, size_t size); /* false: close the connection */
void hr__tls_send(hr__tls *tls, const uv_buf_t *bufs, unsigned count);

/* ---- inflate.c ---- */

/* Inflates a gzip body in place. HR_DATA_LOSS: it is none; HR_RESOURCE_EXHAUSTED: more than `most` bytes. */
hr_status hr__body_inflate(hr__text *body, size_t most);
bool hr__body_deflate(const hr__text *body, hr__text *to); /* false: left as it is */

#endif
