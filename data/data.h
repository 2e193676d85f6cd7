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

#include <headrace/base.h>
#include <headrace/io.h>
#include <headrace/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_iterator hr_iterator;
typedef struct hr_element hr_element;

HR_API hr_dataset *hr_dataset_ref(hr_dataset *ds);               /* gives a second reference: the way to branch */
HR_API void hr_dataset_unref(hr_dataset *ds);                    /* NULL: nothing */
HR_API const hr_error *hr_dataset_error(const hr_dataset *ds);   /* NULL: sound. Borrows from `ds` */
HR_API const hr_schema *hr_dataset_schema(const hr_dataset *ds); /* borrows from `ds`; NULL if it failed */

/* How many elements it has, as far as its operators tell: HR_INFINITE_CARDINALITY, HR_UNKNOWN_CARDINALITY. Opens nothing. */
HR_API int64_t hr_cardinality(const hr_dataset *ds);

/* ---- elements ---- */

/* A component by name or place: NULL if there is none. Borrows until the next hr_next. Dense components have the
 * batch's dimensions in front; ragged ones have splits; sparse ones have indices. */
HR_API const hr_tensor *hr_get(const hr_element *e, const char *name);
HR_API const hr_tensor *hr_get_at(const hr_element *e, int i);
HR_API const hr_schema *hr_element_schema(const hr_element *e);

/* ---- iterating ---- */

