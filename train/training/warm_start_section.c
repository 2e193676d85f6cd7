/* `warm_start_from` of the section `model:`: a checkpoint, or a mapping with TensorFlow's WarmStartSettings. */
#include "io/match.h"
#include "train/ops/text/pattern.h"
#include "train/training/training_internal.h"
#include <string.h>

/* ---- which variables ---- */

static hr_status warm_check_pattern(const hr__node *node, const char **out, hr_error *err)
{
    hr_error refused = {0};
    const hr_tensor none = hr_tensor_of(HR_STRING, HR_SHAPE(0), NULL);
    HR_TRY(hr__node_text(node, out, err));
    const hr_status st = hr__pattern_begins((hr_view){*out, (int64_t)strlen(*out)}, &none, NULL, &refused);
    return st == HR_OK ? HR_OK : hr__node_fail(node, err, st, refused.kind, "%s", refused.text);
}

/* One expression for the trained variables, or a list for all. */
static hr_status warm_read_vars(hr_training *t, const hr__node *map, hr_error *err)
{
    const hr__node *node = hr__node_get(map, "vars_to_warm_start");
    if (!node || hr__node_is_null(node)) return HR_OK;
    HR_TRY(hr__node_is(node, HR__SCALAR | HR__SEQUENCE, err));
    if (node->kind == HR__SCALAR) return warm_check_pattern(node, &t->warm.vars_to_warm_start, err);
    if (node->count == 0) return hr__node_expected(node, "an expression or more", err);
    const char **all = hr_calloc((size_t)node->count, sizeof *all);
    t->warm.var_list = (hr_vocabulary_list){.strings = all, .count = node->count};
    if (!all) return hr_no_memory(err, "a warm start");
    for (int64_t i = 0; i < node->count; i++) HR_TRY(warm_check_pattern(node->item[i], &all[i], err));
    return HR_OK;
}

static hr_status warm_read_names(hr_training *t, const hr__node *map, hr_error *err)
{
    const hr__node *node = hr__node_get(map, "var_name_to_prev_var_name");
    if (!node || hr__node_is_null(node)) return HR_OK;
    HR_TRY(hr__node_is(node, HR__MAPPING, err));
    hr_prev_var_name *name = hr_calloc((size_t)node->count + 1, sizeof *name);
    t->warm.var_name_to_prev_var_name = (hr_prev_var_names){name, (int)node->count};
    if (!name) return hr_no_memory(err, "a warm start");
    for (int64_t i = 0; i < node->count; i++) {
        name[i].var_name = node->key[i]->text;
        HR_TRY(hr__node_text(node->item[i], &name[i].prev_var_name, err));
    }
    return HR_OK;
}

/* ---- vocabularies ---- */

static hr_status warm_read_initializer(const hr__node *map, hr_initializer *out, hr_error *err)
{
    static const char *const names[] = {"zeros", "ones", "truncated_normal", "random_normal", "glorot_uniform"};
    const hr__node *node = hr__node_get(map, "backup_initializer");
    double mean = 0, stddev = 1;
    int64_t which = 0;
    HR_TRY(hr__config_double(map, "mean", &mean, err));
    HR_TRY(hr__config_double(map, "stddev", &stddev, err));
    if (!(stddev >= 0)) return hr__node_expected(hr__node_get(map, "stddev"), "a deviation of 0 or more", err);
    if (node) HR_TRY(hr__node_choice(node, "initializer", names, 5, &which, err));
    *out = which == 0   ? hr_zeros()
           : which == 1 ? hr_ones()
           : which == 2 ? hr_truncated_normal(mean, stddev, 0)
           : which == 3 ? hr_random_normal(mean, stddev, 0)
                        : hr_glorot_uniform(0);
    return HR_OK;
}

static hr_status warm_read_file(hr_training *t, const hr__node *map, const char *key, char **path, hr_error *err)
{
    const hr__node *node;
    const char *name;
    HR_TRY(hr__node_need(map, key, &node, err));
    HR_TRY(hr__node_text(node, &name, err));
    *path = hr__path_in(t->data, name);
    return *path ? HR_OK : hr_no_memory(err, "a path");
}

