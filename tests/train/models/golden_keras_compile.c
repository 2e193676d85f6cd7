/* What a case compiles: optimizer, losses, metrics. */
#include "golden_keras.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };

/* ---- the optimizer ---- */

/* "beta_1" is beta1 here. */
static const char *parameter_name(const char *keras)
{
    return strcmp(keras, "beta_1") == 0 ? "beta1" : strcmp(keras, "beta_2") == 0 ? "beta2" : keras;
}

static hr_node schedule(hr_node step, void *user)
{
    const cJSON *o = user;
    const char *class = golden_text(o, "class", "");
    const cJSON *initial = golden_get(o, "initial_learning_rate");
    const float rate = initial ? (float)golden_number_double(initial) : 0;
    const cJSON *steps_json = golden_get(o, "decay_steps");
    const float steps = steps_json ? (float)golden_number_double(steps_json) : 1;
    if (strcmp(class, "ExponentialDecay") == 0)
        return hr_exponential_decay(rate, step, steps, (float)golden_number_double(golden_get(o, "decay_rate")),
                                    .staircase = golden_bool(o, "staircase", false));
    if (strcmp(class, "CosineDecay") == 0) {
        const cJSON *alpha = golden_get(o, "alpha"), *target = golden_get(o, "warmup_target"),
                    *warm = golden_get(o, "warmup_steps");
        return hr_cosine_decay(rate, step, steps, .alpha = alpha ? (float)golden_number_double(alpha) : 0,
                               .warmup_target = target ? HR_F32((float)golden_number_double(target)) : NULL,
                               .warmup_steps = warm ? (float)golden_number_double(warm) : 0);
    }
    int64_t boundaries[MOST];
    float values[MOST];
    int count = 0, k = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_get(o, "boundaries")) boundaries[count++] = golden_number_int64(item);
    cJSON_ArrayForEach(item, golden_get(o, "values")) values[k++] = (float)golden_number_double(item);
    return hr_piecewise_constant(step, boundaries, values, count);
}

static hr_optimizer *optimizer(golden_case *c, const cJSON *json, const cJSON **rate_schedule, bool tf_compat)
{
    hr_parameter parameters[MOST];
    int count = 0;
    const cJSON *item;
    (void)c;
    if (!json || cJSON_IsString(json)) return NULL;
    const bool legacy = golden_bool(json, "legacy", false);
    cJSON_ArrayForEach(item, golden_fields(json))
    {
        if (strcmp(item->string, "class") == 0 || strcmp(item->string, "legacy") == 0) continue;
        if (cJSON_IsObject(item)) {
            *rate_schedule = item;
            continue;
        }
        parameters[count].name = parameter_name(item->string);
        parameters[count++].value = cJSON_IsBool(item) ? (double)cJSON_IsTrue(item) : golden_number_double(item);
    }
    if (tf_compat && !legacy && strcmp(golden_text(json, "class", ""), "Nadam") == 0) /* as a graph does it */
        parameters[count++] = (hr_parameter){"tf_compat", 1};
    return hr_optimizer_named(golden_text(json, "class", ""), parameters, count,
                              legacy ? HR_LEGACY_OPTIMIZERS : HR_KERAS_OPTIMIZERS);
}

/* ---- losses ---- */

typedef struct kept {
    float numbers[MOST];
    int64_t classes[MOST];
    int count;
} kept;

static const float *keep(kept *k, const cJSON *json)
{
    k->numbers[k->count] = (float)golden_number_double(json);
    return &k->numbers[k->count++];
}

static hr_output_loss loss_of(const cJSON *json, const char *output, kept *k)
{
    hr_output_loss l = {.output = output};
    const cJSON *item;
    if (!json || cJSON_IsNull(json)) return l;
    l.loss = cJSON_IsString(json) ? json->valuestring : golden_text(json, "class", "");
    if (cJSON_IsString(json)) return l;
    cJSON_ArrayForEach(item, golden_fields(json))
    {
        const char *key = item->string;
        if (strcmp(key, "from_logits") == 0) l.options.from_logits = cJSON_IsTrue(item);
        if (strcmp(key, "label_smoothing") == 0) l.options.label_smoothing = (float)golden_number_double(item);
        if (strcmp(key, "delta") == 0) l.options.delta = keep(k, item);
        if (strcmp(key, "alpha") == 0) l.options.alpha = keep(k, item);
        if (strcmp(key, "gamma") == 0) l.options.gamma = keep(k, item);
        if (strcmp(key, "apply_class_balancing") == 0) l.options.class_balancing = cJSON_IsTrue(item);
        if (strcmp(key, "reduction") == 0 && strcmp(item->valuestring, "sum") == 0)
            l.options.reduction = HR_REDUCTION_SUM;
        if (strcmp(key, "ignore_class") == 0) {
            k->classes[k->count] = golden_number_int64(item);
            l.options.ignore_class = &k->classes[k->count++];
        }
    }
    return l;
}

