/* The steps of a `pipeline:` section that need the file's schema or columns. */
#include "feature_columns/files/pipeline_steps.h"
#include "io/schema/schema.h"
#include <stdlib.h>
#include <string.h>

static const char *pipeline_schema_label_of(const hr__pipeline_context *c)
{
    return c->file.label < 0 ? NULL : c->file.field[c->file.label].name;
}

static const void *default_of(const hr__schema_field *f)
{
    if (!f->has_default) return NULL;
    if (f->stored == HR_INT64) return &f->default_int64;
    return f->stored == HR_FLOAT ? (const void *)&f->default_float : (const void *)&f->default_string;
}

/* ---- csv: the fields of the schema, or without one all columns of the header ---- */

hr_status hr__pipeline_csv(const hr__pipeline_context *c, const hr__node *at, const hr__given *o, hr_dataset **ds,
                           hr_error *err)
{
    (void)at;
    const size_t fields = (size_t)c->file.fields;
    hr_csv_column *column = hr_calloc(fields + 1, sizeof *column);
    hr_tensor *missing = hr_calloc(fields + 1, sizeof *missing);
    for (size_t i = 0; column && missing && i < fields; i++) {
        const hr__schema_field *f = &c->file.field[i];
        column[i] = (hr_csv_column){.name = f->name, .dtype = f->stored};
        if (!default_of(f)) continue;
        missing[i] = hr_tensor_of(f->stored, HR_SCALAR, default_of(f));
        column[i].default_value = &missing[i];
    }
    const hr_csv_opts opts = {.struct_size = sizeof opts,
                              .columns = column,
                              .column_count = c->file.fields,
                              .delimiter = o[HR__CSV_DELIMITER].text,
                              .na_value = o[HR__CSV_NA_VALUE].text,
                              .no_header = o[HR__CSV_NO_HEADER].flag,
                              .compression = (hr_compression)o[HR__CSV_COMPRESSION].number,
                              .policy.on_error = (hr_on_error)o[HR__CSV_ON_ERROR].number,
                              .label = pipeline_schema_label_of(c)};
    const bool memory = column && missing;
    if (memory) *ds = hr_csv_with(o[HR__CSV_PATTERN].path, &opts);
    hr_free(column);
    hr_free(missing);
    return memory ? HR_OK : hr_no_memory(err, "a pipeline");
}

/* ---- jsonl: the fields of the schema ---- */

hr_status hr__pipeline_jsonl(const hr__pipeline_context *c, const hr__node *at, const hr__given *o, hr_dataset **ds,
                             hr_error *err)
{
    const size_t fields = (size_t)c->file.fields;
    if (fields == 0)
        return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key",
                             "expected a `schema:` section, whose fields are the columns of jsonl, found none");
    hr_jsonl_column *column = hr_calloc(fields, sizeof *column);
    hr_tensor *missing = hr_calloc(fields, sizeof *missing);
    for (size_t i = 0; column && missing && i < fields; i++) {
        const hr__schema_field *f = &c->file.field[i];
        column[i] = (hr_jsonl_column){.name = f->name, .dtype = f->stored};
        if (!default_of(f)) continue;
        missing[i] = hr_tensor_of(f->stored, HR_SCALAR, default_of(f));
        column[i].default_value = &missing[i];
    }
    const bool memory = column && missing;
    if (memory)
        *ds = hr_jsonl(o[HR__JSONL_PATTERN].path, .columns = column, .column_count = c->file.fields,
                       .compression = (hr_compression)o[HR__JSONL_COMPRESSION].number,
                       .policy.on_error = (hr_on_error)o[HR__JSONL_ON_ERROR].number,
                       .label = pipeline_schema_label_of(c));
    hr_free(column);
    hr_free(missing);
    return memory ? HR_OK : hr_no_memory(err, "a pipeline");
}

/* ---- sql: the fields of the schema are the columns of the query, in their order ---- */

hr_status hr__pipeline_sql(const hr__pipeline_context *c, const hr__node *at, const hr__given *o, hr_dataset **ds,
                           hr_error *err)
{
    (void)at;
    const size_t fields = (size_t)c->file.fields;
    hr_sql_column *column = hr_calloc(fields + 1, sizeof *column);
    hr_tensor *missing = hr_calloc(fields + 1, sizeof *missing);
    for (size_t i = 0; column && missing && i < fields; i++) {
        const hr__schema_field *f = &c->file.field[i];
        column[i] = (hr_sql_column){.name = f->name, .dtype = f->stored};
        if (!default_of(f)) continue;
        missing[i] = hr_tensor_of(f->stored, HR_SCALAR, default_of(f));
        column[i].default_value = &missing[i];
    }
    const bool memory = column && missing;
    if (memory)
        *ds = hr_sql("sqlite", o[HR__SQL_SOURCE].path, o[HR__SQL_QUERY].text, .columns = column,
                     .column_count = c->file.fields);
    hr_free(column);
    hr_free(missing);
    return memory ? HR_OK : hr_no_memory(err, "a pipeline");
}

