/* The server over real sockets: what clients do wrong, what happens to versions while they ask, and what they notice.
 * */
#include "tests/serve/adder.h"
#include "tests/serve/client.h"
#include "tests/testing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>
#include <zlib.h>

#define PREDICT "/v1/models/adder:predict"

#if HR__UNDER_TSAN
/* libuv closes descriptors by a system call that ThreadSanitizer does not see, so it takes the next owner of a number
 * for one that uses it at the same time. */
HR_API const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:folder_print\nrace:hr__folder_scan\nrace:adder_load\nrace:read_whole_file\nrace:write_file\nrace:"
           "closedir\nrace:opendir\nrace:fclose\nrace:fopen\nrace:accept4\nrace:client_connect\nrace:close\n";
}
#endif

static int begin(void **state)
{
    (void)state;
    remove_folder("adder");
    adder_version("adder", 1, 1);
    adder_runs = adder_most_rows = adder_load_ms = adder_rests = 0;
    return 0;
}

static client_answer post(int port, const char *body)
{
    return client_ask(port, "POST", PREDICT, NULL, body, strlen(body));
}

static void expect_post(int port, const char *body, int status, const char *part)
{
    client_answer a = post(port, body);
    if (a.status != status || !a.body || !strstr(a.body, part))
        fail_msg("%s: expected %d and \"%s\", got %d: %s", body, status, part, a.status, a.body ? a.body : "");
    client_answer_clear(&a);
}

static void expect_get(int port, const char *target, int status, const char *part)
{
    client_answer a = client_ask(port, "GET", target, NULL, NULL, 0);
    if (a.status != status || !a.body || !strstr(a.body, part))
        fail_msg("%s: expected %d and \"%s\", got %d: %s", target, status, part, a.status, a.body ? a.body : "");
    client_answer_clear(&a);
}

/* Waits, for a minute at most, until an answer has that part. */
static void wait_for(int port, const char *target, const char *part)
{
    for (int i = 0; i < 6000; i++) {
        client_answer a = client_ask(port, "GET", target, NULL, NULL, 0);
        const bool there = a.body && strstr(a.body, part);
        client_answer_clear(&a);
        if (there) return;
        uv_sleep(10);
    }
    fail_msg("%s: expected that \"%s\" comes", target, part);
}

/* ---- HTTP ---- */

static const char whole[] =
    "POST " PREDICT " HTTP/1.1\r\nHost: a\r\nContent-Length: 24\r\n\r\n{\"instances\": [1, 2, 3]}";

static void a_request_may_come_in_any_pieces(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    const int port = hr_server_rest_port(server);
    for (size_t cut = 1; cut < sizeof whole - 1; cut += 3) {
        const int fd = client_connect(port);
        client_send(fd, whole, cut);
        if (cut % 2) uv_sleep(1);
        client_send(fd, whole + cut, sizeof whole - 1 - cut);
        client_answer a = client_receive(fd, NULL, NULL, false);
        assert_int_equal(a.status, 200);
        assert_non_null(strstr(a.body, "[2.0, 3.0, 4.0"));
        client_answer_clear(&a);
        close(fd);
    }
    const int fd = client_connect(port);
    for (size_t i = 0; i < sizeof whole - 1; i++) client_send(fd, whole + i, 1);
    client_answer a = client_receive(fd, NULL, NULL, false);
    assert_int_equal(a.status, 200);
    client_answer_clear(&a);
    close(fd);
    assert_true(hr_server_stop(server, 5));
}

