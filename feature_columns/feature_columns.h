/* Headrace, feature columns: what each feature means to a model, and how its values become ids or float32 numbers.
 *
 *     hr_feature_column *origin = hr_categorical_column_with_vocabulary_list("origin", HR_VOCABULARY("EWR", "JFK"));
 *     hr_feature_column *hour = hr_categorical_column_with_identity("hour", 24);
 *     hr_cross_keys keys = HR_CROSS({.key = "origin"}, {.column = hr_feature_column_ref(hour)});
 *     hr_feature_column *cross = hr_crossed_column(keys, 256);
 *     hr_column_list wide = HR_COLUMNS(origin, hour, cross);
 *
 *     hr_parse_spec *spec;
 *     hr_make_parse_example_spec(wide, &spec, &err, .label = "late");
 *     ds = hr_parse_example(hr_batch(ds, 256), spec, .label = "late");
 *     ds = hr_transform_features(ds, wide);
 *
 * Names, defaults and results are TensorFlow's (tf.feature_column). Columns are immutable, counted, and may be shared
 * between threads. Constructors never return NULL: one that fails gives a column that carries the error. The calls that
 * use such a column fail with that error; hr_feature_column_error also gives it. A constructor takes the columns that a
 * column is made of; hr_feature_column_ref gives a second reference. Constructors copy strings and arrays. */
#ifndef HR_FEATURE_COLUMNS_H
#define HR_FEATURE_COLUMNS_H

#include <headrace/base.h>
#include <headrace/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TensorFlow's FeatureColumn. (An hr_column is something else: one component of rows in a pipeline.) */
typedef struct hr_feature_column hr_feature_column;

HR_API hr_feature_column *hr_feature_column_ref(hr_feature_column *column);      /* gives a second reference */
HR_API void hr_feature_column_unref(hr_feature_column *column);                  /* NULL: nothing */
HR_API const hr_error *hr_feature_column_error(const hr_feature_column *column); /* NULL: no error. Borrows */

/* Several columns, in any order: results are always in the order of their names. Borrows. */
typedef struct hr_column_list {
    hr_feature_column *const *column;
    int count;
} hr_column_list;
#define HR_COLUMNS(...)                                                                                                \
    ((hr_column_list){(hr_feature_column *const[]){__VA_ARGS__},                                                       \
                      (int)(sizeof((hr_feature_column *const[]){__VA_ARGS__}) / sizeof(hr_feature_column *))})

/* ---- numbers ---- */

/* Converts `count` raw values of type `dtype` (of the file, or as declared) to float32. Must be a pure function;
 * called from any thread. */
typedef void hr_normalizer_fn(const void *in, hr_dtype dtype, float *out, int64_t count, void *user);

typedef struct hr_numeric_column_opts {
    size_t struct_size;
    hr_shape shape;             /* of one row; default [1] */
    const float *default_value; /* for a missing feature: default_values of them; default: missing is an error */
    int64_t default_values;     /* 1 (or 0): one value for the whole shape; otherwise as many as the shape has */
    hr_dtype dtype;             /* of the feature; default HR_FLOAT */
    float mean;                 /* (x - mean) / std in float32, if std is not 0 */
    float std;
    hr_normalizer_fn *normalizer_fn; /* instead of mean, std and the options below */
    void *user;
    bool log1p;                      /* log(1 + x), before the others */
    float min, max;                  /* (x - min) / (max - min), if they differ; instead of mean and std */
    const int64_t *default_integers; /* instead of default_value, as many of them; exact above 2^24 */
} hr_numeric_column_opts;
/* Numbers cast to float32, then normalized; a normalizer_fn does the cast itself. */
HR_API hr_feature_column *hr_numeric_column_with(const char *key, const hr_numeric_column_opts *opts);
#define hr_numeric_column(...)                                                                                         \
    HR_CALL1_(hr_numeric_column_with, hr_numeric_column_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_numeric_column_opts))

/* The number of boundaries <= x, for each component of a numeric column of rank 1. Boundaries rise strictly. Takes
 * `source`. Dense (one-hot) and categorical. */
