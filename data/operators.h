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
    /* The function gets many rows in one call, as a batch, and hr_set gives the memory for all of them. The engine
     * chooses their number, so the result of a row must not depend on the others. */
    bool vectorized;
    uint64_t seed;
    void (*user_free)(void *user);
    bool unordered;             /* elements that are ready may pass those that take longer; see hr_options */
    int64_t num_parallel_calls; /* checked, but without effect: all workers share all work, see hr_iterate */
} hr_map_opts;
/* Turns each element into another one, by the user's function `fn`. Takes `in`. */
HR_API hr_dataset *hr_map_with(hr_dataset *in, hr_map_fn *fn, void *user, const hr_map_opts *opts);
#define hr_map(...) HR_CALL3_(hr_map_with, hr_map_opts, __VA_ARGS__, .struct_size = sizeof(hr_map_opts))

/* Keeps the elements for which `fn` returns true. */
typedef struct hr_filter_opts {
    size_t struct_size;
    void (*user_free)(void *user);
} hr_filter_opts;
HR_API hr_dataset *hr_filter_with(hr_dataset *in, hr_filter_fn *fn, void *user, const hr_filter_opts *opts);
#define hr_filter(...) HR_CALL3_(hr_filter_with, hr_filter_opts, __VA_ARGS__, .struct_size = sizeof(hr_filter_opts))

/* hr_map with a state that is passed from call to call: `size` bytes, at most 2048, without pointers, which are
 * copied from `initial` at the start of each epoch. A saved state contains it. `fn` is called in order, by one
 * thread at a time. `out` as in hr_map; if the elements are batches, each becomes one row, and .output is required. */
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

/* hr_filter for many elements in one call, as a batch: `fn` sets keep[i], at first false, for those that stay. The
 * engine chooses their number. Random bits: hr_call_random_of. */
typedef void hr_filter_rows_fn(const hr_element *rows, bool *keep, hr_call *call, void *user);
typedef struct hr_filter_rows_opts {
    size_t struct_size;
    uint64_t seed;
} hr_filter_rows_opts;
HR_API hr_dataset *hr_filter_rows_with(hr_dataset *in, hr_filter_rows_fn *fn, void *user,
                                       const hr_filter_rows_opts *opts);
#define hr_filter_rows(...)                                                                                            \
    HR_CALL3_(hr_filter_rows_with, hr_filter_rows_opts, __VA_ARGS__, .struct_size = sizeof(hr_filter_rows_opts))

/* Makes a dataset of each element, fn(element), and reads `cycle_length` of these at a time: `block_length` elements
 * of each in turn. */
typedef struct hr_interleave_opts {
    size_t struct_size;
    int64_t cycle_length; /* default 4. It decides the order */
    int64_t block_length; /* default 1 */
    bool unordered;       /* a dataset without a ready element is skipped for now: the order depends on timing */
    void (*user_free)(void *user);
    int64_t num_parallel_calls; /* as in hr_map; more than cycle_length is an error, as in TensorFlow */
} hr_interleave_opts;
HR_API hr_dataset *hr_interleave_with(hr_dataset *in, hr_dataset_fn *fn, void *user, const hr_interleave_opts *opts);
#define hr_interleave(...)                                                                                             \
    HR_CALL3_(hr_interleave_with, hr_interleave_opts, __VA_ARGS__, .struct_size = sizeof(hr_interleave_opts))

/* tf.data.experimental's older interleave. Its order differs where datasets end: the first `cycle_length` are opened
 * at the start, a dataset that has ended is replaced at once, and at the end the next dataset gives the rest of a
 * block. */
