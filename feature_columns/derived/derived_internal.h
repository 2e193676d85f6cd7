/* What the files of this folder share: the kinds, a feature's parts, the order in which features are computed. Not a
 * public header. */
#ifndef HR__DERIVED_INTERNAL_H
#define HR__DERIVED_INTERNAL_H

#include "base/hash_map.h"
#include "feature_columns/columns_internal.h"
#include "feature_columns/derived/derived_section.h"
#include <headrace/derived_kind.h>

#define HR_DERIVED_KIND(name) extern const hr_derived_kind hr_derived_kind_##name;
#include "feature_columns/derived/derived.def"
#undef HR_DERIVED_KIND

const hr_derived_kind *hr__derived_kind_at(int i); /* 0, 1, ...; NULL: no more */

const hr_derived_kind *hr__derived_kind_of(const hr_derived_feature *feature);
const void *hr__derived_spec(const hr_derived_feature *feature);
double hr__derived_default(const hr_derived_feature *feature);
/* The value of field `i` for rows without one: shape [1]; NULL: none was given. */
const hr_tensor *hr__derived_fill(const hr_derived_feature *feature, int i);
/* Sets it, while nobody else has the feature. Copies a number, borrows nothing. */
hr_status hr__derived_set_fill(hr_derived_feature *feature, int i, hr_dtype dtype, const void *value, hr_error *err);

/* ---- the order ---- */

typedef struct hr__derived_step {
    hr_derived_feature *feature;
    int *in; /* for each field: its place among the fields of the input, or after these that of a step's number */
    hr_field field; /* that it makes; borrows the name */
} hr__derived_step;

typedef struct hr__derived_plan {
    hr__derived_step *step; /* one a feature of the list, in its order */
    int steps, fields;      /* of the list; of the input */
    int *order, count;      /* of the steps that are computed, each after those that it reads */
    int culprit;            /* the step that a failure is about; -1: none */
    hr__map names;          /* of the fields of the input, then of the steps */
} hr__derived_plan;

/* Finds the fields, the types and the order. `wanted`: only these features and their parts (NULL: all). Shares
 * the features, borrows the names of `in`. hr__derived_plan_clear also after a failure. */
hr_status hr__derived_plan_make(hr_derived_list list, const hr_schema *in, const hr_parse_spec *wanted,
                                hr__derived_plan *out, hr_error *err);
void hr__derived_plan_clear(hr__derived_plan *plan);

/* ---- for kinds ---- */

/* Refuses fields that hold no numbers; int64 if all are integers, else float32. */
hr_status hr__derived_numbers(const char *kind, const hr_dtype *in, int count, hr_dtype *out, hr_error *err);
/* The number of row `row`. */
static inline double hr__derived_number(const hr_derived_values *v, int64_t row)
{
    return v->dtype == HR_INT64 ? (double)((const int64_t *)v->values)[row] : ((const double *)v->values)[row];
}
/* A row whose int64 result overflows. */
void hr__derived_out_of_range(const char *kind, hr_derived_work *w, int64_t row);
/* Two fields of a list [a, b]. */
hr_status hr__derived_read_two(hr_config_reader *r, const char *word, const char **a, const char **b, hr_error *err);
/* A list of fields: gives names->name (hr_free), the texts are borrowed. */
hr_status hr__derived_read_list(hr_config_reader *r, const char *word, hr_field_names *names, hr_error *err);
/* `default`. */
hr_status hr__derived_read_default(hr_config_reader *r, hr_derived_opts *o, hr_error *err);

#endif
