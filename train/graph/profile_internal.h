/* A profile from the inside: what profile.c measures, and profile_report.c adds up. */
#ifndef HR_PROFILE_INTERNAL_H
#define HR_PROFILE_INTERNAL_H

#include "train/graph/graph_internal.h"
#include "train/graph/profile.h"

typedef struct hr__profiled_step {
    const char *name, *op;
    _Atomic int64_t ns, count;
    int32_t kind, piece; /* of its spans */
} hr__profiled_step;

/* A plan in a profile. */
struct hr__profiled {
    hr__profiled *next;
    hr_profile *profile;
    int64_t plan;         /* its serial number */
    const char *function; /* whose plan it is; NULL: a session's own */
    int32_t steps;
    hr__profiled_step *step;
};

struct hr_profile {
    uv_mutex_t lock;
    hr__arena arena, reported; /* what is measured; the last report */
    hr__profiled *plans;
    hr_trace *trace; /* NULL: none */
    uint64_t started, ended, run_ns;
    int64_t runs, input_waits;
    double input_seconds, input_wait_seconds;
    int threads, stages;
    hr_stage_stats stage[HR_MAX_STAGE_STATS];
    bool failed; /* for lack of memory */
};

#endif
