/* The data that flows through a pipeline: rows, stored by column. Part of the operator and column kits: built-in
 * operators and operators from outside see the same structs. */
#ifndef HR_COLUMNS_H
#define HR_COLUMNS_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name, type and shape of one component of an element, like an entry of tf.data's element_spec. */
typedef struct hr_field {
    const char *name; /* components without a name: "0", "1"; nested: "0/1"; a single one: "value" */
    hr_dtype dtype;
    hr_layout layout;
    hr_shape shape; /* of one row; -1 where it varies */
    bool label;     /* belongs to the label of (features, label) in training */
    /* HR_DENSE with a first dimension that varies: one value, with which rows are padded to the longest of their batch.
     * NULL: the rows of a batch must be equally long. Lives as long as the dataset. */
    const void *pad;
} hr_field;

/* The components of an element. batch changes only `levels`, so it can be reordered with operators that work row by
 * row. */
typedef struct hr_schema {
    int levels; /* number of nested batches: the batch dimensions of an element, before the shape of a row */
    int fields;
    const hr_field *field;
} hr_schema;

/* The maximum number of nested batches. */
enum { HR_MAX_LEVELS = 4 };

/* One component of all rows of a unit. */
typedef struct hr_column {
    /* HR_DENSE: rows x (values of a row), row-major. Ragged, sparse, or with a dimension that varies: `count` values.
     * Strings are hr_view; the 64 bytes after each string are readable. */
    void *values;
    int64_t count;
    /* Not HR_DENSE: row r has the values splits[0][r] .. splits[0][r + 1] - 1; inner levels follow. Columns may share
     * splits: write only to those that you allocated. */
    int32_t *splits[HR_MAX_RAGGED];
    /* HR_SPARSE: the index of each value in its row; NULL: 0, 1, 2, ... dense_width is the last dimension of the dense
     * shape; 0: the length of the longest row of the batch. */
    int64_t *inner;
    int64_t dense_width;
    /* A bit for each row: 1 if it has a value; NULL: all have one. Used only from a text source up to where defaults
     * are filled in. */
    uint64_t *present;
} hr_column;

/* The record number of a row that was not read from a file of records. */
enum { HR_NO_RECORD = -1 };

/* Where a row was read from. */
typedef struct hr_origin {
    int32_t file;    /* a number within the iterator; -1: none */
    uint32_t record; /* its number in the file, from 0; UINT32_MAX: unknown, or too large */
    int64_t offset;  /* in bytes */
} hr_origin;

/* Makes an origin. `record` may be HR_NO_RECORD. */
static inline hr_origin hr_origin_of(int32_t file, int64_t record, int64_t offset)
{
    const bool known = record >= 0 && record < (int64_t)UINT32_MAX;
    const hr_origin origin = {file, known ? (uint32_t)record : UINT32_MAX, offset};
    return origin;
}

/* A unit of rows. It owns all memory that it points to, or holds references to it, and lives as long as there is a span
 * of it.
 *
 * Before batch each element is a row. After batch an element is a run of consecutive rows, and `levels` levels of
 * splits have the bounds of these runs. So batch moves no bytes, and unbatch only drops splits[0]. Operators that work
 * row by row (parse, cast, feature columns) ignore the splits: map before batch costs as much as map after batch. */
typedef struct hr_columns {
    const hr_schema *schema; /* its .levels are those after all operators; `levels` below are those of this unit */
    int64_t elements;
    int64_t rows; /* the leading dimension of every column */
    int levels;
    int32_t *splits[HR_MAX_LEVELS]; /* splits[0]: elements + 1 indexes into the next level; the last level: rows */
    hr_column *column;              /* schema->fields of them */
    hr_origin *origin;              /* one for each row; NULL: no file was read */
    int64_t *number;                /* of each row, from plan, for hr_row_key; NULL: no operator needs it */
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
