/* What the files of the server share. Not a public header. */
#ifndef HR_SERVE_INTERNAL_H
#define HR_SERVE_INTERNAL_H

#include "base/text.h"
#include "serve/serve.h"
#include <stdatomic.h>
#include <uv.h>

/* ---- what a client is told when a request fails ---- */

/* A status with a text of any length. Begin with {0}; hr__text_free the text. */
typedef struct hr__fault {
    hr_status status;
    hr__text text;
} hr__fault;

/* Sets it, and returns `status`. */
hr_status hr__fault_set(hr__fault *fault, hr_status status, const char *format, ...) HR_PRINTF(3, 4);
hr_status hr__fault_error(hr__fault *fault, hr_status status, const hr_error *err);
const char *hr__status_code(hr_status status); /* "INVALID_ARGUMENT", "OK" */

/* ---- memory of a request ---- */

/* Pieces that are freed together. Begin with {0}. */
typedef struct hr__pool_memory {
    struct hr__memory_block *blocks;
    char *at, *end;
} hr__pool_memory;

void *hr__memory_take(hr__pool_memory *memory, size_t size); /* aligned to 16; NULL: no memory */
void hr__memory_free(hr__pool_memory *memory);

/* A TensorProto of just a type, a shape and string_val: gives *out, whose strings are views into `message`. False: it is
 * another one, or there is no memory; hr_tensor_import says what it is. */
bool hr__borrow_strings(hr_view message, hr__pool_memory *memory, hr_tensor *out);

uint64_t hr__serve_now(void); /* nanoseconds, monotonic */
/* For each thread that writes to clients or pipes: one that has gone is an error of the write, and no signal. */
void hr__no_broken_pipes(void);

/* ---- metrics ---- */

enum { HR__BUCKETS = 33 };

/* Bounds of 10 * 1.8^i microseconds, as TensorFlow Serving's. */
typedef struct hr__histogram {
    _Atomic uint64_t bucket[HR__BUCKETS + 1], sum; /* of microseconds */
} hr__histogram;

void hr__histogram_add(hr__histogram *h, uint64_t microseconds);
/* The bound under which that share of the values lies, in microseconds; 0: none were added. */
double hr__histogram_share(const hr__histogram *h, double share);

typedef enum hr__api { HR__API_PREDICT, HR__API_CLASSIFY, HR__API_REGRESS, HR__API_MULTI, HR__APIS } hr__api;

/* ---- models ---- */

/* TensorFlow Serving's numbers. */
typedef enum hr__version_state {
    HR__START = 10,
    HR__LOADING = 20,
    HR__AVAILABLE = 30,
    HR__UNLOADING = 40,
    HR__ENDED = 50,
} hr__version_state;

/* A signature as requests see it: its inputs and outputs in the order of their names. */
typedef struct hr__signature {
    const hr_meta_signature *said;
    int number;                      /* within the model */
    int *inputs, *outputs;           /* their numbers, by their names */
    bool by_rows;                    /* the first dimension of all inputs and outputs is unknown */
    _Atomic uint64_t cost, row_cost; /* nanoseconds of a run, of a row; 0: none yet */
} hr__signature;

typedef struct hr__model hr__model;
typedef struct hr__version {
    hr__model *model;
    struct hr__version *next; /* of the model, the highest number first */
    int64_t number;
    char *path;     /* of its folder */
    uint64_t print; /* of its files, as they were when it was found */
    bool wanted;    /* by the policy */
    bool stale;     /* of a folder that the model had before */
    const hr_servable_kind *kind;
    void *loaded;
    hr__signature *signatures; /* by their names */
    int signature_count;
    hr__version_state state; /* under the lock of all models, as what follows */
    hr_status status;
    char error[512];
    int holders;              /* requests that use it */
    bool asked, idle, rested; /* since the last look; not for as long as it took; and has given its memory back since */
    int tries;
    uint64_t again; /* when it is tried again */
    double load_seconds;
    bool busy; /* a thread loads or unloads it */
} hr__version;

typedef struct hr__label {
    char *name;
    int64_t version;
} hr__label;

typedef enum hr__policy { HR__LATEST, HR__ALL, HR__SPECIFIC } hr__policy;

