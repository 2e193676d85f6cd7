/* A parsing spec, compiled: which keys are read (slots of the Example parser), and how components are made of them.
 * Immutable once made; shared by all threads but for the cache of learned orders, which is atomic. */
#ifndef HR_PARSE_SPEC_H
#define HR_PARSE_SPEC_H

#include "base/hash_map.h"
#include "data/parse/parse_options.h"
#include "io/example/example_reader.h"
#include <headrace/data.h>
#include <stdatomic.h>

enum { HR__MAX_PARTITIONS = 8, HR__SPARE_ORDERS = 16 };

typedef struct hr__parse_partition {
    hr_partition_kind kind;
    int slot; /* -1: HR_UNIFORM_ROW_LENGTH */
    int64_t length;
} hr__parse_partition;

/* What a spec describes. Of feature lists a plan's rows are steps: those of the lists, each of which is a Feature. */
typedef enum hr__parse_role { HR__PARSE_EXAMPLE, HR__PARSE_CONTEXT, HR__PARSE_LISTS } hr__parse_role;

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
    hr__parse_role role;
    const char *who; /* begins messages */
    hr__example_parser *parser;
    int slots;
    int *home;                  /* of a slot: the output whose own it is; -1: none */
    hr__example_feature *asked; /* slots, while the plan is made */
    unsigned *users;            /* kinds of features that read a slot, a bit each */
    hr__map slot_of;            /* of a key, while the plan is made */
    int outputs;
    hr__parse_output *output;
    hr_field *field;
    bool widens;
    _Atomic(hr__example_order *) spare[HR__SPARE_ORDERS];
} hr__parse_plan;

/* Gives *out. HR_INVALID_ARGUMENT, kind parse_example.spec. Copies all it needs. `label` may be NULL; so may `spec` but
 * for an Example. */
hr_status hr__parse_plan_new(const hr_parse_spec *spec, hr__parse_role role, const char *label, hr__parse_plan **out,
                             hr_error *err);
void hr__parse_plan_free(hr__parse_plan *plan); /* NULL: nothing */

/* What threads have learned is passed on: takes one out of the cache or makes it; puts it back. */
hr__example_order *hr__parse_plan_order(hr__parse_plan *plan);
void hr__parse_plan_spare(hr__parse_plan *plan, hr__example_order *order);

/* ---- a unit being parsed ---- */

typedef struct hr__parse_unit {
    const hr__parse_plan *plan;
    hr_work *work;
    hr_columns *rows;
    int64_t count; /* of the plan's rows */
    const int32_t
        *steps; /* of a feature list: where the steps of each row begin, `count` in all; NULL: rows are rows */
    int first;  /* column of the plan's first component */
    hr__example_rows slots;
    hr__parse_call *call; /* where records come from, and damage goes */
} hr__parse_unit;

/* The plan's rows. A failed row may cut off later ones, so they are counted again each time. */
static inline int64_t hr__parse_count(const hr__parse_unit *u) { return u->steps ? u->count : u->rows->rows; }

/* A feature's parts are held against each other over a batch, not row by row. Those of feature lists never are. */
static inline bool hr__parse_whole_batches(const hr__parse_unit *u) { return u->call->whole_batches && !u->steps; }

/* Columns and slots for the plan's components; before, the unit has its plan, work and rows. After the rows are parsed,
 * closing makes of the slots what they are not yet. Not for feature lists. */
hr_status hr__parse_open(hr__parse_unit *u, hr_error *err);
hr_status hr__parse_close(hr__parse_unit *u, hr_error *err);
/* Values of another component's slot. */
hr_status hr__parse_copy_values(hr__parse_unit *u, int output, hr_error *err);
/* Inner splits lie in the rows' bytes, which a shuffle above gives up once it has moved the strings: they are copied
 * after the column's values, which stay. */
hr_status hr__parse_keep_splits(hr__parse_unit *u, int column, hr_error *err);
/* An hr__example_rows.grow: values grow where they will lie in the end. Its user is the unit. */
hr_status hr__parse_grow(hr__example_rows *slots, int slot, int64_t room, hr_error *err);

/* What a shuffle held has left the cache. All of it is asked for: the parser jumps about, which the hardware cannot
 * foresee. */
static inline void hr__parse_prefetch(hr_view record)
{
    for (int64_t at = 0; at < record.size; at += 64) __builtin_prefetch(record.data + at);
}

/* Components that are made of several slots, once all rows are parsed. Rows whose parts do not fit fail. */
hr_status hr__parse_sparse(hr__parse_unit *u, int output, hr_error *err);
hr_status hr__parse_ragged(hr__parse_unit *u, int output, hr_error *err);

/* The rows from `row` up to the result belong together. *element counts on from 0. */
int64_t hr__parse_group(const hr__parse_unit *u, int64_t row, int64_t *element);
/* The row fails, or its policy leaves it out. */
void hr__parse_row_failed(hr__parse_unit *u, int64_t row, const hr_error *err);
/* The row, or of a list the row of that step, fails. */
void hr__parse_fail(hr__parse_unit *u, int output, int64_t row, const char *kind, const char *format, ...)
    HR_PRINTF(5, 6);

#endif
