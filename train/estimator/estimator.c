/* The estimator object, and its results. */
#include "base/constructor.h"
#include "train/estimator/estimator_internal.h"
#include <headrace/checkpoint.h>
#include <math.h>
#include <string.h>

hr_estimator *hr_estimator_new_with(hr_model_fn *fn, void *user, const hr_estimator_opts *o)
{
    o = &HR_OPTIONS(hr_estimator_opts, o);
    hr_estimator *e = hr_calloc(1, sizeof *e);
    if (e) e->model_dir = hr_strdup(o->model_dir ? o->model_dir : "");
    if (!e || !e->model_dir) {
        if (o->user_free) o->user_free(user);
        hr_free(e);
        return NULL;
    }
    if (!fn)
        hr_fail(&e->wrong, HR_INVALID_ARGUMENT, "estimator.argument", "estimator: expected a model function, got NULL");
    if (o->warm_start_from) hr__warm_start_copy(o->warm_start_from, &e->warm_start_from, &e->wrong);
    e->fn = fn;
    e->user = user;
    e->user_free = o->user_free;
    e->prepare = o->prepare;
    e->config = o->config;
    if (o->config.keep_checkpoint_max) {
        e->keep_checkpoint_max = *o->config.keep_checkpoint_max;
        e->config.keep_checkpoint_max = &e->keep_checkpoint_max;
    }
    if (o->config.workers) {
        e->workers = *o->config.workers;
        e->config.workers = &e->workers;
    }
    hr__estimator_read_cluster(e);
    return e;
}

hr_estimator *hr_add_metrics(hr_estimator *e, hr_model_fn *fn, void *user)
{
    if (!e) return NULL;
    metrics_fn *grown = hr_realloc(e->more_metrics, ((size_t)e->more_metrics_count + 1) * sizeof *grown);
    if (grown) e->more_metrics = grown;
    if (!fn && !e->wrong.code)
        hr_fail(&e->wrong, HR_INVALID_ARGUMENT, "estimator.argument",
                "add_metrics: expected a function that gives metrics, got NULL");
    else if (!grown && !e->wrong.code)
        hr_no_memory(&e->wrong, "metrics");
    else if (grown)
        e->more_metrics[e->more_metrics_count++] = (metrics_fn){fn, user};
    return e;
}

static void clear_names(hr_estimator *e)
{
    for (int i = 0; i < e->name_count; i++) hr_free(e->names[i]);
    hr_free(e->names);
    e->names = NULL;
    e->name_count = 0;
}

static void clear_results(hr_estimator *e)
{
    for (int i = 0; i < e->result_count; i++) hr_free(e->results[i].name);
    hr_free(e->results);
    e->results = NULL;
    e->result_count = 0;
}

void hr_estimator_free(hr_estimator *e)
{
    if (!e) return;
    if (e->user_free) e->user_free(e->user);
    clear_results(e);
    hr__warm_start_free(e->warm_start_from);
    clear_names(e);
    hr_free(e->more_metrics);
    hr_free(e->model_dir);
    hr_free(e);
}

const hr_error *hr_estimator_error(const hr_estimator *e)
{
    static const hr_error none = HR__NO_MEMORY_FOR("an estimator");
    if (!e) return &none;
    return e->error.code ? &e->error : NULL;
}

hr_status hr__estimator_begin(hr_estimator *e, hr_input_fn *fn)
{
    if (!e) return HR_RESOURCE_EXHAUSTED;
    e->error = e->wrong;
    if (e->error.code) return e->error.code;
    if (fn) return HR_OK;
    return hr_fail(&e->error, HR_INVALID_ARGUMENT, "estimator.input_fn",
                   "estimator: expected an input function, got NULL; it gives the dataset to read");
}

int hr_estimator_results(const hr_estimator *e) { return e ? e->result_count : 0; }

const char *hr_estimator_result_name(const hr_estimator *e, int i)
{
    return e && i >= 0 && i < e->result_count ? e->results[i].name : NULL;
}

double hr_estimator_result(const hr_estimator *e, const char *name)
{
    for (int i = 0; e && name && i < e->result_count; i++)
        if (strcmp(e->results[i].name, name) == 0) return e->results[i].value;
    return NAN;
}

/* ---- what lies in model_dir ---- */

hr_status hr_estimator_latest_checkpoint(hr_estimator *e, char **prefix)
{
    if (prefix) *prefix = NULL;
    if (!e) return HR_RESOURCE_EXHAUSTED;
    e->error = e->wrong;
    if (e->error.code) return e->error.code;
    return hr_latest_checkpoint(e->model_dir, prefix, &e->error);
}

static hr_status open_latest(hr_estimator *e, hr_bundle **b)
{
    char *prefix;
    HR_TRY(hr_estimator_latest_checkpoint(e, &prefix));
    hr_status st = prefix ? hr_bundle_open(prefix, b, &e->error)
                          : hr_fail(&e->error, HR_NOT_FOUND, "estimator.checkpoint",
                                    "%s: expected a trained model, found no checkpoint; train it first", e->model_dir);
    hr_free(prefix);
    return st;
}

static hr_status copy_names(hr_estimator *e, const hr_bundle_entry *entries, int count)
{
    static const char ours[] = "headrace/";
    clear_names(e);
    e->names = hr_calloc((size_t)count + 1, sizeof *e->names);
    if (!e->names) return hr_no_memory(&e->error, "names of variables");
    for (int i = 0; i < count; i++) {
        if (strncmp(entries[i].name, ours, sizeof ours - 1) == 0) continue;
        char *name = e->names[e->name_count] = hr_strdup(entries[i].name);
        if (!name) return hr_no_memory(&e->error, "names of variables");
        e->name_count++;
    }
    return HR_OK;
}

static hr_status check_place(hr_estimator *e, bool given, const char *what)
{
    if (!e) return HR_RESOURCE_EXHAUSTED;
    if (given) return HR_OK;
    return hr_fail(&e->error, HR_INVALID_ARGUMENT, "estimator.argument", "estimator: expected %s, got NULL", what);
}

hr_status hr_estimator_variable_names(hr_estimator *e, const char *const **names, int *count)
{
    hr_bundle *b;
    const hr_bundle_entry *entries;
    int all;
    HR_TRY(check_place(e, names && count, "places for names and their number"));
    *names = NULL;
    *count = 0;
    HR_TRY(open_latest(e, &b));
    hr_status st = hr_bundle_list(b, &entries, &all, &e->error);
    if (st == HR_OK) st = copy_names(e, entries, all);
    hr_bundle_free(b);
    if (st != HR_OK) return st;
    *names = (const char *const *)e->names;
    *count = e->name_count;
    return HR_OK;
}

hr_status hr_estimator_variable_value(hr_estimator *e, const char *name, hr_tensor *value)
{
    hr_bundle *b;
    HR_TRY(check_place(e, name && value, "a name and a place for its value"));
    HR_TRY(open_latest(e, &b));
    const hr_status st = hr_bundle_read(b, name, value, &e->error);
    hr_bundle_free(b);
    return st;
}
