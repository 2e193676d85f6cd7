/* Schemas being built by an operator's check. A builder owns its fields and their names. */
#include "data/dataset.h"
#include <string.h>

static const hr_field int64_field = {.name = "value", .dtype = HR_INT64};
static const hr_field string_field = {.name = "value", .dtype = HR_STRING};
const hr_schema hr_int64_schema = {0, 1, &int64_field};
const hr_schema hr_string_schema = {0, 1, &string_field};

void hr_schema_clear(hr_schema_builder *out)
{
    for (int i = 0; i < out->schema.fields; i++) hr_free((char *)out->field[i].name);
    hr_free(out->field);
    *out = (hr_schema_builder){.schema.levels = out->schema.levels};
}

static bool make_room(hr_schema_builder *out)
{
    if (out->schema.fields < out->room) return true;
    int room = out->room ? 2 * out->room : 4;
    hr_field *field = hr_realloc(out->field, (size_t)room * sizeof *field);
    if (!field) return false;
    out->schema.field = out->field = field;
    out->room = room;
    return true;
}

hr_status hr_schema_add(hr_schema_builder *out, hr_field field, hr_error *err)
{
    for (int i = 0; i < out->schema.fields; i++)
        if (strcmp(out->field[i].name, field.name) == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "schema.duplicate", "schema: two components are called '%.60s'",
                           field.name);
    field.name = hr_strdup(field.name);
    if (!field.name || !make_room(out)) {
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

bool hr__schema_equal(const hr_schema *a, const hr_schema *b)
{
    bool same = a->levels == b->levels && a->fields == b->fields;
    for (int i = 0; same && i < a->fields; i++)
        same = a->field[i].dtype == b->field[i].dtype && a->field[i].layout == b->field[i].layout &&
               hr_shape_equal(a->field[i].shape, b->field[i].shape) && strcmp(a->field[i].name, b->field[i].name) == 0;
    return same;
}
