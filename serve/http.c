/* Connections: bytes in, requests out, answers in their order. One request of a connection is worked on at a time; what
 * comes after it waits, so pipelined requests are answered in order without a queue. Whatever a client does, it is told
 * once what is wrong, if it can be told, and the connection is closed. */
#include "serve/http.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_HELD = 1 << 20, /* bytes of pipelined requests, before a connection is no longer read */
    KEPT_REQUESTS = 64,  /* spare ones of a loop */
    WRITE_MS = 30 * 1000 /* a client that takes nothing for so long is gone */
};

/* ---- requests ---- */

static hr__request *request_new(hr__conn *conn)
{
    hr__loop *loop = conn->loop;
    hr__request *r = loop->spare;
    if (r) {
        loop->spare = r->next;
        if (--loop->spare_count < loop->spare_least) loop->spare_least = loop->spare_count;
    } else {
        r = hr_calloc(1, sizeof *r);
        if (!r) return NULL;
    }
    r->conn = conn;
    r->loop = loop;
    r->next = NULL;
    r->call.begun = hr__serve_now();
    return r;
}

void hr__spare_requests_free(hr__loop *loop, int count)
{
    for (; count > 0 && loop->spare; count--) {
        hr__request *r = loop->spare;
        loop->spare = r->next;
        loop->spare_count--;
        hr__text_free(&r->target);
        hr__text_free(&r->body);
        hr__text_free(&r->key);
        hr_free(r);
    }
    loop->spare_least = loop->spare_count;
}

void hr__request_free(hr__request *r)
{
    hr__loop *loop = r->loop;
    hr__call_clear(&r->call);
    hr__text target = r->target, body = r->body, key = r->key;
    hr__text_clear(&target);
    hr__text_clear(&body);
    hr__text_clear(&key);
    if (body.capacity > 256 << 10) hr__text_free(&body);
    memset(&r->call, 0, offsetof(hr__call, task));
    memset(&r->call.task, 0, offsetof(hr__task, error));
    memset(&r->call.task.rows, 0, sizeof r->call.task - offsetof(hr__task, rows));
    memset(&r->call.fault, 0, sizeof r->call - offsetof(hr__call, fault));
    memset(&r->conn, 0, sizeof *r - offsetof(hr__request, conn));
    r->target = target;
    r->body = body;
    r->key = key;
    r->loop = loop;
    r->next = loop->spare;
    loop->spare = r;
    if (++loop->spare_count > KEPT_REQUESTS) hr__spare_requests_free(loop, 1);
}

/* ---- closing ---- */

static void conn_closed(uv_handle_t *handle)
{
    hr__conn *conn = (hr__conn *)(void *)handle;
    hr__loop *loop = conn->loop;
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        loop->conns = conn->next;
    if (conn->next) conn->next->prev = conn->prev;
    loop->conn_count--;
    loop->server->connections--;
    if (conn->tls) hr__tls_free(conn->tls);
    hr__text_free(&conn->held);
    hr__text_free(&conn->out);
    hr_free(conn);
}

void hr__conn_close(hr__conn *conn)
{
    if (conn->closing) return;
    conn->closing = true;
    hr__request *r = conn->request;
    conn->request = NULL;
    if (r && conn->working) {
        r->conn = NULL; /* whoever works on it frees it */
        r->gone = true;
    } else if (r) {
        hr__request_free(r);
    }
    uv_close(&conn->uv.handle, conn_closed);
}

/* ---- writing ---- */

static void conn_resume(hr__conn *conn);

static void write_done(uv_write_t *write, int status)
{
    hr__conn *conn = write->data;
    conn->writing = false;
    hr__text_clear(&conn->out);
    conn->since = uv_now(&conn->loop->uv);
    if (status != 0 || conn->close_after)
        hr__conn_close(conn);
    else
        conn_resume(conn);
}

