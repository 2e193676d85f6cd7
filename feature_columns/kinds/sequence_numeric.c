/* sequence_numeric_column: a list of numbers, cut into steps of a fixed number of values. The default value fills an
 * incomplete last step, and the steps that a row does not have. The result has the declared type. */
#include <headrace/column_config.h>
#include <headrace/column_graph.h>
#include "feature_columns/kinds/normalize.h"

#include <math.h>
#include <string.h>

typedef struct sequence_spec {
    const char *key;
    hr_shape shape;
    double default_value;
    hr_dtype dtype;
    hr__normalize normalize;
} sequence_spec;

static const char who[] = "sequence_numeric_column";

static hr_status sequence_copy(void *spec, hr_error *err)
{
    sequence_spec *s = spec;
    s->key = hr_strdup(s->key);
    return s->key ? HR_OK : hr_no_memory(err, who);
}

static void sequence_free(void *spec) { hr_free((void *)(uintptr_t)((sequence_spec *)spec)->key); }

static hr_dtype result_dtype(const sequence_spec *s) { return hr__normalizes(&s->normalize) ? HR_FLOAT : s->dtype; }

static hr_status sequence_numeric_check_arguments(const sequence_spec *s, hr_error *err)
{
    HR_TRY(hr_column_check_key(who, s->key, err));
    HR_TRY(hr_column_check_shape(who, s->key, s->shape, err));
    HR_TRY(hr__normalize_check(&s->normalize, who, s->key, err));
    if (s->dtype != HR_FLOAT && s->dtype != HR_DOUBLE && s->dtype != HR_INT64 && s->dtype != HR_INT32)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype",
                       "%s '%s': expected dtype float32, float64, int64 or int32, got %s", who, s->key,
                       hr_dtype_name(s->dtype));
    /* Beyond 2^53 a double is not always the number that was meant. */
    int64_t stored;
    const bool whole = floor(s->default_value) == s->default_value && fabs(s->default_value) <= 0x1p53;
    if (!hr_dtype_is_integer(result_dtype(s)) ||
        (whole && hr_integer_to_number((int64_t)s->default_value, s->dtype, &stored)))
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.default_value",
                   "%s '%s': expected a default value of type %s, got %.17g", who, s->key, hr_dtype_name(s->dtype),
                   s->default_value);
}

static hr_status sequence_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                   hr_error *err)
{
    (void)source;
    const sequence_spec *s = spec;
    HR_TRY(sequence_numeric_check_arguments(s, err));
    HR_TRY(hr_column_name(out, err, "%s", s->key));
    HR_TRY(hr_column_read_var_len(out, s->key, s->dtype, err));
    hr_column_mix(out, s->shape.dims, (size_t)s->shape.rank * sizeof *s->shape.dims);
    hr_column_mix(out, &s->default_value, sizeof s->default_value);
    hr__normalize_mix(&s->normalize, out);
    hr_column_info *info = hr_column_describe(out);
    info->dense = HR_COLUMN_VALUES;
    info->width = hr_shape_count(s->shape);
    info->sequence = true;
    info->dtype = result_dtype(s);
    info->padding = s->default_value;
    return HR_OK;
}

static bool can_become(hr_dtype from, hr_dtype to)
{
    return from == to || to == HR_FLOAT || to == HR_DOUBLE || (to == HR_INT64 && hr_dtype_is_integer(from));
}

static hr_status sequence_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    const sequence_spec *s = spec;
    const int64_t width = hr_shape_count(s->shape);
    if (!in->splits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.layout",
                       "%s '%s': expected a ragged or sparse feature, or a dense one of a varying length, got one of a "
                       "fixed length; parse it as a list or a sequence",
                       who, s->key);
    if (in->dense_sequence && in->steps && in->width != width)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.width",
                       "%s '%s': expected %lld values a step, got %lld; the column's .shape says how many", who, s->key,
                       (long long)width, (long long)in->width);
    if (!hr_dtype_is_number(in->dtype) || !can_become(in->dtype, s->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype", "%s '%s': expected %s, got %s", who, s->key,
                       hr_dtype_name(s->dtype), hr_dtype_name(in->dtype));
    return HR_OK;
}

/* ---- values, as they come ---- */

