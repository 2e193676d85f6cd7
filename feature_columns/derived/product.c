/* product: of one field or more, from left to right. */
#include "feature_columns/derived/derived_internal.h"

/* The number of fields. */
typedef struct product_spec {
    int fields;
} product_spec;

static hr_status product_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    (void)spec;
    return hr__derived_numbers("product", in, count, out, err);
}

static int64_t product_of_integers(hr_derived_work *w, const hr_derived_values *in, int fields, int64_t row)
{
    int64_t result = 1;
    for (int i = 0; i < fields; i++) {
        if (!__builtin_mul_overflow(result, ((const int64_t *)in[i].values)[row], &result)) continue;
        hr__derived_out_of_range("product", w, row);
        break;
    }
    return result;
}

static float product_of_numbers(const hr_derived_values *in, int fields, int64_t row)
{
    double result = 1;
    for (int i = 0; i < fields; i++) result *= hr__derived_number(&in[i], row);
    return (float)result;
}

static hr_status product_compute(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows,
                                 void *out, bool *missing, hr_error *err)
{
    (void)missing;
    (void)err;
    const int fields = ((const product_spec *)spec)->fields;
    bool whole = true;
    for (int i = 0; i < fields; i++) whole &= in[i].dtype == HR_INT64;
    for (int64_t r = 0; r < rows; r++) {
        if (whole)
            ((int64_t *)out)[r] = product_of_integers(w, in, fields, r);
        else
            ((float *)out)[r] = product_of_numbers(in, fields, r);
    }
    return HR_OK;
}

static hr_status product_read(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err)
{
    hr_derived_opts o;
    hr_field_names fields;
    hr_status st = hr__derived_read_list(r, word, &fields, err);
    if (st == HR_OK) st = hr__derived_read_default(r, &o, err);
    if (st == HR_OK) *out = hr_derived_product_with(hr_config_name(r), fields, &o);
    hr_free((void *)(uintptr_t)fields.name);
    return st;
}

const hr_derived_kind hr_derived_kind_product = {
    .head = HR_DERIVED_HEAD,
    .name = "product",
    .spec_size = sizeof(product_spec),
    .type = product_type,
    .compute = product_compute,
    .words = (const char *const[]){"product", NULL},
    .read = product_read,
};

hr_derived_feature *hr_derived_product_with(const char *name, hr_field_names fields, const hr_derived_opts *opts)
{
    const hr_derived_opts o = HR_OPTIONS(hr_derived_opts, opts);
    return hr_derived_new(&hr_derived_kind_product, &(product_spec){fields.count}, name, fields, o.default_value);
}
