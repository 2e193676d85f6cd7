/* Headrace, profiles: where the time of many runs goes, by op, by scope and by the stages of their input, and which of
 * the two binds. Adding to a profile takes two looks at the clock a node; runs without one take none.
 *
 *     hr_profile *p = hr_profile_new();
 *     hr_profile_begin(p);
 *     while (hr_next(it, &element) == HR_OK) // and feeds made of it
 *         st = hr_session_run_with(s, feeds, n, &train, 1, NULL, HR_RUN_OPTS(.profile = p), &err);
 *     hr_profile_add_input(p, it);
 *     char *text = hr_profile_text(p);
 *
 * hr_train_opts.profile and hr_training_train_opts.profile do all of that for a training. One thread makes the runs; what
 * pool threads do for them is counted, too. */
#ifndef HR_PROFILE_H
#define HR_PROFILE_H

#include <headrace/data.h>
#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_profile_opts {
    size_t struct_size;
    hr_trace *trace; /* adds each node, and each piece that another thread does of one, as a span; default: none.
                      * Borrowed as long as the profile lives */
} hr_profile_opts;
/* Gives an empty profile whose clock runs; NULL: no memory. */
HR_API hr_profile *hr_profile_new_with(const hr_profile_opts *opts);
#define hr_profile_new(...)                                                                                            \
    HR_CALL0_(hr_profile_new_with, hr_profile_opts, .struct_size = sizeof(hr_profile_opts), __VA_ARGS__)
HR_API void hr_profile_free(hr_profile *p); /* after the runs that have it. NULL: nothing */
/* Forgets what it has and starts the clock anew, which ends with the last run. NULL: nothing. */
HR_API void hr_profile_begin(hr_profile *p);
/* The trace that it was given, for the input's .spans; NULL: none. */
HR_API hr_trace *hr_profile_trace(const hr_profile *p);
/* Adds what the stages of an input did, before it is freed. NULL: nothing. */
HR_API void hr_profile_add_input(hr_profile *p, hr_iterator *it);

/* Nodes of one op, or all nodes of a scope. */
typedef struct hr_profile_line {
    const char *name;
    int64_t count;  /* how often one of them ran */
    double seconds; /* of all threads, without what a node called or waited for */
} hr_profile_line;

/* Seconds are of the clock unless something else is said. Arrays are borrowed until the profile's next report. */
typedef struct hr_profile_report {
    int threads;   /* that may work, the caller among them */
    int64_t steps; /* runs */
    double seconds;
    double run_seconds;         /* within runs */
    double input_seconds;       /* the caller was in hr_next for elements that were not there: asleep or at work */
    double input_wait_seconds;  /* asleep, of these */
    int64_t input_waits;        /* how often */
    double node_thread_seconds; /* of all threads: in nodes; in stages of the input */
    double input_thread_seconds;
    int ops, scopes, stages;
    const hr_profile_line *op;    /* the most expensive one first */
    const hr_profile_line *scope; /* every prefix of names, "dnn" and "dnn/hiddenlayer_0": those within a scope count
                                   * in it, too. The most expensive one first */
    const hr_stage_stats *stage;  /* from the consumer down */
    /* Of a step, as it was, and about what it would be: if batches were there at once; if nodes took no time. */
    double step_seconds, without_input, without_nodes;
    bool input_binds; /* the last is more than the one before */
} hr_profile_report;
/* HR_FAILED_PRECONDITION, "profile.empty": it has no run. */
HR_API hr_status hr_profile_report_of(hr_profile *p, hr_profile_report *out, hr_error *err);
/* The same as a text: tables of ops, scopes and stages, what was waited for, and the verdict. Gives (hr_free); NULL: no
 * memory. */
HR_API char *hr_profile_text(hr_profile *p);

#ifdef __cplusplus
}
#endif
#endif
