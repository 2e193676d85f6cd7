/* log: the natural logarithm of a number and an offset. */
#include "feature_columns/derived/derived_internal.h"
#include <math.h>

typedef struct log_spec {
    double offset;
} log_spec;

static hr_status log_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    (void)spec;
    HR_TRY(hr__derived_numbers("log", in, count, out, err));
    *out = HR_FLOAT;
    return HR_OK;
}

static hr_status log_compute(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows, void *out,
                             bool *missing, hr_error *err)
{
    (void)w;
    (void)err;
    for (int64_t r = 0; r < rows; r++) {
        const double x = hr__derived_number(in, r) + ((const log_spec *)spec)->offset;
        missing[r] |= !(x > 0);
        ((float *)out)[r] = x > 0 ? (float)log(x) : 0;
    }
    return HR_OK;
}

static hr_status log_read(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err)
{
    hr_derived_log_opts o = {.struct_size = sizeof o};
    const char *field;
    HR_TRY(hr_derived_read_field(r, hr_config_get(r, word), &field, err));
    HR_TRY(hr_config_double(r, "offset", &o.offset, err));
    HR_TRY(hr_config_double(r, "default", &o.default_value, err));
    *out = hr_derived_log_with(hr_config_name(r), field, &o);
    return HR_OK;
}

const hr_derived_kind hr_derived_kind_log = {
    .head = HR_DERIVED_HEAD,
    .name = "log",
    .spec_size = sizeof(log_spec),
    .type = log_type,
    .compute = log_compute,
    .words = (const char *const[]){"log", NULL},
    .keys = (const char *const[]){"offset", NULL},
    .read = log_read,
};

hr_derived_feature *hr_derived_log_with(const char *name, const char *field, const hr_derived_log_opts *opts)
{
    const hr_derived_log_opts o = HR_OPTIONS(hr_derived_log_opts, opts);
    return hr_derived_new(&hr_derived_kind_log, &(log_spec){o.offset}, name, HR_FIELDS(field), o.default_value);
}