/* A model as a config says it. */
typedef struct hr__model_config {
    char *name, *base_path, *platform;
    hr__policy policy;
    int64_t latest;
    int64_t *specific;
    int specific_count;
    hr__label *labels;
    int label_count;
    char *log_prefix; /* of request logs; NULL: none */
    double log_rate;
} hr__model_config;

typedef struct hr__request_log hr__request_log;

struct hr__model {
    struct hr__models *models;
    struct hr__model *next;
    char *name;              /* stays, while the config may be another one: for all to read */
    hr__model_config config; /* under the lock */
    hr__version *versions;   /* the highest number first, those that ended too */
    bool wanted;             /* the config has it */
    bool looked;             /* its folder was looked at */
    struct hr__found *found; /* what was there when it was looked at last */
    int found_count;
    char trouble[512]; /* what was wrong with its folder, last; "": nothing */
    hr__label *labels; /* those that hold */
    int label_count;
    _Atomic(hr__request_log *) log;
    /* Counters. */
    _Atomic uint64_t requests[2][18];            /* failed or not, by the number of the status */
    hr__histogram latency[2][HR__APIS], runtime; /* REST, gRPC */
    _Atomic uint64_t examples, example_requests, logged;
    hr__histogram warmup;
};

typedef struct hr__models hr__models;

/* What a request asks for. */
typedef struct hr__model_spec {
    hr_view name;
    bool has_version, has_label;
    int64_t version;
    hr_view label;
    hr_view signature; /* "": the default */
} hr__model_spec;

/* Gives *version, held until hr__version_release. */
hr_status hr__models_hold(hr__models *models, const hr__model_spec *spec, hr__version **version, hr__fault *fault);
void hr__version_release(hr__version *version);
/* NULL: there is none of that name; "" is serving_default. */
hr__signature *hr__version_signature(const hr__version *version, hr_view name);

/* How a version is loaded and warmed up; after a failure nothing is loaded. No lock is held. */
typedef struct hr__version_calls {
    hr_status (*load)(hr__version *version, const hr_server_opts *opts, hr_error *err);
    void (*unload)(hr__version *version);
} hr__version_calls;
extern const hr__version_calls hr__version_calls_of_models;
/* Starts the thread that looks after the models; `opts` and `calls` are borrowed until hr__models_free. */
hr_status hr__models_new(const hr_server_opts *opts, const hr__version_calls *calls, hr__models **out, hr_error *err);
/* Sets what is to be served, and waits until it is (`wait`). Takes what is in the configs, and leaves them empty. */
hr_status hr__models_set(hr__models *models, hr__model_config *configs, int count, bool wait, hr__fault *fault);
void hr__models_end(hr__models *models);   /* who waits for versions is told that the server ends. NULL: nothing */
void hr__models_free(hr__models *models);  /* no request is under way */
bool hr__models_ready(hr__models *models); /* each has an available version */

/* Goes through all models and their versions, under the lock. */
typedef void hr__model_fn(const hr__model *model, void *user);
void hr__models_each(hr__models *models, hr__model_fn *fn, void *user);
/* The status of one version, copied. */
typedef struct hr__version_status {
    int64_t version;
    hr__version_state state;
    hr_status code;
    char error[512];
} hr__version_status;
/* Gives *out (hr_free it), the highest first: of one version, or all. */
hr_status hr__models_status(hr__models *models, const hr__model_spec *spec, hr__version_status **out, int *count,
                            hr__fault *fault);

/* ---- configs ---- */

/* Reads a ModelServerConfig, as text or as the bytes of a message. Gives *configs (hr__configs_free). */
hr_status hr__configs_read(hr_view text, bool is_text, hr__model_config **configs, int *count, hr__fault *fault);
void hr__configs_free(hr__model_config *configs, int count);
void hr__config_clear(hr__model_config *config);

