/* A parsing spec, compiled: which keys are read (slots of the Example parser), and how components are made of them.
 * Immutable once made; shared by all threads but for the cache of learned orders, which is atomic. */
#ifndef HR_PARSE_SPEC_H
#define HR_PARSE_SPEC_H

#include "io/example_reader.h"
#include <headrace/data.h>
#include <stdatomic.h>

enum { HR__MAX_PARTITIONS = 8, HR__SPARE_ORDERS = 16 };

typedef struct hr__parse_partition {
    hr_partition_kind kind;
    int slot; /* -1: HR_UNIFORM_ROW_LENGTH */
    int64_t length;
} hr__parse_partition;

/* One component. */
typedef struct hr__parse_output {
    hr_feature_kind kind;
    int slot;      /* of its values */
    bool own_slot; /* the parser writes this slot's values into this component's column */
    char *name;
    int64_t default_count;
    void *default_values;
    int indices, index_slot[HR_MAX_RANK]; /* HR_SPARSE_FEATURE */
    bool already_sorted;
    int partitions; /* HR_RAGGED_FEATURE: those that are levels of splits, outermost first */
    hr__parse_partition partition[HR__MAX_PARTITIONS];
    int64_t inner; /* values in the rows of the uniform partitions that are left: the shape of what the splits count */
    bool validate;
} hr__parse_output;

typedef struct hr__parse_plan {
    hr__example_parser *parser;
    int slots;
    int *home;                  /* of a slot: the output whose own it is; -1: none */
    hr__example_feature *asked; /* slots, while the plan is made */
    unsigned *users;            /* kinds of features that read a slot, a bit each */
    int outputs;
    hr__parse_output *output;
    hr_field *field;
    bool widens;
    _Atomic(hr__example_order *) spare[HR__SPARE_ORDERS];
} hr__parse_plan;

/* Gives *out. HR_INVALID_ARGUMENT, kind parse_example.spec. Copies all it needs. `label` may be NULL. */
hr_status hr__parse_plan_new(const hr_parse_spec *spec, const char *label, hr__parse_plan **out, hr_error *err);
void hr__parse_plan_free(hr__parse_plan *plan); /* NULL: nothing */

/* What threads have learned is passed on: takes one out of the cache or makes it; puts it back. */
hr__example_order *hr__parse_plan_order(hr__parse_plan *plan);
void hr__parse_plan_spare(hr__parse_plan *plan, hr__example_order *order);

/* ---- a unit being parsed ---- */

typedef struct hr__parse_unit {
    const hr__parse_plan *plan;
    hr_work *work;
    hr_columns *rows;
    hr__example_rows slots;
    bool whole_batches; /* tf_compat: a feature's parts are held against each other over a batch, not row by row */
} hr__parse_unit;

/* Components that are made of several slots, once all rows are parsed. Rows whose parts do not fit fail. */
hr_status hr__parse_sparse(hr__parse_unit *u, int output, hr_error *err);
hr_status hr__parse_ragged(hr__parse_unit *u, int output, hr_error *err);

/* The rows from `row` up to the result belong together. *element counts on from 0. */
int64_t hr__parse_group(const hr__parse_unit *u, int64_t row, int64_t *element);
void hr__parse_fail(hr__parse_unit *u, int output, int64_t row, const char *kind, const char *format, ...)
    HR_PRINTF(5, 6);

#endif
