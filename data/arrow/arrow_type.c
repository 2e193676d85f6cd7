/* What Arrow's format strings say of a column: see arrow_column.h. */
#include "data/arrow/arrow_column.h"
#include <stdlib.h>
#include <string.h>

/* Formats, or with a colon at the end what they begin with: a time zone or a size follows. Dates, times and durations
 * are integers of their unit. */
static const struct {
    const char *format;
    hr__arrow_form form;
    hr_dtype dtype;
} types[] = {
    {"b", HR__ARROW_BITS, HR_BOOL},
    {"c", HR__ARROW_FIXED, HR_INT8},
    {"C", HR__ARROW_FIXED, HR_UINT8},
    {"s", HR__ARROW_FIXED, HR_INT16},
    {"S", HR__ARROW_FIXED, HR_UINT16},
    {"i", HR__ARROW_FIXED, HR_INT32},
    {"I", HR__ARROW_FIXED, HR_UINT32},
    {"l", HR__ARROW_FIXED, HR_INT64},
    {"L", HR__ARROW_FIXED, HR_UINT64},
    {"f", HR__ARROW_FIXED, HR_FLOAT},
    {"g", HR__ARROW_FIXED, HR_DOUBLE},
    {"u", HR__ARROW_STRINGS, HR_STRING},
    {"z", HR__ARROW_STRINGS, HR_STRING},
    {"U", HR__ARROW_LARGE_STRINGS, HR_STRING},
    {"Z", HR__ARROW_LARGE_STRINGS, HR_STRING},
    {"vu", HR__ARROW_VIEWS, HR_STRING},
    {"vz", HR__ARROW_VIEWS, HR_STRING},
    {"w:", HR__ARROW_BYTES, HR_STRING},
    {"n", HR__ARROW_NOTHING, HR_INVALID_DTYPE},
    {"tdD", HR__ARROW_FIXED, HR_INT32},
    {"tdm", HR__ARROW_FIXED, HR_INT64},
    {"tts", HR__ARROW_FIXED, HR_INT32},
    {"ttm", HR__ARROW_FIXED, HR_INT32},
    {"ttu", HR__ARROW_FIXED, HR_INT64},
    {"ttn", HR__ARROW_FIXED, HR_INT64},
    {"tss:", HR__ARROW_FIXED, HR_INT64},
    {"tsm:", HR__ARROW_FIXED, HR_INT64},
    {"tsu:", HR__ARROW_FIXED, HR_INT64},
    {"tsn:", HR__ARROW_FIXED, HR_INT64},
    {"tDs", HR__ARROW_FIXED, HR_INT64},
    {"tDm", HR__ARROW_FIXED, HR_INT64},
    {"tDu", HR__ARROW_FIXED, HR_INT64},
    {"tDn", HR__ARROW_FIXED, HR_INT64},
    {"tiM", HR__ARROW_FIXED, HR_INT32},
};

static const struct {
    const char *format;
    hr__arrow_list list;
} lists[] = {
    {"+w:", HR__ARROW_FIXED_LIST},      {"+l", HR__ARROW_LIST},
    {"+L", HR__ARROW_LARGE_LIST},       {"+vl", HR__ARROW_LIST_VIEW},
    {"+vL", HR__ARROW_LARGE_LIST_VIEW},
};

static bool is_format(const char *format, const char *known)
{
    const size_t size = strlen(known);
    return known[size - 1] == ':' ? strncmp(format, known, size) == 0 : strcmp(format, known) == 0;
}

static hr_status refuse_format(const char *name, const struct ArrowSchema *schema, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.format",
                   "from_arrow: column '%.60s': expected numbers, booleans, times, strings, or lists of them, got the "
                   "format '%.20s'; cast it first",
                   name, schema->format ? schema->format : "");
}

/* The number after the colon; -1: none above 0. */
static int64_t arrow_type_size_of(const char *format)
{
    char *end;
    const char *digits = strchr(format, ':') + 1;
    const long long size = strtoll(digits, &end, 10);
    return *digits >= '0' && *digits <= '9' && !*end && size > 0 && size <= INT32_MAX ? size : -1;
}

static hr_status arrow_type_values_of(const char *name, const struct ArrowSchema *schema, hr__arrow_values *out,
                                      hr_error *err)
{
    *out = (hr__arrow_values){.format = schema->format};
    for (size_t t = 0; schema->format && t < sizeof types / sizeof *types; t++) {
        if (!is_format(schema->format, types[t].format)) continue;
        out->form = types[t].form;
        out->dtype = types[t].dtype;
        out->size = out->form == HR__ARROW_BYTES ? arrow_type_size_of(schema->format) : 0;
        return out->size < 0 ? refuse_format(name, schema, err) : HR_OK;
    }
    return refuse_format(name, schema, err);
}

static bool is_code(const hr__arrow_values *values)
{
    return values->form == HR__ARROW_FIXED && values->dtype != HR_FLOAT && values->dtype != HR_DOUBLE;
}

static hr_status entries_of(const struct ArrowSchema *schema, hr__arrow_type *out, hr_error *err)
{
    out->coded = schema->dictionary != NULL;
    if (!out->coded) return arrow_type_values_of(out->name, schema, &out->values, err);
    HR_TRY(arrow_type_values_of(out->name, schema, &out->codes, err));
    if (!is_code(&out->codes)) return refuse_format(out->name, schema, err);
    if (schema->dictionary->dictionary) return refuse_format(out->name, schema->dictionary, err);
    return arrow_type_values_of(out->name, schema->dictionary, &out->values, err);
}

hr_status hr__arrow_type_of(const struct ArrowSchema *schema, hr__arrow_type *out, hr_error *err)
{
    out->format = schema->format ? schema->format : "";
    out->list = HR__ARROW_SCALAR;
    out->width = 1;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (is_format(out->format, lists[i].format)) out->list = lists[i].list;
    if (out->list == HR__ARROW_SCALAR) return entries_of(schema, out, err);
    out->width = out->list == HR__ARROW_FIXED_LIST ? arrow_type_size_of(out->format) : -1;
    if (out->list == HR__ARROW_FIXED_LIST && out->width < 0) return refuse_format(out->name, schema, err);
    if (schema->n_children != 1 || !schema->children || !schema->children[0])
        return refuse_format(out->name, schema, err);
    return entries_of(schema->children[0], out, err);
}

static bool is_real(hr_dtype dtype) { return dtype == HR_FLOAT || dtype == HR_DOUBLE; }

static bool arrow_type_is_whole(hr_dtype dtype)
{
    return dtype == HR_INT64 || dtype == HR_INT32 || dtype == HR_INT16 || dtype == HR_INT8 || dtype == HR_UINT64 ||
           dtype == HR_UINT32 || dtype == HR_UINT16 || dtype == HR_UINT8 || dtype == HR_BOOL;
}

bool hr__arrow_converts(const hr__arrow_type *type, hr_dtype dtype)
{
    const hr_dtype from = type->values.dtype;
    if (from == dtype || from == HR_INVALID_DTYPE) return true;
    return (arrow_type_is_whole(from) && arrow_type_is_whole(dtype)) ||
           ((arrow_type_is_whole(from) || is_real(from)) && is_real(dtype));
}
