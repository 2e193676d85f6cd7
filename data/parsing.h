/* Headrace, pipelines: parsing tf.Example and tf.SequenceExample. Part of data.h. */
#ifndef HR_PARSING_H
#define HR_PARSING_H

#include <headrace/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What component a feature becomes. */
typedef enum hr_feature_kind {
    HR_FIXED_LEN,          /* exactly as many values as .shape has: a dense component */
    HR_FIXED_LEN_SEQUENCE, /* any number of steps of .shape: dense, padded to the longest row of a batch */
    HR_VAR_LEN,            /* any number of values: a sparse component */
    HR_RAGGED_FEATURE,     /* any number of values: a ragged component, divided further by .partitions */
    HR_SPARSE_FEATURE,     /* values under .key, their indices under .index_keys: a sparse component of .shape */
} hr_feature_kind;

/* How a level of a ragged feature is divided into rows, as in tf.RaggedTensor: by the int64 list under `key`. What is
 * divided are the values, or for an outer level the rows of the level inside it. */
typedef enum hr_partition_kind {
    HR_ROW_SPLITS,         /* where each row begins, and after the last one the number of values */
    HR_ROW_LENGTHS,        /* how many values each row has */
    HR_ROW_STARTS,         /* where each row begins */
    HR_ROW_LIMITS,         /* where each row ends */
    HR_VALUE_ROWIDS,       /* for each value, the number of its row */
    HR_UNIFORM_ROW_LENGTH, /* every row has `length` values; no key */
} hr_partition_kind;

/* One level of a ragged feature. */
typedef struct hr_partition {
    hr_partition_kind kind;
    const char *key;
    int64_t length;
} hr_partition;

/* One feature of a parsing spec, as tf.io.FixedLenFeature and the like. */
typedef struct hr_feature {
    const char *key; /* in the Example */
    hr_feature_kind kind;
    hr_dtype dtype;
    /* HR_FIXED_LEN, HR_SPARSE_FEATURE: of one row. HR_FIXED_LEN_SEQUENCE: of one step. */
    hr_shape shape;
    /* HR_FIXED_LEN: the values of a row without the feature, as many as the shape has; NULL: such a row is an error.
     * HR_FIXED_LEN_SEQUENCE of a tf.Example: the one value that pads the rows of a batch; NULL: zero, or "". */
    const hr_tensor *default_value;
    const char *name; /* of the component; NULL: the key */
    /* The values are converted to `dtype`: int64 to any other integer type or bool (a value that does not fit fails its
     * row), int64 to float or double (rounded), float to double. Default: another type than that of the file is an
     * error. Not with tf_compat. */
    bool widen;
    bool required;                  /* HR_FIXED_LEN_SEQUENCE of feature lists: a row without the list is an error. Of a
                                     * tf.Example: refused, as TensorFlow refuses allow_missing=False */
    const char *const *index_keys;  /* HR_SPARSE_FEATURE: int64 lists, one for each dimension of .shape */
    bool already_sorted;            /* HR_SPARSE_FEATURE: keeps the order of the values; default: sorts them by index */
    const hr_partition *partitions; /* HR_RAGGED_FEATURE: outermost first */
    int partition_count;
    /* HR_RAGGED_FEATURE of batches with tf_compat: checks the partitions. Without tf_compat they are always checked. */
    bool validate;
} hr_feature;

/* The features to parse, in the order of the components. Borrows. */
typedef struct hr_parse_spec {
    const hr_feature *feature;
    int features;
} hr_parse_spec;
/* A spec written in place:
 *     hr_parse_example(ds, HR_PARSE_SPEC({.key = "age", .dtype = HR_INT64},
 *                                        {.key = "words", .kind = HR_VAR_LEN, .dtype = HR_STRING}))
 * The compound literals live to the end of the enclosing block. */
#define HR_PARSE_SPEC(...)                                                                                             \
    (&(hr_parse_spec){(const hr_feature[]){__VA_ARGS__}, sizeof((hr_feature[]){__VA_ARGS__}) / sizeof(hr_feature)})

/* Rows from another library's memory, by Arrow's C data interface (arrow.h has its structs). The array is a struct
 * array, and its children are the components. The children of a struct among them are called NAME/CHILD. Types:
 * - Numbers, booleans and strings in any of Arrow's layouts: unchanged.
 * - Dates, times and durations: integers, in the unit of the type.
 * - A list: a ragged component. A list of fixed size: a dense one.
 * - A dictionary: its values, not the codes.
 * Takes what both structs hold and sets their `release` to NULL, as a move does. It is released with the dataset, or at
 * once if the dataset fails. Values are copied as rows are read.
 *
 * With a spec, for example that of hr_make_parse_example_spec, the components are those that hr_parse_example gives for
 * it, so that hr_transform_features may follow. HR_SPARSE_FEATURE and HR_RAGGED_FEATURE with partitions are refused. A
 * null is a missing feature. Integers and booleans are converted to any integer type or bool (a value that does not fit
 * fails its row), to float or to double; float and double to each other (rounded). Without a spec a null in place of a
 * list is an empty list; any other null fails its row. */
