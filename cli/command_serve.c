/* headrace serve: models behind TensorFlow Serving's REST and gRPC, until a signal ends it. */
#include "cli/command.h"

#ifdef HR_HAVE_SERVE
#include <dlfcn.h>
#include <headrace/op_library.h>
#include <headrace/serve.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>
#include <time.h>
#include <unistd.h>
#endif

static const flag flags[] = {
    {FLAG_TEXT, "model_name", 0, "NAME", "the name of the one model; default \"default\""},
    {FLAG_TEXT, "model_base_path", 0, "DIR", "its folder, with a folder for each version, named by its number"},
    {FLAG_TEXT, "model_platform", 0, "NAME", "its kind of servable; default tensorflow: SavedModels"},
    {FLAG_TEXT, "model_config_file", 0, "FILE", "several models: a ModelServerConfig in protobuf's text"},
    {FLAG_TEXT, "model_config_file_poll_wait_seconds", 0, "SECONDS", "read it again every so often; default never"},
    {FLAG_TEXT, "file_system_poll_wait_seconds", 0, "SECONDS",
     "look for new versions every so often; 0: only once; default 1"},
    {FLAG_NUMBER, "max_num_load_retries", 0, "N", "how often a load that failed is tried again; default 5"},
    {FLAG_NUMBER, "load_retry_interval_micros", 0, "N", "how long after it; default 60000000"},
    {FLAG_COUNT, "num_load_threads", 0, "N", "versions that are loaded at the same time; default 1"},
    {FLAG_TEXT, "saved_model_tags", 0, "TAGS", "which graph of a SavedModel; default serve"},
    {FLAG_SWITCH, "allow_version_labels_for_unavailable_models", 0, NULL,
     "labels may name versions that are not available yet"},
    {FLAG_TEXT, "enable_model_warmup", 0, "BOOL", "false: warm-up records are not replayed; default true"},
    {FLAG_REPEATED, "servable", 0, "FILE", "a plug-in with a kind of servable: a shared library"},
    {FLAG_REPEATED, "op_library", 0, "FILE", "a library of ops of your own, for models that have some"},
    {FLAG_TEXT, "host", 0, "ADDRESS", "listen here; 0.0.0.0: on all interfaces; default 127.0.0.1"},
    {FLAG_NUMBER, "rest_api_port", 0, "PORT", "REST; 0: any free port; default 8501"},
    {FLAG_SWITCH, "no_rest", 0, NULL, "no REST"},
    {FLAG_TEXT, "rest_socket", 0, "OUT", "REST on a Unix socket, too"},
    {FLAG_COUNT, "rest_api_num_threads", 0, "N", "threads of REST; default: processors"},
    {FLAG_COUNT, "rest_api_timeout_in_ms", 0, "N", "how long a request may take; default 30000"},
    {FLAG_SWITCH, "rest_api_enable_cors_support", 0, NULL, "answers may be read by pages of other sites"},
    {FLAG_TEXT, "tls_key", 0, "FILE", "REST by TLS: the key, PEM"},
    {FLAG_TEXT, "tls_cert", 0, "FILE", "and its certificate"},
    {FLAG_TEXT, "tls_ca", 0, "FILE", "clients need a certificate of these"},
    {FLAG_TEXT, "api_key_file", 0, "FILE", "requests need Authorization: Bearer KEY, with the first line of this file"},
    {FLAG_NUMBER, "port", 0, "PORT", "gRPC; 0: any free port; default 8500"},
    {FLAG_SWITCH, "no_grpc", 0, NULL, "no gRPC"},
    {FLAG_TEXT, "grpc_socket_path", 0, "OUT", "gRPC on a Unix socket, too"},
    {FLAG_COUNT, "grpc_max_threads", 0, "N", "threads of gRPC; default: processors"},
    {FLAG_TEXT, "ssl_config_file", 0, "FILE", "gRPC by TLS: an SSLConfig in protobuf's text"},
    {FLAG_BYTES, "max_body", 0, "SIZE", "a larger body of a request is refused; default 64M"},
    {FLAG_COUNT, "max_connections", 0, "N", "further ones are refused; default 10000"},
    {FLAG_COUNT, "max_queue", 0, "N", "when so many requests wait, further ones get 429; default 10000"},
    {FLAG_TEXT, "head_timeout", 0, "SECONDS", "for a request's head, and each MiB of its body; default 10"},
    {FLAG_TEXT, "idle_timeout", 0, "SECONDS", "between two requests of a connection; default 75"},
    {FLAG_TEXT, "drain_timeout", 0, "SECONDS", "at the end, for the requests under way; default 30"},
    {FLAG_TEXT, "enable_batching", 0, "BOOL", "false: each request runs alone; default true"},
    {FLAG_TEXT, "batching_parameters_file", 0, "FILE", "batches as TensorFlow Serving's: BatchingParameters in text"},
    {FLAG_NUMBER, "tensorflow_session_parallelism", 0, "N", "runs at a time; default: processors"},
    {FLAG_TEXT, "monitoring_config_file", 0, "FILE", "where metrics are: a MonitoringConfig in protobuf's text"},
    {FLAG_TEXT, "access_log", 0, "OUT", "a line of JSON a request; \"-\": on standard error"},
    {FLAG_SWITCH, "tf_compat", 0, NULL, "answer as TensorFlow Serving, also where that loses something silently"},
    {FLAG_TEXT, "port_file", 0, "OUT", "write the ports there, once they are listened at: a line of JSON"},
    {FLAG_SWITCH, "quiet", 'q', NULL, "say nothing but errors"},
    {FLAG_NUMBER, "num_unload_threads", 0, "N", "without effect, as are the following"},
    {FLAG_NUMBER, "tensorflow_intra_op_parallelism", 0, "N", ""},
    {FLAG_NUMBER, "tensorflow_inter_op_parallelism", 0, "N", ""},
    {FLAG_TEXT, "tensorflow_session_config_file", 0, "FILE", ""},
    {FLAG_TEXT, "per_process_gpu_memory_fraction", 0, "F", ""},
    {FLAG_TEXT, "grpc_channel_arguments", 0, "ARGS", ""},
    {FLAG_TEXT, "enable_grpc_healthcheck_service", 0, "BOOL", ""},
    {FLAG_NUMBER, "num_request_iterations_for_warmup", 0, "N", ""},
    {0},
};

