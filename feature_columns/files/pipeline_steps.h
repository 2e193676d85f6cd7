/* The steps of a `pipeline:` section: the operator's word, its options, and the function that makes it. Not a public
 * header. */
#ifndef HR__PIPELINE_STEPS_H
#define HR__PIPELINE_STEPS_H

#include "feature_columns/config/columns_section.h"
#include "feature_columns/derived/derived_section.h"
#include "io/schema/schema.h"
#include <headrace/data.h>

/* What the file says beside the steps. */
typedef struct hr__pipeline_context {
    const char *data; /* relative names of files count from here */
    hr__schema_file file;
    hr_schema schema; /* the same as columns want it; owns field */
    hr_derived_list derived;
    hr_schema all; /* the fields of the schema and the derived ones; owns field */
    hr__config_columns *columns;
} hr__pipeline_context;

typedef enum hr__option_kind {
    HR__OPTION_NUMBER,
    HR__OPTION_SEED,
    HR__OPTION_FLAG,
    HR__OPTION_PATH,    /* a name, below the folder of the data */
    HR__OPTION_PATTERN, /* of names there */
    HR__OPTION_TEXT,
    HR__OPTION_WORD, /* one of .words: its number */
} hr__option_kind;

typedef struct hr__option {
    const char *name;
    hr__option_kind kind;
    bool needed;
    const char *const *words; /* ends with NULL */
} hr__option;

/* What a file says of an option; zeros: nothing. */
typedef struct hr__given {
    const hr__node *node;
    int64_t number; /* also of a word */
    uint64_t seed;
    bool flag;
    const char *text; /* borrowed from the file */
    char *path;
} hr__given;

enum { HR__MAX_OPTIONS = 7 };
typedef struct hr__pipeline_step {
    const char *name;
    hr__option option[HR__MAX_OPTIONS + 1]; /* a value without a key is the first one's; ends with a zero */
    /* A dataset of nothing; one on top of `in`, taken; or one that also looks at the rest of the file, and leaves `*ds`
     * as it is where it fails. One of the three. */
    hr_dataset *(*source)(const hr__given *o);
    hr_dataset *(*put)(hr_dataset *in, const hr__given *o);
    hr_status (*make)(const hr__pipeline_context *c, const hr__node *at, const hr__given *o, hr_dataset **ds,
                      hr_error *err);
    bool first; /* of `make`: it is a source */
} hr__pipeline_step;

extern const hr__pipeline_step hr__pipeline_steps[];
extern const int hr__pipeline_step_count;

/* pipeline_schema.c: steps that go by the schema and the columns */
hr_status hr__pipeline_sql(const hr__pipeline_context *c, const hr__node *at, const hr__given *o, hr_dataset **ds,
                           hr_error *err);
hr_status hr__pipeline_jsonl(const hr__pipeline_context *c, const hr__node *at, const hr__given *o, hr_dataset **ds,
                             hr_error *err);
hr_status hr__pipeline_csv(const hr__pipeline_context *c, const hr__node *at, const hr__given *o, hr_dataset **ds,
                           hr_error *err);
hr_status hr__pipeline_example_rows(const hr__pipeline_context *c, const hr__node *at, const hr__given *o,
                                    hr_dataset **ds, hr_error *err);
hr_status hr__pipeline_filter(const hr__pipeline_context *c, const hr__node *at, const hr__given *o, hr_dataset **ds,
                              hr_error *err);
hr_status hr__pipeline_parse_example(const hr__pipeline_context *c, const hr__node *at, const hr__given *o,
                                     hr_dataset **ds, hr_error *err);
hr_status hr__pipeline_derive_features(const hr__pipeline_context *c, const hr__node *at, const hr__given *o,
                                       hr_dataset **ds, hr_error *err);
hr_status hr__pipeline_transform_features(const hr__pipeline_context *c, const hr__node *at, const hr__given *o,
                                          hr_dataset **ds, hr_error *err);

/* Options of those of them that have some, by their place in the list. */
enum { HR__CSV_PATTERN, HR__CSV_DELIMITER, HR__CSV_NA_VALUE, HR__CSV_NO_HEADER, HR__CSV_COMPRESSION, HR__CSV_ON_ERROR };
enum { HR__SQL_SOURCE, HR__SQL_QUERY };
enum { HR__JSONL_PATTERN, HR__JSONL_COMPRESSION, HR__JSONL_ON_ERROR };
enum {
    HR__ROWS_PATTERN,
    HR__ROWS_FORMAT,
    HR__ROWS_DELIMITER,
    HR__ROWS_NA_VALUE,
    HR__ROWS_COMPRESSION,
    HR__ROWS_ON_ERROR
};
enum { HR__FILTER_FEATURE, HR__FILTER_EQUALS, HR__FILTER_MIN, HR__FILTER_BELOW };
enum { HR__PARSE_TF_COMPAT, HR__PARSE_ON_ERROR };

#endif
