/* Sorts a list of columns by name, the order that every layer uses, and refuses what a layer cannot take. */
#include "base/hash_map.h"
#include "feature_columns/columns_internal.h"

#include <stdlib.h>
#include <string.h>

static int sort_columns_by_name(const void *a, const void *b)
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

/* The first column with a text, which `i` is if there was none. */
static hr_status first_of(hr__map *map, const char *text, int i, int *first, hr_error *err)
{
    const hr_status st = hr__map_add(map, text, strlen(text), i, err);
    if (st == HR_OK) *first = i;
    if (st != HR_ALREADY_EXISTS) return st;
    *first = hr__map_index(map, text);
    return HR_OK;
}

/* Two names that become one scope would share a variable. */
static hr_status check_scope(hr__map *scopes, const hr_feature_column **sorted, int i, hr_column_layer layer,
                             hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(sorted[i]);
    const char *scope = scope_in(info, layer), *name = name_in(info, layer);
    int first;
    if (!scope) return HR_OK;
    HR_TRY(first_of(scopes, scope, i, &first, err));
    const char *other = name_in(hr_feature_column_info(sorted[first]), layer);
    if (strcmp(name, other) == 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.scope",
                   "%s: expected names that stay different as scopes, got '%s' and '%s', which both become '%s'; "
                   "rename a feature",
                   layer_names[layer], name, other, scope);
}

/* Columns that look up one table agree about its size. */
static hr_status check_table(hr__map *tables, const hr_feature_column **sorted, int i, hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(sorted[i]);
    int first;
    if (!info->table.shared_name) return HR_OK;
    HR_TRY(first_of(tables, info->table.shared_name, i, &first, err));
    const hr_column_info *other = hr_feature_column_info(sorted[first]);
    if (info->num_buckets == other->num_buckets && info->table.dimension == other->table.dimension) return HR_OK;
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "column.shared",
        "shared embedding '%s': expected columns of one table, got '%s' with %lld rows of %lld and '%s' with "
        "%lld rows of %lld",
        info->table.shared_name, other->name, (long long)other->num_buckets, (long long)other->table.dimension,
        info->name, (long long)info->num_buckets, (long long)info->table.dimension);
}

static hr_status check_variables(const hr_feature_column **sorted, int count, hr_column_layer layer, hr_error *err)
{
    hr__map tables = {0}, scopes = {0};
    hr_status st = HR_OK;
    for (int i = 0; i < count && st == HR_OK; i++) st = check_table(&tables, sorted, i, err);
    for (int i = 0; i < count && st == HR_OK; i++) st = check_scope(&scopes, sorted, i, layer, err);
    hr__map_free(&tables);
    hr__map_free(&scopes);
    return st;
}

hr_status hr_sort_columns(hr_column_list list, hr_column_layer layer, const hr_feature_column **sorted, hr_error *err)
{
    const bool strict = layer == HR_TF_INPUT_LAYER || layer == HR_TF_SEQUENCE_FEATURES;
    if (strict) layer = layer == HR_TF_INPUT_LAYER ? HR_INPUT_LAYER : HR_SEQUENCE_FEATURES;
    if (list.count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.empty_list",
                       "feature columns: expected one or more, got none");
    for (int i = 0; i < list.count; i++) {
        if (!list.column || !list.column[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.empty_list",
                           "feature columns: expected %d columns, got NULL for column %d", list.count, i);
        const hr_error *failed = hr_feature_column_error(list.column[i]);
        if (failed && err) *err = *failed;
        if (failed) return failed->code;
        HR_TRY(check_dense(hr_feature_column_info(list.column[i]), layer, err));
        HR_TRY(check_sequence(hr_feature_column_info(list.column[i]), layer, err));
        if (strict) HR_TRY(check_name(hr_feature_column_info(list.column[i]), layer, err));
        sorted[i] = list.column[i];
    }
    qsort(sorted, (size_t)list.count, sizeof *sorted, sort_columns_by_name);
    for (int i = 1; i < list.count; i++) {
        const hr_column_info *info = hr_feature_column_info(sorted[i]);
        if (strcmp(hr_feature_column_info(sorted[i - 1])->name, info->name) == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.duplicate_name",
                           "feature columns: expected different names, got '%s' twice", info->name);
    }
    return check_variables(sorted, list.count, layer, err);
}
