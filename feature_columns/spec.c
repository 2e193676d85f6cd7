/* The parse spec: the union of the features that the columns read. Columns that read one key must agree about it. The
 * type in the file may differ from the column's: the column then converts it. */
#include "feature_columns/columns_internal.h"

#include "base/cast.h"
#include "base/hash_map.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The spec that is handed out, with all it points to. */
typedef struct owned_spec {
    hr_parse_spec spec; /* first: hr_parse_spec_free is given this */
    hr_feature *feature;
    int capacity;
    hr__map keys, file; /* while it is made: features and fields of the file by name */
} owned_spec;

static void spec_forget_names(owned_spec *own)
{
    hr__map_free(&own->keys);
    hr__map_free(&own->file);
}

void hr_parse_spec_free(hr_parse_spec *spec)
{
    owned_spec *own = (owned_spec *)(void *)spec;
    if (!own) return;
    for (int i = 0; i < own->spec.features; i++) {
        hr_feature *f = &own->feature[i];
        hr_free((void *)(uintptr_t)f->key);
        hr_tensor *value = (hr_tensor *)(uintptr_t)f->default_value;
        if (value) hr_tensor_clear(value);
        hr_free(value);
    }
    spec_forget_names(own);
    hr_free(own->feature);
    hr_free(own);
}

static double spec_number_at(const hr_tensor *t, int64_t i)
{
    int64_t whole;
    if (t->dtype == HR_FLOAT) return (double)((const float *)t->data)[i];
    if (t->dtype == HR_DOUBLE) return ((const double *)t->data)[i];
    hr__integer_of(t->data, t->dtype, i, &whole);
    return (double)whole;
}

static bool same_number(const hr_tensor *a, const hr_tensor *b, int64_t i)
{
    int64_t one, other;
    if (hr__integer_of(a->data, a->dtype, i, &one) && hr__integer_of(b->data, b->dtype, i, &other)) return one == other;
    return spec_number_at(a, i) == spec_number_at(b, i) || (isnan(spec_number_at(a, i)) && isnan(spec_number_at(b, i)));
}

/* Equal numbers: one of them may have been turned into the file's type already. */
static bool spec_same_default(const hr_tensor *a, const hr_tensor *b)
{
    if (!a || !b) return a == b;
    if (!hr_shape_equal(a->shape, b->shape)) return false;
    for (int64_t i = 0; i < a->count; i++)
        if (!same_number(a, b, i)) return false;
    return true;
}

static bool same_feature(const hr_feature *a, const hr_feature *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype) return false;
    return a->kind == HR_VAR_LEN ||
           (hr_shape_equal(a->shape, b->shape) && spec_same_default(a->default_value, b->default_value));
}

static const char *feature_text(const hr_feature *f, char *text, size_t size)
{
    char shape[96];
    const char *given = f->default_value ? ", with a default" : "";
    if (f->kind == HR_VAR_LEN)
        snprintf(text, size, "VarLenFeature(%s)", hr_dtype_name(f->dtype));
    else
        snprintf(text, size, "FixedLenFeature(%s, %s%s)", hr_shape_text(f->shape, shape, sizeof shape),
                 hr_dtype_name(f->dtype), given);
    return text;
}

static hr_status conflict(const hr_feature *a, const hr_feature *b, hr_error *err)
{
    char one[192], other[192];
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.spec_conflict",
                   "feature columns: feature '%s': expected one way to parse it, got %s and %s", a->key,
                   feature_text(a, one, sizeof one), feature_text(b, other, sizeof other));
}

/* Value `i` in the type that the file has; false if that type has no such number. */
static bool store_as(hr_tensor *to, const hr_tensor *from, int64_t i)
{
    double value = spec_number_at(from, i);
    int64_t whole;
    if (to->dtype == HR_FLOAT) {
        ((float *)to->data)[i] = (float)value;
        return (double)(float)value == value || isnan(value);
    }
    if (to->dtype == HR_DOUBLE) {
        ((double *)to->data)[i] = value;
        return true;
    }
    if (!hr__integer_of(from->data, from->dtype, i, &whole)) {
        if (floor(value) != value || fabs(value) >= 0x1p63) return false;
        whole = (int64_t)value;
    }
    return hr__store_integer(whole, to->dtype, (char *)to->data + (size_t)i * hr_dtype_size(to->dtype));
}

