/* The tf.Example reader: compiling a parser, and one record through it. The fast path is tried first; whatever it does
 * not like is decided by the generic walk, or by TensorFlow's rules. */
#include "io/example/example_reader.h"
#include "io/example/example_decode.h"

enum { MOST_FEATURES = 1 << 24 };

/* ---- compiling ---- */

static bool set_types(hr__slot *s)
{
    static const struct {
        hr_dtype dtype;
        uint8_t kind, kinds, widened;
    } types[] = {
        {HR_INT64, HR__KIND_INT64, 1 << HR__KIND_INT64, 1 << HR__KIND_INT64},
        {HR_INT32, HR__KIND_INT64, 0, 1 << HR__KIND_INT64},
        {HR_INT16, HR__KIND_INT64, 0, 1 << HR__KIND_INT64},
        {HR_INT8, HR__KIND_INT64, 0, 1 << HR__KIND_INT64},
        {HR_UINT64, HR__KIND_INT64, 0, 1 << HR__KIND_INT64},
        {HR_UINT32, HR__KIND_INT64, 0, 1 << HR__KIND_INT64},
        {HR_UINT16, HR__KIND_INT64, 0, 1 << HR__KIND_INT64},
        {HR_UINT8, HR__KIND_INT64, 0, 1 << HR__KIND_INT64},
        {HR_BOOL, HR__KIND_INT64, 0, 1 << HR__KIND_INT64},
        {HR_FLOAT, HR__KIND_FLOAT, 1 << HR__KIND_FLOAT, 1 << HR__KIND_FLOAT | 1 << HR__KIND_INT64},
        {HR_DOUBLE, HR__KIND_FLOAT, 0, 1 << HR__KIND_FLOAT | 1 << HR__KIND_INT64},
        {HR_STRING, HR__KIND_BYTES, 1 << HR__KIND_BYTES, 1 << HR__KIND_BYTES},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].dtype != s->f.dtype) continue;
        s->kind = types[i].kind;
        s->kinds = s->f.widen ? types[i].widened : types[i].kinds;
        s->size = (uint8_t)hr_dtype_size(s->f.dtype);
    }
    return s->kinds != 0;
}

/* Byte `at` of the template; it may lie in the second block. */
static void set_byte(hr__slot *s, int at, uint8_t text, uint8_t mask)
{
    if (at < HR__BLOCK) {
        s->text[at] = text;
        s->mask[at] = mask;
    } else {
        s->text2[at - HR__BLOCK] = text;
        s->mask2[at - HR__BLOCK] = mask;
    }
}

static void set_template(hr__slot *s)
{
    enum { LENGTH = 0x80, EXACT = 0xff, WIRE_TYPE = 0x07, AROUND_KEY = 10 };
    const int k = (int)s->f.key.size;
    if (s->f.key.size > 2 * HR__BLOCK - AROUND_KEY) return;
    const uint8_t before[][2] = {{0x0a, EXACT}, {0, LENGTH}, {0x0a, EXACT}, {(uint8_t)k, EXACT}};
    /* A slot that takes two kinds looks at the kind itself. */
    const uint8_t kind_mask = s->kinds & (s->kinds - 1) ? WIRE_TYPE : EXACT;
    const uint8_t after[][2] = {{0x12, EXACT}, {0, LENGTH},   {(uint8_t)(s->kind << 3 | 2), kind_mask},
                                {0, LENGTH},   {0x0a, EXACT}, {0, LENGTH}};
    for (int i = 0; i < 4; i++) set_byte(s, i, before[i][0], before[i][1]);
    for (int i = 0; i < k; i++) set_byte(s, 4 + i, (uint8_t)s->f.key.data[i], EXACT);
    for (int i = 0; i < 6; i++) set_byte(s, 4 + k + i, (uint8_t)(after[i][0] & after[i][1]), after[i][1]);
    s->payload_at = (uint8_t)(k + AROUND_KEY);
    s->way = s->f.count < 0 && s->f.group <= 1 && s->f.dtype == HR_STRING ? HR__WAY_STRINGS : HR__WAY_ANY;
    if (s->f.count != 1 || s->kinds & (s->kinds - 1)) return;
    if (s->f.dtype == HR_INT64) s->way = HR__WAY_INT64;
    if (s->f.dtype == HR_FLOAT) s->way = HR__WAY_FLOAT;
    if (s->f.dtype == HR_STRING) s->way = HR__WAY_STRING;
}

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

static hr_status allocate_parser(hr__example_parser *p, const hr__example_feature *features, int count, hr_error *err)
{
    size_t bytes = 8; /* the hash of a key reads 8 */
    for (int i = 0; i < count; i++) bytes += (size_t)features[i].key.size;
    p->words = (count + 63) / 64;
    p->shift = 60;
    for (p->buckets = 16; p->buckets <= 8 * (uint32_t)count; p->buckets *= 2) p->shift--;
    p->slot = hr_calloc((size_t)count + 1, sizeof *p->slot);
    p->bucket = hr_calloc(p->buckets, sizeof *p->bucket);
    p->list = hr_calloc((size_t)count + 1, sizeof *p->list);
    p->all = hr_calloc((size_t)p->words + 1, sizeof *p->all);
    p->keys = hr_calloc(bytes, 1);
    if (!p->slot || !p->bucket || !p->list || !p->all || !p->keys) return hr_no_memory(err, "an Example parser");
    return HR_OK;
}

static uint32_t example_reader_bucket_of(const hr__example_parser *p, int slot)
{
    hr_view key = p->slot[slot].f.key;
    return hr__key_bucket(p, (const uint8_t *)key.data, (size_t)key.size);
}

