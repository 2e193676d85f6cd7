/* Reads a training from a file. Sections point to each other by names; each is read by the room that owns its words. */
#include "io/config_file.h"
#include "train/training/training_internal.h"
#include <string.h>

/* ---- sections ---- */

static hr_status training_file_read_schema(hr_training *t, const hr__node *root, hr_error *err)
{
    const hr__node *section;
    HR_TRY(hr__node_need(root, "schema", &section, err));
    HR_TRY(hr__schema_read(section, &t->schema_file, err));
    return hr__schema_stored(&t->schema_file, &t->schema, err);
}

static hr_status training_file_read_data(hr_training *t, const hr__node *root, const hr_training_opts *o, hr_error *err)
{
    const hr__node *train;
    t->data = o->data;
    HR_TRY(hr__node_need(root, "train", &train, err));
    return o->data ? HR_OK : hr__config_text(train, "data", &t->data, err);
}

static hr_status training_file_read_columns(hr_training *t, const hr__node *root, hr_error *err)
{
    const hr__node *section;
    HR_TRY(hr__node_need(root, "columns", &section, err));
    const hr__node *defaults = hr__node_get(hr__node_get(root, "schema"), "default");
    return hr__columns_from_config(section, &t->all, defaults, &t->columns, err);
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

static hr_status training_file_read_all(hr_training *t, const char *path, const hr_training_opts *o, hr_error *err)
{
    static const char *const keys[] = {"schema", "derived", "columns", "model", "pipeline", "train", NULL};
    HR_TRY(hr__config_open(path, &t->config, err));
    HR_TRY(hr__config_set_all(t->config, o->set, o->set_count, err));
    const hr__node *root = hr__config_root(t->config);
    HR_TRY(hr__config_check_keys(root, keys, err));
    HR_TRY(training_file_read_schema(t, root, err));
    HR_TRY(hr__training_read_derived(t, root, err));
    HR_TRY(hr__training_read_label(t, root, err));
    HR_TRY(training_file_read_columns(t, root, err));
    HR_TRY(training_file_read_data(t, root, o, err));
    HR_TRY(hr__training_read_model(t, root, o, err));
    HR_TRY(hr__training_check_labels(t, err));
    HR_TRY(hr__training_read_train(t, root, o, err));
    HR_TRY(make_identity(t, root, err));
    return hr__training_make_specs(t, err);
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
    for (int i = 0; i < t->result_count; i++) hr_free(t->results[i].name);
    hr_free(t->results);
    hr__training_free_specs(t);
    hr__training_free_heads(t);
    hr__training_free_warm_start(t);
    hr__training_free_rows(t);
    hr__column_list_free(&t->linear);
    hr__column_list_free(&t->dnn);
    hr__column_list_free(&t->sequence);
    hr__column_list_free(&t->context);
    hr__config_columns_free(t->columns);
    hr_optimizer_free(t->linear_optimizer);
    hr_optimizer_free(t->dnn_optimizer);
    hr__training_free_derived(t);
    hr__schema_clear(&t->schema_file);
    hr_free((void *)t->schema.field);
    hr_free(t->units);
    hr_free(t->model_dir);
    hr_free(t->passes);
    hr_free(t->files);
    hr_free(t->eval_files);
    hr__text_free(&t->identity);
    hr__config_free(t->config);
    hr_free(t);
}

/* ---- what it gives ---- */

static hr_estimator *training_file_rnn(const hr_training *t, hr_head *head)
{
    const hr_rnn_estimator_opts o = {.struct_size = sizeof o,
                                     .model_dir = t->model_dir,
                                     .sequence_feature_columns = t->sequence,
                                     .context_feature_columns = t->context,
                                     .units = {t->units, (int)t->unit_count},
                                     .cell_type = t->cell,
                                     .optimizer = hr_optimizer_ref(t->dnn_optimizer),
                                     .config = t->run,
                                     .head = head};
    return t->kind->make_rnn(&o);
}

hr_estimator *hr_training_estimator(hr_training *t)
{
    if (!t) return NULL;
    hr_head *head = hr__training_head_new(t);
    if (!head) return NULL;
    if (t->kind->make_rnn) return training_file_rnn(t, head);
    const hr_head_estimator_opts o = {.struct_size = sizeof o,
                                      .model_dir = t->model_dir,
                                      .linear_feature_columns = t->linear,
                                      .dnn_feature_columns = t->dnn,
                                      .dnn_hidden_units = {t->units, (int)t->unit_count},
                                      .linear_optimizer = hr_optimizer_ref(t->linear_optimizer),
                                      .dnn_optimizer = hr_optimizer_ref(t->dnn_optimizer),
                                      .dnn_activation_fn = t->activation,
                                      .dnn_dropout = (float)t->dropout,
                                      .batch_norm = t->batch_norm,
                                      .sparse_combiner = &t->combiner,
                                      .v1 = t->v1,
                                      .config = t->run,
                                      .head = head,
                                      .warm_start_from = t->warms ? &t->warm : NULL};
    return t->kind->make(&o);
}

const char *hr_training_model_dir(const hr_training *t) { return t ? t->model_dir : NULL; }
const char *hr_training_files(const hr_training *t) { return t ? t->files : NULL; }
const char *hr_training_eval_files(const hr_training *t) { return t ? t->eval_files : NULL; }
int64_t hr_training_batch_size(const hr_training *t) { return t ? t->batch_size : 0; }
int64_t hr_training_epochs(const hr_training *t) { return t ? t->epochs : 0; }
int64_t hr_training_max_steps(const hr_training *t) { return t ? t->max_steps : 0; }
const char *hr_training_identity(const hr_training *t) { return t ? t->identity.data : NULL; }
uint64_t hr_training_seed(const hr_training *t) { return t ? (uint64_t)t->seed : 0; }