static void a_request_that_is_cut_off_is_forgotten(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    const int port = hr_server_rest_port(server);
    for (size_t cut = 1; cut < sizeof whole - 1; cut++) {
        const int fd = client_connect(port);
        client_send(fd, whole, cut);
        close(fd);
    }
    expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    assert_true(hr_server_stop(server, 5));
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    (void)state;
    enum { MANY = 200 };
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    const int fd = client_connect(hr_server_rest_port(server));
    char *all = calloc(1, MANY * 200), *at = all, *more = NULL;
    size_t size = 0;
    for (int i = 0; i < MANY; i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"instances\": [%d]}", i);
        at += sprintf(at, "POST " PREDICT " HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    }
    assert_true(client_send(fd, all, (size_t)(at - all)));
    for (int i = 0; i < MANY; i++) {
        char expected[32];
        client_answer a = client_receive(fd, &more, &size, false);
        snprintf(expected, sizeof expected, "[%d.0\n", i + 1);
        assert_int_equal(a.status, 200);
        assert_non_null(strstr(a.body, expected));
        client_answer_clear(&a);
    }
    free(all);
    free(more);
    close(fd);
    assert_true(hr_server_stop(server, 5));
}

static void chunked_bodies_and_old_clients_are_served(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    const int port = hr_server_rest_port(server), fd = client_connect(port);
    const char *chunked = "POST " PREDICT " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "7\r\n{\"insta\r\n0b;x=y\r\nnces\": [1]}\r\n0\r\nTrailer: a\r\n\r\n";
    char *more = NULL;
    size_t size = 0;
    client_send(fd, chunked, strlen(chunked));
    client_answer a = client_receive(fd, &more, &size, false);
    assert_int_equal(a.status, 200);
    client_answer_clear(&a);
    const char *old = "POST " PREDICT " HTTP/1.0\r\nContent-Length: 18\r\n\r\n{\"instances\": [1]}";
    client_send(fd, old, strlen(old));
    a = client_receive(fd, &more, &size, false);
    assert_int_equal(a.status, 200);
    assert_true(a.closes);
    client_answer_clear(&a);
    free(more);
    close(fd);
    a = client_ask(port, "HEAD", "/v1/models/adder", NULL, NULL, 0);
    assert_int_equal(a.status, 200);
    client_answer_clear(&a);
    expect_get(port, "/v1/models/adder/?x=1", 400, "Malformed request");
    assert_true(hr_server_stop(server, 5));
}

static void what_is_no_http_is_told_so(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int status;
    } wrong[] = {
        {"\r\n\r\nnonsense\r\n\r\n", 501},
        {"GARBAGE / HTTP/1.1\r\n\r\n", 501},
        {"GET / HTTP/9.9x\r\n\r\n", 400},
        {"GET /v1/models/adder HTTP/1.1\r\nA b c\r\n\r\n", 400},
        {"POST " PREDICT " HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST " PREDICT " HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {"POST " PREDICT " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
        {"POST " PREDICT " HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
        {"POST " PREDICT " HTTP/1.1\r\nContent-Length: 70000000\r\n\r\n", 413},
    };
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const int fd = client_connect(hr_server_rest_port(server));
        client_send(fd, wrong[i].bytes, strlen(wrong[i].bytes));
        client_answer a = client_receive(fd, NULL, NULL, false);
        if (a.status != wrong[i].status) fail_msg("%s: expected %d, got %d", wrong[i].bytes, wrong[i].status, a.status);
        assert_true(a.closes);
        client_answer_clear(&a);
        close(fd);
    }
    expect_post(hr_server_rest_port(server), "{\"instances\": [1]}", 200, "[2.0");
    assert_true(hr_server_stop(server, 5));
}

/* ---- limits ---- */

static void heads_bodies_and_depths_have_limits(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1, .max_body = 100000);
    const int port = hr_server_rest_port(server);
    char *large = malloc(200001);
    memset(large, '[', 200000);
    large[200000] = 0;
    client_answer a = post(port, large);
    assert_int_equal(a.status, 413);
    client_answer_clear(&a);
    large[90000] = 0;
    expect_post(port, large, 400, "Nested deeper than 254 levels");
    memset(large, 'a', 80000);
    memcpy(large, "X: ", 3);
    large[70000] = '\r', large[70001] = '\n', large[70002] = 0;
    const int fd = client_connect(port);
    client_send(fd, "GET / HTTP/1.1\r\n", 16);
    client_send(fd, large, 70002);
    a = client_receive(fd, NULL, NULL, false);
    assert_int_equal(a.status, 431);
    client_answer_clear(&a);
    close(fd);
    free(large);
    assert_true(hr_server_stop(server, 5));
}

static void a_small_body_may_not_inflate_to_a_large_one(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1, .max_body = 1 << 20);
    const int port = hr_server_rest_port(server);
    char *plain = calloc(1, 8 << 20), packed[20000];
    memset(plain, ' ', 8 << 20);
    z_stream z = {
        .next_in = (Bytef *)plain, .avail_in = 8 << 20, .next_out = (Bytef *)packed, .avail_out = sizeof packed};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    const size_t size = sizeof packed - z.avail_out;
    deflateEnd(&z);
    client_answer a = client_ask(port, "POST", PREDICT, "Content-Encoding: gzip\r\n", packed, size);
    assert_int_equal(a.status, 413);
    client_answer_clear(&a);
    a = client_ask(port, "POST", PREDICT, "Content-Encoding: gzip\r\n", packed, size / 2); /* cut */
    assert_int_equal(a.status, 413);
    client_answer_clear(&a);
    a = client_ask(port, "POST", PREDICT, "Content-Encoding: gzip\r\n", "no gzip", 7);
    assert_int_equal(a.status, 400);
    client_answer_clear(&a);
    free(plain);
    assert_true(hr_server_stop(server, 5));
}

static void numbers_for_float16_are_rounded_to_it(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    expect_post(hr_server_rest_port(server),
                "{\"signature_name\": \"half\", \"instances\": "
                "[0, -0.0, 1e-320, 1e-8, 6e-8, 6.1e-5, 0.1, 1, -65504, 65519, 65520, 1e9]}",
                200,
                "[0.0, -0.0, 0.0, 0.0, 5.96046448e-08, 6.09755516e-05, 0.0999755859, 1.0, -65504.0, 65504.0, "
                "Infinity, Infinity");
    assert_true(hr_server_stop(server, 1));
}

