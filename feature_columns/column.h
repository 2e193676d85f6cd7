/* The column kit: for those who write a kind of feature column. It has four headers. This one has the descriptor, and
 * the calls for describe and transform. <headrace/column_kernels.h> has the arithmetic of ids.
 * <headrace/column_config.h> reads columns from config files and writes them. <headrace/column_graph.h> makes them nodes
 * of a graph. The library's own kinds include these four only; a test compiles them that way.
 *
 * A column reads raw features (components of parsed rows) and other columns. It makes a batch of ids, with or without
 * weights, or of float32 values. It works on a whole batch, on any thread, and depends on nothing but its arguments.
 *
 * A kind needs at least .name and .describe. examples/hour_of_day.c is a complete one. */
#ifndef HR_COLUMN_H
#define HR_COLUMN_H

#include <headrace/feature_columns.h>

struct hr_column_graph;
struct hr_column_nodes;

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_column_builder hr_column_builder; /* what describe fills in */
typedef struct hr_column_work hr_column_work;       /* one column's work on one batch: its memory, its failing rows */

/* The version of this kit. */
enum { HR_COLUMN_ABI = 1 };

/* A batch of one raw feature, or of the results of one column. */
typedef struct hr_column_values {
    hr_dtype dtype; /* of results: HR_INT64 (ids) or HR_FLOAT */
    int64_t rows;
    const void *values;
    int64_t count;
    const int32_t *splits; /* row r has the values splits[r] .. splits[r + 1] - 1; NULL: dense, each row has `width` */
    int64_t width;
    int rank;             /* dense: rank of one row's shape; a cross refuses more than 1 */
    const int64_t *inner; /* ragged: the place of each value in its row; NULL: 0, 1, 2, ... in each row */
    int64_t dense_width;  /* ragged: last dimension of the dense shape; 0: the longest row */
    const float *weights; /* ids: one for each id; NULL: none */
    /* A sequence: row r has the steps steps[r] .. steps[r + 1] - 1; NULL: no steps. Step s has the values
     * step_splits[s] .. step_splits[s + 1] - 1; NULL: each step has `width` values. */
    const int32_t *steps, *step_splits;
    int64_t dense_steps; /* steps in the dense shape, if rows have two dimensions; 0: as many as the longest row has */
    bool dense_sequence; /* a raw dense feature with splits (HR_FIXED_LEN_SEQUENCE): each step has `width` values */
} hr_column_values;

/* ABI version and struct size, at the front of every descriptor; HR_COLUMN_HEAD fills it in. The library accepts
 * descriptors of its own abi_version and of any struct_size. Fields that a shorter one lacks are zero. A longer one is
 * refused only if it sets a field that this library does not know. */
typedef struct hr_column_head {
    uint32_t abi_version, struct_size;
} hr_column_head;
#define HR_COLUMN_HEAD                                                                                                 \
    {                                                                                                                  \
        HR_COLUMN_ABI, sizeof(hr_column_kind)                                                                          \
    }

/* The descriptor of a kind of column. */
typedef struct hr_column_kind {
    hr_column_head head; /* HR_COLUMN_HEAD */
    const char *name;    /* of the constructor (numeric_column); error messages begin with it */
    size_t spec_size;

    /* Replaces what the spec borrows by copies. spec_free frees these; it is also called after spec_copy failed. */
    hr_status (*spec_copy)(void *spec, hr_error *err);
    void (*spec_free)(void *spec);
    /* Refuses bad arguments. Sets the column's name, the features that it reads, and its properties. */
    hr_status (*describe)(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                          hr_error *err);
    /* Refuses raw features of a wrong type or layout, when the dataset is built. `in` has only the raw features, and no
     * values: rows and count are 0, `values` is NULL. `splits` is not NULL if the feature is ragged. */
    hr_status (*accept)(const void *spec, const hr_column_values *in, hr_error *err);
    /* Computes a batch. `in` has first the raw features, in the order of the calls of hr_column_read, then the results
     * of the sources. In `out` only rows is set, the rest is zero. NULL: the results are those of source 0 (as of an
     * indicator or embedding). */
    hr_status (*transform)(const void *spec, hr_column_work *w, const hr_column_values *in, hr_column_values *out,
                           hr_error *err);

    /* How config files describe such a column (<headrace/column_config.h>); NULL: they cannot. */
    const struct hr_column_config *config;

    /* The same as transform, as nodes of a graph (<headrace/column_graph.h>). In `out` nothing is set. NULL: a graph
     * cannot compute such a column, unless transform is NULL, too: then the nodes are those of source 0. */
    hr_status (*to_graph)(const void *spec, const struct hr_column_graph *g, const struct hr_column_nodes *in,
                          struct hr_column_nodes *out, hr_error *err);
} hr_column_kind;

/* Gives a column of this kind. Takes the sources; copies the spec by spec_copy. If sources have failed, gives the first
 * of these instead. If spec_copy or describe fails, the column carries the error. */
HR_API hr_feature_column *hr_feature_column_new(const hr_column_kind *kind, const void *spec,
                                                hr_feature_column *const *source, int sources);