typedef struct hr_iterate_opts {
    size_t struct_size;
    const int *workers; /* of the pool's workers at most so many; default: all. 0: the caller does everything */
    int window;         /* units a stage runs ahead; default: the engine's choice */
    int64_t unit_rows;  /* rows a unit; default: the engine's choice. No result depends on it */
    size_t budget;      /* bytes that the pipeline may hold; default 1 GiB */
    uint64_t seed;      /* the pipeline's seed, for operators without one; default: drawn, and logged */
    const void *state;  /* of hr_iterator_save: go on there. Borrowed for the call */
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
/* hr_next for an event loop: `cb` is called on the loop's thread, once, by the loop and never from inside this call, with
 * what hr_next would give; the element is borrowed until the next call on `it`, which `cb` may make. The loop stays alive
 * until then. One call at a time: HR_FAILED_PRECONDITION while one is pending, and for another loop than that of the first
 * call. hr_iterator_free, on the loop's thread, ends a pending one without calling `cb`; let the loop run once more before
 * it is closed. Without workers the pipeline runs on the loop's thread, a unit at a time. */
struct uv_loop_s;
typedef void hr_next_cb(hr_iterator *it, hr_status status, const hr_element *element, void *user);
HR_API hr_status hr_next_async(hr_iterator *it, struct uv_loop_s *loop, hr_next_cb *cb, void *user);

HR_API const hr_error *hr_iterator_error(const hr_iterator *it); /* NULL: none. Borrows from `it` */
/* Any thread; hr_next then gives HR_CANCELLED. Waits for nothing: no further unit is begun, a wait for a pipe ends. */
HR_API void hr_cancel(hr_iterator *it);
HR_API void hr_iterator_free(hr_iterator *it); /* waits for units that are running, no others. NULL: nothing */

/* hr_next that leaves the element where it is: the next call gives it again, and a saved state does not know of it. */
HR_API hr_status hr_peek(hr_iterator *it, const hr_element **out);
/* hr_next that waits no longer than `ns` nanoseconds and then gives HR_WAIT: nothing is lost, ask again. A unit of work
 * that it has begun itself is ended first; 0 takes what is there, or does one unit. */
HR_API hr_status hr_next_within(hr_iterator *it, uint64_t ns, const hr_element **out);
/* TensorFlow's iterators: one-shot is hr_iterate. Initializable and reinitializable is this. Feedable is a variable of the
 * caller's that holds one hr_iterator * or another: each keeps its place.
 *
 * Begins anew, or with another dataset of the same components (NULL: the same one, in a new run): whoever has `it` goes on
 * with it. Takes `ds`. Options as for hr_iterate. What was borrowed from it is no more. An error of the old run is gone. */
HR_API hr_status hr_iterator_reset_with(hr_iterator *it, hr_dataset *ds, const hr_iterate_opts *opts);
#define hr_iterator_reset(...)                                                                                         \
    HR_CALL2_(hr_iterator_reset_with, hr_iterate_opts, __VA_ARGS__, .struct_size = sizeof(hr_iterate_opts))

/* ---- a whole dataset at once. All take it; HR_OK or what its iterator said, in `err` as well ---- */

typedef hr_status hr_reduce_fn(void *state, const hr_element *in, void *user);
HR_API hr_status hr_count(hr_dataset *ds, int64_t *count, hr_error *err);
/* Calls `fn` for one element after the other, with a state that is the caller's. What it returns below 0 ends it. */
HR_API hr_status hr_reduce(hr_dataset *ds, void *state, hr_reduce_fn *fn, void *user, hr_error *err);
/* Gives an iterator (hr_iterator_free) and lends its only element; NULL if there is none or are more, which is an error of
 * that iterator (HR_INVALID_ARGUMENT). */
HR_API hr_iterator *hr_get_single_element(hr_dataset *ds, const hr_element **out);

/* Where `it` stands, behind the element given last: some numbers, no rows. Gives *state (hr_free). A state fits its own
 * pipeline only: hr_iterate refuses another, or changed files, and says which. Files are known by their names below the
 * folder that a pattern's files share, so that it may be moved or copied, their sizes, and samples of their bytes: all of up
 * to 64 KiB, else 4 to 16 blocks of 4 KiB, the first, the last, and some evenly between them. A change that leaves the size
 * as it is and hits none of these passes. Files that only a function named are known by their whole names, the 32 met
 * last. States are bytes in one order: any machine's, with any number of workers. At most some KiB. */
HR_API hr_status hr_iterator_save(hr_iterator *it, void **state, size_t *size, hr_error *err);

/* How often something was skipped, repaired, defaulted or ignored. Borrows until the next call; ends with what == NULL. */
typedef struct hr_report_line {
    const char *what;
    int64_t count;
} hr_report_line;
HR_API const hr_report_line *hr_iterator_report(hr_iterator *it);

/* Stages, their operators, time, share, waits, queue depth, bytes, errors, and a sentence that names the bottleneck and
 * what may be done about it. Gives. */
HR_API char *hr_explain(hr_iterator *it);
/* What a pipeline will do, before it runs: the stages it is cut into, from the consumer down, what each gives, how many elements if that is known, and what is
 * done in another place than it was written. Opens nothing. Gives; NULL: no memory. */
HR_API char *hr_explain_dataset(hr_dataset *ds);

/* ---- sources ---- */

/* 0, 1, ... or start, start + step, ... below stop: int64 "value". */
typedef struct hr_range_opts {
    size_t struct_size;
    int64_t start;
    int64_t step;   /* default 1; may be negative */
    hr_dtype dtype; /* of "value": int32, int64 (default), uint64, float32 or float64, as a cast makes them of int64 */
} hr_range_opts;
HR_API hr_dataset *hr_range_with(int64_t stop, const hr_range_opts *opts);
#define hr_range(...) HR_CALL1_(hr_range_with, hr_range_opts, __VA_ARGS__, .struct_size = sizeof(hr_range_opts))
/* start, start + step, ... without an end. */
HR_API hr_dataset *hr_counter_with(const hr_range_opts *opts);
#define hr_counter(...) HR_CALL0_(hr_counter_with, hr_range_opts, .struct_size = sizeof(hr_range_opts), __VA_ARGS__)

/* Rows of tensors in memory: element i is row i of each. Copies. `names` may be NULL: "0", "1", ... */
HR_API hr_dataset *hr_from_tensor_slices(const hr_tensor *tensors, const char *const *names, int count);

/* One element: the tensors, whole. Copies. `names` may be NULL: "0", "1", ... */
HR_API hr_dataset *hr_from_tensors(const hr_tensor *tensors, const char *const *names, int count);

/* Numbers from 0 to 2^32 - 1 at random, without an end: int64 "value". */
typedef struct hr_random_dataset_opts {
    size_t struct_size;
    uint64_t seed;        /* default: the pipeline's */
    bool same_each_epoch; /* default: new numbers every epoch */
} hr_random_dataset_opts;
HR_API hr_dataset *hr_random_dataset_with(const hr_random_dataset_opts *opts);
#define hr_random_dataset(...)                                                                                         \
    HR_CALL0_(hr_random_dataset_with, hr_random_dataset_opts, .struct_size = sizeof(hr_random_dataset_opts),           \
              __VA_ARGS__)

/* The files that a pattern matches (several patterns: separated by '\n'), sorted, as strings "value". No match is
 * an error: HR_INVALID_ARGUMENT, as in TensorFlow. */
typedef struct hr_list_files_opts {
    size_t struct_size;
    bool shuffle; /* default: sorted. (TensorFlow shuffles unless told not to) */
    uint64_t seed;
    bool same_each_epoch;
    bool
        extended; /* hr_match_files_extended: ranges, braces, **, exclusion, manifests. Default: TensorFlow's patterns */
} hr_list_files_opts;
HR_API hr_dataset *hr_list_files_with(const char *pattern, const hr_list_files_opts *opts);
#define hr_list_files(...)                                                                                             \
    HR_CALL1_(hr_list_files_with, hr_list_files_opts, __VA_ARGS__, .struct_size = sizeof(hr_list_files_opts))

/* The records of TFRecord files, one file after another: string "value". `pattern` as in hr_match_files, but several
 * patterns keep their order, and a name without special characters is missed (HR_NOT_FOUND) at its turn. */
typedef struct hr_tfrecord_opts {
    size_t struct_size;
    hr_compression compression; /* default: by magic bytes and file name */
    size_t max_record_bytes;    /* a longer record is refused before memory is asked for; default 1 GiB */
    hr_checks checks;
    hr_policy policy; /* of damaged records; what is passed over is counted in hr_iterator_report */
    /* A range of the records of all files, as one list, damaged ones counted: default all. Found by the files' indexes,
     * which are made in each epoch anew where there is no valid FILE.hridx. HR_OUT_OF_RANGE: there are not so many. */
    int64_t first;
    const int64_t *count; /* HR_I64(1000); default: to the end */
} hr_tfrecord_opts;
HR_API hr_dataset *hr_tfrecord_with(const char *pattern, const hr_tfrecord_opts *opts);
#define hr_tfrecord(...)                                                                                               \
    HR_CALL1_(hr_tfrecord_with, hr_tfrecord_opts, __VA_ARGS__, .struct_size = sizeof(hr_tfrecord_opts))

/* What becomes of records that do not go round. */
typedef enum hr_uneven {
    HR_UNEVEN_ERROR, /* HR_FAILED_PRECONDITION, "sharded_records.uneven" */
    HR_UNEVEN_DROP,  /* the last ones, fewer than there are shards, are read by nobody */
    HR_UNEVEN_PAD,   /* as few as are missing are read twice, from the first one on */
} hr_uneven;

/* All records of TFRecord files, plain or of LZ4 or ZSTD frames, in one random order over all of them: string "value". Keeps
 * no buffer: any record may come next, and a saved state is one number. They are found by the index of each (8 bytes of
 * memory a record): FILE.hridx where that is valid and has each, else by a pass over the file when it is opened. Of a file
 * of frames each unit decodes those that its records lie in. Every plain file stays open. `pattern` as in hr_tfrecord.
 * Of several shards each gives one record of a round of that order; what does not go round is .uneven's at the end of each
 * epoch. A state is one shard's; another number of shards goes on behind what all of them have had together, by .first. */
typedef struct hr_shuffled_records_opts {
    size_t struct_size;
    uint64_t seed;             /* default: the pipeline's; with shards all need the same */
    bool same_each_epoch;      /* default: a new order every epoch */
    bool keep_index;           /* writes FILE.hridx where an index had to be made */
    int64_t num_shards, index; /* default 1, 0 */
    hr_uneven uneven;
    int64_t first; /* begins behind so many records of the order, those of all shards */
} hr_shuffled_records_opts;
HR_API hr_dataset *hr_shuffled_records_with(const char *pattern, const hr_shuffled_records_opts *opts);
#define hr_shuffled_records(...)                                                                                       \
    HR_CALL1_(hr_shuffled_records_with, hr_shuffled_records_opts, __VA_ARGS__,                                         \
              .struct_size = sizeof(hr_shuffled_records_opts))

/* One rank's share of the records of TFRecord files: string "value". All shares are equally long, so every rank makes the
 * same number of batches, and together they read each record once, but for .uneven. A share is a run of records: whole
 * files, where these are equally long and go round. Which ones is said by hr_log_message (HR_INFO). The files are counted at
 * once, when the dataset is made, by their indexes: best kept, or each epoch passes over them again. */
typedef struct hr_sharded_records_opts {
    size_t struct_size;
    hr_uneven uneven;
    hr_compression compression; /* default: by magic bytes and file name */
    hr_policy policy;           /* as of hr_tfrecord; a record that it leaves out is missing in this rank's share */
    bool keep_index;            /* writes FILE.hridx where an index had to be made */
} hr_sharded_records_opts;
HR_API hr_dataset *hr_sharded_records_with(const char *pattern, int64_t num_shards, int64_t index,
                                           const hr_sharded_records_opts *opts);
#define hr_sharded_records(...)                                                                                        \
    HR_CALL3_(hr_sharded_records_with, hr_sharded_records_opts, __VA_ARGS__,                                           \
              .struct_size = sizeof(hr_sharded_records_opts))

/* The lines of text files, without their ends (LF or CRLF): string "value" (TensorFlow's TextLineDataset, which drops every
 * CR; so does .tf_compat). `pattern` as in hr_tfrecord; "-" is standard input. */
typedef struct hr_text_lines_opts {
    size_t struct_size;
    hr_compression compression; /* default: by magic bytes and file name */
} hr_text_lines_opts;
HR_API hr_dataset *hr_text_lines_with(const char *pattern, const hr_text_lines_opts *opts);
#define hr_text_lines(...)                                                                                             \
    HR_CALL1_(hr_text_lines_with, hr_text_lines_opts, __VA_ARGS__, .struct_size = sizeof(hr_text_lines_opts))

/* Files of records of `record_bytes` each: string "value" (TensorFlow's FixedLengthRecordDataset). Left-over bytes are an
 * error, HR_DATA_LOSS fixed.size: before the first record of a plain file, behind the last whole one of another. */
typedef struct hr_fixed_length_records_opts {
    size_t struct_size;
    int64_t header_bytes, footer_bytes; /* of each file, passed over */
    hr_compression compression;         /* default: by magic bytes and file name; they count inflated bytes */
} hr_fixed_length_records_opts;
HR_API hr_dataset *hr_fixed_length_records_with(const char *pattern, int64_t record_bytes,
                                                const hr_fixed_length_records_opts *opts);
#define hr_fixed_length_records(...)                                                                                   \
    HR_CALL2_(hr_fixed_length_records_with, hr_fixed_length_records_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_fixed_length_records_opts))

