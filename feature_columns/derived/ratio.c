/* ratio: a / b. */
#include "feature_columns/derived/derived_internal.h"

static hr_status ratio_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    (void)spec;
    HR_TRY(hr__derived_numbers("ratio", in, count, out, err));
    *out = HR_FLOAT;
    return HR_OK;
}

static hr_status ratio_compute(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows,
                               void *out, bool *missing, hr_error *err)
{
    (void)spec;
    (void)w;
    (void)err;
    for (int64_t r = 0; r < rows; r++) {
        const double below = hr__derived_number(&in[1], r);
        missing[r] |= below == 0;
        ((float *)out)[r] = below == 0 ? 0 : (float)(hr__derived_number(&in[0], r) / below);
    }
    return HR_OK;
}

static hr_status ratio_read(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err)
{
    hr_derived_opts o;
    const char *a, *b;
    HR_TRY(hr__derived_read_two(r, word, &a, &b, err));
    HR_TRY(hr__derived_read_default(r, &o, err));
    *out = hr_derived_ratio_with(hr_config_name(r), a, b, &o);
    return HR_OK;
}

const hr_derived_kind hr_derived_kind_ratio = {
    .head = HR_DERIVED_HEAD,
    .name = "ratio",
    .type = ratio_type,
    .compute = ratio_compute,
    .words = (const char *const[]){"ratio", NULL},
    .read = ratio_read,
};

hr_derived_feature *hr_derived_ratio_with(const char *name, const char *a, const char *b, const hr_derived_opts *opts)
{
    const hr_derived_opts o = HR_OPTIONS(hr_derived_opts, opts);
    return hr_derived_new(&hr_derived_kind_ratio, NULL, name, HR_FIELDS(a, b), o.default_value);
}