typedef struct hr__batching {
    bool given; /* TensorFlow Serving's batching */
    int64_t max_batch, timeout_micros, max_enqueued, threads;
    int64_t *allowed;
    int allowed_count;
    bool pad, split;
} hr__batching;
hr_status hr__batching_read(const char *path, hr__batching *out, hr_error *err);
/* The path of metrics: gives *path (hr_free it), NULL if they are not enabled. */
hr_status hr__monitoring_read(const char *file, char **path, hr_error *err);
typedef struct hr__ssl_config {
    char *key, *cert, *ca;
    bool verify;
} hr__ssl_config;
hr_status hr__ssl_config_read(const char *file, hr__ssl_config *out, hr_error *err);
/* Gives a whole file: hr_free it; a NUL follows. */
hr_status hr__serve_file(const char *path, char **text, size_t *size, hr_error *err);

const hr_servable_kind *hr__servable_kind(const char *platform); /* NULL: there is none of that name */

/* ---- runs ---- */

typedef struct hr__pool hr__pool;
typedef struct hr__task hr__task;

/* One run that a request wants. Its owner keeps it, and all that it borrows, until `done` is called. */
struct hr__task {
    hr__task *next;
    hr__version *version;
    hr__signature *signature;
    const hr_tensor *inputs; /* in the signature's order */
    const int *outputs;
    int output_count;
    hr_tensor *results; /* one for each output; of a task that went well the owner clears them */
    hr_status status;
    hr_error error;
    int64_t rows;                  /* that it may share a run by; -1: it runs alone */
    uint64_t queued, deadline;     /* nanoseconds; deadline 0: none */
    uint64_t ran;                  /* nanoseconds of the run that it was in */
    const _Atomic bool *cancelled; /* nobody wants the answer any more; NULL: somebody does */
    void (*done)(hr__task *task);  /* in the thread that ran it */
    void *owner;
};

hr_status hr__pool_new(const hr_server_opts *opts, const hr__batching *batching, hr__pool **out, hr_error *err);
void hr__pool_free(hr__pool *pool); /* after its last task */
/* Puts a task into the queue. HR_RESOURCE_EXHAUSTED or HR_UNAVAILABLE: it is full, and the task is not taken. */
hr_status hr__pool_submit(hr__pool *pool, hr__task *task, hr__fault *fault);
/* Runs what waits, as long as a core is free and the runs are short; hands the rest to the pool's threads. */
void hr__pool_help(hr__pool *pool);
/* Runs it now, in this thread, alone: for warm-up. */
void hr__task_run_alone(hr__task *task);

typedef struct hr__pool_stats {
    _Atomic uint64_t runs, tasks, rows, padding;
    hr__histogram waited, batch; /* microseconds; rows */
    _Atomic int queued;
} hr__pool_stats;
hr__pool_stats *hr__pool_stats_of(hr__pool *pool);

/* ---- calls: what REST and gRPC share ---- */

/* A request for inference, from its first byte to its answer. */
typedef struct hr__call {
    hr__pool_memory memory;
    hr__version *version; /* held */
    hr__signature *signature;
    hr__api api;
    int entry;         /* 0: REST, 1: gRPC */
    hr_tensor *inputs; /* in the signature's order */
    bool owns_inputs;  /* they are cleared with the call */
    bool of_several;   /* of a MultiInference */
    bool warms;        /* a record of warm-up: the version is not held */
    int *outputs;
    int output_count;
    hr_tensor *results;
    hr_view *examples; /* of classify and regress */
    int64_t example_count;
    hr__task task;
    hr__fault fault;
    uint64_t begun;
} hr__call;

void hr__call_clear(hr__call *call);
/* Counts the call, whose status is that of its fault, in the metrics of its model. */
void hr__call_count(hr__call *call);
/* Wants all outputs, in the order of their names; or these, by their numbers. */
hr_status hr__call_all_outputs(hr__call *call);
hr_status hr__call_outputs(hr__call *call, const int *outputs, int count);
/* Makes the task ready. */
void hr__call_prepare(hr__call *call, double timeout);

/* The signature of a classify or regress, checked; wants its outputs; the inputs are the call's examples. */
hr_status hr__classify_begin(hr__call *call, hr_view signature);
hr_status hr__regress_begin(hr__call *call, hr_view signature);
/* What came out, checked. Either may be NULL for classify. */
typedef struct hr__classes {
    const hr_view *labels;
    const float *scores;
    int64_t batch, width;
} hr__classes;
hr_status hr__classify_end(hr__call *call, hr__classes *out);
hr_status hr__regress_end(hr__call *call, const float **values);