void hr__conn_send(hr__conn *conn, const uv_buf_t *bufs, unsigned count)
{
    size_t size = 0, sent = 0;
    for (unsigned i = 0; i < count; i++) size += bufs[i].len;
    conn->loop->server->bytes_out += size;
    if (!conn->writing && conn->out.size == 0) {
        const int took = uv_try_write(&conn->uv.stream, bufs, count);
        if (took < 0 && took != UV_EAGAIN) {
            hr__conn_close(conn);
            return;
        }
        sent = took > 0 ? (size_t)took : 0;
        if (sent == size) return;
    }
    hr__text more = {0};
    hr__text *to = conn->writing ? &more : &conn->out;
    for (unsigned i = 0; i < count; i++) {
        const size_t skip = sent < bufs[i].len ? sent : bufs[i].len;
        hr__text_bytes(to, bufs[i].base + skip, bufs[i].len - skip);
        sent -= skip;
    }
    /* Answers are written one at a time, so only TLS's own records could come while one is under way: those are lost
     * with the connection. */
    const bool lost = conn->writing || to->failed;
    hr__text_free(&more);
    if (lost) {
        hr__conn_close(conn);
        return;
    }
    const uv_buf_t rest = uv_buf_init(conn->out.data, (unsigned)conn->out.size);
    conn->write.data = conn;
    conn->writing = true;
    conn->since = uv_now(&conn->loop->uv);
    if (uv_write(&conn->write, &conn->uv.stream, &rest, 1, write_done) != 0) {
        conn->writing = false;
        hr__conn_close(conn);
    }
}

static void conn_send_plain(hr__conn *conn, const uv_buf_t *bufs, unsigned count)
{
    if (conn->tls)
        hr__tls_send(conn->tls, bufs, count);
    else
        hr__conn_send(conn, bufs, count);
}

static const char *status_words(int status)
{
    switch (status) {
#define STATUS_WORDS(number, name, words)                                                                              \
    case number:                                                                                                       \
        return #words;
        HTTP_STATUS_MAP(STATUS_WORDS)
#undef STATUS_WORDS
    case 499:
        return "Client Closed Request";
    default:
        return "Error";
    }
}