HR_API hr_feature_column *hr_bucketized_column(hr_feature_column *source, const float *boundaries, int count);

/* ---- categories ---- */

typedef struct hr_identity_column_opts {
    size_t struct_size;
    const int64_t *default_value; /* for ids out of range; default: such an id is an error */
    bool tf_compat;               /* ids out of range pass, as in TensorFlow */
} hr_identity_column_opts;
/* The feature holds ids: integers from 0 to num_buckets - 1. */
HR_API hr_feature_column *hr_categorical_column_with_identity_with(const char *key, int64_t num_buckets,
                                                                   const hr_identity_column_opts *opts);
#define hr_categorical_column_with_identity(...)                                                                       \
    HR_CALL2_(hr_categorical_column_with_identity_with, hr_identity_column_opts, __VA_ARGS__,                          \
              .struct_size = sizeof(hr_identity_column_opts))

/* The words of a vocabulary, in the order of their ids: one of the three. */
typedef struct hr_vocabulary_list {
    int64_t count;
    const char *const *strings;
    const hr_view *views; /* strings with any bytes */
    const int64_t *ints;
} hr_vocabulary_list;
#define HR_VOCABULARY(...)                                                                                             \
    ((hr_vocabulary_list){(int64_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)),                      \
                          (const char *const[]){__VA_ARGS__}, NULL, NULL})
#define HR_VOCABULARY_INTS(...)                                                                                        \
    ((hr_vocabulary_list){(int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), NULL, NULL,             \
                          (const int64_t[]){__VA_ARGS__}})

typedef struct hr_vocabulary_column_opts {
    size_t struct_size;
    hr_dtype dtype;               /* of the feature; default HR_STRING, or HR_INT64 for ints */
    const int64_t *default_value; /* id of words that are not in the vocabulary; default -1: they are ignored */
    /* Instead of default_value: words that are not in the vocabulary get one of these ids after it, by hash. */
    int64_t num_oov_buckets;
    const int64_t *vocabulary_size; /* of a file: use only the first lines, this many; default: all */
    /* The file is a TFRecord file with GZIP, one word in each record; default: one word on each line. */
    bool tfrecord_gzip;
} hr_vocabulary_column_opts;
/* The id of a word is its position in the list. */
HR_API hr_feature_column *hr_categorical_column_with_vocabulary_list_with(const char *key,
                                                                          hr_vocabulary_list vocabulary,
                                                                          const hr_vocabulary_column_opts *opts);
#define hr_categorical_column_with_vocabulary_list(...)                                                                \
    HR_CALL2_(hr_categorical_column_with_vocabulary_list_with, hr_vocabulary_column_opts, __VA_ARGS__,                 \
              .struct_size = sizeof(hr_vocabulary_column_opts))

/* The lines of a file, read when the column is made. .dtype = HR_INT64 for decimal numbers; .num_oov_buckets as
 * above. */
HR_API hr_feature_column *hr_categorical_column_with_vocabulary_file_with(const char *key, const char *file,
                                                                          const hr_vocabulary_column_opts *opts);
#define hr_categorical_column_with_vocabulary_file(...)                                                                \
    HR_CALL2_(hr_categorical_column_with_vocabulary_file_with, hr_vocabulary_column_opts, __VA_ARGS__,                 \
              .struct_size = sizeof(hr_vocabulary_column_opts))

typedef struct hr_hash_column_opts {
    size_t struct_size;
    hr_dtype dtype; /* of the feature; default HR_STRING; integers are hashed as decimal text */
} hr_hash_column_opts;
/* Fingerprint64 modulo hash_bucket_size. */
HR_API hr_feature_column *hr_categorical_column_with_hash_bucket_with(const char *key, int64_t hash_bucket_size,
                                                                      const hr_hash_column_opts *opts);
#define hr_categorical_column_with_hash_bucket(...)                                                                    \
    HR_CALL2_(hr_categorical_column_with_hash_bucket_with, hr_hash_column_opts, __VA_ARGS__,                           \
              .struct_size = sizeof(hr_hash_column_opts))

