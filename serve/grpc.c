/* gRPC by its C core, which this file alone calls (grpc_core.h): its maintainers call the interface private. Threads
 * wait on one completion queue; a request is answered by whichever thread runs it. RECV_CLOSE_ON_SERVER is a batch of
 * its own, so that a client that cancels is seen while its request waits. */
#include "serve/grpc.h"
#include "serve/grpc_core.h"
#include "serve/rpc.h"

#include <stdio.h>
#include <string.h>

enum { ACCEPTS = 64, MOST_THREADS = 64 };

typedef enum tag_kind { TAG_ACCEPT, TAG_RECEIVE, TAG_CLOSE, TAG_SEND, TAG_SHUTDOWN } tag_kind;

typedef struct rpc_call rpc_call;
typedef struct rpc_tag {
    tag_kind kind;
    rpc_call *call;
} rpc_tag;

struct hr__grpc {
    hr_server *server;
    grpc_completion_queue *queue;
    grpc_server *core;
    uv_thread_t threads[MOST_THREADS];
    int thread_count, port;
    rpc_tag shutdown;
    bool started;
    _Atomic int calls; /* that are not freed yet */
    _Atomic bool draining;
    uv_sem_t ended;
};

/* One call, from its accept until its last tag is back. */
struct rpc_call {
    hr__grpc *grpc;
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    grpc_byte_buffer *message, *answer;
    rpc_tag accept, receive, close, send;
    int cancelled;
    _Atomic int tags; /* that are to come back */
    grpc_slice status_text;
    hr__rpc rpc;
    size_t bytes_in;
};

static const hr__grpc_core *const core = &hr__grpc_calls;

bool hr_server_has_grpc(void) { return true; }

/* ---- calls ---- */

static void call_free(rpc_call *c)
{
    hr__grpc *grpc = c->grpc;
    if (c->message) core->grpc_byte_buffer_destroy(c->message);
    if (c->answer) core->grpc_byte_buffer_destroy(c->answer);
    core->grpc_metadata_array_destroy(&c->metadata);
    core->grpc_call_details_destroy(&c->details);
    core->grpc_slice_unref(c->status_text);
    if (c->call) core->grpc_call_unref(c->call);
    hr__rpc_clear(&c->rpc);
    hr_free(c);
    grpc->calls--;
}

static void tag_back(rpc_call *c)
{
    if (atomic_fetch_sub(&c->tags, 1) == 1) call_free(c);
}

static void rpc_done(hr__rpc *rpc);

static void accept_next(hr__grpc *grpc)
{
    rpc_call *c = hr_calloc(1, sizeof *c);
    if (!c) return;
    grpc->calls++;
    c->grpc = grpc;
    c->status_text = core->grpc_empty_slice();
    c->accept = (rpc_tag){TAG_ACCEPT, c};
    c->receive = (rpc_tag){TAG_RECEIVE, c};
    c->close = (rpc_tag){TAG_CLOSE, c};
    c->send = (rpc_tag){TAG_SEND, c};
    c->tags = 1;
    c->rpc.server = grpc->server; /* all of it before `closed` may come, in another thread */
    c->rpc.done = rpc_done;
    c->rpc.owner = c;
    core->grpc_call_details_init(&c->details);
    core->grpc_metadata_array_init(&c->metadata);
    if (core->grpc_server_request_call(grpc->core, &c->call, &c->details, &c->metadata, grpc->queue, grpc->queue,
                                       &c->accept) != GRPC_CALL_OK)
        call_free(c);
}

static void start(rpc_call *c, const grpc_op *ops, size_t count, rpc_tag *tag)
{
    c->tags++;
    if (core->grpc_call_start_batch(c->call, ops, count, tag, NULL) != GRPC_CALL_OK) tag_back(c);
}

static void log_call(rpc_call *c, grpc_status_code code, size_t bytes_out)
{
    if (!c->grpc->server->access) return;
    char *peer = core->grpc_call_get_peer(c->call);
    const hr__access_entry entry = {
        .protocol = "grpc",
        .peer = peer ? peer : "",
        .method = "POST",
        .target = {(const char *)GRPC_SLICE_START_PTR(c->details.method),
                   (int64_t)GRPC_SLICE_LENGTH(c->details.method)},
        .status = (int)code,
        .bytes_in = c->bytes_in,
        .bytes_out = bytes_out,
        .nanoseconds = hr__serve_now() - c->rpc.begun,
    };
    hr__access_write(c->grpc->server->access, &entry);
    core->gpr_free(peer);
}

