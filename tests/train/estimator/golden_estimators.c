/* Whole trainings of TensorFlow's canned estimators, repeated step by step: the same rows, the same initial weights.
 * Losses, weights and slots come from our own training; evaluation and predictions are those of TensorFlow's final
 * weights. */
#include "tests/feature_columns/case_columns.h"
#include <headrace/checkpoint.h>
#include <headrace/estimator.h>
#include <headrace/io.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 512, MAX_UNITS = 16 };
typedef struct estimator_run {
    golden_case *c;
    const cJSON *json, *params, *expect, *data;
    case_columns linear, dnn;
    cJSON *lists[2]; /* their JSON, which they borrow from */
    hr_feature feature[MAX_FEATURES];
    hr_parse_spec spec;
    hr_estimator *estimator;
    char label[64];
    int64_t rows, batch;
    bool endless;
    float loss[MAX_STEPS];
    int steps, predicted;
    golden_result result;
} estimator_run;

/* ---- data ---- */

/* Row r of a column. */
static void add_row(hr_example *example, const char *name, const hr_tensor *t, int64_t r)
{
    int64_t width = t->count / t->shape.dims[0];
    hr_tensor row =
        hr_tensor_of(t->dtype, HR_SHAPE(width), (const char *)t->data + (size_t)(r * width) * hr_dtype_size(t->dtype));
    hr_example_add(example, (hr_view){name, (int64_t)strlen(name)}, &row);
}

static hr_status write_rows(const hr_tensor *column, const estimator_run *run, hr_error *err)
{
    hr_record_writer *w;
    hr_view bytes;
    hr_example *example = hr_example_new();
    hr_status st = hr_record_writer_open("rows.tfrecord", NULL, &w, err);
    for (int64_t r = 0; r < run->rows && st == HR_OK; r++) {
        hr_example_clear(example);
        for (int i = 0; i < run->spec.features; i++) add_row(example, run->feature[i].key, &column[i], r);
        st = hr_example_bytes(example, &bytes, err);
        if (st == HR_OK) st = hr_record_write(w, bytes.data, (size_t)bytes.size, err);
    }
    if (st == HR_OK) st = hr_record_writer_commit(w, err);
    hr_example_free(example);
    return st;
}

/* Writes the data as records, and makes the spec that reads them back into the same dense components. */
static hr_status write_data(estimator_run *run, hr_error *err)
{
    hr_tensor column[MAX_FEATURES];
    int n = 0;
    const cJSON *json;
    cJSON_ArrayForEach(json, golden_fields(golden_get(run->data, "columns")))
    {
        if (n == MAX_FEATURES || !golden_tensor(json, &column[n])) continue;
        hr_shape shape = {.rank = column[n].shape.rank - 1};
        for (int i = 0; i < shape.rank; i++) shape.dims[i] = column[n].shape.dims[i + 1];
        run->rows = column[n].shape.dims[0];
        run->feature[n] = (hr_feature){.key = json->string, .dtype = column[n].dtype, .shape = shape};
        n++;
    }
    run->spec = (hr_parse_spec){run->feature, n};
    hr_status st = write_rows(column, run, err);
    for (int i = 0; i < n; i++) golden_tensor_clear(&column[i]);
    return st;
}

static hr_dataset *input_fn(void *user)
{
    const estimator_run *run = user;
    hr_dataset *ds = hr_tfrecord("rows.tfrecord");
    if (run->endless) ds = hr_repeat(ds, .count = NULL);
    return hr_parse_example(hr_batch(ds, run->batch), &run->spec, .label = run->label);
}

/* ---- the estimator ---- */

static const cJSON *first_of(const cJSON *object, const char *a, const char *b)
{
    const cJSON *found = golden_get(object, a);
    return found ? found : golden_get(object, b);
}

static void build_columns(estimator_run *run, int which, case_columns *to, const char *argument)
{
    golden_case list = *run->c;
    cJSON *json = cJSON_CreateObject();
    const cJSON *columns = golden_get(golden_get(run->json, "columns"), argument);
    if (columns) cJSON_AddItemReferenceToObject(json, "columns", (cJSON *)(uintptr_t)columns);
    list.json = json;
    case_columns_build(to, &list, false);
    to->c = run->c;
    run->lists[which] = json;
}

