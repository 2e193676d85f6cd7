/* difference: a - b. */
#include "feature_columns/derived/derived_internal.h"

static hr_status difference_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    (void)spec;
    return hr__derived_numbers("difference", in, count, out, err);
}

static hr_status difference_compute(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows,
                                    void *out, bool *missing, hr_error *err)
{
    (void)spec;
    (void)missing;
    (void)err;
    const bool whole = in[0].dtype == HR_INT64 && in[1].dtype == HR_INT64;
    const int64_t *a = in[0].values, *b = in[1].values;
    for (int64_t r = 0; r < rows; r++) {
        if (!whole)
            ((float *)out)[r] = (float)(hr__derived_number(&in[0], r) - hr__derived_number(&in[1], r));
        else if (__builtin_sub_overflow(a[r], b[r], &((int64_t *)out)[r]))
            hr__derived_out_of_range("difference", w, r);
    }
    return HR_OK;
}

static hr_status difference_read(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err)
{
    hr_derived_opts o;
    const char *a, *b;
    HR_TRY(hr__derived_read_two(r, word, &a, &b, err));
    HR_TRY(hr__derived_read_default(r, &o, err));
    *out = hr_derived_difference_with(hr_config_name(r), a, b, &o);
    return HR_OK;
}

const hr_derived_kind hr_derived_kind_difference = {
    .head = HR_DERIVED_HEAD,
    .name = "difference",
    .type = difference_type,
    .compute = difference_compute,
    .words = (const char *const[]){"difference", NULL},
    .read = difference_read,
};

hr_derived_feature *hr_derived_difference_with(const char *name, const char *a, const char *b,
                                               const hr_derived_opts *opts)
{
    const hr_derived_opts o = HR_OPTIONS(hr_derived_opts, opts);
    return hr_derived_new(&hr_derived_kind_difference, NULL, name, HR_FIELDS(a, b), o.default_value);
}
