/* What several kinds of columns refuse, in the same words. */
#include <headrace/column.h>

hr_status hr_column_check_key(const char *what, const char *key, hr_error *err)
{
    if (key && key[0]) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.key",
                   "%s: expected the key of a feature, got %s; give the feature's name", what, key ? "\"\"" : "NULL");
}

hr_status hr_column_check_shape(const char *what, const char *key, hr_shape shape, hr_error *err)
{
    char text[128];
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.shape", "%s '%s': expected dimensions > 0, got shape %s",
                           what, key, hr_shape_text(shape, text, sizeof text));
    return HR_OK;
}

hr_status hr_column_check_categorical(const char *what, const hr_feature_column *source, hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(source);
    if (info->categorical) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.source", "%s: expected a categorical column, got the %s '%s'",
                   what, info->kind, info->name);
}

hr_status hr_column_check_no_sequence(const char *what, const hr_feature_column *source, hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(source);
    if (!info->sequence) return HR_OK;
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "column.sequence",
        "%s: expected a column without steps, got the %s '%s'; a sequence can be put into an indicator_column "
        "or an embedding_column",
        what, info->kind, info->name);
}
