/* Headrace, derived features: fields that are computed from other fields of a row, before columns read them.
 *
 *     hr_derived_feature *speed = hr_derived_ratio("speed", "distance", "air_time");
 *     hr_derived_feature *far = hr_derived_comparison("far", HR_AT_LEAST, "distance", (hr_operand){.number = 1000});
 *     hr_derived_list derived = HR_DERIVED(speed, far);
 *
 *     hr_schema all;                  // the fields of the records and the derived ones
 *     hr_parse_spec *wanted, *parsed; // what the columns read; what is parsed for that
 *     hr_derived_schema(derived, &file, &all, &err);
 *     hr_make_parse_example_spec(columns, &wanted, &err, .file = &all, .label = "far");
 *     hr_derived_parse_spec(derived, wanted, &file, &parsed, &err);
 *     ds = hr_parse_example(hr_batch(ds, 256), parsed);
 *     ds = hr_derive_features(ds, derived, .wanted = wanted, .label = "far");
 *     ds = hr_transform_features(ds, columns);
 *
 * A feature is made of one value of each field that it reads, and gives one value a row: dense, shape [1], int64 or
 * float32. (hr_derived_rename keeps all values, types and shapes.) It may read other derived features, in any order of
 * the list, but not itself.
 *
 * Missing values: where a row has no value in one of the fields, or there is no result (a ratio with 0 below, the
 * logarithm of what is not positive, a text that is no date), the feature's value is its default: .default_value, 0 by
 * default. A field has no value if its list is empty, or if its `present` bit is not set; a dense field always has one.
 * A row with more than one value in such a field is an error (derived.values). Arithmetic of int64 that overflows also
 * fails the row (derived.range).
 *
 * Features are immutable, counted, and may be shared between threads, as columns are. Constructors never return NULL:
 * one that fails gives a feature that carries the error. Constructors copy strings and arrays. */
#ifndef HR_DERIVED_H
#define HR_DERIVED_H

#include <headrace/feature_columns.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_derived_feature hr_derived_feature;

HR_API hr_derived_feature *hr_derived_ref(hr_derived_feature *feature);        /* gives a second reference */
HR_API void hr_derived_unref(hr_derived_feature *feature);                     /* NULL: nothing */
HR_API const hr_error *hr_derived_error(const hr_derived_feature *feature);    /* NULL: no error. Borrows */
HR_API const char *hr_derived_name(const hr_derived_feature *feature);         /* "" of a failed one. Borrows */
HR_API const char *hr_derived_field(const hr_derived_feature *feature, int i); /* that it reads; NULL: none. Borrows */

/* Several features, in any order. Borrows. */
typedef struct hr_derived_list {
    hr_derived_feature *const *feature;
    int count;
} hr_derived_list;
#define HR_DERIVED(...)                                                                                                \
    ((hr_derived_list){(hr_derived_feature *const[]){__VA_ARGS__},                                                     \
                       (int)(sizeof((hr_derived_feature *const[]){__VA_ARGS__}) / sizeof(hr_derived_feature *))})

/* Names of fields. Borrows. */
typedef struct hr_field_names {
    const char *const *name;
    int count;
} hr_field_names;
#define HR_FIELDS(...)                                                                                                 \
    ((hr_field_names){(const char *const[]){__VA_ARGS__},                                                              \
                      (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))})

/* ---- the kinds ---- */

/* What all kinds but rename may be told. */
typedef struct hr_derived_opts {
    size_t struct_size;
    double default_value; /* of a row without a result; of an int64 feature a whole number up to 2^53 */
} hr_derived_opts;

/* The field under another name: all its values, its type, its shape. */
HR_API hr_derived_feature *hr_derived_rename(const char *name, const char *field);

/* a / b of two numbers, float32, computed in double. b = 0: the default. */
HR_API hr_derived_feature *hr_derived_ratio_with(const char *name, const char *a, const char *b,
                                                 const hr_derived_opts *opts);
#define hr_derived_ratio(...)                                                                                          \
    HR_CALL3_(hr_derived_ratio_with, hr_derived_opts, __VA_ARGS__, .struct_size = sizeof(hr_derived_opts))

/* a - b: int64 if both are integers, else float32, computed in double. */
HR_API hr_derived_feature *hr_derived_difference_with(const char *name, const char *a, const char *b,
                                                      const hr_derived_opts *opts);
#define hr_derived_difference(...)                                                                                     \
    HR_CALL3_(hr_derived_difference_with, hr_derived_opts, __VA_ARGS__, .struct_size = sizeof(hr_derived_opts))

/* The sum, or the product, of one field or more, from left to right: int64 if all are integers, else float32, computed
 * in double. */
HR_API hr_derived_feature *hr_derived_sum_with(const char *name, hr_field_names fields, const hr_derived_opts *opts);
#define hr_derived_sum(...)                                                                                            \
    HR_CALL2_(hr_derived_sum_with, hr_derived_opts, __VA_ARGS__, .struct_size = sizeof(hr_derived_opts))
HR_API hr_derived_feature *hr_derived_product_with(const char *name, hr_field_names fields,
                                                   const hr_derived_opts *opts);
#define hr_derived_product(...)                                                                                        \
    HR_CALL2_(hr_derived_product_with, hr_derived_opts, __VA_ARGS__, .struct_size = sizeof(hr_derived_opts))