/* The items of IDX files (MNIST's format): "value" of uint8, int8, int16, int32, float32 or float64, shaped as the first
 * file says, which is looked at when the dataset is made. Images and their labels: hr_zip of two. */
typedef struct hr_idx_opts {
    size_t struct_size;
    hr_compression compression; /* default: by magic bytes and file name */
} hr_idx_opts;
HR_API hr_dataset *hr_idx_with(const char *pattern, const hr_idx_opts *opts);
#define hr_idx(...) HR_CALL1_(hr_idx_with, hr_idx_opts, __VA_ARGS__, .struct_size = sizeof(hr_idx_opts))

/* Rows of CSV files, one component a selected column: see hr_csv_opts in io.h. `pattern` as in hr_list_files. */
HR_API hr_dataset *hr_csv_with(const char *pattern, const hr_csv_opts *opts);
#define hr_csv(...) HR_CALL1_(hr_csv_with, hr_csv_opts, __VA_ARGS__, .struct_size = sizeof(hr_csv_opts))

/* ---- functions of the user ---- */

/* A dataset for an element of the input. Pure: it is called again after a restore, and once when the dataset is built,
 * with zeros and empty strings, to learn its schema. Gives the dataset. */
typedef hr_dataset *hr_dataset_fn(const hr_element *element, void *user);

HR_API hr_dataset *hr_tfrecord_fn(const hr_element *element, void *user); /* user: const hr_tfrecord_opts *, or NULL */
HR_API hr_dataset *hr_csv_fn(const hr_element *element, void *user);      /* user: const hr_csv_opts * */
HR_API hr_dataset *hr_text_lines_fn(const hr_element *element,
                                    void *user); /* user: const hr_text_lines_opts *, or NULL */

typedef struct hr_builder hr_builder; /* the element that a map's function makes */
typedef struct hr_call hr_call;       /* one call of it: randomness, the error */

/* One element to one element. Pure, any thread, any order. `out` has the components of .output (default: of the
 * input), zeroed. On failure return what hr_call_fail gives. */
typedef hr_status hr_map_fn(const hr_element *in, hr_builder *out, hr_call *call, void *user);
typedef bool hr_filter_fn(const hr_element *in, void *user);

/* Where to write the component's values: of its shape, in the dtype of the schema. NULL: no such component. */
HR_API void *hr_set(hr_builder *out, const char *name);
/* The same of a component whose first dimension varies (shape [-1, ...]): this element has `count` of it. Zeroed; what an
 * earlier call for it gave is no more. NULL: no such component, or no memory, which the function need not report. */
HR_API void *hr_set_count(hr_builder *out, const char *name, int64_t count);
HR_API hr_status hr_set_string(hr_builder *out, const char *name, const void *data, int64_t size); /* copies */
HR_API hr_status hr_set_string_at(hr_builder *out, const char *name, int64_t at, const void *data, int64_t size);
HR_API uint64_t hr_call_random(hr_call *call, uint64_t n); /* bits n of this element's own stream */
/* In a call for many rows: bits n of the stream of one of them; this row failed, and with it what is behind it. */
HR_API uint64_t hr_call_random_of(hr_call *call, int64_t row, uint64_t n);
HR_API hr_status hr_call_fail_row(hr_call *call, int64_t row, hr_status code, const char *format, ...) HR_PRINTF(4, 5);
HR_API hr_status hr_call_fail(hr_call *call, hr_status code, const char *format, ...) HR_PRINTF(3, 4);

/* ---- elements that a function makes from nothing ---- */

/* Makes element `number`: HR_OK; HR_END: there is none. `user`: what .open gave, or the caller's. */
typedef hr_status hr_generator_fn(int64_t number, hr_builder *out, hr_call *call, void *user);

/* Called for element 0, 1, ... by one thread at a time. After a restore of the pipeline it begins anew, and what was given
 * before the save is made again and dropped, so it should give the same again: .by_number and .load save that. */
typedef struct hr_from_generator_opts {
    size_t struct_size;
    const hr_schema *output;   /* required: what it makes. Copied */
    const int64_t *count;      /* HR_I64(1000): asks for so many, negative: for ever; default: until it says HR_END */
    bool by_number;            /* any element may be asked for, in any order: a function of its number */
    bool thread_safe;          /* the same, by several threads at once: needs .count */
    void *(*open)(void *user); /* a generator for each iterator and epoch; NULL from it is an error. Default: `user` */
    void (*close)(void *generator);
    void (*save)(const void *generator, hr_token_writer *to); /* with hr_write_i64; the two go together */
    hr_status (*load)(void *generator, hr_token_reader *from, hr_error *err);
    uint64_t seed;
    void (*user_free)(void *user);
} hr_from_generator_opts;
HR_API hr_dataset *hr_from_generator_with(hr_generator_fn *fn, void *user, const hr_from_generator_opts *opts);
#define hr_from_generator(...)                                                                                         \
    HR_CALL2_(hr_from_generator_with, hr_from_generator_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_from_generator_opts))

/* ---- operators: all take `in` ---- */

typedef struct hr_map_opts {
    size_t struct_size;
    const hr_schema *output; /* default: that of the input. Copied */
    /* The function gets many rows in one call, side by side as if they were a batch, and hr_set gives the place of all of
     * them: how many there are is the engine's choice, and what it makes of one must not depend on the others. */
    bool vectorized;
    uint64_t seed;
    void (*user_free)(void *user);
    bool unordered;             /* elements that are done may pass those that take longer; see hr_options */
    int64_t num_parallel_calls; /* checked and of no effect: workers share whatever there is to do, see hr_iterate */
} hr_map_opts;
HR_API hr_dataset *hr_map_with(hr_dataset *in, hr_map_fn *fn, void *user, const hr_map_opts *opts);
#define hr_map(...) HR_CALL3_(hr_map_with, hr_map_opts, __VA_ARGS__, .struct_size = sizeof(hr_map_opts))

