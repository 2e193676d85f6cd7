/* Configs as TensorFlow Serving's: protobuf's text, or the bytes of a message. */
#include "proto/message.h"
#include "proto/serve.pb-c.h"
#include "serve/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef Headrace__Serve__ModelConfig proto_config;

hr_status hr__serve_file(const char *path, char **text, size_t *size, hr_error *err)
{
    hr__text all = {0};
    char piece[4096];
    size_t got;
    FILE *f = fopen(path, "rb");
    *text = NULL;
    if (!f) return hr_fail(err, HR_NOT_FOUND, "serve.file", "%s: %s", path, strerror(errno));
    while ((got = fread(piece, 1, sizeof piece, f)) > 0 && all.size < 64 << 20) hr__text_bytes(&all, piece, got);
    const bool failed = ferror(f);
    fclose(f);
    *size = all.size;
    *text = failed ? NULL : hr__text_take(&all);
    if (*text) return HR_OK;
    hr__text_free(&all);
    return hr_fail(err, HR_INTERNAL, "serve.file", "%s: cannot be read", path);
}

/* A message of a file's text. */
static hr_status read_message(const char *path, const ProtobufCMessageDescriptor *type, ProtobufCMessage **out,
                              hr_error *err)
{
    char *text;
    size_t size;
    HR_TRY(hr__serve_file(path, &text, &size, err));
    const hr_status st = hr__message_read_text(type, (hr_view){text, (int64_t)size}, out, err);
    hr_free(text);
    if (st != HR_OK) hr_error_prefix(err, "%s: ", path);
    return st;
}

/* ---- models ---- */

void hr__config_clear(hr__model_config *config)
{
    hr_free(config->name);
    hr_free(config->base_path);
    hr_free(config->platform);
    hr_free(config->specific);
    hr_free(config->log_prefix);
    for (int i = 0; i < config->label_count; i++) hr_free(config->labels[i].name);
    hr_free(config->labels);
    *config = (hr__model_config){0};
}

void hr__configs_free(hr__model_config *configs, int count)
{
    for (int i = 0; configs && i < count; i++) hr__config_clear(&configs[i]);
    hr_free(configs);
}

static bool copy_policy(const Headrace__Serve__ServableVersionPolicy *p, hr__model_config *c)
{
    c->policy = HR__LATEST;
    c->latest = 1;
    if (!p) return true;
    if (p->policy_choice_case == HEADRACE__SERVE__SERVABLE_VERSION_POLICY__POLICY_CHOICE_ALL) c->policy = HR__ALL;
    if (p->policy_choice_case == HEADRACE__SERVE__SERVABLE_VERSION_POLICY__POLICY_CHOICE_LATEST &&
        p->latest->num_versions)
        c->latest = p->latest->num_versions;
    if (p->policy_choice_case != HEADRACE__SERVE__SERVABLE_VERSION_POLICY__POLICY_CHOICE_SPECIFIC) return true;
    c->policy = HR__SPECIFIC;
    c->specific_count = (int)p->specific->n_versions;
    c->specific = hr_memdup(p->specific->versions, p->specific->n_versions * sizeof *c->specific);
    return c->specific != NULL || c->specific_count == 0;
}

static bool copy_labels(const proto_config *p, hr__model_config *c)
{
    c->labels = hr_calloc(p->n_version_labels + 1, sizeof *c->labels);
    if (!c->labels) return false;
    for (size_t i = 0; i < p->n_version_labels; i++) {
        hr__label *label = &c->labels[c->label_count++];
        *label = (hr__label){hr_strdup(p->version_labels[i]->key), p->version_labels[i]->value};
        if (!label->name) return false;
    }
    return true;
}

static hr_status copy_logging(const Headrace__Serve__LoggingConfig *p, hr__model_config *c, hr__fault *fault)
{
    if (!p || !p->log_collector_config) return HR_OK;
    if (strcmp(p->log_collector_config->type, "tfrecord") != 0)
        return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                             "model %s: expected the log_collector_config type \"tfrecord\", found \"%s\"", c->name,
                             p->log_collector_config->type);
    const double rate = p->sampling_config ? p->sampling_config->sampling_rate : 0;
    if (!(rate >= 0 && rate <= 1))
        return hr__fault_set(fault, HR_INVALID_ARGUMENT, "model %s: expected a sampling_rate from 0 to 1, found %g",
                             c->name, rate);
    c->log_rate = rate;
    c->log_prefix = hr_strdup(p->log_collector_config->filename_prefix);
    return c->log_prefix ? HR_OK : hr__fault_set(fault, HR_RESOURCE_EXHAUSTED, "no memory for a config");
}

static hr_status copy_config(const proto_config *p, hr__model_config *c, hr__fault *fault)
{
    const char *platform = p->model_platform[0] ? p->model_platform : p->model_type == 1 ? "tensorflow" : "";
    c->name = hr_strdup(p->name);
    c->base_path = hr_strdup(p->base_path);
    c->platform = hr_strdup(platform);
    if (!c->name || !c->base_path || !c->platform || !copy_policy(p->model_version_policy, c) || !copy_labels(p, c))
        return hr__fault_set(fault, HR_RESOURCE_EXHAUSTED, "no memory for a config");
    return copy_logging(p->logging_config, c, fault);
}