/* ---- example_rows: of the fields of the schema, or without one of all fields ---- */

hr_status hr__pipeline_example_rows(const hr__pipeline_context *c, const hr__node *at, const hr__given *o,
                                    hr_dataset **ds, hr_error *err)
{
    (void)at;
    (void)err;
    const hr_csv_opts csv = {
        .struct_size = sizeof csv, .delimiter = o[HR__ROWS_DELIMITER].text, .na_value = o[HR__ROWS_NA_VALUE].text};
    *ds = hr_example_rows(o[HR__ROWS_PATTERN].path, .format = (hr_file_format)o[HR__ROWS_FORMAT].number,
                          .schema = c->file.fields > 0 ? &c->file : NULL, .csv = &csv,
                          .compression = (hr_compression)o[HR__ROWS_COMPRESSION].number,
                          .policy.on_error = (hr_on_error)o[HR__ROWS_ON_ERROR].number);
    return HR_OK;
}

/* ---- filter: elements whose feature has a certain value, or lies in a range ---- */

typedef struct condition {
    int component;
    hr_dtype dtype;
    bool equals, at_least, below;
    int64_t whole;           /* what it equals */
    double number, min, end; /* the same of a float; the range */
    size_t size;
    char text[]; /* the same of a string, `size` bytes */
} condition;

static double as_double(const hr_tensor *t, hr_dtype dtype)
{
    return dtype == HR_INT64 ? (double)*(const int64_t *)t->data : (double)*(const float *)t->data;
}

static bool is_value(const condition *c, const hr_tensor *t)
{
    const hr_view *text = t->data;
    if (c->dtype == HR_INT64) return *(const int64_t *)t->data == c->whole;
    if (c->dtype == HR_FLOAT) return *(const float *)t->data == (float)c->number;
    return (size_t)text->size == c->size && memcmp(text->data, c->text, c->size) == 0;
}

static bool meets(const hr_element *e, void *user)
{
    const condition *c = user;
    const hr_tensor *t = hr_get_at(e, c->component);
    if (!t) return false;
    if (c->equals && !is_value(c, t)) return false;
    if (c->at_least && !(as_double(t, c->dtype) >= c->min)) return false;
    return !c->below || as_double(t, c->dtype) < c->end;
}

/* Scalars of the three types that records hold; *component is left alone where there is none of the name. */
static hr_status find_component(const hr_dataset *ds, const hr__given *o, condition *c, hr_error *err)
{
    const hr_schema *schema = hr_dataset_schema(ds);
    c->component = -1;
    for (int i = 0; i < schema->fields; i++)
        if (strcmp(schema->field[i].name, o->text) == 0) c->component = i;
    const hr_field *f = c->component < 0 ? NULL : &schema->field[c->component];
    const bool known = f && (f->dtype == HR_INT64 || f->dtype == HR_FLOAT || f->dtype == HR_STRING);
    if (!known || f->layout != HR_DENSE || f->shape.rank != 0 || schema->levels > 0)
        return hr__node_fail(o->node, err, HR_INVALID_ARGUMENT, "config.value",
                             "expected a feature with one number or text an element, found '%s'%s", o->text,
                             schema->levels > 0 ? " in batches; filter before batch" : "");
    c->dtype = f->dtype;
    return HR_OK;
}

static hr_status pipeline_schema_read_condition(const hr__given *o, condition *c, hr_error *err)
{
    const hr__node *equals = o[HR__FILTER_EQUALS].node, *min = o[HR__FILTER_MIN].node;
    const hr__node *below = o[HR__FILTER_BELOW].node;
    c->equals = equals != NULL, c->at_least = min != NULL, c->below = below != NULL;
    if (equals && c->dtype == HR_INT64) HR_TRY(hr__node_int64(equals, INT64_MIN, INT64_MAX, &c->whole, err));
    if (equals && c->dtype == HR_FLOAT) HR_TRY(hr__node_double(equals, &c->number, err));
    if (equals) memcpy(c->text, equals->text, c->size);
    if (c->dtype == HR_STRING && (min || below))
        return hr__node_fail(min ? min : below, err, HR_INVALID_ARGUMENT, "config.value",
                             "expected 'equals' alone of a text");
    if (min) HR_TRY(hr__node_double(min, &c->min, err));
    if (below) HR_TRY(hr__node_double(below, &c->end, err));
    return HR_OK;
}