/* Keeps the elements for which `fn` says true. */
typedef struct hr_filter_opts {
    size_t struct_size;
    void (*user_free)(void *user);
} hr_filter_opts;
HR_API hr_dataset *hr_filter_with(hr_dataset *in, hr_filter_fn *fn, void *user, const hr_filter_opts *opts);
#define hr_filter(...) HR_CALL3_(hr_filter_with, hr_filter_opts, __VA_ARGS__, .struct_size = sizeof(hr_filter_opts))

/* One element to one element, with a state that goes from call to call: `size` bytes, at most 2048, without pointers, at
 * first those of `initial` (copied). Each epoch begins with it again; a saved pipeline holds it. Called by one thread at
 * a time, in order. `out` as in hr_map; of a batch one row is made, and .output is needed. */
typedef hr_status hr_scan_fn(void *state, const hr_element *in, hr_builder *out, hr_call *call, void *user);
typedef struct hr_scan_opts {
    size_t struct_size;
    const hr_schema *output; /* default: that of the input. Copied */
    uint64_t seed;
    void (*user_free)(void *user);
} hr_scan_opts;
HR_API hr_dataset *hr_scan_with(hr_dataset *in, const void *initial, size_t size, hr_scan_fn *fn, void *user,
                                const hr_scan_opts *opts);
#define hr_scan(...) HR_CALL5_(hr_scan_with, hr_scan_opts, __VA_ARGS__, .struct_size = sizeof(hr_scan_opts))

/* The same for many elements in one call, side by side as if they were a batch: sets keep[i] for those that stay (false
 * at first). How many there are is the engine's choice. Random bits: hr_call_random_of. */
typedef void hr_filter_rows_fn(const hr_element *rows, bool *keep, hr_call *call, void *user);
typedef struct hr_filter_rows_opts {
    size_t struct_size;
    uint64_t seed;
} hr_filter_rows_opts;
HR_API hr_dataset *hr_filter_rows_with(hr_dataset *in, hr_filter_rows_fn *fn, void *user,
                                       const hr_filter_rows_opts *opts);
#define hr_filter_rows(...)                                                                                            \
    HR_CALL3_(hr_filter_rows_with, hr_filter_rows_opts, __VA_ARGS__, .struct_size = sizeof(hr_filter_rows_opts))

/* The elements of fn(element), `block_length` of each in turn, `cycle_length` datasets at a time. */
typedef struct hr_interleave_opts {
    size_t struct_size;
    int64_t cycle_length; /* default 4. It decides the order */
    int64_t block_length; /* default 1 */
    bool unordered;       /* a dataset that has nothing yet is passed over: the order is then one of many */
    void (*user_free)(void *user);
    int64_t num_parallel_calls; /* as of hr_map; more than cycle_length are refused, as TensorFlow does */
} hr_interleave_opts;
HR_API hr_dataset *hr_interleave_with(hr_dataset *in, hr_dataset_fn *fn, void *user, const hr_interleave_opts *opts);
#define hr_interleave(...)                                                                                             \
    HR_CALL3_(hr_interleave_with, hr_interleave_opts, __VA_ARGS__, .struct_size = sizeof(hr_interleave_opts))

/* tf.data.experimental's older interleave, whose order differs where datasets end: the first `cycle_length` are opened at the
 * start, one that has ended is replaced at once, and at the end the rest of a block is the next dataset's. */
typedef struct hr_parallel_interleave_opts {
    size_t struct_size;
    int64_t cycle_length;                   /* default 4 */
    int64_t block_length;                   /* default 1 */
    bool sloppy;                            /* as .unordered of hr_interleave */
    const int64_t *prefetch_input_elements; /* HR_I64(2): datasets opened before their turn; default, and at most: 8 */
    void (*user_free)(void *user);
    int64_t
        buffer_output_elements; /* checked and of no effect: how far each dataset is read ahead is the engine's choice,
                                       within the budget */
} hr_parallel_interleave_opts;
HR_API hr_dataset *hr_parallel_interleave_with(hr_dataset *in, hr_dataset_fn *fn, void *user,
                                               const hr_parallel_interleave_opts *opts);
#define hr_parallel_interleave(...)                                                                                    \
    HR_CALL3_(hr_parallel_interleave_with, hr_parallel_interleave_opts, __VA_ARGS__,                                   \
              .struct_size = sizeof(hr_parallel_interleave_opts))

/* All elements of fn(element), then all of the next one's: interleave with a cycle of one dataset. */
HR_API hr_dataset *hr_flat_map(hr_dataset *in, hr_dataset_fn *fn, void *user);

/* Draws at random from a buffer of `buffer_size` elements, at least 1; -2: of all elements. */
typedef struct hr_shuffle_opts {
    size_t struct_size;
    uint64_t seed;        /* default: the pipeline's */
    bool same_each_epoch; /* default: a new order every epoch */
} hr_shuffle_opts;
HR_API hr_dataset *hr_shuffle_with(hr_dataset *in, int64_t buffer_size, const hr_shuffle_opts *opts);
#define hr_shuffle(...) HR_CALL2_(hr_shuffle_with, hr_shuffle_opts, __VA_ARGS__, .struct_size = sizeof(hr_shuffle_opts))

typedef struct hr_repeat_opts {
    size_t struct_size;
    const int64_t *count; /* HR_I64(3); default, and any negative number: for ever */
} hr_repeat_opts;
HR_API hr_dataset *hr_repeat_with(hr_dataset *in, const hr_repeat_opts *opts);
#define hr_repeat(...) HR_CALL1_(hr_repeat_with, hr_repeat_opts, __VA_ARGS__, .struct_size = sizeof(hr_repeat_opts))

/* hr_repeat of hr_shuffle, in one call: the order of each epoch is new, no element of one epoch comes before the last of
 * the one before, and the next epoch is opened as soon as all of this one is planned. */
typedef struct hr_shuffle_and_repeat_opts {
    size_t struct_size;
    int64_t count; /* default, and -1: for ever */
    uint64_t seed;
} hr_shuffle_and_repeat_opts;
HR_API hr_dataset *hr_shuffle_and_repeat_with(hr_dataset *in, int64_t buffer_size,
                                              const hr_shuffle_and_repeat_opts *opts);
#define hr_shuffle_and_repeat(...)                                                                                     \
    HR_CALL2_(hr_shuffle_and_repeat_with, hr_shuffle_and_repeat_opts, __VA_ARGS__,                                     \
              .struct_size = sizeof(hr_shuffle_and_repeat_opts))

