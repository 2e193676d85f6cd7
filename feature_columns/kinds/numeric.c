/* numeric_column: numbers as they are. The normalizer sees the type that was parsed; the result is float32. */
#include "feature_columns/config/config_write.h"
#include "feature_columns/kernels/normalize.h"

#include "base/cast.h"
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

hr_status hr__check_shape(const char *what, const char *key, hr_shape shape, hr_error *err)
{
    char text[128];
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.shape", "%s '%s': expected dimensions > 0, got shape %s",
                           what, key, hr_shape_text(shape, text, sizeof text));
    return HR_OK;
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
    if (s->default_integers) return hr__store_integer(s->default_integers[from], out->dtype, to);
    const float value = s->default_value[from];
    if (out->dtype == HR_FLOAT) {
        *(float *)to = value;
    } else if (out->dtype == HR_DOUBLE) {
        *(double *)to = (double)value;
    } else {
        return floorf(value) == value && fabsf(value) < 0x1p63f && hr__store_integer((int64_t)value, out->dtype, to);
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
    HR_TRY(hr__check_key("numeric_column", s->key, err));
    if (!hr__is_number(s->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                       "numeric_column '%s': expected a dtype that converts to float, got %s", s->key,
                       hr_dtype_name(s->dtype));
    HR_TRY(hr__normalize_check(&s->normalize, "numeric_column", s->key, err));
    HR_TRY(hr__check_shape("numeric_column", s->key, s->shape, err));
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
    if (!hr__is_number(in->dtype) && in->dtype != HR_BOOL)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype", "numeric_column '%s': expected numbers, got %s",
                       s->key, hr_dtype_name(in->dtype));
    if (in->width != hr_shape_count(s->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.width",
                       "numeric_column '%s': expected %lld values a row, got %lld; the column's .shape says how many",
                       s->key, (long long)hr_shape_count(s->shape), (long long)in->width);
    return HR_OK;
}

#define CAST(type)                                                                                                     \
    do {                                                                                                               \
        const type *from_ = from;                                                                                      \
        for (int64_t i_ = 0; i_ < n; i_++) to[i_] = (float)from_[i_];                                                  \
    } while (0)

void hr__to_float(const void *from, hr_dtype dtype, float *to, int64_t n)
{
    switch (dtype) {
    case HR_FLOAT:
        if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
        break;
    case HR_DOUBLE:
        CAST(double);
        break;
    case HR_INT64:
        CAST(int64_t);
        break;
    case HR_INT32:
        CAST(int32_t);
        break;
    case HR_INT16:
        CAST(int16_t);
        break;
    case HR_INT8:
        CAST(int8_t);
        break;
    case HR_UINT64:
        CAST(uint64_t);
        break;
    case HR_UINT32:
        CAST(uint32_t);
        break;
    case HR_UINT16:
        CAST(uint16_t);
        break;
    case HR_UINT8:
        CAST(uint8_t);
        break;
    case HR_BOOL:
        CAST(bool);
        break;
    default:
        break;
    }
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

const hr_column_kind hr_column_kind_numeric = {
    .head = HR_COLUMN_HEAD,
    .name = "numeric_column",
    .spec_size = sizeof(numeric_spec),
    .spec_copy = numeric_copy,
    .spec_free = numeric_free,
    .describe = numeric_describe,
    .accept = numeric_accept,
    .transform = numeric_transform,
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

hr_status hr__config_shape(const hr__node *node, hr_shape *shape, hr_error *err)
{
    if (!node) return HR_OK;
    HR_TRY(hr__node_is(node, HR__SCALAR | HR__SEQUENCE, err));
    shape->rank = node->kind == HR__SCALAR ? 1 : (int)node->count;
    if (node->kind == HR__SCALAR) return hr__node_int64(node, 1, INT32_MAX, &shape->dims[0], err);
    if (node->count < 1 || node->count > HR_MAX_RANK) return hr__node_expected(node, "one to eight dimensions", err);
    for (int i = 0; i < shape->rank; i++) HR_TRY(hr__node_int64(node->item[i], 1, INT32_MAX, &shape->dims[i], err));
    return HR_OK;
}

/* What a default is read into: of one of the two types, the other stays NULL. */
typedef struct defaults {
    float *reals;
    int64_t *integers;
    int64_t count;
} defaults;

static hr_status read_default(const hr__node *node, bool whole, defaults *d, hr_error *err)
{
    HR_TRY(hr__node_is(node, HR__SCALAR | HR__SEQUENCE, err));
    d->count = node->kind == HR__SEQUENCE ? node->count : 1;
    if (whole)
        d->integers = hr_calloc((size_t)d->count + 1, sizeof *d->integers);
    else
        d->reals = hr_calloc((size_t)d->count + 1, sizeof *d->reals);
    if (!d->integers && !d->reals) return hr_no_memory(err, "a default value");
    for (int64_t i = 0; i < d->count; i++) {
        const hr__node *item = node->kind == HR__SEQUENCE ? node->item[i] : node;
        double value = 0;
        HR_TRY(whole ? hr__node_int64(item, INT64_MIN, INT64_MAX, &d->integers[i], err)
                     : hr__node_double(item, &value, err));
        if (!whole) d->reals[i] = (float)value;
    }
    return HR_OK;
}

hr_status hr__config_numeric(const hr__config_columns *c, const hr__node *map, const hr__node *field,
                             hr_numeric_column_opts *o, hr_feature_column **out, hr_error *err)
{
    hr_dtype dtype;
    HR_TRY(hr__config_field(c, field, &dtype, err));
    if (!hr__is_number(dtype))
        return hr__node_fail(field, err, HR_INVALID_ARGUMENT, "config.value",
                             "expected a field of numbers, found '%s' of %s", field->text, hr_dtype_name(dtype));
    defaults d = {0};
    const hr__node *given = hr__node_get(map, "default");
    if (!given) given = hr__config_field_default(c, field->text);
    hr_status st = given ? read_default(given, hr__is_integer(o->dtype), &d, err) : HR_OK;
    o->struct_size = sizeof *o;
    o->default_value = d.reals;
    o->default_integers = d.integers;
    o->default_values = d.count;
    if (st == HR_OK) *out = hr_numeric_column_with(field->text, o);
    hr_free(d.reals);
    hr_free(d.integers);
    return st;
}

static hr_status read_numeric(hr__config_columns *c, const hr__node *map, const char *name, hr_feature_column **out,
                              hr_error *err)
{
    (void)name;
    hr_numeric_column_opts o = {0};
    hr__normalize n = {0};
    HR_TRY(hr__config_shape(hr__node_get(map, "shape"), &o.shape, err));
    HR_TRY(hr__normalize_read(map, &n, err));
    HR_TRY(hr__config_dtype(map, &o.dtype, err));
    o.log1p = n.log1p;
    o.mean = n.mean;
    o.std = n.std;
    o.min = n.min;
    o.max = n.max;
    return hr__config_numeric(c, map, hr__node_get(map, "numeric"), &o, out, err);
}

static void write_numeric(hr__column_writer *w, const hr_feature_column *column)
{
    const numeric_spec *s = hr_feature_column_spec(column);
    hr__write_text(w, "numeric", s->key);
    if (!hr_shape_equal(s->shape, HR_SHAPE(1))) hr__write_shape(w, "shape", s->shape);
    if (s->default_value && s->default_values == 1) hr__write_float(w, "default", s->default_value[0]);
    if (s->default_value && s->default_values > 1) hr__write_floats(w, "default", s->default_value, s->default_values);
    if (s->default_integers && s->default_values == 1) hr__write_int(w, "default", s->default_integers[0]);
    if (s->default_integers && s->default_values > 1)
        hr__write_ints(w, "default", s->default_integers, s->default_values);
    hr__normalize_write(w, &s->normalize);
    if (s->dtype != HR_FLOAT) hr__write_text(w, "dtype", hr_dtype_name(s->dtype));
}

const hr__column_config hr__column_config_numeric = {
    .kinds = (const hr_column_kind *const[]){&hr_column_kind_numeric, NULL},
    .word = "numeric",
    .keys = (const char *const[]){"numeric", "shape", "default", HR__NORMALIZE_KEYS, "dtype", NULL},
    .read = read_numeric,
    .write = write_numeric,
};