static void slow_clients_are_told_and_idle_ones_closed(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1, .head_timeout = 0.5, .idle_timeout = 0.7);
    const int port = hr_server_rest_port(server), slow = client_connect(port), idle = client_connect(port);
    client_send(slow, whole, 20);
    client_answer a = client_receive(slow, NULL, NULL, false);
    assert_int_equal(a.status, 408);
    assert_true(a.closes);
    client_answer_clear(&a);
    char byte;
    assert_int_equal(recv(idle, &byte, 1, 0), 0);
    close(slow);
    close(idle);
    assert_true(hr_server_stop(server, 5));
}

static void more_connections_than_allowed_are_refused(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 2, .max_connections = 4);
    const int port = hr_server_rest_port(server);
    int fd[4];
    for (int i = 0; i < 4; i++) {
        fd[i] = client_connect(port);
        client_send(fd[i], "GET /healthz HTTP/1.1\r\n\r\n", 25);
        client_answer a = client_receive(fd[i], NULL, NULL, false);
        assert_int_equal(a.status, 200);
        client_answer_clear(&a);
    }
    client_answer a = client_ask(port, "GET", "/healthz", NULL, NULL, 0);
    assert_true(a.status == 503 || a.status == -1); /* it may be reset before it is read */
    client_answer_clear(&a);
    close(fd[0]);
    wait_for(port, "/healthz", "ok");
    for (int i = 1; i < 4; i++) close(fd[i]);
    assert_true(hr_server_stop(server, 5));
}

static void many_idle_connections_cost_little(void **state)
{
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int count = limit.rlim_cur > 21000 ? 10000 : (int)(limit.rlim_cur / 2) - 100;
    if (count < 100) return;
    hr_server *server = ADDER_SERVER(.rest_threads = 2, .max_connections = 11000);
    const int port = hr_server_rest_port(server);
    int *fd = calloc((size_t)count, sizeof *fd), made = 0;
    const int64_t before = most_memory();
    (void)before;
    while (made < count && (fd[made] = client_connect(port)) >= 0) made++;
    assert_int_equal(made, count);
    for (int i = 0; i < 50; i++) expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    for (int i = 0; i < made; i++) close(fd[i]);
    free(fd);
    assert_true(hr_server_stop(server, 10));
}

static void memory_of_large_requests_goes_back(void **state)
{
    (void)state;
    enum { COUNT = 40, VALUES = 50000 };
    static char request[8 * VALUES];
    int fd[COUNT], size = 0;
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    const int port = hr_server_rest_port(server);
    const int body = VALUES * 4 + 16;
    expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    watch_memory();
    size = snprintf(request, sizeof request, "POST " PREDICT " HTTP/1.1\r\nContent-Length: %d\r\n\r\n{\"instances\": [",
                    body);
    for (int i = 0; i < VALUES; i++) size += snprintf(request + size, sizeof request - (size_t)size, "%s", "100,");
    request[size - 1] = ']', request[size++] = '}';
    for (int i = 0; i < COUNT; i++) assert_true((fd[i] = client_connect(port)) >= 0);
    for (int i = 0; i < COUNT; i++) client_send(fd[i], request, (size_t)size / 2);
    for (int i = 0; i < COUNT; i++) {
        client_send(fd[i], request + size / 2, (size_t)(size - size / 2));
        client_answer a = client_receive(fd[i], NULL, NULL, false);
        assert_int_equal(a.status, 200);
        client_answer_clear(&a);
    }
    assert_at_least(most_memory(), COUNT * body / 2); /* all were under way at once */
    for (int i = 0; i < 3000 && memory_kept() > 200000; i++) uv_sleep(10);
    assert_at_most(memory_kept(), 200000); /* connections are open yet */
    for (int i = 0; i < COUNT; i++) close(fd[i]);
    assert_true(hr_server_stop(server, 5));
}

static void wait_for_rests(int count)
{
    for (int i = 0; i < 3000 && adder_rests < count; i++) uv_sleep(10);
    assert_int_equal(adder_rests, count);
}

/* Asked all the time, it may not rest; left alone, once. */
static void a_model_that_nobody_asks_rests_once(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    const int port = hr_server_rest_port(server);
    wait_for_rests(1);
    for (int i = 0; i < 300; i++, uv_sleep(10)) expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    const int before = adder_rests; /* a busy machine may have taken a second between two requests */
    assert_at_most(before, 2);
    expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    wait_for_rests(before + 1);
    uv_sleep(2500);
    assert_int_equal(adder_rests, before + 1);
    assert_true(hr_server_stop(server, 5));
}

/* ---- runs ---- */

typedef struct asker {
    int port, status, count, failed;
    const char *body;
    _Atomic bool *stop;
    float least, most;
    uv_thread_t thread;
} asker;

static void ask_once(void *user)
{
    asker *a = user;
    client_answer answer = post(a->port, a->body);
    a->status = answer.status;
    client_answer_clear(&answer);
}

