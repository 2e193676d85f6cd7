/* What flows through a pipeline: rows, stored by column. Part of the operator and column kits: an operator from outside
 * sees exactly this. */
#ifndef HR_COLUMNS_H
#define HR_COLUMNS_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One component of an element: a line of tf.data's element_spec. */
typedef struct hr_field {
    const char *name; /* unnamed components are "0", "1", nested ones "0/1", a lone one "value" */
    hr_dtype dtype;
    hr_layout layout;
    hr_shape shape; /* of one row; -1 where it varies */
    bool label;     /* part of what a trainer takes as the label of (features, label) */
    /* HR_DENSE with a first dimension that varies: one value, which fills rows up to the longest of their batch; NULL:
     * the rows of a batch must be equally long. Lives as long as the dataset. */
    const void *pad;
} hr_field;

/* A batch changes `levels` and no field, so that it may change places with an operator that goes row by row. */
typedef struct hr_schema {
    int levels; /* batches on top of each other: the leading dimensions of an element, before its rows' shape */
    int fields;
    const hr_field *field;
} hr_schema;

/* The most batches on top of each other. */
enum { HR_MAX_LEVELS = 4 };

/* One component of every row. */
typedef struct hr_column {
    /* HR_DENSE: rows x (values of a row), row-major. Otherwise, and where a dimension varies, `count` values. Strings
     * are hr_view; 64 bytes after each string may be read. */
    void *values;
    int64_t count;
    /* Not HR_DENSE: row r has the values splits[0][r] .. splits[0][r + 1] - 1; further levels follow inwards. Columns
     * may share their splits: write into none that you did not make. */
    int32_t *splits[HR_MAX_RAGGED];
    /* HR_SPARSE: the place of each value in its row; NULL: 0, 1, 2, ... dense_width is the last dimension of the dense
     * shape; 0: the longest row of the batch. */
    int64_t *inner;
    int64_t dense_width;
    /* A bit a row, NULL: all present. Only between a text source and the filling in of defaults. */
    uint64_t *present;
} hr_column;

/* The record number of a row that was not read from a file of records. */
enum { HR_NO_RECORD = -1 };

/* Where a row was read. */
typedef struct hr_origin {
    int32_t file;    /* a number within the iterator; -1: none */
    uint32_t record; /* its number in the file, from 0; UINT32_MAX: not known, or beyond what this holds */
    int64_t offset;
} hr_origin;

/* `record` may be HR_NO_RECORD. */
static inline hr_origin hr_origin_of(int32_t file, int64_t record, int64_t offset)
{
    const bool known = record >= 0 && record < (int64_t)UINT32_MAX;
    const hr_origin origin = {file, known ? (uint32_t)record : UINT32_MAX, offset};
    return origin;
}

/* A unit of rows. It owns, or holds references to, all memory that it points to, and lives as long as somebody holds a
 * span of it.
 *
 * Elements and rows differ after a batch: an element is then a run of rows, and `levels` levels of splits say which
 * rows belong together. So batch moves no byte, unbatch drops splits[0], and what goes row by row (parse, cast,
 * feature columns) never looks at them: map-then-batch costs what batch-then-map costs. */
typedef struct hr_columns {
    const hr_schema *schema; /* its levels are those of the finished chain; `levels` below counts those that lie here */
    int64_t elements;
    int64_t rows; /* the leading dimension of every column */
    int levels;
    int32_t *splits[HR_MAX_LEVELS]; /* splits[0]: elements + 1 entries into the next level, the last one's into rows */
    hr_column *column;              /* schema->fields of them */
    hr_origin *origin;              /* one a row; NULL: no file was read */
    int64_t *number;                /* one a row, as planned: what hr_row_key draws by; NULL: no operator asks */
} hr_columns;

/* The rows of element e are those from hr_first_row(c, e) up to, not including, hr_first_row(c, e + 1). */
static inline int64_t hr_first_row(const hr_columns *c, int64_t element)
{
    for (int l = 0; l < c->levels; l++) element = c->splits[l][element];
    return element;
}

/* Bytes of one row of a dense field. */
static inline size_t hr_field_width(const hr_field *f)
{
    size_t width = hr_dtype_size(f->dtype);
    for (int i = 0; i < f->shape.rank; i++) width *= (size_t)f->shape.dims[i];
    return width;
}

#ifdef __cplusplus
}
#endif
#endif
