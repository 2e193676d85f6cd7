/* The server under a load that does not end: the golden requests of both protocols, in turn, at a constant rate, while
 * versions of one model come and go and the config is read again. Each request gets the status that it got the first
 * time, and nothing grows: memory, descriptors, threads, latency.
 *
 * HEADRACE_LOAD_SECONDS says for how long (scripts/test --full: an hour), HEADRACE_LOAD_RATE how many requests a second
 * each of the three clients sends. */
#include "tests/golden/golden.h"
#include "tests/serve/client.h"
#include "tests/testing.h"
#include <headrace/serve.h>

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

enum { WINDOWS = 15, WARM = 3, MOST_REQUESTS = 1000, RESTS = 2, BUCKETS = 10000 /* of 10 microseconds */ };

/* ---- requests: the golden cases ---- */

typedef struct request {
    const char *name, *method; /* of gRPC; NULL: it is HTTP, and `bytes` has its head */
    hr_view bytes;
    int status; /* that it gets; -1: it was not sent yet */
} request;

typedef struct requests {
    request all[MOST_REQUESTS];
    int count;
    cJSON *cases;
} requests;

static hr_view joined(const char *head, hr_view body)
{
    const size_t size = strlen(head);
    char *both = malloc(size + (size_t)body.size + 1);
    assert_non_null(both);
    memcpy(both, head, size);
    if (body.size) memcpy(both + size, body.data, (size_t)body.size);
    return (hr_view){both, (int64_t)size + body.size};
}

static hr_view http_request(const cJSON *json)
{
    char head[4096];
    const cJSON *header, *hex = golden_get(json, "body_hex");
    const char *text = golden_text(json, "body", "");
    const hr_view body = hex ? golden_hex(hex) : (hr_view){text, (int64_t)strlen(text)};
    int size = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: test\r\nContent-Length: %lld\r\n",
                        golden_text(json, "method", "GET"), golden_text(json, "target", "/"), (long long)body.size);
    cJSON_ArrayForEach(header, golden_get(json, "headers")) size +=
        snprintf(head + size, sizeof head - (size_t)size, "%s: %s\r\n", header->string, header->valuestring);
    snprintf(head + size, sizeof head - (size_t)size, "\r\n");
    const hr_view whole = joined(head, body);
    if (hex) free((char *)(uintptr_t)body.data);
    return whole;
}

/* Adds the requests of one protocol. Reloads would take away the model whose versions change. */
static void add_cases(requests *to, const char *wanted)
{
    const cJSON *json;
    cJSON_ArrayForEach(json, golden_get(to->cases, "cases"))
    {
        const bool rest = strcmp(golden_text(json, "protocol", "rest"), "rest") == 0;
        const char *method = golden_text(json, "method", "");
        if (rest != (strcmp(wanted, "rest") == 0) || strstr(method, "Reload")) continue;
        assert_less(to->count, MOST_REQUESTS - 1);
        to->all[to->count++] = (request){
            .name = golden_text(json, "name", ""),
            .method = rest ? NULL : method,
            .bytes = rest ? http_request(json) : golden_hex(golden_get(json, "request_hex")),
            .status = -1,
        };
    }
}

/* Which asks the model whose versions change. */
static void add_turning(requests *to)
{
    static const char body[] = "{\"examples\": [{\"age\": 28.0}, {\"age\": 40.0, \"job\": \"tech\"}]}";
    char head[128];
    snprintf(head, sizeof head, "POST /v1/models/turning:classify HTTP/1.1\r\nContent-Length: %zu\r\n\r\n",
             sizeof body - 1);
    to->all[to->count++] =
        (request){.name = "turning", .bytes = joined(head, (hr_view){body, sizeof body - 1}), .status = 200};
}

static void requests_read(requests *to, const char *protocol)
{
    size_t size;
    char *text = read_whole_file(GOLDEN_ROOT "/serving/cases.json", &size);
    *to = (requests){.cases = cJSON_ParseWithLength(text, size)};
    free(text);
    assert_non_null(to->cases);
    add_cases(to, protocol);
    if (strcmp(protocol, "rest") == 0) add_turning(to);
    assert_more(to->count, 50);
}

static void requests_clear(requests *r)
{
    for (int i = 0; i < r->count; i++) free((char *)(uintptr_t)r->all[i].bytes.data);
    cJSON_Delete(r->cases);
}

/* ---- clients ---- */

typedef struct client {
    uv_thread_t thread;
    int port, next, fd;
    double rate;
    uint64_t end; /* nanoseconds */
    requests requests;
    int64_t sent, failed;
    char failure[256]; /* the first one */
} client;

