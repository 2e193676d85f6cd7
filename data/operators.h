/* Headrace, pipelines: the operators on datasets. All take `in`. Part of data.h. */
#ifndef HR_OPERATORS_H
#define HR_OPERATORS_H

#include <headrace/functions.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_map_opts {
    size_t struct_size;
    const hr_schema *output; /* default: that of the input. Copied */
    /* The function gets many rows in one call, side by side as if they were a batch, and hr_set gives the place of all
     * of them: how many there are is the engine's choice, and what it makes of one must not depend on the others. */
    bool vectorized;
    uint64_t seed;
    void (*user_free)(void *user);
    bool unordered;             /* elements that are done may pass those that take longer; see hr_options */
    int64_t num_parallel_calls; /* checked and of no effect: workers share whatever there is to do, see hr_iterate */
} hr_map_opts;
/* One element to one element by the user's function `fn`. Takes `in`. */
HR_API hr_dataset *hr_map_with(hr_dataset *in, hr_map_fn *fn, void *user, const hr_map_opts *opts);
#define hr_map(...) HR_CALL3_(hr_map_with, hr_map_opts, __VA_ARGS__, .struct_size = sizeof(hr_map_opts))

/* Keeps the elements for which `fn` says true. */
typedef struct hr_filter_opts {
    size_t struct_size;
    void (*user_free)(void *user);
} hr_filter_opts;
HR_API hr_dataset *hr_filter_with(hr_dataset *in, hr_filter_fn *fn, void *user, const hr_filter_opts *opts);
#define hr_filter(...) HR_CALL3_(hr_filter_with, hr_filter_opts, __VA_ARGS__, .struct_size = sizeof(hr_filter_opts))

/* One element to one element, with a state that goes from call to call: `size` bytes, at most 2048, without pointers,
 * at first those of `initial` (copied). Each epoch begins with it again; a saved pipeline holds it. Called by one
 * thread at a time, in order. `out` as in hr_map; of a batch one row is made, and .output is needed. */
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

/* tf.data.experimental's older interleave, whose order differs where datasets end: the first `cycle_length` are opened
 * at the start, one that has ended is replaced at once, and at the end the rest of a block is the next dataset's. */
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
    /* A saved state may be restored with another count, so that what has ended goes on: the count is then no part of the
     * dataset's identity. Operators above that have noted the end of their input do not go on: shuffle refuses the
     * state (shuffle.input_changed), concatenate and another repeat do not come back to it. So put them below. A cache
     * in a file above would not notice another count. */
    bool extendable;
} hr_repeat_opts;
/* All elements of `in`, `.count` times; default: for ever. Each time is an epoch. Takes `in`. */
HR_API hr_dataset *hr_repeat_with(hr_dataset *in, const hr_repeat_opts *opts);
#define hr_repeat(...) HR_CALL1_(hr_repeat_with, hr_repeat_opts, __VA_ARGS__, .struct_size = sizeof(hr_repeat_opts))

/* hr_repeat of hr_shuffle, in one call: the order of each epoch is new, no element of one epoch comes before the last
 * of the one before, and the next epoch is opened as soon as all of this one is planned. */
typedef struct hr_shuffle_and_repeat_opts {
    size_t struct_size;
    int64_t count; /* default, and -1: for ever */
    uint64_t seed;
    bool extendable; /* as of hr_repeat */
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
/* `batch_size` elements become one, with a further dimension in front; the last one may be short. Takes `in`. */
HR_API hr_dataset *hr_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts);
#define hr_batch(...) HR_CALL2_(hr_batch_with, hr_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_batch_opts))

/* hr_batch of rows that may differ in shape: each is padded to .padded_shapes, or where that says -1 to the longest row
 * of its batch. A row that is longer than its shape is an error (HR_DATA_LOSS). */
typedef struct hr_padded_batch_opts {
    size_t struct_size;
    const hr_shape *padded_shapes;   /* one a component; default: as they are, and what varies to the longest. Copied */
    const hr_tensor *padding_values; /* one a component, of one value; default: zeros, "". Copied */
    bool drop_remainder;
} hr_padded_batch_opts;
HR_API hr_dataset *hr_padded_batch_with(hr_dataset *in, int64_t batch_size, const hr_padded_batch_opts *opts);
#define hr_padded_batch(...)                                                                                           \
    HR_CALL2_(hr_padded_batch_with, hr_padded_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_padded_batch_opts))
/* Its first half, for operators that batch in their own way: rows that any batch put on top pads so. Both as in
 * hr_padded_batch_opts, and may be NULL. */
HR_API hr_dataset *hr_padded_rows(hr_dataset *in, const hr_shape *padded_shapes, const hr_tensor *padding_values);

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

/* Elements at random, so that their classes have the proportions of `target_dist`, `classes` weights of any sum.
 * Component "0" is the class, which `class` says (0 .. classes - 1; pure); the element is "1", or "1/name". As in
 * TensorFlow there are two passes over `in`, side by side: one gives what comes, one gives what is not rejected, and
 * the first is drawn as often as the proportions allow. So an element may come twice, and the end is that of either
 * pass. Where the input has the target's proportions, all comes as it is. */
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

