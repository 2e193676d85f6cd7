/* Runs of a case: weights are set, the model is compiled, trained, evaluated, asked; or a call fails. */
#include "golden_keras.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    golden_case *c;
    hr_model *m;
    keras_data data, validation;
    bool tf_compat;
    const cJSON *expect;
    int warnings;
    keras_callbacks callbacks;
} run;

static int warnings;
static void count_warnings(hr_level level, const char *text, void *user)
{
    (void)text, (void)user;
    warnings += level == HR_WARNING;
}

static golden_result failed(run *r, const char *where)
{
    const hr_error *e = hr_model_error(r->m);
    return golden_differs(r->c, "%s: %.600s", where, e ? e->text : "no error");
}

/* ---- weights ---- */

static golden_result set_weights(run *r, const cJSON *json)
{
    hr_tensor weights[128];
    hr_error err = {0};
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_fields(json))
    {
        char name[256];
        (void)snprintf(name, sizeof name, "%s:0", hr_model_weight(r->m, count).name);
        if (strcmp(name, item->string) != 0)
            return golden_differs(r->c, "weight %d is %s, not %s", count, name, item->string);
        if (count == 128 || !golden_tensor(item, &weights[count])) return golden_differs(r->c, "weight %d", count);
        count++;
    }
    const hr_status st = hr_set_weights(r->m, weights, count, &err);
    for (int i = 0; i < count; i++) golden_tensor_clear(&weights[i]);
    return st == HR_OK ? GOLDEN_AGREES : golden_differs(r->c, "set_weights: %s", err.text);
}

static golden_result compare_weights(run *r, const cJSON *json)
{
    int i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_whole(json))
    {
        hr_tensor value;
        hr_error err = {0};
        if (hr_get_weight(r->m, i++, &value, &err) != HR_OK) return golden_differs(r->c, "%s", err.text);
        const bool equal = golden_equal_json(r->c, item->string, item, &value);
        hr_tensor_clear(&value);
        if (!equal) return GOLDEN_DIFFERS;
    }
    return i == hr_model_weights(r->m) ? GOLDEN_AGREES : golden_differs(r->c, "%d weights", hr_model_weights(r->m));
}

static void freeze(run *r, const cJSON *names)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, names) hr_layer_freeze(hr_get_layer(r->m, item->valuestring), true);
}

static golden_result compare_trainable(run *r, const cJSON *json)
{
    int at = 0;
    if (!json) return GOLDEN_AGREES;
    for (int i = 0; i < hr_model_weights(r->m); i++) {
        char name[256];
        const hr_weight_info w = hr_model_weight(r->m, i);
        (void)snprintf(name, sizeof name, "%s:0", w.name);
        if (!w.trainable) continue;
        const cJSON *item = cJSON_GetArrayItem(json, at++);
        if (!item || strcmp(item->valuestring, name) != 0) return golden_differs(r->c, "%s is trainable", name);
    }
    return at == cJSON_GetArraySize(json) ? GOLDEN_AGREES : golden_differs(r->c, "%d trainable weights", at);
}

/* ---- predictions ---- */

