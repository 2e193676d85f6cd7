/* Heads of golden cases, by the params of an estimator or by their own JSON. */
#include "tests/train/estimator/case_heads.h"
#include <string.h>

static bool reduction_of(const cJSON *params, hr_reduction *out)
{
    static const struct {
        const char *name;
        hr_reduction reduction;
    } known[] = {{"sum", HR_REDUCTION_SUM},
                 {"sum_over_batch_size", HR_SUM_OVER_BATCH_SIZE},
                 {"weighted_mean", HR_REDUCTION_MEAN},
                 {"weighted_sum_by_nonzero_weights", HR_SUM_BY_NONZERO_WEIGHTS}};
    const char *name = golden_text(params, "loss_reduction", "");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        *out = known[i].reduction;
        return true;
    }
    return false;
}

void case_head_options(const cJSON *p, bool v1, head_options *h)
{
    const cJSON *at;
    *h = (head_options){.o = {.struct_size = sizeof h->o, .v1 = v1}};
    if (reduction_of(p, &h->reduction)) h->o.loss_reduction = &h->reduction;
    h->o.weight_column = golden_get(p, "weight_column") ? golden_text(p, "weight_column", "") : NULL;
    h->o.name = golden_get(p, "name") ? golden_text(p, "name", "") : NULL;
    h->o.label_dimension = golden_int(p, "label_dimension", 0);
    cJSON_ArrayForEach(at, golden_get(p, "label_vocabulary")) if (h->o.label_vocabulary.count < MAX_WORDS)
        h->words[h->o.label_vocabulary.count++] = at->valuestring;
    cJSON_ArrayForEach(at, golden_get(p, "thresholds")) if (h->o.threshold_count < MAX_WORDS)
        h->thresholds[h->o.threshold_count++] = (float)golden_number_double(at);
    cJSON_ArrayForEach(at, golden_get(p, "classes_for_class_based_metrics")) if (h->o.metric_class_count < MAX_WORDS)
        h->classes[h->o.metric_class_count++] = golden_number_int64(at);
    h->o.metric_classes = h->classes;
    h->o.label_vocabulary.strings = h->words;
    h->o.thresholds = h->thresholds;
}

static hr_head *named_head(const cJSON *head, bool v1)
{
    head_options h;
    const char *name = golden_text(head, "head", "");
    case_head_options(head, v1, &h);
    if (strcmp(name, "PoissonRegressionHead") == 0) return hr_poisson_regression_head_with(&h.o);
    if (strcmp(name, "LogisticRegressionHead") == 0) return hr_logistic_regression_head_with(&h.o);
    if (strcmp(name, "RegressionHead") == 0) return hr_regression_head_with(&h.o);
    if (strcmp(name, "MultiClassHead") == 0) return hr_multi_class_head_with(golden_int(head, "n_classes", 0), &h.o);
    if (strcmp(name, "MultiLabelHead") == 0) return hr_multi_label_head_with(golden_int(head, "n_classes", 0), &h.o);
    return hr_binary_class_head_with(&h.o);
}

static hr_head *multi_head(const cJSON *head, bool v1)
{
    hr_head *part[MAX_WORDS];
    float weight[MAX_WORDS];
    int parts = 0, weights = 0;
    const cJSON *at;
    cJSON_ArrayForEach(at, golden_get(head, "heads")) if (parts < MAX_WORDS) part[parts++] = named_head(at, v1);
    cJSON_ArrayForEach(at, golden_get(head, "head_weights")) if (weights < MAX_WORDS) weight[weights++] =
        (float)golden_number_double(at);
    return hr_multi_head(((hr_head_list){part, parts}), .head_weights = weights == parts ? weight : NULL);
}

hr_head *case_head(const cJSON *json, const cJSON *params, bool v1, bool regressor)
{
    head_options h;
    const cJSON *head = golden_get(json, "head");
    const int64_t classes = golden_int(params, "n_classes", 2);
    if (head && golden_get(head, "heads")) return multi_head(head, v1);
    if (head) return named_head(head, v1);
    case_head_options(params, v1, &h);
    if (regressor) return hr_regression_head_with(&h.o);
    return classes > 2 ? hr_multi_class_head_with(classes, &h.o) : hr_binary_class_head_with(&h.o);
}