static _Atomic uint32_t latency[BUCKETS]; /* of the window, of all clients */

static int ask_http(client *c, const request *r)
{
    client_answer a = {.status = -1};
    if (c->fd < 0) c->fd = client_connect(c->port);
    if (client_send(c->fd, r->bytes.data, (size_t)r->bytes.size)) a = client_receive(c->fd, NULL, NULL, false);
    const int status = a.status;
    const bool ends = a.closes || status < 0 || c->sent % 100 == 99;
    client_answer_clear(&a);
    if (ends) close(c->fd);
    if (ends) c->fd = -1;
    return status;
}

static int ask_grpc(const client *c, const request *r)
{
#ifdef HR_TEST_GRPC
    char *answer, *text;
    size_t size;
    const int status = client_rpc(c->port, r->method, r->bytes.data, (size_t)r->bytes.size, &answer, &size, &text);
    free(answer);
    free(text);
    return status;
#else
    (void)c, (void)r;
    return -1;
#endif
}

static void ask(client *c, request *r)
{
    const uint64_t begin = uv_hrtime();
    const int status = r->method ? ask_grpc(c, r) : ask_http(c, r);
    const uint64_t bucket = (uv_hrtime() - begin) / 10000;
    latency[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    if (r->status < 0) r->status = status;
    if (status != r->status && c->failed++ == 0)
        snprintf(c->failure, sizeof c->failure, "%.100s: first %d, then %d", r->name, r->status, status);
    c->sent++;
}

/* One request after the other, each at its time; one that is late delays the others. */
static void client_run(void *user)
{
    client *c = user;
    uint64_t at = uv_hrtime();
    while (at < c->end) {
        const uint64_t now = uv_hrtime();
        if (at > now) uv_sleep((unsigned)((at - now) / 1000000 + 1));
        ask(c, &c->requests.all[c->next]);
        c->next = (c->next + 1) % c->requests.count;
        at += (uint64_t)(1e9 / c->rate);
        if (at < now) at = now;
    }
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

/* ---- the model whose versions change ---- */

static void copy_version(int number)
{
    char command[4096];
    snprintf(command, sizeof command,
             "mkdir -p turning && cp -r '%s'/serving/wide_deep/1700000000 turning/.%d && "
             "mv turning/.%d turning/%d && rm -rf turning/%d",
             GOLDEN_ROOT, number, number, number, number - 2);
    assert_int_equal(system(command), 0);
}

/* Gives the config of the golden cases, with that model. */
static void read_config(char *config, size_t size)
{
    char folder[2048];
    size_t all;
    char *bytes = read_whole_file(GOLDEN_ROOT "/serving/models.config", &all), *text = strndup(bytes, all), *next;
    char *at = strchr(text, '{') + 1;
    assert_non_null(getcwd(folder, sizeof folder));
    int used = snprintf(config, size,
                        "model_config_list { config { name: \"turning\" base_path: \"%s/turning\" "
                        "model_platform: \"tensorflow\" } ",
                        folder);
    for (; (next = strstr(at, "@DIR@")); at = next + 5)
        used += snprintf(config + used, size - (size_t)used, "%.*s%s", (int)(next - at), at, GOLDEN_ROOT "/serving");
    snprintf(config + used, size - (size_t)used, "%s", at);
    free(text);
    free(bytes);
}

/* ---- what may not grow ---- */

typedef struct sample {
    int64_t resident, blocks, median, p99; /* bytes; of our allocator; microseconds */
    int descriptors, threads;
} sample;

static int64_t number_in(const char *path, const char *name)
{
    char line[256];
    int64_t value = -1;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0) value = atoll(line + strlen(name));
    if (f) fclose(f);
    return value;
}

static int64_t latency_share(double share)
{
    uint64_t all = 0, below = 0;
    for (int i = 0; i < BUCKETS; i++) all += latency[i];
    for (int i = 0; i < BUCKETS; i++) {
        below += latency[i];
        if ((double)below >= share * (double)all) return 10 * (i + 1);
    }
    return 0;
}

static sample take_sample(int window)
{
    const sample s = {
        .resident = number_in("/proc/self/status", "VmRSS:") * 1024,
        .blocks = allocations_alive(),
        .median = latency_share(0.5),
        .p99 = latency_share(0.99),
        .descriptors = files_in("/proc/self/fd", true),
        .threads = (int)number_in("/proc/self/status", "Threads:"),
    };
    for (int i = 0; i < BUCKETS; i++) latency[i] = 0;
    print_message("window %2d: resident %6.1f MB, %lld blocks, %d descriptors, %d threads, p50 %lld us, p99 %lld us\n",
                  window, (double)s.resident / 1e6, (long long)s.blocks, s.descriptors, s.threads, (long long)s.median,
                  (long long)s.p99);
    return s;
}

/* The first windows after the warm-up, and the last ones: of each the least of what others on the machine disturb, and
 * the most of what only we hold. */
static void expect_no_growth(const sample *s)
{
    sample first = s[WARM], last = s[WINDOWS - 1];
    for (int i = 1; i < WARM; i++) {
        const sample *a = &s[WARM + i], *b = &s[WINDOWS - 1 - i];
        if (a->resident > first.resident) first.resident = a->resident;
        if (a->blocks > first.blocks) first.blocks = a->blocks;
        if (a->median < first.median) first.median = a->median;
        if (a->descriptors > first.descriptors) first.descriptors = a->descriptors;
        if (a->threads > first.threads) first.threads = a->threads;
        if (b->resident < last.resident) last.resident = b->resident;
        if (b->blocks < last.blocks) last.blocks = b->blocks;
        if (b->median < last.median) last.median = b->median;
        if (b->descriptors < last.descriptors) last.descriptors = b->descriptors;
        if (b->threads < last.threads) last.threads = b->threads;
    }
#if !HR__UNDER_ASAN && !HR__UNDER_TSAN /* which keep what was freed */
    assert_at_most(last.resident, first.resident + (4 << 20));
#endif
    assert_at_most(last.blocks, first.blocks + 1000);
    assert_at_most(last.descriptors, first.descriptors);
    assert_at_most(last.threads, first.threads);
    assert_at_most(last.median, 2 * first.median + 1000);
}

/* ---- the test ---- */

static double asked(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text && atof(text) > 0 ? atof(text) : otherwise;
}

/* Runs the clients for so many seconds, while versions change. */
static void run_window(hr_server *server, client *clients, int count, double seconds, const char *config, int *version)
{
    const double every = seconds < 5 ? seconds : 5; /* a new version */
    const uint64_t begin = uv_hrtime(), end = begin + (uint64_t)(seconds * 1e9);
    hr_error err;
    for (int i = 0; i < count; i++) {
        clients[i].end = end;
        assert_int_equal(uv_thread_create(&clients[i].thread, client_run, &clients[i]), 0);
    }
    for (int turn = 1; uv_hrtime() < end; turn++) {
        copy_version(++*version);
        if (turn % 4 == 1) assert_ok(hr_server_reload(server, config, &err), &err);
        while (uv_hrtime() < end && uv_hrtime() < begin + (uint64_t)(turn * every * 1e9)) uv_sleep(10);
    }
    for (int i = 0; i < count; i++) {
        uv_thread_join(&clients[i].thread);
        if (clients[i].failed) fail_msg("%lld failed, %s", (long long)clients[i].failed, clients[i].failure);
    }
}

static void nothing_grows_under_load(void **state)
{
    (void)state;
    static client clients[RESTS + 1];
    static sample samples[WINDOWS];
    const double seconds = asked("HEADRACE_LOAD_SECONDS", 6), rate = asked("HEADRACE_LOAD_RATE", 333);
    const int any = 0, none = -1, count = hr_server_has_grpc() && !UNDER_TSAN ? RESTS + 1 : RESTS;
    char config[16384];
    int version = 1;
    hr_error err;
    hr_server *server;
    copy_version(version);
    read_config(config, sizeof config);
    write_file("models", config, strlen(config));
    assert_ok(hr_server_start(&server, &err, .model_config_file = "models", .rest_api_port = &any,
                              .port = count > RESTS ? &any : &none,
                              .allow_version_labels_for_unavailable_models = true),
              &err);
    for (int i = 0; i < count; i++) {
        const bool rest = i < RESTS;
        clients[i] = (client){.fd = -1, .rate = rate};
        clients[i].port = rest ? hr_server_rest_port(server) : hr_server_grpc_port(server);
        requests_read(&clients[i].requests, rest ? "rest" : "grpc");
    }
    int64_t sent = 0;
    for (int w = 0; w < WINDOWS; w++) {
        run_window(server, clients, count, seconds / WINDOWS, config, &version);
        uv_sleep(seconds > 60 ? 2000 : 20); /* connections close, old versions go */
        samples[w] = take_sample(w + 1);
    }
    for (int i = 0; i < count; i++) sent += clients[i].sent;
    print_message("%lld requests, %d versions\n", (long long)sent, version);
    expect_no_growth(samples);
#ifdef HR_TEST_GRPC
    client_rpc_end();
#endif
    assert_true(hr_server_stop(server, 10));
    for (int i = 0; i < count; i++) requests_clear(&clients[i].requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_grows_under_load)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