static void begin_askers(asker *all, int count, int port, const char *const *bodies)
{
    for (int i = 0; i < count; i++) {
        all[i] = (asker){.port = port, .body = bodies[i]};
        assert_int_equal(uv_thread_create(&all[i].thread, ask_once, &all[i]), 0);
    }
}

static void what_waits_runs_together_and_only_the_guilty_fails(void **state)
{
    (void)state;
    enum { MANY = 8 };
    hr_server *server = ADDER_SERVER(.rest_threads = 2, .session_parallelism = 1);
    const int port = hr_server_rest_port(server);
    const char *slow = "{\"instances\": [1000]}", *good = "{\"instances\": [1, 2]}", *bad = "{\"instances\": [-1]}";
    asker first, all[MANY];
    begin_askers(&first, 1, port, &slow);
    uv_sleep(100); /* the only slot is taken */
    const char *bodies[MANY] = {good, good, good, bad, good, good, good, good};
    begin_askers(all, MANY, port, bodies);
    uv_thread_join(&first.thread);
    for (int i = 0; i < MANY; i++) {
        uv_thread_join(&all[i].thread);
        assert_int_equal(all[i].status, i == 3 ? 400 : 200);
    }
    assert_true(adder_most_rows >= 4);
    assert_true(hr_server_stop(server, 5));
}

static void a_full_queue_and_late_answers_have_statuses_of_their_own(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 2, .session_parallelism = 1, .max_queue = 1, .rest_timeout = 0.15,
                                     .no_batching = true);
    const int port = hr_server_rest_port(server);
    const char *slow = "{\"instances\": [1000]}", *good = "{\"instances\": [1]}";
    asker first, second;
    expect_post(port, slow, 200, ""); /* from now on it is known to be slow, and is run outside of the loops */
    begin_askers(&first, 1, port, &slow);
    uv_sleep(80);
    begin_askers(&second, 1, port, &good);
    uv_sleep(60);
    expect_post(port, good, 429, "wait already");
    uv_thread_join(&first.thread);
    uv_thread_join(&second.thread);
    assert_int_equal(second.status, 504);
    assert_true(hr_server_stop(server, 5));
}

static void batches_follow_a_parameters_file(void **state)
{
    (void)state;
    const char *parameters = "max_batch_size { value: 4 }\nbatch_timeout_micros { value: 200000 }\n"
                             "max_enqueued_batches { value: 10 }\nnum_batch_threads { value: 2 }\n"
                             "allowed_batch_sizes: 2\nallowed_batch_sizes: 4\n";
    write_file("batching", parameters, strlen(parameters));
    hr_server *server = ADDER_SERVER(.rest_threads = 2, .batching_parameters_file = "batching");
    const int port = hr_server_rest_port(server);
    const char *bodies[] = {"{\"instances\": [1, 2]}", "{\"instances\": [3]}"};
    asker all[2];
    begin_askers(all, 2, port, bodies);
    for (int i = 0; i < 2; i++) {
        uv_thread_join(&all[i].thread);
        assert_int_equal(all[i].status, 200);
    }
    assert_int_equal(adder_most_rows, 4); /* 3, and one more of padding */
    expect_post(port, "{\"instances\": [1, 2, 3, 4, 5]}", 400, "Task size 5 is larger than maximum input batch size 4");
    assert_true(hr_server_stop(server, 5));
    hr_server *none;
    hr_error err;
    write_file("batching", "allowed_batch_sizes: 3", 22);
    assert_status(hr_server_start(&none, &err, .model_base_path = "/nowhere", .batching_parameters_file = "batching"),
                  HR_INVALID_ARGUMENT);
}

static void requests_under_way_are_answered_at_the_end(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 2);
    const char *slow = "{\"instances\": [1000]}";
    asker first;
    begin_askers(&first, 1, hr_server_rest_port(server), &slow);
    uv_sleep(100);
    assert_true(hr_server_stop(server, 10));
    uv_thread_join(&first.thread);
    assert_int_equal(first.status, 200);
    assert_int_equal(adder_loaded, 0);
}

static void clients_that_leave_disturb_nobody(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 2, .session_parallelism = 1);
    const int port = hr_server_rest_port(server);
    const char *slow = "POST " PREDICT " HTTP/1.1\r\nContent-Length: 21\r\n\r\n{\"instances\": [1000]}";
    for (int i = 0; i < 3; i++) {
        const int fd = client_connect(port);
        client_send(fd, slow, strlen(slow));
        uv_sleep(20);
        close(fd);
    }
    expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    assert_true(hr_server_stop(server, 10));
}

/* On a Unix socket a write to a client that has gone fails at once, with a signal for who does not ward it off. */
static void clients_that_leave_before_their_answer_are_no_signal(void **state)
{
    (void)state;
    const int none = -1;
    hr_server *server = ADDER_SERVER(.rest_threads = 1, .rest_api_port = &none, .rest_socket = "socket");
    static const char health[] = "GET /healthz HTTP/1.1\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    for (int i = 0; i < 50; i++) {
        const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
        client_send(fd, health, sizeof health - 1);
        close(fd);
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    client_send(fd, whole, sizeof whole - 1);
    client_answer a = client_receive(fd, NULL, NULL, false);
    assert_int_equal(a.status, 200);
    client_answer_clear(&a);
    close(fd);
    assert_true(hr_server_stop(server, 5));
    assert_int_equal(access("socket", F_OK), -1);
}

