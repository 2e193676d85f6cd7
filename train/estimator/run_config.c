/* What TF_CONFIG says of the cluster that a training is part of: tf.estimator.RunConfig's reading of it. */
#include "base/text.h"
#include "io/json/json_reader.h"
#include "train/estimator/estimator_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    char *name, **address;
    int count;
} job;

/* What was read, as it stands there. Every text is owned. */
typedef struct tf_config {
    const char *text;
    hr__json_reader json;
    job *job;
    int jobs;
    char *task_type, *model_dir, *session_master, *eval_session_master, *service;
    int64_t task_id;
    bool has_task_id;
} tf_config;

/* ---- reading ---- */

static hr_status fail_type(const tf_config *c, const char *what, const char *expected, hr_error *err)
{
    char found[80];
    return hr__json_fail(&c->json, err, "estimator.tf_config", "%s: expected %s, found %s", what, expected,
                         hr__json_found(&c->json, found));
}

static hr_status copy_view(hr_view text, char **out, hr_error *err)
{
    hr_free(*out);
    *out = hr_malloc((size_t)text.size + 1);
    if (!*out) return hr_no_memory(err, "TF_CONFIG");
    if (text.size) memcpy(*out, text.data, (size_t)text.size);
    (*out)[text.size] = '\0';
    return HR_OK;
}

static hr_status read_text(tf_config *c, const char *what, char **out, hr_error *err)
{
    HR_TRY(hr__json_next(&c->json, err));
    if (c->json.token.kind != HR__JSON_STRING) return fail_type(c, what, "a string", err);
    return copy_view(c->json.token.text, out, err);
}

/* A number, or a string with one, as Python's int() takes it. */
static hr_status read_index(tf_config *c, hr_error *err)
{
    char *text = NULL, *end;
    HR_TRY(hr__json_next(&c->json, err));
    const hr__json_kind kind = c->json.token.kind;
    if (kind != HR__JSON_NUMBER && kind != HR__JSON_STRING) return fail_type(c, "task index", "a whole number", err);
    HR_TRY(copy_view(c->json.token.text, &text, err));
    c->task_id = strtoll(text, &end, 10);
    c->has_task_id = true;
    const bool whole = end != text && !*end;
    hr_free(text);
    if (!whole) return fail_type(c, "task index", "a whole number", err);
    return c->task_id >= 0 ? HR_OK : fail_type(c, "task index", "0 or more", err);
}

typedef hr_status read_key(tf_config *c, const char *key, hr_error *err);

/* Calls `read` after each key of an object. */
static hr_status read_object(tf_config *c, const char *what, read_key *read, hr_error *err)
{
    char *key = NULL;
    HR_TRY(hr__json_next(&c->json, err));
    if (c->json.token.kind != HR__JSON_BEGIN_OBJECT) return fail_type(c, what, "an object", err);
    hr_status st = hr__json_next(&c->json, err);
    while (st == HR_OK && c->json.token.kind == HR__JSON_KEY) {
        st = copy_view(c->json.token.text, &key, err);
        if (st == HR_OK) st = read(c, key, err);
        if (st == HR_OK) st = hr__json_next(&c->json, err);
    }
    hr_free(key);
    return st;
}

static hr_status pass_value(tf_config *c, hr_error *err)
{
    HR_TRY(hr__json_next(&c->json, err));
    return hr__json_skip(&c->json, err);
}

static hr_status add_address(job *j, hr_view text, hr_error *err)
{
    char **grown = hr_realloc(j->address, ((size_t)j->count + 1) * sizeof *grown);
    if (!grown) return hr_no_memory(err, "TF_CONFIG");
    j->address = grown;
    j->address[j->count] = NULL;
    HR_TRY(copy_view(text, &j->address[j->count], err));
    j->count++;
    return HR_OK;
}

