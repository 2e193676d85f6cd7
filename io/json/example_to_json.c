/* Examples as lines of JSON, in the short form, whose literals say the kind, and in that of protobuf's JSON mapping. */
#include "io/example/wanted_features.h"
#include "io/json/example_from_json.h"
#include "io/json/json_writer.h"
#include <headrace/examples.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct hr_json_writer {
    hr_example_walk *walk;
    char **name; /* the features that are wanted */
    int names;
    hr__wanted wanted;
    bool protobuf;
    hr__text line;
};

void hr_json_writer_free(hr_json_writer *writer)
{
    if (!writer) return;
    for (int i = 0; i < writer->names; i++) hr_free(writer->name[i]);
    hr_free(writer->name);
    hr__wanted_clear(&writer->wanted);
    hr_example_walk_free(writer->walk);
    hr__text_free(&writer->line);
    hr_free(writer);
}

hr_status hr_json_writer_new_with(const hr_json_writer_opts *opts, hr_json_writer **out, hr_error *err)
{
    const hr_json_writer_opts o = HR_OPTIONS(hr_json_writer_opts, opts);
    *out = NULL;
    for (int i = 0; i < o.feature_count; i++)
        if (!o.features || !o.features[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "json.features",
                           "writing JSON: expected %d names of .features, got NULL as number %d", o.feature_count, i);
    hr_json_writer *writer = hr_calloc(1, sizeof *writer);
    bool good = writer && (writer->walk = hr_example_walk_new()) &&
                (writer->name = hr_calloc((size_t)o.feature_count + 1, sizeof *writer->name)) &&
                hr__wanted_make(&writer->wanted, o.feature_count, NULL) == HR_OK;
    for (int i = 0; good && i < o.feature_count; i++) {
        char *name = writer->name[writer->names++] = hr_strdup(o.features[i]);
        good = name != NULL;
        good = good && hr__wanted_add(&writer->wanted, (hr_view){name, (int64_t)strlen(name)}, NULL) == HR_OK;
    }
    *out = good ? writer : NULL;
    if (good) {
        writer->protobuf = o.protobuf;
        return HR_OK;
    }
    hr_json_writer_free(writer);
    return hr_no_memory(err, "writing JSON");
}

static bool is_wanted(const hr_json_writer *writer, hr_view key)
{
    return writer->names == 0 || hr__map_find(&writer->wanted.place, key.data, (size_t)key.size);
}

/* ---- the short form ---- */

/* A key is text; other bytes follow "$b64:", and one that begins with a dollar has it doubled. */
static void put_key(hr__json_writer *w, hr_view key)
{
    const bool text = hr__is_utf8(key.data, (size_t)key.size);
    if (text && (key.size == 0 || key.data[0] != '$')) {
        hr__json_key_view(w, key);
        return;
    }
    hr__text shown = {0};
    hr__text_add(&shown, text ? "$" : "$b64:");
    if (text)
        hr__text_bytes(&shown, key.data, (size_t)key.size);
    else
        hr__base64_encode(key, &shown);
    if (!shown.failed) hr__json_key_view(w, (hr_view){shown.data, (int64_t)shown.size});
    w->to->failed |= shown.failed;
    hr__text_free(&shown);
}

/* {"$float": "NaN"}; other NaNs by their bits. */
static void put_special(hr__json_writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    hr__json_begin(w, '{');
    hr__json_key(w, "$float");
    if (isnan(value) && bits != 0x7fc00000) {
        char text[16];
        hr__json_string(w, (hr_view){text, snprintf(text, sizeof text, "0x%08x", (unsigned)bits)});
    } else {
        hr__json_float(w, value);
    }
    hr__json_end(w, '}');
}

static void put_bytes(hr__json_writer *w, hr_view bytes)
{
    if (hr__is_utf8(bytes.data, (size_t)bytes.size)) {
        hr__json_string(w, bytes);
        return;
    }
    hr__json_begin(w, '{');
    hr__json_key(w, "$b64");
    hr__json_base64(w, bytes);
    hr__json_end(w, '}');
}

static void example_to_json_put_value(hr__json_writer *w, const hr__values *t, int64_t i)
{
    if (t->dtype == HR_INT64)
        hr__json_int64(w, ((const int64_t *)t->data)[i]);
    else if (t->dtype == HR_STRING)
        put_bytes(w, ((const hr_view *)t->data)[i]);
    else if (isfinite(((const float *)t->data)[i]))
        hr__json_float(w, ((const float *)t->data)[i]);
    else
        put_special(w, ((const float *)t->data)[i]);
}

/* The word for a kind, where no value shows it. */
static const char *kind_word(hr_dtype dtype)
{
    return dtype == HR_INT64 ? "$int64" : dtype == HR_FLOAT ? "$float" : "$bytes";
}

static void put_feature(hr__json_writer *w, const hr__values *values)
{
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    if (values->dtype == HR_INVALID_DTYPE) {
        hr__json_literal(w, "null");
    } else if (values->count == 0) {
        hr__json_begin(w, '{');
        hr__json_key(w, kind_word(values->dtype));
        hr__json_literal(w, "[]");
        hr__json_end(w, '}');
    } else if (values->count == 1) {
        example_to_json_put_value(w, hr__blocks_next(&blocks), 0);
    } else {
        hr__json_begin(w, '[');
        for (const hr__values *b; (b = hr__blocks_next(&blocks));)
            for (int64_t i = 0; i < b->count; i++) example_to_json_put_value(w, b, i);
        hr__json_end(w, ']');
    }
}

static void put_features(const hr_json_writer *writer, hr__json_writer *w, const hr__walk_contents *c)
{
    for (int64_t i = 0; i < c->features; i++) {
        if (!is_wanted(writer, c->feature[i].key)) continue;
        put_key(w, c->feature[i].key);
        put_feature(w, &c->feature[i].values);
    }
}

static void put_lists(const hr_json_writer *writer, hr__json_writer *w, const hr__walk_contents *c)
{
    for (int64_t i = 0; i < c->lists; i++) {
        if (!is_wanted(writer, c->list[i].key)) continue;
        put_key(w, c->list[i].key);
        hr__json_begin(w, '[');
        for (int64_t s = 0; s < c->list[i].steps; s++) put_feature(w, &c->list[i].step[s]);
        hr__json_end(w, ']');
    }
}

/* The features stand at the top unless there are lists beside them, or none of them though their message is there. */
static void put_short(const hr_json_writer *writer, hr__json_writer *w, const hr__walk_contents *c)
{
    const bool at_top = !c->has_lists && (c->features > 0 || !c->has_features);
    hr__json_begin(w, '{');
    if (at_top) {
        put_features(writer, w, c);
    } else if (c->has_features) {
        hr__json_key(w, c->has_lists ? "context" : "features");
        hr__json_begin(w, '{');
        put_features(writer, w, c);
        hr__json_end(w, '}');
    }
    if (c->has_lists) {
        hr__json_key(w, "feature_lists");
        hr__json_begin(w, '{');
        put_lists(writer, w, c);
        hr__json_end(w, '}');
    }
    hr__json_end(w, '}');
}

/* ---- protobuf's form ---- */

static void put_quoted_int64(hr__json_writer *w, int64_t value)
{
    char text[32];
    hr__json_string(w, (hr_view){text, snprintf(text, sizeof text, "%lld", (long long)value)});
}

static void put_message_values(hr__json_writer *w, const hr__values *values)
{
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    for (const hr__values *b; (b = hr__blocks_next(&blocks));)
        for (int64_t i = 0; i < b->count; i++) {
            if (b->dtype == HR_INT64) put_quoted_int64(w, ((const int64_t *)b->data)[i]);
            if (b->dtype == HR_FLOAT) hr__json_float(w, ((const float *)b->data)[i]);
            if (b->dtype == HR_STRING) hr__json_base64(w, ((const hr_view *)b->data)[i]);
        }
}

static void put_message(hr__json_writer *w, const hr__values *t)
{
    hr__json_begin(w, '{');
    if (t->dtype != HR_INVALID_DTYPE) {
        hr__json_key(w, t->dtype == HR_INT64 ? "int64List" : t->dtype == HR_FLOAT ? "floatList" : "bytesList");
        hr__json_begin(w, '{');
        if (t->count > 0) {
            hr__json_key(w, "value");
            hr__json_begin(w, '[');
            put_message_values(w, t);
            hr__json_end(w, ']');
        }
        hr__json_end(w, '}');
    }
    hr__json_end(w, '}');
}

/* "features": {"feature": {...}}; the map's key is left out where it is empty. */
static void open_map(hr__json_writer *w, const char *message, const char *map, bool any)
{
    hr__json_key(w, message);
    hr__json_begin(w, '{');
    if (!any) return;
    hr__json_key(w, map);
    hr__json_begin(w, '{');
}

static void close_map(hr__json_writer *w, bool any)
{
    if (any) hr__json_end(w, '}');
    hr__json_end(w, '}');
}

static void put_messages(const hr_json_writer *writer, hr__json_writer *w, const hr__walk_contents *c)
{
    for (int64_t i = 0; i < c->features; i++) {
        if (!is_wanted(writer, c->feature[i].key)) continue;
        hr__json_key_view(w, c->feature[i].key);
        put_message(w, &c->feature[i].values);
    }
}

static void put_message_lists(const hr_json_writer *writer, hr__json_writer *w, const hr__walk_contents *c)
{
    for (int64_t i = 0; i < c->lists; i++) {
        if (!is_wanted(writer, c->list[i].key)) continue;
        hr__json_key_view(w, c->list[i].key);
        hr__json_begin(w, '{');
        hr__json_key(w, "feature");
        hr__json_begin(w, '[');
        for (int64_t s = 0; s < c->list[i].steps; s++) put_message(w, &c->list[i].step[s]);
        hr__json_end(w, ']');
        hr__json_end(w, '}');
    }
}

static void put_protobuf(const hr_json_writer *writer, hr__json_writer *w, const hr__walk_contents *c)
{
    hr__json_begin(w, '{');
    if (c->has_features) {
        open_map(w, c->has_lists ? "context" : "features", "feature", c->features > 0);
        put_messages(writer, w, c);
        close_map(w, c->features > 0);
    }
    if (c->has_lists) {
        open_map(w, "featureLists", "featureList", c->lists > 0);
        put_message_lists(writer, w, c);
        close_map(w, c->lists > 0);
    }
    hr__json_end(w, '}');
}

/* protobuf's keys are text, without any escape; those that are words of the short form could not be told from it. */
static bool can_be_protobuf(hr_view key)
{
    return hr__is_utf8(key.data, (size_t)key.size) && !hr__json_kind_of_word(key);
}

static hr_status check_keys(const hr__walk_contents *c, hr_error *err)
{
    bool good = true;
    for (int64_t i = 0; i < c->features; i++) good &= can_be_protobuf(c->feature[i].key);
    for (int64_t i = 0; i < c->lists; i++) good &= can_be_protobuf(c->list[i].key);
    if (good) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "json.key",
                   "expected keys of UTF-8, and none like $int64, for protobuf's JSON; the short form has them all");
}

hr_status hr__example_to_json_text(hr_json_writer *writer, hr_view record, hr__text *to, hr_error *err)
{
    hr__walk_contents contents;
    HR_TRY(hr__example_walk_record(writer->walk, record, &contents, err));
    HR_TRY(hr__wanted_note(&writer->wanted, &contents, err));
    if (writer->protobuf) HR_TRY(check_keys(&contents, err));
    hr__json_writer w = {.to = to};
    (writer->protobuf ? put_protobuf : put_short)(writer, &w, &contents);
    return hr__text_status(to, "a line of JSON", err);
}

hr_status hr_example_to_json(hr_json_writer *writer, hr_view record, hr_view *json, hr_error *err)
{
    hr__text_clear(&writer->line);
    HR_TRY(hr__example_to_json_text(writer, record, &writer->line, err));
    *json = (hr_view){writer->line.data, (int64_t)writer->line.size};
    return HR_OK;
}

hr_status hr_json_writer_check(const hr_json_writer *writer, const hr_schema_file *known, hr_error *err)
{
    for (int i = 0; i < writer->names; i++)
        if (hr__wanted_is_absent(&writer->wanted, i, known))
            return hr__wanted_refuse(&writer->wanted, i, known, "example.absent", err);
    return HR_OK;
}