/* ---- versions ---- */

/* Asks again and again, on one connection. The answer must be x + 1 or x + 2. */
static void ask_often(void *user)
{
    asker *a = user;
    const char *request = "POST " PREDICT " HTTP/1.1\r\nContent-Length: 19\r\n\r\n{\"instances\": [10]}";
    int fd = client_connect(a->port);
    while (!*a->stop) {
        client_send(fd, request, strlen(request));
        client_answer answer = client_receive(fd, NULL, NULL, false);
        const char *list = answer.body ? strchr(answer.body, '[') : NULL;
        const double y = list ? atof(list + 1) : 0;
        if (answer.status != 200 || y < (double)a->least || y > (double)a->most) a->failed++;
        a->count++;
        client_answer_clear(&answer);
    }
    close(fd);
}

static void versions_change_under_load_without_a_failed_request(void **state)
{
    (void)state;
    enum { MANY = 3, CHANGES = 6 };
    _Atomic bool stop = false;
    asker all[MANY];
    hr_server *server = ADDER_SERVER(.rest_threads = 2);
    const int port = hr_server_rest_port(server);
    adder_load_ms = 50;
    for (int i = 0; i < MANY; i++) {
        all[i] = (asker){.port = port, .stop = &stop, .least = 11, .most = 11 + CHANGES};
        assert_int_equal(uv_thread_create(&all[i].thread, ask_often, &all[i]), 0);
    }
    for (int v = 2; v <= CHANGES + 1; v++) {
        char target[64], folder[64];
        adder_version("adder", v, (float)v);
        snprintf(target, sizeof target, "/v1/models/adder/versions/%d", v);
        wait_for(port, target, "AVAILABLE");
        snprintf(folder, sizeof folder, "adder/%d", v - 1); /* deleted under it */
        remove_folder(folder);
        snprintf(target, sizeof target, "/v1/models/adder/versions/%d", v - 1);
        wait_for(port, target, "END");
    }
    stop = true;
    for (int i = 0; i < MANY; i++) {
        uv_thread_join(&all[i].thread);
        assert_int_equal(all[i].failed, 0);
        assert_true(all[i].count > 10);
    }
    assert_int_equal(adder_loaded, 1);
    assert_true(hr_server_stop(server, 5));
    assert_int_equal(adder_loaded, 0);
}

static void a_version_that_fails_to_load_is_tried_when_it_changes(void **state)
{
    (void)state;
    const int none = 0;
    hr_server *server = ADDER_SERVER(.rest_threads = 1, .max_num_load_retries = &none);
    const int port = hr_server_rest_port(server);
    adder_version("adder", 2, 2);
    wait_for(port, "/v1/models/adder/versions/2", "AVAILABLE");
    adder_version("adder", 3, 3);
    write_file("adder/3/plus", "none", 4); /* perhaps before it was seen */
    wait_for(port, "/v1/models/adder/versions/3", "\"version\"");
    uv_sleep(300);
    expect_post(port, "{\"instances\": [1]}", 200, "[");
    write_file("adder/3/plus", "30", 2);
    wait_for(port, "/v1/models/adder/versions/3", "AVAILABLE");
    wait_for(port, "/v1/models/adder/versions/2", "END");
    expect_post(port, "{\"instances\": [1]}", 200, "[");
    assert_true(hr_server_stop(server, 5));
}

static void write_config(const char *name, const char *policy, const char *labels)
{
    char folder[4096], text[12000];
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(text, sizeof text,
             "model_config_list { config { name: \"%s\" base_path: \"%s/adder\" model_platform: \"adder\" "
             "model_version_policy { %s } %s } }",
             name, folder, policy, labels);
    write_file("models.new", text, strlen(text));
    assert_int_equal(rename("models.new", "models"), 0);
}

