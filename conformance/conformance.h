/* The conformance suite checks the rules that every dataset operator must follow, the built-in ones and yours. It is a
 * library of its own: link headrace::conformance, or use `pkg-config headrace_conformance`; <headrace/headrace.h> does
 * not include this header. A program that checks an operator `every_nth`:
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
 * The suite builds the same pipeline many times, runs it in many ways, and compares the elements. It prints nothing. An
 * error names the pipeline, what was expected and what was found; its kind shows which check failed. Run it with
 * AddressSanitizer, and once with ThreadSanitizer, which also find reads outside of memory and data races.
 *
 * It checks that all runs give the same elements, and that a restored run gives the rest of them. Whether the elements
 * are the right ones is for the operator's own tests. Pipelines should be small, with some hundred elements, since each
 * is run hundreds of times.
 *
 * Call it from one thread, while nothing else uses Headrace: it starts up to 8 workers (hr_set_threads), makes
 * allocations fail, and sets the environment variable HEADRACE_STALL for some runs. */
#ifndef HR_CONFORMANCE_H
#define HR_CONFORMANCE_H

#include <headrace/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the checks ---- */

/* Each check varies the number of workers (0 to 8), the window and the size of units. */
typedef enum hr_conformance_check {
    /* Every run gives the same elements, or the same error after the same elements, even with a budget of one byte and
     * with threads that stall. Their number is hr_cardinality's, if that is known. */
    HR_CONFORM_RUNS = 1,
    /* A run that is saved after k elements and restored in another run gives the rest, for many k. A state has at most
     * 4 KiB. */
    HR_CONFORM_RESUME = 2,
    /* The same, but every state is saved by a run that was itself restored. */
    HR_CONFORM_RESUME_OFTEN = 4,
    /* A state that is cut, or is of another pipeline, is refused; a state with flipped bits does no harm. */
    HR_CONFORM_FOREIGN_STATES = 8,
    /* A state with a changed number (hr_iterate_changed) is refused, or restored as a different valid state: nothing
     * outside of memory is read, and no memory is allocated by an impossible size. */
    HR_CONFORM_CHANGED_STATES = 16,
    /* hr_cancel ends a run, wherever it is. */
    HR_CONFORM_CANCEL = 32,
    /* A failing allocation is reported or makes no difference, and nothing leaks. One allocation fails in each run:
     * each of the first 60, and a sample of the rest. Needs hr_conformance_count_allocations. */
    HR_CONFORM_MEMORY = 64,
    /* A run with .epoch of hr_iterate gives the elements of that epoch of hr_repeat, also if it is saved in its middle
     * and restored. Not checked for pipelines that end with an error, cannot be opened twice, or have more than 4,096
     * elements. */
    HR_CONFORM_EPOCHS = 128,
} hr_conformance_check;

/* Gives a dataset: the same pipeline at each call, which depends on `user` only. */
typedef hr_dataset *hr_conformance_build(void *user);
/* Applies the operator to `in` (takes it) and gives the result: the same at each call. */
typedef hr_dataset *hr_conformance_put(hr_dataset *in, void *user);
/* Gives the operator with its arguments number 0, 1, ...: each makes a different pipeline. NULL: there are no more. */
typedef hr_dataset *hr_conformance_variant(int number, void *user);

/* Options of the three functions below. */
typedef struct hr_conformance_opts {
    size_t struct_size;
    const char *name;            /* messages begin with it; default: the name of the last operator */
    unsigned checks;             /* HR_CONFORM_RUNS | HR_CONFORM_RESUME ...; default: all */
    bool quick;                  /* fewer runs, if you check many similar pipelines; one may have no elements */
    bool source;                 /* hr_conformance_operator: it has no input, so `put` is called with NULL */
    hr_conformance_build *input; /* hr_conformance_operator: gives its input, of some hundred elements; called with the
                                    `user` of `put`. Default: hr_range(300), and the same with more components */
} hr_conformance_opts;

/* ---- the functions: they return HR_OK, or the error that they found ---- */

/* Checks one pipeline. It may end with an error, which must then be the same in all runs; leave HR_CONFORM_MEMORY out
 * of .checks for it. */
HR_API hr_status hr_conformance_pipeline(hr_conformance_build *build, void *user, const hr_conformance_opts *opts,
                                         hr_error *err);

/* Checks an operator: that its descriptor is valid; then pipelines with it: between a shuffle and a batch, and alone;
 * and both again with rows of ten components that are stored in row layout (hr_conformance_wide_rows), if it accepts
 * such rows. If the operator has several inputs, `put` makes the others. */
HR_API hr_status hr_conformance_operator(hr_conformance_put *put, void *user, const hr_conformance_opts *opts,
                                         hr_error *err);

/* Checks that the operator's identity has all arguments that make a different pipeline: every other variant must refuse
 * the state of variant 0. All variants are also run and resumed. There must be at least two. */
HR_API hr_status hr_conformance_arguments(hr_conformance_variant *variant, void *user, const hr_conformance_opts *opts,
                                          hr_error *err);

/* ---- parts of the checks, for your own ---- */

/* Sets an allocator (hr_set_allocator) that counts allocations, and fails where HR_CONFORM_MEMORY needs it. It
 * allocates by `below` (copies it; NULL: malloc, realloc and free). Like hr_set_allocator, call it before any other
 * function. */
HR_API void hr_conformance_count_allocations(const hr_allocator *below);

/* Maps `in` (takes it), whose elements have an int64 "value", to rows of nine int64 components, with numbers of
 * different sizes, and a ragged one. The rows are stored in row layout, as in a cache. */
HR_API hr_dataset *hr_conformance_wide_rows(hr_dataset *in);

/* Sets *digest to a hash of an element: equal for equal elements, and almost certainly different for others. False: no
 * memory for one of its components. */
HR_API bool hr_conformance_digest(const hr_element *e, uint64_t *digest);

#ifdef __cplusplus
}
#endif
#endif
