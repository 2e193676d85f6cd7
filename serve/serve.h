/* Headrace, the server: models behind TensorFlow Serving's REST and gRPC interfaces.
 *
 *     if (hr_server_start(&server, &err, .model_name = "taxi", .model_base_path = "/srv/taxi") != HR_OK) return;
 *     printf("http://127.0.0.1:%d/v1/models/taxi\n", hr_server_rest_port(server));
 *     hr_server_stop(server, 10);
 *
 * A model's folder has a folder for each version, named by its number. New versions are found, loaded and warmed up
 * while the old one answers. The server has threads of its own; handlers of signals are the program's. Default
 * behaviour refuses what TensorFlow Serving changes silently; .tf_compat answers as it does. */
#ifndef HR_SERVE_H
#define HR_SERVE_H

#include <headrace/servable.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_server hr_server;

/* Texts are borrowed for the call. Defaults in brackets. */
typedef struct hr_server_opts {
    size_t struct_size;
    /* ---- models ---- */
    const char *model_name;                      /* [default] */
    const char *model_base_path;                 /* of one model; or */
    const char *model_config_file;               /* of several: a ModelServerConfig as text */
    const char *model_platform;                  /* of the one model: a kind of servable [tensorflow] */
    const char *saved_model_tags;                /* [serve] */
    double model_config_file_poll_wait_seconds;  /* how often the file is read again [never] */
    const double *file_system_poll_wait_seconds; /* how often folders are looked at; 0: once [1] */
    const int *max_num_load_retries;             /* [5] */
    double load_retry_interval;                  /* seconds [60] */
    int num_load_threads;                        /* versions that are loaded at the same time, after the start [1] */
    bool allow_version_labels_for_unavailable_models;
    bool no_warmup;    /* warm-up records are not replayed */
    bool wait_forever; /* models that cannot be loaded do not end the start */
    bool tf_compat;    /* as TensorFlow Serving, also where that loses something silently */
    /* ---- REST ---- */
    const char *host;                        /* an address to listen at, for REST and gRPC [127.0.0.1] */
    const int *rest_api_port;                /* 0: any free one; -1: none [8501] */
    const char *rest_socket;                 /* a Unix socket besides */
    int rest_threads;                        /* loops [processors] */
    double rest_timeout;                     /* seconds of a request [30] */
    bool cors;                               /* Access-Control headers on every answer */
    const char *tls_key, *tls_cert, *tls_ca; /* PEM files: REST by TLS; with tls_ca clients need a certificate */
    const char *api_key;                     /* requests need "Authorization: Bearer KEY"; health does not */
    /* ---- limits ---- */
    int64_t max_body;    /* bytes, also inflated [64 MiB] */
    int max_connections; /* [10000] */
    int max_queue;       /* requests that wait; more get 429 [10000] */
    double head_timeout; /* seconds for a request's head, and for each MiB of its body [10] */
    double idle_timeout; /* seconds between requests [75] */
    /* ---- gRPC, where it was built in ---- */
    const int *port;             /* 0: any free one; -1: none [8500] */
    const char *grpc_socket;     /* a Unix socket besides */
    const char *ssl_config_file; /* SSLConfig as text, as TensorFlow Serving's */
    int grpc_threads;            /* [processors] */
    /* ---- batching: rows of requests that wait run together ---- */
    bool no_batching;                     /* each request runs alone */
    const char *batching_parameters_file; /* TensorFlow Serving's batching, by its file */
    int session_parallelism;              /* runs at a time, of all models [processors] */
    /* ---- what it tells ---- */
    const char *monitoring_config_file; /* where metrics are [/monitoring/prometheus/metrics] */
    const char *access_log;             /* a file that gets a line of JSON a request; "-": hr_log_message gets it */
} hr_server_opts;

/* Starts a server, and returns when its models answer: gives *server. HR_NOT_FOUND, "serve.model": a model without a
 * version; HR_INVALID_ARGUMENT, "serve.config": a config that is wrong; HR_UNAVAILABLE, "serve.listen": an address that
 * cannot be listened at; HR_UNIMPLEMENTED, "serve.built": TLS was left out of this build. Else it fails as the load of
 * a model does. */
HR_API hr_status hr_server_start_with(hr_server **server, hr_error *err, const hr_server_opts *opts);
#define hr_server_start(...)                                                                                           \
    HR_CALL2_(hr_server_start_with, hr_server_opts, __VA_ARGS__, .struct_size = sizeof(hr_server_opts))

/* Stops it: new requests are refused, those under way are answered, for `seconds` at most; then frees it. False: some
 * were cut off. NULL: nothing. */
HR_API bool hr_server_stop(hr_server *server, double seconds);

HR_API int hr_server_rest_port(const hr_server *server); /* -1: none */
HR_API int hr_server_grpc_port(const hr_server *server); /* -1: none */
HR_API bool hr_server_has_grpc(void);                    /* whether it was built in */
HR_API bool hr_server_has_tls(void);                     /* the same */

/* Replaces the models by those of a ModelServerConfig, as text, as HandleReloadConfigRequest does; returns when the new
 * ones are available. Any thread. Fails as hr_server_start. */
HR_API hr_status hr_server_reload(hr_server *server, const char *config, hr_error *err);

/* Gives the metrics in Prometheus' format: hr_free it; NULL: no memory. Any thread. */
HR_API char *hr_server_metrics(hr_server *server);

#ifdef __cplusplus
}
#endif
#endif