static hr_status read_job(tf_config *c, const char *key, hr_error *err)
{
    job *grown = hr_realloc(c->job, ((size_t)c->jobs + 1) * sizeof *grown);
    if (!grown) return hr_no_memory(err, "TF_CONFIG");
    c->job = grown;
    job *j = &c->job[c->jobs];
    *j = (job){.name = hr_strdup(key)};
    if (!j->name) return hr_no_memory(err, "TF_CONFIG");
    c->jobs++;
    HR_TRY(hr__json_next(&c->json, err));
    if (c->json.token.kind != HR__JSON_BEGIN_ARRAY) return fail_type(c, "cluster", "a list of addresses", err);
    for (;;) {
        HR_TRY(hr__json_next(&c->json, err));
        if (c->json.token.kind == HR__JSON_END_ARRAY) return HR_OK;
        if (c->json.token.kind != HR__JSON_STRING) return fail_type(c, "cluster", "an address", err);
        HR_TRY(add_address(j, c->json.token.text, err));
    }
}

static hr_status read_task(tf_config *c, const char *key, hr_error *err)
{
    if (strcmp(key, "type") == 0) return read_text(c, "task type", &c->task_type, err);
    if (strcmp(key, "index") == 0) return read_index(c, err);
    return pass_value(c, err);
}

/* As it stands in the text. */
static hr_status read_service(tf_config *c, hr_error *err)
{
    HR_TRY(hr__json_next(&c->json, err));
    if (c->json.token.kind == HR__JSON_NULL) return HR_OK;
    if (c->json.token.kind != HR__JSON_BEGIN_OBJECT) return fail_type(c, "service", "an object", err);
    const char *from = c->text + c->json.token.offset;
    HR_TRY(hr__json_skip(&c->json, err));
    return copy_view((hr_view){from, c->json.p - from}, &c->service, err);
}

static hr_status read_entry(tf_config *c, const char *key, hr_error *err)
{
    if (strcmp(key, "cluster") == 0) return read_object(c, "cluster", read_job, err);
    if (strcmp(key, "task") == 0) return read_object(c, "task", read_task, err);
    if (strcmp(key, "service") == 0) return read_service(c, err);
    if (strcmp(key, "model_dir") == 0) return read_text(c, "model_dir", &c->model_dir, err);
    if (strcmp(key, "session_master") == 0) return read_text(c, "session_master", &c->session_master, err);
    if (strcmp(key, "eval_session_master") == 0)
        return read_text(c, "eval_session_master", &c->eval_session_master, err);
    return pass_value(c, err);
}

static hr_status read_all(tf_config *c, hr_error *err)
{
    HR_TRY(read_object(c, "TF_CONFIG", read_entry, err));
    HR_TRY(hr__json_next(&c->json, err));
    return c->json.token.kind == HR__JSON_NONE ? HR_OK : fail_type(c, "TF_CONFIG", "one object", err);
}

static void tf_config_clear(tf_config *c)
{
    for (int i = 0; i < c->jobs; i++) {
        for (int k = 0; k < c->job[i].count; k++) hr_free(c->job[i].address[k]);
        hr_free(c->job[i].address);
        hr_free(c->job[i].name);
    }
    hr_free(c->job);
    hr_free(c->task_type);
    hr_free(c->model_dir);
    hr_free(c->session_master);
    hr_free(c->eval_session_master);
    hr_free(c->service);
    hr__json_reader_clear(&c->json);
}

/* ---- what follows from it ---- */

static hr_status refuse(hr_error *err, const char *expected, const char *found)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.tf_config", "TF_CONFIG: expected %s, found %s", expected,
                   found);
}

static const job *job_named(const tf_config *c, const char *name)
{
    for (int i = 0; i < c->jobs; i++)
        if (strcmp(c->job[i].name, name) == 0) return &c->job[i];
    return NULL;
}

static int tasks_of(const tf_config *c, const char *name)
{
    const job *j = job_named(c, name);
    return j ? j->count : 0;
}

static int job_by_name(const void *a, const void *b) { return strcmp(((const job *)a)->name, ((const job *)b)->name); }

static bool is_text(const char *text, const char *other) { return text && strcmp(text, other) == 0; }

