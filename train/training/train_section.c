/* The section `train:` of a training: where the data and the model are, and how long it goes on. */
#include "io/match.h"
#include "train/training/training_internal.h"

#include <headrace/pass.h>
#include <string.h>

static hr_status train_read_shuffle(hr_training *t, const hr__node *train, hr_error *err)
{
    const hr__node *shuffle = hr__node_get(train, "shuffle");
    const bool all = shuffle && shuffle->kind == HR__SCALAR && strcmp(shuffle->text, "all") == 0;
    if (all) t->shuffle = HR__ALL_ROWS;
    if (all || hr__config_int64(train, "shuffle", 0, INT64_MAX / 2, &t->shuffle, NULL) == HR_OK) return HR_OK;
    return hr__node_expected(shuffle, "a number of rows, or all", err);
}

static hr_status train_read_numbers(hr_training *t, const hr__node *train, hr_error *err)
{
    hr_run_config *r = &t->run;
    HR_TRY(hr__config_int64(train, "batch_size", 1, 1 << 24, &t->batch_size, err));
    HR_TRY(hr__config_bool(train, "drop_remainder", &t->drop_remainder, err));
    HR_TRY(hr__config_int64(train, "epochs", -1, INT64_MAX, &t->epochs, err));
    if (t->epochs == 0) return hr__node_expected(hr__node_get(train, "epochs"), "at least 1, or -1: for ever", err);
    HR_TRY(train_read_shuffle(t, train, err));
    HR_TRY(hr__config_int64(train, "cycle_length", 1, 4096, &t->cycle_length, err));
    HR_TRY(hr__config_int64(train, "max_steps", 1, INT64_MAX, &t->max_steps, err));
    HR_TRY(hr__config_int64(train, "seed", 0, INT64_MAX, &t->seed, err));
    HR_TRY(hr__config_int64(train, "save_checkpoints_steps", -1, INT64_MAX, &r->save_checkpoints_steps, err));
    const hr__node *secs = hr__node_get(train, "save_checkpoints_secs");
    HR_TRY(hr__config_double(train, "save_checkpoints_secs", &r->save_checkpoints_secs, err));
    if (secs && !(r->save_checkpoints_secs > 0 && r->save_checkpoints_secs <= 1e9))
        return hr__node_expected(secs, "seconds above 0, of at most 1e9", err);
    HR_TRY(hr__config_int64(train, "save_summary_steps", -1, INT64_MAX, &r->save_summary_steps, err));
    return hr__config_int64(train, "log_step_count_steps", -1, INT64_MAX, &r->log_step_count_steps, err);
}

static hr_status train_read_passes(hr_training *t, const hr__node *train, hr_error *err)
{
    const char *passes = NULL;
    HR_TRY(hr__config_text(train, "passes", &passes, err));
    if (!passes) return HR_OK;
    if (hr_rewrite_check(passes, NULL) != HR_OK)
        return hr__node_expected(hr__node_get(train, "passes"), "names of passes, as of hr_session_opts", err);
    t->run.passes = t->passes = hr_strdup(passes);
    return t->passes ? HR_OK : hr_no_memory(err, "a training");
}

static hr_status train_read_products(hr_training *t, const hr__node *train, hr_error *err)
{
    const char *products = "float";
    HR_TRY(hr__config_text(train, "products", &products, err));
    t->run.products = strcmp(products, "bfloat16") == 0 ? HR_PRODUCTS_BFLOAT16 : HR_PRODUCTS_FLOAT;
    if (t->run.products == HR_PRODUCTS_BFLOAT16 || strcmp(products, "float") == 0) return HR_OK;
    return hr__node_expected(hr__node_get(train, "products"), "float or bfloat16", err);
}

hr_status hr__training_read_train(hr_training *t, const hr__node *root, const hr_training_opts *o, hr_error *err)
{
    static const char *const keys[] = {"data",
                                       "model_dir",
                                       "files",
                                       "eval_files",
                                       "format",
                                       "csv",
                                       "require",
                                       "batch_size",
                                       "drop_remainder",
                                       "epochs",
                                       "shuffle",
                                       "cycle_length",
                                       "max_steps",
                                       "seed",
                                       "learning_rate",
                                       "save_checkpoints_steps",
                                       "save_checkpoints_secs",
                                       "save_summary_steps",
                                       "log_step_count_steps",
                                       "passes",
                                       "products",
                                       NULL};
    const hr__node *train;
    const char *model_dir = "model", *files = NULL, *eval_files = NULL;
    HR_TRY(hr__node_need(root, "train", &train, err));
    HR_TRY(hr__config_check_keys(train, keys, err));
    HR_TRY(hr__config_text(train, "model_dir", &model_dir, err));
    HR_TRY(hr__config_text(train, "files", &files, err));
    HR_TRY(hr__config_text(train, "eval_files", &eval_files, err));
    HR_TRY(train_read_passes(t, train, err));
    HR_TRY(train_read_products(t, train, err));
    t->batch_size = 128;
    t->epochs = 1;
    t->shuffle = 10000;
    t->cycle_length = 4;
    t->run.log_step_count_steps = 1000; /* a line for people, not one for each hundred */
    HR_TRY(train_read_numbers(t, train, err));
    HR_TRY(hr__training_read_rows(t, train, err));
    if (o->seed) t->seed = *o->seed;
    if (o->max_steps) t->max_steps = o->max_steps;
    if (o->max_steps) t->epochs = -1;     /* as many as that takes, */
    if (o->epochs) t->epochs = o->epochs; /* unless they are given, too */
    if (o->batch_size) t->batch_size = o->batch_size;
    if (!files)
        return hr__node_fail(train, err, HR_INVALID_ARGUMENT, "config.missing_key",
                             "expected a key 'files': a pattern of the files to train on");
    t->files = hr__pattern_in(t->data, files);
    t->eval_files = hr__pattern_in(t->data, eval_files);
    t->model_dir = o->model_dir ? hr_strdup(o->model_dir) : hr__path_in(t->data, model_dir);
    return t->files && t->model_dir && (t->eval_files || !eval_files) ? HR_OK : hr_no_memory(err, "a training");
}