typedef struct hr_batch_opts {
    size_t struct_size;
    bool drop_remainder;        /* default: the last batch may be short */
    bool unordered;             /* batches that are done may pass those that take longer; see hr_options */
    int64_t num_parallel_calls; /* as of hr_map */
    const int64_t *next_sizes;  /* the second batch has the first of these, and so on, then batch_size again. Copied */
    int next_size_count;
} hr_batch_opts;
HR_API hr_dataset *hr_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts);
#define hr_batch(...) HR_CALL2_(hr_batch_with, hr_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_batch_opts))

/* hr_batch of rows that may differ in shape: each is padded to .padded_shapes, or where that says -1 to the longest row of
 * its batch. A row that is longer than its shape is an error (HR_DATA_LOSS). */
typedef struct hr_padded_batch_opts {
    size_t struct_size;
    const hr_shape *padded_shapes;   /* one a component; default: as they are, and what varies to the longest. Copied */
    const hr_tensor *padding_values; /* one a component, of one value; default: zeros, "". Copied */
    bool drop_remainder;
} hr_padded_batch_opts;
HR_API hr_dataset *hr_padded_batch_with(hr_dataset *in, int64_t batch_size, const hr_padded_batch_opts *opts);
#define hr_padded_batch(...)                                                                                           \
    HR_CALL2_(hr_padded_batch_with, hr_padded_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_padded_batch_opts))

/* hr_batch in which components of varying length become ragged. */
HR_API hr_dataset *hr_ragged_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts);
#define hr_ragged_batch(...)                                                                                           \
    HR_CALL2_(hr_ragged_batch_with, hr_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_batch_opts))

/* hr_batch in which the one component becomes sparse: rows up to `row_shape`, whose only dimension may be -1. */
HR_API hr_dataset *hr_dense_to_sparse_batch_with(hr_dataset *in, int64_t batch_size, hr_shape row_shape,
                                                 const hr_batch_opts *opts);
#define hr_dense_to_sparse_batch(...)                                                                                  \
    HR_CALL3_(hr_dense_to_sparse_batch_with, hr_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_batch_opts))

/* Each run of `size` elements, .stride apart, as one element, as a batch would be; the next run begins .shift elements
 * later. The last ones may be short. It is tf.data's window(...).flat_map(lambda w: w.batch(size)). */
typedef struct hr_window_opts {
    size_t struct_size;
    int64_t shift;  /* default: size */
    int64_t stride; /* default: 1 */
    bool drop_remainder;
} hr_window_opts;
HR_API hr_dataset *hr_window_with(hr_dataset *in, int64_t size, const hr_window_opts *opts);
#define hr_window(...) HR_CALL2_(hr_window_with, hr_window_opts, __VA_ARGS__, .struct_size = sizeof(hr_window_opts))

/* The key that an element is grouped by; how many elements of a key make a window. Both pure; `key` is called by one
 * thread at a time. */
typedef int64_t hr_key_fn(const hr_element *element, void *user);
typedef int64_t hr_window_size_fn(int64_t key, void *user);
typedef hr_status hr_window_check_fn(int64_t key, void *user, hr_error *err);

/* Elements of one key, `window_size` of them, leave together, as one batch or several; at the end what is left over, by
 * rising key. tf.data's reduce_func is the batch, and whatever is put on top of it. */
typedef struct hr_group_by_window_opts {
    size_t struct_size;
    hr_window_size_fn *window_size_fn; /* in the place of `window_size`, which is 0 then */
    int64_t batch_size;                /* default: of the whole window */
    bool drop_remainder;               /* no batch that is shorter */
    hr_window_check_fn *check;         /* may refuse a window that is about to leave: that is the end */
    void (*user_free)(void *user);
} hr_group_by_window_opts;
HR_API hr_dataset *hr_group_by_window_with(hr_dataset *in, hr_key_fn *key, void *user, int64_t window_size,
                                           const hr_group_by_window_opts *opts);
#define hr_group_by_window(...)                                                                                        \
    HR_CALL4_(hr_group_by_window_with, hr_group_by_window_opts, __VA_ARGS__,                                           \
              .struct_size = sizeof(hr_group_by_window_opts))

/* One element a key, by rising key, once the input has ended: `reduce` puts an element into the key's state, `finalize`
 * makes an element of it. States are bytes without pointers. A restored pipeline reads its input again. */
typedef hr_status hr_finalize_fn(int64_t key, const void *state, hr_builder *out, hr_call *call, void *user);
typedef struct hr_group_by_reducer_opts {
    size_t struct_size;
    hr_reduce_fn *reduce; /* required, as the next two */
    hr_finalize_fn *finalize;
    const hr_schema *output; /* what finalize makes. Copied */
    size_t state_size;
    const void *initial; /* the state of a key that is new: state_size bytes. Copied. Default: zeros */
    uint64_t seed;
    void (*user_free)(void *user);
} hr_group_by_reducer_opts;
HR_API hr_dataset *hr_group_by_reducer_with(hr_dataset *in, hr_key_fn *key, void *user,
                                            const hr_group_by_reducer_opts *opts);
#define hr_group_by_reducer(...)                                                                                       \
    HR_CALL3_(hr_group_by_reducer_with, hr_group_by_reducer_opts, __VA_ARGS__,                                         \
              .struct_size = sizeof(hr_group_by_reducer_opts))

/* Batches of elements of like length: bucket i has those of at least boundaries[i - 1] and less than boundaries[i], so
 * there is one more than boundaries. A bucket leaves when it is full, the rest at the end by rising length. */
typedef int64_t hr_length_fn(const hr_element *element, void *user);
typedef struct hr_bucket_by_sequence_length_opts {
    size_t struct_size;
    const int64_t *batch_sizes;    /* required: `count` + 1 of them. Copied */
    const hr_shape *padded_shapes; /* as those of hr_padded_batch */
    const hr_tensor *padding_values;
    bool pad_to_bucket_boundary; /* to one less than the boundary; longer elements than the last one are refused */
    bool no_padding;             /* rows of a batch must be equally long */
    bool drop_remainder;
} hr_bucket_by_sequence_length_opts;
HR_API hr_dataset *hr_bucket_by_sequence_length_with(hr_dataset *in, hr_length_fn *length, void *user,
                                                     const int64_t *boundaries, int count,
                                                     const hr_bucket_by_sequence_length_opts *opts);
#define hr_bucket_by_sequence_length(...)                                                                              \
    HR_CALL5_(hr_bucket_by_sequence_length_with, hr_bucket_by_sequence_length_opts, __VA_ARGS__,                       \
              .struct_size = sizeof(hr_bucket_by_sequence_length_opts))

/* Elements at random, so that their classes have the proportions of `target_dist`, `classes` weights of any sum. Component "0"
 * is the class, which `class` says (0 .. classes - 1; pure); the element is "1", or "1/name". As in TensorFlow there are two
 * passes over `in`, side by side: one gives what comes, one gives what is not rejected, and the first is drawn as often
 * as the proportions allow. So an element may come twice, and the end is that of either pass. Where the input has the
 * target's proportions, all comes as it is. */
