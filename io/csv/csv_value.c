/* The text of one field as a value of a column's dtype, and the texts with a meaning of their own (a missing value, a
 * bool). */
#include "base/digits.h"
#include "base/number.h"
#include "io/csv/csv.h"
#include "io/number_text.h"
#include <math.h>
#include <string.h>

/* ---- words ---- */

hr_status hr__csv_words_add(hr__csv_words *words, const char *const *text, int count, hr_error *err)
{
    if (count <= 0) return HR_OK;
    hr_view *grown = hr_realloc(words->word, (size_t)(words->count + count) * sizeof *grown);
    if (!grown) return hr_no_memory(err, "csv");
    words->word = grown;
    for (int i = 0; i < count; i++) {
        const size_t size = strlen(text[i]);
        char *copy = hr_strdup(text[i]);
        if (!copy) return hr_no_memory(err, "csv");
        grown[words->count++] = (hr_view){copy, (int64_t)size};
        words->sizes |= UINT64_C(1) << (size & 63);
    }
    return HR_OK;
}

bool hr__csv_words_have(const hr__csv_words *words, const char *text, size_t size)
{
    for (int i = 0; i < words->count; i++)
        if ((size_t)words->word[i].size == size && memcmp(words->word[i].data, text, size) == 0) return true;
    return false;
}

void hr__csv_words_clear(hr__csv_words *words)
{
    for (int i = 0; i < words->count; i++) hr_free((char *)(uintptr_t)words->word[i].data);
    hr_free(words->word);
    *words = (hr__csv_words){0};
}

/* ---- values ---- */

bool hr__csv_is_missing(const hr__csv_format *f, const hr__csv_column *column, const char *text, size_t size,
                        bool quoted)
{
    if (quoted && f->quoted_never_missing) return false;
    if (column->dtype == HR_STRING && f->strings_never_missing) return false;
    return size == 0 || ((f->na.sizes >> (size & 63) & 1) && hr__csv_words_have(&f->na, text, size));
}

/* Where no words were given: true, false, 1, 0 in any case. TensorFlow's CSV has no bool. */
static bool parse_bool(const hr__csv_format *f, const char *text, size_t size, bool *out)
{
    static const struct {
        const char *text;
        bool value;
    } words[] = {{"true", true}, {"false", false}, {"1", true}, {"0", false}};
    const char *end = text + size;
    hr__trim(&text, &end);
    size = (size_t)(end - text);
    *out = hr__csv_words_have(&f->yes, text, size);
    if (f->yes.count || f->no.count) return *out || hr__csv_words_have(&f->no, text, size);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == size && strncasecmp(words[i].text, text, size) == 0) {
            *out = words[i].value;
            return true;
        }
    return false;
}

static bool has_rules(const hr__csv_format *f) { return f->number_rules && !f->tf_compat; }

/* Both: a numeral that would be infinite is out of range; TensorFlow takes it. */
static bool parse_float(const hr__csv_format *f, const char *text, size_t size, hr__grammar grammar, float *out)
{
    if (hr__parse_float(text, size, grammar, out) != HR__PARSED) return false;
    return !has_rules(f) || !isinf(*out) || !hr__is_numeral(text, size);
}

static bool parse_double(const hr__csv_format *f, const char *text, size_t size, hr__grammar grammar, double *out)
{
    if (hr__parse_double(text, size, grammar, out) != HR__PARSED) return false;
    return !has_rules(f) || !isinf(*out) || !hr__is_numeral(text, size);
}

bool hr__csv_parse_value(const hr__csv_format *f, const hr__csv_column *column, const char *text, size_t size,
                         void *out)
{
    const hr__grammar grammar = f->tf_compat ? HR__NUMBER_TF_COMPAT : HR__NUMBER_DEFAULT;
    if (column->time != HR_CSV_NUMBER) return hr__csv_parse_time(column->time, text, size, out);
    const size_t whole = has_rules(f) ? hr__whole_size(text, size) : size;
    switch (column->dtype) {
    case HR_INT32:
        return hr__parse_int32(text, whole, grammar, out) == HR__PARSED;
    case HR_INT64:
        return hr__parse_int64(text, whole, grammar, out) == HR__PARSED;
    case HR_UINT64:
        return hr__parse_uint64(text, whole, grammar, out) == HR__PARSED;
    case HR_FLOAT:
        return parse_float(f, text, size, grammar, out);
    case HR_DOUBLE:
        return parse_double(f, text, size, grammar, out);
    case HR_BOOL:
        return parse_bool(f, text, size, out);
    default:
        return false;
    }
}
