/* The element that a user's function makes, written straight into the columns of its rows; and one call of such a
 * function: its random numbers, its error. Shared by the operators that call users' functions. */
#ifndef HR_BUILDER_H
#define HR_BUILDER_H

#include <headrace/data.h>

struct hr_builder {
    hr_work *work; /* whose rows they are; or */
    hr_plan *plan;
    hr_columns *rows;
    int64_t first, end; /* rows of the element */
    int hint;           /* the component after the one that was set last: functions set them in order */
    bool no_memory;
};

struct hr_call {
    const char *kind; /* of its error, unless it has its own */
    hr_work *work;    /* the random key is that of a row; or */
    hr_columns *rows;
    int64_t row; /* -1: all of them in one call */
    uint64_t seed;
    uint64_t key; /* this one, if `work` is NULL */
    hr_error err;
};

/* Refuses a schema whose rows a function cannot make: each component is of known shape, or varies in its first
 * dimension alone. `name` and `kind` begin and name the error. */
hr_status hr__builder_check(const char *name, const char *kind, const hr_schema *made, hr_error *err);

/* Replaces the components of `out` by those of `made`. */
hr_status hr__builder_schema(const hr_schema *made, hr_schema_builder *out, hr_error *err);

/* Zeros and empty strings in rows first..end of all components of known shape. */
void hr__builder_zero(hr_columns *rows, int64_t first, int64_t end);
/* Before each call of the function, rows in order: nothing yet where the first dimension varies. */
void hr__builder_begin(hr_builder *out);

/* What the function returned, with an error of its own if it gave none. */
hr_status hr__builder_status(const hr_builder *out, hr_call *call, const char *name, hr_status returned);

#endif
