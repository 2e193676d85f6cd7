/* Exporters: after which evaluations a model is exported, and which exports are kept. What an export consists of is a
 * SavedModel, or the caller's function; its folder appears whole, because it is renamed last. */
#include "base/descriptor.h"
#include "base/text.h"
#include "io/sys.h"
#include "train/estimator/estimator_internal.h"
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum exporter_kind { EXPORT_LATEST, EXPORT_BEST, EXPORT_FINAL } exporter_kind;

struct hr_exporter {
    exporter_kind kind;
    char *name, *metric;
    hr_export_fn *fn; /* NULL: a SavedModel */
    void *user;
    const hr_export_opts *saved_model;
    int64_t keep; /* 0: all */
    bool larger, tf_compat;
    bool has_best;
    double best;
    char *exported; /* by the last call; NULL: nothing */
};

/* ---- making ---- */

static hr_exporter *exporter_new(exporter_kind kind, const char *name, hr_export_fn *fn, void *user,
                                 const hr_exporter_opts *o)
{
    o = &HR_OPTIONS(hr_exporter_opts, o);
    hr_exporter *x = hr_calloc(1, sizeof *x);
    if (!x) return NULL;
    x->kind = kind;
    x->name = hr_strdup(name ? name : "");
    x->metric = hr_strdup(o->metric ? o->metric : "loss");
    x->fn = fn;
    x->user = user;
    x->saved_model = o->saved_model;
    x->keep = kind == EXPORT_FINAL ? 0 : o->exports_to_keep ? *o->exports_to_keep : 5;
    x->larger = o->larger_is_better;
    x->tf_compat = o->tf_compat;
    if (x->name && x->metric) return x;
    hr_exporter_free(x);
    return NULL;
}

hr_exporter *hr_latest_exporter_with(const char *name, hr_export_fn *fn, void *user, const hr_exporter_opts *opts)
{
    return exporter_new(EXPORT_LATEST, name, fn, user, opts);
}

hr_exporter *hr_best_exporter_with(const char *name, hr_export_fn *fn, void *user, const hr_exporter_opts *opts)
{
    return exporter_new(EXPORT_BEST, name, fn, user, opts);
}

hr_exporter *hr_final_exporter_with(const char *name, hr_export_fn *fn, void *user, const hr_exporter_opts *opts)
{
    return exporter_new(EXPORT_FINAL, name, fn, user, opts);
}

void hr_exporter_free(hr_exporter *x)
{
    if (!x) return;
    hr_free(x->name);
    hr_free(x->metric);
    hr_free(x->exported);
    hr_free(x);
}

const char *hr_exporter_exported(const hr_exporter *x) { return x ? x->exported : NULL; }

/* ---- which exports are kept ---- */

/* TensorFlow's exports are named by seconds since 1970, of ten digits. Other folders are not touched. */
static int is_export(const struct dirent *entry)
{
    return strlen(entry->d_name) == 10 && strspn(entry->d_name, "0123456789") == 10;
}

static void remove_old_exports(const hr_exporter *x, const char *folder)
{
    struct dirent **found = NULL;
    const int count = x->keep > 0 ? scandir(folder, &found, is_export, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        char *path = i < count - x->keep ? hr__path_in(folder, found[i]->d_name) : NULL;
        if (path) hr__remove_tree(path);
        hr_free(path);
        free(found[i]);
    }
    free(found);
}

/* ---- exporting ---- */

/* One export of an exporter. */
typedef struct export_call {
    const hr_exporter *exporter;
    hr_estimator *estimator;
    const char *checkpoint;
} export_call;

static hr_status write_export(const char *dir, void *user, hr_error *err)
{
    const export_call *call = user;
    const hr_exporter *x = call->exporter;
    hr_error why = {0};
    if (!x->fn) return hr__estimator_write(call->estimator, dir, call->checkpoint, x->saved_model, err);
    hr_status st = x->fn(dir, call->checkpoint, x->user, &why);
    st = hr__descriptor_answer(x->name, "estimator.export", st, &why);
    if (st != HR_OK && err) *err = why;
    return st;
}

static hr_status export_to(hr_exporter *x, hr_estimator *e, const char *folder, const char *checkpoint, hr_error *err)
{
    export_call call = {x, e, checkpoint};
    HR_TRY(hr__export_whole(e, folder, write_export, &call, &x->exported, err));
    remove_old_exports(x, folder);
    return HR_OK;
}

/* The first evaluation that an exporter sees is the best so far, whatever earlier processes have found. */
static bool is_better(const hr_exporter *x, double value)
{
    if (!x->has_best) return true;
    if (!x->tf_compat && isnan(x->best)) return !isnan(value);
    return x->larger ? value > x->best : value < x->best;
}

static hr_status check_export(const hr_exporter *x, const hr_estimator *e, hr_error *err)
{
    if (!x->name[0] || strchr(x->name, '/') || strcmp(x->name, ".") == 0 || strcmp(x->name, "..") == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.export",
                       "exporter '%s': expected a name of a folder, without a slash", x->name);
    if (x->keep < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.export",
                       "exporter '%s': expected exports_to_keep of 0 (all) or more, got %lld", x->name,
                       (long long)x->keep);
    if (x->kind != EXPORT_BEST) return HR_OK;
    for (int i = 0; i < e->result_count; i++)
        if (strcmp(e->results[i].name, x->metric) == 0) return HR_OK;
    return hr_fail(err, HR_NOT_FOUND, "estimator.export",
                   "exporter '%s': expected a result '%s' of the evaluation, found none", x->name, x->metric);
}

hr_status hr_exporter_export(hr_exporter *x, hr_estimator *e, const char *checkpoint, bool final, hr_error *err)
{
    if (!x || !e) return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.argument", "exporter: expected one, got NULL");
    hr_free(x->exported);
    x->exported = NULL;
    hr_log_message(HR_DEBUG, "exporter '%s' is asked", x->name);
    HR_TRY(check_export(x, e, err));
    const double value = hr_estimator_result(e, x->metric);
    if (x->kind == EXPORT_FINAL ? !final : x->kind == EXPORT_BEST && !is_better(x, value)) return HR_OK;
    char *all = hr__path_in(e->model_dir, "export"), *folder = all ? hr__path_in(all, x->name) : NULL;
    hr_status st = folder ? export_to(x, e, folder, checkpoint, err) : hr_no_memory(err, "a path");
    if (st == HR_OK) x->best = value;
    x->has_best |= st == HR_OK;
    hr_free(folder);
    hr_free(all);
    return st;
}