/* Only numbers; what is not known here sticks to the optimizer. */
static hr_optimizer *optimizer_of(const cJSON *json, int columns, float default_rate)
{
    hr_parameter parameter[16];
    int count = 0;
    const cJSON *field;
    if (!json) return NULL;
    if (cJSON_IsNull(json)) return hr_ftrl(fminf(default_rate, 1 / sqrtf((float)columns)));
    if (cJSON_IsString(json)) return hr_optimizer_named(json->valuestring, NULL, 0, false);
    cJSON_ArrayForEach(field, golden_fields(json))
    {
        if (strcmp(field->string, "class") == 0 || count == 16) continue;
        if (cJSON_IsObject(field)) return hr_optimizer_named("with a schedule", NULL, 0, false);
        parameter[count].name = field->string;
        parameter[count++].value = cJSON_IsBool(field) ? cJSON_IsTrue(field) : golden_number_double(field);
    }
    return hr_optimizer_named(golden_text(json, "class", ""), parameter, count, false);
}

static const char *what_is_missing(const cJSON *json, const cJSON *params)
{
    static const char *const known[] = {"hidden_units",     "dnn_hidden_units", "optimizer",
                                        "linear_optimizer", "dnn_optimizer",    "loss_reduction"};
    const char *class = golden_text(json, "estimator", "a model function");
    const cJSON *p;
    if (strcmp(golden_text(json, "api", ""), "v2") != 0) return "estimators of the first generation";
    if (strcmp(class, "LinearClassifier") != 0 && strcmp(class, "DNNClassifier") != 0 &&
        strcmp(class, "DNNLinearCombinedClassifier") != 0)
        return class;
    if (golden_get(json, "previous")) return "warm starts";
    if (golden_get(json, "tf_compat_only")) return "estimators in tf_compat mode";
    cJSON_ArrayForEach(p, golden_fields(params))
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], p->string) != 0) i++;
        if (i == sizeof known / sizeof *known) return p->string;
    }
    return NULL;
}

static hr_reduction reduction_of(const cJSON *params)
{
    const char *name = golden_text(params, "loss_reduction", "sum_over_batch_size");
    return strcmp(name, "sum") == 0 ? HR_REDUCTION_SUM : HR_SUM_OVER_BATCH_SIZE;
}

/* False: an optimizer cannot be built. */
static bool build_estimator(estimator_run *run)
{
    static int64_t units[MAX_UNITS];
    const cJSON *p = run->params, *hidden = first_of(p, "dnn_hidden_units", "hidden_units");
    const char *class = golden_text(run->json, "estimator", "");
    bool linear = strcmp(class, "LinearClassifier") == 0, dnn = strcmp(class, "DNNClassifier") == 0;
    hr_classifier_opts o = {.struct_size = sizeof o,
                            .model_dir = "model",
                            .loss_reduction = reduction_of(p),
                            .config = {.save_summary_steps = -1, .log_step_count_steps = -1}};
    for (int i = 0; i < cJSON_GetArraySize(hidden) && i < MAX_UNITS; i++)
        units[o.dnn_hidden_units.count++] = golden_number_int64(cJSON_GetArrayItem(hidden, i));
    o.dnn_hidden_units.units = units;
    build_columns(run, 0, &run->linear, linear ? "feature_columns" : "linear_feature_columns");
    build_columns(run, 1, &run->dnn, dnn ? "feature_columns" : "dnn_feature_columns");
    o.linear_feature_columns = case_columns_list(&run->linear);
    o.dnn_feature_columns = case_columns_list(&run->dnn);
    const cJSON *wide = golden_get(p, linear ? "optimizer" : "linear_optimizer");
    const cJSON *deep = golden_get(p, dnn ? "optimizer" : "dnn_optimizer");
    if (!dnn) o.linear_optimizer = optimizer_of(wide, run->linear.columns, 0.2f);
    if (!linear) o.dnn_optimizer = optimizer_of(deep, run->dnn.columns, 0.05f);
    const hr_error *failed = o.linear_optimizer ? hr_optimizer_error(o.linear_optimizer) : NULL;
    if (!failed && o.dnn_optimizer) failed = hr_optimizer_error(o.dnn_optimizer);
    if (failed) {
        run->result = golden_not_built(run->c, "%s", failed->text);
        hr_optimizer_free(o.linear_optimizer);
        hr_optimizer_free(o.dnn_optimizer);
        return false;
    }
    run->estimator = linear ? hr_linear_classifier_with(&o)
                     : dnn  ? hr_dnn_classifier_with(&o)
                            : hr_dnn_linear_combined_classifier_with(&o);
    return true;
}

