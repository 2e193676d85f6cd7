/* What headrace_bench_data makes besides the Criteo-like shards. */
#ifndef BENCH_MAKE_DATA_H
#define BENCH_MAKE_DATA_H

#include <headrace/base.h>

static inline double uniform(uint64_t key, uint64_t n) { return (double)(hr_random(key, n) >> 11) * 0x1p-53; }

/* CENSUS_ROWS rows as DIR/census.tfrecord. */
hr_status make_census(const char *folder, hr_error *err);

#endif
