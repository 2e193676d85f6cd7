/* The fast path over a tf.Example: predict which feature comes next, compare the whole beginning of its map entry
 * with a template in one masked compare, check that the four nested lengths agree, take the payload. Entries that are
 * not plain are decoded one by one; a record with anything doubtful (a key twice, an error, odd bytes) is left to the
 * walk whose rules apply, which begins it again. So what comes out is what that walk would give.
 *
 * Learned is the successor of each slot, seen twice before it is believed; the one after it is tried as well, since
 * features may be absent. Where order is random the key's hash finds the template. */
#include "base/cpu.h"
#include "io/example/example_decode.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { NOT_PLAIN = -2, UNKNOWN = -1, VERDICT = 64 /* records */ };

typedef bool matches_fn(const uint8_t *text, const uint8_t *mask, const uint8_t *bytes);

/* One block of a template against the bytes there. */
static inline __attribute__((always_inline)) bool matches_portable(const uint8_t *text, const uint8_t *mask,
                                                                   const uint8_t *bytes)
{
    uint64_t different = 0;
    for (int i = 0; i < HR__BLOCK; i += 8)
        different |= (hr__get64(bytes + i) ^ hr__get64(text + i)) & hr__get64(mask + i);
    return different == 0;
}

#if defined(__x86_64__)
static inline __attribute__((always_inline, target("avx2"))) bool matches_avx2(const uint8_t *text, const uint8_t *mask,
                                                                               const uint8_t *bytes)
{
    __m256i different = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)bytes),
                                         _mm256_loadu_si256((const __m256i *)(const void *)text));
    return _mm256_testz_si256(different, _mm256_loadu_si256((const __m256i *)(const void *)mask));
}
#endif

/* The key's two blocks end at most 64 bytes after the entry's start, which are readable. */
static inline __attribute__((always_inline)) bool begins_like(const hr__slot *s, const uint8_t *p, matches_fn *matches)
{
    if (!matches(s->text, s->mask, p)) return false;
    return s->payload_at <= HR__BLOCK || matches(s->text2, s->mask2, p + HR__BLOCK);
}

/* The varint of at most 8 bytes that fills exactly `size`: no branch on its length, which is unpredictable. */
static inline bool whole_varint(const uint8_t *p, uint32_t size, uint64_t *value)
{
    uint64_t v = hr__get64(p), ends = ~v & 0x8080808080808080ull;
    v &= ends ^ (ends - 1); /* up to the byte that ends it */
    v &= 0x7f7f7f7f7f7f7f7full;
    v = (v & 0x007f007f007f007full) | (v & 0x7f007f007f007f00ull) >> 1;
    v = (v & 0x00003fff00003fffull) | (v & 0x3fff00003fff0000ull) >> 2;
    *value = (v & 0x000000000fffffffull) | (v & 0x0fffffff00000000ull) >> 4;
    return ends != 0 && (uint32_t)__builtin_ctzll(ends) + 1 == 8 * size;
}

/* The packed values, or the one string, of a list of any shape. */
static bool take_any(const hr__walk *w, int slot, const uint8_t *payload, uint32_t size, uint32_t kind)
{
    hr__sink sink = hr__sink_of(w->parser, w->rows, slot, w->row, NULL);
    if (!(sink.slot->kinds >> kind & 1)) return false;
    if (kind == HR__KIND_BYTES) {
        hr__sink_bytes(&sink, payload, size);
    } else if (kind == HR__KIND_FLOAT) {
        if (size % 4 != 0) return false;
        hr__sink_floats(&sink, payload, size / 4);
    } else if (!hr__sink_varints(&sink, (hr__scan){payload, payload + size})) {
        return false;
    }
    return sink.status == HR_OK && hr__sink_fits(&sink);
}

/* The template has met one string, which is all of the list. False: there is no room. */
static inline bool take_listed(hr__example_column *c, const uint8_t *payload, uint32_t size)
{
    if (c->count == c->capacity) return false;
    ((hr_view *)c->values)[c->count++] = (hr_view){(const char *)payload, size};
    return true;
}

