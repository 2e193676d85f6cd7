/* indicator_column: how often each id of a categorical column occurs in a row. It does nothing in a pipeline: the ids
 * are passed on, since they are far smaller than the counts. */
#include <headrace/column_config.h>
#include <headrace/column_kernels.h>

static hr_status indicator_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                    hr_error *err)
{
    (void)spec;
    HR_TRY(hr_column_check_categorical("indicator_column", source[0], err));
    const hr_column_info *ids = hr_feature_column_info(source[0]);
    HR_TRY(hr_column_name(out, err, "%s_indicator", ids->name));
    hr_column_info *info = hr_column_describe(out);
    info->categorical_column = source[0];
    info->dense = HR_COLUMN_COUNTS;
    info->num_buckets = info->width = ids->num_buckets;
    return HR_OK;
}

static const hr_column_config indicator_config; /* below */

const hr_column_kind hr_column_kind_indicator = {
    .head = HR_COLUMN_HEAD,
    .name = "indicator_column",
    .describe = indicator_describe,
    .config = &indicator_config,
};

hr_feature_column *hr_indicator_column(hr_feature_column *categorical)
{
    return hr_feature_column_new(&hr_column_kind_indicator, "", &categorical, 1);
}

/* ---- {indicator: origin}, and `indicator origin` in a list ---- */

static hr_status read_indicator(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    HR_TRY(hr_config_column(r, hr_config_get(r, "indicator"), out, err));
    *out = hr_indicator_column(*out);
    return HR_OK;
}

static void write_indicator(hr_config_writer *w, const hr_feature_column *column)
{
    hr_config_write_column(w, "indicator", hr_feature_column_source(column, 0));
}

static const hr_column_config indicator_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "indicator",
    .keys = (const char *const[]){"indicator", NULL},
    .read = read_indicator,
    .write = write_indicator,
};