typedef struct hr_parallel_interleave_opts {
    size_t struct_size;
    int64_t cycle_length; /* default 4 */
    int64_t block_length; /* default 1 */
    bool sloppy;          /* as .unordered of hr_interleave */
    const int64_t
        *prefetch_input_elements; /* HR_I64(2): datasets to open before their turn; at most 8, which is the default */
    void (*user_free)(void *user);
    int64_t buffer_output_elements; /* checked, but without effect: the engine chooses how far it reads ahead */
} hr_parallel_interleave_opts;
HR_API hr_dataset *hr_parallel_interleave_with(hr_dataset *in, hr_dataset_fn *fn, void *user,
                                               const hr_parallel_interleave_opts *opts);
#define hr_parallel_interleave(...)                                                                                    \
    HR_CALL3_(hr_parallel_interleave_with, hr_parallel_interleave_opts, __VA_ARGS__,                                   \
              .struct_size = sizeof(hr_parallel_interleave_opts))

/* All elements of fn(element), then those of the next one: interleave with a cycle of one dataset. */
HR_API hr_dataset *hr_flat_map(hr_dataset *in, hr_dataset_fn *fn, void *user);

/* Draws at random from a buffer of `buffer_size` elements, at least 1; -2: a buffer of all elements. */
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
    /* The count is not a part of the dataset's identity: a saved state may be restored with another count, so that a
     * run that has ended continues. Operators downstream that have noted the end of their input do not continue:
     * shuffle refuses the state (shuffle.input_changed), concatenate and another repeat do not return to this one.
     * So put them upstream. A cache in a file downstream does not notice another count. */
    bool extendable;
} hr_repeat_opts;
/* All elements of `in`, `.count` times; default: for ever. Each time is an epoch. Takes `in`. */
HR_API hr_dataset *hr_repeat_with(hr_dataset *in, const hr_repeat_opts *opts);
#define hr_repeat(...) HR_CALL1_(hr_repeat_with, hr_repeat_opts, __VA_ARGS__, .struct_size = sizeof(hr_repeat_opts))

/* hr_repeat of hr_shuffle, in one call: each epoch has a new order, and all elements of an epoch come before the
 * next epoch. The next epoch is opened as soon as all of this one is planned. */
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
    bool unordered;             /* batches that are ready may pass those that take longer; see hr_options */
    int64_t num_parallel_calls; /* as of hr_map */
    const int64_t *next_sizes;  /* sizes of the second batch, the third, and so on; then batch_size again. Copied */
    int next_size_count;
} hr_batch_opts;
/* Each `batch_size` elements become one, with a new first dimension. The last one may be shorter. Takes `in`. */
HR_API hr_dataset *hr_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts);
#define hr_batch(...) HR_CALL2_(hr_batch_with, hr_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_batch_opts))

/* hr_batch of rows that may differ in shape: each is padded to .padded_shapes, and where that is -1 to the longest
 * row of its batch. A row that is longer than its shape is an error (HR_DATA_LOSS). */
typedef struct hr_padded_batch_opts {
    size_t struct_size;
    const hr_shape
        *padded_shapes; /* one for each component; default: its shape, and varying dimensions to the longest. Copied */
    const hr_tensor *padding_values; /* one for each component, of one value; default: zeros, "". Copied */
    bool drop_remainder;
} hr_padded_batch_opts;
HR_API hr_dataset *hr_padded_batch_with(hr_dataset *in, int64_t batch_size, const hr_padded_batch_opts *opts);
#define hr_padded_batch(...)                                                                                           \
    HR_CALL2_(hr_padded_batch_with, hr_padded_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_padded_batch_opts))
/* The first half of hr_padded_batch, for operators that batch in their own way: any batch downstream pads the rows
 * like this. Both arguments as in hr_padded_batch_opts; each may be NULL. */
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

/* Each run of `size` elements, .stride apart, becomes one element, as in a batch. The next run begins .shift
 * elements later. The last ones may be shorter. This is tf.data's window(...).flat_map(lambda w: w.batch(size)). */