static const char *date_text(hr__loop *loop)
{
    const time_t now = time(NULL);
    struct tm parts;
    if (now != loop->date_at && gmtime_r(&now, &parts)) {
        strftime(loop->date, sizeof loop->date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        loop->date_at = now;
    }
    return loop->date;
}

static int answer_head(const hr__request *r, const hr__conn *conn, int status, const char *type, size_t size,
                       bool packed, char *head, size_t space)
{
    const hr_server_opts *opts = &conn->loop->server->opts;
    char length[64] = "", content[128] = "";
    const bool bodiless = r && r->method == HTTP_OPTIONS && !type;
    if (!bodiless || size) snprintf(length, sizeof length, "Content-Length: %zu\r\n", size);
    if (bodiless) snprintf(length, sizeof length, "Content-Length: 0\r\n");
    if (type) snprintf(content, sizeof content, "Content-Type: %s\r\n", type);
    return snprintf(head, space, "HTTP/1.1 %d %s\r\n%s%sDate: %s\r\n%s%s%s\r\n", status, status_words(status), content,
                    length, date_text(conn->loop), packed ? "Content-Encoding: gzip\r\n" : "",
                    opts->cors ? "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Methods: POST, GET\r\n"
                                 "Access-Control-Allow-Headers: Content-Type\r\n"
                               : "",
                    conn->close_after  ? "Connection: close\r\n"
                    : r && r->http_1_0 ? "Connection: keep-alive\r\n"
                                       : "");
}

static void conn_write_answer(hr__conn *conn, const hr__request *r, int status, const char *type, const hr__text *body)
{
    char head[640];
    hr__loop *loop = conn->loop;
    const bool packs = r && r->takes_gzip && body->size > 1024 && hr__body_deflate(body, &loop->packed);
    const hr__text *out = packs ? &loop->packed : body;
    const int size = answer_head(r, conn, status, type, out->size, packs, head, sizeof head);
    const bool whole = size > 0 && (size_t)size < sizeof head;
    uv_buf_t bufs[2] = {uv_buf_init(head, whole ? (unsigned)size : 0), uv_buf_init(out->data, (unsigned)out->size)};
    conn->status = status;
    conn_send_plain(conn, bufs, out->size && !(r && r->method == HTTP_HEAD) ? 2 : 1);
}

static void log_access(const hr__request *r, const hr__conn *conn, int status, size_t bytes_out)
{
    struct hr__access_log *log = r->loop->server->access;
    if (!log) return;
    const hr__access_entry entry = {
        .protocol = conn && conn->tls ? "https" : "http",
        .peer = conn ? conn->peer : "",
        .method = http_method_str((enum http_method)r->method),
        .target = {r->target.data ? r->target.data : "", (int64_t)r->target.size},
        .status = status,
        .bytes_in = r->body.size,
        .bytes_out = bytes_out,
        .nanoseconds = hr__serve_now() - r->call.begun,
    };
    hr__access_write(log, &entry);
}

void hr__request_answer(hr__request *r, int status, const char *type, const hr__text *body)
{
    hr__conn *conn = r->conn;
    hr__loop *loop = r->loop;
    log_access(r, conn, conn ? status : 499, body->size);
    loop->server->under_way--;
    if (conn) {
        if (!r->keep_alive || loop->server->draining) conn->close_after = true;
        conn->request = NULL;
        conn->working = false;
        conn->since = uv_now(&loop->uv);
        conn_write_answer(conn, r, status, type, body);
    }
    hr__request_free(r);
    if (!conn || conn->closing || conn->writing) return;
    if (conn->close_after)
        hr__conn_close(conn);
    else if (!conn->feeding)
        conn_resume(conn);
}

void hr__request_answer_text(hr__request *r, int status, const char *type, const char *body)
{
    hr__text text = {.data = (char *)(uintptr_t)body, .size = strlen(body)};
    hr__request_answer(r, status, type, &text);
}

/* What HTTP itself does not allow: a page as libevent's, and the end. */
static void conn_refuse(hr__conn *conn, int status)
{
    char page[256];
    const char *words = status_words(status);
    if (conn->closing) return;
    const int size =
        snprintf(page, sizeof page, "<HTML><HEAD>\n<TITLE>%d %s</TITLE>\n</HEAD><BODY>\n<H1>%s</H1>\n</BODY></HTML>\n",
                 status, words, words);
    const hr__text body = {.data = page, .size = (size_t)size};
    conn->close_after = true;
    conn->loop->server->refused++;
    conn_write_answer(conn, NULL, status, "text/html", &body);
    if (!conn->closing && !conn->writing) hr__conn_close(conn);
}

/* ---- the parser's calls ---- */

static hr__conn *conn_of(http_parser *parser) { return parser->data; }

static int on_begin(http_parser *parser)
{
    hr__conn *conn = conn_of(parser);
    conn->request = request_new(conn);
    conn->since = uv_now(&conn->loop->uv);
    conn->field_size = 0;
    conn->in_value = false;
    return conn->request ? 0 : 1;
}

static int on_url(http_parser *parser, const char *at, size_t size)
{
    hr__request *r = conn_of(parser)->request;
    if (r) hr__text_bytes(&r->target, at, size);
    return r ? 0 : 1;
}

static int on_field(http_parser *parser, const char *at, size_t size)
{
    hr__conn *conn = conn_of(parser);
    if (!conn->request) return 1;
    if (conn->in_value) conn->field_size = 0;
    conn->in_value = false;
    for (size_t i = 0; i < size && conn->field_size < sizeof conn->field; i++) {
        const char c = at[i];
        conn->field[conn->field_size++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    hr__text_clear(&conn->request->key);
    return 0;
}

static bool field_is(const hr__conn *conn, const char *name)
{
    return conn->field_size == strlen(name) && memcmp(conn->field, name, conn->field_size) == 0;
}

static bool value_has(hr_view value, const char *word)
{
    const size_t size = strlen(word);
    for (int64_t i = 0; i + (int64_t)size <= value.size; i++)
        if (strncasecmp(value.data + i, word, size) == 0) return true;
    return false;
}

/* Takes the same time wherever they differ. */
static bool same_key(hr_view given, const char *key)
{
    const size_t size = strlen(key);
    unsigned char other = (size_t)given.size != size;
    for (size_t i = 0; i < size && i < (size_t)given.size; i++) other |= (unsigned char)(given.data[i] ^ key[i]);
    return other == 0;
}

/* The headers that matter are short; of a value that comes in pieces the pieces are put together. */
static int on_value(http_parser *parser, const char *at, size_t size)
{
    hr__conn *conn = conn_of(parser);
    hr__request *r = conn->request;
    conn->in_value = true;
    if (!r) return 1;
    if (r->key.size + size > 4096) return 0;
    hr__text_bytes(&r->key, at, size);
    const hr_view value = {r->key.data ? r->key.data : "", (int64_t)r->key.size};
    if (field_is(conn, "content-encoding")) r->gzip_body = value_has(value, "gzip");
    if (field_is(conn, "accept-encoding")) r->takes_gzip = value_has(value, "gzip");
    if (field_is(conn, "accept")) r->takes_html = value_has(value, "text/html") || value_has(value, "*/*");
    if (field_is(conn, "expect")) r->wants_continue = value_has(value, "100-continue");
    if (field_is(conn, "origin")) {
        r->has_origin = true;
        r->good_origin = value_has(value, "http://") || value_has(value, "https://");
    }
    const char *key = conn->loop->server->opts.api_key;
    if (key && field_is(conn, "authorization"))
        r->has_key = value.size > 7 && strncasecmp(value.data, "bearer ", 7) == 0 &&
                     same_key((hr_view){value.data + 7, value.size - 7}, key);
    return 0;
}

static int on_head(http_parser *parser)
{
    hr__conn *conn = conn_of(parser);
    hr__request *r = conn->request;
    const size_t most = conn->loop->all->limits.max_body;
    if (!r) return -1; /* closed meanwhile, as below */
    const bool sized = parser->content_length != UINT64_MAX && !(parser->flags & F_CHUNKED);
    r->head_done = true;
    r->method = parser->method;
    r->http_1_0 = parser->http_major == 1 && parser->http_minor == 0;
    parser->upgrade = 0;
    hr__text_clear(&r->key);
    conn->since = uv_now(&conn->loop->uv);
    if (sized && parser->content_length > most) {
        r->too_large = true;
        return 1; /* the body is not read */
    }
    /* As much memory as the client has sent comes with the bytes; a promise alone gets little. */
    if (sized && parser->content_length)
        hr__text_reserve(&r->body, parser->content_length < 64 << 10 ? (size_t)parser->content_length : 64 << 10);
    if (r->wants_continue && parser->http_minor >= 1) {
        static char words[] = "HTTP/1.1 100 Continue\r\n\r\n";
        const uv_buf_t buf = uv_buf_init(words, sizeof words - 1);
        conn_send_plain(conn, &buf, 1);
    }
    return 0;
}

static int on_body(http_parser *parser, const char *at, size_t size)
{
    hr__request *r = conn_of(parser)->request;
    if (!r) return 1;
    if (size > r->loop->all->limits.max_body - r->body.size) {
        r->too_large = true;
        return 1;
    }
    hr__text_bytes(&r->body, at, size);
    return 0;
}

static int on_complete(http_parser *parser)
{
    hr__conn *conn = conn_of(parser);
    if (!conn->request) return 1;
    conn->request->keep_alive = http_should_keep_alive(parser) != 0;
    conn->working = true;
    http_parser_pause(parser, 1);
    return 0;
}

static const http_parser_settings settings = {
    .on_message_begin = on_begin,
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

/* ---- bytes ---- */

/* A request that is told what is wrong with it, as JSON, and is the last one of its connection. */
static void refuse_request(hr__conn *conn, int status, const char *text)
{
    hr__request *r = conn->request;
    hr__text *answer = &conn->loop->answer;
    hr__text_clear(answer);
    hr__doc_error(text, strlen(text), answer);
    conn->working = true;
    conn->loop->server->under_way++;
    conn->loop->server->refused++;
    r->keep_alive = false;
    hr__request_answer(r, status, hr__answer_type, answer);
}

static void parser_failed(hr__conn *conn)
{
    hr__request *r = conn->request;
    const enum http_errno code = HTTP_PARSER_ERRNO(&conn->parser);
    if (r && r->too_large) {
        refuse_request(conn, 413, "The body is larger than the server takes");
        return;
    }
    if (code == HPE_HEADER_OVERFLOW)
        conn_refuse(conn, 431);
    else
        conn_refuse(conn, code == HPE_INVALID_METHOD ? 501 : code == HPE_CB_message_begin ? 503 : 400);
}

/* Feeds the parser up to the end of a request. Gives how many bytes it took. */
static size_t conn_parse(hr__conn *conn, const char *data, size_t size)
{
    const bool in_head = !conn->request || !conn->request->head_done;
    const size_t took = http_parser_execute(&conn->parser, &settings, data, size);
    hr__request *r = conn->request;
    if (conn->closing) return size;
    const bool paused = HTTP_PARSER_ERRNO(&conn->parser) == HPE_PAUSED;
    if (r && r->too_large) {
        parser_failed(conn);
        return size;
    }
    if (HTTP_PARSER_ERRNO(&conn->parser) != HPE_OK && !paused) {
        parser_failed(conn);
        return size;
    }
    if (r && in_head && !r->head_done) {
        r->head_size += took;
        if (r->head_size > conn->loop->all->limits.max_head) {
            conn_refuse(conn, 431);
            return size;
        }
    }
    if (!paused) return size;
    http_parser_pause(&conn->parser, 0);
    conn->loop->server->under_way++;
    if (r->target.failed || r->body.failed)
        refuse_request(conn, 503, "no memory for the request");
    else
        conn->loop->all->request(r);
    return took;
}

void hr__conn_bytes(hr__conn *conn, const char *data, size_t size)
{
    conn->feeding = true;
    while (size > 0 && !conn->closing && !conn->close_after && !conn->working && !conn->writing) {
        const size_t took = conn_parse(conn, data, size);
        data += took;
        size -= took;
    }
    conn->feeding = false;
    if (conn->closing || conn->close_after || size == 0) return;
    hr__text_bytes(&conn->held, data, size);
    if (conn->held.failed) hr__conn_close(conn);
    if (conn->held.size > MOST_HELD && !conn->stopped && !conn->closing) {
        conn->stopped = true;
        uv_read_stop(&conn->uv.stream);
    }
}

static void conn_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    hr__conn *conn = (hr__conn *)(void *)stream;
    if (size == 0) return;
    if (size < 0) {
        hr__conn_close(conn);
        return;
    }
    conn->loop->server->bytes_in += (uint64_t)size;
    if (conn->tls) {
        if (!hr__tls_received(conn->tls, buf->base, (size_t)size)) hr__conn_close(conn);
    } else {
        hr__conn_bytes(conn, buf->base, (size_t)size);
    }
}

static void conn_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    (void)wanted;
    hr__conn *conn = (hr__conn *)(void *)handle;
    *buf = uv_buf_init(conn->loop->buffer, sizeof conn->loop->buffer);
}

/* After an answer: what came meanwhile. */
static void conn_resume(hr__conn *conn)
{
    hr__text held = conn->held;
    conn->held = (hr__text){0};
    if (held.size) hr__conn_bytes(conn, held.data, held.size);
    hr__text_free(&held);
    if (conn->closing || !conn->stopped || conn->held.size > MOST_HELD) return;
    conn->stopped = false;
    if (uv_read_start(&conn->uv.stream, conn_alloc, conn_read) != 0) hr__conn_close(conn);
}

/* ---- connections ---- */

static const hr__tls_calls tls_calls = {hr__conn_bytes, hr__conn_send, hr__conn_close};

static void name_peer(hr__conn *conn, int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &size) != 0) return;
    if (address.ss_family == AF_INET) uv_ip4_name((struct sockaddr_in *)&address, conn->peer, sizeof conn->peer);
    if (address.ss_family == AF_INET6) uv_ip6_name((struct sockaddr_in6 *)&address, conn->peer, sizeof conn->peer);
    if (address.ss_family == AF_UNIX) snprintf(conn->peer, sizeof conn->peer, "unix");
}

