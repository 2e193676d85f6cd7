/* The topic metrics: values, updates and accumulators after each batch. */
#include "tests/golden/golden.h"
#include "train/layers/layers.h"

#include <stdio.h>
#include <string.h>

enum { MAX = 4 };

typedef struct streamed {
    hr_graph *g;
    hr_session *s;
    hr_node in[MAX];
    const char *name[MAX];
    int count;
    hr_metric metric;
} streamed;

static hr_node input(const streamed *t, const char *name)
{
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->name[i], name) == 0) return t->in[i];
    return (hr_node){0};
}

/* Batches differ in length: what varies between them is not known to the graph. */
static bool make_inputs(golden_case *c, streamed *t)
{
    const cJSON *updates = golden_get(c->json, "updates"), *batch, *item;
    const cJSON *first = cJSON_GetArrayItem(updates, 0);
    cJSON_ArrayForEach(item, golden_fields(first))
    {
        hr_tensor value;
        if (t->count == MAX || !golden_tensor(item, &value)) return false;
        hr_shape shape = value.shape;
        cJSON_ArrayForEach(batch, updates)
        {
            hr_tensor other;
            if (!golden_tensor(golden_get(batch, item->string), &other)) return false;
            if (other.shape.rank != shape.rank) shape = HR_UNKNOWN_SHAPE;
            for (int i = 0; i < shape.rank; i++)
                if (shape.dims[i] != other.shape.dims[i]) shape.dims[i] = -1;
            golden_tensor_clear(&other);
        }
        t->name[t->count] = item->string;
        t->in[t->count++] = hr_placeholder(t->g, value.dtype, shape);
        golden_tensor_clear(&value);
    }
    return true;
}

/* Arrays that the options borrow. */
typedef struct params {
    float threshold, thresholds[8];
    int64_t class_id;
    double target;
    int64_t k;
    int classes, axis;
} params;

static bool read_param(const cJSON *p, hr_metric_opts *o, params *v)
{
    static const char *const how[] = {"trapezoidal", "careful_interpolation", "minoring", "majoring"};
    const char *name = p->string;
    if (strcmp(name, "num_thresholds") == 0) {
        o->num_thresholds = (int)golden_number_int64(p);
    } else if (strcmp(name, "curve") == 0) {
        o->curve = strcmp(p->valuestring, "PR") == 0 ? HR_PR : HR_ROC;
    } else if (strcmp(name, "summation_method") == 0) {
        for (int i = 0; i < 4; i++)
            if (strcmp(how[i], p->valuestring) == 0) o->summation = (hr_auc_summation)i;
    } else if (strcmp(name, "thresholds") == 0 && cJSON_IsArray(p)) {
        o->threshold_count = cJSON_GetArraySize(p);
        for (int i = 0; i < o->threshold_count && i < 8; i++)
            v->thresholds[i] = (float)cJSON_GetArrayItem(p, i)->valuedouble;
        o->thresholds = v->thresholds;
    } else if (strcmp(name, "thresholds") == 0 || strcmp(name, "threshold") == 0) {
        v->threshold = (float)p->valuedouble;
        o->threshold = &v->threshold;
    } else if (strcmp(name, "class_id") == 0) {
        v->class_id = golden_number_int64(p);
        o->class_id = &v->class_id;
    } else if (strcmp(name, "k") == 0 || strcmp(name, "top_k") == 0) {
        v->k = o->top_k = golden_number_int64(p);
    } else if (strcmp(name, "num_classes") == 0) {
        v->classes = (int)golden_number_int64(p);
    } else if (strcmp(name, "dim") == 0) {
        v->axis = (int)golden_number_int64(p);
    } else if (strcmp(name, "specificity") == 0 || strcmp(name, "sensitivity") == 0 || strcmp(name, "recall") == 0 ||
               strcmp(name, "precision") == 0) {
        v->target = p->valuedouble;
    } else if (strcmp(name, "multi_label") == 0) {
        o->multi_label = cJSON_IsTrue(p);
    } else if (strcmp(name, "from_logits") == 0) {
        o->from_logits = cJSON_IsTrue(p);
    } else {
        return strcmp(name, "shape") == 0;
    }
    return true;
}

/* "MeanSquaredError" as "mean_squared_error"; "_at_thresholds" goes, as an option says it. */
static void our_name(const char *name, char out[64])
{
    static const char *const other[][2] = {{"log_cosh_error", "logcosh"},
                                           {"k_l_divergence", "kullback_leibler_divergence"},
                                           {"a_u_c", "auc"},
                                           {"mean_io_u", "mean_iou"}};
    size_t n = 0;
    for (const char *c = name; *c && n < 62; c++) {
        const bool upper = *c >= 'A' && *c <= 'Z';
        if (upper && c != name) out[n++] = '_';
        out[n++] = upper ? (char)(*c - 'A' + 'a') : *c;
    }
    out[n] = 0;
    char *at = strstr(out, "_at_thresholds");
    if (at) *at = 0;
    for (int i = 0; i < 4; i++)
        if (strcmp(out, other[i][0]) == 0) strcpy(out, other[i][1]);
}

