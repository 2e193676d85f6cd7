/* comparison: whether a field is less than, equal to, ... another one or a constant. */
#include "base/config.h"
#include "feature_columns/derived/derived_internal.h"
#include <math.h>
#include <string.h>

typedef struct comparison_spec {
    hr_comparison comparison;
    bool with_field;
    char *text; /* NULL: none */
    double number;
} comparison_spec;

static const char *const words[] = {[HR_LESS] = "less",         [HR_AT_MOST] = "at_most", [HR_EQUAL] = "equal",
                                    [HR_AT_LEAST] = "at_least", [HR_GREATER] = "greater", NULL};

static hr_status comparison_copy(void *spec, hr_error *err)
{
    comparison_spec *s = spec;
    const char *text = s->text;
    s->text = hr_strdup(text);
    if (text && !s->text) return hr_no_memory(err, "comparison");
    if ((unsigned)s->comparison <= HR_GREATER) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.argument",
                   "comparison: expected HR_LESS to HR_GREATER, got %d, which is none", (int)s->comparison);
}

static void comparison_free(void *spec) { hr_free(((comparison_spec *)spec)->text); }

static hr_status comparison_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    const comparison_spec *s = spec;
    (void)count;
    const bool text = s->with_field ? in[1] == HR_STRING : s->text != NULL;
    *out = HR_INT64;
    if (text != (in[0] == HR_STRING))
        return hr_fail(err, HR_INVALID_ARGUMENT, "derived.dtype",
                       "%s: expected two numbers or two texts, got a number and a text", words[s->comparison]);
    if (!text || s->comparison == HR_EQUAL) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.dtype",
                   "%s: expected numbers, got texts, which only equal compares", words[s->comparison]);
}

static bool holds(hr_comparison comparison, bool less, bool equal, bool greater)
{
    switch (comparison) {
    case HR_LESS:
        return less;
    case HR_AT_MOST:
        return less || equal;
    case HR_EQUAL:
        return equal;
    case HR_AT_LEAST:
        return greater || equal;
    case HR_GREATER:
        return greater;
    }
    return false;
}

static bool same_text(hr_view a, hr_view b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, (size_t)a.size) == 0);
}

static bool compare(const comparison_spec *s, const hr_derived_values *in, hr_view text, int64_t r)
{
    if (in[0].dtype == HR_STRING) {
        const hr_view *a = in[0].values;
        return same_text(a[r], s->with_field ? ((const hr_view *)in[1].values)[r] : text);
    }
    if (s->with_field && in[0].dtype == HR_INT64 && in[1].dtype == HR_INT64) {
        const int64_t a = ((const int64_t *)in[0].values)[r], b = ((const int64_t *)in[1].values)[r];
        return holds(s->comparison, a<b, a == b, a> b);
    }
    const double constant = in[0].field == HR_FLOAT ? (double)(float)s->number : s->number;
    const double a = hr__derived_number(&in[0], r), b = s->with_field ? hr__derived_number(&in[1], r) : constant;
    return holds(s->comparison, a<b, a == b, a> b);
}

static hr_status comparison_compute(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows,
                                    void *out, bool *missing, hr_error *err)
{
    (void)w;
    (void)missing;
    (void)err;
    const comparison_spec *s = spec;
    const hr_view text = {s->text, s->text ? (int64_t)strlen(s->text) : 0};
    for (int64_t r = 0; r < rows; r++) ((int64_t *)out)[r] = compare(s, in, text, r);
    return HR_OK;
}

/* A plain word is a field if there is another one of that name; of `equal` else a text, as everything in quotes is. */
static hr_status read_operand(hr_config_reader *r, const hr_config_value *value, bool equal, hr_operand *out,
                              hr_error *err)
{
    hr_dtype unknown;
    HR_TRY(hr__node_is(value, HR__SCALAR, err));
    if (!value->quoted && hr__node_double(value, &out->number, NULL) == HR_OK) {
        if (fabs(out->number) <= 0x1p53 || isinf(out->number) || floor(out->number) != out->number) return HR_OK;
        return hr_config_expected(value, "a number that double holds exactly, of at most 2^53", err);
    }
    const bool own = equal && strcmp(value->text, hr_config_name(r)) == 0; /* no feature is made of itself */
    const bool field = !value->quoted && !own && hr_config_field(r, value, &unknown, NULL) == HR_OK;
    if (!field && equal) return hr_config_value_text(value, &out->text, err);
    return hr_derived_read_field(r, value, &out->field, err);
}

static hr_status comparison_read(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err)
{
    const hr_config_value *list = hr_config_get(r, word);
    hr_derived_opts o;
    hr_operand with = {0};
    const char *field;
    int64_t count = 0;
    int comparison = 0;
    while (strcmp(words[comparison], word) != 0) comparison++;
    HR_TRY(hr_config_items(list, &count, err));
    if (count != 2)
        return hr_config_expected(list, "a field and what it is compared with, such as [distance, 1000]", err);
    HR_TRY(hr_derived_read_field(r, hr_config_item(list, 0), &field, err));
    HR_TRY(read_operand(r, hr_config_item(list, 1), comparison == HR_EQUAL, &with, err));
    HR_TRY(hr__derived_read_default(r, &o, err));
    *out = hr_derived_comparison_with(hr_config_name(r), (hr_comparison)comparison, field, with, &o);
    return HR_OK;
}

const hr_derived_kind hr_derived_kind_comparison = {
    .head = HR_DERIVED_HEAD,
    .name = "comparison",
    .spec_size = sizeof(comparison_spec),
    .spec_copy = comparison_copy,
    .spec_free = comparison_free,
    .type = comparison_type,
    .compute = comparison_compute,
    .words = words,
    .read = comparison_read,
};

hr_derived_feature *hr_derived_comparison_with(const char *name, hr_comparison comparison, const char *field,
                                               hr_operand with, const hr_derived_opts *opts)
{
    const hr_derived_opts o = HR_OPTIONS(hr_derived_opts, opts);
    const comparison_spec spec = {comparison, with.field != NULL, with.field ? NULL : (char *)(uintptr_t)with.text,
                                  with.number};
    const hr_field_names fields = {(const char *const[]){field, with.field}, with.field ? 2 : 1};
    return hr_derived_new(&hr_derived_kind_comparison, &spec, name, fields, o.default_value);
}
