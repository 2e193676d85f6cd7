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

HR_API hr_dataset *hr_dataset_ref(hr_dataset *ds);               /* gives a second reference: use it to branch */
HR_API void hr_dataset_unref(hr_dataset *ds);                    /* NULL: nothing */
HR_API const hr_error *hr_dataset_error(const hr_dataset *ds);   /* NULL: no error. Borrows from `ds` */
HR_API const hr_schema *hr_dataset_schema(const hr_dataset *ds); /* borrows from `ds`; NULL if it failed */

/* How many elements it has, as far as its operators tell: HR_INFINITE_CARDINALITY, HR_UNKNOWN_CARDINALITY. Opens
 * nothing. */
HR_API int64_t hr_cardinality(const hr_dataset *ds);

/* ---- iterating ---- */

typedef struct hr_iterate_opts {
    size_t struct_size;
    const int *workers; /* at most so many of the pool's workers; default: all. 0: the caller does all work */
    int window;         /* units a stage runs ahead; default: the engine's choice */
    int64_t unit_rows;  /* rows of a unit; default: the engine's choice. No result depends on it, but saved states do */
    size_t budget;      /* bytes that the pipeline may hold; default 1 GiB */
    uint64_t seed;      /* the pipeline's seed, for operators without one; default: drawn, and logged */
    /* From hr_iterator_save: the run resumes there, with its own seed and epoch instead of .seed and .epoch. Borrowed for
     * the call. */
    const void *state;
    size_t state_size;
    /* hr_iterator_free writes this file: each unit as a span of time of its thread, for chrome://tracing or Perfetto. A
     * failure to write it is logged. */
    const char *trace;
    /* Begins with the element of this number, as hr_at finds it: nothing before it is made. Such a run cannot be saved
     * (HR_FAILED_PRECONDITION, "state.first"). Not with .state. */
    int64_t first;
    hr_trace *spans; /* adds the spans to this trace, without a file of its own. Not with .trace. Borrowed */
    /* Of several runs over one dataset, the number of this one, from 1 to 2^52: by the same seed it gives what that
     * epoch of hr_repeat over the dataset gives, so what draws anew in every epoch, as hr_shuffle, does so in every
     * run. Default: 0, which draws as no epoch does. */
    int64_t epoch;
    /* Workers begin at once and read ahead, which takes memory. Default: with the first call for an element. TensorFlow's
     * word for it is experimental_warm_start. */
    bool warm_start;
} hr_iterate_opts;
/* Gives an iterator. If the dataset failed, hr_next returns its error. Takes `ds`. */
HR_API hr_iterator *hr_iterate_with(hr_dataset *ds, const hr_iterate_opts *opts);
#define hr_iterate(...) HR_CALL1_(hr_iterate_with, hr_iterate_opts, __VA_ARGS__, .struct_size = sizeof(hr_iterate_opts))

/* HR_OK: *out is the next element, borrowed until the next call on `it`. HR_END: there are no more elements.
 * Otherwise hr_iterator_error has the error. An error is final: every later call returns the same one. */
HR_API hr_status hr_next(hr_iterator *it, const hr_element **out);
/* hr_next for an event loop. The loop calls `cb` once, on its thread and never from inside this call, with what
 * hr_next would return. The element is borrowed until the next call on `it`, which `cb` may make. A pending call
 * keeps the loop alive. Only one call may be pending: a second one is HR_FAILED_PRECONDITION, and so is a call with
 * another loop than the first. hr_iterator_free, on the loop's thread, ends a pending call without calling `cb`; let
 * the loop run once more before you close it. Without workers the pipeline runs on the loop's thread, one unit at a
 * time. */
struct uv_loop_s;
typedef void hr_next_cb(hr_iterator *it, hr_status status, const hr_element *element, void *user);
HR_API hr_status hr_next_async(hr_iterator *it, struct uv_loop_s *loop, hr_next_cb *cb, void *user);

HR_API const hr_error *hr_iterator_error(const hr_iterator *it); /* NULL: none. Borrows from `it` */
/* The pipeline's seed: the one that was given, was drawn, or is in the state. 0: there was no memory for `it`. */
HR_API uint64_t hr_iterator_seed(const hr_iterator *it);
/* For a caller's own checks: puts the place of row `row` of the last element before an error's text, as
 * "FILE:OFFSET: record N: ", and fills in file, record and offset. An unknown place changes nothing. */
HR_API void hr_iterator_locate(hr_iterator *it, int64_t row, hr_error *err);
/* From any thread. hr_next then returns HR_CANCELLED. Does not wait: no further unit is started, and a wait for a
 * pipe ends. */