static void configs_are_read_again_and_labels_move(void **state)
{
    (void)state;
    hr_error err;
    adder_version("adder", 2, 2);
    write_config("adder", "all {}", "version_labels { key: \"stable\" value: 1 }");
    hr_server *server =
        ADDER_SERVER(.rest_threads = 1, .model_config_file = "models", .model_config_file_poll_wait_seconds = 0.05,
                     .allow_version_labels_for_unavailable_models = true);
    const int port = hr_server_rest_port(server);
    client_answer a =
        client_ask(port, "POST", "/v1/models/adder/labels/stable:predict", NULL, "{\"instances\": [1]}", 18);
    assert_non_null(strstr(a.body, "[2.0"));
    client_answer_clear(&a);
    write_config("adder", "specific { versions: 2 }", "version_labels { key: \"stable\" value: 2 }");
    wait_for(port, "/v1/models/adder/versions/1", "END");
    a = client_ask(port, "POST", "/v1/models/adder/labels/stable:predict", NULL, "{\"instances\": [1]}", 18);
    assert_non_null(strstr(a.body, "[3.0"));
    client_answer_clear(&a);
    write_file("models", "nonsense {", 10); /* what holds, holds */
    uv_sleep(200);
    expect_post(port, "{\"instances\": [1]}", 200, "[3.0");
    write_config("other", "latest { num_versions: 1 }", "");
    wait_for(port, "/v1/models/other/versions/2", "AVAILABLE");
    wait_for(port, "/v1/models/adder/versions/2", "END");
    expect_post(port, "{\"instances\": [1]}", 404, "Servable not found for request: Latest(adder)");
    assert_not_ok(hr_server_reload(server, "model_config_list { config { name: \"x\" } }", &err));
    assert_true(hr_server_stop(server, 5));
    assert_int_equal(adder_loaded, 0);
}

/* Asks by a label; waits, for a minute at most, until the answer has that part. */
static void wait_for_label(int port, const char *label, const char *part)
{
    char target[100];
    snprintf(target, sizeof target, "/v1/models/adder/labels/%s:predict", label);
    for (int i = 0; i < 6000; i++) {
        client_answer a = client_ask(port, "POST", target, NULL, "{\"instances\": [1]}", 18);
        const bool there = a.body && strstr(a.body, part);
        client_answer_clear(&a);
        if (there) return;
        uv_sleep(10);
    }
    fail_msg("%s: expected that \"%s\" comes", target, part);
}

static void a_config_that_is_away_or_ahead_is_read_again(void **state)
{
    (void)state;
    write_config("adder", "all {}", "");
    hr_server *server =
        ADDER_SERVER(.rest_threads = 1, .model_config_file = "models", .model_config_file_poll_wait_seconds = 0.02);
    const int port = hr_server_rest_port(server);
    assert_int_equal(remove("models"), 0);
    uv_sleep(200); /* several looks */
    expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    write_config("adder", "all {}", "version_labels { key: \"next\" value: 2 }");
    uv_sleep(200);
    wait_for_label(port, "next", "Unrecognized servable version label: next");
    adder_version("adder", 2, 2);
    wait_for_label(port, "next", "[3.0");
    write_config("adder", "specific { versions: 9 }", "");
    wait_for(port, "/v1/models/adder/versions/2", "END");
    write_config("adder", "specific { versions: 1 }", "");
    wait_for(port, "/v1/models/adder/versions/1", "AVAILABLE");
    expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    assert_true(hr_server_stop(server, 5));
}

/* ---- logs ---- */

static void metrics_count_what_was_asked(void **state)
{
    (void)state;
    hr_server *server = ADDER_SERVER(.rest_threads = 1);
    const int port = hr_server_rest_port(server);
    for (int i = 0; i < 3; i++) expect_post(port, "{\"instances\": [1]}", 200, "[2.0");
    expect_post(port, "{\"instances\": [\"x\"]}", 400, "expected type: float");
    char *metrics = hr_server_metrics(server);
    assert_non_null(strstr(metrics, "request_count{model_name=\"adder\",status=\"OK\"} 3\n"));
    assert_non_null(strstr(metrics, "request_count{model_name=\"adder\",status=\"INVALID_ARGUMENT\"} 1\n"));
    assert_non_null(
        strstr(metrics, "request_latency_count{model_name=\"adder\",API=\"predict\",entrypoint=\"REST\"} 3\n"));
    hr_free(metrics);
    assert_true(hr_server_stop(server, 5));
}

/* The one file in the folder that ends so: gives its name (free). */
static char *file_ending(const char *end)
{
    char command[128], name[256] = "";
    snprintf(command, sizeof command, "ls | grep '%s$'", end);
    FILE *f = popen(command, "r");
    if (!f || !fgets(name, sizeof name, f)) name[0] = 0;
    if (f) pclose(f);
    name[strcspn(name, "\n")] = 0;
    return strdup(name);
}

/* Each request of the model is logged. */
static void write_logging_config(void)
{
    char folder[4096], logging[5000];
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(logging, sizeof logging,
             "logging_config { log_collector_config { type: \"tfrecord\" filename_prefix: \"%s/log\" } "
             "sampling_config { sampling_rate: 1 } }",
             folder);
    write_config("adder", "latest { num_versions: 1 }", logging);
}

