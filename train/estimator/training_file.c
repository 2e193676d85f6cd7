/* Reads a training from a file. Sections point to each other by names; each is read by the room that owns its words. */
#include "base/text.h"
#include "feature_columns/config/columns_section.h"
#include "io/config_file.h"
#include "io/match.h"
#include "io/schema/schema.h"
#include "train/estimator/estimator_internal.h"
#include <headrace/training_file.h>
#include <stdio.h>
#include <string.h>

struct hr_training {
    hr__config *config;
    hr__schema_file schema_file;
    hr_schema schema; /* the same as the columns want it; owns field */
    hr__config_columns *columns;
    hr_column_list linear, dnn;
    hr_parse_spec *spec, *unlabelled; /* with the label, without */
    hr_optimizer *linear_optimizer, *dnn_optimizer;
    hr_activation_fn *activation;
    const hr__canned *kind;
    int64_t *units, unit_count;
    double dropout;
    char *model_dir, *files, *eval_files;
    int64_t batch_size, epochs, shuffle, cycle_length, max_steps, seed;
    bool drop_remainder; /* of the training: a last batch with fewer rows is left out */
    hr_run_config run;
    hr__text identity;
};

/* ---- sections ---- */

static hr_status training_file_read_schema(hr_training *t, const hr__node *root, hr_error *err)
{
    const hr__node *section;
    HR_TRY(hr__node_need(root, "schema", &section, err));
    HR_TRY(hr__schema_read(section, &t->schema_file, err));
    HR_TRY(hr__schema_stored(&t->schema_file, &t->schema, err));
    if (t->schema_file.label < 0)
        return hr__node_fail(section, err, HR_INVALID_ARGUMENT, "training.label",
                             "expected a label: the field that the model learns to predict");
    const hr__schema_field *label = &t->schema_file.field[t->schema_file.label];
    if (label->stored != HR_STRING) return HR_OK;
    return hr__node_fail(hr__node_get(section, "label"), err, HR_INVALID_ARGUMENT, "training.label",
                         "expected a field of numbers from 0 to 1, but '%.60s' is a string; convert it to 0 and 1",
                         label->name);
}

static hr_status training_file_read_columns(hr_training *t, const hr__node *root, hr_error *err)
{
    const hr__node *section;
    HR_TRY(hr__node_need(root, "columns", &section, err));
    const hr__node *defaults = hr__node_get(hr__node_get(root, "schema"), "default");
    return hr__columns_from_config(section, &t->schema, defaults, &t->columns, err);
}

static hr_status read_optimizer(const hr__node *model, const char *key, hr_optimizer **out, hr_error *err)
{
    const hr__node *node = hr__node_get(model, key);
    if (!node) return HR_OK;
    if (node->kind == HR__SCALAR) {
        *out = hr_optimizer_named(node->text, NULL, 0, false);
    } else if (node->kind != HR__MAPPING || node->count != 1) {
        return hr__node_expected(node, "one optimizer, such as {adagrad: {learning_rate: 0.05}}", err);
    } else {
        const hr__node *options = node->item[0];
        hr_parameter parameter[16];
        int count = 0;
        const char *const *known = hr_optimizer_parameters(node->key[0]->text);
        if (known && !hr__node_is_null(options)) HR_TRY(hr__config_check_keys(options, known, err));
        for (int64_t i = 0; i < options->count && count < 16; i++) {
            hr_parameter *p = &parameter[count++];
            p->name = options->key[i]->text;
            HR_TRY(hr__node_double(options->item[i], &p->value, err));
            if (strcmp(p->name, "learning_rate") == 0 && !(p->value > 0))
                return hr__node_expected(options->item[i], "a learning rate above 0", err);
        }
        *out = hr_optimizer_named(node->key[0]->text, parameter, count, false);
    }
    const hr_error *failed = hr_optimizer_error(*out);
    if (!failed) return HR_OK;
    return hr__node_fail(node, err, failed->code, failed->kind, "%s", failed->text);
}

