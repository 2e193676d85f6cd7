/* numeric_column: numbers as they are. The normalizer sees the type that was parsed; the result is float32. */
#include "feature_columns/kinds/numeric.h"
#include "feature_columns/kinds/normalize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct numeric_spec {
    const char *key;
    hr_shape shape;
    const float *default_value;
    const int64_t *default_integers; /* in place of default_value */
    int64_t default_values;
    hr_dtype dtype;
    hr__normalize normalize;
} numeric_spec;

static hr_status numeric_copy(void *spec, hr_error *err)
{
    numeric_spec *s = spec;
    const float *values = s->default_value;
    const int64_t *integers = s->default_integers;
    if (s->default_values < 1) s->default_values = 1;
    s->default_value = NULL;
    s->default_integers = NULL;
    s->key = hr_strdup(s->key);
    if (values) s->default_value = hr_memdup(values, (size_t)s->default_values * sizeof *values);
    if (integers) s->default_integers = hr_memdup(integers, (size_t)s->default_values * sizeof *integers);
    const bool copied = !values == !s->default_value && !integers == !s->default_integers;
    return s->key && copied ? HR_OK : hr_no_memory(err, "numeric_column");
}

static void numeric_free(void *spec)
{
    numeric_spec *s = spec;
    hr_free((void *)(uintptr_t)s->key);
    hr_free((void *)(uintptr_t)s->default_value);
    hr_free((void *)(uintptr_t)s->default_integers);
}

static bool has_default(const numeric_spec *s) { return s->default_value || s->default_integers; }

static hr_status check_defaults(const numeric_spec *s, hr_error *err)
{
    char text[128];
    int64_t count = hr_shape_count(s->shape);
    if (s->default_value && s->default_integers)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.default_value",
                       "numeric_column '%s': expected default_value or default_integers, got both", s->key);
    if (has_default(s) && s->default_values != 1 && s->default_values != count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.default_value",
                       "numeric_column '%s': expected 1 default value or %lld, as many as shape %s has, got %lld",
                       s->key, (long long)count, hr_shape_text(s->shape, text, sizeof text),
                       (long long)s->default_values);
    return HR_OK;
}

/* Value `i` of the default as the feature's type, or false if it is none of that type. */
static bool store_default(const numeric_spec *s, hr_tensor *out, int64_t i)
{
    const int64_t from = s->default_values > 1 ? i : 0;
    void *to = (char *)out->data + (size_t)i * hr_dtype_size(out->dtype);
    if (s->default_integers) return hr_integer_to_number(s->default_integers[from], out->dtype, to);
    const float value = s->default_value[from];
    if (out->dtype == HR_FLOAT) {
        *(float *)to = value;
    } else if (out->dtype == HR_DOUBLE) {
        *(double *)to = (double)value;
    } else {
        return floorf(value) == value && fabsf(value) < 0x1p63f && hr_integer_to_number((int64_t)value, out->dtype, to);
    }
    return true;
}

static hr_status wrong_default(const numeric_spec *s, int64_t i, hr_error *err)
{
    const int64_t from = s->default_values > 1 ? i : 0;
    char text[32];
    if (s->default_integers)
        snprintf(text, sizeof text, "%lld", (long long)s->default_integers[from]);
    else
        snprintf(text, sizeof text, "%g", (double)s->default_value[from]);
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.default_value",
                   "numeric_column '%s': expected a default value of type %s, got %s", s->key, hr_dtype_name(s->dtype),
                   text);
}

static hr_status read_with_default(const numeric_spec *s, hr_column_builder *out, hr_feature feature, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr_tensor_new(&value, s->dtype, s->shape, err));
    hr_status st = HR_OK;
    for (int64_t i = 0; i < value.count && st == HR_OK; i++)
        if (!store_default(s, &value, i)) st = wrong_default(s, i, err);
    feature.default_value = &value;
    if (st == HR_OK) st = hr_column_read(out, &feature, err);
    hr_tensor_clear(&value);
    return st;
}

