/* The pipeline under check, and its runs. The suite allocates its own memory by malloc, so it is neither counted nor
 * made to fail. */
#ifndef HR_CONFORMANCE_INTERNAL_H
#define HR_CONFORMANCE_INTERNAL_H

#include "conformance/allocations.h"
#include <headrace/conformance.h>

enum { MAX_ELEMENTS = 8192, POOL = 8 };

/* As gcc says it, and clang: what base/sanitizers.h knows, for a room that has public headers alone. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN 0
#endif

/* With ThreadSanitizer, fewer runs: a run without workers cannot have a data race, and a few runs of each derived
 * pipeline reach all code that the first one does not. Other builds run everything. */
#if UNDER_TSAN
enum { MIN_WORKERS = 1, WAYS_APART = 3, FEW_STOPS = 2 };
#else
enum { MIN_WORKERS = 0, WAYS_APART = 1, FEW_STOPS = 6 };
#endif

/* An element that a run gave: its digest, and for messages the first bytes of its first component. */
typedef struct came {
    uint64_t digest;
    int64_t values;
    hr_dtype dtype;
    unsigned char size, bytes[24];
} came;

/* The elements of a run, and how it ended. */
typedef struct run {
    int count, capacity;
    hr_status end; /* HR_OK: it was stopped */
    hr_error error;
    came *element;
} run;

/* How to run a pipeline; all zero: no workers, and the engine's default sizes. */
typedef struct way {
    int workers, window;
    int64_t unit_rows;
    size_t budget;
    int64_t epoch;
    const void *state;
    size_t state_size;
    hr_change_number_fn *change; /* called for the numbers in the state */
    void *change_user;
} way;

/* A pipeline under check. */
typedef struct subject {
    hr_conformance_build *build;
    void *user;
    const char *name;
    bool quick;
    run want, got; /* the run that all others are compared with; the current one */
    hr_error *err;
} subject;

/* run.c */
void hr__conformance_clear(subject *s); /* frees its runs */
hr_iterator *hr__conformance_iterate(const subject *s, way w);
/* Takes at most `at_most` more elements of an iterator and adds them to `r`. */
hr_status hr__conformance_run_on(const subject *s, run *r, hr_iterator *it, int at_most);
hr_status hr__conformance_run(const subject *s, run *r, way w); /* from the start to the end; clears `r` first */
void hr__conformance_begin(run *r);
way hr__conformance_way(int n); /* way number n; consecutive ones differ in workers, window and unit */
/* Fails if `got` differs from `want`, whose elements before `from` are skipped. `how` describes the run in messages. */
hr_status hr__conformance_same(const subject *s, int from, hr_status code, const char *kind, const char *how);
const char *hr__conformance_how(char *text, size_t size, way w);
hr_status hr__conformance_fail(const subject *s, hr_status code, const char *kind, const char *format, ...)
    HR_PRINTF(4, 5);

/* states.c */
hr_status hr__conformance_save(const subject *s, hr_iterator *it, void **saved, size_t *size);
hr_status hr__conformance_resume(subject *s);
hr_status hr__conformance_resume_few(subject *s);
hr_status hr__conformance_resume_often(subject *s);
hr_status hr__conformance_foreign_states(subject *s);
hr_status hr__conformance_changed_states(subject *s);

/* checks.c */
/* Runs the checks whose bits are set; 0: all. */
hr_status hr__conformance_checks(subject *s, unsigned checks);

#endif
