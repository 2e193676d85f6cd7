/* The text of one field as a value of a column's dtype. */
#include "base/number.h"
#include "io/csv.h"
#include <string.h>

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* true, false, 1, 0 in any case; TensorFlow's CSV has no bool. */
static bool parse_bool(const char *text, size_t size, bool *out)
{
    static const struct {
        const char *text;
        bool value;
    } words[] = {{"true", true}, {"false", false}, {"1", true}, {"0", false}};
    while (size > 0 && is_space(*text)) text++, size--;
    while (size > 0 && is_space(text[size - 1])) size--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == size && strncasecmp(words[i].text, text, size) == 0) {
            *out = words[i].value;
            return true;
        }
    return false;
}

bool hr__csv_parse_value(hr_dtype dtype, bool tf_compat, const char *text, size_t size, void *out)
{
    const hr__grammar grammar = tf_compat ? HR__NUMBER_TF_COMPAT : HR__NUMBER_DEFAULT;
    switch (dtype) {
    case HR_INT32:
        return hr__parse_int32(text, size, grammar, out) == HR__PARSED;
    case HR_INT64:
        return hr__parse_int64(text, size, grammar, out) == HR__PARSED;
    case HR_UINT64:
        return hr__parse_uint64(text, size, grammar, out) == HR__PARSED;
    case HR_FLOAT:
        return hr__parse_float(text, size, grammar, out) == HR__PARSED;
    case HR_DOUBLE:
        return hr__parse_double(text, size, grammar, out) == HR__PARSED;
    case HR_BOOL:
        return parse_bool(text, size, out);
    default:
        return false;
    }
}