HR_API void hr_cancel(hr_iterator *it);
HR_API void hr_iterator_free(hr_iterator *it); /* waits only for units that are running. NULL: nothing */

/* hr_next that does not consume the element: the next call returns it again, and a saved state stands before it. */
HR_API hr_status hr_peek(hr_iterator *it, const hr_element **out);
/* hr_next that waits at most `ns` nanoseconds and then returns HR_WAIT: nothing is lost, call again. A unit that it
 * has started itself is finished first. 0: returns an element that is ready, or does one unit. */
HR_API hr_status hr_next_within(hr_iterator *it, uint64_t ns, const hr_element **out);
/* Starts `it` again, with the same dataset (NULL) or another one of the same components, so that holders of `it` can
 * keep it. Takes `ds`. Options as for hr_iterate: a further epoch has .seed = hr_iterator_seed(it) and another .epoch.
 * Borrowed elements become invalid; an error of the old run is cleared. No other thread may call hr_cancel(it) during
 * this call. In TensorFlow's words: hr_iterate is a one-shot iterator, this makes it initializable and reinitializable;
 * for a feedable one, use a variable that holds one hr_iterator * or another. */
HR_API hr_status hr_iterator_reset_with(hr_iterator *it, hr_dataset *ds, const hr_iterate_opts *opts);
#define hr_iterator_reset(...)                                                                                         \
    HR_CALL2_(hr_iterator_reset_with, hr_iterate_opts, __VA_ARGS__, .struct_size = sizeof(hr_iterate_opts))

/* ---- a whole dataset at once. All take it; HR_OK or what its iterator said, in `err` as well ---- */

/* Runs the dataset and counts its elements. */
HR_API hr_status hr_count(hr_dataset *ds, int64_t *count, hr_error *err);
/* Calls `fn` for each element in order, with a state of the caller. A return value below 0 ends it. */
HR_API hr_status hr_reduce(hr_dataset *ds, void *state, hr_reduce_fn *fn, void *user, hr_error *err);
/* Gives an iterator (hr_iterator_free) and lends its only element. If there is no element, or more than one, *out is
 * NULL and the iterator has an error (HR_INVALID_ARGUMENT). */
HR_API hr_iterator *hr_get_single_element(hr_dataset *ds, const hr_element **out);

/* Element number `index` without those before it, as hr_next would give it: random numbers are those of that element.
 * Gives an iterator (hr_iterator_free), from which hr_next goes on, and lends the element. Operators that allow it:
 * range, from_tensors, from_tensor_slices, from_list, from_sparse_tensor_slices, from_arrow, from_generator by number;
 * map and all that works row by row, batch of one size, padded_batch, take, skip, shard, zip, enumerate, concatenate,
 * pad_to_cardinality, prefetch, options. If there is no such element, or an operator does not allow it, *out is NULL and
 * the iterator has an error: at.index (HR_OUT_OF_RANGE), at.operator (HR_UNIMPLEMENTED). Takes `ds`. */
HR_API hr_iterator *hr_at(hr_dataset *ds, int64_t index, const hr_element **out);

/* The position of `it`, after its last element: some numbers, no rows, at most some KiB. Gives *state (hr_free). The
 * bytes are the same on all machines. They follow from what was delivered and from .unit_rows, not from time, workers
 * or how far the pipeline was ahead, as long as no list has more than 192 files, none of them is of a registered file
 * system, and nothing is .unordered. The state fits its own pipeline, with any number of workers: hr_iterate refuses a
 * state of another pipeline or of changed files, and names what differs. A file is compared by its name below the
 * folder of its pattern (so that the folder may be moved or copied), its size, and samples of its bytes: all bytes of
 * files up to 64 KiB, otherwise 4 to 16 blocks of 4 KiB: the first, the last, and some evenly between them. A change
 * that keeps the size and touches no sample is not noticed. Of a longer list, the files that were opened are compared;
 * of files that only a function named, the last 32, by their whole names. */
HR_API hr_status hr_iterator_save(hr_iterator *it, void **state, size_t *size, hr_error *err);

/* For tests of operators: hr_iterate_with, but a restore reads each number of .state as `change` returns it, as if
 * the state had been changed with all sizes and checksums kept right. The state must then be refused, or read as
 * another state; nothing else may happen. The thread that restores calls `change` (NULL: no change): the caller
 * alone if .workers is 0. Takes `ds`; `user` is borrowed until hr_iterator_free. */
typedef int64_t hr_change_number_fn(int64_t number, void *user);
HR_API hr_iterator *hr_iterate_changed(hr_dataset *ds, hr_change_number_fn *change, void *user,
                                       const hr_iterate_opts *opts);

