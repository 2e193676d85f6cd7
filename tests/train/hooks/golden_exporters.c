/* Exporters: after which evaluations they export, and which exports remain. */
#include "tests/train/hooks/golden_hooks.h"
#include <headrace/estimator.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MODEL_OF_EXPORTS "export_model"

typedef struct export_run {
    float loss;        /* that the next evaluation finds */
    double name, step; /* of the next export, in seconds */
} export_run;

static hr_dataset *one_loss(void *user)
{
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &((export_run *)user)->loss);
    return hr_batch(hr_from_tensor_slices(&value, (const char *[]){"x"}, 1), 1);
}

static hr_status given_loss(const hr_model_call *call, void *user, hr_error *err)
{
    (void)user, (void)err;
    hr_spec_loss(call->spec, hr_reduce_mean(hr_feature_values(call->features, "x")));
    return HR_OK;
}

static double name_of_export(void *user) { return ((export_run *)user)->name; }

static hr_status count_export(const char *dir, const char *checkpoint, void *user, hr_error *err)
{
    (void)dir, (void)checkpoint, (void)err;
    ((export_run *)user)->name += ((export_run *)user)->step;
    return HR_OK;
}

static hr_exporter *new_exporter(const cJSON *json, export_run *run, bool tf_compat)
{
    const char *kind = golden_text(json, "exporter", "");
    const cJSON *keep = golden_get(json, "exports_to_keep");
    const int64_t kept = keep && !cJSON_IsNull(keep) ? golden_number_int64(keep) : 0;
    const hr_exporter_opts opts = {.struct_size = sizeof opts,
                                   .exports_to_keep = &kept,
                                   .tf_compat = tf_compat,
                                   .larger_is_better = strstr(golden_text(json, "compare", ""), "larger") != NULL};
    return strcmp(kind, "latest") == 0 ? hr_latest_exporter_with("x", count_export, run, &opts)
           : strcmp(kind, "best") == 0 ? hr_best_exporter_with("x", count_export, run, &opts)
                                       : hr_final_exporter_with("x", count_export, run, &opts);
}

/* The folders there are, each once. */
static bool has_folders(const cJSON *expected)
{
    const cJSON *name;
    int there = 0, found = 0;
    DIR *d = opendir(MODEL_OF_EXPORTS "/export/x");
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        there++;
        cJSON_ArrayForEach(name, expected) found += strcmp(name->valuestring, e->d_name) == 0;
    }
    if (d) closedir(d);
    return there == found && found == cJSON_GetArraySize(expected);
}

static golden_result compare_export(golden_case *c, const hr_exporter *x, int i, const cJSON *expect, const cJSON *ours)
{
    const cJSON *named = golden_get(expect, "exported"), *folders = golden_get(expect, "directories");
    const char *made = hr_exporter_exported(x), *base = made ? strrchr(made, '/') + 1 : NULL;
    if (ours) {
        if (cJSON_IsTrue(cJSON_GetArrayItem(ours, i)) == (made != NULL)) return GOLDEN_AGREES;
        return golden_differs(c, "evaluation %d: %s", i, made ? base : "not exported");
    }
    const char *wanted = cJSON_IsString(named) ? named->valuestring : "nothing";
    if (strcmp(base ? base : "nothing", wanted) != 0)
        return golden_differs(c, "evaluation %d: %s, expected %s", i, base ? base : "nothing", wanted);
    return has_folders(folders) ? GOLDEN_AGREES : golden_differs(c, "evaluation %d: other folders", i);
}

static golden_result run_exports(golden_case *c, hr_estimator *e, hr_exporter *x, export_run *run, const cJSON *ours)
{
    const cJSON *evaluations = golden_get(c->json, "evaluations"), *expect = golden_get(c->json, "expect");
    const int count = cJSON_GetArraySize(evaluations);
    golden_result result = GOLDEN_AGREES;
    for (int i = 0; i < count && result == GOLDEN_AGREES; i++) {
        hr_error err = {0};
        run->loss = (float)golden_number_double(cJSON_GetArrayItem(cJSON_GetArrayItem(evaluations, i), 1));
        hr_status st = hr_estimator_evaluate(e, one_loss, run, .initial_values = true);
        if (st != HR_OK) return golden_differs(c, "%s", hr_estimator_error(e)->text);
        st = hr_exporter_export(x, e, "model.ckpt", i == count - 1, &err);
        result = st == HR_OK ? compare_export(c, x, i, cJSON_GetArrayItem(expect, i), ours)
                             : golden_differs(c, "%s", err.text);
    }
    return result;
}

static golden_result run_mode(golden_case *c, bool tf_compat)
{
    const cJSON *folder, *ours = golden_get(golden_get(c->json, "default"), "exported");
    export_run run = {.name = golden_number_double(golden_get(c->json, "first_name")),
                      .step = golden_number_double(golden_get(c->json, "name_step"))};
    if (system("rm -rf " MODEL_OF_EXPORTS " && mkdir -p " MODEL_OF_EXPORTS "/export/x") != 0)
        return golden_differs(c, "rm");
    cJSON_ArrayForEach(folder, golden_get(c->json, "existing_directories"))
    {
        char path[256];
        snprintf(path, sizeof path, MODEL_OF_EXPORTS "/export/x/%s", folder->valuestring);
        mkdir(path, 0777);
    }
    golden_get(c->json, "earlier_evaluations"); /* of a process before this one: no exporter looks at them */
    hr_estimator *e = hr_estimator_new(given_loss, &run, .model_dir = MODEL_OF_EXPORTS,
                                       .config = {.now = name_of_export, .now_user = &run});
    hr_exporter *x = new_exporter(c->json, &run, tf_compat);
    const golden_result result = run_exports(c, e, x, &run, tf_compat ? NULL : ours);
    hr_exporter_free(x);
    hr_estimator_free(e);
    return result;
}

golden_result run_exporter_case(golden_case *c)
{
    const golden_result result = run_mode(c, false);
    return result == GOLDEN_AGREES ? run_mode(c, true) : result;
}