static double sequence_numeric_number_at(const hr_column_values *in, int64_t i)
{
    if (in->dtype == HR_FLOAT) return (double)((const float *)in->values)[i];
    return in->dtype == HR_DOUBLE ? ((const double *)in->values)[i] : (double)hr_column_integer_at(in, i);
}

static void sequence_numeric_convert(const sequence_spec *s, const hr_column_values *in, void *to)
{
    if (hr__normalizes(&s->normalize) || s->dtype == HR_FLOAT) {
        hr__normalize_run(&s->normalize, in->values, in->dtype, to, in->count);
    } else if (s->dtype == in->dtype) {
        if (in->count > 0) memcpy(to, in->values, (size_t)in->count * hr_dtype_size(s->dtype));
    } else if (s->dtype == HR_DOUBLE) {
        for (int64_t i = 0; i < in->count; i++) ((double *)to)[i] = sequence_numeric_number_at(in, i);
    } else {
        for (int64_t i = 0; i < in->count; i++) ((int64_t *)to)[i] = hr_column_integer_at(in, i);
    }
}

/* ---- steps ---- */

static void sequence_numeric_refuse(hr_column_work *w, const sequence_spec *s, int64_t row, const char *expected)
{
    hr_error err;
    hr_fail(&err, HR_INVALID_ARGUMENT, "column.sequence", "%s '%s': expected %s, got others", who, s->key, expected);
    hr_column_fail_row(w, row, &err);
}

/* Steps of a feature list, up to the last one with a value; -1: one of them has more values than a step takes. */
static int64_t sequence_numeric_steps_given(const hr_column_values *in, int64_t row, int64_t width)
{
    int64_t steps = 0;
    for (int32_t i = in->steps[row]; i < in->steps[row + 1]; i++) {
        const int32_t own = in->step_splits[i + 1] - in->step_splits[i];
        if (own > width) return -1;
        if (own > 0) steps = i + 1 - in->steps[row];
    }
    return steps;
}

static bool sequence_numeric_count_steps(const sequence_spec *s, hr_column_work *w, const hr_column_values *in,
                                         int64_t width, int32_t *steps)
{
    for (int64_t r = 0; r < in->rows; r++) {
        int64_t own = in->steps ? sequence_numeric_steps_given(in, r, width) : hr_column_reach(in, r);
        if (own < 0) {
            sequence_numeric_refuse(
                w, s, r, in->steps ? "steps of no more values than its shape has" : "values in the order of places");
            own = 0;
        }
        if (!in->steps) own = own / width + (own % width != 0);
        if (own > INT32_MAX / width - steps[r]) return false;
        steps[r + 1] = steps[r] + (int32_t)own;
    }
    return true;
}

static void sequence_numeric_put(const char *from, int64_t i, char *to, int64_t at, size_t size)
{
    memcpy(to + (size_t)at * size, from + (size_t)i * size, size);
}

/* The values at their places of the row, which begins at `to`. A refused row has no steps. */
static void sequence_numeric_place_row(const hr_column_values *in, int64_t row, int64_t width, const char *from,
                                       char *to, size_t size)
{
    if (!in->steps)
        for (int32_t i = in->splits[row]; i < in->splits[row + 1]; i++)
            sequence_numeric_put(from, i, to, hr_column_place(in, row, i), size);
    for (int32_t t = in->steps ? in->steps[row] : 0; in->steps && t < in->steps[row + 1]; t++)
        for (int32_t i = in->step_splits[t]; i < in->step_splits[t + 1]; i++)
            sequence_numeric_put(from, i, to, (t - in->steps[row]) * width + i - in->step_splits[t], size);
}

static void sequence_numeric_fill(const sequence_spec *s, void *to, int64_t count)
{
    const hr_dtype dtype = result_dtype(s);
    for (int64_t i = 0; i < count; i++) {
        if (dtype == HR_FLOAT) ((float *)to)[i] = (float)s->default_value;
        if (dtype == HR_DOUBLE) ((double *)to)[i] = s->default_value;
        if (dtype == HR_INT64) ((int64_t *)to)[i] = (int64_t)s->default_value;
        if (dtype == HR_INT32) ((int32_t *)to)[i] = (int32_t)s->default_value;
    }
}

