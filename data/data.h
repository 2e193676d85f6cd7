/* Headrace, pipelines: datasets, the operators on them, iterators.
 *
 *     hr_dataset *ds = hr_tfrecord("train-*.tfrecord", .compression = HR_GZIP);
 *     ds = hr_shuffle(ds, 10000, .seed = 7);
 *     ds = hr_batch(ds, 256);
 *
 *     hr_iterator *it = hr_iterate(ds);
 *     const hr_element *e;
 *     hr_status st;
 *     while ((st = hr_next(it, &e)) == HR_OK) use(hr_get(e, "value")->data);
 *     if (st != HR_END) fprintf(stderr, "%s\n", hr_iterator_error(it)->text);
 *     hr_iterator_free(it);
 *
 * Operators take their input, so that reassignment never leaks; to branch, hr_dataset_ref first. Constructors never
 * return NULL: what is wrong sticks to the dataset and comes out of hr_next. Datasets are immutable and may be shared
 * between threads; an iterator belongs to one thread at a time, except for hr_cancel.
 *
 * The order of elements is a function of (data, seed, epoch), never of threads, timing or buffer sizes.
 *
 * A child made by fork may open iterators of its own, and gets workers of its own; those it inherits are its parent's:
 * it calls nothing on them, nor frees them. */
#ifndef HR_DATA_H
#define HR_DATA_H

#include <headrace/functions.h>
#include <headrace/make_datasets.h>
#include <headrace/operators.h>
#include <headrace/parsing.h>
#include <headrace/sources.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_iterator hr_iterator;

HR_API hr_dataset *hr_dataset_ref(hr_dataset *ds);               /* gives a second reference: the way to branch */
HR_API void hr_dataset_unref(hr_dataset *ds);                    /* NULL: nothing */
HR_API const hr_error *hr_dataset_error(const hr_dataset *ds);   /* NULL: sound. Borrows from `ds` */
HR_API const hr_schema *hr_dataset_schema(const hr_dataset *ds); /* borrows from `ds`; NULL if it failed */

/* How many elements it has, as far as its operators tell: HR_INFINITE_CARDINALITY, HR_UNKNOWN_CARDINALITY. Opens
 * nothing. */
HR_API int64_t hr_cardinality(const hr_dataset *ds);

/* ---- iterating ---- */

typedef struct hr_iterate_opts {
    size_t struct_size;
    const int *workers; /* of the pool's workers at most so many; default: all. 0: the caller does everything */
    int window;         /* units a stage runs ahead; default: the engine's choice */
    int64_t unit_rows;  /* rows a unit; default: the engine's choice. No result depends on it */
    size_t budget;      /* bytes that the pipeline may hold; default 1 GiB */
    uint64_t seed;      /* the pipeline's seed, for operators without one; default: drawn, and logged */
    const void *state;  /* of hr_iterator_save: resume there. The seed is that of the saved run, whatever .seed says.
                           Borrowed for the call */
    size_t state_size;
    const char *trace; /* a file that hr_iterator_free writes: every unit as a span of time of its thread, for
                          chrome://tracing or Perfetto. What cannot be written is said in the log */
} hr_iterate_opts;
/* Gives an iterator, also for a failed dataset, whose error then comes out of hr_next. Takes `ds`. */
HR_API hr_iterator *hr_iterate_with(hr_dataset *ds, const hr_iterate_opts *opts);
#define hr_iterate(...) HR_CALL1_(hr_iterate_with, hr_iterate_opts, __VA_ARGS__, .struct_size = sizeof(hr_iterate_opts))

/* HR_OK: *out is the next element, borrowed until the next call on `it`. HR_END: no more. Otherwise hr_iterator_error
 * says what; an error is final, every further call gives the same one. */
HR_API hr_status hr_next(hr_iterator *it, const hr_element **out);
/* hr_next for an event loop: `cb` is called on the loop's thread, once, by the loop and never from inside this call,
 * with what hr_next would give; the element is borrowed until the next call on `it`, which `cb` may make. The loop
 * stays alive until then. One call at a time: HR_FAILED_PRECONDITION while one is pending, and for another loop than
 * that of the first call. hr_iterator_free, on the loop's thread, ends a pending one without calling `cb`; let the loop
 * run once more before it is closed. Without workers the pipeline runs on the loop's thread, a unit at a time. */
struct uv_loop_s;
typedef void hr_next_cb(hr_iterator *it, hr_status status, const hr_element *element, void *user);
HR_API hr_status hr_next_async(hr_iterator *it, struct uv_loop_s *loop, hr_next_cb *cb, void *user);

HR_API const hr_error *hr_iterator_error(const hr_iterator *it); /* NULL: none. Borrows from `it` */
/* For checks of one's own: puts in front of an error where row `row` of the element given last was read, as
 * "FILE:OFFSET: record N: ", and fills in file, record and offset. Nothing changes where that is not known. */
