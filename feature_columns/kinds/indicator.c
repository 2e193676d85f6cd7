/* indicator_column: how often each id of a categorical column occurs in a row. It has no work of its own in a pipeline:
 * the ids are passed on, since they are far smaller than the counts. */
#include "feature_columns/config/config_write.h"

hr_status hr__check_categorical(const char *what, const hr_feature_column *source, hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(source);
    if (info->categorical) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.source", "%s: expected a categorical column, got the %s '%s'",
                   what, info->kind, info->name);
}

static hr_status indicator_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                    hr_error *err)
{
    (void)spec;
    HR_TRY(hr__check_categorical("indicator_column", source[0], err));
    const hr_column_info *ids = hr_feature_column_info(source[0]);
    HR_TRY(hr_column_name(out, err, "%s_indicator", ids->name));
    hr_column_info *info = hr_column_describe(out);
    info->categorical_column = source[0];
    info->dense = HR_COLUMN_COUNTS;
    info->num_buckets = info->width = ids->num_buckets;
    return HR_OK;
}

const hr_column_kind hr_column_kind_indicator = {
    .head = HR_COLUMN_HEAD,
    .name = "indicator_column",
    .describe = indicator_describe,
};

hr_feature_column *hr_indicator_column(hr_feature_column *categorical)
{
    return hr_feature_column_new(&hr_column_kind_indicator, "", &categorical, 1);
}

/* ---- {indicator: origin}, and `indicator origin` in a list ---- */

static hr_status read_indicator(hr__config_columns *c, const hr__node *map, const char *name, hr_feature_column **out,
                                hr_error *err)
{
    (void)name;
    HR_TRY(hr__config_reference(c, hr__node_get(map, "indicator"), out, err));
    *out = hr_indicator_column(*out);
    return HR_OK;
}

static void write_indicator(hr__column_writer *w, const hr_feature_column *column)
{
    hr__write_column(w, "indicator", hr_feature_column_source(column, 0));
}

const hr__column_config hr__column_config_indicator = {
    .kinds = (const hr_column_kind *const[]){&hr_column_kind_indicator, NULL},
    .word = "indicator",
    .keys = (const char *const[]){"indicator", NULL},
    .read = read_indicator,
    .write = write_indicator,
};
