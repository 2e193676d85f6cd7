/* What all decoders do with a parser's slots: find one by its key, begin a row and fill what is missing at its end, and
 * say what is wrong with a feature. */
#include "io/example/example_decode.h"

int hr__find_slot(const hr__example_parser *parser, const uint8_t *key, size_t size)
{
    const uint32_t last = parser->buckets - 1;
    for (uint32_t b = hr__key_bucket(parser, key, size);; b = (b + 1) & last) {
        int slot = parser->bucket[b] - 1;
        if (slot < 0) return -1;
        hr_view own = parser->slot[slot].f.key;
        if ((size_t)own.size == size && memcmp(own.data, key, size) == 0) return slot;
    }
}

/* ---- errors ---- */

hr_status hr__name_feature(const hr__walk *w, int slot, hr_status status)
{
    hr_view key = w->parser->slot[slot].f.key;
    if (!w->err) return status;
    size_t n = (size_t)key.size < sizeof w->err->feature - 1 ? (size_t)key.size : sizeof w->err->feature - 1;
    memcpy(w->err->feature, key.data, n);
    w->err->feature[n] = 0;
    return status;
}

/* Keys in messages are clipped to 60 bytes. */
static int key_length(const hr__example_feature *f) { return (int)(f->key.size < 60 ? f->key.size : 60); }

hr_status hr__fail_wire(const hr__walk *w, const uint8_t *at, int slot)
{
    long long place = (long long)(at - (const uint8_t *)w->record.data), size = (long long)w->record.size;
    if (slot < 0)
        return hr_fail(
            w->err, HR_INVALID_ARGUMENT, "example.wire",
            "expected a tf.Example, found bytes that are none at byte %lld of %lld; the record is damaged or "
            "something else",
            place, size);
    const hr__example_feature *f = &w->parser->slot[slot].f;
    return hr__name_feature(
        w, slot,
        hr_fail(w->err, HR_INVALID_ARGUMENT, "example.wire",
                "feature '%.*s': expected a list of values, found bytes that are none at byte %lld of "
                "%lld; the record is damaged",
                key_length(f), f->key.data, place, size));
}

hr_status hr__fail_kind(const hr__walk *w, int slot, uint32_t kind)
{
    static const char *const names[] = {"nothing", "string", "float32", "int64"};
    const hr__slot *s = &w->parser->slot[slot];
    bool wider = kind == HR__KIND_INT64 && s->kind == HR__KIND_FLOAT;
    return hr__name_feature(w, slot,
                            hr_fail(w->err, HR_INVALID_ARGUMENT, "example.kind",
                                    "feature '%.*s': expected %s values, found %s; %s", key_length(&s->f),
                                    s->f.key.data, hr_dtype_name(s->f.dtype), names[kind],
                                    wider ? "ask for int64 (int64: in a schema)"
                                          : "ask for the type that the record has (in a schema, too)"));
}

hr_status hr__fail_missing(const hr__walk *w, int slot)
{
    const hr__example_feature *f = &w->parser->slot[slot].f;
    return hr__name_feature(
        w, slot,
        hr_fail(w->err, HR_INVALID_ARGUMENT, "example.missing",
                "feature '%.*s': expected %s values, found none; give it a default value, or leave such "
                "records out when you convert (--require)",
                key_length(f), f->key.data, hr_dtype_name(f->dtype)));
}

hr_status hr__fail_values(const hr__walk *w, const hr__sink *sink)
{
    const hr__example_feature *f = &sink->slot->f;
    const long long found = (long long)sink->count;
    hr_status status;
    if (sink->out_of_range)
        status = hr_fail(w->err, HR_INVALID_ARGUMENT, "example.range",
                         "feature '%.*s': expected a number that fits %s, found %lld; ask for int64", key_length(f),
                         f->key.data, hr_dtype_name(f->dtype), (long long)sink->refused);
    else if (f->count >= 0)
        status = hr_fail(w->err, HR_INVALID_ARGUMENT, "example.count",
                         "feature '%.*s': expected %lld values of %s, found %lld; change its shape, or ask for a list "
                         "of any length",
                         key_length(f), f->key.data, (long long)f->count, hr_dtype_name(f->dtype), found);
    else
        status = hr_fail(w->err, HR_INVALID_ARGUMENT, "example.count",
                         "feature '%.*s': expected a multiple of %lld values, found %lld; change its shape",
                         key_length(f), f->key.data, (long long)f->group, found);
    return hr__name_feature(w, sink->number, status);
}

/* ---- a row ---- */

/* What stands for no bytes: 64 bytes after a string are readable. */
static const char nothing[65];

void hr__example_begin(const hr__walk *w)
{
    const hr__example_parser *p = w->parser;
    memset(w->order->seen, 0, (size_t)p->words * sizeof *w->order->seen);
    for (int i = 0; i < p->lists; i++) {
        hr__example_column *c = &w->rows->column[p->list[i]];
        c->count = c->splits[w->row];
    }
}

/* A row of its default values, or of zeros; strings are never NULL. */
static void fill_row(const hr__walk *w, int slot, const void *values)
{
    const hr__slot *s = &w->parser->slot[slot];
    if (s->f.count <= 0) return;
    size_t size = (size_t)s->f.count * s->size;
    char *to = (char *)w->rows->column[slot].values + (size_t)w->row * size;
    if (values) {
        memcpy(to, values, size);
        return;
    }
    memset(to, 0, size);
    for (int64_t i = 0; s->f.dtype == HR_STRING && i < s->f.count; i++) {
        hr_view empty = {nothing, 0};
        memcpy(to + (size_t)i * sizeof empty, &empty, sizeof empty);
    }
}

hr_status hr__example_finish(const hr__walk *w)
{
    const hr__example_parser *p = w->parser;
    for (int word = 0; word < p->words; word++) {
        for (uint64_t absent = p->all[word] & ~w->order->seen[word]; absent; absent &= absent - 1) {
            int slot = 64 * word + __builtin_ctzll(absent);
            if (p->slot[slot].f.required) return hr__fail_missing(w, slot);
            fill_row(w, slot, p->slot[slot].f.default_value);
        }
    }
    for (int i = 0; i < p->lists; i++) {
        hr__example_column *c = &w->rows->column[p->list[i]];
        c->splits[w->row + 1] = (int32_t)c->count;
    }
    return HR_OK;
}

void hr__example_empty(const hr__walk *w)
{
    hr__example_begin(w);
    for (int slot = 0; slot < w->parser->slots; slot++) {
        hr__example_column *c = &w->rows->column[slot];
        fill_row(w, slot, NULL);
        if (w->parser->slot[slot].f.count < 0) c->splits[w->row + 1] = c->splits[w->row];
    }
}
