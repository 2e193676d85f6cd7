/* Examples out of JSON: one object after the other. A member is a feature; a member whose value is an object is the
 * map of features, or of feature lists, in the short form or in protobuf's, unless the object's first key is one of
 * the words that begin with a dollar. */
#include "io/json/example_from_json.h"
#include "io/example/example_wire.h"
#include "io/framing.h"
#include "io/json/json_writer.h"
#include <inttypes.h>
#include <string.h>

/* ---- opening ---- */

/* Without a schema a number with a point is a float32, whatever its digits. */
static void tell_rounded(const hr_json_reader *r)
{
    if (r->rounded.count == 0) return;
    hr_log_message(HR_WARNING,
                   "%s: float32 rounds %" PRId64 " value%s, first in record %" PRId64
                   ": \"%s\"; a schema that says int64 or string keeps them",
                   r->name, r->rounded.count, r->rounded.count == 1 ? "" : "s", r->rounded.record, r->rounded.first);
}

void hr_json_reader_free(hr_json_reader *r)
{
    if (!r) return;
    tell_rounded(r);
    hr__json_reader_clear(&r->json);
    hr_input_free(r->in);
    hr_free(r->name);
    hr_example_free(r->example);
    hr__text_free(&r->key);
    hr__text_free(&r->cell.values);
    hr_free(r->cell.step);
    hr_free(r);
}

static hr_status example_from_json_make(const char *name, const hr_json_reader_opts *o, hr_json_reader **out,
                                        hr_error *err)
{
    hr_json_reader *r = *out = hr_calloc(1, sizeof *r);
    if (!r || !(r->name = hr_strdup(name)) || !(r->example = hr_sequence_example_new()))
        return hr_no_memory(err, "reading JSON");
    r->record = -1;
    r->schema = o->schema;
    r->max = hr__record_limit(o->max_row_bytes);
    return HR_OK;
}

static hr_status made(hr_status status, hr_json_reader **out)
{
    if (status == HR_OK) return HR_OK;
    hr_json_reader_free(*out);
    *out = NULL;
    return status;
}

hr_status hr_json_reader_open_with(const char *path, const hr_json_reader_opts *opts, hr_json_reader **out,
                                   hr_error *err)
{
    const hr_json_reader_opts o = HR_OPTIONS(hr_json_reader_opts, opts);
    const hr_input_opts in = {.struct_size = sizeof in, .compression = o.compression};
    hr_status st = example_from_json_make(path, &o, out, err);
    if (st == HR_OK) st = hr_input_open_with(path, &in, &(*out)->in, err);
    if (st == HR_OK) hr__json_begin_input(&(*out)->json, (*out)->in, (int64_t)hr__record_limit(o.max_row_bytes));
    return made(st, out);
}

hr_status hr_json_reader_text_with(const char *name, hr_view text, const hr_json_reader_opts *opts,
                                   hr_json_reader **out, hr_error *err)
{
    const hr_json_reader_opts o = HR_OPTIONS(hr_json_reader_opts, opts);
    hr_status st = example_from_json_make(name, &o, out, err);
    if (st == HR_OK) hr__json_begin_text(&(*out)->json, (*out)->name, text);
    return made(st, out);
}

void hr__json_reader_line(hr_json_reader *r, hr_view text, int64_t line, int64_t offset)
{
    hr__json_begin_text(&r->json, r->name, text);
    r->json.line = line - 1;
    r->json.bol = offset;
    r->json.before += offset;
    r->status = HR_OK;
}

int64_t hr_json_reader_line(const hr_json_reader *reader) { return reader->line; }

int64_t hr_json_reader_offset(const hr_json_reader *reader) { return reader->offset; }

/* ---- keys ---- */

static bool key_is(const hr_json_reader *r, const char *word)
{
    return r->key.data && r->key.size == strlen(word) && memcmp(r->key.data, word, r->key.size) == 0;
}

/* Keeps the key of the last token: "$b64:..." is one of any bytes, "$$x" is "$x". */
static hr_status keep_key(hr_json_reader *r, hr_error *err)
{
    static const char b64[] = "$b64:";
    hr_view key = r->json.token.text;
    hr__text_clear(&r->key);
    if (key.size >= 5 && memcmp(key.data, b64, 5) == 0) {
        if (hr__base64_decode((hr_view){key.data + 5, key.size - 5}, &r->key)) return HR_OK;
        return hr__json_fail(&r->json, err, "json.key", "expected base64 after \"$b64:\"");
    }
    const bool doubled = key.size >= 2 && memcmp(key.data, "$$", 2) == 0;
    hr__text_bytes(&r->key, key.data + doubled, (size_t)key.size - doubled);
    return hr__text_status(&r->key, "a key", err);
}

