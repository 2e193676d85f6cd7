/* Schemas being built by an operator's check. A builder owns its fields and their names. */
#include "data/dataset.h"
#include <stdio.h>
#include <string.h>

static const hr_field int64_field = {.name = "value", .dtype = HR_INT64};
static const hr_field string_field = {.name = "value", .dtype = HR_STRING};
const hr_schema hr_int64_schema = {0, 1, &int64_field};
const hr_schema hr_string_schema = {0, 1, &string_field};

const void *hr_zero_value(hr_dtype dtype)
{
    static const uint64_t zeros[2];
    static const char nothing[64]; /* 64 bytes after a string may be read */
    static const hr_view empty = {nothing, 0};
    return dtype == HR_STRING ? (const void *)&empty : zeros;
}

void hr_schema_clear(hr_schema_builder *out)
{
    for (int i = 0; i < out->schema.fields; i++) hr_free((char *)out->field[i].name);
    hr_free(out->field);
    hr__map_free(&out->names);
    *out = (hr_schema_builder){.schema.levels = out->schema.levels};
}

static bool element_schema_reserve(hr_schema_builder *out)
{
    if (out->schema.fields < out->capacity) return true;
    int capacity = out->capacity ? 2 * out->capacity : 4;
    hr_field *field = hr_realloc(out->field, (size_t)capacity * sizeof *field);
    if (!field) return false;
    out->schema.field = out->field = field;
    out->capacity = capacity;
    return true;
}

/* What no column can be. */
static const char *impossible(const hr_field *field)
{
    int64_t values = 1;
    if (!field->name) return "a component without a name";
    if (hr_dtype_size(field->dtype) == 0) return "a component of a type that has no values";
    if (field->shape.rank < -1 || field->shape.rank > HR_MAX_RANK) return "a component of more than 8 dimensions";
    for (int i = 0; i < field->shape.rank; i++) {
        const int64_t dim = field->shape.dims[i] > 0 ? field->shape.dims[i] : 1;
        if (field->shape.dims[i] < -1) return "a component of a dimension below -1";
        if (dim > HR_MAX_VALUES / values) return "a component of too many values";
        values *= dim;
    }
    return NULL;
}

hr_status hr_schema_add(hr_schema_builder *out, hr_field field, hr_error *err)
{
    const char *fault = impossible(&field);
    if (fault)
        return hr_fail(err, HR_INVALID_ARGUMENT, "schema.component",
                       "schema: component '%.60s': expected one that a "
                       "column can hold, got %s",
                       field.name ? field.name : "", fault);
    const hr_status st = hr__map_add(&out->names, field.name, strlen(field.name), out->schema.fields, err);
    if (st == HR_ALREADY_EXISTS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "schema.duplicate", "schema: two components are called '%.60s'",
                       field.name);
    HR_TRY(st);
    field.name = hr_strdup(field.name);
    if (!field.name || !element_schema_reserve(out)) {
        hr_free((char *)field.name);
        return hr_no_memory(err, "a schema");
    }
    out->field[out->schema.fields++] = field;
    return HR_OK;
}

hr_status hr_schema_set(hr_schema_builder *out, const hr_schema *schema, hr_error *err)
{
    hr_schema_clear(out);
    out->schema.levels = schema->levels;
    for (int i = 0; i < schema->fields; i++) HR_TRY(hr_schema_add(out, schema->field[i], err));
    return HR_OK;
}

void hr_schema_add_level(hr_schema_builder *out) { out->schema.levels++; }

static bool same_field(const hr_field *a, const hr_field *b)
{
    return a->dtype == b->dtype && a->layout == b->layout && hr_shape_equal(a->shape, b->shape) &&
           strcmp(a->name, b->name) == 0;
}

/* The first component in which they differ; -1: none. */
static int first_difference(const hr_schema *a, const hr_schema *b)
{
    int i = 0;
    if (a->levels != b->levels) return 0;
    while (i < a->fields && i < b->fields && same_field(&a->field[i], &b->field[i])) i++;
    return i == a->fields && i == b->fields ? -1 : i;
}

bool hr_schema_equal(const hr_schema *a, const hr_schema *b) { return first_difference(a, b) < 0; }

/* "int64 'age'", or what else there is at that place. */
static const char *element_schema_describe(char *text, size_t size, const hr_schema *s, int i)
{
    if (i < s->fields)
        snprintf(text, size, "%s '%.60s' of rank %d", hr_dtype_name(s->field[i].dtype), s->field[i].name,
                 s->levels + s->field[i].shape.rank);
    else
        snprintf(text, size, "only %d components", s->fields);
    return text;
}

hr_status hr_schemas_agree(const char *name, const hr_schema *const *in, hr_error *err)
{
    for (int n = 1; in[0] && in[n]; n++) {
        char want[120], got[120];
        const int i = first_difference(in[0], in[n]);
        if (i >= 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "input.schema",
                           "%s: expected the components of dataset 0 in dataset %d, got %s instead of %s", name, n,
                           element_schema_describe(got, sizeof got, in[n], i),
                           element_schema_describe(want, sizeof want, in[0], i));
    }
    return HR_OK;
}
