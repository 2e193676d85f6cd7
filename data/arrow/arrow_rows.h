/* Arrow struct arrays as rows: which components their leaves are, as they come or as a parsing spec wants them, and the
 * values into columns. What from_arrow and from_arrow_stream share. */
#ifndef HR_ARROW_ROWS_H
#define HR_ARROW_ROWS_H

#include "data/arrow/arrow_column.h"
#include "data/parse/parse_spec.h"

/* One component that comes out. */
typedef struct hr__arrow_component {
    int leaf;
    hr_field field; /* names: those of the plan or of the leaf */
    int64_t count;  /* values a row; -1: any number, */
    int64_t group;  /* in whole groups of so many */
    const void *default_values;
} hr__arrow_component;

typedef struct hr__arrow_table {
    const char *who; /* begins messages */
    struct ArrowSchema schema;
    hr__parse_plan *plan; /* NULL: no spec */
    hr__arrow_type *leaf;
    hr__arrow_component *component;
    int leaves, components;
    bool lists;
} hr__arrow_table;

/* Makes the components of t->schema, by `spec` (NULL: all leaves as they are). Whatever happens,
 * hr__arrow_table_clear. */
hr_status hr__arrow_table_open(hr__arrow_table *t, const hr_parse_spec *spec, const char *label, hr_error *err);
void hr__arrow_table_clear(hr__arrow_table *t); /* releases the schema, too */
hr_status hr__arrow_table_fields(const hr__arrow_table *t, hr_schema_builder *out, hr_error *err);
hr_status hr__arrow_table_agrees(const hr__arrow_table *t, const struct ArrowSchema *schema, hr_error *err);
void hr__arrow_table_identity(const hr__arrow_table *t, uint64_t *sum);

void hr__arrow_table_describe(const hr__arrow_table *t, hr_description *to);

/* A struct array of that schema, with a column for each component. */
typedef struct hr__arrow_batch {
    struct ArrowArray array;
    hr__arrow_column *column;
    int64_t first; /* number of its first row, in errors */
} hr__arrow_batch;

hr_status hr__arrow_batch_open(const hr__arrow_table *t, hr__arrow_batch *batch, hr_error *err);
void hr__arrow_batch_clear(hr__arrow_batch *batch); /* releases the array */

/* Rows of the batch from number `first` on, into `rows`. Rows that are wrong fail. */
hr_status hr__arrow_fill(const hr__arrow_table *t, const hr__arrow_batch *batch, int64_t first, hr_work *w,
                         hr_columns *rows, hr_error *err);

#endif