void hr__conn_open(hr__loop *loop, int fd)
{
    hr__conn *conn = hr_calloc(1, sizeof *conn);
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (!conn || getsockname(fd, (struct sockaddr *)&address, &size) != 0) goto refuse;
    const bool is_unix = address.ss_family == AF_UNIX;
    if (is_unix ? uv_pipe_init(&loop->uv, &conn->uv.pipe, 0) : uv_tcp_init(&loop->uv, &conn->uv.tcp)) goto refuse;
    conn->loop = loop;
    conn->next = loop->conns;
    if (loop->conns) loop->conns->prev = conn;
    loop->conns = conn;
    conn->since = uv_now(&loop->uv);
    http_parser_init(&conn->parser, HTTP_REQUEST);
    conn->parser.data = conn;
    name_peer(conn, fd);
    if (is_unix ? uv_pipe_open(&conn->uv.pipe, fd) : uv_tcp_open(&conn->uv.tcp, fd)) {
        close(fd);
        hr__conn_close(conn);
        return;
    }
    if (!is_unix) uv_tcp_nodelay(&conn->uv.tcp, 1);
    if (loop->all->tls && !is_unix) conn->tls = hr__tls_new(loop->all->tls, conn, &tls_calls);
    if ((loop->all->tls && !is_unix && !conn->tls) || uv_read_start(&conn->uv.stream, conn_alloc, conn_read) != 0)
        hr__conn_close(conn);
    return;
refuse:
    loop->conn_count--;
    loop->server->connections--;
    hr_free(conn);
    close(fd);
}

