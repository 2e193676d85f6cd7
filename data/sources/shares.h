/* Equal shares of some elements for ranks: what every source that makes them refuses. */
#ifndef HR_SHARES_H
#define HR_SHARES_H

#include <headrace/data.h>

hr_status hr__shares_check(const char *op, int64_t num_shards, int64_t index, hr_uneven uneven, hr_error *err);
/* Elements that do not go round are an error, if `uneven` says so. */
hr_status hr__shares_even(const char *op, int64_t elements, int64_t num_shards, hr_uneven uneven, hr_error *err);

#endif
