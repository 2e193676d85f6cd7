/* Schemas as text, and what differs between two. */
#include "base/number.h"
#include "base/text.h"
#include "io/schema/schema.h"
#include <headrace/examples.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int schema_text_by_name(const void *a, const void *b)
{
    return strcmp(((const hr__schema_field *)a)->name, ((const hr__schema_field *)b)->name);
}

void hr__schema_sort(hr__schema_file *schema)
{
    if (schema->fields > 1) qsort(schema->field, (size_t)schema->fields, sizeof *schema->field, schema_text_by_name);
    for (int i = 0; i < schema->fields; i++) { /* the name is there: nothing is allocated */
        const char *name = schema->field[i].name;
        (void)hr__map_set(&schema->names, name, strlen(name), i, NULL);
    }
}

int hr_schema_file_count(const hr_schema_file *schema) { return schema ? schema->fields : 0; }

hr_schema_file_field hr_schema_file_at(const hr_schema_file *schema, int i)
{
    const hr__schema_field *f = &schema->field[i];
    return (hr_schema_file_field){.name = f->name,
                                  .dtype = f->stored,
                                  .note = f->note ? f->note : "",
                                  .conflict = f->conflict,
                                  .rounded = f->rounded,
                                  .written = f->dtype};
}

int hr_schema_file_label(const hr_schema_file *schema) { return schema ? schema->label : -1; }

/* ---- text ---- */

/* Words that YAML takes for something else than text. */
static bool is_special(hr_view name)
{
    static const char *const words[] = {"null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE",
                                        "yes",  "Yes",  "YES",  "no",   "No",   "NO",   "on",    "On",    "ON",
                                        "off",  "Off",  "OFF",  "y",    "Y",    "n",    "N"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == (size_t)name.size && memcmp(words[i], name.data, (size_t)name.size) == 0) return true;
    return false;
}

void hr__schema_put_name(hr__text *to, hr_view name)
{
    const char *c = name.data, *end = c + name.size;
    bool plain = c < end && ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_');
    for (; plain && c < end; c++)
        plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                (*c && strchr("_-./", *c));
    if (plain && !is_special(name))
        hr__text_bytes(to, name.data, (size_t)name.size);
    else
        hr__text_json(to, name.data, (size_t)name.size);
}

static void put_text(hr__text *to, const char *name)
{
    hr__schema_put_name(to, (hr_view){name, (int64_t)strlen(name)});
}

static const char *word_of(hr_dtype dtype)
{
    return dtype == HR_FLOAT ? "float" : dtype == HR_DOUBLE ? "double" : hr_dtype_name(dtype);
}

/* All fields of a type, in their order. */
static void put_type(hr__text *to, const hr__schema_file *s, hr_dtype dtype)
{
    bool first = true;
    for (int i = 0; i < s->fields; i++) {
        const hr__schema_field *f = &s->field[i];
        if (f->dtype != dtype) continue;
        if (first) hr__text_printf(to, "  %s:\n", word_of(dtype));
        first = false;
        hr__text_add(to, "    - ");
        put_text(to, f->name);
        if (f->note) hr__text_printf(to, "  # %s", f->conflict ? "CONFLICT: " : "");
        if (f->note) hr__text_add(to, f->note);
        hr__text_byte(to, '\n');
    }
}

static void put_default(hr__text *to, const hr__schema_field *f)
{
    char number[HR__NUMBER_TEXT];
    hr__text_add(to, "    ");
    put_text(to, f->name);
    hr__text_add(to, ": ");
    if (f->dtype == HR_BOOL)
        hr__text_add(to, f->default_int64 ? "true" : "false");
    else if (f->stored == HR_INT64)
        hr__text_printf(to, "%" PRId64, f->default_int64);
    else if (f->stored == HR_FLOAT)
        hr__text_bytes(to, number, (size_t)hr__format_float(f->default_float, number));
    else
        hr__text_json(to, f->default_string.data, (size_t)f->default_string.size);
    hr__text_byte(to, '\n');
}

