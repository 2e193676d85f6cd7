/* What adds spans of time to a trace (hr_trace of io.h). Not a public header. */
#ifndef HR_IO_TRACE_H
#define HR_IO_TRACE_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What spans of one kind have in common. `args` is JSON, "\"stage\":\"batch\"" or ""; a span has one or two numbers
 * besides, under these keys. */
typedef struct hr__span_kind {
    const char *name, *category, *args;
    const char *key, *key2; /* constants. NULL: no number */
} hr__span_kind;

/* Times of spans count from `started`, by uv_hrtime. Gives; NULL: no memory. */
HR_API hr_trace *hr__trace_begin(uint64_t started);
/* The number of a kind, for hr__trace_add; copies. -1: no memory. From any thread, as hr__trace_add. */
HR_API int32_t hr__trace_kind(hr_trace *t, const hr__span_kind *kind);
/* `thread` is hr__pool_thread's. Lack of memory, here or for the kind (-1), is told when the trace is written. */
HR_API void hr__trace_add(hr_trace *t, int32_t kind, int thread, uint64_t begin, uint64_t end, int64_t number,
                          int64_t number2);
HR_API void hr__trace_dropped(hr_trace *t, int64_t count); /* so many spans more that it does not have */

#ifdef __cplusplus
}
#endif
#endif