static void logged_requests_warm_up_a_version(void **state)
{
    (void)state;
    write_logging_config();
    hr_server *server = ADDER_SERVER(.rest_threads = 1, .model_config_file = "models");
    const int port = hr_server_rest_port(server);
    for (int i = 0; i < 5; i++) expect_post(port, "{\"instances\": [4]}", 200, "[5.0");
    expect_post(port, "{\"instances\": [-1]}", 400, "negative"); /* is not logged */
    char *log = file_ending(".tfrecord");
    size_t size;
    char *bytes = read_whole_file(log, &size);
    assert_true(size > 5 * 16);
    /* The next version has it as its warm-up. */
    adder_version("later", 2, 2);
    assert_int_equal(mkdir("later/2/assets.extra", 0777), 0);
    write_file("later/2/assets.extra/tf_serving_warmup_requests", bytes, size);
    const int before = adder_runs;
    assert_int_equal(rename("later/2", "adder/2"), 0);
    wait_for(port, "/v1/models/adder/versions/2", "AVAILABLE");
    assert_int_equal(adder_runs - before, 5 + 2); /* and rows of zeros */
    /* One that is damaged fails the load. */
    bytes[size / 2] ^= 1;
    adder_version("later", 3, 3);
    assert_int_equal(mkdir("later/3/assets.extra", 0777), 0);
    write_file("later/3/assets.extra/tf_serving_warmup_requests", bytes, size);
    assert_int_equal(rename("later/3", "adder/3"), 0);
    wait_for(port, "/v1/models/adder/versions/3", "tf_serving_warmup_requests: record");
    expect_post(port, "{\"instances\": [4]}", 200, "[6.0");
    free(bytes);
    assert_int_equal(unlink(log), 0);
    free(log);
    assert_true(hr_server_stop(server, 5));
}

/* Records of the log, and answers of gRPC, name the model. */
static void a_config_is_read_again_while_answers_are_written(void **state)
{
    (void)state;
    _Atomic bool stop = false;
    hr_error err;
    size_t size;
    write_logging_config();
    char *config = read_whole_file("models", &size);
    assert_non_null(config = realloc(config, size + 1));
    config[size] = 0;
    hr_server *server = ADDER_SERVER(.rest_threads = 1, .model_config_file = "models");
    asker a = {.port = hr_server_rest_port(server), .stop = &stop, .least = 11, .most = 11};
    assert_int_equal(uv_thread_create(&a.thread, ask_often, &a), 0);
    for (int i = 0; i < 200; i++) assert_ok(hr_server_reload(server, config, &err), &err);
    stop = true;
    uv_thread_join(&a.thread);
    assert_int_equal(a.failed, 0);
    assert_true(hr_server_stop(server, 5));
    free(config);
}

#if defined(HR_TEST_GRPC) && !HR__UNDER_TSAN /* which does not see what gRPC's threads do */

/* PredictRequest{model_spec{name "adder"}, inputs{"x": float [2] 1, 2}} */
static const char predict_message[] = "\x0a\x07\x0a\x05"
                                      "adder\x12\x17\x0a\x01x\x12\x12\x08\x01\x12\x04\x12\x02\x08\x02*\x08"
                                      "\x00\x00\x80?\x00\x00\x00@";

static void rpc_thread(void *user)
{
    (void)user;
    char *answer, *text;
    size_t size;
    asker *a = user;
    for (int i = 0; i < a->count; i++) {
        a->status = client_rpc(a->port, "/tensorflow.serving.PredictionService/Predict", predict_message,
                               sizeof predict_message - 1, &answer, &size, &text);
        if (a->status != 0 || size < 20) a->failed++;
        free(answer);
        free(text);
    }
}

static void grpc_and_rest_ask_the_same_model_at_once(void **state)
{
    (void)state;
    const int any = 0;
    _Atomic bool stop = false;
    hr_server *server = ADDER_SERVER(.rest_threads = 2, .port = &any);
    asker rest = {.port = hr_server_rest_port(server), .stop = &stop, .least = 11, .most = 11};
    asker rpc = {.port = hr_server_grpc_port(server), .count = 200};
    assert_int_equal(uv_thread_create(&rest.thread, ask_often, &rest), 0);
    assert_int_equal(uv_thread_create(&rpc.thread, rpc_thread, &rpc), 0);
    uv_thread_join(&rpc.thread);
    stop = true;
    uv_thread_join(&rest.thread);
    assert_int_equal(rest.failed, 0);
    assert_int_equal(rpc.failed, 0);
    char *metrics = hr_server_metrics(server);
    assert_non_null(strstr(metrics, "API=\"Predict\",entrypoint=\"GRPC\"} 200\n"));
    hr_free(metrics);
    client_rpc_end();
    assert_true(hr_server_stop(server, 5));
}

