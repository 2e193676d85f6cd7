/* The tf.Example reader: compiling a parser, and one record through it. The fast path is tried first; whatever it does
 * not like is decided by the generic walk, or by TensorFlow's rules. */
#include "io/example/example_reader.h"
#include "io/example/example_decode.h"

enum { MAX_FEATURES = 1 << 24 };

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

/* Keys lie side by side, so that 8 bytes from any key's start are the parser's own. */
hr_status hr__example_parser_new(const hr__example_feature *features, int count, hr__example_parser **out,
                                 hr_error *err)
{
    *out = NULL;
    if (count > MAX_FEATURES)
        return hr_fail(err, HR_INVALID_ARGUMENT, "example.type", "expected at most %d features, got %d", MAX_FEATURES,
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
    o->entry_capacity = parser->slots + 1;
    for (size_t i = 0; i + 1 < slots; i++) o->next[i] = (uint16_t)(i + 1);
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

/* ---- a record ---- */

/* Stands for an empty record: 64 bytes after it must be readable. */
static const char nothing[65];

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