/* ---- a hook that sets the initial weights and notes the losses ---- */

static hr_status set_initial(void *state, hr_monitored_session *m, hr_error *err)
{
    const estimator_run *run = *(estimator_run **)state;
    const cJSON *json;
    cJSON_ArrayForEach(json, golden_fields(golden_get(run->json, "initial")))
    {
        hr_tensor value;
        const hr_variable_info *info = hr_variable_named(hr_monitored_graph(m), json->string);
        if (!info) return hr_fail(err, HR_NOT_FOUND, "test.variable", "no variable %s", json->string);
        if (!golden_tensor(json, &value)) return hr_fail(err, HR_INTERNAL, "test.variable", "%s", json->string);
        hr_status st = hr_session_set(hr_monitored_raw(m), info->handle, &value, err);
        golden_tensor_clear(&value);
        if (st != HR_OK) return st;
    }
    return HR_OK;
}

static hr_status fetch_loss(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    int count;
    (void)state;
    return hr_request_fetch(request, hr_get_collection(hr_monitored_graph(m), "losses", &count)[0], err);
}

static hr_status note_loss(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    estimator_run *run = *(estimator_run **)state;
    (void)m, (void)err;
    if (run->steps < MAX_STEPS) run->loss[run->steps++] = *(const float *)results[0].data;
    return HR_OK;
}

static const hr_hook_kind watching_kind = {
    .head = HR_HOOK_HEAD,
    .name = "watching",
    .state_size = sizeof(estimator_run *),
    .after_create_session = set_initial,
    .before_run = fetch_loss,
    .after_run = note_loss,
};

/* ---- comparing ---- */

static golden_result compare_final(estimator_run *run)
{
    const cJSON *json;
    hr_error err = {0};
    hr_bundle *b;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "model/model.ckpt-%d", run->steps);
    if (hr_bundle_open(prefix, &b, &err) != HR_OK) return golden_differs(run->c, "%s", err.text);
    golden_result result = GOLDEN_AGREES;
    cJSON_ArrayForEach(json, golden_fields(golden_get(run->expect, "final")))
    {
        hr_tensor got;
        if (result != GOLDEN_AGREES) break;
        if (hr_bundle_read(b, json->string, &got, &err) != HR_OK) {
            result = golden_differs(run->c, "%s", err.text);
            break;
        }
        if (!golden_equal_json(run->c, json->string, json, &got)) result = GOLDEN_DIFFERS;
        hr_tensor_clear(&got);
    }
    hr_bundle_free(b);
    return result;
}

static golden_result train(estimator_run *run)
{
    hr_hook *hook = hr_hook_new(&watching_kind, &run);
    run->batch = golden_int(run->json, "batch_size", 1);
    run->endless = true;
    if (hr_estimator_train(run->estimator, input_fn, run, .steps = golden_int(run->json, "steps", 1), .hooks = &hook,
                           .hook_count = 1) != HR_OK)
        return golden_differs(run->c, "training: %s", hr_estimator_error(run->estimator)->text);
    hr_tensor losses = hr_tensor_of(HR_FLOAT, HR_SHAPE(run->steps), run->loss);
    if (!golden_equal_json(run->c, "loss", golden_get(run->expect, "loss"), &losses)) return GOLDEN_DIFFERS;
    return compare_final(run);
}

/* TensorFlow's final variables as a checkpoint. */
static hr_status write_final(const estimator_run *run, hr_error *err)
{
    hr_bundle_writer *w;
    const cJSON *json;
    HR_TRY(hr_bundle_writer_open("model/final", &w, err));
    hr_status st = HR_OK;
    cJSON_ArrayForEach(json, golden_fields(golden_get(run->expect, "final")))
    {
        hr_tensor value;
        if (st != HR_OK || !golden_tensor(json, &value)) continue;
        st = hr_bundle_add(w, json->string, &value, err);
        golden_tensor_clear(&value);
    }
    if (st == HR_OK) return hr_bundle_writer_commit(w, err);
    hr_bundle_writer_discard(w);
    return st;
}

