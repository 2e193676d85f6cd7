/* What headrace_bench_start tells the work `start`. */
#ifndef BENCH_FIRST_BATCH_H
#define BENCH_FIRST_BATCH_H

#include "bench/bench.h"

typedef struct first_batch {
    double at; /* bench_seconds */
    int64_t rows;
    long peak_mb;
} first_batch;

#endif
