/* Reading of the schema section. Whatever is wrong is said with the line and column where it stands. */
#include "io/schema/schema.h"
#include "io/config_file.h"
#include <headrace/examples.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *key;
    hr_dtype dtype, stored;
} types[] = {
    {"int64", HR_INT64, HR_INT64},   {"float", HR_FLOAT, HR_FLOAT},    {"string", HR_STRING, HR_STRING},
    {"int32", HR_INT32, HR_INT64},   {"bool", HR_BOOL, HR_INT64},      {"double", HR_DOUBLE, HR_FLOAT},
    {"float32", HR_FLOAT, HR_FLOAT}, {"float64", HR_DOUBLE, HR_FLOAT},
};
enum { TYPES = sizeof types / sizeof *types };

static const char *const allowed[] = {"int64",   "float",   "string",  "int32", "bool", "double",
                                      "float32", "float64", "default", "label", NULL};

int hr__schema_find(const hr__schema_file *schema, const char *name)
{
    return hr__schema_find_view(schema, (hr_view){name, (int64_t)strlen(name)});
}

int hr__schema_find_view(const hr__schema_file *schema, hr_view name)
{
    const int64_t *found = hr__map_find(&schema->names, name.data, (size_t)name.size);
    return found ? (int)*found : -1;
}

hr_status hr__schema_add(hr__schema_file *schema, hr_error *err)
{
    const char *name = schema->field[schema->fields].name;
    HR_TRY(hr__map_add(&schema->names, name, strlen(name), schema->fields, err));
    schema->fields++;
    return HR_OK;
}

static hr_status schema_add_field(const hr__node *node, int type, hr__schema_file *out, hr_error *err)
{
    const char *name;
    HR_TRY(hr__node_text(node, &name, err));
    int known = hr__schema_find(out, name);
    if (known >= 0)
        return hr__node_fail(node, err, HR_INVALID_ARGUMENT, "schema.field",
                             "expected every field once, found '%.60s' twice; the first is in line %d", name,
                             out->field[known].line);
    hr__schema_field *f = &out->field[out->fields];
    *f = (hr__schema_field){.dtype = types[type].dtype, .stored = types[type].stored};
    f->line = node->line;
    f->column = node->column;
    if (!(f->name = hr_strdup(name))) return hr_no_memory(err, "a schema");
    const hr_status st = hr__schema_add(out, err);
    if (st != HR_OK) hr_free(f->name);
    return st;
}

static hr_status add_fields(const hr__node *section, hr__schema_file *out, hr_error *err)
{
    int64_t count = 0;
    for (int64_t i = 0; i < section->count; i++) count += section->item[i]->count;
    out->field = hr_calloc((size_t)count + 1, sizeof *out->field);
    if (!out->field) return hr_no_memory(err, "a schema");
    for (int64_t i = 0; i < section->count; i++)
        for (int t = 0; t < TYPES; t++) {
            if (!hr__node_is_text(section->key[i], types[t].key)) continue;
            HR_TRY(hr__node_is(section->item[i], HR__SEQUENCE, err));
            for (int64_t k = 0; k < section->item[i]->count; k++)
                HR_TRY(schema_add_field(section->item[i]->item[k], t, out, err));
        }
    if (out->fields > 0) return HR_OK;
    return hr__node_fail(section, err, HR_INVALID_ARGUMENT, "schema.empty",
                         "expected fields, found none; list them by type, for example int64: [id]");
}

/* The field that a scalar names. */
static hr_status find_named(const hr__node *node, const hr__schema_file *schema, int *index, hr_error *err)
{
    const char *name, *names[512];
    HR_TRY(hr__node_text(node, &name, err));
    *index = hr__schema_find(schema, name);
    if (*index >= 0) return HR_OK;
    int count = schema->fields < 512 ? schema->fields : 512; /* for a suggestion that is enough */
    for (int i = 0; i < count; i++) names[i] = schema->field[i].name;
    return hr__node_unknown(node, "field", names, count, err);
}

static hr_status read_int64(const hr__node *value, hr__schema_field *f, hr_error *err)
{
    if (f->dtype == HR_INT32) return hr__node_int64(value, INT32_MIN, INT32_MAX, &f->default_int64, err);
    if (f->dtype != HR_BOOL) return hr__node_int64(value, INT64_MIN, INT64_MAX, &f->default_int64, err);
    bool truth;
    HR_TRY(hr__node_bool(value, &truth, err));
    f->default_int64 = truth;
    return HR_OK;
}

static hr_status read_default(const hr__node *value, hr__schema_field *f, hr_error *err)
{
    double number;
    f->has_default = true;
    if (f->stored == HR_INT64) return read_int64(value, f, err);
    if (f->stored == HR_FLOAT) {
        HR_TRY(hr__node_double(value, &number, err));
        f->default_float = isnan(number) ? NAN : (float)number; /* a text keeps no NaN's sign */
        return HR_OK;
    }
    HR_TRY(hr__node_is(value, HR__SCALAR, err));
    char *text = hr_calloc(value->size + 64, 1);
    if (!text) return hr_no_memory(err, "a schema");
    memcpy(text, value->text, value->size);
    f->default_string = (hr_view){text, (int64_t)value->size};
    return HR_OK;
}

static hr_status read_defaults(const hr__node *map, hr__schema_file *out, hr_error *err)
{
    if (!map || hr__node_is_null(map)) return HR_OK;
    HR_TRY(hr__node_is(map, HR__MAPPING, err));
    for (int64_t i = 0; i < map->count; i++) {
        int index;
        HR_TRY(find_named(map->key[i], out, &index, err));
        HR_TRY(read_default(map->item[i], &out->field[index], err));
    }
    return HR_OK;
}