/* A key of a cross: a raw feature by its name, or the ids of a categorical column (but not of a hash bucket column). */
typedef struct hr_cross_key {
    const char *key;
    hr_feature_column *column;
} hr_cross_key;
typedef struct hr_cross_keys {
    const hr_cross_key *key;
    int count;
} hr_cross_keys;
#define HR_CROSS(...)                                                                                                  \
    ((hr_cross_keys){(const hr_cross_key[]){__VA_ARGS__},                                                              \
                     (int)(sizeof((const hr_cross_key[]){__VA_ARGS__}) / sizeof(hr_cross_key))})

typedef struct hr_crossed_column_opts {
    size_t struct_size;
    uint64_t hash_key; /* default 0xDECAFCAFFE */
    bool tf_compat;    /* floats of a raw feature are cut to integers, as in TensorFlow; default: an error */
} hr_crossed_column_opts;
/* Every combination of one value of each key, hashed into hash_bucket_size ids. Takes the columns among the keys. */
HR_API hr_feature_column *hr_crossed_column_with(hr_cross_keys keys, int64_t hash_bucket_size,
                                                 const hr_crossed_column_opts *opts);
#define hr_crossed_column(...)                                                                                         \
    HR_CALL2_(hr_crossed_column_with, hr_crossed_column_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_crossed_column_opts))

typedef struct hr_weighted_column_opts {
    size_t struct_size;
    hr_dtype dtype; /* of the weights; default HR_FLOAT */
    /* Dense weights of 0.0 are left out, and later ones move up, as in TensorFlow; default: an error. */
    bool tf_compat;
} hr_weighted_column_opts;
/* A categorical column whose ids have weights, from another feature with as many values. Takes `categorical`. */
HR_API hr_feature_column *hr_weighted_categorical_column_with(hr_feature_column *categorical,
                                                              const char *weight_feature_key,
                                                              const hr_weighted_column_opts *opts);
#define hr_weighted_categorical_column(...)                                                                            \
    HR_CALL2_(hr_weighted_categorical_column_with, hr_weighted_column_opts, __VA_ARGS__,                               \
              .struct_size = sizeof(hr_weighted_column_opts))

/* ---- sequences: rows of steps ---- */

/* The ids of `categorical` for each step. In a list of values, each value is a step; in a SequenceExample's feature
 * list, each feature is a step. In a dense sequence (HR_FIXED_LEN_SEQUENCE), "" and -1 are missing values, and a
 * batch's padding is ignored. Use it in an indicator or embedding for SequenceFeatures; a linear model combines the
 * weights of all its ids. Takes `categorical`, which must read one feature itself: a column by identity, vocabulary
 * or hash bucket. The length of a row is that of its last step with a value. */
HR_API hr_feature_column *hr_sequence_categorical_column(hr_feature_column *categorical);
#define hr_sequence_categorical_column_with_identity(...)                                                              \
    hr_sequence_categorical_column(hr_categorical_column_with_identity(__VA_ARGS__))
#define hr_sequence_categorical_column_with_vocabulary_list(...)                                                       \
    hr_sequence_categorical_column(hr_categorical_column_with_vocabulary_list(__VA_ARGS__))
#define hr_sequence_categorical_column_with_vocabulary_file(...)                                                       \
    hr_sequence_categorical_column(hr_categorical_column_with_vocabulary_file(__VA_ARGS__))
#define hr_sequence_categorical_column_with_hash_bucket(...)                                                           \
    hr_sequence_categorical_column(hr_categorical_column_with_hash_bucket(__VA_ARGS__))

typedef struct hr_sequence_numeric_column_opts {
    size_t struct_size;
    hr_shape shape;                  /* of one step; default [1] */
    double default_value;            /* for missing values of a step, and for steps that a row does not have */
    hr_dtype dtype;                  /* of the feature and of the result; default HR_FLOAT. Normalized: HR_FLOAT */
    hr_normalizer_fn *normalizer_fn; /* these as in a numeric column; default_value is not normalized */
    void *user;
    bool log1p;
    float mean, std, min, max;
} hr_sequence_numeric_column_opts;
/* Numbers for each step, from a list, a feature list, or a dense sequence with steps of this shape (or of one
 * number). Each row has its own length. For SequenceFeatures. */
