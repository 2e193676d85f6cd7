/* Regular expressions for other rooms. Not a public header. */
#ifndef HR_TEXT_PATTERN_H
#define HR_TEXT_PATTERN_H

#include <headrace/base.h>

/* Which strings the pattern, in RE2's syntax, matches from their first byte on: Python's re.match. `texts` is a tensor
 * of strings, `matches` has a place for each. HR_INVALID_ARGUMENT, "graph.pattern": the pattern is none. */
hr_status hr__pattern_begins(hr_view pattern, const hr_tensor *texts, bool *matches, hr_error *err);

#endif