hr_status hr_schema_file_text(const hr_schema_file *schema, char **text, hr_error *err)
{
    if (text) *text = NULL;
    if (!schema || !text)
        return hr_fail(err, HR_INVALID_ARGUMENT, "schema.argument", "expected %s, got NULL",
                       schema ? "where to put the text" : "a schema");
    if (schema->fields == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "schema.empty",
                       "expected fields for a schema, found none in %lld records; give files that have some",
                       (long long)schema->records);
    hr__text out = {0};
    bool defaults = false;
    hr__text_add(&out, "schema:\n");
    static const hr_dtype order[] = {HR_INT64, HR_FLOAT, HR_STRING, HR_INT32, HR_UINT64, HR_BOOL, HR_DOUBLE};
    for (size_t t = 0; t < sizeof order / sizeof *order; t++) put_type(&out, schema, order[t]);
    for (int i = 0; i < schema->fields; i++) defaults |= schema->field[i].has_default;
    if (defaults) hr__text_add(&out, "  default:\n");
    for (int i = 0; i < schema->fields; i++)
        if (schema->field[i].has_default) put_default(&out, &schema->field[i]);
    if (schema->label >= 0) {
        hr__text_add(&out, "  label: ");
        put_text(&out, schema->field[schema->label].name);
        hr__text_byte(&out, '\n');
    }
    *text = hr__text_take(&out);
    return *text ? HR_OK : hr_no_memory(err, "a schema");
}

/* ---- differences ---- */

typedef struct differ {
    void (*tell)(const char *difference, void *user);
    void *user;
    int count;
} differ;

static void schema_text_tell(differ *d, const char *text)
{
    d->count++;
    if (d->tell) d->tell(text, d->user);
}

static bool same_default(const hr__schema_field *a, const hr__schema_field *b)
{
    if (a->has_default != b->has_default) return false;
    if (!a->has_default || a->stored != b->stored) return true;
    if (a->stored == HR_INT64) return a->default_int64 == b->default_int64;
    if (a->stored == HR_FLOAT) return memcmp(&a->default_float, &b->default_float, sizeof(float)) == 0;
    const hr_view x = a->default_string, y = b->default_string;
    return x.size == y.size && memcmp(x.data, y.data, (size_t)x.size) == 0;
}

static void schema_text_compare(differ *d, const hr__schema_field *a, const hr__schema_field *b)
{
    char text[256];
    if (!b) {
        snprintf(text, sizeof text, "- %s %.200s", word_of(a->dtype), a->name);
        schema_text_tell(d, text);
        return;
    }
    if (a->dtype != b->dtype) {
        snprintf(text, sizeof text, "~ %.180s: %s, %s", a->name, word_of(a->dtype), word_of(b->dtype));
        schema_text_tell(d, text);
    }
    if (same_default(a, b)) return;
    snprintf(text, sizeof text, "~ %.200s: another default", a->name);
    schema_text_tell(d, text);
}

static const char *schema_text_label_of(const hr_schema_file *s)
{
    return s->label >= 0 ? s->field[s->label].name : "none";
}

int hr_schema_file_diff(const hr_schema_file *a, const hr_schema_file *b,
                        void (*say)(const char *difference, void *user), void *user)
{
    differ d = {say, user, 0};
    char text[256];
    for (int i = 0; i < a->fields; i++) {
        const int k = hr__schema_find(b, a->field[i].name);
        schema_text_compare(&d, &a->field[i], k >= 0 ? &b->field[k] : NULL);
    }
    for (int i = 0; i < b->fields; i++) {
        if (hr__schema_find(a, b->field[i].name) >= 0) continue;
        snprintf(text, sizeof text, "+ %s %.200s", word_of(b->field[i].dtype), b->field[i].name);
        schema_text_tell(&d, text);
    }
    if (strcmp(schema_text_label_of(a), schema_text_label_of(b)) == 0) return d.count;
    snprintf(text, sizeof text, "~ label: %.100s, %.100s", schema_text_label_of(a), schema_text_label_of(b));
    schema_text_tell(&d, text);
    return d.count;
}
