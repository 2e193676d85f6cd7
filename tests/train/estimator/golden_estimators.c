/* Whole trainings of TensorFlow's canned estimators, repeated step by step: the same rows, the same initial weights.
 * Losses, weights and slots come from our own training; evaluation and predictions are those of TensorFlow's final
 * weights. */
#include "tests/feature_columns/case_columns.h"
#include "tests/train/estimator/case_heads.h"
#include "tests/train/estimator/case_models.h"
#include <headrace/checkpoint.h>
#include <headrace/heads.h>
#include <headrace/io.h>
#include <math.h>
#include <stddef.h>
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
    hr_parse_spec spec, *parsing;
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
    const cJSON *labels = golden_get(run->json, "label");
    labels = cJSON_IsObject(labels) ? golden_fields(labels) : NULL;
    cJSON_ArrayForEach(json, labels)
    {
        int from = 0;
        while (from < n && strcmp(run->feature[from].key, json->valuestring) != 0) from++;
        const cJSON *again = golden_get(golden_get(run->data, "columns"), json->valuestring);
        if (from == n || n == MAX_FEATURES || !golden_tensor(again, &column[n])) continue;
        run->feature[n] = run->feature[from];
        run->feature[n++].key = json->string; /* a copy of the column, by the name of the head */
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
    return hr_parse_example(hr_batch(ds, run->batch), &run->spec, .label = *run->label ? run->label : NULL);
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
    cJSON_AddStringToObject(json, "api", golden_text(run->json, "api", ""));
    list.json = json;
    case_columns_build(to, &list, false);
    to->c = run->c;
    run->lists[which] = json;
}

/* Of TensorFlow's first generation; it has other names for two kinds. */
static bool is_v1(const cJSON *json) { return strcmp(golden_text(json, "api", ""), "v1") == 0; }

static const char *kind_of(const cJSON *json)
{
    const char *class = cJSON_IsString(json) ? json->valuestring : golden_text(json, "class", "");
    const char *const other[][2] = {
        {"GradientDescent", "sgd"}, {"Momentum", "sgd"}, {"ProximalAdagrad", "proximal_adagrad"}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(class, other[i][0]) == 0) return other[i][1];
    return class;
}

/* Only numbers; what is not known here sticks to the optimizer. */
static hr_optimizer *optimizer_of(const cJSON *json, int columns, float default_rate, bool v1)
{
    hr_parameter parameter[16] = {{"learning_rate", (double)default_rate}};
    int count = 0;
    const cJSON *field;
    if (!json) return NULL;
    if (cJSON_IsNull(json)) return hr_ftrl(fminf(default_rate, 1 / sqrtf((float)columns)), .v1 = v1);
    if (cJSON_IsString(json))
        return hr_optimizer_named(kind_of(json), parameter, 1, v1 ? HR_V1_OPTIMIZERS : HR_LEGACY_OPTIMIZERS);
    cJSON_ArrayForEach(field, golden_fields(json))
    {
        const bool nesterov = strcmp(field->string, "use_nesterov") == 0;
        if (strcmp(field->string, "class") == 0 || cJSON_IsObject(field) || count == 16) continue;
        parameter[count].name = nesterov ? "nesterov" : field->string;
        parameter[count++].value = cJSON_IsBool(field) ? cJSON_IsTrue(field) : golden_number_double(field);
    }
    return hr_optimizer_named(kind_of(json), parameter, count, v1 ? HR_V1_OPTIMIZERS : HR_LEGACY_OPTIMIZERS);
}

static double number_of(const cJSON *json, const char *name, double none)
{
    const cJSON *found = golden_get(json, name);
    return found ? golden_number_double(found) : none;
}

enum { MAX_BOUNDARIES = 8 };
static hr_node piecewise(const cJSON *json, hr_node step)
{
    int64_t boundary[MAX_BOUNDARIES];
    float value[MAX_BOUNDARIES + 1];
    const cJSON *boundaries = golden_get(json, "boundaries"), *values = golden_get(json, "values"), *at;
    int count = 0, n = 0;
    cJSON_ArrayForEach(at, boundaries) if (count < MAX_BOUNDARIES) boundary[count++] = golden_number_int64(at);
    cJSON_ArrayForEach(at, values) if (n <= MAX_BOUNDARIES) value[n++] = (float)golden_number_double(at);
    return hr_piecewise_constant(step, boundary, value, count);
}