static hr_status check_dense_width(const sequence_spec *s, const hr_column_values *in, int64_t width, hr_error *err)
{
    if (in->steps || in->dense_width % width == 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.width",
                   "%s '%s': expected a dense shape of whole steps of %lld values, got %lld values", who, s->key,
                   (long long)width, (long long)in->dense_width);
}

static hr_status sequence_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                    hr_column_values *out, hr_error *err)
{
    const sequence_spec *s = spec;
    const int64_t width = hr_shape_count(s->shape);
    const size_t size = hr_dtype_size(result_dtype(s));
    int32_t *steps = hr_column_scratch(w, ((size_t)in->rows + 1) * sizeof *steps);
    int32_t *splits = hr_column_scratch(w, ((size_t)in->rows + 1) * sizeof *splits);
    char *converted = hr_column_scratch(w, (size_t)in->count * size);
    if (!steps || !splits || !converted) return hr_no_memory(err, who);
    HR_TRY(check_dense_width(s, in, width, err));
    steps[0] = splits[0] = 0;
    sequence_numeric_convert(s, in, converted);
    if (!sequence_numeric_count_steps(s, w, in, width, steps)) return hr_no_memory(err, "the steps of a sequence");
    const int64_t count = steps[in->rows] * width;
    char *values = hr_column_scratch(w, (size_t)count * size);
    if (!values) return hr_no_memory(err, who);
    sequence_numeric_fill(s, values, count);
    for (int64_t r = 0; r < in->rows; r++) {
        splits[r + 1] = steps[r + 1] * (int32_t)width;
        if (steps[r + 1] > steps[r])
            sequence_numeric_place_row(in, r, width, converted, values + (size_t)splits[r] * size, size);
    }
    *out = (hr_column_values){.dtype = result_dtype(s), .rows = in->rows, .values = values, .count = count};
    out->width = width;
    out->splits = splits;
    out->steps = steps;
    out->dense_steps = in->steps ? in->dense_steps : in->dense_width / width;
    return HR_OK;
}

static hr_column_node default_to_graph(const sequence_spec *s, const hr_column_graph *g)
{
    char value[8];
    sequence_numeric_fill(s, value, 1);
    const hr_tensor scalar = hr_tensor_of(result_dtype(s), HR_SCALAR, value);
    return hr_column_constant(g, &scalar);
}

static hr_column_node int64_vector(const hr_column_graph *g, const int64_t *values, int count)
{
    const hr_tensor vector = hr_tensor_of(HR_INT64, HR_SHAPE(count), values);
    return hr_column_constant(g, &vector);
}

/* A value at a place that is a multiple of the width begins a step; those after it are of the same one. */
static hr_status sequence_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                   hr_column_nodes *out, hr_error *err)
{
    const sequence_spec *s = spec;
    const int64_t width = hr_shape_count(s->shape);
    hr_column_node values = in->values;
    if (hr__normalizes(&s->normalize))
        HR_TRY(hr__normalize_to_graph(&s->normalize, g, who, s->key, in->dtype, &values, err));
    else
        values = hr_column_cast(g, values, in->dtype, s->dtype);
    const hr_column_node zero = hr_column_int64_constant(g, 0), one = hr_column_int64_constant(g, 1);
    const hr_column_node each = hr_column_int64_constant(g, width), flat = int64_vector(g, HR_I64(-1), 1);
    const hr_column_node place =
        HR_COLUMN_APPLY(g, "FloorMod", HR_COLUMN_APPLY(g, "GatherV2", in->indices, one, one), each);
    const hr_column_node begins = HR_COLUMN_APPLY(g, "Equal", place, zero);
    const hr_column_node begun = HR_COLUMN_APPLY(g, "Cumsum", hr_column_cast(g, begins, HR_BOOL, HR_INT64), zero);
    const hr_column_node before = HR_COLUMN_APPLY(g, "Mul", HR_COLUMN_APPLY(g, "Sub", begun, one), each);
    const hr_column_node at = HR_COLUMN_APPLY(g, "AddV2", before, place);
    const hr_column_node first = HR_COLUMN_APPLY(g, "Reshape", HR_COLUMN_APPLY(g, "Where", begins), flat);
    const hr_column_node steps =
        hr_column_op(g, "Shape", HR_COLUMN_INPUTS(first), HR_COLUMN_ATTRS(HR_COLUMN_TYPE_ATTR("out_type", HR_INT64)));
    const hr_column_node filled =
        HR_COLUMN_APPLY(g, "SparseToDense", at, HR_COLUMN_APPLY(g, "Mul", steps, each), values, default_to_graph(s, g));
    *out = (hr_column_nodes){.dtype = result_dtype(s), .width = width};
    out->values = HR_COLUMN_APPLY(g, "Reshape", filled, int64_vector(g, (const int64_t[]){-1, width}, 2));
    out->indices = HR_COLUMN_APPLY(g, "FloorDiv", HR_COLUMN_APPLY(g, "GatherV2", in->indices, first, zero),
                                   int64_vector(g, (const int64_t[]){1, width}, 2));
    return HR_OK;
}