hr_status hr__schema_read(const hr__node *section, hr__schema_file *out, hr_error *err)
{
    *out = (hr__schema_file){.label = -1};
    HR_TRY(hr__node_is(section, HR__MAPPING, err));
    HR_TRY(hr__config_check_keys(section, allowed, err));
    HR_TRY(add_fields(section, out, err));
    HR_TRY(read_defaults(hr__node_get(section, "default"), out, err));
    const hr__node *label = hr__node_get(section, "label");
    return label ? find_named(label, out, &out->label, err) : HR_OK;
}

static hr_status schema_open(const char *path, const hr_schema_file_open_opts *o, hr__schema_file *out, hr_error *err)
{
    hr__config *config;
    *out = (hr__schema_file){.label = -1};
    HR_TRY(hr__config_open(path, &config, err));
    hr_status st = hr__config_set_all(config, o->set, o->set_count, err);
    const hr__node *root = hr__config_root(config), *section = hr__node_get(root, "schema");
    if (st == HR_OK) st = hr__schema_read(section ? section : root, out, err);
    hr__config_free(config);
    return st;
}

hr_status hr__schema_open(const char *path, hr__schema_file *out, hr_error *err)
{
    return schema_open(path, &(hr_schema_file_open_opts){0}, out, err);
}

static hr_status set_type(hr__schema_file *schema, const char *text, size_t size, hr_error *err)
{
    const char *equal = memchr(text, '=', size);
    const size_t name = equal ? (size_t)(equal - text) : size, type = equal ? size - name - 1 : 0;
    const int i = hr__schema_find_view(schema, (hr_view){text, (int64_t)name});
    for (int t = 0; i >= 0 && t < TYPES; t++) {
        hr__schema_field *f = &schema->field[i];
        if (strlen(types[t].key) != type || (type && memcmp(types[t].key, equal + 1, type) != 0)) continue;
        f->has_default &= f->stored == types[t].stored; /* it was read as the other type */
        f->dtype = types[t].dtype;
        f->stored = types[t].stored;
        f->conflict = false;
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "schema.types",
                   "types: expected a field of the schema and a type, as row=int64, got \"%.*s\"",
                   size < 60 ? (int)size : 60, text);
}

hr_status hr_schema_file_set_types(hr__schema_file *schema, const char *text, hr_error *err)
{
    if (!schema || !text)
        return hr_fail(err, HR_INVALID_ARGUMENT, "schema.argument", "expected %s, got NULL",
                       schema ? "types of fields, \"row=int64,temp=float\"" : "a schema");
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        const size_t size = strcspn(at, ",");
        HR_TRY(set_type(schema, at, size, err));
        at += size;
    }
    return HR_OK;
}

void hr__schema_clear(hr__schema_file *schema)
{
    for (int i = 0; i < schema->fields; i++) {
        hr_free(schema->field[i].name);
        hr_free(schema->field[i].note);
        hr_free((char *)schema->field[i].default_string.data);
    }
    hr_free(schema->field);
    hr__map_free(&schema->names);
    *schema = (hr__schema_file){.label = -1};
}

static hr_status copy_field(const hr__schema_field *from, hr__schema_field *to, hr_error *err)
{
    const size_t size = (size_t)from->default_string.size;
    *to = *from;
    to->note = NULL;
    to->default_string.data = NULL;
    to->name = hr_strdup(from->name);
    if (!to->name) return hr_no_memory(err, "a schema");
    if (!from->default_string.data) return HR_OK;
    char *text = hr_calloc(size + 64, 1);
    if (!text) return hr_no_memory(err, "a schema");
    memcpy(text, from->default_string.data, size);
    to->default_string.data = text;
    return HR_OK;
}

hr_status hr__schema_copy(const hr__schema_file *schema, hr__schema_file *out, hr_error *err)
{
    *out = (hr__schema_file){.label = schema->label, .records = schema->records};
    out->field = hr_calloc((size_t)schema->fields + 1, sizeof *out->field);
    if (!out->field) return hr_no_memory(err, "a schema");
    for (int i = 0; i < schema->fields; i++) {
        hr_status st = copy_field(&schema->field[i], &out->field[i], err);
        if (st == HR_OK) st = hr__schema_add(out, err);
        if (st == HR_OK) continue;
        hr_free(out->field[i].name); /* it is none of out->fields yet */
        hr_free((char *)out->field[i].default_string.data);
        return st;
    }
    return HR_OK;
}

hr_status hr_schema_file_open_with(const char *path, const hr_schema_file_open_opts *opts, hr_schema_file **out,
                                   hr_error *err)
{
    const hr_schema_file_open_opts o = HR_OPTIONS(hr_schema_file_open_opts, opts);
    if (out) *out = NULL;
    if (!path || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "schema.argument", "expected %s, got NULL",
                       path ? "where to put the schema" : "the name of a file");
    *out = hr_calloc(1, sizeof **out);
    if (!*out) return hr_no_memory(err, "a schema");
    hr_status st = schema_open(path, &o, *out, err);
    if (st == HR_OK) return HR_OK;
    hr_schema_file_free(*out);
    *out = NULL;
    return st;
}

void hr_schema_file_free(hr_schema_file *schema)
{
    if (schema) hr__schema_clear(schema);
    hr_free(schema);
}

hr_status hr__schema_stored(const hr__schema_file *schema, hr_schema *out, hr_error *err)
{
    hr_field *field = hr_calloc((size_t)schema->fields + 1, sizeof *field);
    if (!field) return hr_no_memory(err, "a schema");
    for (int i = 0; i < schema->fields; i++)
        field[i] = (hr_field){.name = schema->field[i].name, .dtype = schema->field[i].stored};
    *out = (hr_schema){.fields = schema->fields, .field = field};
    return HR_OK;
}