static hr_status numeric_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                  hr_error *err)
{
    (void)source;
    const numeric_spec *s = spec;
    HR_TRY(hr_column_check_key("numeric_column", s->key, err));
    if (!hr_dtype_is_number(s->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                       "numeric_column '%s': expected a dtype that converts to float, got %s", s->key,
                       hr_dtype_name(s->dtype));
    HR_TRY(hr__normalize_check(&s->normalize, "numeric_column", s->key, err));
    HR_TRY(hr_column_check_shape("numeric_column", s->key, s->shape, err));
    HR_TRY(check_defaults(s, err));
    HR_TRY(hr_column_name(out, err, "%s", s->key));
    hr_feature feature = {.key = s->key, .kind = HR_FIXED_LEN, .dtype = s->dtype, .shape = s->shape};
    HR_TRY(has_default(s) ? read_with_default(s, out, feature, err) : hr_column_read(out, &feature, err));

    hr__normalize_mix(&s->normalize, out);
    hr_column_info *info = hr_column_describe(out);
    info->dense = HR_COLUMN_VALUES;
    info->width = hr_shape_count(s->shape);
    return HR_OK;
}

static hr_status numeric_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    const numeric_spec *s = spec;
    if (in->splits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.layout",
                       "numeric_column '%s': expected a dense feature, got a ragged or sparse one; parse it with "
                       "a fixed length",
                       s->key);
    if (!hr_dtype_is_number(in->dtype) && in->dtype != HR_BOOL)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype", "numeric_column '%s': expected numbers, got %s",
                       s->key, hr_dtype_name(in->dtype));
    if (in->width != hr_shape_count(s->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.width",
                       "numeric_column '%s': expected %lld values a row, got %lld; the column's .shape says how many",
                       s->key, (long long)hr_shape_count(s->shape), (long long)in->width);
    return HR_OK;
}

static hr_status numeric_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                   hr_column_values *out, hr_error *err)
{
    const numeric_spec *s = spec;
    int64_t n = in->rows * in->width;
    float *values = hr_column_floats(w, n);
    if (!values) return hr_no_memory(err, "numeric_column");
    hr__normalize_run(&s->normalize, in->values, in->dtype, values, n);
    *out = (hr_column_values){
        .dtype = HR_FLOAT, .rows = in->rows, .values = values, .count = n, .width = in->width, .rank = in->rank};
    return HR_OK;
}

static hr_status numeric_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                  hr_column_nodes *out, hr_error *err)
{
    const numeric_spec *s = spec;
    *out = *in;
    out->dtype = HR_FLOAT;
    return hr__normalize_to_graph(&s->normalize, g, "numeric_column", s->key, in->dtype, &out->values, err);
}

static const hr_column_config numeric_config; /* below */

const hr_column_kind hr_column_kind_numeric = {
    .head = HR_COLUMN_HEAD,
    .name = "numeric_column",
    .spec_size = sizeof(numeric_spec),
    .spec_copy = numeric_copy,
    .spec_free = numeric_free,
    .describe = numeric_describe,
    .accept = numeric_accept,
    .transform = numeric_transform,
    .config = &numeric_config,
    .to_graph = numeric_to_graph,
};

hr_feature_column *hr_numeric_column_with(const char *key, const hr_numeric_column_opts *opts)
{
    hr_numeric_column_opts o = HR_OPTIONS(hr_numeric_column_opts, opts);
    return hr_feature_column_new(&hr_column_kind_numeric,
                                 &(numeric_spec){
                                     .key = key ? key : "",
                                     .shape = o.shape.rank == 0 ? HR_SHAPE(1) : o.shape,
                                     .default_value = o.default_value,
                                     .default_integers = o.default_integers,
                                     .default_values = o.default_values,
                                     .dtype = o.dtype == HR_INVALID_DTYPE ? HR_FLOAT : o.dtype,
                                     .normalize = {o.normalizer_fn, o.user, o.log1p, o.mean, o.std, o.min, o.max},
                                 },
                                 NULL, 0);
}

/* ---- {numeric: temp, mean: 57, std: 17.9} ---- */

