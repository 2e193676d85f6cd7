/* What several kinds do: the types of arithmetic, and reading their arguments from a config file. */
#include "base/config.h"
#include "feature_columns/config/columns_section.h"
#include "feature_columns/derived/derived_internal.h"

hr_status hr__derived_numbers(const char *kind, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    *out = HR_INT64;
    for (int i = 0; i < count; i++) {
        if (in[i] == HR_STRING)
            return hr_fail(err, HR_INVALID_ARGUMENT, "derived.dtype", "%s: expected fields of numbers, got texts",
                           kind);
        if (in[i] == HR_DOUBLE) *out = HR_FLOAT;
    }
    return HR_OK;
}

void hr__derived_out_of_range(const char *kind, hr_derived_work *w, int64_t row)
{
    hr_error err;
    hr_fail(&err, HR_OUT_OF_RANGE, "derived.range", "%s: expected a result that int64 holds, got one out of its range",
            kind);
    hr_derived_fail_row(w, row, &err);
}

/* ---- config files ---- */

hr_status hr_derived_read_field(const hr_config_reader *r, const hr_config_value *value, const char **field,
                                hr_error *err)
{
    hr_dtype unknown;
    HR_TRY(hr_config_value_text(value, field, err));
    return hr_config_field(r, value, &unknown, err);
}

hr_status hr__derived_read_two(hr_config_reader *r, const char *word, const char **a, const char **b, hr_error *err)
{
    const hr_config_value *list = hr_config_get(r, word);
    int64_t count = 0;
    HR_TRY(hr_config_items(list, &count, err));
    if (count != 2) return hr_config_expected(list, "two fields, such as [distance, air_time]", err);
    HR_TRY(hr_derived_read_field(r, hr_config_item(list, 0), a, err));
    return hr_derived_read_field(r, hr_config_item(list, 1), b, err);
}

hr_status hr__derived_read_list(hr_config_reader *r, const char *word, hr_field_names *names, hr_error *err)
{
    enum { MOST = 1 << 16 };
    const hr_config_value *list = hr_config_get(r, word);
    int64_t count = 0;
    *names = (hr_field_names){0};
    HR_TRY(hr_config_items(list, &count, err));
    if (count < 1 || count > MOST) return hr_config_expected(list, "fields, such as [a, b]", err);
    const char **name = hr_calloc((size_t)count, sizeof *name);
    if (!name) return hr_no_memory(err, "the fields of a derived feature");
    *names = (hr_field_names){name, (int)count};
    for (int64_t i = 0; i < count; i++) HR_TRY(hr_derived_read_field(r, hr_config_item(list, i), &name[i], err));
    return HR_OK;
}

hr_status hr__derived_read_default(hr_config_reader *r, hr_derived_opts *o, hr_error *err)
{
    *o = (hr_derived_opts){.struct_size = sizeof *o};
    return hr_config_double(r, "default", &o->default_value, err);
}