static hr_status warm_read_vocabulary(hr_training *t, const hr__node *map, char **path, hr_vocab_info *v, hr_error *err)
{
    static const char *const keys[] = {"new_vocab",       "old_vocab", "new_vocab_size",     "old_vocab_size",
                                       "num_oov_buckets", "axis",      "backup_initializer", "mean",
                                       "stddev",          NULL};
    int64_t axis = 0;
    HR_TRY(hr__config_check_keys(map, keys, err));
    HR_TRY(warm_read_file(t, map, "new_vocab", &path[0], err));
    HR_TRY(warm_read_file(t, map, "old_vocab", &path[1], err));
    v->new_vocab = path[0];
    v->old_vocab = path[1];
    HR_TRY(hr__config_int64(map, "new_vocab_size", 1, INT32_MAX, &v->new_vocab_size, err));
    HR_TRY(hr__config_int64(map, "old_vocab_size", 1, INT32_MAX, &v->old_vocab_size, err));
    HR_TRY(hr__config_int64(map, "num_oov_buckets", 0, INT32_MAX, &v->num_oov_buckets, err));
    HR_TRY(hr__config_int64(map, "axis", 0, 1, &axis, err));
    v->axis = (int)axis;
    return warm_read_initializer(map, &v->backup_initializer, err);
}

static hr_status warm_read_vocabularies(hr_training *t, const hr__node *map, hr_error *err)
{
    const hr__node *node = hr__node_get(map, "var_name_to_vocab_info");
    if (!node || hr__node_is_null(node)) return HR_OK;
    HR_TRY(hr__node_is(node, HR__MAPPING, err));
    hr_vocab_info *info = hr_calloc((size_t)node->count + 1, sizeof *info);
    t->warm.var_name_to_vocab_info = (hr_vocab_info_list){info, (int)node->count};
    t->warm_vocabulary = hr_calloc(2 * (size_t)node->count + 1, sizeof *t->warm_vocabulary);
    if (!info || !t->warm_vocabulary) return hr_no_memory(err, "a warm start");
    for (int64_t i = 0; i < node->count; i++) {
        info[i].var_name = node->key[i]->text;
        HR_TRY(warm_read_vocabulary(t, node->item[i], t->warm_vocabulary + 2 * i, &info[i], err));
    }
    return HR_OK;
}

/* ---- the whole ---- */

static hr_status warm_read_settings(hr_training *t, const hr__node *map, hr_error *err)
{
    static const char *const keys[] = {"ckpt_to_initialize_from", "vars_to_warm_start",        "vocab_info_only",
                                       "var_name_to_vocab_info",  "var_name_to_prev_var_name", NULL};
    const hr__node *only = hr__node_get(map, "vocab_info_only");
    HR_TRY(hr__config_check_keys(map, keys, err));
    HR_TRY(warm_read_vars(t, map, err));
    HR_TRY(warm_read_names(t, map, err));
    HR_TRY(warm_read_vocabularies(t, map, err));
    HR_TRY(hr__config_bool(map, "vocab_info_only", &t->warm.vocab_info_only, err));
    if (!t->warm.vocab_info_only) return HR_OK;
    if (t->warm.var_name_to_vocab_info.count == 0)
        return hr__node_expected(only, "a vocabulary in var_name_to_vocab_info beside it", err);
    if (t->warm.vars_to_warm_start || t->warm.var_list.count)
        return hr__node_expected(hr__node_get(map, "vars_to_warm_start"), "no variables beside vocab_info_only", err);
    return HR_OK;
}

hr_status hr__training_read_warm_start(hr_training *t, const hr__node *model, hr_error *err)
{
    const hr__node *node = hr__node_get(model, "warm_start_from"), *from = node;
    const char *name;
    if (!node || hr__node_is_null(node)) return HR_OK;
    HR_TRY(hr__node_is(node, HR__SCALAR | HR__MAPPING, err));
    t->warm.struct_size = sizeof t->warm;
    if (node->kind == HR__MAPPING) {
        HR_TRY(warm_read_settings(t, node, err));
        HR_TRY(hr__node_need(node, "ckpt_to_initialize_from", &from, err));
    }
    HR_TRY(hr__node_text(from, &name, err));
    t->warm.ckpt_to_initialize_from = t->warm_path = hr__path_in(t->data, name);
    t->warms = true;
    return t->warm_path ? HR_OK : hr_no_memory(err, "a path");
}

void hr__training_free_warm_start(hr_training *t)
{
    for (int i = 0; t->warm_vocabulary && i < 2 * t->warm.var_name_to_vocab_info.count; i++)
        hr_free(t->warm_vocabulary[i]);
    hr_free(t->warm_vocabulary);
    hr_free(t->warm_path);
    hr_free((void *)(uintptr_t)t->warm.var_list.strings);
    hr_free((void *)(uintptr_t)t->warm.var_name_to_prev_var_name.name);
    hr_free((void *)(uintptr_t)t->warm.var_name_to_vocab_info.info);
}
