/* The column kit: what a kind of feature column is made of. The library's own kinds and those from outside use this
 * header and nothing else.
 *
 * A column reads raw features (components of parsed rows) and other columns, and makes a batch of ids, with or without
 * weights, or of float32 values. It works on whole batches, on any thread, from its arguments alone. */
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

/* Begins every descriptor, so that older and newer kinds load. Filled in by HR_COLUMN_HEAD. */
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
} hr_column_kind;

/* Gives a column of this kind. Takes the sources. The first failed source passes through; what describe says sticks. */
HR_API hr_feature_column *hr_feature_column_new(const hr_column_kind *kind, const void *spec,
                                                hr_feature_column *const *source, int sources);

/* ---- for describe ---- */

/* Sets the name of the column, as printf does. Every kind must call it. */
HR_API hr_status hr_column_name(hr_column_builder *out, hr_error *err, const char *format, ...) HR_PRINTF(3, 4);
/* One more feature to parse and read. Copies. */
HR_API hr_status hr_column_read(hr_column_builder *out, const hr_feature *feature, hr_error *err);
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

/* ---- for transform ---- */

/* Memory for the results. NULL: none left. */
HR_API int64_t *hr_column_ids(hr_column_work *w, int64_t at_most);
HR_API int32_t *hr_column_splits(hr_column_work *w);                /* rows + 1, the first is 0 */
HR_API float *hr_column_floats(hr_column_work *w, int64_t at_most); /* the dense values, or the ids' weights */
HR_API void *hr_column_scratch(hr_column_work *w, size_t bytes);    /* until all columns of the batch are done */
HR_API bool hr_column_tf_compat(const hr_column_work *w);
/* This row is wrong; go on with the others, and leave something harmless in its place. */
HR_API void hr_column_fail_row(hr_column_work *w, int64_t row, const hr_error *err);

/* Categorical columns: the raw feature without its missing values, as TensorFlow leaves them out: "", -1 and 0.0 of a
 * dense feature, nothing of a ragged one. `out` is ragged. */
HR_API hr_status hr_column_present(hr_column_work *w, const hr_column_values *in, hr_column_values *out, hr_error *err);
/* The row of value `i` of a ragged batch. */
HR_API int64_t hr_column_row_of(const hr_column_values *values, int64_t i);

#ifdef __cplusplus
}
#endif
#endif
