/* The `schema:` section of a config file: what the fields of a data source are called, of what type they are, what
 * stands for a missing value, which is the label. convert takes the types of its CSV columns from here, feature columns
 * the defaults. Not a public header.
 *
 *     schema:
 *       int64: [row, late]
 *       float: [temp]
 *       string: [origin]
 *       default: {temp: 57.0}
 *       label: late
 */
#ifndef HR_SCHEMA_H
#define HR_SCHEMA_H

#include "base/config.h"
#include "base/hash_map.h"
#include "base/text.h"
#include <headrace/columns.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr__schema_field {
    char *name;
    hr_dtype dtype;  /* as written: HR_INT64, HR_FLOAT, HR_STRING; HR_INT32, HR_BOOL, HR_DOUBLE */
    hr_dtype stored; /* in a tf.Example: HR_INT64, HR_FLOAT, HR_STRING */
    bool has_default;
    int64_t default_int64; /* the default, as it is stored */
    float default_float;
    hr_view default_string;
    int line, column; /* where the field stands in its file */
    char *note;       /* NULL, or a comment: how its type was found */
    bool conflict;    /* records hold several kinds */
    int64_t rounded;  /* values of the CSV it was inferred from that float32 does not hold to the digits written */
} hr__schema_field;

/* What a CSV reader makes of it. A float64 is stored as float32, so it is read as one: rounded once. */
static inline hr_dtype hr__schema_read_as(const hr__schema_field *f)
{
    return f->stored == HR_FLOAT ? HR_FLOAT : f->dtype;
}

typedef struct hr__schema_file {
    hr__schema_field *field; /* in the order of the file */
    int fields;
    hr__map names;   /* of the fields: their indexes */
    int label;       /* index of the label, -1: none */
    int64_t records; /* that it was inferred from */
} hr__schema_file;

/* Reads the section; hr__schema_clear also after a failure. Kinds: schema.field, schema.empty, and those of
 * config.h. */
HR_API hr_status hr__schema_read(const hr__node *section, hr__schema_file *out, hr_error *err);
/* The same from a file: its `schema:` section, or, if it has none, the whole of it. */
hr_status hr__schema_open(const char *path, hr__schema_file *out, hr_error *err);
/* The fields as records hold them: gives out->field (hr_free), whose names are borrowed. */
HR_API hr_status hr__schema_stored(const hr__schema_file *schema, hr_schema *out, hr_error *err);
/* A copy of all but the notes (hr__schema_clear, also after a failure). */
hr_status hr__schema_copy(const hr__schema_file *schema, hr__schema_file *out, hr_error *err);
HR_API void hr__schema_clear(hr__schema_file *schema);
/* A name as YAML has it: in quotes where it would mean something else. */
void hr__schema_put_name(hr__text *to, hr_view name);
/* Appends a field that lies at field[fields], whose name is set. HR_ALREADY_EXISTS, with nothing in `err`: there is one
 * of that name. */
hr_status hr__schema_add(hr__schema_file *schema, hr_error *err);
void hr__schema_sort(hr__schema_file *schema);                        /* by name; there is no label */
int hr__schema_find(const hr__schema_file *schema, const char *name); /* -1: there is none */
int hr__schema_find_view(const hr__schema_file *schema, hr_view name);

#ifdef __cplusplus
}
#endif
#endif
