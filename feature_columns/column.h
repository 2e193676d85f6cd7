/* The column kit: what a kind of feature column is made of. It has three headers: this one is the descriptor and what
 * describe and transform call; <headrace/column_kernels.h> is the arithmetic of ids; <headrace/column_config.h> reads a
 * column from a config file and writes it into one. The library's own kinds are made of these and nothing else, and a
 * test compiles them that way.
 *
 * A column reads raw features (components of parsed rows) and other columns, and makes a batch of ids, with or without
 * weights, or of float32 values. It works on whole batches, on any thread, from its arguments alone.
 *
 * A smallest kind has .name and .describe. examples/hour_of_day.c is a whole one. */
#ifndef HR_COLUMN_H
#define HR_COLUMN_H

#include <headrace/feature_columns.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_column_builder hr_column_builder; /* what describe fills in */
typedef struct hr_column_work hr_column_work;       /* one column's work on one batch: memory, and failing rows */

/* The version of this kit. */
enum { HR_COLUMN_ABI = 1 };

/* A batch of one raw feature, or of one column's results. */
typedef struct hr_column_values {
    hr_dtype dtype; /* of results: HR_INT64 (ids) or HR_FLOAT */
    int64_t rows;
    const void *values;
    int64_t count;
    const int32_t *splits; /* row r has the values splits[r] .. splits[r + 1] - 1; NULL: dense, `width` a row */
    int64_t width;
    int rank;             /* dense: of one row's shape; a cross takes no more than 1 */
    const int64_t *inner; /* ragged: the place of each value in its row; NULL: 0, 1, 2, ... */
    int64_t dense_width;  /* ragged: last dimension of the dense shape; 0: the longest row */
    const float *weights; /* ids: one each; NULL: none */
    /* A sequence: row r has the steps steps[r] .. steps[r + 1] - 1; NULL: no steps. Step s has the values
     * step_splits[s] .. step_splits[s + 1] - 1; NULL: `width` values a step. */
    const int32_t *steps, *step_splits;
    int64_t dense_steps; /* the dense shape's number of steps, if rows have two dimensions; 0: the longest row's */
    bool dense_sequence; /* a raw feature with splits that is dense: rows of any number of steps, `width` values each */
} hr_column_values;

/* Begins every descriptor. Filled in by HR_COLUMN_HEAD. The library takes a descriptor of the same abi_version and of
 * any struct_size: fields that a shorter one lacks are zero; a longer one is refused only if it sets a field that this
 * library does not know. */
typedef struct hr_column_head {
    uint32_t abi_version, struct_size;
} hr_column_head;
#define HR_COLUMN_HEAD                                                                                                 \
    {                                                                                                                  \
        HR_COLUMN_ABI, sizeof(hr_column_kind)                                                                          \
    }

/* A kind of column: what it is called, what it reads, what it makes. */
typedef struct hr_column_kind {
    hr_column_head head; /* HR_COLUMN_HEAD */
    const char *name;    /* TensorFlow's constructor: begins error messages */
    size_t spec_size;

    /* Replaces what the spec borrows by copies of its own; undone by spec_free, also after a failure half way. */
    hr_status (*spec_copy)(void *spec, hr_error *err);
    void (*spec_free)(void *spec);
    /* Refuses bad arguments, and says the column's name, what it reads, and what it is. */
    hr_status (*describe)(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                          hr_error *err);
    /* Refuses raw features of a wrong type or layout, before any data. `in` as for transform; of raw features rows,
     * values and count are 0 and NULL, `splits` is not NULL where they are ragged, and sources' are left out. */
    hr_status (*accept)(const void *spec, const hr_column_values *in, hr_error *err);
    /* `in`: first the raw features, in the order of hr_column_read, then the sources' results. `out` comes with rows
     * set, the rest zeroed. NULL: the results are those of source 0 (indicator, embedding). */
    hr_status (*transform)(const void *spec, hr_column_work *w, const hr_column_values *in, hr_column_values *out,
                           hr_error *err);

    /* How a config file says such a column (<headrace/column_config.h>); NULL: it cannot. */
    const struct hr_column_config *config;
} hr_column_kind;

/* Gives a column of this kind. Takes the sources. The first failed source passes through; what describe says sticks. */
HR_API hr_feature_column *hr_feature_column_new(const hr_column_kind *kind, const void *spec,
                                                hr_feature_column *const *source, int sources);
/* Gives a column that carries this error and nothing else: for a constructor that refuses its arguments. */
HR_API hr_feature_column *hr_feature_column_failed(const hr_error *err);