static hr_status read_units(hr_training *t, const hr__node *model, hr_error *err)
{
    const hr__node *list;
    HR_TRY(hr__node_need(model, "dnn_hidden_units", &list, err));
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    t->units = hr_calloc((size_t)list->count + 1, sizeof *t->units);
    if (!t->units) return hr_no_memory(err, "hidden units");
    for (int64_t i = 0; i < list->count; i++) HR_TRY(hr__node_int64(list->item[i], 1, 1000000, &t->units[i], err));
    t->unit_count = list->count;
    return HR_OK;
}

static hr_status read_dropout(hr_training *t, const hr__node *model, hr_error *err)
{
    HR_TRY(hr__config_double(model, "dnn_dropout", &t->dropout, err));
    if (t->dropout >= 0 && t->dropout < 1) return HR_OK;
    return hr__node_expected(hr__node_get(model, "dnn_dropout"), "a probability below 1", err);
}

static hr_status read_activation(hr_training *t, const hr__node *model, hr_error *err)
{
    const char *names[32];
    int64_t count = 0, which = 0;
    while (count < 32 && (names[count] = hr_activation_name_at((int)count))) count++;
    const hr__node *node = hr__node_get(model, "dnn_activation_fn");
    if (!node) return HR_OK;
    HR_TRY(hr__node_choice(node, "activation", names, count, &which, err));
    t->activation = hr_activation_named(names[which]);
    return HR_OK;
}

/* What the layers would refuse later is refused here, at its place. */
static hr_status training_file_check_columns(hr_column_list columns, hr_column_layer layer, const hr__node *at,
                                             hr_error *err)
{
    hr_error refused;
    const hr_feature_column **sorted = hr_calloc((size_t)columns.count + 1, sizeof *sorted);
    if (!sorted) return hr_no_memory(err, "a list of columns");
    hr_status st = hr_sort_columns(columns, layer, sorted, &refused);
    hr_free(sorted);
    if (st == HR_OK) return HR_OK;
    return hr__node_fail(at, err, st, refused.kind, "%s", refused.text);
}

static hr_status training_file_read_list(hr_training *t, const hr__node *model, const char *key, hr_column_layer layer,
                                         hr_column_list *out, hr_error *err)
{
    const hr__node *list;
    HR_TRY(hr__node_need(model, key, &list, err));
    HR_TRY(hr__column_list_from_config(t->columns, list, out, err));
    for (int i = 0; i < out->count; i++) {
        hr_column_list one = {out->column + i, 1};
        HR_TRY(training_file_check_columns(one, layer, i < list->count ? list->item[i] : list, err));
    }
    return training_file_check_columns(*out, layer, list, err);
}

/* The estimator by the file, or by `asked`, if that is not NULL: it is said over the file, which has one all the same. */
static hr_status read_estimator(hr_training *t, const hr__node *model, const char *asked, hr_error *err)
{
    const char *names[32];
    char choice[512] = "";
    int64_t count = 0, which = 0;
    const hr__node *node;
    HR_TRY(hr__node_need(model, "estimator", &node, err));
    while (count < 32 && (names[count] = hr_estimator_name_at((int)count))) count++;
    HR_TRY(hr__node_choice(node, "estimator", names, count, &which, err));
    t->kind = hr__canned_named(asked ? asked : names[which]);
    if (t->kind) return HR_OK;
    for (int64_t i = 0, at = 0; i < count && at < (int64_t)sizeof choice; i++)
        at += snprintf(choice + at, sizeof choice - (size_t)at, "%s%s",
                       i == 0          ? ""
                       : i < count - 1 ? ", "
                                       : " or ",
                       names[i]);
    return hr_fail(err, HR_INVALID_ARGUMENT, "training.estimator", "expected %s, found \"%s\"", choice, asked);
}