hr_status hr__pipeline_filter(const hr__pipeline_context *context, const hr__node *at, const hr__given *o,
                              hr_dataset **ds, hr_error *err)
{
    (void)context;
    const hr__node *equals = o[HR__FILTER_EQUALS].node;
    const size_t size = equals ? equals->size : 0;
    if (!equals && !o[HR__FILTER_MIN].node && !o[HR__FILTER_BELOW].node)
        return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key",
                             "filter: expected 'equals', 'at_least' or 'below'");
    condition *c = hr_calloc(1, sizeof *c + size);
    if (!c) return hr_no_memory(err, "a pipeline");
    c->size = size;
    hr_status st = find_component(*ds, &o[HR__FILTER_FEATURE], c, err);
    if (st == HR_OK) st = pipeline_schema_read_condition(o, c, err);
    if (st == HR_OK)
        *ds = hr_filter(*ds, meets, c, .user_free = hr_free);
    else
        hr_free(c);
    return st;
}

/* ---- parsing: by the columns where there are some, else every field of the schema, one value each ---- */

static hr_status parse_fields(const hr__pipeline_context *c, const hr_parse_example_opts *opts, hr_dataset **ds,
                              hr_error *err)
{
    const size_t fields = (size_t)c->file.fields;
    hr_feature *feature = hr_calloc(fields + 1, sizeof *feature);
    hr_tensor *missing = hr_calloc(fields + 1, sizeof *missing);
    for (size_t i = 0; feature && missing && i < fields; i++) {
        const hr__schema_field *f = &c->file.field[i];
        const void *value = default_of(f);
        feature[i] = (hr_feature){.key = f->name, .kind = HR_FIXED_LEN, .dtype = f->stored};
        if (!value) continue;
        missing[i] = hr_tensor_of(f->stored, HR_SCALAR, value);
        feature[i].default_value = &missing[i];
    }
    const hr_parse_spec spec = {.feature = feature, .features = c->file.fields};
    const bool memory = feature && missing;
    if (memory) *ds = hr_parse_example_with(*ds, &spec, opts);
    hr_free(feature);
    hr_free(missing);
    return memory ? HR_OK : hr_no_memory(err, "a pipeline");
}

/* What the columns read, and the label. Gives *wanted. */
static hr_status pipeline_schema_wanted(const hr__pipeline_context *c, hr_parse_spec **wanted, hr_error *err)
{
    return hr_make_parse_example_spec(hr__config_columns_list(c->columns), wanted, err, .file = &c->all,
                                      .label = pipeline_schema_label_of(c));
}

hr_status hr__pipeline_parse_example(const hr__pipeline_context *c, const hr__node *at, const hr__given *o,
                                     hr_dataset **ds, hr_error *err)
{
    hr_parse_spec *wanted, *spec = NULL;
    const hr_parse_example_opts opts = {.struct_size = sizeof opts,
                                        .label = pipeline_schema_label_of(c),
                                        .tf_compat = o[HR__PARSE_TF_COMPAT].flag,
                                        .policy.on_error = (hr_on_error)o[HR__PARSE_ON_ERROR].number};
    if (c->file.fields == 0)
        return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key",
                             "expected a section 'schema' with the fields of the records");
    if (!c->columns) return parse_fields(c, &opts, ds, err);
    HR_TRY(pipeline_schema_wanted(c, &wanted, err));
    const hr_status st = hr_derived_parse_spec(c->derived, wanted, &c->schema, &spec, err);
    if (st == HR_OK) *ds = hr_parse_example_with(*ds, spec, &opts);
    hr_parse_spec_free(spec);
    hr_parse_spec_free(wanted);
    return st;
}

/* Those that the columns read; without columns all. */
hr_status hr__pipeline_derive_features(const hr__pipeline_context *c, const hr__node *at, const hr__given *o,
                                       hr_dataset **ds, hr_error *err)
{
    hr_parse_spec *wanted = NULL;
    (void)o;
    if (c->derived.count == 0)
        return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key", "expected a section 'derived'");
    if (c->columns) HR_TRY(pipeline_schema_wanted(c, &wanted, err));
    *ds = hr_derive_features(*ds, c->derived, .wanted = wanted);
    hr_parse_spec_free(wanted);
    return HR_OK;
}

hr_status hr__pipeline_transform_features(const hr__pipeline_context *c, const hr__node *at, const hr__given *o,
                                          hr_dataset **ds, hr_error *err)
{
    (void)o;
    if (!c->columns)
        return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key", "expected a section 'columns'");
    *ds = hr_transform_features(*ds, hr__config_columns_list(c->columns));
    return HR_OK;
}