static hr_node schedule_of(const cJSON *json, hr_graph *g)
{
    const hr_node step = hr_global_step(g), none = {0};
    const char *kind = golden_text(json, "kind", "");
    const float first = (float)number_of(json, "learning_rate", number_of(json, "initial_learning_rate", 0));
    const float steps = (float)number_of(json, "decay_steps", 1), rate = (float)number_of(json, "decay_rate", 1);
    const float end = (float)number_of(json, "end_learning_rate", 0.0001), power = (float)number_of(json, "power", 1);
    const bool staircase = cJSON_IsTrue(golden_get(json, "staircase"));
    if (strcmp(kind, "exponential") == 0) return hr_exponential_decay(first, step, steps, rate, .staircase = staircase);
    if (strcmp(kind, "inverse_time") == 0)
        return hr_inverse_time_decay(first, step, steps, rate, .staircase = staircase);
    if (strcmp(kind, "polynomial") == 0)
        return hr_polynomial_decay(first, step, steps, .end_learning_rate = &end, .power = &power,
                                   .cycle = cJSON_IsTrue(golden_get(json, "cycle")));
    if (strcmp(kind, "cosine") == 0)
        return hr_cosine_decay(first, step, steps, .alpha = (float)number_of(json, "alpha", 0));
    return strcmp(kind, "piecewise") == 0 ? piecewise(json, step) : none;
}

/* Plain gradient descent by a schedule; another kind fails at its first use. */
static hr_optimizer *scheduled(hr_graph *g, void *user)
{
    const estimator_run *run = user;
    const cJSON *optimizer = golden_get(run->params, "optimizer");
    const hr_node rate = schedule_of(golden_get(optimizer, "decay_schedule"), g);
    if (strcmp(kind_of(optimizer), "sgd") != 0 && strcmp(kind_of(optimizer), "SGD") != 0) return NULL;
    return hr_sgd(0, .learning_rate_node = rate, .v1 = is_v1(run->json));
}

/* ---- what is built ---- */

typedef enum network_kind { LINEAR, DNN, COMBINED, BASELINE, NETWORKS } network_kind;
static const char *const network_name[NETWORKS] = {"Linear", "DNN", "DNNLinearCombined", "Baseline"};

/* The rest of the class after the network: "Classifier". NETWORKS: there is no such estimator. */
static network_kind network_of(const char *class, const char **rest)
{
    static const char *const ends[] = {"Classifier", "Regressor", "Estimator"};
    for (int i = 0; i < NETWORKS; i++) {
        const size_t size = strlen(network_name[i]);
        *rest = class + size;
        for (int e = 0; e < 3 && strncmp(class, network_name[i], size) == 0; e++)
            if (strcmp(*rest, ends[e]) == 0) return (network_kind)i;
    }
    return NETWORKS;
}

static const char *unknown_field(const cJSON *json, const char *const *known, size_t count)
{
    const cJSON *p;
    cJSON_ArrayForEach(p, golden_fields(json))
    {
        size_t i = 0;
        while (i < count && strcmp(known[i], p->string) != 0) i++;
        if (i == count) return p->string;
    }
    return NULL;
}