HR_API hr_feature_column *hr_sequence_numeric_column_with(const char *key, const hr_sequence_numeric_column_opts *opts);
#define hr_sequence_numeric_column(...)                                                                                \
    HR_CALL1_(hr_sequence_numeric_column_with, hr_sequence_numeric_column_opts, __VA_ARGS__,                           \
              .struct_size = sizeof(hr_sequence_numeric_column_opts))

/* ---- dense forms of categories ---- */

/* The count of each id in the row (multi-hot). Takes `categorical`. */
HR_API hr_feature_column *hr_indicator_column(hr_feature_column *categorical);

typedef enum hr_combiner { HR_MEAN, HR_SUM, HR_SQRTN } hr_combiner; /* mean is an embedding's default */

/* The distribution of a table's initial values. */
typedef enum hr_table_initializer {
    HR_TABLE_TRUNCATED_NORMAL, /* mean and stddev; values beyond two stddev are drawn again */
    HR_TABLE_RANDOM_NORMAL,    /* mean and stddev */
    HR_TABLE_RANDOM_UNIFORM,   /* from minval to maxval */
    HR_TABLE_CONSTANT,         /* mean, everywhere */
} hr_table_initializer;

typedef struct hr_embedding_column_opts {
    size_t struct_size;
    hr_combiner combiner;
    const float *stddev; /* of the initializer; default 1 / sqrt(dimension) */
    float mean;          /* of the initializer */
    float max_norm;      /* rows are scaled down to this norm when they are looked up; default: they are not */
    bool not_trainable;
    /* The source of the table's initial values, both or none: a tensor of a checkpoint, or of the newest checkpoint
     * in a folder. */
    const char *ckpt_to_load_from, *tensor_name_in_ckpt;
    hr_table_initializer initializer; /* default: truncated normal */
    float minval, maxval;             /* of HR_TABLE_RANDOM_UNIFORM */
} hr_embedding_column_opts;
/* Rows of a table of weights, combined. Takes `categorical`. */
HR_API hr_feature_column *hr_embedding_column_with(hr_feature_column *categorical, int64_t dimension,
                                                   const hr_embedding_column_opts *opts);
#define hr_embedding_column(...)                                                                                       \
    HR_CALL2_(hr_embedding_column_with, hr_embedding_column_opts, __VA_ARGS__,                                         \
              .struct_size = sizeof(hr_embedding_column_opts))

typedef struct hr_shared_embeddings_opts {
    size_t struct_size;
    hr_combiner combiner; /* these as of an embedding column */
    const float *stddev;
    float mean;
    float max_norm;
    bool not_trainable;
    const char *ckpt_to_load_from, *tensor_name_in_ckpt;
    const char *shared_embedding_name; /* of the table; default: the columns' names, sorted, and "shared_embedding" */
    hr_table_initializer initializer;
    float minval, maxval;
    bool v1; /* variables as of tf.feature_column.shared_embedding_columns: NAME/embedding_weights */
} hr_shared_embeddings_opts;
/* Columns that look up rows of one table, for `count` categorical columns of one kind and with equal numbers of ids.
 * Takes these, and gives a column for each in `out`, which may be the same array. */
HR_API void hr_shared_embeddings_with(hr_feature_column *const *categorical, int count, int64_t dimension,
                                      hr_feature_column **out, const hr_shared_embeddings_opts *opts);
#define hr_shared_embeddings(...)                                                                                      \
    HR_CALL4_(hr_shared_embeddings_with, hr_shared_embeddings_opts, __VA_ARGS__,                                       \
              .struct_size = sizeof(hr_shared_embeddings_opts))

/* ---- what a column is ---- */

