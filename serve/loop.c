/* Loops: a thread each. The first one accepts, and gives each connection to the loop that has the fewest. Short runs of
 * models are done in the loop itself, at the end of its turn, so that all requests of the turn share a run. */
#include "serve/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { TICK_MS = 500 };

/* ---- what a loop does ---- */

static void take_arrived(hr__loop *loop)
{
    uv_mutex_lock(&loop->lock);
    int *fds = loop->arrived;
    const int count = loop->arrived_count;
    loop->arrived = NULL;
    loop->arrived_count = loop->arrived_space = 0;
    uv_mutex_unlock(&loop->lock);
    for (int i = 0; i < count; i++) hr__conn_open(loop, fds[i]);
    hr_free(fds);
}

static void take_finished(hr__loop *loop)
{
    uv_mutex_lock(&loop->lock);
    hr__request *r = loop->finished;
    loop->finished = NULL;
    uv_mutex_unlock(&loop->lock);
    while (r) {
        hr__request *next = r->next;
        r->next = NULL;
        loop->all->finished(r);
        r = next;
    }
}

static void stop_accepting(hr__loop *loop)
{
    hr__loops *all = loop->all;
    if (loop != &all->loops[0]) return;
    for (int i = 0; i < all->poll_count; i++)
        if (all->listeners[i] >= 0) uv_close((uv_handle_t *)&all->polls[i], NULL);
    for (int i = 0; i < 2; i++) {
        if (all->listeners[i] >= 0) close(all->listeners[i]);
        all->listeners[i] = -1;
    }
    if (all->socket_path) unlink(all->socket_path);
}

static void loop_wake(uv_async_t *wake)
{
    hr__loop *loop = wake->data;
    take_arrived(loop);
    take_finished(loop);
    uv_mutex_lock(&loop->lock);
    const bool drain = loop->drain, stop = loop->stop;
    loop->drain = false;
    uv_mutex_unlock(&loop->lock);
    if (drain || stop) {
        stop_accepting(loop);
        hr__conns_check(loop);
    }
    if (!stop || uv_is_closing((uv_handle_t *)&loop->wake)) return;
    for (hr__conn *conn = loop->conns, *next; conn; conn = next) {
        next = conn->next;
        hr__conn_close(conn);
    }
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->tick, NULL);
    uv_close((uv_handle_t *)&loop->after, NULL);
}

static void loop_tick(uv_timer_t *timer) { hr__conns_check(timer->data); }

static void loop_after(uv_check_t *check)
{
    hr__loop *loop = check->data;
    while (loop->submitted) {
        loop->submitted = false;
        hr__pool_help(loop->server->pool);
    }
}