static golden_result evaluate(estimator_run *run)
{
    const cJSON *json;
    const hr_estimator *e = run->estimator;
    const cJSON *tolerance = golden_get(run->json, "tolerance");
    double rtol = golden_number_double(golden_get(tolerance, "rtol"));
    run->batch = golden_int(run->json, "eval_batch_size", 1);
    run->endless = false;
    if (hr_estimator_evaluate(run->estimator, input_fn, run, .checkpoint_path = "model/final") != HR_OK)
        return golden_differs(run->c, "evaluating: %s", hr_estimator_error(e)->text);
    cJSON_ArrayForEach(json, golden_fields(golden_get(run->expect, "evaluate")))
    {
        double expected = golden_number_double(json), got = hr_estimator_result(e, json->string);
        if (!(fabs(expected - got) <= 1e-6 + (rtol + 1e-6) * fabs(expected)))
            return golden_differs(run->c, "%s is %.9g, expected %.9g", json->string, got, expected);
    }
    if (hr_estimator_results(e) != cJSON_GetArraySize(golden_get(run->expect, "evaluate")))
        return golden_differs(run->c, "%d results", hr_estimator_results(e));
    return GOLDEN_AGREES;
}

/* The first rows lie in one batch. */
static hr_status compare_predictions(const hr_element *element, const char *const *names, const hr_tensor *out,
                                     int count, void *user, hr_error *err)
{
    estimator_run *run = user;
    const cJSON *json;
    (void)element, (void)err;
    cJSON_ArrayForEach(json, golden_fields(golden_get(run->expect, "predict")))
    {
        int i = 0;
        while (i < count && strcmp(names[i], json->string) != 0) i++;
        if (i == count) {
            run->result = golden_differs(run->c, "no prediction '%s'", json->string);
            return HR_END;
        }
        hr_tensor first = out[i];
        int64_t rows = golden_number_int64(cJSON_GetArrayItem(golden_get(json, "shape"), 0));
        first.count = first.count / first.shape.dims[0] * rows;
        first.shape.dims[0] = rows;
        if (!golden_equal_json(run->c, json->string, json, &first)) {
            run->result = GOLDEN_DIFFERS;
            return HR_END;
        }
        run->predicted++;
    }
    return HR_END;
}

static golden_result predict(estimator_run *run)
{
    run->batch = run->rows;
    run->result = GOLDEN_AGREES;
    hr_status st =
        hr_estimator_predict(run->estimator, input_fn, run, compare_predictions, run, .checkpoint_path = "model/final");
    if (st != HR_OK) return golden_differs(run->c, "predicting: %s", hr_estimator_error(run->estimator)->text);
    return run->result;
}

/* ---- a case ---- */

static cJSON *read_data(const golden_case *c)
{
    hr_view text = golden_file(c, golden_text(c->json, "data", ""));
    cJSON *data = text.size >= 0 ? cJSON_ParseWithLength(text.data, (size_t)text.size) : NULL;
    free((void *)text.data);
    return data;
}

static golden_result run_built(estimator_run *run)
{
    hr_error err = {0};
    const char *not_built = run->linear.not_built ? run->linear.not_built : run->dnn.not_built;
    if (not_built) return golden_not_built(run->c, "%s", not_built);
    if (write_data(run, &err) != HR_OK) return golden_differs(run->c, "%s", err.text);
    golden_result result = train(run);
    if (result != GOLDEN_AGREES) return result;
    if (write_final(run, &err) != HR_OK) return golden_differs(run->c, "%s", err.text);
    result = evaluate(run);
    return result == GOLDEN_AGREES ? predict(run) : result;
}

static golden_result run_case(golden_case *c)
{
    static estimator_run run;
    run = (estimator_run){.c = c,
                          .json = c->json,
                          .params = golden_get(c->json, "params"),
                          .expect = golden_get(golden_expectation(c->json, false), "expect")};
    const char *missing = what_is_missing(run.json, run.params);
    if (missing) return golden_not_built(c, "%s", missing);
    golden_whole(golden_get(run.expect, "effective")); /* what a default stands for: the weights show it */
    if (golden_get(c->json, "error")) return golden_not_built(c, "what TensorFlow fails at");
    if (system("rm -rf model rows.tfrecord") != 0) return golden_differs(c, "rm");
    cJSON *data = read_data(c);
    run.data = data;
    snprintf(run.label, sizeof run.label, "%s", golden_text(run.json, "label", ""));
    golden_result result = build_estimator(&run) ? run_built(&run) : run.result;
    hr_estimator_free(run.estimator);
    case_columns_free(&run.linear);
    case_columns_free(&run.dnn);
    cJSON_Delete(run.lists[0]);
    cJSON_Delete(run.lists[1]);
    cJSON_Delete(data);
    return result;
}

int main(void) { return golden_main("estimators", GOLDEN_ROOT, run_case); }