static hr_status read_model(hr_training *t, const hr__node *root, const hr_training_opts *o, hr_error *err)
{
    static const char *const keys[] = {"estimator",     "linear_feature_columns", "linear_optimizer",
                                       "dnn_optimizer", "dnn_feature_columns",    "dnn_hidden_units",
                                       "dnn_dropout",   "dnn_activation_fn",      NULL};
    const hr__node *model;
    HR_TRY(hr__node_need(root, "model", &model, err));
    HR_TRY(hr__config_check_keys(model, keys, err));
    HR_TRY(read_estimator(t, model, o->estimator, err));
    if (t->kind->linear) {
        HR_TRY(training_file_read_list(t, model, "linear_feature_columns", HR_LINEAR_MODEL, &t->linear, err));
        HR_TRY(read_optimizer(model, "linear_optimizer", &t->linear_optimizer, err));
    }
    if (!t->kind->dnn) return HR_OK;
    HR_TRY(training_file_read_list(t, model, "dnn_feature_columns", HR_INPUT_LAYER, &t->dnn, err));
    HR_TRY(read_optimizer(model, "dnn_optimizer", &t->dnn_optimizer, err));
    HR_TRY(read_units(t, model, err));
    HR_TRY(read_dropout(t, model, err));
    return read_activation(t, model, err);
}

static hr_status training_file_read_numbers(hr_training *t, const hr__node *train, hr_error *err)
{
    hr_run_config *r = &t->run;
    HR_TRY(hr__config_int64(train, "batch_size", 1, 1 << 24, &t->batch_size, err));
    HR_TRY(hr__config_bool(train, "drop_remainder", &t->drop_remainder, err));
    HR_TRY(hr__config_int64(train, "epochs", -1, INT64_MAX, &t->epochs, err));
    if (t->epochs == 0) return hr__node_expected(hr__node_get(train, "epochs"), "at least 1, or -1: for ever", err);
    HR_TRY(hr__config_int64(train, "shuffle", 0, INT64_MAX / 2, &t->shuffle, err));
    HR_TRY(hr__config_int64(train, "cycle_length", 1, 4096, &t->cycle_length, err));
    HR_TRY(hr__config_int64(train, "max_steps", 1, INT64_MAX, &t->max_steps, err));
    HR_TRY(hr__config_int64(train, "seed", 0, INT64_MAX, &t->seed, err));
    HR_TRY(hr__config_int64(train, "save_checkpoints_steps", -1, INT64_MAX, &r->save_checkpoints_steps, err));
    HR_TRY(hr__config_double(train, "save_checkpoints_secs", &r->save_checkpoints_secs, err));
    HR_TRY(hr__config_int64(train, "save_summary_steps", -1, INT64_MAX, &r->save_summary_steps, err));
    return hr__config_int64(train, "log_step_count_steps", -1, INT64_MAX, &r->log_step_count_steps, err);
}

static hr_status read_train(hr_training *t, const hr__node *root, const hr_training_opts *o, hr_error *err)
{
    static const char *const keys[] = {"data",
                                       "model_dir",
                                       "files",
                                       "eval_files",
                                       "batch_size",
                                       "drop_remainder",
                                       "epochs",
                                       "shuffle",
                                       "cycle_length",
                                       "max_steps",
                                       "seed",
                                       "save_checkpoints_steps",
                                       "save_checkpoints_secs",
                                       "save_summary_steps",
                                       "log_step_count_steps",
                                       NULL};
    const hr__node *train;
    const char *data = NULL, *model_dir = "model", *files = NULL, *eval_files = NULL;
    HR_TRY(hr__node_need(root, "train", &train, err));
    HR_TRY(hr__config_check_keys(train, keys, err));
    HR_TRY(hr__config_text(train, "data", &data, err));
    HR_TRY(hr__config_text(train, "model_dir", &model_dir, err));
    HR_TRY(hr__config_text(train, "files", &files, err));
    HR_TRY(hr__config_text(train, "eval_files", &eval_files, err));
    t->batch_size = 128;
    t->epochs = 1;
    t->shuffle = 10000;
    t->cycle_length = 4;
    t->run.log_step_count_steps = 1000; /* a line for people, not one for each hundred */
    HR_TRY(training_file_read_numbers(t, train, err));
    if (o->data) data = o->data;
    if (o->seed) t->seed = *o->seed;
    if (o->max_steps) t->max_steps = o->max_steps;
    if (o->max_steps) t->epochs = -1;     /* as many as that takes, */
    if (o->epochs) t->epochs = o->epochs; /* unless they are given, too */
    if (o->batch_size) t->batch_size = o->batch_size;
    if (!files)
        return hr__node_fail(train, err, HR_INVALID_ARGUMENT, "config.missing_key",
                             "expected a key 'files': a pattern of TFRecord files");
    t->files = hr__pattern_in(data, files);
    t->eval_files = hr__pattern_in(data, eval_files);
    t->model_dir = o->model_dir ? hr_strdup(o->model_dir) : hr__path_in(data, model_dir);
    return t->files && t->model_dir && (t->eval_files || !eval_files) ? HR_OK : hr_no_memory(err, "a training");
}