/* Vectors of varying length, several in each row of `length` values. Each goes into the first open row that has room
 * for the first component; a row leaves when one more must be opened. Component NAME becomes NAME, padded with zeros,
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

/* One element of `num_shards`, beginning with number `index`. Best near the source: file names before they are
 * opened. */
HR_API hr_dataset *hr_shard(hr_dataset *in, int64_t num_shards, int64_t index);

/* Passes elements until `fn` says false for the first time, then ends. `fn` is called on one thread at a time. */
HR_API hr_dataset *hr_take_while(hr_dataset *in, hr_filter_fn *fn, void *user);

/* Each value once, where it first comes; of one scalar component of int32, int64 or string. Keeps all values, and reads
 * the input again after a restore. */
HR_API hr_dataset *hr_unique(hr_dataset *in);

/* Leaves out what fails below: an element whose work fails, alone, and after an error that ends an input, as a damaged
 * file does, all the rest of that input; its .policy passes over less. How many there were is "ignored" in
 * hr_iterator_report. In a batch the rows that are left out leave no gap. Lack of memory is never ignored. */
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

/* Each number of `choice`, an int64 scalar, says which of `in` gives the next element; the end is where a dataset that
 * has ended is chosen, or there are no more choices. Takes all. */
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

/* The n-th elements of all inputs side by side; ends with the shortest. The lone component of input i is "i", others
 * are "i/name". Takes all. Elements that are batches go together only where all inputs are batched alike: batch after
 * zip. */
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
 * memory and opens nothing below. So it belongs below shuffle and repeat, and after parsing:
 *     hr_repeat(hr_shuffle(hr_cache(hr_parse_example(ds, spec)), 10000), .count = HR_I64(5))
 * In one iterator a dataset is one cache, however often it is opened: in epochs, by several branches (hr_dataset_ref),
 * by a function that gives the same dataset for many elements. The opening whose elements are needed first fills it and
 * the others follow, so the input is read once, by whatever schedule; an opening that needs elements far ahead of those
 * that another can bring, as in a zip of a dataset and a skip of it, reads the input by itself. What several may open,
 * and what is kept in a file, is not filled ahead of its turn. A function that makes a new cache for each element makes
 * caches with rows of their own. Caches of one file are one cache, too, and must have the same input.
 * What is random below is the same each time. An epoch that is not read to its end keeps in memory what it has read,
 * and the next one goes on from there; in a file it keeps nothing. Memory is not that of the pipeline's budget:
 * .max_bytes limits it. What a later epoch takes from a file is not named by errors as the file
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

/* A cache in a file of `folder` that is named by the pipeline below: operators, arguments, components; what a user's
 * function does is not seen. So a changed pipeline keeps a snapshot of its own. */
HR_API hr_dataset *hr_snapshot(hr_dataset *in, const char *folder);

/* Runs `ds` (takes it) and writes its elements to a file, whole or not at all; hr_load gives them again, in this
 * order. */
HR_API hr_status hr_save(hr_dataset *ds, const char *file, hr_error *err);
/* The elements of a file that hr_save wrote, or a cache. Its components are read at once, when the dataset is made. */
HR_API hr_dataset *hr_load(const char *file);

/* Passes all elements, and says that there are `cardinality` of them (or an infinite or unknown number): any other
 * number is an error (HR_FAILED_PRECONDITION), where it shows. */
HR_API hr_dataset *hr_assert_cardinality(hr_dataset *in, int64_t cardinality);

/* fn(in, user): an operator put together by a function, for chains. */
typedef hr_dataset *hr_apply_fn(hr_dataset *in, void *user);
HR_API hr_dataset *hr_apply(hr_dataset *in, hr_apply_fn *fn, void *user);

/* Runs ahead of the consumer by `units` batches (HR_AUTOTUNE: the engine's choice). Every stage does so anyway; this
 * sets the last one's window. */
enum { HR_AUTOTUNE = -1 };
HR_API hr_dataset *hr_prefetch(hr_dataset *in, int64_t units);

/* Options of all that stands below. */
typedef struct hr_options_opts {
    size_t struct_size;
    bool tf_compat; /* accept and refuse what TensorFlow accepts and refuses */
    uint64_t seed;  /* of operators that have none of their own */
    /* TensorFlow's deterministic=False: whatever is ready may pass what is not, as with .unordered of each operator. No
     * element is lost or comes twice, but the order is one of many, and hr_iterator_save refuses as soon as it is
     * another than the one that it would be otherwise (HR_FAILED_PRECONDITION, "state.unordered"). A restored run keeps
     * order. */
    bool unordered;
} hr_options_opts;
HR_API hr_dataset *hr_options_with(hr_dataset *in, const hr_options_opts *opts);
#define hr_options(...) HR_CALL1_(hr_options_with, hr_options_opts, __VA_ARGS__, .struct_size = sizeof(hr_options_opts))

#ifdef __cplusplus
}
#endif
#endif