#ifdef HR_HAVE_SERVE

static int read_seconds(const command_call *call, const char *name, double *out)
{
    char *end;
    const char *text = flag_text(call, name);
    if (!text) return 0;
    *out = strtod(text, &end);
    if (*text && !*end && *out >= 0) return 0;
    return usage_error(call, "--%s: expected a number of seconds from 0 on, found \"%s\"", name, text);
}

static int read_bool(const command_call *call, const char *name, bool *out)
{
    const char *text = flag_text(call, name);
    if (!text) return 0;
    *out = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (*out || strcmp(text, "false") == 0 || strcmp(text, "0") == 0) return 0;
    return usage_error(call, "--%s: expected true or false, found \"%s\"", name, text);
}

static void warn_without_effect(const command_call *call)
{
    static const char *const names[] = {"num_unload_threads",
                                        "tensorflow_intra_op_parallelism",
                                        "tensorflow_inter_op_parallelism",
                                        "tensorflow_session_config_file",
                                        "per_process_gpu_memory_fraction",
                                        "grpc_channel_arguments",
                                        "enable_grpc_healthcheck_service",
                                        "num_request_iterations_for_warmup"};
    const char *between = "headrace serve: without effect here: --";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!flag_given(call, names[i])) continue;
        fprintf(stderr, "%s%s", between, names[i]);
        between = ", --";
    }
    if (between[0] == ',') fprintf(stderr, "\n");
}

/* ---- plug-ins ---- */

static hr_status load_plugin(const char *file, hr_error *err)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL); /* stays until the end */
    void *found = library ? dlsym(library, HR_SERVABLE_PLUGIN) : NULL;
    hr_servable_plugin_fn *plugin;
    if (!found) return hr_fail(err, HR_NOT_FOUND, "cli.plugin", "%s: %s", file, dlerror());
    memcpy(&plugin, &found, sizeof plugin);
    return hr_servable_register(plugin(), err);
}

static hr_status load_plugins(const command_call *call, hr_error *err)
{
    for (int i = 0; i < flag_count(call, "op_library"); i++)
        HR_TRY(hr_load_op_library(flag_nth(call, "op_library", i), err));
    for (int i = 0; i < flag_count(call, "servable"); i++) HR_TRY(load_plugin(flag_nth(call, "servable", i), err));
    return HR_OK;
}

/* ---- options ---- */

typedef struct serve_flags {
    hr_server_opts opts;
    double file_poll, drain;
    int retries, rest_port, grpc_port;
    char key[512];
    char base[4096];
} serve_flags;