/* The numbers of statuses are those of gRPC, negated; a text is cut at 1,024 bytes. */
static void send_answer(rpc_call *c)
{
    hr_server *server = c->grpc->server;
    const hr__rpc *rpc = &c->rpc;
    const bool well = rpc->fault.status == HR_OK;
    grpc_op ops[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
    size_t count = 1;
    if (well) {
        grpc_slice bytes =
            core->grpc_slice_from_copied_buffer(rpc->answer.data ? rpc->answer.data : "", rpc->answer.size);
        c->answer = core->grpc_raw_byte_buffer_create(&bytes, 1);
        core->grpc_slice_unref(bytes);
        ops[count].op = GRPC_OP_SEND_MESSAGE;
        ops[count++].data.send_message.send_message = c->answer;
    } else {
        const size_t size = rpc->fault.text.size;
        hr__text text = {0};
        hr__text_bytes(&text, rpc->fault.text.data ? rpc->fault.text.data : "", size > 1024 ? 1024 : size);
        if (size > 1024) hr__text_add(&text, "...TRUNCATED");
        c->status_text = core->grpc_slice_from_copied_buffer(text.data ? text.data : "", text.size);
        hr__text_free(&text);
    }
    ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[count].data.send_status_from_server.status = well ? GRPC_STATUS_OK : (grpc_status_code)-rpc->fault.status;
    ops[count].data.send_status_from_server.status_details = &c->status_text;
    count++;
    server->bytes_out += well ? rpc->answer.size : 0;
    log_call(c, ops[count - 1].data.send_status_from_server.status, well ? rpc->answer.size : 0);
    server->under_way--;
    start(c, ops, count, &c->send);
}

static void rpc_done(hr__rpc *rpc)
{
    rpc_call *c = rpc->owner;
    hr__rpc_end(rpc);
    send_answer(c);
    tag_back(c); /* the one that the work held */
}

/* Seconds until the deadline of the client; 0: there is none. */
static double time_left(const rpc_call *c)
{
    if (core->gpr_time_cmp(c->details.deadline, core->gpr_inf_future(c->details.deadline.clock_type)) >= 0) return 0;
    const gpr_timespec left = core->gpr_time_sub(c->details.deadline, core->gpr_now(c->details.deadline.clock_type));
    const double seconds = (double)left.tv_sec + left.tv_nsec * 1e-9;
    return seconds > 0.0001 ? seconds : 0.0001;
}

typedef struct slow_work {
    rpc_call *call;
    hr__text request;
} slow_work;

static void *slow_thread(void *user)
{
    slow_work *work = user;
    rpc_call *c = work->call;
    hr__rpc_begin(&c->rpc, (hr_view){work->request.data ? work->request.data : "", (int64_t)work->request.size});
    hr__text_free(&work->request);
    hr_free(work);
    send_answer(c);
    tag_back(c);
    return NULL;
}

static bool begin_slow(rpc_call *c, hr_view request)
{
    pthread_t thread;
    slow_work *work = hr_calloc(1, sizeof *work);
    if (!work) return false;
    work->call = c;
    hr__text_bytes(&work->request, request.data, (size_t)request.size);
    if (!work->request.failed && pthread_create(&thread, NULL, slow_thread, work) == 0) {
        pthread_detach(thread);
        return true;
    }
    hr__text_free(&work->request);
    hr_free(work);
    return false;
}

static void answer_now(rpc_call *c)
{
    send_answer(c);
    tag_back(c);
}

static void handle_request(rpc_call *c, hr_view request)
{
    hr__rpc *rpc = &c->rpc;
    hr_server *server = c->grpc->server;
    const grpc_slice path = c->details.method;
    rpc->timeout = time_left(c);
    rpc->begun = hr__serve_now();
    server->under_way++;
    server->bytes_in += (uint64_t)request.size;
    c->bytes_in = (size_t)request.size;
    c->tags++; /* held by the work */
    rpc->method = hr__method_named((const char *)GRPC_SLICE_START_PTR(path), GRPC_SLICE_LENGTH(path));
    if (!rpc->method) {
        hr__fault_set(&rpc->fault, HR_UNIMPLEMENTED, "unknown method");
        answer_now(c);
    } else if (c->grpc->draining) {
        hr__fault_set(&rpc->fault, HR_UNAVAILABLE, "the server ends");
        answer_now(c);
    } else if (rpc->method->slow) {
        if (begin_slow(c, request)) return;
        hr__fault_set(&rpc->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
        answer_now(c);
    } else if (hr__rpc_begin(rpc, request)) {
        hr__pool_help(server->pool);
    } else {
        answer_now(c);
    }
}

/* The message lies in one slice, or is put together. */
static void received(rpc_call *c)
{
    grpc_byte_buffer_reader reader;
    if (!c->message) return; /* the client went away */
    if (!core->grpc_byte_buffer_reader_init(&reader, c->message)) return;
    const grpc_slice all = core->grpc_byte_buffer_reader_readall(&reader);
    core->grpc_byte_buffer_reader_destroy(&reader);
    handle_request(c, (hr_view){(const char *)GRPC_SLICE_START_PTR(all), (int64_t)GRPC_SLICE_LENGTH(all)});
    core->grpc_slice_unref(all);
}

static void accepted(rpc_call *c)
{
    accept_next(c->grpc);
    const grpc_op receive = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &c->message};
    const grpc_op close = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER, .data.recv_close_on_server.cancelled = &c->cancelled};
    start(c, &close, 1, &c->close);
    start(c, &receive, 1, &c->receive);
}