static golden_result compare_outputs(run *r, const char *what, const cJSON *json, hr_tensor *out)
{
    const int outputs = hr_model_output_count(r->m);
    bool equal = true;
    if (cJSON_GetObjectItem(json, "dtype")) {
        equal = golden_equal_json(r->c, what, golden_whole(json), &out[0]);
    } else {
        int i = 0;
        const cJSON *item;
        cJSON_ArrayForEach(item, golden_whole(json))
        {
            int at = i++;
            for (int k = 0; k < outputs && item->string; k++)
                if (strcmp(hr_model_output_name(r->m, k), item->string) == 0) at = k;
            equal = equal && at < outputs && golden_equal_json(r->c, what, item, &out[at]);
        }
        equal = equal && i == outputs;
    }
    for (int i = 0; i < outputs; i++) hr_tensor_clear(&out[i]);
    return equal ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

/* The inputs of the first rows. */
static int first_inputs(const run *r, const keras_data *from, int64_t rows, hr_tensor *out, const char **names)
{
    hr_tensor all[KERAS_TENSORS];
    int count = 0;
    const int64_t have = from->tensor[0].shape.dims[0];
    (void)r;
    keras_rows(from, 0, rows < have ? rows : have, all);
    for (int i = 0; i < from->count; i++)
        if (from->name[i][0] == '0') {
            out[count] = all[i];
            names[count++] = from->names[i];
        }
    return count;
}

static golden_result predict(run *r, const char *what, const cJSON *expected, const cJSON *other)
{
    hr_tensor in[KERAS_TENSORS], out[16];
    const char *names[KERAS_TENSORS];
    keras_data own = {0};
    int64_t rows = golden_int(r->c->json, "predict_rows", 5);
    const int64_t batch = golden_int(golden_get(r->c->json, "model"), "batch_size", rows);
    if (batch < rows) rows = batch; /* of a stateful model */
    if (!expected) return GOLDEN_AGREES;
    const keras_data *from = &r->data;
    if (other) {
        cJSON *wrapped = cJSON_CreateObject();
        cJSON_AddItemReferenceToObject(wrapped, "x", (cJSON *)other);
        const bool read = keras_read_data(r->c, wrapped, "", &own);
        cJSON_Delete(wrapped);
        if (!read) return GOLDEN_DIFFERS;
        from = &own;
        rows = own.tensor[0].shape.dims[0];
    }
    const int count = first_inputs(r, from, rows, in, names);
    const hr_status st = hr_predict_on_batch(r->m, in, names, count, out);
    keras_data_clear(&own);
    return st == HR_OK ? compare_outputs(r, what, expected, out) : failed(r, what);
}

/* ---- logs and history ---- */

static golden_result compare_number(run *r, const char *what, const cJSON *expected, double got)
{
    const cJSON *tolerance = golden_whole(golden_get(r->c->json, "tolerance"));
    const cJSON *rt = cJSON_GetObjectItem(tolerance, "rtol"), *at = cJSON_GetObjectItem(tolerance, "atol");
    const double rtol = rt ? golden_number_double(rt) : 0, atol = at ? golden_number_double(at) : 0;
    const double want = golden_number_double(expected);
    if (isnan(want) && isnan(got)) return GOLDEN_AGREES;
    if (want == got || fabs(want - got) <= atol + rtol * fabs(want)) return GOLDEN_AGREES;
    return golden_differs(r->c, "%s: expected %.9g, got %.9g", what, want, got);
}

static golden_result compare_logs(run *r, const char *what, const cJSON *expected, const hr_logs *logs)
{
    int i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_whole(expected))
    {
        char text[128];
        const cJSON *number = cJSON_GetArrayItem(cJSON_GetObjectItem(item, "values"), 0);
        const char *key = hr_logs_key(logs, i);
        (void)snprintf(text, sizeof text, "%s %s", what, item->string);
        if (!key || strcmp(key, item->string) != 0)
            return golden_differs(r->c, "%s: key %d is %s", text, i, key ? key : "none");
        if (compare_number(r, text, number, hr_logs_value(logs, i++)) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
    }
    return i == hr_logs_count(logs) ? GOLDEN_AGREES : golden_differs(r->c, "%s: %d logs", what, hr_logs_count(logs));
}

static const cJSON *values_of(const cJSON *json)
{
    return cJSON_IsArray(json) ? json : cJSON_GetObjectItem(json, "values");
}

static golden_result compare_history(run *r, const hr_history *h)
{
    const cJSON *history = golden_whole(golden_get(r->expect, "history")),
                *epochs = golden_whole(golden_get(r->expect, "epoch"));
    const cJSON *key, *value;
    int i = 0;
    cJSON_ArrayForEach(value, epochs)
    {
        if (i >= h->epochs || h->epoch[i] != golden_number_int64(value)) return golden_differs(r->c, "epoch %d", i);
        i++;
    }
    if (i != h->epochs) return golden_differs(r->c, "expected %d epochs, got %d", i, h->epochs);
    int k = 0;
    cJSON_ArrayForEach(key, history)
    {
        char what[128];
        if (k >= h->keys || strcmp(h->key[k], key->string) != 0)
            return golden_differs(r->c, "key %d is %s, not %s", k, k < h->keys ? h->key[k] : "none", key->string);
        i = 0;
        cJSON_ArrayForEach(value, values_of(key))
        {
            (void)snprintf(what, sizeof what, "history %s[%d]", key->string, i);
            if (i >= h->counts[k]) return golden_differs(r->c, "%s: missing", what);
            if (compare_number(r, what, value, h->values[k][i++]) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
        }
        if (i != h->counts[k]) return golden_differs(r->c, "history %s: %d values", key->string, h->counts[k]);
        k++;
    }
    return k == h->keys ? GOLDEN_AGREES : golden_differs(r->c, "history has %d keys, not %d", h->keys, k);
}

/* ---- fit ---- */

static int class_weights(const cJSON *json, hr_class_weight *out)
{
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_fields(json)) out[count++] =
        (hr_class_weight){atoll(item->string), (float)golden_number_double(item)};
    return count;
}

static golden_result fit_options(run *r, const cJSON *fit, hr_fit_opts *o, int64_t *epochs, hr_class_weight *weights)
{
    const cJSON *freq = golden_get(fit, "validation_freq"), *item, *split = golden_get(fit, "validation_split");
    *o = (hr_fit_opts){.struct_size = sizeof *o,
                       .epochs = golden_int(fit, "epochs", 1),
                       .initial_epoch = golden_int(fit, "initial_epoch", 0),
                       .batch_size = golden_int(fit, "batch_size", 0),
                       .no_shuffle = !golden_bool(fit, "shuffle", true),
                       .validation_split = split ? golden_number_double(split) : 0,
                       .steps_per_epoch = golden_int(fit, "steps_per_epoch", 0),
                       .validation_steps = golden_int(fit, "validation_steps", 0),
                       .validation_batch_size = golden_int(fit, "validation_batch_size", 0)};
    if (cJSON_IsNumber(freq)) o->validation_freq = golden_number_int64(freq);
    if (cJSON_IsArray(freq)) {
        cJSON_ArrayForEach(item, freq) epochs[o->validation_epoch_count++] = golden_number_int64(item);
        o->validation_epochs = epochs;
    }
    o->class_weight.count = class_weights(golden_get(fit, "class_weight"), weights);
    o->class_weight.weight = weights;
    if (r->validation.count > 0) o->validation_data = keras_dataset(&r->validation);
    if (!keras_read_callbacks(r->c, fit, &r->callbacks)) return GOLDEN_NOT_BUILT;
    o->callbacks = (hr_callback_list){r->callbacks.callback, r->callbacks.count};
    return GOLDEN_AGREES;
}

static const hr_history *fit(run *r, golden_result *result)
{
    hr_fit_opts o;
    int64_t epochs[32];
    hr_class_weight weights[32];
    const cJSON *batched = golden_get(r->c->json, "datasets");
    hr_dataset *ds = keras_dataset(&r->data);
    if (batched) ds = hr_batch(ds, golden_int(batched, "batch", 1));
    *result = fit_options(r, golden_get(r->c->json, "fit"), &o, epochs, weights);
    if (*result != GOLDEN_AGREES) {
        hr_dataset_unref(ds);
        hr_dataset_unref(o.validation_data);
        return NULL;
    }
    return hr_fit_with(r->m, ds, &o);
}

/* "iteration:0" is "Adam/iteration" here. */
static bool same_variable(const char *keras, const char *name)
{
    const size_t size = strlen(keras) - strlen(":0");
    const char *last = strrchr(name, '/');
    if (!strchr(keras, '/') && last) name = last + 1;
    return strlen(name) == size && memcmp(name, keras, size) == 0;
}

static golden_result compare_slots(run *r)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_whole(golden_get(r->expect, "optimizer_variables")))
    {
        const char *name = NULL;
        hr_tensor value = {0};
        bool found = false, equal = false;
        for (int i = 0; i < hr_model_optimizer_variables(r->m) && !found; i++) {
            if (hr_model_optimizer_variable(r->m, i, &name, &value) != HR_OK) return failed(r, "optimizer");
            found = same_variable(item->string, name);
            equal = found && golden_equal_json(r->c, item->string, item, &value);
            hr_tensor_clear(&value);
        }
        if (!found) return golden_differs(r->c, "the optimizer has no %s", item->string);
        if (!equal) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

static golden_result compare_optimizer(run *r)
{
    const cJSON *iterations = golden_get(r->expect, "iterations"), *rate = golden_get(r->expect, "learning_rate");
    int64_t steps;
    double now;
    if (iterations && (hr_model_iterations(r->m, &steps) != HR_OK || steps != golden_number_int64(iterations)))
        return golden_differs(r->c, "expected %lld iterations", (long long)golden_number_int64(iterations));
    if (compare_slots(r) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
    if (!rate) return GOLDEN_AGREES;
    if (hr_model_learning_rate(r->m, &now) != HR_OK) return failed(r, "learning_rate");
    return compare_number(r, "learning_rate", rate, now);
}

static golden_result run_fit(run *r)
{
    golden_result result;
    if (!golden_get(r->c->json, "fit") || cJSON_IsNull(golden_get(r->c->json, "fit"))) return GOLDEN_AGREES;
    const hr_history *h = fit(r, &result);
    if (!h) return result == GOLDEN_AGREES ? failed(r, "fit") : result;
    result = compare_history(r, h);
    if (result == GOLDEN_AGREES) result = keras_compare_callbacks(r->c, &r->callbacks, r->expect);
    return result == GOLDEN_AGREES ? compare_optimizer(r) : result;
}

/* ---- steps ---- */

static golden_result run_steps(run *r)
{
    const cJSON *steps = golden_get(r->c->json, "steps"), *expected = golden_get(r->expect, "steps"), *step;
    int i = 0;
    cJSON_ArrayForEach(step, steps)
    {
        hr_tensor rows[KERAS_TENSORS], out[16];
        char what[64];
        const cJSON *range = golden_get(step, "rows"), *want = cJSON_GetArrayItem(expected, i++);
        const char *op = golden_text(step, "op", "");
        const bool keep = !golden_bool(step, "reset_metrics", true);
        const hr_logs *logs;
        keras_rows(&r->data, golden_number_int64(cJSON_GetArrayItem(range, 0)),
                   golden_number_int64(cJSON_GetArrayItem(range, 1)), rows);
        (void)snprintf(what, sizeof what, "step %d", i - 1);
        if (strcmp(op, "predict_on_batch") == 0) {
            if (hr_predict_on_batch(r->m, rows, r->data.names, r->data.count, out) != HR_OK) return failed(r, what);
            if (compare_outputs(r, what, want, out) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
            continue;
        }
        logs = strcmp(op, "train_on_batch") == 0
                   ? hr_train_on_batch(r->m, rows, r->data.names, r->data.count, .keep_metrics = keep)
                   : hr_test_on_batch(r->m, rows, r->data.names, r->data.count, .keep_metrics = keep);
        if (!logs) return failed(r, what);
        if (compare_logs(r, what, want, logs) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

/* ---- evaluate ---- */

static golden_result run_evaluate(run *r)
{
    const cJSON *json = golden_get(r->c->json, "evaluate"), *expected = golden_get(r->expect, "evaluate");
    if (!json || cJSON_IsNull(json) || !expected) return GOLDEN_AGREES;
    const bool on_validation = strcmp(golden_text(json, "on", ""), "val") == 0;
    keras_data from = on_validation ? r->validation : r->data;
    const bool weighted = golden_bool(json, "sample_weight", false) || on_validation;
    int count = 0;
    for (int i = 0; i < from.count; i++) {
        if (from.name[i][0] == '2' && !weighted) continue;
        if (count != i) {
            from.tensor[count] = from.tensor[i];
            (void)memcpy(from.name[count], from.name[i], sizeof from.name[i]);
        }
        from.names[count] = from.name[count];
        count++;
    }
    const hr_logs *logs =
        hr_model_evaluate(r->m, hr_from_tensor_slices(from.tensor, from.names, count),
                          .batch_size = golden_int(json, "batch_size", 0), .steps = golden_int(json, "steps", 0));
    return logs ? compare_logs(r, "evaluate", expected, logs) : failed(r, "evaluate");
}

/* ---- the whole ---- */

static golden_result compare_names(run *r)
{
    const cJSON *names = golden_get(r->expect, "output_names"), *item;
    int i = 0;
    cJSON_ArrayForEach(item, names) if (strcmp(item->valuestring, hr_model_output_name(r->m, i++)) !=
                                        0) return golden_differs(r->c, "output %d is %s", i - 1,
                                                                 hr_model_output_name(r->m, i - 1));
    return GOLDEN_AGREES;
}

typedef golden_result step_fn(run *r);

static golden_result initial(run *r)
{
    const cJSON *json = golden_get(r->c->json, "initial");
    freeze(r, golden_get(r->c->json, "frozen"));
    return json ? set_weights(r, json) : GOLDEN_AGREES;
}

static golden_result compiled(run *r)
{
    const cJSON *json = golden_get(r->c->json, "compile");
    if (json && !keras_compile(r->c, r->m, json, r->tf_compat)) return GOLDEN_NOT_BUILT;
    if (json && hr_model_error(r->m)) return failed(r, "compile");
    const golden_result result = compare_trainable(r, golden_get(r->expect, "trainable"));
    freeze(r, golden_get(r->c->json, "frozen_after_compile"));
    return result;
}

static golden_result predicted_before(run *r)
{
    return predict(r, "predict_initial", golden_get(r->expect, "predict_initial"), NULL);
}

static golden_result predicted(run *r)
{
    return predict(r, "predict", golden_get(r->expect, "predict"),
                   golden_get(golden_get(r->c->json, "data"), "predict_x"));
}

/* Evaluation and predictions are compared from the weights that Keras had. */
static golden_result final_weights(run *r)
{
    const cJSON *json = golden_get(r->expect, "final");
    if (!json) return GOLDEN_AGREES;
    const golden_result result = compare_weights(r, json);
    return result == GOLDEN_AGREES ? set_weights(r, json) : result;
}

static golden_result states_reset(run *r)
{
    return hr_reset_states(r->m) == HR_OK ? GOLDEN_AGREES : failed(r, "reset_states");
}

static step_fn *const steps_of_a_run[] = {initial,      compiled,     compare_names, predicted_before,
                                          states_reset, run_fit,      run_steps,     final_weights,
                                          run_evaluate, states_reset, predicted};

/* ---- errors ---- */

static golden_result compare_error(run *r, const char *class, const hr_error *e)
{
    if (!e) return golden_differs(r->c, "no error, expected %s", class);
    if (strcmp(hr_status_name(e->code), class) == 0) return GOLDEN_AGREES;
    return golden_differs(r->c, "expected %s, got %s: %.300s", class, hr_status_name(e->code), e->text);
}

/* A call of `then`. */
static void call(run *r, const cJSON *then, hr_error *err)
{
    const char *op = cJSON_IsString(then) ? then->valuestring : golden_text(then, "op", "");
    hr_tensor out[16] = {0}, weights[16] = {0}, in[KERAS_TENSORS];
    const char *names[KERAS_TENSORS];
    int count = 0;
    const cJSON *shape, *dim;
    if (strcmp(op, "evaluate") == 0) (void)hr_model_evaluate(r->m, keras_dataset(&r->data));
    if (strcmp(op, "predict") == 0) {
        count = first_inputs(r, &r->data, 5, in, names);
        (void)hr_predict_on_batch(r->m, in, names, count, out);
        count = 0;
    }
    if (strcmp(op, "summary") == 0) hr_free(hr_model_summary(r->m));
    if (strcmp(op, "load_weights") == 0) (void)hr_load_weights(r->m, golden_text(then, "path", ""), err);
    if (strcmp(op, "get_layer") == 0) (void)hr_get_layer(r->m, golden_text(then, "layer", ""));
    cJSON_ArrayForEach(shape, golden_get(then, "shapes"))
    {
        hr_shape s = {0};
        cJSON_ArrayForEach(dim, shape) s.dims[s.rank++] = golden_number_int64(dim);
        (void)hr_tensor_new(&weights[count++], HR_FLOAT, s, NULL);
    }
    if (strcmp(op, "set_weights") == 0) (void)hr_set_weights(r->m, weights, count, err);
    for (int i = 0; i < count; i++) hr_tensor_clear(&weights[i]);
}

static golden_result run_error(run *r, const char *class)
{
    const cJSON *json = r->c->json, *then;
    hr_error err = {0};
    golden_result result;
    (void)golden_text(json, "stage", "");
    if (golden_get(json, "then")) golden_whole(golden_get(json, "then"));
    golden_whole(golden_get(json, "fit"));
    if (golden_get(json, "compile") && !hr_model_error(r->m) &&
        !keras_compile(r->c, r->m, golden_get(json, "compile"), r->tf_compat))
        return GOLDEN_NOT_BUILT;
    if (golden_get(json, "fit") && !hr_model_error(r->m)) {
        (void)fit(r, &result);
        if (result != GOLDEN_AGREES) return result;
    }
    cJSON_ArrayForEach(then, golden_get(json, "then")) if (!hr_model_error(r->m)) call(r, then, &err);
    return compare_error(r, class, err.code != HR_OK ? &err : hr_model_error(r->m));
}

/* The default mode does as another case where Keras fails: it takes what Keras refuses. */
static golden_result run_as_other(run *r)
{
    (void)run_error(r, "");
    return hr_model_error(r->m) ? failed(r, "fit") : GOLDEN_AGREES;
}

static golden_result run_whole(run *r)
{
    const cJSON *otherwise = r->tf_compat ? NULL : golden_get(r->c->json, "default");
    const char *as = golden_text(otherwise, "as", NULL),
               *class = golden_error_class(golden_expectation(r->c->json, r->tf_compat));
    if (as || golden_bool(otherwise, "accept", false)) return run_as_other(r);
    if (class) return run_error(r, class);
    if (hr_model_error(r->m)) return failed(r, "build");
    for (size_t i = 0; i < sizeof steps_of_a_run / sizeof *steps_of_a_run; i++) {
        const golden_result result = steps_of_a_run[i](r);
        if (result != GOLDEN_AGREES) return result;
    }
    return GOLDEN_AGREES;
}

golden_result keras_run(golden_case *c, bool tf_compat)
{
    run r = {.c = c, .tf_compat = tf_compat, .expect = golden_get(c->json, "expect")};
    const cJSON *data = golden_get(c->json, "data");
    (void)golden_bool(c->json, "no_forward", false); /* how the case was recorded */
    if (golden_get(c->json, "tf_compat_only") && !tf_compat) {
        golden_whole(c->json);
        return GOLDEN_AGREES;
    }
    warnings = 0;
    r.m = keras_model(c, golden_get(c->json, "model"));
    if (!r.m) return strstr(c->why, "layer ") ? GOLDEN_NOT_BUILT : GOLDEN_DIFFERS;
    golden_result result = keras_read_data(c, data, "", &r.data) && keras_read_data(c, data, "val_", &r.validation)
                               ? GOLDEN_AGREES
                               : GOLDEN_DIFFERS;
    hr_set_log(count_warnings, NULL);
    if (result == GOLDEN_AGREES) result = run_whole(&r);
    const bool report = cJSON_IsTrue(golden_get(golden_get(c->json, "default"), "report"));
    if (result == GOLDEN_AGREES && report && !tf_compat && warnings == 0)
        result = golden_differs(c, "nothing is reported");
    hr_set_log(NULL, NULL);
    keras_data_clear(&r.data);
    keras_data_clear(&r.validation);
    hr_model_free(r.m);
    return result;
}