static const char *what_is_missing(const cJSON *json, const cJSON *params)
{
    static const char *const known[] = {"hidden_units",  "dnn_hidden_units", "optimizer",       "linear_optimizer",
                                        "dnn_optimizer", "loss_reduction",   "n_classes",       "label_vocabulary",
                                        "weight_column", "label_dimension",  "sparse_combiner", "batch_norm",
                                        "activation_fn"};
    static const char *const in_head[] = {"head",
                                          "name",
                                          "weight_column",
                                          "thresholds",
                                          "n_classes",
                                          "classes_for_class_based_metrics",
                                          "heads",
                                          "head_weights",
                                          "label_dimension",
                                          "loss_reduction",
                                          "label_vocabulary"};
    static const char *const heads[] = {
        "BinaryClassHead",        "MultiClassHead", "RegressionHead", "PoissonRegressionHead",
        "LogisticRegressionHead", "MultiLabelHead", "MultiHead"};
    enum { HEADS = sizeof heads / sizeof *heads };
    const char *class = golden_text(json, "estimator", "a model function"), *rest;
    const cJSON *head = golden_get(json, "head");
    if (golden_get(json, "model")) return NULL;
    if (network_of(class, &rest) == NETWORKS) return class;
    if (golden_get(json, "error") && !golden_get(json, "warm_start")) return "what TensorFlow fails at";
    size_t i = 0;
    while (head && i < HEADS && strcmp(golden_text(head, "head", ""), heads[i]) != 0) i++;
    if (i == HEADS) return golden_text(head, "head", "");
    const char *unknown = unknown_field(params, known, sizeof known / sizeof *known);
    return unknown ? unknown : unknown_field(head, in_head, sizeof in_head / sizeof *in_head);
}

/* ---- building ---- */

static bool read_optimizers(estimator_run *run, network_kind kind, hr_optimizer **linear, hr_optimizer **dnn)
{
    const cJSON *p = run->params, *one = golden_get(p, "optimizer");
    const bool v1 = is_v1(run->json), scheduled = golden_get(one, "decay_schedule");
    const cJSON *wide = kind == COMBINED ? golden_get(p, "linear_optimizer") : one;
    const cJSON *deep = kind == COMBINED ? golden_get(p, "dnn_optimizer") : one;
    if (kind != DNN && !scheduled) *linear = optimizer_of(wide, run->linear.columns, 0.2f, v1);
    if ((kind == DNN || kind == COMBINED) && !scheduled) *dnn = optimizer_of(deep, run->dnn.columns, 0.05f, v1);
    const hr_error *failed = *linear ? hr_optimizer_error(*linear) : NULL;
    if (!failed && *dnn) failed = hr_optimizer_error(*dnn);
    if (!failed) return true;
    run->result = golden_not_built(run->c, "%s", failed->text);
    hr_optimizer_free(*linear);
    hr_optimizer_free(*dnn);
    return false;
}

/* An estimator with the head that its params stand for. */
static hr_estimator *with_head(network_kind kind, const hr_head_estimator_opts *o)
{
    return kind == LINEAR ? hr_linear_estimator_with(o)
           : kind == DNN  ? hr_dnn_estimator_with(o)
                          : hr_dnn_linear_combined_estimator_with(o);
}

/* By the constructors of classifiers and regressors, with the params of the case. */
static hr_estimator *by_name(const estimator_run *run, network_kind kind, const char *rest,
                             const hr_head_estimator_opts *from)
{
    head_options h;
    case_head_options(run->params, from->v1, &h);
    hr_classifier_opts c = {.struct_size = sizeof c};
    hr_regressor_opts r = {.struct_size = sizeof r};
    memcpy(&c, from, offsetof(hr_head_estimator_opts, head));
    memcpy(&r, from, offsetof(hr_head_estimator_opts, head));
    c.struct_size = sizeof c;
    r.struct_size = sizeof r;
    c.n_classes = golden_int(run->params, "n_classes", 0);
    c.label_vocabulary = h.o.label_vocabulary;
    c.weight_column = r.weight_column = h.o.weight_column;
    c.loss_reduction = r.loss_reduction = h.o.loss_reduction;
    c.tf_compat = r.tf_compat = from->tf_compat;
    c.warm_start_from = r.warm_start_from = from->warm_start_from;
    r.label_dimension = h.o.label_dimension;
    if (strcmp(rest, "Regressor") == 0)
        return kind == LINEAR ? hr_linear_regressor_with(&r)
               : kind == DNN  ? hr_dnn_regressor_with(&r)
                              : hr_dnn_linear_combined_regressor_with(&r);
    return kind == LINEAR ? hr_linear_classifier_with(&c)
           : kind == DNN  ? hr_dnn_classifier_with(&c)
                          : hr_dnn_linear_combined_classifier_with(&c);
}