/* How input_layer computes a column's part of the dense layer from its component. */
typedef enum hr_column_form {
    HR_COLUMN_NOT_DENSE, /* a categorical column: wrap it in an indicator or an embedding */
    HR_COLUMN_VALUES,    /* the component is float32 [rows, width]: as it is */
    HR_COLUMN_COUNTS,    /* the component is ids: counts (or sums of weights) of each id, [rows, num_buckets] */
    HR_COLUMN_LOOKUP,    /* the component is ids: rows of a table [num_buckets, dimension], combined */
} hr_column_form;

/* The table of an embedding, for the code that makes it. */
typedef struct hr_table_info {
    int64_t dimension;
    hr_combiner combiner;
    hr_table_initializer initializer;
    float mean, stddev, minval, maxval; /* of the initial values */
    float max_norm;                     /* 0: none */
    bool trainable;
    const char *shared_name; /* NULL: a table of this column alone */
    const char *ckpt_to_load_from, *tensor_name_in_ckpt;
    bool v1; /* a shared table with TensorFlow 1's names */
    /* Names the variable: shared_name, or the column's name; invalid characters are replaced by '_'. */
    const char *scope;
} hr_table_info;

/* A column's properties, for the trainer's layers. Borrowed from the column. */
typedef struct hr_column_info {
    const char *kind; /* "numeric_column" */
    const char *name; /* "temp_bucketized". Names are sorted by their bytes */
    /* The name, with characters that a variable scope does not allow replaced by '_' (for linear weights). */
    const char *scope;
    bool scope_is_legal; /* false: the name is not a valid scope, and TensorFlow's input_layer (tf_compat) refuses it */
    bool categorical;    /* linear_model looks up weights [num_buckets, units] by ids; otherwise it multiplies the
                            dense form by weights [width, units] */
    hr_column_form dense;
    int64_t width;         /* of the dense form: product of variable_shape; 0: not dense */
    int64_t num_buckets;   /* all ids of the component are less than this; 0 for HR_COLUMN_VALUES */
    const char *component; /* of a transformed element: the ids (int64, ragged) or the values (float32, dense) */
    const char *weights;   /* component with a float32 weight for each id; NULL: none */
    const hr_feature_column *categorical_column; /* whose ids these are: of an indicator or embedding its source */
    hr_table_info table;                         /* of HR_COLUMN_LOOKUP */
    /* A sequence: the ids are ragged in two levels, rows of steps of ids; HR_COLUMN_VALUES are ragged, rows of steps
     * of `width` values. The dense form has one more dimension, [rows, steps, width]. */
    bool sequence;
    hr_dtype dtype; /* of HR_COLUMN_VALUES: HR_FLOAT, but of a sequence as declared */
    double padding; /* of HR_COLUMN_VALUES: the value of steps that a row does not have */
} hr_column_info;
/* NULL if the column failed. */
HR_API const hr_column_info *hr_feature_column_info(const hr_feature_column *column);

/* The layers that take columns: the sums of a linear model, dense forms side by side, and dense forms of sequences.
 * The HR_TF_ forms refuse names that are not valid as a variable scope, such as one with a blank, as TensorFlow
 * does. */
typedef enum hr_column_layer {
    HR_LINEAR_MODEL,
    HR_INPUT_LAYER,
    HR_SEQUENCE_FEATURES,
    HR_TF_INPUT_LAYER,
    HR_TF_SEQUENCE_FEATURES
} hr_column_layer;

/* Sorts the columns of a list by their names, as every layer needs them. Refuses an empty list, a failed column, two
 * columns of one name, or whose variables would have one name, and a sequence column in a layer that is not for
 * sequences, or the reverse. Dense layers also refuse columns without a dense form. `sorted` has space for
 * list.count columns and borrows from the list. */
HR_API hr_status hr_sort_columns(hr_column_list list, hr_column_layer layer, const hr_feature_column **sorted,
                                 hr_error *err);

/* ---- columns in a config file ---- */

/* The sections `schema:` and `columns:` of a config file (docs/config.md). The file gives each column a name. */
typedef struct hr_column_set hr_column_set;

