/* Headrace, pipelines: parsing tf.Example and tf.SequenceExample. Part of data.h. */
#ifndef HR_PARSING_H
#define HR_PARSING_H

#include <headrace/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of the values of a feature. */
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

/* One level of a ragged feature. */
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
    /* int64 in the file may become any other type of integer or bool (if it fits, else the row fails), float or double
     * (rounded), and float double. */
    bool widen;
    bool required;                  /* HR_FIXED_LEN_SEQUENCE: refused, as TensorFlow refuses allow_missing=False */
    const char *const *index_keys;  /* HR_SPARSE_FEATURE: one for each dimension of the shape */
    bool already_sorted;            /* HR_SPARSE_FEATURE: leave the order of the values alone */
    const hr_partition *partitions; /* HR_RAGGED_FEATURE: outermost first */
    int partition_count;
    bool validate; /* HR_RAGGED_FEATURE, batches in tf_compat: check the partitions, which is always done otherwise */
} hr_feature;

/* What is parsed: the features, in the order of the components. Borrows. */
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

/* Rows from another library's memory, by Arrow's C data interface (arrow.h has its structs): a struct array, whose
 * children are the components; those of a struct among them are called NAME/CHILD. Numbers, booleans and strings (of
 * all layouts) come as they are, dates, times and durations as integers of their unit, lists of all these ragged, lists
 * of a fixed size dense; of a dictionary the values that its codes stand for. Takes what both structs hold, as a move
 * does: they are released with the dataset, or at once if it fails. Values are copied a batch at a time.
 *
 * With a spec, for example that of hr_make_parse_example_spec, the components are what hr_parse_example would give for
 * it (all kinds but HR_SPARSE_FEATURE, and HR_RAGGED_FEATURE with partitions), so that hr_transform_features goes on
 * with them: a null is a missing feature, integers and booleans become any integers (if they fit), float or double,
 * float becomes double and the reverse (rounded). Without one a null is an empty list, and elsewhere an error of its
 * row. */
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

/* The same of a stream of such arrays. Takes what the struct holds. The arrays are asked for one by one, on one thread
 * at a time, and each is released as soon as its rows are copied. A stream can be read once: for another epoch, another
 * iterator, or a restore while this one was read from, .open gives it again, from its front. */
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
    /* As TensorFlow's parser does, in what it refuses and in what it lets pass. Still an error are what a column cannot
     * hold or a reader would stumble over: partitions of a batch that lead out of its values, those of one record or of
     * feature lists that do not fit their own, and in sparse places of several dimensions an index outside of the shape
     * that is not the first. */
    bool tf_compat;
    /* Of records that do not parse: their rows are left out, of a batch, too, which is short then; HR_RESYNC is as
     * HR_SKIP. A budget ends the pipeline as soon as all threads together have seen more: which rows came before then
     * depends on their timing. */
    hr_policy policy;
    bool unordered; /* as of hr_map */
} hr_parse_example_opts;

/* Parses each string as a tf.Example into the features' components. Before batch or after: the cost is the same. Copies
 * the spec. The components are the spec's features, in its order. */
HR_API hr_dataset *hr_parse_example_with(hr_dataset *in, const hr_parse_spec *spec, const hr_parse_example_opts *opts);
#define hr_parse_example(...)                                                                                          \
    HR_CALL2_(hr_parse_example_with, hr_parse_example_opts, __VA_ARGS__, .struct_size = sizeof(hr_parse_example_opts))
/* TensorFlow's name for it before a batch. It is the same: a batch that follows is made first. */
#define hr_parse_single_example(...) hr_parse_example(__VA_ARGS__)

/* Parses each string as a tf.SequenceExample: its context by one spec (HR_FIXED_LEN, HR_VAR_LEN, HR_RAGGED_FEATURE),
 * its feature lists by another (HR_FIXED_LEN_SEQUENCE, HR_VAR_LEN, HR_RAGGED_FEATURE); NULL: none of them. A list adds
 * a dimension to a feature: its rows. A sequence has also a component NAME/lengths, the number of them (int64); with
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
