/* Metrics in Prometheus' text format, under TensorFlow Serving's names and more of its kind. */
#include "serve/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const api_names[2][HR__APIS] = {{"predict", "classify", "regress", "multi_inference"},
                                                   {"Predict", "Classify", "Regress", "MultiInference"}};

static void head(hr__text *to, const char *name, const char *type)
{
    hr__text_printf(to, "# TYPE %s %s\n", name, type);
}

static void histogram(hr__text *to, const char *name, const char *labels, const hr__histogram *h)
{
    uint64_t count = 0;
    double bound = 10;
    const char *comma = *labels ? "," : "";
    for (int i = 0; i <= HR__BUCKETS; i++, bound *= 1.8) {
        count += h->bucket[i];
        if (i < HR__BUCKETS)
            hr__text_printf(to, "%s_bucket{%s%sle=\"%.6g\"} %" PRIu64 "\n", name, labels, comma, bound, count);
        else
            hr__text_printf(to, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, count);
    }
    hr__text_printf(to, "%s_sum{%s} %" PRIu64 "\n%s_count{%s} %" PRIu64 "\n", name, labels, (uint64_t)h->sum, name,
                    labels, count);
}

static uint64_t histogram_count(const hr__histogram *h)
{
    uint64_t count = 0;
    for (int i = 0; i <= HR__BUCKETS; i++) count += h->bucket[i];
    return count;
}

/* A label's value: " and \ and ends of lines are escaped. */
static void quoted(const char *value, char *out, size_t size)
{
    size_t at = 0;
    for (; *value && at + 3 < size; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n') out[at++] = '\\';
        out[at++] = *value == '\n' ? 'n' : *value;
    }
    out[at] = 0;
}

static void requests(const hr__model *m, void *to)
{
    char name[300];
    quoted(m->name, name, sizeof name);
    for (int code = 0; code < 16; code++) {
        const uint64_t count = m->requests[0][code] + m->requests[1][code];
        if (count)
            hr__text_printf(to, ":tensorflow:serving:request_count{model_name=\"%s\",status=\"%s\"} %" PRIu64 "\n",
                            name, hr__status_code((hr_status)-code), count);
    }
}

static void latencies(const hr__model *m, void *to)
{
    char name[300], labels[400];
    quoted(m->name, name, sizeof name);
    for (int entry = 0; entry < 2; entry++)
        for (int api = 0; api < HR__APIS; api++) {
            if (!histogram_count(&m->latency[entry][api])) continue;
            snprintf(labels, sizeof labels, "model_name=\"%s\",API=\"%s\",entrypoint=\"%s\"", name,
                     api_names[entry][api], entry ? "GRPC" : "REST");
            histogram(to, ":tensorflow:serving:request_latency", labels, &m->latency[entry][api]);
        }
}

static void runtimes(const hr__model *m, void *to)
{
    char name[300], labels[400];
    quoted(m->name, name, sizeof name);
    if (!histogram_count(&m->runtime)) return;
    snprintf(labels, sizeof labels, "model_name=\"%s\",API=\"all\",runtime=\"headrace\"", name);
    histogram(to, ":tensorflow:serving:runtime_latency", labels, &m->runtime);
}

static void examples(const hr__model *m, void *to)
{
    char name[300];
    quoted(m->name, name, sizeof name);
    hr__text_printf(to, ":tensorflow:serving:request_example_count_total{model=\"%s\"} %" PRIu64 "\n", name,
                    (uint64_t)m->examples);
}

static void logged(const hr__model *m, void *to)
{
    char name[300];
    quoted(m->name, name, sizeof name);
    if (m->logged)
        hr__text_printf(to, ":tensorflow:serving:request_log_count{model_name=\"%s\",status=\"OK\"} %" PRIu64 "\n",
                        name, (uint64_t)m->logged);
}

static void states(const hr__model *m, void *to)
{
    char name[300];
    quoted(m->name, name, sizeof name);
    for (const hr__version *v = m->versions; v; v = v->next)
        hr__text_printf(to, ":headrace:serving:version_state{model_name=\"%s\",version=\"%lld\"} %d\n", name,
                        (long long)v->number, (int)v->state);
}

static void loads(const hr__model *m, void *to)
{
    char name[300];
    quoted(m->name, name, sizeof name);
    for (const hr__version *v = m->versions; v; v = v->next)
        if (v->state == HR__AVAILABLE)
            hr__text_printf(to, ":headrace:serving:load_seconds{model_name=\"%s\",version=\"%lld\"} %.6f\n", name,
                            (long long)v->number, v->load_seconds);
}

static void number(hr__text *to, const char *name, const char *type, uint64_t value)
{
    head(to, name, type);
    hr__text_printf(to, "%s %" PRIu64 "\n", name, value);
}

void hr__metrics_text(hr_server *server, hr__text *to)
{
    static const struct {
        const char *name, *type;
        hr__model_fn *fn;
    } models[] = {
        {":tensorflow:serving:request_count", "counter", requests},
        {":tensorflow:serving:request_latency", "histogram", latencies},
        {":tensorflow:serving:runtime_latency", "histogram", runtimes},
        {":tensorflow:serving:request_example_count_total", "counter", examples},
        {":tensorflow:serving:request_log_count", "counter", logged},
        {":headrace:serving:version_state", "gauge", states},
        {":headrace:serving:load_seconds", "gauge", loads},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        head(to, models[i].name, models[i].type);
        hr__models_each(server->models, models[i].fn, to);
    }
    const hr__pool_stats *pool = hr__pool_stats_of(server->pool);
    head(to, ":tensorflow:serving:batching_session:queuing_latency", "histogram");
    histogram(to, ":tensorflow:serving:batching_session:queuing_latency", "", &pool->waited);
    head(to, ":tensorflow:serving:batching_session:processed_batch_size", "histogram");
    histogram(to, ":tensorflow:serving:batching_session:processed_batch_size", "", &pool->batch);
    number(to, ":tensorflow:serving:batching_session:wrapped_run_count", "counter", pool->runs);
    number(to, ":tensorflow:serving:batching_session:padding_size_total", "counter", pool->padding);
    number(to, ":headrace:serving:batched_requests", "counter", pool->tasks);
    number(to, ":headrace:serving:queue", "gauge", (uint64_t)(pool->queued > 0 ? pool->queued : 0));
    number(to, ":headrace:serving:requests_under_way", "gauge",
           (uint64_t)(server->under_way > 0 ? server->under_way : 0));
    number(to, ":headrace:serving:connections", "gauge", (uint64_t)(server->connections > 0 ? server->connections : 0));
    number(to, ":headrace:serving:refused", "counter", server->refused);
    number(to, ":headrace:serving:bytes_in", "counter", server->bytes_in);
    number(to, ":headrace:serving:bytes_out", "counter", server->bytes_out);
}
