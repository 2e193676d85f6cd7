/* JSON values as the values of a feature: exact, or an error that says what was expected. */
#include "base/number.h"
#include "io/number_text.h"
#include "io/json/example_from_json.h"
#include "io/json/json_writer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hr_status hr__json_mismatch(const hr_json_reader *r, const char *expected, hr_error *err)
{
    char found[80];
    const char *key = r->key.data ? r->key.data : "";
    hr_status st = hr__json_fail(&r->json, err, "json.type", "feature '%.60s': expected %s, found %s", key, expected,
                                 hr__json_found(&r->json, found));
    if (err) snprintf(err->feature, sizeof err->feature, "%s", key);
    return st;
}

hr_dtype hr__json_kind_of_word(hr_view word)
{
    static const struct {
        const char *word;
        hr_dtype dtype;
    } words[] = {{"$int64", HR_INT64}, {"$float", HR_FLOAT}, {"$bytes", HR_STRING}, {"$b64", HR_STRING}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == (size_t)word.size && memcmp(words[i].word, word.data, (size_t)word.size) == 0)
            return words[i].dtype;
    return HR_INVALID_DTYPE;
}

hr_status hr__json_need(hr_json_reader *r, hr__json_kind kind, const char *what, hr_error *err)
{
    HR_TRY(hr__json_next(&r->json, err));
    return r->json.token.kind == kind ? HR_OK : hr__json_mismatch(r, what, err);
}

bool hr__json_wanted(const hr_json_reader *r, hr__json_want *want)
{
    *want = (hr__json_want){HR_INVALID_DTYPE, HR_INVALID_DTYPE};
    if (!r->schema) return true;
    const int field = hr__schema_find_view(r->schema, (hr_view){r->key.data ? r->key.data : "", (int64_t)r->key.size});
    if (field < 0) return false;
    *want = (hr__json_want){r->schema->field[field].dtype, r->schema->field[field].stored};
    return true;
}

/* ---- the cell ---- */

void hr__json_cell_begin(hr__json_cell *cell)
{
    cell->steps = 0;
    hr__text_clear(&cell->values);
    hr__text_clear(&cell->bytes);
}

hr_status hr__json_cell_open(hr__json_cell *cell, hr_dtype dtype, hr_error *err)
{
    if (cell->steps == cell->room) {
        const size_t room = 2 * cell->room + 16;
        hr_tensor *grown = hr_realloc(cell->step, room * sizeof *grown);
        if (!grown) return hr_no_memory(err, "the values of a feature");
        cell->step = grown;
        cell->room = room;
    }
    while (cell->values.size % 8) hr__text_byte(&cell->values, 0);
    cell->step[cell->steps++] =
        (hr_tensor){.dtype = dtype, .shape = HR_SHAPE(0), .data = (void *)(uintptr_t)cell->values.size};
    return HR_OK;
}

/* Says that the step holds values of this kind; it may hold no others. */
static hr_status be(hr_json_reader *r, hr_dtype dtype, hr_error *err)
{
    hr_tensor *step = &r->cell.step[r->cell.steps - 1];
    if (step->dtype == HR_INVALID_DTYPE && step->count == 0) step->dtype = dtype;
    if (step->dtype == dtype) return HR_OK;
    if (step->dtype == HR_STRING) return hr__json_mismatch(r, "a string, as before", err);
    const bool whole = step->dtype == HR_INT64;
    if (dtype == HR_STRING)
        return hr__json_mismatch(r, whole ? "a whole number, as before" : "a number with a point, as before", err);
    return hr__json_mismatch(r,
                             whole ? "a whole number, as before, or a .schema that says float"
                                   : "a number with a point or an exponent, as before, or a .schema that says float",
                             err);
}

/* Two characters may be eight bytes of a number, or three sixteen of a string. */
static hr_status check_cell(const hr_json_reader *r, hr_error *err)
{
    if (r->cell.values.size + r->cell.bytes.size <= r->most) return HR_OK;
    return hr__json_fail(&r->json, err, "json.limit",
                         "feature '%.60s': expected values of at most %zu bytes in memory (8 for a whole number, 4 for "
                         "a float, 16 and its bytes for a string), found more; give a larger .max_row_bytes if that "
                         "is right",
                         r->key.data ? r->key.data : "", r->most);
}

