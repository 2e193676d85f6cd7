/* The trace of a run, see trace.c. */
#ifndef HR_TRACE_H
#define HR_TRACE_H

#include <headrace/io.h>

typedef struct trace trace;

/* A unit's way through its stage, in nanoseconds of uv_hrtime. */
typedef struct trace_unit {
    const char *stage;
    int thread;
    int64_t number, rows;
    uint64_t start, planned, done;
} trace_unit;

/* Adds to `into`; NULL: to a trace of its own, whose file is `path`. NULL: no memory. */
trace *hr__trace_open(const char *path, hr_trace *into, uint64_t started);
/* All with the engine's lock held. */
void hr__trace_unit(trace *t, const trace_unit *u);
void hr__trace_wait(trace *t, uint64_t from, uint64_t to);
void hr__trace_close(trace *t); /* writes its file; says in the log if it cannot. NULL: nothing */

#endif