/* ---- messages, written ---- */

void hr__say_varint(hr__text *to, uint64_t value);
void hr__say_bytes(hr__text *to, int field, const char *bytes, size_t size);
void hr__say_string(hr__text *to, int field, const char *text);   /* "": nothing */
void hr__say_number(hr__text *to, int field, uint64_t value);     /* 0: nothing */
void hr__say_message(hr__text *to, int field, hr__text *message); /* and frees it */
/* What came out of a call, as the message of its API. The call went well. */
hr_status hr__put_answer(hr__call *call, hr__text *to);
/* What went in, as the request of its API. */
hr_status hr__put_request(hr__call *call, hr__text *to);

/* ---- signatures as messages ---- */

/* Adds the SignatureDefMap of a version, as protobuf's bytes, or as JSON {"name": {...}}. */
void hr__signatures_bytes(const hr__version *version, hr__text *to);
void hr__signatures_json(const hr__version *version, int indent, hr__text *to);
/* One signature as protobuf's text, as errors show it. */
void hr__signature_text(const hr_meta_signature *signature, hr__text *to);
const char *hr__dtype_proto_name(hr_dtype dtype); /* "DT_FLOAT" */
const char *hr__dtype_word(hr_dtype dtype);       /* "float": TensorFlow's DataTypeString */

/* ---- the server ---- */

typedef struct hr__loops hr__loops;
typedef struct hr__grpc hr__grpc;

struct hr_server {
    hr_server_opts opts; /* its texts are those of `texts` */
    char *texts[24];
    int text_count;
    hr__pool *pool;
    hr__models *models;
    hr__loops *loops;
    hr__grpc *grpc;
    char *metrics_path; /* NULL: none */
    hr__batching batching;
    struct hr__access_log *access;
    uv_mutex_t lock;
    uv_cond_t stopped;
    uv_thread_t config_thread;
    bool stop, polls_config;
    uint64_t config_print; /* of the config file as it was read last */
    double poll_wait;
    int numbers[3]; /* what options point to */
    uint64_t started;
    _Atomic bool draining;
    _Atomic int64_t under_way; /* requests */
    _Atomic uint64_t bytes_in, bytes_out, refused;
    _Atomic int connections;
};

/* What is called for a request that was read, and for one whose task ran. */
struct hr__request;
typedef void hr__request_fn(struct hr__request *request);
hr_status hr__loops_start(hr_server *server, hr__request_fn *request, hr__request_fn *finished, hr__loops **out,
                          hr_error *err);
void hr__loops_drain(hr__loops *loops); /* refuses new connections; those that are idle are closed */
void hr__loops_stop(hr__loops *loops);  /* closes all connections, and ends the threads; NULL: nothing */
void hr__loops_free(hr__loops *loops);  /* after hr__pool_free: no task is left */
int hr__loops_port(const hr__loops *loops);

void hr__metrics_text(hr_server *server, hr__text *to);
hr_status hr__server_reload(hr_server *server, hr_view config, bool is_text, hr__fault *fault);

/* ---- request logs: PredictionLogs of some of the requests ---- */

struct hr__request_log {
    int fd;
    double rate;
    _Atomic uint64_t seen;
    _Atomic bool failed; /* it was said */
};
hr_status hr__request_log_open(const hr__model_config *config, hr__request_log **out, hr_error *err);
void hr__request_log_close(hr__request_log *log);
/* Adds the call, if it is drawn. The call went well. */
void hr__request_log_add(hr__call *call);

/* The line of a request in the access log. */
typedef struct hr__access_entry {
    const char *protocol, *peer, *method;
    hr_view target;
    int status;
    size_t bytes_in, bytes_out;
    uint64_t nanoseconds;
} hr__access_entry;
hr_status hr__access_open(const char *path, struct hr__access_log **out, hr_error *err);
void hr__access_write(struct hr__access_log *log, const hr__access_entry *entry); /* NULL: nothing */
void hr__access_close(struct hr__access_log *log);

#endif
