/* Estimators as golden cases describe them, exported with TensorFlow's weights. */
#include "tests/train/saved_model/golden_exports.h"
#include "tests/feature_columns/case_columns.h"
#include "tests/train/estimator/case_heads.h"

#include <stdio.h>
#include <string.h>

enum { MAX_UNITS = 16 };

typedef struct described {
    golden_case *c;
    const cJSON *json, *params;
    case_columns columns[2]; /* linear, deep */
    cJSON *lists[2];         /* their JSON, which they borrow from */
    int64_t units[MAX_UNITS];
    hr_combiner combiner;
    char folder[1200]; /* of vocabularies */
} described;

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static hr_column_list described_columns(described *d, int which, const char *key)
{
    golden_case list = *d->c;
    list.folder = d->folder;
    cJSON *json = d->lists[which] = cJSON_CreateObject();
    const cJSON *columns = golden_get(golden_get(d->json, "columns"), key);
    if (columns) cJSON_AddItemReferenceToObject(json, "columns", (cJSON *)(uintptr_t)columns);
    cJSON_AddStringToObject(json, "api", golden_text(d->json, "api", ""));
    list.json = json;
    case_columns_build_in_graph(&d->columns[which], &list);
    d->columns[which].c = d->c;
    return case_columns_list(&d->columns[which]);
}

static hr_estimator *described_estimator(described *d)
{
    const char *class = golden_text(d->json, "estimator", "");
    const bool v1 = strcmp(golden_text(d->json, "api", ""), "v1") == 0, both = begins(class, "DNNLinearCombined");
    const bool linear = begins(class, "Linear");
    hr_head_estimator_opts o = {.struct_size = sizeof o, .model_dir = "model", .v1 = v1};
    if (begins(class, "Baseline")) {
        const hr_baseline_opts b = {.struct_size = sizeof b,
                                    .model_dir = o.model_dir,
                                    .head = case_head(d->json, d->params, v1, strstr(class, "Regressor") != NULL),
                                    .v1 = v1};
        return hr_baseline_estimator_with(&b);
    }
    const cJSON *units = golden_get(d->params, both ? "dnn_hidden_units" : "hidden_units");
    for (int i = 0; i < cJSON_GetArraySize(units) && i < MAX_UNITS; i++)
        d->units[o.dnn_hidden_units.count++] = golden_number_int64(cJSON_GetArrayItem(units, i));
    o.dnn_hidden_units.units = d->units;
    const char *combiner = golden_text(d->params, "sparse_combiner", "sum");
    d->combiner = strcmp(combiner, "mean") == 0 ? HR_MEAN : strcmp(combiner, "sqrtn") == 0 ? HR_SQRTN : HR_SUM;
    o.sparse_combiner = &d->combiner;
    o.batch_norm = golden_bool(d->params, "batch_norm", false);
    if (strcmp(golden_text(d->params, "activation_fn", "relu"), "tanh") == 0) o.dnn_activation_fn = hr_tanh_fn;
    if (linear || both)
        o.linear_feature_columns = described_columns(d, 0, both ? "linear_feature_columns" : "feature_columns");
    if (!linear) o.dnn_feature_columns = described_columns(d, 1, both ? "dnn_feature_columns" : "feature_columns");
    o.head = case_head(d->json, d->params, v1, strstr(class, "Regressor") != NULL);
    return linear ? hr_linear_estimator_with(&o)
           : both ? hr_dnn_linear_combined_estimator_with(&o)
                  : hr_dnn_estimator_with(&o);
}

hr_status golden_export(golden_case *c, const cJSON *model, const char *variables, bool raw, bool text, char **path,
                        hr_error *err)
{
    described d = {.c = c, .json = model, .params = golden_get(model, "params")};
    snprintf(d.folder, sizeof d.folder, "%s/%s/assets", c->folder, golden_text(c->json, "dir", ""));
    hr_estimator *e = described_estimator(&d);
    const hr_status st = hr_estimator_export(e, "exported", path, .checkpoint_path = variables, .text = text,
                                             .serving_fn = raw ? hr_raw_serving_input : NULL);
    if (st != HR_OK) *err = *hr_estimator_error(e);
    hr_estimator_free(e);
    for (int i = 0; i < 2; i++) {
        case_columns_free(&d.columns[i]);
        cJSON_Delete(d.lists[i]);
    }
    return st;
}
