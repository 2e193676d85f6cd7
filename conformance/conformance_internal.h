/* A pipeline that is being checked, and its runs. Memory of the suite itself comes from malloc, so that it is neither
 * counted nor made to fail. */
#ifndef HR_CONFORMANCE_INTERNAL_H
#define HR_CONFORMANCE_INTERNAL_H

#include <headrace/conformance.h>

enum { MAX_ELEMENTS = 8192, POOL = 8 };

/* ThreadSanitizer has nothing to find where the caller does all by itself, and of pipelines that follow from others a
 * few runs show it all code that is not in those. Other builds run everything. */
#ifdef __SANITIZE_THREAD__
enum { MIN_WORKERS = 1, WAYS_APART = 3, FEW_STOPS = 2 };
#else
enum { MIN_WORKERS = 0, WAYS_APART = 1, FEW_STOPS = 6 };
#endif

/* An element that came: a digest of all, and what a message shows, the first bytes of its first component. */
typedef struct came {
    uint64_t digest;
    int64_t values;
    hr_dtype dtype;
    unsigned char size, bytes[24];
} came;

/* What a run gave, and how it ended. */
typedef struct run {
    int count, capacity;
    hr_status end; /* HR_OK: it was stopped */
    hr_error error;
    came *element;
} run;

/* How to run; zeros: no workers, the engine's sizes. */
typedef struct way {
    int workers, window;
    int64_t unit_rows;
    size_t budget;
    const void *state;
    size_t state_size;
    hr_change_number_fn *change; /* of the numbers in the state */
    void *change_user;
} way;

/* A pipeline under check. */
typedef struct subject {
    hr_conformance_build *build;
    void *user;
    const char *name;
    bool quick;
    run want, got; /* the run that all others are held against; the one at hand */
    hr_error *err;
} subject;

/* run.c */
hr_iterator *hr__conformance_iterate(const subject *s, way w);
/* At most `at_most` further elements of an iterator, added to `r`. */
hr_status hr__conformance_run_on(const subject *s, run *r, hr_iterator *it, int at_most);
hr_status hr__conformance_run(const subject *s, run *r, way w); /* begins anew, up to the end */
void hr__conformance_begin(run *r);
way hr__conformance_way(int n); /* the n-th: neighbours differ in workers, window and unit */
/* Fails where `got` is not `want` from element `from` on; `how` says how it was run. */
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
/* The checks of one pipeline, named by bits; 0: all. */
hr_status hr__conformance_checks(subject *s, unsigned checks);

/* allocations.c */
void hr__conformance_fail_allocation(int64_t n); /* number n from now on fails, 0 is the next; only that one */
int64_t hr__conformance_allocations(void);       /* none fails any more; how many there were since then */
int64_t hr__conformance_alive(void);             /* allocated and not freed */
bool hr__conformance_counts(void);

#endif