static const hr_column_config sequence_numeric_config; /* below */

const hr_column_kind hr_column_kind_sequence_numeric = {
    .head = HR_COLUMN_HEAD,
    .name = "sequence_numeric_column",
    .spec_size = sizeof(sequence_spec),
    .spec_copy = sequence_copy,
    .spec_free = sequence_free,
    .describe = sequence_describe,
    .accept = sequence_accept,
    .transform = sequence_transform,
    .config = &sequence_numeric_config,
    .to_graph = sequence_to_graph,
};

hr_feature_column *hr_sequence_numeric_column_with(const char *key, const hr_sequence_numeric_column_opts *opts)
{
    const hr_sequence_numeric_column_opts o = HR_OPTIONS(hr_sequence_numeric_column_opts, opts);
    return hr_feature_column_new(&hr_column_kind_sequence_numeric,
                                 &(sequence_spec){
                                     .key = key ? key : "",
                                     .shape = o.shape.rank == 0 ? HR_SHAPE(1) : o.shape,
                                     .default_value = o.default_value,
                                     .dtype = o.dtype == HR_INVALID_DTYPE ? HR_FLOAT : o.dtype,
                                     .normalize = {o.normalizer_fn, o.user, o.log1p, o.mean, o.std, o.min, o.max},
                                 },
                                 NULL, 0);
}

/* ---- {sequence_numeric: temps, shape: 2, default: -1} ---- */

static hr_status read_sequence(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    hr_sequence_numeric_column_opts o = {.struct_size = sizeof o};
    const hr_config_value *field = hr_config_get(r, "sequence_numeric");
    const char *name;
    hr_dtype dtype;
    double missing = 0;
    HR_TRY(hr_config_field(r, field, &dtype, err));
    HR_TRY(hr_config_value_text(field, &name, err));
    HR_TRY(hr_config_shape(r, "shape", &o.shape, err));
    HR_TRY(hr_config_double(r, "default", &missing, err));
    hr__normalize n = {0};
    HR_TRY(hr__normalize_read(r, &n, err));
    HR_TRY(hr_config_dtype(r, &o.dtype, err));
    o.default_value = missing;
    o.log1p = n.log1p;
    o.mean = n.mean;
    o.std = n.std;
    o.min = n.min;
    o.max = n.max;
    *out = hr_sequence_numeric_column_with(name, &o);
    return HR_OK;
}

static void write_sequence(hr_config_writer *w, const hr_feature_column *column)
{
    const sequence_spec *s = hr_feature_column_spec(column);
    hr_config_write_text(w, "sequence_numeric", s->key);
    if (!hr_shape_equal(s->shape, HR_SHAPE(1))) hr_config_write_shape(w, "shape", s->shape);
    if (s->default_value != 0) hr_config_write_double(w, "default", s->default_value);
    hr__normalize_write(w, &s->normalize);
    if (s->dtype != HR_FLOAT) hr_config_write_text(w, "dtype", hr_dtype_name(s->dtype));
}

static const hr_column_config sequence_numeric_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "sequence_numeric",
    .keys = (const char *const[]){"sequence_numeric", "shape", "default", HR__NORMALIZE_KEYS, "dtype", NULL},
    .read = read_sequence,
    .write = write_sequence,
};