static void read_network(estimator_run *run, network_kind kind, hr_head_estimator_opts *o)
{
    static int64_t units[MAX_UNITS];
    static hr_combiner combiner;
    const cJSON *p = run->params, *hidden = first_of(p, "dnn_hidden_units", "hidden_units");
    const char *combiner_name = golden_text(p, "sparse_combiner", "sum");
    for (int i = 0; i < cJSON_GetArraySize(hidden) && i < MAX_UNITS; i++)
        units[o->dnn_hidden_units.count++] = golden_number_int64(cJSON_GetArrayItem(hidden, i));
    o->dnn_hidden_units.units = units;
    combiner = strcmp(combiner_name, "mean") == 0 ? HR_MEAN : strcmp(combiner_name, "sqrtn") == 0 ? HR_SQRTN : HR_SUM;
    o->sparse_combiner = &combiner;
    o->batch_norm = cJSON_IsTrue(golden_get(p, "batch_norm"));
    if (strcmp(golden_text(p, "activation_fn", "relu"), "tanh") == 0) o->dnn_activation_fn = hr_tanh_fn;
    build_columns(run, 0, &run->linear, kind == LINEAR ? "feature_columns" : "linear_feature_columns");
    build_columns(run, 1, &run->dnn, kind == DNN ? "feature_columns" : "dnn_feature_columns");
    o->linear_feature_columns = case_columns_list(&run->linear);
    o->dnn_feature_columns = case_columns_list(&run->dnn);
    if (golden_get(golden_get(p, "optimizer"), "decay_schedule"))
        o->linear_optimizer_fn = o->dnn_optimizer_fn = scheduled;
    o->optimizer_user = run;
}

/* ---- warm starts ---- */

/* What is between two parts of a text, in a buffer; NULL: they are not there. */
static const char *between(const char *text, const char *before, const char *after, char *out, size_t size)
{
    const char *from = strstr(text, before), *to = from ? strstr(from + strlen(before), after) : NULL;
    if (!to) return NULL;
    from += strlen(before);
    snprintf(out, size, "%.*s", (int)(to - from), from);
    return out;
}

/* The settings of a case that fails are known by TensorFlow's message alone. */
static void settings_of_error(const char *message, hr_warm_start_settings *w, const char *folder)
{
    static hr_prev_var_name name;
    static char found[256], path[1024];
    if (between(message, "not used: {'", "'}", found, sizeof found)) {
        name = (hr_prev_var_name){found, "global_step"};
        w->var_name_to_prev_var_name = (hr_prev_var_names){&name, 1};
    } else if (between(message, "Tensor ", " is not found", found, sizeof found)) {
        name = (hr_prev_var_name){"dnn/logits/bias", found};
        w->var_name_to_prev_var_name = (hr_prev_var_names){&name, 1};
    } else if (strstr(message, "any matching files for ")) {
        snprintf(path, sizeof path, "%s/%s", folder, strstr(message, "any matching files for ") + 23);
        w->ckpt_to_initialize_from = path;
    }
}

static void read_vocabularies(const cJSON *json, const char *folder, hr_warm_start_settings *w)
{
    static hr_vocab_info info[MAX_WORDS];
    static char path[MAX_WORDS][2][1024];
    const cJSON *v;
    int n = 0;
    if (json) golden_fields(json);
    cJSON_ArrayForEach(v, json)
    {
        if (n == MAX_WORDS) break;
        const char *backup = golden_text(v, "backup_initializer", "zeros");
        snprintf(path[n][0], sizeof path[n][0], "%s/%s", folder, golden_text(v, "new_vocab", ""));
        snprintf(path[n][1], sizeof path[n][1], "%s/%s", folder, golden_text(v, "old_vocab", ""));
        info[n] = (hr_vocab_info){.var_name = v->string,
                                  .new_vocab = path[n][0],
                                  .old_vocab = path[n][1],
                                  .new_vocab_size = golden_int(v, "new_vocab_size", 0),
                                  .old_vocab_size = golden_int(v, "old_vocab_size", 0),
                                  .num_oov_buckets = golden_int(v, "num_oov_buckets", 0),
                                  .axis = (int)golden_int(v, "axis", 0),
                                  .backup_initializer = strcmp(backup, "ones") == 0 ? hr_ones() : hr_zeros()};
        if (info[n].old_vocab_size < 0) info[n].old_vocab_size = 0;
        n++;
    }
    w->var_name_to_vocab_info = (hr_vocab_info_list){info, n};
}