static hr_status add(hr_json_reader *r, hr_dtype dtype, const void *value, hr_error *err)
{
    HR_TRY(be(r, dtype, err));
    HR_TRY(check_cell(r, err));
    hr__text_bytes(&r->cell.values, value, hr_dtype_size(dtype));
    r->cell.step[r->cell.steps - 1].count++;
    return HR_OK;
}

hr_status hr__json_store(hr_json_reader *r, bool list, hr_error *err)
{
    hr__json_cell *c = &r->cell;
    HR_TRY(hr__text_status(&c->values, "the values of a feature", err));
    HR_TRY(hr__text_status(&c->bytes, "the values of a feature", err));
    for (size_t i = 0; i < c->steps; i++) {
        hr_tensor *t = &c->step[i];
        t->data = t->count > 0 ? c->values.data + (uintptr_t)t->data : NULL;
        if (t->dtype != HR_STRING) continue;
        for (int64_t k = 0; k < t->count; k++) {
            hr_view *v = (hr_view *)t->data + k;
            v->data = v->size > 0 ? c->bytes.data + (uintptr_t)v->data : "";
        }
    }
    const hr_view key = {r->key.data ? r->key.data : "", (int64_t)r->key.size};
    if (list)
        hr_example_add_list(r->example, key, c->step, (int64_t)c->steps);
    else
        hr_example_add(r->example, key, &c->step[0]);
    hr__json_cell_begin(c);
    return HR_OK;
}

/* ---- values ---- */

static hr_status out_of_range(const hr_json_reader *r, hr_dtype dtype, hr_error *err)
{
    char expected[64];
    snprintf(expected, sizeof expected, "a number that %s can hold", hr_dtype_name(dtype));
    hr_status st = hr__json_mismatch(r, expected, err);
    if (err) err->kind = "json.range";
    return st;
}

hr_status hr__json_add_int64(hr_json_reader *r, hr_view digits, hr_dtype dtype, hr_error *err)
{
    int64_t value;
    uint64_t natural;
    digits.size = (int64_t)hr__whole_size(digits.data, (size_t)digits.size);
    hr__parsed parsed = hr__parse_int64(digits.data, (size_t)digits.size, HR__NUMBER_DEFAULT, &value);
    if (parsed == HR__NO_NUMBER) return hr__json_mismatch(r, "a whole number", err);
    if (parsed == HR__OVERFLOW && dtype == HR_UINT64 &&
        hr__parse_uint64(digits.data, (size_t)digits.size, HR__NUMBER_DEFAULT, &natural) == HR__PARSED)
        memcpy(&value, &natural, sizeof value);
    else if (parsed == HR__OVERFLOW || (dtype == HR_UINT64 && value < 0))
        return out_of_range(r, dtype == HR_INVALID_DTYPE ? HR_INT64 : dtype, err);
    if (dtype == HR_INT32 && value != (int32_t)value) return out_of_range(r, dtype, err);
    if (dtype == HR_BOOL && value != 0 && value != 1) return hr__json_mismatch(r, "false, true, 0 or 1", err);
    return add(r, HR_INT64, &value, err);
}

/* The bits of a NaN: 0x7fc00001. */
static bool parse_bits(hr_view text, float *value)
{
    char copy[11], *end;
    if (text.size != 10 || memcmp(text.data, "0x", 2) != 0 || memchr(text.data, '\0', 10)) return false;
    memcpy(copy, text.data, 10);
    copy[10] = '\0';
    const unsigned long long all = strtoull(copy + 2, &end, 16);
    const uint32_t bits = (uint32_t)all;
    memcpy(value, &bits, sizeof bits);
    return *end == '\0' && copy[2] != '-' && copy[2] != '+' && isnan(*value);
}

hr_status hr__json_add_float(hr_json_reader *r, hr_view text, hr_error *err)
{
    float value;
    const bool bits = text.size > 1 && text.data[1] == 'x';
    if (bits ? !parse_bits(text, &value)
             : hr__parse_float(text.data, (size_t)text.size, HR__NUMBER_DEFAULT, &value) != HR__PARSED)
        return hr__json_mismatch(r, "a number", err);
    if (isinf(value) && hr__is_numeral(text.data, (size_t)text.size)) return out_of_range(r, HR_FLOAT, err);
    return add(r, HR_FLOAT, &value, err);
}

