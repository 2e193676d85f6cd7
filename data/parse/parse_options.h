/* What the two parsers of records share as operators: their options, which records they read, what becomes of
 * damage. */
#ifndef HR_PARSE_OPTIONS_H
#define HR_PARSE_OPTIONS_H

#include "data/damaged_rows.h"
#include <headrace/data.h>

typedef struct hr__parse_options {
    const char *label; /* the caller's; NULL once the spec is copied */
    const char *source;
    bool tf_compat, unordered;
    bool single;              /* no batch below: the elements are records */
    hr_policy asked;          /* the caller's, until the spec is copied */
    hr__policy *policy;       /* NULL: a damaged record is an error */
    hr__damaged_rows damaged; /* its words: what the operator is called */
} hr__parse_options;

/* Borrows what `opts` does. `damaged` has the operator's HR__DAMAGED_WORDS. */
hr__parse_options hr__parse_options_of(hr__damaged_rows damaged, const hr_dataset *in,
                                       const hr_parse_example_opts *opts);
/* Rows may be left out: not an operator that goes row by row. */
bool hr__parse_options_drop(const hr__parse_options *o);

/* For the operator's functions of these names. Copying leaves the label to the caller. */
hr_status hr__parse_options_copy(hr__parse_options *o, hr_error *err);
void hr__parse_options_free(hr__parse_options *o);
hr_status hr__parse_options_check(const hr__parse_options *o, const hr_schema *in, hr_error *err);
void hr__parse_options_identity(const hr__parse_options *o, uint64_t *sum);
void hr__parse_options_settings(const hr__parse_options *o, hr_settings *below);
void hr__parse_options_describe(const hr__parse_options *o, hr_description *to);

/* A unit at work. */
typedef struct hr__parse_call {
    bool tf_compat, whole_batches; /* the latter: TensorFlow looks at all records of a batch at once */
    const hr_view *record;         /* one a row */
    hr_columns before;
    hr__damaged_rows damaged;
} hr__parse_call;

/* Gives `rows` the operator's columns. `widens`: a feature asks for another type than its records have. */
hr_status hr__parse_begin(const hr__parse_options *o, bool widens, hr_work *w, hr_columns *rows, hr__parse_call *call,
                          hr_error *err);
/* Leaves out what a policy covers; gives `status`, or what went wrong here. */
hr_status hr__parse_end(hr__parse_call *call, hr_status status, hr_error *err);

#endif