/* Which job has the chief: "master" is its older name. */
static hr_status check_cluster(const tf_config *c, const char **chief, hr_error *err)
{
    const bool older = job_named(c, "master") != NULL;
    *chief = older ? "master" : "chief";
    if (older && job_named(c, "chief")) return refuse(err, "one of the jobs chief and master in the cluster", "both");
    if (tasks_of(c, *chief) != 1)
        return refuse(err, "exactly one chief in the cluster", job_named(c, *chief) ? "another number" : "none");
    if (!c->task_type || !c->task_type[0]) return refuse(err, "a task type beside the cluster", "none");
    if (!c->has_task_id) return refuse(err, "a task index beside the cluster", "none");
    if (is_text(c->task_type, "evaluator"))
        return older ? refuse(err, "no evaluator in a cluster with a master", "task type evaluator") : HR_OK;
    const job *own = job_named(c, c->task_type);
    if (!own) return refuse(err, "a task type that is a job of the cluster", c->task_type);
    return c->task_id < own->count ? HR_OK : refuse(err, "a task index below the number of the job's tasks", own->name);
}

/* The chief's is 0; then the other jobs in the order of their names, but ps last. */
static int64_t global_id_of(const tf_config *c, const char *chief)
{
    int64_t id = c->task_id;
    if (is_text(c->task_type, chief)) return id;
    id += tasks_of(c, chief);
    for (int i = 0; i < c->jobs; i++) {
        const char *name = c->job[i].name;
        const bool other = strcmp(name, chief) != 0 && strcmp(name, "ps") != 0 && strcmp(name, c->task_type) != 0;
        if (other && (is_text(c->task_type, "ps") || strcmp(name, c->task_type) < 0)) id += c->job[i].count;
    }
    return id;
}

/* What hr_run_config_from_tf_config gives: the cluster comes first, so that it is the same address. */
typedef struct parsed {
    hr_cluster cluster;
    tf_config from;
    hr_cluster_job *jobs;
    char *master;
} parsed;

static hr_status make_master(parsed *p, hr_error *err)
{
    const tf_config *c = &p->from;
    hr__text text = {0};
    if (c->session_master) {
        hr__text_printf(&text, "%s", c->session_master);
    } else if (c->jobs > 1 || c->job[0].count > 1) {
        hr__text_printf(&text, "grpc://%s", job_named(c, c->task_type)->address[c->task_id]);
    } else {
        hr__text_printf(&text, "%s", "");
    }
    HR_TRY(hr__text_status(&text, "TF_CONFIG", err));
    p->master = hr__text_take(&text);
    hr__text_free(&text);
    p->cluster.master = p->master ? p->master : "";
    return HR_OK;
}

static hr_status make_jobs(parsed *p, hr_error *err)
{
    p->jobs = hr_calloc((size_t)p->from.jobs + 1, sizeof *p->jobs);
    if (!p->jobs) return hr_no_memory(err, "TF_CONFIG");
    for (int i = 0; i < p->from.jobs; i++) {
        const job *j = &p->from.job[i];
        p->jobs[i] = (hr_cluster_job){j->name, (const char *const *)j->address, j->count};
    }
    p->cluster.jobs = p->jobs;
    p->cluster.job_count = p->from.jobs;
    return HR_OK;
}

static hr_status make_distributed(parsed *p, hr_error *err)
{
    const tf_config *c = &p->from;
    hr_cluster *out = &p->cluster;
    const char *chief;
    qsort(p->from.job, (size_t)c->jobs, sizeof *c->job, job_by_name);
    HR_TRY(check_cluster(c, &chief, err));
    out->task_type = c->task_type;
    out->task_id = c->task_id;
    out->is_chief = is_text(c->task_type, chief);
    if (is_text(c->task_type, "evaluator")) {
        out->global_id = -1;
        out->evaluation_master = c->eval_session_master ? c->eval_session_master : "";
        return HR_OK;
    }
    out->num_ps_replicas = tasks_of(c, "ps");
    out->num_worker_replicas = tasks_of(c, "worker") + tasks_of(c, chief);
    out->global_id = global_id_of(c, chief);
    HR_TRY(make_jobs(p, err));
    return make_master(p, err);
}