static inline __attribute__((always_inline)) bool example_fast_take(const hr__walk *w, int slot, const uint8_t *payload,
                                                                    uint32_t size)
{
    const hr__slot *s = &w->parser->slot[slot];
    void *values = w->rows->column[slot].values;
    uint64_t number;
    switch (s->way) {
    case HR__WAY_STRING:
        ((hr_view *)values)[w->row] = (hr_view){(const char *)payload, size};
        return true;
    case HR__WAY_STRINGS:
        return take_listed(&w->rows->column[slot], payload, size) || take_any(w, slot, payload, size, HR__KIND_BYTES);
    case HR__WAY_INT64:
        if (!whole_varint(payload, size, &number)) return take_any(w, slot, payload, size, HR__KIND_INT64);
        ((int64_t *)values)[w->row] = (int64_t)number;
        return true;
    case HR__WAY_FLOAT:
        memcpy((float *)values + w->row, payload, 4);
        return size == 4;
    default:
        return take_any(w, slot, payload, size, payload[-4] >> 3);
    }
}

/* The entry begins like this slot's template: do its lengths agree? Gives the payload. */
static inline const uint8_t *payload_of(const hr__slot *s, const uint8_t *p, const uint8_t *end)
{
    const uint32_t at = s->payload_at, size = p[at - 1];
    if (p[1] != at + size - 2 || p[at - 5] != size + 4 || p[at - 3] != size + 2) return NULL;
    return at + size <= (size_t)(end - p) ? p + at : NULL;
}

/* An entry, plain or not, whose key is not known to be one of ours. NOT_PLAIN also where TensorFlow's rules could
 * differ. */
static int other_entry(const hr__walk *w, hr__scan *features)
{
    hr__scan entry = *features, rest, key;
    uint64_t size;
    const uint8_t *p = entry.p;
    if (*p != 0x0a) return NOT_PLAIN;
    entry.p++;
    if (!hr__scan_varint(&entry, 10, &size) || size > (uint64_t)(entry.end - entry.p)) return NOT_PLAIN;
    entry.end = entry.p + size;
    rest = entry;
    if (w->rows->tf_compat || !hr__entry_key(&rest, &key)) return NOT_PLAIN;
    int slot = hr__find_slot(w->parser, key.p, (size_t)(key.end - key.p));
    features->p = entry.end;
    if (slot < 0) return UNKNOWN;
    if (hr__is_seen(w->order, slot)) return NOT_PLAIN;
    hr__sink sink = hr__sink_of(w->parser, w->rows, slot, w->row, NULL);
    uint32_t kind;
    if (!hr__decode_entry(&sink, entry, &kind, &p) || sink.status != HR_OK) return NOT_PLAIN;
    return sink.slot->kinds >> kind & 1 && hr__sink_fits(&sink) ? slot : NOT_PLAIN;
}

/* An entry of a feature that nobody asked for, in the plain form: key, value, nothing else. */
static inline bool skip_plain(hr__scan *features)
{
    const uint8_t *p = features->p;
    const uint32_t size = p[1], key = p[3];
    if (key + 4 > size || p[4 + key] != 0x12 || p[5 + key] != size - key - 4) return false;
    if (size + 2 > (size_t)(features->end - p)) return false;
    features->p = p + size + 2;
    return true;
}

/* 0a ? 0a k: lengths below 128, the key where it should be. 64 bytes from p are readable. */
static inline bool is_regular(const uint8_t *p, const uint8_t *end)
{
    uint32_t head;
    memcpy(&head, p, 4);
    const uint32_t canonical = 0x000a000a; /* little endian */
    return (head & 0x80ff80ff) == canonical && p[3] + 4 <= end - p;
}

/* The first bucket has another key, or this one in another form: seldom. */
static __attribute__((noinline)) int search_on(const hr__walk *w, const uint8_t *p)
{
    int slot = hr__find_slot(w->parser, p + 4, p[3]);
    if (slot < 0) return UNKNOWN;
    const hr__slot *s = &w->parser->slot[slot];
    return s->payload_at && begins_like(s, p, matches_portable) ? slot : NOT_PLAIN;
}