struct ArrowArray;
struct ArrowSchema;
struct ArrowArrayStream;
typedef struct hr_from_arrow_opts {
    size_t struct_size;
    const hr_parse_spec *spec; /* default: every child as it is. Copied */
    const char *label;         /* the component that is the label */
} hr_from_arrow_opts;
HR_API hr_dataset *hr_from_arrow_with(struct ArrowArray *array, struct ArrowSchema *schema,
                                      const hr_from_arrow_opts *opts);
#define hr_from_arrow(...)                                                                                             \
    HR_CALL2_(hr_from_arrow_with, hr_from_arrow_opts, __VA_ARGS__, .struct_size = sizeof(hr_from_arrow_opts))

/* The same for a stream of such arrays. Takes what the struct holds, and sets its `release` to NULL. The arrays are
 * requested one by one, on one thread at a time; each is released when all of its rows are copied. A stream can be read
 * only once. For another epoch, another iterator, or a restore after the stream was opened, .open must open it again,
 * from its beginning and with the same schema. Without .open these fail (kind source.once). */
typedef int hr_arrow_stream_fn(struct ArrowArrayStream *out, void *user); /* 0, or an errno */
typedef struct hr_from_arrow_stream_opts {
    size_t struct_size;
    const hr_parse_spec *spec; /* this and label: as in hr_from_arrow */
    const char *label;
    /* Default: the stream is read only once. Called on any thread, one call at a time for each iterator. */
    hr_arrow_stream_fn *open;
    void *user;
    void (*user_free)(void *user); /* called when the dataset is freed */
} hr_from_arrow_stream_opts;
HR_API hr_dataset *hr_from_arrow_stream_with(struct ArrowArrayStream *stream, const hr_from_arrow_stream_opts *opts);
#define hr_from_arrow_stream(...)                                                                                      \
    HR_CALL1_(hr_from_arrow_stream_with, hr_from_arrow_stream_opts, __VA_ARGS__,                                       \
              .struct_size = sizeof(hr_from_arrow_stream_opts))

typedef struct hr_parse_example_opts {
    size_t struct_size;
    const char *label;  /* the component that is the label */
    const char *source; /* the string component that is parsed; default: the only one */
    /* Refuses and accepts what TensorFlow's parser does. These remain errors, since a column cannot hold them:
     * - partitions of a batch that point outside of its values; partitions of a single record, or of feature lists,
     *   that do not fit the values of their own record;
     * - indices of a sparse feature of several dimensions that are negative, or outside of the shape in another
     *   dimension than the first. */
    bool tf_compat;
    /* For records that do not parse. Unless it is HR_FAIL, their rows are left out; a batch is then shorter, and one
     * without rows is dropped. HR_RESYNC is the same as HR_SKIP. The error budget counts the records of all threads
     * together: once it is exceeded the pipeline fails, after a number of rows that depends on the threads' timing. */
    hr_policy policy;
    bool unordered; /* as in hr_map */
} hr_parse_example_opts;

/* Parses each string as a tf.Example. The components are the features of the spec, in its order. May stand before or
 * after batch; the speed is the same. Takes `in`, copies the spec. */
HR_API hr_dataset *hr_parse_example_with(hr_dataset *in, const hr_parse_spec *spec, const hr_parse_example_opts *opts);
#define hr_parse_example(...)                                                                                          \
    HR_CALL2_(hr_parse_example_with, hr_parse_example_opts, __VA_ARGS__, .struct_size = sizeof(hr_parse_example_opts))
/* TensorFlow's name for it before a batch. hr_parse_example does the same there. */
#define hr_parse_single_example(...) hr_parse_example(__VA_ARGS__)

/* Parses each string as a tf.SequenceExample. Its context is parsed by one spec (HR_FIXED_LEN, HR_VAR_LEN,
 * HR_RAGGED_FEATURE), its feature lists by another (HR_FIXED_LEN_SEQUENCE, HR_VAR_LEN, HR_RAGGED_FEATURE). Either may
 * be NULL. The features of a list are steps, and its component has one more dimension, for these. For each
 * HR_FIXED_LEN_SEQUENCE there is also a component NAME/lengths (int64): how many steps each row has. The components are
 * those of the context, those of the lists, then the lengths. Takes `in`, copies the specs. */
HR_API hr_dataset *hr_parse_sequence_example_with(hr_dataset *in, const hr_parse_spec *context,
                                                  const hr_parse_spec *lists, const hr_parse_example_opts *opts);
#define hr_parse_sequence_example(...)                                                                                 \
    HR_CALL3_(hr_parse_sequence_example_with, hr_parse_example_opts, __VA_ARGS__,                                      \
              .struct_size = sizeof(hr_parse_example_opts))

#ifdef __cplusplus
}
#endif
#endif