static hr_status read_key(const command_call *call, serve_flags *s, hr_error *err)
{
    const char *file = flag_text(call, "api_key_file");
    if (!file) return HR_OK;
    FILE *f = fopen(file, "r");
    const bool read = f && fgets(s->key, sizeof s->key, f);
    if (f) fclose(f);
    s->key[strcspn(s->key, "\r\n")] = 0;
    s->opts.api_key = s->key;
    return read && s->key[0] ? HR_OK
                             : hr_fail(err, HR_NOT_FOUND, "cli.key", "%s: expected a key in its first line", file);
}

/* A relative path is meant from here. */
static const char *absolute(const char *path, char *to, size_t size)
{
    char here[2048];
    if (!path || path[0] == '/' || !getcwd(here, sizeof here)) return path;
    return snprintf(to, size, "%s/%s", here, path) < (int)size ? to : path;
}

static void take_texts(const command_call *call, serve_flags *s)
{
    hr_server_opts *o = &s->opts;
    o->model_name = flag_text(call, "model_name");
    o->model_base_path = absolute(flag_text(call, "model_base_path"), s->base, sizeof s->base);
    o->model_platform = flag_text(call, "model_platform");
    o->model_config_file = flag_text(call, "model_config_file");
    o->saved_model_tags = flag_text(call, "saved_model_tags");
    o->host = flag_text(call, "host");
    o->rest_socket = flag_text(call, "rest_socket");
    o->tls_key = flag_text(call, "tls_key");
    o->tls_cert = flag_text(call, "tls_cert");
    o->tls_ca = flag_text(call, "tls_ca");
    o->grpc_socket = flag_text(call, "grpc_socket_path");
    o->ssl_config_file = flag_text(call, "ssl_config_file");
    o->batching_parameters_file = flag_text(call, "batching_parameters_file");
    o->monitoring_config_file = flag_text(call, "monitoring_config_file");
    o->access_log = flag_text(call, "access_log");
}

static void take_numbers(const command_call *call, serve_flags *s)
{
    hr_server_opts *o = &s->opts;
    s->retries = (int)flag_number(call, "max_num_load_retries", 5);
    s->rest_port = flag_given(call, "no_rest") ? -1 : (int)flag_number(call, "rest_api_port", 8501);
    s->grpc_port = flag_given(call, "no_grpc") ? -1 : (int)flag_number(call, "port", 8500);
    if (!hr_server_has_grpc() && !flag_given(call, "port")) s->grpc_port = -1;
    o->max_num_load_retries = &s->retries;
    o->rest_api_port = &s->rest_port;
    o->port = &s->grpc_port;
    o->load_retry_interval = (double)flag_number(call, "load_retry_interval_micros", 60000000) * 1e-6;
    o->num_load_threads = (int)flag_number(call, "num_load_threads", 0);
    o->rest_threads = (int)flag_number(call, "rest_api_num_threads", 0);
    o->rest_timeout = (double)flag_number(call, "rest_api_timeout_in_ms", 30000) * 1e-3;
    o->grpc_threads = (int)flag_number(call, "grpc_max_threads", 0);
    o->max_body = flag_number(call, "max_body", 0);
    o->max_connections = (int)flag_number(call, "max_connections", 0);
    o->max_queue = (int)flag_number(call, "max_queue", 0);
    o->session_parallelism = (int)flag_number(call, "tensorflow_session_parallelism", 0);
    o->allow_version_labels_for_unavailable_models = flag_given(call, "allow_version_labels_for_unavailable_models");
    o->cors = flag_given(call, "rest_api_enable_cors_support");
    o->tf_compat = flag_given(call, "tf_compat");
}

static int take_flags(const command_call *call, serve_flags *s)
{
    hr_server_opts *o = &s->opts;
    bool warmup = true, batching = true;
    o->struct_size = sizeof *o;
    s->file_poll = 1;
    s->drain = 30;
    take_texts(call, s);
    take_numbers(call, s);
    int code = read_seconds(call, "file_system_poll_wait_seconds", &s->file_poll);
    if (code == 0)
        code = read_seconds(call, "model_config_file_poll_wait_seconds", &o->model_config_file_poll_wait_seconds);
    if (code == 0) code = read_seconds(call, "head_timeout", &o->head_timeout);
    if (code == 0) code = read_seconds(call, "idle_timeout", &o->idle_timeout);
    if (code == 0) code = read_seconds(call, "drain_timeout", &s->drain);
    if (code == 0) code = read_bool(call, "enable_model_warmup", &warmup);
    if (code == 0) code = read_bool(call, "enable_batching", &batching);
    o->file_system_poll_wait_seconds = &s->file_poll;
    o->no_warmup = !warmup;
    o->no_batching = !batching;
    if (code == 0 && !o->model_base_path == !o->model_config_file)
        code = usage_error(call, "expected either --model_base_path or --model_config_file");
    return code;
}

