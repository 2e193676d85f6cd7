/* What the files of this room share: the column object, the kinds, the compiled transformation. Not a public header. */
#ifndef HR__FEATURE_COLUMNS_H
#define HR__FEATURE_COLUMNS_H

#include <headrace/column_kernels.h>
#include <headrace/op.h>
#include <stdatomic.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HR_COLUMN_KIND(name) extern const hr_column_kind hr_column_kind_##name;
#include "feature_columns/kinds/columns.def"
#undef HR_COLUMN_KIND

/* *fits: the kind in a descriptor of this library's size, which is `given` or `own`. Kind of refusals: column.kind. */
hr_status hr__column_kind_fit(const hr_column_kind *given, hr_column_kind *own, const hr_column_kind **fits,
                              hr_error *err);
/* The kind of a sound column, in a descriptor of this library's size. */
const hr_column_kind *hr__column_kind_of(const hr_feature_column *column);
/* The same as it stands in the list below; NULL: it is not there. */
const hr_column_kind *hr__column_kind_listed(const hr_feature_column *column);
/* A kind of the library or a registered one, in a descriptor of this library's size: number 0, 1, ...; NULL: no more.
 * */
const hr_column_kind *hr__column_kind_at(int i);
bool hr__column_kind_is_own(const hr_column_kind *kind); /* of the library, not from outside */
/* What a function of a kind has returned, with the error that it has left in *err, which was without code and kind
 * before: a failure without an error gets one, and what is no failure but HR_OK becomes one. Kind column.kind. */
hr_status hr__column_answer(const char *kind, hr_status returned, hr_error *err);
uint64_t hr__column_digest(const hr_feature_column *column);

/* ---- parsing specs that others make ---- */

/* Gives an empty spec (hr_parse_spec_free); hr__spec_end, when all features are there, sorts them by their keys. */
hr_status hr__spec_begin(hr_parse_spec **out, hr_error *err);
hr_status hr__spec_add(hr_parse_spec *spec, const hr_feature *feature, hr_error *err); /* copies */
const hr_feature *hr__spec_find(hr_parse_spec *spec, const char *key);                 /* NULL: there is none */
bool hr__spec_same(const hr_feature *a, const hr_feature *b); /* of equal form and default, whatever their keys */
void hr__spec_end(hr_parse_spec *spec);

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