/* How many keys find their bucket taken. */
static int fill_table(hr__example_parser *p)
{
    int taken = 0;
    memset(p->bucket, 0, p->buckets * sizeof *p->bucket);
    for (int slot = 0; slot < p->slots; slot++) {
        uint32_t b = example_reader_bucket_of(p, slot);
        taken += p->bucket[b] != 0;
        while (p->bucket[b]) b = (b + 1) & (p->buckets - 1);
        p->bucket[b] = slot + 1;
    }
    return taken;
}

/* The best of some multipliers: then a key is mostly found at the first look. */
static void make_table(hr__example_parser *p)
{
    enum { TRIES = 100, BUCKETS = 1 << 20 /* that all tries may look at, of many keys */ };
    uint64_t best = 0;
    int fewest = p->slots + 1;
    for (uint64_t n = 0; n < TRIES && fewest > 0 && (n == 0 || n * p->buckets < BUCKETS); n++) {
        p->multiplier = hr_random(0x9e3779b97f4a7c15ull, n) | 1;
        int taken = fill_table(p);
        if (taken < fewest) {
            fewest = taken;
            best = p->multiplier;
        }
    }
    p->multiplier = best;
    fill_table(p);
}

static hr_status add_slot(hr__example_parser *p, const hr__example_feature *feature, size_t *used, hr_error *err)
{
    hr__slot *s = &p->slot[p->slots];
    s->f = *feature;
    if (feature->key.size > 0) memcpy(p->keys + *used, feature->key.data, (size_t)feature->key.size);
    s->f.key.data = p->keys + *used;
    *used += (size_t)feature->key.size;
    if (!set_types(s))
        return hr_fail(err, HR_INVALID_ARGUMENT, "example.type",
                       "feature '%.*s': expected int64, float32 or string, got %s; %s", (int)s->f.key.size,
                       s->f.key.data, hr_dtype_name(s->f.dtype),
                       s->kind != HR__KIND_NONE ? "ask for it with .widen = true" : "an Example holds no others");
    set_template(s);
    p->all[p->slots >> 6] |= 1ull << (p->slots & 63);
    if (s->f.count < 0) p->list[p->lists++] = p->slots;
    return HR_OK;
}

/* Keys lie one behind the other, so that 8 bytes from any key's start are the parser's own. */
hr_status hr__example_parser_new(const hr__example_feature *features, int count, hr__example_parser **out,
                                 hr_error *err)
{
    *out = NULL;
    if (count > MOST_FEATURES)
        return hr_fail(err, HR_INVALID_ARGUMENT, "example.type", "expected at most %d features, got %d", MOST_FEATURES,
                       count);
    hr__example_parser *p = hr_calloc(1, sizeof *p);
    if (!p) return hr_no_memory(err, "an Example parser");
    hr_status status = allocate_parser(p, features, count, err);
    size_t used = 0;
    for (int i = 0; i < count && status == HR_OK; i++) {
        status = add_slot(p, &features[i], &used, err);
        if (status == HR_OK) p->slots++;
    }
    if (status != HR_OK) {
        hr__example_parser_free(p);
        return status;
    }
    make_table(p);
    *out = p;
    return HR_OK;
}

void hr__example_parser_free(hr__example_parser *parser)
{
    if (!parser) return;
    hr_free(parser->slot);
    hr_free(parser->bucket);
    hr_free(parser->list);
    hr_free(parser->all);
    hr_free(parser->keys);
    hr_free(parser);
}

hr__example_order *hr__example_order_new(const hr__example_parser *parser)
{
    hr__example_order *o = hr_calloc(1, sizeof *o);
    if (!o) return NULL;
    const size_t slots = (size_t)parser->slots;
    o->next = hr_calloc(slots + 1, sizeof *o->next);
    o->candidate = hr_calloc(slots + 1, sizeof *o->candidate);
    o->seen = hr_calloc((size_t)parser->words + 1, sizeof *o->seen);
    o->entry = hr_calloc(slots + 1, sizeof *o->entry);
    if (!o->next || !o->candidate || !o->seen || !o->entry) {
        hr__example_order_free(o);
        return NULL;
    }
    o->entry_room = parser->slots + 1;
    for (size_t i = 0; i + 1 < slots; i++) o->next[i] = (int32_t)(i + 1);
    return o;
}

void hr__example_order_free(hr__example_order *order)
{
    if (!order) return;
    hr_free(order->next);
    hr_free(order->candidate);
    hr_free(order->seen);
    hr_free(order->entry);
    hr_free(order);
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
                "feature '%.*s': expected %s values, found none; give it a default value if it may be "
                "missing",
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

/* ---- a record ---- */

/* What stands for no bytes: 64 bytes behind a record and behind a string are readable. */
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
static void example_reader_fill_row(const hr__walk *w, int slot, const void *values)
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
            example_reader_fill_row(w, slot, p->slot[slot].f.default_value);
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
        example_reader_fill_row(w, slot, NULL);
        if (w->parser->slot[slot].f.count < 0) c->splits[w->row + 1] = c->splits[w->row];
    }
}

hr_status hr__example_parse(const hr__example_parser *parser, hr__example_order *order, hr__example_rows *rows,
                            int64_t row, hr_view record, hr_error *err)
{
    if (record.size <= 0) record = (hr_view){nothing, 0};
    const hr__walk walk = {parser, order, rows, row, record, err};
    if (!rows->generic_only && hr__example_fast(&walk)) return HR_OK;
    hr_status status = rows->tf_compat ? hr__example_tf(&walk) : hr__example_generic(&walk);
    if (status != HR_OK) hr__example_empty(&walk);
    return status;
}
