/* The order of a list of columns, which every layer shares, and what a layer refuses. */
#include "feature_columns/internal.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(hr_feature_column_info(*(const hr_feature_column *const *)a)->name,
                  hr_feature_column_info(*(const hr_feature_column *const *)b)->name);
}

static const char *const layer_names[] = {
    [HR_LINEAR_MODEL] = "linear_model", [HR_INPUT_LAYER] = "input_layer", [HR_SEQUENCE_FEATURES] = "sequence_features"};

static hr_status check_dense(const hr_column_info *info, hr_column_layer layer, hr_error *err)
{
    if (layer == HR_LINEAR_MODEL) return HR_OK;
    if (info->dense == HR_COLUMN_NOT_DENSE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.not_dense",
                       "%s: expected dense columns, got the %s '%s'; wrap it in an indicator_column or an "
                       "embedding_column",
                       layer_names[layer], info->kind, info->name);
    return HR_OK;
}

/* tf_compat. Otherwise what a scope does not allow becomes '_'. */
static hr_status check_name(const hr_column_info *info, hr_column_layer layer, hr_error *err)
{
    if (info->scope_is_legal) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.scope",
                   "%s: expected a column name of letters, digits and _ . - / >, got '%s', which is no name for a "
                   "variable scope; rename the feature",
                   layer_names[layer], info->name);
}

/* A linear model sums the weights of a row's ids, whatever steps they stand at. */
static hr_status check_sequence(const hr_column_info *info, hr_column_layer layer, hr_error *err)
{
    const bool wanted = layer == HR_SEQUENCE_FEATURES, ids = layer == HR_LINEAR_MODEL && info->categorical;
    if (info->sequence == wanted || ids) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.sequence", "%s: expected %s, got the %s '%s'; %s",
                   layer_names[layer], wanted ? "columns of sequences" : "no columns of sequences", info->kind,
                   info->name,
                   wanted ? "make it of a sequence_categorical_column or a sequence_numeric_column"
                          : "sequences go into SequenceFeatures");
}

/* What a column's variables are called in a layer; NULL: it has none. */
static const char *scope_in(const hr_column_info *info, hr_column_layer layer)
{
    if (layer == HR_LINEAR_MODEL) return info->scope;
    return info->dense == HR_COLUMN_LOOKUP ? info->table.scope : NULL;
}

static const char *name_in(const hr_column_info *info, hr_column_layer layer)
{
    return layer != HR_LINEAR_MODEL && info->table.shared_name ? info->table.shared_name : info->name;
}

/* Two names that become one scope would share a variable. */
static hr_status check_scopes(const hr_feature_column **sorted, int count, hr_column_layer layer, hr_error *err)
{
    for (int i = 0; i < count; i++) {
        const hr_column_info *a = hr_feature_column_info(sorted[i]);
        const char *scope = scope_in(a, layer), *name = name_in(a, layer);
        if (!scope || strcmp(name, scope) == 0) continue; /* who is called so by right is compared with, below */
        for (int k = 0; k < count; k++) {
            const hr_column_info *b = hr_feature_column_info(sorted[k]);
            const char *other = scope_in(b, layer);
            if (!other || strcmp(scope, other) != 0 || strcmp(name, name_in(b, layer)) == 0) continue;
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.scope",
                           "%s: expected names that stay different as scopes, got '%s' and '%s', which both become "
                           "'%s'; rename a feature",
                           layer_names[layer], name_in(b, layer), name, scope);
        }
    }
    return HR_OK;
}

/* Columns that look up one table agree about its size. */
static hr_status check_tables(const hr_feature_column **sorted, int count, hr_error *err)
{
    for (int i = 0; i < count; i++) {
        const hr_column_info *a = hr_feature_column_info(sorted[i]);
        for (int k = 0; k < i && a->table.shared_name; k++) {
            const hr_column_info *b = hr_feature_column_info(sorted[k]);
            if (!b->table.shared_name || strcmp(a->table.shared_name, b->table.shared_name) != 0) continue;
            if (a->num_buckets == b->num_buckets && a->table.dimension == b->table.dimension) continue;
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.shared",
                           "shared embedding '%s': expected columns of one table, got '%s' with %lld rows of %lld and "
                           "'%s' with %lld rows of %lld",
                           a->table.shared_name, b->name, (long long)b->num_buckets, (long long)b->table.dimension,
                           a->name, (long long)a->num_buckets, (long long)a->table.dimension);
        }
    }
    return HR_OK;
}

hr_status hr_sort_columns(hr_column_list list, hr_column_layer layer, const hr_feature_column **sorted, hr_error *err)
{
    const bool strict = layer == HR_TF_INPUT_LAYER || layer == HR_TF_SEQUENCE_FEATURES;
    if (strict) layer = layer == HR_TF_INPUT_LAYER ? HR_INPUT_LAYER : HR_SEQUENCE_FEATURES;
    if (list.count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.empty_list",
                       "feature columns: expected one or more, got none");
    for (int i = 0; i < list.count; i++) {
        const hr_error *failed = hr_feature_column_error(list.column[i]);
        if (failed && err) *err = *failed;
        if (failed) return failed->code;
        HR_TRY(check_dense(hr_feature_column_info(list.column[i]), layer, err));
        HR_TRY(check_sequence(hr_feature_column_info(list.column[i]), layer, err));
        if (strict) HR_TRY(check_name(hr_feature_column_info(list.column[i]), layer, err));
        sorted[i] = list.column[i];
    }
    qsort(sorted, (size_t)list.count, sizeof *sorted, by_name);
    for (int i = 1; i < list.count; i++) {
        const hr_column_info *info = hr_feature_column_info(sorted[i]);
        if (strcmp(hr_feature_column_info(sorted[i - 1])->name, info->name) == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.duplicate_name",
                           "feature columns: expected different names, got '%s' twice", info->name);
    }
    HR_TRY(check_tables(sorted, list.count, err));
    return check_scopes(sorted, list.count, layer, err);
}