static const hr_warm_start_settings *read_warm_start(const estimator_run *run)
{
    static hr_warm_start_settings w;
    static hr_prev_var_name name[MAX_WORDS];
    static const char *list[MAX_WORDS];
    static char path[1024];
    const cJSON *json = golden_get(run->json, "warm_start"), *vars = golden_get(json, "vars_to_warm_start"), *at;
    w = (hr_warm_start_settings){.struct_size = sizeof w, .ckpt_to_initialize_from = path};
    snprintf(path, sizeof path, "%s/%s", run->c->folder, golden_text(json, "previous", ""));
    if (cJSON_IsString(vars)) w.vars_to_warm_start = vars->valuestring;
    w.vocab_info_only = cJSON_IsNull(vars);
    w.var_list.strings = list;
    if (cJSON_IsString(vars)) vars = NULL;
    cJSON_ArrayForEach(at, vars) if (w.var_list.count < MAX_WORDS) list[w.var_list.count++] = at->valuestring;
    read_vocabularies(golden_get(json, "vocab_info"), run->c->folder, &w);
    const cJSON *names = first_of(json, "prev_var_name", "var_name_to_prev_var_name");
    int n = 0;
    if (names) golden_fields(names);
    cJSON_ArrayForEach(at, names) if (n < MAX_WORDS) name[n++] = (hr_prev_var_name){at->string, at->valuestring};
    w.var_name_to_prev_var_name = (hr_prev_var_names){name, n};
    settings_of_error(golden_text(golden_get(run->json, "error"), "tf_message", ""), &w, run->c->folder);
    return &w;
}

