/* What the files of this room share: the column object, the kinds, the compiled transformation. Not a public header. */
#ifndef HR__FEATURE_COLUMNS_H
#define HR__FEATURE_COLUMNS_H

#include <headrace/column.h>
#include <headrace/op.h>
#include <stdatomic.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HR_COLUMN_KIND(name) extern const hr_column_kind hr_column_kind_##name;
#include "feature_columns/kinds/columns.def"
#undef HR_COLUMN_KIND

/* Every kind, for tests that walk them; ends with NULL. */
const hr_column_kind *const *hr__column_kinds(void);

/* A feature of one type, dense or VarLen, that a constructor asks for. */
hr_status hr__read_var_len(hr_column_builder *out, const char *key, hr_dtype dtype, hr_error *err);
hr_status hr__check_categorical(const char *what, const hr_feature_column *source, hr_error *err);
hr_status hr__refuse_sequence(const char *what, const hr_feature_column *source, hr_error *err);
hr_status hr__check_key(const char *what, const char *key, hr_error *err);
/* A column that only carries this error. */
hr_feature_column *hr__failed_column(const hr_error *err);
uint64_t hr__column_digest(const hr_feature_column *column);
bool hr__is_integer(hr_dtype dtype);
bool hr__is_number(hr_dtype dtype);
/* Value `i` of an integer feature. */
int64_t hr__integer_at(const hr_column_values *in, int64_t i);
/* Any type of number as float32. */
void hr__to_float(const void *from, hr_dtype dtype, float *to, int64_t n);
hr_status hr__check_shape(const char *what, const char *key, hr_shape shape, hr_error *err);
/* The place of value `i`, which is one of row `row`, in its row. */
static inline int64_t hr__place_in_row(const hr_column_values *v, int64_t row, int64_t i)
{
    return v->inner ? v->inner[i] : i - v->splits[row];
}
/* One more than the last place of a row that has a value; -1: they are not in the order of their places. */
int64_t hr__reach_of_row(const hr_column_values *v, int64_t row);
/* Decimal text of `value`; gives its length. `text` has room for 24. */
int hr__decimal(int64_t value, char *text);
int hr__decimal_at(const hr_column_values *in, int64_t i, char *text); /* the same of value `i` of an integer feature */

/* Remainders by a divisor that stays the same: one multiplication in place of a division, the same result. */
typedef struct hr__divisor {
    uint64_t by, reciprocal;
} hr__divisor;

static inline hr__divisor hr__divisor_of(uint64_t by) { return (hr__divisor){by, UINT64_MAX / by}; }

static inline uint64_t hr__remainder(hr__divisor d, uint64_t value)
{
    /* The reciprocal is too small by less than 2^-64, so the quotient is too small by at most 1. */
    __extension__ typedef unsigned __int128 wide;
    uint64_t quotient = (uint64_t)((wide)value * d.reciprocal >> 64);
    uint64_t rest = value - quotient * d.by;
    return rest >= d.by ? rest - d.by : rest;
}

/* ---- the transformation of a list of columns ---- */

typedef struct hr__transformer hr__transformer;

/* A component that comes out. */
typedef struct hr__output {
    const hr_column_info *info; /* of the column whose component it is */
    int node;
    int field;   /* its place among the components, set by the operator */
    int weights; /* the place of its weights, or -1 */
} hr__output;

/* Shares the columns. Gives *out (hr__transformer_free). */
hr_status hr__transformer_new(hr_column_list columns, hr__transformer **out, hr_error *err);
void hr__transformer_free(hr__transformer *t);
int hr__transformer_raws(const hr__transformer *t);
const char *hr__transformer_raw(const hr__transformer *t, int i); /* the component that raw input i reads */
int hr__transformer_outputs(const hr__transformer *t);
const hr__output *hr__transformer_output(const hr__transformer *t, int i);

/* Where the results lie, and who hears of failing rows. `output` is -1 for what no component shows. */
typedef struct hr__column_memory {
    void *(*scratch)(void *user, size_t bytes);
    int64_t *(*ids)(void *user, int output, int64_t at_most);
    int32_t *(*splits)(void *user, int output);
    float *(*floats)(void *user, int output, int64_t at_most);
    void (*fail_row)(void *user, int64_t row, const hr_error *err);
    void *user;
    bool tf_compat;
} hr__column_memory;

/* Refuses raw features that a column cannot read, before any data: see hr_column_kind's accept. */
hr_status hr__transformer_accept(const hr__transformer *t, const hr_column_values *raw, hr_error *err);
/* raw: hr__transformer_raws of them; result: hr__transformer_outputs. Their memory is `memory`'s. */
hr_status hr__transform(const hr__transformer *t, const hr__column_memory *memory, int64_t rows,
                        const hr_column_values *raw, hr_column_values *result, hr_error *err);

/* About how many bytes of scratch a batch takes: all of it, unless columns are dense, or nested crosses. */
size_t hr__transform_scratch(const hr__transformer *t, int64_t rows, const hr_column_values *raw);

/* What columns see of a field before any data: type and width; `splits` is not NULL where it is ragged or sparse. */
hr_status hr__raw_field(const hr_field *field, hr_column_values *out, hr_error *err);
/* The same of the rows `before`, whose memory it borrows; what there is to add goes beside `rows`. */
hr_status hr__raw_values(hr_work *w, hr_columns *rows, const hr_columns *before, int field, hr_column_values *out,
                         hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