static hr_status make_local(parsed *p, hr_error *err)
{
    const tf_config *c = &p->from;
    hr_cluster *out = &p->cluster;
    if (c->task_type && strcmp(c->task_type, "worker") != 0)
        return refuse(err, "task type worker where there is no cluster", c->task_type);
    if (c->task_id != 0) return refuse(err, "task index 0 where there is no cluster", "another");
    out->task_type = "worker";
    out->is_chief = true;
    out->num_worker_replicas = 1;
    out->master = c->session_master ? c->session_master : "";
    out->evaluation_master = c->eval_session_master ? c->eval_session_master : "";
    return HR_OK;
}

static hr_status make_cluster(parsed *p, const char *text, hr_error *err)
{
    tf_config *c = &p->from;
    p->cluster = (hr_cluster){.master = "", .evaluation_master = ""};
    c->text = text;
    hr__json_begin_text(&c->json, "TF_CONFIG", (hr_view){text, (int64_t)strlen(text)});
    HR_TRY(read_all(c, err));
    if (c->model_dir && !c->model_dir[0]) return refuse(err, "a model_dir that is not empty", "\"\"");
    p->cluster.model_dir = c->model_dir;
    p->cluster.service = c->service;
    return c->jobs ? make_distributed(p, err) : make_local(p, err);
}

void hr_cluster_free(hr_cluster *cluster)
{
    parsed *p = (parsed *)cluster;
    if (!p) return;
    tf_config_clear(&p->from);
    hr_free(p->jobs);
    hr_free(p->master);
    hr_free(p);
}

hr_status hr_run_config_from_tf_config(const char *text, hr_cluster **cluster, hr_error *err)
{
    if (!cluster)
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.argument", "TF_CONFIG: expected a place for it, got NULL");
    *cluster = NULL;
    parsed *p = hr_calloc(1, sizeof *p);
    if (!p) return hr_no_memory(err, "TF_CONFIG");
    const hr_status st = make_cluster(p, text && text[0] ? text : "{}", err);
    if (st == HR_OK)
        *cluster = &p->cluster;
    else
        hr_cluster_free(&p->cluster);
    return st;
}

/* ---- of an estimator ---- */

static hr_status take_model_dir(hr_estimator *e, const char *model_dir, hr_error *err)
{
    if (!model_dir || strcmp(e->model_dir, model_dir) == 0) return HR_OK;
    if (e->model_dir[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.model_dir",
                       "estimator: expected one model_dir, got \"%s\" and, from TF_CONFIG, \"%s\"", e->model_dir,
                       model_dir);
    hr_free(e->model_dir);
    e->model_dir = hr_strdup(model_dir);
    return e->model_dir ? HR_OK : hr_no_memory(err, "an estimator");
}

static hr_status check_single(const hr_cluster *c, hr_error *err)
{
    int64_t tasks = 0;
    for (int i = 0; i < c->job_count; i++) tasks += c->jobs[i].count;
    if (tasks <= 1 && c->global_id == 0) return HR_OK;
    return hr_fail(err, HR_UNIMPLEMENTED, "estimator.cluster",
                   "TF_CONFIG: task %s %lld: an estimator runs in one process, and the cluster has more tasks; train "
                   "without TF_CONFIG, or give each process its share of the files (hr_shard)",
                   c->task_type, (long long)c->task_id);
}

void hr__estimator_read_cluster(hr_estimator *e)
{
    hr_cluster *cluster = NULL;
    if (!e->config.tf_config || e->wrong.code) return;
    hr_status st = hr_run_config_from_tf_config(e->config.tf_config, &cluster, &e->wrong);
    if (st == HR_OK) st = check_single(cluster, &e->wrong);
    if (st == HR_OK) take_model_dir(e, cluster->model_dir, &e->wrong);
    hr_cluster_free(cluster);
}