/* A client that cancelled wants no answer: its tasks are passed over when their turn comes. */
static void closed(rpc_call *c)
{
    if (!c->cancelled) return;
    c->rpc.cancelled = true;
}

static void grpc_thread(void *user)
{
    hr__grpc *grpc = user;
    hr__no_broken_pipes();
    for (;;) {
        const grpc_event event =
            core->grpc_completion_queue_next(grpc->queue, core->gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) return;
        const rpc_tag *tag = event.tag;
        if (event.type != GRPC_OP_COMPLETE) continue;
        rpc_call *c = tag->call;
        switch (tag->kind) {
        case TAG_ACCEPT:
            if (event.success) accepted(c);
            break;
        case TAG_RECEIVE:
            if (event.success) received(c);
            break;
        case TAG_CLOSE:
            closed(c);
            break;
        case TAG_SEND:
            break;
        case TAG_SHUTDOWN:
            uv_sem_post(&grpc->ended);
            continue;
        }
        tag_back(c);
    }
}

/* ---- start and end ---- */

static hr_status credentials(hr_server *server, grpc_server_credentials **out, hr_error *err)
{
    hr__ssl_config ssl = {0};
    if (!server->opts.ssl_config_file) {
        *out = core->grpc_insecure_server_credentials_create();
        return *out ? HR_OK : hr_no_memory(err, "gRPC");
    }
    hr_status st = hr__ssl_config_read(server->opts.ssl_config_file, &ssl, err);
    if (st == HR_OK) {
        grpc_ssl_pem_key_cert_pair pair = {ssl.key, ssl.cert};
        *out = core->grpc_ssl_server_credentials_create(ssl.ca && *ssl.ca ? ssl.ca : NULL, &pair, 1, ssl.verify, NULL);
        if (!*out)
            st = hr_fail(err, HR_INVALID_ARGUMENT, "serve.tls", "%s: no key and certificate",
                         server->opts.ssl_config_file);
    }
    hr_free(ssl.key);
    hr_free(ssl.cert);
    hr_free(ssl.ca);
    return st;
}

static hr_status listen_at(hr__grpc *grpc, hr_error *err)
{
    const hr_server_opts *o = &grpc->server->opts;
    char address[200];
    grpc_server_credentials *creds = NULL;
    const int port = o->port ? *o->port : 8500;
    const char *host = o->host ? o->host : "127.0.0.1";
    HR_TRY(credentials(grpc->server, &creds, err));
    hr_status st = HR_OK;
    snprintf(address, sizeof address, strchr(host, ':') ? "[%.100s]:%d" : "%.100s:%d", host, port);
    if (port >= 0) {
        grpc->port = core->grpc_server_add_http2_port(grpc->core, address, creds);
        if (grpc->port == 0) st = hr_fail(err, HR_UNAVAILABLE, "serve.listen", "%s: gRPC cannot listen there", address);
    }
    if (st == HR_OK && o->grpc_socket) {
        snprintf(address, sizeof address, "unix:%.150s", o->grpc_socket);
        if (core->grpc_server_add_http2_port(grpc->core, address, creds) == 0)
            st = hr_fail(err, HR_UNAVAILABLE, "serve.listen", "%s: gRPC cannot listen there", address);
    }
    core->grpc_server_credentials_release(creds);
    return st;
}

