/* Inside of the column writer: what its files share. Kinds call it through <headrace/column_config.h>. Not a public
 * header. */
#ifndef HR__COLUMN_WRITER_H
#define HR__COLUMN_WRITER_H

#include "base/hash_map.h"
#include "base/text.h"
#include "feature_columns/config/columns_section.h"

typedef struct hr__column_entry {
    const hr_feature_column *column;
    char *name;  /* in the section */
    bool joined; /* one mapping makes it together with the entry before it */
} hr__column_entry;

struct hr_config_writer {
    hr__text text;
    hr__column_entry *entry;
    int entries, capacity;
    hr__map by_digest, by_name;        /* entries: the first of a digest; of a name, how often it was asked for */
    const char *own_name;              /* of the column that is being written */
    int at;                            /* its entry */
    const hr_feature_column **sources; /* of hr_config_write_sources */
    bool first;                        /* item of the list or pair of the mapping */
    hr_status status;
    hr_error *err;
};

/* The first failure sticks. */
void hr__write_fail(hr_config_writer *w, hr_status status);
/* "key: ", after a comma if it is not the first (column_writer_values.c). */
void hr__write_key(hr_config_writer *w, const char *key);
/* A text as YAML has it: in quotes, where it must be. */
void hr__write_scalar(hr_config_writer *w, const char *text);

/* The section `schema:`, of all that the entries read (column_writer_schema.c). */
hr_status hr__write_schema(hr_config_writer *w, const hr_schema *schema);

#endif