/* How often something was skipped, repaired, replaced by a default or ignored; "index.made_us": microseconds that
 * passes over files without a valid index took. What threads have met so far counts, and they read ahead: before the
 * end of the pipeline also what lies after the element that was delivered last, in later files or under hr_repeat in the
 * next epoch, and what the consumer may never reach. A list that ends with what == NULL, borrowed until the next call. */
typedef struct hr_report_line {
    const char *what;
    int64_t count;
} hr_report_line;
HR_API const hr_report_line *hr_iterator_report(hr_iterator *it);

/* What the units of a stage took so far. Stages of one kind at one depth count together. */
typedef struct hr_stage_stats {
    char name[120]; /* its operators: "shuffle > batch" */
    int depth;      /* 1: the consumer's own stage; greater: further up the stream */
    int64_t units, rows;
    int64_t waits;                     /* plans that found nothing to pull */
    double plan_seconds, work_seconds; /* of all threads; one thread plans a stage at a time */
    double plan_asleep, work_asleep;   /* the shares of these, 0 to 1, in which the thread slept: by samples */
    double alive_seconds;              /* from open to closed, added up: of two stages side by side, twice the run */
    int64_t unit_bytes;                /* about */
} hr_stage_stats;

/* As many stages are told apart; further ones are left out. */
enum { HR_MAX_STAGE_STATS = 32 };
/* What a run was like so far: what hr_explain tells, as numbers. */
typedef struct hr_iterator_stats {
    int threads;           /* that may work for it, the caller among them */
    double processors;     /* that the process may use; a control group's quota may be a fraction */
    double seconds;        /* of the run, from hr_iterate to its last element, or to now */
    int64_t waits;         /* of the caller, asleep */
    double wait_seconds;   /* that these took */
    double caller_seconds; /* that the caller was in hr_next, asleep or at work, for elements that were not there */
    double
        window_seconds; /* of all threads, about: idle while the unit that was awaited had its window full behind it */
    double budget_seconds; /* of all threads, about: idle because the budget did not let a stage go on */
    double index_seconds; /* that passes over files took whose records were to be found, and which had no valid index */
    int stages;           /* those closed first, then from the consumer down */
    hr_stage_stats stage[HR_MAX_STAGE_STATS];
} hr_iterator_stats;
HR_API void hr_iterator_stats_of(hr_iterator *it, hr_iterator_stats *out);

/* What a run's speed is bound by. */
typedef enum hr_bound {
    HR_BOUND_UNKNOWN,  /* nothing has run yet */
    HR_BOUND_CONSUMER, /* what the caller does between two calls of hr_next */
    HR_BOUND_PLAN,     /* the plan of a stage, which one thread at a time makes */
    HR_BOUND_WORK,     /* the work of a stage, on as many threads as there are */
    HR_BOUND_WINDOW,   /* the order: who waits for a slow unit may not run further ahead */
    HR_BOUND_BUDGET,   /* the bytes that may be held */
    HR_BOUND_INDEX,    /* passes over files to find their records */
} hr_bound;

/* What binds a run, and what would help: `next_thread` and its kin say how many times as fast the run would be, about,
 * 1 being no gain. They follow from the times that stages and consumer took, as if all else stayed as it is. */
typedef struct hr_verdict {
    hr_bound by;
    int stage;          /* the number in the stats; -1: none */
    double share;       /* of the run's time, 0 to 1, in which that was busy, or waited for */
    bool asleep;        /* its threads sleep for most of that: for bytes of a pipe, a user's function for an answer */
    double next_thread; /* one more thread, on the same processors */
    double next_processor; /* one more thread, and a processor for it */
    double larger_window;  /* at most */
    double index;          /* kept indexes of the files (.keep_index, or `headrace index`) */
    double cache;          /* each further pass, with a cache of what `stage` gives, in memory */
    int64_t cache_bytes;   /* that this would hold, about */
} hr_verdict;
HR_API void hr_judge(const hr_iterator_stats *stats, hr_verdict *out);

/* A text: stages, their operators, times, shares, waits, queue depth, bytes, errors, and hr_judge's verdict in words.
 * Gives (hr_free). */
HR_API char *hr_explain(hr_iterator *it);
/* A text about a pipeline before it runs: its stages, from the consumer down, the output of each, the number of
 * elements if it is known, and operators that the engine has moved. Opens nothing. Gives (hr_free); NULL: no memory. */
HR_API char *hr_explain_dataset(hr_dataset *ds);

#ifdef __cplusplus
}
#endif
#endif