typedef struct hr_column_set_open_opts {
    size_t struct_size;
    /* Values of the file by their paths: "columns.dest.hash_bucket=512". A value is YAML. Errors name the option. Kind:
     * config.set. */
    const char *const *set;
    int set_count;
} hr_column_set_open_opts;
/* Gives *out (hr_column_set_free); errors name the line and column of the mistake. */
HR_API hr_status hr_column_set_open_with(const char *path, const hr_column_set_open_opts *opts, hr_column_set **out,
                                         hr_error *err);
#define hr_column_set_open(path, out, ...)                                                                             \
    HR_COLUMN_SET_OPEN_(path, out, __VA_ARGS__, .struct_size = sizeof(hr_column_set_open_opts))
#define HR_COLUMN_SET_OPEN_(path, out, err, ...)                                                                       \
    hr_column_set_open_with((path), &(hr_column_set_open_opts){__VA_ARGS__}, (out), (err))
HR_API hr_status hr_column_set_parse(const char *name, const char *yaml, size_t size, hr_column_set **out,
                                     hr_error *err); /* `name` is for errors */
HR_API void hr_column_set_free(hr_column_set *set);  /* NULL: nothing */
/* All columns in the order of the file, including those that others are made of. Borrows from the set. */
HR_API hr_column_list hr_column_set_columns(const hr_column_set *set);
/* The column of that name in the file, or the first one of a mapping that makes several; NULL: there is none.
 * Borrows. */
HR_API hr_feature_column *hr_column_set_find(const hr_column_set *set, const char *name);
HR_API const hr_schema *hr_column_set_schema(const hr_column_set *set); /* the fields of the records. Borrows */

/* The text of a config file with these columns and those that they are made of: it reads back as equal columns.
 * Gives *yaml (hr_free). HR_INVALID_ARGUMENT: a file cannot describe them (a normalizer_fn, a kind that is not
 * registered). */
HR_API hr_status hr_column_set_to_yaml(const hr_column_set *set, char **yaml, hr_error *err);
HR_API hr_status hr_columns_to_yaml(hr_column_list columns, char **yaml, hr_error *err);

/* ---- from records to columns ---- */

typedef struct hr_parse_example_spec_opts {
    size_t struct_size;
    /* The types of the features in the records: a feature is parsed with this type, and the column converts it (int64
     * to float). Default: the columns' types. */
    const hr_schema *file;
    const char *label;    /* one more feature, as in classifier_parse_example_spec */
    hr_dtype label_dtype; /* default: that of `file`, or HR_INT64 */
    const float *label_default;
    int64_t label_dimension;   /* values of a label; default 1 */
    const char *weight_column; /* one more feature, a float for each row, which no column reads; default: none */
} hr_parse_example_spec_opts;
/* The spec of hr_parse_example for these columns. Gives *spec (hr_parse_spec_free). */
HR_API hr_status hr_make_parse_example_spec_with(hr_column_list columns, hr_parse_spec **spec, hr_error *err,
                                                 const hr_parse_example_spec_opts *opts);
#define hr_make_parse_example_spec(...)                                                                                \
    HR_CALL3_(hr_make_parse_example_spec_with, hr_parse_example_spec_opts, __VA_ARGS__,                                \
              .struct_size = sizeof(hr_parse_example_spec_opts))
/* The same for a classifier, whose label is int64 by default, and for a regressor, whose label is float. */
HR_API hr_status hr_classifier_parse_example_spec_with(hr_column_list columns, const char *label_key,
                                                       hr_parse_spec **spec, hr_error *err,
                                                       const hr_parse_example_spec_opts *opts);
HR_API hr_status hr_regressor_parse_example_spec_with(hr_column_list columns, const char *label_key,
                                                      hr_parse_spec **spec, hr_error *err,
                                                      const hr_parse_example_spec_opts *opts);
#define hr_classifier_parse_example_spec(...)                                                                          \
    HR_CALL4_(hr_classifier_parse_example_spec_with, hr_parse_example_spec_opts, __VA_ARGS__,                          \
              .struct_size = sizeof(hr_parse_example_spec_opts))
