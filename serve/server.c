/* A server: its parts in the order in which they start and end. */
#include "serve/grpc.h"
#include "serve/http.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

/* The options' texts live as long as the server. */
static hr_status keep_texts(hr_server *server, hr_error *err)
{
    hr_server_opts *o = &server->opts;
    const char **const texts[] = {&o->model_name,
                                  &o->model_base_path,
                                  &o->model_config_file,
                                  &o->model_platform,
                                  &o->saved_model_tags,
                                  &o->host,
                                  &o->rest_socket,
                                  &o->tls_key,
                                  &o->tls_cert,
                                  &o->tls_ca,
                                  &o->api_key,
                                  &o->grpc_socket,
                                  &o->ssl_config_file,
                                  &o->batching_parameters_file,
                                  &o->monitoring_config_file,
                                  &o->access_log};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!*texts[i]) continue;
        char *copy = hr_strdup(*texts[i]);
        if (!copy) return hr_no_memory(err, "options");
        *texts[i] = server->texts[server->text_count++] = copy;
    }
    return HR_OK;
}

/* What the pointers of the options point to, too. */
static void keep_numbers(hr_server *server)
{
    hr_server_opts *o = &server->opts;
    if (o->file_system_poll_wait_seconds) {
        server->poll_wait = *o->file_system_poll_wait_seconds;
        o->file_system_poll_wait_seconds = &server->poll_wait;
    }
    const int **const numbers[] = {&o->max_num_load_retries, &o->rest_api_port, &o->port};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!*numbers[i]) continue;
        server->numbers[i] = **numbers[i];
        *numbers[i] = &server->numbers[i];
    }
}

static hr_status check_options(const hr_server_opts *o, hr_error *err)
{
    if (!o->model_base_path == !o->model_config_file)
        return hr_fail(err, HR_INVALID_ARGUMENT, "serve.config",
                       "a server: expected either a model_base_path or a model_config_file");
    if (o->model_base_path && o->model_base_path[0] != '/')
        return hr_fail(err, HR_INVALID_ARGUMENT, "serve.config",
                       "a server: expected an absolute model_base_path, got \"%.200s\"", o->model_base_path);
    if (!o->tls_cert != !o->tls_key)
        return hr_fail(err, HR_INVALID_ARGUMENT, "serve.config", "a server: expected tls_key and tls_cert together");
    return HR_OK;
}

/* ---- models ---- */

static hr_status fault_as_error(hr__fault *fault, const char *kind, hr_error *err)
{
    hr_status st = fault->status;
    if (st != HR_OK) st = hr_fail(err, st, kind, "%s", fault->text.data ? fault->text.data : hr_status_name(st));
    hr__text_free(&fault->text);
    return st;
}

hr_status hr_server_reload(hr_server *server, const char *config, hr_error *err)
{
    hr__fault fault = {0};
    if (!server || !config)
        return hr_fail(err, HR_INVALID_ARGUMENT, "serve.config", "hr_server_reload: expected a config, got NULL");
    hr__server_reload(server, (hr_view){config, (int64_t)strlen(config)}, true, &fault);
    return fault_as_error(&fault, "serve.config", err);
}

static hr_status read_config_file(hr_server *server, char **text, size_t *size, hr_error *err)
{
    return hr__serve_file(server->opts.model_config_file, text, size, err);
}

static hr_status first_models(hr_server *server, hr_error *err)
{
    hr__fault fault = {0};
    const hr_server_opts *o = &server->opts;
    if (o->model_config_file) {
        char *text;
        size_t size;
        HR_TRY(read_config_file(server, &text, &size, err));
        server->config_print = hr_fingerprint64(text, size);
        hr__server_reload(server, (hr_view){text, (int64_t)size}, true, &fault);
        hr_free(text);
        return fault_as_error(&fault, "serve.model", err);
    }
    hr__model_config config = {
        .name = hr_strdup(o->model_name ? o->model_name : "default"),
        .base_path = hr_strdup(o->model_base_path),
        .platform = hr_strdup(o->model_platform ? o->model_platform : "tensorflow"),
        .latest = 1,
    };
    if (config.name && config.base_path && config.platform)
        hr__models_set(server->models, &config, 1, true, &fault);
    else
        hr__fault_set(&fault, HR_RESOURCE_EXHAUSTED, "no memory for a config");
    hr__config_clear(&config);
    return fault_as_error(&fault, "serve.model", err);
}

/* Takes the config if it has changed, and again and again if that fails: a label's version may come later. */
static hr_status look_at_config(hr_server *server, hr_error *err)
{
    char *text;
    size_t size;
    hr__fault fault = {0};
    HR_TRY(read_config_file(server, &text, &size, err));
    const uint64_t print = hr_fingerprint64(text, size);
    hr_status st = HR_OK;
    if (print != server->config_print) {
        hr__server_reload(server, (hr_view){text, (int64_t)size}, true, &fault);
        st = fault_as_error(&fault, "serve.config", err);
        server->config_print = st == HR_OK ? print : 0;
    }
    hr_free(text);
    return st;
}