typedef struct hr_window_opts {
    size_t struct_size;
    int64_t shift;  /* default: size */
    int64_t stride; /* default: 1 */
    bool drop_remainder;
} hr_window_opts;
HR_API hr_dataset *hr_window_with(hr_dataset *in, int64_t size, const hr_window_opts *opts);
#define hr_window(...) HR_CALL2_(hr_window_with, hr_window_opts, __VA_ARGS__, .struct_size = sizeof(hr_window_opts))

/* The key of an element; the number of elements of a key that make a window. Both must be pure functions; `key` is
 * called by one thread at a time. */
typedef int64_t hr_key_fn(const hr_element *element, void *user);
typedef int64_t hr_window_size_fn(int64_t key, void *user);
typedef hr_status hr_window_check_fn(int64_t key, void *user, hr_error *err);

/* Collects elements of the same key. `window_size` of them leave together, as one batch or several. At the end, the
 * rest leaves in the order of keys. In the place of tf.data's reduce_func are this batch and the operators after it. */
typedef struct hr_group_by_window_opts {
    size_t struct_size;
    hr_window_size_fn *window_size_fn; /* instead of `window_size`, which is then 0 */
    int64_t batch_size;                /* default: of the whole window */
    bool drop_remainder;               /* no batch that is shorter */
    hr_window_check_fn *check;         /* may refuse a window before it leaves: its error ends the dataset */
    void (*user_free)(void *user);
} hr_group_by_window_opts;
HR_API hr_dataset *hr_group_by_window_with(hr_dataset *in, hr_key_fn *key, void *user, int64_t window_size,
                                           const hr_group_by_window_opts *opts);
#define hr_group_by_window(...)                                                                                        \
    HR_CALL4_(hr_group_by_window_with, hr_group_by_window_opts, __VA_ARGS__,                                           \
              .struct_size = sizeof(hr_group_by_window_opts))

/* Gives one element for each key, in the order of keys, after the input has ended. `reduce` adds an element to the
 * state of its key, `finalize` makes an element of a state. States are bytes without pointers. A restored pipeline
 * reads its input again. */
typedef hr_status hr_finalize_fn(int64_t key, const void *state, hr_builder *out, hr_call *call, void *user);
typedef struct hr_group_by_reducer_opts {
    size_t struct_size;
    hr_reduce_fn *reduce; /* required, as the next two */
    hr_finalize_fn *finalize;
    const hr_schema *output; /* the components of the elements that finalize makes. Copied */
    size_t state_size;
    const void *initial; /* the state of a new key: state_size bytes. Copied. Default: zeros */
    uint64_t seed;
    void (*user_free)(void *user);
} hr_group_by_reducer_opts;
HR_API hr_dataset *hr_group_by_reducer_with(hr_dataset *in, hr_key_fn *key, void *user,
                                            const hr_group_by_reducer_opts *opts);
#define hr_group_by_reducer(...)                                                                                       \
    HR_CALL3_(hr_group_by_reducer_with, hr_group_by_reducer_opts, __VA_ARGS__,                                         \
              .struct_size = sizeof(hr_group_by_reducer_opts))

/* Batches elements of similar length. Bucket i has lengths from boundaries[i - 1] to below boundaries[i], so there
 * is one more bucket than boundaries. A bucket leaves when it is full; at the end the rest leaves, the shortest
 * bucket first. */
typedef int64_t hr_length_fn(const hr_element *element, void *user);
typedef struct hr_bucket_by_sequence_length_opts {
    size_t struct_size;
    const int64_t *batch_sizes;    /* required: `count` + 1 of them. Copied */
    const hr_shape *padded_shapes; /* as those of hr_padded_batch */
    const hr_tensor *padding_values;
    bool pad_to_bucket_boundary; /* to one less than the boundary; elements of the last bucket are an error */
    bool no_padding;             /* rows of a batch must be equally long */
    bool drop_remainder;
} hr_bucket_by_sequence_length_opts;
HR_API hr_dataset *hr_bucket_by_sequence_length_with(hr_dataset *in, hr_length_fn *length, void *user,
                                                     const int64_t *boundaries, int count,
                                                     const hr_bucket_by_sequence_length_opts *opts);
