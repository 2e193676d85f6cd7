/* The kit of derived features: for those who write a kind of their own. derived.h says what a derived feature is.
 *
 * A kind computes one value a row from one value of each field that the feature reads. The library gathers values,
 * knows which are missing, fills in defaults, and orders features that read each other. A kind needs .name, .type and
 * .compute. Its constructor calls hr_derived_new. */
#ifndef HR_DERIVED_KIND_H
#define HR_DERIVED_KIND_H

#include <headrace/column_config.h>
#include <headrace/derived.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this kit. */
enum { HR_DERIVED_ABI = 1 };

typedef struct hr_derived_work hr_derived_work; /* one feature's work on one batch */

/* The values of a field, one for each row: int64_t (any integer or bool), double (float32 and float64) or hr_view.
 * Where a value is missing it is 0 or "". */
typedef struct hr_derived_values {
    hr_dtype dtype; /* HR_INT64, HR_DOUBLE or HR_STRING */
    hr_dtype field; /* the field's own type: HR_FLOAT, where each value is one that float32 holds */
    const void *values;
} hr_derived_values;

/* ABI version and struct size, at the front of every descriptor, as in column.h. */
typedef struct hr_derived_head {
    uint32_t abi_version, struct_size;
} hr_derived_head;
#define HR_DERIVED_HEAD                                                                                                \
    {                                                                                                                  \
        HR_DERIVED_ABI, sizeof(hr_derived_kind)                                                                        \
    }

/* The descriptor of a kind. */
typedef struct hr_derived_kind {
    hr_derived_head head; /* HR_DERIVED_HEAD */
    const char *name;     /* begins error messages: "ratio" */
    size_t spec_size;

    /* Replaces what the spec borrows by copies. spec_free frees these; it is also called after spec_copy failed. */
    hr_status (*spec_copy)(void *spec, hr_error *err);
    void (*spec_free)(void *spec);
    /* Says the type of the result, HR_INT64 or HR_FLOAT, for fields of these types: HR_INT64, HR_DOUBLE, HR_STRING.
     * Refuses types that it cannot read (kind derived.dtype). */
    hr_status (*type)(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err);
    /* Computes `rows` values into `out`, int64_t or float. A row in which a field has no value is `missing` before, and
     * gets its default whatever `out` has for it; compute sets `missing` for further rows without a result. Called from
     * any thread. */
    hr_status (*compute)(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows, void *out,
                         bool *missing, hr_error *err);

    /* For the section `derived:` of a config file; NULL: only code makes such features. The words by which a mapping
     * names the kind, of which it has one, its other keys besides `default` (both lists end with NULL), and the
     * function that reads it: `word` is the one that was found. Gives *out. */
    const char *const *words, *const *keys;
    hr_status (*read)(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err);
} hr_derived_kind;

/* Gives a feature of this kind, which reads these fields. Copies the spec by spec_copy. Kinds: derived.name (none, or
 * none of a field), derived.kind (another version of the kit), and those of spec_copy. */
HR_API hr_derived_feature *hr_derived_new(const hr_derived_kind *kind, const void *spec, const char *name,
                                          hr_field_names fields, double default_value);

/* For compute: reports that a row failed, and goes on with the others. */
HR_API void hr_derived_fail_row(hr_derived_work *w, int64_t row, const hr_error *err);

/* For read: the field that a scalar names, which is one of the records or a derived one. Borrows *field. */
HR_API hr_status hr_derived_read_field(const hr_config_reader *r, const hr_config_value *value, const char **field,
                                       hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