typedef int64_t hr_class_fn(const hr_element *element, void *user);
typedef struct hr_rejection_resample_opts {
    size_t struct_size;
    const double *initial_dist; /* the proportions of the input; default: counted as it passes. Copied */
    uint64_t seed;
    void (*user_free)(void *user);
    bool reject_only; /* one pass, in which no element comes twice: more of them are rejected */
} hr_rejection_resample_opts;
HR_API hr_dataset *hr_rejection_resample_with(hr_dataset *in, hr_class_fn *class_fn, void *user,
                                              const double *target_dist, int classes,
                                              const hr_rejection_resample_opts *opts);
#define hr_rejection_resample(...)                                                                                     \
    HR_CALL5_(hr_rejection_resample_with, hr_rejection_resample_opts, __VA_ARGS__,                                     \
              .struct_size = sizeof(hr_rejection_resample_opts))

/* Vectors of varying length, several in each row of `length` values. Each goes into the first open row that has room for
 * the first component; a row leaves when one more must be opened. Component NAME becomes NAME, padded with zeros,
 * NAME/segment_ids (int64, from 1, 0 is padding: which sequence of the row) and NAME/positions (in it, from 0). The
 * components of an element should be equally long; a longer one than `length` is an error. */
typedef struct hr_pack_sequences_opts {
    size_t struct_size;
    int64_t open_rows; /* default 8. More means less padding; 1 keeps the order of the input */
} hr_pack_sequences_opts;
HR_API hr_dataset *hr_pack_sequences_with(hr_dataset *in, int64_t length, const hr_pack_sequences_opts *opts);
#define hr_pack_sequences(...)                                                                                         \
    HR_CALL2_(hr_pack_sequences_with, hr_pack_sequences_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_pack_sequences_opts))

/* The parts of each element, of a batch or of dense rows, become elements; rows that the batch pads come out padded. */
HR_API hr_dataset *hr_unbatch(hr_dataset *in);
HR_API hr_dataset *hr_rebatch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts); /* batches anew */
#define hr_rebatch(...) HR_CALL2_(hr_rebatch_with, hr_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_batch_opts))

HR_API hr_dataset *hr_take(hr_dataset *in, int64_t count); /* the first `count`; a negative count: all */
HR_API hr_dataset *hr_skip(hr_dataset *in,
                           int64_t count); /* all but the first `count`; a negative count: leaves none */

/* One element of `num_shards`, beginning with number `index`. Best near the source: file names before they are opened. */
HR_API hr_dataset *hr_shard(hr_dataset *in, int64_t num_shards, int64_t index);

/* Passes elements until `fn` says false for the first time, then ends. `fn` is called on one thread at a time. */
HR_API hr_dataset *hr_take_while(hr_dataset *in, hr_filter_fn *fn, void *user);

/* Each value once, where it first comes; of one scalar component of int32, int64 or string. Keeps all values, and reads
 * the input again after a restore. */
HR_API hr_dataset *hr_unique(hr_dataset *in);

/* Leaves out what fails below: an element whose work fails, alone, and behind an error that ends an input, as a damaged
 * file does, all the rest of that input; its .policy passes over less. How many there were is "ignored" in hr_iterator_report. In a
 * batch the rows that are left out leave no gap. Lack of memory is never ignored. */
typedef struct hr_ignore_errors_opts {
    size_t struct_size;
    hr_damage_fn *on_error; /* told of each, without bytes; on any thread, but one call at a time, in no order */
    void *user;
    bool log_warning; /* a line for each by hr_set_log */
} hr_ignore_errors_opts;
HR_API hr_dataset *hr_ignore_errors_with(hr_dataset *in, const hr_ignore_errors_opts *opts);
#define hr_ignore_errors(...)                                                                                          \
    HR_CALL1_(hr_ignore_errors_with, hr_ignore_errors_opts, __VA_ARGS__, .struct_size = sizeof(hr_ignore_errors_opts))

/* All elements of `in`, then all of `other`, which has the same components. Takes both. */
HR_API hr_dataset *hr_concatenate(hr_dataset *in, hr_dataset *other);

/* Each number of `choice`, an int64 scalar, says which of `in` gives the next element; the end is where a dataset that has
 * ended is chosen, or there are no more choices. Takes all. */
typedef struct hr_choose_from_datasets_opts {
    size_t struct_size;
    bool go_on; /* a dataset that has ended is passed over: stop_on_empty_dataset=False */
} hr_choose_from_datasets_opts;
HR_API hr_dataset *hr_choose_from_datasets_with(hr_dataset *const *in, int datasets, hr_dataset *choice,
                                                const hr_choose_from_datasets_opts *opts);
#define hr_choose_from_datasets(...)                                                                                   \
    HR_CALL3_(hr_choose_from_datasets_with, hr_choose_from_datasets_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_choose_from_datasets_opts))

/* The next element is that of one of `in`, at random. One that has ended is passed over: that changes the mixture.
 * Takes all. */
typedef struct hr_sample_from_datasets_opts {
    size_t struct_size;
    const double *weights;      /* one a dataset, of any sum; default: all alike. Copied */
    bool stop_on_empty_dataset; /* the end is where one that has ended is drawn */
    bool exact_proportions;     /* not at random: each dataset as often as its weight says, as evenly as can be */
    uint64_t seed;
    bool same_each_epoch;        /* default: other draws every epoch (TensorFlow's rerandomize_each_iteration=True) */
    hr_dataset *weights_dataset; /* in the place of .weights: an element of it for each draw, one float32 or float64 a
                                    dataset, in one component or several. Its end is the end. Taken */
} hr_sample_from_datasets_opts;
HR_API hr_dataset *hr_sample_from_datasets_with(hr_dataset *const *in, int datasets,
                                                const hr_sample_from_datasets_opts *opts);
#define hr_sample_from_datasets(...)                                                                                   \
    HR_CALL2_(hr_sample_from_datasets_with, hr_sample_from_datasets_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_sample_from_datasets_opts))

/* The n-th elements of all inputs side by side; ends with the shortest. The lone component of input i is "i", others are
 * "i/name". Takes all. Elements that are batches go together only where all inputs are batched alike: batch after zip. */
HR_API hr_dataset *hr_zip(hr_dataset *const *in, int inputs);

/* Puts the number of each element in front of it: component "0"; the element itself is "1", or "1/name". */
typedef struct hr_enumerate_opts {
    size_t struct_size;
    int64_t start;
} hr_enumerate_opts;
HR_API hr_dataset *hr_enumerate_with(hr_dataset *in, const hr_enumerate_opts *opts);
#define hr_enumerate(...)                                                                                              \
    HR_CALL1_(hr_enumerate_with, hr_enumerate_opts, __VA_ARGS__, .struct_size = sizeof(hr_enumerate_opts))