static hr_status copy_configs(const Headrace__Serve__ModelServerConfig *p, hr__model_config **configs, int *count,
                              hr__fault *fault)
{
    if (p->config_case != HEADRACE__SERVE__MODEL_SERVER_CONFIG__CONFIG_MODEL_CONFIG_LIST)
        return hr__fault_set(
            fault, HR_INVALID_ARGUMENT,
            "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is "
            "currently supported");
    const Headrace__Serve__ModelConfigList *list = p->model_config_list;
    *configs = hr_calloc(list->n_config + 1, sizeof **configs);
    if (!*configs) return hr__fault_set(fault, HR_RESOURCE_EXHAUSTED, "no memory for a config");
    for (size_t i = 0; i < list->n_config; i++) HR_TRY(copy_config(list->config[i], &(*configs)[(*count)++], fault));
    return HR_OK;
}

hr_status hr__configs_read(hr_view text, bool is_text, hr__model_config **configs, int *count, hr__fault *fault)
{
    const ProtobufCMessageDescriptor *type = &headrace__serve__model_server_config__descriptor;
    ProtobufCMessage *message = NULL;
    hr_error err = {0};
    *configs = NULL;
    *count = 0;
    hr_status st = (is_text ? hr__message_read_text : hr__message_read)(type, text, &message, &err);
    if (st != HR_OK) return hr__fault_error(fault, HR_INVALID_ARGUMENT, &err);
    st = copy_configs((const Headrace__Serve__ModelServerConfig *)(const void *)message, configs, count, fault);
    hr__message_free(message);
    if (st == HR_OK) return HR_OK;
    hr__configs_free(*configs, *count);
    *configs = NULL;
    *count = 0;
    return st;
}

/* ---- batching, monitoring, TLS ---- */

static int64_t wrapped(const Headrace__Serve__Int64Wrapped *value, int64_t otherwise)
{
    return value ? value->value : otherwise;
}

static hr_status batching_of(const Headrace__Serve__BatchingParameters *p, hr__batching *out, hr_error *err)
{
    *out = (hr__batching){
        .given = true,
        .max_batch = wrapped(p->max_batch_size, 1000),
        .timeout_micros = wrapped(p->batch_timeout_micros, 0),
        .max_enqueued = wrapped(p->max_enqueued_batches, 10),
        .threads = wrapped(p->num_batch_threads, 0),
        .pad = p->pad_variable_length_inputs,
        .split = p->enable_large_batch_splitting && p->enable_large_batch_splitting->value,
    };
    if (out->max_batch < 1 || out->timeout_micros < 0 || out->max_enqueued < 1 || out->threads < 0 ||
        out->threads > 1024)
        return hr_fail(err, HR_INVALID_ARGUMENT, "serve.config",
                       "expected max_batch_size and max_enqueued_batches from 1 on, batch_timeout_micros and "
                       "num_batch_threads (to 1024) from 0 on");
    const size_t allowed = p->n_allowed_batch_sizes;
    for (size_t i = 0; i < allowed; i++) {
        const int64_t size = p->allowed_batch_sizes[i], last = i ? p->allowed_batch_sizes[i - 1] : 0;
        if (size <= last || (i + 1 == allowed && !out->split && size != out->max_batch))
            return hr_fail(err, HR_INVALID_ARGUMENT, "serve.config",
                           "expected allowed_batch_sizes that ascend, the last one as max_batch_size, found %lld",
                           (long long)size);
    }
    out->allowed = hr_memdup(p->allowed_batch_sizes, allowed * sizeof *out->allowed);
    out->allowed_count = (int)allowed;
    return out->allowed || !allowed ? HR_OK : hr_no_memory(err, "a config");
}

hr_status hr__batching_read(const char *path, hr__batching *out, hr_error *err)
{
    ProtobufCMessage *message = NULL;
    HR_TRY(read_message(path, &headrace__serve__batching_parameters__descriptor, &message, err));
    const hr_status st = batching_of((const Headrace__Serve__BatchingParameters *)(const void *)message, out, err);
    hr__message_free(message);
    if (st != HR_OK) hr_error_prefix(err, "%s: ", path);
    return st;
}

hr_status hr__monitoring_read(const char *file, char **path, hr_error *err)
{
    ProtobufCMessage *message = NULL;
    HR_TRY(read_message(file, &headrace__serve__monitoring_config__descriptor, &message, err));
    const Headrace__Serve__MonitoringConfig *m = (const void *)message;
    const Headrace__Serve__PrometheusConfig *p = m->prometheus_config;
    const bool enabled = p && p->enable;
    *path = enabled ? hr_strdup(p->path[0] ? p->path : "/monitoring/prometheus/metrics") : NULL;
    hr__message_free(message);
    return *path || !enabled ? HR_OK : hr_no_memory(err, "a config");
}

hr_status hr__ssl_config_read(const char *file, hr__ssl_config *out, hr_error *err)
{
    ProtobufCMessage *message = NULL;
    HR_TRY(read_message(file, &headrace__serve__sslconfig__descriptor, &message, err));
    const Headrace__Serve__SSLConfig *p = (const void *)message;
    *out = (hr__ssl_config){hr_strdup(p->server_key), hr_strdup(p->server_cert), hr_strdup(p->custom_ca),
                            p->client_verify};
    hr__message_free(message);
    return out->key && out->cert && out->ca ? HR_OK : hr_no_memory(err, "a config");
}
