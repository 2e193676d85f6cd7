/* The estimator object, and its results. */
#include "base/constructor.h"
#include "train/estimator/estimator_internal.h"
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
    return e;
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