#define hr_bucket_by_sequence_length(...)                                                                              \
    HR_CALL5_(hr_bucket_by_sequence_length_with, hr_bucket_by_sequence_length_opts, __VA_ARGS__,                       \
              .struct_size = sizeof(hr_bucket_by_sequence_length_opts))

/* Draws elements at random, so that their classes have the proportions of `target_dist`, `classes` weights of any
 * sum. `class_fn` gives the class of an element (0 .. classes - 1) and must be a pure function. Component "0" is the
 * class; the element is "1", or "1/name". As in TensorFlow, two passes over `in` run side by side: one gives all
 * elements, the other those that are not rejected, and elements are drawn from the first as often as the proportions
 * allow. So an element may come twice, and the dataset ends with either pass. If the input has the target's
 * proportions, all elements pass. */
typedef int64_t hr_class_fn(const hr_element *element, void *user);
typedef struct hr_rejection_resample_opts {
    size_t struct_size;
    const double *initial_dist; /* the proportions of the input; default: counted during the run. Copied */
    uint64_t seed;
    void (*user_free)(void *user);
    bool reject_only; /* one pass: no element comes twice, but more are rejected */
} hr_rejection_resample_opts;
HR_API hr_dataset *hr_rejection_resample_with(hr_dataset *in, hr_class_fn *class_fn, void *user,
                                              const double *target_dist, int classes,
                                              const hr_rejection_resample_opts *opts);
#define hr_rejection_resample(...)                                                                                     \
    HR_CALL5_(hr_rejection_resample_with, hr_rejection_resample_opts, __VA_ARGS__,                                     \
              .struct_size = sizeof(hr_rejection_resample_opts))

/* Packs vectors of varying length, several into each row of `length` values. A vector goes into the first open row
 * that has room for the first component; a row leaves when one more must be opened. Component NAME becomes NAME,
 * padded with zeros, NAME/segment_ids (int64, from 1, 0 is padding: which sequence of the row) and NAME/positions
 * (in it, from 0). The components of an element should be equally long; a longer one than `length` is an error. */
typedef struct hr_pack_sequences_opts {
    size_t struct_size;
    int64_t open_rows; /* default 8. More means less padding; 1 keeps the order of the input */
} hr_pack_sequences_opts;
HR_API hr_dataset *hr_pack_sequences_with(hr_dataset *in, int64_t length, const hr_pack_sequences_opts *opts);
#define hr_pack_sequences(...)                                                                                         \
    HR_CALL2_(hr_pack_sequences_with, hr_pack_sequences_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_pack_sequences_opts))

/* The parts of each element (the rows of a batch, or the first dimension of dense rows) become elements. Rows that a
 * batch has padded stay padded. */
HR_API hr_dataset *hr_unbatch(hr_dataset *in);
HR_API hr_dataset *hr_rebatch_with(hr_dataset *in, int64_t batch_size,
                                   const hr_batch_opts *opts); /* hr_unbatch, then hr_batch */
#define hr_rebatch(...) HR_CALL2_(hr_rebatch_with, hr_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_batch_opts))

HR_API hr_dataset *hr_take(hr_dataset *in, int64_t count); /* the first `count`; a negative count: all */
HR_API hr_dataset *hr_skip(hr_dataset *in, int64_t count); /* all but the first `count`; a negative count: no element */

/* Every `num_shards`-th element, beginning with number `index`. It is best near the source, for example on file
 * names, before the files are opened. */
HR_API hr_dataset *hr_shard(hr_dataset *in, int64_t num_shards, int64_t index);

/* Passes elements until `fn` returns false, then ends. `fn` is called on one thread at a time. */
HR_API hr_dataset *hr_take_while(hr_dataset *in, hr_filter_fn *fn, void *user);

/* Each value once, at its first occurrence. The elements have one scalar component of int32, int64 or string. All
 * values stay in memory. A restored pipeline reads its input again. */