/* What a default is read into: of one of the two types, the other stays NULL. */
typedef struct defaults {
    float *reals;
    int64_t *integers;
    int64_t count;
} defaults;

static hr_status numeric_read_default(const hr_config_value *value, bool whole, defaults *d, hr_error *err)
{
    const bool list = hr_config_is_list(value);
    d->count = 1;
    if (list) HR_TRY(hr_config_items(value, &d->count, err));
    if (whole)
        d->integers = hr_calloc((size_t)d->count + 1, sizeof *d->integers);
    else
        d->reals = hr_calloc((size_t)d->count + 1, sizeof *d->reals);
    if (!d->integers && !d->reals) return hr_no_memory(err, "a default value");
    for (int64_t i = 0; i < d->count; i++) {
        const hr_config_value *item = list ? hr_config_item(value, i) : value;
        double number = 0;
        HR_TRY(whole ? hr_config_value_int(item, INT64_MIN, INT64_MAX, &d->integers[i], err)
                     : hr_config_value_double(item, &number, err));
        if (!whole) d->reals[i] = (float)number;
    }
    return HR_OK;
}

hr_status hr__numeric_read(const hr_config_reader *r, const hr_config_value *field, hr_numeric_column_opts *o,
                           hr_feature_column **out, hr_error *err)
{
    const char *name;
    hr_dtype dtype;
    HR_TRY(hr_config_field(r, field, &dtype, err));
    HR_TRY(hr_config_value_text(field, &name, err));
    if (!hr_dtype_is_number(dtype))
        return hr_config_fail(field, err, "expected a field of numbers, found '%s' of %s", name, hr_dtype_name(dtype));
    defaults d = {0};
    const hr_config_value *given = hr_config_get(r, "default");
    if (!given) given = hr_config_field_default(r, name);
    hr_status st = given ? numeric_read_default(given, hr_dtype_is_integer(o->dtype), &d, err) : HR_OK;
    o->struct_size = sizeof *o;
    o->default_value = d.reals;
    o->default_integers = d.integers;
    o->default_values = d.count;
    if (st == HR_OK) *out = hr_numeric_column_with(name, o);
    hr_free(d.reals);
    hr_free(d.integers);
    return st;
}

static hr_status read_numeric(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    hr_numeric_column_opts o = {0};
    hr__normalize n = {0};
    HR_TRY(hr_config_shape(r, "shape", &o.shape, err));
    HR_TRY(hr__normalize_read(r, &n, err));
    HR_TRY(hr_config_dtype(r, &o.dtype, err));
    o.log1p = n.log1p;
    o.mean = n.mean;
    o.std = n.std;
    o.min = n.min;
    o.max = n.max;
    return hr__numeric_read(r, hr_config_get(r, "numeric"), &o, out, err);
}

static void write_numeric(hr_config_writer *w, const hr_feature_column *column)
{
    const numeric_spec *s = hr_feature_column_spec(column);
    hr_config_write_text(w, "numeric", s->key);
    if (!hr_shape_equal(s->shape, HR_SHAPE(1))) hr_config_write_shape(w, "shape", s->shape);
    if (s->default_value && s->default_values == 1) hr_config_write_float(w, "default", s->default_value[0]);
    if (s->default_value && s->default_values > 1)
        hr_config_write_floats(w, "default", s->default_value, s->default_values);
    if (s->default_integers && s->default_values == 1) hr_config_write_int(w, "default", s->default_integers[0]);
    if (s->default_integers && s->default_values > 1)
        hr_config_write_ints(w, "default", s->default_integers, s->default_values);
    hr__normalize_write(w, &s->normalize);
    if (s->dtype != HR_FLOAT) hr_config_write_text(w, "dtype", hr_dtype_name(s->dtype));
}

static const hr_column_config numeric_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "numeric",
    .keys = (const char *const[]){"numeric", "shape", "default", HR__NORMALIZE_KEYS, "dtype", NULL},
    .read = read_numeric,
    .write = write_numeric,
};