static bool make_metric(golden_case *c, streamed *t)
{
    const bool v1 = strcmp(golden_text(c->json, "kind", ""), "v1") == 0;
    const cJSON *given = golden_get(c->json, "params"), *p;
    char name[64];
    params v = {0};
    hr_metric_opts o = {.weights = input(t, v1 ? "weights" : "sample_weight"), .keras = !v1};
    hr_node labels = input(t, v1 ? "labels" : "y_true"), predictions = input(t, v1 ? "predictions" : "y_pred");
    hr_node values = input(t, "values"), normalizer = input(t, "normalizer");
    our_name(golden_text(c->json, "function", ""), name);
    cJSON_ArrayForEach(p, golden_fields(given))
    {
        if (strcmp(p->string, "weights") == 0 && cJSON_IsNumber(p))
            o.weights = hr_scalar(t->g, HR_FLOAT, p->valuedouble);
        else if (!read_param(p, &o, &v))
            return false;
    }
    /* Keras's "interpolation" of PR is what v1 calls careful, and its default. */
    if (!v1 && o.curve == HR_PR && o.summation == HR_TRAPEZOIDAL) o.summation = HR_CAREFUL_INTERPOLATION;
    o.struct_size = sizeof o;
    hr_metric_fn *fn = hr_metric_named(name);
#define IS(n) (strcmp(name, n) == 0)
    if (fn)
        t->metric = fn(labels, predictions, &o);
    else if (IS("mean"))
        t->metric = hr_metric_mean_with(values, &o);
    else if (IS("sum"))
        t->metric = hr_metric_sum_with(values, &o);
    else if (IS("mean_tensor"))
        t->metric = hr_metric_mean_tensor_with(values, &o);
    else if (IS("percentage_below"))
        t->metric = hr_metric_percentage_below_with(values, v.threshold, &o);
    else if (IS("mean_iou"))
        t->metric = hr_metric_mean_iou_with(labels, predictions, v.classes, &o);
    else if (IS("mean_per_class_accuracy"))
        t->metric = hr_metric_mean_per_class_accuracy_with(labels, predictions, v.classes, &o);
    else if (IS("mean_relative_error"))
        t->metric = hr_metric_mean_relative_error_with(labels, predictions, normalizer, &o);
    else if (IS("mean_cosine_distance"))
        t->metric = hr_metric_mean_cosine_distance_with(labels, predictions, v.axis, &o);
    else if (IS("sensitivity_at_specificity"))
        t->metric = hr_metric_sensitivity_at_specificity_with(labels, predictions, v.target, &o);
    else if (IS("specificity_at_sensitivity"))
        t->metric = hr_metric_specificity_at_sensitivity_with(labels, predictions, v.target, &o);
    else if (IS("precision_at_recall"))
        t->metric = hr_metric_precision_at_recall_with(labels, predictions, v.target, &o);
    else if (IS("recall_at_precision"))
        t->metric = hr_metric_recall_at_precision_with(labels, predictions, v.target, &o);
    else if (IS("recall_at_k"))
        t->metric = hr_metric_recall_at_k_with(labels, predictions, v.k, &o);
    else if (IS("precision_at_k"))
        t->metric = hr_metric_precision_at_k_with(labels, predictions, v.k, &o);
    else if (IS("average_precision_at_k"))
        t->metric = hr_metric_average_precision_at_k_with(labels, predictions, v.k, &o);
    else if (IS("recall_at_top_k"))
        t->metric = hr_metric_recall_at_top_k_with(labels, predictions, &o);
    else if (IS("precision_at_top_k"))
        t->metric = hr_metric_precision_at_top_k_with(labels, predictions, &o);
    else
        return false;
#undef IS
    return true;
}

/* Keras names accumulators by a part of their name here, such as "precision/true_positives/count". */
static const hr_variable_info *accumulator(const hr_graph *g, const char *name, bool v1)
{
    if (v1) return hr_variable_named(g, name);
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const char *at = strstr(hr_graph_variable(g, i)->name, name);
        const bool begins = at && (at == hr_graph_variable(g, i)->name || at[-1] == '/');
        if (begins && (!at[strlen(name)] || at[strlen(name)] == '/')) return hr_graph_variable(g, i);
    }
    return NULL;
}