HR_API hr_dataset *hr_unique(hr_dataset *in);

/* Drops what fails upstream: a single element if its work fails, or the rest of an input if an error ends the input,
 * as a damaged file does (the .policy of a source skips less). "ignored" in hr_iterator_report counts them. Rows
 * that are dropped leave no gap in a batch. Lack of memory is never ignored. */
typedef struct hr_ignore_errors_opts {
    size_t struct_size;
    hr_damage_fn *on_error; /* called for each, without its bytes; on any thread, one call at a time, in any order */
    void *user;
    bool log_warning; /* logs a line for each */
} hr_ignore_errors_opts;
HR_API hr_dataset *hr_ignore_errors_with(hr_dataset *in, const hr_ignore_errors_opts *opts);
#define hr_ignore_errors(...)                                                                                          \
    HR_CALL1_(hr_ignore_errors_with, hr_ignore_errors_opts, __VA_ARGS__, .struct_size = sizeof(hr_ignore_errors_opts))

/* All elements of `in`, then all of `other`, which has the same components. Takes both. */
HR_API hr_dataset *hr_concatenate(hr_dataset *in, hr_dataset *other);

/* Each element of `choice`, an int64 scalar, selects the dataset of `in` that gives the next element. It ends when a
 * dataset that has ended is chosen, or after the last choice. Takes all. */
typedef struct hr_choose_from_datasets_opts {
    size_t struct_size;
    bool go_on; /* a dataset that has ended is skipped: stop_on_empty_dataset=False */
} hr_choose_from_datasets_opts;
HR_API hr_dataset *hr_choose_from_datasets_with(hr_dataset *const *in, int datasets, hr_dataset *choice,
                                                const hr_choose_from_datasets_opts *opts);
#define hr_choose_from_datasets(...)                                                                                   \
    HR_CALL3_(hr_choose_from_datasets_with, hr_choose_from_datasets_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_choose_from_datasets_opts))

/* Each element as often as its weight, a scalar number in `component`, says on average: weight w gives floor(w) copies,
 * and one more with probability w - floor(w). The order stays, and nothing is stored. Weights are 0 or above. About
 * n elements come out of a total weight of S by .scale = n / S. Kinds:
 * sample_by_weight.* */
typedef struct hr_sample_by_weight_opts {
    size_t struct_size;
    double scale; /* weights are multiplied by this; default 1 */
    uint64_t seed;
    bool same_each_epoch; /* default: other draws every epoch */
} hr_sample_by_weight_opts;
HR_API hr_dataset *hr_sample_by_weight_with(hr_dataset *in, const char *component,
                                            const hr_sample_by_weight_opts *opts);
#define hr_sample_by_weight(...)                                                                                       \
    HR_CALL2_(hr_sample_by_weight_with, hr_sample_by_weight_opts, __VA_ARGS__,                                         \
              .struct_size = sizeof(hr_sample_by_weight_opts))

/* What a row gets whose key is not in the table. */
typedef enum hr_missing_key {
    HR_MISSING_ERROR,   /* it is an error, HR_NOT_FOUND */
    HR_MISSING_DEFAULT, /* .default_values */
    HR_MISSING_DROP,    /* it is left out */
} hr_missing_key;

/* Joins each row with the row of `table` that has its key: adds the table's components but the key. `key` is a scalar
 * of int32, int64 or string. The table is a dataset of any source, of single elements, each key once; it is read when
 * the join is made, and kept in memory. Takes both. May stand before or after batch, unless it drops rows. Kinds:
 * lookup_rows.*, and those of the table. */