static void config_thread(void *user)
{
    hr_server *server = user;
    const uint64_t every = (uint64_t)(server->opts.model_config_file_poll_wait_seconds * 1e9);
    hr_error err = {0};
    uint64_t said = 0; /* each trouble is told once */
    uv_mutex_lock(&server->lock);
    while (!server->stop) {
        uv_cond_timedwait(&server->stopped, &server->lock, every);
        if (server->stop) break;
        uv_mutex_unlock(&server->lock);
        const hr_status st = look_at_config(server, &err);
        const uint64_t trouble = st == HR_OK ? 0 : hr_fingerprint64(err.text, strlen(err.text));
        if (trouble && trouble != said) hr_log_message(HR_WARNING, "%s: %s", server->opts.model_config_file, err.text);
        said = trouble;
        uv_mutex_lock(&server->lock);
    }
    uv_mutex_unlock(&server->lock);
}

/* ---- start ---- */

static hr_status start_config_thread(hr_server *server, hr_error *err)
{
    if (!server->opts.model_config_file || server->opts.model_config_file_poll_wait_seconds <= 0) return HR_OK;
    if (uv_thread_create(&server->config_thread, config_thread, server) != 0) return hr_no_memory(err, "a thread");
    server->polls_config = true;
    return HR_OK;
}

static void prepare_grpc(void *server) { hr__grpc_prepare(server); }

/* Both take their time, in threads of their own. */
static hr_status load_models_and_grpc(hr_server *server, hr_error *err)
{
    uv_thread_t loader;
    const bool besides = uv_thread_create(&loader, prepare_grpc, server) == 0;
    const hr_status st = first_models(server, err);
    if (besides) uv_thread_join(&loader);
    return st;
}

static hr_status start_parts(hr_server *server, hr_error *err)
{
    const hr_server_opts *o = &server->opts;
    if (o->batching_parameters_file) HR_TRY(hr__batching_read(o->batching_parameters_file, &server->batching, err));
    if (o->monitoring_config_file) {
        HR_TRY(hr__monitoring_read(o->monitoring_config_file, &server->metrics_path, err));
    } else if (!o->tf_compat) {
        server->metrics_path = hr_strdup("/monitoring/prometheus/metrics");
        if (!server->metrics_path) return hr_no_memory(err, "a path");
    }
    if (o->access_log) HR_TRY(hr__access_open(o->access_log, &server->access, err));
    HR_TRY(hr__pool_new(o, &server->batching, &server->pool, err));
    HR_TRY(hr__models_new(o, &hr__version_calls_of_models, &server->models, err));
    HR_TRY(load_models_and_grpc(server, err));
    HR_TRY(hr__grpc_start(server, &server->grpc, err));
    HR_TRY(hr__loops_start(server, hr__rest_request, hr__rest_finished, &server->loops, err));
    return start_config_thread(server, err);
}

hr_status hr_server_start_with(hr_server **out, hr_error *err, const hr_server_opts *opts)
{
    if (!out) return hr_fail(err, HR_INVALID_ARGUMENT, "serve.config", "hr_server_start: expected a place, got NULL");
    *out = NULL;
    hr_server *server = hr_calloc(1, sizeof *server);
    if (!server) return hr_no_memory(err, "a server");
    server->opts = HR_OPTIONS(hr_server_opts, opts);
    server->started = hr__serve_now();
    uv_mutex_init(&server->lock);
    uv_cond_init(&server->stopped);
    keep_numbers(server);
    hr_status st = keep_texts(server, err);
    if (st == HR_OK) st = check_options(&server->opts, err);
    if (st == HR_OK) st = start_parts(server, err);
    if (st == HR_OK)
        *out = server;
    else
        hr_server_stop(server, 0);
    return st;
}

/* ---- end ---- */

static void end_config_thread(hr_server *server)
{
    uv_mutex_lock(&server->lock);
    server->stop = true;
    uv_cond_broadcast(&server->stopped);
    uv_mutex_unlock(&server->lock);
    if (server->polls_config) uv_thread_join(&server->config_thread);
}

static bool drain(hr_server *server, double seconds)
{
    const uint64_t end = hr__serve_now() + (uint64_t)(seconds * 1e9);
    server->draining = true;
    if (server->loops) hr__loops_drain(server->loops);
    if (server->grpc) hr__grpc_drain(server->grpc);
    while ((server->under_way > 0 || server->connections > 0) && hr__serve_now() < end) uv_sleep(2);
    return server->under_way == 0;
}

bool hr_server_stop(hr_server *server, double seconds)
{
    if (!server) return true;
    hr__models_end(server->models);
    end_config_thread(server);
    const bool whole = drain(server, seconds > 0 ? seconds : 0);
    hr__loops_stop(server->loops);
    hr__grpc_stop(server->grpc);
    hr__pool_free(server->pool);
    hr__loops_free(server->loops);
    hr__grpc_free(server->grpc);
    hr__models_free(server->models);
    hr__access_close(server->access);
    hr_free(server->batching.allowed);
    hr_free(server->metrics_path);
    for (int i = 0; i < server->text_count; i++) hr_free(server->texts[i]);
    uv_cond_destroy(&server->stopped);
    uv_mutex_destroy(&server->lock);
    hr_free(server);
    return whole;
}

int hr_server_rest_port(const hr_server *server) { return server ? hr__loops_port(server->loops) : -1; }
int hr_server_grpc_port(const hr_server *server) { return server ? hr__grpc_port(server->grpc) : -1; }

char *hr_server_metrics(hr_server *server)
{
    hr__text text = {0};
    if (!server) return NULL;
    hr__metrics_text(server, &text);
    return hr__text_take(&text);
}