/* False: an optimizer, or a model, cannot be built. */
static bool build_estimator(estimator_run *run)
{
    const hr_run_config config = {.save_summary_steps = -1, .log_step_count_steps = -1};
    const char *rest;
    if (golden_get(run->json, "model")) {
        run->estimator = case_model(run->json, &config);
        if (!run->estimator) run->result = golden_not_built(run->c, "a model function");
        return run->estimator;
    }
    const network_kind kind = network_of(golden_text(run->json, "estimator", ""), &rest);
    const bool v1 = is_v1(run->json);
    hr_head_estimator_opts o = {.struct_size = sizeof o, .model_dir = "model", .v1 = v1, .config = config};
    o.tf_compat = golden_get(run->json, "tf_compat_only");
    o.warm_start_from = golden_get(run->json, "warm_start") ? read_warm_start(run) : NULL;
    read_network(run, kind, &o);
    if (!read_optimizers(run, kind, &o.linear_optimizer, &o.dnn_optimizer)) return false;
    if (kind != BASELINE && strcmp(rest, "Estimator") != 0) {
        run->estimator = by_name(run, kind, rest, &o);
        return true;
    }
    o.head = case_head(run->json, run->params, is_v1(run->json), strcmp(rest, "Regressor") == 0);
    run->estimator = kind != BASELINE
                         ? with_head(kind, &o)
                         : hr_baseline_estimator(.model_dir = "model", .head = o.head, .optimizer = o.linear_optimizer,
                                                 .v1 = v1, .config = config);
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

/* ---- a warm start: the values of the session before its first step ---- */

static hr_status compare_started(void *state, hr_monitored_session *m, hr_error *err)
{
    estimator_run *run = *(estimator_run **)state;
    const cJSON *json;
    cJSON_ArrayForEach(json, golden_fields(golden_get(run->expect, "initial")))
    {
        hr_tensor value;
        const hr_variable_info *info = hr_variable_named(hr_monitored_graph(m), json->string);
        if (!info) return hr_fail(err, HR_NOT_FOUND, "test.variable", "no variable %s", json->string);
        HR_TRY(hr_session_get(hr_monitored_raw(m), info->handle, &value, err));
        const bool equal = golden_equal_json(run->c, json->string, json, &value);
        hr_tensor_clear(&value);
        if (!equal) return hr_fail(err, HR_INTERNAL, "test.differs", "%s", run->c->why);
    }
    return HR_OK;
}

static hr_status check_kept(estimator_run *run, hr_monitored_session *m, hr_error *err)
{
    const cJSON *json;
    hr_bundle *b;
    HR_TRY(hr_bundle_open(read_warm_start(run)->ckpt_to_initialize_from, &b, err));
    hr_status st = HR_OK;
    cJSON_ArrayForEach(json, golden_get(run->expect, "not_warm_started"))
    {
        hr_tensor value, before;
        bool has = false;
        const hr_variable_info *info = hr_variable_named(hr_monitored_graph(m), json->valuestring);
        if (st != HR_OK || !info || hr_bundle_has(b, json->valuestring, &has, err) != HR_OK || !has) continue;
        st = hr_session_get(hr_monitored_raw(m), info->handle, &value, err);
        if (st == HR_OK) st = hr_bundle_read(b, json->valuestring, &before, err);
        if (st != HR_OK) continue;
        if (value.count == before.count && memcmp(value.data, before.data, (size_t)value.count * sizeof(float)) == 0)
            st = hr_fail(err, HR_INTERNAL, "test.differs", "%s was warm-started", json->valuestring);
        hr_tensor_clear(&value);
        hr_tensor_clear(&before);
    }
    hr_bundle_free(b);
    return st;
}

static hr_status look_at_start(void *state, hr_monitored_session *m, hr_error *err)
{
    HR_TRY(compare_started(state, m, err));
    HR_TRY(check_kept(*(estimator_run **)state, m, err));
    hr_request_stop(m);
    return HR_OK;
}

static const hr_hook_kind started_kind = {
    .head = HR_HOOK_HEAD,
    .name = "started",
    .state_size = sizeof(estimator_run *),
    .after_create_session = look_at_start,
};

/* No row is read: the columns alone make the variables. */
static hr_dataset *columns_input(void *user)
{
    estimator_run *run = user;
    const hr_column_list halves[] = {case_columns_list(&run->linear), case_columns_list(&run->dnn)};
    hr_feature_column *all[2 * MAX_FEATURES];
    hr_error err;
    int count = 0;
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < halves[h].count && count < 2 * MAX_FEATURES; i++) all[count++] = halves[h].column[i];
    if (hr_make_parse_example_spec(((hr_column_list){all, count}), &run->parsing, &err, .label = "label") != HR_OK)
        return NULL;
    return hr_parse_example(hr_batch(hr_tfrecord("rows.tfrecord"), 1), run->parsing, .label = "label");
}

static golden_result run_warm_start(estimator_run *run)
{
    hr_error err = {0};
    const char *class = golden_error_class(golden_expectation(run->json, false));
    hr_hook *hook = hr_hook_new(&started_kind, &run);
    if (write_rows(NULL, run, &err) != HR_OK) return golden_differs(run->c, "%s", err.text);
    const hr_status st = hr_estimator_train(run->estimator, columns_input, run, .hooks = &hook, .hook_count = 1);
    hr_parse_spec_free(run->parsing);
    const char *got = st == HR_OK ? "success" : hr_estimator_error(run->estimator)->text;
    if (class && strcmp(hr_status_name(st), class) == 0) return GOLDEN_AGREES;
    return st == HR_OK && !class ? GOLDEN_AGREES
                                 : golden_differs(run->c, "expected %s, got %s", class ? class : "OK", got);
}

/* ---- a case ---- */

static cJSON *read_data(const golden_case *c)
{
    if (!golden_get(c->json, "data")) return NULL; /* a warm start needs no rows */
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
    if (golden_get(run->json, "warm_start")) return run_warm_start(run);
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
    golden_whole(golden_get(c->json, "features"));     /* what a baseline is given: it looks at none of them */
    if (system("rm -rf model rows.tfrecord") != 0) return golden_differs(c, "rm");
    cJSON *data = read_data(c);
    run.data = data;
    const cJSON *label = golden_get(run.json, "label");
    snprintf(run.label, sizeof run.label, "%s", cJSON_IsString(label) ? label->valuestring : "");
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