typedef struct hr_lookup_rows_opts {
    size_t struct_size;
    const char *table_key; /* the name of the key in the table; default: the same */
    hr_missing_key missing;
    /* One for each component that is added, in their order: its values, as many as the shape has. Default: zeros,
     * empty strings, empty lists. */
    const hr_tensor *default_values;
    const char *prefix; /* before the names of the components that are added: "user/"; default: none */
    const char *found;  /* name of a bool component: whether the key was there; default: none */
    size_t max_bytes;   /* of the table in memory; more is HR_RESOURCE_EXHAUSTED; default: no limit */
} hr_lookup_rows_opts;
HR_API hr_dataset *hr_lookup_rows_with(hr_dataset *in, const char *key, hr_dataset *table,
                                       const hr_lookup_rows_opts *opts);
#define hr_lookup_rows(...)                                                                                            \
    HR_CALL3_(hr_lookup_rows_with, hr_lookup_rows_opts, __VA_ARGS__, .struct_size = sizeof(hr_lookup_rows_opts))

/* ---- strings of rows: what tf.io's functions of these names do in a map ----
 *
 * Each takes the component of this name, before batch or after it, and puts the result in its place, or, with .name,
 * beside it. A row that cannot be converted is an error of that row, with its file and record. Kinds: row_bytes.* */

typedef struct hr_row_bytes_opts {
    size_t struct_size;
    const char *name; /* of a component for the result; default: it replaces the one that is read */
    bool pad;         /* hr_encode_base64_rows: with '=' at the end; default: without */
} hr_row_bytes_opts;

/* The bytes of a string as numbers, as they lie in memory. */
typedef struct hr_decode_raw_rows_opts {
    size_t struct_size;
    const char *name;      /* as above */
    const hr_shape *shape; /* of a row; &HR_SHAPE(28, 28), or &HR_SHAPE(-1, 3). Default: one dimension, of any length */
    int64_t fixed_length;  /* bytes: longer strings are cut, shorter ones padded with zeros; default: as they are */
    bool big_endian;       /* default: little_endian=True */
} hr_decode_raw_rows_opts;
HR_API hr_dataset *hr_decode_raw_rows_with(hr_dataset *in, const char *component, hr_dtype dtype,
                                           const hr_decode_raw_rows_opts *opts);
#define hr_decode_raw_rows(...)                                                                                        \
    HR_CALL3_(hr_decode_raw_rows_with, hr_decode_raw_rows_opts, __VA_ARGS__,                                           \
              .struct_size = sizeof(hr_decode_raw_rows_opts))

/* Strings that are compressed: HR_NONE, HR_ZLIB or HR_GZIP. Streams that follow one another are one text. */
HR_API hr_dataset *hr_decode_compressed_rows_with(hr_dataset *in, const char *component, hr_compression compression,
                                                  const hr_row_bytes_opts *opts);
#define hr_decode_compressed_rows(...)                                                                                 \
    HR_CALL3_(hr_decode_compressed_rows_with, hr_row_bytes_opts, __VA_ARGS__, .struct_size = sizeof(hr_row_bytes_opts))

/* Base64 with '-' and '_' in place of '+' and '/'; what is decoded may be padded or not. */
HR_API hr_dataset *hr_encode_base64_rows_with(hr_dataset *in, const char *component, const hr_row_bytes_opts *opts);
HR_API hr_dataset *hr_decode_base64_rows_with(hr_dataset *in, const char *component, const hr_row_bytes_opts *opts);
#define hr_encode_base64_rows(...)                                                                                     \
    HR_CALL2_(hr_encode_base64_rows_with, hr_row_bytes_opts, __VA_ARGS__, .struct_size = sizeof(hr_row_bytes_opts))
#define hr_decode_base64_rows(...)                                                                                     \
    HR_CALL2_(hr_decode_base64_rows_with, hr_row_bytes_opts, __VA_ARGS__, .struct_size = sizeof(hr_row_bytes_opts))

/* A tensor out of what tf.io.serialize_tensor made: of this type and shape, whose first dimension may be -1. The other
 * way round, the bytes are TensorFlow's. */
HR_API hr_dataset *hr_parse_tensor_rows_with(hr_dataset *in, const char *component, hr_dtype dtype, hr_shape shape,
                                             const hr_row_bytes_opts *opts);