HR_API void hr_iterator_locate(hr_iterator *it, int64_t row, hr_error *err);
/* Any thread; hr_next then gives HR_CANCELLED. Waits for nothing: no further unit is begun, a wait for a pipe ends. */
HR_API void hr_cancel(hr_iterator *it);
HR_API void hr_iterator_free(hr_iterator *it); /* waits for units that are running, no others. NULL: nothing */

/* hr_next that leaves the element where it is: the next call gives it again, and a saved state does not know of it. */
HR_API hr_status hr_peek(hr_iterator *it, const hr_element **out);
/* hr_next that waits no longer than `ns` nanoseconds and then gives HR_WAIT: nothing is lost, ask again. A unit of work
 * that it has begun itself is ended first; 0 takes what is there, or does one unit. */
HR_API hr_status hr_next_within(hr_iterator *it, uint64_t ns, const hr_element **out);
/* TensorFlow's iterators: one-shot is hr_iterate. Initializable and reinitializable is this. Feedable is a variable of
 * the caller's that holds one hr_iterator * or another: each keeps its place.
 *
 * Begins anew, or with another dataset of the same components (NULL: the same one, in a new run): whoever has `it` goes
 * on with it. Takes `ds`. Options as for hr_iterate. What was borrowed from it is no more. An error of the old run is
 * gone. No other thread may call hr_cancel(it) meanwhile. */
HR_API hr_status hr_iterator_reset_with(hr_iterator *it, hr_dataset *ds, const hr_iterate_opts *opts);
#define hr_iterator_reset(...)                                                                                         \
    HR_CALL2_(hr_iterator_reset_with, hr_iterate_opts, __VA_ARGS__, .struct_size = sizeof(hr_iterate_opts))

/* ---- a whole dataset at once. All take it; HR_OK or what its iterator said, in `err` as well ---- */

/* Runs the dataset and counts its elements. */
HR_API hr_status hr_count(hr_dataset *ds, int64_t *count, hr_error *err);
/* Calls `fn` for one element after the other, with a state that is the caller's. What it returns below 0 ends it. */
HR_API hr_status hr_reduce(hr_dataset *ds, void *state, hr_reduce_fn *fn, void *user, hr_error *err);
/* Gives an iterator (hr_iterator_free) and lends its only element; NULL if there is none or are more, which is an error
 * of that iterator (HR_INVALID_ARGUMENT). */
HR_API hr_iterator *hr_get_single_element(hr_dataset *ds, const hr_element **out);

/* Where `it` stands, after the element given last: some numbers, no rows. Gives *state (hr_free). A state fits its
 * own pipeline only: hr_iterate refuses another, or changed files, and says which. Files are known by their names
 * below the folder that a pattern's files share, so that it may be moved or copied, their sizes, and samples of
 * their bytes: all of up to 64 KiB, else 4 to 16 blocks of 4 KiB, the first, the last, and some evenly between them.
 * A change that leaves the size as it is and hits none of these passes. Files that only a function named are known
 * by their whole names, the 32 met last. States are bytes in one order: any machine's, with any number of workers.
 * At most some KiB. */
HR_API hr_status hr_iterator_save(hr_iterator *it, void **state, size_t *size, hr_error *err);

/* For tests of operators: hr_iterate_with, but what a restore reads is what `change` makes of each number in .state, as
 * if somebody had changed the state and kept all sizes and checksums right. It is then refused, or read as another state;
 * nothing else may happen. `change` (NULL: they stay) is called by the thread that restores: by the caller alone if
 * .workers is 0. Takes `ds`; `user` is borrowed until hr_iterator_free. */
typedef int64_t hr_change_number_fn(int64_t number, void *user);
HR_API hr_iterator *hr_iterate_changed(hr_dataset *ds, hr_change_number_fn *change, void *user,
                                       const hr_iterate_opts *opts);

/* How often something was skipped, repaired, defaulted or ignored. Borrows until the next call; ends with what ==
 * NULL. */
typedef struct hr_report_line {
    const char *what;
    int64_t count;
} hr_report_line;
HR_API const hr_report_line *hr_iterator_report(hr_iterator *it);

/* Stages, their operators, time, share, waits, queue depth, bytes, errors, and a sentence that names the bottleneck and
 * what may be done about it. Gives. */
HR_API char *hr_explain(hr_iterator *it);
/* What a pipeline will do, before it runs: the stages it is cut into, from the consumer down, what each gives, how many
 * elements if that is known, and what is done in another place than it was written. Opens nothing. Gives; NULL: no
 * memory. */
HR_API char *hr_explain_dataset(hr_dataset *ds);

#ifdef __cplusplus
}
#endif
#endif