hr_status hr__json_add_bytes(hr_json_reader *r, hr_view bytes, hr_error *err)
{
    const hr_view placed = {(const char *)(uintptr_t)r->cell.bytes.size, bytes.size};
    hr__text_bytes(&r->cell.bytes, bytes.data, (size_t)bytes.size);
    HR_TRY(add(r, HR_STRING, &placed, err));
    if (bytes.size == 0 || bytes.data != r->json.scratch.data) return HR_OK;
    r->json.token.text = (hr_view){"", 0};
    hr__text_clear(&r->json.scratch); /* a long string is in memory only once */
    return HR_OK;
}

hr_status hr__json_add_base64(hr_json_reader *r, hr_view text, hr_error *err)
{
    const size_t before = r->cell.bytes.size;
    if (!hr__base64_decode(text, &r->cell.bytes)) return hr__json_mismatch(r, "base64", err);
    const hr_view placed = {(const char *)(uintptr_t)before, (int64_t)(r->cell.bytes.size - before)};
    return add(r, HR_STRING, &placed, err);
}

/* {"$b64": "//4="} or {"$float": "NaN"}, one value, behind its brace. */
static hr_status add_object(hr_json_reader *r, hr_error *err)
{
    static const char expected[] = "a value, or {\"$b64\": ...} or {\"$float\": ...}";
    HR_TRY(hr__json_need(r, HR__JSON_KEY, expected, err));
    const hr_view word = r->json.token.text;
    const bool b64 = word.size == 4 && memcmp(word.data, "$b64", 4) == 0;
    if (!b64 && (word.size != 6 || memcmp(word.data, "$float", 6) != 0)) return hr__json_mismatch(r, expected, err);
    HR_TRY(hr__json_need(r, HR__JSON_STRING, "a string", err));
    HR_TRY((b64 ? hr__json_add_base64 : hr__json_add_float)(r, r->json.token.text, err));
    return hr__json_need(r, HR__JSON_END_OBJECT, "the end of the object", err);
}

static hr_status add_number(hr_json_reader *r, hr__json_want want, hr_error *err)
{
    const hr_view text = r->json.token.text;
    bool whole = true;
    for (int64_t i = 0; i < text.size; i++)
        whole &= text.data[i] == '-' || (text.data[i] >= '0' && text.data[i] <= '9');
    const hr_dtype as = want.stored ? want.stored : whole ? HR_INT64 : HR_FLOAT;
    if (as == HR_STRING) return hr__json_mismatch(r, "a string", err);
    if (as == HR_FLOAT) hr__note_rounded(&r->rounded, text.data, (size_t)text.size, r->record);
    if (as == HR_FLOAT) return hr__json_add_float(r, text, err);
    return hr__json_add_int64(r, text, want.dtype, err);
}

hr_status hr__json_add_value(hr_json_reader *r, hr__json_want want, hr_error *err)
{
    const hr__json_token *t = &r->json.token;
    if (t->kind == HR__JSON_NUMBER) return add_number(r, want, err);
    if (t->kind == HR__JSON_STRING && (!want.stored || want.stored == HR_STRING))
        return hr__json_add_bytes(r, t->text, err);
    /* As protobuf writes what is not finite. */
    if (t->kind == HR__JSON_STRING && want.stored == HR_FLOAT && t->text.size > 0 &&
        t->text.data[t->text.size - 1] > '9')
        return hr__json_add_float(r, t->text, err);
    if (t->kind == HR__JSON_TRUE || t->kind == HR__JSON_FALSE) {
        const bool truth = t->kind == HR__JSON_TRUE;
        if (!want.stored || want.stored == HR_INT64) return add(r, HR_INT64, &(int64_t){truth}, err);
    }
    if (t->kind == HR__JSON_BEGIN_OBJECT) return add_object(r, err);
    return hr__json_mismatch(r,
                             want.stored == HR_INT64   ? "a whole number"
                             : want.stored == HR_FLOAT ? "a number"
                             : want.stored             ? "a string"
                                                       : "a number, a string, true or false",
                             err);
}