/* From now on config files may say columns of this kind: its .config->word is a word like `numeric`. The descriptor is
 * borrowed for the life of the process. Any thread, at any time. Kind column.registered: HR_ALREADY_EXISTS for a name
 * or word that is taken, by a second call for the same kind, too, HR_INVALID_ARGUMENT without a whole .config,
 * HR_RESOURCE_EXHAUSTED after 128 of them. Kind column.kind: it was made for another version of the kit. */
HR_API hr_status hr_column_kind_register(const hr_column_kind *kind, hr_error *err);
/* True if the column is of the library's kind, or of the registered one, of this name ("numeric_column"). */
HR_API bool hr_feature_column_is(const hr_feature_column *column, const char *name);

/* ---- for describe ---- */

/* Sets the name of the column, as printf does. Every kind must call it. */
HR_API hr_status hr_column_name(hr_column_builder *out, hr_error *err, const char *format, ...) HR_PRINTF(3, 4);
/* One more feature to parse and read. Copies. */
HR_API hr_status hr_column_read(hr_column_builder *out, const hr_feature *feature, hr_error *err);
/* The same for a feature with any number of values in a row. */
HR_API hr_status hr_column_read_var_len(hr_column_builder *out, const char *key, hr_dtype dtype, hr_error *err);
/* To fill in: kind, name, scope, component, weights and, of what is made of ids, sequence are set by the kit.
 * HR_COLUMN_COUNTS and HR_COLUMN_LOOKUP name the categorical_column. */
HR_API hr_column_info *hr_column_describe(hr_column_builder *out);
HR_API void hr_column_has_weights(hr_column_builder *out);
/* What tells this column from another of its kind and name. Equal columns of several lists are computed once. */
HR_API void hr_column_mix(hr_column_builder *out, const void *data, size_t size);

/* What a column is made of: its kind, its spec (borrowed), the columns and the features that it reads. */
HR_API const hr_column_kind *hr_feature_column_kind(const hr_feature_column *column); /* NULL: it failed */
HR_API const void *hr_feature_column_spec(const hr_feature_column *column);
HR_API hr_feature_column *hr_feature_column_source(const hr_feature_column *column, int i); /* borrows; NULL: none */
HR_API const hr_feature *hr_feature_column_read(const hr_feature_column *column, int i);    /* borrows; NULL: none */

/* What several kinds refuse. `what` names the column in the error. A key that is NULL or "": column.key; a dimension
 * below 1: column.shape; a source without ids: column.source; one with steps: column.sequence. */
HR_API hr_status hr_column_check_key(const char *what, const char *key, hr_error *err);
HR_API hr_status hr_column_check_shape(const char *what, const char *key, hr_shape shape, hr_error *err);
HR_API hr_status hr_column_check_categorical(const char *what, const hr_feature_column *source, hr_error *err);
HR_API hr_status hr_column_check_no_sequence(const char *what, const hr_feature_column *source, hr_error *err);

/* ---- for transform ---- */

/* Memory for the results. NULL: none left. */
HR_API int64_t *hr_column_ids(hr_column_work *w, int64_t at_most);
HR_API int32_t *hr_column_splits(hr_column_work *w);                /* rows + 1, the first is 0 */
HR_API float *hr_column_floats(hr_column_work *w, int64_t at_most); /* the dense values, or the ids' weights */
HR_API void *hr_column_scratch(hr_column_work *w, size_t bytes);    /* until all columns of the batch are done */
HR_API bool hr_column_tf_compat(const hr_column_work *w);
/* This row is wrong; continue with the others, and leave something harmless in its place. */
HR_API void hr_column_fail_row(hr_column_work *w, int64_t row, const hr_error *err);

/* Categorical columns: the raw feature without its missing values, as TensorFlow leaves them out: "", -1 and 0.0 of a
 * dense feature, nothing of a ragged one. `out` is ragged. */
HR_API hr_status hr_column_present(hr_column_work *w, const hr_column_values *in, hr_column_values *out, hr_error *err);
/* The row of value `i` of a ragged batch. */
HR_API int64_t hr_column_row_of(const hr_column_values *values, int64_t i);
/* The place of value `i`, which is one of row `row`, in its row. */
static inline int64_t hr_column_place(const hr_column_values *values, int64_t row, int64_t i)
{
    return values->inner ? values->inner[i] : i - values->splits[row];
}
/* One more than the last place of a row that has a value; -1: its values are not in the order of their places. */
HR_API int64_t hr_column_reach(const hr_column_values *values, int64_t row);

#ifdef __cplusplus
}
#endif
#endif