/* The slot whose template the entry matches, by the key's hash. */
static inline __attribute__((always_inline)) int match_by_hash(const hr__walk *w, const uint8_t *p, const uint8_t *end,
                                                               matches_fn *matches)
{
    if (!is_regular(p, end)) return NOT_PLAIN;
    int slot = w->parser->bucket[hr__key_bucket(w->parser, p + 4, p[3])] - 1;
    if (slot < 0) return UNKNOWN;
    const hr__slot *s = &w->parser->slot[slot];
    return s->payload_at && begins_like(s, p, matches) ? slot : search_on(w, p);
}

static inline __attribute__((always_inline)) int match_by_order(const hr__walk *w, int last, const uint8_t *p,
                                                                const uint8_t *end, matches_fn *matches)
{
    hr__example_order *o = w->order;
    const hr__slot *slots = w->parser->slot;
    int i = o->next[last];
    if (slots[i].payload_at && begins_like(&slots[i], p, matches)) return i;
    i = o->next[i];
    if (slots[i].payload_at && begins_like(&slots[i], p, matches)) return i;
    o->misses++;
    i = match_by_hash(w, p, end, matches);
    if (i < 0) return i;
    if (o->candidate[last] == i) o->next[last] = (uint16_t)i;
    o->candidate[last] = (uint16_t)i;
    return i;
}

static inline __attribute__((always_inline)) bool walk_features(const hr__walk *w, hr__scan f, int *last, bool by_hash,
                                                                matches_fn *matches)
{
    uint32_t found = 0;
    while (f.p < f.end) {
        int i = by_hash ? match_by_hash(w, f.p, f.end, matches) : match_by_order(w, *last, f.p, f.end, matches);
        const uint8_t *payload = i >= 0 ? payload_of(&w->parser->slot[i], f.p, f.end) : NULL;
        if (payload) {
            const uint32_t size = payload[-1];
            if (hr__is_seen(w->order, i) || !example_fast_take(w, i, payload, size)) return false;
            f.p = payload + size;
        } else if (i == UNKNOWN && skip_plain(&f)) {
            continue;
        } else {
            i = other_entry(w, &f);
            if (i == NOT_PLAIN) return false;
            if (i == UNKNOWN) continue;
        }
        hr__set_seen(w->order, i);
        *last = i;
        found++;
    }
    if (!by_hash) w->order->lookups += found;
    return true;
}

static inline __attribute__((always_inline)) bool walk_record(const hr__walk *w, matches_fn *matches)
{
    hr__scan record = {(const uint8_t *)w->record.data, (const uint8_t *)w->record.data + w->record.size};
    const bool by_hash = w->order->by_hash && w->order->records != 0;
    int last = w->parser->slots;
    while (record.p < record.end) {
        uint64_t size;
        if (*record.p++ != 0x0a || !hr__scan_varint(&record, 10, &size)) return false;
        if (size > (uint64_t)(record.end - record.p)) return false;
        hr__scan features = {record.p, record.p + size};
        record.p += size;
        if (by_hash ? !walk_features(w, features, &last, true, matches)
                    : !walk_features(w, features, &last, false, matches))
            return false;
    }
    return true;
}

/* Most guesses wrong: hash at once, but look again with the first record of every verdict. */
static inline void judge_order(hr__example_order *o)
{
    if (o->by_hash ? o->records == 0 : o->records == VERDICT - 1) {
        o->by_hash = o->misses > o->lookups / 10 * 7;
        o->lookups = o->misses = 0;
    }
    o->records = (o->records + 1) % VERDICT;
}

static bool fast_portable(const hr__walk *w) { return walk_record(w, matches_portable); }

#if defined(__x86_64__)
/* Aligned, so that its speed does not depend on what is linked before it: 3 % of parsing. */
__attribute__((target("avx2"), aligned(64))) static bool fast_avx2(const hr__walk *w)
{
    return walk_record(w, matches_avx2);
}
#endif

bool hr__example_fast(const hr__walk *walk)
{
    if (walk->parser->slots == 0) return false;
    hr__example_begin(walk);
#if defined(__x86_64__)
    bool plain = hr__cpu_has(HR__AVX2) ? fast_avx2(walk) : fast_portable(walk);
#else
    bool plain = fast_portable(walk);
#endif
    judge_order(walk->order);
    return plain && hr__example_finish(walk) == HR_OK;
}