static bool compare_variables(golden_case *c, streamed *t, const cJSON *expected, bool v1)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_fields(expected))
    {
        hr_error err;
        hr_tensor got;
        const hr_variable_info *info = accumulator(t->g, item->string, v1);
        if (!info) {
            golden_differs(c, "no variable %s", item->string);
            return false;
        }
        if (hr_session_get(t->s, info->handle, &got, &err) != HR_OK) return golden_differs(c, "%s", err.text), false;
        const hr_shape shape = got.shape; /* Keras has a vector of one value where v1 has a scalar */
        if (!v1 && shape.rank == 0 && cJSON_GetArraySize(golden_get(item, "shape")) == 1) got.shape = HR_SHAPE(1);
        const bool equal = golden_equal_json(c, item->string, item, &got);
        got.shape = shape;
        hr_tensor_clear(&got);
        if (!equal) return false;
    }
    return true;
}

static bool compare_node(golden_case *c, streamed *t, const char *what, hr_node node, const cJSON *expected)
{
    hr_error err;
    hr_tensor got;
    if (!expected) return true;
    if (hr_session_run(t->s, NULL, 0, &node, 1, &got, &err) != HR_OK) return golden_differs(c, "%s", err.text), false;
    const bool equal = golden_equal_json(c, what, expected, &got);
    hr_tensor_clear(&got);
    return equal;
}

static hr_status update(streamed *t, const cJSON *batch, hr_tensor *out, hr_error *err)
{
    hr_feed feed[MAX];
    for (int i = 0; i < t->count; i++) {
        feed[i].node = t->in[i];
        golden_tensor(golden_get(batch, t->name[i]), &feed[i].value);
    }
    const hr_status st = hr_session_run(t->s, feed, t->count, &t->metric.update, 1, out, err);
    for (int i = 0; i < t->count; i++) golden_tensor_clear(&feed[i].value);
    return st;
}

static bool compare_collections(golden_case *c, const hr_graph *g, const cJSON *expected)
{
    int local = 0, metric = 0;
    for (int i = 0; i < hr_graph_variables(g); i++) {
        local += (hr_graph_variable(g, i)->sets & HR_LOCAL_VARIABLES) != 0;
        metric += (hr_graph_variable(g, i)->sets & HR_METRIC_VARIABLES) != 0;
    }
    if (golden_int(expected, "local", local) == local && golden_int(expected, "metric_variables", metric) == metric)
        return true;
    golden_differs(c, "%d local variables, %d of metrics", local, metric);
    return false;
}

static golden_result run_batches(golden_case *c, streamed *t, const cJSON *expectation)
{
    const cJSON *updates = golden_get(c->json, "updates"), *expect = golden_get(expectation, "expect");
    const bool v1 = strcmp(golden_text(c->json, "kind", ""), "v1") == 0;
    const char *class = golden_error_class(expectation);
    hr_error err;
    hr_node init = hr_target(hr_local_variables_initializer(t->g));
    hr_status st = hr_session_run(t->s, NULL, 0, &init, 1, NULL, &err);
    const cJSON *initial = golden_get(expect, "initial");
    if (st == HR_OK && !class &&
        (!compare_node(c, t, "initial", t->metric.value, golden_get(initial, "value")) ||
         !compare_variables(c, t, golden_get(initial, "variables"), v1)))
        return GOLDEN_DIFFERS;
    for (int i = 0; st == HR_OK && i < cJSON_GetArraySize(updates); i++) {
        const cJSON *step = cJSON_GetArrayItem(golden_get(expect, "steps"), i);
        hr_tensor got;
        st = update(t, cJSON_GetArrayItem(updates, i), &got, &err);
        if (st != HR_OK) break;
        const bool equal =
            class || !golden_get(step, "update") || golden_equal_json(c, "update", golden_get(step, "update"), &got);
        hr_tensor_clear(&got);
        if (!equal || (!class && (!compare_node(c, t, "value", t->metric.value, golden_get(step, "value")) ||
                                  !compare_variables(c, t, golden_get(step, "variables"), v1))))
            return GOLDEN_DIFFERS;
    }
    if (!class && !compare_collections(c, t->g, golden_get(expect, "collections"))) return GOLDEN_DIFFERS;
    if (!class) return st == HR_OK ? GOLDEN_AGREES : golden_differs(c, "%s", err.text);
    return st != HR_OK && strcmp(hr_status_name(st), class) == 0 ? GOLDEN_AGREES
                                                                 : golden_differs(c, "expected %s", class);
}

static golden_result run_case(golden_case *c)
{
    streamed t = {.g = hr_graph_new()};
    golden_result result;
    if (!make_inputs(c, &t) || !make_metric(c, &t)) {
        result = golden_not_built(c, "%s %s", golden_text(c->json, "kind", ""), golden_text(c->json, "function", ""));
    } else {
        t.s = hr_session_new(t.g);
        result = run_batches(c, &t, golden_expectation(c->json, false));
        hr_session_free(t.s);
    }
    hr_graph_free(t.g);
    return result;
}

int main(void) { return golden_main("metrics", GOLDEN_ROOT, run_case); }
