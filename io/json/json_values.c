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
}

hr_status hr__json_cell_open(hr__json_cell *cell, hr_dtype dtype, hr_error *err)
{
    if (cell->steps == cell->capacity) {
        const size_t capacity = 2 * cell->capacity + 16;
        hr__wire_values *grown = hr_realloc(cell->step, capacity * sizeof *grown);
        if (!grown) return hr_no_memory(err, "the values of a feature");
        cell->step = grown;
        cell->capacity = capacity;
    }
    cell->step[cell->steps++] = (hr__wire_values){.dtype = dtype};
    return HR_OK;
}

/* Says that the step holds values of this kind; it may hold no others. */
static hr_status be(hr_json_reader *r, hr_dtype dtype, hr_error *err)
{
    hr__wire_values *step = &r->cell.step[r->cell.steps - 1];
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

/* Whether `size` bytes more may become of the record: of "-1,", three characters, ten do. */
static hr_status check_size(const hr_json_reader *r, size_t size, hr_error *err)
{
    const size_t used = hr__example_size(r->example) + r->cell.values.size;
    if (used <= r->max && size <= r->max - used) return HR_OK;
    return hr__json_fail(&r->json, err, "json.limit",
                         "feature '%.60s': expected an object that becomes a tf.Example of at most %zu bytes, found a "
                         "longer one; give a larger .max_row_bytes if that is right",
                         r->key.data ? r->key.data : "", r->max);
}

/* A value's bytes on the wire were added: they belong to the last step. */
static void count_value(hr_json_reader *r, size_t size)
{
    hr__wire_values *step = &r->cell.step[r->cell.steps - 1];
    step->size += size;
    step->count++;
}

static hr_status json_values_add(hr_json_reader *r, hr_dtype dtype, const char *value, size_t size, hr_error *err)
{
    HR_TRY(be(r, dtype, err));
    HR_TRY(check_size(r, size, err));
    hr__text_bytes(&r->cell.values, value, size);
    count_value(r, size);
    return HR_OK;
}

static hr_status add_int64(hr_json_reader *r, int64_t value, hr_error *err)
{
    char varint[HR__MAX_VARINT];
    const char *end = hr__put_varint(varint, (uint64_t)value);
    return json_values_add(r, HR_INT64, varint, (size_t)(end - varint), err);
}

hr_status hr__json_store(hr_json_reader *r, bool list, hr_error *err)
{
    hr__json_cell *c = &r->cell;
    HR_TRY(hr__text_status(&c->values, "the values of a feature", err));
    const char *bytes = c->values.data ? c->values.data : "";
    for (size_t i = 0; i < c->steps; bytes += c->step[i++].size) c->step[i].bytes = bytes;
    const hr_view key = {r->key.data ? r->key.data : "", (int64_t)r->key.size};
    hr__example_add_wire(r->example, key, c->step, (int64_t)c->steps, list);
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
    return add_int64(r, value, err);
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
    return json_values_add(r, HR_FLOAT, (const char *)&value, sizeof value, err);
}

/* The text of the last token is needed no more: a long one is in memory only once. */
static void drop_text(hr_json_reader *r, hr_view text)
{
    if (text.size == 0 || text.data != r->json.scratch.data) return;
    r->json.token.text = (hr_view){"", 0};
    hr__text_clear(&r->json.scratch);
}

hr_status hr__json_add_bytes(hr_json_reader *r, hr_view bytes, hr_error *err)
{
    char head[1 + HR__MAX_VARINT];
    const size_t head_size = (size_t)(hr__put_head(head, HR__TAG_1, (uint64_t)bytes.size) - head);
    HR_TRY(be(r, HR_STRING, err));
    HR_TRY(check_size(r, head_size + (size_t)bytes.size, err));
    hr__text_bytes(&r->cell.values, head, head_size);
    hr__text_bytes(&r->cell.values, bytes.data, (size_t)bytes.size);
    count_value(r, head_size + (size_t)bytes.size);
    drop_text(r, bytes);
    return HR_OK;
}

/* How long the bytes are is known when they are there: they move to where their length ends. */
hr_status hr__json_add_base64(hr_json_reader *r, hr_view text, hr_error *err)
{
    static const char pad[1 + HR__MAX_VARINT];
    hr__text *values = &r->cell.values;
    HR_TRY(be(r, HR_STRING, err));
    HR_TRY(check_size(r, (size_t)text.size / 4 * 3, err));
    const size_t before = values->size, begin = before + sizeof pad;
    hr__text_bytes(values, pad, sizeof pad);
    if (!hr__base64_decode(text, values)) return hr__json_mismatch(r, "base64", err);
    if (values->failed) return HR_OK; /* as the store says */
    const size_t size = values->size - begin;
    char *to = hr__put_head(values->data + before, HR__TAG_1, size);
    memmove(to, values->data + begin, size);
    values->size = (size_t)(to - values->data) + size;
    count_value(r, values->size - before);
    drop_text(r, text);
    return HR_OK;
}

/* {"$b64": "//4="} or {"$float": "NaN"}, one value, after its brace. */
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
        if (!want.stored || want.stored == HR_INT64) return add_int64(r, truth, err);
    }
    if (t->kind == HR__JSON_BEGIN_OBJECT) return add_object(r, err);
    return hr__json_mismatch(r,
                             want.stored == HR_INT64   ? "a whole number"
                             : want.stored == HR_FLOAT ? "a number"
                             : want.stored             ? "a string"
                                                       : "a number, a string, true or false",
                             err);
}