#define hr_parse_tensor_rows(...)                                                                                      \
    HR_CALL4_(hr_parse_tensor_rows_with, hr_row_bytes_opts, __VA_ARGS__, .struct_size = sizeof(hr_row_bytes_opts))
HR_API hr_dataset *hr_serialize_tensor_rows_with(hr_dataset *in, const char *component, const hr_row_bytes_opts *opts);
#define hr_serialize_tensor_rows(...)                                                                                  \
    HR_CALL2_(hr_serialize_tensor_rows_with, hr_row_bytes_opts, __VA_ARGS__, .struct_size = sizeof(hr_row_bytes_opts))

/* Each element comes from one of `in`, drawn at random. A dataset that has ended is not drawn any more, which
 * changes the mixture. Takes all. */
typedef struct hr_sample_from_datasets_opts {
    size_t struct_size;
    const double *weights;      /* one for each dataset, of any sum; default: all equal. Copied */
    bool stop_on_empty_dataset; /* ends when a dataset that has ended is drawn */
    bool exact_proportions;     /* not at random: each dataset in proportion to its weight, as evenly as possible */
    uint64_t seed;
    bool same_each_epoch; /* default: other draws every epoch (TensorFlow's rerandomize_each_iteration=True) */
    /* Instead of .weights: its next element has the weights of the next draw, a float32 or float64 for each dataset, in
     * one component or several. It ends with this dataset. Taken. */
    hr_dataset *weights_dataset;
} hr_sample_from_datasets_opts;
HR_API hr_dataset *hr_sample_from_datasets_with(hr_dataset *const *in, int datasets,
                                                const hr_sample_from_datasets_opts *opts);
#define hr_sample_from_datasets(...)                                                                                   \
    HR_CALL2_(hr_sample_from_datasets_with, hr_sample_from_datasets_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_sample_from_datasets_opts))

/* The n-th elements of all inputs side by side; ends with the shortest input. If input i has one component, it is
 * "i", otherwise its components are "i/name". Takes all. Batches can be zipped only if all inputs are batched alike:
 * batch after zip. */
HR_API hr_dataset *hr_zip(hr_dataset *const *in, int inputs);

/* Adds the number of each element as component "0"; the element itself is "1", or "1/name". */
typedef struct hr_enumerate_opts {
    size_t struct_size;
    int64_t start;
} hr_enumerate_opts;
HR_API hr_dataset *hr_enumerate_with(hr_dataset *in, const hr_enumerate_opts *opts);
#define hr_enumerate(...)                                                                                              \
    HR_CALL1_(hr_enumerate_with, hr_enumerate_opts, __VA_ARGS__, .struct_size = sizeof(hr_enumerate_opts))

/* Caches all elements: the first epoch passes them on, and each later one reads them from memory (or from .file) and
 * opens nothing upstream. So it belongs after parsing, and before shuffle and repeat:
 *     hr_repeat(hr_shuffle(hr_cache(hr_parse_example(ds, spec)), 10000), .count = HR_I64(5))
 * Within an iterator a dataset has one cache, however often it is opened: by epochs, by several branches
 * (hr_dataset_ref), by a function that gives the same dataset for many elements. The opening whose elements are needed
 * first fills the cache, and the others read what it has filled, so the input is read once. An exception is an opening
 * that is far ahead of the others, as in a zip of a dataset and a skip of it: it reads the input itself. A cache in a
 * file, or one that several openings share, is not filled ahead of its turn. A function that makes a new cache for each
 * element makes caches with separate rows. Caches of one file are one cache, and must have the same input.
 * Random operators upstream give the same elements in each epoch. If an epoch is not read to its end, the cache in
 * memory keeps what was read, and the next epoch continues from there; a cache in a file keeps nothing. The pipeline's
 * budget does not count the cached bytes: .max_bytes limits them. Errors about rows from a cache file do not name the
 * file that the rows were first read from. */