typedef struct hr_derived_log_opts {
    size_t struct_size;
    double offset;
    double default_value; /* as in hr_derived_opts */
} hr_derived_log_opts;
/* The natural logarithm of a number + .offset: float32, computed in double. A sum that is not above 0: the default. */
HR_API hr_derived_feature *hr_derived_log_with(const char *name, const char *field, const hr_derived_log_opts *opts);
#define hr_derived_log(...)                                                                                            \
    HR_CALL2_(hr_derived_log_with, hr_derived_log_opts, __VA_ARGS__, .struct_size = sizeof(hr_derived_log_opts))

/* How two values are compared. */
typedef enum hr_comparison { HR_LESS, HR_AT_MOST, HR_EQUAL, HR_AT_LEAST, HR_GREATER } hr_comparison;
/* What a field is compared with: another field, or a text, or else a number. */
typedef struct hr_operand {
    const char *field, *text;
    double number;
} hr_operand;
/* int64: 1 where it is so, 0 where not. Two integers are compared exactly, a float32 field with a constant in float32
 * (0.1 in a file equals 0.1 here), other numbers in double; NaN compares false. Texts only by HR_EQUAL. */
HR_API hr_derived_feature *hr_derived_comparison_with(const char *name, hr_comparison comparison, const char *field,
                                                      hr_operand with, const hr_derived_opts *opts);
#define hr_derived_comparison(...)                                                                                     \
    HR_CALL4_(hr_derived_comparison_with, hr_derived_opts, __VA_ARGS__, .struct_size = sizeof(hr_derived_opts))

/* A part of a point in time. */
typedef enum hr_date_part {
    HR_YEAR,
    HR_MONTH,       /* 1 to 12 */
    HR_DAY,         /* of the month: 1 to 31 */
    HR_WEEKDAY,     /* 0: Monday, to 6: Sunday */
    HR_HOUR,        /* 0 to 23 */
    HR_MINUTE,      /* 0 to 59 */
    HR_DAY_OF_YEAR, /* 1 to 366 */
    HR_TIMESTAMP,   /* seconds since 1970 */
} hr_date_part;
/* A part of a point in time, in UTC: int64. The field has int64 seconds since 1970, or texts as hr_csv reads them:
 * 2013-01-01, 2013-01-01T05:15, with or without seconds, fraction and zone. A text that is none, and a time outside of
 * the years 1 to 9999: the default. */
HR_API hr_derived_feature *hr_derived_date_part_with(const char *name, hr_date_part part, const char *field,
                                                     const hr_derived_opts *opts);
#define hr_derived_date_part(...)                                                                                      \
    HR_CALL3_(hr_derived_date_part_with, hr_derived_opts, __VA_ARGS__, .struct_size = sizeof(hr_derived_opts))

/* The number of a value: of a text, or of an int64 in decimal ("7"). Borrows. */
typedef struct hr_value_number {
    const char *value;
    double number;
} hr_value_number;
typedef struct hr_value_numbers {
    const hr_value_number *pair;
    int count;
} hr_value_numbers;
#define HR_VALUE_NUMBERS(...)                                                                                          \
    ((hr_value_numbers){(const hr_value_number[]){__VA_ARGS__},                                                        \
                        (int)(sizeof((const hr_value_number[]){__VA_ARGS__}) / sizeof(hr_value_number))})
/* The number that the table has for the field's value, float32: for class weights, say. A value that is not in it, or
 * none: the default. */
HR_API hr_derived_feature *hr_derived_map_with(const char *name, const char *field, hr_value_numbers table,
                                               const hr_derived_opts *opts);
#define hr_derived_map(...)                                                                                            \
    HR_CALL3_(hr_derived_map_with, hr_derived_opts, __VA_ARGS__, .struct_size = sizeof(hr_derived_opts))

/* ---- in a pipeline ---- */

/* The fields of the records and after them the derived ones, in the order of the list. Gives out->field (hr_free),
 * whose names are borrowed from `file` and the list. Kinds: derived.name (two of one name), derived.field (no such
 * field), derived.circle, derived.dtype (a field of another type than the kind reads), and the error of a failed
 * feature. */
HR_API hr_status hr_derived_schema(hr_derived_list list, const hr_schema *file, hr_schema *out, hr_error *err);

/* From the features that columns read, and the label, the spec of what must be parsed: the derived ones among them are
 * replaced by the fields that they are made of. A field that nothing else reads becomes HR_VAR_LEN, so that a missing
 * one is known; or, if the section `schema: default` has a value for it, a FixedLenFeature with that. Gives *spec
 * (hr_parse_spec_free). Kinds as above, and derived.conflict: a renamed field is read in two different forms. */
HR_API hr_status hr_derived_parse_spec(hr_derived_list list, const hr_parse_spec *wanted, const hr_schema *file,
                                       hr_parse_spec **spec, hr_error *err);

typedef struct hr_derive_features_opts {
    size_t struct_size;
    const hr_parse_spec *wanted; /* only the derived features in it, and what they are made of; default: all. Copied */
    const char *label;           /* a derived feature that is the label */
} hr_derive_features_opts;
/* Adds the derived features to the parsed rows of `in`, after its components. May stand before or after batch; the
 * speed is the same. Takes `in`, shares the features. Kinds as above, and of rows derived.values, derived.range. */
HR_API hr_dataset *hr_derive_features_with(hr_dataset *in, hr_derived_list list, const hr_derive_features_opts *opts);
#define hr_derive_features(...)                                                                                        \
    HR_CALL2_(hr_derive_features_with, hr_derive_features_opts, __VA_ARGS__,                                           \
              .struct_size = sizeof(hr_derive_features_opts))

#ifdef __cplusplus
}
#endif
#endif