/* ---- the server ---- */

static hr_status tell_ports(const command_call *call, const hr_server *server, const serve_flags *s, hr_error *err)
{
    const char *file = flag_text(call, "port_file");
    const int rest = hr_server_rest_port(server), grpc = hr_server_grpc_port(server);
    if (!flag_given(call, "quiet")) {
        const char *host = s->opts.host ? s->opts.host : "127.0.0.1";
        if (rest >= 0)
            fprintf(stderr, "headrace serve: REST on %s://%s:%d\n", s->opts.tls_cert ? "https" : "http", host, rest);
        if (grpc >= 0) fprintf(stderr, "headrace serve: gRPC on %s:%d\n", host, grpc);
        if (!hr_server_has_grpc()) fprintf(stderr, "headrace serve: this build has no gRPC (libgrpc-dev)\n");
    }
    if (!file) return HR_OK;
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.new", file);
    FILE *f = fopen(temporary, "w");
    bool written = f && fprintf(f, "{\"rest\": %d, \"grpc\": %d}\n", rest, grpc) > 0;
    if (f) written = fclose(f) == 0 && written;
    if (written) written = rename(temporary, file) == 0;
    return written ? HR_OK : hr_fail(err, HR_NOT_FOUND, "cli.ports", "%s: cannot be written", file);
}

/* The C library keeps what was freed, in each thread's arena. Once a second, if much was done since, what lies between
 * blocks in use is given back to the system; the next requests take some hundred pages anew. */
static void give_back_memory(void)
{
#ifdef __GLIBC__
    enum { BUSY = CLOCKS_PER_SEC / 100 };
    static time_t looked;
    static clock_t worked;
    const time_t now = time(NULL);
    if (now == looked) return;
    looked = now;
    if (clock() - worked < BUSY) return;
    malloc_trim(0);
    worked = clock();
#endif
}

static int serve_run(command_call *call)
{
    serve_flags s = {.opts = {0}};
    hr_error err = {0};
    hr_server *server = NULL;
    const int code = take_flags(call, &s);
    if (code != 0) return code;
    if (flag_given(call, "quiet")) hr_set_log(NULL, NULL);
    catch_interrupt();
    interrupt_at_once("serve"); /* until there is something to drain */
    warn_without_effect(call);
    hr_status st = load_plugins(call, &err);
    if (st == HR_OK) st = read_key(call, &s, &err);
    if (st == HR_OK) st = hr_server_start_with(&server, &err, &s.opts);
    interrupt_at_once(NULL);
    if (st == HR_OK) st = tell_ports(call, server, &s, &err);
    while (st == HR_OK && !interrupted()) {
        usleep(20 * 1000);
        give_back_memory();
    }
    const bool whole = hr_server_stop(server, s.drain);
    if (st != HR_OK) return failed(call, &err);
    if (!whole) fprintf(stderr, "headrace serve: some requests were cut off\n");
    return whole ? WORKED : FAILED;
}

#else

static int serve_run(command_call *call)
{
    hr_error err;
    hr_fail(&err, HR_UNIMPLEMENTED, "cli.built",
            "this build has no server; install libhttp-parser-dev and build again");
    return failed(call, &err);
}

#endif

const command command_serve = {
    .name = "serve",
    .arguments = "",
    .summary = "serves models by TensorFlow Serving's REST and gRPC",
    .text =
        "Answers requests for predictions of SavedModels, as tensorflow_model_server does and with its flags. New "
        "versions that appear in a model's folder are loaded, warmed up, and take over without a refused request. "
        "Rows of requests that wait run together. GET / shows a page with the models, /monitoring/prometheus/metrics "
        "the metrics, /healthz and /readyz the health. SIGTERM ends it, after the requests that are under way.",
    .examples =
        "  headrace serve --model_name=taxi --model_base_path=/srv/taxi\n"
        "  curl -d '{\"instances\": [{\"miles\": 2.5}]}' http://127.0.0.1:8501/v1/models/taxi:predict\n"
        "  headrace serve --model_config_file=models.config --host=0.0.0.0 --tls_key=key.pem --tls_cert=cert.pem\n"
        "  headrace serve --model_base_path=/srv/words --model_platform=lookup_table --servable=./lookup_table.so\n",
    .flags = flags,
    .min_arguments = 0,
    .max_arguments = 0,
    .run = serve_run,
};