static void loop_thread(void *user)
{
    hr__loop *loop = user;
    hr__no_broken_pipes();
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

/* ---- accepting ---- */

static void give_connection(hr__loops *all, int fd)
{
    hr__loop *to = &all->loops[0];
    for (int i = 1; i < all->count; i++)
        if (all->loops[i].conn_count < to->conn_count) to = &all->loops[i];
    all->server->connections++;
    to->conn_count++;
    if (to == &all->loops[0]) {
        hr__conn_open(to, fd);
        return;
    }
    uv_mutex_lock(&to->lock);
    bool kept = to->arrived_count < to->arrived_space;
    if (!kept) {
        int *more = hr_realloc(to->arrived, (size_t)(to->arrived_space + 64) * sizeof *more);
        if (more) {
            to->arrived = more;
            to->arrived_space += 64;
            kept = true;
        }
    }
    if (kept) to->arrived[to->arrived_count++] = fd;
    uv_mutex_unlock(&to->lock);
    if (kept) {
        uv_async_send(&to->wake);
    } else {
        to->conn_count--;
        all->server->connections--;
        close(fd);
    }
}

static void refuse_connection(hr__loops *all, int fd)
{
    static const char words[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    all->server->refused++;
    if (!all->tls && send(fd, words, sizeof words - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) errno = 0;
    close(fd);
}

static void loop_accept(uv_poll_t *poll, int status, int events)
{
    hr__loops *all = poll->data;
    const int listener = all->listeners[poll - all->polls];
    if (status < 0 || !(events & UV_READABLE)) return;
    for (int i = 0; i < 256; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && all->spare_fd >= 0) {
            close(all->spare_fd);
            fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd >= 0) refuse_connection(all, fd);
            all->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
            continue;
        }
        if (fd < 0) return;
        if (all->server->connections >= all->limits.max_connections || all->server->draining)
            refuse_connection(all, fd);
        else
            give_connection(all, fd);
    }
}

/* ---- listening ---- */

static hr_status listen_failed(hr_error *err, const char *where)
{
    return hr_fail(err, HR_UNAVAILABLE, "serve.listen", "%s: %s", where, strerror(errno));
}

static hr_status listen_tcp(hr__loops *all, const char *host, int port, hr_error *err)
{
    char service[16], where[128];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found;
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    const int on = 1;
    snprintf(service, sizeof service, "%d", port);
    snprintf(where, sizeof where, "%.80s:%d", host, port);
    const int wrong = getaddrinfo(host, service, &hints, &found);
    if (wrong)
        return hr_fail(err, HR_UNAVAILABLE, "serve.listen", "%s: %s; give an address of this machine", where,
                       gai_strerror(wrong));
    const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool done = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 1024) == 0 &&
                getsockname(fd, (struct sockaddr *)&bound, &size) == 0;
    freeaddrinfo(found);
    if (!done) {
        listen_failed(err, where);
        if (fd >= 0) close(fd);
        return HR_UNAVAILABLE;
    }
    all->listeners[0] = fd;
    all->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                  : ((struct sockaddr_in *)&bound)->sin_port);
    return HR_OK;
}

static hr_status listen_unix(hr__loops *all, const char *path, hr_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat about;
    if (strlen(path) >= sizeof address.sun_path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "serve.config",
                       "%.60s...: expected the path of a socket of at most %zu "
                       "bytes",
                       path, sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path));
    if (lstat(path, &about) == 0 && S_ISSOCK(about.st_mode)) unlink(path); /* of a server that was killed */
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 1024) != 0) {
        listen_failed(err, path);
        if (fd >= 0) close(fd);
        return HR_UNAVAILABLE;
    }
    all->listeners[1] = fd;
    all->socket_path = hr_strdup(path);
    return all->socket_path ? HR_OK : hr_no_memory(err, "a path");
}

static hr_status listen_all(hr__loops *all, hr_error *err)
{
    const hr_server_opts *opts = &all->server->opts;
    const int port = opts->rest_api_port ? *opts->rest_api_port : 8501;
    if (port >= 0) HR_TRY(listen_tcp(all, opts->host ? opts->host : "127.0.0.1", port, err));
    if (opts->rest_socket) HR_TRY(listen_unix(all, opts->rest_socket, err));
    return HR_OK;
}

/* ---- the loops ---- */

static hr_status open_loop(hr__loops *all, hr__loop *loop, hr_error *err)
{
    loop->all = all;
    loop->server = all->server;
    if (uv_loop_init(&loop->uv) != 0) return hr_no_memory(err, "a loop");
    uv_mutex_init(&loop->lock);
    uv_async_init(&loop->uv, &loop->wake, loop_wake);
    uv_timer_init(&loop->uv, &loop->tick);
    uv_check_init(&loop->uv, &loop->after);
    loop->wake.data = loop->tick.data = loop->after.data = loop;
    uv_timer_start(&loop->tick, loop_tick, TICK_MS, TICK_MS);
    uv_check_start(&loop->after, loop_after);
    all->count++;
    return HR_OK;
}

static hr_status open_polls(hr__loops *all, hr_error *err)
{
    for (int i = 0; i < 2; i++) {
        if (all->listeners[i] < 0) continue;
        /* A poll's place is that of its listener. */
        all->polls[i].data = all;
        if (uv_poll_init(&all->loops[0].uv, &all->polls[i], all->listeners[i]) != 0 ||
            uv_poll_start(&all->polls[i], UV_READABLE, loop_accept) != 0)
            return hr_fail(err, HR_UNAVAILABLE, "serve.listen", "a socket cannot be listened at");
        all->poll_count = i + 1;
    }
    return HR_OK;
}

