/* The conformance suite: what every dataset operator must keep, the library's own as yours. It is a library beside
 * libheadrace: link headrace::conformance, or `pkg-config headrace_conformance`; <headrace/headrace.h> does not include
 * this header. A program that checks an operator `every_nth`:
 *
 *     static hr_dataset *put(hr_dataset *in, void *user)
 *     {
 *         return every_nth(in, *(const int64_t *)user);
 *     }
 *
 *     int main(void)
 *     {
 *         hr_error err;
 *         int64_t n = 3;
 *         hr_conformance_count_allocations(NULL);
 *         if (hr_conformance_operator(put, &n, NULL, &err) == HR_OK) return 0;
 *         fprintf(stderr, "%s\n", err.text);
 *         return 1;
 *     }
 *
 * The suite builds a pipeline again and again, runs each in many ways, and compares what comes out. It prints nothing.
 * An error says which pipeline, what was expected, and what was found; its kind says which check failed. Best run it in
 * a program with AddressSanitizer, and once with ThreadSanitizer: then what an operator reads beyond its memory, and
 * what two of its threads do at once, is seen as well.
 *
 * It checks that all runs are alike and that a state restores what it should, not that the elements are right: that is
 * up to tests of the operator. Pipelines should be small, some hundred elements: there are hundreds of runs.
 *
 * Call it from one thread, while nothing else uses Headrace: it starts up to 8 workers (hr_set_threads), makes
 * allocations fail, and sets HEADRACE_STALL in the environment for some runs. */
#ifndef HR_CONFORMANCE_H
#define HR_CONFORMANCE_H

#include <headrace/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is checked ---- */

/* Each check runs the pipeline with other numbers of workers (0 to 8), windows and units. */
typedef enum hr_conformance_check {
    /* The same elements, or the same error after the same elements, however it is run: also with a budget of one byte,
     * and with threads that stall. As many as hr_cardinality says. */
    HR_CONFORM_RUNS = 1,
    /* Saved after k elements and restored in another run it gives the rest, for many k. A state has at most 4 KiB. */
    HR_CONFORM_RESUME = 2,
    /* The same where every state is saved by a run that was restored itself. */
    HR_CONFORM_RESUME_OFTEN = 4,
    /* A state that is cut, or another pipeline's, is refused; one with flipped bits does no harm. */
    HR_CONFORM_FOREIGN_STATES = 8,
    /* A state in which some number is another (hr_iterate_changed) is refused, or read as another state: no memory is
     * read that is not there, or asked for because of a number that cannot be. */
    HR_CONFORM_CHANGED_STATES = 16,
    /* hr_cancel ends a run at any place. */
    HR_CONFORM_CANCEL = 32,
    /* An allocation that fails, each in turn, is reported or makes no difference, and nothing leaks. Needs
     * hr_conformance_count_allocations. */
    HR_CONFORM_MEMORY = 64,
} hr_conformance_check;

/* Gives a dataset: the same pipeline at each call, as `user` says. */
typedef hr_dataset *hr_conformance_build(void *user);
/* Puts the operator on `in` (takes it) and gives what comes of it: the same at each call. */
typedef hr_dataset *hr_conformance_put(hr_dataset *in, void *user);
/* Gives the operator with arguments number 0, 1, ...: each makes another pipeline than all others. NULL: there are no
 * more. */
typedef hr_dataset *hr_conformance_variant(int number, void *user);

/* Options of all three calls below. */
typedef struct hr_conformance_opts {
    size_t struct_size;
    const char *name;            /* begins messages; default: the name of the operator on top */
    unsigned checks;             /* HR_CONFORM_RUNS | HR_CONFORM_RESUME ...; default: all */
    bool quick;                  /* fewer runs, for one of many pipelines that are alike; it may be empty */
    bool source;                 /* hr_conformance_operator: it has no input, so `put` is called with NULL */
    hr_conformance_build *input; /* hr_conformance_operator: what it is put on; called with the `user` of `put`. Some
                                    hundred elements. Default: hr_range(300), and the same with more components */
} hr_conformance_opts;

/* ---- the calls: HR_OK, or what is wrong ---- */

/* One pipeline, as it is. Here it may end with an error, which is then the same in all runs; choose .checks without
 * HR_CONFORM_MEMORY for it. */
HR_API hr_status hr_conformance_pipeline(hr_conformance_build *build, void *user, const hr_conformance_opts *opts,
                                         hr_error *err);

/* An operator: that its descriptor is sound, then pipelines with it: after a shuffle and below a batch; alone; and both
 * over rows of ten components that wait in row layout (hr_conformance_wide_rows), if it takes such rows. An operator
 * with several inputs gets the others from `put`. */
HR_API hr_status hr_conformance_operator(hr_conformance_put *put, void *user, const hr_conformance_opts *opts,
                                         hr_error *err);

/* That arguments which make another pipeline are part of the operator's identity: the state of variant 0 is refused by
 * each other one. All are run and resumed as well. There are at least two. */
HR_API hr_status hr_conformance_arguments(hr_conformance_variant *variant, void *user, const hr_conformance_opts *opts,
                                          hr_error *err);

/* ---- what the checks are made of ---- */

/* Sets an allocator (hr_set_allocator) that counts, and fails when HR_CONFORM_MEMORY asks for it, on top of `below`
 * (copies it; NULL: malloc and its kin). Like hr_set_allocator it comes first in a program. */
HR_API void hr_conformance_count_allocations(const hr_allocator *below);

/* Nine int64 components of different widths and a ragged one for each element of `in` (takes it), which has an int64
 * "value"; as a cache keeps them, in row layout. */
HR_API hr_dataset *hr_conformance_wide_rows(hr_dataset *in);

/* A number that is the same for equal elements, and in all likelihood for no others. False: no memory for one of its
 * components. */
HR_API bool hr_conformance_digest(const hr_element *e, uint64_t *digest);

#ifdef __cplusplus
}
#endif
#endif
