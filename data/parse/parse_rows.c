/* Which rows of a unit belong together, and what becomes of a row that fails. */
#include "data/parse/parse_spec.h"
#include <stdarg.h>
#include <stdio.h>

int64_t hr__parse_group(const hr__parse_unit *u, int64_t row, int64_t *element)
{
    if (!hr__parse_whole_batches(u)) return row + 1;
    int64_t end = row;
    while (end <= row && *element < u->rows->elements) end = hr_first_row(u->rows, ++*element);
    return end > row && end < u->rows->rows ? end : u->rows->rows;
}

void hr__parse_row_failed(hr__parse_unit *u, int64_t row, const hr_error *err)
{
    hr__damaged_row(&u->call->damaged, row, err, u->call->record[row]);
}

void hr__parse_fail(hr__parse_unit *u, int output, int64_t step, const char *kind, const char *format, ...)
{
    const char *name = u->plan->output[output].name;
    char what[256];
    hr_error err;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    hr_fail(&err, HR_INVALID_ARGUMENT, kind, "feature '%.60s': %s", name, what);
    snprintf(err.feature, sizeof err.feature, "%s", name);
    int64_t row = u->steps ? 0 : step;
    while (u->steps && u->steps[row + 1] <= step) row++;
    hr__parse_row_failed(u, row, &err);
}