#define hr_regressor_parse_example_spec(...)                                                                           \
    HR_CALL4_(hr_regressor_parse_example_spec_with, hr_parse_example_spec_opts, __VA_ARGS__,                           \
              .struct_size = sizeof(hr_parse_example_spec_opts))
HR_API void hr_parse_spec_free(hr_parse_spec *spec); /* NULL: nothing */

typedef struct hr_transform_features_opts {
    size_t struct_size;
    const char *keep; /* components to pass on besides the labels, separated by '\n'; default: none */
    bool tf_compat;   /* of all columns */
} hr_transform_features_opts;
/* Turns parsed features into the components of the columns: the `component` (and `weights`) of each column's
 * hr_column_info, each once, in the order of their names; then the labels. Takes `in`, shares the columns. */
HR_API hr_dataset *hr_transform_features_with(hr_dataset *in, hr_column_list columns,
                                              const hr_transform_features_opts *opts);
#define hr_transform_features(...)                                                                                     \
    HR_CALL2_(hr_transform_features_with, hr_transform_features_opts, __VA_ARGS__,                                     \
              .struct_size = sizeof(hr_transform_features_opts))

/* ---- the arithmetic of embeddings, the same for graphs and for serving without one ---- */

/* Looks up and combines table rows (row-major, buckets x dimension) for each of `rows` rows of ids: the forward pass
 * of safe_embedding_lookup_sparse, in TensorFlow's order of summation. Ids < 0 are ignored, and so are weights <= 0
 * unless `combiner` is HR_SUM. A row without ids gives zeros. An id >= buckets is HR_INVALID_ARGUMENT. */
typedef struct hr_lookup {
    const float *table;
    int64_t buckets, dimension;
    hr_combiner combiner;
    float max_norm; /* 0: none */
    int64_t stride; /* floats from one row of `out` to the next, for a part of a wider matrix; 0: dimension */
} hr_lookup;
HR_API hr_status hr_combine_rows(const hr_lookup *lookup, const int64_t *ids, const float *weights,
                                 const int32_t *splits, int64_t rows, float *out, hr_error *err);
/* Adds 1 (or the weight) for each id of each row; ids outside 0 .. buckets - 1 are ignored. Zeroes `out` first: rows
 * x buckets, with rows `stride` floats apart. */
HR_API void hr_count_ids(const int64_t *ids, const float *weights, const int32_t *splits, int64_t rows, int64_t buckets,
                         float *out, int64_t stride);

/* The number of floats of a row of all these columns, as hr_sort_columns gives them for HR_INPUT_LAYER. */
HR_API int64_t hr_dense_width(const hr_feature_column *const *sorted, int count);
/* input_layer without a graph: writes the dense forms of these columns side by side, hr_dense_width floats for each
 * row. `batch` comes from hr_transform_features for these columns. tables[i]: the rows of an embedding's table
 * (num_buckets x dimension); NULL for other columns. HR_INVALID_ARGUMENT: the batch lacks a component of a column,
 * an embedding has no table, or an id is out of its range. */
HR_API hr_status hr_dense_features(const hr_feature_column *const *sorted, int count, const hr_element *batch,
                                   const float *const *tables, float *out, hr_error *err);

/* The lengths of sequences whose columns have the steps steps[c], rows + 1 entries each. HR_INVALID_ARGUMENT: the
 * columns `name` have different lengths in a row. */
HR_API hr_status hr_sequence_lengths(const int32_t *const *steps, const char *const *name, int columns, int64_t rows,
                                     int64_t *lengths, hr_error *err);
/* Steps of `size` bytes each, as [rows, max_steps, size]: the steps of each row, then `padding` (one step) up to
 * `max_steps`. */
HR_API void hr_pad_sequence(const void *values, size_t size, const int32_t *steps, int64_t rows, int64_t max_steps,
                            const void *padding, void *out);

#ifdef __cplusplus
}
#endif
#endif