/* Gives a column that only carries this error, for a constructor that refuses its arguments. */
HR_API hr_feature_column *hr_feature_column_failed(const hr_error *err);

/* Makes the kind known to config files, which may then use the word .config->word, as `numeric`. Borrows the descriptor
 * for the life of the process. Any thread, at any time. Kind column.registered: HR_ALREADY_EXISTS if the name or the
 * word is in use, also after a first call for the same kind; HR_INVALID_ARGUMENT if .config, or its word, keys or read,
 * is NULL; HR_RESOURCE_EXHAUSTED after 128 kinds. Kind column.kind: it was made for another version of the kit. */
HR_API hr_status hr_column_kind_register(const hr_column_kind *kind, hr_error *err);
/* True if the column's kind has this name ("numeric_column") and is the library's own or registered. */
HR_API bool hr_feature_column_is(const hr_feature_column *column, const char *name);

/* ---- for describe ---- */

/* Sets the name of the column, formatted as by printf. Every describe must call it. */
HR_API hr_status hr_column_name(hr_column_builder *out, hr_error *err, const char *format, ...) HR_PRINTF(3, 4);
/* Adds a feature that the column reads, and that a parsing spec must have. Copies. */
HR_API hr_status hr_column_read(hr_column_builder *out, const hr_feature *feature, hr_error *err);
/* The same for a feature with any number of values in a row. */
HR_API hr_status hr_column_read_var_len(hr_column_builder *out, const char *key, hr_dtype dtype, hr_error *err);
/* The column's properties, for describe to fill in. The kit itself sets kind, name, both scopes, scope_is_legal,
 * component and weights; for a column with another categorical_column also sequence. For HR_COLUMN_COUNTS and
 * HR_COLUMN_LOOKUP describe sets categorical_column, unless the column is categorical itself. */
HR_API hr_column_info *hr_column_describe(hr_column_builder *out);
HR_API void hr_column_has_weights(hr_column_builder *out); /* transform sets weights */
/* Adds an argument of the column to its digest. Columns of equal digests are equal, and are computed once in a batch.
 * Kind, name, sources and features are in the digest already. */
HR_API void hr_column_mix(hr_column_builder *out, const void *data, size_t size);

/* What a column is made of: its kind, its spec (borrowed), source `i` and the feature of read `i`. */
HR_API const hr_column_kind *hr_feature_column_kind(const hr_feature_column *column); /* NULL: the column failed */
HR_API const void *hr_feature_column_spec(const hr_feature_column *column);
HR_API hr_feature_column *hr_feature_column_source(const hr_feature_column *column, int i); /* borrows; NULL: none */
HR_API const hr_feature *hr_feature_column_read(const hr_feature_column *column, int i);    /* borrows; NULL: none */

/* Both are sound, and equal in all that a column is made of: their results are the same. */
HR_API bool hr_feature_columns_equal(const hr_feature_column *a, const hr_feature_column *b);

/* Checks that several kinds make. `what` names the column in the message. They refuse a key that is NULL or "" (kind
 * column.key), a dimension below 1 (column.shape), a source without ids (column.source), and a source with steps
 * (column.sequence). */
HR_API hr_status hr_column_check_key(const char *what, const char *key, hr_error *err);
HR_API hr_status hr_column_check_shape(const char *what, const char *key, hr_shape shape, hr_error *err);
HR_API hr_status hr_column_check_categorical(const char *what, const hr_feature_column *source, hr_error *err);
HR_API hr_status hr_column_check_no_sequence(const char *what, const hr_feature_column *source, hr_error *err);

/* ---- for transform ---- */

/* Memory for the results, for at most so many. NULL: no memory. */
HR_API int64_t *hr_column_ids(hr_column_work *w, int64_t at_most);
HR_API int32_t *hr_column_splits(hr_column_work *w);                /* rows + 1; the first is set to 0 */
HR_API float *hr_column_floats(hr_column_work *w, int64_t at_most); /* dense values, or weights of ids */
HR_API void *hr_column_scratch(hr_column_work *w, size_t bytes);    /* lives until the batch is done */
HR_API bool hr_column_tf_compat(const hr_column_work *w);
/* Reports that a row failed. transform goes on with the other rows, and must leave valid results for this one. */
HR_API void hr_column_fail_row(hr_column_work *w, int64_t row, const hr_error *err);

/* For categorical columns: gives a raw feature without its missing values, as TensorFlow defines them: "", -1 and 0.0
 * in a dense feature, none in a ragged one. `out` is ragged. */
HR_API hr_status hr_column_present(hr_column_work *w, const hr_column_values *in, hr_column_values *out, hr_error *err);
/* The row of value `i` of a batch. */
HR_API int64_t hr_column_row_of(const hr_column_values *values, int64_t i);
/* The place of value `i` in its row, which is `row`. The batch is ragged. */
static inline int64_t hr_column_place(const hr_column_values *values, int64_t row, int64_t i)
{
    return values->inner ? values->inner[i] : i - values->splits[row];
}
/* One more than the last place in the row that has a value; -1: the values are not in the order of their places. The
 * batch is ragged. */
HR_API int64_t hr_column_reach(const hr_column_values *values, int64_t row);

#ifdef __cplusplus
}
#endif
#endif
