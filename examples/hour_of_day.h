/* The hour of a time, as a feature column from outside the library. */
#ifndef HOUR_OF_DAY_H
#define HOUR_OF_DAY_H

#include <headrace/column.h>

/* The feature `key` holds seconds since 1970, of any number of times; the clock is `seconds_east` of Greenwich's. */
hr_feature_column *hour_of_day_column(const char *key, int64_t seconds_east);

/* From now on config files may say it. Once a process. */
hr_status hour_of_day_register(hr_error *err);

#endif