static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void set_limits(hr__loops *all)
{
    const hr_server_opts *o = &all->server->opts;
    all->limits = (hr__limits){
        .max_body = o->max_body > 0 ? (size_t)o->max_body : 64 << 20,
        .max_head = 64 << 10,
        .max_connections = o->max_connections > 0 ? o->max_connections : 10000,
        .head_ms = (uint64_t)((o->head_timeout > 0 ? o->head_timeout : 10) * 1000),
        .idle_ms = (uint64_t)((o->idle_timeout > 0 ? o->idle_timeout : 75) * 1000),
        .timeout = o->rest_timeout > 0 ? o->rest_timeout : 30,
    };
}

static hr_status start_loops(hr__loops *all, hr_error *err)
{
    const hr_server_opts *opts = &all->server->opts;
    const int count = opts->rest_threads > 0 ? opts->rest_threads : (int)uv_available_parallelism();
    all->loops = hr_calloc((size_t)count, sizeof *all->loops);
    if (!all->loops) return hr_no_memory(err, "loops");
    if (opts->tls_cert || opts->tls_key) HR_TRY(hr__tls_context_new(opts, &all->tls, err));
    HR_TRY(listen_all(all, err));
    for (int i = 0; i < count; i++) HR_TRY(open_loop(all, &all->loops[i], err));
    HR_TRY(open_polls(all, err));
    for (int i = 0; i < count; i++) {
        if (uv_thread_create(&all->loops[i].thread, loop_thread, &all->loops[i]) != 0)
            return hr_no_memory(err, "a thread");
        all->loops[i].running = true;
    }
    return HR_OK;
}

hr_status hr__loops_start(hr_server *server, hr__request_fn *request, hr__request_fn *finished, hr__loops **out,
                          hr_error *err)
{
    hr__loops *all = hr_calloc(1, sizeof *all);
    if (!all) return hr_no_memory(err, "a server");
    all->server = server;
    all->request = request;
    all->finished = finished;
    all->listeners[0] = all->listeners[1] = -1;
    all->port = -1;
    all->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    set_limits(all);
    raise_descriptors();
    const hr_status st = start_loops(all, err);
    if (st == HR_OK)
        *out = all;
    else
        hr__loops_stop(all), hr__loops_free(all);
    return st;
}

int hr__loops_port(const hr__loops *loops) { return loops ? loops->port : -1; }

static void tell_loops(hr__loops *all, bool stop)
{
    for (int i = 0; i < all->count; i++) {
        hr__loop *loop = &all->loops[i];
        uv_mutex_lock(&loop->lock);
        loop->drain = true;
        loop->stop |= stop;
        uv_mutex_unlock(&loop->lock);
        uv_async_send(&loop->wake);
    }
}

void hr__loops_drain(hr__loops *loops) { tell_loops(loops, false); }

void hr__loops_stop(hr__loops *all)
{
    if (!all) return;
    tell_loops(all, true);
    for (int i = 0; i < all->count; i++) {
        hr__loop *loop = &all->loops[i];
        if (loop->running)
            uv_thread_join(&loop->thread);
        else
            uv_run(&loop->uv, UV_RUN_DEFAULT); /* closes what was opened */
        uv_mutex_lock(&loop->lock);
        loop->ended = true;
        uv_mutex_unlock(&loop->lock);
    }
}

static void free_loop(hr__loop *loop)
{
    take_finished(loop);
    for (int i = 0; i < loop->arrived_count; i++) close(loop->arrived[i]);
    hr_free(loop->arrived);
    uv_loop_close(&loop->uv);
    hr__spare_requests_free(loop, loop->spare_count);
    hr__text_free(&loop->answer);
    hr__text_free(&loop->packed);
    uv_mutex_destroy(&loop->lock);
}

void hr__loops_free(hr__loops *all)
{
    if (!all) return;
    for (int i = 0; i < all->count; i++) free_loop(&all->loops[i]);
    for (int i = 0; i < 2; i++)
        if (all->listeners[i] >= 0) close(all->listeners[i]);
    if (all->spare_fd >= 0) close(all->spare_fd);
    hr__tls_context_free(all->tls);
    hr_free(all->socket_path);
    hr_free(all->loops);
    hr_free(all);
}