/* ---- one feature ---- */

/* The rest of an array of values. */
static hr_status read_values(hr_json_reader *r, hr__json_want want, hr_error *err)
{
    for (;;) {
        HR_TRY(hr__json_next(&r->json, err));
        if (r->json.token.kind == HR__JSON_END_ARRAY) return HR_OK;
        HR_TRY(hr__json_add_value(r, want, err));
    }
}

/* Reads what follows {"$float", the last token: a value or an array of them, of that kind. */
static hr_status read_typed(hr_json_reader *r, hr__json_want want, hr_error *err)
{
    const hr_dtype dtype = hr__json_kind_of_word(r->json.token.text);
    const bool b64 = r->json.token.text.size == 4;
    if (!dtype) return hr__json_mismatch(r, "$int64, $float, $bytes or $b64", err);
    if (want.stored && want.stored != dtype) return hr__json_mismatch(r, hr_dtype_name(want.stored), err);
    if (!want.stored) want = (hr__json_want){dtype, dtype};
    r->cell.step[r->cell.steps - 1].dtype = dtype;
    HR_TRY(hr__json_next(&r->json, err));
    if (b64)
        HR_TRY(r->json.token.kind == HR__JSON_STRING ? hr__json_add_base64(r, r->json.token.text, err)
                                                     : hr__json_mismatch(r, "a string", err));
    else if (r->json.token.kind == HR__JSON_BEGIN_ARRAY)
        HR_TRY(read_values(r, want, err));
    else if (dtype == HR_FLOAT && r->json.token.kind == HR__JSON_STRING)
        HR_TRY(hr__json_add_float(r, r->json.token.text, err));
    else
        HR_TRY(hr__json_add_value(r, want, err));
    return hr__json_need(r, HR__JSON_END_OBJECT, "the end of the object", err);
}

/* A step, or a feature that is no map: the last token begins it. */
static hr_status example_from_json_read_step(hr_json_reader *r, hr__json_want want, hr_error *err)
{
    HR_TRY(hr__json_cell_open(&r->cell, want.stored, err));
    if (r->json.token.kind == HR__JSON_NULL && !want.stored) return HR_OK;
    if (r->json.token.kind == HR__JSON_BEGIN_ARRAY) return read_values(r, want, err);
    if (r->json.token.kind != HR__JSON_BEGIN_OBJECT) return hr__json_add_value(r, want, err);
    HR_TRY(hr__json_need(r, HR__JSON_KEY, "$int64, $float, $bytes or $b64", err));
    return read_typed(r, want, err);
}

/* Passes over the rest of an object whose first key, or end, is the last token. */
static hr_status skip_members(hr_json_reader *r, hr_error *err)
{
    const int depth = r->json.depth;
    if (r->json.token.kind == HR__JSON_END_OBJECT) return HR_OK;
    while (r->json.depth >= depth) HR_TRY(hr__json_next(&r->json, err));
    return HR_OK;
}

/* A feature whose value the last token begins; an object's first key has been read. */
static hr_status read_feature(hr_json_reader *r, bool typed, hr_error *err)
{
    hr__json_want want;
    const bool missing = r->schema && r->json.token.kind == HR__JSON_NULL;
    if (!hr__json_wanted(r, &want) || missing) return typed ? skip_members(r, err) : hr__json_skip(&r->json, err);
    hr__json_cell_begin(&r->cell);
    if (!typed) {
        HR_TRY(example_from_json_read_step(r, want, err));
    } else {
        HR_TRY(hr__json_cell_open(&r->cell, want.stored, err));
        HR_TRY(read_typed(r, want, err));
    }
    return hr__json_store(r, false, err);
}