static hr_status start_core(hr__grpc *grpc, hr_error *err)
{
    const hr_server_opts *o = &grpc->server->opts;
    const int most = o->max_body > 0 && o->max_body < INT32_MAX ? (int)o->max_body : 64 << 20;
    grpc_arg args[] = {
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)(uintptr_t)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
         .value.integer = most},
        {.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)GRPC_ARG_ALLOW_REUSEPORT, .value.integer = 0},
    };
    const grpc_channel_args all = {2, args};
    grpc->queue = core->grpc_completion_queue_create_for_next(NULL);
    grpc->core = core->grpc_server_create(&all, NULL);
    core->grpc_server_register_completion_queue(grpc->core, grpc->queue, NULL);
    HR_TRY(listen_at(grpc, err));
    core->grpc_server_start(grpc->core);
    grpc->started = true;
    for (int i = 0; i < ACCEPTS; i++) accept_next(grpc);
    int threads = o->grpc_threads > 0 ? o->grpc_threads : (int)uv_available_parallelism();
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    for (; grpc->thread_count < threads; grpc->thread_count++)
        if (uv_thread_create(&grpc->threads[grpc->thread_count], grpc_thread, grpc) != 0)
            return hr_no_memory(err, "a thread");
    return HR_OK;
}

static bool speaks_grpc(const hr_server *server)
{
    return !server->opts.port || *server->opts.port >= 0 || server->opts.grpc_socket;
}

/* A failure comes again at the start. */
void hr__grpc_prepare(const hr_server *server)
{
    if (speaks_grpc(server)) hr__grpc_core_load(NULL);
}

hr_status hr__grpc_start(hr_server *server, hr__grpc **out, hr_error *err)
{
    *out = NULL;
    if (!speaks_grpc(server)) return HR_OK;
    HR_TRY(hr__grpc_core_load(err));
    hr__grpc *grpc = hr_calloc(1, sizeof *grpc);
    if (!grpc) return hr_no_memory(err, "gRPC");
    grpc->server = server;
    grpc->port = -1;
    uv_sem_init(&grpc->ended, 0);
    core->grpc_init();
    *out = grpc; /* hr_server_stop frees it after a failure, too */
    return start_core(grpc, err);
}

int hr__grpc_port(const hr__grpc *grpc) { return grpc ? grpc->port : -1; }

void hr__grpc_drain(hr__grpc *grpc) { grpc->draining = true; }

void hr__grpc_stop(hr__grpc *grpc)
{
    if (!grpc || !grpc->core) return;
    grpc->shutdown.kind = TAG_SHUTDOWN;
    core->grpc_server_shutdown_and_notify(grpc->core, grpc->queue, &grpc->shutdown);
    core->grpc_server_cancel_all_calls(grpc->core);
    if (grpc->thread_count) uv_sem_wait(&grpc->ended);
}

void hr__grpc_free(hr__grpc *grpc)
{
    if (!grpc) return;
    if (grpc->core && !grpc->thread_count) { /* nobody took the tags of the shutdown */
        while (core->grpc_completion_queue_next(grpc->queue, core->gpr_time_from_seconds(1, GPR_TIMESPAN), NULL).tag !=
               &grpc->shutdown)
            ;
    }
    while (grpc->thread_count && grpc->calls > 0) uv_sleep(1); /* their last tags come back */
    if (grpc->queue) core->grpc_completion_queue_shutdown(grpc->queue);
    for (int i = 0; i < grpc->thread_count; i++) uv_thread_join(&grpc->threads[i]);
    if (grpc->core) core->grpc_server_destroy(grpc->core);
    if (grpc->queue) core->grpc_completion_queue_destroy(grpc->queue);
    core->grpc_shutdown();
    uv_sem_destroy(&grpc->ended);
    hr_free(grpc);
}
