/* Rows of a unit that a policy leaves out: for the work of operators that read what somebody else wrote. */
#ifndef HR_DAMAGED_ROWS_H
#define HR_DAMAGED_ROWS_H

#include "io/policy/policy.h"
#include <headrace/op.h>

typedef struct hr__damaged_rows {
    hr__policy *policy; /* NULL: they fail as ever */
    const char *who;    /* begins the message of a budget */
    const char *passed; /* "parse_example: rows skipped", a literal: what they are counted as */
    const char *seen;   /* "parse_example: rows", another one: all rows of such a policy */
    hr_work *work;
    hr_columns *rows;
    uint64_t *keep; /* a bit a row; NULL: all, none was damaged yet */
} hr__damaged_rows;
/* The words of the operator that this literal names. */
#define HR__DAMAGED_WORDS(name) .who = (name), .passed = name ": rows skipped", .seen = name ": rows"

/* For an operator's check: a policy leaves rows out, which batches of batches do not allow. */
hr_status hr__damaged_rows_check(const hr__policy *policy, const char *who, int levels, hr_error *err);
/* This row failed; `bytes` are what it was read from, at its origin. It is told of and left out, or it fails. */
void hr__damaged_row(hr__damaged_rows *d, int64_t row, const hr_error *damage, hr_view bytes);
/* This row is sound, but left out as well. */
hr_status hr__damaged_rows_mark(hr__damaged_rows *d, int64_t row, hr_error *err);
/* Leaves them out at the end of the work, of batches, too, which then are short; a batch without rows goes. */
hr_status hr__damaged_rows_drop(hr__damaged_rows *d, hr_error *err);

#endif