/* The value of the member r->key of a map of feature lists. */
static hr_status example_from_json_read_list(hr_json_reader *r, hr_error *err)
{
    hr__json_want want;
    HR_TRY(hr__json_next(&r->json, err));
    if (r->json.token.kind == HR__JSON_BEGIN_OBJECT && (key_is(r, "featureList") || key_is(r, "feature_list"))) {
        HR_TRY(hr__json_next(&r->json, err));
        return hr__json_protobuf_lists(r, err);
    }
    if (!hr__json_wanted(r, &want)) return hr__json_skip(&r->json, err);
    if (r->json.token.kind != HR__JSON_BEGIN_ARRAY) return hr__json_mismatch(r, "an array of steps", err);
    hr__json_cell_begin(&r->cell);
    for (;;) {
        HR_TRY(hr__json_next(&r->json, err));
        if (r->json.token.kind == HR__JSON_END_ARRAY) return hr__json_store(r, true, err);
        HR_TRY(example_from_json_read_step(r, want, err));
    }
}

/* ---- maps ---- */

static hr_status read_member(hr_json_reader *r, bool at_top, hr_error *err);

/* Members up to the end of an object; `first`: the key of the first one is the last token. */
static hr_status read_members(hr_json_reader *r, bool at_top, bool first, hr_error *err)
{
    for (;; first = false) {
        if (!first) HR_TRY(hr__json_next(&r->json, err));
        if (r->json.token.kind == HR__JSON_END_OBJECT) return HR_OK;
        HR_TRY(keep_key(r, err));
        HR_TRY(read_member(r, at_top, err));
    }
}

static hr_status read_lists(hr_json_reader *r, hr_error *err)
{
    hr_example_set_present(r->example, false, true);
    while (r->json.token.kind != HR__JSON_END_OBJECT) {
        HR_TRY(keep_key(r, err));
        HR_TRY(example_from_json_read_list(r, err));
        HR_TRY(hr__json_next(&r->json, err));
    }
    return HR_OK;
}

/* An object that is no value: the last token is its first key or its end. */
static hr_status example_from_json_read_map(hr_json_reader *r, bool at_top, hr_error *err)
{
    const bool features = key_is(r, "features") || key_is(r, "context");
    if (at_top && (key_is(r, "featureLists") || key_is(r, "feature_lists"))) return read_lists(r, err);
    if (at_top && features) {
        hr_example_set_present(r->example, true, false);
        return read_members(r, false, true, err);
    }
    if (!at_top && key_is(r, "feature")) return hr__json_protobuf_features(r, err);
    hr__json_want want;
    if (!hr__json_wanted(r, &want)) return skip_members(r, err);
    return hr__json_mismatch(r, "a value, an array, or an object with one of $int64, $float, $bytes, $b64", err);
}

/* The value of the member r->key. */
static hr_status read_member(hr_json_reader *r, bool at_top, hr_error *err)
{
    HR_TRY(hr__json_next(&r->json, err));
    if (r->json.token.kind != HR__JSON_BEGIN_OBJECT) return read_feature(r, false, err);
    HR_TRY(hr__json_next(&r->json, err));
    if (r->json.token.kind == HR__JSON_KEY && hr__json_kind_of_word(r->json.token.text))
        return read_feature(r, true, err);
    return example_from_json_read_map(r, at_top, err);
}

/* ---- records ---- */

static hr_status example_from_json_read_record(hr_json_reader *r, hr_view *record, hr_error *err)
{
    hr_example_clear(r->example);
    HR_TRY(hr__json_next(&r->json, err));
    r->line = r->json.token.line;
    r->offset = r->json.token.offset;
    if (r->json.token.kind == HR__JSON_NONE) return HR_END;
    r->record++;
    hr__text_clear(&r->key);
    if (r->json.token.kind != HR__JSON_BEGIN_OBJECT) {
        char found[80];
        return hr__json_fail(&r->json, err, "json.type", "expected an object, found %s%s",
                             hr__json_found(&r->json, found),
                             r->json.token.kind == HR__JSON_BEGIN_ARRAY ? "; write its objects one after the other, as "
                                                                          "jq -c '.[]' does"
                                                                        : "");
    }
    HR_TRY(read_members(r, true, false, err));
    HR_TRY(hr_example_bytes(r->example, record, err));
    const bool repeats = hr__example_repeats(r->example);
    hr__example_drop_values(r->example);
    if (!repeats) return HR_OK;
    return hr__json_fail(&r->json, err, "json.key",
                         "expected each key once, found one twice in the record of line %lld", (long long)r->line);
}

hr_status hr_json_read(hr_json_reader *r, hr_view *record, hr_error *err)
{
    *record = (hr_view){NULL, 0};
    if (r->status == HR_OK) {
        r->status = example_from_json_read_record(r, record, &r->error);
        if (r->status < 0) r->error.record = r->record;
    }
    if (r->status < 0 && err) *err = r->error;
    return r->status;
}