/* ---- what makes this training itself ---- */

/* Where things lie and how often they are written changes no number; how long it goes on may be changed. */
static bool is_free(const char *path)
{
    static const char *const free_keys[] = {"pipeline",         "train.data",      "train.model_dir",
                                            "train.eval_files", "train.max_steps", "train.epochs",
                                            "train.save_",      "train.log_",      NULL};
    for (int i = 0; free_keys[i]; i++)
        if (strncmp(path, free_keys[i], strlen(free_keys[i])) == 0) return true;
    return false;
}

static void add_identity(hr__text *to, const hr__node *node)
{
    for (int64_t i = 0; i < node->count; i++) add_identity(to, node->item[i]);
    if (node->kind != HR__SCALAR) return;
    const size_t before = to->size;
    hr__node_path(node, to);
    if (to->failed || to->size == before) return;
    if (is_free(to->data + before)) {
        to->data[to->size = before] = '\0';
        return;
    }
    hr__text_byte(to, '=');
    for (size_t i = 0; i < node->size; i++) hr__text_byte(to, node->text[i] == '\n' ? ' ' : node->text[i]);
    hr__text_byte(to, '\n');
}

static hr_status make_identity(hr_training *t, const hr__node *root, hr_error *err)
{
    hr__text_printf(&t->identity, "estimator=%s\nseed=%lld\nbatch_size=%lld\n", t->kind->name, (long long)t->seed,
                    (long long)t->batch_size);
    add_identity(&t->identity, root);
    HR_TRY(hr__text_status(&t->identity, "a training", err));
    t->run.tf_random_seed = t->seed;
    t->run.identity = t->identity.data;
    return HR_OK;
}

/* ---- the whole ---- */

static const char *label_name(const hr_training *t) { return t->schema_file.field[t->schema_file.label].name; }

static hr_status make_specs(hr_training *t, hr_error *err)
{
    int n = 0;
    hr_feature_column **all = hr_calloc((size_t)(t->linear.count + t->dnn.count) + 1, sizeof *all);
    if (!all) return hr_no_memory(err, "a list of columns");
    for (int i = 0; i < t->linear.count; i++) all[n++] = t->linear.column[i];
    for (int i = 0; i < t->dnn.count; i++) all[n++] = t->dnn.column[i];
    const hr_column_list columns = {all, n};
    hr_status st = hr_make_parse_example_spec(columns, &t->spec, err, .file = &t->schema, .label = label_name(t));
    if (st == HR_OK) st = hr_make_parse_example_spec(columns, &t->unlabelled, err, .file = &t->schema);
    hr_free(all);
    return st;
}

static hr_status training_file_read_all(hr_training *t, const char *path, const hr_training_opts *o, hr_error *err)
{
    static const char *const keys[] = {"schema", "columns", "model", "pipeline", "train", NULL};
    HR_TRY(hr__config_open(path, &t->config, err));
    const hr__node *root = hr__config_root(t->config);
    HR_TRY(hr__config_check_keys(root, keys, err));
    HR_TRY(training_file_read_schema(t, root, err));
    HR_TRY(training_file_read_columns(t, root, err));
    HR_TRY(read_model(t, root, o, err));
    HR_TRY(read_train(t, root, o, err));
    HR_TRY(make_identity(t, root, err));
    return make_specs(t, err);
}

hr_status hr_training_open_with(const char *path, const hr_training_opts *opts, hr_training **out, hr_error *err)
{
    const hr_training_opts o = HR_OPTIONS(hr_training_opts, opts);
    if (out) *out = NULL;
    if (!path || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "training.argument", "training: expected %s, got NULL",
                       path ? "where to put it" : "the name of a file");
    hr_training *t = hr_calloc(1, sizeof *t);
    if (!t) return hr_no_memory(err, "a training");
    const hr_status st = training_file_read_all(t, path, &o, err);
    if (st == HR_OK)
        *out = t;
    else
        hr_training_free(t);
    return st;
}