/* Keeps all elements, by column, as they are at that place: the first epoch passes them, every later one takes them from
 * memory and opens nothing below. So it belongs below shuffle and repeat, and behind parsing:
 *     hr_repeat(hr_shuffle(hr_cache(hr_parse_example(ds, spec)), 10000), .count = HR_I64(5))
 * What is random below is the same in every epoch. An epoch that is not read to its end keeps nothing. Memory is not that
 * of the pipeline's budget: .max_bytes limits it. What a later epoch takes from a file is not named by errors as the file
 * that its rows were read from. */
typedef struct hr_cache_opts {
    size_t struct_size;
    const char *
        file; /* kept there, for later runs as well; its folder is made. Refused if another pipeline made it, or the files
                         that it was made from have changed since. Default: in memory */
    size_t max_bytes; /* more is HR_RESOURCE_EXHAUSTED, "cache.limit"; default: no limit */
} hr_cache_opts;
HR_API hr_dataset *hr_cache_with(hr_dataset *in, const hr_cache_opts *opts);
#define hr_cache(...) HR_CALL1_(hr_cache_with, hr_cache_opts, __VA_ARGS__, .struct_size = sizeof(hr_cache_opts))

/* A cache in a file of `folder` that is named by the pipeline below: operators, arguments, components; what a user's function
 * does is not seen. So a changed pipeline keeps a snapshot of its own. */
HR_API hr_dataset *hr_snapshot(hr_dataset *in, const char *folder);

/* Runs `ds` (takes it) and writes its elements to a file, whole or not at all; hr_load gives them again, in this order. */
HR_API hr_status hr_save(hr_dataset *ds, const char *file, hr_error *err);
/* The elements of a file that hr_save wrote, or a cache. Its components are read at once, when the dataset is made. */
HR_API hr_dataset *hr_load(const char *file);

/* Passes all elements, and says that there are `cardinality` of them (or an infinite or unknown number): any other number
 * is an error (HR_FAILED_PRECONDITION), where it shows. */
HR_API hr_dataset *hr_assert_cardinality(hr_dataset *in, int64_t cardinality);

/* fn(in, user): an operator put together by a function, for chains. */
typedef hr_dataset *hr_apply_fn(hr_dataset *in, void *user);
HR_API hr_dataset *hr_apply(hr_dataset *in, hr_apply_fn *fn, void *user);

/* Runs ahead of the consumer by `units` batches (HR_AUTOTUNE: the engine's choice). Every stage does so anyway; this sets the last
 * one's window. */
enum { HR_AUTOTUNE = -1 };
HR_API hr_dataset *hr_prefetch(hr_dataset *in, int64_t units);

/* Options of all that stands below. */
typedef struct hr_options_opts {
    size_t struct_size;
    bool tf_compat; /* accept and refuse what TensorFlow accepts and refuses */
    uint64_t seed;  /* of operators that have none of their own */
    /* TensorFlow's deterministic=False: whatever is ready may pass what is not, as with .unordered of each operator. No
     * element is lost or comes twice, but the order is one of many, and hr_iterator_save refuses as soon as it is another than
     * the one that it would be otherwise (HR_FAILED_PRECONDITION, "state.unordered"). A restored run keeps order. */
    bool unordered;
} hr_options_opts;
HR_API hr_dataset *hr_options_with(hr_dataset *in, const hr_options_opts *opts);
#define hr_options(...) HR_CALL1_(hr_options_with, hr_options_opts, __VA_ARGS__, .struct_size = sizeof(hr_options_opts))

/* Options of the whole pipelines below. */
typedef struct hr_make_opts {
    size_t struct_size;
    const char *label;              /* the component that is the label */
    int64_t num_epochs;             /* default: for ever, and then the last short batch is dropped */
    bool no_shuffle;                /* default: files and rows are shuffled */
    int64_t shuffle_buffer_size;    /* default 10000 rows */
    uint64_t seed;                  /* of both; default: the pipeline's */
    int64_t num_parallel_reads;     /* files that take turns, row by row; default 1 */
    bool drop_final_batch;          /* default: the last batch may be short, if there is a last one */
    int64_t num_rows_for_inference; /* make_csv_dataset without columns; default 100, -1: all */
    bool sloppy;                    /* a file that has nothing yet is passed over: .unordered of hr_interleave */
    /* make_csv_dataset without columns: only these of the header. They come in its order. */
    const char *const *select_columns;
    int select_count;
} hr_make_opts;

/* TensorFlow's make_csv_dataset: list_files, interleave, shuffle, repeat, batch, prefetch over rows of CSV. Without columns
 * in `csv` (which may be NULL) all of the first file's header, each of the narrowest type of int32, int64, float32, float64,
 * string that holds its first rows, an empty field being 0 or ""; the other files must have the same columns, in any order ("csv.other_columns").
 * Columns come as they are given, and are found by name. What TensorFlow's ignore_errors drops, a .policy of `csv` does. */
HR_API hr_dataset *hr_make_csv_dataset_with(const char *pattern, int64_t batch_size, const hr_csv_opts *csv,
                                            const hr_make_opts *opts);
#define hr_make_csv_dataset(...)                                                                                       \
    HR_CALL3_(hr_make_csv_dataset_with, hr_make_opts, __VA_ARGS__, .struct_size = sizeof(hr_make_opts))

/* ---- parsing tf.Example ---- */

typedef enum hr_feature_kind {
    HR_FIXED_LEN,          /* as many values as the shape has: a dense component */
    HR_FIXED_LEN_SEQUENCE, /* any number of such: dense, padded to the longest row of a batch */
    HR_VAR_LEN,            /* any number of values: a sparse component */
    HR_RAGGED_FEATURE,     /* the same as a ragged one, split further by .partitions */
    HR_SPARSE_FEATURE,     /* values under `key`, their places under .index_keys: a sparse component of size .shape */
} hr_feature_kind;

/* A level of a ragged feature: the int64 list under `key` says where its rows begin, end, or how long they are. */
typedef enum hr_partition_kind {
    HR_ROW_SPLITS,
    HR_ROW_LENGTHS,
    HR_ROW_STARTS,
    HR_ROW_LIMITS,
    HR_VALUE_ROWIDS,
    HR_UNIFORM_ROW_LENGTH, /* rows of `length`, no key */
} hr_partition_kind;

typedef struct hr_partition {
    hr_partition_kind kind;
    const char *key;
    int64_t length;
} hr_partition;