static bool is_by_output(const cJSON *json) { return cJSON_IsObject(json) && !cJSON_GetObjectItem(json, "class"); }

static int losses_of(hr_model *m, const cJSON *json, const cJSON *weights, hr_output_loss *out, kept *k)
{
    int count = 0;
    const cJSON *item;
    if (!json || cJSON_IsNull(json)) return 0;
    if (!is_by_output(json) && !cJSON_IsArray(json)) {
        const int outputs = hr_model_output_count(m) ? hr_model_output_count(m) : 1;
        for (; count < outputs; count++) out[count] = loss_of(json, NULL, k);
    } else {
        cJSON_ArrayForEach(item, golden_fields(json)) out[count++] = loss_of(item, item->string, k);
    }
    int i = 0;
    cJSON_ArrayForEach(item, golden_fields(weights))
    {
        if (!item->string && i < count) out[i++].weight = keep(k, item);
        for (int n = 0; n < count && item->string; n++)
            if (out[n].output && strcmp(out[n].output, item->string) == 0) out[n].weight = keep(k, item);
    }
    return count;
}

/* ---- metrics ---- */

static hr_output_metric metric_of(const cJSON *json, const char *output, bool weighted, kept *k)
{
    hr_output_metric x = {.output = output, .weighted = weighted};
    const cJSON *item;
    if (cJSON_IsString(json)) {
        x.metric = json->valuestring;
        return x;
    }
    x.metric = golden_text(json, "class", "");
    cJSON_ArrayForEach(item, golden_fields(json))
    {
        const char *key = item->string;
        if (strcmp(key, "name") == 0) x.key = item->valuestring;
        if (strcmp(key, "num_thresholds") == 0) x.options.num_thresholds = (int)golden_number_int64(item);
        if (strcmp(key, "curve") == 0) x.options.curve = strcmp(item->valuestring, "PR") == 0 ? HR_PR : HR_ROC;
        if (strcmp(key, "threshold") == 0 || strcmp(key, "thresholds") == 0) x.options.threshold = keep(k, item);
        if (strcmp(key, "recall") == 0 || strcmp(key, "precision") == 0 || strcmp(key, "sensitivity") == 0 ||
            strcmp(key, "specificity") == 0)
            x.at = golden_number_double(item);
        if (strcmp(key, "k") == 0) x.options.top_k = golden_number_int64(item);
    }
    return x;
}

/* A list for all outputs, or lists by output, by name or in order. */
static int metrics_of(hr_model *m, const cJSON *json, bool weighted, hr_output_metric *out, kept *k)
{
    int count = 0, place = 0;
    const cJSON *item, *one;
    cJSON_ArrayForEach(item, golden_fields(json))
    {
        const bool nested = cJSON_IsArray(item) || is_by_output(json);
        const char *output = item->string ? item->string : nested ? hr_model_output_name(m, place) : NULL;
        place++;
        if (!nested) {
            out[count++] = metric_of(item, NULL, weighted, k);
            continue;
        }
        if (!cJSON_IsArray(item)) {
            out[count++] = metric_of(item, output, weighted, k);
            continue;
        }
        cJSON_ArrayForEach(one, item) out[count++] = metric_of(one, output, weighted, k);
    }
    return count;
}

bool keras_compile(golden_case *c, hr_model *m, const cJSON *json, bool tf_compat)
{
    hr_output_loss losses[MOST];
    hr_output_metric metrics[MOST];
    kept k = {0};
    const cJSON *rate = NULL;
    const cJSON *named = golden_get(json, "optimizer");
    const bool graph = !golden_bool(json, "run_eagerly", false); /* Nadam is right when it runs eagerly */
    hr_optimizer *o = optimizer(c, named, &rate, tf_compat && graph);
    const int loss_count = losses_of(m, golden_get(json, "loss"), golden_get(json, "loss_weights"), losses, &k);
    int metric_count = metrics_of(m, golden_get(json, "metrics"), false, metrics, &k);
    metric_count += metrics_of(m, golden_get(json, "weighted_metrics"), true, metrics + metric_count, &k);
    (void)hr_compile(m, .optimizer = o, .optimizer_name = cJSON_IsString(named) ? named->valuestring : NULL,
                     .schedule = rate ? schedule : NULL, .schedule_user = (void *)rate, .losses = {losses, loss_count},
                     .metric_list = {metrics, metric_count}, .tf_compat = tf_compat);
    return true;
}