void hr_training_free(hr_training *t)
{
    if (!t) return;
    hr_parse_spec_free(t->spec);
    hr_parse_spec_free(t->unlabelled);
    hr__column_list_free(&t->linear);
    hr__column_list_free(&t->dnn);
    hr__config_columns_free(t->columns);
    hr_optimizer_free(t->linear_optimizer);
    hr_optimizer_free(t->dnn_optimizer);
    hr__schema_clear(&t->schema_file);
    hr_free((void *)t->schema.field);
    hr_free(t->units);
    hr_free(t->model_dir);
    hr_free(t->files);
    hr_free(t->eval_files);
    hr__text_free(&t->identity);
    hr__config_free(t->config);
    hr_free(t);
}

/* ---- what it gives ---- */

hr_estimator *hr_training_estimator(hr_training *t)
{
    if (!t) return NULL;
    hr_classifier_opts o = {.struct_size = sizeof o,
                            .model_dir = t->model_dir,
                            .linear_feature_columns = t->linear,
                            .dnn_feature_columns = t->dnn,
                            .dnn_hidden_units = {t->units, (int)t->unit_count},
                            .linear_optimizer = hr_optimizer_ref(t->linear_optimizer),
                            .dnn_optimizer = hr_optimizer_ref(t->dnn_optimizer),
                            .dnn_activation_fn = t->activation,
                            .dnn_dropout = (float)t->dropout,
                            .config = t->run};
    return t->kind->make(&o);
}

static hr_dataset *training_file_parse(const hr_training *t, hr_dataset *ds, bool labelled, bool drop_remainder)
{
    ds = hr_batch(ds, t->batch_size, .drop_remainder = drop_remainder);
    ds = hr_parse_example(ds, labelled ? t->spec : t->unlabelled, .label = labelled ? label_name(t) : NULL);
    return hr_prefetch(ds, HR_AUTOTUNE);
}

hr_dataset *hr_training_input(void *user)
{
    const hr_training *t = user;
    if (!t) return hr_list_files(NULL); /* which says what is missing */
    hr_dataset *ds = hr_list_files(t->files, .shuffle = t->shuffle > 0, .seed = (uint64_t)t->seed);
    ds = hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = t->cycle_length);
    if (t->shuffle > 0)
        ds = hr_shuffle_and_repeat(ds, t->shuffle, .count = t->epochs, .seed = (uint64_t)t->seed, .extendable = true);
    else
        ds = hr_repeat(ds, .count = &t->epochs, .extendable = true);
    return training_file_parse(t, ds, true, t->drop_remainder);
}

/* Records that are scored are all scored. */
hr_dataset *hr_training_eval_input(void *user)
{
    const hr_training *t = user;
    if (!t) return hr_list_files(NULL);
    hr_dataset *ds = hr_list_files(t->eval_files);
    return training_file_parse(t, hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = t->cycle_length), true,
                               false);
}

/* One file after the other, so that lines of output follow their records. */
hr_dataset *hr_training_predict_input(void *user)
{
    const hr_training_predicted *p = user;
    if (!p || !p->training) return hr_list_files(NULL);
    hr_dataset *ds = p->files ? hr_from_tensor_slices(p->files, NULL, 1) : hr_list_files(p->training->eval_files);
    return training_file_parse(p->training, hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = 1), false, false);
}

const char *hr_training_model_dir(const hr_training *t) { return t ? t->model_dir : NULL; }
const char *hr_training_files(const hr_training *t) { return t ? t->files : NULL; }
const char *hr_training_eval_files(const hr_training *t) { return t ? t->eval_files : NULL; }
int64_t hr_training_batch_size(const hr_training *t) { return t ? t->batch_size : 0; }
int64_t hr_training_epochs(const hr_training *t) { return t ? t->epochs : 0; }
int64_t hr_training_max_steps(const hr_training *t) { return t ? t->max_steps : 0; }
const char *hr_training_identity(const hr_training *t) { return t ? t->identity.data : NULL; }
uint64_t hr_training_seed(const hr_training *t) { return t ? (uint64_t)t->seed : 0; }