/* One feature of a parsing spec (tf.io.FixedLenFeature and its kin). */
typedef struct hr_feature {
    const char *key; /* in the Example */
    hr_feature_kind kind;
    hr_dtype dtype;
    hr_shape shape; /* HR_FIXED_LEN, HR_FIXED_LEN_SEQUENCE: of one row */
    const hr_tensor
        *default_value; /* NULL: a missing feature is an error (HR_FIXED_LEN); or what pads a sequence (zero) */
    const char *name;   /* of the component; NULL: the key */
    /* int64 in the file may become any other type of integer or bool (if it fits, else the row fails), float or double (rounded),
     * and float double. */
    bool widen;
    bool required;                  /* HR_FIXED_LEN_SEQUENCE: refused, as TensorFlow refuses allow_missing=False */
    const char *const *index_keys;  /* HR_SPARSE_FEATURE: one for each dimension of the shape */
    bool already_sorted;            /* HR_SPARSE_FEATURE: leave the order of the values alone */
    const hr_partition *partitions; /* HR_RAGGED_FEATURE: outermost first */
    int partition_count;
    bool validate; /* HR_RAGGED_FEATURE, with tf_compat only: check the partitions, which is always done otherwise */
} hr_feature;

typedef struct hr_parse_spec {
    const hr_feature *feature;
    int features;
} hr_parse_spec;
/* A spec by hand:
 *     hr_parse_example(ds, HR_PARSE_SPEC({.key = "age", .dtype = HR_INT64},
 *                                        {.key = "words", .kind = HR_VAR_LEN, .dtype = HR_STRING}))
 * Borrowed, so it may be an argument. */
#define HR_PARSE_SPEC(...)                                                                                             \
    (&(hr_parse_spec){(const hr_feature[]){__VA_ARGS__}, sizeof((hr_feature[]){__VA_ARGS__}) / sizeof(hr_feature)})

/* Rows from another library's memory, by Arrow's C data interface (arrow.h has its structs): a struct array, whose children
 * are the components; those of a struct among them are called NAME/CHILD. Numbers, booleans and strings (of all layouts) come
 * as they are, dates, times and durations as integers of their unit, lists of all these ragged, lists of a fixed size dense;
 * of a dictionary the values that its codes stand for. Takes what both structs hold, as a move does: they are released with
 * the dataset, or at once if it fails. Values are copied a batch at a time.
 *
 * With a spec, for example that of hr_make_parse_example_spec, the components are what hr_parse_example would give for it
 * (all kinds but HR_SPARSE_FEATURE, and HR_RAGGED_FEATURE with partitions), so that hr_transform_features goes on with them:
 * a null is a missing feature, integers and booleans become any integers (if they fit), float or double, float becomes double
 * and the reverse (rounded). Without one a null is an empty list, and elsewhere an error of its row. */
struct ArrowArray;
struct ArrowSchema;
struct ArrowArrayStream;
typedef struct hr_from_arrow_opts {
    size_t struct_size;
    const hr_parse_spec *spec; /* default: all children as they are. Copied */
    const char *label;         /* the component that is the label */
} hr_from_arrow_opts;
HR_API hr_dataset *hr_from_arrow_with(struct ArrowArray *array, struct ArrowSchema *schema,
                                      const hr_from_arrow_opts *opts);
#define hr_from_arrow(...)                                                                                             \
    HR_CALL2_(hr_from_arrow_with, hr_from_arrow_opts, __VA_ARGS__, .struct_size = sizeof(hr_from_arrow_opts))

/* The same of a stream of such arrays. Takes what the struct holds. The arrays are asked for one by one, on one thread at a
 * time, and each is released as soon as its rows are copied. A stream can be read once: for another epoch, another
 * iterator, or a restore while this one was read from, .open gives it anew, from its front. */
typedef int hr_arrow_stream_fn(struct ArrowArrayStream *out, void *user); /* 0, or an errno */
typedef struct hr_from_arrow_stream_opts {
    size_t struct_size;
    const hr_parse_spec *spec; /* these two as of hr_from_arrow */
    const char *label;
    hr_arrow_stream_fn *open; /* default: the stream is read once. Any thread, one call at a time for each iterator */
    void *user;
    void (*user_free)(void *user); /* with the dataset */
} hr_from_arrow_stream_opts;
HR_API hr_dataset *hr_from_arrow_stream_with(struct ArrowArrayStream *stream, const hr_from_arrow_stream_opts *opts);
#define hr_from_arrow_stream(...)                                                                                      \
    HR_CALL1_(hr_from_arrow_stream_with, hr_from_arrow_stream_opts, __VA_ARGS__,                                       \
              .struct_size = sizeof(hr_from_arrow_stream_opts))

typedef struct hr_parse_example_opts {
    size_t struct_size;
    const char *label;  /* the component that is the label */
    const char *source; /* the string component that is parsed; default: the only one */
    bool tf_compat;     /* refuse what TensorFlow's parser refuses */
    /* Of records that do not parse: their rows are left out, of a batch, too, which is short then; HR_RESYNC is as HR_SKIP. A budget ends the
     * pipeline as soon as all threads together have seen more: which rows came before then depends on their timing. */
    hr_policy policy;
    bool unordered; /* as of hr_map */
} hr_parse_example_opts;

/* Parses each string as a tf.Example into the features' components. Before batch or after: the cost is the same. Copies
 * the spec. The components are the spec's features, in its order. */
HR_API hr_dataset *hr_parse_example_with(hr_dataset *in, const hr_parse_spec *spec, const hr_parse_example_opts *opts);
#define hr_parse_example(...)                                                                                          \
    HR_CALL2_(hr_parse_example_with, hr_parse_example_opts, __VA_ARGS__, .struct_size = sizeof(hr_parse_example_opts))
/* TensorFlow's name for it in front of a batch. It is the same: a batch that follows is made first. */
#define hr_parse_single_example(...) hr_parse_example(__VA_ARGS__)

/* TensorFlow's make_batched_features_dataset, the same of TFRecords: each batch is parsed by `spec`. */
HR_API hr_dataset *hr_make_batched_features_dataset_with(const char *pattern, int64_t batch_size,
                                                         const hr_parse_spec *spec, const hr_make_opts *opts);
#define hr_make_batched_features_dataset(...)                                                                          \
    HR_CALL3_(hr_make_batched_features_dataset_with, hr_make_opts, __VA_ARGS__, .struct_size = sizeof(hr_make_opts))

/* Parses each string as a tf.SequenceExample: its context by one spec (HR_FIXED_LEN, HR_VAR_LEN, HR_RAGGED_FEATURE), its
 * feature lists by another (HR_FIXED_LEN_SEQUENCE, HR_VAR_LEN, HR_RAGGED_FEATURE); NULL: none of them. A list adds a
 * dimension to a feature: its rows. A sequence has also a component NAME/lengths, the number of them (int64); with
 * .required its list must be there. The components are the context's, the lists', then the lengths. */
HR_API hr_dataset *hr_parse_sequence_example_with(hr_dataset *in, const hr_parse_spec *context,
                                                  const hr_parse_spec *lists, const hr_parse_example_opts *opts);
#define hr_parse_sequence_example(...)                                                                                 \
    HR_CALL3_(hr_parse_sequence_example_with, hr_parse_example_opts, __VA_ARGS__,                                      \
              .struct_size = sizeof(hr_parse_example_opts))

#ifdef __cplusplus
}
#endif
#endif
