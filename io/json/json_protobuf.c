/* Examples in the form of protobuf's JSON mapping: {"age": {"int64List": {"value": ["3"]}}}. Names in camelCase or as
 * in the .proto file. */
#include "io/json/example_from_json.h"
#include <string.h>

static bool token_is(const hr_json_reader *r, const char *camel, const char *snake)
{
    const hr_view v = r->json.token.text;
    const size_t size = (size_t)v.size;
    return (size == strlen(camel) && memcmp(v.data, camel, size) == 0) ||
           (size == strlen(snake) && memcmp(v.data, snake, size) == 0);
}

static hr_status json_protobuf_add(hr_json_reader *r, hr_dtype dtype, hr_error *err)
{
    const hr__json_token *t = &r->json.token;
    const bool string = t->kind == HR__JSON_STRING, number = t->kind == HR__JSON_NUMBER;
    if (dtype == HR_STRING)
        return string ? hr__json_add_base64(r, t->text, err) : hr__json_mismatch(r, "base64 in a string", err);
    if (!string && !number) return hr__json_mismatch(r, "a number", err);
    return dtype == HR_FLOAT ? hr__json_add_float(r, t->text, err) : hr__json_add_int64(r, t->text, HR_INT64, err);
}

/* {"value": [...]} */
static hr_status read_values(hr_json_reader *r, hr_dtype dtype, hr_error *err)
{
    HR_TRY(hr__json_need(r, HR__JSON_BEGIN_OBJECT, "an object with the key \"value\"", err));
    HR_TRY(hr__json_next(&r->json, err));
    if (r->json.token.kind == HR__JSON_END_OBJECT) return HR_OK;
    if (!token_is(r, "value", "value")) return hr__json_mismatch(r, "the key \"value\"", err);
    HR_TRY(hr__json_need(r, HR__JSON_BEGIN_ARRAY, "an array", err));
    for (;;) {
        HR_TRY(hr__json_next(&r->json, err));
        if (r->json.token.kind == HR__JSON_END_ARRAY) break;
        HR_TRY(json_protobuf_add(r, dtype, err));
    }
    return hr__json_need(r, HR__JSON_END_OBJECT, "the end of the object", err);
}

/* A Feature, whose brace is the last token, as a step of the cell. */
static hr_status read_message(hr_json_reader *r, hr_error *err)
{
    HR_TRY(hr__json_cell_open(&r->cell, HR_INVALID_DTYPE, err));
    if (r->json.token.kind != HR__JSON_BEGIN_OBJECT) return hr__json_mismatch(r, "an object", err);
    HR_TRY(hr__json_next(&r->json, err));
    if (r->json.token.kind == HR__JSON_END_OBJECT) return HR_OK;
    const hr_dtype dtype = token_is(r, "int64List", "int64_list")   ? HR_INT64
                           : token_is(r, "floatList", "float_list") ? HR_FLOAT
                           : token_is(r, "bytesList", "bytes_list") ? HR_STRING
                                                                    : HR_INVALID_DTYPE;
    if (!dtype) return hr__json_mismatch(r, "int64List, floatList or bytesList", err);
    r->cell.step[r->cell.steps - 1].dtype = dtype;
    HR_TRY(read_values(r, dtype, err));
    return hr__json_need(r, HR__JSON_END_OBJECT, "the end of the object: one list a feature", err);
}

/* {"feature": [...]}, the steps of a list. */
static hr_status read_steps(hr_json_reader *r, hr_error *err)
{
    if (r->json.token.kind != HR__JSON_BEGIN_OBJECT) return hr__json_mismatch(r, "an object", err);
    HR_TRY(hr__json_next(&r->json, err));
    if (r->json.token.kind == HR__JSON_END_OBJECT) return HR_OK;
    if (!token_is(r, "feature", "feature")) return hr__json_mismatch(r, "the key \"feature\"", err);
    HR_TRY(hr__json_need(r, HR__JSON_BEGIN_ARRAY, "an array", err));
    for (;;) {
        HR_TRY(hr__json_next(&r->json, err));
        if (r->json.token.kind == HR__JSON_END_ARRAY) break;
        HR_TRY(read_message(r, err));
    }
    return hr__json_need(r, HR__JSON_END_OBJECT, "the end of the object", err);
}

/* Whether what came is of the type that the schema gives. */
static hr_status check_kinds(const hr_json_reader *r, hr__json_want want, hr_error *err)
{
    for (size_t i = 0; want.stored && i < r->cell.steps; i++)
        if (r->cell.step[i].dtype != HR_INVALID_DTYPE && r->cell.step[i].dtype != want.stored)
            return hr__json_fail(&r->json, err, "json.type", "feature '%.60s': expected values of %s, found %s",
                                 r->key.data ? r->key.data : "", hr_dtype_name(want.stored),
                                 hr_dtype_name(r->cell.step[i].dtype));
    return HR_OK;
}

static hr_status json_protobuf_read_entry(hr_json_reader *r, bool lists, hr_error *err)
{
    hr__json_want want;
    hr__text_clear(&r->key);
    hr__text_bytes(&r->key, r->json.token.text.data, (size_t)r->json.token.text.size);
    HR_TRY(hr__json_next(&r->json, err));
    if (!hr__json_wanted(r, &want)) return hr__json_skip(&r->json, err);
    hr__json_cell_begin(&r->cell);
    HR_TRY(lists ? read_steps(r, err) : read_message(r, err));
    HR_TRY(check_kinds(r, want, err));
    return hr__json_store(r, lists, err);
}

static hr_status json_protobuf_read_map(hr_json_reader *r, bool lists, hr_error *err)
{
    while (r->json.token.kind != HR__JSON_END_OBJECT) {
        HR_TRY(json_protobuf_read_entry(r, lists, err));
        HR_TRY(hr__json_next(&r->json, err));
    }
    return HR_OK;
}

hr_status hr__json_protobuf_features(hr_json_reader *r, hr_error *err) { return json_protobuf_read_map(r, false, err); }

hr_status hr__json_protobuf_lists(hr_json_reader *r, hr_error *err) { return json_protobuf_read_map(r, true, err); }