static void grpc_reloads_and_tells_its_health(void **state)
{
    (void)state;
    const int any = 0;
    char folder[4096], request[6000], *answer, *text;
    size_t size;
    assert_non_null(getcwd(folder, sizeof folder));
    hr_server *server = ADDER_SERVER(.rest_threads = 1, .port = &any);
    const int port = hr_server_grpc_port(server);
    assert_int_equal(client_rpc(port, "/grpc.health.v1.Health/Check", "", 0, &answer, &size, &text), 0);
    assert_int_equal(size, 2);
    assert_int_equal(answer[1], 1);
    free(answer);
    free(text);
    assert_int_equal(client_rpc(port, "/grpc.health.v1.Health/Check", "\x0a\x04none", 6, &answer, &size, &text), 5);
    free(answer);
    free(text);
    /* ReloadConfigRequest{config{model_config_list{config{name, base_path, model_platform}}}} */
    char config[4500];
    const int path = snprintf(config, sizeof config, "%s/adder", folder);
    char inner[5000], *at = inner;
    at += sprintf(at,
                  "\x0a\x05other\x12%c%s\x22\x05"
                  "adder",
                  (char)path, config);
    const int length = (int)(at - inner);
    if (length < 120 && path < 128) {
        const int whole =
            sprintf(request, "\x0a%c\x0a%c\x0a%c%s", (char)(length + 4), (char)(length + 2), (char)length, inner);
        assert_int_equal(client_rpc(port, "/tensorflow.serving.ModelService/HandleReloadConfigRequest", request,
                                    (size_t)whole, &answer, &size, &text),
                         0);
        free(answer);
        free(text);
        expect_get(hr_server_rest_port(server), "/v1/models/other", 200, "AVAILABLE");
    }
    client_rpc_end();
    assert_true(hr_server_stop(server, 5));
}

#endif

static void wrong_options_are_refused(void **state)
{
    (void)state;
    hr_server *server;
    hr_error err;
    const int none = -1;
    assert_status(hr_server_start(&server, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_server_start(&server, &err, .model_base_path = "relative"), HR_INVALID_ARGUMENT);
    assert_status(hr_server_start(&server, &err, .model_base_path = "/nowhere", .port = &none), HR_NOT_FOUND);
    assert_string_equal(err.kind, "serve.model");
    assert_status(hr_server_start(&server, &err, .model_base_path = "/tmp", .model_platform = "unknown", .port = &none),
                  HR_INVALID_ARGUMENT);
    assert_status(hr_servable_register(NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_servable_register(&(hr_servable_kind){.head = {99, sizeof(hr_servable_kind)}, .name = "a"}, &err),
                  HR_INVALID_ARGUMENT);
    assert_status(hr_servable_register(&(hr_servable_kind){.head = {HR_SERVABLE_ABI, 16}, .name = "a"}, &err),
                  HR_INVALID_ARGUMENT);
    assert_status(hr_servable_register(&(hr_servable_kind){.head = HR_SERVABLE_HEAD, .name = "a"}, &err),
                  HR_INVALID_ARGUMENT);
    assert_true(hr_server_stop(NULL, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_request_may_come_in_any_pieces, begin),
        cmocka_unit_test_setup(a_request_that_is_cut_off_is_forgotten, begin),
        cmocka_unit_test_setup(pipelined_requests_are_answered_in_order, begin),
        cmocka_unit_test_setup(chunked_bodies_and_old_clients_are_served, begin),
        cmocka_unit_test_setup(what_is_no_http_is_told_so, begin),
        cmocka_unit_test_setup(heads_bodies_and_depths_have_limits, begin),
        cmocka_unit_test_setup(a_small_body_may_not_inflate_to_a_large_one, begin),
        cmocka_unit_test_setup(numbers_for_float16_are_rounded_to_it, begin),
        cmocka_unit_test_setup(slow_clients_are_told_and_idle_ones_closed, begin),
        cmocka_unit_test_setup(more_connections_than_allowed_are_refused, begin),
        cmocka_unit_test_setup(many_idle_connections_cost_little, begin),
        cmocka_unit_test_setup(memory_of_large_requests_goes_back, begin),
        cmocka_unit_test_setup(a_model_that_nobody_asks_rests_once, begin),
        cmocka_unit_test_setup(what_waits_runs_together_and_only_the_guilty_fails, begin),
        cmocka_unit_test_setup(a_full_queue_and_late_answers_have_statuses_of_their_own, begin),
        cmocka_unit_test_setup(batches_follow_a_parameters_file, begin),
        cmocka_unit_test_setup(requests_under_way_are_answered_at_the_end, begin),
        cmocka_unit_test_setup(clients_that_leave_disturb_nobody, begin),
        cmocka_unit_test_setup(clients_that_leave_before_their_answer_are_no_signal, begin),
        cmocka_unit_test_setup(versions_change_under_load_without_a_failed_request, begin),
        cmocka_unit_test_setup(a_version_that_fails_to_load_is_tried_when_it_changes, begin),
        cmocka_unit_test_setup(configs_are_read_again_and_labels_move, begin),
        cmocka_unit_test_setup(a_config_that_is_away_or_ahead_is_read_again, begin),
        cmocka_unit_test_setup(metrics_count_what_was_asked, begin),
        cmocka_unit_test_setup(logged_requests_warm_up_a_version, begin),
        cmocka_unit_test_setup(a_config_is_read_again_while_answers_are_written, begin),
#if defined(HR_TEST_GRPC) && !HR__UNDER_TSAN
        cmocka_unit_test_setup(grpc_and_rest_ask_the_same_model_at_once, begin),
        cmocka_unit_test_setup(grpc_reloads_and_tells_its_health, begin),
#endif
        cmocka_unit_test_setup(wrong_options_are_refused, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
