/* rename: a field under another name. It computes nothing: its component is the field's. */
#include "feature_columns/derived/derived_internal.h"

static hr_status rename_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    (void)spec;
    (void)count;
    (void)err;
    *out = in[0];
    return HR_OK;
}

static hr_status rename_read(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err)
{
    const char *field;
    const hr_config_value *given = hr_config_get(r, "default");
    HR_TRY(hr_derived_read_field(r, hr_config_get(r, word), &field, err));
    if (given) return hr_config_fail(given, err, "expected no default of a renamed field, which keeps what it has");
    *out = hr_derived_rename(hr_config_name(r), field);
    return HR_OK;
}

const hr_derived_kind hr_derived_kind_rename = {
    .head = HR_DERIVED_HEAD,
    .name = "rename",
    .type = rename_type,
    .words = (const char *const[]){"rename", NULL},
    .read = rename_read,
};

hr_derived_feature *hr_derived_rename(const char *name, const char *field)
{
    return hr_derived_new(&hr_derived_kind_rename, NULL, name, HR_FIELDS(field), 0);
}