static hr_status spec_copy_default(hr_feature *f, const hr_tensor *value, hr_error *err)
{
    hr_tensor *own = hr_calloc(1, sizeof *own);
    if (!own) return hr_no_memory(err, "a parsing spec");
    hr_status st = hr_tensor_new(own, f->dtype, value->shape, err);
    if (st != HR_OK) {
        hr_free(own);
        return st;
    }
    f->default_value = own;
    if (f->dtype == value->dtype) {
        memcpy(own->data, value->data, (size_t)value->count * hr_dtype_size(value->dtype));
        return HR_OK;
    }
    for (int64_t i = 0; i < value->count; i++)
        if (!store_as(own, value, i))
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.default_value",
                           "feature '%s': expected a default value that its type in the file, %s, can hold, got %g",
                           f->key, hr_dtype_name(f->dtype), spec_number_at(value, i));
    return HR_OK;
}

static hr_feature *spec_find(owned_spec *own, const char *key)
{
    const int i = hr__map_index(&own->keys, key);
    return i >= 0 ? &own->feature[i] : NULL;
}

/* A feature in the type `dtype`, unless it is there in the same form. */
static hr_status spec_add_feature(owned_spec *own, const hr_feature *feature, hr_dtype dtype, hr_error *err)
{
    if (own->spec.features == own->capacity) {
        int capacity = own->capacity ? own->capacity * 2 : 8;
        hr_feature *grown = hr_realloc(own->feature, (size_t)capacity * sizeof *grown);
        if (!grown) return hr_no_memory(err, "a parsing spec");
        own->feature = grown;
        own->capacity = capacity;
        own->spec.feature = grown;
    }
    hr_feature *f = &own->feature[own->spec.features];
    *f = *feature;
    f->dtype = dtype;
    f->default_value = NULL;
    f->name = NULL;
    HR_TRY(hr__map_add(&own->keys, feature->key, strlen(feature->key), own->spec.features, err));
    f->key = hr_strdup(feature->key);
    if (!f->key) return hr_no_memory(err, "a parsing spec");
    own->spec.features++;
    return feature->default_value ? spec_copy_default(f, feature->default_value, err) : HR_OK;
}

static hr_dtype file_dtype(const owned_spec *own, const hr_schema *file, const char *key, hr_dtype otherwise)
{
    const int i = hr__map_index(&own->file, key);
    return i >= 0 ? file->field[i].dtype : otherwise;
}

/* Numbers are parsed in the file's type. Strings and numbers do not turn into each other: that is left to fail where
 * the columns see what they read. */
static hr_status add_read(owned_spec *own, const hr_feature *read, const hr_schema *file, hr_error *err)
{
    hr_dtype dtype = file_dtype(own, file, read->key, read->dtype);
    if (read->kind == HR_FIXED_LEN && hr_dtype_is_number(dtype) != hr_dtype_is_number(read->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.dtype", "feature '%s': expected %s, got %s in the file",
                       read->key, hr_dtype_name(read->dtype), hr_dtype_name(dtype));
    hr_feature *known = spec_find(own, read->key);
    if (!known) return spec_add_feature(own, read, dtype, err);
    hr_feature wanted = *read;
    wanted.dtype = dtype;
    if (dtype != read->dtype)
        wanted.default_value = known->default_value; /* of another type: compared as given below */
    return same_feature(known, &wanted) ? HR_OK : conflict(known, read, err);
}

static hr_status add_column(owned_spec *own, const hr_feature_column *column, const hr_schema *file, hr_error *err)
{
    const hr_feature *read;
    const hr_feature_column *source;
    for (int i = 0; (read = hr_feature_column_read(column, i)); i++) HR_TRY(add_read(own, read, file, err));
    for (int i = 0; (source = hr_feature_column_source(column, i)); i++) HR_TRY(add_column(own, source, file, err));
    return HR_OK;
}

static hr_status add_label(owned_spec *own, const hr_parse_example_spec_opts *o, hr_dtype usual, hr_error *err)
{
    if (!o->label) return HR_OK;
    hr_dtype dtype = o->label_dtype ? o->label_dtype : file_dtype(own, o->file, o->label, usual);
    if (spec_find(own, o->label))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.label",
                       "feature columns: expected a label that no column reads, got '%s'; a model that sees its label "
                       "learns nothing",
                       o->label);
    const int64_t dimension = o->label_dimension ? o->label_dimension : 1;
    if (dimension < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.label",
                       "feature columns: label '%s': expected label_dimension > 0, got %lld", o->label,
                       (long long)dimension);
    hr_feature feature = {.key = o->label, .kind = HR_FIXED_LEN, .dtype = dtype, .shape = HR_SHAPE(dimension)};
    if (!o->label_default || !hr_dtype_is_number(dtype)) return spec_add_feature(own, &feature, dtype, err);
    hr_tensor value;
    HR_TRY(hr_tensor_new(&value, HR_FLOAT, HR_SHAPE(dimension), err));
    for (int64_t i = 0; i < dimension; i++) ((float *)value.data)[i] = *o->label_default;
    feature.default_value = &value;
    hr_status st = spec_add_feature(own, &feature, dtype, err);
    hr_tensor_clear(&value);
    return st;
}