typedef struct hr_cache_opts {
    size_t struct_size;
    /* The rows are cached in this file, for later runs too; its folder is made. A file of another pipeline is an error,
     * and so is one whose source files have changed since. Default: in memory. */
    const char *file;
    size_t max_bytes; /* if it needs more: HR_RESOURCE_EXHAUSTED, "cache.limit"; default: no limit */
} hr_cache_opts;
HR_API hr_dataset *hr_cache_with(hr_dataset *in, const hr_cache_opts *opts);
#define hr_cache(...) HR_CALL1_(hr_cache_with, hr_cache_opts, __VA_ARGS__, .struct_size = sizeof(hr_cache_opts))

/* A cache in a file of `folder`. The file's name is the identity of the pipeline: operators, arguments, components.
 * So a changed pipeline has a snapshot of its own; but a change inside a user's function does not show. */
HR_API hr_dataset *hr_snapshot(hr_dataset *in, const char *folder);

/* Runs `ds` (takes it) and writes its elements to a file, which appears when it is complete. hr_load reads them in
 * this order. */
HR_API hr_status hr_save(hr_dataset *ds, const char *file, hr_error *err);
/* The elements of a file that hr_save or a cache wrote. Its components are read when the dataset is made. */
HR_API hr_dataset *hr_load(const char *file);

/* Passes all elements and asserts their number: `cardinality`, or infinite, or unknown. Another number is an error
 * (HR_FAILED_PRECONDITION) as soon as it is certain. */
HR_API hr_dataset *hr_assert_cardinality(hr_dataset *in, int64_t cardinality);

/* Adds elements of zeros, empty strings and empty rows after the last one, up to `cardinality`, and a bool component
 * that is true for the elements of `in`. Their number must be known (hr_cardinality), and `in` not batched. Kinds:
 * pad_to_cardinality.* */
typedef struct hr_pad_to_cardinality_opts {
    size_t struct_size;
    const char *mask_key; /* name of that component; default "valid" */
} hr_pad_to_cardinality_opts;
HR_API hr_dataset *hr_pad_to_cardinality_with(hr_dataset *in, int64_t cardinality,
                                              const hr_pad_to_cardinality_opts *opts);
#define hr_pad_to_cardinality(...)                                                                                     \
    HR_CALL2_(hr_pad_to_cardinality_with, hr_pad_to_cardinality_opts, __VA_ARGS__,                                     \
              .struct_size = sizeof(hr_pad_to_cardinality_opts))

/* fn(in, user): an operator that a function composes, for chains. */
typedef hr_dataset *hr_apply_fn(hr_dataset *in, void *user);
HR_API hr_dataset *hr_apply(hr_dataset *in, hr_apply_fn *fn, void *user);

/* Runs ahead of the consumer by `units` batches (HR_AUTOTUNE: the engine's choice). Every stage runs ahead in any
 * case; this sets the window of the last one. */
enum { HR_AUTOTUNE = -1 };
HR_API hr_dataset *hr_prefetch(hr_dataset *in, int64_t units);

/* Options for all operators before this one. */
typedef struct hr_options_opts {
    size_t struct_size;
    bool tf_compat; /* accept and refuse the same input as TensorFlow */
    uint64_t seed;  /* the seed of operators without one */
    /* TensorFlow's deterministic=False: elements that are ready may pass others, as with .unordered of each
     * operator. No element is lost or comes twice, but the order depends on timing. Once an element has passed
     * another one, hr_iterator_save fails (HR_FAILED_PRECONDITION, "state.unordered"). A restored run keeps order. */
    bool unordered;
} hr_options_opts;
HR_API hr_dataset *hr_options_with(hr_dataset *in, const hr_options_opts *opts);
#define hr_options(...) HR_CALL1_(hr_options_with, hr_options_opts, __VA_ARGS__, .struct_size = sizeof(hr_options_opts))

#ifdef __cplusplus
}
#endif
#endif
