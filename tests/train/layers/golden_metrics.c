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

static bool auc_params(const cJSON *params, hr_metric_opts *o)
{
    static const char *const how[] = {"trapezoidal", "careful_interpolation", "minoring", "majoring"};
    const cJSON *p;
    cJSON_ArrayForEach(p, golden_fields(params))
    {
        if (strcmp(p->string, "num_thresholds") == 0) {
            o->num_thresholds = (int)golden_number_int64(p);
        } else if (strcmp(p->string, "curve") == 0) {
            o->curve = strcmp(p->valuestring, "PR") == 0 ? HR_PR : HR_ROC;
        } else if (strcmp(p->string, "summation_method") == 0) {
            for (int i = 0; i < 4; i++)
                if (strcmp(how[i], p->valuestring) == 0) o->summation = (hr_auc_summation)i;
        } else {
            return false;
        }
    }
    return true;
}

static bool make_metric(golden_case *c, streamed *t)
{
    const char *kind = golden_text(c->json, "kind", ""), *name = golden_text(c->json, "function", "");
    const cJSON *params = golden_get(c->json, "params");
    const bool v1 = strcmp(kind, "v1") == 0, plain = !params || !params->child;
    static const float half = 0.5f;
    hr_metric_opts o = {
        .weights = input(t, v1 ? "weights" : "sample_weight"), .keras = !v1, .threshold = v1 ? NULL : &half};
    hr_node labels = input(t, v1 ? "labels" : "y_true"), predictions = input(t, v1 ? "predictions" : "y_pred");
    if (strcmp(name, v1 ? "mean" : "Mean") == 0 && plain)
        t->metric = hr_metric_mean_with(input(t, "values"), &o);
    else if (v1 && strcmp(name, "accuracy") == 0 && plain)
        t->metric = hr_metric_accuracy_with(labels, predictions, &o);
    else if (strcmp(name, v1 ? "precision" : "Precision") == 0 && plain)
        t->metric = hr_metric_precision_with(labels, predictions, &o);
    else if (strcmp(name, v1 ? "recall" : "Recall") == 0 && plain)
        t->metric = hr_metric_recall_with(labels, predictions, &o);
    else if (strcmp(name, v1 ? "auc" : "AUC") == 0 && auc_params(params, &o)) {
        /* Keras's "interpolation" of PR is what v1 calls careful, and its default. */
        if (!v1 && o.curve == HR_PR && o.summation == HR_TRAPEZOIDAL) o.summation = HR_CAREFUL_INTERPOLATION;
        t->metric = hr_metric_auc_with(labels, predictions, &o);
    } else
        return false;
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