static hr_status add_weight(owned_spec *own, const hr_parse_example_spec_opts *o, hr_error *err)
{
    const char *key = o->weight_column;
    if (!key) return HR_OK;
    if (spec_find(own, key))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.label",
                       "feature columns: expected a weight_column that is neither a feature nor the label, got '%s'",
                       key);
    const hr_feature feature = {.key = key, .kind = HR_FIXED_LEN, .dtype = HR_FLOAT, .shape = HR_SHAPE(1)};
    return spec_add_feature(own, &feature, file_dtype(own, o->file, key, HR_FLOAT), err);
}

static int spec_by_key(const void *a, const void *b)
{
    return strcmp(((const hr_feature *)a)->key, ((const hr_feature *)b)->key);
}

/* ---- a spec that others make: columns_internal.h ---- */

hr_status hr__spec_begin(hr_parse_spec **out, hr_error *err)
{
    owned_spec *own = hr_calloc(1, sizeof *own);
    if (!own) return hr_no_memory(err, "a parsing spec");
    *out = &own->spec;
    return HR_OK;
}

hr_status hr__spec_add(hr_parse_spec *spec, const hr_feature *feature, hr_error *err)
{
    return spec_add_feature((owned_spec *)(void *)spec, feature, feature->dtype, err);
}

const hr_feature *hr__spec_find(hr_parse_spec *spec, const char *key)
{
    return spec_find((owned_spec *)(void *)spec, key);
}

bool hr__spec_same(const hr_feature *a, const hr_feature *b) { return same_feature(a, b); }

static void spec_sort(owned_spec *own)
{
    spec_forget_names(own);
    if (own->spec.features > 0) qsort(own->feature, (size_t)own->spec.features, sizeof *own->feature, spec_by_key);
}

void hr__spec_end(hr_parse_spec *spec) { spec_sort((owned_spec *)(void *)spec); }

/* `usual`: the label's type, unless the options have one or the file tells. */
static hr_status make_spec(hr_column_list columns, const hr_parse_example_spec_opts *o, hr_dtype usual,
                           hr_parse_spec **spec, hr_error *err)
{
    owned_spec *own = hr_calloc(1, sizeof *own);
    if (!own) return hr_no_memory(err, "a parsing spec");
    hr_status st = o->file ? hr__map_fields(&own->file, o->file, err) : HR_OK;
    for (int i = 0; i < columns.count && st == HR_OK; i++) {
        const hr_error *failed = hr_feature_column_error(columns.column[i]);
        if (failed && err) *err = *failed;
        st = failed ? failed->code : add_column(own, columns.column[i], o->file, err);
    }
    if (st == HR_OK) st = add_label(own, o, usual, err);
    if (st == HR_OK) st = add_weight(own, o, err);
    spec_sort(own);
    if (st != HR_OK) {
        hr_parse_spec_free(&own->spec);
        return st;
    }
    *spec = &own->spec;
    return HR_OK;
}

hr_status hr_make_parse_example_spec_with(hr_column_list columns, hr_parse_spec **spec, hr_error *err,
                                          const hr_parse_example_spec_opts *opts)
{
    const hr_parse_example_spec_opts o = HR_OPTIONS(hr_parse_example_spec_opts, opts);
    *spec = NULL;
    return make_spec(columns, &o, HR_INT64, spec, err);
}

/* With a label that is asked for. */
static hr_status with_label(hr_column_list columns, const char *label, hr_dtype dtype, hr_parse_spec **spec,
                            hr_error *err, const hr_parse_example_spec_opts *opts)
{
    hr_parse_example_spec_opts o = HR_OPTIONS(hr_parse_example_spec_opts, opts);
    *spec = NULL;
    HR_TRY(hr_column_check_key("label_key", label, err));
    o.label = label;
    return make_spec(columns, &o, dtype, spec, err);
}

hr_status hr_classifier_parse_example_spec_with(hr_column_list columns, const char *label_key, hr_parse_spec **spec,
                                                hr_error *err, const hr_parse_example_spec_opts *opts)
{
    return with_label(columns, label_key, HR_INT64, spec, err, opts);
}

hr_status hr_regressor_parse_example_spec_with(hr_column_list columns, const char *label_key, hr_parse_spec **spec,
                                               hr_error *err, const hr_parse_example_spec_opts *opts)
{
    return with_label(columns, label_key, HR_FLOAT, spec, err, opts);
}