/* A body gets the time of a head for each MiB. */
static uint64_t patience(const hr__conn *conn)
{
    const hr__limits *limits = &conn->loop->all->limits;
    const hr__request *r = conn->request;
    if (!r) return limits->idle_ms;
    return r->head_done ? limits->head_ms * (1 + (r->body.size >> 20)) : limits->head_ms;
}

static void loop_give_back(hr__loop *loop)
{
    enum { KEPT = 64 << 10 };
    hr__spare_requests_free(loop, loop->spare_least); /* since the last look nobody needed these */
    if (loop->answer.capacity > KEPT) hr__text_free(&loop->answer);
    if (loop->packed.capacity > KEPT) hr__text_free(&loop->packed);
}

void hr__conns_check(hr__loop *loop)
{
    const uint64_t now = uv_now(&loop->uv);
    const bool draining = loop->server->draining;
    loop_give_back(loop);
    for (hr__conn *conn = loop->conns, *next; conn; conn = next) {
        next = conn->next;
        if (conn->closing) continue;
        const uint64_t waited = now - conn->since;
        if (!conn->writing && conn->out.size == 0) hr__text_free(&conn->out);
        if (conn->writing) {
            if (waited > WRITE_MS) hr__conn_close(conn);
        } else if (conn->working) {
            continue;
        } else if (!conn->request) {
            if (draining || waited > patience(conn)) hr__conn_close(conn);
        } else if (waited > patience(conn)) {
            refuse_request(conn, 408, "The request did not come in time");
        }
    }
}
